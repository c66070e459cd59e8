"""How well a score tells positives from negatives: areas under ROC curves and their differences, by group."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import (
    SalstatsError,
    ValueRangeError,
    check_by,
    check_frame,
    check_level,
    check_numeric,
    warn,
)
from salstats.frames import ColumnCodes, estimates_frame
from salstats.stats.adjust import adjusted_if_asked, check_procedure
from salstats.stats.engine.carried import absent_column, absent_observations
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS, caution_column
from salstats.stats.engine.comparisons import LACKING, pair_rows, told_apart
from salstats.stats.engine.design import group_label, named_groups, row_groups, warn_pooled_methods
from salstats.stats.engine.equivalence import sides
from salstats.stats.engine.few_units import few_misranked, few_misranked_by_both, few_units_of_rows
from salstats.stats.engine.fixed_factors import inference_to
from salstats.stats.engine.intervals import RECOMMENDED, Basis, Interval, choose_interval
from salstats.stats.engine.limits import wilson
from salstats.stats.engine.roc import RocArea, roc_area, separation_p_value
from salstats.stats.engine.shared_cases import (
    flow_call,
    mark_incomplete_pairs,
    mark_shared_cases,
    paired_call,
)
from salstats.stats.engine.units import Unit, resolve_unit, says_units, unit_columns
from salstats.stats.engine.wide import wide_codes


def auroc(
    data: pd.DataFrame,
    score: str,
    label: str,
    *,
    by: str | Sequence[str] | None = None,
    reference: str | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    overall: bool = False,
    adjust: str = "none",
) -> pd.DataFrame:
    """Area under the ROC curve of `score` for `label` in each group.

    The area is the chance that a positive has a larger score than a negative, ties counting one half; 0.5
    is guessing. A name is a column of `data`, or else a metric of it.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table. In a scores frame `prob` and `label` stand beside every metric
        and method; they are used once per data set, case, task and group, and have to agree there.
    score : str
        Larger speaks for positive.
    label : str
        0 and 1, or False and True.
    by : str or sequence of str, optional
        Grouping columns; by default `task` where there is one, and `method` too where `score` or `label` is
        a metric, which every method has of its own. `()` pools all rows.
    reference : str, optional
        What to compare with on the same cases: a method of the data, or the score of another column or
        metric. The result is then of differences, score - reference or method - reference.
    unit : str or list of str, optional
        What is independent; by default as for `summarize`.
    interval : {"recommended", "logit", "cr2", "delong", "obuchowski"}, optional
        Of an area `logit`, estimate ± quantile × std_error on the scale of log odds, which is recommended
        and the default; then Wilson's limits stand where there is no variance. Of a difference `cr2`, the
        same without a change of scale. Both keep a unit's rows together. The others are on the scale of the
        area: `delong` takes rows for independent, `obuchowski` units, with Obuchowski's variance; where
        units do not repeat they are the same.
    level : float
        Confidence level.
    overall : bool
        Add the area of all tasks pooled, `task` being "Overall", where `task` is in `by`.
    adjust : str
        Procedure of `adjust`, for all rows of the result as one family.

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then

        method, reference
            Only with `reference`: the method or the score, and what it is compared with.
        term, estimate
            "auroc" and the area, or "auroc_difference" and the difference. NaN, with a warning, where all
            labels of a group are equal.
        std_error
            Square root of the variance; NaN where only one row (one unit) is positive, or only one negative,
            or where Obuchowski's estimate of the variance is below 0.
        statistic, df, p_value, p_adjusted
            Two-sided test of an area of 0.5, or of equal areas, on the scale of the limits, which exclude
            that exactly where the P value is below 1 - level: Student's t, its `df` Welch's (of `obuchowski`
            the fewer of the units with a positive and those with a negative, less 1), or z (`df` NaN) of
            Wilson's limits, of `delong`, and of `obuchowski` where units do not repeat. NaN where there are
            no limits; but asked for by name, where the classes of independent rows are separated completely,
            `p_value` is the exact Mann-Whitney one, 2 / C(n, n_positive). `p_adjusted` (with `n_tests` and
            `procedure` at the end) only with `adjust`.
        conf_low, conf_high, conf_level, interval
            As `interval` says, those of one area on the scale of the area cut off at 0 and 1 as in pROC.
            "wilson" where std_error is 0 or NaN, or the area 0 or 1: Wilson's of as many cases as there are
            units with the rarer label. NaN there if `interval` is asked for by name, or with `reference`.
        unit, n, n_missing, n_absent, n_units
            As for `correlate`.
        caution
            Where a row deserves one: "few events" where areas are so near 1 that the rarer label's units,
            times the share of pairs in the wrong order, are fewer than 0.75 (of two areas
            both 1.25); "few units" as for `correlate`.
        predictor, response, n_positive, n_negative
            What was used, and rows with label 1 and 0.
        method_area, reference_area, verdict
            Only with `reference`: both areas, and whether the method's is "lower" or "higher", else
            "inconclusive", as in `difference`.

    Raises
    ------
    ColumnError, ValueRangeError
        A name is neither a column nor a metric, or is not numeric; a case has two values of `score` or
        `label` in a group of a scores frame; a label other than 0 and 1, or not the same for the method and
        the reference; an unknown option.

    Warns
    -----
    SalstatsWarning
        A group has one class only, complete separation, nothing but ties, positives or negatives of one unit
        only, or a variance that is not above 0; `interval="delong"` although units repeat.

    Notes
    -----
    Formulas are those of `salstats.stats.engine.roc.roc_area`. Checked against R's pROC (DeLong; `roc.test`
    of two paired curves) and against the worked example of Obuchowski (1997), whose normal quantile is
    replaced by that of t.

    Default 95 % limits held in 92 to 99 % of simulated studies of 30 units and in 94 to 96 % of 100,
    DeLong's on the scale of the area in 62 to 93 % of those of 30 (`datasets.load_coverage`). Of differences
    of two areas they held in 94 to 100 and 95 to 96 %.

    Wilson's limits are those of a share of as many independent cases: at an area of 1 and three positives
    .44 to 1, at 20 .84 to 1.

    References
    ----------
    DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more correlated receiver
    operating characteristic curves. Biometrics 1988;44:837-845. https://doi.org/10.2307/2531595

    Obuchowski NA. Nonparametric analysis of clustered ROC curve data. Biometrics 1997;53:567-578.
    https://doi.org/10.2307/2533958

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation. J Bus Econ Stat
    2018;36:672-683. https://doi.org/10.1080/07350015.2016.1247004

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"prob": [0.1, 0.4, 0.35, 0.8], "label": [0, 0, 1, 1]})
    >>> ss.auroc(table, "prob", "label")[["term", "estimate", "n", "n_positive"]]
        term  estimate  n  n_positive
    0  auroc      0.75  4           2

    Which of two scores tells better, on the same cases:

    >>> table["other"] = [0.5, 0.1, 0.2, 0.7]
    >>> ss.auroc(table, "prob", "label", reference="other")[["reference", "estimate", "p_value", "verdict"]]
      reference  estimate  p_value       verdict
    0     other       0.0      1.0  inconclusive
    """
    frame, term = check_frame(data, "data"), "auroc" if reference is None else "auroc_difference"
    record = choose_interval(interval, term)
    check_procedure(adjust, "adjust")
    level = check_level(level)
    codes, groups, second, of_metric = _table(frame, score, label, reference, by, unit)
    table = codes.frame
    warn_pooled_methods(table, groups)
    values, labels = check_numeric(table, score, "data"), check_numeric(table, label, "data")
    _check_labels(labels, label)
    units = resolve_unit(codes, unit, "data") if says_units(table, unit) else None
    unit_codes = np.arange(len(table)) if units is None else units.codes
    complete = ~(np.isnan(values) | np.isnan(labels))
    complete &= True if second is None else ~np.isnan(second)
    keys, rows_of = row_groups(codes, groups, overall=overall)
    used = [rows[complete[rows]] for rows in rows_of]
    n, n_units = np.array([(len(own), len(np.unique(unit_codes[own]))) for own in used]).T
    areas = [
        roc_area(
            values[own],
            labels[own] == 1,
            None if record.name == "delong" else unit_codes[own],
            reference=None if second is None else second[own],
            obuchowski=record.name in ("delong", "obuchowski"),
        )
        for own in used
    ]
    by_default = interval is None or interval == RECOMMENDED
    columns = _inferred(areas, n_units == n, record, term, level, wilson_too=by_default and second is None)
    tied = np.array([len(own) > 0 and np.ptp(values[own]) == 0 for own in used]) & (second is None)
    _warn(keys, areas, columns, tied)
    if record.name == "delong" and (n > n_units).any():
        worst = int(np.argmax(n / np.maximum(n_units, 1)))
        warn(
            f"interval='delong' takes rows for independent, but {group_label(keys, worst)} has {n[worst]} "
            f"rows of {n_units[worst]} units; interval={choose_interval(None, term).name!r} gives limits "
            "that keep a unit's rows together"
        )
    columns |= {"n": n, "n_missing": np.array([len(rows) for rows in rows_of]) - n}
    if of_metric and second is None:
        columns |= absent_column(keys, absent_observations(frame, [score, label], groups), frame)
    columns |= inference_to(table, None if units is None else units.codes, keys)
    if units is not None:
        columns |= {"unit": units.name, "n_units": n_units}
    counts = {
        name: np.array([getattr(area, name) for area in areas]) for name in ("n_positive", "n_negative")
    }
    n_least = np.array([area.n_least for area in areas])
    rare = few_misranked(columns["estimate"], n_least)
    if reference is not None:
        other = np.array([area.of_reference for area in areas])
        rare = few_misranked_by_both(columns["estimate"] + other, other, n_least)
    columns |= caution_column(
        {FEW_UNITS: few_units_of_rows([unit_codes[own] for own in used]), FEW_EVENTS: rare}
    )
    more = {"predictor": score, "response": label, **counts}
    if reference is not None:
        keys = keys.assign(**({} if "method" in keys else {"method": score}), reference=reference)
        of_reference = np.array([area.of_reference for area in areas])
        low, high = columns["conf_low"], columns["conf_high"]
        more |= {"method_area": columns["estimate"] + of_reference, "reference_area": of_reference}
        more["verdict"] = sides(columns["estimate"], (low > 0) | (high < 0))
    result = estimates_frame(keys, columns, more)
    if second is None:
        arguments = f"data, {score!r}, {label!r}"
        result = mark_shared_cases(
            result, codes, groups, lambda: paired_call(frame, "auroc", arguments), complete
        )
    elif "method" in groups:
        one_sided = ~np.isnan(labels) & (np.isnan(values) != np.isnan(second))
        lacking = np.where(np.isnan(values), "method", "reference")
        pairs = table[groups].assign(**{LACKING: lacking})[one_sided]
        result = mark_incomplete_pairs(result, pairs, table, flow_call(str(reference)))
    return adjusted_if_asked(result, adjust)


def _table(
    frame: pd.DataFrame,
    score: str,
    label: str,
    reference: str | None,
    by: str | Sequence[str] | None,
    unit: Unit,
) -> tuple[ColumnCodes, list[str], np.ndarray | None, bool]:
    """Table with a row per case and group, its grouping columns, and the score that is compared with."""
    of_method = reference is not None and "method" in frame and bool((frame["method"] == reference).any())
    names = [score, label] if reference is None or of_method else [score, label, reference]
    of_metric = not set(names) <= set(frame.columns)
    groups = check_by(frame, by, ("method", "task") if of_metric else ("task",), "data")
    if of_method:
        groups = [*(c for c in groups if c != "method"), "method"]
    codes = wide_codes(frame, names, [*groups, *unit_columns(frame, unit)])
    if of_method:
        codes, second = _beside(codes, score, label, str(reference))
        return codes, groups, second, of_metric
    return codes, groups, check_numeric(codes.frame, names[2], "data") if names[2:] else None, of_metric


def _inferred(
    areas: list[RocArea], alone: np.ndarray, record: Interval, term: str, level: float, *, wilson_too: bool
) -> dict[str, Any]:
    """Columns of estimates, tests and limits; with `wilson_too` Wilson's where there is no variance."""
    estimate, variance, df, n_positive, n_negative, n_least = np.array([area[:6] for area in areas]).T
    # a variance below 0 has no root
    std_error = np.sqrt(np.where(variance < 0, np.nan, variance))
    if record.name in ("delong", "obuchowski"):
        df = np.where(alone | (record.name == "delong"), np.nan, df)
    basis = Basis(term, level, estimate, np.where(std_error > 0, std_error, np.nan), df)
    low, high = record.limits(basis)
    # logit of 1/2 and no difference are both 0
    place, error = estimate - (0.5 if term == "auroc" else 0.0), basis.std_error
    if record.scale == "logit":
        inside = np.where((estimate > 0) & (estimate < 1), estimate, np.nan)
        place, error = special.logit(inside), error / (inside * (1 - inside))
    statistic, names = place / error, np.full(len(areas), record.name, dtype=object)
    without = ~np.isnan(estimate) & np.isnan(low)
    if wilson_too:
        other = wilson(estimate, n_least, level)
        low, high = (np.where(without, *pair) for pair in zip(other, (low, high), strict=True))
        statistic = np.where(without, 2 * (estimate - 0.5) * np.sqrt(n_least), statistic)
        names[without], df = "wilson", np.where(without, np.nan, df)
    df = np.where(np.isnan(statistic), np.nan, df)
    p_value = 2 * special.stdtr(np.where(np.isnan(df), np.inf, df), -np.abs(statistic))
    exact = without & alone & np.isin(estimate, (0, 1)) & (term == "auroc") & (not wilson_too)
    p_value[exact] = separation_p_value(n_positive[exact], n_negative[exact])
    return {
        "term": term,
        "estimate": estimate,
        "std_error": std_error,
        "statistic": statistic,
        "df": df,
        "p_value": p_value,
        "conf_low": low,
        "conf_high": high,
        "conf_level": level,
        "interval": names,
    }


