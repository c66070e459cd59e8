"""Numbers at an axis: round ones, as many as have room, with the decimals that tell them apart."""

from collections.abc import Callable, Iterable

import numpy as np
from matplotlib.ticker import MaxNLocator
from mizani.breaks import breaks_extended, breaks_log

from salstats.display.plots.text_fit import text_mm
from salstats.display.text.format import fixed_text

#: Numbers at an axis at most, and room between two.
_MOST_BREAKS, _BREAK_MM = 6, 1.5


def tick_texts(breaks: Iterable[float]) -> list[str]:
    """Numbers at an axis with the same decimals, as few as tell them apart."""
    numbers = [float(b) for b in breaks]
    finite = np.array([b for b in numbers if np.isfinite(b)])
    digits = 0
    while digits < 12 and np.any(np.abs(np.round(finite, digits) - finite) > 1e-6 * np.abs(finite)):
        digits += 1
    return [fixed_text(b, digits) for b in numbers]


def axis_breaks(limits: tuple[float, float], room: float = 25.0) -> list[float]:
    """Round numbers within the limits of an axis, as many as have room on it, in mm."""

    def candidates(n: int) -> Iterable[float]:
        ticks = MaxNLocator(n, steps=[1, 2, 5, 10]).tick_values(*limits)
        # what is left of zero after floating-point steps is zero
        return [round(t / (ticks[1] - ticks[0])) * (ticks[1] - ticks[0]) for t in ticks]

    return _fitting(candidates, limits, tick_texts, room)


def up_breaks(limits: tuple[float, float], height: float) -> list[float]:
    """Round numbers within the limits of a vertical axis, as many as have room on it, in mm."""
    # a number is about twice as wide as high, and the room of `axis_breaks` is a width
    return axis_breaks(limits, 2 * height)


def half_breaks(limits: tuple[float, float], room: float = 25.0) -> list[float]:
    """Middles between the numbers of an axis, for ticks without a number."""
    breaks = axis_breaks(limits, room)
    if len(breaks) < 2:
        return []
    step = breaks[1] - breaks[0]
    halves = [breaks[0] - step / 2, *(b + step / 2 for b in breaks)]
    return [float(t) for t in halves if limits[0] <= t <= limits[1]]


def log_breaks(limits: tuple[float, float], room: float = 25.0) -> list[float]:
    """Round numbers within the limits of an axis of logarithms, as many as have room, in mm."""
    found = _fitting(lambda n: breaks_log(n=n)(limits), limits, log_texts, room)
    # limits close together may hold no power of ten
    return axis_breaks(limits, room) if len(found) < 2 and limits[1] < 10 * limits[0] else found


def _fitting(
    candidates: Callable[[int], Iterable[float]],
    limits: tuple[float, float],
    texts: Callable[[Iterable[float]], list[str]],
    room: float,
) -> list[float]:
    """Most breaks within the limits whose numbers have room."""
    for n in range(_MOST_BREAKS, 0, -1):
        breaks = [float(b) for b in candidates(n) if limits[0] <= b <= limits[1]]
        if sum(text_mm(text) + _BREAK_MM for text in texts(breaks)) <= room:
            break
    return breaks


def log_texts(breaks: Iterable[float]) -> list[str]:
    """Numbers at an axis of logarithms, each with the decimals that it needs."""
    return [tick_texts([b])[0] for b in breaks]


def whole_breaks(limits: tuple[float, float]) -> list[float]:
    """Where an axis has numbers: whole ones where it is long enough for them."""
    places = [float(b) for b in breaks_extended(n=5)(limits) if limits[0] <= b <= limits[1]]
    whole = [b for b in places if b.is_integer()]
    return whole if len(whole) > 2 else places
