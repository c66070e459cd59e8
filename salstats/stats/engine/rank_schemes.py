"""What methods are ranked by: mean or median scores, their ranks on each case, or tests against the others.

A kernel takes the scores of one group and gives a function of the units' weights, of shape (n_replicates,
n_units): how often each is drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.estimands import ratio
from salstats.stats.engine.quantile_limits import replicates_of

#: From weights (n_replicates, n_units) to what is ranked, (n_replicates, n_methods).
Aggregate = Callable[[np.ndarray], np.ndarray]


class Scored(NamedTuple):
    """Defined scores of the methods of one group, a row each."""

    scores: np.ndarray  # (n_rows,)
    # methods, units, observations: (n_rows,), whose, of which unit, and of what: methods meet on the same
    # observation
    methods: np.ndarray
    units: np.ndarray
    observations: np.ndarray
    n_methods: int
    sign: int  # 1 where more is better, -1 where less is
    alpha: float  # level of tests

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean score of each observation (n_observations, n_methods), and the observations' units."""
        _, first, rows = np.unique(self.observations, return_index=True, return_inverse=True)
        place, shape = rows * self.n_methods + self.methods, (len(first), self.n_methods)
        sums, counts = (np.bincount(place, w, shape[0] * shape[1]) for w in (self.scores, None))
        return ratio(sums, counts).reshape(shape), self.units[first]


@dataclass(frozen=True)
class Scheme:
    """A way to rank methods."""

    #: What `scheme=` takes.
    name: str
    label: str
    #: What a Methods section says of it.
    note: str
    #: None for means, which the bootstrap of means gives.
    kernel: Callable[[Scored], Aggregate] | None = None
    #: Whether scores are replaced by the methods' ranks on each observation first.
    of_ranks: bool = False
    #: Whether it compares methods on the same observation.
    paired: bool = False

    def sign(self, of_metric: int) -> int:
        """1 where more of what is ranked is better, -1 where less is."""
        return -1 if self.of_ranks else 1 if self.name == "test" else of_metric


def ranks_of(means: np.ndarray, signs: np.ndarray, ties: str = "average") -> np.ndarray:
    """Rank of each method in each replicate, shape (n_replicates, n_methods)."""
    scale = np.abs(means).max(axis=1, keepdims=True)
    # sums in another order may differ in their last bits
    steps = np.where(scale > 0, scale, 1.0) * ROUNDING
    ranks: np.ndarray = stats.rankdata(-signs * np.rint(means / steps), method=ties, axis=1)
    return ranks


def ranks_within(data: Scored, ties: str) -> np.ndarray:
    """Rank of each row's method among those of its observation, by their mean scores there."""
    table, _ = data.table()
    ranked = ranks_of(table, np.full(data.n_methods, data.sign), ties)
    return ranked[np.unique(data.observations, return_inverse=True)[1], data.methods]


def medians(data: Scored) -> Aggregate:
    """Median score of each method."""
    rows = [data.methods == method for method in range(data.n_methods)]

    def of(weights: np.ndarray) -> np.ndarray:
        drawn = [replicates_of(data.scores[own], data.units[own], weights, 0.5) for own in rows]
        return np.column_stack(drawn)

    return of


def beaten(data: Scored) -> Aggregate:
    """Share of the others that each method is significantly better than, by one-sided signed-rank tests."""
    table, units = data.table()
    present, which = np.unique(units, return_inverse=True)
    counts = np.bincount(which)[:, None]
    sums = np.stack([np.bincount(which, column) for column in data.sign * table.T], axis=1)
    means = sums / counts
    least = ROUNDING * np.abs(means).max(initial=0.0)
    tests = []
    for one, other in combinations(range(data.n_methods), 2):
        gap = means[:, one] - means[:, other]
        tests.append((one, other, signed_rank_test(np.where(np.abs(gap) <= least, 0.0, gap))))

    def of(weights: np.ndarray) -> np.ndarray:
        won = np.zeros((len(weights), data.n_methods))
        for one, other, test in tests:
            greater, less = test(weights[:, present])
            won[:, one] += greater <= data.alpha
            won[:, other] += less <= data.alpha
        return won / (data.n_methods - 1)

    return of


def signed_rank_test(differences: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """One-sided P values of Wilcoxon's signed-rank test, greater and less, of differences as they are drawn.

    As R's wilcox.test(exact = FALSE): zeros are left out, ties have their mean rank and their correction of
    the variance, and the normal approximation has a correction of continuity. NaN where nothing differs.
    """
    used = np.flatnonzero(differences != 0)
    size, positive = np.abs(differences[used]), differences[used] > 0
    order = np.argsort(size, kind="stable")
    starts = np.flatnonzero(np.diff(size[order], prepend=-1.0))

    def of(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        drawn = weights[:, used[order]]
        if not len(order):
            unknown = np.full(len(weights), np.nan)
            return unknown, unknown
        tied = np.add.reduceat(drawn, starts, axis=1)
        above = np.add.reduceat(drawn * positive[order], starts, axis=1)
        rank = np.cumsum(tied, axis=1) - (tied - 1) / 2
        n = tied.sum(axis=1)
        off = (rank * above).sum(axis=1) - n * (n + 1) / 4
        spread = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (tied**3 - tied).sum(axis=1) / 48)
        with np.errstate(invalid="ignore", divide="ignore"):
            return special.ndtr(-(off - 0.5) / spread), special.ndtr((off + 0.5) / spread)

    return of


_AFTER = "as in challengeR (Wiesenfarth et al. 2021)"
RECORDS = {
    record.name: record
    for record in (
        Scheme("mean", "mean score", "Methods were ranked by their mean score."),
        Scheme("median", "median score", "Methods were ranked by their median score.", medians),
        Scheme(
            "mean-rank", "mean rank over the cases",
            f"Methods were ranked on each case, and then by the mean of these ranks, {_AFTER}.",
            of_ranks=True, paired=True,
        ),
        Scheme(
            "median-rank", "median rank over the cases",
            f"Methods were ranked on each case, and then by the median of these ranks, {_AFTER}.",
            medians, of_ranks=True, paired=True,
        ),
        Scheme(
            "test", "number of methods significantly worse",
            "Methods were ranked by how many others they were better than in one-sided Wilcoxon signed-rank "
            f"tests, not adjusted, {_AFTER}.",
            beaten, paired=True,
        ),
    )
}  # fmt: skip
SCHEMES, TIES = tuple(RECORDS), ("average", "min")


def kendall_tau(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Kendall's tau-b between rankings, the last axis the methods'; NaN where one ranks all as equal."""
    a, b = np.triu_indices(np.shape(one)[-1], k=1)
    x, y = (np.sign(r[..., a] - r[..., b]) for r in (one, other))
    untied = np.sqrt((x != 0).sum(axis=-1) * (y != 0).sum(axis=-1).astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: np.ndarray = np.true_divide((x * y).sum(axis=-1), untied)
    return tau
