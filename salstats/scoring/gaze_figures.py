"""Figure of one image of a study of gaze."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.theme import PAGE_MM
from salstats.display.text.format import counted
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.images.printed_images import printed_shape
from salstats.metrics.ranks import RankedMap
from salstats.readers.background_images import ImageSource, check_images, read_grey_for_print
from salstats.scoring.density_figures import SHARES_NOTE, plot_densities, shares_above_minimum
from salstats.scoring.gaze_cases import (
    ALL,
    CONSTANT_MAP,
    NO_MAP,
    NOT_FINITE,
    GazeRule,
    GazeTruths,
    resized_if_finite,
)
from salstats.scoring.overlay_pictures import series_by_panel_name
from salstats.study import Study

#: Titles of the panels that do not show a saliency map.
_FIXATIONS = "Fixations"
_MEAN_MAP = "Mean fixation map"


@keep_call_in_figure
def plot_gaze(
    study: Study,
    case: str,
    *,
    methods: Iterable[str] | None = None,
    images: ImageSource | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float = PAGE_MM,
) -> Figure:
    """Draw fixations, the mean map they make, and saliency maps of one image.

    Parameters
    ----------
    study : Study
        From `read_gaze`.
    case : str
        What to show.
    methods : list of str, optional
        Whose maps; by default all.
    images : folder, or mapping of case to file or array, optional
        The images, as for `plot_overlay`. Without them the ground is grey, and the caption says so.
    labels : mapping, optional
        Names of methods.
    width : float
        Width of the figure in mm; a journal's column is 89, its page 183.

    Returns
    -------
    Figure
        Its `data` has a row per picture. The caption names maps that are missing, constant or not finite.

    Raises
    ------
    SalstatsError
        No such case or method; no recording of the case is used.
    InputFileError
        A map, or an image of the folder, is missing or cannot be read.

    See Also
    --------
    read_gaze, score_gaze, pick_cases

    Examples
    --------
    >>> from functools import partial
    >>> import salstats as ss
    >>> from salstats.study import Case, Recording, Study
    >>> from salstats.images.fixations import Fixations
    >>> look = partial(Fixations, [(20, 30)], [0.5], [(9, 9)], [(0, 0, 60, 80)])
    >>> case = Case("a", (60, 80), patient="7", recordings=(Recording("P0", "0", look, "drawn here"),))
    >>> ss.plot_gaze(Study((case,)), "a").data[["picture", "height", "width"]]
                  picture  height  width
    0           Fixations      60     80
    1  Mean fixation map      60     80
    """
    names = Labels(labels)
    (selected,) = study.select(cases=[case])
    if not selected.used:
        raise SalstatsError(
            f"{study.source}: case {case!r} has no recording that is used", option="case", value=case
        )
    rule = GazeRule(series=(), metrics=(), center_bias=ALL, truth=ALL, min_readers=1)
    truths = GazeTruths(selected, rule)
    maps: dict[str, np.ndarray | None] = {_FIXATIONS: None, _MEAN_MAP: truths.densities[0]}
    predictions = {prediction.series: prediction for prediction in selected.predictions}
    missing = []
    series_by_method = series_by_panel_name(study, methods) if study.series else {}
    for name, (series, *_) in series_by_method.items():
        title = names.value("method", name)
        saliency = predictions[series].read().saliency if series in predictions else None
        if saliency is None:
            missing.append(f"{title}: {NO_MAP}.")
            continue
        resized = resized_if_finite(saliency, truths.shape)
        if resized is None:
            missing.append(f"{title}: {NOT_FINITE}.")
        elif RankedMap(resized).is_constant:
            missing.append(f"{title}: {CONSTANT_MAP}.")
        else:
            maps[title] = shares_above_minimum(resized)
    # no panel is larger: the fixations and their mean map stand side by side
    panel_width = width / 2
    panel_height = panel_width * truths.shape[0] / truths.shape[1]
    grey = read_grey_for_print(
        check_images(images),
        case,
        truths.shape,
        printed_shape(truths.shape, max(panel_width, panel_height)),
    )
    points = truths.points[0]
    notes = [
        f"Case {names.value('case', case)}, {counted(len(selected.used), 'reader')}.",
        f"Points: {counted(len(points), 'fixation')} inside the image. {SHARES_NOTE}",
        *missing,
        "" if grey is not None else "Grey ground: no image was given.",
    ]
    points_by_panel = {name: points for name in maps if name != _MEAN_MAP}
    return plot_densities(maps, grey=grey, points=points_by_panel, notes=notes, width=width)
