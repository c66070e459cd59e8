"""Better and worse at the axes of contrasts."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from salstats.display.plots.layout.axis_sides import (
    axis_side_layers,
    better_contrast_sign,
    better_side_signs_by_panel,
    side_texts,
)
from salstats.display.plots.layout.text_fit import text_width_mm


@pytest.mark.parametrize(
    ("metric", "term", "sign"),
    [
        ("iou", "difference", 1),
        ("hd95", "difference", -1),
        ("iou", "percent_decrease", -1),
        ("hd95", "percent_decrease", 1),
        ("hd95", "median_difference", -1),
        # a larger area is better for whatever score the classifier has
        ("hd95", "auroc_difference", 1),
        ("my_score", "difference", 0),
        ("iou", "mean", 0),
        ("iou", None, 0),
    ],
)
def test_the_sign_of_a_better_method_follows_from_metric_and_term(metric, term, sign):
    assert better_contrast_sign(metric, term) == sign


def test_each_panel_has_one_sign_and_a_mean_below_0_has_none():
    frame = pd.DataFrame(
        {
            "panel": ["IoU", "IoU", "NSS"],
            "metric": ["iou", "iou", "nss"],
            "reference_mean": [0.5, np.nan, -0.2],
        }
    )
    decreases = better_side_signs_by_panel(frame, "percent_decrease")
    assert decreases.to_dict("list") == {"panel": ["IoU"], "better": [-1]}
    assert better_side_signs_by_panel(frame, "difference")["panel"].tolist() == ["IoU", "NSS"]
    assert better_side_signs_by_panel(frame.drop(columns="metric"), "difference").empty


def test_texts_point_to_both_sides_and_are_short_in_narrow_panels():
    assert side_texts(1, 100) == ("← method worse", "method better →")
    assert side_texts(-1, 100) == ("← method better", "method worse →")
    assert side_texts(-1, 20) == ("← better", "worse →")


def test_texts_stand_below_the_ends_of_the_axis_and_beyond_a_panel_that_is_narrower():
    sides = pd.DataFrame({"panel": ["IoU"], "better": [-1]})
    places = {}
    for width in (100.0, 10.0):
        [layer] = axis_side_layers(sides, width)
        axes = Figure().add_subplot()
        layer.draw_panel(sides, None, None, axes)
        left, right = axes.texts
        assert (left.get_text(), right.get_text()) == side_texts(-1, width)
        assert (left.xy, right.xy) == ((0, 0), (1, 0))
        assert (left.get_horizontalalignment(), right.get_horizontalalignment()) == ("left", "right")
        places[width] = (left.xyann, right.xyann)
    (x_left, y), (x_right, _) = places[100.0]
    assert (x_left, x_right) == (0, 0)
    assert y < 0
    (x_left, _), (x_right, _) = places[10.0]
    assert x_left == -x_right < 0
    # both texts and the gap between them extend to the same distance on both sides of the panel
    texts_mm = sum(text_width_mm(text, 6.0) for text in side_texts(-1, 10.0)) + 2.5
    assert 2 * x_right / 72 * 25.4 == pytest.approx(texts_mm - 10.0)


def test_no_layer_is_made_without_a_known_side():
    assert axis_side_layers(None, 50.0) == []
    assert axis_side_layers(pd.DataFrame({"panel": [], "better": []}), 50.0) == []
