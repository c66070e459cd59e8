"""Prepare pictures for overlays: map, outlines and points of one case, task and method as small arrays."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.display.plots.layout.overlay_picture import Picture, mm_per_pixel
from salstats.errors import Message, SalstatsError, Setting
from salstats.images.map_steps import rescale
from salstats.images.maps import is_finite
from salstats.images.masks import decode
from salstats.images.printed_images import outlines, printed_shape, resize_for_print
from salstats.readers.case_images import ImageSource, read_grey
from salstats.scoring.cases import EMPTY, NO_MAP, NO_MASK, NOT_FINITE
from salstats.scoring.masking import MaskRule, MaskSetting
from salstats.study import HUMAN, Case, Content, Series, Study

#: Reason why a constant map is not shown.
CONSTANT = "constant map"


@dataclass(frozen=True)
class PictureOptions:
    """Options that all pictures of a figure share, and the images that were read."""

    rule: MaskRule
    images: ImageSource | None
    #: Show the human benchmark in the panels of other methods.
    human: bool
    #: Largest (width, height) of a picture in print, in mm.
    box: tuple[float, float]
    #: Images at their printed size: each is read once for all methods.
    _images_read: dict[str, np.ndarray | None] = field(default_factory=dict)

    def grey(self, case: str, shape: tuple[int, int], printed: tuple[int, int]) -> np.ndarray | None:
        """Return the image of a case as grey from 0 to 1; None if there is none."""
        if case not in self._images_read:
            self._images_read[case] = read_grey(self.images, case, shape, printed)
        return self._images_read[case]


@dataclass(frozen=True)
class _MethodContent:
    """Map, mask and peak of a method that a picture shows, or the reason why there is nothing to show."""

    note: str
    saliency: np.ndarray | None = None
    mask: np.ndarray | None = None
    peak: np.ndarray | None = None


def series_of(study: Study, name: str) -> tuple[Series, ...]:
    """Return the series of a method: all of people, the only one of a saliency method."""
    matching = tuple(series for series in study.series if name in (series.method, str(series)))
    if not matching:
        methods = list(dict.fromkeys(map(str, study.series)))
        raise SalstatsError(
            f"{study.source} has no method {name!r} (methods: {quoted(methods)})", choices=methods
        )
    if len(matching) > 1 and matching[0].method != HUMAN:
        names = [str(series) for series in matching]
        raise SalstatsError(
            f"{study.source} has {len(matching)} series of method {name!r}, and a panel shows one",
            hint=f"name it as {quoted(names)}",
            choices=names,
        )
    return matching


def only_method(study: Study) -> str | None:
    """Return the only saliency method of a study; None if it has none."""
    methods = list(dict.fromkeys(series.method for series in study.series if series.method != HUMAN))
    if len(methods) > 1:
        raise SalstatsError(
            f"{study.source} has {len(methods)} methods ({quoted(methods)})",
            hint=Message("name one with ", Setting("method")),
            option="method",
            choices=methods,
        )
    return methods[0] if methods else None


def methods_shown(study: Study, methods: Iterable[str] | None) -> dict[str, tuple[Series, ...]]:
    """Return the series of each method to be shown, by default of all, the human benchmark last."""
    if methods is None:
        names = _method_names(study)
    elif isinstance(methods, str):
        names = [methods]
    else:
        names = list(dict.fromkeys(methods))
    if not names:
        raise SalstatsError(f"{study.source} has no method to show")
    return {name: series_of(study, name) for name in names}


def _method_names(study: Study) -> list[str]:
    """Return the names of all methods, of which one with several series has several, people's last."""
    n_series = Counter(series.method for series in study.series)
    names: dict[str, None] = {}
    for series in study.series:
        if n_series[series.method] > 1 and series.method != HUMAN:
            names[str(series)] = None
        else:
            names[series.method] = None
    return sorted(names, key=lambda name: name == HUMAN)


def as_scored(scores: pd.DataFrame, option: str) -> Any:
    """Return the value of an option that scores were made with: one for all, or by task and series.

    None if the scores have no column of the option.
    """
    if not {option, "task", "method"} <= set(scores.columns):
        return None
    rows = scores[scores[option].notna()]
    if option == "threshold" and rows[option].nunique() == 1:
        # also for series that these scores do not hold, such as those of cases picked by one method
        return rows[option].iloc[0]
    name_columns = [
        rows[column] for column in ("method", "model", "seed", "reader") if column in rows.columns
    ]
    series = name_columns[0].astype("str")
    for name_column in name_columns[1:]:
        series = series + name_column.map(lambda part: "" if pd.isna(part) else f":{part}")
    keys = zip(rows["task"].astype("str"), series, strict=True)
    return dict(zip(keys, rows[option], strict=True)) or None


