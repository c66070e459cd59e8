"""Sums and counts of scores by unit and group: all that a mean, its replicates and its error need."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, ValueRangeError
from salstats.frames import ColumnCodes, combined_codes

#: Sums that are held at a time: 1.6 GB.
_MOST_CELLS = 200_000_000

AVERAGE = "Average"
OVERALL = "Overall"


@dataclass(frozen=True)
class Cells:
    """Sums of scores per unit and cell, where a cell is a group of rows whose mean is wanted.

    Attributes
    ----------
    keys : DataFrame, n_cells rows
        The grouping columns of each cell.
    sums, counts : ndarray of float64, shape (n_units, n_cells)
        Sum and number of the defined scores of a unit in a cell.
    n_missing : ndarray of int, shape (n_cells,)
        Rows of the cell whose score is undefined.
    sample : ndarray of int, shape (n_cells,)
        Cells with the same number are measured on the same units, as a method and its reference on
        complete pairs: their variances share one number of units.
    """

    keys: pd.DataFrame
    sums: np.ndarray
    counts: np.ndarray
    n_missing: np.ndarray
    sample: np.ndarray

    def means(self) -> np.ndarray:
        """Return the mean of each cell, NaN where nothing is defined."""
        return ratio(self.sums.sum(axis=0), self.counts.sum(axis=0))


def ratio(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sums / counts, NaN where the count is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: np.ndarray = np.true_divide(sums, counts)
    return quotient


def index_groups(
    frame: pd.DataFrame, by: Sequence[str], known: ColumnCodes | None = None
) -> tuple[np.ndarray, pd.DataFrame]:
    """Return each row's group, and the grouping columns of each group in sorted order."""
    if not by:
        return np.zeros(len(frame), dtype=np.int64), pd.DataFrame(index=pd.RangeIndex(1))
    codes = (known or ColumnCodes(frame)).combined(by)
    first = np.empty(int(codes.max()) + 1, dtype=np.int64)
    # the last assignment wins, so going backwards leaves each group's first row
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, frame[list(by)].iloc[first].reset_index(drop=True)


def sum_cells(
    values: np.ndarray, units: np.ndarray, n_units: int, codes: np.ndarray, keys: pd.DataFrame
) -> Cells:
    """Return the cells of a column of scores.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        Scores, NaN where undefined.
    units, codes : ndarray of int, shape (n_rows,)
        Unit and cell of each row.
    n_units : int
        Number of units, also those without a row here.
    keys : DataFrame
        The grouping columns, one row per cell.
    """
    n_cells = len(keys)
    if n_units * n_cells > _MOST_CELLS:
        raise ValueRangeError(
            f"{n_cells} groups of {n_units} units are too many to sum up; group by fewer columns than "
            f"{', '.join(map(str, keys.columns))}"
        )
    place = units * n_cells + codes
    defined = ~np.isnan(values)
    if defined.all():
        counts = np.bincount(place, minlength=n_units * n_cells).astype(np.float64)
        sums = np.bincount(place, weights=values, minlength=n_units * n_cells)
        n_missing = np.zeros(n_cells, dtype=np.int64)
    else:
        kept = place[defined]
        counts = np.bincount(kept, minlength=n_units * n_cells).astype(np.float64)
        sums = np.bincount(kept, weights=values[defined], minlength=n_units * n_cells)
        n_missing = np.bincount(codes[~defined], minlength=n_cells)
    shape = (n_units, n_cells)
    return Cells(keys, sums.reshape(shape), counts.reshape(shape), n_missing, np.arange(n_cells))


def with_overall(cells: Cells, column: str, used: np.ndarray | None = None) -> Cells:
    """Return the cells with one more for each group pooled over `column`, named "Overall" there.

    With `used` (bool, one per cell) only those cells' scores are pooled.
    """
    membership, keys = pool_over(cells.keys, column, OVERALL)
    weights = membership * (1.0 if used is None else used[:, None].astype(np.float64))
    return replace(
        cells,
        keys=append_keys(cells.keys, keys),
        sums=np.hstack([cells.sums, cells.sums @ weights]),
        counts=np.hstack([cells.counts, cells.counts @ weights]),
        n_missing=np.concatenate([cells.n_missing, cells.n_missing @ membership]),
        sample=np.arange(len(cells.keys) + len(keys)),
    )


def pool_over(keys: pd.DataFrame, column: str, label: str) -> tuple[np.ndarray, pd.DataFrame]:
    """Return which groups form each group pooled over `column`, and the pooled groups' keys.

    Returns
    -------
    membership : ndarray of int, shape (n_groups, n_pooled)
        1 where the group belongs to the pooled one.
    pooled : DataFrame
        Keys of the pooled groups, `column` holding `label`; same column order.
    """
    if (keys[column].astype("object") == label).any():
        raise ColumnError(f"column {column!r} holds {label!r}, the name of the row to be added; rename it")
    rest = [c for c in keys.columns if c != column]
    codes, pooled = index_groups(keys, rest)
    membership = np.zeros((len(keys), len(pooled)), dtype=np.int64)
    membership[np.arange(len(keys)), codes] = 1
    pooled[column] = label
    return membership, pooled[list(keys.columns)]


def append_keys(keys: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Return grouping columns with rows added; categorical columns keep their order, new labels last."""
    if not len(added):
        return keys
    keys, added = keys.copy(), added.copy()
    for column in keys.columns:
        if isinstance(keys[column].dtype, pd.CategoricalDtype):
            known = keys[column].cat.categories
            wider = [*known, *(v for v in pd.unique(added[column]) if v not in known)]
            for frame in (keys, added):
                frame[column] = pd.Categorical(frame[column].astype("object"), wider, ordered=True)
    return pd.concat([keys, added], ignore_index=True)


def display_order(keys: pd.DataFrame) -> np.ndarray:
    """Return the order of rows: by the grouping columns in turn, "Overall" and "Average" last.

    `keys` come from `index_groups`, and so in order, with pooled rows appended.
    """
    ranks_of = {OVERALL: 1, AVERAGE: 2}
    special = []
    for column in keys.columns:
        labels = keys[column].to_numpy(dtype=object)
        special.append(np.array([ranks_of.get(v, 0) if isinstance(v, str) else 0 for v in labels]))
    if not any(ranks.any() for ranks in special):
        return np.arange(len(keys))
    ordinary = [combined_codes(keys, [column]) for column in keys.columns]
    # lexsort takes its first key last
    return np.lexsort([k for pair in zip(special, ordinary, strict=True) for k in pair][::-1])
