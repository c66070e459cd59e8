"""Write a report of scores, with example cases of the study that was scored."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.display.plots.layout.figure import Figure
from salstats.display.report.composition import write_report
from salstats.display.report.examples import Examples
from salstats.display.report.folder import check_report_folder_is_writable
from salstats.display.report.settings import N_REPLICATES, Settings
from salstats.display.text.labels import Labels
from salstats.readers.background_images import ImageSource, check_images
from salstats.scoring.overlay_figures import plot_gallery
from salstats.scoring.scores import study_of
from salstats.stats.engine.equivalence import Margin
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.weighting import Weighting
from salstats.study import HUMAN, Series, Study


def report(
    scores: pd.DataFrame,
    out: str | os.PathLike[str],
    *,
    reference: str | None = None,
    unit: Unit = None,
    covariates: str | Sequence[str] | None = None,
    only: Mapping[str, Any] | None = None,
    level: float = 0.95,
    interval: str | None = None,
    n_replicates: int = N_REPLICATES,
    rng: int = 0,
    test: str | None = None,
    adjust: str = "holm",
    margin: Margin | None = None,
    weights: Weighting = None,
    style: str = "nature",
    labels: Mapping[str, Any] | None = None,
    title: str = "Statistical report on saliency maps",
    inputs: Sequence[str | os.PathLike[str]] = (),
    code: str = "",
    study: Study | str | os.PathLike[str] | None = None,
    images: ImageSource | None = None,
    jobs: int = 2,
    progress: bool = False,
    overwrite: bool = False,
) -> dict[str, pd.DataFrame]:
    """Write a folder with every table, figure and frame that the columns allow, and one page that shows them.

    What it holds follows from the columns: always the flow of cases, descriptions and means with intervals;
    with a reference the paired contrasts; with `prob` how scores go with it, with `label` the AUROC; with
    covariates their distributions and regressions, and a table of patients by those that are the same in all
    rows of a patient. The page (`index.html`) also has a Methods paragraph
    made from these settings, result sentences, and what it does not cover of CLAIM and STARD-AI.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    out : path
        Folder to make: `index.html`, `tables/`, each in the formats that the page links to,
        `figures/NAME.pdf|.png` (further pages `NAME-2.pdf` ...), `frames/NAME.csv` (unrounded) and
        `report.json` (settings, versions and digests).
    reference : str, optional
        Method the others are compared with; by default `human` where there is one beside others.
    unit : str or list of str, optional
        What is resampled and what the clusters are, as for `summarize`.
    covariates : str or sequence of str, optional
        Numeric columns to regress the scores on; by default all that vary and are no key.
    only : Mapping, optional
        Column -> value: the report is on these rows. Needed where `dataset` or `model` has several values.
    level : float
        Confidence level.
    interval : str, optional
        Interval of contrasts, as in `difference`, and of means where they have it; by default what is
        recommended for each.
    n_replicates : int
        Bootstrap replicates, or flips.
    rng : int
        Seed of the replicates.
    test : str, optional
        Test of the contrasts, as in `difference`; by default that of the interval.
    adjust : str
        Procedure for multiple tests, as in `adjust`.
    margin : float, pair or dict, optional
        What differences from the reference are too small to matter: as in `difference`.
    weights : str or mapping, optional
        A column with how many cases each case stands for, or `unit`, which counts each unit alike, or weights
        of tasks in averages, as for `summarize`. Correlations, AUROCs and descriptions are not weighted.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    labels : Mapping, optional
        Labels and order of methods, tasks and columns, as in `table_estimates`, and colours of methods:
        `{"colours": {"gradcam": "#004488"}}`.
    title : str
        Heading of the page.
    inputs : sequence of paths, optional
        Files the scores were read from, for their SHA-256; without them the digest is of the frame.
    code : str, optional
        Python expression that gives the scores, which the calls on the page begin with; by default
        `ss.read_scores` of `inputs`.
    study : Study or path, optional
        The maps behind the scores, or behind some of them: the report then shows the worst, the median and
        the best of its cases, picked by the first metric of the first method.
    images : folder or mapping of str to path or ndarray, optional
        The images of these cases, as in `plot_gallery`.
    jobs : int
        1, or 2 to draw half of the figures in a second process where the machine has a second core.
    progress : bool
        Show a bar on stderr.
    overwrite : bool
        Replace a folder that an earlier report made; one that holds other files never is.

    Returns
    -------
    dict of str to DataFrame
        The frame of each analysis: `flow`, `describe`, `means`, and those that were run of `best`,
        `decrease`, `difference`, `agreement`, `patients`, `auroc`, `correlation`, `confidence`,
        `covariates`, `regression`.

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
        What the analyses and the figures warn of, after everything is written; the page says it, too.

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
    folder = check_report_folder_is_writable(Path(out), overwrite=overwrite)
    unit_columns = unit or ()
    if isinstance(unit, str):
        unit_columns = [unit]
    settings = Settings(
        reference=reference, unit=", ".join(unit_columns), covariates=covariates, only=only, level=level,
        interval=interval, n_replicates=n_replicates, seed=rng, test=test, adjust=adjust, margin=margin,
        weights=weights, style=style, labels=labels, title=title, inputs=inputs, code=code,
    )  # fmt: skip
    examples = None
    if study is not None:
        examples = map_names_and_gallery_drawer(study_of(study), check_images(images))
    return write_report(scores, folder, settings, examples=examples, jobs=jobs, progress=progress)


def map_names_and_gallery_drawer(study: Study, images: ImageSource | None = None) -> Examples:
    """Return the names of all maps of a study, with the function that draws a gallery of them."""
    names = []
    for case in study:
        for prediction in case.predictions:
            names.append((case.case, prediction.task, prediction.series.method))
    maps = pd.DataFrame(names, columns=["case", "task", "method"])

    def draw(picks: pd.DataFrame, scores: pd.DataFrame, labels: Labels) -> Figure:
        gallery_study, gallery_scores = _named_by_method_if_unique(study, scores)
        scored_methods = set(gallery_scores["method"])
        methods = [series.method for series in gallery_study.series if series.method in scored_methods]
        # the human benchmark comes last
        methods = sorted(labels.order("method", methods), key=lambda method: method == HUMAN)
        return plot_gallery(
            gallery_study, picks, methods=methods, scores=gallery_scores, images=images, labels=labels
        )

    return Examples(study.source, maps, draw)


def _named_by_method_if_unique(study: Study, scores: pd.DataFrame) -> tuple[Study, pd.DataFrame]:
    """Return study and scores without model, seed and reader if no method has several series."""
    methods = [series.method for series in study.series]
    if len(set(methods)) < len(methods):
        return study, scores
    method_series = {series: Series(series.method) for series in study.series}
    cases = []
    for case in study:
        predictions = [
            replace(prediction, series=method_series[prediction.series]) for prediction in case.predictions
        ]
        cases.append(replace(case, predictions=tuple(predictions)))
    named_study = replace(study, cases=tuple(cases), series=tuple(method_series.values()))
    return named_study, scores.drop(columns=["model", "seed", "reader"], errors="ignore")
