"""Rows that hang together by a working correlation (GEE), or by random effects of cases and readers."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

import salstats as ss
from atlas import readers
from atlas.scenario import DEPENDENCE, N_UNITS, Band, Scenario
from atlas.studies import Margin, covariate
from atlas.usual import IOU

#: What defaults are held to: both are cautious where few units or readers tell of a term.
BANDS = {"slope by GEE": Band(0.92, 1.0, 0.0, 0.07), "difference by mixed model": Band(0.92, 1.0, 0.0, 0.08)}
_SLOPES = {name: {"errors": name} for name in ("cr2", "cluster", "cr0")}
_FORMULA = "score ~ method + (1|case) + (1|reader) + (1|method:reader) + (1|method:case)"


def _slope(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.regress(
        frame, "outcome ~ x", by="study", unit="patient", correlation="exchangeable", **options
    )
    return found[found["term"] == "x"]


def _method(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.regress(frame, _FORMULA, by="study", **options)
    return found[found["term"] == "methodhuman"]


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Slopes of nothing by GEE, and differences of nothing by mixed models."""
    del gaze
    outcomes = {"binomial": ("hits .5", Margin(0.5)), "fractional": ("IoU", IOU)}
    clustered = tuple(kind for kind in DEPENDENCE if kind[0] != "1")
    made = [
        Scenario(
            "slope by GEE",
            f"{family}, {what} on a covariate{' of the unit, skewed' if by_unit else ''}",
            covariate(margin, by_unit=by_unit, name="outcome"),
            0.0,
            partial(_slope, family=family),
            _SLOPES,
            "cr0",
            null=True,
            units=N_UNITS[:-1],
            dependence=clustered,
        )
        for by_unit in (False, True)
        for family, (what, margin) in outcomes.items()
    ]
    made += [
        Scenario(
            "difference by mixed model",
            f"means, {n_readers} readers, {how}",
            partial(readers.readings, n_readers, shares, "means"),
            0.0,
            _method,
            {"kenward-roger": {"errors": "kenward-roger"}},
            null=True,
            units=readers.CASES,
            dependence=(("1", 0.0),),
        )
        for n_readers in readers.READERS
        for how, shares in readers.SHARES.items()
    ]
    return made
