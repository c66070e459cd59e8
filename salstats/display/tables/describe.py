"""What scores look like, as a table: a paper's first one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.estimates import Estimates
from salstats.display.facts import paragraph
from salstats.display.tables import notes
from salstats.display.tables.grid import Value, check_display, fill
from salstats.display.tables.layout import build
from salstats.display.tables.placement import lay_out, place
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import MISSING, count_text, fixed_text, interval_text, plural
from salstats.display.text.labels import Labels
from salstats.metrics.registry import known_metric
from salstats.stats.engine.carried import missing_scores

#: Columns of `describe` that are shown; what stands before `n` are the grouping columns.
_NEEDED = ("n", "mean", "sd", "median", "q1", "q3", "n_zero", "share_zero", "n_one", "share_one", "binary")


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
    digits : int
        Decimals of means, standard deviations and quartiles; percentages have one.
    labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table.

    Raises
    ------
    SalstatsError
        A column of `describe` is missing; two rows have the same grouping columns.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> described = ss.describe(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> isinstance(ss.table_describe(described, title="Scores"), GT)
    True
    """
    summaries = check_display(described, digits, style, "described", _NEEDED)
    frame, keys = summaries.frame, summaries.keys
    names = Labels(labels, frame)
    rows = ["method"] if "method" in summaries.varying else list(summaries.varying or keys)[-1:]
    placement = place(summaries, keys, rows, [])
    metric = f" {names.value('metric', frame['metric'].iloc[0])}" if "metric" in placement.constant else ""
    table = fill(lay_out(frame, placement, names), _values(summaries, metric, digits, style), names)
    constant = [c for c in placement.constant if c != "metric"]
    below = (
        paragraph(
            notes.constant_note(summaries, constant, names),
            notes.how_note(summaries, names),
            notes.metric_note(frame),
        ),
        paragraph(
            "n, scores; undefined ones are left out." if summaries.values("n_missing") else "n, scores.",
            "Scores of 0 and 1 alone are described by their counts." if frame["binary"].any() else "",
            caution_note(frame),
        ),
    )
    table = replace(table, notes=below, symbols=notes.dash_note(table.cells), title=title)
    return build(table, "salstats-describe")


def _values(summaries: Estimates, metric: str, digits: int, style: str) -> list[Value]:
    """Return the columns that say something about these scores, of the only metric where there is one."""
    frame = summaries.frame
    rows = frame.assign(missing=missing_scores(frame)).to_dict("records")

    def counts(heading: str, column: str) -> Value:
        return Value(heading, [count_text(row[column]) for row in rows], "right")

    values = [counts("n", "n")]
    if summaries.values("n_missing"):
        values.append(counts("Undefined", "missing"))
    if summaries.values("n_units"):
        unit = str(summaries.single("unit") or "unit")
        values.append(counts(plural(unit).capitalize(), "n_units"))
    if not frame["binary"].all():
        values += [
            Value(f"Mean{metric} (SD)", [_spread(row, digits) for row in rows]),
            Value(f"Median{metric} (Q1, Q3)", [_quartiles(row, digits, style) for row in rows]),
        ]
    if (frame["n_zero"] + frame["n_one"]).any():
        values += [
            Value(
                f"{metric[1:]} at 0, n (%)" if metric else "At 0, n (%)",
                [_share(row, "zero") for row in rows],
            ),
            Value(
                f"{metric[1:]} at 1, n (%)" if metric else "At 1, n (%)", [_share(row, "one") for row in rows]
            ),
        ]
    return values


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
