"""Packing of items into pages, stacks or parts: rows of panels, pictures, columns of a table."""

from collections.abc import Sequence
from itertools import accumulate, pairwise


def n_items_per_part_filled_in_order(sizes: Sequence[float], capacity: float) -> list[int]:
    """Return the number of items in each part, filled in order; an item above `capacity` has its own part.

    There is one part at least: no items are one part of 0 items.

    >>> n_items_per_part_filled_in_order([4, 5, 3, 12, 1], capacity=10)
    [2, 1, 1, 1]
    """
    counts = [0]
    free = capacity
    for size in sizes:
        # the tolerance is for sums of sizes that are not exact
        if counts[-1] and size > free + 1e-6:
            counts.append(0)
            free = capacity
        counts[-1] += 1
        free -= size
    return counts


def packed_slices(sizes: Sequence[float], capacity: float) -> list[slice]:
    """Return a slice of the items for each part, as `n_items_per_part_filled_in_order` counts them.

    No items are one empty slice.

    >>> [list("abcde")[part] for part in packed_slices([4, 5, 3, 12, 1], capacity=10)]
    [['a', 'b'], ['c'], ['d'], ['e']]
    """
    ends = accumulate(n_items_per_part_filled_in_order(sizes, capacity), initial=0)
    return [slice(start, stop) for start, stop in pairwise(ends)]
