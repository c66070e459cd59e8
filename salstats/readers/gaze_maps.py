"""The maps that are compared with gaze: which file is of which image, and how it becomes a map."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from salstats.checks import check_choice, quoted
from salstats.errors import InputFileError, SalstatsError, warn
from salstats.images.hulls import convex_hull, from_padded_square, inner_regions
from salstats.images.map_steps import may_cover, resize_in_range
from salstats.images.maps import is_finite
from salstats.images.mixing import MIXING_RULES, mix_classes
from salstats.readers.cells import PathLike
from salstats.readers.map_files import (
    MAP_SUFFIXES,
    MASK_SUFFIXES,
    find_case_files,
    read_map,
    read_mask,
    read_npz,
)
from salstats.readers.predictions import Sources, series_sources
from salstats.study import Case, Content, Prediction, Series, shape_of

#: What the left-out reader and the hull of the lungs are called.
INTEROBSERVER, CONVEX = "interobserver", "convex"
MIXINGS = MIXING_RULES
#: What maps are called where nobody says it.
METHOD = "saliency"
#: A file named after the image's place in the study, and where it is one of several, whose it is.
_TRIAL = re.compile(r"p(\d+)_t(\d+)(?:_(\w+))?")
#: The same in the study's own folders: phase_1_0.98/0.npy, and 0_am1.npy, beside pictures such as 0or.png.
_PHASE, _IN_PHASE = re.compile(r"phase_(\d+)(?:_.*)?"), re.compile(r"(\d+)(or|_\w+)?")
_NO_FINDING, _NOT_LETTERS = "nofinding", re.compile("[^a-z]")


class MapSource(NamedTuple):
    """Where the maps of a series lie, and what makes one of a file and the shape of its image."""

    folder: PathLike
    suffixes: Sequence[str]
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
    """The series of a study of gaze by their options; see `read_gaze` for each."""
    rules = dict.fromkeys([mixing] if isinstance(mixing, str) else mixing)
    for rule in rules:
        check_choice(rule, MIXINGS, "mixing")
    hull = None if lungs is None else {CONVEX: lungs}
    given = [
        *_given(maps, "maps", MAP_SUFFIXES, partial(_read_saliency, padded=padded)),
        *(
            (
                replace(series, mixing=rule),
                place._replace(read=partial(_read_mixed, rule=rule, padded=padded)),
            )
            for series, place in _given(class_maps, "class_maps", (".npz",), _read_mixed)
            for rule in rules
        ),
        *_given(masks, "masks", MASK_SUFFIXES, _read_marks),
        *_given(hull, "lungs", MASK_SUFFIXES, partial(_read_hull, clean=clean_lungs)),
    ]
    names = [(series.name, series.model, series.seed) for series, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise SalstatsError(f"{name[0]!r} is what another series is called; name the maps otherwise")
    return dict(given)


def _given(
    places: Sources | None, option: str, suffixes: Sequence[str], read: Callable[..., np.ndarray]
) -> Iterable[tuple[Series, MapSource]]:
    """The series that an option names."""
    named = series_sources(places, METHOD, option)
    if any(series.method == INTEROBSERVER for series in named):
        raise SalstatsError(
            f"{option}= names {INTEROBSERVER!r}, which is what the reader left out is called; rename it"
        )
    return [(series, MapSource(folder, suffixes, read)) for series, folder in named.items()]


def find_maps(
    given: Mapping[Series, MapSource], cases: Sequence[Case], dicoms: Mapping[str, str], padded: bool | None
) -> dict[Series, dict[str, Prediction]]:
    """The maps of each series by case; `dicoms` is the image of each case."""
    found: dict[Series, dict[str, Prediction]] = {}
    shapes = {case.case: shape_of(case) for case in cases}
    for series, (folder, suffixes, read) in given.items():
        files = _files_of(Path(folder), suffixes, series.method, cases, dicoms)
        found[series] = {
            # absolute: a process that works on it later may be in another folder
            case: Prediction("", series, partial(_content, read, file.absolute(), shapes[case]), str(file))
            for case, file in files.items()
        }
    _say_stretched(found, shapes, padded)
    return found


def _content(
    read: Callable[[Path, tuple[int, int]], np.ndarray], file: Path, shape: tuple[int, int]
) -> Content:
    """The map of a file, brought to an image of some shape as the series has it."""
    return Content(saliency=read(file, shape))


def _say_stretched(
    found: Mapping[Series, Mapping[str, Prediction]],
    shapes: Mapping[str, tuple[int, int]],
    padded: bool | None,
) -> None:
    """Warn of methods whose maps will be stretched out of proportion, by the first map of each.

    Square maps only where nobody said how they lie. A map that cannot be read is said where it is scored.
    """
    square, other = {}, {}
    oblong_first = sorted(shapes, key=lambda case: len(set(shapes[case])) == 1)
    for series, by_case in found.items():
        case = next(case for case in oblong_first if case in by_case)
        image = shapes[case]
        with suppress(InputFileError):
            height, width = np.shape(np.asarray(by_case[case].read().saliency))
            sizes = f"{height} x {width} to {image[0]} x {image[1]}"
            if height != width and not may_cover((height, width), image):
                other[series.name] = sizes
            elif height == width and image[0] != image[1] and padded is None:
                square[series.name] = sizes
    for stretched, what in (
        (
            square,
            "square maps are stretched to oblong images ({}); padded=True (--padded) is right where they are "
            "of the image padded to a square, padded=False (--no-padded) says that the image was stretched",
        ),
        (
            other,
            "maps that are neither square nor of their image's proportions are stretched to it ({}); make "
            "them of the whole image",
        ),
    ):
        if stretched:
            warn(f"{', '.join(stretched)}: {what.format(next(iter(stretched.values())))}")


def _name_in_study(file: Path, cases: Container[str]) -> str | None:
    """A file's name, as p1_t0 where it lies in one of the study's own folders; None for a picture."""
    phase, trial = _PHASE.fullmatch(file.absolute().parent.name), _IN_PHASE.fullmatch(file.stem)
    if phase is None or trial is None or file.stem in cases:
        return file.stem
    if file.suffix != ".npy" and file.with_name(f"{trial[1]}.npy").exists():
        return None
    return f"p{phase[1]}_t{trial[1]}{trial[2] or ''}"


def _files_of(
    folder: Path,
    suffixes: Sequence[str],
    method: str,
    cases: Sequence[Case],
    dicoms: Mapping[str, str],
) -> dict[str, Path]:
    """The file of each case: named after it, its image, or its phase and trial (p1_t0).

    Where files are named p1_t0_METHOD, too, a method that is among these has them, and any other the rest.
    """
    known = {*dicoms, *dicoms.values()}
    files = find_case_files(folder, suffixes, partial(_name_in_study, cases=known))
    trials = {name: place for name in files if (place := _TRIAL.fullmatch(name)) is not None}
    whose = method if any(place[3] == method for place in trials.values()) else None
    others = {name for name, place in trials.items() if place[3] != whose}
    #: A case, an image, or phase and trial -> the files that are called so.
    called: dict[object, list[Path]] = defaultdict(list)
    for name in files.keys() - others:
        place = None if name in known else trials.get(name)
        called[name if place is None else (int(place[1]), int(place[2]))].append(files[name])
    found: dict[str, Path] = {}
    lost = {files[name] for name in files.keys() - others}
    for case in cases:
        names = dict.fromkeys((case.case, dicoms[case.case], (case.phase, case.trial)))
        own = sorted(file for name in names for file in called.get(name, ()))
        if len(own) > 1:
            raise InputFileError(f"{own[0]} and {own[1]} are both of case {case.case!r}; remove one")
        if own:
            found[case.case] = own[0]
        lost -= {*own}
    if not found:
        first, named = min(files.values()), cases[0]
        raise InputFileError(
            f"{folder}: none of its {len(files)} files is named after an image of the study (first: "
            f"{first.name}); name them {named.case}{first.suffix}, or by phase and trial as in "
            f"p{named.phase}_t{named.trial or 0}{first.suffix}"
        )
    if lost:
        warn(
            f"{folder}: {len(lost)} of {len(files)} files {'is' if len(lost) == 1 else 'are'} of no image of "
            f"the study (first: {min(lost).name})"
        )
    return found


def _read_saliency(file: Path, shape: tuple[int, int], *, padded: bool) -> np.ndarray:
    """A map as its file has it, or, of a padded square, the part that is the image."""
    return _unpadded(read_map(file), shape) if padded else read_map(file)


def _read_marks(file: Path, shape: tuple[int, int], *, square: bool = False) -> np.ndarray:
    """A mask as a map of 0 and 1; of the image's size, as stretching would move its edges, or a square."""
    mask = read_mask(file)
    if mask.shape != shape and not (square and mask.shape[0] == mask.shape[1]):
        raise InputFileError(
            f"{file}: the mask is {mask.shape[0]} x {mask.shape[1]} (height x width), its image "
            f"{shape[0]} x {shape[1]}"
        )
    return mask.astype(np.float64)


