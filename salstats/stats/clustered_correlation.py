"""Spearman correlations whose intervals resample units, where rows of a patient are not independent."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, warn
from salstats.frames import combined_codes, estimates_frame
from salstats.stats.absent import absent_column, absent_observations
from salstats.stats.advice import FEW_UNITS, UNDEFINED_SHARE
from salstats.stats.coefficients import FEWEST_PAIRS, fisher_std_error, pool_fisher_z
from salstats.stats.grouping import group_label, group_list, row_groups, warn_pooled_methods
from salstats.stats.inference import bootstrap_floor, bootstrap_p_values, check_settings
from salstats.stats.intervals import percentile
from salstats.stats.resampling import weight_blocks
from salstats.stats.wide import columns_to_correlate, find_units

#: A correlation within rounding of -1 or 1 is one: its Fisher z has no use.
_PERFECT = 1 - 1e-12


def correlate_clustered(
    data: pd.DataFrame,
    x: str,
    y: str,
    *,
    by: str | Sequence[str] | None = None,
    stratified: str | None = None,
    overall: bool = False,
    unit: str | None = None,
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return Spearman's correlation of `x` and `y` in each group, with intervals that resample units.

    Parameters
    ----------
    data, x, y, by, overall
        As for `correlate`.
    stratified : str, optional
        A column, such as `task`: correlate within each of its values and combine on Fisher's z with weights
        n - 3. What differs *between* the strata has then no part in the correlation.
    unit : str, optional
        What is resampled: `patient` where that column repeats over cases, else `case`. All rows of a unit
        come along.
    level : float
        Confidence level.
    n_replicates, rng, draws
        As for `summarize`.

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then `term` ("spearman"), `estimate` (the value of `correlate`),
        `std_error` (SD of the replicates), `p_value` (bootstrap: twice the smaller of (1 + count) / (B + 1)
        on either side of 0), `conf_low`, `conf_high` (percentile), `conf_level`, `interval`, `unit`, `n`
        complete pairs, `n_missing`, `n_units`, `n_undefined` replicates (a variable that does not vary, or a
        stratum with 3 pairs or fewer or with a correlation of -1 or 1), `bias`, `x`, `y`, `n_replicates`; and
        with `stratified` its name as `stratum`, and `n_strata` that have a correlation.

    Raises
    ------
    ColumnError
        As for `correlate`; there is no column that could be the unit.
    ValueRangeError
        A level outside (0, 1), fewer than one replicate; `x` and `y` are the same.

    Warns
    -----
    SalstatsWarning
        Fewer than 20 units; more than 1 % of the replicates undefined.

    Notes
    -----
    A replicate ranks its own rows anew, ties by their mean rank. To combine correlations within strata is
    Taylor's (1987) way with a blocking variable; he weighs the correlations themselves, here it is Fisher's
    z, as `correlate(stratified=)` has it. Resampling patients keeps what their rows in several strata have
    in common.

    In simulations (600 samples each; 20, 40 and 90 patients with one or two views; correlation 0 and 0.5;
    an outcome with a mass at 0, and a 0/1 one) the 95 % interval covered in 91 to 96 % of the samples, the
    fewest for 0/1 outcomes of 20 patients; Bonett and Wright's, rows for independent, in 91 to 95 %, and its
    coverage does not improve with more patients.

    References
    ----------
    Taylor JMG. Kendall's and Spearman's correlation coefficients in the presence of a blocking variable.
    Biometrics 1987;43:409-416. https://doi.org/10.2307/2531822

    Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge University Press 1997.
    https://doi.org/10.1017/CBO9780511802843

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("method == 'gradcam'")
    >>> found = correlate_clustered(scores, "iou", "prob", stratified="task", n_replicates=200)
    >>> found[["method", "term", "unit", "n", "n_units", "n_strata"]]
        method      term     unit    n  n_units  n_strata
    0  gradcam  spearman  patient  685      140         5
    """
    groups, strata, table, first, second = columns_to_correlate(data, x, y, by, stratified, unit)
    warn_pooled_methods(table, groups)
    units = find_units(table, unit)
    if units is None:
        raise SalstatsError("data have no column 'case' or 'patient' to resample; name one with unit=")
    settings = check_settings("percentile", ("percentile",), level, n_replicates, rng, draws, units.n)
    complete = ~(np.isnan(first) | np.isnan(second))
    keys, rows_of = row_groups(table, groups, overall=overall)
    codes = combined_codes(table, strata)
    members = [list(_usable(first, second, rows[complete[rows]], codes, bool(strata))) for rows in rows_of]
    estimate = np.array([_combined(first, second, parts, bool(strata)) for parts in members])
    replicates = np.full((settings.n_replicates, len(members)), np.nan)
    for block, weights in weight_blocks(
        units.n, settings.n_replicates, settings.rng, settings.draws, per_replicate=len(table)
    ):
        for group, parts in enumerate(members):
            replicates[block, group] = _replicates(first, second, units.codes, weights, parts, bool(strata))
    with np.errstate(invalid="ignore"):
        low, high = percentile(replicates, settings.level)
    pairs = [np.concatenate(parts) if parts else np.array([], dtype=np.int64) for parts in members]
    n = np.array([len(own) for own in pairs])
    defined = ~np.isnan(replicates)
    n_units = np.array([len(np.unique(units.codes[own])) for own in pairs])
    _warn_few(keys, n_units, (~defined).sum(axis=0), settings.n_replicates)
    mean, deviation = _moments(replicates, defined)
    columns: dict[str, object] = {
        "term": "spearman",
        "estimate": estimate,
        "std_error": deviation,
        "p_value": np.where(np.isnan(estimate), np.nan, bootstrap_p_values(replicates)),
        "conf_low": low,
        "conf_high": high,
        "conf_level": settings.level,
        "interval": "percentile",
        "unit": units.name,
        "n": n,
        "n_missing": np.array([len(rows) for rows in rows_of]) - n,
        "n_units": n_units,
        "n_undefined": (~defined).sum(axis=0),
        "bias": mean - estimate,
        "p_floor": np.where(np.isnan(estimate), np.nan, bootstrap_floor(replicates)),
        **absent_column(keys, absent_observations(data, [x, y], groups), data),
    }
    special: dict[str, object] = {"x": x, "y": y}
    if stratified is not None:
        special |= {"stratum": stratified, "n_strata": [len(parts) for parts in members]}
    return estimates_frame(keys, columns, special | {"n_replicates": settings.n_replicates})


