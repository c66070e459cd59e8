"""One heat map of the CheXlocalize release: its file's name, and what the file holds."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import InputFileError, SalstatsError
from salstats.images.masks import Rle, empty
from salstats.images.run_lengths import check_shape
from salstats.readers.case_json import check_name
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
#: Numbers beside a map are few and not large.
_MOST, _LARGEST = 1000, 1e15


def task_name(task: str) -> str:
    """The name that a task has in frames.

    Examples
    --------
    >>> from salstats.readers.chexlocalize_maps import task_name
    >>> task_name("Lung Opacity")
    'Airspace Opacity'
    """
    return ALIASES.get(task, task)


def split_name(file: Path, tasks: Iterable[str] = ()) -> tuple[str, str]:
    """Case and task of a map from its file's name, CASE_TASK_map.pkl.

    The task is what follows the last underscore, unless the name ends with one of `tasks`, which may
    hold underscores themselves.

    Examples
    --------
    >>> from salstats.readers.chexlocalize_maps import split_name
    >>> split_name(Path("patient1_study1_view1_frontal_Lung Lesion_map.pkl"))
    ('patient1_study1_view1_frontal', 'Lung Lesion')
    """
    stem = file.name.removesuffix(SUFFIX)
    for task in sorted((t for t in tasks if "_" in t), key=len, reverse=True):
        if stem.endswith(f"_{task}") and len(stem) > len(task) + 1:
            return stem[: -len(task) - 1], task
    case, _, task = stem.rpartition("_")
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
    """What a method or people answer for one task of one case.

    Parameters
    ----------
    task, case : str
    map_file : path, optional
        Where the map is.
    mask : callable, optional
        Gives the mask.
    points : ndarray of float, shape (n, 2), optional
    shape : tuple of int, optional
        (height, width) of the image, where a file of masks or outlines says it.
    shape_source : str
        That file.

    Raises
    ------
    InputFileError
        A file is damaged, belongs to another task, or has another size of the image.
    """
    made = mask() if mask is not None else None
    if map_file is None:
        return Content(mask=made, points=points, shape=shape or (made.shape if made else None))
    info = _read_info(map_file)
    stated = info.get("task")
    if isinstance(stated, str) and task_name(stated) != task:
        raise InputFileError(f"{map_file}: its name says task {task!r}, its content {stated!r}")
    own = map_shape(map_file, info)
    if own is None and shape is None:
        raise InputFileError(
            f"{map_file}: no 'cxr_dims', (width, height), and no other file says the size of case {case}"
        )
    if own is not None and shape is not None and own != shape:
        swapped = "; cxr_dims is (width, height)" if own == shape[::-1] else ""
        raise InputFileError(
            f"{map_file}: its image is {own[0]} x {own[1]}, that of {shape_source} "
            f"{shape[0]} x {shape[1]} (height x width){swapped}"
        )
    return Content(
        saliency=_saliency(map_file, info),
        mask=made,
        points=points,
        prob=_probability(map_file, info.get("prob"), task),
        label=_label(map_file, info.get("gt")),
        shape=shape or own,
    )


def nothing_marked(map_file: Path, case: str) -> Rle:
    """An empty mask of an image whose size only a map says."""
    shape = map_shape(map_file, _read_info(map_file))
    if shape is None:
        raise InputFileError(
            f"{map_file}: no file says the size of the image of case {case}; a map says it "
            "as 'cxr_dims', a file of masks as 'size', a file of outlines as 'img_size'"
        )
    return empty(shape)


def _read_info(file: Path) -> dict[str, Any]:
    """The dict that a map's file is."""
    info = read_pickle(file)
    if not isinstance(info, dict):
        raise InputFileError(f"{file}: holds {_shown(info)}, not a dict with a map")
    return info


