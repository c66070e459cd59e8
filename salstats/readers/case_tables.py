"""Tables with a row per case: probabilities of a model, and sizes of pixels."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from salstats.errors import ColumnError
from salstats.readers.cells import PathLike
from salstats.readers.tables import read_format_table

_SPACING = ("row_mm", "col_mm")


class CasePrediction(NamedTuple):
    """A model's probability (0 to 1) and the label (0 or 1) of a case; NaN where one is not known."""

    prob: float
    label: float


def read_predictions(path: PathLike) -> dict[str, CasePrediction]:
    """Read the probability (0 to 1) and the label (0 or 1) of each case.

    NaN where a cell is empty, and for all labels of a table without them.
    """
    table = read_format_table(Path(path), ColumnError)
    table.check_columns(("case", "prob"), "predictions have case and prob, and may have label")
    cases = table.cases()
    probs = table.numbers("prob", _is_no_probability, "is not between 0 and 1")
    labels = np.full(len(table), np.nan)
    if "label" in table.columns:
        labels = table.numbers("label", _is_no_label, "is not 0 or 1")
    predictions = map(CasePrediction, probs.tolist(), labels.tolist())
    return dict(zip(cases, predictions, strict=True))


def read_spacing(path: PathLike) -> dict[str, tuple[float, float]]:
    """Read the size of a pixel of each case in mm: from one row to the next, and from column to column."""
    table = read_format_table(Path(path), ColumnError)
    table.check_columns(("case", *_SPACING), f"it needs case, {' and '.join(_SPACING)}")
    problem = "is no size; it is a positive number, mm per pixel"
    row_mm = table.numbers("row_mm", _is_no_size, problem)
    col_mm = table.numbers("col_mm", _is_no_size, problem)
    sizes = zip(row_mm.tolist(), col_mm.tolist(), strict=True)
    return dict(zip(table.cases(), sizes, strict=True))


def _is_no_probability(values: np.ndarray) -> np.ndarray:
    """Return which numbers lie outside 0 to 1; NaN does not."""
    return (values < 0) | (values > 1)


def _is_no_label(values: np.ndarray) -> np.ndarray:
    """Return which numbers are none of 0, 1 and NaN."""
    return ~np.isin(values, (0, 1)) & ~np.isnan(values)


def _is_no_size(values: np.ndarray) -> np.ndarray:
    """Return which numbers are not finite and positive."""
    return ~(np.isfinite(values) & (values > 0))
