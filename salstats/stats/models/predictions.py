"""What models predict: rows of a design matrix at values asked for, the means there, and a line of them."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import ColumnError, ValueRangeError, check_count, check_level, quoted
from salstats.frames import ESTIMATE_COLUMNS, estimates_frame
from salstats.stats.engine.units import Unit
from salstats.stats.models.choices import Asked
from salstats.stats.models.components import effects_at
from salstats.stats.models.design import is_categorical, level_name
from salstats.stats.models.family import RANK_TOLERANCE
from salstats.stats.models.formulas import Factor
from salstats.stats.models.models import (
    Fitted,
    Model,
    Notes,
    fit_models,
    model_counts,
    model_keys,
    model_options,
    warn_of,
)
from salstats.stats.models.predictors import linear_at
from salstats.stats.models.standard_errors import of_combinations

#: First distance of the points that a slope is taken from, as a share of the range of the covariate.
_STEP = 1e-4
#: Weights of the values at -2, -1, 1 and 2 steps: the derivative of a polynomial of degree four.
_STENCIL = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
#: How often a step is made ten times shorter until two agree, and to which share of the slope.
_SHRINKS, _ALIKE = 12, 1e-8
#: Share of a slope by which one that depends on others may miss them, as differences are inexact.
_APART = 1e-5
Codes = dict[str, np.ndarray]
"""Values of columns: numbers, or the codes of levels."""


def predictions(
    fitted: Fitted, at: Mapping[str, Any] | pd.DataFrame, *, level: float, random: bool = False
) -> pd.DataFrame:
    """The rows of `Fit.predict`."""
    check_level(level)
    if random and fitted.reml is None:
        raise ValueRangeError("random=True is for models with random effects, such as 'iou ~ 1 + (1|case)'")
    notes: Notes = fitted.doubts.copy()
    parts: list[dict[str, Any]] = []
    values: list[pd.DataFrame] = []
    for model in fitted.models:
        if isinstance(at, pd.DataFrame):
            rows = at.reset_index(drop=True)
        else:
            # text is one value, not its letters
            lists = [v if np.ndim(v) and not isinstance(v, str) else [v] for v in at.values()]
            rows = pd.DataFrame(list(itertools.product(*lists)), columns=list(at), dtype=object)
        groups = list(dict.fromkeys(c for e in model.formula.random for c in e.groups)) if random else []
        _check_asked(model, [c for c in rows.columns if c not in groups])
        held = held_values(model)
        codes = {
            column: np.array([code_of(fitted, model, column, v) for v in rows[column]], dtype=np.float64)
            if column in rows.columns
            else np.full(len(rows), held[column])
            for column in held
        }
        parts.append(means_at(model, codes, level, notes))
        of_model = {column: shown(model, column, codes[column]) for column in held}
        known = pd.DataFrame(of_model, index=range(len(rows)))
        if random:
            parts[-1] |= {name: np.full(len(rows), np.nan) for name in ("std_error", "conf_low", "conf_high")}
            parts[-1]["estimate"] = parts[-1]["estimate"] + effects_at(model, rows, codes)
            known = known.assign(**{c: rows[c] for c in groups if c in rows.columns and c not in held})
        values.append(known)
    warn_of(notes)
    return prediction_frame(fitted, parts, pd.concat(values, ignore_index=True), {})


def right_side(model: Model) -> tuple[list[str], dict[str, Factor]]:
    """The columns of the right side that are numbers, and those of a factor with that factor."""
    numeric: dict[str, None] = {}
    factors: dict[str, Factor] = {}
    for factor in (factor for term in model.formula.terms for factor in term):
        for column in factor.columns:
            if is_categorical(factor, model.variables):
                factors.setdefault(column, factor)
            else:
                numeric[column] = None
    return [column for column in numeric if column not in factors], factors


def held_values(model: Model) -> dict[str, float]:
    """Where each column of the right side is held: numbers at their mean, factors at their reference."""
    numeric, factors = right_side(model)
    means = {c: model.variables[c].values[model.rows] for c in numeric}
    held = {c: float(values.mean()) if len(values) else np.nan for c, values in means.items()}
    levels = {c: model.design.levels[factor] for c, factor in factors.items()}
    return held | {c: float(values[0]) if len(values) else np.nan for c, values in levels.items()}


def code_of(fitted: Fitted, model: Model, column: str, given: object) -> float:
    """A value that was asked for, which a factor must have among its levels in some model."""
    if column not in right_side(model)[1]:
        if not isinstance(given, int | float | np.number) or not np.isfinite(given):
            raise ValueRangeError(f"{column!r} must be a number, not {given!r}")
        return float(given)
    levels: list[str] = []
    for one in fitted.models:
        if (factor := right_side(one)[1].get(column)) is not None:
            levels += one.variables[column].names(one.design.levels[factor])
    if level_name(given) not in levels:
        known = quoted(dict.fromkeys(levels))
        raise ValueRangeError(f"{model.formula.text!r}: {column!r} has no level {given!r}; levels: {known}")
    variable = model.variables[column]
    values = np.unique(variable.values[~np.isnan(variable.values)])
    names = variable.names(values)
    return float(values[names.index(level_name(given))]) if level_name(given) in names else np.nan


def shown(model: Model, column: str, codes: np.ndarray) -> list[Any]:
    """Values as they are shown: numbers, or levels."""
    variable = model.variables[column]
    if variable.levels is None:
        return codes.tolist()
    return [None if np.isnan(code) else variable.levels[int(code)] for code in codes]


def _check_asked(model: Model, asked: Sequence[str]) -> None:
    """Raise where values of something else than the right side's columns are given."""
    numeric, factors = right_side(model)
    unknown = [name for name in asked if name not in numeric and name not in factors]
    if unknown:
        raise ValueRangeError(
            f"at names {quoted(unknown)}, which is not on the right side of {model.formula.text!r}; "
            f"choose from {quoted([*numeric, *factors])}"
        )


