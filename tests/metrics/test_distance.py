from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from mask_pairs import mask_pairs
from scipy.spatial.distance import cdist
from tests_support import raises

import salstats as ss
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.boundaries import boundary
from salstats.images.masks import encode
from salstats.metrics.distance import assd, hausdorff, hd95, nsd, surface_distances
from salstats.metrics.registry import METRICS

KERNELS = {"hausdorff": hausdorff, "hd95": hd95, "assd": assd}
#: Oracles in double precision: roots of whole numbers, and means and interpolations of them.
DOUBLE = 1e-12
#: MONAI returns float32, and sums in it.
SINGLE = 1e-6
EMPTY = ["12_both_empty", "13_truth_empty", "14_pred_empty"]
#: What each of our numbers must be: metric, options, the oracle's columns and their tolerance.
ORACLES = [
    ("hausdorff", {}, ["hd__medpy_conn1", "hd__skimage_border4"], DOUBLE),
    ("hausdorff", {}, ["hd__monai_border4"], SINGLE),
    ("hausdorff", {"points": "boundary8"}, ["hd__medpy_conn2", "hd__skimage_border8"], DOUBLE),
    ("hausdorff", {"points": "foreground"}, ["hd__scipy_fg", "hd__skimage_fg", "hd__sitk_fg"], DOUBLE),
    ("hd95", {}, ["hd95__monai_max_directed"], SINGLE),
    ("hd95", {"rule": "pooled"}, ["hd95__medpy_conn1_pooled"], DOUBLE),
    ("hd95", {"rule": "pooled", "points": "boundary8"}, ["hd95__medpy_conn2_pooled"], DOUBLE),
    ("assd", {}, ["assd__medpy_conn1_pooled"], DOUBLE),
    ("assd", {}, ["assd__monai_pooled"], SINGLE),
    ("assd", {"points": "boundary8"}, ["assd__medpy_conn2_pooled"], DOUBLE),
]


@pytest.fixture(scope="module")
def expected(libraries):
    """The libraries' answers to the pairs in which both masks mark something, as numbers."""
    return libraries.drop(index=EMPTY).apply(pd.to_numeric)


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    """OpenCV takes another library's transform on one thread than on several."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(request.param)
    yield request.param
    cv2.setNumThreads(before)


def by_all_pairs(mask, truth, spacing=(1, 1), points="boundary"):
    """The two lists of distances from every point to every other."""
    keep = {
        "boundary": lambda m: boundary(m),
        "boundary8": lambda m: boundary(m, neighbours=8),
        "foreground": lambda m: m,
    }[points]
    ours, theirs = (np.argwhere(keep(m)) * np.asarray(spacing, float) for m in (mask, truth))
    every = cdist(ours, theirs)
    return every.min(axis=1), every.min(axis=0)


# by hand


def drawn(*rows):
    """A mask from text: # is marked."""
    return np.array([[c == "#" for c in row] for row in rows])


# a bar of three rows and a bar one column to the right with a speck below
MASK = drawn(".#....", ".#....", ".#....", "......", "......")
TRUTH = drawn("..#...", "..#...", "..#...", "......", ".....#")


def test_distances_by_hand():
    found = surface_distances(MASK, TRUTH)
    # the speck at (4, 5) is nearest to (2, 1): two down, four across
    np.testing.assert_allclose(found.to_truth, [1, 1, 1], rtol=DOUBLE)
    np.testing.assert_allclose(found.to_mask, [1, 1, 1, np.sqrt(20)], rtol=DOUBLE)
    assert hausdorff(MASK, TRUTH) == pytest.approx(np.sqrt(20), rel=DOUBLE)
    assert assd(MASK, TRUTH) == pytest.approx((6 + np.sqrt(20)) / 7, rel=DOUBLE)
    # rank 0.95 * 3 = 2.85 of the four, counted from 0; and 0.95 * 6 = 5.7 of the seven
    assert hd95(MASK, TRUTH) == pytest.approx(1 + 0.85 * (np.sqrt(20) - 1), rel=DOUBLE)
    assert hd95(MASK, TRUTH, rule="pooled") == pytest.approx(1 + 0.7 * (np.sqrt(20) - 1), rel=DOUBLE)


