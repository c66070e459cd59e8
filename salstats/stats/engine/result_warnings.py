"""Warnings about estimates and limits that are doubtful, with what to do instead."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.errors import Call, Message, SalstatsWarning, Setting, warn
from salstats.metrics.registry import registered_metric
from salstats.stats.engine.estimands import Target, quiet_ratio
from salstats.stats.engine.few_units import FEW_DF
from salstats.stats.engine.grouping import named_groups
from salstats.stats.engine.intervals import BOOTSTRAP_INTERVALS, RECOMMENDED, RECORDS
from salstats.stats.engine.limits import LimitArrays

#: Share of undefined replicates above which an interval is doubtful.
MAX_UNDEFINED_SHARE = 0.01
#: Units below which intervals from resampling are too short and p-values too small.
MIN_RESAMPLED_UNITS = 20
#: Share of the size of the scores below which a standard error is rounding error.
ROUNDING = 1e-12
#: Units with nonzero scores below which limits are too short if most units have only zeros.
_FEW_NONZERO_UNITS = 8
#: Decrease in percent above which next to nothing is left of the reference.
_NEARLY_ALL = 90.0
#: Units from which limits of such decreases hold.
_ENOUGH_UNITS = 40
#: Terms whose values are bounded by the range of the metric.
_BOUNDED_TERMS = ("mean", "pooled_rate", "difference", "percent_decrease")


class RepeatedUnitsWarning(SalstatsWarning):
    """Several rows of one unit, such as a patient, are treated as independent."""


def warn_few_units(smallest: np.ndarray, keys: pd.DataFrame, subject: str, term: str) -> None:
    """Warn where intervals or tests from replicates rest on few units.

    `smallest` (n_rows,) are numbers of units, and `subject` begins the message.
    """
    is_few = (smallest < MIN_RESAMPLED_UNITS) & (smallest > 0)
    if is_few.any():
        low = int(smallest[is_few].min())
        high = int(smallest[is_few].max())
        span = f"{low}" if low == high else f"{low} to {high}"
        warn(
            f"{subject} rest on {span} units for ",
            named_groups(keys, is_few),
            f"; resampling fewer than {MIN_RESAMPLED_UNITS} gives intervals too short and p-values too small"
            ": ",
            interval_recommendation(term),
            column="n_units",
            rows=np.flatnonzero(is_few).tolist(),
        )


def warn_unequal_units(
    sizes: np.ndarray,
    is_exempt: NDArray[np.bool_],
    keys: pd.DataFrame,
    term: str = "",
    *,
    n_terms: int = 1,
) -> None:
    """Warn where a few large units dominate many small ones, except in rows with few units (`is_exempt`).

    `sizes` (n_units, n_rows) are numbers of defined scores. Their effective number of units is
    (sum of sizes)^2 / sum of squared sizes (Kish). The message recommends an interval for `term`. Each row of
    `keys` stands for `n_terms` rows of the estimates frame.
    """
    effective = quiet_ratio(sizes.sum(axis=0) ** 2, (sizes**2).sum(axis=0))
    n_units = (sizes > 0).sum(axis=0)
    is_unequal = ~is_exempt & (effective < MIN_RESAMPLED_UNITS) & (effective < n_units / 2)
    if is_unequal.any():
        warn(
            f"units differ so much in size that they are worth {effective[is_unequal].min():.0f} equal ones "
            f"for ",
            named_groups(keys, is_unequal),
            hint=Message("intervals come out too short: ", interval_recommendation(term)),
            column="unit",
            value=float(effective[is_unequal].min()),
            rows=np.flatnonzero(np.repeat(is_unequal, n_terms)).tolist(),
        )


def interval_recommendation(term: str) -> Message:
    """Return the remedy for intervals that are too short: the one recommended for `term`, or more cases."""
    for record in RECORDS:
        if term in record.recommended and record.kind != "bootstrap":
            label = record.short_label or record.label
            return Message(Setting("interval", RECOMMENDED), f" ({label}) is more reliable")
    return Message("more cases are needed")


def has_few_df(df: np.ndarray) -> NDArray[np.bool_]:
    """Find rows with so few degrees of freedom that Student's t is rough."""
    return np.asarray(df < FEW_DF)


