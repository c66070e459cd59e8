"""From a target to estimates, standard errors and limits: options, replicates, limits, bootstrap p-values."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from salstats.checks import (
    ValueRangeError,
    check_count,
    check_draws,
    check_generator,
    check_level,
)
from salstats.stats.engine import advice, limits
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.cautions import (
    FEW_EVENTS,
    FEW_UNITS,
    MOSTLY_ZEROS,
    NEARLY_ALL_LOST,
    OUTLYING_UNITS,
    Caution,
    caution_column,
)
from salstats.stats.engine.cr2 import Influences, cr2, influences
from salstats.stats.engine.draws import few_threads, weight_blocks
from salstats.stats.engine.estimands import Cells, Estimand, Target, ratio
from salstats.stats.engine.few_units import few_equal_units, few_events
from salstats.stats.engine.intervals import Basis, Interval, choose_interval
from salstats.stats.engine.monte_carlo import SIDES, fewest_replicates
from salstats.stats.engine.outlying_units import few_units_decide
from salstats.stats.engine.variances import (
    analytic_variance,
    drawn_variances,
    jackknife,
    levels_and_covariance,
)
from salstats.stats.engine.weighting import worth_units
from salstats.stats.engine.wild import Contrast, Flipped, flip, signs_of

#: Terms that are of scores, where 0 can be a complete failure.
_OF_SCORES = ("mean", "difference", "percent_decrease")
#: Share of units whose scores are all 0, from which 0 is no exception.
_MANY_ZEROS = 0.25


@dataclass(frozen=True)
class Options:
    """How to infer: what the public functions take, checked."""

    interval: Interval
    level: float
    n_replicates: int
    rng: np.random.Generator = field(repr=False)
    draws: np.ndarray | None = None

    @property
    def resampled(self) -> bool:
        """Whether the interval is made from replicates."""
        return self.interval.kind == "bootstrap"

    @property
    def flipped(self) -> bool:
        """Whether the interval is made from flips of signs."""
        return self.interval.kind == "flips"

    @property
    def test(self) -> str:
        """The paired test that is one procedure with the interval."""
        names = {"bootstrap": "bootstrap", "flips": "wild", "share": "score"}
        return names.get(self.interval.kind, "cr2" if self.interval.needs == "cr2" else "t")

    def of_graded(self) -> "Options":
        """Return options that treat 0/1 scores as all others."""
        return replace(self, interval=replace(self.interval, of_trials=()))

    def columns(self) -> dict[str, int]:
        """Column `n_replicates` of an estimates frame, where the interval is made from replicates."""
        return {"n_replicates": self.n_replicates} if self.resampled or self.flipped else {}


def check_options(
    term: str,
    interval: str | None,
    level: float,
    n_replicates: int,
    rng: int | np.random.Generator,
    draws: object,
) -> Options:
    """Checked options for what is estimated; whether draws are of as many units as there are shows later."""
    record = choose_interval(interval, term, drawn=draws is not None)
    check_level(level)
    check_count(n_replicates, "n_replicates")
    generator = check_generator(rng)
    if draws is None:
        _check_replicates(record, level, n_replicates)
        return Options(record, level, n_replicates, generator)
    matrix = np.asarray(draws)
    return Options(record, level, len(matrix) if matrix.ndim else 0, generator, matrix)


@dataclass(frozen=True)
class Estimates:
    """Estimates with all that an estimates frame wants to know of them; arrays of shape (n_rows,)."""

    target: Target
    options: Options
    basis: Basis = field(repr=False)
    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray
    conf_low: np.ndarray
    conf_high: np.ndarray
    n_units: np.ndarray
    smallest: np.ndarray
    bias: np.ndarray
    n_undefined: np.ndarray
    scale: np.ndarray
    replicates: np.ndarray | None = field(default=None, repr=False)
    gap_replicates: np.ndarray | None = field(default=None, repr=False)
    conf_set: np.ndarray | None = None
    zero_in_gap: np.ndarray | None = None
    flips: Flipped | None = field(default=None, repr=False)
    #: Rows that get the limits and P values of `cr2` instead.
    by_cr2: np.ndarray | None = None
    #: Rows that each caution concerns.
    cautions: dict[Caution, np.ndarray] = field(default_factory=dict)
    #: Levels of the limits where they differ from that of the options.
    levels: np.ndarray | None = None

    @property
    def taken(self) -> np.ndarray:
        """Name of each row's interval."""
        record = self.options.interval
        names = np.full(len(self.estimate), record.name, dtype=object)
        if record.of_trials:
            names = np.where(self.basis.trials, record.of_trials[0], names)
        return names if self.by_cr2 is None else np.where(self.by_cr2, "cr2", names)

    @property
    def conf_level(self) -> np.ndarray:
        """Level of each row's limits."""
        if self.levels is not None:
            return self.levels
        return np.full(len(self.estimate), self.options.level)

    def columns(self, unit: str) -> dict[str, Any]:
        """Columns of an estimates frame."""
        columns = {
            "term": self.target.term,
            "estimate": self.estimate,
            "std_error": self.std_error,
            "conf_low": self.conf_low,
            "conf_high": self.conf_high,
            "conf_level": self.conf_level,
            "interval": self.taken,
            "unit": unit,
            "n": self.target.estimand.count(self.target.cells),
            "n_missing": self.target.n_missing,
            "n_units": self.n_units,
        }
        if self.options.resampled:
            columns |= {"n_undefined": self.n_undefined, "bias": self.bias}
        if self.options.interval.kind == "t":
            columns |= {"df": self.df}
        return columns | caution_column(self.cautions)


