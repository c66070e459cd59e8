"""Cells of scores by unit and group, and estimands: functions of the means of cells."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.errors import ValueRangeError
from salstats.frames import CodedColumn
from salstats.metrics.registry import registered_metric
from salstats.score_checks import RANGE_ROUNDING
from salstats.stats.engine.grouping import (
    OVERALL,
    GroupedRows,
    append_key_rows,
    average_over,
    check_one_metric,
    checked_task_column,
    pool_over,
)
from salstats.stats.engine.weighting import EQUAL_WEIGHTS, Weights

#: Largest number of sums of units and groups: 1.6 GB.
_MAX_SUMS = 200_000_000


def quiet_ratio(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """Return numerators / denominators without NumPy's warnings, NaN where both are 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: np.ndarray = np.true_divide(numerators, denominators)
    return quotient


@dataclass(frozen=True)
class Cells:
    """Sums and counts of scores per unit and cell, where a cell is a group of rows with a mean of its own.

    The sums of weighted scores are weighted, and their counts are sums of weights.
    """

    #: (n_units, n_cells): Sum of the defined scores.
    sums: np.ndarray
    #: (n_units, n_cells): Number of the defined scores.
    counts: np.ndarray
    #: (n_cells,): Rows with an undefined score.
    n_missing: np.ndarray
    #: (n_cells,): Index of the cell's sample. Cells of one sample are measured on the same units, as a
    #: method and its reference are on complete pairs, and their variances share one number of units.
    sample: NDArray[np.integer]
    #: (n_cells,): True where scores may lie outside 0 and 1; None where none does.
    outside_unit_range: NDArray[np.bool_] | None = None
    #: (n_units, n_cells): Sums of squared weights; None where scores are not weighted.
    squares: np.ndarray | None = None
    #: (n_cells,): Number of defined scores; None where it is the sum of the counts.
    n_scores: np.ndarray | None = None
    #: (n_cells,): True where a score is neither 0 nor 1; None where only the sums can tell.
    graded: NDArray[np.bool_] | None = None

    @property
    def n_defined_scores(self) -> np.ndarray:
        """Number of defined scores of each cell."""
        if self.n_scores is None:
            return np.asarray(self.counts.sum(axis=0))
        return self.n_scores

    @property
    def is_graded(self) -> NDArray[np.bool_]:
        """True for cells with a score that is neither 0 nor 1; judged by sums if scores are unknown."""
        if self.graded is None:
            return np.asarray(~(self.sums % 1 == 0).all(axis=0))
        return self.graded

    def means(self) -> np.ndarray:
        """Return the mean of each cell, NaN where nothing is defined."""
        return quiet_ratio(self.sums.sum(axis=0), self.counts.sum(axis=0))

    def smallest_n_in_sample_of_cells(self) -> np.ndarray:
        """Return the number of units of each cell's sample: the smallest of the sample's cells."""
        n_units = np.count_nonzero(self.counts, axis=0)[None].astype(np.float64)
        return np.asarray(smallest_n_in_sample_of_cell(n_units, self.sample)[0])

    def with_pooled(self, membership: np.ndarray, is_used_cell: NDArray[np.bool_] | None = None) -> "Cells":
        """Return the cells, followed by cells that pool some of them.

        Parameters
        ----------
        membership : ndarray of int, shape (n_cells, n_pooled)
            1 for the members of each pooled cell.
        is_used_cell : ndarray of bool, shape (n_cells,), optional
            Cells whose scores are pooled; of the others only the missing scores are counted.
        """
        weights = membership.astype(np.float64)
        if is_used_cell is not None:
            weights = membership * is_used_cell[:, None].astype(np.float64)

        def append_pooled(values: np.ndarray, members: np.ndarray) -> np.ndarray:
            """Append the sum of the members of each pooled cell to the values of cells."""
            return np.concatenate([values, values @ members], axis=-1)

        def append_pooled_if_known(values: np.ndarray | None, members: np.ndarray) -> np.ndarray | None:
            """Append the sums as `append_pooled` does; None stays None."""
            if values is None:
                return None
            return append_pooled(values, members)

        n_cells_with_pooled = sum(membership.shape)
        return Cells(
            sums=append_pooled(self.sums, weights),
            counts=append_pooled(self.counts, weights),
            n_missing=append_pooled(self.n_missing, membership),
            # each cell is a sample of its own
            sample=np.arange(n_cells_with_pooled),
            outside_unit_range=append_pooled_if_known(self.outside_unit_range, membership > 0),
            squares=append_pooled_if_known(self.squares, weights),
            n_scores=append_pooled_if_known(self.n_scores, weights),
            graded=append_pooled_if_known(self.graded, weights > 0),
        )

    def select(self, cells: NDArray[np.integer]) -> "Cells":
        """Return the cells at some positions, which may repeat; each is a sample of its own."""

        def take_if_known(values: np.ndarray | None) -> np.ndarray | None:
            """Return the values of the cells at the positions; None stays None."""
            return None if values is None else values[..., cells]

        return Cells(
            sums=self.sums[:, cells],
            counts=self.counts[:, cells],
            n_missing=self.n_missing[cells],
            sample=np.arange(len(cells)),
            outside_unit_range=take_if_known(self.outside_unit_range),
            squares=take_if_known(self.squares),
            n_scores=take_if_known(self.n_scores),
            graded=take_if_known(self.graded),
        )

    def with_unit_means(self) -> "Cells":
        """Return cells of the units' means, in which each unit counts as one."""
        has_scores = self.counts > 0
        means = np.where(has_scores, quiet_ratio(self.sums, self.counts), 0.0)
        return replace(
            self,
            sums=means,
            counts=has_scores.astype(np.float64),
            n_scores=self.n_defined_scores,
            graded=self.is_graded,
        )

    def followed_by(self, reference: "Cells") -> "Cells":
        """Return these cells followed by those of the reference, measured on the same units pair by pair."""

        def concatenate_if_known(
            method_values: np.ndarray | None, reference_values: np.ndarray | None
        ) -> np.ndarray | None:
            """Return the values of both sides' cells, None if those of a side are None."""
            if method_values is None or reference_values is None:
                return None
            return np.concatenate([method_values, reference_values], axis=-1)

        # `outside_unit_range` is left out, as it is for the limits of means only
        n_cells = self.sums.shape[1]
        return Cells(
            sums=np.hstack([self.sums, reference.sums]),
            counts=np.hstack([self.counts, reference.counts]),
            n_missing=np.concatenate([self.n_missing, reference.n_missing]),
            # a cell of the methods and the reference's cell with the same position are one sample
            sample=np.tile(np.arange(n_cells), 2),
            squares=concatenate_if_known(self.squares, reference.squares),
            n_scores=concatenate_if_known(self.n_scores, reference.n_scores),
            graded=concatenate_if_known(self.graded, reference.graded),
        )


