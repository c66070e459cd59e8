"""Terms of regressions in print: a factor is a heading with its levels below it, the reference among them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.text.format import count_text, joined
from salstats.display.text.labels import TIMES, Labels
from salstats.errors import FormulaError
from salstats.stats.models.formulas import Factor, Formula, parse_formula
from salstats.stats.patient_characteristics import text_of_level

#: Columns without values in the row of a reference level.
_ESTIMATE_COLUMNS = (
    "estimate",
    "std_error",
    "statistic",
    "df",
    "p_value",
    "p_adjusted",
    "conf_low",
    "conf_high",
)
#: Column with the number of units of a covariate that an estimate is for; 1 where a frame has none.
COVARIATE_UNITS = "covariate_units"


class TermVariable(NamedTuple):
    """A variable of a term as the term spells it, and its level, "" for a number."""

    name: str
    level: str


@dataclass(frozen=True)
class TermRow:
    """A row of a table of terms.

    Attributes
    ----------
    term : str or None
        The term, None in the row that is the heading of a factor.
    text : str
        Text of the row.
    full_text : str
        Name of the term where it stands without a heading: "Task: Edema".
    is_level : bool
        Whether the row is a level below a heading.
    """

    term: str | None
    text: str
    full_text: str
    is_level: bool = False


@lru_cache(maxsize=512)
def _parsed_formula(formula: str) -> Formula | None:
    """Return a parsed formula, None where it is written in the syntax of another package."""
    try:
        return parse_formula(formula)
    except FormulaError:
        return None


def factors_of_each_term(formula: str) -> tuple[tuple[Factor, ...], ...]:
    """Return the factors of each term of a formula, none where it cannot be parsed."""
    parsed = _parsed_formula(formula)
    if parsed is None:
        return ()
    return parsed.terms


def distinct_random_groupings(formula: str) -> list[tuple[str, ...]]:
    """Return the columns that group each of a formula's random effects."""
    parsed = _parsed_formula(formula)
    if not parsed:
        return []
    return list(dict.fromkeys(effect.groups for effect in parsed.random))


def random_group_text(groups: Sequence[str], labels: Labels) -> str:
    """Return the name of the groups of a random effect: "reader × case"."""
    return TIMES.join(labels.column(column).lower() for column in groups)


def right_side_columns(formula: str, terms: Sequence[str] | None = None) -> list[str]:
    """Return the columns on a formula's right side, or those in `terms`, which are some of its terms."""
    columns_of_factor = {}
    for factors in factors_of_each_term(formula):
        for factor in factors:
            columns_of_factor[factor.name] = factor.columns
    names = set(columns_of_factor)
    if terms is not None:
        names = set()
        for term in terms:
            names |= {variable.name for variable in term_variables(term, formula)}
    columns: dict[str, None] = {}
    for name, factor_columns in columns_of_factor.items():
        if name in names:
            columns |= dict.fromkeys(factor_columns)
    return list(columns)


def term_variables(
    term: str, formula: str, factor_levels: Mapping[str, TermVariable] | None = None
) -> tuple[TermVariable, ...]:
    """Return the variables of a term with their levels.

    `factor_levels` holds the factor and level of terms whose factor a frame states. Other terms are matched
    with the terms of their formula, or divided at colons where the formula cannot be parsed.
    """
    factor_levels = factor_levels or {}
    if term in factor_levels:
        return (factor_levels[term],)
    matches: list[tuple[TermVariable, ...]] = []
    for factors in factors_of_each_term(formula):
        names = [factor.name for factor in factors]
        # a level follows the name of its factor: "taskEdema:prob"
        pattern = ":".join(f"{re.escape(name)}(.*)" for name in names)
        match = re.fullmatch(pattern, term, re.DOTALL)
        if match:
            matches.append(tuple(map(TermVariable, names, match.groups())))
    if matches:
        # of `task` and `task_size` the longer one is meant
        return max(matches, key=_total_name_length)
    variables = []
    # colons outside brackets separate the factors of a term
    for factor in re.split(r":(?![^()]*\))", term):
        coded = re.fullmatch(r"(C\(\w+[^()]*\))(.+)", factor)
        if factor in factor_levels:
            variables.append(factor_levels[factor])
        elif coded:
            variables.append(TermVariable(coded[1], coded[2]))
        else:
            variables.append(TermVariable(factor, ""))
    return tuple(variables)


