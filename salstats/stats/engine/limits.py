"""Confidence limits computed from estimates, standard errors and replicates; `intervals.RECORDS` names them.

Shapes: `n_rows` estimates, `n_replicates` replicates. Limits are two arrays of shape `(n_rows,)`, lower and
upper. A replicate that is NaN is undefined and left out, unless a docstring says otherwise.
"""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

#: Lower limits and upper limits, shape (n_rows,) each.
LimitArrays = tuple[np.ndarray, np.ndarray]


def quantiles(replicates: np.ndarray, probabilities: np.ndarray | list[float]) -> np.ndarray:
    """Compute NumPy's linear quantiles (R's type 7) of the defined replicates.

    Returns an array (n_probabilities, n_rows). Probabilities are the same for all rows (n_probabilities,) or
    have a column for each row (n_probabilities, n_rows); a row with a NaN among them is NaN.
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim == 1:
        if not np.isnan(replicates).any():
            return np.asarray(np.quantile(replicates, probabilities, axis=0))
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
    """Normal interval of R's `boot.ci`: estimate - bias -+ z * SD of the replicates (`std_error`)."""
    half_width = stats.norm.ppf((1 + level) / 2) * std_error
    return estimate - bias - half_width, estimate - bias + half_width


def bca_probabilities(
    replicates: np.ndarray, estimate: np.ndarray, jackknife: np.ndarray, level: float
) -> np.ndarray:
    """Probabilities of the quantiles that are the limits of the bias-corrected and accelerated interval.

    Returns an array (2, n_rows): the probability of the lower and of the upper limit, NaN where all
    replicates lie on one side of the estimate or where the estimate without some unit is undefined.
    `jackknife` (n_units, n_rows) are the estimates without each unit.

    The probability is Phi(z0 + z / (1 - a z)), with the standard normal distribution function Phi and

    - z = z0 + Phi^-1(tail probability);
    - the bias correction z0 = Phi^-1(share of replicates below the estimate, ties counted half);
    - the acceleration a = sum(L^3) / (6 sum(L^2)^1.5), where L = estimate - jackknife, as
      `empinf(type = "jack")` of R's boot. `boot.ci` itself takes regression estimates of L and interpolates
      quantiles on the normal scale; rsample's `int_bca` counts ties as below the estimate.

    Efron B. Better bootstrap confidence intervals. JASA 1987. doi:10.1080/01621459.1987.10478410
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    n_below = (replicates < estimate).sum(axis=0)
    n_equal = (replicates == estimate).sum(axis=0)
    influence = estimate - jackknife
    sum_of_squares = (influence**2).sum(axis=0)
    sum_of_cubes = (influence**3).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z0 = stats.norm.ppf((n_below + 0.5 * n_equal) / n_defined)
        acceleration = sum_of_cubes / (6 * sum_of_squares**1.5)
        # The distribution of an estimate that no unit changes is not accelerated.
        acceleration = np.where(sum_of_squares == 0, 0.0, acceleration)
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
    has_no_variance = variances <= rounding**2
    equals_estimate = np.abs(deviation) <= rounding
    # (n_replicates, n_rows): t* of each replicate
    with np.errstate(divide="ignore", invalid="ignore"):
        pivots = deviation / np.sqrt(np.where(has_no_variance, np.nan, variances))
        pivots_without_variance = np.where(equals_estimate, 0.0, np.sign(deviation) * np.inf)
        pivots = np.where(has_no_variance, pivots_without_variance, pivots)
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

    Arguments are those of `studentized`. By the delta method, the standard error of log(x) is se(x) / x.
    Limits are NaN where the estimate is 0 or negative; the logarithm of a replicate at or below 0 is taken to
    be minus infinity.

    Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge University Press 1997,
    section 5.4. doi:10.1017/CBO9780511802843

    Efron B, Tibshirani RJ. An Introduction to the Bootstrap. Chapman & Hall 1993, section 12.6.
    """
    is_positive = replicates > 0
    positive_estimate = np.where(estimate > 0, estimate, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_replicates = np.where(is_positive, np.log(replicates), -np.inf)
        log_replicates = np.where(np.isnan(replicates), np.nan, log_replicates)
        log_variances = np.where(is_positive, variances / replicates**2, 0.0)
        low, high = studentized(
            replicates=log_replicates,
            variances=log_variances,
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
    """Effective sample size of a proportion of clustered observations, shape (n_rows,).

    It is n divided by the design effect and, as Korn & Graubard do, multiplied by the squared ratio of the t
    quantiles with n - 1 and with n_units - 1 degrees of freedom. The design effect is the clustered
    `variance` divided by the variance of independent observations, share * (1 - share) / (n - 1), and at
    least 1. At a share of 0 or 1 it cannot be estimated, and the effective sample size is the number of
    units.

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        independent_variance = share * (1 - share) / (n - 1)
        design_effect = np.maximum(variance / independent_variance, 1)
        quantile_ratio = t_quantile(n - 1, level) / t_quantile(n_units - 1, level)
        n_effective = n / design_effect * quantile_ratio**2
    has_no_variance = (share == 0) | (share == 1)
    return np.where(has_no_variance, n_units, n_effective)


def wilson(share: np.ndarray, n: np.ndarray, level: float, df: np.ndarray | float = np.inf) -> LimitArrays:
    """Wilson's score interval for a proportion of `n`, which need not be a whole number.

    With the proportion p and the normal quantile z the limits are
    (p + z^2 / (2 n) -+ sqrt(z^2 (p (1 - p) / n + z^2 / (4 n^2)))) / (1 + z^2 / n). With a finite `df` the
    quantile is Student's t instead of the normal distribution's.

    Wilson EB. Probable inference, the law of succession, and statistical inference. J Am Stat Assoc
    1927;22:209-212. doi:10.1080/01621459.1927.10502953
    """
    z_squared = special.stdtrit(df, (1 + level) / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        denominator = 1 + z_squared / n
        centre = (share + z_squared / (2 * n)) / denominator
        variance = share * (1 - share) / n + z_squared / (4 * n**2)
        half_width = np.sqrt(z_squared * variance) / denominator
    # The lower limit of a share of 0 and the upper limit of 1 are 0 and 1 exactly, without rounding error.
    has_limits = ~np.isnan(half_width)
    low = np.where(has_limits & (share == 0), 0.0, centre - half_width)
    high = np.where(has_limits & (share == 1), 1.0, centre + half_width)
    return low, high


def wilson_t(
    mean: np.ndarray, variance: np.ndarray, df: np.ndarray, n_units: np.ndarray, level: float
) -> LimitArrays:
    """Wilson's interval for the mean of scores from 0 to 1, with Student's quantile.

    The effective sample size is mean (1 - mean) / variance, the number of 0/1 scores whose mean has this
    variance; where all scores are equal, it is the number of units.

    Franco C, Little RJA, Louis TA, Slud EV. Comparative study of confidence intervals for proportions in
    complex sample surveys. J Surv Stat Methodol 2019. doi:10.1093/jssam/smy019
    """
    has_variance = (mean > 0) & (mean < 1) & (variance > 0)
    positive_variance = np.where(has_variance, variance, 1.0)
    n_effective = np.where(has_variance, mean * (1 - mean) / positive_variance, n_units)
    n_effective = np.where(np.isnan(variance), np.nan, n_effective)
    return wilson(mean, n_effective, level, df)


def exact(share: np.ndarray, n: np.ndarray, level: float) -> LimitArrays:
    """Clopper and Pearson's interval for a proportion of `n`, which need not be a whole number.

    With k = n * share the limits are the quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k).

    Clopper CJ, Pearson ES. The use of confidence or fiducial limits illustrated in the case of the binomial.
    Biometrika 1934;26:404-413. doi:10.1093/biomet/26.4.404
    """
    k = share * n
    low_probability, high_probability = _tail_probabilities(level)
    with np.errstate(invalid="ignore"):
        low = np.where(share <= 0, 0.0, stats.beta.ppf(low_probability, k, n - k + 1))
        high = np.where(share >= 1, 1.0, stats.beta.ppf(high_probability, k + 1, n - k))
    is_undefined = np.isnan(share)
    return np.where(is_undefined, np.nan, low), np.where(is_undefined, np.nan, high)


def logit_t_limits(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float) -> LimitArrays:
    """Limits of a rate p, symmetric on the logit scale: those of logit(p) -+ t quantile * se / (p (1 - p)).

    By the delta method, se / (p (1 - p)) is the standard error of logit(p). Where the logit or its standard
    error is undefined (a rate of 0 or 1) they are the limits of `t_limits`.
    """
    low, high = t_limits(estimate, std_error, df, level)
    has_logit = (estimate > 0) & (estimate < 1) & (std_error > 0) & ~np.isnan(low)
    # Any rate between 0 and 1 can stand for one without a logit, as its logit limits are not used.
    rate = np.where(has_logit, estimate, 0.5)
    rate_error = np.where(has_logit, std_error, 0.0)
    logit_error = rate_error / (rate * (1 - rate))
    logit_low, logit_high = t_limits(special.logit(rate), logit_error, df, level)
    low = np.where(has_logit, special.expit(logit_low), low)
    high = np.where(has_logit, special.expit(logit_high), high)
    return low, high


class FiellerSets(NamedTuple):
    """Fieller's confidence sets, each array of shape (n_rows,)."""

    low: np.ndarray
    high: np.ndarray
    #: Text: a "bounded" set lies between its limits; "outside" is everything but the gap between them; "line"
    #: is everything, with infinite limits; "undefined" sets have limits that are NaN.
    form: np.ndarray


def fieller_sets_of_decrease(
    method: np.ndarray,
    reference: np.ndarray,
    covariance: np.ndarray,
    df: np.ndarray,
    level: float,
) -> FiellerSets:
    """Compute Fieller's confidence sets of the percentage decrease 100 * (1 - method / reference).

    A set is "undefined" where a number is NaN or the equation below is not quadratic.

    The set has every decrease 100 * (1 - theta) for which a t test of method - theta * reference does not
    reject. Its limits are the roots of a theta^2 - 2 b theta + c with a = r^2 - t^2 v_r,
    b = m r - t^2 c_mr and c = m^2 - t^2 v_m, where m and r are the means of method and reference, and v_m,
    v_r and c_mr are their variances and covariance, from `covariance` (n_rows, 2, 2). The set is unbounded
    where the reference's mean does not differ from 0.

    Fieller EC. Some problems in interval estimation. JRSS B 1954. doi:10.1111/j.2517-6161.1954.tb00159.x
    """
    t_squared = t_quantile(df, level) ** 2
    method_variance = covariance[:, 0, 0]
    reference_variance = covariance[:, 1, 1]
    a = reference**2 - t_squared * reference_variance
    b = method * reference - t_squared * covariance[:, 0, 1]
    c = method**2 - t_squared * method_variance
    discriminant = b**2 - a * c
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(np.where(discriminant >= 0, discriminant, np.nan))
        # the two roots theta, as percentage decreases
        first_limit = 100 * (1 - (b + root) / a)
        second_limit = 100 * (1 - (b - root) / a)
    low, high = np.sort(np.stack([first_limit, second_limit]), axis=0)

    unbounded_form = np.where(discriminant >= 0, "outside", "line")
    form = np.where(a > 0, "bounded", unbounded_form)
    undefined = np.isnan(discriminant) | (a == 0)
    form = np.where(undefined, "undefined", form)
    low = np.where(undefined, np.nan, low)
    high = np.where(undefined, np.nan, high)
    low = np.where(form == "line", -np.inf, low)
    high = np.where(form == "line", np.inf, high)
    return FiellerSets(low, high, form)


def _tail_probabilities(level: float) -> np.ndarray:
    """Lower and upper tail probability of a two-sided interval, shape (2,)."""
    tail = (1 - level) / 2
    return np.array([tail, 1 - tail])
