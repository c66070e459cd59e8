"""What fits beside or below each other: rows on pages, pictures in stacks, columns in parts of a table."""

from collections.abc import Sequence


def packed(sizes: Sequence[float], room: float) -> list[int]:
    """How many in a row share each part of so much `room`, in order; what is larger has a part of its own.

    >>> packed([4, 5, 3, 12, 1], room=10)
    [2, 1, 1, 1]
    """
    counts, left = [0], room
    for size in sizes:
        if counts[-1] and size > left + 1e-6:
            counts.append(0)
            left = room
        counts[-1] += 1
        left -= size
    return counts
