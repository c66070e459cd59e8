"""The cells and memberships behind a comparison of methods with a reference."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from salstats.checks import warn
from salstats.frames import ColumnCodes, combined_codes
from salstats.stats.absent import absent_pairs
from salstats.stats.averages import average_over, warn_uneven_rows
from salstats.stats.cells import OVERALL, Cells, append_keys, index_groups, pool_over, sum_cells, with_overall
from salstats.stats.estimand import Estimand
from salstats.stats.grouping import check_overall
from salstats.stats.pairing import pair_with_reference
from salstats.stats.units import Units


@dataclass(frozen=True)
class ContrastDesign:
    """Cells of methods and reference, what to estimate from them, and which rows they came from.

    `row_codes` is the group of each row of `paired`, and `members` (n_groups, n_single) says which groups
    make up each row of the result that is not an average of others. `absent` holds the keys of the pairs of
    absent findings.
    """

    cells: Cells
    estimand: Estimand
    keys: pd.DataFrame
    n_pairs: np.ndarray
    n_missing: np.ndarray
    paired: pd.DataFrame
    row_codes: np.ndarray
    members: np.ndarray
    absent: pd.DataFrame


def contrast_design(
    kind: str,
    known: ColumnCodes,
    reference: str,
    by: list[str],
    units: Units,
    pairs: str,
    average: str | None,
    overall: bool,
    after: bool,
) -> ContrastDesign:
    """Return the cells of methods and reference with membership matrices."""
    scores = known.frame
    warn_uneven_rows(known, [*by, "method"])
    paired_rows = pair_with_reference(scores.assign(_unit=units.codes), reference)
    own = paired_rows["score"].to_numpy(dtype=np.float64)
    other = paired_rows["reference_score"].to_numpy(dtype=np.float64)
    complete = ~np.isnan(own) & ~np.isnan(other)
    codes, keys = index_groups(paired_rows, [*by, "method"])
    its_units = paired_rows["_unit"].to_numpy()

    def cells_of(values: np.ndarray) -> Cells:
        return sum_cells(values, its_units, units.n, codes, keys)

    if (
        pairs == "available"
        and "task" not in by
        and scores.get("task", pd.Series(dtype=object)).nunique() > 1
    ):
        warn(
            "with pairs='available' a method and the reference are averaged over their own mixes of tasks; "
            "add 'task' to by=, or take pairs='complete'"
        )
    if pairs == "complete":
        method, benchmark = (cells_of(np.where(complete, v, np.nan)) for v in (own, other))
    else:
        method = cells_of(own)
        benchmark = _reference_cells(known, reference, by, units, keys)
    n_pairs = np.bincount(codes[complete], minlength=len(keys))
    incomplete = np.bincount(codes[~complete], minlength=len(keys))
    method = replace(method, n_missing=incomplete)
    # a task of which only one side has scores says nothing about their difference
    defined = (method.counts.sum(axis=0) > 0) & (benchmark.counts.sum(axis=0) > 0)
    if after:
        # the task's own decrease is what is averaged, and it is undefined from a reference of 0
        defined &= benchmark.means() != 0
    column = average.removesuffix("_mean") if average and after else average
    averaged, belongs, averaged_keys = average_over(keys, column, defined)
    n_pairs_averaged, n_missing_averaged = n_pairs @ averaged, incomplete @ belongs
    members, weighted, all_keys = np.eye(len(keys), dtype=bool), np.zeros((len(keys), 0)), keys
    n_missing = incomplete
    if overall:
        belongs_overall, overall_keys = pool_over(keys, check_overall(by), OVERALL)
        pooled = belongs_overall * defined[:, None]
        all_keys = append_keys(keys, overall_keys)
        n_missing = np.concatenate([incomplete, incomplete @ belongs_overall])
        if pairs == "complete":
            method, benchmark = (with_overall(side, "task", defined) for side in (method, benchmark))
        else:
            # each side has its own mix of tasks: both are given the mix of the pairs
            weighted = pooled * n_pairs[:, None].astype(np.float64)
        n_pairs = np.concatenate([n_pairs, n_pairs @ pooled])
        members = np.hstack([members, pooled.astype(bool)])
    n_cells = len(method.keys)
    averaged = np.hstack([weighted, averaged])
    averaged = np.vstack([averaged, np.zeros((n_cells - len(keys), averaged.shape[1]))])
    rows = np.hstack([np.eye(n_cells), averaged])
    nothing = np.zeros_like(rows)
    if after:
        simple, none = np.eye(n_cells), np.zeros((n_cells, n_cells))
        estimand = Estimand(kind, np.vstack([simple, none]), np.vstack([none, simple]), rows)
    else:
        estimand = Estimand(kind, np.vstack([rows, nothing]), np.vstack([nothing, rows]))
    both = Cells(
        pd.concat([method.keys, benchmark.keys], ignore_index=True),
        np.hstack([method.sums, benchmark.sums]),
        np.hstack([method.counts, benchmark.counts]),
        np.concatenate([method.n_missing, benchmark.n_missing]),
        # method and reference of a group share their units
        np.tile(np.arange(n_cells), 2),
    )
    return ContrastDesign(
        both,
        estimand,
        append_keys(all_keys, averaged_keys).assign(reference=reference),
        np.concatenate([n_pairs, n_pairs_averaged]).astype(np.int64),
        np.concatenate([n_missing, n_missing_averaged]).astype(np.int64),
        paired_rows[complete],
        codes[complete],
        members,
        paired_rows.loc[absent_pairs(paired_rows), [*by, "method"]],
    )


def _reference_cells(
    known: ColumnCodes, reference: str, by: list[str], units: Units, keys: pd.DataFrame
) -> Cells:
    """Return the reference's own cells, one per row of `keys` (repeated over methods)."""
    scores = known.frame
    is_reference = (scores["method"] == reference).to_numpy()
    groups, group_keys = index_groups(scores, by, known)
    cells = sum_cells(
        scores["score"].to_numpy(dtype=np.float64)[is_reference],
        units.codes[is_reference],
        units.n,
        groups[is_reference],
        group_keys,
    )
    if not by:
        position = np.zeros(len(keys), dtype=np.int64)
    else:
        both = pd.concat([group_keys, keys[by]], ignore_index=True)
        codes = combined_codes(both, by)
        place = np.empty(int(codes.max()) + 1, dtype=np.int64)
        place[codes[: len(group_keys)]] = np.arange(len(group_keys))
        position = place[codes[len(group_keys) :]]
    return Cells(
        keys,
        cells.sums[:, position],
        cells.counts[:, position],
        cells.n_missing[position],
        np.arange(len(keys)),
    )
