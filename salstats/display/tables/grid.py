"""Estimates in cells: what tables of means and of correlations have in common."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_columns, check_count, check_frame
from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table
from salstats.display.tables.marks import numbers
from salstats.display.tables.placement import Placement, Slots
from salstats.display.text.format import MISSING, STYLES, count_text, interval_text
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import TERMS


def check_display(frame: pd.DataFrame, digits: int, style: str, name: str = "estimates") -> pd.DataFrame:
    """A frame with estimates, options checked."""
    check_columns(check_frame(frame, name), ["estimate"], name)
    check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    return frame


def count_nouns(frame: pd.DataFrame) -> tuple[str, str]:
    """What is counted in n and what its missing are."""
    if "n_pairs" in frame.columns:
        return "pair", "incomplete"
    if "n_positive" in frame.columns:
        return "case", "incomplete"
    if "n_repeats" in frame.columns:
        return "repeated case", "scored once"
    # a row of a regression may lack a covariate, too
    return "score", "missing" if "formula" in frame.columns else "undefined"


def interval_texts(frame: pd.DataFrame, digits: int, style: str, stars: Sequence[str] = ()) -> list[str]:
    """Each estimate with its interval and stars."""
    limits = (numbers(frame, c) for c in ("estimate", "conf_low", "conf_high"))
    rows = zip(*limits, stars or [""] * len(frame), strict=True)
    return [interval_text(estimate, low, high, digits, style, star) for estimate, low, high, star in rows]


def value_heading(frame: pd.DataFrame, placement: Placement, labels: Labels) -> str:
    """What a cell gives: "IoU, mean (95% CI)"."""
    term = notes.single(frame, "term")
    known = TERMS.get(str(term))
    what = known.name if known else labels.term(str(term)) if term is not None else "estimate"
    if "metric" in placement.constant:
        what = f"{labels.value('metric', frame['metric'].iloc[0])}, {what}"
    interval = notes.ci_text(frame)
    return f"{what[0].upper()}{what[1:]}{f' ({interval})' if interval else ''}"


def estimates_grid(
    frame: pd.DataFrame,
    slots: Slots,
    labels: Labels,
    heading: str,
    texts: Sequence[str],
    *,
    n: bool = False,
    bold: Collection[int] = (),
    underline: Collection[int] = (),
) -> Table:
    """The table of the estimates' texts in their cells, with counts beside them where asked for."""
    cells = [[texts[i] if i >= 0 else MISSING for i in row] for row in slots.index]
    heads = [
        Column(column[-1], (heading, *column[:-1])) if column else Column(heading) for column in slots.columns
    ]
    places = list(range(len(heads)))
    if n:
        by_cell = np.where(slots.index >= 0, numbers(frame, "n")[slots.index], np.nan)
        cells, heads, places = _with_counts(cells, heads, slots, by_cell, heading, labels.column("n"))
    return Table(
        stubhead=tuple(stub_heading(c, labels) for c in slots.placement.rows) or ("",),
        stub=[row or ("All",) for row in slots.rows],
        columns=heads,
        cells=cells,
        groups=slots.group_labels,
        bold=_marked(slots, bold, places),
        underline=_marked(slots, underline, places),
        apart=slots.apart,
    )


def stub_heading(column: str, labels: Labels) -> str:
    """The heading of row labels."""
    return "Variable" if column in ("x", "y") else labels.column(column)


def _marked(slots: Slots, rows: Collection[int], places: Sequence[int]) -> set[tuple[int, int]]:
    """The cells of rows of the frame."""
    return {(i, places[j]) for (i, j), row in np.ndenumerate(slots.index) if row in rows}


def _with_counts(
    cells: list[list[str]],
    heads: list[Column],
    slots: Slots,
    by_cell: np.ndarray,
    heading: str,
    n_heading: str,
) -> tuple[list[list[str]], list[Column], list[int]]:
    """Cells and headings with n, and where the estimates are now.

    n stands once where each row has one n, else before each column.
    """
    if all(len({v for v in row if v == v}) <= 1 for row in by_cell):
        first = [next((v for v in row if v == v), np.nan) for row in by_cell]
        cells = [[count_text(v), *row] for v, row in zip(first, cells, strict=True)]
        heads = [Column(n_heading, align="right"), *heads]
        return cells, heads, list(range(1, len(heads)))
    columns = [
        column
        for labels in slots.columns
        for column in (Column(n_heading, labels, "right"), Column(heading, labels))
    ]
    cells = [
        [text for pair in zip(map(count_text, counts), row, strict=True) for text in pair]
        for counts, row in zip(by_cell, cells, strict=True)
    ]
    return cells, columns, list(range(1, len(columns), 2))
