"""Attention rollout: how much of each patch's token reaches the class token of a vision transformer."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice, check_count, check_number, did_you_mean, quoted
from salstats.errors import Message, SalstatsError, Setting, ShapeError
from salstats.explain.request import RawAttributions, Request

#: Ways to join the attention of several heads.
HEAD_REDUCTIONS = ("mean", "max", "min")
#: Rows of attention sum to 1, within the rounding of half precision.
_ROW_SUM_TOLERANCE = 0.02


@dataclass(frozen=True)
class LayerAttention:
    """The attention of one call of a module, its heads joined: weights (b, tokens, tokens) on the CPU."""

    module_name: str
    weights: torch.Tensor


def run_attention_rollout(request: Request) -> RawAttributions:
    """Return the attention to each patch that reaches the class token, shape (b, 1, rows, columns).

    The attention of each layer is mixed with the identity, which stands for the connection that skips the
    layer, scaled so that rows sum to 1, and multiplied from the first layer to the last (Abnar & Zuidema
    2020). No output is used: the map is the same for every target. Values are shares, from 0 to 1, of what
    reaches the class token, whose attention to itself is left out.

    Options: `modules` (None), names of the modules that give attention of shape (b, heads, tokens, tokens);
    by default every nn.MultiheadAttention, or every module like timm's with `attn_drop`. `heads` ("mean", the
    paper's, "max" or "min"), the way to join heads. `discard` (0), share of the smallest attention of each
    layer that is left out; attention to the first token stays. `residual` (0.5), weight of the identity.
    `n_prefix` (1), tokens before those of patches, of which the first is the class token; with 0 the mean
    over all tokens is taken. `grid` (None), (rows, columns) of patches; by default in the proportions of the
    image.
    """
    options = request.options
    heads = check_choice(options["heads"], HEAD_REDUCTIONS, "heads")
    discard = check_number(options["discard"], "discard", high=1, exclude_high=True)
    residual = check_number(options["residual"], "residual", high=1, exclude_high=True)
    n_prefix = check_count(options["n_prefix"], "n_prefix", low=0)
    modules = _modules_giving_attention(request.model, options["modules"])
    rollouts: list[torch.Tensor] = []
    for start in range(0, len(request.images), request.batch_size):
        with _attention_recorded(request.model, modules, heads) as records:
            request.pass_once(request.images[start : start + request.batch_size])
        missing = set(modules) - {record.module_name for record in records}
        if missing:
            raise SalstatsError(
                f"module {min(missing)!r} is not called in a pass, so its attention is unknown: a fused "
                "attention skips it",
                hint=Message("switch that off in the network, or name another with ", Setting("modules")),
                option="modules",
                value=min(missing),
            )
        weights = [record.weights for record in records]
        rollouts.append(attention_rollout_matrices(weights, discard=discard, residual=residual))
    # (b, tokens, tokens): rows attend to columns
    joint = torch.cat(rollouts)
    n_patches = joint.shape[1] - n_prefix
    n_rows, n_columns = _grid_shape(n_patches, tuple(request.images.shape[2:]), options["grid"], n_prefix)
    to_patches = joint.mean(dim=1)
    if n_prefix:
        # the row of the class token
        to_patches = joint[:, 0, n_prefix:]
    return to_patches.reshape(-1, 1, n_rows, n_columns)


def attention_rollout_matrices(
    layer_attentions: Sequence[torch.Tensor], *, discard: float = 0.0, residual: float = 0.5
) -> torch.Tensor:
    """Multiply the attention of layers, each (b, tokens, tokens), from the first to the last; float64.

    All are on the CPU, as `LayerAttention` keeps them. Rows attend to columns and sum to 1. `discard` is the
    share of the smallest attention of each layer that is left out (the first column stays), `residual` the
    weight r of the identity I; both from 0 to less than 1. With the attention A of a layer, rows of
    r I + (1 - r) A are scaled to sum to 1 (Abnar & Zuidema 2020, doi:10.18653/v1/2020.acl-main.385, where r
    is 0.5). ShapeError if layers differ in their tokens.
    """
    n_tokens = layer_attentions[0].shape[-1]
    for attention in layer_attentions:
        if attention.shape[-1] != n_tokens:
            raise ShapeError(
                f"layers have {n_tokens} and {attention.shape[-1]} tokens; a rollout needs one number "
                "throughout, which networks with windows or pooling do not have",
                value=(n_tokens, attention.shape[-1]),
            )
    n_images = len(layer_attentions[0])
    identity = torch.eye(n_tokens, dtype=torch.float64).expand(n_images, n_tokens, n_tokens)
    joint: torch.Tensor | None = None
    for layer_attention in layer_attentions:
        attention = layer_attention.double()
        if discard:
            attention = _with_smallest_zeroed(attention, discard)
        mixed = residual * identity + (1 - residual) * attention
        mixed = mixed / mixed.sum(dim=-1, keepdim=True)
        joint = mixed if joint is None else mixed @ joint
    assert joint is not None
    return joint


def _with_smallest_zeroed(attention: torch.Tensor, share: float) -> torch.Tensor:
    """Return attention with a share of each image's values, the smallest, set to 0.

    Attention to the first token is kept.
    """
    flat = attention.flatten(1)
    n_discarded = int(share * flat.shape[1])
    smallest = flat.argsort(dim=1, stable=True)[:, :n_discarded]
    remaining = flat.scatter(1, smallest, 0.0).reshape_as(attention)
    remaining[..., 0] = attention[..., 0]
    return remaining


def _modules_giving_attention(model: nn.Module, names: Any) -> dict[str, nn.Module]:
    """Return the modules that give attention, by name: those that are named, or those of known types.

    For timm's type it is the dropout after the softmax, whose output is the attention. SalstatsError if there
    is none.
    """
    modules = dict(model.named_modules())
    if names is not None:
        requested = list(names)
        if isinstance(names, str):
            requested = [names]
        for name in requested:
            if name not in modules:
                suggestion = did_you_mean(name, filter(None, modules))
                raise SalstatsError(
                    f"the network has no module {name!r}{suggestion}", option="modules", value=name
                )
        return {name: modules[name] for name in requested}
    attention_names = [name for name, module in modules.items() if isinstance(module, nn.MultiheadAttention)]
    if not attention_names:
        timm_names = [name for name, module in modules.items() if _is_timm_attention(module)]
        attention_names = [f"{name}.attn_drop" for name in timm_names]
    if not attention_names:
        types = sorted({type(module).__name__ for module in modules.values()})
        raise SalstatsError(
            f"the network has no nn.MultiheadAttention (types of module: {quoted(types)})",
            hint=Message(
                "name the modules that give attention of shape (images, heads, tokens, tokens) with ",
                Setting("modules"),
            ),
            option="modules",
        )
    return {name: modules[name] for name in attention_names}


def _is_timm_attention(module: nn.Module) -> bool:
    """Return whether a module is of timm's type, whose fused attention never computes the weights."""
    return hasattr(module, "fused_attn") and isinstance(getattr(module, "attn_drop", None), nn.Module)


