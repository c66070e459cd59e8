"""Intraclass correlations: the three of single readings and the three of means of readings.

The components of variance are those of symmetric sums (Koch 1967): half the mean squared difference of two
readings of one case (A: raters and error), of one rater (B: cases and error), and of neither (C: all three).
Where every rater read every case they are those of the analysis of variance of two ways, and where readings
are missing they stay unbiased.
"""

import numpy as np
from scipy import stats

from salstats.stats.agreement.readings import (
    Found,
    Readings,
    Weights,
    from_z,
    jackknife_df,
    jackknife_error,
    once,
    one_way,
    student,
    to_z,
    two_sided,
    without_each_unit,
)
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.estimands import ratio


def components(readings: Readings, weights: Weights) -> np.ndarray:
    """Half mean squared differences A, B, C, and ICC(1,1) from the analysis of one way, shape (n_sets, 4)."""
    there = ~np.isnan(readings.values)
    # about the mean sums of squares lose no digits
    values = np.where(there, readings.values - readings.values[there].mean(), 0.0)
    m, total, squares = there.sum(axis=1) + 0.0, values.sum(axis=1), (values**2).sum(axis=1)
    n_of, sum_of, squares_of = (weights @ a.astype(np.float64) for a in (there, values, values**2))
    pairs_within = weights @ (m * (m - 1))
    within = weights @ (m * squares - total**2)
    pairs_rater = (n_of * (n_of - 1)).sum(axis=1)
    of_rater = (n_of * squares_of - sum_of**2).sum(axis=1)
    n, grand, all_squares = n_of.sum(axis=1), sum_of.sum(axis=1), squares_of.sum(axis=1)
    pairs_rest = n * (n - 1) - pairs_within - pairs_rater
    rest = n * all_squares - grand**2 - within - of_rater
    inner, outer, worth = one_way(lambda of_rows: weights @ of_rows, m, total, squares)
    icc1 = ratio(outer - inner, outer + (worth - 1) * inner)
    return np.column_stack(
        [ratio(within, pairs_within), ratio(of_rater, pairs_rater), ratio(rest, pairs_rest), icc1]
    )


def single(readings: Readings, weights: Weights) -> np.ndarray:
    """ICC(1,1), ICC(2,1) = (C - A) / C and ICC(3,1) = (C - A) / B, shape (n_sets, 3)."""
    within, of_rater, rest, icc1 = components(readings, weights).T
    cases = rest - within
    return np.column_stack([icc1, ratio(cases, rest), ratio(cases, of_rater)])


def mean_of(rho: np.ndarray, k: float) -> np.ndarray:
    """Intraclass correlation of a mean of k readings, by Spearman and Brown."""
    return ratio(k * rho, 1 + (k - 1) * rho)


def by_jackknife(readings: Readings, level: float) -> Found:
    """All six with limits on Fisher's z of k readings, from a jackknife of units and Student's t.

    ICC(1) and ICC(2) speak of raters at large: the limits of the raters' variance, (k - 1) s² / chi², are
    combined with those of the units by the squares of their distances (Zou and Donner 2008).
    """
    k = readings.per_case
    estimate, replicates = without_each_unit(readings, single)
    z, moved = to_z(estimate, k), to_z(replicates, k)
    error, df = jackknife_error(moved), jackknife_df(moved)
    error = np.where(error > ROUNDING, error, np.nan)
    reach = student(level, df) * error
    down, up = _raters(readings, level, float(z[1]))
    at_large = np.array([1.0, 1.0, 0.0])
    low, high = z - np.hypot(reach, down * at_large), z + np.hypot(reach, up * at_large)
    statistic = z / error
    of_means = jackknife_error(mean_of(replicates, k))
    return Found(
        np.concatenate([estimate, mean_of(estimate, k)]),
        np.concatenate([jackknife_error(replicates), of_means]),
        np.tile(statistic, 2),
        np.tile(np.where(np.isnan(statistic), np.nan, df), 2),
        np.tile(two_sided(statistic, df), 2),
        # a mean's z is that of the single reading
        np.concatenate([from_z(low, k), 1 - np.exp(-2 * low)]),
        np.concatenate([from_z(high, k), 1 - np.exp(-2 * high)]),
    )


def _raters(readings: Readings, level: float, z: float) -> tuple[float, float]:
    """How far z may lie above and below what it were with the variance of all raters there are."""
    within, of_rater, rest, _ = components(readings, once(readings))[0]
    spread, k = max(rest - of_rater, 0.0), readings.per_case
    df = readings.n_raters - 1
    moved = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        more = spread * (df / stats.chi2.ppf(share, df) - 1)
        moved.append(float(to_z(ratio(rest - within, rest + more), k)))
    return z - moved[0], moved[1] - z


def by_f(readings: Readings, level: float) -> Found:
    """All six with the F tests and limits of McGraw and Wong, for readings without gaps."""
    values, upper = readings.values, (1 + level) / 2
    n, k = values.shape
    grand, cases, raters = values.mean(), values.mean(axis=1), values.mean(axis=0)
    df_cases, df_within, df_error = n - 1, n * (k - 1), (n - 1) * (k - 1)
    msr = k * ((cases - grand) ** 2).sum() / df_cases
    msc = n * ((raters - grand) ** 2).sum() / (k - 1)
    msw = ((values - cases[:, None]) ** 2).sum() / df_within
    mse = ((values - cases[:, None] - raters + grand) ** 2).sum() / df_error
    estimate = single(readings, once(readings))[0]

    def quantile(first: float, second: float) -> float:
        return float(stats.f.ppf(upper, first, second))

    def of_ratio(f: float, df: float) -> tuple[float, float]:
        ends = f / quantile(df_cases, df), f * quantile(df, df_cases)
        return (ends[0] - 1) / (ends[0] + k - 1), (ends[1] - 1) / (ends[1] + k - 1)

    f_within, f_error = msr / msw, msr / mse
    # Satterthwaite's degrees of freedom of the mean squares of raters and error together
    odds = k * estimate[1] / (n * (1 - estimate[1]))
    parts = odds * msc, (1 + odds * (n - 1)) * mse
    df_both = sum(parts) ** 2 / (parts[0] ** 2 / (k - 1) + parts[1] ** 2 / df_error)
    below, above = quantile(df_cases, df_both), quantile(df_both, df_cases)
    rest = k * msc + (k * n - k - n) * mse
    both = (
        n * (msr - below * mse) / (below * rest + n * msr),
        n * (above * msr - mse) / (rest + n * above * msr),
    )
    low, high = np.array([of_ratio(f_within, df_within), both, of_ratio(f_error, df_error)]).T
    f = np.tile([f_within, f_error, f_error], 2)
    df = np.tile([df_within, df_error, df_error], 2).astype(np.float64)
    return Found(
        np.concatenate([estimate, mean_of(estimate, k)]),
        np.full(6, np.nan),
        f,
        np.full(6, float(df_cases)),
        stats.f.sf(f, df_cases, df),
        np.concatenate([low, mean_of(low, k)]),
        np.concatenate([high, mean_of(high, k)]),
        df,
    )
