"""Every check says what was wrong, what came, and what would do."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats import checks
from salstats.errors import (
    ColumnError,
    FormulaError,
    InputFileError,
    SalstatsError,
    SalstatsWarning,
    Setting,
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
    for name, reader in (("scores", "read_scores"), ("x", "read_data")):
        with raises(SalstatsError, option=name) as caught:
            checks.check_frame("scores.csv", name)
        assert reader in str(caught.value.hint)
    with raises(SalstatsError):
        checks.check_frame(frame[:0], "x")
    with raises(ColumnError, column="a"):
        checks.check_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]), "x")


def test_a_missing_column_comes_with_the_closest_and_all_there_are():
    frame = pd.DataFrame({"method": [1], "metric": [1]})
    checks.check_columns(frame, ["method"])
    with raises(ColumnError, column="methd", choices=("method", "metric")) as caught:
        checks.check_columns(frame, ["metric", "methd"])
    # once as the closest, once in the list of columns
    assert str(caught.value).count("'method'") == 2
    # a remedy stands in place of the closest
    with raises(ColumnError, column="methd", choices=("method", "metric")) as caught:
        checks.check_columns(frame, ["methd"], remedy=Setting("metric"))
    assert caught.value.hint.settings() == [Setting("metric")]
    assert str(caught.value).count("'method'") == 1


def test_a_name_with_a_slip_is_told_the_closest():
    assert "'method'" in checks.did_you_mean("Methd", ["method", "metric"])
    assert checks.did_you_mean("zzz", ["method", "metric"]) == ""


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
    ("values", "rows", "hint"),
    [
        (["a", "b"], (), "'a'"),
        (["1", "b"], (), "pandas.to_numeric"),
        ([1.0, np.inf], (1,), "NaN"),
        ([-np.inf, 1.0], (0,), "NaN"),
        ([1.0, 1e151], (1,), "NaN"),
    ],
)
def test_a_column_that_is_not_of_finite_numbers_is_refused(values, rows, hint):
    frame = pd.DataFrame({"case": ["c1", "c2"], "task": ["a", "NA"], "x": values})
    with raises(ColumnError, column="x", rows=rows) as caught:
        checks.check_numeric(frame, "x")
    assert hint in str(caught.value.hint)
    # an error on rows names the case and the task
    for row in rows:
        assert frame["case"][row] in str(caught.value)
        assert frame["task"][row] in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([2, None], "Int64"),
        ([2, 2.5, pd.NA], "Float64"),
        ([2**60 + 1, np.nan], "Int64"),
        ([True, None], object),
        ([True, 2], object),
        (["2", 3], object),
        ([None, None], object),
    ],
)
def test_only_numbers_of_dtype_object_become_numeric(cells, dtype):
    column = pd.Series(cells, dtype=object)
    numeric = checks.object_numbers_to_numeric_dtype(column)
    assert numeric.dtype == dtype
    assert numeric.isna().tolist() == column.isna().tolist()
    assert numeric.dropna().tolist() == column.dropna().tolist()


def test_grouping_columns_default_to_those_present():
    frame = pd.DataFrame({"metric": ["iou"], "task": ["NA"]})
    assert checks.check_by(frame, None, ("metric", "method", "task")) == ["metric", "task"]
    assert checks.check_by(frame, "task", ()) == ["task"]
    assert checks.check_by(frame, (), ("metric",)) == []


@pytest.mark.parametrize(
    ("by", "fields"),
    [
        (["task", "task"], {"option": "by"}),
        (["tasks"], {"column": "tasks", "choices": ("task", "reader")}),
        (["reader"], {"column": "reader", "rows": (1,)}),
    ],
)
def test_a_grouping_that_cannot_be_is_refused(by, fields):
    frame = pd.DataFrame({"task": ["a", "b"], "reader": ["r", None]})
    with raises(ColumnError, **fields):
        checks.check_by(frame, by, ())


def test_a_choice_is_one_of_those_named():
    assert checks.check_choice("a", ["a", "b"], "interval") == "a"
    with raises(ValueRangeError, option="interval", value="c", choices=("a", "b")):
        checks.check_choice("c", ["a", "b"], "interval")


@pytest.mark.parametrize(("value", "closest"), [("Holmm", "holm"), ("ig", "integrated_gradients")])
def test_a_choice_with_a_slip_or_initials_is_told_the_closest(value, closest):
    with raises(ValueRangeError, value=value) as caught:
        checks.check_choice(value, ["holm", "integrated_gradients", "rise"], "method")
    assert f"'{closest}'" in str(caught.value.hint)


@pytest.mark.parametrize("level", [0, 1, 1.0, -0.1, 95, np.nan, np.inf, True, "0.95", None])
def test_a_level_outside_0_and_1_is_refused(level):
    with raises(ValueRangeError, option="level") as caught:
        checks.check_level(level)
    assert caught.value.value is level


@pytest.mark.parametrize("level", [0.95, np.float64(0.5), 1e-9])
def test_a_level_inside_is_returned(level):
    assert checks.check_level(level) == level


@pytest.mark.parametrize("value", [0, -1, 1.0, "10", True, None, np.nan])
def test_a_count_below_one_or_not_whole_is_refused(value):
    with raises(ValueRangeError, option="n_replicates") as caught:
        checks.check_count(value, "n_replicates")
    assert caught.value.value is value


@pytest.mark.parametrize("value", [1, 1000, np.int64(3)])
def test_a_count_is_returned(value):
    assert checks.check_count(value, "n_replicates") == value


def test_a_seed_gives_numpys_generator_and_a_generator_is_kept():
    generator = np.random.default_rng(5)
    assert checks.as_generator(generator) is generator
    assert checks.as_generator(np.int64(5)).random() == np.random.default_rng(5).random()


@pytest.mark.parametrize("rng", [-1, 0.5, True, None, "0", [0]])
def test_what_is_no_seed_is_refused(rng):
    with raises(ValueRangeError, option="rng", value=rng):
        checks.as_generator(rng)


def test_draws_count_units_from_zero():
    draws = [[0, 1, 1], [2, 2, 0]]
    assert checks.check_draw_indices(draws, 3).tolist() == draws


@pytest.mark.parametrize(
    ("draws", "error"),
    [
        ([0, 1, 2], ShapeError),
        ([[0, 1]], ShapeError),
        (np.zeros((0, 3), int), ShapeError),
        ([[0.0, 1.0, 2.0]], ValueRangeError),
        ([[1, 2, 3]], ValueRangeError),
        ([[-1, 0, 1]], ValueRangeError),
    ],
)
def test_draws_that_cannot_be_are_refused(draws, error):
    with raises(error, option="draws"):
        checks.check_draw_indices(draws, 3)


@pytest.mark.parametrize("score", [1e308, -1.7e308, 1e151])
def test_a_score_whose_square_no_number_holds_is_refused(score, tmp_path):
    frame = pd.DataFrame({"case": ["a", "b"], "method": "g", "metric": "iou", "score": [0.5, score]})
    with raises(ColumnError, column="score", rows=(1,)):
        checks.check_numeric(frame, "score")
    frame.to_csv(tmp_path / "scores.csv", index=False)
    with raises(ColumnError, column="score"):
        ss.read_scores(tmp_path / "scores.csv")


@pytest.mark.parametrize(
    ("value", "options", "is_allowed"),
    [
        (0, {}, True), (0, {"exclude_zero": True}, False), (-0.1, {}, False), (1e9, {}, True),
        (np.inf, {}, False), (np.nan, {}, False), (True, {}, False), ("1", {}, False),
        (np.float32(0.5), {"high": 1}, True), (1, {"high": 1}, True), (1.1, {"high": 1}, False),
        (1, {"high": 1, "exclude_high": True}, False), (0.9, {"high": 1, "exclude_high": True}, True),
    ],
)  # fmt: skip
def test_a_number_lies_within_its_bounds(value, options, is_allowed):
    if is_allowed:
        number = checks.check_number(value, "width", **options)
        assert type(number) is float
        assert number == value
        return
    bounds = r"\b0 and .* 1, " if "high" in options else r"\b0, "
    with pytest.raises(ValueRangeError, match=bounds) as caught:
        checks.check_number(value, "width", **options)
    assert caught.value.option == "width"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Edema", ""), ("ödem x", ""), (" Edema", "a blank"), ("Edema\u00a0", "a blank"),
        ("Ede\u200bma", "U+200B"), ("a\tb", "U+0009"), ("Ede\u3164ma", "U+3164"),
    ],
)  # fmt: skip
def test_a_part_of_a_name_that_nobody_sees_is_named(name, text):
    found = checks.invisibility_text(name)
    assert text in found
    assert bool(found) == bool(text)


def test_what_a_terminal_would_obey_is_escaped():
    assert checks.escape_unprintable("Ödem 1") == "Ödem 1"
    assert checks.escape_unprintable("a\x1b[2Jé") == "a\\x1b[2Jé"


def test_names_beside_the_first_are_counted():
    assert [checks.and_n_more_after_first(names) for names in ("", "a", "ab", "abc")] == [
        "", "", " (and 1 more)", " (and 2 more)"
    ]  # fmt: skip


def test_a_column_of_an_option_is_no_grouping_column():
    checks.check_not_in_by("task", "over", ["method"])
    with raises(ColumnError, column="task", option="over", value="task"):
        checks.check_not_in_by("task", "over", ["method", "task"])


def test_points_are_rows_and_columns():
    assert checks.check_shape_of_points([], "points").shape == (0, 2)
    assert checks.check_shape_of_points([[1, 2]], "points").tolist() == [[1, 2]]
    for points, shape in (([1, 2], (2,)), ([[1, 2, 3]], (1, 3))):
        with raises(ShapeError, option="points", value=shape, match="case a must"):
            checks.check_shape_of_points(points, "points", "case a")