def infer(
    target: Target, options: Options, *, gaps: bool = False, flips: bool = False, constant: bool = False
) -> Estimates:
    """Estimate, resample and find the limits.

    With `gaps` replicates of the differences are drawn too (for a p-value), and with `flips` signs are
    flipped, although the interval needs none. Where scores that are `constant` are known and not uncertain,
    intervals of width 0 are no matter.
    """
    cells, estimand, record = target.cells, target.estimand, options.interval
    if record.partial:
        estimand = replace(estimand, partial=True)
    means = cells.means()
    estimate, scale = estimand.value(means), estimand.scale(means)
    sizes = cells.counts @ estimand.cells_of_rows().astype(np.float64)
    n_units = (sizes > 0).sum(axis=0)
    std_error = variance = df = np.full(len(estimate), np.nan)
    flipped = None
    beyond = np.zeros(len(estimate), bool)
    if cells.beyond is not None:
        beyond = cells.beyond @ estimand.cells_of_rows()
    trials = np.zeros_like(beyond)
    if record.of_trials:
        trials = _trials(cells, estimand) & ~beyond
    outlying = exceptional = np.zeros_like(beyond)
    of_scores = estimand.then is None and target.term in _OF_SCORES
    if record.needs == "cr2":
        robust = cr2(cells.sums, cells.counts, estimand.gradient(means), cells.squares)
    if of_scores:
        graded = cells.is_graded @ estimand.cells_of_rows()
        if target.term == "percent_decrease":
            # the units that decide are those of the difference
            parts = influences(cells.sums, cells.counts, estimand.gap().gradient(means))
        elif record.needs == "cr2":
            parts = robust.units
        else:
            parts = influences(cells.sums, cells.counts, estimand.gradient(means))
        position = np.where(parts.leverage > 0, ratio(parts.influence, parts.leverage), np.nan)
        outlying = graded & few_units_decide(parts.influence, position)
        exceptional = outlying & ~_many_zeros(cells, estimand)
    if record.needs == "cr2":
        variance, df, spread_df = robust.variance, robust.df, robust.spread_df
        if record.bounded:
            df = np.where(beyond, df, np.fmin(df, spread_df))
        if record.mistakes_outlying:
            df = np.where(exceptional, np.fmin(df, spread_df), df)
        df = np.where(trials | (record.kind == "share"), np.nan, df)
        std_error = np.sqrt(variance)
    elif not options.resampled or record.needs == "variances":
        variance, df = analytic_variance(cells, estimand)
        std_error = np.sqrt(variance)
    if options.flipped or flips:
        flipped = flip_units(cells, estimand, options)
    replicates = variances = gap_replicates = None
    bias, n_undefined = np.full(len(estimate), np.nan), np.zeros(len(estimate), dtype=np.int64)
    if options.resampled or gaps:
        replicates, variances, gap_replicates = replicate(
            cells, estimand, options, gaps=gaps, variances=record.needs == "variances"
        )
        mean, spread, n_defined = moments(replicates)
        bias, n_undefined = mean - estimate, len(replicates) - n_defined
        if options.resampled:
            std_error, df = spread, np.full(len(estimate), np.nan)
    elif options.draws is not None:
        check_draws(options.draws, len(cells.sums))
    std_error = np.where(std_error <= ROUNDING * scale, 0.0, std_error)
    # a proportion is a single cell per row: its size is that cell's
    n = cells.n @ estimand.first if record.kind == "share" or record.of_trials else np.empty(0)
    none, worth, levels = np.empty(0), n_units, None
    of_paired_shares = _is_ratio(estimand) and (record.kind == "share" or bool(trials.any()))
    if record.needs == "levels" or of_paired_shares:
        levels = levels_and_covariance(cells, estimand)
    if cells.squares is not None:
        used = estimand.cells_of_rows().astype(np.float64)
        worth = worth_units(cells.counts @ used, cells.squares @ used)
    basis = Basis(
        target.term, options.level, estimate, std_error, df, variance, bias, n, worth, ROUNDING * scale,
        none if replicates is None else replicates, none if variances is None else variances,
        jackknife(cells, estimand) if record.needs == "jackknife" else none,
        levels, flipped, _is_ratio(estimand),
        beyond, trials, exceptional,
    )  # fmt: skip
    smallest = np.where(estimand.cells_of_rows(), cells.sample_units()[:, None], np.inf).min(axis=0)
    if record.needs != "cr2":
        # of one unit nothing is known of how others differ
        std_error = np.where(smallest < 2, np.nan, std_error)
    found = Estimates(
        target, options, basis, estimate, std_error, df, none, none, n_units, smallest, bias, n_undefined,
        scale, replicates, gap_replicates, flips=flipped,
    )  # fmt: skip
    found = at_level(found, options.level)
    if constant:
        low, high = (np.where(basis.std_error == 0, estimate, e) for e in (found.conf_low, found.conf_high))
        found = replace(found, conf_low=low, conf_high=high)
    found = replace(found, cautions=_cautions(found, sizes, outlying))
    _warn(found, sizes, constant)
    return found


