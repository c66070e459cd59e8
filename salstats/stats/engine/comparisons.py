"""Each score beside the reference's on the same case, by key, and what a comparison of both is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, did_you_mean, quoted, warn
from salstats.frames import ColumnCodes
from salstats.stats.engine.carried import nothing_there
from salstats.stats.engine.design import (
    OVERALL,
    append_keys,
    average_over,
    check_overall,
    pool_over,
    warn_uneven_rows,
)
from salstats.stats.engine.estimands import Cells, Estimand, Target, sum_cells
from salstats.stats.engine.units import Units
from salstats.stats.engine.weighting import EQUAL, Weights

#: Which scores are compared: those of complete pairs, or each side's own.
PAIRS = ("complete", "available")
#: What `reference=` says for every two methods, unless a method is called so.
ALL = "all"
#: Column of pairs with one score: "method" or "reference", whose score they lack.
LACKING = "lacking"
#: What an observation is of, and what else tells it apart where all sides have it.
ALWAYS = ("dataset", "case", "task", "metric")
IF_GIVEN = ("reader", "model", "seed")


@dataclass(frozen=True)
class Pairs:
    """Rows of scores of methods and of the reference for the same key."""

    #: (n_pairs,): Row of the method and row of the reference, -1 where there is none. First come all rows
    #: of the methods in their order, then rows of the reference that a method lacks.
    own: np.ndarray
    partner: np.ndarray
    #: (n_pairs,): A row of the method, which tells its name also where `own` is -1, and one of the reference.
    like: np.ndarray
    reference: np.ndarray

    @property
    def source(self) -> np.ndarray:
        """Row that tells the key of each pair: the method's where it has one, else the reference's."""
        return np.where(self.own >= 0, self.own, self.partner)


def references_of(scores: pd.DataFrame, reference: str) -> list[str]:
    """Methods that others are compared with: the one named, or of "all" every one, in order of appearance.

    Those without a reader, model or seed stand first: one of their rows serves several of others.
    """
    methods = pd.unique(scores["method"])
    if reference != ALL or reference in methods:
        return [reference]
    given = scores[[c for c in IF_GIVEN if c in scores.columns]].notna()
    told = given.groupby(scores["method"], observed=True).any().sum(axis=1)
    return sorted(methods, key=lambda method: told[method])


def compared_rows(codes: ColumnCodes, reference: str) -> Pairs:
    """Pairs of every method with `reference`; with "all" of every two, the later one against the earlier."""
    methods = references_of(codes.frame, reference)
    if len(methods) == 1:
        return pair_rows(codes, methods[0])
    parts = [pair_rows(codes, method, methods[:i]) for i, method in enumerate(methods[:-1])]
    names = [field.name for field in fields(Pairs)]
    return Pairs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def pair_rows(codes: ColumnCodes, reference: str, without: Sequence[str] = ()) -> Pairs:
    """Pairs of every method, but those `without`, with `reference`.

    Pairs are formed on data set, case, task and metric, and on reader, model and seed where both the
    reference and the method have them. So one human score per case serves the five seeds of a method, one
    score of a method is compared with that of each of several readers, and where both were made per seed
    they meet seed by seed. A method that was never scored on a task or metric lacks nothing there.
    """
    scores = codes.frame
    # methods may be called 1 and 2
    is_reference = (scores["method"].astype("str") == str(reference)).to_numpy()
    _check_reference(scores, reference, is_reference)
    is_method = ~is_reference & ~scores["method"].isin(list(without)).to_numpy()
    theirs, methods = np.flatnonzero(is_reference), codes.column("method").codes
    filled = {c: scores[c].notna().to_numpy() for c in IF_GIVEN if c in scores.columns}
    groups = codes.combined([c for c in ("task", "metric") if c in scores.columns])
    keys_of: dict[tuple[str, ...], np.ndarray] = {}
    joined, lacking, like = [], [], []
    for method in pd.unique(methods[is_method]):
        its = np.flatnonzero(is_method & (methods == method))
        both = tuple(c for c, told in filled.items() if told[theirs].any() and told[its].any())
        if both not in keys_of:
            keys_of[both] = codes.combined([*(c for c in ALWAYS if c in scores.columns), *both])
        keys = keys_of[both]
        # a score stands beside each of the reference's for its key, as of several readers, or beside none
        beside = pd.DataFrame({"key": keys[theirs], "at": theirs})
        joined.append(pd.DataFrame({"key": keys[its], "own": its}).merge(beside, how="left", on="key"))
        scored = np.zeros(int(groups.max()) + 1, dtype=bool)
        scored[groups[its]] = True
        lacking.append(theirs[~np.isin(keys[theirs], keys[its]) & scored[groups[theirs]]])
        like.append(np.full(len(lacking[-1]), its[0]))
    pairs = pd.concat(joined).sort_values("own", kind="stable")
    own, partner = pairs["own"].to_numpy(), pairs["at"].fillna(-1).to_numpy(dtype=np.int64)
    lacked = np.concatenate(lacking)
    return Pairs(
        np.concatenate([own, np.full(len(lacked), -1)]),
        np.concatenate([partner, lacked]),
        np.concatenate([own, *like]),
        np.full(len(own) + len(lacked), theirs[0]),
    )


def pair_with_reference(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Rows of every method but `reference`, with `reference_score` (and `reference_reason`) beside each.

    NaN where the reference has none. Where it has a row that a method lacks, a row with `score` NaN
    stands for it (other columns from the reference's row), so that nothing is dropped in silence.
    """
    pairs = pair_rows(ColumnCodes(scores), reference)
    paired = scores.iloc[pairs.source].reset_index(drop=True)
    values = scores["score"].to_numpy(dtype=np.float64)
    paired["method"] = scores["method"].array.take(pairs.like)
    paired = told_apart(paired, scores, pairs.partner)
    paired["score"] = np.where(pairs.own >= 0, values[pairs.own], np.nan)
    paired["reference_score"] = np.where(pairs.partner >= 0, values[pairs.partner], np.nan)
    if "reason" in scores.columns:
        paired["reference_reason"] = scores["reason"].array.take(pairs.partner, allow_fill=True)
    return paired


