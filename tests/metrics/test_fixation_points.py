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
from salstats.metrics.fixation import auc
from salstats.metrics.fixation_points import auc_judd, auc_points, information_gain, nss, sauc_points
from salstats.metrics.ranks import RankedMap
from salstats.metrics.registry import METRICS

#: Sums over some 10000 pixels in another order.
DOUBLE = 1e-12
#: Logarithms of densities, which pysaliency takes by way of exponentials and back.
LOGARITHM = 1e-11

#: Every metric of a map and points, as a function of these two.
AT_POINTS = {
    "nss": nss,
    "auc_points": auc_points,
    "auc_judd": auc_judd,
    "sauc_points": lambda saliency, points, **_: sauc_points(saliency, points, [(0, 0), (0, 1), (1, 0)]),
    "information_gain": lambda saliency, points, **_: information_gain(saliency, points, None),
}


@pytest.fixture(scope="module")
def given_images(shared):
    return images(shared)


@pytest.fixture(scope="module")
def drawn(given_images):
    """The images whose map is not constant."""
    return [image for image in given_images if image.name not in CONSTANT]


@pytest.fixture(scope="module")
def per_image(shared):
    return expected(shared, "pysaliency_per_image.csv")


@pytest.fixture(scope="module")
def per_fixation(shared):
    return expected(shared, "pysaliency_per_fixation.csv")


@pytest.fixture(scope="module")
def mit(shared):
    return expected(shared, "mit_matlab_octave_per_image.csv")


def once_each(points):
    """The pixels in which points lie, each once."""
    return np.unique(np.floor(points).astype(int), axis=0)


# --- by hand


def test_scores_by_hand():
    saliency = np.array([[1, 2, 2], [4, 5, 4]])
    # one fixation on the 5, two on a 2: mean 3, variance (4 + 1 + 1 + 1 + 4 + 1) / 6
    points = [(1, 1), (0, 1), (0, 1)]
    assert nss(saliency, points) == pytest.approx((2 - 1 - 1) / 3 / np.sqrt(2), abs=DOUBLE)
    # each pixel once, and a variance of 12 / 5
    assert nss(saliency, points, form="binary") == pytest.approx((2 - 1) / 2 / np.sqrt(12 / 5), rel=DOUBLE)
    # the 5 beats five pixels and ties with one, a 2 beats one and ties with two
    assert auc_points(saliency, points) == pytest.approx((5.5 + 2 + 2) / 3 / 6, rel=DOUBLE)
    # unfixated are 1 2 4 4
    assert auc_points(saliency, points, negatives="unfixated") == pytest.approx(
        (4 + 1.5 + 1.5) / 3 / 4, rel=DOUBLE
    )
    # corners of the curve: (0, 0), (0, 1/3) at the 5, (3/4, 1) at the 2, (1, 1)
    assert auc_judd(saliency, points) == pytest.approx(3 / 4 * (1 / 3 + 1) / 2 + 1 / 4, rel=DOUBLE)
    # against a 4, a 2 and a 2
    assert sauc_points(saliency, points, [(1, 0), (0, 2), (0, 1)]) == pytest.approx(
        (3 + 1 + 1) / 3 / 3, rel=DOUBLE
    )
    # as a density 5/18 and 2/18, against 1/6 each; against 1/4 and 1/2
    bits = np.log2([5 / 18, 2 / 18, 2 / 18])
    assert information_gain(saliency, points, None) == pytest.approx(np.mean(bits - np.log2(1 / 6)))
    baseline = [[0, 2, 0], [1, 1, 0]]
    assert information_gain(saliency, points, baseline) == pytest.approx(
        np.mean(bits - np.log2([1 / 4, 1 / 2, 1 / 2]))
    )


def test_a_fraction_belongs_to_the_pixel_below_it():
    rng = np.random.default_rng(0)
    saliency, points = rng.random((4, 5)), np.array([[0, 0], [3, 4], [1, 2]])
    for name, score in AT_POINTS.items():
        assert score(saliency, points + 0.99) == score(saliency, points), name


