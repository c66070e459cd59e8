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

#: Bands of the defaults: limits of a share of 0, which cannot be negative, cover it too often.
BANDS = {"share of variance": Band(0.9, 1.0, 0.0, 0.08)}
_CASES = (30, 100)
_READERS = (4, 8, 16)
#: Shares of readers and of cases in the variance of a reading.
_SHARES = {"readers alike": (0.0, 0.4), "readers differ": (0.2, 0.4)}


def _readings(
    n_readers: int, shares: tuple[float, float], design: Design, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw normal scores of studies with readers of their own, who read the cases with two methods."""
    reader_share, case_share = shares
    residual_share = 1 - sum(shares)
    shape = (n, design.n_units, n_readers, 2)
    scores = np.sqrt(residual_share) * rng.standard_normal(shape)
    scores += np.sqrt(reader_share) * rng.standard_normal((n, 1, n_readers, 1))
    scores += np.sqrt(case_share) * rng.standard_normal((n, design.n_units, 1, 1))
    study, case, reader, method = (index.ravel() for index in np.indices(shape))
    return pd.DataFrame(
        {
            "study": study,
            "case": study * design.n_units + case,
            "reader": reader,
            "metric": "score",
            "method": np.array(["cam", "human"])[method],
            "score": scores.ravel(),
        }
    )


def _share(group: str, frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Estimate the share of readers or cases (`group`) in the variance, with profile limits."""
    model = ss.fit(frame, "score ~ method + (1|case) + (1|reader)", by="study", **options)
    components = model.variance_components()
    components = components[components["group"] == group].drop(columns=["conf_low", "conf_high", "estimate"])
    components["interval"] = "profile"
    names = {"share": "estimate", "share_low": "conf_low", "share_high": "conf_high"}
    return components.rename(columns=names)


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return scenarios of the shares of readers, some of which are 0, and of cases."""
    del gaze
    listed = []
    for n_readers in _READERS:
        for spread, shares in _SHARES.items():
            for group, share in zip(("reader", "case"), shares, strict=True):
                if group == "case" and not shares[0]:
                    continue
                listed.append(
                    Scenario(
                        "share of variance",
                        f"{group}s, {n_readers} readers, {spread}",
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
    return listed
