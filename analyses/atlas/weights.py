"""Weighted means, differences and slopes of case-enriched studies, and means over units that count alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import salstats as ss
from atlas.scenario import N_UNITS, Band, Scenario, named
from atlas.studies import HUMAN_IOU, IOU, SMALL_SPREAD, Cases, Design, Make, Margin

#: These statistics have no bands of their own, but those of unweighted ones.
BANDS: dict[str, Band] = {}
#: Share of cases with the finding in the population.
_PREVALENCE = 0.2
#: Share of cases with the finding in a study.
_STUDY_SHARE = 0.5
#: Decrease of the scores of a unit, on the normal scale, for each of its cases, up to a number of cases.
_SLOPE = 0.3
_MAX_COUNTED_CASES = 6
#: Numbers of units without the largest.
_SMALLER_SIZES = N_UNITS[:-1]


@dataclass(frozen=True)
class FindingMargins:
    """The distributions of a method's scores on cases with and without the finding."""

    present: Margin
    absent: Margin

    @property
    def mean(self) -> float:
        """The mean score in the population."""
        return _PREVALENCE * self.present.mean + (1 - _PREVALENCE) * self.absent.mean


def _enriched(margins: Mapping[str, FindingMargins]) -> Make:
    """Return a function that draws studies with more cases of the finding than the population has.

    A case weighs as many cases of the population as it stands for.
    """
    weight_present = _PREVALENCE / _STUDY_SHARE
    weight_absent = (1 - _PREVALENCE) / (1 - _STUDY_SHARE)

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        is_present = rng.random(len(cases.unit)) < _STUDY_SHARE
        # Both draws start from one state, so that a case has the same effects with and without the finding.
        state = rng.bit_generator.state
        scores_present = cases.scores({method: pair.present for method, pair in margins.items()}, rng)
        rng.bit_generator.state = state
        scores_absent = cases.scores({method: pair.absent for method, pair in margins.items()}, rng)
        columns = {}
        for method in margins:
            columns[method] = {
                "score": np.where(is_present, scores_present[method], scores_absent[method]),
                "weight": np.where(is_present, weight_present, weight_absent),
                "finding": is_present.astype(np.float64),
            }
        return cases.long(columns)

    return make


def _lower_in_large_units(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw studies whose units have the lower scores the more cases they have."""
    cases = Cases.draw(design, n, rng)
    unit_numbers = cases.study * design.n_units + cases.unit
    n_cases_of_unit = np.bincount(unit_numbers, minlength=n * design.n_units)
    n_counted = np.minimum(cases.unit_values(n_cases_of_unit), _MAX_COUNTED_CASES)
    z = cases.effects(rng, 1)[0] - _SLOPE * n_counted
    return cases.long({"cam": {"score": special.ndtr(z)}})


def _mean_of_units(design: Design) -> float:
    """Return the true mean over units of `_lower_in_large_units`.

    The mean of Phi(z + shift) for a standard normal z is Phi(shift / sqrt(2)). Units have 1 to 5 cases; two
    of "few huge" have 40.
    """
    small_mean = float(special.ndtr(-_SLOPE * np.arange(1, 6) / np.sqrt(2)).mean())
    if design.cluster != "few huge":
        return small_mean
    huge_mean = float(special.ndtr(-_SLOPE * _MAX_COUNTED_CASES / np.sqrt(2)))
    return small_mean + (huge_mean - small_mean) * 2 / design.n_units


def _mean(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", weights="weight", **draws, **options)


def _units(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", weights="unit", **draws, **options)


def _difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.difference(frame, reference="human", by="study", weights="weight", **draws, **options)


def _slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    table = frame.rename(columns={"score": "outcome"})
    coefficients = ss.regress(table, "outcome ~ finding", by="study", weights="weight", **options)
    return coefficients[coefficients["term"] == "finding"]


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return scenarios of weighted means, differences and slopes, and of means of units."""
    del gaze
    listed = []
    intervals = named("percentile", "t", "cr2")
    methods = {
        "IoU": FindingMargins(present=IOU, absent=HUMAN_IOU),
        "hit rate .7 and .9": FindingMargins(present=Margin(0.7), absent=Margin(0.9)),
    }
    for name, margins in methods.items():
        make = _enriched({"cam": margins})
        listed.append(Scenario("weighted mean", name, make, margins.mean, _mean, intervals, "percentile"))
    iou = FindingMargins(present=IOU, absent=HUMAN_IOU)
    lower_iou = FindingMargins(present=IOU, absent=SMALL_SPREAD)
    higher_iou = FindingMargins(present=HUMAN_IOU, absent=SMALL_SPREAD)
    pairs = {
        "IoU, equal": {"cam": iou, "human": iou},
        "IoU, lower with the finding": {"cam": lower_iou, "human": higher_iou},
    }
    for name, pair in pairs.items():
        difference = pair["cam"].mean - pair["human"].mean
        listed.append(
            Scenario(
                "weighted difference",
                name,
                _enriched(pair),
                difference,
                _difference,
                intervals,
                textbook="percentile",
                null=difference == 0,
            )
        )
    listed.append(
        Scenario(
            "weighted slope",
            "IoU on the finding",
            _enriched({"cam": FindingMargins(present=IOU, absent=IOU)}),
            0.0,
            _slope,
            {name: {"errors": name} for name in ("hc3", "cluster")},
            textbook="hc3",
            null=True,
            units=_SMALLER_SIZES,
        )
    )
    listed.append(
        Scenario(
            "mean of units",
            "lower in large ones",
            _lower_in_large_units,
            _mean_of_units,
            _units,
            intervals,
            textbook="percentile",
            dependence=(("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3)),
        )
    )
    return listed
