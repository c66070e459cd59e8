"""Comparison of methods with a reference: estimates, limits, tests, verdicts and the frame of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_choice
from salstats.errors import Call, Message, SalstatsError, Setting
from salstats.frames import estimates_frame
from salstats.stats.adjust import JOINT, SINGLE_STEP, adjusted_frame, checked_procedure
from salstats.stats.engine.cautions import add_score_cautions_by_metric
from salstats.stats.engine.comparisons import (
    PAIRS,
    ComparisonOptions,
    PairedTarget,
    paired_target_of_scores,
    repeat_reference_per_model_and_seed,
)
from salstats.stats.engine.effect_sizes import EFFECT_SIZES, effect_columns
from salstats.stats.engine.equivalence import Margin, lower_or_higher_verdicts, margin_test_columns
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import (
    check_one_metric,
    code_scores,
    display_order,
    is_average,
    is_summary_row,
    metric_of_each_key,
)
from salstats.stats.engine.inference import InferredEstimates, estimates_at_row_levels, infer
from salstats.stats.engine.inference_options import Options
from salstats.stats.engine.joint_adjustment import joint_level
from salstats.stats.engine.paired_tests import (
    RECORDS,
    TESTS,
    PairedTestResult,
    check_binary_and_one_pair_per_unit,
    paired_test_result,
)
from salstats.stats.engine.resampling_units import Unit, Units, resolve_unit
from salstats.stats.engine.result_warnings import MAX_UNDEFINED_SHARE, ROUNDING, warn_beyond_range
from salstats.stats.engine.score_reasons import (
    metric_option_columns_several_where_mixed,
    n_absent_column_if_any,
)
from salstats.stats.engine.shared_cases import (
    advice_to_bound_missing_scores,
    warn_and_add_caution_of_incomplete_pairs,
)
from salstats.stats.engine.weighting import Weighting, rows_with_positive_weight

_DEFAULT_BY = ("metric", "task")


class HypothesisOptions(NamedTuple):
    """Options of the tests of all rows, of the adjustment of their P values, and of effect sizes."""

    #: Name of the test; None for the one that agrees with the interval.
    test: str | None
    adjust: str
    simultaneous: bool | None
    margin: Margin | None
    weights: Weighting
    effect_size: str | None = None

    def checked_with_adjustment(self, test: str) -> "HypothesisOptions":
        """Return the options in the records' spelling, checked against each other and against a test.

        A joint adjustment comes with the simultaneous limits that agree with it unless these are declined,
        and simultaneous limits come with the adjustment that agrees with them.
        """
        adjust = checked_procedure(self.adjust, "adjust", has_draws=True)
        if test in ("wilcoxon", "mcnemar") and isinstance(self.weights, str):
            raise SalstatsError(
                Setting("test", test),
                " takes no ",
                Setting("weights"),
                hint=Message("take ", Setting("test", "wild"), ", 'cr2' or 't'"),
            )
        if self.effect_size is not None:
            check_choice(self.effect_size, EFFECT_SIZES, "effect_size")
            if self.weights is not None:
                raise SalstatsError(
                    Setting("effect_size"),
                    " takes no ",
                    Setting("weights"),
                    hint=Message("leave ", Setting("weights"), " out"),
                )
        if self.simultaneous and adjust == "none":
            adjust = SINGLE_STEP
        _check_test_has_p_values(test, adjust)
        is_joint = adjust in JOINT
        if self.simultaneous and not is_joint:
            raise SalstatsError(
                Setting("simultaneous", True),
                " is for ",
                Setting("adjust"),
                f" {' or '.join(map(repr, JOINT))}, not for {adjust!r}",
                hint=Message(
                    Call("adjust", ("frame",), {"intervals": True}), " makes limits of other procedures"
                ),
                choices=JOINT,
            )
        if is_joint and not RECORDS[test].resampled:
            raise SalstatsError(
                Setting("adjust", adjust),
                " needs a test from flips or replicates, which ",
                Setting("test", test),
                " is not",
                hint=Message("take ", Setting("test", "wild")),
            )
        if is_joint and self.margin is not None:
            raise SalstatsError(
                Setting("adjust", adjust),
                " is not for ",
                Setting("margin"),
                hint=Message("take ", Setting("adjust", "holm")),
            )
        simultaneous = is_joint and self.simultaneous is not False
        if simultaneous:
            adjust = SINGLE_STEP
        elif adjust == SINGLE_STEP:
            raise SalstatsError(
                Setting("adjust", adjust),
                " has simultaneous limits",
                hint=Message("take ", Setting("adjust", "max-t"), " with ", Setting("simultaneous", False)),
            )
        return self._replace(adjust=adjust, simultaneous=simultaneous)


def _check_test_has_p_values(test: str, adjust: str) -> None:
    """Raise if P values are to be adjusted and there is no test."""
    if test == "none" and adjust != "none":
        raise SalstatsError(
            Setting("adjust", adjust),
            " adjusts P values, and ",
            Setting("test", test),
            " has none",
            hint=Message("take ", Setting("test", "wild")),
        )


def comparison_frame(
    term: str,
    scores: pd.DataFrame,
    comparison: ComparisonOptions,
    options: Options,
    hypothesis: HypothesisOptions,
    *,
    by: str | Sequence[str] | None,
    unit: Unit,
) -> pd.DataFrame:
    """Compare methods with the reference; return the estimates frame of `term`."""
    test = check_choice(hypothesis.test or options.agreeing_test_name, TESTS, "test")
    hypothesis = hypothesis.checked_with_adjustment(test)
    options = without_binary_defaults_if_wild_or_joint(options, hypothesis.test, hypothesis.adjust)
    _check_pairs_suit_options(comparison, options, test, hypothesis)
    if isinstance(scores, pd.DataFrame) and "method" in scores.columns:
        scores = repeat_reference_per_model_and_seed(scores, comparison.reference, by)
    codes, columns = code_scores(scores, by, _DEFAULT_BY, excluded_column="method")
    check_one_metric(codes, columns)
    codes, units, weights = rows_with_positive_weight(
        codes, resolve_unit(codes, unit), hypothesis.weights, comparison.average
    )
    scores = codes.frame
    comparison = replace(comparison, by=columns, weights=weights)
    paired_target = paired_target_of_scores(term, codes, units, comparison)
    if hypothesis.adjust in JOINT:
        # All rows of a family share its flips, so no row may be inferred without flips for outlying units.
        options = replace(options, interval=replace(options.interval, leaves_outlying_to_cr2=False))
    keys = paired_target.target.keys
    estimates, tested = infer_and_test(paired_target, options, test, units)
    reported = estimates
    if hypothesis.simultaneous:
        reported = estimates_at_row_levels(estimates, joint_levels(tested, keys, options.level))
    tested = with_exact_small_p_values(tested, alpha_not_to_cross=1 - reported.conf_level)

    table = reported.columns(units.name)
    table |= n_absent_column_if_any(keys, paired_target.absent, scores)
    table |= inference_to_column_if_any(scores, units.codes, keys)
    table |= weights.weights_column_if_any(is_average(keys, comparison.average))
    # `df` is that of the test, if it has any
    table.pop("df", None)
    table |= _df_statistic_p_value_and_p_floor_columns(tested, estimates)
    special = _means_pairs_and_verdict_columns(paired_target, reported, scores, hypothesis.margin)
    special["test"] = test_name_of_each_row(test, estimates)
    special |= _n_replicates_column_if_any(options, estimates, tested)
    special |= metric_option_columns_several_where_mixed(scores, keys)
    if hypothesis.simultaneous:
        special["family_level"] = options.level
    if hypothesis.effect_size is not None:
        special |= effect_columns(paired_target, hypothesis.effect_size, options.level)

    order = display_order(keys)
    frame = add_score_cautions_by_metric(estimates_frame(keys, table, special, order), scores)
    if not options.interval.bounded:
        warn_beyond_range(frame)
    remedy = advice_to_bound_missing_scores(comparison.reference)
    frame = warn_and_add_caution_of_incomplete_pairs(
        frame, paired_target.one_sided, scores, remedy, comparison.pairs
    )
    return _with_adjusted_p_values(frame, hypothesis.adjust, tested, order)


def _check_pairs_suit_options(
    comparison: ComparisonOptions, options: Options, test: str, hypothesis: HypothesisOptions
) -> None:
    """Check that the pairs compared suit the interval, the test and the effect size."""
    check_choice(comparison.pairs, PAIRS, "pairs")
    all_scores = comparison.pairs != "complete"
    if hypothesis.weights is not None and comparison.overall and all_scores:
        raise SalstatsError(
            Setting("overall", True),
            " with ",
            Setting("weights"),
            " needs ",
            Setting("pairs", "complete"),
        )
    has_summary = comparison.average or comparison.overall
    for option, name in options_for_binary_scores_only(options, test):
        if has_summary or hypothesis.weights is not None or all_scores:
            raise SalstatsError(
                Setting(option, name),
                " is for single groups of complete pairs with equal weights, without ",
                Setting("average"),
                ", ",
                Setting("overall"),
                " and ",
                Setting("weights"),
                hint=Message(Setting(option, "wild"), " allows them"),
            )
    if hypothesis.effect_size is not None and all_scores:
        raise SalstatsError(
            Setting("effect_size"), " describes pairs, so it needs ", Setting("pairs", "complete")
        )
    if test == "signflip" and all_scores:
        raise SalstatsError(
            Setting("test", "signflip"), " flips pairs, so it needs ", Setting("pairs", "complete")
        )


def _df_statistic_p_value_and_p_floor_columns(
    tested: PairedTestResult, estimates: InferredEstimates
) -> dict[str, np.ndarray]:
    """Return the columns `df`, `statistic`, `p_value`, and `p_floor` of a test with replicates.

    `df` is that of the test where it has a statistic, else that of the interval. Of the first three those
    that are NaN in all rows are left out.
    """
    df = tested.df
    if np.isnan(tested.statistic).all():
        df = estimates.df
    all_columns = {"df": df, "statistic": tested.statistic, "p_value": tested.p_value}
    columns = {name: values for name, values in all_columns.items() if not np.isnan(values).all()}
    if tested.p_floor is not None:
        columns["p_floor"] = np.where(np.isnan(tested.p_value), np.nan, tested.p_floor)
    return columns


def _means_pairs_and_verdict_columns(
    paired_target: PairedTarget, reported: InferredEstimates, scores: pd.DataFrame, margin: Margin | None
) -> dict[str, Any]:
    """Return the columns of both means, the number of pairs and the verdict.

    Where a confidence set may be unbounded, `conf_set` describes it.
    """
    target = paired_target.target
    method_mean, reference_mean = target.estimand.method_and_reference_levels_by_estimate(
        target.cells.means()
    )
    columns: dict[str, Any] = {
        "reference_mean": reference_mean,
        "method_mean": method_mean,
        "n_pairs": paired_target.n_pairs,
    }
    metric_of_row = metric_of_each_key(target.keys, scores)
    columns |= lower_or_higher_verdict_and_any_margin_columns(
        reported, reference_mean, method_mean, metric_of_row, margin
    )
    if reported.conf_set is not None:
        columns["conf_set"] = reported.conf_set
    return columns


def _n_replicates_column_if_any(
    options: Options, estimates: InferredEstimates, tested: PairedTestResult
) -> dict[str, int]:
    """Return the column `n_replicates` of an interval or a test from replicates or flips.

    It is the number of all patterns of signs where each of them is one flip.
    """
    if not options.is_resampled and tested.p_floor is None:
        return {}
    sign_flips = estimates.sign_flips
    if sign_flips is not None and sign_flips.null_draws.complete:
        return {"n_replicates": sign_flips.n_patterns}
    return {"n_replicates": options.n_replicates}


def _with_adjusted_p_values(
    frame: pd.DataFrame, procedure: str, tested: PairedTestResult, test_rows: NDArray[np.integer]
) -> pd.DataFrame:
    """Adjust the P values of a frame; `test_rows` are the positions of its rows in the result of the test."""
    if procedure == "none" or "p_value" not in frame.columns:
        return frame
    null_draws = None
    if tested.null_draws is not None and procedure in JOINT:
        null_draws = tested.null_draws.select_rows(test_rows)
    return adjusted_frame(frame, procedure, null_draws=null_draws)


def joint_levels(tested: PairedTestResult, keys: pd.DataFrame, level: float) -> np.ndarray:
    """Return the level of each row at which the limits of its family hold together, NaN without a test.

    Families are those of `adjust`: rows that average or pool other rows are a family of their own.
    """
    levels = np.full(len(keys), np.nan)
    if tested.null_draws is None:
        return levels
    is_tested = ~np.isnan(tested.p_value)
    is_summary = is_summary_row(keys)
    for family in (is_tested & is_summary, is_tested & ~is_summary):
        if family.any():
            levels[family] = joint_level(tested.null_draws.select_rows(family), level)
    return levels


def with_exact_small_p_values(tested: PairedTestResult, alpha_not_to_cross: np.ndarray) -> PairedTestResult:
    """Return tests whose small P values from flips are counted over every pattern of signs.

    A P value that would move to the other side of `alpha_not_to_cross` stays as it is.
    """
    if tested.null_draws is None or tested.p_floor is None:
        return tested
    p_floor = np.broadcast_to(tested.p_floor, tested.p_value.shape)
    p_value, p_floor = tested.null_draws.with_exact_small_p_values(
        tested.p_value, p_floor, alpha_not_to_cross
    )
    return tested._replace(p_value=p_value, p_floor=p_floor)


def infer_and_test(
    paired_target: PairedTarget, options: Options, test: str, units: Units
) -> tuple[InferredEstimates, PairedTestResult]:
    """Return the estimates with their limits, and the test of each row.

    SalstatsError if the interval or the test needs 0/1 scores with one pair per unit, and these are not.
    """
    for option, name in options_for_binary_scores_only(options, test):
        check_binary_and_one_pair_per_unit(paired_target, option, name, units.name)
    estimates = infer(
        paired_target.target, options, draw_differences=test == "bootstrap", flip_signs=test == "wild"
    )
    return estimates, paired_test_result(test, paired_target, estimates, units)


def test_name_of_each_row(test: str, estimates: InferredEstimates) -> np.ndarray | str:
    """Return the name of each row's test, or of all; `wild` falls back on `cr2` or `score` in some rows."""
    if test != "wild":
        return test
    names = np.full(len(estimates.estimate), test, dtype=object)
    if estimates.uses_cr2 is not None:
        names = np.where(estimates.uses_cr2, "cr2", names)
    if estimates.options.interval.binary_defaults:
        # `trials` marks the rows of independent 0/1 pairs.
        names = np.where(estimates.basis.trials, "score", names)
    return names


