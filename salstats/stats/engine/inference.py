"""Inference about a target: estimates with standard errors, limits, cautions and warnings."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salstats.checks import check_draw_indices
from salstats.stats.engine import limits, result_warnings
from salstats.stats.engine.cautions import (
    FEW_EVENTS,
    FEW_UNITS,
    MOSTLY_ZEROS,
    NEARLY_ALL_LOST,
    OUTLYING_UNITS,
    Caution,
    caution_column_if_any,
)
from salstats.stats.engine.cr2 import Cr2Variances, UnitInfluences, cr2, unadjusted_unit_influences
from salstats.stats.engine.estimands import Cells, Estimand, Target, quiet_ratio
from salstats.stats.engine.few_units import are_few_events, has_few_effective_units
from salstats.stats.engine.inference_options import Options, check_enough_replicates
from salstats.stats.engine.intervals import Basis, ConfidenceSets, Interval, choose_interval
from salstats.stats.engine.outlying_units import variance_depends_on_few_outlying_units
from salstats.stats.engine.replicates import Replicates, mean_sd_and_n_defined, replicate
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.variances import (
    VarianceWithDf,
    analytic_variance,
    estimates_without_each_unit,
    method_and_reference_means_with_covariance,
)
from salstats.stats.engine.weighting import kish_n_units
from salstats.stats.engine.wild_bootstrap import (
    Contrast,
    SignFlips,
    sign_flips_of_contrast,
    sign_patterns_up_to_reversal,
)

#: Terms of estimates that are made from means of scores, where a score of 0 can be a complete failure.
_TERMS_OF_SCORES = ("mean", "difference", "percent_decrease")
#: Share of units whose scores are all 0 above which a 0 is not exceptional.
_MANY_ZEROS = 0.25


@dataclass(frozen=True)
class InferredEstimates:
    """Estimates with their limits and facts about them; arrays have shape (n_rows,) unless said otherwise."""

    target: Target
    options: Options
    #: Quantities that the limits are made from.
    basis: Basis = field(repr=False)
    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray
    conf_low: np.ndarray
    conf_high: np.ndarray
    n_units: np.ndarray
    #: Units of the smallest sample that enters the estimate.
    smallest_n_in_sample: np.ndarray
    #: Mean of the replicates less the estimate.
    bias: np.ndarray
    #: Replicates in which the estimate is undefined.
    n_undefined: np.ndarray
    #: Size of the numbers behind the estimate, to which rounding errors are relative.
    magnitude: np.ndarray
    #: (n_replicates, n_rows): Replicates of the estimates.
    replicates: np.ndarray | None = field(default=None, repr=False)
    #: (n_replicates, n_rows): Replicates of the differences of the same levels.
    difference_replicates: np.ndarray | None = field(default=None, repr=False)
    #: Shape of a confidence set that may be unbounded.
    conf_set: np.ndarray | None = None
    #: True where 0 is outside such a set, although it is between its ends.
    zero_in_gap: NDArray[np.bool_] | None = None
    sign_flips: SignFlips | None = field(default=None, repr=False)
    #: True for rows that have the limits and P values of `cr2` instead.
    uses_cr2: NDArray[np.bool_] | None = None
    #: Rows (bool) that each caution concerns.
    cautions: dict[Caution, NDArray[np.bool_]] = field(default_factory=dict)
    #: Level of each row's limits; None if they have the level of the options.
    limit_levels: np.ndarray | None = None

    @property
    def interval_name_of_each_row(self) -> np.ndarray:
        """Name of each row's interval."""
        interval = self.options.interval
        names = np.full(len(self.estimate), interval.name, dtype=object)
        if interval.binary_defaults:
            names = np.where(self.basis.trials, interval.binary_default, names)
        if self.uses_cr2 is not None:
            names = np.where(self.uses_cr2, "cr2", names)
        return names

    @property
    def conf_level(self) -> np.ndarray:
        """Level of each row's limits."""
        if self.limit_levels is not None:
            return self.limit_levels
        return np.full(len(self.estimate), self.options.level)

    def columns(self, unit: str) -> dict[str, Any]:
        """Return columns of an estimates frame; `unit` is the name of the units.

        In a comparison `n` counts the scores of the method, without those of the reference.
        """
        columns = {
            "term": self.target.term,
            "estimate": self.estimate,
            "std_error": self.std_error,
            "conf_low": self.conf_low,
            "conf_high": self.conf_high,
            "conf_level": self.conf_level,
            "interval": self.interval_name_of_each_row,
            "unit": unit,
            "n": self.target.estimand.count_method_scores(self.target.cells),
            "n_missing": self.target.n_missing,
            "n_units": self.n_units,
        }
        if self.options.is_resampled:
            columns |= {"n_undefined": self.n_undefined, "bias": self.bias}
        if self.options.interval.kind == "t":
            columns |= {"df": self.df}
        return columns | caution_column_if_any(self.cautions)


