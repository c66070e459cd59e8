"""The forest of subgroups: rows and headings, columns of text, line, words, drawing."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.frames import extreme_study, named_study
from display.plots.estimate_figures import (
    bars,
    caption,
    decreases,
    drawn_texts,
    estimates,
    layer_data,
    layers,
    legend,
    row_labels,
    texts,
)
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, SalstatsWarning, ValueRangeError


def subgroups():
    """Estimates by subgroup and its level, as stacked from several calls, with a row for all."""
    frame = estimates(tasks=["x"], methods=["a"], metrics=list("pqrs"))
    levels = [("Size", "small"), ("Size", "large"), ("Sex", "female"), ("Overall", "Overall")]
    frame = frame.drop(columns=["metric", "method", "task"])
    return pd.concat([pd.DataFrame(levels, columns=["subgroup", "level"]), frame], axis=1)


def weights(figure):
    """The weights of the rows' labels from the top down."""
    return figure.theme.themeables["axis_text_y"].theme_element.properties["weight"]


def guide(figure):
    """Where the vertical line stands."""
    return set(layer_data(figure, "geom_vline")["guide"])


def test_two_grouping_columns_give_bold_headings_and_rows_set_in():
    figure = ss.plot_forest(subgroups())
    labels = row_labels(figure)
    assert [label.strip() for label in labels] == ["Sex", "female", "Size", "large", "small", "Overall"]
    assert [label[0].isspace() for label in labels] == [False, True, False, True, True, False]
    assert weights(figure) == ["bold", "normal", "bold", "normal", "normal", "bold"]
    assert list(figure.data["row_label"]) == ["Size, small", "Size, large", "Sex, female", "Overall, Overall"]


def test_each_mark_stands_in_the_row_of_its_subgroup():
    figure = ss.plot_forest(subgroups(), labels={"subgroup": ["Size"], "level": {"small": "Small"}})
    assert [label.strip() for label in row_labels(figure)][:3] == ["Size", "Small", "large"]
    top_down = figure.data.sort_values("y", ascending=False)["level"]
    assert list(top_down) == ["small", "large", "female", "Overall"]


def test_rows_that_sum_up_are_diamonds_and_stand_last_behind_a_line():
    figure = ss.plot_forest(subgroups())
    squares, diamond = layers(figure, "geom_point")
    assert (squares.geom.aes_params["shape"], diamond.geom.aes_params["shape"]) == ("s", "D")
    assert list(diamond._data["subgroup"]) == ["Overall"]
    assert len(layer_data(figure, "geom_hline")) == 1
    one = ss.plot_forest(estimates(tasks=["B", "Average", "A"], methods=["a"], metrics=["iou"]))
    assert row_labels(one) == ["A", "B", "Average"]
    assert weights(one) == ["normal", "normal", "bold"]


def test_text_beside_the_marks_is_n_estimate_and_p_value():
    frame = subgroups().assign(p_value=[0.2, 0.0004, 0.04, np.nan])
    columns, headings = texts(ss.plot_forest(frame))
    assert headings == ["n", "Mean (95% CI)"]
    assert columns == [
        ["1,234"] * 4,
        ["0.300 (0.200, 0.400)", "0.310 (0.210, 0.410)", "0.320 (0.220, 0.420)", "0.330 (0.230, 0.430)"],
    ]
    columns, headings = texts(ss.plot_forest(frame, p_values=True, digits=1, style="ama"))
    assert headings == ["n", "Mean (95% CI)", "P"]
    assert columns[1][0] == "0.3 (0.2 to 0.4)"
    assert columns[2] == [".20", "<.001", ".04", "—"]


@pytest.mark.parametrize(
    ("readers", "said"), [(["A"], ""), (["A", "B"], "24 pairs of 12 cases per estimate;")]
)
def test_pairs_of_fewer_cases_say_of_how_many(readers, said):
    rng = np.random.default_rng(0)
    rows = [(f"c{i}", m, None, "iou", rng.uniform()) for i in range(12) for m in ("gradcam", "ig")]
    rows += [(f"c{i}", "human", reader, "iou", rng.uniform()) for i in range(12) for reader in readers]
    scores = pd.DataFrame(rows, columns=["case", "method", "reader", "metric", "score"])
    figure = ss.plot_forest(ss.difference(scores, reference="human"))
    caption = " ".join(figure.labels.caption.split())
    assert said in caption
    assert said or "n, " not in caption


