import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.metrics.registry import METRICS
from salstats.metrics.repeats import agreement_among_maps

# float64 sums of some 100,000 numbers, in another order
ROUNDING = 1e-10
#: Range, direction and whether 0 is none of it: a correlation of 0 is chance, not the least agreement.
METRICS_OF_REPEATS = {
    "map_sd": (0, 1, -1, True),
    "map_iou": (0, 1, 1, True),
    "map_ncc": (-1, 1, 1, False),
}


@pytest.fixture
def maps():
    """Four maps of more pixels than are compared at a time."""
    rng = np.random.default_rng(1)
    shared = rng.uniform(size=(330, 410))
    return [((shared + rng.uniform(size=shared.shape)) / 2).astype(np.float32) for _ in range(4)]


def test_it_agrees_with_the_plain_formulas(maps):
    masks = [m > 0.6 for m in maps]
    found = agreement_among_maps(maps, masks)
    stack = np.stack(maps).astype(float)
    assert found.sd == pytest.approx(stack.std(axis=0, ddof=1).mean(), rel=ROUNDING)
    correlations = np.corrcoef(stack.reshape(4, -1))
    pairs = np.triu_indices(4, 1)
    assert found.ncc == pytest.approx(correlations[pairs].mean(), rel=ROUNDING)
    ious = [(masks[i] & masks[j]).sum() / (masks[i] | masks[j]).sum() for i, j in zip(*pairs, strict=True)]
    assert found.iou == pytest.approx(np.mean(ious), rel=ROUNDING)


def test_equal_maps_do_not_differ(maps):
    found = agreement_among_maps([maps[0]] * 3, [maps[0] > 0.5] * 3)
    assert found.sd == 0
    assert found.iou == 1
    assert found.ncc == pytest.approx(1, abs=ROUNDING)


def test_pairs_of_nothing_are_left_out(maps):
    nothing = np.zeros_like(maps[0])
    empty = nothing > 0
    found = agreement_among_maps([maps[0], nothing, nothing], [maps[0] > 0.5, empty, empty])
    # of three pairs one is empty, and all have a constant map
    assert found.iou == 0
    assert np.isnan(found.ncc)
    both = agreement_among_maps([nothing, nothing], [empty, empty])
    assert both.sd == 0
    assert np.isnan([both.iou, both.ncc]).all()


def test_a_constant_map_that_rounding_disturbs_is_constant():
    constant = np.full((7, 9), 0.1)
    assert np.isnan(agreement_among_maps([constant, np.eye(7, 9)], [constant > 1] * 2).ncc)


def test_metrics_reach_the_ends_of_their_ranges():
    one = np.array([[0.0, 1.0]])
    equal = agreement_among_maps([one, one], [one > 0.5, one > 0.5])
    opposite = agreement_among_maps([one, 1 - one], [one > 0.5, one < 0.5])
    scores = {name: [METRICS[name].kernel(of) for of in (equal, opposite)] for name in METRICS_OF_REPEATS}
    # two numbers that are 1 apart have the standard deviation sqrt(1 / 2)
    np.testing.assert_allclose(scores["map_sd"], [0, 0.5**0.5], rtol=ROUNDING)
    np.testing.assert_allclose(scores["map_iou"], [1, 0], rtol=ROUNDING)
    np.testing.assert_allclose(scores["map_ncc"], [1, -1], rtol=ROUNDING)
    for name, (low, high, direction, true_zero) in METRICS_OF_REPEATS.items():
        metric = METRICS[name]
        assert (metric.low, metric.high, metric.direction, metric.true_zero) == (
            low,
            high,
            direction,
            true_zero,
        )


def test_bad_arguments_are_named(maps):
    with raises(ValueRangeError, option="maps", value=1):
        agreement_among_maps(maps[:1], [maps[0] > 0])
    with raises(ShapeError, option="masks", value=[maps[0].shape]):
        agreement_among_maps(maps, [maps[0] > 0])
    with raises(ShapeError, option="masks", value=[maps[0].shape, maps[1].shape]):
        agreement_among_maps([maps[0], maps[1][:5]], [m > 0 for m in maps[:2]])
