"""One heat map of the CheXlocalize release: the name of its file and the file's content."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from salstats.errors import InputFileError, SalstatsError
from salstats.images.masks import Rle, empty
from salstats.images.run_lengths import check_shape, shortened_repr
from salstats.readers.case_json import check_name
from salstats.readers.cells import BEYOND_FLOATS_TEXT
from salstats.readers.map_files import checked_2d_array
from salstats.readers.pickles import read_pickle
from salstats.study import Content

#: The release's tasks, in its order.
TASKS = (
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Lesion",
    "Airspace Opacity",
    "Edema",
    "Consolidation",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Support Devices",
)
#: Other name of a task, in the study's paper or the data set of its labels -> its name in frames.
TASK_BY_ALIAS = {"Lung Opacity": "Airspace Opacity"}
#: CheXpert's classes, in the order of their probabilities in a file that holds all of them.
CHEXPERT_CLASSES = (
    "No Finding",
    *TASKS[:6],
    "Pneumonia",
    *TASKS[6:9],
    "Pleural Other",
    "Fracture",
    "Support Devices",
)
MAP_SUFFIX = "_map.pkl"


def canonical_task_name(task: str) -> str:
    """Return the name that a task has in frames."""
    return TASK_BY_ALIAS.get(task, task)


def case_and_task_of_map(file: Path, tasks: Iterable[str] = ()) -> tuple[str, str]:
    """Split the name of a map's file, CASE_TASK_map.pkl, into case and task.

    The task is what follows the last underscore, unless the name ends with one of `tasks`, which may
    hold underscores themselves.
    """
    stem = file.name.removesuffix(MAP_SUFFIX)
    task = stem.rpartition("_")[2]
    for name in tasks:
        # the longest of the tasks that fit and leave a case before them
        if stem.endswith(f"_{name}") and len(stem) > len(name) + 1 and len(name) > len(task):
            task = name
    case = stem[: -len(task) - 1]
    if not case or not task:
        raise InputFileError(f"{file}: a map is named CASE_TASK{MAP_SUFFIX}", path=file)
    check_name(case, f"{file}: the case")
    check_name(task, f"{file}: the task")
    return case, canonical_task_name(task)


def read_prediction_content(
    task: str,
    *,
    case: str,
    map_file: Path | None = None,
    read_mask: Callable[[], Rle] | None = None,
    points: np.ndarray | None = None,
    shape: tuple[int, int] | None = None,
    shape_source: str = "",
) -> Content:
    """Read the content of a method's or people's prediction: the map of a file, a mask, points.

    `shape` is the image's (height, width) in `shape_source`, a file of masks or outlines; None where no such
    file has it, and the map's file must.
    """
    mask_code = read_mask() if read_mask is not None else None
    if map_file is None:
        if shape is None and mask_code is not None:
            shape = mask_code.shape
        return Content(mask=mask_code, points=points, shape=shape)
    map_dict = _read_unchecked_map_dict(map_file)
    content_task = map_dict.get("task")
    if isinstance(content_task, str) and canonical_task_name(content_task) != task:
        raise InputFileError(
            f"{map_file}: its name says task {task!r}, its content {content_task!r}",
            column="task",
            value=content_task,
            path=map_file,
        )
    map_shape = _image_shape(map_file, map_dict)
    if map_shape is not None and shape is not None and shape != map_shape:
        hint = "cxr_dims is (width, height)" if map_shape == shape[::-1] else ""
        raise InputFileError(
            f"{map_file}: its image is {map_shape[0]} x {map_shape[1]}, that in {shape_source} "
            f"{shape[0]} x {shape[1]} (height x width)",
            hint=hint,
            column="cxr_dims",
            value=map_shape,
            path=map_file,
        )
    saliency = _stored_map(map_file, map_dict)
    prob = _probability_or_nan(map_file, map_dict, task)
    label = _entry_as_float_or_nan(map_file, map_dict, "gt")
    if label not in (0, 1) and not np.isnan(label):
        raise InputFileError(
            f"{map_file}: gt is {label!r}, not 0 or 1", column="gt", value=label, path=map_file
        )
    if shape is None:
        shape = map_shape
    if shape is None:
        raise _unknown_size_error(map_file, case)
    return Content(saliency=saliency, mask=mask_code, points=points, prob=prob, label=label, shape=shape)


def empty_mask_of_image_size(map_file: Path, case: str) -> Rle:
    """Return an empty mask of the image's size in a map's file; raise where the file has none."""
    shape = _image_shape(map_file, _read_unchecked_map_dict(map_file))
    if shape is None:
        raise _unknown_size_error(map_file, case)
    return empty(shape)


def _unknown_size_error(file: Path, case: str) -> InputFileError:
    """Make the error of an image whose size no file has."""
    return InputFileError(
        f"{file}: no 'cxr_dims', (width, height), and no other file says the size of case {case} (a file of "
        "masks as 'size', one of outlines as 'img_size')",
        column="cxr_dims",
        value=case,
        path=file,
    )


def _read_unchecked_map_dict(file: Path) -> dict[str, Any]:
    """Read the dict of a map's file: "map", and where it has them "task", "prob", "gt", "cxr_dims"."""
    map_dict = read_pickle(file)
    if not isinstance(map_dict, dict):
        raise InputFileError(
            f"{file}: holds a {type(map_dict).__name__}, not a dict with a map",
            value=type(map_dict).__name__,
            path=file,
        )
    return map_dict


