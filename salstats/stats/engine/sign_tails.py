"""Small P values of sign-flip tests, of every pattern of signs instead of a sample of them.

A sample of B flips knows no P value below 1 / B, which is not small after an adjustment for many tests.

Streitberg B, Roehmel J. Exact distributions for permutation and rank tests: an introduction to some recently
published algorithms. Statistical Software Newsletter 1986;12:10-17.

Robinson J. Saddlepoint approximations for permutation tests and confidence intervals. J R Stat Soc B
1982;44:91-101. doi:10.1111/j.2517-6161.1982.tb01191.x

Lugannani R, Rice S. Saddle point approximation for the distribution of the sum of independent random
variables. Adv Appl Probab 1980;12:475-490. doi:10.2307/1426607
"""

import numpy as np
from scipy import optimize, stats

#: Steps into which the sum of the units on the other side is divided.
_STEPS = 4096
#: Units up to which rounding to such steps is an error of less than a hundredth.
_FEW_UNITS = 60
#: Parts of the largest that are smaller than this share are 0.
_NOTHING = 1e-12
#: Multiples that differ from whole numbers by less are whole.
_WHOLE = 1e-6


def sign_p_values(parts: np.ndarray, ties: float) -> np.ndarray:
    """Share of all patterns of signs whose sums lie at least as far from 0 as the data's, for each row.

    `parts` (n_units, n_rows) are the units' shares of the statistic. Patterns exactly as far as the data
    count `ties`: 1, or 0.5 of a mid-P value. The patterns of few units, and of counts such as hits, are
    counted (Streitberg and Roehmel 1986); of many units with other scores the share is a saddlepoint
    approximation (Lugannani and Rice 1980).
    """
    return np.array([_p_value(row, ties) for row in parts.T])


def _p_value(parts: np.ndarray, ties: float) -> float:
    """P value of one row.

    A pattern is as far on the data's side where the units that it sets against that side sum to no more than
    those that the data have against it.
    """
    sizes = np.abs(parts)
    varies = sizes > _NOTHING * sizes.max(initial=0.0)
    opposed = np.sign(parts) != np.sign(parts.sum())
    sizes = sizes[varies]
    opposed = opposed[varies]
    if not opposed.any():
        return 2 * ties * _halved(len(sizes))
    smallest = sizes.min()
    multiples = sizes / smallest
    is_count = np.abs(multiples - np.rint(multiples)).max() < _WHOLE
    if is_count and multiples[opposed].sum() <= _STEPS:
        return _counted(np.rint(multiples).astype(np.int64), opposed, ties)
    if len(sizes) <= _FEW_UNITS:
        steps = np.rint(sizes * (_STEPS / sizes[opposed].sum()))
        return _counted(steps.astype(np.int64), opposed, ties)
    return _saddlepoint(sizes, abs(parts.sum()))


def _counted(steps: np.ndarray, opposed: np.ndarray, ties: float) -> float:
    """P value of whole numbers, by the shift algorithm."""
    most = int(steps[opposed].sum())
    within = steps <= most
    # share of the patterns of the units so far, by the sum of those set against the data's side
    shares = np.zeros(most + 1)
    shares[0] = 1.0
    for step in steps[within]:
        shares[step:] += shares[: most + 1 - step]
        shares /= 2
    # a unit larger than all that may be opposed has to be on the data's side
    n_larger = int((~within).sum())
    return float(2 * (shares[:-1].sum() + ties * shares[-1]) * _halved(n_larger))


def _saddlepoint(sizes: np.ndarray, distance: float) -> float:
    """P value by the cumulant generating function of signs, the sum of log cosh(t size)."""

    def slope(t: float) -> float:
        return float((sizes * np.tanh(t * sizes)).sum()) - distance

    upper = distance / float((sizes**2).sum())
    while slope(upper) < 0:
        upper *= 2
    t = float(optimize.brentq(slope, 0.0, upper))
    cumulant = (np.logaddexp(t * sizes, -t * sizes) - np.log(2)).sum()
    curvature = (sizes**2 * (1 - np.tanh(t * sizes) ** 2)).sum()
    w = np.sqrt(2 * (t * distance - cumulant))
    u = t * np.sqrt(curvature)
    return float(2 * (stats.norm.sf(w) + stats.norm.pdf(w) * (1 / u - 1 / w)))


def _halved(n_times: int) -> float:
    """One half to a power, never 0."""
    return max(0.5**n_times, np.finfo(np.float64).tiny)
