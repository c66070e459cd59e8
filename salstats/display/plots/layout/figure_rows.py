"""Rows of a figure of estimates: their labels, their heights and the positions of marks in them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.estimate_drawing import EstimateDrawing
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.text_columns import geom_stripe
from salstats.display.plots.layout.text_fit import LABEL_CHARS, short_labels
from salstats.display.plots.layout.theme import LINE_MM
from salstats.display.text.labels import SUMMARY_LABELS

#: Height in mm of a mark, room above and below the marks of a row together, and gap before summary rows.
_MARK_MM = 2.6
_PAD_MM = 1.6
_GAP_MM = 1.6


@dataclass(frozen=True)
class FigureRows:
    """Rows of a figure from the top down, on an axis in mm that is 0 at the top and negative below.

    Attributes
    ----------
    values : list
        Value that each row stands for, such as a task.
    texts : list of str
        Label of each row.
    centres : ndarray
        Vertical position of the middle of each row in mm.
    heights : ndarray
        Height of each row in mm.
    rules : list of float
        Vertical positions in mm of the horizontal lines above summary rows: one or none.
    starts_group : list of bool
        Whether each row begins a group of rows; a row that belongs to no group is a group of its own.
    """

    values: list[Any]
    texts: list[str]
    centres: np.ndarray
    heights: np.ndarray
    rules: list[float]
    starts_group: list[bool]

    @property
    def lower_edges(self) -> list[float]:
        """Return the vertical positions of the lower edges of the rows."""
        return [float(edge) for edge in self.centres - self.heights / 2]

    @property
    def group_ends(self) -> list[float]:
        """Return the vertical positions of the lower edges of the groups of rows."""
        # a group ends where the next row starts another one
        is_end = [*self.starts_group[1:], True]
        return [edge for edge, ends_group in zip(self.lower_edges, is_end, strict=True) if ends_group]

    @property
    def height(self) -> float:
        """Return the height of all rows together in mm."""
        return -self.lower_edges[-1]

    def centres_mm_of(self, values: Iterable[Any]) -> np.ndarray:
        """Return the vertical position in mm of the middle of the row of each value."""
        centre_of = dict(zip(self.values, self.centres, strict=True))
        return np.array([centre_of[value] for value in values], dtype=float)

    def is_row_on_page(self, page: Figure) -> np.ndarray:
        """Return whether each row is on a page of the figure, whose vertical axis ends with its rows."""
        coordinates = page.coordinates
        if not isinstance(coordinates, p9.coord_cartesian) or coordinates.limits.y is None:
            # a figure of a single page has no limits
            return np.ones(len(self.values), dtype=bool)
        bottom, top = coordinates.limits.y
        return (self.centres > bottom) & (self.centres < top)

    def axis_and_stripe_layers(self, *, striped: bool = True) -> list[Any]:
        """Return the axis with the labels of the rows, and stripes behind every second row if `striped`."""
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
    """A frame with a row for each mark of a figure, and the rows of the figure.

    The frame has the columns `y`, the vertical position of each mark in mm, and `row_label`, the label of the
    row in which the mark stands.
    """

    frame: pd.DataFrame
    rows: FigureRows


def row_layout(
    values: Sequence[Any],
    texts: Sequence[str],
    n_marks: int | Sequence[int] = 1,
    n_closing_rows: int = 0,
    starts_group: Sequence[bool] = (),
    text_lines: int | Sequence[int] = 1,
) -> FigureRows:
    """Return rows that are as high as their labels and marks.

    Parameters
    ----------
    values : sequence
        Value that each row stands for, from the top down.
    texts : sequence of str
        Label of each row.
    n_marks : int or sequence of int
        Number of marks above each other, in all rows or in each.
    n_closing_rows : int
        Number of summary rows at the end, which a line sets apart from the others.
    starts_group : sequence of bool
        Whether each row begins a group of rows; by default every row does.
    text_lines : int or sequence of int
        Lines of the texts beside the marks, in all rows or in each.
    """
    label_lines = np.array([text.count("\n") + 1 for text in texts])
    n_lines = np.maximum(label_lines, text_lines)
    marks_mm = _MARK_MM * np.broadcast_to(n_marks, len(texts))
    heights = np.maximum(marks_mm, LINE_MM * n_lines) + _PAD_MM
    gaps_above = np.zeros(len(texts))
    first_closing = len(texts) - n_closing_rows
    has_gap = 0 < first_closing < len(texts)
    if has_gap:
        gaps_above[first_closing] = _GAP_MM
    # distances from the top of the figure to the lower edges of the rows
    bottoms = np.cumsum(heights + gaps_above)
    rules = []
    if has_gap:
        top_of_first_closing = bottoms[first_closing] - heights[first_closing]
        rules.append(float(-(top_of_first_closing - _GAP_MM / 2)))
    return FigureRows(
        values=list(values),
        texts=list(texts),
        centres=-(bottoms - heights / 2),
        heights=heights,
        rules=rules,
        starts_group=list(starts_group) or [True] * len(texts),
    )


def n_closing_summaries(values: Sequence[Any]) -> int:
    """Return the number of values at the end that summarise the others: "Overall", "Average"."""
    n = 0
    for value in reversed(values):
        if str(value) not in SUMMARY_LABELS:
            break
        n += 1
    return n


def mark_distances_above_row_middle_mm(
    mark_positions: Sequence[int] | np.ndarray | pd.Series, n_marks: int
) -> np.ndarray:
    """Return the distances in mm of marks above the middle of their row, negative below it.

    `mark_positions` counts the marks of a row from 0, the topmost, to `n_marks` - 1.
    """
    middle_position = (n_marks - 1) / 2
    return (middle_position - np.asarray(mark_positions, dtype=float)) * _MARK_MM


def place_rows(
    drawing: EstimateDrawing,
    sort_values: Callable[[list[Any]], list[Any]] | None = None,
    suffixes: Mapping[Any, str] | None = None,
    line_chars: float = LABEL_CHARS,
) -> PlacedRows:
    """Return the rows of a drawing, and its frame with the position of each mark.

    Parameters
    ----------
    drawing : EstimateDrawing
        Estimates prepared for a figure, with the column that names the rows.
    sort_values : callable, optional
        Function that sorts the values of the rows, apart from summary rows; by default they stand in the
        order of the labels.
    suffixes : mapping, optional
        Text after the label of a row, by the row's value.
    line_chars : float
        Number of characters in a line of a label.
    """
    frame = drawing.frame
    row_column = drawing.row_column
    n_marks = len(drawing.methods) if drawing.dodges else 1
    if row_column is None:
        # all marks stand in one row without a label
        rows = row_layout([""], [""], n_marks)
        y = np.repeat(rows.centres, len(frame))
        row_labels: list[str] | str = ""
    else:
        values = drawing.labels.order(row_column, frame[row_column])
        texts = short_labels(drawing.labels, row_column, values, line_chars)
        values, n_closing = _values_and_n_references_or_summaries(drawing, values, sort_values)
        suffix_of = suffixes or {}
        labels = [f"{texts[value]} {suffix_of.get(value, '')}".rstrip() for value in values]
        rows = row_layout(values, labels, n_marks, n_closing)
        y = rows.centres_mm_of(frame[row_column])
        row_labels = [drawing.labels.value(row_column, value) for value in frame[row_column]]
    if drawing.dodges:
        y = y + mark_distances_above_row_middle_mm(frame["method_label"].cat.codes, n_marks)
    return PlacedRows(frame.assign(y=y, row_label=row_labels), rows)


def _values_and_n_references_or_summaries(
    drawing: EstimateDrawing, values: list[Any], sort_values: Callable[[list[Any]], list[Any]] | None
) -> tuple[list[Any], int]:
    """Return the values of the rows from the top down, and the number of closing rows.

    Closing rows are the reference methods among the rows, or without any, summaries such as "Average";
    `sort_values` does not sort them.
    """
    references = []
    if drawing.row_column == "method":
        references = [value for value in values if value in drawing.references]
    values = [value for value in values if value not in references] + references
    n_closing = len(references) or n_closing_summaries(values)
    n_sorted = len(values) - n_closing
    sorted_values = values[:n_sorted]
    closing_values = values[n_sorted:]
    if sort_values is not None:
        sorted_values = sort_values(sorted_values)
    return [*sorted_values, *closing_values], n_closing
