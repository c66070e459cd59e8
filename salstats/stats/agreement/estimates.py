"""Agreement of readers, methods or trainings on the same cases, by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_choice, check_level, quoted
from salstats.errors import Message, Setting, ValueRangeError, warn
from salstats.frames import estimates_frame, text_column
from salstats.stats.agreement.readings import Coefficients, RaterReadings
from salstats.stats.agreement.readings_of_groups import (
    AgreementDesign,
    agreement_design,
    checked_readings_of_group,
    readings_by_two_or_more_raters,
)
from salstats.stats.agreement.records import CONTINUOUS, KINDS, RECORDS, Agreement
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS, caution_column_if_any
from salstats.stats.engine.few_units import FEW_DF, has_few_effective_units
from salstats.stats.engine.fixed_factors import (
    NOUN_OF_COLUMN,
    fixed_factor_text,
    inference_to_column_if_any,
    random_factor_text,
)
from salstats.stats.engine.grouping import group_label, named_groups
from salstats.stats.engine.intervals import RECOMMENDED, Interval, interval_by_name
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.result_warnings import warn_few_df, warn_unequal_units

#: Limits of kappa are too short if fewer units than this have a reading outside the most frequent category.
_FEW_MINORITY_UNITS = 10
#: Columns that hold the fields of `Coefficients`.
_NUMBERS = ("estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high")


# a list of columns, each made once; the branches are the options that add some
def agreement(  # noqa: C901
    scores: pd.DataFrame,
    *,
    over: str = "reader",
    kind: str = "icc",
    form: str | Sequence[str] | None = None,
    scale: str | None = None,
    weighting: str | None = None,
    linked: bool | None = None,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Agreement of readers, methods, metrics or trainings on the same cases, for each group.

    1 is perfect agreement, 0 agreement by chance; limits of agreement are on the scale of the scores.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    over : str, default "reader"
        The column whose values are compared: `reader`, `method`, `metric`, `model`, `seed`, or another that
        distinguishes rows of a case, such as a tool.
    kind : {"icc", "krippendorff", "cohen", "fleiss", "conger", "light", "ac1", "ccc", "bland-altman"}
        For continuous scores `icc` (intraclass correlations), `ccc` (Lin's concordance correlation) and
        `bland-altman` (limits of agreement). For categories, which are whole numbers, Cohen's, Fleiss's,
        Conger's and Light's kappa and Gwet's AC1. For either Krippendorff's alpha. `cohen`, `ccc` and
        `bland-altman` compare two raters: with more there is a row for each pair.
    form : str or sequence of str, optional
        Coefficients of `icc`: icc1, icc2, icc3, icc1k, icc2k, icc3k; by default all six.
    scale : {"interval", "ordinal", "nominal", "ratio"}, optional
        Distance of two values for `krippendorff`; by default "interval", their squared difference.
    weighting : {"unweighted", "linear", "quadratic"}, optional
        Weight of a disagreement for `cohen`, by the distance of the two numbers; by default "unweighted".
    linked : bool, optional
        For `bland-altman` with several readings of a case (in columns `reader`, `model` or `seed`): true
        (default) if readings with the same values there are pairs, false if they are in any order, as those
        of people beside scores of methods, which have no reader.
    by : str or sequence of str, optional
        Grouping columns; by default metric, method and task if present, without `over`. If all scores have
        one metric, the result has a column `metric` in any case.
    unit : str or list of str, optional
        Column of independent units; by default as for `summarize`.
    interval : str, optional
        By default `jackknife`, which keeps the cases of a unit together. Textbook intervals treat cases as
        independent: `mcgraw-wong` (icc), `fleiss-cohen-everitt` (cohen), `fleiss`, `lin` (ccc),
        `bland-altman`.
    level : float
        Confidence level.

    Returns
    -------
    DataFrame
        An estimates frame, a row per group and term (and per pair, for coefficients of two raters):

        - the grouping columns; for coefficients of two raters `pair`, "A - B", in sorted order;
        - `term` ("icc2", "krippendorff_ordinal", "cohen_linear", "bias", "loa_low", "loa_high", ...),
          `estimate`, `std_error`; `statistic`, `df`, `p_value` test no agreement, or no bias (limits of
          agreement have no test); with `mcgraw-wong` the statistic is F, with a column `df_denominator`;
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`;
        - `inference_to`: "readers and cases" for icc1 and icc2 of readers, else "these readers", who are
          fixed; the same for trainings (`seed`, `model`);
        - `n`, readings used; `n_missing`, readings that a used case lacks and those of cases that fewer than
          two raters read; `n_units`;
        - `caution`, if a row has one: "few events" (not for `ac1`) if fewer than ten units have a reading
          other than the most frequent one, or if there is no case to which all raters give the same such
          reading; "few units" if units count as fewer than four of equal size;
        - `n_cases`, `n_raters`; `over`; `first` and `second` of a pair; `linked`.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `summarize`; one rater; a rater of one case; `over` in `by`; several readings of a case for a
        `kind` that allows one; a unit that splits a case; categories for a kind of continuous scores, or
        continuous scores for a kind of categories; an option of another kind; missing readings with an
        `interval` that needs all, or several readings of a case with an interval of independent pairs.

    Warns
    -----
    SalstatsWarning
        No estimate because all readings of a group are equal, or none are linked; no limits; few units, units
        of very unequal size, or few units with a reading outside the most frequent category; `interval`
        treats cases as independent although units have several; rows without a rater.

    Notes
    -----
    ICC(1) assumes other raters for each case, ICC(2) is absolute agreement, ICC(3) consistency, each of a
    single reading, or (k) of the mean of all readings of a case. ICC(2) and ICC(3) come from symmetric sums
    (Koch 1967). Without missing readings these equal the two-way analysis of variance of Shrout and Fleiss;
    with missing readings they use every reading, and are unbiased if readings are missing by chance. A mixed
    model fitted by REML differs there by less than the standard error. ICC(1) uses the one-way analysis of
    variance of unequal numbers of readings. If the same raters read all cases, ICC(1) is too low: use ICC(2).

    The jackknife leaves out one unit at a time; Student's t has units - 1 degrees of freedom, or fewer if a
    few units cause most of the variance (Valliant and Rust 2010). Limits of kappas, AC1, alpha and `ccc` are
    Wilson's limits of the share (1 + (k - 1) rho) / k, k the mean number of readings of a case, with the
    effective sample size from the jackknife variance (Franco et al. 2019). For perfect agreement, or if a
    coefficient is undefined without a unit, the size is that after one more unit that disagrees. Limits of
    ICC are on Fisher's z of k readings, log((1 + (k - 1) rho) / (1 - rho)) / 2. Those of ICC(1) and ICC(2)
    hold for other readers: the distance from the readers' variance, with readers - 1 degrees of freedom, and
    that from the units are combined as the root of the sum of their squares. With two or three readers these
    limits are wide, and may include 0 although P is below 0.05: P allows for the units only, since without
    agreement the readers' variance has no influence. Limits of agreement combine the bias and the logarithm
    of the SD in the same way (Zou 2013).

    Krippendorff's alpha and the kappas leave out cases with one reading. Weights of kappa are by the numbers
    of the categories, so that a category that nobody gave still counts; R's `irr` weights by their order.

    In simulations of 30 units default 95 % limits covered in 89 to 98 %, textbook limits in 66 to 99 %; for
    Fleiss's kappa of a rare category in 80 to 91 % with 10 units, 87 to 94 % with 30 and 96 to 97 % with 100.
    For kappa of 0.2 to 0.95 of two readers and 10 to 30 units of one case, among them studies with perfect
    agreement, they covered in 94 to 99 %.

    Checked against R's psych and irr, published examples (Bland and Altman 2007) and definitions. irr 0.84.1
    differs in alpha of more than two raters without missing readings (a wrong weight), and in the limits of
    ICC(2,k).

    References
    ----------
    Bland JM, Altman DG. Agreement between methods of measurement with multiple observations per individual.
    J Biopharm Stat 2007;17:571-582. https://doi.org/10.1080/10543400701329422

    Franco C, Little RJA, Louis TA, Slud EV. Comparative study of confidence intervals for proportions in
    complex sample surveys. J Surv Stat Methodol 2019;7:334-364. https://doi.org/10.1093/jssam/smy019

    Koch GG. A general approach to the estimation of variance components. Technometrics 1967;9:93-118.
    https://doi.org/10.1080/00401706.1967.10490444

    McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients. Psychological
    Methods 1996;1:30-46. https://doi.org/10.1037/1082-989X.1.1.30

    Zou GY. Confidence interval estimation for the Bland-Altman limits of agreement with multiple observations
    per individual. Stat Methods Med Res 2013;22:630-642. https://doi.org/10.1177/0962280211402548

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> wide = pd.DataFrame({"A": [9, 6, 8, 7, 10, 6], "B": [2, 1, 4, 1, 5, 2], "C": [5, 3, 6, 2, 6, 4]})
    >>> scores = wide.assign(case=list("uvwxyz"), method="human", metric="rating").melt(
    ...     ["case", "method", "metric"], var_name="reader", value_name="score")
    >>> found = ss.agreement(scores, form=["icc2", "icc3"])
    >>> found[["term", "estimate", "conf_low", "conf_high", "n_cases", "n_raters"]].round(3)
       term  estimate  conf_low  conf_high  n_cases  n_raters
    0  icc2     0.224    -0.091      0.562        6         3
    1  icc3     0.788     0.223      0.963        6         3
    """
    record = KINDS[check_choice(kind, tuple(KINDS), "kind")]
    default_interval = next(iter(record.estimators))
    interval_name = check_choice(interval or RECOMMENDED, (RECOMMENDED, *record.estimators), "interval")
    if interval_name == RECOMMENDED:
        interval_name = default_interval
    interval_record = interval_by_name(interval_name)
    assert interval_record is not None
    check_level(level)
    terms, options = _terms_and_options(record, form=form, scale=scale, weighting=weighting, linked=linked)
    design = agreement_design(scores, over, by, unit)
    results = _results_of_groups_or_rater_pairs(design, record, interval_record, level, options)
    keys = design.keys.iloc[[result.group for result in results]].reset_index(drop=True)
    frame = design.codes.frame
    if "metric" in frame.columns and over != "metric" and "metric" not in keys.columns:
        # All scores have one metric, which names the estimates.
        metric_names = text_column([str(frame["metric"].iloc[0])] * len(keys))
        keys.insert(0, "metric", pd.Series(metric_names, index=keys.index))
    if record.two_raters_only:
        keys["pair"] = text_column(" - ".join(result.raters) for result in results)
    # Places of the terms in the arrays of `Coefficients`. A kind with variants estimates the chosen one only.
    term_positions = [0]
    if not record.choices:
        term_positions = [list(record.terms).index(term) for term in terms]
    _warn_of_undefined_agreement_or_limits(keys, results, term_positions, design.repeat_columns)
    _warn_of_few_or_unequal_units(keys, results, interval_record, term_positions)
    _warn_of_dependent_cases(keys, results, interval_record, len(terms))
    has_few_events = np.zeros(len(keys), dtype=bool)
    values = design.codes.frame["score"].dropna().to_numpy(dtype=np.float64)
    is_categorical = scale in ("nominal", "ordinal") or bool((values == np.round(values)).all())
    if record.score_type != CONTINUOUS and record.name != "ac1" and is_categorical:
        has_few_events = _has_few_minority_units(results) | _lacks_minority_agreement(results)
        _warn_of_few_rarer_readings(keys, results, len(terms))

    # From here on there is a row per result and term.
    unit_sizes = np.column_stack([result.unit_sizes for result in results])
    result_of_row = np.repeat(np.arange(len(keys)), len(terms))
    keys = keys.iloc[result_of_row].reset_index(drop=True)
    term_of_row = np.tile(terms, len(results))
    columns: dict[str, Any] = {}
    for name in _NUMBERS:
        numbers = [getattr(result.coefficients, name)[term_positions] for result in results]
        columns[name] = np.concatenate(numbers)
    columns |= {
        "term": term_of_row,
        "conf_level": level,
        "interval": interval_record.name,
        "unit": design.units.name,
        "n": np.array([result.n for result in results])[result_of_row],
        "n_missing": np.array([result.n_missing for result in results])[result_of_row],
        "n_units": np.array([result.n_units for result in results])[result_of_row],
    }
    cautions = {
        FEW_UNITS: has_few_effective_units(unit_sizes)[result_of_row],
        FEW_EVENTS: has_few_events[result_of_row],
    }
    columns |= caution_column_if_any(cautions)
    if over in NOUN_OF_COLUMN:
        noun = NOUN_OF_COLUMN[over]
        is_for_other_raters = np.isin(term_of_row, record.terms_for_other_raters)
        population = np.where(is_for_other_raters, random_factor_text(noun), fixed_factor_text([noun]))
        columns["inference_to"] = text_column(population.tolist())
    else:
        columns |= inference_to_column_if_any(design.codes.frame, design.units.codes, keys)
    special: dict[str, Any] = {
        "n_cases": np.array([result.n_cases for result in results])[result_of_row],
        "n_raters": np.array([len(result.raters) for result in results])[result_of_row],
        "over": over,
    }
    if record.two_raters_only:
        special["first"] = text_column(results[i].raters[0] for i in result_of_row)
        special["second"] = text_column(results[i].raters[1] for i in result_of_row)
    if record.option == "linked":
        special["linked"] = options["linked"]
    df_denominators = [result.coefficients.df_denominator for result in results]
    if all(df is not None for df in df_denominators):
        special["df_denominator"] = np.concatenate([np.asarray(df)[term_positions] for df in df_denominators])
    return estimates_frame(keys, columns, special)


