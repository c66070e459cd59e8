"""Slices and cut-offs of scores that are there already, so that each map is read once and not per slice."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from salstats.checks import ColumnError
from salstats.metrics.overlap import Counts
from salstats.scoring.cases import ABSENT, EMPTY, NEGATIVE, NO_PROB, TRUE_POSITIVE
from salstats.study import HUMAN

_COUNTS = Counts._fields


def true_positive(full: pd.DataFrame, cases: set[str]) -> pd.DataFrame:
    """Return the true-positive slice of IoU and hits on the full slice, as `score` has it.

    Parameters
    ----------
    full : DataFrame
        `score(study, slice="full")`, metrics "iou" and "hit" only.
    cases : set of str
        The cases that the truth holds.
    """
    rows = _checked(full)[full["case"].isin(cases)].reset_index(drop=True)
    known = ((rows["metric"] == "iou") & rows["tp"].notna()).to_numpy()
    tp, fp, fn, _ = _counts(rows)
    if "slice" in rows:
        rows["slice"] = pd.array([TRUE_POSITIVE] * len(rows), dtype="str")
    absent, empty = known & (tp + fn == 0), known & (tp + fn > 0) & (tp + fp == 0)
    return _undefined(rows, {ABSENT: absent, EMPTY: empty})


def cut_off(full: pd.DataFrame, cutoffs: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """Return IoU on the full slice with masks empty below a probability, as `score(cutoff=)` has it.

    Parameters
    ----------
    full : DataFrame
        `score(study, slice="full")`, metric "iou".
    cutoffs : Mapping
        From (task, method); people have none.
    """
    rows = _checked(full)[full["metric"] == "iou"].reset_index(drop=True)
    least = np.array([cutoffs.get(key, -np.inf) for key in zip(rows["task"], rows["method"], strict=True)])
    least[(rows["method"] == HUMAN).to_numpy()] = -np.inf
    prob = rows["prob"].to_numpy() if "prob" in rows else np.full(len(rows), np.nan)
    known = rows["tp"].notna().to_numpy()
    unknown = known & np.isnan(prob) & (least > -np.inf)
    below = known & (prob < least)
    counts = _counts(rows)
    for name, values in zip(_COUNTS, counts.emptied(), strict=True):
        rows.loc[below, name] = values[below].astype("int64")
        rows.loc[unknown, name] = pd.NA
    rows.loc[below, "score"] = 0.0
    if "slice" in rows:
        before = [list(rows.columns).index(c) for c in ("slice", "threshold") if c in rows]
        rows.insert(max(before) + 1, "cutoff", np.where(least > -np.inf, least, np.nan))
    return _undefined(rows, {NEGATIVE: below & (counts.tp + counts.fn == 0), NO_PROB: unknown})


def _checked(full: pd.DataFrame) -> pd.DataFrame:
    """Return the scores, whose metrics must be those that the rules here are of."""
    others = set(full["metric"]) - {"iou", "hit"}
    if others:
        raise ColumnError(f"slices are made of iou and hit here, not of {', '.join(sorted(others))}")
    return full


def _counts(rows: pd.DataFrame) -> Counts:
    """Return pixels as floats, 0 where there are none."""
    return Counts(*(rows[c].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64) for c in _COUNTS))


def _undefined(rows: pd.DataFrame, reasons: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the rows, undefined for these reasons."""
    result = rows.copy()
    for reason, which in reasons.items():
        result.loc[which, "score"] = np.nan
        result.loc[which, "reason"] = reason
    return result
