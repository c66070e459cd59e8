"""Linear mixed models by REML or maximum likelihood, as lme4 fits them, on arrays.

Bates D, Maechler M, Bolker B, Walker S. Fitting linear mixed-effects models using lme4. J Stat Softw
2015;67(1):1-48. doi:10.18637/jss.v067.i01
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from salstats.errors import SalstatsError
from salstats.stats.models.mixed.adjusted_covariance import AdjustedCovariance, adjusted_covariance
from salstats.stats.models.mixed.crossproducts import Crossproducts, crossproducts
from salstats.stats.models.mixed.deviance import (
    Evaluation,
    evaluate_deviance,
    z_by_z_per_level_weighted_by_blocked_terms,
)
from salstats.stats.models.mixed.information import coefficient_covariance_slopes, theta_and_sigma_covariance
from salstats.stats.models.mixed.optimum import DevianceSearch
from salstats.stats.models.mixed.terms import RandomTerm, relative_covariance_factors, theta_entries

__all__ = ["MixedSolution", "RandomTerm", "fit_mixed"]

#: Singular values of Lambda (standard deviations over sigma) below this are zero, as in lme4's `isSingular`.
_SINGULAR = 1e-4
#: Root mean square of the residuals over the largest response, up to which a fit is exact but for rounding.
_EXACT = 1e-12
#: Coefficients determine an effect if they leave at most this mean square per row of its columns unexplained.
_MAX_UNEXPLAINED = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ScaledModel:
    """A model rescaled for computation, with all columns of about the same size.

    The model matrix X = Q R is replaced by its orthogonal factor Q, and the response by its residuals from
    ordinary least squares divided by `response_scale`.
    """

    products: Crossproducts
    # Terms whose columns have mean square 1, and are orthogonal if the effects are correlated
    terms: tuple[RandomTerm, ...]
    # For each term, a lower triangular B (n_effects, n_effects): the scaled matrix is the term's matrix times
    # B, and Lambda of the term is B times the scaled Lambda.
    bases: tuple[np.ndarray, ...]
    coefficient_basis: np.ndarray  # R^-1, (p, p)
    ols_coefficients: np.ndarray  # (p,), of ordinary least squares
    response_scale: float  # root mean square of the residuals of ordinary least squares

    def relative_covariance_factors_of_scaled_terms(self, theta: np.ndarray) -> list[np.ndarray]:
        """Return Lambda of the scaled terms at the theta of the original terms."""
        relative_factors = relative_covariance_factors(theta, self.terms)
        return [
            solve_triangular(basis, relative_factor, lower=True)
            for basis, relative_factor in zip(self.bases, relative_factors, strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class MixedSolution:
    """A fitted linear mixed model."""

    matrix: np.ndarray  # model matrix X of the coefficients, (n, p)
    response: np.ndarray  # (n,)
    terms: tuple[RandomTerm, ...]
    reml: bool
    coefficients: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p), sigma^2 (X'V^-1 X)^-1
    # Lower triangles, by columns, of each term's Lambda: sigma^2 Lambda Lambda' is the effects' covariance.
    theta: np.ndarray
    sigma: float  # standard deviation of the residuals
    log_likelihood: float  # restricted or not
    converged: bool
    scaled: ScaledModel

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.response)

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients."""
        return int(self.matrix.shape[1])

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, variances and covariances."""
        return self.n_coefficients + len(self.theta) + 1

    @property
    def relative_covariance_factors(self) -> list[np.ndarray]:
        """Relative covariance factor Lambda of each term."""
        return relative_covariance_factors(self.theta, self.terms)

    @property
    def is_singular(self) -> bool:
        """True if some combination of a term's effects has no variance."""
        smallest_singular_values = [
            np.linalg.svd(relative_factor, compute_uv=False)[-1]
            for relative_factor in self.scaled.relative_covariance_factors_of_scaled_terms(self.theta)
        ]
        return any(value < _SINGULAR for value in smallest_singular_values)

    @property
    def covariances(self) -> tuple[np.ndarray, ...]:
        """Covariance of each term's effects, (n_effects, n_effects)."""
        return tuple(self.sigma**2 * factor @ factor.T for factor in self.relative_covariance_factors)

    @cached_property
    def scaled_model_evaluation_at_optimum(self) -> Evaluation:
        """The deviance of the scaled model at its optimum, and its gradient."""
        return evaluate_deviance(
            self.scaled.products,
            self.scaled.relative_covariance_factors_of_scaled_terms(self.theta),
            reml=self.reml,
        )

    @property
    def scaled_theta(self) -> np.ndarray:
        """Theta of the scaled model."""
        return theta_entries(self.scaled.relative_covariance_factors_of_scaled_terms(self.theta), self.terms)

    @property
    def scaled_sigma(self) -> float:
        """Sigma of the scaled model."""
        return self.sigma / self.scaled.response_scale

    @cached_property
    def scaled_parameter_covariance(self) -> np.ndarray:
        """Covariance of theta and sigma of the scaled model, (m + 1, m + 1)."""
        scaled = self.scaled
        return theta_and_sigma_covariance(
            scaled.products, scaled.terms, self.scaled_theta, self.scaled_sigma, reml=self.reml
        )

    @cached_property
    def coefficient_covariance_slopes_by_scaled_parameters(self) -> np.ndarray:
        """Derivatives of the coefficients' covariance by the scaled theta and sigma, (m + 1, p, p)."""
        scaled_slopes = coefficient_covariance_slopes(
            self.scaled_model_evaluation_at_optimum, self.terms, self.scaled_theta, self.scaled_sigma
        )
        transform = self.scaled.response_scale * self.scaled.coefficient_basis
        return np.asarray(transform @ scaled_slopes @ transform.T)

    @cached_property
    def adjusted_covariance_of_scaled_model(self) -> AdjustedCovariance:
        """Kenward and Roger's covariance of the scaled model's coefficients."""
        scaled = self.scaled
        return adjusted_covariance(
            scaled.products,
            scaled.terms,
            scaled.relative_covariance_factors_of_scaled_terms(self.theta),
            self.scaled_model_evaluation_at_optimum,
        )

    def scaled_contrasts(self, contrasts: np.ndarray) -> np.ndarray:
        """Return contrasts (k, p) of the coefficients as contrasts of the scaled model's coefficients."""
        return np.asarray(self.scaled.response_scale * contrasts @ self.scaled.coefficient_basis)

    @cached_property
    def random_effects(self) -> tuple[np.ndarray, ...]:
        """Conditional means (BLUPs) of each term's effects, (n_levels, n_effects)."""
        scaled = self.scaled
        conditional_means = []
        for z_by_residual, factor, basis in zip(
            self.scaled_model_evaluation_at_optimum.residual_products,
            scaled.relative_covariance_factors_of_scaled_terms(self.theta),
            scaled.bases,
            strict=True,
        ):
            # Sigma Z'V^-1 (y - X b) of the scaled model, then in the units of the response and the effects
            conditional_means.append(scaled.response_scale * z_by_residual @ factor @ factor.T @ basis.T)
        return tuple(conditional_means)

    @cached_property
    def conditional_covariances(self) -> tuple[np.ndarray, ...]:
        """Conditional covariances of each term's effects, (n_levels, n_effects, n_effects).

        The coefficients are treated as known, as in lme4: sigma^2 (Sigma - Sigma Z'V^-1 Z Sigma).
        """
        scaled = self.scaled
        weighted = self.scaled_model_evaluation_at_optimum.weighted
        conditional_covariances = []
        for k, relative_factor in enumerate(scaled.relative_covariance_factors_of_scaled_terms(self.theta)):
            loadings = weighted.loadings[:, scaled.products.term_columns[k]]
            loading_products = np.einsum("dli,dlj->lij", loadings, loadings)
            z_by_z = (
                z_by_z_per_level_weighted_by_blocked_terms(scaled.products, weighted, k) - loading_products
            )
            relative_covariance = relative_factor @ relative_factor.T
            basis = scaled.bases[k]
            conditional = relative_covariance - relative_covariance @ z_by_z @ relative_covariance
            conditional_covariances.append(self.sigma**2 * basis @ conditional @ basis.T)
        return tuple(conditional_covariances)

    @property
    def fitted(self) -> np.ndarray:
        """Conditional means of the rows, (n,), given the random effects."""
        random_part = sum(
            (term.matrix * effects[term.codes]).sum(axis=1)
            for term, effects in zip(self.terms, self.random_effects, strict=True)
        )
        return np.asarray(self.matrix @ self.coefficients + random_part)