def test_millimetres_by_hand():
    # rows 2 mm apart, columns 0.5 mm: the speck is 4 mm down and 2 mm across
    found = surface_distances(MASK, TRUTH, spacing=(2, 0.5))
    np.testing.assert_allclose(found.to_mask, [0.5, 0.5, 0.5, np.sqrt(20)], rtol=DOUBLE)
    # rows 0.5 mm, columns 2 mm: (2, 1) is 1 mm down and 8 mm across, and no other is nearer
    found = surface_distances(MASK, TRUTH, spacing=(0.5, 2))
    np.testing.assert_allclose(found.to_mask, [2, 2, 2, np.sqrt(65)], rtol=DOUBLE)
    for kernel in KERNELS.values():
        assert kernel(MASK, TRUTH, spacing=0.143) == pytest.approx(0.143 * kernel(MASK, TRUTH), rel=DOUBLE)


def test_the_points_compared_by_hand():
    # a square of 7 x 7, and the same with a hole of one pixel in the middle: 24 pixels are at the rim, and
    # 4 or 8 of the others border on the hole
    full = np.ones((7, 7), bool)
    holed = full.copy()
    holed[3, 3] = False
    for points, n_points in {"boundary": 28, "boundary8": 32, "foreground": 48}.items():
        assert surface_distances(holed, full, points=points).to_truth.size == n_points
    # the hole's border is 2 pixels from the rim, its corners too; the middle is 1 pixel from its border
    assert hausdorff(holed, full) == hausdorff(holed, full, points="boundary8") == 2
    assert hausdorff(holed, full, points="foreground") == 1
    assert assd(holed, full) == 4 * 2 / (28 + 24)
    assert assd(holed, full, points="boundary8") == 8 * 2 / (32 + 24)
    assert assd(holed, full, points="foreground") == 1 / (48 + 49)


# the oracle


@pytest.mark.parametrize(("metric", "options", "columns", "tolerance"), ORACLES)
def test_distances_of_the_oracle(pairs, expected, metric, options, columns, tolerance):
    assert len(expected) == 28
    for name, row in expected.iterrows():
        found = KERNELS[metric](*pairs[name], **options)
        assert isinstance(found, float)
        for column in columns:
            assert found == pytest.approx(row[column], rel=tolerance, abs=0), (name, column)


@pytest.mark.parametrize(("points", "column"), [("foreground", "scipy_fg"), ("boundary", "scipy_border4")])
def test_directed_distances_of_the_oracle(pairs, expected, points, column):
    for name, row in expected.iterrows():
        found = surface_distances(*pairs[name], points=points)
        assert found.to_truth.max() == pytest.approx(row[f"hd_pred_to_truth__{column}"], rel=DOUBLE), name
        assert found.to_mask.max() == pytest.approx(row[f"hd_truth_to_pred__{column}"], rel=DOUBLE), name
        if points == "boundary":
            means = row[["asd_pred_to_truth__medpy_conn1", "asd_truth_to_pred__medpy_conn1"]]
            np.testing.assert_allclose([found.to_truth.mean(), found.to_mask.mean()], means, rtol=DOUBLE)


@pytest.mark.parametrize(
    ("metric", "ours", "theirs"),
    [
        ("hd95", {"rule": "directed"}, "hd95__medpy_conn1_pooled"),
        ("hd95", {"points": "boundary8", "rule": "pooled"}, "hd95__medpy_conn1_pooled"),
        ("hausdorff", {"points": "foreground"}, "hd__medpy_conn1"),
        ("hausdorff", {}, "hd__medpy_conn2"),
    ],
)
def test_the_oracle_tells_the_options_apart(pairs, expected, metric, ours, theirs):
    found = {name: KERNELS[metric](*pairs[name], **ours) for name in expected.index}
    assert any(abs(found[name] - expected.loc[name, theirs]) > 0.3 for name in expected.index)


# exact at every size


def assert_all_pairs(mask, truth, **options):
    """Both lists of distances, to the last bit."""
    found = surface_distances(mask, truth, **options)
    plain = by_all_pairs(mask, truth, **options)
    np.testing.assert_array_equal(found.to_truth, plain[0])
    np.testing.assert_array_equal(found.to_mask, plain[1])
    return found


@pytest.mark.parametrize("shape", [(1300, 1900), (60, 4000), (3900, 60), (2890, 2890)])
@pytest.mark.parametrize("density", [0.0002, 0.02], ids=["few points", "many points"])
def test_large_boxes_are_exact(threads, shape, density):
    # few points are searched for, of many a transform is taken: it rounds squares below 512 pixels
    rng = np.random.default_rng(1)
    mask, truth = np.zeros((2, *shape), bool)
    mask[:] = rng.random(shape) < density
    truth[rng.integers(0, shape[0], 4), rng.integers(0, shape[1], 4)] = True
    mask[0, 0] = truth[-1, -1] = True
    found = assert_all_pairs(mask, truth, points="foreground")
    assert found.to_truth.max() > 512


