"""Tables 2 to 4 and the rankings: means by data set and model, correlations of metrics, spread of ranks."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.estimates import read_estimates
from salstats.display.facts import interval_name_with_level, limits_and_caution_note, paragraph
from salstats.display.plots.layout.figure import Figure
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.marks import best_estimates
from salstats.display.tables.record import Table, TableColumn
from salstats.display.text.format import (
    MISSING,
    count_range_text,
    count_text,
    fixed_text,
    limits_text,
    percent_text,
)
from salstats.display.text.labels import Labels
from salstats.studies.declarations import ItemResult
from salstats.studies.saliency_bench.cell_means import (
    CELL_COLUMNS,
    MIN_DRAWN_DATA_SETS,
    Benchmark,
    abbreviation_note,
    labels_with_metric_headings,
    method_ranks_by_mean_over_data_sets,
    method_ranks_with_limits_by_data_set_and_model,
    pearson_over_data_sets,
    sorted_by_labels,
)
from salstats.studies.saliency_bench.dot_plot import plot_dots

#: One row of a frame: its values by column.
FrameRow = dict[Hashable, Any]
#: Identifier of the tables.
TABLE_ID = "saliency-bench"
#: Stands between the two metrics of a pair.
_DASH = "\u2013"
#: Decimals of means of scores.
_DIGITS = 3
#: Decimals of printed means.
_PRINTED_DIGITS = 4
_RANK_NOTE = (
    "Rank 1 is the best, ties share the average. Limits: between which ranks a method is in 95% of the "
    "replicates; they show how the ranking moves and are no intervals for true ranks."
)


@dataclass(frozen=True)
class _CrossedLayout:
    """Layout of a table in which the values of one column stand side by side."""

    #: Columns that group the rows of the table.
    groups: Sequence[str]
    #: Columns that label the rows.
    stub: Sequence[str]
    #: Column whose values stand side by side.
    across: str
    #: Text of a row of the frame, by its heading.
    cells: Mapping[str, Callable[[FrameRow], str]]
    #: Mark the cells of rows whose column `bold` is true.
    bold: bool = False
    #: Heading of a last column, and its text of all rows of the frame in one row of the table.
    last_heading: str = ""
    last_cell: Callable[[pd.DataFrame], str] | None = None


def _crossed_table(
    rows: pd.DataFrame, names: Labels, layout: _CrossedLayout, table_notes: Iterable[str]
) -> GT:
    """Make a table in which the values of one column stand side by side."""
    values = names.order(layout.across, rows[layout.across])
    keys = [*layout.groups, *layout.stub]
    n_groups = len(layout.groups)
    group_labels = []
    stub_labels = []
    cells = []
    bold = set()
    for i, (key_values, frame_rows) in enumerate(rows.groupby(keys, sort=False, observed=True)):
        labels = [names.value(column, value) for column, value in zip(keys, key_values, strict=True)]
        group_labels.append(", ".join(labels[:n_groups]))
        stub_labels.append(tuple(labels[n_groups:]))
        frame_row_by_value = {row[layout.across]: row for row in frame_rows.to_dict("records")}
        texts = []
        for j, value in enumerate(values):
            if value not in frame_row_by_value:
                texts += [MISSING] * len(layout.cells)
                continue
            frame_row = frame_row_by_value[value]
            texts += [cell_text(frame_row) for cell_text in layout.cells.values()]
            if layout.bold and frame_row["bold"]:
                # Tables with marks have one column for each value, so that j is the column.
                bold.add((i, j))
        if layout.last_cell is not None:
            texts.append(layout.last_cell(frame_rows))
        cells.append(texts)
    stub_headings = []
    for column in layout.stub:
        heading = names.column(column)
        if column == "dataset":
            heading = "Data set"
        stub_headings.append(heading)
    table = Table(
        tuple(stub_headings),
        stub_labels,
        _crossed_headings([names.value(layout.across, value) for value in values], layout),
        cells,
        groups=group_labels,
        bold=bold,
        notes=[paragraph(*table_notes, notes.dash_note(cells))],
    )
    return great_table(table, TABLE_ID)


def _crossed_headings(names: Sequence[str], layout: _CrossedLayout) -> list[TableColumn]:
    """Return the columns of a crossed table; where a value has several cells, its name stands above these."""
    align: Any = "point"
    if layout.last_cell is not None:
        align = "left"
    headings = []
    for name in names:
        if len(layout.cells) > 1:
            headings += [TableColumn(heading, (name,)) for heading in layout.cells]
        else:
            headings.append(TableColumn(name, (), align))
    if layout.last_cell is not None:
        headings.append(TableColumn(layout.last_heading, (), align))
    return headings


def _table_of_means_without_intervals(
    benchmark: Benchmark, rows: pd.DataFrame, groups: Sequence[str], stub: Sequence[str], across: str
) -> GT:
    """Make a table of means with notes; a column `bold` marks the best."""
    names = benchmark.names
    digits = _DIGITS
    if benchmark.is_printed:
        digits = _PRINTED_DIGITS
    is_marked = "bold" in rows
    table_notes = []
    if is_marked:
        table_notes.append("Bold: the best of its row; methods whose means are equal are both.")
    table_notes.append(abbreviation_note(names.order("metric", rows["metric"]), names))
    if not benchmark.is_printed:
        table_notes.append(_score_counts_behind_means_note(rows))
    table_notes.append(notes.scoring_note(read_estimates(rows, required_columns=()), names))
    table_notes.append(notes.metric_notes(rows))
    cells = {"": lambda row: fixed_text(row["estimate"], digits)}
    layout = _CrossedLayout(groups, stub, across, cells, bold=is_marked)
    return _crossed_table(rows, names, layout, table_notes)


def table_2_models_with_several_methods(benchmark: Benchmark) -> ItemResult | None:
    """Table 2: a row per data set and metric, a column per method, a group per model."""
    if benchmark.means_of_several_methods.empty:
        return None
    rows = sorted_by_labels(
        benchmark.means_of_several_methods, ["model", "dataset", "metric", "method"], benchmark.names
    )
    rows = rows.reset_index(drop=True)
    best = best_estimates(read_estimates(rows), CELL_COLUMNS, compared_columns=["method"], exclude=[])
    marked = rows.assign(bold=rows.index.isin(list(best.rows)))
    note = "intervals stand in the frame and figure"
    if benchmark.is_printed:
        note = "the printed Table 2, nothing recomputed"
    elif benchmark.options.as_published:
        note = "means alone, as published"
    table = _table_of_means_without_intervals(benchmark, marked, ["model"], ["dataset", "metric"], "method")
    return ItemResult(rows, table, _means_figure(rows, benchmark.names), note=note)


def table_4_models_with_single_method(benchmark: Benchmark) -> ItemResult | None:
    """Table 4: models with a single method of explanation, a row per data set."""
    if benchmark.means_of_single_method.empty:
        return None
    rows = sorted_by_labels(benchmark.means_of_single_method, ["model", "dataset", "metric"], benchmark.names)
    rows = rows.reset_index(drop=True)
    note = ""
    if benchmark.is_printed:
        note = "the printed Table 4, nothing recomputed"
    table = _table_of_means_without_intervals(benchmark, rows, ["model", "method"], ["dataset"], "metric")
    return ItemResult(rows, table, note=note)


def _score_counts_behind_means_note(means: pd.DataFrame) -> str:
    """Write the number of scores behind a mean."""
    n = count_range_text(means["n"])
    if n == MISSING:
        return ""
    return f"Each mean is of {n} scores of one data set, model, method and metric."


def _means_figure(means: pd.DataFrame, names: Labels) -> Figure:
    """Plot the means, a row of panels per data set."""
    low = float(means["estimate"].min())
    high = float(means["estimate"].max())
    title = "Mean"
    note = ""
    if _has_limits(means):
        low = min(low, float(means["conf_low"].min()))
        high = max(high, float(means["conf_high"].max()))
        estimates = read_estimates(means)
        title = f"Mean ({interval_name_with_level(estimates)})"
        note = limits_and_caution_note(estimates)
    limits = (low, high)
    breaks = (low, (low + high) / 2, high)
    if low >= 0 and high <= 1:
        limits = (0.0, 1.0)
        breaks = (0, 0.5, 1)
    return plot_dots(
        means,
        names=names,
        across="metric",
        down="dataset",
        title=title,
        limits=limits,
        breaks=breaks,
        note=note,
    )


def table_3_metric_correlations_across_data_sets(benchmark: Benchmark) -> ItemResult | None:
    """Table 3: correlations of two metrics' means over data sets, a group of rows per pair."""
    as_published = benchmark.options.as_published
    metrics = benchmark.names.order("metric", benchmark.means["metric"])
    means = benchmark.means
    if benchmark.is_printed:
        # The printed Table 3 has only models with several methods.
        means = benchmark.means_of_several_methods
    rows = pearson_over_data_sets(means, metrics)
    if rows.empty:
        return None
    if as_published:
        rows = rows[["model", "method", "term", "estimate", "n", "x", "y"]]
    rows = rows.assign(pair=rows["x"] + " " + rows["y"])
    pairs = {f"{x} {y}": _pair_label(x, y, benchmark.names) for x, y in combinations(metrics, 2)}
    names = labels_with_metric_headings(benchmark.means, {**benchmark.labels, "pair": pairs})
    rows = sorted_by_labels(rows, ["pair", "method", "model"], names).reset_index(drop=True)

    cells: dict[str, Callable[[FrameRow], str]] = {"r": lambda row: fixed_text(row["estimate"], 4)}
    axis_title = "Pearson's r"
    limits_note = ""
    conclusion = "too few for intervals"
    if as_published:
        conclusion = "as published, without intervals"
    if _has_limits(rows):
        estimates = read_estimates(rows)
        cells[interval_name_with_level(estimates)] = lambda row: limits_text(
            row["conf_low"], row["conf_high"], 2
        )
        axis_title = f"Pearson's r over data sets ({interval_name_with_level(estimates)})"
        limits_note = limits_and_caution_note(estimates)
        conclusion = "see the intervals before reading a correlation"
    cells["n"] = lambda row: count_text(row["n"])
    precision = _data_set_count_and_interval_width_note(rows, as_published=as_published)
    table_notes = (
        "r: Pearson's correlation of two metrics' means over data sets; n: data sets.",
        precision,
        limits_note,
        abbreviation_note(metrics, names),
    )
    figure = plot_dots(
        rows,
        names=names,
        across="pair",
        down=None,
        title=axis_title,
        limits=(-1, 1),
        breaks=(-1, -0.5, 0, 0.5, 1),
        guide=0,
        note=paragraph(precision, limits_note),
    )
    return ItemResult(
        rows,
        _crossed_table(rows, names, _CrossedLayout(["pair"], ["method"], "model", cells), table_notes),
        figure,
        note=f"n is {count_range_text(rows['n'])} data sets: {conclusion}",
    )


