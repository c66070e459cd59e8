"""Areas under ROC curves of a score for a 0/1 label, and differences of areas, by group."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from salstats.checks import check_by, check_frame, check_level, check_numeric
from salstats.errors import Message, SalstatsError, Setting, ValueRangeError, warn
from salstats.frames import ColumnCodes, estimates_frame
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS, caution_column_if_any
from salstats.stats.engine.comparisons import (
    MISSING_SIDE,
    fill_missing_keys_from_reference,
    pairs_and_unpaired_rows,
    values_or_nan_at_rows,
)
from salstats.stats.engine.equivalence import lower_or_higher_verdicts
from salstats.stats.engine.few_units import (
    are_both_near_0_or_1,
    are_few_misranked,
    has_few_effective_units_by_estimate,
)
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import group_label, named_groups, row_groups, warn_pooled_methods
from salstats.stats.engine.intervals import RECOMMENDED, Basis, Interval, choose_interval
from salstats.stats.engine.limits import wilson
from salstats.stats.engine.resampling_units import (
    Unit,
    given_and_possible_unit_columns,
    has_units,
    resolve_unit,
)
from salstats.stats.engine.roc import RocArea, exact_p_value_of_separation, roc_area_or_difference
from salstats.stats.engine.score_reasons import (
    by_columns_per_observation_of_absent_finding,
    n_absent_column_if_any,
)
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_compare_in_pairs,
    advice_to_count_left_out_cases,
    warn_and_add_caution_of_incomplete_pairs,
)
from salstats.stats.engine.wide_tables import coded_wide_table


# a list of steps, each taken once; the few branches follow from the options
def auroc(  # noqa: C901
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

    The area is the probability that a positive has a larger score than a negative, ties counting one half;
    0.5 is guessing. A name is that of a column of `data`, or else of a metric.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table. A scores frame repeats `prob` and `label` for every metric and
        method; they are used once for each data set, case, task and group, and must be equal there.
    score : str
        Column or metric of which larger values indicate a positive.
    label : str
        Column or metric of the label: 0 and 1, or False and True.
    by : str or sequence of str, optional
        Grouping columns; by default `task` if there is such a column, and also `method` if `score` or `label`
        is a metric, which differs between methods. `()` pools all rows.
    reference : str, optional
        Method, or column or metric of another score, to compare with on the same cases. The result is then
        the difference of areas, method - reference or score - reference.
    unit : str or list of str, optional
        Columns that name the independent units; by default patients or else cases, see `summarize`.
    interval : {"recommended", "logit", "cr2", "delong", "obuchowski"}, optional
        For an area, `logit` is recommended and the default: estimate ± quantile × std_error on the scale of
        log odds. If there is no variance, the default gives Wilson's limits instead. For a difference of
        areas, `cr2` is recommended and the default, which is the same without a change of scale. Both keep
        the rows of a unit together. `delong` and `obuchowski` are on the scale of the area: `delong` treats
        rows as independent, `obuchowski` treats units as independent and has Obuchowski's variance. They are
        the same if every unit has one row.
    level : float
        Confidence level.
    overall : bool
        Add the area of all tasks pooled, in which `task` is "Overall"; `task` must be in `by`.
    adjust : str
        Procedure of `adjust` that adjusts the P values of all rows as one family; the row "Overall" is a
        family of its own.

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then

        method, reference
            Only with `reference`: the method, or the name of the score, and what it is compared with.
        term, estimate
            "auroc" and the area, or "auroc_difference" and the difference. NaN, with a warning, if all labels
            of a group are equal.
        std_error
            Square root of the variance. NaN if only one row (or unit) is positive, or only one negative, or
            if Obuchowski's estimate of the variance is below 0.
        statistic, df, p_value, p_adjusted
            Two-sided test of an area of 0.5, or of equal areas, on the scale of the limits; the limits
            exclude that value exactly if the P value is below 1 - level. It is a t test with Welch's degrees
            of freedom (`obuchowski`: the number of units with a positive, or with a negative if those are
            fewer, less 1), and a z test (`df` NaN) with Wilson's limits, with `delong`, and with `obuchowski`
            if every unit has one row. NaN if there are no limits. If an interval is asked for by name and
            independent rows are separated completely, `p_value` is that of the exact Mann-Whitney test, 2 /
            C(n, n_positive). `p_adjusted`, with `n_tests` and `procedure` as last columns, only with
            `adjust`.
        conf_low, conf_high, conf_level, interval
            Limits by `interval`; those of an area by `delong` and `obuchowski` are cut off at 0 and 1, as in
            pROC. By default, `interval` is "wilson" if `std_error` is 0 or NaN or the area is 0 or 1:
            Wilson's limits of a proportion of as many cases as units have the rarer label. In these rows
            limits are NaN if an interval is asked for by name, or with `reference`.
        unit, n, n_missing, n_absent, n_units
            The rows that are used, which have a score and a label (and a reference score), the other rows of
            the group, those of them that lack a metric because the finding is absent (if there are any), and
            the units of the rows used. `unit` and `n_units` are left out if no column names units.
        inference_to
            "these readers" or "these trainings" if the rows are of several, to which inference is limited.
        caution
            If a row has one: "few events" if areas are so near 0 or 1 that the number of units with the rarer
            label, times the share of pairs in the wrong order, is below 0.75 (below 1.25 for both of two
            areas); "few units" if the units are worth fewer than four of equal size; "different cases" or
            "incomplete pairs" if one of the methods compared lacks many cases that others have.
        n_shared
            If methods have rows of different cases: the number of cases that all methods have.
        predictor, response, n_positive, n_negative
            The names of the score and the label, and the numbers of rows with label 1 and 0.
        method_area, reference_area, verdict
            Only with `reference`: both areas, and the verdict on the method's area, "lower", "higher", or
            "inconclusive" if the limits do not exclude 0.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        A name is neither a column nor a metric, or is not numeric; a case of a scores frame has two values of
        `score` or `label` in a group; a label is neither 0 nor 1, or differs between the method and the
        reference; an option is unknown.

    Warns
    -----
    SalstatsWarning
        A group has one class only, is separated completely, or has only ties; its positives, or its
        negatives, belong to one unit; its variance is not above 0; `interval="delong"` although units have
        several rows; methods are taken together, or have scores of different cases.

    Notes
    -----
    Formulas are those of `salstats.stats.engine.roc.roc_area_or_difference`. Results were checked against
    R's pROC (DeLong; `roc.test` of two paired curves) and against the worked example of Obuchowski (1997),
    whose normal quantile is replaced by that of t.

    Default 95 % limits held in 92 to 99 % of simulated studies of 30 units and in 94 to 96 % of studies of
    100; those of `delong` in 62 to 93 % of the studies of 30 (`datasets.load_coverage`). Limits of
    differences of two areas held in 94 to 100 % and in 95 to 96 %.

    Wilson's limits are those of a proportion of as many independent cases: at an area of 1, they are .44 to 1
    with three positives and .84 to 1 with 20.

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
    frame = check_frame(data, "data")
    term = "auroc" if reference is None else "auroc_difference"
    interval_record = choose_interval(interval, term)
    checked_procedure(adjust, "adjust")
    level = check_level(level)
    wide = labelled_table(frame, score, label, reference, by, unit)
    table = wide.codes.frame
    scores = wide.scores
    labels = wide.labels
    units = None
    unit_codes: NDArray[np.integer] = np.arange(len(table))
    if has_units(table, unit):
        units = resolve_unit(wide.codes, unit, "data")
        unit_codes = units.codes
    complete = ~(np.isnan(scores) | np.isnan(labels))
    if wide.reference_scores is not None:
        complete &= ~np.isnan(wide.reference_scores)
    keys, all_rows_of_groups = row_groups(wide.codes, wide.groups, overall=overall)
    rows_of_groups = [rows[complete[rows]] for rows in all_rows_of_groups]
    units_of_groups = [unit_codes[rows] for rows in rows_of_groups]
    n = np.array([len(rows) for rows in rows_of_groups])
    n_units = np.array([len(np.unique(group_units)) for group_units in units_of_groups])
    areas = _group_areas_or_differences_with_variances(
        scores, labels == 1, wide.reference_scores, rows_of_groups, units_of_groups, interval_record.name
    )
    is_default = interval is None or interval == RECOMMENDED
    columns = _area_columns(
        areas,
        n_units == n,
        interval_record,
        term,
        level,
        falls_back_on_wilson=is_default and reference is None,
    )
    has_tied_scores_only = np.zeros(len(keys), dtype=bool)
    if wide.reference_scores is None:
        has_tied_scores_only = _has_tied_scores_only(scores, rows_of_groups)
    _warn_of_undefined_areas_and_tests(keys, areas, columns, has_tied_scores_only)
    if interval_record.name == "delong":
        _warn_of_dependent_rows(keys, n, n_units, recommended_interval=choose_interval(None, term).name)

    columns |= {"n": n, "n_missing": np.array([len(rows) for rows in all_rows_of_groups]) - n}
    if wide.names_metrics and wide.reference_scores is None:
        columns |= n_absent_column_if_any(
            keys, by_columns_per_observation_of_absent_finding(frame, [score, label], wide.groups), frame
        )
    columns |= inference_to_column_if_any(table, None if units is None else units.codes, keys)
    if units is not None:
        columns |= {"unit": units.name, "n_units": n_units}
    cautions = {
        FEW_UNITS: has_few_effective_units_by_estimate(units_of_groups),
        FEW_EVENTS: _has_few_misranked_pairs_in_all_areas(areas, is_difference=reference is not None),
    }
    columns |= caution_column_if_any(cautions)
    special_columns: dict[str, Any] = {
        "predictor": score,
        "response": label,
        "n_positive": areas["n_positive"].to_numpy(),
        "n_negative": areas["n_negative"].to_numpy(),
    }
    if reference is not None:
        if "method" not in keys:
            keys = keys.assign(method=score)
        keys = keys.assign(reference=reference)
        special_columns |= _both_areas_and_verdict_columns(areas, columns)
    result = estimates_frame(keys, columns, special_columns)

    if wide.reference_scores is None:
        arguments = f"data, {score!r}, {label!r}"
        result = add_n_shared_by_methods_and_cautions(
            result,
            wide.codes,
            wide.groups,
            lambda: advice_to_compare_in_pairs(frame, "auroc", arguments),
            complete,
        )
    elif "method" in wide.groups:
        one_sided = _one_sided_pairs_with_missing_side(
            table[wide.groups], scores, wide.reference_scores, labels
        )
        result = warn_and_add_caution_of_incomplete_pairs(
            result, one_sided, table, advice_to_count_left_out_cases(str(reference))
        )
    return adjust_unless_none(result, adjust)


class LabelledTable(NamedTuple):
    """Table with a row per case and group, and a column per variable."""

    #: The table, with its columns as codes.
    codes: ColumnCodes
    #: Grouping columns.
    groups: list[str]
    #: Scores and labels, which are 0, 1 or NaN; shape (n_rows,).
    scores: np.ndarray
    labels: np.ndarray
    #: Scores to compare with, shape (n_rows,); None without a reference.
    reference_scores: np.ndarray | None
    #: True if some variable was a metric of a scores frame, False if all were columns.
    names_metrics: bool


def labelled_table(
    frame: pd.DataFrame,
    score: str,
    label: str,
    reference: str | None,
    by: str | Sequence[str] | None,
    unit: Unit,
) -> LabelledTable:
    """Return the table of a score, a label and a reference, which is a method or another score.

    It raises for a label other than 0 and 1, or one that differs between a method and the reference, and
    warns where rows of several methods are taken together.
    """
    reference_is_method = False
    if reference is not None and "method" in frame:
        reference_is_method = bool((frame["method"] == reference).any())
    reference_is_score = reference is not None and not reference_is_method
    variables = [score, label]
    if reference_is_score:
        variables.append(str(reference))
    names_metrics = not set(variables) <= set(frame.columns)
    default_groups = ("method", "task") if names_metrics else ("task",)
    groups = check_by(frame, by, default_groups, "data")
    if reference_is_method:
        groups = [*(column for column in groups if column != "method"), "method"]
    codes = coded_wide_table(frame, variables, [*groups, *given_and_possible_unit_columns(frame, unit)])
    reference_scores = None
    if reference_is_method:
        codes, reference_scores = _rows_paired_with_reference(codes, score, label, str(reference))
    elif reference_is_score:
        reference_scores = check_numeric(codes.frame, str(reference), "data")
    warn_pooled_methods(codes.frame, groups)
    scores = check_numeric(codes.frame, score, "data")
    labels = check_numeric(codes.frame, label, "data")
    _check_labels_are_0_1_or_nan(labels, label)
    return LabelledTable(codes, groups, scores, labels, reference_scores, names_metrics)


def _group_areas_or_differences_with_variances(
    scores: np.ndarray,
    is_positive: NDArray[np.bool_],
    reference_scores: np.ndarray | None,
    rows_of_groups: Sequence[NDArray[np.integer]],
    units_of_groups: Sequence[NDArray[np.integer]],
    interval: str,
) -> pd.DataFrame:
    """Return the area of each group, or its difference from the reference's, with variance, df and counts.

    The frame has a row per group and the columns of `RocArea`. The scores and `is_positive` cover all rows
    of the table; `rows_of_groups` holds the rows of each group, `units_of_groups` their units.
    """
    areas = []
    for rows, units in zip(rows_of_groups, units_of_groups, strict=True):
        clusters = None
        if interval != "delong":
            # DeLong's variance treats rows as independent, the others keep a unit's rows together.
            clusters = units
        group_reference = None
        if reference_scores is not None:
            group_reference = reference_scores[rows]
        area = roc_area_or_difference(
            scores[rows],
            is_positive[rows],
            clusters,
            reference=group_reference,
            obuchowski=interval in ("delong", "obuchowski"),
        )
        areas.append(area)
    return pd.DataFrame(areas, columns=list(RocArea._fields))


def _has_tied_scores_only(
    scores: np.ndarray, rows_of_groups: Sequence[NDArray[np.integer]]
) -> NDArray[np.bool_]:
    """Return True for groups whose scores are all equal, shape (n_groups,); False without rows."""
    return np.array([len(rows) > 0 and np.ptp(scores[rows]) == 0 for rows in rows_of_groups])


def _has_few_misranked_pairs_in_all_areas(areas: pd.DataFrame, *, is_difference: bool) -> NDArray[np.bool_]:
    """Return True for groups with so few misranked pairs that limits are rough, shape (n_groups,).

    `areas` has a row per group and the columns of `RocArea`.
    """
    estimate = areas["estimate"].to_numpy()
    n_rarer = areas["n_rarer"].to_numpy()
    if not is_difference:
        return are_few_misranked(estimate, n_rarer)
    reference_area = areas["reference_area"].to_numpy()
    return are_both_near_0_or_1(estimate + reference_area, reference_area, n_rarer)


def _both_areas_and_verdict_columns(areas: pd.DataFrame, columns: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the columns `method_area`, `reference_area` and `verdict` of differences of areas.

    `areas` has a row per group and the columns of `RocArea`; `columns` holds the limits.
    """
    difference = areas["estimate"].to_numpy()
    reference_area = areas["reference_area"].to_numpy()
    excludes_zero = (columns["conf_low"] > 0) | (columns["conf_high"] < 0)
    return {
        "method_area": difference + reference_area,
        "reference_area": reference_area,
        "verdict": lower_or_higher_verdicts(difference, excludes_zero),
    }


