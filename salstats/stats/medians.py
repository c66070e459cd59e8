"""Medians of scores, and differences of medians, with intervals for scores that pile up at 0 or 1."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_draw_indices, check_level
from salstats.coded_text import TEXT
from salstats.errors import Message, SalstatsError, Setting, warn
from salstats.frames import DEFAULT_BY, ColumnCodes, estimates_frame
from salstats.metrics.registry import registered_metric
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.comparisons import (
    one_sided_pairs_with_missing_side,
    pair_rows_of_all_comparisons,
    values_or_nan_at_rows,
)
from salstats.stats.engine.draws import weight_blocks
from salstats.stats.engine.equivalence import lower_or_higher_verdicts
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import (
    GroupedRows,
    check_one_metric,
    code_scores,
    group_rows_for_means,
    index_groups,
    named_groups,
)
from salstats.stats.engine.inference_options import Options, checked_options
from salstats.stats.engine.intervals import Basis
from salstats.stats.engine.quantile_limits import (
    SharesAtOrBelow,
    difference_limits,
    quantile_limits_by_alpha,
    quantile_replicates,
    share_and_variance_at_or_below_distinct_scores,
    weighted_quantiles,
)
from salstats.stats.engine.replicates import mean_sd_and_n_defined
from salstats.stats.engine.resampling_units import Unit, Units, resolve_unit
from salstats.stats.engine.result_warnings import (
    ROUNDING,
    interval_recommendation,
    warn_single_units,
    warn_unequal_units,
    warn_zero_width,
)
from salstats.stats.engine.score_reasons import human_label_column_if_one_label
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_compare_in_pairs,
    advice_to_count_left_out_cases,
    warn_and_add_caution_of_incomplete_pairs,
)


def medians(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    quantile: float = 0.5,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Median score of each group, or another quantile, with its interval.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Grouping columns; by default those of `metric`, `method` and `task` that are present.
    quantile : float
        Probability of the quantile, between 0 and 1.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("median")`. The default is `woodruff`: the values at which the
        share of scores at or below them can be `quantile`; with `draws` it is `percentile`. The others are
        made from bootstrap replicates, and fail if scores are few or tied.
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
        One row per group, sorted: the grouping columns; `term` ("median", or "quantile"), `estimate`;
        `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`, `inference_to`; `n` defined scores,
        `n_missing` undefined scores, `n_units`; `n_shared` and `caution`, if methods have scores of different
        cases, see `summarize`; `quantile`. With replicates also `std_error` (their standard deviation),
        `n_undefined`, `bias` and `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        A column is missing or invalid; several metrics would be taken together; the interval is unknown; the
        level or the quantile is not between 0 and 1; there are fewer replicates than the level needs.

    Warns
    -----
    SalstatsWarning
        Methods, or by default data sets or models, are taken together; methods have scores of different
        cases; cases have different numbers of readers, models or seeds; units are too few for limits among
        the scores, or there is only one; all replicates are equal.

    Notes
    -----
    The estimate is R's `quantile(type = 2)`: where any value between two scores would do, it is their middle.
    `woodruff` inverts the interval of the share of scores at or below a value: Wilson's interval with the CR2
    variance clustered by unit (`wilson_t` in `summarize`). Of the scores equal to a value, as many are
    counted as bring the share nearest to the probability, so that with many scores of 0 or 1 limits can be
    exactly there. If units are too few for a limit among the scores, the limit is the end of the metric's
    range, or infinite, with a warning.

    With 10 to 100 units, 95 % limits held in 94 to 100 % of simulated studies, whether or not 60 % of the
    scores were 0; percentile limits with 30 units in 84 to 100 %, basic and BCa limits in fewer.

    References
    ----------
    Woodruff RS. Confidence intervals for medians and other position measures. J Am Stat Assoc
    1952;47:635-646. https://doi.org/10.1080/01621459.1952.10483443

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> ss.medians(scores, by="method")[["method", "estimate", "conf_low", "conf_high"]].round(3)
          method  estimate  conf_low  conf_high
    0    gradcam     0.298     0.284      0.310
    1      human     0.480     0.470      0.498
    2  occlusion     0.261     0.245      0.274
    """
    check_level(quantile, "quantile")
    term = _median_or_quantile(quantile)
    options = checked_options(term, interval, level, n_replicates, rng, draws)
    codes, columns = code_scores(scores, by, DEFAULT_BY)
    check_one_metric(codes, columns)
    grouped_rows = group_rows_for_means(codes, columns, resolve_unit(codes, unit))
    sides_scores = scores["score"].to_numpy(dtype=np.float64)[None]
    table = _infer_quantiles(grouped_rows, sides_scores, options, quantile).columns
    table |= {"term": term} | inference_to_column_if_any(scores, grouped_rows.units.codes, grouped_rows.keys)
    special = (
        {"quantile": float(quantile)}
        | options.n_replicates_column_if_any()
        | human_label_column_if_one_label(scores)
    )
    frame = estimates_frame(grouped_rows.keys, table, special)
    return add_n_shared_by_methods_and_cautions(
        frame, codes, columns, lambda: advice_to_compare_in_pairs(scores, "median_difference")
    )


