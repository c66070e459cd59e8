"""A scenario: what is drawn, what is true of it, and how it is analysed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from atlas.studies import Design, Make

N_UNITS = (30, 10, 50, 20, 100, 300)
#: How cases hang together: sizes of the units, and the unit's share of the variance.
DEPENDENCE = (("1", 0.0), ("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3), ("few huge", 0.8))

#: Whether an interval is what is taken where none is asked for, what textbooks take, or one more.
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
    """A statistic of studies: what is drawn, what is true, how it is analysed.

    Attributes
    ----------
    statistic, name : str
    make : callable
    truth : float, or callable of a design
    call : callable
    intervals : dict
        What is measured beside the default: the options that ask for it.
    textbook : str
        Which of them textbooks take.
    null : bool
        Whether the truth is nothing, so that P values are counted as well.
    source : str
        "simulated", or the real scores that studies are drawn from.
    defaults : tuple of str
        Which intervals are defaults; "default" asks for nothing.
    groups : int
        How many groups of scores a study has.
    units : tuple of int
        Numbers of units; with fewer of them than `N_UNITS` half as many studies have to do.
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

    def truth_of(self, design: Design) -> float:
        """Return the true value for a design."""
        if isinstance(self.truth, float):
            return self.truth
        return self.truth(design)

    def role(self, interval: str) -> str:
        """Return the role of an interval."""
        return (
            "default" if interval in self.defaults else "textbook" if interval == self.textbook else "other"
        )

    def asked(self) -> dict[str, Mapping[str, Any]]:
        """Options of every interval."""
        return {**({"default": {}} if "default" in self.defaults else {}), **self.intervals}


def named(*names: str) -> dict[str, dict[str, str]]:
    """Options that ask for intervals by name."""
    return {name: {"interval": name} for name in names}
