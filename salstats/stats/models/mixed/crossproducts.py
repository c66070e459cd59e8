"""Crossproducts of a mixed model's matrices, in a layout for elimination by blocks; computed once for a fit.

Z, the model matrix of the random effects, has two kinds of columns. The columns of one grouping factor, and
of all factors that are nested in it, form blocks, one for each of its levels. Z'Z is zero between two blocks,
so that these columns are eliminated first, block by block. The columns of the other factors, which are
crossed with it, are dense. The factor that defines the blocks is the one with the least computation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from salstats.memory_limit import check_size
from salstats.stats.models.mixed.terms import RandomTerm

#: Ratio of successive block sizes: blocks are padded to one of these sizes, so that batches are few.
_SIZE_RATIO = 1.15


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Blocks of equal size with their rows of Z'Z, Z'D and Z'W, D being the dense columns of Z."""

    products: np.ndarray  # (n_blocks, size, size + n_dense + n_w): Z'Z, Z'D and Z'W side by side
    start: int  # first column of the batch in Z
    # The terms' covariance matrices, flattened and concatenated, fill an array (n_blocks, size, size): the
    # entry at source_positions[i] of the former goes to target_positions[i] of the latter, flattened.
    target_positions: NDArray[np.integer]
    source_positions: NDArray[np.integer]

    @property
    def columns(self) -> slice:
        """Columns of the batch in Z."""
        n_blocks, size = self.products.shape[:2]
        return slice(self.start, self.start + n_blocks * size)

    def block_covariances(self, term_covariances: np.ndarray) -> np.ndarray:
        """Return the covariance of each block's effects, (n_blocks, size, size), from the terms' entries."""
        n_blocks, size = self.products.shape[:2]
        covariances = np.zeros(n_blocks * size * size)
        covariances[self.target_positions] = term_covariances[self.source_positions]
        return covariances.reshape(n_blocks, size, size)


@dataclass(frozen=True, eq=False, repr=False)
class Crossproducts:
    """Z'Z, Z'W and W'W of a mixed model, where W is the model matrix and, last, the response."""

    batches: tuple[Batch, ...]
    unblocked_products: np.ndarray  # (n_dense + n_w, n_dense + n_w), crossproducts of the columns of D and W
    # for each term, the columns of its effects in Z, (n_levels, n_effects); those of the batches come first
    term_columns: tuple[NDArray[np.integer], ...]
    dense: tuple[int, ...]  # positions of the terms with dense columns
    n_rows: int
    n_columns: int  # number of columns of Z, including the padding of blocks

    @property
    def n_blocked_columns(self) -> int:
        """Number of columns of Z in blocks."""
        return int(self.batches[-1].columns.stop)

    @property
    def n_dense_columns(self) -> int:
        """Number of columns of Z that are not in blocks."""
        return self.n_columns - self.n_blocked_columns


class _BlockLayout(NamedTuple):
    """The arrangement of the blocked terms' columns in Z."""

    # For each blocked term, its columns in Z, (n_levels, n_effects).
    term_columns: dict[int, NDArray[np.integer]]
    batch_shapes: list[tuple[int, int]]  # number of blocks and their size, in order of the columns
    n_columns: int


def crossproducts(matrix_and_response: np.ndarray, terms: Sequence[RandomTerm]) -> Crossproducts:
    """Return the crossproducts of W, `matrix_and_response` (n, n_w), and of the random terms' columns Z."""
    w = matrix_and_response
    n_rows, n_w = w.shape
    blocked, row_blocks = _blocked_terms_and_row_blocks(terms, n_w)
    layout = _column_layout_of_blocks(terms, blocked, row_blocks)
    n_blocked = layout.n_columns
    dense = tuple(k for k in range(len(terms)) if k not in blocked)
    # The columns of dense terms follow those of the blocked ones.
    columns_by_term = dict(layout.term_columns)
    n_columns = n_blocked
    for k in dense:
        shape = (terms[k].n_levels, len(terms[k].effects))
        n_term_columns = shape[0] * shape[1]
        columns_by_term[k] = n_columns + np.arange(n_term_columns).reshape(shape)
        n_columns += n_term_columns
    term_columns = tuple(columns_by_term[k] for k in range(len(terms)))

    n_dense = n_columns - n_blocked
    n_unblocked = n_dense + n_w
    # About three arrays (n_unblocked, n_columns + n_w) of 8-byte numbers
    n_bytes = 8.0 * 3 * n_unblocked * (n_columns + n_w)
    check_size(n_bytes, "the crossproducts of the random effects")
    z = _random_effects_matrix(terms, term_columns, (n_rows, n_columns))
    z_by_z = sparse.csr_array(z.T @ z)
    z_by_dense_and_w = np.hstack([z_by_z[:, n_blocked:].toarray(), z.T @ w])
    dense_rows = z_by_dense_and_w[n_blocked:]
    w_rows = [dense_rows[:, n_dense:].T, w.T @ w]
    unblocked_products = np.block([[dense_rows], w_rows])
    blocked_by_blocked = z_by_z[:n_blocked, :n_blocked].tocoo()
    batches = _batches_of_blocks(terms, layout, blocked_by_blocked, z_by_dense_and_w)
    return Crossproducts(batches, unblocked_products, term_columns, dense, n_rows, n_columns)


