import gaze_oracle
import numpy as np
import pandas as pd
import pytest
from fixation_oracle import CONSTANT, expected, images
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.metrics.densities import Densities
from salstats.metrics.fixation import RankedMap, auc, kl, ncc, sauc, sim, sncc
from salstats.metrics.ranks import sampled_auc
from salstats.metrics.registry import METRICS

#: Sums over some 30000 pixels in another order.
DOUBLE = 1e-12
#: What the oracle's two exact values agree to among themselves (they do better: 5e-13).
EXACT = 1e-9
#: The reference multiplies and adds in single precision, over maps in single precision.
SINGLE = 1e-6
#: Of 2520 values with a standard normal z one in 150000 lies beyond 4.5.
LARGEST_Z = 4.5
#: Matlab's and NumPy's logarithms and sums over some 10000 pixels.
MATLAB = 1e-10

#: Every metric of a map and a density, as a function of these two.
AGAINST_DENSITY = {
    "ncc": ncc,
    "sncc": lambda saliency, density, **_: sncc(saliency, density, _ramp(np.shape(density))),
    "auc": auc,
    "sauc": lambda saliency, density, **_: sauc(saliency, density, _ramp(np.shape(density))),
    "sim": sim,
    "kl": kl,
}
BY_RANKS = ("auc", "sauc")
CORRELATIONS = ("ncc", "sncc")


def _ramp(shape):
    """A centre bias: 1, 2, 3, ... row by row."""
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape)


@pytest.fixture(scope="module")
def comparisons(shared):
    return gaze_oracle.comparisons(shared)


@pytest.fixture(scope="module")
def oracle_auc(shared):
    table = pd.read_csv(shared / "oracles/gaze/expected/auc_sauc.csv")
    return table.set_index(["metric", "phase", "trial", "index_image", "method"])


@pytest.fixture(scope="module")
def exact(comparisons):
    """Our exact areas in the oracle's keys."""
    found = {}
    for c in comparisons:
        for method, saliency in c.maps.items():
            ranked, key = RankedMap(saliency), (c.phase, c.trial, c.reader, method)
            found["auc", *key] = ranked.auc(c.truth)[0]
            found["sauc", *key] = ranked.sauc(c.truth, c.center_bias)[0]
    return pd.Series(found).rename_axis(["metric", "phase", "trial", "index_image", "method"])


@pytest.fixture(scope="module")
def drawn(shared):
    """The fixation oracle's images whose map is not constant."""
    return [image for image in images(shared) if image.name not in CONSTANT]


# --- by hand


def test_scores_by_hand():
    # ranks 1, 2.5, 2.5, 4: shares of the pixels below and half of those level are 1/8, 1/2, 1/2, 7/8
    saliency, density = np.array([[0.1, 0.4], [0.4, 0.9]]), np.array([[0, 1], [0, 3]])
    assert auc(saliency, density) == 0.25 * 1 / 2 + 0.75 * 7 / 8
    # the lower half as negatives: shares are 0, 1/4, 1/4, 3/4
    assert sauc(saliency, density, [[0, 0], [1, 1]]) == 0.25 * 1 / 4 + 0.75 * 3 / 4
    # about their means, -7 -1 -1 9 (over 20) and -1 0 -1 2
    assert ncc(saliency, density) == pytest.approx((7 + 1 + 18) / np.sqrt(132 * 6), rel=DOUBLE)
    # and -1 -1 1 1
    of_the_bias = (7 + 1 - 1 + 9) / np.sqrt(132 * 4)
    assert sncc(saliency, density, [[0, 0], [1, 1]]) == pytest.approx(
        26 / np.sqrt(132 * 6) - of_the_bias, rel=DOUBLE
    )
    # as densities of 18: 1 4 4 9, and 0 4.5 0 13.5
    assert sim(saliency, density) == pytest.approx(13 / 18, rel=DOUBLE)
    kl_by_hand = 0.25 * np.log(4.5 / 4) + 0.75 * np.log(13.5 / 9)
    assert kl(saliency, density, epsilon=0) == pytest.approx(kl_by_hand, rel=DOUBLE)


