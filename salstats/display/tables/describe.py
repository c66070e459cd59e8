"""What scores look like, as a table: a paper's first one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
from great_tables import GT

from salstats.checks import check_choice, check_columns, check_count, check_frame
from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.tables.marks import numbers
from salstats.display.tables.placement import lay_out, place, varies
from salstats.display.text.format import MISSING, STYLES, count_text, fixed_text, interval_text, plural
from salstats.display.text.labels import Labels
from salstats.metrics.registry import known_metric
from salstats.stats.carried import missing_scores

#: Columns of `describe` that are shown; what stands before `n` are the grouping columns.
_NEEDED = ("n", "mean", "sd", "median", "q1", "q3", "n_zero", "share_zero", "n_one", "share_one", "binary")


class _Shown(NamedTuple):
    """A column of the table: heading, text of a row, alignment."""

    heading: str
    text: Callable[[dict[str, Any]], str]
    align: Any = "point"


def table_describe(
    described: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """A description of scores as a table for a paper.

    One row per method (of one method, per value of the last grouping column that varies), in groups by
    the other grouping columns: n, missing scores, units, mean (SD) and median (quartiles), and how many
    scores are exactly 0 and exactly 1. For 0/1 scores, such as hits, these two counts with their
    percentages say all, and mean and median are left blank.

    Parameters
    ----------
    described : DataFrame
        A frame of `describe`.
    labels : Mapping, optional
        Names and order of columns' values, see `Labels`.
    digits : int
        Decimals of means, standard deviations and quartiles; percentages have one.
    style : {"nature", "radiology", "ama", "brackets"}
        How the journal writes numbers.
    title : str, optional
        Heading of the table.

    Returns
    -------
    GT
        A great-tables table.

    Raises
    ------
    ColumnError
        A column of `describe` is missing.
    SalstatsError
        Two rows with the same grouping columns; labels that make two values the same.
    ValueRangeError
        An unknown style.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> described = ss.describe(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> isinstance(ss.table_describe(described, title="Scores"), GT)
    True
    """
    check_columns(check_frame(described, "described"), _NEEDED, "described")
    check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    frame = described.reset_index(drop=True)
    names = Labels(labels, frame)
    keys = [str(c) for c in frame.columns[: list(frame.columns).index("n")]]
    placement = place(frame, keys, _row_column(frame, keys), [])
    slots = lay_out(frame, placement, names)
    shown = _shown(frame, digits, style)
    records = frame.assign(missing=missing_scores(frame)).to_dict("records")
    table = Table(
        stubhead=tuple(names.column(c) for c in placement.rows) or ("",),
        stub=[row or ("All",) for row in slots.rows],
        columns=[Column(column.heading, align=column.align) for column in shown],
        cells=[[column.text(records[i]) for column in shown] for (i,) in slots.index],
        groups=slots.group_labels,
    )
    below = [
        notes.paragraph(
            notes.constant_note(frame, placement.constant, names),
            "n, scores; undefined ones are left out." if "n_missing" in frame else "n, scores.",
            "Scores of 0 and 1 alone are described by their counts." if frame["binary"].any() else "",
            notes.dash_note(table.cells),
            notes.how_note(frame, names),
            notes.metric_note(frame),
        )
    ]
    return build(replace(table, notes=below, title=title), "salstats-describe")


def _row_column(frame: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """The grouping column that gives the rows: methods, else the last that varies."""
    varying = [c for c in keys if varies(frame, c)]
    return ["method"] if "method" in varying else (varying or list(keys))[-1:]


def _shown(frame: pd.DataFrame, digits: int, style: str) -> list[_Shown]:
    """The columns that say something about these scores."""
    binary = frame["binary"].astype(bool).to_numpy()
    edges = bool((numbers(frame, "n_zero") + numbers(frame, "n_one") > 0).any())
    columns = [_Shown("n", lambda row: count_text(row["n"]), "right")]
    if "n_missing" in frame.columns:
        columns.append(_Shown("Undefined", lambda row: count_text(row["missing"]), "right"))
    if "n_units" in frame.columns:
        unit = plural(str(notes.single(frame, "unit") or "unit"))
        columns.append(_Shown(unit.capitalize(), lambda row: count_text(row["n_units"]), "right"))
    if not binary.all():
        columns += [
            _Shown("Mean (SD)", lambda row: _spread(row, digits)),
            _Shown("Median (Q1, Q3)", lambda row: _quartiles(row, digits, style)),
        ]
    if edges:
        columns += [
            _Shown("At 0, n (%)", lambda row: _share(row, "zero")),
            _Shown("At 1, n (%)", lambda row: _share(row, "one")),
        ]
    return columns


def _spread(row: dict[str, Any], digits: int) -> str:
    """Mean (SD), blank for 0/1 scores."""
    if row["binary"]:
        return ""
    mean, sd = (fixed_text(row[name], digits) for name in ("mean", "sd"))
    return mean if mean == MISSING else f"{mean} ({sd})"


def _quartiles(row: dict[str, Any], digits: int, style: str) -> str:
    """Median (quartiles), blank for 0/1 scores."""
    return "" if row["binary"] else interval_text(row["median"], row["q1"], row["q3"], digits, style)


def _share(row: dict[str, Any], edge: str) -> str:
    """How many scores lie at an edge and their percentage, blank where 0 and 1 are no edges."""
    metric = known_metric(row.get("metric"))
    if metric is not None and (metric.low, metric.high) != (0, 1):
        return ""
    if not row["n"]:
        return MISSING
    count, share = row[f"n_{edge}"], row[f"share_{edge}"]
    return f"{count_text(count)} ({fixed_text(100 * share, 1)})"
