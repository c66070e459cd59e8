"""Prepare an image for a network, with the geometry that brings maps back to it."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from PIL import Image

from salstats.checks import check_choice, check_count
from salstats.errors import Message, Setting, ShapeError, ValueRangeError
from salstats.images.geometry import Geometry
from salstats.images.run_lengths import check_shape
from salstats.memory_limit import BYTES_PER_PIXEL, problem_text_if_too_large

#: Ways to fit an image into the network's input.
FITS = ("stretch", "inside", "cover", "shorter")
INTERPOLATIONS = {
    "bilinear": (Image.Resampling.BILINEAR, cv2.INTER_LINEAR),
    "bicubic": (Image.Resampling.BICUBIC, cv2.INTER_CUBIC),
    "nearest": (Image.Resampling.NEAREST, cv2.INTER_NEAREST_EXACT),
}
#: Rules for the numbers that the values of an image are divided by.
RESCALES = ("type", "image", "none")
#: Mean and SD of ImageNet's red, green and blue, by which most trainings shift and scale images.
IMAGENET: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
#: Brightness of red, green and blue (ITU-R BT.601, as Pillow's conversion to grey).
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True)
class Preparation:
    """Steps that prepare an image for a network.

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
        True: a smaller image is a mean over larger areas (as Pillow, and so torchvision, has it). False: it
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
        An option is not one of those above, or a std is not positive.

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
        """Raise ValueRangeError for an impossible option; size, mean and std become plain numbers."""
        object.__setattr__(self, "size", check_shape(self.size, "size"))
        check_choice(self.fit, FITS, "fit")
        check_choice(self.interpolation, tuple(INTERPOLATIONS), "interpolation")
        check_choice(self.rescale, RESCALES, "rescale")
        if (self.fit == "shorter") != (self.shorter is not None):
            raise ValueRangeError(
                Setting("shorter", self.shorter),
                " is the length that ",
                Setting("fit", "shorter"),
                " resizes the image's shorter side to, and ",
                Setting("fit", self.fit),
                hint="give both or neither",
            )
        if self.shorter is not None:
            check_count(self.shorter, "shorter")
        if self.channels not in (1, 3):
            raise ValueRangeError(
                Setting("channels"), f" must be 1 or 3, not {self.channels!r}", value=self.channels
            )
        for name in ("mean", "std"):
            object.__setattr__(self, name, _checked_mean_or_std(getattr(self, name), name, self.channels))

    def apply(self, image: Any) -> tuple[np.ndarray, Geometry]:
        """Return an image as the network takes it, float32 (channels, height, width), and its geometry.

        Parameters
        ----------
        image : array_like of number, shape (M, N) or (M, N, 3)
            Grey, or red, green and blue; finite. Of bool, whole numbers or floats.

        Raises
        ------
        ShapeError, ValueRangeError
            The image has another shape, is too thin for the fit, or is not finite.
        """
        array = _checked_image(image)
        shape = (array.shape[0], array.shape[1])
        resized_shape = self._resized_shape(shape)
        memory_problem = problem_text_if_too_large(resized_shape[0] * resized_shape[1] * BYTES_PER_PIXEL)
        if memory_problem:
            raise ShapeError(
                f"an image of {shape[0]} x {shape[1]} would be resized to {resized_shape[0]} x "
                f"{resized_shape[1]} pixels before it is cropped; it is too thin for ",
                Setting("fit", self.fit),
                f", and {memory_problem}",
            )
        # position of the resized image in the input; negative where it is cropped
        top = _start_in_input(resized_shape[0], self.size[0])
        left = _start_in_input(resized_shape[1], self.size[1])
        low, high = _values_of_black_and_white(image, array, self.rescale)
        resized = self._resized(array, resized_shape).astype(np.float32, copy=False)
        # the part of the input that the image covers, and the same part of the resized image
        input_rows = slice(max(0, top), min(resized_shape[0] + top, self.size[0]))
        input_cols = slice(max(0, left), min(resized_shape[1] + left, self.size[1]))
        image_rows = slice(input_rows.start - top, input_rows.stop - top)
        image_cols = slice(input_cols.start - left, input_cols.stop - left)
        values = (resized[image_rows, image_cols] - np.float32(low)) / np.float32(high - low)
        ready = np.full((self.channels, *self.size), self.pad_value, np.float32)
        ready[:, input_rows, input_cols] = self._one_plane_or_channels_first(values)
        if self.mean is not None:
            ready -= np.asarray(self.mean, np.float32).reshape(-1, 1, 1)
        if self.std is not None:
            ready /= np.asarray(self.std, np.float32).reshape(-1, 1, 1)
        scale = (resized_shape[0] / shape[0], resized_shape[1] / shape[1])
        return ready, Geometry(shape, self.size, scale, (top, left))

    def _resized_shape(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return (height, width) of the image once it is resized, before it is padded or cropped."""
        rows, cols = shape
        height, width = self.size
        if self.fit == "stretch":
            return self.size
        if self.shorter is not None:
            height = self.shorter
            width = self.shorter
        # height / rows >= width / cols: of the two factors that of the width is smaller
        is_wide = height * cols >= width * rows
        if self.fit == "inside":
            if is_wide:
                return max(1, _rounded_quotient(width * rows, cols)), width
            return height, max(1, _rounded_quotient(height * cols, rows))
        # rounded down as torchvision does
        if is_wide:
            return height, height * cols // rows
        return width * rows // cols, width

    def _resized(self, array: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """Return an image of whole numbers of 8 bits, or of float32, at another size."""
        if array.shape[:2] == shape:
            return array
        height, width = shape
        pillow_filter, opencv_filter = INTERPOLATIONS[self.interpolation]
        if not self.antialias:
            resized = cv2.resize(array, (width, height), interpolation=opencv_filter)
            return np.asarray(resized).reshape(height, width, *array.shape[2:])
        if array.dtype == np.uint8 or array.ndim == 2:
            return np.asarray(Image.fromarray(array).resize((width, height), pillow_filter))
        # Pillow has no colour images in float32, so each channel is resized as a grey image
        channels = []
        for index in range(array.shape[2]):
            channel = Image.fromarray(np.ascontiguousarray(array[..., index]))
            channels.append(np.asarray(channel.resize((width, height), pillow_filter)))
        return np.stack(channels, axis=-1)

    def _one_plane_or_channels_first(self, values: np.ndarray) -> np.ndarray:
        """Return values with their channels first, or one plane for all channels."""
        if values.ndim == 2:
            return values[None]
        if self.channels == 1:
            return np.asarray((values @ _LUMA)[None])
        return np.moveaxis(values, -1, 0)


def _rounded_quotient(numerator: int, denominator: int) -> int:
    """Return a quotient of whole numbers, rounded, halves up."""
    return (2 * numerator + denominator) // (2 * denominator)


def _start_in_input(image_side: int, input_side: int) -> int:
    """Return the pixel of the input at which the resized image starts; negative if it is cropped there.

    As in torchvision's CenterCrop.
    """
    if image_side <= input_side:
        return (input_side - image_side) // 2
    return -round((image_side - input_side) / 2)


def _checked_image(image: Any) -> np.ndarray:
    """Return a finite grey or RGB image in uint8 if it is of bytes or bool, else in float32."""
    array = np.asarray(image)
    if array.ndim not in (2, 3) or not array.size or (array.ndim == 3 and array.shape[2] != 3):
        has_opacity = array.ndim == 3 and array.shape[2] == 4
        raise ShapeError(
            f"an image must have shape (M, N) or (M, N, 3), not {array.shape}",
            hint="drop its fourth channel, the opacity" if has_opacity else "",
            option="image",
            value=array.shape,
        )
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(
            f"an image must hold real numbers, not {array.dtype}", option="image", value=array.dtype
        )
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    values = np.ascontiguousarray(array, np.float32)
    if not np.isfinite([values.min(), values.max()]).all():
        raise ValueRangeError("an image must be finite; it holds NaN or infinity", option="image")
    return values


def _values_of_black_and_white(image: Any, values: np.ndarray, rescale: str) -> tuple[float, float]:
    """Return the values of the image that become 0 and 1, by a name of `RESCALES`.

    ValueRangeError for "type" with whole numbers of more than 16 bits.
    """
    if rescale == "image":
        low = float(values.min())
        high = float(values.max())
        if high == low:
            # an image of one value becomes 0
            high = low + 1
        return low, high
    dtype = np.asarray(image).dtype
    # an image of bool has 0 and 255 here, whose values are 0 and 1
    if dtype == np.bool_:
        return 0.0, 255.0
    if rescale == "none" or dtype.kind == "f":
        return 0.0, 1.0
    if dtype.itemsize > 2:
        raise ValueRangeError(
            Setting("rescale", "type"),
            f" divides by the largest number of 8 or 16 bits, and the image is of {dtype}",
            hint=Message("use ", Setting("rescale", "image"), ", or divide it yourself"),
        )
    if values.dtype == np.uint8:
        return 0.0, 255.0
    return 0.0, float(np.iinfo(dtype).max)


def _checked_mean_or_std(value: Any, name: str, channels: int) -> float | tuple[float, ...] | None:
    """Return a mean or std as None, a number for all channels, or a tuple with a number for each channel."""
    if value is None:
        return None
    numbers = np.asarray(value, np.float64)
    if numbers.shape not in ((), (channels,)) or (name == "std" and not (numbers > 0).all()):
        rule = "must be positive" if name == "std" else "must be a number"
        raise ValueRangeError(
            Setting(name), f" {rule}, one or one per channel ({channels}), not {value!r}", value=value
        )
    if numbers.ndim:
        return tuple(numbers.tolist())
    return float(numbers)
