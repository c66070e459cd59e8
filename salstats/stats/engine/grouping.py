"""Groups and units of a frame's rows, groups that are pooled or averaged, and names of groups for messages.

A frame is coded once (`frames.ColumnCodes`), and groups and units are made from the codes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, ColumnValue, Message, MessagePart, SalstatsWarning, Setting, warn
from salstats.frames import DEFAULT_BY, ColumnCodes, coded_scores, dataset_and_case_columns
from salstats.stats.engine.resampling_units import Units

#: Value of a grouping column in rows that average the estimates of several of its values.
AVERAGE = "Average"
#: Value of `task` in rows that pool the scores of several tasks.
OVERALL = "Overall"


@dataclass(frozen=True)
class GroupedRows:
    """Rows of a data frame, with the unit and the group of each."""

    #: The data frame, with the codes of each column's values.
    codes: ColumnCodes
    #: Grouping columns.
    by: list[str]
    #: (n_rows,): Group of each row.
    groups: NDArray[np.integer]
    #: Grouping columns of each group, sorted.
    keys: pd.DataFrame
    units: Units

    @property
    def frame(self) -> pd.DataFrame:
        """The data frame whose rows are grouped, with all its columns."""
        return self.codes.frame


def group_rows_for_means(
    codes: ColumnCodes, by: list[str], units: Units, *, units_are_weighted_later: bool = False
) -> GroupedRows:
    """Group rows for means of their scores, with warnings if such means mislead.

    It warns of methods that are taken together and of cases with different numbers of rows; with
    `units_are_weighted_later` not of the latter if a unit is a case, since the means of units then count
    alike. No weights are made here.
    """
    warn_pooled_methods(codes.frame, by)
    equal_units = units if units_are_weighted_later else None
    warn_uneven_rows_per_case(codes, by, equal_units)
    groups, keys = index_groups(codes, by)
    return GroupedRows(codes, by, groups, keys, units)


class GroupIndex(NamedTuple):
    """Groups of the rows of a frame."""

    #: (n_rows,): Group of each row, a position in `keys`.
    codes: NDArray[np.integer]
    #: Grouping columns of each group, sorted.
    keys: pd.DataFrame


def index_groups(codes: ColumnCodes, by: Sequence[str]) -> GroupIndex:
    """Group the rows of a frame by some columns; without columns all rows are one group."""
    if not by:
        one_group = np.zeros(len(codes.frame), dtype=np.int64)
        return GroupIndex(one_group, pd.DataFrame(index=pd.RangeIndex(1)))
    groups = codes.combined(by)
    first_rows = np.empty(int(groups.max()) + 1, dtype=np.int64)
    # the last assignment wins, so that going backwards leaves each group's first row
    backwards = np.arange(len(groups) - 1, -1, -1)
    first_rows[groups[backwards]] = backwards
    keys = pd.DataFrame({column: codes.frame[column].array.take(first_rows) for column in by})
    return GroupIndex(groups, keys)


class RowsOfGroups(NamedTuple):
    """Groups and the rows of each."""

    #: Grouping columns of each group, sorted.
    keys: pd.DataFrame
    #: Rows of each group, ascending.
    rows: list[NDArray[np.integer]]


def row_groups(codes: ColumnCodes, by: Sequence[str], *, overall: bool = False) -> RowsOfGroups:
    """Group the rows of a frame by some columns, and list the rows of each group.

    With `overall` groups pooled over tasks, whose `task` is "Overall", follow the tasks that they pool.
    """
    groups, keys = index_groups(codes, by)
    order = np.argsort(groups, kind="stable")
    rows: list[NDArray[np.integer]] = np.split(order, np.cumsum(np.bincount(groups))[:-1])
    if not overall:
        return RowsOfGroups(keys, rows)
    membership, pooled_keys = pool_over(keys, checked_task_column(by), OVERALL)
    pooled_rows = []
    for is_member in membership.T:
        rows_of_members = [rows[group] for group in np.flatnonzero(is_member)]
        pooled_rows.append(np.sort(np.concatenate(rows_of_members)))
    rows += pooled_rows
    keys = append_key_rows(keys, pooled_keys)
    sorted_groups = display_order(keys)
    sorted_keys = keys.iloc[sorted_groups].reset_index(drop=True)
    return RowsOfGroups(sorted_keys, [rows[group] for group in sorted_groups])


def checked_task_column(by: Sequence[str]) -> str:
    """Return the column that "Overall" rows pool over, "task"; raise ColumnError if it is not in `by`."""
    if "task" not in by:
        raise ColumnError(
            Setting("overall", True),
            " adds rows pooled over tasks, so 'task' must be in ",
            Setting("by"),
            column="task",
        )
    return "task"


def metric_of_each_key(keys: pd.DataFrame, scores: pd.DataFrame) -> np.ndarray:
    """Return the metric of each group: from its keys, or the only metric of the scores."""
    if "metric" in keys.columns:
        return keys["metric"].astype(TEXT).to_numpy(dtype=object)
    return scores["metric"].iloc[[0] * len(keys)].astype(TEXT).to_numpy(dtype=object)


class ScoresToGroup(NamedTuple):
    """A checked scores frame, coded, and its grouping columns."""

    codes: ColumnCodes
    by: list[str]


def code_scores(
    scores: object, by: str | Sequence[str] | None, default: Sequence[str], excluded_column: str = ""
) -> ScoresToGroup:
    """Check and code a scores frame, to be grouped by the columns of `by` or else `default`.

    If `by` is not given, it warns of tasks, data sets or models that are pooled.
    `excluded_column` is removed from the grouping columns.
    """
    codes = coded_scores(scores)
    columns = [c for c in check_by(codes.frame, by, default) if c != excluded_column]
    warn_pooled_by_default(codes.frame, by, columns)
    return ScoresToGroup(codes, columns)


def check_one_metric(codes: ColumnCodes, by: Sequence[str]) -> None:
    """Raise ColumnError if scores of several metrics would be averaged together."""
    if "metric" in by or codes.column("metric").n_codes == 1:
        return
    metrics = pd.unique(codes.frame["metric"])
    if len(metrics) > 1:
        raise ColumnError(
            f"the scores hold {len(metrics)} metrics ({', '.join(map(str, metrics[:4]))})",
            hint=Message("add 'metric' to ", Setting("by"), ", or keep one of them"),
            column="metric",
            value=[str(metric) for metric in metrics],
        )


class PooledGroups(NamedTuple):
    """Groups that each pool several groups."""

    #: (n_groups, n_pooled): 1 for the groups in each pooled group, else 0.
    membership: np.ndarray
    #: Grouping columns of the pooled groups.
    keys: pd.DataFrame


def pool_over(keys: pd.DataFrame, column: str, label: str) -> PooledGroups:
    """Pool groups over a grouping column, which is `label` in the keys of the pooled groups.

    ColumnError if the column has this label already.
    """
    if (keys[column].astype("object") == label).any():
        raise ColumnError(
            f"column {column!r} holds {label!r}, the name of the row to be added",
            hint="rename it",
            column=column,
        )
    remaining_columns = [c for c in keys.columns if c != column]
    pooled_groups, pooled_keys = index_groups(ColumnCodes(keys), remaining_columns)
    membership = np.zeros((len(keys), len(pooled_keys)), dtype=np.int64)
    membership[np.arange(len(keys)), pooled_groups] = 1
    pooled_keys[column] = label
    return PooledGroups(membership, pooled_keys[list(keys.columns)])


def append_key_rows(keys: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Return the keys with rows added; categorical columns keep their order, with new labels last."""
    if not len(added):
        return keys
    keys = keys.copy()
    added = added.copy()
    for column in keys.columns:
        if isinstance(keys[column].dtype, pd.CategoricalDtype):
            categories = list(keys[column].cat.categories)
            categories += [v for v in pd.unique(added[column]) if v not in categories]
            for frame in (keys, added):
                frame[column] = pd.Categorical(frame[column].astype("object"), categories, ordered=True)
    return pd.concat([keys, added], ignore_index=True)


