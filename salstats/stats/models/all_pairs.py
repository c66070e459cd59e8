"""Tukey's method for all pairs of a factor's levels: adjusted P values and simultaneous limits."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import special, stats

from salstats.stats.adjust import TUKEY
from salstats.stats.models.contrast_families import AdjustedFamily, adjusted_families

#: Number of quantiles between which others are interpolated.
_N_NODES = 8
#: Adjusted P values below this are Bonferroni's: scipy's integral has rounding errors of about 1e-12.
_SMALLEST_INTEGRAL = 1e-10


def tukey_frame(contrasts: pd.DataFrame, family_columns: Sequence[str], term: str) -> pd.DataFrame:
    """Return contrasts of all pairs of levels with Tukey's P values and simultaneous limits.

    The contrasts are those of `adjusted_families`, with the pair of levels of the factor `term` in the
    columns `term` and `reference_level`.
    """

    def adjusted_p_values_and_conf_levels(family: pd.DataFrame) -> AdjustedFamily:
        """Return a family's adjusted P values, and the level of each limit by itself."""
        pairs = family[[term, "reference_level"]]
        n_levels = len(pd.unique(pairs.to_numpy().ravel()))
        df = family["df"].to_numpy()
        statistic = family["statistic"].abs().to_numpy()
        p_adjusted = _tukey_p_values(statistic, family["p_value"].to_numpy(), n_levels, df)
        family_level = float(family["conf_level"].iloc[0])
        return AdjustedFamily(p_adjusted, _single_conf_levels(family_level, n_levels, df))

    return adjusted_families(contrasts, family_columns, TUKEY, adjusted_p_values_and_conf_levels)


def _tukey_p_values(statistic: np.ndarray, p_value: np.ndarray, n_levels: int, df: np.ndarray) -> np.ndarray:
    """Return adjusted P values, between the P values of single tests and Bonferroni's bound."""
    upper_bound = np.minimum(p_value * n_levels * (n_levels - 1) / 2, 1)
    # The studentized range of the levels' means is sqrt(2) times the largest |t| of their differences.
    integral = stats.studentized_range.sf(np.sqrt(2) * statistic, n_levels, df)
    # The bound is larger than the integral. It is cut at the smallest integral, so that a larger statistic
    # never has a larger P value.
    tail_p = np.minimum(upper_bound, _SMALLEST_INTEGRAL)
    p_adjusted = np.where(integral < _SMALLEST_INTEGRAL, tail_p, integral)
    return np.clip(p_adjusted, p_value, upper_bound)


def _single_conf_levels(family_level: float, n_levels: int, df: np.ndarray) -> np.ndarray:
    """Return the level of each limit by itself if those of all pairs hold together at `family_level`."""
    critical_t = _studentized_range_quantiles(family_level, n_levels, df) / np.sqrt(2)
    return np.asarray(1 - 2 * special.stdtr(df, -critical_t))


def _studentized_range_quantiles(level: float, n_levels: int, df: np.ndarray) -> np.ndarray:
    """Return quantiles of the studentized range at degrees of freedom, infinite ones included.

    A quantile takes a third of a second. For more than `_N_NODES` distinct degrees of freedom the logarithm
    of the quantile is interpolated by a polynomial in 1 / df through Chebyshev nodes (relative error below
    1e-6 from 3 degrees of freedom on).
    """
    distinct_df, positions = np.unique(df, return_inverse=True)
    if len(distinct_df) <= _N_NODES:
        quantiles = np.asarray(stats.studentized_range.ppf(level, n_levels, distinct_df))
        return quantiles[positions]
    inverse_df = 1 / df
    middle = (inverse_df.max() + inverse_df.min()) / 2
    half_range = (inverse_df.max() - inverse_df.min()) / 2
    nodes = middle + half_range * np.cos((np.arange(_N_NODES) + 0.5) * np.pi / _N_NODES)
    quantiles = stats.studentized_range.ppf(level, n_levels, 1 / nodes)
    polynomial = np.polynomial.Polynomial.fit(nodes, np.log(quantiles), _N_NODES - 1)
    return np.asarray(np.exp(polynomial(inverse_df)))
