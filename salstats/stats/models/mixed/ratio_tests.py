"""Likelihood-ratio tests that random effects have no variance.

Self SG, Liang KY. Asymptotic properties of maximum likelihood estimators and likelihood ratio tests under
nonstandard conditions. J Am Stat Assoc 1987;82:605-610. doi:10.1080/01621459.1987.10478472

Stram DO, Lee JW. Variance components testing in the longitudinal mixed effects model. Biometrics
1994;50:1171-1177. doi:10.2307/2533455
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from salstats.stats.models.mixed.linear_mixed_model import MixedSolution, fit_mixed
from salstats.stats.models.mixed.terms import RandomTerm

#: A statistic below this share of the log likelihood is rounding error.
_ROUNDING = 1e-9


class LikelihoodRatio(NamedTuple):
    """A likelihood-ratio test of nested models."""

    statistic: float  # twice the difference of the log likelihoods, both restricted or both not
    df: int  # number of variances and covariances that the smaller model lacks
    # From chi-squared with df degrees of freedom, as in lmerTest's `ranova`, which is conservative. Where one
    # variance is tested: the mean of the P values with df and df - 1, since a variance cannot be negative.
    p_value: float


def likelihood_ratio(
    solution: MixedSolution, term_position: int, effect_positions: Sequence[int] | None = None
) -> LikelihoodRatio:
    """Test that a term has no variance, or that only some of its effects have none.

    Without the effects at `effect_positions` the term keeps its other effects.
    """
    term = solution.terms[term_position]
    remaining = []
    if effect_positions is not None:
        remaining = [k for k in range(len(term.effects)) if k not in effect_positions]
    smaller = list(solution.terms)
    if remaining:
        remaining_effects = tuple(term.effects[k] for k in remaining)
        smaller[term_position] = replace(term, effects=remaining_effects, matrix=term.matrix[:, remaining])
    else:
        del smaller[term_position]

    smaller_log_likelihood = log_likelihood_with_terms(solution, smaller)
    df = len(solution.theta) - sum(term.n_parameters for term in smaller)
    statistic = max(0.0, 2 * (solution.log_likelihood - smaller_log_likelihood))
    if statistic < _ROUNDING * max(1.0, abs(smaller_log_likelihood)):
        statistic = 0.0
    p_value = float(chi2.sf(statistic, df))
    n_tested = len(term.effects) - len(remaining)
    if n_tested == 1:
        p_value = (p_value + _chi_squared_tail(statistic, df - 1)) / 2
    return LikelihoodRatio(statistic, df, p_value)


def _chi_squared_tail(statistic: float, df: int) -> float:
    """Return the upper tail probability of chi-squared; with 0 degrees of freedom chi-squared is 0."""
    if df == 0:
        return float(statistic <= 0)
    return float(chi2.sf(statistic, df))


def log_likelihood_with_terms(solution: MixedSolution, terms: Sequence[RandomTerm]) -> float:
    """Return the log likelihood, restricted as in `solution`, of its model with other random terms."""
    matrix = solution.matrix
    response = solution.response
    if terms:
        return fit_mixed(matrix, response, terms, reml=solution.reml).log_likelihood
    df = solution.n_rows - solution.n_coefficients if solution.reml else solution.n_rows
    coefficients = np.linalg.lstsq(matrix, response)[0]
    rss = float(np.sum((response - matrix @ coefficients) ** 2))
    deviance = df * (1 + np.log(2 * np.pi * rss / df))
    if solution.reml:
        deviance += np.linalg.slogdet(matrix.T @ matrix)[1]
    return float(-deviance / 2)