def warn_few_df(df: np.ndarray, keys: pd.DataFrame, *, n_terms: int = 1) -> None:
    """Warn of limits from Student's t with few degrees of freedom; NaN where there are no limits.

    Each row of `keys` stands for `n_terms` rows of the estimates frame.
    """
    is_few = has_few_df(df)
    if is_few.any():
        low = f"{df[is_few].min():.2g}"
        high = f"{df[is_few].max():.2g}"
        span = low if low == high else f"{low} to {high}"
        degrees = "degree" if span == "1" else "degrees"
        warn(
            f"limits rest on {span} {degrees} of freedom for ",
            named_groups(keys, is_few),
            f"; fewer than {FEW_DF} gives rough limits and p-values: more units, or units of "
            "more equal size, are needed",
            column="df",
            value=float(df[is_few].min()),
            rows=np.flatnonzero(np.repeat(is_few, n_terms)).tolist(),
        )


def is_mostly_zeros(n_nonzero: np.ndarray, n_units: np.ndarray) -> NDArray[np.bool_]:
    """Find rows most of whose units have only zeros, so that the few `n_nonzero` units decide the limits."""
    return np.asarray((n_nonzero < _FEW_NONZERO_UNITS) & (n_nonzero < n_units / 2) & (n_nonzero > 0))


def warn_mostly_zeros(
    is_sparse: NDArray[np.bool_], n_nonzero: np.ndarray, n_units: np.ndarray, keys: pd.DataFrame
) -> None:
    """Warn of rows most of whose units have only zeros, with the row that has the fewest nonzero units."""
    if is_sparse.any():
        row = int(np.argmin(np.where(is_sparse, n_nonzero, np.inf)))
        warn(
            f"only {n_nonzero[row]} of {n_units[row]} units have scores other than 0 for ",
            named_groups(keys, is_sparse),
            "; limits from so few held in 79 to 93 of 100 simulated studies, not in 95",
            column="score",
            rows=np.flatnonzero(is_sparse).tolist(),
        )


def is_nearly_all_lost(decrease: np.ndarray, n_units: np.ndarray) -> NDArray[np.bool_]:
    """Find percentage decreases of few units that leave next to nothing of the reference."""
    return np.asarray((decrease > _NEARLY_ALL) & (n_units < _ENOUGH_UNITS))


def warn_decreases_near_hundred_percent(
    is_near_hundred_percent: NDArray[np.bool_], keys: pd.DataFrame
) -> None:
    """Warn of percentage decreases that leave next to nothing of the reference."""
    if is_near_hundred_percent.any():
        warn(
            "next to nothing is left of the reference for ",
            named_groups(keys, is_near_hundred_percent),
            f"; limits of "
            f"decreases above {_NEARLY_ALL:g} % held in 77 to 90 of 100 simulated studies, not in 95: ",
            Call("difference"),
            " is more reliable",
            column="estimate",
            rows=np.flatnonzero(is_near_hundred_percent).tolist(),
        )


def warn_rare_tasks_in_averages(
    smallest_n_units: np.ndarray, is_average: NDArray[np.bool_], keys: pd.DataFrame
) -> None:
    """Warn of averages over tasks if a task has only one or two units, too few for a variance of its own.

    `smallest_n_units` (n_rows,) is the smallest number of units of a task in each row.
    """
    is_rare = is_average & (smallest_n_units <= 2)
    if is_rare.any():
        warn(
            "tasks of one or two units are in the averages of ",
            named_groups(keys, is_rare),
            "; limits of these rest on the variance of the other tasks",
            column="n_units",
            rows=np.flatnonzero(is_rare).tolist(),
        )


def has_limit_beyond_range(estimates: pd.DataFrame) -> NDArray[np.bool_]:
    """Mask rows of an estimates frame with a limit, but not the estimate, beyond the possible range.

    Limits that are not finite do not count.
    """
    if not {"metric", "term", "conf_low", "conf_high"} <= set(estimates.columns):
        return np.zeros(len(estimates), dtype=bool)
    lowest, highest = _possible_range(estimates)
    has_range = np.isin(estimates["term"].to_numpy(dtype=object), _BOUNDED_TERMS)
    if "estimate" in estimates.columns:
        # an estimate outside the range is not one of the metric itself, but of its changes, for example
        estimate = estimates["estimate"].to_numpy(dtype=np.float64, na_value=np.nan)
        has_range &= (estimate >= lowest) & (estimate <= highest)
    low = estimates["conf_low"].to_numpy(dtype=np.float64, na_value=np.nan)
    high = estimates["conf_high"].to_numpy(dtype=np.float64, na_value=np.nan)
    is_below = (low < lowest - ROUNDING) & np.isfinite(low)
    is_above = (high > highest + ROUNDING) & np.isfinite(high)
    return np.asarray(has_range & (is_below | is_above))


