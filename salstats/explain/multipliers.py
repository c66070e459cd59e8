"""Passes in which functions of torch have the multipliers of DeepLIFT or of LRP in place of their gradients.

A multiplier is the factor by which a change of a function's argument counts in the change of its result;
`torch.autograd` chains multipliers as it chains gradients. Functions are replaced as the network calls them:
by a module or not, once or several times, in place or not. One that is not named here keeps its gradient,
which is its multiplier if it is linear in the image; `wrong_sums_mask` detects networks where it is not.

To give a result another gradient than its own, rules add a term `slope * (x - x.detach())`: its value is 0,
its gradient by x is `slope`.
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
from salstats.errors import SalstatsError
from salstats.explain.forward_passes import without_parameter_gradients
from salstats.explain.input_checks import check_outputs


def _function_names(text: str) -> frozenset[str]:
    """Return the names in a text that are separated by white space."""
    return frozenset(text.split())


#: A function of torch.
Function = Callable[..., Any]
#: Share of the expected sum by which sums of exact rules may be off.
EXACT_TOLERANCE = 0.01
#: Share of the expected sum by which sums of a quadrature, or with an epsilon, may be off. With the usual 50
#: steps small networks are 5 to 8 % off.
APPROXIMATE_TOLERANCE = 0.1
#: Rounding error of deep networks, in units of the last digit of their outputs.
_ROUNDING = 1e4
#: Functions that take each number of a tensor by itself.
_ELEMENTWISE = _function_names(
    """relu relu6 threshold hardtanh clamp clip clamp_min clamp_max leaky_relu elu selu celu prelu gelu
    silu mish hardswish hardsigmoid sigmoid tanh softplus softsign logsigmoid exp log log1p sqrt
    rsqrt abs pow square reciprocal rdiv"""
)
_MAX_POOLS = ("max_pool1d", "max_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d")
#: Functions that are linear in each of two tensors.
_PRODUCTS: dict[str, Function] = {
    "mul": torch.mul,
    "multiply": torch.mul,
    "matmul": torch.matmul,
    "bmm": torch.bmm,
}
_QUOTIENTS = ("div", "divide", "true_divide")
#: Functions that only select, repeat or rearrange the numbers of their arguments.
_REARRANGING = _function_names(
    """broadcast_to get getitem cat chunk clone concat contiguous dropout dropout2d expand expand_as
    feature_dropout flatten moveaxis movedim narrow permute pixel_shuffle pixel_unshuffle ravel repeat
    repeat_interleave reshape reshape_as select split squeeze stack swapaxes t tile transpose unbind
    unflatten unsqueeze view view_as"""
)
#: Linear functions, whose gradient is their multiplier.
_LINEAR = _function_names(
    """conv1d conv2d conv_transpose1d conv_transpose2d linear addmm batch_norm avg_pool1d avg_pool2d
    adaptive_avg_pool1d adaptive_avg_pool2d mean sum add sub rsub neg div flip roll pad interpolate
    upsample gather index_select size dim"""
)


class _Step(NamedTuple):
    """A call of a function: its name without underscores, the function, and its arguments."""

    name: str
    func: Function
    args: tuple[Any, ...]
    options: dict[str, Any]

    def result(self, *first_args: Any) -> Any:
        """Call the function; `first_args`, if given, replace as many of its first arguments."""
        return self.func(*first_args, *self.args[len(first_args) :], **self.options)

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """Return the tensors among the arguments."""
        return tuple(argument for argument in self.args if isinstance(argument, torch.Tensor))


class _Pass(TorchFunctionMode):
    """A context in which each function of torch is called through `forward_result_of_step`."""

    def __init__(self) -> None:
        super().__init__()
        #: Names of functions of the image's numbers that have no rule and may not be linear; a dict keeps
        #: their order.
        self.unknown: dict[str, None] = {}

    def __torch_function__(self, func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function through `forward_result_of_step`, unless it only rearranges or takes no tensor.

        A function that overwrites its first argument is called on a copy, and the result written into it.
        """
        options = kwargs or {}
        called_name = getattr(func, "__name__", str(func))
        name = called_name.strip("_")
        if not args or not isinstance(args[0], torch.Tensor) or name in _REARRANGING:
            return func(*args, **options)
        # torch ends the names of functions that overwrite their argument with an underscore
        named_in_place = called_name.endswith("_") and not called_name.endswith("__")
        overwrites = options.get("inplace", False) or named_in_place
        if not overwrites or name in _LINEAR:
            return self.forward_result_of_step(_Step(name, func, args, options))

        def func_of_copy(first: torch.Tensor, *further_args: Any, **func_options: Any) -> Any:
            """Call the function with a copy of its first argument."""
            return func(first.clone(), *further_args, **func_options)

        # a rule needs the argument after the call: the function gets a copy, the result is written afterwards
        result = self.forward_result_of_step(_Step(name, func_of_copy, args, options))
        return args[0].copy_(result)

    def forward_result_of_step(self, step: _Step) -> Any:
        """Return the result of a function; record its name if it has no rule and depends on the image."""
        result = step.result()
        results = (result,)
        if isinstance(result, tuple):
            results = result
        if step.name not in _WITH_RULE and _depends_on_image(results):
            self.unknown[step.name] = None
        return result

    def unknown_functions_text(self) -> str:
        """Return the end of a message that names the functions without a rule, "" if there are none."""
        if not self.unknown:
            return ""
        return f"; it calls {quoted(self.unknown)}, for which there is no rule"


