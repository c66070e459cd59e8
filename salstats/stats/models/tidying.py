"""Estimates from elsewhere: results of statsmodels, and files written by R's broom."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, InputFileError, SalstatsError, check_columns, check_level
from salstats.frames import ESTIMATE_COLUMNS, estimates_frame, text_column
from salstats.stats.models.design import INTERCEPT
from salstats.stats.models.models import Fitted
from salstats.stats.models.regression import coefficients

#: Columns of broom's tidiers that are called otherwise here.
_BROOM = {
    "std.error": "std_error",
    "p.value": "p_value",
    "adj.p.value": "p_adjusted",
    "conf.low": "conf_low",
    "conf.high": "conf_high",
    "conf.level": "conf_level",
    "nobs": "n",
}
#: Values of `effect` of what is no coefficient; broom.mixed has names of its own.
_NO_COEFFICIENTS = ("random", "auxiliary", "ran_pars", "ran_vals", "ran_coefs")
_NUMBERS = ("estimate", "std_error", "statistic", "df", "p_value", "p_adjusted", "conf_low", "conf_high")
_INTERCEPTS = ("Intercept", "const", INTERCEPT)
_TREATMENT = re.compile(r"C\(([^(),]+), ?Treatment\([^()]*\)\)")
_CONTRAST = re.compile(r"\[(?:T\.)?([^\[\]]*)\]")
_QUOTED = re.compile(r"Q\(([\"'])(.*?)\1\)")
#: Lags of time series.
_LAG = re.compile(r"\.L\d+")


def tidy(fit: object, *, level: float = 0.95) -> pd.DataFrame:
    """Fitted models or a table of coefficients from elsewhere as an estimates frame.

    Parameters
    ----------
    fit : Fit, statsmodels results, DataFrame, str or path
        What `fit` made, or `fit()` of a statsmodels model (OLS, GLM, Logit, GEE, MixedLM, PHReg, ...); a
        table in broom's columns (`term, estimate, std.error, statistic, p.value, conf.low, conf.high`), or
        a CSV file of one.
    level : float
        Confidence level: of the limits that are made for a statsmodels result, or of those in a table that
        has limits and no `conf.level` (broom does not write it).

    Returns
    -------
    DataFrame
        One row per term, in the order given, with columns

        whatever stands before `term`
            Of a table, such as `model` or `group`; broom.mixed's `effect` comes last.
        formula, n, interval
            Of a statsmodels result: its formula, its rows (of a table: `nobs`), and `t` or `wald`.
        term
            In R's spelling: statsmodels' `Intercept` and `const` become `(Intercept)`, `site[T.b]`
            becomes `siteb`.
        estimate, std_error, statistic, df, p_value, p_adjusted, conf_low, conf_high, conf_level
            Of a table, those it has. Of a statsmodels result all but `p_adjusted`, with the errors it was
            fitted with; `df` is NaN where it uses the normal distribution.
        reference_level, factor
            Of a statsmodels result: the level that a level of a factor is compared with, and the factor as
            `term` spells it.
        effect
            Of a statsmodels result with parameters that are no coefficients: `fixed`; `random`, the variances
            and covariances of a mixed model, "Residual Var" last; `auxiliary`, what else there is (the
            dispersion `alpha` of counts, BetaModel's `precision` where it is constant, thresholds), on the
            scale it was fitted on, for BetaModel the logarithm. Nobody tests whether these are zero:
            `statistic` and `p_value` are NaN, and so is what else belongs to a variance.
        other columns of a table
            Last, as they are (`component`, `y.level`, ...).

    Raises
    ------
    SalstatsError
        Neither a table nor a fitted model; a file that is missing or no CSV file; a table without `term` or
        `estimate`, or with text where numbers belong.

    Notes
    -----
    A MixedLM holds its variances divided by that of the residuals, and prints some of them so; here they
    are `cov_re` and `vcomp` themselves. Tables have them at the foot, figures leave them out.

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
        return coefficients(fit, level=level)
    if isinstance(fit, str | os.PathLike):
        return _from_table(_read(Path(fit)), str(fit), level)
    if isinstance(fit, pd.DataFrame):
        return _from_table(fit, "the table", level)
    if all(hasattr(fit, name) for name in ("params", "bse", "pvalues", "conf_int")):
        return _from_statsmodels(fit, level)
    raise SalstatsError(
        f"tidy() takes results of statsmodels, a DataFrame or a CSV file of broom's, not {type(fit).__name__}"
    )


def _read(path: Path) -> pd.DataFrame:
    """A CSV file as a table."""
    if not path.is_file():
        raise InputFileError(f"there is no file {path}")
    try:
        return pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputFileError(f"{path} is not a CSV file: {str(error).splitlines()[0]}") from None


def _from_table(table: pd.DataFrame, name: str, level: float) -> pd.DataFrame:
    """A broom table in this package's columns."""
    frame = table.rename(columns={c: _BROOM.get(str(c), str(c)) for c in table.columns})
    # R's write.csv puts row names first, under an empty name
    frame = frame.drop(columns=[c for c in frame.columns if re.fullmatch(r"|Unnamed: \d+", str(c))])
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ColumnError(f"{name} has column {twice!r} twice, in broom's spelling and in salstats'")
    check_columns(frame, ["term", "estimate"], name)
    for column in _NUMBERS:
        if column in frame.columns and not pd.api.types.is_numeric_dtype(frame[column]):
            if frame[column].notna().any():
                raise ColumnError(f"column {column!r} of {name} holds text; it must be numeric")
            frame[column] = frame[column].astype(np.float64)
    if "conf_low" in frame.columns and "conf_level" not in frame.columns:
        frame["conf_level"] = float(level)
    before = list(frame.columns[: frame.columns.get_loc("term")])
    keys = [c for c in before if c not in (*ESTIMATE_COLUMNS, "effect")]
    known = {c: frame[c].to_numpy() for c in ESTIMATE_COLUMNS if c in frame.columns}
    known["term"] = np.asarray([_term_name(str(t)) for t in frame["term"]], dtype=object)
    special = {c: frame[c].to_numpy() for c in frame.columns if c not in keys and c not in known}
    return estimates_frame(frame[keys], known, special)


def _from_statsmodels(fit: Any, level: float) -> pd.DataFrame:
    """The coefficients of a statsmodels result, with the errors it was fitted with."""
    estimate = np.asarray(fit.params, dtype=np.float64)
    if estimate.ndim != 1:
        raise SalstatsError("tidy() takes models of one outcome; this one has coefficients for several")
    n = len(estimate)
    named = fit.params.index if isinstance(fit.params, pd.Series) else fit.model.data.param_names
    terms = [_term_name(str(t)) for t in named] + [f"parameter {i}" for i in range(len(named), n)]
    student = bool(getattr(fit, "use_t", False))
    df = getattr(fit, "df_resid_inference", None) or getattr(fit, "df_resid", None) or np.nan
    columns: dict[str, Any] = {
        "estimate": estimate,
        "std_error": np.asarray(fit.bse, dtype=np.float64),
        "statistic": np.asarray(fit.tvalues, dtype=np.float64),
        "df": np.full(n, float(df) if student else np.nan),
        "p_value": np.asarray(fit.pvalues, dtype=np.float64),
    }
    limits = np.asarray(fit.conf_int(alpha=1 - level), dtype=np.float64)
    columns |= {"conf_low": limits[:, 0], "conf_high": limits[:, 1]}
    frame = pd.DataFrame({"term": terms[:n], **columns})
    beyond = _beyond_design(fit, [str(t) for t in named][:n])
    frame.loc[beyond, ["statistic", "p_value"]] = np.nan
    effect = np.where(beyond, "auxiliary", "fixed")
    if hasattr(fit, "cov_re"):
        effect = np.where(beyond, "random", "fixed")
        frame.loc[beyond, list(columns)] = np.nan
        frame.loc[beyond, "estimate"] = estimate[beyond] * fit.scale
        frame.loc[n, ["term", "estimate"]] = "Residual Var", float(fit.scale)
        effect = np.append(effect, "random")
    formula = getattr(fit.model, "formula", None)
    special: dict[str, Any] = {"effect": effect} if beyond.any() else {}
    factors = _factors(fit)
    of = [factors.get(str(t), {}) for t in named][:n] + [{}] * (len(frame) - n)
    for column in ("reference_level", "factor"):
        values = [known.get(column) for known in of]
        special |= {column: text_column(values)} if any(values) else {}
    return estimates_frame(
        pd.DataFrame({"formula": formula} if isinstance(formula, str) else {}, index=range(len(frame))),
        {
            **{name: frame[name].to_numpy() for name in frame},
            "conf_level": float(level),
            "interval": "t" if student else "wald",
            # results of survival models do not say it themselves
            "n": int(fit.nobs if hasattr(fit, "nobs") else fit.model.nobs),
        },
        special,
    )


def _factors(fit: Any) -> dict[str, dict[str, str]]:
    """The factor of each parameter that is a level of one, and what it is compared with, if any."""
    spec: Any = getattr(fit.model.data, "model_spec", None)
    found: dict[str, dict[str, str]] = {}
    for term, place in getattr(spec, "term_slices", {}).items():
        info = spec.factor_infos[term.factors[0]] if len(term.factors) == 1 else None
        if info is None or info.type != "categorical":
            continue
        name, own = info.factor.name(), spec.column_names[place]
        levels = {f"{name}[T.{level}]": str(level) for level in info.categories}
        left = [level for column, level in levels.items() if column not in own]
        for column in own:
            against = {"reference_level": left[0]} if column in levels and len(left) == 1 else {}
            found[column] = {"factor": _term_name(name), **against}
    return found


def _beyond_design(fit: Any, names: Sequence[str]) -> np.ndarray:
    """Which parameters belong to no column of a design matrix.

    Models of zeros hold a second design: that of inflation stands first, that of a hurdle (`zm_`) shares
    its columns with the other. Time series have lags, and autoregressions by least squares nothing else.
    """
    model = fit.model
    if model.exog is None or hasattr(model, "ar_lags"):
        return np.array([name.startswith("sigma2") for name in names])
    n_precision = np.shape(getattr(model, "exog_precision", [[]]))[1]
    k = model.exog.shape[1] + getattr(model, "k_inflate", 0) + (n_precision if n_precision > 1 else 0)
    design = {name.removeprefix("zm_") for name in names[:k]}
    return np.array([i >= k and name not in design and not _LAG.search(name) for i, name in enumerate(names)])


def is_coefficient(terms: pd.DataFrame) -> np.ndarray:
    """Which rows of a frame of terms are coefficients, not variances or other parameters."""
    if "effect" not in terms.columns:
        return np.ones(len(terms), dtype=bool)
    return np.asarray(~terms["effect"].isin(_NO_COEFFICIENTS))


def _term_name(name: str) -> str:
    """A term in R's spelling: 'site[T.b]:Q("x")' is 'siteb:x', 'Intercept' is '(Intercept)'."""
    if name in _INTERCEPTS:
        return INTERCEPT
    return _CONTRAST.sub(r"\1", _TREATMENT.sub(r"C(\1)", _QUOTED.sub(r"\2", name)))
