"""Small P values of sign-flip tests, from every pattern of signs instead of a sample of patterns.

No P value of a sample of B flips is below 1 / B, which is not small after an adjustment for many tests.

Streitberg B, Roehmel J. Exact distributions for permutation and rank tests: an introduction to some recently
published algorithms. Statistical Software Newsletter 1986;12:10-17.

Robinson J. Saddlepoint approximations for permutation tests and confidence intervals. J R Stat Soc B
1982;44:91-101. doi:10.1111/j.2517-6161.1982.tb01191.x

Lugannani R, Rice S. Saddle point approximation for the distribution of the sum of independent random
variables. Adv Appl Probab 1980;12:475-490. doi:10.2307/1426607
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

#: Number of steps into which a sum of sizes is divided where sizes are rounded to whole steps.
_N_STEPS = 4096
#: Largest number of units whose P values have errors of less than a hundredth after rounding to steps.
_FEW_UNITS = 60
#: Sizes below this share of the largest are rounding.
_ROUNDING = 1e-12
#: Statistic in standard errors below which the saddlepoint approximation loses its digits.
_SMALLEST_SADDLEPOINT_Z = 0.01
#: Multiples that differ from whole numbers by less are whole.
_WHOLE_NUMBER_TOLERANCE = 1e-6


def sign_p_values(unit_shares_of_statistic: np.ndarray, tie_weight: float) -> np.ndarray:
    """Compute two-sided P values from all patterns of signs, shape (n_rows,).

    A P value is the share of patterns whose sum is at least as far from 0 as the sum of the data.
    `unit_shares_of_statistic` have shape (n_units, n_rows). Patterns exactly as far as the data count
    `tie_weight`: 1, or 0.5 for a mid-P value. The patterns of few units, and of counts such as hits, are
    counted (Streitberg and Roehmel 1986); for many units with other scores the share is approximated by a
    saddlepoint (Lugannani and Rice 1980).
    """
    p_values = np.array(
        [_sign_flip_p_value(row_shares, tie_weight) for row_shares in unit_shares_of_statistic.T]
    )
    # more than 1,000 units may have a P value below the smallest positive number, but none of 0
    p_values[p_values == 0] = np.finfo(np.float64).tiny
    return p_values


def _sign_flip_p_value(unit_shares_of_statistic: np.ndarray, tie_weight: float) -> float:
    """Compute the P value of one row; `unit_shares_of_statistic` have shape (n_units,).

    A unit is opposed if its sign is not the sign of the statistic. A pattern of signs has a statistic at
    least as far from 0, with the same sign, if the sizes of its opposed units sum to no more than the sizes
    of the units that are opposed in the data. For a statistic of 0 either sign can be that of the statistic.
    """
    statistic = unit_shares_of_statistic.sum()
    sizes = np.abs(unit_shares_of_statistic)
    is_zero = abs(statistic) <= _ROUNDING * sizes.sum()
    is_opposed = np.sign(unit_shares_of_statistic) != np.sign(statistic)
    if is_zero:
        is_opposed = unit_shares_of_statistic < 0
    is_nonzero = sizes > _ROUNDING * sizes.max(initial=0.0)
    sizes = sizes[is_nonzero]
    is_opposed = is_opposed[is_nonzero]
    if not len(sizes):
        return 1.0
    if not is_opposed.any():
        # Only the data and the opposite pattern are as far from 0.
        return 2 * tie_weight * 0.5 ** len(sizes)
    multiples = sizes / sizes.min()
    whole_multiples = np.rint(multiples)
    are_whole = np.abs(multiples - whole_multiples).max() < _WHOLE_NUMBER_TOLERANCE
    if are_whole and multiples[is_opposed].sum() <= _N_STEPS:
        whole_sizes = whole_multiples
    elif len(sizes) <= _FEW_UNITS:
        whole_sizes = np.rint(sizes * (_N_STEPS / sizes[is_opposed].sum()))
    else:
        return _two_sided_saddlepoint_p_value(sizes, abs(statistic))
    shares = _shares_of_sign_patterns_further_and_as_far(whole_sizes.astype(np.int64), is_opposed)
    if is_zero:
        # Every pattern is at least as far from 0, and the patterns with a statistic of 0 are ties.
        return 1 - (1 - tie_weight) * shares.as_far
    return 2 * (shares.further + tie_weight * shares.as_far)


class _SharesFurtherAndAsFar(NamedTuple):
    """Shares of all patterns of signs, of those whose statistic has the same sign as that of the data."""

    #: Patterns whose statistic is further from 0 than that of the data.
    further: float
    #: Patterns whose statistic is exactly as far.
    as_far: float


def _shares_of_sign_patterns_further_and_as_far(
    sizes: np.ndarray, is_opposed: NDArray[np.bool_]
) -> _SharesFurtherAndAsFar:
    """Return the shares of sign patterns whose sum is further from 0 than the data's, and exactly as far.

    `sizes` are whole numbers, so that the shift algorithm counts the patterns.

    See Streitberg and Roehmel (1986).
    """
    opposed_sum = int(sizes[is_opposed].sum())
    can_be_opposed = sizes <= opposed_sum
    # Element s is the share of the patterns of the units so far whose opposed sizes sum to s.
    shares = np.zeros(opposed_sum + 1)
    shares[0] = 1.0
    for size in sizes[can_be_opposed]:
        shares[size:] += shares[: opposed_sum + 1 - size]
        shares /= 2
    # A unit larger than the opposed sum must have the sign of the statistic.
    n_larger = int((~can_be_opposed).sum())
    share_of_larger_units = 0.5**n_larger
    return _SharesFurtherAndAsFar(
        further=float(shares[:-1].sum() * share_of_larger_units),
        as_far=float(shares[-1] * share_of_larger_units),
    )


def _two_sided_saddlepoint_p_value(sizes: np.ndarray, distance: float) -> float:
    """Approximate the two-sided P value of a statistic this far from 0 by Lugannani and Rice's formula.

    P = 2 (1 - Phi(w) + phi(w) (1/u - 1/w)) with w = sqrt(2 (t distance - K(t))) and u = t sqrt(K''(t)); Phi
    and phi are the standard normal distribution function and density. K(t) = sum of log cosh(t size) over
    units is the cumulant generating function of a sum of sizes with random signs, and the saddlepoint t
    solves K'(t) = distance. `sizes` has shape (n_units,).

    Near 0, where 1/u - 1/w is a small difference of large numbers, the statistic is taken to be normal.
    """
    sum_of_squares = float((sizes**2).sum())
    z = distance / np.sqrt(sum_of_squares)
    if z < _SMALLEST_SADDLEPOINT_Z:
        return float(2 * stats.norm.sf(z))

    def derivative_difference(t: float) -> float:
        """Return K'(t) - distance."""
        return float((sizes * np.tanh(t * sizes)).sum()) - distance

    # K'(t) is at most t times the sum of squared sizes, so that t is at least this number.
    upper = distance / sum_of_squares
    while derivative_difference(upper) < 0:
        upper *= 2
    t = float(optimize.brentq(derivative_difference, 0.0, upper))
    # log cosh(z) = log((exp(z) + exp(-z)) / 2)
    k = (np.logaddexp(t * sizes, -t * sizes) - np.log(2)).sum()
    k_second_derivative = (sizes**2 * (1 - np.tanh(t * sizes) ** 2)).sum()
    w = np.sqrt(2 * (t * distance - k))
    u = t * np.sqrt(k_second_derivative)
    upper_tail = stats.norm.sf(w) + stats.norm.pdf(w) * (1 / u - 1 / w)
    return float(2 * upper_tail)
