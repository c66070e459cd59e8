"""One scores frame from files of any layout: a score or a task per column, cases of several columns."""

import csv
import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns, with_text_columns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError, Setting
from salstats.frames import ColumnCodes
from salstats.readers.lanfredi2021 import METHODS, read_lanfredi2021
from salstats.stats.engine.resampling_units import resolve_unit

HEADER = "case,task,method,metric,score"
ROW = "method,metric,score"
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


def test_a_column_that_names_a_method_and_is_no_score_is_a_warning(text_file):
    columns = {"IoU_CAM": ("cam", "iou"), "IoU_Human": ("human", "iou")}
    file = text_file("case,IoU_CAM,IoU_Human,Hit_CAM,Hit_Human,Camera,age\na,0.1,0.2,1,0,3,4\n")
    with warns(option="columns", value=["Hit_CAM", "Hit_Human"], path=file):
        ss.read_scores(file, columns=columns)


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
            {"option": "columns", "column": None},
        ),
        (
            {"iou": ("g", None), "dice": (None, "dice")},
            SalstatsError,
            {"option": "columns", "column": None},
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
            {"rows": (0, 1), "value": {"case": "1", "task": "a", "method": "g", "metric": "iou"}},
        ),
    ],
)
def test_a_task_per_column_that_cannot_be_is_an_error(text_file, text, options, error, fields):
    with raises(error, **fields):
        ss.read_scores(text_file(text), **{"method": "g", "metric": "iou", **options})


def test_columns_that_together_name_a_case_make_one_and_stay_as_text(text_file):
    file = text_file(f"phase,prob,trial,{ROW}\n1,0.5,002,g,iou,0.25\n2,0.5,002,g,iou,0.75\n")
    frame = ss.read_scores(file, case=("phase", "trial"))
    expected = pd.DataFrame(
        {
            "case": ["1_002", "2_002"],
            "method": "g",
            "metric": "iou",
            "score": [0.25, 0.75],
            "phase": ["1", "2"],
            "prob": 0.5,
            "trial": "002",
        }
    )
    pd.testing.assert_frame_equal(frame, with_text_columns(expected))


def test_the_patient_in_the_name_of_a_case_stays_the_unit(text_file):
    file = text_file(f"Patient ID,Image,{ROW}\n007,1,g,iou,1\n007,2,g,iou,0.5\n008,1,g,iou,0\n")
    frame = ss.read_scores(file, rename={"Patient ID": "patient"}, case=["patient", "Image"])
    assert frame["case"].tolist() == ["007_1", "007_2", "008_1"]
    assert frame["patient"].tolist() == ["007", "007", "008"]
    assert resolve_unit(ColumnCodes(frame), None).name == "patient"


@pytest.mark.parametrize("column", ["patient", "Patient ID"])
def test_image_numbers_that_repeat_over_patients_are_told_how_to_be_named(text_file, column):
    file = text_file(f"{column},case,{ROW}\n007,1,g,iou,1\n007,2,g,iou,0.5\n008,1,g,iou,0\n")
    hint = (
        f"the first is of {column} 007, the second of 008: where case ids repeat over {column!r}, read with "
        f"case={[column, 'case']}"
    )
    with raises(ColumnError, rows=(0, 2), path=file, hint=hint):
        ss.read_scores(file)
    assert ss.read_scores(file, case=[column, "case"])["case"].tolist() == ["007_1", "007_2", "008_1"]


def test_one_column_may_name_a_case_and_case_may_be_one_of_several(text_file):
    assert ss.read_data(text_file("trial,x\n007,1\n"), case="trial")["case"].tolist() == ["007"]
    assert ss.read_data(text_file("case,view\n007,1\n"), case=("case", "view"))["case"].tolist() == ["007_1"]


def test_the_columns_of_a_case_are_no_tasks(text_file):
    file = text_file("phase,trial,a,b\n1,2,0.5,0.25\n")
    frame = ss.read_scores(file, case=("phase", "trial"), wide="task", method="g", metric="iou")
    assert frame["task"].tolist() == ["a", "b"]
    assert frame["case"].tolist() == ["1_2", "1_2"]


@pytest.mark.parametrize(
    ("case", "row", "error", "fields"),
    [
        (("phase", "trail"), "1,2,x", InputFileError, {"option": "case", "column": "trail"}),
        (("phase", "trial"), "1,,x", ColumnError, {"column": "trial", "rows": (0,)}),
        (("phase", "phase"), "1,2,x", SalstatsError, {"option": "case", "value": ("phase", "phase")}),
        ((), "1,2,x", SalstatsError, {"option": "case", "value": ()}),
    ],
)
def test_columns_that_cannot_name_a_case_are_refused(text_file, case, row, error, fields):
    file = text_file(f"phase,trial,id,{ROW}\n{row},g,iou,0.5\n")
    with raises(error, **fields):
        ss.read_scores(file, case=case)


