"""Bonferroni's and Sidak's limits of a family, from the limits of single estimates."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from salstats.checks import check_level
from salstats.errors import ColumnError, Message, MessagePart, SalstatsError, Setting
from salstats.stats.engine.intervals import RECORDS, Basis, Interval, interval_by_name
from salstats.stats.engine.monte_carlo import fewest_replicates

#: Relative difference below which limits agree. Limits from a file with 10 digits must agree with their
#: estimates; limits made with a t quantile of 200 df must not agree with normal ones.
_TOLERANCE = 1e-6
_NUMERIC_COLUMNS = ("estimate", "conf_low", "conf_high", "conf_level", "std_error", "df", "n", "n_units")


def simultaneous_limits_and_levels(
    estimates: pd.DataFrame,
    n_tests: np.ndarray,
    row_numbers_for_errors: NDArray[np.integer],
    *,
    is_sidak: bool = False,
) -> dict[str, np.ndarray]:
    """Return limits that hold together at `conf_level`, from single limits at this level; NaN stays NaN.

    The level of each is Bonferroni's, `1 - (1 - conf_level) / n_tests`, or Sidak's,
    `conf_level ** (1 / n_tests)`. Intervals whose record says so are computed again from `estimate`,
    `std_error`, `df`, `n` and `n_units`. The half-widths of others are multiplied by the ratio of the
    quantiles: of t with `df` degrees of freedom, or of the normal distribution where `df` is missing or the
    limits are normal ones. Limits of correlations are multiplied on the scale of atanh, and those of
    `logit` on the scale of log odds. Limits of a family of 1 do not change. Without a column `interval`
    limits are taken to be those of `t`.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame.
    n_tests : ndarray of int, shape (n_rows,)
        Size of each row's family.
    row_numbers_for_errors : ndarray of int, shape (n_rows,)
        Number of each row in the caller's frame, for errors.
    is_sidak : bool
        Use Sidak's level instead of Bonferroni's.

    Returns
    -------
    dict
        Columns `conf_low`, `conf_high` and `conf_level`.
    """
    frame = estimates.reset_index(drop=True)
    values = pd.DataFrame(index=frame.index)
    for column in _NUMERIC_COLUMNS:
        values[column] = np.nan
        if column in frame.columns:
            values[column] = frame[column].astype(np.float64)
    for level in values["conf_level"].dropna().unique():
        check_level(float(level))
    values["new_level"] = 1 - (1 - values["conf_level"]) / n_tests
    if is_sidak:
        values["new_level"] = values["conf_level"] ** (1 / n_tests)
    values["n_tests"] = n_tests
    values["row_number"] = row_numbers_for_errors
    values["name"] = "t"
    if "interval" in frame.columns:
        values["name"] = frame["interval"].astype(object)
    values["term"] = ""
    if "term" in frame.columns:
        values["term"] = frame["term"].astype(object)
    values["n_replicates"] = frame.get("n_replicates", np.nan)
    limits = values[["conf_low", "conf_high"]].to_numpy(copy=True)
    has_limits = ~np.isnan(limits).any(axis=1)
    to_widen = values[has_limits & (n_tests > 1)]
    same_computation = ["name", "term", "conf_level", "new_level"]
    for (name, term, level, new_level), rows in to_widen.groupby(same_computation, sort=False, dropna=False):
        record = interval_by_name(name, term)
        if record is None or not record.scale or _is_for_other_terms(record, term):
            raise _widening_error(str(name), rows, level, new_level)
        if record.scale in ("recomputed", "identity") and "std_error" not in frame.columns:
            raise ColumnError(
                Setting("intervals", True),
                f" needs a column 'std_error' to widen {name!r} limits",
                column="std_error",
            )
        widen = _recomputed_limit_columns if record.scale == "recomputed" else _stretched_limit_columns
        limits[rows.index] = widen(record, rows, level, new_level)
    return {
        "conf_low": limits[:, 0],
        "conf_high": limits[:, 1],
        "conf_level": values["new_level"].to_numpy(),
    }


def _is_for_other_terms(record: Interval, term: object) -> bool:
    """Return True if the interval does not apply to this term, and other intervals do."""
    is_known_term = any(term in known_record.terms for known_record in RECORDS)
    return is_known_term and term not in record.terms


def _widening_error(name: str, rows: pd.DataFrame, level: float, new_level: float) -> SalstatsError:
    """Make the error for limits that cannot be widened, with options that give wider ones."""
    n_needed = 0
    for record in RECORDS:
        if record.name == name and record.kind in ("bootstrap", "flips"):
            n_needed = fewest_replicates(new_level, flips=record.kind == "flips")
            break
    more_replicates: MessagePart = ""
    if rows["n_replicates"].min() < n_needed:
        more_replicates = Message(" and ", Setting("n_replicates", n_needed), " or more")
    return SalstatsError(
        f"{name!r} limits cannot be widened from what the frame holds",
        hint=Message(
            "pass ",
            Setting("level", float(f"{new_level:.6g}")),
            f" ({level:.6g} for all {rows['n_tests'].iloc[0]} together)",
            more_replicates,
            " to the function that made them",
        ),
        option="intervals",
        value=True,
        column="interval",
        rows=rows["row_number"].tolist(),
    )


def _recomputed_limit_columns(
    record: Interval, rows: pd.DataFrame, level: float, new_level: float
) -> np.ndarray:
    """Return limits (n_rows, 2) at the new level; raise unless those at `level` agree with the rows."""
    df = rows["df"].to_numpy()
    # normal limits are those of t with infinite degrees of freedom
    df = np.where(np.isnan(df), np.inf, df)

    def limits_at(confidence_level: float) -> np.ndarray:
        """Return the limits of the rows at a level, shape (n_rows, 2)."""
        basis = Basis(
            term=str(rows["term"].iloc[0]),
            level=confidence_level,
            estimate=rows["estimate"].to_numpy(),
            std_error=rows["std_error"].to_numpy(),
            df=df,
            n=rows["n"].to_numpy(),
            n_units=rows["n_units"].to_numpy(),
        )
        return np.column_stack(record.limits(basis))

    limits = rows[["conf_low", "conf_high"]].to_numpy()
    agrees = np.isclose(limits_at(level), limits, rtol=_TOLERANCE, atol=_TOLERANCE).all(axis=1)
    _check_limits_match_std_errors(agrees, record, rows, new_level)
    return limits_at(new_level)


def _stretched_limit_columns(
    record: Interval, rows: pd.DataFrame, level: float, new_level: float
) -> np.ndarray:
    """Return limits (n_rows, 2) at the new level, whose half-widths grow in proportion to the quantile."""
    df = rows["df"].to_numpy()
    std_error = rows["std_error"].to_numpy()
    limits = rows[["conf_low", "conf_high"]].to_numpy()
    # quantiles of the normal distribution and of t, at both levels
    z = stats.norm.ppf((1 + level) / 2)
    new_z = stats.norm.ppf((1 + new_level) / 2)
    t = stats.t.ppf((1 + level) / 2, df)
    new_t = stats.t.ppf((1 + new_level) / 2, df)
    # correlations without clusters have normal limits, although their test has df
    uses_t = ~np.isnan(df) & (record.clustered or record.scale != "atanh")
    if record.scale == "identity":
        half_width = (limits[:, 1] - limits[:, 0]) / 2
        uses_t = np.isclose(half_width, t * std_error, rtol=_TOLERANCE, atol=0)
        uses_z = np.isclose(half_width, z * std_error, rtol=_TOLERANCE, atol=0)
        _check_limits_match_std_errors(uses_t | uses_z, record, rows, new_level)
    transform, inverse = _transform_and_inverse(record.scale)
    with np.errstate(divide="ignore"):
        transformed = transform(limits)
    growth = np.where(uses_t, new_t / t, new_z / z)
    new_half_width = growth * (transformed[:, 1] - transformed[:, 0]) / 2
    middle = transformed.mean(axis=1)
    return np.asarray(inverse(np.column_stack([middle - new_half_width, middle + new_half_width])))


def _transform_and_inverse(scale: str) -> tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]:
    """Return the transformation to the scale on which limits are symmetric, and its inverse.

    On other scales than "atanh" and "logit" both leave values as they are.
    """
    if scale == "atanh":
        return np.arctanh, np.tanh
    if scale == "logit":
        return special.logit, special.expit
    return np.asarray, np.asarray


def _check_limits_match_std_errors(
    agrees: NDArray[np.bool_], record: Interval, rows: pd.DataFrame, new_level: float
) -> None:
    """Raise SalstatsError unless all limits agree with the estimate, standard error and df of their row."""
    if not agrees.all():
        position = int(np.flatnonzero(~agrees)[0])
        row = rows.iloc[position]
        raise SalstatsError(
            f"the {record.name!r} limits {row['conf_low']:g} to {row['conf_high']:g} are not those of the "
            "std_error and df beside them, so they cannot be widened",
            hint=Message(
                "pass ",
                Setting("level", float(f"{new_level:.6g}")),
                " to the function that made them",
            ),
            option="intervals",
            value=True,
            column="std_error",
            rows=[int(row["row_number"])],
        )
