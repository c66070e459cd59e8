"""Forward passes in batches, fast on any processor; the model is left as it was."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from weakref import WeakSet

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice, check_count
from salstats.errors import Advice, Message, SalstatsError, Setting, warn
from salstats.explain.input_checks import check_images, check_outputs

#: Functions that turn outputs into probabilities: of one class per image, of independent findings, or none.
PROBABILITIES = ("softmax", "sigmoid", "none")
#: The default where neither the network nor the user gives one: findings can occur together.
DEFAULT_PROBABILITY = "sigmoid"
#: Rounding changes the sum of an image's probabilities from 1 by less than this, even in half precision.
_SUM_ERROR = 2e-3
#: Networks whose user was warned that a sigmoid was taken of their outputs.
_SIGMOID_WARNED: WeakSet[nn.Module] = WeakSet()
#: Networks whose user was warned that their outputs are probabilities, of which gradients may vanish.
_SATURATION_WARNED: WeakSet[nn.Module] = WeakSet()
#: Beginnings of the names of torch's backward functions of operations that do not change numbers.
_UNCHANGING_NODES = ("ToCopy", "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Clone", "Alias")
#: Default number of images in a forward pass.
BATCH_SIZE = 32
#: Pixels of a pass on a CPU. The outputs of a first layer are then about 25 MB; blocks above 32 MB are given
#: back to the system after each pass and allocated anew page by page, which halves the speed of a small
#: network. The gradients of DenseNet121 need 1.2 GB then.
MAX_CPU_PIXELS = 8 * 224 * 224
#: Texts in the errors of devices whose memory is too small. torch has no class for all of them.
_MEMORY_MESSAGES = ("out of memory", "can't allocate memory", "not enough memory")
#: The largest block, in bytes, that glibc can be made to keep for the process.
_LARGEST_CACHED_BLOCK = 32 * 2**20 - 2**16
#: With channels last in memory, each pass also copies the network's weights to that order. That pays with at
#: most so many weights per pixel: ResNet18 at 112 pixels takes longer for 8 images, but less for 32.
_MAX_WEIGHTS_PER_PIXEL = 32
#: Networks that need images with channels first in memory, since they call `view`.
_CHANNELS_FIRST_ONLY: WeakSet[nn.Module] = WeakSet()
#: Text in torch's error if `view` needs another order in memory.
_VIEW_MESSAGE = "view size is not compatible"


def predict(
    model: nn.Module,
    images: Any,
    *,
    probability: str | None = None,
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
) -> np.ndarray:
    """Return the outputs or probabilities of a model, one row per image.

    Parameters
    ----------
    model : torch.nn.Module
        Also a TorchScript or an exported module. Its outputs are (n, n_outputs).
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        What the network takes: resized, scaled. Finite.
    probability : {"sigmoid", "softmax", "none"}, optional
        "sigmoid": each output for itself. "softmax": one class per image. "none": the outputs as they are.
        By default "none" if the outputs are probabilities of a softmax already, "softmax" if they are
        their logarithms, else "sigmoid", with a warning if there are several.
    batch_size : int
        Images in a forward pass; on a CPU at most 8 of 224 x 224 pixels, or as many as have the same number
        of pixels.
    device : str or torch.device, optional
        "cpu", "cuda", "mps", or "auto", the fastest that exists; by default the model's.
    mixed_precision : bool
        Half precision where the device has it.

    Returns
    -------
    ndarray of float64, shape (n, n_outputs)

    Raises
    ------
    SalstatsError
        Images do not have four dimensions, or outputs not two; an image or an output is not finite; the
        device does not exist.

    Warns
    -----
    SalstatsWarning
        A sigmoid is taken of several outputs, and `probability` is not given; `probability` asks for a
        sigmoid or a softmax of outputs that are probabilities of a softmax already.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import predict
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False))
    >>> model[1].weight.data = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    >>> predict(model, [[[[3.0, 1.0], [0.0, 0.0]]]], probability="none")
    array([[3., 1.]])
    """
    stack = check_images(images)
    with evaluating(model, device) as torch_device:
        passes = Passes(
            model=model,
            device=torch_device,
            batch_size=n_images_per_pass_capped_on_cpu(batch_size, stack, torch_device),
            mixed_precision=mixed_precision,
        )
        outputs = passes.batched_outputs_without_gradients(stack)
    # softmax makes NaN of an infinite output
    probs = to_probabilities(outputs, resolved_probability(model, outputs, probability))
    undefined = torch.isnan(probs).any(dim=1)
    if undefined.any():
        index = int(undefined.nonzero()[0])
        value = "NaN" if torch.isnan(outputs[index]).any() else "infinity"
        raise SalstatsError(
            f"the network gives {value} for image {index}",
            hint="look at its weights and at how images are scaled",
            rows=[index],
        )
    return probs.numpy()


def resolved_probability(model: nn.Module, outputs: torch.Tensor, probability: str | None) -> str:
    """Return the function that makes probabilities of a network's outputs, recognised if it is not given.

    It is a sigmoid if it is neither given nor recognised. Warns where a sigmoid or softmax is taken of
    probabilities, and once for each model of several outputs where it is neither given nor recognised.
    """
    recognised = function_if_softmax_outputs_or_logarithms(outputs)
    n_outputs = outputs.shape[1]
    if probability is not None:
        choice = check_choice(probability, PROBABILITIES, "probability")
        if recognised == "none" and choice != "none":
            warn(
                f"the network's {n_outputs} outputs sum to 1 for every image, so they are probabilities "
                f"already, and a {choice} is taken of them",
                hint=Message(Setting("probability", "none"), " takes them as they are"),
                option="probability",
                value=choice,
            )
        return choice
    if recognised is None and n_outputs > 1 and model not in _SIGMOID_WARNED:
        _SIGMOID_WARNED.add(model)
        warn(
            f"a sigmoid is taken of each of the network's {n_outputs} outputs, as of findings that can occur "
            "together",
            hint=Message(
                Setting("probability", "softmax"), " is for classes that exclude each other, and ",
                Setting("probability", "sigmoid"), " says that they do not",
            ),
            option="probability",
        )  # fmt: skip
    return recognised or DEFAULT_PROBABILITY


def function_if_softmax_outputs_or_logarithms(outputs: torch.Tensor) -> Literal["none", "softmax"] | None:
    """Return "none" for outputs that a softmax made, "softmax" for their logarithms, None if unknown."""
    if outputs.shape[1] < 2 or not torch.isfinite(outputs).all():
        return None
    if (outputs >= 0).all() and _all_ones(outputs.sum(dim=1)):
        return "none"
    if (outputs <= 0).all() and _all_ones(outputs.exp().sum(dim=1)):
        return "softmax"
    return None


def warn_of_final_sigmoid_or_softmax(model: nn.Module, outputs: torch.Tensor) -> None:
    """Warn, once for each model, of outputs that a sigmoid or softmax made, whose gradients may vanish.

    `outputs` come from a pass with gradients, in which they remember the function that made them.
    """
    node = outputs.grad_fn
    while node is not None and node.name().startswith(_UNCHANGING_NODES):
        node = node.next_functions[0][0]
    if node is None or model in _SATURATION_WARNED:
        return
    for function in ("sigmoid", "softmax"):
        if node.name().startswith(f"{function.capitalize()}Backward"):
            _SATURATION_WARNED.add(model)
            warn(
                f"the network ends in a {function}, so its outputs are probabilities: near 0 and 1 their "
                "gradients are nearly 0, and maps made of gradients are weak or constant",
                hint=Message(
                    "explain the network without this layer; if it has to stay, ",
                    Advice("Network(probability='none')", "--probability none"),
                    " takes its outputs as they are",
                ),
                option="probability",
                value=function,
            )


def _all_ones(sums: torch.Tensor) -> bool:
    """Return whether all sums are 1, within rounding."""
    return bool(((sums - 1).abs() < _SUM_ERROR).all())


def to_probabilities(outputs: torch.Tensor, probability: str) -> torch.Tensor:
    """Return the probabilities that a function of `PROBABILITIES` makes of outputs (n, n_outputs)."""
    if probability == "softmax":
        return outputs.softmax(dim=1)
    if probability == "sigmoid":
        return outputs.sigmoid()
    return outputs


def n_images_per_pass_capped_on_cpu(batch_size: Any, images: torch.Tensor, device: torch.device) -> int:
    """Return the number of images in a pass: on a CPU at most those of `MAX_CPU_PIXELS` pixels."""
    size = check_count(batch_size, "batch_size")
    if device.type != "cpu":
        return size
    n_pixels = images[0, 0].numel()
    return max(1, min(size, MAX_CPU_PIXELS // n_pixels))


@dataclass(frozen=True, kw_only=True)
class Passes:
    """A model in evaluation mode on a device, and the size and precision of its passes."""

    model: nn.Module
    device: torch.device
    batch_size: int = BATCH_SIZE
    mixed_precision: bool = False

    def batched_outputs_without_gradients(
        self, images: torch.Tensor, batch_size: int | None = None
    ) -> torch.Tensor:
        """Return the outputs for images in batches, float64 on the CPU, shape (n, n_outputs)."""
        n_batch = batch_size or self.batch_size
        number_type = dtype_of(self.model)
        outputs = []
        with torch.no_grad(), torch.autocast(self.device.type, enabled=self.mixed_precision):
            for batch in images.split(n_batch):
                # a copy: some networks scale their input in place
                network_input = batch.to(device=self.device, dtype=number_type, copy=True)
                batch_outputs = outputs_one_row_per_image(self.model, network_input)
                outputs.append(batch_outputs.cpu().double())
        return torch.cat(outputs)

    def outputs(self, images: torch.Tensor) -> torch.Tensor:
        """Return outputs as `batched_outputs_without_gradients` does; on a CPU faster, different by rounding.

        A pass on the CPU has at most `n_images_per_pass_capped_on_cpu` images, with channels last in memory
        where that pays and the network takes them so.
        """
        if self.device.type != "cpu":
            return self.batched_outputs_without_gradients(images)
        make_glibc_keep_freed_memory()
        size = n_images_per_pass_capped_on_cpu(self.batch_size, images, self.device)
        n_pixels = min(size, len(images)) * images[0, 0].numel()
        n_weights = sum(parameter.numel() for parameter in self.model.parameters())
        channels_last_pays = n_weights <= _MAX_WEIGHTS_PER_PIXEL * n_pixels
        if channels_last_pays and self.model not in _CHANNELS_FIRST_ONLY:
            try:
                return self.batched_outputs_without_gradients(
                    images.contiguous(memory_format=torch.channels_last), size
                )
            except (SalstatsError, RuntimeError) as error:
                if not _is_error_of_reshaping_by_view(error):
                    raise
                _CHANNELS_FIRST_ONLY.add(self.model)
        if images.shape[1] == 1:
            # torch takes images of one channel for contiguous in either layout, and would not copy them
            images = images.clone(memory_format=torch.contiguous_format)
        return self.batched_outputs_without_gradients(images.contiguous(), size)


def _is_error_of_reshaping_by_view(error: Exception) -> bool:
    """Return whether torch could not `view` a tensor, by its message: it raises a plain RuntimeError."""
    cause: BaseException | None = error
    if isinstance(error, SalstatsError):
        # `outputs_one_row_per_image` raises it from torch's error
        cause = error.__cause__
    return isinstance(cause, RuntimeError) and _VIEW_MESSAGE in str(cause)


def outputs_one_row_per_image(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """Return the outputs for one batch, one row for each image.

    SalstatsError if the network raises an error, but for one of memory, which is passed on.
    """
    try:
        outputs = model(images)
    except SalstatsError:
        raise
    # a network may raise any error
    except Exception as error:
        if is_out_of_memory_error(error):
            raise
        hint = Message(
            "the shape is what its Preparation makes: ", Setting("size"), ", ", Setting("channels")
        )
        if isinstance(model, torch.fx.GraphModule):
            hint = Message(
                "an exported network takes as many images as it was exported with: ", Setting("batch_size")
            )
        raise SalstatsError(
            f"the network fails on images of shape {tuple(images.shape)} and {images.dtype} "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]})",
            hint=hint,
        ) from error
    return check_outputs(outputs, len(images))


def is_out_of_memory_error(error: BaseException) -> bool:
    """Return whether a device's memory is too small; of some devices only torch's message tells."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MEMORY_MESSAGES)


