"""Crossproducts of a mixed model's matrices, laid out for elimination by blocks; made once for a fit.

Columns of Z are put in two parts. Those of one factor, and of all that are nested in it, fall into
blocks, one per level, between which Z'Z is zero: they are eliminated first, block by block. What is left,
the factors crossed with it, is dense. The factor is chosen so that this costs least.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from salstats.memory_limit import check_size
from salstats.stats.models.mixed.terms import RandomTerm

#: Blocks of about the same size are padded to one, so that there are few sizes.
_STEP = 1.15


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Blocks of one size: their part of Z'Z, then of Z'D and Z'W, with D the dense part of Z."""

    products: np.ndarray  # (n_blocks, size, size + n_dense + n_outer)
    start: int  # where its columns start among all columns
    # fill, source: positions of a (n_blocks, size, size) array, and those of the terms' covariances, put one
    # behind the other, that stand there
    fill: np.ndarray
    source: np.ndarray

    @property
    def columns(self) -> slice:
        """Its columns among all columns."""
        return slice(self.start, self.start + self.products.shape[0] * self.products.shape[1])

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Covariances of each block's effects, (n_blocks, size, size)."""
        n_blocks, size = self.products.shape[:2]
        out = np.zeros(n_blocks * size * size)
        out[self.fill] = values[self.source]
        return out.reshape(n_blocks, size, size)


@dataclass(frozen=True, eq=False, repr=False)
class Crossproducts:
    """Z'Z, Z'W and W'W of a mixed model, W being the model matrix and the response."""

    batches: tuple[Batch, ...]
    # (n_dense + n_outer, n_dense + n_outer), crossproducts of the dense columns of Z and of W
    rest: np.ndarray
    # (n_levels, n_effects), where each term's columns are: those of the batches come first, then the dense
    # ones
    columns: tuple[np.ndarray, ...]
    dense: tuple[int, ...]  # terms whose columns are dense, in order
    # n_rows, n_columns: columns of Z, with the padding of blocks
    n_rows: int
    n_columns: int

    @property
    def n_blocked(self) -> int:
        """Columns of Z in blocks."""
        return self.batches[-1].columns.stop if self.batches else 0

    @property
    def n_dense(self) -> int:
        """Columns of Z that are not in blocks."""
        return self.n_columns - self.n_blocked


def crossproducts(outer: np.ndarray, terms: Sequence[RandomTerm]) -> Crossproducts:
    """The crossproducts of W (n, n_outer) and the terms, each of whose codes and matrix make columns of Z."""
    blocked, levels = _blocked(terms, outer.shape[1])
    places, sizes, n_blocked = _places(terms, blocked, levels)
    dense = tuple(k for k in range(len(terms)) if k not in blocked)
    columns, end = dict(places), n_blocked
    for k in dense:
        shape = (terms[k].n_levels, len(terms[k].effects))
        columns[k] = end + np.arange(shape[0] * shape[1]).reshape(shape)
        end += shape[0] * shape[1]
    n_dense = end - n_blocked
    n_rest = n_dense + outer.shape[1]
    check_size(8.0 * 3 * n_rest * (n_rest + n_blocked), "the crossproducts of the random effects")
    z = sparse.csr_array(
        (
            np.concatenate([t.matrix.T.ravel() for t in terms]),
            (
                np.concatenate([np.tile(np.arange(len(outer)), len(t.effects)) for t in terms]),
                np.concatenate([columns[k][t.codes].T.ravel() for k, t in enumerate(terms)]),
            ),
        ),
        shape=(len(outer), end),
    )
    square = sparse.csr_array(z.T @ z)
    beside = np.hstack([square[:, n_blocked:].toarray(), z.T @ outer])
    rest = np.block([[beside[n_blocked:]], [beside[n_blocked:, n_dense:].T, outer.T @ outer]])
    batches = _batches(terms, places, sizes, square[:n_blocked, :n_blocked].tocoo(), beside)
    return Crossproducts(batches, rest, tuple(columns[k] for k in range(len(terms))), dense, len(outer), end)


