"""From a study to pictures: the map, outlines and points of one case, task and method, as small arrays."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.display.plots.layout.overlay_picture import Picture, mm_per_pixel
from salstats.errors import SalstatsError
from salstats.images.map_steps import rescale
from salstats.images.maps import is_finite
from salstats.images.masks import decode
from salstats.images.printed_images import outlines, printed_shape, resize_for_print
from salstats.readers.case_images import ImageSource, read_grey
from salstats.scoring.cases import EMPTY, NO_MAP, NO_MASK, NOT_FINITE
from salstats.scoring.masking import MaskRule
from salstats.study import HUMAN, Case, Content, Series, Study

CONSTANT = "constant map"


@dataclass(frozen=True)
class PictureOptions:
    """How pictures are made."""

    rule: MaskRule
    images: ImageSource | None
    #: Show the human benchmark beside the method.
    human: bool
    #: Largest (width, height) of a picture in print, in mm.
    box: tuple[float, float]
    #: Images that were read, at their printed size: each is read once for all methods.
    _read: dict[str, np.ndarray | None] = field(default_factory=dict)

    def grey(self, case: str, shape: tuple[int, int], printed: tuple[int, int]) -> np.ndarray | None:
        """Image of a case as grey from 0 to 1, None where there is none."""
        if case not in self._read:
            self._read[case] = read_grey(self.images, case, shape, printed)
        return self._read[case]


def series_of(study: Study, name: str) -> tuple[Series, ...]:
    """Series of a method by its name: of people all, of a saliency method the one there is."""
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


def only_method(study: Study) -> str | None:
    """Saliency method of a study that has one; None where it has none."""
    methods = list(dict.fromkeys(s.method for s in study.series if s.method != HUMAN))
    if len(methods) > 1:
        raise SalstatsError(
            f"{study.source} has {len(methods)} methods ({quoted(methods)}); name one with method="
        )
    return methods[0] if methods else None


def methods_shown(study: Study, methods: Iterable[str] | None) -> dict[str, tuple[Series, ...]]:
    """Series of each method to be shown, by default of all, the human benchmark last."""
    if methods is None:
        n = Counter(s.method for s in study.series)
        every = [str(s) if n[s.method] > 1 and s.method != HUMAN else s.method for s in study.series]
        wanted = sorted(dict.fromkeys(every), key=lambda name: name == HUMAN)
    else:
        wanted = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not wanted:
        raise SalstatsError(f"{study.source} has no method to show")
    return {name: series_of(study, name) for name in wanted}


def as_scored(scores: pd.DataFrame, name: str) -> Any:
    """What masks were made with, where the scores say it: one value, or by task and series."""
    if not {name, "task", "method"} <= set(scores.columns):
        return None
    said = scores[scores[name].notna()]
    if name == "threshold" and said[name].nunique() == 1:
        # also for series that these scores do not hold, such as those of cases picked by one method
        return said[name].iloc[0]
    parts = [said[c] for c in ("method", "model", "seed", "reader") if c in said.columns]
    series = parts[0].astype("str")
    for part in parts[1:]:
        series = series + part.map(lambda v: "" if pd.isna(v) else f":{v}")
    return dict(zip(zip(said["task"].astype("str"), series, strict=True), said[name], strict=True)) or None


def overlay_picture(
    case: Case, task: str, method: str | None, series: Sequence[Series], look: PictureOptions
) -> Picture:
    """Picture of one case, task and method; `series` are several only where they are people's."""
    shown = [_content(case, task, s) for s in series]
    truth = case.truths[task].read() if task in case.truths else None
    people = [c for s, c in zip(series, shown, strict=True) if s.method == HUMAN and c is not None]
    if look.human and not people and (method is None or not all(s.method == HUMAN for s in series)):
        people = [p.read() for p in case.predictions if p.task == task and p.series.method == HUMAN]
    known = [c for c in (*shown, *people) if c is not None]
    shape = _shape(case, task, [truth.shape if truth else None, *(_own_shape(c) for c in known)])
    printed = printed_shape(shape, max(shape) * mm_per_pixel(shape, look.box))
    pixel = max(shape) / max(printed)
    lines: dict[str, list[np.ndarray]] = {}
    points: dict[str, np.ndarray] = {}
    if truth is not None:
        lines["truth"] = outlines(decode(truth), pixel)
    masks = [decode(c.mask) for c in people if c.mask is not None]
    if masks:
        lines["human"] = [line for mask in masks for line in outlines(mask, pixel)]
    marked = [c.points for c in people if c.points is not None and len(c.points)]
    if marked:
        points["marked"] = np.vstack(marked).astype(np.float64)
    note, saliency = "", None
    made: dict[str, Any] = {}
    machine = next((s for s in series if s.method != HUMAN), None)
    if machine is not None:
        content = shown[list(series).index(machine)]
        note, saliency, mask, peak = _answer(content, shape, look.rule, task, machine)
        if mask is not None:
            lines["mask"] = outlines(mask, pixel)
        if peak is not None:
            points["peak"] = peak
        if saliency is not None and content is not None and content.mask is None:
            setting = look.rule.setting(task, machine)
            made = {name: getattr(setting, name) for name in ("threshold", "smooth", "colormap", "cutoff")}
    elif series and not lines.get("human") and not marked:
        note = EMPTY if masks else NO_MASK
    return Picture(
        case.case,
        task,
        method,
        tuple(series),
        shape,
        printed,
        look.grey(case.case, shape, printed),
        None if saliency is None else rescale(resize_for_print(saliency, printed)),
        {kind: found for kind, found in lines.items() if found},
        points,
        people=sum(bool(mask.any()) for mask in masks),
        note=note,
        **made,
    )


def _answer(
    content: Content | None, shape: tuple[int, int], rule: MaskRule, task: str, series: Series
) -> tuple[str, np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """What a method shows: why there is nothing, the map, the mask and the peak, each None where missing."""
    if content is None or (content.saliency is None and content.mask is None):
        return NO_MAP, None, None, None
    # a stored mask stands before one made of the map, as in `score`
    mask = None if content.mask is None else decode(content.mask)
    peak = None
    if content.saliency is not None:
        if not is_finite(content.saliency):
            return NOT_FINITE, None, None, None
        made = rule.setting(task, series)
        laid = made.on_image(content.saliency, shape)
        if laid.peak is None:
            return CONSTANT, None, None, None
        peak = np.array([laid.peak], dtype=np.float64) + 0.5
        if mask is None and made.keeps(content.prob):
            mask = laid.mask(made.threshold)
    return "" if mask is not None and mask.any() else EMPTY, content.saliency, mask, peak


def _content(case: Case, task: str, series: Series) -> Content | None:
    """What a series holds for a task of a case, None where it holds nothing."""
    found = case.answers.get((task, series))
    return None if found is None else found.read()


def _own_shape(content: Content) -> tuple[int, int] | None:
    """Size of the image as far as a prediction knows it."""
    return content.mask.shape if content.mask is not None else content.shape


def _shape(case: Case, task: str, others: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Size of a case's image, which everything on it has to share."""
    shapes = list(dict.fromkeys(tuple(s) for s in (case.shape, *others) if s is not None))
    if not shapes:
        raise SalstatsError(f"case {case.case}, task {task}: nothing says how large the image is")
    if len(shapes) > 1:
        given = " and ".join(f"{height} x {width}" for height, width in shapes)
        raise SalstatsError(f"case {case.case}, task {task}: image or masks of {given} pixels do not fit")
    height, width = shapes[0]
    return height, width