@dataclass(frozen=True)
class _MasksOfTrialAndOutlyingRows:
    """Masks of rows whose interval or test may differ from the usual one; bool, shape (n_rows,)."""

    #: Rows with scores that may lie outside 0 and 1.
    outside_unit_range: NDArray[np.bool_]
    #: Rows of independent 0/1 scores or of pairs of them, which can have an interval of shares.
    trials: NDArray[np.bool_]
    #: Rows in which a few outlying units hold most of the variance.
    outlying: NDArray[np.bool_]
    #: Outlying rows in which few units have only zeros, so that such a unit is an exception.
    outlying_with_few_zeros: NDArray[np.bool_]


# a list of steps, each taken once; the few branches follow from the interval
def infer(  # noqa: C901
    target: Target,
    options: Options,
    *,
    draw_differences: bool = False,
    flip_signs: bool = False,
    allow_constant_scores: bool = False,
) -> InferredEstimates:
    """Estimate a target with standard errors and limits, and warn of doubtful ones.

    Parameters
    ----------
    target : Target
        The estimand and the cells of scores.
    options : Options
        Interval, level, replicates.
    draw_differences : bool
        Also draw replicates of the differences, for a p-value.
    flip_signs : bool
        Flip signs for a p-value, even if the interval does not need it.
    allow_constant_scores : bool
        Constant scores are certain: their limits are the estimate itself, without a warning.

    Returns
    -------
    InferredEstimates
        One row per estimate of the target.
    """
    cells = target.cells
    estimand = target.estimand
    interval = options.interval
    if interval.skips_undefined:
        estimand = replace(estimand, skips_undefined=True)
    means = cells.means()
    estimate = estimand.value(means)
    magnitude = estimand.magnitude_behind_estimates(means)
    # errors of an estimate up to this size are rounding
    rounding = ROUNDING * magnitude
    membership = estimand.membership_by_cell_and_estimate()
    # (n_units, n_rows): number of defined scores of each unit in each estimate
    unit_sizes = cells.counts @ membership.astype(np.float64)
    n_units = (unit_sizes > 0).sum(axis=0)
    robust = None
    if interval.extra_input == "cr2":
        robust = cr2(
            cells.sums, cells.counts, estimand.derivatives_by_estimate_and_cell_mean(means), cells.squares
        )
    masks = _masks_of_binary_and_outlying_rows(target.term, cells, estimand, interval, robust)
    variance, df = _variance_and_df(cells, estimand, options, robust, masks)
    std_error = np.sqrt(variance)
    sign_flips = None
    if options.is_flipped or flip_signs:
        sign_flips = _flip_units(cells, estimand, options)
    replicates = None
    bias = np.full(len(estimate), np.nan)
    n_undefined = np.zeros(len(estimate), dtype=np.int64)
    if options.is_resampled or draw_differences:
        replicates = replicate(
            cells,
            estimand,
            options,
            differences=draw_differences,
            variances=interval.extra_input == "variances",
        )
        mean, standard_deviation, n_defined = mean_sd_and_n_defined(replicates.estimates)
        bias = mean - estimate
        n_undefined = len(replicates.estimates) - n_defined
        if options.is_resampled:
            std_error = standard_deviation
            df = np.full(len(estimate), np.nan)
    elif options.draws is not None:
        check_draw_indices(options.draws, len(cells.sums))
    std_error = np.where(std_error <= rounding, 0.0, std_error)
    effective_n_units = n_units
    if cells.squares is not None:
        effective_n_units = kish_n_units(unit_sizes, cells.squares @ membership.astype(np.float64))
    basis = Basis(
        term=target.term,
        level=options.level,
        estimate=estimate,
        std_error=std_error,
        df=df,
        variance=variance,
        bias=bias,
        n_units=effective_n_units,
        rounding=rounding,
        sign_flips=sign_flips,
        is_ratio=_is_ratio(estimand),
        outside_unit_range=masks.outside_unit_range,
        trials=masks.trials,
        outlying=masks.outlying_with_few_zeros,
    )
    basis = _basis_with_interval_inputs(basis, cells, estimand, interval, replicates)
    smallest = np.where(membership, cells.smallest_n_in_sample_of_cells()[:, None], np.inf).min(axis=0)
    if interval.extra_input != "cr2":
        # one unit says nothing about the variance between units
        std_error = np.where(smallest < 2, np.nan, std_error)
    # limits are added by `_estimates_at_level` below
    no_limits = np.empty(0)
    estimates = InferredEstimates(
        target=target,
        options=options,
        basis=basis,
        estimate=estimate,
        std_error=std_error,
        df=df,
        conf_low=no_limits,
        conf_high=no_limits,
        n_units=n_units,
        smallest_n_in_sample=smallest,
        bias=bias,
        n_undefined=n_undefined,
        magnitude=magnitude,
        sign_flips=sign_flips,
    )
    if replicates is not None:
        estimates = replace(
            estimates, replicates=replicates.estimates, difference_replicates=replicates.differences
        )
    estimates = _estimates_at_level(estimates, options.level)
    if allow_constant_scores:
        is_constant = basis.std_error == 0
        estimates = replace(
            estimates,
            conf_low=np.where(is_constant, estimate, estimates.conf_low),
            conf_high=np.where(is_constant, estimate, estimates.conf_high),
        )
    estimates = replace(estimates, cautions=_caution_masks(estimates, unit_sizes, masks.outlying))
    _warn_of_doubtful_limits(estimates, unit_sizes, allow_constant_scores)
    return estimates


