"""Curves of power: sizes of a study and its power at each, by simulation or by formula."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from salstats.checks import ValueRangeError
from salstats.stats.engine.limits import wilson
from salstats.stats.planning import formulas
from salstats.stats.planning.populations import Draw
from salstats.stats.planning.studies import Plan, simulate

#: Sizes that are planned for unless told, in those that a formula says are enough.
_LADDER = (0.4, 0.6, 0.75, 0.9, 1.0, 1.15, 1.4, 1.8)
#: Fewest units of a study, and level of the interval of a simulated power.
_LEAST, _CONF_LEVEL = 2, 0.95


@dataclass(frozen=True)
class Curve:
    """Studies of one effect and of any size."""

    keys: Mapping[str, Any]  # columns that name it: groups, effect, readers
    plan: Plan  # what studies are to show
    tested: float  # the effect that is tested: of a decrease that is to differ from 0 the difference
    # precision, of_tested: by number of units, of the estimate and of what is tested
    precision: Callable[[Any], formulas.Precision]
    of_tested: Callable[[Any], formulas.Precision]
    bounds: tuple[float, float] | None = None  # of the margin
    cases_per_unit: float = 1.0  # cases that a unit has on average
    metric: str = ""  # what the scores are
    # limits of the standard error over itself: the pilot's spread is uncertain; None where it is given
    error_limits: tuple[float, float] | None = None
    few: bool = False  # whether the spread rests on few units
    # studies by number of units, for simulation
    draw: Callable[[int], Draw] | None = field(default=None, repr=False)

    def power(self, n_units: int, error_ratio: float = 1.0) -> float:
        """Power by formula, of a standard error that is so many times the one expected."""
        precision = self.of_tested(n_units)
        precision = precision._replace(std_error=error_ratio * precision.std_error)
        return float(self.plan.power(precision, self.tested, self.bounds))

    def enough(self, target: float, error_ratio: float = 1.0) -> int | None:
        """Units at which power reaches the target by formula."""
        if self.plan.goal == "difference" and self.tested == 0:
            return None
        return formulas.fewest(partial(self.power, error_ratio=error_ratio), target, _LEAST)

    def needed_limits(self, target: float, ratio: float = 1.0) -> dict[str, int | None]:
        """Columns of the limits of the cases that are needed, from those of the pilot's spread.

        They are by formula; `ratio` is how many times those by formula studies need as simulated.
        """
        if self.error_limits is None:
            return {}
        columns: dict[str, int | None] = {}
        for name, error_ratio in zip(("n_low", "n_high"), self.error_limits, strict=True):
            limit = self.enough(target, error_ratio)
            columns[name] = None if limit is None else self.cases(math.ceil(ratio * limit - 1e-9))
        return columns

    def cases(self, n_units: int | None) -> int | None:
        """Cases of so many units."""
        return None if n_units is None else int(np.ceil(n_units * self.cases_per_unit - 1e-9))

    def sizes(self, n_cases: Iterable[int] | None, target: float) -> list[tuple[int, int]]:
        """Cases and units to plan for: those asked for, or some around what a formula says is enough."""
        if n_cases is not None:
            sizes = [(n, round(n / self.cases_per_unit)) for n in n_cases]
            if sizes[0][1] < _LEAST:
                raise ValueRangeError(
                    f"n_cases={sizes[0][0]} make fewer than {_LEAST} units, which tell nothing of others; "
                    f"give n_cases={self.cases(_LEAST)} or more"
                )
            return sizes
        enough = self.enough(target)
        if enough is None:
            raise ValueRangeError(
                f"no number of cases reaches target={target:g} here, so there is none to plan around; give "
                "n_cases=, or another effect, margin, width or more readers"
            )
        units = sorted({max(_LEAST, round(enough * share)) for share in _LADDER})
        return [(self.cases(n) or n, n) for n in units]


@dataclass(frozen=True)
class Simulation:
    """How studies are simulated."""

    n_studies: int
    jobs: int | None
    progress: bool


def rows_by_formula(curve: Curve, sizes: Sequence[tuple[int, int]], target: float) -> list[dict[str, Any]]:
    """Rows of a curve, by formula."""
    units = np.array([n for _, n in sizes])
    power = curve.plan.power(curve.of_tested(units), curve.tested, curve.bounds)
    width = formulas.mean_width(curve.precision(units), curve.plan.level)
    needed = {"n_needed": curve.cases(curve.enough(target)), **curve.needed_limits(target)}
    return [
        {**curve.keys, "n_cases": n, "n_units": u, "power": p, "width": w, **needed}
        for (n, u), p, w in zip(sizes, power, width, strict=True)
    ]


def rows_by_simulation(
    curve: Curve, sizes: Sequence[tuple[int, int]], target: float, how: Simulation
) -> list[dict[str, Any]]:
    """Rows of a curve, from simulated studies."""
    assert curve.draw is not None
    draws = {n: curve.draw(n) for n in dict.fromkeys(n for _, n in sizes)}
    counted = simulate(draws, curve.plan, curve.metric, how.n_studies, jobs=how.jobs, progress=how.progress)
    units = np.array([n for _, n in sizes])
    shown = np.array([counted[n].n_shown for n in units])
    power = shown / how.n_studies
    low, high = wilson(power, np.full(len(power), how.n_studies), _CONF_LEVEL)
    enough = crossing(units, shown, how.n_studies, target)
    by_formula = curve.enough(target)
    ratio = 1.0
    if enough is not None and by_formula is not None and enough > units[0]:
        ratio = enough / by_formula
    needed = {"n_needed": curve.cases(enough), **curve.needed_limits(target, ratio)}
    return [
        {
            **curve.keys,
            "n_cases": n,
            "n_units": u,
            "power": power[i],
            "mc_error": np.sqrt(power[i] * (1 - power[i]) / how.n_studies),
            "conf_low": low[i],
            "conf_high": high[i],
            "conf_level": _CONF_LEVEL,
            "width": counted[u].width,
            "n_pairs": counted[u].n_pairs,
            **needed,
            "interval": counted[u].interval,
            "test": counted[u].test,
        }
        for i, (n, u) in enumerate(sizes)
    ]


def crossing(units: np.ndarray, shown: np.ndarray, n_studies: int, target: float) -> int | None:
    """Units at which power reaches the target, between two of those simulated; None where none is beyond it.

    In between the normal quantile of the power is a line in the root of the units, as that of a z test is.
    Where the smallest size reaches the target already, it is that.
    """
    reached = np.flatnonzero(shown >= target * n_studies)
    if not len(reached):
        return None
    after = int(reached[0])
    if after == 0:
        return int(units[0])
    # as many as half a study more or less, so that none and all have a quantile
    z = special.ndtri((shown + 0.5) / (n_studies + 1))
    roots, at = np.sqrt(units.astype(np.float64)), special.ndtri(target)
    share = np.clip((at - z[after - 1]) / (z[after] - z[after - 1]), 0, 1)
    return int(np.ceil((roots[after - 1] + share * (roots[after] - roots[after - 1])) ** 2 - 1e-9))
