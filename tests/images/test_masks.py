import json

import numpy as np
import pytest
from pycocotools import mask as coco
from tests_support import raises

from salstats.errors import InputFileError, ShapeError, ValueRangeError
from salstats.images.masks import (
    Rle,
    area,
    contains,
    decode,
    empty,
    encode,
    intersection_area,
    run_starts_and_ends,
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
        starts, ends = run_starts_and_ends(encode(mask))
        assert starts.dtype == ends.dtype == np.int64
        flat = np.zeros(mask.size, bool)
        for start, end in zip(starts, ends, strict=True):
            assert start < end
            assert not flat[max(start - 1, 0) : end].any()  # ordered, and never touching the one before
            flat[start:end] = True
        np.testing.assert_array_equal(flat, mask.ravel(order="F"))


@pytest.mark.parametrize(
    ("bad", "error", "option", "value"),
    [
        (np.zeros(5), ShapeError, "mask", (5,)),
        (np.full((2, 2), 0.5), ValueRangeError, "mask", np.dtype(float)),
        (np.full((2, 2), np.nan), ValueRangeError, "mask", np.dtype(float)),
        (np.array([["a"]]), ValueRangeError, "mask", np.dtype("U1")),
        (np.zeros((0, 4)), ValueRangeError, "shape", (0, 4)),
    ],
)
def test_a_map_is_not_a_mask(bad, error, option, value):
    with raises(error, option=option, value=value):
        encode(bad)


# --- without decoding ------------------------------------------------------------------------------------


def test_area_intersection_and_union_are_those_of_the_pixels():
    for mask in everything():
        other = other_of(mask)
        a, b = encode(mask), encode(other)
        assert area(a) == mask.sum()
        assert intersection_area(a, b) == (mask & other).sum()
        third = other_of(mask, seed=2)
        np.testing.assert_array_equal(decode(union_of([a, b, encode(third)])), mask | other | third)
        assert union_of([a]) == a


def test_masks_of_two_shapes_do_not_meet():
    with raises(ShapeError, option="masks", value=(3, 2)):
        intersection_area(empty((2, 3)), empty((3, 2)))
    with pytest.raises(ShapeError):
        union_of([empty((2, 3)), empty((3, 2))])


def test_contains_looks_up_every_pixel():
    for mask in everything():
        rows, cols = np.indices(mask.shape)
        np.testing.assert_array_equal(contains(encode(mask), rows, cols), mask)


def test_contains_is_false_outside_the_image():
    full = encode(np.ones((4, 6)))
    # the position down the columns of (-1, 3) and of (4, 1) is that of a marked pixel
    rows = np.array([-1, -1, 4, 4, 0, 0, -0.5, 1e300, np.inf, 3])
    cols = np.array([0, 3, 0, 1, -1, 6, 2, 0, 0, 5])
    assert contains(full, rows, cols).tolist() == [False] * 9 + [True]


def test_a_fraction_lies_in_the_pixel_it_falls_into():
    mask = np.zeros((4, 6), bool)
    mask[2, 3] = True
    rows, cols = np.array([2, 2.99, 3, 1.99]), np.array([3.99, 3, 3, 3])
    assert contains(encode(mask), rows, cols).tolist() == [True, True, False, False]


# --- records from files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "column", "value"),
    [
        ([1, 2], None, None),
        (None, None, None),
        ({"size": [4, 5]}, "counts", None),
        ({"counts": "d0"}, "size", None),
        ({"size": [4, 5, 1], "counts": "d0"}, "size", [4, 5, 1]),
        ({"size": [4.0, 5.0], "counts": "d0"}, "size", [4.0, 5.0]),
        ({"size": [True, 20], "counts": "d0"}, "size", [True, 20]),
        ({"size": [0, 5], "counts": ""}, "size", [0, 5]),
        ({"size": [-4, -5], "counts": "d0"}, "size", [-4, -5]),
        ({"size": [2**20, 2**20], "counts": "d0"}, "size", (2**20, 2**20)),
        # the pixels of all runs
        ({"size": [4, 5], "counts": "<0"}, "counts", 12),
        ({"size": [4, 5], "counts": ""}, "counts", b""),
        # a number that breaks off
        ({"size": [4, 5], "counts": "d"}, "counts", b"d"),
        ({"size": [4, 5], "counts": "5T"}, "counts", b"5T"),
        ({"size": [4, 5], "counts": "d0\n"}, "counts", "\n"),
        ({"size": [4, 5], "counts": b"\xff"}, "counts", "ÿ"),
        ({"size": [4, 5], "counts": "d0ü"}, "counts", "d0ü"),
        # the position of the last character of a number that is too long
        ({"size": [4, 5], "counts": "dPPPPPP0"}, "counts", 7),
        # 26 background pixels, then -6
        ({"size": [4, 5], "counts": "j0J"}, "counts", -6),
        ({"size": [4, 5], "counts": [30, -10]}, "counts", -10),
        ({"size": [4, 5], "counts": [10, 11]}, "counts", 21),
        ({"size": [4, 5], "counts": []}, "counts", 0),
        ({"size": [4, 5], "counts": [20.0]}, "counts", 20.0),
        ({"size": [4, 5], "counts": [[20]]}, "counts", [20]),
        ({"size": [4, 5], "counts": [2**70, 20 - 2**70]}, "counts", 2**70),
        ({"size": [4, 5], "counts": 20}, "counts", 20),
    ],
)
def test_a_damaged_record_is_an_error_that_names_it(given, column, value):
    with raises(InputFileError, column=column, value=value) as caught:
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


def test_a_long_record_with_one_character_changed_is_refused_or_a_mask():
    # a finding of the size that radiographs have, with an uneven edge
    rng = np.random.default_rng(0)
    rows = np.arange(1500)[:, None]
    top = 300 + rng.integers(-9, 10, 1200)
    bottom = 1100 + rng.integers(-9, 10, 1200)
    record = encode((rows >= top) & (rows < bottom)).to_coco()
    assert len(record["counts"]) > 1000
    refused = 0
    for _ in range(200):
        text = bytearray(record["counts"].encode())
        text[rng.integers(len(text))] = rng.integers(48, 112)
        try:
            rle = Rle.from_coco({"size": record["size"], "counts": bytes(text)})
        except InputFileError:
            refused += 1
        else:
            starts, ends = run_starts_and_ends(rle)
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
