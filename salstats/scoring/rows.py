"""Rows of scores as a frame: every column in its type, and none that says nothing."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from salstats.frames import integer_column, text_column
from salstats.study import Case, Series

#: How the values of a column are stored: names there are always, texts and counts may be missing.
NAME, TEXT, NUMBER, COUNT, WHOLE, TRUTH, FLAG = "name", "text", "number", "count", "whole", "truth", "flag"
_STORED: dict[str, Callable[[list[Any]], Any]] = {
    NAME: list,
    TEXT: text_column,
    NUMBER: lambda values: np.array([np.nan if v is None else v for v in values], dtype=np.float64),
    COUNT: integer_column,
    WHOLE: lambda values: np.array(values, dtype=np.int64),
    TRUTH: lambda values: pd.array(values, dtype="boolean"),
    FLAG: lambda values: np.array(values, dtype=bool),
}


def names_of(case: Case, task: str, series: Series) -> dict[str, Any]:
    """What a row is about: case, patient and task, and the parts of a series' name."""
    return {"case": case.case, "patient": case.patient, "task": task, **vars(series)}


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """Rows as a frame of some columns, each with its kind; what a row does not say is missing."""
    rows = list(rows)
    return pd.DataFrame({name: _STORED[kind]([r.get(name) for r in rows]) for name, kind in columns.items()})


def without_empty(frame: pd.DataFrame, optional: Iterable[str]) -> pd.DataFrame:
    """A frame without those of the optional columns that say nothing."""
    return frame.drop(columns=[c for c in optional if frame[c].isna().all()])
