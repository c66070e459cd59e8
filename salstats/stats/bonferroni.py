"""Bonferroni limits, from limits that were made one at a time."""

import numpy as np
import pandas as pd
from scipy import special, stats

from salstats.checks import ColumnError, SalstatsError, check_level
from salstats.stats.intervals import RECORDS, find_interval

# limits read from a file of 10 digits still pass, a t quantile of 200 df taken for a normal one does not
_AGREES = 1e-6
_SCALES = {"atanh": (np.arctanh, np.tanh), "logit": (special.logit, special.expit)}


def bonferroni_limits(estimates: pd.DataFrame, n_tests: np.ndarray) -> dict[str, np.ndarray]:
    """Limits at level `1 - (1 - conf_level) / n_tests`, from those at `conf_level`; NaN stays NaN.

    The half-width is in proportion to the quantile: of t with `df` degrees of freedom, or of the normal
    distribution where `df` is missing or where the limits at hand were made with it. For correlations this
    holds on the scale of atanh, with the normal quantile, for `logit` on that of the log odds. In a family
    of 1 limits of any kind stay as they are; without `interval` they are taken for symmetric.
    """
    frame = estimates.reset_index(drop=True)
    values = pd.DataFrame(
        {
            c: frame[c].astype(np.float64) if c in frame.columns else np.nan
            for c in ("estimate", "conf_low", "conf_high", "conf_level", "std_error", "df")
        },
        index=frame.index,
    )
    for level in values["conf_level"].dropna().unique():
        check_level(float(level))
    values["new_level"] = 1 - (1 - values["conf_level"]) / n_tests
    names = frame["interval"].astype(object) if "interval" in frame.columns else ["t"] * len(frame)
    terms = frame["term"] if "term" in frame.columns else [""] * len(frame)
    values["name"] = list(names)
    records = [find_interval(name, term) for name, term in zip(names, terms, strict=True)]
    values["scale"] = ["" if record is None else record.scale for record in records]
    limits = values[["conf_low", "conf_high"]].to_numpy(copy=True)
    to_change = values[~np.isnan(limits).any(axis=1) & (n_tests > 1)]
    for (scale, name), rows in to_change.groupby(["scale", "name"], sort=False, dropna=False):
        if scale in ("share", "identity") and "std_error" not in frame.columns:
            raise ColumnError(f"intervals=True needs a column 'std_error' to widen {name!r} limits")
        limits[rows.index] = _widened(scale, str(name), rows)
    new_level = values["new_level"].to_numpy()
    return {"conf_low": limits[:, 0], "conf_high": limits[:, 1], "conf_level": new_level}


def _widened(scale: str, name: str, rows: pd.DataFrame) -> np.ndarray:
    """Limits (n, 2) at the new level of rows whose interval was made one way."""
    level, new_level, df, std_error, estimate = (
        rows[c].to_numpy() for c in ("conf_level", "new_level", "df", "std_error", "estimate")
    )
    limits = rows[["conf_low", "conf_high"]].to_numpy()
    if not scale:
        widest = int(np.argmax(new_level))
        alpha, new_alpha = 1 - level[widest], 1 - new_level[widest]
        raise SalstatsError(
            f"Bonferroni limits cannot be made from {name!r} limits, only from those of kind "
            f"{', '.join(dict.fromkeys(r.name for r in RECORDS if r.scale))}; make the intervals again "
            f"with level={new_level[widest]:.6g} (1 - {alpha:.6g} / {alpha / new_alpha:.0f} tests)"
        )
    normal, new_normal = (stats.norm.ppf((1 + one) / 2) for one in (level, new_level))
    student, new_student = (stats.t.ppf((1 + one) / 2, df) for one in (level, new_level))
    with_t = ~np.isnan(df) & (scale != "atanh")
    if scale == "identity":
        half = (limits[:, 1] - limits[:, 0]) / 2
        with_t = np.isclose(half, student * std_error, rtol=_AGREES, atol=0)
        neither = np.flatnonzero(~with_t & ~np.isclose(half, normal * std_error, rtol=_AGREES, atol=0))
        if len(neither):
            row = int(neither[0])
            raise SalstatsError(
                f"the {name!r} limits {limits[row, 0]:g} to {limits[row, 1]:g} are not symmetric "
                f"quantile * std_error limits, so they cannot be widened; make the intervals again with "
                f"level={new_level[row]:.6g}"
            )
    if scale == "share":
        half = np.where(with_t, new_student, new_normal) * std_error
        return np.clip(np.column_stack([estimate - half, estimate + half]), 0, 1)
    there, back = _SCALES.get(scale, (np.asarray, np.asarray))
    with np.errstate(divide="ignore"):
        ends = there(limits)
    ratio = np.where(with_t, new_student / student, new_normal / normal)
    half = ratio * (ends[:, 1] - ends[:, 0]) / 2
    middle = ends.mean(axis=1)
    return np.asarray(back(np.column_stack([middle - half, middle + half])))
