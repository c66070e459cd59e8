"""Positions of equal points, which are spread, and cells that show the counts of very many points."""

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

#: Number of points beyond which those of a figure are drawn as a bitmap, so that a PDF stays small and quick.
RASTER_POINTS = 2000
#: Number of points beyond which those of a panel are drawn as cells with counts.
CELL_POINTS = 5000
#: Number of cells of a panel in either direction.
_N_CELLS = 40
#: Counts in the legend of cells, with their texts.
_LEGEND_COUNTS = {1: "1 per cell", 10: "10", 100: "100", 1000: "1,000", 10_000: "10,000"}
#: Opacity of the emptiest and of the fullest cell.
_OPACITIES = (0.15, 1)
#: Power of the counts that opacity shows. Under a square root only the fullest cells would be visible, under
#: a logarithm most cells would look alike.
_COUNT_POWER = 0.25
#: Most distinct integers whose points are spread; a variable with more of them is drawn as a continuous one.
_MAX_INTEGERS = 12
#: Share of the distance between two integers over which their points are spread.
_SPREAD = 0.7
#: Share of a lane's width at which its points begin, and the share over which they are spread. A lane is the
#: part of the room around a value in which the points of one colour stand.
_LANE_START = 0.1
_LANE_SPREAD = 0.8
#: The golden ratio without its integer part.
_GOLDEN_RATIO = (5**0.5 - 1) / 2


def are_zero_or_one(values: np.ndarray) -> bool:
    """Return whether all values are 0 or 1."""
    return bool(np.isin(values, (0, 1)).all())


def are_few_integers(values: np.ndarray) -> bool:
    """Return whether values are a few distinct integers, each shared by two points or more on average."""
    distinct = np.unique(values)
    are_integers = bool((distinct == np.round(distinct)).all())
    return are_integers and 1 < len(distinct) <= min(_MAX_INTEGERS, len(values) / 2)


def evenly_spread_fractions_in_groups(group_columns: list[pd.Series]) -> np.ndarray:
    """Return a number between 0 and 1 for each row, such that those of a group are evenly spread.

    Groups are the combinations of the values of `group_columns`. The numbers of a group are multiples of the
    golden ratio, modulo 1: its first n multiples are spread evenly for every n.
    """
    # number of the row in its group, from 0
    row_number = pd.Series(0, index=group_columns[0].index).groupby(group_columns, observed=True).cumcount()
    return np.asarray((row_number.to_numpy() + 1) * _GOLDEN_RATIO % 1)


def integers_spread_into_lanes(
    integers: np.ndarray, lane_numbers: np.ndarray, n_lanes: int, shares_of_lane: np.ndarray
) -> np.ndarray:
    """Return integers moved sideways, into the lane of their colour.

    `lane_numbers` is the number of the lane of each value, from 0 at the left to `n_lanes` - 1, and
    `shares_of_lane` the place of the value in its lane, from 0 to 1.
    """
    distinct = np.unique(integers)
    step = 1.0
    if len(distinct) > 1:
        step = np.diff(distinct).min()
    lanes_from_left = lane_numbers + _LANE_START + _LANE_SPREAD * shares_of_lane
    # from -0.5 at the left end of the lanes to 0.5 at the right end
    offset = lanes_from_left / n_lanes - 0.5
    return np.asarray(integers + _SPREAD * step * offset)


def point_density_cell_layers(points: pd.DataFrame, colour: str) -> list[Any]:
    """Return a layer of cells, darker the more points they contain, and its scale.

    `points` has columns `panel`, `x` and `y`; `colour` is that of the cells.
    """
    cells = points[["panel"]].copy()
    for axis in ("x", "y"):
        values = points.groupby("panel", observed=True)[axis]
        low = values.transform("min")
        high = values.transform("max")
        # a panel whose values are all equal has one cell
        side = ((high - low) / _N_CELLS).replace(0, 1.0)
        # the largest value, at the upper edge of the last cell, belongs to it
        cell_number = np.minimum((points[axis] - low) // side, _N_CELLS - 1)
        cells[axis] = low + cell_number * side
        cells[f"{axis}_end"] = cells[axis] + side
    counts = cells.groupby(list(cells.columns), observed=True).size().rename("count").reset_index()
    # a scale with a transformation would transform the opacity of other layers too
    counts["powered"] = counts["count"] ** _COUNT_POWER
    mapping = p9.aes(xmin="x", xmax="x_end", ymin="y", ymax="y_end", alpha="powered")
    return [
        p9.geom_rect(mapping, counts, fill=colour, size=0, inherit_aes=False),
        p9.scale_alpha_continuous(
            range=_OPACITIES,
            name="",
            breaks=[count**_COUNT_POWER for count in _LEGEND_COUNTS],
            labels=list(_LEGEND_COUNTS.values()),
        ),
    ]