def _read_hull(file: Path, shape: tuple[int, int], *, clean: bool) -> np.ndarray:
    """The convex hull of the lungs as a map of 0 and 1.

    A square mask of another size than the image lies on the image padded to a square, as networks that
    segment lungs have it; its hull is taken there, and then brought to the image.
    """
    mask = _read_marks(file, shape, square=True) > 0
    hull = convex_hull(inner_regions(mask) if clean else mask)
    return (hull if hull.shape == shape else from_padded_square(hull, shape)).astype(np.float64)


def _unpadded(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The image's part of a square map of the image padded to a square (bilinear), any other as is."""
    if saliency.shape == shape or saliency.shape[0] != saliency.shape[1] or not is_finite(saliency):
        return saliency
    side = max(shape)
    top, left = ((side - length) // 2 for length in shape)
    return resize_in_range(saliency, (side, side))[top : top + shape[0], left : left + shape[1]]


def _read_mixed(file: Path, shape: tuple[int, int], *, rule: str, padded: bool) -> np.ndarray:
    """One map of those of several classes in an .npz.

    The class of no finding is the one called so, none where there are names without it, and the first where
    there are none.
    """
    held = read_npz(file, ("maps", "probs", "classes"))
    if "maps" not in held or "probs" not in held:
        raise InputFileError(
            f"{file}: needs the arrays 'maps' and 'probs' (arrays: {quoted(held) or 'none'})"
        )
    none: list[int] = [0]
    if "classes" in held:
        names = [n.decode("latin-1") if isinstance(n, bytes) else str(n) for n in held["classes"].ravel()]
        none = [i for i, n in enumerate(names) if _NOT_LETTERS.sub("", n.lower()) == _NO_FINDING]
        if len(names) != len(held["probs"]) or len(none) > 1:
            raise InputFileError(f"{file}: 'classes' must name each of {len(held['probs'])} maps once")
    if held["maps"].dtype.kind == "f" and not np.isfinite(held["maps"]).all():
        return np.full(held["maps"].shape[1:], np.nan)
    try:
        mixed = mix_classes(held["maps"], held["probs"], rule=rule, no_finding=none[0] if none else None)
    except SalstatsError as error:
        raise InputFileError(f"{file}: {error}") from error
    return _unpadded(mixed, shape) if padded else mixed
