"""Figures of merit of a reader's readings with a method, as records: mean score, area under the ROC curve.

A cell is a reader with a method. Kernels give the figure of each cell, the figure without each unit in turn
(in closed form, for the jackknife), and the figure with weighted units (for the bootstrap).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salstats.stats.engine.roc import concordant_share_of_each_score

#: Largest number of comparisons in a block, which keeps an array at a few MB.
_BLOCK = 1 << 19


@dataclass(frozen=True)
class ReaderReadings:
    """Readings of cases, a column for each cell: a reader with a method."""

    #: (n_cases, n_cells): Scores, NaN where a case is not read.
    scores: np.ndarray
    #: (n_cells,): Method of each cell, from 0.
    methods: NDArray[np.integer]
    #: (n_cells,): Reader of each cell, from 0.
    readers: NDArray[np.integer]
    #: (n_cases,): Unit of each case, from 0.
    units: NDArray[np.integer]
    #: (n_cases,): True for positive cases; for all cases without a truth.
    positive: NDArray[np.bool_]

    @cached_property
    def is_read(self) -> NDArray[np.bool_]:
        """Mask of the cases that each cell has read, (n_cases, n_cells)."""
        return np.asarray(~np.isnan(self.scores))

    @cached_property
    def shares_of_opposite_class_ordered_correctly(self) -> np.ndarray:
        """Placement values (n_cases, n_cells), 0 where not read.

        The placement value of a positive is the share of negatives with a lower score, that of a negative
        the share of positives with a higher score; equal scores count as one half.
        """
        placement_values = np.zeros_like(self.scores)
        for cell, read in enumerate(self.is_read.T):
            placement_values[read, cell] = concordant_share_of_each_score(
                self.scores[read, cell], self.positive[read]
            )
        return placement_values

    def unit_by_cell_sums(self, values: np.ndarray) -> np.ndarray:
        """Sums of the cases' values (n_cases, n_cells) over each unit, (n_units, n_cells)."""
        sums = np.zeros((int(self.units.max()) + 1, values.shape[1]))
        np.add.at(sums, self.units, values)
        return sums


@dataclass(frozen=True)
class FigureOfMerit:
    """Record of a figure of merit of the readings of one reader with one method."""

    #: Value of the option `figure`.
    name: str
    #: Name in print.
    label: str
    #: Function that returns the figures of the cells, and those without each unit in turn.
    jackknifed_figures: Callable[[ReaderReadings], "JackknifedFigures"]
    #: Function that returns figures (n_replicates, n_cells) for weights of units (n_replicates, n_units).
    weighted_figures: Callable[[ReaderReadings, np.ndarray], np.ndarray]
    #: True if it needs the truth of each case.
    needs_label: bool = False


class JackknifedFigures(NamedTuple):
    """Figures of cells, and those without each unit in turn."""

    #: (n_cells,)
    figures: np.ndarray
    #: (n_units, n_cells)
    without_unit: np.ndarray


def _unit_sums_and_counts(readings: ReaderReadings) -> tuple[np.ndarray, np.ndarray]:
    """Sums of scores and numbers of readings by unit, (n_units, n_cells) each."""
    sums = readings.unit_by_cell_sums(np.where(readings.is_read, readings.scores, 0.0))
    counts = readings.unit_by_cell_sums(readings.is_read.astype(np.float64))
    return sums, counts


def _means_with_and_without_each_unit(readings: ReaderReadings) -> JackknifedFigures:
    """Mean scores of cells, and those without each unit in turn."""
    sums, counts = _unit_sums_and_counts(readings)
    total = sums.sum(axis=0)
    n = counts.sum(axis=0)
    return JackknifedFigures(total / n, (total - sums) / (n - counts))


def _means_with_weights(readings: ReaderReadings, weights: np.ndarray) -> np.ndarray:
    """Mean scores of cells (n_replicates, n_cells) for weights of units (n_replicates, n_units)."""
    sums, counts = _unit_sums_and_counts(readings)
    return np.asarray((weights @ sums) / (weights @ counts))


