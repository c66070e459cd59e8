"""Terms of regressions in print."""

import pandas as pd
import pytest

from salstats.display.estimates import read_estimates
from salstats.display.text.labels import Labels
from salstats.display.text.terms import (
    TermVariable,
    distinct_term_and_factor_rows,
    factor_names_of_rows,
    min_max_scaled_covariates_note,
    right_side_columns,
    right_side_text,
    term_variables,
    variables_of_rows,
    with_reference_rows,
)

FORMULA = "iou ~ task + elongation"


def terms(*names, **columns):
    """Estimates of terms of one model."""
    return read_estimates(
        pd.DataFrame(
            {"method": "gradcam", "formula": FORMULA, "term": list(names), "estimate": 0.1, **columns}
        )
    )


@pytest.mark.parametrize(
    ("term", "formula", "variables"),
    [
        ("elongation", FORMULA, [("elongation", "")]),
        ("taskEdema", FORMULA, [("task", "Edema")]),
        ("taskEdema:elongation", "iou ~ task:elongation", [("task", "Edema"), ("elongation", "")]),
        # of two factors the longer name is meant
        ("task_sizesmall", "iou ~ task + task_size", [("task_size", "small")]),
        ("C(task)[T.Edema]:age", "y ~ (1 ||", [("C(task)", "[T.Edema]"), ("age", "")]),
    ],
)
def test_terms_are_divided_into_variables_and_levels(term, formula, variables):
    assert term_variables(term, formula) == tuple(TermVariable(*variable) for variable in variables)


def test_levels_stand_below_their_factor_after_the_reference():
    estimates = terms("taskEdema", "elongation", reference_level=["Atelectasis", None])
    with_references = with_reference_rows(estimates, ["method", "formula"])
    assert with_references.frame["term"].tolist() == ["taskAtelectasis", "taskEdema", "elongation"]
    assert with_references.has_estimate.tolist() == [False, True, True]
    rows = distinct_term_and_factor_rows(with_references, Labels())
    assert [(row.text, row.is_level) for row in rows] == [
        ("Task", False), ("Atelectasis", True), ("Edema", True), ("Elongation", False),
    ]  # fmt: skip
    assert rows[2].full_text == "Task: Edema"


def test_estimates_without_factors_have_no_reference_rows():
    estimates = terms("elongation")
    assert with_reference_rows(estimates, ["method"]) is estimates


def test_each_row_has_its_factor():
    assert factor_names_of_rows(terms("taskEdema", "elongation")) == ["task", ""]


def test_normalized_covariates_are_named():
    note = min_max_scaled_covariates_note(
        terms("taskEdema", "elongation", normalized=[False, True]), Labels()
    )
    assert note == "From 0, the smallest value in the data, to 1, the largest: Elongation."
    assert min_max_scaled_covariates_note(terms("elongation"), Labels()) == ""


def test_a_covariate_that_runs_from_0_to_1_has_no_unit():
    labels = Labels({"age": "Age (years)", "prob": "Confidence (ResNet)"})
    names = ("area_mm2", "age", "prob")
    normalized = terms(*names, normalized=[True, True, True])
    assert [row.text for row in distinct_term_and_factor_rows(normalized, labels)] == [
        "Area",
        "Age",
        "Confidence (ResNet)",
    ]
    measured = distinct_term_and_factor_rows(terms(*names), labels)
    assert [row.text for row in measured] == ["Area (mm²)", "Age (years)", "Confidence (ResNet)"]


def test_the_right_side_of_a_formula_is_written_in_labels():
    assert right_side_text(FORMULA, Labels()) == "Task + Elongation"
    assert right_side_text("y ~ (1 ||", Labels()) == "(1 ||"
    assert right_side_columns(FORMULA) == ["task", "elongation"]
    assert right_side_columns(FORMULA, ["taskEdema"]) == ["task"]


def test_a_reference_level_of_whole_numbers_has_no_decimals_after_a_file():
    frame = pd.DataFrame(
        {
            "term": ["C(year)[2021]", "C(year)[2022]"],
            "estimate": 0.1,
            "formula": "score ~ C(year)",
            "reference_level": ["2020", "2020"],
        }
    )
    texts = []
    for levels in (["2020", "2020"], [2020.0, 2020.0]):
        rows = with_reference_rows(read_estimates(frame.assign(reference_level=levels)), ["formula"])
        texts.append(rows.frame["term"].tolist())
    assert texts[0] == texts[1]
    assert len(texts[0]) == 3


def test_a_factor_that_the_frame_states_is_that_of_its_terms():
    estimates = terms("taskEdema", "age", "task", formula="y ~ (1 ||", factor=["task", None, "other"])
    assert variables_of_rows(estimates) == [
        (TermVariable("task", "Edema"),), (TermVariable("age", ""),), (TermVariable("task", ""),)
    ]  # fmt: skip
