"""The images behind overlays, found by the name of their case and read at the size they are printed."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.images.printed_images import grey_image, resize_for_print
from salstats.readers.image_files import GREY, opened_image

#: Where images come from: a folder, or a file or an array for each case.
ImageSource = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str] | np.ndarray]
_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
#: Names of cases made of a CheXpert path: patient64541_study1_view1_frontal.
_CHEXPERT = re.compile(r"(patient[^_]+)_(study[^_]+)_(view.+)")
_SPLITS = ("", "valid", "val", "test", "train")
#: Part by which the sides of an image may differ from those of its masks, as rounding does.
_ASPECT = 0.02


def check_images(images: ImageSource | None) -> ImageSource | None:
    """Where images come from, if it is a folder that is there or a mapping."""
    if images is None or isinstance(images, Mapping):
        return images
    if not isinstance(images, str | os.PathLike):
        raise SalstatsError(
            "images must be a folder, or a mapping of cases to files or arrays, not " + type(images).__name__
        )
    if not Path(images).is_dir():
        raise InputFileError(f"images={os.fspath(images)!r} is not a folder")
    return images


def read_grey(
    images: ImageSource | None, case: str, shape: tuple[int, int], printed: tuple[int, int]
) -> np.ndarray | None:
    """The image of a case as grey from 0 to 1, of `printed` (rows, cols); None where there is none.

    `shape` is the (height, width) of the case's masks; the image may have another size, not another form.
    """
    if images is None:
        return None
    if isinstance(images, Mapping):
        if case not in images:
            return None
        given = images[case]
    else:
        given = _find(Path(images), case)
    grey = _checked(given, case) if isinstance(given, np.ndarray) else _read(Path(given), case, printed)
    high, wide = shape[0] / grey.shape[0], shape[1] / grey.shape[1]
    if abs(high / wide - 1) > _ASPECT + 1 / min(grey.shape):
        raise ShapeError(
            f"the image of case {case} is {grey.shape[0]} x {grey.shape[1]} (height x width) and "
            f"its masks are {shape[0]} x {shape[1]}; they must have the same form"
        )
    return resize_for_print(grey, printed)


def _checked(array: np.ndarray, case: str) -> np.ndarray:
    """An array given as an image as grey."""
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)) or not array.size:
        raise ShapeError(
            f"the image of case {case} has shape {array.shape}; "
            "(height, width) or (height, width, 3) would do"
        )
    if array.dtype.kind not in "buif" or not np.isfinite(array).all():
        raise ValueRangeError(f"the image of case {case} must hold finite numbers")
    return grey_image(array)


def _find(folder: Path, case: str) -> Path:
    """The file of a case in a folder."""
    for path in _candidates(folder, case):
        if path.is_file():
            return path
    raise InputFileError(
        f"no image of case {case} in {folder}; looked for {case}.jpg and the like"
        + (f", and for {_layout(case)}.jpg below it" if _layout(case) else "")
        + "; a mapping of cases to files would do"
    )


def _candidates(folder: Path, case: str) -> Iterator[Path]:
    """Where the file of a case may be, never outside the folder."""
    stems = [
        s for s in (case, _layout(case)) if s and ".." not in Path(s).parts and not Path(s).is_absolute()
    ]
    for split in _SPLITS:
        for stem in stems:
            for suffix in _SUFFIXES:
                yield folder / split / f"{stem}{suffix}"
                yield folder / split / f"{stem}{suffix.upper()}"


def _layout(case: str) -> str:
    """The path of a case in the folders of CheXpert, nothing for other names."""
    match = _CHEXPERT.fullmatch(case)
    return "/".join(match.groups()) if match else ""


def _read(path: Path, case: str, printed: tuple[int, int]) -> np.ndarray:
    """A file's image as grey, no smaller than printed."""
    try:
        with opened_image(path) as image:
            # a JPEG is decoded at an eighth, a quarter or half of its size where that is enough
            image.draft("L", (printed[1], printed[0]))
            deep = image.mode in GREY and image.mode not in ("1", "L")
            grey = np.asarray(image if deep else image.convert("L"))
    except InputFileError as error:
        raise InputFileError(f"the image of case {case} cannot be read: {error}") from error
    return _checked(grey, case)
