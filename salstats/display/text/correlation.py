"""Sentences on correlations that tables and figures share."""

from salstats.display.estimates import Estimates
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels


def has_variable_pairs(estimates: Estimates) -> bool:
    """Return whether estimates have two variables each, as correlations do."""
    return bool(estimates.distinct_values("x")) and bool(estimates.distinct_values("y"))


def variables_shared_by_correlations_note(correlations: Estimates, labels: Labels) -> str:
    """Return the variables that all correlations share, "" where they share none."""
    if not has_variable_pairs(correlations):
        return ""
    variables = []
    for column in ("x", "y"):
        name = correlations.only_non_missing_value(column)
        if name is not None:
            variables.append(labels.value(column, name))
    if not variables:
        return ""
    if len(variables) == 1:
        return f"Correlation with {variables[0]}."
    return f"Correlation of {variables[0]} and {variables[1]}."


def stratum_note(estimates: Estimates, labels: Labels) -> str:
    """Return the stratum within whose values correlations were computed, "" without one."""
    stratum = estimates.only_non_missing_value("stratum")
    if stratum is None:
        return ""
    return f"Within values of {labels.column(str(stratum))}, combined on Fisher's z scale."


def adjusted_for_covariates_note(estimates: Estimates, labels: Labels) -> str:
    """Say which covariates correlations were adjusted for, and in which of the two variables."""
    if not estimates.distinct_values("covariates"):
        return ""
    rows = estimates.frame[["covariates", "covariates_of", "x", "y"]].dropna()
    distinct = rows.drop_duplicates(["covariates", "covariates_of"])
    sentences = []
    for row in distinct.to_dict("records"):
        # `covariates_of` is "x", "y" or "both"
        variable = ""
        if row["covariates_of"] != "both":
            variable = row[row["covariates_of"]]
        sentences.append(_covariates_sentence(row["covariates"], variable, labels))
    return " ".join(sentences)


def _covariates_sentence(covariates: str, variable: str, labels: Labels) -> str:
    """Say which covariates one kind of correlation was adjusted for; `variable` is "" for both variables."""
    names = joined([labels.term(name) for name in covariates.split(", ")])
    if not variable:
        return f"Partial correlation, given {names}."
    return f"Semi-partial correlation: {names} taken out of {labels.term(variable)}."
