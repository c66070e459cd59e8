"""Agreement of readers: coefficients and limits of agreement, beside the limits of textbooks.

A score is of its case, of its reader and its own. Readers are drawn for every study where a coefficient
speaks of readers at large, and are the same few elsewhere.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from atlas.scenario import Band, Scenario, named
from atlas.studies import HIGH_IOU, IOU, Cases, Design, Margin
from salstats.stats.agreement.icc import single_reading_icc
from salstats.stats.agreement.readings import Readings, equal_weights
from salstats.stats.agreement.records import KINDS

#: What defaults are held to; they are wide rather than short, above all of few units.
BANDS = {
    name: Band(0.92, 0.99, 0.0, 1.0)
    for name in (
        "absolute agreement", "consistency", "Krippendorff's alpha", "Fleiss's kappa", "Cohen's kappa", "AC1",
        "concordance", "bias of two readers", "limit of agreement",
    )
}  # fmt: skip
HITS, RARE = Margin(0.6), Margin(0.15)
#: Shares of the variance: cases, readers; the rest is each reading's own.
_SHARES = {"readers alike": (0.6, 0.0), "readers differ": (0.6, 0.1)}
#: Where the same few readers stand beside each other.
_SHIFTS = (0.0, 0.25, -0.15)
_UNITS = (30, 10, 50, 20, 100)
_DEPENDENCE = (("1", 0.0), ("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3))


class Graded:
    """Scores as ratings from 1 to 5."""

    @staticmethod
    def scores(z: np.ndarray) -> np.ndarray:
        """Ratings of standard normal numbers."""
        return np.digitize(z, [-1.0, -0.3, 0.3, 1.0]) + 1.0


def _values(
    cases: Cases, margin: Any, shares: tuple[float, float], shifts: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Scores (n_cases, n_readers)."""
    of_case = np.sqrt(shares[0]) * cases.effects(rng, 1)[0]
    own = np.sqrt(1 - sum(shares)) * rng.standard_normal((len(cases.unit), shifts.shape[-1]))
    return np.asarray(margin.scores(of_case[:, None] + own + shifts))


def _studies(
    margin: Any, shares: tuple[float, float], n_readers: int, at_large: bool,
    design: Design, n: int, rng: np.random.Generator,
) -> pd.DataFrame:  # fmt: skip
    """Studies of readers who are drawn for each, or are the same."""
    cases = Cases.draw(design, n, rng)
    shifts = np.array(_SHIFTS[:n_readers])
    if at_large:
        shifts = np.sqrt(shares[1]) * rng.standard_normal((n, n_readers))[cases.study]
    values = _values(cases, margin, shares, shifts, rng)
    parts = [cases.frame(score=values[:, j]).assign(reader=f"r{j}") for j in range(n_readers)]
    return pd.concat(parts, ignore_index=True).assign(method="human", metric="score")


def _call(
    kind: str, term: str, frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any
) -> pd.DataFrame:
    del draws
    found = ss.agreement(frame, kind=kind, by="study", **options)
    return found[found["term"] == term]


def _of_many(margin: Any, shares: tuple[float, float], shifts: np.ndarray) -> Readings:
    """Readings of many independent cases; with one shift per case and reader, of as many readers."""
    cases = Cases.draw(Design(100_000, "1", 0.0), 1, np.random.default_rng(1))
    values = _values(cases, margin, shares, shifts, np.random.default_rng(2))
    return Readings(values, cases.unit, cases.unit)


def _at_large(margin: Any, shares: tuple[float, float]) -> float:
    """Absolute agreement of two readers of each case who are drawn anew: a correlation."""
    shifts = np.sqrt(shares[1]) * np.random.default_rng(3).standard_normal((100_000, 2))
    return float(np.corrcoef(_of_many(margin, shares, shifts).values.T)[0, 1])


def _fixed(margin: Any, n_readers: int, statistic: Callable[[Readings], float]) -> float:
    """A statistic of many cases, of the readers who are the same."""
    return statistic(_of_many(margin, (0.65, 0.0), np.array(_SHIFTS[:n_readers])))


