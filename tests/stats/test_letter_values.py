"""Letter values against those printed by their authors and by another implementation."""

import numpy as np
import pandas as pd
import pytest
from tests_support import default_numbers_and_flags, raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, Setting
from salstats.stats.letter_values import depths_of_letter_values, n_trusted_letters

SCORES = ss.datasets.load_simulated()
# the batch and the output in the reference manual of the R package tukeyedar, function eda_lsum
BATCH = [22, 8, 11, 3, 26, 1, 14, 18, 20, 25, 24]
EDA_LSUM = {
    "depth": [6.0, 3.5, 2.0, 1.5, 1.0],
    "low": [18.0, 9.5, 3.0, 2.0, 1.0],
    "high": [18.0, 23.0, 25.0, 25.5, 26.0],
}
# depths of M, F, E, ... for 3,068 counties, from the table in the authors' manuscript of letter-value plots
COUNTIES = [1534.5, 767.5, 384.0, 192.5, 96.5, 48.5, 24.5, 12.5, 6.5, 3.5, 2.0, 1.5, 1.0]


def table(values, **columns):
    cases = [f"c{i:03d}" for i in range(len(values))]
    return pd.DataFrame({"case": cases, "size": np.asarray(values, dtype=float), **columns})


def boxes(values):
    return values[values["letter"] != "outside"]


def test_letter_values_of_tukeys_kind_equal_those_of_eda_lsum():
    got = ss.letter_values(table(BATCH), "size", n_letters=5)
    for column, expected in EDA_LSUM.items():
        assert got[column].tolist() == expected
    assert got["letter"].tolist() == ["M", "F", "E", "D", "C"]


def test_depths_equal_those_printed_for_the_counties():
    assert depths_of_letter_values(3068, 13).tolist() == COUNTIES


@pytest.mark.parametrize(
    ("n", "letters"), [(491, 6), (492, 7), (983, 7), (984, 8), (1966, 8), (15, 1), (16, 2), (1, 1)]
)
def test_default_number_of_letters_is_the_authors_trustworthiness_rule(n, letters):
    # their manuscript: 7 letters for n between 492 and 983, 8 between 984 and 1966
    assert n_trusted_letters(n, 0.95) == letters


def test_outside_rows_hold_every_value_beyond_the_last_letter_once():
    values = np.random.default_rng(1).lognormal(size=500)
    got = ss.letter_values(table(values), "size")
    last, outside = boxes(got).iloc[-1], got[got["letter"] == "outside"]
    beyond = np.sort(values[(values < last["low"]) | (values > last["high"])])
    shown = np.sort(outside[["low", "high"]].to_numpy().ravel())
    np.testing.assert_array_equal(shown[~np.isnan(shown)], beyond)
    assert (got["n_outside"] == len(beyond)).all()
    assert outside["depth"].tolist() == list(range(len(outside), 0, -1))
    assert outside[["low", "high"]].iloc[-1].tolist() == [values.min(), values.max()]
    without = ss.letter_values(table(values), "size", outside=False)
    pd.testing.assert_frame_equal(without, boxes(got))


def test_a_scores_frame_counts_each_case_and_task_once():
    once = SCORES.drop_duplicates(["case", "task"])[["case", "task", "elongation"]]
    expected = ss.letter_values(once.sample(frac=1, random_state=1), "elongation")
    pd.testing.assert_frame_equal(ss.letter_values(SCORES, "elongation"), expected)
    counts = once.groupby("task")["elongation"].count()
    got = expected.drop_duplicates("task").set_index("task")
    assert got["n"].tolist() == counts.tolist()
    assert (got["n"] + got["n_missing"]).tolist() == once.groupby("task").size().tolist()


def test_a_covariate_that_differs_within_a_case_names_the_case_and_says_what_would_do():
    frame = SCORES.assign(model="a")
    frame.loc[frame["method"] == "human", "model"] = "b"
    frame.loc[frame["model"] == "b", "prob"] = 0.5
    is_first = (frame["case"] == "c001") & (frame["task"] == "Atelectasis")
    with raises(ColumnError, column="prob", rows=tuple(np.flatnonzero(is_first)), hint=Setting("by")):
        ss.letter_values(frame, "prob")
    by_model = ss.letter_values(frame, "prob", by=["task", "model"])
    b = by_model.query("model == 'b' and letter == 'M'")
    assert (b["low"] == 0.5).all()


def test_a_value_missing_in_some_rows_of_a_case_is_taken_from_the_others():
    frame = SCORES.assign(prob=SCORES["prob"].where(SCORES["method"] != "human"))
    pd.testing.assert_frame_equal(ss.letter_values(frame, "prob"), ss.letter_values(SCORES, "prob"))


def test_a_group_without_values_has_one_row_that_counts_them():
    frame = table([1.0, 2.0, np.nan, np.nan], task=["a", "a", "b", "b"])
    got = ss.letter_values(frame, "size").query("task == 'b'")
    assert got["letter"].tolist() == ["M"]
    assert got[["depth", "low", "high"]].isna().all(axis=None)
    assert got[["n", "n_missing", "n_outside"]].iloc[0].tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("columns", "options", "error", "fields"),
    [
        ("case", {}, ColumnError, {"column": "case"}),
        (["size", "size"], {}, ColumnError, {"option": "columns", "match": "twice"}),
        ([], {}, SalstatsError, {"option": "columns", "match": "empty"}),
    ],
)
def test_bad_arguments_are_named(columns, options, error, fields):
    with raises(error, **fields):
        ss.letter_values(table([1.0, 2.0]), columns, **options)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.letter_values) == {"level": 0.95, "outside": True}
