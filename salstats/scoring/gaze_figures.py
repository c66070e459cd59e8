"""From a study of gaze to a figure of one of its images."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from salstats.display.plots.layout.figure import Figure, plot_function
from salstats.display.plots.layout.theme import PAGE_MM
from salstats.display.text.format import counted
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.images.printed_images import printed_shape
from salstats.readers.case_images import ImageSource, check_images, read_grey
from salstats.scoring.density_figures import plot_densities, share_per_pixel
from salstats.scoring.gaze_cases import ALL, GazeRule, GazeTruths, on_image
from salstats.scoring.overlay_pictures import methods_shown
from salstats.study import Study


@plot_function
def plot_gaze(
    study: Study,
    case: str,
    *,
    methods: Iterable[str] | None = None,
    images: ImageSource | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    width: float = PAGE_MM,
) -> Figure:
    """Figure of one image: fixations, the mean map they make, and saliency maps with the fixations on them.

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
        Its `data` has a row per picture. The caption names maps that are missing or not finite.

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
    (shown,) = study.select(cases=[case])
    if not shown.used:
        raise SalstatsError(f"{study.source}: case {case!r} has no recording that is used")
    truths = GazeTruths(shown, GazeRule((), (), ALL, truth=ALL, min_readers=1))
    maps: dict[str, np.ndarray | None] = {"Fixations": None, "Mean fixation map": truths.densities[0]}
    given = {p.series: p for p in shown.predictions}
    missing = []
    for name, (series, *_) in (methods_shown(study, methods) if study.series else {}).items():
        saliency = given[series].read().saliency if series in given else None
        laid = None if saliency is None else on_image(saliency, truths.shape)
        title = names.value("method", name)
        if laid is None:
            missing.append(f"{title}: {'no map' if saliency is None else 'map is not finite'}.")
        else:
            maps[title] = share_per_pixel(laid)
    grey = read_grey(check_images(images), case, truths.shape, printed_shape(truths.shape, width / 2))
    points = truths.points[0]
    notes = [
        f"Case {names.value('case', case)}, {counted(len(shown.used), 'reader')}.",
        f"Points: {counted(len(points), 'fixation')} inside the image. Every map sums to 1 and is taken "
        "above its least value.",
        *missing,
        "" if grey is not None else "Grey ground: no image was given.",
    ]
    dotted = dict.fromkeys((name for name in maps if name != "Mean fixation map"), points)
    return plot_densities(maps, grey=grey, points=dotted, notes=notes, width=width)