def test_a_column_case_beside_those_that_name_one_is_refused(text_file):
    file = text_file(f"phase,trial,case,{ROW}\n1,2,x,g,iou,0.5\n")
    with raises(ColumnError, option="case", column="case"):
        ss.read_scores(file, case=("phase", "trial"))


def test_two_cases_that_would_get_one_name_are_refused(text_file):
    file = text_file(f"phase,trial,{ROW}\n1,2,g,iou,1\n1_2,3,g,iou,0.5\n1,2_3,g,iou,0.5\n")
    with raises(ColumnError, value="1_2_3", column="case"):
        ss.read_scores(file, case=("phase", "trial"))


def test_the_patient_is_taken_from_the_case(text_file):
    file = text_file(
        f"prob,case,{ROW}\n0.5,patient64141_study1_view1_frontal,g,iou,1\n"
        "0.5,patient64141_study1_view2_frontal,g,iou,0.5\n0.5,patient00007_study1_view1_frontal,g,iou,0\n"
    )
    frame = ss.read_scores(file, patient_from=r"(patient\d+)")
    assert frame.columns.tolist() == ["case", "method", "metric", "score", "prob", "patient"]
    assert frame["patient"].tolist() == ["patient64141", "patient64141", "patient00007"]
    assert str(frame["patient"].dtype) == "str"
    assert ss.read_scores(file, patient_from=r"^patient(\d+)_(?:study)")["patient"].tolist()[2] == "00007"
    data = ss.read_data(file, patient_from=r"(patient\d+)")
    assert data.columns.tolist() == ["prob", "case", "patient", "method", "metric", "score"]


def test_the_patients_of_a_file_in_the_form_of_the_chexlocalize_scripts_are_resampled(text_file):
    cases = [f"patient{number}_study{study}_view1_frontal" for number in range(24) for study in (1, 2)]
    lines = [f"{case},0.{place + 10},0.{place + 20}" for place, case in enumerate(cases)]
    scores = ss.read_scores(
        text_file("\n".join(["img_id,Edema,Lung Lesion", *lines])),
        wide="task", method="gradcam", metric="iou", rename={"img_id": "case"},
        patient_from=r"(patient\d+)",
    )  # fmt: skip
    assert scores["patient"].eq(scores["case"].str.split("_").str[0]).all()
    assert scores["patient"].nunique() < scores["case"].nunique()
    assert set(ss.summarize(scores, by="method", n_replicates=10)["unit"]) == {"patient"}


@pytest.mark.parametrize(
    ("pattern", "error", "fields"),
    [
        ("(p", SalstatsError, {"hint": ""}),
        (r"p\d+", SalstatsError, {"column": None, "match": "no groups"}),
        (r"(p)(\d+)", SalstatsError, {"column": None, "match": "2 groups"}),
        (r"(p\d+)", ColumnError, {"column": "case", "match": "'q2'"}),
    ],
)
def test_a_pattern_that_finds_no_patient_is_refused(text_file, pattern, error, fields):
    file = text_file(f"case,{ROW}\np1,g,iou,1\nq2,g,iou,0.5\n")
    with raises(error, option="patient_from", value=pattern, **fields):
        ss.read_scores(file, patient_from=pattern)


def test_a_patient_is_not_said_twice_and_needs_a_case(text_file):
    file = text_file(f"case,patient,{ROW}\np1,p1,g,iou,1\n")
    with raises(ColumnError, option="patient_from", column="patient", path=file):
        ss.read_scores(file, patient_from=r"(p\d)")
    with raises(ColumnError, option="rename", choices=("size", "img_id"), column="case"):
        ss.read_data(text_file("size,img_id\n1,p1\n"), patient_from=r"(p\d)")
    with raises(ColumnError, column="case", rows=(1,)):
        ss.read_data(text_file("size,case\n1,p1\n1,\n"), patient_from=r"(p\d)")


def long_text(*rows, extra=""):
    """A long file of some rows."""
    return "\n".join([HEADER + extra, *rows, ""])


@pytest.mark.parametrize("column", ["case", "task", "method", "metric"])
def test_an_empty_name_is_an_error(text_file, column):
    row = dict(zip(HEADER.split(","), ["1", "a", "g", "iou", "0.5"], strict=True))
    file = text_file(long_text(",".join(row.values()), ",".join({**row, "case": "2", column: ""}.values())))
    for read in (ss.read_scores, ss.read_data):
        with raises(ColumnError, column=column, rows=(1,), path=file, hint="every row needs one"):
            read(file)