def _stored_map(file: Path, map_dict: dict[str, Any]) -> np.ndarray:
    """Return the map as a float array (M, N); leading axes of length one are dropped."""
    if "map" not in map_dict:
        raise InputFileError(
            f"{file}: no entry 'map' (entries: {', '.join(map(str, map_dict))[:200]})",
            column="map",
            choices=map(str, map_dict),
            path=file,
        )
    # no nested lists: in an untrusted file a list may contain itself, and so have no end
    if not isinstance(map_dict["map"], np.ndarray):
        raise InputFileError(
            f"{file}: its map is {_value_description_for_message(map_dict['map'])}, not a tensor or array "
            "of numbers",
            column="map",
            path=file,
        )
    saliency = checked_2d_array(file, map_dict["map"], "map")
    if saliency.dtype.kind == "f":
        return saliency
    return saliency.astype(np.float64)


def _image_shape(file: Path, map_dict: dict[str, Any]) -> tuple[int, int] | None:
    """Return the image's (height, width), in the file (width, height); None where the file lacks it."""
    if map_dict.get("cxr_dims") is None:
        return None
    sizes = _entry_as_floats(file, map_dict, "cxr_dims")
    try:
        # fractions stay, so that check_shape raises for them
        sides = [int(side) if side % 1 == 0 else side for side in sizes[::-1]]
        return check_shape(sides, "cxr_dims, here as height x width,")
    except SalstatsError as error:
        raise InputFileError(
            f"{file}: ", error.message, column="cxr_dims", value=error.value, path=file
        ) from error


def _probability_or_nan(file: Path, map_dict: dict[str, Any], task: str) -> float:
    """Return the model's probability of the task; NaN where the file has none."""
    if map_dict.get("prob") is not None and task in CHEXPERT_CLASSES:
        values = _entry_as_floats(file, map_dict, "prob")
        if len(values) == len(CHEXPERT_CLASSES):
            map_dict = {"prob": values[CHEXPERT_CLASSES.index(task)]}
    prob = _entry_as_float_or_nan(file, map_dict, "prob")
    if not 0 <= prob <= 1 and not np.isnan(prob):
        raise InputFileError(
            f"{file}: prob is {prob!r}, not between 0 and 1", column="prob", value=prob, path=file
        )
    return prob


def _entry_as_float_or_nan(file: Path, map_dict: dict[str, Any], name: str) -> float:
    """Return an entry of a map's file that is one number; NaN where the file lacks it."""
    if map_dict.get(name) is None:
        return float("nan")
    values = _entry_as_floats(file, map_dict, name)
    if len(values) != 1:
        raise InputFileError(
            f"{file}: {name} has {len(values)} entries, not one", column=name, value=values, path=file
        )
    return values[0]


def _entry_as_floats(file: Path, map_dict: dict[str, Any], name: str) -> list[float]:
    """Return an entry of a map's file, a number or an array or list of numbers, as a list of floats."""
    entry = map_dict[name]
    values = entry.ravel().tolist() if isinstance(entry, np.ndarray) else entry
    if not isinstance(values, list | tuple):
        values = [values]
    # a data loader's batch of one image holds each number as a tensor of one
    numbers = []
    for value in values:
        number = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
        if not isinstance(number, int | float):
            raise InputFileError(
                f"{file}: {name} is {_value_description_for_message(entry)}, not a number",
                column=name,
                path=file,
            )
        numbers.append(number)
    try:
        return [float(number) for number in numbers]
    except OverflowError as error:
        raise InputFileError(f"{file}: {name} holds {BEYOND_FLOATS_TEXT}", column=name, path=file) from error


def _value_description_for_message(value: Any) -> str:
    """Describe a value for a message: an array's shape and type, a short text or number, or a type."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    if isinstance(value, str | int | float):
        return shortened_repr(value)
    return f"a value of type {type(value).__name__}"
