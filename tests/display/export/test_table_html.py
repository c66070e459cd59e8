"""Tables as HTML: a page of their own, and a part of a report's page."""

from html.parser import HTMLParser

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, rich, stub_of_levels
from great_tables import GT

from salstats.display.export.table_files import table_rows
from salstats.display.export.table_html import html_page, html_table
from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import table_to_rows


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


def test_page_is_complete_and_asks_nothing_of_the_network():
    page = html_page(rich().tab_header("A < B"))
    assert "http" not in page
    assert "<title>A &lt; B</title>" in page
    assert '<html lang="en">' in page
    assert '<meta charset="utf-8">' in page
    assert page.count("<table") == 1
    assert "<script" not in page
    assert page.endswith("</body>\n</html>\n")


def test_a_table_without_a_name_is_given_one_and_another_keeps_its_own():
    frame = pd.DataFrame({"a": [1]})
    assert html_page(GT(frame)) == html_page(GT(frame))
    page = html_page(GT(frame, id="my-table"))
    assert '<div id="my-table"' in page
    assert "<title>Table</title>" in page


def test_names_of_rows_stay_in_sight_where_they_stand_in_one_column():
    assert ".gt_stub" in html_page(rich()).split("</style>", 1)[0]
    assert ".gt_stub" not in html_page(stub_of_levels()).split("</style>", 1)[0]


def test_names_of_columns_keep_from_those_of_rows_that_stay_in_sight():
    of_levels = html_page(stub_of_levels()).split("</style>", 1)[0]
    assert "left: 0; right: 8px" in of_levels
    assert "calc(100vh" in of_levels
    of_foreign = html_page(GT(pd.DataFrame({"a": [1]}))).split("</style>", 1)[0]
    assert of_foreign.split("<style>")[1] == of_levels.split("<style>")[1]
    # four digits take 2.2 em, and a long label 22 em at most
    for label, width in (("1234", "2.2em"), ("w" * 99, "22.0em")):
        table = great_table(Table(("",), [(label,)], [TableColumn("v")], [["1"]]), "t")
        assert f"left: calc({width} + 20px); right: 8px" in html_page(table)
        assert f"min-width: min(calc({width} + 20px), 14em)" in html_page(table)


def test_a_table_without_rows_or_notes_has_none():
    tags = Tags(html_table(table_to_rows(Table(("A",), [], [TableColumn("x")], [])), identifier="t"))
    assert [tag for tag, _ in tags.found] == ["table", "thead", "tr", "th", "th"]
    assert "aria-describedby" not in tags.of("table")[0]


def test_what_no_file_can_hold_is_replaced():
    table = great_table(Table(("",), [("a\x00b\ufffec",)], [TableColumn("v")], [["x\x1b"]]), "t")
    assert "a\ufffdb\ufffdc" in html_page(table)
    assert [cell.text for cell in table_rows(table).body[0].cells] == ["a\ufffdb\ufffdc", "x\ufffd"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_html_for_a_report_is_well_formed_and_has_no_styles_of_its_own(name):
    tags = Tags(html_table(table_rows(EXAMPLES[name]()), identifier="t2"))
    assert tags.open == []
    assert {tag for tag, _ in tags.found} <= {
        *("table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "u", "span")
    }
    assert not any("style" in said for _, said in tags.found)
    assert [said["id"] for _, said in tags.found if "id" in said] == ["t2-notes"]


def test_html_for_a_report_says_what_heads_what():
    tags = Tags(html_table(table_rows(rich()), identifier="t"))
    scopes = [said["scope"] for said in tags.of("th")]
    assert scopes == ["colgroup"] * 2 + ["col"] * 5 + ["rowgroup", "row", "row"] + ["rowgroup"] + ["row"] * 3
    kinds = [said.get("class") for said in tags.of("tr")]
    assert (kinds.count("group"), kinds.count("apart"), len(tags.of("tbody"))) == (2, 1, 2)
    assert tags.of("table")[0]["aria-describedby"] == "t-notes"
    assert {said["class"] for said in tags.of("td")} >= {"num", "left"}


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (rich, "<strong>0.57</strong>"),
        (rich, "<u>x &amp; y</u>"),
        (rich, "&lt;b&gt;raw&lt;/b&gt;"),
        (rich, 'class="left indent"'),
        (rich, "0.566 (0.526,\xa00.606)***"),
        (stub_of_levels, '<th scope="rowgroup" class="left" rowspan="2">iou</th>'),
    ],
)
def test_html_for_a_report_keeps_text_marks_and_spans(make, part):
    assert html_table(table_rows(make()), identifier="t").count(part) == 1


def test_a_label_of_several_rows_stands_once():
    text = html_table(table_rows(stub_of_levels()), identifier="t")
    assert text.count(">iou</th>") == 1


def test_no_text_becomes_markup():
    nasty = "<script>alert(1)</script><img src=x onerror=y>&\"'"
    record = Table(
        (nasty,), [(nasty,)], [TableColumn(nasty, (nasty,))], [[nasty]], notes=[nasty], title=nasty
    )
    tags = Tags(html_table(table_rows(great_table(record, "t")), identifier="t"))
    assert not tags.of("script", "img")