class Rescale(_Pass):
    """DeepLIFT's rescale rule: a pass of the baselines, then one of the images with multipliers as gradients.

    Every multiplier is exact: its product with the difference of a function's arguments from those for the
    baseline is the difference of the results. Products take the mean of both ways to change their factors one
    after the other, as shap does. DeepLIFT: Shrikumar et al. 2017, doi:10.48550/arXiv.1704.02685.
    """

    def __init__(self) -> None:
        super().__init__()
        #: Arguments of each function in the pass of the baselines, in the order of calls.
        self.references: deque[tuple[torch.Tensor, ...]] = deque()
        #: True while the baselines pass, False while the images do.
        self.records_baselines = True

    def forward_result_of_step(self, step: _Step) -> Any:
        """Return the result of a function; record its arguments for the baselines, or use them."""
        # torch leaves this context while a call is handled: `with self` catches the calls made here, too
        if step.name in _COMPOSED:
            with self:
                return _COMPOSED[step.name](*step.args, **step.options)
        # an option of a quotient is the rounding of its result
        if step.name in _QUOTIENTS and len(step.tensors) == 2 and not step.options:
            with self:
                return step.args[0] * step.args[1].reciprocal()
        if step.name not in _RULES:
            return super().forward_result_of_step(step)
        if self.records_baselines:
            # copies: later steps may change the tensors in place
            self.references.append(tuple(tensor.clone() for tensor in step.tensors))
            return step.result()
        references: tuple[torch.Tensor, ...] = ()
        if self.references:
            references = self.references.popleft()
        reference_shapes = [tensor.shape for tensor in references]
        if reference_shapes != [tensor.shape for tensor in step.tensors]:
            raise SalstatsError("DeepLIFT: the network takes other steps for the baseline than for the image")
        if not _depends_on_image(step.args):
            return step.result()
        return _RULES[step.name](step, references)


