"""Descriptive statistics of the scores of each group, and the numbers of a box plot."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_by
from salstats.frames import DEFAULT_BY, ColumnCodes, check_names_of_groups, coded_scores
from salstats.stats.engine.grouping import check_one_metric, index_groups, warn_pooled_methods
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.score_reasons import (
    is_missing_for_absent_finding,
    metric_option_columns_several_where_mixed,
    n_absent_column_if_any,
)
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_compare_in_pairs,
)

#: Number of values at which the density of a group is computed.
_N_DENSITY_VALUES = 101
#: Whiskers of a box reach to the furthest score within this many interquartile ranges of the quartiles.
_WHISKER_REACH_IQRS = 1.5


def describe(
    scores: pd.DataFrame, *, by: str | Sequence[str] | None = None, unit: Unit = None
) -> pd.DataFrame:
    """Descriptive statistics of the scores of each group.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    by : str or sequence of str, optional
        Grouping columns; by default those of metric, method and task that are present.
    unit : str or list of str, optional
        Columns that name the units that are counted; by default patients or else cases, see `summarize`.

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then

        n, n_missing, unit, n_units
            Defined scores, undefined ones (NaN), the name of the units, and units with a defined score. All
            statistics below are those of the defined scores, NaN if there are none.
        mean, sd, median, q1, q3, min, max
            `sd` has the divisor n - 1 and is NaN for one score; quartiles are by NumPy's linear rule (R's
            type 7).
        n_zero, share_zero, n_one, share_one
            Scores of exactly 0 and of exactly 1, and their shares of n, 0 to 1: for a hit (0/1) the misses
            and hits, for an overlap the scores at the ends of its range.
        binary
            True if every score is 0 or 1.
        n_absent
            If there are any, the undefined scores of absent findings, which `n_missing` includes.
        n_shared, caution
            If methods have scores of different cases: the number of cases that all methods have, and
            "different cases" for methods that lack many, see `summarize`.

    Raises
    ------
    ColumnError
        The frame is not a scores frame; a grouping column is missing or has empty cells; several metrics
        would be taken together.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame(
    ...     {"case": ["a", "b", "c", "d"], "method": "gradcam", "metric": "hit", "score": [1.0, 0, 1, None]}
    ... )
    >>> ss.describe(scores)[["metric", "n", "n_missing", "mean", "median", "n_one", "share_one", "binary"]]
      metric  n  n_missing      mean  median  n_one  share_one  binary
    0    hit  3          1  0.666667     1.0      2   0.666667    True
    """
    coded = coded_scores(scores)
    columns = check_by(scores, by, DEFAULT_BY)
    check_one_metric(coded, columns)
    warn_pooled_methods(scores, columns)
    units = resolve_unit(coded, unit)
    codes, keys = index_groups(coded, columns)
    values = pd.Series(scores["score"].to_numpy(dtype=np.float64))
    groups = values.groupby(codes)
    n = groups.count()
    n_zero = values.eq(0).groupby(codes).sum()
    n_one = values.eq(1).groupby(codes).sum()
    defined = values.notna().to_numpy()
    described = pd.DataFrame(
        {
            "n": n,
            "n_missing": groups.size() - n,
            "unit": units.name,
            "n_units": pd.Series(units.codes[defined]).groupby(codes[defined]).nunique(),
            "mean": groups.mean(),
            "sd": groups.std(),
            "median": groups.median(),
            "q1": groups.quantile(0.25),
            "q3": groups.quantile(0.75),
            "min": groups.min(),
            "max": groups.max(),
            "n_zero": n_zero,
            "share_zero": n_zero / n,
            "n_one": n_one,
            "share_one": n_one / n,
            "binary": (n > 0) & (n_zero + n_one == n),
        }
    )
    described["n_units"] = described["n_units"].fillna(0).astype(np.int64)
    absent = n_absent_column_if_any(keys, scores.loc[is_missing_for_absent_finding(scores), columns], scores)
    scoring_columns = pd.DataFrame(
        {**absent, **metric_option_columns_several_where_mixed(scores, keys)}, index=keys.index
    )
    check_names_of_groups(columns, [*described.columns, *scoring_columns.columns])
    frame = pd.concat([keys, described, scoring_columns], axis=1)
    return add_n_shared_by_methods_and_cautions(
        frame, coded, columns, lambda: advice_to_compare_in_pairs(scores)
    )


class BoxValues(NamedTuple):
    """Numbers of the boxes of groups, and the scores beyond their whiskers."""

    #: The frame of `describe`, with `whisker_low` and `whisker_high`, the furthest scores within 1.5 times
    #: q3 - q1 of the quartiles and never inside the box, and `n_outside`, the number of scores beyond.
    boxes: pd.DataFrame
    #: Grouping columns and `score` of each score beyond.
    outside: pd.DataFrame


def box_values(scores: pd.DataFrame, by: str | Sequence[str] | None = None) -> BoxValues:
    """Compute the numbers of each group's box, and find the scores that lie beyond its whiskers.

    Quartiles are R's type 7, as in ggplot2's boxes; R's `boxplot` takes Tukey's fourths instead.
    """
    boxes = describe(scores, by=by)
    columns = list(boxes.columns[: boxes.columns.get_loc("n")])
    codes, _ = index_groups(ColumnCodes(scores), columns)
    values = scores["score"].to_numpy(dtype=np.float64)
    q1 = boxes["q1"].to_numpy()
    q3 = boxes["q3"].to_numpy()
    reach = _WHISKER_REACH_IQRS * (q3 - q1)
    is_outside = (values < (q1 - reach)[codes]) | (values > (q3 + reach)[codes])
    inside = pd.Series(np.where(is_outside, np.nan, values)).groupby(codes)
    boxes = boxes.assign(
        whisker_low=np.fmin(inside.min().to_numpy(), q1),
        whisker_high=np.fmax(inside.max().to_numpy(), q3),
        n_outside=np.bincount(codes[is_outside], minlength=len(boxes)),
    )
    outside = scores.loc[is_outside, [*columns, "score"]].reset_index(drop=True)
    return BoxValues(boxes, outside)


def density_curves(frame: pd.DataFrame, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Density of the defined values of a column in each group, from the smallest to the largest of them.

    The kernel is Gaussian and its bandwidth the rule of Silverman (1986, eq. 3.31), R's `bw.nrd0`. The curve
    is not continued beyond the data, as in ggplot2's violins, and is not normalised to this range. Groups
    whose values are all equal have no curve. The frame has the columns of `by`, `value` and `density`.
    """
    columns = [*by, "value", "density"]
    curves = []
    for _, rows in frame.dropna(subset=[column]).groupby(list(by), observed=True, sort=False):
        values = rows[column].to_numpy(dtype=np.float64)
        if values.min() == values.max():
            continue
        grid = np.linspace(values.min(), values.max(), _N_DENSITY_VALUES)
        keys = rows[list(by)].iloc[np.zeros(len(grid), dtype=np.intp)].reset_index(drop=True)
        curves.append(keys.assign(value=grid, density=gaussian_density(values, grid)))
    if not curves:
        return pd.DataFrame(columns=columns)
    return pd.concat(curves, ignore_index=True)[columns]


def gaussian_density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Kernel density of values, not all of them equal, at each number of a grid."""
    # Silverman's rule; the range is 0 where more than half of the values are equal
    sd = values.std(ddof=1)
    quartiles = np.quantile(values, [0.25, 0.75])
    spread = min(sd, (quartiles[1] - quartiles[0]) / 1.34) or sd
    bandwidth = 0.9 * spread * len(values) ** -0.2
    distances = (grid[:, np.newaxis] - values) / bandwidth
    kernel = np.exp(-(distances**2) / 2) / np.sqrt(2 * np.pi)
    density: np.ndarray = kernel.mean(axis=1) / bandwidth
    return density
