"""Weighted means, differences and slopes of case-enriched studies, and means over units that count alike."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import salstats as ss
from atlas.scenario import N_UNITS, Band, Scenario, named
from atlas.studies import HUMAN_IOU, IOU, SMALL_SPREAD, Cases, Design, Make, Margin

#: Defaults of these statistics are held to what those without weights are.
BANDS: dict[str, Band] = {}
#: Share of cases with the finding in the population, and among the cases taken.
_PREVALENCE, _TAKEN = 0.2, 0.5
#: How much worse a unit scores for each of its cases, up to a number.
_SLOPE, _LARGEST = 0.3, 6
_FEW = N_UNITS[:-1]


def _enriched(margins: Mapping[str, tuple[Margin, Margin]]) -> Make:
    """Studies that took more cases with the finding than there are: methods' margins with and without it."""
    share = {True: _PREVALENCE / _TAKEN, False: (1 - _PREVALENCE) / (1 - _TAKEN)}

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        finding = rng.random(len(cases.unit)) < _TAKEN
        columns = {
            "weight": np.where(finding, share[True], share[False]),
            "finding": finding.astype(np.float64),
        }
        state = rng.bit_generator.state
        found = {}
        for here in (True, False):
            # the same effects of cases, whatever they have
            rng.bit_generator.state = state
            scores = cases.scores({m: both[0 if here else 1] for m, both in margins.items()}, rng)
            for method, values in scores.items():
                found[method] = np.where(finding == here, values, found.get(method, 0.0))
        return cases.long({m: {"score": s, **columns} for m, s in found.items()})

    return make


def _sized(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Studies whose units score the worse the more cases they have."""
    cases = Cases.draw(design, n, rng)
    sizes = np.bincount(cases.study * design.n_units + cases.unit, minlength=n * design.n_units)
    effect = cases.effects(rng, 1)[0] - _SLOPE * np.minimum(cases.unit_values(sizes), _LARGEST)
    return cases.long({"cam": {"score": special.ndtr(effect)}})


def _mean_of_units(design: Design) -> float:
    """Mean over units, of which two of "few huge" have 40 cases, and the others 1 to 5."""
    usual = float(special.ndtr(-_SLOPE * np.arange(1, 6) / np.sqrt(2)).mean())
    if design.cluster != "few huge":
        return usual
    huge = float(special.ndtr(-_SLOPE * _LARGEST / np.sqrt(2)))
    return usual + (huge - usual) * 2 / design.n_units


def _mean(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", weights="weight", **draws, **options)


def _units(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.summarize(frame, by="study", weights="unit", **draws, **options)


def _difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.difference(frame, reference="human", by="study", weights="weight", **draws, **options)


def _slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    table = frame.rename(columns={"score": "outcome"})
    found = ss.regress(table, "outcome ~ finding", by="study", weights="weight", **options)
    return found[found["term"] == "finding"]


def _overall(own: Margin, other: Margin) -> float:
    return _PREVALENCE * own.mean + (1 - _PREVALENCE) * other.mean


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return the scenarios of this module; `gaze` is for other modules."""
    means = named("percentile", "t", "cr2")
    found = []
    for name, own, other in (("IoU", IOU, HUMAN_IOU), ("hit rate .7 and .9", Margin(0.7), Margin(0.9))):
        make = _enriched({"cam": (own, other)})
        found.append(Scenario("weighted mean", name, make, _overall(own, other), _mean, means, "percentile"))
    pairs = {
        "IoU, equal": {"cam": (IOU, HUMAN_IOU), "human": (IOU, HUMAN_IOU)},
        "IoU, lower with the finding": {"cam": (IOU, SMALL_SPREAD), "human": (HUMAN_IOU, SMALL_SPREAD)},
    }
    for name, margins in pairs.items():
        make, gap = _enriched(margins), _overall(*margins["cam"]) - _overall(*margins["human"])
        options = {"intervals": means, "textbook": "percentile", "null": not gap}
        found.append(Scenario("weighted difference", name, make, gap, _difference, **options))
    make, others = _enriched({"cam": (IOU, IOU)}), {name: {"errors": name} for name in ("hc3", "cluster")}
    options = {"intervals": others, "textbook": "hc3", "null": True, "units": _FEW}
    found.append(Scenario("weighted slope", "IoU on the finding", make, 0.0, _slope, **options))
    several = (("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3))
    options = {"intervals": means, "textbook": "percentile", "dependence": several}
    found.append(Scenario("mean of units", "lower in large ones", _sized, _mean_of_units, _units, **options))
    return found
