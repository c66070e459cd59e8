"""Cases named by several columns, patients taken from the names of cases."""

import pandas as pd
import pytest
from tests_support import raises, with_text_columns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.frames import ColumnCodes
from salstats.stats.engine.resampling_units import resolve_unit

ROW = "method,metric,score"
STUDY = "oracles/chexlocalize/study/expected"


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


# patient


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


def test_the_patients_of_the_chexlocalize_scripts_are_the_unit_that_is_resampled(shared):
    scores = ss.read_scores(
        shared / STUDY / "eval_tp" / "iou_results_per_cxr.csv",
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
