"""The maps that are compared with gaze: which file is of which image, and how it becomes a map."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from salstats.checks import (
    PIXEL,
    InputFileError,
    SalstatsError,
    check_choice,
    check_size,
    quoted,
    warn,
)
from salstats.files.inputs import opened
from salstats.images.hulls import convex_hull, from_padded_square, inner_regions
from salstats.images.map_steps import may_cover, resize_in_range
from salstats.images.maps import is_finite
from salstats.images.mixing import RULES, mix_classes
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MAP_SUFFIXES, MASK_SUFFIXES, find_case_files, read_map, read_mask
from salstats.readers.series_names import Sources, sources
from salstats.study import Case, Content, Prediction, Series, shape_of

#: What the left-out reader and the hull of the lungs are called.
INTEROBSERVER, CONVEX = "interobserver", "convex"
MIXINGS = RULES
#: What maps are called where nobody says it.
METHOD = "saliency"
#: A file named after the image's place in the study, and where it is one of several, whose it is.
_TRIAL = re.compile(r"p(\d+)_t(\d+)(?:_(\w+))?")
#: The same in the study's own folders: phase_1_0.98/0.npy, and 0_am1.npy, beside pictures such as 0or.png.
_PHASE, _IN_PHASE = re.compile(r"phase_(\d+)(?:_.*)?"), re.compile(r"(\d+)(or|_\w+)?")
_NO_FINDING, _NOT_LETTERS = "nofinding", re.compile("[^a-z]")


@dataclass(frozen=True)
class MapPlaces:
    """Where the maps of a study of gaze lie and how they become maps; see `read_gaze` for each."""

    maps: Sources | None
    masks: Sources | None
    class_maps: Sources | None
    lungs: PathLike | None
    clean_lungs: bool
    mixing: str | Sequence[str]
    padded: bool | None

    def __post_init__(self) -> None:
        for rule in self.rules:
            check_choice(rule, MIXINGS, "mixing")
        if not self.rules:
            raise InputFileError(f"mixing= names no rule; choose of {', '.join(MIXINGS)}")
        if self.class_maps is None and self.rules != MIXINGS:
            raise SalstatsError("mixing= says how class_maps= are mixed; none are given")
        if self.padded and self.maps is None and self.class_maps is None:
            raise SalstatsError("padded= says how maps= and class_maps= lie; neither is given")
        if not self.clean_lungs and self.lungs is None:
            raise SalstatsError(
                "clean_lungs=False (--no-clean-lungs) says what is done to what lungs= names; it is not given"
            )

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of mixing, each once."""
        return tuple(dict.fromkeys((self.mixing,) if isinstance(self.mixing, str) else self.mixing))


def given_maps(
    cases: Sequence[Case], dicoms: Mapping[str, str], places: MapPlaces
) -> dict[Series, dict[str, Prediction]]:
    """The maps of each series by case."""
    found: dict[Series, dict[str, Prediction]] = {}
    shapes = {case.case: shape_of(case) for case in cases}

    def add(series: Series, option: str, made: dict[str, Prediction]) -> None:
        names = {(s.name, s.model, s.seed) for s in found}
        if (series.name, series.model, series.seed) in names:
            raise SalstatsError(f"{option}= names {str(series)!r}, which is another series' name already")
        found[series] = made

    def files_of(series: Series, folder: PathLike, suffixes: Sequence[str]) -> dict[str, Path]:
        return _files_of(Path(folder), suffixes, series.method, cases, dicoms)

    for series, folder in _sources(places.maps, "maps").items():
        files = files_of(series, folder, MAP_SUFFIXES)
        add(series, "maps", _made(series, files, shapes, partial(_read_saliency, padded=bool(places.padded))))
    for series, folder in _sources(places.class_maps, "class_maps").items():
        files = files_of(series, folder, (".npz",))
        for rule in places.rules:
            mixed = replace(series, mixing=rule)
            read = partial(_read_mixed, rule=rule, padded=bool(places.padded))
            add(mixed, "class_maps", _made(mixed, files, shapes, read))
    _say_stretched(found, cases, places.padded)
    for series, folder in _sources(places.masks, "masks").items():
        add(series, "masks", _made(series, files_of(series, folder, MASK_SUFFIXES), shapes, _read_marks))
    if places.lungs is not None:
        hull = Series(CONVEX)
        read = partial(_read_hull, clean=places.clean_lungs)
        add(hull, "lungs", _made(hull, files_of(hull, places.lungs, MASK_SUFFIXES), shapes, read))
    return found