class Relevance(_Pass):
    """LRP's epsilon rule: a pass whose gradients, times the image, are the relevance of its pixels.

    Functions that mix numbers pass back the share z / (z + epsilon) of the relevance of a result z, where
    epsilon has the sign of z; activations pass back all (Bach et al. 2015, doi:10.1371/journal.pone.0130140).
    """

    def __init__(self, epsilon: float, n_images: int) -> None:
        super().__init__()
        self.epsilon = epsilon
        #: Relevance that went to biases, for each image; complete once the gradient is taken.
        self.bias_relevance = torch.zeros(n_images, dtype=torch.float64)

    def forward_result_of_step(self, step: _Step) -> Any:
        """Return the result of a function, whose gradient passes relevance back."""
        result = super().forward_result_of_step(step)
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return result
        if step.name in _ELEMENTWISE:
            # an activation that gives 0 of 0 passes on all relevance: its slope from 0 is result / argument
            zeros = torch.zeros_like(step.args[0])
            zeros_result = step.result(zeros)
            if not zeros_result.any():
                return _result_with_slope_gradient(step.args[0], result, zeros, zeros_result)
        self._check_has_rule(step)
        with torch.no_grad():
            # the result for an image of zeros is the function's bias
            zero_args = [self._one_image_zeros_if_depends_on_image(argument) for argument in step.args]
            biases = step.result(*zero_args)
            sign = torch.where(result < 0, -1.0, 1.0).to(result)
            share = result / (result + self.epsilon * sign)

        def pass_share_of_gradient(gradient: torch.Tensor) -> torch.Tensor:
            """Return the share of a gradient that is passed back; add the biases' to `bias_relevance`."""
            passed = gradient * share
            self.bias_relevance += self._sums_by_image(passed * biases).cpu()
            return passed

        result.register_hook(pass_share_of_gradient)
        return result

    def _sums_by_image(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of each image's numbers, of a tensor whose first dimension runs over the images."""
        n_images = len(self.bias_relevance)
        if values.numel() % n_images:
            # a step that joins the images has no parts of single images: each gets an equal share
            return values.double().sum().expand(n_images) / n_images
        return values.reshape(n_images, -1).double().sum(dim=1)

    def _check_has_rule(self, step: _Step) -> None:
        """Raise SalstatsError for a function that LRP has no rule for."""
        without_rule = step.name in (*_ELEMENTWISE, *_COMPOSED, "softmax")
        # a product or quotient of two tensors that depend on the image is a gate
        n_dependent = sum(tensor.requires_grad for tensor in step.tensors)
        is_gate = n_dependent > 1 and step.name in (*_PRODUCTS, *_QUOTIENTS)
        if without_rule or is_gate:
            raise SalstatsError(
                f"the network calls {step.name}(), for which LRP has no rule",
                hint="take another method, or, where that is its last step, leave the step out so that "
                "outputs are logits",
                option="method",
                value="lrp",
            )

    @staticmethod
    def _one_image_zeros_if_depends_on_image(argument: Any) -> Any:
        """Return zeros for one image if an argument is made from the images, else the argument itself."""
        if _depends_on_image((argument,)):
            return torch.zeros_like(argument[:1])
        return argument


def _depends_on_image(args: tuple[Any, ...]) -> bool:
    """Return True if an argument is made from the image: only such tensors have gradients."""
    return any(isinstance(argument, torch.Tensor) and argument.requires_grad for argument in args)


def _result_with_slope_gradient(
    x: torch.Tensor, result: torch.Tensor, reference: torch.Tensor, reference_result: torch.Tensor
) -> torch.Tensor:
    """Return `result`, f(x), with the slope from the reference r as its gradient: (f(x) - f(r)) / (x - r).

    Where x and r agree in half of their digits the slope would be rounding error, and the gradient is that of
    f. `reference_result` is f(r).
    """
    values = x.detach()
    difference = values - reference
    close = difference.abs() <= torch.finfo(x.dtype).eps ** 0.5 * values.abs()
    slope = (result.detach() - reference_result).div_(difference.masked_fill_(close, 1))
    # f(x) + slope (x - values)
    sloped_result = torch.addcmul(result.detach(), slope, x - values)
    if not close.any():
        return sloped_result
    return torch.where(close, result, sloped_result)


#: The tensors that a function takes for the baselines.
_References = tuple[torch.Tensor, ...]


def _elementwise_result(step: _Step, references: _References) -> torch.Tensor:
    """Return the result of a function that takes each number by itself, with its slope from the baseline."""
    return _result_with_slope_gradient(step.args[0], step.result(), references[0], step.result(references[0]))


def _product_with_averaged_gradients(
    multiply: Function, step: _Step, references: _References
) -> torch.Tensor:
    """Return the product itself, whose gradient weighs the change of each factor by the mean of the other.

    A product of one tensor and a number is linear, and keeps its gradient.

    a b - r s = (a - r) (b + s) / 2 + (b - s) (a + r) / 2 for factors a, b and their references r, s.
    """
    product: torch.Tensor
    if len(references) < 2:
        product = step.result()
        return product
    a = step.args[0]
    b = step.args[1]
    a_values = a.detach()
    b_values = b.detach()
    mean_a = (a_values + references[0]) / 2
    mean_b = (b_values + references[1]) / 2
    # a and b change by a - a_values and b - b_values, whose values are 0 and whose gradients are 1
    product = multiply(a_values, b_values)
    product = product + multiply(a - a_values, mean_b)
    return product + multiply(mean_a, b - b_values)


def _maxima_with_single_pixel_gradients(pool: Function, step: _Step, references: _References) -> torch.Tensor:
    """Return maxima of windows, whose change is ascribed to single pixels.

    Where a maximum rises from the baseline to the image, the pixel is the image's maximum; where it falls,
    the one that was the baseline's. This pixel changes at least as much as the maximum, so that multipliers
    lie between 0 and 1. Windows may overlap.
    """
    x = step.args[0]
    reference = references[0]
    # pooled dimensions are joined to one: (b, channels, pixels), or (channels, pixels) of a single image
    first_pixel_dim = 2 - x.ndim
    options = {**step.options, "return_indices": True}
    maxima, indices = pool(x.detach(), *step.args[1:], **options)
    reference_maxima, reference_indices = pool(reference, *step.args[1:], **options)
    indices = indices.flatten(first_pixel_dim)
    reference_indices = reference_indices.flatten(first_pixel_dim)
    # where the image's maximum is also one of the baseline's, both are taken as the same pixel
    reference_at_maximum = reference.flatten(first_pixel_dim).gather(-1, indices)
    is_tied = reference_at_maximum == reference_maxima.flatten(first_pixel_dim)
    reference_indices = torch.where(is_tied, indices, reference_indices)
    pixel_change = (x.detach() - reference).flatten(first_pixel_dim)
    change = (maxima - reference_maxima).flatten(first_pixel_dim)
    zeros = (x - x.detach()).flatten(first_pixel_dim)
    rise = _zeros_whose_gradient_is_change_ratio(
        change.clamp(min=0), pixel_change, zeros, indices, slope_without_change=1.0
    )
    fall = _zeros_whose_gradient_is_change_ratio(
        change.clamp(max=0), pixel_change, zeros, reference_indices, slope_without_change=0.0
    )
    return maxima + rise.view_as(maxima) + fall.view_as(maxima)


def _zeros_whose_gradient_is_change_ratio(
    change: torch.Tensor,
    pixel_change: torch.Tensor,
    zeros: torch.Tensor,
    indices: torch.Tensor,
    *,
    slope_without_change: float,
) -> torch.Tensor:
    """Return zeros whose gradient by the pixel of each window is change of the maximum / change of the pixel.

    `change` has the changes of the maxima, `pixel_change` those of all pixels, and `indices` the pixel of
    each window. `zeros` have the value 0 and the gradient 1 by each pixel. `slope_without_change` is the
    gradient by pixels that do not change.
    """
    pixel_change = pixel_change.gather(-1, indices)
    is_unchanged = pixel_change == 0
    slope = change / pixel_change.masked_fill(is_unchanged, 1)
    slope = slope.masked_fill(is_unchanged, slope_without_change)
    return slope * zeros.gather(-1, indices)


def _softmax_with_multipliers_as_gradient(step: _Step, references: _References) -> torch.Tensor:
    """Return a softmax, with multipliers by the logarithmic mean of its results for image and baseline.

    With results p and q of image and baseline the logarithmic mean is L = (p - q) / (log p - log q), and
    p_i - q_i = L_i (d_i - sum(L d) / sum(L)) for the differences d of the softmax's arguments: since
    log p_i - log q_i = d_i - c with one number c for all i, and sum(p) = sum(q).
    """
    x = step.args[0]
    values = x.detach()
    dim = step.options["dim"] if "dim" in step.options else step.args[1]
    log_shares = values.log_softmax(dim)
    reference_log_shares = references[0].log_softmax(dim)
    shares = log_shares.exp()
    difference = log_shares - reference_log_shares
    # for two numbers that are nearly equal the quotient is rounding error; their logarithmic mean is either
    close = difference.abs() <= torch.finfo(values.dtype).eps ** 0.5
    log_mean = (shares - reference_log_shares.exp()) / difference.masked_fill(close, 1)
    log_mean = torch.where(close, shares, log_mean)
    # in place of d: its value is 0, its gradient by x is 1
    zeros = x - values
    mean_change = (log_mean * zeros).sum(dim, keepdim=True) / log_mean.sum(dim, keepdim=True)
    return shares + log_mean * (zeros - mean_change)


_RULES: dict[str, Callable[[_Step, _References], torch.Tensor]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise_result),
    **{name: partial(_product_with_averaged_gradients, multiply) for name, multiply in _PRODUCTS.items()},
    **{name: partial(_maxima_with_single_pixel_gradients, getattr(functional, name)) for name in _MAX_POOLS},
    "softmax": _softmax_with_multipliers_as_gradient,
}