class _MinorityCounts(NamedTuple):
    """Counts of readings outside the most frequent category."""

    #: Units with such a reading.
    n_units: int
    #: Cases to which all their raters, two or more, give the same such reading.
    n_agreed_cases: int


@dataclass(frozen=True)
class _AgreementResult:
    """Coefficients of all raters of a group, or of a pair of them, with their counts."""

    #: Position of the group.
    group: int
    raters: list[str]
    coefficients: Coefficients
    #: Number of readings used.
    n: int
    #: Number of readings missing, see `agreement`.
    n_missing: int
    n_cases: int
    #: (n_units,): Rows of each unit.
    unit_sizes: np.ndarray
    minority: _MinorityCounts
    #: Both raters read the same cases, but no readings are linked, as where one of them has no reader.
    none_linked: bool = False

    @property
    def n_units(self) -> int:
        """Number of units with readings."""
        return int(np.count_nonzero(self.unit_sizes))


def _results_of_groups_or_rater_pairs(
    design: AgreementDesign, record: Agreement, interval: Interval, level: float, options: dict[str, Any]
) -> list[_AgreementResult]:
    """Return the result of each group, or of each pair of raters of each group."""
    results = []
    for group in range(len(design.keys)):
        group_readings = checked_readings_of_group(design, group, record)
        raters = group_readings.raters
        rater_sets: list[tuple[int, ...]] = [tuple(range(len(raters)))]
        if record.two_raters_only:
            rater_sets = list(combinations(range(len(raters)), 2))
        for rater_set in rater_sets:
            linked = options.get("linked") is not False
            readings = readings_by_two_or_more_raters(group_readings.readings, rater_set, linked=linked)
            none_linked = False
            if record.option == "linked" and linked and readings.n_cases == 0:
                unlinked = readings_by_two_or_more_raters(group_readings.readings, rater_set, linked=False)
                none_linked = unlinked.n_cases > 0
            if interval.name in record.complete_intervals and not readings.is_complete:
                raise ValueRangeError(
                    Setting("interval", interval.name),
                    f" needs every reading, and {group_readings.label} lacks some",
                    hint="the default interval allows gaps; or leave out the cases that have them",
                )
            has_repeats = np.bincount(readings.cases).max(initial=0) > 1
            if interval.name in record.single_reading_intervals and has_repeats:
                raise ValueRangeError(
                    Setting("interval", interval.name),
                    f" allows one reading of a case by each {design.over}, and ",
                    group_readings.label,
                    " has several",
                    hint="the default interval allows several; or average them first",
                    column=design.over,
                )
            n = int((~np.isnan(readings.values)).sum())
            result = _AgreementResult(
                group=group,
                raters=[str(raters[rater]) for rater in rater_set],
                coefficients=_coefficients_of_readings(record, interval, readings, level, options),
                n=n,
                n_missing=group_readings.n_cases_and_repeats * len(rater_set) - n,
                n_cases=readings.n_cases,
                unit_sizes=np.bincount(readings.units, minlength=design.units.n),
                minority=_minority_unit_and_agreed_minority_case_counts(readings),
                none_linked=none_linked,
            )
            results.append(result)
    return results


