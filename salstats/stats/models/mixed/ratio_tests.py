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

from salstats.stats.models.mixed.kernel import MixedSolution, fit_mixed
from salstats.stats.models.mixed.terms import RandomTerm


class LikelihoodRatio(NamedTuple):
    """A likelihood-ratio test."""

    statistic: float  # twice the difference of the log likelihoods, of both models as the first was fitted
    df: int  # variances and covariances that the smaller model lacks
    # where one variance is tested: half of chi-squared's with df and half of that with df - 1, as a variance
    # cannot be negative. Else of chi-squared with df, as lmerTest's `ranova`; too large.
    p_value: float


def likelihood_ratio(
    solution: MixedSolution, drop: int, effects: Sequence[int] | None = None
) -> LikelihoodRatio:
    """Test that a term, or some of its effects, have no variance."""
    term = solution.terms[drop]
    kept = [k for k in range(len(term.effects)) if effects is not None and k not in effects]
    smaller = list(solution.terms)
    if kept:
        smaller[drop] = replace(
            term, effects=tuple(term.effects[k] for k in kept), matrix=term.matrix[:, kept]
        )
    else:
        del smaller[drop]
    less = log_likelihood(solution, smaller)
    df = len(solution.theta) - sum(t.n_parameters for t in smaller)
    statistic = max(0.0, 2 * (solution.log_likelihood - less))
    # rounding of the likelihood is no evidence
    if statistic < 1e-9 * max(1.0, abs(less)):
        statistic = 0.0
    p_value = float(chi2.sf(statistic, df))
    if len(term.effects) - len(kept) == 1:
        # chi-squared with 0 is 0
        less = float(chi2.sf(statistic, df - 1)) if df > 1 else float(statistic <= 0)
        p_value = (p_value + less) / 2
    return LikelihoodRatio(statistic, df, p_value)


def log_likelihood(solution: MixedSolution, terms: Sequence[RandomTerm]) -> float:
    """Log likelihood, restricted or not, of a model with these terms, or none."""
    if terms:
        return fit_mixed(solution.matrix, solution.response, terms, reml=solution.reml).log_likelihood
    matrix, response = solution.matrix, solution.response
    df = solution.n - solution.p if solution.reml else solution.n
    rss = float(np.sum((response - matrix @ np.linalg.lstsq(matrix, response)[0]) ** 2))
    deviance = df * (1 + np.log(2 * np.pi * rss / df))
    if solution.reml:
        deviance += np.linalg.slogdet(matrix.T @ matrix)[1]
    return float(-deviance / 2)
