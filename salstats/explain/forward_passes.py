"""Forward passes in batches, fast on any processor; the model is left as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice, check_count
from salstats.errors import SalstatsError, warn
from salstats.explain.inputs import check_images, check_outputs

#: What turns outputs into probabilities: one class per image, or several that are independent.
PROBABILITIES = ("softmax", "sigmoid", "none")
#: Of these, where neither a network nor its user says one: findings can occur together.
PROBABILITY = "sigmoid"
#: How far from 1 the sum of an image's probabilities may lie by rounding, in half precision too.
_SUM_ERROR = 2e-3
#: Networks of which it has been said that a sigmoid was taken of their outputs.
_SIGMOID_SAID: WeakSet[nn.Module] = WeakSet()
#: Images in a forward pass where nothing else is said.
BATCH_SIZE = 32
#: Pixels of a pass on a CPU. The outputs of a first layer are then about 25 MB; blocks above 32 MB are given
#: back to the system after each pass and taken anew page by page, which halves the speed of a small network.
#: What the gradients of DenseNet121 need is 1.2 GB.
PIXELS = 8 * 224 * 224
#: What devices say whose memory is too small.
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
#: The largest block that glibc can be taught to keep.
_KEPT = 32 * 2**20 - 2**16
#: A network's weights are laid in the order of its images anew in each pass, which pays where there are no
#: more of them than so many for each pixel: ResNet18 at 112 pixels takes longer for 8 images, less for 32.
_WEIGHTS = 32
#: Networks whose own `view` takes numbers in the usual order only, and what torch says of it.
_USUAL_ORDER: WeakSet[nn.Module] = WeakSet()
_VIEW = "view size is not compatible"


def predict(
    model: nn.Module,
    images: Any,
    *,
    probability: str | None = None,
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
    probability : {"sigmoid", "softmax", "none"}, optional
        "sigmoid": each output for itself. "softmax": one class per image. "none": the outputs as they are.
        By default "none" where outputs are probabilities of a softmax already, "softmax" where they are
        their logarithms, else "sigmoid", with a warning where there are several.
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
    SalstatsError
        Images do not have four dimensions, or outputs not two; an image or an output is not finite; the
        device is not there.

    Warns
    -----
    SalstatsWarning
        A sigmoid is taken of several outputs, and `probability` is not given; a sigmoid or a softmax is asked
        for of outputs that are probabilities of a softmax already.

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
    with evaluating(model, device) as place:
        size = pass_size(batch_size, stack, place)
        passes = Passes(model=model, device=place, batch_size=size, mixed_precision=mixed_precision)
        outputs = passes.forward(stack)
    # of an infinite output softmax makes NaN
    probs = to_probabilities(outputs, resolved_probability(model, outputs, probability))
    undefined = torch.isnan(probs).any(dim=1)
    if undefined.any():
        at = int(undefined.nonzero()[0])
        what = "NaN" if torch.isnan(outputs[at]).any() else "infinity"
        raise SalstatsError(
            f"the network gives {what} for image {at}; look at its weights and at how images are scaled"
        )
    return probs.numpy()


def resolved_probability(model: nn.Module, outputs: torch.Tensor, probability: str | None) -> str:
    """Return what makes probabilities of a network's outputs, found from them where it is not given."""
    recognised = recognised_probability(outputs)
    n_outputs = outputs.shape[1]
    if probability is not None:
        choice = check_choice(probability, PROBABILITIES, "probability")
        if recognised == "none" and choice != "none":
            warn(
                f"the network's {n_outputs} outputs sum to 1 for every image, so they are probabilities "
                f"already, and a {choice} is taken of them; probability='none' (--probability none) takes "
                "them as they are"
            )
        return choice
    if recognised is None and n_outputs > 1 and model not in _SIGMOID_SAID:
        _SIGMOID_SAID.add(model)
        warn(
            f"a sigmoid is taken of each of the network's {n_outputs} outputs, as of findings that can occur "
            "together; probability='softmax' (--probability softmax) is for classes that exclude each other, "
            "and probability='sigmoid' says that they do not"
        )
    return recognised or PROBABILITY