def _basis_with_interval_inputs(
    basis: Basis, cells: Cells, estimand: Estimand, interval: Interval, replicates: Replicates | None
) -> Basis:
    """Return the basis with the numbers that only the limits of some intervals are made from."""
    if interval.kind == "share" or interval.binary_defaults:
        # a proportion is the mean of a single cell, and its n the number of scores in this cell
        basis = replace(basis, n=cells.n_defined_scores @ estimand.method_weights)
    has_paired_shares = interval.kind == "share" or bool(basis.trials.any())
    if interval.extra_input == "ratio_means" or (basis.is_ratio and has_paired_shares):
        basis = replace(basis, ratio_means=method_and_reference_means_with_covariance(cells, estimand))
    if interval.extra_input == "jackknife":
        basis = replace(basis, jackknife=estimates_without_each_unit(cells, estimand))
    if replicates is not None:
        basis = replace(basis, replicates=replicates.estimates)
    if replicates is not None and replicates.variances is not None:
        basis = replace(basis, variances=replicates.variances)
    return basis


def _masks_of_binary_and_outlying_rows(
    term: str, cells: Cells, estimand: Estimand, interval: Interval, robust: Cr2Variances | None
) -> _MasksOfTrialAndOutlyingRows:
    """Return the masks of rows of trials, of outlying units and of scores that may lie outside 0 and 1.

    Their interval or test may differ from the usual one.

    `robust` are the CR2 variances of the rows, None where the interval needs none. Rows of trials are found
    only if the interval has another one for them (`binary_defaults`), and outlying units only in rows of
    scores that are not averages of other rows.
    """
    # a product of masks is True for rows of which some cell has a property
    membership = estimand.membership_by_cell_and_estimate()
    outside_unit_range = np.zeros(estimand.n_rows, dtype=bool)
    if cells.outside_unit_range is not None:
        outside_unit_range = cells.outside_unit_range @ membership
    trials = np.zeros_like(outside_unit_range)
    if interval.binary_defaults:
        trials = _is_row_of_independent_trials(cells, estimand) & ~outside_unit_range
    outlying = np.zeros_like(outside_unit_range)
    outlying_with_few_zeros = np.zeros_like(outside_unit_range)
    if term in _TERMS_OF_SCORES and estimand.row_weights is None:
        is_graded = cells.is_graded @ membership
        units = _unit_influences_on_estimates_or_differences(term, cells, estimand, robust)
        # influence per leverage: how far the mean of a unit lies from the mean of all units
        distance = np.where(units.leverage > 0, quiet_ratio(units.influence, units.leverage), np.nan)
        outlying = is_graded & variance_depends_on_few_outlying_units(units.influence, distance)
        outlying_with_few_zeros = outlying & ~_has_cell_of_over_quarter_zero_units(cells, estimand)
    return _MasksOfTrialAndOutlyingRows(outside_unit_range, trials, outlying, outlying_with_few_zeros)


