"""Equivalence and non-inferiority: estimates against a margin, and what is said of them.

A margin is tested by two one-sided tests (TOST), each the one that the interval inverts, so that a P value
below 1 - level goes with an interval of level 1 - 2 (1 - level) inside the margin.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, ValueRangeError, did_you_mean, quoted, warn
from salstats.metrics.registry import direction, known_metric
from salstats.stats.engine.inference import Estimates
from salstats.stats.engine.intervals import RECORDS, Basis, Interval, find_interval
from salstats.stats.engine.tails import Tails

#: Bounds of a margin, None where it has none: a number stands for both.
Bounds = float | Sequence[float | None]
#: One margin, or that of each metric.
Margin = Bounds | Mapping[str, Bounds]
#: What a comparison shows of a difference, and of one with a margin.
SIDES = ("lower", "higher", "inconclusive")
CLAIMS = ("equivalent", "not inferior", "not superior")
_UNDECIDED = SIDES[-1]
_ROUNDING = 1e-9


def sides(gap: np.ndarray, excluded: np.ndarray) -> np.ndarray:
    """Lower or higher by the sign of a gap that is not 0, where equality is excluded; else inconclusive."""
    side = np.where(gap < 0, SIDES[0], SIDES[1])
    return np.where(excluded & (gap != 0), side, _UNDECIDED)


def check_margin(margin: Margin, metrics: Iterable[object]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bound of the margin of each metric, infinite where it has none, NaN without margin."""
    metrics = list(metrics)
    if not isinstance(margin, Mapping):
        low, high = _bounds(margin)
        return np.full(len(metrics), low), np.full(len(metrics), high)
    known = list(map(str, dict.fromkeys(metrics)))
    for name in margin:
        if name not in known:
            raise ValueRangeError(
                f"margin= names {name!r}, which is no metric of what is compared ({quoted(known)})"
                f"{did_you_mean(name, known)}"
            )
    own = {name: _bounds(bounds) for name, bounds in margin.items()}
    both = np.array([own.get(str(m), (np.nan, np.nan)) for m in metrics]).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _bounds(bounds: object) -> tuple[float, float]:
    """Bounds of one margin, around 0."""
    given = (bounds,) if isinstance(bounds, int | float | np.number) and bounds is not True else bounds
    try:
        values = [None if v is None else float(v) for v in given]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        values = []
    if len(values) == 1 and values[0] is not None:
        values = [-values[0], values[0]]
    low, high = (
        (-np.inf if values[0] is None else values[0], np.inf if values[1] is None else values[1])
        if len(values) == 2
        else (np.nan, np.nan)
    )
    if not (low < 0 < high) or (np.isinf(low) and np.isinf(high)):
        raise ValueRangeError(
            f"margin={bounds!r} must be a number above 0, or a bound below and one above 0 of which one may "
            "be None, as in (-0.05, None)"
        )
    return low, high


def against_margin(
    found: Estimates,
    margin: Margin,
    metrics: np.ndarray,
    sense: np.ndarray,
    sides: np.ndarray,
    sound: np.ndarray,
) -> dict[str, np.ndarray]:
    """Columns of `margin_columns` from estimates, of which those that are not `sound` show nothing."""
    low, high = check_margin(margin, metrics)
    warn_of_units(low, high, found.target.term, metrics)
    p_value = np.full(len(low), np.nan)
    for name in map(str, np.unique(found.taken)):
        tails = check_tails(find_interval(name, found.target.term), found.target.term)
        own = p_of_tails(partial(tails, found.basis), low, high)
        p_value = np.where(found.taken == name, own, p_value)
    # where nothing varies, or a single unit does, nothing is known of others
    p_value = np.where(found.conf_high > found.conf_low, p_value, np.nan)
    shown = sound & is_below(p_value, 1 - found.options.level)
    return margin_columns(sides, metrics, (low, high, p_value), shown, sense)


