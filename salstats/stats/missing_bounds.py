"""How far undefined scores could move a finished estimate: from one end of their range to the other."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsError,
    ValueRangeError,
    check_columns,
    check_frame,
    did_you_mean,
    quoted,
    warn,
)
from salstats.frames import check_scores
from salstats.metrics.registry import known_metric
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.carried import absent_pairs, missing_scores
from salstats.stats.engine.comparisons import pair_with_reference, reference_in_every_group
from salstats.stats.engine.design import AVERAGE, OVERALL

#: Least and largest score.
Range = tuple[float, float]
_TERMS = ("mean", "difference", "percent_decrease")


def missing_bounds(
    estimates: pd.DataFrame,
    *,
    scores: pd.DataFrame | None = None,
    limits: Range | Mapping[str, Range] | None = None,
) -> pd.DataFrame:
    """Bounds of finished estimates, had every undefined score been the worst possible, or the best.

    Nothing is assumed of undefined scores but that they lie in their metric's range, so that the bounds hold
    whatever the reason that they are undefined. Those of absent findings (`n_absent`) are no loss and stay
    out.

    Parameters
    ----------
    estimates : DataFrame
        What `summarize`, `difference` or `percent_decrease` returned, without `weights`.
    scores : DataFrame, optional
        The scores that differences and decreases are of. Without them both scores of an incomplete pair may
        be anything, as a table counts pairs; with them the one that is defined stays what it is, which
        brings the bounds closer, and may leave the estimate of the complete pairs outside. Means need none.
    limits : pair of float, or mapping, optional
        Least and largest score, of all metrics or of each: {"hd95": (0, 50)}; by default the metric's range.

    Returns
    -------
    DataFrame
        `estimates` with `bound_low, bound_high`: the estimate's least and largest value; the estimate itself
        where nothing is undefined. Of a difference `bound_low` has the method's undefined scores at the least
        and the reference's at the largest score, of a percentage decrease the other way round, and -inf
        where the reference may be 0. NaN where the range is not known, has no end or leaves out a mean.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        No such frame; weighted estimates; `scores` that are not those of the estimates; pairs="available"
        without `scores`; limits that are no range, of another metric, or that leave out a mean.

    Warns
    -----
    SalstatsWarning
        Metrics without a known range, and averages whose members are not in the frame.

    Notes
    -----
    Of a mean of n scores, m being undefined, the bounds are (n mean + m limit) / (n + m). An average has the
    averages of its members' means; a task without any defined score is not among them, as it is not in the
    estimate. They are bounds of the estimate in these cases: sampling is not in them, nor are they in
    `conf_low` and `conf_high`.

    References
    ----------
    Horowitz JL, Manski CF. Nonparametric analysis of randomized experiments with missing covariate and
    outcome data. J Am Stat Assoc 2000;95:77-84. doi:10.1080/01621459.2000.10473902

    Examples
    --------
    >>> import salstats as ss
    >>> means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> bounds = ss.missing_bounds(means)
    >>> bounds[["metric", "method", "n", "n_absent", "n_missing", "bound_low", "bound_high"]].head(2).round(3)
      metric   method    n  n_absent  n_missing  bound_low  bound_high
    0    hit  gradcam  685       277        285      0.482       0.494
    1    hit    human  678       277        292      0.778       0.799
    """
    frame = check_frame(estimates, "estimates").reset_index(drop=True)
    needed = ("term", "estimate", "n", "n_missing")
    check_columns(
        frame, needed, "estimates", "summarize(), difference() or percent_decrease() makes the frame"
    )
    if "n_readers" in frame.columns:
        raise SalstatsError(
            "missing_bounds() counts scores alike, and mrmc() counts readers alike; take the bounds of "
            "difference(reference=) or summarize(), which speak of these readers"
        )
    if other := [term for term in frame["term"].unique() if term not in _TERMS]:
        raise SalstatsError(f"missing_bounds() is for means, differences and decreases, not {quoted(other)}")
    if "weights" in frame.columns and frame["weights"].notna().any():
        raise SalstatsError("missing_bounds() counts scores alike; take it of estimates without weights=")
    compared = "n_pairs" in frame.columns
    if scores is not None and not compared:
        raise SalstatsError("scores= is for differences and decreases; means need none")
    keys = list(frame.columns[: frame.columns.get_loc("term")])
    method, reference = _sides(frame, keys, scores) if compared else (_mean_side(frame), None)
    low, high = _ranges(frame, limits, method.unknown + (0 if reference is None else reference.unknown) > 0)
    levels = pd.DataFrame({"method_low": method.mean(low), "method_high": method.mean(high)})
    if reference is not None:
        levels = levels.assign(reference_low=reference.mean(low), reference_high=reference.mean(high))
    members = _members(frame, keys)
    for row, of in members.items():
        levels.loc[row] = levels.loc[of].mean(axis=0, skipna=False) if len(of) else np.nan
    bounds = _of_levels(frame, levels)
    for row, of in members.items():
        if _is_mean_of_decreases(frame.loc[row]):
            bounds.loc[row] = bounds.loc[of].mean(axis=0, skipna=False)
    # where nothing is undefined rounding must not tell them apart
    whole = _unknown_in_rows(method, reference, members) == 0
    low, high = (bounds[side].mask(whole, frame["estimate"]) for side in ("low", "high"))
    return frame.assign(bound_low=low, bound_high=high)


def _unknown_in_rows(method: "_Side", reference: "_Side | None", members: dict[int, list[int]]) -> np.ndarray:
    """How many scores of each row, or of the members of an average, are undefined."""
    unknown = method.unknown + (0 if reference is None else reference.unknown)
    for row, of in members.items():
        unknown[row] = unknown[of].sum() if len(of) else np.nan
    return unknown


class _Side(NamedTuple):
    """Scores of each row: sum of those that are defined, how many are not, and how many there are."""

    total: np.ndarray
    unknown: np.ndarray
    n: np.ndarray

    def mean(self, limit: np.ndarray) -> np.ndarray:
        """Mean score if all that are not defined were at a limit."""
        moved = np.where(self.unknown > 0, self.unknown * np.where(self.unknown > 0, limit, 0.0), 0.0)
        return np.asarray((self.total + moved) / np.where(self.n > 0, self.n, np.nan))


def _mean_side(frame: pd.DataFrame) -> _Side:
    """What a mean is made of."""
    return _counted(frame["n"], frame["estimate"], missing_scores(frame))


def _counted(n: pd.Series, mean: pd.Series, unknown: np.ndarray) -> _Side:
    """Scores by their number and mean."""
    n_defined = n.to_numpy(dtype=np.float64)
    total = np.where(n_defined > 0, n_defined * mean.to_numpy(dtype=np.float64), 0.0)
    return _Side(total, unknown, n_defined + unknown)


def _sides(frame: pd.DataFrame, keys: list[str], scores: pd.DataFrame | None) -> tuple[_Side, _Side]:
    """What the means of methods and of the reference are made of: by the table, or by the scores."""
    if scores is not None:
        return _sides_of_scores(frame, keys, check_scores(scores))
    if (frame["n"] != frame["n_pairs"]).any():
        raise SalstatsError(
            "estimates of pairs='available' do not say what the reference lacks; give scores="
        )
    unknown = missing_scores(frame)
    method, reference = (
        _counted(frame["n_pairs"], frame[f"{c}_mean"], unknown) for c in ("method", "reference")
    )
    return method, reference


def _sides_of_scores(frame: pd.DataFrame, keys: list[str], scores: pd.DataFrame) -> tuple[_Side, _Side]:
    """The same from every pair, of which one score may be defined."""
    by = [c for c in keys if c not in ("method", "reference")]
    check_columns(scores, by)
    parts = []
    for reference in frame["reference"].unique():
        pairs = pair_with_reference(reference_in_every_group(scores, str(reference), by), str(reference))
        parts.append(pairs[~absent_pairs(pairs)].assign(reference=reference))
    pairs = pd.concat(parts, ignore_index=True)
    own, other = pairs["score"], pairs["reference_score"]
    known = own.notna(), other.notna()
    numbers = pd.DataFrame(
        {
            "n": 1,
            "n_pairs": known[0] & known[1],
            "method": own.fillna(0),
            "n_method": known[0],
            "reference": other.fillna(0),
            "n_reference": known[1],
        }
    ).astype(np.float64)
    labels = pairs[keys].astype("str")
    pooled = [labels.assign(task=OVERALL)] if "task" in by else []
    summed = pd.concat([numbers.groupby([of[c] for c in keys]).sum() for of in (labels, *pooled)])
    found = summed.reindex(pd.MultiIndex.from_frame(frame[keys].astype("str"))).reset_index(drop=True)
    single = ~_is_average(frame, keys).any(axis=1)
    if (found["n_pairs"] != frame["n_pairs"])[single].any():
        raise SalstatsError("the scores are not those that the estimates were made of: they have other pairs")
    repeated = (frame["n"] != frame["n_pairs"]) & (found["n_method"] > frame["n"])
    if repeated[single].any():
        raise SalstatsError(
            "estimates of pairs='available' count a score once that stands beside several readers' here; "
            "take pairs='complete'"
        )
    n = found["n"].to_numpy()
    method, reference = (
        _Side(found[c].to_numpy(), n - found[f"n_{c}"].to_numpy(), n) for c in ("method", "reference")
    )
    return method, reference


def _is_average(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Which grouping columns say that a row is an average over them."""
    return frame[keys].astype("object") == AVERAGE


