"""Random effects of mixed models: their variances and shares, their values, and the groups they are of."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, check_level
from salstats.stats.models.design import is_categorical
from salstats.stats.models.mixed.profiles import variance_limits
from salstats.stats.models.mixed.ratio_tests import likelihood_ratio
from salstats.stats.models.mixed_fits import Grouped, MixedInference
from salstats.stats.models.models import Fitted, Model, model_keys

RESIDUAL = "Residual"
#: What limits of variances are, as tables say it.
LIMITS = "profile likelihood"


def variance_components(fitted: Fitted, *, level: float) -> pd.DataFrame:
    """The rows of `Fit.variance_components`."""
    check_level(level)
    parts = [[] if one is None else _components(one, level) for one in _known(fitted)]
    made: list[dict[str, Any]] = [
        row | {"conf_level": level, "interval": LIMITS, "n": len(model.rows), "reml": fitted.reml}
        for model, part in zip(fitted.models, parts, strict=True)
        for row in part
    ]
    columns = [
        *("group", "term", "parameter", "estimate", "std_dev", "statistic", "df", "p_value", "conf_low"),
        *("conf_high", "conf_level", "interval", "share", "share_low", "share_high", "n_groups", "n", "reml"),
    ]
    return pd.concat(
        [model_keys(fitted, [len(part) for part in parts]), pd.DataFrame(made, columns=columns)], axis=1
    )


def _components(inference: MixedInference, level: float) -> list[dict[str, Any]]:
    """The rows of one model."""
    solution = inference.solution
    limits = {(v.term, v.kind, v.effects): v for v in variance_limits(solution, level)}

    def variance(k: int | None, effects: tuple[str, ...]) -> dict[str, Any]:
        found = limits[k, "sd", effects]
        return {
            "term": ", ".join(effects) or None,
            "parameter": "variance",
            "estimate": found.estimate**2,
            "std_dev": found.estimate,
            "conf_low": found.conf_low**2,
            "conf_high": found.conf_high**2,
        }

    def share(k: int | None, effects: tuple[str, ...]) -> dict[str, Any]:
        found = limits[k, "share", effects]
        return {"share": found.estimate, "share_low": found.conf_low, "share_high": found.conf_high}

    rows: list[dict[str, Any]] = []
    for k, one in enumerate(inference.grouped):
        names, of_group = one.term.effects, {"group": one.term.name, "n_groups": one.term.n_levels}
        for j, name in enumerate(names):
            test = likelihood_ratio(solution, k, [j])
            tested = {"statistic": test.statistic, "df": float(test.df), "p_value": test.p_value}
            # a share is of all effects of the group
            rows.append(of_group | variance(k, (name,)) | tested | (share(k, names) if j == 0 else {}))
        for pair in itertools.combinations(names, 2) if one.term.correlated else ():
            found = limits[k, "correlation", pair]
            correlation = {
                "estimate": found.estimate,
                "conf_low": found.conf_low,
                "conf_high": found.conf_high,
            }
            rows.append(of_group | {"term": ", ".join(pair), "parameter": "correlation"} | correlation)
    return [*rows, {"group": RESIDUAL} | variance(None, ()) | share(None, ())]


def random_effects(fitted: Fitted) -> pd.DataFrame:
    """The rows of `Fit.random_effects`."""
    parts: list[pd.DataFrame] = []
    for model, one in zip(fitted.models, _known(fitted), strict=True):
        frames = [pd.DataFrame(columns=["group", "level", "term", "estimate", "std_error"])]
        for k, own in enumerate(() if one is None else one.grouped):
            assert one is not None
            n_effects = len(own.term.effects)
            spread = np.einsum("lii->li", one.solution.conditional_variances[k])
            of_group = {
                "group": own.term.name,
                "level": np.repeat(_names(model, own), n_effects),
                "term": list(own.term.effects) * own.term.n_levels,
                "estimate": one.solution.random_effects[k].ravel(),
                "std_error": np.sqrt(np.maximum(spread, 0)).ravel(),
            }
            frames.append(pd.DataFrame(of_group))
        parts.append(pd.concat(frames[1:] or frames, ignore_index=True))
    keys = model_keys(fitted, [len(part) for part in parts])
    return pd.concat([keys, pd.concat(parts, ignore_index=True)], axis=1)


def effects_at(model: Model, rows: pd.DataFrame, codes: dict[str, np.ndarray]) -> np.ndarray:
    """The sum of random effects at rows of values: of groups that they name, 0 of others."""
    inference, total = _inference(model), np.zeros(len(rows))
    for k, own in enumerate(() if inference is None else inference.grouped):
        assert inference is not None
        if not set(own.effect.groups) <= set(rows.columns):
            continue
        levels = {name: i for i, name in enumerate(_names(model, own))}
        columns = [model.variables[c].names_of(rows[c]) for c in own.effect.groups]
        found = np.array([levels.get(":".join(names), -1) for names in zip(*columns, strict=True)])
        at = {c: codes[c] if c in codes else np.full(len(rows), _held(model, own, c)) for c in own.columns}
        matrix = own.design.at(at) if at else np.ones((len(rows), 1))
        blups = inference.solution.random_effects[k][found]
        total += np.where(found < 0, 0.0, (matrix * blups).sum(axis=1))
    return total


def of_mixed_models(fitted: Fitted) -> dict[str, Any]:
    """The columns of `fit_statistics` that only mixed models have."""
    if fitted.reml is None:
        return {}
    known = _known(fitted)
    names = dict.fromkeys(effect.name for model in fitted.models for effect in model.formula.random)
    groups = {
        name: [
            next((g.term.n_levels for g in one.grouped if g.effect.name == name), np.nan) if one else np.nan
            for one in known
        ]
        for name in names
    }
    singular = pd.array([None if one is None else one.solution.singular for one in known], dtype="boolean")
    return {"reml": fitted.reml, "singular": singular} | {f"n_{name}": n for name, n in groups.items()}


def _known(fitted: Fitted) -> list[MixedInference | None]:
    """What each model says of its random effects, None where it has no estimates."""
    if fitted.reml is None:
        raise SalstatsError(
            f"a {fitted.family.name} fit of {fitted.models[0].formula.text!r} has no random effects; add "
            "(1|case) or (1|reader) to the formula"
        )
    return [_inference(model) for model in fitted.models]


def _inference(model: Model) -> MixedInference | None:
    """What a mixed model says of its random effects, None where it has no estimates."""
    found = None if model.solution is None else model.solution.inference
    return found if isinstance(found, MixedInference) else None


def _names(model: Model, own: Grouped) -> list[str]:
    """The groups of a random effect."""
    columns = [model.variables[column].names(own.values[:, i]) for i, column in enumerate(own.effect.groups)]
    return [":".join(names) for names in zip(*columns, strict=True)]


def _held(model: Model, own: Grouped, column: str) -> float:
    """Where a column of random effects alone is held: a number at its mean, a factor at its reference."""
    for factor in (factor for term in own.effect.terms for factor in term):
        if column in factor.columns and is_categorical(factor, model.variables):
            return float(own.design.levels[factor][0])
    return float(model.variables[column].values[model.rows].mean())
