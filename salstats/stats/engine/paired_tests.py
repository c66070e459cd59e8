"""Tests of paired scores: bootstrap, t, Wilcoxon, McNemar, score, sign flips."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from salstats.errors import Message, SalstatsError, Setting
from salstats.stats.engine.comparisons import PairedTarget
from salstats.stats.engine.cr2 import cr2
from salstats.stats.engine.draws import one_thread_if_small, sign_blocks
from salstats.stats.engine.estimands import quiet_ratio
from salstats.stats.engine.grouping import group_label
from salstats.stats.engine.inference import InferredEstimates
from salstats.stats.engine.inference_options import check_binary
from salstats.stats.engine.joint_adjustment import NullDraws
from salstats.stats.engine.paired_shares import equality_p_value
from salstats.stats.engine.replicates import bootstrap_p_values, mean_sd_and_n_defined
from salstats.stats.engine.resampling_units import Units
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.variances import analytic_variance, influence_weights


@dataclass(frozen=True)
class PairedTest:
    """A test of paired scores."""

    #: The name that `test=` takes.
    name: str
    #: Its name in a table's note.
    label: str
    #: Its description in a Methods section; `{unit}` stands for the unit that is resampled, `{replicates}`
    #: for the number of replicates or flips.
    note: str
    #: Its P values are counted from replicates or flips.
    resampled: bool = False


_P_VALUES_FROM = "Two-sided P values were from"
_EXACT_SMALL_P_VALUES = "small P values were of all patterns of signs (Robinson 1982)"
#: Every test by its name.
RECORDS = {
    record.name: record
    for record in (
        PairedTest(
            "bootstrap", "paired bootstrap test",
            "Two-sided P values of no difference were taken from the bootstrap replicates, as twice the "
            "smaller of (1 + k)/(B + 1), at most 1, with k the number of replicates of the difference at or "
            "below 0, or at or above 0, and B the number of defined replicates (Davison and Hinkley 1997); "
            "with all {replicates} replicates defined the smallest possible was 2/(B + 1).",
            resampled=True,
        ),
        PairedTest(
            "t", "paired t test",
            f"{_P_VALUES_FROM} paired t tests with standard errors clustered by {{unit}}.",
        ),
        PairedTest(
            "cr2", "paired t test, CR2 standard errors",
            f"{_P_VALUES_FROM} paired t tests with bias-reduced standard errors (CR2) clustered by {{unit}} "
            "and Satterthwaite's degrees of freedom (Pustejovsky and Tipton 2018).",
        ),
        PairedTest(
            "wilcoxon", "Wilcoxon signed-rank test",
            f"{_P_VALUES_FROM} Wilcoxon's signed-rank test of the mean difference of each {{unit}} (Wilcoxon "
            "1945).",
        ),
        PairedTest(
            "mcnemar", "exact McNemar test", f"{_P_VALUES_FROM} McNemar's exact test (McNemar 1947)."
        ),
        PairedTest(
            "signflip", "sign-flip permutation test",
            f"{_P_VALUES_FROM} a permutation test that flips the signs of all differences of a {{unit}} "
            "together, as (1 + k)/(B + 1) with k the number of B = {replicates} random flips that lie at "
            f"least as far from 0 as the data; {_EXACT_SMALL_P_VALUES}.",
            resampled=True,
        ),
        PairedTest(
            "wild", "wild cluster bootstrap test, mid-P",
            "Two-sided mid-P values were from a wild cluster bootstrap that flips the signs of each {unit} "
            "under the hypothesis (Cameron et al. 2008), with {replicates} flips, or every one "
            f"where there are no more; {_EXACT_SMALL_P_VALUES}.",
            resampled=True,
        ),
        PairedTest(
            "score", "McNemar's score test, without correction",
            f"{_P_VALUES_FROM} McNemar's score test without correction (McNemar 1947).",
        ),
        PairedTest("none", "no test", "No test was made."),
    )
}  # fmt: skip
TESTS = tuple(RECORDS)


class PairedTestResult(NamedTuple):
    """Results of a test, shape (n_rows,), NaN where the test has none."""

    statistic: np.ndarray
    df: np.ndarray
    p_value: np.ndarray
    #: Smallest possible P value; None if no P value is counted from draws.
    p_floor: np.ndarray | float | None = None
    #: The draws that P values are counted from.
    null_draws: NullDraws | None = None


def paired_test_result(
    test: str, paired_target: PairedTarget, estimates: InferredEstimates, units: Units
) -> PairedTestResult:
    """Test equality of method and reference in each row."""
    cells = paired_target.target.cells
    estimand = paired_target.target.estimand
    difference = estimand.as_difference()
    means = cells.means()
    magnitude = difference.magnitude_behind_estimates(means)
    undefined = np.full(estimand.n_rows, np.nan)
    # An average of percentage decreases is not a function of one difference: the average itself is tested.
    n_single = paired_target.members.shape[1]
    is_average = np.arange(estimand.n_rows) >= n_single
    tests_estimate_itself = is_average & (estimand.row_weights is not None)
    too_few_units = estimates.smallest_n_in_sample < 2
    if test == "bootstrap":
        assert estimates.replicates is not None
        assert estimates.difference_replicates is not None
        replicates = np.where(tests_estimate_itself, estimates.replicates, estimates.difference_replicates)
        p_value, p_floor = bootstrap_p_values(replicates, ROUNDING * magnitude)
        p_value = np.where(too_few_units, np.nan, p_value)
        value = np.where(tests_estimate_itself, estimates.estimate, difference.value(means))
        std_error = mean_sd_and_n_defined(replicates).standard_deviation
        # undefined replicates count as no deviation
        deviations = np.nan_to_num(replicates - value)
        null_draws = NullDraws.from_statistics(
            value, deviations, std_error, std_error_rounding=ROUNDING * magnitude
        )
        return PairedTestResult(undefined, undefined, p_value, p_floor, null_draws)
    if test == "score":
        return PairedTestResult(undefined, undefined, _score_p_values(paired_target, estimates))
    if test in ("t", "cr2"):
        return _t_tests(test, paired_target, tests_estimate_itself)
    if test == "wild":
        return _p_values_of_tests_underlying_wild_limits(paired_target, estimates)
    if test == "signflip":
        # times the weights, the sums of units are their shares of the mean difference
        per_sum, _ = influence_weights(
            difference.derivatives_by_estimate_and_cell_mean(means), means, cells.counts.sum(axis=0)
        )
        signs = sign_blocks(estimates.options.n_replicates, units.n, estimates.options.rng)
        null_draws = null_draws_of_sign_flips(cells.sums @ per_sum.T, signs, magnitude)
        p_value = np.where(tests_estimate_itself | too_few_units, np.nan, null_draws.p_values())
        return PairedTestResult(undefined, undefined, p_value, null_draws.p_floor, null_draws)
    if test == "none":
        return PairedTestResult(undefined, undefined, undefined)
    return _wilcoxon_or_mcnemar_of_rows_without_averages(test, paired_target, magnitude, units.name)


def _t_tests(test: str, paired_target: PairedTarget, tests_estimate_itself: np.ndarray) -> PairedTestResult:
    """Test each row by Student's t: its difference, or where `tests_estimate_itself` is True its estimate.

    Variances and degrees of freedom are analytic for the test "t", CR2 for all others.
    """
    cells = paired_target.target.cells
    estimand = paired_target.target.estimand
    means = cells.means()
    # statistic, df and P value of every row, first of its difference and then of its estimate
    results = []
    for tested in (estimand.as_difference(), estimand):
        if test == "t":
            variance, df = analytic_variance(cells, tested)
        else:
            robust = cr2(
                cells.sums, cells.counts, tested.derivatives_by_estimate_and_cell_mean(means), cells.squares
            )
            variance = robust.variance
            df = robust.df
        is_rounding = np.sqrt(variance) <= ROUNDING * tested.magnitude_behind_estimates(means)
        variance = np.where(is_rounding, 0.0, variance)
        results.append(t_test(tested.value(means), variance, df))
    difference_tests, estimate_tests = results
    statistic, df, p_value = np.where(tests_estimate_itself, estimate_tests, difference_tests)
    return PairedTestResult(statistic, df, p_value)


def _p_values_of_tests_underlying_wild_limits(
    paired_target: PairedTarget, estimates: InferredEstimates
) -> PairedTestResult:
    """Test each row by the test that its limits invert.

    That is the test by sign flips, by CR2 where units are few, or the score test of paired 0/1 scores.
    """
    assert estimates.sign_flips is not None
    p_value = estimates.sign_flips.p_value
    p_floor: np.ndarray | float = estimates.sign_flips.null_draws.p_floor
    undefined = np.full(len(p_value), np.nan)
    if estimates.uses_cr2 is not None:
        t_tests = t_test(estimates.estimate, estimates.std_error**2, estimates.df)
        p_value = np.where(estimates.uses_cr2, t_tests.p_value, p_value)
        p_floor = np.where(estimates.uses_cr2, np.nan, p_floor)
    if estimates.options.interval.binary_defaults and estimates.basis.trials.any():
        trials = estimates.basis.trials
        p_value = np.where(trials, _score_p_values(paired_target, estimates), p_value)
        if trials.all():
            # no P value is counted from draws
            return PairedTestResult(undefined, undefined, p_value)
        p_floor = np.where(trials, np.nan, p_floor)
    return PairedTestResult(undefined, undefined, p_value, p_floor, estimates.sign_flips.null_draws)


def _score_p_values(paired_target: PairedTarget, estimates: InferredEstimates) -> np.ndarray:
    """Compute P values of the score test of paired 0/1 scores, NaN for averages and with one unit."""
    cells = paired_target.target.cells
    difference = paired_target.target.estimand.as_difference()
    std_error = np.sqrt(analytic_variance(cells, difference).variance)
    p_value = equality_p_value(difference.value(cells.means()), std_error, estimates.n_units)
    is_single = difference.membership_by_cell_and_estimate().sum(axis=0) == 2
    return np.where(is_single & (estimates.smallest_n_in_sample >= 2), p_value, np.nan)


def _wilcoxon_or_mcnemar_of_rows_without_averages(
    test: str, paired_target: PairedTarget, magnitude: np.ndarray, unit: str
) -> PairedTestResult:
    """Make Wilcoxon's or McNemar's test of the estimates that are not averages; averages get NaN."""
    n_rows = len(magnitude)
    statistic = np.full(n_rows, np.nan)
    p_value = np.full(n_rows, np.nan)
    if test == "mcnemar":
        for values in (paired_target.method_scores, paired_target.reference_scores):
            check_binary(values, "test", test)
    n_groups, n_single = paired_target.members.shape
    for row in range(n_single):
        pairs = paired_target.members[paired_target.groups, row]
        if not pairs.any():
            continue
        method = paired_target.method_scores[pairs]
        reference = paired_target.reference_scores[pairs]
        units = paired_target.units[pairs]
        if test == "mcnemar":
            is_pooled = row >= n_groups
            if is_pooled and len(np.unique(units)) < len(units):
                # Pairs of one unit in several tasks are not independent.
                continue
            check_one_pair_per_unit(units, paired_target.target.keys, row, unit)
            statistic[row], p_value[row] = mcnemar(method, reference)
        else:
            counts = np.bincount(units)
            present = counts > 0
            mean_differences = np.bincount(units, weights=method - reference)[present] / counts[present]
            is_rounding = np.abs(mean_differences) <= ROUNDING * magnitude[row]
            statistic[row], p_value[row] = wilcoxon(np.where(is_rounding, 0.0, mean_differences))
    return PairedTestResult(statistic, np.full(n_rows, np.nan), p_value)


class TTests(NamedTuple):
    """Tests by Student's t, shape (n_rows,) each, NaN where a test is undefined."""

    statistic: np.ndarray
    df: np.ndarray
    #: Two-sided P values.
    p_value: np.ndarray


