"""The same network with a module for every step: what DeepLIFT and LRP need."""

import operator
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from captum.attr._core.deep_lift import SUPPORTED_NON_LINEAR
from captum.attr._utils.custom_modules import Addition_Module
from torch import fx, nn
from torch.nn import functional

from salstats.checks import SalstatsError

#: Modules that are copied for each use: they hold no numbers.
_COPIED = (*SUPPORTED_NON_LINEAR, nn.AvgPool2d, nn.AdaptiveAvgPool2d, Addition_Module)


def separate_modules(model: nn.Module) -> nn.Module:
    """Return the same network in which each activation, pooling and addition is a module of its own.

    What DeepLIFT and LRP need: ReLU modules that are used more than once are copied for each use, and calls
    of relu, sigmoid, tanh, max_pool2d, avg_pool2d, adaptive_avg_pool2d, of mean over height and width and of
    addition become modules. torchvision's ResNet, for one, is taken by both methods afterwards.

    Parameters
    ----------
    model : torch.nn.Module
        One that `torch.fx` can trace: no branches that depend on the numbers.

    Returns
    -------
    torch.nn.Module
        Shares the parameters with `model`, which stays as it was; gives the same outputs. Layers keep their
        names.

    Raises
    ------
    SalstatsError
        The network cannot be traced, or a step changes numbers in place that are used again afterwards.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from salstats.explain import explain, separate_modules
    >>> relu = nn.ReLU()
    >>> model = nn.Sequential(nn.Conv2d(1, 2, 1), relu, nn.Conv2d(2, 2, 1), relu, nn.Flatten())
    >>> explain(separate_modules(model), torch.ones(1, 1, 1, 1), 0, method="deeplift").shape
    (1, 1, 1)
    """
    try:
        traced = fx.symbolic_trace(model)
    except Exception as error:
        reason = str(error).split("\n")[0][:150]
        raise SalstatsError(
            f"torch.fx cannot trace the network ({reason}); give each step a module of its own by hand"
        ) from error
    used: Counter[str] = Counter()
    places = {node: place for place, node in enumerate(traced.graph.nodes)}
    for node in list(traced.graph.nodes):
        if node.op == "call_module":
            target = str(node.target)
            used[target] += 1
            module = traced.get_submodule(target)
            if used[target] > 1 and type(module) in _COPIED:
                node.target = _add(traced, target, deepcopy(module))
            continue
        made = _module_of(node)
        if made is not None:
            _check_not_reused(node, places)
            module, inputs = made
            with traced.graph.inserting_before(node):
                new = traced.graph.call_module(_add(traced, node.name, module), inputs)
                if _pools_away(node):
                    new = traced.graph.call_function(torch.flatten, (new, 1))
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.graph.lint()
    traced.recompile()
    return traced.train(model.training)


def _check_not_reused(node: fx.Node, places: dict[fx.Node, int]) -> None:
    """Raise SalstatsError where a step changes numbers in place that are used again: a module does not."""
    name = str(getattr(node.target, "__name__", node.target))
    in_place = name == "iadd" or name.endswith("_") or node.kwargs.get("inplace", False)
    changed = node.args[0] if node.args else node.kwargs.get("input")
    if not in_place or not isinstance(changed, fx.Node):
        return
    if any(places.get(user, -1) > places[node] for user in changed.users):
        raise SalstatsError(
            f"{name}() changes {changed.name!r} in place, which is used again afterwards: use what it "
            "returns instead, or give each step a module of its own by hand"
        )


def _add(traced: fx.GraphModule, name: str, module: nn.Module) -> str:
    """Add a module under a name that is free, and return it."""
    number = 1
    while f"{name}_{number}" in dict(traced.named_modules()):
        number += 1
    traced.add_submodule(f"{name}_{number}", module)
    return f"{name}_{number}"


def _module_of(node: fx.Node) -> tuple[nn.Module, tuple[Any, ...]] | None:
    """Return the module that does what a function does, and what it takes; None where there is none."""
    if node.op not in ("call_function", "call_method"):
        return None
    inputs = node.args
    if node.target in _ADDITIONS:
        both = len(inputs) == 2 and all(isinstance(one, fx.Node) for one in inputs) and not node.kwargs
        return (Addition_Module(), inputs) if both else None
    if _pools_away(node) or _pools(node):
        return nn.AdaptiveAvgPool2d(1), inputs[:1]
    make = _MODULES.get(node.target)
    if make is None:
        return None
    options = {key: value for key, value in node.kwargs.items() if key not in ("input", "inplace")}
    if "input" in node.kwargs:
        inputs = (node.kwargs["input"], *inputs)
    if make in (nn.ReLU, nn.Sigmoid, nn.Tanh):
        return make(), inputs[:1]
    try:
        return make(*inputs[1:], **options), inputs[:1]
    except TypeError:
        return None


def _pools(node: fx.Node) -> bool:
    """Return whether a node is a mean over height and width that keeps the dimensions."""
    return _is_mean(node) and _said(node, "keepdim", 2, False) is True


def _pools_away(node: fx.Node) -> bool:
    """Return whether a node is a mean over height and width."""
    return _is_mean(node) and _said(node, "keepdim", 2, False) is False


def _is_mean(node: fx.Node) -> bool:
    """Return whether a node is a mean over the last two of four dimensions."""
    if node.target not in ("mean", torch.mean):
        return False
    dim = _said(node, "dim", 1, None)
    return isinstance(dim, list | tuple) and sorted(dim) in ([2, 3], [-2, -1])


def _said(node: fx.Node, name: str, place: int, default: Any) -> Any:
    """Return an argument of a function."""
    return node.kwargs.get(name, node.args[place] if len(node.args) > place else default)


_ADDITIONS: tuple[Any, ...] = (operator.add, operator.iadd, torch.add, "add", "add_")
_MODULES: dict[Any, Callable[..., nn.Module]] = {
    **dict.fromkeys((functional.relu, torch.relu, torch.relu_, "relu", "relu_"), nn.ReLU),
    **dict.fromkeys((functional.sigmoid, torch.sigmoid, "sigmoid"), nn.Sigmoid),
    **dict.fromkeys((functional.tanh, torch.tanh, "tanh"), nn.Tanh),
    **dict.fromkeys((functional.max_pool2d, torch.max_pool2d), nn.MaxPool2d),
    functional.avg_pool2d: nn.AvgPool2d,
    **dict.fromkeys((functional.adaptive_avg_pool2d,), nn.AdaptiveAvgPool2d),
}