def _unit_influences_on_estimates_or_differences(
    term: str, cells: Cells, estimand: Estimand, robust: Cr2Variances | None
) -> UnitInfluences:
    """Return the influences of units on the estimates, or on the differences behind percentage decreases."""
    means = cells.means()
    if term == "percent_decrease":
        return unadjusted_unit_influences(
            cells.sums, cells.counts, estimand.as_difference().derivatives_by_estimate_and_cell_mean(means)
        )
    if robust is not None:
        return robust.units
    return unadjusted_unit_influences(
        cells.sums, cells.counts, estimand.derivatives_by_estimate_and_cell_mean(means)
    )


def _variance_and_df(
    cells: Cells,
    estimand: Estimand,
    options: Options,
    robust: Cr2Variances | None,
    masks: _MasksOfTrialAndOutlyingRows,
) -> VarianceWithDf:
    """Return robust variances if there are any, else analytic ones, with their degrees of freedom.

    Both are NaN where there are no robust variances and the interval needs none.
    """
    interval = options.interval
    if robust is not None:
        return VarianceWithDf(robust.variance, _robust_df(robust, interval, masks))
    if not options.is_resampled or interval.extra_input == "variances":
        return analytic_variance(cells, estimand)
    unknown = np.full(estimand.n_rows, np.nan)
    return VarianceWithDf(unknown, unknown)


def _robust_df(robust: Cr2Variances, interval: Interval, masks: _MasksOfTrialAndOutlyingRows) -> np.ndarray:
    """Return degrees of freedom of CR2 variances (n_rows,), lower where few units hold most of the variance.

    NaN for intervals of shares and in rows of trials, whose intervals use none.
    """
    df = robust.df
    if interval.bounded:
        df = np.where(masks.outside_unit_range, df, np.fmin(df, robust.kurtosis_df))
    if interval.leaves_outlying_to_cr2:
        df = np.where(masks.outlying_with_few_zeros, np.fmin(df, robust.kurtosis_df), df)
    if interval.kind == "share":
        return np.full_like(df, np.nan)
    return np.where(masks.trials, np.nan, df)


def _estimates_at_level(estimates: InferredEstimates, level: float) -> InferredEstimates:
    """Return the estimates with their limits at a level."""
    interval = estimates.options.interval
    basis = replace(estimates.basis, level=level)
    check_enough_replicates(interval, level, estimates.options.n_replicates)
    interval_limits = interval.limits(basis)
    low, high, *_ = interval_limits
    conf_set = None
    zero_in_gap = None
    if isinstance(interval_limits, ConfidenceSets):
        conf_set = interval_limits.description
        zero_in_gap = interval_limits.zero_in_gap
    if interval.binary_defaults and basis.trials.any():
        trials_low, trials_high, *_ = choose_interval(interval.binary_default, basis.term).limits(basis)
        low = np.where(basis.trials, trials_low, low)
        high = np.where(basis.trials, trials_high, high)
    use_cr2 = np.zeros(len(low), dtype=bool)
    if interval.cr2_rows is not None:
        use_cr2 = interval.cr2_rows(basis)
    if interval.leaves_outlying_to_cr2:
        use_cr2 = use_cr2 | basis.outlying
    if use_cr2.any():
        t_low, t_high = limits.t_limits(basis.estimate, basis.std_error, basis.df, level)
        low = np.where(use_cr2, t_low, low)
        high = np.where(use_cr2, t_high, high)
    is_unknown = _has_no_variance_or_one_unit(interval, basis, estimates.smallest_n_in_sample, use_cr2)
    return replace(
        estimates,
        options=replace(estimates.options, level=level),
        basis=basis,
        conf_low=np.where(is_unknown, np.nan, low),
        conf_high=np.where(is_unknown, np.nan, high),
        conf_set=conf_set,
        zero_in_gap=zero_in_gap,
        uses_cr2=use_cr2 if use_cr2.any() else None,
    )


