"""Standard deviation of scores within a case, whose map is made again by another seed or another training."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, check_columns
from salstats.errors import ColumnError, Message, Setting, warn
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, coded_scores, estimates_frame
from salstats.stats.engine.estimands import Cells, Estimand, Target, quiet_ratio, sum_cells
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import check_one_metric, index_groups, warn_pooled_methods
from salstats.stats.engine.inference import infer
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_keep_shared_cases,
)

#: Columns whose values are repetitions of a case.
_REPETITION_COLUMNS = ("seed", "model")
#: Values of these columns that name a mean over trainings.
_MEAN_NAMES = ("mean", "ensemble")
#: 95 % of the differences of two scores of a case are smaller than this times the SD within a case.
_REPEATABILITY_FACTOR = 1.96 * np.sqrt(2)


def within_case_sd(
    scores: pd.DataFrame,
    *,
    over: str = "seed",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Standard deviation of a score within a case, over seeds or trainings, for each group.

    A small value means that the score is repeatable: the same image gets the same score again. It is the root
    of the mean of the cases' variances, and NaN if no case of a group was scored twice.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with a column `seed` or `model`.
    over : str, default "seed"
        The column whose values are the repetitions: `seed` or `model`.
    by : str or sequence of str, optional
        Grouping columns; by default those of `metric`, `method`, `task` and `model` that are present, without
        `over`.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("within_case_sd")`; by default `percentile`. All are made from
        bootstrap replicates.
    level : float
        Confidence level.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.

    Returns
    -------
    DataFrame
        An estimates frame, one row per group, sorted:

        - the grouping columns;
        - `term` ("within_case_sd"), `estimate`, `std_error` (standard deviation of the replicates),
          `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`, `inference_to`;
        - `n`, the cases (of each task, method and model in the group) with two or more defined scores, 0 for
          a group without repetitions; `n_missing`, the other cases; `n_units`, `n_undefined` replicates,
          `bias`;
        - `over`, as given; `n_repeats`, the mean number of scores of the n cases; `mean`, their mean score;
        - `repeatability`, 2.77 times the estimate: two scores of a case differ by less in 19 of 20 cases, if
          the spread is normal and equal for all cases, which it is not for hits;
        - `icc`, the share of the variance that lies between cases, from a one-way analysis of variance
          (McGraw and Wong's ICC(1)): near 1 the cases can be told apart well, at 0 or below they cannot; NaN
          for one case;
        - `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        A column or an option is invalid; `over` is in `by` or is neither `seed` nor `model`; a column of `by`
        differs between the repetitions of a case; no case was scored twice.

    Notes
    -----
    Cases are resampled, and the seeds or trainings are fixed: with few of them the interval shows how precise
    the standard deviation of *these* is. The variance of a case over k repetitions has k - 1 degrees of
    freedom, and cases are weighted by these. A shift of one training against another that all cases share
    counts as variation within cases. The mean of several trainings' maps is not a repetition of them: leave
    it out (a value "mean" or "ensemble" gives a warning).

    The intervals are too short with few cases.

    References
    ----------
    Bland JM, Altman DG. Measurement error. BMJ 1996;313:744. https://doi.org/10.1136/bmj.313.7059.744

    McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients. Psychological
    Methods 1996;1:30-46. https://doi.org/10.1037/1082-989X.1.1.30

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> first = [i / 24 for i in range(24)]
    >>> again = [score + 0.1 * (i % 3) for i, score in enumerate(first)]
    >>> scores = pd.DataFrame({"case": [f"c{i:02}" for i in range(24)] * 2, "method": "rise", "metric": "nss",
    ...     "seed": ["0"] * 24 + ["1"] * 24, "score": first + again})
    >>> spread = ss.within_case_sd(scores)
    >>> spread[["estimate", "n", "over", "n_repeats", "icc"]].round(3)
       estimate   n  over  n_repeats    icc
    0     0.091  24  seed        2.0  0.913
    """
    # The limits of these intervals depend only on the order of replicates, so the root of limits is right.
    options = checked_options("within_case_sd", interval, level, n_replicates, rng, draws)
    codes = coded_scores(scores)
    check_columns(scores, [over])
    columns = check_by(scores, by, [column for column in (*DEFAULT_BY, "model") if column != over])
    if over in columns:
        raise ColumnError(
            Setting("over", over),
            " is what is repeated, so it may not be in ",
            Setting("by"),
            f" ({', '.join(columns)})",
            column=over,
        )
    if over not in _REPETITION_COLUMNS:
        raise ColumnError(
            Setting("over", over),
            " does not tell repetitions of a case apart",
            hint="take 'seed' or 'model'",
            choices=_REPETITION_COLUMNS,
        )
    check_one_metric(codes, columns)
    warn_pooled_methods(scores, columns)
    warn_if_repetition_is_mean(scores[over].dropna(), over)
    units = resolve_unit(codes, unit)
    # A series holds the scores that differ in `over` only.
    series_of_row = codes.combined([c for c in KEY_COLUMNS if c in scores.columns and c != over])
    first_rows = np.unique(series_of_row, return_index=True)[1]
    values = scores["score"].to_numpy(dtype=np.float64)
    series = _counts_means_and_sums_of_squares_of_series(values, series_of_row, n_series=len(first_rows))
    group_of_row, keys = index_groups(codes, columns)
    groups = group_of_row[first_rows]
    _check_repetitions_in_one_group(
        scores, columns, over, series_of_row, group_of_row != groups[series_of_row]
    )
    n_repeated = np.bincount(groups, series.df > 0, len(keys)).astype(np.int64)
    if not n_repeated.any():
        raise ColumnError(
            f"no case of the scores has two defined ones that differ in {over!r}, so nothing was repeated",
            option="over",
            value=over,
            column="case",
        )
    # Only groups with a repeated case have a variance to resample.
    repeated_groups = np.flatnonzero(n_repeated)
    n_groups = len(repeated_groups)
    series_units = units.codes[first_rows]
    squares = sum_cells(series.squares, series_units, units.n, groups, len(keys)).sums[:, repeated_groups]
    df = sum_cells(series.df, series_units, units.n, groups, len(keys)).sums[:, repeated_groups]
    n_missing = np.zeros(n_groups, dtype=np.int64)
    # The mean of a cell is the variance within cases: squares over their degrees of freedom.
    cells = Cells(sums=squares, counts=df, n_missing=n_missing, sample=np.arange(n_groups))
    repeated_keys = keys.iloc[repeated_groups].reset_index(drop=True)
    estimand = Estimand("mean", np.eye(n_groups))
    target = Target("within_case_sd", cells, estimand, repeated_keys, n_missing)
    # A method that does not depend on the seed has an SD of 0, which needs no warning.
    variances = infer(target, options, allow_constant_scores=True)
    assert variances.replicates is not None
    sd_replicates = pd.DataFrame(np.sqrt(variances.replicates))
    sd = np.sqrt(variances.estimate)
    estimates = pd.DataFrame(
        {
            "estimate": sd,
            "std_error": sd_replicates.std(),
            "conf_low": np.sqrt(variances.conf_low),
            "conf_high": np.sqrt(variances.conf_high),
            "n_units": variances.n_units,
            "n_undefined": variances.n_undefined,
            "bias": sd_replicates.mean() - sd,
        }
    )
    estimates = estimates.set_axis(repeated_groups).reindex(range(len(keys)))
    estimates = estimates.fillna({"n_units": 0, "n_undefined": 0}).astype(
        {"n_units": "int64", "n_undefined": "int64"}
    )
    table: dict[str, Any] = {"term": "within_case_sd"}
    table |= {str(name): estimates[name].to_numpy() for name in estimates.columns}
    table |= {"conf_level": level, "interval": options.interval.name, "unit": units.name}
    table |= inference_to_column_if_any(scores, units.codes, keys)
    table |= {"n": n_repeated, "n_missing": np.bincount(groups, minlength=len(keys)) - n_repeated}
    special: dict[str, Any] = {"over": over, **_n_repeats_mean_and_icc_columns(series, groups, len(keys))}
    special |= {
        "repeatability": _REPEATABILITY_FACTOR * table["estimate"],
        **options.n_replicates_column_if_any(),
    }
    frame = estimates_frame(keys, table, special)
    return add_n_shared_by_methods_and_cautions(
        frame, codes, columns, lambda: advice_to_keep_shared_cases(scores)
    )


