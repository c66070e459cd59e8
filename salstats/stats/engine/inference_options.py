"""Checked options of inference: the interval, its level and its replicates; scores that must be 0 or 1."""

from dataclasses import dataclass, field, replace

import numpy as np

from salstats.checks import as_generator, check_count, check_level
from salstats.errors import Message, Setting, ValueRangeError
from salstats.stats.engine.intervals import Interval, choose_interval
from salstats.stats.engine.monte_carlo import fewest_replicates


@dataclass(frozen=True)
class Options:
    """Options of inference, checked."""

    interval: Interval
    level: float
    n_replicates: int
    rng: np.random.Generator = field(repr=False)
    #: (n_replicates, n_units): Units drawn for each replicate, as positions; None to draw them from `rng`.
    draws: np.ndarray | None = None

    @property
    def is_resampled(self) -> bool:
        """True if the interval is made from bootstrap replicates."""
        return self.interval.kind == "bootstrap"

    @property
    def is_flipped(self) -> bool:
        """True if the interval is made from sign flips."""
        return self.interval.kind == "flips"

    @property
    def agreeing_test_name(self) -> str:
        """Name of the paired test that agrees with the interval."""
        tests = {"bootstrap": "bootstrap", "flips": "wild", "share": "score"}
        if self.interval.kind in tests:
            return tests[self.interval.kind]
        if self.interval.extra_input == "cr2":
            return "cr2"
        return "t"

    def without_binary_defaults(self) -> "Options":
        """Return options whose interval is the same for 0/1 scores as for other scores."""
        return replace(self, interval=replace(self.interval, binary_defaults=()))

    def n_replicates_column_if_any(self) -> dict[str, int]:
        """Return the column `n_replicates` of an estimates frame, if the interval is made from replicates."""
        if self.is_resampled or self.is_flipped:
            return {"n_replicates": self.n_replicates}
        return {}


def checked_options(
    term: str,
    interval: str | None,
    level: float,
    n_replicates: int,
    rng: int | np.random.Generator,
    draws: object,
) -> Options:
    """Return checked options for estimates of `term`; `draws` are checked later, against the units."""
    chosen = choose_interval(interval, term, percentile_by_default=draws is not None)
    check_level(level)
    check_count(n_replicates, "n_replicates")
    generator = as_generator(rng)
    if draws is None:
        check_enough_replicates(chosen, level, n_replicates)
        return Options(chosen, level, n_replicates, generator)
    matrix = np.asarray(draws)
    n_draws = len(matrix) if matrix.ndim else 0
    return Options(chosen, level, n_draws, generator, matrix)


def check_enough_replicates(interval: Interval, level: float, n_replicates: int) -> None:
    """Raise ValueRangeError if replicates or flips are too few for limits between them at a level."""
    # an interval with a scale uses only the standard deviation of the replicates, not their quantiles
    if interval.kind not in ("bootstrap", "flips") or interval.scale:
        return
    enough = fewest_replicates(level, flips=interval.kind == "flips")
    if n_replicates < enough:
        raise ValueRangeError(
            Setting("interval", interval.name),
            f" needs at least {enough:,} replicates at level {level:.10g}, not {n_replicates:,}",
            hint=Message("give ", Setting("n_replicates", enough), " or more"),
            option="n_replicates",
            value=n_replicates,
        )


def check_binary(values: np.ndarray, option: str, choice: str) -> None:
    """Raise ValueRangeError unless all scores are 0, 1 or NaN; `option` and `choice` are for the message."""
    is_graded = ~np.isnan(values) & (values != 0) & (values != 1)
    if is_graded.any():
        raise ValueRangeError(
            Setting(option, choice),
            f" is for 0/1 scores, and there is a score {values[is_graded][0]:g}",
            hint=Message("keep the 0/1 metrics, or take another ", Setting(option)),
            column="score",
        )
