"""Covariates brought to the range 0 to 1."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ValueRangeError


def test_smallest_and_largest_become_0_and_1_in_all_rows_or_within_groups(drawn_table):
    everywhere = ss.normalize(drawn_table, ["elongation", "prob"])
    by_hand = drawn_table["elongation"] - drawn_table["elongation"].min()
    np.testing.assert_allclose(everywhere["elongation"], by_hand / by_hand.max(), rtol=1e-15)
    within = ss.normalize(drawn_table, "elongation", within="task").groupby("task")["elongation"]
    assert within.min().eq(0).all()
    assert within.max().eq(1).all()
    pd.testing.assert_frame_equal(
        everywhere.drop(columns=["elongation", "prob"]), drawn_table.drop(columns=["elongation", "prob"])
    )


def test_missing_values_stay_missing_and_the_input_is_not_changed():
    table = pd.DataFrame({"task": list("aabb"), "x": [1.0, np.nan, np.nan, np.nan], "y": [1, 2, 3, 4]})
    before = table.copy()
    result = ss.normalize(table, "y")
    assert result["y"].dtype == np.float64
    pd.testing.assert_frame_equal(table, before)
    nothing = ss.normalize(table.assign(x=np.nan), "x")
    assert nothing["x"].isna().all()


def test_a_constant_column_has_no_range():
    table = pd.DataFrame({"task": list("aabb"), "x": [1.0, 2.0, 3.0, 3.0]})
    with raises(ValueRangeError, column="x", rows=(2, 3)):
        ss.normalize(table, "x", within="task")
    with raises(ValueRangeError, column="x", rows=(2,)):
        ss.normalize(table.head(3), "x", within="task")


def test_an_absent_finding_sets_no_smallest_value():
    table = pd.DataFrame(
        {
            "n_instances": [0.0, 0.0, 1.0, 2.0, 5.0],
            "reason": ["finding absent", "finding absent", None, "empty mask", None],
        }
    )
    scaled = ss.normalize(table, "n_instances")["n_instances"]
    assert scaled.tolist()[2:] == [0, 0.25, 1]
    assert scaled[:2].isna().all()


@pytest.mark.parametrize("column", ["label", "n_instances"])
def test_a_label_or_no_instance_says_that_a_finding_without_a_score_is_absent(column):
    table = pd.DataFrame(
        {
            "n_instances": [0.0, 1.0, 2.0, 5.0],
            "area_ratio": [0.0, 0.1, 0.2, 0.5],
            "label": [0, 1, 1, 1],
            "score": [np.nan, np.nan, 0.3, 0.5],
        }
    )
    scaled = ss.normalize(table[["area_ratio", "score", column]], "area_ratio")["area_ratio"]
    assert scaled.tolist()[1:] == pytest.approx([0, 0.25, 1])
    assert np.isnan(scaled[0])
    # without scores a label says nothing of what is missing
    unscored = ss.normalize(table.drop(columns="score"), "n_instances")
    assert unscored["n_instances"].tolist() == [0, 0.2, 0.4, 1]
