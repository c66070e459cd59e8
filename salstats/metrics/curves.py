"""The area under an insertion or deletion curve; the curves are made by `salstats.explain`."""

from typing import Any

import numpy as np

from salstats.metrics.records import Metric


def area_under(prob: Any, fraction: Any) -> float:
    """The area under a curve of probabilities over the share of pixels changed, by the trapezoid rule.

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
    >>> from salstats.metrics.curves import area_under
    >>> area_under([0.0, 0.8, 1.0], [0.0, 0.5, 1.0])
    0.65
    """
    return float(np.trapezoid(np.asarray(prob, np.float64), np.asarray(fraction, np.float64)))


_RISE = "Petsiuk et al. 2018 (RISE), doi:10.48550/arXiv.1806.07421"
_NEEDS = ("prob", "fraction")

INSERTION = Metric("insertion", "Insertion AUC", 0, 1, 1, True, _RISE, _NEEDS, area_under)
DELETION = Metric("deletion", "Deletion AUC", 0, 1, -1, True, _RISE, _NEEDS, area_under)
