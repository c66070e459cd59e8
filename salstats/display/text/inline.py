"""Estimates as they stand in running text."""

import math
from typing import Any

import pandas as pd

from salstats.checks import check_choice, check_count
from salstats.display.estimates import read_estimates
from salstats.display.text.covariate_units import coefficients_per_power_of_ten_units, has_coefficients
from salstats.display.text.format import (
    LEVEL_TOLERANCE,
    MISSING,
    STYLES,
    JournalStyle,
    fixed_text,
    level_text_without_percent_sign,
    limits_text,
    p_statement,
    p_text_adjusted_if_any,
    p_value_adjusted_if_any,
)
from salstats.display.text.labels import Labels
from salstats.display.text.terms import covariate_units_text_of_each_row
from salstats.display.text.vocabulary import limits_name_after_level


def inline_text(
    estimates: pd.DataFrame, *, digits: int = 3, style: str = "nature", p_values: bool = False
) -> list[str]:
    """Return estimates as they stand in running text, one text per row.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame: `estimate`, and where they are there `conf_low, conf_high, conf_level` and
        `p_value, p_adjusted`.
    digits : int
        Decimals of estimate and limits.
    style : {"nature", "radiology", "ama", "brackets"}
        "0.566 [95% CI 0.526, 0.606]", "0.566 (95% CI: 0.526, 0.606)" or "0.566 (95% CI, 0.526 to 0.606)".
    p_values : bool
        Add the P value, adjusted where the row has an adjusted one.

    Returns
    -------
    list of str
        In the frame's order; a missing estimate is a dash. The term `percent_decrease` is in percent.
        Coefficients and slopes of a covariate that are zeros at three decimals are those of 10, 100, 1,000
        and so on of its unit, and say so as in tables: "0.052 per 1,000 mm² [95% CI 0.030, 0.074]".

    Raises
    ------
    ColumnError
        No column `estimate`.
    SalstatsError
        An unknown style, or digits below zero.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> row = {"estimate": 0.566, "conf_low": 0.526, "conf_high": 0.606, "conf_level": 0.95, "p_value": 1e-9}
    >>> ss.inline_text(pd.DataFrame([row]))
    ['0.566 [95% CI 0.526, 0.606]']
    >>> ss.inline_text(pd.DataFrame([row]), style="radiology", digits=2, p_values=True)
    ['0.57 (95% CI: 0.53, 0.61; P < .001)']
    """
    rescaled = read_estimates(estimates)
    check_choice(style, tuple(STYLES), "style")
    check_count(digits, "digits", 0)
    p_name = "P" if p_values else ""
    if has_coefficients(rescaled):
        rescaled = coefficients_per_power_of_ten_units(rescaled)
    rows = rescaled.frame.to_dict("records")
    units = covariate_units_text_of_each_row(rescaled, Labels(frame=rescaled.frame))
    texts = []
    for row, units_of_row in zip(rows, units, strict=True):
        texts.append(_inline_row_text(row, digits, style, p_name, units_of_row))
    return texts


def inline_row_texts(
    estimates: pd.DataFrame, digits: int = 3, style: str = "nature", *, p_name: str = ""
) -> list[str]:
    """Return the estimates of each row as `inline_text` does; P values follow `p_name`, none if it is "".

    No estimate is rescaled.
    """
    return [_inline_row_text(row, digits, style, p_name) for row in estimates.to_dict("records")]


def _inline_row_text(row: Any, digits: int, style: str, p_name: str, units: str = "") -> str:
    """Return the estimate of one row for running text, followed by `units` such as "per 1,000 mm²"."""
    text = fixed_text(row["estimate"], digits)
    if text == MISSING:
        return MISSING
    if row.get("term") == "percent_decrease":
        text += "%"
    if units:
        text += f" {units}"
    journal = STYLES[style]
    details = []
    limits = limits_text(row.get("conf_low"), row.get("conf_high"), digits, style)
    if limits != MISSING:
        details.append(_inline_interval_name(row, journal) + limits)
    if p_name and not math.isnan(p_value_adjusted_if_any(row)):
        details.append(p_statement(p_text_adjusted_if_any(row, style), p_name))
    if not details:
        return text
    # in round brackets a semicolon separates the limits from P
    separator = ", " if journal.text_brackets == "[]" else "; "
    return f"{text} {journal.text_brackets[0]}{separator.join(details)}{journal.text_brackets[1]}"


def _inline_interval_name(row: Any, journal: JournalStyle) -> str:
    """Return the name of an interval before its limits: "95% CI ", or "CI " where its level is missing."""
    name = journal.interval_prefix.replace("CI", limits_name_after_level([row.get("term")]))
    level = row.get("conf_level")
    if pd.isna(level):
        return name.removeprefix("{level}% ")
    family_level = row.get("family_level")
    if not pd.isna(family_level) and level > family_level + LEVEL_TOLERANCE:
        # the limits of all rows of the family hold together at this level
        name = f"simultaneous {name}"
        level = family_level
    return name.format(level=level_text_without_percent_sign(level))