def _one_sided_pairs_with_missing_side(
    pair_keys: pd.DataFrame, scores: np.ndarray, reference_scores: np.ndarray, labels: np.ndarray
) -> pd.DataFrame:
    """Return the keys of labelled pairs with only one of their two scores, and the side without a score.

    `pair_keys` holds the grouping columns of each pair. Pairs without a label enter no area and are left out.
    """
    lacks_one_score = np.isnan(scores) != np.isnan(reference_scores)
    missing_side = np.where(np.isnan(scores), "method", "reference")
    pairs = pair_keys.assign(**{MISSING_SIDE: missing_side})
    one_sided: pd.DataFrame = pairs.loc[~np.isnan(labels) & lacks_one_score]
    return one_sided


def _area_columns(
    areas: pd.DataFrame,
    is_independent: NDArray[np.bool_],
    interval_record: Interval,
    term: str,
    level: float,
    *,
    falls_back_on_wilson: bool,
) -> dict[str, Any]:
    """Return the columns of estimates, tests and limits.

    `areas` has a row per group and the columns of `RocArea`; `is_independent` (n_groups,) marks groups with
    one row per unit. With `falls_back_on_wilson` areas without a variance get Wilson's limits, as if the
    area were a proportion of as many cases as units have the rarer label (`n_rarer`).
    """
    estimate = areas["estimate"].to_numpy(dtype=np.float64)
    variance = areas["variance"].to_numpy(dtype=np.float64)
    df = areas["df"].to_numpy(dtype=np.float64)
    n_positive = areas["n_positive"].to_numpy(dtype=np.float64)
    n_negative = areas["n_negative"].to_numpy(dtype=np.float64)
    n_rarer = areas["n_rarer"].to_numpy(dtype=np.float64)
    # Obuchowski's variance may be negative.
    std_error = np.sqrt(np.where(variance < 0, np.nan, variance))
    if interval_record.name == "delong":
        df = np.full(len(areas), np.nan)
    elif interval_record.name == "obuchowski":
        df = np.where(is_independent, np.nan, df)
    basis = Basis(term, level, estimate, np.where(std_error > 0, std_error, np.nan), df)
    low, high, *_ = interval_record.limits(basis)
    is_area = term == "auroc"
    # The null hypothesis is an area of 1/2, whose logit is 0, or a difference of 0.
    null_value = 0.5 if is_area else 0.0
    deviation = estimate - null_value
    deviation_error = basis.std_error
    if interval_record.scale == "logit":
        # By the delta method the standard error of logit(A) is se / (A (1 - A)); an area of 0 or 1 has none.
        deviation = special.logit(estimate)
        deviation_error = deviation_error / (estimate * (1 - estimate))
    statistic = deviation / deviation_error
    interval_names = np.full(len(areas), interval_record.name, dtype=object)
    has_no_limits = ~np.isnan(estimate) & np.isnan(low)
    if falls_back_on_wilson:
        wilson_low, wilson_high = wilson(estimate, n_rarer, level)
        low = np.where(has_no_limits, wilson_low, low)
        high = np.where(has_no_limits, wilson_high, high)
        # The score test of a proportion of 1/2: (p - 1/2) / sqrt(1/4 / n).
        wilson_statistic = 2 * (estimate - 0.5) * np.sqrt(n_rarer)
        statistic = np.where(has_no_limits, wilson_statistic, statistic)
        df = np.where(has_no_limits, np.nan, df)
        interval_names[has_no_limits] = "wilson"
    df = np.where(np.isnan(statistic), np.nan, df)
    # Student's t with infinite degrees of freedom is normal.
    p_value = 2 * special.stdtr(np.where(np.isnan(df), np.inf, df), -np.abs(statistic))
    if is_area and not falls_back_on_wilson:
        is_separated = has_no_limits & is_independent & np.isin(estimate, (0, 1))
        p_value[is_separated] = exact_p_value_of_separation(
            n_positive[is_separated], n_negative[is_separated]
        )
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
        "interval": interval_names,
    }


