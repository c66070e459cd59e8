"""A study scored by xaibenchmark's rules: the oracle's stack, laid out on disk as the benchmark has it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests_support import exact_csv, raises, warns_too

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.images.map_steps import resize
from salstats.metrics import xaibenchmark
from salstats.readers.saliency_bench import read_saliency_bench
from salstats.scoring.cases import ABSENT, EMPTY, NO_MAP
from salstats.scoring.xaibenchmark import score_xaibenchmark
from salstats.study import Content

#: Means of the same 14 numbers in another order.
EXACT = 1e-14


def lay_out(folder, maps, truths):
    """Write images, annotations and maps as the benchmark has them; return the folder."""
    (folder / "image" / "thing").mkdir(parents=True)
    (folder / "attention_label").mkdir()
    (folder / "maps").mkdir()
    rows = []
    for i, (saliency, truth) in enumerate(zip(maps, truths, strict=True)):
        Image.fromarray(np.zeros((50, 70, 3), np.uint8)).save(folder / "image" / "thing" / f"i{i:02d}.png")
        np.save(folder / "maps" / f"i{i:02d}.npy", saliency)
        rows.append((f"i{i:02d}.png", json.dumps(truth.tolist())))
    pd.DataFrame(rows, columns=["img_idx", "attention"]).to_csv(
        folder / "attention_label" / "a.csv", index=False
    )
    return folder


def read_study(folder):
    """The study of a folder whose fifth annotation marks nothing."""
    with warns_too(path=folder, value=["i04"]):
        return read_saliency_bench(folder, maps={"cam": folder / "maps"})


@pytest.fixture(scope="module")
def oracle_study(shared, tmp_path_factory):
    """The oracle's stack."""
    stack = np.load(shared / "oracles" / "xaibenchmark" / "inputs" / "stack.npz", allow_pickle=False)
    return read_study(lay_out(tmp_path_factory.mktemp("oracle"), stack["maps"], stack["gts"]))


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """Sixteen images: the fifth annotation marks nothing, the eighth map is positive nowhere."""
    rng = np.random.default_rng(27)
    maps, truths = rng.normal(size=(16, 9, 9)), (rng.random((16, 9, 9)) < 0.3).astype(int)
    truths[4] = 0
    maps[7] = -np.abs(maps[7])
    return lay_out(tmp_path_factory.mktemp("bench"), maps, truths)


@pytest.fixture
def study(on_disk):
    return read_study(on_disk)


@pytest.fixture
def expected(shared):
    table = exact_csv(shared / "oracles" / "xaibenchmark" / "expected" / "xaibenchmark.csv")
    return table[table["truth"] == "int_truth"]


def test_every_score_from_disk_is_the_oracles(oracle_study, expected):
    wide = score_xaibenchmark(oracle_study).pivot(index="case", columns="metric", values="score")
    rows = expected[expected["index"] >= 0]
    assert len(wide) == len(rows)
    for metric in xaibenchmark.SCORES:
        np.testing.assert_array_equal(wide[metric], rows[metric])


def test_the_packages_mean_is_that_of_the_scores_it_does_not_leave_out(oracle_study, expected):
    scores = score_xaibenchmark(oracle_study)
    kept = scores[~scores["reason"].isin([ABSENT, NO_MAP])]
    found = kept.groupby("metric")["score"].agg(lambda s: s.mean(skipna=False))
    (whole,) = expected[expected["index"] == -1].to_dict("records")
    for metric in xaibenchmark.SCORES:
        np.testing.assert_allclose(found[metric], whole[metric], rtol=0, atol=EXACT, equal_nan=True)


def test_it_says_why_a_score_is_undefined(study):
    scores = score_xaibenchmark(study)
    lacking = scores[scores["score"].isna()]
    assert set(lacking["reason"]) == {ABSENT, EMPTY}
    assert set(lacking.loc[lacking["reason"] == EMPTY, "metric"]) == {"precision"}
    assert scores.loc[scores["score"].notna(), "reason"].isna().all()


def test_patients_stand_beside_their_cases():
    truth = np.eye(4, dtype=bool)
    maps = {(case, "cat", "cam"): np.eye(4) * 0.4 for case in "abc"}
    study = ss.study_from_arrays({(case, "cat"): truth for case in "abc"}, maps)
    patients = {"a": "p1", "b": "p1", "c": "p2"}
    study = replace(study, cases=tuple(replace(c, patient=patients[c.case]) for c in study))
    scores = score_xaibenchmark(study, metrics="iou")
    assert scores["patient"].tolist() == ["p1", "p1", "p2"]
    assert (
        "patient"
        not in score_xaibenchmark(
            ss.study_from_arrays({("a", "cat"): truth}, {("a", "cat", "cam"): maps["a", "cat", "cam"]})
        ).columns
    )


