"""Correlation of two columns or metrics, by group, with tests and limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from salstats.checks import check_choice, check_level, quoted
from salstats.errors import ColumnValue, Message, Setting, ValueRangeError, warn
from salstats.frames import estimates_frame
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS, POOLED_TASKS, caution_column_if_any
from salstats.stats.engine.coefficients import (
    RECORDS,
    TESTS,
    Coefficient,
    fisher_limits,
    fisher_z_std_error,
    pooled_correlation_and_heterogeneity_test,
)
from salstats.stats.engine.correlated_pairs import (
    ROBUST_TESTS,
    CorrelatedPairs,
    check_rm_has_repeats,
    checked_covariates,
)
from salstats.stats.engine.cr2 import cr2
from salstats.stats.engine.few_units import (
    are_few_events,
    count_units_with_rarer_value,
    has_few_effective_units_by_estimate,
)
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import (
    group_label,
    joined_group_labels,
    row_groups,
    warn_pooled_by_default,
    warn_pooled_methods,
)
from salstats.stats.engine.intervals import choose_interval, interval_names
from salstats.stats.engine.resampling_units import (
    Unit,
    Units,
    given_and_possible_unit_columns,
    has_units,
    resolve_unit,
)
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.stats.engine.score_reasons import (
    by_columns_per_observation_of_absent_finding,
    human_label_column_if_one_label,
    n_absent_column_if_any,
)
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_keep_shared_cases,
)
from salstats.stats.engine.wide_tables import correlation_table

#: Fewest units from which a variance between units is estimated.
_FEWEST_UNITS = 4


def correlate(
    data: pd.DataFrame,
    x: str,
    y: str,
    *,
    by: str | Sequence[str] | None = None,
    test: str = "spearman",
    interval: str | None = None,
    level: float = 0.95,
    stratified: str | None = None,
    overall: bool = False,
    adjust: str = "none",
    unit: Unit = None,
    covariates: str | Sequence[str] | None = None,
    covariates_of: str = "both",
) -> pd.DataFrame:
    """Correlation of `x` and `y` in each group.

    A name is that of a column of `data`, or else of a metric: `correlate(scores, "iou", "prob")` shows
    whether localisation is better where the model is more confident, `correlate(scores, "iou", "dice")` how
    closely two metrics agree.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table. Rows of a scores frame are paired by data set, case, task, method,
        reader, model and seed; a covariate such as `prob` that is repeated for every metric is used once.
    x, y : str
        The two columns or metrics.
    by : str or sequence of str, optional
        Grouping columns; by default `method` if there is such a column. `()` correlates all rows together.
    test : {"spearman", "pearson", "kendall", "rm", "percbend", "bicor"}
        Correlation coefficient; Kendall's is tau-b. `rm` is the repeated-measures correlation, within units:
        whether both variables change together within a patient, whatever the patients' levels. `percbend`
        (percentage bend) and `bicor` (biweight midcorrelation) are robust to outlying values.
    interval : {"recommended", "cr2", "fisher", "bonett-wright", "fieller"}, optional
        Standard error on Fisher's z scale, see Notes. `cr2`, which is recommended and the default, is
        clustered by `unit`, and so is its test. The others treat rows as independent (for `rm`, the
        deviations from the units' means): Spearman has all three, Kendall has `fieller`, the others have
        `fisher`. Other combinations raise an error.
    level : float
        Confidence level.
    stratified : str, optional
        A column such as `task`: correlate within each of its values, and combine the correlations on Fisher's
        z scale.
    overall : bool
        Add the correlation of all tasks pooled, in which `task` is "Overall"; `task` must be in `by`.
    adjust : str
        Procedure of `adjust` that adjusts the P values of all rows as one family; the row "Overall" is a
        family of its own.
    unit : str or list of str, optional
        Columns that name the independent units, within which `rm` correlates; by default patients or else
        cases, see `summarize`.
    covariates : str or list of str, optional
        Columns or metrics to adjust for (partial correlation), with Spearman's and Pearson's coefficient.
    covariates_of : {"both", "x", "y"}
        Variables that are adjusted for the covariates: both (partial correlation), or only `x` or `y`
        (semi-partial correlation).

    Returns
    -------
    DataFrame
        The grouping columns, sorted, then

        term, estimate
            The name of `test`, and the correlation. It is NaN, with a warning, if `x` or `y` is constant
            (`rm`: within every unit; `percbend`, `bicor`: in four fifths or half of the values), if
            covariates are collinear or determine `x` or `y`, or with fewer than 3 complete pairs (one more
            for each covariate, and with `rm` for each unit but one).
        statistic, df, p_value, p_adjusted
            Two-sided test of no correlation. With `cr2` it is Student's t test of Fisher's z over its
            standard error, and the P value is below 1 - level exactly if the limits exclude 0. With the other
            intervals it is a t test with n - 2 degrees of freedom (n - 2 - k with k covariates, n - units - 1
            with `rm`), and a z test (`df` NaN) for Kendall and for stratified correlations. At a correlation
            of -1 or 1 there is no statistic; `p_value` is that of the exact permutation test for Spearman and
            Kendall, else NaN. `p_adjusted`, with `n_tests` and `procedure` as last columns, only with
            `adjust`.
        conf_low, conf_high, conf_level, interval
            Limits, and the name of their standard error. NaN at a correlation of -1 or 1, with 3 pairs or
            fewer (4 for Kendall), and with `cr2` and fewer than 4 units, which then has no test either.
        unit, n, n_missing, n_units
            The pairs that are used, the other rows of the group, and the units of the pairs. Pairs are used
            if they are complete and, with `stratified`, in a stratum that has a correlation; with `rm` `n`
            includes the pair of a unit that has only one, which does not affect the correlation. `n_absent`,
            if there are any, counts the rows of `n_missing` that lack a score because the finding is absent.
            `unit` and `n_units` are left out if there is no column `case` or `patient` and no `unit` is
            given.
        inference_to
            "these readers" or "these trainings" if the pairs are of several, to which inference is limited.
        caution
            If a row has one: "few events" if a variable has two values and fewer than ten units have the
            rarer one; "few units" if the units are worth fewer than four of equal size; "tasks taken
            together" if several tasks, data sets or models are correlated together by default; "different
            cases" if a method lacks many cases that others have.
        n_shared
            If methods have pairs of different cases: the number of cases that all methods have.
        x, y
            The names of the two variables.
        covariates, covariates_of
            Only with `covariates`: their names, separated by commas, and the variables adjusted for them.
        stratum, n_strata, q, q_df, q_p_value
            Only with `stratified`: the column, the number of its values that have a correlation, and
            Cochran's Q test that their correlations are equal.

    Raises
    ------
    ColumnError, ValueRangeError
        A name is neither a column nor a metric, or is not numeric; `x`, `y` and the covariates are not
        distinct; `stratified` is also in `by`; an option is unknown; the coefficient does not have this
        interval, or takes no covariates; `rm` without units, or without a unit of two complete pairs.

    Warns
    -----
    SalstatsWarning
        `by` is not given and a group holds several tasks, data sets or models, whose differences then enter
        the correlation; a group has no correlation, one of -1 or 1, or too few units for `cr2`; a stratum is
        left out, because it has no correlation, one of -1 or 1, or too few pairs for a standard error;
        several rows of a group are of one unit and `interval` treats them as independent; a numeric column
        holds labels by its name, such as `site`.

    Notes
    -----
    Limits are tanh(atanh(r) ± q s), with the standard error s of `interval`:

    ========  =============  ==========================
    any       cr2            see below
    Pearson   fisher         1 / sqrt(n - 3)
    Spearman  fisher         1 / sqrt(n - 3)
    Spearman  bonett-wright  sqrt((1 + r²/2) / (n - 3))
    Spearman  fieller        sqrt(1.06 / (n - 3))
    Kendall   fieller        sqrt(0.437 / (n - 4))
    others    fisher         1 / sqrt(n - 3)
    ========  =============  ==========================

    Here n is reduced by 1 for each covariate, and with `rm` for each unit but one. The quantile q is that of
    the normal distribution, except with `cr2`.

    **CR2.** The standard error `cr2` is the bias-reduced cluster-robust one (CR2) of the mean of the
    correlation's influence function (Croux and Dehon 2010), and q is Student's. The degrees of freedom are
    Satterthwaite's, which are few if there are a few large units, or those that follow from the kurtosis of
    the units' influences (Valliant and Rust 2010), which are few if hits are rare, whichever are fewer. The
    standard error is at least that of independent rows (Pearson's `fisher`, Spearman's `bonett-wright`,
    Kendall's `fieller`), because with a few hits or misses the influences may vary too little by chance. If
    every row is a unit of its own, q s is at least that with the normal quantile, and `df` is NaN if it is
    exactly that.

    With covariates the influence is that on the correlation of residuals, including the effect of a row on
    the ranks of others; with `rm` it is that on the correlation of deviations from the units' means. For
    `percbend` and `bicor` it is the change when a unit is left out, because their influence functions contain
    densities at medians and quantiles, which tied scores do not have; this takes one correlation per unit.

    **Coefficients.** The square of `rm` is the share of the sum of squares within units that a common slope
    explains; its sign is that of the slope. `fisher` with `rm` is R's `rmcorr`, which assumes the same slope
    in all units: with 30 units of 2 to 8 rows its 95 % limits held in 96 % of simulated studies with equal
    slopes and in 86 % if slopes varied, those of `cr2` in 96 to 97 %. Estimates of `percbend` and `bicor` are
    pingouin's with its defaults (beta 0.2, c 9). Correlations with covariates are those of residuals; they
    equal pingouin's `partial_corr`, except that it gives a different number if one variable is the sum of
    others. Limits and P values are our own, as pingouin rounds its limits and has P = 0 if r is within 5e-6
    of 1 or -1. Results were checked against R's rmcorr, ppcor and WRS2.

    **Coverage.** Default 95 % limits held in 92 to 99 % of simulated studies of 30 units and in 94 to 99 % of
    studies of 100; those of `fisher`, which treats rows as independent, in 42 to 97 % of the studies of 30
    (`datasets.load_coverage`). Default limits of `percbend` and `bicor` held in 94 to 98 % of studies of 20
    to 100 units, those of partial and semi-partial correlations in 92 to 99 %, least often for very skewed
    variables with Pearson's coefficient; those of `fisher` with `percbend`, for dependent rows, in 78 to 85
    %.

    **Sources.** Kendall's standard error is from Fieller et al. (1957); Bonett and Wright (2000) give the
    same. `fisher` with Spearman is what the field prints, and somewhat too narrow. The P value of Spearman is
    the t approximation at every n, as in SciPy; R's `cor.test` uses exact or Edgeworth tables if there are no
    ties. Results were checked against R's `cor.test(exact = FALSE)`, whose Kendall P value is this one.

    **Strata** are combined with weights 1 / s²; with `cr2` these are n - 3 (Kendall n - 4). The variance of
    the combined z is 1 / (sum of weights), as strata are independent; with `cr2` the influences of a unit are
    summed over its strata, so that units may be in several.

    **Perfect correlations.** At -1 or 1 these approximations have no variance left and would give P = 0 from
    three pairs. The P value is then twice the share of the n! pairings that reach the correlation: 2 / n!
    without ties (1/3 for 3 pairs, 1/12 for 4), as R's `exact=TRUE`. From 8 pairs on it is larger than that of
    the t approximation for a correlation just below 1.

    References
    ----------
    Bakdash JZ, Marusich LR. Repeated measures correlation. Front Psychol 2017;8:456.
    https://doi.org/10.3389/fpsyg.2017.00456

    Bonett DG, Wright TA. Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations. Psychometrika 2000;65:23-28. https://doi.org/10.1007/BF02294183

    Croux C, Dehon C. Influence functions of the Spearman and Kendall correlation measures. Stat Methods Appl
    2010;19:497-515. https://doi.org/10.1007/s10260-010-0142-z

    Fieller EC, Hartley HO, Pearson ES. Tests for rank correlation coefficients. Biometrika
    1957;44:470-481. https://doi.org/10.1093/biomet/44.3-4.470

    Langfelder P, Horvath S. Fast R functions for robust correlations and hierarchical clustering. J Stat
    Softw 2012;46(11). https://doi.org/10.18637/jss.v046.i11

    Vallat R. Pingouin: statistics in Python. J Open Source Softw 2018;3:1026.
    https://doi.org/10.21105/joss.01026

    Valliant R, Rust KF. Degrees of freedom approximations and rules-of-thumb. J Official Statistics
    2010;26:585-602.

    Wilcox RR. The percentage bend correlation coefficient. Psychometrika 1994;59:601-616.
    https://doi.org/10.1007/BF02294395

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"size": [1.0, 2, 3, 4, 5, 6], "iou": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6]})
    >>> result = ss.correlate(table, "iou", "size")
    >>> result[["term", "estimate", "p_value", "conf_low", "conf_high", "n"]].round(4)
           term  estimate  p_value  conf_low  conf_high  n
    0  spearman    0.8857   0.0396    0.0664     0.9916  6

    The correlation within patients, and the one adjusted for another variable:

    >>> scores = ss.datasets.load_simulated().query("method == 'gradcam'")
    >>> within = ss.correlate(scores, "iou", "prob", test="rm", unit="patient", stratified="task")
    >>> partial = ss.correlate(scores, "iou", "prob", covariates="elongation", stratified="task")
    >>> partial[["term", "covariates", "covariates_of", "interval"]]
           term  covariates covariates_of interval
    0  spearman  elongation          both      cr2
    """
    check_choice(test, TESTS, "test")
    # The choices of Spearman's correlation are those of all tests together.
    interval = choose_interval(interval, "spearman").name
    if interval not in interval_names(test):
        raise ValueRangeError(
            Setting("interval", interval),
            " is not for ",
            Setting("test", test),
            hint=f"choose from {quoted(interval_names(test))}",
            choices=interval_names(test),
        )
    covariate_names = checked_covariates(test, x, y, covariates, covariates_of)
    checked_procedure(adjust, "adjust")
    check_level(level)
    variables = correlation_table(data, x, y, by, stratified, unit, covariate_names)
    codes = variables.codes
    groups = variables.groups
    warn_pooled_methods(codes.frame, groups)
    units = None
    unit_codes: NDArray[np.integer] = np.arange(len(codes.frame))
    if has_units(codes.frame, unit):
        units = resolve_unit(codes, unit, "data")
        unit_codes = units.codes
    sample = CorrelatedPairs(
        test=test,
        x_name=x,
        y_name=y,
        covariate_names=covariate_names,
        covariates_of=covariates_of,
        x=variables.x,
        y=variables.y,
        covariates=variables.covariates,
        units=unit_codes,
    )
    complete = sample.is_complete_row
    within_unit = unit if test == "rm" else None
    tasks_pooled = warn_pairs_pooled_by_default(
        codes.frame[complete], by, groups, variables.strata, within_unit
    )
    check_rm_has_repeats(test, units, complete)
    keys, rows_of_groups = row_groups(codes, groups, overall=overall)
    stratum_codes = codes.combined(variables.strata)

    correlations = []
    problems = _Problems()
    for group, rows in enumerate(rows_of_groups):
        pairs = rows[complete[rows]]
        label = group_label(keys, group)
        if stratified is None:
            correlation = _correlate_group(sample, pairs, interval, level, group, label, problems)
        else:
            correlation = _correlate_within_strata(
                sample, pairs, stratum_codes, codes.frame[stratified], interval, level, group, label, problems
            )
        lacks_test = np.isnan(correlation.columns["p_value"])
        if interval == "cr2" and correlation.is_testable and lacks_test:
            problems.without_variance.append(label)
            problems.without_variance_rows.append(group)
        correlations.append(correlation)
    has_exact_p = RECORDS[test].ranks and not covariate_names
    problems.warn_of_each_kind(
        f"the correlation of {x!r} and {y!r}",
        has_exact_p=has_exact_p,
        test=test,
        is_stratified=stratified is not None,
    )

    table = pd.DataFrame([correlation.columns for correlation in correlations])
    pairs_of_groups = [correlation.pairs for correlation in correlations]
    n_pairs = np.array([len(pairs) for pairs in pairs_of_groups])
    special_columns: dict[str, object] = {"x": x, "y": y}
    if stratified is not None:
        special_columns["stratum"] = stratified
        special_columns |= {name: table[name].array for name in ("n_strata", "q", "q_df", "q_p_value")}
    if covariate_names:
        special_columns["covariates"] = ", ".join(covariate_names)
        special_columns["covariates_of"] = covariates_of
    special_columns |= human_label_column_if_one_label(data)
    number_names = ("estimate", "statistic", "df", "p_value", "conf_low", "conf_high")
    columns: dict[str, object] = {name: table[name].array for name in number_names}
    columns |= {"term": test, "conf_level": level, "interval": interval, "n": n_pairs}
    columns["n_missing"] = [len(rows) for rows in rows_of_groups] - n_pairs
    columns |= n_absent_column_if_any(
        keys, by_columns_per_observation_of_absent_finding(data, [x, y], groups), data
    )
    columns |= inference_to_column_if_any(codes.frame, None if units is None else units.codes, keys)
    units_of_groups = [unit_codes[pairs] for pairs in pairs_of_groups]
    if units is not None:
        n_units = np.array([len(np.unique(group_units)) for group_units in units_of_groups])
        columns |= {"unit": units.name, "n_units": n_units}
        if interval != "cr2" and test != "rm":
            _warn_of_repeats(keys, n_pairs, n_units, units)
    n_rarer = [_n_rarer_value_units_or_inf(sample, pairs) for pairs in pairs_of_groups]
    cautions = {
        FEW_UNITS: has_few_effective_units_by_estimate(units_of_groups),
        FEW_EVENTS: are_few_events(np.array(n_rarer)),
        POOLED_TASKS: np.full(len(keys), tasks_pooled),
    }
    columns |= caution_column_if_any(cautions)
    result = estimates_frame(keys, columns, special_columns)
    result = add_n_shared_by_methods_and_cautions(
        result, codes, groups, lambda: advice_to_keep_shared_cases(data, (x, y), "data"), complete
    )
    return adjust_unless_none(result, adjust)


def _n_rarer_value_units_or_inf(sample: CorrelatedPairs, rows: NDArray[np.integer]) -> float:
    """Count the units that have the rarer value of a two-valued variable.

    It is the smaller number of both variables, infinite if neither has exactly two values.
    """
    units = sample.units[rows]
    n_rarer_x = count_units_with_rarer_value(sample.x[rows], units)
    n_rarer_y = count_units_with_rarer_value(sample.y[rows], units)
    return min(n_rarer_x, n_rarer_y)


def warn_pairs_pooled_by_default(
    pairs: pd.DataFrame,
    by: object,
    groups: Sequence[str],
    strata: Sequence[str],
    within: Unit = None,
) -> bool:
    """Warn of pairs of several tasks, data sets or models pooled by default; return True if there are any.

    `within` names the units within which pairs are correlated.
    """
    separating_columns = [*strata, *given_and_possible_unit_columns(pairs, within)]
    remedy = "" if strata else "stratified='{first}' to correlate within each"
    return warn_pooled_by_default(pairs, by, groups, separating_columns, remedy)


class _GroupCorrelation(NamedTuple):
    """Correlation of a group, and its pairs."""

    #: Columns of the estimates frame.
    columns: dict[str, float]
    #: Rows of the pairs.
    pairs: NDArray[np.integer]
    #: True if the correlation is between -1 and 1, so that it has a test if units are many enough.
    is_testable: bool


def _correlate_group(
    sample: CorrelatedPairs,
    pairs: NDArray[np.integer],
    interval: str,
    level: float,
    group: int,
    label: Message,
    problems: "_Problems",
) -> _GroupCorrelation:
    """Correlate the complete pairs of a group; add it to the problems if its correlation is not testable."""
    correlations = _correlate_strata(sample, [pairs], interval)
    problems.add_undefined_or_perfect_group(group, label, len(pairs), correlations)
    columns = _unstratified_correlation_columns(sample, correlations, interval, level)
    return _GroupCorrelation(columns, pairs, is_testable=bool(abs(correlations.r[0]) < 1))


def _correlate_within_strata(
    sample: CorrelatedPairs,
    pairs: NDArray[np.integer],
    stratum_codes: NDArray[np.integer],
    strata: pd.Series,
    interval: str,
    level: float,
    group: int,
    label: Message,
    problems: "_Problems",
) -> _GroupCorrelation:
    """Correlate the complete pairs of a group within strata, and combine the correlations.

    `stratum_codes` (n_rows,) and `strata` are the stratum of each row of the table. Strata without a usable
    correlation are left out and added to the problems.
    """
    codes_of_pairs = stratum_codes[pairs]
    pairs_of_strata = [pairs[codes_of_pairs == code] for code in np.unique(codes_of_pairs)]
    correlations = _correlate_strata(sample, pairs_of_strata, interval)
    for i in np.flatnonzero(~correlations.is_usable):
        value = strata.iloc[pairs_of_strata[i][0]]
        reason, column_at_fault = correlations.reasons[i]
        stratum_label = Message(label, ", ", ColumnValue(str(strata.name), value))
        problems.add_undefined(group, stratum_label, reason, column_at_fault)
    used_strata = [pairs_of_strata[i] for i in np.flatnonzero(correlations.is_usable)]
    # `concatenate` needs an array even if no stratum is used.
    used_pairs = np.concatenate([pairs[:0], *used_strata])
    columns = _combined_correlation_columns(sample, correlations, interval, level)
    return _GroupCorrelation(columns, used_pairs, is_testable=bool(correlations.is_usable.any()))


class _StrataCorrelations(NamedTuple):
    """Correlation in each stratum of a group; a group without strata is one stratum."""

    #: Rows of the pairs of each stratum that enter its correlation.
    rows: list[NDArray[np.integer]]
    coefficients: list[Coefficient]
    #: Correlations, shape (n_strata,).
    r: np.ndarray
    #: Standard errors on Fisher's z scale, shape (n_strata,).
    std_error: np.ndarray
    #: Why a correlation could not be used, and the column at fault; meaningless where it is usable.
    reasons: list[tuple[str, str | None]]

    @property
    def is_usable(self) -> NDArray[np.bool_]:
        """Mask of the strata whose correlation has a Fisher transform and a standard error."""
        return np.asarray((np.abs(self.r) < 1) & np.isfinite(self.std_error))


def _correlate_strata(
    sample: CorrelatedPairs, pairs_of_strata: list[NDArray[np.integer]], interval: str
) -> _StrataCorrelations:
    """Correlate the complete pairs of each stratum."""
    strata_rows = [sample.rows_of_repeated_units_if_repeated_measures(pairs) for pairs in pairs_of_strata]
    coefficients = [sample.coefficient(rows) for rows in strata_rows]
    r = np.array([coefficient.estimate for coefficient in coefficients])
    n_simple_pairs_of_equal_degrees_of_freedom = np.array(
        [sample.n_simple_pairs_of_equal_degrees_of_freedom(rows) for rows in strata_rows]
    )
    formula = "fisher" if interval == "cr2" else interval
    std_error = fisher_z_std_error(r, n_simple_pairs_of_equal_degrees_of_freedom, sample.test, formula)
    reasons = [
        _reason_and_column_of_unusable_correlation(sample, rows, value)
        for rows, value in zip(strata_rows, r, strict=True)
    ]
    return _StrataCorrelations(strata_rows, coefficients, r, std_error, reasons)


def _unstratified_correlation_columns(
    sample: CorrelatedPairs, correlations: _StrataCorrelations, interval: str, level: float
) -> dict[str, float]:
    """Return the estimate, test and limits of a group without strata, as columns."""
    r = correlations.r
    std_error = correlations.std_error
    columns = correlations.coefficients[0]._asdict()
    columns |= _fisher_limit_columns(r[0], std_error[0], level)
    if interval == "cr2" and abs(r[0]) < 1:
        columns |= _clustered_test_and_limits_columns(sample, correlations.rows, std_error, r, level)
    return columns


def _combined_correlation_columns(
    sample: CorrelatedPairs, correlations: _StrataCorrelations, interval: str, level: float
) -> dict[str, float]:
    """Return the estimate, test, limits and heterogeneity of a group's combined strata, as columns."""
    r = correlations.r[correlations.is_usable]
    std_error = correlations.std_error[correlations.is_usable]
    pooled = pooled_correlation_and_heterogeneity_test(r, std_error)
    z = float(np.arctanh(pooled.estimate) / pooled.std_error)
    columns = {
        "estimate": pooled.estimate,
        "statistic": z,
        "df": np.nan,
        "p_value": float(2 * special.ndtr(-abs(z))),
        **_fisher_limit_columns(pooled.estimate, pooled.std_error, level),
        "n_strata": len(r),
        "q": pooled.q,
        "q_df": pooled.q_df,
        "q_p_value": pooled.q_p_value,
    }
    if interval == "cr2" and len(r):
        usable_rows = [correlations.rows[i] for i in np.flatnonzero(correlations.is_usable)]
        columns |= _clustered_test_and_limits_columns(sample, usable_rows, std_error, r, level)
    return columns


