"""Influences of pairs on a correlation, from which clustered variances are computed."""

import numpy as np
from scipy import stats

from salstats.stats.engine.partial_correlation import Residuals
from salstats.stats.engine.robust_correlation import robust_estimate

#: Number of rows that are compared with all rows at a time.
_BLOCK = 1024


def influences(first: np.ndarray, second: np.ndarray, test: str) -> np.ndarray:
    """Compute the influence of each pair on a correlation, shape (n,).

    That is the derivative of the correlation by the pair's weight, times n. Influences sum to 0, and their
    mean over a resampled set of pairs approximates the change of the correlation. A pair influences a rank
    correlation in two ways: by its own product, and by its effect on the ranks of the pairs above it.

    u v - r (u^2 + v^2) / 2 for standardized values u and v with correlation r; for ranks x and y with
    standard deviations s_x and s_y, also the effects through the ranks, whose derivatives are
    (v - r u) / s_x and (u - r v) / s_y.

    Croux C, Dehon C. Influence functions of the Spearman and Kendall correlation measures. Stat Methods Appl
    2010. doi:10.1007/s10260-010-0142-z
    """
    if test == "kendall":
        return _kendall_influences(first, second)
    if test == "pearson":
        return of_centred(first - first.mean(), second - second.mean())
    n = len(first)
    x = (stats.rankdata(first) - 0.5) / n
    y = (stats.rankdata(second) - 0.5) / n
    sd_x = x.std()
    sd_y = y.std()
    u = (x - x.mean()) / sd_x
    v = (y - y.mean()) / sd_y
    r = float((u * v).mean())
    from_product = u * v - r * (u**2 + v**2) / 2
    from_x_ranks = _rank_influences(first, (v - r * u) / sd_x)
    from_y_ranks = _rank_influences(second, (u - r * v) / sd_y)
    return np.asarray(from_product + (from_x_ranks + from_y_ranks))


def of_centred(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute the influence of each pair on Pearson's correlation of centred values, shape (n,).

    Values may be residuals of a regression: the effect of a pair on the regression changes the residuals'
    covariance only in the second order.
    """
    u = x / np.sqrt((x**2).mean())
    v = y / np.sqrt((y**2).mean())
    r = float((u * v).mean())
    return np.asarray(u * v - r * (u**2 + v**2) / 2)


def of_partial(regression: Residuals) -> np.ndarray:
    """Compute the influence of each row on a partial or semi-partial correlation, shape (n,).

    r = mean(e_x e_y) / (sd(c_x) sd(c_y)) with residuals e and correlated values c, which are the residuals
    or, on one side of a semi-partial correlation, the variable itself: its covariance with the residual of
    the other variable is that of its own residual. With ranks a row also influences the ranks of the rows
    above it, in all variables.
    """
    e_x, e_y = regression.residuals.T
    c_x, c_y = regression.correlated.T
    sd_x = c_x.std()
    sd_y = c_y.std()
    product = e_x * e_y / (sd_x * sd_y)
    r = float(product.mean())
    from_product = product - r / 2 * ((c_x / sd_x) ** 2 + (c_y / sd_y) ** 2)
    if not regression.ranks:
        return np.asarray(from_product)
    # Derivatives of n r by the residuals, through their covariance, and by the correlated values, through
    # their standard deviations.
    by_residuals = np.column_stack([e_y, e_x]) / (sd_x * sd_y)
    by_spread = -r * regression.correlated / np.array([sd_x, sd_y]) ** 2
    by_values = by_residuals + by_spread
    # A covariate changes the residuals, and through them the sd of the values that are residuals.
    is_residual = np.array([regression.covariates_of != "y", regression.covariates_of != "x"])
    by_covariates = -(by_residuals + by_spread * is_residual) @ regression.slopes.T
    slopes = np.column_stack([by_values, by_covariates])
    # Values are standardized ranks, in which a difference of one rank is 1 / sd.
    ranks = stats.rankdata(regression.variables, axis=0)
    per_rank = len(from_product) / ranks.std(axis=0)
    from_ranks = [
        _rank_influences(values, slope * step)
        for values, slope, step in zip(regression.variables.T, slopes.T, per_rank, strict=True)
    ]
    return np.asarray(from_product + np.sum(from_ranks, axis=0))


def by_leaving_out(first: np.ndarray, second: np.ndarray, units: np.ndarray, test: str) -> np.ndarray:
    """Compute influences of pairs on a robust correlation by leaving out units, shape (n,).

    The rows of a unit share its influence equally. The correlation without a unit of m of n rows differs by
    s / (n - m) from that of all rows, where s is the sum of the unit's influences. Influence functions of
    these correlations contain densities at medians and quantiles, which scores with ties do not have.
    """
    codes = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(codes)
    rows_by_unit = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    estimate = robust_estimate(first, second, test)
    sums = np.empty(len(sizes))
    for unit, rows in enumerate(rows_by_unit):
        estimate_without = robust_estimate(np.delete(first, rows), np.delete(second, rows), test)
        sums[unit] = (len(first) - len(rows)) * (estimate - estimate_without)
    # Influences sum to 0 except for terms of higher order, which are subtracted.
    sums -= sums.sum() * sizes / sizes.sum()
    return np.asarray((sums / sizes)[codes])


def _rank_influences(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Compute the influence of each row on the mean of slopes * rank, through the ranks above it.

    That is the sum of the slopes of rows with larger values, and half that of rows with equal values, centred
    and divided by n.
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    sums_below = np.concatenate([[0.0], np.cumsum(slopes[order])])
    n_below = np.searchsorted(ascending, values, "left")
    n_at_or_below = np.searchsorted(ascending, values, "right")
    above = sums_below[-1] - sums_below[n_at_or_below]
    equal = sums_below[n_at_or_below] - sums_below[n_below]
    total = above + equal / 2
    return np.asarray((total - total.mean()) / len(values))


def _kendall_influences(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute influences on Kendall's tau-b = a / sqrt(d_x d_y), shape (n,).

    Over all comparisons of two rows, a is the mean of sign(x - x') sign(y - y'), and d_x and d_y are the
    shares in which x and y differ. The three means of a row's comparisons are its terms.
    """
    n = len(first)
    agreement = np.empty(n)
    x_differs = np.empty(n)
    y_differs = np.empty(n)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        x = np.sign(first[rows, None] - first[None])
        y = np.sign(second[rows, None] - second[None])
        agreement[rows] = (x * y).mean(axis=1)
        x_differs[rows] = (x != 0).mean(axis=1)
        y_differs[rows] = (y != 0).mean(axis=1)
    a = agreement.mean()
    d_x = x_differs.mean()
    d_y = y_differs.mean()
    scale = np.sqrt(d_x * d_y)
    tau = a / scale
    ties = (x_differs - d_x) / d_x + (y_differs - d_y) / d_y
    return np.asarray(2 * ((agreement - a) / scale - tau / 2 * ties))
