"""Spearman correlations whose intervals know or resample units, as rows of a patient are not independent."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, check_draws, warn
from salstats.frames import estimates_frame
from salstats.stats.correlation import correlate, warn_pooled_pairs
from salstats.stats.engine.advice import FEW_UNITS, UNDEFINED_SHARE
from salstats.stats.engine.carried import absent_column, absent_observations
from salstats.stats.engine.coefficients import FEWEST_PAIRS, weighted_spearman
from salstats.stats.engine.design import named_groups, row_groups, warn_pooled_methods
from salstats.stats.engine.draws import weight_blocks
from salstats.stats.engine.fixed_factors import inference_to
from salstats.stats.engine.inference import bootstrap_p_values, check_options, moments
from salstats.stats.engine.limits import percentile
from salstats.stats.engine.units import Unit, resolve_unit, says_units
from salstats.stats.engine.wide import columns_to_correlate

#: A correlation within rounding of -1 or 1 is one: its Fisher z has no use.
_PERFECT = 1 - 1e-12
#: Both variables and the unit of each row.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    """Spearman's correlation of `x` and `y` in each group, with intervals that know or resample units.

    Parameters
    ----------
    data, x, y, by, overall
        As for `correlate`.
    stratified : str, optional
        A column, such as `task`: correlate within each of its values and combine on Fisher's z with weights
        n - 3. What differs *between* the strata has then no part in the correlation.
    interval : {"recommended", "cr2", "percentile"}, optional
        `cr2`, which is recommended and the default, is `correlate` itself; `percentile`, the default with
        `draws`, resamples units.
    unit, level, n_replicates, rng, draws
        As for `summarize`.

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then as `correlate` for Spearman's; with `percentile` but: `std_error`
        (SD of the replicates), `p_value` (bootstrap: twice the smaller of (1 + count) / (B + 1) on either
        side of 0), percentile limits, and `n_undefined` replicates (a variable that does not vary, or a
        stratum with 3 pairs or fewer or with a correlation of -1 or 1), `bias`, `n_replicates`; with
        `stratified` its name as `stratum`, and `n_strata` that have a correlation.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `correlate` and `summarize`; there is no column that could be the unit to resample.

    Notes
    -----
    A replicate ranks its own rows anew, ties by their mean rank. To combine correlations within strata is
    Taylor's (1987) way with a blocking variable; he weighs the correlations themselves, here it is Fisher's
    z, as `correlate(stratified=)` has it. Resampling patients keeps what their rows in several strata have
    in common. Fewer than 20 units, and more than 1 % of undefined replicates, warn.

    Percentile limits of rare hits are too narrow; see `correlate` for what the default holds.

    References
    ----------
    Taylor JMG. Kendall's and Spearman's correlation coefficients in the presence of a blocking variable.
    Biometrics 1987;43:409-416. https://doi.org/10.2307/2531822

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("method == 'gradcam'")
    >>> found = ss.correlate_clustered(scores, "iou", "prob", stratified="task")
    >>> found[["method", "term", "interval", "unit", "n", "n_units", "n_strata"]]
        method      term interval     unit    n  n_units  n_strata
    0  gradcam  spearman      cr2  patient  685      140         5
    """
    options = check_options("clustered_correlation", interval, level, n_replicates, rng, draws)
    if not options.resampled:
        return correlate(
            data, x, y, by=by, level=level, stratified=stratified, overall=overall, unit=unit, interval="cr2"
        )
    groups, strata, codes, first, second = columns_to_correlate(data, x, y, by, stratified, unit)
    warn_pooled_methods(codes.frame, groups)
    units = resolve_unit(codes, unit, "data") if says_units(codes.frame, unit) else None
    if units is None:
        raise SalstatsError("data have no column 'case' or 'patient' to resample; name one with unit=")
    if options.draws is not None:
        check_draws(options.draws, units.n)
    complete = ~(np.isnan(first) | np.isnan(second))
    warn_pooled_pairs(codes.frame[complete], by, groups, strata)
    keys, rows_of = row_groups(codes, groups, overall=overall)
    strata_codes = codes.combined(strata) if strata else None
    members = [_usable(first, second, rows[complete[rows]], strata_codes) for rows in rows_of]
    parts_of = [[(first[rows], second[rows], units.codes[rows]) for rows in parts] for parts in members]
    once = np.ones((1, units.n))
    estimate = np.array([_correlations(parts, once, bool(strata))[0] for parts in parts_of])
    replicates = np.full((options.n_replicates, len(members)), np.nan)
    for block, weights in weight_blocks(
        units.n, options.n_replicates, options.rng, options.draws, per_replicate=len(codes.frame)
    ):
        for group, parts in enumerate(parts_of):
            replicates[block, group] = _correlations(parts, weights, bool(strata))
    low, high = percentile(replicates, level)
    pairs = [np.concatenate([rows_of[0][:0], *parts]) for parts in members]
    n = np.array([len(own) for own in pairs])
    mean, deviation, n_defined = moments(replicates)
    p_value, floor = bootstrap_p_values(replicates)
    n_undefined = options.n_replicates - n_defined
    n_units = np.array([len(np.unique(units.codes[own])) for own in pairs])
    _warn_few(keys, n_units, n_undefined, options.n_replicates)
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
        **inference_to(codes.frame, units.codes, keys),
        "n": n,
        "n_missing": np.array([len(rows) for rows in rows_of]) - n,
        "n_units": n_units,
        "n_undefined": n_undefined,
        "bias": mean - estimate,
        "p_floor": np.where(np.isnan(estimate), np.nan, floor),
        **absent_column(keys, absent_observations(data, [x, y], groups), data),
    }
    special: dict[str, object] = {"x": x, "y": y}
    if stratified is not None:
        special |= {"stratum": stratified, "n_strata": [len(parts) for parts in members]}
    return estimates_frame(keys, columns, special | options.columns())


def _warn_few(keys: pd.DataFrame, n_units: np.ndarray, n_undefined: np.ndarray, n_replicates: int) -> None:
    """Warn where few units, or replicates without a correlation, leave little to resample."""
    few = (n_units > 0) & (n_units < FEW_UNITS)
    if few.any():
        warn(
            f"Spearman's percentile intervals rest on fewer than {FEW_UNITS} units (the fewest: "
            f"{n_units[few].min()}) for {named_groups(keys, few)}; they come out too short, and "
            "p-values too small"
        )
    many = (n_undefined > UNDEFINED_SHARE * n_replicates) & (n_units > 0)
    if many.any():
        warn(
            f"{n_undefined[many].max()} of {n_replicates} replicates have no correlation for "
            f"{named_groups(keys, many)} and are left out of the interval, so it speaks only of "
            "the others; a variable hardly varies"
        )


def _usable(
    first: np.ndarray, second: np.ndarray, pairs: np.ndarray, strata: np.ndarray | None
) -> list[np.ndarray]:
    """The rows of each stratum (else all rows) that has a correlation that can be used."""
    parts = [pairs] if strata is None else [pairs[strata[pairs] == code] for code in np.unique(strata[pairs])]
    usable = []
    for rows in parts:
        if len(rows) < FEWEST_PAIRS + (strata is not None):
            continue
        r = weighted_spearman(first[rows], second[rows], np.ones((1, len(rows))))[0]
        if not np.isnan(r) and (strata is None or abs(r) < _PERFECT):
            usable.append(rows)
    return usable


def _correlations(parts: list[Part], weights: np.ndarray, stratified: bool) -> np.ndarray:
    """Correlation of one group, in each row of `weights` (n_replicates, n_units)."""
    if not parts:
        return np.full(len(weights), np.nan)
    own = [weights[:, units] for _, _, units in parts]
    r = np.array([weighted_spearman(x, y, w) for (x, y, _), w in zip(parts, own, strict=True)])
    if not stratified:
        return np.asarray(r[0])
    n = np.array([w.sum(axis=1) for w in own])
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where((n > FEWEST_PAIRS) & (np.abs(r) < _PERFECT), np.arctanh(r), np.nan)
        return np.asarray(np.tanh(((n - 3) * z).sum(axis=0) / (n - 3).sum(axis=0)))
