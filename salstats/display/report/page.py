"""The report's page: one HTML file that asks nothing of the network."""

import base64
import hashlib
from importlib.resources import files as package_files
from string import Template
from typing import NamedTuple

import salstats
from salstats.display.report.document import Report, Section
from salstats.display.report.page_items import (
    copy_button,
    item_block,
    item_files,
    linked,
    scrolling,
    tools,
)
from salstats.display.text.format import counted
from salstats.display.text.markup import Child, Markup, element, escaped, lines

#: Row of a report's provenance that names the file it was made from.
_INPUT = "Input"


class _Part(NamedTuple):
    """One part of the page: its anchor and heading, what stands below it, and a hint at that.

    It is folded away, and of the `apart` nothing is printed unless it is open.
    """

    anchor: str
    title: str
    content: Markup
    hint: str = ""
    apart: bool = False


def render_page(report: Report) -> str:
    """Report as one HTML page with everything it shows inside; the same report always gives the same page."""
    summary, *sections = report.sections
    parts = [*map(_section, sections), *_closing(report)]
    script = _asset("page.js")
    source = dict(report.provenance).get(_INPUT)
    made = f"salstats {salstats.__version__}"
    return Template(_asset("page.html")).substitute(
        # the page may load pictures inside itself, its own styles, and its own script by its hash
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=salstats.__version__,
        style=_asset("page.css"),
        script=script,
        title=escaped(report.title),
        made=escaped(f"{made} · made from {source}" if source else made),
        summary=_summary(summary, report),
        parts=lines(*map(_part, parts)),
    )


def _asset(name: str) -> str:
    """File of this package as text."""
    return package_files("salstats.display.report").joinpath(name).read_text(encoding="utf-8")


def _part(part: _Part) -> Markup:
    """Part of the page, folded away under its heading."""
    heading = element("h2", part.title, id=part.anchor, tabindex=-1)
    hint = element("span", part.hint, class_="hint") if part.hint else None
    kind = "part apart" if part.apart else "part"
    folded = element("details", element("summary", heading, hint), "\n", part.content, class_=kind)
    return element("section", "\n", folded, "\n", aria_labelledby=part.anchor)


def _summary(section: Section, report: Report) -> Markup:
    """Figure, main results, what was counted, and whether there is anything to heed: the first screen."""
    sentences = [element("li", linked(sentence)) for sentence in section.sentences]
    said = element("ul", sentences, class_="key", id="summary-text")
    told = [
        element("p", element("a", counted(len(found), what), href=f"#{anchor}"), rest, class_=kind)
        for found, anchor, kind, what, rest in (
            (report.warnings, "warnings", "heed", "warning", " to read before these results are used."),
            (
                report.not_covered, "not-covered", "asked", "item",
                " of reporting guidelines that this report does not cover.",
            ),
        )
        if found
    ]  # fmt: skip
    counts = [element("div", element("dt", name), element("dd", value)) for name, value in report.counts]
    found = element("dl", counts, class_="counts") if counts else None
    copy = tools(copy_button("summary-text", "Copy text"))
    text = element("div", "\n", lines(said, found, *told, copy), "\n")
    heading = element("h2", section.title, id="summary", tabindex=-1)
    first = element("div", "\n", lines(*map(item_block, section.items), text), "\n", class_="first")
    return element("section", "\n", lines(heading, first), "\n", aria_labelledby="summary")


def _section(section: Section) -> _Part:
    """One part of the results: its tables and figures, its sentences, and more folded away."""
    anchor = f"section-{section.key}"
    name = f"{anchor}-text"
    sentences = [[element("span", linked(text), class_="sentence"), " "] for text in section.sentences]
    text = [element("p", sentences, id=name), tools(copy_button(name, "Copy text"))] if sentences else []
    shown = [item for item in section.items if item.place == "page"]
    others = [item for item in section.items if item.place != "page"]
    more = None
    if others:
        said = "; ".join(f"{item.title} ({item.number})" for item in others)
        blocks = (item_files(item) if item.place == "file" else item_block(item) for item in others)
        more = element("details", element("summary", f"More: {said}"), "\n", lines(*blocks), class_="more")
    hint = ", ".join(item.number for item in section.items)
    return _Part(anchor, section.title, lines(*map(item_block, shown), *text, more), hint)


def _closing(report: Report) -> list[_Part]:
    """Methods, warnings, what guidelines ask for beyond the report, settings: those that there are."""
    paragraphs = element("div", lines(*(element("p", linked(p)) for p in report.methods)), id="methods-text")
    methods = lines(paragraphs, tools(copy_button("methods-text", "Copy text")))
    warned = element("ul", (element("li", linked(w)) for w in report.warnings), class_="warnings")
    none = element("p", "The analyses gave no warnings.")
    asked = lines(element("p", "What these guidelines ask for and this report cannot know."), _asked(report))
    settings = "Settings and versions"
    rows = element("tbody", (_row(name, value) for name, value in report.provenance))
    table = element("div", _prose(settings, ("Setting", "Value"), rows), id="provenance-table")
    copy = tools(copy_button("provenance-table", "Copy table", table=True))
    n_warnings, n_asked = (str(len(found)) for found in (report.warnings, report.not_covered))
    parts = (
        (_Part("methods", "Methods", methods, "Text for a paper"), report.methods),
        (_Part("warnings", "Warnings", warned if report.warnings else none, n_warnings), True),
        (_Part("not-covered", "Not covered", asked, f"{n_asked} items", True), report.not_covered),
        (_Part("provenance", settings, lines(table, copy), apart=True), report.provenance),
    )
    return [part for part, there in parts if there]


def _asked(report: Report) -> Markup:
    """What guidelines ask for and this report does not give, one guideline after the other."""
    guidelines = dict.fromkeys(guideline for guideline, _, _ in report.not_covered)
    bodies = [
        element(
            "tbody",
            element("tr", element("th", linked(guideline), colspan=2, scope="rowgroup"), class_="group"),
            (_row(item, missing) for name, item, missing in report.not_covered if name == guideline),
        )
        for guideline in guidelines
    ]
    return _prose("What is not covered, by guideline item", ("Item", "What an author has to add"), bodies)


def _row(name: str, value: str) -> Markup:
    """Row of a table of texts."""
    return element("tr", element("th", name, scope="row"), element("td", linked(value)))


def _prose(label: str, names: tuple[str, str], bodies: Child) -> Markup:
    """Table of texts in two columns."""
    head = element("thead", element("tr", (element("th", name, scope="col") for name in names)))
    return scrolling(element("table", head, bodies, class_="prose"), label)
