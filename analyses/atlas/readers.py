"""Methods compared by a few readers who are drawn as well as cases: `mrmc`, beside `difference`.

A reader is better or worse than others with every method (as a case is easier or harder), and with one method
by more than with another (as cases are); both are shares of the variance of a single reading.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import salstats as ss
from atlas.scenario import Band, Scenario
from atlas.studies import Design

#: What defaults are held to: few readers leave few degrees of freedom, which are estimated.
BANDS = {"difference of readers": Band(0.92, 0.98, 0.02, 0.08)}
#: Numbers of cases.
CASES = (30, 100)
READERS = (3, 4, 6)
#: Shares of the variance: readers and cases, readers and cases by method; the rest is each reading's own.
SHARES = {
    "alike": (0.0, 0.2, 0.0, 0.1),
    "differ": (0.2, 0.2, 0.02, 0.1),
    "differ much": (0.3, 0.2, 0.08, 0.1),
}


def readings(
    n_readers: int, shares: tuple[float, ...], kind: str, design: Design, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Readings of studies by readers of their own, of two methods that are equally good."""
    of_reader, of_case, by_reader, by_case = np.sqrt(shares)
    rest = np.sqrt(1 - sum(shares))

    def effect(sd: float, *axes: int) -> np.ndarray:
        sizes = (n, design.n_units, n_readers, 2)
        return sd * rng.standard_normal([size if axis in axes else 1 for axis, size in enumerate(sizes)])

    z = effect(of_reader, 0, 2) + effect(of_case, 0, 1) + effect(by_reader, 0, 2, 3)
    z = z + effect(by_case, 0, 1, 3) + effect(rest, 0, 1, 2, 3)
    positive = np.arange(design.n_units) % 2 == 0
    if kind == "areas":
        # readers differ in how far apart they rate the classes
        shift = 1.2 + effect(of_reader, 0, 2) + effect(by_reader, 0, 2, 3)
        z = effect(of_case, 0, 1) + effect(by_case, 0, 1, 3) + effect(rest, 0, 1, 2, 3)
        z = z + shift * positive[None, :, None, None]
    scores = {"hits": (z > -0.5).astype(float), "means": special.ndtr(z), "areas": z}[kind]
    study, case, reader, method = (index.ravel() for index in np.indices(scores.shape))
    # units of all studies have the same names, and so the same draws
    columns = {"study": study, "patient": case, "case": study * design.n_units + case, "reader": reader}
    columns |= {"method": np.array(["cam", "human"])[method], "metric": "score", "score": scores.ravel()}
    return pd.DataFrame(columns | {"label": positive[case].astype(float)})


def _compared(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.mrmc(frame, reference="human", by="study", **options)
    return found[found["term"] == "difference"]


def _by_cases(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    if options.pop("cases_alone", False):
        return ss.difference(frame.drop(columns="label"), reference="human", by="study", **draws, **options)
    return _compared(frame, draws, **options)


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Differences of means and of hit rates, and of ROC areas, of nothing."""
    del gaze
    made = []
    for kind in ("means", "hits", "areas"):
        of_areas = {"figure": "auc", "label": "label"} if kind == "areas" else {}
        others: dict[str, Mapping[str, Any]] = {"fixed readers": {"readers": "fixed", **of_areas}}
        others |= {"delong": {"covariance": "delong", **of_areas}} if of_areas else {}
        others |= {} if of_areas else {"cases alone": {"cases_alone": True}}
        for n_readers in READERS:
            for how, shares in SHARES.items():
                made.append(
                    Scenario(
                        "difference of readers",
                        f"{kind}, {n_readers} readers, {how}",
                        partial(readings, n_readers, shares, kind),
                        0.0,
                        partial(_by_cases, **of_areas) if of_areas else _by_cases,
                        others,
                        null=True,
                        textbook="" if of_areas else "cases alone",
                        units=CASES,
                        dependence=(("1", 0.0),),
                    )
                )
    return made
