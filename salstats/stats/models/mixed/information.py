"""Second derivatives of a mixed model's deviance, and the traces that these and Kenward-Roger's are made of.

V = I + Z Sigma Z' and the other symbols are those of `deviance`. A parameter r is an entry of one term's
relative covariance. V changes with it by Z E_r Z', with the same small matrix E_r at each level of the term.
With N = Z'M Z for a symmetric M, trace(M Z E_r Z' M Z E_s Z') = trace(N E_r N E_s). N is never formed: it is
Z'V_B^-1 Z (`WeightedProducts`) minus loadings' loadings.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluation, WeightedProducts
from salstats.stats.models.mixed.terms import RandomTerm


class CovarianceEntry(NamedTuple):
    """A variance or covariance of a term: the position of the term, and the symmetric matrix E."""

    term: int
    matrix: np.ndarray  # (n_effects, n_effects), 1 where the entry stands


def covariance_entries(terms: Sequence[RandomTerm]) -> list[CovarianceEntry]:
    """Return the variances and covariances of the terms, in the order of theta."""
    entries = []
    for k, term in enumerate(terms):
        for row, column in zip(*term.theta_positions, strict=True):
            matrix = np.zeros((len(term.effects), len(term.effects)))
            matrix[row, column] = 1.0
            matrix[column, row] = 1.0
            entries.append(CovarianceEntry(k, matrix))
    return entries


def entry_times(products: Crossproducts, entry: CovarianceEntry, rows: np.ndarray) -> np.ndarray:
    """Return E_r times a matrix with one row for each column of Z; rows of other terms become zero."""
    columns = products.term_columns[entry.term]
    result = np.zeros_like(rows)
    result[columns] = np.einsum("ij,lj...->li...", entry.matrix, rows[columns])
    return result


def weighted_products_times(
    products: Crossproducts, weighted: WeightedProducts, loadings: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return N times a matrix with one row for each column of Z."""
    n_blocked = products.n_blocked
    result = weighted.dense_products @ rows[n_blocked:]
    for batch, block in zip(products.batches, weighted.blocks, strict=True):
        block_rows = rows[batch.columns].reshape(*block.shape[:2], -1)
        result[batch.columns] += (block @ block_rows).reshape(-1, rows.shape[1])
    result[n_blocked:] += weighted.dense_products[:n_blocked].T @ rows[:n_blocked]
    return np.asarray(result - loadings.T @ (loadings @ rows))


def traces(
    products: Crossproducts,
    weighted: WeightedProducts,
    loadings: np.ndarray,
    entries: Sequence[CovarianceEntry],
) -> np.ndarray:
    """Return trace(N E_r N E_s) of each pair of entries, (m, m)."""
    n_blocked = products.n_blocked
    dense = [k for k, entry in enumerate(entries) if entry.term in products.dense]
    blocked = [k for k, entry in enumerate(entries) if entry.term not in products.dense]
    dense_entries = [entries[k] for k in dense]
    blocked_entries = [entries[k] for k in blocked]
    # N of the dense columns with the blocked ones, and with each other
    dense_loadings = loadings[:, n_blocked:]
    dense_by_blocked = weighted.dense_products[:n_blocked].T - dense_loadings.T @ loadings[:, :n_blocked]
    dense_by_dense = weighted.dense_products[n_blocked:] - dense_loadings.T @ dense_loadings

    result = np.zeros((len(entries), len(entries)))
    result[np.ix_(blocked, blocked)] = _blocked_traces(products, weighted, loadings, blocked_entries)
    mixed_traces = _mixed_traces(products, dense_by_blocked, blocked_entries, dense_entries)
    result[np.ix_(blocked, dense)] = mixed_traces
    result[np.ix_(dense, blocked)] = mixed_traces.T
    result[np.ix_(dense, dense)] = _dense_traces(products, dense_by_dense, dense_entries)
    return result


