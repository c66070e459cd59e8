"""What each pair does to a correlation: its influence function, from which variances of clusters are made."""

import numpy as np
from scipy import stats

from salstats.stats.engine.partial_correlation import Residuals
from salstats.stats.engine.robust_correlation import robust_estimate

#: Pairs whose comparisons with all others are held at a time.
_BLOCK = 1024


def influences(first: np.ndarray, second: np.ndarray, test: str) -> np.ndarray:
    """Influence of each pair on a correlation, shape (n,): its derivative by the pair's weight, times n.

    They sum to 0, and their mean over a resampled set of pairs is how far the correlation moves. Of ranks a
    pair counts twice: by its own product, and by moving the ranks of the pairs above it.

    Croux C, Dehon C. Influence functions of the Spearman and Kendall correlation measures. Stat Methods Appl
    2010. doi:10.1007/s10260-010-0142-z
    """
    if test == "kendall":
        return _of_kendall(first, second)
    if test == "pearson":
        return of_centred(first - first.mean(), second - second.mean())
    n = len(first)
    x, y = ((stats.rankdata(values) - 0.5) / n for values in (first, second))
    spreads = x.std(), y.std()
    u, v = (x - x.mean()) / spreads[0], (y - y.mean()) / spreads[1]
    r = float((u * v).mean())
    own = u * v - r * (u**2 + v**2) / 2
    slopes = (v - r * u) / spreads[0], (u - r * v) / spreads[1]
    moved = (_moved(values, slope) for values, slope in zip((first, second), slopes, strict=True))
    return np.asarray(own + sum(moved))


def of_centred(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Influence of each pair on Pearson's correlation of values that are centred already, shape (n,).

    Also that on a correlation of residuals: to move the regression that they are left from changes their
    covariance only in the second order.
    """
    u, v = x / np.sqrt((x**2).mean()), y / np.sqrt((y**2).mean())
    r = float((u * v).mean())
    return np.asarray(u * v - r * (u**2 + v**2) / 2)


def of_partial(found: Residuals) -> np.ndarray:
    """Influence of each row on a partial or semi-partial correlation, shape (n,).

    With residuals e, and c of the two variables what is correlated (the residual, or the variable itself),
    r = mean(e_x e_y) / (sd(c_x) sd(c_y)): a variable has the same covariance with the other's residual as its
    own residual has. Of ranks a row also moves the ranks of the rows above it, in every variable.
    """
    e_x, e_y = found.left.T
    c_x, c_y = found.correlated.T
    sd_x, sd_y = c_x.std(), c_y.std()
    product = e_x * e_y / (sd_x * sd_y)
    r = float(product.mean())
    own = product - r / 2 * ((c_x / sd_x) ** 2 + (c_y / sd_y) ** 2)
    if not found.ranks:
        return np.asarray(own)
    # derivatives of n r by the residuals, and by the spread of what is correlated
    by_residuals = np.column_stack([e_y, e_x]) / (sd_x * sd_y)
    by_spread = -r * found.correlated / np.array([sd_x, sd_y]) ** 2
    by_values = by_residuals + by_spread
    # covariates move both residuals, but not a variable that they are not taken out of
    taken_out = np.array([found.covariates_of != "y", found.covariates_of != "x"])
    by_covariates = -(by_residuals + by_spread * taken_out) @ found.slopes.T
    slopes = np.column_stack([by_values, by_covariates])
    # values are standardized ranks, of which a step is 1 / sd
    ranks = stats.rankdata(found.given, axis=0)
    per_rank = len(own) / ranks.std(axis=0)
    moved = [
        _moved(values, slope * step)
        for values, slope, step in zip(found.given.T, slopes.T, per_rank, strict=True)
    ]
    return np.asarray(own + np.sum(moved, axis=0))


def by_leaving_out(first: np.ndarray, second: np.ndarray, units: np.ndarray, test: str) -> np.ndarray:
    """Influence of each pair on a robust correlation, shape (n,): that of its unit, shared by its rows.

    The correlation without a unit of m of n rows lies s / (n - m) from that of all, where s is the sum of its
    rows' influences. Influence functions of these correlations hold densities at the medians and quantiles
    that they are bent at, which scores with ties do not have.
    """
    codes = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    whole = robust_estimate(first, second, test)
    sums = np.empty(len(sizes))
    for unit, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        without = robust_estimate(np.delete(first, rows), np.delete(second, rows), test)
        sums[unit] = (len(first) - len(rows)) * (whole - without)
    # they sum to 0 but for terms of higher order
    sums -= sums.sum() * sizes / sizes.sum()
    return np.asarray((sums / sizes)[codes])


def _moved(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """How much each row changes the mean of slopes * rank, through the ranks of the rows above it."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    below = np.concatenate([[0.0], np.cumsum(slopes[order])])
    start, end = (np.searchsorted(ascending, values, side) for side in ("left", "right"))
    above = below[-1] - below[end] + (below[end] - below[start]) / 2
    return np.asarray((above - above.mean()) / len(values))


def _of_kendall(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Influence on tau-b: of a ratio whose parts are means over pairs of rows."""
    n = len(first)
    parts = np.empty((3, n))
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        x, y = (np.sign(values[rows, None] - values[None]) for values in (first, second))
        parts[:, rows] = (x * y).mean(axis=1), (x != 0).mean(axis=1), (y != 0).mean(axis=1)
    agreement, x_differs, y_differs = parts.mean(axis=1)
    scale = np.sqrt(x_differs * y_differs)
    tau = agreement / scale
    ties = (parts[1] - x_differs) / x_differs + (parts[2] - y_differs) / y_differs
    return np.asarray(2 * ((parts[0] - agreement) / scale - tau / 2 * ties))
