"""Passes in which functions of torch have the multipliers of DeepLIFT or of LRP in place of their gradients.

Functions are seen as the network calls them: by a module or not, once or several times, in place or not.
One that is not named here keeps its gradient, which is right where it is linear in the image; `check_sums`
finds where it is not.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from salstats.checks import quoted
from salstats.errors import SalstatsError, warn
from salstats.explain.forward_passes import without_parameter_gradients
from salstats.explain.inputs import check_outputs

Function = Callable[..., Any]
#: Shares within which sums are right: of exact rules, and where steps or epsilon keep something (the 50 steps
#: that are usual come within 5 to 8 % on small networks).
EXACT, NEARLY = 0.01, 0.1
#: Units of the last digit of outputs that deep networks may lose.
_ROUNDING = 1e4


def _names(text: str) -> frozenset[str]:
    """Names in a text."""
    return frozenset(text.split())


#: Functions of each number by itself.
_ELEMENTWISE = _names(
    """relu relu6 threshold hardtanh clamp clip clamp_min clamp_max leaky_relu elu selu celu prelu gelu
    silu mish hardswish hardsigmoid sigmoid tanh softplus softsign logsigmoid exp log log1p sqrt
    rsqrt abs pow square reciprocal rdiv"""
)
_MAX_POOLS = ("max_pool1d", "max_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d")
#: Linear in each of two tensors.
_PRODUCTS: dict[str, Function] = {
    "mul": torch.mul, "multiply": torch.mul, "matmul": torch.matmul, "bmm": torch.bmm,
}  # fmt: skip
_QUOTIENTS = ("div", "divide", "true_divide")
#: Functions that give the numbers that they take.
_SHAPES = _names(
    """get getitem cat chunk clone concat contiguous dropout dropout2d expand feature_dropout flatten
    moveaxis movedim permute pixel_shuffle pixel_unshuffle ravel reshape reshape_as split squeeze
    stack swapaxes t transpose unbind unflatten unsqueeze view view_as"""
)
#: Those that a message about sums need not name.
_LINEAR = _names(
    """conv1d conv2d conv_transpose1d conv_transpose2d linear addmm batch_norm avg_pool1d avg_pool2d
    adaptive_avg_pool1d adaptive_avg_pool2d mean sum add sub rsub neg div flip roll pad interpolate
    upsample gather index_select size dim"""
)


class _Step(NamedTuple):
    """A call of a function: its name without underscores, itself, and what it takes."""

    name: str
    func: Function
    args: tuple[Any, ...]
    options: dict[str, Any]

    def made(self, *first: Any) -> Any:
        """What the function makes of its arguments, the first of them replaced where others are given."""
        return self.func(*first, *self.args[len(first) :], **self.options)

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """Tensors that the function takes."""
        return tuple(one for one in self.args if isinstance(one, torch.Tensor))


class _Pass(TorchFunctionMode):
    """A pass that sees each function by its name."""

    def __init__(self) -> None:
        super().__init__()
        #: Functions of the image's numbers of which nothing is known.
        self.unknown: dict[str, None] = {}

    def __torch_function__(self, func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        called, options = getattr(func, "__name__", str(func)), kwargs or {}
        name = called.strip("_")
        if not args or not isinstance(args[0], torch.Tensor) or name in _SHAPES:
            return func(*args, **options)
        in_place = options.get("inplace", False) or (called.endswith("_") and not called.endswith("__"))
        if not in_place or name in _LINEAR:
            return self.step(_Step(name, func, args, options))
        # what is done in place is done to a copy first
        on_copy = _Step(name, lambda first, *rest, **own: func(first.clone(), *rest, **own), args, options)
        return args[0].copy_(self.step(on_copy))

    def step(self, step: _Step) -> Any:
        """What a function gives, with its multipliers."""
        made = step.made()
        if step.name not in _KNOWN and _of_image(made if isinstance(made, tuple) else (made,)):
            self.unknown[step.name] = None
        return made

    def named(self) -> str:
        """What a message says of the functions of which nothing is known."""
        return f"; it calls {quoted(self.unknown)}, for which there is no rule" if self.unknown else ""


class Rescale(_Pass):
    """DeepLIFT's rescale rule: a pass of the baselines, then one of the images, in which it is the gradient.

    Every multiplier is exact: times the difference of what a function takes it is that of what it gives.
    Products take the mean of both ways to change their factors one after the other, as shap does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.references: deque[tuple[torch.Tensor, ...]] = deque()
        self.refers = True

    def step(self, step: _Step) -> Any:
        """What a function gives; note what it takes from the baselines, or use that."""
        if step.name in _MADE_OF:
            with self:
                return _MADE_OF[step.name](*step.args, **step.options)
        if step.name in _QUOTIENTS and len(step.tensors) == 2 and not step.options:
            with self:
                return step.args[0] * step.args[1].reciprocal()
        if step.name not in _RULES:
            return super().step(step)
        if self.refers:
            # a copy: what follows may change them in place
            self.references.append(tuple(one.clone() for one in step.tensors))
            return step.made()
        noted = self.references.popleft() if self.references else ()
        if [one.shape for one in noted] != [one.shape for one in step.tensors]:
            raise SalstatsError("DeepLIFT: the network takes other steps for the baseline than for the image")
        return _RULES[step.name](step, noted) if _of_image(step.args) else step.made()


