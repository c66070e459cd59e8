"""What each pair does to a correlation: its influence function, from which variances of clusters are made."""

import numpy as np
from scipy import stats

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
        u, v = (_standardized(values) for values in (first, second))
        r = float((u * v).mean())
        return np.asarray(u * v - r * (u**2 + v**2) / 2)
    n = len(first)
    x, y = ((stats.rankdata(values) - 0.5) / n for values in (first, second))
    spreads = x.std(), y.std()
    u, v = (x - x.mean()) / spreads[0], (y - y.mean()) / spreads[1]
    r = float((u * v).mean())
    own = u * v - r * (u**2 + v**2) / 2
    slopes = (v - r * u) / spreads[0], (u - r * v) / spreads[1]
    moved = (_moved(values, slope) for values, slope in zip((first, second), slopes, strict=True))
    return np.asarray(own + sum(moved))


def _standardized(values: np.ndarray) -> np.ndarray:
    """Values with mean 0 and standard deviation 1."""
    return np.asarray((values - values.mean()) / values.std())


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
