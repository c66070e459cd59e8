import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from tests_support import raises

from salstats.errors import ShapeError
from salstats.metrics.densities import Densities
from salstats.metrics.fixation import auc
from salstats.metrics.ranks import RankedMap, auc_of_values, sampled_auc

#: Sums over some 1000 pixels in another order.
DOUBLE = 1e-12


def drawn(seed, *, levels=None, shape=(31, 37)):
    """A map, five densities and a centre bias; the map rounded to so many levels."""
    rng = np.random.default_rng(seed)
    saliency = rng.normal(size=shape)
    if levels is not None:
        saliency = np.round(levels * saliency)
    return saliency, rng.random((5, *shape)) ** 4, rng.random(shape)


@pytest.mark.parametrize("levels", [None, 20, 1])
def test_areas_are_those_of_weighted_roc_curves_in_scikit_learn(levels):
    saliency, densities, bias = drawn(1, levels=levels)
    ranked, size = RankedMap(saliency), saliency.size
    labels, scores = np.repeat([1, 0], size), np.tile(saliency.ravel(), 2)
    for negatives, found in (
        (np.ones(saliency.shape), ranked.auc(densities)),
        (bias, ranked.sauc(densities, bias)),
    ):
        known = [
            roc_auc_score(
                labels,
                scores,
                sample_weight=np.r_[d.ravel() / d.sum(), (negatives / negatives.sum()).ravel()],
            )
            for d in densities
        ]
        np.testing.assert_allclose(found, known, rtol=DOUBLE)


def test_a_constant_map_says_so_and_has_no_score():
    ranked = RankedMap(np.full((2, 3), 0.1))
    densities = np.ones((4, 2, 3))
    assert ranked.is_constant
    assert not RankedMap([[0.0, 1e-300]]).is_constant
    for found in (ranked.auc(densities), ranked.sauc(densities, densities[0]), ranked.ncc(densities)):
        assert found.shape == (4,)
        assert np.isnan(found).all()


def test_a_constant_density_has_no_correlation_among_others_that_have():
    ranked = RankedMap([[0.0, 1.0, 3.0]])
    assert np.isnan(ranked.ncc([[[1, 1, 1]], [[0, 1, 1]]])).tolist() == [True, False]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9)
)
def test_the_area_of_values_is_that_of_all_pairs(positives, negatives):
    above, below = np.array(positives, float), np.array(negatives, float)
    difference = above[:, None] - below
    assert auc_of_values(above, below) == np.mean((difference > 0) + (difference == 0) / 2)


@pytest.mark.parametrize(
    "change", [lambda x: 1e39 * x, lambda x: 1e8 + x, lambda x: 1e-46 * x], ids=["huge", "shifted", "tiny"]
)
def test_sampled_areas_follow_the_order_of_values_that_single_precision_would_lose(change):
    saliency, densities, _ = drawn(4)
    saliency = np.round(saliency, 3)
    density = densities[0] * (saliency > 0)
    pixels, times = np.arange(saliency.size), np.round(10 * density).astype(int)
    exact = auc(saliency, times)
    assert exact > 0.7
    positives = np.repeat(pixels, times.ravel())
    assert sampled_auc(change(saliency), positives, pixels) == pytest.approx(exact, rel=DOUBLE)
    found = [auc(one, density, n_samples=1000) for one in (saliency, change(saliency))]
    assert found[0] == found[1]


def test_nothing_drawn_and_a_constant_map_have_no_sampled_area():
    assert np.isnan(sampled_auc([[1, 2]], [], [0]))
    assert np.isnan(sampled_auc([[1, 2]], [0], []))
    assert np.isnan(sampled_auc([[1, 1]], [0], [1]))


@pytest.mark.parametrize("levels", [None, 20, 1])
def test_a_map_of_single_precision_is_ranked_like_the_same_order_in_double(levels):
    saliency, densities, bias = drawn(7, levels=levels)
    single = saliency.astype(np.float32)
    # thirds have more digits than single precision
    third = single.astype(np.float64) / 3
    assert not np.array_equal(third, third.astype(np.float32))
    for name, negatives in (("auc", ()), ("sauc", (bias,))):
        found, known = (getattr(RankedMap(one), name)(densities, *negatives) for one in (single, third))
        np.testing.assert_allclose(found, known, rtol=DOUBLE)


def test_single_precision_keeps_the_order_of_signs_and_of_its_smallest_numbers():
    largest, tiny = float(np.finfo(np.float32).max), float(np.finfo(np.float32).smallest_subnormal)
    ordered = [-largest, -1.0, -tiny, 0.0, tiny, 1.0, largest]
    # each pixel as the only positive: its rank among all seven
    found = RankedMap([ordered]).auc(np.eye(7)[:, np.newaxis])
    np.testing.assert_allclose(found, (np.arange(7) + 0.5) / 7, rtol=DOUBLE)
    found = RankedMap([[0.0, -0.0, 1.0, -1.0]]).auc(np.eye(4)[:, np.newaxis])
    np.testing.assert_allclose(found, [0.5, 0.5, 0.875, 0.125], rtol=DOUBLE)


def test_densities_checked_before_score_as_the_arrays_do():
    saliency, densities, bias = drawn(8, levels=3)
    ranked, checked = RankedMap(saliency), Densities(densities, saliency.shape)
    np.testing.assert_array_equal(ranked.auc(checked), ranked.auc(densities))
    np.testing.assert_array_equal(ranked.sauc(checked, bias), ranked.sauc(densities, bias))
    np.testing.assert_array_equal(ranked.ncc(checked), ranked.ncc(densities))
    with raises(ShapeError, option="densities", value=(5, 31, 37)):
        RankedMap([[1, 2]]).auc(checked)


@pytest.mark.parametrize("size", [1e-2, 1e-5, 1e-9])
def test_a_density_that_is_nearly_constant_keeps_its_correlation(size):
    rng = np.random.default_rng(9)
    # whole multiples of a power of two, so that 1 can be added and taken away without rounding
    unit = 2.0 ** np.round(np.log2(size / 100))
    steps = rng.integers(0, 100, (31, 37)) * unit
    saliency = 1e6 + rng.random((31, 37))
    known = np.corrcoef((saliency - 1e6).ravel(), steps.ravel())[0, 1]
    assert RankedMap(saliency).ncc(1 + steps)[0] == pytest.approx(known, abs=1e-10)


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        # shares of the four pixels below, and half of those as high
        ([0], 0.125),
        ([1], 0.5),
        ([3], 0.875),
        ([1, 2], 0.5),
        # a pixel counts as often as it is named
        ([1, 3, 3], 0.75),
    ],
)
def test_the_area_against_all_pixels_is_the_mean_rank_of_the_positives(pixels, expected):
    ranked = RankedMap([[0.0, 1.0], [1.0, 3.0]])
    assert ranked.auc_against_all_pixels(np.array(pixels)) == expected


def test_the_area_against_all_pixels_needs_a_positive_and_a_map_that_varies():
    assert np.isnan(RankedMap([[0.0, 1.0]]).auc_against_all_pixels(np.array([], dtype=int)))
    assert np.isnan(RankedMap([[1.0, 1.0]]).auc_against_all_pixels(np.array([0])))
