"""Equivalence and non-inferiority: tests of estimates against a margin, and verdicts of comparisons.

A margin is tested by two one-sided tests (TOST), those that the interval inverts. So the P value is below
1 - level exactly if the interval of level 1 - 2 (1 - level) lies inside the margin.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import did_you_mean, quoted
from salstats.errors import SalstatsError, Setting, ValueRangeError, warn
from salstats.metrics.registry import direction, registered_metric
from salstats.stats.engine.inference import InferredEstimates
from salstats.stats.engine.intervals import RECORDS, Basis, Interval, interval_by_name
from salstats.stats.engine.one_sided_tests import PValuesAtOrBelowAndAbove

#: Lower and upper bound of a margin, one of which may be None; a number means minus and plus the number.
Bounds = float | Sequence[float | None]
#: One margin for all metrics, or one for each metric.
Margin = Bounds | Mapping[str, Bounds]
#: Verdicts of a comparison without a margin.
SIDES = ("lower", "higher", "inconclusive")
_LOWER, _HIGHER, INCONCLUSIVE = SIDES
#: Verdicts of a comparison with a margin.
CLAIMS = ("equivalent", "not inferior", "not superior")
_EQUIVALENT, _NOT_INFERIOR, _NOT_SUPERIOR = CLAIMS


class Verdict(NamedTuple):
    """Verdict on a comparison: the side of the difference, and the claim on its size ("" for none)."""

    side: str
    claim: str = ""


def _verdict_text(verdict: Verdict) -> str:
    """Return the value of the column `verdict`.

    A claim replaces "inconclusive" and follows "lower" or "higher", as in "lower, equivalent": a difference
    may exist and yet be small.
    """
    if not verdict.claim:
        return verdict.side
    if verdict.side == INCONCLUSIVE:
        return verdict.claim
    return f"{verdict.side}, {verdict.claim}"


#: Text of every possible verdict, and the verdict of every text.
_VERDICT_TEXTS = {}
for _side in SIDES:
    for _claim in ("", *CLAIMS):
        _VERDICT_TEXTS[Verdict(_side, _claim)] = _verdict_text(Verdict(_side, _claim))
_VERDICTS_BY_TEXT = {text: verdict for verdict, text in _VERDICT_TEXTS.items()}
#: Share by which a P value must be below a level, so that rounding errors do not decide.
_ROUNDING = 1e-9


def lower_or_higher_verdicts(difference: np.ndarray, excludes_zero: NDArray[np.bool_]) -> np.ndarray:
    """Return the verdict on each difference without a margin, of `SIDES`: "lower" or "higher".

    It is "inconclusive" for a difference of 0 and where the interval does not exclude 0.
    """
    side = np.where(difference < 0, _LOWER, _HIGHER)
    return np.where(excludes_zero & (difference != 0), side, INCONCLUSIVE)


def margin_bounds(margin: Margin, metric_of_row: Iterable[object]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper bound of each row's margin, infinite for None, NaN without a margin.

    ValueRangeError for a margin of another metric.
    """
    metric_of_row = list(metric_of_row)
    if not isinstance(margin, Mapping):
        low_bound, high_bound = _checked_bounds(margin)
        return np.full(len(metric_of_row), low_bound), np.full(len(metric_of_row), high_bound)
    names = [str(metric) for metric in dict.fromkeys(metric_of_row)]
    for name in margin:
        if name not in names:
            raise ValueRangeError(
                Setting("margin"),
                f" names {name!r}, which is not a compared metric ({quoted(names)})"
                f"{did_you_mean(name, names)}",
                column="metric",
                value=name,
                choices=names,
            )
    low = np.full(len(metric_of_row), np.nan)
    high = np.full(len(metric_of_row), np.nan)
    bounds_of_metric = {name: _checked_bounds(bounds) for name, bounds in margin.items()}
    for row, metric in enumerate(metric_of_row):
        if str(metric) in bounds_of_metric:
            low[row], high[row] = bounds_of_metric[str(metric)]
    return low, high