def _estimate(kind: str, term: str, readings: Readings, **options: Any) -> float:
    """A coefficient of many cases; of itself, no interval is made of it."""
    if kind == "icc":
        return float(single_reading_icc(readings, equal_weights(readings))[0, 2])
    if kind == "bland-altman":
        apart = readings.values[:, 0] - readings.values[:, 1]
        return float(apart.mean() + (term == "loa_high") * 1.959963984540054 * apart.std())
    # a jackknife of two halves has the same estimate
    halves = Readings(readings.values, readings.cases, readings.units % 2)
    return float(KINDS[kind].estimators["jackknife"](halves, 0.95, **options).estimate[0])


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return the scenarios of this module."""
    del gaze
    made = []

    def add(statistic: str, name: str, make: Any, truth: float, call: Any, textbook: str) -> None:
        made.append(
            Scenario(
                statistic,
                name,
                make,
                truth,
                call,
                named(textbook) if textbook else {},
                textbook,
                units=_UNITS,
                dependence=_DEPENDENCE,
            )
        )

    for how, shares in _SHARES.items():
        for n_readers in (3, 5):
            for score, margin in (("IoU", IOU), ("narrow", HIGH_IOU)):
                make = partial(_studies, margin, shares, n_readers, True)
                call = partial(_call, "icc", "icc2", form="icc2")
                name = f"{score}, {n_readers} {how}"
                add("absolute agreement", name, make, _at_large(margin, shares), call, "mcgraw-wong")
    three, two = 3, 2
    fixed: list[tuple[str, str, str, str, Any, int, dict[str, Any], str]] = [
        ("consistency", "IoU", "icc", "icc3", IOU, three, {}, "mcgraw-wong"),
        ("consistency", "narrow", "icc", "icc3", HIGH_IOU, three, {}, "mcgraw-wong"),
        ("Krippendorff's alpha", "IoU", "krippendorff", "krippendorff_interval", IOU, three, {}, ""),
        ("Krippendorff's alpha", "hits", "krippendorff", "krippendorff_nominal", HITS, three,
         {"scale": "nominal"}, ""),
        ("Krippendorff's alpha", "ratings", "krippendorff", "krippendorff_ordinal", Graded, three,
         {"scale": "ordinal"}, ""),
        ("Fleiss's kappa", "hits", "fleiss", "fleiss", HITS, three, {}, "fleiss"),
        ("Fleiss's kappa", "rare hits", "fleiss", "fleiss", RARE, three, {}, "fleiss"),
        ("Cohen's kappa", "hits", "cohen", "cohen_unweighted", HITS, two, {}, "fleiss-cohen-everitt"),
        ("Cohen's kappa", "ratings, quadratic", "cohen", "cohen_quadratic", Graded, two,
         {"weighting": "quadratic"}, "fleiss-cohen-everitt"),
        ("AC1", "rare hits", "ac1", "ac1", RARE, three, {}, ""),
        ("concordance", "IoU", "ccc", "ccc", IOU, two, {}, "lin"),
        ("concordance", "narrow", "ccc", "ccc", HIGH_IOU, two, {}, "lin"),
        ("bias of two readers", "IoU", "bland-altman", "bias", IOU, two, {}, "bland-altman"),
        ("limit of agreement", "IoU", "bland-altman", "loa_high", IOU, two, {}, "bland-altman"),
        ("limit of agreement", "narrow", "bland-altman", "loa_high", HIGH_IOU, two, {}, "bland-altman"),
    ]  # fmt: skip
    for statistic, name, kind, term, margin, n_readers, options, textbook in fixed:
        make = partial(_studies, margin, (0.65, 0.0), n_readers, False)
        truth = _fixed(margin, n_readers, partial(_estimate, kind, term, **options))
        form = {"form": term} if kind == "icc" else {}
        add(statistic, name, make, truth, partial(_call, kind, term, **options, **form), textbook)
    return made
