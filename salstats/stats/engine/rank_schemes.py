"""Schemes that rank methods: by mean or median scores, by their ranks on each case, or by pairwise tests.

The kernel of a scheme takes the scores of one group and returns a function, `WeightsToValues`, which computes
the values that are ranked from the units' weights, the numbers of times that units are drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from salstats.stats.engine.estimands import quiet_ratio
from salstats.stats.engine.quantile_limits import quantile_replicates
from salstats.stats.engine.result_warnings import ROUNDING

#: A function from weights (n_replicates, n_units) to the values that are ranked, (n_replicates, n_methods).
WeightsToValues = Callable[[np.ndarray], np.ndarray]


class ObservationMeans(NamedTuple):
    """Mean scores of the methods of one group on each observation."""

    #: (n_observations, n_methods): Mean scores, NaN where a method has none.
    means: np.ndarray
    #: (n_observations,): Unit of each observation, as a code.
    units: NDArray[np.integer]


class GroupScores(NamedTuple):
    """Defined scores of the methods of one group; arrays have the shape (n_rows,)."""

    #: Rows of the scores in the frame.
    rows: NDArray[np.integer]
    scores: np.ndarray
    #: Codes of the methods, from 0.
    methods: NDArray[np.integer]
    #: Codes of the units.
    units: NDArray[np.integer]
    #: Codes of the observations, such as cases, on which methods are compared.
    observations: NDArray[np.integer]
    n_methods: int
    #: 1 if larger scores are better, else -1.
    sign: int
    #: Significance level of tests.
    alpha: float

    def method_means_and_unit_of_each_observation(self) -> ObservationMeans:
        """Return the mean score of each method on each observation, and the unit of each observation."""
        _, first_rows, rows = np.unique(self.observations, return_index=True, return_inverse=True)
        shape = (len(first_rows), self.n_methods)
        cells = rows * self.n_methods + self.methods
        n_cells = shape[0] * shape[1]
        sums = np.bincount(cells, weights=self.scores, minlength=n_cells)
        counts = np.bincount(cells, minlength=n_cells)
        return ObservationMeans(quiet_ratio(sums, counts).reshape(shape), self.units[first_rows])


@dataclass(frozen=True)
class Scheme:
    """A way to rank methods."""

    #: The name that `scheme=` takes.
    name: str
    label: str
    #: Its description in a Methods section.
    note: str
    #: Makes the function that computes the values that are ranked; None for means, which the bootstrap of
    #: means gives.
    kernel: Callable[[GroupScores], WeightsToValues] | None = None
    #: Scores are first replaced by the methods' ranks on each observation.
    of_ranks: bool = False
    #: Methods are compared on the same observations.
    paired: bool = False

    def ranking_sign(self, metric_sign: int) -> int:
        """Return 1 if larger values rank first, else -1; `metric_sign` is 1 if larger scores are better."""
        if self.of_ranks:
            return -1
        if self.name == "test":
            # its values are shares of significant wins
            return 1
        return metric_sign


def ranks_of(values: np.ndarray, signs: np.ndarray, ties: str = "average") -> np.ndarray:
    """Return the ranks of methods in each replicate; values and ranks have shape (n_replicates, n_methods).

    `signs` (n_methods,) are 1 where larger values rank first, else -1.
    """
    scale = np.abs(values).max(axis=1, keepdims=True)
    # Sums in a different order may differ in their last bits; rounded to steps they are equal.
    steps = np.where(scale > 0, scale, 1.0) * ROUNDING
    rounded = np.rint(values / steps)
    # The options have checked that `ties` is a method of `rankdata`.
    method = cast(Literal["average", "min", "max", "dense", "ordinal"], ties)
    ranks: np.ndarray = stats.rankdata(-signs * rounded, method=method, axis=1)
    return ranks


def row_ranks_within_observations(group: GroupScores, ties: str) -> np.ndarray:
    """Rank methods on each observation by their mean scores; return each row's rank, shape (n_rows,)."""
    means = group.method_means_and_unit_of_each_observation().means
    ranks = ranks_of(means, np.full(group.n_methods, group.sign), ties)
    observation_rows = np.unique(group.observations, return_inverse=True)[1]
    return np.asarray(ranks[observation_rows, group.methods])


def make_median_function(group: GroupScores) -> WeightsToValues:
    """Make the function that computes the median score of each method."""
    method_rows = [group.methods == method for method in range(group.n_methods)]

    def median_scores(weights: np.ndarray) -> np.ndarray:
        """Return the medians (n_replicates, n_methods) of drawn units.

        `weights` (n_replicates, n_units) say how often each unit is drawn.
        """
        columns = [
            quantile_replicates(group.scores[rows], group.units[rows], weights, quantile=0.5)
            for rows in method_rows
        ]
        return np.column_stack(columns)

    return median_scores


