import json

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.masks import Rle, encode
from salstats.metrics.pointing import any_point_hits, hit, hit_any
from salstats.metrics.registry import METRICS
from salstats.readers.pickles import read_pickle


@pytest.fixture(scope="module")
def chexlocalize(shared):
    return shared / "oracles/chexlocalize"


def rows_of(per_map):
    """Case, task and hit of a table of the oracle, NaN where the truth is empty or there is none."""
    table = pd.read_csv(per_map)
    return zip(table["img_id"], table["task"], table["hit"], strict=True)


def read_map(folder, case, task):
    held = read_pickle(folder / f"{case}_{task}_map.pkl")
    return held["map"][0, 0]


def same(a, b):
    return a == b or (np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("part", ["study", "sample"])
def test_hits_are_the_scripts(chexlocalize, shared, part):
    if part == "study":
        table, maps = chexlocalize / "study/expected/per_map.csv", chexlocalize / "study/inputs/maps"
        truths = json.loads((chexlocalize / "study/expected/gt_segmentations.json").read_text())
    else:
        table = chexlocalize / "sample/per_map.csv"
        maps = shared / "data/chexlocalize_sample/gradcam_maps_val"
        truths = json.loads((chexlocalize / "sample/gt_seg.json").read_text())
    n_seen = {0.0: 0, 1.0: 0, "nan": 0}
    # all of them are compared where the study is scored
    for case, task, expected in list(rows_of(table))[:: 5 if part == "study" else 1]:
        if case not in truths:
            continue
        scored = hit(read_map(maps, case, task), Rle.from_coco(truths[case][task]))
        assert same(scored, expected), (case, task)
        n_seen["nan" if np.isnan(expected) else expected] += 1
    assert all(n_seen.values())


def test_human_hits_are_the_scripts(chexlocalize):
    truths = json.loads((chexlocalize / "study/expected/gt_segmentations.json").read_text())
    marked = json.loads((chexlocalize / "study/inputs/hb_salient_pts.json").read_text())
    expected = pd.read_csv(
        chexlocalize / "study/expected/eval_tp/hitmiss_humanbenchmark_results_per_cxr.csv"
    ).set_index("img_id")
    assert len(expected) == 165
    for case, row in expected.iterrows():
        for task, score in row.items():
            points = [(y, x) for x, y in marked.get(case, {}).get(task, [])]
            assert same(any_point_hits(points, Rle.from_coco(truths[case][task])), score), (case, task)


def test_human_edge_cases_are_the_scripts_but_for_points_outside_the_image(chexlocalize):
    expected = json.loads((chexlocalize / "edge_cases.json").read_text())["hb_hit"]
    truth = np.zeros((12, 12), bool)
    truth[2:5, 3:6] = True
    assert [any_point_hits([(3, 4)], truth)] == expected["inside"]
    assert [any_point_hits([(9, 9)], truth)] == expected["outside"]
    assert [any_point_hits([(9, 9), (3.9, 4.9)], truth)] == expected["any_of_two"]
    assert [any_point_hits([], truth)] == expected["empty_list"]
    # the scripts count from the other end, or stop
    assert expected["negative_wraps"] == [1]
    assert any_point_hits([(-9, -8)], truth) == 0
    assert expected["out_of_bounds"].startswith("IndexError")
    assert any_point_hits([(3, 12)], truth) == 0


TRUTH = np.array([[0, 1, 1], [0, 0, 0]], bool)
NOTHING = np.zeros((2, 3), bool)


@pytest.mark.parametrize(
    ("saliency", "first", "any_"),
    [
        ([[0, 9, 0], [0, 0, 0]], 1, 1),
        ([[0, 0, 0], [0, 9, 0]], 0, 0),
        ([[9, 9, 0], [0, 0, 0]], 0, 1),  # the first maximum misses
        ([[0, 9, 0], [9, 0, 0]], 1, 1),  # row-major: the row decides before the column
        ([[4, 4, 4], [4, 4, 4]], 0, 0),  # constant
    ],
)
@pytest.mark.parametrize("form", [encode, lambda truth: truth, lambda truth: truth.astype(int)])
def test_hits_worked_by_hand(saliency, first, any_, form):
    truth = form(TRUTH)
    assert hit(np.array(saliency), truth) == first
    assert hit_any(np.array(saliency), truth) == any_


def test_hits_are_nan_when_the_truth_is_empty_and_only_then():
    constant, full = np.zeros((2, 3)), np.ones((2, 3), bool)
    for saliency in (constant, np.eye(2, 3)):
        assert np.isnan(hit(saliency, NOTHING))
        assert np.isnan(hit_any(saliency, NOTHING))
    assert np.isnan(any_point_hits([], NOTHING))
    assert np.isnan(any_point_hits([(0, 0)], NOTHING))
    assert hit(constant, full) == hit_any(constant, full) == any_point_hits([], full) == 0


def test_points_are_pairs_of_numbers():
    with raises(ShapeError, option="points", value=(1, 3)):
        any_point_hits([(1, 2, 3)], TRUTH)
    with raises(ValueRangeError, option="points"):
        any_point_hits([("a", "b")], TRUTH)
    with raises(ValueRangeError, option="points"):
        any_point_hits([(np.nan, 1)], TRUTH)


@pytest.mark.parametrize("metric", ["hit", "hit_any"])
def test_a_hit_is_better_than_a_miss_and_0_is_no_hit(metric):
    known = METRICS[metric]
    miss, found = (known.kernel([point], TRUTH) for point in ((1, 0), (0, 1)))
    assert (miss, found) == (known.low, known.high) == (0, 1)
    assert known.direction == found - miss
    # twice the rate is twice the hits
    assert known.true_zero
