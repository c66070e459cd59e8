"""From a formula and columns to a model matrix: formulaic's columns, in R's choice and with R's names."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula as TermList
from formulaic import ModelSpec
from formulaic.errors import FormulaicError
from formulaic.parser.types import Factor as Part
from formulaic.parser.types import Term
from formulaic.transforms import stateful_transform

from salstats.checks import ColumnError, FormulaError, ValueRangeError, check_numeric, quoted
from salstats.stats.models.formulas import Factor, Formula, alias

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

    def names(self, values: np.ndarray) -> list[str]:
        """Values as they are printed."""
        return [level_name(v) if self.levels is None else self.levels[int(v)] for v in values]


@dataclass(frozen=True)
class Design:
    """The model matrix of some rows.

    Attributes
    ----------
    formula : Formula
        What was built.
    matrix : ndarray of float, shape (n, k)
        One column per coefficient.
    names : tuple of str
        The names of the columns, as R and broom write them.
    assign : tuple of int
        The position of each column's term in the formula; -1 for the intercept.
    response : ndarray of float, shape (n,)
        The left side.
    levels : dict of str to ndarray of float
        Of each categorical factor, by its key, the values that occur in these rows, the reference first.
    single_level : tuple of str
        Categorical variables that have one level only in these rows, and so no column.
    references : dict of str to str
        The level that each categorical variable's treatment contrasts are against, where there are any.
    spec : ModelSpec
        formulaic's record of the columns: levels, means and deviations of these rows.
    shown : ndarray of int, shape (k,)
        Which of formulaic's columns are used.
    """

    formula: Formula
    matrix: np.ndarray
    names: tuple[str, ...]
    assign: tuple[int, ...]
    response: np.ndarray
    levels: dict[str, np.ndarray]
    single_level: tuple[str, ...]
    references: dict[str, str]
    spec: ModelSpec
    shown: np.ndarray

    def at(self, variables: Mapping[str, Variable], rows: np.ndarray) -> np.ndarray:
        """The model matrix of other rows, with the levels, means and deviations of the model's own."""
        factors = [f for term in self.formula.terms for f in term]
        data = _inputs(factors, self.levels, variables, rows)
        return np.asarray(_made(self.spec, data, self.formula.text), dtype=np.float64)[:, self.shown]


def read_variable(frame: pd.DataFrame, column: str) -> Variable:
    """A column of numbers as it is, and one of text as the codes of its levels.

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
    """A level as R prints it: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def complete_rows(formula: Formula, variables: Mapping[str, Variable], rows: np.ndarray) -> np.ndarray:
    """Those of `rows` in which no column of the formula is missing (R's na.omit)."""
    complete = np.ones(len(rows), dtype=bool)
    for column in formula.columns:
        complete &= ~np.isnan(variables[column].values[rows])
    return rows[complete]


def is_categorical(factor: Factor, variables: Mapping[str, Variable]) -> bool:
    """Whether a factor is coded by its levels: `C(...)`, or a column of text as it stands."""
    return factor.categorical or (factor.is_column and variables[factor.columns[0]].levels is not None)


