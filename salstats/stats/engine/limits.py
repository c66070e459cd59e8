"""Confidence limits computed from estimates, standard errors and replicates; `intervals.RECORDS` names them.

Shapes: `n_rows` estimates, `n_replicates` replicates. Limits are two arrays of shape `(n_rows,)`, lower and
upper. A replicate that is NaN is undefined and left out, unless a docstring says otherwise.
"""

import numpy as np
from scipy import special, stats

LimitArrays = tuple[np.ndarray, np.ndarray]


def quantiles(replicates: np.ndarray, probabilities: np.ndarray | list[float]) -> np.ndarray:
    """Compute NumPy's linear quantiles (R's type 7) of the defined replicates.

    Returns an array (n_probabilities, n_rows). Probabilities are the same for all rows (n_probabilities,) or
    have a column for each row (n_probabilities, n_rows); a row with a NaN among them is NaN.
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim == 1:
        if not np.isnan(replicates).any():
            quantiles: np.ndarray = np.quantile(replicates, probabilities, axis=0)
            return quantiles
        probabilities = probabilities[:, None]
    shape = (len(probabilities), replicates.shape[1])
    row_probabilities = np.broadcast_to(probabilities, shape)
    row_quantiles = np.full(shape, np.nan)
    for row in range(shape[1]):
        defined = replicates[~np.isnan(replicates[:, row]), row]
        if len(defined) and not np.isnan(row_probabilities[:, row]).any():
            row_quantiles[:, row] = np.quantile(defined, row_probabilities[:, row])
    return row_quantiles


def percentile(replicates: np.ndarray, level: float) -> LimitArrays:
    """Percentile interval: the (1 - level)/2 and (1 + level)/2 quantiles of the replicates."""
    low, high = quantiles(replicates, _tail_probabilities(level))
    return low, high


def order(replicates: np.ndarray, level: float) -> LimitArrays:
    """Order statistics of the replicates, as in the scripts of CheXlocalize; undefined replicates sort last.

    With B replicates and a = 1 - level these are number `int(B*a/2)` and `int(B*(1 - a/2))`, counted
    from 1, of the sorted replicates; the products are rounded to 9 digits before `int`. At least 2 / a
    replicates are needed.
    """
    n_replicates = len(replicates)
    alpha = 1 - level
    low_position = int(round(n_replicates * alpha / 2, 9)) - 1
    high_position = int(round(n_replicates * (1 - alpha / 2), 9)) - 1
    ordered = np.sort(replicates, axis=0)
    return ordered[low_position], ordered[high_position]


def basic(replicates: np.ndarray, estimate: np.ndarray, level: float) -> LimitArrays:
    """Basic interval: 2 * estimate minus the opposite percentile limits."""
    low, high = percentile(replicates, level)
    return 2 * estimate - high, 2 * estimate - low


def normal(bias: np.ndarray, std_error: np.ndarray, estimate: np.ndarray, level: float) -> LimitArrays:
    """Normal interval of R's `boot.ci`: estimate - bias -+ z * SD of the replicates."""
    half_width = stats.norm.ppf((1 + level) / 2) * std_error
    return estimate - bias - half_width, estimate - bias + half_width


