"""Attention rollout: how much of each patch's token reaches the class token of a vision transformer."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import (
    SalstatsError,
    ShapeError,
    ValueRangeError,
    check_choice,
    check_count,
    did_you_mean,
    quoted,
)
from salstats.explain.request import Request

#: How the attention of several heads becomes one.
HEADS = ("mean", "max", "min")
#: Rows of attention add up to 1 but for half precision.
_ROW_SUM = 0.02


def run_attention_rollout(request: Request) -> torch.Tensor:
    """How much attention to each patch reaches the class token through all layers; (b, 1, rows, columns).

    The attention of each layer is mixed with the identity, for the connection that skips it, scaled so that
    rows add up to 1, and multiplied from the first layer to the last (Abnar & Zuidema 2020). It looks at no
    output: the map is the same for every target. From 0 to 1: shares of the class token, whose own is left
    out.

    Options: `modules` (None), names of the modules that give attention of shape (b, heads, tokens, tokens);
    by default every nn.MultiheadAttention, or every module like timm's with `attn_drop`. `heads` ("mean", the
    paper's, "max" or "min"), how heads become one. `discard` (0), share of the smallest attention of each
    layer that is left out; attention to the first token stays. `residual` (0.5), weight of the identity.
    `n_prefix` (1), tokens before those of patches, of which the first is the class token; 0: none, the mean
    over all tokens is taken. `grid` (None), (rows, columns) of patches; by default in the proportions of the
    image.
    """
    options = request.options
    heads = check_choice(options["heads"], HEADS, "heads")
    discard, residual = (_share(options[name], name) for name in ("discard", "residual"))
    n_prefix = check_count(options["n_prefix"], "n_prefix", 0)
    sources = _sources(request.model, options["modules"])
    rolled: list[torch.Tensor] = []
    for start in range(0, len(request.images), request.batch_size):
        with _unfused(request.model), _recorded(sources, heads) as found:
            request.pass_once(request.images[start : start + request.batch_size])
        missing = [name for name in sources if name not in {name for name, _ in found}]
        if missing:
            raise SalstatsError(
                f"module {missing[0]!r} is not called in a pass, so its attention is unknown: a fused "
                "attention skips it; switch that off in the network, or name another, modules="
            )
        rolled.append(rollout([layer for _, layer in found], discard=discard, residual=residual))
    joint = torch.cat(rolled)
    n_patches = joint.shape[1] - n_prefix
    shape = _grid(n_patches, tuple(request.images.shape[2:]), options["grid"], n_prefix)
    reached = joint[:, 0, n_prefix:] if n_prefix else joint.mean(dim=1)
    return reached.reshape(-1, 1, *shape)


def rollout(layers: Sequence[torch.Tensor], *, discard: float = 0.0, residual: float = 0.5) -> torch.Tensor:
    """Attention of several layers, each (b, tokens, tokens), multiplied from the first to the last; float64.

    Rows attend to columns, and add up to 1. `discard` is the share of the smallest attention of each layer
    that is left out (the first column stays), `residual` the weight of the identity; both from 0 to less than
    1.
    """
    joint: torch.Tensor | None = None
    for layer in layers:
        attention = layer.double()
        if joint is not None and attention.shape != joint.shape:
            raise ShapeError(
                f"layers have {joint.shape[-1]} and {attention.shape[-1]} tokens; a rollout needs one number "
                "throughout, which networks with windows or pooling do not have"
            )
        if discard:
            attention = _discarded(attention, discard)
        mixed = residual * torch.eye(attention.shape[-1], dtype=torch.float64) + (1 - residual) * attention
        mixed = mixed / mixed.sum(dim=-1, keepdim=True)
        joint = mixed if joint is None else mixed @ joint
    if joint is None:
        raise ShapeError("a rollout needs one layer at least")
    return joint


def _discarded(attention: torch.Tensor, share: float) -> torch.Tensor:
    """Attention without its smallest values; the first column stays."""
    flat = attention.flatten(1)
    n = int(share * flat.shape[1])
    order = flat.argsort(dim=1, stable=True)[:, :n]
    kept = flat.scatter(1, order, 0.0).reshape_as(attention)
    kept[..., 0] = attention[..., 0]
    return kept


def _sources(model: nn.Module, names: Any) -> dict[str, nn.Module]:
    """Modules that give attention, by their names."""
    every = dict(model.named_modules())
    if names is not None:
        asked = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in asked if name not in every]
        if not asked:
            raise SalstatsError("modules names none; leave it out, or name those that give attention")
        if unknown:
            hint = did_you_mean(unknown[0], filter(None, every))
            raise SalstatsError(f"the network has no module {str(unknown[0])!r}{hint}")
        return {name: every[name] for name in asked}
    found: dict[str, nn.Module] = {
        name: module for name, module in every.items() if isinstance(module, nn.MultiheadAttention)
    }
    if not found:
        fused = {name for name, module in every.items() if _is_fused_kind(module)}
        found = {f"{name}.attn_drop": every[f"{name}.attn_drop"] for name in every if name in fused}
    if not found:
        kinds = sorted({type(module).__name__ for module in every.values()})
        raise SalstatsError(
            "the network has no nn.MultiheadAttention; name the modules that give attention of shape "
            f"(images, heads, tokens, tokens), modules= (types of module: {quoted(kinds)})"
        )
    return found


def _is_fused_kind(module: nn.Module) -> bool:
    """Whether a module is of timm's kind, which skips its attention weights where it can."""
    return hasattr(module, "fused_attn") and isinstance(getattr(module, "attn_drop", None), nn.Module)


