"""Predictions of methods whose maps and masks are files of cases, and the names of their series."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from salstats.checks import and_n_more_after_first
from salstats.errors import InputFileError, SalstatsError, Setting, warn
from salstats.files.paths import check_is_existing_folder
from salstats.frames import seed_without_decimal_zero
from salstats.images.masks import Rle
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MAP_SUFFIXES, find_case_files, read_map, read_rle
from salstats.study import HUMAN, Content, Prediction, Series

NAN = float("nan")
#: One folder or file, or several by their names, method[:model[:seed]].
Sources = PathLike | Mapping[str, PathLike]


def images_in_folders(root: Path, suffixes: Sequence[str], layout: str) -> list[Path]:
    """List the images ROOT/FOLDER/NAME, files of these endings, sorted; warn of other files and folders.

    Hidden files are left out, and so are links to folders, which may lead out of the root. `layout` describes
    the images in messages.
    """
    check_is_existing_folder(root)
    entries = [path for path in root.iterdir() if not path.name.startswith(".")]
    folders = [path for path in entries if path.is_dir() and not path.is_symlink()]
    contents = [file for folder in folders for file in folder.iterdir() if not file.name.startswith(".")]
    images = sorted(file for file in contents if file.suffix.lower() in suffixes and not file.is_dir())
    if not images:
        raise InputFileError(
            f"{root}: holds no {layout} (links to folders are not searched)", choices=[layout], path=root
        )
    # images in the root itself, and links to folders, which may hold some
    possible = [path for path in entries if path.is_dir() or path.suffix.lower() in suffixes]
    excluded = sorted({*contents, *possible} - {*images, *folders})
    if excluded:
        warn(
            f"{excluded[0]}{and_n_more_after_first(excluded)}: left out",
            hint=f"images are {layout}, and links to folders are not searched",
            value=excluded,
            path=excluded[0],
        )
    return images


def find_maps_by_series_and_case(
    map_folders: Mapping[Series, PathLike], cases: Collection[str], case_folder: Path
) -> dict[Series, dict[str, Path]]:
    """Return the files of each series' maps by case; raise where a series has no map of the `cases`.

    Warn of maps of other cases, which stay in the result. `case_folder` names the cases' folder in messages.
    """
    files_of_series = {
        series: find_case_files(map_folder, MAP_SUFFIXES) for series, map_folder in map_folders.items()
    }
    for series, files in files_of_series.items():
        check_cases_and_warn_of_unknown(files, cases, map_folders[series], case_folder)
    return files_of_series


def check_any_case_in_common(
    names: Collection[str], cases: Collection[str], source: PathLike, reference: PathLike
) -> None:
    """Raise where no name in a source is a case of the reference, unless one of the two is empty."""
    if names and cases and not {*names} & {*cases}:
        source_names = sorted(names)[:2]
        reference_names = sorted(cases)[:2]
        raise InputFileError(
            f"{source} and {reference} have no case in common ({' and '.join(map(repr, source_names))} here, "
            f"{' and '.join(map(repr, reference_names))} there)",
            hint="files of a case have its name; where names differ, a table maps.csv (case, task, method, "
            "path) in a folder of maps says which file is of which case",
            column="case",
            value=source_names[0],
            path=str(source),
        )


def check_cases_and_warn_of_unknown(
    names: Collection[str], cases: Collection[str], source: PathLike, folder: PathLike
) -> None:
    """Raise where no name in a source is a case; warn where some are not."""
    check_any_case_in_common(names, cases, source, folder)
    unknown = sorted({*names} - {*cases})
    if unknown:
        warn(
            f"{source}: case {unknown[0]!r}{and_n_more_after_first(unknown)} has no image in {folder} "
            "and is left out",
            column="case",
            value=unknown,
            path=str(source),
        )


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
    colormap: str | None = None,
) -> Prediction:
    """Make a prediction whose files are read when it is scored.

    `source` is what messages name where there is no file: for a prediction without files, and for a mask that
    comes as run-length code. `colormap` is the colour map of a map that is a colour picture, see `read_map`.
    """
    name = str(source)
    if map_file is not None:
        name = str(map_file)
    elif isinstance(mask, Path):
        name = str(mask)
    read = partial(
        _read_content,
        _absolute_if_path(map_file),
        _absolute_if_path(mask),
        prob,
        label,
        shape,
        str(source),
        colormap,
    )
    return Prediction(task, series, read, name, has_saliency=map_file is not None)


def _absolute_if_path(file_or_content: Any) -> Any:
    """Return a path as absolute, so that a process with another working directory finds it."""
    if isinstance(file_or_content, Path):
        return file_or_content.absolute()
    return file_or_content


def _read_content(
    map_file: Path | None,
    mask: Path | Rle | None,
    prob: float,
    label: float,
    shape: tuple[int, int],
    source: str,
    colormap: str | None,
) -> Content:
    """Read the map and the mask; raise where the mask does not have the image's (height, width) `shape`."""
    mask_file = None
    if isinstance(mask, Path):
        mask_file = mask
        source = str(mask_file)
        mask = read_rle(mask_file)
    if mask is not None and mask.shape != shape:
        raise InputFileError(
            f"{source}: the mask is {mask.shape[0]} x {mask.shape[1]} (height x width), its image "
            f"{shape[0]} x {shape[1]}",
            value=mask.shape,
            path=mask_file,
        )
    saliency = None if map_file is None else read_map(map_file, colormap=colormap)
    return Content(saliency=saliency, mask=mask, prob=prob, label=label, shape=shape)


def source_by_series(sources: Sources | None, method: str, option: str) -> dict[Series, PathLike]:
    """Return the folder or file of maps or masks of each series; a single path has the series `method`."""
    if sources is None:
        return {}
    if not isinstance(sources, Mapping):
        return {series_of_method_model_seed_text(method, "method"): sources}
    if not sources:
        raise SalstatsError(Setting(option), " names no method")
    return {series_of_method_model_seed_text(name, option): path for name, path in sources.items()}


def series_of_method_model_seed_text(series_text: str, option: str) -> Series:
    """Return the series of a text method[:model[:seed]]; raise for another form, and for `human`."""
    fields = str(series_text).split(":")
    if len(fields) > 3 or not all(field.strip() for field in fields):
        raise SalstatsError(
            Setting(option, series_text), " must be method, method:model or method:model:seed"
        )
    if fields[0] == HUMAN:
        raise SalstatsError(
            Setting(option, series_text),
            f": {HUMAN!r} is the method of people, whose files have options of their own",
            hint="name the method",
        )
    if len(fields) == 3:
        fields[2] = seed_without_decimal_zero(fields[2])
    # method, model and seed are the first fields of a series
    return Series(*fields)
