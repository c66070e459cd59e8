"""Second derivatives of a mixed model's deviance, and the traces that they and Kenward-Roger's are made of.

A parameter r is an entry of a term's covariance over sigma^2: V changes by Z E_r Z', with E_r the same small
matrix at each level of the term. With N = Z'M Z for a symmetric M, trace(M Z E_r Z' M Z E_s Z') = trace(N E_r
N E_s), and N is never formed: it is blocks, and what the dense columns take away (`Reduced`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluated, Reduced
from salstats.stats.models.mixed.terms import RandomTerm


class Entry(NamedTuple):
    """A parameter: which term, and the matrix E, symmetric."""

    term: int
    matrix: np.ndarray


def entries(terms: Sequence[RandomTerm]) -> list[Entry]:
    """The variances and covariances of the terms, in the order of theta."""
    found = []
    for k, term in enumerate(terms):
        for row, column in zip(*term.places, strict=True):
            matrix = np.zeros((len(term.effects), len(term.effects)))
            matrix[row, column] = matrix[column, row] = 1.0
            found.append(Entry(k, matrix))
    return found


def effects_times(products: Crossproducts, entry: Entry, rows: np.ndarray) -> np.ndarray:
    """E_r times a matrix with a row for each column of Z; rows of other terms are zero."""
    columns = products.columns[entry.term]
    out = np.zeros_like(rows)
    out[columns] = np.einsum("ij,lj...->li...", entry.matrix, rows[columns])
    return out


def products_times(
    products: Crossproducts, reduced: Reduced, loadings: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """N times a matrix with a row for each column of Z."""
    n_blocked = products.n_blocked
    out = reduced.beside @ rows[n_blocked:]
    for batch, block in zip(products.batches, reduced.blocks, strict=True):
        inside = rows[batch.columns].reshape(*block.shape[:2], -1)
        out[batch.columns] += (block @ inside).reshape(-1, rows.shape[1])
    out[n_blocked:] += reduced.beside[:n_blocked].T @ rows[:n_blocked]
    return out - loadings.T @ (loadings @ rows)


def traces(
    products: Crossproducts, reduced: Reduced, loadings: np.ndarray, given: Sequence[Entry]
) -> np.ndarray:
    """trace(N E_r N E_s) of each pair of entries."""
    n_blocked = products.n_blocked
    out = np.zeros((len(given), len(given)))
    dense = [k for k, entry in enumerate(given) if entry.term in products.dense]
    blocked = [k for k in range(len(given)) if k not in dense]
    sizes = [len(np.atleast_2d(columns)[0]) ** 2 for columns in products.columns]
    for batch, block in zip(products.batches, reduced.blocks, strict=True):
        part = loadings[:, batch.columns].reshape(-1, *block.shape[:2]).transpose(1, 2, 0)
        taken = part @ part.transpose(0, 2, 1)
        for sign, square in ((1, block - taken), (-1, taken)):
            times = []
            for k in blocked:
                values = [np.zeros(size) for size in sizes]
                values[given[k].term] = given[k].matrix.ravel()
                times.append(square @ batch.filled(np.concatenate(values)))
            for r, first in zip(blocked, times, strict=True):
                for s, second in zip(blocked, times, strict=True):
                    out[r, s] += sign * np.einsum("nij,nji->", first, second)
    across = reduced.beside[:n_blocked].T - loadings[:, n_blocked:].T @ loadings[:, :n_blocked]
    grams = [_gram(products, given[k], loadings) for k in blocked]
    through = [_gram(products, given[k], across) for k in blocked]
    within = reduced.beside[n_blocked:] - loadings[:, n_blocked:].T @ loadings[:, n_blocked:]
    times = [_times_effects(products, given[k], within, n_blocked) for k in dense]
    for i, r in enumerate(blocked):
        for j, s in enumerate(blocked):
            out[r, s] += np.vdot(grams[i], grams[j])
        for s in dense:
            columns = products.columns[given[s].term] - n_blocked
            here = through[i][columns[:, :, None], columns[:, None, :]]
            out[r, s] = out[s, r] = np.vdot(here.sum(axis=0), given[s].matrix)
    for i, r in enumerate(dense):
        for j, s in enumerate(dense):
            mine, other = (products.columns[given[k].term].ravel() - n_blocked for k in (r, s))
            out[r, s] = np.vdot(times[i][other], times[j][mine].T)
    return out


def _times_effects(products: Crossproducts, entry: Entry, rows: np.ndarray, start: int = 0) -> np.ndarray:
    """A matrix with a column for each column of Z from `start` on, times E_r: the columns of its term."""
    columns = products.columns[entry.term] - start
    return (rows[:, columns] @ entry.matrix).reshape(len(rows), columns.size)


def _gram(products: Crossproducts, entry: Entry, rows: np.ndarray) -> np.ndarray:
    """A matrix with a column for each column of Z, times E_r, times its transpose."""
    return _times_effects(products, entry, rows) @ rows[:, products.columns[entry.term].ravel()].T


def restricted_loadings(found: Evaluated, *, reml: bool) -> np.ndarray:
    """Loadings of Z'V^-1 Z, or with REML of Z'P Z, P = V^-1 - V^-1 X (X'V^-1 X)^-1 X'V^-1."""
    if not reml:
        return found.reduced.loadings
    fixed = solve_triangular(found.factor, found.reduced.outer[:, :-1].T, lower=True)
    return np.vstack([found.reduced.loadings, fixed])


def hessian(
    products: Crossproducts,
    terms: Sequence[RandomTerm],
    factors: Sequence[np.ndarray],
    found: Evaluated,
    *,
    reml: bool,
    sigma: float | None = None,
) -> np.ndarray:
    """Second derivatives of the deviance by theta; with sigma, by sigma as well, last."""
    given = entries(terms)
    df = products.n_rows - len(found.factor) if reml else products.n_rows
    variance = found.rss / df if sigma is None else sigma**2
    trace = traces(products, found.reduced, restricted_loadings(found, reml=reml), given)
    residual = (found.reduced.outer[:, -1] - found.reduced.outer[:, :-1] @ found.coefficients)[:, None]
    changed = np.hstack([effects_times(products, entry, residual) for entry in given])
    # rss is quadratic in the covariances' changes through P, whether by REML or not
    through = products_times(products, found.reduced, restricted_loadings(found, reml=True), changed)
    second = -trace + 2 * changed.T @ through / variance
    first = changed.T @ residual
    if sigma is None:
        second -= first @ first.T / (df * variance**2)
    jacobian, bend = _by_theta(terms, factors, found.gradients)
    by_theta = jacobian.T @ second @ jacobian + bend
    if sigma is None:
        return by_theta
    mixed = 2 * jacobian.T @ first / sigma**3
    last = np.array([[6 * found.rss / sigma**4 - 2 * df / sigma**2]])
    return np.block([[by_theta, mixed], [mixed.T, last]])


def _by_theta(
    terms: Sequence[RandomTerm], factors: Sequence[np.ndarray], gradients: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the entries by theta, and what the entries' second derivatives add to the deviance's."""
    m = sum(term.n_parameters for term in terms)
    changes, bends, at = np.zeros((m, m)), np.zeros((m, m)), 0
    for term, factor, slope in zip(terms, factors, gradients, strict=True):
        rows, columns = term.places
        part = slice(at, at + len(rows))
        # entry (a, b) moves with theta (i, c) by Lambda (b, c) where a = i, and Lambda (a, c) where b = i
        changes[part, part] = np.equal.outer(rows, rows) * factor[np.ix_(columns, columns)]
        changes[part, part] += np.equal.outer(columns, rows) * factor[np.ix_(rows, columns)]
        bends[part, part] = 2 * slope[np.ix_(rows, rows)] * np.equal.outer(columns, columns)
        at += len(rows)
    return changes, bends