def _fisher_limit_columns(r: float, std_error: float, level: float) -> dict[str, float]:
    """Return the limits `conf_low` and `conf_high` on Fisher's z scale, with the normal quantile."""
    quantile = float(special.ndtri((1 + level) / 2))
    low, high = fisher_limits(np.array(r), np.array(std_error), quantile)
    return {"conf_low": float(low), "conf_high": float(high)}


def _clustered_test_and_limits_columns(
    sample: CorrelatedPairs,
    strata_rows: list[NDArray[np.integer]],
    std_error: np.ndarray,
    r: np.ndarray,
    level: float,
) -> dict[str, float]:
    """Return the test and limits of combined strata whose rows are clustered by unit, as columns.

    The combined z is sum(w_s arctanh(r_s)) with weights w_s proportional to the inverse squared standard
    errors. It has two standard errors, and the one with the larger P value and the wider limits is used:
    CR2's, from the influences summed by unit and stratum, and that of independent rows, because with a few
    hits or misses influences may vary too little by chance.
    """
    test = sample.test
    weights = std_error**-2 / (std_error**-2).sum()
    unit_codes = np.unique(sample.units[np.concatenate(strata_rows)], return_inverse=True)[1]
    n_units = int(unit_codes.max()) + 1
    n_rows = [len(rows) for rows in strata_rows]
    units_of_strata = np.split(unit_codes, np.cumsum(n_rows)[:-1])
    influence_sums = []
    unit_counts = []
    for rows, rho, stratum_units in zip(strata_rows, r, units_of_strata, strict=True):
        # arctanh'(rho) = 1 / (1 - rho^2)
        z_influences = sample.row_influences(rows) / (1 - rho**2)
        influence_sums.append(np.bincount(stratum_units, z_influences, n_units))
        unit_counts.append(np.bincount(stratum_units, minlength=n_units))
    robust = cr2(
        sums=np.column_stack(influence_sums),
        counts=np.column_stack(unit_counts).astype(np.float64),
        slopes=weights[None],
    )
    cr2_error = float(np.sqrt(robust.variance[0]))
    cr2_df = min(robust.df[0], robust.kurtosis_df[0])
    n_simple_pairs_of_equal_degrees_of_freedom = np.array(
        [sample.n_simple_pairs_of_equal_degrees_of_freedom(rows) for rows in strata_rows]
    )
    formula = "bonett-wright" if test == "spearman" else "fisher"
    independent_variances = (
        fisher_z_std_error(r, n_simple_pairs_of_equal_degrees_of_freedom, test, formula) ** 2
    )
    independent_error = float(np.sqrt((weights**2 * independent_variances).sum()))
    if n_units < _FEWEST_UNITS or np.isnan(independent_error):
        cr2_error = np.nan
        independent_error = np.nan
    # The standard error of independent rows keeps its level with a normal quantile if every row is a unit.
    independent_df = np.inf if n_units == sum(n_rows) else cr2_df
    # first CR2's, then those of independent rows
    std_errors = np.array([cr2_error, independent_error])
    dfs = np.array([cr2_df, independent_df])
    z = float((weights * np.arctanh(r)).sum())
    with np.errstate(divide="ignore"):
        statistics = z / std_errors
    p_values = 2 * special.stdtr(dfs, -np.abs(statistics))
    larger = int(np.argmax(p_values))
    df_of_test = np.nan
    if np.isfinite(dfs[larger]) and np.isfinite(std_errors[larger]):
        df_of_test = dfs[larger]
    half_width = float((special.stdtrit(dfs, (1 + level) / 2) * std_errors).max())
    return {
        "statistic": statistics[larger],
        "df": df_of_test,
        "p_value": float(p_values[larger]),
        "conf_low": float(np.tanh(z - half_width)),
        "conf_high": float(np.tanh(z + half_width)),
    }


