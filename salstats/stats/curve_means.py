"""Mean insertion and deletion curves, with intervals at every step."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsError,
    check_by,
    check_columns,
    check_frame,
    check_numeric,
    quoted,
)
from salstats.frames import KEY_COLUMNS, ColumnCodes, estimates_frame
from salstats.stats.carried import how_scored
from salstats.stats.design import display_order, mean_of_rows_design, resolve_unit, warn_pooled_by_default
from salstats.stats.estimands import mean_target
from salstats.stats.inference import check_options, infer

#: Columns that say how curves were made.
_HOW_MADE = ("baseline", "n_steps", "probability")


def mean_curves(
    curves: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: str | None = None,
    interval: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Mean of insertion and deletion curves at each step, with its interval there.

    Parameters
    ----------
    curves : DataFrame
        What `explain.insertion` and `explain.deletion` return, or several of these concatenated. Within a
        group all curves have the same steps.
    by : str or list of str, optional
        Grouping columns; by default those of `metric, method` that are present.
    unit, interval, level, n_replicates, rng, draws
        As for `summarize`: the same draw serves all steps, methods and metrics.

    Returns
    -------
    DataFrame
        One row per group and fraction, sorted: the grouping columns, `fraction`, then as `summarize`; `n`
        are curves, `n_missing` undefined ones (constant maps); then `baseline, n_steps, probability` of the
        metric's curves, "several" where they differ. The intervals hold at each step for itself, not for
        the whole curve.

    Raises
    ------
    ColumnError, SalstatsError
        As for `summarize`; a curve stands twice, or curves of a group have different steps.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> curves = pd.DataFrame({"case": [str(i // 2) for i in range(50)], "method": "gradcam",
    ...     "metric": "insertion", "fraction": [0.0, 1.0] * 25, "prob": [i / 50 for i in range(50)]})
    >>> ss.mean_curves(curves)[["method", "fraction", "estimate", "n"]]
        method  fraction  estimate   n
    0  gradcam       0.0      0.48  25
    1  gradcam       1.0      0.50  25
    """
    options = check_options("curve", interval, level, n_replicates, rng, draws)
    check_columns(check_frame(curves, "curves"), ("case", "method", "metric", "fraction", "prob"), "curves")
    groups = check_by(curves, by, ("metric", "method"), "curves")
    warn_pooled_by_default(curves, by, groups)
    scores = curves.assign(
        score=check_numeric(curves, "prob", "curves"), fraction=check_numeric(curves, "fraction", "curves")
    )
    codes = ColumnCodes(scores)
    _check_steps(scores, groups, codes)
    design = mean_of_rows_design(codes, [*groups, "fraction"], resolve_unit(codes, unit, "curves"))
    # a blank image is the same for every case: no spread there is nothing to look at
    found = infer(mean_target(design), options, constant=True)
    keys, table = found.target.keys, found.columns(design.units.name)
    # one draw serves all steps, and what it leaves undefined stands in none of them
    kept = {name: values for name, values in table.items() if name not in ("n_undefined", "bias")}
    return estimates_frame(keys, kept, how_scored(curves, keys, _HOW_MADE), display_order(keys))


def _check_steps(curves: pd.DataFrame, groups: Sequence[str], codes: ColumnCodes) -> None:
    """Raise SalstatsError unless each curve has each fraction of its group once."""
    keys = [c for c in KEY_COLUMNS if c in curves.columns]
    points = codes.combined([*keys, "fraction"])
    if np.bincount(points).max() > 1:
        row = int(np.flatnonzero(np.bincount(points)[points] > 1)[0])
        shown = ", ".join(f"{c} {curves[c].iloc[row]}" for c in [*keys, "fraction"])
        raise SalstatsError(f"curves has more than one row for {shown}; keep one of them")
    group = codes.combined(groups) if groups else np.zeros(len(curves), np.int64)
    curve = codes.combined(keys)
    n_fractions = pd.Series(curves["fraction"].to_numpy()).groupby(group).nunique()
    n_points = np.bincount(curve)[curve]
    short = n_points != n_fractions.reindex(group).to_numpy()
    if short.any():
        row = int(np.flatnonzero(short)[0])
        shown = ", ".join(f"{c} {curves[c].iloc[row]}" for c in keys)
        raise SalstatsError(
            f"curves of a group must have the same fractions; the one of {shown} has {n_points[row]} of "
            f"{n_fractions[group[row]]}; group by what they differ in ({quoted(curves.columns)})"
        )