def _checked_bounds(bounds: object) -> tuple[float, float]:
    """Return the lower and upper bound of a margin, infinite for None.

    ValueRangeError unless one is below and one above 0, and at least one is finite.
    """
    error = ValueRangeError(
        Setting("margin", bounds),
        " must be a number above 0, or a bound below and one above 0 of which one may be None, as in ",
        "(-0.05, None)",
    )
    sequence = bounds
    # True is an int in Python, but not meant as a margin of 1
    if isinstance(bounds, int | float | np.number) and bounds is not True:
        sequence = [bounds]
    try:
        values = list(sequence)  # type: ignore[call-overload]
        if len(values) == 1 and values[0] is not None:
            low = -float(values[0])
            high = float(values[0])
        else:
            lower, upper = values
            low = -np.inf if lower is None else float(lower)
            high = np.inf if upper is None else float(upper)
    except (TypeError, ValueError):
        raise error from None
    if not low < 0 < high:
        raise error
    if np.isinf(low) and np.isinf(high):
        raise error
    return low, high


class MarginTest(NamedTuple):
    """Bounds of margins and the P values of their tests, each of shape (n_rows,); see `margin_p_value`."""

    #: Lower bounds, -inf where there is none.
    low: np.ndarray
    #: Upper bounds, inf where there is none.
    high: np.ndarray
    p_value: np.ndarray


def margin_test_columns(
    estimates: InferredEstimates,
    margin: Margin,
    metric_of_row: np.ndarray,
    score_sign: np.ndarray,
    verdicts_without_margin: np.ndarray,
    is_sound: NDArray[np.bool_],
) -> dict[str, np.ndarray]:
    """Test estimates against a margin, and warn of margins in a wrong unit.

    Parameters
    ----------
    estimates : InferredEstimates
        Differences or percentage decreases.
    margin : Margin
        One margin for all metrics, or a margin for each metric.
    metric_of_row : ndarray of str, shape (n_rows,)
        Metric of each estimate.
    score_sign : ndarray of int, shape (n_rows,)
        1 where a larger estimate is a higher score, -1 where it is a lower score.
    verdicts_without_margin : ndarray of str, shape (n_rows,)
        Verdicts without a margin, of `SIDES`.
    is_sound : ndarray of bool, shape (n_rows,)
        Estimates that a verdict may rest on.

    Returns
    -------
    dict
        Columns `verdict`, `margin_low`, `margin_high` and `p_margin`.
    """
    term = estimates.target.term
    low, high = margin_bounds(margin, metric_of_row)
    warn_of_margin_units(low, high, term, metric_of_row)
    p_value = np.full(len(low), np.nan)
    intervals = estimates.interval_name_of_each_row
    for name in np.unique(intervals):
        tails = tail_function(interval_by_name(str(name), term), term)
        p_value_of_interval = margin_p_value(partial(tails, estimates.basis), low, high)
        p_value = np.where(intervals == name, p_value_of_interval, p_value)
    # limits of width 0 are from scores without variance, or from one unit, and say nothing about other units
    p_value = np.where(estimates.conf_high > estimates.conf_low, p_value, np.nan)
    is_inside = is_sound & is_strictly_below(p_value, 1 - estimates.options.level)
    return margin_columns(
        verdicts_without_margin, metric_of_row, MarginTest(low, high, p_value), is_inside, score_sign
    )


def warn_of_margin_units(low: np.ndarray, high: np.ndarray, term: str, metric_of_row: np.ndarray) -> None:
    """Warn of margins in a wrong unit: a decrease below 1 %, or a margin as large as a metric's range."""
    bounds = np.abs(np.concatenate([low, high]))
    bounds = bounds[np.isfinite(bounds)]
    if not len(bounds):
        return
    if term == "percent_decrease":
        largest = bounds.max()
        if largest < 1:
            warn(
                Setting("margin"),
                f" of a percentage decrease is in percent: {largest:g} is {largest:g} %",
                value=float(largest),
            )
        return
    smallest = bounds.min()
    for name in dict.fromkeys(metric_of_row):
        metric = registered_metric(str(name))
        if metric is not None and smallest >= metric.high - metric.low:
            warn(
                f"a margin of {smallest:g} is at least as large as the range of {metric.name}, "
                f"{metric.low:g} to {metric.high:g}: any method lies inside",
                option="margin",
                value=float(smallest),
                column="metric",
                rows=np.flatnonzero(np.asarray(metric_of_row) == name).tolist(),
            )


def tail_function(
    interval: Interval | None, term: str
) -> Callable[[Basis, np.ndarray], PValuesAtOrBelowAndAbove]:
    """Return the function of the one-sided P values of an interval; SalstatsError if it has none."""
    if interval is not None and interval.tails is not None:
        return interval.tails
    choices = [r.name for r in RECORDS if r.tails is not None and term in r.terms]
    name = interval.name if interval else "none"
    raise SalstatsError(
        Setting("interval", name),
        " inverts no test that gives a P value for ",
        Setting("margin"),
        hint=f"choose from {quoted(choices)}",
        choices=choices,
    )


