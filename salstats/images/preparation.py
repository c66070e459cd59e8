"""An image made ready for a network, and where its pixels went."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from PIL import Image

from salstats.checks import check_choice, check_count
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.geometry import Geometry
from salstats.images.run_lengths import check_shape
from salstats.memory_limit import PIXEL, too_large

#: How an image is laid into the network's input.
FITS = ("stretch", "inside", "cover", "shorter")
INTERPOLATIONS = {
    "bilinear": (Image.Resampling.BILINEAR, cv2.INTER_LINEAR),
    "bicubic": (Image.Resampling.BICUBIC, cv2.INTER_CUBIC),
    "nearest": (Image.Resampling.NEAREST, cv2.INTER_NEAREST_EXACT),
}
#: What the values of an image are divided by.
RESCALES = ("type", "image", "none")
#: By which images are shifted and scaled in most trainings: mean and SD of ImageNet's red, green and blue.
IMAGENET: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
#: Brightness of red, green and blue (ITU-R BT.601, as Pillow's conversion to grey).
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True)
class Preparation:
    """What is done to an image before a network sees it.

    Parameters
    ----------
    size : tuple of int, default (224, 224)
        (height, width) of the network's input.
    fit : {"stretch", "inside", "cover", "shorter"}
        "stretch": resized to the size, whatever that does to its proportions. "inside": the whole image at
        its own proportions, in the middle, padded. "cover": the input filled at the image's proportions,
        what hangs over cropped from the middle. "shorter": the shorter side resized to `shorter`, then the
        middle cropped (or padded where it is smaller), as torchvision's Resize and CenterCrop do.
    shorter : int, optional
        For fit="shorter", and there only: 256 is usual with a size of 224.
    pad_value : float, default 0.0
        Value of the padding, from 0 to 1 as the image's are after `rescale`, before mean and std.
    interpolation : {"bilinear", "bicubic", "nearest"}
        How it is resized.
    antialias : bool, default True
        Whether a smaller image is a mean over larger pieces (as Pillow, and so torchvision, has it) or
        takes the neighbours of each point only (OpenCV). Pillow keeps 8 bits where the image has 8.
    channels : int, default 3
        1 or 3: a grey image is repeated three times, one in colour made grey by its brightness.
    rescale : {"type", "image", "none"}
        "type": whole numbers are divided by the largest of their type (255, 65535), others stay. "image":
        each image from its lowest value to its highest becomes 0 to 1. "none": values stay.
    mean, std : float or tuple of float, optional
        Subtracted from each channel, and what it is divided by, at the end.

    Raises
    ------
    ValueRangeError
        An option is not one of those above, or a std is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.preparation import Preparation
    >>> ready, geometry = Preparation((4, 4), fit="inside").apply(np.full((8, 4), 255, np.uint8))
    >>> ready[0]
    array([[0., 1., 1., 0.],
           [0., 1., 1., 0.],
           [0., 1., 1., 0.],
           [0., 1., 1., 0.]], dtype=float32)
    >>> geometry.scale, geometry.offset
    ((0.5, 0.5), (0, 1))
    """

    size: tuple[int, int] = (224, 224)
    fit: str = "stretch"
    shorter: int | None = None
    pad_value: float = 0.0
    interpolation: str = "bilinear"
    antialias: bool = True
    channels: int = 3
    rescale: str = "type"
    mean: float | tuple[float, ...] | None = None
    std: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_shape(self.size, "size"))
        check_choice(self.fit, FITS, "fit")
        check_choice(self.interpolation, tuple(INTERPOLATIONS), "interpolation")
        check_choice(self.rescale, RESCALES, "rescale")
        if (self.fit == "shorter") != (self.shorter is not None):
            raise ValueRangeError(
                "shorter is the side that fit='shorter' resizes the image's shorter side to: give both or "
                f"neither (fit={self.fit!r}, shorter={self.shorter!r})"
            )
        if self.shorter is not None:
            check_count(self.shorter, "shorter")
        if self.channels not in (1, 3):
            raise ValueRangeError(f"channels must be 1 or 3, not {self.channels!r}")
        for name in ("mean", "std"):
            object.__setattr__(self, name, _per_channel(getattr(self, name), name, self.channels))

    def apply(self, image: Any) -> tuple[np.ndarray, Geometry]:
        """An image as the network takes it, float32 of shape (channels, height, width), and its geometry.

        Parameters
        ----------
        image : array_like of number, shape (M, N) or (M, N, 3)
            Grey, or red, green and blue; finite. Of bool, whole numbers or floats.

        Raises
        ------
        ShapeError, ValueRangeError
            The image has another shape, is too thin for the fit, or is not finite.
        """
        array = _check_image(image)
        shape = (array.shape[0], array.shape[1])
        resized_shape = self._resized_shape(shape)
        wrong = too_large(resized_shape[0] * resized_shape[1] * PIXEL)
        if wrong:
            raise ShapeError(
                f"an image of {shape[0]} x {shape[1]} would be resized to {resized_shape[0]} x "
                f"{resized_shape[1]} pixels before it is cropped; it is too thin for fit={self.fit!r}, "
                f"and {wrong}"
            )
        start = [_start(there, side) for there, side in zip(resized_shape, self.size, strict=True)]
        low, high = _black_and_white(image, array, self.rescale)
        resized = self._resized(array, resized_shape).astype(np.float32, copy=False)
        # where the image lies in the input, and which part of the image that is
        inner = [
            slice(max(0, s), min(n + s, side))
            for s, n, side in zip(start, resized_shape, self.size, strict=True)
        ]
        outer = [slice(w.start - s, w.stop - s) for w, s in zip(inner, start, strict=True)]
        seen = (resized[outer[0], outer[1]] - np.float32(low)) / np.float32(high - low)
        ready = np.full((self.channels, *self.size), self.pad_value, np.float32)
        ready[:, inner[0], inner[1]] = self._as_channels(seen)
        for number, operation in ((self.mean, np.subtract), (self.std, np.divide)):
            if number is not None:
                operation(ready, np.asarray(number, np.float32).reshape(-1, 1, 1), out=ready)
        scale = (resized_shape[0] / shape[0], resized_shape[1] / shape[1])
        return ready, Geometry(shape, self.size, scale, (start[0], start[1]))

    def _resized_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        """(height, width) of the image once it is resized, before it is padded or cropped."""
        (rows, cols), (height, width) = shape, self.size
        if self.fit == "stretch":
            return self.size
        if self.shorter is not None:
            height = width = self.shorter
        # compared as whole numbers: which of height / rows and width / cols is the smaller
        wide = height * cols >= width * rows
        if self.fit == "inside":
            resized = (
                (_rounded(width * rows, cols), width) if wide else (height, _rounded(height * cols, rows))
            )
            return max(1, resized[0]), max(1, resized[1])
        # cut off as torchvision does
        return (height, height * cols // rows) if wide else (width * rows // cols, width)

    def _resized(self, array: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """An image of whole numbers of 8 bits, or of float32, at another size."""
        if array.shape[:2] == shape:
            return array
        height, width = shape
        by_pillow, by_opencv = INTERPOLATIONS[self.interpolation]
        if not self.antialias:
            resized = cv2.resize(array, (width, height), interpolation=by_opencv)
            return np.asarray(resized).reshape(height, width, *array.shape[2:])
        if array.dtype == np.uint8 or array.ndim == 2:
            return np.asarray(Image.fromarray(array).resize((width, height), by_pillow))
        # Pillow knows no colours of float32
        layers = [Image.fromarray(np.ascontiguousarray(array[..., c])) for c in range(array.shape[2])]
        return np.stack([np.asarray(c.resize((width, height), by_pillow)) for c in layers], axis=-1)

    def _as_channels(self, values: np.ndarray) -> np.ndarray:
        """Values with their channels first, or one plane that serves them all."""
        if values.ndim == 2:
            return values[None]
        return (values @ _LUMA)[None] if self.channels == 1 else np.moveaxis(values, -1, 0)


def _rounded(top: int, bottom: int) -> int:
    """A quotient of whole numbers, rounded, halves up."""
    return (2 * top + bottom) // (2 * bottom)


def _start(there: int, side: int) -> int:
    """Where an axis of the resized image begins in the input, as torchvision's CenterCrop has it."""
    return (side - there) // 2 if there <= side else -round((there - side) / 2)


