import json
import pickle

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pycocotools import mask as coco

from salstats.checks import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.images.masks import (
    Rle,
    area,
    contains,
    decode,
    empty,
    encode,
    fill_polygons,
    intersection,
    polygons_rle,
    runs,
    union_of,
)

SHAPES = [(1, 1), (1, 9), (9, 1), (2, 2), (7, 5), (33, 40), (64, 3)]


def random_masks(shape, n=6, seed=0):
    """Masks of a shape: nothing, everything, and random ones from sparse to dense, some in stripes."""
    rng = np.random.default_rng([seed, *shape])
    yield np.zeros(shape, bool)
    yield np.ones(shape, bool)
    for density in np.linspace(0.05, 0.95, n):
        yield rng.random(shape) < density
        yield np.repeat(rng.random((1, shape[1])) < density, shape[0], axis=0)


def everything():
    return [mask for shape in SHAPES for mask in random_masks(shape)]


def other_of(mask, seed=1):
    return np.random.default_rng([seed, *mask.shape]).random(mask.shape) < 0.5


def read(path):
    return json.loads(path.read_text())


# --- codes -----------------------------------------------------------------------------------------------


def test_codes_are_those_of_pycocotools():
    for mask in everything():
        expected = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
        assert encode(mask) == Rle(mask.shape, expected["counts"])
        assert encode(mask).counts == expected["counts"]


def test_decode_gives_back_the_mask():
    for mask in everything():
        back = decode(encode(mask))
        assert back.dtype == bool
        assert back.flags.c_contiguous
        assert back.flags.writeable
        np.testing.assert_array_equal(back, mask)


def test_long_runs_are_coded_as_pycocotools_codes_them():
    # differences of all sizes and both signs, up to six characters a number
    rng = np.random.default_rng(3)
    for _ in range(50):
        lengths = np.ceil(10 ** rng.uniform(0, 5.5, 20)).astype(int).tolist()
        size = [1, sum(lengths)]
        expected = coco.frPyObjects({"size": size, "counts": lengths}, *size)["counts"]
        assert Rle.from_coco({"size": size, "counts": lengths}).counts == expected
        assert Rle((1, sum(lengths)), expected).counts == expected


def test_layout_of_the_array_does_not_matter():
    mask = other_of(np.zeros((20, 30)))
    for same in (np.asfortranarray(mask), mask[::-1][::-1], np.pad(mask, 2)[2:-2, 2:-2], mask.astype(float)):
        assert encode(same) == encode(mask)


def test_runs_are_the_foreground_down_the_columns():
    for mask in everything():
        starts, ends = runs(encode(mask))
        assert starts.dtype == ends.dtype == np.int64
        flat = np.zeros(mask.size, bool)
        for start, end in zip(starts, ends, strict=True):
            assert start < end
            assert not flat[max(start - 1, 0) : end].any()  # ordered, and never touching the one before
            flat[start:end] = True
        np.testing.assert_array_equal(flat, mask.ravel(order="F"))


def test_empty_marks_nothing():
    assert not decode(empty((4, 6))).any()
    assert empty((4, 6)) == encode(np.zeros((4, 6)))


def test_a_code_survives_pickling_and_can_be_a_key():
    rle = encode(other_of(np.zeros((5, 6))))
    assert {rle: 1}[pickle.loads(pickle.dumps(rle))] == 1


@pytest.mark.parametrize("bad", [np.zeros(5), np.zeros((2, 3, 1), bool), 3])
def test_a_mask_has_two_dimensions(bad):
    with pytest.raises(ShapeError, match="two dimensions"):
        encode(bad)


@pytest.mark.parametrize(
    "bad", [np.full((2, 2), 0.5), np.full((2, 2), np.nan), np.array([["a"]]), np.zeros((0, 4))]
)
def test_a_map_is_not_a_mask(bad):
    with pytest.raises(ValueRangeError):
        encode(bad)


# --- without decoding ------------------------------------------------------------------------------------


