"""Variances without resampling: by influence functions of units, and by the jackknife."""

import numpy as np

from salstats.stats.engine.estimands import Cells, Estimand, ratio, smallest_sample


def analytic_variance(cells: Cells, estimand: Estimand) -> tuple[np.ndarray, np.ndarray]:
    """Return the delta-method variance of each estimate, and its degrees of freedom; both (n_rows,).

    The influence of a unit on a row is the sum of its influences on the row's cells, each multiplied by
    sqrt(G / (G - 1)) with G the number of units in the cell's sample; with one unit the variance is NaN. The
    degrees of freedom are G - 1 for a row of one sample. An average over samples (tasks) has Satterthwaite's,
    from the variance that each sample contributes and the units that samples share.
    """
    slopes = estimand.gradient(cells.means())
    n_units = cells.sample_units()
    per_sum, per_count = _scaled_weights(cells, slopes, n_units)
    influence = cells.sums @ per_sum.T - cells.counts @ per_count.T
    variance = (influence**2).sum(axis=0)
    df = np.full(len(variance), np.nan)
    has_scores = (cells.counts > 0).astype(np.float64)
    for row in range(len(variance)):
        row_cells = np.flatnonzero(slopes[row] != 0)
        if np.isnan(variance[row]) or not len(row_cells):
            continue
        samples, first = np.unique(cells.sample[row_cells], return_index=True)
        first_cells = row_cells[first]
        sizes = n_units[first_cells]
        if len(samples) == 1:
            df[row] = sizes[0] - 1
            continue
        sample_variances = np.empty(len(samples))
        for position, sample in enumerate(samples):
            columns = row_cells[cells.sample[row_cells] == sample]
            from_sums = cells.sums[:, columns] @ per_sum[row, columns]
            from_counts = cells.counts[:, columns] @ per_count[row, columns]
            sample_variances[position] = ((from_sums - from_counts) ** 2).sum()
        n_shared = has_scores[:, first_cells].T @ has_scores[:, first_cells]
        df[row] = _degrees_of_freedom(sample_variances, sizes, n_shared)
    return variance, df


def _degrees_of_freedom(variances: np.ndarray, sizes: np.ndarray, n_shared: np.ndarray) -> float:
    """Compute the degrees of freedom of a sum of variances whose samples share units.

    (sum v_j)^2 / sum_jk v_j v_k T_jk / ((n_j - 1)(n_k - 1)), where T_jk is the trace of the product of
    the two centring matrices: m - m/n_j - m/n_k + m^2 / (n_j n_k) for m shared units. It is
    Satterthwaite's for disjoint samples, and n - 1 if all samples have the same units.

    `variances` and `sizes` have the shape (n_samples,), `n_shared` (n_samples, n_samples).
    """
    n = np.maximum(sizes, np.diag(n_shared))
    n_row = n[:, None]
    n_column = n[None, :]
    trace = n_shared - n_shared / n_row - n_shared / n_column + n_shared**2 / (n_row * n_column)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = variances / (sizes - 1)
        return float(variances.sum() ** 2 / (scaled @ trace @ scaled))


def scale_slopes(slopes: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Multiply derivatives (..., n_rows, n_cells) by sqrt(G / (G - 1)), with G units (..., n_cells)."""
    factor = np.sqrt(unit_factor(n_units))[..., None, :]
    return np.where(slopes != 0, slopes * factor, 0.0)


def _scaled_weights(cells: Cells, slopes: np.ndarray, n_units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of `influence_weights`, for derivatives scaled by `scale_slopes`."""
    scaled = scale_slopes(slopes, n_units)
    return influence_weights(scaled, cells.means(), cells.counts.sum(axis=0))


def drawn_variances(
    cells: Cells, estimand: Estimand, weights: np.ndarray, means: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """Compute the delta-method variances of a block of replicates, shape (n_replicates, n_rows).

    `weights` (n_replicates, n_units) say how often units are drawn; `means` and `totals` (n_replicates,
    n_cells) are the cells' means and numbers of scores in the replicates.
    """
    has_scores = (cells.counts > 0).astype(np.float64)
    n_drawn = smallest_sample(weights @ has_scores, cells.sample)
    slopes = scale_slopes(estimand.gradient(means), n_drawn)
    per_sum, per_count = influence_weights(slopes, means, totals)
    variances = np.empty((len(weights), estimand.n_rows))
    for row in range(estimand.n_rows):
        influence = per_sum[:, row] @ cells.sums.T - per_count[:, row] @ cells.counts.T
        variances[:, row] = np.einsum("bu,bu,bu->b", weights, influence, influence)
    return variances


def jackknife(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Compute the estimates without each unit, shape (n_units, n_rows)."""
    sums = cells.sums.sum(axis=0)
    counts = cells.counts.sum(axis=0)
    means_without_unit = ratio(sums - cells.sums, counts - cells.counts)
    means = np.where(cells.counts == 0, cells.means(), means_without_unit)
    return estimand.value(means)


def unit_factor(n_units: np.ndarray) -> np.ndarray:
    """Return the factor G / (G - 1) of a variance from G units, NaN below 2."""
    return ratio(n_units, np.where(n_units > 1, n_units - 1.0, np.nan))


def levels_and_covariance(cells: Cells, estimand: Estimand) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two means of a ratio, method then reference, and their covariance (n_rows, 2, 2)."""
    assert estimand.reference_weights is not None
    method, reference = estimand.row_levels(cells.means())
    n_units = cells.sample_units()
    influences = []
    for membership in (estimand.method_weights, estimand.reference_weights):
        slopes = Estimand("mean", membership).gradient(cells.means())
        per_sum, per_count = _scaled_weights(cells, slopes, n_units)
        influences.append(cells.sums @ per_sum.T - cells.counts @ per_count.T)
    influence = np.stack(influences, axis=2)
    return method, reference, np.einsum("uri,urj->rij", influence, influence)


def influence_weights(
    slopes: np.ndarray, means: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights `a` and `b` by which units' influences on estimates are `sums @ a.T - counts @ b.T`.

    The influence of a unit is the sum over cells of slope * (sum - count * mean) / total; the delta method's
    variance is the sum of its squares. `slopes` (..., n_rows, n_cells) are the derivatives of the estimates
    by the cell means, `means` and `totals` (..., n_cells) the cells' means and numbers of scores.
    """
    per_score = ratio(slopes, np.where(totals == 0, np.nan, totals)[..., None, :])
    per_score = np.where(slopes != 0, per_score, 0.0)
    return per_score, per_score * np.nan_to_num(means)[..., None, :]
