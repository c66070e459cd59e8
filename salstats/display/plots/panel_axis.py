"""The axis of a figure's panels, which ends where columns of text at the right begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.axis_ticks import axis_breaks, half_breaks, log_breaks, log_texts, tick_texts
from salstats.display.plots.text_fit import text_mm
from salstats.display.plots.theme import MM_PER_PT, TEXT_PT, font

#: Size of the columns' text, room before a column, and height of the headings.
_PT, _GAP_MM, HEAD_MM = TEXT_PT - 0.5, 3.0, 4.0
#: Part of a panel that text takes at most, and room at either end of the axis.
_MOST, _PAD = 0.72, 0.03
_NEEDED = ("estimate", "conf_low", "conf_high")
#: Width of the axis's line, which lies within the panel: what is beyond its edge is cut.
_LINE_MM = 0.4 * MM_PER_PT
_NO_LEGEND = {"inherit_aes": False, "show_legend": False}


@dataclass(frozen=True)
class TextColumn:
    """A column of text: its heading, and a text per row of the frame."""

    heading: str
    texts: Sequence[str]

    @property
    def width(self) -> float:
        """Width in mm, with the room before it."""
        return max(text_mm(self.heading, _PT, bold=True), *(text_mm(t, _PT) for t in self.texts)) + _GAP_MM


class PanelAxis:
    """Axis of panels, with columns of text at its right.

    Parameters
    ----------
    frame : DataFrame
        With `panel`, `y`, `estimate`, `conf_low`, `conf_high`.
    guides : DataFrame
        Lines that the axis has to reach: `panel`, `guide`.
    panel_mm : float
        Width of a panel that numbers and text have to fit.
    columns : sequence of TextColumn
        From left to right.
    log : bool
        Whether the axis is one of logarithms.
    common : bool
        Whether all panels have the same axis.

    Attributes
    ----------
    spans : DataFrame
        `panel`, `low` and `high` of the axis, and `right`, the end of the panel.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        guides: pd.DataFrame,
        panel_mm: float,
        columns: Sequence[TextColumn] = (),
        *,
        log: bool = False,
        common: bool = False,
    ) -> None:
        self.columns, self.log = list(columns), log
        widths = [column.width for column in self.columns]
        self.share = min(sum(widths) / panel_mm, _MOST)
        self.room = panel_mm * (1 - self.share)
        # right edge of each column as a part of the text's width
        self.edges = np.cumsum(widths) / sum(widths) if widths else np.array([])
        self.spans = _ends(frame, guides, log, common).reset_index()
        self.spans["right"] = self._at(self.spans, 1.0)
        self._rows = frame[["panel", "y"]].merge(self.spans, on="panel", how="left")

    def layers(self, head_y: float, foot_y: float) -> list[Any]:
        """Columns with their headings, and the line of the axis, which ends before them.

        `head_y` is the middle of the headings, `foot_y` the lower edge of the panel.
        """
        line = p9.geom_segment(
            p9.aes("low", "y", xend="high", yend="y"),
            data=self.spans.assign(y=foot_y + _LINE_MM / 2),
            size=_LINE_MM / MM_PER_PT,
            **_NO_LEGEND,
        )
        layers: list[Any] = [line, p9.theme(axis_line_x=p9.element_blank())]
        for edge, column in zip(self.edges, self.columns, strict=True):
            body = self._rows.assign(x=self._at(self._rows, edge), text=list(column.texts))
            head = self.spans.assign(x=self._at(self.spans, edge), y=head_y, text=column.heading)
            layers += [_text(body), _text(head, fontweight="bold")]
        return layers

    def within(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Frame with its bars cut where the axis ends, as those without an end are."""
        spans = frame[["panel"]].merge(self.spans, on="panel", how="left").set_index(frame.index)
        return frame.assign(
            conf_low=frame["conf_low"].clip(lower=spans["low"]),
            conf_high=frame["conf_high"].clip(upper=spans["high"]),
        )

    def scale(self) -> Any:
        """Axis's scale, with breaks before the text only."""
        if self.log:
            return p9.scale_x_log10(
                breaks=lambda limits: log_breaks(self._before_text(limits), self.room),
                minor_breaks=[],
                labels=log_texts,
                expand=(0, 0),
            )
        return p9.scale_x_continuous(
            breaks=lambda limits: axis_breaks(self._before_text(limits), self.room),
            minor_breaks=lambda limits: half_breaks(self._before_text(limits), self.room),
            labels=tick_texts,
            expand=(0, 0),
        )

    def _before_text(self, limits: tuple[float, float]) -> tuple[float, float]:
        """Part of a panel's limits that is no text."""
        low, high = np.log10(limits) if self.log else np.asarray(limits, dtype=float)
        high = low + (high - low) * (1 - self.share)
        return (float(10**low), float(10**high)) if self.log else (float(low), float(high))

    def _at(self, frame: pd.DataFrame, edge: float) -> np.ndarray:
        """Place of a part of the text's width in each row's panel."""
        ends = frame[["low", "high"]].to_numpy(dtype=float)
        low, high = (np.log10(ends) if self.log else ends).T
        place: np.ndarray = high + (high - low) * self.share / (1 - self.share) * edge
        return 10**place if self.log else place


def _text(data: pd.DataFrame, **look: Any) -> Any:
    """Column of text that ends at `x`."""
    mapping = p9.aes("x", "y", label="text")
    return p9.geom_text(
        mapping, data=data, size=_PT, ha="right", va="center", family=font(), **look, **_NO_LEGEND
    )


def _ends(frame: pd.DataFrame, guides: pd.DataFrame, log: bool, common: bool) -> pd.DataFrame:
    """Both ends of each panel's axis with some room: columns `low`, `high`, index `panel`."""
    parts = [frame[["panel", c]].set_axis(["panel", "value"], axis=1) for c in _NEEDED]
    needed = pd.concat([*parts, guides.set_axis(["panel", "value"], axis=1)], ignore_index=True)
    values = needed["value"].where(np.isfinite(needed["value"]))
    needed["value"] = np.log10(values) if log else values
    needed["panel"] = needed["panel"].astype(frame["panel"].dtype)
    ends = needed.groupby("panel", observed=True)["value"].agg(low="min", high="max")
    if common:
        ends = ends.assign(low=ends["low"].min(), high=ends["high"].max())
    room = (ends["high"] - ends["low"]) * _PAD
    # where all values are the same there is still an axis
    room = room.where(room > 0, ends["high"].abs() * 0.1 + 0.06)
    ends = pd.DataFrame({"low": ends["low"] - room, "high": ends["high"] + room})
    return 10**ends if log else ends
