"""Models in notes: their kind and standard errors, marginal means, variance components and terms."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.text.labels import Labels
from salstats.display.text.models import (
    count_of_models,
    has_marginal_estimates,
    link_scale_clause,
    marginal_estimates_heading,
    model_and_averaging_note,
    model_kind_text,
    model_note,
    numeric_model_variables_with_one_value,
    only_outcome_text,
    standard_errors_clause,
    variable_and_level_of_each_term,
    variances_as_standard_deviations,
)

LABELS = Labels()


def read(*rows, **columns):
    """Estimates of the rows; columns are constants of all of them."""
    frame = pd.DataFrame(list(rows) or [{}]).assign(estimate=0.5, **columns)
    return read_estimates(frame)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"family": "gaussian", "formula": "iou ~ age"}, "Linear regression"),
        (
            {"family": "gaussian", "formula": "iou ~ age + (1 | case)"},
            "Linear mixed regression with random effects of case",
        ),
        (
            {"family": "gaussian", "formula": "iou ~ age + (1 | reader) + (1 | case)"},
            "Linear mixed regression with random effects of reader and case",
        ),
        (
            {"family": "gaussian", "formula": "iou ~ age", "correlation": "exchangeable"},
            "Linear regression by generalised estimating equations with an exchangeable working correlation",
        ),
        ({"family": "foreign", "formula": "iou ~ age"}, "Foreign regression"),
    ],
)
def test_a_model_is_named_by_family_random_effects_and_correlation(columns, text):
    assert model_kind_text(read(**columns), LABELS) == text


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([{"errors": "classical"}], "; classical standard errors."),
        ([{"errors": "cr2"}], "; bias-reduced standard errors clustered by unit (CR2)."),
        (
            [{"errors": "cr2", "unit": "patient_no"}],
            "; bias-reduced standard errors clustered by patient no (CR2).",
        ),
        ([{"errors": "jackknife"}], "; jackknife."),
        ([{"errors": "jackknife"}, {"errors": "sandwich"}], "; jackknife or sandwich."),
        ([{}], "."),
    ],
)
def test_standard_errors_end_a_sentence_and_name_their_clusters(rows, text):
    assert standard_errors_clause(read(*rows)) == text


def test_an_outcome_is_named_only_where_all_models_have_the_same():
    one = read({"formula": "prob ~ age"}, {"formula": "prob ~ elongation"})
    assert only_outcome_text(one, Labels({"prob": "Confidence"})) == "Confidence"
    assert only_outcome_text(read({"formula": "prob ~ age"}, {"formula": "iou ~ age"}), LABELS) == ""
    assert only_outcome_text(read(), LABELS) == ""


def marginal(**columns):
    return read(**{"formula": "prob ~ age", "average": "rows"} | columns)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({}, "Confidence, mean"),
        ({"metric": "iou"}, "Mean"),
        ({"term": "age"}, "Confidence, marginal effect of Age"),
        ({"reference_level": "Edema"}, "Confidence, difference from Edema"),
    ],
)
def test_a_heading_names_the_outcome_and_the_kind_of_marginal_estimate(columns, text):
    assert marginal_estimates_heading(marginal(**columns), Labels({"prob": "Confidence"})) == text


def test_several_slopes_or_reference_levels_are_not_named_singly():
    common = {"formula": "prob ~ age", "average": "rows", "metric": "iou"}
    assert (
        marginal_estimates_heading(read({"term": "age"}, {"term": "size"}, **common), LABELS)
        == "Marginal effect"
    )
    levels = read({"reference_level": "a"}, {"reference_level": "b"}, **common)
    assert marginal_estimates_heading(levels, LABELS) == "Difference"


def test_estimates_are_marginal_only_with_a_formula_and_an_average():
    assert has_marginal_estimates(marginal())
    assert not has_marginal_estimates(read(formula="prob ~ age"))
    assert not has_marginal_estimates(read(average="rows"))


def test_notes_name_sides_averages_and_errors_of_models():
    columns = {"family": "gaussian", "formula": "iou ~ age", "errors": "classical"}
    assert model_note(read(**columns), LABELS) == "Linear regression, on Age; classical standard errors."
    assert model_and_averaging_note(read(**columns), LABELS) == ""
    over_rows = model_and_averaging_note(read(**columns, average="rows"), LABELS)
    over_grid = model_and_averaging_note(read(**columns, average="grid"), LABELS)
    start, end = "Linear regression, on Age; ", "; classical standard errors."
    for note, phrase in ((over_rows, "rows of the model"), (over_grid, "other factors count alike")):
        assert note.startswith(start)
        assert note.endswith(end)
        assert phrase in note
    assert model_note(read(), LABELS) == ""
    # an average of another package keeps its name, and values at which a number is held are said behind it
    for_women = read(**columns, average="cells", at="sex = female")
    assert model_and_averaging_note(for_women, LABELS) == f"{start}cells, except sex = female{end}"
    mixed = model_note(read(**columns | {"formula": "iou ~ age + (1 | case)"}), LABELS)
    assert mixed.count("random effects") == 1
    only_intercept = model_note(read(**columns | {"formula": ""}), LABELS)
    assert only_intercept == "Linear regression; classical standard errors."


@pytest.mark.parametrize(
    ("formula", "levels", "factors_count_alike", "numbers"),
    [
        (
            "iou ~ method + age + task",
            {"method": "lime"},
            True,
            "; levels of other factors count alike, numbers",
        ),
        # the only number has the values of its column
        ("iou ~ method + age + task", {"age": 8.0, "method": "lime"}, True, ""),
        ("iou ~ method + age + size", {"age": 8.0, "method": "lime"}, True, ", other numbers"),
        ("iou ~ method + log(size)", {"method": "lime"}, False, "; numbers"),
        ("iou ~ method + C(size)", {"method": "lime"}, True, ""),
        ("iou ~ method * age", {"age": 8.0, "method": "lime"}, False, ""),
    ],
)
def test_numbers_at_their_mean_are_those_without_a_column(formula, levels, factors_count_alike, numbers):
    note = model_and_averaging_note(read(levels | {"formula": formula}, average="grid"), LABELS)
    assert ("levels of other factors count alike" in note) == factors_count_alike
    assert ("held at their mean" in note) == bool(numbers)
    if numbers:
        assert f"{numbers} are held at their mean" in note


def test_columns_with_a_single_number_are_named_unless_the_figure_does():
    rows = [{"age": 8.0, "size": 2.0, "method": method} for method in ("lime", "ig")]
    columns = {"formula": "iou ~ method * age + size", "average": "grid"}
    assert numeric_model_variables_with_one_value(read(*rows, **columns), ["size"]) == ["age"]
    assert numeric_model_variables_with_one_value(read(rows[0], rows[1] | {"age": 9.0}, **columns), []) == [
        "size"
    ]
    assert numeric_model_variables_with_one_value(read(*rows), []) == []


def test_models_are_counted_by_formula_reference_and_grouping_columns():
    rows = [{"task": task, "method": method} for task in "ab" for method in ("lime", "ig")]
    marginal_means = {"formula": "iou ~ method + age", "average": "rows"}
    # methods are levels of one model, tasks have one each
    assert count_of_models(read(*rows, **marginal_means)) == 2
    assert count_of_models(read(*rows[:2], **marginal_means)) == 1
    assert count_of_models(read(*rows[:2], formula="iou ~ age")) == 2
    gaps = read(rows[0] | {"reference": "human"}, rows[0] | {"reference": "ig"}, **marginal_means)
    assert count_of_models(gaps) == 2
    two_formulas = read({"formula": "iou ~ age"}, {"formula": "iou ~ size"}, {"formula": "iou ~ age"})
    assert count_of_models(two_formulas) == 2
    contrasts = read({"reference_level": "a"}, {"reference_level": "b"}, **marginal_means)
    assert count_of_models(contrasts) == 1


def test_variance_components_become_standard_deviations_of_their_groups():
    formula = "iou ~ age + (1 + age | case) + (1 | reader)"
    variances = [("case", np.nan, 0.09), ("case", "age", 0.04), ("reader", np.nan, 0.25)]
    rows = [
        {
            "method": "lime",
            "formula": formula,
            "group": group,
            "term": term,
            "parameter": "variance",
            "std_dev": np.sqrt(variance),
            "estimate": variance,
            "conf_low": variance / 4,
            "conf_high": variance * 4,
            "n": 100,
            "n_groups": 7,
        }
        for group, term, variance in variances
    ]
    correlation = rows[0] | {"parameter": "correlation", "estimate": 0.3}
    components = read_estimates(pd.DataFrame([*rows, correlation]))
    deviations = variances_as_standard_deviations(components, LABELS).frame
    assert deviations["group"].tolist() == ["Case", "Case, Age", "Reader"]
    assert set(deviations["metric"]) == {"iou"}
    assert set(deviations["n"]) == {7}
    np.testing.assert_allclose(deviations["estimate"], [0.3, 0.2, 0.5])
    # the square root of a variance and of its limits
    np.testing.assert_allclose(deviations["conf_low"], [0.15, 0.1, 0.25])
    np.testing.assert_allclose(deviations["conf_high"], [0.6, 0.4, 1.0])
    assert list(deviations.columns[:3]) == ["method", "metric", "group"]


def test_estimates_without_variance_components_stay_as_they_are():
    estimates = read(formula="iou ~ age")
    assert variances_as_standard_deviations(estimates, LABELS) is estimates


def test_terms_are_named_by_variable_and_level_and_reference_levels_in_a_note():
    data = pd.DataFrame(
        {
            "gap": np.sin(np.arange(12.0)),
            "age": np.arange(12.0) ** 2,
            "task": ["Atelectasis", "Edema", "Lesion"] * 4,
        }
    )
    terms = read_estimates(ss.regress(data, "gap ~ age + task"))
    names, note = variable_and_level_of_each_term(terms, ["formula"], LABELS)
    assert {names[term] for term in names} >= {("Age", ""), ("Task", "Edema"), ("Task", "Lesion")}
    assert note == "Reference level: Atelectasis (Task)."


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"family": "binomial", "scale": "link"}, " on the logit scale"),
        ({"family": "gaussian", "scale": "link"}, ""),
        ({"family": "binomial"}, ""),
    ],
)
def test_marginal_means_have_the_scale_of_their_link(columns, text):
    assert link_scale_clause(read(**columns)) == text
