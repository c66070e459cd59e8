"""A table as a record of its texts and marks, and as a great-tables object in the look of every table."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from itertools import groupby
from typing import Any, Literal

import pandas as pd
from great_tables import GT, html, loc, style

from salstats.display.tables import notes

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


@dataclass(frozen=True)
class Table:
    """What a table says, in the order it says it; every format is written from this.

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
    notes : sequence of str
        Paragraphs below the table; empty ones are left out.
    title, subtitle : str or None
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
    notes: Sequence[str] = ()
    title: str | None = None
    subtitle: str | None = None


class PaperTable(GT):
    """A great-tables table that carries the record it was made from, title and notes kept up to date."""

    record: Table
    #: What great-tables held when the table was made, by its own names.
    _made: dict[str, Any]
    #: Parts with raised or lowered text, which would read otherwise in plain text.
    _marked: tuple[str, ...] = ()

    def tab_header(self, title: Any, subtitle: Any = None, *args: Any, **kwargs: Any) -> "PaperTable":
        """The table with another heading."""
        headed = replace(self.record, title=_plain(title), subtitle=_plain(subtitle))
        made = _carrying(super().tab_header(title, subtitle, *args, **kwargs), headed)
        return _with_marks(made, (*self._marks_but("heading"), *_marks_in("heading", title, subtitle)))

    def tab_source_note(self, source_note: Any) -> "PaperTable":
        """The table with one more note below it."""
        noted = replace(self.record, notes=(*self.record.notes, _plain(source_note)))
        made = _carrying(super().tab_source_note(source_note), noted)
        return _with_marks(made, (*self._marked, *_marks_in("source notes", source_note)))

    def rm_header(self) -> "PaperTable":
        """The table without its heading."""
        made = _carrying(super().rm_header(), replace(self.record, title=None, subtitle=None))
        return _with_marks(made, self._marks_but("heading"))

    def rm_source_notes(self) -> "PaperTable":
        """The table without its notes."""
        made = _carrying(super().rm_source_notes(), replace(self.record, notes=()))
        return _with_marks(made, self._marks_but("source notes"))

    def _marks_but(self, part: str) -> tuple[str, ...]:
        """Parts with marks, without one."""
        return tuple(name for name in self._marked if name != part)

    def tab_style(self, style: Any, locations: Any) -> "PaperTable":
        """The table with cells in another style; the record takes what is bold or underlined."""
        styled = super().tab_style(style, locations)
        marks = dict(
            mark for one in (style if isinstance(style, list) else [style]) for mark in _marks_of(one)
        )
        cells = {(info.rownum, str(info.colname)) for info in styled._styles[len(self._styles) :]}
        in_body = all(row is not None and name.startswith("cell") for row, name in cells)
        if not in_body or not set(marks.items()) <= set(_MARKS):
            return styled
        places = {(int(row or 0), int(name.removeprefix("cell"))) for row, name in cells}
        marked = {_MARKS[mark]: getattr(self.record, _MARKS[mark]) | places for mark in marks.items()}
        if self._made["_styles"] is self._styles:
            object.__setattr__(styled, "_made", {**self._made, "_styles": styled._styles})
        return _carrying(styled, replace(self.record, **marked))

    def beyond_record(self) -> list[str]:
        """What great-tables' methods changed since that the record does not hold: "styles"."""
        changed = [
            name.strip("_").replace("_", " ")
            for name, value in self._made.items()
            if name not in _LOOK_OR_RECORD and not _same(value, vars(self)[name])
        ]
        return [*changed, *(f"raised or lowered text in the {part}" for part in dict.fromkeys(self._marked))]


#: Parts of a great-tables object that its record holds too, or that are its look as a whole.
_LOOK_OR_RECORD = {"_heading", "_source_notes", "_options", "_locale", "_google_font_imports", "_has_built"}


def _same(one: Any, other: Any) -> bool:
    """Whether a part of a great-tables object is the one it was."""
    return one is other or (isinstance(one, list) and one == other)


