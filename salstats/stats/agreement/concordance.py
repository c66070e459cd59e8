"""Lin's concordance correlation of two raters."""

from typing import NamedTuple

import numpy as np

from salstats.stats.agreement.readings import (
    Coefficients,
    Readings,
    Weights,
    equal_weights,
    fisher_z,
    inverse_fisher_z,
    t_quantile,
    two_sided_p_value,
)
from salstats.stats.engine.estimands import ratio


class Moments(NamedTuple):
    """Means, variances and covariance of two raters, with n and not n - 1 below, each of shape (n_sets,)."""

    mean_x: np.ndarray
    mean_y: np.ndarray
    var_x: np.ndarray
    var_y: np.ndarray
    covariance: np.ndarray


def moments(readings: Readings, weights: Weights) -> Moments:
    """Return the moments of both raters over the rows of each set of weights."""
    x, y = (readings.values - readings.values.mean()).T
    n = weights @ np.ones(len(x))
    mean_x = ratio(weights @ x, n)
    mean_y = ratio(weights @ y, n)
    return Moments(
        mean_x=mean_x,
        mean_y=mean_y,
        var_x=ratio(weights @ x**2, n) - mean_x**2,
        var_y=ratio(weights @ y**2, n) - mean_y**2,
        covariance=ratio(weights @ (x * y), n) - mean_x * mean_y,
    )


def concordance(readings: Readings, weights: Weights) -> np.ndarray:
    """2 s_xy / (s_x² + s_y² + (mean x - mean y)²) (Lin 1989): how close pairs lie to the line of identity.

    Shape (n_sets, 1).
    """
    mean_x, mean_y, var_x, var_y, covariance = moments(readings, weights)
    coefficients = ratio(2 * covariance, var_x + var_y + (mean_x - mean_y) ** 2)
    return coefficients[:, None]


def lin_concordance(readings: Readings, level: float) -> Coefficients:
    """Return Lin's limits on Fisher's z with the normal quantile, for independent pairs.

    With r Pearson's correlation and u = (mean x - mean y) / sqrt(s_x s_y), the variance of the coefficient
    rho is ((1 - r²) rho² (1 - rho²) / r² + 2 rho³ (1 - rho) u² / r - rho⁴ u⁴ / (2 r²)) / (n - 2)
    (Lin 1989, erratum 2000).
    """
    all_rows = equal_weights(readings)
    mean_x, mean_y, var_x, var_y, covariance = (values[0] for values in moments(readings, all_rows))
    rho = concordance(readings, all_rows)[0]
    n = len(readings.values)
    r = covariance / np.sqrt(var_x * var_y)
    u = (mean_x - mean_y) / (var_x * var_y) ** 0.25
    variance = (
        (1 - r**2) * rho**2 * (1 - rho**2) / r**2
        + 2 * rho**3 * (1 - rho) * u**2 / r
        - rho**4 * u**4 / (2 * r**2)
    ) / (n - 2)
    std_error = np.sqrt(variance)
    z = fisher_z(rho, k=2)
    z_error = std_error / (1 - rho**2)
    df = np.array([np.nan])
    half_width = t_quantile(level, df) * z_error
    return Coefficients(
        estimate=rho,
        std_error=std_error,
        statistic=z / z_error,
        df=df,
        p_value=two_sided_p_value(z / z_error, df),
        conf_low=inverse_fisher_z(z - half_width, k=2),
        conf_high=inverse_fisher_z(z + half_width, k=2),
    )