def test_area_intersection_and_union_are_those_of_the_pixels():
    for mask in everything():
        other = other_of(mask)
        a, b = encode(mask), encode(other)
        assert area(a) == mask.sum()
        assert intersection(a, b) == (mask & other).sum()
        third = other_of(mask, seed=2)
        np.testing.assert_array_equal(decode(union_of([a, b, encode(third)])), mask | other | third)
        assert union_of([a]) == a
        assert isinstance(area(a), int)
        assert isinstance(intersection(a, b), int)


def test_masks_of_two_shapes_do_not_meet():
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(3, 2\)"):
        intersection(empty((2, 3)), empty((3, 2)))
    with pytest.raises(ShapeError):
        union_of([empty((2, 3)), empty((3, 2))])
    with pytest.raises(ValueRangeError, match="at least one"):
        union_of([])


def test_contains_looks_up_every_pixel():
    for mask in everything():
        rows, cols = np.indices(mask.shape)
        np.testing.assert_array_equal(contains(encode(mask), rows, cols), mask)


def test_contains_is_false_outside_the_image():
    full = encode(np.ones((4, 6)))
    # the position down the columns of (-1, 3) and of (4, 1) is that of a marked pixel
    rows = [-1, -1, 4, 4, 0, 0, -0.5, 1e300, np.inf, 3]
    cols = [0, 3, 0, 1, -1, 6, 2, 0, 0, 5]
    assert contains(full, rows, cols).tolist() == [False] * 9 + [True]


def test_a_fraction_lies_in_the_pixel_it_falls_into():
    mask = np.zeros((4, 6), bool)
    mask[2, 3] = True
    assert contains(encode(mask), [2, 2.99, 3, 1.99], [3.99, 3, 3, 3]).tolist() == [True, True, False, False]


def test_contains_takes_no_points_and_one_point():
    assert contains(empty((2, 2)), [], []).shape == (0,)
    assert contains(empty((2, 2)), 1, 1).shape == ()


def test_points_must_be_numbers():
    with pytest.raises(ValueRangeError, match="rows"):
        contains(empty((2, 2)), [np.nan], [0])
    with pytest.raises(ValueRangeError, match="cols"):
        contains(empty((2, 2)), [0], ["0"])
    with pytest.raises(ShapeError):
        contains(empty((2, 2)), [0], [0, 1])


# --- records from files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "size and counts"),
        (None, "size and counts"),
        ({"size": [4, 5]}, "no 'counts'"),
        ({"counts": "d0"}, "no 'size'"),
        ({"size": [4, 5, 1], "counts": "d0"}, "two positive whole numbers"),
        ({"size": [4], "counts": "d0"}, "two positive whole numbers"),
        ({"size": "45", "counts": "d0"}, "two positive whole numbers"),
        ({"size": None, "counts": "d0"}, "two positive whole numbers"),
        ({"size": [4.0, 5.0], "counts": "d0"}, "two positive whole numbers"),
        ({"size": [True, 20], "counts": "d0"}, "two positive whole numbers"),
        ({"size": [0, 5], "counts": ""}, "two positive whole numbers"),
        ({"size": [-4, -5], "counts": "d0"}, "two positive whole numbers"),
        ({"size": [2**20, 2**20], "counts": "d0"}, "too large"),
        ({"size": [4, 5], "counts": "<0"}, r"add up to 12 pixels, the image has 20 \(4 x 5\)"),
        ({"size": [4, 5], "counts": ""}, "empty"),
        ({"size": [4, 5], "counts": b""}, "empty"),
        ({"size": [4, 5], "counts": "d"}, "break off"),
        ({"size": [4, 5], "counts": "5T"}, "break off"),
        ({"size": [4, 5], "counts": "d0\n"}, "character 2"),
        ({"size": [4, 5], "counts": "d0 "}, "character 2"),
        ({"size": [4, 5], "counts": "d0\0"}, "character 2"),
        ({"size": [4, 5], "counts": b"\xff"}, "character 0"),
        ({"size": [4, 5], "counts": "d0ü"}, "characters that compressed counts never have"),
        ({"size": [4, 5], "counts": "dPPPPPP0"}, "more than 7 characters"),
        # 26 background pixels, then -6
        ({"size": [4, 5], "counts": "j0J"}, r"a run of -6 pixels \(run 2 of 2\)"),
        ({"size": [4, 5], "counts": [30, -10]}, "a run of -10 pixels"),
        ({"size": [4, 5], "counts": [10, 11]}, "add up to 21"),
        ({"size": [4, 5], "counts": []}, "add up to 0"),
        ({"size": [4, 5], "counts": [20.0]}, "whole numbers"),
        ({"size": [4, 5], "counts": [True, 19]}, "whole numbers"),
        ({"size": [4, 5], "counts": ["20"]}, "whole numbers"),
        ({"size": [4, 5], "counts": [[20]]}, "whole numbers"),
        ({"size": [4, 5], "counts": [2**70, 20 - 2**70]}, "longer than any image"),
        ({"size": [4, 5], "counts": 20}, "text or a list"),
        ({"size": [4, 5], "counts": None}, "text or a list"),
    ],
)
def test_a_damaged_record_is_an_error_that_names_it(given, message):
    with pytest.raises(InputFileError, match=message) as caught:
        Rle.from_coco(given, "gt.json, case 017, task Edema")
    assert str(caught.value).startswith("gt.json, case 017, task Edema: ")
    assert "\n" not in str(caught.value)


