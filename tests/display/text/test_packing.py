"""Packing of items into parts."""

import pytest

from salstats.display.text.packing import n_items_per_part_filled_in_order, packed_slices


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        ([5, 5, 5], [2, 1]),
        ([10, 1], [1, 1]),
        ([11, 11], [1, 1]),
        ([1, 11, 1], [1, 1, 1]),
        ([0.1] * 100, [100]),
        ([], [0]),
    ],
)
def test_parts_are_filled_in_order_and_hold_one_item_at_least(sizes, counts):
    assert n_items_per_part_filled_in_order(sizes, 10) == counts


def test_slices_hold_every_item_once_and_no_items_are_one_empty_slice():
    assert packed_slices([5, 5, 5], 10) == [slice(0, 2), slice(2, 3)]
    assert packed_slices([], 10) == [slice(0, 0)]


def test_sums_that_are_exact_but_for_rounding_fit():
    assert n_items_per_part_filled_in_order([0.1, 0.1, 0.1], 0.3) == [3]