@contextmanager
def _recorded(sources: Mapping[str, nn.Module], heads: str) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """Yield what will hold the attention of each call, heads joined; hooks are gone afterwards."""
    found: list[tuple[str, torch.Tensor]] = []
    handles = []
    try:
        for name, module in sources.items():
            recorder = _Recorder(name, heads, found)
            if isinstance(module, nn.MultiheadAttention):
                handles.append(module.register_forward_pre_hook(recorder.ask, with_kwargs=True))
            handles.append(module.register_forward_hook(recorder.take))
        yield found
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _unfused(model: nn.Module) -> Iterator[None]:
    """Let modules of timm's kind compute their attention step by step; afterwards they are as before."""
    flags = {module: module.fused_attn for module in model.modules() if _is_fused_kind(module)}
    try:
        for module in flags:
            setattr(module, "fused_attn", False)  # noqa: B010
        yield
    finally:
        for module, flag in flags.items():
            setattr(module, "fused_attn", flag)  # noqa: B010


class _Recorder:
    """Takes the attention that a module gives, and lets the module's caller have what it asked for."""

    def __init__(self, name: str, heads: str, found: list[tuple[str, torch.Tensor]]) -> None:
        self._name, self._heads, self._found = name, heads, found
        self._wanted = (True, True)

    def ask(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Ask nn.MultiheadAttention for the weights of each head."""
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        asked = bound.arguments
        self._wanted = (asked.get("need_weights", True), asked.get("average_attn_weights", True))
        asked.update(need_weights=True, average_attn_weights=False)
        return (), dict(asked)

    def take(self, module: nn.Module, inputs: Any, outputs: Any) -> Any:
        """Keep the attention of one call."""
        parts = outputs if isinstance(outputs, tuple | list) else (outputs,)
        weights = next((p for p in parts if isinstance(p, torch.Tensor) and p.ndim == 4), None)
        if weights is None or weights.shape[-1] != weights.shape[-2]:
            shapes = [tuple(p.shape) for p in parts if isinstance(p, torch.Tensor)]
            raise SalstatsError(
                f"module {self._name!r} gives {shapes}, no attention of shape (images, heads, tokens, "
                "tokens); modules= names those that give it"
            )
        sums = weights.detach().float().sum(dim=-1)
        if weights.min() < 0 or (sums - 1).abs().max() > _ROW_SUM:
            raise SalstatsError(
                f"module {self._name!r} gives no attention: its rows do not add up to 1; modules= names the "
                "module after the softmax"
            )
        joined = weights.detach().double() if weights.device.type != "mps" else weights.detach()
        fused = joined.mean(dim=1) if self._heads == "mean" else getattr(joined, f"a{self._heads}")(dim=1)
        self._found.append((self._name, fused.cpu()))
        if isinstance(module, nn.MultiheadAttention):
            need, average = self._wanted
            return outputs[0], (weights.mean(dim=1) if average else weights) if need else None
        return None


def _grid(n_patches: int, image: tuple[int, ...], grid: Any, n_prefix: int) -> tuple[int, int]:
    """Rows and columns of patches: those given, or in the image's proportions."""
    if grid is not None:
        rows, columns = (check_count(side, "grid") for side in grid)
    else:
        rows = max(round((n_patches * image[0] / image[1]) ** 0.5), 1)
        columns = n_patches // rows
    if rows * columns != n_patches or n_patches < 1:
        raise ShapeError(
            f"{n_patches} tokens of patches (after n_prefix={n_prefix}) make no grid of {rows} x {columns}; "
            "give n_prefix, the tokens before those of patches, and grid=(rows, columns)"
        )
    return rows, columns


def _share(value: Any, option: str) -> float:
    """A number from 0 to less than 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 <= value < 1:
        raise ValueRangeError(f"{option} must lie from 0 to less than 1, not {value!r}")
    return float(value)
