"""Interactions in the notes of tables and figures: where the coefficients of their variables hold."""

import re
from collections.abc import Collection

import pandas as pd

from salstats.display.estimates import Estimates
from salstats.display.text.covariate_units import has_coefficients
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.display.text.models import has_marginal_estimates
from salstats.display.text.terms import (
    factors_of_each_term,
    name_without_factor_coding,
    variable_text,
    variables_of_rows,
)

#: Transforms of a number that are 0 at its mean.
_CENTRED = re.compile(r"(?:scale|center)\((\w+)\)")


def where_interacting_terms_hold_note(
    coefficients: Estimates, labels: Labels, terms: Collection[str] | None = None
) -> str:
    """Return at which values of the other variables the coefficients of terms in an interaction hold.

    This is the reference level of a factor, and 0 for a number: in a model of `method * log_area` the
    coefficients of methods are differences where the logarithm of the area is 0.

    Parameters
    ----------
    coefficients : Estimates
        All coefficients of the models, from which the reference levels are read.
    labels : Labels
        Labels of variables and levels.
    terms : collection of str, optional
        The terms that are shown; by default all of them.

    Returns
    -------
    str
        One sentence, "" where no term that is shown is also in an interaction.
    """
    if has_marginal_estimates(coefficients) or not has_coefficients(coefficients):
        return ""
    reference_levels = _reference_level_labels_by_factor(coefficients, labels)
    levels = []
    places = []
    for name in _variables_interacting_with_terms(coefficients, terms):
        centred = _CENTRED.fullmatch(name)
        if name in reference_levels:
            # the reference level is unknown where no model has a term of this factor alone
            level = joined(reference_levels[name], "or") or f"that of {variable_text(name, labels)}"
            levels.append(level)
        elif centred:
            places.append(f"{labels.column(centred[1])} is at its mean")
        else:
            places.append(f"{variable_text(name, labels)} is 0")
    conditions = []
    if levels:
        noun = "level" if len(levels) == 1 else "levels"
        conditions.append(f"at the reference {noun} ({', '.join(levels)})")
    if places:
        conditions.append(f"where {joined(places)}")
    if not conditions:
        return ""
    return f"Coefficients of terms in an interaction hold {joined(conditions)}."


def _variables_interacting_with_terms(coefficients: Estimates, terms: Collection[str] | None) -> list[str]:
    """Return the variables, in the order of their formulas, that interact with some of the terms.

    `terms` are these terms, None for all.
    """
    in_order: dict[str, None] = {}
    interacting: set[str] = set()
    rows = zip(
        coefficients.frame["term"],
        coefficients.frame["formula"],
        variables_of_rows(coefficients),
        strict=True,
    )
    for term, formula, variables in rows:
        names = {variable.name for variable in variables}
        for factors in factors_of_each_term(str(formula)):
            names_of_term = [factor.name for factor in factors]
            in_order |= dict.fromkeys(names_of_term)
            is_shown = terms is None or term in terms
            if is_shown and names < set(names_of_term):
                interacting |= set(names_of_term) - names
    return [name for name in in_order if name in interacting]


def _reference_level_labels_by_factor(coefficients: Estimates, labels: Labels) -> dict[str, list[str]]:
    """Return the labels of the reference levels of each factor, one unless models differ, none if unknown."""
    levels_of_factors: dict[str, dict[str, None]] = {}
    rows = zip(
        variables_of_rows(coefficients),
        coefficients.row_values("reference_level"),
        strict=True,
    )
    for variables, reference_level in rows:
        for variable in variables:
            if variable.level:
                levels_of_factors.setdefault(variable.name, {})
        if len(variables) == 1 and pd.notna(reference_level):
            name = variables[0].name
            level = labels.value(name_without_factor_coding(name), reference_level)
            levels_of_factors.setdefault(name, {})[level] = None
    return {name: list(levels) for name, levels in levels_of_factors.items()}


def reference_levels_by_slope_term(coefficients: Estimates, labels: Labels) -> dict[str, str]:
    """Return, by term of a number, the reference levels of the factors that it interacts with.

    In a model of `area * task` the coefficient of the area holds at the reference level of the task. Terms
    that are in such an interaction in some models only are left out.
    """
    reference_levels = _reference_level_labels_by_factor(coefficients, labels)
    texts_of_terms: dict[str, set[str]] = {}
    rows = zip(
        coefficients.frame["term"],
        coefficients.row_values("formula"),
        variables_of_rows(coefficients),
        strict=True,
    )
    for term, formula, variables in rows:
        if any(variable.level for variable in variables):
            continue
        names = {variable.name for variable in variables}
        factors: dict[str, None] = {}
        for factors_of_term in factors_of_each_term(str(formula)):
            names_of_term = [factor.name for factor in factors_of_term]
            if names < set(names_of_term):
                factors |= dict.fromkeys(name for name in names_of_term if name in reference_levels)
        levels = [joined(reference_levels[name], "or") for name in factors]
        texts_of_terms.setdefault(str(term), set()).add(", ".join(levels))
    return {
        term: texts.pop() for term, texts in texts_of_terms.items() if len(texts) == 1 and "" not in texts
    }