def margin_p_value(
    tails: Callable[[np.ndarray], PValuesAtOrBelowAndAbove], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the P value of the hypothesis that the truth lies at or beyond a bound; NaN without a margin.

    It is the larger of the two one-sided P values, or the only one of a margin with one bound.
    """
    p_at_or_below_low, _ = tails(low)
    _, p_at_or_above_high = tails(high)
    p_at_or_below_low = np.where(np.isinf(low), 0.0, p_at_or_below_low)
    p_at_or_above_high = np.where(np.isinf(high), 0.0, p_at_or_above_high)
    p_value = np.maximum(p_at_or_below_low, p_at_or_above_high)
    return np.where(np.isnan(low), np.nan, p_value)


def margin_columns(
    sides_to_extend: np.ndarray,
    metric_of_row: np.ndarray,
    margin_test: MarginTest,
    is_inside: NDArray[np.bool_],
    score_sign: np.ndarray | int,
) -> dict[str, np.ndarray]:
    """Return the columns `verdict`, `margin_low`, `margin_high` and `p_margin` of an estimates frame.

    Parameters
    ----------
    sides_to_extend : ndarray of str, shape (n_rows,)
        Verdicts without a margin, of `SIDES`.
    metric_of_row : ndarray of str, shape (n_rows,)
        Metric of each estimate.
    margin_test : MarginTest
        The margin of each estimate, and the P value of its test.
    is_inside : ndarray of bool, shape (n_rows,)
        Estimates that the test shows to lie inside the margin.
    score_sign : ndarray of int, shape (n_rows,), or int
        1 where a larger estimate is a higher score, -1 where it is a lower score.
    """
    claims = _claims_if_inside_margin(metric_of_row, margin_test.low, margin_test.high, score_sign)
    claims = np.where(is_inside, claims, "")
    return {
        "verdict": verdict_texts(sides_to_extend, claims),
        "margin_low": margin_test.low,
        "margin_high": margin_test.high,
        "p_margin": margin_test.p_value,
    }


def is_strictly_below(p_value: np.ndarray, alpha: np.ndarray | float) -> NDArray[np.bool_]:
    """Return True for P values below a level; a P value of 0.05 is not below 1 - 0.95, despite rounding."""
    return np.asarray(p_value < np.asarray(alpha) * (1 - _ROUNDING))


def _claims_if_inside_margin(
    metric_of_row: np.ndarray, margin_low: np.ndarray, margin_high: np.ndarray, score_sign: np.ndarray | int
) -> np.ndarray:
    """Return the claim of each estimate if it lies inside its margin, of `CLAIMS`; "" without a margin.

    Higher scores are better, except for metrics whose direction is -1. `score_sign` is 1 where a larger
    estimate is a higher score, -1 where it is a lower score.
    """
    # metrics without a direction have 0
    directions = np.array([direction(m) or 1 for m in metric_of_row], dtype=np.int64)
    is_larger_better = directions * score_sign > 0
    has_low = np.isfinite(margin_low)
    has_high = np.isfinite(margin_high)
    # a single bound on the side of worse scores makes a test of non-inferiority
    bounds_worse_side = np.where(is_larger_better, has_low, has_high)
    claims = np.select(
        [np.isnan(margin_low), has_low & has_high, bounds_worse_side],
        ["", _EQUIVALENT, _NOT_INFERIOR],
        default=_NOT_SUPERIOR,
    )
    return np.asarray(claims, dtype=object)


def verdict_texts(sides: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """Return the text of the verdict with each side, of `SIDES`, and each claim, of `CLAIMS` or ""."""
    texts = [_VERDICT_TEXTS[Verdict(side, claim)] for side, claim in zip(sides, claims, strict=True)]
    return np.array(texts, dtype=object)


def sides_and_claims(verdict: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the sides and the claims ("" for none) of a column `verdict`, the reverse of `verdict_texts`.

    Any other text is returned as a side without a claim, an empty text as "inconclusive".
    """
    sides = []
    claims = []
    for text in map(str, verdict):
        conclusion = _VERDICTS_BY_TEXT.get(text, Verdict(side=text or INCONCLUSIVE))
        sides.append(conclusion.side)
        claims.append(conclusion.claim)
    return np.array(sides, dtype=object), np.array(claims, dtype=object)
