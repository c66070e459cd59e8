"""Beta regression with a constant precision, the kernel of the family `beta`."""

from dataclasses import replace

import numpy as np
from scipy import special

from salstats.stats.models.errors import OF_BETA
from salstats.stats.models.family import Family, Solution, decomposed
from salstats.stats.models.logit import LOGIT, bernoulli_variance
from salstats.stats.models.lumps import Shares, beta_told, between, solved, start_of_beta
from salstats.stats.models.predictors import maximum


def beta_regression(matrix: np.ndarray, response: np.ndarray, intercept: bool) -> Solution:
    """A model of scores strictly between 0 and 1 by maximum likelihood, with one precision for all.

    y has the beta distribution of mean mu, logit mu = x'b, and variance mu (1 - mu) / (1 + phi). The
    information is the expected one and the leverage that of its weights, as in R's betareg (statsmodels'
    BetaModel takes the observed information).

    Ferrari SLP, Cribari-Neto F. Beta regression for modelling rates and proportions. J Appl Stat
    2004;31:799-815. https://doi.org/10.1080/0266476042000214501
    """
    label = BETA.label
    inside = between(response, label)
    start = np.append(*start_of_beta(matrix, response, inside))
    designs = [matrix, np.ones((len(response), 1))]
    found = maximum(designs, start, lambda p: beta_told(response, inside, *p.T), label)
    precision = {"precision": float(np.exp(found.parameters[-1]))}
    solution = solved(found, matrix, response, intercept, ("",), _mean, _shares, precision)
    predictors = matrix @ solution.coefficients, np.repeat(solution.others, len(response))
    weights = beta_told(response, inside, *predictors).information[:, 0, 0]
    return replace(solution, leverage=decomposed(matrix * np.sqrt(weights)[:, None])[3])


def _shares(predictors: np.ndarray) -> Shares:
    """P(0), P(1) and the mean in between."""
    mean = special.expit(predictors[:, 0])
    return 0 * mean, 0 * mean, mean


def _mean(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean, and its derivatives by its logit and log phi."""
    mean = special.expit(predictors[:, 0])
    slopes, curves = np.zeros((len(mean), 2)), np.zeros((len(mean), 2, 2))
    slopes[:, 0] = bernoulli_variance(mean)
    curves[:, 0, 0] = slopes[:, 0] * (1 - 2 * mean)
    return mean, slopes, curves


def _not_between(response: np.ndarray) -> str | None:
    """What is not strictly between 0 and 1."""
    bad = response[(response <= 0) | (response >= 1)]
    if not len(bad):
        return None
    return (
        f"needs an outcome strictly between 0 and 1, not {bad[0]:g}; family='ordered-beta' and "
        "family='fractional' take exact 0 and 1"
    )


BETA = Family(
    name="beta",
    label="beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check=_not_between,
    solve=beta_regression,
    errors=OF_BETA,
    normal=True,
    n_spread=0,
)
