"""A table's record as a great-tables object in the look of every table, and read back from it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape, unescape
from itertools import groupby
from typing import Any

import pandas as pd
from great_tables import GT, html, loc, style

from salstats import __version__
from salstats.display.tables import notes
from salstats.display.tables.fitting import on_page
from salstats.display.tables.record import Table, TableColumn, decimal_point_pads, has_counts_as_labels
from salstats.display.tables.rows import plain_text, table_to_rows
from salstats.errors import SalstatsError

#: Thickness of rules above and below the table, and between its head, body and foot. Rules have the colour
#: of the page's text, so that a table can stand on a dark page.
_THICK = "1.5px"
_THIN = "0.75px"
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
_TABLE_OPTIONS: dict[str, Any] = {
    "table_font_names": ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans", "sans-serif"],
    "table_font_size": "13px",
    "table_background_color": "inherit",
    **{f"{rule}_style": "none" for rule in _NO_RULES},
    **{f"{rule}_style": "solid" for rule in _RULES},
    **{f"{rule}_color": "currentColor" for rule in _RULES},
    **{f"{rule}_width": width for rule, width in _RULES.items()},
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
        f"{element}_padding_horizontal": "8px"
        for element in ("data_row", "column_labels", "row_group", "heading", "source_notes")
    },
}
#: Headings of more characters may not make their column wide.
_LONG_HEADING = 30
#: Labels of rows of more characters are wrapped.
_LONG_LABEL = 2 * _LONG_HEADING
#: Parts of a great-tables object that are read again when its record is asked for, or that only change how
#: the table as a whole looks.
_READ_BACK = {
    *("_heading", "_source_notes", "_styles"),
    *("_options", "_locale", "_google_font_imports", "_has_built"),
}
#: Fields of a record that hold cells with a style of great-tables.
_MARKS = {("weight", "bold"): "bold", ("decorate", "underline"): "underline"}
#: Formats that are written from a record.
_RECORD_FORMATS = ".tex, .docx, .csv"
#: Formats that are written from what great-tables shows.
_ANY_TABLE_FORMATS = (".html", ".png")


class PrintedTable(GT):
    """A great-tables object that is printed as text, too."""

    def __repr__(self) -> str:
        """Return title, cells below their headings, and notes; an error's text if the table was changed."""
        try:
            return plain_text(table_to_rows(record_of(self)))
        except SalstatsError as error:
            return f"<GT: {error}>"

    __str__ = __repr__


def great_table(table: Table, table_id: str) -> GT:
    """Return a table as a great-tables object that carries its record, rearranged if it is too wide."""
    table = on_page(table)
    all_notes = (*table.notes, _abbreviations(table), table.mark_note, table.symbol_note, version_note())
    table = replace(table, notes=tuple(note for note in all_notes if note), symbol_note="")
    stub_names = [f"stub{level}" for level in range(len(table.stubhead))]
    cell_names = [f"cell{column}" for column in range(len(table.columns))]
    rows = [[*labels, *cells] for labels, cells in zip(table.stub, table.cells, strict=True)]
    frame = pd.DataFrame(rows, columns=[*stub_names, *cell_names], dtype="object")
    if table.groups:
        frame["group"] = table.groups
    has_levels = len(stub_names) > 1
    gt: GT = PrintedTable(
        frame,
        rowname_col=stub_names if has_levels else stub_names[0],
        groupname_col="group" if table.groups else None,
        auto_align=False,
        id=table_id,
    )
    gt = gt.tab_stubhead(list(table.stubhead) if has_levels else table.stubhead[0])
    headings = {}
    for name, column in zip(cell_names, table.columns, strict=True):
        headings[name] = _literal(column.heading)
    gt = gt.cols_label(headings)
    for name, column in zip(cell_names, table.columns, strict=True):
        gt = gt.cols_align("right" if column.align == "right" else "left", columns=name)
    gt = _with_spanners(gt, table.columns, cell_names)
    gt = _with_column_styles(gt, table, cell_names)
    gt = _with_stub_styles(gt, table)
    if table.title:
        gt = gt.tab_header(table.title, table.subtitle)
    for note in table.notes:
        gt = gt.tab_source_note(note)
    # long notes wrap at the table's width and do not widen it
    gt = gt.tab_style(style.css("max-width: 0; min-width: 30em;"), loc.source_notes()).tab_options(
        **_TABLE_OPTIONS
    )
    # great-tables' objects are frozen, and every method hands on what a table holds
    object.__setattr__(gt, "record", table)
    object.__setattr__(gt, "_made", dict(vars(gt)))
    return gt


