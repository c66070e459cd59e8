"""Types of lines that can be told apart in grey."""

from typing import Any

#: As many as the palette has colours; pairs are lengths of dash and gap.
LINETYPES: tuple[Any, ...] = (
    "solid",
    "dashed",
    "dotted",
    "dashdot",
    (0, (8, 2)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (3, 1)),
    (0, (8, 2, 2, 2)),
)


def line_types(n: int) -> list[Any]:
    """Return a type for each of n lines; beyond the eighth they repeat."""
    return [LINETYPES[i % len(LINETYPES)] for i in range(n)]
