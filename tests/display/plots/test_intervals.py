"""The figure of estimates with intervals: rows and their order, marks, panels, words, drawing."""

from pathlib import Path

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import (
    bars,
    caption,
    decreases,
    estimates,
    layer_data,
    layers,
    legend,
    row_labels,
)
from matplotlib.testing.compare import compare_images
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    MM_PER_INCH,
    PAGE_MM,
    PALETTE,
    REFERENCE_COLOUR,
    REFERENCE_SHAPE,
)
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

BASELINE = Path(__file__).parent / "baseline" / "intervals.png"
#: Root mean square of grey levels: one mark or bar that is missing or stands elsewhere gives 3 or more,
#: edges that another version of Matplotlib smooths otherwise give less than 1.
RMS = 2.0


def test_a_mark_stands_for_every_row_with_its_panel_and_its_interval():
    frame = estimates()
    figure = ss.plot_intervals(frame)
    assert list(figure.data["estimate"]) == list(frame["estimate"])
    assert list(figure.data["panel"].cat.categories) == ["Mean IoU", "Hit rate"]
    assert dict(figure.mapping) == {"x": "estimate", "y": "y"}
    marks = layers(figure, "geom_point")[0].mapping
    assert marks["color"] == marks["shape"] == "method_label"
    pd.testing.assert_frame_equal(bars(figure)[["conf_low", "conf_high"]], frame[["conf_low", "conf_high"]])
    assert figure.labels.x == "Mean (95% CI)"
    bars_text = "Bars: 95% percentile bootstrap intervals, unit: patient."
    assert caption(figure) == f"{bars_text} 1,234 scores per estimate."


def test_tasks_stand_by_significance_then_size_of_the_decrease():
    values = {"A": 20.0, "B": 3.0, "C": 60.0, "D": -40.0, "E": 4.0}
    figure = ss.plot_intervals(estimates(tasks=[*values, "Average"]), decrease=decreases(values))
    assert row_labels(figure) == ["C", "A", "E", "B", "D", "Average"]
    assert "Sorted by significance (interval excludes 0), then size, of the decrease in IoU" in caption(
        figure
    )
    assert "from human benchmark to Grad-CAM." in caption(figure)


def test_a_decrease_without_verdict_is_significant_where_its_interval_and_p_value_say_so():
    values = {"A": 90.0, "B": 60.0, "C": 30.0}
    decrease = decreases(values, half_width=[95.0, 5.0, 5.0], p_adjusted=[0.001, 0.2, 0.001]).drop(
        columns="verdict"
    )
    figure = ss.plot_intervals(estimates(tasks=list(values)), decrease=decrease, style="ama")
    assert row_labels(figure) == ["C", "A", "B"]
    assert "(interval excludes 0 and adjusted P < .05)" in caption(figure)


def test_the_first_metric_and_the_asked_for_method_order_the_tasks():
    first, second = {"A": 10.0, "B": 50.0}, {"A": 50.0, "B": 10.0}
    decrease = pd.concat(
        [decreases(second, metric="hit"), decreases(first), decreases(second, method="occlusion")]
    )
    frame = estimates(tasks=["A", "B"], methods=["gradcam", "occlusion", "human"])
    assert row_labels(ss.plot_intervals(frame, decrease=decrease)) == ["B", "A"]
    assert row_labels(ss.plot_intervals(frame, decrease=decrease, method="occlusion")) == ["A", "B"]
    assert row_labels(ss.plot_intervals(frame, decrease=decrease, sort="labels")) == ["A", "B"]


def test_tasks_stand_in_the_order_of_the_labels_or_of_the_estimates():
    frame = estimates(tasks=["A", "B", "C", "Average"])
    assert row_labels(ss.plot_intervals(frame)) == ["A", "B", "C", "Average"]
    labels = {"task": {"C": "Third"}, "A": "First"}
    assert row_labels(ss.plot_intervals(frame, labels=labels)) == ["Third", "B", "First", "Average"]
    assert row_labels(ss.plot_intervals(frame, sort="estimate")) == ["C", "B", "A", "Average"]