def _members(frame: pd.DataFrame, keys: list[str]) -> dict[int, list[int]]:
    """Rows that are averages, and those that each is of."""
    averages, found = _is_average(frame, keys), {}
    for row in np.flatnonzero(averages.any(axis=1)):
        over = str(averages.columns[int(averages.loc[row].to_numpy().argmax())])
        alike = ~averages.any(axis=1) & (frame[over].astype("object") != OVERALL) & frame["estimate"].notna()
        for column in keys:
            alike &= (frame[column] == frame.loc[row, column]) | (column == over)
        found[int(row)] = [int(member) for member in np.flatnonzero(alike)]
    if lacking := sum(not members for members in found.values()):
        warn(f"{lacking} averages have no bounds: the estimates lack the rows that they are of")
    return found


def _is_mean_of_decreases(row: pd.Series) -> bool:
    """Whether an average of decreases is not the decrease of the averages."""
    if row["term"] != "percent_decrease":
        return False
    of_means = 100 * (1 - row["method_mean"] / row["reference_mean"])
    return not np.isclose(of_means, row["estimate"], rtol=1e-9, atol=0, equal_nan=True)


def _of_levels(frame: pd.DataFrame, levels: pd.DataFrame) -> pd.DataFrame:
    """Least and largest estimate from the least and largest means."""
    low, high = levels["method_low"], levels["method_high"]
    if "reference_low" in levels.columns:
        least, most = levels["reference_low"], levels["reference_high"]
        if (frame["term"] == "percent_decrease").all():
            # a method that scores below 0 may lose more than everything
            with np.errstate(divide="ignore", invalid="ignore"):
                decreases = 100 * (1 - high / least.where(least > 0)), 100 * (1 - low / most)
            unbounded = (least <= 0) & high.notna()
            low, high = decreases[0].mask(unbounded, -np.inf), decreases[1].mask(low < 0)
        else:
            low, high = low - most, high - least
    return pd.DataFrame({"low": low, "high": high})


