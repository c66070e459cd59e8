"""Methods compared by a few readers who are drawn as well as cases: `mrmc`, beside `difference`.

A reader scores higher or lower than others with every method, and by more with one method than with another;
so does a case. `SHARES` has these four effects as shares of the variance of a single reading.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import salstats as ss
from atlas.scenario import Band, Call, Scenario
from atlas.studies import Design

#: Bands of the defaults: few readers leave few degrees of freedom, which are estimated.
BANDS = {"difference of readers": Band(0.92, 0.98, 0.02, 0.08)}
#: Numbers of cases.
CASES = (30, 100)
READERS = (3, 4, 6)
#: Shares of the variance: reader, case, reader by method, case by method; the rest is the single reading's.
SHARES = {
    "alike": (0.0, 0.2, 0.0, 0.1),
    "differ": (0.2, 0.2, 0.02, 0.1),
    "differ much": (0.3, 0.2, 0.08, 0.1),
}


def readings(
    n_readers: int, shares: tuple[float, ...], measure: str, design: Design, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw studies with readers of their own, who read the cases with two equally good methods.

    `measure` is "means" (scores from 0 to 1), "hits" (0 or 1), or "areas" (ratings, whose ROC areas are
    compared). Columns: `study, patient, case, reader, method, metric, score, label`.
    """
    reader_sd, case_sd, reader_method_sd, case_method_sd = np.sqrt(shares)
    residual_sd = np.sqrt(1 - sum(shares))
    size_of_axis = {"study": n, "case": design.n_units, "reader": n_readers, "method": 2}

    def effect(sd: float, *axes: str) -> np.ndarray:
        """Draw normal effects that vary along some axes, (study, case, reader, method)."""
        shape = []
        for axis, size in size_of_axis.items():
            shape.append(size if axis in axes else 1)
        return sd * rng.standard_normal(shape)

    reader_effect = effect(reader_sd, "study", "reader")
    case_effect = effect(case_sd, "study", "case")
    reader_method_effect = effect(reader_method_sd, "study", "reader", "method")
    case_method_effect = effect(case_method_sd, "study", "case", "method")
    residual = effect(residual_sd, "study", "case", "reader", "method")
    z = reader_effect + case_effect + reader_method_effect + case_method_effect + residual
    is_positive = np.arange(design.n_units) % 2 == 0
    if measure == "means":
        scores = special.ndtr(z)
    elif measure == "hits":
        scores = (z > -0.5).astype(float)
    else:
        # Readers differ in the distance between their ratings of positive and negative cases.
        distance = 1.2 + effect(reader_sd, "study", "reader")
        distance = distance + effect(reader_method_sd, "study", "reader", "method")
        case_effect = effect(case_sd, "study", "case")
        case_method_effect = effect(case_method_sd, "study", "case", "method")
        residual = effect(residual_sd, "study", "case", "reader", "method")
        scores = case_effect + case_method_effect + residual + distance * is_positive[None, :, None, None]
    study, case, reader, method = (index.ravel() for index in np.indices(scores.shape))
    return pd.DataFrame(
        {
            "study": study,
            # Patients of all studies have the same names, and so the same draws.
            "patient": case,
            "case": study * design.n_units + case,
            "reader": reader,
            "method": np.array(["cam", "human"])[method],
            "metric": "score",
            "score": scores.ravel(),
            "label": is_positive[case].astype(float),
        }
    )


def _reader_difference(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Estimate the differences by `mrmc`, or by `difference`, which draws cases alone (`cases_alone`)."""
    if options.pop("cases_alone", False):
        return ss.difference(frame.drop(columns="label"), reference="human", by="study", **draws, **options)
    estimates = ss.mrmc(frame, reference="human", by="study", **options)
    return estimates[estimates["term"] == "difference"]


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return scenarios of differences of means, hit rates and ROC areas, which are all 0."""
    del gaze
    area_options = {"figure": "auc", "label": "label"}
    case_intervals = {"fixed readers": {"readers": "fixed"}, "cases alone": {"cases_alone": True}}
    area_intervals = {
        "fixed readers": {"readers": "fixed", **area_options},
        "delong": {"covariance": "delong", **area_options},
    }
    listed = []
    for measure in ("means", "hits", "areas"):
        call: Call = _reader_difference
        intervals: Mapping[str, Mapping[str, Any]] = case_intervals
        textbook = "cases alone"
        if measure == "areas":
            call = partial(_reader_difference, **area_options)
            intervals = area_intervals
            textbook = ""
        for n_readers in READERS:
            for spread, shares in SHARES.items():
                listed.append(
                    Scenario(
                        "difference of readers",
                        f"{measure}, {n_readers} readers, {spread}",
                        partial(readings, n_readers, shares, measure),
                        0.0,
                        call,
                        intervals,
                        null=True,
                        textbook=textbook,
                        units=CASES,
                        dependence=(("1", 0.0),),
                    )
                )
    return listed
