"""What diagnostic plots draw beside residuals: normal quantiles, the line of quartiles, a smooth curve."""

import numpy as np
from scipy import special

#: R's `lowess`: share of the points that a local fit uses, and robustifying iterations.
_SPAN, _ITERATIONS = 2 / 3, 3
#: Distance along x within which the curve is interpolated, as a share of the range of x.
_STEP = 0.01


def normal_quantiles(values: np.ndarray) -> np.ndarray:
    """The normal quantile that goes with each value, as R's `qqnorm`; ties take theirs in order.

    Plotting positions (i - a) / (n + 1 - 2a) with a = 3/8 for up to ten values and 1/2 for more: `ppoints`.
    """
    n = len(values)
    a = 3 / 8 if n <= 10 else 1 / 2
    quantiles = special.ndtri((np.arange(1, n + 1) - a) / (n + 1 - 2 * a))
    result = np.empty(n)
    result[np.argsort(values, kind="stable")] = quantiles
    return result


def quartile_line(values: np.ndarray) -> tuple[float, float]:
    """Intercept and slope of the line through the quartiles of a normal plot, as R's `qqline`."""
    low, high = np.quantile(values, [0.25, 0.75])
    slope = (high - low) / (2 * special.ndtri(0.75))
    return float((low + high) / 2), float(slope)


def smooth_curve(x: np.ndarray, y: np.ndarray, *, robust: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A curve through points by local lines, as R's `panel.smooth`, at the distinct values of `x`, ascending.

    Cleveland's LOWESS with span 2/3, 3 iterations and interpolation within a hundredth of the range: the
    defaults of R's `lowess`. Nothing comes back for fewer than 3 distinct values. `robust=False` is for what
    can take two values only, whose rarer one would be taken for outliers; R's `plot.lm` does the same.

    Cleveland WS. Robust locally weighted regression and smoothing scatterplots. J Am Stat Assoc
    1979;74:829-836. https://doi.org/10.1080/01621459.1979.10481038
    """
    distinct, first = np.unique(x, return_index=True)
    if len(distinct) < 3:
        return np.empty(0), np.empty(0)
    # imported here, so that what draws no curve starts without it
    from statsmodels.nonparametric.smoothers_lowess import lowess

    delta = _STEP * (distinct[-1] - distinct[0])
    curve = lowess(y, x, frac=_SPAN, it=_ITERATIONS if robust else 0, delta=delta, return_sorted=False)
    known = np.isfinite(curve[first])
    return distinct[known], curve[first][known]
