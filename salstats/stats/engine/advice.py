"""Warnings about results that stand but deserve a look: what to look at, and what would do instead."""

import numpy as np
import pandas as pd

from salstats.checks import warn
from salstats.metrics.registry import known_metric
from salstats.stats.engine.design import named_groups
from salstats.stats.engine.estimands import Target, ratio
from salstats.stats.engine.few_units import FEW_DF
from salstats.stats.engine.intervals import BOOTSTRAP, RECOMMENDED, RECORDS

#: share of undefined replicates above which an interval deserves a look
UNDEFINED_SHARE = 0.01
#: units below which intervals and tests from resampling are known to run short
FEW_UNITS = 20
#: a standard error smaller than this, relative to the scores, is rounding error
ROUNDING = 1e-12
#: units with anything but zeros below which limits are too short where most have zeros
_FEW_TELLING = 8
#: decrease in percent above which next to nothing is left, and units that are enough all the same
_NEARLY_ALL, _ENOUGH = 90.0, 40


def warn_few_units(smallest: np.ndarray, keys: pd.DataFrame, what: str, term: str) -> None:
    """Warn where what is made from replicates hangs on few units."""
    few = (smallest < FEW_UNITS) & (smallest > 0)
    if few.any():
        low, high = int(smallest[few].min()), int(smallest[few].max())
        span = f"{low}" if low == high else f"{low} to {high}"
        warn(
            f"{what} rest on {span} units for {named_groups(keys, few)}; resampling fewer than {FEW_UNITS} "
            f"gives intervals too short and p-values too small: {better(term)}"
        )


def warn_unequal_units(sizes: np.ndarray, few: np.ndarray, keys: pd.DataFrame, term: str = "") -> None:
    """Warn where a few large units decide among many small ones, unless they are `few` anyway.

    `sizes` (n_units, n_rows) are the defined scores of each unit; they are compared by what units of equal
    size they are worth. Of a `term` the interval that is recommended is said to hold better.
    """
    effective, n_units = ratio(sizes.sum(axis=0) ** 2, (sizes**2).sum(axis=0)), (sizes > 0).sum(axis=0)
    unequal = ~few & (effective < FEW_UNITS) & (effective < n_units / 2)
    if unequal.any():
        warn(
            f"units differ so much in size that they are worth {effective[unequal].min():.0f} equal ones for "
            f"{named_groups(keys, unequal)}; intervals come out too short: {better(term)}"
        )


def better(term: str) -> str:
    """What holds better than intervals that run short: the one that is recommended, or more cases."""
    record = next((r for r in RECORDS if term in r.recommended and r.kind != "bootstrap"), None)
    if record is None:
        return "more cases are needed"
    return f"interval={RECOMMENDED!r} ({record.brief or record.label}) holds better"


def rough(df: np.ndarray) -> np.ndarray:
    """Find rows with so few degrees of freedom that Student's t is rough."""
    return np.asarray(df < FEW_DF)


def warn_rough(df: np.ndarray, keys: pd.DataFrame) -> None:
    """Warn of limits from Student's t with few degrees of freedom."""
    few = rough(df)
    if few.any():
        low, high = (f"{value:.2g}" for value in (df[few].min(), df[few].max()))
        warn(
            f"limits rest on {low if low == high else f'{low} to {high}'} degrees of freedom for "
            f"{named_groups(keys, few)}; fewer than {FEW_DF} gives rough limits and p-values: more units, "
            "or units of more equal size, are needed"
        )


