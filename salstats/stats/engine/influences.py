"""Influences of pairs on a correlation, from which clustered variances are computed."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from salstats.stats.engine.partial_correlation import Residuals
from salstats.stats.engine.robust_correlation import robust_correlation_coefficient

#: Number of rows that are compared with all rows at a time.
_ROWS_PER_BLOCK = 1024


def pair_influences(x: np.ndarray, y: np.ndarray, test: str) -> np.ndarray:
    """Compute the influence of each pair on a correlation, shape (n,).

    That is the derivative of the correlation by the pair's weight, times n. Influences sum to 0, and their
    mean over a resampled set of pairs approximates the change of the correlation. A pair influences a rank
    correlation in two ways: by its own product, and by its effect on the ranks of the pairs above it.

    It is u v - r (u^2 + v^2) / 2 for standardized values u and v with correlation r. For ranks, as shares of
    n with standard deviations s_x and s_y, the effects through the ranks are added, whose derivatives are
    (v - r u) / s_x and (u - r v) / s_y.

    Croux C, Dehon C. Influence functions of the Spearman and Kendall correlation measures. Stat Methods Appl
    2010. doi:10.1007/s10260-010-0142-z
    """
    if test == "kendall":
        return _kendall_influences(x, y)
    if test == "pearson":
        return influences_of_centred_pairs(x - x.mean(), y - y.mean())
    n = len(x)
    x_ranks = (stats.rankdata(x) - 0.5) / n
    y_ranks = (stats.rankdata(y) - 0.5) / n
    sd_x = x_ranks.std()
    sd_y = y_ranks.std()
    u = (x_ranks - x_ranks.mean()) / sd_x
    v = (y_ranks - y_ranks.mean()) / sd_y
    r = float((u * v).mean())
    from_product = u * v - r * (u**2 + v**2) / 2
    from_x_ranks = _influences_through_ranks(x, (v - r * u) / sd_x)
    from_y_ranks = _influences_through_ranks(y, (u - r * v) / sd_y)
    return np.asarray(from_product + (from_x_ranks + from_y_ranks))


def influences_of_centred_pairs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute the influence of each pair on Pearson's correlation of centred values, shape (n,).

    Values may be residuals of a regression: the effect of a pair on the regression changes the residuals'
    covariance only in the second order.
    """
    u = x / np.sqrt((x**2).mean())
    v = y / np.sqrt((y**2).mean())
    r = float((u * v).mean())
    return np.asarray(u * v - r * (u**2 + v**2) / 2)


def partial_correlation_influences(regression: Residuals) -> np.ndarray:
    """Compute the influence of each row on a partial or semi-partial correlation, shape (n,).

    r = mean(e_x e_y) / (sd(c_x) sd(c_y)) with residuals e and correlated values c, which are the residuals
    or, on one side of a semi-partial correlation, the variable itself, whose covariance with the residual of
    the other variable equals the covariance of both residuals. With ranks a row also influences the ranks of
    the rows above it, in all variables.
    """
    e_x, e_y = regression.residuals.T
    c_x, c_y = regression.values_to_correlate.T
    sd_x = c_x.std()
    sd_y = c_y.std()
    product = e_x * e_y / (sd_x * sd_y)
    r = float(product.mean())
    from_product = product - r / 2 * ((c_x / sd_x) ** 2 + (c_y / sd_y) ** 2)
    if not regression.ranks:
        return np.asarray(from_product)
    # Columns are those of x and y. Derivatives of n r by the residuals, through their covariance, and by the
    # correlated values, through their standard deviations.
    by_residuals = np.column_stack([e_y, e_x]) / (sd_x * sd_y)
    by_spread = -r * regression.values_to_correlate / np.array([sd_x, sd_y]) ** 2
    by_values = by_residuals + by_spread
    # A covariate changes the residuals, and through them the sd of the values that are residuals.
    is_residual = np.array([regression.covariates_of != "y", regression.covariates_of != "x"])
    by_covariates = -(by_residuals + by_spread * is_residual) @ regression.slopes.T
    # (n, 2 + k): derivatives by the values of x, y and the covariates of a row
    slopes = np.column_stack([by_values, by_covariates])
    # Values are standardized ranks, in which a difference of one rank is 1 / sd.
    ranks = stats.rankdata(regression.variables, axis=0)
    rank_slopes = slopes * (len(from_product) / ranks.std(axis=0))
    from_ranks = [
        _influences_through_ranks(values, slopes_of_variable)
        for values, slopes_of_variable in zip(regression.variables.T, rank_slopes.T, strict=True)
    ]
    return np.asarray(from_product + np.sum(from_ranks, axis=0))