def fit_mixed(
    matrix: np.ndarray, response: np.ndarray, terms: Sequence[RandomTerm], *, reml: bool = True
) -> MixedSolution:
    """Fit a linear mixed model.

    The model matrix (n, p) must have full rank, each term must have fewer effects than there are rows, and
    correlated effects must be linearly independent. SalstatsError is raised if coefficients determine the
    differences between the levels of a term, or fit the response exactly.
    """
    scaled = scaled_model(matrix, response, terms)
    optimum = DevianceSearch(scaled.products, scaled.terms, reml=reml).minimum()
    scaled_factors = relative_covariance_factors(optimum.theta, scaled.terms)
    evaluation = evaluate_deviance(scaled.products, scaled_factors, reml=reml)
    # The deviance in the model's own units, which differs by constants from that of the rescaled model
    deviance = evaluation.deviance + 2 * evaluation.df * np.log(scaled.response_scale)
    if reml:
        deviance -= 2 * np.linalg.slogdet(scaled.coefficient_basis)[1]
    # With the model matrix QR, R^-1 the coefficient basis and V the relative covariance of the response:
    # root'root = R^-1 (Q'V^-1 Q)^-1 R^-1'
    root = solve_triangular(evaluation.cholesky_factor, scaled.coefficient_basis.T, lower=True)
    sigma = scaled.response_scale * np.sqrt(evaluation.variance)
    # The scaled response is what ordinary least squares leaves, so these are added to its coefficients.
    residual_coefficients = scaled.response_scale * scaled.coefficient_basis @ evaluation.coefficients
    # Bases and factors are lower triangular, and so are their products.
    relative_factors = [
        basis @ scaled_factor for basis, scaled_factor in zip(scaled.bases, scaled_factors, strict=True)
    ]
    return MixedSolution(
        matrix=matrix,
        response=response,
        terms=tuple(terms),
        reml=reml,
        coefficients=scaled.ols_coefficients + residual_coefficients,
        covariance=sigma**2 * root.T @ root,
        theta=theta_entries(relative_factors, terms),
        sigma=sigma,
        log_likelihood=-deviance / 2,
        converged=optimum.converged,
        scaled=scaled,
    )


