"""Rates of pixels pooled over cases, such as precision and recall: ratios of sums, with intervals by unit."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, check_choice, check_columns, check_numeric, quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, SalstatsError
from salstats.frames import KEY_COLUMNS, ColumnCodes, coded_scores, estimates_frame
from salstats.stats.engine.comparisons import (
    fill_missing_keys_from_reference,
    one_sided_pairs_with_missing_side,
    pairs_and_unpaired_rows,
    values_or_nan_at_rows,
)
from salstats.stats.engine.equivalence import lower_or_higher_verdicts
from salstats.stats.engine.estimands import Cells, Estimand, Target, sum_cells, target_of_cells
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import (
    OVERALL,
    GroupedRows,
    display_order,
    group_rows_for_means,
    index_groups,
    pool_over,
)
from salstats.stats.engine.inference import InferredEstimates, infer
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_compare_in_pairs,
    advice_to_count_left_out_cases,
    warn_and_add_caution_of_incomplete_pairs,
)

#: Numbers of pixels of a case: in both masks, in the prediction only, in the truth only, in neither.
COUNT_COLUMNS = ("tp", "fp", "fn", "tn")


class _Rate(NamedTuple):
    """Weights of the counts of pixels in the numerator and the denominator of a rate."""

    numerator: dict[str, int]
    denominator: dict[str, int]


_RATES = {
    "precision": _Rate(numerator={"tp": 1}, denominator={"tp": 1, "fp": 1}),
    "recall": _Rate(numerator={"tp": 1}, denominator={"tp": 1, "fn": 1}),
    "specificity": _Rate(numerator={"tn": 1}, denominator={"fp": 1, "tn": 1}),
    "iou": _Rate(numerator={"tp": 1}, denominator={"tp": 1, "fp": 1, "fn": 1}),
    "dice": _Rate(numerator={"tp": 2}, denominator={"tp": 2, "fp": 1, "fn": 1}),
}
_DEFAULT_BY = ("method", "task")


def pooled_rates(
    scores: pd.DataFrame,
    *,
    rates: str | Sequence[str] = ("precision", "recall", "specificity"),
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    average: str | None = None,
    overall: bool = False,
) -> pd.DataFrame:
    """Rates of pixels pooled over cases, with standard errors and intervals.

    A rate is a ratio of sums, such as all true-positive pixels over all predicted pixels, so that a large
    finding counts more than a small one; `summarize` gives the mean of the cases' own rates. A case with an
    empty predicted mask counts with all that it missed, and cases without the finding count, too.

    Parameters
    ----------
    scores : DataFrame
        A scores frame of `score` with the columns `tp`, `fp`, `fn` and `tn`. The counts of a case are
        repeated for each of its metrics and are used once.
    rates : str or list of str
        Any of `precision` tp / (tp + fp), `recall` tp / (tp + fn), `specificity` tn / (tn + fp), `iou`
        tp / (tp + fp + fn), `dice` 2 tp / (2 tp + fp + fn).
    by : str or list of str, optional
        Grouping columns besides `metric`; by default those of `method` and `task` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("pooled_rate")`. The default is `wilson_t`, Wilson's score
        interval with the effective sample size and the degrees of freedom of the ratio's CR2 variance; with
        `draws` it is `percentile`. `delta` is the delta method: logit(rate) ± t * SE / (rate * (1 - rate)),
        transformed back, with Student's t and units - 1 degrees of freedom. `cr2` is Student's t with CR2
        standard errors. The others are made from bootstrap replicates.
    level : float
        Confidence level.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.
    average : str, optional
        A column of `by`: adds rows "Average", the unweighted mean of the groups' rates over this column.
    overall : bool
        Adds rates of the pixels of all tasks together, in which `task` is "Overall"; `task` must be in `by`.

    Returns
    -------
    DataFrame
        One row per rate and group; rates are in the given order, and groups are sorted within them: `metric`
        (the rate), the grouping columns, then the columns of `summarize` with `term` "pooled_rate".
        `estimate` is NaN if the denominator has no pixel, `n` counts cases with counts, `n_missing` cases
        without, and `n_units` units with pixels in the denominator.

    Raises
    ------
    ColumnError, ValueRangeError
        A column is missing or invalid; a count is negative, not a whole number, or missing beside others; two
        rows of one case, task and method have different counts; an option is invalid.

    Notes
    -----
    Units are drawn once per replicate, and the same draw serves every rate, method and task. The variance of
    `delta` is that of a ratio estimator, clustered by unit: G / (G - 1) times the sum over the G units of ((a
    - rate * b) / B)^2, where a and b are a unit's pixels in the numerator and the denominator, and B is the
    sum of b. A symmetric interval of a rate near 1 would exceed 1, so `delta` has its limits on the logit
    scale, as is usual in surveys (Korn & Graubard). A rate of exactly 0 or 1 does not vary over units:
    `wilson_t` then has the limits of as many independent trials as there are units, `cr2` has none (NaN), and
    `delta` and the limits from replicates have width 0; all but `wilson_t` give a warning.

    References
    ----------
    Cochran WG. Sampling Techniques, 3rd ed. Wiley 1977, chapter 6.

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": ["a", "b"] * 15, "method": "gradcam", "metric": "iou", "score": 0.5,
    ...     "tp": [5, 1] * 15, "fp": [5, 0] * 15, "fn": [0, 1] * 15, "tn": [90, 98] * 15})
    >>> scores["case"] += [f"{i:02d}" for i in range(30)]
    >>> pooled = ss.pooled_rates(scores, rates=["precision", "recall"], interval="delta")
    >>> pooled[["metric", "method", "estimate", "n_units"]].round(3)
          metric   method  estimate  n_units
    0  precision  gradcam     0.545       30
    1     recall  gradcam     0.857       30
    """
    rate_names = _checked_rate_names(rates)
    options = checked_options("pooled_rate", interval, level, n_replicates, rng, draws)
    coded = coded_scores(scores)
    columns = [column for column in check_by(scores, by, _DEFAULT_BY) if column != "metric"]
    codes = ColumnCodes(_pixel_counts_by_case_task_and_method(coded))
    grouped_rows = group_rows_for_means(codes, columns, resolve_unit(codes, unit))
    rate_cells = _rate_numerators_and_denominators_by_unit(grouped_rows, rate_names, grouped_rows.frame)
    keys = rate_cells.keys
    n_cases = rate_cells.n_cases
    target = target_of_cells("pooled_rate", rate_cells.cells, keys, average, overall)
    estimates = infer(target, options)
    table = estimates.columns(grouped_rows.units.name)
    if overall:
        membership, _ = pool_over(keys, "task", OVERALL)
        n_cases = np.concatenate([n_cases, n_cases @ membership])
    # The rates' cells count pixels; the frame's `n` are cases. An average or overall row is made of all cases
    # of its groups, so that a case counts once for each of its tasks.
    table["n"] = (n_cases @ target.estimand.method_weights).astype(np.int64)
    frame = _rates_frame(estimates, grouped_rows, table, {})
    return add_n_shared_by_methods_and_cautions(
        frame, codes, columns, lambda: advice_to_compare_in_pairs(scores, "pooled_difference")
    )


def pooled_difference(
    scores: pd.DataFrame,
    *,
    reference: str,
    rates: str | Sequence[str] = ("precision", "recall", "specificity"),
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Difference method - reference of each pooled rate, over the cases that both methods have counts of.

    Parameters
    ----------
    scores : DataFrame
        A scores frame of `score` with the columns `tp`, `fp`, `fn` and `tn`, and the reference among its
        methods.
    reference : str
        The method to compare with, such as "human". Pairs are formed as in `difference`, for each case and
        task.
    rates : str or list of str
        Any of `precision`, `recall`, `specificity`, `iou` and `dice`, see `pooled_rates`.
    by : str or list of str, optional
        Grouping columns besides `metric` and `method`; by default `task` if there is such a column.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("pooled_difference")`. The default is `cr2`, Student's t with CR2
        standard errors; with `draws` it is `percentile`. `delta` has clustered standard errors and units - 1
        degrees of freedom. The others are made from bootstrap replicates.
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
        One row per rate, group and compared method: `metric` (the rate), the grouping columns, `method`,
        `reference`, then the columns of `difference` except those of a test, `n_pairs` and `n_missing`; `n`
        counts cases (once for each reader of the reference), and `reference_mean` and `method_mean` are the
        two rates.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        The reference is not among the methods, or is the only one; no case has counts of both; a column, a
        count or an option is invalid, see `pooled_rates`.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> counts = {"tp": [5, 1, 6, 2] * 15, "fp": [5, 0, 3, 0] * 15, "fn": [0, 1, 0, 0] * 15, "tn": 90}
    >>> scores = pd.DataFrame({"case": [f"{i // 4}{i % 2}" for i in range(60)], "metric": "iou",
    ...     "score": 0.5, "method": ["gradcam", "gradcam", "human", "human"] * 15, **counts})
    >>> differences = ss.pooled_difference(scores, reference="human", rates="recall")
    >>> differences[["metric", "method", "estimate"]].round(3)
       metric   method  estimate
    0  recall  gradcam    -0.143
    """
    rate_names = _checked_rate_names(rates)
    options = checked_options("pooled_difference", interval, level, n_replicates, rng, draws)
    columns = [column for column in check_by(scores, by, ("task",)) if column not in ("metric", "method")]
    pairs = _pair_confusion_counts_by_case(
        _pixel_counts_by_case_task_and_method(coded_scores(scores)), reference, columns
    )
    codes = ColumnCodes(pairs.method_rows)
    group_columns = [*columns, "method"]
    groups, group_keys = index_groups(codes, group_columns)
    grouped_rows = GroupedRows(codes, group_columns, groups, group_keys, resolve_unit(codes, unit))
    method = _rate_numerators_and_denominators_by_unit(grouped_rows, rate_names, pairs.method_rows)
    reference_cells = _rate_numerators_and_denominators_by_unit(
        grouped_rows, rate_names, pairs.reference_rows
    ).cells
    identity = np.eye(len(method.keys))
    zeros = np.zeros_like(identity)
    # The first half of the cells are the methods', the second half the reference's.
    estimand = Estimand("difference", np.vstack([identity, zeros]), np.vstack([zeros, identity]))
    keys = method.keys.assign(reference=reference)
    cells = method.cells.followed_by(reference_cells)
    target = Target("difference", cells, estimand, keys, method.cells.n_missing)
    estimates = infer(target, options)
    table = estimates.columns(grouped_rows.units.name) | {"n": method.n_cases.astype(np.int64)}
    # Only pairs with counts of both methods are compared, so that none lacks a score.
    del table["n_missing"]
    method_rate, reference_rate = estimand.method_and_reference_levels_by_estimate(target.cells.means())
    excludes_zero = (estimates.conf_low > 0) | (estimates.conf_high < 0)
    # An interval of width 0 comes from counts that do not vary, and says nothing about the population.
    has_width = estimates.conf_high - estimates.conf_low > ROUNDING * estimates.magnitude
    special = {
        "reference_mean": reference_rate,
        "method_mean": method_rate,
        "verdict": lower_or_higher_verdicts(estimates.estimate, excludes_zero & has_width),
    }
    frame = _rates_frame(estimates, grouped_rows, table, special)
    return warn_and_add_caution_of_incomplete_pairs(
        frame, pairs.one_sided, pairs.method_rows, advice_to_count_left_out_cases(reference)
    )


def _rates_frame(
    estimates: InferredEstimates,
    grouped_rows: GroupedRows,
    estimate_columns: dict[str, Any],
    further_columns: dict[str, Any],
) -> pd.DataFrame:
    """Return the estimates frame, with rates in the order of the argument `rates`."""
    keys = estimates.target.keys
    population_column = inference_to_column_if_any(grouped_rows.frame, grouped_rows.units.codes, keys)
    estimate_columns = estimate_columns | population_column
    further_columns = further_columns | estimates.options.n_replicates_column_if_any()
    frame = estimates_frame(keys, estimate_columns, further_columns, display_order(keys))
    return frame.assign(metric=frame["metric"].astype(TEXT))


class _PixelCountPairs(NamedTuple):
    """Pixel counts of methods and of the reference on the same cases, row by row."""

    method_rows: pd.DataFrame
    reference_rows: pd.DataFrame
    #: Keys of pairs with counts of one side only.
    one_sided: pd.DataFrame


def _pair_confusion_counts_by_case(
    observations: pd.DataFrame, reference: str, by: list[str]
) -> _PixelCountPairs:
    """Pair the rows of each method and of the reference, which have pixel counts, by case."""
    # Counts are the same beside every metric, so pairs are formed without regard to the metric.
    pairs = pairs_and_unpaired_rows(ColumnCodes(observations.assign(metric="")), reference)
    counts = observations["score"].to_numpy(dtype=np.float64)
    method_counts = values_or_nan_at_rows(counts, pairs.method_rows)
    reference_counts = values_or_nan_at_rows(counts, pairs.reference_rows)
    complete = ~np.isnan(method_counts) & ~np.isnan(reference_counts)
    if not complete.any():
        raise SalstatsError(
            f"no case has counts of {reference!r} and of another method", option="reference", value=reference
        )
    method_rows = observations.take(pairs.method_rows[complete]).reset_index(drop=True)
    reference_rows = observations.take(pairs.reference_rows[complete]).reset_index(drop=True)
    one_sided = one_sided_pairs_with_missing_side(observations, by, pairs, method_counts, reference_counts)
    method_rows = fill_missing_keys_from_reference(method_rows, observations, pairs.reference_rows[complete])
    return _PixelCountPairs(method_rows, reference_rows, one_sided)


def _checked_rate_names(rates: str | Sequence[str]) -> list[str]:
    """Return the names of rates as a list without repeats; an unknown one raises an error."""
    names = [rates] if isinstance(rates, str) else list(rates)
    return list(dict.fromkeys(check_choice(name, tuple(_RATES), "rates") for name in names))


def _pixel_counts_by_case_task_and_method(coded: ColumnCodes) -> pd.DataFrame:
    """Return the pixel counts of each case, task and method, NaN where none of its rows has any.

    `score` is set to a count, so that functions that look for defined scores find the rows with counts.
    """
    scores = coded.frame
    check_columns(scores, COUNT_COLUMNS)
    counts = np.column_stack([check_numeric(scores, column) for column in COUNT_COLUMNS])
    is_count = ~np.isnan(counts)
    is_lacking = is_count.any(axis=1)[:, None] & ~is_count
    _raise_for_first_wrong_count(scores, is_lacking, "has some of tp, fp, fn, tn and not all of them")
    with np.errstate(invalid="ignore"):
        is_invalid = is_count & ((counts < 0) | (counts != np.floor(counts)))
    _raise_for_first_wrong_count(scores, is_invalid, "has a count that is not a whole number of pixels")
    observation_columns = [c for c in KEY_COLUMNS if c in scores.columns and c != "metric"]
    observations = coded.combined(observation_columns)
    first_counts = pd.DataFrame(counts).groupby(observations).first().to_numpy()
    observation_counts = first_counts[observations]
    is_different = is_count & (counts != observation_counts)
    _raise_for_first_wrong_count(
        scores, is_different, "has other counts than another row of the same case, task and method"
    )
    first_rows = np.sort(np.unique(observations, return_index=True)[1])
    columns = dict(zip(COUNT_COLUMNS, observation_counts[first_rows].T, strict=True))
    columns["score"] = observation_counts[first_rows, 0]
    return scores.iloc[first_rows].assign(**columns).reset_index(drop=True)


def _raise_for_first_wrong_count(scores: pd.DataFrame, is_wrong: NDArray[np.bool_], problem: str) -> None:
    """Raise ColumnError about the first count that `is_wrong` (n_rows, n_counts), if there is one."""
    if not is_wrong.any():
        return
    row, count = (int(position) for position in np.argwhere(is_wrong)[0])
    key_columns = [c for c in KEY_COLUMNS if c in scores.columns and c != "dataset"]
    row_name = ", ".join(f"{column} {scores[column].iloc[row]}" for column in key_columns)
    raise ColumnError(
        f"row {row} of scores ({row_name}) {problem}",
        hint=f"the columns {quoted(COUNT_COLUMNS)} of one case, task and method hold the same whole numbers "
        "beside each metric, or nothing",
        column=COUNT_COLUMNS[count],
        rows=[row],
    )


class _RateCells(NamedTuple):
    """Cells of every group of the first rate, then of the second rate, and so on."""

    #: Numerators as sums and denominators as counts, so that means are rates.
    cells: Cells
    keys: pd.DataFrame
    #: Cases with counts in each cell, shape (n_cells,).
    n_cases: np.ndarray


def _rate_numerators_and_denominators_by_unit(
    grouped_rows: GroupedRows, rate_names: Sequence[str], counts: pd.DataFrame
) -> _RateCells:
    """Sum the numerators and denominators of rates by unit and group; columns are the groups of each rate."""
    units = grouped_rows.units
    n_groups = len(grouped_rows.keys)
    count_cells = {}
    for column in COUNT_COLUMNS:
        pixels = counts[column].to_numpy(dtype=np.float64)
        count_cells[column] = sum_cells(pixels, units.codes, units.n, grouped_rows.groups, n_groups)
    numerators = [_weighted_count_sums(_RATES[name].numerator, count_cells) for name in rate_names]
    denominators = [_weighted_count_sums(_RATES[name].denominator, count_cells) for name in rate_names]
    n_rates = len(rate_names)
    keys = pd.concat([grouped_rows.keys] * n_rates, ignore_index=True)
    rate_of_cell = np.repeat(list(rate_names), n_groups)
    rates = pd.Categorical(rate_of_cell, categories=list(rate_names), ordered=True)
    keys.insert(0, "metric", pd.Series(rates))
    cells = Cells(
        sums=np.hstack(numerators),
        counts=np.hstack(denominators),
        n_missing=np.tile(count_cells["tp"].n_missing, n_rates),
        # each cell counts its own units, those with pixels in the denominator
        sample=np.arange(len(keys)),
    )
    n_cases = np.tile(count_cells["tp"].counts.sum(axis=0), n_rates)
    return _RateCells(cells, keys, n_cases)


def _weighted_count_sums(weights: Mapping[str, int], count_cells: Mapping[str, Cells]) -> np.ndarray:
    """Return the weighted sum of counts of pixels by unit and group, shape (n_units, n_groups)."""
    weighted_sums = [weight * count_cells[column].sums for column, weight in weights.items()]
    return np.asarray(np.sum(weighted_sums, axis=0))
