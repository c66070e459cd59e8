"""Marginal means, contrasts and slopes of models, on the scale of the score."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, ValueRangeError, check_choice, check_level, quoted
from salstats.frames import text_column
from salstats.stats.adjust import adjusted_if_asked, check_procedure
from salstats.stats.engine.comparisons import ALL
from salstats.stats.engine.equivalence import (
    Margin,
    check_margin,
    is_below,
    margin_columns,
    p_of_tails,
    sides,
)
from salstats.stats.engine.tails import t_tails
from salstats.stats.models.models import Fitted, Model, Notes, warn_of
from salstats.stats.models.predictions import (
    Codes,
    default_values,
    design_points,
    design_slopes,
    display_values,
    prediction_frame,
    right_side,
    value_code,
)
from salstats.stats.models.predictors import linear_at, steepness_at
from salstats.stats.models.standard_errors import inferred, of_combinations

AVERAGES = ("grid", "rows")
#: Column of the level that a contrast takes away.
_REFERENCE = "reference_level"
#: What is known of a margin: its value, and how it moves with each parameter.
Marginal = tuple[float, np.ndarray]


def marginal_means(fitted: Fitted, term: str, by: Sequence[str], average: str, level: float) -> pd.DataFrame:
    """The rows of `Fit.means`."""
    _check(average, level)
    parts, notes = [], fitted.doubts.copy()
    for model in fitted.models:
        cells = _cells(model, term, by)
        populations = [_population(model, cell, by, average) for cell in cells]
        keys = _levels(model, cells, {c: c for c in (*by, term)})
        parts.append((model, keys, _averages(fitted, model, populations, notes)))
    frame = _frame(fitted, parts, average, level, notes)
    return frame.drop(columns=["statistic", "p_value"])


def marginal_contrasts(
    fitted: Fitted,
    term: str,
    by: Sequence[str],
    reference: object,
    average: str,
    level: float,
    adjust: str,
    margin: Margin | None,
) -> pd.DataFrame:
    """The rows of `Fit.contrasts`."""
    _check(average, level, adjust)
    if _REFERENCE in (term, *by):
        raise ColumnError(f"{_REFERENCE!r} is a column of the result and of the model; rename it")
    parts, notes = [], fitted.doubts.copy()
    for model in fitted.models:
        _check_factors(model, (*by, term))
        every = reference is None or (reference == ALL and not _has_level(fitted, term, ALL))
        against = None if every else value_code(fitted, model, term, reference)
        cells = _cells(model, term, by, against)
        populations = [_population(model, cell, by, average) for cell in cells]
        means = _averages(fitted, model, populations, notes)
        compared, margins = [], []
        for i, j in itertools.combinations(range(len(cells)), 2):
            levels = cells[i][term], cells[j][term]
            alike = all(cells[i][column] == cells[j][column] for column in by)
            if not alike or against not in (None, *levels):
                continue
            later, earlier = (i, j) if against == levels[1] else (j, i)
            compared.append(cells[later] | {_REFERENCE: cells[earlier][term]})
            (high, upper), (low, lower) = means[later], means[earlier]
            margins.append((high - low, upper - lower))
        columns = {c: c for c in (*by, term)} | {_REFERENCE: term}
        parts.append((model, _levels(model, compared, columns), margins))
    frame = _frame(fitted, parts, average, level, notes)
    if margin is not None:
        responses = [m.formula.response.columns[0] for m, _, margins in parts for _ in margins]
        frame = frame.assign(**_against(frame, margin, np.array(responses), -1 if fitted.reference else 1))
    return adjusted_if_asked(frame, adjust)


def _has_level(fitted: Fitted, term: str, level: str) -> bool:
    """Whether a factor has a level of this name in some model."""
    return any(level in (m.variables[term].levels or ()) for m in fitted.models if term in m.variables)


def _against(frame: pd.DataFrame, margin: Margin, responses: np.ndarray, sense: int) -> dict[str, Any]:
    """Verdict, margin and P value of each contrast; `sense` is -1 of gaps reference - method."""
    estimate, std_error, df = (frame[c].to_numpy(dtype=np.float64) for c in ("estimate", "std_error", "df"))
    df = np.where(frame["interval"] == "wald", np.inf, df)
    low, high = check_margin(margin, responses)
    p_value = p_of_tails(lambda bound: t_tails(estimate, std_error, df, bound), low, high)
    alpha = 1 - frame["conf_level"].to_numpy()
    side = sides(estimate, is_below(frame["p_value"].to_numpy(), alpha))
    return margin_columns(side, responses, (low, high, p_value), is_below(p_value, alpha), sense)


def marginal_slopes(
    fitted: Fitted, covariate: str, by: Sequence[str], average: str, level: float, adjust: str
) -> pd.DataFrame:
    """The rows of `Fit.slopes`."""
    _check(average, level, adjust)
    parts, notes = [], fitted.doubts.copy()
    for model in fitted.models:
        numeric = right_side(model)[0]
        if covariate not in numeric:
            raise ValueRangeError(
                f"{covariate!r} is no number on the right side of {model.formula.text!r}, along which there "
                f"is a slope; choose one of {quoted(numeric)}"
            )
        cells = _cells(model, None, by)
        populations = [_population(model, cell, by, average) for cell in cells]
        margins = _averages(fitted, model, populations, notes, covariate)
        parts.append((model, _levels(model, cells, {c: c for c in by}), margins))
    frame = _frame(fitted, parts, average, level, notes)
    frame.insert(frame.columns.get_loc("estimate"), "term", covariate)
    return adjusted_if_asked(frame, adjust)


def marginal_effects(fitted: Fitted, level: float, adjust: str) -> pd.DataFrame:
    """The rows of `Fit.effects`."""
    _check("rows", level, adjust)
    parts, notes = [], fitted.doubts.copy()
    terms: list[str] = []
    against: list[str | None] = []
    for model in fitted.models:
        numeric, factors = right_side(model)
        effects: list[Marginal] = []
        for column in dict.fromkeys(c for term in model.formula.terms for f in term for c in f.columns):
            if column in numeric:
                whole = _population(model, {}, (), "rows")
                effects += _averages(fitted, model, [whole], notes, column)
                terms.append(column)
                against.append(None)
                continue
            cells = _cells(model, column, ())
            populations = [_population(model, cell, (), "rows") for cell in cells]
            (base, lower), *others = _averages(fitted, model, populations, notes)
            effects += [(value - base, upper - lower) for value, upper in others]
            names = display_values(model, column, np.array([cell[column] for cell in cells]))
            terms += [f"{factors[column].name}{name}" for name in names[1:]]
            against += [names[0]] * len(others)
        parts.append((model, pd.DataFrame(index=range(len(effects))), effects))
    frame = _frame(fitted, parts, "rows", level, notes)
    frame.insert(frame.columns.get_loc("estimate"), "term", text_column(terms))
    frame = frame.assign(**({"reference_level": text_column(against)} if any(against) else {}))
    return adjusted_if_asked(frame, adjust)


def _check(average: str, level: float, adjust: str = "none") -> None:
    """Raise where an option is none."""
    check_choice(average, AVERAGES, "average")
    check_level(level)
    check_procedure(adjust, "adjust")


def _check_factors(model: Model, columns: Sequence[str]) -> None:
    """Raise where a factor that is asked for is none, or is asked for twice."""
    factors = right_side(model)[1]
    twice = {column for column in columns if columns.count(column) > 1}
    if twice:
        raise ValueRangeError(f"{quoted(twice)} is asked for twice; by names other factors than the term")
    for column in columns:
        if column not in factors:
            known = f"choose from {quoted(factors)}" if factors else "it has none"
            raise ValueRangeError(
                f"{column!r} is no factor (a column of text, or C(...)) on the right side of "
                f"{model.formula.text!r}; {known}"
            )


def _cells(
    model: Model, term: str | None, by: Sequence[str], against: float | None = None
) -> list[dict[str, float]]:
    """Every combination of the levels of some factors, those of the last one varying fastest."""
    columns = [*by, *([] if term is None else [term])]
    _check_factors(model, columns)
    factors = right_side(model)[1]
    levels = [model.design.levels[factors[column]].tolist() for column in columns]
    if against is not None and against not in levels[-1]:
        levels[-1].append(against)
    return [dict(zip(columns, values, strict=True)) for values in itertools.product(*levels)]


def _population(
    model: Model, cell: dict[str, float], by: Sequence[str], average: str
) -> tuple[Codes, np.ndarray]:
    """The values over which a mean is averaged, of a grid or of the model's rows, and their weights."""
    held, factors = default_values(model), right_side(model)[1]
    if average == "grid":
        free = {c: model.design.levels[f] for c, f in factors.items() if c not in cell}
        grid = np.meshgrid(*free.values(), indexing="ij") if free else []
        n = grid[0].size if grid else 1
        spread = {c: values.ravel() for c, values in zip(free, grid, strict=True)}
        return {c: spread.get(c, np.full(n, cell.get(c, value))) for c, value in held.items()}, np.ones(n)
    observed = {c: model.variables[c].values[model.rows] for c in held}
    inside = np.ones(len(model.rows), dtype=bool)
    for column in by:
        inside &= observed[column] == cell[column]
    sampling = None if model.solution is None else model.solution.sampling
    each = (np.ones(len(inside)) if sampling is None else sampling)[inside]
    return {c: np.full(len(each), cell[c]) if c in cell else v[inside] for c, v in observed.items()}, each


