"""Tables as HTML: a page of their own, and a part of a report's page."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, rich, stub_of_levels
from great_tables import GT, google_font, html

import salstats as ss
from salstats.display.export.table_html import grid_html, table_page
from salstats.display.export.table_markup import table_grid


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.open = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("br", "meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def of(self, *tags):
        return [said for tag, said in self.found if tag in tags]


def test_page_is_complete_and_asks_nothing_of_the_network(tmp_path):
    table = rich().opt_table_font(google_font("IBM Plex Sans")).tab_header("A < B")
    page = ss.save_table(table, tmp_path / "t.html").read_text(encoding="utf-8")
    assert "@import" not in page
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<title>A &lt; B</title>" in page
    assert '<html lang="en">' in page
    assert '<meta charset="utf-8">' in page
    assert "IBM Plex Sans" in page
    assert page.count("<table") == 1
    assert "<script" not in page


def test_page_keeps_the_look_of_the_table():
    table = rich()
    fragment = table.as_raw_html()
    page = table_page(fragment, ())
    made_up = re.search(r'<div id="([a-z]{10})"', fragment).group(1)
    assert fragment.replace(f'"{made_up}"', '"table"').replace(f"#{made_up}", "#table").strip() in page


def test_a_name_given_by_the_user_stays():
    page = table_page(GT(pd.DataFrame({"a": [1]}), id="my-table").as_raw_html(), ())
    assert '<div id="my-table"' in page
    assert "<title>Table</title>" in page


@pytest.mark.parametrize("name", EXAMPLES)
def test_html_for_a_report_is_well_formed_and_has_no_styles_of_its_own(name):
    tags = Tags(grid_html(table_grid(EXAMPLES[name]()), identifier="t2"))
    assert tags.open == []
    assert {tag for tag, _ in tags.found} <= {
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "span", "ul", "li"),
        *("br", "strong", "em", "u", "s", "sup", "sub"),
    }
    assert not any("style" in said for _, said in tags.found)
    assert [said["id"] for _, said in tags.found if "id" in said] in ([], ["t2-notes"])


def test_html_for_a_report_says_what_heads_what():
    grid = table_grid(rich())
    tags = Tags(grid_html(grid, identifier="t"))
    scopes = [said["scope"] for said in tags.of("th")]
    assert scopes == ["colgroup"] * 2 + ["col"] * 5 + ["rowgroup", "row", "row"] * 2 + ["row"]
    assert [said.get("class") for said in tags.of("tr")].count("group") == 2
    assert [said.get("class") for said in tags.of("tr")].count("summary") == 1
    assert len(tags.of("tbody")) == 3
    assert tags.of("table")[0]["aria-describedby"] == "t-notes"
    assert {said["class"] for said in tags.of("td")} >= {"num", "left"}


def test_html_for_a_report_keeps_text_and_styles():
    shown = grid_html(table_grid(rich()), identifier="t")
    for part in (
        "<caption>Title <strong>bold</strong> &amp; <em>slanted</em>",
        '<br><span class="subtitle">Sub &lt; title 100%</span></caption>',
        "N<sub>x</sub><br>cases",
        "<em><sup>4</sup></em><strong> 0.57</strong>",
        "<em><u>x &amp; y</u></em>",
        "&lt;b&gt;raw&lt;/b&gt;",
        "<br>• first item",
    ):
        assert part in shown
    assert "<caption>" not in grid_html(table_grid(EXAMPLES["one_cell"]()), identifier="t")


def test_html_for_a_report_of_cells_that_span_rows():
    shown = grid_html(table_grid(stub_of_levels()), identifier="t")
    assert '<th scope="rowgroup" class="left" rowspan="2">iou</th>' in shown
    assert shown.count(">iou<") == 1


def test_no_text_becomes_markup():
    nasty = "<script>alert(1)</script><img src=x onerror=y>&\"'"
    frame = pd.DataFrame({nasty: [nasty]})
    table = GT(frame).tab_header(nasty, nasty).tab_source_note(nasty).tab_footnote(html("<b>x</b>"))
    tags = Tags(grid_html(table_grid(table), identifier="t"))
    assert not tags.of("script", "img")
