"""Random effects of mixed models: their variances and shares, their values, and their groups."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_level
from salstats.errors import SalstatsError
from salstats.stats.models.design import is_categorical
from salstats.stats.models.fitted_models import Fitted, Model, key_columns
from salstats.stats.models.formulas import columns_of_terms
from salstats.stats.models.mixed.profiles import variance_component_profile_limits
from salstats.stats.models.mixed.ratio_tests import likelihood_ratio
from salstats.stats.models.random_terms import FittedRandomEffect, MixedInference

#: Group of the residual variance.
RESIDUAL = "Residual"
#: Kind of the limits of variances, in the column `interval`.
_PROFILE_LIKELIHOOD = "profile likelihood"
_COMPONENT_COLUMNS = (
    "group",
    "term",
    "parameter",
    "estimate",
    "std_dev",
    "statistic",
    "df",
    "p_value",
    "conf_low",
    "conf_high",
    "conf_level",
    "interval",
    "share",
    "share_low",
    "share_high",
    "n_groups",
    "n",
    "reml",
)
#: Columns of variances and correlations that need no tests and no profiles of the likelihood.
_ESTIMATED_COLUMNS = ("group", "term", "parameter", "estimate", "std_dev", "n_groups")
_EFFECT_COLUMNS = ("group", "level", "term", "estimate", "std_error")


def variance_components(fitted: Fitted, *, level: float) -> pd.DataFrame:
    """Return the rows of `Fit.variance_components`."""
    check_level(level)
    rows: list[dict[str, Any]] = []
    n_rows = []
    for model, inference in zip(fitted.models, _mixed_inferences_or_none_if_unestimated(fitted), strict=True):
        components = []
        if inference is not None:
            components = _variance_component_rows(inference, level)
        model_columns = {
            "conf_level": level,
            "interval": _PROFILE_LIKELIHOOD,
            "n": len(model.rows),
            "reml": fitted.reml,
        }
        rows.extend(component | model_columns for component in components)
        n_rows.append(len(components))
    frame = pd.DataFrame(rows, columns=list(_COMPONENT_COLUMNS))
    return pd.concat([key_columns(fitted, n_rows), frame], axis=1)


def _variance_component_rows(inference: MixedInference, level: float) -> list[dict[str, Any]]:
    """Return the rows of one model: variances and their shares, correlations, and the residual variance."""
    solution = inference.solution
    # `limit.term` is the position of a term, None for the residuals
    limits = {
        (limit.term, limit.kind, limit.effects): limit
        for limit in variance_component_profile_limits(solution, level)
    }

    def variance_with_limits(position: int | None, effects: tuple[str, ...]) -> dict[str, Any]:
        std_dev = limits[position, "sd", effects]
        return {
            "term": effects[0] if effects else None,
            "parameter": "variance",
            "estimate": std_dev.estimate**2,
            "std_dev": std_dev.estimate,
            "conf_low": std_dev.conf_low**2,
            "conf_high": std_dev.conf_high**2,
        }

    def share_with_limits(position: int | None, effects: tuple[str, ...]) -> dict[str, Any]:
        limit = limits[position, "share", effects]
        return {"share": limit.estimate, "share_low": limit.conf_low, "share_high": limit.conf_high}

    rows: list[dict[str, Any]] = []
    for position, random_effect in enumerate(inference.random_effects):
        term = random_effect.term
        group_columns = {"group": term.name, "n_groups": term.n_levels}
        for j, effect in enumerate(term.effects):
            test = likelihood_ratio(solution, position, [j])
            row = group_columns | variance_with_limits(position, (effect,))
            row |= {"statistic": test.statistic, "df": float(test.df), "p_value": test.p_value}
            if j == 0:
                # The share is that of all effects of the group together.
                row |= share_with_limits(position, term.effects)
            rows.append(row)
        if not term.correlated:
            continue
        for pair in itertools.combinations(term.effects, 2):
            correlation = limits[position, "correlation", pair]
            rows.append(
                group_columns
                | {
                    "term": ", ".join(pair),
                    "parameter": "correlation",
                    "estimate": correlation.estimate,
                    "conf_low": correlation.conf_low,
                    "conf_high": correlation.conf_high,
                }
            )
    residual = {"group": RESIDUAL} | variance_with_limits(None, ()) | share_with_limits(None, ())
    return [*rows, residual]


def variance_components_without_limits(fitted: Fitted) -> pd.DataFrame:
    """Return the rows of `variance_components` without tests, limits and shares, which take long.

    The column `model` has the position of each row's model.
    """
    rows: list[dict[str, Any]] = []
    n_rows = []
    for position, inference in enumerate(_mixed_inferences_or_none_if_unestimated(fitted)):
        components = []
        if inference is not None:
            components = _variance_and_correlation_estimate_rows(inference)
        rows.extend(component | {"model": position} for component in components)
        n_rows.append(len(components))
    frame = pd.DataFrame(rows, columns=[*_ESTIMATED_COLUMNS, "model"])
    return pd.concat([key_columns(fitted, n_rows), frame], axis=1)


def _variance_and_correlation_estimate_rows(inference: MixedInference) -> list[dict[str, Any]]:
    """Return the estimated variances and correlations of one model, a row of the result for each."""
    solution = inference.solution
    rows: list[dict[str, Any]] = []
    factors = solution.relative_covariance_factors
    for random_effect, factor in zip(inference.random_effects, factors, strict=True):
        term = random_effect.term
        covariance = solution.sigma**2 * factor @ factor.T
        std_devs = np.sqrt(np.diag(covariance))
        group = {"group": term.name, "n_groups": term.n_levels}
        for effect, std_dev in zip(term.effects, std_devs, strict=True):
            variance = {"parameter": "variance", "estimate": std_dev**2, "std_dev": std_dev}
            rows.append(group | {"term": effect} | variance)
        if not term.correlated:
            continue
        for i, j in itertools.combinations(range(len(term.effects)), 2):
            with np.errstate(invalid="ignore"):
                correlation = covariance[i, j] / (std_devs[i] * std_devs[j])
            pair = f"{term.effects[i]}, {term.effects[j]}"
            rows.append(group | {"term": pair, "parameter": "correlation", "estimate": correlation})
    residual = {"parameter": "variance", "estimate": solution.sigma**2, "std_dev": solution.sigma}
    return [*rows, {"group": RESIDUAL, "term": None} | residual]


def random_effects(fitted: Fitted) -> pd.DataFrame:
    """Return the rows of `Fit.random_effects`."""
    effects: list[pd.DataFrame] = []
    n_rows_of_models = []
    for model, inference in zip(fitted.models, _mixed_inferences_or_none_if_unestimated(fitted), strict=True):
        effects_of_model = []
        if inference is not None:
            effects_of_model = [
                _conditional_means(model, inference, position)
                for position in range(len(inference.random_effects))
            ]
        n_rows_of_models.append(sum(len(frame) for frame in effects_of_model))
        effects += effects_of_model
    keys = key_columns(fitted, n_rows_of_models)
    if not effects:
        return pd.concat([keys, pd.DataFrame(columns=list(_EFFECT_COLUMNS))], axis=1)
    return pd.concat([keys, pd.concat(effects, ignore_index=True)], axis=1)


def _conditional_means(model: Model, inference: MixedInference, position: int) -> pd.DataFrame:
    """Conditional means (BLUPs) of a model's random effect at `position`, with their standard errors."""
    random_effect = inference.random_effects[position]
    term = random_effect.term
    variances = np.einsum("lii->li", inference.solution.conditional_covariances[position])
    return pd.DataFrame(
        {
            "group": term.name,
            "level": np.repeat(_group_names(model, random_effect), len(term.effects)),
            "term": list(term.effects) * term.n_levels,
            "estimate": inference.solution.random_effects[position].ravel(),
            # Rounding can make variances near 0 negative.
            "std_error": np.sqrt(np.maximum(variances, 0)).ravel(),
        }
    )