# --- oracles


@pytest.mark.parametrize(
    ("column", "score"),
    [
        ("nss", lambda i: nss(i.saliency, i.points)),
        ("auc_uniform_all", lambda i: auc_points(i.saliency, i.points)),
        ("auc_unfixated_all", lambda i: auc_points(i.saliency, i.points, negatives="unfixated")),
        ("auc_judd_nojitter", lambda i: auc_judd(i.saliency, i.points)),
        ("sauc_shuffled_all", lambda i: sauc_points(i.saliency, i.points, i.others)),
    ],
)
def test_scores_of_pysaliency(drawn, per_image, column, score):
    assert len(drawn) == 8
    for image in drawn:
        found = score(image)
        assert isinstance(found, float)
        assert found == pytest.approx(per_image.loc[image.number, column], rel=0, abs=DOUBLE), image.name


@pytest.mark.parametrize("minimum", ["0", "1e-20", "0.001"])
def test_information_gains_of_pysaliency(drawn, per_image, minimum):
    infinite = set()
    for image in drawn:
        row = per_image.loc[image.number]
        for baseline, against in ((image.baseline, "centerbias"), (None, "uniform")):
            found = information_gain(image.saliency, image.points, baseline, minimum=float(minimum))
            known = row[f"ig_bits_vs_{against}_min{minimum}"]
            assert found == pytest.approx(known, rel=LOGARITHM), (image.name, against)
            infinite |= {image.name} if np.isinf(known) else set()
    # maps that are 0 at a fixation ruled it out, unless a minimum is added
    assert infinite == ({"five_levels_ties", "one_hot_pixel", "uint8_smooth"} if minimum == "0" else set())


def test_scores_of_each_fixation_are_those_of_pysaliency(drawn, per_fixation):
    columns = {
        "auc_uniform": lambda i, point: auc_points(i.saliency, point),
        "auc_shuffled": lambda i, point: sauc_points(i.saliency, point, i.others),
        "nss": lambda i, point: nss(i.saliency, point),
        "ig_bits_vs_centerbias_min0.001": lambda i, point: information_gain(
            i.saliency, point, i.baseline, minimum=0.001
        ),
    }
    for image in drawn:
        rows = per_fixation.loc[[image.number]]
        np.testing.assert_array_equal(rows[["y", "x"]], image.points)
        for column, score in columns.items():
            found = [score(image, point[None]) for point in image.points]
            np.testing.assert_allclose(found, rows[column], rtol=LOGARITHM, atol=LOGARITHM)


def test_jittered_areas_of_pysaliency_from_its_noise(given_images, per_image):
    random = np.random.RandomState(42)
    for image in given_images:
        jitter = 1e-7 * random.randn(*image.saliency.shape)
        found = auc_judd(image.saliency, image.points, jitter=jitter)
        known = per_image.loc[image.number, "auc_judd_jitter_seed42"]
        if image.name in CONSTANT:
            # what jitter makes of a constant map is the jitter's score
            assert np.isfinite(known)
            assert np.isnan(found)
        else:
            assert found == pytest.approx(known, rel=0, abs=DOUBLE), image.name


def test_nss_of_the_mit_benchmark(drawn, mit):
    for image in drawn:
        found = nss(image.saliency, image.points, form="binary")
        assert found == pytest.approx(mit.loc[image.number, "nss"], rel=0, abs=DOUBLE), image.name


def test_auc_judd_of_the_mit_benchmark_where_no_two_fixations_tie(drawn, mit):
    tied = set()
    for image in drawn:
        points = once_each(image.points)
        n_levels = len(np.unique(image.saliency[tuple(points.T)]))
        found, known = auc_judd(image.saliency, points), mit.loc[image.number, "auc_judd_nojitter"]
        if n_levels == len(points):
            assert found == pytest.approx(known, rel=0, abs=DOUBLE), image.name
        else:
            # there the order in which its fixations come makes the curve
            tied.add(image.name)
            assert abs(found - known) > 0.01
    assert tied == {"five_levels_ties", "one_hot_pixel", "uint8_smooth"}