def median_difference(
    scores: pd.DataFrame,
    *,
    reference: str,
    by: str | Sequence[str] | None = None,
    quantile: float = 0.5,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    adjust: str = "none",
) -> pd.DataFrame:
    """Difference method - reference of two medians, over the cases that both methods have scores of.

    It is the difference of two medians, which is not the median of the cases' differences.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with the reference among its methods.
    reference : str
        The method to compare with, such as "human", or "all" for every two methods, see `difference`.
    by : str or list of str, optional
        Grouping columns besides `method`; by default those of `metric` and `task` that are present.
    quantile : float
        Probability of the quantile, between 0 and 1.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("median_difference")`. The default is `mover`, from the limits of
        both medians and their correlation over units; with `draws` it is `percentile`. The others are made
        from bootstrap replicates.
    level : float
        Confidence level.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.
    adjust : str
        Procedure of `adjust` that adjusts the P values of all rows as one family; only with `mover`, as the
        other intervals have no P values.

    Returns
    -------
    DataFrame
        One row per group and compared method: the grouping columns, `method`, `reference`; the columns of
        `medians`, with `term` "median_difference" (or "quantile_difference"); `n` counts pairs, `n_missing`
        pairs that lack a score; `reference_median`, `method_median`; `verdict`, "lower" or "higher" if the
        limits exclude 0, else "inconclusive"; `quantile`. With `mover` also `p_value`, 1 minus the highest
        level whose limits exclude 0, so that it is below 1 - `level` where the verdict is "lower" or
        "higher", and with `adjust` `p_adjusted`, `n_tests` and `procedure`. Limits of width 0 are those of
        many equal scores: with `mover`, which needs no variance, they have a verdict as others; limits from
        replicates are then "inconclusive".

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        The reference is not among the methods, or is the only one; a column or an option is invalid; `adjust`
        with an interval that has no P values.

    Warns
    -----
    SalstatsWarning
        As by `medians`; all replicates are equal; units differ much in size.

    Notes
    -----
    With x the median of the method and y that of the reference, and lx, ux and ly, uy their limits by
    `woodruff`, the lower limit of the difference is x - y - sqrt((x - lx)^2 + (uy - y)^2 - 2 r (x - lx)(uy -
    y)), and the upper limit is computed likewise. r is the correlation, over units, of the numbers of scores
    at or below the two medians, each less `quantile` times the unit's number of scores. If limits of a lower
    level lie further out, they are used, so that limits are nested. The limits need no estimate of a density
    and no random draws.

    With 10 to 100 units, 95 % limits held in 95 to 99 % of simulated studies, and in 90 to 100 % if two units
    have 40 cases each (a warning says that units differ much in size); percentile limits with 30 units in 84
    to 100 %, basic and BCa limits in fewer.

    References
    ----------
    Zou GY, Donner A. Construction of confidence limits about effect measures: a general approach. Stat Med
    2008;27:1693-1702. https://doi.org/10.1002/sim.3095

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> differences = ss.median_difference(scores, reference="human", by=())
    >>> differences[["method", "reference", "estimate", "conf_low", "conf_high", "verdict"]].round(3)
          method reference  estimate  conf_low  conf_high verdict
    0    gradcam     human    -0.182    -0.200     -0.167   lower
    1  occlusion     human    -0.219    -0.242     -0.202   lower
    """
    check_level(quantile, "quantile")
    term = f"{_median_or_quantile(quantile)}_difference"
    checked_procedure(adjust, "adjust")
    options = checked_options(term, interval, level, n_replicates, rng, draws)
    _check_interval_has_p_values(options, adjust)
    codes, columns = code_scores(scores, by, ("metric", "task"), excluded_column="method")
    check_one_metric(codes, columns)
    units = resolve_unit(codes, unit)
    pairs = pair_rows_of_all_comparisons(codes, reference)
    values = scores["score"].to_numpy(dtype=np.float64)
    method_scores = values_or_nan_at_rows(values, pairs.method_rows)
    reference_scores = values_or_nan_at_rows(values, pairs.reference_rows)
    pair_keys = {column: scores[column].array.take(pairs.rows_with_pair_keys) for column in columns}
    pair_keys["method"] = scores["method"].array.take(pairs.method_name_rows)
    pair_keys["reference"] = scores["method"].array.take(pairs.reference_name_rows)
    key_columns = list(pair_keys)
    pair_groups, keys = index_groups(ColumnCodes(pd.DataFrame(pair_keys)), key_columns)
    pair_units = replace(units, codes=units.codes[pairs.rows_with_pair_keys])
    grouped_rows = GroupedRows(
        ColumnCodes(scores.iloc[pairs.rows_with_pair_keys]), key_columns, pair_groups, keys, pair_units
    )
    sides_scores = np.array([method_scores, reference_scores])
    table, sides_quantiles = _infer_quantiles(grouped_rows, sides_scores, options, quantile)
    method_quantiles, reference_quantiles = sides_quantiles.T
    excludes_zero = (table["conf_low"] > 0) | (table["conf_high"] < 0)
    if options.is_resampled:
        # Equal replicates say nothing about the population; the test that `mover` inverts needs no variance.
        excludes_zero &= ~_has_no_width(table, sides_quantiles)
    table |= {"term": term} | inference_to_column_if_any(scores, units.codes, keys)
    special = {
        "reference_median": reference_quantiles,
        "method_median": method_quantiles,
        "verdict": lower_or_higher_verdicts(table["estimate"], excludes_zero),
        "quantile": float(quantile),
        **options.n_replicates_column_if_any(),
        **human_label_column_if_one_label(scores),
    }
    frame = estimates_frame(keys.astype({"reference": TEXT}), table, special)
    one_sided = one_sided_pairs_with_missing_side(scores, columns, pairs, method_scores, reference_scores)
    frame = warn_and_add_caution_of_incomplete_pairs(
        frame, one_sided, scores, advice_to_count_left_out_cases(reference)
    )
    return adjust_unless_none(frame, adjust)


