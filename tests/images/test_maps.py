import json
import tracemalloc

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.maps import SaliencyOnImage, is_finite
from salstats.images.masks import Rle, decode, encode

#: The scripts' float32 sums are fused on the oracle's processor; elsewhere 7 of 2000 masks at Otsu's level
#: and 8 to 11 at a fixed threshold differ, by the pixel or two that lie within rounding of the edge.
MASKS_THAT_DIFFER, PIXELS_THAT_DIFFER = 12, 2
#: Of the 20 maps at up to 6.6 million pixels: 2 at Otsu's level, 4 where the detour by colours, which falls
#: and rises with the map, gives a mask more than one edge.
SAMPLE_MASKS_THAT_DIFFER, SAMPLE_MASKS_THAT_DIFFER_UNSMOOTHED = 3, 6


def differing(maps, name, masks):
    """In how many masks, and in how many pixels of one at most, we differ from the scripts' masks."""
    expected = maps.segmentations(name)
    pixels = [
        np.count_nonzero(mask != decode(Rle.from_coco(expected[case][task]))) for case, task, mask in masks
    ]
    return np.count_nonzero(pixels), max(pixels)


#: All maps of the made-up study take a while; of these every seventh is looked at each time.
ALL_MAPS = pytest.param("study_maps", marks=pytest.mark.slow)


@pytest.mark.parametrize("part", [ALL_MAPS, "some_study_maps", "sample_maps"])
@pytest.mark.parametrize(("name", "tuned"), [("seg_otsu", False), ("seg_threshold", True)])
def test_masks_are_the_scripts_but_for_single_pixels(part, name, tuned, request):
    allowed = SAMPLE_MASKS_THAT_DIFFER if part == "sample_maps" else MASKS_THAT_DIFFER
    maps = request.getfixturevalue(part)
    masks = (
        (case, task, SaliencyOnImage(saliency, shape).mask(maps.thresholds[task] if tuned else "otsu"))
        for case, task, saliency, shape, _ in maps
    )
    n_masks, n_pixels = differing(maps, name, masks)
    assert n_masks <= allowed
    assert n_pixels <= PIXELS_THAT_DIFFER


@pytest.mark.parametrize(
    ("part", "name", "smooth", "allowed"),
    [
        pytest.param("study_maps", "seg_smooth15", 15, MASKS_THAT_DIFFER, marks=pytest.mark.slow),
        ("some_study_maps", "seg_smooth15", 15, MASKS_THAT_DIFFER),
        ("sample_maps", "seg_smooth50", 50, SAMPLE_MASKS_THAT_DIFFER),
        ("sample_maps", "seg_smooth1", 1, SAMPLE_MASKS_THAT_DIFFER_UNSMOOTHED),
    ],
)
def test_colormap_smooths_as_the_scripts_do_but_leaves_constant_maps_empty(
    part, name, smooth, allowed, request
):
    maps = request.getfixturevalue(part)
    laid = [
        (case, task, SaliencyOnImage(saliency, shape, smooth=smooth, colormap="jet"))
        for case, task, saliency, shape, _ in maps
    ]
    constant = [one for _, _, one in laid if one.is_constant]
    assert not any(one.mask().any() for one in constant)
    n_masks, n_pixels = differing(
        maps, name, ((case, task, one.mask()) for case, task, one in laid if not one.is_constant)
    )
    assert n_masks <= allowed
    assert n_pixels <= PIXELS_THAT_DIFFER


@pytest.mark.parametrize("part", [ALL_MAPS, "some_study_maps", "sample_maps"])
def test_peak_is_the_scripts_first_maximum_and_missing_only_where_the_map_is_constant(part, request):
    n_constant, maps = 0, request.getfixturevalue(part)
    for _, _, saliency, shape, row in maps:
        peak = SaliencyOnImage(saliency, shape).peak
        if row["map_min"] == row["map_max"]:
            n_constant += 1
            assert peak is None
        else:
            assert peak == (row["argmax_row"], row["argmax_col"])
    assert n_constant == 39 if part == "study_maps" else (n_constant > 0) == (part == "some_study_maps")


