"""Limits of intervals as functions of numbers that are already there; `intervals.RECORDS` names them.

Shapes: `n_rows` estimates, `n_replicates` replicates. Limits are two arrays of shape `(n_rows,)`. A replicate
that is NaN is undefined and left out, except where said.
"""

import numpy as np
from scipy import special, stats

Limits = tuple[np.ndarray, np.ndarray]


def quantiles(replicates: np.ndarray, probabilities: np.ndarray | list[float]) -> np.ndarray:
    """NumPy's linear quantiles (R's type 7) of the defined replicates, shape (n_probabilities, n_rows).

    Probabilities are the same for all rows or, two-dimensional, one column per row; NaN gives NaN.
    """
    levels = np.asarray(probabilities, dtype=np.float64)
    if levels.ndim == 1 and not np.isnan(replicates).any():
        return np.quantile(replicates, levels, axis=0)
    shape = (len(levels), replicates.shape[1])
    wanted, found = np.broadcast_to(np.atleast_2d(levels.T).T, shape), np.full(shape, np.nan)
    for row in range(shape[1]):
        defined = replicates[~np.isnan(replicates[:, row]), row]
        if len(defined) and not np.isnan(wanted[:, row]).any():
            found[:, row] = np.quantile(defined, wanted[:, row])
    return found


def percentile(replicates: np.ndarray, level: float) -> Limits:
    """Percentile interval: the (1 - level)/2 quantiles of the replicates."""
    low, high = quantiles(replicates, _tails(level))
    return low, high


def order(replicates: np.ndarray, level: float) -> Limits:
    """Order statistics that the CheXlocalize scripts take (undefined replicates sort last).

    With B replicates and a = 1 - level these are number `int(B*a/2)` and `int(B*(1 - a/2))`, counted
    from 1, of the sorted replicates; the products are rounded to 9 digits before `int`. There have to be
    2 / a replicates.
    """
    n_replicates, alpha = len(replicates), 1 - level
    low = int(round(n_replicates * alpha / 2, 9)) - 1
    high = int(round(n_replicates * (1 - alpha / 2), 9)) - 1
    ordered = np.sort(replicates, axis=0)
    return ordered[low], ordered[high]


def basic(replicates: np.ndarray, estimate: np.ndarray, level: float) -> Limits:
    """Mirrored percentile limits: 2 * estimate minus the opposite percentile limits."""
    low, high = percentile(replicates, level)
    return 2 * estimate - high, 2 * estimate - low


def normal(bias: np.ndarray, std_error: np.ndarray, estimate: np.ndarray, level: float) -> Limits:
    """Limits of R's normal boot.ci: estimate - bias -+ z * SD of the replicates."""
    reach = stats.norm.ppf((1 + level) / 2) * std_error
    return estimate - bias - reach, estimate - bias + reach


