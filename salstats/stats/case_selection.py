"""Selection of example cases by their score: the worst, the typical and the best."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_choice, quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, SalstatsError, Setting, warn
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, ColumnCodes, check_scores, dataset_and_case_columns
from salstats.metrics.registry import direction
from salstats.stats.engine.grouping import check_one_metric, group_label, joined_group_labels, row_groups

#: Target score of each pick, for scores of which more is better. Extremes choose before the others.
_TARGETS: dict[str, Callable[[np.ndarray], float]] = {
    "worst": lambda scores: float(scores.min()),
    "best": lambda scores: float(scores.max()),
    "median": lambda scores: float(np.median(scores)),
    "mean": lambda scores: float(scores.mean()),
}
PICKS = tuple(_TARGETS)
#: Distances that are equal to so many digits, relative to the range of the scores, are ties.
_TIE_DIGITS = 9


def pick_cases(
    scores: pd.DataFrame,
    *,
    at: str | Sequence[str] = ("worst", "median", "mean", "best"),
    metric: str | None = None,
    method: str | None = None,
    task: str | None = None,
    by: str | Sequence[str] | None = None,
) -> pd.DataFrame:
    """Rows of the cases whose scores are the worst, nearest the median or mean, and the best.

    For figures that show examples: which cases they show follows from the scores and from nothing else.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    at : str or list of str
        Any of `worst`, `median`, `mean`, `best`.
    metric, method, task : str, optional
        Keep the rows of this metric, method or task only.
    by : str or list of str, optional
        Grouping columns; cases are picked in each group. By default those of `metric`, `method` and `task`
        that are present.

    Returns
    -------
    DataFrame
        The picked rows with all their columns; groups are sorted, and picks within them have the order of
        `at`. Added are `pick`, the name of the pick, and `target`, the lowest, median, mean or highest score
        of the group.

    Raises
    ------
    ColumnError, SalstatsError
        The frame is not a scores frame; several metrics would be mixed; a column is missing; there is no row
        of that metric, method or task; a pick is unknown.

    Notes
    -----
    Each pick is the case whose score is nearest to its target; among equal distances it is the first case by
    name. Undefined scores are never picked and enter no target; a group without a defined score gives a
    warning. Worst and best depend on the metric: the largest distance is the worst. Larger scores of an
    unknown metric are better. No case is picked twice for one task in a group while others are left; worst
    and best are picked first, then the median, then the mean.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": list("abcdef"), "method": "gradcam", "metric": "iou",
    ...     "score": [0.9, 0.1, 0.4, None, 0.3, 0.5]})
    >>> ss.pick_cases(scores)[["case", "score", "pick", "target"]]
      case  score    pick  target
    0    b    0.1   worst    0.10
    1    c    0.4  median    0.40
    2    f    0.5    mean    0.44
    3    a    0.9    best    0.90
    """
    names = [at] if isinstance(at, str) else list(at)
    picks = list(dict.fromkeys(check_choice(name, PICKS, "at") for name in names))
    if not picks:
        raise SalstatsError(
            Setting("at"), " names nothing to pick", hint=f"choose from {', '.join(PICKS)}", choices=PICKS
        )
    frame = check_scores(scores)
    frame = _rows_with_value_or_all(frame, "metric", metric)
    frame = _rows_with_value_or_all(frame, "method", method)
    frame = _rows_with_value_or_all(frame, "task", task)
    columns = check_by(frame, by, DEFAULT_BY)
    frame = frame.reset_index(drop=True)
    codes = ColumnCodes(frame)
    check_one_metric(codes, columns)
    keys, rows_of_groups = row_groups(codes, columns)
    larger_is_better = [direction(name) >= 0 for name in frame["metric"]]
    rows: list[int] = []
    names_of_rows: list[str] = []
    targets: list[float] = []
    undefined_groups = []
    for group, group_rows in enumerate(rows_of_groups):
        picked = _row_number_and_target_of_each_pick(
            frame.iloc[group_rows], picks, larger_is_better=larger_is_better[group_rows[0]]
        )
        if not picked:
            undefined_groups.append(group_label(keys, group))
            continue
        for name in picks:
            rows.append(int(group_rows[picked[name].position]))
            names_of_rows.append(name)
            targets.append(picked[name].target)
    if undefined_groups:
        warn(
            "no case is picked for ",
            joined_group_labels(undefined_groups),
            ": every score is undefined",
            column="score",
        )
    return (
        frame.iloc[rows]
        .reset_index(drop=True)
        .assign(pick=pd.Series(names_of_rows, dtype=TEXT), target=np.array(targets, dtype=np.float64))
    )


def _rows_with_value_or_all(frame: pd.DataFrame, column: str, value: str | None) -> pd.DataFrame:
    """Return the rows with a value in a column, all rows for None; no such row raises an error."""
    if value is None:
        return frame
    if column not in frame.columns:
        raise ColumnError(
            f"scores has no column {column!r}, so ",
            Setting(column, value),
            " cannot be kept",
            column=column,
        )
    rows = frame[frame[column] == value]
    if rows.empty:
        values = [str(choice) for choice in dict.fromkeys(frame[column])]
        raise SalstatsError(
            f"scores has no {column} {value!r} ({column}s: {quoted(values)})",
            option=column,
            value=value,
            choices=values,
            column=column,
        )
    return rows


class _Pick(NamedTuple):
    """Position of a picked row, and the score that it should be nearest to."""

    position: int
    target: float


def _row_number_and_target_of_each_pick(
    rows: pd.DataFrame, picks: Sequence[str], *, larger_is_better: bool
) -> dict[str, _Pick]:
    """Pick rows of a group by the names of `picks`; return nothing if no score is defined.

    Ties go to the first case by name. A case is picked again only if there is no other.
    """
    values = rows["score"].to_numpy(dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(values))
    if not len(defined):
        return {}
    key_columns = [column for column in KEY_COLUMNS if column in rows.columns]
    texts = rows.iloc[defined].reset_index(drop=True).astype(dict.fromkeys(key_columns, TEXT))
    defined = defined[texts.sort_values(key_columns).index.to_numpy()]
    case_columns = dataset_and_case_columns(rows)
    if "task" in rows.columns:
        case_columns = [*case_columns, "task"]
    cases = list(rows.iloc[defined][case_columns].itertuples(index=False, name=None))
    scores = values[defined]
    score_range = float(np.ptp(scores)) or 1.0
    # Multiplied by the sign, the worst score is the smallest, whatever the metric.
    sign = 1 if larger_is_better else -1
    picked_cases: set[object] = set()
    picked = {}
    for name in PICKS:
        if name not in picks:
            continue
        target = sign * _TARGETS[name](sign * scores)
        # Rounding makes ties of the two scores beside a median, which are equally far from it.
        distance = np.round(np.abs(scores - target) / score_range, _TIE_DIGITS)
        order = np.argsort(distance, kind="stable")
        new_positions = [i for i in order if cases[i] not in picked_cases]
        position = new_positions[0] if new_positions else order[0]
        picked_cases.add(cases[position])
        picked[name] = _Pick(int(defined[position]), target)
    return picked