@pytest.mark.parametrize("part", [ALL_MAPS, "some_study_maps", "sample_maps"])
def test_counts_are_the_scripts_but_for_single_pixels(part, request):
    maps = request.getfixturevalue(part)
    expected = maps.segmentations("gt_seg" if part == "sample_maps" else "gt_segmentations")
    n_different = n_seen = 0
    for case, task, saliency, shape, row in maps:
        if case not in expected:
            continue
        tp, fp, fn, tn = SaliencyOnImage(saliency, shape).tp_fp_fn_tn(Rle.from_coco(expected[case][task]))
        assert tp + fp + fn + tn == shape[0] * shape[1]
        assert tp + fn == row["gt_px"]
        off = abs(tp - row["inter_px"]), abs(tp + fp - row["seg_px"])
        assert max(off) <= PIXELS_THAT_DIFFER
        n_different += max(off) > 0
        n_seen += 1
    assert n_seen == {"study_maps": 1650, "some_study_maps": 240, "sample_maps": 20}[part]
    assert n_different <= (SAMPLE_MASKS_THAT_DIFFER if part == "sample_maps" else MASKS_THAT_DIFFER)


@pytest.fixture(scope="module")
def edge_cases(shared):
    text = (shared / "oracles/chexlocalize/edge_cases.json").read_text()
    cases = json.loads(text)["cam_to_segmentation"]
    return {
        name: {k: np.array(v, float) for k, v in case.items() if k != "smooth_k0"}
        for name, case in cases.items()
    }


@pytest.mark.parametrize("threshold", ["otsu", 0.4, 0.5])
def test_edge_cases_are_the_scripts(edge_cases, threshold):
    finite = {name: case for name, case in edge_cases.items() if is_finite(case["input"])}
    assert set(edge_cases) - set(finite) == {"one_nan"}
    for name, case in finite.items():
        mask = SaliencyOnImage(case["input"].astype(np.float32), (12, 14)).mask(threshold)
        key = threshold if threshold == "otsu" else f"thr{threshold}"
        assert np.array_equal(mask, case[key] > 0), name


@pytest.mark.parametrize("smooth", [1, 3])
def test_edge_cases_smoothed_are_the_scripts_unless_constant(edge_cases, smooth):
    for name, case in edge_cases.items():
        if name == "one_nan":
            continue
        laid = SaliencyOnImage(case["input"].astype(np.float32), (12, 14), smooth=smooth, colormap="jet")
        expected = case[f"smooth_k{smooth}"] > 0
        assert np.array_equal(laid.mask(), expected & (not laid.is_constant)), name
        # the scripts mark all of a constant map
        assert expected.all() or not laid.is_constant


def test_smoothing_comes_before_the_threshold_and_the_map_is_not_stretched_again():
    spot = np.zeros((5, 7))
    spot[2, 3] = 9
    laid = SaliencyOnImage(spot, (5, 7), smooth=3)
    box = np.zeros((5, 7), bool)
    box[1:4, 2:5] = True
    assert np.array_equal(laid.mask(0.11), box)  # each of the nine is 1/9
    assert not laid.mask(0.12).any()
    assert np.array_equal(laid.mask("otsu"), box)


def test_the_peak_is_taken_before_smoothing():
    saliency = np.zeros((3, 9))
    saliency[1, 1] = 1.0
    saliency[:, 5:8] = 0.9
    laid = SaliencyOnImage(saliency, saliency.shape, smooth=3)
    assert laid.peak == (1, 1)
    assert not laid.mask(0.5)[1, 1]
    assert laid.mask(0.5)[1, 6]


def test_nothing_exceeds_1_where_rounding_takes_the_second_of_two_peaks_above_the_first():
    whole = encode(np.ones((1, 44), bool))
    for share in np.linspace(0.05, 0.95, 50):
        laid = SaliencyOnImage(np.array([[share, 1.0, share]]), (1, 44))
        assert len(laid.peaks) == 2
        assert not laid.mask(1).any()
        assert laid.tp_fp_fn_tn_by_threshold(whole, [1]).tolist() == [[0, 0, 44, 0]]