@pytest.mark.parametrize("lacking", ["case", "method", "metric", "score"])
def test_a_missing_column_is_named_with_those_there_are(text_file, lacking):
    columns = [c for c in HEADER.split(",") if c != lacking]
    file = text_file(f"{','.join(columns)}\n{','.join('1' for _ in columns)}\n")
    remedies = {"case": Setting("rename", {"...": "case"}), "score": Setting("wide", "task")}
    remedy = remedies.get(lacking, Setting(lacking, "..."))
    with raises(ColumnError, column=lacking, choices=tuple(columns), path=file, hint=remedy):
        ss.read_scores(file)


@pytest.mark.parametrize(
    ("rename", "error", "fields"),
    [
        ({"x": "case"}, InputFileError, {"column": "x", "choices": tuple(HEADER.split(","))}),
        # with the closest name
        ({"tsk": "site"}, InputFileError, {"column": "tsk", "match": "'task'\\?"}),
        ({"task": "case"}, ColumnError, {"column": "case"}),
        ({"task": " "}, SalstatsError, {"value": {"task": " "}}),
    ],
)
def test_a_rename_that_cannot_be_is_an_error(text_file, rename, error, fields):
    with raises(error, option="rename", **fields):
        ss.read_scores(text_file(long_text("1,a,g,iou,0.5")), rename=rename)


def test_several_files_are_put_below_each_other(text_file):
    first = text_file("case,a,b\n1,0.5,0.25\n", "a.csv")
    second = text_file("case,a,b\n1,0.75,1\n", "b.csv")
    frame = ss.read_scores([first, second], wide="task", method=["gradcam", "human"], metric="iou")
    assert frame["method"].tolist() == ["gradcam"] * 2 + ["human"] * 2
    assert frame["score"].tolist() == [0.5, 0.25, 0.75, 1.0]
    assert isinstance(frame.index, pd.RangeIndex)


@pytest.mark.parametrize("column", ["task", "patient", "dataset"])
def test_files_that_do_not_both_say_whose_a_case_is_do_not_go_together(text_file, column):
    first = text_file("case,method,metric,score\n1,g,iou,0.5\n", "a.csv")
    second = text_file(f"case,method,metric,score,{column}\n2,g,iou,0.5,x\n", "b.csv")
    for files in ([first, second], [second, first]):
        with raises(ColumnError, column=column, path=first):
            ss.read_scores(files)


def test_a_covariate_of_one_file_only_is_said(text_file):
    first = text_file(long_text("1,a,g,iou,0.5,0.25", extra=",prob"), "a.csv")
    second = text_file(long_text("2,a,g,iou,0.5,0.75", extra=",Prob"), "b.csv")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = ss.read_scores([first, second])
    said = sorted(str(w.message).replace(str(first.parent) + "/", "") for w in caught)
    assert said[0].startswith("column 'Prob' is in b.csv but not in a.csv")
    assert said[1].startswith("column 'prob' is in a.csv but not in b.csv")
    assert np.array_equal(frame["prob"], [0.25, np.nan], equal_nan=True)


def test_notes_that_only_areas_under_curves_have_are_not_warned_of(text_file):
    overlaps = text_file(long_text("1,a,g,iou,0.5"), "a.csv")
    areas = text_file(long_text("1,a,g,insertion,0.5,zero", extra=",curve_options"), "b.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = ss.read_scores([overlaps, areas])
    assert frame["curve_options"].isna().tolist() == [True, False]


def test_a_covariate_that_is_text_in_one_file_is_text_in_all(text_file):
    first = text_file(long_text("1,a,g,iou,0.5,1", extra=",site"), "a.csv")
    second = text_file(long_text("2,a,g,iou,0.5,east", extra=",site"), "b.csv")
    # the file with text, that with numbers
    with warns(column="site", value=[str(second), str(first)]):
        frame = ss.read_scores([first, second])
    assert frame["site"].tolist() == ["1", "east"]
    assert str(frame["site"].dtype) == "str"


@pytest.mark.parametrize(
    ("header", "example"),
    [("case,iou", ("method", "metric")), ("case,method,iou", (None, "metric")), ("case,metric,cam", "method"),
     ("case,method,metric,value", "method")],
)  # fmt: skip
def test_a_file_without_scores_is_told_to_name_what_its_columns_lack(text_file, header, example):
    file = text_file(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    hint = Setting("columns", {"column": example})
    with raises(ColumnError, option="columns", column="score", choices=tuple(header.split(",")), hint=hint):
        ss.read_scores(file)


@pytest.mark.parametrize(
    ("lacking", "similar"), [("case", "Case"), ("method", "METHOD"), ("metric", "Metric")]
)
def test_a_column_in_other_capitals_is_offered_for_one_that_lacks(text_file, lacking, similar):
    columns = [similar if name == lacking else name for name in HEADER.split(",")]
    file = text_file(f"{','.join(columns)}\n1,a,g,iou,0.5\n")
    hint = Setting("rename", {similar: lacking})
    with raises(ColumnError, option="rename", column=lacking, choices=tuple(columns), hint=hint, path=file):
        ss.read_scores(file)