def display_order(keys: pd.DataFrame) -> np.ndarray:
    """Return the positions of rows sorted by the grouping columns, with "Overall" and "Average" last in each.

    Rows of `index_groups` are sorted already, and stay as they are if they have no such labels.
    """
    sort_keys_of_summaries = [_sort_key_others_0_overall_1_average_2(keys[column]) for column in keys.columns]
    if not any(summary_key.any() for summary_key in sort_keys_of_summaries):
        return np.arange(len(keys))
    codes = ColumnCodes(keys)
    sort_keys = []
    for column, summary_key in zip(keys.columns, sort_keys_of_summaries, strict=True):
        sort_keys += [summary_key, codes.combined([column])]
    # the last key of lexsort is its primary one
    return np.lexsort(sort_keys[::-1])


def _sort_key_others_0_overall_1_average_2(labels: pd.Series) -> NDArray[np.integer]:
    """Return 2 for the label "Average", 1 for "Overall" and 0 for any other."""
    sort_key = np.zeros(len(labels), dtype=np.int64)
    for row, label in enumerate(labels.to_numpy(dtype=object)):
        if isinstance(label, str):
            sort_key[row] = {OVERALL: 1, AVERAGE: 2}.get(label, 0)
    return sort_key


class Averages(NamedTuple):
    """Averages of the estimates of groups over a grouping column."""

    #: (n_groups, n_averages): Weight of each group in each average, 0 for groups that are undefined or not
    #: members.
    group_weights: np.ndarray
    #: (n_groups, n_averages): 1 for the members of each average, defined or not, else 0.
    members: np.ndarray
    #: Grouping columns of the averages, in which the column averaged over is "Average".
    keys: pd.DataFrame


