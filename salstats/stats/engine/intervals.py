"""Kinds of intervals as records: how each is made, of what, and how it is spoken of.

To add one, write its kernel in `limits` and its record in `RECORDS`: checks, notes under tables and Methods
sentences read the record.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from salstats.checks import check_choice
from salstats.stats.engine import limits, paired_shares
from salstats.stats.engine.coefficients import fisher_limits
from salstats.stats.engine.limits import Limits
from salstats.stats.engine.roc import area_limits
from salstats.stats.engine.tails import Tails, fieller_tails, flip_tails, percentile_tails, t_tails
from salstats.stats.engine.wild import Flipped


def _none() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True)
class Basis:
    """What limits can be made from; arrays of shape (n_rows,) where no other is given."""

    #: What is estimated: "mean", "difference", "percent_decrease", "pooled_rate", ...
    term: str
    #: Confidence level.
    level: float
    #: NaN where they are not known; `variance` is that of the delta method. Of a correlation `std_error`
    #: is that of its Fisher z.
    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray = field(default_factory=_none)
    variance: np.ndarray = field(default_factory=_none)
    bias: np.ndarray = field(default_factory=_none)
    #: Defined scores and their units; where these are weighted, as many of equal weight as they are worth.
    n: np.ndarray = field(default_factory=_none)
    n_units: np.ndarray = field(default_factory=_none)
    #: Errors of this size are rounding.
    rounding: np.ndarray = field(default_factory=_none)
    #: (n_replicates, n_rows): Replicates and their delta-method variances.
    replicates: np.ndarray = field(default_factory=_none)
    variances: np.ndarray = field(default_factory=_none)
    #: (n_units, n_rows): The estimates without each unit.
    jackknife: np.ndarray = field(default_factory=_none)
    #: The means that a ratio is of, method then reference, and their covariance (n_rows, 2, 2).
    levels: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    #: Signs flipped, and whether what they are of is a ratio, own by other.
    flipped: Flipped | None = None
    ratio: bool = False
    #: Rows of means whose scores may lie outside 0 and 1, and of those of 0/1 scores, one of each unit.
    beyond: np.ndarray = field(default_factory=_none)
    trials: np.ndarray = field(default_factory=_none)
    #: Rows that a few outlying units decide, and whose scores are not 0 as a rule.
    outlying: np.ndarray = field(default_factory=_none)


@dataclass(frozen=True)
class Interval:
    """A kind of interval: how it is made, of what, and how it is spoken of."""

    #: What `interval=` takes.
    name: str
    #: Its name in a table's note.
    label: str
    #: "bootstrap", from replicates; "t", from a standard error and Student's t; "flips", of signs; "share",
    #: of 0/1 scores; "correlation", on Fisher's z; "area"; "inversion", searched for among the scores.
    kind: str
    #: Makes `limits`; None where they are made together with their estimates, as of agreement and quantiles.
    kernel: Callable[[Basis], tuple[np.ndarray, ...]] | None
    #: How it is described in a Methods section; `{unit}` is what is resampled or clustered.
    note: str = ""
    #: What it is an interval of: terms of estimates frames.
    of: tuple[str, ...] = ()
    #: Its name in front of "intervals"; the label where it is empty.
    brief: str = ""
    #: What has to be computed for it beyond the usual: "variances", "jackknife", "levels" or "cr2".
    needs: str = ""
    #: Whether it has to be said that it knows which rows belong to one unit.
    clustered: bool = False
    #: Where its limits are estimate -+ quantile * standard error: nowhere; as they stand; on Fisher's z; on
    #: the log odds; or "remade", where an estimates frame holds all of the `Basis` that they are made from.
    scale: str = ""
    #: Whether its limits stay among the values that scores can take.
    bounded: bool = False
    #: Whether replicates of an average are over those of its tasks that were drawn.
    partial: bool = False
    #: What it is taken of where none is asked for.
    recommended: tuple[str, ...] = ()
    #: What is taken of 0/1 scores, one of each unit, where none is asked for: there it covers as it says. A
    #: record has one name for each term; what `choose_interval` returns has that of its own term.
    of_trials: tuple[str, ...] = ()
    #: Rows that it is not for, which get the limits of `cr2`.
    instead: Callable[[Basis], np.ndarray] | None = None
    #: Whether rows that a few outlying units decide get the limits of `cr2`, too, where none is asked for.
    mistakes_outlying: bool = False
    #: One-sided P values of bounds, by the test whose limits these are: at or below, and at or above.
    tails: Callable[[Basis, np.ndarray], Tails] | None = None

    def limits(self, basis: Basis) -> tuple[np.ndarray, ...]:
        """Lower and upper; of sets that may be unbounded also what each holds, and whether 0 is in a gap."""
        assert self.kernel is not None, self.name
        return self.kernel(basis)


def _share(kernel: Callable[[np.ndarray, np.ndarray, float], Limits]) -> Callable[[Basis], Limits]:
    """Limits of a proportion from its effective sample size."""

    def of_share(b: Basis) -> Limits:
        size = limits.effective_size(b.estimate, b.n, b.std_error**2, b.n_units, b.level)
        return kernel(b.estimate, size, b.level)

    return of_share


def _log_t(b: Basis) -> Limits:
    if b.term != "percent_decrease":
        return limits.studentized_log(b.replicates, b.variances, b.estimate, b.variance, b.rounding, b.level)
    # of the ratio of the two means, 1 - decrease / 100
    low, high = limits.studentized_log(
        1 - b.replicates / 100, b.variances / 1e4, 1 - b.estimate / 100, b.variance / 1e4, b.rounding / 100,
        b.level,
    )  # fmt: skip
    return 100 * (1 - high), 100 * (1 - low)


def _t(b: Basis) -> Limits:
    return limits.t_limits(b.estimate, b.std_error, b.df, b.level)


def _wild(b: Basis) -> Limits:
    """Limits where P crosses 1 - level."""
    assert b.flipped is not None
    low, high = b.flipped.limits(b.level)
    if b.ratio:
        low, high = 100 * (1 - high), 100 * (1 - low)
    low, high = (np.where(np.abs(limit) <= b.rounding, 0.0, limit) for limit in (low, high))
    return low, high


def _tango(b: Basis) -> Limits:
    return paired_shares.difference_limits(b.estimate, b.std_error, b.n_units, b.level)


def _tango_tails(b: Basis, bound: np.ndarray) -> Tails:
    return paired_shares.difference_tails(b.estimate, b.std_error, b.n_units, bound)


def _tang(b: Basis) -> Limits:
    """Limits of a percentage decrease, from those of the ratio of method and reference."""
    low, high = paired_shares.ratio_limits(*_paired_levels(b), b.n_units, b.level)
    return 100 * (1 - high), 100 * (1 - low)


def _tang_tails(b: Basis, bound: np.ndarray) -> Tails:
    levels = _paired_levels(b)
    # the decrease is the larger the smaller the ratio
    at_or_above, at_or_below = paired_shares.ratio_tails(*levels, b.n_units, 1 - bound / 100)
    return at_or_below, at_or_above


def _paired_levels(b: Basis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of the method and of the reference, and the standard error of their difference."""
    assert b.levels is not None
    method, reference, covariance = b.levels
    variance = covariance[:, 0, 0] - 2 * covariance[:, 0, 1] + covariance[:, 1, 1]
    return method, reference, np.sqrt(np.maximum(variance, 0))


