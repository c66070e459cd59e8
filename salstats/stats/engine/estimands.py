"""What is estimated: cells of scores by unit and group, and what is made of their means."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ValueRangeError
from salstats.frames import CodedColumn
from salstats.metrics.registry import known_metric
from salstats.score_checks import RANGE_ROUNDING
from salstats.stats.engine.design import (
    OVERALL,
    Design,
    append_keys,
    average_over,
    check_one_metric,
    check_overall,
    pool_over,
)
from salstats.stats.engine.weighting import EQUAL, Weights

#: Sums that are held at a time: 1.6 GB.
_MOST_CELLS = 200_000_000


def ratio(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums / counts, NaN where the count is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: np.ndarray = np.true_divide(sums, counts)
    return quotient


@dataclass(frozen=True)
class Cells:
    """Sums of scores per unit and cell, where a cell is a group of rows whose mean is wanted."""

    #: (n_units, n_cells): Sum and number of the defined scores of a unit in a cell.
    sums: np.ndarray
    counts: np.ndarray
    #: (n_cells,): Rows of the cell whose score is undefined.
    n_missing: np.ndarray
    #: (n_cells,): Cells with the same number are measured on the same units, as a method and its reference
    #: on complete pairs: their variances share one number of units.
    sample: np.ndarray
    #: (n_cells,): Whether scores may lie outside 0 and 1; none do where it is None.
    beyond: np.ndarray | None = None
    #: Where scores are weighted `sums` are weighted, `counts` are sums of weights, and these are, of the same
    #: shape, sums of squared weights; None where each score counts as one.
    squares: np.ndarray | None = None
    #: (n_cells,): Number of defined scores; None where `counts` says it. Whether some score is neither 0 nor
    #: 1; None where only `sums` can say it.
    n_scores: np.ndarray | None = None
    graded: np.ndarray | None = None

    @property
    def n(self) -> np.ndarray:
        """Number of defined scores of each cell."""
        return self.counts.sum(axis=0) if self.n_scores is None else self.n_scores

    @property
    def is_graded(self) -> np.ndarray:
        """Whether some score of each cell is neither 0 nor 1, as far as sums over units show it."""
        if self.graded is None:
            return ~(self.sums % 1 == 0).all(axis=0)
        return self.graded

    def means(self) -> np.ndarray:
        """Mean of each cell, NaN where nothing is defined."""
        return ratio(self.sums.sum(axis=0), self.counts.sum(axis=0))

    def sample_units(self) -> np.ndarray:
        """Number of units of each cell's sample: the smallest of its cells."""
        n_units = np.count_nonzero(self.counts, axis=0)[None].astype(np.float64)
        return smallest_sample(n_units, self.sample)[0]

    def pooled(self, membership: np.ndarray, used: np.ndarray | None = None) -> "Cells":
        """Cells with one more for each column of `membership` (n_cells, n_pooled), of members in `used`."""
        weights = membership * (1.0 if used is None else used[:, None].astype(np.float64))

        def also(held: np.ndarray | None, by: np.ndarray) -> np.ndarray | None:
            return None if held is None else np.concatenate([held, held @ by], axis=-1)

        return Cells(
            np.hstack([self.sums, self.sums @ weights]),
            np.hstack([self.counts, self.counts @ weights]),
            np.concatenate([self.n_missing, self.n_missing @ membership]),
            np.arange(sum(membership.shape)),
            also(self.beyond, membership > 0),
            also(self.squares, weights),
            also(self.n_scores, weights),
            also(self.graded, weights > 0),
        )

    def taken(self, cells: np.ndarray) -> "Cells":
        """Some of the cells, one of them perhaps several times, each a sample of its own."""
        every: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        held = {name: values[..., cells] for name, values in every.items() if values is not None}
        return Cells(**held | {"sample": np.arange(len(cells))})

    def of_units(self) -> "Cells":
        """Cells of the units' means, where each unit counts as one."""
        there = (self.counts > 0).astype(np.float64)
        means = np.where(self.counts > 0, ratio(self.sums, self.counts), 0.0)
        return replace(self, sums=means, counts=there, n_scores=self.n, graded=self.is_graded)

    def beside(self, reference: "Cells") -> "Cells":
        """Cells of a method and then of its reference, pairwise measured on the same units."""

        def both(own: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
            return None if own is None or other is None else np.concatenate([own, other], axis=-1)

        return Cells(
            np.hstack([self.sums, reference.sums]),
            np.hstack([self.counts, reference.counts]),
            np.concatenate([self.n_missing, reference.n_missing]),
            np.tile(np.arange(self.sums.shape[1]), 2),
            None,
            both(self.squares, reference.squares),
            both(self.n_scores, reference.n_scores),
            both(self.graded, reference.graded),
        )


def smallest_sample(n_units: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Smallest number of units (n, n_cells) among the cells of each cell's sample."""
    smallest = np.full((len(n_units), int(sample.max()) + 1), np.inf)
    for cell, number in enumerate(sample):
        smallest[:, number] = np.minimum(smallest[:, number], n_units[:, cell])
    return smallest[:, sample]


def sum_cells(
    values: np.ndarray,
    units: np.ndarray,
    n_units: int,
    groups: np.ndarray,
    n_groups: int,
    weights: np.ndarray | None = None,
) -> Cells:
    """Cells of a column of scores, NaN where undefined; `units`, `groups` and `weights` are by row."""
    size, shape = n_units * n_groups, (n_units, n_groups)
    if size > _MOST_CELLS:
        raise ValueRangeError(
            f"{n_groups} groups of {n_units} units are too many to sum up; group by fewer columns"
        )
    place = units * n_groups + groups
    defined = ~np.isnan(values)
    n_missing = np.zeros(n_groups, dtype=np.int64)
    if not defined.all():
        n_missing = np.bincount(groups[~defined], minlength=n_groups)
        place, values = place[defined], values[defined]
        groups = groups[defined]
    which = np.arange(n_groups)
    is_graded = (values != 0) & (values != 1)
    graded = np.bincount(groups, is_graded, n_groups) > 0
    if weights is None:
        counts = np.bincount(place, minlength=size).astype(np.float64)
        sums = np.bincount(place, weights=values, minlength=size)
        sums, counts = sums.reshape(shape), counts.reshape(shape)
        return Cells(sums, counts, n_missing, which, graded=graded)
    weights = weights[defined]
    total = [np.bincount(place, of, size).reshape(shape) for of in (weights * values, weights, weights**2)]
    n_scores = np.bincount(groups, minlength=n_groups).astype(np.float64)
    return Cells(total[0], total[1], n_missing, which, None, total[2], n_scores, graded)


@dataclass(frozen=True)
class Estimand:
    """A vector of estimates as a function of the means of cells.

    Each estimate compares two levels: the method's, an average of the cells in `first`, and the
    reference's, an average of the cells in `second`. `then` averages estimates once more. An average is
    undefined where one of its members is, so that every replicate estimates the same thing.
    """

    #: `first`, `first - second`, or `100 * (second - first) / second`.
    kind: str
    #: (n_cells, n_levels): Weight of a cell in a level, 1 in a plain average; each level's weights are
    #: brought to sum 1. `second` is None for a mean. With it the cells are the methods', then the
    #: reference's in the same order.
    first: np.ndarray
    second: np.ndarray | None = None
    #: (n_levels, n_rows): 1 where a level's estimate enters a row's average; by default each is its own
    #: row.
    then: np.ndarray | None = None
    #: Average the members that are defined, whichever they are: the rule of the CheXlocalize scripts,
    #: whose replicates then average fewer tasks where a rare one was not drawn.
    partial: bool = False

    @property
    def n_rows(self) -> int:
        """Number of estimates."""
        return int((self.first if self.then is None else self.then).shape[1])

    def gap(self) -> "Estimand":
        """Differences of the same levels, row by row."""
        return replace(self, kind="difference")

    def levels(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Method's and reference's level, shape (..., n_levels) each."""
        if self.partial and self.second is not None:
            means = _defined_on_both_sides(means)
        low = _average(means, self.first, self.partial)
        return low, None if self.second is None else _average(means, self.second, self.partial)

    def value(self, means: np.ndarray) -> np.ndarray:
        """Estimates for cell means of shape (..., n_cells); NaN where undefined."""
        if self.second is None:
            values = _average(means, self.first, self.partial)
        else:
            if self.partial:
                means = _defined_on_both_sides(means)
            low = _average(means, self.first, self.partial)
            high = _average(means, self.second, self.partial)
            if self.kind == "difference":
                values = low - high
            else:
                values = 100 * ((high - low) / np.where(high == 0, np.nan, high))
        return values if self.then is None else _average(values, self.then, self.partial)

    def row_levels(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Levels of each row, averaged as the row's estimates are, shape (..., n_rows) each."""
        low, high = self.levels(means)
        assert high is not None
        if self.then is None:
            return low, high
        return _average(low, self.then, self.partial), _average(high, self.then, self.partial)

    def scale(self, means: np.ndarray) -> np.ndarray:
        """Size of the numbers an estimate is made of: what rounding errors are relative to."""
        low, high = self.levels(means)
        if high is None:
            sizes = np.abs(low)
        elif self.kind == "difference":
            sizes = np.maximum(np.abs(low), np.abs(high))
        else:
            sizes = 100 * np.maximum(np.abs(ratio(low, np.where(high == 0, np.nan, high))), 1)
        return sizes if self.then is None else _average(sizes, self.then, self.partial)

    def gradient(self, means: np.ndarray) -> np.ndarray:
        """Derivative of each estimate by each cell mean, shape (..., n_rows, n_cells)."""
        low, high = self.levels(means)
        slopes = by_first = _weights(self.first)
        if self.second is not None and high is not None:
            by_second = _weights(self.second)
            slopes = by_first - by_second
            if self.kind == "percent_decrease":
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
        """Which cells enter each estimate, bool of shape (n_cells, n_rows)."""
        used = self.first if self.second is None else self.first + self.second
        return (used if self.then is None else used @ self.then) > 0

    def count(self, cells: Cells) -> np.ndarray:
        """Number of the method's defined scores in each estimate."""
        used = self.first if self.then is None else self.first @ self.then
        return (cells.n @ (used > 0)).astype(np.int64)


def _defined_on_both_sides(means: np.ndarray) -> np.ndarray:
    """Means of methods and of the reference, undefined on both sides where one is."""
    half = means.shape[-1] // 2
    either = np.isnan(means[..., :half]) | np.isnan(means[..., half:])
    return np.where(np.concatenate([either, either], axis=-1), np.nan, means)


def _average(values: np.ndarray, membership: np.ndarray, partial: bool) -> np.ndarray:
    """Weighted mean of each group of columns, undefined where one is; with `partial`, of the defined ones."""
    missing = np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        if not missing.any():
            return values @ membership / membership.sum(axis=0)
        filled = np.where(missing, 0.0, values) @ membership
        if partial:
            return filled / ((~missing).astype(np.float64) @ membership)
        incomplete = missing.astype(np.float64) @ membership > 0
        return np.where(incomplete, np.nan, filled / membership.sum(axis=0))


def _weights(membership: np.ndarray) -> np.ndarray:
    """Weight of each value in each average, shape (n_averages, n_values)."""
    return np.nan_to_num(ratio(membership, membership.sum(axis=0))).T


@dataclass(frozen=True)
class Target:
    """What is estimated, of which cells: `keys` and `n_missing` have a row for each estimate."""

    term: str
    cells: Cells
    estimand: Estimand
    keys: pd.DataFrame
    n_missing: np.ndarray


def is_share(metrics: CodedColumn) -> np.ndarray:
    """Whether the score of each row lies between 0 and 1 by its metric, as far as is known."""
    known = [known_metric(name) for name in metrics.values]
    shares = [metric is None or (metric.low, metric.high) == (0, 1) for metric in known]
    # a metric that is missing, which has the last code, is an unknown one
    shares.append(True)
    return np.array(shares)[metrics.codes]


def mean_target(
    design: Design, average: str | None = None, overall: bool = False, weights: Weights = EQUAL
) -> Target:
    """Mean score of each group, with averages over a grouping column and groups pooled over tasks."""
    check_one_metric(design.codes, design.by)
    values = design.frame["score"].to_numpy(dtype=np.float64)
    cells = sum_cells(
        values, design.units.codes, design.units.n, design.groups, len(design.keys), weights.of_rows
    )
    # what is outside by rounding alone is warned of nowhere, and costs no bounds
    low, high = -RANGE_ROUNDING, 1 + RANGE_ROUNDING
    outside = (values < low) | (values > high) | ~is_share(design.codes.column("metric"))
    beyond = np.bincount(design.groups, outside & ~np.isnan(values), len(design.keys)) > 0
    return target_of_cells("mean", replace(cells, beyond=beyond), design.keys, average, overall, weights)


def target_of_cells(
    term: str,
    cells: Cells,
    keys: pd.DataFrame,
    average: str | None,
    overall: bool,
    weights: Weights = EQUAL,
) -> Target:
    """Mean of each cell, with averages over one column of `keys` and cells pooled over tasks."""
    members, belongs, averages = average_over(keys, average, cells.counts.sum(axis=0) > 0, weights.of_members)
    n_missing = cells.n_missing @ belongs
    if overall:
        membership, pooled = pool_over(keys, check_overall(list(keys.columns)), OVERALL)
        cells, keys = cells.pooled(membership), append_keys(keys, pooled)
        members = np.vstack([members, np.zeros((membership.shape[1], members.shape[1]))])
    if weights.each_unit:
        cells = cells.of_units()
    first = np.hstack([np.eye(len(keys)), members])
    n_missing = np.concatenate([cells.n_missing, n_missing]).astype(np.int64)
    return Target(term, cells, Estimand("mean", first), append_keys(keys, averages), n_missing)
