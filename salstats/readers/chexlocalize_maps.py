"""One heat map of the CheXlocalize release: its file's name, and what the file holds."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from salstats.errors import InputFileError, SalstatsError
from salstats.images.masks import Rle, empty
from salstats.images.run_lengths import check_shape, shortened
from salstats.readers.case_json import check_name
from salstats.readers.cells import BEYOND_FLOATS
from salstats.readers.map_files import two_dimensional
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
#: Other names of tasks, as the study's paper and the data set of its labels have them.
ALIASES = {"Lung Opacity": "Airspace Opacity"}
#: Probabilities of all fourteen classes stand in this order, where a file has them instead of one.
CLASSES = (
    "No Finding",
    *TASKS[:6],
    "Pneumonia",
    *TASKS[6:9],
    "Pleural Other",
    "Fracture",
    "Support Devices",
)
SUFFIX = "_map.pkl"


def task_name(task: str) -> str:
    """The name that a task has in frames."""
    return ALIASES.get(task, task)


def split_name(file: Path, tasks: Iterable[str] = ()) -> tuple[str, str]:
    """Case and task of a map from its file's name, CASE_TASK_map.pkl.

    The task is what follows the last underscore, unless the name ends with one of `tasks`, which may
    hold underscores themselves.
    """
    stem = file.name.removesuffix(SUFFIX)
    known = [t for t in tasks if "_" in t and stem.endswith(f"_{t}") and len(stem) > len(t) + 1]
    task = max(known, key=len, default=stem.rpartition("_")[2])
    case = stem[: -len(task) - 1]
    if not case or not task:
        raise InputFileError(f"{file}: a map is named CASE_TASK{SUFFIX}")
    check_name(case, f"{file}: the case")
    check_name(task, f"{file}: the task")
    return case, task_name(task)


def read_answer(
    task: str,
    *,
    case: str,
    map_file: Path | None = None,
    mask: Callable[[], Rle] | None = None,
    points: np.ndarray | None = None,
    shape: tuple[int, int] | None = None,
    shape_source: str = "",
) -> Content:
    """What a method or people answer for one task of one case: the map of a file, a mask, points.

    `shape` is the (height, width) of the image where `shape_source`, a file of masks or outlines, says it.
    """
    made = mask() if mask is not None else None
    if map_file is None:
        return Content(mask=made, points=points, shape=shape or (made.shape if made else None))
    info = _read_info(map_file)
    stated = info.get("task")
    if isinstance(stated, str) and task_name(stated) != task:
        raise InputFileError(f"{map_file}: its name says task {task!r}, its content {stated!r}")
    own = _shape(map_file, info)
    if own is not None and shape not in (None, own):
        swapped = "; cxr_dims is (width, height)" if own == shape[::-1] else ""
        raise InputFileError(
            f"{map_file}: its image is {own[0]} x {own[1]}, that of {shape_source} "
            f"{shape[0]} x {shape[1]} (height x width){swapped}"
        )
    return Content(
        saliency=_saliency(map_file, info),
        mask=made,
        points=points,
        prob=_probability(map_file, info, task),
        label=_one(map_file, info, "gt", lambda v: v in (0, 1), "0 or 1"),
        shape=shape or own or _unknown(map_file, case),
    )


def nothing_marked(map_file: Path, case: str) -> Rle:
    """An empty mask of an image whose size only a map says."""
    return empty(_shape(map_file, _read_info(map_file)) or _unknown(map_file, case))


def _unknown(file: Path, case: str) -> tuple[int, int]:
    """Raise where nothing says how large an image is."""
    raise InputFileError(
        f"{file}: no 'cxr_dims', (width, height), and no other file says the size of case {case} (a file of "
        "masks as 'size', one of outlines as 'img_size')"
    )


def _read_info(file: Path) -> dict[str, Any]:
    """The dict that a map's file is."""
    info = read_pickle(file)
    if not isinstance(info, dict):
        raise InputFileError(f"{file}: holds a {type(info).__name__}, not a dict with a map")
    return info


def _saliency(file: Path, info: dict[str, Any]) -> np.ndarray:
    """The map as (M, N), whatever axes of length one stand before."""
    if "map" not in info:
        raise InputFileError(f"{file}: no entry 'map' (entries: {', '.join(map(str, info))[:200]})")
    # never of lists: those of an untrusted file may hold themselves, and so have no end
    if not isinstance(info["map"], np.ndarray):
        raise InputFileError(f"{file}: its map is {_shown(info['map'])}, not a tensor or array of numbers")
    saliency = two_dimensional(file, info["map"], "map")
    return saliency if saliency.dtype.kind == "f" else saliency.astype(np.float64)


def _shape(file: Path, info: dict[str, Any]) -> tuple[int, int] | None:
    """(height, width) of the image; the file has them the other way round."""
    if info.get("cxr_dims") is None:
        return None
    sizes = _numbers(file, info, "cxr_dims")
    try:
        return check_shape(
            [int(n) if n % 1 == 0 else n for n in sizes[::-1]], "cxr_dims, here as height x width,"
        )
    except SalstatsError as error:
        raise InputFileError(f"{file}: {error}") from error


def _probability(file: Path, info: dict[str, Any], task: str) -> float:
    """The model's probability of the task; NaN where the file has none."""
    if info.get("prob") is not None and task in CLASSES:
        values = _numbers(file, info, "prob")
        if len(values) == len(CLASSES):
            info = {"prob": values[CLASSES.index(task)]}
    return _one(file, info, "prob", lambda v: 0 <= v <= 1, "between 0 and 1")


def _one(file: Path, info: dict[str, Any], name: str, right: Callable[[float], bool], said: str) -> float:
    """One number beside a map; NaN where the file does not say."""
    if info.get(name) is None:
        return float("nan")
    values = _numbers(file, info, name)
    if len(values) != 1:
        raise InputFileError(f"{file}: {name} has {len(values)} entries, not one")
    if not right(values[0]) and values[0] == values[0]:
        raise InputFileError(f"{file}: {name} is {values[0]!r}, not {said}")
    return values[0]


def _numbers(file: Path, info: dict[str, Any], name: str) -> list[float]:
    """A number, an array or a list of numbers beside a map."""
    given = info[name]
    values = given.ravel().tolist() if isinstance(given, np.ndarray) else given
    values = list(values) if isinstance(values, list | tuple) else [values]
    # a loader's batch of one holds each number as a tensor
    values = [v.item() if isinstance(v, np.ndarray) and v.size == 1 else v for v in values]
    if not all(isinstance(v, int | float) for v in values):
        raise InputFileError(f"{file}: {name} is {_shown(given)}, not a number")
    try:
        return [float(v) for v in values]
    except OverflowError as error:
        raise InputFileError(f"{file}: {name} holds {BEYOND_FLOATS}") from error


def _shown(value: Any) -> str:
    """A value for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return (
        shortened(value)
        if isinstance(value, str | int | float)
        else f"a value of type {type(value).__name__}"
    )