def rows_at(model: Model, codes: Codes, notes: Notes) -> np.ndarray:
    """The model matrix at values, its estimated columns; NaN where there is no mean."""
    matrix, own = model.design.at(codes), model.design.matrix
    size = np.maximum(np.abs(own).max(axis=0), np.abs(matrix).max(axis=0))
    points = _estimable(model, matrix, RANK_TOLERANCE * size, "means", notes)
    for column, factor in right_side(model)[1].items():
        lacking = ~np.isin(codes[column], model.design.levels[factor])
        if lacking.any():
            points = np.where(lacking[:, None], np.nan, points)
            levels = quoted(shown(model, column, np.unique(codes[column][lacking])))
            notes["no means (NaN) at levels that are not there"].append(f"{model.label}: {column} {levels}")
    return points


def slopes_at(model: Model, covariate: str, codes: Codes, notes: Notes) -> np.ndarray:
    """The derivative of `rows_at` along a covariate; NaN where there is none."""
    values = codes[covariate]
    slopes = np.full((len(values), model.design.matrix.shape[1]), np.nan)
    spread = np.ptp(model.variables[covariate].values[model.rows])
    step, left = _STEP * spread, np.arange(len(values))
    wide = _differences(model, covariate, codes, step)[0] if step else slopes
    for _ in range(_SHRINKS if step else 0):
        step = step / 10
        inside = {column: v[left] for column, v in codes.items()}
        narrow, size = _differences(model, covariate, inside, step)
        rounding = 100 * np.finfo(float).eps * (size + np.abs(narrow * values[left, None])) / step
        agree = (np.abs(wide - narrow) <= _ALIKE * np.abs(narrow) + rounding).all(axis=1)
        slopes[left[agree]] = wide[agree]
        left, wide = left[~agree], narrow[~agree]
        if not len(left):
            break
    if len(left):
        notes[
            f"slopes that are not known (NaN), as {covariate} or its transform does not vary smoothly,"
        ].append(f"{model.label}: {len(left)} of {len(values)} values")
    # not against the values: those far from 0 hardly move, however far apart the slopes are
    tolerance = _APART * np.abs(slopes) + RANK_TOLERANCE * np.ptp(model.design.matrix, axis=0) / (spread or 1)
    return _estimable(model, slopes, tolerance, "slopes", notes)


def _differences(model: Model, covariate: str, codes: Codes, step: float) -> tuple[np.ndarray, np.ndarray]:
    """The model matrix's slope from its differences around values, and the size of its entries there."""
    moved = [model.design.at(codes | {covariate: codes[covariate] + n * step}) for n in _STENCIL]
    slope = sum(weight * matrix for weight, matrix in zip(_STENCIL.values(), moved, strict=True))
    return np.asarray(slope) / step, np.max(np.abs(moved), axis=0)


