"""Model matrices from formulas and columns, with R's coding and names of the columns."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_numeric, object_numbers_to_numeric_dtype, quoted
from salstats.errors import ColumnError, ColumnName, FormulaError, Message, Setting, ValueRangeError, warn
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.stats.engine.label_columns import is_label_column_of_three_or_more
from salstats.stats.models.formulas import Factor, Formula, python_identifier

MAX_COLUMNS = 2000
INTERCEPT = "(Intercept)"
#: A column of a model matrix as a product of (factor, level): the values of a numeric factor, whose level is
#: None, or the indicator of a level.
Product = tuple[tuple[Factor, float | None], ...]


@dataclass(frozen=True)
class Variable:
    """A column of the data as numbers for a model."""

    #: (n_rows,): Values, or codes of levels; NaN where missing.
    values: np.ndarray
    #: Levels in the order of their codes, None for a numeric column.
    levels: tuple[str, ...] | None

    def printed_names(self, values_or_codes: np.ndarray) -> list[str]:
        """Names of values or codes as results print them."""
        if self.levels is None:
            return [level_name(value) for value in values_or_codes]
        return [self.levels[int(code)] for code in values_or_codes]

    def printed_names_of_user_values(self, user_values: pd.Series) -> list[str]:
        """Names of values that a user gives, spelled as by `printed_names`; some may not be levels."""
        if self.levels is not None:
            return [level_name(value) for value in user_values]
        # a text among numbers, such as the name of a new reader, stays as it is
        numbers = [value if isinstance(value, str) else float(value) for value in user_values]
        return [level_name(number) for number in numbers]


Variables = Mapping[str, Variable]


@dataclass(frozen=True)
class DesignMatrix:
    """The model matrix of some rows, with a column for each coefficient, and the outcome."""

    formula: Formula
    #: (n, n_columns): The model matrix.
    matrix: np.ndarray
    #: The names of the columns, as R and broom write them.
    names: tuple[str, ...]
    #: The position of each column's term in the formula; -1 for the intercept.
    assign: tuple[int, ...]
    #: (n,): The outcome, the left side of the formula.
    response: np.ndarray
    #: The values of each categorical factor in these rows, the reference first.
    levels: dict[Factor, np.ndarray]
    #: The reference level of each factor that is coded by treatment contrasts.
    references: dict[str, str]
    #: The columns as products of factors.
    products: tuple[Product, ...]
    #: (n,) each: Values or codes of every column of the formula in these rows.
    values: dict[str, np.ndarray]

    @property
    def factors_of_one_level(self) -> tuple[str, ...]:
        """Categorical variables that have a single level in these rows, and so no column."""
        return tuple(factor.name for factor, values in self.levels.items() if len(values) == 1)

    def matrix_at(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the model matrix at other values, with the levels, means and deviations of these rows."""
        if not values:
            # Without columns on the right side all rows are equal, and one is returned.
            return np.ones((1, len(self.products)))
        # Transforms such as center() take their statistics from the first n_rows values.
        n_rows = len(self.response)
        extended = {column: np.concatenate([self.values[column], new]) for column, new in values.items()}
        return _product_columns(self.products, extended, n_rows)[n_rows:]


def coded_variable(frame: pd.DataFrame, column: str) -> Variable:
    """Return a column as a variable: numbers as they are, text and identifiers as the codes of their levels.

    The levels of a Categorical keep their order, other text is sorted by code point (R's C locale). Numbers
    in a column of dtype object are numbers. Identifiers that are numbers, such as readers called 1, 2 and 3,
    are also levels, in the order of the numbers.
    """
    series = frame[column]
    if series.dtype == object:
        series = object_numbers_to_numeric_dtype(series)
        frame = frame.assign(**{column: series})
    is_numeric = pd.api.types.is_numeric_dtype(series)
    is_text = pd.api.types.is_string_dtype(series) or pd.api.types.is_object_dtype(series)
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy(dtype=np.float64)
        categories = series.cat.categories
    elif is_numeric and column not in IDENTIFIER_COLUMNS:
        return Variable(check_numeric(frame, column, "the data"), levels=None)
    elif is_numeric or is_text:
        if series.dtype == object:
            series = series.map(level_name, na_action="ignore")
        integer_codes, categories = pd.factorize(series, sort=True)
        codes = np.asarray(integer_codes, dtype=np.float64)
    else:
        raise ColumnError(
            f"column {column!r} is {series.dtype}; a model takes numbers or text", column=column
        )
    levels = tuple(level_name(category) for category in categories)
    # pandas codes missing values as -1.
    return Variable(np.where(codes < 0, np.nan, codes), levels)