def _check_image(image: Any) -> np.ndarray:
    """An image as uint8, or else as float32."""
    array = np.asarray(image)
    if array.ndim not in (2, 3) or not array.size or (array.ndim == 3 and array.shape[2] != 3):
        hint = "; drop its fourth channel, the opacity" if array.ndim == 3 and array.shape[2] == 4 else ""
        raise ShapeError(f"an image must have shape (M, N) or (M, N, 3), not {array.shape}{hint}")
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(f"an image must hold real numbers, not {array.dtype}")
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    values = np.ascontiguousarray(array, np.float32)
    if not np.isfinite([values.min(), values.max()]).all():
        raise ValueRangeError("an image must be finite; it holds NaN or infinity")
    return values


def _black_and_white(image: Any, values: np.ndarray, rescale: str) -> tuple[float, float]:
    """Values that become 0 and 1."""
    if rescale == "image":
        low, high = float(values.min()), float(values.max())
        # an image of one value becomes 0
        return low, high if high > low else low + 1
    kind = np.asarray(image).dtype
    if rescale == "none" or kind.kind == "f":
        return 0.0, 1.0
    if kind.itemsize > 2:
        raise ValueRangeError(
            f"rescale='type' divides by the largest number of 8 or 16 bits, and the image is of {kind}; "
            "use 'image', or divide it yourself"
        )
    return 0.0, 255.0 if values.dtype == np.uint8 else float(np.iinfo(kind).max)


def _per_channel(value: Any, name: str, channels: int) -> Any:
    """A mean or std as it is kept: None, a number, or a tuple with one for each channel."""
    if value is None:
        return None
    numbers = np.asarray(value, np.float64)
    if numbers.shape not in ((), (channels,)) or (name == "std" and not (numbers > 0).all()):
        rule = "must be positive" if name == "std" else "must be a number"
        raise ValueRangeError(f"{name} {rule}, one or one per channel ({channels}), not {value!r}")
    return tuple(numbers.tolist()) if numbers.ndim else float(numbers)
