"""Printed summaries of fitted models, in the layout of R's `summary()`."""

import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.stats.models.error_kinds import CLUSTERED_ERRORS, ERRORS
from salstats.stats.models.fitted_models import Fitted, Model
from salstats.stats.models.goodness_of_fit import glance
from salstats.stats.models.random_effect_summaries import RESIDUAL, variance_components_without_limits
from salstats.stats.models.regression import coefficient_rows, n_coefficient_rows

#: Smallest P value that is printed, as in R.
_SMALLEST_P = 2e-16
#: Mark of P values below each bound; the first bound that fits counts.
_MARKS = {0.001: "***", 0.01: "**", 0.05: "*", 0.1: "."}
_LEGEND = "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1"
#: Significant digits of the smallest estimate or standard error.
_DIGITS = 4
#: Numbers that would need more decimals are in scientific notation.
_MAX_DECIMALS = 8
#: Most coefficients whose correlations are printed, as in lme4.
_MAX_CORRELATED = 12
#: Lengths to which the names of rows and columns of a correlation matrix are abbreviated, as in lme4; names
#: that would be equal are longer.
_ROW_NAME_LENGTH = 11
_COLUMN_NAME_LENGTH = 6


@dataclass(frozen=True, repr=False, eq=False)
class FitSummary:
    """The summary of fitted models: a text, which is printed, and the frames that it is made of."""

    #: The text, a block for each model.
    text: str
    #: The coefficients, as `Fit.tidy` returns them.
    coefficients: pd.DataFrame
    #: Goodness of fit, as `Fit.glance` returns it.
    statistics: pd.DataFrame
    #: Variances and correlations of random effects: the columns of `Fit.variance_components` without tests,
    #: limits and shares. None for models without random effects.
    random_effects: pd.DataFrame | None

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


def fit_summary(fitted: Fitted) -> FitSummary:
    """Return the result of `Fit.summary`."""
    coefficients = coefficient_rows(fitted)
    statistics = glance(fitted)
    components = None
    if fitted.is_mixed:
        components = variance_components_without_limits(fitted)
    blocks = []
    first_coefficient = 0
    for position, model in enumerate(fitted.models):
        end = first_coefficient + n_coefficient_rows(model)
        rows = coefficients.iloc[first_coefficient:end]
        first_coefficient = end
        model_components = None
        if components is not None:
            model_components = components[components["model"] == position]
        lines = _model_lines(fitted, model, rows, statistics.iloc[position], model_components)
        blocks.append("\n".join(lines))
    if components is not None:
        components = components.drop(columns="model")
    return FitSummary("\n\n\n".join(blocks), coefficients, statistics, components)


def _model_lines(
    fitted: Fitted,
    model: Model,
    coefficients: pd.DataFrame,
    statistics: pd.Series,
    components: pd.DataFrame | None,
) -> list[str]:
    """Return the lines of one model."""
    lines = [_model_kind_title(fitted), f"Formula: {model.formula.text}"]
    for column, value in zip(fitted.by, model.key, strict=True):
        lines.append(f"{column}: {value}")
    if fitted.reference is not None:
        lines.append(f"Outcome: {fitted.reference} minus the method")
    if model.solution is None:
        return [*lines, "", f"No estimates from {len(model.rows)} rows."]
    if components is not None:
        lines += _likelihood_lines(fitted, statistics)
    if model.family.is_linear:
        lines += _residual_quantile_lines(model, is_mixed=components is not None)
    if components is not None:
        lines += ["", "Random effects:", *_component_lines(components)]
    heading = "Coefficients" if components is None else "Fixed effects"
    lines += _coefficient_lines(coefficients, heading)
    lines += ["", *_standard_error_lines(fitted, model), *_fit_and_count_lines(model, statistics, components)]
    if components is not None:
        lines += _coefficient_correlation_lines(model)
    return lines


def _coefficient_lines(coefficients: pd.DataFrame, heading: str) -> list[str]:
    """Return the tables of coefficients of one model, one for each of its parts, and the legend of marks."""
    parts = [""]
    if "part" in coefficients:
        parts = list(dict.fromkeys(coefficients["part"]))
    lines = []
    any_mark = False
    for part in parts:
        rows = coefficients
        title = heading
        if part:
            rows = coefficients[coefficients["part"] == part]
            title = f"{heading} ({part})"
        table = _aligned_coefficient_lines(rows)
        lines += ["", f"{title}:", *table.lines]
        any_mark = any_mark or table.any_mark
    if any_mark:
        lines += ["---", _LEGEND]
    return lines