def average_over(
    keys: pd.DataFrame,
    average: str | None,
    defined: NDArray[np.bool_],
    weights: Mapping[Any, float] | None = None,
) -> Averages:
    """Average groups over a grouping column, with a warning if averages are over different groups.

    Parameters
    ----------
    keys : DataFrame
        Grouping columns of each group.
    average : str, optional
        Column to average over; no averages are made without it.
    defined : ndarray of bool, shape (n_groups,)
        Groups with a defined estimate.
    weights : mapping, optional
        Weight of each value of the column, by default 1 each. Groups of weight 0 are not members.
    """
    if average is None:
        no_averages = np.zeros((len(keys), 0))
        return Averages(no_averages, no_averages.astype(np.int64), keys.iloc[:0])
    if average in ("method", "metric"):
        raise ColumnError(
            Setting("average", average),
            f" would mix {average}s",
            hint="average over tasks, readers or the like",
            column=average,
        )
    if average not in keys.columns:
        raise ColumnError(
            Setting("average", average),
            f" is not a grouping column ({', '.join(keys.columns)})",
            choices=map(str, keys.columns),
        )
    members, average_keys = pool_over(keys, average, AVERAGE)
    value_weights = np.ones(len(keys))
    if weights is not None:
        value_weights = keys[average].astype("object").map(weights).to_numpy(dtype=np.float64)
        members = members * (value_weights > 0)[:, None]
    group_weights = members * np.where(defined, value_weights, 0.0)[:, None]
    has_weight = value_weights > 0
    _warn_different_members(keys[has_weight], average, group_weights[has_weight], average_keys)
    return Averages(group_weights, members, average_keys)


def is_average(keys: pd.DataFrame, average: str | None) -> NDArray[np.bool_]:
    """Return True for rows that are averages over a column."""
    if average is None:
        return np.zeros(len(keys), dtype=bool)
    return (keys[average].astype("object") == AVERAGE).to_numpy()


