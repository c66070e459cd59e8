"""Rows of methods against a reference: compared, inferred and tested, and what they are said to show."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, check_choice
from salstats.frames import estimates_frame
from salstats.stats.adjust import JOINT, SINGLE_STEP, adjusted_frame, check_procedure
from salstats.stats.engine.advice import ROUNDING, UNDEFINED_SHARE, warn_beyond_range
from salstats.stats.engine.carried import absent_column, how_scored
from salstats.stats.engine.cautions import carry_cautions
from salstats.stats.engine.comparisons import PAIRS, Compared, Comparison, compare, reference_in_every_group
from salstats.stats.engine.design import (
    check_one_metric,
    coded_by,
    display_order,
    is_average,
    metrics_of,
    summary_rows,
)
from salstats.stats.engine.effect_sizes import EFFECT_SIZES, effect_columns
from salstats.stats.engine.equivalence import Margin, against_margin, sides
from salstats.stats.engine.fixed_factors import inference_to
from salstats.stats.engine.inference import Estimates, Options, at_levels, infer
from salstats.stats.engine.max_t import joint_level
from salstats.stats.engine.paired_tests import RECORDS, TESTS, Tested, check_paired_shares, p_values_of_pairs
from salstats.stats.engine.shared_cases import bounds_call, mark_incomplete_pairs
from salstats.stats.engine.units import Unit, Units, resolve_unit
from salstats.stats.engine.weighting import Weighting, weighted

_BY = ("metric", "task")


class Asked(NamedTuple):
    """What is asked of each row, and of all of them as a family."""

    #: None for the test that is one procedure with the interval.
    test: str | None
    adjust: str
    simultaneous: bool | None
    margin: Margin | None
    weights: Weighting
    effect_size: str | None = None

    def check(self, test: str) -> "Asked":
        """Check that they go together, and with a test; names as records have them.

        Procedures from flips come with the limits that agree with them, unless these are declined; limits
        that hold together come with their P values.
        """
        adjust = check_procedure(self.adjust, "adjust", drawn=True)
        if test in ("wilcoxon", "mcnemar") and isinstance(self.weights, str):
            raise SalstatsError(f"test={test!r} knows no weights; take test='wild', 'cr2' or 't'")
        if self.effect_size is not None:
            check_choice(self.effect_size, EFFECT_SIZES, "effect_size")
            if self.weights is not None:
                raise SalstatsError("effect_size= knows no weights; leave weights= out")
        if self.simultaneous and adjust == "none":
            adjust = SINGLE_STEP
        jointly = adjust in JOINT
        if self.simultaneous and not jointly:
            raise SalstatsError(
                f"simultaneous=True is for adjust={' or '.join(map(repr, JOINT))}, not for {adjust!r}; "
                "ss.adjust(..., intervals=True) makes limits of other procedures"
            )
        if jointly and not RECORDS[test].drawn:
            raise SalstatsError(
                f"adjust={adjust!r} needs a test from flips or replicates, and test={test!r} is none; take "
                "test='wild'"
            )
        if jointly and self.margin is not None:
            raise SalstatsError(f"adjust={adjust!r} is not for margin=; take adjust='holm'")
        simultaneous = jointly and self.simultaneous is not False
        if simultaneous:
            adjust = SINGLE_STEP
        elif adjust == SINGLE_STEP:
            raise SalstatsError(
                f"adjust={adjust!r} has simultaneous limits; take adjust='max-t' with simultaneous=False"
            )
        return self._replace(adjust=adjust, simultaneous=simultaneous)


def contrast(
    kind: str,
    scores: pd.DataFrame,
    asked: Comparison,
    options: Options,
    of_rows: Asked,
    *,
    by: str | Sequence[str] | None,
    unit: Unit,
) -> pd.DataFrame:
    """Check, compare, infer, test and lay out the frame."""
    test = check_choice(of_rows.test or options.test, TESTS, "test")
    _, adjust, simultaneous, margin, weights, effect_size = of_rows.check(test)
    options = flipped_options(options, of_rows.test, adjust)
    check_choice(asked.pairs, PAIRS, "pairs")
    for option, name in score_choices(options, test):
        if asked.average or asked.overall or weights is not None or asked.pairs != "complete":
            raise SalstatsError(
                f"{option}={name!r} is for single groups of complete pairs that weigh alike, without "
                f"average=, overall= and weights=; {option}='wild' takes them"
            )
    if effect_size is not None and asked.pairs != "complete":
        raise SalstatsError("effect_size= is of pairs, so it needs pairs='complete'")
    if test == "signflip" and asked.pairs != "complete":
        raise SalstatsError("test='signflip' flips pairs, so it needs pairs='complete'")
    if isinstance(scores, pd.DataFrame) and "method" in scores.columns:
        scores = reference_in_every_group(scores, asked.reference, by)
    codes, columns = coded_by(scores, by, _BY, without="method")
    check_one_metric(codes, columns)
    codes, units, weighed = weighted(codes, resolve_unit(codes, unit), weights, asked.average)
    if weights is not None and asked.overall and asked.pairs != "complete":
        raise SalstatsError("overall=True (--overall) with weights needs pairs='complete'")
    scores = codes.frame
    compared = compare(kind, codes, units, replace(asked, by=columns, weights=weighed))
    if adjust in JOINT:
        # one family shares its flips, so that all of its rows have them
        options = replace(options, interval=replace(options.interval, mistakes_outlying=False))
    target = compared.target
    found, tested = tests_of_pairs(compared, options, test, units)
    order = display_order(target.keys)
    shown = found
    if simultaneous:
        shown = at_levels(found, joint_levels(tested, target.keys, options.level))
    tested = refined(tested, 1 - shown.conf_level)
    method_mean, reference_mean = target.estimand.row_levels(target.cells.means())
    table = shown.columns(units.name) | absent_column(target.keys, compared.absent, scores)
    table |= inference_to(scores, units.codes, target.keys)
    table |= weighed.columns(is_average(target.keys, asked.average))
    # of the test where it has a statistic, else of the interval
    table["df"] = found.df if np.isnan(tested.statistic).all() else tested.df
    table |= {"statistic": tested.statistic, "p_value": tested.p_value}
    for name in ("statistic", "df", "p_value"):
        if np.isnan(table[name]).all():
            del table[name]
    if tested.floor is not None:
        table["p_floor"] = np.where(np.isnan(tested.p_value), np.nan, tested.floor)
    drawn, made = options.resampled or tested.floor is not None, options.n_replicates
    if found.flips is not None and found.flips.drawn.complete:
        made = found.flips.n_patterns
    special: dict[str, Any] = {
        "reference_mean": reference_mean,
        "method_mean": method_mean,
        "n_pairs": compared.n_pairs,
        **verdicts(shown, reference_mean, method_mean, metrics_of(target.keys, scores), margin),
        **({"conf_set": shown.conf_set} if shown.conf_set is not None else {}),
        "test": test_of_rows(test, found),
        **({"n_replicates": made} if drawn else {}),
        **how_scored(scores, target.keys),
    }
    if simultaneous:
        special["family_level"] = options.level
    if effect_size is not None:
        special |= effect_columns(compared, effect_size, options.level)
    frame = carry_cautions(estimates_frame(target.keys, table, special, order), scores)
    if not options.interval.bounded:
        warn_beyond_range(frame)
    remedy = bounds_call(asked.reference)
    frame = mark_incomplete_pairs(frame, compared.one_sided, scores, remedy, asked.pairs)
    if adjust != "none" and "p_value" in frame.columns:
        counted = None
        if tested.drawn is not None and adjust in JOINT:
            counted = tested.drawn.rows(order)
        frame = adjusted_frame(frame, adjust, drawn=counted)
    return frame


def joint_levels(tested: Tested, keys: pd.DataFrame, level: float) -> np.ndarray:
    """Level of each row at which the limits of its family hold together; NaN of rows without a test.

    Families are those of `adjust`: averages over rows are no tests of their own beside these.
    """
    levels = np.full(len(keys), np.nan)
    if tested.drawn is None:
        return levels
    known = ~np.isnan(tested.p_value)
    summary = summary_rows(keys)
    for family in (known & summary, known & ~summary):
        if family.any():
            levels[family] = joint_level(tested.drawn.rows(family), level)
    return levels


def refined(tested: Tested, alpha: np.ndarray) -> Tested:
    """Tests whose small P values are counted over every pattern of signs, where they are from flips."""
    if tested.drawn is None or tested.floor is None:
        return tested
    floor = np.broadcast_to(tested.floor, tested.p_value.shape)
    p_value, floor = tested.drawn.refined(tested.p_value, floor, alpha)
    return tested._replace(p_value=p_value, floor=floor)


def tests_of_pairs(compared: Compared, options: Options, test: str, units: Units) -> tuple[Estimates, Tested]:
    """Estimates with their limits, and the test of each row."""
    for option, name in score_choices(options, test):
        check_paired_shares(compared, option, name, units.name)
    found = infer(compared.target, options, gaps=test == "bootstrap", flips=test == "wild")
    return found, p_values_of_pairs(test, compared, found, units)


def test_of_rows(test: str, found: Estimates) -> np.ndarray | str:
    """Name of each row's test."""
    if test != "wild":
        return test
    names = np.full(len(found.estimate), test, dtype=object)
    if found.by_cr2 is not None:
        names = np.where(found.by_cr2, "cr2", names)
    if found.options.interval.of_trials:
        names = np.where(found.basis.trials, "score", names)
    return names


