"""Columns of text at the right of panels."""

import pytest

from salstats.display.plots.layout.text_columns import (
    text_column_width_mm,
    text_columns_width_mm,
    with_wrapped_headings,
)

COLUMNS = {"n": ["1", "12"], "Mean difference (95% CI)": ["0.12", "0.34"]}


def test_the_width_of_columns_is_the_sum_of_their_widths():
    widths = [text_column_width_mm(heading, texts) for heading, texts in COLUMNS.items()]
    assert text_columns_width_mm(COLUMNS) == pytest.approx(sum(widths))


def test_a_wrapped_heading_is_narrower_and_keeps_the_level_with_its_interval():
    wrapped_columns = with_wrapped_headings(COLUMNS)
    assert list(wrapped_columns.values()) == list(COLUMNS.values())
    short, long = wrapped_columns
    assert short == "n"
    assert "(95% CI)" in long.split("\n")
    assert text_columns_width_mm(wrapped_columns) < text_columns_width_mm(COLUMNS)