def level_name(value: object) -> str:
    """Name of a level as R prints it: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def complete_row_positions(
    formula: Formula, variables: Variables, rows: NDArray[np.integer]
) -> NDArray[np.integer]:
    """Return those of `rows` (positions) in which no column of the formula is missing (R's na.omit)."""
    complete = np.ones(len(rows), dtype=bool)
    for column in formula.columns:
        complete &= ~np.isnan(variables[column].values[rows])
    return rows[complete]


def is_categorical(factor: Factor, variables: Variables) -> bool:
    """Return True for a factor that is coded by its levels: `C(...)`, or a column of text."""
    if factor.categorical:
        return True
    return factor.is_column and variables[factor.columns[0]].levels is not None


def warn_of_numeric_identifiers(formula: Formula, variables: Variables) -> None:
    """Warn if a formula has a slope along a column of labels, such as seeds, which are not quantities.

    Labels are recognised by the column's name and three or more whole numbers.
    """
    terms = list(formula.terms)
    for effect in formula.random:
        terms.extend(effect.terms)
    factors = dict.fromkeys(factor for term in terms for factor in term if factor.is_column)
    for factor in factors:
        if is_categorical(factor, variables):
            continue
        if is_label_column_of_three_or_more(factor.name, variables[factor.columns[0]].values):
            name = factor.name if factor.name.isidentifier() else f'Q("{factor.name}")'
            warn(
                "'",
                ColumnName(factor.name),
                f"' in {formula.text!r} is taken as a number and gets a slope, though by its name it holds "
                "labels",
                hint=Message("write ", f"C({name})", " for a level each"),
                column=factor.name,
            )


def build_design(formula: Formula, variables: Variables, rows: NDArray[np.integer]) -> DesignMatrix:
    """Build the model matrix of `rows`, with columns in R's order; `rows` have no missing values.

    Levels, means (`center`) and standard deviations (`scale`) are those of `rows`. Categorical variables are
    coded by R's rule (`terms.formula`): a variable has treatment contrasts, with its first level as the
    reference, in a term of its own and in a term whose other factors occur together in an earlier term;
    elsewhere, and as the first one without an intercept, it has indicators of all levels. formulaic's own
    rule always gives a matrix of full rank; R's may have columns that depend on others (as in `y ~ a:b` of
    two factors), so that its columns differ.
    """
    factors = tuple(dict.fromkeys(factor for term in formula.terms for factor in term))
    levels = {
        factor: _occurring_levels_reference_first(factor, variables[factor.columns[0]], rows)
        for factor in factors
        if is_categorical(factor, variables)
    }
    numeric_factors = [factor for factor in (formula.response, *factors) if factor not in levels]
    for factor in numeric_factors:
        _check_columns_are_numbers(factor, variables)
    _check_number_of_columns_per_term(formula, levels)
    coding = _column_coding(formula, variables, levels)
    values = {column: variables[column].values[rows] for column in formula.columns}
    for factor in numeric_factors:
        _check_values_are_finite(factor, values)
    response_product: Product = ((formula.response, None),)
    return DesignMatrix(
        formula=formula,
        matrix=_product_columns(coding.products, values, len(rows)),
        names=tuple(coding.names),
        assign=tuple(coding.assign),
        response=_product_columns([response_product], values, len(rows))[:, 0],
        levels=levels,
        references=coding.references,
        products=tuple(coding.products),
        values=values,
    )


@dataclass
class _ColumnCoding:
    """The columns of a model matrix; fields as in `DesignMatrix`."""

    names: list[str] = field(default_factory=list)
    assign: list[int] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)
    references: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, term_position: int, product: Product) -> None:
        """Add a column of the term at `term_position`."""
        self.names.append(name)
        self.assign.append(term_position)
        self.products.append(product)


