"""Profile-likelihood limits of variances, correlations and shares of a linear mixed model.

A limit is the least or largest value of the quantity among all variances at which the deviance, at the best
coefficients, is no more than chi-squared's quantile above its least. Where that holds to the end of what is
possible, the limit is the end: 0 for a standard deviation, -1 or 1 for a correlation.
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

from salstats.stats.models.mixed.deviance import evaluate, gradient
from salstats.stats.models.mixed.information import hessian
from salstats.stats.models.mixed.kernel import MixedSolution, scale
from salstats.stats.models.mixed.optimum import Search
from salstats.stats.models.mixed.ratio_tests import likelihood_ratio, log_likelihood
from salstats.stats.models.mixed.terms import RandomTerm, lambdas, on_diagonal, thetas

#: How near the deviance at a limit is to what it should be.
_NEAR = 1e-8
#: Theta of a variance that is zero, where a search begins: at 0 itself the deviance is flat.
_START = 0.05
#: Newton's steps at one excess.
_STEPS = 30

Valued = tuple[float, np.ndarray]


class VarianceLimit(NamedTuple):
    """A standard deviation, correlation or share with its limits."""

    term: int | None  # which term; None: the residuals
    kind: str  # "sd", "correlation", or "share" of the variance of a response
    effects: tuple[str, ...]  # of whom: one, a pair, or, of a share, all of the term
    # estimate, conf_low, conf_high: a limit is NaN where none was found
    estimate: float
    conf_low: float
    conf_high: float


class _Quantity(NamedTuple):
    """A smooth function of theta and log sigma, and how it is shown."""

    term: int | None
    kind: str
    effects: tuple[str, ...]
    value: Callable[[np.ndarray], Valued]  # the value and its derivatives by theta and log sigma
    shown: Callable[[float], float]  # the value as it is shown, which rises with it
    # low, high: a limit that is known without a search
    low: float | None = None
    high: float | None = None


def variance_limits(solution: MixedSolution, level: float = 0.95) -> list[VarianceLimit]:
    """Limits of standard deviations and correlations of the terms, of the residuals, and of all shares.

    The likelihood is the one that the model was fitted by. By maximum likelihood they are those of lme4's
    `confint(method = "profile")`, which fits models by REML anew; it puts a spline through some points of the
    profile where here the limit itself is searched.

    A share is what a term adds to the variance of a response, on average over the rows, over all that the
    terms and the residuals add to it: with random intercepts alone, an intraclass correlation.
    """
    excess = float(chi2.ppf(level, 1))
    region = _Region(solution, excess)
    limits = []
    for quantity in _quantities(solution, excess):
        estimate = quantity.value(region.best)[0]
        ends = [
            known if known is not None else quantity.shown(region.limit(quantity.value, sign))
            for sign, known in ((-1, quantity.low), (1, quantity.high))
        ]
        limits.append(VarianceLimit(*quantity[:3], quantity.shown(estimate), *map(float, ends)))
    return limits


@dataclass(frozen=True, eq=False, repr=False)
class _Region:
    """All theta and log sigma of the scaled model with a deviance not much above the least."""

    solution: MixedSolution
    excess: float

    @property
    def best(self) -> np.ndarray:
        """Theta and log sigma of the least deviance."""
        scaled = self.solution.scaled
        theta = thetas(scaled.factors(self.solution.theta), scaled.terms)
        return np.append(theta, np.log(self.solution.sigma / scaled.unit))

    def limit(self, value: Callable[[np.ndarray], Valued], sign: float) -> float:
        """Largest value in the region, or with sign -1 the least; NaN if it was not found.

        There the deviance is at the bound, and its derivatives are a multiple of the value's. Newton's steps
        solve this, where need be for a small excess first, then for larger ones from where it led.
        """
        flat = np.append(np.abs(self.best[:-1]) < _START / 10, False)
        slope = value(self.best)[1]
        # where the estimate is zero its logarithm has no derivatives
        way = sign * self._way(slope) if np.isfinite(slope).all() else np.zeros_like(self.best)
        for raised in (_START, 0.0) if flat.any() else (0.0,):
            found = self._followed(value, sign, way, self.best + np.where(flat, raised, 0.0))
            if found is not None:
                return value(found)[0]
        return np.nan

    def _followed(
        self, value: Callable[[np.ndarray], Valued], sign: float, way: np.ndarray, at: np.ndarray
    ) -> np.ndarray | None:
        """Where the value is at its end in the region, by regions that grow up to it; None if not found."""
        best, reached, step = self.best, 0.0, 1.0
        while reached < 1:
            aim = min(1.0, reached + step)
            start = at + (way * np.sqrt(aim) if reached == 0 else (at - best) * (np.sqrt(aim / reached) - 1))
            found = self._solved(value, start, aim * self.excess)
            if found is None or sign * (value(found)[0] - value(best)[0]) <= 0:
                step /= 3
                if step < 0.01:
                    return None
            else:
                at, reached = found, aim
        return at

    def _solved(
        self, value: Callable[[np.ndarray], Valued], at: np.ndarray, excess: float
    ) -> np.ndarray | None:
        """Where the deviance is so much above its least and the value at an end; None if not found."""
        multiplier = None
        for _ in range(_STEPS):
            try:
                level, slope, curve = self._deviance(at)
            except np.linalg.LinAlgError:
                return None
            _, change = value(at)
            if multiplier is None:
                multiplier = float(slope @ change) / max(float(change @ change), 1e-300)
            rest = slope - multiplier * change
            above = level - excess
            if np.abs(rest).max() < _NEAR * self.solution.n and abs(above) < _NEAR:
                return at
            bend = np.array([value(at + h)[1] - value(at - h)[1] for h in 1e-5 * np.eye(len(at))]) / 2e-5
            system = np.block(
                [[curve - multiplier * bend, -change[:, None]], [slope[None], np.zeros((1, 1))]]
            )
            try:
                move = np.linalg.solve(system, -np.append(rest, above))
            except np.linalg.LinAlgError:
                return None
            size = np.abs(move[:-1] / np.maximum(np.abs(at), 0.2)).max()
            move *= min(1.0, 0.5 / size) if size > 0 else 1.0
            at, multiplier = at + move[:-1], multiplier + move[-1]
        return None

    def _deviance(self, at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Deviance above its least at theta and log sigma, with first and second derivatives."""
        scaled, reml, sigma = self.solution.scaled, self.solution.reml, float(np.exp(at[-1]))
        factors = lambdas(at[:-1], scaled.terms)
        found = evaluate(scaled.products, factors, reml=reml, sigma=sigma)
        df = self.solution.n - self.solution.p if reml else self.solution.n
        by_log = 2 * df - 2 * found.rss / sigma**2
        curve = hessian(scaled.products, scaled.terms, factors, found, reml=reml, sigma=sigma)
        curve[-1] *= sigma
        curve[:, -1] *= sigma
        curve[-1, -1] += by_log
        slope = np.append(gradient(found, factors, scaled.terms), by_log)
        return found.deviance - self.least, slope, curve

    @cached_property
    def least(self) -> float:
        """The least deviance."""
        return self.solution.evaluated.deviance

    def _way(self, slope: np.ndarray) -> np.ndarray:
        """From the best to the limit by the normal approximation."""
        to_log = np.append(np.ones(len(slope) - 1), np.exp(-self.best[-1]))
        way = self.solution.parameter_covariance * np.outer(to_log, to_log) @ slope
        length = float(slope @ way)
        return way * np.sqrt(self.excess / length) if length > 0 else np.zeros_like(way)


