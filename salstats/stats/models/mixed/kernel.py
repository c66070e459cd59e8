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

from salstats.checks import SalstatsError
from salstats.stats.models.mixed.crossproducts import Crossproducts, crossproducts
from salstats.stats.models.mixed.curvature import covariance_slopes, parameter_covariance
from salstats.stats.models.mixed.deviance import Evaluated, evaluate, level_blocks
from salstats.stats.models.mixed.kenward_roger import Adjustment, adjustment
from salstats.stats.models.mixed.optimum import Search
from salstats.stats.models.mixed.terms import RandomTerm, lambdas, thetas

__all__ = ["MixedSolution", "RandomTerm", "fit_mixed"]

#: A standard deviation over sigma, or a share of one, that counts as zero, as in lme4's `isSingular`.
_SINGULAR = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Scaled:
    """The model as it is computed: an orthogonal model matrix, effects and a response of about one size."""

    products: Crossproducts
    # with columns of mean square 1, which are orthogonal where the effects are correlated
    terms: tuple[RandomTerm, ...]
    # (n_effects, n_effects), lower triangular: a term's matrix times this is the scaled one, and this times
    # its Lambda is Lambda
    bases: tuple[np.ndarray, ...]
    # (p, p), coefficients of the model matrix are this times those of the orthogonal one
    to_coefficients: np.ndarray
    # (p,), what was taken from the response: coefficients of ordinary least squares
    least_squares: np.ndarray
    unit: float  # what the response was then divided by

    def factors(self, theta: np.ndarray) -> list[np.ndarray]:
        """Lambda of the scaled effects at theta of the effects as they are."""
        given = zip(self.bases, lambdas(theta, self.terms), strict=True)
        return [solve_triangular(basis, factor, lower=True) for basis, factor in given]


@dataclass(frozen=True, eq=False, repr=False)
class MixedSolution:
    """A fitted linear mixed model."""

    # matrix, response, terms: what it was fitted to
    matrix: np.ndarray
    response: np.ndarray
    terms: tuple[RandomTerm, ...]
    reml: bool
    coefficients: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p), sigma^2 (X'V^-1 X)^-1
    # the lower triangles, by columns, of each term's Lambda, in order of the terms; sigma^2 Lambda Lambda' is
    # the covariance of its effects
    theta: np.ndarray
    sigma: float  # standard deviation of the residuals
    log_likelihood: float  # restricted or not
    converged: bool
    scaled: Scaled

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.response)

    @property
    def p(self) -> int:
        """Coefficients."""
        return self.matrix.shape[1]

    @property
    def n_parameters(self) -> int:
        """Coefficients, variances and covariances."""
        return self.p + len(self.theta) + 1

    @property
    def lambdas(self) -> list[np.ndarray]:
        """Lambda of each term."""
        return lambdas(self.theta, self.terms)

    @property
    def singular(self) -> bool:
        """Whether some combination of a term's effects has no variance."""
        return any(
            np.linalg.svd(factor, compute_uv=False)[-1] < _SINGULAR
            for factor in self.scaled.factors(self.theta)
        )

    @property
    def covariances(self) -> tuple[np.ndarray, ...]:
        """Covariance of each term's effects, (n_effects, n_effects)."""
        return tuple(self.sigma**2 * factor @ factor.T for factor in self.lambdas)

    @cached_property
    def evaluated(self) -> Evaluated:
        """The scaled model at its optimum."""
        return evaluate(self.scaled.products, self.scaled.factors(self.theta), reml=self.reml)

    @cached_property
    def parameter_covariance(self) -> np.ndarray:
        """Covariance of the scaled theta and sigma, (m + 1, m + 1)."""
        scaled = self.scaled
        theta = thetas(scaled.factors(self.theta), self.terms)
        sigma = self.sigma / scaled.unit
        return parameter_covariance(scaled.products, scaled.terms, theta, sigma, reml=self.reml)

    @cached_property
    def covariance_slopes(self) -> np.ndarray:
        """Derivatives of the coefficients' covariance by the scaled theta and sigma, (m + 1, p, p)."""
        scaled = self.scaled
        theta = thetas(scaled.factors(self.theta), self.terms)
        back = scaled.unit * scaled.to_coefficients
        return back @ covariance_slopes(self.evaluated, self.terms, theta, self.sigma / scaled.unit) @ back.T

    @cached_property
    def adjustment(self) -> Adjustment:
        """What Kenward and Roger's tests are made of, of the scaled model."""
        scaled = self.scaled
        return adjustment(scaled.products, scaled.terms, scaled.factors(self.theta), self.evaluated)

    def scaled_contrasts(self, contrasts: np.ndarray) -> np.ndarray:
        """Combinations of the coefficients as those of the scaled model, (k, p)."""
        return self.scaled.unit * contrasts @ self.scaled.to_coefficients

    @cached_property
    def random_effects(self) -> tuple[np.ndarray, ...]:
        """Conditional means of each term's effects, (n_levels, n_effects): the BLUPs."""
        return tuple(
            self.scaled.unit * residual @ factor @ factor.T @ basis.T
            for residual, factor, basis in zip(
                self.evaluated.residuals, self.scaled.factors(self.theta), self.scaled.bases, strict=True
            )
        )

    @cached_property
    def conditional_variances(self) -> tuple[np.ndarray, ...]:
        """Conditional covariance of each level's effects, coefficients taken as known, as lme4's."""
        found = []
        for k, factor in enumerate(self.scaled.factors(self.theta)):
            loadings = self.evaluated.reduced.loadings[:, self.scaled.products.columns[k]]
            products = level_blocks(self.scaled.products, self.evaluated.reduced, k)
            products = products - np.einsum("dli,dlj->lij", loadings, loadings)
            spread = factor @ factor.T
            basis = self.scaled.bases[k]
            found.append(self.sigma**2 * basis @ (spread - spread @ products @ spread) @ basis.T)
        return tuple(found)

    @property
    def fitted(self) -> np.ndarray:
        """Means of the rows with random effects."""
        effects = zip(self.terms, self.random_effects, strict=True)
        shifts = ((t.matrix * blups[t.codes]).sum(axis=1) for t, blups in effects)
        return self.matrix @ self.coefficients + sum(shifts)