def _delta(b: Basis) -> Limits:
    kernel = limits.logit_t_limits if b.term == "pooled_rate" else limits.t_limits
    return kernel(b.estimate, b.std_error, b.df, b.level)


def _t_tails(b: Basis, bound: np.ndarray) -> Tails:
    return t_tails(b.estimate, b.std_error, b.df, bound)


def _flip_tails(b: Basis, bound: np.ndarray) -> Tails:
    assert b.flipped is not None
    if not b.ratio:
        return flip_tails(b.flipped, b.estimate, b.rounding, bound)
    # the decrease is the larger the smaller the ratio
    at_or_above, at_or_below = flip_tails(b.flipped, 1 - b.estimate / 100, b.rounding / 100, 1 - bound / 100)
    return at_or_below, at_or_above


def _fieller_tails(b: Basis, bound: np.ndarray) -> Tails:
    assert b.levels is not None
    return fieller_tails(*b.levels, b.df, bound)


def _fieller(b: Basis) -> tuple[np.ndarray, ...]:
    """Limits, infinite where a set is unbounded; what the sets hold; whether 0 lies in a gap of them."""
    assert b.levels is not None
    low, high, form = limits.fieller(*b.levels, b.df, b.level)
    held = form.astype(object)
    for row in np.flatnonzero(form == "outside"):
        held[row] = f"all but {low[row]:.6g} to {high[row]:.6g}"
    held[form == "line"] = "everything"
    unbounded = np.isin(form, ("outside", "line"))
    in_gap = (form == "outside") & (low < 0) & (high > 0)
    return np.where(unbounded, -np.inf, low), np.where(unbounded, np.inf, high), held, in_gap