def t_test(estimate: np.ndarray, variance: np.ndarray, df: np.ndarray) -> TTests:
    """Test estimates against 0 by Student's t; undefined where the variance is 0 or `df` is below 1."""
    is_defined = (df >= 1) & (variance > 0)
    df = np.where(is_defined, df, np.nan)
    std_error = np.sqrt(np.where(variance > 0, variance, np.nan))
    statistic = quiet_ratio(estimate, std_error)
    p_value = np.asarray(2 * stats.t.sf(np.abs(statistic), df))
    return TTests(np.where(is_defined, statistic, np.nan), df, p_value)


class WilcoxonTest(NamedTuple):
    """Wilcoxon's signed-rank test."""

    #: The statistic.
    sum_of_positive_ranks: float
    #: Two-sided P value.
    p_value: float


def wilcoxon(differences: np.ndarray) -> WilcoxonTest:
    """Test differences by Wilcoxon's (1945) signed-rank test; the P value is NaN if all of them are 0.

    Zeros are left out. The test is exact below 50 differences without ties or zeros, else the normal
    approximation with continuity correction: the defaults of R's `wilcox.test`.
    """
    nonzero = differences[differences != 0]
    n = len(nonzero)
    if n == 0:
        return WilcoxonTest(sum_of_positive_ranks=0.0, p_value=float("nan"))
    ranks = stats.rankdata(np.abs(nonzero))
    statistic = float(ranks[nonzero > 0].sum())
    has_zeros = n < len(differences)
    has_ties = len(np.unique(ranks)) < n
    # SciPy's "auto" differs from R: it is exact for 50 differences, too, and permutes differences with ties.
    method = "asymptotic"
    if n < 50 and not has_zeros and not has_ties:
        method = "exact"
    # The types of SciPy's stubs lack "asymptotic".
    p_value = stats.wilcoxon(nonzero, method=cast("Any", method), correction=True).pvalue
    return WilcoxonTest(statistic, float(p_value))


