"""Variances without resampling: influence functions of units, their degrees of freedom, the jackknife."""

import numpy as np

from salstats.stats import intervals
from salstats.stats.cells import Cells, ratio
from salstats.stats.estimand import Estimand, influence_weights


def analytic_variance(cells: Cells, estimand: Estimand) -> tuple[np.ndarray, np.ndarray]:
    """Return the delta-method variance of each estimate from sums over units, and its degrees of freedom.

    The influence of a unit is summed over the cells of a row, each cell's times sqrt(G / (G - 1)) with G
    the number of units its sample has; a row whose sample has one unit has no variance. The degrees of
    freedom are G - 1 for a row of one sample. An average over samples (tasks) has Satterthwaite's, from
    the variance each sample contributes and the units they share.

    Returns
    -------
    variance, df : ndarray, shape (n_rows,)
        NaN where undefined.
    """
    slopes = estimand.gradient(cells.means())
    n_units = _sample_units(cells)
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
    """Return the degrees of freedom of a sum of variances whose samples share units.

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
    """Return derivatives times sqrt(G / (G - 1)) of their cells' units, shape (..., n_rows, n_cells).

    A cell that a row does not use stays out of it, also where its factor is undefined (G = 1).
    """
    return np.where(slopes != 0, slopes * np.sqrt(unit_factor(n_units))[..., None, :], 0.0)


def smallest_of_rows(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Return the number of units of each row's smallest sample: what its inference hangs on."""
    units = np.where(estimand.cells_of_rows(), _sample_units(cells)[:, None], np.inf)
    return units.min(axis=0)


def unit_sizes(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Return how many defined scores each unit has in each row, shape (n_units, n_rows)."""
    return cells.counts @ estimand.cells_of_rows().astype(np.float64)


def effective_units(sizes: np.ndarray) -> np.ndarray:
    """Return how many units of equal size each row's units are worth: (sum n)^2 / sum n^2."""
    return ratio(sizes.sum(axis=0) ** 2, (sizes**2).sum(axis=0))


def _sample_units(cells: Cells) -> np.ndarray:
    """Return the number of units of each cell's sample."""
    return smallest_sample(np.count_nonzero(cells.counts, axis=0)[None].astype(np.float64), cells.sample)[0]


def _scaled_weights(cells: Cells, slopes: np.ndarray, n_units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of sums and counts for influences that carry the factor of their sample."""
    return influence_weights(scale_slopes(slopes, n_units), cells.means(), cells.counts.sum(axis=0))


def jackknife(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Return the estimates without each unit, shape (n_units, n_rows)."""
    sums, counts = cells.sums.sum(axis=0), cells.counts.sum(axis=0)
    untouched = cells.counts == 0
    means = np.where(untouched, cells.means(), ratio(sums - cells.sums, counts - cells.counts))
    return estimand.value(means)


def smallest_sample(n_units: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Return for each cell the smallest number of units of its sample's cells, shape as `n_units`."""
    smallest = np.full((len(n_units), int(sample.max()) + 1), np.inf)
    for cell, number in enumerate(sample):
        smallest[:, number] = np.minimum(smallest[:, number], n_units[:, cell])
    return smallest[:, sample]


def unit_factor(n_units: np.ndarray) -> np.ndarray:
    """Return the factor G / (G - 1) of a variance from G units, NaN below 2."""
    return ratio(n_units, np.where(n_units > 1, n_units - 1.0, np.nan))


def fieller_limits(
    cells: Cells, estimand: Estimand, df: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Fieller's limits, infinite where unbounded, what the sets hold, and whether 0 lies in a gap."""
    assert estimand.second is not None
    method, reference = estimand.levels(cells.means())
    assert reference is not None
    n_units, pulls = _sample_units(cells), []
    for membership in (estimand.first, estimand.second):
        slopes = Estimand("mean", membership).gradient(cells.means())
        per_sum, per_count = _scaled_weights(cells, slopes, n_units)
        pulls.append(cells.sums @ per_sum.T - cells.counts @ per_count.T)
    both = np.stack(pulls, axis=2)
    covariance = np.einsum("uri,urj->rij", both, both)
    low, high, form = intervals.fieller(method, reference, covariance, df, level)
    unbounded = np.isin(form, ("outside", "line"))
    text = form.astype(object)
    for row in np.flatnonzero(form == "outside"):
        text[row] = f"all but {low[row]:.6g} to {high[row]:.6g}"
    text[form == "line"] = "everything"
    in_gap = (form == "outside") & (low < 0) & (high > 0)
    return np.where(unbounded, -np.inf, low), np.where(unbounded, np.inf, high), text, in_gap
