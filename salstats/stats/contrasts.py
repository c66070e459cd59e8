"""Methods against a reference: difference and percentage decrease, paired on the same cases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsError,
    ValueRangeError,
    check_by,
    check_choice,
)
from salstats.frames import coded_scores, estimates_frame
from salstats.metrics.registry import has_true_zero
from salstats.stats import paired
from salstats.stats.absent import absent_column
from salstats.stats.adjust import adjust as adjust_estimates
from salstats.stats.adjust import check_procedure
from salstats.stats.advice import ROUNDING, UNDEFINED_SHARE, warn_beyond_range
from salstats.stats.analytic import analytic_variance
from salstats.stats.cells import display_order
from salstats.stats.contrast_design import ContrastDesign, contrast_design
from salstats.stats.estimand import influence_weights
from salstats.stats.grouping import reference_in_every_group, warn_pooled_by_default
from salstats.stats.how_scored import how_scored
from salstats.stats.inference import (
    Inference,
    Settings,
    bootstrap_floor,
    bootstrap_p_values,
    check_binary,
    check_settings,
    infer,
)
from salstats.stats.intervals import BOOTSTRAP
from salstats.stats.monte_carlo import SIDES
from salstats.stats.resampling import sign_blocks
from salstats.stats.summary import check_one_metric
from salstats.stats.units import Units, resolve_unit

DIFFERENCE_INTERVALS = (*BOOTSTRAP, "t")
DECREASE_INTERVALS = (*BOOTSTRAP, "delta", "fieller")
PAIRS = ("complete", "available")
_BY = ("metric", "task")


def difference(
    scores: pd.DataFrame,
    *,
    reference: str,
    by: str | Sequence[str] | None = None,
    unit: str | None = None,
    interval: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    pairs: str = "complete",
    average: str | None = None,
    overall: bool = False,
    test: str | None = None,
    adjust: str = "none",
) -> pd.DataFrame:
    """Return the mean difference method - reference of each method, paired on the same cases.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with the reference among its methods.
    reference : str
        The method to compare with, such as "human". Where it has no `model` or `seed` and `by` names them,
        as people have none, it is compared with in every one of them.
    by : str or list of str, optional
        Grouping columns besides `method`; by default those of `metric, task` that are present.
    unit, level, n_replicates, rng, draws
        As for `summarize`.
    interval : str
        `percentile`, `order`, `basic`, `normal`, `bca`, `studentized`, or `t` (cluster-robust).
    pairs : {"complete", "available"}
        Average over the cases where both scores are defined, or each method over its own.
    average : str, optional
        A column of `by`: adds the difference of the unweighted averages over it, as rows "Average".
    overall : bool
        Adds rows pooled over tasks, `task` = "Overall".
    test : {"bootstrap", "t", "wilcoxon", "mcnemar", "signflip", "none"}, optional
        Where `p_value` comes from, see Notes; by default `bootstrap` beside an interval from replicates
        and `t` beside an analytic one.
    adjust : str
        Correction of the p-values over all rows, see `adjust`; `p_adjusted` is written unless "none".

    Returns
    -------
    DataFrame
        One row per group and compared method, sorted by the grouping columns (Overall and Average
        last) and the method:

        - the grouping columns, `method`, `reference`;
        - `term` ("difference"), `estimate`, `std_error`; `statistic`, `df` of the test, where it has them
          (`df` of the interval beside a test without statistic); `p_value`, `p_adjusted`; of a test from
          replicates `p_floor`, the smallest p-value that they allow: one that is equal to it is printed "<";
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`;
        - `n` scores of the method that were used, `n_missing` pairs where one score or both are
          undefined or not there (`n_absent`, where there is any, those of absent findings), `n_units`,
          `n_undefined` replicates, `bias`;
        - `reference_mean`, `method_mean`, `n_pairs` (both scores defined);
        - `verdict`: the method is "lower" or "higher" than the reference where the interval excludes
          equality (and, with `adjust`, `p_adjusted` is below 1 - `conf_level`), else "inconclusive", as
          where more than 1 % of the replicates are undefined or the interval has width 0;
        - `test`, `n_replicates`.

    Raises
    ------
    SalstatsError
        The reference is no method of the scores or the only one; invalid columns or options.

    Warns
    -----
    SalstatsWarning
        As for `summarize`; and where, with `adjust`, even the smallest p-value that `n_replicates`
        allow stays above 1 - level.

    Notes
    -----
    Pairs are formed by key, see `pairing.pair_with_reference`. The two-sided bootstrap p-value is twice
    the smaller of (1 + count)/(B + 1), counting the replicates on either side of 0. Of the others, `t`
    is the paired t test with clustered errors, `wilcoxon` R's `wilcox.test` on each unit's mean
    difference, `mcnemar` the exact test for 0/1 scores of independent pairs (statistic: pairs where only
    the method hits), and `signflip` a
    permutation test that flips the differences of a unit together. `wilcoxon` and `mcnemar` test single
    groups: averages over tasks have no p-value from them.

    An average over tasks, and `overall`, leave out a task that is undefined on one side; a replicate that
    drew no score of one of its tasks is undefined, so that all replicates estimate the same thing
    (`interval="order"`, the scripts' rule, averages the tasks that are there). The variance of an average
    adds up each unit's influence with a factor G/(G-1) per task, and has Satterthwaite's degrees of
    freedom, at most those of all its units; with `pairs="available"` G is the smaller side's.

    Examples
    --------
    >>> import salstats as ss
    >>> gap = ss.difference(ss.datasets.load_simulated(), reference="human", by="metric")
    >>> gap[["metric", "method", "reference", "verdict"]].head(1)
      metric   method reference verdict
    0    hit  gradcam     human   lower
    """
    return _contrast(
        "difference", scores, reference, by, unit, interval, DIFFERENCE_INTERVALS, level, n_replicates, rng,
        draws, pairs, average, overall, test, adjust,
    )  # fmt: skip


def percent_decrease(
    scores: pd.DataFrame,
    *,
    reference: str,
    by: str | Sequence[str] | None = None,
    unit: str | None = None,
    interval: str = "percentile",
    level: float = 0.95,
    n_replicates: int = 1000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    pairs: str = "complete",
    average: str | None = None,
    overall: bool = False,
    test: str | None = None,
    adjust: str = "none",
    force: bool = False,
) -> pd.DataFrame:
    """Return the percentage decrease of each method's mean from the reference's.

    100 * (reference - method) / reference of the two means over the same cases: 0 is no decrease, 100
    a method that scores 0, negative a method above the reference. Undefined where the reference's mean
    is 0.

    Parameters
    ----------
    scores, reference, by, unit, level, n_replicates, rng, draws, pairs, overall, test, adjust
        As for `difference`.
    interval : str
        `percentile`, `order`, `basic`, `normal`, `bca`, `studentized`; `delta` (delta method) and
        `fieller`, both with t quantiles of units - 1 degrees of freedom and clustered errors.
    average : str, optional
        A column of `by`, as `"task"`: adds the decrease *of the averages*, where in each replicate the
        reference and the method are averaged over tasks before the decrease is taken (saporta2022).
        `"task_mean"` adds the mean of the tasks' decreases instead.
    force : bool
        Compute it for a metric without a true zero too.

    Returns
    -------
    DataFrame
        As for `difference`, with `term` "percent_decrease" and `estimate` in percent. With
        `interval="fieller"` a column `conf_set` says "bounded", or what an unbounded set holds
        ("all but a to b", "everything"; limits then -inf and inf).

    Raises
    ------
    SalstatsError
        As for `difference`.
    ValueRangeError
        A metric without a true zero (ncc, sncc, auc, sauc, nss, information_gain), unless forced.

    Notes
    -----
    A ratio of two means can only be read where 0 means "nothing". Chance is 0 for a correlation and 0.5
    for an AUC; for the sNCC of lanfredi2021 (reference mean .028) the percentage decrease is -1.2 % with
    an interval from -184 to 80: it says nothing, and `difference` says all.

    The p-values are those of `difference`, since equal means and a decrease of 0 are one hypothesis. Only
    the mean of decreases (`"task_mean"`) is no function of one difference: its p-value is its own, by
    `bootstrap` and `t` (there is none by `signflip`). Where the reference's mean is close to 0, replicates
    with a reference of 0 are undefined; above 1 % there is no verdict, and `fieller` says what can be said.

    References
    ----------
    Saporta A, Gui X, Agrawal A, et al. Benchmarking saliency methods for chest X-ray interpretation.
    Nature Machine Intelligence 2022. doi:10.1038/s42256-022-00536-x

    Examples
    --------
    >>> import salstats as ss
    >>> decrease = ss.percent_decrease(ss.datasets.load_simulated(), reference="human", average="task")
    >>> decrease[["metric", "task", "method", "term", "verdict"]].tail(1)
       metric     task     method              term verdict
    23    iou  Average  occlusion  percent_decrease   lower
    """
    if isinstance(scores, pd.DataFrame) and "metric" in scores.columns and not force:
        without = [m for m in pd.unique(scores["metric"]) if not has_true_zero(str(m))]
        if without:
            raise ValueRangeError(
                f"metric {without[0]!r} has no true zero, so a percentage of it means nothing; take "
                "difference(), keep the other metrics, or pass force=True (--force)"
            )
    return _contrast(
        "percent_decrease", scores, reference, by, unit, interval, DECREASE_INTERVALS, level, n_replicates,
        rng, draws, pairs, average, overall, test, adjust,
    )  # fmt: skip


def _contrast(
    kind: str,
    scores: pd.DataFrame,
    reference: str,
    by: str | Sequence[str] | None,
    unit: str | None,
    interval: str,
    intervals: Sequence[str],
    level: float,
    n_replicates: int,
    rng: int | np.random.Generator,
    draws: np.ndarray | None,
    pairs: str,
    average: str | None,
    overall: bool,
    test: str | None,
    adjust: str,
) -> pd.DataFrame:
    """Check, build the design, infer, test and lay out the frame."""
    if isinstance(scores, pd.DataFrame) and "method" in scores.columns:
        scores = reference_in_every_group(scores, reference, by)
    codes = coded_scores(scores)
    columns = [c for c in check_by(scores, by, _BY) if c != "method"]
    warn_pooled_by_default(scores, by, columns)
    check_choice(pairs, PAIRS, "pairs")
    if test is not None:
        check_choice(test, paired.TESTS, "test")
    check_procedure(adjust, "adjust")
    check_one_metric(scores, columns)
    if test == "signflip" and pairs != "complete":
        raise SalstatsError("test='signflip' flips pairs, so it needs pairs='complete'")
    units = resolve_unit(scores, unit, codes=codes)
    settings = check_settings(interval, intervals, level, n_replicates, rng, draws, units.n)
    if test is None:
        test = "bootstrap" if interval in BOOTSTRAP else "t"
    after = average is not None and average.endswith("_mean") and average not in columns
    if after and kind == "difference":
        # the difference of averages is the average of differences
        average, after = str(average).removesuffix("_mean"), False
    if after and interval == "fieller":
        raise SalstatsError(f"interval='fieller' is for one ratio, not for average={average!r}")
    design = contrast_design(kind, codes, reference, columns, units, pairs, average, overall, after)
    result = infer(design.cells, design.estimand, settings, design.keys, gaps=test == "bootstrap")
    statistic, df, p_value, floor = _test(test, design, result, settings, units)
    method_mean, reference_mean = design.estimand.row_levels(design.cells.means())
    assert reference_mean is not None
    used = (
        design.estimand.first
        if design.estimand.then is None
        else design.estimand.first @ design.estimand.then
    )
    table: dict[str, Any] = {
        "term": kind,
        "estimate": result.estimate,
        "std_error": result.std_error,
        "statistic": statistic,
        # of the test where it has a statistic, else of the interval
        "df": df if not np.isnan(statistic).all() else result.df,
        "p_value": p_value,
        "conf_low": result.conf_low,
        "conf_high": result.conf_high,
        "conf_level": level,
        "interval": interval,
        "unit": units.name,
        "n": (design.cells.counts.sum(axis=0) @ (used > 0)).astype(np.int64),
        "n_missing": design.n_missing,
        "n_units": result.n_units,
        "n_undefined": result.n_undefined,
        "bias": result.bias,
    }
    drawn = interval in BOOTSTRAP or test in ("bootstrap", "signflip")
    if interval not in BOOTSTRAP:
        del table["n_undefined"], table["bias"]
    table |= absent_column(design.keys, design.absent, scores)
    if floor is not None:
        table["p_floor"] = np.where(np.isnan(p_value), np.nan, floor)
    for name in ("statistic", "df", "p_value"):
        if np.isnan(table[name]).all():
            del table[name]
    special = {
        "reference_mean": reference_mean,
        "method_mean": method_mean,
        "n_pairs": design.n_pairs,
        "verdict": _verdicts(kind, result, method_mean - reference_mean, settings.n_replicates),
        **({"conf_set": result.conf_set} if result.conf_set is not None else {}),
        "test": test,
        **({"n_replicates": settings.n_replicates} if drawn else {}),
        **how_scored(scores, design.keys),
    }
    frame = estimates_frame(design.keys, table, special)
    warn_beyond_range(frame, design.keys)
    frame = frame.iloc[display_order(design.keys)].reset_index(drop=True)
    if adjust.lower() != "none" and "p_value" in frame.columns:
        frame = adjust_estimates(frame, procedure=adjust)
    return frame


def _verdicts(kind: str, result: Inference, gap: np.ndarray, n_replicates: int) -> np.ndarray:
    """Return lower, higher or inconclusive, by whether the interval excludes 0.

    The side is that of the difference: a decrease from a negative mean is a method above it.
    """
    excluded = (result.conf_low > 0) | (result.conf_high < 0)
    if result.zero_in_gap is not None:
        excluded |= result.zero_in_gap
    excluded &= result.n_undefined <= UNDEFINED_SHARE * n_replicates
    # an interval of width 0 says that nothing varies, not that nothing is uncertain
    excluded &= ~(result.conf_high - result.conf_low <= ROUNDING * result.scale)
    return np.where(excluded & (gap < 0), "lower", np.where(excluded & (gap > 0), "higher", "inconclusive"))


def _test(
    test: str, design: ContrastDesign, result: Inference, settings: Settings, units: Units
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | float | None]:
    """Return statistic, degrees of freedom and p-value of each row, NaN where the test has none.

    Last comes the smallest p-value that replicates allow, None of a test without any.
    """
    n_rows = len(design.keys)
    statistic, df, p_value = (np.full(n_rows, np.nan) for _ in range(3))
    gap = design.estimand.gap()
    means = design.cells.means()
    scale = gap.scale(means)
    # the mean of decreases is no function of one difference, and is tested as it stands
    averaged = np.arange(n_rows) >= design.members.shape[1]
    special = averaged & (design.estimand.then is not None)
    if test == "bootstrap":
        assert result.gap_replicates is not None
        assert result.replicates is not None
        replicates = np.where(special, result.replicates, result.gap_replicates)
        p_value = bootstrap_p_values(replicates, ROUNDING * scale)
        return statistic, df, np.where(result.smallest < 2, np.nan, p_value), bootstrap_floor(replicates)
    if test == "t":
        parts = []
        for estimand in (gap, design.estimand):
            variance, its_df = analytic_variance(design.cells, estimand)
            negligible = np.sqrt(variance) <= ROUNDING * estimand.scale(means)
            parts.append(paired.t_test(estimand.value(means), np.where(negligible, 0.0, variance), its_df))
        statistic, df, p_value = (np.where(special, own, of_gap) for of_gap, own in zip(*parts, strict=True))
        return statistic, df, p_value, None
    if test == "signflip":
        per_sum, _ = influence_weights(gap.gradient(means), means, design.cells.counts.sum(axis=0))
        signs = sign_blocks(settings.n_replicates, units.n, settings.rng)
        p_value = paired.sign_flip(design.cells.sums @ per_sum.T, signs, scale)
        floor = SIDES[test] / (settings.n_replicates + 1)
        return statistic, df, np.where(special | (result.smallest < 2), np.nan, p_value), floor
    own = design.paired["score"].to_numpy(dtype=np.float64)
    other = design.paired["reference_score"].to_numpy(dtype=np.float64)
    its_units = design.paired["_unit"].to_numpy()
    if test == "mcnemar":
        for values in (own, other):
            check_binary(values, "test", test)
    for row in range(design.members.shape[1] if test != "none" else 0):
        chosen = design.members[design.row_codes, row]
        if not chosen.any():
            continue
        if test == "mcnemar":
            if row >= len(design.members) and len(np.unique(its_units[chosen])) < chosen.sum():
                # a case has several tasks: pooled over them its pairs are not independent
                continue
            paired.check_independent(its_units[chosen], design.keys, row, units.name)
            statistic[row], p_value[row] = paired.mcnemar(own[chosen], other[chosen])
        else:
            gaps = _unit_means(own[chosen] - other[chosen], its_units[chosen])
            gaps = np.where(np.abs(gaps) <= ROUNDING * scale[row], 0.0, gaps)
            statistic[row], p_value[row] = paired.wilcoxon(gaps)
    return statistic, df, p_value, None


def _unit_means(values: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the mean of each unit's values."""
    counts = np.bincount(units)
    return np.bincount(units, weights=values)[counts > 0] / counts[counts > 0]
