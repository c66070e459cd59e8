"""Tables with a row per case: what a model said of it, and how large its pixels are."""

from pathlib import Path

import numpy as np

from salstats.errors import ColumnError
from salstats.readers.cells import PathLike
from salstats.readers.tables import read_format_table

_SPACING = ("row_mm", "col_mm")


def read_predictions(path: PathLike) -> dict[str, tuple[float, float]]:
    """Probability (0 to 1) and, where it is there, label (0 or 1) of each case, NaN where a cell is empty."""
    table = read_format_table(Path(path), ColumnError)
    table.check_columns(("case", "prob"), "predictions have case and prob, and may have label")
    cases = table.cases()
    probs = table.numbers("prob", lambda v: (v < 0) | (v > 1), "is not between 0 and 1")
    labels = np.full(len(table), np.nan)
    if "label" in table.columns:
        labels = table.numbers("label", lambda v: ~np.isin(v, (0, 1)) & ~np.isnan(v), "is not 0 or 1")
    return dict(zip(cases, zip(probs.tolist(), labels.tolist(), strict=True), strict=True))


def read_spacing(path: PathLike) -> dict[str, tuple[float, float]]:
    """The size of a pixel of each case in mm: columns `case`, `row_mm` (to the next row) and `col_mm`."""
    table = read_format_table(Path(path), ColumnError)
    table.check_columns(("case", *_SPACING), f"it needs case, {' and '.join(_SPACING)}")
    sizes = [
        table.numbers(
            column,
            lambda v: ~(np.isfinite(v) & (v > 0)),
            "is no size; it is a positive number, mm per pixel",
        ).tolist()
        for column in _SPACING
    ]
    return dict(zip(table.cases(), zip(*sizes, strict=True), strict=True))