def _reason_and_column_of_unusable_correlation(
    sample: CorrelatedPairs, rows: NDArray[np.integer], r: float
) -> tuple[str, str | None]:
    """Say why a correlation is undefined or cannot be combined with others, and which column is at fault."""
    if abs(r) == 1:
        return f"it is {r:.0f}", None
    reason, column_at_fault = sample.undefined_reason_and_column(rows)
    return reason or f"{len(rows)} pairs", column_at_fault


@dataclass
class _Problems:
    """Labels of groups and strata to warn of, with reasons or sizes in brackets."""

    #: Groups without a correlation, or strata left out of a combined one.
    undefined: list[Message] = field(default_factory=list)
    undefined_rows: list[int] = field(default_factory=list)
    #: Column at fault for each of `undefined`, None if it is not a single one.
    columns_at_fault: list[str | None] = field(default_factory=list)
    #: Groups whose correlation is -1 or 1.
    perfect: list[Message] = field(default_factory=list)
    perfect_rows: list[int] = field(default_factory=list)
    #: Groups whose correlation has no variance.
    without_variance: list[Message] = field(default_factory=list)
    without_variance_rows: list[int] = field(default_factory=list)

    def add_undefined(self, row: int, label: Message, reason: str, column_at_fault: str | None) -> None:
        """Add a group or stratum without a usable correlation; `row` is that of the result."""
        self.undefined.append(Message(label, f" ({reason})"))
        self.undefined_rows.append(row)
        self.columns_at_fault.append(column_at_fault)

    def add_undefined_or_perfect_group(
        self, row: int, label: Message, n_pairs: int, correlations: _StrataCorrelations
    ) -> None:
        """Add a group without strata, row `row` of the result, if its correlation is undefined or perfect."""
        r = correlations.r[0]
        if np.isnan(r):
            self.add_undefined(row, label, *correlations.reasons[0])
        if abs(r) == 1:
            self.perfect.append(Message(label, f" ({n_pairs} pairs)"))
            self.perfect_rows.append(row)

    def warn_of_each_kind(
        self, correlation_name: str, test: str, *, has_exact_p: bool, is_stratified: bool
    ) -> None:
        """Warn of each kind of problem."""
        if self.undefined:
            consequence = "left out of the combined correlation" if is_stratified else "undefined (NaN)"
            column = "n_strata" if is_stratified else "estimate"
            warn(
                f"{correlation_name} is {consequence} for ",
                joined_group_labels(self.undefined),
                column=column,
                value=self.columns_at_fault,
                rows=dict.fromkeys(self.undefined_rows),
            )
        if self.perfect:
            p_value = "p_value is exact and limits are" if has_exact_p else "p_value and limits are"
            warn(
                f"{correlation_name} is -1 or 1, where its approximate test has no variance left "
                f"({p_value} NaN), for ",
                joined_group_labels(self.perfect),
                column="std_error",
                rows=self.perfect_rows,
            )
        if self.without_variance:
            reason = "there are too few units"
            option_of_robust = {}
            if test in ROBUST_TESTS:
                option_of_robust = {"option": "test", "value": test}
                reason += ", or without one of them too many values are equal,"
            warn(
                f"{reason} for a variance, so {correlation_name} has no test and no limits (NaN) for ",
                joined_group_labels(self.without_variance),
                column="n_units",
                rows=self.without_variance_rows,
                **option_of_robust,
            )


def _warn_of_repeats(keys: pd.DataFrame, n: np.ndarray, n_units: np.ndarray, units: Units) -> None:
    """Warn when a group has more pairs than units."""
    repeated = np.flatnonzero(n > n_units)
    if len(repeated):
        worst = int(repeated[np.argmax(n[repeated] / n_units[repeated])])
        warning = RepeatedUnitsWarning(
            f"in {len(repeated)} of {len(n)} groups rows repeat a {units.name} (",
            group_label(keys, worst),
            f": "
            f"{n[worst]} rows of {n_units[worst]}); p-values and limits treat rows as independent and are "
            "likely too small and too narrow",
            hint=Message(Setting("interval", "cr2"), ", the default, takes units into account"),
            column=units.name,
            rows=repeated.tolist(),
        )
        warn(warning)