def _say_stretched(
    found: Mapping[Series, Mapping[str, Prediction]], cases: Sequence[Case], padded: bool | None
) -> None:
    """Warn of methods whose maps will be stretched out of proportion, by the first map of each.

    Square maps only where nobody said how they lie. A map that cannot be read is said where it is scored.
    """
    oblong_first = sorted(cases, key=lambda case: len(set(shape_of(case))) == 1)
    square, other = {}, {}
    for series, given in found.items():
        case = next(case for case in oblong_first if case.case in given)
        with suppress(InputFileError):
            shape = shape_of(case)
            height, width = np.shape(np.asarray(given[case.case].read().saliency))
            sizes = f"{height} x {width} to {shape[0]} x {shape[1]}"
            if height != width and not may_cover((height, width), shape):
                other[series.name] = sizes
            elif height == width and shape[0] != shape[1] and padded is None:
                square[series.name] = sizes
    for stretched, what, advice in (
        (
            square,
            "square maps are stretched to oblong images",
            "padded=True (--padded) is right where they are of the image padded to a square, padded=False "
            "(--no-padded) says that the image was stretched",
        ),
        (
            other,
            "maps that are neither square nor of their image's proportions are stretched to it",
            "make them of the whole image",
        ),
    ):
        if stretched:
            warn(f"{', '.join(stretched)}: {what} ({next(iter(stretched.values()))}); {advice}")


def _sources(given: Sources | None, option: str) -> dict[Series, PathLike]:
    """The folders of an option by series."""
    found = {}
    for named, folder in sources(given, METHOD, option).items():
        if named.method == INTEROBSERVER:
            raise SalstatsError(
                f"{option}={str(named)!r}: {INTEROBSERVER!r} is what the reader left out is called; name it "
                "otherwise"
            )
        found[Series(named.method, named.model, named.seed)] = folder
    return found


def _made(
    series: Series,
    files: Mapping[str, Path],
    shapes: Mapping[str, tuple[int, int]],
    read: Callable[[Path, tuple[int, int]], np.ndarray],
) -> dict[str, Prediction]:
    """The maps of one series by case."""
    # absolute: a process that works on it later may be in another folder
    return {
        case: Prediction("", series, partial(_content, read, file.absolute(), shapes[case]), str(file))
        for case, file in files.items()
    }


def _content(
    read: Callable[[Path, tuple[int, int]], np.ndarray], file: Path, shape: tuple[int, int]
) -> Content:
    """The map of a file, brought to an image of some shape as the series has it."""
    return Content(saliency=read(file, shape))


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
    places = {file: place for name, file in files.items() if (place := _TRIAL.fullmatch(name)) is not None}
    whose = method if any(place[3] == method for place in places.values()) else None
    by_trial: dict[tuple[int, int], Path] = {}
    for file, place in places.items():
        if place[3] == whose:
            key = int(place[1]), int(place[2])
            if key in by_trial:
                raise InputFileError(f"{by_trial[key]} and {file} are of one image; remove one")
            by_trial[key] = file
    found: dict[str, Path] = {}
    for case in cases:
        named = [files[name] for name in dict.fromkeys((case.case, dicoms[case.case])) if name in files]
        if case.trial is not None and (case.phase, case.trial) in by_trial:
            named.append(by_trial[case.phase, case.trial])
        if len(named) > 1:
            raise InputFileError(f"{named[0]} and {named[1]} are both of case {case.case!r}; remove one")
        if named:
            found[case.case] = named[0]
    others = {file for file, place in places.items() if place[3] != whose}
    lost = sorted(set(files.values()) - set(found.values()) - (others if found else set()))
    if not found:
        raise InputFileError(
            f"{folder}: none of its {len(files)} files is named after an image of the study (first: "
            f"{lost[0].name}); name them {cases[0].case}{lost[0].suffix}, or by phase and trial as in "
            f"p{cases[0].phase}_t{cases[0].trial or 0}{lost[0].suffix}"
        )
    if lost:
        warn(
            f"{folder}: {len(lost)} of {len(files)} files {'is' if len(lost) == 1 else 'are'} of no image of "
            f"the study (first: {lost[0].name})"
        )
    return found


