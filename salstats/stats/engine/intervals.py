"""Kinds of confidence intervals as records: the function that computes each, its terms and its descriptions.

To add a kind, write its kernel in `limits` and its record in `RECORDS`: checks, notes under tables and
Methods sentences read the record.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.checks import check_choice
from salstats.stats.engine import limits, paired_shares
from salstats.stats.engine.coefficients import fisher_limits
from salstats.stats.engine.limits import LimitArrays
from salstats.stats.engine.one_sided_tests import (
    PValuesAtOrBelowAndAbove,
    one_sided_p_values_of_fieller_decrease,
    one_sided_p_values_of_replicates,
    one_sided_p_values_of_sign_flips,
    one_sided_p_values_of_t_test,
)
from salstats.stats.engine.roc import area_limits
from salstats.stats.engine.wild_bootstrap import SignFlips


def _empty_array() -> np.ndarray:
    """Return an empty array, which stands for numbers that an interval does not need."""
    return np.empty(0)


def _empty_mask() -> NDArray[np.bool_]:
    """Return an empty mask, which stands for rows that an interval does not need to tell apart."""
    return np.empty(0, dtype=bool)


class RatioMeans(NamedTuple):
    """The two means of a ratio, such as that behind a percentage decrease."""

    #: (n_rows,): Mean of the method.
    method: np.ndarray
    #: (n_rows,): Mean of the reference.
    reference: np.ndarray
    #: (n_rows, 2, 2): Covariance of the method's and the reference's mean.
    covariance: np.ndarray


class ConfidenceSets(NamedTuple):
    """Confidence sets that may be unbounded, each array of shape (n_rows,)."""

    #: Lower limit, -inf where a set is unbounded.
    low: np.ndarray
    #: Upper limit, inf where a set is unbounded.
    high: np.ndarray
    #: Text that says what the set contains, such as "bounded" or "all but 3 to 5".
    description: np.ndarray
    #: True where 0 lies in a gap of the set.
    zero_in_gap: NDArray[np.bool_]


@dataclass(frozen=True)
class Basis:
    """Numbers that limits are computed from; arrays have the shape (n_rows,) unless another is given.

    An empty array is a number that the interval chosen does not need.
    """

    #: The kind of estimate: "mean", "difference", "percent_decrease", "pooled_rate", ...
    term: str
    #: Confidence level.
    level: float
    #: Estimates, NaN where undefined.
    estimate: np.ndarray
    #: Standard errors, NaN where undefined; of a correlation, those of its Fisher z.
    std_error: np.ndarray
    df: np.ndarray = field(default_factory=_empty_array)
    #: Delta-method variances of the estimates.
    variance: np.ndarray = field(default_factory=_empty_array)
    bias: np.ndarray = field(default_factory=_empty_array)
    #: Numbers of defined scores; of weighted scores the effective number of scores of equal weight.
    n: np.ndarray = field(default_factory=_empty_array)
    #: Numbers of units; of weighted units the effective number of units of equal weight.
    n_units: np.ndarray = field(default_factory=_empty_array)
    #: Largest error that is rounding.
    rounding: np.ndarray = field(default_factory=_empty_array)
    #: (n_replicates, n_rows)
    replicates: np.ndarray = field(default_factory=_empty_array)
    #: (n_replicates, n_rows): Delta-method variances of the replicates.
    variances: np.ndarray = field(default_factory=_empty_array)
    #: (n_units, n_rows): Estimates without each unit.
    jackknife: np.ndarray = field(default_factory=_empty_array)
    #: Means of the method and the reference, for the limits of a ratio.
    ratio_means: RatioMeans | None = None
    #: Sign flips of the units, by which wild cluster bootstrap limits are made.
    sign_flips: SignFlips | None = None
    #: The estimates, and the sign flips, are of the ratio of method and reference, not of their difference.
    is_ratio: bool = False
    #: Rows of means with scores below 0 or above 1.
    outside_unit_range: NDArray[np.bool_] = field(default_factory=_empty_mask)
    #: Rows whose scores are all 0 or 1, one score for each unit.
    trials: NDArray[np.bool_] = field(default_factory=_empty_mask)
    #: Rows that depend on a few outlying units, unless most of their scores are 0.
    outlying: NDArray[np.bool_] = field(default_factory=_empty_mask)


@dataclass(frozen=True)
class Interval:
    """A kind of interval: the function that computes it, the terms it is for, and its descriptions."""

    #: The name that `interval=` takes.
    name: str
    #: Its name in a table's note.
    label: str
    #: "bootstrap", from replicates; "t", from a standard error and Student's t; "flips", from sign flips;
    #: "share", for 0/1 scores; "correlation", on Fisher's z; "area", under a ROC curve; "inversion" of a
    #: test, searched among the scores; "agreement".
    kind: str
    #: Computes the limits; None where they are computed together with their estimates, as those of agreement
    #: and quantiles.
    kernel: Callable[[Basis], LimitArrays | ConfidenceSets] | None
    #: Its description in a Methods section; `{unit}` stands for the unit that is resampled or clustered.
    note: str = ""
    #: Terms of estimates frames that it is an interval of.
    terms: tuple[str, ...] = ()
    #: Its name in front of "intervals"; the label where it is empty.
    short_label: str = ""
    #: Quantity that has to be computed only for it: "variances", "jackknife", "ratio_means" or "cr2".
    extra_input: str = ""
    #: Its limits allow for the dependence of rows of one unit.
    clustered: bool = False
    #: How limits at another level follow from an estimates frame: on the scale "identity", "atanh" or "logit"
    #: limits are estimate -+ quantile * standard error; "recomputed" limits are computed again, as the frame
    #: has all that they need of the `Basis`; "" for limits that cannot follow.
    scale: str = ""
    #: Its limits stay within the range of the scores.
    bounded: bool = False
    #: Replicates of an average over tasks leave out the tasks that were not drawn.
    skips_undefined: bool = False
    #: Terms of which it is the default interval.
    recommended: tuple[str, ...] = ()
    #: Intervals that replace it as default for 0/1 scores with one score per unit, for which their coverage
    #: is nominal: one name for each term. `choose_interval` keeps only the one for the chosen term.
    binary_defaults: tuple[str, ...] = ()
    #: Finds the rows for which it is unsuitable, and which get the limits of `cr2` instead.
    cr2_rows: Callable[[Basis], np.ndarray] | None = None
    #: As the default, rows that depend on a few outlying units also get the limits of `cr2` instead.
    leaves_outlying_to_cr2: bool = False
    #: Computes one-sided P values of bounds by the test that its limits invert: at or below the bound, and at
    #: or above it.
    tails: Callable[[Basis, np.ndarray], PValuesAtOrBelowAndAbove] | None = None

    @property
    def binary_default(self) -> str:
        """The only name of `binary_defaults`, of a record that `choose_interval` returns."""
        (name,) = self.binary_defaults
        return name

    def limits(self, basis: Basis) -> LimitArrays | ConfidenceSets:
        """Compute lower and upper limits, or the limits of sets that may be unbounded."""
        assert self.kernel is not None, self.name
        return self.kernel(basis)


def _share_limits_by_effective_n(
    kernel: Callable[[np.ndarray, np.ndarray, float], LimitArrays],
) -> Callable[[Basis], LimitArrays]:
    """Make a function of a basis from a kernel of a proportion, its effective sample size and a level."""

    def limits_by_kernel_and_effective_n(basis: Basis) -> LimitArrays:
        """Return the limits of proportions by the kernel."""
        n_effective = limits.effective_size(
            basis.estimate, basis.n, variance=basis.std_error**2, n_units=basis.n_units, level=basis.level
        )
        return kernel(basis.estimate, n_effective, basis.level)

    return limits_by_kernel_and_effective_n


def _studentized_limits(basis: Basis) -> LimitArrays:
    """Return bootstrap-t limits."""
    return limits.studentized(
        replicates=basis.replicates,
        variances=basis.variances,
        estimate=basis.estimate,
        variance=basis.variance,
        rounding=basis.rounding,
        level=basis.level,
    )


def _studentized_log_limits_of_any_term(basis: Basis) -> LimitArrays:
    """Return bootstrap-t limits of the estimate, found on the log scale.

    Those of a percentage decrease are found from the ratio of the means.
    """
    if basis.term != "percent_decrease":
        return limits.studentized_log(
            replicates=basis.replicates,
            variances=basis.variances,
            estimate=basis.estimate,
            variance=basis.variance,
            rounding=basis.rounding,
            level=basis.level,
        )
    ratio_low, ratio_high = limits.studentized_log(
        replicates=1 - basis.replicates / 100,
        variances=basis.variances / 100**2,
        estimate=1 - basis.estimate / 100,
        variance=basis.variance / 100**2,
        rounding=basis.rounding / 100,
        level=basis.level,
    )
    return _decrease_limits_from_ratio(ratio_low, ratio_high)


def _decrease_limits_from_ratio(ratio_low: np.ndarray, ratio_high: np.ndarray) -> LimitArrays:
    """Return limits of a percentage decrease from those of the ratio of method and reference."""
    return 100 * (1 - ratio_high), 100 * (1 - ratio_low)


def _t_limits(basis: Basis) -> LimitArrays:
    """Return limits by Student's t."""
    return limits.t_limits(basis.estimate, basis.std_error, basis.df, basis.level)