def _fisher(b: Basis) -> Limits:
    return fisher_limits(b.estimate, b.std_error, float(special.ndtri((1 + b.level) / 2)))


def _area(b: Basis, *, on_logit: bool = False) -> Limits:
    upper = (1 + b.level) / 2
    quantile = np.where(np.isnan(b.df), special.ndtri(upper), special.stdtrit(b.df, upper))
    if b.term == "auroc_difference":
        return b.estimate - quantile * b.std_error, b.estimate + quantile * b.std_error
    return area_limits(b.estimate, b.std_error, quantile, on_logit=on_logit)


#: Units of whose signs one pattern has a mid-P below .05.
_FEWEST_TO_FLIP = 5
_MEANS = ("mean", "curve", "difference", "percent_decrease", "pooled_rate", "pooled_difference")
_QUANTILES = ("median", "quantile", "median_difference", "quantile_difference")
_CORRELATIONS = ("spearman", "pearson", "kendall", "rm", "percbend", "bicor", "clustered_correlation")
_ROOT, _SQUARED, _MINUS = "\N{SQUARE ROOT}", "\N{SUPERSCRIPT TWO}", "\N{MINUS SIGN}"
#: Every kind of interval, in the order in which lists of names have them.
RECORDS = (
    Interval(
        "percentile", "percentile bootstrap", "bootstrap", lambda b: limits.percentile(b.replicates, b.level),
        "percentile bootstrap intervals (Davison and Hinkley 1997)",
        of=(*_MEANS, *_QUANTILES, "within_case_sd", "rank", "clustered_correlation"), bounded=True,
        recommended=("within_case_sd", "rank"),
        tails=lambda b, bound: percentile_tails(b.replicates, b.rounding, bound),
    ),
    Interval(
        "order", "bootstrap, order statistics of the replicates", "bootstrap",
        lambda b: limits.order(b.replicates, b.level),
        "bootstrap intervals between order statistics of the replicates",
        of=_MEANS, brief="order-statistics bootstrap", bounded=True, partial=True,
    ),
    Interval(
        "basic", "basic bootstrap", "bootstrap", lambda b: limits.basic(b.replicates, b.estimate, b.level),
        "basic bootstrap intervals (Davison and Hinkley 1997)", of=(*_MEANS, *_QUANTILES),
    ),
    Interval(
        "normal", "bootstrap, normal approximation", "bootstrap",
        lambda b: limits.normal(b.bias, b.std_error, b.estimate, b.level),
        "bias-corrected normal bootstrap intervals (Davison and Hinkley 1997)",
        of=(*_MEANS, *_QUANTILES), brief="normal bootstrap", scale="identity",
    ),
    Interval(
        "bca", "bias-corrected and accelerated bootstrap", "bootstrap",
        lambda b: limits.bca(b.replicates, b.estimate, b.jackknife, b.level),
        "bias-corrected and accelerated bootstrap intervals (Efron 1987)",
        of=(*_MEANS, *_QUANTILES, "within_case_sd"), brief="BCa bootstrap", needs="jackknife", bounded=True,
    ),
    Interval(
        "studentized", "studentized bootstrap", "bootstrap",
        lambda b: limits.studentized(b.replicates, b.variances, b.estimate, b.variance, b.rounding, b.level),
        "studentized bootstrap intervals (Davison and Hinkley 1997)", of=_MEANS, needs="variances",
    ),
    Interval(
        "bootstrap_t_log", "studentized bootstrap on the log scale", "bootstrap", _log_t,
        "studentized bootstrap intervals on the log scale (Davison and Hinkley 1997)",
        of=("mean", "curve", "percent_decrease", "pooled_rate"), brief="log-scale studentized bootstrap",
        needs="variances",
    ),
    Interval(
        "t", "Student's t", "t", _t, "from Student's t distribution with standard errors clustered by {unit}",
        of=("mean", "curve", "difference", "regression"), brief="t", clustered=True, scale="identity",
        tails=_t_tails,
    ),
    Interval(
        "cr2", "Student's t, CR2 standard errors", "t", _t,
        "from Student's t distribution, with bias-reduced standard errors (CR2) clustered by {unit} and "
        "Satterthwaite's degrees of freedom (Pustejovsky and Tipton 2018)",
        of=(*_MEANS, "auroc_difference"), brief="CR2", needs="cr2", clustered=True, scale="identity",
        recommended=("pooled_difference", "auroc_difference"), tails=_t_tails,
    ),
    Interval(
        "wilson_t", "Wilson score of a bounded mean, CR2 variance", "t",
        lambda b: limits.wilson_t(b.estimate, b.std_error**2, b.df, b.n_units, b.level),
        "Wilson score intervals of means of scores from 0 to 1, with the effective sample size of their CR2 "
        "variance clustered by {unit} and Student's quantile with Satterthwaite's degrees of freedom, fewer "
        "where some of them hold most of that variance (Wilson 1927; Franco et al. 2019)",
        of=("mean", "curve", "pooled_rate"), brief="Wilson score", needs="cr2", clustered=True, bounded=True,
        recommended=("mean", "curve", "pooled_rate"), instead=lambda b: b.beyond, of_trials=("exact",),
        scale="remade",
    ),
    Interval(
        "wild", "wild cluster bootstrap", "flips", _wild,
        "by inverting a wild cluster bootstrap test that flips the signs of each {unit} under the hypothesis "
        "(Cameron et al. 2008)",
        of=("difference", "percent_decrease"), brief="wild cluster bootstrap", needs="cr2", clustered=True,
        recommended=("difference", "percent_decrease"), tails=_flip_tails,
        instead=lambda b: (b.n_units < _FEWEST_TO_FLIP) & ~b.trials, of_trials=("tango", "tang"),
        mistakes_outlying=True,
    ),
    Interval(
        "tango", "Tango score", "share", _tango,
        "by inverting the score test of two proportions of the same units (Tango 1998)",
        of=("difference",), needs="cr2", bounded=True, scale="remade",
        tails=_tango_tails,
    ),
    Interval(
        "tang", "Tang score of a ratio", "share", _tang,
        "by inverting the score test of the ratio of two proportions of the same units (Tang et al. 2003)",
        of=("percent_decrease",), brief="Tang score", needs="cr2", bounded=True, tails=_tang_tails,
    ),
    Interval(
        "wilson", "Wilson score", "share", _share(limits.wilson),
        "Wilson score intervals, with a design effect for several rows of one {unit}",
        of=("mean", "empty"), clustered=True, bounded=True, scale="remade",
    ),
    Interval(
        "exact", "Clopper-Pearson", "share", _share(limits.exact),
        "Clopper-Pearson intervals, with a design effect for several rows of one {unit}",
        of=("mean", "empty"), clustered=True, bounded=True, scale="remade",
    ),
    Interval(
        "delta", "delta method", "t", _delta,
        "from the delta method with standard errors clustered by {unit} and Student's t distribution",
        of=("percent_decrease", "pooled_rate", "pooled_difference"),
        brief="delta-method", clustered=True, scale="remade", tails=_t_tails,
    ),
    Interval(
        "fieller", "Fieller", "t", _fieller,
        "Fieller sets with standard errors clustered by {unit} (Fieller 1954)",
        of=("percent_decrease",), needs="levels", clustered=True, tails=_fieller_tails,
    ),
    Interval(
        "woodruff", "inverted Wilson score of the share of scores below", "inversion", None,
        "by inverting Wilson's score interval of the share of scores at or below a value (Woodruff 1952), "
        "with its CR2 variance clustered by {unit}",
        of=_QUANTILES[:2], brief="Woodruff", clustered=True, bounded=True, recommended=_QUANTILES[:2],
    ),
    Interval(
        "mover", "limits of both quantiles combined (MOVER)", "inversion", None,
        "from the limits of both quantiles (Woodruff 1952) and their correlation over each {unit} (Zou and "
        "Donner 2008)",
        of=_QUANTILES[2:], brief="MOVER", clustered=True, recommended=_QUANTILES[2:],
    ),
    Interval(
        "rank_score", "inverted test of rank scores", "inversion", None,
        "by inverting a test of regression rank scores, summed over each {unit} (Gutenbrunner et al. 1993)",
        of=("quantile_regression",), brief="rank-score", clustered=True,
    ),
    Interval("wald", "Wald", "t", _t, of=("regression",), scale="identity"),
    Interval(
        "fisher", "Fisher z transformation", "correlation", _fisher, f"1/{_ROOT}(n {_MINUS} 3)",
        of=("spearman", "pearson", "rm", "percbend", "bicor"), brief="Fisher z", scale="atanh",
    ),
    Interval(
        "bonett-wright", "Fisher z transformation, Bonett-Wright standard error", "correlation", _fisher,
        f"{_ROOT}((1 + r{_SQUARED}/2)/(n {_MINUS} 3)) (Bonett and Wright 2000)",
        of=("spearman",), brief="Bonett-Wright", scale="atanh",
    ),
    Interval(
        "fieller", "Fisher z transformation, Fieller standard error", "correlation", _fisher,
        f"{_ROOT}(1.06/(n {_MINUS} 3))", of=("spearman", "kendall"), scale="atanh",
    ),
    Interval(
        "cr2", "Fisher z transformation, CR2 standard error", "correlation", _fisher,
        "on Fisher's z scale with bias-reduced standard errors (CR2) of the correlation's influence "
        "function, clustered by {unit}, no smaller than those of independent rows, and Student's t with "
        "Satterthwaite's degrees of freedom",
        of=_CORRELATIONS, brief="CR2", clustered=True, recommended=_CORRELATIONS,
    ),
    Interval(
        "logit", "DeLong variance on the logit scale", "area", lambda b: _area(b, on_logit=True),
        "Student's t distribution on the logit scale, with DeLong's variance (DeLong et al. 1988), "
        "bias-reduced and clustered by {unit} (CR2; Pustejovsky and Tipton 2018), and Welch's degrees of "
        "freedom",
        of=("auroc",), brief="logit", clustered=True, scale="logit", recommended=("auroc",),
    ),
    Interval(
        "delong", "DeLong", "area", _area,
        "the normal distribution with a variance for independent cases (DeLong et al. 1988)",
        of=("auroc", "auroc_difference"), scale="remade",
    ),
    Interval(
        "obuchowski", "Obuchowski", "area", _area,
        "Student's t distribution with a variance clustered by {unit} (Obuchowski 1997)",
        of=("auroc", "auroc_difference"), clustered=True, scale="remade",
    ),
    # which kinds of agreement have them is told in `stats.agreement.records`
    Interval(
        "jackknife", "jackknife, Student's t", "agreement", None,
        "a jackknife of each {unit} and Student's t distribution, on Fisher's z scale (kappas, alpha and "
        "concordance: Wilson's score; limits of agreement: the bias and the log of the standard deviation)",
        brief="jackknife", clustered=True,
    ),
    Interval(
        "mcgraw-wong", "F distribution (McGraw and Wong)", "agreement", None,
        "the F distribution (McGraw and Wong 1996)", brief="F",
    ),
    Interval(
        "fleiss-cohen-everitt", "large-sample normal (Fleiss, Cohen and Everitt)", "agreement", None,
        "the normal distribution with large-sample standard errors (Fleiss et al. 1969)",
        brief="large-sample",
    ),
    Interval(
        "fleiss", "normal, standard error without agreement (Fleiss)", "agreement", None,
        "the normal distribution with the standard error where nobody agrees (Fleiss 1971)",
    ),
    Interval(
        "lin", "Fisher z transformation (Lin)", "agreement", None,
        "the normal distribution on Fisher's z scale (Lin 1989)", brief="Lin",
    ),
    Interval(
        "bland-altman", "Student's t (Bland and Altman)", "agreement", None,
        "Student's t distribution (Bland and Altman 1999)", brief="Bland-Altman",
    ),
    # no function takes it by name: it is what `mrmc` makes
    Interval(
        "obuchowski-rockette", "Obuchowski-Rockette", "t", _t,
        "Student's t distribution for readers and cases in general (Obuchowski and Rockette 1995)",
    ),
)  # fmt: skip
#: What `interval=None` stands for.
RECOMMENDED = "recommended"
#: Names of those made from replicates.
BOOTSTRAP = tuple(r.name for r in RECORDS if r.kind == "bootstrap")


def names_of(term: str) -> tuple[str, ...]:
    """Names that `interval=` takes, by what is estimated."""
    any_of = (RECOMMENDED,) if any(term in r.recommended for r in RECORDS) else ()
    return (*any_of, *(r.name for r in RECORDS if term in r.of))


def choose_interval(interval: str | None, term: str, *, drawn: bool = False) -> Interval:
    """The interval asked for; else percentile of draws that are given, or the recommended one."""
    name = check_choice(RECOMMENDED if interval is None else interval, names_of(term), "interval")
    if name != RECOMMENDED:
        record = next(r for r in RECORDS if r.name == name and term in r.of)
        return replace(record, of_trials=(), mistakes_outlying=False)
    record = RECORDS[0] if drawn else next(r for r in RECORDS if term in r.recommended)
    of_term = tuple(name for name in record.of_trials if name in names_of(term))
    return replace(record, of_trials=of_term)


def find_interval(name: object, term: object = None) -> Interval | None:
    """Record of a name; two kinds may share one, and then what is estimated decides."""
    named = [r for r in RECORDS if r.name == name]
    return next((r for r in named if term in r.of), named[0] if named else None)