def told_apart(paired: pd.DataFrame, scores: pd.DataFrame, partner: np.ndarray) -> pd.DataFrame:
    """Pairs with the reader, model and seed that only the reference has; `partner` are its rows, or -1."""
    its = scores.take(partner).set_axis(paired.index)[[c for c in IF_GIVEN if c in scores.columns]]
    return paired.assign(**{c: paired[c].fillna(its[c].where(partner >= 0)) for c in its.columns})


def reference_in_every_group(
    scores: pd.DataFrame, reference: str, by: str | Sequence[str] | None
) -> pd.DataFrame:
    """Scores with the reference's rows beside every model and seed, where it has none itself."""
    columns = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    if len(methods := references_of(scores, reference)) > 1:
        for method in methods:
            scores = reference_in_every_group(scores, method, by)
        return scores
    for column in (c for c in ("model", "seed") if c in columns and c in scores.columns):
        of_reference = scores["method"].astype("str") == str(reference)
        held = scores[column]
        if not of_reference.any() or held[of_reference].notna().any() or held[~of_reference].isna().any():
            continue
        shared, others = scores[of_reference], scores[~of_reference]
        copies = [shared.assign(**{column: value}) for value in others[column].unique()]
        scores = pd.concat([*copies, others], ignore_index=True)
    return scores


def _check_reference(scores: pd.DataFrame, reference: str, is_reference: np.ndarray) -> None:
    """Raise SalstatsError unless the reference is one of several methods."""
    if not is_reference.any():
        methods = list(pd.unique(scores["method"]))
        if not reference:
            raise SalstatsError(f"reference= names no method; take one of {quoted(methods)}")
        hint = did_you_mean(reference, methods)
        raise SalstatsError(
            f"reference={reference!r} is not a method of these scores ({quoted(methods)}){hint}"
        )
    if is_reference.all():
        raise SalstatsError(f"{reference!r} is the only method of these scores; there is nothing to compare")


@dataclass(frozen=True)
class Comparison:
    """What a public function is asked to compare, and how."""

    reference: str
    by: list[str]
    pairs: str
    average: str | None
    overall: bool
    after: bool = False
    weights: Weights = EQUAL


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
    #: Keys of the pairs of absent findings, and of the others that have one of their two scores only.
    absent: pd.DataFrame
    one_sided: pd.DataFrame


