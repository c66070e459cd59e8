"""The figure of letter values: its rows, boxes, colours and words, and that it can be drawn."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, drawn_texts, nth_data, scale
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

SCORES = ss.datasets.load_simulated()
VALUES = ss.letter_values(SCORES, ["n_instances", "elongation"])
# layers in the order they are drawn
STRIPES, BOXES, OUTSIDE, MEDIANS = range(4)


def test_each_box_spans_a_pair_of_letter_values_in_its_covariates_panel():
    figure = ss.plot_letter_values(VALUES)
    columns = ["task", "covariate", "letter", "low", "high"]
    drawn, given = nth_data(figure, BOXES), VALUES[~VALUES["letter"].isin(["M", "outside"])]
    pd.testing.assert_frame_equal(
        *(f[columns].sort_values(columns).reset_index(drop=True) for f in (drawn, given))
    )
    assert set(drawn.groupby("covariate")["panel"].first()) == {"Number of instances", "Elongation"}
    ends = figure.layers[BOXES].mapping
    assert (ends["xmin"], ends["xmax"], ends["fill"]) == ("low", "high", "middle")
    assert figure.facet.free == {"x": True, "y": False}


def test_inner_boxes_are_higher_and_lie_on_the_outer_ones():
    boxes = nth_data(ss.plot_letter_values(VALUES), BOXES)
    one = boxes.query("task == 'Edema' and covariate == 'elongation'")
    # drawn in this order: the outermost first
    assert one["letter"].tolist() == ["C", "D", "E", "F"]
    assert (np.diff(one["ymax"] - one["ymin"]) > 0).all()
    assert one["middle"].tolist() == ["93.8%", "87.5%", "75%", "50%"]


def test_the_median_is_a_line_and_the_rest_are_dots():
    figure = ss.plot_letter_values(VALUES)
    medians = VALUES[VALUES["letter"] == "M"]
    drawn = nth_data(figure, MEDIANS)
    assert sorted(drawn["low"]) == sorted(medians["low"])
    # as high above the middle of its row as below it
    np.testing.assert_allclose((drawn["ymin"] + drawn["ymax"]) / 2, drawn["y"])
    assert (drawn["ymin"] < drawn["ymax"]).all()
    outside = VALUES.loc[VALUES["letter"] == "outside", ["low", "high"]].to_numpy().ravel()
    assert sorted(nth_data(figure, OUTSIDE)["value"]) == sorted(outside[~np.isnan(outside)])


def test_darker_is_further_in():
    fill = scale(ss.plot_letter_values(VALUES), "fill")
    colours = fill.palette(4)
    brightness = [sum(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in colours]
    assert fill.limits == ["50%", "75%", "87.5%", "93.8%"]
    assert brightness == sorted(brightness)


def test_cases_without_a_box_lie_beyond_none():
    few = ss.letter_values(pd.DataFrame({"x": [0.1, 0.4, 0.9, 0.3, 0.2]}), "x")
    assert "Line: median; dots: each case." in caption(ss.plot_letter_values(few))


def test_a_share_is_never_rounded_up_to_all():
    values = ss.letter_values(pd.DataFrame({"x": np.random.default_rng(1).normal(size=100_000)}), "x")
    shares = scale(ss.plot_letter_values(values), "fill").limits
    assert shares[-1] == "99.99%"
    assert len(set(shares)) == len(shares)


def test_tasks_are_rows_from_the_top_in_the_order_of_the_labels():
    figure = ss.plot_letter_values(VALUES, labels={"task": {"Edema": "Oedema"}})
    assert scale(figure, "y").labels[:2] == ["Oedema", "Atelectasis"]
    assert np.all(np.diff(scale(figure, "y").breaks) < 0)


def test_panels_stand_as_the_covariates_were_asked_for_and_take_labels():
    values = ss.letter_values(SCORES, ["prob", "area_ratio", "elongation"])
    panels = nth_data(ss.plot_letter_values(values, labels={"prob": "Certainty"}), BOXES)["panel"]
    assert list(panels.cat.categories) == ["Certainty", "Relative size", "Elongation"]


def test_caption_says_what_is_drawn_and_of_how_many():
    caption = ss.plot_letter_values(VALUES).labels.caption.replace("\n", " ")
    counts = VALUES["n"]
    assert f"n = {counts.min()} to {counts.max()}." in caption
    assert "Line: median" in caption
    assert "dots" in caption
    without = ss.plot_letter_values(VALUES[VALUES["letter"] != "outside"])
    assert "dots" not in without.labels.caption


def test_a_group_without_values_keeps_its_row_and_is_named():
    frame = SCORES.assign(elongation=SCORES["elongation"].where(SCORES["task"] != "Edema"))
    figure = ss.plot_letter_values(ss.letter_values(frame, ["elongation", "prob"]))
    assert "Edema" in scale(figure, "y").labels
    assert "Without a value: Edema, Elongation." in figure.labels.caption.replace("\n", " ")


def test_two_grouping_columns_make_a_row_for_each_pair():
    values = ss.letter_values(SCORES, "prob", by=["task", "label"])
    labels = scale(ss.plot_letter_values(values), "y").labels
    assert len(labels) == 10
    assert labels[0].startswith("Atelectasis, 0")


@pytest.mark.parametrize("values", [[0.5], [0.5] * 50])
def test_one_case_and_equal_values_are_a_line(values):
    figure = ss.plot_letter_values(ss.letter_values(pd.DataFrame({"size": values}), "size"))
    assert nth_data(figure, MEDIANS)["low"].tolist() == [0.5]
    assert drawn_texts(figure)


def test_bad_input_gets_a_sentence():
    with raises(ColumnError, column="covariate"):
        ss.plot_letter_values(SCORES)
    with raises(SalstatsError, column="n"):
        ss.plot_letter_values(ss.letter_values(SCORES.assign(prob=np.nan), "prob"))
    with raises(SalstatsError, option="labels", column="task"):
        ss.plot_letter_values(VALUES, labels={"task": {"Edema": "x", "Cardiomegaly": "x"}})
    with raises(ValueRangeError, option="n_columns", value=0):
        ss.plot_letter_values(VALUES, n_columns=0)


def test_boxes_are_as_high_as_their_share_of_the_innermost_one():
    boxes = nth_data(ss.plot_letter_values(VALUES), BOXES)
    one = boxes.query("task == 'Edema' and covariate == 'elongation'")
    heights = one["ymax"] - one["ymin"]
    # four boxes, the outermost first
    np.testing.assert_allclose(heights / heights.iloc[-1], [0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose((one["ymax"] + one["ymin"]) / 2, one["y"])
    median = nth_data(ss.plot_letter_values(VALUES), MEDIANS)
    np.testing.assert_allclose(median["ymax"] - median["ymin"], heights.iloc[-1])


def test_a_single_covariate_is_named_at_the_axis_and_boxes_without_dots_by_the_caption():
    figure = ss.plot_letter_values(ss.letter_values(SCORES, "elongation"))
    assert figure.labels.x == "Elongation"
    without = VALUES[VALUES["letter"] != "outside"]
    assert caption(ss.plot_letter_values(without)).startswith(
        "Line: median; boxes: the middle share of the cases. n = "
    )
    assert "dots: cases beyond the last box" in caption(ss.plot_letter_values(VALUES))
    medians = caption(ss.plot_letter_values(VALUES[VALUES["letter"] == "M"]))
    assert medians.startswith("Line: median. n = ")


def test_panels_stand_side_by_side_as_asked_and_the_legend_names_the_middle():
    values = ss.letter_values(SCORES, ["prob", "area_ratio", "elongation"])
    assert ss.plot_letter_values(values, width=183).facet._ncol == 3
    figure = ss.plot_letter_values(values, n_columns=1, width=183)
    assert figure.facet._ncol == 1
    assert scale(figure, "fill").name == "Middle"
