"""Equal values drawn side by side: where points stand that would hide each other, the same on each call."""

import numpy as np
import pandas as pd

#: Most distinct whole numbers that are spread; more of them are a scale like any other.
_MOST_VALUES = 12
#: Share of the distance between two whole numbers that their points take.
_WIDTH = 0.7
#: How far beyond 0 and 1 the bands of outcomes begin and end, in units of the axis.
_BAND = (0.04, 0.2)
_GOLDEN = (5**0.5 - 1) / 2


def is_outcome(values: np.ndarray) -> bool:
    """Return whether values are 0 and 1 only."""
    return bool(np.isin(values, (0, 1)).all())


def is_few(values: np.ndarray) -> bool:
    """Return whether values are a few whole numbers that many points share."""
    distinct = np.unique(values)
    whole = bool((distinct == np.round(distinct)).all())
    return whole and 1 < len(distinct) <= min(_MOST_VALUES, len(values) / 2)


def even_share(groups: list[pd.Series]) -> np.ndarray:
    """Return a number in (0, 1) per row, spread evenly among the rows of each group, in whatever order."""
    rank = pd.Series(0, index=groups[0].index).groupby(groups, observed=True).cumcount()
    # multiples of the golden ratio: of all sequences the one whose every start is spread most evenly
    return np.asarray((rank.to_numpy() + 1) * _GOLDEN % 1)


def beside(values: np.ndarray, lane: np.ndarray, n_lanes: int, share: np.ndarray) -> np.ndarray:
    """Return whole numbers moved to the left or right of their place: a lane per colour, spread within it."""
    distinct = np.unique(values)
    step = np.diff(distinct).min() if len(distinct) > 1 else 1.0
    return np.asarray(values + _WIDTH * step * ((lane + 0.1 + 0.8 * share) / n_lanes - 0.5))


def beyond(values: np.ndarray, lane: np.ndarray, n_lanes: int, share: np.ndarray) -> np.ndarray:
    """Return outcomes 0 and 1 moved into bands below 0 and above 1, a lane per colour, the first on top."""
    start, end = _BAND
    depth = start + (end - start) * (lane + 0.1 + 0.8 * share) / n_lanes
    return np.asarray(np.where(values > 0, 1 + end + start - depth, -depth))
