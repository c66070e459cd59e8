"""Every check says what was wrong, what came, and what would do."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats import checks
from salstats.errors import (
    ColumnError,
    FormulaError,
    InputFileError,
    SalstatsError,
    SalstatsWarning,
    ShapeError,
    ValueRangeError,
)


@pytest.mark.parametrize("kind", [ColumnError, ShapeError, ValueRangeError, FormulaError, InputFileError])
def test_every_error_is_a_salstats_error_and_a_value_error(kind):
    assert issubclass(kind, SalstatsError)
    assert issubclass(kind, ValueError)
    assert issubclass(SalstatsWarning, UserWarning)


def test_a_long_list_of_names_is_cut_after_a_dozen():
    assert checks.quoted(["a", 2]) == "'a', '2'"
    assert checks.quoted(range(13)).count("'") == 26
    assert checks.quoted(range(20)).endswith("'11', and 8 more")


def test_a_frame_is_returned_and_anything_else_refused():
    frame = pd.DataFrame({"a": [1]})
    assert checks.check_frame(frame) is frame
    with pytest.raises(
        SalstatsError, match=r"x must be a pandas DataFrame, not str; read a file with read_data"
    ):
        checks.check_frame("scores.csv", "x")
    with pytest.raises(SalstatsError, match="x has no rows"):
        checks.check_frame(frame[:0], "x")
    with pytest.raises(ColumnError, match="x has column 'a' twice; rename one of them"):
        checks.check_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]), "x")


def test_a_missing_column_comes_with_the_closest_and_all_there_are():
    frame = pd.DataFrame({"method": [1], "metric": [1]})
    checks.check_columns(frame, ["method"])
    with pytest.raises(
        ColumnError, match=r"no column 'methd'; did you mean 'method'\? \(columns: 'method', 'metric'\)"
    ):
        checks.check_columns(frame, ["metric", "methd"])
    with pytest.raises(ColumnError, match=r"no column 'zzz' \(columns"):
        checks.check_columns(frame, ["zzz"])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], [1.0, 2.0]),
        ([True, False], [1.0, 0.0]),
        (pd.array([1, None], "Int64"), [1.0, np.nan]),
        (pd.array([True, None], "boolean"), [1.0, np.nan]),
        (np.array([0.5, np.nan], "float32"), [0.5, np.nan]),
    ],
)
def test_numbers_of_any_kind_become_float64(values, expected):
    array = checks.check_numeric(pd.DataFrame({"x": values}), "x")
    assert array.dtype == np.float64
    assert np.array_equal(array, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "column 'x' of scores must be numeric; it holds text, such as 'a'; make 1 and 0 of"),
        (["1", "b"], r"must be numeric; convert it with pandas\.to_numeric"),
        ([1.0, np.inf], r"infinite in row 1 \(case c2, task NA\); an undefined score is NaN"),
        ([-np.inf, 1.0], r"infinite in row 0 \(case c1, task a\)"),
    ],
)
def test_a_column_that_is_not_of_finite_numbers_is_refused(values, message):
    frame = pd.DataFrame({"case": ["c1", "c2"], "task": ["a", "NA"], "x": values})
    with pytest.raises(ColumnError, match=message):
        checks.check_numeric(frame, "x")


def test_grouping_columns_default_to_those_present():
    frame = pd.DataFrame({"metric": ["iou"], "task": ["NA"]})
    assert checks.check_by(frame, None, ("metric", "method", "task")) == ["metric", "task"]
    assert checks.check_by(frame, "task", ()) == ["task"]
    assert checks.check_by(frame, (), ("metric",)) == []


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["task", "task"], "by names a column twice"),
        (["tasks"], "no column 'tasks'; did you mean 'task'"),
        (["reader"], r"grouping column 'reader' is empty in row 1 \(task b\); fill it"),
    ],
)
def test_a_grouping_that_cannot_be_is_refused(by, message):
    frame = pd.DataFrame({"task": ["a", "b"], "reader": ["r", None]})
    with pytest.raises(ColumnError, match=message):
        checks.check_by(frame, by, ())


def test_a_choice_is_one_of_those_named():
    assert checks.check_choice("a", ["a", "b"], "interval") == "a"
    with pytest.raises(ValueRangeError, match="interval='c' is not known; choose one of a, b"):
        checks.check_choice("c", ["a", "b"], "interval")


@pytest.mark.parametrize("level", [0, 1, 1.0, -0.1, 95, np.nan, np.inf, True, "0.95", None])
def test_a_level_outside_0_and_1_is_refused(level):
    with pytest.raises(
        ValueRangeError, match=r"level must lie strictly between 0 and 1, not .*0\.95 is usual"
    ):
        checks.check_level(level)


@pytest.mark.parametrize("level", [0.95, np.float64(0.5), 1e-9])
def test_a_level_inside_is_returned(level):
    assert checks.check_level(level) == level


@pytest.mark.parametrize("value", [0, -1, 1.0, "10", True, None, np.nan])
def test_a_count_below_one_or_not_whole_is_refused(value):
    with pytest.raises(ValueRangeError, match="n_replicates must be a whole number of at least 1, not"):
        checks.check_count(value, "n_replicates")


@pytest.mark.parametrize("value", [1, 1000, np.int64(3)])
def test_a_count_is_returned(value):
    assert checks.check_count(value, "n_replicates") == value


def test_a_seed_gives_numpys_generator_and_a_generator_is_kept():
    generator = np.random.default_rng(5)
    assert checks.check_generator(generator) is generator
    assert checks.check_generator(np.int64(5)).random() == np.random.default_rng(5).random()


@pytest.mark.parametrize("rng", [-1, 0.5, True, None, "0", [0]])
def test_what_is_no_seed_is_refused(rng):
    with pytest.raises(
        ValueRangeError, match=r"rng must be a non-negative int or a numpy\.random\.Generator"
    ):
        checks.check_generator(rng)


def test_draws_count_units_from_zero():
    draws = [[0, 1, 1], [2, 2, 0]]
    assert checks.check_draws(draws, 3).tolist() == draws


@pytest.mark.parametrize(
    ("draws", "error", "message"),
    [
        ([0, 1, 2], ShapeError, r"shape \(n_replicates, 3\), one column per unit, not \(3,\)"),
        ([[0, 1]], ShapeError, r"not \(1, 2\)"),
        (np.zeros((0, 3), int), ShapeError, r"not \(0, 3\)"),
        ([[0.0, 1.0, 2.0]], ValueRangeError, "draws must hold integers, not float64"),
        (
            [[1, 2, 3]],
            ValueRangeError,
            r"must lie in 0 \.\.\. 2, not 1 \.\.\. 3; .*R index matrix counts from 1",
        ),
        ([[-1, 0, 1]], ValueRangeError, r"not -1 \.\.\. 1"),
    ],
)
def test_draws_that_cannot_be_are_refused(draws, error, message):
    with pytest.raises(error, match=message):
        checks.check_draws(draws, 3)


@pytest.mark.parametrize("score", [1e308, -1.7e308, 1e151])
def test_a_score_whose_square_no_number_holds_is_refused(score, tmp_path):
    frame = pd.DataFrame({"case": ["a", "b"], "method": "g", "metric": "iou", "score": [0.5, score]})
    with pytest.raises(ColumnError, match=r"'score' of scores is beyond 1e\+150 in row 1"):
        checks.check_numeric(frame, "score")
    frame.to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(ColumnError, match=r"scores\.csv, row 3, column 'score': .* beyond 1e\+150"):
        ss.read_scores(tmp_path / "scores.csv")