def _check_labels(labels: np.ndarray, name: str) -> None:
    """Raise where a label is neither 0, 1 nor missing."""
    other = np.flatnonzero(~(np.isnan(labels) | (labels == 0) | (labels == 1)))
    if len(other):
        raise ValueRangeError(
            f"column {name!r} must hold 0 and 1, not {labels[other[0]]:g}; if larger means positive, make it "
            f"0/1 first"
        )


def _beside(codes: ColumnCodes, score: str, label: str, reference: str) -> tuple[ColumnCodes, np.ndarray]:
    """Rows of every method but the reference, and beside each the reference's score."""
    pairs, frame = pair_rows(codes, reference), codes.frame
    table = told_apart(frame.iloc[pairs.source].reset_index(drop=True), frame, pairs.partner)
    table["method"] = frame["method"].array.take(pairs.like)
    has, its = (check_numeric(frame, column, "data") for column in (score, label))
    ours, theirs = (np.where(rows >= 0, its[rows], np.nan) for rows in (pairs.own, pairs.partner))
    differ = np.flatnonzero(np.abs(ours - theirs) > 0)
    if len(differ):
        raise SalstatsError(
            f"the label {label!r} is not the same for {table['method'].iloc[differ[0]]} and {reference}, so "
            "their areas are not of the same cases; name a label of the case"
        )
    table[score] = np.where(pairs.own >= 0, has[pairs.own], np.nan)
    table[label] = np.where(np.isnan(ours), theirs, ours)
    return ColumnCodes(table), np.where(pairs.partner >= 0, has[pairs.partner], np.nan)


