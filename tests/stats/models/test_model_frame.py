"""The frame of a model: metrics as columns, gaps to a reference and grouping columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from regression_oracle import assert_columns_equal
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, FormulaError, SalstatsError, SalstatsWarning
from salstats.stats.engine.score_reasons import ABSENT

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
# both sides solve by QR in double precision; condition numbers here are below 1e3
LINEAR_RTOL = 1e-10
EXACT = 1e-12


def test_a_scores_frame_gives_the_same_as_the_wide_table(drawn_table, drawn_scores):
    result = ss.regress(drawn_scores, "iou ~ area_ratio + task", errors="cluster")
    assert result["method"].unique().tolist() == ["gradcam", "human"]
    for method, column in (("gradcam", "iou"), ("human", "human_iou")):
        wide = ss.regress(drawn_table, f"{column} ~ area_ratio + task", errors="cluster")
        ours = result[result["method"] == method].reset_index(drop=True)
        pd.testing.assert_frame_equal(
            ours.drop(columns=["method", "formula", "n_shared"]), wide.drop(columns="formula"), rtol=EXACT
        )


def test_gap_is_reference_minus_method_on_the_same_case_and_task(drawn_table, drawn_scores):
    shuffled = drawn_scores.sample(frac=1, random_state=2)
    result = ss.regress(shuffled, "iou ~ elongation", reference="human", errors="cluster")
    gaps = drawn_table.assign(gap=drawn_table["human_iou"] - drawn_table["iou"])
    wide = ss.regress(gaps, "gap ~ elongation", errors="cluster")
    assert list(result.columns[:4]) == ["method", "reference", "formula", "term"]
    assert set(result["method"]) == {"gradcam"}
    assert set(result["reference"]) == {"human"}
    columns = {c: c for c in ("estimate", "std_error", "p_value", "n", "n_missing", "n_units")}
    assert_columns_equal(result, wide, columns, LINEAR_RTOL)


def test_gap_of_a_table_with_a_column_per_metric_and_of_the_column_score(drawn_table, drawn_scores):
    keys = ["case", "patient", "task", "prob"]
    wide = pd.concat(
        [
            drawn_table[keys].assign(method=method, overlap=drawn_table[column])
            for method, column in (("gradcam", "iou"), ("human", "human_iou"))
        ]
    )
    long = ss.regress(drawn_scores, "iou ~ prob", reference="human", errors="cluster")
    by_column = ss.regress(wide, "overlap ~ prob", reference="human", errors="cluster")
    by_score = ss.regress(
        drawn_scores[drawn_scores["metric"] == "iou"], "score ~ prob", reference="human", errors="cluster"
    )
    for other in (by_column, by_score):
        pd.testing.assert_frame_equal(long.drop(columns="formula"), other.drop(columns="formula"), rtol=EXACT)
    mixed = ss.regress(drawn_scores, "iou ~ hit", reference="human", errors="cluster")
    gap = drawn_table.assign(gap=drawn_table["human_iou"] - drawn_table["iou"])
    expected = ss.regress(gap, "gap ~ hit", errors="cluster")
    assert_columns_equal(mixed, expected, {"estimate": "estimate", "std_error": "std_error"}, LINEAR_RTOL)


def test_gap_needs_a_plain_metric_and_a_known_reference(drawn_scores):
    with raises(FormulaError, option="reference", value="human", message="log1p(iou)"):
        ss.regress(drawn_scores, "log1p(iou) ~ prob", reference="human")
    with raises(SalstatsError, option="reference", value="reader", choices=("gradcam", "human")):
        ss.regress(drawn_scores, "iou ~ prob", reference="reader")
    with raises(ColumnError, column="method"):
        ss.regress(drawn_scores.drop(columns="method"), "score ~ prob", reference="human")


@pytest.mark.parametrize(
    ("formula", "reference", "column"),
    [
        ("overlap ~ prob + score", "human", "score"),
        ("overlap ~ reference_score", "human", "reference_score"),
        ("iou ~ score", None, "score"),
        ("iou ~ reference_score", "human", "reference_score"),
    ],
)
def test_columns_that_the_frame_makes_of_scores_are_no_covariates(drawn_scores, formula, reference, column):
    # `score` of a table with a column per metric would be overwritten by the gap, and fit it perfectly
    data = drawn_scores.assign(reference_score=drawn_scores["prob"])
    if formula.startswith("overlap"):
        iou = data[data["metric"] == "iou"]
        data = iou.assign(overlap=iou["score"], score=iou["prob"]).drop(columns="metric")
    with raises(FormulaError, column=column):
        ss.regress(data, formula, reference=reference)


def test_method_in_the_formula_is_not_a_grouping_column_by_default(drawn_scores):
    result = ss.regress(drawn_scores, "iou ~ method * task", errors="cluster")
    assert list(result.columns[:2]) == ["formula", "term"]
    assert "methodhuman:taskEdema" in set(result["term"])
    with raises(ColumnError, column="method", option="by"):
        ss.regress(drawn_scores, "iou ~ method", by="method")


@pytest.mark.parametrize("absent", [False, True])
def test_gaps_that_one_side_lacks_are_warned_about_unless_the_finding_is_absent(absent):
    rng = np.random.default_rng(12)
    table = pd.DataFrame({"case": [f"c{i:02}" for i in range(40)], "x": rng.random(40)})
    parts = [table.assign(method=name, metric="iou", score=rng.random(40)) for name in ("cam", "human")]
    scores = pd.concat(parts, ignore_index=True)
    # The method lacks scores of 16 cases that the reference has.
    lacks = (scores["method"] == "cam") & (scores["case"] < "c16")
    scores["score"] = scores["score"].mask(lacks)
    scores["reason"] = np.where(lacks, ABSENT if absent else "no map", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ss.regress(scores, "iou ~ x", reference="human")
    messages = [record.message for record in caught if isinstance(record.message, SalstatsWarning)]
    assert len(messages) == (0 if absent else 1)
    assert found["n"].tolist() == [24, 24]
    assert found["n_missing"].tolist() == [16, 16]
    assert ("n_absent" in found) == absent