def make_significant_win_share_function(group: GroupScores) -> WeightsToValues:
    """Make the function that computes for each method the share of others that are significantly worse.

    The tests are one-sided signed-rank tests of the units' means.
    """
    scores, observation_units = group.method_means_and_unit_of_each_observation()
    units, unit_rows = np.unique(observation_units, return_inverse=True)
    counts = np.bincount(unit_rows)[:, None]
    sums = np.stack([np.bincount(unit_rows, column) for column in group.sign * scores.T], axis=1)
    means = sums / counts
    rounding = ROUNDING * np.abs(means).max(initial=0.0)
    tests = []
    for first, second in combinations(range(group.n_methods), 2):
        differences = means[:, first] - means[:, second]
        differences = np.where(np.abs(differences) <= rounding, 0.0, differences)
        tests.append((first, second, make_signed_rank_test(differences)))

    def shares_of_methods_beaten_significantly(weights: np.ndarray) -> np.ndarray:
        """Return the shares (n_replicates, n_methods) for drawn units.

        `weights` (n_replicates, n_units) say how often each unit is drawn.
        """
        n_wins = np.zeros((len(weights), group.n_methods))
        for first, second, test in tests:
            p_greater, p_less = test(weights[:, units])
            n_wins[:, first] += p_greater <= group.alpha
            n_wins[:, second] += p_less <= group.alpha
        # a single method has no others to be better than: its share is 0, and its rank the first
        return n_wins / max(group.n_methods - 1, 1)

    return shares_of_methods_beaten_significantly


class OneSidedPValues(NamedTuple):
    """One-sided P values of Wilcoxon's signed-rank test of draws, shape (n_replicates,) each."""

    #: P values for differences greater than 0.
    greater: np.ndarray
    #: P values for differences less than 0.
    less: np.ndarray


#: A function from weights (n_replicates, n_differences), the numbers of times that differences are drawn, to
#: P values of each replicate.
WeightsToPValues = Callable[[np.ndarray], OneSidedPValues]


def make_signed_rank_test(differences: np.ndarray) -> WeightsToPValues:
    """Make the function that computes P values of Wilcoxon's signed-rank test of drawn differences.

    As R's wilcox.test(exact = FALSE): zeros are left out, ties have their mean rank and a correction of the
    variance, and the normal approximation has a continuity correction. NaN where all differences are 0.
    """
    nonzero = np.flatnonzero(differences != 0)
    ascending = nonzero[np.argsort(np.abs(differences[nonzero]), kind="stable")]
    sizes = np.abs(differences[ascending])
    is_positive = differences[ascending] > 0
    tie_starts = np.flatnonzero(np.diff(sizes, prepend=-1.0))

    def p_values(weights: np.ndarray) -> OneSidedPValues:
        """Return the P values of drawn differences.

        `weights` (n_replicates, n_differences) say how often each difference is drawn.
        """
        if not len(ascending):
            undefined = np.full(len(weights), np.nan)
            return OneSidedPValues(undefined, undefined)
        counts = weights[:, ascending]
        n_tied = np.add.reduceat(counts, tie_starts, axis=1)
        n_positive = np.add.reduceat(counts * is_positive, tie_starts, axis=1)
        mean_rank = np.cumsum(n_tied, axis=1) - (n_tied - 1) / 2
        n = n_tied.sum(axis=1)
        deviation = (mean_rank * n_positive).sum(axis=1) - n * (n + 1) / 4
        tie_correction = (n_tied**3 - n_tied).sum(axis=1) / 48
        std_error = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - tie_correction)
        with np.errstate(invalid="ignore", divide="ignore"):
            p_greater = special.ndtr(-(deviation - 0.5) / std_error)
            p_less = special.ndtr((deviation + 0.5) / std_error)
        return OneSidedPValues(p_greater, p_less)

    return p_values


_AS_IN_CHALLENGER = "as in challengeR (Wiesenfarth et al. 2021)"
RECORDS = {
    record.name: record
    for record in (
        Scheme("mean", "mean score", "Methods were ranked by their mean score."),
        Scheme(
            "median", "median score", "Methods were ranked by their median score.",
            kernel=make_median_function,
        ),
        Scheme(
            "mean-rank", "mean rank over the cases",
            f"Methods were ranked on each case, and then by the mean of these ranks, {_AS_IN_CHALLENGER}.",
            of_ranks=True, paired=True,
        ),
        Scheme(
            "median-rank", "median rank over the cases",
            f"Methods were ranked on each case, and then by the median of these ranks, {_AS_IN_CHALLENGER}.",
            kernel=make_median_function, of_ranks=True, paired=True,
        ),
        Scheme(
            "test", "number of methods significantly worse",
            "Methods were ranked by how many others they were better than in one-sided Wilcoxon signed-rank "
            f"tests, not adjusted, {_AS_IN_CHALLENGER}.",
            kernel=make_significant_win_share_function, paired=True,
        ),
    )
}  # fmt: skip
#: Names that `scheme=` takes.
SCHEMES = tuple(RECORDS)
#: Ways to rank ties that `ties=` takes, as names of `scipy.stats.rankdata`.
TIES = ("average", "min")


def kendall_tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute Kendall's tau-b between rankings; the last axis of both arrays is the methods.

    NaN where a ranking has all methods tied.
    """
    row, column = np.triu_indices(np.shape(first)[-1], k=1)
    x = np.sign(first[..., row] - first[..., column])
    y = np.sign(second[..., row] - second[..., column])
    n_untied_x = (x != 0).sum(axis=-1)
    n_untied_y = (y != 0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: np.ndarray = np.true_divide(
            (x * y).sum(axis=-1), np.sqrt(n_untied_x * n_untied_y.astype(np.float64))
        )
    return tau
