"""Variances without resampling: by influence functions of units, and by the jackknife."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salstats.stats.engine.estimands import Cells, Estimand, quiet_ratio, smallest_n_in_sample_of_cell
from salstats.stats.engine.intervals import RatioMeans


class VarianceWithDf(NamedTuple):
    """Variances of estimates and their degrees of freedom, each of shape (n_rows,)."""

    variance: np.ndarray
    df: np.ndarray


class InfluenceWeights(NamedTuple):
    """Weights by which units' influences on estimates are `sums @ per_sum.T - counts @ per_count.T`."""

    #: (..., n_rows, n_cells)
    per_sum: np.ndarray
    #: (..., n_rows, n_cells)
    per_count: np.ndarray


def analytic_variance(cells: Cells, estimand: Estimand) -> VarianceWithDf:
    """Return the delta-method variance of each estimate, and its degrees of freedom.

    The influence of a unit on a row is the sum of its influences on the row's cells, each multiplied by
    sqrt(G / (G - 1)) with G the number of units in the cell's sample; with one unit the variance is NaN. The
    degrees of freedom are G - 1 for a row of one sample. An average over samples (tasks) has Satterthwaite's,
    from the variance that each sample contributes and the units that samples share.
    """
    slopes = estimand.derivatives_by_estimate_and_cell_mean(cells.means())
    n_units = cells.smallest_n_in_sample_of_cells()
    per_sum, per_count = _bias_corrected_influence_weights(cells, slopes, n_units)
    influence = cells.sums @ per_sum.T - cells.counts @ per_count.T
    variance = (influence**2).sum(axis=0)
    df = np.full(len(variance), np.nan)
    for row in range(len(variance)):
        row_cells = np.flatnonzero(slopes[row] != 0)
        if len(row_cells) and not np.isnan(variance[row]):
            df[row] = _degrees_of_freedom(cells, n_units, row_cells, per_sum[row], per_count[row])
    return VarianceWithDf(variance, df)


def _degrees_of_freedom(
    cells: Cells,
    n_units: np.ndarray,
    row_cells: NDArray[np.integer],
    per_sum: np.ndarray,
    per_count: np.ndarray,
) -> float:
    """Compute the degrees of freedom of the variance of one estimate.

    `n_units` (n_cells,) are the sizes of the cells' samples, of `Cells.smallest_n_in_sample_of_cells`;
    `row_cells` are the cells that enter the estimate; `per_sum` and `per_count` (n_cells,) are the weights of
    `influence_weights` of this estimate.
    """
    samples, first_positions = np.unique(cells.sample[row_cells], return_index=True)
    # cells of one sample have the same units, so that one cell stands for the sample
    first_cells = row_cells[first_positions]
    sizes = n_units[first_cells]
    if len(samples) == 1:
        return float(sizes[0] - 1)
    variances = np.empty(len(samples))
    for position, sample in enumerate(samples):
        sample_cells = row_cells[cells.sample[row_cells] == sample]
        from_sums = cells.sums[:, sample_cells] @ per_sum[sample_cells]
        from_counts = cells.counts[:, sample_cells] @ per_count[sample_cells]
        variances[position] = ((from_sums - from_counts) ** 2).sum()
    has_scores = (cells.counts[:, first_cells] > 0).astype(np.float64)
    n_shared = has_scores.T @ has_scores
    return _df_of_sum(variances, sizes, n_shared)


def _df_of_sum(variances: np.ndarray, sizes: np.ndarray, n_shared: np.ndarray) -> float:
    """Compute the degrees of freedom of a sum of variances whose samples share units.

    (sum v_j)^2 / sum_jk v_j v_k T_jk / ((n_j - 1)(n_k - 1)), where T_jk is the trace of the product of
    the two centring matrices: m - m/n_j - m/n_k + m^2 / (n_j n_k) for m shared units. It is
    Satterthwaite's for disjoint samples, and n - 1 if all samples have the same units.

    `variances` and `sizes` (n_samples,) are the v_j and n_j of the samples, `n_shared` (n_samples, n_samples)
    the numbers of units that every two samples share.
    """
    # a sample is as large as its smallest cell, but the cell that stands for it may have more units
    n = np.maximum(sizes, np.diag(n_shared))
    n_row = n[:, None]
    n_column = n[None, :]
    trace = n_shared - n_shared / n_row - n_shared / n_column + n_shared**2 / (n_row * n_column)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = variances / (sizes - 1)
        return float(variances.sum() ** 2 / (scaled @ trace @ scaled))


