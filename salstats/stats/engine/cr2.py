"""Bias-reduced cluster-robust variances (CR2) of weighted means of cells, without forming any matrix of rows.

Cells are the groups of `estimands.Cells`. The model behind them has one mean per cell; its working model is
that rows are independent and have equal variances; its clusters are the units. In this model Bell and
McCaffrey's adjustment of a unit's residuals is one number per unit and cell.
"""

from typing import NamedTuple

import numpy as np

from salstats.stats.engine.estimands import ratio


class Influences(NamedTuple):
    """Influence and leverage of units on linear combinations of cell means, without their variances."""

    influence: np.ndarray  # (n_units, n_rows), a unit's residuals in the estimate, unadjusted; they sum to 0
    leverage: np.ndarray  # (n_units, n_rows), share of a unit in the estimate; they sum to 1
    residuals: np.ndarray  # (n_units, n_cells), sums of scores less those expected by the cell means
    weights: np.ndarray  # (n_rows, n_cells), derivatives of the estimates by the sums


class Robust(NamedTuple):
    """CR2 variances and their degrees of freedom, with the influences of units."""

    # (n_rows,), NaN where no cell of the estimate has two units
    variance: np.ndarray
    # (n_rows,), Satterthwaite's degrees of freedom
    df: np.ndarray
    units: Influences
    # (n_rows,), degrees of freedom from the spread of the units' squares, see `spread_df`; lower than `df`
    # where a few units hold most of the variance, as with sparse scores or units of very different sizes
    spread_df: np.ndarray


def influences(sums: np.ndarray, counts: np.ndarray, slopes: np.ndarray) -> Influences:
    """Return the influences of units on linear combinations of cell means; arguments are those of `cr2`."""
    totals = counts.sum(axis=0)
    means = np.nan_to_num(ratio(sums.sum(axis=0), totals))
    residuals = sums - counts * means
    positive_totals = np.where(totals > 0, totals, np.nan)
    weights = np.where(slopes != 0, ratio(slopes, positive_totals), 0.0)
    squared_weights = weights**2
    leverage = ratio(counts @ squared_weights.T, (squared_weights @ totals)[None])
    return Influences(residuals @ weights.T, leverage, residuals, weights)


def cr2(
    sums: np.ndarray, counts: np.ndarray, slopes: np.ndarray, squares: np.ndarray | None = None
) -> Robust:
    """Return CR2 variances of linear combinations of cell means, with Satterthwaite's degrees of freedom.

    With m_gc of the n_c scores of cell c in unit g, residual sums e_gc = sum - m_gc * mean, and weights
    a_c = slope_c / n_c, the variance is sum_g (sum_c a_c e_gc / sqrt(1 - m_gc / n_c))^2. A cell whose scores
    are all of one unit says nothing of its own variance; it gets that of a score in the other cells of the
    estimate, weighted by their scores.

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
    Survey Methodology 2002;28:169-181. Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust
    variance estimation. J Bus Econ Stat 2018. doi:10.1080/07350015.2016.1247004
    """
    if squares is None:
        squares = counts
    total_squares = squares.sum(axis=0)
    units = influences(sums, counts, slopes)
    weights = units.weights
    squared_weights = weights**2
    # s = m / n of the docstring
    share = np.nan_to_num(ratio(counts, counts.sum(axis=0)))
    has_one_unit = (share > 1 - 1e-12).any(axis=0)
    adjustment = _adjustment(share, squares, has_one_unit)
    adjusted_residuals = units.residuals * adjustment
    unit_squares = (adjusted_residuals @ weights.T) ** 2
    in_estimate = slopes != 0
    has_scores = (counts > 0).astype(np.float64)
    n_units = (has_scores @ in_estimate.T > 0).sum(axis=0)
    # cells of one unit get the variance per score of the other cells of the estimate
    is_borrowing = in_estimate & has_one_unit
    is_lending = (in_estimate & ~has_one_unit).astype(np.float64)
    lent_squares = np.where(has_one_unit, 0.0, total_squares)
    variance_per_score = ratio(is_lending @ (adjusted_residuals**2).sum(axis=0), is_lending @ lent_squares)
    borrowed_variance = (squared_weights * is_borrowing) @ total_squares * variance_per_score
    variance = unit_squares.sum(axis=0)
    variance = variance + np.where(is_borrowing.any(axis=1), borrowed_variance, 0.0)
    variance = np.where(is_lending.any(axis=1), variance, np.nan)
    return Robust(
        variance=variance,
        df=_satterthwaite_df(squared_weights, share, squares, adjustment),
        units=units,
        spread_df=spread_df(unit_squares, n_units),
    )