#: Styles of great-tables that the record has marks for.
_MARKS = {("weight", "bold"): "bold", ("decorate", "underline"): "underline"}


def _marks_of(style: Any) -> list[tuple[str, Any]]:
    """What a style of great-tables sets, and to what."""
    return [(name, value) for name, value in vars(style).items() if value is not None]


def _carrying(table: PaperTable, record: Table) -> PaperTable:
    """A table just made, with its record."""
    # great-tables' objects are frozen
    object.__setattr__(table, "record", record)
    return table


def _with_marks(table: PaperTable, marked: tuple[str, ...]) -> PaperTable:
    """A table that knows which of its parts have marks."""
    object.__setattr__(table, "_marked", marked)
    return table


def _marks_in(part: str, *texts: Any) -> list[str]:
    """The part, where `md()` or `html()` raised or lowered text; emphasis may go, "10 to the 2" may not."""
    rendered = (text.to_html() for text in texts if not (text is None or isinstance(text, str)))
    return [part] if any(re.search(r"<su[bp]\b", html) for html in rendered) else []


def _plain(text: Any) -> str:
    """A title or note as text, what `md()` and `html()` mark in it left out."""
    if text is None or isinstance(text, str):
        return text or ""
    without_tags = re.sub("<[^>]*>", "", re.sub(r"<(?:br|/p|/li)\b[^>]*>", " ", text.to_html()))
    return " ".join(unescape(without_tags).split())


def build(table: Table, table_id: str) -> PaperTable:
    """The table as a great-tables object."""
    table = replace(table, notes=tuple(note for note in (*table.notes, _closing_note(table)) if note))
    stub = [f"stub{i}" for i in range(len(table.stubhead))]
    names = [f"cell{i}" for i in range(len(table.columns))]
    frame = pd.DataFrame([[*s, *c] for s, c in zip(table.stub, table.cells, strict=True)], dtype="object")
    frame.columns = pd.Index([*stub, *names])
    if table.groups:
        frame["group"] = table.groups
    gt: GT = GT(
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
        gt = gt.tab_header(table.title, table.subtitle)
    for note in table.notes:
        gt = gt.tab_source_note(note)
    # long notes wrap at the table's width and do not widen it
    gt = _look(gt.tab_style(style.css("max-width: 0; min-width: 30em;"), loc.source_notes()))
    made = PaperTable.__new__(PaperTable)
    for name, value in (*vars(gt).items(), ("_made", dict(vars(gt)))):
        object.__setattr__(made, name, value)
    return _carrying(made, table)


def _closing_note(table: Table) -> str:
    """The abbreviations a table uses and the version that made it."""
    texts = [*table.stubhead, *table.groups, *table.notes, *(label for row in table.stub for label in row)]
    texts += [text for column in table.columns for text in (column.heading, *column.spanners)]
    return notes.paragraph(notes.abbreviation_note(texts), notes.version_note())


def _literal(text: str) -> Any:
    """A heading as it is to be read: double braces are units to great-tables, and escape nothing."""
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
        shifts = [len(pad) for pad in point_pads(table, j)]
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


def point_pads(table: Table, column: int) -> list[str]:
    """What each text of a column lacks in front to have its decimal point below the others'."""
    texts = [row[column] for row in table.cells]
    pads = [""] * len(texts)
    if table.columns[column].align != "point":
        return pads
    for part in (set(range(len(texts))) - table.foot, table.foot):
        whole = {i: _whole_part(texts[i]) for i in sorted(part) if texts[i]}
        widest = max(whole.values(), key=len, default="")
        for i, own in whole.items():
            pads[i] = widest[: len(widest) - len(own)]
    return pads


def _whole_part(text: str) -> str:
    """What of a leading number stands before its decimal point."""
    return text.split(" ", 1)[0].rstrip("*%").split(".", 1)[0]


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
