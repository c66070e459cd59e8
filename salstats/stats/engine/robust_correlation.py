"""Correlations that are robust to outliers: percentage bend and biweight, by pingouin."""

from typing import Literal

import numpy as np

from salstats.stats.engine.coefficients import (
    Coefficient,
    coefficient_with_t_test,
    is_perfect,
    perfect_correlation,
)

#: Share of the values, those furthest from the median, that the percentage bend correlation down-weights:
#: pingouin's and WRS2's default.
_BEND_SHARE = 0.2


def share_equal_to_median_if_no_spread(values: np.ndarray, test: str) -> Literal["half", "four fifths", ""]:
    """Return the share of values that equals the median and so leaves no spread, "" if there is a spread.

    `test` is "bicor", which has no spread if half of the values are equal, or "percbend", where it is
    "four fifths", 1 - `_BEND_SHARE`. Without spread pingouin's `bicor` is NaN, and its `percbend` is a
    meaningless number.
    """
    deviations = np.sort(np.abs(values - np.median(values)))
    share: Literal["half", "four fifths"]
    if test == "bicor":
        spread = np.median(deviations)
        share = "half"
    else:
        # the percentage bend correlation scales values by this quantile of the deviations
        bend_position = int((1 - _BEND_SHARE) * len(values)) - 1
        spread = deviations[bend_position]
        share = "four fifths"
    if spread == 0:
        return share
    return ""


def robust_correlation_coefficient(x: np.ndarray, y: np.ndarray, test: str) -> float:
    """Compute the percentage bend or biweight correlation, NaN where a variable has no spread."""
    # The import takes 1.6 s, and only these correlations need it.
    from pingouin.correlation import bicor, percbend

    if share_equal_to_median_if_no_spread(x, test) or share_equal_to_median_if_no_spread(y, test):
        return np.nan
    if test == "percbend":
        return float(percbend(x, y, beta=_BEND_SHARE)[0])
    return float(bicor(x, y)[0])


def robust_correlation_with_test(x: np.ndarray, y: np.ndarray, test: str) -> Coefficient:
    """Compute a robust correlation with its t test, which has n - 2 degrees of freedom.

    pingouin's P value, which is not used, is 0 from |r| = 0.999995 on.
    """
    r = float(np.clip(robust_correlation_coefficient(x, y, test), -1, 1))
    if is_perfect(r, len(x)):
        return perfect_correlation(r)
    return coefficient_with_t_test(r, df=len(x) - 2)