def test_far_masks_are_exact(threads):
    # all distances from a block of pixels to one; on one thread the root of 885**2 + 1 is rounded wrong
    mask, truth = np.zeros((2, 60, 2400), bool)
    truth[0, 0] = mask[:, 450:] = True
    found = surface_distances(mask, truth, points="foreground").to_truth
    rows, cols = np.nonzero(mask)
    squares = rows**2 + cols**2
    assert squares.min() < 512**2 < 885**2 + 1 < 2048**2 < squares.max()
    np.testing.assert_array_equal(found, np.sqrt(squares))


@pytest.mark.parametrize(("seed", "n_points", "first"), [(1, 12, 27_000), (2, 5, 25_000)])
def test_boxes_too_large_for_single_precision_are_exact(seed, n_points, first):
    # squares of such columns have more digits than single precision holds; in each case the transform of
    # single precision is wrong at one pixel nearer than 512
    rng = np.random.default_rng(seed)
    mask, truth = np.zeros((2, 40, 30_000), bool)
    mask[0, 0] = mask[:, first:] = True
    truth[rng.integers(0, 40, n_points), rng.integers(first, 30_000, n_points)] = True
    assert_all_pairs(mask, truth, points="foreground")


@pytest.mark.parametrize("spacing", [(0.7, 0.13), (1, 3)])
@pytest.mark.parametrize("points", ["boundary", "boundary8", "foreground"])
def test_unequal_spacing_is_that_of_all_pairs(spacing, points):
    rng = np.random.default_rng(2)
    for density in (0.002, 0.02, 0.3, 0.9):
        mask, truth = rng.random((2, 60, 85)) < density
        found = surface_distances(mask, truth, spacing=spacing, points=points)
        plain = by_all_pairs(mask, truth, spacing, points)
        np.testing.assert_allclose(found.to_truth, plain[0], rtol=DOUBLE)
        np.testing.assert_allclose(found.to_mask, plain[1], rtol=DOUBLE)


@pytest.mark.parametrize("points", ["boundary", "boundary8", "foreground"])
def test_background_around_changes_nothing(points):
    # the image's edge makes a boundary, wherever the box that is computed on lies
    rng = np.random.default_rng(3)
    mask, truth = rng.random((2, 12, 15)) < 0.6
    alone = surface_distances(mask, truth, points=points)
    within = surface_distances(np.pad(mask, 9), np.pad(truth, 9), points=points)
    np.testing.assert_array_equal(alone.to_truth, within.to_truth)
    np.testing.assert_array_equal(alone.to_mask, within.to_mask)
    assert within.diagonal > alone.diagonal


# empty and full masks, direction


@pytest.mark.parametrize("metric", KERNELS)
def test_what_empty_masks_give(metric):
    # the table in the module's docstring, on an image of 3 x 4: its diagonal is 5
    kernel = KERNELS[metric]
    none, some = np.zeros((3, 4), bool), np.eye(3, 4, dtype=bool)
    # libraries give infinity, an error, 0 or NaN
    for pair in [(none, none), (none, some), (some, none)]:
        assert np.isnan(kernel(*pair))
    assert np.isnan(kernel(none, none, undefined="worst"))
    for pair in [(none, some), (some, none), (encode(none), encode(some))]:
        assert kernel(*pair, undefined="worst") == 5
        assert kernel(*pair, undefined="worst", spacing=2) == 10
        assert kernel(*pair, undefined="worst", spacing=(4, 1.25)) == 13
    assert kernel(some, some, undefined="worst") == 0


@pytest.mark.parametrize("metric", KERNELS)
def test_mask_and_truth_may_be_exchanged_and_a_mask_agrees_with_itself(metric):
    for name, (truth, mask) in mask_pairs().items():
        found = KERNELS[metric](mask, truth), KERNELS[metric](truth, mask)
        assert found[0] == pytest.approx(found[1], rel=DOUBLE, nan_ok=True), name
        np.testing.assert_array_equal(KERNELS[metric](encode(mask), encode(truth)), found[0], name)
        if mask.any():
            assert KERNELS[metric](mask, mask) == 0


