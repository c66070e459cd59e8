"""One scores frame from files with a score per column or a task per column."""

import csv

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, with_text_columns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.readers.lanfredi2021 import METHODS, read_lanfredi2021

STUDY = "oracles/chexlocalize/study/expected"


def test_a_metric_per_column_becomes_a_row_per_score(text_file):
    file = text_file("case_id,task,prob,iou,human_iou\n007,NA,0.5,0.25,0.75\n008,a,0.25,,1\n")
    frame = ss.read_scores(
        file,
        rename={"case_id": "case"},
        columns={"iou": ("gradcam", "iou"), "human_iou": ("human", "iou")},
    )
    expected = pd.DataFrame(
        {
            "case": ["007", "008"] * 2,
            "task": ["NA", "a"] * 2,
            "method": ["gradcam"] * 2 + ["human"] * 2,
            "metric": "iou",
            "score": [0.25, np.nan, 0.75, 1.0],
            "prob": [0.5, 0.25] * 2,
        }
    )
    pd.testing.assert_frame_equal(frame, with_text_columns(expected))


@pytest.mark.parametrize(
    ("columns", "error", "fields"),
    [
        (
            {"dic": ("g", "dice")},
            InputFileError,
            {"option": "columns", "column": "dic", "match": "'dice'\\?"},
        ),
        (
            {"iou": ("g", "iou"), "dice": ("g", "iou")},
            SalstatsError,
            {"option": "columns", "column": "dice", "match": "'iou' and 'dice' the same"},
        ),
        ({"iou": "g"}, ColumnError, {"option": "metric", "column": "metric"}),
        ({"iou": ""}, SalstatsError, {"option": "columns", "column": "iou", "match": "not \\(method"}),
        ({"iou": None}, SalstatsError, {"option": "columns", "column": "iou", "match": "None, not"}),
        (
            {"iou": "g", "dice": "g"},
            SalstatsError,
            {"option": "columns", "column": "dice", "hint": "", "match": "the same, 'g'"},
        ),
        (
            {"a": ("human", "iou"), "b": ("human", "iou")},
            SalstatsError,
            {
                "option": "columns",
                "column": "b",
                "hint": "readers are told apart by a third part, columns={'b': ('human', 'iou', 'A')}",
            },
        ),
        (
            {"iou": "g", "dice": ("h", "dice")},
            SalstatsError,
            {"option": "columns", "column": None, "match": "method and metric"},
        ),
        (
            {"iou": ("g", None), "dice": (None, "dice")},
            SalstatsError,
            {"option": "columns", "column": None, "match": "method and metric"},
        ),
        (
            {"a": ("human", "iou", "A"), "b": ("human", "iou", "A")},
            SalstatsError,
            {"option": "columns", "column": "b", "hint": "give one of them another reader"},
        ),
        ({"name": ("g", "iou")}, ColumnError, {"column": "name", "rows": (0,), "match": "'x'"}),
    ],
)
def test_a_metric_per_column_that_cannot_be_is_an_error(text_file, columns, error, fields):
    with raises(error, **fields):
        ss.read_scores(text_file("case,iou,dice,name\n1,0.5,0.6,x\n"), columns=columns)


def test_a_method_per_column_takes_the_metric_from_the_files_own_column(text_file):
    file = text_file("case,metric,score_ag,model,score_convex\n007,ncc,-0.25,1,0.5\n007,auc,0.75,1,\n")
    frame = ss.read_scores(file, columns={"score_ag": "ag", "score_convex": "convex"})
    expected = pd.DataFrame(
        {
            "case": "007",
            "method": ["ag"] * 2 + ["convex"] * 2,
            "metric": ["ncc", "auc"] * 2,
            "score": [-0.25, 0.75, 0.5, np.nan],
            "model": "1",
        }
    )
    pd.testing.assert_frame_equal(frame, with_text_columns(expected))


def test_a_method_per_column_takes_the_metric_that_is_given(text_file):
    file = text_file("case,ag,convex\n1,0.5,0.25\n")
    frame = ss.read_scores(file, columns={"ag": "gradcam", "convex": "human"}, metric="iou")
    assert frame.columns.tolist() == ["case", "method", "metric", "score"]
    assert frame.to_numpy().tolist() == [["1", "gradcam", "iou", 0.5], ["1", "human", "iou", 0.25]]


