"""Bounds of finished estimates, with undefined scores at one end of their range and at the other."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns, check_frame, did_you_mean, quoted
from salstats.coded_text import TEXT
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError, warn
from salstats.frames import check_scores
from salstats.metrics.registry import registered_metric
from salstats.stats.average_kinds import (
    AverageKind,
    averaged_column_mask,
    decrease_of_means_or_mean_of_decreases,
    member_rows_of_averages,
)
from salstats.stats.engine.comparisons import (
    all_pairs_with_nan_for_missing_scores,
    repeat_reference_per_model_and_seed,
)
from salstats.stats.engine.grouping import OVERALL
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.score_reasons import (
    count_missing_without_absent_findings,
    pair_lacks_score_of_absent_finding,
)

#: Smallest and largest score.
Range = tuple[float, float]
_TERMS = ("mean", "difference", "percent_decrease")


def missing_bounds(
    estimates: pd.DataFrame,
    *,
    scores: pd.DataFrame | None = None,
    limits: Range | Mapping[str, Range] | None = None,
) -> pd.DataFrame:
    """Bounds of estimates if every undefined score were the lowest possible, or the highest.

    The only assumption is that undefined scores lie in their metric's range, so that the bounds hold whatever
    the reason why they are undefined. Undefined scores of absent findings (`n_absent`) are left out.

    Parameters
    ----------
    estimates : DataFrame
        The frame of `summarize`, `difference` or `percent_decrease`, without `weights`.
    scores : DataFrame, optional
        The scores from which differences and decreases were made; not for means. Without them both scores of
        an incomplete pair count as unknown, because the estimates only count pairs. With them the defined
        score of such a pair is used, which brings the bounds closer together, and may leave the estimate of
        the complete pairs outside of them.
    limits : pair of float, or mapping, optional
        Lowest and highest score of all metrics, or of each, such as {"hd95": (0, 50)}; by default the
        metric's range.

    Returns
    -------
    DataFrame
        `estimates` with `bound_low` and `bound_high`, the lowest and highest value of the estimate; the
        estimate itself if no score is undefined. For a difference, `bound_low` has the method's undefined
        scores at the lowest and the reference's at the highest score; for a percentage decrease it is the
        other way round, and -inf if the reference's mean may be 0. NaN if the metric's range is unknown or
        unbounded, or does not contain a mean.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        The frame is not one of these, or is weighted; `scores` are not those of the estimates, or are missing
        for pairs="available"; `limits` are not a range, are of another metric or do not contain a mean.

    Warns
    -----
    SalstatsWarning
        The range of a metric with undefined scores is unknown; not all members of an average are in the
        frame.

    Notes
    -----
    The bounds of a mean of n scores with m more undefined ones are (n mean + m limit) / (n + m). The bounds
    of an average are averages of the bounds of its members; a task without any defined score is not a member,
    as it is not in the estimate. An average percentage decrease is the decrease of the averages or, with
    `average="task_mean"`, the mean of the decreases. A frame does not say which; it is known from the
    estimate. If both definitions give the estimate, or nearly do so in a frame of rounded numbers, the bounds
    are the lowest and the highest that either gives. The bounds are for the cases of the sample: they do not
    include sampling error, and `conf_low` and `conf_high` do not include them.

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
    needed_columns = ("term", "estimate", "n", "n_missing")
    check_columns(
        frame, needed_columns, "estimates", "summarize(), difference() or percent_decrease() makes the frame"
    )
    if "n_readers" in frame.columns:
        raise SalstatsError(
            Call("missing_bounds"),
            " weights all scores equally, and ",
            Call("mrmc"),
            " weights all readers equally",
            hint=Message(
                "take the bounds of ",
                Call("difference"),
                " or ",
                Call("summarize"),
                ", which are for these readers only",
            ),
            column="n_readers",
        )
    unsuitable_terms = [term for term in frame["term"].unique() if term not in _TERMS]
    if unsuitable_terms:
        raise SalstatsError(
            Call("missing_bounds"),
            f" is for means, differences and decreases, not {quoted(unsuitable_terms)}",
            column="term",
        )
    if "weights" in frame.columns and frame["weights"].notna().any():
        raise SalstatsError(
            Call("missing_bounds"),
            " weights all scores equally",
            hint=Message("use estimates without ", Setting("weights")),
            column="weights",
        )
    is_comparison = "n_pairs" in frame.columns
    if scores is not None and not is_comparison:
        raise SalstatsError(
            Setting("scores"), " is for differences and decreases", hint="leave it out for means"
        )
    keys = list(frame.columns[: frame.columns.get_loc("term")])
    if is_comparison:
        method, reference = _method_and_reference_totals(frame, keys, scores)
        n_undefined = method.n_undefined + reference.n_undefined
    else:
        method = _score_totals_of_means(
            frame["n"], frame["estimate"], count_missing_without_absent_findings(frame)
        )
        reference = None
        n_undefined = method.n_undefined.copy()
    lowest_score, highest_score = _score_ranges(frame, limits, has_undefined=n_undefined > 0)
    means = pd.DataFrame(
        {
            "method_low": method.mean_with_undefined_at(lowest_score),
            "method_high": method.mean_with_undefined_at(highest_score),
        }
    )
    if reference is not None:
        means["reference_low"] = reference.mean_with_undefined_at(lowest_score)
        means["reference_high"] = reference.mean_with_undefined_at(highest_score)
    averages = member_rows_of_averages(frame, keys)
    _warn_of_averages_without_bounds(frame, averages)
    for row, members in averages.items():
        means.loc[row] = means.loc[members].mean(axis=0, skipna=False) if members else np.nan
        n_undefined[row] = n_undefined[members].sum() if members else np.nan
    bounds = _bounds_of_estimates(frame, means)
    for row, members in averages.items():
        if frame["term"].iloc[row] == "percent_decrease":
            bounds.loc[row] = _bounds_by_kind_of_average_decrease(frame, row, members, bounds)
    # Where every score is defined the bounds are the estimate, without rounding errors.
    all_defined = n_undefined == 0
    return frame.assign(
        bound_low=bounds["low"].mask(all_defined, frame["estimate"]),
        bound_high=bounds["high"].mask(all_defined, frame["estimate"]),
    )