def _blocked_traces(
    products: Crossproducts,
    weighted: WeightedProducts,
    loadings: np.ndarray,
    entries: Sequence[CovarianceEntry],
) -> np.ndarray:
    """Return trace(N E_r N E_s) of each pair of entries of blocked terms.

    Between two blocks N is -loadings' loadings. The trace is the sum over the diagonal blocks of N, plus the
    trace with loadings' loadings in place of N, less its sum over the diagonal blocks.
    """
    result = np.zeros((len(entries), len(entries)))
    for batch, block in zip(products.batches, weighted.blocks, strict=True):
        block_loadings = loadings[:, batch.columns].reshape(-1, *block.shape[:2]).transpose(1, 2, 0)
        loading_products = block_loadings @ block_loadings.transpose(0, 2, 1)
        for sign, n_block in ((1, block - loading_products), (-1, loading_products)):
            n_times_entries = [
                n_block @ batch.block_covariances(_term_covariances(products, entry)) for entry in entries
            ]
            for r, n_times_r in enumerate(n_times_entries):
                for s, n_times_s in enumerate(n_times_entries):
                    result[r, s] += sign * np.einsum("nij,nji->", n_times_r, n_times_s)
    quadratic_forms = [_quadratic_form(products, entry, loadings) for entry in entries]
    for r, form_r in enumerate(quadratic_forms):
        for s, form_s in enumerate(quadratic_forms):
            result[r, s] += np.vdot(form_r, form_s)
    return result


def _mixed_traces(
    products: Crossproducts,
    dense_by_blocked: np.ndarray,
    blocked_entries: Sequence[CovarianceEntry],
    dense_entries: Sequence[CovarianceEntry],
) -> np.ndarray:
    """Return trace(N E_r N E_s) for entries r of blocked terms and s of dense ones."""
    result = np.zeros((len(blocked_entries), len(dense_entries)))
    for r, blocked_entry in enumerate(blocked_entries):
        quadratic_form = _quadratic_form(products, blocked_entry, dense_by_blocked)
        for s, dense_entry in enumerate(dense_entries):
            columns = products.term_columns[dense_entry.term] - products.n_blocked
            level_blocks = quadratic_form[columns[:, :, None], columns[:, None, :]]
            result[r, s] = np.vdot(level_blocks.sum(axis=0), dense_entry.matrix)
    return result


def _dense_traces(
    products: Crossproducts, dense_by_dense: np.ndarray, entries: Sequence[CovarianceEntry]
) -> np.ndarray:
    """Return trace(N E_r N E_s) of each pair of entries of dense terms."""
    result = np.zeros((len(entries), len(entries)))
    columns = [products.term_columns[entry.term] - products.n_blocked for entry in entries]
    n_times_entries = [
        _times_entry(dense_by_dense, entry, entry_columns)
        for entry, entry_columns in zip(entries, columns, strict=True)
    ]
    for r, n_times_r in enumerate(n_times_entries):
        for s, n_times_s in enumerate(n_times_entries):
            result[r, s] = np.vdot(n_times_r[columns[s].ravel()], n_times_s[columns[r].ravel()].T)
    return result


def _term_covariances(products: Crossproducts, entry: CovarianceEntry) -> np.ndarray:
    """Return the flattened covariances of all terms, with E for the entry's term and zero for the others."""
    covariances = [np.zeros(columns.shape[1] ** 2) for columns in products.term_columns]
    covariances[entry.term] = entry.matrix.ravel()
    return np.concatenate(covariances)


def _times_entry(matrix: np.ndarray, entry: CovarianceEntry, columns: np.ndarray) -> np.ndarray:
    """Return the `columns` (n_levels, n_effects) of a matrix times E_r, (n_rows, n_levels * n_effects)."""
    return np.asarray((matrix[:, columns] @ entry.matrix).reshape(len(matrix), columns.size))


def _quadratic_form(products: Crossproducts, entry: CovarianceEntry, matrix: np.ndarray) -> np.ndarray:
    """Return A E_r A' for a matrix A whose columns are the first columns of Z."""
    columns = products.term_columns[entry.term]
    return np.asarray(_times_entry(matrix, entry, columns) @ matrix[:, columns.ravel()].T)


