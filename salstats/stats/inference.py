"""From cells and an estimand to estimates, standard errors and limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import (
    ValueRangeError,
    check_choice,
    check_count,
    check_draws,
    check_generator,
    check_level,
)
from salstats.stats import intervals
from salstats.stats.advice import ROUNDING, warn_few_units, warn_limits, warn_undefined
from salstats.stats.analytic import (
    analytic_variance,
    effective_units,
    fieller_limits,
    jackknife,
    scale_slopes,
    smallest_of_rows,
    smallest_sample,
    unit_sizes,
)
from salstats.stats.cells import Cells, ratio
from salstats.stats.estimand import Estimand, influence_weights
from salstats.stats.monte_carlo import SIDES
from salstats.stats.resampling import few_threads, weight_blocks


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
    smallest: np.ndarray
    bias: np.ndarray
    n_undefined: np.ndarray
    scale: np.ndarray
    replicates: np.ndarray | None = field(default=None, repr=False)
    gap_replicates: np.ndarray | None = field(default=None, repr=False)
    conf_set: np.ndarray | None = None
    zero_in_gap: np.ndarray | None = None


class _Limits(NamedTuple):
    """Limits of intervals; of Fieller's sets also what they hold, and whether 0 lies in a gap of them."""

    low: np.ndarray
    high: np.ndarray
    conf_set: np.ndarray | None = None
    zero_in_gap: np.ndarray | None = None


