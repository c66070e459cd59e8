"""Search for the relative covariances that minimise the deviance; variances of the optimum may be zero."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import evaluate_deviance, theta_gradient
from salstats.stats.models.mixed.information import deviance_hessian
from salstats.stats.models.mixed.terms import (
    RandomTerm,
    is_diagonal_entry,
    relative_covariance_factors,
    theta_entries,
)

#: Standard deviations (over sigma) below this may be zero: the derivative by the variance at zero decides.
_SMALL_DEVIATION = 3e-3
#: Standard deviations (over sigma) from which the search continues where zero is not the optimum: the first
#: one with a lower deviance. They are halved, so that it is at least 0.7 of a single optimum, from where
#: Newton's steps lead to that optimum and not to zero.
_RESTART_DEVIATIONS = (0.05, 0.025, 0.0125, 0.00625, 0.003125)
#: Largest derivative of the deviance by a theta, per row, at an optimum.
_GRADIENT_TOLERANCE = 1e-8
#: Newton's steps end once all derivatives per row are below this, far below what an optimum needs.
_NEWTON_TOLERANCE = _GRADIENT_TOLERANCE * 1e-4
#: Largest number of quasi-Newton searches; each but the first starts after a variance near zero was raised.
_MAX_SEARCHES = 6
#: Largest number of Newton's steps.
_MAX_NEWTON_STEPS = 6
#: Singular values of the second derivatives up to this share of the largest one are rounding errors.
_SINGULAR_CURVATURE = 1e-10
#: Rise of the deviance per row that may be rounding error.
_DEVIANCE_ROUNDING = 1e-9
#: Limits of the quasi-Newton search. They are loose, since Newton's steps follow.
_MAX_SEARCH_ITERATIONS = 500
_SEARCH_DEVIANCE_TOLERANCE = 1e-12
_SEARCH_GRADIENT_TOLERANCE = 1e-6


class OptimalTheta(NamedTuple):
    """Theta at a minimum of the deviance."""

    #: Theta of least deviance.
    theta: np.ndarray
    #: True if the derivatives of the deviance vanish there.
    converged: bool


class _ThetaAfterRaise(NamedTuple):
    """Theta after variances near zero were set to zero or raised."""

    theta: np.ndarray
    was_raised: bool  # True if a variance was raised


class _DevianceAndGradientPerRow(NamedTuple):
    """The deviance and its derivatives by theta, divided by the number of rows."""

    deviance: float
    gradient: np.ndarray


class DevianceSearch:
    """The deviance per row of a model as a function of theta, with the search for its minimum."""

    def __init__(self, products: Crossproducts, terms: Sequence[RandomTerm], *, reml: bool) -> None:
        self.products = products
        self.terms = terms
        self.reml = reml

    def __call__(self, theta: np.ndarray) -> _DevianceAndGradientPerRow:
        """Return the deviance and its derivatives by theta, divided by the number of rows."""
        relative_factors = relative_covariance_factors(theta, self.terms)
        evaluation = evaluate_deviance(self.products, relative_factors, reml=self.reml)
        n = self.products.n_rows
        gradient = theta_gradient(evaluation, relative_factors, self.terms)
        return _DevianceAndGradientPerRow(evaluation.deviance / n, gradient / n)

    def hessian_divided_by_n_rows(self, theta: np.ndarray) -> np.ndarray:
        """Return the second derivatives of the deviance by theta, divided by the number of rows."""
        relative_factors = relative_covariance_factors(theta, self.terms)
        evaluation = evaluate_deviance(self.products, relative_factors, reml=self.reml)
        second_derivatives = deviance_hessian(
            self.products, self.terms, relative_factors, evaluation, reml=self.reml
        )
        return second_derivatives / self.products.n_rows

    def minimum(self, start: np.ndarray | None = None) -> OptimalTheta:
        """Return the optimum: a quasi-Newton search, variances near zero set to zero, then Newton's steps.

        The search has no bounds, although variances are not negative. The deviance is smooth in theta and
        does not depend on the signs of Lambda's columns, so that the search can pass through zero; at a bound
        of zero it might stop.
        """
        if start is None:
            start = is_diagonal_entry(self.terms).astype(np.float64)
        theta = start
        for _ in range(_MAX_SEARCHES):
            result = minimize(
                self,
                theta,
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxiter": _MAX_SEARCH_ITERATIONS,
                    "ftol": _SEARCH_DEVIANCE_TOLERANCE,
                    "gtol": _SEARCH_GRADIENT_TOLERANCE,
                },
            )
            theta = result.x
            theta, was_raised = self._zero_or_raise_small_variances(theta)
            if not was_raised:
                break
        return self._newton_optimum_and_convergence(theta)

    def _zero_or_raise_small_variances(self, theta: np.ndarray) -> _ThetaAfterRaise:
        """Set variances near zero to zero if that is an optimum, and raise them if it is not.

        The search must continue from the new theta if a variance was raised.
        """
        relative_factors = [
            _with_positive_diagonal(factor) for factor in relative_covariance_factors(theta, self.terms)
        ]
        roots = [
            _covariance_root_without_zero_directions(factor, correlated=term.correlated)
            for factor, term in zip(relative_factors, self.terms, strict=True)
        ]
        if all(root.shape[1] == len(root) for root in roots):
            return _ThetaAfterRaise(theta_entries(relative_factors, self.terms), was_raised=False)

        zeroed_factors = [
            _triangular_factor(root, correlated=term.correlated)
            for root, term in zip(roots, self.terms, strict=True)
        ]
        gradients = evaluate_deviance(self.products, zeroed_factors, reml=self.reml).gradients
        # Variances are zero where zero is an optimum; elsewhere they are kept, or raised if that is better.
        kept = list(relative_factors)
        directions_to_raise = {}
        for k, term in enumerate(self.terms):
            slope, direction = _deviance_slope_and_zero_variance_direction(
                roots[k], gradients[k], correlated=term.correlated
            )
            if slope >= -_GRADIENT_TOLERANCE * self.products.n_rows:
                kept[k] = zeroed_factors[k]
            else:
                directions_to_raise[k] = direction
        kept_theta = theta_entries(kept, self.terms)
        if not directions_to_raise:
            return _ThetaAfterRaise(kept_theta, was_raised=False)
        kept_deviance = self(kept_theta).deviance
        for deviation in _RESTART_DEVIATIONS:
            raised = list(kept)
            for k, direction in directions_to_raise.items():
                root = np.hstack([roots[k], deviation * direction])
                raised[k] = _triangular_factor(root, correlated=self.terms[k].correlated)
            raised_theta = theta_entries(raised, self.terms)
            if self(raised_theta).deviance < kept_deviance:
                return _ThetaAfterRaise(raised_theta, was_raised=True)
        return _ThetaAfterRaise(kept_theta, was_raised=False)

    def _newton_optimum_and_convergence(self, theta: np.ndarray) -> OptimalTheta:
        """Return the optimum after Newton's steps from theta, in which zero columns of Lambda stay zero."""
        free_by_term = [
            _relative_factor_mask_of_nonzero_columns(factor, correlated=term.correlated)
            for factor, term in zip(relative_covariance_factors(theta, self.terms), self.terms, strict=True)
        ]
        free = theta_entries(free_by_term, self.terms)
        deviance, slopes = self(theta)
        for _ in range(_MAX_NEWTON_STEPS):
            if np.abs(slopes[free]).max(initial=0.0) < _NEWTON_TOLERANCE:
                break
            step = np.zeros_like(theta)
            second_derivatives = self.hessian_divided_by_n_rows(theta)[np.ix_(free, free)]
            solution = np.linalg.lstsq(second_derivatives, slopes[free], rcond=_SINGULAR_CURVATURE)
            step[free] = -solution[0]
            new_deviance, new_slopes = self(theta + step)
            if np.abs(new_slopes[free]).max() >= np.abs(slopes[free]).max():
                break
            if new_deviance > deviance + _DEVIANCE_ROUNDING:
                break
            theta = theta + step
            deviance = new_deviance
            slopes = new_slopes
        converged = bool(np.abs(slopes[free]).max(initial=0.0) < _GRADIENT_TOLERANCE)
        relative_factors = [
            _with_positive_diagonal(factor) for factor in relative_covariance_factors(theta, self.terms)
        ]
        return OptimalTheta(theta_entries(relative_factors, self.terms), converged)


