"""A table's record as a great-tables object in the look of every table."""

import copy
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape, unescape
from itertools import groupby, product
from typing import Any

import pandas as pd
from great_tables import GT, html, loc, style

from salstats import __version__
from salstats.display.tables import notes
from salstats.display.tables.file_formats import ANY_TABLE_SUFFIXES, RECORD_SUFFIXES
from salstats.display.tables.fitting import rearranged_to_fit_page
from salstats.display.tables.record import Table, TableColumn, decimal_point_pads, has_whole_number_row_labels
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
_LONG_HEADING_LENGTH = 30
#: Labels of rows of more characters are wrapped.
_LONG_LABEL_LENGTH = 2 * _LONG_HEADING_LENGTH
#: Formats that are written from a record, and from what great-tables shows, as messages name them.
_RECORD_FORMATS = ", ".join(RECORD_SUFFIXES)
_ANY_TABLE_FORMATS = " or ".join(ANY_TABLE_SUFFIXES)
#: Styles of text that a record holds: properties of great-tables with their values, which name its fields.
_RECORDED_STYLES = {"weight": "bold", "decorate": "underline"}
#: Beginnings of the names of great-tables' methods that change texts, columns, rows or their marks.
_CHANGING_METHODS = ("cols_", "data_", "fmt", "grand_", "rm_", "row_", "sub_", "summary_", "tab_", "text_")


