"""Residual diagnostics: four panels per model from the rows of augment."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, drawn_texts, layer_data, layers
from tests_support import raises, warns

import salstats as ss
from salstats.display.plots.layout.theme import COLUMN_MM, MM_PER_INCH, PAGE_MM
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.stats.models.residual_checks import normal_quantiles, quartile_line, smooth_curve

TITLES = [
    "a Residual against fitted mean",
    "b Standardised residual against normal quantile",
    "c √|standardised residual| against fitted mean",
    "d Cook's distance against leverage",
]


@pytest.fixture(scope="module")
def scores():
    """The simulated study without patients, whose rows are then independent."""
    return ss.datasets.load_simulated().drop(columns="patient")


@pytest.fixture(scope="module")
def augmented(scores):
    """One model: 137 rows of one task and method."""
    return ss.augment(scores.query("method == 'gradcam' and task == 'Edema'"), "iou ~ prob + area_ratio")


def places(figure, title):
    """Where the points of a panel stand."""
    return figure.data.loc[figure.data["panel"] == title, ["across", "up"]].to_numpy()


def test_panels_show_the_columns_of_augment(augmented):
    figure = ss.plot_residuals(augmented)
    assert list(figure.data["panel"].cat.categories) == TITLES
    np.testing.assert_array_equal(places(figure, TITLES[0]), augmented[["fitted", "residual"]])
    np.testing.assert_array_equal(places(figure, TITLES[3]), augmented[["leverage", "cooks_distance"]])
    standard = augmented["std_residual"].to_numpy()
    np.testing.assert_array_equal(
        places(figure, TITLES[1]), np.column_stack([normal_quantiles(standard), standard])
    )
    np.testing.assert_array_equal(places(figure, TITLES[2])[:, 1], np.sqrt(np.abs(standard)))
    assert dict(figure.mapping) == {"x": "across", "y": "up"}
    assert figure.facet.free == {"x": True, "y": True}


def test_lines_are_zero_and_the_quartiles_and_curves_are_lowess(augmented):
    figure = ss.plot_residuals(augmented)
    zero, quartiles = layer_data(figure, "geom_segment").to_dict("records")
    assert (zero["panel"], zero["up"], zero["up_end"]) == (TITLES[0], 0.0, 0.0)
    intercept, slope = quartile_line(augmented["std_residual"].to_numpy())
    assert quartiles["up"] == pytest.approx(intercept + slope * quartiles["across"])
    assert quartiles["up_end"] == pytest.approx(intercept + slope * quartiles["end"])
    curves = layer_data(figure, "geom_line")
    assert list(curves["panel"].unique()) == [TITLES[0], TITLES[2]]
    x, y = smooth_curve(augmented["fitted"].to_numpy(), augmented["residual"].to_numpy())
    np.testing.assert_array_equal(curves.loc[curves["panel"] == TITLES[0], ["across", "up"]], np.c_[x, y])


def test_the_largest_cooks_distances_are_ringed_and_named(augmented):
    figure = ss.plot_residuals(augmented)
    rings = layers(figure, "geom_point")[-1]._data
    largest = augmented.nlargest(3, "cooks_distance")
    np.testing.assert_array_equal(np.sort(rings["up"]), np.sort(largest["cooks_distance"]))
    first, second, third = largest["case"]
    assert f"Rings: largest Cook's distances, from the top ({first}, {second} and {third})." in caption(
        figure
    )
    first, second, third = largest.index
    text = caption(ss.plot_residuals(augmented.drop(columns="case")))
    assert f"(row {first}, row {second} and row {third})" in text


def test_each_method_is_a_row_of_four_panels(scores):
    augmented = ss.augment(scores.query("task == 'Edema'"), "iou ~ prob")
    figure = ss.plot_residuals(augmented, labels={"gradcam": "CAM"})
    titles = list(figure.data["panel"].cat.categories)
    assert titles[:4] == [f"CAM. {title[2:]}" for title in TITLES]
    assert len(titles) == 12
    assert figure.facet._ncol == 4
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(PAGE_MM)
    cam = figure.data[figure.data["panel"] == titles[0]]
    assert len(cam) == (augmented["method"] == "gradcam").sum()


def test_one_model_fits_a_column(augmented):
    figure = ss.plot_residuals(augmented)
    assert figure.facet._ncol == 2
    assert figure.theme.getp("figure_size")[0] * MM_PER_INCH == pytest.approx(COLUMN_MM)
    assert ss.plot_residuals(augmented, width=PAGE_MM).facet._ncol == 4


def test_residuals_of_a_logit_model_are_called_pearsons(scores):
    one = scores.query("method == 'gradcam' and task == 'Edema'")
    figure = ss.plot_residuals(ss.augment(one, "hit ~ prob", family="binomial"), family="binomial")
    titles = list(figure.data["panel"].cat.categories)
    assert titles[1] == "b Standardised Pearson residual against normal quantile"
    assert "Pearson residuals of a logit model need not be normal." in caption(figure)


def test_the_caption_calls_curves_robust_unless_outcomes_have_two_values(scores, augmented):
    one = scores.query("method == 'gradcam' and task == 'Edema'")
    binary = ss.augment(one, "hit ~ prob", family="binomial")
    assert "Curves: local lines" in caption(ss.plot_residuals(binary, family="binomial"))
    assert "Curves: robust local lines" in caption(ss.plot_residuals(augmented))


def test_a_row_with_leverage_one_is_left_out_and_said():
    rows = pd.DataFrame({"y": [1.0, 2, 4, 3, 5, 9], "x": [1.0, 2, 3, 4, 5, 6], "own": [0.0, 0, 0, 0, 0, 1]})
    augmented = ss.augment(rows, "y ~ x + own")
    figure = ss.plot_residuals(augmented)
    counts = figure.data["panel"].value_counts()
    assert counts[TITLES].tolist() == [6, 5, 5, 5]
    assert "Without a standardised residual (leverage 1): 1 row." in caption(figure)


def test_many_points_are_a_bitmap_and_very_many_are_counts_in_cells(augmented):
    many = pd.concat([augmented] * 5, ignore_index=True)
    assert layers(ss.plot_residuals(many), "geom_point")[0].raster
    assert not layers(ss.plot_residuals(augmented), "geom_point")[0].raster
    very = pd.concat([augmented] * 40, ignore_index=True)
    figure = ss.plot_residuals(very)
    cells = layer_data(figure, "geom_rect")
    assert cells.groupby("panel", observed=True)["count"].sum().tolist() == [len(very)] * 4


def test_two_values_of_a_covariate_have_no_curve():
    rows = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "x": [0.0, 0.0, 1.0, 1.0]})
    figure = ss.plot_residuals(ss.augment(rows, "y ~ x"))
    assert not layers(figure, "geom_line")
    assert drawn_texts(figure)


def test_what_cannot_be_drawn_is_said(scores, augmented):
    with raises(ColumnError, column="fitted"):
        ss.plot_residuals(scores)
    with raises(ColumnError, column="site"):
        ss.plot_residuals(augmented, by="site")
    with raises(ValueRangeError, option="family", value="normal"):
        ss.plot_residuals(augmented, family="normal")
    both = pd.concat([augmented, augmented.assign(formula="iou ~ elongation")])
    choices = ("iou ~ prob + area_ratio", "iou ~ elongation")
    with raises(SalstatsError, column="formula", choices=choices) as caught:
        ss.plot_residuals(both)
    # the call that is proposed can be run
    call = str(caught.value.hint).partition("as in ")[2]
    kept = eval(call, {"augmented": both})
    assert kept["formula"].unique().tolist() == ["iou ~ prob + area_ratio"]
    many = ss.augment(scores, "iou ~ prob", by=["method", "task"])
    with raises(SalstatsError, option="augmented", value=15):
        ss.plot_residuals(many, by=["method", "task"])


def test_a_perfect_fit_is_said(scores):
    one = scores.query("method == 'gradcam' and task == 'Edema'").assign(score=0.5)
    with warns(option=None, column="std_error"):
        augmented = ss.augment(one, "iou ~ prob")
    with raises(SalstatsError, column="std_residual"):
        ss.plot_residuals(augmented)


def test_one_of_several_models_may_fit_perfectly(scores):
    rows = scores.query("task == 'Edema'").copy()
    rows.loc[rows["method"] == "human", "score"] = 0.5
    with warns(option=None, column="std_error"):
        augmented = ss.augment(rows, "iou ~ prob")
    figure = ss.plot_residuals(augmented)
    assert "Fitted perfectly, not drawn: Human benchmark." in caption(figure)
    titles = figure.data["panel"].cat.categories
    assert {title.split(".")[0] for title in titles} == {"Grad-CAM", "Occlusion"}


def test_mixed_models_have_no_panel_of_influence():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"case": np.repeat(np.arange(20), 4), "x": rng.random(80)})
    rows["y"] = rng.random(80) + np.repeat(rng.random(20), 4)
    figure = ss.plot_residuals(ss.augment(rows, "y ~ x + (1|case)"), width=183)
    titles = list(figure.data["panel"].cat.categories)
    assert [title[0] for title in titles] == ["a", "b", "c"]
    assert (figure.data["panel"].value_counts() == 80).all()
    assert "Cook" not in caption(figure)
    figure.draw()


def test_fewer_points_are_larger_and_more_opaque(augmented):
    styles = []
    for copies in (1, 2, 16):
        rows = pd.concat([augmented] * copies, ignore_index=True)
        points = layers(ss.plot_residuals(rows), "geom_point")[0].geom
        styles.append((points.aes_params["size"], points.aes_params["alpha"]))
    # 130, 260 and 2,080 points in a panel
    assert styles == [(0.8, 0.6), (0.5, 0.4), (0.35, 0.25)]


def test_lines_span_their_points_and_rings_are_of_the_panel_of_influence(augmented):
    figure = ss.plot_residuals(augmented)
    segments = layer_data(figure, "geom_segment")
    for title, segment in zip(TITLES[:2], segments.itertuples(), strict=True):
        across = places(figure, title)[:, 0]
        assert (segment.across, segment.end) == (across.min(), across.max())
    ringed = figure.data[figure.data["ringed"]]
    assert set(ringed["panel"]) == {TITLES[3]}
    assert len(ringed) == 3


def test_the_caption_names_the_model_its_rows_and_cases_of_several_tasks(scores, augmented):
    text = caption(ss.plot_residuals(augmented))
    assert text.startswith("Model: IoU ~ ")
    assert "Method: Grad-CAM. Task: Edema." in text
    without_formula = caption(ss.plot_residuals(augmented.drop(columns="formula")))
    assert without_formula.startswith("Method: Grad-CAM.")
    rows = scores.query("method == 'gradcam' and task in ['Edema', 'Cardiomegaly']")
    both = ss.augment(rows, "iou ~ prob + task")
    largest = both.nlargest(1, "cooks_distance").iloc[0]
    assert f"from the top ({largest['case']} of {largest['task']}, " in caption(ss.plot_residuals(both))
    by_task = ss.augment(rows, "iou ~ prob", by="task")
    of_models = caption(ss.plot_residuals(by_task, by="task"))
    assert "from the top (Cardiomegaly: " in of_models
    assert "; Edema: " in of_models
    assert "Task" not in of_models


def test_the_outcome_score_is_called_by_its_metric_if_there_is_one(augmented):
    rows = augmented.assign(formula="score ~ prob", metric="iou")
    assert caption(ss.plot_residuals(rows)).startswith("Model: IoU ~ ")
    # a column of that name without metrics, or another outcome beside them
    assert not caption(ss.plot_residuals(rows.drop(columns="metric"))).startswith("Model: IoU ~ ")
    other = caption(ss.plot_residuals(rows.assign(formula="dice ~ prob")))
    assert other.startswith("Model: Dice ~ ")


def test_models_stand_in_rows_from_forty_mm_a_panel(augmented):
    assert ss.plot_residuals(augmented, width=160).facet._ncol == 4
    assert ss.plot_residuals(augmented, width=159).facet._ncol == 2