def weighted_spearman(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of the rows, each taken as often as its weight says.

    Parameters
    ----------
    x, y : ndarray of float, shape (n,)
        Without NaN.
    weights : ndarray of float, shape (n_replicates, n)
        Whole numbers, 0 for a row that is left out.

    Returns
    -------
    ndarray of float, shape (n_replicates,)
        The correlation of mean ranks; NaN where `x` or `y` does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    >>> weighted_spearman(x, y, np.array([[1, 1, 1, 1], [2, 0, 0, 2], [4, 0, 0, 0]])).round(6)
    array([0.8, 1. , nan])
    """
    total = weights.sum(axis=1)
    (codes_x, ranks_x, variance_x), (codes_y, ranks_y, variance_y) = (
        _centred_ranks(values, weights, total) for values in (x, y)
    )
    products = ranks_x[:, codes_x]
    products *= ranks_y[:, codes_y]
    covariance = np.einsum("ij,ij->i", products, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        r: np.ndarray = np.where(
            (variance_x > 0) & (variance_y > 0), covariance / np.sqrt(variance_x * variance_y), np.nan
        )
    return np.clip(r, -1, 1)


def _centred_ranks(
    values: np.ndarray, weights: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each row's value code, the mean rank of each value less the mean of all, and their variance."""
    codes = np.unique(values, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks = np.cumsum(sizes, axis=1) - (sizes + total[:, None]) / 2
    return codes, ranks, np.einsum("ij,ij,ij->i", sizes, ranks, ranks)


def _warn_few(keys: pd.DataFrame, n_units: np.ndarray, n_undefined: np.ndarray, n_replicates: int) -> None:
    """Warn where few units, or replicates without a correlation, leave little to resample."""

    def named(which: np.ndarray) -> str:
        return group_list([group_label(keys, int(row)) for row in np.flatnonzero(which)])

    few = (n_units > 0) & (n_units < FEW_UNITS)
    if few.any():
        warn(
            f"Spearman's percentile intervals rest on fewer than {FEW_UNITS} units (the fewest: "
            f"{n_units[few].min()}) for {named(few)}; they come out too short, and p-values too small"
        )
    many = (n_undefined > UNDEFINED_SHARE * n_replicates) & (n_units > 0)
    if many.any():
        warn(
            f"{n_undefined[many].max()} of {n_replicates} replicates have no correlation for {named(many)} "
            "and are left out of the interval, so it speaks only of the others; a variable hardly varies"
        )


def _usable(
    first: np.ndarray, second: np.ndarray, pairs: np.ndarray, codes: np.ndarray, stratified: bool
) -> Iterator[np.ndarray]:
    """Yield the rows of each stratum (else all rows) that has a correlation that can be used."""
    for code in np.unique(codes[pairs]) if stratified else [None]:
        rows = pairs if code is None else pairs[codes[pairs] == code]
        enough = FEWEST_PAIRS if code is None else FEWEST_PAIRS + 1
        if len(rows) < enough:
            continue
        r = _one(first[rows], second[rows])
        if not np.isnan(r) and (code is None or abs(r) < _PERFECT):
            yield rows


def _one(x: np.ndarray, y: np.ndarray) -> float:
    """Return the correlation of the rows, each taken once."""
    return float(weighted_spearman(x, y, np.ones((1, len(x))))[0])


def _combined(first: np.ndarray, second: np.ndarray, parts: list[np.ndarray], stratified: bool) -> float:
    """Return the correlation of one group."""
    r = np.array([_one(first[rows], second[rows]) for rows in parts])
    if not stratified:
        return float(r[0]) if len(r) else np.nan
    n = np.array([len(rows) for rows in parts])
    return float(pool_fisher_z(r, fisher_std_error(r, n, "spearman", "fisher")).estimate)


def _replicates(
    first: np.ndarray,
    second: np.ndarray,
    unit_codes: np.ndarray,
    weights: np.ndarray,
    parts: list[np.ndarray],
    stratified: bool,
) -> np.ndarray:
    """Return the correlation of one group in each replicate of a block."""
    if not parts:
        return np.full(len(weights), np.nan)
    found, sizes = [], []
    for rows in parts:
        own = weights[:, unit_codes[rows]]
        found.append(weighted_spearman(first[rows], second[rows], own))
        sizes.append(own.sum(axis=1))
    if not stratified:
        return found[0]
    r, n = np.array(found), np.array(sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where((n > FEWEST_PAIRS) & (np.abs(r) < _PERFECT), np.arctanh(r), np.nan)
        combined: np.ndarray = np.tanh(((n - 3) * z).sum(axis=0) / (n - 3).sum(axis=0))
    return combined


def _moments(replicates: np.ndarray, defined: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and SD of the defined replicates of each group."""
    n = defined.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(defined, replicates, 0.0).sum(axis=0) / n
        squares = np.where(defined, (replicates - mean) ** 2, 0.0).sum(axis=0)
        deviation: np.ndarray = np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)
    return mean, deviation
