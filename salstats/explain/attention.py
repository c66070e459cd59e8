"""Attention rollout: how much of each patch's token reaches the class token of a vision transformer."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from salstats.checks import check_choice, check_count, check_number, did_you_mean, quoted
from salstats.errors import SalstatsError, ShapeError
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
    discard, residual = (
        check_number(options[name], name, 1, exclude_high=True) for name in ("discard", "residual")
    )
    n_prefix = check_count(options["n_prefix"], "n_prefix", 0)
    sources = _sources(request.model, options["modules"])
    rolled: list[torch.Tensor] = []
    for start in range(0, len(request.images), request.batch_size):
        with _recorded(request.model, sources, heads) as found:
            request.pass_once(request.images[start : start + request.batch_size])
        missing = set(sources) - {name for name, _ in found}
        if missing:
            raise SalstatsError(
                f"module {min(missing)!r} is not called in a pass, so its attention is unknown: a fused "
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
    n = layers[0].shape[-1]
    other = next((layer.shape[-1] for layer in layers if layer.shape[-1] != n), n)
    if other != n:
        raise ShapeError(
            f"layers have {n} and {other} tokens; a rollout needs one number throughout, which networks with "
            "windows or pooling do not have"
        )
    joint = identity = torch.eye(n, dtype=torch.float64).expand(len(layers[0]), n, n)
    for layer in layers:
        attention = layer.double()
        if discard:
            flat = attention.flatten(1)
            order = flat.argsort(dim=1, stable=True)[:, : int(discard * flat.shape[1])]
            kept = flat.scatter(1, order, 0.0).reshape_as(attention)
            kept[..., 0] = attention[..., 0]
            attention = kept
        mixed = residual * identity + (1 - residual) * attention
        mixed = mixed / mixed.sum(dim=-1, keepdim=True)
        joint = mixed if joint is identity else mixed @ joint
    return joint


def _sources(model: nn.Module, names: Any) -> dict[str, nn.Module]:
    """Modules that give attention, by their names."""
    every = dict(model.named_modules())
    if names is not None:
        asked = [names] if isinstance(names, str) else list(names)
        for name in asked:
            if name not in every:
                hint = did_you_mean(name, filter(None, every))
                raise SalstatsError(f"the network has no module {name!r}{hint}")
        return {name: every[name] for name in asked}
    found = [name for name, module in every.items() if isinstance(module, nn.MultiheadAttention)]
    found = found or [f"{name}.attn_drop" for name, module in every.items() if _is_fused_kind(module)]
    if not found:
        kinds = sorted({type(module).__name__ for module in every.values()})
        raise SalstatsError(
            "the network has no nn.MultiheadAttention; name the modules that give attention of shape "
            f"(images, heads, tokens, tokens), modules= (types of module: {quoted(kinds)})"
        )
    return {name: every[name] for name in found}


def _is_fused_kind(module: nn.Module) -> bool:
    """Whether a module is of timm's kind, which skips its attention weights where it can."""
    return hasattr(module, "fused_attn") and isinstance(getattr(module, "attn_drop", None), nn.Module)


@contextmanager
def _recorded(
    model: nn.Module, sources: Mapping[str, nn.Module], heads: str
) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """Yield what will hold the attention of each call, heads joined; afterwards the model is as before.

    Modules of timm's kind compute their attention step by step meanwhile.
    """
    found: list[tuple[str, torch.Tensor]] = []
    fused: list[Any] = [module for module in model.modules() if _is_fused_kind(module)]
    with ExitStack() as stack:
        for name, module in sources.items():
            recorder = _Recorder(name, heads, found)
            if isinstance(module, nn.MultiheadAttention):
                stack.callback(module.register_forward_pre_hook(recorder.ask, with_kwargs=True).remove)
            stack.callback(module.register_forward_hook(recorder.take).remove)
        for module in fused:
            stack.callback(setattr, module, "fused_attn", module.fused_attn)
            module.fused_attn = False
        yield found


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
