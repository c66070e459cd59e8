"""Coefficients of models, one row per term."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_choice, check_level, quoted
from salstats.errors import Setting, ValueRangeError, warn
from salstats.frames import estimates_frame, text_column
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.cautions import Caution, add_caution
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.coefficient_cautions import coefficient_cautions
from salstats.stats.models.design import INTERCEPT
from salstats.stats.models.fitted_models import (
    Fitted,
    Model,
    count_and_caution_columns,
    family_and_error_columns,
    key_columns,
)
from salstats.stats.models.margins import marginal_effects
from salstats.stats.models.model_fitting import fit_models
from salstats.stats.models.model_notes import Notes
from salstats.stats.models.model_options import ModelOptions
from salstats.stats.models.random_effect_summaries import reml_singularity_and_group_count_columns
from salstats.stats.models.standard_errors import covariance_and_df, inference_columns

EFFECTS = ("coefficients", "marginal")
#: Transforms of the left side after which an exponentiated coefficient is a ratio.
_LOG_TRANSFORMS = ("log(", "log1p(", "logit(")


def regress(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: Unit = None,
    reference: str | None = None,
    level: float = 0.95,
    exponentiate: bool = False,
    adjust: str = "none",
    overall: bool = False,
    correlation: str | None = None,
    reml: bool = True,
    weights: str | None = None,
    effects: str = "coefficients",
) -> pd.DataFrame:
    """Coefficients of regression models, one row per term.

    A positive estimate means that the left side increases with the term. Rows in which a variable of the
    formula is missing are left out, as in R's `lm`, and counted.

    Parameters
    ----------
    data : DataFrame
        A scores frame, or any tidy table. A name in the formula is a column, or else a metric: then one
        row of the model is one case, task and method (data set, reader, model, seed), with the metrics
        named as columns.
    formula : str or sequence of str
        Such as `"iou ~ area_ratio"`. It is data, not code: column names, the operators
        `+ - * / : ^ ** %in%`, numbers, and `C(x)`, `C(x, Treatment("level"))`, `Q("any name")`, `I(...)`,
        `log`, `log2`, `log10`, `log1p`, `sqrt`, `exp`, `logit`, `scale`, `center`. Random effects make it a
        mixed model: `(1|reader)`, nested `(1|patient/case)`, slopes `(1 + method|reader)`, without
        correlations `(x||reader)`.
    by : str or sequence of str, optional
        Columns whose groups have a model each. By default `method`, if it is a column that the formula does
        not use.
    family : str
        A name of `families.FAMILIES`: `binomial` is the logit of an outcome 0 or 1, `fractional` the
        quasi-binomial logit for an outcome in [0, 1], exact 0 and 1 included; `beta` is for scores strictly
        between, `ordered-beta` and `zero-one-inflated-beta` for scores of which many are 0 or 1.
    errors : str, optional
        A name of `error_kinds.CHOICES`; by default `recommended`, which is `cr2`: rows of a unit may depend
        on each other, with Satterthwaite's degrees of freedom. `mancl-derouen`, recommended with
        `correlation` and for the beta families, has p-values that are slightly too large with few units;
        those of `cluster` (CR1) and `cr0` are too small with few units, and for terms that vary between
        units. `hc0` ... `hc3` and `classical` treat rows as independent. The beta families have no `hc2` and
        `hc3`. Mixed models have `satterthwaite`, which is recommended, and `kenward-roger`.
    unit : str or list of str, optional
        Column of the clusters, or several; by default as for `summarize`. Without such a column each row is
        a unit.
    reference : str, optional
        A method, such as `"human"`: the left side becomes `reference - method` on the same case and task,
        so that a positive slope means that the method falls further behind as the term grows.
    level : float
        Confidence level.
    exponentiate : bool
        Exponentiate the estimate and its limits (odds ratios of the logit families). `std_error` and
        `statistic` stay on the log scale, as in broom.
    adjust : str
        Procedure of `adjust`; the family is every term shown except intercepts, of all models, also the terms
        and levels that are only adjusted for. A smaller family is `adjust` of the rows of interest.
    overall : bool
        With `task` in `by`, add the model pooled over tasks as task "Overall".
    correlation : {"exchangeable"}, optional
        Working correlation of the rows of a unit (generalised estimating equations): any two are equally
        correlated. Units are then weighted by their information, and estimates are still of the population's
        mean.
    reml : bool
        For formulas with random effects: True for the restricted likelihood, False for maximum likelihood.
    weights : str, optional
        A column with the number of cases that each case represents, or `unit`, which counts each unit alike,
        as for `summarize`; for the gaussian and the logit families with robust errors, see Notes.
    effects : {"coefficients", "marginal"}
        `marginal` returns the average marginal effects of `Fit.effects` instead of coefficients: changes of
        the mean score, on the scale of the score also for the logit families.

    Returns
    -------
    DataFrame
        In order of formula, group (sorted, "Overall" last) and term, with columns

        grouping columns, reference
            Those of `by`, and the reference if there is one.
        part
            For zero-one-inflated beta models: `mean`, the logit of the mean of scores strictly between 0 and
            1; `zero` and `one`, the log of the share of zeros, or ones, over that of the scores in between.
        formula
            As it was given.
        term
            In R's spelling: `(Intercept)`, `area_ratio`, `taskEdema`, `area_ratio:taskEdema`.
        estimate
            The coefficient; NaN, with a warning, for a term that depends linearly on earlier ones (as in R)
            and for a model without estimates.
        std_error, statistic
            Standard error by `errors`, and estimate / std_error. NaN, with a warning, for a perfect fit, a
            single cluster, and a coefficient that one cluster (with hc0 ... hc3: one row) determines alone,
            and so are the columns that depend on it.
        df
            Degrees of freedom of Student's t: Satterthwaite's with `cr2` and `mancl-derouen`, those of the
            option for mixed models, G - 1 with `errors="cluster"`, else n - k for the gaussian and fractional
            families. NaN means the normal distribution: `cr0`, and errors that are not clustered in families
            of a full likelihood, such as the binomial.
        p_value, p_adjusted
            Two-sided; `p_adjusted`, and the last columns `n_tests, procedure`, only with `adjust`.
        conf_low, conf_high, conf_level
            Wald limits from the same distribution; they are not adjusted.
        interval
            `t`, or `wald` for the normal distribution.
        unit, n_units
            With clustered errors: the column of the clusters ("row" if each row is one), and their number, G.
        inference_to, weights
            "these readers" or "these trainings" if rows are of several and there is no random effect of them;
            the option `weights`, as in `summarize`.
        n, n_missing
            Rows used, and rows left out because a variable of the formula is missing; `n_absent`, if there
            are any, are the rows left out without an outcome because the finding is absent.
        caution
            "few units decide" if up to five units have residuals far from all others and cause most of a
            coefficient's variance, such as cases on which a method fails completely; with `cr2`, "few levers"
            if degrees of freedom are below ten and below a fifth of the units; "few units" if clusters are
            worth fewer than four of equal size.
        family, errors, exponentiated
            Options of the models; if `exponentiated` is true the estimate and its limits are ratios.
            `correlation`, if given.
        reference_level
            For factors: the level that the term's level is compared with.
        singular
            For mixed models: True if a variance is 0, or effects are correlated by 1 or -1.
        normalized
            If any covariate ranges from 0 to 1 in the data, as after `normalize`: True for such a covariate.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        A formula that cannot be parsed or uses an operator or function that is not listed above; a name that
        is neither a column nor a metric; a variable in `by` and in the formula; an empty unit; an unknown
        option; an outcome that does not suit the family; a transform that is undefined for some value.

    Warns
    -----
    SalstatsWarning
        Once each for: models without estimates (too few rows, a separated logit model); terms that cannot
        be told apart; a perfect fit; terms whose errors cannot be estimated; fewer than 20 clusters with
        `errors="cluster"`; a reference level that differs between groups; rows that repeat a case or
        patient without clustered errors; several metrics in one model; several tasks, data sets or models
        in one model without a term of them, where `by` is not given; a column of numbers with a slope that
        is a label by its name, such as `site`, for which `C(site)` gives a level each.

    Notes
    -----
    Default 95 % limits of slopes hold in 92 to 99 % of simulated studies of 30 units and in 92 to 98 % of
    100, classical limits in 42 to 98 % of those of 30 (`datasets.load_coverage`). If a method fails
    completely on 6 or 8 % of the cases, the default limits of its coefficient hold in 88 to 92 % of studies
    of 30 units, mostly with a caution.

    Text is coded by treatment contrasts; the reference is the first level in sorted order (upper case before
    lower case, as in R's C locale), or the first of a Categorical. Only levels that are present in a group
    count: if the first is absent from a group, its terms have another reference (with a warning). `scale`
    (standard deviation with n - 1) and `center` use the rows of the model; R's `lm` scales before it leaves
    rows out, so that results differ if an outcome or another variable is missing. True and False are 1 and 0;
    identifiers (`reader`, `method`, `seed`, ...) are text, also if they are numbers.

    With s_i = x_i (y_i - mu_i), e_i = y_i - mu_i, M = (X'WX)^-1 (W = 1, or mu (1 - mu) for the logit) and
    h_i the leverages of the weighted design, the covariance is

    - cr2: as in R's clubSandwich, also for the logit families: residuals of each cluster are multiplied by a
      matrix that makes the sum over clusters unbiased under the model, and degrees of freedom are those of
      its variance under the model. If each row is a cluster this is hc2. For a beta model it is computed from
      the least squares problem of its last scoring step, with two rows for each score (of its mean, of phi);
    - classical: phi M, phi = RSS / (n - k), 1 (binomial), Pearson's chi^2 / (n - k) (fractional);
    - hc0: M [sum s_i s_i'] M; hc1: times n / (n - k); hc2, hc3: e_i^2 over 1 - h_i, (1 - h_i)^2. The logit
      families have all of them, as in R's sandwich (statsmodels silently gives HC0);
    - cluster: CR1, G / (G - 1) * (n - 1) / (n - k) M [sum_g s_g s_g'] M with s_g the sum over a cluster, and
      t with G - 1 degrees of freedom in every family, as in Stata. It is `vcovCL(type = "HC1")` of R's
      sandwich, where `coeftest` has n - k degrees of freedom.

    All kinds but `classical` estimate errors from residuals. A covariate that is 1 in one cluster only (for
    hc0 ... hc3: in one row) has residuals there that sum to 0 for any data; R's standard errors for it are
    far too small, or only rounding errors. Here they are NaN, as are those of terms compared with it. Other
    terms are not affected, and hc2 and hc3, which R does not define in this case, leave such a row out.

    Weights are sampling weights: the contribution of a row to the estimating equations is multiplied by its
    weight, whose mean is 1 in each model, and the variance of errors does not depend on it. Estimates and hc0
    ... hc3 and CR1 errors are those of R's `lm(weights=)` and `glm(weights=)` with sandwich, and up to small
    factors those of survey's `svyglm`; cr2 is that of clubSandwich with `inverse_var = FALSE`, for a linear
    model that of estimatr. Classical errors, for which weights are precisions, raise an error; there is no
    likelihood, and so no AIC. Averages over rows (`Fit.means(..., average="rows")`, `effects="marginal"`) are
    weighted too.

    With random effects (a linear mixed model, as in R's lme4) b and its covariance (X'V^-1 X)^-1 are those of
    generalised least squares at the variances of the largest (restricted) likelihood; degrees of freedom are
    those of lmerTest and pbkrtest, and variances those of `Fit.variance_components`. A random effect needs
    several groups, fewer than rows. If the formula lacks a random effect by which rows depend on each other,
    limits are too narrow.

    With `correlation` estimates are those of R's geepack, with moments over n instead of n - k.
    `mancl-derouen` has (I - H_gg)^-1 where `cr2` has its root. In simulations of hits its 95 % limits covered
    in 97 to 99 % of studies of 10 patients and in 95 to 97 % of 40; with the usual G - k degrees of freedom
    in 93 % for a term that differs in two of 20 patients. For beta models, limits by `cr2` covered in 84 to
    92 % of studies of 10 units with one case each, or with two huge units, and by `mancl-derouen` in 92 % or
    more.

    A logit model whose terms separate zeros from ones has no finite estimates: its rows are NaN, where R
    prints huge numbers. Limits of the logit are Wald's, as in R's `confint.default`; broom's are profile
    likelihood limits.

    References
    ----------
    Bell RM, McCaffrey DF. Bias reduction in standard errors for linear regression with multi-stage samples.
    Survey Methodology 2002;28:169-181.

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J Bus Econ Stat 2018;36:672-683.
    https://doi.org/10.1080/07350015.2016.1247004

    Mancl LA, DeRouen TA. A covariance estimator for GEE with improved small-sample properties. Biometrics
    2001;57:126-134. https://doi.org/10.1111/j.0006-341X.2001.00126.x

    Bates D, Mächler M, Bolker B, Walker S. Fitting linear mixed-effects models using lme4. J Stat Softw
    2015;67(1):1-48. https://doi.org/10.18637/jss.v067.i01

    Kuznetsova A, Brockhoff PB, Christensen RHB. lmerTest package: tests in linear mixed effects models.
    J Stat Softw 2017;82(13):1-26. https://doi.org/10.18637/jss.v082.i13

    Kenward MG, Roger JH. Small sample inference for fixed effects from restricted maximum likelihood.
    Biometrics 1997;53:983-997. https://doi.org/10.2307/2533558

    Robinson D, Hayes A, Couch S. broom: convert statistical objects into tidy tibbles.
    https://doi.org/10.32614/CRAN.package.broom

    Papke LE, Wooldridge JM. Econometric methods for fractional response variables. J Appl Econometrics
    1996;11:619-632. https://doi.org/10.1002/(SICI)1099-1255(199611)11:6<619::AID-JAE418>3.0.CO;2-1

    Zeileis A, Köll S, Graham N. Various versatile variances: an object-oriented implementation of clustered
    covariances in R. J Stat Softw 2020;95(1):1-36. https://doi.org/10.18637/jss.v095.i01

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": list("abcdef"), "method": "gradcam", "metric": "iou",
    ...     "score": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], "size": [1, 2, 3, 4, 5, 6]})
    >>> table = ss.regress(scores, "iou ~ size")
    >>> table[["method", "term", "estimate", "std_error", "df", "p_value", "n"]].round(4)
        method         term  estimate  std_error      df  p_value  n
    0  gradcam  (Intercept)    0.0400     0.0654  1.9941   0.6032  6
    1  gradcam         size    0.0886     0.0153  2.4134   0.0183  6
    """
    check_level(level)
    checked_procedure(adjust, "adjust")
    is_marginal = check_choice(effects, EFFECTS, "effects") == "marginal"
    if is_marginal and exponentiate:
        raise ValueRangeError(
            Setting("exponentiate", True),
            " is for coefficients; those of ",
            Setting("effects", "marginal"),
            " are differences",
        )
    options = ModelOptions(
        by=by,
        family=family,
        errors=errors,
        unit=unit,
        reference=reference,
        overall=overall,
        correlation=correlation,
        reml=reml,
        weights=weights,
    )
    fitted = fit_models(data, formula, options)
    if is_marginal:
        return marginal_effects(fitted, level, adjust)
    return coefficient_rows(fitted, level=level, exponentiate=exponentiate, adjust=adjust)


def coefficient_rows(
    fitted: Fitted, *, level: float = 0.95, exponentiate: bool = False, adjust: str = "none"
) -> pd.DataFrame:
    """Return the rows of `regress` for fitted models."""
    check_level(level)
    checked_procedure(adjust, "adjust")
    if exponentiate:
        _warn_if_exponentiated_without_log_response(fitted)
    notes = fitted.inference_notes.copy()
    tables = []
    rows_by_caution: dict[Caution, list[int]] = {}
    n_rows = 0
    for model in fitted.models:
        table = _coefficients_errors_and_df(model, notes)
        for caution, table_rows in table.rows_by_caution.items():
            rows_by_caution.setdefault(caution, []).extend(n_rows + table_rows)
        n_rows += len(table.terms)
        tables.append(table)
    notes.warn()

    estimate = np.concatenate([table.estimate for table in tables])
    std_error = np.concatenate([table.std_error for table in tables])
    df = np.concatenate([table.df for table in tables])
    columns = inference_columns(estimate, std_error, df, level)
    if exponentiate:
        with np.errstate(over="ignore"):
            for column in ("estimate", "conf_low", "conf_high"):
                columns[column] = np.exp(columns[column])
    columns["term"] = [term for table in tables for term in table.terms]
    repeats = [len(table.terms) for table in tables]
    options = family_and_error_columns(fitted) | {"exponentiated": exponentiate}
    mixed_columns = reml_singularity_and_group_count_columns(fitted)
    if "singular" in mixed_columns:
        options["singular"] = np.repeat(mixed_columns["singular"], repeats)
    keys = key_columns(fitted, repeats)
    parts = [part for table in tables for part in table.parts]
    if any(parts):
        keys.insert(len(fitted.by), "part", parts)
    columns |= count_and_caution_columns(fitted, repeats)
    result = estimates_frame(
        keys,
        columns,
        options | reference_level_and_normalized_columns_if_any(fitted.models, fitted.normalized),
    )
    for caution, rows in rows_by_caution.items():
        result = add_caution(result, caution, np.isin(np.arange(n_rows), rows))
    return adjust_unless_none(result, adjust)


class _CoefficientTable(NamedTuple):
    """The coefficients of one model, in order of part and term; NaN where they are not estimated."""

    parts: list[str]  # "" in models with a single linear predictor
    terms: list[str]
    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray  # infinite for the normal distribution
    rows_by_caution: dict[Caution, NDArray[np.integer]]  # positions of the rows that each caution concerns


def _coefficients_errors_and_df(model: Model, notes: Notes) -> _CoefficientTable:
    """Return the coefficients of a model with their standard errors and degrees of freedom."""
    # A model without columns has one row.
    names = model.design.names or (INTERCEPT,)
    n_names = len(names)
    solution = model.solution
    if solution is None:
        undefined = np.full(n_names, np.nan)
        return _CoefficientTable([""] * n_names, list(names), undefined, undefined, undefined, {})
    covariance, df = covariance_and_df(model, notes)
    # Rows of the estimated coefficients, the same terms in each part
    n_parts = len(solution.predictor_names)
    first_rows = n_names * np.arange(n_parts)
    rows = (first_rows[:, None] + solution.column_positions).ravel()
    rank = solution.rank
    estimate = np.full(n_parts * n_names, np.nan)
    std_error = np.full(n_parts * n_names, np.nan)
    coefficient_df = np.full(n_parts * n_names, np.nan)
    estimate[rows] = solution.coefficients
    std_error[rows] = np.sqrt(np.diag(covariance))[:rank]
    coefficient_df[rows] = df[:rank]
    cautions = coefficient_cautions(model, df[:rank])
    return _CoefficientTable(
        parts=np.repeat(solution.predictor_names, n_names).tolist(),
        terms=list(names) * n_parts,
        estimate=estimate,
        std_error=std_error,
        df=coefficient_df,
        rows_by_caution={caution: rows[concerned] for caution, concerned in cautions.items()},
    )


def n_coefficient_rows(model: Model) -> int:
    """Return the number of rows that `coefficient_rows` has for a model."""
    # A model without columns has one row.
    return _n_linear_predictors(model) * max(len(model.design.names), 1)


def _n_linear_predictors(model: Model) -> int:
    """Return the number of linear predictors of a model, 1 for a model without estimates."""
    if model.solution is None:
        return 1
    return len(model.solution.predictor_names)


def _warn_if_exponentiated_without_log_response(fitted: Fitted) -> None:
    """Warn if exponentiated coefficients are not ratios, since the left side is not on a log scale."""
    if not fitted.family.is_linear:
        return
    formulas = dict.fromkeys(model.formula for model in fitted.models)
    not_on_log_scale = [
        formula.text for formula in formulas if not formula.response.name.startswith(_LOG_TRANSFORMS)
    ]
    if not_on_log_scale:
        warn(
            Setting("exponentiate", True),
            ", but the left side of ",
            quoted(not_on_log_scale),
            " is not on a log or logit scale",
        )


def reference_level_and_normalized_columns_if_any(
    models: Sequence[Model], normalized_columns: frozenset[str]
) -> dict[str, Any]:
    """Return the columns `reference_level` and `normalized`, with a row for each coefficient.

    A column is left out if no row has a reference level, or none is normalized. `normalized_columns` are the
    names of the columns of the data that range from 0 to 1.
    """
    reference_levels: list[str | None] = []
    is_normalized: list[bool] = []
    for model in models:
        design = model.design
        n_parts = _n_linear_predictors(model)
        # A model without columns has one row, which belongs to no term.
        column_terms = design.assign or (-1,)
        for position in column_terms * n_parts:
            term = model.formula.terms[position] if position >= 0 else ()
            name = term[0].name if len(term) == 1 else ""
            reference = design.references.get(name)
            # In a model without intercept the first factor has all levels, and no reference.
            if f"{name}{reference}" in design.names:
                reference = None
            reference_levels.append(reference)
            is_normalized.append(name in normalized_columns)
    columns: dict[str, Any] = {}
    if any(reference_levels):
        columns["reference_level"] = text_column(reference_levels)
    if any(is_normalized):
        columns["normalized"] = is_normalized
    return columns
