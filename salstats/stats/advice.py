"""Warnings about results that stand but deserve a look: what to look at, and what would do instead."""

import numpy as np
import pandas as pd

from salstats.checks import warn
from salstats.metrics.registry import known_metric
from salstats.stats.design import named_groups
from salstats.stats.estimands import ratio

#: share of undefined replicates above which an interval deserves a look
UNDEFINED_SHARE = 0.01
#: units below which intervals and tests from resampling are known to run short
FEW_UNITS = 20
#: the same for a variance from units and Student's t
FEW_FOR_T = 5
#: a standard error smaller than this, relative to the scores, is rounding error
ROUNDING = 1e-12

#: what holds better with few units, by what is estimated
_ANALYTIC = {
    "mean": "interval='wilson' or 'exact' of 0/1 scores, 't' of other means, 'delta' of a pooled rate",
    "difference": "interval='t' and test='t', or 'delta' of pooled rates",
    "percent_decrease": "interval='fieller' or 'delta', and test='t'",
}


def warn_few_units(
    smallest: np.ndarray, sizes: np.ndarray, keys: pd.DataFrame, kind: str, compared: str, *, resampled: bool
) -> None:
    """Warn where inference hangs on few units, or on few large ones.

    `smallest` is the number of units of each row's smallest sample, `sizes` (n_units, n_rows) are the defined
    scores of each unit, `resampled` says whether an interval or a p-value comes from replicates.
    """
    least = FEW_UNITS if resampled else FEW_FOR_T
    few = (smallest < least) & (smallest > 0)
    if few.any():
        low, high = int(smallest[few].min()), int(smallest[few].max())
        span = f"{low}" if low == high else f"{low} to {high}"
        advice = f"analytic ones hold better: {_ANALYTIC[compared]}" if resampled else "more cases are needed"
        what = "resampling" if resampled else "estimating a variance from"
        warn(
            f"{kind} intervals or their tests rest on {span} units for {named_groups(keys, few)}; {what} "
            f"fewer than {least} gives intervals too short and p-values too small: {advice}"
        )
    # among many small units a few large ones decide: what units of equal size they are worth
    effective = ratio(sizes.sum(axis=0) ** 2, (sizes**2).sum(axis=0))
    unequal = ~few & (effective < FEW_UNITS) & (effective < smallest / 2)
    if unequal.any():
        warn(
            f"units differ so much in size that they are worth {effective[unequal].min():.0f} equal ones for "
            f"{named_groups(keys, unequal)}; intervals come out too short: average each unit first, or take "
            "regress('score ~ 1', errors='cr2')"
        )


def beyond_range(estimates: pd.DataFrame) -> np.ndarray:
    """Which rows have a finite limit at a value that what is estimated cannot have.

    Known of means, differences and percentage decreases of registered metrics.
    """
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
        row, metrics = rows.iloc[0], [known_metric(m) for m in rows["metric"].unique()]
        shares = row["term"] == "mean" and any(m is not None and (m.low, m.high) == (0, 1) for m in metrics)
        inside = "percentile limits stay inside" + ", and of 0/1 scores interval='wilson' or 'exact'" * shares
        keys = estimates[estimates.columns[: estimates.columns.get_loc("term")]]
        warn(
            f"{row['interval']} limits hold values that are impossible ({row['conf_low']:.4g} to "
            f"{row['conf_high']:.4g}) for {named_groups(keys, beyond)}: this interval knows no bounds; "
            f"{inside}"
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


def warn_limits(
    kind: str,
    compared: str,
    limits: tuple[np.ndarray, np.ndarray],
    estimate: np.ndarray,
    scale: np.ndarray,
    keys: pd.DataFrame,
    *,
    constant: bool = False,
) -> None:
    """Warn of limits that were not found, of unbounded sets, and of width 0 unless scores are `constant`."""
    low, high = limits
    with np.errstate(invalid="ignore"):
        flat = (high - low <= ROUNDING * scale) & ~np.isnan(estimate)
    if flat.any() and not constant:
        other = "for 0/1 scores take interval='wilson' or 'exact', else " if compared == "mean" else ""
        warn(
            f"the {kind} interval has width 0 for {named_groups(keys, flat)}: all scores or replicates are "
            f"equal; {other}more cases are needed"
        )
    lost = (np.isnan(low) | np.isnan(high)) & ~np.isnan(estimate)
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
            f"no {kind} limits for {named_groups(keys, lost)}: a sample of one unit, no variance, or all "
            "replicates on one side of the estimate"
        )
    if np.isinf(low).any():
        set_of = "Fieller's set" if kind == "fieller" else f"the {kind} interval"
        warn(
            f"{set_of} is unbounded for {named_groups(keys, np.isinf(low))}: the reference's mean does "
            f"not differ from 0{'; conf_set says what the set holds' * (kind == 'fieller')}"
        )