def test_readings_of_a_reader_per_column(text_file):
    file = text_file("case,truth,r1_a,r2_a\n1,0,3,5\n")
    columns = {"r1_a": ("a", None, "r1"), "r2_a": ("a", None, "r2")}
    frame = ss.read_scores(file, columns=columns, metric="rating")
    assert frame.columns.tolist() == ["case", "method", "metric", "score", "truth", "reader"]
    assert frame.to_numpy().tolist() == [["1", "a", "rating", 3, 0, "r1"], ["1", "a", "rating", 5, 0, "r2"]]


def test_tools_have_no_reader_beside_readers(text_file):
    wide = text_file("case,cam:iou,A,B\n1,0.5,0.25,0.75\n", "wide.csv")
    columns = {"cam:iou": ("cam", "iou"), "A": ("human", "iou", "A"), "B": ("human", "iou", "B")}
    long = text_file(
        "case,method,metric,score,reader\n1,cam,iou,0.5,\n1,human,iou,0.25,A\n1,human,iou,0.75,B\n",
        "long.csv",
    )
    pd.testing.assert_frame_equal(ss.read_scores(wide, columns=columns), ss.read_scores(long))


@pytest.mark.parametrize(
    ("columns", "options", "fields"),
    [
        (
            {"a": ("ag", "iou")},
            {},
            {
                "option": "columns",
                "column": "metric",
                "hint": "give each column its method only, columns={'a': 'ag'}, or rename it",
            },
        ),
        (
            {"a": "ag"},
            {"metric": "iou"},
            {"option": "metric", "column": "metric", "hint": "leave metric='iou' out"},
        ),
        (
            {"a": "ag"},
            {"method": "g"},
            {"option": "method", "column": "method", "hint": "leave method='g' out"},
        ),
        (
            {"a": "ag"},
            {"rename": {"b": "method"}},
            {
                "option": "columns",
                "column": "method",
                "hint": "give metrics only, columns={'a': (None, 'a')}, or rename it",
            },
        ),
        (
            {"a": "ag"},
            {"rename": {"b": "score"}},
            {"option": "columns", "column": "score", "hint": "rename it"},
        ),
        (
            {"a": "ag", "b": "bg"},
            {"rename": {"metric": "m"}},
            {"option": "metric", "column": "metric", "choices": ("case", "m", "method", "score")},
        ),
    ],
)
def test_what_stands_beside_a_method_per_column_must_fit(text_file, columns, options, fields):
    file = text_file("case,metric,a,b\n1,iou,0.5,0.25\n")
    with raises(ColumnError, path=file, **fields):
        ss.read_scores(file, columns=columns, **options)


@pytest.mark.slow
def test_the_second_workbook_of_the_gaze_study_reads_by_its_columns(shared):
    folder = shared / "data" / "lanfredi2021"
    frame = ss.read_scores(
        folder / "normal_abnormal_separated.xlsx",
        sheet="results_uniform_df",
        case=("phase", "trial"),
        rename={"index_image": "reader", "model number": "seed"},
        columns={f"score_{name}": method for name, method in METHODS.items()},
    )
    assert frame["case"].str.fullmatch(r"[12]_[0-9]+").all()
    key = ["case", "reader", "seed", "metric", "method"]
    expected = read_lanfredi2021(folder, sheet="normal_abnormal")
    expected["case"] = expected["case"].str.replace(r"^q(\d+)_t0*(\d+)$", r"\1_\2", regex=True)
    pd.testing.assert_series_equal(
        frame.set_index(key)["score"].sort_index(), expected.set_index(key)["score"].sort_index()
    )