def _wilson_t_limits(basis: Basis) -> LimitArrays:
    """Return Wilson's limits of means of scores from 0 to 1, with Student's quantile."""
    variance = basis.std_error**2
    return limits.wilson_t(basis.estimate, variance, basis.df, basis.n_units, basis.level)


def _wild_limits(basis: Basis) -> LimitArrays:
    """Return the limits at which the P value of the wild cluster bootstrap test crosses 1 - level."""
    assert basis.sign_flips is not None
    low, high = basis.sign_flips.limits(basis.level)
    if basis.is_ratio:
        low, high = _decrease_limits_from_ratio(low, high)
    low = np.where(np.abs(low) <= basis.rounding, 0.0, low)
    high = np.where(np.abs(high) <= basis.rounding, 0.0, high)
    return low, high


def _tango_limits(basis: Basis) -> LimitArrays:
    """Return Tango's score limits of a difference of two shares."""
    return paired_shares.tango_limits_of_share_difference(
        basis.estimate, basis.std_error, basis.n_units, basis.level
    )


def _tango_tails(basis: Basis, bound: np.ndarray) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values of a difference of two shares, by Tango's score test."""
    return paired_shares.difference_tails(basis.estimate, basis.std_error, basis.n_units, bound)


def _tang_percent_decrease_limits(basis: Basis) -> LimitArrays:
    """Return Tang's score limits of a percentage decrease, from those of the ratio of two shares."""
    method, reference, std_error = _paired_means_and_std_error(basis)
    ratio_low, ratio_high = paired_shares.ratio_limits(
        method, reference, std_error, basis.n_units, basis.level
    )
    return _decrease_limits_from_ratio(ratio_low, ratio_high)


