"""Bootstrap replicates of estimates, their moments and their P values."""

from typing import NamedTuple

import numpy as np

from salstats.checks import check_draw_indices
from salstats.stats.engine.draws import one_thread_if_small, weight_blocks
from salstats.stats.engine.estimands import Cells, Estimand, quiet_ratio
from salstats.stats.engine.inference_options import Options
from salstats.stats.engine.joint_adjustment import PValuesWithFloors
from salstats.stats.engine.monte_carlo import P_FLOOR_NUMERATORS
from salstats.stats.engine.variances import drawn_variances


class Replicates(NamedTuple):
    """Bootstrap replicates; arrays have the shape (n_replicates, n_rows), NaN where undefined."""

    #: Replicates of the estimates.
    estimates: np.ndarray
    #: Delta-method variance of each replicate, as of `analytic_variance` with the units drawn.
    variances: np.ndarray | None
    #: Replicates of the differences of the same levels.
    differences: np.ndarray | None


def replicate(
    cells: Cells, estimand: Estimand, options: Options, *, differences: bool = False, variances: bool = False
) -> Replicates:
    """Draw bootstrap replicates of all estimates.

    `variances` and `differences` of the result are None unless they are asked for.
    """
    shape = (options.n_replicates, estimand.n_rows)
    n_units, n_cells = cells.sums.shape
    draws = None
    if options.draws is not None:
        draws = check_draw_indices(options.draws, n_units)
    replicates = np.empty(shape)
    delta_variances = np.empty(shape) if variances else None
    replicate_differences = np.empty(shape) if differences else None
    difference = estimand.as_difference()
    # one product with a wide matrix is faster than two products
    sums_and_counts = np.hstack([cells.sums, cells.counts])
    numbers_per_replicate = estimand.n_rows * n_cells if variances else 0
    blocks = weight_blocks(n_units, options.n_replicates, options.rng, draws, numbers_per_replicate)
    with one_thread_if_small(n_units, sums_and_counts.shape[1]):
        for rows, weights in blocks:
            # sums and counts of the cells in each replicate of the block, shape (n_replicates, n_cells)
            totals = weights @ sums_and_counts
            sums = totals[:, :n_cells]
            counts = totals[:, n_cells:]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = sums / counts
            replicates[rows] = estimand.value(means)
            if replicate_differences is not None:
                replicate_differences[rows] = difference.value(means)
            if delta_variances is not None:
                delta_variances[rows] = drawn_variances(cells, estimand, weights, means, counts)
    return Replicates(replicates, delta_variances, replicate_differences)


class ReplicateMoments(NamedTuple):
    """Moments of the defined replicates of each row, shape (n_rows,) each."""

    mean: np.ndarray
    #: Standard deviation with the divisor n - 1; NaN for fewer than two replicates.
    standard_deviation: np.ndarray
    #: Number of defined replicates.
    n_defined: np.ndarray


def mean_sd_and_n_defined(replicates: np.ndarray) -> ReplicateMoments:
    """Return mean, SD and number of each row's replicates (n_replicates, n_rows) that are not NaN."""
    is_defined = ~np.isnan(replicates)
    n = is_defined.sum(axis=0)
    mean = quiet_ratio(np.where(is_defined, replicates, 0.0).sum(axis=0), n)
    deviations = np.where(is_defined, replicates - mean, 0.0)
    # 0 makes the SD of fewer than two replicates NaN
    df = np.where(n > 1, n - 1.0, 0.0)
    variance = quiet_ratio((deviations**2).sum(axis=0), df)
    return ReplicateMoments(mean, np.sqrt(variance), n)


def bootstrap_p_values(replicates: np.ndarray, rounding: np.ndarray | float = 0.0) -> PValuesWithFloors:
    """Compute two-sided p-values for 0 from replicates (n_replicates, n_rows).

    The p-value is 2 * (1 + count) / (B + 1), at most 1, with the count of the B replicates on the side of 0
    that has fewer. Undefined replicates are left out of the counts and of B; those within `rounding` of 0
    count on both sides.
    """
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    n_at_or_below = (replicates <= rounding).sum(axis=0)
    n_at_or_above = (replicates >= -rounding).sum(axis=0)
    count = np.minimum(n_at_or_below, n_at_or_above)
    p_value = np.minimum(1.0, 2 * (1 + count) / (n_defined + 1))
    smallest_p_value = np.minimum(1.0, P_FLOOR_NUMERATORS["bootstrap"] / (n_defined + 1))
    return PValuesWithFloors(np.where(n_defined > 0, p_value, np.nan), smallest_p_value)
