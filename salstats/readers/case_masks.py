"""Masks by case and task: a JSON file of run-length codes, or a folder with a file for each mask."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from salstats.errors import InputFileError, Message, SalstatsError, Setting
from salstats.files.paths import check_path_can_be_looked_up
from salstats.images.masks import Rle
from salstats.readers.case_json import ValuesByCaseAndTask, check_name, read_rle_masks_json
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MASK_SUFFIXES, find_files_by_task_and_case, read_rle


def read_case_masks(path: PathLike, task_outside_folders: str | None = None) -> ValuesByCaseAndTask:
    """Read the masks of a JSON file, case -> task -> run-length code, or of files TASK/CASE.png in a folder.

    With `task_outside_folders` a folder may instead hold files CASE.png, which are all of that task.
    """
    source = Path(path)
    check_path_can_be_looked_up(source)
    if source.is_dir():
        return _read_masks_in_folder(source, task_outside_folders)
    if source.suffix.lower() != ".json":
        reason = "no such file or folder"
        if source.exists():
            reason = "neither a .json nor a folder"
        raise InputFileError(f"{source}: {reason}; masks are in NAME.json, or in TASK/CASE.png", path=source)
    codes = read_rle_masks_json(source, str)
    masks: dict[str, dict[str, Rle]] = {}
    for case, code_of_task in codes.values.items():
        masks[case] = {task: codes.mask(case, task) for task in code_of_task}
    return replace(codes, values=masks)


def read_masks_of_readers(
    human: PathLike | Mapping[str, PathLike], task_outside_folders: str | None = None
) -> dict[str | None, ValuesByCaseAndTask]:
    """Read the masks that people drew, by reader's name; None for a single path, which names no reader."""
    if not isinstance(human, Mapping):
        return {None: read_case_masks(human, task_outside_folders)}
    if not human:
        raise SalstatsError(Setting("human"), " names no reader")
    masks_of_readers: dict[str | None, ValuesByCaseAndTask] = {}
    for name, path in human.items():
        reader = check_name(name, Message(Setting("human"), ": a reader"))
        masks_of_readers[reader] = read_case_masks(path, task_outside_folders)
    return masks_of_readers


def _read_masks_in_folder(folder: Path, task_outside_folders: str | None) -> ValuesByCaseAndTask:
    """Read the masks of a folder by case and task; raise where masks of a case differ in size."""
    masks: dict[str, dict[str, Rle]] = {}
    shapes: dict[str, tuple[int, int]] = {}
    for task, files in find_files_by_task_and_case(folder, MASK_SUFFIXES, task_outside_folders).items():
        for case, file in files.items():
            mask = read_rle(file)
            shape = shapes.setdefault(case, mask.shape)
            if mask.shape != shape:
                raise InputFileError(
                    f"{file}: its mask is {mask.shape[0]} x {mask.shape[1]}, another of the case "
                    f"{shape[0]} x {shape[1]}",
                    path=file,
                    value=mask.shape,
                )
            masks.setdefault(case, {})[task] = mask
    return ValuesByCaseAndTask(folder, masks, shapes)
