"""Tables of cases: probabilities of a model, sizes of pixels, and points that people marked."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from salstats.errors import ColumnError
from salstats.readers.case_json import ValuesByCaseAndTask
from salstats.readers.cells import PathLike
from salstats.readers.tables import read_fixed_columns_table

_SPACING_COLUMNS = ("row_mm", "col_mm")


class CasePrediction(NamedTuple):
    """A model's probability (0 to 1) and the label (0 or 1) of a case; NaN where one is not known."""

    prob: float
    label: float


def read_prob_and_label_by_case(path: PathLike) -> dict[str, CasePrediction]:
    """Read the probability (0 to 1) and the label (0 or 1) of each case.

    NaN where a cell is empty, and for all labels of a table without them.
    """
    table = read_fixed_columns_table(Path(path), ColumnError)
    table.check_columns(("case", "prob"), "predictions have case and prob, and may have label")
    cases = table.checked_distinct_case_of_each_row()
    probs = table.numbers("prob", _is_no_probability, "is not between 0 and 1")
    labels = np.full(len(table), np.nan)
    if "label" in table.columns:
        labels = table.numbers("label", _is_no_label, "is not 0 or 1")
    predictions = map(CasePrediction, probs.tolist(), labels.tolist())
    return dict(zip(cases, predictions, strict=True))


def read_spacing_mm_by_case(path: PathLike) -> dict[str, tuple[float, float]]:
    """Read (row_mm, col_mm) of each case: the distance from one row of pixels to the next, and of columns."""
    table = read_fixed_columns_table(Path(path), ColumnError)
    table.check_columns(("case", *_SPACING_COLUMNS), f"it needs case, {' and '.join(_SPACING_COLUMNS)}")
    problem = "is not a size, which is a positive number, mm per pixel"
    row_mm = table.numbers("row_mm", _is_not_finite_and_positive, problem)
    col_mm = table.numbers("col_mm", _is_not_finite_and_positive, problem)
    sizes = zip(row_mm.tolist(), col_mm.tolist(), strict=True)
    return dict(zip(table.checked_distinct_case_of_each_row(), sizes, strict=True))


def read_point_table_as_row_col(path: PathLike, task_if_no_column: str | None = None) -> ValuesByCaseAndTask:
    """Read the points of each case and task as an array (n, 2) of (row, col).

    The table has a row for each point. Its columns are `case`, `x` and `y` (pixels from the image's left and
    upper edge), and `task`, without which all points are of `task_if_no_column`. A row whose `x` and `y` are
    empty says that nothing was marked.
    """
    table = read_fixed_columns_table(Path(path), ColumnError)
    table.check_columns(("case", "x", "y"), "points have case, x and y, and task where there are several")
    cases = table.nonempty_texts("case")
    if task_if_no_column is None or "task" in table.columns:
        table.check_columns(("task",), "the truth has several tasks")
        tasks = table.nonempty_texts("task")
    else:
        tasks = [task_if_no_column] * len(cases)
    col_row = np.column_stack([table.numbers("x"), table.numbers("y")])
    is_missing = np.isnan(col_row)
    is_half = is_missing.any(axis=1) & ~is_missing.all(axis=1)
    if is_half.any():
        row = int(is_half.argmax())
        raise ColumnError(
            f"{table.location(row)}: only one of x and y is given", column="x", rows=[row], path=table.file
        )
    rows_of_task: dict[tuple[str, str], list[int]] = {}
    for row, case_and_task in enumerate(zip(cases, tasks, strict=True)):
        rows_of_task.setdefault(case_and_task, []).append(row)
    values: dict[str, dict[str, np.ndarray]] = {}
    for (case, task), rows in rows_of_task.items():
        marked = [row for row in rows if not is_missing[row].any()]
        values.setdefault(case, {})[task] = col_row[marked][:, ::-1]
    return ValuesByCaseAndTask(table.file, values, shapes={})


def _is_no_probability(values: np.ndarray) -> np.ndarray:
    """Return True for each number outside 0 to 1, False for NaN."""
    return (values < 0) | (values > 1)


def _is_no_label(values: np.ndarray) -> np.ndarray:
    """Return True for each number other than 0, 1 and NaN."""
    return ~np.isin(values, (0, 1)) & ~np.isnan(values)


def _is_not_finite_and_positive(values: np.ndarray) -> np.ndarray:
    """Return True for each number that is not finite and positive, NaN included."""
    return ~(np.isfinite(values) & (values > 0))
