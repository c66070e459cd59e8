"""The figure of box plots: its boxes, bars, points, colours and words, and that it can be drawn."""

import numpy as np
import pandas as pd
import pytest
from display.frames import extreme_study
from display.plots.estimate_figures import caption, drawn_texts, layer_data, layers, nth_data, scale
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    FILLS,
    MM_PER_INCH,
    PALETTE,
    REFERENCE_COLOUR,
    REFERENCE_FILL,
)
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.stats.descriptions import box_values

SCORES = ss.datasets.load_simulated()
# layers in the order they are drawn
STRIPES, LOWER, UPPER, BODIES, MEDIANS, OUTSIDE, POINTS, MEANS = range(8)
KEYS = ["metric", "method", "task"]


def test_boxes_whiskers_medians_and_means_are_those_of_the_scores():
    figure = ss.plot_box(SCORES)
    boxes = box_values(SCORES)[0].query("metric == 'iou'").set_index(KEYS)
    bodies = nth_data(figure, BODIES).query("metric == 'iou'").set_index(KEYS).loc[boxes.index]
    assert (bodies["low"] == boxes["q1"]).all()
    assert (bodies["high"] == boxes["q3"]).all()
    for layer, columns in ((LOWER, ("whisker_low", "q1")), (UPPER, ("q3", "whisker_high"))):
        drawn = nth_data(figure, layer).set_index(KEYS).loc[boxes.index]
        ends = figure.layers[layer].mapping
        assert (ends["x"], ends["xend"]) == columns
        assert (drawn[list(columns)] == boxes[list(columns)]).all(axis=None)
    assert (nth_data(figure, MEDIANS).set_index(KEYS)["median"].loc[boxes.index] == boxes["median"]).all()
    assert (nth_data(figure, MEANS).set_index(KEYS)["mean"].loc[boxes.index] == boxes["mean"]).all()
    assert figure.layers[MEANS].geom.aes_params["shape"] == "D"


def test_scores_of_zero_and_one_are_bars_up_to_the_proportion_and_the_caption_says_so():
    figure = ss.plot_box(SCORES)
    bars = nth_data(figure, BODIES).query("metric == 'hit'")
    hits = SCORES.query("metric == 'hit'").groupby(["method", "task"])["score"].mean()
    assert (bars["low"] == 0).all()
    np.testing.assert_allclose(bars.set_index(["method", "task"])["high"].loc[hits.index], hits)
    for layer in (LOWER, UPPER, MEDIANS, OUTSIDE):
        assert set(nth_data(figure, layer)["metric"]) == {"iou"}
    assert "Hit rate: scores are 0 or 1" in caption(figure)
    assert "0 or 1" not in caption(ss.plot_box(SCORES.query("metric == 'iou'")))


def test_scores_that_are_all_zero_are_no_proportion():
    figure = ss.plot_box(SCORES.query("metric == 'iou'").assign(score=0.0))
    assert not nth_data(figure, BODIES)["bar"].any()


def test_methods_share_a_tasks_row_with_the_reference_on_top_and_black():
    figure = ss.plot_box(SCORES)
    one = nth_data(figure, BODIES).query("metric == 'iou' and task == 'Edema'").sort_values("y")
    assert one["method"].tolist() == ["occlusion", "gradcam", "human"]
    assert scale(figure, "fill").limits == ["Human benchmark", "Grad-CAM", "Occlusion"]
    assert list(scale(figure, "color").palette(3)) == [REFERENCE_COLOUR, *PALETTE[:2]]
    assert list(scale(figure, "fill").palette(3)) == [REFERENCE_FILL, *FILLS[:2]]
    assert "In each row from the top: Human benchmark, Grad-CAM and Occlusion." in caption(figure)


def test_another_reference_takes_the_black():
    figure = ss.plot_box(SCORES, reference="gradcam")
    assert scale(figure, "fill").limits[0] == "Grad-CAM"
    assert scale(figure, "color").palette(3)[0] == REFERENCE_COLOUR


def test_without_tasks_methods_are_the_rows_and_there_is_no_legend():
    figure = ss.plot_box(SCORES, by=["metric", "method"])
    assert scale(figure, "y").labels == ["Human benchmark", "Grad-CAM", "Occlusion"]
    assert figure.theme.getp("legend_position") == "none"
    assert "In each row" not in caption(figure)


def test_metrics_are_panels_in_the_registrys_order():
    figure = ss.plot_box(SCORES, labels={"hit": "Pointing game"})
    assert list(nth_data(figure, BODIES)["panel"].cat.categories) == ["IoU", "Pointing game"]
    assert figure.facet.free == {"x": True, "y": False}