# --- oracles: the study


def test_exact_areas_are_those_of_the_oracle(exact, oracle_auc):
    assert len(exact) == 360
    for column in ("exact_limit", "exact_sklearn_weighted"):
        np.testing.assert_allclose(exact, oracle_auc[column].loc[exact.index], rtol=0, atol=EXACT)


def test_the_study_samples_scatter_about_the_exact_areas_as_far_as_their_standard_errors(exact, oracle_auc):
    rows = oracle_auc.loc[exact.index]
    z = pd.concat(
        [
            (rows[column] - exact) / rows["se_n1000" if "n1000" in column else "se_n1e6"]
            for column in rows.filter(like="ref_n1").columns
        ]
    )
    assert len(z) == 2520
    assert z.abs().max() < LARGEST_Z
    # every value has draws of its own
    assert abs(z.mean()) < LARGEST_Z / np.sqrt(len(z))
    assert 0.9 < z.std() < 1.1


def test_correlations_are_those_of_the_oracle(comparisons, shared):
    table = pd.read_csv(shared / "oracles/gaze/expected/ncc_sncc.csv")
    table = table.set_index(["metric", "phase", "trial", "index_image", "method"])
    found = {}
    for c in comparisons:
        for method, saliency in c.maps.items():
            key = (c.phase, c.trial, c.reader, method)
            found["ncc", *key] = ncc(saliency, c.truth)
            found["sncc", *key] = sncc(saliency, c.truth, c.center_bias)
    ours = pd.Series(found)
    assert len(ours) == 360
    rows = table.loc[ours.index]
    np.testing.assert_allclose(ours, rows["value_f64"], rtol=0, atol=DOUBLE)
    np.testing.assert_allclose(ours, rows["reference_value"], rtol=0, atol=SINGLE)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_study_draws_give_the_study_scores(comparisons, oracle_auc, seed):
    random = np.random.RandomState(seed)
    column = oracle_auc[f"ref_n1000_seed{seed}"]
    found = {}
    for c in comparisons:
        size = c.truth.size
        once = (c.truth / c.truth.sum()).ravel()
        # the reference divides by the sum in single precision, for auc a second time
        for metric, above, below in (
            ("auc", once / once.sum(), np.full(size, 1 / size)),
            ("sauc", once, c.center_bias.ravel()),
        ):
            for method in gaze_oracle.METHODS:
                negatives, positives = (random.choice(size, 1000, p=share) for share in (below, above))
                key = (metric, c.phase, c.trial, c.reader, method)
                found[key] = sampled_auc(c.maps[method], positives, negatives)
    ours = pd.Series(found)
    assert len(ours) == 360
    np.testing.assert_allclose(ours, column.loc[ours.index], rtol=0, atol=DOUBLE)


# --- oracles: saliency prediction


def test_similarity_and_divergence_are_those_of_pysaliency(drawn, shared):
    table = expected(shared, "pysaliency_per_image.csv")
    options = {
        "kl_mit": {"epsilon": 2.2204e-16},
        "kl_min1e-20": {"epsilon": 0, "minimum": 1e-20},
        "kl_min1e-6": {"epsilon": 0, "minimum": 1e-6},
    }
    for image in drawn:
        row = table.loc[image.number]
        assert sim(image.saliency, image.target) == pytest.approx(row["sim"], rel=DOUBLE), image.name
        assert ncc(image.saliency, image.target) == pytest.approx(row["cc"], rel=0, abs=DOUBLE), image.name
        for column, chosen in options.items():
            found = kl(image.saliency, image.target, **chosen)
            assert found == pytest.approx(row[column], rel=DOUBLE, abs=DOUBLE), (image.name, column)


