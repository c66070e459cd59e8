"""Tables and figures on the report's page, with what can be done with them."""

import base64
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from salstats.display.export.table_html import html_table
from salstats.display.export.table_rows import Rows
from salstats.display.export.table_widths import widths_of
from salstats.display.plots.theme import MM_PER_INCH, MM_PER_PT
from salstats.display.report.model import Item
from salstats.display.text.markup import Child, Markup, element, joined, lines

#: A DOI in running text; what follows it may end a sentence or close a bracket.
_DOI = re.compile(r"(?:https://doi\.org/|doi:\s?)(10\.\d{4,9}/[^\s<>\"]*[^\s<>\".,;:)\]])")
_FILE_NAMES = {"csv": "CSV", "html": "HTML", "tex": "TeX", "docx": "Word", "pdf": "PDF", "png": "PNG"}
#: Figures are drawn with the small type of print; on a screen they are shown this much larger.
_ENLARGED = 1.35
_PIXELS_PER_MM = 96 / MM_PER_INCH
_METRES_PER_INCH = MM_PER_INCH / 1000
#: Width in print of a sheet's text in mm, upright and on its side, as far as A4 and Letter both have it.
_UPRIGHT_MM, _SIDEWAYS_MM = 180.0, 245.0
_PRINT_PT, _SMALLEST_PT = 8.0, 5.0


def item_anchor(item: Item) -> str:
    """Page-wide name of a table or figure; both may have the same key."""
    return f"{'table' if item.is_table else 'figure'}-{item.key}"


def item_block(
    item: Item,
    tables: Mapping[str, Rows],
    figures: Mapping[str, bytes],
    files: Mapping[str, Sequence[str]],
) -> Markup:
    """Table or figure with its number, title, caption and tools."""
    shown = _table(item, tables[item.key]) if item.is_table else _picture(item, figures[item.key])
    sheet = _sheet(tables[item.key]) if item.is_table else {}
    content = lines(shown, _tools(item, files.get(item.key, ())))
    return element("div", "\n", content, "\n", **{"class_": "item", **sheet})


def _heading(item: Item) -> Markup:
    """Number and title of a table or figure."""
    return element("h3", element("span", f"{item.number}.", class_="number"), " ", item.title)


def _label(item: Item) -> str:
    """Number and title of a table or figure as plain text."""
    return f"{item.number}: {item.title}"


def _captions(*texts: str) -> list[Markup]:
    """What is said below the title of a table or figure."""
    return [element("p", linked(text)) for text in texts if text]


def _table(item: Item, rows: Rows) -> Markup:
    """Table under its number and title, in a region of its own that scrolls sideways."""
    anchor = item_anchor(item)
    html = Markup(html_table(rows, identifier=anchor))
    caption = element("figcaption", _heading(item), _captions(rows.subtitle, item.caption))
    return element("figure", lines(caption, scrolling(html, _label(item))), id=anchor, tabindex=-1)


def _sheet(rows: Rows) -> dict[str, str]:
    """Cell in which a line may end before an interval, but not inside it."""
    ems = sum(widths_of(rows, breaks=1)[1]) + len(rows.aligns)
    if ems * _PRINT_PT * MM_PER_PT <= _UPRIGHT_MM:
        return {}
    points = max(_SMALLEST_PT, min(_PRINT_PT, _SIDEWAYS_MM / (ems * MM_PER_PT)))
    return {"class_": "item wide", "style": f"--print-type: {points:.1f}pt"}


def _picture(item: Item, png: bytes) -> Markup:
    """Figure with its number, title and caption below it."""
    anchor = item_anchor(item)
    width, height, width_mm = _png_size(png)
    shown = width_mm * _PIXELS_PER_MM * _ENLARGED
    image = element(
        "img",
        src=f"data:image/png;base64,{base64.b64encode(png).decode()}",
        alt=item.alt or _label(item),
        width=round(shown),
        height=round(shown * height / width),
        style=f"--mm: {width_mm:.1f}",
    )
    caption = element("figcaption", _heading(item), _captions(item.caption), id=f"{anchor}-caption")
    region = scrolling(image, _label(item), "scroll picture")
    return element("figure", lines(region, caption), id=anchor, tabindex=-1)


def _png_size(png: bytes) -> tuple[int, int, float]:
    """PNG's width and height in pixels and its width in mm, at 300 dpi where it does not say."""
    width, height = struct.unpack(">II", png[16:24])
    per_metre = 300 / _METRES_PER_INCH
    at = png.find(b"pHYs", 0, png.find(b"IDAT"))
    if at >= 0:
        (per_metre,) = struct.unpack(">I", png[at + 4 : at + 8])
    return width, height, 1000 * width / per_metre


def _tools(item: Item, paths: Sequence[str]) -> Markup:
    """What can be done with a table or figure: copy, enlarge, its files, its Python call."""
    anchor = item_anchor(item)
    if item.is_table:
        buttons = [copy_button(anchor, "Copy table", item.number, table=True)]
    else:
        enlarge = element("button", "Enlarge", type="button", class_="scripted", data_enlarge=anchor)
        buttons = [enlarge, copy_button(f"{anchor}-caption", "Copy caption", f"Caption of {item.number}")]
    links = element("span", "Files: ", list(_file_links(item, paths)), class_="files") if paths else None
    return lines(tools(buttons, links), _call(item) if item.call else None)


def _file_links(item: Item, paths: Sequence[str]) -> Iterator[Markup]:
    """Links to the files of a table or figure; the frame behind it is named as such."""
    for path in paths:
        suffix = path.rpartition(".")[2]
        name = _FILE_NAMES.get(suffix.lower(), suffix.upper())
        text = f"unrounded data ({name})" if path.startswith("frames/") else name
        yield element("a", text, href=quote(path), aria_label=f"{text}, {item.number}")
        yield Markup(" ")


def _call(item: Item) -> Markup:
    """Python call behind a table or figure, folded away."""
    name, label = f"{item_anchor(item)}-call", f"Call of {item.number}"
    return element(
        "details",
        element("summary", "Python call"),
        element("pre", element("code", item.call), id=name),
        copy_button(name, "Copy call", label),
        class_="call",
    )


def linked(text: str) -> Markup:
    """Text with its DOIs as links.

    Examples
    --------
    >>> print(linked("As before (doi:10.1000/182)."))
    As before (<a href="https://doi.org/10.1000/182">doi:10.1000/182</a>).
    """
    pieces: list[Child] = []
    end = 0
    for match in _DOI.finditer(text):
        link = element("a", match[0], href=f"https://doi.org/{quote(match[1], safe='/:;()')}")
        pieces += [text[end : match.start()], link]
        end = match.end()
    return joined([*pieces, text[end:]])


def scrolling(content: Markup, label: str, class_: str = "scroll") -> Markup:
    """Region that scrolls by itself and that the keyboard can reach."""
    return element("div", content, class_=class_, role="region", tabindex=0, aria_label=label)


def tools(*children: Child) -> Markup:
    """Row of what can be done with the thing above it."""
    return element("div", *children, class_="tools")


def copy_button(target: str, text: str, what: str, *, table: bool = False) -> Markup:
    """Button that puts the text of an element, or a table, on the clipboard.

    `what` names it once it is copied.
    """
    return element(
        "button", text, type="button", class_="scripted", data_copy=target, data_what=what, data_table=table
    )