class PrintedTable(GT):
    """A great-tables object that carries the record of its texts and marks, and is printed as text.

    The record follows what a user adds by `tab_header`, `tab_source_note` and `tab_style`.

    Attributes
    ----------
    record : Table
        Texts and marks of the table.
    source_notes : tuple of str or great_tables.md or great_tables.html
        Notes as they were given, the one on the version last.
    unrecorded_changes : tuple of str
        Names of the methods of great-tables that changed what a record does not hold, such as colours.
    """

    record: Table = Table(stubhead=(), stub=[], columns=[], cells=[])
    source_notes: tuple[Any, ...] = ()
    unrecorded_changes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return title, cells below their headings, and notes; the error that `current_record_of` raises."""
        try:
            return plain_text(table_to_rows(current_record_of(self)))
        except SalstatsError as error:
            return f"<GT: {error}>"

    __str__ = __repr__

    def tab_header(
        self, title: Any, subtitle: Any = None, preheader: str | list[str] | None = None
    ) -> "PrintedTable":
        """Return the table with a title and a subtitle."""
        titled = GT.tab_header(self, title, subtitle, preheader)
        record = replace(self.record, title=text_of_md_or_html(title), subtitle=text_of_md_or_html(subtitle))
        return _copy_with_attributes(titled, record=record)

    def rm_header(self) -> "PrintedTable":
        """Return the table without title and subtitle."""
        untitled = GT.rm_header(self)
        return _copy_with_attributes(untitled, record=replace(self.record, title=None, subtitle=None))

    def tab_source_note(self, source_note: Any) -> "PrintedTable":
        """Return the table with a further note, above the one on the version."""
        return _with_notes_replaced(self, sorted([*self.source_notes, source_note], key=_is_version_note))

    def rm_source_notes(self) -> "PrintedTable":
        """Return the table without notes."""
        return _with_notes_replaced(self, [])

    def tab_style(self, style: Any, locations: Any) -> "PrintedTable":
        """Return the table with styled cells; the record holds which cells are bold or underlined."""
        styled = GT.tab_style(self, style, locations)
        marks = _marks_unless_other_styles(style)
        cells = _body_cells(locations, self.record)
        if marks is None or cells is None:
            return _copy_with_attributes(styled, unrecorded_changes=(*self.unrecorded_changes, "tab_style"))
        record = self.record
        if "bold" in marks:
            record = replace(record, bold=record.bold | cells)
        if "underline" in marks:
            record = replace(record, underline=record.underline | cells)
        return _copy_with_attributes(styled, record=record)


def _method_noting_unrecorded_change(name: str) -> Callable[..., PrintedTable]:
    """Return a method of great-tables whose result has its name among the `unrecorded_changes`."""
    method = getattr(GT, name)

    @functools.wraps(method)
    def change(table: PrintedTable, *args: Any, **kwargs: Any) -> PrintedTable:
        changed = method(table, *args, **kwargs)
        return _copy_with_attributes(changed, unrecorded_changes=(*table.unrecorded_changes, name))

    return change


# all methods of great-tables that change a table, except those above, note that the record does not hold it
for _name in dir(GT):
    if _name.startswith(_CHANGING_METHODS) and _name not in (*vars(PrintedTable), "tab_options"):
        setattr(PrintedTable, _name, _method_noting_unrecorded_change(_name))


def _copy_with_attributes(table: Any, **attributes: Any) -> PrintedTable:
    """Return a copy of a printed table with other values of some attributes."""
    changed: PrintedTable = copy.copy(table)
    for name, value in attributes.items():
        # great-tables' objects are frozen
        object.__setattr__(changed, name, value)
    return changed


def _with_notes_replaced(table: PrintedTable, source_notes: Sequence[Any]) -> PrintedTable:
    """Return the table with `source_notes` in place of its source notes."""
    # GT's own methods, since those of PrintedTable would call this function
    changed: GT = GT.rm_source_notes(table)
    for note in source_notes:
        changed = GT.tab_source_note(changed, note)
    record = replace(table.record, notes=[text_of_md_or_html(note) for note in source_notes])
    return _copy_with_attributes(changed, record=record, source_notes=tuple(source_notes))


def _marks_unless_other_styles(styles: Any) -> set[str] | None:
    """Return the marks "bold" and "underline" that styles make, None where a style does anything else."""
    marks = set()
    cell_styles = styles if isinstance(styles, list) else [styles]
    for cell_style in cell_styles:
        for name, value in vars(cell_style).items():
            if value is None:
                continue
            if _RECORDED_STYLES.get(name) != value:
                return None
            marks.add(value)
    return marks


def _body_cells(locations: Any, table: Table) -> set[tuple[int, int]] | None:
    """Return row and column of the body cells that names or numbers select, None for other locations."""
    row_names = [labels[-1] for labels in table.stub]
    column_names = [*_stub_column_names(table), *_cell_column_names(table)]
    n_stub = len(table.stubhead)
    cells = set()
    location_list = locations if isinstance(locations, list) else [locations]
    for location in location_list:
        if not isinstance(location, loc.body) or location.mask is not None:
            return None
        rows = _positions_if_numbers_or_names(location.rows, row_names)
        columns = _positions_if_numbers_or_names(location.columns, column_names)
        if rows is None or columns is None:
            return None
        # the first columns hold labels of rows, which are not cells of the record
        cell_columns = [column - n_stub for column in columns if column >= n_stub]
        cells |= set(product(rows, cell_columns))
    return cells


def _positions_if_numbers_or_names(selection: Any, names: Sequence[str]) -> list[int] | None:
    """Return the positions that great-tables selects by numbers or names, all of them without a selection.

    None means that the selection is of another kind.
    """
    positions = range(len(names))
    if selection is None:
        return list(positions)
    selected: list[int] = []
    items = selection if isinstance(selection, list) else [selection]
    for item in items:
        if isinstance(item, str):
            selected += [position for position in positions if names[position] == item]
        elif isinstance(item, int):
            position = item
            if item < 0:
                # counted from the last one
                position = len(names) + item
            if position in positions:
                selected.append(position)
        else:
            return None
    return selected


def _stub_column_names(table: Table) -> list[str]:
    """Return the names of the columns with labels of rows in the frame that great-tables shows."""
    return [f"stub{level}" for level in range(len(table.stubhead))]


def _cell_column_names(table: Table) -> list[str]:
    """Return the names of the columns of cells in the frame that great-tables shows."""
    return [f"cell{column}" for column in range(len(table.columns))]


def great_table(table: Table, table_id: str) -> GT:
    """Return a table as a great-tables object that carries its record.

    Tables wider than a page are rearranged; notes on abbreviations and on the version are added.
    """
    table = rearranged_to_fit_page(table)
    all_notes = (*table.notes, _abbreviations_note(table), table.mark_note, table.symbol_note, version_note())
    table = replace(table, notes=[note for note in all_notes if note], symbol_note="")
    stub_names = _stub_column_names(table)
    cell_names = _cell_column_names(table)
    rows = [[*labels, *cells] for labels, cells in zip(table.stub, table.cells, strict=True)]
    frame = pd.DataFrame(rows, columns=[*stub_names, *cell_names], dtype="object")
    if table.groups:
        frame["group"] = table.groups
    # great-tables takes one name, or a list of several
    row_names: str | list[str] = stub_names[0]
    stubhead: str | list[str] = table.stubhead[0]
    if len(stub_names) > 1:
        row_names = stub_names
        stubhead = list(table.stubhead)
    gt: GT = PrintedTable(
        frame,
        rowname_col=row_names,
        groupname_col="group" if table.groups else None,
        auto_align=False,
        id=table_id,
    )
    gt = gt.tab_stubhead(stubhead)
    headings = {}
    for name, column in zip(cell_names, table.columns, strict=True):
        headings[name] = _heading_shown_as_it_is(column.heading)
    gt = gt.cols_label(headings)
    for name, column in zip(cell_names, table.columns, strict=True):
        # decimal points are aligned by pads at the left
        align = "right" if column.align == "right" else "left"
        gt = gt.cols_align(align, columns=name)
    gt = _with_spanners(gt, table.columns, cell_names)
    gt = _with_cell_and_heading_styles(gt, table, cell_names)
    gt = _with_stub_styles(gt, table)
    if table.title:
        gt = gt.tab_header(table.title, table.subtitle)
    # long notes wrap at the table's width and do not widen it
    gt = gt.tab_style(style.css("max-width: 0; min-width: 30em;"), loc.source_notes()).tab_options(
        **_TABLE_OPTIONS
    )
    # what the methods above did is in the record already
    complete = _copy_with_attributes(gt, record=table, unrecorded_changes=())
    return _with_notes_replaced(complete, table.notes)


def current_record_of(table: GT) -> Table:
    """Return the record of a table with its current heading, notes, bold and underlined cells.

    Raise SalstatsError where the package did not make it, or great-tables changed anything else of it.
    """
    if not isinstance(table, PrintedTable):
        raise SalstatsError(
            f"{_RECORD_FORMATS} are written of the tables that salstats makes",
            hint=f"of another great-tables table write {_ANY_TABLE_FORMATS}, or use its own as_latex()",
            choices=ANY_TABLE_SUFFIXES,
        )
    if table.unrecorded_changes:
        names = ", ".join(dict.fromkeys(table.unrecorded_changes))
        raise SalstatsError(
            f"{_RECORD_FORMATS} cannot show what great-tables changed of this table ({names})",
            hint=f"write {_ANY_TABLE_FORMATS}, or change it by the options of the function that made it",
            value=names,
            choices=ANY_TABLE_SUFFIXES,
        )
    return table.record


def text_of_md_or_html(text: Any) -> str:
    """Return a title or note as text, without the markup of `md()` and `html()`."""
    if text is None:
        return ""
    if isinstance(text, str):
        return text
    return text_of_html(text.to_html())


def text_of_html(html_text: str) -> str:
    """Return the text of HTML, with "^" before superscripts and "_" before subscripts."""
    html_text = html_text.replace("<sub>", "_").replace("<sup>", "^")
    # lines and paragraphs end with a space
    html_text = re.sub(r"<(?:br|/p|/li)\b[^>]*>", " ", html_text)
    without_tags = re.sub("<[^>]*>", "", html_text)
    return " ".join(unescape(without_tags).split())


def version_note() -> str:
    """Return the note that names the version of the package."""
    return f"salstats {__version__}."


def _is_version_note(note: Any) -> bool:
    """Return whether a note is the one on the version."""
    return bool(note == version_note())


def _abbreviations_note(table: Table) -> str:
    """Return the note on the abbreviations that a table uses."""
    texts = [*table.stubhead, *table.groups, *table.notes, table.mark_note, table.symbol_note]
    for labels in table.stub:
        texts += labels
    for column in table.columns:
        texts += [column.heading, *column.spanners]
    return notes.abbreviation_note(texts)


def _heading_shown_as_it_is(text: str) -> Any:
    """Return a heading that great-tables shows as it is.

    great-tables reads text in double braces as units, but not if entities stand for the braces in HTML.
    """
    if "{{" not in text:
        return text
    return html(escape(text).replace("{", "&#123;"))


def _with_spanners(gt: GT, columns: Sequence[TableColumn], names: Sequence[str]) -> GT:
    """Return a table with the headings that columns share, added from the innermost to the outermost."""
    n_levels = max((len(column.spanners) for column in columns), default=0)
    for level in reversed(range(n_levels)):
        runs = groupby(range(len(columns)), key=lambda position: columns[position].spanners[: level + 1])
        for spanners, run in runs:
            if len(spanners) > level and spanners[level]:
                members = [names[position] for position in run]
                spanner_id = f"over{level}{members[0]}"
                gt = gt.tab_spanner(_heading_shown_as_it_is(spanners[level]), columns=members, id=spanner_id)
    return gt


def _is_hyphenated_word(text: str) -> bool:
    """Return whether a label is a word such as "Grad-CAM", which stands on one line."""
    return len(text) < _LONG_HEADING_LENGTH and "-" in text and " " not in text


def _with_cell_and_heading_styles(gt: GT, table: Table, names: Sequence[str]) -> GT:
    """Return a table with its marks, its decimal points below each other, and long headings wrapped."""
    for column, name in enumerate(names):
        rows_by_style: dict[str, list[int]] = {}
        for row, pad in enumerate(decimal_point_pads(table, column)):
            rows_by_style.setdefault(_cell_style(table, row, column, pad), []).append(row)
        for css, rows in rows_by_style.items():
            if css:
                gt = gt.tab_style(style.css(css), loc.body(columns=name, rows=rows))
        heading = table.columns[column].heading
        if _is_hyphenated_word(heading):
            gt = gt.tab_style(style.css("white-space: nowrap;"), loc.column_labels(columns=name))
        if len(heading) > _LONG_HEADING_LENGTH:
            gt = gt.tab_style(style.css("min-width: 9em; max-width: 14em;"), loc.column_labels(columns=name))
    return gt


def _cell_style(table: Table, row: int, column: int, pad: str) -> str:
    """Return the CSS of one cell, whose text is indented by the width of a pad."""
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
    """Return a table whose labels of rows are indented, aligned and wrapped."""
    long_rows = []
    hyphenated_rows = []
    for row, labels in enumerate(table.stub):
        if max(map(len, labels)) > _LONG_LABEL_LENGTH:
            long_rows.append(row)
        if _is_hyphenated_word(labels[-1]):
            hyphenated_rows.append(row)
    styles: list[tuple[str, Any]] = []
    if table.rows_with_rule_above:
        styles.append((_RULE_ABOVE, loc.stub(rows=sorted(table.rows_with_rule_above))))
    if table.indented_rows:
        # padding, since every line of a label is indented
        styles.append(("padding-left: 23px;", loc.stub(rows=sorted(table.indented_rows))))
    if len(table.stubhead) > 1:
        styles.append(("vertical-align: top;", loc.stub()))
    if has_whole_number_row_labels(table):
        styles += [("text-align: right;", loc.stub()), ("text-align: right;", loc.stubhead())]
    if hyphenated_rows:
        styles.append(("white-space: nowrap;", loc.stub(rows=hyphenated_rows)))
    if long_rows:
        styles.append(("min-width: 14em; max-width: 22em;", loc.stub(rows=long_rows)))
    for css, location in styles:
        gt = gt.tab_style(style.css(css), location)
    return gt
