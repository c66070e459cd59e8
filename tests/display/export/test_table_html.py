"""Tables as HTML: a page of their own, and a part of a report's page."""

from html.parser import HTMLParser

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, rich, stub_of_levels
from great_tables import GT, google_font

import salstats as ss
from salstats.display.export.table_files import table_rows
from salstats.display.export.table_html import great_html, html_page, html_table
from salstats.display.tables.layout import Column, Table, build


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
    assert "http" not in page
    assert "<title>A &lt; B</title>" in page
    assert '<html lang="en">' in page
    assert '<meta charset="utf-8">' in page
    assert "IBM Plex Sans" in page
    assert page.count("<table") == 1
    assert "<script" not in page


def test_a_made_up_name_is_replaced_and_a_given_one_stays():
    frame = pd.DataFrame({"a": [1]})
    assert html_page(GT(frame).as_raw_html(), None) == html_page(GT(frame).as_raw_html(), None)
    page = html_page(GT(frame, id="my-table").as_raw_html(), None)
    assert '<div id="my-table"' in page
    assert "<title>Table</title>" in page


def test_what_no_file_can_hold_is_replaced():
    table = build(Table(("",), [("a\x00b\ufffec",)], [Column("v")], [["x\x1b"]]), "t")
    assert "a\ufffdb\ufffdc" in great_html(table)
    assert [cell.text for cell in table_rows(table).body[0].cells] == ["a\ufffdb\ufffdc", "x\ufffd"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_html_for_a_report_is_well_formed_and_has_no_styles_of_its_own(name):
    tags = Tags(html_table(table_rows(EXAMPLES[name]()), identifier="t2"))
    assert tags.open == []
    assert {tag for tag, _ in tags.found} <= {
        *("table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "u")
    }
    assert not any("style" in said for _, said in tags.found)
    assert [said["id"] for _, said in tags.found if "id" in said] == ["t2-notes"]


def test_html_for_a_report_says_what_heads_what():
    tags = Tags(html_table(table_rows(rich()), identifier="t"))
    scopes = [said["scope"] for said in tags.of("th")]
    assert scopes == ["colgroup"] * 2 + ["col"] * 5 + ["rowgroup", "row", "row"] + ["rowgroup"] + ["row"] * 3
    assert [said.get("class") for said in tags.of("tr")].count("group") == 2
    assert [said.get("class") for said in tags.of("tr")].count("apart") == 1
    assert len(tags.of("tbody")) == 2
    assert tags.of("table")[0]["aria-describedby"] == "t-notes"
    assert {said["class"] for said in tags.of("td")} >= {"num", "left"}


def test_html_for_a_report_keeps_text_and_marks():
    shown = html_table(table_rows(rich()), identifier="t")
    for part in (
        "<strong>0.57</strong>",
        "<u>x &amp; y</u>",
        "&lt;b&gt;raw&lt;/b&gt;",
        'class="left indent"',
    ):
        assert part in shown
    assert "0.566 (0.526,\xa00.606)***" in shown


def test_html_for_a_report_of_cells_that_span_rows():
    shown = html_table(table_rows(stub_of_levels()), identifier="t")
    assert '<th scope="rowgroup" class="left" rowspan="2">iou</th>' in shown
    assert shown.count(">iou<") == 1
    assert shown.count(">b<") == 2


def test_no_text_becomes_markup():
    nasty = "<script>alert(1)</script><img src=x onerror=y>&\"'"
    record = Table((nasty,), [(nasty,)], [Column(nasty, (nasty,))], [[nasty]], notes=[nasty], title=nasty)
    tags = Tags(html_table(table_rows(build(record, "t")), identifier="t"))
    assert not tags.of("script", "img")
