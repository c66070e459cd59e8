"""Layer-wise relevance propagation."""

import numpy as np
import torch

from salstats.checks import ValueRangeError
from salstats.explain.multipliers import NEARLY, Relevance, check_sums, pass_back
from salstats.explain.request import Request


def run_lrp(request: Request) -> torch.Tensor:
    """Return the relevance of each pixel: the target's output, handed back step by step.

    The epsilon rule wherever numbers are mixed: convolutions, linear layers, batch normalisation, sums,
    averages and pooled maxima. Activations that give 0 of 0 (ReLU, tanh, SiLU, GELU) hand on what they get,
    and so does what only rearranges numbers. So it takes networks of these steps (VGG, ResNet, DenseNet,
    Inception), and none with layer normalisation, attention or gates (ViT, Swin, ConvNeXt, EfficientNet).

    Parameters
    ----------
    request : Request
        Option: `epsilon` (1e-9), added to the size of each output that relevance is divided by.

    Returns
    -------
    Tensor, shape (b, channels, height, width)
        With the share of the biases, also those of batch normalisation, adds up to the target's output, but
        for what epsilon keeps.

    Raises
    ------
    SalstatsError
        A step has no rule, such as a product of two things that come from the image: named.
    ValueRangeError
        `epsilon` is not a positive number.

    Warns
    -----
    SalstatsWarning
        With the share of biases sums are more than 10 % off: epsilon keeps much, or a step is no such one.

    References
    ----------
    Bach, S. et al. (2015). On pixel-wise explanations for non-linear classifier decisions by layer-wise
    relevance propagation. PLoS ONE 10, e0130140. doi:10.1371/journal.pone.0130140
    """
    epsilon = request.options["epsilon"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < np.inf:
        raise ValueRangeError(f"epsilon must be a positive number, not {epsilon!r}")
    relevance = Relevance(float(epsilon))
    multipliers, outputs = pass_back(request.model, request.images, request.targets, relevance)
    found = multipliers * request.images
    check_sums(
        found.sum() + relevance.of_biases, outputs.sum(), outputs, NEARLY,
        f"LRP: with epsilon={epsilon:g} the relevance of pixels and biases is more than {NEARLY:.0%} off the "
        "outputs" + relevance.named(),
        refuse=False,
    )  # fmt: skip
    return found
