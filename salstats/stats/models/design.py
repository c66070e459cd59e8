"""From a formula and columns to a model matrix, with R's choice of columns and R's names."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, FormulaError, ValueRangeError, check_numeric, quoted, warn
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.stats.engine.label_columns import holds_labels
from salstats.stats.models.formulas import Factor, Formula, alias

MAX_COLUMNS = 2000
INTERCEPT = "(Intercept)"
#: What a column of a model matrix is the product of: factors, and of a categorical one its level.
Product = tuple[tuple[Factor, float | None], ...]


@dataclass(frozen=True)
class Variable:
    """One column, ready for a model: numbers, or the codes of levels; NaN where missing."""

    values: np.ndarray
    #: The levels in their order, None for a numeric column.
    levels: tuple[str, ...] | None

    def names(self, values: np.ndarray) -> list[str]:
        """Values as they are printed."""
        return [level_name(v) if self.levels is None else self.levels[int(v)] for v in values]

    def names_of(self, given: pd.Series) -> list[str]:
        """Values that were given, spelled as `names` spells them."""
        return [level_name(float(v) if self.levels is None and not isinstance(v, str) else v) for v in given]


Variables = Mapping[str, Variable]


@dataclass(frozen=True)
class Design:
    """The model matrix of some rows, a column for each coefficient."""

    formula: Formula
    matrix: np.ndarray
    #: The names of the columns, as R and broom write them.
    names: tuple[str, ...]
    #: The position of each column's term in the formula; -1 for the intercept.
    assign: tuple[int, ...]
    #: The left side.
    response: np.ndarray
    #: Of each categorical factor the values that occur in these rows, the reference first.
    levels: dict[Factor, np.ndarray]
    #: The level that each categorical variable's treatment contrasts are against, where there are any.
    references: dict[str, str]
    #: What the columns are made of: products of factors of these rows' variables.
    products: tuple[Product, ...]
    own: dict[str, np.ndarray]

    @property
    def single_level(self) -> tuple[str, ...]:
        """Categorical variables that have one level only in these rows, and so no column."""
        return tuple(factor.name for factor, values in self.levels.items() if len(values) == 1)

    def at(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The model matrix at other values, with the levels, means and deviations of the model's own."""
        if not values:
            return np.ones((1, len(self.products)))
        n_own = len(self.response)
        both = {c: np.concatenate([self.own[c], v]) for c, v in values.items()}
        return _matrix(self.products, both, n_own)[n_own:]


def read_variable(frame: pd.DataFrame, column: str) -> Variable:
    """A column of numbers as it is, and one of text, or of identifiers, as the codes of its levels.

    The levels of a Categorical keep their order, other text is sorted by code point (R's C locale). Readers
    that are called 1, 2 and 3 are no quantity.
    """
    series = frame[column]
    numeric = pd.api.types.is_numeric_dtype(series)
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy(dtype=np.float64)
        levels = tuple(level_name(v) for v in series.cat.categories)
    elif numeric and column not in IDENTIFIER_COLUMNS:
        return Variable(check_numeric(frame, column, "the data"), None)
    elif numeric or pd.api.types.is_string_dtype(series) or pd.api.types.is_object_dtype(series):
        texts = series.map(level_name, na_action="ignore") if series.dtype == object else series
        raw, uniques = pd.factorize(texts, sort=True)
        codes, levels = np.asarray(raw, dtype=np.float64), tuple(level_name(v) for v in uniques)
    else:
        raise ColumnError(f"column {column!r} is {series.dtype}; a model takes numbers or text")
    return Variable(np.where(codes < 0, np.nan, codes), levels)


