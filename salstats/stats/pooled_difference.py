"""Differences of pooled rates from a reference on the same cases, with intervals by unit."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, check_by, quoted
from salstats.frames import KEY_COLUMNS, ColumnCodes, coded_scores, estimates_frame
from salstats.stats.cells import Cells, index_groups, sum_cells
from salstats.stats.estimand import Estimand
from salstats.stats.inference import check_settings, infer
from salstats.stats.intervals import BOOTSTRAP
from salstats.stats.pooled_rates import (
    COUNT_COLUMNS,
    POOLED_INTERVALS,
    check_rates,
    pixel_counts,
    rate_cells,
)
from salstats.stats.units import resolve_unit


def pooled_difference(
    scores: pd.DataFrame,
    *,
    reference: str,
    rates: str | Sequence[str] = ("precision", "recall", "specificity"),
    by: str | Sequence[str] | None = None,
    unit: str | None = None,
    interval: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Return the difference method - reference of each pooled rate, over the cases that both have counts of.

    Parameters
    ----------
    scores, rates, unit, level, n_replicates, rng, draws
        As for `pooled_rates`.
    interval : str
        As for `pooled_rates`; `delta` is symmetric about the difference.
    reference : str
        The method to compare with, such as "human".
    by : str or list of str, optional
        Grouping columns besides `metric` and `method`; by default `task` where it is there.

    Returns
    -------
    DataFrame
        One row per rate, group and compared method: `metric`, the grouping columns, `method`, `reference`,
        then as `difference` without a test: `term` ("difference"), `estimate`, `std_error`, `df` (with
        `interval="delta"`), `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`, `n` cases, `n_units`,
        `reference_mean`, `method_mean` (the two rates), `verdict`; with intervals from replicates also
        `n_undefined`, `bias`, `n_replicates`.

    Raises
    ------
    SalstatsError
        The reference is no method of the scores or the only one; see also `pooled_rates`.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = {"tp": [5, 1, 6, 2] * 15, "fp": [5, 0, 3, 0] * 15, "fn": [0, 1, 0, 0] * 15, "tn": 90}
    >>> scores = pd.DataFrame({"case": [f"{i // 4}{i % 2}" for i in range(60)], "metric": "iou",
    ...     "score": 0.5, "method": ["gradcam", "gradcam", "human", "human"] * 15, **counts})
    >>> found = pooled_difference(scores, reference="human", rates="recall")
    >>> found[["metric", "method", "estimate"]].round(3)
       metric   method  estimate
    0  recall  gradcam    -0.143
    """
    names = check_rates(rates)
    columns = [c for c in check_by(scores, by, ("task",)) if c not in ("metric", "method")]
    observations = pixel_counts(coded_scores(scores))
    methods = [str(m) for m in pd.unique(observations["method"])]
    if reference not in methods or len(methods) < 2:
        raise SalstatsError(
            f"reference={reference!r} must be one of several methods; there are {quoted(methods)}"
        )
    key = [c for c in KEY_COLUMNS if c in observations.columns and c not in ("method", "metric")]
    known = observations[observations[COUNT_COLUMNS[0]].notna()]
    theirs = known[known["method"] == reference][key + list(COUNT_COLUMNS)]
    own = known[known["method"] != reference]
    pairs = own.merge(theirs, on=key, suffixes=("", "_reference"), validate="m:1")
    units = resolve_unit(pairs, unit)
    settings = check_settings(interval, POOLED_INTERVALS, level, n_replicates, rng, draws, units.n)
    groups, keys = index_groups(pairs, [*columns, "method"], ColumnCodes(pairs))
    sides, sizes = [], np.array([])
    for suffix in ("", "_reference"):
        parts = [
            sum_cells(pairs[f"{c}{suffix}"].to_numpy(dtype=np.float64), units.codes, units.n, groups, keys)
            for c in COUNT_COLUMNS
        ]
        cells, sizes = rate_cells(parts, names)
        sides.append(cells)
    both = Cells(
        pd.concat([s.keys for s in sides], ignore_index=True),
        np.hstack([s.sums for s in sides]),
        np.hstack([s.counts for s in sides]),
        np.concatenate([s.n_missing for s in sides]),
        # a method and its reference are measured on the same cases
        np.tile(sides[0].sample, 2),
    )
    half = np.eye(len(sides[0].keys))
    estimand = Estimand("difference", np.vstack([half, 0 * half]), np.vstack([0 * half, half]))
    result = infer(both, estimand, settings, sides[0].keys)
    method_rate, reference_rate = estimand.row_levels(both.means())
    clear = (result.conf_low > 0) | (result.conf_high < 0)
    verdict = np.where(clear, np.where(result.estimate < 0, "lower", "higher"), "inconclusive")
    bootstrapped = interval in BOOTSTRAP
    table = {
        "term": "difference",
        "estimate": result.estimate,
        "std_error": result.std_error,
        **({} if bootstrapped else {"df": result.df}),
        "conf_low": result.conf_low,
        "conf_high": result.conf_high,
        "conf_level": level,
        "interval": interval,
        "unit": units.name,
        "n": sizes.astype(np.int64),
        "n_units": result.n_units,
        **({"n_undefined": result.n_undefined, "bias": result.bias} if bootstrapped else {}),
    }
    special = {
        "reference_mean": reference_rate,
        "method_mean": method_rate,
        "verdict": verdict,
        **({"n_replicates": settings.n_replicates} if bootstrapped else {}),
    }
    frame = estimates_frame(sides[0].keys.assign(reference=reference), table, special)
    return frame.assign(metric=frame["metric"].astype("str"))