def test_adjusted_p_values_are_taken_first_and_said():
    frame = subgroups().assign(p_value=0.01, p_adjusted=0.04, n_tests=4)
    figure = ss.plot_forest(frame, p_values=True)
    assert texts(figure)[0][2] == ["0.040"] * 4
    assert "P values: two-sided; adjusted (4 tests)." in caption(figure)
    assert "P values" not in caption(ss.plot_forest(frame))


def test_bars_of_adjusted_differences_are_called_unadjusted_with_and_without_p_values():
    frame = subgroups().assign(p_value=0.01)
    assert "unadjusted" not in caption(ss.plot_forest(frame))
    adjusted = frame.assign(p_adjusted=0.04, procedure="holm", n_tests=4)
    assert "Bars: unadjusted 95%" in caption(ss.plot_forest(adjusted))
    assert "Bars: unadjusted 95%" in caption(ss.plot_forest(adjusted, p_values=True))
    # limits that hold for all differences together are adjusted
    assert "unadjusted" not in caption(ss.plot_forest(adjusted.assign(family_level=0.95)))


def test_a_p_value_at_its_floor_is_written_as_a_bound():
    floors = {"p_floor": [0.02, 0.002, np.nan, np.nan], "p_adjusted_floor": [0.08, np.nan, np.nan, np.nan]}
    frame = subgroups().assign(p_value=0.02, **floors)
    assert texts(ss.plot_forest(frame, p_values=True))[0][2] == ["<0.020", "0.020", "0.020", "0.020"]
    adjusted = frame.assign(p_adjusted=0.08, n_tests=4)
    assert texts(ss.plot_forest(adjusted, p_values=True))[0][2] == ["<0.080", "0.080", "0.080", "0.080"]


def test_a_line_stands_at_no_difference_or_where_it_is_asked_for():
    assert guide(ss.plot_forest(subgroups())) == set()
    assert guide(ss.plot_forest(subgroups(), null=0.25)) == {0.25}
    ratios = subgroups().assign(exponentiated=True)
    assert guide(ss.plot_forest(ratios, null=0.5)) == {0.5}
    change = decreases({"A": 1.0, "B": 2.0})
    assert guide(ss.plot_forest(change)) == {0.0}
    assert guide(ss.plot_forest(change, null=None)) == set()
    assert guide(ss.plot_forest(subgroups().assign(term="auroc"))) == {0.5}


def test_metrics_are_panels_below_each_other():
    figure = ss.plot_forest(estimates(methods=["human"]))
    assert list(figure.data["panel"].cat.categories) == [
        "Mean IoU, Human benchmark",
        "Hit rate, Human benchmark",
    ]
    assert figure.facet._ncol == 1
    assert figure.labels.x == "Mean (95% CI)"
    assert ss.plot_forest(estimates(metrics=["iou"])).labels.x == "Mean IoU (95% CI)"


@pytest.mark.parametrize("term", ["mean", "percent_decrease"])
def test_a_forest_of_one_metric_and_method_names_both(term):
    frame = decreases({"A": 24.0, "B": 9.0}).assign(term=term)
    shown = " ".join(drawn_texts(ss.plot_forest(frame)))
    assert "IoU" in shown
    assert "Grad-CAM" in shown


def test_one_coefficient_by_subgroup_is_drawn_and_odds_ratios_stand_on_logarithms():
    frame = subgroups().assign(term="prob", formula="hit ~ prob", family="binomial", exponentiated=True)
    figure = ss.plot_forest(frame)
    assert type(figure.scales.get_scales("x")).__name__ == "scale_x_log10"
    assert guide(figure) == {1.0}
    assert figure.labels.x == "Odds ratio of Model confidence, Hit rate (95% CI)"
    assert texts(figure)[0][1][0] == "0.30 (0.20, 0.40)"
    plain = ss.plot_forest(frame.assign(exponentiated=False, family="gaussian"))
    assert guide(plain) == {0.0}
    assert texts(plain)[1][1] == "Coefficient (95% CI)"