def level_name(value: object) -> str:
    """A level as R prints it: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def complete_rows(formula: Formula, variables: Variables, rows: np.ndarray) -> np.ndarray:
    """Those of `rows` in which no column of the formula is missing (R's na.omit)."""
    complete = np.ones(len(rows), dtype=bool)
    for column in formula.columns:
        complete &= ~np.isnan(variables[column].values[rows])
    return rows[complete]


def is_categorical(factor: Factor, variables: Variables) -> bool:
    """Whether a factor is coded by its levels: `C(...)`, or a column of text as it stands."""
    return factor.categorical or (factor.is_column and variables[factor.columns[0]].levels is not None)


def warn_of_label_slopes(formula: Formula, variables: Variables) -> None:
    """Warn where a formula takes a column of labels as a number, which gives it a slope."""
    terms = [*formula.terms, *(term for effect in formula.random for term in effect.terms)]
    factors = dict.fromkeys(factor for term in terms for factor in term if factor.is_column)
    for factor in factors:
        variable = variables[factor.columns[0]]
        if factor.categorical or variable.levels is not None:
            continue
        if holds_labels(factor.name, variable.values):
            written = factor.name if factor.name.isidentifier() else f'Q("{factor.name}")'
            warn(
                f"{factor.name!r} in {formula.text!r} is taken as a number and gets a slope, though by its "
                f"name it holds labels; write C({written}) for a level each"
            )


def build_design(formula: Formula, variables: Variables, rows: np.ndarray) -> Design:
    """The model matrix of `rows`, none of which may miss a column of the formula, columns in R's order.

    Levels, means (`center`) and standard deviations (`scale`) are those of `rows`. R's rule
    (`terms.formula`): a categorical variable in a term is coded by treatment contrasts, first level the
    reference, where the rest of the term is part of an earlier term, and by indicators of all its levels
    elsewhere; without an intercept the first categorical variable has all. formulaic's own rule gives a
    matrix of full rank where R's has columns that depend on others (`y ~ a:b` of two factors, say), and so
    other terms.
    """
    factors = tuple(dict.fromkeys(factor for term in formula.terms for factor in term))
    levels = {
        factor: _levels(factor, variables[factor.columns[0]], rows)
        for factor in factors
        if is_categorical(factor, variables)
    }
    for factor in (formula.response, *factors):
        text = [c for c in factor.columns if variables[c].levels is not None]
        if text and factor not in levels:
            raise ColumnError(f"column {text[0]!r} holds text; it can be a term, or C(...), but not a number")
    _check_size(formula, levels)
    full = _fully_coded(formula, levels)
    names, assign = ([INTERCEPT], [-1]) if formula.intercept else ([], [])
    products: list[Product] = [()] if formula.intercept else []
    references: dict[str, str] = {}
    for position, term in enumerate(formula.terms):
        parts: list[list[tuple[str, tuple[Factor, float | None]]]] = []
        for factor in term:
            if factor not in levels:
                parts.append([(factor.name, (factor, None))])
                continue
            shown = variables[factor.columns[0]].names(levels[factor])
            coded = [(factor.name + s, (factor, v)) for s, v in zip(shown, levels[factor], strict=True)]
            whole = (position, factor) in full
            parts.append(coded if whole else coded[1:])
            if not whole and len(coded) > 1:
                references[factor.name] = shown[0]
        # R's order: the levels of the first factor vary fastest
        for combination in itertools.product(*reversed(parts)):
            names.append(":".join(name for name, _ in reversed(combination)))
            products.append(tuple(part for _, part in reversed(combination)))
            assign.append(position)
    own = {column: variables[column].values[rows] for column in formula.columns}
    for factor in (formula.response, *factors):
        if factor not in levels:
            _check_defined(factor, own)
    response = _matrix((((formula.response, None),),), own, len(rows))[:, 0]
    matrix = _matrix(products, own, len(rows))
    return Design(
        formula, matrix, tuple(names), tuple(assign), response, levels, references, tuple(products), own
    )


def _levels(factor: Factor, variable: Variable, rows: np.ndarray) -> np.ndarray:
    """The values of a categorical factor that occur in `rows`, the reference first."""
    present = np.unique(variable.values[rows])
    if factor.reference is None or not len(present):
        return present
    names = variable.names(present)
    if factor.reference not in names:
        raise ColumnError(
            f"{factor.name!r} has no level {factor.reference!r} in these rows (levels: {quoted(names)})"
        )
    first = names.index(factor.reference)
    return np.concatenate([present[[first]], np.delete(present, first)])


def _check_size(formula: Formula, levels: Mapping[Factor, np.ndarray]) -> None:
    """Raise where a model matrix would have more columns than anyone fits."""
    for term in formula.terms:
        if np.prod([float(len(levels.get(f, "1"))) for f in term]) > MAX_COLUMNS:
            many = max(term, key=lambda f: len(levels.get(f, "")))
            raise FormulaError(
                f"{formula.text!r} would make more than {MAX_COLUMNS} columns; {many.name!r} has "
                f"{len(levels.get(many, '1'))} levels: take a column with fewer, or fit groups with by="
            )


def _fully_coded(formula: Formula, levels: Mapping[Factor, np.ndarray]) -> set[tuple[int, Factor]]:
    """The (term, factor) pairs that R codes by all levels instead of contrasts."""
    terms = [frozenset(term) for term in formula.terms]
    full = {
        (position, factor)
        for position, own in enumerate(terms)
        for factor in own
        if len(own) > 1 and not any(own - {factor} <= earlier for earlier in terms[:position])
    }
    categorical = [(i, factor) for i, term in enumerate(formula.terms) for factor in term if factor in levels]
    return full if formula.intercept else full | set(categorical[:1])


def _check_defined(factor: Factor, values: Mapping[str, np.ndarray]) -> None:
    """Raise where an expression has no finite value in some row."""
    first = values[factor.columns[0]]
    bad = ~np.isfinite(_evaluated(factor, values, len(first)))
    if bad.any():
        raise ValueRangeError(
            f"{factor.name} is undefined or infinite in {int(bad.sum())} of {len(bad)} rows "
            f"(first where {factor.columns[0]} is {first[bad][0]:g}); leave them out or choose another "
            "transform"
        )


def _matrix(products: Sequence[Product], values: Mapping[str, np.ndarray], n_own: int) -> np.ndarray:
    """Products of factors, a column each; the first `n_own` rows are the model's own."""
    n = len(next(iter(values.values())))
    matrix = np.ones((n, len(products)))
    known: dict[Factor, np.ndarray] = {}
    for column, product in enumerate(products):
        for factor, level in product:
            if level is not None:
                matrix[:, column] *= values[factor.columns[0]] == level
                continue
            if factor not in known:
                known[factor] = _evaluated(factor, values, n_own)
            matrix[:, column] *= known[factor]
    return matrix


def _evaluated(factor: Factor, values: Mapping[str, np.ndarray], n_own: int) -> np.ndarray:
    """An expression, which `parse_formula` has checked, of columns."""

    def center(x: np.ndarray) -> np.ndarray:
        return x - x[:n_own].mean()

    def scale(x: np.ndarray) -> np.ndarray:
        # n - 1 as R's scale; a constant stays constant (0): its coefficient is the one not estimated
        deviation = x[:n_own].std(ddof=1) if n_own > 1 else 0.0
        return center(x) / (deviation or 1.0)

    if factor.is_column:
        return values[factor.columns[0]]
    names = {alias(column): values[column] for column in factor.columns} | _TRANSFORMS
    names |= {"center": center, "scale": scale, "__builtins__": {}}
    if not n_own:
        return np.empty(len(values[factor.columns[0]]))
    try:
        with np.errstate(all="ignore"):
            return np.asarray(eval(factor.code, names), dtype=np.float64)
    except ArithmeticError as error:
        raise FormulaError(f"{factor.name} cannot be computed: {error}") from None


_TRANSFORMS: dict[str, Any] = {
    "I": lambda x: x,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "logit": lambda x: np.log(x / (1 - x)),
}
