"""How often a method marks nothing although there is something to mark."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, check_by, check_choice
from salstats.frames import KEY_COLUMNS, check_scores
from salstats.metrics.registry import METRICS
from salstats.stats.engine.carried import NOTHING_THERE
from salstats.stats.engine.intervals import names_of
from salstats.stats.engine.units import Unit, unit_columns
from salstats.stats.summaries import summarize

#: Reasons of `score`: the mask is empty; there is no finding; the case lies outside the slice.
_EMPTY = "empty mask"
_OUTSIDE = ("predicted negative",)
_TRUE = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def empty_shares(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str = "wilson",
    level: float = 0.95,
) -> pd.DataFrame:
    """Share of masks that are empty although the finding is there, for each method.

    Distances and, on the true-positive slice, overlap leave such cases out. Beside their means stands how
    often that was; `score(undefined="worst")` shows what they are when it counts.

    Parameters
    ----------
    scores : DataFrame
        A scores frame of `score` with overlap, distances or "pdc". A mask counts once, however many metrics
        it has.
    by : str or sequence of str, optional
        Grouping columns; by default `method`. Not `metric`.
    interval : str
        A name of `intervals.names_of("empty")`, as for `summarize`: with a design effect where units have
        several masks.
    unit, level
        As for `summarize`.

    Returns
    -------
    DataFrame
        As `summarize`, with `term` "empty" and `estimate` the share; `n` are masks compared with a finding,
        `n_empty` of them empty; `n_missing`, findings without a mask: no map was there, it was not finite,
        or the probability that a cut-off needs is missing.

    Raises
    ------
    ColumnError
        Not a scores frame, or none with metrics of masks; `by` names a column that is not there, or the
        metric.

    Notes
    -----
    Whether a mask was empty is told by `empty_mask`, else by the pixels `tp` and `fp`, else by the reason
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
        raise ColumnError("by names 'metric'; a mask is empty for all of them, leave it out")
    check_choice(interval, names_of("empty"), "interval")
    of_masks = [metric.name for metric in METRICS.values() if metric.of_mask]
    rows = scores[scores["metric"].isin(of_masks)]
    if rows.empty:
        raise ColumnError(
            f"scores has no metric that compares masks ({', '.join(of_masks)}), so empty ones are not known"
        )
    reason = _reasons(rows)
    empty = _emptiness(rows, reason)
    there = ~(np.isin(reason, (*NOTHING_THERE, *_OUTSIDE)) | _no_finding(rows, empty))
    keys = [c for c in KEY_COLUMNS if c in rows.columns and c != "metric"]
    names = list(dict.fromkeys([*keys, *columns, *unit_columns(rows, unit)]))
    told = rows[names].assign(metric="empty", score=empty, there=there)
    # one row for each mask: what any of its metrics tells; a finding that one of them lacks is absent
    grouped = told.groupby(keys, sort=False, dropna=False)
    masks = grouped[[n for n in (*names, "metric") if n not in keys]].first()
    masks = masks.assign(score=grouped["score"].max(), there=grouped["there"].min()).reset_index()
    masks = masks[masks.pop("there").to_numpy(dtype=bool)]
    if masks.empty:
        raise ColumnError("scores has no case in which the finding is there")
    shares = summarize(masks, by=columns, unit=unit, interval=interval, level=level)
    shares["term"] = "empty"
    n_empty = masks["score"].groupby([masks[c] for c in columns], dropna=False).sum()
    index = pd.MultiIndex.from_frame(shares[columns]) if len(columns) > 1 else pd.Index(shares[columns[0]])
    return shares.assign(n_empty=n_empty.reindex(index).to_numpy().astype(np.int64))


def _reasons(rows: pd.DataFrame) -> np.ndarray:
    """Why each score is undefined, "" where it is defined or nothing says it."""
    if "reason" not in rows.columns:
        return np.full(len(rows), "", dtype=object)
    return rows["reason"].astype("str").where(rows["reason"].notna(), "").to_numpy(dtype=object)


def _pixels(rows: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Sum of columns of pixels; NaN where they are not known."""
    if not set(names) <= set(rows.columns):
        return np.full(len(rows), np.nan)
    return np.sum([rows[n].to_numpy(dtype=np.float64, na_value=np.nan) for n in names], axis=0)


def _no_finding(rows: pd.DataFrame, empty: np.ndarray) -> np.ndarray:
    """Where the pixels say that the truth is empty, or, without a mask, the label does."""
    absent = _pixels(rows, ("tp", "fn")) == 0
    if "label" in rows.columns:
        absent |= np.isnan(empty) & (rows["label"].to_numpy(dtype=np.float64, na_value=np.nan) == 0)
    return np.asarray(absent)


def _emptiness(rows: pd.DataFrame, reason: np.ndarray) -> np.ndarray:
    """1 for an empty mask, 0 for another, NaN where it is not known."""
    marked = _pixels(rows, ("tp", "fp"))
    found = np.where(np.isnan(marked), np.nan, (marked == 0).astype(np.float64))
    found = np.where(np.isnan(found) & (reason == _EMPTY), 1.0, found)
    defined = rows["score"].notna().to_numpy(dtype=bool)
    known = set(rows.columns) & {"empty_mask", "tp"}
    found = np.where(np.isnan(found) & defined & (not known), 0.0, found)
    if "empty_mask" in rows.columns:
        said = rows["empty_mask"]
        if not (pd.api.types.is_bool_dtype(said) or pd.api.types.is_numeric_dtype(said)):
            said = said.astype("str").str.lower().map(_TRUE)
        values = said.to_numpy(dtype=np.float64, na_value=np.nan)
        found = np.where(np.isnan(values), found, values)
    return np.asarray(found, dtype=np.float64)