def compare(kind: str, codes: ColumnCodes, units: Units, asked: Comparison) -> Compared:
    """Cells of methods and reference, what to estimate from them, and the pairs they came from."""
    scores = codes.frame
    warn_uneven_rows(codes, [*asked.by, "method"], units if asked.weights.each_unit else None)
    pairs = compared_rows(codes, asked.reference)
    values = scores["score"].to_numpy(dtype=np.float64)
    own = np.where(pairs.own >= 0, values[pairs.own], np.nan)
    other = np.where(pairs.partner >= 0, values[pairs.partner], np.nan)
    groups, first = _groups(codes, asked.by, pairs)
    reference, again = None, np.zeros(len(own), dtype=bool)
    if asked.pairs != "complete":
        if "task" not in asked.by and "task" in scores.columns and scores["task"].nunique() > 1:
            warn(
                "with pairs='available' a method and the reference are averaged over their own mixes of "
                "tasks; add 'task' to by=, or take pairs='complete'"
            )
        reference = _own_cells_of_reference(codes, asked, units, pairs, first)
        # each score once, beside however many it stands
        again = pd.DataFrame({"own": pairs.own, "of": pairs.reference}).duplicated().to_numpy()
    of_rows = asked.weights.of_rows
    compared = compare_pairs(
        kind, own, other, replace(units, codes=units.codes[pairs.source]), groups,
        _keys(scores, asked.by, pairs, first), asked, None if of_rows is None else of_rows[pairs.source],
        reference, again,
    )  # fmt: skip
    absent = np.flatnonzero(_absent(scores, pairs))
    return replace(
        compared,
        absent=_keys(scores, asked.by, pairs, absent),
        one_sided=one_sided_pairs(scores, asked.by, pairs, own, other),
    )


def compare_pairs(
    kind: str,
    own: np.ndarray,
    other: np.ndarray,
    units: Units,
    groups: np.ndarray,
    keys: pd.DataFrame,
    asked: Comparison,
    weights: np.ndarray | None = None,
    reference: Cells | None = None,
    again: np.ndarray | bool = False,
) -> Compared:
    """What `compare` gives, of pairs of scores with the unit and the group of each.

    `reference` are its cells where they are not those of complete pairs, and `again` says which scores of the
    methods have stood in a pair before.
    """
    complete = ~np.isnan(own) & ~np.isnan(other)

    def cells_of(numbers: np.ndarray) -> Cells:
        return sum_cells(numbers, units.codes, units.n, groups, len(keys), weights)

    if reference is None:
        method, reference = (cells_of(np.where(complete, numbers, np.nan)) for numbers in (own, other))
    else:
        method = cells_of(np.where(again, np.nan, own))
    n_pairs = np.bincount(groups[complete], minlength=len(keys))
    method = replace(method, n_missing=np.bincount(groups[~complete], minlength=len(keys)))
    target, n_pairs, members = _target(kind, method, reference, keys, n_pairs, asked)
    pairs = own[complete], other[complete], units.codes[complete], groups[complete]
    return Compared(target, n_pairs, *pairs, members, keys.iloc[:0], keys.iloc[:0])


def one_sided_pairs(
    scores: pd.DataFrame, by: list[str], pairs: Pairs, own: np.ndarray, other: np.ndarray
) -> pd.DataFrame:
    """Return the keys of pairs with one of their two values (NaN: none), and which side lacks the other.

    Pairs of absent findings are left out.
    """
    one_sided = np.isnan(own) != np.isnan(other)
    if one_sided.any():
        one_sided &= ~_absent(scores, pairs)
    which = np.flatnonzero(one_sided)
    sides = np.where(np.isnan(own[which]), "method", "reference")
    return _keys(scores, by, pairs, which).assign(**{LACKING: sides})