def _standardized(x: torch.Tensor, dims: tuple[int, ...], eps: float) -> torch.Tensor:
    """Return numbers minus their mean over some dimensions, divided by their standard deviation there."""
    centred = x - x.mean(dims, keepdim=True)
    variance = (centred * centred).mean(dims, keepdim=True)
    return centred * (variance + eps).rsqrt()


def _composed_layer_norm(
    x: torch.Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> torch.Tensor:
    """Compute `torch.nn.functional.layer_norm` by functions that have rules.

    `shape` is that of the last dimensions, over which numbers are standardised. Further arguments choose
    torch's implementation and are ignored.
    """
    normalised = _standardized(x, tuple(range(-len(shape), 0)), eps)
    if weight is not None:
        normalised = normalised * weight
    if bias is not None:
        normalised = normalised + bias
    return normalised


def _composed_group_norm(
    x: torch.Tensor, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> torch.Tensor:
    """Compute `torch.nn.functional.group_norm` by functions that have rules.

    Further arguments choose torch's implementation and are ignored.
    """
    grouped = x.reshape(len(x), groups, -1)
    normalised = _standardized(grouped, (-1,), eps).reshape(x.shape)
    # weight and bias have one number for each channel, the second dimension of x
    channel_shape = [1] * x.ndim
    channel_shape[1] = -1
    if weight is not None:
        normalised = normalised * weight.reshape(channel_shape)
    if bias is not None:
        normalised = normalised + bias.reshape(channel_shape)
    return normalised


#: Functions that are computed by others, which have rules.
_COMPOSED: dict[str, Function] = {"layer_norm": _composed_layer_norm, "group_norm": _composed_group_norm}
_WITH_RULE = {*_RULES, *_COMPOSED, *_LINEAR}


def multipliers_and_target_outputs(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, mode: _Pass
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the multipliers of each pixel, in the images' shape, and the targets' outputs, shape (n,)."""
    with without_parameter_gradients(model):
        leaf = images.detach().clone().requires_grad_()
        # not the leaf itself: a network may change its images in place
        network_input = leaf.clone()
        with mode:
            model_outputs = model(network_input)
        outputs = target_outputs(model_outputs, targets)
        (multipliers,) = torch.autograd.grad(outputs.sum(), leaf)
    return multipliers, outputs.detach()


def target_outputs(outputs: Any, targets: torch.Tensor) -> torch.Tensor:
    """Return the output of each image's target, shape (n,), from outputs (n, n_outputs)."""
    return check_outputs(outputs, len(targets)).gather(1, targets[:, None].long())[:, 0]


def wrong_sums_mask(
    sums: torch.Tensor, expected: torch.Tensor, outputs: torch.Tensor, share_of_expected: float
) -> torch.Tensor:
    """Return a mask (n,) of the images whose sum differs from the expected one by more than a share of it.

    Rounding errors, which grow with the `outputs` that the sums stand for, are allowed in addition.
    """
    rounding = _ROUNDING * torch.finfo(outputs.dtype).eps
    gaps = (sums.double() - expected.double()).abs()
    # the sum of an image may be NaN, which is wrong too
    return ~(gaps <= share_of_expected * expected.abs() + rounding * outputs.abs())
