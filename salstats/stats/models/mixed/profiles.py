"""Profile-likelihood limits of variances, correlations and shares of a linear mixed model.

A limit is the smallest or largest value of the quantity in the region of parameters where the deviance
exceeds its minimum by at most a quantile of chi-squared with 1 degree of freedom (Wilks). If the region
extends to the end of the possible values, this end is the limit: 0 for a standard deviation, -1 or 1 for a
correlation.

The parameters are those of the scaled model (`ScaledModel`): theta, then the logarithm of sigma.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import minimize
from scipy.stats import chi2

from salstats.stats.models.mixed.deviance import evaluate_deviance, theta_gradient
from salstats.stats.models.mixed.information import deviance_hessian
from salstats.stats.models.mixed.linear_mixed_model import MixedSolution, scaled_model
from salstats.stats.models.mixed.optimum import DevianceSearch
from salstats.stats.models.mixed.ratio_tests import likelihood_ratio, log_likelihood_with_terms
from salstats.stats.models.mixed.terms import (
    RandomTerm,
    is_diagonal_entry,
    relative_covariance_factors,
    theta_entries,
)

#: Largest error of a solution: of the deviance at a limit, and of the equations' derivatives per row.
_TOLERANCE = 1e-8
#: Theta from which a search starts if the estimate is zero: at 0 itself the deviance is flat.
_START_NEAR_ZERO = 0.05
#: Estimates of theta below this count as zero.
_ZERO_THETA = 0.005
#: Largest number of Newton's steps for one bound of the deviance.
_MAX_STEPS = 30
#: Shortest step towards the bound of the deviance, as a fraction of it, before a search fails.
_SHORTEST_STEP = 0.01
#: Largest change of a parameter in one step, as a share of its size; smaller sizes count as `_SMALLEST_SIZE`.
_MAX_RELATIVE_STEP = 0.5
_SMALLEST_SIZE = 0.2
#: Smallest squared length that slopes are divided by.
_SMALLEST_SQUARED_LENGTH = 1e-300
#: Step of the differences from which a quantity's second derivatives are computed.
_DIFFERENCE_STEP = 1e-5

#: A function of the parameters that returns a quantity and its derivatives by the parameters.
QuantityFunction = Callable[[np.ndarray], tuple[float, np.ndarray]]


class ProfileLimit(NamedTuple):
    """A standard deviation, correlation or share with its limits."""

    term: int | None  # position of the term; None for the residuals
    kind: str  # "sd", "correlation", or "share" of the variance of a response
    effects: tuple[str, ...]  # one effect, a pair for a correlation, all of the term for a share
    estimate: float
    conf_low: float  # NaN where no limit was found
    conf_high: float


class _Quantity(NamedTuple):
    """A quantity on the scale on which its limits are searched, and its transformation to that of the result.

    `term`, `kind` and `effects` are those of `ProfileLimit`.
    """

    term: int | None
    kind: str
    effects: tuple[str, ...]
    function: QuantityFunction
    # Increasing function to the scale of the result: from logarithms, log odds, or for a correlation itself
    transform: Callable[[float], float]
    # Limits at an end of the possible values, on the scale of the result; None if a search must find them
    conf_low: float | None = None
    conf_high: float | None = None


def variance_component_profile_limits(solution: MixedSolution, level: float = 0.95) -> list[ProfileLimit]:
    """Return profile limits of all standard deviations, correlations and shares of variance of a model.

    The likelihood is the one that the model was fitted by. With maximum likelihood the limits are those of
    lme4's `confint(method = "profile")`, which refits models that were fitted by REML; it interpolates the
    profile by a spline, where the limit itself is computed here.

    A share is what a term adds to the variance of a response, on average over the rows, divided by the sum
    for all terms and the residuals: with random intercepts alone, an intraclass correlation.
    """
    excess = float(chi2.ppf(level, 1))
    region = _ProfileRegion(solution, excess)
    limits = []
    for quantity in _profiled_sds_correlations_and_shares(solution, excess):
        value, _ = quantity.function(region.estimates)
        conf_low = quantity.conf_low
        if conf_low is None:
            conf_low = quantity.transform(region.limit(quantity.function, sign=-1))
        conf_high = quantity.conf_high
        if conf_high is None:
            conf_high = quantity.transform(region.limit(quantity.function, sign=1))
        limit = ProfileLimit(
            term=quantity.term,
            kind=quantity.kind,
            effects=quantity.effects,
            estimate=quantity.transform(value),
            conf_low=float(conf_low),
            conf_high=float(conf_high),
        )
        limits.append(limit)
    return limits


@dataclass(frozen=True, eq=False, repr=False)
class _ProfileRegion:
    """The parameters at which the deviance exceeds its minimum by at most `excess`."""

    solution: MixedSolution
    excess: float

    @property
    def estimates(self) -> np.ndarray:
        """Parameters of least deviance."""
        return np.append(self.solution.scaled_theta, np.log(self.solution.scaled_sigma))

    @cached_property
    def least_deviance(self) -> float:
        """Deviance at the estimates."""
        return self.solution.scaled_model_evaluation_at_optimum.deviance

    def limit(self, function: QuantityFunction, sign: float) -> float:
        """Return a quantity's largest (sign 1) or smallest (sign -1) value in the region; NaN if not found.

        At a limit the deviance equals its bound, and its derivatives are a multiple of the quantity's
        (Lagrange). Newton's steps solve these equations.
        """
        # Thetas that are estimated as zero; sigma, last, never is.
        is_zero = np.append(np.abs(self.estimates[:-1]) < _ZERO_THETA, False)
        _, slopes = function(self.estimates)
        # The logarithm of a variance that is estimated as zero has no derivatives.
        direction = np.zeros_like(self.estimates)
        if np.isfinite(slopes).all():
            direction = sign * self._vector_to_wald_limit(slopes)
        start_values = (_START_NEAR_ZERO, 0.0) if is_zero.any() else (0.0,)
        for start_value in start_values:
            start = self.estimates + np.where(is_zero, start_value, 0.0)
            extreme = self._parameters_at_extreme(function, sign, direction, start)
            if extreme is not None:
                return function(extreme)[0]
        return np.nan

    def _parameters_at_extreme(
        self, function: QuantityFunction, sign: float, direction: np.ndarray, start: np.ndarray
    ) -> np.ndarray | None:
        """Return the parameters of the quantity's extreme in the region; None if not found.

        The extreme for the whole excess is tried first. If Newton's steps fail, the excess grows in smaller
        steps, and each search starts from the previous extreme, moved further away from the estimates.
        """
        estimates = self.estimates
        estimate, _ = function(estimates)
        extreme = start
        # Fraction of the excess that `extreme` belongs to, and the next increase of it
        fraction = 0.0
        step = 1.0
        while fraction < 1:
            new_fraction = min(1.0, fraction + step)
            # The region grows with the square root of the excess.
            if fraction == 0:
                shift = direction * np.sqrt(new_fraction)
            else:
                shift = (extreme - estimates) * (np.sqrt(new_fraction / fraction) - 1)
            new_extreme = self._newton_solution_at_extreme(
                function, extreme + shift, new_fraction * self.excess
            )
            # An extreme on the other side of the estimate belongs to the opposite limit.
            if new_extreme is None or sign * (function(new_extreme)[0] - estimate) <= 0:
                step /= 3
                if step < _SHORTEST_STEP:
                    return None
                continue
            extreme = new_extreme
            fraction = new_fraction
        return extreme

    def _newton_solution_at_extreme(
        self, function: QuantityFunction, start: np.ndarray, excess: float
    ) -> np.ndarray | None:
        """Return the parameters of an extreme quantity at this excess of the deviance; None if not found.

        Newton's steps solve d deviance = multiplier * d quantity and deviance = excess for the parameters and
        the multiplier.
        """
        parameters = start
        multiplier = None
        for _ in range(_MAX_STEPS):
            try:
                deviance, deviance_slopes, deviance_second_derivatives = (
                    self._deviance_above_minimum_with_derivatives(parameters)
                )
            except np.linalg.LinAlgError:
                return None
            _, slopes = function(parameters)
            if multiplier is None:
                # The multiplier by least squares; the bound prevents 0 / 0 for a quantity without slopes.
                squared_length = max(float(slopes @ slopes), _SMALLEST_SQUARED_LENGTH)
                multiplier = float(deviance_slopes @ slopes) / squared_length
            slope_error = deviance_slopes - multiplier * slopes
            deviance_error = deviance - excess
            slopes_agree = np.abs(slope_error).max() < _TOLERANCE * self.solution.n_rows
            if slopes_agree and abs(deviance_error) < _TOLERANCE:
                return parameters
            # Newton's step for the parameters and, last, the multiplier
            quantity_hessian = _second_derivatives(function, parameters)
            lagrangian_hessian = deviance_second_derivatives - multiplier * quantity_hessian
            jacobian = np.block(
                [[lagrangian_hessian, -slopes[:, None]], [deviance_slopes[None], np.zeros((1, 1))]]
            )
            try:
                step = np.linalg.solve(jacobian, -np.append(slope_error, deviance_error))
            except np.linalg.LinAlgError:
                return None
            # Long steps are shortened.
            sizes = np.maximum(np.abs(parameters), _SMALLEST_SIZE)
            relative_step = np.abs(step[:-1] / sizes).max()
            if relative_step > 0:
                step *= min(1.0, _MAX_RELATIVE_STEP / relative_step)
            parameters = parameters + step[:-1]
            multiplier = multiplier + step[-1]
        return None

    def _deviance_above_minimum_with_derivatives(
        self, parameters: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the deviance in excess of its minimum, with its first and second derivatives."""
        scaled = self.solution.scaled
        reml = self.solution.reml
        sigma = float(np.exp(parameters[-1]))
        relative_factors = relative_covariance_factors(parameters[:-1], scaled.terms)
        evaluation = evaluate_deviance(scaled.products, relative_factors, reml=reml, sigma=sigma)
        by_log_sigma = 2 * evaluation.df - 2 * evaluation.rss / sigma**2
        slopes = np.append(theta_gradient(evaluation, relative_factors, scaled.terms), by_log_sigma)
        second_derivatives = deviance_hessian(
            scaled.products, scaled.terms, relative_factors, evaluation, reml=reml, sigma=sigma
        )
        # Derivatives by sigma become those by its logarithm.
        second_derivatives[-1] *= sigma
        second_derivatives[:, -1] *= sigma
        second_derivatives[-1, -1] += by_log_sigma
        return evaluation.deviance - self.least_deviance, slopes, second_derivatives

    def _vector_to_wald_limit(self, slopes: np.ndarray) -> np.ndarray:
        """Return the vector from the estimates to the upper limit of a quantity by the normal approximation.

        `slopes` are the quantity's derivatives at the estimates.
        """
        # Derivatives of the parameters, theta and log sigma, by theta and sigma
        parameter_slopes = np.append(np.ones(len(slopes) - 1), np.exp(-self.estimates[-1]))
        covariance = self.solution.scaled_parameter_covariance * np.outer(parameter_slopes, parameter_slopes)
        direction = covariance @ slopes
        variance = float(slopes @ direction)
        if not variance > 0:
            return np.zeros_like(direction)
        return np.asarray(direction * np.sqrt(self.excess / variance))