def _check_interval_has_p_values(options: Options, adjust: str) -> None:
    """Raise if P values are to be adjusted and the interval has none."""
    if options.is_resampled and adjust.lower() != "none":
        raise SalstatsError(
            Setting("adjust", adjust),
            " adjusts P values, and ",
            Setting("interval", options.interval.name),
            " has none",
            hint=Message("take ", Setting("interval", "mover")),
            choices=("mover",),
        )


def _median_or_quantile(quantile: float) -> Literal["median", "quantile"]:
    """Return the value of `term`: "median" for a probability of 0.5, else "quantile"."""
    return "median" if quantile == 0.5 else "quantile"


def _allowed_range_or_infinite_if_exceeded_of_each_group(
    metric_of_rows: pd.Series, sides_scores: np.ndarray, group_of_rows: NDArray[np.integer]
) -> list[tuple[float, float]]:
    """Return the lowest and highest score that each group's metric allows.

    `metric_of_rows` and `group_of_rows` (n_rows,) and `sides_scores` (n_sides, n_rows) describe the rows of
    scores. The range of an unknown metric is taken to be 0 to 1. It is -inf to inf where a score of the
    group lies outside of the metric's range.
    """
    first_rows = np.unique(group_of_rows, return_index=True)[1]
    ranges = []
    for group, row in enumerate(first_rows):
        metric = registered_metric(metric_of_rows.iloc[row])
        score_range = (0.0, 1.0)
        if metric is not None:
            score_range = (float(metric.low), float(metric.high))
        group_values = sides_scores[:, group_of_rows == group]
        low, high = score_range
        if ((group_values < low) | (group_values > high)).any():
            score_range = (-np.inf, np.inf)
        ranges.append(score_range)
    return ranges


