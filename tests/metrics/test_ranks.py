import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from salstats.checks import ShapeError, ValueRangeError
from salstats.metrics.densities import Densities
from salstats.metrics.fixation import auc, ncc, sauc
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
def test_many_densities_at_once_score_as_one_by_one(levels):
    saliency, densities, bias = drawn(0, levels=levels)
    ranked = RankedMap(saliency)
    np.testing.assert_allclose(ranked.auc(densities), [auc(saliency, d) for d in densities], rtol=DOUBLE)
    np.testing.assert_allclose(
        ranked.sauc(densities, bias), [sauc(saliency, d, bias) for d in densities], rtol=DOUBLE
    )
    np.testing.assert_allclose(ranked.ncc(densities), [ncc(saliency, d) for d in densities], rtol=DOUBLE)


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


def test_the_order_of_the_questions_does_not_matter():
    saliency, densities, bias = drawn(2, levels=3)
    one, other = RankedMap(saliency), RankedMap(saliency)
    first = one.sauc(densities, bias), one.ncc(densities), one.auc(densities)
    again = other.auc(densities), other.ncc(densities), other.sauc(densities, bias)
    for left, right in zip(first, again[::-1], strict=True):
        np.testing.assert_array_equal(left, right)


def test_memory_order_and_type_of_the_arrays_do_not_matter():
    saliency, densities, bias = drawn(3, levels=3)
    known = RankedMap(saliency).sauc(densities, bias)
    turned = RankedMap(np.asfortranarray(saliency)).sauc(
        np.asfortranarray(densities), np.asfortranarray(bias)
    )
    np.testing.assert_allclose(turned, known, rtol=DOUBLE)
    assert RankedMap(saliency.astype(np.int8)).auc(densities.tolist()) == pytest.approx(
        RankedMap(saliency).auc(densities), rel=DOUBLE
    )
    whole = np.round(100 * densities).astype(np.uint8)
    np.testing.assert_allclose(
        RankedMap(saliency).auc(whole), RankedMap(saliency).auc(1.0 * whole), rtol=DOUBLE
    )


def test_one_density_or_none_may_be_given():
    saliency, densities, bias = drawn(4)
    ranked = RankedMap(saliency)
    # one product of matrices sums in another order than one of vectors
    np.testing.assert_allclose(ranked.auc(densities[0]), ranked.auc(densities)[:1], rtol=DOUBLE)
    for found in (ranked.auc(densities[:0]), ranked.sauc(densities[:0], bias), ranked.ncc(densities[:0])):
        assert found.shape == (0,)
        assert found.dtype == np.float64


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


def test_huge_and_tiny_numbers_stay_in_range():
    saliency, densities, bias = drawn(5)
    for scale in (1e307, 1e-307):
        ranked = RankedMap(scale * saliency)
        for known, found in (
            (RankedMap(saliency).auc(densities), ranked.auc(scale * densities)),
            (RankedMap(saliency).sauc(densities, bias), ranked.sauc(scale * densities, scale * bias)),
            (RankedMap(saliency).ncc(densities), ranked.ncc(scale * densities)),
        ):
            np.testing.assert_allclose(found, known, rtol=1e-9)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9)
)
def test_the_area_of_values_is_that_of_all_pairs(positives, negatives):
    above, below = np.array(positives, float), np.array(negatives, float)
    difference = above[:, None] - below
    assert auc_of_values(above, below) == np.mean((difference > 0) + (difference == 0) / 2)


def test_the_area_of_values_needs_both_kinds():
    some, none = np.array([1.0]), np.array([])
    assert np.isnan([auc_of_values(some, none), auc_of_values(none, some)]).all()


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


def test_a_sample_of_every_pixel_is_the_exact_area():
    saliency, densities, _ = drawn(6, levels=3)
    times = np.round(10 * densities[0]).astype(int)
    pixels = np.arange(saliency.size)
    assert sampled_auc(saliency, np.repeat(pixels, times.ravel()), pixels) == pytest.approx(
        auc(saliency, times), rel=DOUBLE
    )


def test_nothing_drawn_and_a_constant_map_have_no_sampled_area():
    assert np.isnan(sampled_auc([[1, 2]], [], [0]))
    assert np.isnan(sampled_auc([[1, 2]], [0], []))
    assert np.isnan(sampled_auc([[1, 1]], [0], [1]))


def test_damaged_samples_are_named():
    saliency = [[1, 2], [3, 4]]
    with pytest.raises(ValueRangeError, match=r"positives must lie in 0 ... 3, not 0 ... 4"):
        sampled_auc(saliency, [0, 4], [0])
    with pytest.raises(ValueRangeError, match=r"negatives must lie in 0 ... 3, not -1 ... 1"):
        sampled_auc(saliency, [0], [-1, 1])
    with pytest.raises(ValueRangeError, match="positives must be flat indices of pixels, whole numbers"):
        sampled_auc(saliency, [0.0], [1])
    with pytest.raises(
        ShapeError, match=r"negatives must have shape \(n,\), a flat index each, not \(1, 2\)"
    ):
        sampled_auc(saliency, [0], [(1, 1)])


def test_damaged_arrays_are_named():
    with pytest.raises(ShapeError, match=r"saliency map must have shape \(M, N\)"):
        RankedMap([1, 2])
    with pytest.raises(ValueRangeError, match="1 of 2 pixels of the saliency map are NaN or infinite"):
        RankedMap([[1, np.nan]])
    ranked, good = RankedMap([[1, 2]]), np.ones((3, 1, 2))
    bad = np.where(np.arange(3)[:, None, None] == 1, -1, good)
    for question in (ranked.auc, ranked.ncc, lambda densities: ranked.sauc(densities, good[0])):
        with pytest.raises(ShapeError, match=r"map \(1, 2\) and densities \(3, 2, 1\) do not fit together"):
            question(good.reshape(3, 2, 1))
        with pytest.raises(ValueRangeError, match="2 of 2 pixels of density 2 of 3 are negative"):
            question(bad)
        with pytest.raises(ValueRangeError, match="density 1 of 3 is 0 everywhere"):
            question(0 * good)
    with pytest.raises(ValueRangeError, match="center_bias is 0 everywhere"):
        ranked.sauc(good, 0 * good[0])
    with pytest.raises(ShapeError, match=r"map \(1, 2\) and center_bias \(2, 1\)"):
        ranked.sauc(good, good[0].T)


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
    with pytest.raises(ShapeError, match="do not fit together"):
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
