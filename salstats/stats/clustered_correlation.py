"""Spearman correlations with intervals for rows that are clustered by unit, such as those of a patient."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_draw_indices
from salstats.errors import ColumnValue, Message, SalstatsError, Setting, warn
from salstats.frames import estimates_frame
from salstats.stats.correlation import correlate, warn_pairs_pooled_by_default
from salstats.stats.engine.coefficients import FEWEST_PAIRS, spearman_of_replicates
from salstats.stats.engine.draws import weight_blocks
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import (
    group_label,
    joined_group_labels,
    named_groups,
    row_groups,
    warn_pooled_methods,
)
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.limits import percentile
from salstats.stats.engine.replicates import bootstrap_p_values, mean_sd_and_n_defined
from salstats.stats.engine.resampling_units import Unit, Units, has_units, resolve_unit
from salstats.stats.engine.result_warnings import MAX_UNDEFINED_SHARE, MIN_RESAMPLED_UNITS
from salstats.stats.engine.score_reasons import (
    by_columns_per_observation_of_absent_finding,
    n_absent_column_if_any,
)
from salstats.stats.engine.wide_tables import CorrelationTable, correlation_table

#: Correlations of this size and larger are 1 up to rounding errors, and have no Fisher z.
_PERFECT = 1 - 1e-12


class Stratum(NamedTuple):
    """Complete pairs of one stratum, each array of shape (n_pairs,)."""

    #: Rows of the pairs in the table.
    rows: NDArray[np.integer]
    x: np.ndarray
    y: np.ndarray
    units: NDArray[np.integer]


def correlate_clustered(
    data: pd.DataFrame,
    x: str,
    y: str,
    *,
    by: str | Sequence[str] | None = None,
    stratified: str | None = None,
    overall: bool = False,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Spearman's correlation of `x` and `y` in each group, with intervals clustered by unit.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table. Rows of a scores frame are paired by data set, case, task, method,
        reader, model and seed.
    x, y : str
        The two columns of `data`, or metrics.
    by : str or sequence of str, optional
        Grouping columns; by default `method` if there is such a column. `()` correlates all rows together.
    stratified : str, optional
        A column such as `task`: correlate within each of its values, and combine the correlations on Fisher's
        z scale with weights n - 3, so that differences *between* the strata do not enter the correlation.
    overall : bool
        Add the correlation of all tasks pooled, in which `task` is "Overall"; `task` must be in `by`.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : {"recommended", "cr2", "percentile"}, optional
        `cr2`, which is recommended and the default, is that of `correlate`, whose frame is returned;
        `percentile`, the default if `draws` are given, resamples units.
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
        With `cr2` the frame of `correlate` for Spearman's coefficient. With `percentile` the grouping
        columns, sorted, then `term` ("spearman"), `estimate`; `std_error`, the standard deviation of the
        replicates; `p_value`, twice the smaller of (1 + k) / (B + 1) for k of B replicates at or below 0, or
        at or above 0, and `p_floor`, the smallest possible one; `conf_low`, `conf_high`, `conf_level`,
        `interval`; `unit`, `n`, `n_missing`, `n_units` and, if there are any, `n_absent`, with the meanings
        that they have in `correlate`; `n_undefined`, the replicates in which a variable does not vary or,
        with `stratified`, a stratum has 3 pairs or fewer or a correlation of -1 or 1; `bias`, the mean of the
        replicates less the estimate; `x`, `y`; with `stratified` its name as `stratum` and `n_strata`, the
        strata that have a correlation; `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        A name is neither a column nor a metric, or is not numeric; `x` and `y` are the same; `stratified` is
        also in `by`; an option is unknown or out of range; no column names units to resample.

    Notes
    -----
    Each replicate ranks its own rows, and ties get their mean rank. Correlations within strata are combined
    as by Taylor (1987) with a blocking variable; he weights the correlations themselves, while `correlate`
    and this function weight Fisher's z. Resampling patients keeps their rows in several strata together.
    Fewer than 20 units, more than 1 % of undefined replicates, and strata that are left out give a warning.

    Percentile limits of rare hits are too narrow; the coverage of the default is given in `correlate`.

    References
    ----------
    Taylor JMG. Kendall's and Spearman's correlation coefficients in the presence of a blocking variable.
    Biometrics 1987;43:409-416. https://doi.org/10.2307/2531822

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("method == 'gradcam'")
    >>> correlations = ss.correlate_clustered(scores, "iou", "prob", stratified="task")
    >>> correlations[["method", "term", "interval", "unit", "n", "n_units", "n_strata"]]
        method      term interval     unit    n  n_units  n_strata
    0  gradcam  spearman      cr2  patient  685      140         5
    """
    options = checked_options("clustered_correlation", interval, level, n_replicates, rng, draws)
    if not options.is_resampled:
        return correlate(
            data, x, y, by=by, level=level, stratified=stratified, overall=overall, unit=unit, interval="cr2"
        )
    variables = correlation_table(data, x, y, by, stratified, unit)
    codes = variables.codes
    groups = variables.groups
    warn_pooled_methods(codes.frame, groups)
    if not has_units(codes.frame, unit):
        raise SalstatsError(
            "data have no column 'case' or 'patient' to resample",
            hint=Message("name one with ", Setting("unit")),
            option="unit",
        )
    units = resolve_unit(codes, unit, "data")
    if options.draws is not None:
        check_draw_indices(options.draws, units.n)
    complete = ~(np.isnan(variables.x) | np.isnan(variables.y))
    warn_pairs_pooled_by_default(codes.frame[complete], by, groups, variables.strata)
    keys, rows_of_groups = row_groups(codes, groups, overall=overall)
    is_stratified = bool(variables.strata)
    stratum_codes = codes.combined(variables.strata)
    strata_of_groups = [
        _strata_of_pairs(variables, rows[complete[rows]], stratum_codes, units) for rows in rows_of_groups
    ]
    stratum_values = None if stratified is None else codes.frame[stratified]
    strata_of_groups = _usable_strata_with_warning(strata_of_groups, keys, stratum_values)
    equal_weights = np.ones((1, units.n))
    estimate = np.concatenate(
        [_correlation_of_each_replicate(strata, equal_weights, is_stratified) for strata in strata_of_groups]
    )
    replicates = np.full((options.n_replicates, len(keys)), np.nan)
    for block, weights in weight_blocks(
        units.n, options.n_replicates, options.rng, options.draws, numbers_per_replicate=len(codes.frame)
    ):
        for group, strata in enumerate(strata_of_groups):
            replicates[block, group] = _correlation_of_each_replicate(strata, weights, is_stratified)
    low, high = percentile(replicates, level)
    mean, deviation, n_defined = mean_sd_and_n_defined(replicates)
    p_value, floor = bootstrap_p_values(replicates)
    n_undefined = options.n_replicates - n_defined
    n_pairs = np.array([_count_pairs(strata) for strata in strata_of_groups])
    n_units = np.array([_count_distinct_units(strata) for strata in strata_of_groups])
    _warn_of_doubtful_percentiles(keys, n_units, n_undefined, options.n_replicates)
    columns: dict[str, object] = {
        "term": "spearman",
        "estimate": estimate,
        "std_error": deviation,
        "p_value": np.where(np.isnan(estimate), np.nan, p_value),
        "conf_low": low,
        "conf_high": high,
        "conf_level": options.level,
        "interval": options.interval.name,
        "unit": units.name,
        **inference_to_column_if_any(codes.frame, units.codes, keys),
        "n": n_pairs,
        "n_missing": np.array([len(rows) for rows in rows_of_groups]) - n_pairs,
        "n_units": n_units,
        "n_undefined": n_undefined,
        "bias": mean - estimate,
        "p_floor": np.where(np.isnan(estimate), np.nan, floor),
        **n_absent_column_if_any(
            keys, by_columns_per_observation_of_absent_finding(data, [x, y], groups), data
        ),
    }
    special_columns: dict[str, object] = {"x": x, "y": y}
    if stratified is not None:
        special_columns |= {"stratum": stratified, "n_strata": [len(strata) for strata in strata_of_groups]}
    return estimates_frame(keys, columns, special_columns | options.n_replicates_column_if_any())