def _random_effects_matrix(
    terms: Sequence[RandomTerm], term_columns: Sequence[NDArray[np.integer]], shape: tuple[int, int]
) -> sparse.csr_array:
    """Return Z, sparse: each row of a term's matrix stands in the columns of the row's level."""
    n_rows = shape[0]
    values = []
    rows = []
    columns = []
    for term, level_columns in zip(terms, term_columns, strict=True):
        # Effect after effect, each for all rows
        values.append(term.matrix.T.ravel())
        rows.append(np.tile(np.arange(n_rows), len(term.effects)))
        columns.append(level_columns[term.codes].T.ravel())
    positions = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(values), positions), shape=shape)


def _blocked_terms_and_row_blocks(
    terms: Sequence[RandomTerm], n_matrix_and_response_columns: int
) -> tuple[tuple[int, ...], NDArray[np.integer]]:
    """Return the positions of the terms to eliminate by blocks, and the block of each row.

    These are the grouping factor that is cheapest to eliminate and all terms nested in it.
    """
    n_columns = [term.n_levels * len(term.effects) for term in terms]
    least_cost = np.inf
    blocked: tuple[int, ...] = ()
    row_blocks: NDArray[np.integer] = np.zeros(len(terms[0].codes), dtype=np.intp)
    for block_term in terms:
        nested = tuple(k for k, term in enumerate(terms) if _is_nested(term, block_term))
        sizes = np.zeros(block_term.n_levels)
        for k in nested:
            n_nested_levels = np.bincount(
                _outer_level_in_inner_levels_last_row(terms[k], block_term), minlength=block_term.n_levels
            )
            sizes += len(terms[k].effects) * n_nested_levels
        n_dense = sum(n for k, n in enumerate(n_columns) if k not in nested)
        width = n_dense + n_matrix_and_response_columns
        # Approximate numbers of operations: to factor each block, apply it to the dense columns and subtract
        # it from their products,
        block_costs = 3 * sizes**3 + 2 * sizes**2 * width + 2 * sizes * width**2 + sizes * n_dense**2
        # and to factor the dense products.
        cost = block_costs.sum() + n_dense**3
        if cost < least_cost:
            least_cost = cost
            blocked = nested
            row_blocks = block_term.codes
    return blocked, row_blocks


def _is_nested(inner: RandomTerm, outer: RandomTerm) -> bool:
    """Return True if each level of the inner factor occurs with a single level of the outer one."""
    if inner is outer:
        return True
    return bool((_outer_level_in_inner_levels_last_row(inner, outer)[inner.codes] == outer.codes).all())


def _outer_level_in_inner_levels_last_row(inner: RandomTerm, outer: RandomTerm) -> np.ndarray:
    """Return the outer factor's level in the last row of each level of the inner factor."""
    parents = np.zeros(inner.n_levels, dtype=np.intp)
    parents[inner.codes] = outer.codes
    return parents