def _averages(
    fitted: Fitted,
    model: Model,
    populations: Sequence[tuple[Codes, np.ndarray]],
    notes: Notes,
    along: str | None = None,
) -> list[Marginal]:
    """The mean (or its slope along a covariate) over populations, and its derivative by each parameter."""
    solution, link = model.solution, fitted.family.link
    if solution is None:
        return [(np.nan, np.empty(0))] * len(populations)
    together = {c: np.concatenate([codes[c] for codes, _ in populations]) for c in populations[0][0]}
    points = design_points(model, together, notes)
    if along is None:
        predictor, combinations = linear_at(solution, points)
        mean, gradient = link.mean(predictor), link.slope(predictor)[:, None] * combinations
    else:
        slopes = design_slopes(model, along, together, notes)
        mean, gradient = steepness_at(solution, link, points, slopes)
    ends = np.cumsum([len(each) for _, each in populations])
    return [
        (
            float(np.average(mean[end - len(each) : end], weights=each)),
            np.average(gradient[end - len(each) : end], axis=0, weights=each),
        )
        if len(each)
        else (np.nan, np.full(gradient.shape[1], np.nan))
        for (_, each), end in zip(populations, ends, strict=True)
    ]


def _levels(model: Model, cells: Sequence[dict[str, float]], shown_as: Mapping[str, str]) -> pd.DataFrame:
    """Cells as columns; `shown_as` says which factor the levels in a column are of."""
    values = {
        c: display_values(model, of, np.array([cell[c] for cell in cells])) for c, of in shown_as.items()
    }
    return pd.DataFrame(values, index=range(len(cells)))


def _frame(
    fitted: Fitted,
    parts: Sequence[tuple[Model, pd.DataFrame, list[Marginal]]],
    average: str,
    level: float,
    notes: Notes,
) -> pd.DataFrame:
    """Margins of several models as one frame, behind the columns that tell each model's apart."""
    columns: list[dict[str, Any]] = []
    for model, _, margins in parts:
        estimate = np.array([value for value, _ in margins])
        std_error = df = np.full(len(margins), np.nan)
        if model.solution is not None and margins:
            combinations = np.array([gradient for _, gradient in margins])
            std_error, df = of_combinations(model, combinations, notes)
        made = inferred(estimate, std_error, df, level)
        columns.append({**made, "df": df, "conf_level": np.full(len(margins), level)})
    warn_of(notes)
    levels = pd.concat([keys for _, keys, _ in parts], ignore_index=True)
    frame = prediction_frame(fitted, columns, levels, {"average": average})
    # before the formula, where tables and figures look for what tells rows apart
    first = [*fitted.by, *levels.columns]
    return frame[[*first, *(c for c in frame.columns if c not in first)]]