def _second_derivatives(function: QuantityFunction, parameters: np.ndarray) -> np.ndarray:
    """Return a quantity's second derivatives, from central differences of its first ones."""
    differences = [
        function(parameters + step)[1] - function(parameters - step)[1]
        for step in _DIFFERENCE_STEP * np.eye(len(parameters))
    ]
    return np.array(differences) / (2 * _DIFFERENCE_STEP)


def _profiled_sds_correlations_and_shares(solution: MixedSolution, excess: float) -> Iterator[_Quantity]:
    """Yield all quantities of a model: standard deviations and correlations by term, sigma, the shares."""
    scaled = solution.scaled

    def response_deviation(log_deviation: float) -> float:
        """Return a standard deviation in the unit of the response."""
        return scaled.response_scale * float(np.exp(log_deviation))

    for k in range(len(scaled.terms)):
        yield from _std_dev_and_correlation_quantities(solution, k, excess, response_deviation)
    log_sigma_slopes = np.append(np.zeros(len(solution.theta)), 1.0)
    yield _Quantity(
        term=None,
        kind="sd",
        effects=(),
        function=lambda parameters: (parameters[-1], log_sigma_slopes),
        transform=response_deviation,
    )
    for k, term in enumerate(scaled.terms):
        # Zero is in the region if the deviance without the term exceeds the minimum by at most `excess`.
        includes_zero = likelihood_ratio(solution, k).statistic <= excess
        yield _Quantity(
            term=k,
            kind="share",
            effects=term.effects,
            function=_variance_share_log_odds_function(scaled.terms, k),
            transform=_inverse_logit,
            conf_low=0.0 if includes_zero else None,
        )
    # In the same way the residuals may have the whole variance.
    excess_without_terms = 2 * (solution.log_likelihood - log_likelihood_with_terms(solution, []))
    yield _Quantity(
        term=None,
        kind="share",
        effects=(),
        function=_variance_share_log_odds_function(scaled.terms, None),
        transform=_inverse_logit,
        conf_high=1.0 if excess_without_terms <= excess else None,
    )


