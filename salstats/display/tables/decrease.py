"""Paired contrasts with a reference as a table: both means, the gap with its interval, and P."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_choice, check_columns
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import BOUNDS, p_value_sentence, paragraph, with_interval
from salstats.display.tables import notes
from salstats.display.tables.fitting import fits
from salstats.display.tables.grid import Value, bounds_values, check_display, fill, interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import p_heading
from salstats.display.tables.placement import Placement, Slots, lay_out
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
from salstats.stats.engine.effect_sizes import RECORDS as EFFECT_SIZES
from salstats.stats.engine.equivalence import SIDES, split_verdicts

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
    given = check_display(decrease, digits, style, "decrease", needed).adjusted_by(adjust)
    medians = [column.replace("mean", "median") for column in _MEANS]
    average = "median" if given.values(medians[0]) else "mean"
    every = given.with_frame(given.frame.rename(columns=dict(zip(medians, _MEANS, strict=True))))
    check_columns(every.frame, _MEANS, "decrease")
    check_choice(sort, ("label", "size"), "sort")
    differences = every.of_term("difference")
    names = Labels(labels, differences.frame)
    contrasts = pairs_as_methods(differences, names)
    frame = contrasts.frame
    few = len(contrasts.values("method")) <= _BESIDE
    for beside in (few, False) if wide is None else (wide,):
        placement = _placement(contrasts, beside)
        slots = lay_out(frame, placement, names)
        if sort == "size":
            slots = _by_size(slots, contrasts)
        # below its label, where that stands above its columns
        own = "" if placement.columns else f"{names.column('method')}, {average}"
        metric = names.value("metric", frame["metric"].iloc[0]) if "metric" in placement.constant else ""
        values = _values(contrasts, names, (own, metric), n, (digits, percent_digits), style)
        table = fill(slots, values, names)
        if fits(table):
            break
    said = [c for c in placement.constant if c not in ("metric", *placement.rows)]
    nouns = ("pair", "incomplete") if contrasts.values("n_pairs") else ("score", "undefined")
    of_pairs = np.array_equal(contrasts.numbers("n"), contrasts.numbers("n_pairs"), equal_nan=True)
    means = "Means are over the cases where both scores are defined." if of_pairs else ""
    general, statistics = notes.estimates_note(contrasts, names, said, nouns, means)
    statistics = paragraph(
        statistics,
        BOUNDS if "bound_low" in frame.columns else "",
        _effect_note(contrasts),
        p_value_sentence(contrasts),
        notes.equal_note(every, names, style),
    )
    underline = _underline_note(contrasts, len(table.underline))
    symbols = paragraph(
        "" if table.underline else underline,
        margin_note(contrasts, names, style),
        notes.dash_note(table.cells),
    )
    marks = underline if table.underline else ""
    table = replace(table, notes=(general, statistics), marks=marks, symbols=symbols, title=title)
    return build(table, "salstats-decrease")


def _placement(contrasts: Estimates, wide: bool) -> Placement:
    """Return tasks as rows with methods beside each other, or as groups; without tasks methods as rows."""
    further = [c for c in ("reference", "term") if c not in contrasts.keys and contrasts.values(c)]
    keys = [*contrasts.keys, *further]
    varying = [c for c in keys if contrasts.varies(c)]
    rows = "task" if "task" in varying else "method"
    placed = (rows, "method") if rows == "task" and wide else (rows,)
    groups = sorted((c for c in varying if c not in placed), key=lambda c: (c != "metric", c == "method"))
    constant = tuple(c for c in keys if c not in (*placed, *groups, "reference", "term"))
    return Placement((rows,), placed[1:], tuple(groups), constant)


def _by_size(slots: Slots, contrasts: Estimates) -> Slots:
    """Sort the rows of each group: furthest below the reference, ..., undefined ones, averages last."""
    # a difference is the lower, and of a metric that is better the smaller, the higher the further below
    sign = -1 if contrasts.term == "percent_decrease" else 1
    sizes = sign * contrasts.numbers("estimate")
    if contrasts.values("metric"):
        sizes = sizes * [direction(metric) or 1 for metric in contrasts.frame["metric"]]
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
    contrasts: Estimates,
    labels: Labels,
    named: tuple[str, str],
    n: bool,
    digits: tuple[int, int],
    style: str,
) -> list[Value]:
    """Return the columns that each method has; `named` are the heading of its means and the only metric."""
    own, metric = named
    frame, term = contrasts.frame, str(contrasts.term)
    percent = term == "percent_decrease"
    known = TERMS[term if term in CONTRASTS else "difference"]
    gap = f"{metric}, {known.name}" if metric else known.heading
    same = contrasts.single("reference")
    reference = labels.column("reference") if same is None else labels.value("reference", str(same))
    differs = np.zeros(len(frame), dtype=bool)
    if "verdict" in frame.columns:
        differs = np.isin(split_verdicts(frame["verdict"])[0], SIDES[:2])
    means = {name: [fixed_text(v, digits[0]) for v in contrasts.numbers(name)] for name in _MEANS}
    gaps = interval_texts(contrasts, digits[percent], style, margin_marks(contrasts))
    rows = frame.to_dict("records")
    tested = not np.isnan([p_used(row) for row in rows]).all()
    values = []
    if n and contrasts.values("n_pairs"):
        counts = [count_text(v) for v in contrasts.numbers("n_pairs")]
        values.append(Value(labels.column("n"), counts, "right"))
    values += [
        Value(reference + own[own.find(",") :] if own else reference, means["reference_mean"]),
        Value(own, means["method_mean"]),
        Value(with_interval(gap, contrasts, beside_p=tested), gaps, underline=np.flatnonzero(differs)),
        *bounds_values(contrasts, digits[percent], style),
        *_effect_values(contrasts, style),
    ]
    if tested:
        values.append(Value(p_heading(contrasts), [row_p_text(row, style) for row in rows]))
    if has_margins(contrasts):
        shown = "p_margin_adjusted" if contrasts.values("p_margin_adjusted") else "p_margin"
        values.append(Value(margin_heading(contrasts), [p_text(p, style) for p in contrasts.numbers(shown)]))
    return values


def _effect_values(contrasts: Estimates, style: str) -> list[Value]:
    """Return a column of the standardised effect sizes with their limits, where the frame has them."""
    if not contrasts.values("effect_size"):
        return []
    columns = {"effect": "estimate", "effect_low": "conf_low", "effect_high": "conf_high"}
    effects = contrasts.frame[[*columns, "conf_level"]].rename(columns=columns)
    sizes = read_estimates(effects, "effect sizes")
    known = EFFECT_SIZES.get(str(contrasts.single("effect_size")))
    heading = with_interval("Effect size" if known is None else known.label, sizes)
    return [Value(heading, interval_texts(sizes, _EFFECT_DIGITS, style))]


def _effect_note(contrasts: Estimates) -> str:
    """Say what the effect size is, and whose pairs its limits take for independent."""
    known = EFFECT_SIZES.get(str(contrasts.single("effect_size")))
    if known is None:
        return ""
    unit = contrasts.single("unit")
    clustered = "" if unit is None else f", clustered by {str(unit).replace('_', ' ')}"
    return f"{known.label}: {known.note}, limits from CR2 standard errors{clustered}."


def _underline_note(contrasts: Estimates, n_marked: int) -> str:
    """Say what underlined means, or that nothing is."""
    if not contrasts.values("verdict"):
        return ""
    when = notes.significance(contrasts)
    return f"Underlined: significant ({when})." if n_marked else f"None is significant ({when})."
