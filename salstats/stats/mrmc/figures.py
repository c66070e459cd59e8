"""What a reader's readings of a method come to, as records: a mean of scores, or an area under a ROC curve.

A cell is a reader with a method. Kernels give the figure of each cell, the same without each unit in turn, in
closed form, and with units drawn again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from salstats.stats.engine.roc import placements

#: Entries of a block of comparisons: a few MB.
_BLOCK = 1 << 19


@dataclass(frozen=True)
class Readings:
    """Readings of cases, a column for each reader with a method."""

    #: (n_cases, n_cells): NaN where there is none.
    scores: np.ndarray
    #: (n_cells,): Method and reader of each cell, from 0.
    methods: np.ndarray
    readers: np.ndarray
    #: (n_cases,): Unit of each case, from 0.
    units: np.ndarray
    #: (n_cases,): Whether a case is positive; all are where there is no truth.
    positive: np.ndarray

    @cached_property
    def read(self) -> np.ndarray:
        """Which readings there are, (n_cases, n_cells)."""
        return ~np.isnan(self.scores)

    @cached_property
    def won(self) -> np.ndarray:
        """Share of the cases of the other class that each case is on the right side of; 0 where not read."""
        found = np.zeros_like(self.scores)
        for cell, read in enumerate(self.read.T):
            found[read, cell] = placements(self.scores[read, cell], self.positive[read])
        return found

    def by_unit(self, values: np.ndarray) -> np.ndarray:
        """Sums of the cases' values (n_cases, n_cells) over each unit."""
        sums = np.zeros((int(self.units.max()) + 1, values.shape[1]))
        np.add.at(sums, self.units, values)
        return sums


@dataclass(frozen=True)
class Figure:
    """A figure of merit of the readings of one reader with one method."""

    #: What `figure=` takes, and its name in print.
    name: str
    label: str
    #: Figures of the cells, (n_cells,), and those without each unit, (n_units, n_cells).
    without: Callable[[Readings], tuple[np.ndarray, np.ndarray]]
    #: Figures with units weighted, (n_replicates, n_cells); takes weights (n_replicates, n_units).
    weighted: Callable[[Readings, np.ndarray], np.ndarray]
    #: Whether it needs the truth of each case.
    needs_label: bool = False


def _means_without(r: Readings) -> tuple[np.ndarray, np.ndarray]:
    sums, counts = r.by_unit(np.where(r.read, r.scores, 0.0)), r.by_unit(r.read.astype(np.float64))
    totals, sizes = sums.sum(axis=0), counts.sum(axis=0)
    return totals / sizes, (totals - sums) / (sizes - counts)


def _means_weighted(r: Readings, weights: np.ndarray) -> np.ndarray:
    sums, counts = r.by_unit(np.where(r.read, r.scores, 0.0)), r.by_unit(r.read.astype(np.float64))
    return np.asarray((weights @ sums) / (weights @ counts))


def _areas_without(r: Readings) -> tuple[np.ndarray, np.ndarray]:
    """Areas less the comparisons that a unit takes part in, as positives or negatives, each once."""
    won, positive, read = r.won, r.positive[:, None], r.read
    of_positives, of_negatives = (r.by_unit((read & which).astype(float)) for which in (positive, ~positive))
    n_positive, n_negative = of_positives.sum(axis=0), of_negatives.sum(axis=0)
    area = (won * positive).sum(axis=0) / n_positive
    lost = n_negative * r.by_unit(won * positive) + n_positive * r.by_unit(won * ~positive) - _won_within(r)
    left = (n_positive - of_positives) * (n_negative - of_negatives)
    return area, (area * n_positive * n_negative - lost) / left


def _won_within(r: Readings) -> np.ndarray:
    """Comparisons won by each unit's positives over its own negatives, (n_units, n_cells)."""
    found = np.zeros((int(r.units.max()) + 1, r.scores.shape[1]))
    mixed = np.intersect1d(r.units[r.positive], r.units[~r.positive])
    if len(mixed):
        cases = np.split(np.argsort(r.units, kind="stable"), np.cumsum(np.bincount(r.units))[:-1])
    for unit in mixed:
        found[unit] = sum(won.sum(axis=(0, 1)) for _, won in comparisons(r, cases[unit]))
    return found


def comparisons(r: Readings, cases: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of the comparisons of positives with negatives, (positives, negatives, n_cells), 0 if not read.

    1 where the positive has the larger score, one half where they are equal. Each block says which positives
    it is of.
    """
    scores, positive = (r.scores, r.positive) if cases is None else (r.scores[cases], r.positive[cases])
    above, below = scores[positive], scores[~positive]
    step = max(1, _BLOCK // max(below.size, 1))
    for start in range(0, len(above), step):
        rows = slice(start, start + step)
        won = 0.5 + 0.5 * np.sign(above[rows, None] - below[None])
        yield rows, np.nan_to_num(won, copy=False)


def _areas_weighted(r: Readings, weights: np.ndarray) -> np.ndarray:
    of_cases = weights[:, r.units]
    own, other = of_cases[:, r.positive], of_cases[:, ~r.positive]
    won = np.zeros((len(weights), r.scores.shape[1]))
    for rows, block in comparisons(r):
        won += np.einsum("bp,bpk->bk", own[:, rows], np.tensordot(other, block, (1, 1)))
    read = r.read.astype(np.float64)
    return np.asarray(won / ((own @ read[r.positive]) * (other @ read[~r.positive])))


RECORDS = (
    Figure("mean", "mean score", _means_without, _means_weighted),
    Figure("auc", "area under the ROC curve", _areas_without, _areas_weighted, needs_label=True),
)
#: What `figure=` takes.
FIGURES = tuple(record.name for record in RECORDS)
BY_NAME = {record.name: record for record in RECORDS}