def recognised_probability(outputs: torch.Tensor) -> str | None:
    """Return "none" of outputs that a softmax made, "softmax" of their logarithms, None of any others."""
    if outputs.shape[1] < 2 or not torch.isfinite(outputs).all():
        return None
    if (outputs >= 0).all() and _all_one(outputs.sum(dim=1)):
        return "none"
    if (outputs <= 0).all() and _all_one(outputs.exp().sum(dim=1)):
        return "softmax"
    return None


def _all_one(sums: torch.Tensor) -> bool:
    """Return whether all sums are 1 but for rounding."""
    return bool(((sums - 1).abs() < _SUM_ERROR).all())


def to_probabilities(outputs: torch.Tensor, probability: str) -> torch.Tensor:
    """Outputs as probabilities."""
    if probability == "softmax":
        return outputs.softmax(dim=1)
    return outputs.sigmoid() if probability == "sigmoid" else outputs


def pass_size(batch_size: Any, images: torch.Tensor, device: torch.device) -> int:
    """How many images of this size a pass shows: on a CPU no more than have `PIXELS` pixels."""
    size = check_count(batch_size, "batch_size")
    return size if device.type != "cpu" else max(1, min(size, PIXELS // images[0, 0].numel()))


@dataclass(frozen=True, kw_only=True)
class Passes:
    """How images pass through a model that is in evaluation mode, and on the device."""

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
    # whatever a network raises
    except Exception as error:
        if ran_out_of_memory(error):
            raise
        way = "the shape is what its Preparation makes: size=, channels="
        if isinstance(model, torch.fx.GraphModule):
            way = "an exported network takes as many images as it was exported with: batch_size="
        raise SalstatsError(
            f"the network fails on images of shape {tuple(images.shape)} and {images.dtype} "
            f"({type(error).__name__}: {' '.join(str(error).split())[:200]}); {way}"
        ) from error
    return check_outputs(outputs, len(images))


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a device's memory is too small."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


@contextmanager
def evaluating(model: nn.Module, device: str | torch.device | None = None) -> Iterator[torch.device]:
    """Hold a model in evaluation mode on a device, which is yielded; afterwards it is as it was."""
    if not isinstance(model, nn.Module):
        raise SalstatsError(
            f"model must be a torch.nn.Module, not {type(model).__name__}; an exported program has one: "
            "program.module()"
        )
    _warn_of_batch_statistics(model)
    held: torch.Tensor | None = next(iter([*model.parameters(), *model.buffers()]), None)
    home = torch.device("cpu") if held is None else held.device
    place = home if device is None else check_device(device)
    training = {module: module.training for module in model.modules()}
    try:
        # not by eval(): exported programs have none, and a network may overrule it
        for module in training:
            module.training = False
        if place != home:
            model.to(place)
        yield place
    finally:
        if place != home:
            model.to(home)
        for module, flag in training.items():
            module.training = flag


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


def _warn_of_batch_statistics(model: nn.Module) -> None:
    """Warn where what a network gives for an image depends on the others."""
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            warn(
                f"layer {name!r}, {type(module).__name__}, has no running statistics: what the network gives "
                "for an image depends on the others of its batch"
            )
            return


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
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).split("\n")[0][:200]
        raise SalstatsError(
            f"device={str(device)!r} cannot be used ({reason}); 'auto' takes what is there"
        ) from error
    return place


@cache
def keep_freed_memory() -> None:
    """Let blocks of up to 32 MB stay with the process once they are free: glibc keeps what it has seen freed.

    Nothing is written into this one, so that it takes no memory. Elsewhere nothing comes of it.
    """
    torch.empty(_KEPT, dtype=torch.uint8)
