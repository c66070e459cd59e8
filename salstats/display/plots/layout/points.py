"""Points that would hide each other: equal values side by side, very many as counts in cells."""

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

#: More points of a figure are drawn as a bitmap, so that a PDF stays small and quick.
RASTER_POINTS = 2000
#: Points of a panel from which cells are drawn instead.
CELL_POINTS = 5000
#: Cells of a panel in either direction.
_CELLS = 40
#: Counts in the legend; one point is still to be seen.
_COUNTS = {1: "1 per cell", 10: "10", 100: "100", 1000: "1,000", 10_000: "10,000"}
_RANGE = (0.15, 1)
#: Between the root, which hides all but the fullest cells, and the logarithm, under which most look alike.
_POWER = 0.25
#: Most distinct whole numbers that are spread; more of them are a scale like any other.
_MOST_VALUES = 12
#: Share of the distance between two whole numbers that their points take.
_WIDTH = 0.7
#: How far beyond 0 and 1 the bands of outcomes begin and end, in units of the axis.
_BAND = (0.04, 0.2)
_GOLDEN = (5**0.5 - 1) / 2


def is_outcome(values: np.ndarray) -> bool:
    """Whether values are 0 and 1 only."""
    return bool(np.isin(values, (0, 1)).all())


def is_few(values: np.ndarray) -> bool:
    """Whether values are a few whole numbers that many points share."""
    distinct = np.unique(values)
    whole = bool((distinct == np.round(distinct)).all())
    return whole and 1 < len(distinct) <= min(_MOST_VALUES, len(values) / 2)


def even_share(groups: list[pd.Series]) -> np.ndarray:
    """Number in (0, 1) per row, spread evenly among the rows of each group, in whatever order."""
    rank = pd.Series(0, index=groups[0].index).groupby(groups, observed=True).cumcount()
    # multiples of the golden ratio: of all sequences the one whose every start is spread most evenly
    return np.asarray((rank.to_numpy() + 1) * _GOLDEN % 1)


def beside(values: np.ndarray, lane: np.ndarray, n_lanes: int, share: np.ndarray) -> np.ndarray:
    """Whole numbers moved to the left or right of their place: a lane per colour, spread within it."""
    distinct = np.unique(values)
    step = np.diff(distinct).min() if len(distinct) > 1 else 1.0
    return np.asarray(values + _WIDTH * step * ((lane + 0.1 + 0.8 * share) / n_lanes - 0.5))


def beyond(values: np.ndarray, lane: np.ndarray, n_lanes: int, share: np.ndarray) -> np.ndarray:
    """Outcomes 0 and 1 moved into bands below 0 and above 1, a lane per colour, the first on top."""
    start, end = _BAND
    depth = start + (end - start) * (lane + 0.1 + 0.8 * share) / n_lanes
    return np.asarray(np.where(values > 0, 1 + end + start - depth, -depth))


def cell_layers(points: pd.DataFrame, colour: str) -> list[Any]:
    """Layer of cells, the darker the more of the points (`panel, x, y`) they hold, and its scale."""
    cells = points[["panel"]].copy()
    for name in ("x", "y"):
        values = points.groupby("panel", observed=True)[name]
        low, high = values.transform("min"), values.transform("max")
        # where all values are the same there is still a cell
        side = ((high - low) / _CELLS).replace(0, 1.0)
        cells[name] = low + np.minimum((points[name] - low) // side, _CELLS - 1) * side
        cells[f"{name}_end"] = cells[name] + side
    counts = cells.groupby(list(cells.columns), observed=True).size().rename("count").reset_index()
    # a scale with a transformation would transform the alpha of other layers too
    counts["root"] = counts["count"] ** _POWER
    mapping = p9.aes(xmin="x", xmax="x_end", ymin="y", ymax="y_end", alpha="root")
    return [
        p9.geom_rect(mapping, counts, fill=colour, size=0, inherit_aes=False),
        p9.scale_alpha_continuous(
            range=_RANGE, name="", breaks=[n**_POWER for n in _COUNTS], labels=list(_COUNTS.values())
        ),
    ]