def _check_labels_are_0_1_or_nan(labels: np.ndarray, name: str) -> None:
    """Raise ValueRangeError where a label is neither 0, 1 nor missing."""
    is_valid = np.isnan(labels) | (labels == 0) | (labels == 1)
    invalid_rows = np.flatnonzero(~is_valid)
    if len(invalid_rows):
        raise ValueRangeError(
            f"column {name!r} must hold 0 and 1, not {labels[invalid_rows[0]]:g}",
            hint="if larger means positive, make it 0/1 first",
            column=name,
            rows=invalid_rows.tolist(),
        )


class _PairedRows(NamedTuple):
    """Rows of every method but the reference, with the reference's scores."""

    #: Table of the rows, with its columns as codes.
    codes: ColumnCodes
    #: (n_rows,): Score of the reference for each row, NaN where it has none.
    reference_scores: np.ndarray


def _rows_paired_with_reference(codes: ColumnCodes, score: str, label: str, reference: str) -> _PairedRows:
    """Pair the rows of every method with those of the reference.

    The rows have the label of the method, or that of the reference where the method has no row.
    """
    pairs = pairs_and_unpaired_rows(codes, reference)
    frame = codes.frame
    table = fill_missing_keys_from_reference(
        frame.iloc[pairs.rows_with_pair_keys].reset_index(drop=True), frame, pairs.reference_rows
    )
    table["method"] = frame["method"].array.take(pairs.method_name_rows)
    scores = check_numeric(frame, score, "data")
    labels = check_numeric(frame, label, "data")
    method_labels = values_or_nan_at_rows(labels, pairs.method_rows)
    reference_labels = values_or_nan_at_rows(labels, pairs.reference_rows)
    contradictory_rows = np.flatnonzero(np.abs(method_labels - reference_labels) > 0)
    if len(contradictory_rows):
        method = table["method"].iloc[contradictory_rows[0]]
        raise SalstatsError(
            f"the label {label!r} is not the same for {method} and {reference}, so "
            "their areas are not of the same cases",
            hint="name a label of the case",
            option="label",
            value=label,
            column=label,
        )
    table[score] = values_or_nan_at_rows(scores, pairs.method_rows)
    table[label] = np.where(np.isnan(method_labels), reference_labels, method_labels)
    reference_scores = values_or_nan_at_rows(scores, pairs.reference_rows)
    return _PairedRows(ColumnCodes(table), reference_scores)