def test_the_smallest_decrease_of_a_score_is_the_best_estimate():
    frame = decreases({"A": 30.0, "B": 10.0, "C": 20.0})
    assert row_labels(ss.plot_intervals(frame, sort="estimate")) == ["B", "C", "A"]
    frame = frame.assign(term="difference")
    assert row_labels(ss.plot_intervals(frame, sort="estimate")) == ["A", "C", "B"]


def test_the_auroc_stands_behind_the_task_and_the_caption_says_so():
    areas = pd.DataFrame({"task": ["Edema", "Nodule"], "term": "auroc", "estimate": [0.9666, np.nan]})
    figure = ss.plot_intervals(estimates(), auroc=areas, labels={"Edema": "Pulmonary oedema, left"})
    assert row_labels(figure) == ["Nodule", "Pulmonary oedema, left (0.97)"]
    assert caption(figure).endswith("In parentheses: AUROC of the classifier.")


def test_the_reference_is_a_black_diamond_and_stands_first():
    frame = estimates(methods=["gradcam", "human", "reader b"])
    shown = legend(ss.plot_intervals(frame))
    assert list(shown) == ["Human benchmark", "Grad-CAM", "reader b"]
    assert shown["Human benchmark"] == (REFERENCE_COLOUR, REFERENCE_SHAPE)
    assert shown["Grad-CAM"][0] == PALETTE[0]
    named = legend(ss.plot_intervals(frame, reference="reader b"))
    assert named["reader b"] == (REFERENCE_COLOUR, REFERENCE_SHAPE)
    assert named["Human benchmark"][0] != REFERENCE_COLOUR
    decrease = decreases({"Edema": 1.0}, reference="reader b")
    assert legend(ss.plot_intervals(frame, decrease=decrease))["reader b"][0] == REFERENCE_COLOUR


def test_a_line_marks_zero_or_chance_where_the_metric_has_one():
    frame = estimates(metrics=["iou", "auc", "kl", "nss", "my score"])
    guides = layer_data(ss.plot_intervals(frame), "geom_vline").set_index("panel")["guide"].to_dict()
    assert guides == {
        "Mean IoU": 0.0,
        "Mean AUC": 0.5,
        "Mean KL divergence (smaller is better)": 0.0,
        "Mean NSS": 0.0,
    }
    assert "Grey line: chance." in caption(ss.plot_intervals(frame))
    assert "chance" not in caption(ss.plot_intervals(estimates()))


def test_estimates_without_interval_are_marks_without_bar():
    frame = estimates(metrics=["iou"])
    frame.loc[0, ["conf_low", "conf_high"]] = np.nan
    figure = ss.plot_intervals(frame)
    assert len(figure.data) == 4
    assert len(bars(figure)) == 3
    assert "marks without bar have none" in caption(figure)
    without = ss.plot_intervals(frame.drop(columns=["conf_low", "conf_high"]))
    assert caption(without) == "No confidence intervals. 1,234 scores per estimate."
    assert without.labels.x == "Mean IoU"


def test_rows_without_an_estimate_say_so_in_the_colour_of_their_method():
    frame = estimates(tasks=["A", "B", "C"], metrics=["iou"])
    frame.loc[[0, 3, 4, 5], "estimate"] = np.nan
    figure = ss.plot_intervals(frame)
    places = layer_data(figure, "geom_row_text")
    assert places["text"].tolist() == ["not defined"] * 4
    undefined = figure.data[figure.data["estimate"].isna()]
    colour_of = {text: colour for text, (colour, _) in legend(figure).items()}
    assert places["colour"].tolist() == [colour_of[text] for text in undefined["method_label"]]
    assert places["y"].tolist() == undefined["y"].tolist()
    assert "4 of 6 estimates are not defined." in caption(figure)