def _tang_percent_decrease_tails(basis: Basis, bound: np.ndarray) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values of a percentage decrease, by Tang's score test of the ratio."""
    method, reference, std_error = _paired_means_and_std_error(basis)
    # A decrease at or above a bound is a ratio at or below 1 - bound / 100.
    ratio_at_or_below, ratio_at_or_above = paired_shares.ratio_tails(
        method, reference, std_error, basis.n_units, bound=1 - bound / 100
    )
    return PValuesAtOrBelowAndAbove(at_or_below=ratio_at_or_above, at_or_above=ratio_at_or_below)


def _paired_means_and_std_error(basis: Basis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of the method and of the reference, and the standard error of their difference."""
    assert basis.ratio_means is not None
    method, reference, covariance = basis.ratio_means
    variance = covariance[:, 0, 0] - 2 * covariance[:, 0, 1] + covariance[:, 1, 1]
    return method, reference, np.sqrt(np.maximum(variance, 0))


def _delta_limits(basis: Basis) -> LimitArrays:
    """Return delta-method limits, those of a rate on the logit scale."""
    kernel = limits.logit_t_limits if basis.term == "pooled_rate" else limits.t_limits
    return kernel(basis.estimate, basis.std_error, basis.df, basis.level)


def _t_tails(basis: Basis, bound: np.ndarray) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values by Student's t."""
    return one_sided_p_values_of_t_test(basis.estimate, basis.std_error, basis.df, bound)


def _flip_tails(basis: Basis, bound: np.ndarray) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values by sign flips; those of a percentage decrease are of the ratio's flips."""
    assert basis.sign_flips is not None
    if not basis.is_ratio:
        return one_sided_p_values_of_sign_flips(basis.sign_flips, basis.estimate, basis.rounding, bound)
    # A decrease at or above a bound is a ratio at or below 1 - bound / 100.
    ratio_at_or_below, ratio_at_or_above = one_sided_p_values_of_sign_flips(
        basis.sign_flips,
        estimate=1 - basis.estimate / 100,
        rounding=basis.rounding / 100,
        bound=1 - bound / 100,
    )
    return PValuesAtOrBelowAndAbove(at_or_below=ratio_at_or_above, at_or_above=ratio_at_or_below)


def _fieller_decrease_tails(basis: Basis, bound: np.ndarray) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values of a percentage decrease, by the t test that Fieller's set inverts."""
    assert basis.ratio_means is not None
    method, reference, covariance = basis.ratio_means
    return one_sided_p_values_of_fieller_decrease(method, reference, covariance, basis.df, bound)


def _fieller_decrease_sets(basis: Basis) -> ConfidenceSets:
    """Return Fieller's confidence sets of a percentage decrease."""
    assert basis.ratio_means is not None
    method, reference, covariance = basis.ratio_means
    low, high, form = limits.fieller_sets_of_decrease(method, reference, covariance, basis.df, basis.level)
    description = form.astype(object)
    for row in np.flatnonzero(form == "outside"):
        description[row] = f"all but {low[row]:.6g} to {high[row]:.6g}"
    description[form == "line"] = "everything"
    zero_in_gap = (form == "outside") & (low < 0) & (high > 0)
    # of a set outside a gap only the description has the ends of the gap
    unbounded = np.isin(form, ("outside", "line"))
    low = np.where(unbounded, -np.inf, low)
    high = np.where(unbounded, np.inf, high)
    return ConfidenceSets(low, high, description, zero_in_gap)


def _fisher_limits(basis: Basis) -> LimitArrays:
    """Return limits of a correlation on Fisher's z scale, with the normal quantile."""
    quantile = float(special.ndtri((1 + basis.level) / 2))
    return fisher_limits(basis.estimate, basis.std_error, quantile)


def _auc_limits(basis: Basis, *, on_logit: bool = False) -> LimitArrays:
    """Return limits of an area under a ROC curve, or of the difference of two areas.

    They are by Student's t, or by the normal distribution where the degrees of freedom are NaN. With
    `on_logit` the limits of an area are symmetric on the scale of log odds.
    """
    upper = (1 + basis.level) / 2
    quantile = np.where(np.isnan(basis.df), special.ndtri(upper), special.stdtrit(basis.df, upper))
    if basis.term == "auroc_difference":
        half_width = quantile * basis.std_error
        return basis.estimate - half_width, basis.estimate + half_width
    return area_limits(basis.estimate, basis.std_error, quantile, on_logit=on_logit)


#: Fewest units with a pattern of signs whose two-sided mid-P value is below .05.
_FEWEST_TO_FLIP = 5
_MEANS = ("mean", "curve", "difference", "percent_decrease", "pooled_rate", "pooled_difference")
_SINGLE_QUANTILES = ("median", "quantile")
_QUANTILE_DIFFERENCES = ("median_difference", "quantile_difference")
_QUANTILES = (*_SINGLE_QUANTILES, *_QUANTILE_DIFFERENCES)
_CORRELATIONS = ("spearman", "pearson", "kendall", "rm", "percbend", "bicor", "clustered_correlation")
_ROOT = "\N{SQUARE ROOT}"
_SQUARED = "\N{SUPERSCRIPT TWO}"
_MINUS = "\N{MINUS SIGN}"
#: Every kind of interval, in the order of lists of names.
RECORDS = (
    Interval(
        "percentile",
        "percentile bootstrap",
        kind="bootstrap",
        kernel=lambda basis: limits.percentile(basis.replicates, basis.level),
        note="percentile bootstrap intervals (Davison and Hinkley 1997)",
        terms=(*_MEANS, *_QUANTILES, "within_case_sd", "rank", "clustered_correlation"),
        bounded=True,
        recommended=("within_case_sd", "rank"),
        tails=lambda basis, bound: one_sided_p_values_of_replicates(basis.replicates, basis.rounding, bound),
    ),
    Interval(
        "order",
        "bootstrap, order statistics of the replicates",
        kind="bootstrap",
        kernel=lambda basis: limits.order(basis.replicates, basis.level),
        note="bootstrap intervals between order statistics of the replicates",
        terms=_MEANS,
        short_label="order-statistics bootstrap",
        bounded=True,
        skips_undefined=True,
    ),
    Interval(
        "basic",
        "basic bootstrap",
        kind="bootstrap",
        kernel=lambda basis: limits.basic(basis.replicates, basis.estimate, basis.level),
        note="basic bootstrap intervals (Davison and Hinkley 1997)",
        terms=(*_MEANS, *_QUANTILES),
    ),
    Interval(
        "normal",
        "bootstrap, normal approximation",
        kind="bootstrap",
        kernel=lambda basis: limits.normal(basis.bias, basis.std_error, basis.estimate, basis.level),
        note="bias-corrected normal bootstrap intervals (Davison and Hinkley 1997)",
        terms=(*_MEANS, *_QUANTILES),
        short_label="normal bootstrap",
        scale="identity",
    ),
    Interval(
        "bca",
        "bias-corrected and accelerated bootstrap",
        kind="bootstrap",
        kernel=lambda basis: limits.bca(basis.replicates, basis.estimate, basis.jackknife, basis.level),
        note="bias-corrected and accelerated bootstrap intervals (Efron 1987)",
        terms=(*_MEANS, *_QUANTILES, "within_case_sd"),
        short_label="BCa bootstrap",
        extra_input="jackknife",
        bounded=True,
    ),
    Interval(
        "studentized",
        "studentized bootstrap",
        kind="bootstrap",
        kernel=_studentized_limits,
        note="studentized bootstrap intervals (Davison and Hinkley 1997)",
        terms=_MEANS,
        extra_input="variances",
    ),
    Interval(
        "bootstrap_t_log",
        "studentized bootstrap on the log scale",
        kind="bootstrap",
        kernel=_studentized_log_limits_of_any_term,
        note="studentized bootstrap intervals on the log scale (Davison and Hinkley 1997)",
        terms=("mean", "curve", "percent_decrease", "pooled_rate"),
        short_label="log-scale studentized bootstrap",
        extra_input="variances",
    ),
    Interval(
        "t",
        "Student's t",
        kind="t",
        kernel=_t_limits,
        note="from Student's t distribution with standard errors clustered by {unit}",
        terms=("mean", "curve", "difference", "regression"),
        short_label="t",
        clustered=True,
        scale="identity",
        tails=_t_tails,
    ),
    Interval(
        "cr2",
        "Student's t, CR2 standard errors",
        kind="t",
        kernel=_t_limits,
        note="from Student's t distribution, with bias-reduced standard errors (CR2) clustered by {unit} "
        "and Satterthwaite's degrees of freedom (Pustejovsky and Tipton 2018)",
        terms=(*_MEANS, "auroc_difference"),
        short_label="CR2",
        extra_input="cr2",
        clustered=True,
        scale="identity",
        recommended=("pooled_difference", "auroc_difference"),
        tails=_t_tails,
    ),
    Interval(
        "wilson_t",
        "Wilson score of a bounded mean, CR2 variance",
        kind="t",
        kernel=_wilson_t_limits,
        note="Wilson score intervals of means of scores from 0 to 1, with the effective sample size of "
        "their CR2 variance clustered by {unit} and Student's quantile with Satterthwaite's degrees of "
        "freedom, fewer where some of them hold most of that variance (Wilson 1927; Franco et al. 2019)",
        terms=("mean", "curve", "pooled_rate"),
        short_label="Wilson score",
        extra_input="cr2",
        clustered=True,
        bounded=True,
        recommended=("mean", "curve", "pooled_rate"),
        cr2_rows=lambda basis: basis.outside_unit_range,
        binary_defaults=("exact",),
        scale="recomputed",
    ),
    Interval(
        "wild",
        "wild cluster bootstrap",
        kind="flips",
        kernel=_wild_limits,
        note="obtained by inverting a wild cluster bootstrap test that flips the signs of each {unit} under "
        "the hypothesis (Cameron et al. 2008)",
        terms=("difference", "percent_decrease"),
        short_label="wild cluster bootstrap",
        extra_input="cr2",
        clustered=True,
        recommended=("difference", "percent_decrease"),
        tails=_flip_tails,
        cr2_rows=lambda basis: (basis.n_units < _FEWEST_TO_FLIP) & ~basis.trials,
        binary_defaults=("tango", "tang"),
        leaves_outlying_to_cr2=True,
    ),
    Interval(
        "tango",
        "Tango score",
        kind="share",
        kernel=_tango_limits,
        note="obtained by inverting the score test of two proportions of the same units (Tango 1998)",
        terms=("difference",),
        extra_input="cr2",
        bounded=True,
        scale="recomputed",
        tails=_tango_tails,
    ),
    Interval(
        "tang",
        "Tang score of a ratio",
        kind="share",
        kernel=_tang_percent_decrease_limits,
        note="obtained by inverting the score test of the ratio of two proportions of the same units (Tang "
        "et al. 2003)",
        terms=("percent_decrease",),
        short_label="Tang score",
        extra_input="cr2",
        bounded=True,
        tails=_tang_percent_decrease_tails,
    ),
    Interval(
        "wilson",
        "Wilson score",
        kind="share",
        kernel=_share_limits_by_effective_n(limits.wilson),
        note="Wilson score intervals, with a design effect for several rows of one {unit}",
        terms=("mean", "empty"),
        clustered=True,
        bounded=True,
        scale="recomputed",
    ),
    Interval(
        "exact",
        "Clopper-Pearson",
        kind="share",
        kernel=_share_limits_by_effective_n(limits.exact),
        note="Clopper-Pearson intervals, with a design effect for several rows of one {unit}",
        terms=("mean", "empty"),
        clustered=True,
        bounded=True,
        scale="recomputed",
    ),
    Interval(
        "delta",
        "delta method",
        kind="t",
        kernel=_delta_limits,
        note="from the delta method with standard errors clustered by {unit} and Student's t distribution",
        terms=("percent_decrease", "pooled_rate", "pooled_difference"),
        short_label="delta-method",
        clustered=True,
        scale="recomputed",
        tails=_t_tails,
    ),
    Interval(
        "fieller",
        "Fieller",
        kind="t",
        kernel=_fieller_decrease_sets,
        note="Fieller sets with standard errors clustered by {unit} (Fieller 1954)",
        terms=("percent_decrease",),
        extra_input="ratio_means",
        clustered=True,
        tails=_fieller_decrease_tails,
    ),
    Interval(
        "woodruff",
        "inverted Wilson score of the share of scores below",
        kind="inversion",
        kernel=None,
        note="obtained by inverting Wilson's score interval of the share of scores at or below a value "
        "(Woodruff 1952), with its CR2 variance clustered by {unit}",
        terms=_SINGLE_QUANTILES,
        short_label="Woodruff",
        clustered=True,
        bounded=True,
        recommended=_SINGLE_QUANTILES,
    ),
    Interval(
        "mover",
        "limits of both quantiles combined (MOVER)",
        kind="inversion",
        kernel=None,
        note="from the limits of both quantiles (Woodruff 1952) and their correlation over each {unit} (Zou "
        "and Donner 2008)",
        terms=_QUANTILE_DIFFERENCES,
        short_label="MOVER",
        clustered=True,
        recommended=_QUANTILE_DIFFERENCES,
    ),
    Interval(
        "rank_score",
        "inverted test of rank scores",
        kind="inversion",
        kernel=None,
        note="obtained by inverting a test of regression rank scores, summed over each {unit} (Gutenbrunner "
        "et al. 1993)",
        terms=("quantile_regression",),
        short_label="rank-score",
        clustered=True,
    ),
    Interval("wald", "Wald", kind="t", kernel=_t_limits, terms=("regression",), scale="identity"),
    Interval(
        "fisher",
        "Fisher z transformation",
        kind="correlation",
        kernel=_fisher_limits,
        note=f"1/{_ROOT}(n {_MINUS} 3)",
        terms=("spearman", "pearson", "rm", "percbend", "bicor"),
        short_label="Fisher z",
        scale="atanh",
    ),
    Interval(
        "bonett-wright",
        "Fisher z transformation, Bonett-Wright standard error",
        kind="correlation",
        kernel=_fisher_limits,
        note=f"{_ROOT}((1 + r{_SQUARED}/2)/(n {_MINUS} 3)) (Bonett and Wright 2000)",
        terms=("spearman",),
        short_label="Bonett-Wright",
        scale="atanh",
    ),
    Interval(
        "fieller",
        "Fisher z transformation, Fieller standard error",
        kind="correlation",
        kernel=_fisher_limits,
        note=f"{_ROOT}(1.06/(n {_MINUS} 3))",
        terms=("spearman", "kendall"),
        scale="atanh",
    ),
    Interval(
        "cr2",
        "Fisher z transformation, CR2 standard error",
        kind="correlation",
        kernel=_fisher_limits,
        note="on Fisher's z scale with bias-reduced standard errors (CR2) of the correlation's influence "
        "function, clustered by {unit}, no smaller than those of independent rows, and Student's t with "
        "Satterthwaite's degrees of freedom",
        terms=_CORRELATIONS,
        short_label="CR2",
        clustered=True,
        recommended=_CORRELATIONS,
    ),
    Interval(
        "logit",
        "DeLong variance on the logit scale",
        kind="area",
        kernel=lambda basis: _auc_limits(basis, on_logit=True),
        note="Student's t distribution on the logit scale, with DeLong's variance (DeLong et al. 1988), "
        "bias-reduced and clustered by {unit} (CR2; Pustejovsky and Tipton 2018), and Welch's degrees of "
        "freedom",
        terms=("auroc",),
        short_label="logit",
        clustered=True,
        scale="logit",
        recommended=("auroc",),
    ),
    Interval(
        "delong",
        "DeLong",
        kind="area",
        kernel=_auc_limits,
        note="the normal distribution with a variance for independent cases (DeLong et al. 1988)",
        terms=("auroc", "auroc_difference"),
        scale="recomputed",
    ),
    Interval(
        "obuchowski",
        "Obuchowski",
        kind="area",
        kernel=_auc_limits,
        note="Student's t distribution with a variance clustered by {unit} (Obuchowski 1997)",
        terms=("auroc", "auroc_difference"),
        clustered=True,
        scale="recomputed",
    ),
    # `stats.agreement.records` says which kinds of agreement have these intervals.
    Interval(
        "jackknife",
        "jackknife, Student's t",
        kind="agreement",
        kernel=None,
        note="a jackknife of each {unit} and Student's t distribution, on Fisher's z scale (kappas, alpha "
        "and concordance: Wilson's score; limits of agreement: the bias and the log of the standard "
        "deviation)",
        short_label="jackknife",
        clustered=True,
    ),
    Interval(
        "mcgraw-wong",
        "F distribution (McGraw and Wong)",
        kind="agreement",
        kernel=None,
        note="the F distribution (McGraw and Wong 1996)",
        short_label="F",
    ),
    Interval(
        "fleiss-cohen-everitt",
        "large-sample normal (Fleiss, Cohen and Everitt)",
        kind="agreement",
        kernel=None,
        note="the normal distribution with large-sample standard errors (Fleiss et al. 1969)",
        short_label="large-sample",
    ),
    Interval(
        "fleiss",
        "normal, standard error without agreement (Fleiss)",
        kind="agreement",
        kernel=None,
        note="the normal distribution with the standard error where nobody agrees (Fleiss 1971)",
    ),
    Interval(
        "lin",
        "Fisher z transformation (Lin)",
        kind="agreement",
        kernel=None,
        note="the normal distribution on Fisher's z scale (Lin 1989)",
        short_label="Lin",
    ),
    Interval(
        "bland-altman",
        "Student's t (Bland and Altman)",
        kind="agreement",
        kernel=None,
        note="Student's t distribution (Bland and Altman 1999)",
        short_label="Bland-Altman",
    ),
    # No function takes this name; `mrmc` makes these intervals.
    Interval(
        "obuchowski-rockette",
        "Obuchowski-Rockette",
        kind="t",
        kernel=_t_limits,
        note="Student's t distribution for readers and cases in general (Obuchowski and Rockette 1995)",
    ),
)
#: The name of the default, for which `interval=None` stands.
RECOMMENDED = "recommended"
#: Names of the intervals that are made from replicates.
BOOTSTRAP_INTERVALS = tuple(record.name for record in RECORDS if record.kind == "bootstrap")


def interval_names(term: str) -> tuple[str, ...]:
    """List the names that `interval=` takes for a term, "recommended" first if the term has a default."""
    names = tuple(record.name for record in RECORDS if term in record.terms)
    if any(term in record.recommended for record in RECORDS):
        return (RECOMMENDED, *names)
    return names


def choose_interval(interval: str | None, term: str, *, percentile_by_default: bool = False) -> Interval:
    """Return the interval with a name, or the default: percentile for draws that the user gives."""
    if interval is None:
        interval = RECOMMENDED
    check_choice(interval, interval_names(term), "interval")
    if interval != RECOMMENDED:
        record = next(record for record in RECORDS if record.name == interval and term in record.terms)
        # an interval that the user names is the interval of all rows
        return replace(record, binary_defaults=(), leaves_outlying_to_cr2=False)
    if percentile_by_default:
        record = next(record for record in RECORDS if record.name == "percentile")
    else:
        record = next(record for record in RECORDS if term in record.recommended)
    names = interval_names(term)
    trial_intervals = tuple(name for name in record.binary_defaults if name in names)
    return replace(record, binary_defaults=trial_intervals)


def interval_by_name(name: object, preferred_term: object = None) -> Interval | None:
    """Return the record with a name, None if there is none; of several the one for a term, or the first."""
    named = [record for record in RECORDS if record.name == name]
    for record in named:
        if preferred_term in record.terms:
            return record
    if named:
        return named[0]
    return None
