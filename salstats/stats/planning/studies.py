"""Simulated studies: drawn from a pilot, analysed by the package's own call, and counted."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.errors import SalstatsWarning
from salstats.jobs import in_batches
from salstats.stats.comparison_frames import (
    infer_and_test,
    options_for_flips,
    row_test_names,
    verdict_columns,
)
from salstats.stats.contrasts import difference, percent_decrease
from salstats.stats.engine.comparisons import ComparisonOptions, target_of_pairs
from salstats.stats.engine.equivalence import CLAIMS, SIDES, Margin, is_below
from salstats.stats.engine.inference import check_options
from salstats.stats.engine.resampling_units import Units
from salstats.stats.planning import formulas
from salstats.stats.planning.populations import Draw

#: Approximate number of rows that are analysed in one call, and the most studies.
_ROWS_AT_ONCE = 60_000
_STUDIES_AT_ONCE = 250


@dataclass(frozen=True)
class Plan:
    """Goal of each study, and the options of its analysis."""

    term: str
    level: float
    margin: Margin | None = None
    width: float | None = None
    interval: str | None = None
    test: str | None = None
    n_replicates: int = 1000

    @property
    def goal(self) -> str:
        """Name of the goal: a difference from 0, one inside the margin, or an interval of limited width."""
        if self.margin is not None:
            return "margin"
        if self.width is not None:
            return "width"
        return "difference"

    def analyse(self, scores: pd.DataFrame, **options: object) -> pd.DataFrame:
        """Analyse scores as a user would."""
        function = difference if self.term == "difference" else percent_decrease
        return function(
            scores,
            interval=self.interval,
            test=self.test,
            level=self.level,
            margin=self.margin,
            n_replicates=self.n_replicates,
            **options,  # type: ignore[arg-type]
        )

    def analyse_pairs(
        self,
        method_scores: np.ndarray,
        reference_scores: np.ndarray,
        units: Units,
        studies: np.ndarray,
        metric: str,
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        """Analyse pairs of several studies as `analyse` would; return a row for each study.

        Scores, units and studies have shape (n_pairs,).
        """
        options = check_options(self.term, self.interval, self.level, self.n_replicates, rng, draws=None)
        options = options_for_flips(options, self.test, adjust="none")
        test = self.test or options.test
        comparison = ComparisonOptions(
            "reference", by=["study"], pairs="complete", average=None, overall=False
        )
        keys = pd.DataFrame({"study": np.unique(studies), "method": "method", "reference": "reference"})
        paired_target = target_of_pairs(
            self.term, method_scores, reference_scores, units, studies, keys, comparison
        )
        target = paired_target.target
        estimates, tested = infer_and_test(paired_target, options, test, units)
        method_mean, reference_mean = target.estimand.row_levels(target.cells.means())
        metrics = np.full(len(keys), metric)
        columns = {
            "n_pairs": paired_target.n_pairs,
            "interval": estimates.interval_names,
            "test": row_test_names(test, estimates),
            "conf_low": estimates.conf_low,
            "conf_high": estimates.conf_high,
            "p_value": tested.p_value,
        }
        columns |= verdict_columns(estimates, reference_mean, method_mean, metrics, self.margin)
        return pd.DataFrame(columns)

    def reaches_goal(self, results: pd.DataFrame) -> np.ndarray:
        """Mask of the analysed studies, rows of `analyse_pairs`, that reach the goal."""
        if self.width is not None:
            widths = results["conf_high"] - results["conf_low"]
            return widths.to_numpy() <= self.width
        has_test = self.test not in (None, "none")
        if self.margin is None and has_test:
            # The test that was chosen decides; without one the interval does.
            return is_below(results["p_value"].to_numpy(), 1 - self.level)
        conclusive = SIDES[:2] if self.margin is None else CLAIMS
        return results["verdict"].str.contains("|".join(conclusive)).to_numpy(dtype=bool)

    def power(
        self,
        precision: formulas.Precision,
        effect: float,
        margin_bounds: tuple[float, float] | None = None,
    ) -> np.ndarray:
        """Return the chance by formula that a study reaches the goal."""
        if self.width is not None:
            return formulas.width_power(self.width, precision, self.level)
        if margin_bounds is not None:
            low, high = margin_bounds
            return formulas.margin_power(effect, precision, low, high, self.level)
        return formulas.t_power(effect, precision, self.level)


class StudyCounts(NamedTuple):
    """Summary of the simulated studies of one size."""

    #: Studies that reach the goal.
    n_shown: int
    #: Mean width of the intervals, and mean number of pairs.
    width: float
    n_pairs: float
    #: Most frequent interval and test.
    interval: str
    test: str


class _Block(NamedTuple):
    """Studies `first` to `last` - 1 of one size, which are analysed together."""

    size: int
    draw: Draw
    plan: Plan
    metric: str
    first: int
    last: int


def simulate(
    draws: Mapping[int, Draw], plan: Plan, metric: str, n_studies: int, *, jobs: int | None, progress: bool
) -> dict[int, StudyCounts]:
    """Simulate studies of each size, by the key of its draw; the same whatever `jobs` is."""
    blocks = []
    for size, draw in draws.items():
        block_size = int(np.clip(_ROWS_AT_ONCE / draw.n_rows, 1, _STUDIES_AT_ONCE))
        for first in range(0, n_studies, block_size):
            blocks.append(_Block(size, draw, plan, metric, first, min(first + block_size, n_studies)))
    pieces = in_batches(_analyse_blocks, blocks, jobs=jobs, progress=progress, label="simulating")
    results = pd.concat([frame for piece in pieces for frame in piece], ignore_index=True)
    counts = {}
    for size, rows in results.groupby("size", sort=False):
        counts[int(size)] = StudyCounts(
            n_shown=int(rows["shown"].sum()),
            width=float(rows["width"].mean()),
            n_pairs=float(rows["n_pairs"].mean()),
            interval=str(rows["interval"].mode()[0]),
            test=str(rows["test"].mode()[0]),
        )
    return counts


def _analyse_blocks(blocks: tuple[_Block, ...]) -> list[pd.DataFrame]:
    """Draw and analyse the studies of some blocks; return a frame for each block, with a row per study."""
    frames = []
    for block in blocks:
        method_scores, reference_scores, units, studies = block.draw.pairs(range(block.first, block.last))
        with warnings.catch_warnings():
            # Warnings are of single studies, and results are of their number.
            warnings.simplefilter("ignore", SalstatsWarning)
            # The number of units in the seed keeps this stream apart from those that studies are drawn by.
            rng = np.random.default_rng((block.draw.seed, block.first, block.draw.n_units))
            results = block.plan.analyse_pairs(
                method_scores, reference_scores, units, studies, block.metric, rng
            )
        frame = results[["n_pairs", "interval", "test"]].assign(
            size=block.size,
            shown=block.plan.reaches_goal(results),
            width=results["conf_high"] - results["conf_low"],
        )
        frames.append(frame)
    return frames
