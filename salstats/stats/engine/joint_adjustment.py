"""Adjustment of P values and levels for a family of tests by sign flips or replicates that its rows share."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from salstats.stats.engine.sign_tails import sign_p_values

#: A P value counted from fewer draws as far as the data, whose error is above a tenth of it, is counted over
#: all patterns of signs instead.
_FEW_EXTREME_DRAWS = 100
#: Statistics, in standard errors, that differ by less are equal.
_EQUALITY_TOLERANCE = 1e-9


class PValuesWithFloors(NamedTuple):
    """P values counted from draws, shape (n_rows,) each."""

    #: Two-sided P values, NaN where undefined.
    p_value: np.ndarray
    #: Smallest P values that the draws allow, NaN for P values that are not counted from draws.
    p_floor: np.ndarray


class NullDraws(NamedTuple):
    """Distances from the null hypothesis, in standard errors, of the data and of each flip or replicate."""

    #: (n_rows,): Distances of the data.
    observed: np.ndarray
    #: (n_draws, n_rows): Distances of the draws, which are sign flips or replicates.
    draws: np.ndarray
    #: Weight of a draw exactly as far as the data: 1, or 0.5 for a mid-P value.
    tie_weight: float = 1.0
    #: The draws are all patterns of signs, including the pattern of the data.
    complete: bool = False
    #: (n_units, n_rows): Units' shares of the statistic, whose signs are flipped; None for replicates.
    unit_shares: np.ndarray | None = None

    @classmethod
    def from_statistics(
        cls,
        observed: np.ndarray,
        draws: np.ndarray,
        std_error: np.ndarray,
        std_error_rounding: np.ndarray,
        tie_weight: float = 1.0,
        *,
        complete: bool = False,
        unit_shares: np.ndarray | None = None,
    ) -> "NullDraws":
        """Divide statistics by their standard errors; all are 0 where one is only `std_error_rounding`."""
        divisor = np.where(std_error <= std_error_rounding, np.inf, std_error)
        return cls(np.abs(observed) / divisor, np.abs(draws) / divisor, tie_weight, complete, unit_shares)

    @property
    def n_added_for_data(self) -> int:
        """Number of patterns to add to the draws for the data: 0 where these are one of the draws, else 1."""
        return 0 if self.complete else 1

    @property
    def p_floor(self) -> float:
        """Smallest possible P value, NaN where the draws are all patterns and the P value is exact."""
        if self.complete:
            return np.nan
        return self.tie_weight / (len(self.draws) + 1)

    def p_values(self) -> np.ndarray:
        """Compute each row's share of draws at least as far as the data, shape (n_rows,)."""
        distance = self.draws - self.observed
        n_further = (distance > _EQUALITY_TOLERANCE).sum(axis=0)
        n_equal = (np.abs(distance) <= _EQUALITY_TOLERANCE).sum(axis=0)
        n_as_far = n_further + self.tie_weight * (n_equal + self.n_added_for_data)
        p = n_as_far / (len(distance) + self.n_added_for_data)
        # Draws that all equal the data are no evidence against the hypothesis.
        p = np.where(n_equal == len(distance), 1.0, p)
        return np.where(np.isnan(self.observed), np.nan, p)

    def with_exact_small_p_values(
        self, p_value: np.ndarray, p_floor: np.ndarray, alpha_not_to_cross: np.ndarray
    ) -> PValuesWithFloors:
        """Replace small P values by those of all patterns of signs, which have no floor.

        Nothing is replaced if the draws are replicates, or all patterns already. A P value is not replaced if
        that moves it to the other side of `alpha_not_to_cross`, 1 minus the level of the row's limits, as
        these are made from draws.
        """
        if self.unit_shares is None or self.complete:
            return PValuesWithFloors(p_value, p_floor)
        is_small = p_value < _FEW_EXTREME_DRAWS / (len(self.draws) + 1)
        rows = np.flatnonzero(is_small & ~np.isnan(p_floor))
        exact = sign_p_values(self.unit_shares[:, rows], self.tie_weight)
        same_side = (exact <= alpha_not_to_cross[rows]) == (p_value[rows] <= alpha_not_to_cross[rows])
        p_value = p_value.copy()
        p_floor = p_floor.copy()
        p_value[rows[same_side]] = exact[same_side]
        p_floor[rows[same_side]] = np.nan
        return PValuesWithFloors(p_value, p_floor)

    def select_rows(self, rows: np.ndarray) -> "NullDraws":
        """Select rows."""
        unit_shares = None
        if self.unit_shares is not None:
            unit_shares = self.unit_shares[:, rows]
        return self._replace(observed=self.observed[rows], draws=self.draws[:, rows], unit_shares=unit_shares)

    def with_distances_as_midrank_shares(self) -> "NullDraws":
        """Replace distances by their mid-ranks, as shares, among those of the row's draws and data."""
        # distances in steps, so that distances that differ by rounding are equal
        observed = np.round(self.observed / _EQUALITY_TOLERANCE)
        draws = np.round(self.draws / _EQUALITY_TOLERANCE)
        # (n_patterns, n_rows): distances of the draws and of the data
        distances = draws
        if not self.complete:
            distances = np.vstack([draws, observed])
        n_less = (distances < observed).sum(axis=0)
        n_equal = (distances == observed).sum(axis=0)
        observed_share = (n_less + n_equal / 2) / len(distances)
        shares = (stats.rankdata(distances, axis=0) - 0.5) / len(distances)
        return self._replace(observed=observed_share, draws=shares[: len(draws)])


