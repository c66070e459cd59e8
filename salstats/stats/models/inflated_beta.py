"""Beta regression inflated at 0 and 1, the kernel of the family `zero-one-inflated-beta`."""

import itertools

import numpy as np
from scipy import special

from salstats.stats.models.errors import OF_BETA
from salstats.stats.models.family import Family, NotEstimableError, Solution, estimable_columns
from salstats.stats.models.logit import FRACTIONAL, LOGIT, bernoulli_variance, receding
from salstats.stats.models.lumps import Shares, beta_told, between, fill, filled, solved, start_of_beta
from salstats.stats.models.predictors import Told, maximum

_PARTS = ("mean", "zero", "one")
#: Logits of a model without zeros, without ones.
_ABSENT = np.array([0.0, -np.inf, -np.inf, 0.0])


def inflated_beta(matrix: np.ndarray, response: np.ndarray, intercept: bool) -> Solution:
    """A model of scores from 0 to 1 with lumps at the ends by maximum likelihood: a predictor for each part.

    Part `mean` is the logit of the mean of the scores strictly between 0 and 1, which are beta with one
    precision; parts `zero` and `one` are the logs of P(0) and of P(1) over P(in between). All have the same
    columns. A part whose lump is not there is left out: a zero-inflated or a one-inflated beta model, or a
    beta model. The information is the expected one.

    Ospina R, Ferrari SLP. Inflated beta distributions. Statistical Papers 2010;51:111-126.
    https://doi.org/10.1007/s00362-008-0125-4
    """
    label = INFLATED_BETA.label
    inside = between(response, label)
    lumps = [(1, response == 0), (2, response == 1)]
    present = [0, *(place for place, lump in lumps if lump.any()), 3]
    if len(estimable_columns(matrix[inside])) < matrix.shape[1]:
        raise NotEstimableError(f"the {label} model has no mean of some term strictly between 0 and 1")
    told_apart = _separated(matrix, [lump for _, lump in lumps if lump.any()])
    if told_apart.any():
        which = " and ".join(
            f"{_PARTS[p]}s" for p, apart in zip(present[1:-1], told_apart, strict=True) if apart
        )
        raise NotEstimableError(
            f"the {label} model has no finite estimates, terms separate {which} from the rest"
        )

    def told(predictors: np.ndarray) -> Told:
        mean, zero, one, log_precision = fill(predictors, present, _ABSENT).T
        beta = beta_told(response, inside, mean, log_precision)
        total = np.logaddexp(np.logaddexp(0, zero), one)
        p = np.column_stack([np.exp(zero - total), np.exp(one - total)])
        lump = np.column_stack([of for _, of in lumps])
        slopes = np.column_stack([beta.slopes[:, 0], lump - p, beta.slopes[:, 1]])
        information = np.zeros((len(response), 4, 4))
        information[:, 1:3, 1:3] = p[:, :, None] * (np.eye(2) - p[:, None, :])
        information[np.ix_(range(len(response)), [0, 3], [0, 3])] = (
            np.exp(-total)[:, None, None] * beta.information
        )
        likelihood = zero[lumps[0][1]].sum() + one[lumps[1][1]].sum() - total.sum() + beta.likelihood
        return Told(float(likelihood), slopes[:, present], information[:, present][:, :, present])

    coefficients, log_precision = start_of_beta(matrix, response, inside)
    n_parts = len(present) - 1
    start = np.concatenate([coefficients, np.zeros((n_parts - 1) * matrix.shape[1]), [log_precision]])
    designs = [*[matrix] * n_parts, np.ones((len(response), 1))]
    found = maximum(designs, start, told, label)

    def shares_at(predictors: np.ndarray) -> Shares:
        return _shares(fill(predictors, present, _ABSENT))

    parts = tuple(_PARTS[place] for place in present[:-1])
    surface = filled(_mean, present, _ABSENT)
    parameters = {"precision": float(np.exp(found.parameters[-1]))}
    return solved(found, matrix, response, intercept, parts, surface, shares_at, parameters)


def _separated(matrix: np.ndarray, lumps: list[np.ndarray]) -> np.ndarray:
    """Which lumps have no finite logits: as in `separates`, among three kinds of scores."""
    kinds = [*lumps, ~np.any([np.zeros(len(matrix), dtype=bool), *lumps], axis=0)]
    n_lumps, rank = len(lumps), matrix.shape[1]
    outward = []
    for own, other in itertools.permutations(range(len(kinds)), 2):
        rows = np.zeros((int(kinds[own].sum()), n_lumps + 1, rank))
        rows[:, own] += matrix[kinds[own]]
        rows[:, other] -= matrix[kinds[own]]
        outward.append(rows[:, :n_lumps].reshape(len(rows), -1))
    if not outward:
        return np.zeros(0, dtype=bool)
    return np.asarray((np.abs(receding(np.concatenate(outward))).reshape(n_lumps, rank) > 1e-6).any(axis=1))


def _shares(predictors: np.ndarray) -> Shares:
    """P(0), P(1) and the mean in between."""
    mean, zero, one, _ = predictors.T
    total = np.logaddexp(np.logaddexp(0, zero), one)
    return np.exp(zero - total), np.exp(one - total), special.expit(mean)


def _mean(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(1) + P(in between) mu, and its derivatives by the logits and log phi."""
    zero, one, mu = _shares(predictors)
    inside, m1 = 1 - zero - one, bernoulli_variance(mu)
    value = inside * mu + one
    slopes = np.column_stack([inside * m1, -zero * value, one * (1 - value), 0 * value])
    curves = np.zeros((len(value), 4, 4))
    curves[:, 0, 0] = inside * m1 * (1 - 2 * mu)
    curves[:, 0, 1] = curves[:, 1, 0] = -zero * inside * m1
    curves[:, 0, 2] = curves[:, 2, 0] = -one * inside * m1
    curves[:, 1, 1] = -zero * value * (1 - 2 * zero)
    curves[:, 1, 2] = curves[:, 2, 1] = zero * one * (2 * value - 1)
    curves[:, 2, 2] = one * (1 - value) * (1 - 2 * one)
    return value, slopes, curves


INFLATED_BETA = Family(
    name="zero-one-inflated-beta",
    label="zero-one-inflated beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check=FRACTIONAL.check,
    solve=inflated_beta,
    errors=OF_BETA,
    normal=True,
    n_spread=0,
)
