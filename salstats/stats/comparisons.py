"""Methods beside a reference: their pairs, and the cells and averages that a comparison is made of."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from salstats.checks import warn
from salstats.frames import ColumnCodes
from salstats.stats.carried import nothing_there
from salstats.stats.design import (
    OVERALL,
    Units,
    append_keys,
    average_over,
    check_overall,
    pool_over,
    warn_uneven_rows,
)
from salstats.stats.estimands import Cells, Estimand, Target, sum_cells
from salstats.stats.pairing import Pairs, pair_rows


@dataclass(frozen=True)
class Comparison:
    """What a public function is asked to compare, and how.

    `after` says that decreases are averaged over `average`, instead of taken of averages.
    """

    reference: str
    by: list[str]
    pairs: str
    average: str | None
    overall: bool
    after: bool = False


@dataclass(frozen=True)
class Compared:
    """A target with the complete pairs behind it."""

    #: Cells of methods, then of the reference.
    target: Target
    #: (n_rows,): Complete pairs of each estimate.
    n_pairs: np.ndarray
    #: (n_pairs,): Both scores of each complete pair, its unit and its group.
    own: np.ndarray
    other: np.ndarray
    units: np.ndarray
    groups: np.ndarray
    #: (n_groups, n_single): Which groups make up each row of the result that is not an average of others.
    members: np.ndarray
    #: Keys of the pairs of absent findings.
    absent: pd.DataFrame


def compare(kind: str, codes: ColumnCodes, units: Units, asked: Comparison) -> Compared:
    """Cells of methods and reference, what to estimate from them, and the pairs they came from."""
    scores = codes.frame
    warn_uneven_rows(codes, [*asked.by, "method"])
    pairs = pair_rows(codes, asked.reference)
    values = scores["score"].to_numpy(dtype=np.float64)
    own = np.where(pairs.own >= 0, values[pairs.own], np.nan)
    other = np.where(pairs.partner >= 0, values[pairs.partner], np.nan)
    complete = ~np.isnan(own) & ~np.isnan(other)
    its_units = units.codes[pairs.source]
    groups, first = _groups(codes, asked.by, pairs)
    keys = _keys(scores, asked.by, pairs, first)

    def cells_of(numbers: np.ndarray) -> Cells:
        return sum_cells(numbers, its_units, units.n, groups, len(keys))

    if asked.pairs == "complete":
        method, reference = (cells_of(np.where(complete, numbers, np.nan)) for numbers in (own, other))
    else:
        if "task" not in asked.by and "task" in scores.columns and scores["task"].nunique() > 1:
            warn(
                "with pairs='available' a method and the reference are averaged over their own mixes of "
                "tasks; add 'task' to by=, or take pairs='complete'"
            )
        method = cells_of(own)
        reference = _own_cells_of_reference(codes, asked, units, pairs.source[first])
    n_pairs = np.bincount(groups[complete], minlength=len(keys))
    method = replace(method, n_missing=np.bincount(groups[~complete], minlength=len(keys)))
    target, n_pairs, members = _target(kind, method, reference, keys, n_pairs, asked)
    return Compared(
        target,
        n_pairs,
        own[complete],
        other[complete],
        its_units[complete],
        groups[complete],
        members,
        _keys(scores, asked.by, pairs, np.flatnonzero(_absent(scores, pairs))),
    )


def _target(
    kind: str, method: Cells, reference: Cells, keys: pd.DataFrame, n_pairs: np.ndarray, asked: Comparison
) -> tuple[Target, np.ndarray, np.ndarray]:
    """Target, pairs of each estimate, and which groups are in each row that is no average."""
    # a task of which only one side has scores says nothing about their difference
    defined = (method.counts.sum(axis=0) > 0) & (reference.counts.sum(axis=0) > 0)
    if asked.after:
        # the task's own decrease is what is averaged, and it is undefined from a reference of 0
        defined &= reference.means() != 0
    n_missing = method.n_missing
    averaged, belongs, averages = average_over(keys, asked.average, defined)
    pairs_averaged, missing_averaged = n_pairs @ averaged, n_missing @ belongs
    members, weighted, all_keys = np.eye(len(keys), dtype=bool), np.zeros((len(keys), 0)), keys
    if asked.overall:
        belongs, overall_keys = pool_over(keys, check_overall(asked.by), OVERALL)
        pooled = belongs * defined[:, None]
        all_keys = append_keys(keys, overall_keys)
        if asked.pairs == "complete":
            method, reference = (side.pooled(belongs, defined) for side in (method, reference))
        else:
            # each side has its own mix of tasks: both are given the mix of the pairs
            weighted = pooled * n_pairs[:, None].astype(np.float64)
        n_missing = np.concatenate([n_missing, n_missing @ belongs])
        n_pairs = np.concatenate([n_pairs, n_pairs @ pooled])
        members = np.hstack([members, pooled.astype(bool)])
    n_cells = method.sums.shape[1]
    averaged = np.hstack([weighted, averaged])
    averaged = np.vstack([averaged, np.zeros((n_cells - len(keys), averaged.shape[1]))])
    each = np.eye(n_cells)
    rows = np.hstack([each, averaged])
    first, then = (each, rows) if asked.after else (rows, None)
    nothing = np.zeros_like(first)
    estimand = Estimand(kind, np.vstack([first, nothing]), np.vstack([nothing, first]), then)
    shown = append_keys(all_keys, averages).assign(reference=asked.reference)
    n_missing = np.concatenate([n_missing, missing_averaged]).astype(np.int64)
    n_pairs = np.concatenate([n_pairs, pairs_averaged]).astype(np.int64)
    return Target(kind, method.beside(reference), estimand, shown, n_missing), n_pairs, members


def _groups(codes: ColumnCodes, by: list[str], pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Group of each pair, by the grouping columns and then the method, and the first pair of each."""
    methods = codes.column("method")
    both = codes.combined(by)[pairs.source] * methods.n_codes + methods.codes[pairs.like]
    _, first, groups = np.unique(both, return_index=True, return_inverse=True)
    return groups, first