def _warn_of_averages_without_bounds(frame: pd.DataFrame, averages: Mapping[int, list[int]]) -> None:
    """Warn of averages, by row with their members, of which the frame lacks some members."""
    n_incomplete = 0
    for row, members in averages.items():
        n_incomplete += int(frame["n"].iloc[members].sum() != frame["n"].iloc[row])
    if n_incomplete:
        warn(
            f"{n_incomplete} averages have no bounds: the estimates lack some of the rows that they average",
            option="estimates",
            value=n_incomplete,
        )


class _ScoreTotals(NamedTuple):
    """Scores behind the means of methods, or of the reference, each of shape (n_rows,)."""

    #: Sum of the defined scores.
    total: np.ndarray
    n_undefined: np.ndarray
    #: Number of all scores.
    n: np.ndarray

    def mean_with_undefined_at(self, limit: np.ndarray) -> np.ndarray:
        """Return the mean scores if all undefined scores were at a limit."""
        has_undefined = self.n_undefined > 0
        # A limit that is not known does not matter in rows without undefined scores.
        undefined_total = self.n_undefined * np.where(has_undefined, limit, 0.0)
        undefined_total = np.where(has_undefined, undefined_total, 0.0)
        return np.asarray((self.total + undefined_total) / np.where(self.n > 0, self.n, np.nan))


def _score_totals_of_means(n_defined: pd.Series, mean: pd.Series, n_undefined: np.ndarray) -> _ScoreTotals:
    """Return the score totals of means, from the number of defined scores and their mean."""
    n = n_defined.to_numpy(dtype=np.float64)
    total = np.where(n > 0, n * mean.to_numpy(dtype=np.float64), 0.0)
    return _ScoreTotals(total, n_undefined, n + n_undefined)


def _method_and_reference_totals(
    frame: pd.DataFrame, keys: list[str], scores: pd.DataFrame | None
) -> tuple[_ScoreTotals, _ScoreTotals]:
    """Return the scores of methods and of the reference, from the estimates or from the scores themselves."""
    if scores is not None:
        return _method_and_reference_totals_from_scores(frame, keys, check_scores(scores))
    if (frame["n"] != frame["n_pairs"]).any():
        raise SalstatsError(
            "estimates of ",
            Setting("pairs", "available"),
            " do not say what the reference lacks",
            hint=Message("give ", Setting("scores")),
            option="scores",
        )
    n_undefined = count_missing_without_absent_findings(frame)
    method = _score_totals_of_means(frame["n_pairs"], frame["method_mean"], n_undefined)
    reference = _score_totals_of_means(frame["n_pairs"], frame["reference_mean"], n_undefined)
    return method, reference


