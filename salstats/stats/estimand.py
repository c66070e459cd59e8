"""What is estimated: a mean, a difference or a percentage decrease, as a function of cell means."""

from dataclasses import dataclass

import numpy as np

from salstats.stats.cells import ratio


@dataclass(frozen=True)
class Estimand:
    """A vector of estimates as a function of the means of cells.

    Each estimate compares two levels: the method's, an average of the cells in `first`, and the
    reference's, an average of the cells in `second`. `then` averages estimates once more.

    Attributes
    ----------
    kind : {"mean", "difference", "percent_decrease"}
        `first`, `first - second`, or `100 * (second - first) / second`.
    first, second : ndarray of float64, shape (n_cells, n_levels)
        1 where a cell belongs to a level. `second` is None for a mean.
    then : ndarray of float64, shape (n_levels, n_rows), optional
        1 where a level's estimate enters a row's average; by default each is its own row.
    """

    kind: str
    first: np.ndarray
    second: np.ndarray | None = None
    then: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of estimates."""
        return int((self.first if self.then is None else self.then).shape[1])

    def levels(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the method's and the reference's level, shape (..., n_levels) each."""
        return _average(means, self.first), None if self.second is None else _average(means, self.second)

    def value(self, means: np.ndarray) -> np.ndarray:
        """Return the estimates for cell means of shape (..., n_cells); NaN where undefined."""
        low, high = self.levels(means)
        values = low if high is None else _compare(self.kind, low, high)
        return values if self.then is None else _average(values, self.then)

    def gradient(self, means: np.ndarray) -> np.ndarray:
        """Return the derivative of each estimate by each cell mean, shape (..., n_rows, n_cells).

        `means` has shape (..., n_cells). Cells that are undefined have derivative 0, as averages leave
        them out.
        """
        low, high = self.levels(means)
        by_first = _average_weights(means, self.first)
        if self.second is None or high is None:
            slopes = by_first
        else:
            by_second = _average_weights(means, self.second)
            if self.kind == "difference":
                slopes = by_first - by_second
            else:
                with np.errstate(divide="ignore", invalid="ignore"):
                    slopes = 100 * (by_second * (low / high**2)[..., None] - by_first * (1 / high)[..., None])
        if self.then is None:
            return slopes
        values = low if high is None else _compare(self.kind, low, high)
        return _average_weights(values, self.then) @ np.nan_to_num(slopes)

    def cells_of_rows(self) -> np.ndarray:
        """Return which cells enter each estimate, bool of shape (n_cells, n_rows)."""
        used = self.first if self.second is None else self.first + self.second
        return (used if self.then is None else used @ self.then) > 0


def _compare(kind: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return method - reference, or the percentage decrease from the reference (undefined at 0)."""
    if kind == "difference":
        return low - high
    return 100 * ratio(high - low, np.where(high == 0, np.nan, high))


def _average(values: np.ndarray, membership: np.ndarray) -> np.ndarray:
    """Return the unweighted mean of the defined values of each group of columns."""
    if np.isnan(values).any():
        defined = ~np.isnan(values)
        return ratio(np.where(defined, values, 0.0) @ membership, defined.astype(np.float64) @ membership)
    return ratio(values @ membership, membership.sum(axis=0))


def _average_weights(values: np.ndarray, membership: np.ndarray) -> np.ndarray:
    """Return the weight of each value in each average, shape (..., n_averages, n_values)."""
    used = membership * ~np.isnan(values)[..., None]
    return np.swapaxes(np.nan_to_num(ratio(used, used.sum(axis=-2, keepdims=True))), -1, -2)


def influence_weights(
    slopes: np.ndarray, means: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights that turn a unit's sums and counts into its influence on each estimate.

    The influence of a unit is the sum over cells of slope * (sum - count * mean) / total: what the
    delta method squares and adds up. It is `sums @ a.T - counts @ b.T` with the two arrays returned.

    Parameters
    ----------
    slopes : ndarray, shape (..., n_rows, n_cells)
        Derivatives of the estimates by the cell means.
    means, totals : ndarray, shape (..., n_cells)
        Mean and number of defined scores of each cell.

    Returns
    -------
    a, b : ndarray, shape (..., n_rows, n_cells)
        Weights of the sums and of the counts.
    """
    per_score = ratio(slopes, np.where(totals == 0, np.nan, totals)[..., None, :])
    per_score = np.where(slopes != 0, per_score, 0.0)
    return per_score, per_score * np.nan_to_num(means)[..., None, :]
