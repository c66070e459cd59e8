"""Comparison of tools: cases, Table 1, Figs. 7 and 8, empty explanations, differences and failures."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import interval_name_with_level, limits_and_caution_note, paragraph
from salstats.display.plots.layout.figure import Figure
from salstats.display.tables import notes
from salstats.display.tables.record import TableColumn
from salstats.display.text.format import (
    MISSING,
    count_range_text,
    count_text,
    fixed_text,
    interval_text,
    joined,
    limits_text,
)
from salstats.display.text.labels import Labels
from salstats.metrics.registry import METRICS
from salstats.readers.background_images import ImageSource
from salstats.scoring.distances import DISTANCES
from salstats.studies.declarations import ItemResult
from salstats.studies.mrxai2025.compared_cases import (
    EXCLUSION_REASONS,
    NAMES,
    ComparedScores,
    case_and_tool_rows_with_failure_flags,
    note_text,
)
from salstats.studies.mrxai2025.tool_estimates import (
    METRIC_AND_TOOL,
    ToolComparisonOptions,
    differences_from_reference,
    estimates_without_failures_and_at_worst,
    means_with_counts_and_print,
    patient_unit_or_none,
)
from salstats.studies.result_tables import CellSource, table_of
from salstats.study import Study

#: Identifier of the tables.
TABLE_ID = "mrxai2025"
#: Metric of the share of empty explanations.
EMPTY_SHARE = "empty_explanation"
#: Says how the penalised Dice of the tools is computed, as in the study.
NO_SIZE_PENALTY_NOTE = "Penalised Dice has no size penalty here (alpha = beta = 0), as printed."
#: Columns of Table 1 besides the estimates.
_FURTHER_COLUMNS = (
    "sd", "n_cases", "n_empty", "share_empty", "n_not_given", "printed_mean", "printed_sd",
)  # fmt: skip
#: Titles of both runs of the sensitivity table, by the prefix of their columns.
RUNS = {"": "Left out", "worst_": "At worst"}
#: Height of a panel without its rows, of a row, and of a page.
_PANEL_MM = 17.0
_ROW_MM = 5.0
_PAGE_MM = 225.0
_ARROW = "\u2192"


@dataclass(frozen=True)
class ToolComparison:
    """Tools that are compared, with their scores."""

    #: Scores of `keep_present_and_correct_cases`.
    scores: ComparedScores
    options: ToolComparisonOptions
    #: Means as the study printed them: `method, dice_mean, dice_sd`.
    printed: pd.DataFrame | None = None
    #: The study that was scored, for examples.
    study: Study | None = None
    #: Diagonals of images, as for `scores_at_worst`.
    diagonals: pd.Series | None = None
    #: The images behind the explanations.
    images: ImageSource | None = None
    #: Millimetres per pixel, for the scale bars.
    spacing: float | None = None

    @property
    def compared(self) -> pd.DataFrame:
        """The scores of the cases compared."""
        return self.scores.compared

    @property
    def labels(self) -> dict[str, Any]:
        """Labels of tools and metrics, distances with their unit."""
        unit_text = ""
        if "distance_unit" in self.compared:
            units = self.compared["distance_unit"].dropna().unique()
            if len(units) == 1:
                unit_text = f" ({units[0]})"
        distance_labels = {name: f"{METRICS[name].label}{unit_text}" for name in DISTANCES}
        return {**NAMES, **distance_labels}

    @property
    def names(self) -> Labels:
        """The labels as tables and figures take them."""
        return Labels(self.labels, self.compared)


def comparison_item(make: Callable[[ToolComparison], ItemResult]) -> Callable[[Any], ItemResult]:
    """Return a function that makes a result, with the slice of its cases and a note on the Penalised Dice."""

    def make_item(data: Any) -> ItemResult:
        comparison: ToolComparison = data.comparison
        result = make(comparison)
        case_slice = "finding present"
        if comparison.scores.excludes_wrong_answers:
            case_slice = f"finding present, model right ({comparison.scores.probability_cutoff:g})"
        sentences = []
        if result.note:
            sentences.append(f"{result.note.rstrip('.')}.")
        # The table of cases shows no scores, though its frame has the metrics.
        shows_pdc = make is not case_flow_and_counts and "pdc" in set(result.frame["metric"])
        if shows_pdc and comparison.options.unpenalised:
            sentences.append(NO_SIZE_PENALTY_NOTE)
        return replace(result, slice=result.slice or case_slice, note=note_text(*sentences))

    return make_item


def case_flow_and_counts(comparison: ToolComparison) -> ItemResult:
    """Show the flow of cases: those that are left out, and why."""
    scores = comparison.scores.all_scores
    reference = None
    if scores["method"].nunique() > 1:
        # A single tool cannot be paired with a reference.
        reference = comparison.options.reference
    flow = ss.case_flow(scores, reference=reference, unit=patient_unit_or_none(scores))
    return ItemResult(
        flow,
        _cases_and_patients_by_exclusion_reason_table(scores),
        ss.plot_flow(flow, labels=comparison.names, width=183),
        slice="every case",
        note=_exclusion_rule_note(comparison.scores),
    )


def _cases_and_patients_by_exclusion_reason_table(scores: pd.DataFrame) -> GT:
    """Make a table of the cases and patients in the file, left out for each reason, and compared."""
    cases = scores.drop_duplicates("case")
    reason_of_case = scores.groupby("case")["reason"].first()
    reasons = cases["case"].map(reason_of_case)
    # Any other reason belongs to a single score and does not exclude the case.
    reasons = reasons.where(reasons.isin(EXCLUSION_REASONS))
    # Cases by the heading of their row in the table.
    cases_by_heading = {"In the file": cases}
    for reason in EXCLUSION_REASONS:
        excluded = cases[reasons == reason]
        if len(excluded):
            cases_by_heading[reason.capitalize()] = excluded
    cases_by_heading["Compared"] = cases[reasons.isna()]
    columns = {"Cases": "case"}
    if patient_unit_or_none(cases) == "patient":
        columns["Patients"] = "patient"
    counts = pd.DataFrame({"heading": list(cases_by_heading)})
    for unit in columns.values():
        counts[unit] = [rows[unit].nunique() for rows in cases_by_heading.values()]
    return table_of(counts, TABLE_ID, {"Cases": "heading"}, columns, rows_with_rule_above={len(counts) - 1})


def _exclusion_rule_note(scores: ComparedScores) -> str:
    """Write the rule by which cases are left out."""
    if not scores.excludes_wrong_answers:
        # without probabilities the wrong answers are unknown
        return (
            "No probability of the model is known, so that no case is left out for its mistakes; cases "
            "without the finding have no truth to compare with."
        )
    return (
        "The model says that the finding is there from a probability of "
        f"{scores.probability_cutoff:g} on. Cases it gets wrong are left out, as are those without the "
        "finding: they have no truth to compare with. So nothing here speaks of explanations of wrong "
        "answers."
    )


def table_1_means_of_tools(comparison: ToolComparison) -> ItemResult:
    """Table 1: mean (SD) of each tool and metric."""
    options = comparison.options
    names = comparison.names
    rows = means_with_counts_and_print(comparison.compared, options, comparison.printed)
    columns: dict[Any, CellSource] = {
        "n": "n",
        TableColumn("Empty, n (%)", align="right"): _empty_count_and_share_text,
    }
    if rows["n_not_given"].any():
        columns["Not given"] = "n_not_given"
    columns["Mean (SD)"] = _mean_and_sd_text
    if not options.as_published:
        columns[interval_name_with_level(read_estimates(rows)) or "CI"] = _limits_text
    if rows["printed_mean"].notna().any():
        columns["Printed mean (SD)"] = _printed_mean_and_sd_text_or_empty
    table = table_of(
        sorted_by_metric_and_tool(rows, names),
        TABLE_ID,
        {"Tool": lambda r: names.value("method", r.method)},
        columns,
        groups=lambda r: names.value("metric", r.metric),
        notes=[_table_1_note(rows, names, as_published=options.as_published)],
    )
    note = "n says how many explanations have a score"
    if options.as_published:
        return ItemResult(rows, table, note=note)
    estimates = rows.drop(columns=list(_FURTHER_COLUMNS))
    note += _no_patients_note_ending(comparison.compared)
    return ItemResult(rows, table, ss.plot_forest(estimates, labels=names), note=note)


def _table_1_note(rows: pd.DataFrame, names: Labels, *, as_published: bool) -> str:
    """Write the note below Table 1."""
    empty = "Empty: of the explanations given, those that mark nothing; they have no score here"
    unequal_n = "Where n differs, means are of different cases and cannot be compared"
    if as_published:
        sentences = [f"{empty}."]
        unequal_n += "."
    else:
        sentences = [limits_and_caution_note(read_estimates(rows)), f"{empty}, see the sensitivity table."]
        unequal_n += ": the paired differences can."
    if (rows.groupby("metric")["n"].nunique() > 1).any():
        sentences.append(unequal_n)
    if rows["printed_mean"].notna().any():
        sentences.append("Printed: as in the study, of its own cases, whose number is not at hand.")
    numbers = [column for column in ("sd", "conf_low") if column in rows.columns]
    if rows[numbers].isna().any(axis=None):
        sentences.append(notes.dash_note([[MISSING]]))
    sentences.append(notes.scoring_note(read_estimates(rows), names))
    sentences.append(notes.metric_notes(rows))
    return paragraph(*sentences)


def _empty_count_and_share_text(row: Any) -> str:
    """Write how many explanations are empty, and their share of those given."""
    return f"{count_text(row.n_empty)} ({fixed_text(100 * row.share_empty, 1)})"


def _mean_and_sd_text(row: Any) -> str:
    """Write mean (SD), a dash where there is none."""
    if np.isnan(row.estimate):
        return MISSING
    digits = n_decimals(row.metric)
    return f"{fixed_text(row.estimate, digits)} ({fixed_text(row.sd, digits)})"


def _printed_mean_and_sd_text_or_empty(row: Any) -> str:
    """Write the printed mean (SD), nothing where none was printed."""
    if np.isnan(row.printed_mean):
        return ""
    return f"{fixed_text(row.printed_mean, 2)} ({fixed_text(row.printed_sd, 2)})"


def _limits_text(row: Any) -> str:
    """Write an interval without its estimate."""
    return limits_text(row.conf_low, row.conf_high, n_decimals(row.metric))


def figure_7_box_plots(comparison: ToolComparison) -> ItemResult:
    """Fig. 7: box plots of the scores of each tool and metric."""
    names = comparison.names
    compared = comparison.compared
    described = ss.describe(compared, by=METRIC_AND_TOOL, unit=patient_unit_or_none(compared))
    tool_labels = {}
    for tool in names.order("method", described["method"]):
        n = described.loc[described["method"] == tool, "n"]
        tool_labels[tool] = f"{names.value('method', tool)} (n = {count_range_text(n.to_numpy(float))})"
    figure = ss.plot_box(
        compared,
        by=METRIC_AND_TOOL,
        reference=comparison.options.reference,
        labels=Labels({**comparison.labels, "method": tool_labels}),
    )
    return ItemResult(
        described,
        ss.table_describe(described, labels=names),
        figure,
        note="explanations that are empty or not given have no score and are left out",
    )


def shares_of_empty_explanations(comparison: ToolComparison) -> ItemResult:
    """Estimate the share of empty explanations of each tool."""
    rows = case_and_tool_rows_with_failure_flags(comparison.compared)
    rows = rows[~rows["not_given"]]
    rows = rows.assign(metric=EMPTY_SHARE, score=rows["empty"].astype(np.float64)).reset_index(drop=True)
    shares = ss.summarize(rows, by=METRIC_AND_TOOL, unit=patient_unit_or_none(rows), interval="wilson")
    names = comparison.names
    figure = ss.plot_forest(shares, labels=names) + p9.labs(x="Share of empty explanations (95% CI)")
    return ItemResult(
        shares,
        ss.table_estimates(shares, n=True, directions={EMPTY_SHARE: "smaller"}, labels=names),
        figure,
        note="an explanation is empty where the tool marks nothing, or where its score is undefined and no "
        "reason is given; what was not given at all is not counted here",
    )


def paired_differences(comparison: ToolComparison) -> ItemResult:
    """Estimate the paired differences from the reference."""
    options = comparison.options
    names = comparison.names
    rows = differences_from_reference(comparison.compared, options)
    note = "pairs of two defined scores only: cases on which either tool failed do not count"
    if read_estimates(rows).only_non_missing_value("test") == "bootstrap":
        smallest_p = f"{2 / (options.n_replicates + 1):.2g}"
        note += (
            f"; with {options.n_replicates:,} replicates P is {smallest_p} at least, before the correction"
        )
    note += _no_patients_note_ending(comparison.compared)
    return ItemResult(
        rows,
        ss.table_decrease(rows, labels=names),
        ss.plot_decrease(rows, labels=names),
        note=note,
        title=f"Paired differences from {names.value('method', options.reference)}",
    )


def _no_patients_note_ending(scores: pd.DataFrame) -> str:
    """Return the end of a note, which says that no patients are resampled; empty where they are."""
    if patient_unit_or_none(scores) == "patient":
        return ""
    return "; no patients are known, so that intervals resample cases"


def sensitivity_to_failures(comparison: ToolComparison) -> ItemResult:
    """Estimate means and differences with failures left out, and at the worst score."""
    compared = comparison.compared
    rows = estimates_without_failures_and_at_worst(compared, comparison.options, comparison.diagonals)
    figure = None
    if _is_estimate_unequal_to_worst_estimate(rows).any():
        figure = _figure_of_differences_changed_by_treating_failures(rows, comparison)
    is_failed = case_and_tool_rows_with_failure_flags(compared)[["empty", "not_given"]].any(axis=1)
    n_failed = int(is_failed.sum())
    return ItemResult(
        rows,
        _failure_sensitivity_table(rows, comparison.options, comparison.names),
        figure,
        note=f"{n_failed} explanations are empty or not given; at worst overlap and Penalised Dice are 0 and "
        "a distance is the diagonal of the image; "
        f"{_verdicts_changed_by_failures_note(rows, comparison.names)}"
        f"{_no_worst_score_metrics_note_ending(compared, rows, comparison.names)}",
    )


def _verdicts_changed_by_failures_note(rows: pd.DataFrame, names: Labels) -> str:
    """Write the verdicts that change if failures have the worst score."""
    changed = rows[rows["changed"].astype(bool)]
    if changed.empty:
        return "no verdict changes"
    texts = []
    for row in changed.itertuples():
        metric = names.value("metric", row.metric)
        tool = names.value("method", row.method)
        texts.append(f"{metric} of {tool} ({row.verdict} {_ARROW} {row.worst_verdict})")
    return f"the verdict changes for {joined(texts)}"


def _no_worst_score_metrics_note_ending(
    compared: pd.DataFrame, scored_rows: pd.DataFrame, names: Labels
) -> str:
    """Return the end of a note, which names the metrics without a worst score."""
    scored_metrics = set(scored_rows["metric"])
    unscored = [metric for metric in dict.fromkeys(compared["metric"]) if metric not in scored_metrics]
    if not unscored:
        return ""
    metrics = joined([names.value("metric", metric) for metric in unscored])
    return f"; without a known worst score: {metrics} (a distance needs the size of the images)"


def _failure_sensitivity_table(rows: pd.DataFrame, options: ToolComparisonOptions, names: Labels) -> GT:
    """Make the table of both runs side by side."""
    columns: dict[TableColumn, CellSource] = {}
    for prefix, run in RUNS.items():
        columns |= _n_mean_and_difference_cells_of_run(prefix, run, options)
    columns[TableColumn("Verdict, where it changes", align="left")] = _verdict_change_by_failures_or_empty
    n_tests = 0
    if "verdict" in rows:
        n_tests = int(rows["verdict"].notna().sum())
    note = paragraph(
        f"Differences from {names.value('method', options.reference)}, paired; lower or higher where "
        f"the interval excludes 0 and P is below .05 after Holm's correction in each run ({n_tests} tests).",
        "Left out: means of the scores that each tool has, differences of pairs of two defined "
        "scores. At worst: a failed explanation has overlap 0, and the image's diagonal as distance, "
        "which is a convention: such a mean says above all how often a tool failed.",
        notes.metric_notes(rows),
    )
    return table_of(
        sorted_by_metric_and_tool(rows, names),
        TABLE_ID,
        {"Tool": lambda r: names.value("method", r.method)},
        columns,
        groups=lambda r: names.value("metric", r.metric),
        notes=[note],
    )


def _is_estimate_unequal_to_worst_estimate(rows: pd.DataFrame) -> pd.Series:
    """Tell for each row whether its difference changes when failures have the worst score."""
    if "verdict" not in rows.columns:
        return pd.Series(False, index=rows.index)
    return rows["verdict"].notna() & (rows["estimate"] != rows["worst_estimate"])


def _n_mean_and_difference_cells_of_run(
    column_prefix: str, heading: str, options: ToolComparisonOptions
) -> dict[TableColumn, CellSource]:
    """Return the columns of one run, each with the function of a row that writes its cell."""

    def n_text(row: Any) -> str:
        return count_text(getattr(row, f"{column_prefix}n"))

    def mean_text(row: Any) -> str:
        return fixed_text(getattr(row, f"{column_prefix}mean"), n_decimals(row.metric))

    def difference_text(row: Any) -> str:
        if row.method == options.reference:
            return ""
        estimate = getattr(row, f"{column_prefix}estimate")
        low = getattr(row, f"{column_prefix}conf_low")
        high = getattr(row, f"{column_prefix}conf_high")
        return interval_text(estimate, low, high, n_decimals(row.metric))

    return {
        TableColumn("n", (heading,)): n_text,
        TableColumn("Mean", (heading,)): mean_text,
        TableColumn("Difference (95% CI)", (heading,)): difference_text,
    }


def _verdict_change_by_failures_or_empty(row: Any) -> str:
    """Write both verdicts where they differ."""
    if not row.changed:
        return ""
    return f"{row.verdict} {_ARROW} {row.worst_verdict}"


def _figure_of_differences_changed_by_treating_failures(
    rows: pd.DataFrame, comparison: ToolComparison
) -> Figure:
    """Plot the differences that failures change, a panel for each metric that fits on the page."""
    names = comparison.names
    changed = rows[_is_estimate_unequal_to_worst_estimate(rows)]
    metrics = list(dict.fromkeys(sorted_by_metric_and_tool(changed, names)["metric"]))
    # A tool takes a heading and a row for each of both runs.
    n_rows = (1 + len(RUNS)) * changed["method"].nunique()
    panel_height = _PANEL_MM + n_rows * _ROW_MM
    n_panels = max(int(_PAGE_MM // panel_height), 1)
    changed = changed[changed["metric"].isin(metrics[:n_panels])]
    runs = []
    for prefix, run in RUNS.items():
        run_rows = changed[METRIC_AND_TOOL].assign(run=run, term="difference")
        for column in ("estimate", "conf_low", "conf_high", "conf_level", "interval", "unit"):
            run_rows[column] = changed[f"{prefix}{column}"]
        run_rows["n"] = changed[f"{prefix}n_pairs"]
        runs.append(run_rows)
    labels = Labels({**comparison.labels, "run": list(RUNS.values())})
    tools = list(dict.fromkeys(changed["method"]))
    title = "Difference"
    if len(tools) == 1:
        # A single tool has no heading, so the axis names it.
        title = f"Difference of {names.value('method', tools[0])}"
    reference = names.value("method", comparison.options.reference)
    axis_title = p9.labs(x=f"{title} from {reference} (95% CI)")
    return ss.plot_forest(pd.concat(runs, ignore_index=True), labels=labels) + axis_title


def figure_8_example_cases(comparison: ToolComparison) -> ItemResult:
    """Fig. 8: the cases whose score is the worst, nearest the median and the mean, and the best, drawn."""
    assert comparison.study is not None
    compared = comparison.compared
    rule = comparison.options.tool_and_metric_that_pick_cases(compared)
    rows = compared[compared["metric"] == rule.metric]
    picks = ss.pick_cases(rows, method=rule.tool, by="metric")
    names = comparison.names
    metric = names.value("metric", rule.metric)
    tool = names.value("method", rule.tool)
    how_scored = notes.scoring_note(read_estimates(picks, required_columns=()), names)
    table = table_of(
        picks,
        TABLE_ID,
        {"Pick": lambda r: r.pick.capitalize()},
        {"Case": "case", metric: ("score", 3)},
        notes=[paragraph(how_scored, notes.metric_notes(picks))],
    )
    figure = ss.plot_gallery(
        comparison.study,
        picks,
        scores=rows,
        metric=rule.metric,
        images=comparison.images,
        spacing=comparison.spacing,
        labels=names,
    )
    sentences = [
        f"the case nearest to the worst, median, mean and best {metric} of {tool}; ties by name; an "
        "explanation that is empty has no score."
    ]
    if comparison.options.unpenalised and rule.metric == "pdc":
        sentences.append(NO_SIZE_PENALTY_NOTE)
    return ItemResult(
        picks,
        table,
        figure,
        title=f"Fig. 8: examples picked by {metric} of {tool}",
        slice="cases compared",
        note=note_text(*sentences),
    )


def sorted_by_metric_and_tool(rows: pd.DataFrame, names: Labels) -> pd.DataFrame:
    """Sort rows by metric and tool, in the order of the labels."""

    def sort_key(column: pd.Series) -> pd.Categorical:
        return names.categorical(column.to_frame(), str(column.name))

    return rows.sort_values(METRIC_AND_TOOL, key=sort_key)


def n_decimals(metric: str) -> int:
    """Return the number of decimals that a metric is printed with."""
    if metric in DISTANCES:
        return 1
    return 3
