"""Rows of panels without an estimate."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.colors import to_hex

from salstats.display.plots.layout.empty_rows import empty_row_layers, empty_row_texts
from salstats.display.plots.layout.figure_rows import row_layout
from salstats.display.plots.layout.text_columns import STRIPE

ROWS = row_layout(["heading", "a", "b"], ["Heading", "A", "B"])


def marks(places):
    """A frame of marks from (panel, row, estimate)."""
    panels, rows, values = zip(*places, strict=True)
    panel = pd.Categorical(panels, ["p", "q"], ordered=True)
    return pd.DataFrame(
        {"panel": panel, "y": ROWS.centres_mm_of(rows), "estimate": values, "method_label": "m"}
    )


def test_missing_estimates_are_not_defined_and_rows_of_other_panels_have_no_estimate():
    frame = marks([("p", "a", 0.1), ("p", "b", np.nan), ("q", "b", 0.2)])
    texts = empty_row_texts(frame, ROWS, {"m": "#004488"})
    assert texts[["panel", "y", "text", "colour"]].values.tolist() == [
        ["p", ROWS.centres[2], "not defined", "#004488"],
        ["q", ROWS.centres[1], "no estimate", "#555555"],
    ]
    assert texts["background"].tolist() == ["white", STRIPE]
    assert list(empty_row_texts(frame, ROWS, {}, absent_in_panel="no scores")["text"]) == [
        "not defined",
        "no scores",
    ]
    assert set(empty_row_texts(frame, ROWS, {}, striped=False)["background"]) == {"white"}


def test_nothing_is_written_where_every_row_has_an_estimate():
    frame = marks([("p", "a", 0.1), ("q", "a", 0.2)])
    assert empty_row_layers(empty_row_texts(frame, ROWS, {})) == []


def test_texts_stand_in_the_middle_of_their_panel_on_the_colour_of_their_row():
    frame = marks([("p", "a", 0.1), ("p", "b", np.nan), ("q", "b", 0.2)])
    texts = empty_row_texts(frame, ROWS, {"m": "#004488"})
    points = frame.dropna(subset="estimate")
    figure = p9.ggplot(points, p9.aes("estimate", "y")) + p9.geom_point() + p9.facet_wrap("panel")
    drawn = (figure + empty_row_layers(texts)).draw(show=False)
    written = [
        [text for text in axes.texts if text.xycoords == ("axes fraction", "data")] for axes in drawn.axes
    ]
    plt.close(drawn)
    for row, [text] in zip(texts.itertuples(), written, strict=True):
        assert (text.get_text(), text.xy, text.get_color()) == (row.text, (0.5, row.y), row.colour)
        assert to_hex(text.get_bbox_patch().get_facecolor()) == to_hex(row.background)
