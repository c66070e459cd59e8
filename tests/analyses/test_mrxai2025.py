"""The script that a statistician reads makes the frames of `salstats reproduce mrxai2025`."""

import pandas as pd
import pytest
from study_scripts import assert_same_rows, reproduce_items, run_script

import salstats as ss

# each makes the items of a study twice, by its script and by `reproduce`
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning"),
]
KEYS = ["metric", "method"]


@pytest.fixture(scope="module")
def digits():
    """The rows of the embedded digits that stand in for the study."""
    scores = ss.datasets.load_digits_scores()
    rows = scores[["dataset", "model", "task"]].eq(["textured", "residual", "digit 8"]).all(axis=1)
    rows &= scores["method"] != "human"
    return scores[rows & scores["metric"].isin(["dice", "iou"])].reset_index(drop=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the script writes of the embedded digits."""
    return run_script("mrxai2025", "-o", tmp_path_factory.mktemp("digits") / "out")


@pytest.fixture(scope="module")
def reproduced(digits):
    return reproduce_items(
        "mrxai2025", *("table_1", "figure_7", "differences", "empty", "sensitivity"), scores=digits
    )


@pytest.mark.parametrize("name", ["table_1", "figure_7", "differences"])
def test_frames_of_the_digits_are_those_of_reproduce(written, reproduced, name):
    assert_same_rows(pd.read_csv(written / f"{name}.csv"), reproduced[name], KEYS)


def test_empty_explanations_and_the_worst_case_are_those_of_reproduce(written, reproduced):
    empty = pd.read_csv(written / "empty.csv").set_index("method")
    expected = reproduced["empty"].set_index("method")
    columns = ["estimate", "conf_low", "conf_high", "n"]
    pd.testing.assert_frame_equal(
        empty[columns],
        expected.loc[empty.index, columns],
        check_dtype=False,
        check_index_type=False,
    )

    worst = pd.read_csv(written / "differences_at_worst.csv").set_index(KEYS)
    sensitivity = reproduced["sensitivity"].set_index(KEYS).loc[worst.index]
    columns = ["estimate", "conf_low", "conf_high", "p_adjusted", "n_pairs"]
    expected = sensitivity[[f"worst_{column}" for column in columns]].set_axis(columns, axis=1)
    pd.testing.assert_frame_equal(worst[columns], expected, check_dtype=False)


def test_a_file_of_scores_and_one_of_the_models_answers_take_the_place_of_the_digits(digits, tmp_path):
    answers = digits[["case", "task", "prob", "label"]].drop_duplicates()
    answers.to_csv(tmp_path / "answers.csv", index=False)
    digits.drop(columns=["prob", "label"]).to_csv(tmp_path / "scores.csv", index=False)
    given = [tmp_path / "scores.csv", "--features", tmp_path / "answers.csv", "--reference", "rise"]
    out = run_script("mrxai2025", *given, "-o", tmp_path / "out")
    names = ("table_1", "differences")
    expected = reproduce_items(
        "mrxai2025",
        *names,
        scores=tmp_path / "scores.csv",
        features=tmp_path / "answers.csv",
        reference="rise",
    )
    for name in names:
        assert_same_rows(pd.read_csv(out / f"{name}.csv"), expected[name], KEYS)
    assert (out / "figure_7.pdf").read_bytes()[:4] == b"%PDF"
