"""Letter values of covariates: median, fourths, eighths and so on, as far out as the data support them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from salstats.checks import (
    check_by,
    check_columns,
    check_count,
    check_frame,
    check_level,
    check_numeric,
)
from salstats.errors import ColumnError, SalstatsError, Setting
from salstats.frames import checked_table_codes, dataset_and_case_columns
from salstats.stats.engine.grouping import index_groups
from salstats.stats.engine.wide_tables import values_of_observations

#: Median, fourths, eighths, D, C, B, A, then Z backwards; M stands for the median only.
LETTERS = "MFEDCBAZYXWVUTSRQPONLKJIHG"
#: The letter of the rows that hold single values beyond the last letter value.
OUTSIDE = "outside"


def letter_values(
    frame: pd.DataFrame,
    columns: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    n_letters: int | None = None,
    level: float = 0.95,
    outside: bool = True,
) -> pd.DataFrame:
    """Letter values of covariates: median, fourths, eighths, ... and what lies outside them.

    The i-th pair of letter values cuts off about 2^-i of the observations at each end. An observation is a
    case, or a case and task where there are tasks: a scores frame repeats it for every method and metric,
    and here it counts once.

    Parameters
    ----------
    frame : DataFrame
        A scores or features frame, or any table; without a column `case` each row is an observation.
    columns : str or sequence of str
        The covariates: numeric columns, NaN where missing.
    by : str or sequence of str, optional
        Grouping columns; by default `task` where it is there. A covariate that differs between a case's
        models, readers or the like needs that column here.
    n_letters : int, optional
        Number of letters, including the median, to depth 1 at most; by default as many as can be trusted.
    level : float
        Confidence level of trusted letters: the last letter is the first whose confidence interval would
        reach the next one.
    outside : bool
        Add the single values beyond the last letter.

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then

        covariate
            The column's name; covariates have the order of `columns`.
        letter
            M (median), F (fourths), E (eighths), D, C, B, A, Z, Y, ...; then "outside", one row for each
            depth at which a value lies beyond the last letter, the extremes last.
        depth, tail_share
            Position of the value counted from either end, a half being the mean of two neighbours; and the
            nominal share of observations beyond each of the two values: 1/2, 1/4, 1/8, ..., NaN outside.
        low, high
            The lower and upper letter value, equal for M; outside, the values at that depth from below and
            from above, NaN where that side has no value at that depth.
        n, n_missing, n_outside
            Observations with a value, those without, and values outside. A group without any has one row, M,
            whose values are NaN.

    Raises
    ------
    ColumnError, ValueRangeError
        A column is missing, not numeric, or named twice; a covariate has two values for one case (and task);
        a level outside (0, 1), fewer than one letter.

    Notes
    -----
    Depths are Tukey's: d(1) = (1 + n)/2, d(i + 1) = (1 + floor(d(i)))/2. By default there are
    floor(log2(n / (2 z^2))) + 1 letters with z the normal quantile of (1 + level)/2, at least one: the
    default rule of the R package lvplot (`k_depth="trustworthy"` of seaborn's boxenplot, whose own default
    draws about as many, and which interpolates percentiles instead of using depths).

    Where a covariate is NaN in some rows of a case (and task) and a number in others, the number counts.

    References
    ----------
    Hofmann H, Wickham H, Kafadar K. Letter-value plots: boxplots for large data. Journal of Computational
    and Graphical Statistics 2017. doi:10.1080/10618600.2017.1305277

    Examples
    --------
    >>> import salstats as ss
    >>> values = ss.letter_values(ss.datasets.load_simulated(), "elongation")
    >>> values[["task", "letter", "depth", "low", "high", "n", "n_missing"]].head(3).round(2)
              task letter  depth   low  high    n  n_missing
    0  Atelectasis      M   68.5  1.84  1.84  136         58
    1  Atelectasis      F   34.5  1.55  2.41  136         58
    2  Atelectasis      E   17.5  1.31  2.88  136         58
    """
    check_frame(frame, "frame")
    covariates = [columns] if isinstance(columns, str) else list(columns)
    if not covariates:
        raise SalstatsError(Setting("columns"), " is empty", hint="name at least one covariate")
    if len(set(covariates)) < len(covariates):
        raise ColumnError(Setting("columns"), " names a covariate twice")
    check_columns(frame, covariates, "frame")
    groups = check_by(frame, by, ("task",), "frame")
    check_level(level)
    if n_letters is not None:
        check_count(n_letters, "n_letters")
    observations = _covariates_by_observation(frame, covariates, groups)
    keys = observations.keys
    tables = []
    for group in range(len(keys)):
        is_in_group = observations.groups == group
        for covariate in covariates:
            values = observations.values[covariate][is_in_group]
            letters = _letter_value_rows(values, n_letters, level, outside=outside)
            group_of_row = np.full(len(letters), group)
            table = {column: keys[column].array.take(group_of_row) for column in keys.columns}
            table["covariate"] = covariate
            table |= {str(column): letters[column] for column in letters.columns}
            tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


class _Observations(NamedTuple):
    """Covariates with one value per case and task, of every group."""

    #: (n_observations,): Values of each covariate.
    values: dict[str, np.ndarray]
    #: (n_observations,): Group of each observation.
    groups: NDArray[np.integer]
    #: Grouping columns of each group.
    keys: pd.DataFrame


def _covariates_by_observation(frame: pd.DataFrame, covariates: list[str], by: list[str]) -> _Observations:
    """Return the covariates of each case and task; without a column `case` every row is an observation."""
    observation_columns = dataset_and_case_columns(frame)
    if "task" in frame.columns:
        observation_columns.append("task")
    observation_columns = list(dict.fromkeys([*observation_columns, *by]))
    coded = checked_table_codes(frame, covariates, "frame")
    codes = np.arange(len(frame))
    if "case" in frame.columns:
        codes = coded.combined(observation_columns)
    first_rows = np.unique(codes, return_index=True)[1]
    groups, keys = index_groups(coded.take(first_rows), by)
    values = {}
    for covariate in covariates:
        check_numeric(frame, covariate, "frame")
        covariate_values = values_of_observations(
            frame, codes, observation_columns, covariate, np.arange(len(frame))
        )
        values[covariate] = np.asarray(covariate_values, dtype=np.float64)
    return _Observations(values, groups, keys)


def _letter_value_rows(
    values: np.ndarray, n_letters: int | None, confidence_level: float, *, outside: bool
) -> pd.DataFrame:
    """Return the letter values of one covariate in one group; with `outside` also values beyond the last."""
    ordered = np.sort(values[~np.isnan(values)])
    n = len(ordered)
    if n:
        depths = depths_of_letter_values(n, n_letters or n_trusted_letters(n, confidence_level))
        low = _values_at_depths_from_start(ordered, depths)
        high = _values_at_depths_from_start(ordered[::-1], depths)
    else:
        depths = np.array([np.nan])
        low = np.array([np.nan])
        high = np.array([np.nan])
    beyond_low = ordered[ordered < low[-1]]
    beyond_high = ordered[ordered > high[-1]][::-1]
    letters = pd.DataFrame(
        {
            "letter": list(LETTERS[: len(depths)]),
            "depth": depths,
            "tail_share": 0.5 ** np.arange(1, len(depths) + 1),
            "low": low,
            "high": high,
        }
    )
    if outside and (len(beyond_low) or len(beyond_high)):
        letters = pd.concat(
            [letters, _low_and_high_outside_values_by_depth(beyond_low, beyond_high)], ignore_index=True
        )
    n_outside = len(beyond_low) + len(beyond_high)
    return letters.assign(n=n, n_missing=len(values) - n, n_outside=n_outside)


def n_trusted_letters(n: int, level: float) -> int:
    """Return the number of letters of n observations whose interval does not reach the next, at least 1."""
    observations_per_letter = 2 * float(ndtri((1 + level) / 2)) ** 2
    return max(1, int(np.floor(np.log2(n / observations_per_letter))) + 1)


def depths_of_letter_values(n_observations: int, n_letter_values: int) -> np.ndarray:
    """Return the depth, the rank from the nearer end, of each letter value, to depth 1 at most."""
    depths = [(1 + n_observations) / 2]
    while len(depths) < min(n_letter_values, len(LETTERS)) and depths[-1] > 1:
        depths.append((1 + np.floor(depths[-1])) / 2)
    return np.array(depths, dtype=np.float64)


def _values_at_depths_from_start(ordered: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Return the values at depths: the first value has depth 1, a half is the mean of two neighbours."""
    lower = np.floor(depths).astype(np.int64) - 1
    upper = np.ceil(depths).astype(np.int64) - 1
    values: np.ndarray = (ordered[lower] + ordered[upper]) / 2
    return values


def _low_and_high_outside_values_by_depth(
    low_outside_values: np.ndarray, high_outside_values: np.ndarray
) -> pd.DataFrame:
    """Return a row per depth for the values below and above the last letter, the extremes last.

    Both arrays begin with their most extreme value.
    """
    deepest = max(len(low_outside_values), len(high_outside_values))
    padded_low = np.concatenate([low_outside_values, np.full(deepest - len(low_outside_values), np.nan)])
    padded_high = np.concatenate([high_outside_values, np.full(deepest - len(high_outside_values), np.nan)])
    return pd.DataFrame(
        {
            "letter": OUTSIDE,
            "depth": np.arange(deepest, 0, -1, dtype=np.float64),
            "tail_share": np.nan,
            "low": padded_low[::-1],
            "high": padded_high[::-1],
        }
    )