def warn_of_units(low: np.ndarray, high: np.ndarray, term: str, metrics: np.ndarray) -> None:
    """Warn of margins that were meant in percent, or were not."""
    finite = np.abs(np.concatenate([low, high]))
    finite = finite[np.isfinite(finite)]
    if term == "percent_decrease":
        if len(finite) and finite.max() < 1:
            warn(f"margin= of a percentage decrease is in percent: {finite.max():g} is {finite.max():g} %")
        return
    for metric in map(known_metric, dict.fromkeys(map(str, metrics))):
        if metric is not None and len(finite) and finite.min() >= metric.high - metric.low:
            warn(
                f"a margin of {finite.min():g} is no smaller than the range of {metric.name}, "
                f"{metric.low:g} to {metric.high:g}: any method lies inside"
            )


def check_tails(interval: Interval | None, term: str) -> Callable[[Basis, np.ndarray], Tails]:
    """One-sided P values of the test that an interval inverts; SalstatsError where there are none."""
    if interval is None or interval.tails is None:
        known = [r.name for r in RECORDS if r.tails is not None and term in r.of]
        name = interval.name if interval else "none"
        raise SalstatsError(
            f"margin= takes its P value from the test that the interval inverts, and interval={name!r} "
            f"has none; choose from {quoted(known)}"
        )
    return interval.tails


def p_of_tails(tails: Callable[[np.ndarray], Tails], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """P value of the hypothesis that an estimate lies at its margin or beyond, NaN where there is none.

    The larger of the two one-sided P values; of a margin with one bound its own.
    """
    above, below = tails(low)[0], tails(high)[1]
    p_value = np.maximum(np.where(np.isinf(low), 0.0, above), np.where(np.isinf(high), 0.0, below))
    return np.where(np.isnan(low), np.nan, p_value)


def margin_columns(
    sides: np.ndarray,
    metrics: np.ndarray,
    tested: tuple[np.ndarray, np.ndarray, np.ndarray],
    shown: np.ndarray,
    sense: np.ndarray | int,
) -> dict[str, np.ndarray]:
    """Verdict, margin and P value of each row; `tested` are the bounds and the P value.

    What is `shown` is that an estimate lies inside its margin. `sense` is 1 where a larger estimate is a
    higher score and -1 where it is a lower one.
    """
    low, high, p_value = tested
    claimed = np.where(shown, _claims(metrics, low, high, sense), "")
    return {
        "verdict": verdicts(sides, claimed), "margin_low": low, "margin_high": high, "p_margin": p_value,
    }  # fmt: skip


def is_below(p_value: np.ndarray, alpha: np.ndarray | float) -> np.ndarray:
    """Whether P values are below a level, 1 - 0.95 being no more than 0.05."""
    return np.asarray(p_value < np.asarray(alpha) * (1 - _ROUNDING))


def _claims(metrics: np.ndarray, low: np.ndarray, high: np.ndarray, sense: np.ndarray | int) -> np.ndarray:
    """What an estimate inside its margin is; higher scores are better, but of metrics of which less is."""
    better = np.array([direction(m) or 1 for m in metrics], dtype=np.int64) * sense
    bounds_worse = np.where(better > 0, np.isfinite(low), np.isfinite(high))
    both = np.isfinite(low) & np.isfinite(high)
    named = np.select([np.isnan(low), both, bounds_worse], ["", CLAIMS[0], CLAIMS[1]], CLAIMS[2])
    return np.asarray(named, dtype=object)


def verdicts(sides: np.ndarray, claimed: np.ndarray) -> np.ndarray:
    """Verdicts of what is shown of differences, and with margins, "" where nothing is.

    What is shown with the margin stands instead of "inconclusive", or behind "lower" or "higher": a
    difference may be there and yet be small.
    """
    alone = np.where(claimed == "", sides, claimed)
    both = np.array([f"{side}, {claim}" for side, claim in zip(sides, claimed, strict=True)], dtype=object)
    return np.where((claimed == "") | (sides == _UNDECIDED), alone, both)


def split_verdicts(verdict: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """What verdicts say of differences, in these words or others, and what with margins, "" where nothing."""
    parts = [str(text).split(", ") for text in verdict]
    claimed = [p[-1] if p[-1] in CLAIMS else "" for p in parts]
    sides = [
        _UNDECIDED if p == [claim] else p[0] if claim else ", ".join(p)
        for p, claim in zip(parts, claimed, strict=True)
    ]
    return np.array(sides, dtype=object), np.array(claimed, dtype=object)
