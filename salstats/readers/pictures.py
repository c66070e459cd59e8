"""Images to be shown to a network, grey or in colour, as numbers."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from salstats.checks import PIXEL, InputFileError, check_size
from salstats.files.inputs import opened
from salstats.readers.grey_images import GREY, check_sums

_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
#: EXIF's orientation, and its values that mean: as stored.
_ORIENTATION, _UPRIGHT = 274, (None, 0, 1)


def read_picture(path: str | os.PathLike[str]) -> np.ndarray:
    """Pixels of an image, as the file has them.

    Parameters
    ----------
    path : path
        PNG, JPEG, TIFF or BMP, whatever its name; or an array, `.npy`, of shape (M, N) or (M, N, 3).

    Returns
    -------
    ndarray, shape (M, N) or (M, N, 3)
        Of bool, uint8, uint16, int32 or float32; from an array, of its own type.

    Raises
    ------
    InputFileError
        The file is missing, damaged or of another kind; it holds several images, transparent pixels, or one
        that a viewer would turn; it is too large.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from salstats.readers.pictures import read_picture
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "image.npy"
    ...     np.save(file, np.eye(2))
    ...     read_picture(file)
    array([[1., 0.],
           [0., 1.]])
    """
    file = Path(path)
    with opened(file) as stream:
        try:
            if file.suffix.lower() == ".npy":
                # mapped, so that the header's size is held against the file's before memory is taken
                mapped = np.lib.format.open_memmap(file, mode="r")
                check_size(mapped.size * PIXEL / 3, f"{file}: its array of shape {mapped.shape}")
                return np.array(mapped)
            # Pillow warns of large files, which are refused below, and of tags, which say nothing of pixels
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Image.open(stream, formats=_FORMATS) as image:
                    if image.format == "PNG":
                        check_sums(file, stream)
                    return _pixels(file, image)
        except InputFileError:
            raise
        # what Pillow and NumPy raise on damaged files is not all of one kind
        except Exception as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputFileError(f"{file}: not a whole image, or damaged ({said})") from error


def _pixels(file: Path, image: Any) -> np.ndarray:
    """Pixels of an open image, in grey or in red, green and blue."""
    n_images = getattr(image, "n_frames", 1)
    # before EXIF is looked for, for which a PNG is unpacked
    check_size(image.width * image.height * PIXEL, f"{file}: its {image.height} x {image.width} pixels")
    wrong = None
    if n_images > 1:
        wrong = f"holds {n_images} images; save each as a file of its own"
    elif image.getexif().get(_ORIENTATION) not in _UPRIGHT:
        # programs differ in whether they turn it, and so did whoever marked it
        wrong = "its pixels are stored turned or mirrored (EXIF's orientation); save it upright"
    elif image.mode not in (*GREY, "LA", "P", "PA", "RGB", "RGBA"):
        wrong = f"its pixels are {image.mode}; save it in grey or RGB"
    if wrong:
        raise InputFileError(f"{file}: {wrong}")
    if image.mode in (*GREY, "RGB") and "transparency" not in image.info:
        return np.array(image)
    pixels = np.array(image.convert("RGBA"))
    if (pixels[..., 3] != 255).any():
        raise InputFileError(f"{file}: has transparent pixels, whose value is not known; save it opaque")
    return np.ascontiguousarray(pixels[..., 0] if image.mode == "LA" else pixels[..., :3])
