"""Krippendorff's alpha, for any number of raters, missing readings and four scales."""

import numpy as np
from scipy import sparse

from salstats.stats.agreement.readings import Readings
from salstats.stats.estimands import ratio

SCALES = ("interval", "ordinal", "nominal", "ratio")


def krippendorff(readings: Readings, weights: np.ndarray, scale: str = "interval") -> np.ndarray:
    """1 - (seen / expected) disagreement of two readings; NaN where all are the same.

    Disagreement of two values: 1 if they differ (nominal), their squared difference (interval), that of
    their mean ranks among all readings (ordinal), or ((a - b) / (a + b))² (ratio). A row of m readings
    has weight m, as each of its values is paired with m - 1 others; a row of one has none.
    """
    values, counts = _counts(readings)
    m = np.asarray(counts.sum(axis=1)).ravel()
    share = weights * np.where(m > 1, 1 / np.maximum(m - 1, 1), 0.0)
    # how often each value stands in a pair
    n_of = (weights * (m > 1)) @ counts
    n = n_of.sum(axis=1)
    if scale == "nominal":
        seen = share @ (m**2 - np.asarray(counts.power(2).sum(axis=1)).ravel())
        expected = n**2 - (n_of**2).sum(axis=1)
    elif scale == "ratio":
        apart = np.nan_to_num(ratio(values[:, None] - values, values[:, None] + values)) ** 2
        seen = share @ (counts.multiply(counts @ apart)).sum(axis=1)
        expected = ((n_of @ apart) * n_of).sum(axis=1)
    else:
        # about the middle, sums of squares lose no digits
        place = np.broadcast_to(values - values.mean(), n_of.shape)
        if scale == "ordinal":
            place = np.cumsum(n_of, axis=1) - (n_of + n[:, None]) / 2
        total, squares = place @ counts.T, place**2 @ counts.T
        seen = 2 * (share * (m * squares - total**2)).sum(axis=1)
        expected = 2 * (n * (n_of * place**2).sum(axis=1) - (n_of * place).sum(axis=1) ** 2)
    varied = (n_of > 0).sum(axis=1) > 1
    return (1 - ratio((n - 1) * seen, np.where(varied, expected, 0.0)))[:, None]


def _counts(readings: Readings) -> tuple[np.ndarray, sparse.csr_array]:
    """Distinct values, and how often each row has each (n_rows, n_values), most of which are none."""
    there = ~np.isnan(readings.values)
    values, places = np.unique(readings.values[there], return_inverse=True)
    rows, shape = np.nonzero(there)[0], (len(there), len(values))
    return values, sparse.coo_array((np.ones(len(rows)), (rows, places)), shape=shape).tocsr()
