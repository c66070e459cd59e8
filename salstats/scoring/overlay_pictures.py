"""Prepare pictures for overlays: map, outlines and points of one case, task and method as small arrays."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.display.plots.layout.overlay_picture import Picture, mm_per_pixel
from salstats.errors import Message, SalstatsError, Setting
from salstats.images.maps import is_finite
from salstats.images.masks import decode
from salstats.images.printed_images import outlines_as_row_col_lines, printed_shape, resize_for_print
from salstats.readers.background_images import ImageSource, read_grey_for_print
from salstats.scoring.cases import EMPTY, NO_MAP, NO_MASK, NOT_FINITE
from salstats.scoring.masking import MaskRule, MaskSetting
from salstats.study import HUMAN, Case, Content, Series, Study

#: Reason why a constant map is not shown.
CONSTANT_MAP = "constant map"


@dataclass(frozen=True)
class PictureOptions:
    """Options that all pictures of a figure share, and the images that were read."""

    rule: MaskRule
    images: ImageSource | None
    #: Show the human benchmark in the panels of other methods.
    shows_human: bool
    #: Largest (width, height) of a picture in print, in mm.
    box_mm: tuple[float, float]
    #: Images at their printed size: each is read once for all methods.
    _images_read: dict[str, np.ndarray | None] = field(default_factory=dict)

    def grey_image(
        self, case: str, mask_shape: tuple[int, int], printed_shape: tuple[int, int]
    ) -> np.ndarray | None:
        """Return the image of a case as grey from 0 to 1; None if there is none."""
        if case not in self._images_read:
            self._images_read[case] = read_grey_for_print(self.images, case, mask_shape, printed_shape)
        return self._images_read[case]


@dataclass(frozen=True)
class _MethodContent:
    """Map, mask and peak of a method that a picture shows, or the reason why there is nothing to show."""

    note: str = ""
    saliency: np.ndarray | None = None
    mask: np.ndarray | None = None
    #: The map's first maximum, shape (1, 2): (row, col) from the upper left corner of the image.
    peak: np.ndarray | None = None
    #: Options of `Picture` that a mask was made of the map with; empty for a mask that was stored.
    mask_options: dict[str, Any] = field(default_factory=dict)


def series_of_one_panel(study: Study, name: str) -> tuple[Series, ...]:
    """Return the series of a method: the only one of a saliency method, all of the human readers.

    `name` is that of a method ("human") or of one series ("human:reader 2").
    """
    matching = tuple(series for series in study.series if name in (series.method, str(series)))
    if not matching:
        methods = list(dict.fromkeys(map(str, study.series)))
        raise SalstatsError(
            f"{study.source} has no method {name!r} (methods: {quoted(methods)})",
            option="methods",
            value=name,
            choices=methods,
        )
    if len(matching) > 1 and matching[0].method != HUMAN:
        names = [str(series) for series in matching]
        raise SalstatsError(
            f"{study.source} has {len(matching)} series of method {name!r}, and a panel shows one",
            hint=f"name it as {quoted(names)}",
            choices=names,
        )
    return matching


def saliency_method_or_error_if_several(study: Study) -> str | None:
    """Return the only saliency method of a study, None if it has none; raise if it has several."""
    methods = list(dict.fromkeys(series.method for series in study.series if series.method != HUMAN))
    if len(methods) > 1:
        raise SalstatsError(
            f"{study.source} has {len(methods)} methods ({quoted(methods)})",
            hint=Message("name one with ", Setting("method")),
            option="method",
            choices=methods,
        )
    return methods[0] if methods else None


def series_by_panel_name(study: Study, methods: Iterable[str] | None) -> dict[str, tuple[Series, ...]]:
    """Return the series of each method to be shown, by default of all, the human benchmark last."""
    if methods is None:
        names = _method_or_series_names(study)
    elif isinstance(methods, str):
        names = [methods]
    else:
        names = list(dict.fromkeys(methods))
    if not names:
        raise SalstatsError(f"{study.source} has no method to show", option="methods", value=names)
    return {name: series_of_one_panel(study, name) for name in names}


def _method_or_series_names(study: Study) -> list[str]:
    """Return the names of all methods, the human benchmark's last.

    A saliency method with several series (models, seeds) has one name for each of them.
    """
    n_series = Counter(series.method for series in study.series)
    names: dict[str, None] = {}
    for series in study.series:
        if n_series[series.method] > 1 and series.method != HUMAN:
            names[str(series)] = None
        else:
            names[series.method] = None
    return sorted(names, key=lambda name: name == HUMAN)


def recorded_option_value_by_task_and_series(scores: pd.DataFrame, option_name: str) -> Any:
    """Return the value of an option that scores were made with; None if they hold none.

    A single value if the option is the threshold and is the same in all rows; else a dict of values by
    (task, name of the series).
    """
    if not {option_name, "task", "method"} <= set(scores.columns):
        return None
    rows = scores[scores[option_name].notna()]
    if rows.empty:
        return None
    if option_name == "threshold" and rows[option_name].nunique() == 1:
        # one threshold for all is also that of series without scores here
        return rows[option_name].iloc[0]
    # the name of a series is "method:model:seed:reader", without what is missing
    series = rows["method"].astype(TEXT)
    for column in ("model", "seed", "reader"):
        if column in rows.columns:
            series = series + rows[column].map(lambda part: "" if pd.isna(part) else f":{part}")
    keys = zip(rows["task"].astype(TEXT), series, strict=True)
    return dict(zip(keys, rows[option_name], strict=True))


def overlay_picture(
    case: Case, task: str, method: str | None, series: Sequence[Series], options: PictureOptions
) -> Picture:
    """Return the picture of one case, task and method; only human readers have several `series`."""
    truth = case.truths[task].read() if task in case.truths else None
    contents = [_content(case, task, one_series) for one_series in series]
    reader_contents = _reader_contents(case, task, method, series, options.shows_human)
    shapes = [
        _image_shape_of_content(content) for content in (*contents, *reader_contents) if content is not None
    ]
    if truth is not None:
        shapes.insert(0, truth.shape)
    shape = _common_shape(case, task, shapes)
    printed = printed_shape(shape, max(shape) * mm_per_pixel(shape, options.box_mm))

    reader_masks = [decode(content.mask) for content in reader_contents if content.mask is not None]
    points: dict[str, np.ndarray] = {}
    marked_points = _reader_points(reader_contents)
    if marked_points is not None:
        points["marked"] = marked_points
    shown = _MethodContent()
    saliency_series = [one_series for one_series in series if one_series.method != HUMAN]
    if saliency_series:
        content = contents[list(series).index(saliency_series[0])]
        shown = _method_content(content, shape, options.rule.setting(task, saliency_series[0]))
    elif series:
        shown = _MethodContent(
            note=_note_if_readers_marked_nothing(reader_masks, has_points=marked_points is not None)
        )

    masks = {"human": reader_masks}
    if truth is not None:
        masks["truth"] = [decode(truth)]
    if shown.mask is not None:
        masks["mask"] = [shown.mask]
    if shown.peak is not None:
        points["peak"] = shown.peak
    saliency = None
    if shown.saliency is not None:
        saliency = resize_for_print(shown.saliency, printed)
    return Picture(
        case=case.case,
        task=task,
        method=method,
        series=tuple(series),
        shape=shape,
        printed_shape=printed,
        grey=options.grey_image(case.case, shape, printed),
        saliency=saliency,
        outlines=_mask_outlines_by_kind(masks, printed_pixel=max(shape) / max(printed)),
        points=points,
        n_readers=sum(bool(mask.any()) for mask in reader_masks),
        note=shown.note,
        **shown.mask_options,
    )


def _mask_outlines_by_kind(
    masks: dict[str, list[np.ndarray]], printed_pixel: float
) -> dict[str, list[np.ndarray]]:
    """Return the outlines of masks by kind, without kinds that have none.

    `printed_pixel` is the size of a printed pixel in pixels of the image: finer detail is left out.
    """
    lines: dict[str, list[np.ndarray]] = {}
    for kind, kind_masks in masks.items():
        kind_lines = []
        for mask in kind_masks:
            kind_lines += outlines_as_row_col_lines(mask, printed_pixel)
        if kind_lines:
            lines[kind] = kind_lines
    return lines


def _reader_points(contents: Sequence[Content]) -> np.ndarray | None:
    """Return the points (row, col) of all readers, (n, 2); None if no reader marked a point."""
    points = [content.points for content in contents if content.points is not None and len(content.points)]
    if not points:
        return None
    return np.vstack(points).astype(np.float64)


def _note_if_readers_marked_nothing(masks: Sequence[np.ndarray], *, has_points: bool) -> str:
    """Return the reason why readers have nothing to show; "" if they marked any pixel or point."""
    if has_points or any(mask.any() for mask in masks):
        return ""
    if not masks:
        return NO_MASK
    return EMPTY


def _reader_contents(
    case: Case, task: str, method: str | None, series: Sequence[Series], human: bool
) -> list[Content]:
    """Return the human readers' contents: those of the series, else with `human` all those of the case.

    With `human`, a picture whose method is human readers still shows only the readers among its series.
    """
    contents = []
    for one_series in series:
        if one_series.method == HUMAN:
            content = _content(case, task, one_series)
            if content is not None:
                contents.append(content)
    shows_readers_only = method is not None and all(one_series.method == HUMAN for one_series in series)
    if contents or not human or shows_readers_only:
        return contents
    for prediction in case.predictions:
        if prediction.task == task and prediction.series.method == HUMAN:
            contents.append(prediction.read())
    return contents


def _method_content(content: Content | None, shape: tuple[int, int], setting: MaskSetting) -> _MethodContent:
    """Return map, mask and peak of a method, with a note if there is no map or nothing is marked."""
    if content is None or (content.saliency is None and content.mask is None):
        return _MethodContent(note=NO_MAP)
    reaches_cutoff = setting.prob_reaches_cutoff(content.prob)
    mask = None
    if content.mask is not None and reaches_cutoff:
        mask = decode(content.mask)
    saliency = None
    peak = None
    mask_options: dict[str, Any] = {}
    if content.saliency is not None:
        if not is_finite(content.saliency):
            return _MethodContent(note=NOT_FINITE)
        on_image = setting.on_image(content.saliency, shape)
        # a constant map is not shown; a stored mask is shown without it
        if on_image.peak is not None:
            saliency = content.saliency
            # from the corner of pixel (0, 0) instead of its centre
            peak = np.array([on_image.peak], dtype=np.float64) + 0.5
        elif content.mask is None:
            return _MethodContent(note=CONSTANT_MAP)
        # a stored mask precedes one made of the map, as in `score`
        if content.mask is None:
            mask_options = {
                "threshold": setting.threshold,
                "smooth": setting.smooth,
                "colormap": setting.colormap,
                "cutoff": setting.cutoff,
            }
            if reaches_cutoff:
                mask = on_image.mask(setting.threshold)
    note = ""
    if mask is None or not mask.any():
        note = EMPTY
    return _MethodContent(note, saliency, mask, peak, mask_options)


def _content(case: Case, task: str, series: Series) -> Content | None:
    """Return the content of a series for a task of a case; None if there is none."""
    prediction = case.answers.get((task, series))
    return None if prediction is None else prediction.read()


def _image_shape_of_content(content: Content) -> tuple[int, int] | None:
    """Return (height, width) of the image by its mask or its file; None if a prediction has neither."""
    if content.mask is not None:
        return content.mask.shape
    return content.shape


def _common_shape(case: Case, task: str, shapes: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Return (height, width) of a case's image, which all masks and predictions must share."""
    distinct = list(dict.fromkeys(shape for shape in (case.shape, *shapes) if shape is not None))
    if not distinct:
        raise SalstatsError(
            f"case {case.case}, task {task}: nothing says how large the image is",
            option="study",
            value=distinct,
        )
    if len(distinct) > 1:
        sizes = " and ".join(f"{height} x {width}" for height, width in distinct)
        raise SalstatsError(
            f"case {case.case}, task {task}: image or masks of {sizes} pixels do not fit",
            option="study",
            value=distinct,
        )
    height, width = distinct[0]
    return height, width
