"""Power and widths by formula, from the standard error that a study will have and its degrees of freedom."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from salstats.stats.mrmc.anova import ANALYSES, Parts, error_of_difference

#: Numbers that may be arrays, as long as they go together.
Numbers = Any
#: Nodes of the integral over the SD of a study, and what is left out of it at either end.
_NODES, _TAIL = np.polynomial.legendre.leggauss(200), 1e-15
#: Degrees of freedom from which a standard error is as good as known.
_KNOWN = 1e7
#: Cases that are searched at most.
MOST_CASES = 1_000_000


class Precision(NamedTuple):
    """Standard error of a planned estimate, and the degrees of freedom it will be estimated with."""

    std_error: Numbers
    df: Numbers


def of_units(sd: float, n_units: Numbers) -> Precision:
    """Of the mean of independent units, `sd` being that of one unit's part."""
    n = np.asarray(n_units, float)
    return Precision(sd / np.sqrt(n), n - 1)


def t_power(effect: Numbers, of: Precision, level: float) -> np.ndarray:
    """Power of a two-sided t test at 1 - `level`, on either side: by the noncentral F of its square."""
    size = np.abs(np.asarray(effect, float) / of.std_error)
    size, df = np.broadcast_arrays(size, np.asarray(of.df, float))
    # scipy's noncentral t is NaN at some large effects; its noncentral F is not
    missed = special.ncfdtr(
        1, np.minimum(df, _KNOWN), size**2, special.fdtri(1, np.minimum(df, _KNOWN), level)
    )
    q = special.ndtri((1 + level) / 2)
    return np.where(df > _KNOWN, special.ndtr(size - q) + special.ndtr(-size - q), 1 - missed)


def margin_power(effect: float, of: Precision, low: float, high: float, level: float) -> np.ndarray:
    """Chance that one-sided t tests at 1 - `level` show an effect to lie above `low` and below `high`."""
    se, df = (np.asarray(v, float)[..., None] for v in of)
    df = np.minimum(df, _KNOWN)
    q = special.stdtrit(df, level)
    nodes, weights = _NODES
    # r is what the standard error comes out as, in true ones; at `most` the interval is as wide as the margin
    first, last = (np.sqrt(special.chdtri(df, p) / df) for p in (1 - _TAIL, _TAIL))
    most = np.minimum(last, (high - low) / (2 * q * se))
    first = np.minimum(first, most)
    r = first + (most - first) * (nodes + 1) / 2
    density = 2 * df * r * stats.chi2.pdf(df * r**2, df)
    inside = special.ndtr((high - effect) / se - q * r) - special.ndtr((low - effect) / se + q * r)
    return np.asarray((density * np.maximum(inside, 0) * weights).sum(axis=-1) * (most - first)[..., 0] / 2)


def mean_width(of: Precision, level: float) -> np.ndarray:
    """Expected width of a t interval."""
    df = np.minimum(of.df, _KNOWN)
    known_by = np.sqrt(2 / df) * special.poch(df / 2, 0.5)
    return np.asarray(2 * special.stdtrit(df, (1 + level) / 2) * known_by * of.std_error)


def width_power(width: float, of: Precision, level: float) -> np.ndarray:
    """Chance that a t interval is no wider than `width`."""
    df = np.minimum(of.df, _KNOWN)
    largest = width / (2 * special.stdtrit(df, (1 + level) / 2) * of.std_error)
    return np.asarray(special.chdtr(df, df * largest**2))


def fewest(power: Callable[[int], float], target: float, least: int) -> int | None:
    """Smallest number from `least` at which power, which must not fall, reaches the target; else None."""
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
    """Variance components of the Obuchowski-Rockette model."""

    # var, cov1, cov2, cov3: variance of a reader's figure with a method over samples of `n_cases` cases, and
    # covariances of one reader with two methods, of two readers with one method, and of both different
    var: float
    cov1: float
    cov2: float
    cov3: float
    var_tr: float  # variance of the interaction of readers and methods
    n_cases: float  # cases that the former are of; they shrink in proportion


def hillis(
    components: Components,
    n_readers: int,
    n_cases: Numbers,
    *,
    random_readers: bool = True,
    random_cases: bool = True,
) -> Precision:
    """Precision of the difference of two methods that the same readers used on the same cases.

    Who is not random is fixed: results speak of these readers, or of these cases. With fixed readers the
    test is one of z. Negative components count as 0.

    Hillis SL, Obuchowski NA, Berbaum KS. Power estimation for multireader ROC methods: an updated and unified
    approach. Acad Radiol 2011. doi:10.1016/j.acra.2010.09.007
    """
    c, expected = components, []
    for n in np.ravel(n_cases):
        var, cov1, cov2, cov3 = (part * c.n_cases / n for part in (c.var, c.cov1, c.cov2, c.cov3))
        # what the mean square of readers by methods is on average
        within = max(c.var_tr, 0.0) + var - cov1 - max(cov2 - cov3, 0.0)
        parts = Parts(
            np.zeros(2), np.full(2, n_readers), False, np.nan, np.nan, within, n_readers - 1, var, cov1, cov2,
            cov3,
        )  # fmt: skip
        expected.append(error_of_difference(parts, ANALYSES[random_readers, random_cases], 0, 1))
    return Precision(*np.reshape(np.transpose(expected), (2, *np.shape(n_cases))))
