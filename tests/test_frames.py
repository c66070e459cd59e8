"""The frames of the contract, and what makes them valid."""

import re

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ColumnError, SalstatsError, SalstatsWarning
from salstats.frames import ColumnCodes, check_scores, distinct_codes

# check_scores


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string"])
def test_text_of_any_kind_makes_a_valid_scores_frame(scores, dtype):
    typed = scores.astype(dict.fromkeys(["case", "task", "method", "metric"], dtype))
    before = typed.copy()
    assert check_scores(typed) is typed
    pd.testing.assert_frame_equal(typed, before)


@pytest.mark.parametrize("column", ["case", "task", "method", "metric"])
@pytest.mark.parametrize("empty", ["", None, np.nan])
def test_a_frame_with_an_empty_name_is_refused(scores, column, empty):
    cells = scores[column].astype(object)
    cells.iloc[2] = empty
    with raises(ColumnError, column=column, rows=(2,)):
        check_scores(scores.assign(**{column: cells}))


def test_a_frame_with_a_repeated_observation_is_refused(scores):
    with raises(ColumnError, column=None, rows=(0, 6)):
        check_scores(pd.concat([scores, scores[:1]]))


def test_a_missing_reader_is_one_that_does_not_apply(scores):
    frame = scores.assign(reader=[np.nan] * 3 + ["r1"] * 3)
    assert check_scores(frame) is frame


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_score_is_refused_with_its_case(scores, value):
    scores.iloc[1, 4] = value
    with raises(ColumnError, column="score", rows=(1,)):
        check_scores(scores)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda s: s.drop(columns="metric"), "with scores.assign(metric='...')"),
        (
            lambda s: pd.concat([s.assign(who="ann"), s.assign(who="bob")], ignore_index=True),
            "they differ in 'who': rename it to what it is, reader or",
        ),
        (lambda s: s.rename(columns={"score": "scores"}), "has no column 'score'; did you mean 'scores'"),
        (lambda s: s.astype({"score": "str"}), "column 'score' of scores must be numeric"),
        (lambda s: s[:0], "scores has no rows"),
        (lambda s: s.set_axis(["case", "case", "method", "metric", "score"], axis=1), "column 'case' twice"),
        (lambda s: s.assign(patient=list("pqrstu")), "case 'a' of scores belongs to 2 patients"),
        (lambda s: s.to_dict(), "must be a pandas DataFrame, not dict"),
    ],
)
def test_what_is_no_scores_frame_is_refused(scores, frame, message):
    with pytest.raises(SalstatsError, match=re.escape(message)):
        check_scores(frame(scores))


def test_cases_of_two_data_sets_may_share_a_name(scores):
    both = pd.concat([scores.assign(dataset=d, patient=d + scores["case"]) for d in ("x", "y")])
    assert check_scores(both) is both
    with pytest.raises(ColumnError, match="column 'dataset'"):
        check_scores(both.drop(columns="dataset").assign(reader=both["dataset"]))


def test_percentages_in_memory_are_asked_about(scores):
    percent = scores.assign(score=scores["score"] * 100)
    with pytest.warns(SalstatsWarning, match="divide by 100"):
        check_scores(percent)
    # a distance has no such range
    check_scores(percent.assign(metric="hd95"))


def test_codes_that_are_kept_cannot_be_written_in():
    kept = ColumnCodes(pd.DataFrame({"case": ["a", "b"], "reader": pd.Categorical(["r", None])}))
    for codes in (kept, kept.take(np.array([0, 1]))):
        for column in ("case", "reader"):
            with pytest.raises(ValueError, match="read-only"):
                codes.combined([column])[0] = 5


@pytest.mark.parametrize("n_codes", [10, 10**12])
def test_distinct_codes_are_ascending_however_many_there_could_be(n_codes):
    np.testing.assert_array_equal(distinct_codes(np.array([7, 2, 7, 0]), n_codes), [0, 2, 7])