def smallest_n_in_sample_of_cell(n_units: np.ndarray, sample_of_cell: NDArray[np.integer]) -> np.ndarray:
    """Return for each cell the smallest number of units among the cells of its sample.

    `n_units` and the result have shape (n, n_cells), a row for each replicate; `sample_of_cell` (n_cells,)
    numbers the samples from 0.
    """
    smallest = np.full((len(n_units), int(sample_of_cell.max()) + 1), np.inf)
    for cell, sample in enumerate(sample_of_cell):
        smallest[:, sample] = np.minimum(smallest[:, sample], n_units[:, cell])
    return smallest[:, sample_of_cell]


def sum_cells(
    values: np.ndarray,
    units: NDArray[np.integer],
    n_units: int,
    groups: NDArray[np.integer],
    n_groups: int,
    weights: np.ndarray | None = None,
) -> Cells:
    """Return the cells of a column of scores, NaN where undefined, a cell for each group.

    `values`, `units`, `groups` and `weights` have one element per row. ValueRangeError if the sums of all
    units and groups would take too much memory.
    """
    n_sums = n_units * n_groups
    shape = (n_units, n_groups)
    if n_sums > _MAX_SUMS:
        raise ValueRangeError(
            f"{n_groups} groups of {n_units} units are too many to sum up; group by fewer columns",
            option="by",
            value=n_groups,
        )
    positions = units * n_groups + groups
    is_defined = ~np.isnan(values)
    n_missing = np.zeros(n_groups, dtype=np.int64)
    if not is_defined.all():
        n_missing = np.bincount(groups[~is_defined], minlength=n_groups)
        positions = positions[is_defined]
        values = values[is_defined]
        groups = groups[is_defined]
    sample = np.arange(n_groups)
    is_graded = (values != 0) & (values != 1)
    graded = np.bincount(groups, is_graded, n_groups) > 0
    if weights is None:
        counts = np.bincount(positions, minlength=n_sums).astype(np.float64).reshape(shape)
        sums = np.bincount(positions, weights=values, minlength=n_sums).reshape(shape)
        return Cells(sums, counts, n_missing, sample, graded=graded)
    weights = weights[is_defined]
    return Cells(
        sums=np.bincount(positions, weights * values, n_sums).reshape(shape),
        counts=np.bincount(positions, weights, n_sums).reshape(shape),
        n_missing=n_missing,
        sample=sample,
        squares=np.bincount(positions, weights**2, n_sums).reshape(shape),
        n_scores=np.bincount(groups, minlength=n_groups).astype(np.float64),
        graded=graded,
    )


