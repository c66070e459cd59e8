"""Table that describes scores, usually the first one of a paper."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.display.estimates import Estimates, chosen_or_recorded_references
from salstats.display.facts import paragraph
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import (
    TableQuantity,
    decimals_by_metric_of_rows,
    quantity_table,
    read_estimates_to_show,
)
from salstats.display.tables.placement import choose_placement, grid_of_frame_row_numbers
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import (
    MISSING,
    count_text,
    fixed_text,
    interval_text,
    noun_of_identifier,
    plural,
)
from salstats.display.text.labels import Labels
from salstats.metrics.registry import registered_metric
from salstats.stats.engine.score_reasons import count_missing_without_absent_findings

#: Columns of `describe` that are shown; the columns before `n` are the grouping columns.
_REQUIRED_COLUMNS = (
    "n",
    "mean",
    "sd",
    "median",
    "q1",
    "q3",
    "n_zero",
    "share_zero",
    "n_one",
    "share_one",
    "binary",
)


def table_describe(
    described: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int | None = None,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate a description of scores for a paper.

    One row per method (of one method, per value of the last grouping column that varies), in groups by
    the other grouping columns: n, undefined scores if there are any, units where they have several scores,
    mean (SD) and median (quartiles), and how many scores are exactly 0 and exactly 1. For 0/1 scores, such
    as hits, these two counts with their percentages suffice, and mean and median are left blank.

    Parameters
    ----------
    described : DataFrame
        The frame that `describe` returns.
    digits : int, optional
        Decimals of means, standard deviations and quartiles, by default as for `table_estimates`; percentages
        have one.
    labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table.

    Raises
    ------
    SalstatsError
        A column of `describe` is missing; two rows have the same values in the grouping columns.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> described = ss.describe(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> isinstance(ss.table_describe(described, title="Scores"), GT)
    True
    """
    summaries = read_estimates_to_show(described, digits, style, "described", _REQUIRED_COLUMNS)
    frame = summaries.frame
    keys = summaries.keys
    # reference methods are the first rows, as in tables that compare
    table_labels = Labels(labels, frame).with_references_first(chosen_or_recorded_references(summaries))
    varying = summaries.varying_keys
    rows = list(varying or keys)[-1:]
    if "method" in varying:
        rows = ["method"]
    placement = choose_placement(summaries, keys, rows, columns=[])
    metric_label = ""
    if "metric" in placement.constant:
        metric_label = table_labels.value("metric", frame["metric"].iloc[0])
    values = _summary_quantities(summaries, metric_label, digits, style)
    table = quantity_table(grid_of_frame_row_numbers(frame, placement, table_labels), values, table_labels)
    constant = [column for column in placement.constant if column != "metric"]
    general = paragraph(
        notes.constant_note(summaries, constant, table_labels),
        notes.scoring_note(summaries, table_labels),
        notes.metric_notes(frame),
    )
    n_note = "n, scores"
    if _has_one_score_per_unit(summaries):
        n_note += f", one per {noun_of_identifier(str(summaries.only_non_missing_value('unit') or 'unit'))}"
    if _has_undefined_scores(summaries):
        n_note += "; undefined ones are left out"
    elif summaries.distinct_values("n_missing"):
        n_note += "; none undefined"
    binary_note = ""
    if frame["binary"].any():
        binary_note = "Scores of 0 and 1 alone are described by their counts."
    statistics = paragraph(f"{n_note}.", binary_note, caution_note(frame))
    table = replace(table, notes=(general, statistics), symbol_note=notes.dash_note(table.cells), title=title)
    return great_table(table, "salstats-describe")


def _summary_quantities(
    summaries: Estimates, metric_label: str, digits: int | None, style: str
) -> list[TableQuantity]:
    """Return the counts, means and medians that a table shows, without those that would be empty.

    `metric_label` is the label of the only metric, "" if there are several.
    """
    frame = summaries.frame
    rows = frame.assign(missing=count_missing_without_absent_findings(frame)).to_dict("records")

    def count_value(heading: str, column: str) -> TableQuantity:
        return TableQuantity(heading, [count_text(row[column]) for row in rows], "right")

    values = [count_value("n", "n")]
    if _has_undefined_scores(summaries):
        values.append(count_value("Undefined", "missing"))
    if summaries.distinct_values("n_units") and not _has_one_score_per_unit(summaries):
        unit = str(summaries.only_non_missing_value("unit") or "unit")
        values.append(count_value(plural(unit).capitalize(), "n_units"))
    if not frame["binary"].all():
        mean_heading = "Mean (SD)"
        median_heading = "Median (Q1, Q3)"
        if metric_label:
            mean_heading = f"Mean {metric_label} (SD)"
            median_heading = f"Median {metric_label} (Q1, Q3)"
        rows_with_digits = list(zip(rows, decimals_by_metric_of_rows(summaries, digits), strict=True))
        mean_texts = [_mean_and_sd_text(row, row_digits) for row, row_digits in rows_with_digits]
        median_texts = [_median_and_iqr_text(row, row_digits, style) for row, row_digits in rows_with_digits]
        values.append(TableQuantity(mean_heading, mean_texts))
        values.append(TableQuantity(median_heading, median_texts))
    if (frame["n_zero"] + frame["n_one"]).any():
        zero_heading = "At 0, n (%)"
        one_heading = "At 1, n (%)"
        if metric_label:
            zero_heading = f"{metric_label} at 0, n (%)"
            one_heading = f"{metric_label} at 1, n (%)"
        zero_texts = [_count_and_percent_at_bound_text(row, "zero") for row in rows]
        one_texts = [_count_and_percent_at_bound_text(row, "one") for row in rows]
        values.append(TableQuantity(zero_heading, zero_texts))
        values.append(TableQuantity(one_heading, one_texts))
    return values


def _has_undefined_scores(summaries: Estimates) -> bool:
    """Return whether any score is undefined; those of absent findings do not count."""
    n_missing = count_missing_without_absent_findings(summaries.frame)
    return bool((n_missing > 0).any())


def _has_one_score_per_unit(summaries: Estimates) -> bool:
    """Return whether each unit has one score, so that there are as many units as scores."""
    n = summaries.numbers("n")
    return bool((n > 0).any()) and np.array_equal(n, summaries.numbers("n_units"))


def _mean_and_sd_text(row: dict[Hashable, Any], digits: int) -> str:
    """Return the mean (SD), "" for 0/1 scores."""
    if row["binary"]:
        return ""
    mean = fixed_text(row["mean"], digits)
    if mean == MISSING:
        return MISSING
    return f"{mean} ({fixed_text(row['sd'], digits)})"


def _median_and_iqr_text(row: dict[Hashable, Any], digits: int, style: str) -> str:
    """Return the median (quartiles), "" for 0/1 scores."""
    if row["binary"]:
        return ""
    return interval_text(row["median"], row["q1"], row["q3"], digits, style)


def _count_and_percent_at_bound_text(row: dict[Hashable, Any], bound: Literal["zero", "one"]) -> str:
    """Return the number and percentage of scores at a bound of metrics from 0 to 1, "" for other metrics."""
    metric = registered_metric(row.get("metric"))
    if metric is not None and (metric.low, metric.high) != (0, 1):
        return ""
    if not row["n"]:
        return MISSING
    percent = fixed_text(100 * row[f"share_{bound}"], 1)
    return f"{count_text(row[f'n_{bound}'])} ({percent})"
