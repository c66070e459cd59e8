"""What DeepLIFT and LRP of captum have rules for: a network is watched in one pass, and the rest named."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from captum.attr._core.deep_lift import SUPPORTED_NON_LINEAR
from captum.attr._core.lrp import SUPPORTED_LAYERS_WITH_RULES, SUPPORTED_NON_LINEAR_LAYERS
from torch import nn
from torch.overrides import TorchFunctionMode

from salstats.checks import SalstatsError

#: Modules that give the numbers that they take, in another shape: relevance passes them unchanged.
_SHAPE_ONLY = (
    nn.Flatten, nn.Unflatten, nn.Identity, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout,
    nn.FeatureAlphaDropout, nn.PixelShuffle, nn.PixelUnshuffle, nn.ChannelShuffle,
)  # fmt: skip


def _names(text: str) -> frozenset[str]:
    """Return the names in a text."""
    return frozenset(text.split())


#: Operations of the same kind, by the names that torch has for them; asking for a shape is one too.
_SHAPE_OPERATIONS = _names(
    """__get__ __getitem__ __len__ cat chunk clone concat concatenate contiguous dim dropout dropout2d expand
    feature_dropout flatten get_device is_complex is_contiguous is_floating_point moveaxis movedim ndimension
    numel permute pixel_shuffle pixel_unshuffle ravel reshape reshape_as size split squeeze stack stride
    swapaxes t transpose unbind unflatten unsqueeze view view_as _set_grad_enabled"""
)
#: Nonlinear operations of torch, for which DeepLIFT's gradients alone are no DeepLIFT.
_NONLINEAR = _names(
    """relu relu_ relu6 threshold threshold_ hardtanh hardtanh_ clamp clamp_ clip clip_ clamp_min clamp_min_
    clamp_max clamp_max_ leaky_relu leaky_relu_ elu elu_ selu selu_ celu celu_ prelu rrelu gelu silu mish
    hardswish hardsigmoid sigmoid sigmoid_ tanh tanh_ softplus softsign logsigmoid softmax log_softmax softmin
    max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
    max_pool2d_with_indices fractional_max_pool2d lp_pool2d max amax maximum min amin minimum exp exp_ log
    sqrt rsqrt abs pow __pow__ square reciprocal __rdiv__ __rtruediv__ norm normalize where
    layer_norm group_norm instance_norm scaled_dot_product_attention multi_head_attention_forward
    _native_multi_head_attention _transformer_encoder_layer_fwd"""
)
#: Nonlinear where two of the numbers come from the image, such as in a gate.
_PRODUCTS = _names(
    """mul multiply __mul__ __rmul__ mul_ __imul__ div divide __div__ __truediv__ true_divide matmul
    __matmul__ bmm einsum"""
)
#: Modules of torch that are linear in what they take once they are in evaluation mode.
_LINEAR_MODULES = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d,
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.Dropout, nn.Upsample,
    nn.ZeroPad2d, nn.ReflectionPad2d, nn.ReplicationPad2d, nn.ConstantPad2d,
)  # fmt: skip
#: The modules that stand for a function. `separate_modules` puts in the first ones by itself.
_SEPARATED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("relu", "relu_"), "nn.ReLU()"),
        **dict.fromkeys(("sigmoid",), "nn.Sigmoid()"),
        **dict.fromkeys(("tanh",), "nn.Tanh()"),
        **dict.fromkeys(("max_pool2d",), "nn.MaxPool2d()"),
        **dict.fromkeys(("avg_pool2d",), "nn.AvgPool2d()"),
        **dict.fromkeys(("adaptive_avg_pool2d", "mean"), "nn.AdaptiveAvgPool2d()"),
        **dict.fromkeys(("add", "add_", "__add__", "__iadd__"), "captum's Addition_Module()"),
    }
)
_BY_HAND: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("clamp", "clamp_min"), "nn.ReLU()"),
        **dict.fromkeys(("linear", "matmul", "__matmul__"), "nn.Linear()"),
        "conv2d": "nn.Conv2d()",
        "batch_norm": "nn.BatchNorm2d()",
        "leaky_relu": "nn.LeakyReLU()",
        "elu": "nn.ELU()",
        "softplus": "nn.Softplus()",
        "softmax": "nn.Softmax()",
    }
)
#: Of these, what LRP has no rule for, as a module or not.
_NOT_IN_LRP = ("sigmoid", "leaky_relu", "elu", "softplus", "softmax")
#: Outputs at which relevance starts are those before these.
_FINAL = (nn.Sigmoid, nn.Softmax, nn.LogSoftmax, nn.LogSigmoid)
_LABELS = {"deeplift": "DeepLIFT", "lrp": "LRP"}


def check_rules(model: nn.Module, image: torch.Tensor, method: str) -> None:
    """Raise SalstatsError where captum has no rule for a step of a network, naming it and what to change.

    Parameters
    ----------
    model : torch.nn.Module
        In evaluation mode.
    image : Tensor, shape (1, channels, height, width)
        One pass is made with it.
    method : {"deeplift", "lrp"}

    Notes
    -----
    captum itself refuses some of these, and passes others in silence: its DeepLIFT takes the plain gradient
    of a nonlinear function that is no module, its LRP gives both branches of an addition all relevance.
    """
    label = _LABELS[method]
    has_rule, kept = (
        (_has_lrp_rule, _kept_by_lrp) if method == "lrp" else (_has_deeplift_rule, _kept_by_deeplift)
    )
    seen = _watched(model, image, has_rule)
    for module, n_calls in seen.calls.items():
        kind, shown = type(module).__name__, _where(seen.names[module])
        foreign = not type(module).__module__.startswith("torch.nn.")
        # of containers, and of modules from elsewhere, what they call is looked at instead
        if not (has_rule(module) or foreign or any(True for _ in module.children())):
            hint = "replace it by one that has (nn.ReLU for an activation), or take another method"
            if isinstance(module, _FINAL):
                hint = "leave it out of the network, so that outputs are logits"
            raise SalstatsError(f"{shown} is of type {kind}, for which {label} has no rule: {hint}")
        if n_calls > 1 and kept(module):
            own = f"give each its own nn.{kind}(), or take explain.separate_modules(model), which does it"
            if any(True for _ in module.parameters()):
                own = "give each a copy of it (copy.deepcopy)"
            raise SalstatsError(
                f"{shown} ({kind}) is used {n_calls} times, and {label} needs one for each use: {own}"
            )
        if kept(module) and module._backward_hooks:
            raise SalstatsError(
                f"{shown} ({kind}) has a backward hook, beside which {label} cannot set its own: remove it"
            )
    for operation in seen.operations:
        if not _has_operation(operation, method):
            raise SalstatsError(
                f"{_where(operation.place)} calls {operation.name}() as a function, for which {label} has no "
                f"rule: {_instead(operation.name, method)}"
            )


def _instead(name: str, method: str) -> str:
    """Return what to do about a function."""
    if not (method == "lrp" and name in _NOT_IN_LRP):
        if name in _SEPARATED:
            own = "take explain.separate_modules(model), which does it"
            return f"make it a module ({_SEPARATED[name]}), or {own}"
        if name in _BY_HAND:
            return f"make it a module ({_BY_HAND[name]})"
    return "replace it by a module that has one, or take another method"


def _has_operation(operation: "Operation", method: str) -> bool:
    """Return whether a method is right about a function that is called outside of modules with rules."""
    if not operation.n_tensors:
        return True
    if method == "lrp":
        return operation.name in _SHAPE_OPERATIONS
    if operation.name in _PRODUCTS:
        return operation.n_tensors < 2
    return operation.name not in _NONLINEAR


def _kept_by_lrp(module: nn.Module) -> bool:
    """Return whether LRP keeps something about each use of a module."""
    kinds = (*SUPPORTED_LAYERS_WITH_RULES, nn.ReLU, nn.Tanh)
    return type(module) in kinds or "rule" in vars(module)


def _kept_by_deeplift(module: nn.Module) -> bool:
    """Return whether DeepLIFT keeps something about each use of a module."""
    return type(module) in SUPPORTED_NON_LINEAR


def _has_lrp_rule(module: nn.Module) -> bool:
    """Return whether captum or this package has a rule of LRP for a module, or the user gave it one."""
    if "rule" in vars(module) or only_shapes(module):
        return True
    return type(module) in SUPPORTED_LAYERS_WITH_RULES or type(module) in SUPPORTED_NON_LINEAR_LAYERS


def _has_deeplift_rule(module: nn.Module) -> bool:
    """Return whether DeepLIFT is right about a module: it has a rule, or is linear."""
    linear = only_shapes(module) or isinstance(module, _LINEAR_MODULES)
    return linear or type(module) in SUPPORTED_NON_LINEAR or type(module).__name__ == "Addition_Module"


def only_shapes(module: nn.Module) -> bool:
    """Return whether a module gives the numbers that it takes, in another shape."""
    empty = type(module) is nn.Sequential and not len(module)
    return empty or isinstance(module, _SHAPE_ONLY)


def _where(place: str) -> str:
    """Return how a message names a module."""
    return f"module {place!r}" if place else "the model"


class Operation(NamedTuple):
    """A function of torch that a pass calls.

    Attributes
    ----------
    place : str
        Name of the innermost module that was running.
    name : str
    n_tensors : int
        Of its arguments, those that come from the image.
    """

    place: str
    name: str
    n_tensors: int


class _Watched(TorchFunctionMode):
    """What a pass calls: modules and how often, and functions of torch outside of modules with a rule."""

    def __init__(self, names: Mapping[nn.Module, str], has_rule: Callable[[nn.Module], bool]) -> None:
        super().__init__()
        self.names = names
        self.calls: Counter[nn.Module] = Counter()
        self.operations: list[Operation] = []
        self._has_rule = has_rule
        # numbers of the network itself and what is made of them, which do not come from the image
        self._own = {id(one): one for module in names for one in (*module.parameters(), *module.buffers())}
        self._running: list[nn.Module] = []

    def enter(self, module: nn.Module, inputs: Any) -> None:
        """Note that a module starts."""
        self.calls[module] += 1
        self._running.append(module)

    def leave(self, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """Note that a module is done."""
        self._running.pop()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Note a function's name, unless it is the work of a module with a rule."""
        taken = [one for one in _flat((*args, *(kwargs or {}).values())) if id(one) not in self._own]
        if not any(self._has_rule(module) for module in self._running):
            name = getattr(func, "__name__", str(func))
            place = self.names.get(self._running[-1], "") if self._running else ""
            # max_pool2d and its kind are chosen between two functions, and are called fn
            self.operations.append(Operation(place, _DISPATCHED.get(func, name), len(taken)))
        made = func(*args, **(kwargs or {}))
        if not taken:
            self._own |= {id(one): one for one in _flat((made,))}
        return made