def _pair_label(x: str, y: str, names: Labels) -> str:
    """Write two metrics with a dash between."""
    return f"{names.value('metric', x)}{_DASH}{names.value('metric', y)}"


def _has_limits(frame: pd.DataFrame) -> bool:
    """Tell whether any row has limits."""
    return "conf_low" in frame.columns and bool(frame["conf_low"].notna().any())


def _data_set_count_and_interval_width_note(rows: pd.DataFrame, *, as_published: bool) -> str:
    """Write the number of data sets behind the correlations, and how wide their intervals are."""
    n = count_range_text(rows["n"])
    if as_published:
        return f"n = {n} data sets."
    intervals = rows[rows["conf_low"].notna()]
    if intervals.empty:
        return f"n = {n} data sets: too few for an interval (from 4 on), and for any conclusion."
    width = (intervals["conf_high"] - intervals["conf_low"]).median()
    contains_zero = (intervals["conf_low"] < 0) & (intervals["conf_high"] > 0)
    return (
        f"n = {n} data sets: the median interval is {fixed_text(width, 2)} wide, and "
        f"{int(contains_zero.sum())} of {len(intervals)} hold 0."
    )


def rank_stability_over_cases(benchmark: Benchmark) -> ItemResult | None:
    """Rank each method when cases are drawn again."""
    if benchmark.means_of_several_methods.empty or benchmark.scores is None:
        return None
    ranks = method_ranks_with_limits_by_data_set_and_model(benchmark.scores, benchmark.options)
    return _ranks_result(ranks, benchmark.names, "Cases (or patients)")


