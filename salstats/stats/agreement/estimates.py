"""Agreement of readers, methods or trainings on the same cases, by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_level
from salstats.errors import Message, Setting, ValueRangeError, warn
from salstats.frames import estimates_frame, text_column
from salstats.stats.agreement.readings import Coefficients, Readings
from salstats.stats.agreement.readings_of_groups import (
    AgreementDesign,
    agreement_design,
    read_by,
    readings_of,
)
from salstats.stats.agreement.records import CONTINUOUS, KINDS, RECORDS, Agreement
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS, caution_column
from salstats.stats.engine.few_units import FEW_DF, few_equal_units
from salstats.stats.engine.fixed_factors import NOUNS, fixed_factor_text, inference_to, random_factor_text
from salstats.stats.engine.grouping import group_label, named_groups
from salstats.stats.engine.intervals import RECOMMENDED, Interval, interval_by_name
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.result_warnings import warn_few_df, warn_unequal_units

#: Units with a reading of another category than the most frequent, below which limits of kappa are too short.
_FEW_MINORITY_UNITS = 8
_NUMBERS = ("estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high")


def agreement(
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

    1 is perfect agreement, 0 what chance would give; limits of agreement are on the scale of the scores.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    over : str, default "reader"
        The column whose values are compared: `reader`, `method`, `metric`, `model`, `seed`, or another that
        tells two rows of a case apart, such as a tool.
    kind : {"icc", "krippendorff", "cohen", "fleiss", "conger", "light", "ac1", "ccc", "bland-altman"}
        Of continuous scores `icc`, the intraclass correlations, `ccc`, Lin's concordance correlation, and
        `bland-altman`, the limits of agreement; of categories, which are whole numbers, Cohen's, Fleiss's,
        Conger's and Light's kappa and Gwet's AC1; Krippendorff's alpha of either. Cohen's kappa, `ccc` and
        `bland-altman` are of two raters: more make a row for each pair.
    form : str or sequence of str, optional
        Of `icc`: which of icc1, icc2, icc3, icc1k, icc2k, icc3k; by default all six.
    scale : {"interval", "ordinal", "nominal", "ratio"}, optional
        Of `krippendorff`: how far two values are apart; by default by their squared difference.
    weighting : {"unweighted", "linear", "quadratic"}, optional
        Of `cohen`: how much a disagreement counts, by the distance of the two numbers.
    linked : bool, optional
        Of `bland-altman` with several readings of a case (`reader`, `model` or `seed` beside `over`):
        whether those with the same value are pairs (default), or readings in any order.
    by : str or sequence of str, optional
        Grouping columns; by default those of metric, method and task that are present, but `over`.
        A single metric is named whatever they are.
    unit : str or list of str, optional
        What is independent; by default as for `summarize`.
    interval : str, optional
        By default `jackknife`, which keeps the cases of a unit together. Those of textbooks take cases as
        independent: `mcgraw-wong` (icc), `fleiss-cohen-everitt` (cohen), `fleiss`, `lin` (ccc),
        `bland-altman`.
    level : float
        Confidence level.

    Returns
    -------
    DataFrame
        An estimates frame, a row per group and term (of two raters also per pair):

        - the grouping columns; of two raters `pair`, "A - B", in sorted order;
        - `term` ("icc2", "krippendorff_ordinal", "cohen_linear", "bias", "loa_low", "loa_high", ...),
          `estimate`, `std_error`; `statistic`, `df`, `p_value` test no agreement, or no bias (limits of
          agreement have no test); of `mcgraw-wong` it is F, with `df_denominator` among the last columns;
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`;
        - `inference_to`, of readers: "readers and cases" of icc1 and icc2, else "these readers", who are
          taken as fixed; of trainings (`seed`, `model`) likewise;
        - `n`, readings used; `n_missing`, those that a used case lacks and those of cases that fewer than
          two raters read; `n_units`;
        - `caution`, where a row deserves one: "few events" where fewer than eight units have another reading
          than the most frequent one (not of `ac1`); "few units" where they are worth fewer than four of equal
          size;
        - `n_cases`, `n_raters`; `over`; `first` and `second` of a pair; `linked`.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `summarize`; one rater; a rater of one case; `over` in `by`; several readings of a case where
        `kind` takes one; a unit that splits a case; categories where scores should be continuous, or the
        other way round; an option of another kind; `interval` that needs all readings where some are
        missing.

    Warns
    -----
    SalstatsWarning
        All readings of a group are equal, so that there is no estimate, or there are no limits; few units, or
        units of very unequal size, or few with any but the most frequent category; `interval` takes cases for
        independent although units have several; rows without a rater.

    Notes
    -----
    ICC(1) takes raters to differ from case to case, ICC(2) is absolute agreement, ICC(3) consistency, each of
    a single reading, or (k) of the mean of as many as a case has. ICC(2) and (3) are from the components of
    symmetric sums (Koch 1967), without gaps those of the analysis of variance of two ways, as are Shrout and
    Fleiss's; with gaps they use every reading, and are unbiased where readings are missing by chance. A mixed
    model fitted by REML differs there, by less than the standard error. ICC(1) weighs unequal numbers of
    readings by that of one way. Where the same raters read all cases, ICC(1) is too low: take ICC(2).

    The jackknife leaves out one unit at a time; Student's t has units - 1 degrees of freedom, or fewer where
    a few units hold most of the variance (Valliant and Rust 2010). Limits of kappas, AC1, alpha and `ccc`
    are Wilson's of the share (1 + (k - 1) rho) / k, k being the mean number of readings of a case, with as
    many 0/1 scores as would vary as much (Franco et al. 2019); of perfect agreement, or where a coefficient
    is undefined without a unit, as many as one unit more that disagrees would tell. Those of ICC are on
    Fisher's z of k readings, log((1 + (k - 1) rho) / (1 - rho)) / 2. Of ICC(1) and (2) they hold for readers
    at large: the variance of readers, with readers - 1 degrees of freedom, is combined with that of units by
    the squares of both distances. With two or three readers they are wide, and may hold 0 where P, which is
    of the units (without agreement readers' variance changes nothing), is below 0.05. Limits of agreement
    combine the bias and the logarithm of the SD in that way (Zou 2013).

    Krippendorff's alpha leaves out cases with one reading, kappas too. Weights of kappa are by the numbers of
    the categories, so that one that nobody gave still counts; R's `irr` weighs by their order.

    Default 95 % limits held in 89 to 98 % of simulated studies of 30 units, textbooks' in 66 to 99 %; of
    Fleiss's kappa of a rare category in 80 to 91 % of those of 10, 87 to 94 of 30 and 96 to 97 of 100. Of
    kappa .2 to .95 of two readers and 10 to 30 units, one case each, they held in 94 to 99 %, studies with
    perfect agreement among them.

    Checked against R's psych and irr, published examples (Bland and Altman 2007) and definitions; of
    irr 0.84.1, alpha of more than two raters without gaps (a wrong weight) and the limits of ICC(2,k) differ.

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
    choice = check_choice(interval or RECOMMENDED, (RECOMMENDED, *record.estimators), "interval")
    interval_record = interval_by_name(default_interval if choice == RECOMMENDED else choice)
    assert interval_record is not None
    check_level(level)
    terms, options = _terms_and_options(record, form=form, scale=scale, weighting=weighting, linked=linked)
    design = agreement_design(scores, over, by, unit)
    results = _results(design, record, interval_record, level, options)
    keys = design.keys.iloc[[result.group for result in results]].reset_index(drop=True)
    frame = design.codes.frame
    if "metric" in frame.columns and over != "metric" and "metric" not in keys.columns:
        # all scores are of one metric, which the estimates are then named by
        keys.insert(0, "metric", text_column([str(frame["metric"].iloc[0])] * len(keys)))
    if record.pairs:
        keys["pair"] = text_column(" - ".join(result.raters) for result in results)
    # A variant has one estimate, whatever its term; other kinds have one for each term of the record.
    term_positions = [0]
    if not record.choices:
        term_positions = [list(record.terms).index(term) for term in terms]
    _warn_of_gaps(keys, results, term_positions)
    _warn_of_units(keys, results, interval_record)
    has_few_minority_units = np.zeros(len(keys), dtype=bool)
    if record.needs != CONTINUOUS and record.name != "ac1":
        has_few_minority_units = _warn_few_minority_units(keys, results)

    # From here on there is a row per result and term.
    unit_sizes = np.column_stack([result.unit_sizes for result in results])
    result_of_row = np.repeat(np.arange(len(keys)), len(terms))
    keys = keys.iloc[result_of_row].reset_index(drop=True)
    term_of_row = np.tile(terms, len(results))
    columns: dict[str, Any] = {}
    for name in _NUMBERS:
        values = [getattr(result.coefficients, name)[term_positions] for result in results]
        columns[name] = np.concatenate(values)
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
        FEW_UNITS: few_equal_units(unit_sizes)[result_of_row],
        FEW_EVENTS: has_few_minority_units[result_of_row],
    }
    columns |= caution_column(cautions)
    if over in NOUNS:
        noun = NOUNS[over]
        is_at_large = np.isin(term_of_row, record.at_large)
        population = np.where(is_at_large, random_factor_text(noun), fixed_factor_text([noun]))
        columns["inference_to"] = text_column(population.tolist())
    else:
        columns |= inference_to(design.codes.frame, design.units.codes, keys)
    special: dict[str, Any] = {
        "n_cases": np.array([result.n_cases for result in results])[result_of_row],
        "n_raters": np.array([len(result.raters) for result in results])[result_of_row],
        "over": over,
    }
    if record.pairs:
        special["first"] = text_column(results[i].raters[0] for i in result_of_row)
        special["second"] = text_column(results[i].raters[1] for i in result_of_row)
    if record.option == "linked":
        special["linked"] = options["linked"]
    df_denominators = [result.coefficients.df_denominator for result in results]
    if all(df is not None for df in df_denominators):
        special["df_denominator"] = np.concatenate([np.asarray(df)[term_positions] for df in df_denominators])
    return estimates_frame(keys, columns, special)


@dataclass(frozen=True)
class _Result:
    """Coefficients of the raters of a group, or of a pair of them, and the counts behind these."""

    group: int
    raters: list[str]
    coefficients: Coefficients
    #: Numbers of readings.
    n: int
    n_missing: int
    n_cases: int
    #: (n_units,): Rows of each unit.
    unit_sizes: np.ndarray
    #: Units with a reading that is not the most frequent one.
    n_minority_units: int

    @property
    def n_units(self) -> int:
        """Number of units with readings."""
        return int(np.count_nonzero(self.unit_sizes))


def _results(
    design: AgreementDesign, record: Agreement, interval: Interval, level: float, options: dict[str, Any]
) -> list[_Result]:
    """Return the result of each group, or of each pair of raters of each group."""
    results = []
    for group in range(len(design.keys)):
        group_readings = readings_of(design, group, record)
        raters = group_readings.raters
        rater_sets: list[tuple[int, ...]] = [tuple(range(len(raters)))]
        if record.pairs:
            rater_sets = list(combinations(range(len(raters)), 2))
        for rater_set in rater_sets:
            readings = read_by(group_readings.readings, rater_set, linked=options.get("linked") is not False)
            if interval.name in record.complete and not readings.complete:
                raise ValueRangeError(
                    Setting("interval", interval.name),
                    f" needs every reading, and {group_readings.label} lacks some",
                    hint="the default interval takes gaps; or leave out the cases that have them",
                )
            n = int((~np.isnan(readings.values)).sum())
            result = _Result(
                group=group,
                raters=[str(raters[rater]) for rater in rater_set],
                coefficients=_estimate(record, interval, readings, level, options),
                n=n,
                n_missing=group_readings.n_rows * len(rater_set) - n,
                n_cases=readings.n_cases,
                unit_sizes=np.bincount(readings.units, minlength=design.units.n),
                n_minority_units=_count_minority_units(readings),
            )
            results.append(result)
    return results


def _terms_and_options(record: Agreement, **options: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the terms to estimate, and the options of the kernel.

    An option of another kind of agreement raises an error.
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


def _estimate(
    record: Agreement, interval: Interval, readings: Readings, level: float, options: dict[str, Any]
) -> Coefficients:
    """Estimate the coefficients of readings, NaN if these are of fewer than two cases."""
    if readings.n_cases < 2:
        undefined = np.full(len(record.terms), np.nan)
        return Coefficients(*[undefined] * len(_NUMBERS))
    return record.estimators[interval.name](readings, level, **options)


def _count_minority_units(readings: Readings) -> int:
    """Count the units with a reading that is not the most frequent one."""
    present = ~np.isnan(readings.values)
    values, counts = np.unique(readings.values[present], return_counts=True)
    if not len(values):
        return 0
    most_frequent = values[counts.argmax()]
    is_minority = present & (readings.values != most_frequent)
    return len(np.unique(readings.units[is_minority.any(axis=1)]))


def _warn_few_minority_units(keys: pd.DataFrame, results: Sequence[_Result]) -> np.ndarray:
    """Warn where nearly all readings are of one category; return a mask of these results."""
    n_minority_units = np.array([result.n_minority_units for result in results])
    is_few = (n_minority_units > 0) & (n_minority_units < _FEW_MINORITY_UNITS)
    if is_few.any():
        warn(
            f"only {n_minority_units[is_few].min()} units have another reading than the most frequent one "
            "in ",
            named_groups(keys, is_few),
            ", so that limits of kappa and alpha are too short",
            hint=Message("those of ", Setting("kind", "ac1"), " are not"),
        )
    return np.asarray(is_few)


def _warn_of_gaps(keys: pd.DataFrame, results: Sequence[_Result], term_positions: Sequence[int]) -> None:
    """Warn of results without estimates or limits."""
    estimates = np.array([result.coefficients.estimate[term_positions] for result in results])
    lower_limits = np.array([result.coefficients.conf_low[term_positions] for result in results])
    is_undefined = np.isnan(estimates).any(axis=1)
    if is_undefined.any():
        warn(
            "agreement is undefined (NaN) where all readings are equal or fewer than two cases were read by "
            "two: ",
            named_groups(keys, is_undefined),
        )
    has_no_limits = np.isnan(lower_limits).any(axis=1) & ~is_undefined
    if has_no_limits.any():
        warn(
            "there are no limits (NaN) of one unit, nor where all agree, nor where an ICC or SD depends on "
            "one unit alone or is the same without each unit: ",
            named_groups(keys, has_no_limits),
        )


def _warn_of_units(keys: pd.DataFrame, results: Sequence[_Result], interval: Interval) -> None:
    """Warn of few or unequal units, and of an interval that takes cases of one unit for independent."""
    n_units = np.array([result.n_units for result in results])
    n_cases = np.array([result.n_cases for result in results])
    if interval.clustered:
        df = np.where(n_units > 1, n_units - 1.0, np.nan)
        warn_few_df(df, keys)
        unit_sizes = np.column_stack([result.unit_sizes for result in results])
        warn_unequal_units(unit_sizes, df < FEW_DF, keys)
    elif (n_cases > n_units).any():
        worst = int(np.argmax(n_cases / np.maximum(n_units, 1)))
        warn(
            Setting("interval", interval.name),
            " takes cases for independent, but ",
            group_label(keys, worst),
            f" has {n_cases[worst]} cases of {n_units[worst]} units",
            hint="the default interval keeps a unit's cases together",
        )