def test_a_metric_of_which_less_is_better_says_so_with_its_unit():
    frame = estimates(metrics=["iou", "hd95"], distance_unit=[None] * 4 + ["mm"] * 4)
    assert list(ss.plot_intervals(frame).data["panel"].cat.categories) == [
        "Mean IoU",
        "Mean 95th-percentile Hausdorff distance (mm, smaller is better)",
    ]
    alone = ss.plot_intervals(estimates(metrics=["deletion"]))
    assert alone.labels.x == "Mean Deletion AUC (smaller is better) (95% CI)"


def test_without_tasks_the_methods_are_the_rows():
    frame = estimates(tasks=["x"]).drop(columns="task")
    figure = ss.plot_intervals(frame)
    assert row_labels(figure) == ["Grad-CAM", "Human benchmark"]
    assert figure.theme.getp("legend_position") == "none"
    alone = frame[:1].drop(columns=["metric", "method"])
    assert row_labels(ss.plot_intervals(alone)) == [""]


def test_one_further_column_becomes_panels_and_two_are_an_error_that_names_them():
    frame = pd.concat([estimates().assign(model=m) for m in ("b", "a")])
    panels = list(ss.plot_intervals(frame).data["panel"].cat.categories)
    assert panels == ["a, Mean IoU", "a, Hit rate", "b, Mean IoU", "b, Hit rate"]
    both = pd.concat([frame.assign(dataset=d) for d in ("x", "y")])
    with raises(SalstatsError, column="model", value=["dataset", "model"]):
        ss.plot_intervals(both)
    assert len(ss.plot_intervals(both.query("dataset == 'x'")).data) == len(frame)


def test_three_models_of_one_metric_stand_side_by_side_on_one_axis():
    frame = pd.concat(
        [estimates(metrics=["iou"], model=m, estimate=e) for m, e in (("a", 0.3), ("b", 0.6), ("c", 0.9))]
    )
    figure = ss.plot_intervals(frame.assign(conf_low=0.2, conf_high=frame["estimate"] + 0.05))
    assert figure.facet._ncol == 3
    assert not figure.facet.free["x"]
    # without a column of metrics they are taken for one
    assert not ss.plot_intervals(frame.drop(columns="metric")).facet.free["x"]


def test_panels_of_metrics_have_an_axis_each_also_beside_those_of_models():
    assert ss.plot_intervals(estimates(metrics=["iou", "hit"])).facet.free["x"]
    of_models = pd.concat([estimates(metrics=["iou", "hit"], model=model) for model in "ab"])
    assert ss.plot_intervals(of_models).facet.free["x"]


def test_pooled_rates_are_named_by_the_panel_or_the_axis():
    rates = estimates(metrics=["precision", "recall"], term="pooled_rate")
    both = ss.plot_intervals(rates)
    assert list(both.data["panel"].cat.categories) == ["Precision", "Recall"]
    assert both.labels.x == "Pooled rate (95% CI)"
    assert ss.plot_intervals(rates.query("metric == 'recall'")).labels.x == "Pooled recall (95% CI)"
    iou = estimates(metrics=["iou"], term="pooled_rate")
    assert ss.plot_intervals(iou).labels.x == "Pooled IoU (95% CI)"


@pytest.mark.parametrize(
    ("change", "error", "expected"),
    [
        (lambda f: f.assign(estimate="high"), ColumnError, {"column": "estimate", "match": "numeric"}),
        (lambda f: f.assign(conf_low="low"), ColumnError, {"column": "conf_low"}),
        (lambda f: f.assign(estimate=np.inf), ColumnError, {"column": "estimate", "rows": tuple(range(8))}),
        (lambda f: f.assign(estimate=np.nan), SalstatsError, {"column": "estimate", "match": "8 rows"}),
        (lambda f: f.assign(term=["a", "b"] * 4), SalstatsError, {"column": "term", "choices": ("a", "b")}),
        (
            lambda f: f.assign(formula="iou ~ x"),
            SalstatsError,
            {"column": "formula", "hint": "use plot_regression()"},
        ),
        (lambda f: pd.concat([f, f]), SalstatsError, {"match": "metric iou, method gradcam"}),
        (lambda f: f.to_dict(), SalstatsError, {"option": "estimates"}),
    ],
)
def test_estimates_that_cannot_be_drawn_are_an_error(change, error, expected):
    with raises(error, **expected):
        ss.plot_intervals(change(estimates()))


