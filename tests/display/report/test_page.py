"""The report's page as a text: what is in it, in which order, and what cannot get into it."""

import base64
import hashlib
import re
from dataclasses import replace
from importlib.resources import files as package_files

import pandas as pd
import pytest
from lxml import html as lxml_html

import salstats
from salstats.display.report.document import Display, MissingItem, Report, ReportItem, Section
from salstats.display.report.page import render_page

EVIL = '</script></style><img src=x onerror="boom()">\'"&<b>&amp;'
SUMMARY = Section("summary", "Summary")
EMPTY = Report(title="Nothing", sections=(SUMMARY,), methods=(), missing_items=())


@pytest.fixture(scope="module")
def tree(sample_page):
    return lxml_html.document_fromstring(sample_page)


def tree_of(report):
    return lxml_html.document_fromstring(render_page(report))


def tree_with(item):
    """The page of a report of one table or figure."""
    return tree_of(replace(EMPTY, sections=(SUMMARY, Section("a", "A", items=(item,)))))


def test_parts_stand_in_order(tree):
    assert [heading.text_content() for heading in tree.iter("h1", "h2")] == [
        "Saliency maps and the human benchmark: scores.csv",
        "Summary",
        "Localisation by method and task",
        "What makes it worse",
        "Agreement between metrics",
        "Methods",
        "Warnings",
        "Not covered",
        "Settings and versions",
    ]


def test_the_first_screen_is_a_figure_with_the_result_and_the_counts(tree):
    first = tree.find_class("first")[0]
    assert len(list(first.iter("img"))) == 1
    assert len(first.get_element_by_id("summary-text")) == 3
    assert first.find_class("counts")
    assert not list(first.iterancestors("details"))


def test_every_other_part_is_folded_with_what_is_more_of_it_folded_again(tree):
    parts = tree.find_class("part")
    assert len(parts) == len(list(tree.iter("h2"))) - 1
    assert not tree.xpath("//details[@open]")
    (more,) = tree.find_class("more")
    assert "part" in next(more.iterancestors("details")).get("class")
    assert [e.get("id") for e in more.iter("figure") if e.get("id")] == ["table-wide"]


def places_of(page, *anchors):
    """The anchors in the order in which they stand on a page."""
    return [element.get("id") for element in page.iter() if element.get("id") in anchors]


def test_open_figures_precede_the_sentences_and_tables_follow(sample_report):
    table, figure = sample_report.sections[1].items
    section = Section("a", "A", ("A sentence.",), (table, figure))
    anchors = ("figure-intervals", "section-a-text", "table-means")
    shown = tree_of(replace(EMPTY, sections=(SUMMARY, section)))
    assert places_of(shown, *anchors) == list(anchors)
    (links,) = shown.find_class("narrow")
    assert [link.get("href") for link in links.iter("a")] == ["#table-means"]
    # without an open figure tables come first
    folded = replace(section, items=(replace(figure, display=Display.FOLDED), table))
    shown = tree_of(replace(EMPTY, sections=(SUMMARY, folded)))
    assert places_of(shown, *anchors) == list(reversed(anchors))
    assert not shown.find_class("narrow")


def test_parts_without_content_are_left_out():
    tree = tree_of(EMPTY)
    assert [heading.text for heading in tree.iter("h2")] == ["Summary", "Warnings"]
    assert tree.find_class("made")[0].text_content() == f"salstats {salstats.__version__}"
    assert not tree.find_class("heed")
    assert "The analyses gave no warnings." in tree.text_content()


def test_head_names_the_version_and_the_input(tree):
    (made,) = tree.find_class("made")
    assert made.text_content() == f"salstats {salstats.__version__} · made from scores.csv"
    assert tree.find(".//title").text == "Saliency maps and the human benchmark: scores.csv"


def test_same_report_gives_the_same_page(sample_page, sample_report):
    assert render_page(sample_report) == sample_page


def test_nothing_is_loaded_from_a_network(sample_page, tree):
    assert all(image.get("src").startswith("data:image/png;base64,") for image in tree.iter("img"))
    assert [link.get("href") for link in tree.iter("link")] == ["data:,"]
    assert not list(tree.iter("iframe", "object", "embed", "video", "audio", "source", "base", "form"))
    assert not [script for script in tree.iter("script") if script.get("src")]
    assert "url(" not in sample_page
    assert "@import" not in sample_page
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"<)]*", sample_page))
    assert addresses == {"https://doi.org/10.1038/s42256-022-00536-x"}