def _warn_of_doubtful_percentiles(
    keys: pd.DataFrame, n_units: np.ndarray, n_undefined: np.ndarray, n_replicates: int
) -> None:
    """Warn of percentile limits from few units, or with many replicates without a correlation."""
    has_few_units = (n_units > 0) & (n_units < MIN_RESAMPLED_UNITS)
    if has_few_units.any():
        warn(
            f"Spearman's percentile intervals rest on fewer than {MIN_RESAMPLED_UNITS} units (the fewest: "
            f"{n_units[has_few_units].min()}) for ",
            named_groups(keys, has_few_units),
            "; they come out too short, and p-values too small",
        )
    has_many_undefined = (n_undefined > MAX_UNDEFINED_SHARE * n_replicates) & (n_units > 0)
    if has_many_undefined.any():
        warn(
            f"{n_undefined[has_many_undefined].max()} of {n_replicates} replicates have no correlation for ",
            named_groups(keys, has_many_undefined),
            " and are left out of the interval, which describes only the others; a variable hardly varies",
        )


def _strata_of_pairs(
    variables: CorrelationTable,
    pairs: NDArray[np.integer],
    stratum_codes: NDArray[np.integer],
    units: Units,
) -> list[Stratum]:
    """Return the strata of a group; without strata the group is the only one.

    `pairs` are the rows of the group's complete pairs; `stratum_codes` (n_rows,) and `units` cover all rows.
    """
    codes_of_pairs = stratum_codes[pairs]
    strata = []
    for code in np.unique(codes_of_pairs):
        rows = pairs[codes_of_pairs == code]
        strata.append(Stratum(rows=rows, x=variables.x[rows], y=variables.y[rows], units=units.codes[rows]))
    return strata


