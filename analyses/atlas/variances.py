"""Variances of readers and cases in mixed models: shares of the variance and their profile limits."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from atlas.scenario import Band, Scenario
from atlas.studies import Design

#: What defaults are held to: a variance that cannot be negative is held too often where it is nothing.
BANDS = {"share of variance": Band(0.9, 1.0, 0.0, 0.08)}
_CASES = (30, 100)
_READERS = (4, 8, 16)
#: Shares of readers and of cases in the variance of a reading.
_SHARES = {"readers alike": (0.0, 0.4), "readers differ": (0.2, 0.4)}


def _readings(
    n_readers: int, shares: tuple[float, float], design: Design, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Readings of studies by readers of their own, of two methods, normal."""
    shape = (n, design.n_units, n_readers, 2)
    z = np.sqrt(1 - sum(shares)) * rng.standard_normal(shape)
    z += np.sqrt(shares[0]) * rng.standard_normal((n, 1, n_readers, 1))
    z += np.sqrt(shares[1]) * rng.standard_normal((n, design.n_units, 1, 1))
    study, case, reader, method = (index.ravel() for index in np.indices(shape))
    columns = {"study": study, "case": study * design.n_units + case, "reader": reader, "metric": "score"}
    return pd.DataFrame(columns | {"method": np.array(["cam", "human"])[method], "score": z.ravel()})


def _share(group: str, frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    model = ss.fit(frame, "score ~ method + (1|case) + (1|reader)", by="study", **options)
    found = model.variance_components()
    found = found[found["group"] == group].drop(columns=["conf_low", "conf_high", "estimate"])
    found["interval"] = "profile"
    return found.rename(columns={"share": "estimate", "share_low": "conf_low", "share_high": "conf_high"})


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Shares of readers, also of nothing, and of cases."""
    del gaze
    made = []
    for n_readers in _READERS:
        for how, shares in _SHARES.items():
            for group, share in zip(("reader", "case"), shares, strict=True):
                if group == "case" and not shares[0]:
                    continue
                made.append(
                    Scenario(
                        "share of variance",
                        f"{group}s, {n_readers} readers, {how}",
                        partial(_readings, n_readers, shares),
                        share,
                        partial(_share, group),
                        {"ML": {"reml": False}},
                        textbook="ML",
                        null=not share,
                        units=_CASES,
                        dependence=(("1", 0.0),),
                    )
                )
    return made