def test_policy_allows_this_script_alone(sample_page, tree):
    (script,) = re.findall(r"<script>(.*?)</script>", sample_page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (meta,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']")
    assert meta.get("content") == (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("name", ["page.css", "page.js"])
def test_inlined_files_cannot_end_their_element(name):
    text = package_files("salstats.display.report").joinpath(name).read_text(encoding="utf-8")
    assert "</" not in text
    assert "<!--" not in text


def luminance(colour):
    """Relative luminance of "#rrggbb", as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", ["ink", "muted", "link"])
def test_text_has_contrast(theme, text):
    style = package_files("salstats.display.report").joinpath("page.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: luminance(pair[theme]) for name, *pair in pairs}
    for behind in ("page", "quiet", *(["heed"] if text != "muted" else [])):
        low, high = sorted((colours[text], colours[behind]))
        # 1.4.3 (AA); large text could do with less
        assert (high + 0.05) / (low + 0.05) >= 4.5, behind


def test_a_figure_is_inside_the_page_with_its_alternative_and_its_printed_width(tree, sample_figures):
    small, image = tree.iter("img")
    assert base64.b64decode(image.get("src").partition(",")[2]) == sample_figures["intervals"]
    assert image.get("alt") == "Intervals of three methods by task; the human benchmark lies to the right."
    width, height = int(image.get("width")), int(image.get("height"))
    assert width / height == pytest.approx(183 / 80, rel=0.005)
    # 183 mm at 96 pixels per inch, and 1.35 times that on a screen
    assert width == round(1.35 * 183 / 25.4 * 96)
    assert [i.get("style") for i in (image, small)] == ["--mm: 183.0", "--mm: 89.0"]


def test_a_figure_without_alternative_is_named_by_its_title(sample_report):
    (image,) = tree_with(replace(sample_report.sections[0].items[0], alt="")).iter("img")
    assert image.get("alt") == "Figure 1: The best method first"


def test_a_table_stands_below_its_title_in_a_named_region(tree):
    caption, region = tree.get_element_by_id("table-means")
    assert caption.text_content() == "Table 1. Mean IoU by task and method"
    assert region.get("role") == "region"
    assert region.get("tabindex") == "0"
    assert region.get("aria-label") == "Table 1: Mean IoU by task and method"
    assert "200 bootstrap replicates" in region.text_content()
    # a line ends before an interval and never inside it
    estimate, interval = region.xpath(".//tbody/tr")[0][1].text.split(" ", 1)
    assert re.fullmatch(r"0\.\d{3}", estimate)
    assert re.fullmatch(r"\(0\.\d{3},\xa00\.\d{3}\)", interval)


def test_a_subtitle_stands_below_the_title_which_is_not_said_twice(sample_tables, sample_report):
    item = sample_report.sections[1].items[0]
    grid = replace(sample_tables["means"], title=item.title, subtitle="By patients, not cases")
    tree = tree_with(replace(item, caption="And a caption.", content=grid))
    figure = tree.get_element_by_id("table-means")
    texts = [element.text_content() for element in figure.find("figcaption")]
    assert texts == ["Table 1. Mean IoU by task and method", "By patients, not cases", "And a caption."]
    assert figure.text_content().count(item.title) == 1


def test_files_are_linked_by_their_format_and_the_frame_by_what_it_is(tree):
    links = [
        (link.text, link.get("href"), link.get("aria-label"))
        for link in tree.get_element_by_id("table-means").getparent().find_class("files")[0].iter("a")
    ]
    assert links == [
        ("CSV", "tables/means.csv", "CSV, Table 1"),
        ("HTML", "tables/means.html", "HTML, Table 1"),
        ("TeX", "tables/means.tex", "TeX, Table 1"),
        ("unrounded data (CSV)", "frames/means.csv", "unrounded data (CSV), Table 1"),
    ]
    assert tree.xpath("//a[text()='Word']/@href") == ["tables/a%20name%20%26%20more.docx"]


def test_the_call_stands_with_its_table(tree):
    call = tree.get_element_by_id("table-means-call")
    assert call.text_content().startswith('ss.summarize(scores, by=["metric", "method", "task"]')
    assert call.getparent().tag == "details"
    assert not tree.xpath("//*[@id='table-spanner-call']")


def test_counts_are_a_list_of_definitions(tree):
    (counts,) = tree.find_class("counts")
    pairs = [(div.find("dt").text, div.find("dd").text) for div in counts]
    assert pairs == [("Cases", "668"), ("Patients", "500"), ("Scores", "13,360"), ("Missing scores", "3")]


def test_warnings_are_on_the_first_screen_as_far_as_they_are_few(sample_report, tree):
    texts = list(sample_report.warnings)
    heed, warnings = tree.find_class("warnings")
    assert [item.text for item in heed] == [item.text for item in warnings] == texts
    many = tree_of(replace(sample_report, warnings=[f"Warning {i}." for i in range(5)]))
    first = many.find_class("heed")[0]
    assert [item.text for item in first.iter("li")] == ["Warning 0.", "Warning 1.", "Warning 2."]
    (link,) = first.iter("a")
    assert (link.get("href"), link.text_content()) == ("#warnings", "2 further warnings")
    assert not tree.xpath("//div[@class='first']//a[@href='#not-covered']")


def test_what_is_not_covered_stands_by_guideline(tree):
    table = next(tree.get_element_by_id("not-covered").iterancestors("details")).find(".//table")
    rows = [[cell.text_content() for cell in row] for row in table.iter("tr")]
    assert rows == [
        ["Item", "What an author has to add"],
        ["CLAIM"],
        ["7. Data sources", "Where the images come from, and when they were taken."],
        ["22. Model", "Architecture, inputs and outputs of the classifier."],
        ["STARD-AI"],
        ["10b. Reference standard", "Who drew the masks, and how they were trained."],
    ]
    # the name of a guideline is a heading over both columns
    assert [cell.text_content() for cell in table.xpath(".//th[@colspan='2']")] == ["CLAIM", "STARD-AI"]


def test_settings_stand_in_a_table(tree, sample_report):
    found = tree.get_element_by_id("provenance-table").iter("tr")
    rows = [tuple(cell.text_content() for cell in row) for row in found]
    assert rows == [("Setting", "Value"), *sample_report.provenance]


@pytest.mark.parametrize(
    ("text", "shown", "doi"),
    [
        (
            "See https://doi.org/10.1038/s42256-022-00536-x.",
            "https://doi.org/10.1038/s42256-022-00536-x",
            "10.1038/s42256-022-00536-x",
        ),
        (
            "(doi:10.1016/S0140-6736(05)12345-6)",
            "doi:10.1016/S0140-6736(05)12345-6",
            "10.1016/S0140-6736(05)12345-6",
        ),
        ("doi: 10.1000/a<b", "doi: 10.1000/a", "10.1000/a"),
        (
            "javascript:alert(1) http://example.org https://doi.org.example.org/10.1000/1 10.1000/1",
            None,
            None,
        ),
    ],
)
def test_a_doi_becomes_a_link_nothing_else_does_and_the_text_stays(text, shown, doi):
    paragraph = tree_of(replace(EMPTY, methods=(text,))).get_element_by_id("methods-text")
    assert paragraph.text_content() == text
    links = [(link.text, link.get("href")) for link in paragraph.iter("a")]
    assert links == ([(shown, f"https://doi.org/{doi}")] if shown else [])


def test_text_from_users_stays_text(rows_from, sample_figures):
    frame, shown = pd.DataFrame(), pd.DataFrame({f"Column {EVIL}": [f"Cell {EVIL}"]}, index=[f"Row {EVIL}"])
    grid = rows_from(shown, "S", f"Note {EVIL}")
    items = (
        ReportItem(
            "means", "Table 1", f"T {EVIL}", None, frame, f"C {EVIL}", call=f"P {EVIL}", content=grid,
            files=(f"tables/{EVIL}.csv",),
        ),
        ReportItem(
            "small", "Figure 1", f"F {EVIL}", None, frame, f"D {EVIL}", f"A {EVIL}", f"Q {EVIL}",
            content=(sample_figures["small"],),
        ),
    )  # fmt: skip
    page = render_page(
        Report(
            title=f"Title {EVIL}",
            sections=(
                Section("summary", f"Summary {EVIL}", (f"Result {EVIL}",), items[1:]),
                Section("s", f"Section {EVIL}", (f"Sentence {EVIL}",), items[:1]),
            ),
            methods=(f"Methods {EVIL}",),
            missing_items=(MissingItem(f"Guideline {EVIL}", f"Item {EVIL}", f"Missing {EVIL}"),),
            warnings=(f"Warning {EVIL}",),
            counts=((f"Name {EVIL}", f"Count {EVIL}"),),
            provenance=(("Input", f"File {EVIL}"), (f"Setting {EVIL}", f"Value {EVIL}")),
        )
    )
    tree = lxml_html.document_fromstring(page)
    assert len(list(tree.iter("script"))) == len(list(tree.iter("style"))) == 1
    assert [image.get("src")[:5] for image in tree.iter("img")] == ["data:"]
    assert not tree.xpath("//@onerror")
    shown = tree.text_content()
    for where in (
        *(
            "Title",
            "Summary",
            "Result",
            "Section",
            "Sentence",
            "Methods",
            "Guideline",
            "Item",
            "Missing",
            "Warning",
        ),
        *("Name", "Count", "File", "Setting", "Value", "T", "F", "C", "D", "P", "Q"),
        *("Column", "Cell", "Row", "Note"),
    ):
        assert f"{where} {EVIL}" in shown, where
    assert f"A {EVIL}" in tree.xpath("//img/@alt")
    # nothing ends the elements whose content is not parsed
    assert page.count("</script>") == page.count("</style>") == 1
