"""Share of masks that are empty although there is a finding."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, check_choice
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, Setting
from salstats.frames import KEY_COLUMNS, check_scores
from salstats.metrics.registry import METRICS
from salstats.stats.engine.intervals import interval_names
from salstats.stats.engine.resampling_units import Unit, given_and_possible_unit_columns
from salstats.stats.engine.score_reasons import ABSENT_REASONS
from salstats.stats.summaries import summarize

#: Reason that `score` gives for an undefined score if the mask is empty.
_EMPTY_MASK_REASON = "empty mask"
#: Reasons that `score` gives for cases outside of the scored slice.
_OUTSIDE_SLICE_REASONS = ("predicted negative",)
#: Truth values of the column `empty_mask` where it holds text.
_TRUTH_VALUES = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def empty_shares(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str = "wilson",
    level: float = 0.95,
) -> pd.DataFrame:
    """Share of masks that are empty although the finding is present, for each method.

    Distances and, on the true-positive slice, overlap leave such cases out, so that their share belongs
    beside the means; `score(undefined="worst")` gives means in which they count.

    Parameters
    ----------
    scores : DataFrame
        A scores frame of `score` with overlap, distances or "pdc". A mask counts once, however many metrics
        it has.
    by : str or sequence of str, optional
        Grouping columns, without `metric`; by default `method`.
    unit : str or list of str, optional
        Columns that name the independent units; by default patients or else cases, see `summarize`.
    interval : str
        A name of `intervals.interval_names("empty")`, with a design effect if units have several masks.
    level : float
        Confidence level.

    Returns
    -------
    DataFrame
        The columns of `summarize`, with `term` "empty" and the share as `estimate`; `n` counts the masks of
        findings that are present, `n_empty` the empty ones among them, and `n_missing` the findings without a
        mask: there was no map, it was not finite, or the probability that a cut-off needs is missing.

    Raises
    ------
    ColumnError
        The frame is not a scores frame, or has no metric of masks or no case with a finding; `by` names a
        column that is not there, or the metric.

    Notes
    -----
    A mask is empty by the column `empty_mask`, else if its pixels `tp` and `fp` are 0, else by the reason
    "empty mask" of an undefined score. Masks that a probability cut-off emptied are among them.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.eye(4, dtype=bool)
    >>> maps = {(case, "Edema", "cam"): truth * float(case != "a") for case in "abcd"}
    >>> study = ss.study_from_arrays({(case, "Edema"): truth for case in "abcd"}, maps)
    >>> ss.empty_shares(ss.score(study))[["method", "estimate", "n", "n_empty"]]
      method  estimate  n  n_empty
    0    cam      0.25  4        1
    """
    check_scores(scores)
    columns = check_by(scores, by, ("method",))
    if "metric" in columns:
        raise ColumnError(
            Setting("by"),
            " names 'metric', and a mask is empty for all metrics",
            hint="leave it out",
            column="metric",
        )
    check_choice(interval, interval_names("empty"), "interval")
    mask_metrics = [metric.name for metric in METRICS.values() if metric.compares_mask]
    rows = scores[scores["metric"].isin(mask_metrics)]
    if rows.empty:
        raise ColumnError(
            f"scores has no metric that compares masks ({', '.join(mask_metrics)}), so empty ones are not "
            "known",
            column="metric",
            choices=mask_metrics,
        )
    reason = _undefined_score_reason_of_each_row(rows)
    empty = _empty_predicted_mask_indicator(rows, reason)
    is_excluded = np.isin(reason, (*ABSENT_REASONS, *_OUTSIDE_SLICE_REASONS))
    has_finding = ~(is_excluded | _lacks_finding_by_pixels_or_label(rows, empty))
    keys = [column for column in KEY_COLUMNS if column in rows.columns and column != "metric"]
    names = list(dict.fromkeys([*keys, *columns, *given_and_possible_unit_columns(rows, unit)]))
    mask_rows = rows[names].assign(metric="empty", score=empty, _has_finding=has_finding)
    # A mask has a row per metric; it is empty, or without a finding, if any of these rows says so.
    grouped = mask_rows.groupby(keys, sort=False, dropna=False, observed=True)
    masks = grouped[[name for name in (*names, "metric") if name not in keys]].first()
    masks = masks.assign(score=grouped["score"].max(), _has_finding=grouped["_has_finding"].min())
    masks = masks.reset_index()
    masks = masks[masks.pop("_has_finding").to_numpy(dtype=bool)]
    if masks.empty:
        raise ColumnError("scores has no case in which the finding is there", column="score")
    shares = summarize(masks, by=columns, unit=unit, interval=interval, level=level)
    shares["term"] = "empty"
    if not columns:
        return shares.assign(n_empty=int(masks["score"].sum()))
    n_empty = masks["score"].groupby([masks[column] for column in columns], dropna=False, observed=True).sum()
    index = pd.Index(shares[columns[0]])
    if len(columns) > 1:
        index = pd.MultiIndex.from_frame(shares[columns])
    return shares.assign(n_empty=n_empty.reindex(index).to_numpy().astype(np.int64))


def _undefined_score_reason_of_each_row(rows: pd.DataFrame) -> np.ndarray:
    """Return the reason why each score is undefined, "" where it is defined or has no reason."""
    if "reason" not in rows.columns:
        return np.full(len(rows), "", dtype=object)
    return rows["reason"].astype(TEXT).where(rows["reason"].notna(), "").to_numpy(dtype=object)


def _sum_of_pixel_columns(rows: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return the sum of columns with numbers of pixels, shape (n_rows,).

    It is NaN in a row that lacks one of the numbers, and in all rows of a frame without one of the columns.
    """
    if not set(names) <= set(rows.columns):
        return np.full(len(rows), np.nan)
    pixels = [rows[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in names]
    return np.asarray(np.sum(pixels, axis=0))


def _lacks_finding_by_pixels_or_label(
    rows: pd.DataFrame, empty_mask_indicator_or_nan: np.ndarray
) -> NDArray[np.bool_]:
    """Return True for rows whose truth is empty by its pixels, or by the label where the mask is unknown.

    `empty_mask_indicator_or_nan` is what `_empty_predicted_mask_indicator` returns.
    """
    is_absent = _sum_of_pixel_columns(rows, ("tp", "fn")) == 0
    if "label" in rows.columns:
        labels = rows["label"].to_numpy(dtype=np.float64, na_value=np.nan)
        is_absent |= np.isnan(empty_mask_indicator_or_nan) & (labels == 0)
    return np.asarray(is_absent)


def _empty_predicted_mask_indicator(rows: pd.DataFrame, reason: np.ndarray) -> np.ndarray:
    """Return 1 for rows of an empty predicted mask, 0 for those of another, NaN where it is not known.

    The column `empty_mask` decides where it is filled, else the number of predicted pixels, else the reason
    (n_rows,) of an undefined score.
    """
    mask_pixels = _sum_of_pixel_columns(rows, ("tp", "fp"))
    is_empty_by_pixels = (mask_pixels == 0).astype(np.float64)
    empty = np.where(np.isnan(mask_pixels), np.nan, is_empty_by_pixels)
    empty = np.where(np.isnan(empty) & (reason == _EMPTY_MASK_REASON), 1.0, empty)
    if not {"empty_mask", "tp"} & set(rows.columns):
        # Without these columns a mask with a defined score is taken to mark something.
        has_score = rows["score"].notna().to_numpy(dtype=bool)
        empty = np.where(np.isnan(empty) & has_score, 0.0, empty)
    if "empty_mask" in rows.columns:
        empty_mask = rows["empty_mask"]
        if not (pd.api.types.is_bool_dtype(empty_mask) or pd.api.types.is_numeric_dtype(empty_mask)):
            empty_mask = empty_mask.astype(TEXT).str.lower().map(_TRUTH_VALUES)
        is_empty_by_column = empty_mask.to_numpy(dtype=np.float64, na_value=np.nan)
        empty = np.where(np.isnan(is_empty_by_column), empty, is_empty_by_column)
    return np.asarray(empty, dtype=np.float64)