def restricted_loadings(evaluation: Evaluation, *, reml: bool) -> np.ndarray:
    """Return the loadings for M = V^-1, or with `reml` for M = P.

    P = V^-1 - V^-1 X (X'V^-1 X)^-1 X'V^-1.
    """
    weighted = evaluation.weighted
    if not reml:
        return weighted.loadings
    z_by_x = weighted.z_by_w[:, :-1]
    fixed_loadings = solve_triangular(evaluation.cholesky_factor, z_by_x.T, lower=True)
    return np.vstack([weighted.loadings, fixed_loadings])


def hessian(
    products: Crossproducts,
    terms: Sequence[RandomTerm],
    relative_factors: Sequence[np.ndarray],
    evaluation: Evaluation,
    *,
    reml: bool,
    sigma: float | None = None,
) -> np.ndarray:
    """Compute the second derivatives of the deviance by theta or, given sigma, by theta and sigma.

    Without `sigma` the deviance is profiled over sigma. `evaluation` is made with the same `reml` and
    `sigma`.
    """
    entries = covariance_entries(terms)
    weighted = evaluation.weighted
    df = evaluation.df
    variance = evaluation.variance
    entry_traces = traces(products, weighted, restricted_loadings(evaluation, reml=reml), entries)
    z_by_x = weighted.z_by_w[:, :-1]
    z_by_y = weighted.z_by_w[:, -1]
    z_by_residual = (z_by_y - z_by_x @ evaluation.coefficients)[:, None]
    changes = np.hstack([entry_times(products, entry, z_by_residual) for entry in entries])
    # the second derivatives of rss contain P for the restricted likelihood and for the full one
    p_loadings = restricted_loadings(evaluation, reml=True)
    p_times_changes = weighted_products_times(products, weighted, p_loadings, changes)
    by_entries = -entry_traces + 2 * changes.T @ p_times_changes / variance
    rss_slopes = changes.T @ z_by_residual  # -d rss / d entry
    if sigma is None:
        by_entries -= rss_slopes @ rss_slopes.T / (df * variance**2)
    jacobian, entry_curvature = _entry_derivatives(terms, relative_factors, evaluation.gradients)
    by_theta = np.asarray(jacobian.T @ by_entries @ jacobian + entry_curvature)
    if sigma is None:
        return by_theta
    by_theta_and_sigma = 2 * jacobian.T @ rss_slopes / sigma**3
    by_sigma = np.array([[6 * evaluation.rss / sigma**4 - 2 * df / sigma**2]])
    return np.block([[by_theta, by_theta_and_sigma], [by_theta_and_sigma.T, by_sigma]])


def _entry_derivatives(
    terms: Sequence[RandomTerm], relative_factors: Sequence[np.ndarray], gradients: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian of the entries by theta, and what their curvature adds to the deviance's Hessian.

    Entry (a, b) of Lambda Lambda' is the sum over c of Lambda[a, c] Lambda[b, c]. Its derivative by
    Lambda[i, c] is Lambda[b, c] where a = i, plus Lambda[a, c] where b = i. With G the gradient of the
    deviance by the covariance, the second derivative by Lambda[i, c] and Lambda[j, c] adds 2 G[i, j].
    """
    n_parameters = sum(term.n_parameters for term in terms)
    jacobian = np.zeros((n_parameters, n_parameters))
    curvature = np.zeros((n_parameters, n_parameters))
    start = 0
    for term, relative_factor, gradient in zip(terms, relative_factors, gradients, strict=True):
        rows, columns = term.theta_positions
        span = slice(start, start + term.n_parameters)
        by_first_row = np.where(np.equal.outer(rows, rows), relative_factor[np.ix_(columns, columns)], 0.0)
        by_second_row = np.where(np.equal.outer(columns, rows), relative_factor[np.ix_(rows, columns)], 0.0)
        same_column = np.equal.outer(columns, columns)
        jacobian[span, span] = by_first_row + by_second_row
        curvature[span, span] = np.where(same_column, 2 * gradient[np.ix_(rows, rows)], 0.0)
        start += term.n_parameters
    return jacobian, curvature