@contextmanager
def evaluating(model: nn.Module, device: str | torch.device | None = None) -> Iterator[torch.device]:
    """Hold a model in evaluation mode on a device, which is yielded; afterwards it is as it was."""
    if not isinstance(model, nn.Module):
        raise SalstatsError(
            Setting("model"),
            f" must be a torch.nn.Module, not {type(model).__name__}",
            hint="an exported program has one: program.module()",
        )
    _warn_of_batch_statistics(model)
    # the device of the first parameter or buffer
    home_device = torch.device("cpu")
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        home_device = tensor.device
        break
    torch_device = home_device
    if device is not None:
        torch_device = check_device(device)
    training = {module: module.training for module in model.modules()}
    try:
        # not by eval(): exported programs have none, and a network may overrule it
        for module in training:
            module.training = False
        if torch_device != home_device:
            model.to(torch_device)
        yield torch_device
    finally:
        if torch_device != home_device:
            model.to(home_device)
        for module, flag in training.items():
            module.training = flag


@contextmanager
def without_parameter_gradients(model: nn.Module) -> Iterator[None]:
    """Switch the gradients of parameters off meanwhile."""
    # parameters made in inference mode could not be given their flag back
    trainable = [p for p in model.parameters() if p.requires_grad and not p.is_inference()]
    for parameter in trainable:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(True)


