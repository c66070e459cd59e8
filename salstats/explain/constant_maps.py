"""Maps that have one value everywhere: they point at nothing, which is said once for each method."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from salstats.checks import warn

#: (maps, constant maps) of each method, where several calls of `explain` belong together.
_COUNTS: ContextVar[tuple[Counter[str], Counter[str]] | None] = ContextVar("_COUNTS", default=None)


@contextmanager
def said_together() -> Iterator[None]:
    """Let calls of `explain` that are made meanwhile say together, at the end, how many maps are constant."""
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    token = _COUNTS.set(counts)
    try:
        yield
    finally:
        _COUNTS.reset(token)
    for method, n_constant in counts[1].items():
        _warn(method, n_constant, counts[0][method])


def say_constant(method: str, maps: np.ndarray) -> None:
    """Warn of maps, shape (n, height, width), that are constant; or count them, to be said together."""
    n_constant = int((maps.max(axis=(1, 2)) == maps.min(axis=(1, 2))).sum())
    counts = _COUNTS.get()
    if counts is not None:
        counts[0][method] += len(maps)
        counts[1][method] += n_constant
    else:
        _warn(method, n_constant, len(maps))


def _warn(method: str, n_constant: int, n: int) -> None:
    """Say that maps are constant, if any is."""
    if n_constant:
        warn(
            f"method {method!r}: {n_constant} of {n} maps have one value everywhere and point at nothing; "
            "they are kept, and scored as empty masks"
        )
