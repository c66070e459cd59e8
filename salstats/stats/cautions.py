"""Cautions: what makes single rows of an estimates frame doubtful, as records that a column names."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.frames import ESTIMATE_COLUMNS, text_column

#: Stands between the names of several cautions of one row.
_SEPARATOR = "; "


@dataclass(frozen=True)
class Caution:
    """A reason to doubt an estimate, its limits or its P value."""

    #: What the column `caution` holds.
    name: str
    #: Sentence for notes, captions and reports: what is doubtful, and what would do instead.
    note: str


DIFFERENT_CASES = Caution(
    "different cases",
    "methods were scored on different cases, so their estimates cannot be compared as they stand; a paired "
    "difference compares them on the cases that both have.",
)
INCOMPLETE_PAIRS = Caution(
    "incomplete pairs",
    "a method has no score of many cases that another has; methods are compared on the cases that all of "
    "them have, which holds for other cases only if those were left out by chance.",
)
SMALL_PILOT = Caution(
    "small pilot",
    "the spread of the pilot is known no better than from 20 normal differences, so many more cases may be "
    "needed; plan for the upper limit of the needed cases, or make the pilot larger.",
)
#: Every caution, in the order in which notes have them.
RECORDS = (DIFFERENT_CASES, INCOMPLETE_PAIRS, SMALL_PILOT)


def add_caution(estimates: pd.DataFrame, caution: Caution, rows: np.ndarray) -> pd.DataFrame:
    """Add a caution to some rows of an estimates frame.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame, which is not changed.
    caution : Caution
        What is to be said.
    rows : ndarray of bool, shape (n_rows,)
        The rows that it concerns.

    Returns
    -------
    DataFrame
        The frame with the column `caution`: names of a row's cautions, missing where it has none. Where no
        row is concerned the frame is returned as it is.
    """
    if not rows.any():
        return estimates
    names: list[str | None] = [None] * len(estimates)
    if "caution" in estimates.columns:
        names = [None if pd.isna(name) else str(name) for name in estimates["caution"]]
    for row in np.flatnonzero(rows):
        before = names[row]
        if before is None:
            names[row] = caution.name
        elif caution.name not in before.split(_SEPARATOR):
            names[row] = before + _SEPARATOR + caution.name
    return _with_column(estimates, text_column(names))


def _with_column(estimates: pd.DataFrame, names: Any) -> pd.DataFrame:
    """Return the frame with the column `caution` where an estimates frame has it."""
    if "caution" in estimates.columns:
        return estimates.assign(caution=names)
    known = [place for place, column in enumerate(estimates.columns) if column in ESTIMATE_COLUMNS]
    frame = estimates.copy()
    frame.insert(known[-1] + 1 if known else len(frame.columns), "caution", names)
    return frame


def rows_by_caution(estimates: pd.DataFrame) -> dict[Caution, np.ndarray]:
    """Return the rows (bool, one per row) that each caution concerns, for those that concern any."""
    if "caution" not in estimates.columns:
        return {}
    names = [set() if pd.isna(name) else set(str(name).split(_SEPARATOR)) for name in estimates["caution"]]
    concerned = {caution: np.array([caution.name in row for row in names], dtype=bool) for caution in RECORDS}
    return {caution: rows for caution, rows in concerned.items() if rows.any()}