def test_a_fixed_threshold_is_strict_and_neither_fills_nor_drops():
    ring = np.array([[1, 1, 1, 0, 0], [1, 0.5, 1, 0, 1], [1, 1, 1, 0, 0]])
    assert np.array_equal(SaliencyOnImage(ring, ring.shape).mask(0.5), ring == 1)
    whole, middle = np.ones((3, 5), bool), np.zeros((3, 5), bool)
    middle[1, 1] = True
    laid = SaliencyOnImage(ring, ring.shape)
    # ten pixels lie above 0, nine of them above one half, none above 1
    expected = [[10, 0, 5, 0], [9, 0, 6, 0], [0, 0, 15, 0]]
    assert laid.tp_fp_fn_tn_by_threshold(encode(whole), [0, 0.5, 1]).tolist() == expected
    expected = [[1, 9, 0, 5], [0, 9, 1, 5], [0, 0, 1, 14]]
    assert laid.tp_fp_fn_tn_by_threshold(encode(middle), [0, 0.5, 1]).tolist() == expected
    filled = [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]]
    assert np.array_equal(SaliencyOnImage(ring, ring.shape).mask("otsu"), np.array(filled, bool))


@pytest.mark.parametrize(
    "saliency", [np.zeros((4, 4)), np.full((4, 4), -3.5), np.array([[2]]), np.full((3, 2), 0.1)]
)
@pytest.mark.parametrize("smooth", [None, 3])
def test_a_constant_map_points_at_nothing(saliency, smooth):
    laid = SaliencyOnImage(saliency, (9, 7), smooth=smooth)
    truth = np.zeros((9, 7), bool)
    truth[2:4] = True
    assert laid.is_constant
    assert laid.peak is None
    assert laid.peaks.shape == (0, 2)
    for threshold in ("otsu", 0, 0.5, 1):
        assert not laid.mask(threshold).any()
        assert laid.tp_fp_fn_tn(encode(truth), threshold) == (0, 0, 14, 49)
    np.testing.assert_array_equal(
        laid.tp_fp_fn_tn_by_threshold(encode(truth), [0, 0.5]), [[0, 0, 14, 49]] * 2
    )


def test_a_map_whose_spots_fall_between_the_pixels_is_constant():
    saliency = np.zeros((9, 9))
    saliency[0, 0] = 1.0  # three samples to a pixel, of which the middle one counts
    assert SaliencyOnImage(saliency, (3, 3)).is_constant
    saliency[1, 1] = 1.0
    assert SaliencyOnImage(saliency, (3, 3)).peak == (0, 0)


def test_every_pixel_of_a_plateau_is_a_maximum():
    saliency = np.array([[5.0, 5.0, 1.0], [5.0, 5.0, 1.0]])
    laid = SaliencyOnImage(saliency, (4, 6))
    assert laid.peak == (0, 0)
    # columns 0 to 2 lie at or left of the second sample's centre (2.5), column 2 at 0.75 of a step
    np.testing.assert_array_equal(laid.peaks, [(row, col) for row in range(4) for col in range(3)])


def test_peaks_that_tie_on_paper_tie():
    # both sides of a symmetric map, and 7/3 reached in two ways
    assert SaliencyOnImage(np.array([[0.0, 0.1, 0.0]]), (1, 12)).peaks.tolist() == [[0, 5], [0, 6]]
    assert SaliencyOnImage(np.array([[0.1, 0.3, 0.3, 0.1]]), (1, 4)).peaks.tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize("smooth", [None, 4])
@pytest.mark.parametrize("threshold", ["otsu", 0, 0.25, 0.5, 1])
def test_counts_are_those_of_the_decoded_masks(smooth, threshold):
    rng = np.random.default_rng(3)
    for truth_share in (0, 0.01, 0.4, 1):
        laid = SaliencyOnImage(rng.random((7, 9)), (53, 38), smooth=smooth)
        truth = rng.random((53, 38)) < truth_share
        mask = laid.mask(threshold)
        assert mask.shape == (53, 38)
        assert mask.dtype == bool
        tp, fp = (mask & truth).sum(), (mask & ~truth).sum()
        fn, tn = (~mask & truth).sum(), (~mask & ~truth).sum()
        assert laid.tp_fp_fn_tn(encode(truth), threshold) == (tp, fp, fn, tn)


@pytest.mark.parametrize("smooth", [None, 15])
def test_counts_at_many_thresholds_are_those_at_each(smooth):
    rng = np.random.default_rng(5)
    thresholds = [*np.arange(0.2, 0.8, 0.1), 0.8000000000000003, 0, 1, 0.2]
    for shape in [(457, 435), (390, 320), (40, 50)] * 15:
        saliency = rng.gamma(0.5, size=(20, 20)).astype(np.float32)
        top, left = rng.integers(0, shape) // 2
        mask = np.zeros(shape, bool)
        mask[top : 2 * top + 5, left : 2 * left + 5] = True
        laid, truth = SaliencyOnImage(saliency, shape, smooth=smooth), encode(mask)
        counted = laid.tp_fp_fn_tn_by_threshold(truth, thresholds)
        assert counted.dtype == np.int64
        np.testing.assert_array_equal(counted, [laid.tp_fp_fn_tn(truth, t) for t in thresholds])