def _model_kind_title(fitted: Fitted) -> str:
    """Return the first line of a model's summary: its kind, such as "Linear regression"."""
    if fitted.is_mixed:
        likelihood = "REML" if fitted.reml else "maximum likelihood"
        return f"Linear mixed model fit by {likelihood}"
    label = fitted.family.label
    title = f"{label[:1].upper()}{label[1:]} regression"
    if fitted.correlation is not None:
        title += f" (GEE), {fitted.correlation} working correlation"
    return title


def _likelihood_lines(fitted: Fitted, statistics: pd.Series) -> list[str]:
    """Return the REML criterion of a mixed model, or AIC, BIC, log likelihood and deviance, as lme4 does."""
    if fitted.reml:
        return ["", f"REML criterion at convergence: {statistics['deviance']:.1f}"]
    names = ["aic", "bic", "log_lik", "deviance", "df_residual"]
    titles = ["AIC", "BIC", "logLik", "deviance", "df.resid"]
    values = [f"{statistics[name]:.1f}" for name in names[:-1]]
    values.append(f"{statistics['df_residual']:.0f}")
    return ["", *_aligned_lines([titles, values])]


def _residual_quantile_lines(model: Model, *, is_mixed: bool) -> list[str]:
    """Return the quantiles of the residuals, in mixed models divided by their standard deviation."""
    solution = model.solution
    assert solution is not None
    residual = solution.residual
    heading = "Residuals"
    if is_mixed:
        heading = "Scaled residuals"
        residual = residual / np.sqrt(solution.dispersion)
    quantiles = np.quantile(residual, [0, 0.25, 0.5, 0.75, 1])
    values = _texts_with_common_decimals(quantiles, decimals_for_four_digits(np.abs(quantiles).max()))
    return ["", f"{heading}:", *_aligned_lines([["Min", "1Q", "Median", "3Q", "Max"], values])]


def _component_lines(components: pd.DataFrame) -> list[str]:
    """Return the table of variances and correlations of random effects, as lme4 prints it."""
    variances = components[components["parameter"] == "variance"]
    correlations = components[components["parameter"] == "correlation"]
    n_correlation_columns = 0
    rows = []
    groups_before: list[str] = []
    # A standard deviation of 0 needs no digits; that of the residuals is never 0.
    std_devs = variances["std_dev"]
    decimals = decimals_for_four_digits(std_devs[std_devs > 0].min())
    for row in variances.itertuples():
        name = "" if row.group == RESIDUAL else str(row.term)
        texts = [
            "" if row.group in groups_before else str(row.group),
            name,
            f"{row.estimate:.{_DIGITS}g}",
            f"{row.std_dev:.{decimals}f}",
        ]
        groups_before.append(str(row.group))
        # The term of a correlation is a pair; it is printed in the row of the second effect.
        correlations_with_earlier = correlations[
            (correlations["group"] == row.group) & correlations["term"].str.endswith(f", {name}")
        ]
        texts += [f"{value:.2f}" for value in correlations_with_earlier["estimate"]]
        n_correlation_columns = max(n_correlation_columns, len(correlations_with_earlier))
        rows.append(texts)
    header = ["Groups", "Name", "Variance", "Std.Dev."]
    if n_correlation_columns:
        header += ["Corr"] + [""] * (n_correlation_columns - 1)
    for texts in rows:
        texts += [""] * (len(header) - len(texts))
    return _aligned_lines([header, *rows], n_left=2)


@dataclass(frozen=True)
class _MarkedLines:
    """Lines of a printed table, some of them with a mark of significance."""

    lines: list[str]
    #: True if some P value has a mark.
    any_mark: bool


