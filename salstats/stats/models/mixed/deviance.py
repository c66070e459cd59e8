"""Profiled deviance of a linear mixed model and its gradient, from crossproducts alone.

V = I + Z Sigma Z' is the covariance of the response divided by sigma^2. Z is the model matrix of the random
effects, Sigma their covariance divided by sigma^2, X the model matrix of the fixed effects, y the response
and W = (X, y). The deviance needs crossproducts of the columns of Z and W, weighted by V^-1. These are
computed in two steps. The blocked columns of Z are eliminated first: for a block with A = Z'Z and the
covariance Sigma, Z'V^-1 Z = (I + A Sigma)^-1 A. No inverse of Sigma is needed, so that variances may be zero.
Then the dense columns are eliminated by one Cholesky factor.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from salstats.stats.models.mixed.crossproducts import Batch, Crossproducts
from salstats.stats.models.mixed.terms import RandomTerm, theta_entries


class WeightedProducts(NamedTuple):
    """Crossproducts weighted by V^-1.

    V_B is V with the random effects of the blocks alone, and D are the dense columns of Z.
    Z'V^-1 Z = Z'V_B^-1 Z - loadings' loadings.
    """

    log_determinant: float  # log |V|
    blocks: list[np.ndarray]  # for each batch, Z'V_B^-1 Z of its blocks, (n_blocks, size, size)
    dense_products: np.ndarray  # Z'V_B^-1 D, (n_columns, n_dense)
    loadings: np.ndarray  # (n_dense, n_columns)
    z_by_w: np.ndarray  # Z'V^-1 W, (n_columns, n_w)
    w_by_w: np.ndarray  # W'V^-1 W, (n_w, n_w)


class Evaluation(NamedTuple):
    """The deviance of a model at given relative covariances, with its gradient and intermediate results."""

    # -2 log likelihood (restricted or not) at the best coefficients and, unless it was given, the best sigma
    deviance: float
    df: int  # n - p for the restricted likelihood, else n
    variance: float  # sigma^2
    coefficients: np.ndarray  # b, (p,)
    cholesky_factor: np.ndarray  # lower Cholesky factor of X'V^-1 X, (p, p)
    rss: float  # (y - X b)' V^-1 (y - X b)
    # For each term, the gradient G (n_effects, n_effects) by its relative covariance Sigma: d deviance =
    # trace(G d Sigma)
    gradients: list[np.ndarray]
    residual_products: list[np.ndarray]  # for each term, Z'V^-1 (y - X b), (n_levels, n_effects)
    fixed_products: list[np.ndarray]  # for each term, Z'V^-1 X, (n_levels, n_effects, p)
    weighted: WeightedProducts


def evaluate_deviance(
    products: Crossproducts,
    relative_factors: Sequence[np.ndarray],
    *,
    reml: bool,
    sigma: float | None = None,
) -> Evaluation:
    """Return the deviance and its gradient at the terms' Lambda, which may be singular.

    Without `sigma` the deviance is profiled: it is that of the best sigma. It is log |V| + df log(2 pi
    sigma^2) + rss / sigma^2, for REML plus log |X'V^-1 X|.
    """
    weighted = _products_weighted_by_inverse_covariance(products, relative_factors)
    x_by_x = weighted.w_by_w[:-1, :-1]
    x_by_y = weighted.w_by_w[:-1, -1]
    cholesky_factor = cholesky(x_by_x, lower=True)
    coefficients = cho_solve((cholesky_factor, True), x_by_y)
    rss = float(weighted.w_by_w[-1, -1] - x_by_y @ coefficients)
    df = products.n_rows
    if reml:
        df = products.n_rows - len(cholesky_factor)
    variance = rss / df if sigma is None else sigma**2
    deviance = weighted.log_determinant + df * np.log(2 * np.pi * variance) + rss / variance
    if reml:
        deviance += 2 * np.log(np.diag(cholesky_factor)).sum()

    gradients = []
    residual_products = []
    fixed_products = []
    inverse = cho_solve((cholesky_factor, True), np.eye(len(cholesky_factor)))
    for term, columns in enumerate(products.term_columns):
        z_by_w = weighted.z_by_w[columns]
        z_by_x = z_by_w[:, :, :-1]
        z_by_residual = z_by_w[:, :, -1] - z_by_x @ coefficients
        term_gradient = _weighted_z_by_z_summed_over_levels(products, weighted, term)
        term_gradient = term_gradient - z_by_residual.T @ z_by_residual / variance
        if reml:
            # Derivative of log |X'V^-1 X|: -Z'V^-1 X (X'V^-1 X)^-1 X'V^-1 Z, summed over levels
            term_gradient -= np.tensordot(z_by_x @ inverse, z_by_x, axes=([0, 2], [0, 2]))
        gradients.append(term_gradient)
        residual_products.append(z_by_residual)
        fixed_products.append(z_by_x)
    return Evaluation(
        deviance=deviance,
        df=df,
        variance=variance,
        coefficients=coefficients,
        cholesky_factor=cholesky_factor,
        rss=rss,
        gradients=gradients,
        residual_products=residual_products,
        fixed_products=fixed_products,
        weighted=weighted,
    )


def theta_gradient(
    evaluation: Evaluation, relative_factors: Sequence[np.ndarray], terms: Sequence[RandomTerm]
) -> np.ndarray:
    """Return the derivatives of the deviance by theta."""
    # Sigma = Lambda Lambda', so that d deviance = trace(G d Sigma) = trace(2 Lambda'G d Lambda)
    by_lambda = [
        2 * (term_gradient @ relative_factor)
        for term_gradient, relative_factor in zip(evaluation.gradients, relative_factors, strict=True)
    ]
    return theta_entries(by_lambda, terms)


def _products_weighted_by_inverse_covariance(
    products: Crossproducts, relative_factors: Sequence[np.ndarray]
) -> WeightedProducts:
    """Return the crossproducts weighted by V^-1 at the terms' Lambda, with its log determinant."""
    n_blocked = products.n_blocked_columns
    n_dense = products.n_dense_columns
    term_covariances = np.concatenate([(factor @ factor.T).ravel() for factor in relative_factors])
    log_determinant = 0.0
    unblocked_products = products.unblocked_products.copy()
    n_unblocked = len(unblocked_products)
    blocks = []
    z_by_dense_and_w = np.empty((products.n_columns, n_unblocked))
    for batch in products.batches:
        size = batch.products.shape[1]
        covariances = batch.block_covariances(term_covariances)
        batch_log_determinant, weighted_rows = _summed_log_determinant_and_solved_block_products(
            batch, covariances
        )
        log_determinant += batch_log_determinant
        blocks.append(weighted_rows[:, :, :size])
        z_by_dense_and_w[batch.columns] = weighted_rows[:, :, size:].reshape(-1, n_unblocked)
        # Sigma times the products, without a matrix product for blocks of one column
        if size == 1:
            covariance_products = batch.products[:, :, size:] * covariances
        else:
            covariance_products = covariances @ batch.products[:, :, size:]
        covariance_products = covariance_products.reshape(-1, n_unblocked)
        unblocked_products -= covariance_products.T @ z_by_dense_and_w[batch.columns]
    z_by_dense_and_w[n_blocked:] = unblocked_products[:n_dense]
    dense_products = z_by_dense_and_w[:, :n_dense]
    z_by_w = z_by_dense_and_w[:, n_dense:]
    w_by_w = unblocked_products[n_dense:, n_dense:]
    loadings = np.zeros((0, products.n_columns))
    if n_dense:
        # By Woodbury's identity, with M = (Z, W)'V_B^-1 D Lambda and R R' = I + Lambda'D'V_B^-1 D Lambda, the
        # dense columns take M (R R')^-1 M' = (R^-1 M')' (R^-1 M') from the products.
        scaled = np.vstack([dense_products, unblocked_products[n_dense:, :n_dense]])
        scaled = _times_lambda_of_dense_columns(scaled, products, relative_factors)
        dense_scaled = scaled[n_blocked : products.n_columns]
        dense_covariance = np.eye(n_dense) + _times_lambda_of_dense_columns(
            dense_scaled.T, products, relative_factors
        )
        root = cholesky(dense_covariance, lower=True)
        log_determinant += 2 * float(np.log(np.diag(root)).sum())
        all_loadings = solve_triangular(root, scaled.T, lower=True)
        loadings = all_loadings[:, : products.n_columns]
        w_loadings = all_loadings[:, products.n_columns :]
        z_by_w = z_by_w - loadings.T @ w_loadings
        w_by_w = w_by_w - w_loadings.T @ w_loadings
    return WeightedProducts(log_determinant, blocks, dense_products, loadings, z_by_w, w_by_w)


