"""Covariates of other files, joined on case and task."""

import csv

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError

HEADER = "case,task,method,metric,score"
SCORES = f"{HEADER}\n007,NA,g,iou,0.5\n7,NA,g,iou,0.25\n007,b,g,iou,0.75\n"
STUDY = "oracles/chexlocalize/study/expected"


def test_covariates_of_a_file_are_joined_on_case_and_task_as_text(text_file):
    features = text_file("task,case,size\nb,007,3\nNA,7,2\nNA,007,1\n", "features.csv")
    frame = ss.read_scores(text_file(SCORES), join=features)
    assert frame["case"].tolist() == ["007", "7", "007"]
    assert frame["size"].tolist() == [1.0, 2.0, 3.0]


def test_a_case_twice_in_a_joined_file_is_named_with_its_rows_there(text_file):
    scores = text_file(f"{HEADER}\n1,a,g,iou,0.5\n")
    features = text_file("case,size\n1,3\n2,2\n1,4\n", "features.csv")
    # rows have their numbers in the file, below the header
    with raises(ColumnError, column="case", rows=(0, 2), path=features, match=r" 2 .* 4 "):
        ss.read_scores(scores, join=features)
    with raises(ColumnError, column="case", rows=(1,), path=features, match=r" 3\b"):
        ss.read_scores(scores, join=text_file("case,size\n1,3\n,2\n", "features.csv"))


def test_joining_to_any_tidy_table(text_file):
    data = text_file("case,prob\n1,0.5\n2,0.25\n")
    assert ss.read_data(data, join=pd.DataFrame({"case": [2, 1], "x": [20, 10]}))["x"].tolist() == [10, 20]


# a task per column


def test_a_file_with_a_task_per_column_becomes_one_covariate(text_file):
    elongation = text_file("b,NA,case,note\n3,1,007,x\n4,2,7,y\n", "elongation.csv")
    frame = ss.read_scores(text_file(SCORES), join={"elongation": elongation})
    assert frame.columns.tolist() == [*HEADER.split(","), "elongation"]
    assert frame["elongation"].tolist() == [1.0, 2.0, 3.0]
    assert frame["case"].tolist() == ["007", "7", "007"]


def test_several_joins_follow_one_another(text_file):
    first = text_file("case,NA,b\n007,1,2\n7,3,\n", "first.csv")
    second = text_file("case,NA,b\n007,x,y\n7,z,\n", "second.csv")
    third = text_file("case,prob\n007,0.5\n7,0.25\n", "third.csv")
    fourth = pd.DataFrame({"case": [7, "007"], "age": [70, 60]})
    frame = ss.read_scores(text_file(SCORES), join=[{"one": first, "two": second}, third, fourth])
    assert frame.columns.tolist()[5:] == ["one", "two", "prob", "age"]
    assert frame["one"].tolist() == [1.0, 3.0, 2.0]
    assert frame["two"].tolist() == ["x", "z", "y"]
    assert frame["prob"].tolist() == [0.5, 0.25, 0.5]
    assert frame["age"].tolist() == [60, 70, 60]


def test_a_covariate_of_a_task_that_its_file_lacks_is_empty_and_said(text_file):
    file = text_file("case,NA\n007,1\n7,2\n", "size.csv")
    # of three cases and tasks
    with warns(rows=(2,), path=file, value=[("007", "b")], match=r"\b3\b"):
        frame = ss.read_scores(text_file(SCORES), join={"size": file})
    assert np.array_equal(frame["size"], [1.0, 2.0, np.nan], equal_nan=True)


def test_rows_of_a_file_with_a_task_per_column_are_called_by_their_number_there(text_file):
    file = text_file("case,NA,b\n007,1,2\n7,1,2\n007,3,4\n", "size.csv")
    with raises(ColumnError, column="case", rows=(0, 2), path=file, match=r" 2 .* 4 "):
        ss.read_scores(text_file(SCORES), join={"size": file})


@pytest.mark.parametrize(
    ("content", "name", "error", "fields"),
    [
        ("case,Na\n007,1\n", "size", ColumnError, {"choices": ("NA", "b"), "column": None}),
        ("case,task,NA\n007,NA,1\n", "size", ColumnError, {"option": "join", "column": "task"}),
        ("case,NA\n007,1\n7,1\n", "method", SalstatsError, {"option": "join", "value": "method"}),
        ("case,NA\n008,1\n", "size", ColumnError, {"column": "case", "value": "008, NA"}),
    ],
)
def test_a_file_with_a_task_per_column_that_cannot_be_joined_is_refused(
    text_file, content, name, error, fields
):
    with raises(error, **fields):
        ss.read_scores(text_file(SCORES), join={name: text_file(content, "features.csv")})


