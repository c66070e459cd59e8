"""The images behind overlays, found by the name of their case and read at the size they are printed."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from salstats.errors import InputFileError, SalstatsError, Setting, ShapeError, ValueRangeError
from salstats.images.printed_images import grey_from_0_to_1, resize_for_print
from salstats.readers.image_files import GREY_MODES, opened_image

#: A folder of images, or a file or an array for each case.
ImageSource = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str] | np.ndarray]
_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
#: Names of cases made of a CheXpert path, such as patient64541_study1_view1_frontal.
_CHEXPERT_CASE = re.compile(r"(patient[^_]+)_(study[^_]+)_(view.+)")
#: Folders of CheXpert's splits, and the folder itself.
_SPLIT_FOLDERS = ("", "valid", "val", "test", "train")
#: Largest relative difference between the proportions of an image and those of its masks.
_ASPECT_TOLERANCE = 0.02


def check_images(images: ImageSource | None) -> ImageSource | None:
    """Return the source of images; raise where it is neither an existing folder nor a mapping."""
    if images is None or isinstance(images, Mapping):
        return images
    if not isinstance(images, str | os.PathLike):
        raise SalstatsError(
            f"images must be a folder, or a mapping of cases to files or arrays, not {type(images).__name__}",
            option="images",
        )
    if not Path(images).is_dir():
        folder = os.fspath(images)
        raise InputFileError(Setting("images", folder), " is not a folder", path=folder)
    return images


def read_grey_for_print(
    images: ImageSource | None, case: str, mask_shape: tuple[int, int], printed_shape: tuple[int, int]
) -> np.ndarray | None:
    """Read the image of a case as grey from 0 to 1, of `printed_shape` (rows, cols).

    None without `images`, or where a mapping lacks the case; a folder without its image is an error.
    `mask_shape` is the (height, width) of the case's masks; the image may have another size, but must have
    the same proportions.
    """
    if images is None:
        return None
    if isinstance(images, Mapping):
        if case not in images:
            return None
        image = images[case]
    else:
        image = _first_image_path(Path(images), case)
    if isinstance(image, np.ndarray):
        grey = _grey_from_0_to_1_of_array(image, case)
    else:
        grey = _grey_from_0_to_1_of_file(Path(image), case, printed_shape)
    height_ratio = mask_shape[0] / grey.shape[0]
    width_ratio = mask_shape[1] / grey.shape[1]
    # a side that is rounded to whole pixels may be wrong by one
    if abs(height_ratio / width_ratio - 1) > _ASPECT_TOLERANCE + 1 / min(grey.shape):
        raise ShapeError(
            f"the image of case {case} is ",
            f"{grey.shape[0]} x {grey.shape[1]}",
            " (height x width) and its masks are ",
            f"{mask_shape[0]} x {mask_shape[1]}",
            "; they must have the same proportions",
            option="images",
            value=case,
        )
    return resize_for_print(grey, printed_shape)


def _grey_from_0_to_1_of_array(array: np.ndarray, case: str) -> np.ndarray:
    """Return an array of grey values or colours as grey from 0 to 1; raise where it is not an image."""
    is_grey = array.ndim == 2
    is_colour = array.ndim == 3 and array.shape[2] in (3, 4)
    if not array.size or not (is_grey or is_colour):
        raise ShapeError(
            f"the image of case {case} has shape ",
            f"{array.shape}",
            "; (height, width) or (height, width, 3) would do",
            option="images",
            value=case,
        )
    if array.dtype.kind not in "buif" or not np.isfinite(array).all():
        raise ValueRangeError(
            f"the image of case {case} must hold finite numbers", option="images", value=case
        )
    return grey_from_0_to_1(array)


def _first_image_path(folder: Path, case: str) -> Path:
    """Return the path of a case's image in a folder; raise where there is none."""
    for path in _possible_image_paths(folder, case):
        if path.is_file():
            return path
    chexpert_text = ""
    chexpert_path = _chexpert_path_without_suffix(case)
    if chexpert_path is not None:
        chexpert_text = f", and for {chexpert_path}.jpg below it"
    raise InputFileError(
        f"no image of case {case} in {folder}; looked for ",
        f"{case}.jpg",
        f" and the like{chexpert_text}",
        hint="a mapping of cases to files would do",
        option="images",
        value=case,
        path=folder,
    )


def _possible_image_paths(folder: Path, case: str) -> Iterator[Path]:
    """Yield the paths that the image of a case may have, none of them outside the folder."""
    stems = []
    for stem in (case, _chexpert_path_without_suffix(case)):
        if not stem:
            continue
        is_inside = ".." not in Path(stem).parts and not Path(stem).is_absolute()
        if is_inside:
            stems.append(stem)
    for split in _SPLIT_FOLDERS:
        for stem in stems:
            for suffix in _SUFFIXES:
                yield folder / split / f"{stem}{suffix}"
                yield folder / split / f"{stem}{suffix.upper()}"


def _chexpert_path_without_suffix(case: str) -> str | None:
    """Return patient/study/view of a case named as in CheXpert; None for names of another form."""
    match = _CHEXPERT_CASE.fullmatch(case)
    if match is None:
        return None
    return "/".join(match.groups())


def _grey_from_0_to_1_of_file(path: Path, case: str, smallest_needed_shape: tuple[int, int]) -> np.ndarray:
    """Read a file's image, at its own size, as grey from 0 to 1.

    A large JPEG may be made smaller, not below `smallest_needed_shape`.
    """
    try:
        with opened_image(path) as image:
            # a JPEG is decoded at an eighth, a quarter or half of its size where that is enough
            image.draft("L", (smallest_needed_shape[1], smallest_needed_shape[0]))
            # grey values of more than 8 bits stay as they are
            is_deep_grey = image.mode in GREY_MODES and image.mode not in ("1", "L")
            grey = np.asarray(image if is_deep_grey else image.convert("L"))
    except InputFileError as error:
        raise InputFileError(
            f"the image of case {case} cannot be read: {error}", option="images", value=case, path=path
        ) from error
    return _grey_from_0_to_1_of_array(grey, case)
