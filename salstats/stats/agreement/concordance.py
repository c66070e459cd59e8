"""Lin's concordance correlation of two raters."""

import numpy as np

from salstats.stats.agreement.readings import Found, Readings, Weights, from_z, once, student, to_z, two_sided
from salstats.stats.engine.estimands import ratio


def moments(readings: Readings, weights: Weights) -> tuple[np.ndarray, ...]:
    """Means, variances and covariance of both raters over the rows, with n and not n - 1 below."""
    x, y = (readings.values - readings.values.mean()).T
    n = weights @ np.ones(len(x))
    mean_x, mean_y = ratio(weights @ x, n), ratio(weights @ y, n)
    var_x = ratio(weights @ x**2, n) - mean_x**2
    var_y = ratio(weights @ y**2, n) - mean_y**2
    return mean_x, mean_y, var_x, var_y, ratio(weights @ (x * y), n) - mean_x * mean_y


def concordance(readings: Readings, weights: Weights) -> np.ndarray:
    """2 s_xy / (s_x² + s_y² + (mean x - mean y)²) (Lin 1989): how close pairs lie to the line of identity."""
    mean_x, mean_y, var_x, var_y, both = moments(readings, weights)
    return ratio(2 * both, var_x + var_y + (mean_x - mean_y) ** 2)[:, None]


def by_lin(readings: Readings, level: float) -> Found:
    """Lin's limits on Fisher's z with the normal quantile, for independent pairs (Lin 1989, erratum 2000)."""
    mean_x, mean_y, var_x, var_y, both = (value[0] for value in moments(readings, once(readings)))
    rho = concordance(readings, once(readings))[0]
    n, r = len(readings.values), both / np.sqrt(var_x * var_y)
    shift = (mean_x - mean_y) / (var_x * var_y) ** 0.25
    variance = (
        (1 - r**2) * rho**2 * (1 - rho**2) / r**2
        + 2 * rho**3 * (1 - rho) * shift**2 / r
        - rho**4 * shift**4 / (2 * r**2)
    ) / (n - 2)
    error, nothing = np.sqrt(variance), np.array([np.nan])
    z, of_z = to_z(rho, 2), error / (1 - rho**2)
    reach = student(level, nothing) * of_z
    p_value = two_sided(z / of_z, nothing)
    return Found(rho, error, z / of_z, nothing, p_value, from_z(z - reach, 2), from_z(z + reach, 2))
