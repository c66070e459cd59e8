"""Great-tables table to plain rows of cells, read from the HTML that the table itself gives."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from great_tables import GT
from lxml import html as lxml_html

from salstats.checks import SalstatsError
from salstats.display.export.table_css import Declarations, StyleSheet, TextStyle, declarations, hex_colour
from salstats.display.export.table_grid import Align, Cell, Grid, Row, RowKind, Run, Runs, count_columns
from salstats.display.text.markup import UNPRINTABLE

#: Space that HTML folds; a non-breaking space is none of it.
_SPACE = re.compile("[ \t\n\r\f]+")
#: Elements that stand on lines of their own.
_BLOCKS = {"address", "article", "blockquote", "dd", "div", "dl", "dt", "figure", "h1", "h2", "h3", "h4"}
_BLOCKS |= {"h5", "h6", "hr", "li", "ol", "p", "pre", "section", "table", "tr", "ul"}
_SILENT = {"script", "style", "template", "head", "title", "noscript"}
#: A line ends here; a line of its own begins or ends here. No text holds either.
_BREAK, _EDGE = "\x01", "\x02"
_ALIGN: dict[str, Align] = {"right": "right", "end": "right", "center": "center"}
Piece = tuple[str, TextStyle]


def table_html(table: GT) -> str:
    """Return a table's HTML without script; what no file can hold is replaced."""
    if not isinstance(table, GT):
        raise SalstatsError(
            f"only a great-tables table (GT) can be written, not {type(table).__name__}; "
            "a frame is written with write_frame()"
        )
    return UNPRINTABLE.sub("\ufffd", table.opt_interactive(active=False).as_raw_html())


def table_grid(table: GT) -> Grid:
    """Return a great-tables table as plain rows of cells, with everything that its HTML says."""
    return html_grid(table_html(table))


def html_grid(html: str) -> Grid:
    """Return the HTML of a great-tables table as plain rows of cells."""
    parser = lxml_html.HTMLParser(encoding="utf-8", huge_tree=True)
    root = lxml_html.fromstring(html.encode(), parser=parser)
    table = next(root.iter("table"))
    reader = _Reader("\n".join(style.text or "" for style in root.iter("style")))
    style = TextStyle().inside("table", reader.said(table))
    titles = [reader.cells(row, style) for row in _rows(table, "thead") if _has(row, "gt_heading")]
    head = [reader.row(row, style) for row in _rows(table, "thead") if not _has(row, "gt_heading")]
    body = [reader.row(row, style) for row in _rows(table, "tbody")]
    notes = [cell.runs for row in _rows(table, "tfoot") for cell in reader.cells(row, style)]
    head = [row for row in head if row.cells]
    runs = [cell.runs for row in titles for cell in row] + [(), ()]
    return Grid(
        head=tuple(replace(row, kind="spanner") for row in head[:-1])
        + tuple(replace(row, kind="heading") for row in head[-1:]),
        body=tuple(body),
        title=runs[0],
        subtitle=runs[1],
        notes=tuple(note for note in notes if note),
        n_columns=max(count_columns(head), count_columns(body)),
    )


def _rows(table: Any, part: str) -> Iterator[Any]:
    """Return the rows of one part of a table; those of tables inside its cells are not among them."""
    for section in table.iterchildren(part):
        yield from section.iterchildren("tr")


def _has(element: Any, name: str) -> bool:
    """Return whether an element is of a class."""
    return name in (element.get("class") or "").split()