def _std_dev_and_correlation_quantities(
    solution: MixedSolution, k: int, excess: float, response_deviation: Callable[[float], float]
) -> Iterator[_Quantity]:
    """Yield the standard deviations of the effects of term k, then their correlations.

    `response_deviation` returns a standard deviation in the unit of the response from its logarithm.
    """
    scaled = solution.scaled
    term = scaled.terms[k]
    basis = scaled.bases[k]
    n_effects = len(term.effects)
    includes_zero = [likelihood_ratio(solution, k, [e]).statistic <= excess for e in range(n_effects)]
    for e, effect in enumerate(term.effects):
        yield _Quantity(
            term=k,
            kind="sd",
            effects=(effect,),
            function=_log_std_dev_function(scaled.terms, k, basis[e]),
            transform=response_deviation,
            conf_low=0.0 if includes_zero[e] else None,
        )
    if not term.correlated:
        return
    for e, f in itertools.combinations(range(n_effects), 2):
        # If a variance may be zero, any correlation is possible.
        is_undetermined = includes_zero[e] or includes_zero[f]
        conf_low = None
        if is_undetermined or _perfect_correlation_excess(solution, k, (e, f), -1.0) <= excess:
            conf_low = -1.0
        conf_high = None
        if is_undetermined or _perfect_correlation_excess(solution, k, (e, f), 1.0) <= excess:
            conf_high = 1.0
        yield _Quantity(
            term=k,
            kind="correlation",
            effects=(term.effects[e], term.effects[f]),
            function=_untransformed_correlation_function(scaled.terms, k, basis[[e, f]]),
            transform=float,
            conf_low=conf_low,
            conf_high=conf_high,
        )


