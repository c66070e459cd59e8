"""Coefficients of covariates with large numbers, for 10, 100, 1,000 and so on of their unit."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.display.estimates import Estimates
from salstats.display.text.terms import COVARIATE_UNITS, numeric_variable_names, variables_of_rows
from salstats.errors import Message, SalstatsError, Setting
from salstats.stats.adjust import INTERCEPT

#: Columns that are effects of a covariate.
_EFFECTS = ("estimate", "conf_low", "conf_high")
#: A coefficient that is smaller than this, like both of its limits, is a zero in print.
_SMALLEST_LEGIBLE = 0.001
#: A rescaled coefficient or one of its limits is at least this large, and has two digits at three decimals.
_SMALLEST_RESCALED = 0.01
#: Smaller coefficients are rounding errors of models without any residuals.
_ROUNDING = 1e-9


def has_coefficients(estimates: Estimates) -> bool:
    """Return whether estimates are coefficients of models or slopes, not means, contrasts or variances."""
    has_terms = bool(estimates.distinct_values("formula")) and bool(estimates.distinct_values("term"))
    return has_terms and not estimates.distinct_values("parameter")


def without_intercepts(estimates: Estimates) -> Estimates:
    """Return coefficients without intercepts, as a figure shows them; raise SalstatsError if none is left."""
    is_intercept = estimates.frame["term"] == INTERCEPT
    if is_intercept.all():
        raise SalstatsError(
            f"{estimates.name} holds only intercepts",
            hint=Message("pass ", Setting("intercept", True), " to draw them"),
            column="term",
        )
    return estimates.subset(~is_intercept)


def coefficients_per_power_of_ten_units(estimates: Estimates) -> Estimates:
    """Return coefficients per 10, 100, 1,000 and so on of a covariate where those per 1 are zeros in print.

    The number is the smallest power of ten that leaves two digits at three decimals in the models of each
    outcome. Terms of the same covariates, such as `area_mm2` and `area_mm2:taskEdema`, share it, and the
    column `covariate_units` holds it. Estimates, limits and standard errors are multiplied by it; of ratios,
    their logarithms. Levels of factors and covariates on a scale of their own (`normalized`, `scale(...)`)
    stay.

    Parameters
    ----------
    estimates : Estimates
        Coefficients, or average marginal effects.

    Returns
    -------
    Estimates
        The same rows; the same object where nothing is changed.
    """
    is_ratio = estimates.is_exponentiated
    covariates = _joined_unscaled_covariates_of_rows(estimates)
    magnitudes = pd.Series(_largest_magnitudes_on_link_scale(estimates))
    sizes = magnitudes.groupby([covariates, _outcome_and_metric_text_of_rows(estimates)]).max()
    smallest_sizes = sizes.groupby(level=0).min()
    n_units = np.ones(len(estimates))
    for name, size in smallest_sizes.items():
        if name and size < _SMALLEST_LEGIBLE:
            # rounded, since the logarithm of 1,000 may be a little more than 3
            exponent = np.ceil(np.round(np.log10(_SMALLEST_RESCALED / size), 9))
            n_units[covariates == name] = 10.0**exponent
    if (n_units == 1).all():
        return estimates
    changed = {COVARIATE_UNITS: n_units}
    for column in _EFFECTS:
        values = estimates.numbers(column)
        rescaled = values * n_units
        # the logarithm of a ratio is multiplied by the number of units
        rescaled[is_ratio] = values[is_ratio] ** n_units[is_ratio]
        changed[column] = rescaled
    if "std_error" in estimates.frame.columns:
        # standard errors of ratios are those of their logarithms
        changed["std_error"] = estimates.numbers("std_error") * n_units
    return estimates.with_columns(**changed)


def _largest_magnitudes_on_link_scale(estimates: Estimates) -> NDArray[np.float64]:
    """Return the largest absolute value of each row's estimate and limits, for ratios of their logarithms.

    Infinite limits and rounding errors do not count; a row without other values has NaN.
    """
    is_ratio = estimates.is_exponentiated
    largest = np.full(len(estimates), np.nan)
    for column in _EFFECTS:
        values = estimates.numbers(column)
        # a ratio of 0, whose logarithm is infinite, does not count, nor does a negative one
        is_positive_ratio = is_ratio & (values > 0)
        sizes = np.abs(values)
        sizes[is_positive_ratio] = np.abs(np.log(values[is_positive_ratio]))
        sizes[is_ratio & ~is_positive_ratio] = np.nan
        is_counted = (sizes > _ROUNDING) & np.isfinite(sizes)
        largest = np.fmax(largest, np.where(is_counted, sizes, np.nan))
    return largest


def _outcome_and_metric_text_of_rows(estimates: Estimates) -> NDArray[np.object_]:
    """Return the outcome of each row's model, with its metric where the frame has a column of metrics."""
    formulas_and_metrics = zip(estimates.row_values("formula"), estimates.row_values("metric"), strict=True)
    outcomes = [f"{str(formula).partition('~')[0]}: {metric}" for formula, metric in formulas_and_metrics]
    return np.array(outcomes, dtype=object)


def _joined_unscaled_covariates_of_rows(estimates: Estimates) -> NDArray[np.object_]:
    """Return the numeric variables in each row's term; "" where it has none or they are rescaled already."""
    # True is read as 1.0 from files in which some rows have no value
    is_normalized = [value == 1 for value in estimates.row_values("normalized")]
    covariates = []
    for row, variables in enumerate(variables_of_rows(estimates)):
        numbers = numeric_variable_names(variables)
        is_scaled = is_normalized[row] or any(name.startswith("scale(") for name in numbers)
        if is_scaled or numbers == (INTERCEPT,):
            covariates.append("")
        else:
            covariates.append(":".join(sorted(numbers)))
    return np.array(covariates, dtype=object)