def _warn_of_dependent_rows(
    keys: pd.DataFrame, n: np.ndarray, n_units: np.ndarray, recommended_interval: str
) -> None:
    """Warn where `interval="delong"` treats several rows of a unit as independent.

    `n` and `n_units` (n_groups,) are the numbers of rows and units; `recommended_interval` names the interval
    that keeps a unit's rows together.
    """
    if not (n > n_units).any():
        return
    worst = int(np.argmax(n / np.maximum(n_units, 1)))
    warn(
        Setting("interval", "delong"),
        " treats rows as independent, but ",
        group_label(keys, worst),
        f" has {n[worst]} rows of {n_units[worst]} units",
        hint=Message(
            Setting("interval", recommended_interval), " gives limits that keep a unit's rows together"
        ),
    )


def _warn_of_undefined_areas_and_tests(
    keys: pd.DataFrame, areas: pd.DataFrame, columns: dict[str, Any], has_tied_scores_only: NDArray[np.bool_]
) -> None:
    """Warn of groups without an area and of groups whose area has no variance, each with the reason."""
    estimate = areas["estimate"].to_numpy(dtype=np.float64)
    variance = areas["variance"].to_numpy(dtype=np.float64)
    is_undefined = np.isnan(estimate)
    if is_undefined.any():
        warn(
            "the area is undefined (NaN) where all labels are equal: ",
            named_groups(keys, is_undefined),
            column="n_positive",
            rows=np.flatnonzero(is_undefined).tolist(),
        )
    has_wilson = columns["interval"] == "wilson"
    has_test = ~np.isnan(columns["p_value"])
    has_no_variance = ~is_undefined & (has_wilson | np.isnan(columns["conf_low"]))
    has_tied_scores_only = has_tied_scores_only & has_no_variance
    is_separated = has_no_variance & np.isin(estimate, (0, 1)) & (columns["term"] == "auroc")
    is_unexplained = has_no_variance & ~(has_tied_scores_only | is_separated)
    reasons = [
        (has_tied_scores_only, "predictor", "all scores are tied, so the area is 0.5 with any labels"),
        (
            is_separated,
            "estimate",
            "the score separates the classes completely, so its standard error is meaningless",
        ),
        (
            is_unexplained & np.isnan(variance),
            "n_units",
            "the positives, or the negatives, belong to one row or unit only",
        ),
        (is_unexplained & (variance <= 0), "std_error", "the estimated variance is not above 0"),
    ]
    consequences = [
        (has_wilson, "limits and P value are Wilson's, of as many cases as units have the rarer label"),
        (has_test & ~has_wilson, "limits are NaN and p_value is that of the exact Mann-Whitney test"),
        (~has_test, "there is no test and there are no limits (NaN)"),
    ]
    for has_reason, column, reason in reasons:
        for has_consequence, consequence in consequences:
            concerned = has_reason & has_consequence
            if concerned.any():
                warn(
                    f"{reason}; {consequence}: ",
                    named_groups(keys, concerned),
                    column=column,
                    rows=np.flatnonzero(concerned).tolist(),
                )
