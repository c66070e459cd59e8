"""Curves of power: sizes of a study and its power at each, by simulation or by formula."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from salstats.errors import Message, Setting, ValueRangeError
from salstats.stats.engine.limits import wilson
from salstats.stats.planning import formulas
from salstats.stats.planning.populations import StudySampler
from salstats.stats.planning.studies import Plan, simulate_studies

#: Default sizes, in multiples of the size that is enough by formula.
_SIZE_MULTIPLES = (0.4, 0.6, 0.75, 0.9, 1.0, 1.15, 1.4, 1.8)
#: Fewest units of a study.
_FEWEST_UNITS = 2
#: Level of the interval of a simulated power.
_CONF_LEVEL = 0.95
#: Tolerance before rounding up, so that rounding errors do not add a case.
_ROUNDING = 1e-9


class StudySize(NamedTuple):
    """Numbers of cases and of units of a planned study."""

    n_cases: int
    n_units: int


@dataclass(frozen=True)
class Curve:
    """Planned studies of one effect and of any size."""

    #: Columns that are the same for all sizes: groups, effect, readers, ...
    keys: Mapping[str, Any]
    plan: Plan
    #: Effect that is tested; the difference of the means where a percentage decrease is to differ from 0.
    tested_effect: float
    #: Precision of the estimate, as a function of the number of units.
    precision: Callable[[Any], formulas.Precision]
    #: Precision of the tested effect, as a function of the number of units.
    tested_precision: Callable[[Any], formulas.Precision]
    #: Mean number of cases of a unit.
    cases_per_unit: float
    #: Lower and upper bound of the margin.
    margin_bounds: tuple[float, float] | None = None
    metric: str = ""
    #: Confidence limits of the standard error as ratios to itself, since a pilot's spread is uncertain; None
    #: for a given spread.
    error_limit_ratios: tuple[float, float] | None = None
    #: True if the spread rests on few units.
    has_few_units: bool = False
    #: Sampler of studies as a function of the number of units, for simulation.
    sampler: Callable[[int], StudySampler] | None = field(default=None, repr=False)

    def power(self, n_units: int, error_ratio: float = 1.0) -> float:
        """Return the power by formula if the standard error is `error_ratio` times the expected one."""
        precision = self.tested_precision(n_units)
        precision = precision._replace(std_error=error_ratio * precision.std_error)
        return float(self.plan.power(precision, self.tested_effect, self.margin_bounds))

    def units_needed(self, target: float, error_ratio: float = 1.0) -> int | None:
        """Return the smallest number of units whose power reaches the target by formula, or None."""
        if self.plan.goal == "difference" and self.tested_effect == 0:
            return None
        return formulas.smallest_size_reaching_power(
            partial(self.power, error_ratio=error_ratio), target, _FEWEST_UNITS
        )

    def limits_of_cases_needed(
        self, target: float, ratio_of_simulated_to_formula_size: float = 1.0
    ) -> dict[str, int | None]:
        """Return the columns `n_low` and `n_high`, limits of the number of cases needed.

        They are the sizes needed by formula at the limits of the pilot's spread, times
        `ratio_of_simulated_to_formula_size`, the size needed by simulation over the size needed by formula.
        """
        if self.error_limit_ratios is None:
            return {}
        columns: dict[str, int | None] = {}
        for name, error_ratio in zip(("n_low", "n_high"), self.error_limit_ratios, strict=True):
            n_units = self.units_needed(target, error_ratio)
            if n_units is not None:
                n_units = math.ceil(ratio_of_simulated_to_formula_size * n_units - _ROUNDING)
            columns[name] = self.cases_in_units_or_none(n_units)
        return columns

    def cases_in_units_or_none(self, n_units: int | None) -> int | None:
        """Return the number of cases in `n_units` units, None for None."""
        if n_units is None:
            return None
        return self._cases_in_units(n_units)

    def _cases_in_units(self, n_units: int) -> int:
        """Return the number of cases in `n_units` units, rounded up."""
        return int(np.ceil(n_units * self.cases_per_unit - _ROUNDING))

    def given_sizes_or_several_around_needed(
        self, n_cases: Iterable[int] | None, target: float
    ) -> list[StudySize]:
        """Return the sizes to plan for: those of `n_cases`, or some around the size needed by formula."""
        if n_cases is not None:
            sizes = [StudySize(n, n_units=round(n / self.cases_per_unit)) for n in n_cases]
            if sizes[0].n_units < _FEWEST_UNITS:
                raise ValueRangeError(
                    Setting("n_cases", sizes[0].n_cases),
                    f" make fewer than {_FEWEST_UNITS} units, which say nothing about others",
                    hint=Message(
                        "give ", Setting("n_cases", self._cases_in_units(_FEWEST_UNITS)), " or more"
                    ),
                )
            return sizes
        n_needed = self.units_needed(target)
        if n_needed is None:
            raise ValueRangeError(
                "no number of cases reaches ",
                Setting("target", target),
                " here, so there is none to plan around",
                hint=Message(
                    "give ", Setting("n_cases"), ", or another effect, margin, width or more readers"
                ),
            )
        unit_numbers = {max(_FEWEST_UNITS, round(n_needed * multiple)) for multiple in _SIZE_MULTIPLES}
        return [StudySize(n_cases=self._cases_in_units(n), n_units=n) for n in sorted(unit_numbers)]


@dataclass(frozen=True)
class SimulationOptions:
    """Options of simulated studies."""

    n_studies: int
    jobs: int | None
    progress: bool


def rows_with_n_needed_by_formula(
    curve: Curve, sizes: Sequence[StudySize], target: float
) -> list[dict[str, Any]]:
    """Return a row for each size: power and width, and the cases needed for the target, by formula."""
    n_units = np.array([size.n_units for size in sizes])
    power = curve.plan.power(curve.tested_precision(n_units), curve.tested_effect, curve.margin_bounds)
    width = formulas.mean_interval_width(curve.precision(n_units), curve.plan.level)
    needed_columns = {"n_needed": curve.cases_in_units_or_none(curve.units_needed(target))}
    needed_columns |= curve.limits_of_cases_needed(target)
    rows = []
    for i, size in enumerate(sizes):
        row = {
            **curve.keys,
            "n_cases": size.n_cases,
            "n_units": size.n_units,
            "power": power[i],
            "width": width[i],
            **needed_columns,
        }
        rows.append(row)
    return rows


def rows_by_simulation(
    curve: Curve, sizes: Sequence[StudySize], target: float, simulation: SimulationOptions
) -> list[dict[str, Any]]:
    """Return a row for each size: power and width, and the cases needed for the target, by simulation.

    The limits of the cases needed are those of the formula, times the ratio of both sizes needed; `conf_low`
    and `conf_high` are limits of the power.
    """
    assert curve.sampler is not None
    n_studies = simulation.n_studies
    n_units = np.array([size.n_units for size in sizes])
    samplers = {size.n_units: curve.sampler(size.n_units) for size in sizes}
    counts = simulate_studies(
        samplers, curve.plan, curve.metric, n_studies, jobs=simulation.jobs, progress=simulation.progress
    )
    n_reaching_goal = np.array([counts[size.n_units].n_reaching_goal for size in sizes])
    power = n_reaching_goal / n_studies
    low, high = wilson(power, np.full(len(power), n_studies), _CONF_LEVEL)
    units_needed = units_at_target_power(n_units, n_reaching_goal, n_studies, target)
    units_by_formula = curve.units_needed(target)
    ratio_of_simulated_to_formula_size = 1.0
    # At the smallest size the number needed is only known to be no larger.
    if units_needed is not None and units_by_formula is not None and units_needed > n_units[0]:
        ratio_of_simulated_to_formula_size = units_needed / units_by_formula
    needed_columns = {"n_needed": curve.cases_in_units_or_none(units_needed)}
    needed_columns |= curve.limits_of_cases_needed(target, ratio_of_simulated_to_formula_size)
    rows = []
    for i, size in enumerate(sizes):
        size_counts = counts[size.n_units]
        row = {
            **curve.keys,
            "n_cases": size.n_cases,
            "n_units": size.n_units,
            "power": power[i],
            "mc_error": np.sqrt(power[i] * (1 - power[i]) / n_studies),
            "conf_low": low[i],
            "conf_high": high[i],
            "conf_level": _CONF_LEVEL,
            "width": size_counts.width,
            "n_pairs": size_counts.n_pairs,
            **needed_columns,
            "interval": size_counts.interval,
            "test": size_counts.test,
        }
        rows.append(row)
    return rows


def units_at_target_power(
    n_units: np.ndarray, n_reaching_goal: np.ndarray, n_studies: int, target: float
) -> int | None:
    """Return the number of units at which power reaches the target, None if no simulated size reaches it.

    `n_units` (n_sizes,) ascends, and `n_reaching_goal` (n_sizes,) counts the studies of each size that reach
    their goal, of `n_studies`. Between two sizes the normal quantile of power is interpolated linearly in the
    root of the units, as it is for a z test. If the smallest size reaches the target, it is returned.
    """
    reached = np.flatnonzero(n_reaching_goal >= target * n_studies)
    if not len(reached):
        return None
    after = int(reached[0])
    if after == 0:
        return int(n_units[0])
    before = after - 1
    # 1/2 and 1 are added so that the quantile is finite where no study or every study reaches the goal.
    z = special.ndtri((n_reaching_goal + 0.5) / (n_studies + 1))
    target_z = special.ndtri(target)
    roots = np.sqrt(n_units.astype(np.float64))
    fraction = np.clip((target_z - z[before]) / (z[after] - z[before]), 0, 1)
    root = roots[before] + fraction * (roots[after] - roots[before])
    return int(np.ceil(root**2 - _ROUNDING))
