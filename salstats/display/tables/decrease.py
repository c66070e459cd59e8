"""Paired contrasts with a reference as a table: both means, the gap with its interval, and P."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_choice, check_columns
from salstats.display.tables import notes
from salstats.display.tables.grid import check_display, interval_texts
from salstats.display.tables.layout import Column, Table, build
from salstats.display.tables.marks import numbers
from salstats.display.tables.placement import Placement, Slots, grouping_columns, lay_out, varies
from salstats.display.text.format import MISSING, count_text, fixed_text, p_used, row_p_text
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import TERMS
from salstats.metrics.registry import direction

#: Methods that stand beside each other before they become groups of rows.
_BESIDE = 3
_SORTS = ("label", "size")


def table_decrease(
    decrease: pd.DataFrame,
    *,
    sort: str = "label",
    wide: bool | None = None,
    n: bool = True,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    percent_digits: int = 1,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Percentage decreases, or differences, from a reference as a table for a paper.

    One row per task (without tasks, per method), metrics and other grouping columns as groups of rows.
    Each method has the number of pairs, the reference's and its own mean, the decrease with its interval,
    and P. Decreases with a verdict are underlined; an average stands last, set apart.

    Parameters
    ----------
    decrease : DataFrame
        A frame of `percent_decrease` or `difference`.
    sort : {"label", "size"}
        Rows in the order of labels, or by how far methods are below the reference (averaged over the
        methods beside each other), the furthest first.
    wide : bool, optional
        Methods beside each other, or as groups of rows; by default beside each other up to three.
    n : bool
        Give the number of pairs.
    adjust : str, optional
        Procedure behind `p_adjusted`, for the notes, as `adjust()` spells it; by default what the
        column `procedure` says.
    labels : Mapping, optional
        Names and order of columns' values, see `Labels`.
    digits : int
        Decimals of means, and of differences and their limits.
    percent_digits : int
        Decimals of percentages and their limits.
    style : {"nature", "radiology", "ama", "brackets"}
        How the journal writes numbers.
    title : str, optional
        Heading of the table.

    Returns
    -------
    GT
        A great-tables table; P is adjusted where the frame has `p_adjusted`, and a note says so.

    Raises
    ------
    ColumnError
        A column of `percent_decrease` is missing.
    SalstatsError
        Two rows with the same grouping columns; labels that make two values the same.
    ValueRangeError
        An unknown style or order.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> decrease = ss.percent_decrease(ss.datasets.load_simulated(), reference="human", average="task")
    >>> isinstance(ss.table_decrease(decrease, sort="size"), GT)
    True
    """
    frame = check_display(decrease, digits, style, "decrease").reset_index(drop=True)
    check_columns(frame, ["method", "reference", "reference_mean", "method_mean"], "decrease")
    check_choice(sort, _SORTS, "sort")
    names = Labels(labels, frame)
    placement = _placement(frame, wide)
    slots = lay_out(frame, placement, names)
    if sort == "size":
        # the further below the reference, the earlier
        descending = notes.single(frame, "term") == "percent_decrease"
        # and of a metric that is better the smaller, the further above it
        metrics = frame["metric"] if "metric" in frame.columns else [None] * len(frame)
        signs = np.array([direction(m) or 1 for m in metrics])
        slots = _by_size(slots, signs * numbers(frame, "estimate"), descending)
    parts = _parts(frame, n, digits, percent_digits, style)
    differs = frame["verdict"].isin(("lower", "higher")).to_numpy() if "verdict" in frame.columns else []
    gap = [part.is_gap for part in parts].index(True)
    table = Table(
        stubhead=tuple(names.column(c) for c in placement.rows),
        stub=list(slots.rows),
        columns=[
            column for labels_above in slots.columns for column in _columns(parts, frame, labels_above, names)
        ],
        cells=[
            [part.texts[i] if i >= 0 else MISSING for i in row for part in parts]
            for row in slots.index.tolist()
        ],
        groups=slots.group_labels,
        underline={
            (i, j * len(parts) + gap)
            for (i, j), row in np.ndenumerate(slots.index)
            if row >= 0 and len(differs) and differs[row]
        },
        apart=slots.apart,
    )
    said = [c for c in placement.constant if c != "method" or placement.rows != ("method",)]
    below = [
        notes.paragraph(
            notes.constant_note(frame, said, names),
            _mean_note(frame),
            notes.interval_note(frame),
            notes.count_note(frame, "pair", "incomplete"),
            notes.undefined_note(frame),
            notes.last_note(frame),
            notes.how_note(frame, names),
            notes.metric_note(frame),
        ),
        notes.paragraph(
            _underline_note(frame, len(table.underline)),
            notes.tested_note(frame, adjust),
            notes.dash_note(table.cells),
        ),
    ]
    return build(replace(table, notes=below, title=title), "salstats-decrease")