def bca_probabilities(
    replicates: np.ndarray, estimate: np.ndarray, jackknife: np.ndarray, level: float
) -> np.ndarray:
    """Quantile levels of the bias-corrected and accelerated interval.

    Shape (2, n_rows), NaN where all replicates lie on one side of the estimate, or a unit cannot be left
    out. `jackknife` (n_units, n_rows) equals the estimate for a unit that has no part in it.

    z0 = Phi^-1(share of replicates below the estimate, ties counted half);
    a = sum(L^3) / (6 sum(L^2)^1.5) with L = estimate - jackknife, as `empinf(type = "jack")` of R's
    boot. `boot.ci` itself takes regression estimates of L and interpolates quantiles on the normal
    scale; rsample's `int_bca` counts ties as below.

    Efron B. Better bootstrap confidence intervals. JASA 1987. doi:10.1080/01621459.1987.10478410
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    below = (replicates < estimate).sum(axis=0) + 0.5 * (replicates == estimate).sum(axis=0)
    pull = estimate - jackknife
    spread = (pull**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = stats.norm.ppf(below / n_defined)
        acceleration = np.where(spread > 0, (pull**3).sum(axis=0) / (6 * spread**1.5), 0.0)
        acceleration = np.where(np.isnan(spread), np.nan, acceleration)
        z = shift + stats.norm.ppf(_tails(level))[:, None]
        probabilities: np.ndarray = stats.norm.cdf(shift + z / (1 - acceleration * z))
    return np.where(np.isfinite(shift), probabilities, np.nan)


def bca(replicates: np.ndarray, estimate: np.ndarray, jackknife: np.ndarray, level: float) -> Limits:
    """Bias-corrected and accelerated interval; see `bca_probabilities`."""
    low, high = quantiles(replicates, bca_probabilities(replicates, estimate, jackknife, level))
    return low, high


def studentized(
    replicates: np.ndarray,
    variances: np.ndarray,
    estimate: np.ndarray,
    variance: np.ndarray,
    rounding: np.ndarray,
    level: float,
) -> Limits:
    """Bootstrap-t interval.

    `variances` (n_replicates, n_rows) and `variance` (n_rows,) are the delta-method variances of the
    replicates and of the estimate. A replicate whose variance is rounding error (its root at most
    `rounding`, shape (n_rows,)) lies infinitely far from the estimate in its own standard errors; where
    that decides a limit, there is none.
    """
    deviation = replicates - estimate
    flat = variances <= rounding**2
    with np.errstate(divide="ignore", invalid="ignore"):
        pivots = deviation / np.sqrt(np.where(flat, np.nan, variances))
        far = np.where(np.abs(deviation) <= rounding, 0.0, np.sign(deviation) * np.inf)
        pivots = np.where(flat, far, pivots)
        low, high = quantiles(pivots, _tails(level))
        root = np.sqrt(variance)
        limits = estimate - root * high, estimate - root * low
    lower, upper = (np.where(np.isfinite(limit), limit, np.nan) for limit in limits)
    return lower, upper


def studentized_log(
    replicates: np.ndarray,
    variances: np.ndarray,
    estimate: np.ndarray,
    variance: np.ndarray,
    rounding: np.ndarray,
    level: float,
) -> Limits:
    """Bootstrap-t interval of what is positive, made on the log scale, as `boot.ci(h = log)` of R's boot.

    Arguments are those of `studentized`. A standard error on the log scale is that of the number divided by
    it (delta method). There are no limits of an estimate at or below 0; such replicates lie infinitely far
    below it.

    Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge University Press 1997,
    section 5.4. doi:10.1017/CBO9780511802843

    Efron B, Tibshirani RJ. An Introduction to the Bootstrap. Chapman & Hall 1993, section 12.6.
    """
    positive, above = replicates > 0, estimate > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(positive, np.log(replicates), np.where(np.isnan(replicates), np.nan, -np.inf))
        own = np.where(positive, variances / replicates**2, 0.0)
        log, scale = np.log(np.where(above, estimate, np.nan)), np.where(above, estimate, np.nan)
        low, high = studentized(logs, own, log, variance / scale**2, rounding / scale, level)
    return np.exp(low), np.exp(high)


def t_limits(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float) -> Limits:
    """Limits estimate -+ t quantile * standard error; NaN where `df` is below 1."""
    reach = t_quantile(df, level) * std_error
    return estimate - reach, estimate + reach


def t_quantile(df: np.ndarray, level: float) -> np.ndarray:
    """Two-sided t quantile, NaN where `df` is below 1."""
    q: np.ndarray = stats.t.ppf((1 + level) / 2, np.where(np.asarray(df) >= 1, df, np.nan))
    return q


def effective_size(
    share: np.ndarray, n: np.ndarray, variance: np.ndarray, n_units: np.ndarray, level: float
) -> np.ndarray:
    """Effective sample size of a proportion from clusters.

    n divided by the design effect (clustered variance over share * (1 - share) / (n - 1), at least 1)
    and, as Korn & Graubard do, times (t quantile with n - 1 over that with n_units - 1) squared. At a
    share of exactly 0 or 1 the design effect cannot be seen, and the number of units is taken.

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.maximum(variance / (share * (1 - share) / (n - 1)), 1)
        widening = (t_quantile(n - 1, level) / t_quantile(n_units - 1, level)) ** 2
    return np.where((share == 0) | (share == 1), n_units, n / effect * widening)


