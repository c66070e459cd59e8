"""Profiled deviance of a linear mixed model and its gradient, from crossproducts alone.

With V = I + Z Sigma Z' the covariance of the response over sigma^2, everything that is needed is a product
of columns of Z and of W (the model matrix and the response) with V^-1 between them. Blocks are brought into V
first, R = A (I + Sigma A)^-1 for A = Z'Z of a block, which needs no inverse of Sigma, so that variances may
be zero; then the dense columns, by one Cholesky factor.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.terms import RandomTerm


class Reduced(NamedTuple):
    """Products with V^-1 between them."""

    log_det: float  # log determinant of V
    # (n_blocks, size, size), of the columns of each batch, before the dense ones are in V
    blocks: list[np.ndarray]
    beside: np.ndarray  # (n_columns, n_dense), of all columns and the dense ones, likewise
    # (n_dense, n_columns), products of the columns have loadings' loadings taken away where the dense ones
    # are in V
    loadings: np.ndarray
    outer: np.ndarray  # (n_columns, n_outer), of all columns and W, with all in V
    inner: np.ndarray  # (n_outer, n_outer), of W, with all in V


class Evaluated(NamedTuple):
    """A model at given relative covariances."""

    # -2 log likelihood, restricted or not, at the best coefficients and, unless it was given, sigma
    deviance: float
    coefficients: np.ndarray  # (p,)
    factor: np.ndarray  # (p, p), lower Cholesky factor of X'V^-1 X
    rss: float  # (y - X b)' V^-1 (y - X b)
    # (n_effects, n_effects), derivatives of the deviance by the relative covariance of each term: d deviance
    # = trace(gradient d Sigma)
    gradients: list[np.ndarray]
    # residuals, design: (n_levels, n_effects) and (n_levels, n_effects, p), Z'V^-1 (y - X b) and Z'V^-1 X of
    # each term
    residuals: list[np.ndarray]
    design: list[np.ndarray]
    reduced: Reduced


def evaluate(
    products: Crossproducts, factors: Sequence[np.ndarray], *, reml: bool, sigma: float | None = None
) -> Evaluated:
    """Deviance and gradient at the terms' Lambda, which may be singular; the response is W's last column."""
    reduced = reduce(products, factors)
    inner = reduced.inner
    factor = cholesky(inner[:-1, :-1], lower=True)
    coefficients = cho_solve((factor, True), inner[:-1, -1])
    rss = float(inner[-1, -1] - inner[:-1, -1] @ coefficients)
    df = products.n_rows - len(factor) if reml else products.n_rows
    variance = rss / df if sigma is None else sigma**2
    deviance = reduced.log_det + df * np.log(2 * np.pi * variance) + rss / variance
    if reml:
        deviance += 2 * np.log(np.diag(factor)).sum()
    gradients, residuals, design = [], [], []
    inverse = cho_solve((factor, True), np.eye(len(factor)))
    for term, columns in enumerate(products.columns):
        outer = reduced.outer[columns]
        fixed, response = outer[:, :, :-1], outer[:, :, -1] - outer[:, :, :-1] @ coefficients
        gradient = level_products(products, reduced, term) - response.T @ response / variance
        if reml:
            gradient -= np.tensordot(fixed @ inverse, fixed, axes=([0, 2], [0, 2]))
        gradients.append(gradient)
        residuals.append(response)
        design.append(fixed)
    return Evaluated(deviance, coefficients, factor, rss, gradients, residuals, design, reduced)


def gradient(evaluated: Evaluated, factors: Sequence[np.ndarray], terms: Sequence[RandomTerm]) -> np.ndarray:
    """Derivatives of the deviance by theta."""
    return np.concatenate(
        [
            2 * (g @ factor)[term.places]
            for g, factor, term in zip(evaluated.gradients, factors, terms, strict=True)
        ]
    )


def reduce(products: Crossproducts, factors: Sequence[np.ndarray]) -> Reduced:
    """Bring the terms with these Lambda into V."""
    n_dense, n_blocked = products.n_dense, products.n_blocked
    values = np.concatenate([(factor @ factor.T).ravel() for factor in factors])
    log_det = 0.0
    rest = products.rest.copy()
    blocks = []
    beside = np.empty((products.n_columns, rest.shape[1]))
    for batch in products.batches:
        size = batch.products.shape[1]
        sigma = batch.filled(values)
        if size == 1:
            spread = 1 + batch.products[:, :, :1] * sigma
            log_det += float(np.log(spread).sum())
            solved = batch.products / spread
            weighted = batch.products[:, :, size:] * sigma
        else:
            spread = np.eye(size) + batch.products[:, :, :size] @ sigma
            log_det += float(np.linalg.slogdet(spread)[1].sum())
            solved = np.linalg.solve(spread, batch.products)
            weighted = sigma @ batch.products[:, :, size:]
        blocks.append(solved[:, :, :size])
        beside[batch.columns] = solved[:, :, size:].reshape(-1, rest.shape[1])
        rest -= weighted.reshape(-1, rest.shape[1]).T @ beside[batch.columns]
    beside[n_blocked:] = rest[:n_dense]
    outer, inner = beside[:, n_dense:], rest[n_dense:, n_dense:]
    loadings = np.zeros((0, products.n_columns))
    if n_dense:
        scaled = np.vstack([beside[:, :n_dense], rest[n_dense:, :n_dense]])
        scaled = _times_lambda(scaled, products, factors)
        spread = np.eye(n_dense) + _times_lambda(scaled[n_blocked : products.n_columns].T, products, factors)
        root = cholesky(spread, lower=True)
        log_det += 2 * float(np.log(np.diag(root)).sum())
        across = solve_triangular(root, scaled.T, lower=True)
        loadings, taken = across[:, : products.n_columns], across[:, products.n_columns :]
        outer = outer - loadings.T @ taken
        inner = inner - taken.T @ taken
    return Reduced(log_det, blocks, beside[:, :n_dense], loadings, outer, inner)


def level_products(products: Crossproducts, reduced: Reduced, term: int) -> np.ndarray:
    """Z'V^-1 Z of a term's levels, each with itself, summed: (n_effects, n_effects)."""
    columns = products.columns[term]
    loadings = reduced.loadings[:, columns].reshape(-1, columns.shape[1])
    return level_blocks(products, reduced, term).sum(axis=0) - loadings.T @ loadings


def level_blocks(products: Crossproducts, reduced: Reduced, term: int) -> np.ndarray:
    """Likewise of each level, (n_levels, n_effects, n_effects), before the dense columns are in V."""
    columns = products.columns[term]
    if term in products.dense:
        return reduced.beside[columns[:, :, None], (columns - products.n_blocked)[:, None, :]]
    out = np.empty((*columns.shape, columns.shape[1]))
    for batch, block in zip(products.batches, reduced.blocks, strict=True):
        size = block.shape[1]
        here = (columns[:, 0] >= batch.columns.start) & (columns[:, 0] < batch.columns.stop)
        inside = columns[here] - batch.start
        out[here] = block[
            inside[:, :1, None] // size, (inside % size)[:, :, None], (inside % size)[:, None, :]
        ]
    return out


def _times_lambda(matrix: np.ndarray, products: Crossproducts, factors: Sequence[np.ndarray]) -> np.ndarray:
    """A matrix whose columns are the dense ones, times their Lambda."""
    out = np.empty_like(matrix)
    for term in products.dense:
        columns = products.columns[term] - products.n_blocked
        part = slice(columns[0, 0], columns[-1, -1] + 1)
        if len(factors[term]) == 1:
            out[:, part] = matrix[:, part] * factors[term][0, 0]
        else:
            split = matrix[:, part].reshape(len(matrix), *columns.shape)
            out[:, part] = (split @ factors[term]).reshape(len(matrix), -1)
    return out
