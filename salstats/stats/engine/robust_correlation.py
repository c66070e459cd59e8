"""Correlations that are robust to outliers: percentage bend and biweight, by pingouin."""

import numpy as np

from salstats.stats.engine.coefficients import Coefficient, is_perfect, perfect_correlation, with_t_test

#: Share of the values, those furthest from the median, that the percentage bend correlation down-weights:
#: pingouin's and WRS2's default.
_BEND_SHARE = 0.2


def lumped_share(values: np.ndarray, test: str) -> str:
    """Return the share of values that equal the median, as text, if it leaves no spread; else "".

    Without spread pingouin's `bicor` is NaN, and its `percbend` is a meaningless number.
    """
    deviations = np.sort(np.abs(values - np.median(values)))
    if test == "bicor":
        return "half" if np.median(deviations) == 0 else ""
    bend_position = int((1 - _BEND_SHARE) * len(values)) - 1
    return "four fifths" if deviations[bend_position] == 0 else ""


def robust_estimate(first: np.ndarray, second: np.ndarray, test: str) -> float:
    """Compute the percentage bend or biweight correlation, NaN where a variable has no spread."""
    # The import takes 1.6 s, and only these correlations need it.
    from pingouin.correlation import bicor, percbend

    if lumped_share(first, test) or lumped_share(second, test):
        return np.nan
    if test == "percbend":
        return float(percbend(first, second, beta=_BEND_SHARE)[0])
    return float(bicor(first, second)[0])


def robust_coefficient(first: np.ndarray, second: np.ndarray, test: str) -> Coefficient:
    """Compute a robust correlation with its t test, which has n - 2 degrees of freedom.

    pingouin's P value, which is not used, is 0 from |r| = 0.999995 on.
    """
    r = float(np.clip(robust_estimate(first, second, test), -1, 1))
    if is_perfect(r, len(first)):
        return perfect_correlation(r)
    return with_t_test(r, len(first) - 2)