@dataclass(frozen=True)
class _QuantileSample:
    """Scores of one group, without missing ones."""

    #: One array (n,) for quantiles; for their differences that of the method and that of the reference.
    sides: tuple[np.ndarray, ...]
    #: Codes of the units, shape (n,).
    units: NDArray[np.integer]
    #: Lowest and highest score possible.
    score_range: tuple[float, float]


class _QuantileLimits(NamedTuple):
    """Limits of each group and the P values of differences, each of shape (n_groups,)."""

    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray
    #: Groups with a limit outside of their scores.
    beyond_scores: NDArray[np.bool_]


class _InferredQuantiles(NamedTuple):
    """Quantiles of groups, or differences of quantiles, with their limits."""

    #: Columns of an estimates frame.
    columns: dict[str, Any]
    #: (n_groups, n_sides): Quantile of each side of each group.
    sides_quantiles: np.ndarray


def _infer_quantiles(
    grouped_rows: GroupedRows, sides_scores: np.ndarray, options: Options, quantile: float
) -> _InferredQuantiles:
    """Infer the quantile of each group, or the difference of its two sides' quantiles.

    `sides_scores` (n_sides, n_rows) are the scores of one side, or of the method and the reference. It warns
    of units that are too few, or very unequal, for the limits.
    """
    record = options.interval
    units = grouped_rows.units
    keys = grouped_rows.keys
    is_defined = ~np.isnan(sides_scores).any(axis=0)
    ranges = _allowed_range_or_infinite_if_exceeded_of_each_group(
        grouped_rows.frame["metric"], sides_scores, grouped_rows.groups
    )
    groups = []
    for group in range(len(keys)):
        rows = np.flatnonzero(is_defined & (grouped_rows.groups == group))
        group_scores = tuple(scores[rows] for scores in sides_scores)
        groups.append(_QuantileSample(group_scores, units.codes[rows], ranges[group]))
    sides_quantiles = np.array([_quantiles_of_sides(group, quantile) for group in groups])
    is_difference = len(sides_scores) == 2
    estimate = sides_quantiles[:, 0]
    if is_difference:
        estimate = estimate - sides_quantiles[:, 1]
    unit_sizes = np.column_stack([np.bincount(group.units, minlength=units.n) for group in groups])
    n_units = (unit_sizes > 0).sum(axis=0)

    table: dict[str, Any] = {"estimate": estimate}
    if options.is_resampled:
        replicates, jackknife = _quantile_replicates_and_jackknife_by_group(groups, units, options, quantile)
        mean, spread, n_defined = mean_sd_and_n_defined(replicates)
        bias = mean - estimate
        basis = Basis(
            "median", options.level, estimate, spread, bias=bias, replicates=replicates, jackknife=jackknife
        )
        low, high, *_ = record.limits(basis)
        table |= {"std_error": spread, "bias": bias, "n_undefined": len(replicates) - n_defined}
    else:
        low, high, p_value, beyond_scores = _limits_by_inverting_share_intervals(
            groups, sides_quantiles, n_units, units.n, quantile, options.level
        )
        if is_difference:
            table["p_value"] = p_value
        if beyond_scores.any():
            warn(
                "units are too few for limits among the scores of ",
                named_groups(keys, beyond_scores),
                ": they end where the range of the metric does",
                option="interval",
                value=record.name,
                column="n_units",
                rows=np.flatnonzero(beyond_scores).tolist(),
            )
        if is_difference:
            warn_unequal_units(unit_sizes, beyond_scores, keys)
    has_one_unit = n_units == 1
    warn_single_units(record.name, has_one_unit, keys)
    table |= {
        "conf_low": np.where(has_one_unit, np.nan, low),
        "conf_high": np.where(has_one_unit, np.nan, high),
        "conf_level": options.level,
        "interval": record.name,
        "unit": units.name,
        "n": unit_sizes.sum(axis=0),
        "n_missing": np.bincount(grouped_rows.groups[~is_defined], minlength=len(keys)),
        "n_units": n_units,
    }
    if options.is_resampled:
        remedy = interval_recommendation("median_difference" if is_difference else "median")
        warn_zero_width(record.name, _has_no_width(table, sides_quantiles), keys, remedy)
    return _InferredQuantiles(table, sides_quantiles)


def _has_no_width(table: dict[str, Any], sides_quantiles: np.ndarray) -> NDArray[np.bool_]:
    """Return True for limits that are equal but for rounding, shape (n_groups,)."""
    scale = np.abs(sides_quantiles).max(axis=1)
    return np.asarray(table["conf_high"] - table["conf_low"] <= ROUNDING * scale)