class _Reader:
    """Reads cells under one style sheet."""

    def __init__(self, sheet: str) -> None:
        self._sheet = StyleSheet(sheet)
        self._by_class = lru_cache(maxsize=None)(self._sheet.classes)

    def said(self, element: Any) -> Declarations:
        """Return what is declared for an element, its own `style` before its classes."""
        return {
            **self._by_class(element.get("class") or ""),
            **declarations(element.get("style") or ""),
        }

    def row(self, row: Any, style: TextStyle) -> Row:
        """Return a row of the head or body."""
        kind: RowKind = "body"
        if _has(row, "gt_group_heading_row") or _has(row, "gt_empty_group_heading"):
            kind = "group"
        else:
            for cell in row.iterchildren("td", "th"):
                if _has(cell, "gt_grand_summary_row"):
                    kind = "grand_summary"
                elif _has(cell, "gt_summary_row"):
                    kind = "summary"
        return Row(tuple(self.cells(row, style)), kind)

    def cells(self, row: Any, style: TextStyle) -> list[Cell]:
        """Return the cells of a row."""
        outer = style.inside("tr", self.said(row))
        return [self._cell(cell, outer) for cell in row.iterchildren("td", "th")]

    def _cell(self, element: Any, style: TextStyle) -> Cell:
        """Return one cell; browsers centre a heading and show it in bold unless told otherwise."""
        heads = element.tag == "th"
        default = {"font-weight": "bold", "text-align": "center"} if heads else {}
        said = {**default, **self.said(element)}
        own = declarations(element.get("style") or "")
        indent = re.search(r"\bgt_indent_(\d)", element.get("class") or "")
        return Cell(
            runs=_folded(self._pieces(element, style.inside(element.tag, said))),
            colspan=_span(element, "colspan"),
            rowspan=_span(element, "rowspan"),
            align=_ALIGN.get(said.get("text-align", ""), "left"),
            header=heads,
            indent=int(indent.group(1)) if indent else 0,
            fill=hex_colour(own.get("background-color", own.get("background", ""))),
        )

    def _pieces(self, element: Any, style: TextStyle) -> Iterator[Piece]:
        """Return the text inside an element piece by piece; `style` is the element's."""
        # only a colour that is given to this very element: the style sheet's are the theme's
        colour = declarations(element.get("style") or "").get("color", "inherit")
        if colour != "inherit":
            style = replace(style, run=replace(style.run, color=hex_colour(colour)))
        if element.text:
            yield element.text, style
        for child in element:
            if isinstance(child.tag, str):
                yield from self._child(child, style)
            if child.tail:
                yield child.tail, style

    def _child(self, child: Any, style: TextStyle) -> Iterator[Piece]:
        """Return the text of an element inside a cell."""
        said = self.said(child)
        hidden = said.get("display") == "none" or said.get("visibility") == "hidden"
        if child.tag in _SILENT or hidden or child.get("hidden") is not None:
            return
        inner = style.inside(child.tag, said)
        if child.tag == "br":
            yield _BREAK, style
        elif child.tag in ("img", "svg", "object", "video", "canvas"):
            yield _words_for(child), inner
        else:
            if _has(child, "gt_footnote_marks"):
                raised = said.get("vertical-align") != "baseline"
                inner = replace(inner, run=replace(inner.run, mark=True, superscript=raised))
            edge = _EDGE if child.tag in _BLOCKS else " " if child.tag in ("td", "th") else ""
            if edge:
                yield edge, style
            if child.tag == "li":
                yield _bullet(child), inner
            yield from self._pieces(child, inner)
            if edge:
                yield edge, style


def _span(element: Any, name: str) -> int:
    """Return how many columns or rows a cell takes, at least one."""
    text = element.get(name, "1")
    return max(int(text), 1) if text.isdigit() else 1


def _bullet(item: Any) -> str:
    """Return what stands before an item of a list."""
    parent = item.getparent()
    if parent is None or parent.tag != "ol":
        return "• "
    return f"{int(parent.get('start') or 1) + parent.index(item)}. "


def _words_for(picture: Any) -> str:
    """Return what stands for a picture: its alternative text, its title, its lettering, its file's name."""
    for name in ("alt", "aria-label", "title"):
        if picture.get(name) is not None:
            return str(picture.get(name))
    inside = [text.strip() for part in ("title", "text") for text in _texts(picture, part)]
    source = picture.get("src") or ""
    name = "" if source.startswith("data:") else PurePosixPath(source).name
    return " ".join(text for text in inside if text) or name


def _texts(picture: Any, part: str) -> Iterator[str]:
    """Return the texts of the elements of one name in a picture, whatever their namespace."""
    for element in picture.iter():
        if isinstance(element.tag, str) and element.tag.rpartition("}")[2] == part:
            yield "".join(element.itertext())


def _folded(pieces: Iterator[Piece]) -> Runs:
    """Return pieces of text as runs, white space folded as a browser folds it."""
    runs: list[Run] = []
    for text, style in pieces:
        if text in (_BREAK, _EDGE):
            if runs and not (text == _EDGE and runs[-1].text.endswith("\n")):
                runs[-1] = replace(runs[-1], text=runs[-1].text.rstrip(" ") + "\n")
            continue
        text = UNPRINTABLE.sub("\ufffd", text)
        shown = style.shown(text if style.keeps_space else _SPACE.sub(" ", text))
        blank = not runs or runs[-1].text.endswith((" ", "\n"))
        if blank and not style.keeps_space:
            shown = replace(shown, text=shown.text.lstrip(" "))
        if not shown.text:
            continue
        if runs and replace(runs[-1], text="") == replace(shown, text=""):
            runs[-1] = replace(shown, text=runs[-1].text + shown.text)
        else:
            runs.append(shown)
    return _stripped(runs)


def _stripped(runs: list[Run]) -> Runs:
    """Return runs without blanks around them; a cell that holds only blanks is empty."""
    if not "".join(run.text for run in runs).strip():
        return ()
    while not runs[0].text.strip(" \n"):
        runs = runs[1:]
    while not runs[-1].text.strip(" \n"):
        runs = runs[:-1]
    runs[0] = replace(runs[0], text=runs[0].text.lstrip(" \n"))
    runs[-1] = replace(runs[-1], text=runs[-1].text.rstrip(" \n"))
    return tuple(runs)
