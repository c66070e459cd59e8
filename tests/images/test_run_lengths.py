"""Run lengths: against pycocotools and against loops over pixels."""

import numpy as np
import pytest
from pycocotools import mask as coco
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.images.run_lengths import (
    LONGEST_SIDE,
    check_runs_fill_image,
    check_shape,
    checked_run_lengths,
    lengths_of_runs,
    pack,
    shortened_repr,
    unpack,
    without_empty_runs,
)


def lengths_of(pixels):
    """Return run lengths, background first, by walking along the pixels."""
    lengths = [0]
    previous = False
    for pixel in pixels:
        if pixel != previous:
            lengths.append(0)
        lengths[-1] += 1
        previous = pixel
    return lengths


def pixels_of(lengths):
    """Return the pixels of run lengths."""
    pixels = []
    for number, length in enumerate(lengths):
        pixels += [number % 2 == 1] * int(length)
    return pixels


def random_pixels(rng):
    """Return a row of pixels with runs of a random length."""
    density = rng.uniform(0.05, 0.95)
    return np.repeat(rng.random(rng.integers(1, 30)) < density, rng.integers(1, 9)).tolist()


def test_lengths_are_packed_as_pycocotools_packs_them_and_unpacked_again():
    rng = np.random.default_rng(3)
    for _ in range(100):
        # differences of all sizes and both signs, up to six characters a number
        lengths = np.ceil(10 ** rng.uniform(0, 5.5, rng.integers(1, 20))).astype(np.int64)
        shape = (1, int(lengths.sum()))
        counts = coco.frPyObjects({"size": shape, "counts": lengths.tolist()}, *shape)["counts"]
        assert pack(lengths, shape) == counts
        unpacked, is_shortest = unpack(counts)
        assert unpacked.tolist() == lengths.tolist()
        assert is_shortest


@pytest.mark.parametrize(
    ("counts", "lengths", "is_shortest"),
    [
        (b"343", [3, 4, 3], True),
        # a second character that repeats the sign of the first is redundant
        (b"S043", [3, 4, 3], False),
        (b"S0T03", [3, 4, 3], False),
        # 16 needs its second character, without which it is -16; so does -17 beside 15
        (b"`0", [16], True),
        (b"?", [15], True),
        (b"@", [-16], True),
        (b"_O", [-17], True),
        (b"PO", [-32], True),
        (b"nO", [-2], False),
        # from the fourth on, a number is the difference to the last but one
        (b"3431", [3, 4, 3, 5], True),
        (b"343N", [3, 4, 3, 2], True),
        # the third is no difference
        (b"3437", [3, 4, 3, 11], True),
    ],
)
def test_counts_are_numbers_of_five_bits_a_character(counts, lengths, is_shortest):
    unpacked, shortest = unpack(counts)
    assert unpacked.tolist() == lengths
    assert shortest is is_shortest


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        (b"", b""),
        # a character that counts never have
        (b"d0\n", "\n"),
        (b"\xff", "\xff"),
        (b"/0", "/"),
        (b"0p", "p"),
        # numbers that break off
        (b"d", b"d"),
        (b"5T", b"5T"),
        # the last characters of numbers of more than 7
        (b"dPPPPPP0", 7),
        (b"30dPPPPPP0", 9),
    ],
)
def test_damaged_counts_are_an_error_that_says_where(counts, value):
    with raises(ValueRangeError, option="counts", value=value):
        unpack(counts)


def test_a_number_of_seven_characters_is_read():
    unpacked, _ = unpack(b"PPPPPP1")
    assert unpacked.tolist() == [32**6]


def test_runs_without_pixels_are_merged():
    rng = np.random.default_rng(4)
    for _ in range(200):
        lengths = np.r_[rng.integers(0, 4, rng.integers(1, 12)), rng.integers(1, 4)]
        assert without_empty_runs(lengths).tolist() == lengths_of(pixels_of(lengths))


def test_foreground_runs_become_lengths_and_touching_ones_are_joined():
    rng = np.random.default_rng(5)
    for _ in range(200):
        pixels = random_pixels(rng)
        starts = [i for i, pixel in enumerate(pixels) if pixel]
        ends = [start + 1 for start in starts]
        # each foreground pixel is a run that touches its neighbour
        assert lengths_of_runs(
            np.array(starts, int), np.array(ends, int), len(pixels)
        ).tolist() == lengths_of(pixels)


def test_runs_must_fill_the_image():
    check_runs_fill_image(np.array([5, 10, 5]), (4, 5))
    check_runs_fill_image(np.array([0, 20]), (4, 5))
    with raises(ValueRangeError, option="counts", value=21):
        check_runs_fill_image(np.array([10, 11]), (4, 5))
    with raises(ValueRangeError, option="counts", value=-6):
        check_runs_fill_image(np.array([26, -6]), (4, 5))


def test_uncompressed_counts_are_whole_numbers_of_some_image():
    lengths = checked_run_lengths([3, np.int32(4), 2**31 - 1])
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [3, 4, 2**31 - 1]
    for counts, value in [([20.0], 20.0), ([True], True), ([[20]], [20]), ([3, -(2**31)], -(2**31))]:
        with raises(ValueRangeError, option="counts", value=value):
            checked_run_lengths(counts)


@pytest.mark.parametrize(
    "shape", [None, 5, "45", (4,), (4, 5, 1), (4.0, 5.0), (True, 20), (0, 5), (4, -5), {4, 5}]
)
def test_a_shape_is_two_positive_whole_numbers(shape):
    with raises(ValueRangeError, option="size", value=shape):
        check_shape(shape, "size")


def test_a_shape_may_be_a_list_of_numpy_numbers():
    shape = check_shape([np.int16(1), np.uint8(9)])
    assert shape == (1, 9)
    assert all(type(side) is int for side in shape)


def test_an_image_that_is_too_large_is_an_error_that_says_of_what():
    assert check_shape((1, LONGEST_SIDE)) == (1, LONGEST_SIDE)
    with raises(ValueRangeError, option="shape", value=(1, 16777217)):
        check_shape((1, LONGEST_SIDE + 1))
    with raises(ValueRangeError, option="shape"):
        check_shape((10**400, 1))
    with raises(ValueRangeError, option="shape", value=(65536, 32768)):
        check_shape((2**16, 2**15))


def test_long_values_are_cut_in_messages():
    assert shortened_repr("x" * 58) == repr("x" * 58)
    assert shortened_repr("x" * 59) == repr("x" * 59)[:57] + "..."
    assert "int" in shortened_repr(10**5000)