def bias_corrected_slopes(slopes: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Multiply derivatives (..., n_rows, n_cells) by sqrt(G / (G - 1)), with G units (..., n_cells)."""
    factor = np.sqrt(bessel_factor(n_units))[..., None, :]
    return np.where(slopes != 0, slopes * factor, 0.0)


def _bias_corrected_influence_weights(
    cells: Cells, slopes: np.ndarray, n_units: np.ndarray
) -> InfluenceWeights:
    """Return the weights of `influence_weights`, for derivatives scaled by `bias_corrected_slopes`."""
    scaled = bias_corrected_slopes(slopes, n_units)
    return influence_weights(scaled, cells.means(), cells.counts.sum(axis=0))


def drawn_variances(
    cells: Cells, estimand: Estimand, weights: np.ndarray, means: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """Compute the delta-method variances of a block of replicates, shape (n_replicates, n_rows).

    `weights` (n_replicates, n_units) say how often units are drawn; `means` and `totals` (n_replicates,
    n_cells) are the cells' means and numbers of scores in the replicates.
    """
    has_scores = (cells.counts > 0).astype(np.float64)
    n_drawn = smallest_n_in_sample_of_cell(weights @ has_scores, cells.sample)
    slopes = bias_corrected_slopes(estimand.derivatives_by_estimate_and_cell_mean(means), n_drawn)
    per_sum, per_count = influence_weights(slopes, means, totals)
    variances = np.empty((len(weights), estimand.n_rows))
    for row in range(estimand.n_rows):
        influence = per_sum[:, row] @ cells.sums.T - per_count[:, row] @ cells.counts.T
        # sum over units of weight * influence^2, for each replicate
        variances[:, row] = np.einsum("bu,bu,bu->b", weights, influence, influence)
    return variances


def estimates_without_each_unit(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Compute the estimates without each unit, shape (n_units, n_rows)."""
    sums = cells.sums.sum(axis=0)
    counts = cells.counts.sum(axis=0)
    means_without_unit = quiet_ratio(sums - cells.sums, counts - cells.counts)
    # a unit without scores in a cell leaves its mean exactly as it is
    means = np.where(cells.counts == 0, cells.means(), means_without_unit)
    return estimand.value(means)


def bessel_factor(n_units: np.ndarray) -> np.ndarray:
    """Return the factor G / (G - 1) of a variance from G units, NaN below 2."""
    return quiet_ratio(n_units, np.where(n_units > 1, n_units - 1.0, np.nan))


def method_and_reference_means_with_covariance(cells: Cells, estimand: Estimand) -> RatioMeans:
    """Return the means of method and reference in each ratio, and their covariance, clustered by unit."""
    assert estimand.reference_weights is not None
    method, reference = estimand.method_and_reference_levels_by_estimate(cells.means())
    n_units = cells.smallest_n_in_sample_of_cells()
    influences = []
    for cell_weights in (estimand.method_weights, estimand.reference_weights):
        slopes = Estimand("mean", cell_weights).derivatives_by_estimate_and_cell_mean(cells.means())
        per_sum, per_count = _bias_corrected_influence_weights(cells, slopes, n_units)
        influences.append(cells.sums @ per_sum.T - cells.counts @ per_count.T)
    # (n_units, n_rows, 2): influences of the units on the two means
    influence = np.stack(influences, axis=2)
    covariance = np.einsum("uri,urj->rij", influence, influence)
    return RatioMeans(method, reference, covariance)


def influence_weights(slopes: np.ndarray, means: np.ndarray, totals: np.ndarray) -> InfluenceWeights:
    """Return the weights of the sums and counts of units and cells in the units' influences on estimates.

    The influence of a unit is the sum over cells of slope * (sum - count * mean) / total; the delta method's
    variance is the sum of its squares. `slopes` (..., n_rows, n_cells) are the derivatives of the estimates
    by the cell means, `means` and `totals` (..., n_cells) the cells' means and numbers of scores.
    """
    per_score = quiet_ratio(slopes, np.where(totals == 0, np.nan, totals)[..., None, :])
    per_score = np.where(slopes != 0, per_score, 0.0)
    return InfluenceWeights(per_score, per_score * np.nan_to_num(means)[..., None, :])