def mostly_zeros(telling: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Find rows most of whose units are zeros, so that the few with a score decide alone."""
    return np.asarray((telling < _FEW_TELLING) & (telling < n_units / 2) & (telling > 0))


def warn_mostly_zeros(
    sparse: np.ndarray, telling: np.ndarray, n_units: np.ndarray, keys: pd.DataFrame
) -> None:
    """Warn of means and differences most of whose units are zeros."""
    if sparse.any():
        row = int(np.argmin(np.where(sparse, telling, np.inf)))
        warn(
            f"only {telling[row]} of {n_units[row]} units have scores other than 0 for "
            f"{named_groups(keys, sparse)}; limits from so few held in 79 to 93 of 100 simulated studies, "
            "not in 95"
        )


def nearly_all_lost(decrease: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Find percentage decreases of few units that leave next to nothing."""
    return np.asarray((decrease > _NEARLY_ALL) & (n_units < _ENOUGH))


def warn_nearly_all_lost(most: np.ndarray, keys: pd.DataFrame) -> None:
    """Warn of percentage decreases that leave next to nothing."""
    if most.any():
        warn(
            f"next to nothing is left of the reference for {named_groups(keys, most)}; limits of decreases "
            f"above {_NEARLY_ALL:g} % held in 77 to 90 of 100 simulated studies, not in 95: difference() "
            "holds better"
        )


def warn_rare(smallest: np.ndarray, averaged: np.ndarray, keys: pd.DataFrame) -> None:
    """Warn of averages over tasks of one or two units, whose variance the other tasks have to tell."""
    rare = averaged & (smallest <= 2)
    if rare.any():
        warn(
            f"tasks of one or two units are in the averages of {named_groups(keys, rare)}; limits of these "
            "rest on the variance of the other tasks"
        )


def beyond_range(estimates: pd.DataFrame) -> np.ndarray:
    """Which rows have a finite limit at a value that what is estimated cannot have."""
    if not {"metric", "term", "conf_low", "conf_high"} <= set(estimates.columns):
        return np.zeros(len(estimates), dtype=bool)
    metrics = [known_metric(m) for m in estimates["metric"]]
    least = np.array([-np.inf if m is None else m.low for m in metrics])
    most = np.array([np.inf if m is None else m.high for m in metrics])
    term = estimates["term"].to_numpy(dtype=object)
    with np.errstate(invalid="ignore"):
        width = most - least
    for kind, low, high in (
        ("difference", -width, width),
        # of what is never negative no more than all is lost
        ("percent_decrease", np.full(len(term), -np.inf), np.where(least == 0, 100.0, np.inf)),
    ):
        least, most = np.where(term == kind, low, least), np.where(term == kind, high, most)
    judged = np.isin(term, ("mean", "pooled_rate", "difference", "percent_decrease"))
    if "estimate" in estimates.columns:
        # an estimate outside is of something else, such as changes of that metric
        estimate = estimates["estimate"].to_numpy(dtype=np.float64, na_value=np.nan)
        judged &= (estimate >= least) & (estimate <= most)
    low, high = (estimates[c].to_numpy(dtype=np.float64, na_value=np.nan) for c in ("conf_low", "conf_high"))
    below, above = (low < least - ROUNDING) & np.isfinite(low), (high > most + ROUNDING) & np.isfinite(high)
    return np.asarray(judged & (below | above))


def warn_beyond_range(estimates: pd.DataFrame) -> None:
    """Warn of limits at values that what is estimated cannot have."""
    beyond = beyond_range(estimates)
    if beyond.any():
        rows = estimates[beyond]
        row = rows.iloc[0]
        bounded = [r.name for r in RECORDS if r.bounded and row["term"] in r.recommended]
        keys = estimates[estimates.columns[: estimates.columns.get_loc("term")]]
        warn(
            f"{row['interval']} limits hold values that are impossible ({row['conf_low']:.4g} to "
            f"{row['conf_high']:.4g}) for {named_groups(keys, beyond)}: this interval knows no bounds; "
            f"{f'interval={bounded[0]!r} stays inside' if bounded else 'cut it off there'}"
        )


def warn_undefined(n_undefined: np.ndarray, n_replicates: int, keys: pd.DataFrame) -> None:
    """Warn where more than 1 % of the replicates are undefined."""
    many = n_undefined > UNDEFINED_SHARE * n_replicates
    if many.any():
        up_to = "up to " if n_undefined[many].min() < n_undefined.max() else ""
        warn(
            f"{up_to}{n_undefined.max()} of {n_replicates} replicates are undefined for "
            f"{named_groups(keys, many)} and left out of the interval (no defined score was drawn, or the "
            "reference is 0), so it speaks only of the others; there are too few defined scores to resample"
        )


def warn_alone(kind: str, alone: np.ndarray, keys: pd.DataFrame) -> None:
    """Warn of samples of one unit, which have no limits."""
    if alone.any():
        warn(
            f"no {kind} limits for {named_groups(keys, alone)}: a sample of one unit says nothing of how "
            "others differ from it"
        )


def warn_limits(
    kind: str,
    target: Target,
    limits: tuple[np.ndarray, np.ndarray],
    estimate: np.ndarray,
    scale: np.ndarray,
    alone: np.ndarray,
    *,
    constant: bool = False,
) -> None:
    """Warn of limits that were not found, of unbounded sets, and of width 0 unless scores are `constant`."""
    (low, high), keys, compared = limits, target.keys, target.estimand.kind
    with np.errstate(invalid="ignore"):
        flat = (high - low <= ROUNDING * scale) & ~np.isnan(estimate)
    if flat.any() and not constant:
        other = better(target.term) if compared == "mean" else "more cases are needed"
        warn(
            f"the {kind} interval has width 0 for {named_groups(keys, flat)}: all scores or replicates are "
            f"equal; {other}"
        )
    unknown = np.isnan(estimate) & (target.estimand.second is not None)
    for which, why in (
        (unknown & (target.estimand.count(target.cells) == 0), "no pair has both scores"),
        (unknown & (target.estimand.count(target.cells) > 0), "the mean of the reference is 0"),
    ):
        if which.any():
            warn(f"the {compared} is undefined for {named_groups(keys, which)}: {why}")
    lost = (np.isnan(low) | np.isnan(high)) & ~np.isnan(estimate)
    warn_alone(kind, lost & alone, keys)
    lost &= ~alone
    if kind == "bootstrap_t_log":
        # what the logarithm is taken of: with a percentage decrease the ratio of the means
        positive = (1 - estimate / 100 if compared == "percent_decrease" else estimate) > 0
        if (lost & ~positive).any():
            what = (
                "decrease is 100 % or more" if compared == "percent_decrease" else "estimate is not above 0"
            )
            warn(
                f"no {kind} limits for {named_groups(keys, lost & ~positive)}: the {what}, so it has no "
                "logarithm; interval='studentized' needs none"
            )
        lost &= positive
    if lost.any():
        warn(
            f"no {kind} limits for {named_groups(keys, lost)}: no variance"
            f"{', or all replicates on one side of the estimate' * (kind in BOOTSTRAP)}"
        )
    unbounded = np.isinf(low) | np.isinf(high)
    near_0 = "the reference's mean does not differ from 0"
    if kind != "fieller":
        near_0 = f"too few units have scores that speak against any value, or {near_0}"
    for which, why in (
        (unbounded & ~alone, near_0),
        (unbounded & alone, "a task of one unit has too much of the weight"),
    ):
        if which.any():
            set_of = "Fieller's set" if kind == "fieller" else f"the {kind} interval"
            warn(
                f"{set_of} is unbounded for {named_groups(keys, which)}: {why}"
                f"{'; conf_set says what the set holds' * (kind == 'fieller')}"
            )
