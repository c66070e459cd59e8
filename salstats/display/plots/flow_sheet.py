"""A sheet of boxes, text and arrows in mm: what a flow diagram is drawn on."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import plotnine as p9
from matplotlib.markers import CARETDOWN, CARETRIGHT

from salstats.display.plots.text_fit import chars_in, text_mm, wrapped
from salstats.display.plots.theme import MM_PER_PT, MUTED, TEXT_PT, figure_size, font, theme_salstats

#: Size of text, height of its line and where in it the letters stand.
_PT, _LINE_MM, _BASELINE = TEXT_PT, 1.25 * TEXT_PT * MM_PER_PT, 0.76
#: Room inside a box, between boxes, before a column of numbers, and around everything.
_PAD_MM, _GAP_MM, _COLUMN_GAP_MM, _MARGIN_MM = 1.4, 4.0, 2.5, 1.0
#: Where in a box the arrow down begins, and where what is excluded stands.
_SPINE_MM, _ASIDE_MM = 5.0, 13.0
#: Size, weight and colour of text by what it is for.
_STYLES = {
    "bold": (_PT, "bold", "black"),
    "plain": (_PT, "normal", "black"),
    "muted": (_PT, "normal", MUTED),
    "note": (_PT - 1, "normal", MUTED),
}


@dataclass(frozen=True)
class Line:
    """A line of a box: text at the left, which is wrapped, and numbers in columns at the right."""

    text: str
    numbers: tuple[str, ...] = ()
    bold: bool = False


@dataclass
class Sheet:
    """Boxes, texts and arrows, placed from the top down.

    Attributes
    ----------
    left, right : float
        Where boxes begin and end.
    y : float
        How far down the sheet is filled, from 0 to negative values.
    arrow_from : float, optional
        Where the arrow to the next box begins; none, and the next box has no arrow.
    """

    left: float
    right: float
    y: float = 0.0
    arrow_from: float | None = None
    boxes: list[dict[str, Any]] = field(default_factory=list)
    texts: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)

    def box(self, lines: list[Line]) -> float:
        """Add a box below what is there, with an arrow to it from the box above; return its middle."""
        top = self.y - _GAP_MM if self.boxes else 0.0
        x = self.left + _SPINE_MM
        if self.arrow_from is not None:
            self.arrow(x, self.arrow_from, x, top)
        self.y = self.arrow_from = self._filled(lines, self.left, top, "kept")
        return (top + self.y) / 2

    def aside(self, lines: list[Line]) -> None:
        """Add a box at the right of the arrow to the next box."""
        top = self.y - _GAP_MM
        self.y = self._filled(lines, self.left + _ASIDE_MM, top, "excluded")
        middle = (top + self.y) / 2
        self.arrow(self.left + _SPINE_MM, middle, self.left + _ASIDE_MM, middle)

    def note(self, text: str) -> None:
        """Add small print below everything."""
        self.y -= 1.5
        for part in wrapped(text, chars_in(self.right - self.left, _PT - 1), None).split("\n"):
            self._text(part, self.left, self.y, "left", "note")
            self.y -= _LINE_MM

    def arrow(self, x: float, y: float, xend: float, yend: float) -> None:
        """Add an arrow, down or to the right."""
        tip = "down" if x == xend else "right"
        self.lines.append({"x": x, "y": y, "xend": xend, "yend": yend, "tip": tip})

    def line(self, x: float, y: float, xend: float, yend: float) -> None:
        """Add a line."""
        self.lines.append({"x": x, "y": y, "xend": xend, "yend": yend, "tip": "none"})

    def _filled(self, lines: list[Line], left: float, top: float, kind: str) -> float:
        """Draw a box as high as its lines need it; return where it ends."""
        n_columns = max(len(line.numbers) for line in lines)
        widths = [
            max(text_mm(line.numbers[j], _PT) for line in lines if line.numbers) + _COLUMN_GAP_MM
            for j in range(n_columns)
        ]
        room = self.right - left - 2 * _PAD_MM
        y = top - _PAD_MM
        for line in lines:
            at = self.right - _PAD_MM
            for number, its_width in zip(line.numbers[::-1], widths[::-1], strict=False):
                self._text(number, at, y, "right", "muted" if line.bold else "plain")
                at -= its_width
            free = room - (sum(widths) if line.numbers else 0.0)
            for part in wrapped(line.text, chars_in(free, _PT, bold=line.bold), None).split("\n"):
                self._text(part, left + _PAD_MM, y, "left", "bold" if line.bold else "plain")
                y -= _LINE_MM
        bottom = y - _PAD_MM
        self.boxes.append({"xmin": left, "xmax": self.right, "ymin": bottom, "ymax": top, "kind": kind})
        return bottom

    def _text(self, text: str, x: float, top: float, ha: str, style: str) -> None:
        """Add a line of text whose upper edge is at `top`."""
        y = top - _BASELINE * _LINE_MM
        self.texts.append({"label": text, "x": x, "y": y, "ha": ha, "style": style})

    def figure(self, width: float) -> p9.ggplot:
        """Sheet as a figure in which one unit is one mm."""
        boxes, texts = pd.DataFrame(self.boxes), pd.DataFrame(self.texts)
        lines = pd.DataFrame(self.lines, columns=["x", "y", "xend", "yend", "tip"])
        # marks have their size on paper whatever the figure's, which plotnine's arrows have not
        tips = {"down": CARETDOWN, "right": CARETRIGHT}
        edges = p9.aes(xmin="xmin", xmax="xmax", ymin="ymin", ymax="ymax", fill="kind")
        layers: list[Any] = [
            p9.geom_rect(edges, data=boxes, color="black", size=0.4),
            p9.geom_segment(p9.aes(x="x", y="y", xend="xend", yend="yend"), data=lines, size=0.4),
        ]
        for tip, shape in tips.items():
            ends = lines[lines["tip"] == tip]
            layers.append(p9.geom_point(p9.aes(x="xend", y="yend"), data=ends, shape=shape, size=2, stroke=0))
        for (style, ha), its_texts in texts.groupby(["style", "ha"], sort=False):
            size, weight, colour = _STYLES[style]
            look = {"ha": ha, "va": "baseline", "size": size, "fontweight": weight, "color": colour}
            place = p9.aes(x="x", y="y", label="label")
            layers.append(p9.geom_text(place, data=its_texts, family=font(), **look))
        bottom, end = self.y - _MARGIN_MM, width - _MARGIN_MM
        nothing = p9.element_blank()
        return (
            p9.ggplot()
            + layers
            + p9.scale_fill_manual({"kept": "white", "excluded": "#F2F2F2"}, guide=None)
            + p9.scale_x_continuous(limits=(-_MARGIN_MM, end), expand=(0, 0))
            + p9.scale_y_continuous(limits=(bottom, _MARGIN_MM), expand=(0, 0))
            + theme_salstats()
            + p9.theme(axis_line=nothing, axis_text=nothing, axis_ticks=nothing, axis_title=nothing)
            + p9.theme(plot_margin=0)
            + figure_size(width, _MARGIN_MM - bottom)
        )
