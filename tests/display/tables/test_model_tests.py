"""P values of a regression table: of terms, and of factors with all of their levels."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.tables.model_tests import (
    factor_p_text_of_each_row_and_note,
    p_value_tests_note,
    p_value_texts,
)
from salstats.errors import SalstatsError

TERMS = pd.DataFrame(
    {
        "formula": "iou ~ task",
        "term": ["task[T.Edema]", "task[T.Nodule]"],
        "estimate": [0.1, 0.2],
        "p_value": [0.04, 0.2],
        "df": 20.0,
    }
)
JOINT = pd.DataFrame({"formula": ["iou ~ task"], "term": ["task"], "p_value": [0.03], "df": [2.0]})


def test_each_level_has_p_of_its_factor():
    texts, note = factor_p_text_of_each_row_and_note(read_estimates(TERMS), JOINT, "nature", named=True)
    assert texts == ["P = 0.030"] * 2
    assert note == "P beside a factor: joint Wald test of all its levels, not adjusted."
    unnamed, _ = factor_p_text_of_each_row_and_note(read_estimates(TERMS), JOINT, "nature", named=False)
    assert unnamed == ["0.030"] * 2


def test_tests_of_factors_in_interactions_are_explained():
    both = pd.concat([JOINT, JOINT.assign(term="task:age")])
    _, note = factor_p_text_of_each_row_and_note(read_estimates(TERMS), both, "nature", named=True)
    assert "type III" in note
    # neither of another factor nor without the factor alone
    others = pd.concat([JOINT, JOINT.assign(term="sex:age")])
    assert (
        "type III"
        not in factor_p_text_of_each_row_and_note(read_estimates(TERMS), others, "nature", named=True).note
    )
    slopes = TERMS.assign(formula="iou ~ task:age", term=TERMS["term"] + ":age")
    alone = JOINT.assign(formula="iou ~ task:age", term="task:age")
    texts, note = factor_p_text_of_each_row_and_note(read_estimates(slopes), alone, "nature", named=False)
    assert texts == ["0.030"] * 2
    assert "type III" not in note


def test_factors_have_the_test_of_their_own_model():
    methods = pd.concat([TERMS.assign(method="a"), TERMS.assign(method="b")])
    methods = methods[["method", *TERMS.columns]].reset_index(drop=True)
    joint = pd.concat([JOINT.assign(method="b"), JOINT.assign(method="a", p_value=0.2)])
    adjusted = joint.assign(p_adjusted=[0.06, 0.2], procedure="holm", n_tests=2)
    texts, note = factor_p_text_of_each_row_and_note(read_estimates(methods), adjusted, "nature", named=False)
    assert texts == ["0.200", "0.200", "0.060", "0.060"]
    assert note.endswith("adjusted (Holm, 2 tests).")


def test_without_joint_tests_nothing_stands_beside_factors():
    assert factor_p_text_of_each_row_and_note(read_estimates(TERMS), None, "nature", named=True) == (
        ["", ""],
        "",
    )


def test_joint_tests_of_other_factors_are_an_error():
    with raises(SalstatsError, option="joint"):
        factor_p_text_of_each_row_and_note(
            read_estimates(TERMS), JOINT.assign(term="sex"), "nature", named=True
        )


def test_reference_levels_have_no_p():
    frame = TERMS.assign(estimate=[0.1, np.nan])
    assert p_value_texts(read_estimates(frame), "nature") == ["0.040", ""]


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({}, "Wald t tests"),
        ({"df": np.nan}, "Wald z tests"),
        ({"df": [20.0, np.nan]}, "Wald t or z tests"),
        ({"interval": "rank_score"}, "rank-score tests"),
    ],
)
def test_the_note_names_the_kind_of_test(columns, kind):
    assert (
        p_value_tests_note(read_estimates(TERMS.assign(**columns)), in_column=False)
        == f"P values: two-sided {kind}."
    )


def test_in_a_column_the_note_says_what_p_is_adjusted_by():
    assert p_value_tests_note(read_estimates(TERMS), in_column=True).endswith(
        "; not adjusted for multiple tests."
    )
    adjusted = TERMS.assign(p_adjusted=0.1, procedure="holm")
    assert "adjusted (Holm" in p_value_tests_note(read_estimates(adjusted), in_column=True)
    all_shown = adjusted.assign(n_tests=len(TERMS))
    assert p_value_tests_note(read_estimates(all_shown), in_column=True).endswith(f"{len(TERMS)} tests).")
    # terms that are only adjusted for are tests of the family, too
    some_shown = adjusted.assign(n_tests=99)
    assert "99 tests, also of terms that are not shown" in p_value_tests_note(
        read_estimates(some_shown), in_column=True
    )
    assert p_value_tests_note(read_estimates(TERMS.drop(columns="df")), in_column=True) == ""
