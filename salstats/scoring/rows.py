"""Rows of scores as a frame: every column in its type, and no optional column that is empty."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from salstats.frames import integer_column, text_column
from salstats.study import Case, Series

# Kinds of columns. NAME is text, WHOLE whole numbers and FLAG truth values that are never missing; TEXT,
# COUNT and TRUTH are the same, but may be missing.
NAME = "name"
TEXT = "text"
NUMBER = "number"
COUNT = "count"
WHOLE = "whole"
TRUTH = "truth"
FLAG = "flag"


def _floats_or_nan(values: list[Any]) -> np.ndarray:
    """Return numbers in float64; None becomes NaN."""
    return np.array(values, dtype=np.float64)


def _integers(values: list[Any]) -> np.ndarray:
    """Return whole numbers, of which none is missing."""
    return np.array(values, dtype=np.int64)


def _nullable_booleans(values: list[Any]) -> Any:
    """Return truth values that may be missing."""
    return pd.array(values, dtype="boolean")


def _booleans(values: list[Any]) -> np.ndarray:
    """Return truth values, of which none is missing."""
    return np.array(values, dtype=bool)


_CONVERTERS: dict[str, Callable[[list[Any]], Any]] = {
    NAME: list,
    TEXT: text_column,
    NUMBER: _floats_or_nan,
    COUNT: integer_column,
    WHOLE: _integers,
    TRUTH: _nullable_booleans,
    FLAG: _booleans,
}


def row_identifiers(case: Case, task: str, series: Series) -> dict[str, Any]:
    """Return the names in a row: case, patient and task, and the parts of the series' name."""
    return {"case": case.case, "patient": case.patient, "task": task, **vars(series)}


def frame_of(rows: Iterable[Mapping[str, Any]], kind_by_column: Mapping[str, str]) -> pd.DataFrame:
    """Return rows as a frame with these columns, each of its kind; a key that a row lacks is missing."""
    rows = list(rows)
    values = {}
    for name, kind in kind_by_column.items():
        convert = _CONVERTERS[kind]
        values[name] = convert([row.get(name) for row in rows])
    return pd.DataFrame(values)


def drop_empty_columns(frame: pd.DataFrame, optional_columns: Iterable[str]) -> pd.DataFrame:
    """Return a frame without those of the optional columns in which every value is missing."""
    return frame.drop(columns=[column for column in optional_columns if frame[column].isna().all()])