def step_down_max_t(family: NullDraws) -> np.ndarray:
    """Adjust P values for a family of all rows by step-down max-t, shape (n_rows,).

    With rows in the order of descending statistics, a row's adjusted P value is the share of draws in which
    the largest statistic of this and all later rows is at least the row's. It is raised to the adjusted P
    value of the row before if that is larger.

    Westfall PH, Young SS. Resampling-Based Multiple Testing. Wiley 1993. Romano JP, Wolf M. Stepwise multiple
    testing as formalized data snooping. Econometrica 2005;73:1237-1282.
    doi:10.1111/j.1468-0262.2005.00615.x
    """
    order = np.argsort(-family.observed, kind="stable")
    sorted_rows = family.select_rows(order)
    largest_from_row_on = np.maximum.accumulate(sorted_rows.draws[:, ::-1], axis=1)[:, ::-1]
    p_values = sorted_rows._replace(draws=largest_from_row_on).p_values()
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(p_values)
    return adjusted


def step_down_min_p(family: NullDraws) -> np.ndarray:
    """Adjust P values by step-down min-p of Westfall and Young, shape (n_rows,): the smallest P value first.

    Unlike max-t it gives all rows the same weight where their statistics have different distributions, as
    with a few large units.

    Ge Y, Dudoit S, Speed TP. Resampling-based multiple testing for microarray data analysis. Test 2003.
    doi:10.1007/BF02595811
    """
    return step_down_max_t(family.with_distances_as_midrank_shares())


def single_step_min_p(family: NullDraws, p_value: np.ndarray) -> np.ndarray:
    """Adjust P values for the family in a single step, shape (n_rows,), consistently with `joint_level`.

    An adjusted P value is the share of draws whose smallest P value of all rows is at most the row's
    `p_value`, or Bonferroni's if that is smaller. It is at most 1 - level if and only if `p_value` is at most
    1 - `joint_level`.

    Westfall PH, Young SS. Resampling-Based Multiple Testing. Wiley 1993.
    """
    smallest = ascending_smallest_p_values(family)
    n_at_most = np.searchsorted(smallest, p_value + _rounding_tolerance_of_p_values(family), side="left")
    adjusted = (n_at_most + family.n_added_for_data) / (len(smallest) + family.n_added_for_data)
    bonferroni = len(family.observed) * p_value
    bounded: np.ndarray = np.maximum(np.minimum(adjusted, bonferroni), p_value)
    return bounded


def joint_level(family: NullDraws, level: float) -> float:
    """Return the level of each row's limits at which the limits of all rows hold jointly at `level`.

    Single-step and balanced (Beran 1988): 1 minus the largest alpha such that at most a share 1 - `level` of
    the draws have a smallest P value, of all rows, up to alpha; Bonferroni's level where that is lower.

    Beran R. Balanced simultaneous confidence sets. J Am Stat Assoc 1988;83:679-686.
    doi:10.1080/01621459.1988.10478649
    """
    smallest = ascending_smallest_p_values(family)
    alpha = 1 - level
    # number of draws, including the data; the tolerance keeps rounding from losing one
    n_patterns = len(smallest) + family.n_added_for_data
    n_allowed = int(alpha * n_patterns + _EQUALITY_TOLERANCE) - family.n_added_for_data
    row_alpha = 0.0
    if n_allowed >= 0:
        row_alpha = smallest[n_allowed] - _rounding_tolerance_of_p_values(family)
    bonferroni = alpha / len(family.observed)
    return 1 - float(np.clip(row_alpha, bonferroni, alpha))


def ascending_smallest_p_values(family: NullDraws) -> np.ndarray:
    """Return the smallest P value of each draw among all rows, in ascending order, shape (n_draws,)."""
    return np.sort(1 - family.with_distances_as_midrank_shares().draws.max(axis=1))


def _rounding_tolerance_of_p_values(family: NullDraws) -> float:
    """Return an eighth of the distance between adjacent P values, which rounding errors do not exceed."""
    return 0.125 / (len(family.draws) + 1)