def is_summary_row(keys: pd.DataFrame) -> NDArray[np.bool_]:
    """Return True for rows that average or pool others, with "Average" or "Overall" in a grouping column."""
    # methods and metrics are never averaged over, so such a name is an ordinary value there
    columns = keys.columns.difference(["method", "reference", "metric"])
    return keys[columns].astype("object").isin([AVERAGE, OVERALL]).any(axis=1).to_numpy(dtype=bool)


def _warn_different_members(
    keys: pd.DataFrame, average: str, group_weights: np.ndarray, average_keys: pd.DataFrame
) -> None:
    """Warn if averages of the same metric are over different values of a column."""
    values = keys[average].astype(TEXT).to_numpy()
    metrics = np.full(len(keys), "", dtype=object)
    metrics_of_averages = np.full(len(average_keys), "", dtype=object)
    if "metric" in keys.columns:
        metrics = keys["metric"].astype(TEXT).to_numpy(dtype=object)
        metrics_of_averages = average_keys["metric"].astype(TEXT).to_numpy(dtype=object)
    differences = []
    rows = []
    for row, metric in enumerate(metrics_of_averages):
        all_values = set(values[metrics == metric])
        missing_values = all_values - set(values[group_weights[:, row] > 0])
        if missing_values:
            label = group_label(average_keys.drop(columns=average), row)
            differences.append(Message(label, f": {', '.join(sorted(missing_values))}"))
            rows.append(row)
    if differences:
        warn(
            f"averages are over different values of {average}: nothing is defined for ",
            joined_group_labels(differences),
            option="average",
            value=average,
            rows=rows,
        )


def warn_uneven_rows_per_case(
    codes: ColumnCodes, by: Sequence[str], equal_units: Units | None = None
) -> None:
    """Warn where cases of one group have different numbers of readers, models or seeds.

    Units with equal weights (`equal_units`) need no warning if each of them is one case.
    """
    frame = codes.frame
    if equal_units is not None:
        n_cases = len(np.unique(codes.combined(dataset_and_case_columns(frame))))
        if equal_units.n == n_cases:
            return
    repeated = [c for c in ("reader", "model", "seed") if c in frame.columns and c not in by]
    if not repeated:
        return
    # rows with an undefined score enter no mean
    is_defined = frame["score"].notna().to_numpy()
    if not is_defined.any():
        return
    case_columns = [c for c in ("dataset", "case", "task", "method", "metric") if c in frame.columns]
    cases = codes.combined(list(dict.fromkeys([*by, *case_columns])))
    # with a fixed order of columns means and differences have the same message, which a report shows once
    ordered_by = [c for c in DEFAULT_BY if c in by] + [c for c in by if c not in DEFAULT_BY]
    groups, keys = index_groups(codes, ordered_by)
    _, first_rows, n_rows = np.unique(cases[is_defined], return_index=True, return_counts=True)
    group_of_case = groups[is_defined][first_rows]
    fewest = np.full(len(keys), np.iinfo(np.int64).max)
    most = np.zeros(len(keys), dtype=np.int64)
    np.minimum.at(fewest, group_of_case, n_rows)
    np.maximum.at(most, group_of_case, n_rows)
    is_uneven = fewest < most
    if is_uneven.any():
        warn(
            f"cases have {fewest[is_uneven].min()} to {most[is_uneven].max()} rows each "
            f"({', '.join(repeated)}) in ",
            named_groups(keys, is_uneven),
            "; every row counts, so a case with more rows counts more",
            hint=Message(
                "average each case first if that is not intended; where cases are the unit, ",
                Setting("weights", "unit"),
                " does so",
            ),
            column="case",
            value=repeated,
            rows=np.flatnonzero(is_uneven).tolist(),
        )


def warn_pooled_methods(frame: pd.DataFrame, by: Sequence[str]) -> None:
    """Warn if rows of several methods are pooled, such as a human and a saliency method."""
    if "method" in frame.columns and "method" not in by:
        methods = [str(m) for m in pd.unique(frame["method"].dropna())]
        if len(methods) > 1:
            warn(
                f"rows of {len(methods)} methods ({quoted(methods)}) are taken together",
                hint=Message("add 'method' to ", Setting("by"), ", or keep one of them"),
                column="method",
                value=methods,
            )