@pytest.mark.parametrize("metric", ["iou", "hitmiss"])
def test_the_files_of_the_chexlocalize_scripts_read_cell_by_cell(shared, metric):
    folder = shared / STUDY / "eval_tp"
    files = [
        folder / f"{metric}_results_per_cxr.csv",
        folder / f"{metric}_humanbenchmark_results_per_cxr.csv",
    ]
    frame = ss.read_scores(
        files, wide="task", method=["gradcam", "human"], metric=metric, rename={"img_id": "case"}
    )
    found = {(r.case, r.task, r.method): r.score for r in frame.itertuples()}
    cells = {}
    for file, method in zip(files, ("gradcam", "human"), strict=True):
        with file.open(newline="") as stream:
            for row in csv.DictReader(stream):
                case = row.pop("img_id")
                cells.update({(case, task, method): float(v or "nan") for task, v in row.items()})
    assert len({task for _, task, _ in cells}) == 10
    assert found.keys() == cells.keys()
    assert len(frame) == len(cells)
    assert all(np.array_equal(found[key], cells[key], equal_nan=True) for key in cells)


def test_a_task_per_column_keeps_other_columns_when_the_tasks_are_named(text_file):
    file = text_file("img_id,view,NA,None\n007,PA,0.5,\n")
    options = {"wide": "task", "method": "g", "metric": "iou", "rename": {"img_id": "case"}}
    frame = ss.read_scores(file, tasks=["NA", "None"], **options)
    assert frame["task"].tolist() == ["NA", "None"]
    assert frame["view"].tolist() == ["PA", "PA"]
    with raises(ColumnError, column="view", rows=(0,)):
        ss.read_scores(file, **options)


@pytest.mark.parametrize("options", [{}, {"method": "g", "metric": "iou"}, {"tasks": ["a", "b"]}], ids=str)
def test_a_task_per_column_without_case_names_the_column_that_may_be_it(text_file, options):
    file = text_file(
        "a,b,weight,img_id,view\n0.5,,1,patient64139_study1,PA\n0.25,1,2,patient64141_study1,PA\n"
    )
    hint = "rename={'img_id': 'case'} says which column it is"
    with raises(ColumnError, option="rename", column="case", hint=hint):
        ss.read_scores(file, wide="task", **options)


@pytest.mark.parametrize(
    ("text", "options", "error", "fields"),
    [
        (
            "case,a\n1,0.5\n",
            {"wide": "column"},
            SalstatsError,
            {"option": "wide", "value": "column", "choices": ("task",)},
        ),
        (
            "case,a\n1,0.5\n",
            {"wide": "task", "tasks": ["b"]},
            InputFileError,
            {"option": "tasks", "column": "b"},
        ),
        (
            "case,a\n1,0.5\n",
            {"wide": "task", "tasks": ["a", "a"]},
            ColumnError,
            {"option": "tasks", "value": ["a", "a"]},
        ),
        (
            "case,a\n1,0.5\n",
            {"wide": "task", "columns": {"a": ("g", "iou")}},
            SalstatsError,
            {"option": "columns", "match": "not both"},
        ),
        ("case,a\n1,0.5\n", {"tasks": ["a"]}, SalstatsError, {"option": "tasks", "match": "wide='task'"}),
        (
            "case,a\n1,0.5\n",
            {"wide": "task", "method": None},
            ColumnError,
            {"option": "method", "column": "method"},
        ),
        ("case,a\n1,0.5\n", {"wide": "task", "method": ""}, ColumnError, {"option": "method", "value": ""}),
        ("case\n1\n", {"wide": "task"}, ColumnError, {"option": "tasks", "value": [], "match": "none"}),
        (
            "id,a\n1,0.5\n",
            {"wide": "task", "tasks": "a"},
            ColumnError,
            {"option": "rename", "column": "case"},
        ),
        (
            "case,task,a\n1,x,0.5\n",
            {"wide": "task"},
            ColumnError,
            {"option": "wide", "column": "task", "hint": "leave wide out, or rename it"},
        ),
        (
            "case,a\n1,0.5\n1,0.6\n",
            {"wide": "task"},
            ColumnError,
            {"rows": (0, 1), "match": "same observation as row 2"},
        ),
    ],
)
def test_a_task_per_column_that_cannot_be_is_an_error(text_file, text, options, error, fields):
    with raises(error, **fields):
        ss.read_scores(text_file(text), **{"method": "g", "metric": "iou", **options})
