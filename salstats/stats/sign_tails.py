"""Small P values of sign-flip tests, counted over every pattern of signs instead of a sample of them.

A sample of B flips knows no P value below 1 / B, which is not small after an adjustment for many tests. The
shift algorithm of Streitberg and Roehmel counts all patterns for scores that are whole numbers; other scores
are rounded to thousandths of what decides, as in exactRankTests for R.

Streitberg B, Roehmel J. Exact distributions for permutation and rank tests: an introduction to some recently
published algorithms. Statistical Software Newsletter 1986;12:10-17.
"""

import numpy as np

#: Steps into which the sum of the units on the other side is divided.
_STEPS = 4096
#: Parts of the largest that are smaller than this share are 0.
_NOTHING = 1e-12
#: Multiples that differ from whole numbers by less are whole.
_WHOLE = 1e-6


def exact_p_values(parts: np.ndarray, ties: float) -> np.ndarray:
    """Share of all patterns of signs whose sums lie at least as far from 0 as the data's, for each row.

    `parts` (n_units, n_rows) are the units' shares of the statistic. Patterns exactly as far as the data
    count `ties`: 1, or 0.5 of a mid-P value.
    """
    return np.array([_exact_p_value(row, ties) for row in parts.T])


def _exact_p_value(parts: np.ndarray, ties: float) -> float:
    """P value of one row.

    A pattern is as far on the data's side where the units that it sets against that side sum to no more than
    those that the data have against it.
    """
    sizes = np.abs(parts)
    counted = sizes > _NOTHING * sizes.max(initial=0.0)
    against = counted & (np.sign(parts) != np.sign(parts.sum()))
    if not against.any():
        return 2 * ties * _halved(int(counted.sum()))
    step_size = _step_size(sizes[counted], sizes[against].sum())
    steps = np.rint(sizes / step_size).astype(np.int64)
    most = int(steps[against].sum())
    within = counted & (steps <= most)
    # share of the patterns of the units so far, by the sum of those set against the data's side
    shares = np.zeros(most + 1)
    shares[0] = 1.0
    for step in steps[within]:
        shifted = np.zeros(most + 1)
        shifted[step:] = shares[: most + 1 - step]
        shares = (shares + shifted) / 2
    # a unit larger than all that may be against has to be on the data's side
    n_larger = int(counted.sum() - within.sum())
    return float(2 * (shares[:-1].sum() + ties * shares[-1]) * _halved(n_larger))


def _step_size(sizes: np.ndarray, total: float) -> float:
    """Size that others are rounded to: of counts, such as hits, the smallest, so that ties stay ties."""
    smallest = sizes.min()
    multiples = sizes / smallest
    whole = np.abs(multiples - np.rint(multiples)).max() < _WHOLE
    if whole and total / smallest <= _STEPS:
        return float(smallest)
    return float(total / _STEPS)


def _halved(n_times: int) -> float:
    """One half to a power, never 0."""
    return max(0.5**n_times, np.finfo(np.float64).tiny)
