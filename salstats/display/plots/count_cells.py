"""Very many points as counts in the cells of a grid, darker the more points they hold."""

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

#: Points of a panel from which cells are drawn instead.
CELL_POINTS = 5000
#: Side of a cell, and the part of it that is filled.
_CELL_MM, _FILLED = 0.8, 0.9
#: Counts in the legend; one point is still to be seen.
_COUNTS = {1: "1 per cell", 10: "10", 100: "100", 1000: "1,000", 10_000: "10,000"}
_RANGE = (0.15, 1)
#: Between the root, which hides all but the fullest cells, and the logarithm, under which most look alike.
_POWER = 0.25


def cell_layers(points: pd.DataFrame, width: float, height: float, colour: str) -> list[Any]:
    """Return the layer of cells and its scale.

    Parameters
    ----------
    points : DataFrame
        `panel`, and `x`, `y`: where the points stand.
    width, height : float
        Of what the points of a panel take, in mm; cells begin at a panel's smallest values.
    colour : str
        Of a full cell.
    """
    by_panel = points.groupby("panel", observed=True)
    corners = {}
    for name, length in (("x", width), ("y", height)):
        low, high = by_panel[name].transform("min"), by_panel[name].transform("max")
        # where all values are the same there is still a cell
        side = (high - low).where(high > low, 1.0) * _CELL_MM / length
        corners[name] = low + np.floor((points[name] - low) / side) * side
        corners[f"{name}_end"] = corners[name] + _FILLED * side
    cells = points[["panel"]].assign(**corners)
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