def _total_name_length(variables: Sequence[TermVariable]) -> int:
    """Return the number of characters in the names of some variables."""
    return sum(len(variable.name) for variable in variables)


def variable_text(name: str, labels: Labels) -> str:
    """Return the label of a variable as a formula spells it: `C(task)` is the task, `scale(prob)` per SD."""
    scaled = re.fullmatch(r"scale\((\w+)\)", name)
    if scaled:
        return f"{labels.column(scaled[1])}, per SD"
    return labels.term(name_without_factor_coding(name))


def right_side_text(formula: str, labels: Labels, *, random: bool = True) -> str:
    """Return the right side of a formula in labels, as it is where it cannot be parsed.

    Random effects are named unless `random` is False.
    """
    texts = []
    for factors in factors_of_each_term(formula):
        texts.append(TIMES.join(variable_text(factor.name, labels) for factor in factors))
    groups = [random_group_text(columns, labels) for columns in distinct_random_groupings(formula)]
    if random and texts and groups:
        texts.append(f"random effects of {joined(groups)}")
    return " + ".join(texts) or formula.partition("~")[2].strip()


def model_text(formula: str, outcome: str, labels: Labels) -> str:
    """Return a formula in labels, of a named outcome: "IoU ~ Relative size"."""
    return f"{outcome} ~ {right_side_text(formula, labels)}"


def with_reference_rows(estimates: Estimates, model_keys: Sequence[str]) -> Estimates:
    """Return terms with a row without numbers for each reference level, before its levels.

    `model_keys` are the columns whose values identify a model.
    """
    if not estimates.distinct_values("reference_level"):
        return estimates
    frame = estimates.frame
    levels = frame[frame["reference_level"].notna()]
    factor_levels = _stated_factor_level_by_term(estimates)
    variables = []
    for term, formula in zip(
        levels["term"], _formula_of_rows(estimates.with_other_frame(levels)), strict=True
    ):
        # only terms of a single factor have a reference level
        variables.append(term_variables(str(term), formula, factor_levels)[0])
    terms = []
    for variable, level in zip(variables, levels["reference_level"], strict=True):
        # whole numbers that were read from a file are floats where some are missing
        level_text = str(level) if "." in variable.level else text_of_level(level)
        terms.append(f"{variable.name}{level_text}")
    # where the level in a term is not known, neither is the name of the factor
    has_level = [variable.level != "" for variable in variables]
    references = levels.assign(term=terms)[has_level].drop_duplicates([*model_keys, "term"])
    rows = pd.concat([references, frame])
    # cells of the new rows are emptied after the join, since pandas 2 warns of joining empty columns
    is_reference = np.arange(len(rows)) < len(references)
    for column in [*estimates.existing_columns(_ESTIMATE_COLUMNS), "reference_level"]:
        rows[column] = rows[column].mask(is_reference)
    # a row and the reference before it have one index, and a stable sort keeps their order
    return estimates.with_other_frame(rows.sort_index(kind="stable"))