def bca_probabilities(
    replicates: np.ndarray, estimate: np.ndarray, jackknife: np.ndarray, level: float
) -> np.ndarray:
    """Probabilities of the quantiles that are the limits of the bias-corrected and accelerated interval.

    Returns an array (2, n_rows), NaN where all replicates lie on one side of the estimate or where the
    estimate without some unit is undefined. `jackknife` (n_units, n_rows) are the estimates without each
    unit.

    Phi(z0 + z / (1 - a z)) with z = z0 + Phi^-1(tail probability);
    z0 = Phi^-1(share of replicates below the estimate, ties counted half);
    a = sum(L^3) / (6 sum(L^2)^1.5) with L = estimate - jackknife, as `empinf(type = "jack")` of R's
    boot. `boot.ci` itself takes regression estimates of L and interpolates quantiles on the normal
    scale; rsample's `int_bca` counts ties as below the estimate.

    Efron B. Better bootstrap confidence intervals. JASA 1987. doi:10.1080/01621459.1987.10478410
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    n_below = (replicates < estimate).sum(axis=0) + 0.5 * (replicates == estimate).sum(axis=0)
    influence = estimate - jackknife
    squares = (influence**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z0 = stats.norm.ppf(n_below / n_defined)
        acceleration = np.where(squares > 0, (influence**3).sum(axis=0) / (6 * squares**1.5), 0.0)
        acceleration = np.where(np.isnan(squares), np.nan, acceleration)
        z = z0 + stats.norm.ppf(_tail_probabilities(level))[:, None]
        probabilities: np.ndarray = stats.norm.cdf(z0 + z / (1 - acceleration * z))
    return np.where(np.isfinite(z0), probabilities, np.nan)


def bca(replicates: np.ndarray, estimate: np.ndarray, jackknife: np.ndarray, level: float) -> LimitArrays:
    """Bias-corrected and accelerated interval; see `bca_probabilities`."""
    probabilities = bca_probabilities(replicates, estimate, jackknife, level)
    low, high = quantiles(replicates, probabilities)
    return low, high


def studentized(
    replicates: np.ndarray,
    variances: np.ndarray,
    estimate: np.ndarray,
    variance: np.ndarray,
    rounding: np.ndarray,
    level: float,
) -> LimitArrays:
    """Bootstrap-t interval: the estimate less quantiles of t* times its standard error.

    t* = (replicate - estimate) / its own standard error. `variances` (n_replicates, n_rows) and `variance`
    (n_rows,) are the delta-method variances of the replicates and of the estimate. Where the variance of a
    replicate is rounding error (its root at most `rounding`, shape (n_rows,)), t* is infinite, or 0 where
    the replicate equals the estimate; a limit that is not finite is NaN.
    """
    deviation = replicates - estimate
    is_constant = variances <= rounding**2
    with np.errstate(divide="ignore", invalid="ignore"):
        pivots = deviation / np.sqrt(np.where(is_constant, np.nan, variances))
        constant_pivots = np.where(np.abs(deviation) <= rounding, 0.0, np.sign(deviation) * np.inf)
        pivots = np.where(is_constant, constant_pivots, pivots)
        low_pivot, high_pivot = quantiles(pivots, _tail_probabilities(level))
        std_error = np.sqrt(variance)
        low = estimate - std_error * high_pivot
        high = estimate - std_error * low_pivot
    low = np.where(np.isfinite(low), low, np.nan)
    high = np.where(np.isfinite(high), high, np.nan)
    return low, high


def studentized_log(
    replicates: np.ndarray,
    variances: np.ndarray,
    estimate: np.ndarray,
    variance: np.ndarray,
    rounding: np.ndarray,
    level: float,
) -> LimitArrays:
    """Bootstrap-t interval of a positive parameter on the log scale, as `boot.ci(h = log)` of R's boot.

    Arguments are those of `studentized`. By the delta method, the standard error of log(x) is that of x
    divided by x. Limits are NaN where the estimate is 0 or negative; the logarithm of a replicate at or below
    0 is taken for minus infinity.

    Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge University Press 1997,
    section 5.4. doi:10.1017/CBO9780511802843

    Efron B, Tibshirani RJ. An Introduction to the Bootstrap. Chapman & Hall 1993, section 12.6.
    """
    is_positive = replicates > 0
    positive_estimate = np.where(estimate > 0, estimate, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs_not_positive = np.where(np.isnan(replicates), np.nan, -np.inf)
        low, high = studentized(
            replicates=np.where(is_positive, np.log(replicates), logs_not_positive),
            variances=np.where(is_positive, variances / replicates**2, 0.0),
            estimate=np.log(positive_estimate),
            variance=variance / positive_estimate**2,
            rounding=rounding / positive_estimate,
            level=level,
        )
    return np.exp(low), np.exp(high)


def t_limits(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float) -> LimitArrays:
    """Limits estimate -+ t quantile * standard error; NaN where `df` is below 1."""
    half_width = t_quantile(df, level) * std_error
    return estimate - half_width, estimate + half_width


def t_quantile(df: np.ndarray, level: float) -> np.ndarray:
    """Two-sided quantile of Student's t, in the shape of `df`; NaN where `df` is below 1."""
    defined_df = np.where(np.asarray(df) >= 1, df, np.nan)
    return np.asarray(stats.t.ppf((1 + level) / 2, defined_df))


