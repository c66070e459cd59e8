"""Bias-reduced cluster-robust variances (CR2) of weighted means of cells, without forming any matrix of rows.

Cells are the groups of `estimands.Cells`: the model behind them has one mean per cell, rows that are
independent with one variance as its working model, and clusters that are the units. In that model Bell and
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
    """Variances and their degrees of freedom (n_rows,), with the influences of units."""

    # variance, df: (n_rows,), NaN where no cell of the estimate has two units
    variance: np.ndarray
    df: np.ndarray
    units: Influences
    # (n_rows,), degrees of freedom of a sum of squares that spread as those of the units do. They are few
    # where a few units hold most of the variance, which Satterthwaite's do not see: sparse scores, units far
    # larger than others.
    spread_df: np.ndarray


def influences(sums: np.ndarray, counts: np.ndarray, slopes: np.ndarray) -> Influences:
    """Influences of units on linear combinations of cell means; arguments are those of `cr2`."""
    totals = counts.sum(axis=0)
    residuals = sums - counts * np.nan_to_num(ratio(sums.sum(axis=0), totals))
    weights = np.where(slopes != 0, ratio(slopes, np.where(totals > 0, totals, np.nan)), 0.0)
    squared = weights**2
    leverage = ratio(counts @ squared.T, (squared @ totals)[None])
    return Influences(residuals @ weights.T, leverage, residuals, weights)


def cr2(
    sums: np.ndarray, counts: np.ndarray, slopes: np.ndarray, squares: np.ndarray | None = None
) -> Robust:
    """CR2 variance of linear combinations of cell means, with Satterthwaite's degrees of freedom.

    With m_gc of the n_c scores of cell c in unit g, residual sums e_gc = sum - m_gc * mean, and weights
    a_c = slope_c / n_c, the variance is sum_g (sum_c a_c e_gc / sqrt(1 - m_gc / n_c))^2. A cell whose scores
    are all of one unit says nothing of its own variance; it gets that of a score in the other cells of the
    estimate, weighted by their scores.

    Of weighted scores m and n are sums of weights, and q_gc and Q_c those of their squares. Weights say how
    many cases a score stands for, not how precise it is: the working model is the same. Then the share
    s = m / n of a unit leaves (1 - s)^2 + s^2 (Q - q) / q of the variance of its sum, which stands where
    1 - m / n does. Where weights are equal within units this is clubSandwich's CR2 of lm(weights=).

    With q_g the squares that the variance is the sum of, and G of them, `spread_df` is 2 (sum q)^2 /
    sum (q - mean q)^2, at least 1: twice the squared mean of a variance over its own variance, as of a
    chi-squared variable, with that of G independent q.

    `sums` and `counts` are (n_units, n_cells), of weighted scores their weighted sums and sums of weights,
    and `squares` of squared weights; `slopes` (n_rows, n_cells) the derivatives of the estimates by the cell
    means.

    Bell RM, McCaffrey DF. Bias reduction in standard errors for linear regression with multi-stage samples.
    Survey Methodology 2002;28:169-181. Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust
    variance estimation. J Bus Econ Stat 2018. doi:10.1080/07350015.2016.1247004

    Of `spread_df`: Valliant R, Rust KF. Degrees of freedom approximations and rules-of-thumb. J Official
    Statistics 2010;26:585-602.
    """
    squares = counts if squares is None else squares
    totals, spread = counts.sum(axis=0), squares.sum(axis=0)
    units = influences(sums, counts, slopes)
    weights = units.weights
    share = np.nan_to_num(ratio(counts, totals))
    used = slopes != 0
    squared = weights**2
    alone = (share > 1 - 1e-12).any(axis=0)
    others = ratio(spread - squares, np.where(squares > 0, squares, np.inf))
    left = np.where(alone, 1.0, (1 - share) ** 2 + share**2 * others)
    adjust = np.where(alone, 0.0, 1 / np.sqrt(left))
    scaled = units.residuals * adjust
    parts = (scaled @ weights.T) ** 2
    variance = parts.sum(axis=0)
    n_units = ((counts > 0).astype(np.float64) @ used.T > 0).sum(axis=0)
    of_spread = spread_df(parts, n_units)
    # the matrix B of Pustejovsky and Tipton: a diagonal less two products per cell, which are one without
    # weights
    pull = adjust * share
    push = adjust * squares - pull * spread / 2
    diagonal, taken = (adjust**2 * squares) @ squared.T, 2 * (pull * push) @ squared.T
    trace = (diagonal - taken).sum(axis=0)
    both = 2 * ((pull.T @ push) * (push.T @ pull) + (pull.T @ pull) * (push.T @ push))
    crossed = ((squared @ both) * squared).sum(axis=1)
    of_square = (diagonal**2 - 2 * diagonal * taken).sum(axis=0) + crossed
    # never below 1, but for rounding
    df = np.maximum(ratio(trace**2, np.where(of_square > 0, of_square, np.nan)), 1.0)
    borrowed = used & alone
    several = (used & ~alone).astype(np.float64)
    per_score = ratio(several @ (scaled**2).sum(axis=0), several @ np.where(alone, 0.0, spread))
    variance = variance + np.where(borrowed.any(axis=1), (squared * borrowed) @ spread * per_score, 0.0)
    variance = np.where(several.any(axis=1), variance, np.nan)
    return Robust(variance, df, units, of_spread)


def spread_df(parts: np.ndarray, n: int | np.ndarray) -> np.ndarray:
    """Degrees of freedom of a sum of squares (n_parts, n_rows) of `n` units: few where few hold most of it.

    At least 1 (Valliant and Rust 2010).
    """
    total = parts.sum(axis=0)
    around = (parts**2).sum(axis=0) - ratio(total**2, np.asarray(n))
    return np.asarray(np.maximum(ratio(2 * total**2, np.where(around > 0, around, 0.0)), 1.0))
