"""Numbers at an axis: few, round, with the decimals that tell them apart."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import plotnine as p9
from matplotlib.ticker import MaxNLocator
from mizani.breaks import breaks_log

from salstats.display.plots.layout.text_fit import text_mm
from salstats.display.text.format import fixed_text

#: Room of a step of an axis, and steps at least and at most.
_STEP_MM, _FEWEST, _MOST = 7.0, 2, 5
#: Room between two numbers, and how far one may reach beyond its panel.
_APART_MM, _OVER_MM = 1.2, 2.2
#: Share of its length by which an axis is longer at both ends than its limits.
_EXPANDED = 0.03


def tick_texts(breaks: Iterable[float]) -> list[str]:
    """Numbers at an axis with the same decimals, as few as tell them apart."""
    numbers = [float(b) for b in breaks]
    finite = np.array([b for b in numbers if np.isfinite(b)])
    digits = 0
    while digits < 12 and np.any(np.abs(np.round(finite, digits) - finite) > 1e-6 * np.abs(finite)):
        digits += 1
    return [fixed_text(b, digits) for b in numbers]


def axis_breaks(limits: tuple[float, float], length: float = 35.0, *, across: bool = True) -> list[float]:
    """Round numbers within the limits of an axis of a length in mm, whole ones where there are enough."""
    n_steps = int(np.clip(length // _STEP_MM, _FEWEST, _MOST))
    tried = [_round_numbers(limits, n) for n in range(n_steps, _FEWEST - 1, -1)]
    span = limits[1] - limits[0] or 1.0
    return _first_apart(tried, lambda v: (v - limits[0]) / span, length) if across else tried[0]


def _round_numbers(limits: tuple[float, float], n_steps: int) -> list[float]:
    """Round numbers within limits, about so many steps from the first to the last."""
    ticks = MaxNLocator(n_steps, steps=[1, 2, 2.5, 5, 10]).tick_values(*limits)
    step = ticks[1] - ticks[0]
    # what is left of zero after floating-point steps is zero
    places = [float(round(t / step) * step) for t in ticks if limits[0] <= t <= limits[1]]
    whole = [place for place in places if place.is_integer()]
    return whole if len(whole) > 2 else places


def _first_apart(
    tried: Sequence[list[float]],
    share: Callable[[float], float],
    length: float,
    texts: Callable[[Iterable[float]], list[str]] | None = None,
) -> list[float]:
    """First choice of numbers that neither touch each other nor reach over to the next panel.

    `share` is how far along the axis a number stands; where no choice fits as a whole its ends may, or what
    is left without them.
    """
    parts = (part for t in tried for part in (t, t[:: max(len(t) - 1, 1)], t[1:], t[:-1], t[1:-1]))
    for numbers in (part for part in parts if len(part) > 1):
        half = [text_mm(text) / 2 for text in (texts or tick_texts)(numbers)]
        low, high = (
            [length * share(v) + side * h for v, h in zip(numbers, half, strict=True)] for side in (-1, 1)
        )
        over = _OVER_MM + _EXPANDED * length
        within = low[0] > -over and high[-1] < length + over
        if within and all(a + _APART_MM < b for a, b in zip(high, low[1:], strict=False)):
            return numbers
    return tried[-1]


def log_breaks(limits: tuple[float, float], length: float = 35.0) -> list[float]:
    """Round numbers within the limits of an axis of logarithms of a length in mm."""
    tried = [
        [float(b) for b in breaks_log(n=n)(limits) if limits[0] <= b <= limits[1]]
        for n in range(_MOST + 1, _FEWEST - 1, -1)
    ]
    # limits close together may hold no power of ten
    if len(tried[0]) < 2 and limits[1] < 10 * limits[0]:
        return axis_breaks(limits, length)
    span = np.log(limits[1] / limits[0]) or 1.0
    return _first_apart(tried, lambda v: float(np.log(v / limits[0]) / span), length, log_texts)


def log_texts(breaks: Iterable[float]) -> list[str]:
    """Numbers at an axis of logarithms, each with the decimals that it needs."""
    return [tick_texts([b])[0] for b in breaks]


def number_axes(width: float, height: float) -> list[Any]:
    """Scales of two axes of numbers, of panels of a size in mm."""
    look: dict[str, Any] = {"minor_breaks": [], "labels": tick_texts}
    return [
        p9.scale_x_continuous(breaks=partial(axis_breaks, length=width), **look),
        # numbers are wider than high
        p9.scale_y_continuous(breaks=partial(axis_breaks, length=1.6 * height, across=False), **look),
    ]
