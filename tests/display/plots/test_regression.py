"""The figure of coefficients: rows, models, panels, axis, words, drawing."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import (
    bars,
    caption,
    drawn_texts,
    layer_data,
    legend,
    row_labels,
    scale,
)
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import REFERENCE_COLOUR, REFERENCE_SHAPE
from salstats.errors import ColumnError, SalstatsError


def terms(
    formula="iou ~ elongation + area_ratio", names=("(Intercept)", "elongation", "area_ratio"), **columns
):
    """Coefficients 0.5, 1.0, ... of one model."""
    estimate = 0.5 * np.arange(1.0, len(names) + 1)
    return pd.DataFrame(
        {
            "formula": formula,
            "term": list(names),
            "estimate": estimate,
            "conf_low": estimate / 2,
            "conf_high": estimate * 2,
            "conf_level": 0.95,
            "interval": "t",
            "family": "gaussian",
            "exponentiated": False,
        }
        | columns
    )


def by(column, values, make=terms):
    """The same model for each value of a grouping column."""
    return pd.concat([pd.concat([make()], keys=[v], names=[column]).reset_index(column) for v in values])


def test_terms_are_rows_in_their_order_without_the_intercept():
    figure = ss.plot_regression(terms())
    assert row_labels(figure) == ["Elongation", "Relative size"]
    assert list(figure.data["estimate"]) == [1.0, 1.5]
    assert list(bars(figure)["conf_high"]) == [2.0, 3.0]
    assert row_labels(ss.plot_regression(terms(), intercept=True))[0] == "Intercept"
    labels = {"term": ["area_ratio"], "elongation": "Longer over shorter"}
    assert row_labels(ss.plot_regression(terms(), labels=labels)) == ["Relative size", "Longer over shorter"]


def test_variances_are_not_drawn_among_coefficients():
    frame = terms(names=["x", "patient Var", "alpha"], effect=["fixed", "random", "auxiliary"])
    assert row_labels(ss.plot_regression(frame)) == ["X"]


@pytest.mark.parametrize(
    ("formula", "term", "labels"),
    [
        ("iou ~ task", "taskPleural Effusion", ["Task", "\u2003Pleural Effusion"]),
        ("iou ~ C(task)", "C(task)Edema", ["Task", "\u2003Edema"]),
        (None, "C(task)Edema", ["Task", "\u2003Edema"]),
        (
            "iou ~ prob * task",
            "prob:taskEdema",
            ["Model confidence × Task", "\u2003Model confidence × Edema"],
        ),
        ("iou ~ task + task_size", "task_sizebig", ["Task size", "\u2003big"]),
        ("iou ~ task", "taskŒdème: léger", ["Task", "\u2003Œdème: léger"]),
        ("iou ~ scale(prob)", "scale(prob)", ["Model confidence, per SD"]),
        ("iou ~ log(prob)", "log(prob)", ["log(prob)"]),
        ("iou ~ elongation", "elongation", ["Elongation"]),
    ],
)
def test_levels_of_a_factor_stand_below_their_variable(formula, term, labels):
    shown = row_labels(ss.plot_regression(terms(formula, names=[term])))
    assert [label.replace("\n\u2003", " ") for label in shown] == labels


def test_the_reference_level_has_a_row_without_a_mark():
    frame = terms("iou ~ size + task", ["size", "taskB", "taskC"], reference_level=[None, "A", "A"])
    figure = ss.plot_regression(frame, labels={"task": {"C": "Third", "B": "Second"}})
    assert row_labels(figure) == ["Size", "Task", "\u2003A (reference)", "\u2003Third", "\u2003Second"]
    assert list(figure.data["row_label"]) == ["Size", "Task: Second", "Task: Third"]


def test_a_factor_of_a_formula_from_elsewhere_has_its_own_rows_and_no_others():
    names = ["siteb", "sitec", "np.exp(x)"]
    frame = terms("y ~ site + np.exp(x)", names, reference_level=["a", "a", None])
    assert row_labels(ss.plot_regression(frame)) == ["Siteb", "Sitec", "np.exp(x)"]
    figure = ss.plot_regression(frame.assign(factor=["site", "site", None]), labels={"b": "B!"})
    assert row_labels(figure) == ["Site", "\u2003a (reference)", "\u2003B!", "\u2003c", "np.exp(x)"]


def test_a_label_for_a_whole_term_comes_first():
    frame = terms("iou ~ task", names=["taskEdema"])
    assert row_labels(ss.plot_regression(frame, labels={"taskEdema": "Oedema"})) == ["Oedema"]
    labels = {"task": {"Edema": "Oedema"}}
    assert row_labels(ss.plot_regression(frame, labels=labels)) == ["Task", "\u2003Oedema"]


def test_methods_are_marks_and_the_human_benchmark_is_a_black_diamond():
    figure = ss.plot_regression(by("method", ["gradcam", "human"]))
    assert list(legend(figure)) == ["Human benchmark", "Grad-CAM"]
    assert legend(figure)["Human benchmark"] == (REFERENCE_COLOUR, REFERENCE_SHAPE)
    rows = figure.data.pivot(index="term", columns="method", values="y")
    assert (rows["human"] > rows["gradcam"]).all()


def test_outcomes_are_panels():
    frame = pd.concat([terms(), terms("hit ~ elongation + area_ratio")])
    figure = ss.plot_regression(frame)
    assert list(figure.data["panel"].cat.categories) == ["IoU", "Hit rate"]
    assert figure.labels.x == "Coefficient (95% CI)"
    assert ss.plot_regression(terms()).labels.x == "Coefficient, IoU (95% CI)"


def many():
    """A model of more terms than could each be a heading."""
    return terms("iou ~ a + b + c + d", names=list("abcd"))


def test_values_of_a_further_column_are_rows_and_a_few_terms_panels():
    figure = ss.plot_regression(by("task", ["B", "A"]))
    assert row_labels(figure) == ["A", "B"]
    assert list(figure.data["panel"].cat.categories) == ["Elongation", "Relative size"]
    assert figure.labels.x == "Coefficient, IoU (95% CI)"
    two = by("task", ["B", "A"], lambda: pd.concat([terms(), terms("hit ~ elongation + area_ratio")]))
    panels = ss.plot_regression(two).data["panel"].cat.categories
    assert list(panels) == [
        f"{outcome}, {x}" for outcome in ("IoU", "Hit rate") for x in ("Elongation", "Relative size")
    ]
    levels = by("site", ["x", "y"], lambda: terms("iou ~ task", ["taskB"], reference_level=["A"]))
    figure = ss.plot_regression(levels)
    assert row_labels(figure) == ["x", "y"]
    assert figure.labels.x == "Coefficient of Task: B, IoU (95% CI)"
    assert "Reference level: A (Task)." in caption(figure)


def test_one_term_by_task_is_one_row_for_each_and_the_pooled_one_last():
    tasks = ["Overall", *(f"Finding {i}" for i in range(10, 21))]
    figure = ss.plot_regression(by("task", tasks, lambda: terms("iou ~ a", names=["a"])))
    assert row_labels(figure) == [*tasks[1:], "Overall"]
    assert figure.data["panel"].nunique() == 1


def test_values_of_a_further_column_are_panels_with_one_axis_where_terms_are_many():
    order = ["small", "medium", "large"]
    frame = by("size", order[::-1], many)
    frame["size"] = pd.Categorical(frame["size"], order, ordered=True)
    frame.loc[frame["size"] == "large", ["estimate", "conf_low", "conf_high"]] *= 10
    figure = ss.plot_regression(frame)
    assert list(figure.data["panel"].cat.categories) == order
    assert figure.facet.free == {"x": False, "y": False}


def test_formulas_with_their_own_terms_are_one_model_each_in_a_shared_panel():
    frame = pd.concat([terms("iou ~ a", names=["a"]), terms("iou ~ b", names=["b"])])
    figure = ss.plot_regression(frame)
    assert row_labels(figure) == ["A", "B"]
    assert scale(figure, "color") is None


def test_formulas_that_share_terms_are_told_apart_by_their_right_side():
    def both():
        return pd.concat([terms("iou ~ a", names=["a"]), terms("iou ~ a + b", names=["a", "b"])])

    assert list(legend(ss.plot_regression(both()))) == ["A", "A + B"]
    shown = legend(ss.plot_regression(by("method", ["lime", "gradcam"], both)))
    assert list(shown) == ["Grad-CAM: A", "Grad-CAM: A + B", "LIME: A", "LIME: A + B"]


def test_a_gap_to_a_reference_is_said():
    frame = terms(reference="human")
    frame = frame[["reference", *frame.columns.drop("reference")]]
    assert "Outcome: human benchmark − method." in caption(ss.plot_regression(frame))


def test_coefficients_have_a_line_at_zero_and_ratios_one_at_one_on_logarithms():
    figure = ss.plot_regression(terms())
    assert set(layer_data(figure, "geom_vline")["guide"]) == {0.0}
    odds = ss.plot_regression(terms(exponentiated=True, family="binomial"))
    assert set(layer_data(odds, "geom_vline")["guide"]) == {1.0}
    assert type(scale(odds, "x")).__name__ == "scale_x_log10"
    assert odds.labels.x == "Odds ratio, IoU (95% CI)"
    assert ss.plot_regression(terms(family="binomial")).labels.x == "Log odds ratio, IoU (95% CI)"
    ratio = ss.plot_regression(terms(exponentiated=True))
    assert ratio.labels.x == "Exponentiated coefficient, IoU (95% CI)"


def test_bars_of_ratios_without_end_are_cut_and_it_is_said():
    frame = terms(exponentiated=True, family="binomial", conf_low=0.0, conf_high=np.inf)
    figure = ss.plot_regression(frame)
    ends = bars(figure)[["conf_low", "conf_high"]]
    assert (ends > 0).all(axis=None)
    assert np.isfinite(ends).all(axis=None)
    assert "Bars that reach an end of the axis are cut there." in caption(figure)
    assert "1" in drawn_texts(figure)


def test_the_model_and_its_standard_errors_are_said():
    frame = terms(errors="cluster", unit="patient")
    assert caption(ss.plot_regression(frame)) == (
        "Linear regression, on Elongation + Relative size; standard errors clustered by patient (CR1). "
        "Bars: 95% t intervals, unit: patient."
    )


def test_undefined_coefficients_are_left_out_and_those_without_error_have_no_bar():
    frame = terms()
    frame.loc[1, ["estimate", "conf_low", "conf_high"]] = np.nan
    frame.loc[2, ["conf_low", "conf_high"]] = np.nan
    figure = ss.plot_regression(frame)
    assert row_labels(figure) == ["Relative size"]
    assert "Undefined, not drawn: IoU/Elongation." in caption(figure)
    assert "No confidence intervals." in caption(figure)


def test_a_table_from_elsewhere_is_drawn():
    broom = pd.DataFrame({"term": ["(Intercept)", "size"], "estimate": [0.2, 0.5], "std.error": 0.1})
    figure = ss.plot_regression(ss.tidy(broom))
    assert row_labels(figure) == ["Size"]
    assert figure.labels.x == "Coefficient"
    models = pd.concat([ss.tidy(broom).assign(model=m)[["model", "term", "estimate"]] for m in "ab"])
    assert list(legend(ss.plot_regression(models))) == ["a", "b"]


@pytest.mark.parametrize(
    ("frame", "error", "expected"),
    [
        (terms(names=["(Intercept)"]), SalstatsError, {"hint": "pass intercept=True to draw them"}),
        (terms().drop(columns="term"), ColumnError, {"column": "term"}),
        (terms(estimate=np.nan), SalstatsError, {"column": "estimate"}),
        (terms(exponentiated=[True, False, True]), SalstatsError, {"column": "exponentiated"}),
        (pd.concat([terms(), terms()]), SalstatsError, {"match": "outcome IoU, term elongation"}),
        (
            by("task", "ab", lambda: by("dataset", "xy")),
            SalstatsError,
            {"column": "dataset", "match": "'task', 'dataset'"},
        ),
    ],
)
def test_what_cannot_be_drawn_is_an_error(frame, error, expected):
    with raises(error, **expected):
        ss.plot_regression(frame)


def test_models_of_scores_and_of_gaps_have_panels_of_their_own():
    scores = ss.datasets.load_simulated()
    options = {"by": "method", "errors": "cr2", "unit": "patient"}
    formulas = ["iou ~ elongation", "hit ~ elongation"]
    own = ss.regress(scores[scores["method"] != "human"], formulas, **options)
    gaps = ss.regress(scores, formulas, reference="human", **options)
    both = pd.concat([own, gaps], ignore_index=True)[gaps.columns]
    figure = ss.plot_regression(both)
    data = figure.data
    assert data.groupby("panel", observed=True)["estimate"].count().to_dict() == {
        "IoU": 2,
        "Hit rate": 2,
        "IoU: gap to human benchmark": 2,
        "Hit rate: gap to human benchmark": 2,
    }
    gap = data[data["panel"] == "IoU: gap to human benchmark"].set_index("method")["estimate"]
    expected = gaps.query("term == 'elongation' and formula == 'iou ~ elongation'").set_index("method")
    pd.testing.assert_series_equal(gap.sort_index(), expected["estimate"].sort_index())
    assert "Gap: human benchmark \u2212 method." in " ".join(figure.labels.caption.split())
