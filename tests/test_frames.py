"""The frames of the contract, and what makes them valid."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, SalstatsError
from salstats.frames import (
    ColumnCodes,
    as_booleans,
    check_cases_have_one_patient,
    check_scores,
    checked_table_codes,
    combined_codes,
    dataset_and_case_columns,
    distinct_codes,
    earlier_row_and_first_repeat,
    estimates_frame,
    first_rows,
    hint_to_distinguish_repeated_rows,
    integer_column,
    row_keys_text,
    salstats_names_by_dotted_r_name,
    seed_without_decimal_zero,
    text_column,
    with_estimate_column_added,
)

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


def test_an_empty_text_is_no_missing_name(scores):
    readers = ["", *["r1"] * (len(scores) - 1)]
    for check in (check_scores, lambda frame: ss.correlate(frame, "iou", "size")):
        with raises(ColumnError, column="reader", rows=(0,)):
            check(scores.assign(reader=readers, size=1.0))


@pytest.mark.parametrize(
    ("frame", "error", "fields"),
    [
        # with the call that sets it
        (
            lambda s: s.drop(columns="metric"),
            ColumnError,
            {"column": "metric", "match": r"scores\.assign\(metric='\.\.\.'\)"},
        ),
        (
            lambda s: pd.concat([s.assign(who="ann"), s.assign(who="bob")], ignore_index=True),
            ColumnError,
            {
                "rows": (0, 6),
                "hint": "they differ in 'who': rename it to what it is, reader or model or seed or dataset",
            },
        ),
        # with the closest name
        (
            lambda s: s.rename(columns={"score": "scores"}),
            ColumnError,
            {"column": "score", "match": r"'scores'\?"},
        ),
        (
            lambda s: s.astype({"score": "str"}),
            ColumnError,
            {"column": "score", "hint": "convert it with pandas.to_numeric"},
        ),
        (lambda s: s[:0], SalstatsError, {"option": "scores", "hint": ""}),
        (
            lambda s: s.set_axis(["case", "case", "method", "metric", "score"], axis=1),
            ColumnError,
            {"column": "case", "hint": "rename one of them"},
        ),
        (
            lambda s: s.assign(patient=list("pqrstu")),
            ColumnError,
            {"column": "patient", "value": "a", "rows": (1,)},
        ),
        (
            lambda s: s.to_dict(),
            SalstatsError,
            {"option": "scores", "hint": "read a file with read_scores()"},
        ),
    ],
)
def test_what_is_no_scores_frame_is_refused(scores, frame, error, fields):
    with raises(error, **fields):
        check_scores(frame(scores))


def test_cases_of_two_data_sets_may_share_a_name(scores):
    both = pd.concat([scores.assign(dataset=d, patient=d + scores["case"]) for d in ("x", "y")])
    assert check_scores(both) is both
    # the column that tells them apart
    with raises(ColumnError, column="patient", value="a", rows=(1,), match="'dataset'"):
        check_scores(both.drop(columns="dataset").assign(reader=both["dataset"]))


def test_percentages_in_memory_are_asked_about(scores):
    percent = scores.assign(score=scores["score"] * 100)
    hint = "a percentage? divide by 100, or read with scale={'iou': 0.01}"
    with warns(column="score", rows=(0, 1, 3, 4), hint=hint):
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


def test_codes_are_of_sorted_values_and_missing_cells_come_last():
    frame = pd.DataFrame({"text": ["b", None, "a", "b"], "number": [2.0, 1.0, np.nan, 2.0]})
    frame["level"] = pd.Categorical(["late", "early", None, "late"], ["late", "early", "never"])
    coded = ColumnCodes(frame.astype({"text": TEXT}))
    text = coded.column("text")
    assert text.codes.tolist() == [1, 2, 0, 1]
    assert (text.values.tolist(), text.n_codes, text.has_missing) == (["a", "b"], 3, True)
    assert coded.column("number").codes.tolist() == [1, 0, 2, 1]
    assert coded.column("text") is text
    level = coded.column("level")
    assert level.codes.tolist() == [0, 1, 3, 0]
    assert (level.values.tolist(), level.n_codes) == (["late", "early", "never"], 4)
    whole = ColumnCodes(pd.DataFrame({"x": [3, 1]})).column("x")
    assert (whole.n_codes, whole.has_missing, whole.has_blank) == (2, False, False)
    assert ColumnCodes(pd.DataFrame({"x": []})).column("x").n_codes == 1


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_an_empty_text_is_blank_and_not_missing(dtype):
    for values, blank in ((["", "a"], True), (["b", "a"], False), (["", ""], True), ([None, "a"], False)):
        column = ColumnCodes(pd.DataFrame({"x": pd.Series(values, dtype=dtype)})).column("x")
        assert (column.has_blank, column.has_missing) == (blank, None in values)
    # a category that no row has
    unused = pd.Categorical(["a", "a"], ["", "a"])
    assert not ColumnCodes(pd.DataFrame({"x": unused})).column("x").has_blank


def test_some_rows_keep_the_codes_of_all():
    coded = ColumnCodes(pd.DataFrame({"x": ["b", None, "a"], "y": [1, 2, 3]}))
    coded.column("x")
    part = coded.take(np.array([2, 0]), ["x"])
    assert part.frame.index.tolist() == [0, 1]
    assert part.column("x").codes.tolist() == [0, 1]
    assert not part.column("x").has_missing
    assert coded.take(np.array([1])).column("x").has_missing
    assert list(coded.take(np.array([1])).frame.columns) == ["x", "y"]


def test_other_scores_leave_the_other_columns_coded():
    frame = pd.DataFrame({"case": ["b", "a"], "score": [0.2, 0.4]})
    coded = ColumnCodes(frame)
    first = coded.column("case")
    coded.column("score")
    rescored = coded.with_scores(pd.Series([0.9, 0.1]))
    assert rescored.column("case") is first
    assert rescored.column("score").codes.tolist() == [1, 0]
    assert frame["score"].tolist() == [0.2, 0.4]


def test_combined_codes_number_the_combinations_that_there_are_in_sorted_order():
    frame = pd.DataFrame({"x": list("bbaab"), "y": [1, 3, 3, 1, 1], "z": ["u"] * 5})
    assert combined_codes(frame, ["x", "y"]).tolist() == [2, 3, 1, 0, 2]
    assert combined_codes(frame, ["y", "z", "x"]).tolist() == [1, 3, 2, 0, 1]
    assert combined_codes(frame, ["z"]).tolist() == [0] * 5
    assert combined_codes(frame, []).tolist() == [0] * 5
    level = pd.Categorical(["c40", "c3"], [f"c{i}" for i in range(50)])
    assert combined_codes(pd.DataFrame({"x": level, "y": level[::-1]}), ["y", "x"]).tolist() == [0, 1]
    # a column of far more levels than there are rows
    level = pd.Categorical(["c400", "c3", "c400"], [f"c{i}" for i in range(1000)])
    assert combined_codes(pd.DataFrame({"x": level}), ["x"]).tolist() == [1, 0, 1]
    # many possible combinations, of which few exist
    many = pd.DataFrame({f"c{i}": np.arange(50) * (i + 1) % 47 for i in range(6)})
    expected = many.groupby(list(many)).ngroup()
    np.testing.assert_array_equal(combined_codes(many, list(many)), expected)


def test_rows_are_found_by_their_codes():
    codes = np.array([2, 0, 2, 1, 0])
    assert first_rows(codes).tolist() == [1, 3, 0]
    assert first_rows(np.array([3, 1, 3])).tolist() == [1, 0]
    assert earlier_row_and_first_repeat(codes) == (0, 2)
    assert earlier_row_and_first_repeat(np.array([4, 1, 2, 1])) == (1, 3)


def test_a_case_belongs_to_one_patient_in_any_order_of_rows():
    frame = pd.DataFrame({"case": list("abcab"), "patient": list("pqrpq")})
    check_cases_have_one_patient(frame)
    check_cases_have_one_patient(frame.sort_values("case"))
    check_cases_have_one_patient(frame.drop(columns="patient"))
    for order in ([0, 1, 2, 3, 4], [0, 3, 1, 4, 2]):
        two = frame.assign(patient=list("pqrps")).iloc[order].reset_index(drop=True)
        with raises(ColumnError, column="patient", rows=(order.index(1),), value="b", match=r"\b2\b"):
            check_cases_have_one_patient(two)


def test_a_case_is_known_by_its_data_set_where_there_is_one():
    frame = pd.DataFrame({"case": ["a"], "dataset": ["x"], "method": ["cam"]})
    assert dataset_and_case_columns(frame) == ["dataset", "case"]
    assert dataset_and_case_columns(frame[["case"]]) == ["case"]
    assert row_keys_text(frame.assign(dataset=None), ["dataset", "case", "method"], 0) == "case a, method cam"


def hint_of(first, second, keys=("case", "method", "metric")):
    """The hint on two rows with the same keys."""
    same = {"case": "a", "method": "cam", "metric": "iou"}
    return hint_to_distinguish_repeated_rows(pd.DataFrame([same | first, same | second]), keys, 0, 1)


def test_what_tells_repeated_rows_apart_is_proposed():
    patients = hint_of({"patient": "p", "score": 0.1}, {"patient": "q", "score": 0.1})
    assert [setting.value for setting in patients.settings()] == [["patient", "case"]]
    assert "drop one" in str(hint_of({"score": 0.1}, {"score": 0.1}))
    assert "'who'" in str(hint_of({"score": 0.1, "who": "ann"}, {"score": 0.1, "who": "bob"}))
    # real numbers and flags are no names
    for column in ({"x": 0.5}, {"x": True}):
        other = {"x": 0.7} if column["x"] == 0.5 else {"x": False}
        assert "if they differ by task or reader" in str(
            hint_of({"score": 0.1, **column}, {"score": 0.1, **other})
        )
    every = ("case", "method", "metric", "task", "reader", "model", "seed", "dataset")
    assert str(hint_of({"score": 0.1}, {"score": 0.2}, keys=every)) == "drop one"


@pytest.mark.parametrize("missing", [pd.NA, np.nan])
def test_missing_cells_do_not_tell_repeated_rows_apart(missing):
    frame = pd.DataFrame({"case": "a", "score": [0.1, 0.2], "patient_id": missing, "note": missing})
    frame = frame.astype({"patient_id": "Int64", "note": "string"} if missing is pd.NA else {})
    assert "if they differ by task" in str(hint_to_distinguish_repeated_rows(frame, ("case",), 0, 1))
    frame["note"] = pd.array(["x", missing], "string")
    assert "'note'" in str(hint_to_distinguish_repeated_rows(frame, ("case",), 0, 1))


def test_columns_of_estimates_have_their_order_and_rows_the_order_given():
    keys = pd.DataFrame({"method": ["b", "a", "c"]})
    frame = estimates_frame(keys, {"n": [1, 2, 3], "estimate": [0.1, 0.2, 0.3]}, {"extra": [7, 8, 9]})
    assert list(frame.columns) == ["method", "estimate", "n", "extra"]
    assert frame["method"].tolist() == ["b", "a", "c"]
    ordered = estimates_frame(keys, {"n": [1, 2, 3]}, order=np.array([1, 0, 2]))
    assert ordered["n"].tolist() == [2, 1, 3]
    assert ordered.index.tolist() == [0, 1, 2]
    longer = with_estimate_column_added(frame, "conf_low", 0.0)
    assert list(longer.columns) == ["method", "estimate", "conf_low", "n", "extra"]
    assert list(with_estimate_column_added(frame, "caution", None).columns)[-2:] == ["caution", "extra"]
    assert list(with_estimate_column_added(pd.DataFrame({"method": ["a"]}), "term", "mean").columns) == [
        "method",
        "term",
    ]
    assert list(frame.columns) == ["method", "estimate", "n", "extra"]


def test_columns_of_text_and_of_whole_numbers_may_have_missing_ones():
    assert pd.isna(text_column(["a", None])).tolist() == [False, True]
    numbers = integer_column([3, None])
    assert numbers[0] == 3
    assert pd.isna(numbers[1])


def test_seeds_and_flags_are_read_as_files_hold_them():
    seeds = [seed_without_decimal_zero(text) for text in ("3.0", "3.00", "03", "3.5", "a3.0", "3.0a")]
    assert seeds == ["3", "3", "03", "3.5", "a3.0", "3.0a"]
    flags = pd.Series([True, False, "TRUE", "1", 1, 1.0, "0", 0, "yes", None], dtype=object)
    assert as_booleans(flags).tolist() == [True, False, True, True, True, True, False, False, False, False]


def test_tables_that_are_not_scores_are_checked_for_their_metrics():
    table = pd.DataFrame({"case": ["a", "b"], "iou": [0.5, 50.0]})
    with warns(column="iou"):
        checked_table_codes(table, ["iou"])
    # of columns that are not used nothing is said, nor of those that a fit has computed
    assert checked_table_codes(table, ["case"]).frame is table
    augmented = table.assign(formula="iou ~ 1", fitted=0.5, residual=0.1)
    assert checked_table_codes(augmented, ["iou"]).frame is augmented
    with raises(ColumnError, column="score"):
        checked_table_codes(table.assign(metric="iou", score="high"), ["iou"])
    with warns(column="score", rows=(1,)):
        checked_table_codes(table.assign(metric="iou", score=[0.5, 50.0]), ["iou"])


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    "estimate",
    [
        lambda s: ss.summarize(s, by=["method", "metric", "unit"]),
        lambda s: ss.describe(s, by=["method", "metric", "unit"]),
        lambda s: ss.case_flow(s, by=["method", "metric", "unit"]),
    ],
)
def test_a_grouping_column_named_as_a_result_is_an_error(estimate):
    scores = pd.DataFrame({"case": list("abcd"), "method": "cam", "metric": "iou", "score": 0.5})
    with raises(ColumnError, column="unit"):
        estimate(scores.assign(unit=["mm", "cm"] * 2))


def test_names_with_dots_are_those_of_r_in_a_table_of_estimates():
    columns = ["estimate", "conf.low", "p.value", "p_value", "my.column"]
    assert salstats_names_by_dotted_r_name(columns) == {"conf.low": "conf_low"}
    assert salstats_names_by_dotted_r_name(columns[1:]) == {}
