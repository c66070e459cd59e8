"""What methods answer where their maps and masks are files by case."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from salstats.checks import and_more
from salstats.errors import InputFileError, SalstatsError, warn
from salstats.files.paths import check_folder
from salstats.images.masks import Rle
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MAP_SUFFIXES, find_case_files, read_map, read_rle
from salstats.study import HUMAN, Content, Prediction, Series

NAN = float("nan")
#: One folder or file, or several by method[:model[:seed]].
Sources = PathLike | Mapping[str, PathLike]


def files_in_folders(root: Path, suffixes: Sequence[str], layout: str) -> list[Path]:
    """The files ROOT/FOLDER/NAME of some endings, sorted; what else may hold such is said.

    Hidden files are left out, and so are links to folders, which may lead out of the root.
    """
    check_folder(root)
    top = [place for place in root.iterdir() if not place.name.startswith(".")]
    folders = [place for place in top if place.is_dir() and not place.is_symlink()]
    inner = [file for place in folders for file in place.iterdir() if not file.name.startswith(".")]
    found = sorted(file for file in inner if file.suffix.lower() in suffixes and not file.is_dir())
    if not found:
        raise InputFileError(f"{root}: holds no {layout} (links to folders are not searched)")
    others = [place for place in top if place.is_dir() or place.suffix.lower() in suffixes]
    passed = sorted({*inner, *others} - {*found, *folders})
    if passed:
        more = and_more(passed)
        warn(f"{passed[0]}{more}: left out; images are {layout}, and links to folders are not searched")
    return found


def find_maps(
    given: Mapping[Series, PathLike], cases: Collection[str], folder: Path
) -> dict[Series, dict[str, Path]]:
    """The map of each case for every series, of the folders given."""
    found = {series: find_case_files(place, MAP_SUFFIXES) for series, place in given.items()}
    for series, files in found.items():
        check_cases(files, cases, given[series], folder)
    return found


def check_common(
    found: Collection[str], cases: Collection[str], place: PathLike, reference: PathLike
) -> None:
    """Raise where no name found is that of a case; nothing is wrong where there are none."""
    if found and cases and not {*found} & {*cases}:
        raise InputFileError(
            f"{place} and {reference} have no case in common ({min(found)!r} here, {min(cases)!r} there)"
        )


def check_cases(found: Collection[str], cases: Collection[str], place: PathLike, folder: PathLike) -> None:
    """Raise where no name found is that of a case, warn where some are not."""
    check_common(found, cases, place, folder)
    unknown = sorted({*found} - {*cases})
    if unknown:
        warn(f"{place}: case {unknown[0]!r}{and_more(unknown)} has no image in {folder} and is left out")


def prediction(
    task: str,
    series: Series,
    shape: tuple[int, int],
    source: object,
    *,
    map_file: Path | None = None,
    mask: Path | Rle | None = None,
    prob: float = NAN,
    label: float = NAN,
) -> Prediction:
    """An answer of files that are read when it is scored; `source` names what is in no file of its own."""
    own = next((file for file in (map_file, mask) if isinstance(file, Path)), source)
    read = partial(_answer, _anywhere(map_file), _anywhere(mask), prob, label, shape, str(own))
    return Prediction(task, series, read, str(own), has_saliency=map_file is not None)


def _anywhere(held: Any) -> Any:
    """A path that another process, working in another folder, finds too; anything else as it is."""
    return held.absolute() if isinstance(held, Path) else held


def _answer(
    map_file: Path | None,
    mask: Path | Rle | None,
    prob: float,
    label: float,
    shape: tuple[int, int],
    source: str,
) -> Content:
    """The map and the mask, which must be of the image's size."""
    made = read_rle(mask) if isinstance(mask, Path) else mask
    if made is not None and made.shape != shape:
        raise InputFileError(
            f"{mask if isinstance(mask, Path) else source}: the mask is {made.shape[0]} x {made.shape[1]} "
            f"(height x width), its image {shape[0]} x {shape[1]}"
        )
    saliency = None if map_file is None else read_map(map_file)
    return Content(saliency=saliency, mask=made, prob=prob, label=label, shape=shape)


def series_sources(given: Sources | None, method: str, option: str) -> dict[Series, PathLike]:
    """The places of maps or masks by series; one place alone is called `method`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {series_of(method, "method"): given}
    if not given:
        raise SalstatsError(f"{option}= names no method")
    return {series_of(name, option): place for name, place in given.items()}


def series_of(name: str, option: str) -> Series:
    """The series that method[:model[:seed]] names."""
    parts = str(name).split(":")
    if len(parts) > 3 or not all(part.strip() for part in parts):
        raise SalstatsError(f"{option}={name!r} must be method, method:model or method:model:seed")
    if parts[0] == HUMAN:
        raise SalstatsError(
            f"{option}={name!r}: {HUMAN!r} is what people are called, whose files have options of "
            "their own; name the method"
        )
    return Series(*parts)