def test_constant_maps_have_no_score_here_and_that_of_chance_in_pysaliency(given_images, per_image):
    constant = [image for image in given_images if image.name in CONSTANT]
    assert len(constant) == 2
    for image in constant:
        row = per_image.loc[image.number]
        assert row["nss"] == 0
        assert (row[["auc_uniform_all", "auc_judd_nojitter", "sauc_shuffled_all"]] == 0.5).all()
        for score in AT_POINTS.values():
            assert np.isnan(score(image.saliency, image.points))
        for baseline, against in ((image.baseline, "centerbias"), (None, "uniform")):
            found = information_gain(image.saliency, image.points, baseline, constant="uniform")
            assert found == pytest.approx(row[f"ig_bits_vs_{against}_min0"], rel=LOGARITHM, abs=LOGARITHM)


def test_edge_cases_of_pysaliency(shared):
    edge = pd.read_csv(shared / "oracles/fixation/expected/pysaliency_edge_cases.csv", index_col=0)["0"]
    ramp = np.arange(20.0).reshape(4, 5)
    assert nss(ramp, [(3, 4)]) == pytest.approx(edge["NSS_ramp_corner"], rel=DOUBLE)
    assert edge["NSS_const"] == 0
    assert np.isnan(nss(0 * ramp, [(3, 4)]))


# --- empty and constant


@pytest.mark.parametrize("name", AT_POINTS)
def test_no_fixation_has_no_score(name):
    saliency = np.array([[0.1, 0.4], [0.4, 0.9]])
    for none in ([], np.empty((0, 2))):
        assert np.isnan(AT_POINTS[name](saliency, none))
    assert np.isnan(sauc_points(saliency, [(0, 0)], []))


@pytest.mark.parametrize("name", AT_POINTS)
@pytest.mark.parametrize("value", [0.0, 0.5, -2e9])
def test_a_constant_map_has_no_score(name, value):
    assert np.isnan(AT_POINTS[name](np.full((2, 3), value), [(0, 0), (1, 2)]))


def test_no_pixel_left_unfixated_has_no_area():
    saliency, everywhere = np.array([[0.1, 0.4], [0.4, 0.9]]), [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert np.isnan(auc_judd(saliency, everywhere))
    assert np.isnan(auc_points(saliency, everywhere, negatives="unfixated"))
    assert auc_points(saliency, everywhere) == 0.5


def test_what_map_and_baseline_rule_out():
    saliency, baseline = [[0, 1], [1, 0]], [[1, 1], [0, 0]]
    assert information_gain(saliency, [(0, 0)], baseline) == -np.inf
    assert information_gain(saliency, [(1, 0)], baseline) == np.inf
    # nothing can be said of what both rule out, nor of a loss and a gain without end
    assert np.isnan(information_gain(saliency, [(1, 1)], baseline))
    assert np.isnan(information_gain(saliency, [(0, 0), (1, 0)], baseline))
    assert np.isfinite(information_gain(saliency, [(0, 0)], baseline, minimum=1e-20))


# --- properties

MAP = arrays(np.float64, (4, 5), elements=st.integers(-8, 8).map(float)).filter(lambda a: np.ptp(a) > 0)
POINTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12)
quick = settings(deadline=None, max_examples=60)


@quick
@given(MAP, POINTS)
def test_the_area_at_points_is_that_of_their_density(saliency, points):
    density = np.zeros(saliency.shape)
    np.add.at(density, tuple(np.transpose(points)), 1)
    assert auc_points(saliency, points) == pytest.approx(auc(saliency, density), abs=DOUBLE)


@quick
@given(MAP.map(np.sign).filter(lambda a: np.ptp(a) > 0), POINTS)
def test_auc_judd_is_the_whole_area_where_every_level_of_the_map_was_fixated(saliency, points):
    levels = saliency[tuple(np.transpose(points))]
    if np.isin(saliency, levels).all():
        exact = auc_points(saliency, points, negatives="unfixated")
        assert auc_judd(saliency, points) == pytest.approx(exact, abs=DOUBLE, nan_ok=True)