def at_level(found: Estimates, level: float) -> Estimates:
    """Estimates with their limits at a level."""
    record, basis = found.options.interval, replace(found.basis, level=level)
    _check_replicates(record, level, found.options.n_replicates)
    low, high, *sets = record.limits(basis)
    conf_set, zero_in_gap = sets or (None, None)
    if record.of_trials and basis.trials.any():
        exact = choose_interval(record.of_trials[0], basis.term).limits(basis)
        low, high = (
            np.where(basis.trials, other, own) for own, other in zip((low, high), exact, strict=True)
        )
    by_cr2 = None
    rows = np.zeros(len(low), dtype=bool)
    if record.instead is not None:
        rows = record.instead(basis)
    if record.mistakes_outlying:
        rows = rows | basis.outlying
    if rows.any():
        by_cr2 = rows
        by_t = limits.t_limits(basis.estimate, basis.std_error, basis.df, level)
        low, high = (np.where(by_cr2, other, own) for own, other in zip((low, high), by_t, strict=True))
    unknown = found.smallest < 2 if record.kind != "share" else np.zeros(len(low), dtype=bool)
    if record.needs == "cr2":
        # where nothing varies nothing tells how far off an estimate is; Wilson's interval knows its bounds
        unknown = ~(basis.std_error > 0)
        if record.bounded:
            unknown &= False if by_cr2 is None else by_cr2
        unknown &= ~basis.trials
    low, high = (np.where(unknown, np.nan, limit) for limit in (low, high))
    return replace(
        found, options=replace(found.options, level=level), basis=basis, conf_low=low, conf_high=high,
        conf_set=conf_set, zero_in_gap=zero_in_gap, by_cr2=by_cr2,
    )  # fmt: skip


