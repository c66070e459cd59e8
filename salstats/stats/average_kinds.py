"""Rows of averages in a frame of estimates: the rows that each averages, and the kind of average it is."""

from collections.abc import Sequence
from enum import Enum

import numpy as np
import pandas as pd

from salstats.stats.engine.grouping import AVERAGE, OVERALL

#: Relative difference between an average decrease and one of its two definitions that floating-point
#: arithmetic explains.
_DECREASE_TOLERANCE = 1e-9
#: A definition of an average decrease is excluded where its difference from the estimate is this many times
#: that of the other definition, which shows how far the numbers of a frame are rounded.
_EXCLUDING_RATIO = 10
#: Largest error of a number that is printed with three decimals.
_PRINTING_ERROR = 0.0005


class AverageKind(Enum):
    """Definition of an average percentage decrease."""

    OF_MEANS = "decrease of the average scores"
    OF_DECREASES = "average of the decreases"
    #: The numbers of the frame agree with both.
    EITHER = "either"


def averaged_column_mask(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Mask (n_rows, n_keys) of the grouping columns that a row is an average over."""
    return frame[list(keys)].astype("object") == AVERAGE


def member_rows_of_averages(frame: pd.DataFrame, keys: Sequence[str]) -> dict[int, list[int]]:
    """Return for each row that is an average the rows that it averages: its members.

    Their numbers of scores add up to that of the average; the list is empty for an average of which the frame
    lacks some members. `frame` has the columns `term`, `n` and `estimate`, and in comparisons the means of
    both sides.
    """
    averages = averaged_column_mask(frame, keys)
    is_average_row = averages.any(axis=1)
    mean_columns = ["estimate"]
    if "method_mean" in frame.columns:
        mean_columns = ["method_mean", "reference_mean"]
    has_means = frame[mean_columns].notna().all(axis=1)
    members = {}
    for row in np.flatnonzero(is_average_row):
        # A row averages over one column.
        averaged_column = str(averages.columns[int(averages.loc[row].to_numpy().argmax())])
        is_overall = frame[averaged_column].astype("object") == OVERALL
        is_member = ~is_average_row & ~is_overall & has_means
        for column in [*keys, "term"]:
            if column != averaged_column:
                is_member &= frame[column] == frame[column].iloc[row]
        n_of_average = frame["n"].iloc[row]
        if frame.loc[is_member, "n"].sum() != n_of_average:
            # a mean of decreases leaves out those from a reference of 0, which are undefined
            is_member &= frame["estimate"].notna()
        if frame.loc[is_member, "n"].sum() != n_of_average:
            is_member[:] = False
        members[int(row)] = [int(member) for member in np.flatnonzero(is_member)]
    return members


def decrease_of_means_or_mean_of_decreases(
    frame: pd.DataFrame, row: int, members: Sequence[int]
) -> AverageKind:
    """Return the kind of the average percentage decrease in a row, from the numbers of the frame.

    `members` are the rows that count equally in the average. Without any, as where the frame lacks them or
    weights them, it is an average of decreases if it differs from the decrease of the averages by more than
    rounding of the averages to three decimals explains. It is `OF_MEANS` where the decrease is undefined.
    """
    estimate = float(frame["estimate"].iloc[row])
    method_mean = float(frame["method_mean"].iloc[row])
    reference_mean = float(frame["reference_mean"].iloc[row])
    if np.isnan(estimate) or reference_mean == 0:
        return AverageKind.OF_MEANS
    error_of_means = abs(100 * (1 - method_mean / reference_mean) - estimate)
    tolerance = _DECREASE_TOLERANCE * max(100.0, abs(estimate))
    if not members:
        method_share = abs(method_mean / reference_mean)
        rounding = 100 * _PRINTING_ERROR * (1 + method_share) / abs(reference_mean)
        if error_of_means <= max(tolerance, _PRINTING_ERROR):
            return AverageKind.OF_MEANS
        if error_of_means > rounding:
            return AverageKind.OF_DECREASES
        return AverageKind.EITHER
    mean_of_decreases = float(frame["estimate"].iloc[list(members)].mean(skipna=False))
    error_of_decreases = abs(mean_of_decreases - estimate)
    # `not <=` also holds where a member's decrease is NaN.
    if not error_of_decreases <= max(tolerance, _EXCLUDING_RATIO * error_of_means):
        return AverageKind.OF_MEANS
    if not error_of_means <= max(tolerance, _EXCLUDING_RATIO * error_of_decreases):
        return AverageKind.OF_DECREASES
    return AverageKind.EITHER