def _aligned_coefficient_lines(coefficients: pd.DataFrame) -> _MarkedLines:
    """Return the table of coefficients: estimates, standard errors, statistics and P values."""
    is_normal = bool((coefficients["interval"] == "wald").all())
    letter = "z" if is_normal else "t"
    has_one_df = coefficients["df"].nunique() <= 1
    estimates = coefficients["estimate"].to_numpy()
    std_errors = coefficients["std_error"].to_numpy()
    numbers = np.abs(np.concatenate([estimates, std_errors]))
    is_printed = np.isfinite(numbers) & (numbers > 0)
    decimals = 1
    if is_printed.any():
        decimals = decimals_for_four_digits(numbers[is_printed].min())
    columns = {
        "": coefficients["term"].tolist(),
        "Estimate": _texts_with_common_decimals(estimates, decimals),
        "Std. Error": _texts_with_common_decimals(std_errors, decimals),
    }
    if not is_normal and not has_one_df:
        columns["df"] = _texts_with_common_decimals(coefficients["df"].to_numpy(), 1)
    columns[f"{letter} value"] = _texts_with_common_decimals(coefficients["statistic"].to_numpy(), 3)
    columns[f"Pr(>|{letter}|)"] = [_p_value_text_as_in_r(p) for p in coefficients["p_value"]]
    marks = [_significance_mark(p) for p in coefficients["p_value"]]
    rows = [list(columns)]
    rows += [list(texts) for texts in zip(*columns.values(), strict=True)]
    lines = _aligned_lines(rows, n_left=1)
    lines[1:] = [f"{line} {mark}".rstrip() for line, mark in zip(lines[1:], marks, strict=True)]
    return _MarkedLines(lines, any(marks))


def _standard_error_lines(fitted: Fitted, model: Model) -> list[str]:
    """Return the kind of standard errors, with the number of clusters or the residual degrees of freedom."""
    label = ERRORS[fitted.errors].label.format(unit=fitted.unit)
    text = f"{label[:1].upper()}{label[1:]}"
    if fitted.errors in CLUSTERED_ERRORS:
        text += f", {model.n_units} clusters"
    is_clustered = model.clusters is not None and fitted.errors in CLUSTERED_ERRORS
    uses_residual_df = not fitted.is_mixed and not fitted.family.uses_normal and not is_clustered
    if uses_residual_df and model.solution is not None:
        text += f", t with {model.solution.df_residual:.0f} degrees of freedom"
    return [text]


def _fit_and_count_lines(model: Model, statistics: pd.Series, components: pd.DataFrame | None) -> list[str]:
    """Return the goodness of fit, and the numbers of observations and groups."""
    lines = []
    if components is None and model.family.is_linear:
        lines += [
            f"Residual standard error: {statistics['sigma']:.4g} "
            f"on {statistics['df_residual']:.0f} degrees of freedom",
            f"Multiple R-squared: {statistics['r_squared']:.4g}, "
            f"Adjusted R-squared: {statistics['adj_r_squared']:.4g}",
        ]
        if np.isfinite(statistics["statistic"]):
            p_value_text = _p_value_text_as_in_r(statistics["p_value"])
            lines.append(
                f"F-statistic: {statistics['statistic']:.4g} on {statistics['df']:.0f} and "
                f"{statistics['df_denominator']:.4g} DF, p-value: {p_value_text}"
            )
    if components is None and not model.family.is_linear:
        lines += _deviance_and_aic_lines(statistics)
    counts = f"Number of obs: {statistics['nobs']:.0f}"
    if components is not None:
        groups = components.drop_duplicates("group")
        groups = groups[groups["group"] != RESIDUAL]
        texts = [f"{row.group}, {row.n_groups:.0f}" for row in groups.itertuples()]
        counts += f", groups: {'; '.join(texts)}"
    lines.append(counts)
    if model.n_missing:
        lines.append(f"  ({model.n_missing} observations left out because a variable is missing)")
    return lines


def _coefficient_correlation_lines(model: Model) -> list[str]:
    """Return the table of the correlations of a mixed model's coefficients, as lme4 prints it.

    There is none for one coefficient or for more than `_MAX_CORRELATED`. As in lme4 the covariance is the one
    without the adjustment of Kenward and Roger, whatever the standard errors are.
    """
    solution = model.solution
    assert solution is not None
    assert solution.inference is not None
    n_coefficients = solution.rank
    if not 1 < n_coefficients <= _MAX_CORRELATED:
        return []
    covariance = solution.inference.covariance("satterthwaite")
    std_error = np.sqrt(np.diag(covariance))
    # adding 0 turns -0.0 into 0.0
    correlation = np.round(covariance / np.outer(std_error, std_error), 3) + 0.0
    width = 6 if correlation.min() < 0 else 5
    row_names = _distinct_abbreviations(model.coefficient_names, _ROW_NAME_LENGTH)
    column_names = _distinct_abbreviations(model.coefficient_names, _COLUMN_NAME_LENGTH)[:-1]
    rows = [["", *column_names]]
    for i in range(1, n_coefficients):
        texts = [f"{value:{width}.3f}" for value in correlation[i, :i]]
        texts += [""] * (len(column_names) - i)
        rows.append([row_names[i], *texts])
    return ["", "Correlation of Fixed Effects:", *_aligned_lines(rows, n_left=len(rows[0]))]


