"""Image files: their size from the header alone, and their pixels as the file has them."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from PIL.BmpImagePlugin import BmpImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from salstats.errors import InputFileError, MessagePart
from salstats.files.input_files import opened
from salstats.memory_limit import BYTES_PER_PIXEL, check_size

#: Endings of images that are read as maps and masks.
MAP_IMAGE_SUFFIXES = (".png", ".tif", ".tiff")


class ImageFormat(NamedTuple):
    """First bytes of the files of an image format, and Pillow's class that reads them.

    The class is used instead of Image.open, as that only warns of an image that is too large.
    """

    first_bytes: tuple[bytes, ...]
    pillow_class: Any


_FORMATS = {
    "PNG": ImageFormat((b"\x89PNG",), PngImageFile),
    # little and big endian, TIFF and BigTIFF
    "TIFF": ImageFormat((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), TiffImageFile),
    "JPEG": ImageFormat((b"\xff\xd8\xff",), JpegImageFile),
    "BMP": ImageFormat((b"BM",), BmpImageFile),
}
#: Pillow's modes of pixels that are one number each.
GREY_MODES = ("1", "L", "I;16", "I;16B", "I;16L", "I", "F")
#: Tag PhotometricInterpretation of TIFF, and its value for images whose largest number is black.
_PHOTOMETRIC = 262
_WHITE_IS_ZERO = 0
#: Tag SampleFormat of TIFF, and its values for whole numbers.
_SAMPLE_FORMAT = 339
_UNSIGNED = 1
_SIGNED = 2
#: Tag Orientation of TIFF and EXIF, and its values (None: no tag) for images neither turned nor mirrored.
_ORIENTATION = 274
_UPRIGHT = (None, 0, 1)


@contextmanager
def opened_image(
    path: Path, formats: Sequence[str] = tuple(_FORMATS), refuse_turned: Sequence[str] = ("TIFF",)
) -> Iterator[Any]:
    """Open an image of one of `formats` and yield it with only its header read.

    Raises InputFileError where the file is missing, of another format or damaged, and where it holds several
    images, or one that is too large, or (in the formats of `refuse_turned`) that a viewer would turn. An
    error in reading pixels in the `with` block is an InputFileError as well.
    """
    with opened(path) as stream, warnings.catch_warnings():
        # Pillow warns of tags, which do not change the pixels, and of damage, which is an error later on
        warnings.simplefilter("ignore")
        start = stream.peek(4)
        name = ""
        for format_name, image_format in _FORMATS.items():
            if start.startswith(image_format.first_bytes):
                name = format_name
        if name not in formats:
            raise InputFileError(
                f"{path}: neither {' nor '.join(formats)}, whatever its name says", path=path, choices=formats
            )
        try:
            image = _FORMATS[name].pillow_class(stream)
            # a small file can claim to hold any number of pixels
            n_pixels = image.height * image.width
            check_size(n_pixels * BYTES_PER_PIXEL, f"{path}: its {image.height} x {image.width} pixels")
            n_images = getattr(image, "n_frames", 1)
            if n_images > 1:
                raise InputFileError(
                    f"{path}: holds {n_images} images; save each as a file of its own",
                    path=path,
                    value=n_images,
                )
            if name in refuse_turned and image.getexif().get(_ORIENTATION) not in _UPRIGHT:
                # programs differ in whether they turn it, so masks may have been drawn on either form
                raise InputFileError(
                    f"{path}: its pixels are stored turned or mirrored; save it upright",
                    path=path,
                    value="Orientation",
                )
            yield image
        except InputFileError:
            raise
        # Pillow raises errors of several classes on damaged files
        except Exception as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputFileError(f"{path}: not a whole image, or damaged ({reason})", path=path) from error


def image_shape(path: Path) -> tuple[int, int]:
    """Return the (height, width) of an image from its header; raise as `opened_image` does."""
    with opened_image(path) as image:
        return image.height, image.width


def read_grey(path: Path, *, hint: MessagePart = "") -> np.ndarray:
    """Read the pixels of a grey PNG or TIFF as the file has them: bool, uint8, uint16, int32 or float32.

    A colour image whose channels are equal counts as grey, and so does one with a palette of greys. Any other
    is an error with this `hint`.
    """
    with opened_image(path, ("PNG", "TIFF")) as image:
        pixels = _grey_or_rgb(path, image)
        mode = image.mode
    if pixels.ndim == 3:
        raise InputFileError(
            f"{path}: a colour image, not a grey one; a map or a mask has one number for each pixel",
            hint=hint,
            path=path,
            value=mode,
        )
    return pixels


def read_grey_or_rgb(path: Path) -> np.ndarray:
    """Read a PNG or TIFF: a grey one (M, N) as `read_grey` does, a colour one (M, N, 3) as uint8."""
    with opened_image(path, ("PNG", "TIFF")) as image:
        return _grey_or_rgb(path, image)


def read_picture(path: str | os.PathLike[str]) -> np.ndarray:
    """Read the pixels of an image for a network, (M, N) or (M, N, 3), as the file has them.

    The file is a PNG, JPEG, TIFF or BMP, whatever its name, or an array (`.npy`).
    """
    file = Path(path)
    if file.suffix.lower() == ".npy":
        # a pixel may have three numbers, red, green and blue
        return read_npy(file, BYTES_PER_PIXEL / 3)
    with opened_image(file, refuse_turned=("TIFF", "JPEG")) as image:
        if image.mode not in (*GREY_MODES, "LA", "P", "PA", "RGB", "RGBA"):
            raise InputFileError(
                f"{file}: its pixels are {image.mode}; save it in grey or RGB", path=file, value=image.mode
            )
        if image.mode in GREY_MODES and "transparency" not in image.info:
            return _checked_pixels_of_grey_image(file, image)
        if image.mode == "RGB" and "transparency" not in image.info:
            return np.array(image)
        pixels = _checked_opaque_rgb(file, image)
        if image.mode == "LA":
            # grey and transparency: the three channels made of the grey are equal
            pixels = pixels[..., 0]
        return np.ascontiguousarray(pixels)


def npy_holds_objects(file: Path) -> bool:
    """Return whether the array of a .npy file holds Python objects, by its header."""
    with opened(file) as stream:
        return npy_header_has_objects(stream)


def npy_header_has_objects(stream: BinaryIO) -> bool:
    """Return whether the array in the .npy format at the stream's position holds Python objects.

    False where the header is damaged.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            _, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            _, _, dtype = np.lib.format.read_array_header_2_0(stream)
    # reading the array will raise the error of a damaged header
    except Exception:
        return False
    return bool(dtype.hasobject)


