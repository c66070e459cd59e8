"""A table's texts and marks made into a great-tables object: the look of every table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import Any, Literal

import pandas as pd
from great_tables import GT, html, loc, style

from salstats.display.tables import notes
from salstats.display.text.format import MISSING

#: Ink of rules: thick above and below the table, thin between its parts.
_RULE = {"style": "solid", "color": "currentColor"}
_THICK, _THIN = "1.5px", "0.75px"
_FONTS = ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans", "sans-serif"]
#: From this length on a heading may not make its column wide.
_LONG = 30


@dataclass(frozen=True)
class Column:
    """A column of cells.

    Attributes
    ----------
    heading : str
        Its heading.
    spanners : tuple of str
        Headings above it that it shares with its neighbours, from the outermost; empty text is none.
    align : {"point", "left", "right"}
        `point` puts the decimal points of leading numbers below each other.
    """

    heading: str
    spanners: tuple[str, ...] = ()
    align: Literal["point", "left", "right"] = "point"


@dataclass
class Table:
    """What a table says, in the order it says it.

    Attributes
    ----------
    stubhead : tuple of str
        Heading of each column of row labels.
    stub : list of tuple of str
        Labels of each row; equal ones below each other are merged, but for the last column.
    columns : list of Column
        The columns of cells.
    cells : list of list of str
        Texts by row and column.
    groups : list of str
        Label of each row's group, or empty where rows are not grouped.
    bold, underline : set of (int, int)
        Row and column of marked cells.
    apart : set of int
        Rows with a thin rule above.
    indent : set of int
        Rows whose label is set in from that of the row above them.
    foot : set of int
        Rows of other numbers than those above, which are aligned among themselves.
    notes : list of str
        Paragraphs below the table; empty ones are left out.
    title : str or None
        Heading of the table.
    """

    stubhead: tuple[str, ...]
    stub: list[tuple[str, ...]]
    columns: list[Column]
    cells: list[list[str]]
    groups: list[str] = field(default_factory=list)
    bold: set[tuple[int, int]] = field(default_factory=set)
    underline: set[tuple[int, int]] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)
    indent: set[int] = field(default_factory=set)
    foot: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    title: str | None = None


def build(table: Table, table_id: str) -> GT:
    """Return the table as a great-tables object."""
    stub = [f"stub{i}" for i in range(len(table.stubhead))]
    names = [f"cell{i}" for i in range(len(table.columns))]
    frame = pd.DataFrame([[*s, *c] for s, c in zip(table.stub, table.cells, strict=True)], dtype="object")
    frame.columns = pd.Index([*stub, *names])
    if table.groups:
        frame["group"] = table.groups
    gt = GT(
        frame,
        rowname_col=stub if len(stub) > 1 else stub[0],
        groupname_col="group" if table.groups else None,
        auto_align=False,
        id=table_id,
    )
    gt = gt.tab_stubhead(list(table.stubhead) if len(stub) > 1 else table.stubhead[0])
    gt = gt.cols_label({n: _literal(c.heading) for n, c in zip(names, table.columns, strict=True)})
    for align in ("left", "right"):
        chosen = [
            n for n, c in zip(names, table.columns, strict=True) if (c.align == "right") == (align == "right")
        ]
        gt = gt.cols_align(align, columns=chosen) if chosen else gt
    gt = gt.tab_stub_indent(sorted(table.indent), 3) if table.indent else gt
    gt = _spanners(gt, table.columns, names)
    gt = _styles(gt, table, stub, names)
    if table.title:
        gt = gt.tab_header(table.title)
    for note in (*table.notes, _closing_note(table)):
        gt = gt.tab_source_note(note) if note else gt
    # long notes wrap at the table's width and do not widen it
    return _look(gt.tab_style(style.css("max-width: 0; min-width: 30em;"), loc.source_notes()))


def _closing_note(table: Table) -> str:
    """Return the abbreviations a table uses and the version that made it."""
    texts = [*table.stubhead, *table.groups, *table.notes, *(label for row in table.stub for label in row)]
    texts += [text for column in table.columns for text in (column.heading, *column.spanners)]
    return notes.paragraph(notes.abbreviation_note(texts), notes.version_note())


def _literal(text: str) -> Any:
    """Return a heading as it is to be read: double braces are units to great-tables, and escape nothing."""
    return html(escape(text).replace("{", "&#123;")) if "{{" in text else text


def _spanners(gt: GT, columns: Sequence[Column], names: Sequence[str]) -> GT:
    """Add the headings above columns, the innermost first."""
    for level in range(max((len(c.spanners) for c in columns), default=0) - 1, -1, -1):
        runs = groupby(range(len(columns)), key=lambda i: columns[i].spanners[: level + 1])
        for spanners, run in runs:
            if len(spanners) > level and spanners[level]:
                members = [names[i] for i in run]
                gt = gt.tab_spanner(_literal(spanners[level]), columns=members, id=f"over{level}{members[0]}")
    return gt


def _styles(gt: GT, table: Table, stub: Sequence[str], names: Sequence[str]) -> GT:
    """Mark cells, set rows apart and put decimal points below each other."""
    rule = style.borders(sides="top", weight=_THIN, **_RULE)
    for j, (name, column) in enumerate(zip(names, table.columns, strict=True)):
        texts = [row[j] for row in table.cells]
        shifts = _shifts(texts, table.foot) if column.align == "point" else [0] * len(texts)
        looks: dict[tuple[bool, bool, bool, str], list[int]] = {}
        for i, text in enumerate(texts):
            css = f"text-indent: {shifts[i]}ch;" if shifts[i] else ""
            css += " white-space: nowrap;" if " " in text else ""
            key = ((i, j) in table.bold, (i, j) in table.underline, i in table.apart, css.strip())
            looks.setdefault(key, []).append(i)
        for (bold, underline, apart, css), rows in looks.items():
            text_style = {
                **({"weight": "bold"} if bold else {}),
                **({"decorate": "underline"} if underline else {}),
            }
            styles = [
                *([style.text(**text_style)] if text_style else []),
                *([rule] if apart else []),
                *([style.css(css)] if css else []),
            ]
            gt = gt.tab_style(styles, loc.body(columns=name, rows=rows)) if styles else gt
        if len(column.heading) > _LONG:
            gt = gt.tab_style(style.css("min-width: 9em; max-width: 14em;"), loc.column_labels(columns=name))
    if table.apart:
        gt = gt.tab_style(rule, loc.stub(rows=sorted(table.apart)))
    if len(stub) > 1:
        gt = gt.tab_style(style.css("vertical-align: top;"), loc.stub())
    long = [i for i, labels in enumerate(table.stub) if max(map(len, labels)) > 2 * _LONG]
    if long:
        gt = gt.tab_style(style.css("min-width: 14em; max-width: 22em;"), loc.stub(rows=long))
    return gt


def _shifts(texts: Sequence[str], foot: set[int]) -> list[int]:
    """Return by how many digits' widths each text moves right to put decimal points below each other."""
    shifts = [0] * len(texts)
    for part in (set(range(len(texts))) - foot, foot):
        widths = {i: _whole_part(texts[i]) for i in part if texts[i]}
        for i, width in widths.items():
            shifts[i] = max(widths.values()) - width
    return shifts


