"""Mixed models of formulas: their random terms, made from columns, and their errors and tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from salstats.errors import FormulaError, SalstatsError, ValueRangeError
from salstats.stats.models.design import DesignMatrix, Variable, build_design, is_categorical
from salstats.stats.models.error_kinds import MIXED_MODEL_ERRORS
from salstats.stats.models.family import NotEstimableError, Solution
from salstats.stats.models.formulas import Formula, RandomEffect
from salstats.stats.models.linear import GAUSSIAN
from salstats.stats.models.mixed.kenward_roger import kenward_roger_covariance_df_and_f_test
from salstats.stats.models.mixed.linear_mixed_model import MixedSolution, RandomTerm, fit_mixed
from salstats.stats.models.mixed.satterthwaite import FTest, satterthwaite_df, satterthwaite_f

#: The family of mixed models; a model's `solve` is `mixed_model` with its random effects.
LINEAR_MIXED = replace(GAUSSIAN, label="linear mixed", errors=MIXED_MODEL_ERRORS, correlated=False)
#: Singular values up to this share of the largest one are zero.
_RANK_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class FittedRandomEffect:
    """A random effect of a formula, with its groups and its design in the rows of a model."""

    effect: RandomEffect
    design: DesignMatrix  # of the effects that vary over the groups
    group_values: np.ndarray  # (n_groups, n_columns), values or codes of the grouping columns
    term: RandomTerm

    @property
    def is_intercept(self) -> bool:
        """True if the intercept is the only effect that varies."""
        return self.effect.intercept and not self.effect.terms


@dataclass(frozen=True, eq=False)
class MixedInference:
    """Errors and tests of a mixed model; `errors` is "satterthwaite" or "kenward-roger"."""

    solution: MixedSolution
    random_effects: tuple[FittedRandomEffect, ...]

    @property
    def n_random_effect_parameters(self) -> int:
        """Number of variances and covariances of random effects."""
        return len(self.solution.theta)

    def every_random_effect_varies_within_some_unit(self, units: NDArray[np.integer]) -> bool:
        """Return True if, for every random effect, some unit has rows in several groups."""
        n_units = len(np.unique(units))
        for random_effect in self.random_effects:
            units_and_groups = np.column_stack([units, random_effect.term.codes])
            if len(np.unique(units_and_groups, axis=0)) <= n_units:
                return False
        return True

    def is_constant_within_groups_of_some_effect(self, values: np.ndarray) -> bool:
        """Return True if some random effect has groups within which a variable (n_rows,) is constant."""
        for random_effect in self.random_effects:
            groups_and_values = np.column_stack([random_effect.term.codes, values])
            if len(np.unique(groups_and_values, axis=0)) == random_effect.term.n_levels:
                return True
        return False

    def covariance(self, errors: str) -> np.ndarray:
        """Return the covariance of the coefficients, (p, p)."""
        if errors == "kenward-roger":
            identity = np.eye(self.solution.n_coefficients)
            return kenward_roger_covariance_df_and_f_test(self.solution, identity).covariance.copy()
        return self.solution.covariance.copy()

    def df(self, errors: str, contrasts: np.ndarray) -> np.ndarray:
        """Return the degrees of freedom of contrasts (q, p) of the coefficients, (q,)."""
        if errors == "kenward-roger":
            return kenward_roger_covariance_df_and_f_test(self.solution, contrasts).df
        return satterthwaite_df(self.solution, contrasts)

    def f_test(self, errors: str, contrasts: np.ndarray) -> FTest:
        """Test that contrasts (q, p) of the coefficients are all zero."""
        if errors == "kenward-roger":
            return kenward_roger_covariance_df_and_f_test(self.solution, contrasts).test
        return satterthwaite_f(self.solution, contrasts)


def build_random_effects(
    formula: Formula, variables: Mapping[str, Variable], rows: NDArray[np.integer]
) -> tuple[FittedRandomEffect, ...]:
    """Return the random effects of a formula in some rows; NotEstimableError if they are not identified."""
    random_effects: list[FittedRandomEffect] = []
    if not len(rows):
        raise NotEstimableError("no complete rows", value=0)
    for effect in formula.random:
        _check_grouping_is_not_a_term(formula, effect, variables)
        _check_double_bar_has_no_factor(formula, effect, variables)
        row_values = np.column_stack([variables[column].values[rows] for column in effect.groups])
        group_values, codes = np.unique(row_values, axis=0, return_inverse=True)
        effect_formula = replace(formula, terms=effect.terms, intercept=effect.intercept)
        design = build_design(effect_formula, variables, rows)
        term = RandomTerm(
            name=effect.grouping_name,
            effects=design.names,
            codes=codes.ravel(),
            n_levels=len(group_values),
            matrix=design.matrix,
            correlated=effect.correlated,
        )
        random_effect = FittedRandomEffect(effect, design, group_values, term)
        _check_variances_are_identified(random_effect)
        _check_distinct_groups_of_intercepts(random_effect, random_effects)
        random_effects.append(random_effect)
    return tuple(random_effects)


def _check_variances_are_identified(random_effect: FittedRandomEffect) -> None:
    """Raise NotEstimableError if the rows do not identify the variances of a random effect."""
    effect_text = f"({_text_left_of_bar(random_effect.effect)}|{random_effect.effect.grouping_name})"
    design = random_effect.design
    n_rows = len(design.matrix)
    n_groups = len(random_effect.group_values)
    n_effects = n_groups * len(design.names)
    if n_groups < 2:
        raise NotEstimableError(
            effect_text,
            f" needs several groups, and there is one {random_effect.effect.grouping_name}",
            hint="leave it out",
            column=random_effect.effect.grouping_name,
        )
    if not design.names or not design.matrix.any(axis=0).all():
        raise NotEstimableError(f"{effect_text} has an effect that is 0 in every row", hint="leave it out")
    if n_effects >= n_rows:
        raise NotEstimableError(
            f"{effect_text} has {n_effects} effects in {n_rows} rows, which leaves nothing to the residuals",
            hint="leave it out",
        )
    if random_effect.effect.correlated and _rank_of_scaled_columns(design.matrix) < len(design.names):
        raise NotEstimableError(
            f"{effect_text} has effects that depend on each other, so that their variances are undetermined",
            hint="leave one out",
        )


def _check_distinct_groups_of_intercepts(
    random_effect: FittedRandomEffect, earlier_effects: Sequence[FittedRandomEffect]
) -> None:
    """Raise NotEstimableError if a random intercept has the same groups as an earlier one."""
    if not random_effect.is_intercept:
        return
    for earlier in earlier_effects:
        if earlier.is_intercept and _have_same_groups(random_effect.term, earlier.term):
            effect_text = f"({_text_left_of_bar(random_effect.effect)}|{random_effect.effect.grouping_name})"
            earlier_text = f"(1|{earlier.effect.grouping_name})"
            raise NotEstimableError(
                f"{earlier_text} and {effect_text} have the same groups in these rows",
                hint="leave one out",
                value=[earlier_text, effect_text],
            )


def _rank_of_scaled_columns(matrix: np.ndarray) -> int:
    """Return the rank of a matrix after its columns are scaled to length 1."""
    return int(np.linalg.matrix_rank(matrix / np.linalg.norm(matrix, axis=0), rtol=_RANK_TOLERANCE))


def _have_same_groups(first: RandomTerm, second: RandomTerm) -> bool:
    """Return True if two random terms divide the rows into the same groups."""
    if first.n_levels != second.n_levels:
        return False
    pair_codes = first.codes * second.n_levels + second.codes
    return len(np.unique(pair_codes)) == first.n_levels


def _check_grouping_is_not_a_term(
    formula: Formula, effect: RandomEffect, variables: Mapping[str, Variable]
) -> None:
    """Raise FormulaError if the grouping factor of a random intercept is also a term."""
    groups_of_terms = []
    for term in formula.terms:
        if all(is_categorical(factor, variables) for factor in term):
            # a categorical factor has one column
            groups_of_terms.append({factor.columns[0] for factor in term})
    is_term = set(effect.groups) in groups_of_terms
    if effect.intercept and is_term:
        raise FormulaError(
            f"{formula.text!r} has {effect.grouping_name} both as a term and as a random effect",
            hint="keep the term to compare these levels, or (1|...) if they are a sample of all levels",
            column=effect.grouping_name,
        )


def _check_double_bar_has_no_factor(
    formula: Formula, effect: RandomEffect, variables: Mapping[str, Variable]
) -> None:
    """Raise FormulaError if a random effect with `||` has a factor among its terms."""
    has_factor = any(is_categorical(factor, variables) for term in effect.terms for factor in term)
    if has_factor and not effect.correlated:
        raise FormulaError(
            f"|| in {formula.text!r} takes numbers",
            hint=f"for a factor x write (1|{effect.grouping_name}) + (1|x:{effect.grouping_name})",
        )


def check_random_effects_are_identified(
    formula: Formula, variables: Mapping[str, Variable], rows: NDArray[np.integer]
) -> None:
    """Raise ValueRangeError if the rows of all groups together do not identify the random effects."""
    try:
        build_random_effects(formula, variables, rows)
    except NotEstimableError as error:
        raise ValueRangeError(
            f"{formula.text}: ", error.message, option="formula", value=error.value, column=error.column
        ) from None


def _text_left_of_bar(effect: RandomEffect) -> str:
    """Return the text on the left of the bar of a random effect, such as "1 + method"."""
    intercept = "1" if effect.intercept else "0"
    summands = [intercept]
    for term in effect.terms:
        summands.append(":".join(factor.name for factor in term))
    return " + ".join(summands)


def mixed_model(
    matrix: np.ndarray,
    response: np.ndarray,
    has_intercept: bool,
    *,
    formula: Formula,
    variables: Mapping[str, Variable],
    rows: NDArray[np.integer],
    reml: bool,
) -> Solution:
    """Fit a linear mixed model; NotEstimableError if the rows do not identify its variances."""
    random_effects = build_random_effects(formula, variables, rows)
    terms = [random_effect.term for random_effect in random_effects]
    try:
        mixed = fit_mixed(matrix, response, terms, reml=reml)
    except NotEstimableError:
        raise
    except SalstatsError as error:
        raise NotEstimableError(str(error)) from None
    n = len(response)
    return Solution(
        coefficients=mixed.coefficients,
        matrix=matrix,
        response=response,
        fitted=mixed.fitted,
        weights=np.ones(n),
        bread=mixed.covariance / mixed.sigma**2,
        scores=np.full_like(matrix, np.nan),
        leverage=np.full(n, np.nan),
        dispersion=mixed.sigma**2,
        df_residual=float(n - mixed.n_parameters),
        deviance=-2 * mixed.log_likelihood,
        null_deviance=float("nan"),
        log_likelihood=mixed.log_likelihood,
        intercept=has_intercept,
        inference=MixedInference(mixed, random_effects),
    )