def scaled_model(
    matrix: np.ndarray,
    response: np.ndarray,
    terms: Sequence[RandomTerm],
    *,
    orthogonalize_effects: bool = True,
) -> ScaledModel:
    """Return a model rescaled for computation.

    With `orthogonalize_effects` correlated effects of a term become orthogonal; otherwise they are only
    scaled to mean square 1.
    """
    orthogonal, triangle = np.linalg.qr(matrix)
    coefficient_basis = solve_triangular(triangle, np.eye(len(triangle)))
    projected = orthogonal.T @ response
    residual = response - orthogonal @ projected
    response_scale = float(np.sqrt(np.mean(residual**2)))
    if not response_scale > _EXACT * np.abs(response).max():
        raise SalstatsError(
            "the coefficients fit the response exactly, which leaves nothing to a mixed model",
            option="formula",
        )
    bases = tuple(
        _scaling_basis(term, orthogonalize=orthogonalize_effects and term.correlated) for term in terms
    )
    scaled_terms = tuple(
        replace(term, matrix=term.matrix @ basis) for term, basis in zip(terms, bases, strict=True)
    )
    for term in scaled_terms:
        _check_not_determined_by_coefficients(term, orthogonal)
    return ScaledModel(
        products=crossproducts(np.column_stack([orthogonal, residual / response_scale]), scaled_terms),
        terms=scaled_terms,
        bases=bases,
        coefficient_basis=coefficient_basis,
        ols_coefficients=coefficient_basis @ projected,
        response_scale=response_scale,
    )


def _scaling_basis(term: RandomTerm, *, orthogonalize: bool) -> np.ndarray:
    """Return the lower triangular B that gives the term's matrix times B columns of mean square 1.

    With `orthogonalize` these columns are also orthogonal.
    """
    n_rows, n_effects = term.matrix.shape
    sizes = np.sqrt(np.mean(term.matrix**2, axis=0))
    if not orthogonalize:
        return np.diag(1 / sizes)
    # X = Q L with a lower triangular L, from QR of the columns in reverse order; L has a positive diagonal.
    reversed_columns = (term.matrix / sizes)[:, ::-1]
    upper_triangle = np.asarray(np.linalg.qr(reversed_columns, mode="r"))
    triangle = upper_triangle[::-1, ::-1]
    triangle = triangle * np.sign(np.diag(triangle))[:, None]
    # The columns of X L^-1 are orthonormal; times the root of the number of rows they have mean square 1.
    inverse = solve_triangular(triangle, np.eye(n_effects), lower=True)
    return np.asarray(np.sqrt(n_rows) * inverse / sizes[:, None])


def _check_not_determined_by_coefficients(term: RandomTerm, model_matrix_basis: np.ndarray) -> None:
    """Raise if the coefficients determine how an effect differs between levels: its variance is arbitrary.

    `model_matrix_basis` (n, p) is an orthonormal basis of the columns of the model matrix.
    """
    rows = np.arange(len(model_matrix_basis))
    # 1 where a row belongs to a level, (n_levels, n)
    level_indicators = sparse.csr_array((np.ones(len(rows)), (term.codes, rows)))
    for effect, column in zip(term.effects, term.matrix.T, strict=True):
        # Sum of squares, over the columns of Z that belong to the effect, which the basis explains
        explained = np.sum((level_indicators @ (column[:, None] * model_matrix_basis)) ** 2)
        unexplained = column @ column - explained
        if unexplained < _MAX_UNEXPLAINED * len(rows):
            raise SalstatsError(
                f"the coefficients already determine how {effect} differs between the levels of "
                f"{term.name!r}; leave out that random effect, or those coefficients",
                option="formula",
                column=term.name,
            )