def _whole_part(text: str) -> int:
    """Return how many characters of a leading number stand before its decimal point."""
    if text in ("", MISSING):
        return 1
    number = text.split(" ", 1)[0].rstrip("*%")
    return len(number.split(".", 1)[0])


def _look(gt: GT) -> GT:
    """Give a table the house's look: horizontal rules only, small notes, colours of the page it is on."""
    none = {"style": "none"}
    options: dict[str, Any] = {"table_font_names": _FONTS, "table_font_size": "13px"}
    # the page's colours, so that a table can stand on a dark page; great-tables' own are for white ones
    options |= {"table_background_color": "inherit"}
    rules = {
        "table_border_top": none,
        "table_border_bottom": none,
        "heading_border_bottom": none,
        "column_labels_border_top": {**_RULE, "width": _THICK},
        "column_labels_border_bottom": {**_RULE, "width": _THIN},
        "column_labels_border_lr": none,
        "table_body_hlines": none,
        "table_body_vlines": none,
        "table_body_border_top": none,
        "table_body_border_bottom": {**_RULE, "width": _THICK},
        "row_group_border_top": none,
        "row_group_border_bottom": none,
        "stub_border": none,
        "source_notes_border_bottom": none,
    }
    for part, rule in rules.items():
        options |= {f"{part}_{name}": value for name, value in rule.items()}
    options |= {
        "heading_align": "left",
        "heading_title_font_size": "14px",
        "heading_title_font_weight": "bold",
        "column_labels_font_weight": "normal",
        "row_group_font_weight": "bold",
        "row_group_padding": "6px",
        "data_row_padding": "3px",
        "column_labels_padding": "4px",
        "data_row_padding_horizontal": "8px",
        "column_labels_padding_horizontal": "8px",
        "row_group_padding_horizontal": "8px",
        "heading_padding_horizontal": "8px",
        "source_notes_padding_horizontal": "8px",
        "source_notes_font_size": "11px",
        "source_notes_padding": "2px",
    }
    return gt.tab_options(**options)