def record_of(table: GT) -> Table:
    """Return the record of a table with its current heading, notes, bold and underlined cells.

    SalstatsError where the package did not make it, or great-tables changed what a record does not hold.
    """
    record = getattr(table, "record", None)
    if record is None:
        raise SalstatsError(
            f"{_RECORD_FORMATS} are written of the tables that salstats makes",
            hint="of another great-tables table write .html or .png, or use its own as_latex()",
            choices=_ANY_TABLE_FORMATS,
        )
    # great-tables has no public names for the heading, notes and styles of a table; a table that was changed
    # since has to be found out, or its file would lack the change
    original = vars(table)["_made"]
    changed = _changed_attributes(table, original)
    marks = _added_marks(table._styles[len(original["_styles"]) :])
    if marks is None:
        changed.append("_styles")
        marks = {}
    if changed:
        names = ", ".join(name.strip("_").replace("_", " ") for name in changed)
        raise SalstatsError(
            f"{_RECORD_FORMATS} cannot show what was changed of this table with great-tables ({names})",
            hint="write .html or .png, or change it by the options of the function that made it",
            value=names,
            choices=_ANY_TABLE_FORMATS,
        )
    return replace(
        record,
        title=text_without_markup(table._heading.title),
        subtitle=text_without_markup(table._heading.subtitle),
        notes=[text_without_markup(note) for note in signed_last(table._source_notes)],
        bold=record.bold | marks.get("bold", set()),
        underline=record.underline | marks.get("underline", set()),
    )


def _changed_attributes(table: GT, original: Mapping[str, Any]) -> list[str]:
    """Return the attributes of a table that were changed since it was made, except those read back."""
    changed = []
    for name, value in vars(table).items():
        if name in _READ_BACK:
            continue
        original_value = original.get(name, value)
        # great-tables puts equal lists in the place of some
        is_equal_list = isinstance(value, list) and value == original_value
        if value is not original_value and not is_equal_list:
            changed.append(name)
    return sorted(changed)


def _added_marks(styles: Sequence[Any]) -> dict[str, set[tuple[int, int]]] | None:
    """Return the cells that styles make bold or underlined, None where a style does anything else."""
    marks: dict[str, set[tuple[int, int]]] = {}
    for info in styles:
        is_of_cell = info.rownum is not None and str(info.colname).startswith("cell")
        properties = set()
        for cell_style in info.styles:
            properties |= {item for item in vars(cell_style).items() if item[1] is not None}
        if not is_of_cell or not properties <= set(_MARKS):
            return None
        cell = (info.rownum, int(info.colname.removeprefix("cell")))
        for item in properties:
            marks.setdefault(_MARKS[item], set()).add(cell)
    return marks


def text_without_markup(text: Any) -> str:
    """Return a title or note as text, without the markup of `md()` and `html()`.

    A raised sign stands behind "^", a lowered one behind "_".
    """
    if text is None:
        return ""
    if isinstance(text, str):
        return text
    html_text = text.to_html()
    html_text = html_text.replace("<sub>", "_").replace("<sup>", "^")
    # lines and paragraphs end with a blank
    html_text = re.sub(r"<(?:br|/p|/li)\b[^>]*>", " ", html_text)
    without_tags = re.sub("<[^>]*>", "", html_text)
    return " ".join(unescape(without_tags).split())


def version_note() -> str:
    """Return the note that names the version of the package."""
    return f"salstats {__version__}."


def signed_last(notes_of_table: Sequence[Any]) -> list[Any]:
    """Return notes with the one on the version behind those that a user added."""
    return sorted(notes_of_table, key=lambda note: note == version_note())