def _read_saliency(file: Path, shape: tuple[int, int], *, padded: bool) -> np.ndarray:
    """A map as its file has it, or, of a padded square, the part that is the image."""
    return _unpadded(read_map(file), shape) if padded else read_map(file)


def _read_marks(file: Path, shape: tuple[int, int]) -> np.ndarray:
    """A mask as a map of 0 and 1."""
    mask = read_mask(file)
    _check_size(file, mask, shape)
    return mask.astype(np.float64)


def _check_size(file: Path, mask: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise where a mask has not the image's size: stretching would move its edges."""
    if mask.shape != shape:
        raise InputFileError(
            f"{file}: the mask is {mask.shape[0]} x {mask.shape[1]} (height x width), its image "
            f"{shape[0]} x {shape[1]}"
        )


def _read_hull(file: Path, shape: tuple[int, int], *, clean: bool) -> np.ndarray:
    """The convex hull of the lungs as a map of 0 and 1.

    A square mask of another size than the image lies on the image padded to a square, as networks that
    segment lungs have it; its hull is taken there, and then brought to the image.
    """
    mask = read_mask(file)
    if mask.shape != shape and mask.shape[0] != mask.shape[1]:
        _check_size(file, mask, shape)
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
    """One map of those of several classes."""
    maps, probs, no_finding = _read_classes(file)
    if not is_finite(maps):
        return np.full(maps.shape[1:], np.nan)
    try:
        mixed = mix_classes(maps, probs, rule=rule, no_finding=no_finding)
    except SalstatsError as error:
        raise InputFileError(f"{file}: {error}") from error
    return _unpadded(mixed, shape) if padded else mixed


def _read_classes(file: Path) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Maps (C, m, n) and probabilities (C,) of an .npz, and which class is that of no finding.

    That is the one called so, None where there are names without it, and the first where there are none.
    """
    # opened here, since NumPy leaves a damaged file open
    with opened(file) as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                # an archive of a few bytes can unpack to any number of them
                check_size(sum(info.file_size for info in archive.zip.infolist()), f"{file}: its content")
                held = {name: archive[name] for name in ("maps", "probs", "classes") if name in archive.files}
        except InputFileError:
            raise
        # what NumPy and zipfile raise on damaged files is not all of one kind
        except Exception as error:
            said = " ".join(str(error).split())[:200]
            raise InputFileError(f"{file}: not an .npz of arrays, or damaged ({said})") from error
    for name in ("maps", "probs"):
        if name not in held:
            raise InputFileError(f"{file}: has no array {name!r} (arrays: {quoted(held) or 'none'})")
        if not isinstance(held[name], np.ndarray) or held[name].dtype.kind not in "biuf":
            raise InputFileError(f"{file}: {name!r} is no array of numbers")
    check_size(held["maps"].size * PIXEL, f"{file}: its maps of shape {held['maps'].shape}")
    maps, probs = held["maps"].astype(np.float64), held["probs"].astype(np.float64)
    if maps.ndim != 3 or not maps.size or probs.shape != maps.shape[:1]:
        raise InputFileError(
            f"{file}: 'maps' has shape {maps.shape} and 'probs' {probs.shape}; wanted are (classes, height, "
            "width) and (classes,)"
        )
    if not ((probs >= 0) & (probs <= 1)).all():
        raise InputFileError(f"{file}: 'probs' must lie between 0 and 1")
    if "classes" not in held:
        return maps, probs, 0
    names = [
        n.decode(errors="replace") if isinstance(n, bytes) else str(n) for n in np.ravel(held["classes"])
    ]
    if len(names) != len(probs):
        raise InputFileError(f"{file}: {len(names)} 'classes' for {len(probs)} maps")
    none = [i for i, name in enumerate(names) if _NOT_LETTERS.sub("", name.lower()) == _NO_FINDING]
    if len(none) > 1:
        raise InputFileError(f"{file}: 'classes' names {names[none[1]]!r} twice, at {none[0]} and {none[1]}")
    return maps, probs, none[0] if none else None
