"""Tables and figures on the page, by themselves."""

import re
from dataclasses import replace

import pytest

from salstats.display.report.page_items import item_anchor, item_block, toolbar, with_doi_links


@pytest.fixture
def items(sample_report):
    """The items of a report by key."""
    return {item.key: item for section in sample_report.sections for item in section.items}


def test_tables_and_figures_have_different_anchors(items):
    assert item_anchor(items["means"]) == "table-means"
    assert item_anchor(items["intervals"]) == "figure-intervals"


@pytest.mark.parametrize("key", ["means", "intervals"])
def test_number_and_title_head_the_caption(items, key):
    item = items[key]
    heading = f'<h3><span class="number">{item.number}.</span> {item.title}</h3>'
    assert item_block(item).partition("<figcaption")[2].partition("</figcaption>")[0].count(heading) == 1


def test_only_what_the_page_shows_can_be_copied(items):
    assert "Copy table" in item_block(items["means"])
    assert "Copy caption" in item_block(items["intervals"])


def test_the_pages_of_a_figure_are_counted_where_there_are_several(items):
    figure = items["intervals"]
    assert "page 1 of" not in item_block(figure)
    two_pages = item_block(replace(figure, content=figure.content * 2))
    # beside the picture, below it and in its alternative text; below the last page stands the caption
    assert two_pages.count("Figure 2, page 1 of 2") == 3
    assert two_pages.count("Figure 2, page 2 of 2") == 2


def test_files_of_further_pages_say_so(items):
    files = ("figures/intervals.png", "figures/intervals-2.png", "frames/intervals.csv")
    block = item_block(replace(items["intervals"], files=files))
    assert ">PNG</a>" in block
    assert ">PNG of page 2</a>" in block
    assert ">unrounded data (CSV)</a>" in block


def test_items_without_a_call_or_files_have_none(items):
    block = item_block(replace(items["means"], call="", files=()))
    assert "Python call" not in block
    assert "Files: " not in block


def test_a_doi_ends_before_the_full_stop_of_its_sentence():
    assert with_doi_links("See doi:10.1000/182.").endswith("</a>.")
    assert 'href="https://doi.org/10.1000/182"' in with_doi_links("See (https://doi.org/10.1000/182).")


def test_an_empty_toolbar_is_an_empty_row():
    assert toolbar() == '<div class="tools"></div>'


def test_a_figure_has_its_printed_size_and_is_larger_on_a_screen(items):
    block = item_block(items["intervals"])
    # 183 mm x 80 mm at 300 dots an inch; on the screen 96 pixels an inch, enlarged by 1.35
    assert 'width="934" height="408" style="--mm: 183.0"' in block
    assert block.count('aria-label="Figure 2: Mean IoU by task and method"') == 1
    assert 'alt="Intervals of three methods by task; the human benchmark lies to the right."' in block
    assert 'alt="Figure 2: Mean IoU by task and method"' in item_block(replace(items["intervals"], alt=""))


def test_the_caption_of_a_figure_of_several_pages_stands_once_below_the_last(items):
    figure = items["intervals"]
    block = item_block(replace(figure, content=figure.content * 2))
    assert block.count('id="figure-intervals-caption"') == 1
    assert block.count("Points are means over cases") == 1
    assert block.rindex("page 2 of 2") < block.index("Points are means over cases")
    assert 'aria-label="Figure 2, page 1 of 2"' in block


def test_buttons_copy_what_they_stand_below(items):
    table = item_block(items["means"])
    assert re.search(r'data-copy="table-means" data-table\b[^>]*>Copy table<', table)
    assert re.search(r'data-copy="table-means-call"[^>]*>Copy code<', table)
    assert '<pre id="table-means-call">' in table
    assert table.index("<figcaption>") < table.index('class="scroll"')
    assert re.search(r'<div class="scroll" role="region" tabindex="0"', table)
    assert table.count('id="table-means-call"') == table.count('id="table-means"') == 1
    figure = item_block(items["intervals"])
    assert re.search(r'<div class="picture" role="region" tabindex="0"', figure)
    assert re.search(r'data-copy="figure-intervals-caption"[^>]*>Copy caption<', figure)
    assert "data-table" not in figure.partition("Copy caption")[0].rpartition("<button")[2]


def test_links_name_the_format_and_quote_the_path(items):
    block = item_block(items["wide"])
    assert 'href="tables/a%20name%20%26%20more.docx" aria-label="Word, Table 2">Word</a>' in block
    assert 'href="tables/wide.csv" aria-label="CSV, Table 2">CSV</a>' in block
    assert ">PDF</a>" in item_block(items["small"])
    other = replace(items["wide"], files=("tables/x-3.tex",))
    # the number behind another stem is none of a page
    assert ">TeX</a>" in item_block(other)


def test_text_around_dois_stays_and_a_doi_in_brackets_ends_before_them():
    text = with_doi_links("A (doi:10.1000/182), b (https://doi.org/10.1000/183).")
    assert text == (
        'A (<a href="https://doi.org/10.1000/182">doi:10.1000/182</a>), b '
        '(<a href="https://doi.org/10.1000/183">https://doi.org/10.1000/183</a>).'
    )