def test_similarity_and_divergence_are_those_of_the_mit_benchmark(drawn, shared):
    table = expected(shared, "mit_matlab_octave_per_image.csv")
    for image in drawn:
        row = table.loc[image.number]
        # it stretches the map for one and leaves it for the other
        stretched = image.saliency - image.saliency.min()
        assert sim(stretched, image.target) == pytest.approx(row["similarity"], rel=MATLAB), image.name
        if image.saliency.min() >= 0:
            assert kl(image.saliency, image.target) == pytest.approx(row["kldiv_vs_target"], rel=MATLAB)
        else:
            assert image.name == "negative_values"
            assert kl(image.saliency, image.target) > 1.2 * row["kldiv_vs_target"]


def test_a_constant_map_is_the_uniform_density_of_pysaliency_on_request_only(shared):
    table = expected(shared, "pysaliency_per_image.csv")
    constant = [image for image in images(shared) if image.name in CONSTANT]
    assert len(constant) == 2
    for image in constant:
        for metric, column, options in ((sim, "sim", {}), (kl, "kl_mit", {"epsilon": 2.2204e-16})):
            assert np.isnan(metric(image.saliency, image.target, **options))
            found = metric(image.saliency, image.target, constant="uniform", **options)
            assert found == pytest.approx(table.loc[image.number, column], rel=DOUBLE)


def test_edge_cases_of_pysaliency(shared):
    edge = pd.read_csv(shared / "oracles/fixation/expected/pysaliency_edge_cases.csv", index_col=0)["0"]
    # the ramp of 20 pixels that gives the oracle's SIM_zero_vs_ramp
    ramp, zero = np.arange(20.0).reshape(4, 5), np.zeros((4, 5))
    assert sim(zero, ramp, constant="uniform") == pytest.approx(edge["SIM_zero_vs_ramp"], rel=DOUBLE)
    assert sim(-ramp, ramp[::-1, ::-1]) == pytest.approx(edge["SIM_neg_ramp_vs_ramp"], rel=DOUBLE)
    assert kl(zero, ramp, epsilon=2.2204e-16, constant="uniform") == pytest.approx(
        edge["KL_mit_zero_vs_ramp"], rel=DOUBLE
    )
    assert kl(ramp, ramp, epsilon=0) == edge["KL_default_ramp_vs_ramp"]
    # a constant map scores 0 there; ours is undefined on purpose, as theirs is the other way round
    assert edge["CC_const_vs_ramp"] == 0
    assert np.isnan(edge["CC_ramp_vs_const"])
    assert np.isnan(ncc(zero + 1, ramp))
    assert np.isnan(ncc(ramp, zero + 1))
    # and a density of zeros is no density
    for metric in (sim, kl):
        with raises(ValueRangeError, option="density", value=None):
            metric(ramp, zero)


# --- empty and constant


@pytest.mark.parametrize("metric", AGAINST_DENSITY)
@pytest.mark.parametrize(
    "saliency",
    [np.zeros((2, 3)), np.full((2, 3), 0.5), np.full((2, 3), -2e9), np.array([[0.3, 0.3, 0.1 + 0.2]] * 2)],
    ids=["zero", "half", "negative", "rounding"],
)
def test_a_constant_map_has_no_score(metric, saliency):
    density = np.array([[0, 1, 2], [3, 1, 0]])
    assert np.isnan(AGAINST_DENSITY[metric](saliency, density))


def test_a_constant_density_leaves_only_the_correlations_undefined():
    saliency, density = np.array([[0.1, 0.4], [0.4, 0.9]]), np.full((2, 2), 7)
    for metric in CORRELATIONS:
        assert np.isnan(AGAINST_DENSITY[metric](saliency, density))
    assert np.isnan(sncc(saliency, _ramp((2, 2)), density))
    assert auc(saliency, density) == 0.5
    assert sauc(saliency, _ramp((2, 2)), density) == auc(saliency, _ramp((2, 2)))
    assert sim(saliency, density) == pytest.approx((1 / 18 + 2 * 4 / 18 + 1 / 4), rel=DOUBLE)
    assert np.isfinite(kl(saliency, density))


