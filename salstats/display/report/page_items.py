"""Tables and figures on the report's page, with what can be done with them."""

import base64
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from urllib.parse import quote

from PIL import Image

from salstats.display.export.table_html import html_table
from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.display.report.document import Item
from salstats.display.tables.rows import Rows
from salstats.display.text.format import unbroken
from salstats.display.text.markup import Child, Markup, element, joined, lines

#: A DOI in running text; what follows it may end a sentence or close a bracket.
_DOI = re.compile(r"(?:https://doi\.org/|doi:\s?)(10\.\d{4,9}/[^\s<>\"]*[^\s<>\".,;:)\]])")
_FILE_NAMES = {"csv": "CSV", "html": "HTML", "tex": "TeX", "docx": "Word", "pdf": "PDF", "png": "PNG"}
#: Figures are drawn with the small type of print; on a screen they are shown this much larger.
_ENLARGED = 1.35
_PIXELS_PER_MM = 96 / MM_PER_INCH


def item_anchor(item: Item) -> str:
    """Page-wide name of a table or figure."""
    return f"{'table' if item.is_table else 'figure'}-{item.key}"


def item_block(item: Item) -> Markup:
    """Table or figure with its number, title, caption and tools."""
    shown = _table(item, item.content) if isinstance(item.content, Rows) else _picture(item, item.content)
    return element("div", "\n", lines(shown, _tools(item)), "\n", class_="item")


def item_files(item: Item) -> Markup:
    """Number and title of a table or figure that is only linked, with its files and its Python call."""
    heading = element("h3", element("span", f"{item.number}.", class_="number"), " ", item.title)
    return element("div", "\n", lines(heading, _tools(item)), "\n", id=item_anchor(item), class_="item")


def _caption(item: Item, *texts: str, **attributes: str) -> Markup:
    """Number and title of a table or figure, and what is said below."""
    heading = element("h3", element("span", f"{item.number}.", class_="number"), " ", item.title)
    return element(
        "figcaption", heading, [element("p", linked(text)) for text in texts if text], **attributes
    )


def _label(item: Item) -> str:
    """Number and title of a table or figure as plain text."""
    return f"{item.number}: {item.title}"


def _table(item: Item, rows: Rows) -> Markup:
    """Table under its number and title, in a region of its own that scrolls sideways."""
    anchor = item_anchor(item)
    region = scrolling(Markup(html_table(rows, identifier=anchor)), _label(item))
    caption = _caption(item, rows.subtitle, item.caption)
    return element("figure", lines(caption, region), id=anchor, tabindex=-1)


def _picture(item: Item, pages: Sequence[bytes]) -> Markup:
    """Figure, page by page, with its number, title and caption below it."""
    anchor, shown = item_anchor(item), []
    for number, png in enumerate(pages, 1):
        page = f"{item.number}, page {number} of {len(pages)}" if len(pages) > 1 else ""
        region = element("div", _image(item, png, page), class_="picture")
        shown.append(lines(region, element("p", page, class_="page") if page else None))
    caption = _caption(item, item.caption, id=f"{anchor}-caption")
    return element("figure", lines(*shown, caption), id=anchor, tabindex=-1)


def _image(item: Item, png: bytes, page: str) -> Markup:
    """A page of a figure."""
    width, height, width_mm = _png_size(png)
    shown = width_mm * _PIXELS_PER_MM * _ENLARGED
    alt = item.alt or _label(item)
    return element(
        "img",
        src=f"data:image/png;base64,{base64.b64encode(png).decode()}",
        alt=f"{page}: {alt}" if page else alt,
        width=round(shown),
        height=round(shown * height / width),
        style=f"--mm: {width_mm:.1f}",
    )


def _png_size(png: bytes) -> tuple[int, int, float]:
    """PNG's width and height in pixels and its width in mm."""
    with Image.open(BytesIO(png)) as image:
        dpi, _ = image.info["dpi"]
        return image.width, image.height, image.width / dpi * MM_PER_INCH


def _tools(item: Item) -> Markup:
    """What can be done with a table or figure: copy, its files, its Python call."""
    anchor, buttons = item_anchor(item), list[Markup]()
    if item.place == "file":
        pass
    elif item.is_table:
        buttons = [copy_button(anchor, "Copy table", table=True)]
    else:
        buttons = [copy_button(f"{anchor}-caption", "Copy caption")]
    links = element("span", "Files: ", list(_file_links(item)), class_="files") if item.files else None
    name = f"{anchor}-call"
    code = element("pre", element("code", item.call), id=name)
    copy = copy_button(name, "Copy code")
    call = element("details", element("summary", "Python call"), code, copy, class_="call")
    return lines(tools(buttons, links), call if item.call else None)


def _file_links(item: Item) -> Iterator[Markup]:
    """Links to the files of a table or figure; the frame behind it is named as such."""
    for path in item.files:
        stem, _, suffix = path.rpartition(".")
        name = _FILE_NAMES.get(suffix.lower(), suffix.upper())
        page = re.search(rf"/{re.escape(item.key)}-(\d+)$", stem)
        text = f"unrounded data ({name})" if path.startswith("frames/") else name
        text += f" of page {page[1]}" if page else ""
        yield element("a", text, href=quote(path), aria_label=f"{text}, {item.number}")
        yield Markup(" ")


def linked(text: str) -> Markup:
    """Text with its DOIs as links; no line ends inside "P < 0.001" or "95% CI".

    >>> print(linked("As before (doi:10.1000/182)."))
    As before (<a href="https://doi.org/10.1000/182">doi:10.1000/182</a>).
    """
    text = unbroken(text)
    pieces: list[Child] = []
    end = 0
    for match in _DOI.finditer(text):
        link = element("a", match[0], href=f"https://doi.org/{quote(match[1], safe='/:;()')}")
        pieces += [text[end : match.start()], link]
        end = match.end()
    return joined([*pieces, text[end:]])


def scrolling(content: Markup, label: str) -> Markup:
    """Region that scrolls by itself and that the keyboard can reach."""
    return element("div", content, class_="scroll", role="region", tabindex=0, aria_label=label)


def tools(*children: Child) -> Markup:
    """Row of what can be done with the thing above it."""
    return element("div", *children, class_="tools")


def copy_button(target: str, text: str, *, table: bool = False) -> Markup:
    """Button that puts the text of an element, or a table, on the clipboard."""
    return element("button", text, type="button", class_="scripted", data_copy=target, data_table=table)