def _has_no_variance_or_one_unit(
    interval: Interval, basis: Basis, smallest_n_in_sample: np.ndarray, use_cr2: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Find rows whose limits are unknown: a sample of one unit, or no variance."""
    if interval.extra_input == "cr2":
        # without variance between units the error of an estimate is unknown; intervals of bounded scores and
        # of 0/1 scores know the range of the scores instead
        has_no_variance = ~(basis.std_error > 0)
        if interval.bounded:
            has_no_variance &= use_cr2
        return np.asarray(has_no_variance & ~basis.trials)
    if interval.kind == "share":
        return np.zeros(len(smallest_n_in_sample), dtype=bool)
    return smallest_n_in_sample < 2


def estimates_at_row_levels(estimates: InferredEstimates, levels: np.ndarray) -> InferredEstimates:
    """Return the estimates with each row's limits at its level; where `levels` are NaN, limits are kept."""
    low = estimates.conf_low.copy()
    high = estimates.conf_high.copy()
    conf_set = None if estimates.conf_set is None else estimates.conf_set.copy()
    zero_in_gap = None if estimates.zero_in_gap is None else estimates.zero_in_gap.copy()
    for level in np.unique(levels[~np.isnan(levels)]):
        rows = levels == level
        estimates_of_level = _estimates_at_level(estimates, float(level))
        low[rows] = estimates_of_level.conf_low[rows]
        high[rows] = estimates_of_level.conf_high[rows]
        if conf_set is not None and estimates_of_level.conf_set is not None:
            conf_set[rows] = estimates_of_level.conf_set[rows]
        if zero_in_gap is not None and estimates_of_level.zero_in_gap is not None:
            zero_in_gap[rows] = estimates_of_level.zero_in_gap[rows]
    levels = np.where(np.isnan(levels), estimates.options.level, levels)
    return replace(
        estimates,
        limit_levels=levels,
        conf_low=low,
        conf_high=high,
        conf_set=conf_set,
        zero_in_gap=zero_in_gap,
    )


def _has_cell_of_over_quarter_zero_units(cells: Cells, estimand: Estimand) -> NDArray[np.bool_]:
    """Find rows with a cell in which more than a quarter of the units have only zeros."""
    has_scores = cells.counts > 0
    is_zero = (cells.sums == 0) & has_scores
    many_zeros = is_zero.sum(axis=0) > _MANY_ZEROS * has_scores.sum(axis=0)
    return np.asarray((many_zeros[:, None] & estimand.membership_by_cell_and_estimate()).any(axis=0))


def _caution_masks(
    estimates: InferredEstimates, unit_sizes: np.ndarray, outlying: NDArray[np.bool_]
) -> dict[Caution, NDArray[np.bool_]]:
    """Find the rows that each caution concerns.

    `unit_sizes` (n_units, n_rows) are numbers of defined scores; `outlying` are rows in which a few outlying
    units hold most of the variance.
    """
    target = estimates.target
    estimand = target.estimand
    cautions = {
        FEW_UNITS: has_few_effective_units(unit_sizes) | _has_few_df(estimates),
        OUTLYING_UNITS: outlying,
    }
    if target.term not in _TERMS_OF_SCORES or estimand.row_weights is not None:
        return cautions
    # many zeros make the limits of graded scores doubtful, not those of 0/1 scores
    is_graded = target.cells.is_graded @ estimand.membership_by_cell_and_estimate()
    n_nonzero = _count_nonzero_units(target)
    cautions[MOSTLY_ZEROS] = is_graded & result_warnings.is_mostly_zeros(n_nonzero, estimates.n_units)
    if target.term == "percent_decrease":
        varies = estimates.conf_low < estimates.conf_high
        is_nearly_lost = result_warnings.is_nearly_all_lost(estimates.estimate, estimates.n_units)
        cautions[NEARLY_ALL_LOST] = is_graded & varies & is_nearly_lost
    if estimand.reference_weights is not None:
        # score limits of independent 0/1 pairs are reliable even if few pairs are discordant
        trials = np.zeros_like(is_graded)
        if estimates.options.interval.binary_defaults:
            trials = estimates.basis.trials
        has_few_events = are_few_events(_count_discordant_units(target)) & (
            estimates.smallest_n_in_sample > 1
        )
        # scores of which none is defined count neither as graded nor as 0 or 1
        is_defined = np.isfinite(estimates.estimate)
        cautions[FEW_EVENTS] = is_defined & ~is_graded & ~trials & has_few_events
    return cautions


def _has_few_df(estimates: InferredEstimates) -> NDArray[np.bool_]:
    """Find rows whose limits are Student's t with few degrees of freedom."""
    interval = estimates.options.interval
    uses_t = np.full(len(estimates.df), interval.kind == "t")
    if estimates.uses_cr2 is not None:
        uses_t = estimates.uses_cr2
    df = estimates.df
    if interval.bounded or interval.leaves_outlying_to_cr2:
        # these intervals lower the degrees of freedom where few scores differ, and their limits hold
        df = np.maximum(df, estimates.smallest_n_in_sample - 1)
    return result_warnings.has_few_df(np.where(uses_t, df, np.nan))


def _warn_of_doubtful_limits(
    estimates: InferredEstimates, unit_sizes: np.ndarray, allow_constant_scores: bool
) -> None:
    """Warn of estimates and limits that are doubtful."""
    target = estimates.target
    term = target.term
    keys = target.keys
    interval = estimates.options.interval
    resampled = estimates.options.is_resampled
    if estimates.replicates is not None:
        subject = f"{interval.name} intervals" if resampled else "bootstrap tests"
        result_warnings.warn_few_units(estimates.smallest_n_in_sample, keys, subject, term)
        result_warnings.warn_undefined(estimates.n_undefined, len(estimates.replicates), keys)
    result_warnings.warn_few_df(np.where(_has_few_df(estimates), estimates.df, np.nan), keys)
    if interval.extra_input == "cr2":
        n_cells = target.estimand.membership_by_cell_and_estimate().sum(axis=0)
        n_cells_of_group = 1 if target.estimand.reference_weights is None else 2
        result_warnings.warn_rare_tasks_in_averages(
            estimates.smallest_n_in_sample, is_average=n_cells > n_cells_of_group, keys=keys
        )
    elif interval.kind != "share":
        is_few = result_warnings.has_few_df(estimates.df)
        if resampled:
            is_few = estimates.smallest_n_in_sample < result_warnings.MIN_RESAMPLED_UNITS
        result_warnings.warn_unequal_units(unit_sizes, is_few, keys, term)
    no_rows = np.zeros(len(estimates.estimate), dtype=bool)
    if term == "percent_decrease":
        result_warnings.warn_decreases_near_hundred_percent(
            estimates.cautions.get(NEARLY_ALL_LOST, no_rows), keys
        )
    else:
        is_sparse = estimates.cautions.get(MOSTLY_ZEROS, no_rows)
        result_warnings.warn_mostly_zeros(is_sparse, _count_nonzero_units(target), estimates.n_units, keys)
    result_warnings.warn_degenerate_or_missing_limits(
        interval.name,
        target,
        (estimates.conf_low, estimates.conf_high),
        estimates.estimate,
        estimates.magnitude,
        estimates.smallest_n_in_sample < 2,
        allow_constant_scores=allow_constant_scores,
    )


def _count_nonzero_units(target: Target) -> np.ndarray:
    """Count the units of each row (n_rows,) with a score other than 0, of the method or the reference."""
    membership = target.estimand.membership_by_cell_and_estimate().astype(np.float64)
    return np.asarray((np.abs(target.cells.sums) @ membership > 0).sum(axis=0))


def _count_discordant_units(target: Target) -> np.ndarray:
    """Count the units of each row (n_rows,) whose sums of the method and the reference differ."""
    estimand = target.estimand
    assert estimand.reference_weights is not None
    contrast = estimand.method_weights - estimand.reference_weights
    return np.asarray((np.abs(target.cells.sums @ contrast) > 0).sum(axis=0))


def _is_row_of_independent_trials(cells: Cells, estimand: Estimand) -> NDArray[np.bool_]:
    """Find rows of 0/1 scores, or of pairs of them, one per unit and all of equal weight.

    Several pairs per unit are allowed in rows in which the sums of method and reference are equal in every
    unit: how the pairs of a unit depend on each other is unknown there, and each unit counts as one.
    """
    if cells.squares is not None or estimand.row_weights is not None:
        return np.zeros(estimand.n_rows, dtype=bool)
    membership = estimand.membership_by_cell_and_estimate()
    n_cells = membership.sum(axis=0)
    is_binary = ~(cells.is_graded @ membership)
    method_cells = estimand.method_weights > 0
    method_counts = cells.counts @ method_cells
    one_per_unit = method_counts.max(axis=0, initial=0) == 1
    if estimand.reference_weights is None:
        return np.asarray(is_binary & one_per_unit & (n_cells == 1))
    reference_cells = estimand.reference_weights > 0
    is_paired = (method_counts == cells.counts @ reference_cells).all(axis=0)
    has_equal_sums = (cells.sums @ method_cells == cells.sums @ reference_cells).all(axis=0)
    has_several_units = (method_counts > 0).sum(axis=0) > 1
    is_single_comparison = n_cells == 2
    return np.asarray(
        is_binary & is_paired & (one_per_unit | has_equal_sums) & has_several_units & is_single_comparison
    )


def _is_ratio(estimand: Estimand) -> bool:
    """Return True for a ratio of two means, and False for a difference or a mean of decreases."""
    return estimand.kind == "percent_decrease" and estimand.row_weights is None


def _flip_units(cells: Cells, estimand: Estimand, options: Options) -> SignFlips:
    """Flip the signs of units under equality of method and reference.

    A ratio is tested by the contrast method - theta * reference, in which theta = 1 is a decrease of 0. Any
    other estimate, also a mean of decreases, is flipped as a linear combination of the means.
    """
    if _is_ratio(estimand):
        contrast = _ratio_means_with_unit_influences(cells, estimand)
        theta = 1.0
    else:
        contrast = _linear_contrast(cells, estimand)
        theta = 0.0
    signs, complete = sign_patterns_up_to_reversal(len(cells.sums), options.n_replicates, options.rng)
    return sign_flips_of_contrast(contrast, theta, signs, complete=complete)


def _ratio_means_with_unit_influences(cells: Cells, estimand: Estimand) -> Contrast:
    """Return the contrast method - theta * reference with the influences of the units on the two means."""
    assert estimand.reference_weights is not None
    means = cells.means()
    method_means, reference_means = estimand.method_and_reference_levels(means)
    assert reference_means is not None

    def influences_on(linear: Estimand) -> UnitInfluences:
        """Return the influences of the units on a linear estimand."""
        return unadjusted_unit_influences(
            cells.sums, cells.counts, np.nan_to_num(linear.derivatives_by_estimate_and_cell_mean(means))
        )

    method = influences_on(Estimand("mean", estimand.method_weights))
    reference = influences_on(Estimand("mean", estimand.reference_weights))
    # shares of the units in the contrast change with theta; those at theta = 1, the difference, stand for all
    leverage = influences_on(estimand.as_difference()).leverage
    # the reference must be positive: a ratio stays the same if both means change their signs
    sign = np.where(reference_means < 0, -1.0, 1.0)
    return Contrast(
        numerator=sign * method_means,
        denominator=sign * reference_means,
        numerator_influence=sign * method.influence,
        denominator_influence=sign * reference.influence,
        leverage=leverage,
    )


def _linear_contrast(cells: Cells, estimand: Estimand) -> Contrast:
    """Return the contrast estimate - theta with the influences of the units, rounding errors set to 0."""
    means = cells.means()
    rounding = ROUNDING * estimand.magnitude_behind_estimates(means)
    robust = cr2(
        cells.sums,
        cells.counts,
        np.nan_to_num(estimand.derivatives_by_estimate_and_cell_mean(means)),
        cells.squares,
    )
    influence = np.where(np.sqrt(robust.variance) <= rounding, 0.0, robust.units.influence)
    estimate = estimand.value(means)
    return Contrast(
        numerator=np.where(np.abs(estimate) <= rounding, 0.0, estimate),
        denominator=np.ones(estimand.n_rows),
        numerator_influence=influence,
        denominator_influence=np.zeros_like(influence),
        leverage=robust.units.leverage,
    )