def _blocked(terms: Sequence[RandomTerm], n_outer: int) -> tuple[tuple[int, ...], np.ndarray]:
    """Terms to be eliminated by blocks, and each row's block: of the cheapest factor and all nested in it."""
    cheapest = np.inf
    n_columns = [t.n_levels * len(t.effects) for t in terms]
    chosen: tuple[tuple[int, ...], np.ndarray] = ((), np.zeros(len(terms[0].codes), dtype=np.intp))
    for top in terms:
        inside = tuple(k for k, t in enumerate(terms) if _is_nested(t, top))
        sizes = np.zeros(top.n_levels)
        for k in inside:
            sizes += len(terms[k].effects) * np.bincount(_parents(terms[k], top), minlength=top.n_levels)
        rest = sum(n for k, n in enumerate(n_columns) if k not in inside)
        width = rest + n_outer
        # of the blocks, of what they take from the rest, of the rest's own factor and its inverse
        cost = (3 * sizes**3 + 2 * sizes**2 * width + 2 * sizes * width**2 + sizes * rest**2).sum() + rest**3
        if cost < cheapest:
            cheapest, chosen = cost, (inside, top.codes)
    return chosen


def _is_nested(inner: RandomTerm, outer: RandomTerm) -> bool:
    """Whether each level of one factor occurs with one level of another only."""
    return inner is outer or bool((_parents(inner, outer)[inner.codes] == outer.codes).all())


def _parents(inner: RandomTerm, outer: RandomTerm) -> np.ndarray:
    """The level of one factor at which each of another's levels (last) occurs."""
    parents = np.zeros(inner.n_levels, dtype=np.intp)
    parents[inner.codes] = outer.codes
    return parents


def _places(
    terms: Sequence[RandomTerm], blocked: tuple[int, ...], levels: np.ndarray
) -> tuple[dict[int, np.ndarray], list[tuple[int, int]], int]:
    """Columns of the blocked terms; size and number of the blocks of each batch; number of columns."""
    if not blocked:
        return {}, [], 0
    n_blocks = int(levels.max()) + 1
    sizes = np.zeros(n_blocks, dtype=np.intp)
    block_of, local = {}, {}
    for k in blocked:
        block = np.zeros(terms[k].n_levels, dtype=np.intp)
        block[terms[k].codes] = levels
        order = np.argsort(block, kind="stable")
        counts = np.bincount(block, minlength=n_blocks)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        local[k] = sizes[block] + rank * len(terms[k].effects)
        block_of[k] = block
        sizes += counts * len(terms[k].effects)
    padded = _padded(sizes)
    order = np.argsort(padded, kind="stable")
    start = np.empty(n_blocks, dtype=np.intp)
    start[order] = np.cumsum(padded[order]) - padded[order]
    places = {k: (start[block_of[k]] + local[k])[:, None] + np.arange(len(terms[k].effects)) for k in blocked}
    distinct, number = np.unique(padded, return_counts=True)
    return places, list(zip(distinct.tolist(), number.tolist(), strict=True)), int(padded.sum())


def _padded(sizes: np.ndarray) -> np.ndarray:
    """Sizes, raised to one of a series where each is some more than the last."""
    series = [1]
    while series[-1] < sizes.max():
        series.append(max(series[-1] + 1, int(series[-1] * _STEP)))
    steps = np.array(series)
    return steps[np.searchsorted(steps, sizes)]


def _batches(
    terms: Sequence[RandomTerm],
    places: dict[int, np.ndarray],
    sizes: list[tuple[int, int]],
    square: sparse.coo_array,
    beside: np.ndarray,
) -> tuple[Batch, ...]:
    """Blocks of each size, filled."""
    offsets = np.cumsum([0] + [len(t.effects) ** 2 for t in terms])
    batches, start = [], 0
    for size, number in sizes:
        end = start + size * number
        products = np.zeros((number, size, size + beside.shape[1]))
        inside = (square.row >= start) & (square.row < end)
        row, column = square.row[inside] - start, square.col[inside] - start
        products[row // size, row % size, column % size] = square.data[inside]
        products[:, :, size:] = beside[start:end].reshape(number, size, -1)
        fills, sources = [], []
        for k, columns in places.items():
            here = columns[(columns[:, 0] >= start) & (columns[:, 0] < end)] - start
            n_effects = columns.shape[1]
            fills.append((here[:, :, None] * size + (here % size)[:, None, :]).ravel())
            sources.append(np.tile(offsets[k] + np.arange(n_effects**2), len(here)))
        batches.append(Batch(products, start, np.concatenate(fills), np.concatenate(sources)))
        start = end
    return tuple(batches)