def warn_if_repetition_is_mean(values: Iterable[object], over: str) -> None:
    """Warn if one of several repetitions is a mean over the others, by its name."""
    distinct = set(values)
    means = sorted(str(value) for value in distinct if value in _MEAN_NAMES)
    if means and len(distinct) > 1:
        warn(
            f"{over} has the value {means[0]!r}: if it is a mean over the others it is not a repetition "
            "of them, and scores look more repeatable than they are",
            hint="leave it out",
            column=over,
            value=means[0],
        )


def _check_repetitions_in_one_group(
    scores: pd.DataFrame,
    columns: Sequence[str],
    over: str,
    series_of_row: NDArray[np.integer],
    is_other_group: NDArray[np.bool_],
) -> None:
    """Raise ColumnError if the repetitions of a case are in several groups.

    `is_other_group` (n_rows,) marks rows that are in another group than the first row of their series.
    """
    if is_other_group.any():
        split_series = series_of_row[int(np.flatnonzero(is_other_group)[0])]
        rows = scores[series_of_row == split_series]
        column = next(c for c in columns if rows[c].nunique(dropna=False) > 1)
        raise ColumnError(
            f"column {column!r} of by differs between the values of {over!r} of case {rows['case'].iloc[0]}, "
            "so its scores would be in several groups",
            hint=Message("leave it out of ", Setting("by")),
            column=column,
            rows=np.flatnonzero(series_of_row == split_series).tolist(),
        )


