"""Correlations that few outlying values cannot move much: percentage bend and biweight, by pingouin."""

import numpy as np

from salstats.stats.engine.coefficients import Coefficient, is_perfect, perfect, tested

#: Share of the deviations from the median beyond which values are bent: pingouin's and WRS2's default.
_BENT = 0.2


def lumped_share(values: np.ndarray, test: str) -> str:
    """Say what share of the values are equal where so many are that they have no spread; else empty.

    pingouin's `bicor` is NaN there, and its `percbend` a number that means nothing.
    """
    deviations = np.sort(np.abs(values - np.median(values)))
    if test == "bicor":
        return "half" if np.median(deviations) == 0 else ""
    bend = deviations[int((1 - _BENT) * len(values)) - 1]
    return "four fifths" if bend == 0 else ""


def robust_estimate(first: np.ndarray, second: np.ndarray, test: str) -> float:
    """Percentage-bend or biweight correlation by pingouin, NaN where a variable has no spread."""
    # an import of 1.6 s that only these correlations need
    from pingouin.correlation import bicor, percbend

    if lumped_share(first, test) or lumped_share(second, test):
        return np.nan
    if test == "percbend":
        return float(percbend(first, second, beta=_BENT)[0])
    return float(bicor(first, second)[0])


def robust_coefficient(first: np.ndarray, second: np.ndarray, test: str) -> Coefficient:
    """Robust correlation with its t test, n - 2 degrees of freedom.

    The P value is not pingouin's, which is 0 from |r| = 0.999995 on.
    """
    r = float(np.clip(robust_estimate(first, second, test), -1, 1))
    if is_perfect(r, len(first)):
        return perfect(r)
    return tested(r, len(first) - 2)
