"""Rows of scores as a frame: every column in its type, and none that says nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.frames import text_column, whole_column


def _numbers(values: Iterable[Any]) -> Any:
    """Numbers as a column, missing ones NaN."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _truths(values: Iterable[bool | None]) -> Any:
    """Whether something holds as a column, which may not be known."""
    return pd.array(list(values), dtype="boolean")


def _flags(values: Iterable[bool]) -> Any:
    """Whether something holds as a column, always known."""
    return np.array(list(values), dtype=bool)


def _whole(values: Iterable[int]) -> Any:
    """Whole numbers as a column, none missing."""
    return np.array(list(values), dtype=np.int64)


#: How the values of a column are stored: names there are always, texts and counts may be missing.
NAME, TEXT, NUMBER, COUNT, WHOLE, TRUTH, FLAG = "name", "text", "number", "count", "whole", "truth", "flag"
_STORED: dict[str, Callable[[Iterable[Any]], Any]] = {
    NAME: list, TEXT: text_column, NUMBER: _numbers, COUNT: whole_column, WHOLE: _whole, TRUTH: _truths,
    FLAG: _flags,
}  # fmt: skip


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """Rows as a frame of some columns, each with its kind; what a row does not say is missing."""
    return pd.DataFrame({name: _STORED[kind](r.get(name) for r in rows) for name, kind in columns.items()})


def without_empty(frame: pd.DataFrame, optional: Iterable[str]) -> pd.DataFrame:
    """A frame without those of the optional columns that say nothing."""
    return frame.drop(columns=[c for c in optional if frame[c].isna().all()])
