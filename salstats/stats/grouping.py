"""Which rows form a group, for functions that work through groups one at a time."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, quoted, warn
from salstats.stats.cells import OVERALL, append_keys, display_order, index_groups, pool_over


def row_groups(
    frame: pd.DataFrame, by: Sequence[str], *, overall: bool = False
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Return the grouping columns of each group in sorted order, and the rows of each.

    Parameters
    ----------
    frame : DataFrame
        At least one row.
    by : sequence of str
        Grouping columns; none makes one group of all rows.
    overall : bool
        Add the groups pooled over tasks, their `task` being "Overall", after the tasks they are made of.

    Returns
    -------
    keys : DataFrame
        One row per group.
    rows : list of ndarray of int
        Positions of each group's rows, ascending.

    Raises
    ------
    ColumnError
        `overall` without `task` among the columns, or with a task called "Overall".
    """
    codes, keys = index_groups(frame, by)
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    if not overall:
        return keys, rows
    membership, pooled = pool_over(keys, check_overall(by), OVERALL)
    rows += [np.sort(np.concatenate([rows[g] for g in np.flatnonzero(member)])) for member in membership.T]
    keys = append_keys(keys, pooled)
    shown = display_order(keys)
    return keys.iloc[shown].reset_index(drop=True), [rows[i] for i in shown]


def warn_pooled_methods(frame: pd.DataFrame, by: Sequence[str]) -> None:
    """Warn where rows of several methods are taken together: a human and a saliency method, say."""
    if "method" in frame.columns and "method" not in by:
        methods = [str(m) for m in pd.unique(frame["method"].dropna())]
        if len(methods) > 1:
            warn(
                f"rows of {len(methods)} methods ({quoted(methods)}) are taken together; "
                "add 'method' to by=, or keep one of them"
            )


def warn_pooled_by_default(frame: pd.DataFrame, asked: object, by: Sequence[str]) -> None:
    """Warn where nobody said by=, and rows of several data sets or models are taken together."""
    several = {c: frame[c].nunique() for c in ("dataset", "model") if c in frame.columns and c not in by}
    several = {c: n for c, n in several.items() if n > 1}
    if asked is None and several:
        what = " and ".join(f"{n} values of {c!r}" for c, n in several.items())
        warn(
            f"scores of {what} are taken together; name them in by= to have each for itself, or say by= "
            "without them if that is meant"
        )


def check_overall(by: Sequence[str]) -> str:
    """Return the column that overall rows pool over."""
    if "task" not in by:
        raise ColumnError("overall=True adds rows pooled over tasks, so 'task' must be in by")
    return "task"


def group_label(keys: pd.DataFrame, group: int) -> str:
    """Return a group's name for a message, such as 'method gradcam, task Edema'."""
    return ", ".join(f"{c} {keys[c].iloc[group]}" for c in keys.columns) or "all rows"


def group_list(labels: Sequence[str], shown: int = 4) -> str:
    """Return the first few groups' names for a message, and how many more there are."""
    more = f" and {len(labels) - shown} more" if len(labels) > shown else ""
    return "; ".join(labels[:shown]) + more


def reference_in_every_group(
    scores: pd.DataFrame, reference: str, by: str | Sequence[str] | None
) -> pd.DataFrame:
    """Return scores with the reference's rows beside every model and seed, where it has none itself.

    People belong to no network: grouped by it they are the reference of each. Anything else stays as it is.
    """
    columns = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    for column in (c for c in ("model", "seed") if c in columns and c in scores.columns):
        of_reference = scores["method"] == reference
        held = scores[column]
        if not of_reference.any() or held[of_reference].notna().any() or held[~of_reference].isna().any():
            continue
        shared, others = scores[of_reference], scores[~of_reference]
        copies = [shared.assign(**{column: value}) for value in others[column].unique()]
        scores = pd.concat([others, *copies], ignore_index=True)
    return scores