def _estimable(
    model: Model, matrix: np.ndarray, tolerance: np.ndarray, what: str, notes: Notes
) -> np.ndarray:
    """The estimated columns of rows; NaN where the others do not depend on them as in the model's rows."""
    solution = model.solution
    assert solution is not None
    points = matrix[:, solution.kept]
    aliased = np.setdiff1d(np.arange(matrix.shape[1]), solution.kept)
    if len(aliased):
        weights = np.linalg.lstsq(solution.matrix, model.design.matrix[:, aliased], rcond=None)[0]
        apart = np.abs(matrix[:, aliased] - points @ weights)
        unknown = (apart > tolerance[..., aliased]).any(axis=1)
        if unknown.any():
            notes[f"{what} that cannot be estimated (NaN), as terms depend on each other,"].append(
                f"{model.label}: {int(unknown.sum())} of {len(matrix)} values"
            )
            points = np.where(unknown[:, None], np.nan, points)
    return np.asarray(points)


def means_at(model: Model, codes: Codes, level: float, notes: Notes) -> dict[str, np.ndarray]:
    """Means at values, with limits that are made on the scale of the linear predictor; df may be infinite."""
    solution, link = model.solution, model.family.link
    names = ("estimate", "std_error", "df", "conf_low", "conf_high")
    n = len(next(iter(codes.values()))) if codes else 1
    conf_level = {"conf_level": np.full(n, level)}
    if solution is None:
        return {name: np.full(n, np.nan) for name in names} | conf_level
    points = rows_at(model, codes, notes)
    predictor, combinations = linear_at(solution, points)
    std_error, df = of_combinations(model, combinations, notes)
    half = special.stdtrit(df, (1 + level) / 2) * std_error
    low, high = link.mean(predictor - half), link.mean(predictor + half)
    columns = (link.mean(predictor), std_error * link.slope(predictor), df, low, high)
    return dict(zip(names, columns, strict=True)) | conf_level


def prediction_frame(
    fitted: Fitted, parts: Sequence[Mapping[str, Any]], keys: pd.DataFrame, special: Mapping[str, Any]
) -> pd.DataFrame:
    """Estimates of several models as one frame, `keys` behind the grouping columns."""
    repeats = [len(part["estimate"]) for part in parts]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    normal = np.isinf(columns["df"])
    columns["interval"] = np.where(normal, "wald", "t")
    columns["df"] = np.where(normal, np.nan, columns["df"])
    before, made = model_keys(fitted, repeats), model_options(fitted)
    variables = [*before.columns, *keys.columns, *special]
    taken = [c for c in variables if c in (*ESTIMATE_COLUMNS, *made) or variables.count(c) > 1]
    if taken:
        raise ColumnError(f"{quoted(set(taken))} is a column of the result and of the model; rename it")
    counted = model_counts(fitted, repeats)
    return estimates_frame(pd.concat([before, keys], axis=1), {**columns, **counted}, made | dict(special))


