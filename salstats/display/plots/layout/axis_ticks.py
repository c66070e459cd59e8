"""Breaks of axes and their texts: few round numbers with the decimals that they need."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import plotnine as p9
from matplotlib.ticker import MaxNLocator
from mizani.breaks import breaks_log

from salstats.display.plots.layout.text_fit import text_mm
from salstats.display.text.format import fixed_text

#: Room in mm of a step between two breaks, and the numbers of steps that an axis may have.
_STEP_MM = 7.0
_MIN_STEPS = 2
_MAX_STEPS = 5
#: Least distance in mm between the texts of two breaks.
_TEXT_GAP_MM = 1.2
#: Length in mm by which the text of a break may extend beyond the panel.
_OVERHANG_MM = 2.2
#: Share of its length by which an axis is expanded at both ends.
_EXPANSION = 0.03


def tick_texts(breaks: Iterable[float | str]) -> list[str]:
    """Texts of breaks, all with the fewest decimals that write each of them exactly."""
    numbers = [float(number) for number in breaks]
    finite = np.array([number for number in numbers if np.isfinite(number)])
    digits = 0
    while digits < 12 and _rounding_changes(finite, digits):
        digits += 1
    return [fixed_text(number, digits) for number in numbers]


def _rounding_changes(numbers: np.ndarray, digits: int) -> bool:
    """Return whether any of the numbers changes when it is rounded to so many decimals."""
    errors = np.abs(np.round(numbers, digits) - numbers)
    return bool(np.any(errors > 1e-6 * np.abs(numbers)))


def axis_breaks(limits: tuple[float, float], length: float = 35.0, *, across: bool = True) -> list[float]:
    """Round numbers within the limits of an axis of a length in mm, integers where there are enough.

    `across` is whether the axis is horizontal, so that texts side by side must not overlap.
    """
    n_steps = int(np.clip(length // _STEP_MM, _MIN_STEPS, _MAX_STEPS))
    candidates = [_round_numbers(limits, n) for n in range(n_steps, _MIN_STEPS - 1, -1)]
    if not across:
        return candidates[0]
    span = limits[1] - limits[0] or 1.0
    return _first_without_overlap(candidates, lambda number: (number - limits[0]) / span, length)


def _round_numbers(limits: tuple[float, float], n_steps: int) -> list[float]:
    """Round numbers within limits, about so many steps from the first to the last."""
    ticks = MaxNLocator(n_steps, steps=[1, 2, 2.5, 5, 10]).tick_values(*limits)
    step = ticks[1] - ticks[0]
    # whole multiples of the step remove rounding errors, which would be shown at zero
    numbers = [float(round(tick / step) * step) for tick in ticks if limits[0] <= tick <= limits[1]]
    integers = [number for number in numbers if number.is_integer()]
    return integers if len(integers) > 2 else numbers


def _first_without_overlap(
    candidates: Sequence[list[float]],
    position: Callable[[float], float],
    length: float,
    texts: Callable[[Iterable[float]], list[str]] = tick_texts,
) -> list[float]:
    """First candidate whose texts neither overlap nor extend into the next panel, else the last candidate.

    Before the next candidate its ends are tried, then the candidate without its first break, without its
    last, and without both. `position` is where on the axis a number stands, from 0 to 1.
    """
    for candidate in candidates:
        ends = candidate[:: max(len(candidate) - 1, 1)]
        for breaks in (candidate, ends, candidate[1:], candidate[:-1], candidate[1:-1]):
            if len(breaks) > 1 and _texts_fit(breaks, texts(breaks), position, length):
                return breaks
    return candidates[-1]


def _texts_fit(
    breaks: Sequence[float], texts: Sequence[str], position: Callable[[float], float], length: float
) -> bool:
    """Return whether texts of breaks neither overlap nor extend too far beyond an axis, `length` in mm."""
    half_widths = [text_mm(text) / 2 for text in texts]
    starts = [length * position(b) - half for b, half in zip(breaks, half_widths, strict=True)]
    ends = [length * position(b) + half for b, half in zip(breaks, half_widths, strict=True)]
    overhang = _OVERHANG_MM + _EXPANSION * length
    if starts[0] <= -overhang or ends[-1] >= length + overhang:
        return False
    return all(end + _TEXT_GAP_MM < start for end, start in zip(ends, starts[1:], strict=False))


def log_breaks(limits: tuple[float, float], length: float = 35.0) -> list[float]:
    """Round numbers within the limits of a logarithmic axis of a length in mm."""
    candidates = []
    for n in range(_MAX_STEPS + 1, _MIN_STEPS - 1, -1):
        breaks = breaks_log(n=n)(limits)
        candidates.append([float(number) for number in breaks if limits[0] <= number <= limits[1]])
    # narrow limits may contain no power of ten
    if len(candidates[0]) < 2 and limits[1] < 10 * limits[0]:
        return axis_breaks(limits, length)
    span = np.log(limits[1] / limits[0]) or 1.0
    return _first_without_overlap(
        candidates, lambda number: float(np.log(number / limits[0]) / span), length, log_texts
    )


def log_texts(breaks: Iterable[float | str]) -> list[str]:
    """Texts of breaks of a logarithmic axis, each with its own number of decimals."""
    return [tick_texts([number])[0] for number in breaks]


def number_axes(width: float, height: float) -> list[Any]:
    """Scales of the two numeric axes of panels whose width and height are in mm."""
    options: dict[str, Any] = {"minor_breaks": [], "labels": tick_texts}
    # texts above each other need less room than texts side by side
    vertical_breaks = partial(axis_breaks, length=1.6 * height, across=False)
    return [
        p9.scale_x_continuous(breaks=partial(axis_breaks, length=width), **options),
        p9.scale_y_continuous(breaks=vertical_breaks, **options),
    ]
