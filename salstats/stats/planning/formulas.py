"""Power and widths by formula: of a t test of units, of a margin, of an interval, and of readers and cases.

Units are independent; `sd` is that of one unit's part of the estimate, whose standard error is sd/sqrt(n).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

#: Numbers that may be arrays, as long as they go together.
Numbers = Any
#: Nodes of the integral over the SD of a study, and what is left out of it at either end.
_NODES, _TAIL = np.polynomial.legendre.leggauss(200), 1e-15
#: Cases that are searched at most.
MOST_CASES = 1_000_000


def f_power(ncp: Numbers, df: Numbers, level: float) -> np.ndarray:
    """Power of a two-sided test at 1 - `level` whose squared statistic is F with 1 and `df` degrees of freedom.

    `ncp` is the squared effect in standard errors; an infinite `df` makes the test one of z.
    """
    ncp, df = np.broadcast_arrays(np.asarray(ncp, float), np.asarray(df, float))
    # scipy's noncentral t is NaN at some large effects; its noncentral F is not
    missed = special.ncfdtr(1, np.where(np.isinf(df), 1, df), ncp, special.fdtri(1, df, level))
    root, q = np.sqrt(ncp), special.ndtri((1 + level) / 2)
    return np.where(np.isinf(df), special.ndtr(root - q) + special.ndtr(-root - q), 1 - missed)


def margin_power(
    effect: float, sd: float, n_units: Numbers, low: float, high: float, level: float
) -> np.ndarray:
    """Chance that one-sided t tests at 1 - `level` show an effect to lie above `low` and below `high`."""
    n = np.asarray(n_units, float)[..., None]
    se, df, q = sd / np.sqrt(n), n - 1, special.stdtrit(n - 1, level)
    nodes, weights = _NODES
    # r is the SD of a study in true ones; at `most` the interval is as wide as the margin
    first, last = (np.sqrt(special.chdtri(df, p) / df) for p in (1 - _TAIL, _TAIL))
    most = np.minimum(last, (high - low) / (2 * q * se))
    first = np.minimum(first, most)
    r = first + (most - first) * (nodes + 1) / 2
    density = 2 * df * r * stats.chi2.pdf(df * r**2, df)
    inside = special.ndtr((high - effect) / se - q * r) - special.ndtr((low - effect) / se + q * r)
    return np.asarray((density * np.maximum(inside, 0) * weights).sum(axis=-1) * (most - first)[..., 0] / 2)


def mean_width(sd: float, n_units: Numbers, level: float) -> np.ndarray:
    """Expected width of a t interval."""
    n = np.asarray(n_units, float)
    mean_sd = sd * np.sqrt(2 / (n - 1)) * np.exp(special.gammaln(n / 2) - special.gammaln((n - 1) / 2))
    return np.asarray(2 * special.stdtrit(n - 1, (1 + level) / 2) * mean_sd / np.sqrt(n))


def width_power(width: float, sd: float, n_units: Numbers, level: float) -> np.ndarray:
    """Chance that a t interval is no wider than `width`."""
    n = np.asarray(n_units, float)
    largest = width * np.sqrt(n) / (2 * special.stdtrit(n - 1, (1 + level) / 2) * sd)
    return np.asarray(special.chdtr(n - 1, (n - 1) * largest**2))


def fewest(power: Callable[[int], float], target: float, least: int) -> int | None:
    """Smallest number, from `least` on, at which power reaches the target; None where none does.

    Power must not fall as the number rises.
    """
    if power(least) >= target:
        return least
    low, high = least, 2 * least
    while power(high) < target:
        low, high = high, 2 * high
        if low > MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= target else (middle, high)
    return high


@dataclass(frozen=True)
class Components:
    """Variance components of the Obuchowski-Rockette model.

    Attributes
    ----------
    var, cov1, cov2, cov3 : float
        Variance of a reader's score with a method over samples of `n_cases` cases, and covariances of the same
        reader with two methods, of two readers with the same, and of two readers with two.
    var_tr : float
        Variance of the interaction of readers and methods.
    n_cases : float
        Cases that the former are of; they shrink in proportion.
    """

    var: float
    cov1: float
    cov2: float
    cov3: float
    var_tr: float
    n_cases: float


class Noncentral(NamedTuple):
    """What power of readers and cases is read from, and the standard error of the difference."""

    ncp: np.ndarray
    df: np.ndarray
    std_error: np.ndarray


def hillis(
    components: Components,
    effect: Numbers,
    n_readers: Numbers,
    n_cases: Numbers,
    *,
    random_readers: bool = True,
    random_cases: bool = True,
) -> Noncentral:
    """Noncentral F of the difference of two methods that the same readers used on the same cases.

    Who is not random is fixed: results speak of these readers, or of these cases. With fixed readers the
    test is one of z. Negative components count as 0.

    References
    ----------
    Hillis SL, Obuchowski NA, Berbaum KS. Power estimation for multireader ROC methods: an updated and unified
    approach. Acad Radiol 2011. doi:10.1016/j.acra.2010.09.007
    """
    readers = np.asarray(n_readers, float)
    ratio = components.n_cases / np.asarray(n_cases, float)
    shared = ratio * max(components.cov2 - components.cov3, 0.0)
    own = ratio * (components.var - components.cov1) - shared
    by_readers = own + max(components.var_tr, 0.0)
    mean_square = (by_readers if random_readers else own) + (readers * shared if random_cases else 0.0)
    if random_readers:
        df = (readers - 1) * (mean_square / by_readers) ** 2
    else:
        df = np.broadcast_to(np.inf, np.shape(mean_square))
    ncp = readers * np.asarray(effect, float) ** 2 / (2 * mean_square)
    return Noncentral(ncp, df, np.sqrt(2 * mean_square / readers))
