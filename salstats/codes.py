"""Columns as integer codes: what grouping, pairing and finding repeats are made of."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd


class CodedColumn(NamedTuple):
    """A column as integers: sorted codes (missing last), how many there are, and what is lacking."""

    codes: np.ndarray
    n_codes: int
    missing: bool
    blank: bool


class ColumnCodes:
    """Integer codes of a frame's columns, each column's found once however often it is asked for."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._known: dict[str, CodedColumn] = {}

    def column(self, name: str) -> CodedColumn:
        """Return a column as integers."""
        if name not in self._known:
            self._known[name] = code_column(self.frame[name])
        return self._known[name]

    def combined(self, columns: Sequence[str]) -> np.ndarray:
        """Return one dense integer code per row for a combination of columns, in sorted order.

        Missing cells count as a value of their own.
        """
        codes = np.zeros(len(self.frame), dtype=np.int64)
        n_codes = 1
        for column in columns:
            part = self.column(column)
            codes = part.codes if n_codes == 1 else codes * part.n_codes + part.codes
            n_codes *= part.n_codes
            if n_codes > 4 * len(self.frame):
                codes, n_codes = _dense(codes, n_codes)
        return _dense(codes, n_codes)[0]


def combined_codes(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Return one dense integer code per row for a combination of columns; see `ColumnCodes.combined`."""
    return ColumnCodes(frame).combined(columns)


def code_column(column: pd.Series) -> CodedColumn:
    """Return a column as integers; `blank` says whether one of its values is an empty text."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy(dtype=np.int64)
        values = column.cat.categories
        blank = bool((values == "").any()) and bool((column == "").any())
    else:
        raw, values = pd.factorize(column, sort=True)
        codes = np.asarray(raw, dtype=np.int64)
        # the empty text sorts before every other
        blank = len(values) > 0 and isinstance(values[0], str) and values[0] == ""
    n_codes = len(values)
    missing = bool((codes < 0).any())
    if missing:
        codes = np.where(codes < 0, n_codes, codes)
        n_codes += 1
    return CodedColumn(codes, max(n_codes, 1), missing, blank)


def _dense(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, int]:
    """Return codes renumbered without gaps, keeping their order."""
    if n_codes <= 50 * max(len(codes), 1):
        seen = np.zeros(n_codes, dtype=bool)
        seen[codes] = True
        renumbered = np.cumsum(seen) - 1
        return renumbered[codes], int(seen.sum())
    values, dense = np.unique(codes, return_inverse=True)
    return dense.astype(np.int64), len(values)
