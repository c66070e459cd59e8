import json

import cv2
import numpy as np
import pandas as pd
import pytest
from skimage import measure
from tests_support import exact_csv, raises

from salstats.errors import ValueRangeError
from salstats.images.masks import Rle, decode
from salstats.images.shapes import longest_contour_min_rectangle_row_col, shape_features

#: The scripts' rectangles are in single precision, and so are ours.
SINGLE = 1e-5
NAMES = ["n_instances", "area_ratio", "elongation", "irrectangularity", "area_px", "perimeter_px"]


def drawn(*boxes, shape=(40, 50)):
    """A mask of boxes (top, left, bottom, right), half-open."""
    mask = np.zeros(shape, bool)
    for top, left, bottom, right in boxes:
        mask[top:bottom, left:right] = True
    return mask


def read(path):
    return json.loads(path.read_text())


def assert_features(truth, annotations, folder):
    """Features of every mask of a file against the scripts' four tables; returns how many are not empty."""
    tables = {
        name: exact_csv(folder / f"{file}.csv", index_col="img_id")
        for name, file in {
            "n_instances": "num_instances",
            "area_ratio": "area_ratio",
            "elongation": "elongation",
            "rec_area_ratio": "rec_area_ratio",
        }.items()
    }
    found = []
    for case, tasks in truth.items():
        for task, record in tasks.items():
            n_outlines = len(annotations.get(case, {}).get(task, []))
            features = shape_features(decode(Rle.from_coco(record)), n_instances=n_outlines)
            expected = {name: table.loc[case, task] for name, table in tables.items()}
            found.append(features | {f"expected_{name}": value for name, value in expected.items()})
    frame = pd.DataFrame(found)
    np.testing.assert_array_equal(frame["n_instances"], frame["expected_n_instances"])
    np.testing.assert_allclose(frame["area_ratio"], frame["expected_area_ratio"], rtol=1e-15)
    np.testing.assert_allclose(frame["elongation"], frame["expected_elongation"], rtol=SINGLE)
    np.testing.assert_allclose(1 - frame["irrectangularity"], frame["expected_rec_area_ratio"], rtol=SINGLE)
    return int(frame["elongation"].notna().sum())


def test_features_of_the_made_up_study_are_those_of_the_scripts(shared):
    study = shared / "oracles/chexlocalize/study"
    n = assert_features(
        read(study / "expected/gt_segmentations.json"),
        read(study / "inputs/gt_annotations.json"),
        study / "expected/features",
    )
    assert n == 630  # masks with a finding, says the oracle's README


def test_features_of_the_released_sample_are_those_of_the_scripts(shared):
    sample = shared / "data/chexlocalize_sample"
    n = assert_features(
        read(sample / "gt_segmentations_val.json"),
        read(sample / "gt_annotations_val.json"),
        shared / "oracles/chexlocalize/sample/features",
    )
    assert n == 4


def test_edge_cases_are_those_of_the_scripts_and_nan_where_they_fail(shared):
    cases = read(shared / "oracles/chexlocalize/edge_cases.json")["geometric_features"]
    failed = []
    for name, case in cases.items():
        features = shape_features(np.array(case["mask"]))
        expected = case["n_area_elong_recratio"]
        if isinstance(expected, str):
            failed.append(name)
            assert np.isnan([features["elongation"], features["irrectangularity"]]).all(), name
            assert features["n_instances"] == 1
            assert features["area_ratio"] == features["area_px"] / 2000
        else:
            assert features["area_ratio"] == expected[1], name
            assert features["elongation"] == pytest.approx(expected[2], rel=SINGLE), name
            assert 1 - features["irrectangularity"] == pytest.approx(expected[3], rel=SINGLE), name
    assert failed == ["single_pixel", "horizontal_line", "diagonal_line", "two_px"]


def test_a_drawn_rectangle_by_hand():
    # centres of 10 x 20 pixels span 9 x 19; the border runs 2 * (9 + 19) steps
    features = shape_features(drawn((5, 5, 15, 25)))
    assert list(features) == NAMES
    assert features["n_instances"] == 1
    assert features["area_px"] == 200
    assert features["area_ratio"] == 200 / 2000
    assert features["elongation"] == pytest.approx(19 / 9, rel=SINGLE)
    assert features["irrectangularity"] == pytest.approx(0, abs=SINGLE)
    assert features["perimeter_px"] == 56


