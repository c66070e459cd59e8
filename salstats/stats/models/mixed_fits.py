"""Mixed models of formulas: their random terms from columns, and what infers from them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from salstats.checks import FormulaError, SalstatsError, ValueRangeError
from salstats.stats.models.design import Design, Variable, build_design, is_categorical
from salstats.stats.models.errors import OF_MIXED
from salstats.stats.models.family import NotEstimableError, Solution
from salstats.stats.models.formulas import Formula, RandomEffect
from salstats.stats.models.linear import GAUSSIAN
from salstats.stats.models.mixed.degrees import FTest, satterthwaite, satterthwaite_f
from salstats.stats.models.mixed.kenward_roger import kenward_roger
from salstats.stats.models.mixed.kernel import MixedSolution, RandomTerm, fit_mixed

#: The family of a mixed model; what solves it is given its random effects.
MIXED = replace(GAUSSIAN, label="linear mixed", errors=OF_MIXED, correlated=False)


@dataclass(frozen=True, eq=False)
class Grouped:
    """A random effect of a model's rows."""

    effect: RandomEffect
    #: What differs, at the rows used; it gives it at other values, too.
    design: Design
    #: (n_groups, n_columns): The values of the grouping columns in each group, as the variables have them.
    values: np.ndarray
    term: RandomTerm

    @property
    def is_intercept(self) -> bool:
        """Whether nothing but the level differs."""
        return self.effect.intercept and not self.effect.terms

    @property
    def columns(self) -> list[str]:
        """The columns that what differs is made of."""
        return list(dict.fromkeys(c for term in self.effect.terms for f in term for c in f.columns))


@dataclass(frozen=True, eq=False)
class MixedInference:
    """What a mixed model says of its coefficients."""

    solution: MixedSolution
    grouped: tuple[Grouped, ...]

    @property
    def n_variances(self) -> int:
        """Variances and covariances of random effects."""
        return len(self.solution.theta)

    def spreads(self, units: np.ndarray) -> bool:
        """Whether rows of one unit are in several groups of every random effect."""
        n_units = len(np.unique(units))
        pairs = (np.unique(np.column_stack([units, g.term.codes]), axis=0) for g in self.grouped)
        return all(len(found) > n_units for found in pairs)

    def covariance(self, errors: str) -> np.ndarray:
        """The covariance of the coefficients, (p, p)."""
        if errors == "kenward-roger":
            return kenward_roger(self.solution, np.eye(self.solution.p)).covariance.copy()
        return self.solution.covariance.copy()

    def df(self, errors: str, contrasts: np.ndarray) -> np.ndarray:
        """Degrees of freedom of combinations of coefficients, (q,)."""
        if errors == "kenward-roger":
            return kenward_roger(self.solution, contrasts).df
        return satterthwaite(self.solution, contrasts)

    def joint(self, errors: str, contrasts: np.ndarray) -> FTest:
        """The F test that combinations of coefficients are all zero."""
        if errors == "kenward-roger":
            return kenward_roger(self.solution, contrasts).test
        return satterthwaite_f(self.solution, contrasts)


def grouped_rows(
    formula: Formula, variables: Mapping[str, Variable], rows: np.ndarray
) -> tuple[Grouped, ...]:
    """The random effects of a formula at some rows; NotEstimableError where they cannot be told apart."""
    found: list[Grouped] = []
    if not len(rows):
        raise NotEstimableError("no complete rows")
    for effect in formula.random:
        written = f"({_left(effect)}|{effect.name})"
        _check_factors(formula, effect, variables)
        of_columns = np.column_stack([variables[column].values[rows] for column in effect.groups])
        values, codes = np.unique(of_columns, axis=0, return_inverse=True)
        codes = codes.ravel()
        design = build_design(
            replace(formula, terms=effect.terms, intercept=effect.intercept), variables, rows
        )
        n_effects = len(values) * len(design.names)
        if len(values) < 2:
            raise NotEstimableError(
                f"{written} needs several groups, and there is one {effect.name}; leave it out"
            )
        if not design.names or not design.matrix.any(axis=0).all():
            raise NotEstimableError(f"{written} has an effect that is 0 in every row; leave it out")
        if n_effects >= len(rows):
            raise NotEstimableError(
                f"{written} has {n_effects} effects in {len(rows)} rows, which cannot be told from the "
                "residuals; leave it out"
            )
        if effect.correlated and _rank(design.matrix) < len(design.names):
            raise NotEstimableError(
                f"{written} has effects that depend on each other, so that any of their variances would do; "
                "leave one out"
            )
        term = RandomTerm(effect.name, design.names, codes, len(values), design.matrix, effect.correlated)
        own = Grouped(effect, design, values, term)
        for other in found:
            if own.is_intercept and other.is_intercept and _same_groups(own.term, other.term):
                raise NotEstimableError(
                    f"(1|{other.effect.name}) and {written} have the same groups in these rows; leave one out"
                )
        found.append(own)
    return tuple(found)


