"""The embedded digits study: consistent in itself, small, and what it says it is. Needs no torch."""

import hashlib

import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ValueRangeError
from salstats.frames import check_scores

METHODS = {
    "gradcam", "gradcam++", "layercam", "eigencam", "integrated_gradients", "deeplift", "occlusion", "rise",
}  # fmt: skip
#: Scores are stored to four decimals: half of the last one, and what binary numbers add.
ROUNDED = 0.5e-4 + 1e-9
SUMS = "SHA256SUMS"


@pytest.fixture(scope="module")
def folder():
    return ss.datasets.data_folder() / "digits"


@pytest.fixture(scope="module")
def scores():
    return ss.datasets.load_digits_scores(seed=None)


def test_every_file_has_its_checksum(folder):
    listed = dict(reversed(line.split("  ")) for line in (folder / SUMS).read_text().splitlines())
    there = {f.relative_to(folder).as_posix(): f for f in folder.rglob("*") if f.is_file()}
    there.pop(SUMS)
    assert set(listed) == set(there)
    for name, file in there.items():
        assert hashlib.sha256(file.read_bytes()).hexdigest() == listed[name], name


def test_the_scores_are_a_scores_frame_and_one_seed_is_the_study(scores):
    check_scores(scores)
    study = ss.datasets.load_digits_scores()
    assert set(study["seed"]) == {"0"}
    assert set(ss.datasets.load_digits_scores(seed=1)["seed"]) == {"1"}
    with raises(ValueRangeError, option="seed", value="7"):
        ss.datasets.load_digits_scores(seed="7")
    assert set(scores["seed"]) == {"0", "1", "2", "mean"}
    # other trainings are of the main data set only
    assert set(scores.loc[scores["seed"] != "0", "dataset"]) == {"textured"}


def test_scores_are_defined_where_the_digit_is_and_nowhere_else(scores):
    defined = scores["score"].notna()
    assert not defined[scores["label"] == 0].any()
    undefined = scores[(scores["label"] == 1) & ~defined]
    # an annotator who misses a digit draws no mask; a map without anything positive marks nothing
    assert set(undefined["reason"]) <= {"empty mask", "nothing positive"}
    of_maps = undefined[undefined["method"] != "human"]
    assert len(of_maps) < 1e-3 * (scores["label"] == 1).sum()
    assert set(of_maps["metric"]) <= {"iou", "dice", "energy"}
    assert set(scores.loc[scores["label"] == 0, "reason"]) == {"finding absent"}


def test_dice_and_iou_say_the_same(scores):
    wide = scores[scores["metric"].isin(["iou", "dice"])].pivot(
        index=["dataset", "model", "seed", "case", "task", "method"], columns="metric", values="score"
    )
    wide = wide.dropna()
    # both are rounded to four decimals; the slope of dice over iou is at most 2
    assert (wide["dice"] - 2 * wide["iou"] / (1 + wide["iou"])).abs().max() <= 3 * ROUNDED
    assert wide["iou"].between(0, 1).all()


def test_covariates_are_the_features_of_the_same_digit(scores):
    shapes = ss.datasets.load_digits_features()
    columns = ["n_instances", "area_ratio", "elongation", "irrectangularity"]
    both = scores.merge(shapes, on=["dataset", "case", "task"], suffixes=("", "_file"))
    assert len(both) == len(scores)
    for column in columns:
        pd.testing.assert_series_equal(
            both[column], both[f"{column}_file"], check_names=False, check_dtype=False
        )
    assert ((both["label"] == 1) == (both["n_instances"] > 0)).all()


def test_auroc_is_that_of_the_probabilities_beside_the_scores(folder, scores):
    kept = pd.read_csv(folder / "auroc.csv", dtype={"seed": "str"})
    study = scores[scores["seed"] == "0"]
    made = ss.auroc(study, "prob", "label", by=["dataset", "model", "task"])
    both = kept[kept["seed"] == "0"].merge(made, on=["dataset", "model", "task"], suffixes=("", "_made"))
    assert len(both) == len(made) == 3 * 2 * 10
    assert both["estimate"].to_numpy() == pytest.approx(both["estimate_made"].to_numpy(), abs=1e-12)
    assert set(kept["seed"]) == {"0", "1", "2", "mean"}


def test_networks_are_good_and_not_perfect_and_their_ensemble_is_better(folder):
    kept = pd.read_csv(folder / "auroc.csv")
    assert kept.groupby(["dataset", "model"])["estimate"].mean().between(0.85, 0.99).all()
    by_seed = kept.groupby("seed")["estimate"].mean()
    assert by_seed["mean"] > by_seed.drop("mean").max()


def test_the_examples_are_a_dozen_canvases_of_the_study(scores):
    study = ss.read_study(ss.datasets.digits_examples())
    assert len(study) == 12
    assert {s.method for s in study.series} == {"human", *METHODS}
    assert {c.case for c in study} <= set(scores["case"])
    images = ss.datasets.digits_examples() / "images"
    assert {f.stem for f in images.glob("*.png")} == {c.case for c in study}


def test_scores_of_the_examples_are_those_committed(scores):
    # maps of large areas have their largest value at many pixels
    with warns(column="score", hint="metrics='hit_any' takes any of them"):
        made = ss.score(
            ss.read_study(ss.datasets.digits_examples()), metrics=["iou", "dice", "energy", "hit"]
        )
    # people have marked no points in a map folder, and no map has an energy of theirs
    made = made[(made["method"] != "human") | made["metric"].isin(["iou", "dice"])].dropna(subset="score")
    kept = scores[(scores["seed"] == "0") & (scores["model"] == "residual")]
    both = made.merge(kept, on=["case", "task", "method", "metric"], suffixes=("_made", ""))
    assert len(both) == len(made) > 500
    # the same maps, on any machine
    assert (both["score"] - both["score_made"]).abs().max() <= ROUNDED


def test_every_case_task_and_method_of_the_study_has_every_score(scores):
    study = scores[scores["seed"] == "0"]
    n = {"textured": 200, "quiet": 100, "crowded": 100}
    counts = study.groupby(["dataset", "model", "method", "metric"]).size()
    for (dataset, _, _, _), rows in counts.items():
        assert rows == 10 * n[dataset]
    per_method = study.groupby("method")["metric"].unique().map(set)
    assert set(per_method.index) == {"human", *METHODS}
    assert per_method.pop("human") == {"iou", "dice", "hit"}
    assert all(found == {"iou", "dice", "hit", "energy", "insertion"} for found in per_method)
    assert len(per_method) >= 7
    assert set(study["model"]) == {"plain", "residual"}