def _terms_and_options(record: Agreement, **options: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the terms to estimate, and the options of the record's estimators.

    `options` are the parameters of `agreement`, None if not given. One of another kind raises an error.
    """
    for name, value in options.items():
        if value is not None and name != record.option:
            kind_with_option = next(kind.name for kind in RECORDS if kind.option == name)
            raise ValueRangeError(
                Setting(name, value),
                " is an option of ",
                Setting("kind", kind_with_option),
                f", not of {record.name!r}",
            )
    value = options.get(record.option)
    if record.option == "form":
        forms = list(record.terms)
        if isinstance(value, str):
            forms = [value]
        elif value:
            forms = list(value)
        return [check_choice(form, tuple(record.terms), "form") for form in forms], {}
    if record.choices:
        variant = check_choice(value or record.choices[0], record.choices, record.option)
        return [f"{record.name}_{variant}"], {record.option: variant}
    if record.option == "linked":
        return list(record.terms), {"linked": value is None or bool(value)}
    return list(record.terms), {}


def _coefficients_of_readings(
    record: Agreement, interval: Interval, readings: RaterReadings, level: float, options: dict[str, Any]
) -> Coefficients:
    """Estimate the coefficients of readings, NaN with fewer than two cases."""
    if readings.n_cases < 2:
        undefined = np.full(len(record.terms), np.nan)
        return Coefficients(**dict.fromkeys(_NUMBERS, undefined))
    return record.estimators[interval.name](readings, level, **options)


def _minority_unit_and_agreed_minority_case_counts(readings: RaterReadings) -> _MinorityCounts:
    """Count the units and the agreed cases whose readings differ from the most frequent value."""
    values = readings.values
    present = ~np.isnan(values)
    categories, counts = np.unique(values[present], return_counts=True)
    if not len(categories):
        return _MinorityCounts(n_units=0, n_agreed_cases=0)
    most_frequent = categories[counts.argmax()]
    has_minority = (present & (values != most_frequent)).any(axis=1)
    # a missing reading contradicts no other
    largest = np.where(present, values, -np.inf).max(axis=1)
    smallest = np.where(present, values, np.inf).min(axis=1)
    is_agreed = (largest == smallest) & (np.count_nonzero(present, axis=1) >= 2)
    return _MinorityCounts(
        n_units=len(np.unique(readings.units[has_minority])),
        n_agreed_cases=int(np.count_nonzero(has_minority & is_agreed)),
    )


def _has_few_minority_units(results: Sequence[_AgreementResult]) -> NDArray[np.bool_]:
    """Mask of the results whose readings are nearly all of one category, shape (n_results,)."""
    return np.array([0 < result.minority.n_units < _FEW_MINORITY_UNITS for result in results])


def _lacks_minority_agreement(results: Sequence[_AgreementResult]) -> NDArray[np.bool_]:
    """Mask of the results with rarer readings, on none of which raters agree, shape (n_results,).

    Kappa is then near 0 whichever unit is left out, so that the jackknife finds hardly any variance.
    """
    counts = [result.minority for result in results]
    return np.array([count.n_units > 0 and count.n_agreed_cases == 0 for count in counts])


def _warn_of_few_rarer_readings(
    keys: pd.DataFrame, results: Sequence[_AgreementResult], n_terms: int
) -> None:
    """Warn of results with few rarer readings, and of others in which raters agree on none of them.

    Each result has a row of the frame for each of its terms.
    """

    def warn_of_short_limits(reason: str, is_short: NDArray[np.bool_], column: str, value: int) -> None:
        warn(
            f"{reason} in ",
            named_groups(keys, is_short),
            ", so that limits of kappa and alpha are too short",
            hint=Message("those of ", Setting("kind", "ac1"), " are not"),
            column=column,
            value=value,
            rows=np.flatnonzero(np.repeat(is_short, n_terms)).tolist(),
        )

    is_few = _has_few_minority_units(results)
    if is_few.any():
        fewest = min(result.minority.n_units for result, few in zip(results, is_few, strict=True) if few)
        reason = f"only {fewest} units have a reading other than the most frequent one"
        warn_of_short_limits(reason, is_few, "n_units", fewest)
    none_agreed = _lacks_minority_agreement(results) & ~is_few
    if none_agreed.any():
        reason = "there is no case to which all raters give the same reading other than the most frequent one"
        warn_of_short_limits(reason, none_agreed, "n_cases", 0)


def _warn_of_undefined_agreement_or_limits(
    keys: pd.DataFrame,
    results: Sequence[_AgreementResult],
    term_positions: Sequence[int],
    repeat_columns: Sequence[str],
) -> None:
    """Warn of results without estimates or limits; `repeat_columns` distinguish readings of a case."""
    estimates = np.array([result.coefficients.estimate[term_positions] for result in results])
    lower_limits = np.array([result.coefficients.conf_low[term_positions] for result in results])
    is_undefined = np.isnan(estimates).any(axis=1)
    none_linked = np.array([result.none_linked for result in results])
    if none_linked.any():
        warn(
            f"no readings of a case have equal values of {quoted(repeat_columns)}, "
            "so that none are compared, in ",
            named_groups(keys, none_linked),
            hint=Message(Setting("linked", False), " compares all readings of a case"),
            option="linked",
            column=repeat_columns[0],
            rows=np.flatnonzero(np.repeat(none_linked, len(term_positions))).tolist(),
        )
    has_no_agreement = is_undefined & ~none_linked
    if has_no_agreement.any():
        warn(
            "agreement is undefined (NaN) where all readings are equal or fewer than two cases were read by "
            "two: ",
            named_groups(keys, has_no_agreement),
            column="estimate",
            rows=np.flatnonzero(np.isnan(estimates) & has_no_agreement[:, None]).tolist(),
        )
    has_no_limits = np.isnan(lower_limits).any(axis=1) & ~is_undefined
    if has_no_limits.any():
        warn(
            "there are no limits (NaN) from a single unit, where all agree, or where an ICC or SD depends on "
            "one unit alone or is the same without each unit: ",
            named_groups(keys, has_no_limits),
            column="conf_low",
            rows=np.flatnonzero(np.isnan(lower_limits) & has_no_limits[:, None]).tolist(),
        )


def _warn_of_few_or_unequal_units(
    keys: pd.DataFrame,
    results: Sequence[_AgreementResult],
    interval: Interval,
    term_positions: Sequence[int],
) -> None:
    """Warn of a clustered interval from few units, or from units of very unequal size."""
    if not interval.clustered:
        return
    lower_limits = np.array([result.coefficients.conf_low[term_positions] for result in results])
    has_no_limits = np.isnan(lower_limits).all(axis=1)
    n_units = np.array([result.n_units for result in results])
    df = np.where(has_no_limits, np.nan, n_units - 1.0)
    n_terms = len(term_positions)
    warn_few_df(df, keys, n_terms=n_terms)
    unit_sizes = np.column_stack([result.unit_sizes for result in results])
    warn_unequal_units(unit_sizes, has_no_limits | (df < FEW_DF), keys, n_terms=n_terms)


def _warn_of_dependent_cases(
    keys: pd.DataFrame, results: Sequence[_AgreementResult], interval: Interval, n_terms: int
) -> None:
    """Warn of an interval that treats cases as independent where units have several."""
    n_units = np.array([result.n_units for result in results])
    n_cases = np.array([result.n_cases for result in results])
    has_several = n_cases > n_units
    if not interval.clustered and has_several.any():
        worst = int(np.argmax(n_cases / np.maximum(n_units, 1)))
        warn(
            Setting("interval", interval.name),
            " treats cases as independent, but ",
            group_label(keys, worst),
            f" has {n_cases[worst]} cases of {n_units[worst]} units",
            hint="the default interval keeps a unit's cases together",
            column="n_units",
            rows=np.flatnonzero(np.repeat(has_several, n_terms)).tolist(),
        )