@dataclass(frozen=True)
class Estimand:
    """A vector of estimates as a function of the means of cells.

    Each estimate compares two levels: the method's, an average of cells with the weights `method_weights`,
    and the reference's, an average of cells with the weights `reference_weights`. `row_weights` averages the
    estimates once more. An average is undefined where one of its members is, so that every replicate
    estimates the same thing.
    """

    #: "mean" is the method's level, "difference" the method's less the reference's, "percent_decrease"
    #: 100 * (reference - method) / reference.
    kind: str
    #: (n_cells, n_levels): Weight of a cell in the method's level, 1 in a plain average. Weights are divided
    #: by their sum.
    method_weights: np.ndarray
    #: (n_cells, n_levels): Weight of a cell in the reference's level, None for a mean. With it the cells are
    #: the methods', then the reference's in the same order.
    reference_weights: np.ndarray | None = None
    #: (n_levels, n_rows): Weight of a level's estimate in a row's average; None where each level is a row.
    row_weights: np.ndarray | None = None
    #: Average over the members that are defined, as the CheXlocalize scripts do; their replicates average
    #: fewer tasks where a rare one was not drawn.
    skips_undefined: bool = False

    @property
    def n_rows(self) -> int:
        """Number of estimates."""
        if self.row_weights is None:
            return int(self.method_weights.shape[1])
        return int(self.row_weights.shape[1])

    def as_difference(self) -> "Estimand":
        """Return the estimand of the differences of the same levels, row by row."""
        return replace(self, kind="difference")

    def method_and_reference_levels(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the method's and the reference's levels, shape (..., n_levels) each; None for a mean."""
        if self.reference_weights is None:
            return _average(means, self.method_weights, skips_nan=self.skips_undefined), None
        if self.skips_undefined:
            means = _means_defined_on_both_sides(means)
        method = _average(means, self.method_weights, skips_nan=self.skips_undefined)
        reference = _average(means, self.reference_weights, skips_nan=self.skips_undefined)
        return method, reference

    def value(self, means: np.ndarray) -> np.ndarray:
        """Return the estimates (..., n_rows) for cell means of shape (..., n_cells); NaN where undefined."""
        method, reference = self.method_and_reference_levels(means)
        if reference is None:
            values = method
        elif self.kind == "difference":
            values = method - reference
        else:
            values = 100 * ((reference - method) / _nan_if_zero(reference))
        return self._levels_averaged_to_rows(values)

    def method_and_reference_levels_by_estimate(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the method's and the reference's level of each row, shape (..., n_rows) each.

        A row that averages estimates has the averages of their levels.
        """
        method, reference = self.method_and_reference_levels(means)
        assert reference is not None
        return self._levels_averaged_to_rows(method), self._levels_averaged_to_rows(reference)

    def magnitude_behind_estimates(self, means: np.ndarray) -> np.ndarray:
        """Return the size of the numbers that each estimate is made from, to which rounding is relative."""
        method, reference = self.method_and_reference_levels(means)
        if reference is None:
            sizes = np.abs(method)
        elif self.kind == "difference":
            sizes = np.maximum(np.abs(method), np.abs(reference))
        else:
            sizes = 100 * np.maximum(np.abs(quiet_ratio(method, _nan_if_zero(reference))), 1)
        return self._levels_averaged_to_rows(sizes)

    def _levels_averaged_to_rows(self, values: np.ndarray) -> np.ndarray:
        """Average values of levels (..., n_levels) to values of rows (..., n_rows)."""
        if self.row_weights is None:
            return values
        return _average(values, self.row_weights, skips_nan=self.skips_undefined)

    def derivatives_by_estimate_and_cell_mean(self, means: np.ndarray) -> np.ndarray:
        """Return the derivative of each estimate by each cell mean, shape (..., n_rows, n_cells).

        With the method's level m, the reference's level r and weights a and b of a cell in them, it is a for
        a mean, a - b for a difference, and 100 * (b * m / r^2 - a / r) for a percentage decrease.
        """
        method, reference = self.method_and_reference_levels(means)
        method_weights = _weights_by_average_and_value(self.method_weights)
        slopes = method_weights
        if self.reference_weights is not None and reference is not None:
            reference_weights = _weights_by_average_and_value(self.reference_weights)
            slopes = method_weights - reference_weights
            if self.kind == "percent_decrease":
                reference = _nan_if_zero(reference)
                by_reference = reference_weights * (method / reference**2)[..., None]
                by_method = method_weights / reference[..., None]
                # an undefined level affects only the cells that enter it
                slopes = 100 * (
                    np.where(reference_weights > 0, by_reference, 0.0)
                    - np.where(method_weights > 0, by_method, 0.0)
                )
        slopes = np.broadcast_to(slopes, (*means.shape[:-1], *slopes.shape[-2:]))
        if self.row_weights is None:
            return slopes
        # an undefined slope affects only the rows that the level enters, which 0 * NaN would not respect
        row_weights = _weights_by_average_and_value(self.row_weights)
        is_unknown = (row_weights > 0).astype(np.float64) @ np.isnan(slopes) > 0
        return np.where(is_unknown, np.nan, row_weights @ np.nan_to_num(slopes))

    def membership_by_cell_and_estimate(self) -> NDArray[np.bool_]:
        """Return the mask of the cells that enter each estimate, shape (n_cells, n_estimates)."""
        weights = self.method_weights
        if self.reference_weights is not None:
            weights = self.method_weights + self.reference_weights
        if self.row_weights is not None:
            weights = weights @ self.row_weights
        return weights > 0

    def count_method_scores(self, cells: Cells) -> np.ndarray:
        """Return the number of the method's defined scores in each estimate."""
        weights = self.method_weights
        if self.row_weights is not None:
            weights = self.method_weights @ self.row_weights
        return (cells.n_defined_scores @ (weights > 0)).astype(np.int64)


def _nan_if_zero(values: np.ndarray) -> np.ndarray:
    """Return values as divisors, NaN where they are 0."""
    return np.where(values == 0, np.nan, values)


def _means_defined_on_both_sides(means: np.ndarray) -> np.ndarray:
    """Set means of methods and of the reference (..., n_cells) to NaN on both sides where one is NaN."""
    n_pairs = means.shape[-1] // 2
    is_undefined = np.isnan(means[..., :n_pairs]) | np.isnan(means[..., n_pairs:])
    return np.where(np.concatenate([is_undefined, is_undefined], axis=-1), np.nan, means)


def _average(values: np.ndarray, weights: np.ndarray, *, skips_nan: bool) -> np.ndarray:
    """Return weighted means of values (..., n_values) with weights (n_values, n_averages).

    A mean is undefined where one of its values is; with `skips_nan` it is the mean of the defined values.
    """
    is_missing = np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        if not is_missing.any():
            return np.asarray(values @ weights / weights.sum(axis=0))
        sums = np.where(is_missing, 0.0, values) @ weights
        if skips_nan:
            return np.asarray(sums / ((~is_missing).astype(np.float64) @ weights))
        is_incomplete = is_missing.astype(np.float64) @ weights > 0
        return np.where(is_incomplete, np.nan, sums / weights.sum(axis=0))


def _weights_by_average_and_value(membership: np.ndarray) -> np.ndarray:
    """Return the weight of each value in each average, shape (n_averages, n_values).

    The weights of an average sum to 1, or to 0 if it has no members.
    """
    weights: np.ndarray = np.nan_to_num(quiet_ratio(membership, membership.sum(axis=0)))
    return weights.T


@dataclass(frozen=True)
class Target:
    """An estimand with the cells that it is estimated from."""

    #: Value of the column `term`.
    term: str
    cells: Cells
    estimand: Estimand
    #: Grouping columns of each estimate.
    keys: pd.DataFrame
    #: (n_rows,): Undefined scores of each estimate.
    n_missing: np.ndarray


def _has_unit_range_or_unknown_metric(metric_of_row: CodedColumn) -> NDArray[np.bool_]:
    """Return True for rows whose metric lies between 0 and 1, or is not a known one."""
    is_unit_range = []
    for name in metric_of_row.values:
        metric = registered_metric(name)
        is_unit_range.append(metric is None or (metric.low, metric.high) == (0, 1))
    # rows without a metric have the last code
    is_unit_range.append(True)
    return np.asarray(np.array(is_unit_range)[metric_of_row.codes])


def mean_target(
    grouped_rows: GroupedRows,
    average: str | None = None,
    overall: bool = False,
    weights: Weights = EQUAL_WEIGHTS,
) -> Target:
    """Return the target of each group's mean, of averages over a grouping column and of pooled tasks.

    ColumnError if scores of several metrics would be averaged together.
    """
    check_one_metric(grouped_rows.codes, grouped_rows.by)
    values = grouped_rows.frame["score"].to_numpy(dtype=np.float64)
    n_groups = len(grouped_rows.keys)
    cells = sum_cells(
        values, grouped_rows.units.codes, grouped_rows.units.n, grouped_rows.groups, n_groups, weights.of_rows
    )
    # scores that are outside by rounding alone keep limits within 0 and 1
    is_outside = (values < -RANGE_ROUNDING) | (values > 1 + RANGE_ROUNDING)
    is_outside |= ~_has_unit_range_or_unknown_metric(grouped_rows.codes.column("metric"))
    n_outside = np.bincount(grouped_rows.groups, is_outside & ~np.isnan(values), n_groups)
    cells = replace(cells, outside_unit_range=n_outside > 0)
    return target_of_cells("mean", cells, grouped_rows.keys, average, overall, weights)


def target_of_cells(
    term: str,
    cells: Cells,
    keys: pd.DataFrame,
    average: str | None,
    overall: bool,
    weights: Weights = EQUAL_WEIGHTS,
) -> Target:
    """Return the target of each cell's mean, of averages over a column of `keys` and of pooled tasks."""
    is_defined = cells.counts.sum(axis=0) > 0
    average_weights, average_members, average_keys = average_over(
        keys, average, is_defined, weights.of_members
    )
    n_missing_of_averages = cells.n_missing @ average_members
    if overall:
        membership, pooled_keys = pool_over(keys, checked_task_column(list(keys.columns)), OVERALL)
        cells = cells.with_pooled(membership)
        keys = append_key_rows(keys, pooled_keys)
        # pooled cells enter no average
        pooled_weights = np.zeros((membership.shape[1], average_weights.shape[1]))
        average_weights = np.vstack([average_weights, pooled_weights])
    if weights.equal_unit_weights:
        cells = cells.with_unit_means()
    cell_weights = np.hstack([np.eye(len(keys)), average_weights])
    n_missing = np.concatenate([cells.n_missing, n_missing_of_averages]).astype(np.int64)
    return Target(term, cells, Estimand("mean", cell_weights), append_key_rows(keys, average_keys), n_missing)
