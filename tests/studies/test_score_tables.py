"""Tables of scores put together: files, frames, tables of a release, slices, and covariates."""

import argparse

import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import InputFileError, SalstatsError
from salstats.studies.score_tables import (
    ScoreTableOptions,
    read_method_or_method_metric_reader_by_column,
    read_renames,
    read_score_tables,
)


def scores_of(method, scores=(0.2, 0.6), **columns):
    """Scores of two cases."""
    frame = pd.DataFrame({"case": ["a", "b"], "task": "digit", "method": method, "metric": "iou"})
    return frame.assign(score=scores, **columns)


def saved(frame, path, **options):
    frame.to_csv(path, index=False, **options)
    return path


def by_method(frame):
    return frame.groupby("method")["score"].agg(list).to_dict()


def test_frames_and_files_stand_below_each_other(tmp_path):
    file = saved(scores_of("rise", (0.1, 0.3)), tmp_path / "rise.csv")
    both = {"gradcam": [0.2, 0.6], "rise": [0.1, 0.3]}
    scores = read_score_tables([scores_of("gradcam"), file])
    assert by_method(scores) == both
    assert scores.index.tolist() == [0, 1, 2, 3]
    assert by_method(read_score_tables([saved(scores_of("gradcam"), tmp_path / "cam.csv"), file])) == both


@pytest.mark.parametrize("is_file", [True, False])
def test_features_are_joined_by_case(tmp_path, is_file):
    features = pd.DataFrame({"case": ["b", "a"], "age": [70, 50]})
    if is_file:
        features = saved(features, tmp_path / "ages.csv")
    for scores in (scores_of("gradcam"), saved(scores_of("gradcam"), tmp_path / "cam.csv")):
        joined = read_score_tables([scores], [features])
        assert joined.set_index("case")["age"].to_dict() == {"a": 50, "b": 70}


def test_files_of_a_release_are_read_in_its_columns_and_others_as_scores(tmp_path):
    def read_release(path):
        if path.name != "released.csv":
            return None
        return scores_of("released", pd.read_csv(path)["iou"])

    released = saved(pd.DataFrame({"iou": [0.7, 0.9]}), tmp_path / "released.csv")
    other = saved(scores_of("rise"), tmp_path / "rise.csv")
    scores = read_score_tables([released, other], read_release=read_release)
    assert by_method(scores) == {"released": [0.7, 0.9], "rise": [0.2, 0.6]}


def test_with_a_separator_of_its_own_no_file_is_of_a_release(tmp_path):
    def read_release(path):
        raise AssertionError(path)

    file = saved(scores_of("rise"), tmp_path / "rise.csv", sep=";", decimal=",")
    table_options = ScoreTableOptions(sep=";", decimal=",")
    scores = read_score_tables([file], table_options=table_options, read_release=read_release)
    assert by_method(scores) == {"rise": [0.2, 0.6]}


def test_options_given_several_times_are_put_together(tmp_path):
    options = argparse.Namespace(
        rename=[{"img_id": "case"}, {"finding": "task"}],
        score=[{"cam": ("gradcam", "iou")}],
        scale=0.01,
        sep=";",
        decimal=",",
    )
    wide = pd.DataFrame({"img_id": ["a", "b"], "finding": "digit", "cam": [20.5, 60.5]})
    file = saved(wide, tmp_path / "wide.csv", sep=";", decimal=",")
    scores = read_score_tables([file], table_options=ScoreTableOptions.of(options))
    assert by_method(scores) == {"gradcam": [pytest.approx(0.205), pytest.approx(0.605)]}
    assert set(scores["task"]) == {"digit"}


def test_options_that_are_not_given_are_those_of_a_scores_frame():
    options = argparse.Namespace(rename=[], score=[], scale=None, sep=None, decimal=None)
    assert ScoreTableOptions.of(options) == ScoreTableOptions()


@pytest.mark.parametrize("is_file", [True, False])
def test_features_are_read_with_the_names_and_the_cells_of_the_scores(tmp_path, is_file):
    features = pd.DataFrame({"img_id": ["b", "a"], "age": [70.5, 50.5]})
    file = saved(features, tmp_path / "ages.csv", sep=";", decimal=",")
    scores = scores_of("gradcam")
    if is_file:
        scores = saved(scores.rename(columns={"case": "img_id"}), tmp_path / "s.csv", sep=";", decimal=",")
    table_options = ScoreTableOptions(rename={"img_id": "case"}, sep=";", decimal=",")
    joined = read_score_tables([scores], [file], table_options=table_options)
    assert joined.set_index("case")["age"].to_dict() == {"a": 50.5, "b": 70.5}


def test_a_score_may_stand_once_in_each_slice(tmp_path):
    full = scores_of("rise", (0.0, 0.4), slice="full")
    whole = pd.concat([scores_of("rise", slice=None), full], ignore_index=True)
    file = saved(full, tmp_path / "full.csv")
    for tables in ([whole], [scores_of("rise"), file]):
        scores = read_score_tables(tables, by_slice=True)
        assert scores["score"].to_list() == [0.2, 0.6, 0.0, 0.4]
        assert scores["slice"].eq("full").to_list() == [False, False, True, True]
    # slices have the order in which the frame has them
    reverse = pd.concat([full.assign(slice="z"), full.assign(slice="a")], ignore_index=True)
    assert read_score_tables([reverse], by_slice=True)["slice"].to_list() == ["z", "z", "a", "a"]


def test_a_file_is_of_one_slice(tmp_path):
    both = pd.concat([scores_of("rise", slice="tp"), scores_of("rise", slice="full")])
    file = saved(both, tmp_path / "both.csv")
    with raises(InputFileError, column="slice", path=file):
        read_score_tables([file], by_slice=True)


@pytest.mark.parametrize("by_slice", [True, False])
def test_no_table_and_a_frame_without_rows_are_errors_of_the_package(by_slice):
    without_rows = pd.DataFrame(columns=["case", "task", "method", "metric", "score", "slice"])
    for scores in ([], [without_rows]):
        with pytest.raises(SalstatsError):
            read_score_tables(scores, by_slice=by_slice)


def test_renames_are_our_columns_by_those_of_the_file():
    assert read_renames("img_id=case,finding=task") == {"img_id": "case", "finding": "task"}
    for text in ("img_id", "img_id=", "=case", "img_id=case,"):
        with pytest.raises(argparse.ArgumentTypeError):
            read_renames(text)


def test_a_column_of_scores_names_its_metric_and_may_name_method_and_task():
    assert read_method_or_method_metric_reader_by_column("iou=iou,cam=gradcam:iou,pg=:hit") == {
        "iou": "iou",
        "cam": ("gradcam", "iou"),
        "pg": (None, "hit"),
    }
    assert read_method_or_method_metric_reader_by_column("a=x:y:iou") == {"a": ("x", "y", "iou")}
    for text in ("cam=a:b:c:iou", "cam=gradcam:"):
        with pytest.raises(argparse.ArgumentTypeError):
            read_method_or_method_metric_reader_by_column(text)
