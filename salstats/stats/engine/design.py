"""A frame as numbers: the unit and the group of each row, which groups are pooled, and what to say of them.

A frame is coded once (`frames.ColumnCodes`); all that asks who is grouped or resampled asks the codes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, check_by, quoted, warn
from salstats.frames import DEFAULT_BY, ColumnCodes, case_key, coded_scores
from salstats.stats.engine.units import Units

#: What `by` rows hold that stand for several values of a column.
AVERAGE = "Average"
OVERALL = "Overall"


@dataclass(frozen=True)
class Design:
    """A frame's rows by unit and group."""

    #: The frame, coded.
    codes: ColumnCodes
    #: Grouping columns.
    by: list[str]
    #: (n_rows,): Group of each row.
    groups: np.ndarray
    #: Grouping columns of each group, sorted.
    keys: pd.DataFrame
    #: What is resampled.
    units: Units

    @property
    def frame(self) -> pd.DataFrame:
        """The frame itself."""
        return self.codes.frame


def mean_of_rows_design(
    codes: ColumnCodes, by: list[str], units: Units, *, each_unit: bool = False
) -> Design:
    """Design for a mean over rows, with a warning of what makes such a mean misleading."""
    warn_pooled_methods(codes.frame, by)
    warn_uneven_rows(codes, by, units if each_unit else None)
    return Design(codes, by, *index_groups(codes, by), units)


def index_groups(codes: ColumnCodes, by: Sequence[str]) -> tuple[np.ndarray, pd.DataFrame]:
    """Group of each row, and the grouping columns of each group in sorted order."""
    if not by:
        return np.zeros(len(codes.frame), dtype=np.int64), pd.DataFrame(index=pd.RangeIndex(1))
    groups = codes.combined(by)
    first = np.empty(int(groups.max()) + 1, dtype=np.int64)
    # the last assignment wins, so going backwards leaves each group's first row
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    return groups, pd.DataFrame({c: codes.frame[c].array.take(first) for c in by})


