"""Paired contrasts with a reference as a table: both means, the gap with its interval, and P."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_choice, check_columns
from salstats.display.tables import notes
from salstats.display.tables.fitting import fits
from salstats.display.tables.grid import Value, bounds_values, check_display, fill, interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import numbers, p_heading
from salstats.display.tables.placement import (
    Placement,
    Slots,
    grouping_columns,
    lay_out,
    rows_of_term,
    varies,
)
from salstats.display.text.format import count_text, fixed_text, p_text, p_used, row_p_text
from salstats.display.text.labels import Labels
from salstats.display.text.margins import (
    has_margins,
    margin_heading,
    margin_marks,
    margin_note,
    pairs_as_methods,
)
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.metrics.registry import direction
from salstats.stats.effect_sizes import RECORDS as EFFECT_SIZES
from salstats.stats.equivalence import SIDES, split_verdicts

#: Methods that stand beside each other before they become groups of rows.
_BESIDE = 3
#: Decimals of standardised effect sizes.
_EFFECT_DIGITS = 2
_MEANS = ("reference_mean", "method_mean")


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
    and P. Significant decreases are underlined, those inside their margin have a dagger and the P of its
    test; an average stands last, set apart. Pairs of several references are rows such as "B vs A".

    Parameters
    ----------
    decrease : DataFrame
        A frame of `percent_decrease` or `difference`, or of `mrmc`, of which the differences are shown;
        `bound_low, bound_high` of `missing_bounds` and the effect sizes of `difference` stand in columns
        of their own.
    sort : {"label", "size"}
        Rows in the order of labels, or by how far methods are below the reference (averaged over the
        methods beside each other), the furthest first.
    wide : bool, optional
        Methods beside each other, or as groups of rows; by default beside each other up to three, where
        the page is wide enough.
    n : bool
        Give the number of pairs.
    digits : int
        Decimals of means, and of differences and their limits.
    percent_digits : int
        Decimals of percentages and their limits.
    adjust, labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table; P is adjusted where the frame has `p_adjusted`, and a note says so.

    Raises
    ------
    SalstatsError
        A column of `percent_decrease` is missing; two rows have the same grouping columns; an unknown order.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> decrease = ss.percent_decrease(ss.datasets.load_simulated(), reference="human", average="task")
    >>> isinstance(ss.table_decrease(decrease, sort="size"), GT)
    True
    """
    needed = ("estimate", "method", "reference")
    every = check_display(decrease, digits, style, "decrease", needed)
    medians = [c.replace("mean", "median") for c in _MEANS]
    average = "median" if set(medians) <= set(every.columns) else "mean"
    if average == "median":
        every = every.rename(columns=dict(zip(medians, _MEANS, strict=True)))
    check_columns(every, _MEANS, "decrease")
    frame = rows_of_term(every, "difference")
    check_choice(sort, ("label", "size"), "sort")
    names = Labels(labels, frame)
    frame = pairs_as_methods(frame, names)
    few = frame["method"].nunique() <= _BESIDE
    for beside in (few, False) if wide is None else (wide,):
        placement = _placement(frame, beside)
        slots = lay_out(frame, placement, names)
        if sort == "size":
            slots = _by_size(slots, frame)
        # below its label, where that stands above its columns
        own = "" if placement.columns else f"{names.column('method')}, {average}"
        metric = names.value("metric", frame["metric"].iloc[0]) if "metric" in placement.constant else ""
        values = _values(frame, names, (own, metric), n, (digits, percent_digits), style, adjust)
        table = fill(slots, values, names)
        if fits(table):
            break
    said = [c for c in placement.constant if c not in ("metric", *placement.rows)]
    nouns = ("pair", "incomplete") if "n_pairs" in frame else ("score", "undefined")
    of_pairs = np.array_equal(numbers(frame, "n"), numbers(frame, "n_pairs"), equal_nan=True)
    means = "Means are over the cases where both scores are defined." if of_pairs else ""
    general, statistics = notes.estimates_note(frame, names, said, nouns, means)
    statistics = notes.paragraph(
        statistics,
        notes.BOUNDS if "bound_low" in frame.columns else "",
        _effect_note(frame),
        notes.tested_note(frame, adjust),
        notes.equal_note(every, names, style),
    )
    symbols = notes.paragraph(
        _underline_note(frame, len(table.underline)),
        margin_note(frame, names, style),
        notes.dash_note(table.cells),
    )
    table = replace(table, notes=(general, statistics), symbols=symbols, title=title)
    return build(table, "salstats-decrease")


