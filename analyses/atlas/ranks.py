"""Ranks of methods, and Kendall's tau between tasks.

Percentiles of replicates may fail, since a rank is no smooth function of the scores. Equal methods share the
average of their ranks.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from atlas.scenario import Band, Scenario
from atlas.studies import Cases, Design, Make, Margin, methods, score_columns

#: Limits from tests hold jointly, and so hold more than 95 % each.
BANDS = {name: Band(0.93, 1.0, 0.0, 1.0) for name in ("rank limits", "rank", "tau")}
_UNITS = (30, 100, 300)
_DEPENDENCE = (("1", 0.0), ("1-5", 0.3))


def _five_methods(*means: float) -> dict[str, Margin]:
    """Return the distributions of the scores of methods m0 to m4, by their means."""
    return {f"m{i}": Margin(mean, 0.05, 6) for i, mean in enumerate(means)}


_WIDELY_SPACED = _five_methods(0.3, 0.34, 0.38, 0.42, 0.46)
_NARROWLY_SPACED = _five_methods(0.3, 0.31, 0.32, 0.33, 0.34)
_EQUAL = _five_methods(0.3, 0.3, 0.3, 0.3, 0.3)
_TWO_EQUAL = _five_methods(0.3, 0.3, 0.4, 0.4, 0.4)


def _rank(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Estimate the rank of method m1, with the limits of `rank_stability`."""
    ranks = ss.rank_stability(frame, by="study", **draws, **options)
    return ranks[ranks["method"] == "m1"]


def _limits(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Estimate the rank of method m1, with limits from pairwise tests."""
    ranks = ss.rank_limits(ss.significance_map(frame, by="study", **draws, **options))
    return ranks[ranks["method"] == "m1"]


def _tau(frame: pd.DataFrame, draws: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    return ss.rank_agreement(frame, by="study", **draws, **options)


def _two_tasks(margins: Mapping[str, Margin]) -> Make:
    """Return a function that draws studies in which every case has two tasks with the same distributions."""

    def make(design: Design, n: int, rng: np.random.Generator) -> pd.DataFrame:
        cases = Cases.draw(design, n, rng)
        task_frames = []
        for task in ("one", "other"):
            scores = cases.scores(margins, rng)
            task_frames.append(cases.long(score_columns(scores)).assign(task=task))
        return pd.concat(task_frames, ignore_index=True)

    return make


def scenarios(gaze: Path | None = None) -> list[Scenario]:
    """Return scenarios of the rank of a method, and of the agreement of two rankings."""
    del gaze
    return [*_rank_scenarios(), *_tau_scenarios()]


def _rank_scenarios() -> Iterator[Scenario]:
    """Yield scenarios of the rank of m1 among five methods, of which the best has rank 1."""
    margins_by_name = {
        "five, .04 apart": _WIDELY_SPACED,
        "five, .01 apart": _NARROWLY_SPACED,
        "two equal of five": _TWO_EQUAL,
        "five, equal": _EQUAL,
    }
    true_ranks = {
        "five, .04 apart": 4.0,
        "five, .01 apart": 4.0,
        "two equal of five": 4.5,
        "five, equal": 3.0,
    }
    for name, margins in margins_by_name.items():
        scenario = partial(
            Scenario,
            name=name,
            make=methods(margins),
            truth=true_ranks[name],
            units=_UNITS,
            groups=5,
            dependence=_DEPENDENCE,
        )
        yield scenario("rank limits", call=_limits, textbook="tests")
        yield scenario("rank", call=_rank, textbook="percentile")


def _tau_scenarios() -> Iterator[Scenario]:
    """Yield scenarios of Kendall's tau between the rankings of two tasks, which are the same."""
    for name, margins in {"five, .04 apart": _WIDELY_SPACED, "five, .01 apart": _NARROWLY_SPACED}.items():
        yield Scenario(
            "tau",
            name,
            _two_tasks(margins),
            1.0,
            _tau,
            textbook="percentile",
            units=_UNITS,
            groups=10,
            dependence=_DEPENDENCE,
        )