def fit_mixed(
    matrix: np.ndarray, response: np.ndarray, terms: Sequence[RandomTerm], *, reml: bool = True
) -> MixedSolution:
    """Fit a linear mixed model.

    The model matrix (n, p) is of full rank; each term has fewer effects than there are rows, and correlated
    effects do not depend on each other. SalstatsError where coefficients tell the levels of a term apart
    already, or fit the response exactly.
    """
    scaled = scale(matrix, response, terms)
    best = Search(scaled.products, scaled.terms, reml=reml).minimum()
    factors = lambdas(best.theta, scaled.terms)
    found = evaluate(scaled.products, factors, reml=reml)
    df = len(response) - matrix.shape[1] if reml else len(response)
    deviance = found.deviance + 2 * df * np.log(scaled.unit)
    if reml:
        deviance -= 2 * np.linalg.slogdet(scaled.to_coefficients)[1]
    root = solve_triangular(found.factor, scaled.to_coefficients.T, lower=True)
    sigma = scaled.unit * np.sqrt(found.rss / df)
    raw = [basis @ factor for basis, factor in zip(scaled.bases, factors, strict=True)]
    return MixedSolution(
        matrix=matrix,
        response=response,
        terms=tuple(terms),
        reml=reml,
        coefficients=scaled.least_squares + scaled.unit * scaled.to_coefficients @ found.coefficients,
        covariance=sigma**2 * root.T @ root,
        theta=thetas(raw, terms),
        sigma=sigma,
        log_likelihood=-deviance / 2,
        converged=best.converged,
        scaled=scaled,
    )


def scale(
    matrix: np.ndarray, response: np.ndarray, terms: Sequence[RandomTerm], *, turned: bool = True
) -> Scaled:
    """Bring a model to the form it is computed in, or with effects that are divided by their sizes alone."""
    orthogonal, triangle = np.linalg.qr(matrix)
    to_coefficients = solve_triangular(triangle, np.eye(len(triangle)))
    projected = orthogonal.T @ response
    residual = response - orthogonal @ projected
    unit = float(np.sqrt(np.mean(residual**2)))
    if not unit > 1e-12 * np.abs(response).max():
        raise SalstatsError(
            "the coefficients fit the response exactly, which leaves nothing to a mixed model"
        )
    bases = tuple(_basis(term, turned and term.correlated) for term in terms)
    scaled = tuple(replace(t, matrix=t.matrix @ basis) for t, basis in zip(terms, bases, strict=True))
    for term in scaled:
        _check_told_apart(term, orthogonal)
    products = crossproducts(np.column_stack([orthogonal, residual / unit]), scaled)
    return Scaled(products, scaled, bases, to_coefficients, to_coefficients @ projected, unit)


def _basis(term: RandomTerm, orthogonal: bool) -> np.ndarray:
    """What makes a term's columns of mean square 1, or orthogonal, too."""
    sizes = np.sqrt(np.mean(term.matrix**2, axis=0))
    if not orthogonal:
        return np.diag(1 / sizes)
    # backwards, so that the triangle is lower
    triangle = np.asarray(np.linalg.qr((term.matrix / sizes)[:, ::-1], mode="r"))[::-1, ::-1]
    triangle = triangle * np.sign(np.diag(triangle))[:, None]
    across = solve_triangular(triangle, np.eye(len(sizes)), lower=True) * np.sqrt(len(term.matrix))
    return across / sizes[:, None]


def _check_told_apart(term: RandomTerm, orthogonal: np.ndarray) -> None:
    """Raise where the coefficients leave nothing of an effect, so that its variance could be any."""
    rows = np.arange(len(orthogonal))
    levels = sparse.csr_array((np.ones(len(rows)), (term.codes, rows)))
    for effect, column in zip(term.effects, term.matrix.T, strict=True):
        left = column @ column - np.sum((levels @ (column[:, None] * orthogonal)) ** 2)
        if left < 1e-9 * len(rows):
            raise SalstatsError(
                f"the coefficients say already how {effect} differs between the levels of "
                f"{term.name!r}; leave out that random effect, or those coefficients"
            )
