"""The report's page: one HTML file that asks nothing of the network."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files as package_files
from string import Template

import salstats
from salstats.display.export.table_rows import Rows
from salstats.display.report.model import Item, Report, Section
from salstats.display.report.page_items import (
    copy_button,
    item_anchor,
    item_block,
    linked,
    scrolling,
    tools,
)
from salstats.display.text.format import MISSING
from salstats.display.text.markup import Markup, element, escaped, lines

#: Row of a report's provenance that names the file it was made from.
INPUT = "Input"


def render_page(
    report: Report,
    *,
    tables: Mapping[str, Rows],
    figures: Mapping[str, bytes],
    files: Mapping[str, Sequence[str]],
) -> str:
    """Report as one HTML page with everything it shows inside.

    Parameters
    ----------
    report : Report
        What the page says.
    tables : Mapping of str to Rows
        Each table of the report by its key.
    figures : Mapping of str to bytes
        Each figure of the report by its key, as a PNG that says its resolution.
    files : Mapping of str to sequence of str
        Paths of the files of each table and figure, relative to the page, by its key.

    Returns
    -------
    str
        The page; the same report always gives the same page.
    """
    closing = [_methods(report)] if report.methods else []
    closing += [_warnings(report)]
    closing += [_not_covered(report)] if report.not_covered else []
    closing += [_provenance(report)] if report.provenance else []
    sections = [_section(section, tables, figures, files) for section in report.sections]
    parts = [_summary(report), *sections, *closing]
    script = _asset("page.js")
    return Template(_asset("page.html")).substitute(
        # the page may load pictures inside itself, its own styles, and its own script by its hash
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=salstats.__version__,
        style=_asset("page.css"),
        script=script,
        title=escaped(report.title),
        made=escaped(_made(report)),
        contents=lines(*map(_contents_entry, parts)),
        parts=lines(*map(_part, parts)),
    )


@dataclass(frozen=True)
class _Part:
    """One part of the page: its anchor and heading, and what stands below it."""

    anchor: str
    title: str
    content: Markup
    items: tuple[Item, ...] = ()


def _asset(name: str) -> str:
    """File of this package as text."""
    return package_files("salstats.display.report").joinpath(name).read_text(encoding="utf-8")


def _made(report: Report) -> str:
    """What made the page from what."""
    source = dict(report.provenance).get(INPUT)
    made = [f"salstats {salstats.__version__}"]
    made += [f"made from {source}"] if source not in (None, MISSING) else []
    return " · ".join(made)


def _part(part: _Part) -> Markup:
    """Part of the page under its heading."""
    return element(
        "section",
        "\n",
        lines(element("h2", part.title, id=part.anchor, tabindex=-1), part.content),
        "\n",
        aria_labelledby=part.anchor,
    )


def _contents_entry(part: _Part) -> Markup:
    """Part in the table of contents, and under it its tables and figures."""
    return element(
        "li",
        element("a", part.title, href=f"#{part.anchor}", class_="part"),
        element("ul", (_contents_item(item) for item in part.items)) if part.items else None,
    )


def _contents_item(item: Item) -> Markup:
    """Table's or figure's entry in the contents: its number, its title for a hint."""
    link = element("a", item.number, href=f"#{item_anchor(item)}", title=item.title)
    return element("li", link, " ")


def _summary(report: Report) -> _Part:
    """Main results, what was counted, and whether there is anything to heed."""
    n_warnings = len(report.warnings)
    heed = element(
        "p",
        element("a", "1 warning" if n_warnings == 1 else f"{n_warnings} warnings", href="#warnings"),
        " to read before these results are used.",
        class_="heed",
    )
    sentences = [element("li", linked(sentence)) for sentence in report.summary]
    counted = (element("div", element("dt", name), element("dd", value)) for name, value in report.counts)
    content = lines(
        element("ul", sentences, class_="key", id="summary-text") if sentences else None,
        tools(copy_button("summary-text", "Copy text", "Summary")) if sentences else None,
        heed if n_warnings else None,
        element("dl", counted, class_="counts") if report.counts else None,
    )
    return _Part("summary", "Summary", content)


def _section(
    section: Section,
    tables: Mapping[str, Rows],
    figures: Mapping[str, bytes],
    files: Mapping[str, Sequence[str]],
) -> _Part:
    """One part of the results: its sentences, then its tables and figures."""
    anchor = f"section-{section.key}"
    name = f"{anchor}-text"
    sentences = [[element("span", linked(text), class_="sentence"), " "] for text in section.sentences]
    text = element("p", sentences, id=name) if sentences else None
    copy = tools(copy_button(name, "Copy text", "Text")) if text else None
    items = (item_block(item, tables, figures, files) for item in section.items)
    return _Part(anchor, section.title, lines(text, copy, *items), section.items)


def _methods(report: Report) -> _Part:
    """Paragraphs of the Methods section."""
    paragraphs = element("div", lines(*(element("p", linked(p)) for p in report.methods)), id="methods-text")
    copy = tools(copy_button("methods-text", "Copy text", "Methods"))
    return _Part("methods", "Methods", lines(paragraphs, copy))


def _warnings(report: Report) -> _Part:
    """What the analyses warned of."""
    if not report.warnings:
        return _Part("warnings", "Warnings", element("p", "The analyses gave no warnings."))
    warned = element("ul", (element("li", linked(w)) for w in report.warnings), class_="warnings")
    return _Part("warnings", "Warnings", warned)


def _not_covered(report: Report) -> _Part:
    """What guidelines ask for and this report does not give, one guideline after the other."""
    guidelines = list(dict.fromkeys(guideline for guideline, _, _ in report.not_covered))
    bodies = [
        element(
            "tbody",
            element("tr", element("th", linked(guideline), colspan=2, scope="rowgroup"), class_="group"),
            (
                element("tr", element("th", item, scope="row"), element("td", linked(missing)))
                for name, item, missing in report.not_covered
                if name == guideline
            ),
        )
        for guideline in guidelines
    ]
    names = (element("th", name, scope="col") for name in ("Item", "What an author has to add"))
    table = element("table", element("thead", element("tr", names)), bodies, class_="prose")
    intro = "What these guidelines ask for and this report cannot know."
    region = scrolling(table, "What is not covered, by guideline item")
    return _Part("not-covered", "Not covered", lines(element("p", intro), region))


def _provenance(report: Report) -> _Part:
    """Settings, versions and the input's checksum."""
    rows = (
        element("tr", element("th", name, scope="row"), element("td", linked(value)))
        for name, value in report.provenance
    )
    names = element("tr", (element("th", name, scope="col") for name in ("Setting", "Value")))
    table = element("table", element("thead", names), element("tbody", rows), class_="prose")
    title = "Settings and versions"
    region = element("div", scrolling(table, title), id="provenance-table")
    copy = tools(copy_button("provenance-table", "Copy table", title, table=True))
    return _Part("provenance", title, lines(region, copy))
