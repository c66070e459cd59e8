"""Regressions of dependent rows: with a working correlation (GEE), or random effects of cases and readers."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

import salstats as ss
from atlas import readers
from atlas.scenario import COVARIATES, DEPENDENCE, N_UNITS, Band, Scenario
from atlas.studies import IOU, Margin, covariate

#: Bands of the defaults: both are conservative with few units or readers.
BANDS = {"slope by GEE": Band(0.92, 1.0, 0.0, 0.07), "difference by mixed model": Band(0.92, 1.0, 0.0, 0.08)}
_SLOPES = {name: {"errors": name} for name in ("cr2", "cluster", "cr0")}
_FORMULA = "score ~ method + (1|case) + (1|reader) + (1|method:reader) + (1|method:case)"


def _slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    coefficients = ss.regress(
        frame, "outcome ~ x", by="study", unit="patient", correlation="exchangeable", **options
    )
    return coefficients[coefficients["term"] == "x"]


def _method(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    coefficients = ss.regress(frame, _FORMULA, by="study", **options)
    return coefficients[coefficients["term"] == "methodhuman"]


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return scenarios of slopes by GEE, and of differences by mixed models, which are all 0."""
    del gaze
    listed = []
    outcomes = {"binomial": ("hits .5", Margin(0.5)), "fractional": ("IoU", IOU)}
    clustered = tuple((sizes, icc) for sizes, icc in DEPENDENCE if sizes != "1")
    for by_unit, x_name in COVARIATES.items():
        for family, (score, margin) in outcomes.items():
            listed.append(
                Scenario(
                    "slope by GEE",
                    f"{family}, {score} on {x_name}",
                    covariate(margin, by_unit=by_unit, name="outcome"),
                    0.0,
                    partial(_slope, family=family),
                    _SLOPES,
                    textbook="cr0",
                    null=True,
                    units=N_UNITS[:-1],
                    dependence=clustered,
                )
            )
    for n_readers in readers.READERS:
        for spread, shares in readers.SHARES.items():
            listed.append(
                Scenario(
                    "difference by mixed model",
                    f"means, {n_readers} readers, {spread}",
                    partial(readers.readings, n_readers, shares, "means"),
                    0.0,
                    _method,
                    {"kenward-roger": {"errors": "kenward-roger"}},
                    null=True,
                    units=readers.CASES,
                    dependence=(("1", 0.0),),
                )
            )
    return listed
