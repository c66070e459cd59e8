"""From cells and an estimand to estimates, standard errors and limits."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsWarning,
    ShapeError,
    ValueRangeError,
    check_choice,
    check_count,
    check_draws,
    check_generator,
    check_level,
)
from salstats.stats import intervals
from salstats.stats.cells import Cells, ratio
from salstats.stats.estimand import Estimand, influence_weights
from salstats.stats.grouping import group_label, group_list
from salstats.stats.resampling import weight_blocks

ANALYTIC = ("t", "wilson", "exact", "delta", "fieller")
#: share of undefined replicates above which an interval deserves a look
_UNDEFINED_SHARE = 0.01


@dataclass(frozen=True)
class Settings:
    """How to infer: what the public functions take, checked."""

    interval: str
    level: float
    n_replicates: int
    rng: np.random.Generator = field(repr=False)
    draws: np.ndarray | None = None


def check_settings(
    interval: str,
    allowed: Sequence[str],
    level: float,
    n_replicates: int,
    rng: int | np.random.Generator,
    draws: object,
    n_units: int,
) -> Settings:
    """Return checked settings; a given `draws` decides the number of replicates."""
    check_choice(interval, allowed, "interval")
    check_level(level)
    check_count(n_replicates, "n_replicates")
    generator = check_generator(rng)
    if draws is None:
        return Settings(interval, level, n_replicates, generator)
    matrix = check_draws(draws, n_units)
    return Settings(interval, level, len(matrix), generator, matrix)


@dataclass(frozen=True)
class Inference:
    """Estimates with all that an estimates frame wants to know of them; arrays of shape (n_rows,)."""

    estimate: np.ndarray
    std_error: np.ndarray
    conf_low: np.ndarray
    conf_high: np.ndarray
    df: np.ndarray
    n_units: np.ndarray
    bias: np.ndarray
    n_undefined: np.ndarray
    replicates: np.ndarray | None = field(default=None, repr=False)
    conf_set: np.ndarray | None = None


def infer(
    cells: Cells, estimand: Estimand, settings: Settings, keys: pd.DataFrame, *, resample: bool = True
) -> Inference:
    """Estimate, resample and find the limits.

    Parameters
    ----------
    cells : Cells
        Sums and counts.
    estimand : Estimand
        What to estimate from them.
    settings : Settings
        Interval, level, draws.
    keys : DataFrame, n_rows rows
        The grouping columns of each estimate, for warnings.
    resample : bool
        Draw replicates although the interval needs none (for a p-value).
    """
    means, totals = cells.means(), cells.counts.sum(axis=0)
    estimate = estimand.value(means)
    part = cells.counts @ estimand.cells_of_rows().astype(np.float64) > 0
    n_units = part.sum(axis=0)
    kind = settings.interval
    bootstrapped = kind in intervals.BOOTSTRAP
    variance = np.full(len(estimate), np.nan)
    if not bootstrapped or kind == "studentized":
        variance = (unit_influence(cells, estimand) ** 2).sum(axis=0) * finite_units(n_units)
    replicates = variances = None
    if bootstrapped or resample:
        replicates, variances = replicate(cells, estimand, settings, part if kind == "studentized" else None)
    bias = np.full(len(estimate), np.nan)
    n_undefined = np.zeros(len(estimate), dtype=np.int64)
    spread = np.sqrt(variance)
    if replicates is not None:
        mean, spread_of_replicates, n_defined = _moments(replicates)
        bias = mean - estimate
        n_undefined = len(replicates) - n_defined
        _warn_undefined(n_undefined, len(replicates), keys)
        if bootstrapped:
            spread = spread_of_replicates
    df = np.full(len(estimate), np.nan) if bootstrapped else n_units - 1.0
    conf_set = None
    if kind == "percentile":
        low, high = intervals.percentile(_given(replicates), settings.level)
    elif kind == "order":
        low, high = intervals.order(_given(replicates), settings.level)
    elif kind == "basic":
        low, high = intervals.basic(_given(replicates), estimate, settings.level)
    elif kind == "normal":
        low, high = intervals.normal(bias, spread, estimate, settings.level)
    elif kind == "bca":
        low, high = intervals.bca(_given(replicates), estimate, jackknife(cells, estimand), settings.level)
    elif kind == "studentized":
        low, high = intervals.studentized(
            _given(replicates), _given(variances), estimate, variance, settings.level
        )
    elif kind in ("wilson", "exact"):
        # a proportion is a single cell per row: its size is that cell's
        n = totals @ estimand.first
        size = intervals.effective_size(estimate, n, variance, n_units, settings.level)
        low, high = getattr(intervals, kind)(estimate, size, settings.level)
        df = np.full(len(estimate), np.nan)
    elif kind == "fieller":
        low, high, conf_set = _fieller(cells, estimand, n_units, settings.level, keys)
    else:
        low, high = intervals.t_limits(estimate, spread, df, settings.level)
    _warn_limits(kind, low, high, estimate, keys)
    return Inference(estimate, spread, low, high, df, n_units, bias, n_undefined, replicates, conf_set)


def replicate(
    cells: Cells, estimand: Estimand, settings: Settings, part: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the replicates of all estimates, and their delta-method variances where `part` is given.

    Parameters
    ----------
    cells, estimand, settings
        As for `infer`.
    part : ndarray of bool, shape (n_units, n_rows), optional
        Which units have a part in which estimate; asks for the variances.

    Returns
    -------
    replicates : ndarray, shape (n_replicates, n_rows)
        NaN where undefined.
    variances : ndarray, shape (n_replicates, n_rows), or None
        With the factor G / (G - 1), G the number of units drawn that have a part.
    """
    n_units = len(cells.sums)
    replicates = np.empty((settings.n_replicates, estimand.n_rows))
    variances = None if part is None else np.empty_like(replicates)
    for rows, weights in weight_blocks(n_units, settings.n_replicates, settings.rng, settings.draws):
        totals = weights @ cells.counts
        means = ratio(weights @ cells.sums, totals)
        replicates[rows] = estimand.value(means)
        if part is not None and variances is not None:
            drawn = weights @ part.astype(np.float64)
            per_sum, per_count = influence_weights(estimand.gradient(means), means, totals)
            for row in range(estimand.n_rows):
                pull = per_sum[:, row] @ cells.sums.T - per_count[:, row] @ cells.counts.T
                variances[rows, row] = np.einsum("bu,bu,bu->b", weights, pull, pull)
            variances[rows] *= finite_units(drawn)
    return replicates, variances


