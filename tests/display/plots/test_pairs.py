"""Estimation plots: the lines of pairs, their differences, and means and intervals of the frame given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.frames import large_study, small_study
from display.plots.estimate_figures import caption, drawn_texts, layer_data, layers, scale
from display.plots.paired_scores import clustered, of_hospitals, small
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import salstats as ss
from salstats.display.plots.layout.theme import PALETTE
from salstats.display.plots.pairs import _breaks_of_panel_with_limits

#: Warnings that frames of few units give are not what is drawn here.
pytestmark = pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
SCORES = ss.datasets.load_simulated()
KEYS = ["metric", "task", "method"]


def segments(figure, number=0):
    """Ends of the lines of a layer, sorted."""
    lines = layer_data(figure, "geom_segment", number)
    return sorted(lines[["score", "next_score"]].round(12).itertuples(index=False, name=None))


def test_a_line_joins_both_scores_of_a_case():
    scores, differences = small()
    figure = ss.plot_pairs(scores, differences)
    wide = scores.pivot(index="case", columns="method", values="score").round(12)
    assert segments(figure) == sorted(zip(wide["gradcam"], wide["occlusion"], strict=True))
    np.testing.assert_allclose(
        figure.data["difference"], figure.data["score"] - figure.data["reference_score"]
    )
    assert "Lines: cases" in caption(figure)


def test_means_and_intervals_are_those_of_the_frame():
    differences = ss.difference(SCORES, reference="human")
    figure = ss.plot_pairs(SCORES, differences)
    expected = differences.set_index(KEYS)
    bars = layer_data(figure, "geom_linerange").set_index(KEYS).loc[expected.index]
    assert (bars[["conf_low", "conf_high"]] == expected[["conf_low", "conf_high"]]).all(axis=None)
    dots = layer_data(figure, "geom_point", -1).set_index(KEYS).loc[expected.index]
    assert (dots["estimate"] == expected["estimate"]).all()
    means = layer_data(figure, "geom_segment", -1)
    assert set(expected["method_mean"]) | set(expected["reference_mean"]) == set(means["mean"])


def test_one_difference_stands_beside_its_scores_with_zero_at_the_mean_of_the_reference():
    scores, differences = small()
    figure = ss.plot_pairs(scores, differences)
    assert list(figure.data["panel"].cat.categories) == ["Scores", "Scores: difference"]
    assert (figure.facet.dir, figure.facet._ncol) == ("h", 2)
    # the panel of the differences has no names below it
    figure.facet.environment = figure.environment
    layout = figure.facet.compute_layout([layer_data(figure, "geom_blank")])
    assert layout["AXIS_X"].tolist() == [True, False]
    ends = layer_data(figure, "geom_blank").set_index("panel")
    offset = ends.loc["Scores", ["low", "high"]] - ends.loc["Scores: difference", ["low", "high"]]
    np.testing.assert_allclose(offset.astype(float), differences["reference_mean"].iloc[0])
    # a line leads from the scores to the mean of the differences
    guides = [layer._data for layer in layers(figure, "geom_segment") if "conf_low" in layer._data]
    assert [guide["estimate"].tolist() for guide in guides] == [differences["estimate"].tolist()]


def test_differences_of_several_methods_stand_below_and_lines_pass_through_all_of_them():
    scores = SCORES.query("metric == 'iou' and task == 'Edema'")
    figure = ss.plot_pairs(scores, ss.difference(scores, reference="human"))
    assert (figure.facet.dir, figure.facet._nrow) == ("v", 2)
    lines = layer_data(figure, "geom_segment")
    assert set(zip(lines["place"], lines["next_place"], strict=True)) == {(1, 2), (2, 3)}
    assert [text.replace("\n", " ") for text in scale(figure, "x").labels] == [
        "Human benchmark",
        "Grad-CAM",
        "Occlusion",
    ]


def test_numbers_of_an_axis_of_scores_end_with_the_scores():
    axes = pd.DataFrame({"low": [-0.4], "high": [1.2], "first_number": [0.0], "last_number": [1.0]})
    breaks = _breaks_of_panel_with_limits((-0.4, 1.2), axes, 40)
    assert (breaks[0], breaks[-1]) == (0, 1)


def test_lines_of_patients_with_several_cases_are_their_means_and_cases_are_pale():
    scores, differences = clustered()
    figure = ss.plot_pairs(scores, differences)
    assert segments(figure) == [(0.4, 0.2), (0.8, 0.4), (0.9, 0.5)]
    assert segments(figure, 1) == [(0.6, 0.3), (0.9, 0.5)]
    pale, dark = (layer_data(figure, "geom_segment", number)["alpha"] for number in (0, 1))
    assert pale.max() < dark.min()
    assert "means of each patient" in caption(figure)


def test_few_units_of_several_cases_have_a_colour_each_and_hits_none():
    scores, differences = of_hospitals(8)
    figure = ss.plot_pairs(scores, differences)
    assert scale(figure, "color").limits == [f"H{i}" for i in range(8)]
    hospitals = scores.drop_duplicates("case").set_index("case")["hospital"]
    of_unit = figure.data["case"].map(hospitals).where(figure.data["metric"] == "iou", "")
    assert (figure.data["unit_label"] == of_unit).all()
    drawn = figure.draw(show=False)
    lines = [lines for axes in drawn.axes for lines in axes.collections if isinstance(lines, LineCollection)]
    colours = {to_hex(colour).upper() for collection in lines for colour in collection.get_edgecolor()}
    plt.close(drawn)
    assert set(PALETTE) <= colours


def test_differences_by_a_cluster_have_a_panel_for_each():
    scores, _ = of_hospitals(3)
    differences = ss.difference(scores, reference="human", by=["metric", "hospital"], n_replicates=99)
    panels = ss.plot_pairs(scores, differences.query("metric == 'iou'")).data["panel"].cat.categories
    assert list(panels[::2]) == ["H0", "H1", "H2"]


def test_widths_of_lines_of_hits_show_how_many_pairs_they_are():
    pairs = [(1, 1)] * 6 + [(1, 0)] * 3 + [(0, 0)]
    rows = [(f"c{i}", *pair) for i, pair in enumerate(pairs)]
    scores = pd.DataFrame(rows, columns=["case", "human", "cam"]).melt(
        "case", var_name="method", value_name="score"
    )
    scores = scores.assign(metric="hit")
    figure = ss.plot_pairs(scores, ss.difference(scores, reference="human"))
    lines = layer_data(figure, "geom_segment").set_index(["score", "next_score"])["size"]
    thin = lines.min()
    # as many more as pairs: 6, 3 and 1 of 10
    np.testing.assert_allclose((lines[(1, 1)] - thin) / (lines[(1, 0)] - thin), (6 - 1) / (3 - 1))
    assert not layers(figure, "geom_polygon")
    assert "number of pairs" in caption(figure)


@pytest.mark.parametrize(
    "select",
    [
        lambda scores: scores[scores["case"] < "case009"],
        lambda scores: scores.assign(score=scores["score"].round()),
        lambda scores: scores.assign(score=np.where(scores["method"] == "gradcam", 0.5, 0.25)),
    ],
    ids=["few pairs", "0/1 scores", "equal differences"],
)
def test_clouds_are_captioned_only_where_they_are_drawn(select):
    scores, differences = small()
    with_cloud = ss.plot_pairs(scores, differences)
    assert len(layers(with_cloud, "geom_polygon")) == 1
    assert "clouds" in caption(with_cloud)
    scores = select(scores)
    without_cloud = ss.plot_pairs(scores, ss.difference(scores, reference="gradcam", interval="t"))
    assert not layers(without_cloud, "geom_polygon")
    assert "clouds" not in caption(without_cloud)
    assert "dots" in caption(without_cloud)


def test_lines_of_hits_are_pairs_also_beside_means_of_patients():
    scores, _ = clustered()
    hits = scores.assign(metric="hit", score=(scores["score"] > 0.4).astype(float))
    scores = pd.concat([scores, hits], ignore_index=True)
    figure = ss.plot_pairs(scores, ss.difference(scores, reference="human", interval="t"))
    lines = layer_data(figure, "geom_segment", 1)
    lines_of_hits = lines[lines["binary"]]
    assert lines_of_hits["n_equal"].sum() == 3
    assert "Of scores that are 0 or 1, lines: pairs" in caption(figure).replace("\n", " ")


def test_many_lines_are_thinner_ink_than_few():
    many = large_study(200, 200).query("metric == 'iou' and task == 'Edema' and method in ['lime', 'ig']")
    alphas = [
        layer_data(ss.plot_pairs(scores, ss.difference(scores, reference=reference)), "geom_segment")[
            "alpha"
        ].max()
        for scores, reference in ((small_study(), "gradcam"), (many, "ig"))
    ]
    assert alphas[1] < 0.2 * alphas[0]


def test_undefined_groups_are_named():
    scores = SCORES.query("metric == 'iou'").assign(
        score=lambda frame: frame["score"].where(frame["task"] != "Edema")
    )
    figure = ss.plot_pairs(scores, ss.difference(scores, reference="human", interval="t"))
    assert "Edema" not in set(figure.data["task"])
    assert "Undefined, not drawn" in caption(figure)


def test_margins_are_dotted_lines():
    scores, _ = small()
    differences = ss.difference(scores, reference="gradcam", margin=0.05)
    lines = layers(ss.plot_pairs(scores, differences), "geom_hline")
    assert sorted(lines[1]._data["bound"]) == [-0.05, 0.05]


def test_scores_of_distances_say_that_smaller_is_better():
    distance = "95th-percentile Hausdorff distance (smaller is better)"
    scores = SCORES.replace({"metric": {"hit": "hd95"}})
    of_two = ss.plot_pairs(scores, ss.difference(scores, reference="human", by="metric"))
    assert list(of_two.data["panel"].cat.categories)[::2] == ["IoU", distance]
    scores = scores.query("metric == 'hd95'")
    of_one = ss.plot_pairs(scores, ss.difference(scores, reference="human", by="metric"))
    assert of_one.labels.y == distance


def test_a_word_of_a_title_that_fits_the_panel_is_not_broken():
    # "Cardiomegaly," is narrower than one of five panels, but wider without the room for long numbers
    figure = ss.plot_pairs(SCORES, ss.difference(SCORES, reference="human", interval="t"))
    assert figure.facet._nrow == 4
    titles = [text.split() for text in drawn_texts(figure) if "IoU" in text]
    assert ["Cardiomegaly,", "IoU"] in titles


def test_dots_of_differences_are_spread_at_the_left_and_those_of_hits_stand_below_each_other():
    scores = SCORES.query("task == 'Edema'")
    figure = ss.plot_pairs(scores, ss.difference(scores, reference="human", interval="t"))
    dots = layer_data(figure, "geom_point", 1)
    left = dots["place"] - dots["x"]
    hits = left[dots["binary"]]
    others = left[~dots["binary"]]
    assert (others.min(), others.max()) == pytest.approx((0.1, 0.36), abs=0.01)
    assert hits.tolist() == pytest.approx([(0.1 + 0.36) / 2] * len(hits))
    # five times as large as the smallest dot would be a dot of all pairs; its area shows the share of pairs
    share = dots["n_equal"] / dots["n_dots"]
    size = dots["size"]
    for _, of_method in dots[dots["binary"]].groupby(["panel", "mark"], observed=True):
        assert share[of_method.index].sum() == pytest.approx(1)
        np.testing.assert_allclose(size[of_method.index], 0.7 + 4.3 * np.sqrt(share[of_method.index]))
    assert set(size[~dots["binary"]]) == {0.7}
    # a rim would add to the area of the dots of scores and of differences
    assert [layer.geom.aes_params["stroke"] for layer in layers(figure, "geom_point")[:2]] == [0, 0]


def test_an_axis_of_differences_has_zero_and_all_that_is_drawn():
    scores, _ = small()
    scores = scores.assign(score=scores["score"] + (scores["method"] == "occlusion"))
    differences = ss.difference(scores, reference="gradcam", interval="t")
    figure = ss.plot_pairs(scores, differences)
    ends = layer_data(figure, "geom_blank").set_index("panel")
    drawn = ends.loc["Scores: difference"]
    # the differences are about 1, and both axes have one length
    largest = max(figure.data["difference"].max(), differences["conf_high"].max())
    scores_range = scores["score"].max() - differences["reference_mean"].iloc[0]
    assert drawn["high"] == pytest.approx(max(largest, scores_range))
    assert drawn["low"] == pytest.approx(scores["score"].min() - differences["reference_mean"].iloc[0])
    wide = differences.assign(conf_low=-2.0, conf_high=5.0)
    drawn = layer_data(ss.plot_pairs(scores, wide), "geom_blank").set_index("panel").loc["Scores: difference"]
    assert (drawn["low"], drawn["high"]) == pytest.approx((-2.0, 5.0))


def test_axes_of_differences_below_their_scores_begin_at_zero_where_all_are_positive():
    scores = SCORES.query("metric == 'iou' and task == 'Edema'")
    scores = scores.assign(score=scores["score"] + (scores["method"] != "human"))
    figure = ss.plot_pairs(scores, ss.difference(scores, reference="human", interval="t"))
    drawn = layer_data(figure, "geom_blank").set_index("panel").loc["Scores: difference"]
    assert figure.data["difference"].min() > 0
    assert drawn["low"] == 0
    assert drawn["high"] == pytest.approx(figure.data["difference"].max())
