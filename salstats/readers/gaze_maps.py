"""Maps that are compared with gaze: the file of each image, and the map made of it."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salstats.checks import check_choice, quoted
from salstats.errors import InputFileError, Message, SalstatsError, Setting, warn
from salstats.images.hulls import convex_hull, large_regions_off_border_mask, mask_from_padded_square
from salstats.images.map_steps import may_cover_whole_image, resize_in_float64
from salstats.images.maps import is_finite
from salstats.images.mixing import MIXING_RULES, mixed_map_of_classes
from salstats.readers.cells import PathLike
from salstats.readers.map_files import (
    MAP_SUFFIXES,
    MASK_SUFFIXES,
    find_case_files,
    read_map,
    read_mask,
    read_npz,
)
from salstats.readers.prediction_files import Sources, source_by_series
from salstats.study import Case, Content, Prediction, Series, shape_of

#: Method of the gaze of the other readers, as a map for the reader left out.
INTEROBSERVER = "interobserver"
#: Method of the convex hull of the lungs.
CONVEX = "convex"
#: Method of maps that are given without a method's name.
DEFAULT_METHOD = "saliency"
#: A file's name by phase and trial, and the method's name where there are several: p1_t0_am1.
_PHASE_AND_TRIAL_NAME = re.compile(r"p(?P<phase>\d+)_t(?P<trial>\d+)(?:_(?P<method>\w+))?")
#: The same as the study's own code writes it: phase_1_0.98/0.npy and 0_am1.npy, beside pictures (0or.png).
_PHASE_FOLDER = re.compile(r"phase_(?P<phase>\d+)(?:_.*)?")
_NAME_IN_PHASE_FOLDER = re.compile(r"(?P<trial>\d+)(?P<suffix>or|_\w+)?")
_NO_FINDING = "nofinding"
_NOT_LETTERS = re.compile("[^a-z]")


class MapSource(NamedTuple):
    """A folder of the maps of a series, and the function that reads one of them."""

    folder: PathLike
    #: Endings of the files' names.
    suffixes: Sequence[str]
    #: Takes a file and the (height, width) of its image.
    read: Callable[[Path, tuple[int, int]], np.ndarray]


def map_sources(
    maps: Sources | None,
    masks: Sources | None,
    class_maps: Sources | None,
    lungs: PathLike | None,
    clean_lungs: bool,
    mixing: str | Sequence[str],
    padded: bool,
) -> dict[Series, MapSource]:
    """Return the source of each series that the options of `read_gaze` name; see there."""
    rules = dict.fromkeys([mixing] if isinstance(mixing, str) else mixing)
    for rule in rules:
        check_choice(rule, MIXING_RULES, "mixing")
    hull_folders = None if lungs is None else {CONVEX: lungs}
    sources: list[tuple[Series, MapSource]] = []
    for series, folder in _folder_by_series(maps, "maps").items():
        read = partial(_read_map_cut_to_image_if_padded, padded=padded)
        sources.append((series, MapSource(folder, MAP_SUFFIXES, read)))
    for series, folder in _folder_by_series(class_maps, "class_maps").items():
        for rule in rules:
            read = partial(_read_class_maps_mixed_into_one, mixing_rule=rule, padded=padded)
            sources.append((replace(series, mixing=rule), MapSource(folder, (".npz",), read)))
    for series, folder in _folder_by_series(masks, "masks").items():
        sources.append((series, MapSource(folder, MASK_SUFFIXES, _read_mask_of_image_size_as_map)))
    for series, folder in _folder_by_series(hull_folders, "lungs").items():
        read = partial(_read_lung_hull_as_map, clean=clean_lungs)
        sources.append((series, MapSource(folder, MASK_SUFFIXES, read)))
    names = Counter((series.name, series.model, series.seed) for series, _ in sources)
    for (name, _, _), n_series in names.items():
        if n_series > 1:
            raise SalstatsError(
                f"two series have the name {name!r}", hint="give one of them another name", value=name
            )
    return dict(sources)


def _folder_by_series(sources: Sources | None, option: str) -> dict[Series, PathLike]:
    """Return the folders of the series that an option names; "interobserver" is an error."""
    folders = source_by_series(sources, DEFAULT_METHOD, option)
    if any(series.method == INTEROBSERVER for series in folders):
        raise SalstatsError(
            Setting(option),
            f" names {INTEROBSERVER!r}, which is the method of the reader left out",
            hint="rename it",
            value=INTEROBSERVER,
        )
    return folders


def find_predictions(
    sources: Mapping[Series, MapSource],
    cases: Sequence[Case],
    image_of_case: Mapping[str, str],
    padded: bool | None,
) -> dict[Series, dict[str, Prediction]]:
    """Return the predictions of each series by case, each with its map's file.

    `image_of_case` is the `dicom_id` of each case. Warn of maps that will be stretched out of proportion.
    """
    predictions: dict[Series, dict[str, Prediction]] = {}
    shapes = {case.case: shape_of(case) for case in cases}
    for series, source in sources.items():
        files = _file_by_case(Path(source.folder), source.suffixes, series.method, cases, image_of_case)
        predictions[series] = {}
        for case, file in files.items():
            # the file may be read by a process whose working directory differs
            read = partial(_read_content, source.read, file.absolute(), shapes[case])
            # without a task, as gaze is not recorded for a finding
            predictions[series][case] = Prediction("", series, read, str(file))
    _warn_of_stretched_maps(predictions, shapes, padded)
    return predictions


def _read_content(
    read: Callable[[Path, tuple[int, int]], np.ndarray], file: Path, shape: tuple[int, int]
) -> Content:
    """Return the map that `read` makes of a file for an image of this (height, width)."""
    return Content(saliency=read(file, shape))


def _warn_of_stretched_maps(
    predictions: Mapping[Series, Mapping[str, Prediction]],
    shapes: Mapping[str, tuple[int, int]],
    padded: bool | None,
) -> None:
    """Warn of methods whose maps will be stretched out of proportion, judged by the first map of each.

    Square maps are named only where `padded` is None. A map that cannot be read is an error later, when it is
    scored.
    """
    # name of a series -> sizes of its map and its image, as text
    square: dict[str, str] = {}
    oblong: dict[str, str] = {}
    # oblong images first, as only these tell whether a square map is stretched
    cases = [case for case, (height, width) in shapes.items() if height != width]
    cases += [case for case, (height, width) in shapes.items() if height == width]
    for series, by_case in predictions.items():
        case = next(case for case in cases if case in by_case)
        image_height, image_width = shapes[case]
        with suppress(InputFileError):
            height, width = np.shape(np.asarray(by_case[case].read().saliency))
            sizes = f"{height} x {width} to {image_height} x {image_width}"
            if height != width and not may_cover_whole_image((height, width), (image_height, image_width)):
                oblong[series.name] = sizes
            elif height == width and image_height != image_width and padded is None:
                square[series.name] = sizes
    if square:
        first_sizes = next(iter(square.values()))
        warn(
            f"{', '.join(square)}: square maps are stretched to oblong images ({first_sizes})",
            hint=Message(
                Setting("padded", True),
                " is right if they are of the image padded to a square, ",
                Setting("padded", False),
                " if they are of the stretched image",
            ),
            option="padded",
            value=list(square),
        )
    if oblong:
        first_sizes = next(iter(oblong.values()))
        warn(
            f"{', '.join(oblong)}: maps that are neither square nor of their image's proportions are "
            f"stretched to it ({first_sizes})",
            hint="make maps of the whole image",
            value=list(oblong),
        )


def _map_name_or_none_if_picture_of_map(file: Path, case_and_image_names: Container[str]) -> str | None:
    """Return a file's name without ending, or p1_t0 or p1_t0_METHOD in a folder of the study's own code.

    None only for a picture beside a map in such a folder.
    """
    folder_match = _PHASE_FOLDER.fullmatch(file.absolute().parent.name)
    name_match = _NAME_IN_PHASE_FOLDER.fullmatch(file.stem)
    if folder_match is None or name_match is None or file.stem in case_and_image_names:
        return file.stem
    trial = name_match["trial"]
    if file.suffix != ".npy" and file.with_name(f"{trial}.npy").exists():
        return None
    return f"p{folder_match['phase']}_t{trial}{name_match['suffix'] or ''}"


def _file_by_case(
    folder: Path,
    suffixes: Sequence[str],
    method_in_file_names: str,
    cases: Sequence[Case],
    image_of_case: Mapping[str, str],
) -> dict[str, Path]:
    """Return the file of each case that has one, named after the case, its image, or phase and trial (p1_t0).

    Where files are named p1_t0_METHOD for `method_in_file_names`, only those are its files; otherwise only
    files without a method's name are. Warn of files of no case; raise where no case has a file.
    """
    study_names = {*image_of_case, *image_of_case.values()}
    files = find_case_files(
        folder, suffixes, partial(_map_name_or_none_if_picture_of_map, case_and_image_names=study_names)
    )
    # names of files by phase and trial, with the match of their parts
    trials: dict[str, re.Match[str]] = {}
    for name in files.keys() - study_names:
        trial = _PHASE_AND_TRIAL_NAME.fullmatch(name)
        if trial is not None:
            trials[name] = trial
    has_named_files = any(trial["method"] == method_in_file_names for trial in trials.values())
    method_in_name = method_in_file_names if has_named_files else None
    excluded_names = {name for name, trial in trials.items() if trial["method"] != method_in_name}
    candidates = files.keys() - excluded_names
    # a case, an image, or phase and trial -> the files of that name
    files_of_name: dict[object, list[Path]] = defaultdict(list)
    for name in candidates:
        if name in trials:
            phase_and_trial = (int(trials[name]["phase"]), int(trials[name]["trial"]))
            files_of_name[phase_and_trial].append(files[name])
        else:
            files_of_name[name].append(files[name])
    file_of_case: dict[str, Path] = {}
    unused = {files[name] for name in candidates}
    for case in cases:
        names = dict.fromkeys((case.case, image_of_case[case.case], (case.phase, case.trial)))
        case_files = sorted(file for name in names for file in files_of_name.get(name, ()))
        if len(case_files) > 1:
            raise InputFileError(
                f"{case_files[0]} and {case_files[1]} are both of case {case.case!r}",
                hint="remove one",
                path=case_files[1],
            )
        if case_files:
            file_of_case[case.case] = case_files[0]
        unused.difference_update(case_files)
    if not file_of_case:
        first_file = min(files.values())
        first_case = cases[0]
        raise InputFileError(
            f"{folder}: none of its {len(files)} files is named after an image of the study (first: "
            f"{first_file.name})",
            hint=f"name them {first_case.case}{first_file.suffix}, or by phase and trial as in "
            f"p{first_case.phase}_t{first_case.trial or 0}{first_file.suffix}",
            value=[file.name for file in sorted(files.values())],
            path=folder,
        )
    if unused:
        verb = "is" if len(unused) == 1 else "are"
        warn(
            f"{folder}: {len(unused)} of {len(files)} files {verb} of no image of the study (first: "
            f"{min(unused).name})",
            value=[file.name for file in sorted(unused)],
            path=folder,
        )
    return file_of_case


def _read_map_cut_to_image_if_padded(file: Path, image_shape: tuple[int, int], *, padded: bool) -> np.ndarray:
    """Read a map; with `padded`, cut the image out of a map of the image padded to a square."""
    saliency = read_map(file)
    if padded:
        return _unpadded_if_square(saliency, image_shape)
    return saliency


def _read_mask_of_image_size_as_map(
    file: Path, image_shape: tuple[int, int], *, may_be_square_of_other_size: bool = False
) -> np.ndarray:
    """Read a mask as a map of 0 and 1.

    It must have the image's size, as stretching would move its edges. With `may_be_square_of_other_size` it
    may also be a square of another size, which it keeps.
    """
    mask = read_mask(file)
    is_square = mask.shape[0] == mask.shape[1]
    if mask.shape != image_shape and not (may_be_square_of_other_size and is_square):
        raise InputFileError(
            f"{file}: the mask is {mask.shape[0]} x {mask.shape[1]} (height x width), its image "
            f"{image_shape[0]} x {image_shape[1]}",
            value=mask.shape,
            path=file,
        )
    return mask.astype(np.float64)


def _read_lung_hull_as_map(file: Path, shape: tuple[int, int], *, clean: bool) -> np.ndarray:
    """Read a mask of the lungs and return its convex hull as a map of 0 and 1.

    A square mask of another size than the image lies on the image padded to a square, as networks that
    segment lungs see it; the hull is drawn on the square and then cut to the image.
    """
    mask = _read_mask_of_image_size_as_map(file, shape, may_be_square_of_other_size=True) > 0
    if clean:
        mask = large_regions_off_border_mask(mask)
    hull = convex_hull(mask)
    if hull.shape != shape:
        hull = mask_from_padded_square(hull, shape)
    return hull.astype(np.float64)


def _unpadded_if_square(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Cut the image out of a square map of the image padded to a square (bilinear).

    A map that has the image's size, is not square or holds NaN or infinity is returned as it is.
    """
    if saliency.shape == shape or saliency.shape[0] != saliency.shape[1] or not is_finite(saliency):
        return saliency
    height, width = shape
    side = max(shape)
    first_row = (side - height) // 2
    first_col = (side - width) // 2
    square = resize_in_float64(saliency, (side, side))
    return square[first_row : first_row + height, first_col : first_col + width]


