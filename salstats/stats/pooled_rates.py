"""Precision, recall and other rates of pixels pooled over cases: ratios of sums, with intervals by unit."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from salstats.checks import ColumnError, check_by, check_choice, check_columns, check_numeric, quoted
from salstats.frames import KEY_COLUMNS, ColumnCodes, coded_scores, estimates_frame
from salstats.stats import intervals
from salstats.stats.averages import average_over, warn_uneven_rows
from salstats.stats.cells import Cells, append_keys, display_order, index_groups, sum_cells, with_overall
from salstats.stats.estimand import Estimand
from salstats.stats.grouping import check_overall, warn_pooled_methods
from salstats.stats.inference import Inference, check_settings, infer
from salstats.stats.intervals import BOOTSTRAP
from salstats.stats.units import resolve_unit

#: The pixels of a case: in both masks, in the prediction only, in the truth only, in neither.
COUNT_COLUMNS = ("tp", "fp", "fn", "tn")
POOLED_INTERVALS = (*BOOTSTRAP, "delta")
#: How often tp, fp, fn and tn stand above the line of a rate, and below it.
_RATES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "precision": ((1, 0, 0, 0), (1, 1, 0, 0)),
    "recall": ((1, 0, 0, 0), (1, 0, 1, 0)),
    "specificity": ((0, 0, 0, 1), (0, 1, 0, 1)),
    "iou": ((1, 0, 0, 0), (1, 1, 1, 0)),
    "dice": ((2, 0, 0, 0), (2, 1, 1, 0)),
}
_BY = ("method", "task")


def pooled_rates(
    scores: pd.DataFrame,
    *,
    rates: str | Sequence[str] = ("precision", "recall", "specificity"),
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
    """Return rates of pixels pooled over cases, with standard errors and intervals.

    A rate is a ratio of sums, such as all true-positive pixels over all pixels predicted, so that a large
    finding counts more than a small one; the mean of the cases' own rates comes from `summarize`. A case
    whose mask is empty counts here with all it missed, and so does one without the finding.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with the columns `tp`, `fp`, `fn`, `tn`, from `score`. The counts of a case stand
        beside each of its metrics and are used once.
    rates : str or list of str
        Any of `precision` tp / (tp + fp), `recall` tp / (tp + fn), `specificity` tn / (tn + fp), `iou`
        tp / (tp + fp + fn), `dice` 2 tp / (2 tp + fp + fn).
    by : str or list of str, optional
        Grouping columns besides `metric`; by default those of `method, task` that are present.
    unit, level, n_replicates, rng, draws
        As for `summarize`.
    interval : str
        `percentile`, `order`, `basic`, `normal`, `bca`, `studentized` from replicates; `delta` from
        linearisation: logit(rate) -+ t * SE / (rate * (1 - rate)), transformed back, with Student's t and
        units - 1 degrees of freedom. Its limits lie within 0 and 1.
    average : str, optional
        A column of `by`: adds the unweighted mean of the groups' rates over it, as rows "Average".
    overall : bool
        Adds rates of the pixels of all tasks together, `task` = "Overall"; `task` must be in `by`.

    Returns
    -------
    DataFrame
        One row per rate and group, rates in the order asked for and groups sorted within:

        - `metric` (the rate) and the grouping columns;
        - `term` ("pooled_rate"), `estimate` (NaN where there is no pixel below the line), `std_error`;
        - `df` with `interval="delta"`;
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`;
        - `n` cases with counts, `n_missing` cases without, `n_units` units with pixels below the line;
        - with intervals from replicates: `n_undefined`, `bias`, `n_replicates`.

    Raises
    ------
    ColumnError
        A count column is missing, negative, not whole or partly empty; two rows of one case, task and
        method disagree on the counts; see also `summarize`.
    ValueRangeError
        An unknown rate or interval.

    Warns
    -----
    SalstatsWarning
        As for `summarize`: few units, or few large ones that decide; methods taken together.

    Notes
    -----
    Units are drawn once per replicate and the same draw serves every rate, method and task. The variance
    of `delta` is G/(G-1) times the sum over the G units of ((a - rate * b) / B)^2, where a and b are a
    unit's pixels above and below the line and B is the sum of b: a ratio estimator's, by unit. A symmetric
    interval of a rate near 1 goes past it, so `delta` has its limits on the logit scale, as surveys have
    theirs (Korn & Graubard). At exactly 0 or 1 nothing varies: the width is 0, and there is a warning.

    References
    ----------
    Saporta A, et al. Benchmarking saliency methods for chest X-ray interpretation. Nat Mach Intell 2022.
    doi:10.1038/s42256-022-00536-x (Extended Data Fig. 2)

    Cochran WG. Sampling Techniques, 3rd ed. Wiley 1977, chapter 6.

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": ["a", "b"] * 15, "method": "gradcam", "metric": "iou", "score": 0.5,
    ...     "tp": [5, 1] * 15, "fp": [5, 0] * 15, "fn": [0, 1] * 15, "tn": [90, 98] * 15})
    >>> scores["case"] += [f"{i:02d}" for i in range(30)]
    >>> pooled = ss.pooled_rates(scores, rates=["precision", "recall"], interval="delta")
    >>> pooled[["metric", "method", "estimate", "n_units"]].round(3)
          metric   method  estimate  n_units
    0  precision  gradcam     0.545       30
    1     recall  gradcam     0.857       30
    """
    names = check_rates(rates)
    coded = coded_scores(scores)
    columns = [c for c in check_by(scores, by, _BY) if c != "metric"]
    observations = pixel_counts(coded)
    codes = ColumnCodes(observations)
    units = resolve_unit(observations, unit, codes=codes)
    settings = check_settings(interval, POOLED_INTERVALS, level, n_replicates, rng, draws, units.n)
    warn_pooled_methods(observations, columns)
    warn_uneven_rows(codes, columns)
    groups, keys = index_groups(observations, columns, codes)
    parts = [
        sum_cells(observations[c].to_numpy(dtype=np.float64), units.codes, units.n, groups, keys)
        for c in COUNT_COLUMNS
    ]
    cells, n_cases = rate_cells(parts, names)
    members, belongs, pooled = average_over(cells.keys, average, cells.counts.sum(axis=0) > 0)
    n_missing = cells.n_missing @ belongs
    if overall:
        n_plain = len(cells.keys)
        column = check_overall(columns)
        n_cases = with_overall(replace(cells, n_missing=n_cases), column).n_missing
        cells = with_overall(cells, column)
        members = np.vstack([members, np.zeros((len(cells.keys) - n_plain, members.shape[1]))])
    first = np.hstack([np.eye(len(cells.keys)), members])
    all_keys = append_keys(cells.keys, pooled)
    result = infer(cells, Estimand("mean", first), settings, all_keys)
    bootstrapped = interval in BOOTSTRAP
    low, high = result.conf_low, result.conf_high
    if interval == "delta":
        low, high = _logit_limits(result, settings.level)
    table = {
        "term": "pooled_rate",
        "estimate": result.estimate,
        "std_error": result.std_error,
        **({} if bootstrapped else {"df": result.df}),
        "conf_low": low,
        "conf_high": high,
        "conf_level": level,
        "interval": interval,
        "unit": units.name,
        "n": (n_cases @ first).astype(np.int64),
        "n_missing": np.concatenate([cells.n_missing, n_missing]).astype(np.int64),
        "n_units": result.n_units,
        **({"n_undefined": result.n_undefined, "bias": result.bias} if bootstrapped else {}),
    }
    special = {"n_replicates": settings.n_replicates} if bootstrapped else {}
    frame = estimates_frame(all_keys, table, special).iloc[display_order(all_keys)].reset_index(drop=True)
    return frame.assign(metric=frame["metric"].astype("str"))


def _logit_limits(result: Inference, level: float) -> intervals.Limits:
    """Return limits that are symmetric on the logit scale; those of a rate of 0 or 1 stay as they are."""
    rate = result.estimate
    inside = (rate > 0) & (rate < 1) & (result.std_error > 0) & ~np.isnan(result.conf_low)
    odds = logit(np.where(inside, rate, 0.5))
    error = np.where(inside, result.std_error, 0.0) / np.where(inside, rate * (1 - rate), 1.0)
    low, high = (expit(limit) for limit in intervals.t_limits(odds, error, result.df, level))
    return np.where(inside, low, result.conf_low), np.where(inside, high, result.conf_high)


def check_rates(rates: str | Sequence[str]) -> list[str]:
    """Return the rates asked for as a list without repeats."""
    names = [rates] if isinstance(rates, str) else list(rates)
    return list(dict.fromkeys(check_choice(name, tuple(_RATES), "rates") for name in names))


def pixel_counts(coded: ColumnCodes) -> pd.DataFrame:
    """Return one row per case, task and method with its counts, NaN where none of its rows has any."""
    scores = coded.frame
    check_columns(scores, COUNT_COLUMNS)
    counts = np.column_stack([check_numeric(scores, c) for c in COUNT_COLUMNS])
    known = ~np.isnan(counts)
    _raise_at(
        scores, known.any(axis=1) & ~known.all(axis=1), "has some of tp, fp, fn, tn and not all of them"
    )
    with np.errstate(invalid="ignore"):
        odd = known & ((counts < 0) | (counts != np.floor(counts)))
    _raise_at(scores, odd.any(axis=1), "has a count that is not a whole number of pixels")
    codes = coded.combined([c for c in KEY_COLUMNS if c in scores.columns and c != "metric"])
    # a stable sort by "has counts, first" leaves each observation's first row with counts in front
    order = np.lexsort([np.arange(len(codes)), ~known[:, 0], codes])
    first = order[np.flatnonzero(np.diff(codes[order], prepend=-1))]
    differ = known[:, 0] & (counts != counts[first[codes]]).any(axis=1)
    _raise_at(scores, differ, "has other counts than another row of the same case, task and method")
    rows = np.sort(first)
    # a score stands for the counts, so that what counts rows of a case counts those that have some
    return scores.iloc[rows].assign(score=counts[rows, 0]).reset_index(drop=True)


def _raise_at(scores: pd.DataFrame, wrong: np.ndarray, what: str) -> None:
    """Raise ColumnError that names the first row in question."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = ", ".join(
            f"{c} {scores[c].iloc[row]}" for c in KEY_COLUMNS if c in scores.columns and c != "dataset"
        )
        raise ColumnError(
            f"row {row} of scores ({shown}) {what}; the columns {quoted(COUNT_COLUMNS)} of one case, task "
            "and method hold the same whole numbers beside each metric, or nothing"
        )


def rate_cells(parts: Sequence[Cells], names: Sequence[str]) -> tuple[Cells, np.ndarray]:
    """Return the cells of each rate in turn, whose "scores" are pixels, and the cases in each."""
    keys, n_groups = parts[0].keys, len(parts[0].keys)
    above, below = (
        np.hstack([sum(w * p.sums for w, p in zip(_RATES[name][side], parts, strict=True)) for name in names])
        for side in (0, 1)
    )
    metric = pd.Categorical(np.repeat(list(names), n_groups), categories=list(names), ordered=True)
    repeated = pd.concat([keys] * len(names), ignore_index=True)
    repeated.insert(0, "metric", metric)
    cells = Cells(
        repeated, above, below, np.tile(parts[0].n_missing, len(names)), np.arange(len(names) * n_groups)
    )
    return cells, np.tile(parts[0].counts.sum(axis=0), len(names))
