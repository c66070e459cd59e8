"""Bias-reduced cluster-robust variances (CR2) of weighted means of cells, without forming any matrix of rows.

Cells are the groups of `estimands.Cells`. The model behind them has one mean per cell; its working model is
that rows are independent and have equal variances; its clusters are the units. In this model Bell and
McCaffrey's adjustment of a unit's residuals is one number per unit and cell.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salstats.stats.engine.estimands import quiet_ratio

#: A unit whose share of a cell is above 1 less this is the only unit of the cell, up to rounding.
_ROUNDING = 1e-12


class UnitInfluences(NamedTuple):
    """Influence and leverage of units on linear combinations of cell means."""

    #: (n_units, n_rows): Sum of a unit's residuals times `weights`, without CR2's adjustment; the sum over
    #: units is 0.
    influence: np.ndarray
    #: (n_units, n_rows): Share of a unit in the estimate; shares sum to 1 over units.
    leverage: np.ndarray
    #: (n_units, n_cells): Sums of scores less those expected by the cell means.
    residuals: np.ndarray
    #: (n_rows, n_cells): Derivatives of the estimates by the sums of scores, a_c in `cr2`.
    weights: np.ndarray


class Cr2Variances(NamedTuple):
    """CR2 variances and their degrees of freedom, with the influences of units."""

    #: (n_rows,): Variances, NaN where no cell of the estimate has two units.
    variance: np.ndarray
    #: (n_rows,): Satterthwaite's degrees of freedom.
    df: np.ndarray
    units: UnitInfluences
    #: (n_rows,): Degrees of freedom from the units' squares by `df_from_kurtosis_of_units`; lower than `df`
    #: where a few units hold most of the variance, as with sparse scores or units of very different sizes.
    kurtosis_df: np.ndarray


def unadjusted_unit_influences(sums: np.ndarray, counts: np.ndarray, slopes: np.ndarray) -> UnitInfluences:
    """Return the influences of units on linear combinations of cell means; arguments are those of `cr2`."""
    totals = counts.sum(axis=0)
    means = np.nan_to_num(quiet_ratio(sums.sum(axis=0), totals))
    residuals = sums - counts * means
    positive_totals = np.where(totals > 0, totals, np.nan)
    # a cell without a slope does not enter the estimate, even if it is empty
    weights = np.where(slopes != 0, quiet_ratio(slopes, positive_totals), 0.0)
    squared_weights = weights**2
    leverage = quiet_ratio(counts @ squared_weights.T, (squared_weights @ totals)[None])
    return UnitInfluences(
        influence=residuals @ weights.T, leverage=leverage, residuals=residuals, weights=weights
    )


def cr2(
    sums: np.ndarray, counts: np.ndarray, slopes: np.ndarray, squares: np.ndarray | None = None
) -> Cr2Variances:
    """Return CR2 variances of linear combinations of cell means, with Satterthwaite's degrees of freedom.

    With m_gc of the n_c scores of cell c in unit g, residual sums e_gc = sum - m_gc * mean, and weights
    a_c = slope_c / n_c, the variance is sum_g (sum_c a_c e_gc / sqrt(1 - m_gc / n_c))^2. The variance of a
    cell cannot be estimated if its scores are all of one unit; its scores are given the variance per score of
    the other cells of the estimate.

    Of weighted scores m and n are sums of weights, and q_gc and Q_c sums of squared weights. Weights say how
    many cases a score stands for, not how precise it is: the working model is the same. Then the share
    s = m / n of a unit leaves (1 - s)^2 + s^2 (Q - q) / q of the variance of its sum, which replaces
    1 - m / n in the formula. Where weights are equal within units this is clubSandwich's CR2 of lm(weights=).

    Parameters
    ----------
    sums : ndarray, shape (n_units, n_cells)
        Sums of the scores; weighted sums of weighted scores.
    counts : ndarray, shape (n_units, n_cells)
        Numbers of scores; sums of weights of weighted scores.
    slopes : ndarray, shape (n_rows, n_cells)
        Derivatives of the estimates by the cell means.
    squares : ndarray, shape (n_units, n_cells), optional
        Sums of squared weights of weighted scores.

    References
    ----------
    Bell RM, McCaffrey DF. Bias reduction in standard errors for linear regression with multi-stage samples.
    Survey Methodology 2002;28:169-181.

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J Bus Econ Stat 2018;36:672-683. doi:10.1080/07350015.2016.1247004
    """
    if squares is None:
        squares = counts
    units = unadjusted_unit_influences(sums, counts, slopes)
    # s = m / n of the docstring
    share = np.nan_to_num(quiet_ratio(counts, counts.sum(axis=0)))
    has_one_unit = (share > 1 - _ROUNDING).any(axis=0)
    adjustment = _residual_factors_0_if_one_unit(share, squares, has_one_unit)
    adjusted_residuals = units.residuals * adjustment
    # (n_units, n_rows): the terms of the variance
    unit_squares = (adjusted_residuals @ units.weights.T) ** 2
    is_in_estimate = slopes != 0
    has_scores = (counts > 0).astype(np.float64)
    n_units = (has_scores @ is_in_estimate.T > 0).sum(axis=0)
    variance = unit_squares.sum(axis=0)
    variance = variance + _variance_added_by_single_unit_cells(
        adjusted_residuals, squares, is_in_estimate, has_one_unit, units.weights
    )
    return Cr2Variances(
        variance=variance,
        df=_satterthwaite_df(units.weights**2, share, squares, adjustment),
        units=units,
        kurtosis_df=df_from_kurtosis_of_units(unit_squares, n_units),
    )


def _variance_added_by_single_unit_cells(
    adjusted_residuals: np.ndarray,
    squares: np.ndarray,
    is_in_estimate: NDArray[np.bool_],
    has_one_unit: NDArray[np.bool_],
    weights: np.ndarray,
) -> np.ndarray:
    """Return the variance that cells of one unit add to each estimate, shape (n_rows,).

    Such a cell gets the variance per score of the other cells of the estimate; where all of them have one
    unit, the variance is NaN. `is_in_estimate` (n_rows, n_cells) and `has_one_unit` (n_cells,) are True for
    the cells of an estimate and for those of one unit; the other arguments are as in `cr2`.
    """
    total_squares = squares.sum(axis=0)
    is_single = is_in_estimate & has_one_unit
    is_other = (is_in_estimate & ~has_one_unit).astype(np.float64)
    other_squares = np.where(has_one_unit, 0.0, total_squares)
    variance_per_score = quiet_ratio(is_other @ (adjusted_residuals**2).sum(axis=0), is_other @ other_squares)
    added_variance = (weights**2 * is_single) @ total_squares * variance_per_score
    added_variance = np.where(is_single.any(axis=1), added_variance, 0.0)
    return np.where(is_other.any(axis=1), added_variance, np.nan)


def _residual_factors_0_if_one_unit(
    share: np.ndarray, squares: np.ndarray, has_one_unit: NDArray[np.bool_]
) -> np.ndarray:
    """Return factors (n_units, n_cells) that remove the bias of residual sums; 0 in cells of one unit.

    The factor is 1 / sqrt((1 - s)^2 + s^2 (Q - q) / q), in the terms of `cr2`; without weights q is m,
    Q is n, and it is 1 / sqrt(1 - m / n).
    """
    # (Q - q) / q, and 0 for units without scores
    squares_ratio = quiet_ratio(squares.sum(axis=0) - squares, np.where(squares > 0, squares, np.inf))
    remaining_variance = (1 - share) ** 2 + share**2 * squares_ratio
    remaining_variance = np.where(has_one_unit, 1.0, remaining_variance)
    return np.where(has_one_unit, 0.0, 1 / np.sqrt(remaining_variance))


def _satterthwaite_df(
    squared_weights: np.ndarray, share: np.ndarray, squares: np.ndarray, adjustment: np.ndarray
) -> np.ndarray:
    """Return Satterthwaite's degrees of freedom of CR2 variances, tr(B)^2 / tr(B B), shape (n_rows,).

    B (n_units, n_units) is the matrix of Pustejovsky and Tipton (2018), whose elements are the covariances of
    the adjusted sums of units under the working model. For each row B = diag(d) - C, where d are the
    variances of the units' adjusted sums of scores, and C = sum_c a_c^2 (p_c r_c' + r_c p_c') over cells c,
    with the vectors over units p = adjustment * s and r = adjustment * q - p * Q / 2 and s, q, Q and a as in
    `cr2`; without weights p and r are proportional. So tr(B) = sum(d) - sum(diag C) and
    tr(B B) = sum(d^2) - 2 sum(d * diag C) + tr(C C).

    Arguments are `squared_weights` a_c^2 (n_rows, n_cells), and s, q and the adjustment (n_units, n_cells).
    """
    p = adjustment * share
    r = adjustment * squares - p * squares.sum(axis=0) / 2
    # (n_units, n_rows): d and the diagonal of C
    d = (adjustment**2 * squares) @ squared_weights.T
    c_diagonal = 2 * (p * r) @ squared_weights.T
    trace = (d - c_diagonal).sum(axis=0)
    # tr(C C) = sum over cells c and k of a_c^2 a_k^2 times the element (c, k) of this matrix
    cell_products = 2 * ((p.T @ r) * (r.T @ p) + (p.T @ p) * (r.T @ r))
    trace_of_c_squared = ((squared_weights @ cell_products) * squared_weights).sum(axis=1)
    trace_of_square = (d**2 - 2 * d * c_diagonal).sum(axis=0) + trace_of_c_squared
    positive_trace = np.where(trace_of_square > 0, trace_of_square, np.nan)
    # the degrees of freedom are at least 1, and only rounding takes them below
    return np.asarray(np.maximum(quiet_ratio(trace**2, positive_trace), 1.0))


def df_from_kurtosis_of_units(unit_squares: np.ndarray, n_units: int | np.ndarray) -> np.ndarray:
    """Return degrees of freedom of a sum of squares from the units' kurtosis, at least 1.

    With q the squares of the units, they are 2 (sum q)^2 / sum (q - mean q)^2: twice the squared mean of a
    variance over its own variance, as of a chi-squared variable. They are few where a few units hold most of
    the sum.

    Parameters
    ----------
    unit_squares : ndarray, shape (n_units, n_rows)
        The squares of the units; units without scores have zeros, or are left out.
    n_units : int or ndarray of int, shape (n_rows,)
        Number of units.

    References
    ----------
    Valliant R, Rust KF. Degrees of freedom approximations and rules-of-thumb. J Official Statistics
    2010;26:585-602.
    """
    total = unit_squares.sum(axis=0)
    squared_deviations = (unit_squares**2).sum(axis=0) - quiet_ratio(total**2, np.asarray(n_units))
    # rounding may take the sum of squared deviations below 0
    squared_deviations = np.where(squared_deviations > 0, squared_deviations, 0.0)
    return np.asarray(np.maximum(quiet_ratio(2 * total**2, squared_deviations), 1.0))
