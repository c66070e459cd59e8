"""Bonferroni limits, from limits that were made one at a time."""

import numpy as np
import pandas as pd
from scipy import stats

from salstats.checks import ColumnError, SalstatsError, check_level
from salstats.stats.intervals import RECORDS, find_interval

# limits read from a file of 10 digits still pass, a t quantile of 200 df taken for a normal one does not
_AGREES = 1e-6


def bonferroni_limits(estimates: pd.DataFrame, n_tests: np.ndarray) -> dict[str, np.ndarray]:
    """Limits at level `1 - (1 - conf_level) / n_tests`, from those at `conf_level`; NaN stays NaN.

    The half-width is in proportion to the quantile: of t with `df` degrees of freedom, or of the normal
    distribution where `df` is missing or where the limits at hand were made with it. For those of
    correlations this holds on the scale of atanh, with the normal quantile, for `logit` on that of the
    log odds. In a family of 1 limits of any kind stay as they are.
    """
    values = {
        c: estimates[c].to_numpy(dtype=np.float64, na_value=np.nan)
        for c in ("estimate", "conf_low", "conf_high", "conf_level", "std_error", "df")
        if c in estimates.columns
    }
    names = (
        estimates["interval"].astype(object).to_numpy()
        if "interval" in estimates.columns
        else np.full(len(estimates), "t", dtype=object)
    )
    low, high, old_level = values["conf_low"], values["conf_high"], values["conf_level"]
    for level in np.unique(old_level[~np.isnan(old_level)]):
        check_level(float(level))
    new_level = 1 - (1 - old_level) / n_tests
    new_low, new_high = low.copy(), high.copy()
    to_change = ~(np.isnan(low) | np.isnan(high)) & (n_tests > 1)
    terms = (
        estimates["term"].to_numpy() if "term" in estimates.columns else np.full(len(names), "", dtype=object)
    )
    scales = np.array([_scale_of(name, term) for name, term in zip(names, terms, strict=True)], dtype=object)
    for scale, name in dict.fromkeys(zip(scales[to_change], names[to_change], strict=True)):
        rows = np.flatnonzero(to_change & (names == name) & (scales == scale))
        part = {c: v[rows] for c, v in values.items()}
        new_low[rows], new_high[rows] = _limits_on_scale(scale, str(name), part, new_level[rows])
    return {"conf_low": new_low, "conf_high": new_high, "conf_level": new_level}


def _scale_of(name: object, term: object) -> str:
    """Scale on which limits are symmetric, "" where there is none."""
    record = find_interval(name, term)
    return "" if record is None else record.scale


def _limits_on_scale(
    scale: str, name: str, rows: dict[str, np.ndarray], new_level: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Limits at the new level of rows whose interval was made one way."""
    old_level = rows["conf_level"]
    old, new = stats.norm.ppf((1 + old_level) / 2), stats.norm.ppf((1 + new_level) / 2)
    low, high = rows["conf_low"], rows["conf_high"]
    if scale == "atanh":
        with np.errstate(divide="ignore"):
            z_low, z_high = _scaled(np.arctanh(low), np.arctanh(high), new / old)
        return np.tanh(z_low), np.tanh(z_high)
    if scale in ("share", "logit") and "df" in rows:
        df = rows["df"]
        old = np.where(np.isnan(df), old, stats.t.ppf((1 + old_level) / 2, df))
        new = np.where(np.isnan(df), new, stats.t.ppf((1 + new_level) / 2, df))
    if scale == "logit":
        odds_low, odds_high = _scaled(stats.logistic.ppf(low), stats.logistic.ppf(high), new / old)
        return stats.logistic.cdf(odds_low), stats.logistic.cdf(odds_high)
    if not scale:
        widest = int(np.argmax(new_level))
        alpha, new_alpha = 1 - old_level[widest], 1 - new_level[widest]
        raise SalstatsError(
            f"Bonferroni limits cannot be made from {name!r} limits, only from those of kind "
            f"{', '.join(dict.fromkeys(r.name for r in RECORDS if r.scale))}; make the intervals again "
            f"with level={new_level[widest]:.6g} (1 - {alpha:.6g} / {alpha / new_alpha:.0f} tests)"
        )
    if "std_error" not in rows:
        raise ColumnError(f"intervals=True needs a column 'std_error' to widen {name!r} limits")
    if scale == "share":
        half = new * rows["std_error"]
        return np.clip(rows["estimate"] - half, 0, 1), np.clip(rows["estimate"] + half, 0, 1)
    return _scaled(low, high, _quantile_ratio(name, rows, new_level, old, new))


def _scaled(low: np.ndarray, high: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Limits about the same middle, their distance multiplied by `ratio`."""
    half = ratio * (high - low) / 2
    middle = (low + high) / 2
    return middle - half, middle + half


def _quantile_ratio(
    name: str, rows: dict[str, np.ndarray], new_level: np.ndarray, old: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """New over old quantile, of t or normal, whichever the limits at hand were made with."""
    half, std_error = (rows["conf_high"] - rows["conf_low"]) / 2, rows["std_error"]
    df = rows.get("df", np.full(len(half), np.nan))
    old_t = stats.t.ppf((1 + rows["conf_level"]) / 2, df)
    new_t = stats.t.ppf((1 + new_level) / 2, df)
    made_with_t = np.isclose(half, old_t * std_error, rtol=_AGREES, atol=0)
    made_with_normal = np.isclose(half, old * std_error, rtol=_AGREES, atol=0)
    neither = np.flatnonzero(~(made_with_t | made_with_normal))
    if len(neither):
        row = int(neither[0])
        raise SalstatsError(
            f"the {name!r} limits {rows['conf_low'][row]:g} to {rows['conf_high'][row]:g} are not symmetric "
            f"quantile * std_error limits, so they cannot be widened; make the intervals again with "
            f"level={new_level[row]:.6g}"
        )
    return np.where(made_with_t, new_t / old_t, new / old)
