"""Krippendorff's alpha, for any number of raters, missing readings and four scales."""

import numpy as np
from scipy import sparse

from salstats.stats.agreement.readings import Readings, Weights
from salstats.stats.engine.estimands import ratio

SCALES = ("interval", "ordinal", "nominal", "ratio")


def krippendorff(readings: Readings, weights: Weights, scale: str = "interval") -> np.ndarray:
    """1 - (seen / expected) disagreement of two readings; NaN where all are the same.

    Disagreement of two values: 1 if they differ (nominal), their squared difference (interval), that of
    their mean ranks among all readings (ordinal), or ((a - b) / (a + b))² (ratio). A row of m readings
    has weight m, as each of its values is paired with m - 1 others; a row of one has none.
    """
    values, counts = _counts(readings)
    m = np.asarray(counts.sum(axis=1)).ravel()
    share = np.where(m > 1, 1 / np.maximum(m - 1, 1), 0.0)
    n = weights @ np.where(m > 1, m, 0.0)
    if scale == "interval":
        # about the middle, sums of squares lose no digits
        place = values - values.mean()
        total, squares = np.where(m > 1, [counts @ place, counts @ place**2], 0.0)
        seen = 2 * (weights @ (share * (m * squares - total**2)))
        expected = 2 * (n * (weights @ squares) - (weights @ total) ** 2)
        return _alpha(n, seen, expected, len(values))
    # how often each value stands in a pair
    n_of = weights @ counts.multiply((m > 1)[:, None]).tocsr()
    if scale == "nominal":
        seen = weights @ (share * (m**2 - np.asarray(counts.power(2).sum(axis=1)).ravel()))
        expected = n**2 - (n_of**2).sum(axis=1)
    elif scale == "ratio":
        apart = np.nan_to_num(ratio(values[:, None] - values, values[:, None] + values)) ** 2
        seen = weights @ (share * np.asarray(counts.multiply(counts @ apart).sum(axis=1)).ravel())
        expected = ((n_of @ apart) * n_of).sum(axis=1)
    else:
        place = np.cumsum(n_of, axis=1) - (n_of + n[:, None]) / 2
        total, squares = place @ counts.T, place**2 @ counts.T
        seen = 2 * (np.asarray(weights) * share * (m * squares - total**2)).sum(axis=1)
        expected = 2 * (n * (n_of * place**2).sum(axis=1) - (n_of * place).sum(axis=1) ** 2)
    return _alpha(n, seen, np.where((n_of > 0).sum(axis=1) > 1, expected, 0.0), len(values))


def _alpha(n: np.ndarray, seen: np.ndarray, expected: np.ndarray, n_values: int) -> np.ndarray:
    """Alpha of disagreements of n values in pairs; NaN where they are all the same, but for rounding."""
    varied = (n_values > 1) & (expected > 1e-12 * np.max(expected, initial=0.0))
    return (1 - ratio((n - 1) * seen, np.where(varied, expected, 0.0)))[:, None]


def _counts(readings: Readings) -> tuple[np.ndarray, sparse.csr_array]:
    """Distinct values, and how often each row has each (n_rows, n_values), most of which are none."""
    there = ~np.isnan(readings.values)
    values, places = np.unique(readings.values[there], return_inverse=True)
    rows, shape = np.nonzero(there)[0], (len(there), len(values))
    return values, sparse.coo_array((np.ones(len(rows)), (rows, places)), shape=shape).tocsr()
