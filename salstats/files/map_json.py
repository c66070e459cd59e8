"""The JSON files of a map folder: masks of the truth and of people, and how the maps were made."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import InputFileError, SalstatsError
from salstats.files.inputs import read_json
from salstats.files.map_table import checked_name
from salstats.files.outputs import replacing
from salstats.images.masks import Rle, encode

#: Masks as a file holds them: case -> task -> COCO run-length code.
Codes = dict[str, dict[str, dict[str, Any]]]


def read_masks(file: Path) -> Codes:
    """The masks of a file; none where it is not there."""
    found = _read(file) if file.exists() else {}
    odd = [case for case, by_task in found.items() if not isinstance(by_task, dict)]
    if odd:
        raise InputFileError(f"{file}, case {odd[0]!r}: not an object of tasks")
    return found


def with_masks(
    held: Codes,
    masks: Mapping[tuple[str, str], Rle | np.ndarray],
    file: Path,
    *,
    overwrite: bool,
    check_size: Callable[[str, tuple[int, int], str], None],
) -> Codes:
    """Masks together with those of a file; `check_size` takes case, shape and what a mask is called.

    Raises
    ------
    InputFileError
        Another mask of a case and task is there, and `overwrite` is False.
    SalstatsError
        A name or a mask is none.
    """
    if not isinstance(masks, Mapping):
        raise SalstatsError(f"masks must map (case, task) to a mask, not {type(masks).__name__}")
    found = {case: dict(by_task) for case, by_task in held.items()}
    for pair, mask in masks.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise SalstatsError(f"masks must map (case, task) to a mask; {pair!r} is no such pair")
        case, task = (checked_name(part, name) for part, name in zip(pair, ("case", "task"), strict=True))
        rle = mask if isinstance(mask, Rle) else encode(mask)
        check_size(case, rle.shape, f"{file.stem}, case {case!r}, task {task!r}")
        code = rle.to_coco()
        before = found.setdefault(case, {}).setdefault(task, code)
        if before != code and not overwrite:
            raise InputFileError(
                f"{file}: another mask of case {case!r}, task {task!r} is there; overwrite=True replaces it"
            )
        found[case][task] = code
    return found


def read_settings(file: Path) -> dict[str, str]:
    """How the maps of each series are made; nothing where the file is not there."""
    found = _read(file) if file.exists() else {}
    if not all(isinstance(text, str) for text in found.values()):
        raise InputFileError(f"{file}: not an object of series and their settings, as text")
    return found


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Replace a JSON file."""
    try:
        with replacing(file) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")
    except OSError as error:
        raise InputFileError(f"cannot write {file}: {error.strerror or error}") from error


def _read(file: Path) -> dict[str, Any]:
    """The object of a JSON file."""
    found = read_json(file)
    if not isinstance(found, dict):
        raise InputFileError(f"{file}: not an object")
    return found
