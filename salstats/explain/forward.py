"""Forward passes in batches, fast on any processor: images and targets checked, the model left as it was."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from torch import nn

from salstats.checks import SalstatsError, ShapeError, ValueRangeError, check_choice, check_count, warn

#: What turns outputs into probabilities: one class per image, or several that are independent.
PROBABILITIES = ("softmax", "sigmoid", "none")
#: Of these, where neither a network nor its user says one: findings can occur together.
PROBABILITY = "sigmoid"
#: Images in a forward pass where nothing else is said.
BATCH_SIZE = 32
#: Pixels of a pass on a CPU. The outputs of a first layer are then about 25 MB; blocks above 32 MB are given
#: back to the system after each pass and taken anew page by page, which halves the speed of a small network.
#: What the gradients of DenseNet121 need is 1.2 GB.
PIXELS = 8 * 224 * 224
#: Modules that may take the statistics of a batch.
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
#: What devices say whose memory is too small.
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
#: The largest block that glibc can be taught to keep.
_KEPT = 32 * 2**20 - 2**16
#: A network's weights are laid in the order of its images anew in each pass, which pays where there are no
#: more of them than so many for each pixel: ResNet18 at 112 pixels takes longer for 8 images, less for 32.
_WEIGHTS = 32
#: What torch says where a network's own `view` takes numbers in the usual order only.
_VIEW = "view size is not compatible"
#: Networks that have such a `view`, so that each is tried once.
_USUAL_ORDER: WeakSet[nn.Module] = WeakSet()


def predict(
    model: nn.Module,
    images: Any,
    *,
    probability: str = PROBABILITY,
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
) -> np.ndarray:
    """Outputs or probabilities of a model, one row per image.

    Parameters
    ----------
    model : torch.nn.Module
        Also a TorchScript or an exported module. Its outputs are (n, n_outputs).
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        What the network takes: resized, scaled. Finite.
    probability : {"sigmoid", "softmax", "none"}
        "sigmoid": each output for itself. "softmax": one class per image. "none": the outputs as they are.
    batch_size : int
        Images in a forward pass; on a CPU no more than 8 of 224 x 224 pixels, or as many as have so many
        pixels.
    device : str or torch.device, optional
        "cpu", "cuda", "mps", or "auto", the best there is; by default where the model is.
    mixed_precision : bool
        Half precision where the device has it.

    Returns
    -------
    ndarray of float64, shape (n, n_outputs)

    Raises
    ------
    ShapeError
        Images do not have four dimensions, or outputs not two.
    ValueRangeError
        No image, an image that is not finite, or a batch size below 1.
    SalstatsError
        The device is not there, or the network gives NaN.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import predict
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False))
    >>> model[1].weight.data = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    >>> predict(model, [[[[3.0, 1.0], [0.0, 0.0]]]], probability="none")
    array([[3., 1.]])
    """
    check_choice(probability, PROBABILITIES, "probability")
    stack = check_images(images)
    with evaluating(model, device) as place:
        size = pass_size(batch_size, stack, place)
        passes = Passes(model=model, device=place, batch_size=size, mixed_precision=mixed_precision)
        outputs = passes.forward(stack)
    # of an infinite output softmax makes NaN
    probs = to_probabilities(outputs, probability)
    undefined = torch.isnan(probs).any(dim=1)
    if undefined.any():
        at = int(undefined.nonzero()[0])
        what = "NaN" if torch.isnan(outputs[at]).any() else "infinity"
        raise SalstatsError(
            f"the network gives {what} for image {at}; look at its weights and at how images are scaled"
        )
    return probs.numpy()


def pass_size(batch_size: Any, images: torch.Tensor, device: torch.device) -> int:
    """How many images of this size a pass shows: on a CPU no more than have `PIXELS` pixels."""
    size = check_count(batch_size, "batch_size")
    return size if device.type != "cpu" else max(1, min(size, PIXELS // images[0, 0].numel()))


@dataclass(frozen=True, kw_only=True)
class Passes:
    """How images pass through a model that is in evaluation mode.

    Attributes
    ----------
    model : torch.nn.Module
    device : torch.device
        Where the model is.
    batch_size : int
        Images in a pass.
    mixed_precision : bool
    """

    model: nn.Module
    device: torch.device
    batch_size: int = BATCH_SIZE
    mixed_precision: bool = False

    def forward(self, images: torch.Tensor, batch_size: int | None = None) -> torch.Tensor:
        """Outputs for many images, float64 on the CPU, shape (n, n_outputs)."""
        size, kind, pieces = batch_size or self.batch_size, dtype_of(self.model), []
        with torch.no_grad(), torch.autocast(self.device.type, enabled=self.mixed_precision):
            for start in range(0, len(images), size):
                # a copy: some networks scale their input in place
                batch = images[start : start + size].to(device=self.device, dtype=kind, copy=True)
                pieces.append(call(self.model, batch).cpu().double())
        widths = {piece.shape[1] for piece in pieces}
        if len(widths) > 1:
            raise ShapeError(
                f"the model gives {min(widths)} outputs in one batch and {max(widths)} in another; each "
                "image needs the same ones"
            )
        return torch.cat(pieces)

    def outputs(self, images: torch.Tensor) -> torch.Tensor:
        """Outputs as from `forward`; on a CPU faster, and different by rounding.

        A pass on the CPU has no more pixels than `pass_size` says, and its images have channels last in
        memory where that pays and the network takes them so.
        """
        if self.device.type != "cpu":
            return self.forward(images)
        keep_freed_memory()
        size = pass_size(self.batch_size, images, self.device)
        n_pixels = min(size, len(images)) * images[0, 0].numel()
        pays = sum(p.numel() for p in self.model.parameters()) <= _WEIGHTS * n_pixels
        if pays and self.model not in _USUAL_ORDER:
            try:
                return self.forward(images.contiguous(memory_format=torch.channels_last), size)
            except (SalstatsError, RuntimeError) as error:
                if _VIEW not in str(error):
                    raise
                _USUAL_ORDER.add(self.model)
        return self.forward(images.contiguous(), size)


def call(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """Outputs for one batch, one row for each image."""
    try:
        outputs = model(images)
    except SalstatsError:
        raise
    # whatever a network raises; what it was stands behind
    except Exception as error:
        if ran_out_of_memory(error):
            raise
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        shape = f"images of shape {tuple(images.shape)} and {images.dtype}"
        if not isinstance(model, torch.fx.GraphModule):
            raise SalstatsError(f"the network fails on {shape} ({said})") from error
        raise SalstatsError(
            f"the traced or exported model takes no {shape} ({said}); export it with a dynamic number of "
            "images: dynamic_shapes={...: {0: torch.export.Dim('n')}}"
        ) from error
    return check_outputs(outputs, len(images))


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device's memory is too small."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


def to_probabilities(outputs: torch.Tensor, probability: str) -> torch.Tensor:
    """Outputs as probabilities."""
    if probability == "softmax":
        return outputs.softmax(dim=1)
    return outputs.sigmoid() if probability == "sigmoid" else outputs


@contextmanager
def evaluating(model: nn.Module, device: str | torch.device | None = None) -> Iterator[torch.device]:
    """Hold a model in evaluation mode on a device; afterwards it is as it was.

    Yields the device. Parameters keep the gradients they had, training flags and place are given back.
    """
    if not isinstance(model, nn.Module):
        raise SalstatsError(
            f"model must be a torch.nn.Module, not {type(model).__name__}; an exported program has one: "
            "program.module()"
        )
    _check_parameters(model)
    home = _home(model)
    place = home if device is None else check_device(device)
    training = {module: module.training for module in model.modules()}
    kept = {p: p.grad for p in model.parameters()}
    try:
        _set_evaluating(model)
        if place != home:
            model.to(place)
        yield place
    finally:
        if place != home:
            model.to(home)
        for module, flag in training.items():
            module.training = flag
        for parameter, grad in kept.items():
            parameter.grad = grad


@contextmanager
def without_parameter_gradients(model: nn.Module) -> Iterator[None]:
    """Let no gradient be computed for parameters: none is wanted, and a frozen network has none."""
    # one made in inference mode could not be given its flag back
    asked = [p for p in model.parameters() if p.requires_grad and not p.is_inference()]
    for parameter in asked:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in asked:
            parameter.requires_grad_(True)


def _set_evaluating(model: nn.Module) -> None:
    """Switch off dropout and batch statistics, where the model has such a switch."""
    try:
        model.eval()
    except NotImplementedError:
        # an exported program is in the mode in which it was exported
        return
    # a network may overrule train(), and its batch statistics would go on to change
    for module in model.modules():
        module.training = False


def _check_parameters(model: nn.Module) -> None:
    """Raise where parameters hold no numbers yet; warn where an image's outputs depend on the others."""
    for name, value in (*model.named_parameters(), *model.named_buffers()):
        if nn.parameter.is_lazy(value) or value.is_meta:
            raise SalstatsError(
                f"the network's {name!r} holds no numbers yet (it is lazy, or on the device 'meta'); load "
                "its weights first"
            )
    for name, module in model.named_modules():
        if isinstance(module, _BATCH_NORMS) and module.running_mean is None:
            warn(
                f"layer {name!r}, {type(module).__name__}, has no running statistics: what the network gives "
                "for an image depends on the others of its batch"
            )
            return


