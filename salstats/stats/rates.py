"""Rates of pixels pooled over cases, such as precision and recall: ratios of sums, with intervals by unit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    check_by,
    check_choice,
    check_columns,
    check_numeric,
    quoted,
)
from salstats.frames import KEY_COLUMNS, ColumnCodes, coded_scores, estimates_frame
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.comparisons import one_sided_pairs, pair_rows, told_apart
from salstats.stats.engine.design import (
    OVERALL,
    Design,
    display_order,
    index_groups,
    mean_of_rows_design,
    pool_over,
)
from salstats.stats.engine.equivalence import sides
from salstats.stats.engine.estimands import Cells, Estimand, Target, sum_cells, target_of_cells
from salstats.stats.engine.fixed_factors import inference_to
from salstats.stats.engine.inference import Estimates, check_options, infer
from salstats.stats.engine.shared_cases import (
    flow_call,
    mark_incomplete_pairs,
    mark_shared_cases,
    paired_call,
)
from salstats.stats.engine.units import Unit, resolve_unit

#: The pixels of a case: in both masks, in the prediction only, in the truth only, in neither.
COUNT_COLUMNS = ("tp", "fp", "fn", "tn")
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
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    average: str | None = None,
    overall: bool = False,
) -> pd.DataFrame:
    """Rates of pixels pooled over cases, with standard errors and intervals.

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
    interval : str, optional
        A name of `intervals.names_of("pooled_rate")`: by default `wilson_t`, Wilson's score interval with
        the effective sample size and degrees of freedom of the ratio's CR2 variance; from replicates as for
        `summarize`; `delta` from linearisation: logit(rate) -+ t * SE / (rate * (1 - rate)), transformed
        back, with Student's t and units - 1 degrees of freedom.
    average : str, optional
        A column of `by`: adds the unweighted mean of the groups' rates over it, as rows "Average".
    overall : bool
        Adds rates of the pixels of all tasks together, `task` = "Overall"; `task` must be in `by`.

    Returns
    -------
    DataFrame
        One row per rate and group, rates in the order asked for and groups sorted within: `metric` (the
        rate), the grouping columns, then as `summarize` with `term` "pooled_rate"; `estimate` is NaN where
        there is no pixel below the line, `n` counts cases with counts, `n_missing` those without, and
        `n_units` the units with pixels below the line.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `summarize`; a count column is missing, negative, not whole or partly empty; two rows of one
        case, task and method disagree on the counts.

    Notes
    -----
    Units are drawn once per replicate and the same draw serves every rate, method and task. The variance
    of `delta` is G/(G-1) times the sum over the G units of ((a - rate * b) / B)^2, where a and b are a
    unit's pixels above and below the line and B is the sum of b: a ratio estimator's, by unit. A symmetric
    interval of a rate near 1 goes past it, so `delta` has its limits on the logit scale, as surveys have
    theirs (Korn & Graubard). At exactly 0 or 1 nothing varies: the width is 0, and there is a warning.

    References
    ----------
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
    names = _check_rates(rates)
    options = check_options("pooled_rate", interval, level, n_replicates, rng, draws)
    coded = coded_scores(scores)
    columns = [c for c in check_by(scores, by, _BY) if c != "metric"]
    codes = ColumnCodes(_pixel_counts(coded))
    design = mean_of_rows_design(codes, columns, resolve_unit(codes, unit))
    cells, keys, n_cases = _rate_cells(design, names, design.frame)
    target = target_of_cells("pooled_rate", cells, keys, average, overall)
    found = infer(target, options)
    table = found.columns(design.units.name)
    if overall:
        n_cases = np.concatenate([n_cases, n_cases @ pool_over(keys, "task", OVERALL)[0]])
    # cases, not pixels
    table["n"] = (n_cases @ target.estimand.first).astype(np.int64)
    frame = _laid_out(found, design, table, {})
    return mark_shared_cases(frame, codes, columns, lambda: paired_call(scores, "pooled_difference"))