def _warn(keys: pd.DataFrame, areas: list[RocArea], columns: dict[str, Any], tied: np.ndarray) -> None:
    """Warn of groups without an area and of groups whose area has no variance, each with why."""
    estimate, variance = (np.array([area[i] for area in areas]) for i in range(2))
    undefined, by_wilson = np.isnan(estimate), columns["interval"] == "wilson"
    bare = ~undefined & (by_wilson | np.isnan(columns["conf_low"]))
    tied = tied & bare
    separated = bare & np.isin(estimate, (0, 1)) & (columns["term"] == "auroc")
    rest, tested = bare & ~(tied | separated), ~np.isnan(columns["p_value"])
    if undefined.any():
        warn(f"the area is undefined (NaN) where all labels are equal: {named_groups(keys, undefined)}")
    for groups, why in (
        (tied, "all scores are tied, so the area is 0.5 with any labels"),
        (separated, "the score separates the classes completely, so its standard error says nothing"),
        (rest & np.isnan(variance), "the positives, or the negatives, are of one row or unit only"),
        (rest & (variance <= 0), "the estimated variance is not above 0"),
    ):
        for which, instead in (
            (by_wilson, "limits and P value are Wilson's, of as many cases as units have the rarer label"),
            (tested & ~by_wilson, "limits are NaN and p_value is the exact Mann-Whitney one"),
            (~tested, "there are no test and no limits (NaN)"),
        ):
            if (groups & which).any():
                warn(f"{why}; {instead}: {named_groups(keys, groups & which)}")
