"""Area under an insertion or deletion curve; `salstats.explain` makes the curves."""

from typing import Any

import numpy as np

from salstats.metrics.records import Metric


def area_under_curve(prob: Any, fraction: Any) -> float:
    """Return the area under a curve of probabilities over the share of pixels changed, by the trapezoid rule.

    Parameters
    ----------
    prob : array_like of float, shape (n,)
        The network's probability; NaN where unknown.
    fraction : array_like of float, shape (n,)
        Shares of pixels in ascending order, from 0 to 1.

    Returns
    -------
    float
        A mean probability, from 0 to 1; NaN where a probability is.

    Examples
    --------
    >>> from salstats.metrics.curves import area_under_curve
    >>> area_under_curve([0.0, 0.8, 1.0], [0.0, 0.5, 1.0])
    0.65
    """
    heights = np.asarray(prob, np.float64)
    positions = np.asarray(fraction, np.float64)
    return float(np.trapezoid(heights, positions))


_RISE = "Petsiuk et al. 2018 (RISE), doi:10.48550/arXiv.1806.07421"
_NEEDS = ("prob", "fraction")

INSERTION = Metric(
    name="insertion",
    label="Insertion AUC",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=_RISE,
    needs=_NEEDS,
    kernel=area_under_curve,
)
DELETION = Metric(
    name="deletion",
    label="Deletion AUC",
    low=0,
    high=1,
    direction=-1,
    true_zero=True,
    source=_RISE,
    needs=_NEEDS,
    kernel=area_under_curve,
)