def build_design(formula: Formula, variables: Mapping[str, Variable], rows: np.ndarray) -> Design:
    """The model matrix of `rows`, none of which may miss a column of the formula.

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
        Arithmetic on text.
    ValueRangeError
        A transform that is undefined in some row.
    FormulaError
        More than 2000 columns.

    Notes
    -----
    formulaic makes the columns of all levels, and those that R's coding lacks are left out. R's rule
    (`terms.formula`): a categorical variable in a term is coded by treatment contrasts, first level the
    reference, where the rest of the term is part of an earlier term, and by indicators of all its levels
    elsewhere; without an intercept the first categorical variable has all. formulaic's own rule gives a
    matrix of full rank where R's has columns that depend on others (`y ~ a:b` of two factors, say), and so
    other terms.
    """
    factors = list({f.key: f for term in formula.terms for f in term}.values())
    levels = {
        factor.key: _levels(factor, variables[factor.columns[0]], rows)
        for factor in factors
        if is_categorical(factor, variables)
    }
    _check_size(formula, levels, len(rows))
    full = _fully_coded(formula, levels)
    names, assign, shown = [INTERCEPT], [-1], [formula.intercept]
    references: dict[str, str] = {}
    for position, term in enumerate(formula.terms):
        parts = [[(factor.name, True)] for factor in term]
        for place, factor in enumerate(term):
            if factor.key not in levels:
                continue
            own = variables[factor.columns[0]].names(levels[factor.key])
            whole = (position, factor.key) in full
            parts[place] = [(f"{factor.name}{level}", whole or i > 0) for i, level in enumerate(own)]
            if not whole and len(own) > 1:
                references[factor.name] = own[0]
        # R's order, and formulaic's: the levels of the first factor vary fastest
        for combination in itertools.product(*reversed(parts)):
            names.append(":".join(name for name, _ in reversed(combination)))
            shown.append(all(seen for _, seen in combination))
            assign.append(position)
    keep = np.flatnonzero(shown)
    response, matrix, spec = _columns(formula, factors, levels, variables, rows)
    return Design(
        formula=formula,
        matrix=matrix[:, keep],
        names=tuple(names[i] for i in keep),
        assign=tuple(assign[i] for i in keep),
        response=response,
        levels=levels,
        single_level=tuple(f.name for f in factors if len(levels.get(f.key, "ab")) == 1),
        references=references,
        spec=spec,
        shown=keep,
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


def _check_size(formula: Formula, levels: Mapping[str, np.ndarray], n_rows: int) -> None:
    """Raise where a model matrix would be larger than anyone fits, or than memory."""
    n_columns = 1.0
    for term in formula.terms:
        n_columns += float(np.prod([float(len(levels.get(f.key, "1"))) for f in term]))
        if n_columns > MAX_COLUMNS or n_columns * n_rows > _MOST_ENTRIES:
            many = max(term, key=lambda f: len(levels.get(f.key, "")))
            raise FormulaError(
                f"{formula.text!r} would make more than {MAX_COLUMNS} columns, or a matrix too large for "
                f"{n_rows} rows; {many.name!r} has {len(levels.get(many.key, '1'))} levels: take a column "
                "with fewer, or fit groups with by="
            )


def _fully_coded(formula: Formula, levels: Mapping[str, np.ndarray]) -> set[tuple[int, str]]:
    """The (term, factor) pairs that R codes by all levels instead of contrasts."""
    keys = [frozenset(f.key for f in term) for term in formula.terms]
    full = {
        (position, key)
        for position, own in enumerate(keys)
        for key in own
        if len(own) > 1 and not any(own - {key} <= earlier for earlier in keys[:position])
    }
    categorical = [(i, f.key) for i, term in enumerate(formula.terms) for f in term if f.key in levels]
    return full if formula.intercept else full | set(categorical[:1])


def _columns(
    formula: Formula,
    factors: Sequence[Factor],
    levels: Mapping[str, np.ndarray],
    variables: Mapping[str, Variable],
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, ModelSpec]:
    """The left side, and formulaic's columns of all levels with its record of them."""
    parts = {f.key: _part(f, levels) for f in (*factors, formula.response)}
    terms = [Term([Part("1", eval_method="literal")])]
    terms += [Term([parts[f.key] for f in term]) for term in formula.terms]
    wanted = TermList(lhs=[Term([parts[formula.response.key]])], rhs=terms, _ordering="none")
    data = _inputs((*factors, formula.response), levels, variables, rows)
    made = _made(ModelSpec.from_spec(wanted, **_OPTIONS), data, formula.text)
    response, matrix = (np.asarray(side, dtype=np.float64) for side in (made.lhs, made.rhs))
    if not (np.isfinite(matrix).all() and np.isfinite(response).all()):
        for factor in (formula.response, *factors):
            alone = ModelSpec.from_spec(TermList([Term([parts[factor.key]])]), **_OPTIONS)
            values = np.asarray(_made(alone, data, formula.text), dtype=np.float64)
            bad = ~np.isfinite(values).all(axis=1)
            if bad.any():
                first = variables[factor.columns[0]].values[rows][bad][0]
                raise ValueRangeError(
                    f"{factor.name} is undefined or infinite in {int(bad.sum())} of {len(rows)} rows "
                    f"(first where {factor.columns[0]} is {first:g}); leave them out or choose another "
                    "transform"
                )
    return response[:, 0], matrix, made.rhs.model_spec


def _part(factor: Factor, levels: Mapping[str, np.ndarray]) -> Part:
    """A factor in formulaic's words."""
    if factor.key in levels:
        return Part(alias(factor.key))
    return Part(factor.code, eval_method="lookup" if factor.is_column else "python")


def _inputs(
    factors: Sequence[Factor],
    levels: Mapping[str, np.ndarray],
    variables: Mapping[str, Variable],
    rows: np.ndarray,
) -> pd.DataFrame:
    """The columns that factors are made of, under names that are plain to Python."""
    data: dict[str, Any] = {}
    for factor in factors:
        for column in factor.columns:
            variable = variables[column]
            if factor.key in levels:
                data[alias(factor.key)] = pd.Categorical(variable.values[rows], levels[factor.key])
            elif variable.levels is None:
                data[alias(column)] = variable.values[rows]
            else:
                raise ColumnError(
                    f"column {column!r} holds text; it can be a term, or C(...), but not a number"
                )
    return pd.DataFrame(data, index=range(len(rows)))


def _made(spec: Any, data: pd.DataFrame, formula: str) -> Any:
    """The matrices of a specification."""
    try:
        with np.errstate(all="ignore"):
            return spec.get_model_matrix(data, context=_TRANSFORMS)
    except FormulaicError as error:
        raise FormulaError(f"{formula!r} cannot be computed: {str(error).splitlines()[0]}") from None


def _identity(values: pd.Series) -> pd.Series:
    """The values: `I(...)` only protects arithmetic from the formula's own operators."""
    return values


def _logit(values: pd.Series) -> pd.Series:
    """log(x / (1 - x))."""
    return np.log(values / (1 - values))


@stateful_transform
def _center(values: pd.Series, _state: dict[str, float] | None = None) -> pd.Series:
    """The values minus the mean of the model's rows."""
    assert _state is not None
    return values - _state.setdefault("mean", float(values.mean()))


@stateful_transform
def _scale(values: pd.Series, _state: dict[str, float] | None = None) -> pd.Series:
    """The values minus the mean over the standard deviation (n - 1) of the model's rows, as R's scale."""
    assert _state is not None
    mean = _state.setdefault("mean", float(values.mean()))
    # a constant stays constant (0), so that its coefficient is the one that cannot be estimated
    return (values - mean) / _state.setdefault("deviation", float(values.std(ddof=1)) or 1.0)


#: formulaic's matrix as it is: every level of every factor, every row.
_OPTIONS: dict[str, Any] = {"ensure_full_rank": False, "na_action": "ignore", "output": "numpy"}
_TRANSFORMS: dict[str, Any] = {
    "I": _identity,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "logit": _logit,
    "scale": _scale,
    "center": _center,
}
