"""Second derivatives of a mixed model's deviance, and the uncertainty of variances that follows from them.

V = I + Z Sigma Z' and the other symbols are those of `deviance`. A parameter r is an entry of one term's
relative covariance. V changes with it by Z E_r Z', with the same small matrix E_r at each level of the term.
The derivatives, and Kenward and Roger's adjustment, consist of trace(M Z E_r Z' M Z E_s Z') for a symmetric M
(V^-1, or P of `loadings_with_fixed_if_reml`). With N = Z'M Z this is trace(N E_r N E_s). N is never formed:
it is Z'V_B^-1 Z (`WeightedProducts`) minus loadings' loadings.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluation, WeightedProducts, evaluate_deviance
from salstats.stats.models.mixed.terms import RandomTerm, relative_covariance_factors

#: Eigenvalues of the second derivatives up to this size are rounding errors, as in lmerTest.
_ROUNDING = 1e-8


class CovarianceEntryIndicator(NamedTuple):
    """A variance or covariance of a term: the term's position, and the symmetric indicator matrix E."""

    term: int
    matrix: np.ndarray  # (n_effects, n_effects), 1 where the entry stands


def covariance_entry_indicators(terms: Sequence[RandomTerm]) -> list[CovarianceEntryIndicator]:
    """Return the indicator of each variance and covariance of the terms, in the order of theta."""
    entries = []
    for k, term in enumerate(terms):
        for row, column in zip(*term.theta_positions, strict=True):
            matrix = np.zeros((len(term.effects), len(term.effects)))
            matrix[row, column] = 1.0
            matrix[column, row] = 1.0
            entries.append(CovarianceEntryIndicator(k, matrix))
    return entries


def random_effect_entry_times_rows(
    products: Crossproducts, entry: CovarianceEntryIndicator, rows_by_random_effect: np.ndarray
) -> np.ndarray:
    """Return E_r times a matrix with a row for each random effect; rows of other terms become zero."""
    columns = products.term_columns[entry.term]
    result = np.zeros_like(rows_by_random_effect)
    result[columns] = np.einsum("ij,lj...->li...", entry.matrix, rows_by_random_effect[columns])
    return result


def weighted_less_loading_products_times_matrix(
    products: Crossproducts, weighted: WeightedProducts, loadings: np.ndarray, matrix: np.ndarray
) -> np.ndarray:
    """Return N times a matrix with one row for each column of Z."""
    n_blocked = products.n_blocked_columns
    result = weighted.dense_products @ matrix[n_blocked:]
    for batch, block in zip(products.batches, weighted.blocks, strict=True):
        block_rows = matrix[batch.columns].reshape(*block.shape[:2], -1)
        result[batch.columns] += (block @ block_rows).reshape(-1, matrix.shape[1])
    result[n_blocked:] += weighted.dense_products[:n_blocked].T @ matrix[:n_blocked]
    return np.asarray(result - loadings.T @ (loadings @ matrix))


def entry_pair_traces(
    products: Crossproducts,
    weighted: WeightedProducts,
    loadings: np.ndarray,
    entries: Sequence[CovarianceEntryIndicator],
) -> np.ndarray:
    """Return trace(N E_r N E_s) of each pair of entries, (m, m)."""
    n_blocked = products.n_blocked_columns
    # Positions of the entries of dense and of blocked terms
    dense = [k for k, entry in enumerate(entries) if entry.term in products.dense]
    blocked = [k for k, entry in enumerate(entries) if entry.term not in products.dense]
    dense_entries = [entries[k] for k in dense]
    blocked_entries = [entries[k] for k in blocked]
    # Parts of N: rows of the dense columns of Z by its blocked columns, and by the dense ones
    dense_loadings = loadings[:, n_blocked:]
    dense_by_blocked = weighted.dense_products[:n_blocked].T - dense_loadings.T @ loadings[:, :n_blocked]
    dense_by_dense = weighted.dense_products[n_blocked:] - dense_loadings.T @ dense_loadings

    result = np.zeros((len(entries), len(entries)))
    result[np.ix_(blocked, blocked)] = _entry_pair_traces_of_blocked_terms(
        products, weighted, loadings, blocked_entries
    )
    mixed_traces = _entry_pair_traces_of_blocked_by_dense_terms(
        products, dense_by_blocked, blocked_entries, dense_entries
    )
    result[np.ix_(blocked, dense)] = mixed_traces
    result[np.ix_(dense, blocked)] = mixed_traces.T
    result[np.ix_(dense, dense)] = _entry_pair_traces_of_dense_terms(products, dense_by_dense, dense_entries)
    return result


