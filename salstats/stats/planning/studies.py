"""Simulated studies: drawn from a pilot, analysed by the package's own call, and counted."""

import itertools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.errors import SalstatsWarning
from salstats.jobs import results_by_batch
from salstats.stats.comparison_frames import (
    infer_and_test,
    lower_or_higher_verdict_and_any_margin_columns,
    test_name_of_each_row,
    without_binary_defaults_if_wild_or_joint,
)
from salstats.stats.contrasts import difference, percent_decrease
from salstats.stats.engine.comparisons import ComparisonOptions, target_of_pairs
from salstats.stats.engine.equivalence import Margin, is_strictly_below, sides_and_claims
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.planning import formulas
from salstats.stats.planning.populations import DrawnPairs, StudySampler

#: Approximate number of scores that are analysed in one call, which limits memory.
_SCORES_AT_ONCE = 60_000
#: Largest number of studies that are analysed in one call.
_STUDIES_AT_ONCE = 250


@dataclass(frozen=True)
class Plan:
    """Goal of each study, and the options of its analysis."""

    #: "difference" or "percent_decrease".
    term: str
    level: float
    margin: Margin | None = None
    #: Largest width of the interval, if that is the goal.
    width: float | None = None
    interval: str | None = None
    test: str | None = None
    n_replicates: int = 1000

    @property
    def goal(self) -> Literal["difference", "margin", "width"]:
        """Name of the goal: "margin" if there is a margin, "width" if there is a width, else "difference"."""
        if self.margin is not None:
            return "margin"
        if self.width is not None:
            return "width"
        return "difference"

    def analyse(self, scores: pd.DataFrame, **options: object) -> pd.DataFrame:
        """Return the estimates of scores, with the options of the plan and others of `difference`."""
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

    def limits_and_verdict_of_each_study(
        self, pairs: DrawnPairs, metric: str, rng: np.random.Generator
    ) -> pd.DataFrame:
        """Analyse the pairs of each study as `analyse` would; return a row for each study."""
        options = checked_options(self.term, self.interval, self.level, self.n_replicates, rng, draws=None)
        options = without_binary_defaults_if_wild_or_joint(options, self.test, adjust="none")
        test = self.test or options.agreeing_test_name
        comparison = ComparisonOptions(
            "reference", by=["study"], pairs="complete", average=None, overall=False
        )
        keys = pd.DataFrame({"study": np.unique(pairs.studies), "method": "method", "reference": "reference"})
        paired_target = target_of_pairs(
            self.term,
            pairs.method_scores,
            pairs.reference_scores,
            pairs.units,
            groups=pairs.studies,
            keys=keys,
            comparison=comparison,
        )
        target = paired_target.target
        estimates, test_result = infer_and_test(paired_target, options, test, pairs.units)
        method_mean, reference_mean = target.estimand.method_and_reference_levels_by_estimate(
            target.cells.means()
        )
        metrics = np.full(len(keys), metric)
        columns = {
            "n_pairs": paired_target.n_pairs,
            "interval": estimates.interval_name_of_each_row,
            "test": test_name_of_each_row(test, estimates),
            "conf_low": estimates.conf_low,
            "conf_high": estimates.conf_high,
            "p_value": test_result.p_value,
        }
        columns |= lower_or_higher_verdict_and_any_margin_columns(
            estimates, reference_mean, method_mean, metrics, self.margin
        )
        return pd.DataFrame(columns)

    def reaches_goal(self, results: pd.DataFrame) -> NDArray[np.bool_]:
        """Mask of the analysed studies, rows of `limits_and_verdict_of_each_study`, that reach the goal."""
        if self.width is not None:
            widths = results["conf_high"] - results["conf_low"]
            return widths.to_numpy() <= self.width
        has_test = self.test not in (None, "none")
        if self.margin is None and has_test:
            # The test that was chosen decides; without one the interval does.
            return is_strictly_below(results["p_value"].to_numpy(), 1 - self.level)
        sides, claims = sides_and_claims(results["verdict"])
        if self.margin is None:
            return np.asarray(sides != "inconclusive")
        return np.asarray(claims != "")

    def power(
        self,
        precision: formulas.Precision,
        effect: float,
        margin_bounds: tuple[float, float] | None = None,
    ) -> np.ndarray:
        """Return the chance by formula that a study reaches the goal, with the shape of the precision."""
        if self.width is not None:
            return formulas.width_power(self.width, precision, self.level)
        if margin_bounds is not None:
            low, high = margin_bounds
            return formulas.margin_power(effect, precision, low, high, self.level)
        return formulas.t_power(effect, precision, self.level)


class StudyCounts(NamedTuple):
    """Summary of the simulated studies of one size."""

    #: Studies that reach the goal of the plan: a significant effect, the margin or the width.
    n_reaching_goal: int
    #: Mean width of the intervals.
    width: float
    #: Mean number of pairs with both scores.
    n_pairs: float
    #: Name of the most frequent interval.
    interval: str
    #: Name of the most frequent test.
    test: str


class _Block(NamedTuple):
    """Studies of one size that are drawn and analysed together."""

    #: Number of units of each study.
    n_units: int
    sampler: StudySampler
    plan: Plan
    metric: str
    #: Numbers of the studies.
    studies: range


def simulate_studies(
    samplers: Mapping[int, StudySampler],
    plan: Plan,
    metric: str,
    n_studies: int,
    *,
    jobs: int | None,
    progress: bool,
) -> dict[int, StudyCounts]:
    """Simulate `n_studies` studies of each size and return their counts, by number of units.

    `samplers` has a sampler for each number of units. The counts do not depend on `jobs`.
    """
    blocks = []
    for n_units, sampler in samplers.items():
        block_size = int(np.clip(_SCORES_AT_ONCE / sampler.mean_n_scores, 1, _STUDIES_AT_ONCE))
        for first in range(0, n_studies, block_size):
            studies = range(first, min(first + block_size, n_studies))
            blocks.append(_Block(n_units, sampler, plan, metric, studies))
    batches = results_by_batch(_analyse_blocks, blocks, jobs=jobs, progress=progress, label="simulating")
    results = pd.concat(itertools.chain.from_iterable(batches), ignore_index=True)
    counts = {}
    for n_units, rows in results.groupby("n_units", sort=False):
        counts[int(n_units)] = StudyCounts(
            n_reaching_goal=int(rows["reaches_goal"].sum()),
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
        pairs = block.sampler.draw_pairs(block.studies)
        # The number of units in the seed makes this stream different from those that draw the studies.
        rng = np.random.default_rng((block.sampler.seed, block.studies.start, block.sampler.n_units))
        with warnings.catch_warnings():
            # Warnings about a single simulated study do not concern the plan.
            warnings.simplefilter("ignore", SalstatsWarning)
            results = block.plan.limits_and_verdict_of_each_study(pairs, block.metric, rng)
        frame = results[["n_pairs", "interval", "test"]].assign(
            n_units=block.n_units,
            reaches_goal=block.plan.reaches_goal(results),
            width=results["conf_high"] - results["conf_low"],
        )
        frames.append(frame)
    return frames
