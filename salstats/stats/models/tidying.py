"""Estimates of other software: results of statsmodels, and files written by R's broom."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns, check_level
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.frames import ESTIMATE_COLUMNS, estimates_frame, text_column
from salstats.stats.models.design import INTERCEPT
from salstats.stats.models.fitted_models import Fitted
from salstats.stats.models.regression import coefficient_rows

#: Our name of each column of broom's tidiers that has another name there.
_COLUMN_BY_BROOM_NAME = {
    "std.error": "std_error",
    "p.value": "p_value",
    "adj.p.value": "p_adjusted",
    "conf.low": "conf_low",
    "conf.high": "conf_high",
    "conf.level": "conf_level",
    "nobs": "n",
}
#: Values of `effect` for parameters that are not coefficients: two of `tidy`, then those of broom.mixed.
_EFFECTS_OF_OTHER_PARAMETERS = ("random", "auxiliary", "ran_pars", "ran_vals", "ran_coefs")
_NUMERIC_COLUMNS = (
    "estimate",
    "std_error",
    "statistic",
    "df",
    "p_value",
    "p_adjusted",
    "conf_low",
    "conf_high",
)
_INTERCEPTS = ("Intercept", "const", INTERCEPT)
#: A factor with its reference: the factor in `C(site, Treatment("a"))`.
_TREATMENT = re.compile(r"C\(([^(),]+), ?Treatment\([^()]*\)\)")
#: A level: `b` in `site[T.b]`.
_LEVEL = re.compile(r"\[(?:T\.)?([^\[\]]*)\]")
#: A quoted column: `max width` in `Q("max width")`.
_QUOTED = re.compile(r"Q\(([\"'])(.*?)\1\)")
#: A lag in a model of time series: `.L1` in `score.L1`.
_LAG = re.compile(r"\.L\d+")
#: Name that R's `write.csv` gives to row names, and pandas to a column without name.
_ROW_NAMES = re.compile(r"|Unnamed: \d+")
#: Prefix that statsmodels' hurdle models give to the parameters of zeros.
_HURDLE_PREFIX = "zm_"


def tidy(fit: object, *, level: float = 0.95) -> pd.DataFrame:
    """Convert fitted models, or a table of coefficients of other software, to an estimates frame.

    Parameters
    ----------
    fit : Fit, statsmodels results, DataFrame, str or path
        A result of `fit`, or of the method `fit()` of a statsmodels model (OLS, GLM, Logit, GEE, MixedLM,
        PHReg, ...); a table in broom's columns (`term, estimate, std.error, statistic, p.value, conf.low,
        conf.high`), or a CSV file of one.
    level : float
        Confidence level of the limits that are computed for a statsmodels result, or of the limits in a table
        without `conf.level` (broom does not write it).

    Returns
    -------
    DataFrame
        One row per term, in the order given, with columns

        columns of a table before `term`
            Such as `model` or `group`; broom.mixed's `effect` comes last.
        formula, n, interval
            For a statsmodels result its formula, number of rows (for a table `nobs`), and `t` or `wald`.
        term
            In R's spelling: statsmodels' `Intercept` and `const` become `(Intercept)`, `site[T.b]`
            becomes `siteb`.
        estimate, std_error, statistic, df, p_value, p_adjusted, conf_low, conf_high, conf_level
            For a table those that it has. For a statsmodels result all but `p_adjusted`, with the standard
            errors it was fitted with; `df` is NaN if it uses the normal distribution.
        reference_level, factor
            For a statsmodels result the level that a level of a factor is compared with, and the factor as in
            `term`.
        effect
            For a statsmodels result with parameters that are not coefficients: `fixed` for coefficients;
            `random` for the variances and covariances of a mixed model, "Residual Var" last; `auxiliary` for
            other parameters (the dispersion `alpha` of counts, BetaModel's `precision` if it is constant,
            thresholds), on the scale of the fit, for BetaModel the logarithm. Tests that these are zero mean
            nothing: `statistic` and `p_value` are NaN, and for variances also standard errors and limits.
        other columns of a table
            Last and unchanged (`component`, `y.level`, ...).

    Raises
    ------
    SalstatsError
        Neither a table nor a fitted model; a file that is missing or not a CSV file; a table without `term`
        or `estimate`, with text in a column of numbers, or with a column in both spellings; a statsmodels
        result with several outcomes.

    Notes
    -----
    A MixedLM stores its variances divided by that of the residuals, and prints some of them in that form;
    here they are `cov_re` and `vcomp` themselves. Tables show them below the coefficients, figures do not.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> broom = pd.DataFrame({"term": ["(Intercept)", "size"], "estimate": [0.2, 0.5],
    ...     "std.error": [0.1, 0.2], "p.value": [0.05, 0.02]})
    >>> ss.tidy(broom)
              term  estimate  std_error  p_value
    0  (Intercept)       0.2        0.1     0.05
    1         size       0.5        0.2     0.02
    """
    check_level(level)
    if isinstance(fit, Fitted):
        return coefficient_rows(fit, level=level)
    if isinstance(fit, str | os.PathLike):
        return _estimates_from_table(_read_csv(Path(fit)), str(fit), level)
    if isinstance(fit, pd.DataFrame):
        return _estimates_from_table(fit, "the table", level)
    result_attributes = ("params", "bse", "pvalues", "conf_int")
    if all(hasattr(fit, name) for name in result_attributes):
        return _estimates_from_statsmodels(fit, level)
    raise SalstatsError(
        "tidy() takes results of statsmodels, a DataFrame or a CSV file of broom's, not "
        f"{type(fit).__name__}",
        option="fit",
        value=type(fit).__name__,
    )


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file; InputFileError if it is missing or not a CSV file."""
    if not path.is_file():
        raise InputFileError(f"there is no file {path}", path=path)
    try:
        return pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputFileError(f"{path} is not a CSV file: {str(error).splitlines()[0]}", path=path) from None


def _estimates_from_table(table: pd.DataFrame, name: str, level: float) -> pd.DataFrame:
    """Return a table in broom's columns as an estimates frame; `name` is that of the table in messages."""
    our_names = {column: _COLUMN_BY_BROOM_NAME.get(str(column), str(column)) for column in table.columns}
    frame = table.rename(columns=our_names)
    row_names = [column for column in frame.columns if _ROW_NAMES.fullmatch(str(column))]
    frame = frame.drop(columns=row_names)
    if not frame.columns.is_unique:
        duplicate = frame.columns[frame.columns.duplicated()][0]
        raise ColumnError(
            f"{name} has column {duplicate!r} twice, in broom's spelling and in salstats'", column=duplicate
        )
    check_columns(frame, ["term", "estimate"], name)
    for column in _NUMERIC_COLUMNS:
        if column not in frame.columns or pd.api.types.is_numeric_dtype(frame[column]):
            continue
        if frame[column].notna().any():
            raise ColumnError(f"column {column!r} of {name} holds text; it must be numeric", column=column)
        # A column without any value is read as text.
        frame[column] = frame[column].astype(np.float64)
    if "conf_low" in frame.columns and "conf_level" not in frame.columns:
        frame["conf_level"] = float(level)
    columns_before_term = frame.columns[: frame.columns.get_loc("term")]
    keys = [column for column in columns_before_term if column not in (*ESTIMATE_COLUMNS, "effect")]
    columns = {column: frame[column].to_numpy() for column in ESTIMATE_COLUMNS if column in frame.columns}
    columns["term"] = np.asarray([_term_in_r_spelling(str(term)) for term in frame["term"]], dtype=object)
    additional_columns = {
        column: frame[column].to_numpy()
        for column in frame.columns
        if column not in keys and column not in columns
    }
    return estimates_frame(frame[keys], columns, additional_columns)


def _estimates_from_statsmodels(fit: Any, level: float) -> pd.DataFrame:
    """Return the coefficients of a statsmodels result, with the errors that it was fitted with."""
    estimate = np.asarray(fit.params, dtype=np.float64)
    if estimate.ndim != 1:
        raise SalstatsError("tidy() takes models of one outcome; this one has coefficients for several")
    names = _parameter_names(fit, n_parameters=len(estimate))
    uses_t = bool(getattr(fit, "use_t", False))
    frame = _parameter_frame(fit, names, level, uses_t=uses_t)
    is_in_design = ~_beyond_design_mask(fit, names)
    if hasattr(fit, "cov_re"):
        frame, effect = _mixed_model_estimates_with_residual_variance(frame, fit, is_in_design)
    else:
        frame.loc[~is_in_design, ["statistic", "p_value"]] = np.nan
        effect = np.where(is_in_design, "fixed", "auxiliary")

    additional_columns: dict[str, Any] = {}
    if not is_in_design.all():
        additional_columns["effect"] = effect
    factors = _factor_and_reference_level_by_parameter(fit)
    n_rows = len(frame)
    no_factor = _FactorReference(factor=None, reference_level=None)
    row_factors = [factors.get(name, no_factor) for name in names]
    # The variance of the residuals follows the parameters of a mixed model.
    row_factors += [no_factor] * (n_rows - len(names))
    reference_levels = [row_factor.reference_level for row_factor in row_factors]
    factor_names = [row_factor.factor for row_factor in row_factors]
    if any(reference_levels):
        additional_columns["reference_level"] = text_column(reference_levels)
    if any(factor_names):
        additional_columns["factor"] = text_column(factor_names)

    formula = getattr(fit.model, "formula", None)
    keys = pd.DataFrame(index=range(n_rows))
    if isinstance(formula, str):
        keys["formula"] = formula
    columns: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame}
    columns["conf_level"] = float(level)
    columns["interval"] = "t" if uses_t else "wald"
    # Results of survival models have no `nobs`, but their models do.
    columns["n"] = int(fit.nobs if hasattr(fit, "nobs") else fit.model.nobs)
    return estimates_frame(keys, columns, additional_columns)


def _parameter_names(fit: Any, n_parameters: int) -> list[str]:
    """Return statsmodels' names of the parameters of a result.

    Models may name more parameters than a result has, or fewer, as those of a likelihood that a user writes;
    such parameters are named by their positions.
    """
    has_index = isinstance(fit.params, pd.Series)
    model_names = fit.params.index if has_index else fit.model.data.param_names
    names = [str(name) for name in model_names][:n_parameters]
    names += [f"parameter {position}" for position in range(len(names), n_parameters)]
    return names


def _parameter_frame(fit: Any, names: Sequence[str], level: float, *, uses_t: bool) -> pd.DataFrame:
    """Return a row for each parameter of a statsmodels result, with its term and statistics."""
    estimate = np.asarray(fit.params, dtype=np.float64)
    n_parameters = len(estimate)
    terms = [_term_in_r_spelling(name) for name in names]
    df = np.nan
    if uses_t:
        # The first of these that the result has, and that is not 0
        for name in ("df_resid_inference", "df_resid"):
            df = getattr(fit, name, None) or np.nan
            if not np.isnan(df):
                break
    limits = np.asarray(fit.conf_int(alpha=1 - level), dtype=np.float64)
    return pd.DataFrame(
        {
            "term": terms,
            "estimate": estimate,
            "std_error": np.asarray(fit.bse, dtype=np.float64),
            "statistic": np.asarray(fit.tvalues, dtype=np.float64),
            "df": np.full(n_parameters, float(df)),
            "p_value": np.asarray(fit.pvalues, dtype=np.float64),
            "conf_low": limits[:, 0],
            "conf_high": limits[:, 1],
        }
    )


class _EstimatesWithFixedOrRandom(NamedTuple):
    """Estimates of a mixed model, the variance of the residuals last, and "fixed" or "random" for each."""

    frame: pd.DataFrame
    effect: np.ndarray


def _mixed_model_estimates_with_residual_variance(
    frame: pd.DataFrame, fit: Any, is_in_design: NDArray[np.bool_]
) -> _EstimatesWithFixedOrRandom:
    """Return the estimates of a mixed model of statsmodels, with the variance of the residuals added.

    statsmodels divides the variances of random effects by that of the residuals; here they are not divided.
    """
    frame = frame.copy()
    is_variance = ~is_in_design
    variances = frame.loc[is_variance, "estimate"] * fit.scale
    statistics = [column for column in frame.columns if column != "term"]
    frame.loc[is_variance, statistics] = np.nan
    frame.loc[is_variance, "estimate"] = variances
    frame.loc[len(frame), ["term", "estimate"]] = ("Residual Var", float(fit.scale))
    effect = np.where(is_in_design, "fixed", "random")
    return _EstimatesWithFixedOrRandom(frame, np.append(effect, "random"))


class _FactorReference(NamedTuple):
    """The factor of a parameter, and the level with which its level is compared; None if there is none."""

    factor: str | None
    reference_level: str | None


def _factor_and_reference_level_by_parameter(fit: Any) -> dict[str, _FactorReference]:
    """Return factor and reference level, by name, of a statsmodels result's parameters that are levels."""
    # statsmodels before 0.15 calls it `design_info`
    spec: Any = getattr(fit.model.data, "model_spec", None) or getattr(fit.model.data, "design_info", None)
    factors: dict[str, _FactorReference] = {}
    for term, columns in getattr(spec, "term_slices", {}).items():
        if len(term.factors) != 1:
            continue
        info = spec.factor_infos[term.factors[0]]
        if info.type != "categorical":
            continue
        factor = info.factor.name()
        parameters = spec.column_names[columns]
        levels = {f"{factor}[T.{level}]": str(level) for level in info.categories}
        levels_without_parameter = [level for name, level in levels.items() if name not in parameters]
        has_reference = len(levels_without_parameter) == 1
        for parameter in parameters:
            reference_level = None
            if has_reference and parameter in levels:
                reference_level = levels_without_parameter[0]
            factors[parameter] = _FactorReference(_term_in_r_spelling(factor), reference_level)
    return factors


def _beyond_design_mask(fit: Any, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return True for each parameter that belongs to no column of a design matrix.

    Models of zeros have a second design: the parameters of an inflation come first, those of a hurdle have
    the column names of the other design after a prefix. In models of time series lags are also coefficients.
    Autoregressions by least squares have only coefficients and, perhaps, a variance.
    """
    model = fit.model
    if model.exog is None or hasattr(model, "ar_lags"):
        return np.array([name.startswith("sigma2") for name in names], dtype=bool)
    n_columns = model.exog.shape[1] + getattr(model, "k_inflate", 0)
    n_precision_columns = np.shape(getattr(model, "exog_precision", [[]]))[1]
    # The parameter of a precision with one column is a constant, not a coefficient.
    if n_precision_columns > 1:
        n_columns += n_precision_columns
    column_names = {name.removeprefix(_HURDLE_PREFIX) for name in names[:n_columns]}
    is_beyond = []
    for position, name in enumerate(names):
        is_column = position < n_columns or name in column_names
        is_beyond.append(not is_column and not _LAG.search(name))
    return np.array(is_beyond, dtype=bool)


def is_coefficient(terms: pd.DataFrame) -> NDArray[np.bool_]:
    """Return True for each row of a frame of terms that is a coefficient."""
    if "effect" not in terms.columns:
        return np.ones(len(terms), dtype=bool)
    return np.asarray(~terms["effect"].isin(_EFFECTS_OF_OTHER_PARAMETERS))


def _term_in_r_spelling(name: str) -> str:
    """Return a term in R's spelling: 'site[T.b]:Q("x")' is 'siteb:x', 'Intercept' is '(Intercept)'."""
    if name in _INTERCEPTS:
        return INTERCEPT
    name = _QUOTED.sub(r"\2", name)
    name = _TREATMENT.sub(r"C(\1)", name)
    return _LEVEL.sub(r"\1", name)
