"""Scores of which many are exactly 0 or 1: medians, their differences, and effects in models of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import salstats as ss
from atlas.scenario import COVARIATES, Band, Scenario, named
from atlas.studies import covariate, methods

BANDS = {
    **{name: Band(0.93, 1.0, 0.0, 0.065) for name in ("median", "median difference", "median slope")},
    "effect": Band(0.92, 1.0, 0.0, 0.08),
}


@dataclass(frozen=True)
class InflatedBeta:
    """The distribution of a score: 0 and 1 with their probabilities, and beta between them."""

    zeros: float
    ones: float
    mean: float = 0.4
    precision: float = 4.0

    def scores(self, z: np.ndarray) -> np.ndarray:
        """Return the scores that belong to standard normal numbers, the quantiles at their probabilities."""
        probability = special.ndtr(z)
        beta_probability = (probability - self.zeros) / (1 - self.zeros - self.ones)
        # Outside 0 to 1 the score is 0 or 1, which are written below.
        beta_probability = np.clip(beta_probability, 1e-12, 1 - 1e-12)
        alpha = self.mean * self.precision
        beta = (1 - self.mean) * self.precision
        scores = special.betaincinv(alpha, beta, beta_probability)
        scores[probability < self.zeros] = 0.0
        scores[probability > 1 - self.ones] = 1.0
        return scores

    @property
    def median(self) -> float:
        """The median."""
        return float(self.scores(np.zeros(1))[0])


SMOOTH = InflatedBeta(zeros=0, ones=0)
MANY_ZEROS = InflatedBeta(zeros=0.42, ones=0.05)
HIGHER = InflatedBeta(zeros=0.25, ones=0.15, mean=0.5)
#: More than half of the scores are 0, and so is the median.
MOSTLY_ZEROS = InflatedBeta(zeros=0.6, ones=0.02)
#: Common intervals of a median by resampling.
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
    coefficients = ss.quantile_regress(frame, "outcome ~ x", by="study", **options)
    return coefficients[coefficients["term"] == "x"]


def scenarios(gaze: Path | None = None) -> Iterator[Scenario]:
    """Yield scenarios of medians and their differences, and of effects and median slopes, which are 0."""
    del gaze
    margins_by_name = {"smooth": SMOOTH, "42 % zeros": MANY_ZEROS, "60 % zeros": MOSTLY_ZEROS}
    for name, margin in margins_by_name.items():
        make = methods({"cam": margin})
        yield Scenario("median", name, make, margin.median, _median, _RESAMPLED, "percentile")
    pairs = {
        "smooth, equal": (SMOOTH, SMOOTH),
        "42 % zeros, equal": (MANY_ZEROS, MANY_ZEROS),
        "42 and 25 % zeros": (MANY_ZEROS, HIGHER),
        "60 and 25 % zeros": (MOSTLY_ZEROS, HIGHER),
    }
    for name, (cam, human) in pairs.items():
        difference = cam.median - human.median
        yield Scenario(
            "median difference",
            name,
            methods({"cam": cam, "human": human}),
            difference,
            _difference,
            _RESAMPLED,
            textbook="percentile",
            null=difference == 0,
        )
    for by_unit, x_name in COVARIATES.items():
        for family in ("ordered-beta", "zero-one-inflated-beta"):
            yield Scenario(
                "effect",
                f"{family}, on {x_name}",
                covariate(HIGHER, by_unit=by_unit, name="outcome"),
                0.0,
                partial(_effect, family=family),
                _ERRORS,
                textbook="classical",
                null=True,
                units=_UNITS,
            )
    for by_unit, x_name in COVARIATES.items():
        yield Scenario(
            "median slope",
            f"42 % zeros on {x_name}",
            covariate(MANY_ZEROS, by_unit=by_unit, name="outcome"),
            0.0,
            _quantile_slope,
            null=True,
            # A study takes hundreds of linear programs, so there are few designs.
            units=(30,),
            dependence=(("1", 0.0), ("1-5", 0.3), ("few huge", 0.8)),
        )
