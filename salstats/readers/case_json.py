"""Read JSON files of case -> task -> masks, outlines or points, each value checked where it stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import and_more, hidden
from salstats.errors import InputFileError, SalstatsError, warn
from salstats.files.inputs import read_json
from salstats.images.polygons import vertices_of
from salstats.images.run_lengths import check_shape, shortened

#: Key of a case that is no task but the image's (height, width).
_SIZE = "img_size"


@dataclass(frozen=True)
class CaseFile:
    """What one file says of each case; tasks carry the names that frames have."""

    file: Path
    #: case -> task -> value
    values: dict[str, dict[str, Any]]
    #: case -> (height, width), where the file says it
    shapes: dict[str, tuple[int, int]]
    #: whether values are outlines to be drawn, not masks
    outlines: bool = False

    def where(self, case: str, task: str) -> str:
        """What a value is, for messages."""
        return f"{self.file}, case {case}, task {task}"

    def tasks(self) -> set[str]:
        """Every task of the file."""
        return {task for values in self.values.values() for task in values}


def read_segmentations(path: Path, task_name: Callable[[str], str]) -> CaseFile:
    """Masks in COCO's run-length code, whose runs are checked when a mask is read."""
    shapes: dict[str, tuple[int, int]] = {}

    def check(value: Any, case: str, where: str) -> Any:
        if isinstance(value, list):
            raise InputFileError(
                f"{where}: a list of outlines where a mask should be; give the file as annotations= "
                "(truth) or human_annotations= (people)"
            )
        if not isinstance(value, Mapping) or "size" not in value or "counts" not in value:
            raise InputFileError(f"{where}: not a mask with size and counts but {shortened(value)}")
        shape = _shape(value["size"], where, "size")
        if shapes.setdefault(case, shape) != shape:
            raise InputFileError(
                f"{where}: its mask is {shape[0]} x {shape[1]}, another of the case "
                f"{shapes[case][0]} x {shapes[case][1]}"
            )
        return {"size": value["size"], "counts": value["counts"]}

    return CaseFile(path, _values(path, task_name, check), shapes)


def read_outlines(path: Path, task_name: Callable[[str], str]) -> CaseFile:
    """Outlines as vertices (x, y) cut to whole pixels; of those beyond their image it warns once."""
    shapes: dict[str, tuple[int, int]] = {}
    beyond: list[str] = []

    def check(value: Any, case: str, where: str) -> list[np.ndarray]:
        if isinstance(value, Mapping) and "counts" in value:
            raise InputFileError(
                f"{where}: a mask where outlines should be; give the file as truth= or human= (people)"
            )
        if case not in shapes:
            raise InputFileError(f"{where}: the case has no {_SIZE!r}, (height, width), to draw it on")
        try:
            outlines = vertices_of(value, where)
        except SalstatsError as error:
            raise InputFileError(str(error)) from error
        height, width = shapes[case]
        # a vertex on the far edge itself is usual
        if any((o < 0).any() or (o > (width, height)).any() for o in outlines):
            beyond.append(where)
        return outlines

    values = _values(path, task_name, check, shapes)
    _warn(beyond, "outlines reach beyond their image and are cut off at its edge")
    return CaseFile(path, values, shapes, outlines=True)


def read_points(path: Path, task_name: Callable[[str], str]) -> CaseFile:
    """Marked points, each array of shape (n, 2) as (row, col); the file has (x, y)."""

    def check(value: Any, _: str, where: str) -> np.ndarray:
        if isinstance(value, list) and not value:
            return np.empty((0, 2))
        try:
            points = np.asarray(value)
        except ValueError:
            points = np.empty(0, object)
        numbers = points.dtype.kind in "iuf" and np.isfinite(points).all()
        if not numbers or points.ndim != 2 or points.shape[1] != 2:
            raise InputFileError(f"{where}: not a list of points (x, y) but {shortened(value)}")
        return np.ascontiguousarray(points[:, ::-1], dtype=np.float64)

    return CaseFile(path, _values(path, task_name, check), {})


def warn_of_points(found: CaseFile, shapes: Mapping[str, tuple[int, int]]) -> None:
    """Warn once of points that lie outside their image; they hit nothing."""
    outside = [
        found.where(case, task)
        for case, values in found.values.items()
        if case in shapes
        for task, points in values.items()
        # as masks do, a fraction counts to the pixel it falls into
        if ((points < 0) | (points >= shapes[case])).any()
    ]
    _warn(outside, "points lie outside their image and hit nothing")


def _values(
    path: Path,
    task_name: Callable[[str], str],
    check: Callable[[Any, str, str], Any],
    shapes: dict[str, tuple[int, int]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Case -> task -> checked value; sizes of images go to `shapes`."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputFileError(f"{path}: not an object of cases but {shortened(content)}")
    values: dict[str, dict[str, Any]] = {}
    for case, tasks in content.items():
        if not isinstance(tasks, dict):
            raise InputFileError(f"{path}, case {case}: not an object of tasks but {shortened(tasks)}")
        check_name(case, f"{path}: the case")
        if _SIZE in tasks and shapes is not None:
            shapes[case] = _shape(tasks[_SIZE], f"{path}, case {case}", _SIZE)
        values[case] = {}
        for task, value in tasks.items():
            if task == _SIZE:
                continue
            name = task_name(check_name(task, f"{path}, case {case}: the task"))
            if name in values[case]:
                raise InputFileError(
                    f"{path}, case {case}: {task!r} is another name of {name!r}, which is there too"
                )
            values[case][name] = check(value, case, f"{path}, case {case}, task {task}")
    return values


def check_name(name: str, what: str) -> str:
    """The name of a case or task, which must be there and hold nothing that nobody sees."""
    wrong = hidden(name) if name else "is empty"
    if wrong:
        raise InputFileError(f"{what} {name!r} is no name: it {wrong}")
    return name


def _shape(given: Any, where: str, name: str) -> tuple[int, int]:
    """(height, width) as the file has it."""
    try:
        return check_shape(given, name)
    except SalstatsError as error:
        raise InputFileError(f"{where}: {error}") from error


def _warn(places: list[str], what: str) -> None:
    """Warn once, with how many places and the first."""
    if places:
        warn(f"{places[0]}{and_more(places)}: {what}")
