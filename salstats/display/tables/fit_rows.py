"""The foot of a regression table: n and how well the models fit."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError
from salstats.display.tables import notes
from salstats.display.tables.marks import numbers
from salstats.display.tables.models import Frames, combine, model_columns
from salstats.display.tables.placement import grouping_columns, key_of
from salstats.display.text.format import MINUS, MISSING, count_text, fixed_text, number_text, plural
from salstats.display.text.labels import Labels

#: A group of rows and a column of the table.
Place = tuple[tuple[str, ...], int]
_STATISTICS = {
    "r_squared": "R²",
    "adj_r_squared": "Adjusted R²",
    "sigma": "Residual SD",
    "log_lik": "Log-likelihood",
    "aic": "AIC",
}
#: Shown where there is no R² only.
_OF_LIKELIHOOD = ("log_lik", "aic")


def models_by_place(
    frame: pd.DataFrame, column_of: Sequence[int], groups: Sequence[str]
) -> dict[Place, list[int]]:
    """One row of each model that stands in a group and column."""
    columns = model_columns(frame)
    found: dict[Place, dict[tuple[str, ...], int]] = {}
    for row, column in enumerate(column_of):
        place = key_of(frame, row, groups), column
        found.setdefault(place, {}).setdefault(key_of(frame, row, columns), row)
    return {place: list(rows.values()) for place, rows in found.items()}


def fit_rows(
    frame: pd.DataFrame,
    models: Mapping[Place, Sequence[int]],
    fit: Frames | None,
    parameters: pd.DataFrame,
    labels: Labels,
    digits: int,
) -> list[tuple[str, dict[Place, str]]]:
    """The rows at the foot: heading, and text by group and column, of columns with one model only.

    `parameters` are the rows of the models that are no coefficients; they come first.
    """
    single = {place: rows[0] for place, rows in models.items() if len(rows) == 1}
    n, units = numbers(frame, "n"), numbers(frame, "n_units")
    n_heading = labels.column("n")
    rows = _parameters(frame, parameters, single, labels, digits)
    rows[n_heading] = {place: count_text(n[row]) for place, row in single.items()}
    unit = notes.single(frame, "unit")
    if unit is not None:
        heading = plural(str(unit)).capitalize()
        rows[heading] = {place: count_text(units[row]) for place, row in single.items()}
    if fit is not None:
        whole = combine(fit, (), "fit")
        rows |= _statistics(whole, _fit_of(frame, whole, single), n_heading, digits)
    return [(heading, texts) for heading, texts in rows.items() if set(texts.values()) - {MISSING, ""}]


def _parameters(
    frame: pd.DataFrame, parameters: pd.DataFrame, single: Mapping[Place, int], labels: Labels, digits: int
) -> dict[str, dict[Place, str]]:
    """Variances and the like by term; they may be small, so that `digits` of them are significant."""
    # broom.mixed's `group` is of variances alone and tells no models apart
    columns = [c for c in model_columns(frame) if frame[c].notna().any()]
    own = [c for c in grouping_columns(frame) if c not in columns]
    places = {key_of(frame, row, columns): place for place, row in single.items()}
    estimate = numbers(parameters, "estimate")
    rows: dict[str, dict[Place, str]] = {}
    for i, term in enumerate(parameters["term"]):
        place = places.get(key_of(parameters, i, columns))
        if place is not None:
            text = number_text(estimate[i], digits).replace("-", MINUS)
            name = labels.value("term", term).replace("__", " ")
            rows.setdefault(", ".join([*filter(None, key_of(parameters, i, own)), name]), {})[place] = text
    return rows


def _fit_of(frame: pd.DataFrame, fit: pd.DataFrame, single: Mapping[Place, int]) -> dict[Place, int | None]:
    """The row of `fit` of each model."""
    shared = [c for c in model_columns(frame) if c in fit.columns]
    rows: dict[tuple[str, ...], int] = {}
    for i in range(len(fit)):
        if rows.setdefault(key_of(fit, i, shared), i) != i:
            raise SalstatsError(
                "fit has two rows for one model; give the frame of fit_statistics of these models"
            )
    found = {place: rows.get(key_of(frame, row, shared)) for place, row in single.items()}
    if single and not any(row is not None for row in found.values()):
        raise SalstatsError(
            "fit has no row of these models; call fit_statistics with the same arguments as regress"
        )
    return found


def _statistics(
    fit: pd.DataFrame, found: Mapping[Place, int | None], n_heading: str, digits: int
) -> dict[str, dict[Place, str]]:
    """The statistics of each model, n among them."""
    values = {name: numbers(fit, name, "fit") for name in ("nobs", *_STATISTICS)}
    linear = ~np.isnan(values["r_squared"])
    rows: dict[str, dict[Place, str]] = {n_heading: {}, **{heading: {} for heading in _STATISTICS.values()}}
    for place, row in found.items():
        rows[n_heading][place] = MISSING if row is None else count_text(values["nobs"][row])
        for name, heading in _STATISTICS.items():
            if row is None:
                rows[heading][place] = MISSING
            elif np.isnan(values[name][row]) or (name in _OF_LIKELIHOOD and linear[row]):
                rows[heading][place] = ""
            else:
                rows[heading][place] = fixed_text(values[name][row], 1 if name in _OF_LIKELIHOOD else digits)
    return rows