def _home(model: nn.Module) -> torch.device:
    """Device of a model; one without numbers is on the CPU."""
    held: torch.Tensor | None = next(iter([*model.parameters(), *model.buffers()]), None)
    return torch.device("cpu") if held is None else held.device


def dtype_of(model: nn.Module) -> torch.dtype:
    """Type of number that a model computes with."""
    kinds = (p.dtype for p in model.parameters() if p.dtype.is_floating_point)
    return next(kinds, torch.float32)


def check_device(device: str | torch.device) -> torch.device:
    """A device that is there; "auto" is CUDA, else MPS, else the CPU."""
    if device == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu"
        return torch.device(name)
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
        if place.type == "meta":
            # a network that is moved there loses its weights
            raise RuntimeError("it holds no numbers")
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise SalstatsError(
            f"device={str(device)!r} cannot be used ({reason}); 'auto' takes what is there"
        ) from error
    return place


def check_images(images: Any) -> torch.Tensor:
    """Images as a tensor of shape (n, channels, height, width), finite, where they lie."""
    stack = images if isinstance(images, torch.Tensor) else _tensor(images)
    if stack.layout != torch.strided or stack.is_meta:
        raise ValueRangeError("images must be a plain tensor that holds all its numbers, images.to_dense()")
    if stack.ndim != 4:
        raise ShapeError(
            f"images must have shape (n, channels, height, width), not {tuple(stack.shape)}; one image is "
            "images[None]"
        )
    if not stack.numel():
        raise ValueRangeError(f"images of shape {tuple(stack.shape)} hold nothing to explain")
    if stack.is_complex():
        raise ValueRangeError("images must hold real numbers, not complex ones")
    stack = stack.detach()
    stack = stack if stack.is_floating_point() else stack.float()
    # isfinite of every pixel takes many times as long as a sum, which may overflow
    finite = torch.isfinite(stack.sum()) or torch.isfinite(stack).flatten(1).all(dim=1)
    if not finite.all():
        at = int((~finite).nonzero()[0])
        raise ValueRangeError(f"image {at} is not finite: it holds NaN or infinity")
    return stack


