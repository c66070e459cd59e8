"""Agreement of readers: coefficients and limits of agreement, beside the limits of textbooks.

A score is the sum of effects of its case and its reader and of a residual. Readers are drawn for every study
where a coefficient generalises to other readers; elsewhere all studies have the same few readers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import salstats as ss
from atlas.scenario import Band, Scenario, named
from atlas.studies import HIGH_IOU, IOU, Cases, Design, Margin
from salstats.stats.agreement.icc import single_reading_icc1_icc2_icc3
from salstats.stats.agreement.readings import RaterReadings, equal_row_weights
from salstats.stats.agreement.records import KINDS

#: Bands of the defaults, whose limits are rather wide with few units.
BANDS = {
    name: Band(0.92, 0.99, 0.0, 1.0)
    for name in (
        "absolute agreement", "consistency", "Krippendorff's alpha", "Fleiss's kappa", "Cohen's kappa", "AC1",
        "concordance", "bias of two readers", "limit of agreement",
    )
}  # fmt: skip
#: Quantile of the normal distribution for 95 % limits of agreement.
NORMAL_QUANTILE = 1.959963984540054
HITS = Margin(0.6)
RARE = Margin(0.15)


class VarianceShares(NamedTuple):
    """Shares of cases and of readers in the variance of a score; the rest is the residual's."""

    case: float
    reader: float


_RANDOM_READERS = {"readers alike": VarianceShares(0.6, 0.0), "readers differ": VarianceShares(0.6, 0.1)}
_FIXED_READERS = VarianceShares(case=0.65, reader=0.0)
#: Effects of the readers who are the same in all studies.
_READER_EFFECTS = (0.0, 0.25, -0.15)
_UNITS = (30, 10, 50, 20, 100)
_DEPENDENCE = (("1", 0.0), ("1-5", 0.3), ("1-5", 0.8), ("few huge", 0.3))


class Graded:
    """The distribution of ratings from 1 to 5."""

    @staticmethod
    def scores(z: np.ndarray) -> np.ndarray:
        """Return the ratings that belong to standard normal numbers."""
        return np.digitize(z, [-1.0, -0.3, 0.3, 1.0]) + 1.0