def wilson(share: np.ndarray, n: np.ndarray, level: float, df: np.ndarray | float = np.inf) -> Limits:
    """Wilson's (1927) score interval for a proportion of `n`, not needed whole; with `df` of Student's t."""
    z2 = special.stdtrit(df, (1 + level) / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        reach = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    # at 0 and 1 the limit is exact, if there is one; rounding must not push it past
    known = ~np.isnan(reach)
    low = np.where(known & (share == 0), 0.0, centre - reach)
    return low, np.where(known & (share == 1), 1.0, centre + reach)


def wilson_t(
    mean: np.ndarray, variance: np.ndarray, df: np.ndarray, n_units: np.ndarray, level: float
) -> Limits:
    """Wilson's interval for the mean of scores from 0 to 1, of as many 0/1 scores as would vary as much.

    That is mean (1 - mean) / variance of them (Franco et al. 2019); where all scores are 0, or 1, or
    equal, there is no variance to tell, and it is the units.
    """
    inside = (mean > 0) & (mean < 1) & (variance > 0)
    n = np.where(inside, mean * (1 - mean) / np.where(inside, variance, 1.0), n_units)
    return wilson(mean, np.where(np.isnan(variance), np.nan, n), level, df)


def exact(share: np.ndarray, n: np.ndarray, level: float) -> Limits:
    """Clopper and Pearson's (1934) interval for a proportion of `n`, which need not be whole."""
    hits, tail = share * n, (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(share <= 0, 0.0, stats.beta.ppf(tail, hits, n - hits + 1))
        high = np.where(share >= 1, 1.0, stats.beta.ppf(1 - tail, hits + 1, n - hits))
    return np.where(np.isnan(share), np.nan, low), np.where(np.isnan(share), np.nan, high)


def logit_t_limits(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float) -> Limits:
    """Limits of a rate, symmetric on the logit scale; those of a rate of 0 or 1 have width 0."""
    low, high = t_limits(estimate, std_error, df, level)
    inside = (estimate > 0) & (estimate < 1) & (std_error > 0) & ~np.isnan(low)
    rate = np.where(inside, estimate, 0.5)
    error = np.where(inside, std_error, 0.0) / (rate * (1 - rate))
    odds = (special.expit(limit) for limit in t_limits(special.logit(rate), error, df, level))
    logit_low, logit_high = odds
    return np.where(inside, logit_low, low), np.where(inside, logit_high, high)


def fieller(
    method: np.ndarray,
    reference: np.ndarray,
    covariance: np.ndarray,
    df: np.ndarray,
    level: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fieller's set for the percentage decrease 100 * (1 - method / reference), and what form it has.

    `covariance` (n_rows, 2, 2) is that of (method, reference). The form is "bounded"; "outside",
    everything but the gap between low and high; "line", everything, limits infinite; or "undefined". The
    set holds every decrease 100 * (1 - theta) for which a t test of method - theta * reference does not
    reject: the roots of theta^2 (r^2 - t^2 v_r) - 2 theta (m r - t^2 c) + m^2 - t^2 v_m. It is unbounded
    where the reference's mean does not differ from 0.

    Fieller EC. Some problems in interval estimation. JRSS B 1954. doi:10.1111/j.2517-6161.1954.tb00159.x
    """
    t2 = t_quantile(df, level) ** 2
    a = reference**2 - t2 * covariance[:, 1, 1]
    b = method * reference - t2 * covariance[:, 0, 1]
    c = method**2 - t2 * covariance[:, 0, 0]
    inside = b**2 - a * c
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(np.where(inside >= 0, inside, np.nan))
        edges = np.sort(np.stack([100 * (1 - (b + root) / a), 100 * (1 - (b - root) / a)]), axis=0)
    form = np.where(a > 0, "bounded", np.where(inside >= 0, "outside", "line"))
    form = np.where(np.isnan(a) | np.isnan(b) | np.isnan(c) | (a == 0), "undefined", form)
    edges = np.where(form == "undefined", np.nan, edges)
    low = np.where(form == "line", -np.inf, edges[0])
    high = np.where(form == "line", np.inf, edges[1])
    return low, high, form


def _tails(level: float) -> np.ndarray:
    """Two tail probabilities."""
    tail = (1 - level) / 2
    return np.array([tail, 1 - tail])