def test_one_metric_names_its_axis_and_fits_a_column():
    figure = ss.plot_box(SCORES.query("metric == 'iou'"))
    assert figure.labels.x == "IoU"
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(COLUMN_MM)


def test_the_caption_counts_scores_and_those_left_out():
    figure = ss.plot_box(SCORES, by=["metric", "method"])
    counts = SCORES.groupby(["metric", "method"])["score"].count()
    missing = (SCORES["score"].isna() & SCORES["label"].eq(1)).sum()
    expected = f"n = {counts.min()} to {counts.max()} scores each; {missing} undefined left out."
    assert expected in caption(figure)


def test_a_group_without_a_defined_score_is_named():
    gone = (SCORES["task"] == "Edema") & (SCORES["method"] == "occlusion")
    figure = ss.plot_box(SCORES.assign(score=SCORES["score"].mask(gone)))
    assert "Without a defined score: Hit rate, Occlusion, Edema; IoU, Occlusion, Edema." in caption(figure)


def test_very_many_points_are_an_image():
    assert not ss.plot_box(SCORES).layers[OUTSIDE].raster
    rng = np.random.default_rng(1)
    wild = pd.DataFrame({"case": np.arange(40_000), "method": "gradcam", "metric": "nss"})
    wild["score"] = rng.normal(size=len(wild)) / rng.normal(size=len(wild))
    assert ss.plot_box(wild).layers[OUTSIDE].raster


@pytest.mark.parametrize(
    "scores",
    [
        SCORES.head(1),
        SCORES.query("metric == 'iou'").assign(score=0.5),
        SCORES.query("method == 'gradcam' and task == 'Edema' and metric == 'hit'"),
    ],
    ids=["one case", "all equal", "one method, one task"],
)
def test_little_input_is_drawn(scores):
    figure = ss.plot_box(scores)
    assert len(nth_data(figure, BODIES)) == scores.groupby(KEYS).ngroups
    assert drawn_texts(figure)


@pytest.mark.parametrize(("metric", "beyond"), [("iou", [3.0]), ("hit", [])])
@pytest.mark.filterwarnings("ignore:.*iou 3 lies outside its range:salstats.errors.SalstatsWarning")
@pytest.mark.filterwarnings("ignore:rows of 3 methods:salstats.errors.SalstatsWarning")
def test_without_groups_there_is_one_box_of_all_scores(metric, beyond):
    scores = SCORES.query("metric == @metric").reset_index(drop=True)
    scores.loc[scores.index[: len(beyond)], "score"] = beyond
    figure = ss.plot_box(scores, by=[])
    assert nth_data(figure, BODIES)["mean"].tolist() == pytest.approx([scores["score"].mean()])
    assert nth_data(figure, OUTSIDE)["score"].tolist() == beyond
    assert drawn_texts(figure)


def test_a_metric_without_scores_has_no_boxes_and_scores_without_metrics_have_those_of_all_groups():
    lost = SCORES.assign(score=SCORES["score"].mask(SCORES["metric"] == "hit"))
    assert set(nth_data(ss.plot_box(lost), BODIES)["metric"]) == {"iou"}
    iou = SCORES.query("metric == 'iou'").reset_index(drop=True)
    some = iou.assign(score=iou["score"].mask(iou["method"] == "human"))
    assert set(nth_data(ss.plot_box(some, by="method"), BODIES)["method"]) >= {"gradcam", "occlusion"}
    one = iou[iou["method"] == "human"].assign(score=np.nan)
    for by in ("method", []):
        with raises(SalstatsError, column="score", value=len(one)):
            ss.plot_box(one, by=by)


def test_bad_input_gets_a_sentence():
    with raises(SalstatsError, column="score", value=len(SCORES)):
        ss.plot_box(SCORES.assign(score=np.nan))
    with raises(
        ValueRangeError, option="reference", value="Humen", choices=("gradcam", "occlusion", "human")
    ):
        ss.plot_box(SCORES, reference="Humen")
    with raises(ColumnError, column="metric", hint="add 'metric' to by, or keep one of them"):
        ss.plot_box(SCORES, by="method")
    with raises(ValueRangeError, option="n_columns", value=0):
        ss.plot_box(SCORES, n_columns=0)


FEW = SCORES.query("metric == 'iou' and task == 'Edema'").groupby("method").head(20).reset_index(drop=True)


