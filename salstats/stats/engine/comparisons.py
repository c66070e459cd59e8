"""Pairs of a score and the reference's score on the same case, and the cells and estimand of a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import did_you_mean, quoted
from salstats.coded_text import TEXT
from salstats.errors import Message, SalstatsError, Setting, warn
from salstats.frames import ColumnCodes
from salstats.stats.engine.estimands import Cells, Estimand, Target, sum_cells
from salstats.stats.engine.grouping import (
    OVERALL,
    append_key_rows,
    average_over,
    checked_task_column,
    pool_over,
    warn_uneven_rows_per_case,
)
from salstats.stats.engine.resampling_units import Units
from salstats.stats.engine.score_reasons import is_row_of_absent_finding
from salstats.stats.engine.weighting import EQUAL_WEIGHTS, Weights

#: Values of `pairs=`: means of the complete pairs, or of all the scores that each side has.
PAIRS = ("complete", "available")
#: Value of `reference=` that compares every two methods, unless a method has this name.
ALL_PAIRS = "all"
#: Column of pairs with one score: the side without a score, "method" or "reference".
MISSING_SIDE = "missing_side"
#: Columns that always belong to the key of a pair.
KEY_COLUMNS_OF_PAIRS = ("dataset", "case", "task", "metric")
#: Columns that belong to the key of a pair if both the method and the reference have values in them.
OPTIONAL_KEY_COLUMNS = ("reader", "model", "seed")


@dataclass(frozen=True)
class Pairs:
    """Rows of scores of methods and of the reference with the same key.

    The pairs of all rows of the methods come first, in the order of the rows; then come those of rows of the
    reference for which a method has no row.
    """

    #: (n_pairs,): Row of the method, -1 where it has none.
    method_rows: NDArray[np.integer]
    #: (n_pairs,): Row of the reference, -1 where it has none.
    reference_rows: NDArray[np.integer]
    #: (n_pairs,): A row with the name of the method, also where `method_rows` is -1.
    method_name_rows: NDArray[np.integer]
    #: (n_pairs,): A row with the name of the reference, also where `reference_rows` is -1.
    reference_name_rows: NDArray[np.integer]

    @property
    def rows_with_pair_keys(self) -> NDArray[np.integer]:
        """Row of the scores with the key of each pair: the method's, or the reference's where it has none."""
        return np.where(self.method_rows >= 0, self.method_rows, self.reference_rows)


def _concatenated_pairs(pairs: Sequence[Pairs]) -> Pairs:
    """Concatenate sets of pairs."""
    return Pairs(
        method_rows=np.concatenate([subset.method_rows for subset in pairs]),
        reference_rows=np.concatenate([subset.reference_rows for subset in pairs]),
        method_name_rows=np.concatenate([subset.method_name_rows for subset in pairs]),
        reference_name_rows=np.concatenate([subset.reference_name_rows for subset in pairs]),
    )


def _reference_or_all_methods(scores: pd.DataFrame, reference: str) -> list[str]:
    """List the methods that serve as reference: `reference` only, or with "all" every method.

    With "all", methods with fewer of the columns reader, model and seed come first, because one of their rows
    may be paired with several rows of another method; ties keep the order of appearance.
    """
    methods = pd.unique(scores["method"])
    if reference != ALL_PAIRS or reference in methods:
        return [reference]
    has_value = scores[[c for c in OPTIONAL_KEY_COLUMNS if c in scores.columns]].notna()
    n_columns = has_value.groupby(scores["method"], observed=True).any().sum(axis=1)
    return sorted(methods, key=lambda method: n_columns[method])


def pair_rows_of_all_comparisons(codes: ColumnCodes, reference: str) -> Pairs:
    """Pair the rows of every method with those of `reference`, or with "all" the rows of any two methods.

    The reference of two methods is the one that `_reference_or_all_methods` lists first.
    """
    methods = _reference_or_all_methods(codes.frame, reference)
    if len(methods) == 1:
        return pairs_and_unpaired_rows(codes, methods[0])
    # two methods are paired once: with the one that comes first as the reference
    subsets = [
        pairs_and_unpaired_rows(codes, method, left_out_methods=methods[:i])
        for i, method in enumerate(methods[:-1])
    ]
    return _concatenated_pairs(subsets)


def pairs_and_unpaired_rows(
    codes: ColumnCodes, reference: str, left_out_methods: Sequence[str] = ()
) -> Pairs:
    """Pair the rows of every method, except those in `left_out_methods`, with the rows of `reference`.

    Pairs are formed on data set, case, task and metric, and on reader, model and seed where both the
    reference and the method have them. So one human score per case is paired with the scores of all seeds of
    a method, one score of a method with the scores of several readers, and scores that both have per seed are
    paired seed by seed. Rows of the reference without a partner are left out on a task or metric on which the
    method was never scored.
    """
    scores = codes.frame
    # as text, because methods may be numbers
    is_reference = (scores["method"].astype(TEXT) == str(reference)).to_numpy()
    _check_reference_is_one_of_several(scores, reference, is_reference)
    is_method = ~is_reference & ~scores["method"].isin(list(left_out_methods)).to_numpy()
    methods = codes.column("method").codes
    reference_rows = np.flatnonzero(is_reference)
    key_columns = [c for c in KEY_COLUMNS_OF_PAIRS if c in scores.columns]
    has_value = {c: scores[c].notna().to_numpy() for c in OPTIONAL_KEY_COLUMNS if c in scores.columns}
    # rows of the reference without a partner are pairs only in groups in which the method has scores
    groups = codes.combined([c for c in ("task", "metric") if c in scores.columns])
    n_groups = int(groups.max()) + 1
    keys_of_columns: dict[tuple[str, ...], np.ndarray] = {}
    merged = []
    unpaired_rows = []
    method_name_rows = []
    for method in pd.unique(methods[is_method]):
        method_rows = np.flatnonzero(is_method & (methods == method))
        shared_columns = tuple(
            c for c, filled in has_value.items() if filled[reference_rows].any() and filled[method_rows].any()
        )
        if shared_columns not in keys_of_columns:
            keys_of_columns[shared_columns] = codes.combined([*key_columns, *shared_columns])
        keys = keys_of_columns[shared_columns]
        # a row of the method is repeated if several rows of the reference, such as of readers, have its key
        method_keys = pd.DataFrame({"key": keys[method_rows], "method_row": method_rows})
        reference_keys = pd.DataFrame({"key": keys[reference_rows], "reference_row": reference_rows})
        merged.append(method_keys.merge(reference_keys, how="left", on="key"))
        is_scored = np.zeros(n_groups, dtype=bool)
        is_scored[groups[method_rows]] = True
        is_unpaired = ~np.isin(keys[reference_rows], keys[method_rows]) & is_scored[groups[reference_rows]]
        unpaired_with_method = reference_rows[is_unpaired]
        unpaired_rows.append(unpaired_with_method)
        method_name_rows.append(np.full(len(unpaired_with_method), method_rows[0]))
    pairs = pd.concat(merged).sort_values("method_row", kind="stable")
    paired_method_rows = pairs["method_row"].to_numpy()
    paired_reference_rows = pairs["reference_row"].fillna(-1).to_numpy(dtype=np.int64)
    unpaired = np.concatenate(unpaired_rows)
    return Pairs(
        method_rows=np.concatenate([paired_method_rows, np.full(len(unpaired), -1)]),
        reference_rows=np.concatenate([paired_reference_rows, unpaired]),
        method_name_rows=np.concatenate([paired_method_rows, *method_name_rows]),
        reference_name_rows=np.full(len(paired_method_rows) + len(unpaired), reference_rows[0]),
    )


def values_or_nan_at_rows(values: np.ndarray, rows: NDArray[np.integer]) -> np.ndarray:
    """Return the values of one side of pairs, NaN where its row is -1."""
    return np.where(rows >= 0, values[rows], np.nan)


def all_pairs_with_nan_for_missing_scores(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return the rows of every method but `reference`, with columns `reference_score` and `reference_reason`.

    `reference_score` is NaN where the reference has no row. Where the reference has a row that a method
    lacks, a row with `score` NaN stands for it (other columns from the reference's row), so that no case is
    dropped silently. `reference_reason` is made if the scores have a column `reason`.
    """
    pairs = pairs_and_unpaired_rows(ColumnCodes(scores), reference)
    paired = scores.iloc[pairs.rows_with_pair_keys].reset_index(drop=True)
    values = scores["score"].to_numpy(dtype=np.float64)
    paired["method"] = scores["method"].array.take(pairs.method_name_rows)
    paired = fill_missing_keys_from_reference(paired, scores, pairs.reference_rows)
    paired["score"] = values_or_nan_at_rows(values, pairs.method_rows)
    paired["reference_score"] = values_or_nan_at_rows(values, pairs.reference_rows)
    if "reason" in scores.columns:
        paired["reference_reason"] = scores["reason"].array.take(pairs.reference_rows, allow_fill=True)
    return paired


