"""Columns of text at the right of panels with rows, and stripes that lead the eye to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.text_fit import chars_in, text_width_mm, wrapped
from salstats.display.plots.layout.theme import MM_PER_PT, TEXT_PT, font

#: Size of the text in points.
_COLUMN_PT = TEXT_PT - 0.5
#: Room in mm at the left of a column.
COLUMN_GAP_MM = 3.0
#: Width in mm by which a column may be wider than its texts, so that rounding errors break no word.
_ROUNDING_MM = 0.1
#: Fill of every second row, which leads the eye from the label to the marks and vanishes in a copy.
STRIPE = "#F4F4F4"
#: Parameters that plotnine expects of a geom; these have neither a legend nor aesthetics of the plot.
GEOM_PARAMS: dict[str, Any] = {
    "stat": "identity",
    "position": "identity",
    "na_rm": False,
    "inherit_aes": False,
    "show_legend": False,
}


def text_column_width_mm(heading: str, texts: Sequence[str]) -> float:
    """Return the width in mm of a column of text with its heading and the room before it."""
    widths = [text_width_mm(heading, _COLUMN_PT, bold=True)]
    widths += [text_width_mm(text, _COLUMN_PT) for text in texts]
    return max(widths) + COLUMN_GAP_MM


def text_columns_width_mm(columns: Mapping[str, Sequence[str]]) -> float:
    """Return the width in mm of several columns of text, given by their headings."""
    return sum(text_column_width_mm(heading, texts) for heading, texts in columns.items())


def with_wrapped_headings(columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return columns with headings that are broken into lines no wider than the texts below them."""
    wrapped_columns = {}
    for heading, texts in columns.items():
        # "95% CI" stays on one line
        words = heading.replace("% ", "%_").split()
        widths = [text_width_mm(word, _COLUMN_PT, bold=True) for word in words]
        widths += [text_width_mm(text, _COLUMN_PT) for text in texts]
        column_width = max(widths) + _ROUNDING_MM
        wrapped_heading = wrapped(heading, chars_in(column_width, _COLUMN_PT, bold=True), max_lines=None)
        wrapped_columns[wrapped_heading] = texts
    return wrapped_columns


def text_column_layers(frame: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> list[Any]:
    """Return layers of columns of text at the right of the panels.

    `columns` has the texts of each column by its heading, a text for each row of `frame`, whose column `y` is
    the vertical position of the text.
    """
    layers = []
    # distance of the right edge of a column from the panel
    right_edge_mm = 0.0
    for heading, texts in columns.items():
        right_edge_mm += text_column_width_mm(heading, texts)
        data = frame.assign(text=list(texts))
        layers.append(
            geom_text_column(
                p9.aes(y="y", label="text"), data, heading=heading, right_edge_pt=right_edge_mm / MM_PER_PT
            )
        )
    return layers


class geom_stripe(p9.geoms.geom.geom):
    """Fill of rows over the whole width of a panel, whatever its axis."""

    REQUIRED_AES = {"ymin", "ymax"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = GEOM_PARAMS

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the stripes of one panel to its axes."""
        for low, high in zip(data["ymin"], data["ymax"], strict=True):
            ax.axhspan(low, high, color=STRIPE, linewidth=0, zorder=self.params["zorder"])


class geom_text_column(p9.geoms.geom.geom):
    """Column of text with a heading, whose right edge is `right_edge_pt` points outside a panel."""

    REQUIRED_AES = {"y", "label"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = GEOM_PARAMS | {"heading": "", "right_edge_pt": 0.0}

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the texts and the heading of one panel to its axes."""
        rows = coord.transform(data, panel_params)
        right_edge_pt = self.params["right_edge_pt"]
        style = {
            "textcoords": "offset points",
            "ha": "right",
            "family": font(),
            "fontsize": _COLUMN_PT,
            "annotation_clip": False,
        }
        for y, text in zip(rows["y"], rows["label"], strict=True):
            ax.annotate(
                text,
                xy=(1, y),
                xycoords=("axes fraction", "data"),
                xytext=(right_edge_pt, 0),
                va="center_baseline",
                **style,
            )
        ax.annotate(
            self.params["heading"],
            xy=(1, 1),
            xycoords="axes fraction",
            xytext=(right_edge_pt, 2),
            va="bottom",
            weight="bold",
            **style,
        )
