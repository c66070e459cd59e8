"""Figures of insertion and deletion curves: lines, bands, panels, and what is said beneath."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layers, scale, size_mm
from tests_support import raises

from salstats.display.plots.curves import plot_curves
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM
from salstats.errors import ColumnError, SalstatsError
from salstats.stats.summaries import mean_curves

FRACTIONS = np.linspace(0, 1, 6)


def means(methods=("gradcam", "ig"), metrics=("insertion", "deletion"), **columns):
    """Means of curves as `mean_curves` gives them."""
    parts = [
        pd.DataFrame({"metric": metric, "method": method} | columns | {"fraction": FRACTIONS})
        for metric in metrics
        for method in methods
    ]
    frame = pd.concat(parts, ignore_index=True)
    estimate = frame["fraction"].where(frame["metric"] == "insertion", 1 - frame["fraction"]) * 0.8
    return frame.assign(
        term="mean",
        estimate=estimate,
        conf_low=(estimate - 0.1).clip(lower=0),
        conf_high=estimate + 0.1,
        conf_level=0.95,
        interval="percentile",
        unit="case",
        n=40,
        baseline=np.where(frame["metric"] == "insertion", "blur (11 px, SD 5 px)", "zero"),
    )


def test_each_metric_has_a_panel_and_each_method_a_line_of_its_own():
    figure = plot_curves(means())
    assert list(figure.data["panel"].cat.categories) == ["Insertion", "Deletion"]
    assert list(figure.data["method_label"].cat.categories) == ["Grad-CAM", "Integrated Gradients"]
    assert len(layers(figure, "geom_line")) == 1
    for aesthetic in ("color", "linetype"):
        assert len(set(map(str, scale(figure, aesthetic).palette(2)))) == 2
    assert size_mm(figure)[0] == pytest.approx(COLUMN_MM)
    assert {"Insertion", "Deletion", "Grad-CAM", "Integrated Gradients"} <= set(drawn_texts(figure))


def test_values_are_drawn_as_they_are():
    given = means()
    figure = plot_curves(given.sample(frac=1, random_state=0))
    merged = figure.data.merge(given, on=["metric", "method", "fraction", "estimate"])
    assert len(merged) == len(figure.data) == len(given)
    assert {k: figure.mapping[k] for k in ("x", "y")} == {"x": "fraction", "y": "estimate"}
    band = layers(figure, "geom_ribbon")[0]
    assert {band.mapping["ymin"], band.mapping["ymax"]} == {"conf_low", "conf_high"}


def test_curves_themselves_are_averaged_with_the_defaults():
    rng = np.random.default_rng(0)
    curves = pd.concat(
        [
            pd.DataFrame(
                {"case": str(case), "method": m, "metric": "insertion", "fraction": FRACTIONS}
                | {"prob": rng.random(6)}
            )
            for case in range(25)
            for m in ("gradcam", "ig")
        ]
    )
    drawn = plot_curves(curves).data[["method", "fraction", "estimate", "conf_low", "conf_high"]]
    pd.testing.assert_frame_equal(drawn, mean_curves(curves)[drawn.columns])


def test_bands_are_left_out_where_they_would_hide_each_other():
    many = means([f"m{i}" for i in range(7)])
    assert not layers(plot_curves(many), "geom_ribbon")
    assert "Bands" not in caption(plot_curves(many))
    assert layers(plot_curves(many, bands=True), "geom_ribbon")
    assert not layers(plot_curves(means(), bands=False), "geom_ribbon")
    assert not layers(plot_curves(means().drop(columns=["conf_low", "conf_high"])), "geom_ribbon")


def test_the_caption_says_which_side_is_better_and_how_it_was_made():
    text = caption(plot_curves(means())).replace("\n", " ")
    assert text == (
        "Insertion: higher is better; deletion: lower is better. Bands at each step: 95% percentile "
        "bootstrap intervals, unit: case. n = 40. Baseline: blur (11 px, SD 5 px) for insertion, zero for "
        "deletion."
    )
    labelled = caption(plot_curves(means(), labels={"metric": {"insertion": "Einfügen"}})).replace("\n", " ")
    assert labelled.startswith("Einfügen: higher is better; deletion: lower is better.")
    assert labelled.endswith("Baseline: blur (11 px, SD 5 px) for Einfügen, zero for deletion.")


def test_a_single_line_needs_no_legend_and_a_single_panel_no_title():
    figure = plot_curves(means(["gradcam"], ["deletion"]))
    assert figure.theme.getp("legend_position") == "none"
    assert figure.labels.x == "Fraction of pixels deleted"
    assert plot_curves(means()).labels.x == "Fraction of pixels inserted or deleted"
    assert "Deletion" not in drawn_texts(figure)


def test_a_further_column_makes_a_row_of_panels_for_each_value():
    frame = pd.concat([means(model="resnet"), means(model="densenet")])
    frame = frame[["model", *frame.columns.drop("model")]]
    figure = plot_curves(frame)
    assert list(figure.data["panel"].cat.categories) == [
        "densenet, Insertion", "densenet, Deletion", "resnet, Insertion", "resnet, Deletion",
    ]  # fmt: skip
    assert figure.facet._ncol == 2
    assert plot_curves(frame, n_columns=1).facet._ncol == 1
    # the axis names a single metric
    of_one_metric = plot_curves(frame[frame["metric"] == "deletion"]).data["panel"].cat.categories
    assert list(of_one_metric) == ["densenet", "resnet"]
    assert list(plot_curves(means(metrics=["deletion"])).data["panel"].cat.categories) == ["Deletion"]
    assert size_mm(figure)[0] == pytest.approx(PAGE_MM)
    other = plot_curves(frame, labels={"model": {"resnet": "ResNet", "densenet": "D"}}, width=120)
    assert other.data["panel"].cat.categories[0] == "ResNet, Insertion"
    assert size_mm(other)[0] == pytest.approx(120)


def test_methods_without_a_value_are_named():
    frame = means()
    frame.loc[frame["method"] == "ig", ["estimate", "conf_low", "conf_high"]] = np.nan
    figure = plot_curves(frame)
    assert set(figure.data["method"]) == {"gradcam"}
    assert "Undefined, not drawn: Insertion AUC/Integrated Gradients and Deletion AUC/Integrated" in caption(
        figure
    ).replace("\n", " ")


def test_what_cannot_be_drawn_is_refused():
    with raises(SalstatsError, column="estimate"):
        plot_curves(means().assign(estimate=np.nan))
    with raises(SalstatsError, option="curves", rows=(24,)):
        plot_curves(pd.concat([means(), means().head(1)]))
    with raises(ColumnError, column="fraction"):
        plot_curves(means().drop(columns="fraction"))
    two = pd.concat([means(model=m, task=t) for m in "ab" for t in "cd"])
    with raises(SalstatsError, column="task", value=["model", "task"]):
        plot_curves(two)


def test_labels_of_fraction_and_probability_name_the_axes():
    figure = plot_curves(means(), labels={"fraction": "Share of pixels", "prob": "Confidence"})
    assert (figure.labels.x, figure.labels.y) == ("Share of pixels", "Confidence")
    assert plot_curves(means()).labels.y == "Mean probability"
    # an empty label leaves a title out
    assert plot_curves(means(), labels={"prob": ""}).labels.y == ""


def test_metrics_without_a_direction_and_frames_without_a_baseline_have_no_sentence():
    frame = means(metrics=["shuffling"]).drop(columns=["baseline", "n", "conf_low", "conf_high"])
    assert caption(plot_curves(frame)) == ""
    assert plot_curves(frame).labels.x == "Fraction of pixels shuffling"
    one_baseline = caption(plot_curves(means().assign(baseline="mean")))
    assert one_baseline.endswith("n = 40. Baseline: mean.")
    assert caption(plot_curves(means(), bands=False)).startswith(
        "Insertion: higher is better; deletion: lower"
    )


def test_the_axis_of_probabilities_begins_at_zero_and_the_method_of_a_single_line_is_named():
    figure = plot_curves(means(["gradcam"]).assign(task="Edema"))
    assert caption(figure).startswith("Method: Grad-CAM. Task: Edema. ")
    [blank] = layers(figure, "geom_blank")
    assert blank.geom.data["y"].tolist() == [0]
    # tasks that are panels are not named below
    tasks = pd.concat([means(task=task) for task in ("Edema", "Nodule")])
    assert "Task" not in caption(plot_curves(tasks[["task", *tasks.columns.drop("task")]]))


def test_four_methods_have_bands_and_five_have_none():
    assert layers(plot_curves(means([f"m{i}" for i in range(4)])), "geom_ribbon")
    assert not layers(plot_curves(means([f"m{i}" for i in range(5)])), "geom_ribbon")
