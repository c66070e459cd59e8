"""Which groups an "Average" row is made of, and what makes a mean over rows misleading."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, warn
from salstats.frames import ColumnCodes
from salstats.stats.cells import AVERAGE, index_groups, pool_over
from salstats.stats.grouping import group_label, group_list


def average_over(
    keys: pd.DataFrame, average: str | None, defined: np.ndarray
) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Return which groups enter each "Average" row, and the keys of these rows (none by default).

    Parameters
    ----------
    keys : DataFrame
        Grouping columns of the groups.
    average : str or None
        The grouping column to average over.
    defined : ndarray of bool, shape (n_groups,)
        Groups with an estimate; the others stay out of the average, and a warning names them.

    Returns
    -------
    members, belongs : ndarray, shape (n_groups, n_averages)
        1 where a group enters the average (float64), and where it would if it were defined (int).
    pooled : DataFrame
        Keys of the averages.

    Raises
    ------
    ColumnError
        `average` is not a grouping column, or holds "Average".
    """
    if average is None:
        nothing = np.zeros((len(keys), 0))
        return nothing, nothing.astype(np.int64), keys.iloc[:0]
    if average in ("method", "metric"):
        raise ColumnError(
            f"average={average!r} would mix {average}s; average over tasks, readers or the like"
        )
    if average not in keys.columns:
        raise ColumnError(f"average={average!r} is not a grouping column ({', '.join(keys.columns)})")
    belongs, pooled = pool_over(keys, average, AVERAGE)
    members = belongs * defined[:, None].astype(np.float64)
    _warn_different_members(keys, average, members, pooled)
    return members, belongs, pooled


def _warn_different_members(
    keys: pd.DataFrame, average: str, members: np.ndarray, pooled: pd.DataFrame
) -> None:
    """Warn where averages that stand side by side are not over the same tasks."""
    values = keys[average].astype("str").to_numpy()
    by_metric = "metric" in pooled.columns
    metrics = keys["metric"].astype("str").to_numpy() if by_metric else np.zeros(len(keys))
    lacking = []
    for row in range(len(pooled)):
        side_by_side = metrics == str(pooled["metric"].iloc[row]) if by_metric else metrics == 0
        absent = set(values[side_by_side]) - set(values[members[:, row] > 0])
        if absent:
            rest = group_label(pooled.drop(columns=average), row)
            lacking.append(f"{rest}: {', '.join(sorted(absent))}")
    if lacking:
        warn(f"averages over {average} are not over the same: nothing is defined for {group_list(lacking)}")


def warn_uneven_rows(codes: ColumnCodes, by: Sequence[str]) -> None:
    """Warn where cases of one group have different numbers of readers, models or seeds.

    A mean is over rows, so a case with five seeds counts five times one with a single seed.
    """
    frame = codes.frame
    repeated = [c for c in ("reader", "model", "seed") if c in frame.columns and c not in by]
    if not repeated:
        return
    key = [*by, *(c for c in ("dataset", "case", "task", "method", "metric") if c in frame.columns)]
    key = list(dict.fromkeys(key))
    # an undefined score does not count, so a case with four of five undefined counts once
    defined = frame["score"].notna().to_numpy()
    if not defined.any():
        return
    cases = codes.combined(key)
    groups, names = index_groups(frame, by, codes)
    _, first, per_case = np.unique(cases[defined], return_index=True, return_counts=True)
    group_of_case = groups[defined][first]
    least = np.full(len(names), np.iinfo(np.int64).max)
    most = np.zeros(len(names), dtype=np.int64)
    np.minimum.at(least, group_of_case, per_case)
    np.maximum.at(most, group_of_case, per_case)
    uneven = np.flatnonzero(least < most)
    if len(uneven):
        warn(
            f"cases have {least[uneven].min()} to {most[uneven].max()} rows each ({', '.join(repeated)}) in "
            f"{group_list([group_label(names, int(g)) for g in uneven])}; every row counts, so a case with "
            "more rows counts more: average each case first if that is not meant"
        )