def _abbreviations(table: Table) -> str:
    """Return the note on the abbreviations that a table uses."""
    texts = [*table.stubhead, *table.groups, *table.notes, table.mark_note, table.symbol_note]
    for labels in table.stub:
        texts += labels
    for column in table.columns:
        texts += [column.heading, *column.spanners]
    return notes.abbreviation_note(texts)


def _literal(text: str) -> Any:
    """Return a heading that great-tables shows as it is: double braces are units to it and escape nothing."""
    return html(escape(text).replace("{", "&#123;")) if "{{" in text else text


def _with_spanners(gt: GT, columns: Sequence[TableColumn], names: Sequence[str]) -> GT:
    """Return a table with the headings above columns, which are added from the innermost on."""
    n_levels = max((len(column.spanners) for column in columns), default=0)
    for level in reversed(range(n_levels)):
        runs = groupby(range(len(columns)), key=lambda column: columns[column].spanners[: level + 1])
        for spanners, run in runs:
            if len(spanners) > level and spanners[level]:
                members = [names[column] for column in run]
                spanner_id = f"over{level}{members[0]}"
                gt = gt.tab_spanner(_literal(spanners[level]), columns=members, id=spanner_id)
    return gt


def _is_hyphened(text: str) -> bool:
    """Return whether a label is a word such as "Grad-CAM", which stands on one line."""
    return len(text) < _LONG_HEADING and "-" in text and " " not in text


def _with_column_styles(gt: GT, table: Table, names: Sequence[str]) -> GT:
    """Return a table with its marks, its decimal points below each other, and long headings wrapped."""
    for column, name in enumerate(names):
        rows_by_style: dict[str, list[int]] = {}
        for row, pad in enumerate(decimal_point_pads(table, column)):
            rows_by_style.setdefault(_cell_style(table, row, column, pad), []).append(row)
        for css, rows in rows_by_style.items():
            if css:
                gt = gt.tab_style(style.css(css), loc.body(columns=name, rows=rows))
        heading = table.columns[column].heading
        if _is_hyphened(heading):
            gt = gt.tab_style(style.css("white-space: nowrap;"), loc.column_labels(columns=name))
        if len(heading) > _LONG_HEADING:
            gt = gt.tab_style(style.css("min-width: 9em; max-width: 14em;"), loc.column_labels(columns=name))
    return gt


def _cell_style(table: Table, row: int, column: int, pad: str) -> str:
    """Return the CSS of one cell, whose text is moved by the width of a pad."""
    declarations = []
    if (row, column) in table.bold:
        declarations.append("font-weight: bold;")
    if (row, column) in table.underline:
        declarations.append("text-decoration: underline;")
    if row in table.rows_with_rule_above:
        declarations.append(_RULE_ABOVE)
    if pad:
        declarations.append(f"text-indent: {len(pad)}ch;")
    if " " in table.cells[row][column]:
        declarations.append("white-space: nowrap;")
    return " ".join(declarations)


# one list of styles in the order in which they apply; a function for each would hide that order
def _with_stub_styles(gt: GT, table: Table) -> GT:  # noqa: C901
    """Return a table whose labels of rows are set in, aligned and wrapped."""
    long_rows = []
    hyphened_rows = []
    for row, labels in enumerate(table.stub):
        if max(map(len, labels)) > _LONG_LABEL:
            long_rows.append(row)
        if _is_hyphened(labels[-1]):
            hyphened_rows.append(row)
    styles: list[tuple[str, Any]] = []
    if table.rows_with_rule_above:
        styles.append((_RULE_ABOVE, loc.stub(rows=sorted(table.rows_with_rule_above))))
    if table.indented_rows:
        # padding, since every line of a label is set in
        styles.append(("padding-left: 23px;", loc.stub(rows=sorted(table.indented_rows))))
    if len(table.stubhead) > 1:
        styles.append(("vertical-align: top;", loc.stub()))
    if has_counts_as_labels(table):
        styles += [("text-align: right;", loc.stub()), ("text-align: right;", loc.stubhead())]
    if hyphened_rows:
        styles.append(("white-space: nowrap;", loc.stub(rows=hyphened_rows)))
    if long_rows:
        styles.append(("min-width: 14em; max-width: 22em;", loc.stub(rows=long_rows)))
    for css, location in styles:
        gt = gt.tab_style(style.css(css), location)
    return gt