def _method_and_reference_totals_from_scores(
    frame: pd.DataFrame, keys: list[str], scores: pd.DataFrame
) -> tuple[_ScoreTotals, _ScoreTotals]:
    """Return the totals of the methods' scores and of the reference's, with one entry per row of `frame`.

    Each side counts its undefined scores; the pairs of a row may have one defined score or two. It raises if
    the scores have other pairs than the frame, or pair a score several times that the frame counts once.
    """
    by = [column for column in keys if column not in ("method", "reference")]
    check_columns(scores, by)
    frames = []
    for reference in frame["reference"].unique():
        pairs = all_pairs_with_nan_for_missing_scores(
            repeat_reference_per_model_and_seed(scores, str(reference), by), str(reference)
        )
        frames.append(pairs[~pair_lacks_score_of_absent_finding(pairs)].assign(reference=reference))
    pairs = pd.concat(frames, ignore_index=True)
    method_score = pairs["score"]
    reference_score = pairs["reference_score"]
    numbers = pd.DataFrame(
        {
            "n": 1,
            "n_pairs": method_score.notna() & reference_score.notna(),
            "method_total": method_score.fillna(0),
            "n_method": method_score.notna(),
            "reference_total": reference_score.fillna(0),
            "n_reference": reference_score.notna(),
        }
    ).astype(np.float64)
    labels = pairs[keys].astype(TEXT)
    sums = [numbers.groupby([labels[column] for column in keys]).sum()]
    if "task" in by:
        overall_labels = labels.assign(task=OVERALL)
        sums.append(numbers.groupby([overall_labels[column] for column in keys]).sum())
    row_index = pd.MultiIndex.from_frame(frame[keys].astype(TEXT))
    row_sums = pd.concat(sums).reindex(row_index).reset_index(drop=True)
    is_no_average = ~averaged_column_mask(frame, keys).any(axis=1)
    # A group whose pairs all lack the finding has no sums.
    row_sums[is_no_average] = row_sums[is_no_average].fillna(0)
    if (row_sums["n_pairs"] != frame["n_pairs"])[is_no_average].any():
        raise SalstatsError(
            "the scores are not those of the estimates: they have other pairs",
            option="scores",
        )
    is_repeated = (frame["n"] != frame["n_pairs"]) & (row_sums["n_method"] > frame["n"])
    if is_repeated[is_no_average].any():
        raise SalstatsError(
            "estimates of ",
            Setting("pairs", "available"),
            " count a score once that is paired with several readers' scores here",
            hint=Message("take ", Setting("pairs", "complete")),
        )
    n = row_sums["n"].to_numpy()
    method = _ScoreTotals(row_sums["method_total"].to_numpy(), n - row_sums["n_method"].to_numpy(), n)
    reference = _ScoreTotals(
        row_sums["reference_total"].to_numpy(), n - row_sums["n_reference"].to_numpy(), n
    )
    return method, reference


