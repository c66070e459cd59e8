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
_OPTIONS = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-6}


class Optimum(NamedTuple):
    """Theta, and whether the derivatives of the deviance vanish there."""

    theta: np.ndarray
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
        """The optimum: a search, variances that are zero made so, then Newton's steps.

        The deviance is smooth in theta, and the same whatever the signs of Lambda's columns, so that the
        search goes through zero; it might stay there if zero were a bound.
        """
        theta = on_diagonal(self.terms).astype(np.float64) if start is None else start
        for _ in range(_ROUNDS):
            theta = minimize(self, theta, jac=True, method="L-BFGS-B", options=_OPTIONS).x
            theta, moved = self._at_zero(theta)
            if not moved:
                break
        return self._polished(theta)

    def _at_zero(self, theta: np.ndarray) -> tuple[np.ndarray, bool]:
        """Variances near zero made zero where that is an optimum; whether one was raised as it is none."""
        factors = [_upright(factor) for factor in lambdas(theta, self.terms)]
        roots = [_kept(factor, term.correlated) for factor, term in zip(factors, self.terms, strict=True)]
        if all(root.shape[1] == len(root) for root in roots):
            return thetas(factors, self.terms), False
        low = [_triangular(root, term.correlated) for root, term in zip(roots, self.terms, strict=True)]
        slopes = evaluate(self.products, low, reml=self.reml).gradients
        raised = list(factors)
        for k, (root, slope, term) in enumerate(zip(roots, slopes, self.terms, strict=True)):
            least, direction = _steepest(root, slope, term.correlated)
            if least >= -_FLAT * self.products.n_rows:
                factors[k] = raised[k] = low[k]
            else:
                raised[k] = _triangular(np.hstack([root, _STEP * direction]), term.correlated)
        kept, moved = thetas(factors, self.terms), thetas(raised, self.terms)
        return (moved, True) if self(moved)[0] < self(kept)[0] else (kept, False)

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
            curve = self.hessian(theta)[np.ix_(free, free)]
            step[free] = -np.linalg.lstsq(curve, slope[free], rcond=1e-10)[0]
            new_value, new_slope = self(theta + step)
            if np.abs(new_slope[free]).max() >= np.abs(slope[free]).max() or new_value > value + 1e-9:
                break
            theta, value, slope = theta + step, new_value, new_slope
        converged = bool(np.abs(slope[free]).max(initial=0.0) < _FLAT)
        return Optimum(thetas([_upright(f) for f in lambdas(theta, self.terms)], self.terms), converged)


def _upright(factor: np.ndarray) -> np.ndarray:
    """Lambda with a diagonal that is not negative."""
    return factor * np.where(np.diag(factor) < 0, -1.0, 1.0)


def _kept(factor: np.ndarray, correlated: bool) -> np.ndarray:
    """A root of Lambda Lambda' without the directions in which it is nearly zero."""
    if not correlated:
        return factor[:, np.diag(factor) >= _SMALL]
    left, values, _ = np.linalg.svd(factor)
    return left[:, values >= _SMALL] * values[values >= _SMALL]


def _steepest(root: np.ndarray, slope: np.ndarray, correlated: bool) -> tuple[float, np.ndarray]:
    """Least derivative of the deviance by a variance that the root has not, and the direction of that."""
    if root.shape[1] == len(root):
        return 0.0, root[:, :0]
    if not correlated:
        least = np.where(root.any(axis=1), np.inf, np.diag(slope))
        return float(least.min()), np.eye(len(root))[:, [least.argmin()]]
    null = np.linalg.svd(root)[0][:, root.shape[1] :]
    values, vectors = np.linalg.eigh(null.T @ slope @ null)
    return float(values[0]), null @ vectors[:, :1]


def _triangular(root: np.ndarray, correlated: bool) -> np.ndarray:
    """Lambda with Lambda Lambda' = root root', its last columns zero where the root has fewer."""
    if not correlated:
        return np.diag(np.abs(root).sum(axis=1))
    upper = np.asarray(np.linalg.qr(root.T, mode="r"))
    lower = np.zeros((len(root), len(root)))
    lower[:, : len(upper)] = upper.T
    return _upright(lower)


def _free(factor: np.ndarray, correlated: bool) -> np.ndarray:
    """1 where a parameter is free: columns of Lambda that are zero stay so."""
    kept = factor.any(axis=0).astype(np.float64)
    return np.tile(kept, (len(factor), 1)) if correlated else np.diag(kept)