def test_a_task_per_column_needs_tasks_in_the_scores(text_file):
    scores = text_file("case,method,metric,score\n1,g,iou,0.5\n")
    with raises(ColumnError, option="join", column="task"):
        ss.read_scores(scores, join={"size": text_file("case,a\n1,2\n", "size.csv")})


def test_a_file_with_a_task_per_column_joined_without_a_name_is_refused(text_file):
    file = text_file("case,b,NA\n007,1,2\n7,1,2\n", "size.csv")
    hint = f"join it with join={{'name': {str(file)!r}}}"
    with raises(ColumnError, option="join", column="b", hint=hint):
        ss.read_scores(text_file(SCORES), join=file)


def test_what_is_no_table_is_not_joined(text_file):
    scores = text_file(SCORES)
    with raises(SalstatsError, option="join", value=5):
        ss.read_scores(scores, join=5)
    frame = pd.DataFrame({"case": ["1"]})
    with raises(SalstatsError, option="join", value=frame, column="size"):
        ss.read_scores(scores, join={"size": frame})


def test_the_feature_files_of_the_chexlocalize_scripts_join_cell_by_cell(shared):
    folder = shared / STUDY
    files = {name: folder / "features" / f"{name}.csv" for name in ("elongation", "area_ratio")}
    frame = ss.read_scores(
        folder / "eval_tp" / "iou_results_per_cxr.csv",
        wide="task", method="gradcam", metric="iou", rename={"img_id": "case"}, join=files,
    )  # fmt: skip
    for name, file in files.items():
        cells = {}
        with file.open(newline="") as stream:
            for row in csv.DictReader(stream):
                case = row.pop("img_id")
                cells.update({(case, task): float(v or "nan") for task, v in row.items()})
        expected = [cells[key] for key in zip(frame["case"], frame["task"], strict=True)]
        assert np.isfinite(expected).sum() > 100
        assert np.array_equal(frame[name], expected, equal_nan=True)


# rename and case reach joined files


def test_rename_reaches_joined_files_for_the_columns_they_have(text_file):
    scores = text_file(SCORES.replace("case", "img_id"))
    wide = text_file("img_id,NA,b\n007,1,2\n7,3,4\n", "wide.csv")
    long = text_file("case,p\n007,0.5\n7,0.25\n", "long.csv")
    frame = ss.read_scores(scores, rename={"img_id": "case", "p": "prob"}, join=[{"size": wide}, long])
    assert frame.columns.tolist() == [*HEADER.split(","), "size", "prob"]
    assert frame["size"].tolist() == [1.0, 3.0, 2.0]
    assert frame["prob"].tolist() == [0.5, 0.25, 0.5]


def test_rename_may_name_a_column_that_only_a_joined_file_has(text_file):
    file = text_file("img_id,prob\n007,0.5\n7,0.25\n", "prob.csv")
    frame = ss.read_scores(text_file(SCORES), rename={"img_id": "case"}, join=file)
    assert frame["prob"].tolist() == [0.5, 0.25, 0.5]
    data = ss.read_data(text_file("case\n7\n"), rename={"img_id": "case"}, join=file)
    assert data["prob"].tolist() == [0.25]
    with raises(InputFileError, option="rename", column="id"):
        ss.read_scores(text_file(SCORES), rename={"id": "case"}, join=file)


@pytest.mark.parametrize("named", [False, True])
def test_a_joined_file_without_case_says_that_rename_reaches_it(text_file, named):
    file = text_file("NA,b,img_id\n1,2,x7\n", "size.csv")
    with raises(ColumnError, option="rename", choices=("NA", "b", "img_id"), column="case", path=file):
        ss.read_scores(text_file(SCORES), join={"size": file} if named else file)


def test_columns_that_name_a_case_do_so_in_joined_files_too(text_file):
    scores = text_file("phase,trial,method,metric,score\n1,2,g,iou,0.5\n2,2,g,iou,0.25\n")
    file = text_file("trial,phase,prob\n2,2,0.75\n2,1,1\n", "prob.csv")
    frame = ss.read_scores(scores, case=("phase", "trial"), join=file)
    assert frame.columns.tolist() == ["case", "method", "metric", "score", "phase", "trial", "prob"]
    assert frame["prob"].tolist() == [1.0, 0.75]


# join_features


def test_a_file_in_place_of_covariates_is_sent_to_the_reader_of_tables(scores):
    with raises(SalstatsError, option="features", hint="read a file with read_data()"):
        ss.join_features(scores, "features.csv")