def fit_line(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    at: str | None = None,
    hold: Mapping[str, float | str] | None = None,
    n_points: int = 50,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: Unit = None,
    reference: str | None = None,
    level: float = 0.95,
    overall: bool = False,
) -> pd.DataFrame:
    """Fitted mean of models along one covariate, with pointwise confidence limits.

    The models, their errors and their degrees of freedom are those of `regress`; this is what
    `plot_scatter` draws. The limits are for the mean at each value by itself: not for the whole line at
    once, and not for a new observation.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, level, overall
        As for `regress`. With `reference` the line is that of the gap reference - method.
    at : str, optional
        The covariate: a numeric column or metric on the right side. By default the first one there.
    hold : mapping, optional
        Values at which other variables of the right side are held: `{"prob": 0.5, "task": "Edema"}`. By
        default numbers (True and False are 1 and 0) are held at their mean over the rows of the model, and
        text, `C(...)` included, at its reference level, as R's `ggeffects::ggpredict` does.
    n_points : int
        Values along the line, equally spaced from the smallest to the largest of the model's own rows: a
        line never leaves its group's data.

    Returns
    -------
    DataFrame
        In order of formula, group (as in `regress`) and value, with columns

    by..., reference, formula As in `regress`. covariate, value The name of the covariate and its value. A
    group in which it does not vary has a single row, as has a model without estimates (`value` and all
    that follows from it NaN). estimate, std_error The fitted mean, for the logit families a probability
    or fraction, and its standard error, there by the delta method. Of a transformed left side, such as
    `log(iou)`, on that scale. df, conf_low, conf_high, conf_level, interval As in `regress`, with `cr2`
    for the mean at this value; limits of the logit families are made on the logit scale, and so lie
    between 0 and 1. unit, n, n_missing, n_units, family, errors As in `regress`. other variables of the
    right side The values at which they are held. Means at a level that a group lacks are NaN, with a
    warning.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; `at` is not a numeric variable of the right side; `hold` names something else, or a
        level that no group has; a variable held has the name of a column of the result.

    Notes
    -----
    With x the row of the model matrix at a value (`scale` and `center` with the mean and deviation of the
    model's own rows), b the coefficients and V their covariance by `errors`: the estimate is x'b, its
    standard error sqrt(x'V x), the limits x'b ± q sqrt(x'V x) with q the quantile of Student's t; for the
    logit families these are logits, transformed back, and the standard error is mu (1 - mu) sqrt(x'V x).
    This is R's `predict(lm, interval = "confidence")` and, for `glm`, `plogis` of `predict(type = "link")`
    and its limits. A covariate that depends on others cannot move while they are held: NaN, with a warning.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], "size": [1, 2, 3, 4, 5, 6]})
    >>> line = ss.fit_line(table, "score ~ size", n_points=3)
    >>> line[["covariate", "value", "estimate", "std_error", "conf_low", "conf_high", "n"]].round(3)
      covariate  value  estimate  std_error  conf_low  conf_high  n
    0      size    1.0     0.129      0.054    -0.115      0.372  6
    1      size    3.5     0.350      0.037     0.245      0.455  6
    2      size    6.0     0.571      0.054     0.328      0.815  6
    """
    check_level(level)
    check_count(n_points, "n_points", 2)
    fitted = fit_models(data, formula, Asked(by, family, errors, unit, reference, overall))
    notes: Notes = fitted.doubts.copy()
    parts, keys, held = [], [], []
    for model in fitted.models:
        covariate = _chosen(model, at)
        values = held_values(model) | _given(fitted, model, covariate, dict(hold or {}))
        observed = model.variables[covariate].values[model.rows]
        line = np.array([np.nan])
        if model.solution is not None:
            constant = observed.min() == observed.max()
            line = np.linspace(observed.min(), observed.max(), 1 if constant else n_points)
        codes = {c: line if c == covariate else np.full(len(line), value) for c, value in values.items()}
        parts.append(means_at(model, codes, level, notes))
        keys.append(pd.DataFrame({"covariate": covariate, "value": line}))
        held.append(pd.DataFrame({c: shown(model, c, v) for c, v in codes.items() if c != covariate}))
    warn_of(notes)
    lines, others = (pd.concat(frames, ignore_index=True) for frames in (keys, held))
    return prediction_frame(fitted, parts, lines, others)


def _chosen(model: Model, at: str | None) -> str:
    """The covariate of the line."""
    numeric = right_side(model)[0]
    if not numeric:
        raise ValueRangeError(
            f"{model.formula.text!r} has no numeric covariate on its right side to draw a line along; "
            "summarize() gives the means of groups"
        )
    if at is not None and at not in numeric:
        raise ValueRangeError(
            f"at={at!r} is not a numeric variable on the right side of {model.formula.text!r}; "
            f"choose one of {quoted(numeric)}"
        )
    return at or numeric[0]


def _given(fitted: Fitted, model: Model, covariate: str, hold: Mapping[str, float | str]) -> dict[str, float]:
    """The values of `hold`."""
    others = [column for column in held_values(model) if column != covariate]
    unknown = [name for name in hold if name not in others]
    if unknown:
        raise ValueRangeError(
            f"hold names {quoted(unknown)}, which {model.formula.text!r} does not hold"
            + (f"; it holds {quoted(others)}" if others else "; there is nothing else on its right side")
        )
    return {name: code_of(fitted, model, name, value) for name, value in hold.items()}