class McNemarTest(NamedTuple):
    """McNemar's exact test of pairs of 0/1 scores."""

    #: The statistic: the number of pairs in which the method scores 1 and the reference 0.
    n_only_method: float
    #: Two-sided P value.
    p_value: float


def mcnemar(method: np.ndarray, reference: np.ndarray) -> McNemarTest:
    """Test pairs of 0/1 scores by McNemar's (1947) exact test; the P value is 1 if no pair is discordant."""
    only_method = int(((method == 1) & (reference == 0)).sum())
    only_reference = int(((method == 0) & (reference == 1)).sum())
    discordant = only_method + only_reference
    if discordant == 0:
        return McNemarTest(n_only_method=0.0, p_value=1.0)
    p_value = stats.binomtest(only_method, discordant, 0.5).pvalue
    return McNemarTest(float(only_method), float(p_value))


def null_draws_of_sign_flips(
    sums: np.ndarray, signs: Iterable[np.ndarray], score_magnitude: np.ndarray
) -> NullDraws:
    """Flip the signs of units' differences, as draws of the permutation test of a mean difference of 0.

    `sums` (n_units, n_rows) are the units' shares of the mean difference; the sign of a unit is the same in
    all rows. `signs` are blocks (n_flips, n_units). A standard error up to 1e-12 of the size of the scores,
    `score_magnitude` (n_rows,), is rounding.
    """
    n_units, n_rows = sums.shape
    with one_thread_if_small(n_units, n_rows):
        flipped = np.concatenate([block.astype(np.float64) @ sums for block in signs])
    std_error = np.sqrt((sums**2).sum(axis=0))
    return NullDraws.from_statistics(
        sums.sum(axis=0), flipped, std_error, std_error_rounding=ROUNDING * score_magnitude, unit_shares=sums
    )


