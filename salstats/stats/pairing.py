"""Put each score beside the reference's score on the same case, by key and never by position."""

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, did_you_mean, quoted
from salstats.frames import combined_codes

_ALWAYS = ("dataset", "case", "task", "metric")
_WHERE_BOTH_HAVE_THEM = ("reader", "model", "seed")


def pair_with_reference(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return the rows of every method but `reference`, with the reference's score beside each.

    Pairs are formed on data set, case, task and metric, and on reader, model and seed where both
    the reference and the methods have them: so one human score per case serves the five seeds of a
    method, and where both were made per seed they meet seed by seed.

    Parameters
    ----------
    scores : DataFrame
        A valid scores frame.
    reference : str
        The method to compare with.

    Returns
    -------
    DataFrame
        A new frame, default index: the other methods' rows with column `reference_score` (NaN where the
        reference is undefined or has no such row), and `reference_reason` where there is a `reason`. Where
        the reference has a row that a method lacks, a row with `score` NaN stands for it (other columns from
        the reference's row), so that nothing is dropped in silence.

    Raises
    ------
    SalstatsError
        `reference` is not among the methods, or it is the only one.
    ColumnError
        The reference has two rows for one key.
    """
    methods = list(pd.unique(scores["method"]))
    if reference not in methods:
        hint = did_you_mean(reference, methods)
        raise SalstatsError(
            f"reference={reference!r} is not a method of these scores ({quoted(methods)}){hint}"
        )
    others = [m for m in methods if m != reference]
    if not others:
        raise SalstatsError(f"{reference!r} is the only method of these scores; there is nothing to compare")
    is_reference = (scores["method"] == reference).to_numpy()
    on = [c for c in _ALWAYS if c in scores.columns]
    on += [
        c
        for c in _WHERE_BOTH_HAVE_THEM
        if c in scores.columns
        and scores.loc[is_reference, c].notna().any()
        and scores.loc[~is_reference, c].notna().any()
    ]
    codes = combined_codes(scores, on)
    n_keys = int(codes.max()) + 1
    reference_rows = np.flatnonzero(is_reference)
    position = np.full(n_keys, -1)
    position[codes[reference_rows]] = reference_rows
    if (np.bincount(codes[reference_rows], minlength=n_keys) > 1).any():
        key = int(np.flatnonzero(np.bincount(codes[reference_rows], minlength=n_keys) > 1)[0])
        row = int(position[key])
        shown = ", ".join(f"{c} {scores[c].iloc[row]}" for c in on)
        raise ColumnError(
            f"method {reference!r} has several rows for one key ({shown}), so a score has several to be "
            "compared with; average them first, or keep one"
        )
    method_rows = np.flatnonzero(~is_reference)
    values = scores["score"].to_numpy(dtype=np.float64)
    partner = position[codes[method_rows]]
    paired = scores.iloc[method_rows].copy()
    paired["reference_score"] = np.where(partner >= 0, values[partner], np.nan)
    if "reason" in scores.columns:
        paired["reference_reason"] = scores["reason"].array.take(partner, allow_fill=True)
    lacking = _reference_rows_without_partner(scores, others, codes, reference_rows, n_keys)
    if len(lacking):
        paired = pd.concat([paired, lacking], ignore_index=True)
    return paired.reset_index(drop=True)


def _reference_rows_without_partner(
    scores: pd.DataFrame, others: list[str], codes: np.ndarray, reference_rows: np.ndarray, n_keys: int
) -> pd.DataFrame:
    """Return one row per method and reference row that the method lacks, its score undefined."""
    parts = []
    methods = scores["method"].to_numpy()
    group_columns = [c for c in ("task", "metric") if c in scores.columns]
    groups = combined_codes(scores, group_columns)
    for method in others:
        rows = np.flatnonzero(methods == method)
        present = np.zeros(n_keys, dtype=bool)
        present[codes[rows]] = True
        # a method that was never scored on a task or metric is not compared there at all
        scored = np.zeros(int(groups.max()) + 1, dtype=bool)
        scored[groups[rows]] = True
        missing = reference_rows[~present[codes[reference_rows]] & scored[groups[reference_rows]]]
        if len(missing):
            part = scores.iloc[missing].copy()
            part["reference_score"] = part["score"]
            part["score"] = np.nan
            if "reason" in part.columns:
                part["reference_reason"] = part["reason"]
            part["method"] = method
            parts.append(part)
    return pd.concat(parts, ignore_index=True) if parts else scores.iloc[:0]
