"""From a study to a figure or a report: `scoring` prepares the pictures, `display` draws them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError
from salstats.display.plots.figure import figures
from salstats.display.plots.gallery import (
    gallery,
    gallery_rows,
    gallery_width,
    panel_scores,
    picked_metric,
    series_titles,
)
from salstats.display.plots.gallery_plan import plan
from salstats.display.plots.overlay import overlay, overlay_box
from salstats.display.plots.theme import COLUMN_MM
from salstats.display.report.examples import Examples
from salstats.display.report.folder import check_folder
from salstats.display.report.model import N_REPLICATES, Settings
from salstats.display.report.report import write_report
from salstats.display.text.labels import Labels
from salstats.readers.case_images import ImageSource, check_images
from salstats.scoring.distances import Spacing, pixel_widths
from salstats.scoring.masking import OTSU, Given, mask_rule
from salstats.scoring.pictures import Look, as_scored, methods_shown, only_method, picture, series_of
from salstats.scoring.scores import study_of
from salstats.stats.equivalence import Margin
from salstats.stats.units import Unit
from salstats.stats.weighting import Weighting
from salstats.study import HUMAN, Series, Study


@figures
def plot_overlay(
    study: Study,
    case: str,
    task: str,
    *,
    method: str | None = None,
    threshold: Given = OTSU,
    cutoff: Given = None,
    smooth: Given = None,
    images: ImageSource | None = None,
    human: bool = True,
    spacing: Spacing = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float = COLUMN_MM,
) -> p9.ggplot:
    """Figure of one case: the image, the map over it, and the outlines of mask, people and truth.

    The map is scaled to 0 to 1 and covers the image the more the larger it is. The outlines are that of the
    map above its threshold (dotted), of the human benchmark (dashed) and of the truth (solid); a cross marks
    the peak, circles the points that people marked. A bar gives the scale.

    Parameters
    ----------
    study : Study
        From a reader, such as `read_chexlocalize`.
    case, task : str
        What to show.
    method : str, optional
        The saliency method, or `human`; by default the only one there is. Where a method has several models
        or seeds the name is that of one series, as "gradcam:densenet:1".
    threshold, cutoff, smooth
        As for `score`: numbers, mappings or files of tuned ones. What is shown as colour, and the peak, are
        the map as it is.
    images : folder, or mapping of case to file or array, optional
        The images. In a folder the file has the name of its case (`case7.png`), or lies where CheXpert has it
        (`valid/patient64541/study1/view1_frontal.jpg`). Without one the ground is grey, and the caption says
        so. Only the pixels that are printed are kept.
    human : bool
        Draw the human benchmark beside the method.
    spacing : as for `score`, optional
        Size of a pixel in mm, for a scale bar in mm; by default it is in pixels.
    labels : mapping, optional
        Names of methods and tasks, and of `truth`, `human`, `mask`, `peak` and `marked` in the legend.
    width : float
        Width of the figure in mm; a journal's column is 89, its page 183.

    Returns
    -------
    Figure
        Its `data` is the one row of its panel: what it shows and why something is missing (`note`).

    Raises
    ------
    SalstatsError
        No such case, task or method; several series of the method; a size that nothing says, or that image
        and masks disagree on.
    InputFileError
        An image that is missing in the folder or cannot be read.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> from functools import partial
    >>> from salstats.images.masks import encode
    >>> from salstats.study import Case, Content, Prediction, Series, Study, Truth
    >>> truth = np.zeros((60, 80), bool)
    >>> truth[20:40, 30:60] = True
    >>> gradcam = Series("gradcam")
    >>> answer = Prediction("Edema", gradcam, partial(Content, saliency=np.eye(6, 8)), "a.pkl")
    >>> case = Case("a", (60, 80), {"Edema": Truth(partial(encode, truth))}, (answer,))
    >>> figure = ss.plot_overlay(Study((case,), ("Edema",), (gradcam,)), "a", "Edema")
    >>> figure.data[["case", "task", "method", "height", "width"]]
      case   task   method  height  width
    0    a  Edema  gradcam      60     80
    """
    names = Labels(labels)
    _check_tasks(study)
    asked = study.select(cases=[case], tasks=[task])
    method = method or only_method(asked)
    series = () if method is None else series_of(asked, method)
    rule = mask_rule(
        asked.select(methods={s.method for s in series}), threshold=threshold, cutoff=cutoff, smooth=smooth
    )
    look = Look(rule, check_images(images), human, overlay_box(width))
    return overlay(picture(asked.cases[0], task, method, series, look), names, width, pixel_widths(spacing))


@figures
def plot_gallery(
    study: Study,
    cases: pd.DataFrame,
    *,
    methods: Iterable[str] | None = None,
    scores: pd.DataFrame | None = None,
    metric: str | None = None,
    threshold: Given = None,
    cutoff: Given = None,
    smooth: Given = None,
    images: ImageSource | None = None,
    human: bool = False,
    spacing: Spacing = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of cases by methods: an overlay of each, with its score below it.

    No picture's box is less than 20 mm wide: methods that do not fit beside each other stand on further
    lines, rows that do not fit a page on further pages.

    Parameters
    ----------
    study : Study
        From a reader, such as `read_chexlocalize`.
    cases : DataFrame
        What the rows show, in their order: `case`, with `task` where the study has several, and `pick`, from
        `pick_cases`. A case that is picked twice has one row. Where cases are picked for several methods, the
        rows of a task stand together, and what a case was picked for stands below the pictures.
    methods : list of str, optional
        What the columns show; by default every saliency method and then the human benchmark.
    scores : DataFrame, optional
        A scores frame, from `score`: the score of each panel. By default those of `cases` are shown, where it
        has any.
    metric : str, optional
        Which score; by default that of `cases`, or the only one of `scores`.
    threshold, cutoff, smooth
        As for `score`; by default what the columns of these names in the scores say, so that the masks shown
        are those that were scored, and Otsu's threshold where they say nothing.
    images, spacing, labels
        As for `plot_overlay`.
    human : bool
        Draw the human benchmark in the panels of the other methods too.
    width : float, optional
        Width of the figure in mm; by default 89 for up to two methods, else 183.

    Returns
    -------
    Figure
        Its `data` has a row per picture: `case`, `task`, `method`, `score`, the `text` below it, and why
        something is missing (`note`). What is higher than a page has further `pages`.

    Raises
    ------
    ColumnError
        `cases` has no column `case`, or no `task` although the study has several.
    SalstatsError
        Nothing to show; several metrics; see also `plot_overlay`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, salstats as ss
    >>> from functools import partial
    >>> from salstats.study import Case, Content, Prediction, Series, Study
    >>> gradcam = Series("gradcam")
    >>> answer = Prediction("Edema", gradcam, partial(Content, saliency=np.eye(6, 8)), "map.pkl")
    >>> study = Study(tuple(Case(c, (60, 80), {}, (answer,)) for c in "ab"), ("Edema",), (gradcam,))
    >>> scores = pd.DataFrame({"case": ["a", "b"], "method": "gradcam", "metric": "iou", "score": [0.2, 0.6]})
    >>> figure = ss.plot_gallery(study, ss.pick_cases(scores, at=["best", "worst"]))
    >>> figure.data[["case", "task", "method", "text"]]
      case   task   method      text
    0    b  Edema  gradcam  IoU 0.60
    1    a  Edema  gradcam  IoU 0.20
    """
    names = Labels(labels)
    _check_tasks(study)
    rows = gallery_rows(cases, study.tasks, names)
    shown = {row.case for row in rows}
    asked = study.select(cases=shown, tasks={row.task for row in rows})
    columns = methods_shown(asked, methods)
    scored = cases if scores is None else scores
    values = panel_scores(scored, metric or picked_metric(cases), shown)
    every = {s.method for series in columns.values() for s in series}
    rule = mask_rule(
        asked.select(methods=every),
        threshold=as_scored(scored, "threshold") or OTSU if threshold is None else threshold,
        cutoff=as_scored(scored, "cutoff") if cutoff is None else cutoff,
        smooth=as_scored(scored, "smooth") if smooth is None else smooth,
    )
    known = {case.case: case for case in asked.cases}
    layout = plan(
        {row.key: row.parts for row in rows},
        [known[row.case].shape for row in rows],
        series_titles(columns, names)[0],
        gallery_width(width, len(columns)),
    )
    look = Look(rule, check_images(images), human, layout.box)
    pictures = {
        name: [picture(known[row.case], row.task, name, series, look) for row in rows]
        for name, series in columns.items()
    }
    return gallery(rows, pictures, values, layout, cases=cases, labels=names, spacing=pixel_widths(spacing))