def _saliency(file: Path, info: dict[str, Any]) -> np.ndarray:
    """The map as (M, N), whatever axes of length one stand before."""
    if "map" not in info:
        raise InputFileError(f"{file}: no entry 'map' (entries: {', '.join(map(str, info))[:200]})")
    saliency = info["map"]
    # never of lists: those of an untrusted file may hold themselves, and so have no end
    if not isinstance(saliency, np.ndarray) or saliency.dtype.kind not in "iufb" or saliency.size == 0:
        raise InputFileError(f"{file}: its map is {_shown(saliency)}, not a tensor or array of numbers")
    if saliency.ndim < 2 or any(n != 1 for n in saliency.shape[:-2]):
        raise InputFileError(f"{file}: its map has shape {saliency.shape}; one map is (1, 1, M, N) or (M, N)")
    saliency = saliency.reshape(saliency.shape[-2:])
    return saliency if saliency.dtype.kind == "f" else saliency.astype(np.float64)


def map_shape(file: Path, info: dict[str, Any]) -> tuple[int, int] | None:
    """Return (height, width) of the image; the file has them the other way round."""
    given = info.get("cxr_dims")
    if given is None:
        return None
    sizes = _flat(file, given, "cxr_dims")
    if len(sizes) != 2 or not (sizes >= 1).all() or (sizes % 1).any() or not np.isfinite(sizes).all():
        raise InputFileError(f"{file}: cxr_dims must be (width, height), not {_shown(given)}")
    width, height = (int(n) for n in sizes)
    try:
        return check_shape((height, width), "cxr_dims, here as height x width,")
    except SalstatsError as error:
        raise InputFileError(f"{file}: {error}") from error


def _probability(file: Path, given: Any, task: str) -> float:
    """The model's probability of the task; NaN where the file has none."""
    if given is None:
        return float("nan")
    values = _flat(file, given, "prob")
    if len(values) == len(CLASSES):
        if task not in CLASSES:
            raise InputFileError(
                f"{file}: prob has {len(CLASSES)} entries, and which is that of {task!r} is not known"
            )
        values = values[[CLASSES.index(task)]]
    if len(values) != 1:
        raise InputFileError(f"{file}: prob has {len(values)} entries, not one, nor one per class")
    prob = float(values[0])
    if not 0 <= prob <= 1 and prob == prob:
        raise InputFileError(f"{file}: prob is {prob!r}, not between 0 and 1")
    return prob


def _label(file: Path, given: Any) -> float:
    """Whether the finding is on the image, 0 or 1; NaN where the file does not say."""
    if given is None:
        return float("nan")
    values = _flat(file, given, "gt")
    if len(values) != 1:
        raise InputFileError(f"{file}: gt has {len(values)} entries, not one")
    label = float(values[0])
    if label not in (0.0, 1.0) and label == label:
        raise InputFileError(f"{file}: gt is {label:g}, not 0 or 1")
    return label


def _flat(file: Path, given: Any, name: str) -> np.ndarray:
    """A number, an array or a short list of numbers as an array of one axis."""
    if isinstance(given, np.ndarray) and given.dtype.kind in "iufb" and given.size <= _MOST:
        return given.astype(np.float64).ravel()
    values = [given] if isinstance(given, int | float) else given
    if isinstance(values, list | tuple) and len(values) <= _MOST:
        numbers = [v.item() if isinstance(v, np.ndarray) and v.size == 1 else v for v in values]
        if all((isinstance(v, int | float) and abs(v) < _LARGEST) or v != v for v in numbers):
            return np.array(numbers, dtype=np.float64)
    raise InputFileError(f"{file}: {name} is {_shown(given)}, not a number")


def _shown(value: Any) -> str:
    """A value for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    plain = value is None or isinstance(value, str | int | float | bool)
    if plain or (isinstance(value, tuple | list) and all(isinstance(v, str | int | float) for v in value)):
        text = repr(value)
        if len(text) < 60:
            return text
    return f"a value of type {type(value).__name__}"