@dataclass(frozen=True)
class _CodedFactor:
    """One of the columns that code a factor: a number, or the indicator of a level."""

    name: str
    factor: Factor
    level: float | None


def _column_coding(
    formula: Formula, variables: Variables, levels: Mapping[Factor, np.ndarray]
) -> _ColumnCoding:
    """Return the columns of the model matrix in R's order, with their names, terms and reference levels."""
    fully_coded = _terms_and_factors_coded_by_all_levels(formula, levels)
    coding = _ColumnCoding()
    if formula.intercept:
        coding.add(INTERCEPT, term_position=-1, product=())
    for position, term in enumerate(formula.terms):
        factor_columns = []
        for factor in term:
            if factor not in levels:
                factor_columns.append([_CodedFactor(factor.name, factor, level=None)])
                continue
            names = variables[factor.columns[0]].printed_names(levels[factor])
            indicators = [
                _CodedFactor(factor.name + name, factor, level)
                for name, level in zip(names, levels[factor], strict=True)
            ]
            if (position, factor) not in fully_coded:
                if len(indicators) > 1:
                    coding.references[factor.name] = names[0]
                # Treatment contrasts leave out the reference, which is first.
                indicators = indicators[1:]
            factor_columns.append(indicators)
        # The levels of the first factor vary fastest in R, and those of the last one in itertools.product.
        for reversed_combination in itertools.product(*reversed(factor_columns)):
            combination = reversed_combination[::-1]
            name = ":".join(coded.name for coded in combination)
            product = tuple((coded.factor, coded.level) for coded in combination)
            coding.add(name, position, product)
    return coding


def _occurring_levels_reference_first(
    factor: Factor, variable: Variable, rows: NDArray[np.integer]
) -> np.ndarray:
    """Return the codes or values of a categorical factor that occur in `rows`, the reference first."""
    present = np.unique(variable.values[rows])
    if factor.reference is None or not len(present):
        return present
    names = variable.printed_names(present)
    if factor.reference not in names:
        raise ColumnError(
            f"{factor.name!r} has no level {factor.reference!r} in these rows (levels: {quoted(names)})",
            column=factor.columns[0],
            value=factor.reference,
            choices=names,
        )
    position = names.index(factor.reference)
    return np.concatenate([present[[position]], np.delete(present, position)])


def _check_columns_are_numbers(factor: Factor, variables: Variables) -> None:
    """Raise if a numeric factor is made of a column of text."""
    for column in factor.columns:
        if variables[column].levels is not None:
            raise ColumnError(
                f"column {column!r} holds text; it can be a term, or C(...), but not a number", column=column
            )


def _check_number_of_columns_per_term(formula: Formula, levels: Mapping[Factor, np.ndarray]) -> None:
    """Raise if a term of the model matrix would have more than `MAX_COLUMNS` columns."""

    def n_levels(factor: Factor) -> int:
        return len(levels[factor]) if factor in levels else 1

    for term in formula.terms:
        # Products of floats do not overflow.
        n_columns = np.prod([float(n_levels(factor)) for factor in term])
        if n_columns > MAX_COLUMNS:
            largest = max(term, key=n_levels)
            raise FormulaError(
                f"{formula.text!r} would make more than {MAX_COLUMNS} columns; {largest.name!r} has "
                f"{n_levels(largest)} levels",
                hint=Message("use a column with fewer, or fit groups with ", Setting("by")),
                column=largest.columns[0],
                value=n_levels(largest),
            )