@pytest.mark.parametrize(
    ("options", "error", "expected"),
    [
        ({"sort": "decreasing"}, ValueRangeError, {"option": "sort", "value": "decreasing"}),
        ({"sort": "decrease"}, SalstatsError, {"option": "sort", "value": "decrease"}),
        ({"style": "lancet"}, ValueRangeError, {"option": "style", "value": "lancet"}),
        (
            {"decrease": decreases({"Fracture": 1.0})},
            SalstatsError,
            {"option": "decrease", "column": "task", "choices": ("Fracture",)},
        ),
        (
            {"decrease": decreases({"Edema": 1.0}).drop(columns="task")},
            ColumnError,
            {"option": "decrease", "column": "task"},
        ),
        (
            {"decrease": decreases({"Edema": 1.0}), "method": "lime"},
            SalstatsError,
            {"option": "method", "value": "lime", "choices": ("gradcam",)},
        ),
        ({"decrease": estimates()}, SalstatsError, {"option": "decrease", "match": "term 'mean'"}),
        (
            {"auroc": pd.DataFrame({"task": ["Edema"] * 2, "estimate": 0.9})},
            SalstatsError,
            {"match": "auroc has more than one row"},
        ),
        (
            {"auroc": pd.DataFrame({"estimate": [0.9]})},
            ColumnError,
            {"option": "auroc", "column": "task"},
        ),
        ({"reference": "radiologist"}, SalstatsError, {"option": "reference", "value": "radiologist"}),
        ({"labels": ["Edema"]}, SalstatsError, {"match": "mapping"}),
        ({"labels": {"Edema": "Same", "Nodule": "Same"}}, SalstatsError, {"match": "same label"}),
    ],
)
def test_options_that_do_not_fit_are_an_error(options, error, expected):
    with raises(error, **expected):
        ss.plot_intervals(estimates(), **options)


def test_the_figure_is_as_wide_as_a_page_or_with_one_panel_as_a_column():
    for metrics, width in ((["iou", "hit"], PAGE_MM), (["iou"], COLUMN_MM)):
        figure = ss.plot_intervals(estimates(metrics=metrics))
        assert figure.theme.getp("figure_size")[0] == pytest.approx(width / MM_PER_INCH)
    short, tall = (
        ss.plot_intervals(estimates(tasks=[f"t{i}" for i in range(n)])).theme.getp("figure_size")[1]
        for n in (5, 25)
    )
    assert tall > 3 * short


def baseline_figure():
    """A figure of numbers made by hand, without words: each version of FreeType sets these elsewhere."""
    values = {"Atelectasis": 40.0, "Edema": 20.0, "Nodule": 2.0}
    frame = estimates(tasks=[*values, "Average"], methods=["gradcam", "human", "occlusion"])
    figure = ss.plot_intervals(frame, decrease=decreases(values))
    words = ("axis_text", "axis_title", "strip_text", "plot_caption")
    return figure + p9.theme(legend_position="none", **dict.fromkeys(words, p9.element_blank()))


def test_stripes_marks_bars_and_lines_look_as_they_did(tmp_path):
    """Remade by `PYTHONPATH=tests python tests/display/plots/test_intervals.py`, after a look at it."""
    made = ss.save_figure(
        baseline_figure(), tmp_path / "intervals.png", width=COLUMN_MM, dpi=100, caption=True
    )
    assert BASELINE.is_file()
    assert compare_images(str(BASELINE), str(made), tol=RMS) is None