def test_the_divergence_is_infinite_without_epsilon_where_the_map_rules_out_what_was_seen():
    saliency, density = [[0, 1], [1, 1]], [[1, 1], [1, 1]]
    assert kl(saliency, density, epsilon=0) == np.inf
    assert np.isfinite(kl(saliency, density))
    assert np.isfinite(kl(saliency, density, epsilon=0, minimum=1e-20))


# --- properties

WHOLE = arrays(np.float64, (4, 5), elements=st.integers(-8, 8).map(float)).filter(lambda a: np.ptp(a) > 0)
DENSITY = arrays(np.float64, (4, 5), elements=st.integers(0, 8).map(float)).filter(lambda a: a.max() > 0)
STEEP = DENSITY.filter(lambda a: np.ptp(a) > 0)
quick = settings(deadline=None, max_examples=60)


@quick
@given(WHOLE, DENSITY, DENSITY)
def test_areas_are_those_of_all_pairs(saliency, density, bias):
    flat = saliency.ravel()
    above = (flat[:, None] > flat) + (flat[:, None] == flat) / 2
    shares = density.ravel() / density.sum(), bias.ravel() / bias.sum()
    assert auc(saliency, density) == pytest.approx(shares[0] @ above.mean(axis=1), abs=DOUBLE)
    assert sauc(saliency, density, bias) == pytest.approx(shares[0] @ above @ shares[1], abs=DOUBLE)


@quick
@given(WHOLE, DENSITY, st.sampled_from(list(AGAINST_DENSITY)), st.sampled_from([1e-3, 255.0, 1e100, 1e-100]))
def test_scores_do_not_change_with_the_units_of_map_and_density(saliency, density, metric, scale):
    score = AGAINST_DENSITY[metric]
    value = score(saliency, density)
    assert score(scale * saliency, density) == pytest.approx(value, abs=DOUBLE, nan_ok=True)
    assert score(saliency, scale * density) == pytest.approx(value, abs=DOUBLE, nan_ok=True)


@quick
@given(WHOLE, STEEP, st.sampled_from(list(AGAINST_DENSITY)))
def test_scores_stay_in_the_range_that_the_registry_says(saliency, density, metric):
    # what the epsilon of the divergence takes a perfect match below 0
    slack = 1e-8 if metric == "kl" else 0
    known, value = METRICS[metric], AGAINST_DENSITY[metric](saliency, density)
    assert known.low - slack <= value <= known.high
    assert not {"densities", "density"}.isdisjoint(known.needs)


@pytest.mark.parametrize("metric", AGAINST_DENSITY)
def test_the_registry_says_in_which_direction_it_is_better(metric):
    rng = np.random.default_rng(0)
    density = rng.random((6, 7)) ** 4
    good, bad = (AGAINST_DENSITY[metric](m, density) for m in (density + 0.01, 1.01 - density))
    assert (good > bad) == METRICS[metric].larger_is_better


# --- options and bad arguments


def test_the_sampled_score_is_that_of_the_pixels_drawn_negatives_first():
    rng = np.random.default_rng(3)
    saliency, density, bias = rng.random((3, 9, 8))
    generator = np.random.default_rng(5)
    below = generator.choice(72, 30, p=bias.ravel() / bias.sum())
    above = generator.choice(72, 30, p=density.ravel() / density.sum())
    found = sauc(saliency, density, bias, n_samples=30, rng=5)
    assert found == sampled_auc(saliency, above, below)


@pytest.mark.parametrize("metric", AGAINST_DENSITY)
def test_damaged_arguments_are_named(metric):
    score, saliency = AGAINST_DENSITY[metric], np.array([[-0.1, 0.4, 0.4], [0.9, 0.2, 0.3]])
    density = np.ones((2, 3))
    kept = saliency.copy(), density.copy()
    score(saliency, density)
    np.testing.assert_array_equal((saliency, density), kept)
    with raises(ShapeError, option="density", value=(3, 2)):
        score(saliency, density.T)
    with raises(ValueRangeError, option="saliency", value=None):
        score(np.where(saliency == 0.9, np.nan, saliency), density)
    for value in (np.nan, -1):
        with raises(ValueRangeError, option="density", value=None):
            score(saliency, np.where(saliency == 0.9, value, density))
    with raises(ValueRangeError, option="density", value=None):
        score(saliency, 0 * density)