def _entry_pair_traces_of_blocked_terms(
    products: Crossproducts,
    weighted: WeightedProducts,
    loadings: np.ndarray,
    entries: Sequence[CovarianceEntryIndicator],
) -> np.ndarray:
    """Return trace(N E_r N E_s) of each pair of entries of blocked terms.

    Outside of the diagonal blocks N is -loadings' loadings. So the trace is that of the diagonal blocks of N,
    plus that of all of loadings' loadings, minus that of the diagonal blocks of loadings' loadings.
    """
    result = np.zeros((len(entries), len(entries)))
    for batch, block in zip(products.batches, weighted.blocks, strict=True):
        n_blocks, size = block.shape[:2]
        block_loadings = loadings[:, batch.columns].reshape(-1, n_blocks, size).transpose(1, 2, 0)
        loading_products = block_loadings @ block_loadings.transpose(0, 2, 1)
        # E of each entry, arranged as the diagonal blocks (n_blocks, size, size)
        entry_blocks = [
            batch.block_covariances(_flat_term_covariances_with_only_entry(products, entry))
            for entry in entries
        ]
        result += _entry_pair_traces_of_blocks(block - loading_products, entry_blocks)
        result -= _entry_pair_traces_of_blocks(loading_products, entry_blocks)
    quadratic_forms = [_matrix_times_entry_times_transpose(products, entry, loadings) for entry in entries]
    for r, form_r in enumerate(quadratic_forms):
        for s, form_s in enumerate(quadratic_forms):
            result[r, s] += np.vdot(form_r, form_s)
    return result


def _entry_pair_traces_of_blocks(
    diagonal_blocks: np.ndarray, entry_blocks: Sequence[np.ndarray]
) -> np.ndarray:
    """Return trace(N E_r N E_s) summed over the diagonal blocks of N, for each pair of entries."""
    n_times_entries = [diagonal_blocks @ entry_block for entry_block in entry_blocks]
    result = np.zeros((len(entry_blocks), len(entry_blocks)))
    for r, n_times_r in enumerate(n_times_entries):
        for s, n_times_s in enumerate(n_times_entries):
            result[r, s] = np.einsum("bij,bji->", n_times_r, n_times_s)
    return result


def _entry_pair_traces_of_blocked_by_dense_terms(
    products: Crossproducts,
    dense_by_blocked: np.ndarray,
    blocked_entries: Sequence[CovarianceEntryIndicator],
    dense_entries: Sequence[CovarianceEntryIndicator],
) -> np.ndarray:
    """Return trace(N E_r N E_s) for entries r of blocked terms and s of dense ones."""
    result = np.zeros((len(blocked_entries), len(dense_entries)))
    for r, blocked_entry in enumerate(blocked_entries):
        quadratic_form = _matrix_times_entry_times_transpose(products, blocked_entry, dense_by_blocked)
        for s, dense_entry in enumerate(dense_entries):
            # E_s is zero between two levels, so that only the blocks of each level count.
            columns = products.term_columns[dense_entry.term] - products.n_blocked_columns
            level_blocks = quadratic_form[columns[:, :, None], columns[:, None, :]]
            result[r, s] = np.vdot(level_blocks.sum(axis=0), dense_entry.matrix)
    return result


def _entry_pair_traces_of_dense_terms(
    products: Crossproducts, dense_by_dense: np.ndarray, entries: Sequence[CovarianceEntryIndicator]
) -> np.ndarray:
    """Return trace(N E_r N E_s) of each pair of entries of dense terms."""
    result = np.zeros((len(entries), len(entries)))
    columns = [products.term_columns[entry.term] - products.n_blocked_columns for entry in entries]
    n_times_entries = [
        _matrix_times_entry(dense_by_dense, entry, entry_columns)
        for entry, entry_columns in zip(entries, columns, strict=True)
    ]
    for r, n_times_r in enumerate(n_times_entries):
        for s, n_times_s in enumerate(n_times_entries):
            result[r, s] = np.vdot(n_times_r[columns[s].ravel()], n_times_s[columns[r].ravel()].T)
    return result