if __name__ == "__main__":
    ss.save_figure(baseline_figure(), BASELINE, width=COLUMN_MM, dpi=100, caption=True, overwrite=True)


def test_bars_beyond_the_limits_end_in_arrows():
    figure = ss.plot_intervals(estimates(metrics=["iou"]), limits=(0.25, 0.35))
    assert bars(figure)["conf_high"].max() == 0.35
    assert bars(figure)["conf_low"].min() == 0.25
    # marks, and arrows to the left and to the right
    assert len(layers(figure, "geom_point")) >= 3
    assert "Bars that end in an arrow go on beyond the axis." in caption(figure)
    # no estimate is beyond the axis, and the numbers of those that are stand in the caption
    assert "0.330" not in caption(figure)
    cut = ss.plot_intervals(estimates(metrics=["iou"]), limits=(0.25, 0.325))
    assert "0.330 (0.230, 0.430)" in caption(cut)
    assert "0.320" not in caption(cut)


def test_four_panels_stand_in_a_square_and_five_in_rows_of_three():
    def n_columns(*metrics):
        return ss.plot_intervals(estimates(metrics=metrics), width=183).facet._ncol

    assert n_columns("iou", "hit", "dice", "auc") == 2
    assert n_columns("iou", "hit", "dice", "auc", "nss") == 3
    of_models = pd.concat([estimates(metrics=["iou", "hit"], model=model) for model in "ab"])
    # a row of metrics for each model
    assert ss.plot_intervals(of_models, width=183).facet._ncol == 2


@pytest.mark.parametrize(("models", "n_columns"), [("abc", 3), ("abcd", 2), ("abcde", 3)])
def test_panels_of_models_stand_side_by_side_with_or_without_a_column_of_metrics(models, n_columns):
    frame = pd.concat([estimates(metrics=["iou"], model=model) for model in models])
    for of_one_metric in (frame, frame.drop(columns="metric")):
        assert ss.plot_intervals(of_one_metric, width=183).facet._ncol == n_columns


def test_rows_are_sorted_by_the_first_metric_and_method_alone():
    frame = estimates(tasks=["a", "b", "c"], metrics=["hd95", "iou"])
    # of a distance the smallest is the best, and a row without an estimate is the last
    of_first = (frame["metric"] == "iou") & (frame["method"] == "human")
    frame.loc[of_first, "estimate"] = [0.1, 0.3, np.nan]
    frame.loc[~of_first, "estimate"] = [0.9, 0.1, 0.5] * 3
    frame = frame.assign(conf_low=np.nan, conf_high=np.nan)
    assert row_labels(ss.plot_intervals(frame, sort="estimate")) == ["b", "a", "c"]
    # in any order of the frame
    assert row_labels(ss.plot_intervals(frame[::-1], sort="estimate")) == ["b", "a", "c"]
    distance = frame[frame["metric"] == "hd95"]
    assert row_labels(ss.plot_intervals(distance, sort="estimate")) == ["b", "c", "a"]


def test_rows_are_sorted_by_decreases_of_one_kind_alone():
    frame = estimates(tasks=["A", "B"], metrics=["iou"])
    loss = decreases({"A": 3.0, "B": 60.0})
    options = {"sort": "decrease", "decrease": loss}
    assert row_labels(ss.plot_intervals(frame, **options)) == ["B", "A"]
    of_models = pd.concat([loss.assign(model=model) for model in "ab"])
    of_models = of_models[["model", *loss.columns]]
    with raises(SalstatsError, option="decrease", column="model"):
        ss.plot_intervals(frame, **options | {"decrease": of_models})
    one = of_models[of_models["model"] == "a"]
    assert row_labels(ss.plot_intervals(frame, **options | {"decrease": one})) == ["B", "A"]
