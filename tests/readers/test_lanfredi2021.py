"""The published workbooks of the gaze study are read as another reading of them has it."""

import numpy as np
import openpyxl
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import InputFileError, ValueRangeError
from salstats.frames import check_scores
from salstats.readers.lanfredi2021 import (
    CLASSIFICATION,
    JOINT,
    LABELS,
    METHODS,
    SHEETS,
    read_lanfredi2021,
    read_lanfredi2021_mean_auc_by_network,
    read_lanfredi2021_workbook,
)

# means of 5 to 25 numbers of size 1, summed in another order
ORDER_OF_SUMS = 1e-14


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "lanfredi2021"


@pytest.fixture(scope="module")
def sheets(folder) -> dict[str, pd.DataFrame]:
    return {sheet: read_lanfredi2021(folder, sheet=sheet) for sheet in SHEETS}


def fake_workbook(path, sheet, rows):
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path)
    book.close()


@pytest.mark.parametrize("sheet", SHEETS)
def test_every_case_has_each_reading_seed_metric_and_method_once(sheets, sheet):
    scores = sheets[sheet]
    check_scores(scores)
    assert len(scores) == 91 * 5 * 5 * 4 * 6
    counts = scores[["case", "reader", "seed", "metric", "method"]].nunique()
    assert list(counts) == [91, 5, 5, 4, 6]
    columns = ["case", "reader", "seed", "method", "mixing", "metric", "score"]
    assert list(scores.columns) == columns + (list(LABELS) if sheet == "normal_abnormal" else [])
    assert set(scores["reader"]) == set("01234")
    assert set(scores["seed"]) == set("12345")
    assert scores["score"].notna().all()


def test_case_means_of_the_joint_workbook_equal_the_r_oracle(sheets, r_data):
    oracle = r_data("gaze_case_means_ag_io").rename(columns={"case_id": "case"})
    means = sheets["uniform"].groupby(["metric", "case", "method"])["score"].mean().unstack("method")
    found = oracle.merge(means.reset_index(), on=["metric", "case"], validate="one_to_one")
    assert len(found) == 4 * 91
    assert np.abs(found["ag"] - found["gradcam_wag"]).max() < ORDER_OF_SUMS
    assert np.abs(found["io"] - found["interobserver"]).max() < ORDER_OF_SUMS


def test_readings_of_the_joint_workbook_equal_the_r_oracle(sheets, r_data):
    oracle = r_data("gaze_sncc_ag_io").replace({"source": {"ag": "gradcam_wag", "io": "interobserver"}})
    scores = sheets["uniform"].query("metric == 'sncc'")
    means = scores.groupby(["case", "reader", "method"])["score"].mean()
    keys = list(zip(oracle["case_id"], oracle["reader"].str[1:], oracle["source"], strict=True))
    assert len(keys) == 91 * 5 * 2
    assert np.abs(oracle["score"].to_numpy() - means.loc[keys].to_numpy()).max() < ORDER_OF_SUMS


def test_seeds_and_mixings_of_the_joint_workbook_equal_the_r_oracle(sheets, r_data):
    oracle = r_data("gaze_mrmc_seed_mixing_sauc")
    scores = pd.concat([sheets[s] for s in ("thresholded", "weighted", "uniform")])
    scores = scores[(scores["metric"] == "sauc") & (scores["method"] == "gradcam_wag")]
    means = scores.groupby(["mixing", "seed", "case"])["score"].mean()
    keys = list(zip(oracle["modality"], oracle["reader"].str[4:], oracle["case_id"], strict=True))
    assert len(keys) == 3 * 5 * 91
    assert np.abs(oracle["score"].to_numpy() - means.loc[keys].to_numpy()).max() < ORDER_OF_SUMS


def test_case_means_and_labels_of_the_second_workbook_equal_the_r_oracle(sheets, r_data):
    oracle = r_data("gaze_nabn_case_means")
    scores = sheets["normal_abnormal"]
    means = scores.groupby(["case", "metric", "method", "abnormal"])["score"].mean()
    method = oracle["source"].map(METHODS)
    keys = list(zip(oracle["case_id"], oracle["metric"], method, oracle["abnormal_majority"], strict=True))
    assert len(keys) == len(means) == 91 * 4 * 6
    assert np.abs(oracle["score"].to_numpy() - means.loc[keys].to_numpy()).max() < ORDER_OF_SUMS