def test_every_score_is_a_dot_where_a_method_has_at_most_twenty():
    figure = ss.plot_box(FEW, by="method")
    assert sorted(nth_data(figure, POINTS)["score"]) == sorted(FEW["score"].dropna())
    assert nth_data(figure, OUTSIDE).empty
    assert "dots: scores, where these are at most 20" in caption(figure)
    many = ss.plot_box(SCORES)
    assert nth_data(many, POINTS).empty
    assert "dots: scores beyond" in caption(many)


def test_rainclouds_have_the_density_above_the_box_and_all_scores_below():
    figure = ss.plot_box(SCORES, form="raincloud")
    clouds = layer_data(figure, "geom_ribbon")
    boxes = layer_data(figure, "geom_rect")
    dots = layer_data(figure, "geom_point", 1)
    group = ["task", "method"]
    iou = SCORES.query("metric == 'iou'").dropna(subset="score")
    assert len(dots) == len(iou)
    for keys, rows in dots.groupby(group):
        box = boxes.query("metric == 'iou'").set_index(group).loc[keys]
        assert rows["y"].max() < box["ymin"]
        assert (clouds["ymin"] > box["ymax"]).any()
    # the area of each cloud is the same
    areas = clouds.groupby("y")[["value", "density"]].apply(
        lambda cloud: np.trapezoid(cloud["density"], cloud["value"])
    )
    assert areas.between(0.9, 1.0).all()
    assert set(clouds["panel"]) == {"IoU"}


def test_half_eyes_have_a_median_and_quartiles_instead_of_a_box():
    figure = ss.plot_box(SCORES.query("metric == 'iou'"), form="halfeye")
    lines = layer_data(figure, "geom_segment", -1)
    boxes = box_values(SCORES)[0].query("metric == 'iou'")
    assert sorted(lines["q1"]) == sorted(boxes["q1"])
    assert sorted(layer_data(figure, "geom_point")["median"]) == sorted(boxes["median"])
    assert "diamonds" not in caption(figure)


def test_few_scores_have_no_cloud():
    nine = FEW.groupby("method").head(9)
    assert not layers(ss.plot_box(nine, by="method", form="halfeye"), "geom_ribbon")


@pytest.mark.parametrize("form", ["raincloud", "halfeye"])
def test_hits_are_bars_in_every_form(form):
    hits = SCORES.query("metric == 'hit'")
    figure = ss.plot_box(hits, form=form)
    assert layer_data(figure, "geom_rect")["bar"].all()
    assert drawn_texts(figure)


def test_an_unknown_form_is_an_error():
    with raises(ValueRangeError, option="form", value="violin"):
        ss.plot_box(SCORES, form="violin")


@pytest.mark.parametrize("form", ["box", "raincloud", "halfeye"])
def test_rows_without_scores_say_so(form):
    """No score of Fracture is defined, and hits are of two of the four tasks."""
    figure = ss.plot_box(extreme_study(), form=form)
    words = layer_data(figure, "geom_row_text")
    y_of_task = dict(zip(scale(figure, "y").labels, scale(figure, "y").breaks, strict=True))
    expected = {("IoU", "Fracture"): "not defined"}
    expected |= {("Hit rate", task): "no scores" for task in ("Fracture", "Pneumothorax")}
    drawn = {}
    for row in words.itertuples():
        nearest_task = min(y_of_task, key=lambda task: abs(y_of_task[task] - row.y))
        drawn[row.panel, nearest_task] = row.text
    assert drawn == expected
    # both methods of the task that has undefined scores
    assert len(words) == 4


def test_panels_of_distances_say_that_smaller_is_better():
    figure = ss.plot_box(SCORES.replace({"metric": {"hit": "hd95"}}))
    assert list(nth_data(figure, 2)["panel"].cat.categories) == [
        "IoU",
        "95th-percentile Hausdorff distance (smaller is better)",
    ]


@pytest.mark.parametrize("by", [["method"], ["method", "task"]])
def test_boxes_lie_around_the_middle_of_their_room(by):
    figure = ss.plot_box(SCORES.query("metric == 'iou' and method != 'occlusion'"), by=by)
    bodies = nth_data(figure, BODIES)
    assert ((bodies["ymin"] + bodies["ymax"]) / 2).tolist() == pytest.approx(list(bodies["y"]))
    assert nth_data(figure, MEANS)["y"].tolist() == pytest.approx(list(bodies["y"]))
    # methods that share a row lie as far above as below its middle
    middles = bodies.groupby(by[-1])["y"].mean()
    assert sorted(middles) == pytest.approx(sorted(scale(figure, "y").breaks))
    # the median goes from edge to edge of the box
    ends = figure.layers[MEDIANS].mapping
    assert (ends["y"], ends["yend"]) == ("ymin", "ymax")
