"""Random draws of units, as weights of units in replicates, and random signs of units.

All random numbers of bootstrap and sign-flip replicates are drawn here.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import NDArray

from salstats.jobs import one_blas_thread

# Weights in a block: so many that matrix products dominate, and so few that they stay in the cache.
_BLOCK_CELLS = 131_072
# Least replicates in a block: each block reads all sums and counts once.
_BLOCK_ROWS = 32
# Counters of one bincount: so few that they stay in the cache and need no new memory from the system.
_CACHE_CELLS = 12_288
# Multiplications of a matrix product, about 13 ms on one core, below which a second thread saves less time
# than it waits for a core that another process uses.
_FEWEST_MULTIPLICATIONS_FOR_THREADS = 500_000_000


def draw_units(n_replicates: int, n_units: int, rng: np.random.Generator) -> NDArray[np.integer]:
    """Draw n_units units with replacement for each replicate: int32 positions, shape (n_replicates, n_units).

    Drawing the matrix in blocks of rows from one generator gives the same matrix.
    """
    return rng.integers(0, n_units, size=(n_replicates, n_units), dtype=np.int32)


def counts_of_drawn_units(draws: np.ndarray, n_units: int, out: np.ndarray | None = None) -> np.ndarray:
    """Count how often each unit was drawn, float64 of shape (n_replicates, n_units), into `out` if given."""
    counts = np.empty((len(draws), n_units)) if out is None else out
    block_size = max(1, _CACHE_CELLS // n_units)
    for start in range(0, len(draws), block_size):
        block = draws[start : start + block_size]
        # one bincount of all replicates of the block: each counts in a range of n_units numbers of its own
        offsets = np.arange(len(block), dtype=np.int64)[:, None] * n_units
        block_counts = np.bincount((block + offsets).ravel(), minlength=len(block) * n_units)
        counts[start : start + block_size] = block_counts.reshape(len(block), n_units)
    return counts


def weight_blocks(
    n_units: int,
    n_replicates: int,
    rng: np.random.Generator,
    draws: np.ndarray | None = None,
    numbers_per_replicate: int = 0,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of replicates: their positions, and the weights of units in them (n_rows, n_units).

    The weights of the next block overwrite those of the last one.

    Parameters
    ----------
    n_units : int
        Number of units.
    n_replicates : int
        Number of replicates.
    rng : Generator
        Generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones.
    numbers_per_replicate : int
        Numbers that the caller computes per replicate; blocks are smaller if there are more than units.
    """
    n_rows = min(_replicates_per_block(n_units, numbers_per_replicate), n_replicates)
    buffer = np.empty((n_rows, n_units))
    for start in range(0, n_replicates, n_rows):
        rows = slice(start, min(start + n_rows, n_replicates))
        block = draw_units(rows.stop - start, n_units, rng) if draws is None else draws[rows]
        yield rows, counts_of_drawn_units(block, n_units, out=buffer[: len(block)])


def one_thread_if_small(n_units: int, n_columns: int) -> AbstractContextManager[None]:
    """Return a context in which small products of weights and `n_columns` columns use one thread."""
    n_multiplications = _replicates_per_block(n_units) * n_units * n_columns
    if n_multiplications < _FEWEST_MULTIPLICATIONS_FOR_THREADS:
        return one_blas_thread()
    return nullcontext()


def _replicates_per_block(n_units: int, numbers_per_replicate: int = 0) -> int:
    """Return the number of replicates in a block."""
    minimum = _BLOCK_ROWS if numbers_per_replicate <= n_units else 1
    return max(minimum, _BLOCK_CELLS // max(n_units, numbers_per_replicate))


def sign_blocks(n_replicates: int, n_units: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield random signs, -1 or 1, as int8 of shape (rows, n_units), a block of replicates at a time."""
    n_rows = _replicates_per_block(n_units)
    for start in range(0, n_replicates, n_rows):
        shape = (min(n_rows, n_replicates - start), n_units)
        yield 2 * rng.integers(0, 2, size=shape, dtype=np.int8) - 1
