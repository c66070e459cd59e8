"""Scores with lumps at 0 and 1: medians, their differences, and effects in models of such scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import salstats as ss
from atlas.scenario import Band, Scenario, named
from atlas.studies import covariate, methods

BANDS = {
    **{name: Band(0.93, 1.0, 0.0, 0.065) for name in ("median", "median difference", "median slope")},
    "effect": Band(0.92, 1.0, 0.0, 0.08),
}


@dataclass(frozen=True)
class Lumped:
    """The distribution of a score: zeros and ones with their probabilities, beta in between."""

    zeros: float
    ones: float
    mean: float = 0.4
    precision: float = 4.0

    def scores(self, z: np.ndarray) -> np.ndarray:
        """Scores of standard normal numbers."""
        u = special.ndtr(z)
        inside = np.clip((u - self.zeros) / (1 - self.zeros - self.ones), 1e-12, 1 - 1e-12)
        beta = special.betaincinv(self.mean * self.precision, (1 - self.mean) * self.precision, inside)
        return np.where(u < self.zeros, 0.0, np.where(u > 1 - self.ones, 1.0, beta))

    @property
    def median(self) -> float:
        """The median."""
        return float(self.scores(np.zeros(1))[0])


SMOOTH, LUMPS, HIGHER = Lumped(0, 0), Lumped(0.42, 0.05), Lumped(0.25, 0.15, 0.5)
#: More than half of the scores are 0, and so is the median.
MOSTLY_0 = Lumped(0.6, 0.02)
#: What is common to say of a median by resampling.
_RESAMPLED = named("percentile", "bca", "basic", "normal")
_ERRORS = {name: {"errors": name} for name in ("classical", "cluster")}
_UNITS = (30, 10, 50, 20, 100)


def _median(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.medians(frame, by="study", **draws, **options)


def _difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.median_difference(frame, reference="human", by="study", **draws, **options)


def _effect(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.regress(frame, "outcome ~ x", by="study", effects="marginal", **options)


def _quantile_slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.quantile_regress(frame, "outcome ~ x", by="study", **options)
    return found[found["term"] == "x"]


def scenarios(gaze: Path | None = None) -> Iterator[Scenario]:
    """Return the scenarios of this module."""
    of_one = {"smooth": SMOOTH, "42 % zeros": LUMPS, "60 % zeros": MOSTLY_0}
    for name, margin in of_one.items():
        make = methods({"cam": margin})
        yield Scenario("median", name, make, margin.median, _median, _RESAMPLED, "percentile")
    pairs = {
        "smooth, equal": (SMOOTH, SMOOTH), "42 % zeros, equal": (LUMPS, LUMPS),
        "42 and 25 % zeros": (LUMPS, HIGHER), "60 and 25 % zeros": (MOSTLY_0, HIGHER),
    }  # fmt: skip
    for name, (own, human) in pairs.items():
        make, gap = methods({"cam": own, "human": human}), own.median - human.median
        yield Scenario(
            "median difference", name, make, gap, _difference, _RESAMPLED, "percentile", null=not gap
        )
    for by_unit in (False, True):
        make = covariate(HIGHER, by_unit=by_unit, name="outcome")
        for family in ("ordered-beta", "zero-one-inflated-beta"):
            name = f"{family}, on a covariate{' of the unit, skewed' if by_unit else ''}"
            call = partial(_effect, family=family)
            yield Scenario("effect", name, make, 0.0, call, _ERRORS, "classical", null=True, units=_UNITS)
    for by_unit in (False, True):
        make = covariate(LUMPS, by_unit=by_unit, name="outcome")
        name = f"42 % zeros on a covariate{' of the unit, skewed' if by_unit else ''}"
        # hundreds of linear programs a study
        few = (("1", 0.0), ("1-5", 0.3), ("few huge", 0.8))
        yield Scenario(
            "median slope", name, make, 0.0, _quantile_slope, null=True, units=(30,), dependence=few
        )
