"""Tables with a column for each metric, against tables written out."""

import numpy as np
import pandas as pd
from tests_support import raises

from salstats.errors import ColumnError, ValueRangeError
from salstats.stats.engine.wide_tables import (
    correlation_table,
    names_that_are_metrics_not_columns,
    wide_table,
)

SCORES = pd.DataFrame(
    {
        "case": ["a", "a", "b", "b", "c"],
        "method": "cam",
        "metric": ["iou", "hit", "iou", "hit", "iou"],
        "score": [0.1, 0.0, 0.6, 1.0, 0.3],
        "age": [40.0, np.nan, 50.0, 50.0, 60.0],
    }
)


def test_an_observation_has_its_metrics_in_columns_and_nan_for_one_that_it_lacks():
    table = wide_table(SCORES, ["iou", "hit"])
    assert table["case"].tolist() == ["a", "b", "c"]
    assert table["iou"].tolist() == [0.1, 0.6, 0.3]
    np.testing.assert_array_equal(table["hit"], [0.0, 1.0, np.nan])


def test_a_covariate_is_taken_from_the_rows_that_have_it():
    assert wide_table(SCORES, ["age"])["age"].tolist() == [40.0, 50.0, 60.0]


def test_a_covariate_with_two_values_for_an_observation_is_an_error():
    scores = SCORES.assign(age=[40.0, 41.0, 50.0, 50.0, 60.0])
    with raises(ColumnError, column="age", rows=(0, 1)):
        wide_table(scores, ["age"])
    one_case = pd.DataFrame({"case": "a", "method": "cam", "metric": ["dice", "iou", "hit"], "score": 0.5})
    with raises(ColumnError, column="age", rows=(1, 2)):
        wide_table(one_case.assign(age=[40.0, 40.0, 41.0]), ["iou", "hit", "age"])


def test_a_name_that_is_neither_column_nor_metric_is_an_error_with_both():
    assert names_that_are_metrics_not_columns(SCORES, ["age", "hit"]) == ["hit"]
    with raises(
        ColumnError, choices=("case", "method", "metric", "score", "age", "iou", "hit"), column="hits"
    ):
        names_that_are_metrics_not_columns(SCORES, ["hits"])


def test_scores_and_a_metric_do_not_go_together():
    with raises(ColumnError, column="score"):
        wide_table(SCORES, ["score", "iou"])


def test_a_tidy_table_stays_as_it_is_and_lacks_no_column():
    tidy = SCORES.drop(columns="metric")
    assert wide_table(tidy, ["score", "age"]) is not None
    np.testing.assert_array_equal(wide_table(tidy, ["score"])["score"], tidy["score"])
    with raises(ColumnError, column="iou"):
        wide_table(tidy, ["iou"])


def test_scores_of_every_metric_stay_apart_where_score_is_named():
    assert wide_table(SCORES, ["score"])["score"].tolist() == SCORES["score"].tolist()


def test_the_hint_on_differing_values_names_the_columns_that_tell_rows_apart():
    scores = SCORES.assign(age=[40.0, 41.0, 50.0, 50.0, 60.0])
    with raises(ColumnError, column="age", hint="if it depends on method or metric, name that in by"):
        wide_table(scores, ["age"])
    with raises(ColumnError, column="age", hint="if it depends on metric, name that in by"):
        wide_table(scores, ["age"], keep=["method"])


def test_a_correlation_has_its_variables_covariates_groups_and_strata():
    scores = SCORES.assign(site=["x", "x", "y", "y", "y"], size=[1.0, 1.0, 2.0, 2.0, 4.0])
    table = correlation_table(scores, "iou", "hit", None, "site", None, covariates=["size", "age"])
    assert (table.groups, table.strata) == (["method"], ["site"])
    np.testing.assert_array_equal(table.x, [0.1, 0.6, 0.3])
    np.testing.assert_array_equal(table.y, [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(table.covariates, [[1, 40], [2, 50], [4, 60]])
    assert table.codes.frame["site"].tolist() == ["x", "y", "y"]


def test_a_variable_is_not_correlated_with_itself_nor_strata_with_groups():
    with raises(ValueRangeError, option="x"):
        correlation_table(SCORES, "iou", "iou", None, None, None)
    with raises(ColumnError, option="stratified", column="method"):
        correlation_table(SCORES, "iou", "hit", "method", "method", None)
