"""Random draws of units as index matrices, and the weights they give; nothing else here is random."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from salstats.jobs import one_blas_thread

# weights of one block: large enough that matrix products dominate, small enough to stay in the cache
_BLOCK_CELLS = 131_072
# replicates of one block at least: each block reads all sums and counts once
_BLOCK_ROWS = 32
# counters of one bincount: in the cache, and small enough that memory for them is not asked of the system
_CACHE_CELLS = 12_288
# multiplications of a product, about 13 ms on one core, below which a second thread saves less than it waits
# where another process holds its core
_WORTH_A_THREAD = 500_000_000


def draw_units(n_replicates: int, n_units: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as many units as there are, with replacement: int32 positions of shape (n_replicates, n_units).

    Drawing the matrix in blocks of rows from one generator gives the same matrix.
    """
    return rng.integers(0, n_units, size=(n_replicates, n_units), dtype=np.int32)


def draw_counts(draws: np.ndarray, n_units: int, out: np.ndarray | None = None) -> np.ndarray:
    """Count how often each unit was drawn, float64 of shape (n_replicates, n_units), into `out` if given."""
    counts = np.empty((len(draws), n_units)) if out is None else out
    step = max(1, _CACHE_CELLS // n_units)
    for start in range(0, len(draws), step):
        part = draws[start : start + step]
        offset = np.arange(len(part), dtype=np.int64)[:, None] * n_units
        flat = np.bincount((part + offset).ravel(), minlength=len(part) * n_units)
        counts[start : start + step] = flat.reshape(len(part), n_units)
    return counts


def weight_blocks(
    n_units: int,
    n_replicates: int,
    rng: np.random.Generator,
    draws: np.ndarray | None = None,
    per_replicate: int = 0,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield which replicates, and the weights of the units in them, a block of replicates at a time.

    The next block is written over the weights. With `draws` (n_replicates, n_units) nothing is drawn here;
    `per_replicate` numbers are held by the caller beside the weights, and a block must have room for them.
    """
    step = min(_block_rows(n_units, per_replicate), n_replicates)
    room = np.empty((step, n_units))
    for start in range(0, n_replicates, step):
        rows = slice(start, min(start + step, n_replicates))
        part = draw_units(rows.stop - start, n_units, rng) if draws is None else draws[rows]
        yield rows, draw_counts(part, n_units, room[: len(part)])


def few_threads(n_units: int, n_columns: int) -> AbstractContextManager[None]:
    """Keep products of a block of weights with `n_columns` sums to one thread, if small."""
    small = _block_rows(n_units) * n_units * n_columns < _WORTH_A_THREAD
    return one_blas_thread() if small else nullcontext()


def _block_rows(n_units: int, per_replicate: int = 0) -> int:
    """Replicates of one block."""
    least = _BLOCK_ROWS if per_replicate <= n_units else 1
    return max(least, _BLOCK_CELLS // max(n_units, per_replicate))


def sign_blocks(n_replicates: int, n_units: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield random signs, -1 or 1, as int8 of shape (rows, n_units), a block of replicates at a time."""
    step = _block_rows(n_units)
    for start in range(0, n_replicates, step):
        size = (min(step, n_replicates - start), n_units)
        yield 2 * rng.integers(0, 2, size=size, dtype=np.int8) - 1
