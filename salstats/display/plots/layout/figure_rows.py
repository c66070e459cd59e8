"""Rows of a figure of estimates: their labels, their heights and the positions of marks in them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.estimate_drawing import Drawing
from salstats.display.plots.layout.text_columns import geom_stripe
from salstats.display.plots.layout.text_fit import LABEL_CHARS, short_labels
from salstats.display.plots.layout.theme import LINE_MM
from salstats.display.text.labels import LAST

#: Height in mm of a mark, room above and below the marks of a row, and gap before the closing rows.
_MARK_MM = 2.6
_PAD_MM = 1.6
_GAP_MM = 1.6


@dataclass(frozen=True)
class Rows:
    """Rows of a figure, from the top down, on an axis in mm that falls from 0.

    Attributes
    ----------
    values : list
        Value that each row stands for.
    texts : list of str
        Label of each row.
    centres, heights : ndarray
        Middle and height of each row in mm.
    rules : list of float
        Positions of the lines above the closing rows.
    heads : list of bool
        Whether each row begins a group of rows or belongs to none.
    """

    values: list[Any]
    texts: list[str]
    centres: np.ndarray
    heights: np.ndarray
    rules: list[float]
    starts_group: list[bool]

    @property
    def edges(self) -> list[float]:
        """Lower edges of the rows."""
        return [float(edge) for edge in self.centres - self.heights / 2]

    @property
    def ends(self) -> list[float]:
        """Lower edges of the groups of rows."""
        next_is_head = [*self.starts_group[1:], True]
        return [edge for edge, is_end in zip(self.edges, next_is_head, strict=True) if is_end]

    @property
    def height(self) -> float:
        """Height of all rows together."""
        return float(self.heights[-1] / 2 - self.centres[-1])

    def centres_of(self, values: Iterable[Any]) -> np.ndarray:
        """Middle of the row of each value."""
        centre_of = dict(zip(self.values, self.centres, strict=True))
        return np.array([centre_of[value] for value in values], dtype=float)

    def are_on(self, page: p9.ggplot) -> np.ndarray:
        """Return whether each row is on a page of the figure."""
        limits = getattr(page.coordinates, "limits", None)
        low, high = getattr(limits, "y", None) or (-np.inf, np.inf)
        return (self.centres > low) & (self.centres < high)

    def layers(self, *, striped: bool = True) -> list[Any]:
        """Stripes behind every second row if `striped`, and the axis with the rows' labels."""
        axis = p9.scale_y_continuous(
            breaks=[float(centre) for centre in self.centres],
            minor_breaks=[],
            labels=self.texts,
            limits=(-self.height, 0),
            expand=(0, 0),
        )
        if not striped:
            return [axis]
        centres = self.centres[1::2]
        half_heights = self.heights[1::2] / 2
        stripes = pd.DataFrame({"ymin": centres - half_heights, "ymax": centres + half_heights})
        return [geom_stripe(p9.aes(ymin="ymin", ymax="ymax"), stripes), axis]


class PlacedRows(NamedTuple):
    """Frame whose marks have a position `y` and a label `row_label`, and the rows that they stand in."""

    frame: pd.DataFrame
    rows: Rows


def row_layout(
    values: Sequence[Any],
    texts: Sequence[str],
    n_marks: int | Sequence[int] = 1,
    n_closing: int = 0,
    starts_group: Sequence[bool] = (),
) -> Rows:
    """Rows with a label in `texts` for each of `values`.

    `n_marks` is the number of marks in each row or in all of them, `n_closing` the number of rows at the end
    that are set apart, and `starts_group` whether each row begins a group, by default all.
    """
    n_lines = np.array([text.count("\n") + 1 for text in texts])
    heights = np.maximum(_MARK_MM * np.broadcast_to(n_marks, len(texts)), LINE_MM * n_lines) + _PAD_MM
    gaps = np.zeros(len(texts))
    first_closing = len(texts) - n_closing
    has_gap = 0 < first_closing < len(texts)
    if has_gap:
        gaps[first_closing] = _GAP_MM
    # distances from the top
    bottoms = np.cumsum(heights + gaps)
    rules = []
    if has_gap:
        rules.append(float(-(bottoms[first_closing] - heights[first_closing] - _GAP_MM / 2)))
    return Rows(
        values=list(values),
        texts=list(texts),
        centres=-(bottoms - heights / 2),
        heights=heights,
        rules=rules,
        starts_group=list(starts_group) or [True] * len(texts),
    )


def count_closing(values: Sequence[Any]) -> int:
    """Number of values at the end that summarise the others: "Overall", "Average"."""
    n = 0
    for value in reversed(values):
        if str(value) not in LAST:
            break
        n += 1
    return n


def dodge_offsets(positions: Sequence[int] | np.ndarray | pd.Series, n_marks: int) -> np.ndarray:
    """Distance in mm of marks above the middle of their row; position 0 is on top."""
    return ((n_marks - 1) / 2 - np.asarray(positions, dtype=float)) * _MARK_MM


def place_rows(
    drawing: Drawing,
    order: Callable[[list[Any]], list[Any]] | None = None,
    suffixes: Mapping[Any, str] | None = None,
    chars: float = LABEL_CHARS,
) -> PlacedRows:
    """Rows of a drawing, and its frame with the position of each mark.

    `order` sorts the values of the rows without the closing ones, by default they are in the labels' order.
    `suffixes` are texts after the labels of values, `chars` is the length of a line of a label.
    """
    frame = drawing.frame
    row = drawing.row
    n_marks = len(drawing.methods) if drawing.dodges else 1
    if row is None:
        rows = row_layout([""], [""], n_marks)
        y = np.repeat(rows.centres, len(frame))
        row_labels: list[str] | str = ""
    else:
        values = drawing.labels.order(row, frame[row])
        texts = short_labels(drawing.labels, row, values, chars)
        values, n_closing = _ordered_values(drawing, values, order)
        suffix_of = suffixes or {}
        labels = [f"{texts[value]} {suffix_of.get(value, '')}".rstrip() for value in values]
        rows = row_layout(values, labels, n_marks, n_closing)
        y = rows.centres_of(frame[row])
        row_labels = [drawing.labels.value(row, value) for value in frame[row]]
    if drawing.dodges:
        y = y + dodge_offsets(frame["method_label"].cat.codes, len(drawing.methods))
    return PlacedRows(frame.assign(y=y, row_label=row_labels), rows)


def _ordered_values(
    drawing: Drawing, values: list[Any], order: Callable[[list[Any]], list[Any]] | None
) -> tuple[list[Any], int]:
    """Values of the rows from the top down, and the number of closing ones."""
    references = []
    if drawing.row == "method":
        # the human benchmark has no place in an order of methods
        references = [value for value in values if value in drawing.references]
    values = [value for value in values if value not in references] + references
    n_closing = len(references) or count_closing(values)
    first = values[: len(values) - n_closing]
    last = values[len(values) - n_closing :]
    if order is not None:
        first = order(first)
    return [*first, *last], n_closing