def _target(
    kind: str, method: Cells, reference: Cells, keys: pd.DataFrame, n_pairs: np.ndarray, asked: Comparison
) -> tuple[Target, np.ndarray, np.ndarray]:
    """Target, pairs of each estimate, and which groups are in each row that is no average."""
    # a task of which only one side has scores says nothing about their difference
    defined = (method.counts.sum(axis=0) > 0) & (reference.counts.sum(axis=0) > 0)
    if asked.after:
        # the task's own decrease is what is averaged, and it is undefined from a reference of 0
        defined &= reference.means() != 0
    # one reference of all need not be told in messages
    of_all = keys["reference"].iloc[0]
    alike = ["reference"] if keys["reference"].nunique() == 1 else []
    keys = keys.drop(columns=alike)
    n_missing = method.n_missing
    averaged, belongs, averages = average_over(keys, asked.average, defined, asked.weights.of_members)
    pairs_averaged, missing_averaged = n_pairs @ (averaged > 0), n_missing @ belongs
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
    if asked.weights.each_unit:
        method, reference = method.of_units(), reference.of_units()
    n_cells = method.sums.shape[1]
    averaged = np.hstack([weighted, averaged])
    averaged = np.vstack([averaged, np.zeros((n_cells - len(keys), averaged.shape[1]))])
    each = np.eye(n_cells)
    rows = np.hstack([each, averaged])
    first, then = (each, rows) if asked.after else (rows, None)
    nothing = np.zeros_like(first)
    estimand = Estimand(kind, np.vstack([first, nothing]), np.vstack([nothing, first]), then)
    shown = append_keys(all_keys, averages).assign(**dict.fromkeys(alike, of_all))
    n_missing = np.concatenate([n_missing, missing_averaged]).astype(np.int64)
    n_pairs = np.concatenate([n_pairs, pairs_averaged]).astype(np.int64)
    return Target(kind, method.beside(reference), estimand, shown, n_missing), n_pairs, members


def _groups(codes: ColumnCodes, by: list[str], pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Group of each pair, by the grouping columns, the method, the reference, and each one's first pair."""
    methods = codes.column("method")
    both = codes.combined(by)[pairs.source] * methods.n_codes + methods.codes[pairs.like]
    both = both * methods.n_codes + methods.codes[pairs.reference]
    _, first, groups = np.unique(both, return_index=True, return_inverse=True)
    return groups, first


def _keys(scores: pd.DataFrame, by: list[str], pairs: Pairs, which: np.ndarray) -> pd.DataFrame:
    """Grouping columns, method and reference of some pairs."""
    source, methods = pairs.source[which], scores["method"].array
    keys = {c: scores[c].array.take(source) for c in by}
    keys |= {"method": methods.take(pairs.like[which]), "reference": methods.take(pairs.reference[which])}
    return pd.DataFrame(keys).astype({"reference": "str"})


def _own_cells_of_reference(
    codes: ColumnCodes, asked: Comparison, units: Units, pairs: Pairs, first: np.ndarray
) -> Cells:
    """Cells of all the own scores of each group's reference (repeated over methods)."""
    methods, by = codes.column("method"), codes.combined(asked.by)
    groups = by * methods.n_codes + methods.codes
    here = by[pairs.source[first]] * methods.n_codes + methods.codes[pairs.reference[first]]
    wanted, place = np.unique(here, return_inverse=True)
    theirs = np.isin(groups, wanted)
    values = codes.frame["score"].to_numpy(dtype=np.float64)[theirs]
    weights = asked.weights.of_rows
    cells = sum_cells(
        values,
        units.codes[theirs],
        units.n,
        np.searchsorted(wanted, groups[theirs]),
        len(wanted),
        None if weights is None else weights[theirs],
    )
    return cells.taken(place)


def _absent(scores: pd.DataFrame, pairs: Pairs) -> np.ndarray:
    """Which pairs lack a score of either side as the finding is absent."""
    if not {"label", "reason"} & set(scores.columns):
        return np.zeros(len(pairs.own), dtype=bool)
    nothing, undefined = nothing_there(scores), scores["score"].isna().to_numpy()
    absent, negative = nothing & undefined, nothing_there(scores.drop(columns="reason", errors="ignore"))
    of_method = np.where(pairs.own >= 0, absent[pairs.own], nothing[pairs.partner])
    return of_method | np.where(pairs.partner >= 0, absent[pairs.partner], negative[pairs.own])