def _tensor(images: Any) -> torch.Tensor:
    """An array or nested sequences as a tensor."""
    if isinstance(images, list | tuple) and any(isinstance(one, torch.Tensor) for one in images):
        images = [one.detach().cpu() if isinstance(one, torch.Tensor) else one for one in images]
    try:
        array = np.asarray(images)
    except ValueError as error:
        raise ShapeError(
            "images must have shape (n, channels, height, width), and these are not all of one shape; "
            "explain those of each shape by themselves"
        ) from error
    if array.dtype.kind not in "biufc":
        raise ValueRangeError(
            f"images must be an array or a tensor of numbers, not {type(images).__name__} of {array.dtype}"
        )
    # torch takes no other byte order, no steps backwards, no long doubles; of read-only memory it warns
    kind = np.dtype(np.float64) if array.dtype.itemsize > 8 and array.dtype.kind == "f" else array.dtype
    return torch.from_numpy(np.require(array, kind.newbyteorder("="), ["C", "W"]))


def check_flag(value: Any, name: str) -> bool:
    """An option that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueRangeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_outputs(outputs: Any, n: int) -> torch.Tensor:
    """What a model gave for n images, if it is one row of outputs for each."""
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != n:
        shape = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ShapeError(
            f"the model must give a tensor of shape (n, n_outputs), not {shape}; wrap it in a module that "
            "picks the logits"
        )
    if not outputs.shape[1] or outputs.is_complex():
        what = f"{outputs.shape[1]} outputs of {outputs.dtype}"
        raise ShapeError(f"the model must give real numbers, one for each output, not {what}")
    return outputs


def check_targets(
    targets: int | Sequence[int] | np.ndarray | torch.Tensor, n: int, n_outputs: int
) -> np.ndarray:
    """One output's index per image, int64."""
    try:
        given = targets.detach().cpu().numpy() if isinstance(targets, torch.Tensor) else np.asarray(targets)
    except ValueError as error:
        raise ShapeError(f"targets must be one number or one per image ({n}), not lists of them") from error
    if given.dtype.kind not in "iu":
        raise ValueRangeError(
            f"targets must be whole numbers, the index of the network's output; got {given.dtype}"
        )
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
        raise ShapeError(f"targets must be one number or one per image ({n}), not of shape {given.shape}")
    every = np.broadcast_to(given, (n,)).astype(np.int64)
    wrong = (every < 0) | (every >= n_outputs)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueRangeError(
            f"target {every[at]} (image {at}) is out of range: the network has {n_outputs} outputs, "
            f"0 to {n_outputs - 1}"
        )
    return every


@cache
def keep_freed_memory() -> None:
    """Let blocks of up to 32 MB stay with the process once they are free: glibc keeps what it has seen freed.

    Nothing is written into this one, so that it takes no memory. Elsewhere nothing comes of it.
    """
    torch.empty(_KEPT, dtype=torch.uint8)
