"""Tables of thresholds, cut-offs and filter sizes: one number for each task."""

import json

import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ColumnError, ValueRangeError
from salstats.images.maps import LARGEST_FILTER_SIDE
from salstats.readers.chexlocalize_maps import TASKS
from salstats.readers.threshold_files import read_thresholds


def test_the_thresholds_of_the_release_are_read_as_they_stand(shared):
    file = shared / "data" / "chexlocalize_sample" / "tuning_results.csv"
    got = read_thresholds(file, what="threshold")
    # read by eye
    assert got[("Lung Lesion", None)] == 0.7
    assert got[("Cardiomegaly", None)] == got[("Enlarged Cardiomediastinum", None)] == 0.2
    assert {task for task, _ in got} == set(TASKS)


@pytest.mark.parametrize(
    "file",
    [
        "data/chexlocalize_sample/probability_tuning_results.csv",
        "oracles/chexlocalize/study/expected/tune/probability_tuning_results.csv",
    ],
)
def test_a_cutoff_is_the_first_maximum_as_the_scripts_take_it(shared, file):
    got = read_thresholds(shared / file, what="cutoff")
    table = pd.read_csv(shared / file)
    best = table.loc[table.groupby("task")["mIoU"].idxmax()]
    assert got == {(row.task, None): row.prob_threshold for row in best.itertuples()}


def test_the_first_of_equal_maxima_counts(shared, text_file):
    # Lung Lesion has the mean 0.138 at both 0.3 and 0.4
    file = (
        shared / "oracles" / "chexlocalize" / "study" / "expected" / "tune" / "probability_tuning_results.csv"
    )
    assert read_thresholds(file)[("Lung Lesion", None)] == 0.3
    case = json.loads((shared / "oracles" / "chexlocalize" / "edge_cases.json").read_text())[
        "prob_csv_idxmax"
    ]
    assert case["tie_first"] == 0
    tied = text_file("prob_threshold,mIoU,task\n0.0,0.5,Edema\n0.1,0.5,Edema\n0.2,,Edema\n")
    assert read_thresholds(tied) == {("Edema", None): 0.0}


TUNED = """task,method,model,threshold,metric,estimate,n,n_missing,chosen
Edema,cam,densenet,0.2,iou,0.1,9,1,False
Edema,cam,densenet,0.30000000000000004,iou,0.4,9,1,True
Edema,ig,,0.2,iou,0.4,9,1,True
Edema,ig,,0.30000000000000004,iou,0.4,9,1,False
Lung Opacity,cam,densenet,0.2,iou,0.1,9,1,True
"""


def test_of_a_tuned_table_the_chosen_rows_count_by_task_and_series(text_file):
    assert read_thresholds(text_file(TUNED), what="threshold") == {
        ("Edema", "cam:densenet"): 0.30000000000000004,
        ("Edema", "ig"): 0.2,
        ("Airspace Opacity", "cam:densenet"): 0.2,
    }


def test_a_filter_is_a_whole_number_of_pixels(text_file):
    assert read_thresholds(text_file("smooth,task\n50,Edema\n0,Cardiomegaly\n"), what="smooth") == {
        ("Edema", None): 50,
        ("Cardiomegaly", None): 0,
    }
    for size in (1.5, -1, LARGEST_FILTER_SIDE + 1):
        with raises(ValueRangeError, column="smooth", rows=(0,)):
            read_thresholds(text_file(f"smooth,task\n{size},Edema\n"))
    largest = read_thresholds(text_file(f"smooth,task\n{LARGEST_FILTER_SIDE},Edema\n"))
    assert largest == {("Edema", None): LARGEST_FILTER_SIDE}


@pytest.mark.parametrize("column", ["threshold", "cutoff"])
def test_a_threshold_may_be_0_and_1(text_file, column):
    table = text_file(f"{column},task\n0,Edema\n1,Cardiomegaly\n")
    assert read_thresholds(table) == {("Edema", None): 0, ("Cardiomegaly", None): 1}


def test_a_task_without_any_defined_value_is_named(text_file):
    with raises(ColumnError, column=None, rows=(0, 1)):
        read_thresholds(text_file("prob_threshold,mIoU,task\n0.1,,Edema\n0.2,,Edema\n0.1,0.5,Cardiomegaly\n"))
    with raises(ColumnError, column=None, rows=(0,)):
        read_thresholds(text_file("threshold,task\n,Edema\n"))
    none_chosen = TUNED.replace("0.4,9,1,True", "0.4,9,1,False")
    with raises(ColumnError, column=None, rows=(0, 1, 2, 3)):
        read_thresholds(text_file(none_chosen))


@pytest.mark.parametrize(
    ("content", "error", "fields"),
    [
        ("threshold,task\n0.2,Edema\n0.3,Edema\n", ColumnError, {"column": "threshold", "rows": (1,)}),
        (TUNED.replace("False", "True"), ColumnError, {"column": "threshold", "rows": (1,)}),
        (
            "threshold,task\n1.2,Edema\n",
            ValueRangeError,
            {"column": "threshold", "rows": (0,)},
        ),
        ("cutoff,task\n-0.1,Edema\n", ValueRangeError, {"column": "cutoff", "rows": (0,)}),
        ("threshold,task\notsu,Edema\n", ColumnError, {"column": "threshold", "rows": (0,)}),
        ("threshold,task\n0.2,\n", ColumnError, {"column": "task", "rows": (0,)}),
        ("threshold\n0.2\n", ColumnError, {"column": "task", "rows": ()}),
        ("value,task\n0.2,Edema\n", ColumnError, {"column": "threshold", "rows": (), "hint": ""}),
        (
            "threshold,cutoff,task\n0.2,0.1,Edema\n",
            ColumnError,
            {"column": "threshold", "hint": "keep one of them"},
        ),
        (
            "threshold,task,model\n0.2,Edema,a\n",
            ColumnError,
            {"column": "method", "choices": ("threshold", "task", "model")},
        ),
        (
            "threshold,task,chosen\n0.2,Edema,maybe\n",
            ColumnError,
            {"column": "chosen", "rows": (0,)},
        ),
    ],
)
def test_a_table_that_does_not_say_one_value_per_task_is_a_named_error(text_file, content, error, fields):
    with raises(error, **fields):
        read_thresholds(text_file(content))


def test_a_table_of_something_else_is_not_taken_for_what_is_wanted(text_file):
    file = text_file("prob_threshold,mIoU,task\n0.1,0.5,Edema\n")
    with raises(ColumnError, column="prob_threshold", path=file):
        read_thresholds(file, what="threshold")
    with raises(ValueRangeError, option="what", value="tresholds"):
        read_thresholds(file, what="tresholds")