class Relevance(_Pass):
    """LRP's epsilon rule: functions that mix numbers give back z / (z + epsilon), activations all."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        #: Relevance that went to biases, once the gradient is taken.
        self.of_biases = 0.0

    def step(self, step: _Step) -> Any:
        """What a function gives."""
        made = super().step(step)
        if not isinstance(made, torch.Tensor) or not made.requires_grad:
            return made
        if step.name in _ELEMENTWISE:
            nothing = torch.zeros_like(step.args[0])
            of_nothing = step.made(nothing)
            if not of_nothing.any():
                return _sloped(step.args[0], made, nothing, of_nothing)
        gates = (*_PRODUCTS, *_QUOTIENTS) if sum(one.requires_grad for one in step.tensors) > 1 else ()
        if step.name in (*_ELEMENTWISE, *_MADE_OF, "softmax", *gates):
            raise SalstatsError(
                f"the network calls {step.name}(), for which LRP has no rule: take another method, or, where "
                "that is its last step, leave the step out so that outputs are logits"
            )
        with torch.no_grad():
            # of one image: biases are the same for all
            biases = step.made(*(torch.zeros_like(a[:1]) if _of_image((a,)) else a for a in step.args))
            share = made / (made + self.epsilon * torch.where(made < 0, -1.0, 1.0).to(made))

        def passed(gradient: torch.Tensor) -> torch.Tensor:
            # what the biases keep is counted
            own = gradient * share
            self.of_biases += (own * biases).sum().item()
            return own

        made.register_hook(passed)
        return made


def _of_image(args: tuple[Any, ...]) -> bool:
    """Whether a function takes numbers that come from the image: those have gradients, no others."""
    return any(isinstance(one, torch.Tensor) and one.requires_grad for one in args)


def _sloped(
    x: torch.Tensor, made: torch.Tensor, reference: torch.Tensor, of_reference: torch.Tensor
) -> torch.Tensor:
    """What was made of x, with the slope from the reference as its gradient.

    Where they differ by less than half of the digits it is the gradient: a slope would be rounding.
    """
    own = x.detach()
    difference = own - reference
    alike = difference.abs() <= torch.finfo(x.dtype).eps ** 0.5 * own.abs()
    slope = (made.detach() - of_reference).div_(difference.masked_fill_(alike, 1))
    sloped = torch.addcmul(made.detach(), slope, x - own)
    return torch.where(alike, made, sloped) if alike.any() else sloped


#: What tensors of a function were for the baselines.
_Noted = tuple[torch.Tensor, ...]


def _elementwise(step: _Step, noted: _Noted) -> torch.Tensor:
    """What a function makes of each number, with its slope."""
    return _sloped(step.args[0], step.made(), noted[0], step.made(noted[0]))


def _product(times: Function, step: _Step, noted: _Noted) -> torch.Tensor:
    """A product; the change of each factor counts by the mean of the other."""
    made: torch.Tensor
    if len(noted) < 2:
        made = step.made()
        return made
    (a, b), (own_a, own_b) = step.args, (one.detach() for one in step.args)
    made = times(own_a, own_b) + times(a - own_a, (own_b + noted[1]) / 2)
    return made + times((own_a + noted[0]) / 2, b - own_b)


def _max_pool(pool: Function, step: _Step, noted: _Noted) -> torch.Tensor:
    """Maxima: a rise belongs to the image's maximum, a fall to the one that the baseline had.

    The difference there is at least as large, so that no multiplier leaves 0 to 1, and windows may overlap.
    """
    x, reference = step.args[0], noted[0]
    last = 2 - x.ndim
    asked = {**step.options, "return_indices": True}
    (made, at), (of_reference, at_reference) = (
        pool(one, *step.args[1:], **asked) for one in (x.detach(), reference)
    )
    at, at_reference = at.flatten(last), at_reference.flatten(last)
    tied = reference.flatten(last).gather(-1, at) == of_reference.flatten(last)
    at_reference = torch.where(tied, at, at_reference)
    difference = (x.detach() - reference).flatten(last)
    nothing = (x - x.detach()).flatten(last)
    change = (made - of_reference).flatten(last)
    for places, part, otherwise in ((at, change.clamp(min=0), 1.0), (at_reference, change.clamp(max=0), 0.0)):
        there = difference.gather(-1, places)
        alike = there == 0
        slope = (part / there.masked_fill(alike, 1)).masked_fill(alike, otherwise)
        made = made + (slope * nothing.gather(-1, places)).view_as(made)
    return made


def _softmax(step: _Step, noted: _Noted) -> torch.Tensor:
    """Shares; their change goes by the logarithmic mean of both, less the mean change of all."""
    own, dim = step.args[0].detach(), step.options["dim"] if "dim" in step.options else step.args[1]
    logs, of_reference = own.log_softmax(dim), noted[0].log_softmax(dim)
    difference = logs - of_reference
    alike = difference.abs() <= torch.finfo(own.dtype).eps ** 0.5
    slope = (logs.exp() - of_reference.exp()) / difference.masked_fill(alike, 1)
    slope = torch.where(alike, logs.exp(), slope)
    moved = step.args[0] - own
    common = (slope * moved).sum(dim, keepdim=True) / slope.sum(dim, keepdim=True)
    return logs.exp() + slope * (moved - common)


_RULES: dict[str, Callable[[_Step, _Noted], torch.Tensor]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **{name: partial(_product, times) for name, times in _PRODUCTS.items()},
    **{name: partial(_max_pool, getattr(functional, name)) for name in _MAX_POOLS},
    "softmax": _softmax,
}


def _standardized(x: torch.Tensor, dims: tuple[int, ...], eps: float) -> torch.Tensor:
    """Numbers less their mean, divided by their standard deviation."""
    centred = x - x.mean(dims, keepdim=True)
    return centred * ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()


def _layer_norm(
    x: torch.Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> torch.Tensor:
    """What torch's function of that name does."""
    made = _standardized(x, tuple(range(-len(shape), 0)), eps)
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