def _mean_score_columns(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns of mean scores."""
    if "n_pairs" in frame.columns:
        return ["method_mean", "reference_mean"]
    return ["estimate"]


def _bounds_by_kind_of_average_decrease(
    frame: pd.DataFrame, row: int, members: list[int], bounds_of_rows: pd.DataFrame
) -> pd.Series:
    """Return the bounds `low` and `high` of an average percentage decrease.

    `bounds_of_rows` holds the bounds of the decrease of the averages. Where the estimate is the mean of the
    members' decreases, the bounds are the means of theirs; where it may be either, they are the outer ones
    of both.
    """
    bounds_of_means = bounds_of_rows.iloc[row]
    bounds_of_decreases = bounds_of_rows.iloc[members].mean(axis=0, skipna=False)
    kind = AverageKind.OF_MEANS
    if members:
        kind = decrease_of_means_or_mean_of_decreases(frame, row, members)
    if kind == AverageKind.OF_MEANS:
        return bounds_of_means
    if kind == AverageKind.OF_DECREASES:
        return bounds_of_decreases
    both = pd.DataFrame([bounds_of_means, bounds_of_decreases])
    return pd.Series({"low": both["low"].min(skipna=False), "high": both["high"].max(skipna=False)})


def _bounds_of_estimates(frame: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Return the bounds `low` and `high` of estimates, from the bounds of the means of both sides."""
    low = means["method_low"]
    high = means["method_high"]
    if "reference_low" not in means.columns:
        return pd.DataFrame({"low": low, "high": high})
    reference_low = means["reference_low"]
    reference_high = means["reference_high"]
    is_difference = frame["term"] == "difference"
    with np.errstate(divide="ignore", invalid="ignore"):
        smallest_decrease = 100 * (1 - high / reference_low.where(reference_low > 0))
        largest_decrease = 100 * (1 - low / reference_high)
    # Towards a reference mean of 0 the decrease falls without bound.
    is_unbounded = (reference_low <= 0) & high.notna()
    return pd.DataFrame(
        {
            "low": smallest_decrease.mask(is_unbounded, -np.inf).mask(is_difference, low - reference_high),
            # With a method's mean below 0 a smaller reference mean would give a larger decrease.
            "high": largest_decrease.mask(low < 0).mask(is_difference, high - reference_low),
        }
    )


def _score_ranges(
    frame: pd.DataFrame, limits: Range | Mapping[str, Range] | None, has_undefined: NDArray[np.bool_]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest score of each row, NaN where they are unknown or not finite."""
    metrics = pd.Series([""] * len(frame))
    if "metric" in frame.columns:
        metrics = frame["metric"].astype(TEXT)
    means = frame[_mean_score_columns(frame)]
    limits_of_metrics = _checked_given_limits_by_metric(limits, metrics)
    lows = {}
    highs = {}
    for metric in metrics.unique():
        low, high = _possible_range_or_nan(metric, limits_of_metrics)
        metric_means = means[metrics == metric].stack()
        outside = metric_means[(metric_means < low - ROUNDING) | (metric_means > high + ROUNDING)]
        if metric in limits_of_metrics and len(outside):
            raise ValueRangeError(
                Setting("limits", (low, high)),
                f" leave out a mean score of the estimates, {outside.iloc[0]:.4g}",
                hint="give the least and the largest score that there may be",
            )
        is_bounded = np.isfinite(low) and np.isfinite(high) and not len(outside)
        lows[metric] = low if is_bounded else np.nan
        highs[metric] = high if is_bounded else np.nan
    unbounded = []
    for metric, low in lows.items():
        if np.isnan(low) and has_undefined[metrics == metric].any():
            unbounded.append(metric)
    if unbounded:
        _warn_of_unknown_score_range(unbounded, has_metrics="metric" in frame.columns)
    return metrics.map(lows).to_numpy(float), metrics.map(highs).to_numpy(float)


def _possible_range_or_nan(metric: str, limits_of_metrics: Mapping[str, Range]) -> Range:
    """Return the least and the largest score of a metric: by the user's limits or else the metric's range.

    Both are NaN for an unknown metric without limits.
    """
    if metric in limits_of_metrics:
        return limits_of_metrics[metric]
    record = registered_metric(metric)
    if record is None:
        return np.nan, np.nan
    return record.low, record.high


def _warn_of_unknown_score_range(metrics: list[str], *, has_metrics: bool) -> None:
    """Warn of undefined scores of metrics without a known range."""
    of_metrics = ""
    example = "(least, largest)"
    if has_metrics:
        of_metrics = f" of {quoted(metrics)}"
        example = f"{{{metrics[0]!r}: (least, largest)}}"
    warn(
        f"the range of undefined scores{of_metrics} is unknown, unbounded or leaves out a mean, so that "
        "bounds are NaN",
        hint=Message(Setting("limits"), f"={example} gives one"),
        option="limits",
        value=metrics,
    )


def _checked_given_limits_by_metric(
    limits: Range | Mapping[str, Range] | None, metrics: pd.Series
) -> dict[str, Range]:
    """Return checked limits by metric, each the smallest and the largest score."""
    metric_names = list(metrics.unique())
    if limits is None:
        return {}
    limits_by_metric = limits if isinstance(limits, Mapping) else dict.fromkeys(metric_names, limits)
    checked_limits = {}
    for metric, score_range in limits_by_metric.items():
        if metric not in metric_names:
            raise ValueRangeError(
                Setting("limits"),
                f" names {metric!r}, which is not a metric of the estimates ({quoted(metric_names)})"
                f"{did_you_mean(metric, metric_names)}",
                choices=metric_names,
            )
        try:
            low, high = map(float, score_range)
        except (TypeError, ValueError):
            low = high = np.nan
        if not low < high:
            raise ValueRangeError(
                Setting("limits"), f" must be (least, largest), two numbers, not {score_range!r}"
            )
        checked_limits[metric] = (low, high)
    return checked_limits
