"""Kenward and Roger's covariance of the coefficients of a linear mixed model, adjusted for few levels.

Kenward MG, Roger JH. Small sample inference for fixed effects from restricted maximum likelihood. Biometrics
1997;53:983-997. doi:10.2307/2533558
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluation
from salstats.stats.models.mixed.information import (
    covariance_entry_indicators,
    entry_pair_traces,
    loadings_with_fixed_if_reml,
    random_effect_entry_times_rows,
    weighted_less_loading_products_times_matrix,
)
from salstats.stats.models.mixed.terms import RandomTerm, theta_entries


class AdjustedCovariance(NamedTuple):
    """Covariance of the coefficients divided by sigma^2, and how it depends on the variance parameters.

    The parameters are the variance of the residuals, then the variances and covariances of the terms, all
    divided by sigma^2.
    """

    unadjusted: np.ndarray  # C = (X'V^-1 X)^-1, (p, p)
    adjusted: np.ndarray  # C adjusted by Kenward and Roger, (p, p)
    slopes: np.ndarray  # derivatives of C by the parameters, (m + 1, p, p)
    # covariance of the parameters' estimates by the expected information, (m + 1, m + 1)
    parameter_covariance: np.ndarray


def adjusted_covariance(
    products: Crossproducts,
    terms: Sequence[RandomTerm],
    relative_factors: Sequence[np.ndarray],
    evaluation: Evaluation,
) -> AdjustedCovariance:
    """Compute the adjusted covariance of a model that was fitted by REML.

    V is linear in the parameters: V = sum of r_i V_i, where V_0 = I belongs to the residuals. With
    P = V^-1 - V^-1 X C X'V^-1, the covariance W of the parameters' estimates is twice the inverse of
    trace(P V_i P V_j), and the adjusted covariance is C + 2 C (sum of W_ij X'V^-1 V_i P V_j V^-1 X) C.

    The sums are computed for the matrices (V, V_1, ..., V_m) first, since P V P = P and P V V^-1 X = 0. Then
    they are transformed to (V_0, ..., V_m) by V_0 = V - sum of r_i V_i.
    """
    entries = covariance_entry_indicators(terms)
    n_entries = len(entries)
    n_coefficients = len(evaluation.cholesky_factor)
    # C = (X'V^-1 X)^-1
    inverse = cho_solve((evaluation.cholesky_factor, True), np.eye(n_coefficients))
    relative_covariances = [factor @ factor.T for factor in relative_factors]
    parameters = theta_entries(relative_covariances, terms)
    # The rows express V_0, V_1, ..., V_m by V, V_1, ..., V_m.
    transform = np.eye(n_entries + 1)
    transform[0, 1:] = -parameters

    # trace(P V P V) = n - p, trace(P V P V_s) = trace(P V_s), trace(P V_r P V_s)
    p_loadings = loadings_with_fixed_if_reml(evaluation, reml=True)
    # Z'P Z of each term, summed over its levels
    z_p_z = [
        gradient + z_by_residual.T @ z_by_residual / evaluation.variance
        for gradient, z_by_residual in zip(evaluation.gradients, evaluation.residual_products, strict=True)
    ]
    single_traces = [np.vdot(z_p_z[entry.term], entry.matrix) for entry in entries]
    all_traces = np.empty((n_entries + 1, n_entries + 1))
    all_traces[0, 0] = evaluation.df
    all_traces[0, 1:] = single_traces
    all_traces[1:, 0] = single_traces
    all_traces[1:, 1:] = entry_pair_traces(products, evaluation.weighted, p_loadings, entries)
    information = transform @ all_traces @ transform.T
    parameter_covariance = 2 * np.linalg.pinv(information, rcond=1e-14, hermitian=True)

    # X'V^-1 V_r P V_s V^-1 X, (m + 1, m + 1, p, p), which is zero where V_r or V_s is V itself
    z_by_x = evaluation.weighted.z_by_w[:, :-1]
    entries_times_x = [random_effect_entry_times_rows(products, entry, z_by_x) for entry in entries]
    p_times_x = [
        weighted_less_loading_products_times_matrix(products, evaluation.weighted, p_loadings, entry_times_x)
        for entry_times_x in entries_times_x
    ]
    second_order = np.zeros((n_entries + 1, n_entries + 1, n_coefficients, n_coefficients))
    for r, entry_times_x in enumerate(entries_times_x):
        for s, p_times_entry_x in enumerate(p_times_x):
            second_order[r + 1, s + 1] = entry_times_x.T @ p_times_entry_x
    second_order = np.einsum("ir,js,rsuv->ijuv", transform, transform, second_order, optimize=True)
    weighted_sum = np.einsum("rs,rsuv->uv", parameter_covariance, second_order)
    adjusted = inverse + 2 * inverse @ weighted_sum @ inverse

    # X'V^-1 V_r V^-1 X, which is X'V^-1 X for V itself; derivatives of C are C X'V^-1 V_r V^-1 X C
    x_by_x = evaluation.cholesky_factor @ evaluation.cholesky_factor.T
    first_order = [x_by_x, *(z_by_x.T @ entry_times_x for entry_times_x in entries_times_x)]
    slopes = inverse @ np.einsum("ir,ruv->iuv", transform, first_order) @ inverse
    return AdjustedCovariance(inverse, adjusted, slopes, parameter_covariance)