def test_a_forest_of_a_model_leaves_the_intercept_out_and_names_the_model():
    scores = ss.datasets.load_simulated()
    coefficients = ss.fit(scores, "hit ~ method + prob + task", family="binomial").tidy(exponentiate=True)
    figure = ss.plot_forest(coefficients)
    labels = row_labels(figure)
    assert "Intercept" not in labels
    assert set(labels) < set(row_labels(ss.plot_forest(coefficients, intercept=True)))
    assert "Logistic regression, on" in caption(figure)
    # the number of observations is that of the model, not of a term
    assert "n" not in drawn_texts(figure)
    assert f"{coefficients['n'].iloc[0]:,} observations" in caption(figure)
    with raises(SalstatsError, column="term"):
        ss.plot_forest(coefficients.query("term == '(Intercept)'"))


def test_ratios_below_a_tenth_have_two_significant_digits():
    frame = subgroups().assign(exponentiated=True, estimate=[0.0228, 0.3, 2.5, 0.00041])
    frame = frame.assign(conf_low=[0.0163, 0.2, 1.5, 0.0002], conf_high=[0.032, 0.4, 4.0, 0.0009])
    shown = ["0.023 (0.016, 0.032)", "0.30 (0.20, 0.40)", "2.50 (1.50, 4.00)", "0.00041 (0.00020, 0.00090)"]
    assert set(shown) <= set(drawn_texts(ss.plot_forest(frame, width=183)))
    assert "0.02 (0.02, 0.03)" in drawn_texts(ss.plot_forest(frame, width=183, digits=2))


def test_pairs_of_levels_say_which_is_subtracted_from_which():
    model = ss.fit(ss.datasets.load_simulated(), "iou ~ method + task")
    forest = ss.plot_forest(model.contrasts("method"))
    assert "the heading minus the row" in caption(forest)
    assert any("− Human" in text for text in drawn_texts(forest))
    gaps = model.contrasts("method", reference="human")
    assert "the heading minus the row" not in caption(ss.plot_forest(gaps))


@pytest.mark.parametrize(("exponentiate", "no_effect"), [(False, 0), (True, 1)])
def test_reference_levels_have_a_hollow_mark_at_the_line_of_no_effect(exponentiate, no_effect):
    model = ss.fit(ss.datasets.load_simulated(), "hit ~ method + area_ratio", by=[], family="binomial")
    figure = ss.plot_forest(model.tidy(exponentiate=exponentiate), p_values=True, width=183)
    labels = ["Method", "Grad-CAM", "Human benchmark", "Occlusion", "Relative size"]
    assert [label.strip() for label in row_labels(figure)] == labels
    first = figure.data.iloc[0]
    assert (first["row_label"], first["estimate"], first["fill"]) == ("Method, Grad-CAM", no_effect, "white")
    assert set(figure.data["fill"][1:]).isdisjoint({"white"})
    effects, p_values = texts(figure)[0]
    assert (effects[0], p_values[0]) == ("Reference", "")
    # the caption counts what was estimated
    assert "not defined" not in caption(figure)
    assert "Reference level" not in caption(figure)
    by_task = ss.fit(ss.datasets.load_simulated(), "iou ~ method", by="task").tidy()
    assert "Reference level: Grad-CAM (Method)." in caption(ss.plot_forest(by_task))


def test_rows_of_terms_are_in_the_order_of_the_formula_and_levels_in_that_of_labels():
    model = ss.fit(ss.datasets.load_simulated(), "iou ~ method + area_ratio", by=[])
    order = ["occlusion", "human", "gradcam"]
    figure = ss.plot_forest(model.tidy(), labels={"method": order, "area_ratio": "A covariate"}, width=183)
    labels = ["Method", "Occlusion", "Human benchmark", "Grad-CAM", "A covariate"]
    assert [label.strip() for label in row_labels(figure)] == labels