def rank_stability_over_data_sets(benchmark: Benchmark) -> ItemResult | None:
    """Rank each method when whole data sets are drawn again."""
    several = benchmark.means_of_several_methods
    if several.empty or several["dataset"].nunique() < MIN_DRAWN_DATA_SETS:
        return None
    ranks = method_ranks_by_mean_over_data_sets(several, benchmark.options)
    return _ranks_result(ranks, labels_with_metric_headings(several, benchmark.labels), "Data sets")


def _ranks_result(ranks: pd.DataFrame, names: Labels, resampled: str) -> ItemResult:
    """Show ranks as a table and a figure; `resampled` is the text that names what is drawn again."""
    by = [column for column in ("metric", "dataset", "model") if column in ranks.columns]
    rows = sorted_by_labels(ranks, [*by, "method"], names).reset_index(drop=True)
    n_replicates = f"{int(rows['n_replicates'].iloc[0]):,}"
    table_notes = (
        f"Rank (limits; share of the replicates in which no method is better). {resampled} drawn again "
        f"{n_replicates} times, the same for all methods.",
        _RANK_NOTE,
        "Bold: the method that is first most often.",
        "\u03c4: Kendall's correlation of the drawn rankings with that of all, mean (95% of the replicates).",
        _n_units_note(rows),
        abbreviation_note(names.order("metric", rows["metric"]), names),
    )
    layout = _CrossedLayout(
        groups=["metric"],
        stub=by[1:],
        across="method",
        cells={"": _rank_and_share_first_text},
        bold=True,
        last_heading="\u03c4",
        last_cell=_tau_text,
    )
    largest_share = rows.groupby(by, observed=True)["share_first"].transform("max")
    marked = rows.assign(bold=rows["share_first"] == largest_share)
    panel_column = None
    if "dataset" in by:
        panel_column = "dataset"
    n_methods = int(rows["n_methods"].max())
    breaks = [1, n_methods // 2, n_methods]
    if n_methods <= 10:
        breaks = list(range(1, n_methods + 1))
    figure = plot_dots(
        rows,
        names=names,
        across="metric",
        down=panel_column,
        title="Rank (range of 95% of the replicates)",
        limits=(1, n_methods),
        breaks=breaks,
        note=paragraph(f"{resampled} drawn again {n_replicates} times.", _RANK_NOTE, _n_units_note(rows)),
    )
    return ItemResult(
        rows,
        _crossed_table(marked, names, layout, table_notes),
        figure,
        note="after challengeR, doi:10.1038/s41598-021-82017-6; of cases that all methods have a score of",
    )


def _n_units_note(rows: pd.DataFrame) -> str:
    """Return a sentence on the number of units, such as cases, behind each ranking."""
    unit = str(rows["unit"].iloc[0]).replace("dataset", "data set")
    return f"Each ranking rests on {count_range_text(rows['n_units'])} {unit}s."


def _rank_and_share_first_text(row: FrameRow) -> str:
    """Write a rank with its limits and the share of first places, without the decimal of whole ranks."""
    rank = fixed_text(row["estimate"], 1).replace(".0", "")
    limits = limits_text(row["conf_low"], row["conf_high"], 1).replace(".0", "")
    return f"{rank} ({limits}; {percent_text(100 * row['share_first'], 0)})"


def _tau_text(rows: pd.DataFrame) -> str:
    """Write Kendall's tau of a ranking with its replicates, which all rows of the ranking share."""
    first = rows.iloc[0]
    if pd.isna(first["tau"]):
        return MISSING
    return f"{fixed_text(first['tau'], 2)} ({limits_text(first['tau_low'], first['tau_high'], 2)})"