def _possible_range(estimates: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest possible value of each estimate, infinite where there is no bound."""
    term = estimates["term"].to_numpy(dtype=object)
    lowest = np.full(len(estimates), -np.inf)
    highest = np.full(len(estimates), np.inf)
    for row, name in enumerate(estimates["metric"]):
        metric = registered_metric(name)
        if metric is not None:
            lowest[row] = metric.low
            highest[row] = metric.high
    with np.errstate(invalid="ignore"):
        width = highest - lowest
    # scores that are never negative cannot decrease by more than 100 %
    highest_decrease = np.where(lowest == 0, 100.0, np.inf)
    is_difference = term == "difference"
    is_decrease = term == "percent_decrease"
    lowest = np.select([is_difference, is_decrease], [-width, -np.inf], lowest)
    highest = np.select([is_difference, is_decrease], [width, highest_decrease], highest)
    return lowest, highest


def warn_beyond_range(estimates: pd.DataFrame) -> None:
    """Warn of limits outside the range of possible values."""
    is_beyond = has_limit_beyond_range(estimates)
    if not is_beyond.any():
        return
    row = estimates[is_beyond].iloc[0]
    bounded = [r.name for r in RECORDS if r.bounded and row["term"] in r.recommended]
    remedy = Message("cut limits off at the ends of the range")
    if bounded:
        remedy = Message(Setting("interval", bounded[0]), " stays inside")
    # the grouping columns come before `term`
    keys = estimates[estimates.columns[: estimates.columns.get_loc("term")]]
    warn(
        f"{row['interval']} limits hold values that are impossible ({row['conf_low']:.4g} to "
        f"{row['conf_high']:.4g}) for ",
        named_groups(keys, is_beyond),
        ": this interval ignores the range of the scores",
        hint=remedy,
        option="interval",
        value=row["interval"],
        column="conf_high",
        rows=np.flatnonzero(is_beyond).tolist(),
    )


def warn_undefined(n_undefined: np.ndarray, n_replicates: int, keys: pd.DataFrame) -> None:
    """Warn where more than 1 % of the replicates are undefined."""
    is_many = n_undefined > MAX_UNDEFINED_SHARE * n_replicates
    if is_many.any():
        up_to = "up to " if n_undefined[is_many].min() < n_undefined.max() else ""
        warn(
            f"{up_to}{n_undefined.max()} of {n_replicates} replicates are undefined for ",
            named_groups(keys, is_many),
            " and left out of the interval (no defined score was drawn, or the "
            "reference is 0), so it describes only the others; there are too few defined scores to resample",
            column="n_undefined",
            value=int(n_undefined.max()),
            rows=np.flatnonzero(is_many).tolist(),
        )


def warn_single_units(interval_name: str, is_single_unit: NDArray[np.bool_], keys: pd.DataFrame) -> None:
    """Warn of samples of one unit, which have no limits; `interval_name` is the name of the interval."""
    if is_single_unit.any():
        warn(
            f"no {interval_name} limits for ",
            named_groups(keys, is_single_unit),
            ": a single unit does not show how much units differ",
            option="interval",
            value=interval_name,
            column="n_units",
            rows=np.flatnonzero(is_single_unit).tolist(),
        )


def warn_degenerate_or_missing_limits(
    interval_name: str,
    target: Target,
    limits: LimitArrays,
    estimate: np.ndarray,
    magnitude: np.ndarray,
    is_single_unit: NDArray[np.bool_],
    *,
    allow_constant_scores: bool = False,
) -> None:
    """Warn of limits of width 0, of undefined estimates, of missing limits and of unbounded ones.

    Parameters
    ----------
    interval_name : str
        Name of the interval.
    target : Target
        Target of the estimates.
    limits : tuple of ndarray, shape (n_rows,) each
        Lower and upper limits.
    estimate : ndarray, shape (n_rows,)
        Estimates.
    magnitude : ndarray, shape (n_rows,)
        Size of the numbers behind the estimates, to which rounding errors are relative.
    is_single_unit : ndarray of bool, shape (n_rows,)
        Rows with a sample of one unit.
    allow_constant_scores : bool
        Do not warn of width 0.
    """
    low, high = limits
    is_defined = ~np.isnan(estimate)
    with np.errstate(invalid="ignore"):
        has_no_width = (high - low <= ROUNDING * magnitude) & is_defined
    if has_no_width.any() and not allow_constant_scores:
        remedy = Message("more cases are needed")
        if target.estimand.kind == "mean":
            remedy = interval_recommendation(target.term)
        warn_zero_width(interval_name, has_no_width, target.keys, remedy)
    if target.estimand.reference_weights is not None:
        _warn_undefined_estimates(target, ~is_defined)
    is_missing = (np.isnan(low) | np.isnan(high)) & is_defined
    warn_single_units(interval_name, is_missing & is_single_unit, target.keys)
    _warn_missing_limits(interval_name, target, estimate, is_missing & ~is_single_unit)
    is_unbounded = np.isinf(low) | np.isinf(high)
    _warn_unbounded_limits_by_reason(interval_name, target.keys, is_unbounded, is_single_unit)


def warn_zero_width(
    interval_name: str, has_no_width: NDArray[np.bool_], keys: pd.DataFrame, remedy: Message
) -> None:
    """Warn of rows whose limits are equal, if there are any."""
    if has_no_width.any():
        warn(
            f"the {interval_name} interval has width 0 for ",
            named_groups(keys, has_no_width),
            ": all scores or replicates are equal",
            hint=remedy,
            option="interval",
            value=interval_name,
            column="score",
            rows=np.flatnonzero(has_no_width).tolist(),
        )


def _warn_undefined_estimates(target: Target, is_undefined: NDArray[np.bool_]) -> None:
    """Warn of undefined differences and percentage decreases, with the reason."""
    has_no_pair = target.estimand.count_method_scores(target.cells) == 0
    for rows, column, reason in (
        (is_undefined & has_no_pair, "score", "no pair has both scores"),
        (is_undefined & ~has_no_pair, "reference_mean", "the mean of the reference is 0"),
    ):
        if rows.any():
            warn(
                f"the {target.estimand.kind} is undefined for ",
                named_groups(target.keys, rows),
                f": {reason}",
                column=column,
                rows=np.flatnonzero(rows).tolist(),
            )


def _warn_missing_limits(
    interval_name: str, target: Target, estimate: np.ndarray, is_missing: NDArray[np.bool_]
) -> None:
    """Warn of limits that are NaN for want of a logarithm or of a variance."""
    if interval_name == "bootstrap_t_log":
        if target.estimand.kind == "percent_decrease":
            # the logarithm is taken of the ratio of the means
            has_logarithm = 1 - estimate / 100 > 0
            reason = "decrease is 100 % or more"
        else:
            has_logarithm = estimate > 0
            reason = "estimate is not above 0"
        has_no_logarithm = is_missing & ~has_logarithm
        if has_no_logarithm.any():
            warn(
                f"no {interval_name} limits for ",
                named_groups(target.keys, has_no_logarithm),
                f": the {reason}, so it has no logarithm",
                hint=Message(Setting("interval", "studentized"), " needs none"),
                option="interval",
                value=interval_name,
                column="estimate",
                rows=np.flatnonzero(has_no_logarithm).tolist(),
            )
        is_missing = is_missing & has_logarithm
    if is_missing.any():
        reason = "no variance"
        if interval_name in BOOTSTRAP_INTERVALS:
            reason += ", or all replicates on one side of the estimate"
        warn(
            f"no {interval_name} limits for ",
            named_groups(target.keys, is_missing),
            f": {reason}",
            option="interval",
            value=interval_name,
            column="std_error",
            rows=np.flatnonzero(is_missing).tolist(),
        )


def _warn_unbounded_limits_by_reason(
    interval_name: str,
    keys: pd.DataFrame,
    is_unbounded: NDArray[np.bool_],
    has_sample_of_one_unit: NDArray[np.bool_],
) -> None:
    """Warn of infinite limits, with the reason."""
    name = f"the {interval_name} interval"
    hint = ""
    near_zero = "the reference's mean does not differ from 0"
    if interval_name == "fieller":
        name = "Fieller's set"
        hint = "; conf_set says what the set holds"
    else:
        near_zero = f"too few units have scores that speak against any value, or {near_zero}"
    for rows, column, reason in (
        (is_unbounded & ~has_sample_of_one_unit, "reference_mean", near_zero),
        (is_unbounded & has_sample_of_one_unit, "task", "a task of one unit has too much of the weight"),
    ):
        if rows.any():
            warn(
                f"{name} is unbounded for ",
                named_groups(keys, rows),
                f": {reason}{hint}",
                option="interval",
                value=interval_name,
                column=column,
                rows=np.flatnonzero(rows).tolist(),
            )