def test_the_mask_does_not_depend_on_scale_sign_type_or_memory_order():
    whole = np.random.default_rng(4).integers(0, 200, (11, 13))
    expected = SaliencyOnImage(whole, (40, 50))
    others = [
        whole.astype(np.uint8),
        whole.astype(np.float16),
        whole.astype(np.float32) - 2**14,
        np.asfortranarray(whole.astype(np.float64)) * 2.0**400,
        whole * 2.0**-400,
        np.repeat(np.repeat(whole, 2, 0), 2, 1)[::2, ::2],
        whole.tolist(),
    ]
    for saliency in others:
        laid = SaliencyOnImage(saliency, (40, 50))
        assert laid.peak == expected.peak
        for threshold in ("otsu", 0.4):
            assert np.array_equal(laid.mask(threshold), expected.mask(threshold))


def test_after_counting_at_otsus_level_nothing_of_the_images_size_is_kept():
    shape = (1500, 1600)
    truth = encode(np.eye(*shape, dtype=bool))
    laid = SaliencyOnImage(np.random.default_rng(6).random((20, 20)), shape)
    tracemalloc.start()
    try:
        laid.tp_fp_fn_tn(truth)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1e5
    # a map in float32, its grey levels and what is above Otsu's: 6 bytes a pixel, and change
    assert most < 7 * shape[0] * shape[1]


def test_a_map_must_be_finite_and_of_two_dimensions_and_stays_as_it_is():
    saliency = np.random.default_rng(5).random((6, 6))
    before = saliency.copy()
    SaliencyOnImage(saliency, (30, 30), smooth=3).mask("otsu")
    assert np.array_equal(saliency, before)
    saliency[1, 1], saliency[2, 2] = np.nan, np.inf
    assert not is_finite(saliency)
    with raises(ValueRangeError, option="saliency", value=None, match=r"\b2\b.*\b36\b"):
        SaliencyOnImage(saliency, (5, 5))
    for shape in [(3,), (1, 1, 3, 3), (0, 4)]:
        with raises(ShapeError, option="saliency", value=shape):
            SaliencyOnImage(np.ones(shape), (5, 5))


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"shape": (0, 5)}, {"option": "shape", "value": (0, 5)}),
        ({"smooth": 2.5}, {"option": "smooth", "value": 2.5}),
        # OpenCV takes all memory for a box of 2**31 pixels, or fails
        ({"smooth": 2**31 - 1}, {"option": "smooth", "value": 2**31 - 1}),
        ({"smooth": 3, "colormap": "hot"}, {"option": "colormap", "value": "hot", "choices": ("jet",)}),
        ({"colormap": "jet"}, {"option": "colormap", "value": "jet", "choices": ()}),
        ({"saliency": np.array([["a"]])}, {"option": "saliency", "value": np.dtype("U1")}),
    ],
)
def test_options_that_mean_nothing_are_refused(options, fields):
    with raises(ValueRangeError, **fields):
        SaliencyOnImage(**{"saliency": np.eye(3), "shape": (5, 5)} | options)


def test_thresholds_and_truths_that_do_not_fit_are_refused():
    laid, truth = SaliencyOnImage(np.eye(3), (5, 6)), encode(np.eye(5, 6, dtype=bool))
    for threshold in ("Otsu", -0.1, 1.1, np.nan, None):
        with raises(ValueRangeError, option="threshold", value=threshold):
            laid.mask(threshold)
    with raises(ValueRangeError, option="thresholds", value=["otsu"]):
        laid.tp_fp_fn_tn_by_threshold(truth, ["otsu"])
    with raises(ShapeError, option="truth", value=(6, 5)):
        laid.tp_fp_fn_tn(encode(np.ones((6, 5), bool)))
    jet = SaliencyOnImage(np.eye(3), (5, 6), smooth=3, colormap="jet")
    with raises(ValueRangeError, option="threshold", value=0.4, choices=()):
        jet.mask(0.4)
    with raises(ValueRangeError, option="thresholds", value=[0.4]):
        jet.tp_fp_fn_tn_by_threshold(truth, [0.4])
