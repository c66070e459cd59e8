"""Saliency-Bench's scores by its rules: every row of what its package gave, and where its rules show."""

import numpy as np
import pandas as pd
import pytest

from salstats.checks import ShapeError, ValueRangeError
from salstats.metrics import overlap, pointing, xaibenchmark

#: Both divide the same whole numbers; means add up to 16 numbers in another order at most.
EXACT = 1e-15
TRUTHS = {"int_truth": "gts", "soft_truth": "gts_soft", "negsum_truth": "gts_negsum"}
#: The stacks of the oracle: all images, and those that leave precision defined.
STACKS = {-1: [], -2: [8, 10]}


@pytest.fixture(scope="module")
def stack(shared):
    """Maps, and truths by the oracle's name."""
    inputs = shared / "oracles" / "xaibenchmark" / "inputs"
    plain = np.load(inputs / "stack.npz", allow_pickle=False)
    soft = np.load(inputs / "stack_soft_truth.npz", allow_pickle=False)
    truths = {name: (plain if key in plain.files else soft)[key] for name, key in TRUTHS.items()}
    return plain["maps"], truths


@pytest.fixture(scope="module")
def expected(shared):
    """What `xaibenchmark` gave."""
    return pd.read_csv(shared / "oracles" / "xaibenchmark" / "expected" / "xaibenchmark.csv")


class TestOracle:
    @pytest.mark.parametrize("metric", xaibenchmark.SCORES)
    @pytest.mark.parametrize("truth", TRUTHS)
    def test_every_image_has_its_score(self, stack, expected, truth, metric):
        maps, truths = stack
        rows = expected[(expected["truth"] == truth) & (expected["index"] >= 0)]
        assert len(rows) == len(maps)
        found = xaibenchmark.score_stack(metric, maps, truths[truth])
        np.testing.assert_allclose(found, rows[metric], rtol=0, atol=EXACT, equal_nan=True)

    @pytest.mark.parametrize("metric", xaibenchmark.SCORES)
    @pytest.mark.parametrize("truth", TRUTHS)
    @pytest.mark.parametrize("index", STACKS)
    def test_every_stack_has_its_mean(self, stack, expected, truth, metric, index):
        maps, truths = stack
        kept = [i for i in range(len(maps)) if i not in STACKS[index]]
        (row,) = expected[(expected["truth"] == truth) & (expected["index"] == index)].to_dict("records")
        found = xaibenchmark.mean_score(metric, maps[kept], truths[truth][kept])
        np.testing.assert_allclose(found, row[metric], rtol=0, atol=EXACT, equal_nan=True)

    def test_the_oracle_holds_a_poisoned_stack_and_skipped_images(self, expected):
        assert expected.loc[expected["index"] == -1, "precision"].isna().all()
        assert expected.loc[expected["index"] == 4, "iou"].isna().all()


class TestRules:
    truth = np.array([[1, 0, 0, 0]])

    def test_iou_and_precision_count_what_is_positive_whatever_its_scale(self):
        faint = np.array([[1e-9, 1e-9, 0, -5]])
        assert xaibenchmark.iou(faint, self.truth) == xaibenchmark.precision(faint, self.truth) == 1 / 2

    def test_recall_takes_another_threshold_than_iou(self):
        half = np.array([[0.5, 0, 0, 0]])
        assert xaibenchmark.iou(half, self.truth) == 1
        assert xaibenchmark.recall(half, self.truth) == 0
        assert xaibenchmark.recall(np.nextafter(half, 1), self.truth) == 1

    def test_a_constant_map_hits_here_and_nowhere_else(self):
        flat = np.full((1, 4), 0.3)
        assert xaibenchmark.hit(flat, self.truth) == 1
        assert pointing.hit(flat, self.truth) == pointing.hit_any(flat, self.truth) == 0

    def test_only_hit_sees_a_fraction_of_a_truth(self):
        soft, peaked = self.truth * 0.9, np.array([[0.9, 0.1, 0, 0]])
        assert xaibenchmark.hit(peaked, soft) == 1
        assert [xaibenchmark.SCORES[m](peaked, soft) for m in ("iou", "precision", "recall")] == [0, 0, 0]

    def test_a_truth_that_cancels_is_left_out(self):
        assert xaibenchmark.is_left_out(np.array([[1, -1, 0, 0]]))
        assert np.isnan(xaibenchmark.score_stack("hit", np.ones((1, 1, 4)), [[[1, -1, 0, 0]]])).all()

    def test_a_stack_of_left_out_images_has_no_mean(self):
        assert np.isnan(xaibenchmark.mean_score("iou", np.ones((2, 1, 4)), np.zeros((2, 1, 4))))

    def test_of_a_binary_map_and_a_mask_the_rules_agree_with_ours(self):
        rng = np.random.default_rng(3)
        for _ in range(20):
            mask, truth = rng.random((2, 6, 7)) < 0.5
            for name in ("iou", "precision", "recall"):
                ours = getattr(overlap, name)(mask, truth)
                assert xaibenchmark.SCORES[name](mask.astype(float), truth) == ours


class TestBadInput:
    def test_shapes_that_differ_are_refused(self):
        with pytest.raises(ShapeError, match=r"map \(2, 3\) and truth \(3, 2\) must have the same shape"):
            xaibenchmark.iou(np.ones((2, 3)), np.ones((3, 2)))
        with pytest.raises(ShapeError, match=r"a map has shape \(height, width\), not \(3,\)"):
            xaibenchmark.hit(np.ones(3), np.ones((1, 3)))

    def test_as_many_truths_as_maps(self):
        with pytest.raises(ShapeError, match="2 maps and 1 truths"):
            xaibenchmark.mean_score("iou", np.ones((2, 1, 4)), np.ones((1, 1, 4)))

    def test_text_and_nan_are_no_truth(self):
        with pytest.raises(ValueRangeError, match="a truth holds numbers"):
            xaibenchmark.iou(np.ones((1, 2)), np.array([["a", "b"]]))
        with pytest.raises(ValueRangeError, match="NaN or infinity"):
            xaibenchmark.iou(np.ones((1, 2)), np.array([[np.nan, 1]]))

    def test_an_unknown_score_is_named(self):
        with pytest.raises(ValueRangeError, match="metric='dice' is not known"):
            xaibenchmark.mean_score("dice", np.ones((1, 1, 2)), np.ones((1, 1, 2)))
