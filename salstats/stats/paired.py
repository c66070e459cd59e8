"""Classical tests of paired scores: t, Wilcoxon, McNemar, sign flips. Kernels on arrays."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from salstats.checks import SalstatsError
from salstats.stats.cells import ratio
from salstats.stats.grouping import group_label
from salstats.stats.resampling import few_threads

TESTS = ("bootstrap", "t", "wilcoxon", "mcnemar", "signflip", "none")


def t_test(
    estimate: np.ndarray, variance: np.ndarray, df: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return statistic, degrees of freedom and two-sided p-value of the paired t test.

    `variance` is that of the mean difference, clustered where units have several pairs; with one pair
    per unit and `df` = units - 1 this is the ordinary paired t test. Without variance there is no test.
    """
    df = np.where((df >= 1) & (variance > 0), df, np.nan)
    statistic = ratio(estimate, np.sqrt(np.where(variance > 0, variance, np.nan)))
    p: np.ndarray = 2 * stats.t.sf(np.abs(statistic), df)
    return np.where(np.isnan(df), np.nan, statistic), df, p


def wilcoxon(differences: np.ndarray) -> tuple[float, float]:
    """Return the signed-rank statistic (sum of positive ranks) and its two-sided p-value.

    Zeros are left out; exact below 50 differences without ties or zeros, else the normal approximation
    with continuity correction: the defaults of R's `wilcox.test`.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)
        One per unit, finite.

    References
    ----------
    Wilcoxon F. Biometrics Bulletin 1945. doi:10.2307/3001968
    """
    used = differences[differences != 0]
    n = len(used)
    if n == 0:
        return 0.0, float("nan")
    ranks = stats.rankdata(np.abs(used))
    statistic = float(ranks[used > 0].sum())
    ties = np.unique(ranks, return_counts=True)[1]
    if n < 50 and n == len(differences) and (ties == 1).all():
        result = stats.wilcoxon(used, method="exact")
        return statistic, float(result.pvalue)
    deviation = statistic - n * (n + 1) / 4
    sigma = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48)
    z = (deviation - np.sign(deviation) * 0.5) / sigma
    return statistic, float(min(1.0, 2 * stats.norm.sf(abs(z))))


def mcnemar(method: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Return the number of pairs where only the method hits, and McNemar's exact two-sided p-value.

    Parameters
    ----------
    method, reference : ndarray of float64, shape (n,)
        Paired 0/1 scores.

    References
    ----------
    McNemar Q. Psychometrika 1947. doi:10.1007/BF02295996
    """
    only_method = int(((method == 1) & (reference == 0)).sum())
    only_reference = int(((method == 0) & (reference == 1)).sum())
    discordant = only_method + only_reference
    if discordant == 0:
        return 0.0, 1.0
    return float(only_method), float(stats.binomtest(only_method, discordant, 0.5).pvalue)


def sign_flip(sums: np.ndarray, signs: Iterable[np.ndarray], scale: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of sign-flip permutation tests of differences with mean 0.

    Parameters
    ----------
    sums : ndarray, shape (n_units, n_rows)
        Each unit's part of the mean difference (its rows are flipped together).
    signs : iterable of ndarray of int, shape (rows, n_units)
        -1 or 1, a block of replicates at a time.
    scale : ndarray, shape (n_rows,)
        Size of the means compared: sums that differ by less than 1e-12 of it are equal.

    Returns
    -------
    ndarray, shape (n_rows,)
        (1 + number of flips at least as far from 0 as the data) / (n_replicates + 1).
    """
    observed = np.abs(sums.sum(axis=0))
    # a flip that gives the same sum in another order of summation must count as equal
    least = observed - 1e-12 * scale
    reached, n_replicates = np.zeros(sums.shape[1], dtype=np.int64), 0
    with few_threads(*sums.shape):
        for block in signs:
            reached += (np.abs(block.astype(np.float64) @ sums) >= least).sum(axis=0)
            n_replicates += len(block)
    p: np.ndarray = (1 + reached) / (n_replicates + 1)
    return p


def check_independent(units: np.ndarray, keys: pd.DataFrame, row: int, unit: str) -> None:
    """Raise when a unit has several pairs, which the exact McNemar test cannot bear."""
    n_units = len(np.unique(units))
    if len(units) > n_units:
        raise SalstatsError(
            f"test='mcnemar' needs independent pairs; {group_label(keys, row)} has {len(units)} in "
            f"{n_units} units ({unit}); take test='t' or 'signflip', which keep a unit's pairs together"
        )