def _read_class_maps_mixed_into_one(
    file: Path, unpadded_shape: tuple[int, int], *, mixing_rule: str, padded: bool
) -> np.ndarray:
    """Read the maps of several classes in an .npz, and return one map mixed of them.

    The class without a finding is the one named "no finding", whatever its capitals and blanks; it is the
    first class if the file has no names. Where a map holds NaN or infinity, the mixed map is NaN.
    """
    arrays = read_npz(file, ("maps", "probs", "classes"))
    if "maps" not in arrays or "probs" not in arrays:
        raise InputFileError(
            f"{file}: needs the arrays 'maps' and 'probs' (arrays: {quoted(arrays) or 'none'})",
            value=list(arrays),
            path=file,
        )
    maps = arrays["maps"]
    probs = arrays["probs"]
    no_finding_index: int | None = 0
    if "classes" in arrays:
        names = [_letters_in_lower_case(name) for name in arrays["classes"].ravel()]
        without_finding = [i for i, name in enumerate(names) if name == _NO_FINDING]
        if len(names) != len(probs) or len(without_finding) > 1:
            raise InputFileError(
                f"{file}: 'classes' must name each of {len(probs)} maps once", column="classes", path=file
            )
        no_finding_index = without_finding[0] if without_finding else None
    if maps.dtype.kind == "f" and not np.isfinite(maps).all():
        return np.full(maps.shape[1:], np.nan)
    try:
        mixed = mixed_map_of_classes(maps, probs, rule=mixing_rule, no_finding=no_finding_index)
    except SalstatsError as error:
        raise InputFileError(
            f"{file}: ", error.message, column=error.option, value=error.value, path=file
        ) from error
    if padded:
        return _unpadded_if_square(mixed, unpadded_shape)
    return mixed


def _letters_in_lower_case(name: Any) -> str:
    """Return the letters of a class's name in lower case."""
    text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    return _NOT_LETTERS.sub("", text.lower())
