from fractions import Fraction

import numpy as np
import pytest

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.consensus import consensus
from salstats.images.masks import encode, union_of

# how many of the three readers mark each pixel: 0, 1, 2 or 3
THREE = [
    np.array([[0, 1, 1, 1], [0, 0, 1, 1]], bool),
    np.array([[0, 0, 1, 1], [0, 1, 0, 1]], bool),
    np.array([[0, 0, 0, 1], [0, 0, 1, 1]], bool),
]
VOTES = np.array([[0, 1, 2, 3], [0, 1, 2, 3]])


def test_the_votes_are_what_the_tests_say():
    np.testing.assert_array_equal(sum(mask.astype(int) for mask in THREE), VOTES)


@pytest.mark.parametrize(
    ("share", "least"),
    [
        (0.01, 1),
        (1 / 3, 1),
        (Fraction(1, 3), 1),
        (0.34, 2),
        (0.5, 2),
        (2 / 3, 2),
        (0.67, 3),
        (1, 3),
        (1.0, 3),
        (np.int64(1), 3),
        (np.float64(0.5), 2),
    ],
)
def test_three_readers_by_hand(share, least):
    found = consensus(THREE, share=share)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, VOTES >= least)


def test_half_is_the_default_and_half_of_an_even_number_is_enough():
    np.testing.assert_array_equal(consensus(THREE), VOTES >= 2)
    np.testing.assert_array_equal(consensus(THREE[:2]), THREE[0] | THREE[1])
    np.testing.assert_array_equal(consensus(THREE[:2], share=0.51), THREE[0] & THREE[1])


def test_a_share_written_as_a_float_is_the_fraction_that_is_meant():
    # column k is marked by k of the n readers, so that the first column marked is the least number
    traps = 0
    for n in range(1, 31):
        masks = [np.arange(n + 1)[np.newaxis] > reader for reader in range(n)]
        for part in range(1, n + 1):
            # counting up in steps, as shares come out of other arithmetic
            for share in (part / n, 1 - (n - part) / n, part * (1 / n)):
                traps += np.ceil(share * n) != part
                if share <= 1:
                    assert np.argmax(consensus(masks, share=share)) == part
    # in floats it goes wrong this often
    assert traps > 10


def test_shares_too_small_for_any_fraction_take_one_reader():
    for share in (1e-9, 5e-324):
        np.testing.assert_array_equal(consensus(THREE, share=share), VOTES >= 1)


def test_one_reader_is_the_truth():
    for share in (0.1, 0.5, 1):
        np.testing.assert_array_equal(consensus(THREE[:1], share=share), THREE[0])


def test_who_marks_nothing_counts_as_a_reader():
    nothing = np.zeros((2, 4), bool)
    np.testing.assert_array_equal(consensus([*THREE, nothing, nothing]), VOTES >= 3)
    assert not consensus([nothing, nothing]).any()


def test_many_readers_do_not_overflow():
    masks = [THREE[0]] * 300
    np.testing.assert_array_equal(consensus(masks, share=1), THREE[0])


def test_codes_and_stacks_are_taken_and_left_as_they_are():
    codes = [encode(mask) for mask in THREE]
    for share in (0.2, 0.5, 1):
        expected = consensus(THREE, share=share)
        np.testing.assert_array_equal(consensus(codes, share=share), expected)
        np.testing.assert_array_equal(consensus([codes[0], *THREE[1:]], share=share), expected)
        stack = np.array(THREE)
        np.testing.assert_array_equal(consensus(stack, share=share), expected)
        np.testing.assert_array_equal(stack, THREE)
    assert encode(consensus(codes, share=0.01)) == union_of(codes)


@pytest.mark.parametrize("share", [0, -0.5, 1.01, np.nan, np.inf, "half", None, True])
def test_a_share_out_of_range_is_named(share):
    with pytest.raises(ValueRangeError, match="share must lie above 0 and at most at 1, not"):
        consensus(THREE, share=share)


def test_damaged_masks_are_named():
    with pytest.raises(ValueRangeError, match="at least one mask"):
        consensus([])
    with pytest.raises(ShapeError, match=r"masks\[0\] \(2, 4\) and masks\[1\] \(4, 2\)"):
        consensus([THREE[0], THREE[1].T])
    with pytest.raises(ValueRangeError, match=r"masks\[1\] must be of bool"):
        consensus([THREE[0], THREE[1] * 0.5])
    with pytest.raises(ShapeError, match=r"masks\[0\] must have two dimensions"):
        consensus(THREE[0])
    with pytest.raises(ValueRangeError, match="masks must be a sequence"):
        consensus(encode(THREE[0]))