def test_random_bytes_never_reach_the_compiled_code():
    # each is refused, or is a mask whose pixels fill the image
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(2000):
        text = rng.integers(40, 120, rng.integers(0, 12)).astype(np.uint8).tobytes()
        try:
            rle = Rle.from_coco({"size": [4, 5], "counts": text})
        except InputFileError:
            refused += 1
        else:
            assert decode(rle).sum() == area(rle)
    assert refused > 1900


def test_a_real_record_with_one_character_changed_is_refused_or_a_mask(shared):
    record = read(shared / "oracles/chexlocalize/sample/gt_seg.json")
    record = next(m for m in next(iter(record.values())).values() if len(m["counts"]) > 1000)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        text = bytearray(record["counts"].encode())
        text[rng.integers(len(text))] = rng.integers(48, 112)
        try:
            rle = Rle.from_coco({"size": record["size"], "counts": bytes(text)})
        except InputFileError:
            refused += 1
        else:
            starts, ends = runs(rle)
            assert area(rle) == (ends - starts).sum()
    assert refused > 100


def test_the_three_spellings_of_counts_are_one_mask():
    mask = other_of(np.zeros((20, 30)))
    lengths = np.diff(
        np.flatnonzero(np.diff(mask.ravel(order="F"))) + 1, prepend=0, append=mask.size
    ).tolist()
    lengths = [0, *lengths] if mask[0, 0] else lengths
    rle = encode(mask)
    for counts in (lengths, rle.counts, rle.counts.decode()):
        assert Rle.from_coco({"size": [20, 30], "counts": counts}) == rle
    assert Rle.from_coco(rle.to_coco()) == rle
    assert json.loads(json.dumps(rle.to_coco())) == rle.to_coco()


def test_equal_masks_are_equal_records():
    # runs of no pixels within and at the end, and a number with a character too many
    plain = Rle.from_coco({"size": [2, 5], "counts": [3, 4, 3]})
    assert Rle.from_coco({"size": [2, 5], "counts": [3, 2, 0, 2, 3, 0]}) == plain
    assert Rle.from_coco({"size": [2, 5], "counts": [1, 0, 2, 4, 0, 0, 3]}) == plain
    assert Rle((2, 5), b"343") == plain
    assert Rle((2, 5), b"S043") == plain
    assert Rle((2, 5), b"343").counts == Rle((2, 5), b"S0T03").counts == b"343"
    assert Rle((2, 5), b"00:") == Rle((2, 5), b":0") == empty((2, 5))


def test_a_code_cannot_be_made_from_counts_of_another_size():
    with pytest.raises(ValueRangeError, match="add up to"):
        Rle((2, 4), b"343")
    with pytest.raises(ValueRangeError, match="bytes"):
        Rle((2, 5), "343")