def _column_layout_of_blocks(
    terms: Sequence[RandomTerm], blocked: tuple[int, ...], row_blocks: NDArray[np.integer]
) -> _BlockLayout:
    """Arrange the columns of the blocked terms: blocks in order of their padded size, terms within blocks."""
    n_blocks = int(row_blocks.max()) + 1
    sizes = np.zeros(n_blocks, dtype=np.intp)
    level_blocks = {}  # for each term, the block of each of its levels
    offsets = {}  # for each term, the first column of each of its levels within the block
    for k in blocked:
        n_effects = len(terms[k].effects)
        blocks = np.zeros(terms[k].n_levels, dtype=np.intp)
        blocks[terms[k].codes] = row_blocks
        n_levels = np.bincount(blocks, minlength=n_blocks)
        first_levels = np.cumsum(n_levels) - n_levels
        order = np.argsort(blocks, kind="stable")
        rank_in_block = np.empty_like(order)
        rank_in_block[order] = np.arange(len(order)) - np.repeat(first_levels, n_levels)
        level_blocks[k] = blocks
        offsets[k] = sizes[blocks] + rank_in_block * n_effects
        sizes += n_levels * n_effects
    padded = _sizes_rounded_up_to_series(sizes)
    order = np.argsort(padded, kind="stable")
    starts = np.empty(n_blocks, dtype=np.intp)
    starts[order] = np.cumsum(padded[order]) - padded[order]
    term_columns: dict[int, NDArray[np.integer]] = {}
    for k in blocked:
        level_starts = starts[level_blocks[k]] + offsets[k]
        term_columns[k] = level_starts[:, None] + np.arange(len(terms[k].effects))
    batch_sizes, batch_counts = np.unique(padded, return_counts=True)
    batch_shapes = list(zip(batch_counts.tolist(), batch_sizes.tolist(), strict=True))
    return _BlockLayout(term_columns, batch_shapes, int(padded.sum()))


def _sizes_rounded_up_to_series(sizes: np.ndarray) -> np.ndarray:
    """Round block sizes up to the next size of a series that grows by `_SIZE_RATIO`."""
    series = [1]
    while series[-1] < sizes.max():
        series.append(max(series[-1] + 1, int(series[-1] * _SIZE_RATIO)))
    allowed_sizes = np.array(series)
    return allowed_sizes[np.searchsorted(allowed_sizes, sizes)]


def _batches_of_blocks(
    terms: Sequence[RandomTerm],
    layout: _BlockLayout,
    blocked_by_blocked: sparse.coo_array,
    z_by_dense_and_w: np.ndarray,
) -> tuple[Batch, ...]:
    """Return one batch for each size of blocks, with its crossproducts."""
    # position of each term's first covariance among the entries of all terms
    n_covariances = [len(term.effects) ** 2 for term in terms]
    first_covariances = np.cumsum([0, *n_covariances])
    batches = []
    start = 0
    for n_blocks, size in layout.batch_shapes:
        end = start + n_blocks * size
        products = np.zeros((n_blocks, size, size + z_by_dense_and_w.shape[1]))
        is_in_batch = (blocked_by_blocked.row >= start) & (blocked_by_blocked.row < end)
        row = blocked_by_blocked.row[is_in_batch] - start
        column = blocked_by_blocked.col[is_in_batch] - start
        products[row // size, row % size, column % size] = blocked_by_blocked.data[is_in_batch]
        products[:, :, size:] = z_by_dense_and_w[start:end].reshape(n_blocks, size, -1)
        targets, sources = _block_positions_and_positions_in_term_covariances(
            layout.term_columns, first_covariances, slice(start, end), size
        )
        batches.append(Batch(products, start, targets, sources))
        start = end
    return tuple(batches)


def _block_positions_and_positions_in_term_covariances(
    term_columns: Mapping[int, NDArray[np.integer]], first_covariances: np.ndarray, batch: slice, size: int
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return `Batch.target_positions` and `Batch.source_positions` of the batch with these columns."""
    targets = []
    sources = []
    for k, columns in term_columns.items():
        is_in_batch = (columns[:, 0] >= batch.start) & (columns[:, 0] < batch.stop)
        rows = columns[is_in_batch] - batch.start
        columns_in_block = rows % size
        # the flat position of (block, row, column) is (row counted over all blocks) * size + column
        positions = rows[:, :, None] * size + columns_in_block[:, None, :]
        n_effects = columns.shape[1]
        targets.append(positions.ravel())
        sources.append(np.tile(first_covariances[k] + np.arange(n_effects**2), len(rows)))
    return np.concatenate(targets), np.concatenate(sources)