class _LogDeterminantAndSolvedRows(NamedTuple):
    """Log determinant and weighted products of a batch of blocks that was eliminated."""

    log_determinant: float  # summed over the blocks
    weighted_products: np.ndarray  # (n_blocks, size, size + n_dense + n_w)


def _summed_log_determinant_and_solved_block_products(
    batch: Batch, covariances: np.ndarray
) -> _LogDeterminantAndSolvedRows:
    """Return log |I + A Sigma| summed over the blocks, and (I + A Sigma)^-1 times the batch's products.

    A is Z'Z of a block, the first columns of its products.
    """
    size = batch.products.shape[1]
    z_by_z = batch.products[:, :, :size]
    if size == 1:
        determinants = 1 + z_by_z * covariances
        return _LogDeterminantAndSolvedRows(float(np.log(determinants).sum()), batch.products / determinants)
    system = np.eye(size) + z_by_z @ covariances
    log_determinants = np.linalg.slogdet(system)[1]
    return _LogDeterminantAndSolvedRows(
        float(log_determinants.sum()), np.linalg.solve(system, batch.products)
    )


def _weighted_z_by_z_summed_over_levels(
    products: Crossproducts, weighted: WeightedProducts, term: int
) -> np.ndarray:
    """Return Z'V^-1 Z of each level of a term with itself, summed over the levels, (n_effects, n_effects)."""
    columns = products.term_columns[term]
    loadings = weighted.loadings[:, columns].reshape(-1, columns.shape[1])
    return np.asarray(
        z_by_z_per_level_weighted_by_blocked_terms(products, weighted, term).sum(axis=0)
        - loadings.T @ loadings
    )


