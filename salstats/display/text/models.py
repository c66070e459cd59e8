"""Models in the notes of tables: their kind, their standard errors, and the average of marginal means."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.display.estimates import Estimates
from salstats.display.text.format import capitalized, joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import (
    distinct_random_groupings,
    distinct_term_and_factor_rows,
    factors_of_each_term,
    only_term_text,
    random_group_text,
    right_side_columns,
    right_side_text,
    with_reference_rows,
)
from salstats.display.text.vocabulary import method_label_in_sentence
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.error_kinds import ERRORS
from salstats.stats.models.families import FAMILIES, GAUSSIAN


def model_kind_text(estimates: Estimates, labels: Labels) -> str:
    """Return the kind of models: "Linear mixed regression with random effects of case"."""
    family_labels = [_model_family_label(str(family)) for family in estimates.distinct_values("family")]
    groups: dict[tuple[str, ...], None] = {}
    for formula in estimates.distinct_values("formula"):
        groups |= dict.fromkeys(distinct_random_groupings(str(formula)))
    text = joined(family_labels)
    if groups:
        group_names = joined([random_group_text(columns, labels) for columns in groups])
        text += f" mixed regression with random effects of {group_names}"
    else:
        text += " regression"
    text = text.strip()
    for correlation in estimates.distinct_values("correlation"):
        text += f" by generalised estimating equations with an {correlation} working correlation"
    return capitalized(text)


def _model_family_label(family: str) -> str:
    """Return the name of a family of models in print; a family of another package keeps its name."""
    if family not in FAMILIES:
        return family
    return FAMILIES[family].label


def standard_errors_clause(estimates: Estimates) -> str:
    """Return the standard errors of models as the end of a sentence: "; classical standard errors."."""
    unit = joined([str(unit) for unit in estimates.distinct_values("unit")]) or "unit"
    texts = []
    for errors in estimates.distinct_values("errors"):
        record = ERRORS.get(str(errors))
        if record is None:
            texts.append(str(errors))
        else:
            texts.append(record.label.format(unit=unit.replace("_", " ")))
    if not texts:
        return "."
    return f"; {joined(texts, 'or')}."


def only_outcome_text(estimates: Estimates, labels: Labels) -> str:
    """Return the outcome of models, "" where they have several or there are none."""
    outcomes = {str(formula).partition("~")[0].strip() for formula in estimates.distinct_values("formula")}
    if len(outcomes) != 1:
        return ""
    return labels.term(outcomes.pop())


def has_marginal_estimates(estimates: Estimates) -> bool:
    """Return whether estimates are marginal means, contrasts or slopes of models."""
    return bool(estimates.distinct_values("formula")) and bool(estimates.distinct_values("average"))


def marginal_estimates_heading(estimates: Estimates, labels: Labels) -> str:
    """Return the name of marginal estimates as a heading begins: "IoU, difference"."""
    name = _marginal_estimates_kind(estimates, labels)
    # with a column of metrics the outcome is the score, and each row has its metric
    if not estimates.distinct_values("metric"):
        outcome = only_outcome_text(estimates, labels)
        if outcome:
            name = f"{outcome}, {name}"
    return capitalized(name)


def _marginal_estimates_kind(estimates: Estimates, labels: Labels) -> str:
    """Return the kind of marginal estimates: "mean", "difference from Edema", "marginal effect of Age"."""
    terms = estimates.distinct_values("term")
    if len(terms) == 1:
        return f"marginal effect of {only_term_text(estimates, labels)}"
    if terms:
        return "marginal effect"
    reference_levels = estimates.distinct_values("reference_level")
    if len(reference_levels) == 1:
        level = method_label_in_sentence(labels.value("reference_level", reference_levels[0]))
        return f"difference from {level}{link_scale_clause(estimates)}"
    if reference_levels:
        return f"difference{link_scale_clause(estimates)}"
    return f"mean{link_scale_clause(estimates)}"


def link_scale_clause(estimates: Estimates) -> str:
    """Return the scale of marginal means to end a name: " on the logit scale", "" for that of scores."""
    if not estimates.distinct_values("scale"):
        return ""
    links = {FAMILIES.get(str(name), GAUSSIAN).link.name for name in estimates.distinct_values("family")}
    links.discard(GAUSSIAN.link.name)
    if not links:
        return ""
    return f" on the {joined(sorted(links))} scale"


def variances_as_standard_deviations(estimates: Estimates, labels: Labels) -> Estimates:
    """Return variance components as standard deviations between groups; other estimates as they are."""
    frame = estimates.frame
    if not (
        estimates.distinct_values("group")
        and estimates.distinct_values("parameter")
        and estimates.distinct_values("std_dev")
    ):
        return estimates
    rows = frame[frame["parameter"] == "variance"].reset_index(drop=True)
    rows["term"] = rows["term"].fillna(INTERCEPT)
    slope_labels = {
        row.term: f", {row.full_text}"
        for row in distinct_term_and_factor_rows(estimates.with_other_frame(rows), labels)
    }
    slope_labels[INTERCEPT] = ""
    names = []
    for group, term in zip(rows["group"], rows["term"], strict=True):
        text = random_group_text(str(group).split(":"), labels)
        names.append(f"{capitalized(text)}{slope_labels[term]}")
    deviations = rows.assign(
        metric=[formula.partition("~")[0].strip() for formula in rows["formula"]],
        group=names,
        term="SD",
        estimate=rows["std_dev"],
        n=rows["n_groups"],
        conf_low=np.sqrt(rows["conf_low"]),
        conf_high=np.sqrt(rows["conf_high"]),
    )
    # the outcome takes the place of the metric; grouping columns stand in front
    keys = list(frame.columns[: frame.columns.get_loc("formula")])
    columns = dict.fromkeys([*keys, "metric", "group", *frame.columns.drop(["formula", "parameter"])])
    return estimates.with_other_frame(deviations[list(columns)])


class TermNamesAndReferenceNote(NamedTuple):
    """Names of terms in print.

    Attributes
    ----------
    variable_and_level : dict of str to tuple of str
        The variable and the level of each term in the order of labels; the level of a number is "".
    reference_note : str
        Note on the reference levels, "" without any.
    """

    variable_and_level: dict[str, tuple[str, str]]
    reference_note: str


def variable_and_level_of_each_term(
    estimates: Estimates, model_keys: Sequence[str], labels: Labels
) -> TermNamesAndReferenceNote:
    """Return the names of terms; `model_keys` are the columns whose values identify a model."""
    names = {}
    reference_levels = []
    factor = ""
    terms = set(estimates.distinct_values("term"))
    for row in distinct_term_and_factor_rows(with_reference_rows(estimates, model_keys), labels):
        if row.term is None:
            factor = row.text
        elif row.term not in terms:
            reference_levels.append(f"{row.text} ({factor})")
        elif row.is_level:
            names[row.term] = (factor, row.text)
        else:
            names[row.term] = (row.text, "")
    note = ""
    if reference_levels:
        note = f"Reference level: {joined(reference_levels)}."
    return TermNamesAndReferenceNote(names, note)


def model_note(estimates: Estimates, labels: Labels, average_clause: str = "") -> str:
    """Return the models of estimates: "Linear regression, on Elongation; classical standard errors.".

    `average_clause` is the text on what estimates are averaged over.
    """
    formulas = estimates.distinct_values("formula")
    if not formulas:
        return ""
    sides = dict.fromkeys(right_side_text(str(formula), labels, random=False) for formula in formulas)
    text = model_kind_text(estimates, labels)
    right_sides = joined(list(sides), "or")
    if right_sides:
        text += f", on {right_sides}"
    return f"{text}{average_clause}{standard_errors_clause(estimates)}"


def model_and_averaging_note(estimates: Estimates, labels: Labels) -> str:
    """Return the models of marginal estimates and what these are averaged over, "" for other estimates."""
    if not has_marginal_estimates(estimates):
        return ""
    averages = [
        _averaged_over_text(estimates, str(average)) for average in estimates.distinct_values("average")
    ]
    averages = [text for text in averages if text]
    clause = ""
    if averages:
        clause = f"; {joined(averages, 'or')}"
    fixed_values = [str(text) for text in estimates.distinct_values("at")]
    if fixed_values:
        clause += f", except {joined(fixed_values, 'or')}"
    return model_note(estimates, labels, clause)


def _averaged_over_text(estimates: Estimates, average: str) -> str:
    """Return what marginal estimates are averaged over, "" where nothing is left to average."""
    if average == "rows":
        return "averaged over the rows of the model"
    if average != "grid":
        return average
    factors, numbers = _variables_averaged_or_held_at_mean(estimates)
    texts = []
    if factors:
        texts.append("levels of other factors count alike")
    if numbers:
        variables = "numbers"
        if _numeric_model_variable_columns(estimates):
            variables = "other numbers"
        texts.append(f"{variables} are held at their mean")
    return ", ".join(texts)


def _right_side_key_columns(estimates: Estimates) -> list[str]:
    """Return the columns of a frame of marginal estimates that are variables of its models."""
    variables: set[str] = set()
    for formula in estimates.distinct_values("formula"):
        variables |= set(right_side_columns(str(formula)))
    return [key for key in estimates.keys if key in variables]


def _numeric_model_variable_columns(estimates: Estimates) -> list[str]:
    """Return the columns of numeric model variables at whose values marginal estimates are computed."""
    columns = []
    for column in _right_side_key_columns(estimates):
        if pd.api.types.is_numeric_dtype(estimates.frame[column]):
            columns.append(column)
    return columns


def numeric_model_variables_with_one_value(
    estimates: Estimates, excluded_columns: Collection[str | None]
) -> list[str]:
    """Return the numeric variables of the models that have one value in all marginal estimates.

    `excluded_columns` are left out: those whose values a figure names at its rows or panels.
    """
    if not has_marginal_estimates(estimates):
        return []
    columns = []
    for column in _numeric_model_variable_columns(estimates):
        if column not in excluded_columns and not estimates.varies(column):
            columns.append(column)
    return columns


class _VariablesAveragedOrHeldAtMean(NamedTuple):
    """Variables of models without a column of values in a frame of marginal estimates.

    Estimates average over the levels of factors and hold numbers at their mean. A column that a formula names
    without `C()` may be a factor or a number, and is among both.
    """

    factors: set[str]
    numbers: set[str]


def _variables_averaged_or_held_at_mean(estimates: Estimates) -> _VariablesAveragedOrHeldAtMean:
    """Return the factors that marginal estimates average over, and the numbers they hold at their mean."""
    factors: set[str] = set()
    numbers: set[str] = set()
    for formula in estimates.distinct_values("formula"):
        for variable in chain.from_iterable(factors_of_each_term(str(formula))):
            is_factor = variable.categorical or set(variable.columns) <= set(IDENTIFIER_COLUMNS)
            if not is_factor:
                numbers |= set(variable.columns)
            if is_factor or variable.is_column:
                factors |= set(variable.columns)
    levels = set(_right_side_key_columns(estimates))
    return _VariablesAveragedOrHeldAtMean(factors - levels, numbers - levels)


def count_of_models(estimates: Estimates) -> int:
    """Return the number of models that coefficients or marginal estimates come from."""
    levels = [*_right_side_key_columns(estimates), "reference_level"]
    columns = [key for key in estimates.keys if key not in levels]
    columns += estimates.existing_columns(("formula", "reference"))
    return len(estimates.frame[list(dict.fromkeys(columns))].drop_duplicates())