def at_levels(found: Estimates, levels: np.ndarray) -> Estimates:
    """Estimates with the limits of each row at a level of its own; NaN leaves a row's limits as they are."""
    low, high = found.conf_low.copy(), found.conf_high.copy()
    conf_set = None if found.conf_set is None else found.conf_set.copy()
    zero_in_gap = None if found.zero_in_gap is None else found.zero_in_gap.copy()
    for level in np.unique(levels[~np.isnan(levels)]):
        rows = levels == level
        changed = at_level(found, float(level))
        low[rows] = changed.conf_low[rows]
        high[rows] = changed.conf_high[rows]
        if conf_set is not None and changed.conf_set is not None:
            conf_set[rows] = changed.conf_set[rows]
        if zero_in_gap is not None and changed.zero_in_gap is not None:
            zero_in_gap[rows] = changed.zero_in_gap[rows]
    levels = np.where(np.isnan(levels), found.options.level, levels)
    return replace(
        found, levels=levels, conf_low=low, conf_high=high, conf_set=conf_set, zero_in_gap=zero_in_gap
    )


def _check_replicates(record: Interval, level: float, n_replicates: int) -> None:
    """Raise where replicates are too few for limits at a level."""
    if record.kind not in ("bootstrap", "flips") or record.scale:
        return
    enough = fewest_replicates(level, flips=record.kind == "flips")
    if n_replicates < enough:
        raise ValueRangeError(
            f"interval={record.name!r} needs at least {enough:,} replicates at level {level:.10g}, not "
            f"{n_replicates:,}; give n_replicates={enough} or more"
        )


