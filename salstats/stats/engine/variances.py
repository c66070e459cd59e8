"""Variances without resampling: influence functions of units, their degrees of freedom, the jackknife."""

import numpy as np

from salstats.stats.engine.estimands import Cells, Estimand, ratio, smallest_sample


def analytic_variance(cells: Cells, estimand: Estimand) -> tuple[np.ndarray, np.ndarray]:
    """Delta-method variance of each estimate from sums over units, and its degrees of freedom.

    The influence of a unit is summed over the cells of a row, each cell's times sqrt(G / (G - 1)) with G
    the number of units its sample has; a row whose sample has one unit has no variance. The degrees of
    freedom are G - 1 for a row of one sample. An average over samples (tasks) has Satterthwaite's, from
    the variance each sample contributes and the units they share.
    """
    slopes = estimand.gradient(cells.means())
    n_units = cells.sample_units()
    per_sum, per_count = _scaled_weights(cells, slopes, n_units)
    influence = cells.sums @ per_sum.T - cells.counts @ per_count.T
    variance = (influence**2).sum(axis=0)
    df = np.full(len(variance), np.nan)
    present = (cells.counts > 0).astype(np.float64)
    for row in range(len(variance)):
        used = np.flatnonzero(slopes[row] != 0)
        if np.isnan(variance[row]) or not len(used):
            continue
        samples, first = np.unique(cells.sample[used], return_index=True)
        sizes = n_units[used[first]]
        if len(samples) == 1:
            df[row] = sizes[0] - 1
            continue
        of_samples = [used[cells.sample[used] == sample] for sample in samples]
        parts = np.array(
            [
                ((cells.sums[:, c] @ per_sum[row, c] - cells.counts[:, c] @ per_count[row, c]) ** 2).sum()
                for c in of_samples
            ]
        )
        shared = present[:, used[first]].T @ present[:, used[first]]
        df[row] = _shared_degrees_of_freedom(parts, sizes, shared)
    return variance, df


def _shared_degrees_of_freedom(parts: np.ndarray, sizes: np.ndarray, shared: np.ndarray) -> float:
    """Degrees of freedom of a sum of variances whose samples share units.

    (sum v_j)^2 / sum_jk v_j v_k T_jk / ((n_j - 1)(n_k - 1)), where T_jk is the trace of the product of
    the two centring matrices: m - m/n_j - m/n_k + m^2 / (n_j n_k) for m shared units. It is
    Satterthwaite's for disjoint samples, and n - 1 where all are the same.
    """
    n = np.maximum(sizes, np.diag(shared))
    by_row, by_column = n[:, None], n[None, :]
    trace = shared - shared / by_row - shared / by_column + shared**2 / (by_row * by_column)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_sample = parts / (sizes - 1)
        return float(parts.sum() ** 2 / (per_sample @ trace @ per_sample))


def scale_slopes(slopes: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Derivatives times sqrt(G / (G - 1)) of their cells' units, shape (..., n_rows, n_cells)."""
    return np.where(slopes != 0, slopes * np.sqrt(unit_factor(n_units))[..., None, :], 0.0)


def _scaled_weights(cells: Cells, slopes: np.ndarray, n_units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of sums and counts for influences that carry the factor of their sample."""
    return influence_weights(scale_slopes(slopes, n_units), cells.means(), cells.counts.sum(axis=0))


def drawn_variances(
    cells: Cells, estimand: Estimand, weights: np.ndarray, means: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """Delta-method variances of a block of replicates, shape (n_replicates, n_rows)."""
    drawn = smallest_sample(weights @ (cells.counts > 0).astype(np.float64), cells.sample)
    per_sum, per_count = influence_weights(scale_slopes(estimand.gradient(means), drawn), means, totals)
    found = np.empty((len(weights), estimand.n_rows))
    for row in range(estimand.n_rows):
        pull = per_sum[:, row] @ cells.sums.T - per_count[:, row] @ cells.counts.T
        found[:, row] = np.einsum("bu,bu,bu->b", weights, pull, pull)
    return found


def jackknife(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Estimates without each unit, shape (n_units, n_rows)."""
    sums, counts = cells.sums.sum(axis=0), cells.counts.sum(axis=0)
    untouched = cells.counts == 0
    means = np.where(untouched, cells.means(), ratio(sums - cells.sums, counts - cells.counts))
    return estimand.value(means)


def unit_factor(n_units: np.ndarray) -> np.ndarray:
    """Factor G / (G - 1) of a variance from G units, NaN below 2."""
    return ratio(n_units, np.where(n_units > 1, n_units - 1.0, np.nan))


def levels_and_covariance(cells: Cells, estimand: Estimand) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means that a ratio is of, method then reference, and their covariance (n_rows, 2, 2)."""
    assert estimand.second is not None
    method, reference = estimand.row_levels(cells.means())
    n_units, pulls = cells.sample_units(), []
    for membership in (estimand.first, estimand.second):
        slopes = Estimand("mean", membership).gradient(cells.means())
        per_sum, per_count = _scaled_weights(cells, slopes, n_units)
        pulls.append(cells.sums @ per_sum.T - cells.counts @ per_count.T)
    both = np.stack(pulls, axis=2)
    return method, reference, np.einsum("uri,urj->rij", both, both)


def influence_weights(
    slopes: np.ndarray, means: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weights `a`, `b` that make a unit's influence on each estimate, `sums @ a.T - counts @ b.T`.

    It is the sum over cells of slope * (sum - count * mean) / total: what the delta method squares and
    adds up. `slopes` (..., n_rows, n_cells) are the derivatives of the estimates by the cell means.
    """
    per_score = ratio(slopes, np.where(totals == 0, np.nan, totals)[..., None, :])
    per_score = np.where(slopes != 0, per_score, 0.0)
    return per_score, per_score * np.nan_to_num(means)[..., None, :]
