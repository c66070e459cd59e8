"""One family of tests, from flips or replicates that all of its rows share: step-down, or with limits."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from salstats.stats.engine.sign_tails import sign_p_values

#: P values that fewer flips are behind, whose error is more than a tenth, are counted over all patterns.
_FEW_FLIPS = 100
#: Statistics, which are standard errors away from 0, that differ by less are equal.
_EQUAL = 1e-9


class Drawn(NamedTuple):
    """How far from the hypothesis the data lie, and each flip or replicate, in standard errors.

    `observed` (n_rows,) and `drawn` (n_drawn, n_rows); of a draw as far as the data the share `ties` counts.
    Where all patterns of signs are there (`complete`) the data are one of them, else they are one more. Where
    draws are flips of signs, `parts` (n_units, n_rows) are the units' shares of the statistic, which are
    flipped.
    """

    observed: np.ndarray
    drawn: np.ndarray
    ties: float = 1.0
    complete: bool = False
    parts: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        observed: np.ndarray,
        drawn: np.ndarray,
        std_error: np.ndarray,
        rounding: np.ndarray,
        ties: float = 1.0,
        *,
        complete: bool = False,
        parts: np.ndarray | None = None,
    ) -> "Drawn":
        """Distances in standard errors; where these are but `rounding` nothing is far from anything."""
        unit = np.where(std_error <= rounding, np.inf, std_error)
        return cls(np.abs(observed) / unit, np.abs(drawn) / unit, ties, complete, parts)

    @property
    def floor(self) -> float:
        """Smallest P value that draws allow, NaN where all are there and P is exact."""
        return np.nan if self.complete else self.ties / (len(self.drawn) + 1)

    def p_values(self) -> np.ndarray:
        """Share of draws at least as far as the data in each row."""
        distance = self.drawn - self.observed
        beyond, equal = (distance > _EQUAL).sum(axis=0), (np.abs(distance) <= _EQUAL).sum(axis=0)
        more = 0 if self.complete else 1
        p = (beyond + self.ties * (equal + more)) / (len(distance) + more)
        # where no draw differs from the data nothing speaks against the hypothesis
        p = np.where(equal == len(distance), 1.0, p)
        return np.where(np.isnan(self.observed), np.nan, p)

    def refined(
        self, p_value: np.ndarray, floor: np.ndarray, alpha: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """P values of which small ones are counted over every pattern of signs, and the floors of the others.

        `floor` is NaN where a P value is not counted from draws. The limits of a row are made from draws: no
        P value moves to the other side of its `alpha`, 1 less the level of these.
        """
        if self.parts is None or self.complete:
            return p_value, floor
        few = p_value < _FEW_FLIPS / (len(self.drawn) + 1)
        small = np.flatnonzero(few & ~np.isnan(floor))
        exact = sign_p_values(self.parts[:, small], self.ties)
        same_side = (exact <= alpha[small]) == (p_value[small] <= alpha[small])
        p_value = p_value.copy()
        floor = floor.copy()
        p_value[small[same_side]] = exact[same_side]
        floor[small[same_side]] = np.nan
        return p_value, floor

    def rows(self, rows: np.ndarray) -> "Drawn":
        """Those of some rows."""
        parts = None if self.parts is None else self.parts[:, rows]
        return self._replace(observed=self.observed[rows], drawn=self.drawn[:, rows], parts=parts)

    def balanced(self) -> "Drawn":
        """Each row on the scale of its own draws, the data being one: the share that lie less far."""
        observed, drawn = np.round(self.observed / _EQUAL), np.round(self.drawn / _EQUAL)
        every = drawn if self.complete else np.vstack([drawn, observed])
        shares = (stats.rankdata(every, axis=0) - 0.5) / len(every)
        own = ((every < observed).sum(axis=0) + (every == observed).sum(axis=0) / 2) / len(every)
        return self._replace(observed=own, drawn=shares[: len(drawn)])


def step_down(family: Drawn) -> np.ndarray:
    """P values (n_rows,) adjusted for the family that all rows are, the largest statistic first: max-t.

    Of the hypotheses from a row on down, the share of draws whose largest statistic is at least the row's,
    and no less than the P value of the row before.

    Westfall PH, Young SS. Resampling-Based Multiple Testing. Wiley 1993. Romano JP, Wolf M. Stepwise multiple
    testing as formalized data snooping. Econometrica 2005;73:1237-1282.
    doi:10.1111/j.1468-0262.2005.00615.x
    """
    order = np.argsort(-family.observed, kind="stable")
    sorted_rows = family.rows(order)
    largest = np.maximum.accumulate(sorted_rows.drawn[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(sorted_rows._replace(drawn=largest).p_values())
    return adjusted


def step_down_min_p(family: Drawn) -> np.ndarray:
    """P values as of `step_down`, the smallest P value first: the min-p of Westfall and Young.

    Where rows' draws reach differently far, as with a few large units, max-t lets those that reach furthest
    decide for all.

    Ge Y, Dudoit S, Speed TP. Resampling-based multiple testing for microarray data analysis. Test 2003.
    doi:10.1007/BF02595811
    """
    return step_down(family.balanced())


def single_step(family: Drawn, p_value: np.ndarray) -> np.ndarray:
    """P values (n_rows,) adjusted for the family, which agree with limits at `joint_level`.

    The share of draws whose smallest P value, of all rows, is at most the row's, and no more than
    Bonferroni's. One is at most 1 - level where the row's `p_value` is at most 1 - `joint_level`, and only
    there.

    Westfall PH, Young SS. Resampling-Based Multiple Testing. Wiley 1993.
    """
    smallest = smallest_p_values(family)
    n_smaller = np.searchsorted(smallest, p_value + _between(family), side="left")
    more = 0 if family.complete else 1
    adjusted = (n_smaller + more) / (len(smallest) + more)
    adjusted = np.minimum(adjusted, len(family.observed) * p_value)
    return np.maximum(adjusted, p_value)


def joint_level(family: Drawn, level: float) -> float:
    """Level at which each row's own limits are made so that all of them hold together at `level`.

    Single-step and balanced (Beran 1988): 1 less the largest P value that, as the smallest of the rows', no
    more than 1 - level of the draws have; Bonferroni's level where that is lower.

    Beran R. Balanced simultaneous confidence sets. J Am Stat Assoc 1988;83:679-686.
    doi:10.1080/01621459.1988.10478649
    """
    smallest = smallest_p_values(family)
    alpha = 1 - level
    more = 0 if family.complete else 1
    n_allowed = int(alpha * (len(smallest) + more) + _EQUAL) - more
    largest = 0.0
    if n_allowed >= 0:
        largest = smallest[n_allowed] - _between(family)
    bonferroni = alpha / len(family.observed)
    return 1 - float(np.clip(largest, bonferroni, alpha))


def smallest_p_values(family: Drawn) -> np.ndarray:
    """Smallest P value of each draw among all rows, sorted upwards."""
    return np.sort(1 - family.balanced().drawn.max(axis=1))


def _between(family: Drawn) -> float:
    """Part of the distance between two P values of draws: a value that lies between any two of them."""
    return 0.125 / (len(family.drawn) + 1)