@pytest.mark.parametrize("name", ["nss", "auc_judd", "information_gain"])
def test_the_registry_says_in_which_direction_it_is_better(name):
    saliency = np.arange(1.0, 21).reshape(4, 5)
    good, bad = AT_POINTS[name](saliency, [(3, 4), (3, 2)]), AT_POINTS[name](saliency, [(0, 0), (0, 3)])
    assert (good > bad) == METRICS[name].larger_is_better
    assert "points" in METRICS[name].needs


@pytest.mark.parametrize("name", AT_POINTS)
def test_areas_lie_from_0_to_1_and_the_others_have_no_bounds_and_chance_is_no_true_zero(name):
    metric = METRICS[name]
    bounds = (0, 1)
    if name in ("nss", "information_gain"):
        bounds = (-np.inf, np.inf)
    assert (metric.low, metric.high) == bounds
    assert not metric.true_zero


def test_registered_kernels_take_a_sorted_map_and_a_floor_by_hand():
    # the 3 beats two of three pixels and ties with itself, the 1 ties with itself
    ranked = RankedMap([[1.0, 2.0, 3.0]])
    assert METRICS["auc_points"].kernel(ranked, np.array([[0, 2], [0, 0]])) == pytest.approx(
        (2.5 + 0.5) / 2 / 3
    )
    gain, bias = METRICS["information_gain"].kernel, Densities(np.ones((1, 2)), (1, 2))
    # half of the range is added to each pixel: of 0 to 3, and of -1 to 3 to the map raised to 0
    assert gain(np.array([[1.0, 3.0]]), [(0, 0)], bias, floor=0.5) == pytest.approx(np.log2(2.5 / 7 / 0.5))
    assert gain(np.array([[-1.0, 3.0]]), [(0, 0)], bias, floor=0.5) == pytest.approx(np.log2(2 / 8 / 0.5))
    assert gain(np.array([[1.0, 3.0]]), [(0, 0)], bias) == pytest.approx(np.log2(1 / 4 / 0.5))


# --- bad arguments


@pytest.mark.parametrize("name", AT_POINTS)
def test_damaged_arguments_are_named(name):
    score, saliency = AT_POINTS[name], np.array([[-0.1, 0.4, 0.4], [0.9, 0.2, 0.3]])
    kept, points = saliency.copy(), np.array([(0.0, 1.5)])
    score(saliency, points)
    np.testing.assert_array_equal(saliency, kept)
    with raises(ValueRangeError, option="saliency", value=None):
        score(np.where(saliency == 0.9, np.inf, saliency), points)
    with raises(ShapeError, option="points", value=(2,)):
        score(saliency, (0, 0))
    with raises(ValueRangeError, option="points", value=None):
        score(saliency, [(0, np.nan)])
    for outside in [(2, 0), (0, 3), (0, -0.01)]:
        with raises(ValueRangeError, option="points", value=outside, rows=(1, 2)):
            score(saliency, [(1, 1), outside, (7, 7)])


def test_other_arguments_are_named():
    saliency, points = np.array([[0.1, 0.4, 0.4], [0.9, 0.2, 0.3]]), [(0, 0)]
    with raises(ValueRangeError, option="form", value="mit", choices=("points", "binary")):
        nss(saliency, points, form="mit")
    with raises(ValueRangeError, option="negatives", value="none", choices=("all", "unfixated")):
        auc_points(saliency, points, negatives="none")
    with raises(ShapeError, option="jitter", value=(3, 2)):
        auc_judd(saliency, points, jitter=np.zeros((3, 2)))
    with raises(ValueRangeError, option="others", value=(5, 5), rows=(1,)):
        sauc_points(saliency, points, [(0, 0), (5, 5)])
    with raises(ValueRangeError, option="baseline", value=None):
        information_gain(saliency, points, -np.ones((2, 3)))
