"""Bonferroni limits, from limits that were made one at a time."""

import numpy as np
import pandas as pd
from scipy import special, stats

from salstats.checks import ColumnError, SalstatsError, check_level
from salstats.stats.engine.intervals import RECORDS, Basis, Interval, find_interval
from salstats.stats.engine.monte_carlo import fewest_replicates

# limits read from a file of 10 digits still pass, a t quantile of 200 df taken for a normal one does not
_AGREES = 1e-6
_SCALES = {"atanh": (np.arctanh, np.tanh), "logit": (special.logit, special.expit)}
_NUMBERS = ("estimate", "conf_low", "conf_high", "conf_level", "std_error", "df", "n", "n_units")


def bonferroni_limits(estimates: pd.DataFrame, n_tests: np.ndarray) -> dict[str, np.ndarray]:
    """Limits at level `1 - (1 - conf_level) / n_tests`, from those at `conf_level`; NaN stays NaN.

    Where their kind says so they are made anew from `estimate`, `std_error`, `df`, `n` and `n_units`. Else
    the half-width is in proportion to the quantile: of t with `df` degrees of freedom, or of the normal
    distribution where `df` is missing or where the limits at hand were made with it. For correlations this
    holds on the scale of atanh, for `logit` on that of the log odds. In a family of 1 limits of any kind stay
    as they are; without `interval` they are taken for symmetric.
    """
    frame = estimates.reset_index(drop=True)
    values = pd.DataFrame(
        {c: frame[c].astype(np.float64) if c in frame.columns else np.nan for c in _NUMBERS},
        index=frame.index,
    )
    for level in values["conf_level"].dropna().unique():
        check_level(float(level))
    values["new_level"] = 1 - (1 - values["conf_level"]) / n_tests
    values["name"] = frame["interval"].astype(object) if "interval" in frame.columns else "t"
    values["term"] = frame["term"].astype(object) if "term" in frame.columns else ""
    values["n_replicates"] = frame.get("n_replicates", np.nan)
    limits = values[["conf_low", "conf_high"]].to_numpy(copy=True)
    to_change = values[~np.isnan(limits).any(axis=1) & (n_tests > 1)]
    kinds = ["name", "term", "conf_level", "new_level"]
    for (name, term, *levels), rows in to_change.groupby(kinds, sort=False, dropna=False):
        record = find_interval(name, term)
        elsewhere = any(term in r.of for r in RECORDS) and record is not None and term not in record.of
        if record is None or not record.scale or elsewhere:
            raise SalstatsError(_refusal(str(name), rows, *levels))
        if record.scale in ("remade", "identity") and "std_error" not in frame.columns:
            raise ColumnError(f"intervals=True needs a column 'std_error' to widen {name!r} limits")
        widened = _remade if record.scale == "remade" else _stretched
        limits[rows.index] = widened(record, rows, *levels)
    new_level = values["new_level"].to_numpy()
    return {"conf_low": limits[:, 0], "conf_high": limits[:, 1], "conf_level": new_level}


def _refusal(name: str, rows: pd.DataFrame, level: float, new_level: float) -> str:
    """Which call gives the limits that cannot be made from those at hand."""
    named = [r for r in RECORDS if r.name == name and r.kind in ("bootstrap", "flips")]
    few = rows["n_replicates"].min()
    enough = fewest_replicates(new_level, flips=named[0].kind == "flips") if named else 0
    more = f" and n_replicates={enough:,} or more" if few < enough else ""
    return (
        f"{name!r} limits cannot be widened from what the frame holds; pass level={new_level:.6g} (1 - "
        f"{1 - level:.6g} / {(1 - level) / (1 - new_level):.0f} tests){more} to the function that made them"
    )


def _remade(record: Interval, rows: pd.DataFrame, level: float, new_level: float) -> np.ndarray:
    """Limits (n, 2) made anew, if those at hand are what comes out at their level."""
    estimate, std_error, df, n, n_units = (
        rows[c].to_numpy() for c in ("estimate", "std_error", "df", "n", "n_units")
    )
    # the normal quantile is that of t with no end of degrees
    df = np.where(np.isnan(df), np.inf, df)
    term = str(rows["term"].iloc[0])
    old, new = (
        np.column_stack(record.limits(Basis(term, at, estimate, std_error, df, n=n, n_units=n_units)))
        for at in (level, new_level)
    )
    limits = rows[["conf_low", "conf_high"]].to_numpy()
    _check_agree(np.isclose(old, limits, rtol=_AGREES, atol=_AGREES).all(axis=1), record, rows, new_level)
    return new


def _stretched(record: Interval, rows: pd.DataFrame, level: float, new_level: float) -> np.ndarray:
    """Limits (n, 2) whose half-width grows as the quantile does."""
    df, std_error = rows["df"].to_numpy(), rows["std_error"].to_numpy()
    limits = rows[["conf_low", "conf_high"]].to_numpy()
    normal, new_normal = (stats.norm.ppf((1 + one) / 2) for one in (level, new_level))
    student, new_student = (stats.t.ppf((1 + one) / 2, df) for one in (level, new_level))
    # of a correlation df may be that of the test, beside normal limits
    with_t = ~np.isnan(df) & (record.clustered or record.scale != "atanh")
    if record.scale == "identity":
        half = (limits[:, 1] - limits[:, 0]) / 2
        with_t = np.isclose(half, student * std_error, rtol=_AGREES, atol=0)
        agree = with_t | np.isclose(half, normal * std_error, rtol=_AGREES, atol=0)
        _check_agree(agree, record, rows, new_level)
    there, back = _SCALES.get(record.scale, (np.asarray, np.asarray))
    with np.errstate(divide="ignore"):
        ends = there(limits)
    ratio = np.where(with_t, new_student / student, new_normal / normal)
    half = ratio * (ends[:, 1] - ends[:, 0]) / 2
    middle = ends.mean(axis=1)
    return np.asarray(back(np.column_stack([middle - half, middle + half])))


def _check_agree(agree: np.ndarray, record: Interval, rows: pd.DataFrame, new_level: float) -> None:
    """Raise where limits are not those of the estimate, standard error and degrees of freedom beside them."""
    if not agree.all():
        row = rows.iloc[int(np.flatnonzero(~agree)[0])]
        raise SalstatsError(
            f"the {record.name!r} limits {row['conf_low']:g} to {row['conf_high']:g} are not those of the "
            f"std_error and df beside them, so they cannot be widened; pass level={new_level:.6g} to the "
            "function that made them"
        )
