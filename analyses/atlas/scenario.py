"""A scenario: the studies that are drawn, the true value, and the analysis."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from atlas.studies import Design, Make

N_UNITS = (30, 10, 50, 20, 100, 300)
#: Dependence of cases: sizes of the units, and the unit's share of the variance.
DEPENDENCE = (("1", 0.0), ("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3), ("few huge", 0.8))
#: Names of the covariate `x`, by whether it is of the unit.
COVARIATES = {False: "a covariate", True: "a covariate of the unit, skewed"}

#: Roles of an interval: the one that the package takes by default, the one of textbooks, and the others.
ROLES = ("default", "textbook", "other")


class Band(NamedTuple):
    """Least and largest coverage, and least and largest share of rejections, that a default may have."""

    lowest: float
    highest: float
    least_rejected: float
    most_rejected: float


#: Takes a frame of studies, options of draws and others; returns estimates with a column `study`.
Call = Callable[..., pd.DataFrame]


@dataclass(frozen=True)
class Scenario:
    """A statistic of studies: how they are drawn, its true value, and how it is analysed.

    Attributes
    ----------
    statistic, name : str
    make : callable
    truth : float, or callable of a design
    call : callable
    intervals : dict
        Intervals that are measured beside the default, each with its options of the call.
    textbook : str
        The one that textbooks take.
    null : bool
        True if the null hypothesis holds, so that rejections are counted as well.
    source : str
        "simulated", or the name of the real scores that studies are drawn from.
    defaults : tuple of str
        Intervals that are defaults; "default" stands for the call without options.
    groups : int
        Number of groups of scores in a study.
    units : tuple of int
        Numbers of units; scenarios with other ones than `N_UNITS` get half as many studies.
    dependence : tuple
        Kinds of units and their shares of the variance.
    """

    statistic: str
    name: str
    make: Make
    truth: float | Callable[[Design], float]
    call: Call
    intervals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    textbook: str = ""
    null: bool = False
    source: str = "simulated"
    defaults: tuple[str, ...] = ("default",)
    groups: int = 1
    units: tuple[int, ...] = N_UNITS
    dependence: tuple[tuple[str, float], ...] = DEPENDENCE

    def true_value(self, design: Design) -> float:
        """Return the true value for a design."""
        if isinstance(self.truth, float):
            return self.truth
        return self.truth(design)

    def role(self, interval: str) -> str:
        """Return the role of an interval."""
        if interval in self.defaults:
            return "default"
        if interval == self.textbook:
            return "textbook"
        return "other"

    def interval_options(self) -> dict[str, Mapping[str, Any]]:
        """Return the options of the call for each interval, the default first."""
        options: dict[str, Mapping[str, Any]] = {}
        if "default" in self.defaults:
            options["default"] = {}
        options.update(self.intervals)
        return options


def named(*names: str) -> dict[str, dict[str, str]]:
    """Return intervals that the option `interval` chooses by name."""
    return {name: {"interval": name} for name in names}
