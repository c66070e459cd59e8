"""Overlays and galleries of a study: `scoring` prepares the pictures, `display` draws them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd

from salstats.checks import check_choice, quoted
from salstats.display.plots.gallery import (
    IMAGE,
    gallery,
    gallery_rows,
    gallery_width,
    panel_scores,
    picked_metric,
    series_titles_and_shared_notes,
)
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.gallery_layout import gallery_layout
from salstats.display.plots.layout.overlay_picture import picture_without_map_and_outlines, saliency_range
from salstats.display.plots.layout.picture_layer import COLOUR_MAP, OPACITY, map_style
from salstats.display.plots.layout.theme import COLUMN_MM
from salstats.display.plots.overlay import figure_of_single_picture, picture_box_mm
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError, Setting
from salstats.readers.background_images import ImageSource, check_images
from salstats.scoring.distances import Spacing, pixel_widths_mm
from salstats.scoring.masking import OTSU, MaskOption, MaskRule, mask_rule
from salstats.scoring.overlay_pictures import (
    PictureOptions,
    overlay_picture,
    recorded_option_value_by_task_and_series,
    saliency_method_or_error_if_several,
    series_by_panel_name,
    series_of_one_panel,
)
from salstats.study import Series, Study

#: Ranges that the colours of maps are scaled to: each map's own, or one shared by all maps.
_SCALES = ("each", "shared")


@keep_call_in_figure
def plot_overlay(
    study: Study,
    case: str,
    task: str | None = None,
    *,
    method: str | None = None,
    threshold: MaskOption = OTSU,
    cutoff: MaskOption = None,
    smooth: MaskOption = None,
    images: ImageSource | None = None,
    human: bool = True,
    cmap: str = COLOUR_MAP,
    alpha: float = OPACITY,
    with_image: bool = False,
    spacing: Spacing = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float = COLUMN_MM,
) -> Figure:
    """Draw one case: the image, the map over it, and the outlines of mask, people and truth.

    The map is scaled to 0 to 1 and covers the image the more the larger it is. The outlines are that of the
    map above its threshold (dotted), of the human benchmark (dashed) and of the truth (solid); a cross marks
    the peak, circles the points that people marked. A bar gives the scale.

    Parameters
    ----------
    study : Study
        From a reader, such as `read_chexlocalize`.
    case : str
        The case to show.
    task : str, optional
        The task to show; by default the only one there is.
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
        Draw the human benchmark's outlines and points, too.
    cmap : str
        Colours of the map, a colour map of Matplotlib such as "viridis".
    alpha : float
        Opacity of the colours of high saliency, from 0 to 1; 0 draws the outlines only.
    with_image : bool
        Also draw the image alone, at the left of the overlay.
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
        No such case, task or method; several tasks and none named; several series of the method; a size that
        nothing says, or that image and masks disagree on.
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
    style = map_style(cmap, alpha)
    _check_study_has_tasks(study)
    if task is None:
        task = _only_task(study)
    selected = study.select(cases=[case], tasks=[task])
    method = method or saliency_method_or_error_if_several(selected)
    series = () if method is None else series_of_one_panel(selected, method)
    rule = mask_rule(
        selected.select(methods={one_series.method for one_series in series}),
        threshold=threshold,
        cutoff=cutoff,
        smooth=smooth,
    )
    box = picture_box_mm(width, 2 if with_image else 1)
    options = PictureOptions(rule, check_images(images), human, box)
    panel = overlay_picture(selected.cases[0], task, method, series, options)
    return figure_of_single_picture(
        panel, names, width, pixel_widths_mm(spacing), style, beside_image=with_image
    )