def without_binary_defaults_if_wild_or_joint(options: Options, test: str | None, adjust: str) -> Options:
    """Return options without the special defaults of 0/1 scores if these must be tested by flips, too."""
    if test == "wild" or adjust in JOINT:
        return options.without_binary_defaults()
    return options


def options_for_binary_scores_only(options: Options, test: str) -> list[tuple[str, str]]:
    """List the options that are for paired 0/1 scores only (`interval`, `test`), each with its value."""
    choices = []
    if options.interval.kind == "share":
        choices.append(("interval", options.interval.name))
    if test == "score":
        choices.append(("test", test))
    return choices


def lower_or_higher_verdict_and_any_margin_columns(
    estimates: InferredEstimates,
    reference_mean: np.ndarray,
    method_mean: np.ndarray,
    metric_of_row: np.ndarray,
    margin: Margin | None,
) -> dict[str, np.ndarray]:
    """Return the column `verdict` (lower, higher or inconclusive), and with a margin its columns.

    A verdict is conclusive where the interval excludes 0. Its side is that of the difference: a percentage
    decrease from a negative mean is a method above the reference. The side of an average of decreases is
    that of the average, which may differ from the side of the averaged means.
    """
    excludes_zero = (estimates.conf_low > 0) | (estimates.conf_high < 0)
    if estimates.options.is_flipped and estimates.sign_flips is not None:
        # A limit by flips may be 0 itself, whichever side of the level its P value is on.
        significant = estimates.sign_flips.p_value <= 1 - estimates.conf_level
        excludes_zero = np.where(estimates.interval_name_of_each_row == "wild", significant, excludes_zero)
    # An unbounded confidence set may have a gap, and excludes 0 if the gap contains it.
    if estimates.zero_in_gap is not None:
        excludes_zero |= estimates.zero_in_gap
    # An interval of width 0 comes from scores that do not vary, and says nothing about the population.
    has_no_width = estimates.conf_high - estimates.conf_low <= ROUNDING * estimates.magnitude
    most_undefined = MAX_UNDEFINED_SHARE * estimates.options.n_replicates
    is_sound = ~has_no_width & ~np.isnan(estimates.estimate)
    is_sound &= estimates.n_undefined <= most_undefined
    excludes_zero &= is_sound
    # 1 where a larger estimate is a higher score of the method, -1 where it is a lower score
    score_sign = np.ones(len(excludes_zero))
    if estimates.target.term != "difference":
        score_sign = np.where(reference_mean < 0, 1, -1)
    difference = method_mean - reference_mean
    row_weights = estimates.target.estimand.row_weights
    if row_weights is not None:
        averages_decreases = np.count_nonzero(row_weights, axis=0) > 1
        difference = np.where(averages_decreases, score_sign * estimates.estimate, difference)
    side = lower_or_higher_verdicts(difference, excludes_zero)
    if margin is None:
        return {"verdict": side}
    return margin_test_columns(estimates, margin, metric_of_row, score_sign, side, is_sound)
