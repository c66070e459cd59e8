"""From a study to the panels of an overlay: one case, one task and one method each, as small arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from salstats.checks import SalstatsError, quoted
from salstats.display.plots.image_sources import ImageSource, read_grey
from salstats.display.plots.overlay_layers import (
    GROUND,
    outlines,
    printed_shape,
    resized,
    scaled,
    tinted,
)
from salstats.images.maps import is_finite
from salstats.images.masks import decode
from salstats.scoring.cases import EMPTY, NO_MAP, NO_MASK, NOT_FINITE
from salstats.scoring.masking import MaskRule, value_of
from salstats.study import HUMAN, Case, Content, Series, Study


@dataclass(frozen=True)
class Panel:
    """One picture and what is drawn on it, in pixels of the image.

    Attributes
    ----------
    case, task : str
    method : str or None
        Whose answer it shows, None for the truth alone.
    shape : tuple of int
        (height, width) of the image.
    picture : ndarray of uint8, shape (rows, cols, 3)
        The image with the map over it, as it is printed.
    has_image, has_map : bool
    lines : dict of str to list of ndarray, shape (n, 2)
        Outlines (row, col) of `truth`, `human` and `mask`, those that there are.
    points : dict of str to ndarray, shape (n, 2)
        `peak` of the map and the `marked` points of people, as (row, col).
    note : str
        Why the method has nothing to show; empty where it has.
    """

    case: str
    task: str
    method: str | None
    shape: tuple[int, int]
    picture: np.ndarray
    has_image: bool
    has_map: bool
    lines: dict[str, list[np.ndarray]]
    points: dict[str, np.ndarray]
    note: str


@dataclass(frozen=True)
class Drawn:
    """How panels are made: what `plot_overlay` and `plot_gallery` share."""

    rule: MaskRule
    images: ImageSource | None
    human: bool
    long_mm: float


def case_of(study: Study, name: str) -> Case:
    """Return a case of a study by its name."""
    found = next((c for c in study.cases if c.case == name), None)
    if found is None:
        raise SalstatsError(
            f"{study.source} has no case {name!r} (cases: {quoted([c.case for c in study.cases])})"
        )
    return found


def check_task(study: Study, task: str) -> str:
    """Return a task of a study."""
    if task not in study.tasks:
        raise SalstatsError(f"{study.source} has no task {task!r} (tasks: {quoted(study.tasks)})")
    return task


def series_of(study: Study, name: str) -> tuple[Series, ...]:
    """Return the series of a method by its name: of people all, of a saliency method the one there is."""
    found = tuple(s for s in study.series if name in (s.method, str(s)))
    if not found:
        there = quoted(dict.fromkeys(map(str, study.series)))
        raise SalstatsError(f"{study.source} has no method {name!r} (methods: {there})")
    if len(found) > 1 and found[0].method != HUMAN:
        raise SalstatsError(
            f"{study.source} has {len(found)} series of method {name!r}, and a panel shows one: "
            f"name it as {quoted(map(str, found))}"
        )
    return found


def make_panel(case: Case, task: str, method: str | None, series: Sequence[Series], how: Drawn) -> Panel:
    """Return the panel of one case, task and method.

    Parameters
    ----------
    case : Case
    task : str
    method : str or None
        Name of what is shown.
    series : sequence of Series
        Its series: several only where they are people's.
    how : Drawn
    """
    shown = [_content(case, task, s) for s in series]
    truth = case.truths[task].read() if task in case.truths else None
    people = [c for s, c in zip(series, shown, strict=True) if s.method == HUMAN and c is not None]
    if how.human and not people and (method is None or not all(s.method == HUMAN for s in series)):
        others = (p for p in case.predictions if p.task == task and p.series.method == HUMAN)
        people = [p.read() for p in others]
    known = [c for c in (*shown, *people) if c is not None]
    shape = _shape(case, task, [truth.shape if truth else None, *(_own_shape(c) for c in known)])
    printed = printed_shape(shape, how.long_mm)
    pixel = max(shape) / max(printed)
    lines: dict[str, list[np.ndarray]] = {}
    points: dict[str, np.ndarray] = {}
    if truth is not None:
        lines["truth"] = outlines(decode(truth), pixel)
    masks = [c.mask for c in people if c.mask is not None]
    if masks:
        lines["human"] = [line for mask in masks for line in outlines(decode(mask), pixel)]
    marked = [c.points for c in people if c.points is not None and len(c.points)]
    if marked:
        points["marked"] = np.vstack(marked).astype(np.float64)
    machine = next((s for s in series if s.method != HUMAN), None)
    content = shown[series.index(machine)] if machine is not None else None
    note, saliency = "", None
    if machine is not None:
        note, saliency = _answer(content, shape, how.rule, task, machine, pixel, lines, points)
    elif series and not lines.get("human") and not marked:
        note = EMPTY if masks else NO_MASK
    grey = read_grey(how.images, case.case, shape, printed)
    tint = None if saliency is None else scaled(resized(saliency, printed))
    picture = tinted(np.full(printed, GROUND) if grey is None else grey, tint)
    return Panel(
        case.case,
        task,
        method,
        shape,
        picture,
        has_image=grey is not None,
        has_map=tint is not None,
        lines={kind: found for kind, found in lines.items() if found},
        points=points,
        note=note,
    )


def _answer(
    content: Content | None,
    shape: tuple[int, int],
    rule: MaskRule,
    task: str,
    series: Series,
    pixel: float,
    lines: dict[str, list[np.ndarray]],
    points: dict[str, np.ndarray],
) -> tuple[str, np.ndarray | None]:
    """Add a method's outline and peak; return why there is none, and the map to be shown."""
    if content is None or (content.saliency is None and content.mask is None):
        return NO_MAP, None
    if content.saliency is None:
        assert content.mask is not None
        lines["mask"] = outlines(decode(content.mask), pixel)
        return "" if lines["mask"] else EMPTY, None
    if not is_finite(content.saliency):
        return NOT_FINITE, None
    laid = rule.on_image(content, task, series, shape)
    if laid.peak is None:
        return "constant map", None
    points["peak"] = np.array([laid.peak], dtype=np.float64) + 0.5
    if content.mask is not None:
        # a stored mask stands before one made of the map, as in `score`
        lines["mask"] = outlines(decode(content.mask), pixel)
    elif rule.is_kept(content.prob, task, series):
        lines["mask"] = outlines(laid.mask(value_of(rule.threshold, task, series)), pixel)
    return "" if lines.get("mask") else EMPTY, content.saliency


def _content(case: Case, task: str, series: Series) -> Content | None:
    """Return what a series holds for a task of a case, None where it holds nothing."""
    found = next((p for p in case.predictions if p.task == task and p.series == series), None)
    return None if found is None else found.read()


def _own_shape(content: Content) -> tuple[int, int] | None:
    """Return the size of the image as far as a prediction knows it."""
    return content.mask.shape if content.mask is not None else content.shape


def _shape(case: Case, task: str, others: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Return the size of a case's image, which everything on it has to share."""
    shapes = list(dict.fromkeys(tuple(s) for s in (case.shape, *others) if s is not None))
    if not shapes:
        raise SalstatsError(f"case {case.case}, task {task}: nothing says how large the image is")
    if len(shapes) > 1:
        given = " and ".join(f"{height} x {width}" for height, width in shapes)
        raise SalstatsError(f"case {case.case}, task {task}: image or masks of {given} pixels do not fit")
    height, width = shapes[0]
    return height, width