def test_majority_labels_belong_to_the_image_and_only_to_the_second_workbook(sheets):
    labels = list(LABELS)
    cases = sheets["normal_abnormal"].groupby("case")[labels]
    assert (cases.nunique() == 1).all(axis=None)
    assert set(np.unique(cases.first())) == {0, 1}
    assert not set(labels) & set(sheets["uniform"].columns)


def test_cases_of_the_two_runs_never_share_a_name(sheets):
    assert not set(sheets["uniform"]["case"]) & set(sheets["normal_abnormal"]["case"])


def test_scores_without_a_network_are_the_same_for_every_seed(sheets):
    scores = sheets["weighted"].query("metric in ('ncc', 'sncc') and method in ('interobserver', 'convex')")
    assert (scores.groupby(["case", "reader", "metric", "method"])["score"].nunique() == 1).all()


def test_classification_auc_is_read_per_network(folder, r_data):
    oracle = r_data("auc_classification")
    networks = read_lanfredi2021_mean_auc_by_network(folder)
    assert list(networks["model"]) == ["woag"] * 5 + ["wag"] * 5
    assert list(networks["seed"]) == list("12345") * 2
    labels = oracle.drop(columns=["model", "modeln", "auc"])
    assert labels.shape[1] == 14
    assert np.abs(networks["auroc"] - labels.mean(axis=1)).max() < ORDER_OF_SUMS


def test_a_missing_workbook_says_where_to_get_it(tmp_path):
    # the call that fetches it
    with raises(InputFileError, path=tmp_path / JOINT, match=r"salstats.datasets.fetch_lanfredi2021\(\)"):
        read_lanfredi2021(tmp_path)
    with raises(InputFileError, path=tmp_path / CLASSIFICATION):
        read_lanfredi2021_mean_auc_by_network(tmp_path)


def test_another_sheet_is_refused_with_those_there_are():
    sheets = ("thresholded", "weighted", "uniform", "normal_abnormal")
    with raises(ValueRangeError, option="sheet", value="summary", choices=sheets):
        read_lanfredi2021("elsewhere", sheet="summary")


HEADER = ["trial", "phase", "metric", *(f"score_{source}" for source in METHODS), "model"]
ROW = [1, 1, "ncc", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1]


@pytest.mark.parametrize(
    ("sheet_rows", "fields"),
    [
        ([HEADER[:-1], ROW[:-1]], {"column": "model", "hint": "it is not the published workbook"}),
        (
            [HEADER, [*ROW[:3], "n.a.", *ROW[4:]]],
            {"column": "score_interobserver", "rows": (0,), "value": "n.a."},
        ),
        ([HEADER, [*ROW[:3], None, *ROW[4:]]], {"column": "score_interobserver", "rows": (0,)}),
        ([HEADER, ROW, ROW, [2, *ROW[1:]]], {"column": "metric", "value": ("p1_t001", "1", "ncc")}),
    ],
)
def test_a_changed_joint_workbook_is_refused(tmp_path, sheet_rows, fields):
    fake_workbook(tmp_path / JOINT, "thresholded_samples", sheet_rows)
    with raises(InputFileError, path=tmp_path / JOINT, **fields):
        read_lanfredi2021(tmp_path)


def test_a_workbook_of_scores_is_recognised_by_its_sheets(tmp_path):
    file = tmp_path / "renamed.XLSX"
    fake_workbook(file, "weighted_samples", [HEADER, ROW])
    scores = read_lanfredi2021_workbook(file)
    assert scores["score"].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert set(scores["dataset"]) == set(scores["mixing"]) == {"weighted"}


def test_other_files_are_no_workbook_of_scores(tmp_path):
    other = tmp_path / "other.xlsx"
    fake_workbook(other, "results_all_models", [["model", "modeln", "auc"], ["sononet", 1, 0.8]])
    text = tmp_path / "scores.csv"
    text.write_text("case,score\na,0.5\n")
    for file in (other, text, tmp_path / "missing.xlsx"):
        assert read_lanfredi2021_workbook(file) is None


def test_an_unknown_network_is_refused(tmp_path):
    rows = [["model", "modeln", "auc"], ["resnet", 1, 0.8]]
    fake_workbook(tmp_path / CLASSIFICATION, "results_all_models", rows)
    choices = ("sononet", "ag_sononet")
    with raises(InputFileError, column="model", value="resnet", choices=choices):
        read_lanfredi2021_mean_auc_by_network(tmp_path)
