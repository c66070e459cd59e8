"""Breaks of axes and their texts: few round numbers with the decimals that they need."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import plotnine as p9
from matplotlib.ticker import MaxNLocator
from mizani.breaks import breaks_log

from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.text.format import fixed_text

#: Least length in mm of a step between two breaks, and the numbers of steps that an axis may have.
_STEP_MM = 7.0
_MIN_STEPS = 2
_MAX_STEPS = 5
#: Least distance in mm between the texts of two breaks.
_TEXT_GAP_MM = 1.2
#: Length in mm by which the text of a break may extend beyond the panel.
_OVERHANG_MM = 2.2
#: Share of its length by which an axis is expanded at both ends.
_EXPANSION = 0.03
#: Breaks along a vertical axis may be closer by this factor: texts above each other are lower than wide.
_VERTICAL_FACTOR = 1.6
#: Most significant digits of the number of an axis of a single value.
_SIGNIFICANT_DIGITS = 4
#: Most decimals of a break, and relative error of a rounded number that is not visible.
_MAX_DIGITS = 12
_ROUNDING_TOLERANCE = 1e-6


def tick_texts(breaks: Iterable[float | str]) -> list[str]:
    """Return the texts of breaks, all with the fewest decimals that write each of them exactly."""
    numbers = [float(number) for number in breaks]
    finite = np.array([number for number in numbers if np.isfinite(number)])
    digits = 0
    while digits < _MAX_DIGITS and _any_changes_when_rounded(finite, digits):
        digits += 1
    return [fixed_text(number, digits) for number in numbers]


def _any_changes_when_rounded(numbers: np.ndarray, digits: int) -> bool:
    """Return whether any of the numbers changes when it is rounded to so many decimals."""
    errors = np.abs(np.round(numbers, digits) - numbers)
    return bool(np.any(errors > _ROUNDING_TOLERANCE * np.abs(numbers)))


def axis_breaks(limits: tuple[float, float], length_mm: float = 35.0) -> list[float]:
    """Return round numbers within the limits of a horizontal axis of a length in mm.

    They are integers where there are enough of these, and so few that their texts do not overlap.
    """
    low, high = limits
    candidates = [
        _round_numbers_within(limits, n) for n in range(_max_n_steps(length_mm), _MIN_STEPS - 1, -1)
    ]
    # equal limits would lead to a division by zero
    span = high - low or 1.0

    def axis_share(number: float) -> float:
        """Return the place of a number on the axis, from 0 to 1."""
        return (number - low) / span

    return _first_without_overlap(candidates, axis_share, length_mm, tick_texts)


def vertical_breaks(limits: tuple[float, float], height_mm: float) -> list[float]:
    """Return round numbers within the limits of a vertical axis of a height in mm."""
    return _round_numbers_within(limits, _max_n_steps(_VERTICAL_FACTOR * height_mm))


def _max_n_steps(length_mm: float) -> int:
    """Return the largest number of steps between the breaks of a horizontal axis of a length in mm."""
    return int(np.clip(length_mm // _STEP_MM, _MIN_STEPS, _MAX_STEPS))


def _round_numbers_within(limits: tuple[float, float], n_steps: int) -> list[float]:
    """Return round numbers within limits, about so many steps from the first to the last.

    If three or more of them are integers, only these are returned. Limits that are one number contain only
    that, if it has few digits.
    """
    low, high = limits
    if low == high:
        is_round = np.isclose(float(f"{low:.{_SIGNIFICANT_DIGITS}g}"), low, rtol=_ROUNDING_TOLERANCE, atol=0)
        return [float(low)] if is_round else []
    ticks = MaxNLocator(n_steps, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    step = ticks[1] - ticks[0]
    # whole multiples of the step remove rounding errors, which would be shown at zero
    numbers = [float(round(tick / step) * step) for tick in ticks if low <= tick <= high]
    integers = [number for number in numbers if number.is_integer()]
    if len(integers) > 2:
        return integers
    return numbers


def _first_without_overlap(
    candidates: Sequence[list[float]],
    axis_share: Callable[[float], float],
    length_mm: float,
    texts: Callable[[Iterable[float]], list[str]],
    needed_break: float | None = None,
) -> list[float]:
    """Return the first candidate whose texts neither overlap nor extend into the next panel.

    If a candidate does not fit, its two ends are tried, then the candidate without its first break, without
    its last, and without both, before the next candidate. If none of them fits, texts may extend beyond the
    axis; if they overlap even so, a single break is returned: `needed_break`, else the middle one of the last
    candidate.

    Parameters
    ----------
    candidates : sequence of list of float
        Breaks of the axis, the most numerous first.
    axis_share : callable
        Function from a number to its place on the axis, from 0 to 1.
    length_mm : float
        Length of the axis in mm.
    texts : callable
        Function from breaks to their texts.
    needed_break : float, optional
        A number that each candidate has, and that is not left out.
    """
    choices = []
    for candidate in candidates:
        both_ends = candidate
        if len(candidate) > 2:
            both_ends = [candidate[0], candidate[-1]]
        choices += [candidate, both_ends, candidate[1:], candidate[:-1], candidate[1:-1]]
    if needed_break is not None:
        choices = [breaks for breaks in choices if needed_break in breaks]
    for overhang in (_OVERHANG_MM + _EXPANSION * length_mm, np.inf):
        for breaks in choices:
            if len(breaks) > 1 and _texts_fit(breaks, texts(breaks), axis_share, length_mm, overhang):
                return breaks
    if needed_break is not None:
        return [needed_break]
    fewest = candidates[-1]
    middle = len(fewest) // 2
    # a slice, since limits may contain no round number
    return fewest[middle : middle + 1]


def _texts_fit(
    breaks: Sequence[float],
    texts: Sequence[str],
    axis_share: Callable[[float], float],
    length_mm: float,
    overhang_mm: float,
) -> bool:
    """Return whether texts of breaks neither overlap nor extend further than `overhang_mm` beyond an axis.

    The length of the axis and the overhang are in mm.
    """
    starts = []
    ends = []
    for number, text in zip(breaks, texts, strict=True):
        centre = length_mm * axis_share(number)
        half_width = text_width_mm(text) / 2
        starts.append(centre - half_width)
        ends.append(centre + half_width)
    if starts[0] <= -overhang_mm or ends[-1] >= length_mm + overhang_mm:
        return False
    return all(end + _TEXT_GAP_MM < next_start for end, next_start in zip(ends, starts[1:], strict=False))


def log_breaks(limits: tuple[float, float], length_mm: float = 35.0) -> list[float]:
    """Return round numbers within the limits of a logarithmic axis of a length in mm.

    They include 1 if it is within the limits.
    """
    low, high = limits
    candidates = []
    for n in range(_MAX_STEPS + 1, _MIN_STEPS - 1, -1):
        candidates.append([float(number) for number in breaks_log(n=n)(limits) if low <= number <= high])
    finest = candidates[0]
    # narrow limits may contain no power of ten
    if len(finest) < 2 and high < 10 * low:
        return axis_breaks(limits, length_mm)
    needed = None
    if low <= 1 <= high:
        # ratios are compared with 1
        needed = 1.0
        candidates = [breaks for breaks in candidates if needed in breaks]
        finest = sorted({*finest, needed})
        position_of_1 = finest.index(needed)
        for step in range(1, len(finest) + 1):
            # where few numbers fit, these are every second, third and so on to both sides of 1
            start = position_of_1 % step
            candidates.append(finest[start::step])
    log_span = np.log(high / low) or 1.0

    def axis_share(number: float) -> float:
        """Return the place of a number on the axis, from 0 to 1."""
        return float(np.log(number / low) / log_span)

    return _first_without_overlap(candidates, axis_share, length_mm, log_texts, needed)


def log_texts(breaks: Iterable[float | str]) -> list[str]:
    """Return the texts of breaks of a logarithmic axis, each with its own number of decimals."""
    return [tick_texts([number])[0] for number in breaks]


def number_axes(width_mm: float, height_mm: float) -> list[Any]:
    """Return the scales of the two numeric axes of panels whose width and height are in mm."""
    options: dict[str, Any] = {"minor_breaks": [], "labels": tick_texts}
    return [
        p9.scale_x_continuous(breaks=partial(axis_breaks, length_mm=width_mm), **options),
        p9.scale_y_continuous(breaks=partial(vertical_breaks, height_mm=height_mm), **options),
    ]


def rank_breaks(n_ranks: int, max_steps: int = 10) -> list[int]:
    """Return the ranks that are written at an axis: 1, and at most about `max_steps` multiples of a step."""
    step = max(1, math.ceil(n_ranks / max_steps))
    first = 2 if step == 1 else step
    return [1, *range(first, n_ranks + 1, step)]
