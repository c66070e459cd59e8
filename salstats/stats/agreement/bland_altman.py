"""Bland and Altman's limits of agreement of two raters, also where they read a case several times."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from salstats.stats.agreement.readings import (
    Found,
    Readings,
    Weights,
    jackknife_df,
    jackknife_error,
    once,
    one_way,
    student,
    two_sided,
    without_each_unit,
)
from salstats.stats.engine.estimands import ratio

#: Share of differences between the limits of agreement.
_WITHIN = float(special.ndtri(0.975))


def difference(readings: Readings, weights: Weights, linked: bool = True) -> np.ndarray:
    """Bias and SD of the difference of two single readings, shape (n_sets, 2).

    Where a case has several, linked ones are pairs: their differences have a variance within cases and one
    between, from the analysis of variance of one way, whose sum is that of a difference (Bland and Altman
    2007, section 3). Readings in any order make means of cases, to whose variance is added what single
    readings vary by more, (1 - mean of 1 / m) s² of each rater (section 2). The bias is over all readings.
    """
    n = readings.n_cases
    first = np.unique(readings.cases, return_index=True)[1]

    def per_case(values: np.ndarray) -> np.ndarray:
        return np.bincount(readings.cases, values, n)

    def over_cases(of_case: np.ndarray) -> np.ndarray:
        """Sums over the cases of each set, of which the first row stands for all."""
        rows = np.zeros(len(readings.cases))
        rows[first] = of_case
        return weights @ rows

    n_cases = over_cases(np.ones(n))
    if not linked:
        return _in_any_order(readings, over_cases, n_cases)
    apart = readings.values[:, 0] - readings.values[:, 1]
    middle = apart.mean()
    away = apart - middle
    m, total, squares = (per_case(values) for values in (np.ones_like(away), away, away**2))
    n_pairs, grand = over_cases(m), over_cases(total)
    inner, outer, worth = one_way(over_cases, m, total, squares)
    # one pair of each case has no variance within
    single = np.isclose(n_pairs, n_cases)
    variance = np.where(single, outer, inner + np.maximum(ratio(outer - inner, worth), 0.0))
    return np.column_stack([middle + ratio(grand, n_pairs), np.sqrt(variance)])


def _in_any_order(
    readings: Readings, over_cases: Callable[[np.ndarray], np.ndarray], n_cases: np.ndarray
) -> np.ndarray:
    """Bias and SD where readings of a case are in any order; raters may have several each."""
    more, means, overall = np.zeros(len(n_cases)), [], []
    for values in readings.values.T:
        there = ~np.isnan(values)
        cases, own = readings.cases[there], values[there]
        m = np.bincount(cases, minlength=readings.n_cases).astype(np.float64)
        mean = ratio(np.bincount(cases, own, readings.n_cases), m)
        squares = np.bincount(cases, (own - mean[cases]) ** 2, readings.n_cases)
        df = over_cases(m - 1)
        inner = np.where(df > 0, ratio(over_cases(squares), df), 0.0)
        more = more + (1 - ratio(over_cases(1 / m), n_cases)) * inner
        means.append(mean)
        overall.append(ratio(over_cases(m * mean), over_cases(m)))
    apart = means[0] - means[1]
    # about the mean squares lose no digits
    away = apart - apart.mean()
    spread = ratio(over_cases(away**2) - over_cases(away) ** 2 / n_cases, n_cases - 1)
    return np.column_stack([overall[0] - overall[1], np.sqrt(spread + more)])


def _limits(bias: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Bias, lower and upper limit of agreement, along the last axis."""
    return np.stack([bias, bias - _WITHIN * spread, bias + _WITHIN * spread], axis=-1)


def by_jackknife(readings: Readings, level: float, linked: bool = True) -> Found:
    """Limits from a jackknife of units: of the bias as it stands, of the SD on the scale of logarithms.

    A limit of agreement has the distances of both, combined by squares (Zou 2013).
    """
    estimate, replicates = without_each_unit(readings, partial(difference, linked=linked))
    bias, spread = estimate
    of_log = np.log(np.where(replicates[:, 1] > 0, replicates[:, 1], np.nan))
    moved = np.column_stack([replicates[:, 0], of_log])
    error, df = jackknife_error(moved), jackknife_df(moved)
    reach = student(level, df) * error
    below, above = _WITHIN * spread * (1 - np.exp(-reach[1])), _WITHIN * spread * np.expm1(reach[1])
    downward = np.array([reach[0], np.hypot(reach[0], above), np.hypot(reach[0], below)])
    points = _limits(bias, spread)
    errors = jackknife_error(_limits(*replicates.T))
    statistic = bias / error[0] if error[0] > 0 else np.nan
    p_value = float(two_sided(np.array(statistic), df[0]))
    nothing = [np.nan, np.nan]
    return Found(
        points,
        errors,
        np.array([statistic, *nothing]),
        np.array([df[0] if statistic == statistic else np.nan, *nothing]),
        np.array([p_value, *nothing]),
        points - downward,
        points + downward[[0, 2, 1]],
    )


def by_formula(readings: Readings, level: float, linked: bool = True) -> Found:
    """Limits of independent pairs, SE s sqrt(1/n) and s sqrt(1/n + z²/(2(n - 1))) (Bland and Altman 1999)."""
    bias, spread = difference(readings, once(readings), linked)[0]
    n = readings.n_cases
    of_bias = spread / np.sqrt(n)
    errors = np.array([of_bias, *2 * [spread * np.sqrt(1 / n + _WITHIN**2 / (2 * (n - 1)))]])
    points, df = _limits(bias, spread), float(n - 1)
    reach = student(level, df) * errors
    nothing = [np.nan, np.nan]
    statistic = np.array([bias / of_bias, *nothing])
    p_value = two_sided(statistic, np.array(df))
    return Found(points, errors, statistic, np.array([df, *nothing]), p_value, points - reach, points + reach)