def row_groups(
    codes: ColumnCodes, by: Sequence[str], *, overall: bool = False
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Grouping columns of each group in sorted order, and the rows of each, ascending.

    With `overall` the groups pooled over tasks, `task` being "Overall", come after the tasks they are made
    of.
    """
    groups, keys = index_groups(codes, by)
    order = np.argsort(groups, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(groups))[:-1])
    if not overall:
        return keys, rows
    membership, pooled = pool_over(keys, check_overall(by), OVERALL)
    rows += [np.sort(np.concatenate([rows[g] for g in np.flatnonzero(member)])) for member in membership.T]
    keys = append_keys(keys, pooled)
    shown = display_order(keys)
    return keys.iloc[shown].reset_index(drop=True), [rows[i] for i in shown]


def check_overall(by: Sequence[str]) -> str:
    """Column that overall rows pool over."""
    if "task" not in by:
        raise ColumnError("overall=True (--overall) adds rows pooled over tasks, so 'task' must be in by")
    return "task"


def metrics_of(keys: pd.DataFrame, scores: pd.DataFrame) -> np.ndarray:
    """Metric of each group: its own, or the only one that there is."""
    named = keys["metric"] if "metric" in keys.columns else scores["metric"].iloc[[0] * len(keys)]
    return named.astype("str").to_numpy(dtype=object)


def coded_by(
    scores: object, by: str | Sequence[str] | None, default: Sequence[str], without: str = ""
) -> tuple[ColumnCodes, list[str]]:
    """Scores, checked and coded, and the grouping columns; a warning of what nobody said to take together."""
    codes = coded_scores(scores)
    columns = [c for c in check_by(codes.frame, by, default) if c != without]
    warn_pooled_by_default(codes.frame, by, columns)
    return codes, columns


def check_one_metric(codes: ColumnCodes, by: Sequence[str]) -> None:
    """Raise where scores of several metrics would be averaged together."""
    if "metric" in by or codes.column("metric").n_codes == 1:
        return
    metrics = pd.unique(codes.frame["metric"])
    if len(metrics) > 1:
        raise ColumnError(
            f"the scores hold {len(metrics)} metrics ({', '.join(map(str, metrics[:4]))}); "
            "add 'metric' to by, or keep one of them"
        )


def pool_over(keys: pd.DataFrame, column: str, label: str) -> tuple[np.ndarray, pd.DataFrame]:
    """Membership (n_groups, n_pooled) of groups in those pooled over `column`, and the keys of the latter."""
    if (keys[column].astype("object") == label).any():
        raise ColumnError(f"column {column!r} holds {label!r}, the name of the row to be added; rename it")
    rest = [c for c in keys.columns if c != column]
    groups, pooled = index_groups(ColumnCodes(keys), rest)
    membership = np.zeros((len(keys), len(pooled)), dtype=np.int64)
    membership[np.arange(len(keys)), groups] = 1
    pooled[column] = label
    return membership, pooled[list(keys.columns)]


def append_keys(keys: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Grouping columns with rows added; categorical columns keep their order, new labels last."""
    if not len(added):
        return keys
    keys, added = keys.copy(), added.copy()
    for column in keys.columns:
        if isinstance(keys[column].dtype, pd.CategoricalDtype):
            known = keys[column].cat.categories
            wider = [*known, *(v for v in pd.unique(added[column]) if v not in known)]
            for frame in (keys, added):
                frame[column] = pd.Categorical(frame[column].astype("object"), wider, ordered=True)
    return pd.concat([keys, added], ignore_index=True)


def display_order(keys: pd.DataFrame) -> np.ndarray:
    """Order of rows of `index_groups`: by the grouping columns in turn, "Overall" and "Average" last."""
    ranks_of = {OVERALL: 1, AVERAGE: 2}
    special = []
    for column in keys.columns:
        labels = keys[column].to_numpy(dtype=object)
        special.append(np.array([ranks_of.get(v, 0) if isinstance(v, str) else 0 for v in labels]))
    if not any(ranks.any() for ranks in special):
        return np.arange(len(keys))
    codes = ColumnCodes(keys)
    ordinary = [codes.combined([column]) for column in keys.columns]
    # lexsort takes its first key last
    return np.lexsort([k for pair in zip(special, ordinary, strict=True) for k in pair][::-1])


def average_over(
    keys: pd.DataFrame, average: str | None, defined: np.ndarray, weights: Mapping[Any, float] | None = None
) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Groups that enter each "Average" row over a grouping column, and the keys of these rows.

    Groups that are not `defined` stay out, and a warning names them. The two memberships (n_groups,
    n_averages) say which groups enter an average (float64), and which would if they were defined (int).
    With `weights` of the values averaged over, members have these, and those of weight 0 stay out.
    """
    if average is None:
        nothing = np.zeros((len(keys), 0))
        return nothing, nothing.astype(np.int64), keys.iloc[:0]
    if average in ("method", "metric"):
        raise ColumnError(
            f"average={average!r} would mix {average}s; average over tasks, readers or the like"
        )
    if average not in keys.columns:
        raise ColumnError(f"average={average!r} is not a grouping column ({', '.join(keys.columns)})")
    belongs, pooled = pool_over(keys, average, AVERAGE)
    share = np.ones(len(keys))
    if weights is not None:
        share = keys[average].astype("object").map(weights).to_numpy(dtype=np.float64)
        belongs = belongs * (share > 0)[:, None]
    members = belongs * (defined * share)[:, None]
    _warn_different_members(keys[share > 0], average, members[share > 0], pooled)
    return members, belongs, pooled


def is_average(keys: pd.DataFrame, average: str | None) -> np.ndarray:
    """Which rows are averages over a column."""
    if average is None:
        return np.zeros(len(keys), dtype=bool)
    return (keys[average].astype("object") == AVERAGE).to_numpy()


def summary_rows(keys: pd.DataFrame) -> np.ndarray:
    """Which rows are averages over others, or pool them: "Average" or "Overall" in a grouping column."""
    columns = keys.columns.difference(["method", "reference", "metric"])
    return keys[columns].astype("object").isin([AVERAGE, OVERALL]).any(axis=1).to_numpy(dtype=bool)


def _warn_different_members(
    keys: pd.DataFrame, average: str, members: np.ndarray, pooled: pd.DataFrame
) -> None:
    """Warn where averages that stand side by side are not over the same tasks."""
    values = keys[average].astype("str").to_numpy()
    by_metric = "metric" in pooled.columns
    metrics = keys["metric"].astype("str").to_numpy() if by_metric else np.zeros(len(keys))
    lacking = []
    for row in range(len(pooled)):
        side_by_side = metrics == str(pooled["metric"].iloc[row]) if by_metric else metrics == 0
        absent = set(values[side_by_side]) - set(values[members[:, row] > 0])
        if absent:
            rest = group_label(pooled.drop(columns=average), row)
            lacking.append(f"{rest}: {', '.join(sorted(absent))}")
    if lacking:
        warn(f"averages over {average} are not over the same: nothing is defined for {group_list(lacking)}")


def warn_uneven_rows(codes: ColumnCodes, by: Sequence[str], alike: Units | None = None) -> None:
    """Warn where cases of one group have different numbers of readers, models or seeds.

    Units that count `alike` need none if each is a case.
    """
    frame = codes.frame
    if alike is not None and alike.n == len(np.unique(codes.combined(case_key(frame)))):
        return
    repeated = [c for c in ("reader", "model", "seed") if c in frame.columns and c not in by]
    # an undefined score does not count, so a case with four of five undefined counts once
    defined = frame["score"].notna().to_numpy() if repeated else np.zeros(0, dtype=bool)
    if not defined.any():
        return
    key = [*by, *(c for c in ("dataset", "case", "task", "method", "metric") if c in frame.columns)]
    cases = codes.combined(list(dict.fromkeys(key)))
    # in one order, so that what is true of means and of differences is said once in a report
    groups, names = index_groups(
        codes, [c for c in DEFAULT_BY if c in by] + [c for c in by if c not in DEFAULT_BY]
    )
    _, first, per_case = np.unique(cases[defined], return_index=True, return_counts=True)
    group_of_case = groups[defined][first]
    least = np.full(len(names), np.iinfo(np.int64).max)
    most = np.zeros(len(names), dtype=np.int64)
    np.minimum.at(least, group_of_case, per_case)
    np.maximum.at(most, group_of_case, per_case)
    uneven = least < most
    if uneven.any():
        warn(
            f"cases have {least[uneven].min()} to {most[uneven].max()} rows each ({', '.join(repeated)}) in "
            f"{named_groups(names, uneven)}; every row counts, so a case with "
            "more rows counts more: average each case first if that is not meant; where cases are the unit "
            "weights='unit' does"
        )


def warn_pooled_methods(frame: pd.DataFrame, by: Sequence[str]) -> None:
    """Warn where rows of several methods are taken together: a human and a saliency method, say."""
    if "method" in frame.columns and "method" not in by:
        methods = [str(m) for m in pd.unique(frame["method"].dropna())]
        if len(methods) > 1:
            warn(
                f"rows of {len(methods)} methods ({quoted(methods)}) are taken together; "
                "add 'method' to by=, or keep one of them"
            )


def warn_pooled_by_default(
    frame: pd.DataFrame,
    asked: object,
    by: Sequence[str],
    apart: Sequence[str] = (),
    instead: str = "",
) -> bool:
    """Warn of rows that nobody said to take together, and return whether there are any.

    See `pooled_by_default`.
    """
    pooled = pooled_by_default(frame, asked, by, apart, instead)
    if pooled:
        warn(pooled)
    return bool(pooled)


def pooled_by_default(
    frame: pd.DataFrame,
    asked: object,
    by: Sequence[str],
    apart: Sequence[str] = (),
    instead: str = "",
) -> str:
    """Describe where groups hold several tasks, data sets or models and nobody said by=; "" where none does.

    What differs between tasks would be taken for a relation within them. Columns that are `apart` are held
    apart otherwise, as strata or terms of a formula. `instead` is another remedy, in which {first} is the
    first of the columns that are pooled and {terms} all of them as terms.
    """
    if asked is not None:
        return ""
    candidates = [c for c in ("task", "dataset", "model") if c in frame.columns and c not in (*by, *apart)]
    pooled = [c for c in candidates if _is_pooled(frame, c, by)]
    if not pooled:
        return ""
    what = " and ".join(f"{frame[c].nunique()} values of {c!r}" for c in pooled)
    remedy = instead.format(first=pooled[0], terms=" + ".join(pooled))
    other = f", {remedy}" if remedy else ""
    return (
        f"scores of {what} are taken together; say by={[*by, *pooled]} to have each for itself{other}, or "
        f"by={list(by)} if that is meant"
    )


def _is_pooled(frame: pd.DataFrame, column: str, by: Sequence[str]) -> bool:
    """Whether a group holds several values of a column, of which one is in several rows."""
    if frame[column].nunique() < 2 or not frame.duplicated([*by, column]).any():
        # where each row has a value of its own the values are what is observed
        return False
    if not by:
        return True
    return bool(frame.groupby(list(by), observed=True, dropna=False)[column].nunique().max() > 1)


def group_label(keys: pd.DataFrame, group: int) -> str:
    """Name of a group for a message, such as 'method gradcam, task Edema'."""
    return group_labels(keys, np.array([group]))[0]


def group_labels(keys: pd.DataFrame, groups: np.ndarray) -> list[str]:
    """Names of some groups for a message, as `group_label` gives them."""
    if not len(keys.columns):
        return ["all rows"] * len(groups)
    columns = []
    for name in keys.columns:
        columns.append([f"{name} {value}" for value in keys[name].array.take(groups)])
    return [", ".join(parts) for parts in zip(*columns, strict=True)]


def group_list(labels: Sequence[str], shown: int = 4) -> str:
    """Names of the first few groups for a message, and how many more there are."""
    more = f" and {len(labels) - shown} more" if len(labels) > shown else ""
    return "; ".join(labels[:shown]) + more


def named_groups(keys: pd.DataFrame, which: np.ndarray) -> str:
    """Names of the groups in question (bool, one per group), for a message."""
    return group_list(group_labels(keys, np.flatnonzero(which)))
