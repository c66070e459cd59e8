"""The report's page: one HTML file that loads nothing from the network."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files as package_files
from string import Template
from typing import NamedTuple

import salstats
from salstats.display.report.document import Display, MissingItem, Report, ReportItem, Section
from salstats.display.report.page_items import (
    copy_button,
    item_anchor,
    item_block,
    scrollable_region,
    toolbar,
    with_doi_links,
)
from salstats.display.report.provenance import INPUT_ROW_NAME
from salstats.display.text.format import counted
from salstats.display.text.markup import Child, Markup, element, escaped, markup_lines

#: Most warnings whose text stands on the first screen.
_MAX_FIRST_WARNINGS = 3


class _FoldedSection(NamedTuple):
    """A part of the page that is folded away under its heading.

    Attributes
    ----------
    anchor : str
        Its name in the page's addresses.
    title : str
        Its heading.
    content : Markup
        Its content.
    hint : str
        Text beside the heading on what the part holds.
    """

    anchor: str
    title: str
    content: Markup
    hint: str = ""


def render_page(report: Report) -> str:
    """Return a report as one HTML page; the same report always gives the same page."""
    summary, *sections = report.sections
    parts = [_section_part(section) for section in sections]
    parts += _closing_parts(report)
    script = _asset_text("page.js")
    script_digest = hashlib.sha256(script.encode()).digest()
    source = dict(report.provenance).get(INPUT_ROW_NAME)
    origin = f"salstats {salstats.__version__}"
    if source:
        origin += f" · made from {source}"
    return Template(_asset_text("page.html")).substitute(
        # the page may load pictures inside itself, its own styles, and its own script by its digest
        digest=base64.b64encode(script_digest).decode(),
        version=salstats.__version__,
        style=_asset_text("page.css"),
        script=script,
        title=escaped(report.title),
        made=escaped(origin),
        summary=_first_screen_of_page(summary, report),
        parts=markup_lines(*map(_folded_part, parts)),
    )


def _asset_text(name: str) -> str:
    """Return a file of this package as text."""
    return package_files("salstats.display.report").joinpath(name).read_text(encoding="utf-8")


def _folded_part(part: _FoldedSection) -> Markup:
    """Return a part of the page, folded away under its heading."""
    heading = element("h2", part.title, id=part.anchor, tabindex=-1)
    hint = None
    if part.hint:
        hint = element("span", part.hint, class_="hint")
    summary = element("summary", heading, hint)
    details = element("details", summary, "\n", part.content, class_="part")
    return element("section", "\n", details, "\n", aria_labelledby=part.anchor)


def _first_screen_of_page(summary_section: Section, report: Report) -> Markup:
    """Return the first screen of the page: a figure, the main results, counts, and links to warnings."""
    sentences = [element("li", with_doi_links(sentence)) for sentence in summary_section.sentences]
    blocks = [element("ul", sentences, class_="key", id="summary-text")]
    if report.counts:
        rows = [element("div", element("dt", name), element("dd", value)) for name, value in report.counts]
        blocks.append(element("dl", rows, class_="counts"))
    if report.warnings:
        blocks.append(_first_warnings(report.warnings))
    blocks.append(toolbar(copy_button("summary-text", "Copy text")))
    text = element("div", "\n", markup_lines(*blocks), "\n")
    heading = element("h2", summary_section.title, id="summary", tabindex=-1)
    items = [item_block(item) for item in summary_section.items]
    first_screen = element("div", "\n", markup_lines(*items, text), "\n", class_="first")
    return element("section", "\n", markup_lines(heading, first_screen), "\n", aria_labelledby="summary")


def _first_warnings(texts: Sequence[str]) -> Markup:
    """Return the first warnings, and a link to the others if there are more."""
    heading = element("p", "To read before these results are used:")
    blocks = [heading, _warnings_or_statement_of_none(texts[:_MAX_FIRST_WARNINGS])]
    n_more = len(texts) - _MAX_FIRST_WARNINGS
    if n_more > 0:
        link = element("a", f"{counted(n_more, 'further warning')}", href="#warnings")
        blocks.append(element("p", link))
    return element("div", markup_lines(*blocks), class_="heed")


def _section_part(section: Section) -> _FoldedSection:
    """Return one part of the results: its figures, its sentences and its tables.

    Sentences follow the figures: in print, a high figure after them would leave a sheet half empty. A part
    without an open figure begins with its tables and ends with its folded figures.
    """
    anchor = f"section-{section.key}"
    figures = [item for item in section.items if not item.is_table]
    tables = [item for item in section.items if item.is_table]
    text = []
    if section.sentences:
        text_id = f"{anchor}-text"
        sentences = []
        for sentence in section.sentences:
            sentences.append([element("span", with_doi_links(sentence), class_="sentence"), " "])
        text.append(element("p", sentences, id=text_id))
        text.append(toolbar(copy_button(text_id, "Copy text")))
    if any(item.display is Display.OPEN for item in figures):
        blocks = [_links_to_tables_on_page(tables), *_open_item_blocks_then_folded_block(figures)]
        blocks += [*text, *_open_item_blocks_then_folded_block(tables)]
    else:
        blocks = [
            *_open_item_blocks_then_folded_block(tables),
            *text,
            *_open_item_blocks_then_folded_block(figures),
        ]
    hint = ", ".join(item.number for item in section.items)
    return _FoldedSection(anchor, section.title, markup_lines(*blocks), hint)


def _links_to_tables_on_page(tables: Sequence[ReportItem]) -> Markup:
    """Return links to a section's tables on the page, for phones, on which wide figures have to scroll."""
    if not tables:
        return Markup()
    links: list[Child] = ["Wide figures scroll sideways. Tables of this part:"]
    for table in tables:
        links += [" ", element("a", table.number, href=f"#{item_anchor(table)}")]
    return element("div", links, class_="narrow")


