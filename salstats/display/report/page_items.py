"""Tables and figures on the report's page, with their files, calls and buttons."""

import base64
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import NamedTuple
from urllib.parse import quote

from PIL import Image

from salstats.display.export.table_html import html_table
from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.display.report.document import ReportItem
from salstats.display.tables.file_formats import TABLE_FORMATS
from salstats.display.tables.rows import TableRows
from salstats.display.text.format import with_no_break_spaces_where_needed
from salstats.display.text.markup import Child, Markup, element, joined_markup, markup_lines

#: A DOI in running text; what follows it may end a sentence or close a bracket.
_DOI = re.compile(r"(?:https://doi\.org/|doi:\s?)(10\.\d{4,9}/[^\s<>\"]*[^\s<>\".,;:)\]])")
_FILE_FORMATS = {kind.suffix.removeprefix("."): kind.name for kind in TABLE_FORMATS}
#: Enlargement of figures on a screen, as they are drawn with the small type of print.
_ENLARGEMENT = 1.35
#: CSS pixels per millimetre.
_PIXELS_PER_MM = 96 / MM_PER_INCH


def item_anchor(item: ReportItem) -> str:
    """Return the name of a table or figure in the page's addresses."""
    kind = "table" if item.is_table else "figure"
    return f"{kind}-{item.key}"


def item_block(item: ReportItem) -> Markup:
    """Return a table or figure with its number, title, caption and tools."""
    if isinstance(item.content, TableRows):
        return _item_block(item, _table(item, item.content))
    return _item_block(item, _figure(item, item.content))


def _item_block(item: ReportItem, drawing: Markup) -> Markup:
    """Return a drawn table or figure with its tools."""
    return element("div", "\n", markup_lines(drawing, _item_tools(item)), "\n", class_="item")


def _heading(item: ReportItem) -> Markup:
    """Return the number and title of a table or figure."""
    return element("h3", element("span", f"{item.number}.", class_="number"), " ", item.title)


def _caption(item: ReportItem, *texts: str, **attributes: str) -> Markup:
    """Return the number and title of a table or figure, with texts below."""
    paragraphs = [element("p", with_doi_links(text)) for text in texts if text]
    return element("figcaption", _heading(item), paragraphs, **attributes)


def _number_and_title(item: ReportItem) -> str:
    """Return the number and title of a table or figure as plain text."""
    return f"{item.number}: {item.title}"


def _table(item: ReportItem, rows: TableRows) -> Markup:
    """Return a table under its number and title, in a region of its own that scrolls sideways."""
    anchor = item_anchor(item)
    region = scrollable_region(Markup(html_table(rows, identifier=anchor)), _number_and_title(item))
    caption = _caption(item, rows.subtitle, item.caption)
    return element("figure", markup_lines(caption, region), id=anchor, tabindex=-1)


def _figure(item: ReportItem, pages: Sequence[bytes]) -> Markup:
    """Return the pages of a figure; number, title and caption stand below the last."""
    anchor = item_anchor(item)
    blocks: list[Markup] = []
    for number, png in enumerate(pages, 1):
        page_label = ""
        if len(pages) > 1:
            page_label = f"{item.number}, page {number} of {len(pages)}"
        # a phone shows a part of a wide figure, which the keyboard can scroll, too
        label = page_label or _number_and_title(item)
        image = _image(item, png, page_label)
        picture = element("div", image, class_="picture", role="region", tabindex=0, aria_label=label)
        if number == len(pages):
            caption = _caption(item, item.caption, id=f"{anchor}-caption")
        else:
            caption = element("figcaption", element("p", page_label))
        blocks.append(element("figure", markup_lines(picture, caption)))
    return element("div", markup_lines(*blocks), id=anchor, tabindex=-1)


def _image(item: ReportItem, png: bytes, page_label: str) -> Markup:
    """Return a page of a figure."""
    size = _png_size(png)
    screen_width = size.width_mm * _PIXELS_PER_MM * _ENLARGEMENT
    alt = item.alt or _number_and_title(item)
    if page_label:
        alt = f"{page_label}: {alt}"
    return element(
        "img",
        src=f"data:image/png;base64,{base64.b64encode(png).decode()}",
        alt=alt,
        width=round(screen_width),
        height=round(screen_width * size.height / size.width),
        # page.css gives the picture this width on paper
        style=f"--mm: {size.width_mm:.1f}",
    )


class _PngSize(NamedTuple):
    """Width and height of a PNG in pixels, and its width in print."""

    width: int
    height: int
    width_mm: float


def _png_size(png: bytes) -> _PngSize:
    """Return the size of a PNG."""
    with Image.open(BytesIO(png)) as image:
        dpi, _ = image.info["dpi"]
        return _PngSize(image.width, image.height, image.width / dpi * MM_PER_INCH)


def _item_tools(item: ReportItem) -> Markup:
    """Return a button that copies a table or caption, links to files, and the Python call."""
    anchor = item_anchor(item)
    tools: list[Markup] = []
    if item.is_table:
        tools.append(copy_button(anchor, "Copy table", table=True))
    else:
        tools.append(copy_button(f"{anchor}-caption", "Copy caption"))
    if item.files:
        tools.append(element("span", "Files: ", list(_file_links(item)), class_="files"))
    blocks = [toolbar(*tools)]
    if item.call:
        call_id = f"{anchor}-call"
        code = element("pre", element("code", item.call), id=call_id)
        button = copy_button(call_id, "Copy code")
        blocks.append(element("details", element("summary", "Python call"), code, button, class_="call"))
    return markup_lines(*blocks)


def _file_links(item: ReportItem) -> Iterator[Markup]:
    """Yield links to the files of a table or figure, named by their format; frames are unrounded data."""
    for path in item.files:
        stem, _, suffix = path.rpartition(".")
        text = _FILE_FORMATS.get(suffix.lower(), suffix.upper())
        if path.startswith("frames/"):
            text = f"unrounded data ({text})"
        further_page = re.search(rf"/{re.escape(item.key)}-(\d+)$", stem)
        if further_page:
            text += f" of page {further_page[1]}"
        yield element("a", text, href=quote(path), aria_label=f"{text}, {item.number}")
        yield Markup(" ")


def with_doi_links(text: str) -> Markup:
    """Return text with its DOIs as links; no line ends inside "P < 0.001" or "95% CI".

    >>> print(with_doi_links("As before (doi:10.1000/182)."))
    As before (<a href="https://doi.org/10.1000/182">doi:10.1000/182</a>).
    """
    text = with_no_break_spaces_where_needed(text)
    children: list[Child] = []
    end = 0
    for match in _DOI.finditer(text):
        link = element("a", match[0], href=f"https://doi.org/{quote(match[1], safe='/:;()')}")
        children += [text[end : match.start()], link]
        end = match.end()
    return joined_markup([*children, text[end:]])


def scrollable_region(content: Markup, label: str) -> Markup:
    """Return a region that scrolls by itself and that the keyboard can reach."""
    return element("div", content, class_="scroll", role="region", tabindex=0, aria_label=label)


def toolbar(*children: Child) -> Markup:
    """Return a row of buttons and links, which stands below a table, figure or text."""
    return element("div", *children, class_="tools")


def copy_button(target: str, text: str, *, table: bool = False) -> Markup:
    """Return a button that puts the text of an element, or a table, on the clipboard."""
    return element("button", text, type="button", class_="scripted", data_copy=target, data_table=table)