def _keys(scores: pd.DataFrame, by: list[str], pairs: Pairs, which: np.ndarray) -> pd.DataFrame:
    """Grouping columns and method of some pairs."""
    source, like = pairs.source[which], pairs.like[which]
    keys = {c: scores[c].array.take(source) for c in by}
    return pd.DataFrame({**keys, "method": scores["method"].array.take(like)})


def _own_cells_of_reference(codes: ColumnCodes, asked: Comparison, units: Units, rows: np.ndarray) -> Cells:
    """Cells of all the reference's own scores, for the groups that `rows` are of (repeated over methods)."""
    theirs = (codes.frame["method"] == asked.reference).to_numpy()
    groups = codes.combined(asked.by)
    values = codes.frame["score"].to_numpy(dtype=np.float64)[theirs]
    cells = sum_cells(values, units.codes[theirs], units.n, groups[theirs], int(groups.max()) + 1)
    here = groups[rows]
    return Cells(cells.sums[:, here], cells.counts[:, here], cells.n_missing[here], np.arange(len(here)))


def _absent(scores: pd.DataFrame, pairs: Pairs) -> np.ndarray:
    """Return which pairs lack a score of either side as the finding is absent."""
    if not {"label", "reason"} & set(scores.columns):
        return np.zeros(len(pairs.own), dtype=bool)
    nothing, undefined = nothing_there(scores), scores["score"].isna().to_numpy()
    absent, negative = nothing & undefined, nothing_there(scores.drop(columns="reason", errors="ignore"))
    of_method = np.where(pairs.own >= 0, absent[pairs.own], nothing[pairs.partner])
    return of_method | np.where(pairs.partner >= 0, absent[pairs.partner], negative[pairs.own])