def overlay_picture(
    case: Case, task: str, method: str | None, series: Sequence[Series], options: PictureOptions
) -> Picture:
    """Return the picture of one case, task and method; `series` are several only if they are people's."""
    contents = [_content(case, task, one_series) for one_series in series]
    truth = case.truths[task].read() if task in case.truths else None
    people = _people(case, task, method, series, options.human)
    shapes = [None if truth is None else truth.shape]
    for content in (*contents, *people):
        if content is not None:
            shapes.append(_content_shape(content))
    shape = _common_shape(case, task, shapes)
    printed = printed_shape(shape, max(shape) * mm_per_pixel(shape, options.box))
    printed_pixel = max(shape) / max(printed)

    lines: dict[str, list[np.ndarray]] = {}
    points: dict[str, np.ndarray] = {}
    if truth is not None:
        lines["truth"] = outlines(decode(truth), printed_pixel)
    people_masks = [decode(content.mask) for content in people if content.mask is not None]
    if people_masks:
        lines["human"] = []
        for mask in people_masks:
            lines["human"] += outlines(mask, printed_pixel)
    people_points = [content.points for content in people if content.points is not None]
    people_points = [marked for marked in people_points if len(marked)]
    if people_points:
        points["marked"] = np.vstack(people_points).astype(np.float64)

    note = ""
    saliency = None
    mask_options: dict[str, Any] = {}
    saliency_series = [one_series for one_series in series if one_series.method != HUMAN]
    if saliency_series:
        content = contents[list(series).index(saliency_series[0])]
        setting = options.rule.setting(task, saliency_series[0])
        shown = _method_content(content, shape, setting)
        note = shown.note
        saliency = shown.saliency
        if shown.mask is not None:
            lines["mask"] = outlines(shown.mask, printed_pixel)
        if shown.peak is not None:
            points["peak"] = shown.peak
        if saliency is not None and content is not None and content.mask is None:
            mask_options = {
                "threshold": setting.threshold,
                "smooth": setting.smooth,
                "colormap": setting.colormap,
                "cutoff": setting.cutoff,
            }
    elif series and not lines.get("human") and not people_points:
        note = EMPTY if people_masks else NO_MASK
    return Picture(
        case=case.case,
        task=task,
        method=method,
        series=tuple(series),
        shape=shape,
        printed=printed,
        grey=options.grey(case.case, shape, printed),
        saliency=None if saliency is None else rescale(resize_for_print(saliency, printed)),
        lines={kind: kind_lines for kind, kind_lines in lines.items() if kind_lines},
        points=points,
        people=sum(bool(mask.any()) for mask in people_masks),
        note=note,
        **mask_options,
    )


def _people(
    case: Case, task: str, method: str | None, series: Sequence[Series], human: bool
) -> list[Content]:
    """Return the contents of people: those of the series, or with `human` those of the case."""
    people = []
    for one_series in series:
        if one_series.method == HUMAN:
            content = _content(case, task, one_series)
            if content is not None:
                people.append(content)
    shows_people_only = method is not None and all(one_series.method == HUMAN for one_series in series)
    if people or not human or shows_people_only:
        return people
    for prediction in case.predictions:
        if prediction.task == task and prediction.series.method == HUMAN:
            people.append(prediction.read())
    return people


def _method_content(content: Content | None, shape: tuple[int, int], setting: MaskSetting) -> _MethodContent:
    """Return map, mask and peak of a method, with a note if there is no map or nothing is marked."""
    if content is None or (content.saliency is None and content.mask is None):
        return _MethodContent(NO_MAP)
    # a stored mask precedes one made of the map, as in `score`
    mask = None if content.mask is None else decode(content.mask)
    peak = None
    if content.saliency is not None:
        if not is_finite(content.saliency):
            return _MethodContent(NOT_FINITE)
        on_image = setting.on_image(content.saliency, shape)
        if on_image.peak is None:
            return _MethodContent(CONSTANT)
        peak = np.array([on_image.peak], dtype=np.float64) + 0.5
        if mask is None and setting.keeps(content.prob):
            mask = on_image.mask(setting.threshold)
    is_empty = mask is None or not mask.any()
    return _MethodContent(EMPTY if is_empty else "", content.saliency, mask, peak)


def _content(case: Case, task: str, series: Series) -> Content | None:
    """Return the content of a series for a task of a case; None if there is none."""
    prediction = case.answers.get((task, series))
    return None if prediction is None else prediction.read()


def _content_shape(content: Content) -> tuple[int, int] | None:
    """Return the size of the image as far as a prediction knows it."""
    return content.shape if content.mask is None else content.mask.shape


def _common_shape(case: Case, task: str, shapes: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Return the size of a case's image, which all masks and predictions must share."""
    distinct = list(dict.fromkeys(tuple(shape) for shape in (case.shape, *shapes) if shape is not None))
    if not distinct:
        raise SalstatsError(f"case {case.case}, task {task}: nothing says how large the image is")
    if len(distinct) > 1:
        sizes = " and ".join(f"{height} x {width}" for height, width in distinct)
        raise SalstatsError(f"case {case.case}, task {task}: image or masks of {sizes} pixels do not fit")
    height, width = distinct[0]
    return height, width