@keep_call_in_figure
def plot_gallery(
    study: Study,
    cases: pd.DataFrame,
    *,
    methods: Iterable[str] | None = None,
    scores: pd.DataFrame | None = None,
    metric: str | None = None,
    threshold: MaskOption = None,
    cutoff: MaskOption = None,
    smooth: MaskOption = None,
    images: ImageSource | None = None,
    human: bool = False,
    cmap: str = COLOUR_MAP,
    alpha: float = OPACITY,
    scale: str = "each",
    with_image: bool = False,
    spacing: Spacing = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float | None = None,
) -> Figure:
    """Draw cases by methods: an overlay of each, with its score below it.

    No picture's box is less than 20 mm wide: methods that do not fit next to each other continue on further
    lines, and rows that do not fit a page on further pages.

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
        are those that were scored; where they say nothing of a method, Otsu's threshold without cut-off or
        filter. A threshold that all the scores share is also that of methods without scores. A filter by way
        of a colormap stands before Otsu's threshold alone: another threshold is of the map without it.
    images, spacing, labels
        As for `plot_overlay`.
    human : bool
        Draw the human benchmark in the panels of the other methods too.
    cmap, alpha
        As for `plot_overlay`.
    scale : {"each", "shared"}
        Colours from the smallest to the largest value of each map, or of all maps of the figure, whose values
        then have to be in one unit.
    with_image : bool
        Also draw the images alone, in a first column.
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
    style = map_style(cmap, alpha)
    check_choice(scale, _SCALES, "scale")
    _check_study_has_tasks(study)
    rows = gallery_rows(cases, study.tasks, names)
    case_names = {row.case for row in rows}
    selected = study.select(cases=case_names, tasks={row.task for row in rows})
    columns = series_by_panel_name(selected, methods)
    scored = cases if scores is None else scores
    values = panel_scores(scored, metric or picked_metric(cases), case_names)
    rule = _mask_rule_of_columns(selected, columns, scored, threshold, cutoff, smooth)
    case_by_name = {case.case: case for case in selected.cases}
    titles, _ = series_titles_and_shared_notes(columns, names)
    if with_image:
        titles = {IMAGE: "Image", **titles}
    layout = gallery_layout(
        {row.key: row.name_parts for row in rows},
        [case_by_name[row.case].shape for row in rows],
        titles,
        gallery_width(width, len(titles)),
    )
    options = PictureOptions(rule, check_images(images), human, layout.box)
    pictures = {}
    for name, series in columns.items():
        pictures[name] = [
            overlay_picture(case_by_name[row.case], row.task, name, series, options) for row in rows
        ]
    if scale == "shared":
        all_pictures = chain.from_iterable(pictures.values())
        style = replace(style, limits=saliency_range(list(all_pictures)))
    if with_image:
        first_column = next(iter(pictures.values()))
        pictures = {
            IMAGE: [picture_without_map_and_outlines(picture) for picture in first_column],
            **pictures,
        }
    return gallery(
        rows, pictures, values, layout, style, cases=cases, labels=names, spacing=pixel_widths_mm(spacing)
    )


def _mask_rule_of_columns(
    study: Study,
    columns: Mapping[str, tuple[Series, ...]],
    scored: pd.DataFrame,
    threshold: MaskOption,
    cutoff: MaskOption,
    smooth: MaskOption,
) -> MaskRule:
    """Return the rule of the methods in the columns; options that are None are taken from the scores.

    So is the colormap with which maps were smoothed, unless `smooth` is given.
    """
    methods = set()
    for series_of_column in columns.values():
        methods |= {series.method for series in series_of_column}
    shown = study.select(methods=methods)
    given: dict[str, Any] = {}
    recorded: dict[str, Any] = {}
    for option, value in {"threshold": threshold, "cutoff": cutoff, "smooth": smooth}.items():
        if value is not None:
            given[option] = value
            continue
        recorded_value = recorded_option_value_by_task_and_series(scored, option)
        # a recorded threshold of 0 is kept
        if recorded_value is not None:
            recorded[option] = recorded_value
    # the scores may be of some of the methods only, and have smoothing or a cut-off for some only
    rule = mask_rule(shown, **recorded, may_be_incomplete=True)
    given_rule = mask_rule(shown, **given)
    rule = replace(rule, **{option: getattr(given_rule, option) for option in given})
    if "smooth" in given:
        # a colormap is one way to smooth, which the given one replaces
        return rule
    return _rule_with_scored_colormap(rule, scored)


def _rule_with_scored_colormap(rule: MaskRule, scored: pd.DataFrame) -> MaskRule:
    """Return the rule with the colormap that the scored maps were smoothed with, if there is one.

    Such smoothing comes before Otsu only: under another threshold the rule has no filter.
    """
    if "colormap" not in scored or scored["colormap"].isna().all():
        return rule
    if set(rule.threshold.values()) != {OTSU}:
        return replace(rule, smooth={})
    # all masks that were smoothed have the same colormap, so any row names it
    return replace(rule, colormap=scored["colormap"].dropna().iloc[0])


def _only_task(study: Study) -> str:
    """Return the task of a study that has one; SalstatsError where it has several."""
    if len(study.tasks) > 1:
        raise SalstatsError(
            f"the study has {len(study.tasks)} tasks ({quoted(study.tasks)})",
            hint=Message("choose one with ", Setting("task")),
            option="task",
            choices=study.tasks,
        )
    return study.tasks[0]


def _check_study_has_tasks(study: Study) -> None:
    """Raise SalstatsError if a study has no tasks, as is the case of studies of gaze."""
    if not study.tasks:
        raise SalstatsError(
            f"{study.source} has no task whose masks could be shown",
            hint=Message("a case of gaze is drawn by ", Call("plot_gaze")),
            option="study",
            value=study.source,
        )
