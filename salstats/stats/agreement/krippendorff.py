"""Krippendorff's alpha, for any number of raters, missing readings and four scales."""

import numpy as np
from scipy import sparse

from salstats.stats.agreement.readings import RaterReadings, RowWeightSets
from salstats.stats.engine.estimands import quiet_ratio

#: Scales on which two values disagree.
SCALES = ("interval", "ordinal", "nominal", "ratio")


def krippendorff_alpha(
    readings: RaterReadings, weights: RowWeightSets, scale: str = "interval"
) -> np.ndarray:
    """Krippendorff's alpha, 1 - observed / expected disagreement, shape (n_sets, 1); NaN if all are equal.

    Disagreement of two values a and b: 1 if they differ (nominal), (a - b)² (interval), (a - b)² of their
    mean ranks among all readings (ordinal), or ((a - b) / (a + b))² (ratio). Observed disagreement is over
    pairs of readings of one row, expected over pairs of all readings. Each pair of a row of m readings has
    weight 1 / (m - 1), so that the row counts as m readings; a row with one reading is left out.

    Krippendorff K. Hum Commun Res 2004;30:411-433. doi:10.1111/j.1468-2958.2004.tb00738.x
    """
    values, counts = _distinct_values_and_counts_by_row_of_readings(readings)
    # Readings of each row
    m = np.asarray(counts.sum(axis=1)).ravel()
    has_pairs = m > 1
    pair_weight = np.where(has_pairs, 1 / np.maximum(m - 1, 1), 0.0)
    n = weights @ np.where(has_pairs, m, 0.0)
    if scale == "interval":
        # The sum of (a - b)² over ordered pairs of n values is 2 (n sum of squares - squared sum).
        # Sums of squares lose fewer digits about the mean.
        centered = values - values.mean()
        total = np.where(has_pairs, counts @ centered, 0.0)
        squares = np.where(has_pairs, counts @ centered**2, 0.0)
        observed = 2 * (weights @ (pair_weight * (m * squares - total**2)))
        expected = 2 * (n * (weights @ squares) - (weights @ total) ** 2)
        return _alpha_from_disagreement(n, observed, expected)
    # Readings of each value in rows with pairs, (n_sets, n_values)
    value_totals = weights @ counts.multiply(has_pairs[:, None]).tocsr()
    if scale == "nominal":
        squared_counts = np.asarray(counts.power(2).sum(axis=1)).ravel()
        observed = weights @ (pair_weight * (m**2 - squared_counts))
        # Pairs of all readings less those of the same value
        expected = n**2 - (value_totals**2).sum(axis=1)
    elif scale == "ratio":
        relative_differences = quiet_ratio(values[:, None] - values, values[:, None] + values)
        disagreement = np.nan_to_num(relative_differences) ** 2
        row_disagreement = np.asarray(counts.multiply(counts @ disagreement).sum(axis=1)).ravel()
        observed = weights @ (pair_weight * row_disagreement)
        expected = ((value_totals @ disagreement) * value_totals).sum(axis=1)
    else:
        # Mean rank of each value less the mean of all ranks, (n_sets, n_values)
        ranks = np.cumsum(value_totals, axis=1) - (value_totals + n[:, None]) / 2
        total = ranks @ counts.T
        squares = ranks**2 @ counts.T
        observed = 2 * (np.asarray(weights) * pair_weight * (m * squares - total**2)).sum(axis=1)
        rank_squares = (value_totals * ranks**2).sum(axis=1)
        rank_sums = (value_totals * ranks).sum(axis=1)
        expected = 2 * (n * rank_squares - rank_sums**2)
    n_values_in_set = (value_totals > 0).sum(axis=1)
    expected = np.where(n_values_in_set > 1, expected, 0.0)
    return _alpha_from_disagreement(n, observed, expected)


def _alpha_from_disagreement(n: np.ndarray, observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Alpha (n_sets, 1) from sums of disagreement over ordered pairs of n readings, NaN if all are equal.

    Observed disagreement is summed / n, expected / (n (n - 1)). An expected sum that is only rounding error
    counts as 0.
    """
    has_disagreement = expected > 1e-12 * np.max(expected, initial=0.0)
    alpha = 1 - quiet_ratio((n - 1) * observed, np.where(has_disagreement, expected, 0.0))
    return alpha[:, None]


def _distinct_values_and_counts_by_row_of_readings(
    readings: RaterReadings,
) -> tuple[np.ndarray, sparse.csr_array]:
    """Return the sorted distinct values and, sparse (n_rows, n_values), their counts in each row."""
    present = ~np.isnan(readings.values)
    values, value_codes = np.unique(readings.values[present], return_inverse=True)
    rows, _ = np.nonzero(present)
    shape = (len(present), len(values))
    counts = sparse.coo_array((np.ones(len(rows)), (rows, value_codes)), shape=shape)
    return values, counts.tocsr()
