"""The files of the study's scripts as tables: what the scripts made of them comes out, digit by digit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import InputFileError
from salstats.studies.saporta2022.release import (
    CASE_COLUMN_FILES,
    SCORE_FILES,
    SHAPE_FILES,
    has_name_of_shape_file,
    read_released_scores_or_feature,
)
from salstats.studies.saporta2022.study_frames import StudyInference

# means and limits are written with three digits, decreases with three and their limits with one
SUMMARY, DECREASE = 5e-4 + 1e-12, 1e-9
OUTCOMES = {
    "pred_iou": "IoU",
    "pred_hitmiss": "Hit rate",
    "iou_diff": "Human minus saliency, IoU",
    "hitmiss_diff": "Human minus saliency, hit rate",
}
ITEMS = ("table_1", "figure_2", "table_2", "table_3", "extended_data_4", "extended_data_5",
         "extended_data_6", "extended_data_9")  # fmt: skip


@pytest.fixture(scope="module")
def made(results, release_arguments):
    given = [*release_arguments, "--as-published", "--min-positives", "1"]
    return results("saporta2022", *given, only=ITEMS)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_table_2_is_printed_as_the_scripts_print_it(made, expected, outcome):
    want = pd.read_csv(expected / "regression_hb" / f"regression_features_{outcome}.csv")
    got = made["table_2"].frame.query("scale == 'Scaled over all tasks' and pool == 'all tasks pooled'")
    got = got[got["outcome"] == OUTCOMES[outcome]]
    assert got["script_text"].tolist() == want["Linear regression coefficients"].tolist()


@pytest.mark.parametrize(("key", "outcome"), [("table_3", "iou"), ("extended_data_9", "hitmiss")])
def test_confidence_tables_are_printed_as_the_scripts_print_them(made, expected, key, outcome):
    want = pd.read_csv(expected / "assurance" / f"regression_modelprob_{outcome}.csv").set_index("task")
    got = made[key].frame
    for term, column in (
        ("slope", "Linear regression coefficients"),
        ("spearman", "Spearman correlations"),
    ):
        own = got[got["term"] == term].set_index("task").loc[want.index]
        assert own["script_text"].tolist() == want[column].tolist()
        np.testing.assert_array_equal(own["n"], want["n"])


@pytest.mark.parametrize(
    ("key", "metric", "method", "file"),
    [
        ("table_1", "iou", "saliency", "eval_tp/iou_summary_results.csv"),
        ("table_1", "iou", "human", "eval_tp/iou_humanbenchmark_summary_results.csv"),
        ("table_1", "hit", "saliency", "eval_tp/hitmiss_summary_results.csv"),
        ("table_1", "hit", "human", "eval_tp/hitmiss_humanbenchmark_summary_results.csv"),
        ("extended_data_4", "iou", "saliency", "eval_full/iou_summary_results.csv"),
        ("extended_data_4", "iou", "human", "eval_full/iou_humanbenchmark_summary_results.csv"),
    ],
)
def test_means_are_those_of_the_summaries(made, expected, key, metric, method, file):
    want = pd.read_csv(expected / file).set_index("name")
    got = made[key].frame
    got = got[(got["metric"] == metric) & (got["method"] == method)].set_index("task").loc[want.index]
    np.testing.assert_allclose(
        got[["conf_low", "estimate", "conf_high"]], want[["lower", "mean", "upper"]], rtol=0, atol=SUMMARY
    )


@pytest.mark.parametrize(
    ("key", "file"), [("extended_data_5", "miou_pct_decrease"), ("extended_data_6", "hitrate_pct_decrease")]
)
def test_decreases_are_those_of_the_script(made, expected, key, file):
    want = pd.read_csv(expected / "eval_tp" / f"{file}.csv", index_col=0)
    got = made[key].frame.set_index("task").loc[want.index]
    np.testing.assert_allclose(
        got[["reference_mean", "method_mean", "estimate", "conf_low", "conf_high"]],
        want[["hb", "pred", "pct_diff", "pct_diff_lower", "pct_diff_upper"]],
        rtol=0,
        atol=DECREASE,
    )


@pytest.mark.parametrize("as_published", [True, False])
def test_figure_2_as_published_has_no_line_before_an_average(drawn_frames, make, as_published):
    frames = replace(drawn_frames, inference=StudyInference(as_published, 40))
    figure = make(frames, "figure_2")["figure_2"].figure
    has_line = "geom_vline" in {type(layer.geom).__name__ for layer in figure.layers}
    assert has_line != as_published
    figure.draw()


def test_a_file_with_a_task_per_column_and_another_name_is_named(tmp_path):
    file = tmp_path / "miou.csv"
    file.write_text("img_id,Edema,Lung Opacity\na,0.3,\n")
    names = (*SCORE_FILES, *SHAPE_FILES, *CASE_COLUMN_FILES)
    with raises(InputFileError, path=file, choices=names):
        read_released_scores_or_feature(file)


def test_a_file_in_other_columns_is_left_to_the_reader_of_scores(tmp_path):
    file = tmp_path / "iou_results_per_cxr.csv"
    file.write_text("case,task,method,metric,score\na,Edema,cam,iou,0.5\n")
    assert read_released_scores_or_feature(file) is None
    unknown = tmp_path / "sizes.csv"
    unknown.write_text("img_id,weight\na,0.5\n")
    assert read_released_scores_or_feature(unknown) is None


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("rec_area_ratio", "irrectangularity", 0.7),
        ("elongation", "elongation", 0.3),
        ("labels", "label", 0.3),
    ],
)
def test_a_file_of_a_feature_or_of_labels_is_known_by_its_name(tmp_path, name, column, value):
    file = tmp_path / f"{name}.csv"
    file.write_text("img_id,Edema,Lung Opacity\na,0.3,0.3\n")
    frame = read_released_scores_or_feature(file)
    assert list(frame) == ["case", "task", column]
    assert frame[column].tolist() == [pytest.approx(value)] * 2
    # only findings have sizes and shapes
    assert has_name_of_shape_file(file) == (name != "labels")


def test_a_file_of_scores_is_of_a_method_and_a_metric(tmp_path):
    for name, (method, metric) in SCORE_FILES.items():
        file = tmp_path / f"{name}.csv"
        file.write_text("img_id,Edema\na,0.5\n")
        (row,) = read_released_scores_or_feature(file).to_dict("records")
        assert (row["case"], row["task"], row["score"]) == ("a", "Edema", 0.5)
        assert (row["method"], row["metric"]) == (method, metric)
        assert (method == "human") == ("humanbenchmark" in name)