def test_rows_without_an_estimate_say_so():
    frame = subgroups()
    frame.loc[2, "estimate"] = np.nan
    figure = ss.plot_forest(frame)
    assert row_labels(figure) == row_labels(ss.plot_forest(subgroups()))
    places = layer_data(figure, "geom_row_text")
    assert places["text"].tolist() == ["not defined"]
    assert places["y"].tolist() == figure.data.loc[figure.data["estimate"].isna(), "y"].tolist()
    assert texts(figure)[0][1][2] == "—"
    assert "1 of 4 estimates is not defined." in caption(figure)


def test_frames_without_n_or_intervals_have_less_text():
    frame = subgroups().drop(columns=["n", "conf_low", "conf_high", "conf_level", "interval"])
    columns, headings = texts(ss.plot_forest(frame))
    assert headings == ["Mean"]
    assert columns[0][0] == "0.300"


def test_an_empty_level_is_the_row_of_its_subgroup():
    frame = subgroups().assign(level=["small", "large", None, None])
    assert [label.strip() for label in row_labels(ss.plot_forest(frame))] == [
        "Sex",
        "Size",
        "large",
        "small",
        "Overall",
    ]


@pytest.mark.parametrize(
    ("change", "options", "expected"),
    [
        (lambda f: pd.concat([f.assign(model=m) for m in "ab"])[["model", *f]], {}, {"column": "model"}),
        (lambda f: pd.concat([f, f]), {}, {"match": "subgroup Size, level small"}),
        (lambda f: f.assign(estimate=np.nan), {}, {"column": "estimate", "match": "missing"}),
        (lambda f: f.assign(exponentiated=[True, False] * 2), {}, {"column": "exponentiated"}),
        (lambda f: f.assign(exponentiated=True, estimate=-1.0), {}, {"column": "estimate", "match": "-1"}),
        (lambda f: f, {"p_values": True}, {"option": "p_values", "column": "p_value"}),
        (lambda f: f, {"digits": 1.5}, {"option": "digits", "value": 1.5}),
        (lambda f: f, {"null": "zero"}, {"option": "null", "value": "zero"}),
        (lambda f: f, {"style": "bmj"}, {"option": "style", "value": "bmj"}),
        (lambda f: f, {"width": 0}, {"option": "width", "value": 0}),
    ],
)
def test_what_cannot_be_drawn_is_an_error(change, options, expected):
    kind = ValueRangeError if options and "p_values" not in options else SalstatsError
    with raises(kind, **expected):
        ss.plot_forest(change(subgroups()), **options)


def test_a_line_at_no_number_is_an_error():
    with raises(ValueRangeError, option="null"):
        ss.plot_forest(subgroups(), null=float("nan"))
    with raises(ValueRangeError, option="null", value=[0]):
        ss.plot_forest(subgroups(), null=[0])
    with raises(ValueRangeError, option="null", value=0):
        ss.plot_forest(subgroups().assign(exponentiated=True), null=0)


def test_an_average_of_several_methods_is_a_heading_with_its_methods():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    gaps = ss.difference(scores, reference="human", by=["metric", "task"], average="task", n_replicates=200)
    figure = ss.plot_forest(gaps)
    data = figure.data[figure.data["task"] == "Average"]
    assert sorted(data["row_label"]) == ["Average, Grad-CAM", "Average, Occlusion"]
    assert [text.strip() for text in row_labels(figure)][-3:] == ["Average", "Grad-CAM", "Occlusion"]


def test_a_width_without_room_for_marks_names_one_that_has_it():
    with raises(SalstatsError, option="width", value=45):
        ss.plot_forest(estimates(["Enlarged cardiomediastinum"]), width=45)


def test_margins_and_pairs_of_methods_stand_in_a_forest():
    margin = {"margin_low": -30.0, "margin_high": 30.0, "p_margin": 0.01}
    pairs = [
        decreases({"A": 3.0}, method=m, reference=r, verdict="equivalent", **margin)
        for m, r in (("b", "a"), ("c", "a"), ("c", "b"))
    ]
    figure = ss.plot_forest(pd.concat(pairs, ignore_index=True))
    assert row_labels(figure) == ["b vs a", "c vs a", "c vs b"]
    assert sorted(layer_data(figure, "geom_vline", 1)["bound"]) == [-30.0, 30.0]
    assert all(text.endswith("†") for text in texts(figure)[0][1])
    assert "†Equivalent: shown to lie within −30 to 30% (two one-sided tests, P < 0.05)." in caption(figure)


