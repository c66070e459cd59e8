"""Cases to show: the worst, the typical and the best by their score, by rule instead of by hand."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, check_by, check_choice, quoted, warn
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, ColumnCodes, case_key, check_scores
from salstats.metrics.registry import direction
from salstats.stats.engine.design import check_one_metric, group_label, group_list, row_groups

#: What each pick stands near to, of scores of which more is better. Extremes choose before the others.
_TARGETS: dict[str, Callable[[np.ndarray], float]] = {
    "worst": lambda scores: float(scores.min()),
    "best": lambda scores: float(scores.max()),
    "median": lambda scores: float(np.median(scores)),
    "mean": lambda scores: float(scores.mean()),
}
PICKS = tuple(_TARGETS)
#: Distances that differ by less, in parts of the range of the scores, are ties.
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
        Pick anew in each group; by default those of `metric, method, task` that are present.

    Returns
    -------
    DataFrame
        The chosen rows with all their columns, groups sorted and picks within in the order of `at`, and
        `pick`: what the case was picked for; `target`: the smallest, median, mean or largest score of its
        group.

    Raises
    ------
    ColumnError, SalstatsError
        Not a scores frame; several metrics would be mixed; no such column; no row of that metric, method or
        task; an unknown pick.

    Notes
    -----
    Each pick is the case whose score is nearest to its target; of equal distances the first case in the
    order of names counts. Undefined scores are never picked and enter no target; a group without a defined
    one warns. Worst and best are those of the metric: of a distance the largest is the worst; more of an
    unknown metric is better. No case is picked twice for one task in a group while others are left: worst and
    best choose first, then median, then mean.

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
    wanted = list(dict.fromkeys(check_choice(name, PICKS, "at") for name in names))
    if not wanted:
        raise SalstatsError(f"at names nothing to pick; choose of {', '.join(PICKS)}")
    frame = check_scores(scores)
    for column, value in (("metric", metric), ("method", method), ("task", task)):
        frame = _only(frame, column, value)
    columns = check_by(frame, by, DEFAULT_BY)
    frame = frame.reset_index(drop=True)
    codes = ColumnCodes(frame)
    check_one_metric(codes, columns)
    keys, groups = row_groups(codes, columns)
    larger = [direction(name) >= 0 for name in frame["metric"]]
    rows: list[int] = []
    chosen: list[tuple[str, float]] = []
    empty = []
    for group, of_group in enumerate(groups):
        found = _picks(frame.iloc[of_group], wanted, larger[of_group[0]])
        if not found:
            empty.append(group_label(keys, group))
        for name in wanted if found else []:
            position, target = found[name]
            rows.append(int(of_group[position]))
            chosen.append((name, target))
    if empty:
        warn(f"no case is picked for {group_list(empty)}: every score is undefined")
    picked = frame.iloc[rows].reset_index(drop=True)
    return picked.assign(
        pick=pd.Series([name for name, _ in chosen], dtype="str"),
        target=np.array([target for _, target in chosen], dtype=np.float64),
    )


def _only(frame: pd.DataFrame, column: str, value: str | None) -> pd.DataFrame:
    """Rows with one value of a column."""
    if value is None:
        return frame
    if column not in frame.columns:
        raise ColumnError(f"scores has no column {column!r}, so {column}={value!r} cannot be kept")
    kept = frame[frame[column] == value]
    if kept.empty:
        there = quoted(dict.fromkeys(frame[column]))
        raise SalstatsError(f"scores has no {column} {value!r} ({column}s: {there})")
    return kept


def _picks(rows: pd.DataFrame, wanted: Sequence[str], larger: bool) -> dict[str, tuple[int, float]]:
    """Position of the row of each pick and its target; nothing where no score is defined."""
    values = rows["score"].to_numpy(dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(values))
    if not len(defined):
        return {}
    names = [c for c in KEY_COLUMNS if c in rows.columns]
    by_name = rows.iloc[defined].reset_index(drop=True).astype(dict.fromkeys(names, "str"))
    defined = defined[by_name.sort_values(names).index.to_numpy()]
    shown = [*case_key(rows), *(c for c in ("task",) if c in rows.columns)]
    cases = list(rows.iloc[defined][shown].itertuples(index=False, name=None))
    scores = values[defined]
    spread = float(np.ptp(scores)) or 1.0
    taken: set[object] = set()
    found = {}
    for name in (n for n in PICKS if n in wanted):
        target = _TARGETS[name](scores if larger else -scores) * (1 if larger else -1)
        # both sides of a median of two scores are equally far from it, whatever rounding says
        far = np.round(np.abs(scores - target) / spread, _TIE_DIGITS)
        order = np.argsort(far, kind="stable")
        place = next((i for i in order if cases[i] not in taken), order[0])
        taken.add(cases[place])
        found[name] = (int(defined[place]), target)
    return found
