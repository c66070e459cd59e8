"""Simulated studies: drawn from a pilot, analysed by the package's own call, and counted."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import SalstatsWarning
from salstats.jobs import in_pieces
from salstats.stats.contrast_rows import infer_and_test, options_for_flips, row_test_names, verdict_columns
from salstats.stats.contrasts import difference, percent_decrease
from salstats.stats.engine.comparisons import Comparison, compare_pairs
from salstats.stats.engine.equivalence import CLAIMS, SIDES, Margin, is_below
from salstats.stats.engine.inference import check_options
from salstats.stats.engine.units import Units
from salstats.stats.planning import formulas
from salstats.stats.planning.populations import Draw

#: Rows of one call, about, and its studies at most.
_ROWS_AT_ONCE, _STUDIES_AT_ONCE = 60_000, 250
#: What a study is planned to show.
GOALS = ("difference", "margin", "width")


@dataclass(frozen=True)
class Plan:
    """What each study is to show, and how it is analysed."""

    term: str
    level: float
    margin: Margin | None = None
    width: float | None = None
    interval: str | None = None
    test: str | None = None
    n_replicates: int = 1000

    @property
    def goal(self) -> str:
        """A difference that is not 0, one inside the margin, or an interval that is no wider than asked."""
        return GOALS[1] if self.margin is not None else GOALS[2] if self.width is not None else GOALS[0]

    def analyse(self, scores: pd.DataFrame, **options: object) -> pd.DataFrame:
        """Analyse scores as a user would."""
        call = difference if self.term == "difference" else percent_decrease
        return call(
            scores,
            interval=self.interval,
            test=self.test,
            level=self.level,
            margin=self.margin,
            n_replicates=self.n_replicates,
            **options,  # type: ignore[arg-type]
        )

    def analyse_pairs(
        self, own: np.ndarray, other: np.ndarray, units: Units, studies: np.ndarray, metric: str,
        rng: np.random.Generator,
    ) -> pd.DataFrame:  # fmt: skip
        """Analyse pairs of several studies as `analyse` would, a row each."""
        options = check_options(self.term, self.interval, self.level, self.n_replicates, rng, None)
        options = options_for_flips(options, self.test, "none")
        test, asked = self.test or options.test, Comparison("reference", ["study"], "complete", None, False)
        keys = pd.DataFrame({"study": np.unique(studies), "method": "method", "reference": "reference"})
        compared = compare_pairs(self.term, own, other, units, studies, keys, asked)
        target = compared.target
        found, tested = infer_and_test(compared, options, test, units)
        own_mean, other_mean = target.estimand.row_levels(target.cells.means())
        return pd.DataFrame(
            {
                "n_pairs": compared.n_pairs,
                "interval": found.taken,
                "test": row_test_names(test, found),
                "conf_low": found.conf_low,
                "conf_high": found.conf_high,
                "p_value": tested.p_value,
                **verdict_columns(found, other_mean, own_mean, np.full(len(keys), metric), self.margin),
            }
        )

    def shown(self, found: pd.DataFrame) -> np.ndarray:
        """Which studies show what they were to show."""
        if self.width is not None:
            return (found["conf_high"] - found["conf_low"]).to_numpy() <= self.width
        if self.margin is None and self.test not in (None, "none"):
            # a test that was asked for decides; without one it is the interval that does
            return is_below(found["p_value"].to_numpy(), 1 - self.level)
        words = SIDES[:2] if self.margin is None else CLAIMS
        return found["verdict"].str.contains("|".join(words)).to_numpy(dtype=bool)

    def power(
        self, of: formulas.Precision, effect: float, bounds: tuple[float, float] | None = None
    ) -> np.ndarray:
        """Chance by formula that a study shows it; `bounds` are those of the margin."""
        if self.width is not None:
            return formulas.width_power(self.width, of, self.level)
        if bounds is not None:
            return formulas.margin_power(effect, of, *bounds, self.level)
        return formulas.t_power(effect, of, self.level)


class Counted(NamedTuple):
    """What studies of one size gave: how many showed it, mean width and pairs, how they were analysed."""

    n_shown: int
    width: float
    n_pairs: float
    interval: str
    test: str


class _Block(NamedTuple):
    """Some studies of one size."""

    size: int
    draw: Draw
    plan: Plan
    metric: str
    first: int
    last: int


def simulate(
    draws: Mapping[int, Draw], plan: Plan, metric: str, n_studies: int, *, jobs: int | None, progress: bool
) -> dict[int, Counted]:
    """Simulate studies of each size, by the key of its draw; the same whatever `jobs` is."""
    blocks = []
    for size, draw in draws.items():
        at_once = int(np.clip(_ROWS_AT_ONCE / draw.n_rows, 1, _STUDIES_AT_ONCE))
        starts = range(0, n_studies, at_once)
        blocks += [_Block(size, draw, plan, metric, i, min(i + at_once, n_studies)) for i in starts]
    pieces = in_pieces(_run, blocks, jobs=jobs, progress=progress, label="simulating")
    found = pd.concat([frame for piece in pieces for frame in piece], ignore_index=True)
    counted = {}
    for size, rows in found.groupby("size", sort=False):
        interval, test = (str(rows[name].mode()[0]) for name in ("interval", "test"))
        width, pairs = float(rows["width"].mean()), float(rows["n_pairs"].mean())
        counted[int(size)] = Counted(int(rows["shown"].sum()), width, pairs, interval, test)
    return counted


def _run(blocks: tuple[_Block, ...]) -> list[pd.DataFrame]:
    """Studies of some blocks, a row each."""
    results = []
    for block in blocks:
        studies = range(block.first, block.last)
        own, other, units, study = block.draw.pairs(studies)
        with warnings.catch_warnings():
            # what deserves a look in one study is what their number shows
            warnings.simplefilter("ignore", SalstatsWarning)
            # apart from the streams of the studies
            rng = np.random.default_rng((block.draw.seed, block.first, block.draw.n_units))
            found = block.plan.analyse_pairs(own, other, units, study, block.metric, rng)
        width = found["conf_high"] - found["conf_low"]
        results.append(
            found[["n_pairs", "interval", "test"]].assign(
                size=block.size, shown=block.plan.shown(found), width=width
            )
        )
    return results
