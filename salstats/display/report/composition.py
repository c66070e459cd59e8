"""Composition of a report: run the analyses, draw and write what they give, and warn."""

from pathlib import Path

import pandas as pd

from salstats.checks import check_count
from salstats.display.export.figure_files import FigureJobs
from salstats.display.report.analyses import Analyses, run_analyses
from salstats.display.report.contents import Contents
from salstats.display.report.document import Report
from salstats.display.report.examples import Examples
from salstats.display.report.folder import write_folder_collecting_warnings
from salstats.display.report.guidelines import guideline_items_left_to_author
from salstats.display.report.methods import methods_references, methods_text
from salstats.display.report.provenance import provenance_rows_without_date
from salstats.display.report.sections import sections_of
from salstats.display.report.settings import Settings, has_several_values, resolve_scores_and_settings
from salstats.display.report.wording import LabelSpelling, Wording
from salstats.display.text.format import count_text, plural
from salstats.display.text.labels import Labels
from salstats.errors import warn
from salstats.jobs import progress_counter
from salstats.stats.engine.score_reasons import is_missing_for_absent_finding


def write_report(
    scores: pd.DataFrame,
    folder: Path,
    settings: Settings,
    *,
    examples: Examples | None = None,
    jobs: int = 2,
    progress: bool = False,
) -> dict[str, pd.DataFrame]:
    """Write a report into a folder that was checked before, and return the frame of each analysis by its key.

    Warnings of the analyses and of the drawing are given after everything is written.

    Parameters
    ----------
    settings : Settings
        The options of `report`, as they were given.
    examples : Examples, optional
        The maps of cases; without them the report shows no cases.
    jobs, progress
        As for `report`.
    """
    check_count(jobs, "jobs")
    rows, settings = resolve_scores_and_settings(scores, settings)
    wording = Wording(settings, report_labels(rows, settings))
    with FigureJobs(jobs) as figures:
        with progress_counter(None, "Statistics", progress=progress) as count:
            analyses = run_analyses(rows, settings, count)
            count(0, "Layout")
            # figures repeat warnings of scores that the analyses gave; each is kept once
            with analyses.recording_warnings():
                report = composed_report(rows, analyses, wording, examples)
        figure_warnings = write_folder_collecting_warnings(report, folder, figures, progress=progress)
    for warning in analyses.warnings.values():
        warn(warning)
    for text in figure_warnings:
        warn(text)
    return analyses.frames


def report_labels(scores: pd.DataFrame, settings: Settings) -> Labels:
    """Return labels with the reference before the other methods, unless the user ordered them.

    Raises
    ------
    SalstatsError
        Two values have one label, and so would share a row of every table.
    """
    labels = Labels(settings.labels_with_reference_first, scores)
    for column in ("metric", "method", "task"):
        if column in scores.columns:
            # it raises where two values share a label
            labels.label_by_value(column, scores[column].unique())
    return labels


def composed_report(
    scores: pd.DataFrame, analyses: Analyses, wording: Wording, examples: Examples | None = None
) -> Report:
    """Return the sections, methods, warnings and settings of the page."""
    settings = wording.settings
    sections = sections_of(Contents(scores, analyses, wording, examples))
    paragraphs = methods_text(analyses.results, wording, scores)
    spelling = LabelSpelling(wording)
    warnings = [warning.message.spelled(spelling) for warning in analyses.warnings.values()]
    for key, error in analyses.skipped.items():
        warnings.append(f"Not shown: {key}. {error.message.spelled(spelling)}")
    if settings.reference is None and has_several_values(scores, "method"):
        consequence = "were not compared"
        if "best" in analyses.results:
            consequence = "were compared only with the one that has the best mean"
        warnings.append(f"No reference was named and no method is called human, so methods {consequence}.")
    return Report(
        title=settings.title,
        sections=sections,
        methods=(*paragraphs, *methods_references(paragraphs)),
        missing_items=guideline_items_left_to_author(analyses.frames),
        warnings=tuple(warnings),
        counts=named_counts(scores, settings),
        provenance=provenance_rows_without_date(wording, scores),
    )


def named_counts(scores: pd.DataFrame, settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return what the summary counts with its numbers: ("Cases", "194"), ("Methods", "3")."""
    names = {
        "case": "Cases",
        settings.unit: plural(settings.unit).capitalize(),
        "task": "Tasks",
        "method": "Methods",
        "metric": "Metrics",
    }
    rows = []
    for column, name in names.items():
        if column in scores.columns:
            rows.append((name, count_text(scores[column].nunique())))
    absent = is_missing_for_absent_finding(scores)
    rows.append(("Scores", count_text((~absent).sum())))
    rows.append(("Undefined scores", count_text((scores["score"].isna() & ~absent).sum())))
    return tuple(rows)
