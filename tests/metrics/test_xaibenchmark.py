"""Saliency-Bench's scores by its rules: every row of what its package gave, and where its rules show."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.metrics import overlap, pointing, xaibenchmark
from salstats.metrics.registry import METRICS

#: Both divide the same whole numbers; means add up to 16 numbers in another order at most.
EXACT = 1e-15
TRUTHS = {"int_truth": "gts", "soft_truth": "gts_soft", "negsum_truth": "gts_negsum"}
#: The stacks of the oracle: all images, and those that leave precision defined.
STACKS = {-1: [], -2: [8, 10]}


@pytest.mark.parametrize("metric", xaibenchmark.SCORES)
@pytest.mark.parametrize("truth", TRUTHS)
def test_every_image_has_its_score_and_every_stack_its_mean(shared, truth, metric):
    folder = shared / "oracles" / "xaibenchmark"
    plain = np.load(folder / "inputs/stack.npz", allow_pickle=False)
    soft = np.load(folder / "inputs/stack_soft_truth.npz", allow_pickle=False)
    truths = (plain if TRUTHS[truth] in plain.files else soft)[TRUTHS[truth]]
    table = pd.read_csv(folder / "expected/xaibenchmark.csv")
    expected = table[table["truth"] == truth].set_index("index")[metric]
    found = pd.Series(
        {
            i: np.nan if xaibenchmark.has_pixel_sum_of_zero(t) else xaibenchmark.SCORES[metric](m, t)
            for i, (m, t) in enumerate(zip(plain["maps"], truths, strict=True))
        }
    )
    np.testing.assert_allclose(found, expected[expected.index >= 0], rtol=0, atol=EXACT, equal_nan=True)
    kept = [i for i, t in enumerate(truths) if not xaibenchmark.has_pixel_sum_of_zero(t)]
    assert len(kept) < len(truths)
    for number, without in STACKS.items():
        # one map that is positive nowhere makes the precision of a whole stack NaN
        mean = found[[i for i in kept if i not in without]].mean(skipna=False)
        np.testing.assert_allclose(mean, expected[number], rtol=0, atol=EXACT, equal_nan=True)
    assert np.isnan(expected[-1]) == (metric == "precision")


TRUTH = np.array([[1, 0, 0, 0]])


def test_iou_and_precision_count_what_is_positive_whatever_its_scale():
    faint = np.array([[1e-9, 1e-9, 0, -5]])
    assert xaibenchmark.iou(faint, TRUTH) == xaibenchmark.precision(faint, TRUTH) == 1 / 2


def test_recall_takes_another_threshold_than_iou():
    half = np.array([[0.5, 0, 0, 0]])
    assert xaibenchmark.iou(half, TRUTH) == 1
    assert xaibenchmark.recall(half, TRUTH) == 0
    assert xaibenchmark.recall(np.nextafter(half, 1), TRUTH) == 1


def test_a_constant_map_hits_here_and_nowhere_else():
    flat = np.full((1, 4), 0.3)
    assert xaibenchmark.hit(flat, TRUTH) == 1
    assert pointing.hit(flat, TRUTH) == pointing.hit_any(flat, TRUTH) == 0


def test_only_hit_sees_a_fraction_of_a_truth():
    soft, peaked = TRUTH * 0.9, np.array([[0.9, 0.1, 0, 0]])
    assert xaibenchmark.hit(peaked, soft) == 1
    assert [xaibenchmark.SCORES[m](peaked, soft) for m in ("iou", "precision", "recall")] == [0, 0, 0]


def test_of_a_binary_map_and_a_mask_the_rules_agree_with_ours():
    rng = np.random.default_rng(3)
    for _ in range(20):
        mask, truth = rng.random((2, 6, 7)) < 0.5
        for name in ("iou", "precision", "recall"):
            ours = getattr(overlap, name)(mask, truth)
            assert xaibenchmark.SCORES[name](mask.astype(float), truth) == ours


def test_damaged_arguments_are_named():
    with raises(ShapeError, option="truth", value=(3, 2)):
        xaibenchmark.iou(np.ones((2, 3)), np.ones((3, 2)))
    with raises(ValueRangeError, option="truth", value=np.dtype("U1")):
        xaibenchmark.iou(np.ones((1, 2)), np.array([["a", "b"]]))
    with raises(ValueRangeError, option="truth", value=None):
        xaibenchmark.iou(np.ones((1, 2)), np.array([[np.nan, 1]]))


@pytest.mark.parametrize(
    ("name", "expected"), [("iou", 2 / 3), ("precision", 2 / 3), ("recall", 1), ("hit", 0)]
)
def test_a_registered_score_lays_the_map_on_its_truth(name, expected):
    # half-pixel centres: 0 and 1 become 0, 1/4, 3/4 and 1
    metric = METRICS[f"xaibenchmark_{name}"]
    truth = np.array([[0, 1, 1, 0]] if name == "hit" else [[0, 0, 1, 1]])
    assert metric.kernel(np.array([[0.0, 1.0]]), truth) == pytest.approx(expected)
    assert (metric.low, metric.high, metric.direction, metric.true_zero) == (0, 1, 1, True)
