"""Where labels stand that would hide each other."""

import numpy as np
from scipy import optimize


def apart(places: np.ndarray, sizes: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the middles of labels of some sizes between low and high, moved no more than they need to be.

    Their order stays (of equal places the first is lowest). Labels that do not fit together overlap evenly.

    Examples
    --------
    >>> apart(np.array([5.0, 1.0, 5.0]), np.array([2.0, 2.0, 2.0]), 0.0, 10.0)
    array([4., 1., 6.])
    """
    order = np.argsort(places, kind="stable")
    tall = sizes[order] * min(1.0, (high - low) / sizes.sum())
    steps = np.cumsum(tall) - (tall + tall[0]) / 2
    # least squares under q[i + 1] - q[i] >= step is isotonic regression of what is left without the steps
    left = optimize.isotonic_regression(places[order] - steps).x
    result = np.empty(len(places))
    result[order] = np.clip(left, low + tall[0] / 2, high - tall[-1] / 2 - steps[-1]) + steps
    return result
