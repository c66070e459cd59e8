"""Joint Wald tests of a model's terms, such as the interaction with a subgroup."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import quoted
from salstats.errors import FormulaError, Message
from salstats.frames import estimates_frame
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.covariance import closest_wishart_df, wald_f_statistic
from salstats.stats.models.error_kinds import CLUSTERED_ERRORS, ERRORS
from salstats.stats.models.family import Solution
from salstats.stats.models.fitted_models import (
    Fitted,
    Model,
    count_and_caution_columns,
    family_and_error_columns,
    key_columns,
)
from salstats.stats.models.formulas import Formula, parse_formula
from salstats.stats.models.marginal_hypotheses import marginal_hypothesis_matrix_if_determined
from salstats.stats.models.model_fitting import fit_models
from salstats.stats.models.model_notes import Notes, column_or_text
from salstats.stats.models.model_options import ModelOptions
from salstats.stats.models.standard_errors import covariance_and_df, note_few_clusters, working_least_squares

_NOT_DETERMINED = (
    "no joint test (NaN) of a term that the data do not tell from others, since combinations of levels have "
    "no rows or another term has the same values,"
)


def joint_test(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    terms: str | Sequence[str] | None = None,
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: Unit = None,
    reference: str | None = None,
    adjust: str = "none",
    overall: bool = False,
    each: bool = False,
) -> pd.DataFrame:
    """Wald test that some terms have no effect, one row per model: `fit(...).joint(terms)`.

    This tests a subgroup's interaction as a whole: `joint_test(scores, "iou ~ method * site",
    "method:site")` asks whether the methods differ in the same way at every site. The test of a term that is
    part of an interaction is of type III on sum contrasts, for any reference levels: that of "method" asks
    whether the methods differ on average over the sites, each of which counts alike.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, overall
        As for `regress`.
    terms : str or sequence of str, optional
        Terms of the formula, such as `"task"` or `"area_ratio:task"` (in either order); several are tested
        together. By default all terms but the intercept.
    adjust : str
        `none`, or a procedure of `adjust()`; the family is all rows of the result.
    each : bool
        Test each of the terms by itself, with a row for each, as `table_regression(joint=)` expects.

    Returns
    -------
    DataFrame
        In order of formula and group, with `each` also of terms, with columns

        `by`, reference, formula, unit, n, n_missing, n_units
            As in `regress`.
        term
            The terms tested, joined by " + ".
        statistic, df
            F = b' V^-1 b / q, for the q coefficients that can be estimated, and its numerator degrees of
            freedom, q; with `cr2` and `mancl-derouen` times (eta - q + 1) / eta. b are the coefficients of
            the terms plus those of their interactions, averaged over the levels of the other factors. NaN if
            V is undefined or singular, or if the data do not determine b (df 0).
        p_value, p_adjusted
            From F(q, df_residual); p_adjusted with `adjust`, which also adds `n_tests, procedure`.
        df_residual
            Denominator degrees of freedom: eta - q + 1 with `cr2` and `mancl-derouen`, G - 1 with
            `errors="cluster"`, those of the mixed model, else n - k. NaN with `cr0`, and for the binomial and
            beta families without clustered errors, where q F is compared with chi^2(q).
        family, errors
            Options of the models.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; a formula has no such term.

    Warns
    -----
    SalstatsWarning
        Few clusters for `errors="cluster"`; a term without a test, because combinations of levels that it is
        averaged over have no rows, or another term of the formula has the same columns.

    Notes
    -----
    Type III tests are those of lmerTest's `anova`, and of car's `Anova(type = 3)` if all factors are coded by
    `contr.sum`. They depend neither on reference levels nor on the order of levels. For mixed models the
    denominators of Satterthwaite's F of several coefficients depend on them in about the fourth digit, as in
    lmerTest; with `errors="kenward-roger"` they do not. A number in an interaction is held at 0: "method" in
    `method * size` is tested where `size` is 0, with `method * center(size)` at its mean. Terms that are
    tested together, by default all, are tested as a whole: "method" and "method:site" for any difference at
    any site. R's `car::Anova` stops if coefficients are aliased; here terms are tested that do not involve
    them.

    CR2 with the approximate Hotelling test of Pustejovsky and Tipton (2018; eta as in clubSandwich's
    `Wald_test(test = "HTZ")`) has a type I error of at most 0.05; with few clusters it is conservative, and
    it is undefined (NaN) if eta <= q - 1. For a balanced design of methods and cases it is Hotelling's T^2 of
    the cases' differences. "cluster" needs many clusters for each coefficient, and fewer than 20 q warn:
    without any effect, terms that vary between 15 clusters with q = 5 have p < 0.05 in half of all studies,
    and in an eighth with 40 clusters and q = 3.

    With `errors="classical"` this is the F test of R's `anova` and `waldtest`; with `hc3` that of
    `waldtest(vcov = vcovHC)`. For clusters R's `waldtest` has n - k denominator degrees of freedom; here
    there are G - 1, as in Stata and in `regress` for each term. An F test of as many terms as there are
    clusters, or more, is undefined (NaN).

    References
    ----------
    Fox J, Weisberg S. An R Companion to Applied Regression, 3rd ed. Sage, 2019 (car).

    Kuznetsova A, Brockhoff PB, Christensen RHB. lmerTest package: tests in linear mixed effects models. J
    Stat Softw 2017;82(13):1-26. https://doi.org/10.18637/jss.v082.i13

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J Bus Econ Stat 2018;36:672-683.
    https://doi.org/10.1080/07350015.2016.1247004

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [1, 2, 4, 3, 6, 9, 11, 13.0], "site": list("aaaabbbb"),
    ...     "size": [1, 2, 3, 4, 1, 2, 3, 4]})
    >>> ss.joint_test(table, "score ~ size * site", "size:site").iloc[:, 1:5].round(4)
            term  statistic   df  p_value
    0  size:site     9.6626  1.0   0.0526
    """
    checked_procedure(adjust, "adjust")
    options = ModelOptions(
        by=by, family=family, errors=errors, unit=unit, reference=reference, overall=overall
    )
    fitted = fit_models(data, formula, options)
    return joint_tests(fitted, terms, adjust=adjust, each_term_apart=each)


def joint_tests(
    fitted: Fitted,
    terms: str | Sequence[str] | None = None,
    *,
    adjust: str = "none",
    each_term_apart: bool = False,
) -> pd.DataFrame:
    """Return the rows of `joint_test`: one for all terms of a model together, or one for each term."""
    checked_procedure(adjust, "adjust")
    notes = fitted.inference_notes.copy()
    term_names = []
    tests = []
    n_tests = []
    for model in fitted.models:
        positions = _term_positions(model.formula, terms)
        tested_together = [positions]
        if each_term_apart:
            tested_together = [[position] for position in positions]
        model_terms = _term_names_without_intercept(model.formula)
        for tested in tested_together:
            term_names.append(" + ".join(model_terms[position] for position in tested))
            tests.append(joint_wald_test_of_marginal_effects(model, tested, notes))
        n_tests.append(len(tested_together))
    notes.warn()
    statistic, df, df_residual, p_value = np.asarray(tests).T
    columns = {"term": term_names, "statistic": statistic, "df": df, "p_value": p_value}
    counts = count_and_caution_columns(fitted, n_tests)
    options = {"df_residual": df_residual} | family_and_error_columns(fitted)
    result = estimates_frame(key_columns(fitted, n_tests), columns | counts, options)
    return adjust_unless_none(result, adjust)


def _term_names_without_intercept(formula: Formula) -> list[str]:
    """Return the names of a formula's terms, such as "method:site"."""
    names = []
    for term in formula.terms:
        names.append(":".join(factor.name for factor in term))
    return names


def _term_positions(formula: Formula, terms: str | Sequence[str] | None) -> list[int]:
    """Return the positions of the terms to test, by default of all, among the terms of a formula."""
    names = _term_names_without_intercept(formula)
    if not names:
        raise FormulaError(
            f"{formula.text!r} has an intercept only, so that there is nothing to test",
            option="formula",
            value=formula.text,
        )
    if terms is None:
        return list(range(len(names)))
    if not isinstance(terms, Sequence):
        raise _unknown_term_error(formula, terms)
    position_of_term = {frozenset(term): position for position, term in enumerate(formula.terms)}
    positions: list[int] = []
    texts = [terms] if isinstance(terms, str) else list(terms)
    if not texts:
        raise FormulaError("terms is an empty list", option="terms", value=[], choices=names)
    for text in texts:
        if not isinstance(text, str):
            raise _unknown_term_error(formula, text)
        # The text is parsed as the right side of a formula, since `a * b` names several terms.
        parsed = parse_formula(f"Q('') ~ {text}")
        if parsed.random:
            raise FormulaError(
                f"{text!r} names a random effect, and joint tests are of terms with coefficients",
                hint="leave it out; variance_components() of a fit shows random effects",
                option="terms",
                value=text,
                choices=_term_names_without_intercept(formula),
            )
        parsed_terms = parsed.terms
        is_in_formula = all(frozenset(term) in position_of_term for term in parsed_terms)
        if not parsed_terms or not is_in_formula:
            raise _unknown_term_error(formula, text)
        positions += [position_of_term[frozenset(term)] for term in parsed_terms]
    return list(dict.fromkeys(positions))


def _unknown_term_error(formula: Formula, term: object) -> FormulaError:
    """Return the error for a term to test that a formula lacks."""
    names = _term_names_without_intercept(formula)
    return FormulaError(
        f"{formula.text!r} has no term {term!r} (terms: {quoted(names)})",
        option="terms",
        value=term,
        choices=names,
    )


class WaldTest(NamedTuple):
    """A joint Wald test of q coefficients; NaN where there is none."""

    statistic: float  # F
    df_num: float  # q
    df_den: float  # NaN where q F is compared with chi-squared
    p_value: float


def joint_wald_test_of_marginal_effects(
    model: Model, term_positions: Sequence[int], notes: Notes
) -> WaldTest:
    """Test that the terms at these positions of a model's formula have no effect.

    The test is NaN where the model or all coefficients of the terms have no estimates, and, with a note,
    where the data do not determine the hypothesis.
    """
    solution = model.solution
    if solution is None:
        return WaldTest(np.nan, np.nan, np.nan, np.nan)
    hypotheses = marginal_hypothesis_matrix_if_determined(
        model.design, solution.column_positions, term_positions
    )
    if hypotheses is None:
        tested = []
        for position in term_positions:
            factors = [
                column_or_text(factor.name, model.variables) for factor in model.formula.terms[position]
            ]
            tested.append(Message.joined(factors, ":"))
        notes.add(
            _NOT_DETERMINED,
            Message(model.label, ": ", Message.joined(tested, ", ")),
            hint="leave out the interaction, the levels or that term",
            column="p_value",
        )
        return WaldTest(np.nan, 0.0, np.nan, np.nan)
    if not len(hypotheses):
        return WaldTest(np.nan, 0.0, np.nan, np.nan)
    # The same hypotheses for each part of a model with several linear predictors
    coefficient_contrasts = np.kron(np.eye(len(solution.predictor_names)), hypotheses)
    if solution.inference is not None:
        statistic, df_num, df_den = solution.inference.f_test(model.errors, coefficient_contrasts)
        p_value = float(special.fdtrc(df_num, df_den, statistic))
        return WaldTest(statistic, float(df_num), df_den, p_value)
    return _wald_test(model, solution, coefficient_contrasts, notes)


def _wald_test(model: Model, solution: Solution, coefficient_contrasts: np.ndarray, notes: Notes) -> WaldTest:
    """Test that contrasts (q, r) of a model's coefficients are all zero, with the model's standard errors."""
    q = len(coefficient_contrasts)
    # Contrasts of all parameters, 0 for those besides the coefficients
    contrasts = np.zeros((q, len(solution.bread)))
    contrasts[:, : solution.rank] = coefficient_contrasts
    tested = np.flatnonzero(contrasts.any(axis=0))
    covariance, df = covariance_and_df(model, notes, coefficients_to_note=tested.tolist())
    is_undefined = bool(np.isnan(covariance[np.ix_(tested, tested)]).any())
    contrast_covariance = contrasts @ np.where(np.isnan(covariance), 0.0, covariance) @ contrasts.T
    if is_undefined:
        contrast_covariance[:] = np.nan
    classical = solution.dispersion * (contrasts @ solution.bread @ contrasts.T)
    estimates = coefficient_contrasts @ solution.coefficients
    # the classical covariance is the scale on which a singular covariance is recognised
    statistic = wald_f_statistic(estimates, contrast_covariance, classical)

    is_clustered = model.errors in CLUSTERED_ERRORS
    hat_exponent = ERRORS[model.errors].hat_exponent
    if is_clustered and hat_exponent is None and not np.isnan(statistic):
        note_few_clusters(model, q, notes)
    # Without bias reduction all parameters have the same degrees of freedom.
    df_den = float(df[0])
    if np.isinf(df_den):
        p_value = float(special.chdtrc(q, q * statistic))
        return WaldTest(statistic, float(q), np.nan, p_value)
    if hat_exponent is not None:
        # q times the statistic is Hotelling's T² with eta degrees of freedom (Pustejovsky and Tipton 2018).
        problem = working_least_squares(model)
        eta = closest_wishart_df(
            problem.rows,
            problem.bread,
            problem.clusters,
            contrasts,
            problem.weights,
            hat_exponent,
            problem.sampling,
        )
        df_den = eta - q + 1
        statistic = statistic * df_den / eta if df_den > 0 else np.nan
        if np.isnan(statistic):
            df_den = np.nan
    if np.isnan(statistic) and not is_undefined and is_clustered:
        notes.add(
            "no joint test (NaN) with so few clusters",
            Message(model.label, f": {model.n_units} clusters for {q} coefficients"),
            option="errors",
            value=model.errors,
            column="df_residual",
        )
    return WaldTest(statistic, float(q), df_den, float(special.fdtrc(q, df_den, statistic)))