def test_a_damaged_centre_bias_and_options_out_of_range_are_named():
    saliency, density = np.array([[0.1, 0.4, 0.4]]), np.ones((1, 3))
    for metric in (sncc, sauc):
        with raises(ShapeError, option="center_bias", value=(3, 1)):
            metric(saliency, density, density.T)
        with raises(ValueRangeError, option="center_bias", value=None):
            metric(saliency, density, [[np.nan, 1, 1]])
    with raises(ValueRangeError, option="n_samples", value=0):
        auc(saliency, density, n_samples=0)
    with raises(ValueRangeError, option="epsilon", value=-1):
        kl(saliency, density, epsilon=-1)
    with raises(ValueRangeError, option="constant", value="zero", choices=("nan", "uniform")):
        sim(saliency, density, constant="zero")


@pytest.mark.parametrize("metric", [ncc, auc])
def test_one_map_is_compared_with_one_density(metric):
    saliency, densities = np.arange(6.0).reshape(2, 3), np.ones((3, 2, 3))
    with raises(ShapeError, option="density", value=(3, 2, 3)):
        metric(saliency, densities)
    with raises(ValueRangeError, option="density", value=None):
        metric(saliency, np.full((2, 3), 1e200))


def test_only_a_share_and_a_divergence_have_a_true_zero():
    # correlations fall below 0, and the areas are 0.5 by chance
    assert {metric for metric in AGAINST_DENSITY if METRICS[metric].true_zero} == {"sim", "kl"}


def test_ranges_are_those_of_the_definitions():
    # a difference of two correlations lies from -2 to 2
    ranges = {"ncc": (-1, 1), "sncc": (-2, 2), "auc": (0, 1), "sauc": (0, 1), "sim": (0, 1)}
    ranges |= {"kl": (0, np.inf), "emd": (0, np.inf)}
    assert {name: (METRICS[name].low, METRICS[name].high) for name in ranges} == ranges
    # the work of moving one density onto another: 0 if they are equal
    assert METRICS["emd"].direction == -1
    assert METRICS["emd"].true_zero


def test_the_registry_scores_a_map_against_each_of_several_densities():
    saliency, bias, *densities = np.random.default_rng(4).random((4, 5, 6))
    ranked, together = RankedMap(saliency), Densities(densities, (5, 6))
    bias_density = Densities(bias, (5, 6))
    for name, kernel in (("ncc", ncc), ("auc", auc)):
        expected = [kernel(saliency, density) for density in densities]
        assert METRICS[name].kernel(ranked, together) == pytest.approx(expected, rel=DOUBLE)
    for name, kernel in (("sncc", sncc), ("sauc", sauc)):
        expected = [kernel(saliency, density, bias) for density in densities]
        assert METRICS[name].kernel(ranked, together, bias_density) == pytest.approx(expected, rel=DOUBLE)


def test_the_registry_scores_a_map_between_the_pixels_drawn_for_each_density():
    ranked, densities = RankedMap([[1.0, 2.0], [3.0, 4.0]]), Densities(np.ones((2, 2, 2)), (2, 2))
    # pixels drawn as positives and as negatives: 4 of 4 pairs in order, and 1 of 2
    draws = [(np.array([2, 3]), np.array([0, 1])), (np.array([1]), np.array([0, 2]))]
    assert METRICS["auc"].kernel(ranked, densities, draws=draws).tolist() == [1, 0.5]
    assert METRICS["sauc"].kernel(ranked, densities, densities, draws=draws).tolist() == [1, 0.5]