def z_by_z_per_level_weighted_by_blocked_terms(
    products: Crossproducts, weighted: WeightedProducts, term: int
) -> np.ndarray:
    """Return Z'V_B^-1 Z of each level of a term with itself, (n_levels, n_effects, n_effects).

    The products of the level's loadings, which V^-1 subtracts from V_B^-1, are not subtracted.
    """
    columns = products.term_columns[term]
    if term in products.dense:
        dense_columns = columns - products.n_blocked_columns
        return np.asarray(weighted.dense_products[columns[:, :, None], dense_columns[:, None, :]])
    level_blocks = np.empty((*columns.shape, columns.shape[1]))
    for batch, block in zip(products.batches, weighted.blocks, strict=True):
        size = block.shape[1]
        is_in_batch = (columns[:, 0] >= batch.columns.start) & (columns[:, 0] < batch.columns.stop)
        rows = columns[is_in_batch] - batch.start
        block_numbers = rows[:, :1, None] // size
        rows_in_block = rows % size
        level_blocks[is_in_batch] = block[block_numbers, rows_in_block[:, :, None], rows_in_block[:, None, :]]
    return level_blocks


def _times_lambda_of_dense_columns(
    dense_columns: np.ndarray, products: Crossproducts, relative_factors: Sequence[np.ndarray]
) -> np.ndarray:
    """Multiply a matrix with one column for each dense column of Z by the Lambda of these columns."""
    scaled = np.empty_like(dense_columns)
    for term in products.dense:
        relative_factor = relative_factors[term]
        columns = products.term_columns[term] - products.n_blocked_columns
        span = slice(columns[0, 0], columns[-1, -1] + 1)
        if len(relative_factor) == 1:
            scaled[:, span] = dense_columns[:, span] * relative_factor[0, 0]
        else:
            by_level = dense_columns[:, span].reshape(len(dense_columns), *columns.shape)
            scaled[:, span] = (by_level @ relative_factor).reshape(len(dense_columns), -1)
    return scaled
