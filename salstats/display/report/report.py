"""The report: run what the columns allow, and write one folder with a page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import ColumnError, SalstatsError, check_columns, check_count, warn
from salstats.display.export.figure_files import FigureJobs
from salstats.display.report.analyses import Analyses, run_analyses, settings_for, several
from salstats.display.report.contents import Contents
from salstats.display.report.examples import Examples
from salstats.display.report.folder import write_folder
from salstats.display.report.guidelines import not_covered
from salstats.display.report.methods import masks_made, methods_references, methods_text, repeated_rows
from salstats.display.report.model import Choices, Report, Settings
from salstats.display.report.provenance import provenance_rows
from salstats.display.report.results import summary_sentences
from salstats.display.report.wording import pooled_rows
from salstats.display.text.format import count_text, joined, plural
from salstats.display.text.labels import Labels
from salstats.frames import check_scores
from salstats.stats.carried import is_absent


def write_report(
    scores: pd.DataFrame,
    folder: Path,
    choices: Choices,
    *,
    examples: Examples | None = None,
    jobs: int = 2,
) -> dict[str, pd.DataFrame]:
    """Write a report into a checked folder; its frames, and warnings once everything is written."""
    check_count(jobs, "jobs")
    used, settings, labels = settled(scores, choices)
    with FigureJobs(jobs) as figures:
        done = run_analyses(used, settings)
        made = compose(used, done, settings, labels, choices, examples)
        warned = write_folder(made, folder, figures)
    for text in (*done.warnings, *warned):
        warn(text)
    return done.frames


def settled(scores: pd.DataFrame, choices: Choices) -> tuple[pd.DataFrame, Settings, Labels]:
    """Rows that a report is on, its settings and labels, all checked before any work."""
    used = chosen_rows(check_scores(scores), choices.only)
    check_tasks(used)
    check_units(used)
    settings = settings_for(used, choices)
    labels = reference_first(choices.labels, settings.reference, used)
    for column in ("metric", "method", "task"):
        if column in used.columns:
            # two values of one label would share a place in every table
            labels.categorical(used[[column]].drop_duplicates(), column)
    return used, settings, labels


def chosen_rows(scores: pd.DataFrame, only: Mapping[str, Any] | None) -> pd.DataFrame:
    """Rows that have the chosen value in each chosen column."""
    for column, value in (only or {}).items():
        check_columns(scores, [column])
        kept = scores[column].astype(str) == str(value)
        if not kept.any():
            raise SalstatsError(
                f"no row has {value!r} in column {column!r}; it has "
                f"{', '.join(map(repr, sorted(scores[column].dropna().astype(str).unique())[:5]))}"
            )
        scores = scores[kept]
    return scores.reset_index(drop=True)


def check_tasks(scores: pd.DataFrame) -> None:
    """Raise where a task is called as the rows over tasks are."""
    pooled = pooled_rows(scores)
    if pooled.any():
        name = scores["task"][pooled].iloc[0]
        raise ColumnError(
            f"column 'task' holds {name!r}, the name of a report's rows over all tasks; rename it, or leave "
            "these rows out"
        )


def check_units(scores: pd.DataFrame) -> None:
    """Raise where a distance is in two units, which no mean can hold."""
    if "distance_unit" not in scores.columns:
        return
    for metric, rows in scores.dropna(subset="distance_unit").groupby("metric"):
        units = sorted(rows["distance_unit"].unique())
        if len(units) > 1:
            raise SalstatsError(
                f"scores of {metric!r} are in {joined(units)}, and a mean over both means nothing; "
                "score all cases in one unit, or keep the rows of one"
            )


def reference_first(
    labels: Mapping[str, Any] | None, reference: str | None, scores: pd.DataFrame | None = None
) -> Labels:
    """Labels in which the reference leads the methods, unless the user ordered them."""
    given = dict(labels or {})
    if reference is not None and "method" not in given:
        given["method"] = [reference]
    return Labels(given, scores)


def compose(
    scores: pd.DataFrame,
    done: Analyses,
    settings: Settings,
    labels: Labels,
    choices: Choices,
    examples: Examples | None = None,
) -> Report:
    """Everything the page says."""
    sections = Contents(scores, done, settings, labels, examples).sections()
    paragraphs = methods_text(settings, frames=done.frames, labels=labels)
    paragraphs = (paragraphs[0], *masks_made(scores), *repeated_rows(scores, settings), *paragraphs[1:])
    notes = [f"Not shown: {name}. {reason}" for name, reason in done.skipped.items()]
    if settings.reference is None and several(scores, "method"):
        notes.append("Methods were not compared: no reference was named, and no method is called human.")
    return Report(
        title=choices.title,
        summary=tuple(summary_sentences(done.frames, settings, labels)),
        sections=sections,
        methods=(*paragraphs, *methods_references(paragraphs)),
        not_covered=tuple(not_covered(done.frames)),
        warnings=(*done.warnings, *notes),
        counts=counts(scores, settings),
        provenance=tuple(provenance_rows(settings, choices.inputs, scores, choices.only)),
    )


def counts(scores: pd.DataFrame, settings: Settings) -> tuple[tuple[str, str], ...]:
    """What was counted, and how many."""
    names = {"case": "Cases", settings.unit: plural(settings.unit).capitalize(), "task": "Tasks"}
    names |= {"method": "Methods", "metric": "Metrics"}
    found = [(text, scores[column].nunique()) for column, text in names.items() if column in scores.columns]
    absent = is_absent(scores)
    found += [
        ("Scores", int((~absent).sum())),
        ("Undefined scores", int((scores["score"].isna() & ~absent).sum())),
    ]
    return tuple((name, count_text(n)) for name, n in found)