def test_a_distance_has_no_largest_value_and_a_share_of_the_outlines_is_at_most_1():
    for name in (*KERNELS, "nsd"):
        metric = METRICS[name]
        assert (metric.low, metric.true_zero, metric.is_length) == (0, True, name != "nsd")
        assert metric.high == (1 if name == "nsd" else np.inf)
    assert METRICS["nsd"].larger_is_better


@pytest.mark.parametrize("metric", KERNELS)
def test_distances_grow_as_a_mask_moves_away(metric):
    truth = np.zeros((20, 60), bool)
    truth[5:12, 3:10] = True
    moved = [KERNELS[metric](np.roll(truth, step, axis=1), truth) for step in range(0, 45, 3)]
    assert np.all(np.diff(moved) > 0)
    assert not METRICS[metric].larger_is_better
    assert moved[0] == METRICS[metric].low


def test_damaged_arguments_are_named():
    mask = np.ones((2, 3), bool)
    with raises(ShapeError, option="truth", value=(3, 2)):
        hausdorff(encode(mask), mask.T)
    with raises(ValueRangeError, option="points", value="edge"):
        hausdorff(mask, mask, points="edge")
    for spacing in (0, -1, np.nan, (1, 0), "1"):
        with raises(ValueRangeError, option="spacing", value=spacing):
            hausdorff(mask, mask, spacing=spacing)
    with raises(ShapeError, option="spacing", value=(1, 1, 1)):
        hausdorff(mask, mask, spacing=(1, 1, 1))
    for kernel in (*KERNELS.values(), nsd):
        with raises(ValueRangeError, option="undefined", value="inf"):
            kernel(mask, mask, undefined="inf")
    with raises(ValueRangeError, option="rule", value="pool"):
        hd95(0 * mask, mask, rule="pool")
    with raises(ValueRangeError, option="tolerance", value=-1):
        nsd(mask, mask, tolerance=-1)


class TestNsd:
    def test_it_is_monais(self):
        folder = Path(__file__).parents[1] / "reference" / "monai"
        masks, expected = np.load(folder / "inputs.npz"), pd.read_csv(folder / "surface_dice.csv")
        for row in expected.itertuples():
            mask, truth = (masks[f"{row.pair}__{what}"] for what in ("mask", "truth"))
            found = nsd(mask, truth, tolerance=row.tolerance, spacing=(row.row_mm, row.col_mm))
            # MONAI counts in single precision
            assert found == pytest.approx(row.surface_dice, rel=1e-6), row
        assert expected["surface_dice"].between(0.01, 0.99).sum() > 50

    def test_it_is_its_definition(self):
        # outlines: 12 of a square of 4 x 4, moved by one column
        truth = np.zeros((8, 8), bool)
        truth[2:6, 2:6] = True
        mask = np.roll(truth, 1, axis=1)
        to_truth, to_mask = by_all_pairs(mask, truth)
        for tolerance in (0, 0.5, 1, 2):
            near = (to_truth <= tolerance).sum() + (to_mask <= tolerance).sum()
            assert nsd(mask, truth, tolerance=tolerance) == near / 24
        assert nsd(mask, truth, tolerance=1) == 1 > nsd(mask, truth, tolerance=0.5) == 12 / 24

    def test_nothing_marked_is_undefined_or_0(self):
        none, some = np.zeros((3, 4), bool), np.eye(3, 4, dtype=bool)
        assert all(np.isnan(nsd(*two)) for two in ((none, none), (none, some), (some, none)))
        assert nsd(none, some, undefined="worst") == nsd(some, none, undefined="worst") == 0
        assert np.isnan(nsd(none, none, undefined="worst"))

    def test_a_study_is_scored_at_a_tolerance_and_says_so(self):
        truth = np.zeros((30, 30), bool)
        truth[5:20, 5:20] = True
        drawn = np.roll(truth, 4, axis=0) * 0.9
        study = ss.study_from_arrays({("a", "t"): truth}, {("a", "t", "cam"): drawn})
        wide, plain = (ss.score(study, metrics="nsd", options=o) for o in ({"nsd": {"tolerance": 5}}, None))
        assert wide["score"][0] == 1 > plain["score"][0] == nsd(drawn > 0, truth)
        assert wide["distance_options"][0] == "between boundary pixels (4 neighbours), tolerance 5"
        assert "distance_unit" not in wide.columns
        several = pd.concat([plain.assign(case=f"c{i}", score=i / 9) for i in range(6)])
        table = ss.table_estimates(ss.summarize(several, by=["metric"], interval="t"))
        assert "normalized surface distance" in table.as_raw_html()