def effective_size(
    share: np.ndarray, n: np.ndarray, variance: np.ndarray, n_units: np.ndarray, level: float
) -> np.ndarray:
    """Effective sample size of a proportion of clustered observations.

    n divided by the design effect (clustered variance over share * (1 - share) / (n - 1), at least 1)
    and, as Korn & Graubard do, times (t quantile with n - 1 over that with n_units - 1) squared. At a
    share of exactly 0 or 1 the design effect cannot be estimated, and it is the number of units.

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        design_effect = np.maximum(variance / (share * (1 - share) / (n - 1)), 1)
        df_correction = (t_quantile(n - 1, level) / t_quantile(n_units - 1, level)) ** 2
    no_variance = (share == 0) | (share == 1)
    return np.where(no_variance, n_units, n / design_effect * df_correction)


def wilson(share: np.ndarray, n: np.ndarray, level: float, df: np.ndarray | float = np.inf) -> LimitArrays:
    """Wilson's (1927) score interval for a proportion of `n`, which need not be a whole number.

    With a finite `df` the quantile is Student's t instead of the normal distribution's.
    """
    z2 = special.stdtrit(df, (1 + level) / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half_width = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    # The lower limit of a share of 0 and the upper limit of 1 are 0 and 1 exactly, without rounding error.
    has_limits = ~np.isnan(half_width)
    low = np.where(has_limits & (share == 0), 0.0, centre - half_width)
    high = np.where(has_limits & (share == 1), 1.0, centre + half_width)
    return low, high


def wilson_t(
    mean: np.ndarray, variance: np.ndarray, df: np.ndarray, n_units: np.ndarray, level: float
) -> LimitArrays:
    """Wilson's interval for the mean of scores from 0 to 1.

    The effective sample size is mean (1 - mean) / variance, the number of 0/1 scores whose mean has this
    variance (Franco et al. 2019); where all scores are equal, it is the number of units.
    """
    has_variance = (mean > 0) & (mean < 1) & (variance > 0)
    n = np.where(has_variance, mean * (1 - mean) / np.where(has_variance, variance, 1.0), n_units)
    n = np.where(np.isnan(variance), np.nan, n)
    return wilson(mean, n, level, df)


def exact(share: np.ndarray, n: np.ndarray, level: float) -> LimitArrays:
    """Clopper and Pearson's (1934) interval for a proportion of `n`, which need not be a whole number."""
    n_hits = share * n
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(share <= 0, 0.0, stats.beta.ppf(tail, n_hits, n - n_hits + 1))
        high = np.where(share >= 1, 1.0, stats.beta.ppf(1 - tail, n_hits + 1, n - n_hits))
    undefined = np.isnan(share)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def logit_t_limits(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float) -> LimitArrays:
    """Limits of a rate, symmetric on the logit scale: t limits with the standard error se / (p (1 - p)).

    Where the logit or its standard error is undefined (a rate of 0 or 1) they are the limits of `t_limits`.
    """
    low, high = t_limits(estimate, std_error, df, level)
    has_logit = (estimate > 0) & (estimate < 1) & (std_error > 0) & ~np.isnan(low)
    rate = np.where(has_logit, estimate, 0.5)
    logit_error = np.where(has_logit, std_error, 0.0) / (rate * (1 - rate))
    logit_low, logit_high = t_limits(special.logit(rate), logit_error, df, level)
    low = np.where(has_logit, special.expit(logit_low), low)
    high = np.where(has_logit, special.expit(logit_high), high)
    return low, high


def fieller(
    method: np.ndarray,
    reference: np.ndarray,
    covariance: np.ndarray,
    df: np.ndarray,
    level: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fieller's confidence set of the percentage decrease 100 * (1 - method / reference).

    Returns the two limits and the form of each set: "bounded" lies between the limits; "outside" is
    everything but the gap between them; "line" is everything, with infinite limits; else "undefined".

    The set has every decrease 100 * (1 - theta) for which a t test of method - theta * reference does not
    reject. Its limits are the roots of a theta^2 - 2 b theta + c with a = r^2 - t^2 v_r,
    b = m r - t^2 c_mr and c = m^2 - t^2 v_m, where m and r are the means of method and reference, and v_m,
    v_r and c_mr are their variances and covariance, from `covariance` (n_rows, 2, 2). The set is unbounded
    where the reference's mean does not differ from 0.

    Fieller EC. Some problems in interval estimation. JRSS B 1954. doi:10.1111/j.2517-6161.1954.tb00159.x
    """
    t2 = t_quantile(df, level) ** 2
    a = reference**2 - t2 * covariance[:, 1, 1]
    b = method * reference - t2 * covariance[:, 0, 1]
    c = method**2 - t2 * covariance[:, 0, 0]
    discriminant = b**2 - a * c
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(np.where(discriminant >= 0, discriminant, np.nan))
        first_root = 100 * (1 - (b + root) / a)
        second_root = 100 * (1 - (b - root) / a)
    low, high = np.sort(np.stack([first_root, second_root]), axis=0)

    unbounded_form = np.where(discriminant >= 0, "outside", "line")
    form = np.where(a > 0, "bounded", unbounded_form)
    undefined = np.isnan(a) | np.isnan(b) | np.isnan(c) | (a == 0)
    form = np.where(undefined, "undefined", form)
    low = np.where(undefined, np.nan, low)
    high = np.where(undefined, np.nan, high)
    low = np.where(form == "line", -np.inf, low)
    high = np.where(form == "line", np.inf, high)
    return low, high, form


def _tail_probabilities(level: float) -> np.ndarray:
    """Lower and upper tail probability of a two-sided interval, shape (2,)."""
    tail = (1 - level) / 2
    return np.array([tail, 1 - tail])