def complete_paired_rows(scores: pd.DataFrame, reference: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the pairs behind the function `difference`: rows of methods for which both scores are defined.

    The column `reference_score` is the reference's score, `difference` the method's score minus it. `by` are
    the grouping columns; where they name a model or seed that the reference does not have, its
    scores are repeated for each of them.
    """
    paired = all_pairs_with_nan_for_missing_scores(
        repeat_reference_per_model_and_seed(scores, reference, by), reference
    )
    complete = paired.dropna(subset=["score", "reference_score"]).reset_index(drop=True)
    return complete.assign(difference=complete["score"] - complete["reference_score"])


def fill_missing_keys_from_reference(
    paired: pd.DataFrame, scores: pd.DataFrame, reference_rows: NDArray[np.integer]
) -> pd.DataFrame:
    """Return pairs whose missing readers, models and seeds are those of the reference's rows.

    `paired` has a row for each pair, and `reference_rows` holds the rows of the reference in `scores`, or -1.
    """
    columns = [c for c in OPTIONAL_KEY_COLUMNS if c in scores.columns]
    reference_values = scores.take(reference_rows).set_axis(paired.index)[columns]
    filled = {c: paired[c].fillna(reference_values[c].where(reference_rows >= 0)) for c in columns}
    return paired.assign(**filled)


def repeat_reference_per_model_and_seed(
    scores: pd.DataFrame, reference: str, by: str | Sequence[str] | None
) -> pd.DataFrame:
    """Return scores in which the reference has a copy of its rows for every model, and for every seed.

    This applies to models, or seeds, only if they are in `by`, if all rows of the methods have one and if no
    row of the reference has. With the reference "all" every method is treated as the reference in turn.
    """
    if by is None:
        by_columns: tuple[str, ...] = ()
    elif isinstance(by, str):
        by_columns = (by,)
    else:
        by_columns = tuple(by)
    methods = _reference_or_all_methods(scores, reference)
    if len(methods) > 1:
        for method in methods:
            scores = repeat_reference_per_model_and_seed(scores, method, by)
        return scores
    for column in ("model", "seed"):
        if column not in by_columns or column not in scores.columns:
            continue
        is_reference = scores["method"].astype(TEXT) == str(reference)
        if not is_reference.any():
            continue
        reference_has_value = scores.loc[is_reference, column].notna().any()
        method_lacks_value = scores.loc[~is_reference, column].isna().any()
        if reference_has_value or method_lacks_value:
            continue
        reference_rows = scores[is_reference]
        method_rows = scores[~is_reference]
        copies = [reference_rows.assign(**{column: value}) for value in method_rows[column].unique()]
        scores = pd.concat([*copies, method_rows], ignore_index=True)
    return scores


def _check_reference_is_one_of_several(
    scores: pd.DataFrame, reference: str, is_reference: NDArray[np.bool_]
) -> None:
    """Raise SalstatsError unless the reference is one of several methods."""
    if not is_reference.any():
        methods = list(pd.unique(scores["method"]))
        if not reference:
            raise SalstatsError(
                Setting("reference"),
                " names no method",
                hint=f"take one of {quoted(methods)}",
                choices=map(str, methods),
            )
        raise SalstatsError(
            Setting("reference", reference),
            f" is not a method of these scores ({quoted(methods)}){did_you_mean(reference, methods)}",
            choices=map(str, methods),
        )
    if is_reference.all():
        raise SalstatsError(
            f"{reference!r} is the only method of these scores; there is nothing to compare",
            option="reference",
            value=reference,
        )


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison, as the public functions take them."""

    reference: str
    #: Grouping columns.
    by: list[str]
    #: One of `PAIRS`.
    pairs: str
    #: Grouping column to average over.
    average: str | None
    #: Add groups that are pooled over tasks.
    overall: bool
    #: Average the estimates of the groups, instead of estimating from averages of their means.
    averages_estimates: bool = False
    weights: Weights = EQUAL_WEIGHTS


@dataclass(frozen=True)
class PairedTarget:
    """A target with the complete pairs behind it."""

    #: Cells of methods, then of the reference.
    target: Target
    #: (n_rows,): Complete pairs of each estimate.
    n_pairs: np.ndarray
    #: (n_pairs,): The method's score of each complete pair.
    method_scores: np.ndarray
    #: (n_pairs,): The reference's score of each complete pair.
    reference_scores: np.ndarray
    #: (n_pairs,): Unit of each complete pair, as a code.
    units: NDArray[np.integer]
    #: (n_pairs,): Group of each complete pair.
    groups: NDArray[np.integer]
    #: (n_groups, n_groups_and_overall): True for the groups whose pairs are in each row of the result; rows
    #: that average other rows are left out.
    members: NDArray[np.bool_]
    #: Keys of the pairs in which a score is missing because the finding is absent.
    absent: pd.DataFrame
    #: Keys of the other pairs with one score, and the side without a score.
    one_sided: pd.DataFrame


def paired_target_of_scores(
    term: str, codes: ColumnCodes, units: Units, comparison: ComparisonOptions
) -> PairedTarget:
    """Pair scores with the reference's and return the target of the comparison with its pairs.

    `term` is "difference" or "percent_decrease".
    """
    scores = codes.frame
    weights = comparison.weights
    equal_units = units if weights.equal_unit_weights else None
    warn_uneven_rows_per_case(codes, [*comparison.by, "method"], equal_units)
    pairs = pair_rows_of_all_comparisons(codes, comparison.reference)
    values = scores["score"].to_numpy(dtype=np.float64)
    method_scores = values_or_nan_at_rows(values, pairs.method_rows)
    reference_scores = values_or_nan_at_rows(values, pairs.reference_rows)
    groups, first_pairs = _group_pairs_by_method_and_reference(codes, comparison.by, pairs)
    reference_cells = None
    is_repeated = None
    if comparison.pairs != "complete":
        if "task" not in comparison.by and "task" in scores.columns and scores["task"].nunique() > 1:
            warn(
                "with ",
                Setting("pairs", "available"),
                " a method and the reference are averaged over their own mixes of tasks",
                hint=Message("add 'task' to ", Setting("by"), ", or take ", Setting("pairs", "complete")),
                column="task",
            )
        reference_cells = _cells_of_all_reference_scores(codes, comparison, units, pairs, first_pairs)
        # a score that is in several pairs with a reference counts once
        method_and_reference = pd.DataFrame(
            {"method": pairs.method_rows, "reference": pairs.reference_name_rows}
        )
        is_repeated = method_and_reference.duplicated().to_numpy()
    pair_weights = None
    if weights.of_rows is not None:
        pair_weights = weights.of_rows[pairs.rows_with_pair_keys]
    paired_target = target_of_pairs(
        term,
        method_scores,
        reference_scores,
        replace(units, codes=units.codes[pairs.rows_with_pair_keys]),
        groups,
        _keys_with_method_and_reference(scores, comparison.by, pairs, first_pairs),
        comparison,
        weights=pair_weights,
        reference_cells=reference_cells,
        repeats_method_score=is_repeated,
    )
    absent = np.flatnonzero(_lacks_score_of_absent_finding(scores, pairs))
    return replace(
        paired_target,
        absent=_keys_with_method_and_reference(scores, comparison.by, pairs, absent),
        one_sided=one_sided_pairs_with_missing_side(
            scores, comparison.by, pairs, method_scores, reference_scores
        ),
    )


def target_of_pairs(
    term: str,
    method_scores: np.ndarray,
    reference_scores: np.ndarray,
    units: Units,
    groups: NDArray[np.integer],
    keys: pd.DataFrame,
    comparison: ComparisonOptions,
    *,
    weights: np.ndarray | None = None,
    reference_cells: Cells | None = None,
    repeats_method_score: NDArray[np.bool_] | None = None,
) -> PairedTarget:
    """Return the target of a comparison of pairs of scores, and its complete pairs.

    Parameters
    ----------
    term : str
        "difference" or "percent_decrease".
    method_scores, reference_scores : ndarray, shape (n_pairs,)
        Scores of each pair, NaN where there is none.
    units : Units
        Units of the pairs.
    groups : ndarray of int, shape (n_pairs,)
        Group of each pair, a row of `keys`.
    keys : DataFrame
        Grouping columns, method and reference of each group.
    comparison : ComparisonOptions
        Options.
    weights : ndarray, shape (n_pairs,), optional
        Weight of each pair.
    reference_cells : Cells, optional
        Cells of all scores of the reference; by default those of its scores in complete pairs. If given, the
        method's cells are also made of all its scores.
    repeats_method_score : ndarray of bool, shape (n_pairs,), optional
        Pairs whose method score is in an earlier pair. With `reference_cells` these scores are not counted
        again.
    """
    is_complete = ~np.isnan(method_scores) & ~np.isnan(reference_scores)

    def cells_of(scores: np.ndarray) -> Cells:
        """Return the cells of scores of one side of the pairs, shape (n_pairs,)."""
        return sum_cells(scores, units.codes, units.n, groups, len(keys), weights)

    if reference_cells is None:
        method_cells = cells_of(np.where(is_complete, method_scores, np.nan))
        reference_cells = cells_of(np.where(is_complete, reference_scores, np.nan))
    else:
        distinct_scores = method_scores
        if repeats_method_score is not None:
            distinct_scores = np.where(repeats_method_score, np.nan, method_scores)
        method_cells = cells_of(distinct_scores)
    n_pairs = np.bincount(groups[is_complete], minlength=len(keys))
    n_incomplete = np.bincount(groups[~is_complete], minlength=len(keys))
    method_cells = replace(method_cells, n_missing=n_incomplete)
    target, n_pairs, members = _comparison_target(
        term, method_cells, reference_cells, keys, n_pairs, comparison
    )
    no_keys = keys.iloc[:0]
    return PairedTarget(
        target=target,
        n_pairs=n_pairs,
        method_scores=method_scores[is_complete],
        reference_scores=reference_scores[is_complete],
        units=units.codes[is_complete],
        groups=groups[is_complete],
        members=members,
        absent=no_keys,
        one_sided=no_keys,
    )


def one_sided_pairs_with_missing_side(
    scores: pd.DataFrame,
    by: list[str],
    pairs: Pairs,
    method_values: np.ndarray,
    reference_values: np.ndarray,
) -> pd.DataFrame:
    """Return the keys of pairs with one of their two values (NaN: none), and the side without a value.

    Pairs in which a score is missing because the finding is absent are left out.
    """
    is_one_sided = np.isnan(method_values) != np.isnan(reference_values)
    if is_one_sided.any():
        is_one_sided &= ~_lacks_score_of_absent_finding(scores, pairs)
    positions = np.flatnonzero(is_one_sided)
    sides = np.where(np.isnan(method_values[positions]), "method", "reference")
    return _keys_with_method_and_reference(scores, by, pairs, positions).assign(**{MISSING_SIDE: sides})


class _ComparisonTarget(NamedTuple):
    """Target of a comparison, with the pairs and groups behind its rows."""

    target: Target
    #: (n_rows,): Complete pairs of each estimate.
    n_pairs: np.ndarray
    #: (n_groups, n_groups_and_overall): As `PairedTarget.members`.
    members: NDArray[np.bool_]


def _comparison_target(
    term: str,
    method: Cells,
    reference: Cells,
    keys: pd.DataFrame,
    n_pairs: np.ndarray,
    comparison: ComparisonOptions,
) -> _ComparisonTarget:
    """Return the target of the cells of a comparison.

    `n_pairs` are the complete pairs of each row of `keys`. The rows of the target are the groups, then the
    groups pooled over tasks ("Overall"), then the averages over a grouping column ("Average").
    """
    # a task in which only one side has scores says nothing about their difference
    is_defined = (method.counts.sum(axis=0) > 0) & (reference.counts.sum(axis=0) > 0)
    if comparison.averages_estimates:
        # the decreases of the tasks are averaged, and a decrease from a reference of 0 is undefined
        is_defined &= reference.means() != 0
    # messages do not name the reference if there is only one; its column is added again at the end
    constant_columns = {}
    if keys["reference"].nunique() == 1:
        constant_columns["reference"] = keys["reference"].iloc[0]
    keys = keys.drop(columns=list(constant_columns))
    n_groups = len(keys)
    average_weights, average_members, average_keys = average_over(
        keys, comparison.average, is_defined, comparison.weights.of_members
    )
    n_missing = method.n_missing
    n_pairs_of_averages = n_pairs @ (average_weights > 0)
    n_missing_of_averages = n_missing @ average_members
    members = np.eye(n_groups, dtype=bool)
    overall_weights = np.zeros((n_groups, 0))
    row_keys = keys
    if comparison.overall:
        overall_members, overall_keys = pool_over(keys, checked_task_column(comparison.by), OVERALL)
        defined_members = overall_members * is_defined[:, None]
        row_keys = append_key_rows(keys, overall_keys)
        if comparison.pairs == "complete":
            method = method.with_pooled(overall_members, is_defined)
            reference = reference.with_pooled(overall_members, is_defined)
        else:
            # the two sides have different mixes of tasks: both are weighted by the numbers of pairs instead
            overall_weights = defined_members * n_pairs[:, None].astype(np.float64)
        n_missing = np.concatenate([n_missing, n_missing @ overall_members])
        n_pairs = np.concatenate([n_pairs, n_pairs @ defined_members])
        members = np.hstack([members, defined_members.astype(bool)])
    if comparison.weights.equal_unit_weights:
        method = method.with_unit_means()
        reference = reference.with_unit_means()
    n_cells = method.sums.shape[1]
    weights = np.hstack([overall_weights, average_weights])
    # pooled cells enter no average
    pooled_weights = np.zeros((n_cells - n_groups, weights.shape[1]))
    weights = np.vstack([weights, pooled_weights])
    # (n_cells, n_rows): each cell is a row, and the averages follow
    identity = np.eye(n_cells)
    cell_weights = np.hstack([identity, weights])
    row_weights = None
    if comparison.averages_estimates:
        # each cell is a level of `Estimand`, and rows average the estimates of levels
        row_weights = cell_weights
        cell_weights = identity
    # the cells of the methods come first, then those of the reference
    zeros = np.zeros_like(cell_weights)
    estimand = Estimand(
        term,
        method_weights=np.vstack([cell_weights, zeros]),
        reference_weights=np.vstack([zeros, cell_weights]),
        row_weights=row_weights,
    )
    row_keys = append_key_rows(row_keys, average_keys).assign(**constant_columns).astype({"reference": TEXT})
    n_missing = np.concatenate([n_missing, n_missing_of_averages]).astype(np.int64)
    n_pairs = np.concatenate([n_pairs, n_pairs_of_averages]).astype(np.int64)
    target = Target(term, method.followed_by(reference), estimand, row_keys, n_missing)
    return _ComparisonTarget(target, n_pairs, members)


class _GroupsAndFirstPairs(NamedTuple):
    """The group of each pair, and a pair of each group."""

    #: (n_pairs,): Group of each pair.
    groups: NDArray[np.integer]
    #: (n_groups,): Position of the first pair of each group.
    first_pairs: NDArray[np.integer]


def _group_pairs_by_method_and_reference(
    codes: ColumnCodes, by: list[str], pairs: Pairs
) -> _GroupsAndFirstPairs:
    """Group pairs by the grouping columns, the method and the reference."""
    methods = codes.column("method")
    # a code for each combination of the grouping columns, the method and the reference
    combined = codes.combined(by)[pairs.rows_with_pair_keys]
    combined = combined * methods.n_codes + methods.codes[pairs.method_name_rows]
    combined = combined * methods.n_codes + methods.codes[pairs.reference_name_rows]
    _, first_pairs, groups = np.unique(combined, return_index=True, return_inverse=True)
    return _GroupsAndFirstPairs(groups, first_pairs)


def _keys_with_method_and_reference(
    scores: pd.DataFrame, by: list[str], pairs: Pairs, pair_positions: NDArray[np.integer]
) -> pd.DataFrame:
    """Return the grouping columns, method and reference of the pairs at some positions."""
    rows = pairs.rows_with_pair_keys[pair_positions]
    methods = scores["method"].array
    keys = {c: scores[c].array.take(rows) for c in by}
    keys["method"] = methods.take(pairs.method_name_rows[pair_positions])
    keys["reference"] = methods.take(pairs.reference_name_rows[pair_positions])
    return pd.DataFrame(keys).astype({"reference": TEXT})


def _cells_of_all_reference_scores(
    codes: ColumnCodes,
    comparison: ComparisonOptions,
    units: Units,
    pairs: Pairs,
    first_pairs: NDArray[np.integer],
) -> Cells:
    """Return cells of all scores of each group's reference, in the order of the groups.

    Groups that differ only in the method have the same cell of the reference. `first_pairs` is the position
    of one pair of each group.
    """
    methods = codes.column("method")
    by_codes = codes.combined(comparison.by)
    row_groups = by_codes * methods.n_codes + methods.codes
    # rows of the pair's method and of its reference agree in the other grouping columns
    reference_codes = methods.codes[pairs.reference_name_rows[first_pairs]]
    reference_groups = by_codes[pairs.rows_with_pair_keys[first_pairs]] * methods.n_codes + reference_codes
    distinct_groups, positions = np.unique(reference_groups, return_inverse=True)
    is_reference = np.isin(row_groups, distinct_groups)
    values = codes.frame["score"].to_numpy(dtype=np.float64)[is_reference]
    weights = None
    if comparison.weights.of_rows is not None:
        weights = comparison.weights.of_rows[is_reference]
    cells = sum_cells(
        values,
        units.codes[is_reference],
        units.n,
        np.searchsorted(distinct_groups, row_groups[is_reference]),
        len(distinct_groups),
        weights,
    )
    return cells.select(positions)


def _lacks_score_of_absent_finding(scores: pd.DataFrame, pairs: Pairs) -> NDArray[np.bool_]:
    """Return the pairs (bool, one per pair) that lack a score on a side because the finding is absent.

    Where a side has no row, the row of the other side says whether the finding is absent.
    """
    if not {"label", "reason"} & set(scores.columns):
        return np.zeros(len(pairs.method_rows), dtype=bool)
    is_undefined = scores["score"].isna().to_numpy()
    is_absent_row = is_row_of_absent_finding(scores)
    is_absent_score = is_absent_row & is_undefined
    # the reason of a method's score says nothing about the reference, but the label of the finding does
    is_absent_label = is_row_of_absent_finding(scores.drop(columns="reason", errors="ignore"))
    method_is_absent = np.where(
        pairs.method_rows >= 0, is_absent_score[pairs.method_rows], is_absent_row[pairs.reference_rows]
    )
    reference_is_absent = np.where(
        pairs.reference_rows >= 0, is_absent_score[pairs.reference_rows], is_absent_label[pairs.method_rows]
    )
    is_absent: NDArray[np.bool_] = method_is_absent | reference_is_absent
    return is_absent
