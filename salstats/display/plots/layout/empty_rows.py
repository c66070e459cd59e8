"""Rows of panels that have no estimate, which say so instead of being blank."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.coded_text import TEXT
from salstats.display.plots.layout.figure_rows import FigureRows
from salstats.display.plots.layout.text_columns import GEOM_PARAMS, STRIPE
from salstats.display.plots.layout.theme import MUTED, TEXT_PT, font

#: Text of an estimate that is missing in the frame, and of a row of a panel that the frame does not have.
NOT_DEFINED = "not defined"
NO_ESTIMATE = "no estimate"
#: Size of the texts, and room around them in which nothing else is drawn, in points.
_TEXT_PT = TEXT_PT - 1
_AROUND_PT = 0.8


def empty_row_texts(
    frame: pd.DataFrame,
    rows: FigureRows,
    colours: Mapping[str, str],
    *,
    striped: bool = True,
    absent_in_panel: str = NO_ESTIMATE,
) -> pd.DataFrame:
    """Return the texts of places without an estimate.

    Parameters
    ----------
    frame : DataFrame
        `panel`, `y` and `estimate` of each mark, NaN for an estimate that is not defined. A row that has
        marks in another panel but none in this one has no estimate here. A column `no_mark` may have
        another text for each.
    rows : FigureRows
        The rows of the figure.
    colours : mapping
        Colour of each method by its text in the legend; without it all texts are grey.
    striped : bool
        Whether every second row has a stripe.
    absent_in_panel : str
        Text of a row that has marks in another panel but none in this one.

    Returns
    -------
    DataFrame
        `panel`, `y` (in mm, 0 at the top), `text`, `colour` and `background`, the colour of the row.
    """
    # distances from the top increase from row to row
    row_of_mark = np.searchsorted(-np.array(rows.lower_edges), -frame["y"])
    marks = frame.assign(row=row_of_mark, text=NOT_DEFINED, colour=MUTED)
    if "no_mark" in marks.columns:
        marks["text"] = marks["no_mark"]
    if colours:
        marks["colour"] = marks["method_label"].astype(TEXT).map(colours)
    panels = frame["panel"].cat.categories
    columns = ["panel", "y", "row", "text", "colour"]
    places = list(marks.loc[marks["estimate"].isna(), columns].itertuples(index=False, name=None))
    for panel in panels:
        rows_of_panel = set(marks.loc[marks["panel"] == panel, "row"])
        for row in sorted(set(marks["row"]) - rows_of_panel):
            places.append((panel, float(rows.centres[row]), row, absent_in_panel, MUTED))
    texts = pd.DataFrame(places, columns=columns)
    background = np.full(len(texts), "white", dtype=object)
    if striped:
        background[texts["row"] % 2 == 1] = STRIPE
    return texts.astype({"y": float}).assign(
        panel=pd.Categorical(texts["panel"], panels, ordered=True),
        background=background,
    )


def empty_row_layers(texts: pd.DataFrame) -> list[Any]:
    """Return the layer of texts in rows without an estimate, none if every row has one."""
    if texts.empty:
        return []
    aesthetics = p9.aes(y="y", label="text", ink="colour", background="background")
    return [geom_row_text(aesthetics, texts)]


class geom_row_text(p9.geoms.geom.geom):
    """Text in the middle of a panel, in a row, whatever the horizontal axis."""

    REQUIRED_AES = {"y", "label", "ink", "background"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = GEOM_PARAMS

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the texts of one panel to its axes."""
        rows = coord.transform(data, panel_params)
        columns = [rows[name] for name in ("y", "label", "ink", "background")]
        for y, text, colour, background in zip(*columns, strict=True):
            ax.annotate(
                text,
                xy=(0.5, y),
                xycoords=("axes fraction", "data"),
                ha="center",
                va="center_baseline",
                family=font(),
                fontsize=_TEXT_PT,
                color=colour,
                annotation_clip=False,
                # vertical lines do not run through the letters
                bbox={"facecolor": background, "edgecolor": "none", "pad": _AROUND_PT},
            )
