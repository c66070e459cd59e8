"""The first table: what scores look like."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError

HEAD = ["Method", "n", "Undefined", "Patients", "Mean (SD)", "Median (Q1, Q3)", "At 0, n (%)", "At 1, n (%)"]


@pytest.fixture(scope="module")
def described(scores):
    return ss.describe(scores, by=["metric", "method"])


def test_body_is_as_it_was_looked_at(described, same_as_snapshot):
    same_as_snapshot(ss.table_describe(described, title="Scores"), "describe")


def test_methods_are_rows_in_groups_of_metrics(described, read):
    seen = read(ss.table_describe(described))
    assert seen.head == [HEAD]
    assert seen.groups == ["IoU", "Hit rate"]
    row = described.query("metric == 'iou' and method == 'human'").iloc[0]
    assert seen.body[0] == [
        "Human benchmark",
        f"{row['n']}",
        f"{row['n_missing'] - row['n_absent']}",
        f"{row['n_units']}",
        f"{row['mean']:.3f} ({row['sd']:.3f})",
        f"{row['median']:.3f} ({row['q1']:.3f}, {row['q3']:.3f})",
        f"{row['n_zero']} ({100 * row['share_zero']:.1f})",
        f"{row['n_one']} ({100 * row['share_one']:.1f})",
    ]


def test_binary_scores_have_counts_and_no_median(described, read):
    seen = read(ss.table_describe(described))
    row = described.query("metric == 'hit' and method == 'human'").iloc[0]
    assert seen.body[3][4:] == [
        "", "", f"{row['n_zero']} ({100 * row['share_zero']:.1f})",
        f"{row['n_one']} ({100 * row['share_one']:.1f})",
    ]  # fmt: skip
    assert "Scores of 0 and 1 alone are described by their counts." in seen.note
    only = read(ss.table_describe(described.query("metric == 'hit'")))
    assert only.head == [[*HEAD[:4], "Hit rate at 0, n (%)", "Hit rate at 1, n (%)"]]


def test_tasks_are_groups_with_their_metric(scores, read):
    seen = read(ss.table_describe(ss.describe(scores), labels={"task": ["Edema"]}))
    assert seen.groups[:2] == ["IoU, Edema", "IoU, Atelectasis"]
    assert len(seen.groups) == 10
    assert len(seen.body) == 30


def test_tasks_are_rows_where_there_is_one_method(scores, read):
    seen = read(ss.table_describe(ss.describe(scores.query("metric == 'iou' and method == 'human'"))))
    assert list(seen.rows) == ["Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion"]
    assert not seen.groups
    assert "Method: Human benchmark." in seen.note
    two_metrics = read(ss.table_describe(ss.describe(scores.query("method == 'human'"))))
    assert list(two_metrics.rows) == list(seen.rows)
    assert two_metrics.groups == ["IoU", "Hit rate"]


def test_zero_and_one_are_no_edges_of_a_distance(described, read):
    distance = described.query("metric == 'iou'").assign(metric="hausdorff", n_zero=0, share_zero=0.0)
    both = pd.concat([described.query("metric == 'iou'"), distance])
    assert read(ss.table_describe(both)).body[3][-2:] == ["", ""]
    named = ["Mean Hausdorff distance (SD)", "Median Hausdorff distance (Q1, Q3)"]
    assert read(ss.table_describe(distance.assign(n_one=0))).head == [[*HEAD[:4], *named]]


def test_all_missing_scores_are_dashes(scores, read):
    none = ss.describe(scores.query("metric == 'iou'").assign(score=np.nan), by="method")
    seen = read(ss.table_describe(none))
    assert seen.rows["Grad-CAM"] == ["0", "693", "0", "—", "—"]
    assert "—, not available." in seen.note
    # also where other methods have scores of 0 and 1
    hits = scores.query("metric == 'hit'")
    hits = hits.assign(score=hits["score"].mask(hits["method"] == "gradcam"))
    seen = read(ss.table_describe(ss.describe(hits, by="method")))
    assert seen.rows["Grad-CAM"][-2:] == ["—", "—"]


def test_notes_say_what_n_is_and_spell_out_abbreviations(described, read):
    note = read(ss.table_describe(described)).note
    assert "n, scores; undefined ones are left out." in note
    assert "Q1, first quartile; Q3, third quartile; SD, standard deviation." in note
    assert note.endswith(f"salstats {ss.__version__}.")


def test_bad_input_is_one_clear_sentence(described, means):
    with raises(ColumnError, column="mean"):
        ss.table_describe(means)
    with raises(ValueRangeError, option="style", value="jama"):
        ss.table_describe(described, style="jama")


def test_columns_that_say_nothing_new_are_notes(read):
    scores = pd.DataFrame({"case": list("abc") * 2, "method": list("xxxyyy"), "metric": "iou"})
    scores = scores.assign(score=[0.1, 0.2, 0.4, 0.3, 0.5, 0.6])
    seen = read(ss.table_describe(ss.describe(scores)))
    assert seen.head[-1][:2] == ["Method", "n"]
    assert not {"Undefined", "Cases"} & set(seen.head[-1])
    assert "n, scores, one per case; none undefined." in seen.note
    of_one_case = read(ss.table_describe(ss.describe(scores[scores["case"] == "a"])))
    assert "n, scores, one per case; none undefined." in of_one_case.note
    twice = read(ss.table_describe(ss.describe(scores.assign(score=[0.1, None, 0.4, 0.3, 0.5, 0.6]))))
    assert twice.head[-1][:3] == ["Method", "n", "Undefined"]
    assert "n, scores, one per case; undefined ones are left out." in twice.note
