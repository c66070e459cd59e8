"""Numbers at an axis: few, round, with the decimals that tell them apart."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import plotnine as p9
from matplotlib.ticker import MaxNLocator
from mizani.breaks import breaks_log

from salstats.display.text.format import fixed_text

#: Room of a step of an axis, and steps at least and at most.
_STEP_MM, _FEWEST, _MOST = 7.0, 2, 5


def tick_texts(breaks: Iterable[float]) -> list[str]:
    """Numbers at an axis with the same decimals, as few as tell them apart."""
    numbers = [float(b) for b in breaks]
    finite = np.array([b for b in numbers if np.isfinite(b)])
    digits = 0
    while digits < 12 and np.any(np.abs(np.round(finite, digits) - finite) > 1e-6 * np.abs(finite)):
        digits += 1
    return [fixed_text(b, digits) for b in numbers]


def axis_breaks(limits: tuple[float, float], length: float = 35.0) -> list[float]:
    """Round numbers within the limits of an axis of a length in mm, whole ones where there are enough."""
    n_steps = int(np.clip(length // _STEP_MM, _FEWEST, _MOST))
    ticks = MaxNLocator(n_steps, steps=[1, 2, 2.5, 5, 10]).tick_values(*limits)
    step = ticks[1] - ticks[0]
    # what is left of zero after floating-point steps is zero
    places = [float(round(t / step) * step) for t in ticks if limits[0] <= t <= limits[1]]
    whole = [place for place in places if place.is_integer()]
    return whole if len(whole) > 2 else places


def log_breaks(limits: tuple[float, float]) -> list[float]:
    """Round numbers within the limits of an axis of logarithms."""
    found = [float(b) for b in breaks_log(n=_MOST + 1)(limits) if limits[0] <= b <= limits[1]]
    # limits close together may hold no power of ten
    return axis_breaks(limits) if len(found) < 2 and limits[1] < 10 * limits[0] else found


def log_texts(breaks: Iterable[float]) -> list[str]:
    """Numbers at an axis of logarithms, each with the decimals that it needs."""
    return [tick_texts([b])[0] for b in breaks]


def number_axes(width: float, height: float) -> list[Any]:
    """Scales of two axes of numbers, of panels of a size in mm."""
    return [
        scale(breaks=partial(axis_breaks, length=length), minor_breaks=[], labels=tick_texts)
        # numbers are wider than high
        for scale, length in ((p9.scale_x_continuous, width), (p9.scale_y_continuous, 1.6 * height))
    ]
