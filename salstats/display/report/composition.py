"""The report: run what the columns allow, and write one folder with a page."""

from pathlib import Path

import pandas as pd

from salstats.checks import check_count
from salstats.display.export.figure_files import FigureJobs
from salstats.display.report.analyses import Analyses, run_analyses, settled, several
from salstats.display.report.contents import Contents
from salstats.display.report.document import Report, Settings
from salstats.display.report.examples import Examples
from salstats.display.report.folder import write_folder
from salstats.display.report.guidelines import not_covered
from salstats.display.report.methods import methods_references, methods_text
from salstats.display.report.provenance import provenance_rows
from salstats.display.report.sections import sections
from salstats.display.report.wording import Words
from salstats.display.text.format import count_text, plural
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsWarning, warn
from salstats.jobs import counting
from salstats.stats.engine.score_reasons import is_absent


def write_report(
    scores: pd.DataFrame,
    folder: Path,
    asked: Settings,
    *,
    examples: Examples | None = None,
    jobs: int = 2,
    progress: bool = False,
) -> dict[str, pd.DataFrame]:
    """Write a report into a checked folder; its frames, and warnings once everything is written."""
    check_count(jobs, "jobs")
    used, settings = settled(scores, asked)
    words = Words(settings, labels_of(used, settings))
    with FigureJobs(jobs) as figures:
        with counting(None, "Statistics", progress=progress) as count:
            done = run_analyses(used, settings, count)
            done.warnings = {about: words.printed(text, used) for about, text in done.warnings.items()}
            count(0, "Layout")
            # figures meet the scores again, and would say again what the analyses have said
            with done.watched():
                report = compose(used, done, words, examples)
        warned = write_folder(report, folder, figures, progress=progress)
    for subject, text in done.warnings.items():
        warn(SalstatsWarning(text, subject=subject))
    for text in warned:
        warn(text)
    return done.frames


def labels_of(scores: pd.DataFrame, settings: Settings) -> Labels:
    """Labels in which the reference leads the methods, unless the user ordered them."""
    labels = Labels(settings.named, scores)
    for column in {"metric", "method", "task"} & set(scores.columns):
        # two values of one label would share a place in every table
        labels.categorical(scores[[column]].drop_duplicates(), column)
    return labels


def compose(scores: pd.DataFrame, done: Analyses, words: Words, examples: Examples | None = None) -> Report:
    """Everything the page says."""
    settings = words.settings
    shown = sections(Contents(scores, done, words, examples))
    paragraphs = methods_text(done.frames, words, scores)
    notes = [f"Not shown: {name}. {words.printed(reason, scores)}" for name, reason in done.skipped.items()]
    if settings.reference is None and several(scores, "method"):
        notes.append("No reference was named and no method is called human: methods were compared with none.")
    return Report(
        title=settings.title,
        sections=shown,
        methods=(*paragraphs, *methods_references(paragraphs)),
        not_covered=not_covered(done.frames),
        warnings=(*done.warnings.values(), *notes),
        counts=counts(scores, settings),
        provenance=provenance_rows(words, scores),
    )


def counts(scores: pd.DataFrame, settings: Settings) -> tuple[tuple[str, str], ...]:
    """What was counted, and how many."""
    names = {"case": "Cases", settings.unit: plural(settings.unit).capitalize(), "task": "Tasks"}
    names |= {"method": "Methods", "metric": "Metrics"}
    found = [(text, scores[column].nunique()) for column, text in names.items() if column in scores.columns]
    undefined = scores["score"].isna() & ~is_absent(scores)
    found += [
        ("Scores", int((~is_absent(scores)).sum())),
        ("Undefined scores", int(undefined.sum())),
    ]
    return tuple((name, count_text(n)) for name, n in found)
