"""Lin's concordance correlation of two raters."""

from typing import NamedTuple

import numpy as np

from salstats.stats.agreement.readings import (
    Coefficients,
    RaterReadings,
    RowWeightSets,
    equal_row_weights,
    fisher_z,
    inverse_fisher_z,
    t_or_normal_quantile,
    two_sided_p_value,
)
from salstats.stats.engine.estimands import quiet_ratio


class TwoRaterMoments(NamedTuple):
    """Means, variances and covariance of two raters, x and y, each of shape (n_sets,).

    Means are less the mean of all readings, so that only their difference counts. The denominator of
    variances and covariance is n, as in Lin (1989).
    """

    mean_x: np.ndarray
    mean_y: np.ndarray
    var_x: np.ndarray
    var_y: np.ndarray
    covariance: np.ndarray


def moments_of_two_raters_by_weight_set(readings: RaterReadings, weights: RowWeightSets) -> TwoRaterMoments:
    """Return the moments of both raters over the rows of each set of weights."""
    # Sums of squares lose fewer digits about the mean; only the difference of the means is used.
    x, y = (readings.values - readings.values.mean()).T
    n = weights @ np.ones(len(x))
    mean_x = quiet_ratio(weights @ x, n)
    mean_y = quiet_ratio(weights @ y, n)
    return TwoRaterMoments(
        mean_x=mean_x,
        mean_y=mean_y,
        var_x=quiet_ratio(weights @ x**2, n) - mean_x**2,
        var_y=quiet_ratio(weights @ y**2, n) - mean_y**2,
        covariance=quiet_ratio(weights @ (x * y), n) - mean_x * mean_y,
    )


def concordance_correlation(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """Lin's concordance correlation, shape (n_sets, 1): 1 if all pairs lie on the line of identity.

    It is 2 s_xy / (s_x² + s_y² + (mean x - mean y)²).

    Lin LI. Biometrics 1989;45:255-268. doi:10.2307/2532051
    """
    moments = moments_of_two_raters_by_weight_set(readings, weights)
    squared_distance = moments.var_x + moments.var_y + (moments.mean_x - moments.mean_y) ** 2
    coefficients = quiet_ratio(2 * moments.covariance, squared_distance)
    return coefficients[:, None]


def concordance_with_lin_limits(readings: RaterReadings, level: float) -> Coefficients:
    """Return the concordance correlation of independent pairs with Lin's limits.

    The limits are normal on Fisher's z. With r Pearson's correlation and u = (mean x - mean y) /
    sqrt(s_x s_y), the variance of the coefficient rho is ((1 - r²) rho² (1 - rho²) / r² + 2 rho³ (1 - rho) u²
    / r - rho⁴ u⁴ / (2 r²)) / (n - 2).

    Lin LI. Biometrics 1989;45:255-268. doi:10.2307/2532051
    Erratum 2000, doi:10.1111/j.0006-341X.2000.00324.x
    """
    all_rows = equal_row_weights(readings)
    # One set of weights: arrays of one number
    mean_x, mean_y, var_x, var_y, covariance = (
        values[0] for values in moments_of_two_raters_by_weight_set(readings, all_rows)
    )
    rho = concordance_correlation(readings, all_rows)[0]
    n = len(readings.values)
    # undefined for a rater who does not vary, for perfect agreement, and for two cases
    with np.errstate(divide="ignore", invalid="ignore"):
        r = covariance / np.sqrt(var_x * var_y)
        u = (mean_x - mean_y) / (var_x * var_y) ** 0.25
        variance = np.true_divide(
            (1 - r**2) * rho**2 * (1 - rho**2) / r**2
            + 2 * rho**3 * (1 - rho) * u**2 / r
            - rho**4 * u**4 / (2 * r**2),
            n - 2,
        )
        std_error = np.sqrt(variance)
        z = fisher_z(rho, k=2)
        # Delta method: the derivative of z with respect to rho is 1 / (1 - rho²).
        z_error = std_error / (1 - rho**2)
    if n <= 2:
        std_error = np.full_like(std_error, np.nan)
    z_error = np.where(np.isfinite(z_error) & (z_error > 0) & (n > 2), z_error, np.nan)
    df = np.array([np.nan])
    half_width = t_or_normal_quantile(level, df) * z_error
    return Coefficients(
        estimate=rho,
        std_error=std_error,
        statistic=z / z_error,
        df=df,
        p_value=two_sided_p_value(z / z_error, df),
        conf_low=inverse_fisher_z(z - half_width, k=2),
        conf_high=inverse_fisher_z(z + half_width, k=2),
    )
