"""A table's record as a great-tables object in the look of every table, and read back from it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape, unescape
from itertools import groupby
from typing import Any

import pandas as pd
from great_tables import GT, html, loc, style

from salstats import __version__
from salstats.checks import SalstatsError
from salstats.display.tables import notes
from salstats.display.tables.fitting import on_page
from salstats.display.tables.record import Column, Table, decimal_point_pads, has_counts_as_labels
from salstats.display.tables.rows import rows_of, text_of

#: Rules: thick above and below the table, thin between its parts; the page's colours, so that a table can
#: stand on a dark page.
_THICK, _THIN = "1.5px", "0.75px"
_RULE_ABOVE = f"border-top: {_THIN} solid currentColor;"
_RULES = {
    "column_labels_border_top": _THICK,
    "column_labels_border_bottom": _THIN,
    "table_body_border_bottom": _THICK,
}
_NO_RULES = (
    *("table_border_top", "table_border_bottom", "heading_border_bottom", "column_labels_border_lr"),
    *("table_body_hlines", "table_body_vlines", "table_body_border_top", "row_group_border_top"),
    *("row_group_border_bottom", "stub_border", "source_notes_border_bottom"),
)
#: The look of every table, as great-tables' options.
_LOOK: dict[str, Any] = {
    "table_font_names": ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans", "sans-serif"],
    "table_font_size": "13px",
    "table_background_color": "inherit",
    **{f"{part}_style": "none" for part in _NO_RULES},
    **{f"{part}_style": "solid" for part in _RULES},
    **{f"{part}_color": "currentColor" for part in _RULES},
    **{f"{part}_width": width for part, width in _RULES.items()},
    "heading_align": "left",
    "heading_title_font_size": "14px",
    "heading_title_font_weight": "bold",
    "column_labels_font_weight": "normal",
    "row_group_font_weight": "bold",
    "source_notes_font_size": "11px",
    "row_group_padding": "6px",
    "column_labels_padding": "4px",
    "data_row_padding": "3px",
    "source_notes_padding": "2px",
    **{
        f"{part}_padding_horizontal": "8px"
        for part in ("data_row", "column_labels", "row_group", "heading", "source_notes")
    },
}
#: From this length on a heading may not make its column wide.
_LONG = 30
#: Parts of a great-tables object that are read anew when a record is, or are its look as a whole.
_FOLLOWED = {
    *("_heading", "_source_notes", "_styles"),
    *("_options", "_locale", "_google_font_imports", "_has_built"),
}
#: Styles of great-tables that a record has marks for.
_MARKS = {("weight", "bold"): "bold", ("decorate", "underline"): "underline"}
_FORMATS = ".tex, .docx, .csv"


class PrintedTable(GT):
    """A great-tables object that is printed as text, too."""

    def __repr__(self) -> str:
        """Title, cells below their headings, and notes; of a table that was changed, what says so."""
        try:
            return text_of(rows_of(record_of(self)))
        except SalstatsError as error:
            return f"<GT: {error}>"

    __str__ = __repr__


def build(table: Table, table_id: str) -> GT:
    """The table as a great-tables object that carries its record; one that `turns` fits a page."""
    table = on_page(table)
    below = (*table.notes, _abbreviations(table), table.marks, table.symbols, version_note())
    table = replace(table, notes=tuple(note for note in below if note), symbols="")
    stub = [f"stub{i}" for i in range(len(table.stubhead))]
    names = [f"cell{i}" for i in range(len(table.columns))]
    rows = [[*s, *c] for s, c in zip(table.stub, table.cells, strict=True)]
    frame = pd.DataFrame(rows, columns=[*stub, *names], dtype="object")
    if table.groups:
        frame["group"] = table.groups
    gt: GT = PrintedTable(
        frame,
        rowname_col=stub if len(stub) > 1 else stub[0],
        groupname_col="group" if table.groups else None,
        auto_align=False,
        id=table_id,
    )
    gt = gt.tab_stubhead(list(table.stubhead) if len(stub) > 1 else table.stubhead[0])
    gt = gt.cols_label({n: _literal(c.heading) for n, c in zip(names, table.columns, strict=True)})
    for name, column in zip(names, table.columns, strict=True):
        gt = gt.cols_align("right" if column.align == "right" else "left", columns=name)
    gt = _spanners(gt, table.columns, names)
    gt = _styles(gt, table, stub, names)
    if table.title:
        gt = gt.tab_header(table.title, table.subtitle)
    for note in table.notes:
        gt = gt.tab_source_note(note)
    # long notes wrap at the table's width and do not widen it
    gt = gt.tab_style(style.css("max-width: 0; min-width: 30em;"), loc.source_notes()).tab_options(**_LOOK)
    # great-tables' objects are frozen, and every method hands on what a table holds
    object.__setattr__(gt, "record", table)
    object.__setattr__(gt, "_made", dict(vars(gt)))
    return gt


def record_of(table: GT) -> Table:
    """The record of a table with its heading, notes, bold and underlined cells as they are by now.

    SalstatsError where the package did not make it, or great-tables changed what a record does not hold.
    """
    record = getattr(table, "record", None)
    if record is None:
        raise SalstatsError(
            f"{_FORMATS} are written of the tables that salstats makes; of another great-tables table write "
            ".html or .png, or use its own as_latex()"
        )
    made = vars(table)["_made"]
    marked: dict[str, set[tuple[int, int]]] = {"bold": set(record.bold), "underline": set(record.underline)}
    now = {name: value for name, value in vars(table).items() if name not in _FOLLOWED}
    # great-tables puts equal lists in the place of some
    same = (n for n, v in now.items() if v is made.get(n, v) or (isinstance(v, list) and v == made[n]))
    changed = sorted(set(now).difference(same))
    for info in table._styles[len(made["_styles"]) :]:
        looks = {look for one in info.styles for look in vars(one).items() if look[1] is not None}
        if not looks <= set(_MARKS) or info.rownum is None or not str(info.colname).startswith("cell"):
            changed = [*changed, "_styles"]
            break
        for look in looks:
            marked[_MARKS[look]].add((info.rownum, int(info.colname.removeprefix("cell"))))
    if changed:
        raise SalstatsError(
            f"{_FORMATS} cannot show what was changed of this table with great-tables "
            f"({', '.join(name.strip('_').replace('_', ' ') for name in changed)}); write .html or .png, or "
            "change it by the options of the function that made it"
        )
    return replace(
        record,
        title=plain(table._heading.title),
        subtitle=plain(table._heading.subtitle),
        notes=[plain(note) for note in signed_last(table._source_notes)],
        **marked,
    )


def plain(text: Any) -> str:
    """A title or note as text: of what `md()` and `html()` mark, only raised and lowered signs are told."""
    if text is None or isinstance(text, str):
        return text or ""
    shown = re.sub("<sup>", "^", re.sub("<sub>", "_", text.to_html()))
    without_tags = re.sub("<[^>]*>", "", re.sub(r"<(?:br|/p|/li)\b[^>]*>", " ", shown))
    return " ".join(unescape(without_tags).split())


def version_note() -> str:
    """What made the table."""
    return f"salstats {__version__}."


def signed_last(below: Sequence[Any]) -> list[Any]:
    """Notes with the version that made the table behind those that a user added."""
    return sorted(below, key=lambda note: note == version_note())


def _abbreviations(table: Table) -> str:
    """The abbreviations a table uses."""
    texts = [*table.stubhead, *table.groups, *table.notes, table.marks, table.symbols]
    texts += [label for row in table.stub for label in row]
    texts += [text for column in table.columns for text in (column.heading, *column.spanners)]
    return notes.abbreviation_note(texts)


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


def _is_hyphened(text: str) -> bool:
    """Whether a label is a word such as "Grad-CAM", which stands on one line."""
    return len(text) < _LONG and "-" in text and " " not in text


def _styles(gt: GT, table: Table, stub: Sequence[str], names: Sequence[str]) -> GT:
    """Mark cells, set rows apart, put decimal points below each other, and let long labels wrap."""
    for j, (name, column) in enumerate(zip(names, table.columns, strict=True)):
        looks: dict[str, list[int]] = {}
        for i, pad in enumerate(decimal_point_pads(table, j)):
            said = (
                ("font-weight: bold;", (i, j) in table.bold),
                ("text-decoration: underline;", (i, j) in table.underline),
                (_RULE_ABOVE, i in table.apart),
                (f"text-indent: {len(pad)}ch;", pad),
                ("white-space: nowrap;", " " in table.cells[i][j]),
            )
            looks.setdefault(" ".join(css for css, holds in said if holds), []).append(i)
        for css, rows in looks.items():
            gt = gt.tab_style(style.css(css), loc.body(columns=name, rows=rows)) if css else gt
        if _is_hyphened(column.heading):
            gt = gt.tab_style(style.css("white-space: nowrap;"), loc.column_labels(columns=name))
        if len(column.heading) > _LONG:
            gt = gt.tab_style(style.css("min-width: 9em; max-width: 14em;"), loc.column_labels(columns=name))
    long = [i for i, labels in enumerate(table.stub) if max(map(len, labels)) > 2 * _LONG]
    whole = [i for i, labels in enumerate(table.stub) if _is_hyphened(labels[-1])]
    for css, where in (
        (_RULE_ABOVE, table.apart and loc.stub(rows=sorted(table.apart))),
        # every line of a label is set in
        ("padding-left: 23px;", table.indent and loc.stub(rows=sorted(table.indent))),
        ("vertical-align: top;", len(stub) > 1 and loc.stub()),
        *(
            ("text-align: right;", has_counts_as_labels(table) and where)
            for where in (loc.stub(), loc.stubhead())
        ),
        ("white-space: nowrap;", whole and loc.stub(rows=whole)),
        ("min-width: 14em; max-width: 22em;", long and loc.stub(rows=long)),
    ):
        gt = gt.tab_style(style.css(css), where) if where else gt
    return gt
