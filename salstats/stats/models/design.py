"""From a formula and columns to a model matrix, in R's coding and with R's names of terms."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, FormulaError, ValueRangeError, check_numeric, quoted
from salstats.stats.models.formulas import Factor, Formula

MAX_COLUMNS = 2000
#: Entries of a model matrix; copies of it are alive while it is made and fitted.
_MOST_ENTRIES = 100_000_000
INTERCEPT = "(Intercept)"


@dataclass(frozen=True)
class Variable:
    """One column, ready for a model.

    Attributes
    ----------
    values : ndarray of float, shape (n_rows,)
        The numbers, or for text the codes of the levels; NaN where missing.
    levels : tuple of str or None
        The levels in their order, or None for a numeric column.
    """

    values: np.ndarray
    levels: tuple[str, ...] | None


@dataclass(frozen=True)
class Design:
    """The model matrix of some rows.

    Attributes
    ----------
    matrix : ndarray of float, shape (n, k)
        One column per coefficient.
    names : tuple of str
        The names of the columns, as R and broom write them.
    assign : tuple of int
        The position of each column's term in the formula; -1 for the intercept.
    response : ndarray of float, shape (n,)
        The left side.
    single_level : tuple of str
        Categorical variables that have one level only in these rows, and so no column.
    references : dict of str to str
        The level that each categorical variable's treatment contrasts are against, where there are any.
    """

    matrix: np.ndarray
    names: tuple[str, ...]
    assign: tuple[int, ...]
    response: np.ndarray
    single_level: tuple[str, ...]
    references: dict[str, str]


def read_variable(frame: pd.DataFrame, column: str) -> Variable:
    """Return a column of numbers as it is, and one of text as the codes of its levels.

    The levels of a Categorical keep their order, other text is sorted by code point (R's C locale).
    """
    series = frame[column]
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy(dtype=np.float64)
        levels = tuple(level_name(v) for v in series.cat.categories)
    elif pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
        return Variable(check_numeric(frame, column, "the data"), None)
    elif pd.api.types.is_string_dtype(series) or pd.api.types.is_object_dtype(series):
        texts = series.map(level_name, na_action="ignore") if series.dtype == object else series
        raw, uniques = pd.factorize(texts, sort=True)
        codes, levels = np.asarray(raw, dtype=np.float64), tuple(str(v) for v in uniques)
    else:
        raise ColumnError(f"column {column!r} is {series.dtype}; a model takes numbers or text")
    return Variable(np.where(codes < 0, np.nan, codes), levels)


def level_name(value: object) -> str:
    """Return a level as R prints it: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def complete_rows(formula: Formula, variables: Mapping[str, Variable], rows: np.ndarray) -> np.ndarray:
    """Return those of `rows` in which no column of the formula is missing (R's na.omit)."""
    complete = np.ones(len(rows), dtype=bool)
    for column in formula.columns:
        complete &= ~np.isnan(variables[column].values[rows])
    return rows[complete]


def build_design(formula: Formula, variables: Mapping[str, Variable], rows: np.ndarray) -> Design:
    """Return the model matrix of `rows`, none of which may miss a column of the formula.

    Parameters
    ----------
    formula : Formula
        What to build.
    variables : mapping of str to Variable
        Every column of the formula.
    rows : ndarray of int, shape (n,)
        The rows used: levels, means (`center`) and standard deviations (`scale`) are theirs (R's `lm`
        scales all rows, before it leaves out those with a missing variable).

    Returns
    -------
    Design
        The matrix, columns in R's order.

    Raises
    ------
    ColumnError
        Arithmetic on text; a transform that is undefined in some row.
    FormulaError
        More than 2000 columns.

    Notes
    -----
    R's rule (`terms.formula`) decides on contrasts: a categorical variable in a term is coded by treatment
    contrasts, first level the reference, where the rest of the term is part of an earlier term, and by
    indicators of all its levels elsewhere; without an intercept the first categorical variable has all.
    """
    response = evaluate(formula.response, variables, rows)
    coded: dict[str, _Coded] = {}
    for term in formula.terms:
        for factor in term:
            if factor.key not in coded:
                coded[factor.key] = _coded(factor, variables, rows)
    blocks: list[np.ndarray] = [np.ones((len(rows), 1))] if formula.intercept else []
    names = [INTERCEPT] if formula.intercept else []
    assign = [-1] if formula.intercept else []
    all_levels = _fully_coded(formula, coded)
    references: dict[str, str] = {}
    for position, term in enumerate(formula.terms):
        block, block_names = np.ones((len(rows), 1)), [""]
        for factor in term:
            part = coded[factor.key]
            first = 0 if not part.levels or (position, factor.key) in all_levels else 1
            if first and part.levels is not None and len(part.levels) > 1:
                references[factor.name] = part.levels[0]
            width = block.shape[1] * (part.columns.shape[1] - first)
            if width + len(names) > MAX_COLUMNS:
                raise FormulaError(
                    f"{formula.text!r} would make more than {MAX_COLUMNS} columns; "
                    f"{factor.name!r} has {part.columns.shape[1]} levels"
                )
            _check_size(formula, len(rows), width + len(names))
            # R's order: the levels of the first factor vary fastest
            block = np.einsum("ni,nj->nji", block, part.columns[:, first:]).reshape(len(rows), width)
            block_names = [f"{a}:{b}" if a else b for b in part.names[first:] for a in block_names]
        blocks.append(block)
        names += block_names
        assign += [position] * len(block_names)
    matrix = np.concatenate(blocks, axis=1) if blocks else np.empty((len(rows), 0))
    single = [f.name for term in formula.terms for f in term if len(coded[f.key].levels or "ab") == 1]
    return Design(matrix, tuple(names), tuple(assign), response, tuple(dict.fromkeys(single)), references)


def _check_size(formula: Formula, n_rows: int, n_columns: int) -> None:
    """Raise where a model matrix would not fit into memory beside its copies."""
    if n_rows * n_columns > _MOST_ENTRIES:
        raise FormulaError(
            f"{formula.text!r} would make a matrix of {n_rows} rows and {n_columns} columns, which is too "
            "large; take a text column with fewer levels, or fit groups with by="
        )


@dataclass(frozen=True)
class _Coded:
    """A factor's values: one column if numeric, else an indicator column per level."""

    columns: np.ndarray
    names: tuple[str, ...]
    levels: tuple[str, ...] | None


def _coded(factor: Factor, variables: Mapping[str, Variable], rows: np.ndarray) -> _Coded:
    """Return a factor's columns before contrasts are chosen."""
    plain = isinstance(factor.expression, ast.Name)
    variable = variables[factor.expression.id] if isinstance(factor.expression, ast.Name) else None
    if not factor.categorical and not (plain and variable is not None and variable.levels is not None):
        return _Coded(evaluate(factor, variables, rows)[:, None], (factor.name,), None)
    if variable is not None and variable.levels is not None:
        codes = variable.values[rows].astype(np.int64)
        present = np.unique(codes)
        levels = [variable.levels[code] for code in present]
        position = np.searchsorted(present, codes)
    else:
        values, position = np.unique(evaluate(factor, variables, rows), return_inverse=True)
        levels = [level_name(v) for v in values]
    if len(levels) > MAX_COLUMNS:
        raise FormulaError(
            f"{factor.name!r} has {len(levels)} levels; a model may have {MAX_COLUMNS} columns"
        )
    if len(levels) * len(rows) > _MOST_ENTRIES:
        raise FormulaError(
            f"{factor.name!r} has {len(levels)} levels in {len(rows)} rows, which makes too large a matrix"
        )
    order = np.arange(len(levels))
    if factor.reference is not None and len(levels):
        if factor.reference not in levels:
            raise ColumnError(
                f"{factor.name!r} has no level {factor.reference!r} in these rows (levels: {quoted(levels)})"
            )
        first = levels.index(factor.reference)
        order = np.concatenate([[first], np.delete(order, first)])
    indicators = (position[:, None] == order[None, :]).astype(np.float64)
    ordered = tuple(levels[i] for i in order)
    return _Coded(indicators, tuple(f"{factor.name}{level}" for level in ordered), ordered)


def _fully_coded(formula: Formula, coded: Mapping[str, _Coded]) -> set[tuple[int, str]]:
    """Return the (term, factor) pairs that are coded by all levels instead of contrasts."""
    keys = [frozenset(f.key for f in term) for term in formula.terms]
    full: set[tuple[int, str]] = set()
    for position, term in enumerate(formula.terms):
        for factor in term:
            rest = keys[position] - {factor.key}
            if rest and not any(rest <= earlier for earlier in keys[:position]):
                full.add((position, factor.key))
    if not formula.intercept:
        for position, term in enumerate(formula.terms):
            first = next((f for f in term if coded[f.key].levels is not None), None)
            if first is not None:
                full.add((position, first.key))
                break
    return full


def evaluate(factor: Factor, variables: Mapping[str, Variable], rows: np.ndarray) -> np.ndarray:
    """Return a numeric factor's values in `rows`, by walking its checked tree."""
    with np.errstate(all="ignore"):
        result = _value(factor.expression, variables, rows)
    values = np.broadcast_to(np.asarray(result, dtype=np.float64), (len(rows),))
    bad = ~np.isfinite(values)
    if bad.any():
        first = variables[factor.columns[0]].values[rows][bad][0]
        raise ValueRangeError(
            f"{factor.name} is undefined or infinite in {int(bad.sum())} of {len(rows)} rows "
            f"(first where {factor.columns[0]} is {first:g}); leave them out or choose another transform"
        )
    return values


def _value(node: ast.expr, variables: Mapping[str, Variable], rows: np.ndarray) -> np.ndarray:
    """Return the value of a node of a checked tree."""
    if isinstance(node, ast.Name):
        variable = variables[node.id]
        if variable.levels is not None:
            raise ColumnError(f"column {node.id!r} holds text; it can be a term, or C(...), but not a number")
        return variable.values[rows]
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        return np.asarray(float(node.value))
    if isinstance(node, ast.UnaryOp):
        operand = _value(node.operand, variables, rows)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, variables, rows), _value(node.right, variables, rows)
        return np.asarray(_OPERATORS[type(node.op)](left, right))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return np.asarray(_FUNCTIONS[node.func.id](_value(node.args[0], variables, rows)))


def _identity(values: np.ndarray) -> np.ndarray:
    """Return the values: `I(...)` only protects arithmetic from the formula's own operators."""
    return values


def _logit(values: np.ndarray) -> np.ndarray:
    """Return log(x / (1 - x))."""
    return np.asarray(np.log(values / (1 - values)))


def _center(values: np.ndarray) -> np.ndarray:
    """Return the values minus their mean."""
    return np.asarray(values - values.mean()) if values.size else values


def _scale(values: np.ndarray) -> np.ndarray:
    """Return the values minus their mean over their standard deviation (n - 1), as R's scale."""
    deviation = values.std(ddof=1) if values.size > 1 else 0.0
    # a constant stays constant (0), so that its coefficient is the one that cannot be estimated
    return np.asarray(_center(values) / (deviation or 1.0))


_OPERATORS: dict[type[ast.operator], Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.Pow: np.power,
}
_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "I": _identity,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "logit": _logit,
    "scale": _scale,
    "center": _center,
}