def distinct_term_and_factor_rows(
    estimates: Estimates, labels: Labels, first_terms: Sequence[str] = ()
) -> list[TermRow]:
    """Return the rows of terms, levels below their factor.

    `first_terms` stand before the others, which have the order of labels. Levels of interactions have the
    order that these levels have below their own factor.
    """
    frame = estimates.frame
    formula_by_term: dict[str, str] = {}
    for term, formula in zip(frame["term"].astype(TEXT), _formula_of_rows(estimates), strict=True):
        formula_by_term.setdefault(term, formula)
    factor_levels = _stated_factor_level_by_term(estimates)
    terms = list(frame["term"].astype(TEXT))
    covariate_units_by_term = dict(zip(terms, estimates.row_values(COVARIATE_UNITS), strict=True))
    is_normalized = dict(zip(terms, estimates.row_values("normalized"), strict=True))
    rows_by_heading: dict[str, list[TermRow]] = {}
    rows_by_column: dict[str, dict[str, TermRow]] = {}
    variables_by_term: dict[str | None, tuple[TermVariable, ...]] = {}
    ordered_terms = labels.order("term", list(formula_by_term))
    known_first_terms = [term for term in first_terms if term in formula_by_term]
    for term in dict.fromkeys([*known_first_terms, *ordered_terms]):
        variables = term_variables(term, formula_by_term[term], factor_levels)
        variables_by_term[term] = variables
        row, heading = _row_and_heading(
            term,
            variables,
            covariate_units_by_term[term],
            labels,
            is_normalized=is_normalized[term] in (True, 1),
        )
        if not heading:
            # a row without a heading is a group of its own; no heading begins with a line break
            rows_by_heading[f"\n{term}"] = [row]
            continue
        rows_by_heading.setdefault(heading, []).append(row)
        is_interaction = len(variables) > 1
        if not is_interaction:
            variable = variables[0]
            rows_by_column.setdefault(name_without_factor_coding(variable.name), {})[variable.level] = row
    # a reference level has no estimate in any row
    references = set(frame["term"]) - set(frame.loc[estimates.has_estimate, "term"])
    position_of_level: dict[tuple[str, str], int] = {}
    for column, level_rows in rows_by_column.items():
        for position, level in enumerate(_ordered_levels(column, level_rows, references, labels)):
            position_of_level[column, level] = position

    def sort_key(row: TermRow) -> list[int]:
        """Return the position of each level of a row among those of its factor, 0 where it is unknown."""
        levels = [
            (name_without_factor_coding(variable.name), variable.level)
            for variable in variables_by_term[row.term]
        ]
        return [position_of_level.get(level, 0) for level in levels]

    rows: list[TermRow] = []
    for heading, members in rows_by_heading.items():
        if members[0].is_level:
            rows.append(TermRow(None, heading, full_text=heading))
        rows += sorted(members, key=sort_key)
    return rows


def _ordered_levels(
    column: str, row_by_level: Mapping[str, TermRow], reference_terms: set[str], labels: Labels
) -> list[str]:
    """Return the levels of a column in the order of labels, references first unless labels name them."""
    levels: list[str] = list(row_by_level)
    if levels == sorted(levels):
        ordered = labels.order(column, levels)
    else:
        # the frame has an order that is not alphabetical, and so was chosen
        ordered = labels.order(column, pd.Categorical(levels, levels))
    named = labels.values_named_by_user(column)
    reference_levels = [
        level for level in ordered if row_by_level[level].term in reference_terms and level not in named
    ]
    return [*reference_levels, *(level for level in ordered if level not in reference_levels)]


def factor_names_of_rows(estimates: Estimates) -> list[str]:
    """Return the factor or interaction that each row's term is a level of, "" for terms of numbers alone.

    They are spelled as in their formula, and an interaction names its numbers as well.
    """
    factors = []
    for variables in variables_of_rows(estimates):
        factor = ""
        if any(variable.level for variable in variables):
            factor = ":".join(variable.name for variable in variables)
        factors.append(factor)
    return factors


def numeric_variable_names(variables: Sequence[TermVariable]) -> tuple[str, ...]:
    """Return the names of those variables of a term that are numbers, not levels of factors."""
    return tuple(variable.name for variable in variables if not variable.level)


def variables_of_rows(estimates: Estimates) -> list[tuple[TermVariable, ...]]:
    """Return the variables of the term in each row."""
    factor_levels = _stated_factor_level_by_term(estimates)
    terms_and_formulas = zip(estimates.frame["term"], _formula_of_rows(estimates), strict=True)
    return [term_variables(str(term), formula, factor_levels) for term, formula in terms_and_formulas]


def only_term_text(single_term_estimates: Estimates, labels: Labels) -> str:
    """Return the name of the only term of estimates: "Area, per 1,000 mm²"."""
    # the heading of a factor may stand before the term
    return distinct_term_and_factor_rows(single_term_estimates, labels)[-1].full_text


def covariate_units_text_of_each_row(estimates: Estimates, labels: Labels) -> list[str]:
    """Return the number of covariate units that each row's estimate is for: "per 1,000 mm²", "" for one."""
    if not estimates.distinct_values(COVARIATE_UNITS):
        return [""] * len(estimates)
    texts = []
    numbers_of_units = estimates.row_values(COVARIATE_UNITS)
    for variables, n_units in zip(variables_of_rows(estimates), numbers_of_units, strict=True):
        texts.append(_per_units_text(variables, n_units, labels))
    return texts


