"""Data of scatter figures: the panel and group of points, of fitted lines and of correlations."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.plots.scatter_data import (
    correlations_with_texts,
    fitted_lines_with_panel_and_group,
    points_of_other_groups,
    scatter_points_and_binned_rates,
)
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

DATA = pd.DataFrame(
    {
        "case": [f"c{i}" for i in range(8)],
        "task": ["Edema"] * 4 + ["Nodule"] * 4,
        "method": ["gradcam", "lime"] * 4,
        "prob": np.linspace(0.1, 0.8, 8),
        "iou": [0.5, 0.4, np.nan, 0.2, 0.1, 0.3, 0.6, 0.7],
    }
)


def points_of(**options):
    values = {"by": None, "colour": None, "labels": Labels(None, DATA)}
    return scatter_points_and_binned_rates(DATA, "prob", "iou", **(values | options))


def line(**columns):
    frame = pd.DataFrame(
        {"formula": "iou ~ prob", "covariate": "prob", "value": [0.1, 0.8], "estimate": [0.3, 0.4]}
    )
    return frame.assign(**columns)


def test_tasks_are_panels_methods_colours_and_rows_without_a_value_are_counted():
    points = points_of()
    assert points.panel_columns == ["task"]
    assert points.colour_column == "method"
    assert list(points.points["panel"].cat.categories) == ["Edema", "Nodule"]
    assert (len(points.points), points.n_omitted) == (7, 1)
    assert points.colour_labels == {"gradcam": "Grad-CAM", "lime": "LIME"}
    assert not points.is_binary


def test_scores_of_absent_findings_do_not_count_as_omitted():
    scores = pd.DataFrame({"case": list("abcde"), "score": [0.5, 0.4, np.nan, np.nan, 0.2]})
    scores = scores.assign(task="Edema", method="lime", metric="iou", prob=[0.1, 0.2, 0.3, 0.4, 0.5])
    scores["reason"] = pd.Series([None, None, "finding absent", "empty mask", None], dtype="object")
    points = scatter_points_and_binned_rates(scores, "prob", "iou", None, None, Labels(None, scores))
    assert (len(points.points), points.n_omitted) == (3, 1)


def six_methods():
    """Ten cases of each of six methods of one task."""
    methods = pd.DataFrame({"method": [f"m{i}" for i in range(5)] + ["human"]})
    cases = pd.DataFrame({"case": [f"c{i}" for i in range(10)], "size": np.linspace(0, 1, 10)})
    rows = methods.merge(cases, how="cross")
    return rows.assign(task="Edema", iou=0.1 + 0.5 * rows["size"] + 0.001 * rows.index)


def test_many_methods_have_panels_of_their_own_with_the_points_of_the_others_behind():
    points = scatter_points_and_binned_rates(six_methods(), "size", "iou", None, None, Labels())
    assert points.panel_columns == ["task", "method"]
    other_points = points_of_other_groups(points)
    own_points = points.points[["panel", "x_drawn", "y_drawn"]]
    for panel, others in other_points.groupby("panel", observed=True):
        expected = own_points.loc[own_points["panel"] != panel, ["x_drawn", "y_drawn"]]
        assert sorted(others[["x_drawn", "y_drawn"]].to_numpy().tolist()) == sorted(
            expected.to_numpy().tolist()
        )
    assert other_points["panel"].nunique() == 6


def test_up_to_four_methods_share_a_panel_and_titles_name_what_varies():
    four = six_methods().query("method in ['m0', 'm1', 'm2', 'm3']")
    shared = scatter_points_and_binned_rates(four, "size", "iou", None, None, Labels())
    assert (shared.panel_columns, shared.colour_column) == (["task"], "method")
    assert shared.n_groups_in_panel == 4
    five = six_methods().query("method != 'human'")
    own = scatter_points_and_binned_rates(five, "size", "iou", None, None, Labels())
    assert (own.panel_columns, own.n_groups_in_panel) == (["task", "method"], 1)
    assert own.points["panel"].cat.categories.tolist() == [f"m{i}" for i in range(5)]
    by_method = pd.concat([line(method="m1"), line(method="m3")])[["method", *line().columns]]
    lines = fitted_lines_with_panel_and_group(
        read_estimates(by_method, "fit"), "prob", "iou", own, DATA
    ).frame
    assert lines["panel"].tolist() == ["m1", "m1", "m3", "m3"]
    two_tasks = pd.concat([five, five.assign(task="Nodule")])
    panels = (
        scatter_points_and_binned_rates(two_tasks, "size", "iou", None, None, Labels())
        .points["panel"]
        .cat.categories
    )
    assert panels[0] == "Edema, m0"
    assert len(panels) == 10
    # colours that a user names share the panels
    assert (
        scatter_points_and_binned_rates(five, "size", "iou", None, "method", Labels()).n_groups_in_panel == 5
    )


def test_rates_of_many_methods_stand_in_their_bins_in_panels_of_their_own():
    scores = six_methods().assign(hit=lambda d: (d["iou"] > 0.3).astype(float))
    points = scatter_points_and_binned_rates(scores, "size", "hit", None, None, Labels(None, scores))
    rates = points.rates.frame
    assert list(rates["x_drawn"]) == list(rates["x_mean"])
    assert rates.groupby("panel", observed=True)["x_mean"].apply(tuple).nunique() == 1
    # rates are drawn instead of points
    other_points = points_of_other_groups(points)
    assert other_points.empty
    assert list(other_points.columns) == ["panel", "x_drawn", "y_drawn"]


def test_a_column_has_panels_or_colours():
    with raises(ColumnError, option="colour", value="task"):
        points_of(by="task", colour="task")
    with raises(ValueRangeError, option="colour", value=["method"]):
        points_of(colour=["method"])


def test_a_line_of_all_panels_stands_in_each_and_has_no_group():
    lines = fitted_lines_with_panel_and_group(read_estimates(line(), "fit"), "prob", "iou", points_of(), DATA)
    assert lines.frame["panel"].tolist() == ["Edema", "Nodule"] * 2
    assert lines.frame["group"].isna().all()


def test_a_line_by_task_stands_in_its_panel_only_and_a_single_mean_is_no_line():
    by_task = pd.concat([line(task="Edema"), line(task="Nodule").head(1)])[["task", *line().columns]]
    lines = fitted_lines_with_panel_and_group(
        read_estimates(by_task, "fit"), "prob", "iou", points_of(), DATA
    )
    assert lines.frame["panel"].tolist() == ["Edema", "Edema"]


def test_a_line_by_method_has_its_colour_in_each_panel():
    by_method = pd.concat([line(method="gradcam"), line(method="lime", estimate=[0.5, 0.6])])
    by_method = by_method[["method", *line().columns]]
    lines = fitted_lines_with_panel_and_group(
        read_estimates(by_method, "fit"), "prob", "iou", points_of(), DATA
    ).frame
    ends = lines.groupby(["panel", "group"], observed=True)["estimate"].apply(list)
    assert ends.to_dict() == {
        (panel, group): estimates
        for panel in ("Edema", "Nodule")
        for group, estimates in (("Grad-CAM", [0.3, 0.4]), ("LIME", [0.5, 0.6]))
    }
    # panels by method have no colours
    panels = points_of(by=["task", "method"])
    assert (
        fitted_lines_with_panel_and_group(
            read_estimates(by_method, "fit"), "prob", "iou", panels, DATA
        ).frame.shape[0]
        == 8
    )
    # without colours by method no line of a method has a place
    one_colour = points_of(by="task", colour="case")
    with raises(SalstatsError, option="fit", column="method"):
        fitted_lines_with_panel_and_group(read_estimates(by_method, "fit"), "prob", "iou", one_colour, DATA)


def test_correlations_are_taken_in_either_order_and_written_with_their_symbol():
    frame = pd.DataFrame(
        {"x": ["iou"], "y": "prob", "term": "spearman", "estimate": 0.45, "conf_low": 0.3, "conf_high": 0.58}
    )
    texts = correlations_with_texts(read_estimates(frame, "correlations"), "prob", "iou", points_of())
    assert texts.frame["text"].tolist() == ["ρ = 0.45 (0.30, 0.58)"] * 2
    twice = read_estimates(pd.concat([frame, frame]), "correlations")
    with raises(SalstatsError, option="correlations", rows=(1,)):
        correlations_with_texts(twice, "prob", "iou", points_of())


@pytest.mark.parametrize(("outcome", "expected"), [([0.0, 1.0] * 4, True), ([0.0, 0.5] * 4, False)])
def test_only_outcomes_of_zero_and_one_have_rates(outcome, expected):
    points = scatter_points_and_binned_rates(
        DATA.assign(iou=outcome), "prob", "iou", None, None, Labels(None, DATA)
    )
    assert points.is_binary is expected
    assert (points.points["y_drawn"] == points.points["y"]).all()


@pytest.mark.parametrize(("x", "y"), [("prob", "score"), ("score", "prob")])
def test_scores_of_several_metrics_share_no_axis_unless_metrics_are_told_apart(x, y):
    first = DATA.rename(columns={"iou": "score"}).assign(metric="iou")
    both = pd.concat([first, first.assign(metric="dice")], ignore_index=True)
    with raises(SalstatsError, column="metric", choices=("iou", "dice")):
        scatter_points_and_binned_rates(both, x, y, None, None, Labels())
    for options in ({"by": "metric", "colour": None}, {"by": "task", "colour": "metric"}):
        points = scatter_points_and_binned_rates(both, x, y, **options, labels=Labels()).points
        assert len(points) == 14
    assert len(scatter_points_and_binned_rates(first, x, y, None, None, Labels()).points) == 7


def test_equal_integers_are_spread_in_a_lane_of_each_colour_that_shares_the_panel():
    frame = six_methods().assign(size=lambda d: d["case"].str[1:].astype(int) % 3)
    two = frame[frame["method"].isin(["m0", "m1"])]
    shared = scatter_points_and_binned_rates(two, "size", "iou", None, None, Labels()).points
    offsets = (shared["x_drawn"] - shared["x"]).groupby(shared["group"], observed=True)
    assert offsets.max()["m0"] < 0 < offsets.min()["m1"]
    assert (shared["x_drawn"] - shared["x"]).abs().max() < 0.5
    # a group alone in its panel has the whole width, also where other groups have panels of their own
    alone = scatter_points_and_binned_rates(
        frame[frame["method"] == "m0"], "size", "iou", None, None, Labels()
    ).points
    own = scatter_points_and_binned_rates(frame, "size", "iou", None, None, Labels()).points
    for _, points in own.groupby("panel", observed=True):
        np.testing.assert_allclose(points["x_drawn"], alone["x_drawn"])
    width = np.ptp(alone["x_drawn"] - alone["x"])
    assert width > 1.5 * (offsets.max() - offsets.min()).max()
    # many values of x stand where they are
    assert (points_of().points["x_drawn"] == points_of().points["x"]).all()


def test_estimates_of_other_variables_than_the_axes_are_an_error_that_lists_them():
    lines = pd.concat([line(formula="dice ~ prob"), line(covariate="size")])
    lines = read_estimates(lines[["formula", "covariate", "value", "estimate"]], "fit")
    with raises(SalstatsError, option="fit", choices=("dice along prob", "iou along size")):
        fitted_lines_with_panel_and_group(lines, "prob", "iou", points_of(), DATA)
    pairs = pd.DataFrame({"x": ["iou", "dice"], "y": ["size", "prob"], "term": "pearson", "estimate": 0.5})
    with raises(SalstatsError, option="correlations", choices=("iou and size", "dice and prob")):
        correlations_with_texts(read_estimates(pairs, "correlations"), "prob", "iou", points_of())


def test_lines_of_gaps_to_a_method_are_not_drawn_over_scores_of_the_method():
    gaps = read_estimates(line(reference="human"), "fit")
    assert len(fitted_lines_with_panel_and_group(gaps, "prob", "iou", points_of(), DATA).frame) == 4
    scores = DATA.replace({"method": {"lime": "human"}})
    with raises(SalstatsError, option="fit", column="reference"):
        fitted_lines_with_panel_and_group(gaps, "prob", "iou", points_of(), scores)
