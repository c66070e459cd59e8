"""Ordered beta regression, the kernel of the family `ordered-beta`."""

import numpy as np
from scipy import special

from salstats.stats.models.errors import OF_BETA
from salstats.stats.models.family import Family, NotEstimableError, Solution
from salstats.stats.models.logit import FRACTIONAL, LOGIT, bernoulli_variance, separates
from salstats.stats.models.lumps import Shares, beta_told, between, fill, filled, solved, start_of_beta
from salstats.stats.models.predictors import Told, maximum

#: Cutpoints of a model without zeros, without ones.
_ABSENT = np.array([0.0, -np.inf, np.inf, 0.0])


def ordered_beta(matrix: np.ndarray, response: np.ndarray, intercept: bool) -> Solution:
    """A model of scores from 0 to 1 with lumps at the ends by maximum likelihood: one linear predictor.

    With eta = x'b and cutpoints c0 < c1, P(0) = 1 - F(eta - c0), P(1) = F(eta - c1) with F the logistic
    distribution; in between the score is beta with mean F(eta) and one precision. What moves the mean
    moves all three together, so that a coefficient is one number. Where no score is 0, or none is 1, that
    end has no cutpoint. The information is the expected one.

    Kubinec R. Ordered beta regression: a parsimonious, well-fitting model for continuous data with lower
    and upper bounds. Political Analysis 2023;31:519-536. https://doi.org/10.1017/pan.2022.20
    """
    label = ORDERED_BETA.label
    inside, zero, one = between(response, label), response == 0, response == 1
    if separates(matrix, response):
        raise NotEstimableError(f"the {label} model has no finite estimates, terms separate zeros and ones")
    present = [0, *([1] if zero.any() else []), *([2] if one.any() else []), 3]

    def told(predictors: np.ndarray) -> Told:
        eta, low, high, log_precision = fill(predictors, present, _ABSENT).T
        if (low >= high).any():
            return Told(float("nan"), np.empty(0), np.empty(0))
        above, top = special.expit(eta - low), special.expit(eta - high)
        gap = 1 / np.expm1(high - low)
        beta = beta_told(response, inside, eta, log_precision)
        share = above * (1 - top) * -np.expm1(low - high)
        each = np.where(zero, special.log_expit(low - eta), np.where(one, special.log_expit(eta - high), 0))
        middle = special.log_expit(eta - low) + special.log_expit(high - eta) + np.log(-np.expm1(low - high))
        # of a zero, of one in between, of a one: by eta and by the cutpoints
        of_zero = np.column_stack([-above, above, 0 * eta, 0 * eta])
        of_middle = np.column_stack([1 - above - top, above - 1 - gap, top + gap, 0 * eta])
        of_one = np.column_stack([1 - top, 0 * eta, top - 1, 0 * eta])
        kinds = ((1 - above, of_zero), (share, of_middle), (top, of_one))
        information = sum(p[:, None, None] * s[:, :, None] * s[:, None, :] for p, s in kinds)
        slopes = np.where(zero[:, None], of_zero, np.where(one[:, None], of_one, of_middle))
        slopes[:, [0, 3]] += beta.slopes
        places = np.ix_(range(len(eta)), [0, 3], [0, 3])
        information[places] += share[:, None, None] * beta.information
        likelihood = each.sum() + middle[inside].sum() + beta.likelihood
        return Told(float(likelihood), slopes[:, present], information[:, present][:, :, present])

    n = len(response)
    coefficients, log_precision = start_of_beta(matrix, response, inside)
    centre = float((matrix @ coefficients).mean())
    shares = np.array([1 - zero.mean(), one.mean()])
    with np.errstate(divide="ignore"):
        cutpoints = centre - special.logit(shares)
    start = np.concatenate([coefficients, np.array([0, *cutpoints, log_precision])[present[1:]]])
    designs = [matrix, *[np.ones((n, 1))] * (len(present) - 1)]
    found = maximum(designs, start, told, label)
    others = found.parameters[None, matrix.shape[1] :]
    low, high, log_precision = fill(others, present[1:], _ABSENT)[0, 1:]

    def shares_at(predictors: np.ndarray) -> Shares:
        eta, low, high, _ = fill(predictors, present, _ABSENT).T
        return special.expit(low - eta), special.expit(eta - high), special.expit(eta)

    cuts = {"cutpoint_zero": low, "cutpoint_one": high}
    parameters = {name: float(v) if np.isfinite(v) else float("nan") for name, v in cuts.items()}
    parameters["precision"] = float(np.exp(log_precision))
    surface = filled(_mean, present, _ABSENT)
    return solved(found, matrix, response, intercept, ("",), surface, shares_at, parameters)


def _mean(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(1) + P(in between) mu, and its derivatives by eta, the cutpoints and log phi."""
    eta, low, high, _ = predictors.T
    mu, above, top = special.expit(eta), special.expit(eta - low), special.expit(eta - high)
    (m1, a1, t1) = (bernoulli_variance(p) for p in (mu, above, top))
    m2, a2, t2 = m1 * (1 - 2 * mu), a1 * (1 - 2 * above), t1 * (1 - 2 * top)
    share = above - top
    slopes = np.column_stack([(a1 - t1) * mu + share * m1 + t1, -a1 * mu, -t1 * (1 - mu), 0 * eta])
    curves = np.zeros((len(eta), 4, 4))
    curves[:, 0, 0] = (a2 - t2) * mu + 2 * (a1 - t1) * m1 + share * m2 + t2
    curves[:, 0, 1] = curves[:, 1, 0] = -a2 * mu - a1 * m1
    curves[:, 0, 2] = curves[:, 2, 0] = t1 * m1 - t2 * (1 - mu)
    curves[:, 1, 1], curves[:, 2, 2] = a2 * mu, t2 * (1 - mu)
    return share * mu + top, slopes, curves


ORDERED_BETA = Family(
    name="ordered-beta",
    label="ordered beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check=FRACTIONAL.check,
    solve=ordered_beta,
    errors=OF_BETA,
    normal=True,
    n_spread=0,
)