def flipped_options(options: Options, test: str | None, adjust: str) -> Options:
    """Return options that flip 0/1 scores, too, where a test by flips or a joint adjustment is asked for."""
    if test == "wild" or adjust in JOINT:
        return options.of_graded()
    return options


def score_choices(options: Options, test: str) -> list[tuple[str, str]]:
    """Return the option and its value where an interval or a test of paired 0/1 scores is asked for."""
    choices = []
    if options.interval.kind == "share":
        choices.append(("interval", options.interval.name))
    if test == "score":
        choices.append(("test", test))
    return choices


def verdicts(
    found: Estimates,
    reference_mean: np.ndarray,
    method_mean: np.ndarray,
    metrics: np.ndarray,
    margin: Margin | None,
) -> dict[str, np.ndarray]:
    """Lower, higher or inconclusive, by whether the interval excludes 0, and what is shown with a margin.

    The side is that of the difference: a decrease from a negative mean is a method above it.
    """
    excluded, gap = (found.conf_low > 0) | (found.conf_high < 0), method_mean - reference_mean
    if found.options.flipped and found.flips is not None:
        # a limit may be 0 itself, on either side of the level
        decided = found.flips.p_value <= 1 - found.conf_level
        excluded = np.where(found.taken == "wild", decided, excluded)
    if found.zero_in_gap is not None:
        excluded |= found.zero_in_gap
    # an interval of width 0 says that nothing varies, not that nothing is uncertain
    sound = ~(found.conf_high - found.conf_low <= ROUNDING * found.scale) & ~np.isnan(found.estimate)
    sound &= found.n_undefined <= UNDEFINED_SHARE * found.options.n_replicates
    excluded &= sound
    side = sides(gap, excluded)
    if margin is None:
        return {"verdict": side}
    sense = np.ones(len(side)) if found.target.term == "difference" else np.where(reference_mean < 0, 1, -1)
    return against_margin(found, margin, metrics, sense, side, sound)
