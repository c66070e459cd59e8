"""Tables and figures on the page, by themselves."""

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