def _quantities(solution: MixedSolution, excess: float) -> Iterator[_Quantity]:
    """All that has limits: each term's standard deviations and correlations, the residuals', the shares."""
    scaled = solution.scaled

    def deviation(logarithm: float) -> float:
        return scaled.unit * float(np.exp(logarithm))

    for k, (term, basis) in enumerate(zip(scaled.terms, scaled.bases, strict=True)):
        none = [likelihood_ratio(solution, k, [e]).statistic <= excess for e in range(len(term.effects))]
        for e, effect in enumerate(term.effects):
            value = _log_deviation(scaled.terms, k, basis[e])
            yield _Quantity(k, "sd", (effect,), value, deviation, 0.0 if none[e] else None)
        for e, f in itertools.combinations(range(len(term.effects)) if term.correlated else (), 2):
            # next to a variance of zero any correlation will do
            low, high = (
                sign if none[e] or none[f] or _perfect(solution, k, (e, f), sign) <= excess else None
                for sign in (-1.0, 1.0)
            )
            pair = (term.effects[e], term.effects[f])
            yield _Quantity(
                k, "correlation", pair, _correlation(scaled.terms, k, basis[[e, f]]), float, low, high
            )
    residual = np.append(np.zeros(len(solution.theta)), 1.0)
    yield _Quantity(None, "sd", (), lambda at: (at[-1], residual), deviation)
    for k, term in enumerate(scaled.terms):
        no_term = likelihood_ratio(solution, k).statistic <= excess
        yield _Quantity(
            k, "share", term.effects, _share(scaled.terms, k), _logistic, 0.0 if no_term else None
        )
    no_terms = 2 * (solution.log_likelihood - log_likelihood(solution, [])) <= excess
    yield _Quantity(None, "share", (), _share(scaled.terms, None), _logistic, None, 1.0 if no_terms else None)