def _many_zeros(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Find rows in which 0 is no exception: more than a quarter of the units of a cell have nothing else."""
    there = cells.counts > 0
    zeros = ((cells.sums == 0) & there).sum(axis=0) > _MANY_ZEROS * there.sum(axis=0)
    return np.asarray((zeros[:, None] & estimand.cells_of_rows()).any(axis=0))


def _cautions(found: Estimates, sizes: np.ndarray, outlying: np.ndarray) -> dict[Caution, np.ndarray]:
    """Find the rows that each caution concerns.

    `sizes` (n_units, n_rows) are defined scores of units, and `outlying` rows that a few units decide.
    """
    target, estimand = found.target, found.target.estimand
    cautions = {
        FEW_UNITS: few_equal_units(sizes) | _rough(found),
        OUTLYING_UNITS: outlying,
    }
    if target.term not in _OF_SCORES or estimand.then is not None:
        return cautions
    # zeros among 0/1 scores are as good as ones
    graded = target.cells.is_graded @ estimand.cells_of_rows()
    cautions[MOSTLY_ZEROS] = graded & advice.mostly_zeros(_telling(target), found.n_units)
    if target.term == "percent_decrease":
        varies = found.conf_low < found.conf_high
        cautions[NEARLY_ALL_LOST] = graded & varies & advice.nearly_all_lost(found.estimate, found.n_units)
    if estimand.second is not None:
        # score limits of one 0/1 pair of each unit hold however few of them differ
        of_trials = np.zeros_like(graded)
        if found.options.interval.of_trials:
            of_trials = found.basis.trials
        few = few_events(_discordant(target)) & (found.smallest > 1)
        cautions[FEW_EVENTS] = ~graded & ~of_trials & few
    return cautions


def _rough(found: Estimates) -> np.ndarray:
    """Find rows whose limits are Student's t with few degrees of freedom."""
    record = found.options.interval
    by_t = np.full(len(found.df), record.kind == "t") if found.by_cr2 is None else found.by_cr2
    df = found.df
    if record.bounded or record.mistakes_outlying:
        # these take few degrees of freedom from a few scores that differ, and hold
        df = np.maximum(df, found.smallest - 1)
    return advice.rough(np.where(by_t, df, np.nan))


def _warn(found: Estimates, sizes: np.ndarray, constant: bool) -> None:
    """Warn of what deserves a look."""
    target, record, alone = found.target, found.options.interval, found.smallest < 2
    estimand, keys, term = target.estimand, target.keys, target.term
    if found.replicates is not None:
        what = f"{record.name} intervals" if found.options.resampled else "bootstrap tests"
        advice.warn_few_units(found.smallest, keys, what, term)
        advice.warn_undefined(found.n_undefined, len(found.replicates), keys)
    advice.warn_rough(np.where(_rough(found), found.df, np.nan), keys)
    if record.needs == "cr2":
        n_cells = estimand.cells_of_rows().sum(axis=0)
        advice.warn_rare(found.smallest, n_cells > (1 if estimand.second is None else 2), keys)
    elif record.kind != "share":
        few = found.smallest < advice.FEW_UNITS if found.options.resampled else advice.rough(found.df)
        advice.warn_unequal_units(sizes, few, keys, term)
    nothing = np.zeros(len(found.estimate), dtype=bool)
    if term == "percent_decrease":
        advice.warn_nearly_all_lost(found.cautions.get(NEARLY_ALL_LOST, nothing), keys)
    else:
        zeros = found.cautions.get(MOSTLY_ZEROS, nothing)
        advice.warn_mostly_zeros(zeros, _telling(target), found.n_units, keys)
    both = found.conf_low, found.conf_high
    advice.warn_limits(record.name, target, both, found.estimate, found.scale, alone, constant=constant)


def _telling(target: Target) -> np.ndarray:
    """How many units have a score other than 0 on either side."""
    used = target.estimand.cells_of_rows().astype(np.float64)
    return np.asarray((np.abs(target.cells.sums) @ used > 0).sum(axis=0))


def _discordant(target: Target) -> np.ndarray:
    """How many units have a different sum on either side of a comparison."""
    estimand = target.estimand
    assert estimand.second is not None
    contrast = estimand.first - estimand.second
    return np.asarray((np.abs(target.cells.sums @ contrast) > 0).sum(axis=0))


def _trials(cells: Cells, estimand: Estimand) -> np.ndarray:
    """Find rows of 0/1 scores, one score of each unit or one pair, all alike in weight.

    Pairs of several rows of a unit belong to them where no unit differs from the reference: nothing tells
    how pairs of a unit hang together, and the unit counts as one.
    """
    if cells.squares is not None or estimand.then is not None:
        return np.zeros(estimand.n_rows, dtype=bool)
    used = estimand.cells_of_rows()
    binary = ~(cells.is_graded @ used)
    own = estimand.first > 0
    own_counts = cells.counts @ own
    single = own_counts.max(axis=0, initial=0) == 1
    if estimand.second is None:
        return np.asarray(binary & single & (used.sum(axis=0) == 1))
    other = estimand.second > 0
    paired = (own_counts == cells.counts @ other).all(axis=0)
    equal = (cells.sums @ own == cells.sums @ other).all(axis=0)
    several = (own_counts > 0).sum(axis=0) > 1
    return np.asarray(binary & paired & (single | equal) & several & (used.sum(axis=0) == 2))


def _is_ratio(estimand: Estimand) -> bool:
    """Whether units are flipped under a hypothesis on a ratio of two means."""
    return estimand.kind == "percent_decrease" and estimand.then is None


def flip_units(cells: Cells, estimand: Estimand, options: Options) -> Flipped:
    """Flip the signs of units under equality of method and reference.

    Of a ratio the hypothesis is method = theta * reference, whose theta 1 is a decrease of 0; what is neither
    a ratio nor a difference, as a mean of decreases, is flipped as if it were linear.
    """
    means, n_rows = cells.means(), estimand.n_rows

    def parts_of(linear: Estimand) -> Influences:
        return influences(cells.sums, cells.counts, np.nan_to_num(linear.gradient(means)))

    if _is_ratio(estimand):
        assert estimand.second is not None
        own, other = estimand.levels(means)
        assert other is not None
        own_parts = parts_of(Estimand("mean", estimand.first)).influence
        other_parts = parts_of(Estimand("mean", estimand.second)).influence
        # a ratio of two negative means is that of their sizes
        side = np.where(other < 0, -1.0, 1.0)
        leverage = parts_of(estimand.gap()).leverage
        contrast = Contrast(side * own, side * other, side * own_parts, side * other_parts, leverage)
        null = 1.0
    else:
        slopes = np.nan_to_num(estimand.gradient(means))
        found = cr2(cells.sums, cells.counts, slopes, cells.squares)
        null = 0.0
        least = ROUNDING * estimand.scale(means)
        parts = np.where(np.sqrt(found.variance) <= least, 0.0, found.units.influence)
        value, nothing = estimand.value(means), np.zeros_like(parts)
        value = np.where(np.abs(value) <= least, 0.0, value)
        contrast = Contrast(value, np.ones(n_rows), parts, nothing, found.units.leverage)
    signs, complete = signs_of(len(cells.sums), options.n_replicates, options.rng)
    return flip(contrast, null, signs, complete=complete)


def replicate(
    cells: Cells, estimand: Estimand, options: Options, *, gaps: bool = False, variances: bool = False
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Replicates of all estimates, shape (n_replicates, n_rows), NaN where undefined.

    If asked for, beside them their delta-method variances, as of `analytic_variance` with the units drawn,
    and the replicates of the differences of the same levels.
    """
    shape, n_cells = (options.n_replicates, estimand.n_rows), cells.sums.shape[1]
    draws = None if options.draws is None else check_draws(options.draws, len(cells.sums))
    replicates = np.empty(shape)
    own_variances = np.empty(shape) if variances else None
    differences = np.empty(shape) if gaps else None
    gap = estimand.gap()
    # one wide product instead of two: sums and counts side by side
    both = np.hstack([cells.sums, cells.counts])
    room = estimand.n_rows * n_cells if variances else 0
    with few_threads(*both.shape):
        for rows, weights in weight_blocks(len(both), options.n_replicates, options.rng, draws, room):
            product = weights @ both
            totals = product[:, n_cells:]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = product[:, :n_cells] / totals
            replicates[rows] = estimand.value(means)
            if differences is not None:
                differences[rows] = gap.value(means)
            if own_variances is not None:
                own_variances[rows] = drawn_variances(cells, estimand, weights, means, totals)
    return replicates, own_variances, differences


def moments(replicates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, SD (ddof 1) and number of the defined replicates of each row."""
    defined = ~np.isnan(replicates)
    n = defined.sum(axis=0)
    mean = ratio(np.where(defined, replicates, 0.0).sum(axis=0), n)
    deviation = np.where(defined, replicates - mean, 0.0)
    return mean, np.sqrt(ratio((deviation**2).sum(axis=0), np.where(n > 1, n - 1.0, 0.0))), n


def bootstrap_p_values(
    replicates: np.ndarray, rounding: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided p-values for 0: twice the smaller (1 + count) / (B + 1), at most 1; and the smallest.

    Undefined replicates are left out of the counts and of B; those within `rounding` of 0 count on both
    sides.
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    below, above = (replicates <= rounding).sum(axis=0), (replicates >= -rounding).sum(axis=0)
    p = np.minimum(1.0, 2 * (1 + np.minimum(below, above)) / (n_defined + 1))
    floor = np.minimum(1.0, SIDES["bootstrap"] / (n_defined + 1))
    return np.where(n_defined > 0, p, np.nan), floor


def check_binary(values: np.ndarray, option: str, choice: str) -> None:
    """Raise where scores are not all 0 or 1."""
    odd = ~np.isnan(values) & (values != 0) & (values != 1)
    if odd.any():
        raise ValueRangeError(
            f"{option}={choice!r} is for 0/1 scores, and there is a score {values[odd][0]:g}; keep the 0/1 "
            f"metrics, or take another {option}"
        )
