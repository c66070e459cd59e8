"""Estimates prepared for a figure: rows, panels, references, and the lines behind the marks."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import estimates
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.plots.layout.estimate_drawing import (
    are_in_drawn_panels,
    check_drawable,
    chosen_or_recorded_references,
    labels_of_panel_titles,
    margin_lines,
    metric_title_texts,
    no_effect_lines,
    only_varying_column,
    prepared_drawing,
    quantity_label,
    require_single_term,
    rows_with_both_limits,
    rows_with_estimate,
    zero_or_chance_value,
)
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError


def test_one_further_column_makes_panels_and_two_are_an_error():
    frame = pd.concat([estimates().assign(model=model, seed="1") for model in "ab"])
    assert only_varying_column(read_estimates(frame), ["model", "seed"], "task") == "model"
    assert only_varying_column(read_estimates(frame), ["seed"], "task") is None
    both = pd.concat([frame, frame.assign(seed="2")])
    with raises(SalstatsError, column="seed"):
        only_varying_column(read_estimates(both), ["model", "seed"], "task")


def test_a_figure_is_of_one_term_and_of_no_model():
    assert require_single_term(read_estimates(estimates())) == "mean"
    assert require_single_term(read_estimates(pd.DataFrame({"estimate": [1.0]}))) is None
    with raises(SalstatsError, column="formula"):
        require_single_term(read_estimates(estimates(formula="iou ~ prob")))


def test_references_are_named_by_the_option_then_the_column_then_human():
    frame = estimates()
    assert chosen_or_recorded_references(read_estimates(frame)) == ["human"]
    assert chosen_or_recorded_references(read_estimates(frame.assign(reference="gradcam"))) == ["gradcam"]
    assert chosen_or_recorded_references(read_estimates(frame), "gradcam") == ["gradcam"]
    with raises(SalstatsError, option="reference", choices=("gradcam", "human")):
        chosen_or_recorded_references(read_estimates(frame), "lime")


def test_rows_without_an_estimate_are_left_out_and_infinite_ones_are_an_error():
    frame = estimates()
    frame.loc[0, "estimate"] = np.nan
    assert len(rows_with_estimate(read_estimates(frame))) == len(frame) - 1
    frame.loc[0, "estimate"] = np.inf
    with raises(ColumnError, column="estimate", rows=(0,)):
        rows_with_estimate(read_estimates(frame))


def test_a_bar_needs_both_limits():
    frame = pd.DataFrame({"conf_low": [0.1, np.nan, 0.1], "conf_high": [0.2, 0.2, np.nan]})
    assert rows_with_both_limits(frame).index.tolist() == [0]


@pytest.mark.parametrize(
    ("metric", "term", "position"),
    [("iou", "mean", 0.0), ("auc", "mean", 0.5), ("iou", "auroc", 0.5), ("iou", "difference", 0.0)],
)
def test_a_line_stands_at_zero_or_at_chance(metric, term, position):
    assert zero_or_chance_value(metric, term) == position


def test_a_metric_that_is_not_known_has_no_line():
    assert np.isnan(zero_or_chance_value("quality", "mean"))
    assert np.isnan(zero_or_chance_value("iou", "median"))


@pytest.mark.parametrize(
    ("metric", "term", "text"),
    [
        ("iou", "mean", "Mean IoU"),
        ("hit", "mean", "Hit rate"),
        ("iou", "pooled_rate", "Pooled IoU"),
        ("recall", "pooled_rate", "Pooled recall"),
        (None, "mean", "Mean"),
        (None, None, "Estimate"),
        ("iou", "auroc", "AUROC, IoU"),
        ("kl", "mean", "Mean KL divergence (smaller is better)"),
        ("kl", None, "KL divergence (smaller is better)"),
    ],
)
def test_a_quantity_is_named_by_its_metric_and_term(metric, term, text):
    assert quantity_label(metric, term, Labels()) == text


def test_a_unit_stands_before_the_direction_and_words_of_the_user_stay_alone():
    in_mm = Labels(None, estimates(metrics=["hd95"], distance_unit="mm"))
    assert quantity_label("hd95", "mean", in_mm) == (
        "Mean 95th-percentile Hausdorff distance (mm, smaller is better)"
    )
    assert quantity_label("kl", "mean", Labels({"kl": "KL (less is better)"})) == "KL (less is better)"


def test_lines_of_margins_leave_out_bounds_without_end():
    frame = estimates(metrics=["iou"], margin_low=-0.1, margin_high=np.inf, p_margin=0.01)
    frame["panel"] = "IoU"
    lines = margin_lines(read_estimates(frame), frame)
    assert lines.to_dict("list") == {"panel": ["IoU"], "bound": [-0.1]}
    assert margin_lines(read_estimates(frame.drop(columns="p_margin")), frame).empty


def test_tasks_are_rows_and_methods_marks_and_without_tasks_methods_are_rows():
    drawing = prepared_drawing(read_estimates(estimates()), None)
    assert (drawing.row_column, drawing.facet_column) == ("task", None)
    assert (drawing.n_panels, drawing.dodges) == (2, True)
    without_tasks = prepared_drawing(read_estimates(estimates(tasks=["Edema"]).drop(columns="task")), None)
    assert (without_tasks.row_column, without_tasks.dodges) == ("method", False)


def test_a_further_column_is_in_the_titles_of_panels_and_each_has_its_line():
    frame = pd.concat([estimates(metrics=["iou", "auc"], model=model) for model in "ab"])
    drawing = prepared_drawing(read_estimates(frame), None)
    assert drawing.facet_column == "model"
    assert set(drawing.frame["panel"]) == {
        f"{model}, {metric}" for model in "ab" for metric in ("Mean IoU", "Mean AUC")
    }
    guides = no_effect_lines(drawing, "mean").set_index("panel")["guide"]
    assert {panel.partition(", ")[2]: guide for panel, guide in guides.items()} == {
        "Mean IoU": 0.0,
        "Mean AUC": 0.5,
    }
    one_metric = prepared_drawing(read_estimates(frame[frame["metric"] == "iou"]), None)
    assert one_metric.n_panels == 2


def test_a_frame_without_any_estimate_is_an_error_and_two_terms_share_no_axis():
    with raises(SalstatsError, column="estimate"):
        check_drawable(read_estimates(estimates(estimate=np.nan)))
    check_drawable(read_estimates(estimates()))
    both = pd.concat([estimates(), estimates(term="median")])
    with raises(SalstatsError, column="term", choices=("mean", "median")):
        require_single_term(read_estimates(both))


def test_panels_with_one_estimate_are_drawn_and_without_metrics_there_is_one_panel():
    frame = estimates(methods=["lime"])
    frame.loc[frame["metric"] == "hit", "estimate"] = np.nan
    frame.loc[0, "estimate"] = np.nan
    is_drawn = are_in_drawn_panels(read_estimates(frame), ["metric"])
    assert is_drawn.tolist() == (frame["metric"] == "iou").tolist()
    assert are_in_drawn_panels(read_estimates(frame), []).tolist() == is_drawn.tolist()
    without_metrics = frame.loc[is_drawn].drop(columns="metric")
    assert are_in_drawn_panels(read_estimates(without_metrics), []).tolist() == [True, True]
    # rows without a value of a panel's column have a panel of their own
    frame["model"] = np.where(frame["metric"] == "iou", None, "net")
    assert are_in_drawn_panels(read_estimates(frame), ["model"]).tolist() == is_drawn.tolist()


def test_rows_of_a_metric_without_estimates_are_not_in_the_panel_of_the_other():
    frame = estimates(metrics=["iou", "auc"])
    frame.loc[frame["metric"] == "auc", "estimate"] = np.nan
    drawing = prepared_drawing(read_estimates(frame), None)
    assert set(drawing.frame["metric"]) == {"iou"}
    # the line at chance of the AUC, 0.5, would stand among scores of IoU
    assert no_effect_lines(drawing, "mean")["guide"].tolist() == [0.0]


def test_a_single_metric_is_in_the_titles_of_contrasts_and_of_panels_of_another_column_only():
    one = read_estimates(estimates(metrics=["iou"]))
    assert labels_of_panel_titles(one, Labels(), None, "mean") == {}
    assert labels_of_panel_titles(one, Labels(), None, "difference") == {"metric": {"iou": "IoU"}}
    assert list(labels_of_panel_titles(one, Labels(), "task", "mean")) == ["task", "metric"]
    assert list(labels_of_panel_titles(one, Labels(), None, "mean", "method", "reader")) == ["method"]
    two = labels_of_panel_titles(read_estimates(estimates()), Labels(), None, "mean")
    assert two == {"metric": {"iou": "Mean IoU", "hit": "Hit rate"}}


def test_undefined_estimates_stay_in_drawn_panels_and_panels_without_any_are_left_out():
    frame = estimates(metrics=["iou", "hit", "dice"])
    frame.loc[[0, 4, 5, 6, 7], "estimate"] = np.nan
    drawing = prepared_drawing(read_estimates(frame), None, reference="gradcam")
    assert drawing.frame["metric"].unique().tolist() == ["iou", "dice"]
    assert (len(drawing.frame), len(drawing.defined_estimates), len(drawing.panel_estimates)) == (8, 7, 8)
    assert drawing.n_panels == 2
    assert "1 of 8" in drawing.missing_note
    assert drawing.references == ["gradcam"]
    # the reference stands first
    assert list(drawing.methods) == ["gradcam", "human"]
    assert list(drawing.frame["method_label"].cat.categories) == list(drawing.methods.values())
    assert list(prepared_drawing(read_estimates(frame), None).methods) == ["human", "gradcam"]


def test_other_grouping_columns_are_rows_where_there_are_no_tasks_and_two_rows_of_a_mark_are_an_error():
    by_view = estimates().rename(columns={"task": "view"})
    assert prepared_drawing(read_estimates(by_view), None).row_column == "view"
    only_metrics = estimates(methods=["lime"], tasks=["Edema"]).drop(columns=["method", "task"])
    drawing = prepared_drawing(read_estimates(only_metrics), None)
    assert (drawing.row_column, drawing.methods, drawing.dodges) == (None, {}, False)
    guides = no_effect_lines(drawing, "median")
    assert guides.empty
    without_metric = prepared_drawing(read_estimates(only_metrics.drop(columns="metric").head(1)), None)
    assert no_effect_lines(without_metric, "difference")["guide"].tolist() == [0.0]
    with raises(SalstatsError, rows=(8,)):
        prepared_drawing(read_estimates(pd.concat([estimates(), estimates().head(1)])), None)


def test_titles_of_metrics_say_where_less_is_better():
    frame = pd.DataFrame({"metric": ["iou", "kl", "iou"]})
    assert metric_title_texts(frame, Labels()) == {
        "metric": {"iou": "IoU", "kl": "KL divergence (smaller is better)"}
    }
    assert metric_title_texts(frame.drop(columns="metric"), Labels()) == {}
    assert quantity_label("iou", "mean", Labels({"iou": "Overlap"})) == "Overlap"