def _ranges(
    frame: pd.DataFrame, limits: Range | Mapping[str, Range] | None, lost: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest score of each row, NaN where it is not known or not finite."""
    metrics = frame["metric"].astype("str") if "metric" in frame.columns else pd.Series([""] * len(frame))
    means = frame[["method_mean", "reference_mean"] if "n_pairs" in frame.columns else ["estimate"]]
    given, found = _given_limits(limits, metrics), {}
    for metric in metrics.unique():
        known = known_metric(metric)
        low, high = given.get(metric, (np.nan, np.nan) if known is None else (known.low, known.high))
        own = means[metrics == metric].stack()
        outside = own[(own < low - ROUNDING) | (own > high + ROUNDING)]
        if metric in given and len(outside):
            raise ValueRangeError(
                f"limits={(low, high)} leave out a mean score of the estimates, {outside.iloc[0]:.4g}; give "
                "the least and the largest score that there may be"
            )
        finite = np.isfinite(low) and np.isfinite(high) and not len(outside)
        found[metric] = (low, high) if finite else (np.nan, np.nan)
    unknown = [m for m, span in found.items() if np.isnan(span[0]) and lost[metrics == m].any()]
    if unknown:
        of, given_as = f" of {quoted(unknown)}", f"{{{unknown[0]!r}: (least, largest)}}"
        if "metric" not in frame.columns:
            of, given_as = "", "(least, largest)"
        warn(
            f"undefined scores{of} may be anything, as their range is not known, has no end or leaves out a "
            f"mean: their bounds are NaN; limits={given_as} gives one"
        )
    low, high = (metrics.map({m: span[i] for m, span in found.items()}).to_numpy(float) for i in (0, 1))
    return low, high


def _given_limits(limits: Range | Mapping[str, Range] | None, metrics: pd.Series) -> dict[str, Range]:
    """Limits by metric, each the least and the largest score."""
    known = list(metrics.unique())
    given = {} if limits is None else limits if isinstance(limits, Mapping) else dict.fromkeys(known, limits)
    found = {}
    for metric, span in given.items():
        if metric not in known:
            raise ValueRangeError(
                f"limits= names {metric!r}, which is no metric of the estimates ({quoted(known)})"
                f"{did_you_mean(metric, known)}"
            )
        try:
            low, high = map(float, span)
        except (TypeError, ValueError):
            low = high = np.nan
        if not low < high:
            raise ValueRangeError(f"limits= must be (least, largest), two numbers, not {span!r}")
        found[metric] = (low, high)
    return found