def _perfect_correlation_excess(solution: MixedSolution, k: int, pair: tuple[int, int], sign: float) -> float:
    """Return the excess of the least deviance at which two effects of term k have the correlation `sign`.

    The pair comes first in the order of effects. The second effect is a multiple of the first if, in the
    second row of Lambda, the first entry has the sign of the correlation and the second entry is 0.
    """
    term = solution.terms[k]
    n_effects = len(term.effects)
    other_effects = [effect for effect in range(n_effects) if effect not in pair]
    order = [*pair, *other_effects]
    reordered_effects = tuple(term.effects[effect] for effect in order)
    terms = list(solution.terms)
    terms[k] = replace(term, effects=reordered_effects, matrix=term.matrix[:, order])
    scaled = scaled_model(solution.matrix, solution.response, terms, orthogonalize_effects=False)
    is_variance = is_diagonal_entry(terms)
    start = np.where(is_variance, 1.0, 0.0)
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(start)
    for variance in np.flatnonzero(is_variance):
        bounds[variance] = (0, None)
    # Positions in theta of both entries: Lambda's lower triangle is stored by columns.
    first_of_term = sum(term.n_parameters for term in terms[:k])
    first_entry = first_of_term + 1
    second_entry = first_of_term + n_effects
    if sign > 0:
        bounds[first_entry] = (0, None)
    else:
        bounds[first_entry] = (None, 0)
    start[first_entry] = sign * _START_NEAR_ZERO
    bounds[second_entry] = (0, 0)
    start[second_entry] = 0.0
    search = DevianceSearch(scaled.products, scaled.terms, reml=solution.reml)
    optimum = minimize(search, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 500})
    return float(optimum.fun * solution.n_rows - solution.scaled_model_evaluation_at_optimum.deviance)