def finite_units(n_units: np.ndarray) -> np.ndarray:
    """Return the factor G / (G - 1) of a variance from G units, NaN below 2."""
    return ratio(n_units, np.where(n_units > 1, n_units - 1.0, np.nan))


def unit_influence(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Return each unit's influence on each estimate, shape (n_units, n_rows); columns sum to 0."""
    means, totals = cells.means(), cells.counts.sum(axis=0)
    per_sum, per_count = influence_weights(estimand.gradient(means), means, totals)
    return cells.sums @ per_sum.T - cells.counts @ per_count.T


def jackknife(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Return the estimates without each unit, shape (n_units, n_rows)."""
    sums, counts = cells.sums.sum(axis=0), cells.counts.sum(axis=0)
    untouched = cells.counts == 0
    means = np.where(untouched, cells.means(), ratio(sums - cells.sums, counts - cells.counts))
    return estimand.value(means)


def _fieller(
    cells: Cells, estimand: Estimand, n_units: np.ndarray, level: float, keys: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Fieller's limits, infinite and explained in the third array where unbounded."""
    assert estimand.second is not None
    method, reference = estimand.levels(cells.means())
    assert reference is not None
    pulls = np.stack(
        [unit_influence(cells, Estimand("mean", a)) for a in (estimand.first, estimand.second)], axis=2
    )
    covariance = np.einsum("uri,urj->rij", pulls, pulls) * finite_units(n_units)[:, None, None]
    low, high, form = intervals.fieller(method, reference, covariance, n_units - 1.0, level)
    unbounded = np.isin(form, ("outside", "line"))
    text = form.astype(object)
    for row in np.flatnonzero(form == "outside"):
        text[row] = f"all but {low[row]:.6g} to {high[row]:.6g}"
    text[form == "line"] = "everything"
    if unbounded.any():
        warnings.warn(
            f"Fieller's set is unbounded for {_named(keys, unbounded)}: the reference's mean does not "
            "differ from 0, and no percentage decrease is excluded by it alone (see conf_set)",
            SalstatsWarning,
            stacklevel=4,
        )
    return np.where(unbounded, -np.inf, low), np.where(unbounded, np.inf, high), text


def bootstrap_p_values(replicates: np.ndarray, null: float = 0.0) -> np.ndarray:
    """Return two-sided p-values: twice the smaller (1 + count) / (B + 1), at most 1.

    Parameters
    ----------
    replicates : ndarray, shape (n_replicates, n_rows)
        NaN where undefined; these are left out of the counts and of B.
    null : float
        Value of the estimate under the null hypothesis.
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    below, above = (replicates <= null).sum(axis=0), (replicates >= null).sum(axis=0)
    p = np.minimum(1.0, 2 * (1 + np.minimum(below, above)) / (n_defined + 1))
    return np.where(n_defined > 0, p, np.nan)


def check_binary(values: np.ndarray, option: str, choice: str) -> None:
    """Raise when scores are not all 0 or 1."""
    odd = ~np.isnan(values) & (values != 0) & (values != 1)
    if odd.any():
        raise ValueRangeError(
            f"{option}={choice!r} is for 0/1 scores, and there is a score {values[odd][0]:g}; keep the 0/1 "
            f"metrics, or take another {option}"
        )


def _moments(replicates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, SD (ddof 1) and number of the defined replicates of each row."""
    defined = ~np.isnan(replicates)
    n = defined.sum(axis=0)
    mean = ratio(np.where(defined, replicates, 0.0).sum(axis=0), n)
    deviation = np.where(defined, replicates - mean, 0.0)
    return mean, np.sqrt(ratio((deviation**2).sum(axis=0), np.where(n > 1, n - 1.0, 0.0))), n


def _given(array: np.ndarray | None) -> np.ndarray:
    """Return an array that the settings made sure is there."""
    if array is None:
        raise ShapeError("no replicates were drawn")
    return array


def _named(keys: pd.DataFrame, which: np.ndarray) -> str:
    """Return the names of the rows in question, for a message."""
    return group_list([group_label(keys, int(row)) for row in np.flatnonzero(which)])


def _warn_undefined(n_undefined: np.ndarray, n_replicates: int, keys: pd.DataFrame) -> None:
    """Warn where more than 1 % of the replicates are undefined."""
    many = n_undefined > _UNDEFINED_SHARE * n_replicates
    if many.any():
        warnings.warn(
            f"{n_undefined.max()} of {n_replicates} replicates are undefined for {_named(keys, many)} "
            "(no defined score drawn, or a reference of 0) and left out of the interval; "
            "there are too few defined scores to resample, an analytic interval needs no replicates",
            SalstatsWarning,
            stacklevel=4,
        )


def _warn_limits(
    kind: str, low: np.ndarray, high: np.ndarray, estimate: np.ndarray, keys: pd.DataFrame
) -> None:
    """Warn of intervals of width 0 and of limits that could not be found."""
    flat = (low == high) & ~np.isnan(estimate)
    if flat.any():
        warnings.warn(
            f"the {kind} interval has width 0 for {_named(keys, flat)}: all scores or replicates are equal; "
            "for 0/1 scores take interval='wilson' or 'exact', else more cases are needed",
            SalstatsWarning,
            stacklevel=4,
        )
    lost = (np.isnan(low) | np.isnan(high)) & ~np.isnan(estimate)
    if lost.any():
        warnings.warn(
            f"no {kind} limits for {_named(keys, lost)}: too few units, or all replicates on one side; "
            "interval='percentile' or an analytic one may be had",
            SalstatsWarning,
            stacklevel=4,
        )
