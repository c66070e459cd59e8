"""Means per group with intervals, and the replicates behind them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, check_by
from salstats.frames import DEFAULT_BY, ColumnCodes, coded_scores, estimates_frame
from salstats.stats.absent import absent_column, is_absent
from salstats.stats.advice import warn_beyond_range
from salstats.stats.averages import average_over, warn_uneven_rows
from salstats.stats.cells import (
    Cells,
    append_keys,
    display_order,
    index_groups,
    sum_cells,
    with_overall,
)
from salstats.stats.estimand import Estimand
from salstats.stats.grouping import check_overall, warn_pooled_by_default, warn_pooled_methods
from salstats.stats.how_scored import how_scored
from salstats.stats.inference import check_binary, check_settings, infer, replicate
from salstats.stats.intervals import BOOTSTRAP
from salstats.stats.units import Units, resolve_unit

INTERVALS = (*BOOTSTRAP, "t", "wilson", "exact")


def summarize(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: str | None = None,
    interval: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    average: str | None = None,
    overall: bool = False,
) -> pd.DataFrame:
    """Return the mean score of each group with its standard error and interval.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Grouping columns; by default those of `metric, method, task` that are present.
    unit : str, optional
        Column that names what is resampled; by default `patient` where it repeats over cases, else
        `case`. A unit's rows all come along.
    interval : str
        `percentile`, `order`, `basic`, `normal`, `bca`, `studentized` from replicates; `t` from the
        cluster-robust standard error with units - 1 degrees of freedom; `wilson` and `exact` for 0/1
        scores, with a design effect where units have several rows.
    level : float
        Confidence level.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Draws made elsewhere: positions of the distinct units in sorted order, from 0.
    average : str, optional
        A column of `by`: adds the unweighted mean of the group means over it, as rows "Average".
    overall : bool
        Adds rows pooled over tasks, `task` = "Overall"; `task` must be in `by`.

    Returns
    -------
    DataFrame
        One row per group, sorted by the grouping columns with Overall and Average last:

        - the grouping columns;
        - `term` ("mean"), `estimate`, `std_error` (SD of the replicates, or analytic);
        - `df` with `interval="t"`;
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`;
        - `n` defined scores, `n_missing` undefined ones, `n_units` units with a defined score; `n_absent`,
          where there is any, those of `n_missing` that are of absent findings;
        - with intervals from replicates: `n_undefined` replicates without a defined score, `bias` (mean of
          the replicates - estimate), `n_replicates` drawn;
        - `distance_unit`, `distance_options`, `pdc_options`, `metric_options`, `curve_options`,
          `center_bias`, `n_samples`, `floor`, `human_label` where the scores say how they were made.

    Raises
    ------
    ColumnError
        A column is missing or invalid, see `frames.check_scores`; several metrics would be averaged.
    ValueRangeError
        An unknown interval, a level outside (0, 1), fewer than one replicate.

    Warns
    -----
    SalstatsWarning
        Cases taken as units although patients repeat; methods taken together, or by default data sets or
        models; cases with different numbers
        of readers, models or seeds; fewer than 20 units (5 for `t`), or units of very unequal size; an
        interval of width 0, or none; more than 1 % of the replicates undefined; averages over different
        tasks.

    Notes
    -----
    Units are drawn once per replicate and the same draw serves every group. The variance of a mean is
    G/(G-1) times the sum over units of squared sums of residuals over n^2 (G units), which is what
    lm(score ~ 1) with clustered errors gives, and the ordinary one where each unit has one row.

    An average leaves out tasks without a defined score, and a replicate that drew none of one of its tasks
    is undefined, so that all replicates estimate the same thing (`order`, the rule of the CheXlocalize
    scripts, averages the tasks that are there). Its `t` interval adds up each unit's influence, with
    G/(G-1) per task and degrees of freedom after Satterthwaite that know which units tasks share. A row
    of which one task has a single unit has no limits.

    References
    ----------
    Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge University Press 1997.
    doi:10.1017/CBO9780511802843

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> means = ss.summarize(scores, by=["metric", "method"])
    >>> means[["metric", "method", "n", "n_units"]].head(2)
      metric   method    n  n_units
    0    hit  gradcam  685      140
    1    hit    human  678      140
    """
    codes = coded_scores(scores)
    columns = check_by(scores, by, DEFAULT_BY)
    warn_pooled_by_default(scores, by, columns)
    units = resolve_unit(scores, unit, codes=codes)
    settings = check_settings(interval, INTERVALS, level, n_replicates, rng, draws, units.n)
    if interval in ("wilson", "exact"):
        if average:
            raise SalstatsError(f"interval={interval!r} is for one proportion, not for an average of several")
        check_binary(scores["score"].to_numpy(dtype=np.float64), "interval", interval)
    cells, estimand, keys, n_missing = mean_design(codes, columns, units, average, overall)
    result = infer(cells, estimand, settings, keys)
    table = {
        "term": "mean",
        "estimate": result.estimate,
        "std_error": result.std_error,
        **({"df": result.df} if interval == "t" else {}),
        "conf_low": result.conf_low,
        "conf_high": result.conf_high,
        "conf_level": level,
        "interval": interval,
        "unit": units.name,
        "n": (cells.counts.sum(axis=0) @ estimand.first).astype(np.int64),
        "n_missing": n_missing.astype(np.int64),
        "n_units": result.n_units,
    }
    if interval in BOOTSTRAP:
        table |= {"n_undefined": result.n_undefined, "bias": result.bias}
    table |= absent_column(keys, scores.loc[is_absent(scores), columns], scores)
    special: dict[str, Any] = {"n_replicates": settings.n_replicates} if interval in BOOTSTRAP else {}
    special |= how_scored(scores, keys)
    frame = estimates_frame(keys, table, special)
    warn_beyond_range(frame, keys)
    return frame.iloc[display_order(keys)].reset_index(drop=True)


def bootstrap(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: str | None = None,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    average: str | None = None,
    overall: bool = False,
) -> pd.DataFrame:
    """Return bootstrap replicates of the mean score of each group.

    Parameters
    ----------
    scores, by, unit, n_replicates, rng, draws, average, overall
        As for `summarize`.

    Returns
    -------
    DataFrame
        One row per group and replicate, in the order of `summarize` and then of the replicates: the
        grouping columns, `replicate` (from 0: the row of `draws`), `estimate` (NaN where no defined
        score was drawn).

    Raises
    ------
    SalstatsError
        As for `summarize`.

    Examples
    --------
    >>> import salstats as ss
    >>> replicates = ss.bootstrap(ss.datasets.load_simulated(), by=["metric", "method"], n_replicates=200)
    >>> list(replicates.columns), len(replicates)
    (['metric', 'method', 'replicate', 'estimate'], 1200)
    """
    codes = coded_scores(scores)
    columns = check_by(scores, by, DEFAULT_BY)
    warn_pooled_by_default(scores, by, columns)
    units = resolve_unit(scores, unit, codes=codes)
    settings = check_settings("percentile", INTERVALS, 0.95, n_replicates, rng, draws, units.n)
    cells, estimand, keys, _ = mean_design(codes, columns, units, average, overall)
    replicates, _, _ = replicate(cells, estimand, settings)
    ordered = display_order(keys)
    times = settings.n_replicates
    rows = np.repeat(ordered, times)
    return pd.DataFrame(
        {
            **{column: keys[column].array.take(rows) for column in keys.columns},
            "replicate": np.tile(np.arange(times), len(keys)),
            "estimate": replicates[:, ordered].ravel(order="F"),
        }
    )


def mean_design(
    known: ColumnCodes, by: list[str], units: Units, average: str | None, overall: bool
) -> tuple[Cells, Estimand, pd.DataFrame, np.ndarray]:
    """Return the cells, what to estimate from them, the key of each estimate, and its missing scores."""
    scores = known.frame
    check_one_metric(scores, by)
    warn_pooled_methods(scores, by)
    warn_uneven_rows(known, by)
    codes, keys = index_groups(scores, by, known)
    cells = sum_cells(scores["score"].to_numpy(dtype=np.float64), units.codes, units.n, codes, keys)
    members, belongs, pooled = average_over(keys, average, cells.counts.sum(axis=0) > 0)
    n_missing = cells.n_missing @ belongs
    if overall:
        cells = with_overall(cells, check_overall(by))
        members = np.vstack([members, np.zeros((len(cells.keys) - len(keys), members.shape[1]))])
    first = np.hstack([np.eye(len(cells.keys)), members])
    return (
        cells,
        Estimand("mean", first),
        append_keys(cells.keys, pooled),
        np.concatenate([cells.n_missing, n_missing]),
    )


def check_one_metric(scores: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise when scores of several metrics would be averaged together."""
    if "metric" in by:
        return
    metrics = pd.unique(scores["metric"])
    if len(metrics) > 1:
        raise ColumnError(
            f"the scores hold {len(metrics)} metrics ({', '.join(map(str, metrics[:4]))}); "
            "add 'metric' to by, or keep one of them"
        )
