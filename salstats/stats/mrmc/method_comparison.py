"""Comparison of methods that generalises to readers and cases: Obuchowski and Rockette's analysis."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from salstats.checks import check_level, did_you_mean, quoted
from salstats.errors import Message, SalstatsError, Setting, warn
from salstats.frames import estimates_frame, text_column
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.cautions import DIFFERENT_CASES, add_caution
from salstats.stats.engine.equivalence import (
    Margin,
    MarginTest,
    is_strictly_below,
    lower_or_higher_verdicts,
    margin_bounds,
    margin_columns,
    margin_p_value,
    warn_of_margin_units,
)
from salstats.stats.engine.grouping import group_label, joined_group_labels, metric_of_each_key
from salstats.stats.engine.limits import t_limits
from salstats.stats.engine.one_sided_tests import one_sided_p_values_of_t_test
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.mrmc.analysis import GroupFigures, checked_mrmc_options, figures_of_groups
from salstats.stats.mrmc.anova import (
    ANALYSES,
    Analysis,
    AnovaTable,
    global_test,
    std_error_of_mean,
    std_error_of_method_difference,
)

#: Value of the column `interval`.
INTERVAL = "obuchowski-rockette"
#: Value of the column `test`.
TEST = "Obuchowski-Rockette"
#: Columns of the result that hold what `_group_rows_and_warnings` returns, as it is.
_COPIED_COLUMNS = ("term", "estimate", "std_error", "statistic", "p_value", "n", "n_missing", "n_units")
#: Numbers that are NaN in rows of some terms.
_OPTIONAL_NUMBERS = (
    "estimate", "std_error", "statistic", "df", "p_value", "df_residual", "method_mean", "reference_mean",
)  # fmt: skip
_NEGATIVE_GAP = (
    "the covariance of readers' figures that comes from the cases (Cov2 - Cov3, or Cov2 of one method) is "
    "estimated below 0 and taken as 0 (Hillis 2014)"
)
_NO_VARIANCE = "the estimated variance is not above 0, so there are no limits and no test (NaN)"
#: Column of the result that each problem is about.
_COLUMN_OF_PROBLEM = {_NEGATIVE_GAP: "df_residual", _NO_VARIANCE: "std_error"}


def mrmc(
    scores: pd.DataFrame,
    *,
    reference: str | None = None,
    figure: str = "mean",
    label: str | None = None,
    readers: str = "random",
    cases: str = "random",
    covariance: str = "jackknife",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    level: float = 0.95,
    adjust: str = "none",
    margin: Margin | None = None,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Compare methods that several readers used on several cases, with inference to readers and cases.

    Each reader's figure with each method, a mean score or an area under the ROC curve, is averaged over
    readers. The limits of means and differences hold for other readers and other cases like these (Obuchowski
    and Rockette 1995, with Hillis' degrees of freedom); those of `summarize` and `difference` hold for these
    readers only.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with a column `reader`, which may hold seeds of a network too.
    reference : str, optional
        The method to compare the others with. By default all pairs of methods are compared, the first in
        sorted order minus the second, where `difference(reference="all")` may subtract the first. In both
        each row is `method` - `reference`, by the columns of these names.
    figure : {"mean", "auc"}
        Figure of a reader with a method: the mean of the scores (IoU, hit, NCC), or the area under the ROC
        curve of the scores as ratings of `label`.
    label : str, optional
        Column of the truth for `figure="auc"`: 0 or 1, the same in all rows of a case.
    readers, cases : {"random", "fixed"}
        "random" generalises to others like them, "fixed" does not. Not both may be "fixed".
    covariance : {"jackknife", "bootstrap", "delong", "unbiased"}
        Estimator of covariances over the cases. For means the jackknife is unbiased. `delong` and `unbiased`
        (the U-statistics of Gallas et al. 2007) are for areas, `unbiased` for independent cases.
    by : str or list of str, optional
        Grouping columns; by default `metric` and `task` if present. Without `task` the tasks of a case are
        analysed together, as several readings of one unit.
    unit : str or list of str, optional
        Column of what is sampled, as for `summarize`: all cases of a patient are one unit.
    level, adjust, margin
        As for `difference`; the family of `adjust` is all differences.
    n_replicates, rng
        Options of `covariance="bootstrap"`, as for `summarize`.

    Returns
    -------
    DataFrame
        For each group a row per method (`term` "mean"), a row per pair ("difference") and, if there are
        several methods, a row for all of them ("equal"):

        - the grouping columns, `method`, `reference`;
        - `term`, `estimate`, `std_error`; `statistic`, `df`, `p_value` of the test that a difference is 0 (t,
          or z where `df` is NaN) or that all methods are equal (F with `df` and `df_residual`, or chi-squared
          where that is NaN, with readers fixed); `p_adjusted` with `adjust`;
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`; `inference_to`: "readers and cases",
          "these readers" or "these cases";
        - `n` defined scores, `n_missing` undefined ones (`n_absent`, where there is any, those of absent
          findings), `n_units`; `n_shared` and `caution` where methods have different cases, as for
          `summarize`; `df_residual`;
        - `reference_mean`, `method_mean`, `verdict` of differences, with `margin` its columns, as in
          `difference`;
        - `test`, `figure`, `covariance`, `n_readers`, `design` ("factorial", "readers nested in methods",
          "split plot", ...); `n_replicates` of a bootstrap.

    Raises
    ------
    ColumnError
        No column `reader`, or an empty cell of it; a truth that is not 0 or 1, or not one per case; invalid
        columns otherwise.
    SalstatsError
        One reader; a reader with a single case (or positive, or negative case) of a method; some readers with
        some of the methods; some methods on the same cases and others on other cases; several scores of one
        reader, case and method; a unit that splits a case; an unknown reference; `readers` and `cases` both
        fixed.
    ValueRangeError
        An unknown option, or a covariance that is not for this figure.

    Warns
    -----
    SalstatsWarning
        A covariance over cases that is estimated below 0 and taken as 0; no variance; readings that are
        missing without a pattern; methods with different cases.

    Notes
    -----
    For t methods, r readers and figures A_ij: MS(T) = r sum (A_i. - A..)^2 / (t - 1), MS(TR) is that of
    readers by method, Var the mean variance of a figure over cases, Cov1 the mean covariance of one reader's
    figures with two methods, Cov2 of two readers' with one method, Cov3 of two readers' with two methods.
    MS(T) is compared with

    - readers and cases random: D = MS(TR) + r max(Cov2 - Cov3, 0), with D^2 / (MS(TR)^2 / ((t - 1)(r - 1)))
      degrees of freedom (Hillis 2007);
    - readers fixed: Var - Cov1 + (r - 1) max(Cov2 - Cov3, 0), by chi-squared;
    - cases fixed: MS(TR), with its own.

    A difference has standard error sqrt(2 D / r). A mean uses the cells of its own method only, with variance
    MS(R)/r + max(Cov2, 0) and degrees of freedom that follow in the same way. Where readers are nested in
    methods (each reader has one method), MS(R(T)) takes the place of MS(TR). With different numbers of
    readers, 1/r_1 + 1/r_2 takes the place of 2/r, and the global test has the r of an unbalanced one-way
    analysis, (N - sum r_i^2 / N) / (t - 1) with N readers. Cases nested in readers or methods share no
    covariance. Where readings are missing, each covariance is of the cases that both cells have, with the
    factor that makes it unbiased, and all readers have the same weight; for areas `unbiased` is Gallas'
    U-statistic of each two cells. All pairs of methods have the same covariances, so that methods on the same
    cases cannot be compared together with a method on other cases. With complete readings the variance of
    `unbiased` (for means that of the jackknife) is the U-statistic of Gallas et al. itself, except that it
    does not fall below MS(TR). iMRMC weights readers by their cases.

    Of simulated differences of two equal methods, 3 to 6 readers and 30 or 100 cases, means, hit rates and
    areas, 95 % limits held in 91 to 97 % (of 3 readers in 91 to 96 %). Those of `difference`, which takes
    readers for fixed, held in 95 to 97 % where readers are alike, in 72 to 94 % where the interaction of
    readers and methods is a fiftieth of a reading's variance, and in 42 to 84 % where it is a twelfth.

    Checked against R's MRMCaov 0.3.0 and RJafroc 2.1.2. MRMCaov 0.3.0 lets Cov2 - Cov3 fall below 0 where
    readers are fixed, and has an error for readers nested in methods (its later source has neither); it gives
    P = 0 below 1e-16.

    References
    ----------
    Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple
    tests: an ANOVA approach with dependent observations. Commun Stat Simul Comput 1995;24:285-308.
    https://doi.org/10.1080/03610919508813243

    Hillis SL. A comparison of denominator degrees of freedom methods for multiple observer ROC analysis. Stat
    Med 2007;26:596-619. https://doi.org/10.1002/sim.2532

    Hillis SL. A marginal-mean ANOVA approach for analyzing multireader multicase radiological imaging data.
    Stat Med 2014;33:330-360. https://doi.org/10.1002/sim.5926

    Gallas BD, Pennello GA, Myers KJ. Multireader multicase variance analysis for binary data. J Opt Soc Am A
    2007;24:B70-B80. https://doi.org/10.1364/JOSAA.24.000B70

    Examples
    --------
    >>> import numpy as np, pandas as pd, salstats as ss
    >>> rng = np.random.default_rng(1)
    >>> cases, readers, rest = (rng.normal(0, sd, n) for sd, n in (
    ...     (0.1, (20, 1, 2)), (0.03, (1, 4, 1)), (0.05, (20, 4, 2))))
    >>> names = [range(20), ["ann", "bob", "cid", "dee"], ["cam", "human"]]
    >>> index = pd.MultiIndex.from_product(names, names=["case", "reader", "method"])
    >>> iou = (0.5 + cases + readers + rest + [0, 0.1]).ravel()
    >>> scores = pd.DataFrame({"metric": "iou", "score": iou}, index=index).reset_index()
    >>> ss.mrmc(scores, reference="human")[["term", "method", "estimate", "df", "p_value"]].round(2)
             term method  estimate       df  p_value
    0        mean    cam      0.48    40.85      NaN
    1        mean  human      0.58  2686.64      NaN
    2  difference    cam     -0.10   181.89      0.0
    3       equal    NaN       NaN     1.00      0.0
    """
    options = checked_mrmc_options(figure, label, covariance, readers, cases, n_replicates, rng)
    checked_procedure(adjust, "adjust")
    level = check_level(level)
    keys, unit_name, groups = figures_of_groups(scores, by, unit, options)
    groups_by_problem: dict[str, list[Message]] = defaultdict(list)
    rows: list[dict[str, Any]] = []
    for group, group_figures in enumerate(groups):
        group_rows, problems = _group_rows_and_warnings(group_figures, options.analysis, reference)
        rows += [{"group": group} | row for row in group_rows]
        unique_problems = dict.fromkeys(problems)
        for problem in unique_problems:
            groups_by_problem[problem].append(group_label(keys, group))
    for problem, labels in groups_by_problem.items():
        warn(problem, ": ", joined_group_labels(labels), column=_COLUMN_OF_PROBLEM[problem])
    table = {}
    for column in rows[0]:
        table[column] = np.array([row[column] for row in rows])
    key_columns = {column: keys[column].array.take(table["group"]) for column in keys}
    key_columns["method"] = text_column(table.pop("method"))
    key_columns["reference"] = text_column(table.pop("reference"))
    row_keys = pd.DataFrame(key_columns)
    is_difference = table["term"] == "difference"
    estimate = table["estimate"]
    std_error = table["std_error"]
    df = table["df"]
    # A standard error of 0 comes from figures that do not vary, and gives no limits.
    has_limits = std_error > 0
    low, high = t_limits(estimate, std_error, df, level)
    low = np.where(has_limits, low, np.nan)
    high = np.where(has_limits, high, np.nan)
    excludes_zero = (low > 0) | (high < 0)
    side = lower_or_higher_verdicts(np.where(is_difference, estimate, 0.0), excludes_zero)
    verdict_columns: dict[str, Any] = {"verdict": side}
    if margin is not None:
        metrics = np.full(len(rows), "auc")
        if not options.figure.needs_label:
            metrics = metric_of_each_key(row_keys, scores)
        verdict_columns = _margin_columns_of_differences(
            estimate, std_error, df, margin, metrics, side, is_difference, level
        )
    verdict_columns["verdict"] = _text_column_where(is_difference, verdict_columns["verdict"])
    columns: dict[str, Any] = {column: table[column] for column in _COPIED_COLUMNS}
    if table["n_absent"].any():
        columns["n_absent"] = table["n_absent"]
    if not table["same_cases"].all():
        columns["n_shared"] = table["n_shared"]
    columns |= {
        "df": np.where(np.isinf(df), np.nan, df),
        "conf_low": low,
        "conf_high": high,
        "conf_level": level,
        "interval": _text_column_where(has_limits, [INTERVAL] * len(rows)),
        "unit": unit_name,
        "inference_to": options.analysis.inference_to,
    }
    special: dict[str, Any] = {
        "df_residual": table["df_residual"],
        # in the order of `difference`
        "reference_mean": table["reference_mean"],
        "method_mean": table["method_mean"],
        **verdict_columns,
    }
    special |= {"test": TEST, "figure": figure, "covariance": covariance}
    special |= {"n_readers": table["n_readers"], "design": table["design"]}
    if covariance == "bootstrap":
        special["n_replicates"] = n_replicates
    frame = estimates_frame(row_keys, columns, special)
    frame = add_caution(frame, DIFFERENT_CASES, table["different_cases"])
    return adjust_unless_none(frame, adjust)


