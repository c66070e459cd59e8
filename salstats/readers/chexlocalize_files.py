"""Which files of a folder in the CheXlocalize format are what, found by their names."""

import re
from collections.abc import Iterable
from pathlib import Path

from salstats.checks import InputFileError, check_folder, quoted
from salstats.readers.chexlocalize_maps import SUFFIX
from salstats.readers.map_files import files_below

#: What a file is -> the names it may have, beside which `_val`, `_test`, `_sample` may stand.
PATTERNS = {
    "truth": re.compile(r"gt_segmentations(_.*)?\.json"),
    "annotations": re.compile(r"gt_annotations(_.*)?\.json"),
    "human": re.compile(r"hb_segmentations(_.*)?\.json"),
    "human_annotations": re.compile(r"hb_annotations(_.*)?\.json"),
    "points": re.compile(r"hb_salient_pt.*\.json"),
    "labels": re.compile(r"valid\.csv|test\.csv|(val|valid|test)_labels\.csv"),
}
#: Splits as they stand in names, and the one word for each.
_SPLITS = {"val": "val", "valid": "val", "validation": "val", "test": "test"}
SPLITS = ("val", "test")


def split_of(name: str) -> str | None:
    """The split that a file's or folder's name says, if any.

    Examples
    --------
    >>> from salstats.readers.chexlocalize_files import split_of
    >>> split_of("gt_segmentations_val_sample.json"), split_of("maps")
    ('val', None)
    """
    parts = re.split(r"[_.\W]+", name)
    return next((_SPLITS[part] for part in parts if part in _SPLITS), None)


def find_files(folder: Path, given: Iterable[str], split: str | None) -> dict[str, Path]:
    """What the folder holds of `PATTERNS`, leaving out what is `given` already.

    Raises InputFileError where it holds two files of one kind, or one that is a broken link, which would
    otherwise be left out unseen.
    """
    check_folder(folder)
    names = sorted(p.name for p in folder.iterdir() if not p.is_dir())
    found: dict[str, Path] = {}
    for kind, pattern in PATTERNS.items():
        if kind in given:
            continue
        fits = [n for n in names if pattern.fullmatch(n) and split in (None, split_of(n) or split)]
        if len(fits) > 1:
            of_splits = {split_of(n) for n in fits}
            choose = "split='val' or split='test', or " if of_splits == {"val", "test"} else ""
            raise InputFileError(
                f"{folder} holds {quoted(fits)}, and one of them is wanted; choose with {choose}{kind}="
            )
        if fits:
            found[kind] = folder / fits[0]
            if not found[kind].is_file():
                raise InputFileError(f"{found[kind]}: a link to a file that is not there, or no plain file")
    return found


def find_maps(folder: Path, split: str | None = None) -> list[Path]:
    """The maps in a folder and below, in the order of their paths.

    Links to files are followed, as stores of large files use them; links to folders are not, with a
    warning, so that the search stays within the folder and ends.
    """
    found = []
    for file in files_below(folder):
        of_folder = next(filter(None, (split_of(part) for part in file.relative_to(folder).parts[:-1])), None)
        if is_map(file.name) and (split is None or of_folder in (None, split)):
            found.append(file)
    return found


def check_splits(folder: Path, files: Iterable[Path], maps: Iterable[Path]) -> None:
    """Raise where files that were found by their names belong to two splits."""
    by_split: dict[str, Path] = {}
    for file in files:
        of_file = split_of(file.name)
        if of_file:
            by_split.setdefault(of_file, file)
    for file in maps:
        of_folder = next(filter(None, (split_of(part) for part in file.relative_to(folder).parts[:-1])), None)
        if of_folder:
            by_split.setdefault(of_folder, file.parent)
    if len(by_split) > 1:
        shown = " and ".join(f"{file.name} ({name})" for name, file in sorted(by_split.items()))
        raise InputFileError(
            f"{folder} holds files of two splits, {shown}; choose with split='val' or split='test'"
        )


def is_map(name: str) -> bool:
    """Whether a file is a map by its name; hidden ones are not."""
    return name.endswith(SUFFIX) and not name.startswith(".")