def _group_norm(
    x: torch.Tensor, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> torch.Tensor:
    """What torch's function of that name does."""
    made = _standardized(x.reshape(len(x), groups, -1), (-1,), eps).reshape(x.shape)
    each = (-1, *(1,) * (x.ndim - 2))
    made = made if weight is None else made * weight.reshape(each)
    return made if bias is None else made + bias.reshape(each)


#: Functions that are made of others, which have rules.
_MADE_OF: dict[str, Function] = {"layer_norm": _layer_norm, "group_norm": _group_norm}
_KNOWN = {*_RULES, *_MADE_OF, *_LINEAR}


def pass_back(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, mode: _Pass
) -> tuple[torch.Tensor, torch.Tensor]:
    """Multipliers of each pixel, and the targets' outputs."""
    with without_parameter_gradients(model):
        leaf = images.detach().clone().requires_grad_()
        # no leaf: a network may change its images in place
        given = leaf.clone()
        with mode:
            outputs = model(given)
        chosen = of_targets(outputs, targets)
        (multipliers,) = torch.autograd.grad(chosen.sum(), leaf)
    return multipliers, chosen.detach()


def of_targets(outputs: Any, targets: torch.Tensor) -> torch.Tensor:
    """Each image's output."""
    return check_outputs(outputs, len(targets)).gather(1, targets[:, None].long())[:, 0]


def check_sums(
    found: torch.Tensor,
    expected: torch.Tensor,
    outputs: torch.Tensor,
    within: float,
    message: str,
    *,
    refuse: bool = False,
) -> None:
    """Warn, or raise SalstatsError, where sums are on average not within a share of what they have to be.

    `outputs` are those of which the sums are made: they say how large rounding may be.
    """
    rounding = _ROUNDING * torch.finfo(outputs.dtype).eps
    gap = (found.double() - expected.double()).abs().sum()
    if gap <= within * expected.abs().sum() + rounding * outputs.abs().sum():
        return
    if refuse:
        raise SalstatsError(message)
    warn(message)
