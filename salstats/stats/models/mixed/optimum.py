"""Search for the relative covariances of least deviance, on the boundary where that is where they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import evaluate, gradient
from salstats.stats.models.mixed.information import hessian
from salstats.stats.models.mixed.terms import RandomTerm, lambdas, on_diagonal, thetas

#: A standard deviation, over sigma, that may be zero: the derivative by the variance at zero tells.
_SMALL = 3e-3
#: A standard deviation to go on from where zero is no optimum.
_STEP = 0.05
#: Largest derivative of the deviance by a theta, per row, at an optimum.
_FLAT = 1e-8
_ROUNDS = 6


class Optimum(NamedTuple):
    """Theta, the derivatives of the deviance there, and whether they vanish."""

    theta: np.ndarray
    gradient: np.ndarray
    converged: bool


class Search:
    """The deviance of one model as a function of theta."""

    def __init__(self, products: Crossproducts, terms: Sequence[RandomTerm], *, reml: bool) -> None:
        self.products, self.terms, self.reml = products, terms, reml

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Deviance and its derivatives by theta, per row."""
        factors = lambdas(theta, self.terms)
        found = evaluate(self.products, factors, reml=self.reml)
        n = self.products.n_rows
        return found.deviance / n, gradient(found, factors, self.terms) / n

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Second derivatives by theta, per row."""
        factors = lambdas(theta, self.terms)
        found = evaluate(self.products, factors, reml=self.reml)
        return hessian(self.products, self.terms, factors, found, reml=self.reml) / self.products.n_rows

    def minimum(self, start: np.ndarray | None = None) -> Optimum:
        """The optimum: a bounded search, variances that are zero made so, then Newton's steps."""
        diagonal = on_diagonal(self.terms)
        theta = diagonal.astype(np.float64) if start is None else start
        bounds = [(0, None) if is_variance else (None, None) for is_variance in diagonal]
        for _ in range(_ROUNDS):
            options = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-6}
            theta = minimize(self, theta, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
            theta, stuck = self._on_boundary(theta)
            if not stuck:
                break
        return self._polished(theta)

    def _on_boundary(self, theta: np.ndarray) -> tuple[np.ndarray, bool]:
        """Variances near zero made zero where that is no worse; or moved away, and True, where it is."""
        factors = lambdas(theta, self.terms)
        low = [_lowered(factor, term.correlated) for factor, term in zip(factors, self.terms, strict=True)]
        if all(null is None for _, null in low):
            return theta, False
        slopes = evaluate(self.products, [f for f, _ in low], reml=self.reml).gradients
        stuck = False
        for k, (lowered, null) in enumerate(low):
            if null is None:
                continue
            least, directions = np.linalg.eigh(null.T @ slopes[k] @ null)
            if least[0] >= -_FLAT * self.products.n_rows:
                factors[k] = lowered
            elif np.linalg.svd(factors[k], compute_uv=False)[-1] < _SMALL**2:
                direction = null @ directions[:, :1]
                factors[k] = _factor(lowered @ lowered.T + _STEP**2 * direction @ direction.T)
                stuck = True
        return thetas(factors, self.terms), stuck

    def _polished(self, theta: np.ndarray) -> Optimum:
        """Newton's steps; columns of Lambda that are zero stay so."""
        factors = lambdas(theta, self.terms)
        kept = [_free(factor, term.correlated) for factor, term in zip(factors, self.terms, strict=True)]
        free = thetas(kept, self.terms) > 0
        value, slope = self(theta)
        for _ in range(_ROUNDS):
            if np.abs(slope[free]).max(initial=0.0) < _FLAT * 1e-4:
                break
            step = np.zeros_like(theta)
            step[free] = -np.linalg.lstsq(self.hessian(theta)[np.ix_(free, free)], slope[free], rcond=1e-10)[
                0
            ]
            new_value, new_slope = self(theta + step)
            if np.abs(new_slope[free]).max() >= np.abs(slope[free]).max() or new_value > value + 1e-9:
                break
            theta, value, slope = theta + step, new_value, new_slope
        converged = bool(np.abs(slope[free]).max(initial=0.0) < _FLAT)
        return Optimum(theta, slope * self.products.n_rows, converged)


def _lowered(factor: np.ndarray, correlated: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Lambda with its small variances made zero, and the directions of those; None where there are none."""
    if not correlated:
        small = np.abs(np.diag(factor)) < _SMALL
        return np.diag(np.where(small, 0.0, np.diag(factor))), np.eye(len(factor))[
            :, small
        ] if small.any() else None
    left, values, _ = np.linalg.svd(factor)
    small = values < _SMALL
    if not small.any():
        return factor, None
    kept = left[:, ~small] * values[~small]
    return _factor(kept @ kept.T, int((~small).sum())), left[:, small]


def _factor(covariance: np.ndarray, rank: int | None = None) -> np.ndarray:
    """Lower triangular Lambda of a covariance of less than full rank, its last columns zero."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    lower = np.asarray(np.linalg.qr(root.T, mode="r")).T
    lower = lower * np.where(np.diag(lower) < 0, -1.0, 1.0)
    if rank is not None:
        lower[:, rank:] = 0.0
    return lower


def _free(factor: np.ndarray, correlated: bool) -> np.ndarray:
    """1 where a parameter is free: columns of Lambda that are zero stay so."""
    kept = np.abs(factor).max(axis=0) > 0
    return (
        np.tile(kept.astype(np.float64), (len(factor), 1)) if correlated else np.diag(kept.astype(np.float64))
    )
