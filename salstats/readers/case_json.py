"""Read JSON files of case -> task -> masks, outlines or points, each value checked where it stands."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salstats.checks import and_n_more_after_first, invisibility_text
from salstats.errors import InputFileError, Message, MessagePart, SalstatsError, Setting, warn
from salstats.files.input_files import read_json
from salstats.images.masks import Rle
from salstats.images.polygons import whole_pixel_vertices_xy
from salstats.images.run_lengths import check_shape, shortened_repr

#: Key among the tasks of a case whose value is the image's (height, width).
_IMAGE_SIZE_KEY = "img_size"


@dataclass(frozen=True)
class ValuesByCaseAndTask:
    """Values of one file by case and task: masks, outlines or points."""

    file: Path
    #: case -> task -> value
    values: dict[str, dict[str, Any]]
    #: case -> (height, width), where the file has it
    shapes: dict[str, tuple[int, int]]
    #: whether values are outlines to be drawn, not masks
    holds_outlines: bool = False

    def location(self, case: str, task: str) -> str:
        """Return the file, case and task of a value as text for messages."""
        return _location(self.file, case, task)

    def mask(self, case: str, task: str) -> Rle:
        """Return the mask of a case and task of a file of segmentations; raise where its code is damaged."""
        try:
            return Rle.from_coco(self.values[case][task], self.location(case, task))
        except InputFileError as error:
            raise error.prefixed(value=(case, task), path=self.file) from None

    def tasks(self) -> set[str]:
        """Return the names of all tasks in the file."""
        return {task for values in self.values.values() for task in values}


class SizeInFile(NamedTuple):
    """Size of an image, and the file that gives it."""

    #: (height, width)
    shape: tuple[int, int]
    file: Path


def image_size_by_case(files: Iterable[ValuesByCaseAndTask]) -> dict[str, SizeInFile]:
    """Return the size of each image and the first file that has it; raise where two files differ."""
    sizes: dict[str, SizeInFile] = {}
    for case_file in files:
        for case, shape in case_file.shapes.items():
            first_shape, first_file = sizes.setdefault(case, SizeInFile(shape, case_file.file))
            if first_shape != shape:
                first_size = f"{first_shape[0]} x {first_shape[1]} (height x width)"
                raise InputFileError(
                    f"case {case} is {first_size} in {first_file} and {shape[0]} x {shape[1]} in "
                    f"{case_file.file}; both must have the size of one image",
                    path=case_file.file,
                    value=shape,
                )
    return sizes


def read_rle_masks_json(path: Path, task_name: Callable[[str], str]) -> ValuesByCaseAndTask:
    """Read masks of cases and tasks as the file's COCO run-length codes.

    `ValuesByCaseAndTask.mask` checks their runs. `task_name` maps a name of a task in the file to its
    name in frames.
    """
    shapes: dict[str, tuple[int, int]] = {}

    def checked_rle_record(value: Any, case: str, task: str) -> Any:
        location = _location(path, case, task)
        if isinstance(value, list):
            raise InputFileError(
                f"{location}: a list of outlines where a mask should be",
                hint=Message(
                    "give the file as ",
                    Setting("annotations"),
                    " (truth) or ",
                    Setting("human_annotations"),
                    " (people)",
                ),
            )
        if not isinstance(value, Mapping) or "size" not in value or "counts" not in value:
            raise InputFileError(f"{location}: not a mask with size and counts but {shortened_repr(value)}")
        shape = _checked_shape(value["size"], location, "size")
        if shapes.setdefault(case, shape) != shape:
            raise InputFileError(
                f"{location}: its mask is {shape[0]} x {shape[1]}, another of the case "
                f"{shapes[case][0]} x {shapes[case][1]}",
                column="size",
            )
        return {"size": value["size"], "counts": value["counts"]}

    return ValuesByCaseAndTask(
        path, _checked_values_by_case_and_task(path, task_name, checked_rle_record), shapes
    )


def read_outlines_as_vertices_xy(path: Path, task_name: Callable[[str], str]) -> ValuesByCaseAndTask:
    """Read outlines as vertices (x, y), cut to whole pixels; warn once of those beyond their image."""
    shapes: dict[str, tuple[int, int]] = {}
    beyond_image: list[tuple[str, str]] = []

    def checked_outlines(value: Any, case: str, task: str) -> list[np.ndarray]:
        location = _location(path, case, task)
        if isinstance(value, Mapping) and "counts" in value:
            raise InputFileError(
                f"{location}: a mask where outlines should be",
                hint=Message("give the file as ", Setting("truth"), " or ", Setting("human"), " (people)"),
            )
        if case not in shapes:
            raise InputFileError(
                f"{location}: the case has no {_IMAGE_SIZE_KEY!r}, (height, width), to draw it on",
                column=_IMAGE_SIZE_KEY,
            )
        try:
            outlines = whole_pixel_vertices_xy(value, location)
        except SalstatsError as error:
            raise InputFileError(error.message, rows=error.rows) from error
        height, width = shapes[case]
        # a vertex may lie on the far edge itself, as is usual
        if any((outline < 0).any() or (outline > (width, height)).any() for outline in outlines):
            beyond_image.append((case, task))
        return outlines

    values = _checked_values_by_case_and_task(path, task_name, checked_outlines, shapes)
    _warn_if_any(path, beyond_image, "outlines reach beyond their image and are cut off at its edge")
    return ValuesByCaseAndTask(path, values, shapes, holds_outlines=True)


def read_xy_points_as_row_col(path: Path, task_name: Callable[[str], str]) -> ValuesByCaseAndTask:
    """Read the points of each case and task as an array (n, 2) of (row, col); the file has (x, y)."""

    def checked_row_col_of_xy(value: Any, case: str, task: str) -> np.ndarray:
        if isinstance(value, list) and not value:
            return np.empty((0, 2))
        try:
            points = np.asarray(value)
        except ValueError:
            points = np.empty(0, object)
        is_numeric = points.dtype.kind in "iuf" and np.isfinite(points).all()
        if not is_numeric or points.ndim != 2 or points.shape[1] != 2:
            raise InputFileError(
                f"{_location(path, case, task)}: not a list of points (x, y) but {shortened_repr(value)}"
            )
        return np.ascontiguousarray(points[:, ::-1], dtype=np.float64)

    return ValuesByCaseAndTask(
        path, _checked_values_by_case_and_task(path, task_name, checked_row_col_of_xy), shapes={}
    )


def warn_of_points_outside_image(
    points_file: ValuesByCaseAndTask, shapes: Mapping[str, tuple[int, int]]
) -> None:
    """Warn once of points that lie outside their image; they hit nothing."""
    outside = []
    for case, points_of_task in points_file.values.items():
        if case not in shapes:
            continue
        for task, points in points_of_task.items():
            # the score of a point cuts off fractions as well
            pixels = np.trunc(points)
            if ((pixels < 0) | (pixels >= shapes[case])).any():
                outside.append((case, task))
    _warn_if_any(points_file.file, outside, "points lie outside their image and hit nothing")


def _checked_values_by_case_and_task(
    path: Path,
    task_name: Callable[[str], str],
    checked_value: Callable[[Any, str, str], Any],
    shapes_to_fill: dict[str, tuple[int, int]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return case -> task -> the result of `checked_value(value, case, task)`.

    Sizes of images are written into `shapes_to_fill`, so that the check of a case's values can use its size.
    """
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputFileError(f"{path}: not an object of cases but {shortened_repr(content)}", path=path)
    values: dict[str, dict[str, Any]] = {}
    for case, tasks in content.items():
        if not isinstance(tasks, dict):
            raise InputFileError(
                f"{path}, case {case}: not an object of tasks but {shortened_repr(tasks)}",
                value=case,
                path=path,
            )
        check_name(case, f"{path}: the case")
        if _IMAGE_SIZE_KEY in tasks and shapes_to_fill is not None:
            shapes_to_fill[case] = _checked_shape(
                tasks[_IMAGE_SIZE_KEY], f"{path}, case {case}", _IMAGE_SIZE_KEY
            )
        values[case] = {}
        for task, value in tasks.items():
            if task == _IMAGE_SIZE_KEY:
                continue
            name = task_name(check_name(task, f"{path}, case {case}: the task"))
            if name in values[case]:
                raise InputFileError(
                    f"{path}, case {case}: {task!r} is another name of {name!r}, which is there too",
                    value=task,
                    path=path,
                )
            try:
                values[case][name] = checked_value(value, case, task)
            except InputFileError as error:
                raise error.prefixed(value=(case, task), path=path) from error.__cause__
    return values


def check_name(name: str, owner: MessagePart) -> str:
    """Return a name; raise where it is empty or holds invisible characters.

    `owner` says in a message whose name it is, such as "FILE: the case".
    """
    problem = invisibility_text(name) if name else "is empty"
    if problem:
        raise InputFileError(owner, f" {name!r} is not a name: it {problem}", value=name)
    return name


def _checked_shape(size: Any, location: str, name: str) -> tuple[int, int]:
    """Return a file's (height, width) as a tuple of two positive whole numbers; raise where it is not one."""
    try:
        return check_shape(size, name)
    except SalstatsError as error:
        raise InputFileError(f"{location}: {error}", column=name) from error


def _location(path: Path, case: str, task: str) -> str:
    """Return the file, case and task of a value as text for messages."""
    return f"{path}, case {case}, task {task}"


def _warn_if_any(path: Path, cases_and_tasks: list[tuple[str, str]], problem: str) -> None:
    """Warn once, with the first case and task and the number of the others."""
    if cases_and_tasks:
        warn(
            f"{_location(path, *cases_and_tasks[0])}{and_n_more_after_first(cases_and_tasks)}: {problem}",
            value=cases_and_tasks,
            path=path,
        )