def _open_item_blocks_then_folded_block(items: Sequence[ReportItem]) -> list[Markup]:
    """Return a block of each open table or figure, then one block that folds all others."""
    blocks = [item_block(item) for item in items if item.display is Display.OPEN]
    folded = [item for item in items if item.display is not Display.OPEN]
    if folded:
        titles = "; ".join(f"{item.title} ({item.number})" for item in folded)
        summary = element("summary", f"More: {titles}")
        blocks.append(
            element("details", summary, "\n", markup_lines(*map(item_block, folded)), class_="more")
        )
    return blocks


def _closing_parts(report: Report) -> list[_FoldedSection]:
    """Return the last parts: Methods, warnings, missing items of guidelines, and settings."""
    parts = []
    if report.methods:
        parts.append(
            _FoldedSection("methods", "Methods", _methods_section(report.methods), "Text for a paper")
        )
    n_warnings = str(len(report.warnings))
    parts.append(
        _FoldedSection("warnings", "Warnings", _warnings_or_statement_of_none(report.warnings), n_warnings)
    )
    if report.missing_items:
        introduction = element(
            "p", "These guidelines ask for the following items, which this report cannot know."
        )
        content = markup_lines(introduction, _guideline_table(report.missing_items))
        hint = f"{len(report.missing_items)} items"
        parts.append(_FoldedSection("not-covered", "Not covered", content, hint))
    if report.provenance:
        title = "Settings and versions"
        rows = element("tbody", (_table_row(name, value) for name, value in report.provenance))
        table = _text_table(title, ("Setting", "Value"), rows)
        button = copy_button("provenance-table", "Copy table", table=True)
        content = markup_lines(element("div", table, id="provenance-table"), toolbar(button))
        parts.append(_FoldedSection("provenance", title, content))
    return parts


def _methods_section(texts: Iterable[str]) -> Markup:
    """Return the paragraphs of the Methods section and its references."""
    paragraphs = [element("p", with_doi_links(text)) for text in texts]
    text = element("div", markup_lines(*paragraphs), id="methods-text")
    return markup_lines(text, toolbar(copy_button("methods-text", "Copy text")))


def _warnings_or_statement_of_none(texts: Sequence[str]) -> Markup:
    """Return warnings as a list, or say that there are none."""
    if not texts:
        return element("p", "The analyses gave no warnings.")
    return element("ul", (element("li", with_doi_links(text)) for text in texts), class_="warnings")


def _guideline_table(items: Sequence[MissingItem]) -> Markup:
    """Return missing items as a table, one guideline after the other."""
    bodies = []
    for guideline in dict.fromkeys(item.guideline for item in items):
        heading = element("th", with_doi_links(guideline), colspan=2, scope="rowgroup")
        rows = [_table_row(item.item, item.text) for item in items if item.guideline == guideline]
        bodies.append(element("tbody", element("tr", heading, class_="group"), rows))
    return _text_table(
        "Items that are not covered, by guideline", ("Item", "What an author has to add"), bodies
    )


def _table_row(name: str, value: str) -> Markup:
    """Return a row of a table of texts."""
    return element("tr", element("th", name, scope="row"), element("td", with_doi_links(value)))


def _text_table(label: str, headings: tuple[str, str], bodies: Child) -> Markup:
    """Return a table of texts in two columns."""
    cells = [element("th", heading, scope="col") for heading in headings]
    table = element("table", element("thead", element("tr", cells)), bodies, class_="prose")
    return scrollable_region(table, label)
