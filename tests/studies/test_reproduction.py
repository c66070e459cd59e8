"""`ss.reproduce`: frames of a study from frames, files and options, the same as the command writes."""

import pandas as pd
import pytest

import salstats as ss
from salstats.checks import SalstatsError
from salstats.studies.score_tables import read_score_tables

pytestmark = pytest.mark.filterwarnings("ignore:.*needs truth and maps of the scored cases")


@pytest.fixture(scope="module")
def digits():
    """Two methods of the embedded digits on one data set and network, two metrics."""
    scores = ss.datasets.load_digits_scores()
    kept = scores["method"].isin(["gradcam", "rise"]) & scores["metric"].isin(["iou", "hit"])
    kept &= (scores["dataset"] == "textured") & (scores["model"] == "residual")
    return scores[kept].reset_index(drop=True)


def test_frames_are_those_that_the_command_writes(digits, tmp_path, run):
    digits.to_csv(tmp_path / "scores.csv", index=False)
    frames = ss.reproduce("saliency_bench", scores=digits, replicates=40)
    code, _, error = run("saliency_bench", "--scores", tmp_path / "scores.csv", "--replicates", 40,
                         "-o", tmp_path / "out")  # fmt: skip
    assert code == 0, error
    written = pd.read_csv(tmp_path / "out" / "frames" / "table_2.csv")
    pd.testing.assert_frame_equal(frames["table_2"][written.columns], written, check_dtype=False)


def test_several_tables_are_put_below_each_other(digits, tmp_path):
    first = digits[digits["method"] == "gradcam"]
    rest = digits[digits["method"] == "rise"]
    rest.rename(columns={"case": "img_id"}).to_csv(tmp_path / "rise.csv", index=False)
    with pytest.raises(SalstatsError, match="img_id"):
        ss.reproduce("saliency_bench", scores=[first, tmp_path / "rise.csv"], replicates=40)
    both = ss.reproduce(
        "saliency_bench",
        scores=[first, tmp_path / "rise.csv"],
        rename={"img_id": "case"},
        replicates=40,
    )
    whole = ss.reproduce("saliency_bench", scores=digits, replicates=40)
    pd.testing.assert_frame_equal(both["table_2"], whole["table_2"])


def test_features_are_joined_by_case_and_task(digits):
    features = digits[["case", "task", "prob"]].drop_duplicates(["case", "task"]).iloc[::-1]
    joined = read_score_tables([digits.drop(columns="prob")], [features])
    expected = digits["prob"].rename("prob")
    pd.testing.assert_series_equal(joined["prob"], expected)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"key": "nobody2020"}, "saporta2022"),
        ({"key": "saliency_bench", "replicate": "x"}, "replicate"),
        ({"key": "saliency_bench", "features": "f.csv"}, "--scores"),
        ({"key": "saliency_bench", "scores": "none.csv"}, "none.csv"),
    ],
)
def test_what_cannot_be_used_is_named(options, named):
    with pytest.raises((SalstatsError, OSError), match=named):
        ss.reproduce(**options)