def _check_tasks(study: Study) -> None:
    """Raise where a study has nothing that was marked, as one of gaze has not."""
    if not study.tasks:
        raise SalstatsError(
            f"{study.source} has no task whose masks could be shown; a case of gaze is drawn by plot_gaze"
        )


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
    covariates their distributions and regressions. The page (`index.html`) also has a Methods paragraph
    made from these settings, result sentences, and what it does not cover of CLAIM and STARD-AI.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    out : path
        Folder to make: `index.html`, `tables/NAME.csv|.html|.tex|.docx`, `figures/NAME.pdf|.png` (further
        pages `NAME-2.pdf` ...), `frames/NAME.csv` (unrounded) and `report.json` (settings, versions and
        digests).
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
    columns = [unit] if isinstance(unit, str) else unit or ()
    asked = Settings(
        reference=reference, unit=", ".join(columns), covariates=covariates, only=only, level=level,
        interval=interval, n_replicates=n_replicates, seed=rng, test=test, adjust=adjust, margin=margin,
        weights=weights, style=style, labels=labels, title=title, inputs=inputs, code=code,
    )  # fmt: skip
    examples = None if study is None else examples_of(study_of(study), check_images(images))
    return write_report(scores, folder, asked, examples=examples, jobs=jobs, progress=progress)


def examples_of(study: Study, images: ImageSource | None = None) -> Examples:
    """Maps of a study, and the gallery that draws them."""
    maps = pd.DataFrame(
        [(c.case, p.task, p.series.method) for c in study for p in c.predictions],
        columns=["case", "task", "method"],
    )

    def draw(picks: pd.DataFrame, rows: pd.DataFrame, labels: Labels) -> p9.ggplot:
        bare, rows = _bare(study, rows)
        known = set(rows["method"])
        there = labels.order("method", [s.method for s in bare.series if s.method in known])
        methods = sorted(there, key=lambda m: m == HUMAN)
        return plot_gallery(bare, picks, methods=methods, scores=rows, images=images, labels=labels)

    return Examples(study.source, maps, draw)


def _bare(study: Study, rows: pd.DataFrame) -> tuple[Study, pd.DataFrame]:
    """Study and scores without network and seed where each method has one: nothing to tell apart."""
    methods = [s.method for s in study.series]
    if len(set(methods)) < len(methods):
        return study, rows
    bare = {s: Series(s.method) for s in study.series}
    cases = tuple(
        replace(c, predictions=tuple(replace(p, series=bare[p.series]) for p in c.predictions)) for c in study
    )
    rows = rows.drop(columns=[c for c in ("model", "seed", "reader") if c in rows.columns])
    return replace(study, cases=cases, series=tuple(bare.values())), rows
