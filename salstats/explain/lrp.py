"""Layer-wise relevance propagation, by captum."""

from typing import Any

import numpy as np
import torch
from captum.attr import LRP
from captum.attr._core.lrp import SUPPORTED_LAYERS_WITH_RULES, SUPPORTED_NON_LINEAR_LAYERS
from captum.attr._utils.lrp_rules import EpsilonRule, PropagationRule
from torch import nn

from salstats.checks import ValueRangeError
from salstats.explain.request import Request
from salstats.explain.rules import check_rules, cleared


class ShapeRule(PropagationRule):
    """Relevance passes a module that only rearranges numbers as its gradient does: unchanged."""

    def forward_hook(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """Set no hooks on the numbers."""

    def forward_hook_weights(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """Keep nothing, so that the module may be used any number of times."""

    def forward_pre_hook_activations(self, module: nn.Module, inputs: Any) -> None:
        """Put nothing back."""

    def _manipulate_weights(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """Change no weights: there are none."""


def run_lrp(request: Request) -> torch.Tensor:
    """Return the relevance of each pixel: the target's output, handed back layer by layer.

    The epsilon rule in every layer, the identity for modules that only rearrange numbers (Flatten, Identity,
    Dropout2d, PixelShuffle and their kind, for which captum has no rule). Every step must be a module of its
    own and of a type with a rule; others are refused by name. A module that has a `rule` of captum's keeps
    it, before and after.

    Parameters
    ----------
    request : Request
        Option: `epsilon` (1e-9), added to the size of each output that relevance is divided by.

    Returns
    -------
    Tensor, shape (b, channels, height, width)
        In a network without biases adds up to the target's output. Biases, also those of batch
        normalisation, keep a share.

    Raises
    ------
    SalstatsError
        A step has no rule, is no module, or is a module used twice: named, with what to change.
    ValueRangeError
        `epsilon` is not a positive number.

    References
    ----------
    Bach, S. et al. (2015). On pixel-wise explanations for non-linear classifier decisions by layer-wise
    relevance propagation. PLoS ONE 10, e0130140. doi:10.1371/journal.pone.0130140
    """
    epsilon = request.options["epsilon"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < np.inf:
        raise ValueRangeError(f"epsilon must be a positive number, not {epsilon!r}")
    check_rules(request.model, request.images[:1], "lrp")
    with cleared(request.model):
        for module in request.model.modules():
            if "rule" in vars(module) or type(module) in SUPPORTED_NON_LINEAR_LAYERS:
                continue
            weighted = type(module) in SUPPORTED_LAYERS_WITH_RULES
            # of the others, those that do more than rearrange do it by functions, which are checked
            setattr(module, "rule", EpsilonRule(float(epsilon)) if weighted else ShapeRule())  # noqa: B010
        images = request.images.detach().clone().requires_grad_()
        found = LRP(request.model).attribute(images, target=request.targets)
    return found.detach()
