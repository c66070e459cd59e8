"""`ss.reproduce`: frames of a study from frames, files and options, the same as the command writes."""

from dataclasses import replace

import pandas as pd
import pytest

import salstats as ss
from salstats.checks import SalstatsError
from salstats.studies.engine import ItemFailed
from salstats.studies.saliency_bench import SCORE_ITEMS
from salstats.studies.score_tables import read_score_tables

# one data set and network without insertion, and no pictures
pytestmark = pytest.mark.filterwarnings("ignore:.*needs ")


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
        ({"key": "saliency_bench", "replicate": 3}, "no option 'replicate' .*did you mean 'replicates'"),
        ({"key": "saliency_bench", "replicates": [50, 60]}, "replicates takes one value, not 2"),
        ({"key": "saliency_bench", "unit": pd.DataFrame({"case": ["a"]})}, "unit takes .* not a DataFrame"),
        ({"key": "saliency_bench", "features": "f.csv"}, "--scores"),
        ({"key": "saliency_bench", "scores": "none.csv"}, "none.csv"),
    ],
)
def test_what_cannot_be_used_is_named(options, named):
    with pytest.raises((SalstatsError, OSError), match=named):
        ss.reproduce(**options)


def test_an_item_that_fails_is_warned_of_with_its_error_and_the_others_are_returned(digits, monkeypatch):
    def broken(given):
        raise KeyError("model")

    item = replace(SCORE_ITEMS[-1], key="broken", title="Table 9: broken", make=broken)
    monkeypatch.setattr("salstats.studies.saliency_bench.SCORE_ITEMS", (item, *SCORE_ITEMS))
    with pytest.warns(ItemFailed, match="Table 9: failed, KeyError: 'model'") as caught:
        frames = ss.reproduce("saliency_bench", scores=digits, replicates=40)
    assert "table_2" in frames
    assert "broken" not in frames
    errors = [w.message.error for w in caught if w.category is ItemFailed]
    assert [type(error) for error in errors] == [KeyError]


def test_options_may_be_lists(digits):
    frames = ss.reproduce("saliency_bench", scores=digits, metrics=["hit"], interval="t", replicates=40)
    assert set(frames["table_2"]["metric"]) == {"hit"}
    assert set(frames["table_2"]["interval"]) == {"t"}


def test_a_file_in_another_shape_is_read_by_the_options_of_every_command(digits, run, tmp_path):
    iou = digits[(digits["metric"] == "iou") & (digits["method"] == "gradcam")]
    wide = iou[["case", "task", "score"]].rename(columns={"case": "img_id", "score": "cam"})
    wide = wide.assign(cam=100 * wide["cam"])
    wide.to_csv(tmp_path / "wide.csv", sep=";", decimal=",", index=False)
    code, _, error = run(
        "saliency_bench", "--scores", tmp_path / "wide.csv", "--sep", ";", "--decimal", ",",
        "--rename", "img_id=case", "--score", "cam=gradcam:iou", "--scale", "0.01",
        "--replicates", 40, "-o", tmp_path / "out",
    )  # fmt: skip
    assert code == 0, error
    written = pd.read_csv(tmp_path / "out" / "frames" / "table_4.csv")
    assert written["estimate"].tolist() == pytest.approx([iou["score"].mean()])