def _perfect(solution: MixedSolution, k: int, pair: tuple[int, int], sign: float) -> float:
    """Least deviance, above the least of all, where two effects of a term correlate by 1 or by -1."""
    term = solution.terms[k]
    order = [*pair, *(e for e in range(len(term.effects)) if e not in pair)]
    turned = list(solution.terms)
    turned[k] = replace(term, effects=tuple(term.effects[e] for e in order), matrix=term.matrix[:, order])
    scaled = scale(solution.matrix, solution.response, turned, turned=False)
    start = np.where(on_diagonal(turned), 1.0, 0.0)
    bounds: list[tuple[float | None, float | None]] = [
        (0, None) if variance else (None, None) for variance in on_diagonal(turned)
    ]
    # the second effect is the first times a number: Lambda has 0 and the sign there
    across = sum(t.n_parameters for t in turned[:k]) + 1
    within = across + len(term.effects) - 1
    bounds[across], start[across] = ((0, None) if sign > 0 else (None, 0)), sign * _START
    bounds[within], start[within] = (0, 0), 0.0
    search = Search(scaled.products, scaled.terms, reml=solution.reml)
    least = minimize(search, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 500})
    return float(least.fun * solution.n - solution.evaluated.deviance)


def _logistic(logit: float) -> float:
    """A share of its log odds."""
    return float(special.expit(logit))


def _log_deviation(terms: Sequence[RandomTerm], k: int, basis: np.ndarray) -> Callable[[np.ndarray], Valued]:
    """Logarithm of the standard deviation of a combination of a term's effects; infinite where it is zero."""

    def value(at: np.ndarray) -> Valued:
        factors = lambdas(at[:-1], terms)
        row = basis @ factors[k]
        change = [np.zeros_like(factor) for factor in factors]
        with np.errstate(divide="ignore", invalid="ignore"):
            change[k] = np.outer(basis, row) / (row @ row)
            return at[-1] + np.log(row @ row) / 2, np.append(thetas(change, terms), 1.0)

    return value


def _correlation(terms: Sequence[RandomTerm], k: int, bases: np.ndarray) -> Callable[[np.ndarray], Valued]:
    """Correlation of two combinations of a term's effects; NaN where one has no variance."""

    def value(at: np.ndarray) -> Valued:
        factors = lambdas(at[:-1], terms)
        first, second = bases @ factors[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            size, other = 1 / np.linalg.norm(first), 1 / np.linalg.norm(second)
            found = float(first @ second * size * other)
            rows = [
                second * size * other - found * first * size**2,
                first * size * other - found * second * other**2,
            ]
        change = [np.zeros_like(factor) for factor in factors]
        change[k] = bases.T @ rows
        return found, np.append(thetas(change, terms), 0.0)

    return value


def _share(terms: Sequence[RandomTerm], k: int | None) -> Callable[[np.ndarray], Valued]:
    """Log odds of the share of a term, or of the residuals, in the variance of a response over the rows."""
    means = [term.matrix.T @ term.matrix / len(term.matrix) for term in terms]

    def value(at: np.ndarray) -> Valued:
        factors = lambdas(at[:-1], terms)
        times = [mean @ factor for mean, factor in zip(means, factors, strict=True)]
        parts = [float(np.vdot(first, second)) for first, second in zip(times, factors, strict=True)]
        mine = np.array([j == k for j in range(len(terms))])
        part = 1.0 if k is None else parts[k]
        rest = sum(np.array(parts)[~mine]) + (k is not None)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = [2 * time / (part if own else -rest) for own, time in zip(mine, times, strict=True)]
            return float(np.log(part) - np.log(rest)), np.append(thetas(change, terms), 0.0)

    return value
