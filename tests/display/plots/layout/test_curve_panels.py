"""Lines and panels of curves, their bands, axes of rates, and the estimates of whole curves."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.plots.layout.curve_panels import (
    diagonal_layer,
    estimate_texts_of_curves,
    first_point_of_curves,
    lines_with_bands,
    predictor_and_response_sentence,
    rate_axes,
    read_curves,
)
from salstats.display.plots.layout.theme import GUIDE
from salstats.display.text.labels import Labels
from salstats.errors import Call, ColumnError, SalstatsError

CALL = Call("roc_curve")


def curves(methods=("lime", "human"), tasks=("Edema", "Nodule"), **columns):
    """Curves of three points; the first point of each has no limits."""
    keys = pd.MultiIndex.from_product([methods, tasks, [0.0, 0.5, 1.0]], names=["method", "task", "place"])
    frame = keys.to_frame(index=False)
    low = (frame["place"] - 0.1).where(frame["place"] > 0)
    return frame.assign(
        estimate=frame["place"], conf_low=low, conf_high=low + 0.2, predictor="prob", response="label"
    ).assign(**columns)


def read(frame):
    return read_curves(frame, None, ("place", "estimate"), ("place",), CALL)


def test_methods_are_lines_references_first_and_a_further_column_is_panels():
    points, columns, groups = read(curves())
    assert columns == ["method", "task"]
    assert (groups.line_column, groups.panel_column) == ("method", "task")
    assert list(groups.texts) == ["human", "lime"]
    rows = groups.with_line_and_panel(points.frame)
    assert list(rows["method_label"].cat.categories) == list(groups.texts.values())
    assert (rows["method_label"] == rows["method"].map(groups.texts)).all()
    assert (rows["panel"] == rows["task"]).all()
    in_own_panels = groups.with_line_and_panel(points.frame, own_panels=True)
    assert in_own_panels["panel"].nunique() == 4
    assert in_own_panels["panel"].iloc[0] == f"{groups.texts['lime']}, Edema"


def test_models_are_lines_where_methods_do_not_vary_and_a_single_line_needs_no_column():
    of_models = pd.concat([curves(["lime"], model=model) for model in "ab"])
    groups = read(of_models).groups
    assert (groups.line_column, groups.panel_column) == ("model", "task")
    # of two columns that may be lines the method is the one
    both = pd.concat([curves(tasks=["Edema"], model=model) for model in "ab"])
    assert (read(both).groups.line_column, read(both).groups.panel_column) == ("method", "model")
    of_one_method = read(curves(["lime"])).groups
    assert (of_one_method.texts, of_one_method.panel_column) == ({"lime": "LIME"}, "task")
    alone = curves(["lime"], ["Edema"]).drop(columns=["method", "task"])
    points, columns, groups = read(alone)
    assert (columns, groups.panel_column) == ([], None)
    rows = groups.with_line_and_panel(points.frame, own_panels=True)
    assert rows["panel"].tolist() == [""] * 3
    assert rows["method_label"].nunique() == 1


def test_curves_without_rows_or_with_two_points_at_a_place_are_an_error():
    with raises(SalstatsError, option="curves"):
        read(curves().head(0))
    with raises(SalstatsError, option="curves", rows=(12,)):
        read(pd.concat([curves(), curves().head(1)]))
    with raises(ColumnError, column="place", hint="roc_curve() makes the frame"):
        read(curves().drop(columns="place"))


def lines_of(frame, **options):
    points, _, groups = read(frame)
    rows = groups.with_line_and_panel(points.frame)
    return lines_with_bands(rows, groups.texts, groups.labels, 89.0, **options)


def test_bands_are_of_points_with_limits_below_the_lines():
    lines = lines_of(curves(), has_bands=True)
    band, line = lines.layers
    assert band.data["place"].tolist() == [0.5, 1.0] * 4
    assert {band.mapping[side] for side in ("ymin", "ymax")} == {"conf_low", "conf_high"}
    assert band.mapping["fill"] == line.mapping["linetype"] == "method_label"
    assert line.aes_params["size"] == 0.6
    assert lines.has_bands
    assert len(lines.legend) == 2
    # scales of colour, line type and fill, and their guides
    assert [scale.aesthetics[0] for scale in lines.scales[:-1]] == ["color", "linetype", "fill"]


def test_no_bands_are_drawn_where_no_point_has_limits_and_a_single_line_has_no_legend():
    for lines in (lines_of(curves(), has_bands=False), lines_of(curves(conf_low=np.nan), has_bands=True)):
        assert not lines.has_bands
        assert len(lines.layers) == 1
        assert [scale.aesthetics[0] for scale in lines.scales[:-1]] == ["color", "linetype"]
    alone = lines_of(curves(["lime"]), has_bands=True)
    assert alone.legend == []
    assert alone.scales[-1].getp("legend_position") == "none"


def test_axes_of_rates_have_their_margins_in_mm_and_a_number_at_each_fifth_if_they_are_long():
    x, y, limits = rate_axes(40.0, 39.0, margin_mm=2.0, below_mm=5.8)
    assert x.breaks == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert y.breaks == [0, 0.5, 1]
    assert limits.limits.x == pytest.approx((-0.05, 1.05))
    assert limits.limits.y == pytest.approx((-0.2, 1 + 2 / 39))
    assert not limits.expand


def test_the_diagonal_goes_from_corner_to_corner():
    line = diagonal_layer().to_layer().geom
    ends = line.data.iloc[0]
    assert line.aes_params["color"] == GUIDE
    assert ends[["x", "y", "xend", "yend"]].tolist() == [0, 0, 1, 1]


def test_a_curve_is_counted_by_its_first_point():
    points, columns, _ = read(curves())
    firsts = first_point_of_curves(points, columns).frame
    assert list(zip(firsts["method"], firsts["task"], firsts["place"], strict=True)) == [
        (method, task, 0.0) for method in ("lime", "human") for task in ("Edema", "Nodule")
    ]
    assert len(first_point_of_curves(points, [])) == 1


AREAS = pd.DataFrame(
    {
        "task": ["Nodule", "Edema"],
        "estimate": [0.5, 0.756],
        "conf_low": [np.nan, 0.6],
        "conf_high": [np.nan, 0.9],
    }
)


def test_estimates_of_curves_are_texts_in_the_order_of_the_curves():
    points, columns, _ = read(curves(["lime"]).drop(columns="method"))
    firsts = first_point_of_curves(points, columns)
    texts = estimate_texts_of_curves(read_estimates(AREAS, "auroc"), firsts, columns, "hint")
    assert texts.to_dict("list") == {
        "task": ["Edema", "Nodule"],
        "text": ["0.76", "0.50"],
        "limits": [" (0.60, 0.90)", ""],
    }
    for wrong in (AREAS.head(1), pd.concat([AREAS, AREAS.head(1)])):
        with raises(SalstatsError, option="auroc", value=len(wrong), hint="hint"):
            estimate_texts_of_curves(read_estimates(wrong, "auroc"), firsts, columns, "hint")
    # a single curve without grouping columns
    one = estimate_texts_of_curves(read_estimates(AREAS.tail(1), "auroc"), firsts.take([0]), [], "hint")
    assert one["text"].tolist() == ["0.76"]


def test_a_prediction_names_its_variables_where_there_is_one_of_each():
    sentence = predictor_and_response_sentence(read_estimates(curves()), Labels(), "as a test of")
    predictor, response = sentence.removesuffix(".").split(" as a test of ")
    assert (predictor, response) == (Labels().column("prob"), Labels().column("label"))
    assert (
        predictor_and_response_sentence(read_estimates(curves().drop(columns="response")), Labels(), "of")
        == ""
    )
    two = pd.concat([curves(), curves(predictor="iou")])
    assert predictor_and_response_sentence(read_estimates(two), Labels(), "of") == ""