# --- polygons --------------------------------------------------------------------------------------------


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
            polygons = annotations[case].get(task, [])
            rle = polygons_rle(polygons, record["size"], where=f"{case}, {task}")
            assert rle.to_coco() == record, (case, task)
            mask = fill_polygons(polygons, record["size"])
            np.testing.assert_array_equal(mask, decode(Rle.from_coco(record)))
            assert encode(mask) == rle
            n_marked += bool(mask.any())
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
            with pytest.raises(ValueRangeError, match=r"polygon 1 of 1 has fewer than two vertices"):
                fill_polygons(case["polygons"], (12, 12))
        else:
            np.testing.assert_array_equal(fill_polygons(case["polygons"], (12, 12)), case["mask"], name)
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
        np.testing.assert_array_equal(fill_polygons(polygons, shape), expected)
        assert polygons_rle(polygons, shape) == encode(expected)
    assert n_cut > 300


def test_the_place_in_a_wide_image_matters_and_is_kept():
    # 32-bit positions are rounded more coarsely at column 2700 than at column 0
    polygon = [(23, 14), (96, 55), (82, 95), (69, 76), (25, 72), (87, 23), (12, 77), (2, 13)]
    far = np.array(polygon) + (2700, 150)
    expected = drawn_plainly([far], (300, 2828))
    assert (expected[150:250, 2700:2800] != drawn_plainly([polygon], (100, 100))).sum() == 1
    np.testing.assert_array_equal(fill_polygons([far], (300, 2828)), expected)


def test_vertices_are_cut_towards_zero():
    # -0.9 and 2.9 become 0 and 2
    mask = fill_polygons([[(-0.9, -0.9), (2.9, -0.9), (2.9, 1.9), (-0.9, 1.9)]], (4, 5))
    assert mask.astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0] * 5, [0] * 5]


def test_no_polygons_mark_nothing():
    assert not fill_polygons([], (3, 4)).any()
    assert polygons_rle([], (3, 4)) == empty((3, 4))


def test_a_polygon_outside_the_image_marks_nothing():
    for at in ((-50, 5), (50, 5), (5, -50), (5, 50)):
        square = np.array([(0, 0), (4, 0), (4, 4), (0, 4)]) + at
        assert polygons_rle([square], (12, 12)) == empty((12, 12))


@pytest.mark.parametrize(
    ("polygons", "message"),
    [
        ([[]], "list of points"),
        ([[(1, 2, 3), (4, 5, 6)]], "list of points"),
        ([[(1, 2), (3,)]], "list of points"),
        ([(1, 2), (3, 4)], "list of points"),
        ([[("1", "2"), ("3", "4")]], "list of points"),
        ([[(1, None), (3, 4)]], "list of points"),
        ([[(True, False), (True, True)]], "list of points"),
        (["1234"], "list of points"),
        ([None], "list of points"),
        (None, "list of polygons"),
        (7, "list of polygons"),
        ([np.zeros((0, 2))], "fewer than two"),
        ([[(1, 2)]], r"fewer than two vertices \(\[\[1, 2\]\]\)"),
        ([[(0, 0), (9, 9), (np.nan, 3)]], "not a place"),
        ([[(0, 0), (9, 9), (np.inf, 3)]], "not a place"),
        ([[(0, 0), (9, 9), (1e30, 3)]], "not a place"),
        ([[(0, 0), (9, 9), (-(2**63), 3)]], "not a place"),
        ([[(0, 0), (9, 9), (10**30, 3)]], "list of points"),
    ],
)
@pytest.mark.parametrize("function", [fill_polygons, polygons_rle])
def test_a_polygon_that_cannot_be_drawn_is_an_error_that_names_it(function, polygons, message):
    with pytest.raises(ValueRangeError, match=message) as caught:
        function(polygons, (12, 12), where="gt.json, case 017, task Edema")
    assert str(caught.value).startswith("gt.json, case 017, task Edema")


def test_an_image_without_pixels_cannot_be_drawn_on():
    for shape in ((0, 5), (5,), (5.0, 5.0), (2**20, 2**20)):
        with pytest.raises(SalstatsError, match="shape"):
            fill_polygons([], shape)
