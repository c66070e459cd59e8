"""Sentences on correlations that tables and figures share."""

import pandas as pd

from salstats.display.text.format import joined
from salstats.display.text.labels import Labels


def covariates_note(frame: pd.DataFrame, labels: Labels) -> str:
    """Say which covariates correlations were adjusted for, and in which of the two variables."""
    if "covariates" not in frame.columns:
        return ""
    rows = frame[["covariates", "covariates_of", "x", "y"]].dropna()
    distinct = rows.drop_duplicates(["covariates", "covariates_of"])
    return " ".join(_sentence(row, labels) for row in distinct.to_dict("records"))


def _sentence(row: dict[str, str], labels: Labels) -> str:
    """Say what one kind of correlation was adjusted for."""
    names = joined([labels.term(name) for name in row["covariates"].split(", ")])
    if row["covariates_of"] == "both":
        return f"Partial correlation, given {names}."
    variable = labels.term(row[row["covariates_of"]])
    return f"Semi-partial correlation: {names} taken out of {variable}."