def _inverse_logit(log_odds: float) -> float:
    """Return the share with these log odds."""
    return float(special.expit(log_odds))


def _log_std_dev_function(terms: Sequence[RandomTerm], k: int, combination: np.ndarray) -> QuantityFunction:
    """Return the function for the log standard deviation of a combination of term k's effects.

    It is infinite where the standard deviation is zero.
    """

    def log_deviation_with_slopes(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        relative_factors = relative_covariance_factors(parameters[:-1], terms)
        # The combination c has the variance sigma^2 |c'Lambda|^2.
        row = combination @ relative_factors[k]
        by_lambda = [np.zeros_like(factor) for factor in relative_factors]
        with np.errstate(divide="ignore", invalid="ignore"):
            by_lambda[k] = np.outer(combination, row) / (row @ row)
            value = parameters[-1] + np.log(row @ row) / 2
        return value, np.append(theta_entries(by_lambda, terms), 1.0)

    return log_deviation_with_slopes


def _untransformed_correlation_function(
    terms: Sequence[RandomTerm], k: int, combinations: np.ndarray
) -> QuantityFunction:
    """Return the function for the correlation of two combinations (2, n_effects) of term k's effects.

    It is NaN where one of them has no variance.
    """

    def correlation_with_slopes(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        relative_factors = relative_covariance_factors(parameters[:-1], terms)
        # The correlation is the cosine of the angle between these rows, c'Lambda for both combinations c.
        first, second = combinations @ relative_factors[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse_first = 1 / np.linalg.norm(first)
            inverse_second = 1 / np.linalg.norm(second)
            value = float(first @ second * inverse_first * inverse_second)
            by_first = second * inverse_first * inverse_second - value * first * inverse_first**2
            by_second = first * inverse_first * inverse_second - value * second * inverse_second**2
        by_lambda = [np.zeros_like(factor) for factor in relative_factors]
        by_lambda[k] = combinations.T @ [by_first, by_second]
        return value, np.append(theta_entries(by_lambda, terms), 0.0)

    return correlation_with_slopes


def _variance_share_log_odds_function(terms: Sequence[RandomTerm], k: int | None) -> QuantityFunction:
    """Return the function for the log odds of the share of term k, or of the residuals if k is None.

    The variance of a response is averaged over the rows. Divided by sigma^2, a term adds trace(M Sigma) to
    it, where M is the mean over rows z of z z', and the residuals add 1. The log odds are the logarithm of
    the term's variance over the sum of the others.
    """
    mean_products = [term.matrix.T @ term.matrix / len(term.matrix) for term in terms]

    def log_odds_of_variance_share_with_slopes(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        relative_factors = relative_covariance_factors(parameters[:-1], terms)
        # M Lambda, half of the derivative of trace(M Lambda Lambda') by Lambda
        half_slopes = [
            mean_product @ relative_factor
            for mean_product, relative_factor in zip(mean_products, relative_factors, strict=True)
        ]
        variances = [
            float(np.vdot(half_slope, relative_factor))
            for half_slope, relative_factor in zip(half_slopes, relative_factors, strict=True)
        ]
        remaining_variance = sum(variance for j, variance in enumerate(variances) if j != k)
        if k is None:
            variance = 1.0
        else:
            variance = variances[k]
            remaining_variance += 1
        by_lambda = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for j, half_slope in enumerate(half_slopes):
                if j == k:
                    by_lambda.append(2 * half_slope / variance)
                else:
                    by_lambda.append(-2 * half_slope / remaining_variance)
            value = float(np.log(variance) - np.log(remaining_variance))
        return value, np.append(theta_entries(by_lambda, terms), 0.0)

    return log_odds_of_variance_share_with_slopes