def _with_positive_diagonal(relative_factor: np.ndarray) -> np.ndarray:
    """Return Lambda with the sign of each column such that its diagonal is not negative."""
    return relative_factor * np.where(np.diag(relative_factor) < 0, -1.0, 1.0)


def _covariance_root_without_zero_directions(relative_factor: np.ndarray, *, correlated: bool) -> np.ndarray:
    """Return a root of Lambda Lambda', (n_effects, rank), without directions of almost no variance."""
    if not correlated:
        return np.asarray(relative_factor[:, np.diag(relative_factor) >= _SMALL_DEVIATION])
    directions, deviations, _ = np.linalg.svd(relative_factor)
    nonzero = deviations >= _SMALL_DEVIATION
    return np.asarray(directions[:, nonzero] * deviations[nonzero])


def _deviance_slope_and_zero_variance_direction(
    covariance_root: np.ndarray, deviance_gradient: np.ndarray, *, correlated: bool
) -> tuple[float, np.ndarray]:
    """Return the direction without variance in which a variance would lower the deviance most.

    Before it comes the derivative of the deviance by a variance in this direction, 0 if there is no such
    direction. The direction has the shape (n_effects, 1), or (n_effects, 0) if there is none.
    `deviance_gradient` is the derivative of the deviance by the term's covariance.
    """
    n_effects, rank = covariance_root.shape
    if rank == n_effects:
        no_direction = np.empty((n_effects, 0))
        return 0.0, no_direction
    if not correlated:
        # The effects themselves are the directions; those that have a variance are left out.
        slopes = np.where(covariance_root.any(axis=1), np.inf, np.diag(deviance_gradient))
        steepest = int(slopes.argmin())
        return float(slopes[steepest]), np.eye(n_effects)[:, [steepest]]
    left_vectors = np.linalg.svd(covariance_root)[0]
    null_space = left_vectors[:, rank:]
    # Eigenvalues ascend, so that the first direction lowers the deviance most.
    slopes, directions = np.linalg.eigh(null_space.T @ deviance_gradient @ null_space)
    return float(slopes[0]), null_space @ directions[:, :1]


def _triangular_factor(covariance_root: np.ndarray, *, correlated: bool) -> np.ndarray:
    """Return the lower triangular Lambda with Lambda Lambda' = root root'.

    `covariance_root` has shape (n_effects, rank); columns of Lambda beyond the rank are zero.
    """
    if not correlated:
        # Each column of the root belongs to one effect.
        return np.diag(np.abs(covariance_root).sum(axis=1))
    upper = np.asarray(np.linalg.qr(covariance_root.T, mode="r"))
    lower = np.zeros((len(covariance_root), len(covariance_root)))
    lower[:, : len(upper)] = upper.T
    return _with_positive_diagonal(lower)


def _relative_factor_mask_of_nonzero_columns(
    relative_factor: np.ndarray, *, correlated: bool
) -> NDArray[np.bool_]:
    """Return True for entries in columns of Lambda that are not zero, which a step may change.

    Without correlation these are entries of the diagonal only.
    """
    nonzero_columns = relative_factor.any(axis=0)
    if not correlated:
        return np.diag(nonzero_columns)
    return np.tile(nonzero_columns, (len(relative_factor), 1))