def summed_random_effects(
    model: Model, rows: pd.DataFrame, numbers_or_codes: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the sum (n,) of the random effects of the groups that each row of `rows` names.

    Effects are 0 for groups that are not named, not in the data, or whose name is missing (even if a group is
    called "nan"). `numbers_or_codes` are the values of the model's variables in `rows`, as numbers or codes
    of levels.
    """
    total = np.zeros(len(rows))
    inference = _mixed_inference(model)
    if inference is None:
        return total
    for random_effect, blups in zip(inference.random_effects, inference.solution.random_effects, strict=True):
        groups = random_effect.effect.groups
        if not set(groups) <= set(rows.columns):
            continue
        positions_by_name = {name: i for i, name in enumerate(_group_names(model, random_effect))}
        is_named = rows[list(groups)].notna().all(axis=1).to_numpy()
        columns = []
        for column in groups:
            columns.append(model.variables[column].printed_names_of_user_values(rows.loc[is_named, column]))
        names = [":".join(levels) for levels in zip(*columns, strict=True)]
        positions = np.full(len(rows), -1)
        positions[is_named] = [positions_by_name.get(name, -1) for name in names]
        matrix = _effect_matrix(model, random_effect, numbers_or_codes, len(rows))
        # Rows of no group (-1) take the effects of the last one here, which are then replaced by 0.
        effects = (matrix * blups[positions]).sum(axis=1)
        total += np.where(positions < 0, 0.0, effects)
    return total


def _effect_matrix(
    model: Model, random_effect: FittedRandomEffect, numbers_or_codes: dict[str, np.ndarray], n_rows: int
) -> np.ndarray:
    """Model matrix (n_rows, n_effects) of a random effect; variables without values have their default."""
    values = {}
    for column in columns_of_terms(random_effect.effect.terms):
        if column in numbers_or_codes:
            values[column] = numbers_or_codes[column]
        else:
            values[column] = np.full(n_rows, _mean_or_reference_level(model, random_effect, column))
    if not values:
        return np.ones((n_rows, 1))
    return random_effect.design.matrix_at(values)


def reml_singularity_and_group_count_columns(fitted: Fitted) -> dict[str, Any]:
    """Return the columns of `fit_statistics` that only mixed models have; none for other models."""
    if not fitted.is_mixed:
        return {}
    inferences = _mixed_inferences_or_none_if_unestimated(fitted)
    singular = [None if inference is None else inference.solution.is_singular for inference in inferences]
    columns: dict[str, Any] = {"reml": fitted.reml, "singular": pd.array(singular, dtype="boolean")}
    groupings = dict.fromkeys(
        effect.grouping_name for model in fitted.models for effect in model.formula.random
    )
    for grouping in groupings:
        columns[f"n_{grouping}"] = [_n_groups(inference, grouping) for inference in inferences]
    return columns


def _n_groups(inference: MixedInference | None, grouping: str) -> float:
    """Number of groups of a grouping such as `reader`; NaN for a model without estimates or without it."""
    if inference is not None:
        for random_effect in inference.random_effects:
            if random_effect.effect.grouping_name == grouping:
                return random_effect.term.n_levels
    return np.nan


def _mixed_inferences_or_none_if_unestimated(fitted: Fitted) -> list[MixedInference | None]:
    """Return the inference of each mixed model, None without estimates; other models raise an error."""
    if not fitted.is_mixed:
        raise SalstatsError(
            f"a {fitted.family.name} fit of {fitted.models[0].formula.text!r} has no random effects",
            hint="add (1|case) or (1|reader) to the formula",
            option="formula",
        )
    return [_mixed_inference(model) for model in fitted.models]


def _mixed_inference(model: Model) -> MixedInference | None:
    """Return the inference of a mixed model, None for one without estimates or random effects."""
    if model.solution is None or not isinstance(model.solution.inference, MixedInference):
        return None
    return model.solution.inference


def _group_names(model: Model, random_effect: FittedRandomEffect) -> list[str]:
    """Names of the groups of a random effect: "R1", or "P1:C3" for groups of several columns."""
    columns = []
    for i, column in enumerate(random_effect.effect.groups):
        columns.append(model.variables[column].printed_names(random_effect.group_values[:, i]))
    return [":".join(levels) for levels in zip(*columns, strict=True)]


def _mean_or_reference_level(model: Model, random_effect: FittedRandomEffect, column: str) -> float:
    """Value at which a column is held: the reference level of a factor, the mean of a number."""
    factors = [factor for term in random_effect.effect.terms for factor in term]
    for factor in factors:
        if column in factor.columns and is_categorical(factor, model.variables):
            return float(random_effect.design.levels[factor][0])
    return float(model.variables[column].values[model.rows].mean())
