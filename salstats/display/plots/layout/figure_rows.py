"""Rows of a figure, each as high as it needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.beside import geom_stripe
from salstats.display.plots.layout.drawing import Drawing
from salstats.display.plots.layout.text_fit import LABEL_CHARS, short_labels
from salstats.display.plots.layout.theme import LINE_MM
from salstats.display.text.labels import LAST

#: Height of a mark, room around a row, and the gap before the rows that close a figure.
_MARK_MM, _PAD_MM, _GAP_MM = 2.6, 1.6, 1.6


@dataclass(frozen=True)
class Rows:
    """Rows of a figure from the top down on an axis in mm: from 0 at the top to negative values.

    `values` are what stands in each row, `texts` their labels; `rules` are where a line sets the closing
    rows apart, `heads` say which rows begin a group of rows or stand for themselves.
    """

    values: list[Any]
    texts: list[str]
    centres: np.ndarray
    heights: np.ndarray
    rules: list[float]
    heads: list[bool]

    @property
    def edges(self) -> list[float]:
        """Lower edges of the rows."""
        return [float(edge) for edge in self.centres - self.heights / 2]

    @property
    def ends(self) -> list[float]:
        """Lower edges of the groups of rows."""
        return [edge for edge, begins in zip(self.edges, [*self.heads[1:], True], strict=True) if begins]

    @property
    def height(self) -> float:
        """Height of all rows together."""
        return float(self.heights[-1] / 2 - self.centres[-1])

    def of(self, values: Iterable[Any]) -> np.ndarray:
        """Middle of the rows of some values."""
        places = dict(zip(self.values, self.centres, strict=True))
        return np.array([places[v] for v in values], dtype=float)

    def on(self, page: p9.ggplot) -> np.ndarray:
        """Which rows a page of the figure shows."""
        low, high = getattr(page.coordinates.limits, "y", None) or (-np.inf, np.inf)
        return (self.centres > low) & (self.centres < high)

    def layers(self, *, striped: bool = True) -> list[Any]:
        """Stripes that lead the eye along the rows, and the axis that names them."""
        middle, half = self.centres[1::2], self.heights[1::2] / 2
        stripes = pd.DataFrame({"ymin": middle - half, "ymax": middle + half})
        return [
            *([geom_stripe(p9.aes(ymin="ymin", ymax="ymax"), stripes)] if striped else []),
            p9.scale_y_continuous(
                breaks=[float(y) for y in self.centres],
                minor_breaks=[],
                labels=self.texts,
                limits=(-self.height, 0),
                expand=(0, 0),
            ),
        ]


def row_layout(
    values: Sequence[Any],
    texts: Sequence[str],
    n_marks: int | Sequence[int] = 1,
    n_closing: int = 0,
    heads: Sequence[bool] = (),
) -> Rows:
    """Rows for values of up to `n_marks` marks, the last `n_closing` of them set apart by a gap."""
    lines = np.array([text.count("\n") + 1 for text in texts])
    heights = np.maximum(_MARK_MM * np.broadcast_to(n_marks, len(texts)), LINE_MM * lines) + _PAD_MM
    gaps = np.zeros(len(texts))
    first = len(texts) - n_closing
    if 0 < first < len(texts):
        gaps[first] = _GAP_MM
    bottoms = np.cumsum(heights + gaps)
    rules = [float(-(bottoms[first] - heights[first] - _GAP_MM / 2))] if gaps.any() else []
    begins = list(heads) or [True] * len(texts)
    return Rows(list(values), list(texts), -(bottoms - heights / 2), heights, rules, begins)


def closing(values: Sequence[Any]) -> int:
    """How many of the values at the end close a figure: "Overall", "Average"."""
    n = 0
    while n < len(values) and str(values[len(values) - 1 - n]) in LAST:
        n += 1
    return n


def dodged(positions: Sequence[int] | np.ndarray, n_marks: int) -> np.ndarray:
    """By how much marks stand above or below the middle of their row, the first on top."""
    return ((n_marks - 1) / 2 - np.asarray(positions, dtype=float)) * _MARK_MM


def place_rows(
    drawing: Drawing,
    order: Callable[[list[Any]], list[Any]] | None = None,
    suffixes: Mapping[Any, str] | None = None,
    chars: float = LABEL_CHARS,
) -> tuple[pd.DataFrame, Rows]:
    """Frame with each mark's height `y` and its row's label `row_label`, and the rows.

    `order` orders the rows before those that close the figure, by default as the labels have them;
    `suffixes` are what follows the label of a value, whose lines have so many `chars`.
    """
    frame, labels, row = drawing.frame, drawing.labels, drawing.row
    values = labels.order(row, frame[row]) if row else [""]
    texts = short_labels(labels, row, values, chars) if row else {"": ""}
    # people are no rank among methods
    apart = [v for v in values if row == "method" and v in drawing.references]
    values = [v for v in values if v not in apart] + apart
    n_last = len(apart) or closing(values)
    first, last = values[: len(values) - n_last], values[len(values) - n_last :]
    values = [*(order(first) if order else first), *last]
    shown = [f"{texts[v]} {(suffixes or {}).get(v, '')}".rstrip() for v in values]
    rows = row_layout(values, shown, len(drawing.methods) if drawing.dodges else 1, n_last)
    y = rows.of(frame[row]) if row else np.repeat(rows.centres, len(frame))
    if drawing.dodges:
        y = y + dodged(frame["method_label"].cat.codes, len(drawing.methods))
    return frame.assign(y=y, row_label=[labels.value(row, v) for v in frame[row]] if row else ""), rows
