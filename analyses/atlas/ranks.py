"""Ranks of methods, and tau between tasks: whether limits hold what is true.

Percentiles of replicates need not: a rank is no smooth function of the scores. Equal methods share the
average of their ranks.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from atlas.scenario import Band, Scenario
from atlas.studies import Cases, Design, Make, Margin, methods

#: Limits from tests hold jointly, and so hold more than 95 % each.
BANDS = {name: Band(0.93, 1.0, 0.0, 1.0) for name in ("rank limits", "rank", "tau")}
_UNITS, _ALONE = (30, 100, 300), (("1", 0.0), ("1-5", 0.3))
_APART = {f"m{i}": Margin(0.3 + 0.04 * i, 0.05, 6) for i in range(5)}
_CLOSE = {f"m{i}": Margin(0.3 + 0.01 * i, 0.05, 6) for i in range(5)}
_EQUAL = {f"m{i}": Margin(0.3, 0.05, 6) for i in range(5)}
_PAIR = {name: Margin(0.3 if name in ("m0", "m1") else 0.4, 0.05, 6) for name in _EQUAL}


def _rank(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """The rank of one method."""
    found = ss.rank_stability(frame, by="study", **draws, **options)
    return found[found["method"] == "m1"]


def _limits(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    found = ss.rank_limits(ss.significance_map(frame, by="study", **draws, **options))
    return found[found["method"] == "m1"]


def _tau(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.rank_agreement(frame, by="study", **draws, **options)


def _of_two_tasks(margins: Mapping[str, Margin]) -> Make:
    """Studies of two tasks, asked of every case, in which the methods are as good."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        parts = [
            cases.long({m: {"score": s} for m, s in cases.scores(margins, rng).items()}).assign(task=task)
            for task in ("one", "other")
        ]
        return pd.concat(parts, ignore_index=True)

    return make


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return the scenarios of this module."""
    return [*_of_ranks(), *_of_tau()]


def _of_ranks() -> Iterator[Scenario]:
    named = {"five, .04 apart": (_APART, 4.0), "five, .01 apart": (_CLOSE, 4.0)}
    named |= {"two equal of five": (_PAIR, 4.5), "five, equal": (_EQUAL, 3.0)}
    for name, (margins, truth) in named.items():
        yield Scenario(
            "rank limits", name, methods(margins), truth, _limits, textbook="tests", units=_UNITS, groups=5,
            dependence=_ALONE,
        )  # fmt: skip
        yield Scenario(
            "rank", name, methods(margins), truth, _rank, textbook="percentile", units=_UNITS, groups=5,
            dependence=_ALONE,
        )  # fmt: skip


def _of_tau() -> Iterator[Scenario]:
    for name, margins in {"five, .04 apart": _APART, "five, .01 apart": _CLOSE}.items():
        yield Scenario(
            "tau", name, _of_two_tasks(margins), 1.0, _tau, textbook="percentile", units=_UNITS, groups=10,
            dependence=_ALONE,
        )  # fmt: skip