def _flat(arguments: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments, also those in lists."""
    for one in arguments:
        if isinstance(one, torch.Tensor):
            yield one
        elif isinstance(one, list | tuple):
            yield from _flat(one)


#: Functions whose own name says nothing.
_DISPATCHED = {
    getattr(torch.nn.functional, name): name
    for name in (
        "max_pool1d", "max_pool2d", "max_pool3d",
        "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "fractional_max_pool2d",
    )
}  # fmt: skip


def _watched(model: nn.Module, image: torch.Tensor, has_rule: Callable[[nn.Module], bool]) -> _Watched:
    """Return what a pass of one image calls."""
    names = {module: name for name, module in model.named_modules()}
    watch = _Watched(names, has_rule)
    handles = []
    try:
        for module in names:
            handles.append(module.register_forward_pre_hook(watch.enter))
            handles.append(module.register_forward_hook(watch.leave, always_call=True))
        # a copy, since functions in place would change the image
        copy = image.detach().clone()
        with torch.no_grad(), watch:
            model(copy)
    finally:
        for handle in handles:
            handle.remove()
    return watch


@contextmanager
def cleared(model: nn.Module) -> Iterator[None]:
    """Give modules back the attributes and numbers that they had, also after an error: captum leaves some."""
    kept = {
        module: {key: vars(module)[key] for key in _LEFT if key in vars(module)} for module in model.modules()
    }
    # some rules of LRP put other numbers into a parameter, and captum writes the old ones back into those
    numbers = {parameter: parameter.data for parameter in model.parameters()}
    try:
        yield
    finally:
        for parameter, data in numbers.items():
            if parameter.data_ptr() != data.data_ptr():
                parameter.data = data
        for module, had in kept.items():
            for key in _LEFT:
                if key in had:
                    setattr(module, key, had[key])
                elif key in vars(module):
                    delattr(module, key)


#: Attributes that captum's LRP and DeepLIFT set on modules.
_LEFT = ("rule", "activations", "activation", "input", "input_ref", "output")