def row_influences_by_leaving_out_units(
    x: np.ndarray, y: np.ndarray, units: NDArray[np.integer], test: str
) -> np.ndarray:
    """Compute influences of pairs on a robust correlation by leaving out units, shape (n,).

    The rows of a unit share its influence equally. The correlation without a unit of m of n rows differs by
    s / (n - m) from the correlation of all rows, where s is the sum of the unit's influences. Influence
    functions of these correlations contain densities at medians and quantiles, which scores with ties do not
    have.
    """
    codes = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(codes)
    rows_by_unit = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    estimate = robust_correlation_coefficient(x, y, test)
    # s of each unit
    sums = np.empty(len(sizes))
    for unit, rows in enumerate(rows_by_unit):
        estimate_without = robust_correlation_coefficient(np.delete(x, rows), np.delete(y, rows), test)
        sums[unit] = (len(x) - len(rows)) * (estimate - estimate_without)
    # Influences sum to 0 except for terms of higher order, which are subtracted.
    sums -= sums.sum() * sizes / sizes.sum()
    return np.asarray((sums / sizes)[codes])


def _influences_through_ranks(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Compute the influence of each row on the mean of slopes * rank, through the ranks above it.

    It is the sum of the slopes of rows with larger values plus half the sum for rows with equal values,
    centred and divided by n.
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    # element k is the sum of the slopes of the k smallest values
    sums_below = np.concatenate([[0.0], np.cumsum(slopes[order])])
    n_below = np.searchsorted(ascending, values, "left")
    n_at_or_below = np.searchsorted(ascending, values, "right")
    above = sums_below[-1] - sums_below[n_at_or_below]
    equal = sums_below[n_at_or_below] - sums_below[n_below]
    total = above + equal / 2
    return np.asarray((total - total.mean()) / len(values))


def _kendall_influences(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute influences on Kendall's tau-b = a / sqrt(d_x d_y), shape (n,).

    Over all comparisons of two rows, a is the mean of sign(x - x') sign(y - y'), and d_x and d_y are the
    shares in which x and y differ. With a_i, d_xi and d_yi, the means over the comparisons of row i, its
    influence is 2 ((a_i - a) / sqrt(d_x d_y) - tau / 2 ((d_xi - d_x) / d_x + (d_yi - d_y) / d_y)).
    """
    n = len(x)
    row_agreement = np.empty(n)
    row_x_differs = np.empty(n)
    row_y_differs = np.empty(n)
    for start in range(0, n, _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        x_signs = np.sign(x[rows, None] - x[None])
        y_signs = np.sign(y[rows, None] - y[None])
        row_agreement[rows] = (x_signs * y_signs).mean(axis=1)
        row_x_differs[rows] = (x_signs != 0).mean(axis=1)
        row_y_differs[rows] = (y_signs != 0).mean(axis=1)
    a = row_agreement.mean()
    d_x = row_x_differs.mean()
    d_y = row_y_differs.mean()
    scale = np.sqrt(d_x * d_y)
    tau = a / scale
    from_ties = (row_x_differs - d_x) / d_x + (row_y_differs - d_y) / d_y
    return np.asarray(2 * ((row_agreement - a) / scale - tau / 2 * from_ties))