def _limits_by_inverting_share_intervals(
    groups: Sequence[_QuantileSample],
    sides_quantiles: np.ndarray,
    n_units: np.ndarray,
    n_units_of_all_groups: int,
    quantile: float,
    level: float,
) -> _QuantileLimits:
    """Compute limits by inverting intervals of shares of scores, NaN for groups of one unit or none.

    `n_units` (n_groups,) are the units of each group, `n_units_of_all_groups` those of all groups together.
    """
    low = np.full(len(groups), np.nan)
    high = np.full(len(groups), np.nan)
    p_value = np.full(len(groups), np.nan)
    beyond_scores = np.zeros(len(groups), dtype=bool)
    for row in np.flatnonzero(n_units > 1).tolist():
        group = groups[row]
        sides_shares: list[SharesAtOrBelow] = []
        for scores in group.sides:
            shares = share_and_variance_at_or_below_distinct_scores(
                scores, group.units, n_units_of_all_groups, quantile, group.score_range
            )
            side_low, side_high = quantile_limits_by_alpha(shares, 1 - level)
            if side_low < scores.min() or side_high > scores.max():
                beyond_scores[row] = True
            # Limits of the first side, which for a difference are replaced below
            if not sides_shares:
                low[row] = side_low
                high[row] = side_high
            sides_shares.append(shares)
        if len(sides_shares) == 2:
            method_shares, reference_shares = sides_shares
            method_quantile, reference_quantile = sides_quantiles[row]
            low[row], high[row], p_value[row] = difference_limits(
                method_shares, reference_shares, (method_quantile, reference_quantile), level
            )
    return _QuantileLimits(low, high, p_value, beyond_scores)


def _quantiles_of_sides(group: _QuantileSample, quantile: float) -> list[float]:
    """Return the quantile of each side of a group."""
    return [_quantile_or_nan(scores, quantile) for scores in group.sides]


def _quantile_or_nan(scores: np.ndarray, quantile: float) -> float:
    """Return the quantile of scores, NaN if there are none."""
    if not len(scores):
        return float("nan")
    equal_weights = np.ones((1, len(scores)))
    return float(weighted_quantiles(np.sort(scores), equal_weights, quantile)[0])


class _Replicates(NamedTuple):
    """Estimates of resampled units."""

    #: (n_replicates, n_groups): Bootstrap replicates.
    bootstrap: np.ndarray
    #: (n_units, n_groups): Estimates without each unit; empty unless the interval needs them.
    jackknife: np.ndarray


def _quantile_replicates_and_jackknife_by_group(
    groups: Sequence[_QuantileSample], units: Units, options: Options, quantile: float
) -> _Replicates:
    """Estimate quantiles, or their differences, of resampled units."""
    draws = None
    if options.draws is not None:
        draws = check_draw_indices(options.draws, units.n)
    replicates = np.empty((options.n_replicates, len(groups)))
    largest_group = max(len(group.units) for group in groups)
    for rows, weights in weight_blocks(units.n, options.n_replicates, options.rng, draws, largest_group):
        replicates[rows] = _weighted_quantiles_or_differences_by_group(groups, weights, quantile)
    jackknife = np.empty(0)
    if options.interval.extra_input == "jackknife":
        leave_one_out = 1 - np.eye(units.n)
        jackknife = _weighted_quantiles_or_differences_by_group(groups, leave_one_out, quantile)
    return _Replicates(replicates, jackknife)


def _weighted_quantiles_or_differences_by_group(
    groups: Sequence[_QuantileSample], weights: np.ndarray, quantile: float
) -> np.ndarray:
    """Return each group's quantile, or difference of its two sides, with units counted `weights` times.

    Shape (n_weights, n_groups); `weights` has the shape (n_weights, n_units).
    """
    estimates = []
    for group in groups:
        if not len(group.units):
            estimates.append(np.full(len(weights), np.nan))
            continue
        quantiles = [quantile_replicates(scores, group.units, weights, quantile) for scores in group.sides]
        if len(quantiles) == 2:
            method_quantiles, reference_quantiles = quantiles
            estimates.append(method_quantiles - reference_quantiles)
        else:
            estimates.append(quantiles[0])
    return np.column_stack(estimates)
