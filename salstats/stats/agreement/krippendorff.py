"""Krippendorff's alpha, for any number of raters, missing readings and four scales."""

import numpy as np

from salstats.stats.agreement.readings import Readings
from salstats.stats.estimands import ratio

SCALES = ("interval", "ordinal", "nominal", "ratio")


def krippendorff(readings: Readings, weights: np.ndarray, scale: str = "interval") -> np.ndarray:
    """1 - (seen / expected) disagreement of two readings; NaN where all are the same.

    Disagreement of two values: 1 if they differ (nominal), their squared difference (interval), that of
    their mean ranks among all readings (ordinal), or ((a - b) / (a + b))² (ratio). A row of m readings
    has weight m, as each of its values is paired with m - 1 others; a row of one has none.
    """
    values, codes = _values(readings)
    counts = np.stack([np.bincount(row[row >= 0], minlength=len(values)) for row in codes]).astype(np.float64)
    m = counts.sum(axis=1)
    share = weights * np.where(m > 1, 1 / np.maximum(m - 1, 1), 0.0)
    n_of = (weights * (m > 1)) @ counts
    n = n_of.sum(axis=1)
    if scale in ("interval", "ordinal"):
        # about the middle, sums of squares lose no digits
        place = values - values.mean() if scale == "interval" else np.cumsum(n_of, axis=1) - n_of / 2
        if scale == "interval":
            total, squares = counts @ place, counts @ place**2
        else:
            place = place - n[:, None] / 2
            total, squares = place @ counts.T, place**2 @ counts.T
        seen = 2 * (share * (m * squares - total**2)).sum(axis=1)
        expected = 2 * (n * (n_of * place**2).sum(axis=1) - (n_of * place).sum(axis=1) ** 2)
    else:
        apart = _apart(values, scale)
        seen = share @ np.einsum("ic,cd,id->i", counts, apart, counts, optimize=True)
        expected = np.einsum("sc,sc->s", n_of @ apart, n_of)
    room = expected > 1e-12 * np.maximum(n, 1) ** 2 * np.finfo(np.float64).tiny
    return (1 - ratio((n - 1) * seen, np.where(room, expected, 0.0)))[:, None]


def _values(readings: Readings) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values, and the place of each reading among them, -1 where it is missing."""
    there = ~np.isnan(readings.values)
    values, places = np.unique(readings.values[there], return_inverse=True)
    codes = np.full(readings.values.shape, -1)
    codes[there] = places
    return values, codes


def _apart(values: np.ndarray, scale: str) -> np.ndarray:
    """Disagreement of each two values."""
    first, second = values[:, None], values[None]
    if scale == "nominal":
        return (first != second).astype(np.float64)
    return np.nan_to_num(ratio(first - second, first + second)) ** 2