def min_max_scaled_covariates_note(estimates: Estimates, labels: Labels) -> str:
    """Return the note on covariates that were rescaled to run from 0 to 1, "" without any."""
    if not estimates.distinct_values("normalized"):
        return ""
    normalized = estimates.subset(estimates.frame["normalized"].eq(True))
    names = [row.full_text for row in distinct_term_and_factor_rows(normalized, labels)]
    if not names:
        return ""
    return f"From 0, the smallest value in the data, to 1, the largest: {joined(names)}."


def _formula_of_rows(estimates: Estimates) -> list[str]:
    """Return the formula of each row, "" where there is none."""
    formulas = []
    for formula in estimates.row_values("formula"):
        text = "" if pd.isna(formula) else str(formula)
        formulas.append(text)
    return formulas


def _stated_factor_level_by_term(estimates: Estimates) -> dict[str, TermVariable]:
    """Return the factor and the level of each term whose factor the frame states."""
    if not estimates.distinct_values("factor"):
        return {}
    frame = estimates.frame
    rows = frame.loc[frame["factor"].notna(), ["term", "factor"]].astype(TEXT)
    variables = {}
    for term, factor in zip(rows["term"], rows["factor"], strict=True):
        if term.startswith(factor):
            variables[term] = TermVariable(factor, term.removeprefix(factor))
    return variables


def name_without_factor_coding(name: str) -> str:
    """Return the column of `C(task)` and `C(task, Sum)`, "task", and any other name, `log(age)`, as it is."""
    coded = re.fullmatch(r"C\(([^(),]+)(?:,.*)?\)", name)
    if coded is None:
        return name
    return coded[1]


def _heading_and_text(term: str, variables: Sequence[TermVariable], labels: Labels) -> tuple[str, str]:
    """Return the heading above a term, "" without a factor, and its text.

    A label that a user gave to the term replaces both.
    """
    user_label = labels.user_value_label("term", term)
    if user_label is not None:
        return "", user_label
    names = [variable_text(variable.name, labels) for variable in variables]
    if not any(variable.level for variable in variables):
        return "", TIMES.join(names)
    levels = []
    for variable, name in zip(variables, names, strict=True):
        if variable.level:
            levels.append(labels.value(name_without_factor_coding(variable.name), variable.level))
        else:
            levels.append(name)
    return TIMES.join(names), TIMES.join(levels)


def _row_and_heading(
    term: str,
    variables: Sequence[TermVariable],
    n_units: float | None,
    labels: Labels,
    *,
    is_normalized: bool,
) -> tuple[TermRow, str]:
    """Return the row of a term and the heading above it, "" without a factor.

    `n_units` is the number of units of its covariate that the term's estimate is for, None for 1. A covariate
    that runs from 0 to 1 (`is_normalized`) has no unit.
    """
    heading, text = _heading_and_text(term, variables, labels)
    per_text = _per_units_text(variables, n_units, labels)
    if per_text:
        per_text = f", {per_text}"
    unit = _unit_of_only_covariate(variables, labels)
    if unit and (per_text or is_normalized):
        # it follows the number of units, if there is one
        heading = heading.replace(f" ({unit})", "")
        text = text.replace(f" ({unit})", "")
    if not heading:
        text += per_text
        return TermRow(term, text, full_text=text), ""
    full_text = f"{heading}: {text}"
    if len(variables) > 1:
        full_text = f"{text}{per_text}"
    return TermRow(term, text, full_text, is_level=True), f"{heading}{per_text}"


def _per_units_text(variables: Sequence[TermVariable], n_units: float | None, labels: Labels) -> str:
    """Return the number of units that an estimate is for: "per 1,000 mm²", "" for 1 or None."""
    if n_units is None or not n_units > 1:
        return ""
    return f"per {count_text(n_units)} {_unit_of_only_covariate(variables, labels)}".rstrip()


def _unit_of_only_covariate(variables: Sequence[TermVariable], labels: Labels) -> str:
    """Return the unit of the only covariate in a term; "" for a product of several covariates."""
    names = numeric_variable_names(variables)
    if len(names) != 1:
        return ""
    return labels.unit_of_measure(names[0])