def _rank(matrix: np.ndarray) -> int:
    """How many columns do not depend on others, whatever their sizes."""
    return int(np.linalg.matrix_rank(matrix / np.linalg.norm(matrix, axis=0), rtol=1e-7))


def _same_groups(one: RandomTerm, other: RandomTerm) -> bool:
    """Whether two random effects divide the rows alike."""
    if one.n_levels != other.n_levels:
        return False
    return len(np.unique(one.codes * other.n_levels + other.codes)) == one.n_levels


def _check_factors(formula: Formula, effect: RandomEffect, variables: Mapping[str, Variable]) -> None:
    """Raise where a factor is a random effect and a term, or one of several effects without correlations."""
    fixed = [term for term in formula.terms if all(is_categorical(f, variables) for f in term)]
    if effect.intercept and any({f.columns[0] for f in term} == set(effect.groups) for term in fixed):
        raise FormulaError(
            f"{formula.text!r} has {effect.name} as a term and as a random effect, which are one; keep the "
            "term for these levels, or (1|...) for all that they are drawn from"
        )
    if not effect.correlated and any(is_categorical(f, variables) for term in effect.terms for f in term):
        raise FormulaError(
            f"|| in {formula.text!r} takes numbers; for a factor x write (1|{effect.name}) + "
            f"(1|x:{effect.name})"
        )


def check_random(formula: Formula, variables: Mapping[str, Variable], rows: np.ndarray) -> None:
    """Raise where not even all rows together can tell the random effects apart."""
    try:
        grouped_rows(formula, variables, rows)
    except NotEstimableError as error:
        raise ValueRangeError(f"{formula.text}: {error}") from None


def _left(effect: RandomEffect) -> str:
    """What differs, as it is written."""
    terms = [":".join(f.name for f in term) for term in effect.terms]
    return " + ".join(["1" if effect.intercept else "0", *terms])


def mixed_model(
    matrix: np.ndarray,
    response: np.ndarray,
    intercept: bool,
    *,
    formula: Formula,
    variables: Mapping[str, Variable],
    rows: np.ndarray,
    reml: bool,
) -> Solution:
    """A linear mixed model; what its rows do not say is NotEstimableError."""
    grouped = grouped_rows(formula, variables, rows)
    try:
        found = fit_mixed(matrix, response, [g.term for g in grouped], reml=reml)
    except NotEstimableError:
        raise
    except SalstatsError as error:
        raise NotEstimableError(str(error)) from None
    n = len(response)
    unknown = np.full(n, np.nan)
    return Solution(
        coefficients=found.coefficients,
        matrix=matrix,
        response=response,
        fitted=found.fitted,
        weights=np.ones(n),
        bread=found.covariance / found.sigma**2,
        scores=np.full_like(matrix, np.nan),
        leverage=unknown,
        dispersion=found.sigma**2,
        df_residual=float(n - found.n_parameters),
        deviance=-2 * found.log_likelihood,
        null_deviance=float("nan"),
        log_likelihood=found.log_likelihood,
        intercept=intercept,
        inference=MixedInference(found, grouped),
    )
