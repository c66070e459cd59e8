"""One overlay: what a map marks on its image, beside what people marked."""

from collections.abc import Mapping
from typing import Any

import plotnine as p9

from salstats.checks import SalstatsError, quoted
from salstats.display.plots import panels as shared
from salstats.display.plots.image_sources import ImageSource, check_images
from salstats.display.plots.overlay_figure import (
    EDGE_MM,
    Placed,
    Sheet,
    overlay_figure,
)
from salstats.display.plots.overlay_panels import (
    Drawn,
    case_of,
    check_task,
    make_panel,
    series_of,
)
from salstats.display.plots.overlay_words import (
    absent_note,
    image_note,
    mask_name,
    method_label,
    ratio,
    threshold_note,
)
from salstats.display.plots.panel_grid import caption_chars
from salstats.display.plots.row_figure import check_width
from salstats.display.plots.theme import COLUMN_MM
from salstats.display.text.labels import Labels
from salstats.scoring.masking import OTSU, Given, mask_rule
from salstats.study import HUMAN, Study


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
    spacing: float | Mapping[str, float] | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float = COLUMN_MM,
) -> p9.ggplot:
    """Return a figure of one case: the image, the map over it, and the outlines of mask, people and truth.

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
    spacing : float, or mapping of case to float, optional
        Size of a pixel in mm, for a scale bar in mm; by default it is in pixels.
    labels : mapping, optional
        Names of methods and tasks, and of `truth`, `human`, `mask`, `peak` and `marked` in the legend.
    width : float
        Width of the figure in mm; a journal's column is 89, its page 183.

    Returns
    -------
    ggplot
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
    names, width = Labels(labels), check_width(width)
    found = case_of(study, case)
    check_task(study, task)
    method = method or _only_method(study)
    series = series_of(study, method) if method is not None else ()
    room = width - 2 * EDGE_MM
    own = study.select(tasks=[task], methods={s.method for s in series})
    rule = mask_rule(own, threshold=threshold, cutoff=cutoff, smooth=smooth)
    how = Drawn(rule, check_images(images), human, room)
    panel = make_panel(found, task, method, series, how)
    shown = [names.value("case", case), names.value("task", task)]
    if series:
        shown.append(method_label(names, series))
    note = shared.caption(
        [
            f"{', '.join(shown)}{f': {panel.note}' if panel.note else ''}.",
            absent_note([panel], names),
            threshold_note(rule, [panel], series, names),
            image_note([panel]),
        ],
        caption_chars(width, 3),
    )
    return overlay_figure(
        [Placed(panel, "", "", "")],
        Sheet(width, (room, ratio([panel]) * room), {"": ""}, {"": ""}),
        labels=names,
        note=note,
        spacing=spacing,
        names=mask_name([panel]),
    )


def _only_method(study: Study) -> str | None:
    """Return the saliency method of a study that has one."""
    methods = list(dict.fromkeys(s.method for s in study.series if s.method != HUMAN))
    if len(methods) > 1:
        raise SalstatsError(
            f"{study.source} has {len(methods)} methods ({quoted(methods)}); name one with method="
        )
    return methods[0] if methods else None