def _areas_with_leave_one_out(readings: ReaderReadings) -> JackknifedFigures:
    """Areas of cells, and those without each unit in turn.

    An area is the number of comparisons of positives with negatives that are won, over the number of all.
    Comparisons between a positive and a negative of the same unit are counted both with its positives and
    with its negatives, and are subtracted once.
    """
    placement_values = readings.shares_of_opposite_class_ordered_correctly
    positive = readings.positive[:, None]
    unit_positives = readings.unit_by_cell_sums((readings.is_read & positive).astype(float))
    unit_negatives = readings.unit_by_cell_sums((readings.is_read & ~positive).astype(float))
    n_positive = unit_positives.sum(axis=0)
    n_negative = unit_negatives.sum(axis=0)
    area = (placement_values * positive).sum(axis=0) / n_positive
    n_won = area * n_positive * n_negative
    # Comparisons won that involve each unit's cases
    won_by_positives = n_negative * readings.unit_by_cell_sums(placement_values * positive)
    won_over_negatives = n_positive * readings.unit_by_cell_sums(placement_values * ~positive)
    won_with_unit = won_by_positives + won_over_negatives - _n_within_unit_wins_by_unit_and_cell(readings)
    n_comparisons = (n_positive - unit_positives) * (n_negative - unit_negatives)
    return JackknifedFigures(area, (n_won - won_with_unit) / n_comparisons)


def _n_within_unit_wins_by_unit_and_cell(readings: ReaderReadings) -> np.ndarray:
    """Comparisons won by the positives of each unit over negatives of the same unit, (n_units, n_cells)."""
    units = readings.units
    positive = readings.positive
    won_within = np.zeros((int(units.max()) + 1, readings.scores.shape[1]))
    # Units with both positives and negatives
    mixed_units = np.intersect1d(units[positive], units[~positive])
    if not len(mixed_units):
        return won_within
    cases_by_unit = np.argsort(units, kind="stable")
    ends = np.cumsum(np.bincount(units))
    cases_of_units = np.split(cases_by_unit, ends[:-1])
    for unit in mixed_units:
        for _, won in blocks_of_positive_negative_comparisons(readings, cases_of_units[unit]):
            won_within[unit] += won.sum(axis=(0, 1))
    return won_within


class ComparisonBlock(NamedTuple):
    """Comparisons of some positives with all negatives."""

    #: Positions among the positives.
    positives: slice
    #: Shape (positives, negatives, n_cells): 1 where the positive has the larger score, one half where they
    #: are equal, 0 where it has the smaller one or either is not read.
    won: np.ndarray


def blocks_of_positive_negative_comparisons(
    readings: ReaderReadings, cases: NDArray[np.integer] | None = None
) -> Iterator[ComparisonBlock]:
    """Yield blocks of the comparisons of positives with negatives, of all cases or of some."""
    scores = readings.scores
    positive = readings.positive
    if cases is not None:
        scores = scores[cases]
        positive = positive[cases]
    positive_scores = scores[positive]
    negative_scores = scores[~positive]
    block_size = max(1, _BLOCK // max(negative_scores.size, 1))
    for start in range(0, len(positive_scores), block_size):
        rows = slice(start, start + block_size)
        won = 0.5 + 0.5 * np.sign(positive_scores[rows, None] - negative_scores[None])
        yield ComparisonBlock(rows, np.nan_to_num(won, copy=False))


def _areas_with_weights(readings: ReaderReadings, unit_weights: np.ndarray) -> np.ndarray:
    """Areas of cells (n_replicates, n_cells) for weights of units (n_replicates, n_units).

    A comparison of a positive with a negative has the product of their weights.
    """
    positive = readings.positive
    case_weights = unit_weights[:, readings.units]
    positive_weights = case_weights[:, positive]
    negative_weights = case_weights[:, ~positive]
    won = np.zeros((len(unit_weights), readings.scores.shape[1]))
    for rows, block in blocks_of_positive_negative_comparisons(readings):
        # Sum over negatives: (n_replicates, n_positives, n_cells), in einsum r, p and c
        won_by_positives = np.tensordot(negative_weights, block, axes=(1, 1))
        won += np.einsum("rp,rpc->rc", positive_weights[:, rows], won_by_positives)
    read = readings.is_read.astype(np.float64)
    n_positive = positive_weights @ read[positive]
    n_negative = negative_weights @ read[~positive]
    return np.asarray(won / (n_positive * n_negative))


RECORDS = (
    FigureOfMerit("mean", "mean score", _means_with_and_without_each_unit, _means_with_weights),
    FigureOfMerit(
        "auc", "area under the ROC curve", _areas_with_leave_one_out, _areas_with_weights, needs_label=True
    ),
)
#: Choices of the option `figure`.
FIGURES = tuple(record.name for record in RECORDS)
BY_NAME = {record.name: record for record in RECORDS}