def test_joining_keeps_rows_index_and_identifiers_as_they_are(scores):
    features = pd.DataFrame({"task": "Edema", "case": ["a", "b", "c", "d"], "size": [1, 2, 3, 4]})
    before = scores.copy(), features.copy()
    joined = ss.join_features(scores, features)
    pd.testing.assert_frame_equal(joined.drop(columns="size"), scores)
    assert joined["size"].tolist() == [2, 1, 3, 2, 1, 3]
    pd.testing.assert_frame_equal(scores, before[0])
    pd.testing.assert_frame_equal(features, before[1])


def test_joining_equals_a_merge_by_hand(scores):
    features = pd.DataFrame(
        {"case": ["c", "a", "b"], "task": "Edema", "size": [3.0, 1.0, 2.0], "site": list("xyz")}
    )
    merged = scores.merge(features, on=["case", "task"], how="left").set_axis(scores.index)
    pd.testing.assert_frame_equal(ss.join_features(scores, features), merged)


@pytest.mark.parametrize("of_scores", [[7, 8], [7.0, 8.0], ["7", "8"], pd.Categorical(["7", "8"])], ids=str)
@pytest.mark.parametrize("of_features", [[8, 7], [8.0, 7.0], ["8", "7"]], ids=str)
def test_identifiers_are_joined_as_text(of_scores, of_features):
    scores = pd.DataFrame({"case": of_scores, "score": 0.5})
    joined = ss.join_features(scores, pd.DataFrame({"case": of_features, "size": [8, 7]}))
    assert joined["size"].tolist() == [7, 8]
    assert joined["case"].dtype == scores["case"].dtype


def test_floats_that_stand_for_several_cases_are_an_error():
    cases = [2**53, 2**53 + 1]
    scores = pd.DataFrame({"case": cases, "score": 0.5})
    joined = ss.join_features(scores, pd.DataFrame({"case": cases[::-1], "size": [1, 2]}))
    assert joined["size"].tolist() == [2, 1]
    # as floats both are 2**53
    features = pd.DataFrame({"case": [7.0, float(cases[1])], "size": [1, 2]})
    with raises(ColumnError, column="case", rows=(1,), option="features"):
        ss.join_features(scores, features)
    with raises(ColumnError, column="case", rows=(0, 1), option="scores"):
        ss.join_features(scores.astype({"case": float}), features.drop(index=1))


def test_leading_zeros_tell_cases_apart():
    scores = pd.DataFrame({"case": ["007", "08"], "score": 0.5})
    features = pd.DataFrame({"case": [7, 8], "size": 1.0})
    with raises(ColumnError, column="case", value="7", choices=("007",)):
        ss.join_features(scores, features)


def test_cases_without_covariates_are_counted_and_stay(scores):
    # of three cases
    with warns(rows=(0, 2, 3, 5), value=[("b",), ("c",)], match=r"\b3\b"):
        joined = ss.join_features(scores, pd.DataFrame({"case": ["a"], "size": [1]}))
    assert np.array_equal(joined["size"], [np.nan, 1, np.nan, np.nan, 1, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("features", "fields"),
    [
        (
            {"case": ["a", "b", "a"], "x": 1},
            {
                "column": "case",
                "rows": (0, 2),
                "hint": "if they differ by task, both frames need a column 'task'",
            },
        ),
        (
            {"case": ["a", "a"], "task": "Edema", "x": 1},
            {"column": "case", "rows": (0, 1), "hint": "", "match": "task Edema"},
        ),
        ({"case": ["a", "b"], "score": 1}, {"column": "score"}),
        ({"case": ["a", None], "x": 1}, {"column": "case", "rows": (1,), "hint": "every row needs one"}),
        ({"case": ["a", ""], "x": 1}, {"column": "case", "rows": (1,), "hint": "every row needs one"}),
        ({"id": ["a"], "x": 1}, {"column": "case", "choices": ("id", "x")}),
        ({"case": ["z"], "x": 1}, {"column": "case", "rows": (), "value": "z"}),
        ({"case": ["a"], "x": 1, "Edema": 1}, {"option": "join", "column": "Edema"}),
    ],
)
def test_covariates_that_cannot_be_joined_are_refused(scores, features, fields):
    with raises(ColumnError, **fields):
        ss.join_features(scores, pd.DataFrame(features))


def test_a_covariate_named_like_a_task_may_be_joined_by_case_and_task(scores):
    features = pd.DataFrame({"case": ["a", "b", "c"], "task": "Edema", "Edema": [1, 2, 3]})
    assert ss.join_features(scores, features)["Edema"].tolist() == [2, 1, 3, 2, 1, 3]
