import json

import numpy as np
import pytest
from PIL import Image, ImageDraw
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.images.masks import area, decode, empty, encode
from salstats.images.polygons import polygons_rle


def read(path):
    return json.loads(path.read_text())


def drawn_plainly(polygons, shape):
    """The release's own way: every polygon on an image of full size."""
    image = Image.new("1", shape[::-1])
    for polygon in polygons:
        ImageDraw.Draw(image).polygon([tuple(p) for p in polygon], outline=1, fill=1)
    return np.array(image)


def assert_same_masks(annotations, segmentations):
    """Every mask of a file, drawn from the outlines of another; returns how many mark anything."""
    n_marked = 0
    for case, tasks in segmentations.items():
        for task, record in tasks.items():
            rle = polygons_rle(annotations[case].get(task, []), record["size"], source=f"{case}, {task}")
            assert rle.to_coco() == record, (case, task)
            n_marked += area(rle) > 0
    return n_marked


@pytest.mark.parametrize(("who", "n_marked"), [("gt", 630), ("hb", None)])
def test_polygons_of_the_made_up_study_are_drawn_exactly(shared, who, n_marked):
    study = shared / "oracles/chexlocalize/study"
    found = assert_same_masks(
        read(study / f"inputs/{who}_annotations.json"), read(study / f"expected/{who}_segmentations.json")
    )
    # 630 truth masks, says the oracle's README; the second reader missed some and invented others
    assert found == n_marked if n_marked else found > 500


def test_polygons_of_the_released_sample_are_drawn_exactly(shared):
    sample = shared / "data/chexlocalize_sample"
    found = assert_same_masks(
        read(sample / "gt_annotations_val.json"), read(sample / "gt_segmentations_val.json")
    )
    assert found == 4


def test_edge_cases_are_drawn_as_the_scripts_draw_them(shared):
    cases = read(shared / "oracles/chexlocalize/edge_cases.json")["create_mask_h12_w12"]
    n_errors = 0
    for name, case in cases.items():
        if isinstance(case["mask"], str):  # the scripts' TypeError on a single point
            n_errors += 1
            with raises(ValueRangeError, rows=(0,), value=case["polygons"][0]):
                polygons_rle(case["polygons"], (12, 12))
        else:
            assert polygons_rle(case["polygons"], (12, 12)) == encode(case["mask"]), name
    assert n_errors == 1
    assert len(cases) > 5


def test_the_small_canvas_changes_nothing():
    # polygons of all kinds: inside, across every edge, outside, crossing themselves, several at once
    rng = np.random.default_rng(0)
    n_cut = 0
    for _ in range(600):
        shape = tuple(int(n) for n in rng.integers(1, 90, 2))
        polygons = []
        for _ in range(rng.integers(1, 4)):
            centre = rng.uniform(-0.3, 1.3, 2) * shape[::-1]
            points = centre + rng.normal(0, rng.choice([2, 15, 60]), (rng.integers(2, 12), 2))
            polygons.append(points if rng.random() < 0.5 else np.round(points))
        expected = drawn_plainly(polygons, shape)
        n_cut += any((p < 0).any() or (p >= shape[::-1]).any() for p in polygons)
        assert polygons_rle(polygons, shape) == encode(expected)
    assert n_cut > 300


def test_the_place_in_a_wide_image_matters_and_is_kept():
    # 32-bit positions are rounded more coarsely at column 2700 than at column 0
    polygon = [(23, 14), (96, 55), (82, 95), (69, 76), (25, 72), (87, 23), (12, 77), (2, 13)]
    far = np.array(polygon) + (2700, 150)
    expected = drawn_plainly([far], (300, 2828))
    assert (expected[150:250, 2700:2800] != drawn_plainly([polygon], (100, 100))).sum() == 1
    assert polygons_rle([far], (300, 2828)) == encode(expected)


def test_vertices_are_cut_towards_zero():
    # -0.9 and 2.9 become 0 and 2
    mask = decode(polygons_rle([[(-0.9, -0.9), (2.9, -0.9), (2.9, 1.9), (-0.9, 1.9)]], (4, 5)))
    assert mask.astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0] * 5, [0] * 5]


def test_a_polygon_outside_the_image_and_none_at_all_mark_nothing():
    assert polygons_rle([], (3, 4)) == empty((3, 4))
    for at in ((-50, 5), (50, 5), (5, -50), (5, 50)):
        square = np.array([(0, 0), (4, 0), (4, 4), (0, 4)]) + at
        assert polygons_rle([square], (12, 12)) == empty((12, 12))


@pytest.mark.parametrize(
    ("polygons", "rows", "value"),
    [
        ([(1, 2), (3, 4)], (0,), None),
        ([[(1, 2, 3), (4, 5, 6)]], (0,), None),
        ([[(1, 2), (3,)]], (0,), None),
        ([[("1", "2"), ("3", "4")]], (0,), None),
        ([[(1, None), (3, 4)]], (0,), None),
        (None, (), None),
        (4, (), 4),
        ([np.zeros((0, 2))], (0,), []),
        ([[(0, 0), (9, 9)], [(1, 2)]], (1,), [[1, 2]]),
        ([[(0, 0), (9, 9), (np.inf, 3)]], (0,), [np.inf, 3]),
        ([[(0, 0), (9, 9), (1e30, 3)]], (0,), [1e30, 3]),
        ([[(0, 0), (9, 9), (10**30, 3)]], (0,), None),
    ],
)
def test_a_polygon_that_cannot_be_drawn_is_an_error_that_names_it(polygons, rows, value):
    with raises(ValueRangeError, rows=rows, value=value) as caught:
        polygons_rle(polygons, (12, 12), source="gt.json, case 017, task Edema")
    assert str(caught.value).startswith("gt.json, case 017, task Edema")


def test_a_vertex_that_is_not_a_number_is_no_place():
    with raises(ValueRangeError, rows=(0,)):
        polygons_rle([[(0, 0), (9, 9), (np.nan, 3)]], (12, 12))


def test_vertices_are_places_up_to_where_32_bit_floats_hold_every_whole_number():
    largest = next(2**n for n in range(64) if int(np.float32(2**n + 1)) != 2**n + 1)
    for sign in (1, -1):
        end = sign * largest
        line = decode(polygons_rle([[(0, 1), (end, 1)]], (3, 4)))
        assert line[1].any()
        with raises(ValueRangeError, rows=(0,), value=[end + sign, 1]):
            polygons_rle([[(0, 1), (end + sign, 1)]], (3, 4))