class _RepeatedScores(NamedTuple):
    """Repeated scores of each case, without undefined ones; arrays of shape (n_series,)."""

    n: np.ndarray
    mean: np.ndarray
    #: Sum of squared deviations from the mean, and its degrees of freedom.
    squares: np.ndarray
    df: np.ndarray


def _counts_means_and_sums_of_squares_of_series(
    values: np.ndarray, series_of_row: NDArray[np.integer], n_series: int
) -> _RepeatedScores:
    """Return number, mean and squared deviations of the defined scores of each series."""
    defined = ~np.isnan(values)
    series_of_row = series_of_row[defined]
    values = values[defined]
    n = np.bincount(series_of_row, minlength=n_series).astype(np.float64)
    # Deviations from one of the scores make equal scores differ by exactly 0, without rounding errors.
    origin = np.zeros(n_series)
    origin[series_of_row] = values
    deviations = values - origin[series_of_row]
    mean = origin + quiet_ratio(np.bincount(series_of_row, deviations, n_series), n)
    squares = np.bincount(series_of_row, (values - mean[series_of_row]) ** 2, n_series)
    return _RepeatedScores(n, mean, squares, df=np.maximum(n - 1, 0))


def _n_repeats_mean_and_icc_columns(
    series: _RepeatedScores, groups: NDArray[np.integer], n_groups: int
) -> dict[str, np.ndarray]:
    """Return columns of the mean number of repeats, the mean score and the ICC of each group.

    The intraclass correlation is that of a one-way analysis of variance of cases with unequal numbers n:
    (between - within) / (between + (n0 - 1) within) with n0 = (N - sum n² / N) / (cases - 1).
    """
    is_repeated = series.df > 0
    n = series.n[is_repeated]
    mean = series.mean[is_repeated]
    squares = series.squares[is_repeated]
    groups = groups[is_repeated]

    def sum_by_group(values: np.ndarray) -> np.ndarray:
        """Return the sum of the values of repeated cases in each group, shape (n_groups,)."""
        return np.bincount(groups, values, n_groups)

    n_cases = sum_by_group(np.ones_like(n))
    n_scores = sum_by_group(n)
    grand_mean = quiet_ratio(sum_by_group(n * mean), n_scores)
    between = quiet_ratio(sum_by_group(n * (mean - grand_mean[groups]) ** 2), n_cases - 1)
    within = quiet_ratio(sum_by_group(squares), n_scores - n_cases)
    n0 = quiet_ratio(n_scores - quiet_ratio(sum_by_group(n**2), n_scores), n_cases - 1)
    icc = quiet_ratio(between - within, between + (n0 - 1) * within)
    return {
        "n_repeats": quiet_ratio(n_scores, n_cases),
        "mean": quiet_ratio(sum_by_group(mean), n_cases),
        "icc": np.where(n_cases > 1, icc, np.nan),
    }