def warn_pooled_by_default(
    frame: pd.DataFrame,
    by_option: object,
    by: Sequence[str],
    separated: Sequence[str] = (),
    remedy: str = "",
) -> bool:
    """Warn of groups that are pooled by default, and return True if there are any.

    Parameters are those of `pooled_by_default_warning`.
    """
    warning = pooled_by_default_warning(frame, by_option, by, separated, remedy)
    if warning is None:
        return False
    warn(warning)
    return True


def pooled_by_default_warning(
    frame: pd.DataFrame,
    by_option: object,
    by: Sequence[str],
    separated: Sequence[str] = (),
    remedy: str = "",
) -> SalstatsWarning | None:
    """Return a warning if a group holds several tasks, data sets or models by default, else None.

    Differences between tasks would then be taken for a relation within them.

    Parameters
    ----------
    frame : DataFrame
        The scores.
    by_option : object
        Value of `by=`; there is no warning if it is not None.
    by : sequence of str
        Grouping columns.
    separated : sequence of str
        Columns that are not pooled although they are not grouping columns, such as strata or terms of a
        formula.
    remedy : str
        Another remedy for the message, in which {first} stands for the first pooled column and {terms} for
        all of them, joined by +.
    """
    if by_option is not None:
        return None
    candidates = [
        c for c in ("task", "dataset", "model") if c in frame.columns and c not in (*by, *separated)
    ]
    pooled = [c for c in candidates if _has_group_of_several_values_any_repeated(frame, c, by)]
    if not pooled:
        return None
    counts = " and ".join(f"{frame[c].nunique()} values of {c!r}" for c in pooled)
    other_remedy = remedy.format(first=pooled[0], terms=" + ".join(pooled))
    if other_remedy:
        other_remedy = f", {other_remedy}"
    return SalstatsWarning(
        f"scores of {counts} are taken together",
        hint=Message(
            "pass ",
            Setting("by", [*by, *pooled]),
            f" to keep them apart{other_remedy}, or ",
            Setting("by", list(by)),
            " if that is intended",
        ),
        option="by",
        column=pooled[0],
    )


def _has_group_of_several_values_any_repeated(frame: pd.DataFrame, column: str, by: Sequence[str]) -> bool:
    """Return True if a group holds several values of a column, and a value is in several rows of a group."""
    if frame[column].nunique() < 2:
        return False
    if not frame.duplicated([*by, column]).any():
        # the values are observations themselves if each row of a group has a different one
        return False
    if not by:
        return True
    n_values = frame.groupby(list(by), observed=True, dropna=False)[column].nunique()
    return bool(n_values.max() > 1)


def group_label(keys: pd.DataFrame, group: int) -> Message:
    """Return the name of a group for a message, such as 'method gradcam, task Edema'."""
    return group_labels(keys, np.array([group]))[0]


def group_labels(keys: pd.DataFrame, groups: NDArray[np.integer]) -> list[Message]:
    """Return the names of the groups at some positions for a message, as `group_label` does for one."""
    if not len(keys.columns):
        return [Message("all rows")] * len(groups)
    columns = []
    for name in keys.columns:
        columns.append([ColumnValue(str(name), value) for value in keys[name].array.take(groups)])
    return [Message.joined(levels, ", ") for levels in zip(*columns, strict=True)]


def joined_group_labels(labels: Sequence[MessagePart], max_shown: int = 4) -> Message:
    """Join the first `max_shown` labels of groups for a message, and say how many more there are."""
    ending = ""
    if len(labels) > max_shown:
        ending = f" and {len(labels) - max_shown} more"
    return Message.joined(labels[:max_shown], "; ") + ending


def named_groups(keys: pd.DataFrame, is_named: NDArray[np.bool_]) -> Message:
    """Join the names of the groups for which `is_named` (bool, one per group) is True, for a message."""
    return joined_group_labels(group_labels(keys, np.flatnonzero(is_named)))
