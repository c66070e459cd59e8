"""Grey images, PNG and TIFF: their size from the header alone, and their pixels as the file has them."""

import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from salstats.checks import PIXEL, InputFileError, check_size
from salstats.files.inputs import opened

SUFFIXES = (".png", ".tif", ".tiff")
_PNG = b"\x89PNG\r\n\x1a\n"
#: Kind -> how a file of it begins, and what reads it.
_KINDS: dict[str, tuple[tuple[bytes, ...], Any]] = {
    "PNG": ((_PNG[:4],), PngImageFile),
    "TIFF": ((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), TiffImageFile),
    "JPEG": ((b"\xff\xd8\xff",), JpegImageFile),
}
#: Kinds of pixels that are one number each, as Pillow calls them.
GREY = ("1", "L", "I;16", "I;16B", "I;16L", "I", "F")
#: TIFF's tags, and their values that mean: black is the largest number; whole numbers below 0, too; rows
#: are rows.
_PHOTOMETRIC, _WHITE_IS_ZERO, _SAMPLE_FORMAT, _SIGNED, _ORIENTATION, _UPRIGHT = 262, 0, 339, 2, 274, 1


def image_shape(path: Path) -> tuple[int, int]:
    """(height, width) of a PNG, TIFF or JPEG, in colour or grey, from its header.

    Parameters
    ----------
    path : Path

    Returns
    -------
    tuple of int

    Raises
    ------
    InputFileError
        The file is missing, is of another kind, is damaged, or holds several images, or one that is
        turned or too large.
    """
    with _image(path, tuple(_KINDS)) as (image, _):
        return image.height, image.width


def read_grey(path: Path) -> np.ndarray:
    """Pixels of a PNG or TIFF that is grey, as the file has them.

    A colour image whose channels are equal is grey, and so is one with a palette of greys.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray, shape (M, N)
        Of bool (1 bit), uint8, uint16, int32 or float32.

    Raises
    ------
    InputFileError
        As for `image_shape`; and where the image is in colour or has transparent pixels.
    """
    with _image(path, ("PNG", "TIFF")) as (image, stream):
        _check_kind(path, image)
        if isinstance(image, PngImageFile):
            check_sums(path, stream)
        try:
            if image.mode in GREY and "transparency" not in image.info:
                return np.array(image)
            # whatever it is, as red, green, blue and opacity
            pixels = np.array(image.convert("RGBA"))
        except Exception as error:
            raise _damaged(path, error) from error
    if (pixels[..., 3] != 255).any():
        raise InputFileError(f"{path}: has transparent pixels, whose value is not known; save it opaque")
    if (pixels[..., 1:3] != pixels[..., :1]).any():
        raise InputFileError(
            f"{path}: a colour image, not a grey one; a map or a mask has one number for each pixel"
        )
    return np.ascontiguousarray(pixels[..., 0])


@contextmanager
def _image(path: Path, kinds: Sequence[str]) -> Iterator[tuple[Any, BufferedReader]]:
    """Open an image of one of some kinds, of which the header alone is read, and its file."""
    with opened(path) as stream, warnings.catch_warnings():
        # Pillow warns of tags, which say nothing of the pixels, and of damage, which is an error soon
        warnings.simplefilter("ignore")
        start = stream.peek(4)
        kind = next((kind for kind, (marks, _) in _KINDS.items() if start.startswith(marks)), "")
        if kind not in kinds:
            raise InputFileError(f"{path}: neither {' nor '.join(kinds)}, whatever its name says")
        try:
            # not Image.open, whose check of the size is a warning
            image = _KINDS[kind][1](stream)
            n_images = getattr(image, "n_frames", 1)
            turned = getattr(image, "tag_v2", {}).get(_ORIENTATION, _UPRIGHT) != _UPRIGHT
        # what Pillow raises on damaged files is not all of one kind
        except Exception as error:
            raise _damaged(path, error) from error
        if n_images > 1 and kind != "JPEG":
            raise InputFileError(f"{path}: holds {n_images} images; save each as a file of its own")
        if turned:
            # programs differ in whether they turn it back
            raise InputFileError(
                f"{path}: its pixels are stored turned or mirrored (TIFF's orientation); save it upright"
            )
        # a small file can claim to hold any number of pixels
        check_size(image.width * image.height * PIXEL, f"{path}: its {image.height} x {image.width} pixels")
        yield image, stream


def check_sums(path: Path, stream: BinaryIO) -> None:
    """Raise where a part of a PNG has a wrong checksum, or its end is missing: Pillow reads such pixels."""
    here = stream.tell()
    stream.seek(0)
    data = memoryview(stream.read())
    stream.seek(here)
    start, kind = len(_PNG), b""
    while start < len(data) and kind != b"IEND":
        kind, end = bytes(data[start + 4 : start + 8]), start + 12 + int.from_bytes(data[start : start + 4])
        if zlib.crc32(data[start + 4 : end - 4]) != int.from_bytes(data[end - 4 : end]):
            raise InputFileError(
                f"{path}: not a whole image, or damaged (wrong checksum in its part {kind!r})"
            )
        start = end
    if kind != b"IEND":
        raise InputFileError(f"{path}: not a whole image; it is cut short")


def _check_kind(path: Path, image: Any) -> None:
    """Raise where Pillow would change the numbers of a file without a word."""
    raw = image.tile[0][3] if image.tile else ""
    raw = raw if isinstance(raw, str) else str(raw[0]) if raw else ""
    if image.mode not in GREY and "16" in raw:
        raise InputFileError(f"{path}: a colour image of 16 bits a channel; save it as grey")
    if image.mode.startswith("I;16") and "transparency" in image.info:
        raise InputFileError(f"{path}: has transparent pixels, whose value is not known; save it opaque")
    tags = getattr(image, "tag_v2", {})
    if image.mode.startswith("I;16") and tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        raise InputFileError(f"{path}: its largest number is black; save it with black as 0")
    formats = tags.get(_SAMPLE_FORMAT, ())
    formats = formats if isinstance(formats, tuple) else (formats,)
    if image.mode == "L" and _SIGNED in formats:
        raise InputFileError(
            f"{path}: 8 bits with a sign; save its pixels from 0 to 255, or as an array (.npy)"
        )


def _damaged(path: Path, error: Exception) -> InputFileError:
    """The error of a file that Pillow cannot read."""
    said = " ".join(str(error).split())[:200] or type(error).__name__
    return InputFileError(f"{path}: not a whole image, or damaged ({said})")