def test_score_has_the_benchmarks_rules_as_metrics_beside_its_own(study):
    names = {f"xaibenchmark_{metric}": metric for metric in xaibenchmark.SCORES}
    scores = ss.score(study, metrics=[*names, "iou", "hit_any"])
    benchmark = scores[scores["metric"].isin(names)].replace({"metric": names})
    benchmark = benchmark[benchmark["reason"] != "map is not finite"]
    by_rules = score_xaibenchmark(study)
    keys = ["case", "metric"]
    both = benchmark.merge(by_rules, on=keys, validate="one_to_one")
    assert len(both) > 40
    np.testing.assert_array_equal(both["score_x"], both["score_y"])
    flat = {("a", "t", "cam"): np.full((3, 4), 0.5)}
    one = ss.study_from_arrays({("a", "t"): np.eye(4, dtype=bool)}, flat)
    found = ss.score(one, metrics=[*names, "hit_any"]).set_index("metric")["score"]
    expected_scores = {
        "xaibenchmark_iou": 1 / 4,
        "xaibenchmark_precision": 1 / 4,
        "xaibenchmark_recall": 0,
        "xaibenchmark_hit": 1,
        "hit_any": 0,
    }
    assert found.to_dict() == expected_scores
    # a map that is positive nowhere has no precision, and IoU 0
    negative = {("a", "t", "cam"): -np.eye(4)}
    one = ss.study_from_arrays({("a", "t"): np.eye(4, dtype=bool)}, negative)
    found = ss.score(one, metrics=[*names]).set_index("metric")
    assert found.loc["xaibenchmark_precision", "reason"] == "nothing positive"
    assert found.loc["xaibenchmark_iou", "score"] == 0


def test_a_map_of_another_size_is_resized_to_the_truth():
    truth = np.zeros((8, 10), bool)
    truth[2:6, 3:9] = True
    small = np.random.default_rng(0).normal(size=(3, 4))
    study = ss.study_from_arrays({("a", "t"): truth}, {("a", "t", "cam"): small})
    found = score_xaibenchmark(study, metrics="iou")["score"].item()
    assert found == xaibenchmark.iou(resize(small, truth.shape), truth)


def test_a_map_with_a_missing_value_has_no_score_as_in_score():
    truth = np.zeros((4, 4), bool)
    truth[:2] = True
    saliency = np.where(truth, 0.9, 0.0)
    saliency[0, 0] = np.nan
    study = ss.study_from_arrays({("a", "cat"): truth}, {("a", "cat", "cam"): saliency})
    found = score_xaibenchmark(study)
    assert found["score"].isna().all()
    of_score = ss.score(study, metrics=[f"xaibenchmark_{name}" for name in xaibenchmark.SCORES])
    assert found["reason"].tolist() == of_score["reason"].tolist() == ["map is not finite"] * 4


def test_a_missing_map_is_a_row(on_disk, tmp_path):
    np.save(tmp_path / "i00.npy", np.ones((3, 3)))
    with warns_too(path=on_disk, value=["i04"]):
        study = read_saliency_bench(on_disk, maps=tmp_path)
    assert score_xaibenchmark(study, metrics="hit")["reason"].value_counts()[NO_MAP] == 14


def test_a_prediction_without_a_map_has_no_score_beside_one_that_has():
    truth = np.eye(4, dtype=bool)
    maps = {(case, "cat", "cam"): np.eye(4) for case in "ab"}
    study = ss.study_from_arrays({(case, "cat"): truth for case in "ab"}, maps)
    first, second = study.cases
    (prediction,) = first.predictions
    bare = replace(first, predictions=(replace(prediction, read=lambda: Content(prob=0.5)),))
    scores = score_xaibenchmark(replace(study, cases=(bare, second)), metrics="iou").set_index("case")
    assert scores["reason"].tolist()[:1] == [NO_MAP]
    assert np.isnan(scores.loc["a", "score"])
    assert scores.loc["b", "score"] == 1


def test_a_study_without_maps_or_truths_and_an_unknown_metric(on_disk, study):
    with warns_too(path=on_disk, value=["i04"]):
        bare = read_saliency_bench(on_disk)
    with raises(SalstatsError, option="study", value=bare.source):
        score_xaibenchmark(bare)
    with raises(ValueRangeError, option="metrics", value="dice"):
        score_xaibenchmark(study, metrics=["iou", "dice"])