def test_an_empty_mask_has_no_shape():
    features = shape_features(np.zeros((4, 6)), n_instances=2)
    assert [features[name] for name in ("n_instances", "area_ratio", "area_px")] == [0, 0, 0]
    assert np.isnan([features[name] for name in ("elongation", "irrectangularity", "perimeter_px")]).all()


def test_lines_at_any_slope_have_no_rectangle():
    for step in ((1, 1), (-1, 1), (0, 1), (1, 0)):
        for length in (2, 3, 100, 900):
            mask = np.zeros((1000, 1000), bool)
            at = np.array((950 if step[0] < 0 else 50, 50)) + np.arange(length)[:, None] * step
            mask[tuple(at.T)] = True
            features = shape_features(mask)
            assert np.isnan(features["elongation"]), (step, length)
            assert features["area_px"] == length
            assert features["perimeter_px"] == pytest.approx(measure.perimeter(mask))


def boxes_of_one_length(rng):
    """Boxes in the cells of a grid, each with 20 boundary pixels but of any elongation."""
    mask = np.zeros((90, 120), np.uint8)
    for top, left in rng.permutation([(t, c) for t in range(20, 60, 12) for c in range(40, 110, 12)])[:5]:
        height = rng.integers(2, 11)
        mask[top : top + height, left : left + 12 - height] = 1
    return mask


def coarse_blobs(rng):
    """Parts of all shapes, some with holes, far from the corner near which single precision is finest."""
    mask = np.zeros((2000, 2000), np.uint8)
    mask[1901:1941, 1801:1861] = np.kron(rng.random((10, 15)) < 0.5, np.ones((4, 4)))
    return mask


@pytest.mark.parametrize("kind", [boxes_of_one_length, coarse_blobs])
def test_the_part_that_holds_the_finding_gives_what_the_whole_image_gives(kind):
    # where contours tie in points the first one decides, and it must be the same one
    rng = np.random.default_rng(0)
    for _ in range(100):
        mask = kind(rng)
        contours = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)[0]
        longest = max(contours, key=len)
        if kind is boxes_of_one_length:
            assert [len(c) for c in contours] == [20] * 5
        sides = cv2.minAreaRect(longest)[1]
        features = shape_features(mask)
        assert features["elongation"] == max(sides) / min(sides)
        assert features["irrectangularity"] == 1 - cv2.contourArea(longest) / (sides[0] * sides[1])
        assert features["n_instances"] == measure.label(mask, connectivity=2).max()


def test_the_longest_contour_is_not_always_the_largest_part():
    # a bar of 2 x 40, all 80 pixels of which are boundary, and a square of 15 x 15 with 56
    mask = drawn((0, 0, 2, 40), (10, 10, 25, 25))
    assert shape_features(mask)["elongation"] == pytest.approx(39, rel=SINGLE)


def test_the_edge_of_a_hole_may_be_the_longest_contour():
    # a comb-shaped hole in a square block has a longer edge than the block
    mask = drawn((0, 0, 40, 40))
    for col in range(4, 36, 4):
        mask[4:30, col : col + 2] = False
    mask[4:6, 4:34] = False
    assert shape_features(mask)["irrectangularity"] > 0.1


def test_perimeter_is_that_of_scikit_image():
    rng = np.random.default_rng(0)
    for density in (0.05, 0.3, 0.5, 0.7, 0.95, 1):
        for shape in ((1, 1), (1, 12), (12, 1), (30, 47)):
            mask = rng.random(shape) < density
            mask[0, 0] = True
            expected = measure.perimeter(mask, neighborhood=4)
            # sums of the same few steps, in another order
            assert shape_features(mask)["perimeter_px"] == pytest.approx(expected, rel=1e-12)


def test_the_rectangle_drawn_is_the_one_that_is_measured():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mask = cv2.GaussianBlur(rng.random((60, 80)), (0, 0), 5) > 0.5
        sides = np.linalg.norm(np.diff(longest_contour_min_rectangle_row_col(mask), axis=0), axis=1)
        assert max(sides) / min(sides) == pytest.approx(shape_features(mask)["elongation"], rel=SINGLE)
    assert longest_contour_min_rectangle_row_col(np.zeros((4, 5), bool)).shape == (0, 2)


def test_damaged_arguments_are_named():
    with raises(ValueRangeError, option="mask", value=np.dtype(float)):
        shape_features(np.full((2, 3), 0.2))
    with raises(ValueRangeError, option="n_instances", value=-1):
        shape_features(np.ones((2, 3)), n_instances=-1)
