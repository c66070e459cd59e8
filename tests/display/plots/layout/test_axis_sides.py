"""Better and worse at the axes of contrasts."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.plots.layout.axis_sides import axis_sides_where_known, better_contrast_sign, side_texts


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
    decreases = axis_sides_where_known(frame, "percent_decrease")
    assert decreases.to_dict("list") == {"panel": ["IoU"], "better": [-1]}
    assert axis_sides_where_known(frame, "difference")["panel"].tolist() == ["IoU", "NSS"]
    assert axis_sides_where_known(frame.drop(columns="metric"), "difference").empty


def test_texts_point_to_both_sides_and_are_short_in_narrow_panels():
    assert side_texts(1, 100) == ("← method worse", "method better →")
    assert side_texts(-1, 100) == ("← method better", "method worse →")
    assert side_texts(-1, 20) == ("← better", "worse →")