def read_npy(file: Path, memory_bytes_per_number: float = BYTES_PER_PIXEL) -> np.ndarray:
    """Read the array of a .npy file; raise where it holds Python objects or is too large for the memory.

    The memory that it takes is reckoned as `memory_bytes_per_number` for each of its numbers.
    """
    with opened(file):
        try:
            # a memory map fails where the file is shorter than its header says, before memory is taken
            mapped = np.lib.format.open_memmap(file, mode="r")
        # NumPy raises errors of several classes on damaged files
        except Exception as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputFileError(f"{file}: not a NumPy array, or damaged ({reason})", path=file) from error
        check_size(mapped.size * memory_bytes_per_number, f"{file}: its array of shape {mapped.shape}")
        return np.array(mapped)


def _grey_or_rgb(path: Path, image: Any) -> np.ndarray:
    """Return the pixels of an image: of a grey one (M, N) as the file has them, of a colour one (M, N, 3)."""
    _refuse_16_bits_that_pillow_changes(path, image)
    if image.mode in GREY_MODES and "transparency" not in image.info:
        return _checked_pixels_of_grey_image(path, image)
    pixels = _checked_opaque_rgb(path, image)
    if (pixels[..., 1:] != pixels[..., :1]).any():
        return pixels
    return np.ascontiguousarray(pixels[..., 0])


def _checked_opaque_rgb(path: Path, image: Any) -> np.ndarray:
    """Return red, green and blue of an image; raise where a pixel is transparent."""
    pixels = np.array(image.convert("RGBA"))
    if (pixels[..., 3] != 255).any():
        raise InputFileError(
            f"{path}: has transparent pixels, whose value is not known; save it opaque",
            path=path,
            value="transparency",
        )
    return pixels[..., :3]


def _refuse_16_bits_that_pillow_changes(path: Path, image: Any) -> None:
    """Raise where Pillow would change the numbers of an image of 16 bits without a warning."""
    # Pillow's name for the layout of the stored pixels, such as "RGB;16B", alone or first in a tuple
    raw_mode = image.tile[0][3] if image.tile else ""
    if isinstance(raw_mode, tuple):
        raw_mode = raw_mode[0] if raw_mode else ""
    if image.mode not in GREY_MODES and "16" in str(raw_mode):
        raise InputFileError(
            f"{path}: a colour image of 16 bits a channel; save it as grey", path=path, value=raw_mode
        )
    if image.mode.startswith("I;16") and "transparency" in image.info:
        raise InputFileError(
            f"{path}: has transparent pixels, whose value is not known; save it opaque",
            path=path,
            value="transparency",
        )


def _checked_pixels_of_grey_image(path: Path, image: Any) -> np.ndarray:
    """Return the numbers of a grey image; raise where Pillow's numbers would differ from the file's."""
    tags = getattr(image, "tag_v2", {})
    # where the largest number is black, Pillow inverts images of 1 and 8 bits, but not others
    if image.mode not in ("1", "L") and tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        raise InputFileError(
            f"{path}: its largest number is black; save it with black as 0", path=path, value="WhiteIsZero"
        )
    sample_format = tags.get(_SAMPLE_FORMAT, (_UNSIGNED,))[0]
    pixels = np.array(image)
    # Pillow reads 8 bits as unsigned and 32 bits as signed, whatever the tag says
    has_wrong_sign = image.mode == "L" and sample_format == _SIGNED
    if image.mode == "I" and tags and sample_format == _UNSIGNED:
        has_wrong_sign = bool((pixels < 0).any())
    if has_wrong_sign:
        raise InputFileError(
            f"{path}: its numbers are signed ones of 8 bits, or of 32 bits and too large to read",
            hint="save them as real numbers (float32)",
            path=path,
            value="SampleFormat",
        )
    return pixels