def _usable_strata_with_warning(
    strata_of_groups: list[list[Stratum]], keys: pd.DataFrame, stratum_values: pd.Series | None
) -> list[list[Stratum]]:
    """Return the strata of each group that have a correlation, and warn of strata that are left out.

    `keys` has a row for each group; `stratum_values` are the stratum of each row of the table, None without
    strata, where a group without a correlation needs no warning: its estimate is undefined.
    """
    usable_strata_of_groups = []
    labels = []
    rows = []
    for group, strata in enumerate(strata_of_groups):
        usable_strata = []
        for stratum in strata:
            if _has_usable_correlation(stratum, is_stratified=stratum_values is not None):
                usable_strata.append(stratum)
            elif stratum_values is not None:
                value = ColumnValue(str(stratum_values.name), stratum_values.iloc[stratum.rows[0]])
                labels.append(Message(group_label(keys, group), ", ", value, f" ({len(stratum.rows)} pairs)"))
                rows.append(group)
        usable_strata_of_groups.append(usable_strata)
    if labels:
        warn(
            f"strata without a correlation, with one of -1 or 1, or with {FEWEST_PAIRS} pairs or fewer are "
            "left out of Spearman's combined correlation: ",
            joined_group_labels(labels),
            column="n_strata",
            rows=dict.fromkeys(rows),
        )
    return usable_strata_of_groups


def _count_pairs(strata: list[Stratum]) -> int:
    """Return the number of pairs in all strata."""
    return sum(len(stratum.rows) for stratum in strata)


def _count_distinct_units(strata: list[Stratum]) -> int:
    """Return the number of units with a pair in some stratum."""
    units: set[int] = set()
    for stratum in strata:
        units.update(stratum.units.tolist())
    return len(units)


def _has_usable_correlation(stratum: Stratum, *, is_stratified: bool) -> bool:
    """Return True if a stratum has a correlation.

    With several strata it must not be -1 or 1 either, as those cannot be combined on Fisher's z scale.
    """
    fewest = FEWEST_PAIRS + 1 if is_stratified else FEWEST_PAIRS
    if len(stratum.rows) < fewest:
        return False
    equal_weights = np.ones((1, len(stratum.rows)))
    r = spearman_of_replicates(stratum.x, stratum.y, equal_weights)[0]
    if is_stratified:
        return bool(abs(r) < _PERFECT)
    return not np.isnan(r)


def _correlation_of_each_replicate(
    strata: list[Stratum], unit_counts: np.ndarray, is_stratified: bool
) -> np.ndarray:
    """Return the correlation of a group in each replicate, shape (n_replicates,).

    `unit_counts` (n_replicates, n_units) say how often each unit is drawn. Strata are combined on Fisher's z
    scale with the weights n - 3, where n is the number of a stratum's pairs in the replicate.
    """
    if not strata:
        return np.full(len(unit_counts), np.nan)
    pair_weights = [unit_counts[:, stratum.units] for stratum in strata]
    correlations = []
    for stratum, stratum_weights in zip(strata, pair_weights, strict=True):
        correlations.append(spearman_of_replicates(stratum.x, stratum.y, stratum_weights))
    # r, n and z have the shape (n_strata, n_replicates)
    r = np.array(correlations)
    if not is_stratified:
        return np.asarray(r[0])
    n = np.array([stratum_weights.sum(axis=1) for stratum_weights in pair_weights])
    with np.errstate(invalid="ignore", divide="ignore"):
        # a replicate in which a stratum has no z is undefined
        z = np.where((n > FEWEST_PAIRS) & (np.abs(r) < _PERFECT), np.arctanh(r), np.nan)
        z_weights = n - 3
        mean_z = (z_weights * z).sum(axis=0) / z_weights.sum(axis=0)
    return np.asarray(np.tanh(mean_z))