def check_binary_and_one_pair_per_unit(
    paired_target: PairedTarget, option: str, choice: str, unit: str
) -> None:
    """Raise SalstatsError unless scores are 0 or 1 and each unit has one pair of scores in each group.

    `option` and `choice` are the user's option and its value, `unit` the unit's name, for the message.
    """
    check_binary(paired_target.method_scores, option, choice)
    check_binary(paired_target.reference_scores, option, choice)
    for group in range(paired_target.members.shape[0]):
        units = paired_target.units[paired_target.groups == group]
        check_one_pair_per_unit(units, paired_target.target.keys, group, unit, option, choice)


def check_one_pair_per_unit(
    units: NDArray[np.integer],
    keys: pd.DataFrame,
    row: int,
    unit: str,
    option: str = "test",
    choice: str = "mcnemar",
) -> None:
    """Raise SalstatsError if a unit has several pairs, because the choice needs independent ones.

    `units` are those of the pairs of a row of `keys`, `unit` is the unit's name; `choice` is the value of the
    user's `option`.
    """
    n_units = len(np.unique(units))
    if len(units) > n_units:
        alternative = Message(Setting(option, "wild"))
        if option == "test":
            alternative = Message(alternative, " or ", Setting("test", "signflip"))
        raise SalstatsError(
            Setting(option, choice),
            " needs independent pairs, and ",
            group_label(keys, row),
            f" has {len(units)} in {n_units} units ({unit})",
            hint=Message("take ", alternative, ", which keeps a unit's pairs together"),
            column=unit,
            rows=[row],
        )
