"""The report: run what the columns allow, and write one folder with a page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import (
    ColumnError,
    InputFileError,
    SalstatsError,
    check_choice,
    check_columns,
    check_count,
    check_level,
    warn,
)
from salstats.display.export.figure_jobs import FigureJobs
from salstats.display.plots.image_sources import ImageSource, check_images
from salstats.display.report.analyses import Analyses, run_analyses, settings_for, several
from salstats.display.report.contents import Contents
from salstats.display.report.examples import Examples
from salstats.display.report.folder import check_folder, write_folder
from salstats.display.report.guidelines import not_covered
from salstats.display.report.methods import methods_references, methods_text
from salstats.display.report.model import N_REPLICATES, Report, Settings
from salstats.display.report.provenance import provenance_rows
from salstats.display.report.results import summary_sentences
from salstats.display.report.scores_made import masks_made, repeated_rows
from salstats.display.report.wording import pooled_rows
from salstats.display.text.format import STYLES, count_text, joined, plural
from salstats.display.text.labels import Labels
from salstats.frames import check_scores
from salstats.scoring.scores import study_of
from salstats.stats.absent import is_absent
from salstats.stats.adjust import check_procedure
from salstats.stats.contrasts import DIFFERENCE_INTERVALS
from salstats.stats.paired import TESTS
from salstats.study import Study


def report(
    scores: pd.DataFrame,
    out: str | os.PathLike[str],
    *,
    reference: str | None = None,
    unit: str | None = None,
    covariates: str | Sequence[str] | None = None,
    only: Mapping[str, Any] | None = None,
    level: float = 0.95,
    interval: str = "percentile",
    n_replicates: int = N_REPLICATES,
    rng: int = 0,
    test: str = "t",
    adjust: str = "holm",
    style: str = "nature",
    labels: Mapping[str, Any] | None = None,
    title: str = "Statistical report on saliency maps",
    inputs: Sequence[str | os.PathLike[str]] = (),
    study: Study | str | os.PathLike[str] | None = None,
    images: ImageSource | None = None,
    jobs: int = 2,
    overwrite: bool = False,
) -> dict[str, pd.DataFrame]:
    """Write a folder with every table, figure and frame that the columns allow, and one page that shows them.

    What it holds follows from the columns: always the flow of cases, descriptions and means with intervals;
    with a reference the paired contrasts; with `prob` how scores go with it, with `label` the AUROC; with
    covariates their distributions and regressions. The page (`index.html`) also has a Methods paragraph
    made from these settings, result sentences, and what it does not cover of CLAIM and STARD-AI.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    out : path
        Folder to make: `index.html`, `tables/NAME.csv|.html|.tex|.docx`, `figures/NAME.pdf|.png`,
        `frames/NAME.csv` (unrounded) and `report.json` (settings, versions and digests).
    reference : str, optional
        Method the others are compared with; by default `human` where there is one beside others.
    unit : str, optional
        What is resampled and what the clusters are; by default `patient` where it repeats over cases, else
        `case`.
    covariates : str or sequence of str, optional
        Numeric columns to regress the scores on; by default all that vary and are no key.
    only : Mapping, optional
        Column -> value: the report is on these rows. Needed where `dataset` or `model` has several values.
    level : float
        Confidence level.
    interval : str
        Interval of means and contrasts, as in `summarize`: from replicates, or `t`.
    n_replicates : int
        Bootstrap replicates.
    rng : int
        Seed of the replicates.
    test : str
        Test of the contrasts, as in `difference`. The default, clustered by unit, has no smallest p-value,
        which that of a bootstrap has and a correction for many tests multiplies.
    adjust : str
        Procedure for multiple tests, as in `adjust`.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    labels : Mapping, optional
        Labels and order of methods, tasks and columns, as in `table_estimates`.
    title : str
        Heading of the page.
    inputs : sequence of paths, optional
        Files the scores were read from, for their SHA-256; without them the digest is of the frame.
    study : Study or path, optional
        The maps behind the scores, or behind some of them: the report then shows the worst, the median and
        the best of its cases, picked by the first metric of the first method.
    images : folder or mapping of str to path or ndarray, optional
        The images of these cases, as in `plot_gallery`.
    jobs : int
        1, or 2 to draw half of the figures in a second process where the machine has a second core.
    overwrite : bool
        Replace a folder that an earlier report made; one that holds other files never is.

    Returns
    -------
    dict of str to DataFrame
        The frame of each analysis: `flow`, `describe`, `means`, and those that were run of `decrease`,
        `difference`, `auroc`, `correlation`, `confidence`, `covariates`, `regression`.

    Raises
    ------
    ColumnError
        A column is missing, or a covariate is not numeric.
    InputFileError
        The folder exists (and `overwrite` is False, or it holds other files), or cannot be made.
    SalstatsError
        The reference is none of the methods; `dataset` or `model` has several values and `only` does not
        choose; an option is not one of its choices.

    Warns
    -----
    SalstatsWarning
        What the analyses warn of, after everything is written; the page says it, too.

    Examples
    --------
    >>> import pathlib, tempfile, salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and method == 'gradcam'")
    >>> scores = scores[["case", "patient", "task", "method", "metric", "score"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = pathlib.Path(folder) / "out"
    ...     frames = ss.report(scores, out, n_replicates=200)
    ...     sorted(file.name for file in out.iterdir())
    ['figures', 'frames', 'index.html', 'report.json', 'tables']
    """
    folder = check_folder(Path(out), overwrite=overwrite)
    check_choice(style, tuple(STYLES), "style")
    check_level(level)
    check_choice(interval, DIFFERENCE_INTERVALS, "interval")
    check_choice(test, TESTS, "test")
    check_procedure(adjust, "adjust")
    check_count(jobs, "jobs")
    for file in inputs:
        if not Path(file).is_file():
            raise InputFileError(f"inputs names {file}, which is no file")
    if not isinstance(title, str) or not title.isprintable():
        raise SalstatsError(f"title must be a line of text, not {title!r}")
    check_count(n_replicates, "n_replicates")
    if not isinstance(rng, int):
        raise SalstatsError(
            f"a report takes a seed, so that it can be made again: rng must be an int, not {rng!r}"
        )
    used = chosen_rows(check_scores(scores), only)
    check_tasks(used)
    check_units(used)
    shown = None if study is None else Examples(study_of(study), check_images(images))
    settings = settings_for(
        used,
        reference=reference,
        unit=unit,
        covariates=covariates,
        level=level,
        interval=interval,
        n_replicates=n_replicates,
        seed=rng,
        test=test,
        adjust=adjust,
        style=style,
    )
    names = reference_first(labels, settings.reference, used)
    for column in ("metric", "method", "task"):
        if column in used.columns:
            # two values of one label would share a place in every table
            names.categorical(used[[column]].drop_duplicates(), column)
    with FigureJobs(jobs) as figures:
        done = run_analyses(used, settings)
        made = compose(used, done, settings, names, title, inputs, only, shown)
        warned = write_folder(made, folder, figures)
    for text in (*done.warnings, *warned):
        warn(text)
    return done.frames


def chosen_rows(scores: pd.DataFrame, only: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return the rows that have the chosen value in each chosen column."""
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
    """Return labels in which the reference leads the methods, unless the user ordered them."""
    given = dict(labels or {})
    if reference is not None and "method" not in given:
        given["method"] = [reference]
    return Labels(given, scores)


def compose(
    scores: pd.DataFrame,
    done: Analyses,
    settings: Settings,
    labels: Labels,
    title: str,
    inputs: Sequence[str | os.PathLike[str]],
    only: Mapping[str, Any] | None,
    examples: Examples | None = None,
) -> Report:
    """Return everything the page says."""
    sections = Contents(scores, done, settings, labels, examples).sections()
    paragraphs = methods_text(settings, frames=done.frames, labels=labels)
    paragraphs = (paragraphs[0], *masks_made(scores), *repeated_rows(scores, settings), *paragraphs[1:])
    notes = [f"Not shown: {name}. {reason}" for name, reason in done.skipped.items()]
    if settings.reference is None and several(scores, "method"):
        notes.append("Methods were not compared: no reference was named, and no method is called human.")
    return Report(
        title=title,
        summary=tuple(summary_sentences(done.frames, settings, labels)),
        sections=sections,
        methods=(*paragraphs, *methods_references(paragraphs)),
        not_covered=tuple(not_covered(done.frames)),
        warnings=(*done.warnings, *notes),
        counts=counts(scores, settings),
        provenance=tuple(provenance_rows(settings, inputs, scores, only)),
    )


def counts(scores: pd.DataFrame, settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return what was counted, and how many."""
    names = {"case": "Cases", settings.unit: plural(settings.unit).capitalize(), "task": "Tasks"}
    names |= {"method": "Methods", "metric": "Metrics"}
    found = [(text, scores[column].nunique()) for column, text in names.items() if column in scores.columns]
    absent = is_absent(scores)
    found += [
        ("Scores", int((~absent).sum())),
        ("Undefined scores", int((scores["score"].isna() & ~absent).sum())),
    ]
    return tuple((name, count_text(n)) for name, n in found)