def _group_rows_and_warnings(
    group_figures: GroupFigures, analysis: Analysis, reference: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of one group, and texts of warnings about them.

    The rows are a mean for each method, a difference for each pair, and the global test.
    """
    methods = group_figures.study.methods
    table = group_figures.anova
    means = table.means
    # Standard errors up to this one are rounding errors, and count as 0.
    smallest_error = ROUNDING * np.abs(group_figures.values).max()
    rows = []
    problems = []
    for i, method in enumerate(methods):
        method_table = group_figures.reader_anova_of_method(i)
        error, df = std_error_of_mean(method_table, analysis)
        if not error > smallest_error:
            error = 0.0
        problems += _warning_texts(method_table, analysis, [error])
        row = _row_with_counts_only(group_figures, "mean", [i])
        row |= {"method": method, "estimate": means[i], "std_error": error, "df": df}
        row["n_readers"] = int(table.n_readers[i])
        rows.append(row)
    difference_errors = []
    for i, j in _positions_of_compared_methods(methods, reference):
        error, df = std_error_of_method_difference(table, analysis, i, j)
        if not error > smallest_error:
            error = 0.0
        difference_errors.append(error)
        difference = means[i] - means[j]
        statistic = difference / error if error > 0 else np.nan
        row = _row_with_counts_only(group_figures, "difference", [i])
        row |= {
            "method": methods[i],
            "reference": methods[j],
            "estimate": difference,
            "std_error": error,
            "df": df,
            "statistic": statistic,
            "p_value": 2 * special.stdtr(df, -abs(statistic)),
            "method_mean": means[i],
            "reference_mean": means[j],
        }
        rows.append(row)
    if len(methods) > 1:
        problems += _warning_texts(table, analysis, difference_errors)
        test = global_test(table, analysis, smallest_error)
        if np.isnan(test.statistic):
            problems.append(_NO_VARIANCE)
        row = _row_with_counts_only(group_figures, "equal", range(len(methods)))
        row |= {
            "statistic": test.statistic,
            "df": test.df,
            "df_residual": np.nan if np.isinf(test.df_residual) else test.df_residual,
            "p_value": test.p_value,
        }
        rows.append(row)
    return rows, problems


def _row_with_counts_only(group_figures: GroupFigures, term: str, methods: Sequence[int]) -> dict[str, Any]:
    """Return the row of a term with its counts over `methods` (positions), and NaN for all estimates."""
    study = group_figures.study
    row: dict[str, Any] = dict.fromkeys(_OPTIONAL_NUMBERS, np.nan)
    row |= dict.fromkeys(("method", "reference"))
    row |= {
        "term": term,
        "design": study.design,
        "n_readers": int(study.readings.readers.max()) + 1,
        "n": int(study.n[list(methods)].sum()),
        "n_missing": int(study.n_missing[list(methods)].sum()),
        "n_absent": int(study.n_absent[list(methods)].sum()),
        "n_units": group_figures.n_units_with_any_method(methods),
        "n_shared": study.n_shared,
        "same_cases": study.n_shared == study.n_any,
        "different_cases": study.methods_have_different_cases,
    }
    return row


def _warning_texts(table: AnovaTable, analysis: Analysis, std_errors: Sequence[float]) -> list[str]:
    """Return texts of warnings: a covariance gap below 0, which counts as 0, and standard errors of 0."""
    problems = []
    if analysis is not ANALYSES[True, False] and table.covariance_gap < 0:
        problems.append(_NEGATIVE_GAP)
    if not all(std_error > 0 for std_error in std_errors):
        problems.append(_NO_VARIANCE)
    return problems


def _positions_of_compared_methods(methods: list[str], reference: str | None) -> list[tuple[int, int]]:
    """Positions of the two methods of each comparison: all with the reference, or all pairs without one."""
    if reference is None:
        return list(itertools.combinations(range(len(methods)), 2))
    reference = str(reference)
    if reference not in methods:
        suggestion = did_you_mean(reference, methods)
        raise SalstatsError(
            Setting("reference", reference),
            f" is not a method of these scores ({quoted(methods)}){suggestion}",
            choices=methods,
        )
    if len(methods) == 1:
        raise SalstatsError(
            f"{reference!r} is the only method of these scores, so that there is nothing to compare",
            option="reference",
            value=reference,
        )
    reference_position = methods.index(reference)
    return [(i, reference_position) for i in range(len(methods)) if i != reference_position]


def _margin_columns_of_differences(
    estimate: np.ndarray,
    std_error: np.ndarray,
    df: np.ndarray,
    margin: Margin,
    metrics: np.ndarray,
    verdict_without_margin: np.ndarray,
    is_difference: NDArray[np.bool_],
    level: float,
) -> dict[str, Any]:
    """Return the columns of a margin for rows of differences, NaN in other rows.

    `estimate`, `std_error`, `df` and `verdict_without_margin` have shape (n_rows,).
    """
    low, high = margin_bounds(margin, metrics)
    low = np.where(is_difference, low, np.nan)
    high = np.where(is_difference, high, np.nan)
    warn_of_margin_units(low[is_difference], high[is_difference], "difference", metrics[is_difference])
    p_value = margin_p_value(partial(one_sided_p_values_of_t_test, estimate, std_error, df), low, high)
    is_shown = is_strictly_below(p_value, 1 - level)
    return margin_columns(
        verdict_without_margin, metrics, MarginTest(low, high, p_value), is_shown, score_sign=1
    )


def _text_column_where(mask: NDArray[np.bool_], texts: Sequence[str] | np.ndarray) -> Any:
    """Return texts as a column, missing where the mask is false."""
    return text_column(str(text) if present else None for present, text in zip(mask, texts, strict=True))