def test_a_forest_of_effects_names_terms_and_outcome_and_has_no_line_at_no_mean():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    fit = ss.fit(scores, "iou ~ method + area_ratio", by=[])
    labels = {"human": "Experts"}
    effects = ss.plot_forest(fit.effects(), labels=labels)
    levels = ["\u2003Grad-CAM", "\u2003Experts", "\u2003Occlusion"]
    assert row_labels(effects) == ["Method", *levels, "Relative size"]
    assert effects.labels.x == "Average marginal effect, IoU (95% CI)"
    assert guide(effects) == {0.0}
    means = ss.plot_forest(fit.means("method"))
    assert guide(means) == set()
    # n is that of the model
    assert texts(means)[1] == ["Mean (95% CI)"]
    assert "Linear regression, on Method + Relative size" in caption(means)
    assert "observations of 140 patients in the model" in caption(means)


def test_a_forest_of_variance_components_shows_sds():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    parts = ss.fit(scores, "iou ~ method + (1|case)", by=()).variance_components()
    figure = ss.plot_forest(parts)
    assert row_labels(figure) == ["Case", "Residual"]
    assert figure.labels.x == "SD, IoU (95% CI)"
    np.testing.assert_allclose(figure.data["estimate"], parts["std_dev"])
    np.testing.assert_allclose(figure.data["conf_high"] ** 2, parts["conf_high"])
    assert guide(figure) == set()


def test_bars_beyond_the_limits_end_in_arrows():
    figure = ss.plot_forest(subgroups(), limits=(0.25, 0.35))
    assert bars(figure)["conf_high"].max() == 0.35
    assert bars(figure)["conf_low"].min() == 0.25
    # marks, and arrows to the left and to the right
    assert len(layers(figure, "geom_point")) >= 3
    assert "Bars that end in an arrow go on beyond the axis." in caption(figure)


def test_methods_in_rows_have_the_marks_and_colours_of_other_figures():
    frame = estimates(tasks=["A"], metrics=["iou"])
    assert legend(ss.plot_forest(frame)) == legend(ss.plot_intervals(frame))
    assert ss.plot_forest(frame).theme.getp("legend_position") == "none"


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("study", [named_study, extreme_study])
def test_marks_have_25_mm_in_a_column_with_long_names_and_p_values(study):
    with warnings.catch_warnings():
        # a task has no pair
        warnings.simplefilter("ignore", SalstatsWarning)
        found = ss.difference(study(), reference="human", by=["metric", "task"], n_replicates=99)
    drawn = ss.plot_forest(found, p_values=True, width=89).draw()
    drawn.draw_without_rendering()
    widths_mm = [axes.bbox.width / drawn.dpi * 25.4 for axes in drawn.axes]
    plt.close(drawn)
    # half a millimetre for the widths of letters on the screen
    assert min(widths_mm) > 24.5


def test_an_estimate_without_groups_is_one_row_without_a_name():
    frame = estimates(tasks=["x"], methods=["a"], metrics=["iou"]).drop(columns=["method", "task", "term"])
    figure = ss.plot_forest(frame)
    assert row_labels(figure) == [""]
    assert figure.data["estimate"].tolist() == [0.3]


@pytest.mark.parametrize(
    ("terms", "title"),
    [
        (["icc2", "icc3"], "Intraclass correlation (95% CI)"),
        (["cohen_linear", "cohen_quadratic"], "Cohen's kappa (95% CI)"),
        # of two kinds
        (["icc2", "cohen_linear"], "Agreement (95% CI)"),
    ],
)
def test_the_axis_of_agreement_names_the_kind_of_coefficient(terms, title):
    frame = estimates(tasks=["x"] * len(terms), methods=["a"], metrics=["iou"])
    frame = frame.drop(columns=["metric", "method", "task"]).assign(term=terms)
    assert ss.plot_forest(frame).labels.x == title
