"""Columns of text beside the panels of a figure with rows, and stripes that lead the eye to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.text_fit import chars_in, text_mm, wrapped
from salstats.display.plots.layout.theme import MM_PER_PT, TEXT_PT, font

#: Size of the text, and the room before a column.
_BESIDE_PT, BEFORE_MM = TEXT_PT - 0.5, 3.0
#: Fill of every other row, which leads the eye from the label to the marks and vanishes in a copy.
_STRIPE = "#F4F4F4"
#: What plotnine wants to know of a layer of our own.
_PLAIN: dict[str, Any] = {
    "stat": "identity",
    "position": "identity",
    "na_rm": False,
    "inherit_aes": False,
    "show_legend": False,
}


def column_mm(heading: str, texts: Sequence[str]) -> float:
    """Room in mm that a column of text takes beside a panel."""
    wide = (text_mm(heading, _BESIDE_PT, bold=True), *(text_mm(text, _BESIDE_PT) for text in texts))
    return max(wide) + BEFORE_MM


def columns_mm(columns: Mapping[str, Sequence[str]]) -> float:
    """Room in mm that columns of text by their headings take beside a panel."""
    return sum(column_mm(heading, texts) for heading, texts in columns.items())


def narrowed(columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Columns whose headings take more lines rather than be wider than the texts below them."""
    shown = {}
    for heading, texts in columns.items():
        words = max(text_mm(word, _BESIDE_PT, bold=True) for word in heading.replace("% ", "%_").split())
        room = max(words, *(text_mm(text, _BESIDE_PT) for text in texts)) + 0.1
        shown[wrapped(heading, chars_in(room, _BESIDE_PT, bold=True), None)] = texts
    return shown


def beside_layers(frame: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> list[Any]:
    """Layers of text beside the panels."""
    layers, room = [], 0.0
    for heading, texts in columns.items():
        room += column_mm(heading, texts)
        data = frame.assign(text=list(texts))
        layers.append(geom_beside(p9.aes(y="y", label="text"), data, heading=heading, right=room / MM_PER_PT))
    return layers


class geom_stripe(p9.geoms.geom.geom):
    """Fill of rows over the whole width of a panel, whatever its axis."""

    REQUIRED_AES = {"ymin", "ymax"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = _PLAIN

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the stripes of one panel."""
        for low, high in zip(data["ymin"], data["ymax"], strict=True):
            ax.axhspan(low, high, color=_STRIPE, linewidth=0, zorder=self.params["zorder"])


class geom_beside(p9.geoms.geom.geom):
    """Column of text below its heading that ends `right` points beyond a panel, whatever the panel's axis."""

    REQUIRED_AES = {"y", "label"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = _PLAIN | {"heading": "", "right": 0.0}

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the texts of one panel."""
        placed = coord.transform(data, panel_params)
        look = {"textcoords": "offset points", "ha": "right", "family": font(), "fontsize": _BESIDE_PT}
        right = self.params["right"]
        for y, text in zip(placed["y"], placed["label"], strict=True):
            at = {"xy": (1, y), "xycoords": ("axes fraction", "data"), "annotation_clip": False}
            ax.annotate(text, xytext=(right, 0), va="center_baseline", **at, **look)
        at = {"xy": (1, 1), "xycoords": "axes fraction", "annotation_clip": False}
        ax.annotate(self.params["heading"], xytext=(right, 2), va="bottom", weight="bold", **at, **look)
