"""Correlation within units: what is left of two variables when every unit has its own level."""

import numpy as np

from salstats.stats.engine.coefficients import Coefficient, is_perfect, perfect, tested

#: Share of a value below which a difference from another is rounding.
_ROUNDING = 1e-14


def repeated_units(units: np.ndarray) -> np.ndarray:
    """Rows whose unit has another row, as a mask of shape (n,)."""
    codes = np.unique(units, return_inverse=True)[1]
    return np.asarray(np.bincount(codes)[codes] > 1)


def deviations_within(values: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Values less the mean of their unit, shape (n,); exactly 0 where a unit's values differ by rounding."""
    _, first_rows, codes = np.unique(units, return_index=True, return_inverse=True)
    from_first = values - values[first_rows][codes]
    from_first[np.abs(from_first) <= _ROUNDING * np.abs(values)] = 0.0
    means = np.bincount(codes, from_first) / np.bincount(codes)
    return np.asarray(from_first - means[codes])


def within_coefficient(first: np.ndarray, second: np.ndarray, units: np.ndarray) -> Coefficient:
    """Repeated-measures correlation, with n - units - 1 degrees of freedom.

    The root of the share of the within-unit sum of squares that a common slope explains, with the slope's
    sign (Bakdash and Marusich 2017. doi:10.3389/fpsyg.2017.00456). That is Pearson's r of the deviations from
    the units' means, by the theorem of Frisch, Waugh and Lovell, and is so computed here: pingouin's
    `rm_corr` fits a model with a coefficient for every unit, and takes half a minute for 1,000 units.
    """
    x, y = deviations_within(first, units), deviations_within(second, units)
    r = float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))
    if is_perfect(r, len(x)):
        return perfect(r)
    return tested(r, len(x) - len(np.unique(units)) - 1)