def _placement(frame: pd.DataFrame, wide: bool) -> Placement:
    """Tasks as rows with methods beside each other, or as groups; without tasks methods as rows."""
    keys = grouping_columns(frame)
    keys += [c for c in ("method", "reference", "term") if c in frame.columns and c not in keys]
    varying = [c for c in keys if varies(frame, c)]
    rows = "task" if "task" in varying else "method"
    placed = (rows, "method") if rows == "task" and wide else (rows,)
    groups = sorted((c for c in varying if c not in placed), key=lambda c: (c != "metric", c == "method"))
    constant = tuple(c for c in keys if c not in (*placed, *groups, "reference", "term"))
    return Placement((rows,), placed[1:], tuple(groups), constant)


def _by_size(slots: Slots, frame: pd.DataFrame) -> Slots:
    """The rows of each group, furthest below the reference first, undefined ones behind, averages last."""
    # a difference is the lower, and of a metric that is better the smaller, the higher the further below
    sign = -1 if notes.single(frame, "term") == "percent_decrease" else 1
    metrics = frame["metric"] if "metric" in frame.columns else [None] * len(frame)
    sizes = sign * numbers(frame, "estimate") * [direction(m) or 1 for m in metrics]
    groups = list(dict.fromkeys(slots.groups))

    def place_of(i: int) -> tuple[int, bool, bool, float]:
        known = [sizes[j] for j in slots.index[i] if j >= 0 and not np.isnan(sizes[j])]
        return groups.index(slots.groups[i]), slots.last[i], not known, float(np.mean(known or [0]))

    order = sorted(range(len(slots.rows)), key=place_of)
    return replace(
        slots,
        rows=[slots.rows[i] for i in order],
        index=slots.index[order],
        last=[slots.last[i] for i in order],
    )


def _values(
    frame: pd.DataFrame,
    labels: Labels,
    named: tuple[str, str],
    n: bool,
    digits: tuple[int, int],
    style: str,
    adjust: str | None,
) -> list[Value]:
    """The columns that each method has; `named` are the heading of its means and the only metric."""
    own, metric = named
    term = str(notes.single(frame, "term"))
    percent = term == "percent_decrease"
    known = TERMS[term if term in CONTRASTS else "difference"]
    gap = f"{metric}, {known.name}" if metric else known.heading
    same = notes.single(frame, "reference")
    reference = labels.column("reference") if same is None else labels.value("reference", str(same))
    differs = np.zeros(len(frame), dtype=bool)
    if "verdict" in frame.columns:
        differs = np.isin(split_verdicts(frame["verdict"])[0], SIDES[:2])
    means = {name: [fixed_text(v, digits[0]) for v in numbers(frame, name)] for name in _MEANS}
    gaps = interval_texts(frame, digits[percent], style, margin_marks(frame))
    rows = frame.to_dict("records")
    tested = not np.isnan([p_used(row) for row in rows]).all()
    values = (
        [Value(labels.column("n"), [count_text(v) for v in numbers(frame, "n_pairs")], "right")]
        if n and "n_pairs" in frame
        else []
    )
    values += [
        Value(reference + own[own.find(",") :] if own else reference, means["reference_mean"]),
        Value(own, means["method_mean"]),
        Value(notes.with_interval(gap, frame, beside_p=tested), gaps, underline=np.flatnonzero(differs)),
        *bounds_values(frame, digits[percent], style),
        *_effect_values(frame, style),
    ]
    if tested:
        values.append(Value(p_heading(frame, adjust), [row_p_text(row, style) for row in rows]))
    if has_margins(frame):
        shown = "p_margin_adjusted" if "p_margin_adjusted" in frame.columns else "p_margin"
        values.append(Value(margin_heading(frame), [p_text(p, style) for p in numbers(frame, shown)]))
    return values


def _effect_values(frame: pd.DataFrame, style: str) -> list[Value]:
    """A column of the standardised effect sizes with their limits, where the frame has them."""
    if "effect" not in frame.columns:
        return []
    effects = pd.DataFrame(
        {
            "estimate": frame["effect"],
            "conf_low": frame["effect_low"],
            "conf_high": frame["effect_high"],
            "conf_level": frame["conf_level"],
        }
    )
    known = EFFECT_SIZES.get(str(notes.single(frame, "effect_size")))
    heading = notes.with_interval("Effect size" if known is None else known.label, effects)
    return [Value(heading, interval_texts(effects, _EFFECT_DIGITS, style))]


def _effect_note(frame: pd.DataFrame) -> str:
    """Say what the effect size is, and whose pairs its limits take for independent."""
    known = EFFECT_SIZES.get(str(notes.single(frame, "effect_size")))
    if known is None:
        return ""
    unit = notes.single(frame, "unit")
    clustered = "" if unit is None else f", clustered by {str(unit).replace('_', ' ')}"
    return f"{known.label}: {known.note}, limits from CR2 standard errors{clustered}."


def _underline_note(frame: pd.DataFrame, n_marked: int) -> str:
    """What underlined means, or that nothing is."""
    if "verdict" not in frame.columns:
        return ""
    when = notes.significance(frame)
    return f"Underlined: significant ({when})." if n_marked else f"None is significant ({when})."