def _distinct_abbreviations(names: Sequence[str], length: int) -> list[str]:
    """Return abbreviations of names as R's `abbreviate`; those that would be equal are longer."""
    abbreviations = [_with_letters_dropped(name, length) for name in names]
    longest = max(len(name) for name in names)
    while len(set(abbreviations)) < len(names) and length < longest:
        length += 1
        repeated = {text for text in abbreviations if abbreviations.count(text) > 1}
        for i, name in enumerate(names):
            if abbreviations[i] in repeated:
                abbreviations[i] = _with_letters_dropped(name, length)
    return abbreviations


def _with_letters_dropped(name: str, length: int) -> str:
    """Return a name of at most `length` characters if possible, as R's `abbreviate`.

    Longer names lose their blanks and as many letters as needed: first lower-case vowels, then other
    lower-case letters, then any. Letters at the ends of words are dropped before others, the last one first;
    the first letter of each word is kept.
    """
    if len(name) <= length:
        return name
    words = name.split()
    for droppable, at_ends in [
        ("aeiou", True),
        ("aeiou", False),
        (string.ascii_lowercase, True),
        (string.ascii_lowercase, False),
        (name, False),
    ]:
        for position in reversed(range(len(words))):
            word = words[position]
            for i in reversed(range(1, len(word))):
                n_letters = sum(map(len, words))
                is_end = i == len(word) - 1
                if n_letters > length and word[i] in droppable and (is_end or not at_ends):
                    word = word[:i] + word[i + 1 :]
                    words[position] = word
    return "".join(words)


def _deviance_and_aic_lines(statistics: pd.Series) -> list[str]:
    """Return a line for each of null deviance, residual deviance and AIC that a model has."""
    lines = []
    if np.isfinite(statistics["null_deviance"]):
        lines.append(
            f"Null deviance: {statistics['null_deviance']:.2f} "
            f"on {statistics['df_null']:.0f} degrees of freedom"
        )
    if np.isfinite(statistics["deviance"]):
        lines.append(
            f"Residual deviance: {statistics['deviance']:.2f} "
            f"on {statistics['df_residual']:.0f} degrees of freedom"
        )
    if np.isfinite(statistics["aic"]):
        lines.append(f"AIC: {statistics['aic']:.2f}")
    return lines


def decimals_for_four_digits(number: float) -> int:
    """Return the number of decimals with which a number has four significant digits; at least one."""
    if not np.isfinite(number) or number <= 0:
        return 1
    return max(1, _DIGITS - 1 - int(np.floor(np.log10(number))))


def _texts_with_common_decimals(values: np.ndarray, decimals: int) -> list[str]:
    """Return numbers as texts with equal decimals; NaN is "NA".

    They are in scientific notation if that would be more than `_MAX_DECIMALS` decimals.
    """
    notation = f".{decimals}f" if decimals <= _MAX_DECIMALS else f".{_DIGITS - 1}e"
    return ["NA" if np.isnan(value) else format(value, notation) for value in values]


def _p_value_text_as_in_r(p: float) -> str:
    """Return a P value with three significant digits, as R prints it.

    It has more digits where the rounded value would have another significance mark.
    """
    if np.isnan(p):
        return "NA"
    if p < _SMALLEST_P:
        return "<2e-16"
    if p < 1e-4:
        return f"{p:.2e}"
    decimals = max(3, 2 - int(np.floor(np.log10(p))))
    text = f"{p:.{decimals}f}"
    while _significance_mark(float(text)) != _significance_mark(p):
        decimals += 1
        text = f"{p:.{decimals}f}"
    return text


def _significance_mark(p: float) -> str:
    """Return the mark of a P value, "" for a large one or NaN."""
    for bound, mark in _MARKS.items():
        if p < bound:
            return mark
    return ""


def _aligned_lines(rows: Sequence[Sequence[str]], n_left: int = 0) -> list[str]:
    """Return rows of texts as lines of aligned columns; the first `n_left` columns are aligned left."""
    widths = [max(len(text) for text in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        texts = []
        for position, (text, width) in enumerate(zip(row, widths, strict=True)):
            if position < n_left:
                texts.append(text.ljust(width))
            else:
                texts.append(text.rjust(width))
        lines.append(" ".join(texts).rstrip())
    return lines
