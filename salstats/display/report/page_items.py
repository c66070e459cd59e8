"""Tables and figures on the report's page, with what can be done with them."""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from urllib.parse import quote

from PIL import Image

from salstats.display.export.table_html import html_table
from salstats.display.export.table_rows import Rows
from salstats.display.export.table_widths import Paper, Plan, parts_of, widths_of
from salstats.display.plots.theme import MM_PER_INCH
from salstats.display.report.model import Item
from salstats.display.text.format import unbroken
from salstats.display.text.markup import Child, Markup, element, joined, lines

#: A DOI in running text; what follows it may end a sentence or close a bracket.
_DOI = re.compile(r"(?:https://doi\.org/|doi:\s?)(10\.\d{4,9}/[^\s<>\"]*[^\s<>\".,;:)\]])")
_FILE_NAMES = {"csv": "CSV", "html": "HTML", "tex": "TeX", "docx": "Word", "pdf": "PDF", "png": "PNG"}
#: Figures are drawn with the small type of print; on a screen they are shown this much larger.
_ENLARGED = 1.35
_PIXELS_PER_MM = 96 / MM_PER_INCH
#: Width in print of a sheet's text in points, upright (180 mm) and on its side (245 mm), as far as A4 and
#: Letter both have it; the space at each side of a column by size of type; how much wider than it is
#: measured type may be.
_PAPER = Paper((510.0, 694.0), {9: 4.5, 8: 4.0, 7: 3.5}, 1.05)
#: A table of more lines, about half a sheet, begins where there is room and goes on on the next sheet.
_LONG = 24
#: Groups of so many rows stand whole on a sheet; larger ones are printed each under a head of its own.
_WHOLE = 15


def item_anchor(item: Item) -> str:
    """Page-wide name of a table or figure."""
    return f"{'table' if item.is_table else 'figure'}-{item.key}"


def item_block(item: Item) -> Markup:
    """Table or figure with its number, title, caption and tools."""
    shown = _table(item, item.content) if isinstance(item.content, Rows) else _picture(item, item.content)
    return element("div", "\n", lines(shown, _tools(item)), "\n", class_="item")


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
    """Table under its number and title, in a region of its own that scrolls sideways.

    On paper it is set as in a document, across the sheet where it is too wide for it; one that is still too
    wide is printed in parts.
    """
    anchor = item_anchor(item)
    region = scrolling(Markup(html_table(rows, identifier=anchor)), _label(item))
    caption = _caption(item, rows.subtitle, item.caption)
    parts = parts_of(rows, _PAPER)
    cut = [own for part, _ in parts for own in _printed_groups(part)]
    printed = None
    if len(cut) > 1:
        tables = (html_table(part, identifier=f"{anchor}-{i}") for i, part in enumerate(cut, 1))
        printed = element(
            "div", lines(*(element("div", Markup(t), class_="part") for t in tables)), class_="parts"
        )
    kinds = {
        "wide": parts[0][1].turned,
        "tight": any(_is_tight(*part) for part in parts),
        "long": any(sum(plan.n_lines(r.cells) for r in part.body) > _LONG for part, plan in parts),
    }
    points, labels = min(plan.points for _, plan in parts), widths_of(rows, 0)[0][0]
    return element(
        "figure",
        lines(caption, region, printed),
        id=anchor,
        tabindex=-1,
        class_=" ".join(kind for kind, there in kinds.items() if there) or None,
        style=f"--print-type: {points}pt; --labels: {labels:.1f}em",
    )


def _printed_groups(rows: Rows) -> Iterator[Rows]:
    """A table as it is printed: whole, or its groups of rows with their labels in a head that is repeated."""
    starts = [i for i, row in enumerate(rows.body) if row.is_group]
    ends = [*starts[1:], len(rows.body)]
    if not starts or starts[0] or all(b - a <= _WHOLE + 1 for a, b in zip(starts, ends, strict=True)):
        yield rows
        return
    for start, end in zip(starts, ends, strict=True):
        label, *body = rows.body[start:end]
        notes = rows.notes if end == len(rows.body) else ()
        yield replace(rows, head=(*rows.head, label.cells), body=tuple(body), notes=notes)


def _is_tight(rows: Rows, plan: Plan) -> bool:
    """Whether a column is narrower than its longest word."""
    return any(own + 1e-6 < least for own, least in zip(plan.widths, widths_of(rows, 1)[1], strict=True))


def _picture(item: Item, pages: Sequence[bytes]) -> Markup:
    """Figure, page by page, with its number, title and caption below it."""
    anchor, shown = item_anchor(item), []
    for number, png in enumerate(pages, 1):
        page = f"{item.number}, page {number} of {len(pages)}" if len(pages) > 1 else ""
        region = scrolling(_image(item, png, page), page or _label(item), "scroll picture")
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
    """What can be done with a table or figure: copy, enlarge, its files, its Python call."""
    anchor = item_anchor(item)
    if item.is_table:
        buttons = [copy_button(anchor, "Copy table", item.number, table=True)]
    else:
        enlarge = element("button", "Enlarge", type="button", class_="scripted", data_enlarge=anchor)
        buttons = [enlarge, copy_button(f"{anchor}-caption", "Copy caption", f"Caption of {item.number}")]
    links = element("span", "Files: ", list(_file_links(item)), class_="files") if item.files else None
    call = code_block(f"{anchor}-call", "Python call", f"Call of {item.number}", item.call)
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


def code_block(name: str, title: str, what: str, code: str) -> Markup:
    """Python behind a table or figure, or before them all, folded away; `what` names it once copied."""
    return element(
        "details",
        element("summary", title),
        element("pre", element("code", code), id=name, data_of=what),
        copy_button(name, "Copy code", what),
        class_="call",
    )


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
