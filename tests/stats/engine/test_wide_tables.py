"""Tables with a column for each metric, against tables written out."""

import numpy as np
import pandas as pd
from tests_support import raises

from salstats.errors import ColumnError
from salstats.stats.engine.wide_tables import metrics_among, wide_table

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
    with raises(ColumnError, column="age", match="2 values"):
        wide_table(scores, ["age"])


def test_a_name_that_is_neither_column_nor_metric_is_an_error_with_both():
    assert metrics_among(SCORES, ["age", "hit"]) == ["hit"]
    with raises(ColumnError, column="hits", match="'hit'"):
        metrics_among(SCORES, ["hits"])


def test_scores_and_a_metric_do_not_go_together():
    with raises(ColumnError, match="'score'"):
        wide_table(SCORES, ["score", "iou"])