def pooled_difference(
    scores: pd.DataFrame,
    *,
    reference: str,
    rates: str | Sequence[str] = ("precision", "recall", "specificity"),
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Difference method - reference of each pooled rate, over the cases that both have counts of.

    Parameters
    ----------
    scores, rates, unit, level, n_replicates, rng, draws
        As for `pooled_rates`.
    interval : str, optional
        A name of `intervals.names_of("pooled_difference")`: by default `cr2`; `delta` has units - 1 degrees
        of freedom.
    reference : str
        The method to compare with, such as "human"; pairs are formed as for `difference`.
    by : str or list of str, optional
        Grouping columns besides `metric` and `method`; by default `task` where it is there.

    Returns
    -------
    DataFrame
        One row per rate, group and compared method: `metric`, the grouping columns, `method`, `reference`,
        then as `difference` without a test and `n_missing`; `n` are cases (several times where the reference
        has several readers), `reference_mean` and `method_mean` the two rates.

    Raises
    ------
    SalstatsError
        The reference is no method of the scores or the only one; see also `pooled_rates`.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> counts = {"tp": [5, 1, 6, 2] * 15, "fp": [5, 0, 3, 0] * 15, "fn": [0, 1, 0, 0] * 15, "tn": 90}
    >>> scores = pd.DataFrame({"case": [f"{i // 4}{i % 2}" for i in range(60)], "metric": "iou",
    ...     "score": 0.5, "method": ["gradcam", "gradcam", "human", "human"] * 15, **counts})
    >>> found = ss.pooled_difference(scores, reference="human", rates="recall")
    >>> found[["metric", "method", "estimate"]].round(3)
       metric   method  estimate
    0  recall  gradcam    -0.143
    """
    names = _check_rates(rates)
    options = check_options("pooled_difference", interval, level, n_replicates, rng, draws)
    columns = [c for c in check_by(scores, by, ("task",)) if c not in ("metric", "method")]
    own, theirs, one_sided = _pairs_of_counts(_pixel_counts(coded_scores(scores)), reference, columns)
    codes = ColumnCodes(own)
    by_method = [*columns, "method"]
    design = Design(codes, by_method, *index_groups(codes, by_method), resolve_unit(codes, unit))
    method, keys, n_cases = _rate_cells(design, names, own)
    reference_cells, _, _ = _rate_cells(design, names, theirs)
    half = np.eye(len(keys))
    estimand = Estimand("difference", np.vstack([half, 0 * half]), np.vstack([0 * half, half]))
    keys = keys.assign(reference=reference)
    target = Target("difference", method.beside(reference_cells), estimand, keys, method.n_missing)
    found = infer(target, options)
    table = found.columns(design.units.name) | {"n": n_cases.astype(np.int64)}
    del table["n_missing"]
    method_rate, reference_rate = estimand.row_levels(target.cells.means())
    # an interval of width 0 says that nothing varies, not that nothing is uncertain
    wide = found.conf_high - found.conf_low > ROUNDING * found.scale
    excluded = ((found.conf_low > 0) | (found.conf_high < 0)) & wide
    special = {
        "reference_mean": reference_rate,
        "method_mean": method_rate,
        "verdict": sides(found.estimate, excluded),
    }
    frame = _laid_out(found, design, table, special)
    return mark_incomplete_pairs(frame, one_sided, own, flow_call(reference))


def _laid_out(
    found: Estimates, design: Design, table: dict[str, Any], special: dict[str, Any]
) -> pd.DataFrame:
    """Estimates frame, rates in the order asked for."""
    keys = found.target.keys
    table |= inference_to(design.frame, design.units.codes, keys)
    frame = estimates_frame(keys, table, special | found.options.columns(), display_order(keys))
    return frame.assign(metric=frame["metric"].astype("str"))


def _pairs_of_counts(
    observations: pd.DataFrame, reference: str, by: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Counts of each method, the reference's row by row where both have them, and keys of other pairs."""
    # of whichever metric a row of counts was
    pairs = pair_rows(ColumnCodes(observations.assign(metric="")), reference)
    counts = observations["score"].to_numpy(dtype=np.float64)
    of_method = np.where(pairs.own >= 0, counts[pairs.own], np.nan)
    of_reference = np.where(pairs.partner >= 0, counts[pairs.partner], np.nan)
    both = ~np.isnan(of_method) & ~np.isnan(of_reference)
    if not both.any():
        raise SalstatsError(f"no case has counts of {reference!r} and of another method")
    own, partner = (
        observations.take(rows[both]).reset_index(drop=True) for rows in (pairs.own, pairs.partner)
    )
    one_sided = one_sided_pairs(observations, by, pairs, of_method, of_reference)
    return told_apart(own, observations, pairs.partner[both]), partner, one_sided


def _check_rates(rates: str | Sequence[str]) -> list[str]:
    """Rates asked for as a list without repeats."""
    names = [rates] if isinstance(rates, str) else list(rates)
    return list(dict.fromkeys(check_choice(name, tuple(_RATES), "rates") for name in names))


def _pixel_counts(coded: ColumnCodes) -> pd.DataFrame:
    """One row per case, task and method with its counts, NaN where none of its rows has any."""
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
    # where a row has counts, all of its observation's are those
    held = pd.DataFrame(counts).groupby(codes).first().to_numpy()[codes]
    differ = known[:, 0] & (counts != held).any(axis=1)
    _raise_at(scores, differ, "has other counts than another row of the same case, task and method")
    rows = np.sort(np.unique(codes, return_index=True)[1])
    # a score stands for the counts, so that what counts rows of a case counts those that have some
    found = dict(zip(COUNT_COLUMNS, held[rows].T, strict=True))
    return scores.iloc[rows].assign(**found, score=held[rows, 0]).reset_index(drop=True)


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


def _rate_cells(
    design: Design, names: Sequence[str], counts: pd.DataFrame
) -> tuple[Cells, pd.DataFrame, np.ndarray]:
    """Cells of each rate in turn, whose "scores" are pixels, their keys, and the cases in each."""
    units, n_groups = design.units, len(design.keys)
    parts = [
        sum_cells(counts[c].to_numpy(dtype=np.float64), units.codes, units.n, design.groups, n_groups)
        for c in COUNT_COLUMNS
    ]
    above, below = (
        np.hstack([sum(w * p.sums for w, p in zip(_RATES[name][side], parts, strict=True)) for name in names])
        for side in (0, 1)
    )
    keys = pd.concat([design.keys] * len(names), ignore_index=True)
    metric = pd.Categorical(np.repeat(list(names), n_groups), categories=list(names), ordered=True)
    keys.insert(0, "metric", metric)
    cells = Cells(above, below, np.tile(parts[0].n_missing, len(names)), np.arange(len(keys)))
    return cells, keys, np.tile(parts[0].counts.sum(axis=0), len(names))
