import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.metrics.repeats import agreement_among_maps

# float64 sums of some 100,000 numbers, in another order
ROUNDING = 1e-10


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


def test_bad_arguments_are_named(maps):
    with raises(ValueRangeError, option="maps", value=1):
        agreement_among_maps(maps[:1], [maps[0] > 0])
    with raises(ShapeError, option="masks", value=[maps[0].shape]):
        agreement_among_maps(maps, [maps[0] > 0])
    with raises(ShapeError, option="masks", value=[maps[0].shape, maps[1].shape]):
        agreement_among_maps([maps[0], maps[1][:5]], [m > 0 for m in maps[:2]])