def _adjustment(share: np.ndarray, squares: np.ndarray, has_one_unit: np.ndarray) -> np.ndarray:
    """Return factors (n_units, n_cells) that remove the bias of residual sums; 0 in cells of one unit.

    The factor is 1 / sqrt((1 - s)^2 + s^2 (Q - q) / q), in the terms of `cr2`; without weights q is m,
    Q is n, and it is 1 / sqrt(1 - m / n).
    """
    squares_of_others = ratio(squares.sum(axis=0) - squares, np.where(squares > 0, squares, np.inf))
    remaining = (1 - share) ** 2 + share**2 * squares_of_others
    remaining = np.where(has_one_unit, 1.0, remaining)
    return np.where(has_one_unit, 0.0, 1 / np.sqrt(remaining))


def _satterthwaite_df(
    squared_weights: np.ndarray, share: np.ndarray, squares: np.ndarray, adjustment: np.ndarray
) -> np.ndarray:
    """Return Satterthwaite's degrees of freedom of CR2 variances, tr(B)^2 / tr(B B), shape (n_rows,).

    B (n_units, n_units) is the matrix of Pustejovsky and Tipton, whose elements are the covariances of the
    adjusted sums of units under the working model. Of each row it is diag(d) minus, summed over cells,
    a_c^2 (p_c r_c' + r_c p_c'), with the vectors over units p = adjustment * s and
    r = adjustment * q - p * Q / 2; without weights p and r are proportional.
    """
    p = adjustment * share
    r = adjustment * squares - p * squares.sum(axis=0) / 2
    diagonal = (adjustment**2 * squares) @ squared_weights.T
    subtracted_diagonal = 2 * (p * r) @ squared_weights.T
    trace = (diagonal - subtracted_diagonal).sum(axis=0)
    # tr((sum_c a_c^2 (p_c r_c' + r_c p_c'))^2), from the products of every two cells
    cell_products = 2 * ((p.T @ r) * (r.T @ p) + (p.T @ p) * (r.T @ r))
    subtracted_trace = ((squared_weights @ cell_products) * squared_weights).sum(axis=1)
    trace_of_square = (diagonal**2 - 2 * diagonal * subtracted_diagonal).sum(axis=0) + subtracted_trace
    positive_trace = np.where(trace_of_square > 0, trace_of_square, np.nan)
    # the degrees of freedom are at least 1, and only rounding takes them below
    return np.asarray(np.maximum(ratio(trace**2, positive_trace), 1.0))


def spread_df(parts: np.ndarray, n: int | np.ndarray) -> np.ndarray:
    """Return degrees of freedom of a sum of squares from the spread of the squares, at least 1.

    With q the squares of the units, it is 2 (sum q)^2 / sum (q - mean q)^2: twice the squared mean of a
    variance over its own variance, as of a chi-squared variable. It is low where few units hold most of the
    sum.

    Parameters
    ----------
    parts : ndarray, shape (n_parts, n_rows)
        The squares.
    n : int or ndarray of int, shape (n_rows,)
        Number of units.

    References
    ----------
    Valliant R, Rust KF. Degrees of freedom approximations and rules-of-thumb. J Official Statistics
    2010;26:585-602.
    """
    total = parts.sum(axis=0)
    sum_of_deviations = (parts**2).sum(axis=0) - ratio(total**2, np.asarray(n))
    positive_deviations = np.where(sum_of_deviations > 0, sum_of_deviations, 0.0)
    return np.asarray(np.maximum(ratio(2 * total**2, positive_deviations), 1.0))
