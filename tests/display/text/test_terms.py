"""Terms of regressions in print."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.estimates import read_estimates
from salstats.display.text.labels import Labels
from salstats.display.text.terms import (
    TermVariable,
    covariate_units_text_of_each_row,
    distinct_random_groupings,
    distinct_term_and_factor_rows,
    factor_names_of_rows,
    min_max_scaled_covariates_note,
    model_text,
    name_without_factor_coding,
    only_term_text,
    random_group_text,
    right_side_columns,
    right_side_text,
    term_variables,
    variable_text,
    variables_of_rows,
    with_reference_rows,
)

FORMULA = "iou ~ task + elongation"


def terms(*names, **columns):
    """Estimates of terms of one model."""
    return read_estimates(
        pd.DataFrame(
            {"method": "gradcam", "formula": FORMULA, "term": list(names), "estimate": 0.1} | columns
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
    with_references_first = with_reference_rows(estimates, ["method", "formula"])
    assert with_references_first.frame["term"].tolist() == ["taskAtelectasis", "taskEdema", "elongation"]
    assert with_references_first.has_estimate.tolist() == [False, True, True]
    rows = distinct_term_and_factor_rows(with_references_first, Labels())
    assert [(row.text, row.is_level) for row in rows] == [
        ("Task", False), ("Atelectasis", True), ("Edema", True), ("Elongation", False),
    ]  # fmt: skip
    assert rows[2].full_text == "Task: Edema"


def row_texts(estimates, labels=None):
    """Text of each row, with that of the heading above it."""
    rows = distinct_term_and_factor_rows(estimates, Labels(labels))
    return [(row.text, row.full_text) for row in rows]


def test_each_model_has_one_row_without_numbers_for_a_reference_level():
    both = terms("taskEdema", "taskLesion", reference_level="Atelectasis", p_value=0.5, n=20)
    other_method = both.frame.assign(method="lime")
    models = read_estimates(pd.concat([both.frame, other_method]))
    rows = with_reference_rows(models, ["method", "formula"]).frame
    assert rows["term"].tolist() == ["taskAtelectasis", "taskEdema", "taskLesion"] * 2
    assert rows["method"].tolist() == ["gradcam"] * 3 + ["lime"] * 3
    references = rows.iloc[[0, 3]]
    assert references[["estimate", "p_value", "reference_level"]].isna().all(axis=None)
    assert references["n"].tolist() == [20, 20]
    levels = rows.drop(index=[0, 3])
    assert levels[["estimate", "p_value", "reference_level"]].notna().all(axis=None)


def test_a_level_that_no_factor_is_known_of_has_no_reference_row():
    unknown = terms("edema", "age", formula="y ~ (1 ||", reference_level=["lesion", None])
    assert with_reference_rows(unknown, ["method"]).frame["term"].tolist() == ["edema", "age"]


def test_reference_levels_stand_first_unless_labels_name_them():
    estimates = terms("taskAtelectasis", "taskEdema", "taskLesion", estimate=[0.1, np.nan, 0.2])
    texts = [text for text, _ in row_texts(estimates)]
    assert texts == ["Task", "Edema", "Atelectasis", "Lesion"]
    named = [text for text, _ in row_texts(estimates, {"task": ["Lesion", "Edema"]})]
    assert named == ["Task", "Lesion", "Edema", "Atelectasis"]


def test_levels_that_are_not_sorted_keep_their_order_and_numbers_count_up():
    as_made = terms("taskLesion", "taskEdema", "taskAtelectasis")
    assert [text for text, _ in row_texts(as_made)] == ["Task", "Lesion", "Edema", "Atelectasis"]
    # sorted as text
    numbered = terms("task10", "task2")
    assert [text for text, _ in row_texts(numbered)] == ["Task", "2", "10"]


def test_levels_of_an_interaction_have_the_order_of_their_factors():
    names = [f"task{task}" for task in (10, 2)]
    sizes = ["sizelarge", "sizesmall"]
    crossed = [f"{task}:{size}" for task in names for size in sizes]
    estimates = terms(*names, *sizes, *crossed, formula="iou ~ task * size")
    named = Labels({"size": ["small", "large"]})
    texts = [row.text for row in distinct_term_and_factor_rows(estimates, named)]
    assert texts == [
        "Task", "2", "10", "Size", "small", "large",
        "Task × Size", "2 × small", "2 × large", "10 × small", "10 × large",
    ]  # fmt: skip
    # without rows of the factors the order of the frame stays
    alone = [text for text, _ in row_texts(terms(*crossed, formula="iou ~ task:size"))]
    assert alone == ["Task × Size", "10 × large", "10 × small", "2 × large", "2 × small"]


def test_levels_of_an_interaction_stand_below_its_own_heading():
    estimates = terms(
        "taskEdema", "taskEdema:area_mm2", formula="iou ~ task * area_mm2", covariate_units=[1, 1000]
    )
    assert row_texts(estimates) == [
        ("Task", "Task"),
        ("Edema", "Task: Edema"),
        ("Task × Area, per 1,000 mm²", "Task × Area, per 1,000 mm²"),
        ("Edema × Area", "Edema × Area, per 1,000 mm²"),
    ]
    assert factor_names_of_rows(estimates) == ["task", "task:area_mm2"]
    # numbers stay where they come, before and after a factor
    mixed = terms("elongation", "taskEdema", "age")
    assert [text for text, _ in row_texts(mixed)] == ["Elongation", "Task", "Edema", "Age"]


def test_a_label_of_a_term_replaces_its_heading_and_text():
    estimates = terms("taskEdema", "elongation")
    assert row_texts(estimates, {"term": {"taskEdema": "Fluid"}}) == [
        ("Fluid", "Fluid"),
        ("Elongation", "Elongation"),
    ]


def test_a_covariate_has_the_number_of_its_units():
    estimates = terms("area_mm2", "taskEdema", "age", covariate_units=[1000, np.nan, 1])
    assert covariate_units_text_of_each_row(estimates, Labels()) == ["per 1,000 mm²", "", ""]
    assert covariate_units_text_of_each_row(terms("age", "area_mm2"), Labels()) == ["", ""]
    # a product of two numbers has another unit than either
    product = terms("area_mm2:age", covariate_units=2)
    assert covariate_units_text_of_each_row(product, Labels()) == ["per 2"]
    assert only_term_text(estimates.subset([True, False, False]), Labels()) == "Area, per 1,000 mm²"


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
    for unscaled in (terms("elongation"), terms("elongation", normalized=False)):
        assert min_max_scaled_covariates_note(unscaled, Labels()) == ""


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
    assert model_text(FORMULA, "Overlap", Labels()) == "Overlap ~ Task + Elongation"
    assert right_side_columns(FORMULA) == ["task", "elongation"]
    assert right_side_columns(FORMULA, ["taskEdema"]) == ["task"]


def test_random_effects_are_named_by_their_groups():
    formula = "iou ~ age + (1 | reader:case) + (1 | task)"
    assert distinct_random_groupings(formula) == [("reader", "case"), ("task",)]
    assert distinct_random_groupings("y ~ (1 ||") == []
    assert random_group_text(("reader", "case"), Labels()) == "reader × case"
    assert right_side_text(formula, Labels()) == "Age + random effects of reader × case and task"
    assert right_side_text(formula, Labels(), random=False) == "Age"


def test_variables_are_labelled_by_the_column_inside_their_function():
    labels = Labels({"prob": "Confidence"})
    assert variable_text("scale(prob)", labels) == "Confidence, per SD"
    assert variable_text("C(task, Sum)", labels) == "Task"
    assert [name_without_factor_coding(name) for name in ("C(task)", "C(task, Sum)", "task")] == ["task"] * 3


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
    # the frame's factor counts before that of a formula
    stated = {"taskEdema": TermVariable("t", "askEdema")}
    assert term_variables("taskEdema", FORMULA, stated) == (stated["taskEdema"],)
    assert term_variables("taskEdema:age", "y ~ (1 ||", stated)[0] == stated["taskEdema"]