def _warn_of_batch_statistics(model: nn.Module) -> None:
    """Warn of the first layer that makes the outputs for an image depend on the rest of its batch."""
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            warn(
                f"layer {name!r}, {type(module).__name__}, has no running statistics: what the network gives "
                "for an image depends on the others of its batch",
                value=name,
            )
            return


def dtype_of(model: nn.Module) -> torch.dtype:
    """Return the type of a model's first parameter of floating point; float32 if it has none."""
    types = (parameter.dtype for parameter in model.parameters() if parameter.dtype.is_floating_point)
    return next(types, torch.float32)


def check_device(device: str | torch.device) -> torch.device:
    """Return a device that exists; "auto" is CUDA, else MPS, else the CPU."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    try:
        torch_device = torch.device(device)
        torch.empty(0, device=torch_device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise SalstatsError(
            Setting("device", str(device)), f" cannot be used ({reason})", hint="'auto' takes what there is"
        ) from error
    return torch_device


@cache
def make_glibc_keep_freed_memory() -> None:
    """Make glibc keep freed blocks of up to 32 MB for the process, instead of giving them back.

    It does so for blocks up to the largest that was ever freed, so one is allocated and freed here. Nothing
    is written into it, so that it takes no memory. With other C libraries this has no effect.
    """
    torch.empty(_LARGEST_CACHED_BLOCK, dtype=torch.uint8)