def _terms_and_factors_coded_by_all_levels(
    formula: Formula, levels: Mapping[Factor, np.ndarray]
) -> set[tuple[int, Factor]]:
    """Return the (term position, factor) pairs that R codes by indicators of all levels, not by contrasts.

    A factor is coded by contrasts if the term without it is contained in an earlier term. The result may also
    hold pairs of numeric factors, for which this makes no difference.
    """
    terms = [frozenset(term) for term in formula.terms]
    fully_coded = set()
    for position, term in enumerate(terms):
        for factor in term:
            margin = term - {factor}
            is_in_earlier_term = any(margin <= earlier for earlier in terms[:position])
            if margin and not is_in_earlier_term:
                fully_coded.add((position, factor))
    if not formula.intercept:
        first = _first_categorical_factor_of_terms(formula, levels)
        if first is not None:
            fully_coded.add(first)
    return fully_coded


def _first_categorical_factor_of_terms(
    formula: Formula, levels: Mapping[Factor, np.ndarray]
) -> tuple[int, Factor] | None:
    """Return the first categorical factor, after the position of its term; None if there is none."""
    for position, term in enumerate(formula.terms):
        for factor in term:
            if factor in levels:
                return position, factor
    return None


def _check_values_are_finite(factor: Factor, values: Mapping[str, np.ndarray]) -> None:
    """Raise if an expression has no finite value in some row."""
    column = values[factor.columns[0]]
    undefined = ~np.isfinite(_factor_value_of_each_row(factor, values, len(column)))
    if undefined.any():
        raise ValueRangeError(
            f"{factor.name} is undefined or infinite in {int(undefined.sum())} of {len(undefined)} rows "
            f"(first where {factor.columns[0]} is {column[undefined][0]:g})",
            hint="leave them out or choose another transform",
            column=factor.columns[0],
            value=float(column[undefined][0]),
        )


def _product_columns(
    products: Sequence[Product], values: Mapping[str, np.ndarray], n_centering_rows: int
) -> np.ndarray:
    """Return products of factors at `values` (n,) as columns of a matrix (n, n_products).

    `center` and `scale` take mean and standard deviation from the first `n_centering_rows` rows.
    """
    n_rows = len(next(iter(values.values())))
    matrix = np.ones((n_rows, len(products)))
    evaluated: dict[Factor, np.ndarray] = {}
    for column, product in enumerate(products):
        for factor, level in product:
            if level is not None:
                matrix[:, column] *= values[factor.columns[0]] == level
                continue
            if factor not in evaluated:
                evaluated[factor] = _factor_value_of_each_row(factor, values, n_centering_rows)
            matrix[:, column] *= evaluated[factor]
    return matrix


def _factor_value_of_each_row(
    factor: Factor, values: Mapping[str, np.ndarray], n_centering_rows: int
) -> np.ndarray:
    """Return the values (n,) of an expression of columns, whose code `parse_formula` has checked.

    `center` and `scale` take mean and standard deviation from the first `n_centering_rows` rows.
    """

    def center(x: np.ndarray) -> np.ndarray:
        return np.asarray(x - x[:n_centering_rows].mean())

    def scale(x: np.ndarray) -> np.ndarray:
        deviation = 0.0
        if n_centering_rows > 1:
            # As R's scale, with n - 1
            deviation = x[:n_centering_rows].std(ddof=1)
        if deviation == 0:
            # A constant becomes 0, whose coefficient is then reported as not estimable.
            deviation = 1.0
        return center(x) / deviation

    if factor.is_column:
        return values[factor.columns[0]]
    if n_centering_rows == 0:
        return np.empty(len(values[factor.columns[0]]))
    names: dict[str, Any] = {python_identifier(column): values[column] for column in factor.columns}
    names |= _TRANSFORMS | {"center": center, "scale": scale, "__builtins__": {}}
    try:
        with np.errstate(all="ignore"):
            return np.asarray(eval(factor.code, names), dtype=np.float64)
    except ArithmeticError as error:
        raise FormulaError(f"{factor.name} cannot be computed: {error}") from None


_TRANSFORMS: dict[str, Any] = {
    "I": lambda x: x,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "logit": lambda x: np.log(x / (1 - x)),
}