def infer(
    cells: Cells, estimand: Estimand, settings: Settings, keys: pd.DataFrame, *, gaps: bool = False
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
    gaps : bool
        Draw replicates of the differences too (for a p-value), although the interval needs none.
    """
    kind = settings.interval
    if kind == "order":
        estimand = replace(estimand, partial=True)
    means = cells.means()
    estimate, scale = estimand.value(means), estimand.scale(means)
    sizes = unit_sizes(cells, estimand)
    n_units = (sizes > 0).sum(axis=0)
    bootstrapped = kind in intervals.BOOTSTRAP
    variance = df = np.full(len(estimate), np.nan)
    if not bootstrapped or kind == "studentized":
        variance, df = analytic_variance(cells, estimand)
    std_error = np.sqrt(variance)
    replicates, variances, gap_replicates = None, None, None
    if bootstrapped or gaps:
        replicates, variances, gap_replicates = replicate(
            cells, estimand, settings, gaps=gaps, studentized=kind == "studentized"
        )
    bias, n_undefined = np.full(len(estimate), np.nan), np.zeros(len(estimate), dtype=np.int64)
    if replicates is not None:
        mean, spread, n_defined = _moments(replicates)
        bias = mean - estimate
        n_undefined = len(replicates) - n_defined
        if bootstrapped:
            std_error, df = spread, np.full(len(estimate), np.nan)
    std_error = np.where(std_error <= ROUNDING * scale, 0.0, std_error)
    limits = _limits(
        cells,
        estimand,
        settings,
        estimate,
        std_error,
        df,
        n_units,
        replicates,
        variances,
        variance,
        bias,
        scale,
    )
    low, high = limits.low, limits.high
    smallest = smallest_of_rows(cells, estimand)
    if kind not in ("wilson", "exact"):
        low, high = (np.where(smallest < 2, np.nan, limit) for limit in (low, high))
        warn_few_units(
            smallest, effective_units(sizes), keys, kind, estimand.kind, resampled=replicates is not None
        )
    if replicates is not None:
        warn_undefined(n_undefined, len(replicates), keys)
    warn_limits(kind, estimand.kind, low, high, estimate, scale, keys, limits.conf_set)
    return Inference(
        estimate,
        std_error,
        low,
        high,
        df,
        n_units,
        smallest,
        bias,
        n_undefined,
        scale,
        replicates,
        gap_replicates,
        limits.conf_set,
        limits.zero_in_gap,
    )


def _limits(
    cells: Cells,
    estimand: Estimand,
    settings: Settings,
    estimate: np.ndarray,
    std_error: np.ndarray,
    df: np.ndarray,
    n_units: np.ndarray,
    replicates: np.ndarray | None,
    variances: np.ndarray | None,
    variance: np.ndarray,
    bias: np.ndarray,
    scale: np.ndarray,
) -> _Limits:
    """Return the limits of the interval asked for."""
    kind, level = settings.interval, settings.level
    if kind == "percentile":
        return _Limits(*intervals.percentile(_given(replicates), level))
    if kind == "order":
        return _Limits(*intervals.order(_given(replicates), level))
    if kind == "basic":
        return _Limits(*intervals.basic(_given(replicates), estimate, level))
    if kind == "normal":
        return _Limits(*intervals.normal(bias, std_error, estimate, level))
    if kind == "bca":
        return _Limits(*intervals.bca(_given(replicates), estimate, jackknife(cells, estimand), level))
    if kind == "studentized":
        rounding = ROUNDING * scale
        return _Limits(
            *intervals.studentized(_given(replicates), _given(variances), estimate, variance, rounding, level)
        )
    if kind in ("wilson", "exact"):
        # a proportion is a single cell per row: its size is that cell's
        n = cells.counts.sum(axis=0) @ estimand.first
        size = intervals.effective_size(estimate, n, std_error**2, n_units, level)
        return _Limits(*getattr(intervals, kind)(estimate, size, level))
    if kind == "fieller":
        return _Limits(*fieller_limits(cells, estimand, df, level))
    return _Limits(*intervals.t_limits(estimate, std_error, df, level))


def replicate(
    cells: Cells, estimand: Estimand, settings: Settings, *, gaps: bool = False, studentized: bool = False
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return the replicates of all estimates.

    Parameters
    ----------
    cells, estimand, settings
        As for `infer`.
    gaps : bool
        Also of the differences of the same levels.
    studentized : bool
        Also the delta-method variance of each replicate.

    Returns
    -------
    replicates : ndarray, shape (n_replicates, n_rows)
        NaN where undefined.
    variances, gap_replicates : ndarray, shape (n_replicates, n_rows), or None
        As asked for; the variance is that of `analytic_variance` with the units drawn.
    """
    shape = (settings.n_replicates, estimand.n_rows)
    replicates = np.empty(shape)
    variances = np.empty(shape) if studentized else None
    differences = np.empty(shape) if gaps else None
    gap = estimand.gap()
    present = (cells.counts > 0).astype(np.float64)
    # one wide product instead of two: sums and counts side by side
    both, n_cells = np.hstack([cells.sums, cells.counts]), cells.sums.shape[1]
    room = estimand.n_rows * n_cells if studentized else 0
    blocks = weight_blocks(len(cells.sums), settings.n_replicates, settings.rng, settings.draws, room)
    with few_threads(*both.shape):
        for rows, weights in blocks:
            product = weights @ both
            totals = product[:, n_cells:]
            means = ratio(product[:, :n_cells], totals)
            replicates[rows] = estimand.value(means)
            if differences is not None:
                differences[rows] = gap.value(means)
            if variances is not None:
                drawn = smallest_sample(weights @ present, cells.sample)
                slopes = scale_slopes(estimand.gradient(means), drawn)
                per_sum, per_count = influence_weights(slopes, means, totals)
                for row in range(estimand.n_rows):
                    pull = per_sum[:, row] @ cells.sums.T - per_count[:, row] @ cells.counts.T
                    variances[rows, row] = np.einsum("bu,bu,bu->b", weights, pull, pull)
    return replicates, variances, differences


def bootstrap_p_values(replicates: np.ndarray, rounding: np.ndarray | float = 0.0) -> np.ndarray:
    """Return two-sided p-values for 0: twice the smaller (1 + count) / (B + 1), at most 1.

    Parameters
    ----------
    replicates : ndarray, shape (n_replicates, n_rows)
        NaN where undefined; these are left out of the counts and of B.
    rounding : ndarray, shape (n_rows,), or float
        Replicates within this of 0 count on both sides.
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    below, above = (replicates <= rounding).sum(axis=0), (replicates >= -rounding).sum(axis=0)
    p = np.minimum(1.0, 2 * (1 + np.minimum(below, above)) / (n_defined + 1))
    return np.where(n_defined > 0, p, np.nan)


def bootstrap_floor(replicates: np.ndarray) -> np.ndarray:
    """Return the smallest value that `bootstrap_p_values` can give with so many defined replicates."""
    return np.minimum(1.0, SIDES["bootstrap"] / ((~np.isnan(replicates)).sum(axis=0) + 1))


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
    """Return an array that `infer` drew for the interval asked for."""
    assert array is not None
    return array