def _placement(frame: pd.DataFrame, wide: bool | None) -> Placement:
    """Tasks as rows with methods beside each other, or as groups; without tasks methods as rows."""
    keys = grouping_columns(frame)
    keys += [c for c in ("method", "reference", "term") if c in frame.columns and c not in keys]
    varying = [c for c in keys if varies(frame, c)]
    rows = "task" if "task" in varying else "method"
    beside = rows == "task" and (frame["method"].nunique() <= _BESIDE if wide is None else wide)
    columns = ("method",) if beside else ()
    groups = [c for c in varying if c not in (rows, *columns)]
    groups.sort(key=lambda c: (c != "metric", c == "method"))
    placed = (rows, *columns, *groups)
    constant = tuple(c for c in keys if c not in placed and c not in ("reference", "term"))
    return Placement((rows,), columns, tuple(groups), constant)


def _by_size(slots: Slots, estimates: np.ndarray, descending: bool) -> Slots:
    """The rows of each group by their estimates, undefined ones behind, averages last."""
    groups = list(dict.fromkeys(slots.groups))

    def place_of(i: int) -> tuple[int, bool, bool, float]:
        known = [estimates[j] for j in slots.index[i] if j >= 0 and not np.isnan(estimates[j])]
        size = float(np.mean(known)) if known else 0.0
        return groups.index(slots.groups[i]), slots.last[i], not known, -size if descending else size

    order = sorted(range(len(slots.rows)), key=place_of)
    return replace(
        slots,
        groups=[slots.groups[i] for i in order],
        rows=[slots.rows[i] for i in order],
        index=slots.index[order],
        last=[slots.last[i] for i in order],
    )


@dataclass(frozen=True)
class _Part:
    """One of the columns each method has: heading ("" for a method's own), texts by row of the frame."""

    heading: str
    texts: list[str]
    align: Literal["point", "right"] = "point"
    is_gap: bool = False


def _parts(frame: pd.DataFrame, n: bool, digits: int, percent_digits: int, style: str) -> list[_Part]:
    """The columns each method has."""
    percent = notes.single(frame, "term") == "percent_decrease"
    gaps = interval_texts(frame, percent_digits if percent else digits, style)
    interval = notes.ci_text(frame)
    term = TERMS["percent_decrease" if percent else "difference"]
    heading = f"{term.heading} ({interval})" if interval else term.heading
    parts = [_Part("n", [count_text(v) for v in numbers(frame, "n_pairs")], "right")] if n else []
    parts += [
        _Part("reference", [fixed_text(v, digits) for v in numbers(frame, "reference_mean")]),
        _Part("method", [fixed_text(v, digits) for v in numbers(frame, "method_mean")]),
        _Part(heading, gaps, is_gap=True),
    ]
    rows = frame.to_dict("records")
    if not np.isnan([p_used(row) for row in rows]).all():
        parts.append(_Part("P", [row_p_text(row, style) for row in rows]))
    return parts


def _columns(parts: list[_Part], frame: pd.DataFrame, above: tuple[str, ...], labels: Labels) -> list[Column]:
    """The headings of one method's columns."""
    own = above[-1] if above else labels.column("method")
    references = frame["reference"].unique()
    reference = (
        labels.value("reference", references[0]) if len(references) == 1 else labels.column("reference")
    )
    headings = {"reference": reference, "method": own, "n": labels.column("n")}
    return [Column(headings.get(part.heading, part.heading), above, part.align) for part in parts]


def _mean_note(frame: pd.DataFrame) -> str:
    """What the means are over."""
    of_pairs = np.array_equal(numbers(frame, "n"), numbers(frame, "n_pairs"), equal_nan=True)
    return "Means are over the cases where both scores are defined." if of_pairs else ""


def _underline_note(frame: pd.DataFrame, n_marked: int) -> str:
    """What underlined means, or that nothing is."""
    if "verdict" not in frame.columns:
        return ""
    when = notes.significance(frame)
    return f"Underlined: significant ({when})." if n_marked else f"None is significant ({when})."