def _flat_term_covariances_with_only_entry(
    products: Crossproducts, entry: CovarianceEntryIndicator
) -> np.ndarray:
    """Return E, flattened, at the place of the entry's term, with zeros for the other terms."""
    covariances = [np.zeros(columns.shape[1] ** 2) for columns in products.term_columns]
    covariances[entry.term] = entry.matrix.ravel()
    return np.concatenate(covariances)


def _matrix_times_entry(
    matrix: np.ndarray, entry: CovarianceEntryIndicator, columns: np.ndarray
) -> np.ndarray:
    """Return the `columns` (n_levels, n_effects) of a matrix times E_r, (n_rows, n_levels * n_effects)."""
    return np.asarray((matrix[:, columns] @ entry.matrix).reshape(len(matrix), columns.size))


def _matrix_times_entry_times_transpose(
    products: Crossproducts, entry: CovarianceEntryIndicator, matrix: np.ndarray
) -> np.ndarray:
    """Return A E_r A' for a `matrix` A with a column for each of the first columns of Z."""
    columns = products.term_columns[entry.term]
    return np.asarray(_matrix_times_entry(matrix, entry, columns) @ matrix[:, columns.ravel()].T)


def loadings_with_fixed_if_reml(evaluation: Evaluation, *, reml: bool) -> np.ndarray:
    """Return L such that Z'M Z = Z'V_B^-1 Z - L'L, for M = V^-1 or, with `reml`, for M = P.

    P = V^-1 - V^-1 X (X'V^-1 X)^-1 X'V^-1, and V_B is V with the blocked random effects alone.
    """
    weighted = evaluation.weighted
    if not reml:
        return weighted.loadings
    z_by_x = weighted.z_by_w[:, :-1]
    fixed_loadings = solve_triangular(evaluation.cholesky_factor, z_by_x.T, lower=True)
    return np.vstack([weighted.loadings, fixed_loadings])