def _values(
    cases: Cases, margin: Any, shares: VarianceShares, reader_effects: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw scores (n_cases, n_readers) with the effects of readers, (n_readers,) or (n_cases, n_readers)."""
    case_effects = np.sqrt(shares.case) * cases.effects(rng, 1)[0]
    shape = (len(cases.unit), reader_effects.shape[-1])
    residuals = np.sqrt(1 - sum(shares)) * rng.standard_normal(shape)
    return np.asarray(margin.scores(case_effects[:, None] + residuals + reader_effects))


def _readings_frame(cases: Cases, values: np.ndarray) -> pd.DataFrame:
    """Return a frame of scores (n_cases, n_readers) with a row for each reading."""
    reader_frames = []
    for j in range(values.shape[1]):
        reader_frames.append(cases.frame(score=values[:, j]).assign(reader=f"r{j}"))
    return pd.concat(reader_frames, ignore_index=True).assign(method="human", metric="score")


def _studies_with_random_readers(
    margin: Any,
    shares: VarianceShares,
    n_readers: int,
    design: Design,
    n: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draw studies, each with readers of its own."""
    cases = Cases.draw(design, n, rng)
    reader_effects = np.sqrt(shares.reader) * rng.standard_normal((n, n_readers))
    return _readings_frame(cases, _values(cases, margin, shares, reader_effects[cases.study], rng))


def _studies_with_fixed_readers(
    margin: Any, n_readers: int, design: Design, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw studies that all have the same readers."""
    cases = Cases.draw(design, n, rng)
    reader_effects = np.array(_READER_EFFECTS[:n_readers])
    return _readings_frame(cases, _values(cases, margin, _FIXED_READERS, reader_effects, rng))


def _call(
    kind: str, term: str, frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any
) -> pd.DataFrame:
    """Estimate a coefficient of agreement; it draws no replicates."""
    del draws
    estimates = ss.agreement(frame, kind=kind, by="study", **options)
    return estimates[estimates["term"] == term]


def _large_readings(margin: Any, shares: VarianceShares, reader_effects: np.ndarray) -> RaterReadings:
    """Draw the readings of 100,000 independent cases, which give the true value of a statistic."""
    cases = Cases.draw(Design(100_000, "1", 0.0), 1, np.random.default_rng(1))
    values = _values(cases, margin, shares, reader_effects, np.random.default_rng(2))
    return RaterReadings(values, cases.unit, cases.unit)


def _true_absolute_agreement(margin: Any, shares: VarianceShares) -> float:
    """Return the correlation of two readings of a case by readers who are drawn for each case."""
    reader_effects = np.sqrt(shares.reader) * np.random.default_rng(3).standard_normal((100_000, 2))
    values = _large_readings(margin, shares, reader_effects).values
    return float(np.corrcoef(values[:, 0], values[:, 1])[0, 1])


def _true_value(kind: str, term: str, margin: Any, n_readers: int, **options: Any) -> float:
    """Return a coefficient of many cases that the fixed readers read."""
    readings = _large_readings(margin, _FIXED_READERS, np.array(_READER_EFFECTS[:n_readers]))
    if kind == "icc":
        # ICC(3,1), the consistency of a single reading
        return float(single_reading_icc1_icc2_icc3(readings, equal_row_weights(readings))[0, 2])
    if kind == "bland-altman":
        differences = readings.values[:, 0] - readings.values[:, 1]
        if term == "bias":
            return float(differences.mean())
        return float(differences.mean() + NORMAL_QUANTILE * differences.std())
    # The estimator also needs units for its interval, of which two suffice.
    halves = RaterReadings(readings.values, readings.cases, readings.units % 2)
    return float(KINDS[kind].estimators["jackknife"](halves, 0.95, **options).estimate[0])


@dataclass(frozen=True)
class _FixedReaderScenario:
    """A coefficient of fixed readers: the options of `agreement`, and the distribution of the scores."""

    statistic: str
    name: str
    kind: str
    term: str
    margin: Any
    n_readers: int = 3
    options: Mapping[str, Any] = field(default_factory=dict)
    textbook: str = ""


_FIXED_READER_SCENARIOS = (
    _FixedReaderScenario("consistency", "IoU", "icc", "icc3", IOU, options={"form": "icc3"},
                         textbook="mcgraw-wong"),
    _FixedReaderScenario("consistency", "narrow", "icc", "icc3", HIGH_IOU, options={"form": "icc3"},
                         textbook="mcgraw-wong"),
    _FixedReaderScenario("Krippendorff's alpha", "IoU", "krippendorff", "krippendorff_interval", IOU),
    _FixedReaderScenario("Krippendorff's alpha", "hits", "krippendorff", "krippendorff_nominal", HITS,
                         options={"scale": "nominal"}),
    _FixedReaderScenario("Krippendorff's alpha", "ratings", "krippendorff", "krippendorff_ordinal", Graded,
                         options={"scale": "ordinal"}),
    _FixedReaderScenario("Fleiss's kappa", "hits", "fleiss", "fleiss", HITS, textbook="fleiss"),
    _FixedReaderScenario("Fleiss's kappa", "rare hits", "fleiss", "fleiss", RARE, textbook="fleiss"),
    _FixedReaderScenario("Cohen's kappa", "hits", "cohen", "cohen_unweighted", HITS, n_readers=2,
                         textbook="fleiss-cohen-everitt"),
    _FixedReaderScenario("Cohen's kappa", "ratings, quadratic", "cohen", "cohen_quadratic", Graded,
                         n_readers=2, options={"weighting": "quadratic"}, textbook="fleiss-cohen-everitt"),
    _FixedReaderScenario("AC1", "rare hits", "ac1", "ac1", RARE),
    _FixedReaderScenario("concordance", "IoU", "ccc", "ccc", IOU, n_readers=2, textbook="lin"),
    _FixedReaderScenario("concordance", "narrow", "ccc", "ccc", HIGH_IOU, n_readers=2, textbook="lin"),
    _FixedReaderScenario("bias of two readers", "IoU", "bland-altman", "bias", IOU, n_readers=2,
                         textbook="bland-altman"),
    _FixedReaderScenario("limit of agreement", "IoU", "bland-altman", "loa_high", IOU, n_readers=2,
                         textbook="bland-altman"),
    _FixedReaderScenario("limit of agreement", "narrow", "bland-altman", "loa_high", HIGH_IOU, n_readers=2,
                         textbook="bland-altman"),
)  # fmt: skip


def scenarios(gaze: Path | None = None) -> Iterator[Scenario]:
    """Yield scenarios of coefficients that generalise to other readers, then of fixed readers."""
    del gaze
    for spread, shares in _RANDOM_READERS.items():
        for n_readers in (3, 5):
            for score, margin in {"IoU": IOU, "narrow": HIGH_IOU}.items():
                yield Scenario(
                    "absolute agreement",
                    f"{score}, {n_readers} {spread}",
                    partial(_studies_with_random_readers, margin, shares, n_readers),
                    _true_absolute_agreement(margin, shares),
                    partial(_call, "icc", "icc2", form="icc2"),
                    named("mcgraw-wong"),
                    textbook="mcgraw-wong",
                    units=_UNITS,
                    dependence=_DEPENDENCE,
                )
    for row in _FIXED_READER_SCENARIOS:
        intervals = {}
        if row.textbook:
            intervals = named(row.textbook)
        yield Scenario(
            row.statistic,
            row.name,
            partial(_studies_with_fixed_readers, row.margin, row.n_readers),
            _true_value(row.kind, row.term, row.margin, row.n_readers, **row.options),
            partial(_call, row.kind, row.term, **row.options),
            intervals,
            row.textbook,
            units=_UNITS,
            dependence=_DEPENDENCE,
        )
