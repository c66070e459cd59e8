"""Reference curves of residual plots: normal quantiles, the line through the quartiles, a smooth curve."""

from typing import NamedTuple

import numpy as np
from scipy import special

# Defaults of R's `lowess`
#: Share of the points that a local fit uses.
_SPAN = 2 / 3
#: Iterations that give outliers less weight.
_ROBUST_ITERATIONS = 3
#: Distance along x within which the curve is interpolated, as a share of the range of x.
_INTERPOLATED_SHARE = 0.01


def normal_quantiles(values: np.ndarray) -> np.ndarray:
    """Return the normal quantile of each value, as R's `qqnorm`; tied values get theirs in order.

    The plotting positions are (i - a) / (n + 1 - 2a) with a = 3/8 for up to ten values and 1/2 for more, as
    in R's `ppoints`.
    """
    n = len(values)
    a = 3 / 8 if n <= 10 else 1 / 2
    ranks = np.arange(1, n + 1)
    plotting_positions = (ranks - a) / (n + 1 - 2 * a)
    result = np.empty(n)
    result[np.argsort(values, kind="stable")] = special.ndtri(plotting_positions)
    return result


class QuartileLine(NamedTuple):
    """A line in a normal plot."""

    intercept: float
    slope: float


def quartile_line(values: np.ndarray) -> QuartileLine:
    """Return intercept and slope of the line through the quartiles of a normal plot, as R's `qqline`."""
    lower_quartile, upper_quartile = np.quantile(values, [0.25, 0.75])
    # The normal quantiles of the quartiles are symmetric about 0.
    slope = (upper_quartile - lower_quartile) / (2 * special.ndtri(0.75))
    intercept = (lower_quartile + upper_quartile) / 2
    return QuartileLine(float(intercept), float(slope))


class SmoothCurve(NamedTuple):
    """Points of a curve: distinct values of x, ascending, and the curve's heights at these."""

    x: np.ndarray
    height: np.ndarray


def smooth_curve(x: np.ndarray, y: np.ndarray, *, robust: bool = True) -> SmoothCurve:
    """Return a smooth curve at the distinct values of `x` at which its height is finite.

    This is Cleveland's LOWESS with the defaults of R's `lowess`, as in R's `panel.smooth`. The arrays are
    empty for fewer than 3 distinct values. `robust=False` is for outcomes with two values, of which the rarer
    would be treated as outliers; R's `plot.lm` does the same.

    Cleveland WS. Robust locally weighted regression and smoothing scatterplots. J Am Stat Assoc
    1979;74:829-836. https://doi.org/10.1080/01621459.1979.10481038
    """
    distinct, first = np.unique(x, return_index=True)
    if len(distinct) < 3:
        return SmoothCurve(np.empty(0), np.empty(0))
    # Imported here, since it is slow to import and few plots need it
    from statsmodels.nonparametric.smoothers_lowess import lowess

    n_robust_iterations = _ROBUST_ITERATIONS if robust else 0
    curve = lowess(
        y,
        x,
        frac=_SPAN,
        it=n_robust_iterations,
        delta=_INTERPOLATED_SHARE * (distinct[-1] - distinct[0]),
        return_sorted=False,
    )
    heights = curve[first]
    finite = np.isfinite(heights)
    return SmoothCurve(distinct[finite], heights[finite])