def deviance_hessian(
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

    With c_r = E_r Z'V^-1 (y - X b) for the entry r of the covariances, the derivatives of rss are
    -c_r'Z'V^-1 (y - X b), and the second derivatives of the deviance by the entries at a fixed sigma are
    -trace(M Z E_r Z' M Z E_s Z') + 2 c_r'Z'P Z c_s / sigma^2, where M is P for REML, else V^-1. Sigma enters
    the deviance by df log(sigma^2) + rss / sigma^2.
    """
    entries = covariance_entry_indicators(terms)
    weighted = evaluation.weighted
    df = evaluation.df
    variance = evaluation.variance
    entry_traces = entry_pair_traces(
        products, weighted, loadings_with_fixed_if_reml(evaluation, reml=reml), entries
    )
    z_by_x = weighted.z_by_w[:, :-1]
    z_by_y = weighted.z_by_w[:, -1]
    z_by_residual = (z_by_y - z_by_x @ evaluation.coefficients)[:, None]
    # c_r, a column for each entry r
    entries_times_residual = np.hstack(
        [random_effect_entry_times_rows(products, entry, z_by_residual) for entry in entries]
    )
    # The second derivatives of rss contain P in the restricted likelihood and in the full one.
    p_loadings = loadings_with_fixed_if_reml(evaluation, reml=True)
    p_times_entries = weighted_less_loading_products_times_matrix(
        products, weighted, p_loadings, entries_times_residual
    )
    by_entries = -entry_traces + 2 * entries_times_residual.T @ p_times_entries / variance
    rss_decreases = entries_times_residual.T @ z_by_residual
    if sigma is None:
        # The best sigma^2, rss / df, changes with the entries.
        by_entries -= rss_decreases @ rss_decreases.T / (df * variance**2)
    jacobian, entry_curvature = _entry_jacobian_and_hessian_part_of_entry_curvature(
        terms, relative_factors, evaluation.gradients
    )
    by_theta = np.asarray(jacobian.T @ by_entries @ jacobian + entry_curvature)
    if sigma is None:
        return by_theta
    by_theta_and_sigma = 2 * jacobian.T @ rss_decreases / sigma**3
    by_sigma = np.array([[6 * evaluation.rss / sigma**4 - 2 * df / sigma**2]])
    return np.block([[by_theta, by_theta_and_sigma], [by_theta_and_sigma.T, by_sigma]])


def _entry_jacobian_and_hessian_part_of_entry_curvature(
    terms: Sequence[RandomTerm], relative_factors: Sequence[np.ndarray], gradients: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian of the entries by theta (m, m), and a part of the deviance's Hessian (m, m).

    Entry (a, b) of Lambda Lambda' is the sum over c of Lambda[a, c] Lambda[b, c]. Its derivative by
    Lambda[i, c] is Lambda[b, c] if a = i, plus Lambda[a, c] if b = i. The second derivatives of the entries
    make the part of the Hessian: 2 G[i, j] for Lambda[i, c] and Lambda[j, c], G the gradient of the deviance
    by the covariance.
    """
    n_parameters = sum(term.n_parameters for term in terms)
    jacobian = np.zeros((n_parameters, n_parameters))
    curvature = np.zeros((n_parameters, n_parameters))
    start = 0
    for term, relative_factor, gradient in zip(terms, relative_factors, gradients, strict=True):
        rows, columns = term.theta_positions
        span = slice(start, start + term.n_parameters)
        # Entries (a, b) of the covariance are numbered as the entries (row, column) of Lambda in theta.
        by_first_row = np.where(np.equal.outer(rows, rows), relative_factor[np.ix_(columns, columns)], 0.0)
        by_second_row = np.where(np.equal.outer(columns, rows), relative_factor[np.ix_(rows, columns)], 0.0)
        same_column = np.equal.outer(columns, columns)
        jacobian[span, span] = by_first_row + by_second_row
        curvature[span, span] = np.where(same_column, 2 * gradient[np.ix_(rows, rows)], 0.0)
        start += term.n_parameters
    return jacobian, curvature


def theta_and_sigma_covariance(
    products: Crossproducts, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float, *, reml: bool
) -> np.ndarray:
    """Return the covariance of theta and sigma, (m + 1, m + 1): twice the inverse Hessian of the deviance.

    Directions in which the deviance does not rise have no variance: they are treated as known.
    """
    relative_factors = relative_covariance_factors(theta, terms)
    evaluation = evaluate_deviance(products, relative_factors, reml=reml, sigma=sigma)
    second_derivatives = deviance_hessian(
        products, terms, relative_factors, evaluation, reml=reml, sigma=sigma
    )
    # Derivatives by a theta above 1 are multiplied by it, that is, taken by its logarithm, since they vanish
    # as theta grows; the scale of sigma, last, is 1.
    scale = np.append(np.maximum(np.abs(theta), 1.0), 1.0)
    scaled_derivatives = second_derivatives * np.outer(scale, scale)
    eigenvalues, eigenvectors = np.linalg.eigh(scaled_derivatives)
    is_rising = eigenvalues > _ROUNDING
    scaled_root = eigenvectors[:, is_rising] / np.sqrt(eigenvalues[is_rising])
    root = scale[:, None] * scaled_root
    return np.asarray(2 * root @ root.T)


def coefficient_covariance_slopes(
    evaluation: Evaluation, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float
) -> np.ndarray:
    """Return the derivatives of sigma^2 (X'V^-1 X)^-1 by theta and sigma, (m + 1, p, p)."""
    n_coefficients = len(evaluation.cholesky_factor)
    inverse = cho_solve((evaluation.cholesky_factor, True), np.eye(n_coefficients))
    slopes = []
    for z_by_x, relative_factor, term in zip(
        evaluation.fixed_products, relative_covariance_factors(theta, terms), terms, strict=True
    ):
        # A change dSigma of the term's covariance changes V by Z dSigma Z', and (X'V^-1 X)^-1 by
        # B' dSigma B, where B = Z'V^-1 X (X'V^-1 X)^-1. With Sigma = Lambda Lambda' a change of the entry
        # (row, column) of Lambda gives dSigma = e Lambda[:, column]' + Lambda[:, column] e', e the row's unit
        # vector. Axes of B: l levels, i effects, u coefficients
        b = z_by_x @ inverse
        rows, columns = term.theta_positions
        for row, column in zip(rows, columns, strict=True):
            b_times_lambda = np.einsum("liu,i->lu", b, relative_factor[:, column])
            half = b[:, row].T @ b_times_lambda
            slopes.append(sigma**2 * (half + half.T))
    by_sigma = 2 * sigma * inverse
    return np.array([*slopes, by_sigma])
