"""Columns of text at the right of panels."""

import matplotlib.pyplot as plt
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.colors import to_hex

from salstats.display.plots.layout.text_columns import (
    STRIPE,
    geom_stripe,
    text_column_layers,
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
    # a word that is as wide as the column is not broken
    assert list(with_wrapped_headings({"Difference": ["1"], "Odds ratio": ["1"]})) == [
        "Difference",
        "Odds\nratio",
    ]


def test_texts_end_at_the_right_edge_of_their_column_beside_their_rows_below_the_heading():
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 2.0]})
    figure = p9.ggplot(frame, p9.aes("x", "y")) + p9.geom_point() + text_column_layers(frame, COLUMNS)
    drawn = figure.draw(show=False)
    texts = {text.get_text(): text for text in drawn.axes[0].texts}
    plt.close(drawn)
    right_edge_mm = 0.0
    for heading, cells in COLUMNS.items():
        right_edge_mm += text_column_width_mm(heading, cells)
        right_edge_pt = right_edge_mm / 25.4 * 72
        for y, cell in zip(frame["y"], cells, strict=True):
            assert texts[cell].xy == (1, y)
            assert texts[cell].xyann == pytest.approx((right_edge_pt, 0))
            assert texts[cell].get_horizontalalignment() == "right"
        assert texts[heading].xyann[0] == pytest.approx(right_edge_pt)
        assert texts[heading].xy == (1, 1)
        assert texts[heading].anncoords == "offset points"
        assert texts[heading].get_weight() == "bold"


def test_a_stripe_fills_its_rows_over_the_whole_width_of_the_panel():
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 8.0], "low": [1.0, 5.0], "high": [2.0, 7.0]})
    stripes = geom_stripe(p9.aes(ymin="low", ymax="high"), frame)
    drawn = (p9.ggplot(frame, p9.aes("x", "y")) + stripes + p9.geom_point()).draw(show=False)
    fills = [patch for patch in drawn.axes[0].patches if to_hex(patch.get_facecolor()).upper() == STRIPE]
    plt.close(drawn)
    assert [(fill.get_y(), fill.get_y() + fill.get_height()) for fill in fills] == [(1, 2), (5, 7)]
    assert {(fill.get_x(), fill.get_width()) for fill in fills} == {(0, 1)}
