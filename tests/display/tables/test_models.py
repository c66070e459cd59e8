"""Models in the columns of a regression table, and the statistics at the foot."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.tables.models import (
    ModelCell,
    columns_identifying_models,
    effect_measure_label,
    first_row_of_each_model_by_cell,
    foot_texts,
    hidden_variables_of_each_formula,
    is_row_of_gap_model,
    models_to_columns,
    read_and_stack,
    terms_shown,
)
from salstats.display.text.labels import Labels
from salstats.errors import Call, ColumnError, SalstatsError


def terms(formula="iou ~ age + size", names=("(Intercept)", "age", "size"), **columns):
    frame = pd.DataFrame({"formula": formula, "term": list(names), "estimate": 0.5, "n": 100})
    return frame.assign(**columns)


def test_frames_by_name_are_joined_with_their_names_in_front():
    joined = read_and_stack({"A": terms(), "B": terms()}, ("term",), "terms").frame
    assert joined.columns[0] == "_name"
    assert joined["_name"].tolist() == ["A"] * 3 + ["B"] * 3
    by_method = read_and_stack([terms(), terms(method="lime", reference="human")], ("term",), "terms")
    assert by_method.frame.columns[0] == "method"
    assert columns_identifying_models(by_method) == ["method", "reference", "formula"]
    for nothing in ([], {}, "terms"):
        with raises(SalstatsError, option="terms"):
            read_and_stack(nothing, ("term",), "terms")
    with raises(ColumnError, column="term"):
        read_and_stack([terms(), terms().drop(columns="term")], ("term",), "terms")


@pytest.mark.parametrize("frames", ["terms.csv", 5, None])
def test_what_is_no_frame_is_an_error(frames):
    with raises(SalstatsError, option="terms", match=type(frames).__name__):
        read_and_stack(frames, ["term"], "terms")


def test_terms_are_all_without_the_intercept_or_those_to_keep():
    assert terms_shown(terms(), None, intercept=False) == ["age", "size"]
    assert terms_shown(terms(), None, intercept=True) == ["(Intercept)", "age", "size"]
    assert terms_shown(terms(), ["size", "age"], intercept=False) == ["size", "age"]
    assert terms_shown(terms(), "size", intercept=False) == ["size"]
    with raises(ColumnError, option="keep", value="sex", choices=("(Intercept)", "age", "size")):
        terms_shown(terms(), ["sex"], intercept=False)


def test_models_of_one_outcome_with_a_term_each_share_a_column():
    frame = pd.concat([terms("iou ~ age", ["age"]), terms("iou ~ size", ["size"])], ignore_index=True)
    columns = models_to_columns(read_estimates(frame), [], [], Labels())
    assert columns.column_of_row == [0, 0]
    assert columns.headings == [("IoU, coefficient",)]
    assert columns.formulas == []


def test_a_single_coefficient_has_a_column():
    columns = models_to_columns(read_estimates(terms("iou ~ age", ["age"])), [], [], Labels())
    assert columns.column_of_row == [0]
    assert columns.headings == [("IoU, coefficient",)]


def test_models_with_a_term_in_common_are_numbered():
    frame = pd.concat([terms("iou ~ age", ["age"]), terms(names=["age", "size"])], ignore_index=True)
    columns = models_to_columns(read_estimates(frame), [], [], Labels())
    assert columns.column_of_row == [0, 1, 1]
    assert [heading[-1] for heading in columns.headings] == ["Model 1", "Model 2"]
    assert len(columns.formulas) == 2


def test_columns_have_the_names_of_frames_and_outcomes_where_these_tell_them_apart():
    frames = {"A": terms("iou ~ age", ["age"]), "B": terms("dice ~ age", ["age"])}
    by_name = models_to_columns(read_and_stack(frames, ("term",), "terms"), [], [], Labels())
    assert by_name.headings == [("Coefficient", "A"), ("Coefficient", "B")]
    of_others = {name: frame.drop(columns="formula") for name, frame in frames.items()}
    of_others = read_and_stack(of_others, ("term",), "terms")
    assert models_to_columns(of_others, [], [], Labels()).headings == by_name.headings
    assert hidden_variables_of_each_formula(of_others) == {}
    both = read_and_stack({"A": pd.concat(list(frames.values()))}, ("term",), "terms")
    assert models_to_columns(both, [], [], Labels()).headings == [
        ("Coefficient", "A", "IoU"),
        ("Coefficient", "A", "Dice"),
    ]
    without_names = read_and_stack(list(frames.values()), ("term",), "terms")
    assert models_to_columns(without_names, [], [], Labels()).headings == [
        ("Coefficient", "IoU"),
        ("Coefficient", "Dice"),
    ]
    kinds = [terms(family="binomial", exponentiated=True), terms(family="gaussian")]
    of_kinds = models_to_columns(read_and_stack(kinds, ("term",), "terms"), [], [], Labels())
    assert of_kinds.headings == [("Odds ratio", "IoU"), ("Coefficient", "IoU")]


def test_a_column_has_the_values_of_its_grouping_columns_in_the_order_of_labels():
    frame = pd.concat(
        [terms(task=task, method=method) for task, method in (("b", "rise"), ("b", "lime"), ("a", None))]
    )
    columns = models_to_columns(read_estimates(frame), ["task", "method"], [], Labels({"task": ["b", "a"]}))
    assert [heading[-1] for heading in columns.headings] == ["b, LIME", "b, RISE", "a"]
    one = models_to_columns(read_estimates(frame.head(3)), ["task", "method"], [], Labels())
    assert one.headings == [("IoU, coefficient",)]


def test_gaps_stand_behind_methods_and_are_called_by_both():
    frame = pd.concat([terms(method="lime", reference="human"), terms(method="lime", reference=None)])
    frame = frame.reset_index(drop=True)
    assert is_row_of_gap_model(read_estimates(frame)).tolist() == [True] * 3 + [False] * 3
    columns = models_to_columns(read_estimates(frame), ["method"], [], Labels())
    assert [heading[-1] for heading in columns.headings] == ["LIME", "Human benchmark − LIME"]
    assert columns.column_of_row == [1] * 3 + [0] * 3


def test_two_estimates_in_one_cell_are_an_error_that_names_their_rows():
    with raises(SalstatsError, column="term", rows=(0, 3)):
        models_to_columns(read_estimates(pd.concat([terms(), terms()])), [], [], Labels())


def test_variables_without_a_row_are_hidden():
    assert hidden_variables_of_each_formula(read_estimates(terms(names=["age"]))) == {
        "iou ~ age + size": ("size",)
    }
    assert hidden_variables_of_each_formula(read_estimates(terms())) == {"iou ~ age + size": ()}


def foot(fit, frame=None, columns=None):
    estimates = read_estimates(terms() if frame is None else frame)
    models = first_row_of_each_model_by_cell(estimates, columns or [0] * len(estimates), [])
    parameters = estimates.subset(estimates.frame["term"] == "")
    return foot_texts(estimates, models, fit, parameters, None, Labels(), 2, "nature")


def test_a_model_of_a_seed_has_its_statistics_where_other_models_have_none():
    joined = read_and_stack({"by seed": terms(seed=1), "all": terms()}, ("term",), "terms").frame
    assert joined["seed"].dtype == np.float64
    statistics = pd.DataFrame({"formula": ["iou ~ age + size"], "seed": [1], "nobs": [90]})
    assert foot(statistics, joined[:3])["n"] == {ModelCell((), 0): "90"}


def test_the_foot_has_n_and_of_a_linear_model_no_likelihood():
    cell = ModelCell((), 0)
    assert foot(None) == {"n": {cell: "100"}}
    statistics = pd.DataFrame({"formula": ["iou ~ age + size"], "nobs": 90, "log_lik": -12.34, "aic": 30.0})
    of_logit = foot(statistics.assign(r_squared=float("nan")))
    assert {name: texts[cell] for name, texts in of_logit.items()} == {
        "n": "90",
        "Log-likelihood": "−12.3",
        "AIC": "30.0",
    }
    of_linear = foot(statistics.assign(r_squared=0.25))
    assert {name: texts[cell] for name, texts in of_linear.items()} == {"n": "90", "R²": "0.25"}


def test_the_foot_counts_units_that_have_several_observations():
    cell = ModelCell((), 0)
    assert foot(None, terms(unit="patient", n_units=40)) == {"n": {cell: "100"}, "Patients": {cell: "40"}}
    assert foot(None, terms(unit="patient", n_units=100)) == {"n": {cell: "100"}}
    assert foot(None, terms(unit="case", n_units=[40, 40, 99]))["Cases"] == {cell: "40"}


def test_variances_of_another_package_stand_at_the_foot_of_their_model():
    frame = pd.DataFrame(
        {
            "method": ["lime", "lime", "lime", "lime", "rise"],
            "group": [None, "case", "case", None, "case"],
            "formula": "iou ~ age + (1 | case)",
            "term": ["age", "sd__Observation", "cov", "scale_par", "sd__Observation"],
            "estimate": [0.5, 0.000123, -0.5, 2.0, 0.7],
            "n": [100.0, None, None, None, None],
        }
    )
    estimates = read_and_stack(frame, ("term",), "terms")
    shown = estimates.subset(frame["term"] == "age")
    models = first_row_of_each_model_by_cell(shown, [0], [])
    parameters = estimates.subset(frame["term"] != "age")
    assert foot_texts(shown, models, None, parameters, None, Labels(), 2, "nature") == {
        "case, sd Observation": {ModelCell((), 0): "0.00012"},
        "case, Cov": {ModelCell((), 0): "−0.50"},
        "Scale par": {ModelCell((), 0): "2.0"},
        "n": {ModelCell((), 0): "100"},
    }


def test_a_model_without_statistics_keeps_the_n_of_its_terms():
    frame = pd.concat([terms(method="lime"), terms(method="rise")], ignore_index=True)
    keys = {"method": ["lime"], "formula": ["iou ~ age + size"]}
    statistics = pd.DataFrame({**keys, "nobs": 90, "r_squared": 0.25})
    with_statistics, without = ModelCell((), 0), ModelCell((), 1)
    texts = foot(statistics, frame, columns=[0] * 3 + [1] * 3)
    assert texts["n"] == {with_statistics: "90", without: "100"}
    assert texts["R²"] == {with_statistics: "0.25", without: "—"}


def test_a_column_of_several_models_has_no_statistics():
    frame = pd.concat([terms("iou ~ age", ["age"]), terms("iou ~ size", ["size"])], ignore_index=True)
    assert foot(None, frame) == {}


def test_statistics_of_other_models_are_an_error():
    other = pd.DataFrame({"formula": ["iou ~ sex"], "nobs": 90, "r_squared": 0.2})
    with raises(SalstatsError, option="fit", rows=(), hint=Call("regress")):
        foot(other)
    with raises(SalstatsError, option="fit", rows=(1,)):
        foot(pd.concat([other, other]))


def test_kinds_of_estimates_are_those_of_their_family_and_scale():
    assert effect_measure_label({"family": "gaussian"}) == "Coefficient"
    assert effect_measure_label({"family": "binomial"}) == "Log odds ratio"
    assert effect_measure_label({"family": "binomial", "exponentiated": True}) == "Odds ratio"
    assert effect_measure_label({"family": "binomial", "average": "rows"}) == "Average marginal effect"
    assert effect_measure_label({}) == "Coefficient"


def test_random_effects_have_their_sd_share_and_groups_at_the_foot():
    frame = terms("iou ~ age + (1 + age|reader) + (1|site:patient)", ["(Intercept)", "age"])
    formula = frame["formula"].iloc[0]
    rows = [
        # variance, its limits, SD, share with its limits, groups
        ("variance", "reader", "(Intercept)", 0.04, 0.01, 0.09, 0.2, 0.4, 0.1, 0.6, 5.0),
        ("variance", "reader", "age", 0.0004, 0.0001, 0.0009, 0.02, np.nan, np.nan, np.nan, 5.0),
        ("correlation", "reader", "(Intercept), age", 0.5, 0.1, 0.8, np.nan, np.nan, np.nan, np.nan, 5.0),
        ("variance", "site:patient", "(Intercept)", 0.01, 0.0, 0.04, 0.1, 0.1, 0.0, 0.3, 60.0),
        ("variance", "Residual", None, 0.09, 0.04, 0.16, 0.3, 0.5, 0.3, 0.7, np.nan),
    ]
    names = [
        "parameter",
        "group",
        "term",
        "estimate",
        "conf_low",
        "conf_high",
        "std_dev",
        "share",
        "share_low",
    ]
    components = pd.DataFrame(rows, columns=[*names, "share_high", "n_groups"]).assign(formula=formula)
    joined = read_and_stack(frame, ("term",), "terms")
    models = first_row_of_each_model_by_cell(joined, [0] * len(joined), [])
    other = read_estimates(components, required_columns=())
    none = joined.subset(joined.frame["term"] == "")
    texts = foot_texts(joined, models, None, none, other, Labels(), 2, "nature")
    found = {heading: next(iter(cells.values())) for heading, cells in texts.items()}
    expected = {
        "SD, reader": "0.20 (0.10, 0.30)",
        "SD, reader, Age": "0.02 (0.01, 0.03)",
        "Correlation, reader, Intercept and Age": "0.50 (0.10, 0.80)",
        "SD, site × patient": "0.10 (0.00, 0.20)",
        "Residual SD": "0.30 (0.20, 0.40)",
        "Share of variance (ICC), reader": "0.40 (0.10, 0.60)",
        "Share of variance (ICC), site × patient": "0.10 (0.00, 0.30)",
        "n, reader": "5",
        "n, site × patient": "60",
        "n": "100",
    }
    assert found == expected
    # a random slope is per as many units as the coefficient of its covariate
    per_ten = joined.with_columns(covariate_units=[1.0, 10.0])
    texts = foot_texts(per_ten, models, None, none, other, Labels(), 2, "nature")
    assert texts["SD, reader, Age, per 10"] == {ModelCell((), 0): "0.20 (0.10, 0.30)"}
    foreign = read_estimates(components.assign(formula="iou ~ size"), required_columns=())
    both = read_estimates(pd.concat([foreign.frame, components]), required_columns=())
    assert foot_texts(joined, models, None, none, both, Labels(), 2, "nature") == foot_texts(
        joined, models, None, none, other, Labels(), 2, "nature"
    )
    with raises(SalstatsError, option="components", hint=Call("variance_components")):
        foot_texts(joined, models, None, none, foreign, Labels(), 2, "nature")
