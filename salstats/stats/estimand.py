"""What is estimated: a mean, a difference or a percentage decrease, as a function of cell means."""

from dataclasses import dataclass, replace

import numpy as np

from salstats.stats.cells import ratio


@dataclass(frozen=True)
class Estimand:
    """A vector of estimates as a function of the means of cells.

    Each estimate compares two levels: the method's, an average of the cells in `first`, and the
    reference's, an average of the cells in `second`. `then` averages estimates once more. An average is
    undefined where one of its members is, so that every replicate estimates the same thing.

    Attributes
    ----------
    kind : {"mean", "difference", "percent_decrease"}
        `first`, `first - second`, or `100 * (second - first) / second`.
    first, second : ndarray of float64, shape (n_cells, n_levels)
        Weight of a cell in a level, 1 in a plain average; each level's weights are brought to sum 1.
        `second` is None for a mean. With it the cells are the methods', then the reference's in the same
        order.
    then : ndarray of float64, shape (n_levels, n_rows), optional
        1 where a level's estimate enters a row's average; by default each is its own row.
    partial : bool
        Average the members that are defined, whichever they are: the rule of the CheXlocalize scripts,
        whose replicates then average fewer tasks where a rare one was not drawn.
    """

    kind: str
    first: np.ndarray
    second: np.ndarray | None = None
    then: np.ndarray | None = None
    partial: bool = False

    @property
    def n_rows(self) -> int:
        """Number of estimates."""
        return int((self.first if self.then is None else self.then).shape[1])

    def gap(self) -> "Estimand":
        """Return the differences of the same levels, row by row."""
        return replace(self, kind="difference")

    def levels(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the method's and the reference's level, shape (..., n_levels) each."""
        if self.partial and self.second is not None:
            # method and reference are averaged over the same tasks, whichever they are
            half = means.shape[-1] // 2
            either = np.isnan(means[..., :half]) | np.isnan(means[..., half:])
            means = np.where(np.concatenate([either, either], axis=-1), np.nan, means)
        low = _average(means, self.first, self.partial)
        return low, None if self.second is None else _average(means, self.second, self.partial)

    def value(self, means: np.ndarray) -> np.ndarray:
        """Return the estimates for cell means of shape (..., n_cells); NaN where undefined."""
        low, high = self.levels(means)
        values = low if high is None else _compare(self.kind, low, high)
        return values if self.then is None else _average(values, self.then, self.partial)

    def row_levels(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the levels of each row, averaged as the row's estimates are, shape (..., n_rows) each."""
        low, high = self.levels(means)
        if self.then is None:
            return low, high
        averaged = None if high is None else _average(high, self.then, self.partial)
        return _average(low, self.then, self.partial), averaged

    def scale(self, means: np.ndarray) -> np.ndarray:
        """Return the size of the numbers an estimate is made of: what rounding errors are relative to."""
        low, high = self.levels(means)
        if high is None:
            sizes = np.abs(low)
        elif self.kind == "difference":
            sizes = np.maximum(np.abs(low), np.abs(high))
        else:
            sizes = 100 * np.maximum(np.abs(ratio(low, np.where(high == 0, np.nan, high))), 1)
        return sizes if self.then is None else _average(sizes, self.then, self.partial)

    def gradient(self, means: np.ndarray) -> np.ndarray:
        """Return the derivative of each estimate by each cell mean, shape (..., n_rows, n_cells).

        `means` has shape (..., n_cells).
        """
        low, high = self.levels(means)
        by_first = _weights(self.first)
        if self.second is None or high is None:
            slopes = by_first
        else:
            by_second = _weights(self.second)
            if self.kind == "difference":
                slopes = by_first - by_second
            else:
                divisor = np.where(high == 0, np.nan, high)
                slopes = 100 * (
                    np.where(by_second > 0, by_second * (low / divisor**2)[..., None], 0.0)
                    - np.where(by_first > 0, by_first / divisor[..., None], 0.0)
                )
        slopes = np.broadcast_to(slopes, (*means.shape[:-1], *slopes.shape[-2:]))
        if self.then is None:
            return slopes
        # a NaN slope of a level that a row does not use must not reach it
        used = _weights(self.then)
        unknown = (used > 0).astype(np.float64) @ np.isnan(slopes) > 0
        return np.where(unknown, np.nan, used @ np.nan_to_num(slopes))

    def cells_of_rows(self) -> np.ndarray:
        """Return which cells enter each estimate, bool of shape (n_cells, n_rows)."""
        used = self.first if self.second is None else self.first + self.second
        return (used if self.then is None else used @ self.then) > 0


def _compare(kind: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return method - reference, or the percentage decrease from the reference (undefined at 0)."""
    if kind == "difference":
        return low - high
    return 100 * ratio(high - low, np.where(high == 0, np.nan, high))


def _average(values: np.ndarray, membership: np.ndarray, partial: bool) -> np.ndarray:
    """Return the weighted mean of each group of columns, undefined where one of them is.

    With `partial` it is the mean of those that are defined.
    """
    missing = np.isnan(values)
    if not missing.any():
        return ratio(values @ membership, membership.sum(axis=0))
    filled = np.where(missing, 0.0, values) @ membership
    if partial:
        return ratio(filled, (~missing).astype(np.float64) @ membership)
    incomplete = missing.astype(np.float64) @ membership > 0
    return np.where(incomplete, np.nan, ratio(filled, membership.sum(axis=0)))


def _weights(membership: np.ndarray) -> np.ndarray:
    """Return the weight of each value in each average, shape (n_averages, n_values)."""
    return np.nan_to_num(ratio(membership, membership.sum(axis=0))).T


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