@contextmanager
def _attention_recorded(
    model: nn.Module, modules: Mapping[str, nn.Module], heads: str
) -> Iterator[list[LayerAttention]]:
    """Yield a list to which each call of the modules adds its attention; afterwards the model is as before.

    Meanwhile modules of timm's type compute their attention without fusing its steps.
    """
    records: list[LayerAttention] = []
    timm_modules: list[Any] = [module for module in model.modules() if _is_timm_attention(module)]
    with ExitStack() as stack:
        for name, module in modules.items():
            recorder = _AttentionRecorder(name, heads, records)
            if isinstance(module, nn.MultiheadAttention):
                hook = module.register_forward_pre_hook(recorder.request_weights, with_kwargs=True)
                stack.callback(hook.remove)
            stack.callback(module.register_forward_hook(recorder.record_and_restore_outputs).remove)
        for module in timm_modules:
            stack.callback(setattr, module, "fused_attn", module.fused_attn)
            module.fused_attn = False
        yield records


class _AttentionRecorder:
    """Hooks that record the attention of a module and return to its caller what the caller requested."""

    def __init__(self, name: str, heads: str, records: list[LayerAttention]) -> None:
        self._name = name
        self._heads = heads
        self._records = records
        self._needs_weights = True
        self._averages_heads = True

    def request_weights(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Change a call of nn.MultiheadAttention so that it returns the weights of each head."""
        arguments = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        self._needs_weights = arguments.get("need_weights", True)
        self._averages_heads = arguments.get("average_attn_weights", True)
        arguments.update(need_weights=True, average_attn_weights=False)
        return (), dict(arguments)

    def record_and_restore_outputs(self, module: nn.Module, inputs: Any, outputs: Any) -> Any:
        """Record the attention of one call, and return the outputs that its caller requested.

        None for other modules than nn.MultiheadAttention, whose outputs stay as they are.
        """
        weights = self._checked_attention_weights(outputs)
        precise = weights
        # MPS has no double precision
        if weights.device.type != "mps":
            precise = weights.double()
        if self._heads == "mean":
            joined = precise.mean(dim=1)
        elif self._heads == "max":
            joined = precise.amax(dim=1)
        else:
            joined = precise.amin(dim=1)
        self._records.append(LayerAttention(self._name, joined.cpu()))
        if not isinstance(module, nn.MultiheadAttention):
            return None
        if not self._needs_weights:
            return outputs[0], None
        if self._averages_heads:
            return outputs[0], weights.mean(dim=1)
        return outputs[0], weights

    def _checked_attention_weights(self, outputs: Any) -> torch.Tensor:
        """Return the attention (b, heads, tokens, tokens) among the outputs of a module.

        SalstatsError if there is none, or its rows do not sum to 1.
        """
        if not isinstance(outputs, tuple | list):
            outputs = (outputs,)
        tensors = [output for output in outputs if isinstance(output, torch.Tensor)]
        weights = next((tensor for tensor in tensors if tensor.ndim == 4), None)
        if weights is None or weights.shape[-1] != weights.shape[-2]:
            shapes = [tuple(tensor.shape) for tensor in tensors]
            raise SalstatsError(
                f"module {self._name!r} gives {shapes}, no attention of shape (images, heads, tokens, "
                "tokens)",
                hint=Message("name the modules that give it with ", Setting("modules")),
                option="modules",
                value=self._name,
            )
        row_sums = weights.detach().float().sum(dim=-1)
        if weights.min() < 0 or (row_sums - 1).abs().max() > _ROW_SUM_TOLERANCE:
            raise SalstatsError(
                f"module {self._name!r} gives no attention: its rows do not sum to 1",
                hint=Message("name the module after the softmax with ", Setting("modules")),
                option="modules",
                value=self._name,
            )
        return weights.detach()


def _grid_shape(
    n_patches: int, image_shape: tuple[int, ...], grid: Any, n_prefix_for_message: int
) -> tuple[int, int]:
    """Return the numbers of rows and columns of patches: those of the option, or as the image's proportions.

    ShapeError if they do not hold exactly `n_patches`.
    """
    if grid is not None:
        if np.shape(grid) != (2,):
            raise ShapeError(Setting("grid", grid), " must be (rows, columns)", option="grid", value=grid)
        rows, columns = (check_count(side, "grid") for side in grid)
    else:
        height = image_shape[0]
        width = image_shape[1]
        rows = max(round((n_patches * height / width) ** 0.5), 1)
        columns = n_patches // rows
    if rows * columns != n_patches or n_patches < 1:
        raise ShapeError(
            f"{n_patches} tokens of patches (after ",
            Setting("n_prefix", n_prefix_for_message),
            f") make no grid of {rows} x {columns}",
            hint=Message(
                "give ", Setting("n_prefix"), ", the tokens before those of patches, and ", Setting("grid"),
                " as (rows, columns)",
            ),
            option="grid", value=(rows, columns),
        )  # fmt: skip
    return rows, columns
