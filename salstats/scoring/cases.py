"""Score one case: each prediction of each task and series is compared with the truth.

No metric is named here. The record of a metric lists the inputs of its kernel; `PredictionTruthComparison`
makes each input once for all metrics of a prediction, and its method `score` gives the reason where there is
no score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from salstats.errors import InputFileError
from salstats.images import masks
from salstats.images.maps import is_finite
from salstats.images.peaks import RowColPoints
from salstats.metrics import overlap
from salstats.metrics.distance import SurfaceDistances, surface_distances
from salstats.metrics.overlap import Counts
from salstats.metrics.records import MASK_NEEDS, Metric
from salstats.metrics.registry import METRICS, names_of_metrics_needing_only
from salstats.scoring.distances import WORST, DistanceRule
from salstats.scoring.masking import MaskRule, MaskSetting
from salstats.scoring.rows import row_identifiers
from salstats.study import Case, Content, Prediction, Series

# Reasons why a score is undefined, as the column `reason` has them.
ABSENT = "finding absent"
EMPTY = "empty mask"
NO_MAP = "no map"
NOT_FINITE = "map is not finite"
TRUE_NEGATIVE = "true negative"
PREDICTED_NEGATIVE = "predicted negative"
NO_PROB = "no probability"
NO_LABEL = "no label"
NO_POINT = "no point"
NO_MASK = "no mask"
NOTHING_POSITIVE = "nothing positive"
#: Reason where the mask or the truth covers the whole image.
NO_BACKGROUND = "no background"
# Slices: the cases that a score is defined on.
TRUE_POSITIVE = "true-positive"
FULL = "full"
PREDICTED_POSITIVE = "predicted-positive"
#: Inputs of kernels that a `PredictionTruthComparison` makes, and the metrics that need no other inputs.
AVAILABLE_NEEDS = (
    *sorted(MASK_NEEDS),
    "truth",
    "runs",
    "marked_points_or_peak",
    "marked_points_or_peaks",
    "saliency",
)
SCORED_METRICS = names_of_metrics_needing_only(AVAILABLE_NEEDS)
#: Column that is True where a score depends on which of several equal maxima of a map counts. `score` warns
#: of such maps and drops the column.
AMBIGUOUS_PEAK = "ambiguous_peak"
#: Column with the share of the image that the truth marks, by which `score` warns of inverted masks before it
#: drops the column.
TRUTH_SHARE = "truth_share"
_NAN = float("nan")

#: A score, or NaN and the reason.
ScoreAndReason = tuple[float, str | None]


@dataclass(frozen=True)
class ScoreRule:
    """Tasks, series, metrics and options of a call of `score`."""

    tasks: tuple[str, ...]
    series: tuple[Series, ...]
    metrics: tuple[str, ...]
    slice: str
    misses: str
    mask: MaskRule
    distance: DistanceRule

    @cached_property
    def needs_mask_pixels(self) -> bool:
        """True if a metric needs the mask as an array; overlap is counted without one."""
        return any({"mask", "distances"} & set(METRICS[name].needs) for name in self.metrics)

    @cached_property
    def needs_resized_map(self) -> bool:
        """True if a metric needs the map at the size of its image."""
        # metrics whose first input is the map itself take it at its own size
        return any(METRICS[name].needs[0] != "saliency" for name in self.metrics)

    @cached_property
    def mask_settings(self) -> dict[tuple[str, Series], MaskSetting]:
        """Threshold, cut-off and filter of each task and series."""
        settings = {}
        for task in self.tasks:
            for series in self.series:
                settings[task, series] = self.mask.setting(task, series)
        return settings


@dataclass(frozen=True)
class Finding:
    """The truth of one task of a case; its pixels are decoded once, and only if they are needed."""

    case: str
    runs: masks.Rle

    @cached_property
    def mask(self) -> np.ndarray:
        """The truth as an array."""
        return masks.decode(self.runs)

    @cached_property
    def is_present(self) -> bool:
        """True if the truth marks a pixel."""
        return self.marked_share > 0

    @cached_property
    def marked_share(self) -> float:
        """The share of the image's pixels that the truth marks."""
        height, width = self.runs.shape
        return masks.area(self.runs) / (height * width)


class PredictionTruthComparison:
    """Prediction and truth of one case, task and series: the inputs of kernels, each made once.

    The attributes `counts`, `distances`, `mask`, `truth`, `runs`, `marked_points_or_peak`,
    `marked_points_or_peaks` and `saliency` have the names of inputs of kernels (`metrics.records.NEEDS`).
    """

    def __init__(
        self, content: Content | None, finding: Finding | None, setting: MaskSetting, rule: ScoreRule
    ) -> None:
        self.setting = setting
        self.rule = rule
        #: Reason why no metric can be computed; None if one can.
        self.reason: str | None = None
        self.is_absent = finding is not None and not finding.is_present
        if content is None or finding is None or not _has_localisation(content):
            self.reason = NO_MAP
            return
        self.content = content
        self.finding = finding
        self.saliency = content.saliency
        self.runs = finding.runs
        if self.saliency is None:
            return
        if not is_finite(self.saliency):
            self.reason = NOT_FINITE
        elif rule.needs_resized_map:
            self.on_image = setting.on_image(self.saliency, self.runs.shape)

    @property
    def truth(self) -> np.ndarray:
        """The truth as an array."""
        return self.finding.mask

    @property
    def marked_points_or_peak(self) -> RowColPoints:
        """The points (row, col) that a person marked, or the map's first maximum, (n, 2); n may be 0."""
        if self.content.points is not None:
            return self.content.points
        peak = self.on_image.peak
        if peak is None:
            return np.empty((0, 2))
        return np.array([peak])

    @cached_property
    def marked_points_or_peaks(self) -> RowColPoints:
        """The points (row, col) that a person marked, or every maximum of the map, (n, 2); n may be 0."""
        if self.content.points is not None:
            return self.content.points
        return self.on_image.peaks

    @property
    def has_peaks_inside_and_outside_truth(self) -> bool | None:
        """True if the largest value of the map is at several pixels, some in the truth and others not.

        None if there is no map, or if points are scored.
        """
        if self.reason is not None or self.saliency is None or self.content.points is not None:
            return None
        is_inside = masks.contains(self.runs, *self.marked_points_or_peaks.T)
        return bool(is_inside.any() and not is_inside.all())

    @cached_property
    def mask(self) -> np.ndarray:
        """The stored mask as an array, or else the mask made of the map."""
        if self.content.mask is not None:
            return masks.decode(self.content.mask)
        return self.on_image.mask(self.setting.threshold)

    @cached_property
    def counts(self) -> Counts:
        """The counts of mask and truth; those of an empty mask if the probability is below the cut-off."""
        if self.content.mask is not None:
            counts = overlap.counts(self.content.mask, self.runs)
        elif self.rule.needs_mask_pixels:
            counts = overlap.counts(self.mask, self.truth)
        else:
            counts = Counts(*self.on_image.tp_fp_fn_tn(self.runs, self.setting.threshold))
        if self.setting.prob_reaches_cutoff(self.content.prob):
            return counts
        return counts.with_empty_mask()

    @cached_property
    def distances(self) -> SurfaceDistances:
        """The distances between mask and truth."""
        rule = self.rule.distance
        spacing = rule.pixel_size_mm(self.finding.case)
        return surface_distances(self.mask, self.truth, spacing=spacing, points=rule.points)

    @cached_property
    def no_mask_reason(self) -> str | None:
        """The reason why there is no mask to compare; None if there is one."""
        if self.reason is not None:
            return self.reason
        if self.content.mask is None and self.content.saliency is None:
            return NO_MASK
        if self.setting.cutoff is not None and np.isnan(self.content.prob):
            return NO_PROB
        return None

    @property
    def mask_is_empty(self) -> bool | None:
        """True if the mask marks no pixel; None if there is no mask."""
        if self.no_mask_reason is not None:
            return None
        return bool(self.counts.tp + self.counts.fp == 0)

    @property
    def mask_is_full(self) -> bool:
        """True if the mask marks every pixel."""
        return bool(self.counts.fn + self.counts.tn == 0 and self.counts.fp > 0)

    def score(self, metric: Metric) -> ScoreAndReason:
        """Return a score, or NaN and the reason."""
        if metric.compares_mask:
            return self._mask_score(metric)
        return self._localisation_score(metric)

    def _mask_score(self, metric: Metric) -> ScoreAndReason:
        """Return the score of a mask."""
        on_true_positives = self.rule.slice == TRUE_POSITIVE
        worst_for_empty = self.rule.distance.undefined == WORST
        if self.is_absent and on_true_positives:
            return _NAN, ABSENT
        if self.no_mask_reason is not None:
            return _NAN, self.no_mask_reason
        is_empty = self.mask_is_empty
        if is_empty and on_true_positives and not worst_for_empty and self.rule.misses == "undefined":
            return _NAN, EMPTY
        # a rate of counts is undefined by its own denominator; other metrics need a pixel in both masks
        if "counts" in metric.needs or not (is_empty or self.is_absent):
            value = self._kernel_value(metric)
            if not np.isnan(value):
                return value, None
        if self.is_absent and is_empty:
            return _NAN, TRUE_NEGATIVE
        if self.is_absent:
            return _NAN, ABSENT
        if worst_for_empty and (is_empty or self.mask_is_full):
            return self._worst_score(metric), None
        if is_empty:
            return _NAN, EMPTY
        return _NAN, NO_BACKGROUND

    def _localisation_score(self, metric: Metric) -> ScoreAndReason:
        """Return the score of a map or of points."""
        if self.is_absent:
            return _NAN, ABSENT
        if self.reason is not None:
            return _NAN, self.reason
        if self.content.saliency is None:
            if "saliency" in metric.needs:
                return _NAN, NO_MAP
            if self.content.points is None:
                return _NAN, NO_POINT
        value = self._kernel_value(metric)
        if not np.isnan(value):
            return value, None
        if self.rule.distance.undefined == WORST:
            return self._worst_score(metric), None
        return _NAN, NOTHING_POSITIVE

    def _kernel_value(self, metric: Metric) -> float:
        """Return the value of the kernel."""
        assert metric.kernel is not None
        inputs = [getattr(self, need) for need in metric.needs]
        options = self.rule.distance.options.get(metric.name, {})
        return float(metric.kernel(*inputs, **options))

    def _worst_score(self, metric: Metric) -> float:
        """Return the worst score: the diagonal of the image for a distance, else the lowest value."""
        if metric.is_length:
            return self.rule.distance.diagonal(self.runs.shape, self.finding.case)
        return metric.low


@dataclass(frozen=True)
class _TaskOfCase:
    """One task of one case: its truth, and the content of every series that has a prediction."""

    case: Case
    task: str
    finding: Finding | None
    contents: Mapping[Series, Content]

    @cached_property
    def label(self) -> float:
        """The image-level truth: from the table of labels, else from the first file that holds it."""
        if self.task in self.case.labels:
            return float(self.case.labels[self.task])
        for content in self.contents.values():
            if not np.isnan(content.label):
                return float(content.label)
        return _NAN

    def prob(self, series: Series) -> float:
        """Return the probability of a series, NaN where it has none."""
        if series in self.contents:
            return self.contents[series].prob
        return _NAN

    def reason_series_is_outside_slice(self, series: Series, rule: ScoreRule) -> str | None:
        """Return the reason why a series lies outside the slice; None if it is inside."""
        if rule.slice != PREDICTED_POSITIVE:
            return None
        prob = self.prob(series)
        if np.isnan(prob):
            # a series without a probability, such as people, takes that of the first series with one
            for series_with_prob, content in self.contents.items():
                if not np.isnan(content.prob):
                    series = series_with_prob
                    prob = content.prob
                    break
        # without a cut-off the image-level truth decides: 1 is positive
        value = self.label
        unknown_reason = NO_LABEL
        positive_from = 1.0
        # the rule of masks has the cut-offs, since a mask below its cut-off is empty
        cutoff = rule.mask.cutoff_of(self.task, series)
        if cutoff is not None:
            value = prob
            unknown_reason = NO_PROB
            positive_from = cutoff
        if np.isnan(value):
            return unknown_reason
        if value < positive_from:
            return PREDICTED_NEGATIVE
        return None


def case_rows(
    case: Case, rule: ScoreRule, columns_by_metric: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows of one case, in the order of tasks, series and metrics.

    `columns_by_metric` are the columns of each metric that are the same for all cases.
    """
    predictions = case.answers
    shape = case.shape
    rows = []
    for task in rule.tasks:
        contents: dict[Series, Content] = {}
        for series in rule.series:
            prediction = predictions.get((task, series))
            if prediction is not None:
                content = prediction.read()
                shape = agreed_shape(shape, content, case, prediction)
                contents[series] = content
        finding = None
        truth = _truth_or_empty_mask_of_shape(case, task, shape)
        if truth is not None:
            finding = Finding(case.case, truth)
        task_of_case = _TaskOfCase(case, task, finding, contents)
        for series in rule.series:
            rows += _series_rows(task_of_case, series, rule, columns_by_metric)
    return rows


def _series_rows(
    task_of_case: _TaskOfCase,
    series: Series,
    rule: ScoreRule,
    columns_by_metric: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the rows of one case, task and series, in the order of metrics."""
    content = task_of_case.contents.get(series)
    setting = rule.mask_settings[task_of_case.task, series]
    comparison = PredictionTruthComparison(content, task_of_case.finding, setting, rule)
    outside_reason = task_of_case.reason_series_is_outside_slice(series, rule)
    metrics = [METRICS[name] for name in rule.metrics]
    row_columns = {
        **row_identifiers(task_of_case.case, task_of_case.task, series),
        "prob": task_of_case.prob(series),
        "label": task_of_case.label,
    }
    if task_of_case.finding is not None:
        row_columns[TRUTH_SHARE] = task_of_case.finding.marked_share
    # a stored mask has no threshold, only a cut-off, if any
    mask_columns: dict[str, Any] = {"cutoff": setting.cutoff}
    if content is not None and content.saliency is not None and content.mask is None:
        mask_columns = dict(setting.columns)
    shows_empty = rule.needs_mask_pixels or rule.distance.undefined == WORST
    if shows_empty and any(metric.compares_mask for metric in metrics):
        mask_columns["empty_mask"] = comparison.mask_is_empty
    rows = []
    for metric in metrics:
        score, reason = _NAN, outside_reason
        if outside_reason is None:
            score, reason = comparison.score(metric)
        row = {**row_columns, **columns_by_metric[metric.name], "score": score, "reason": reason}
        if metric.compares_mask:
            row |= mask_columns
            if "counts" in metric.needs and comparison.no_mask_reason is None:
                row |= comparison.counts._asdict()
        if "marked_points_or_peak" in metric.needs and reason is None:
            row[AMBIGUOUS_PEAK] = comparison.has_peaks_inside_and_outside_truth
        rows.append(row)
    return rows


def agreed_shape(
    shape: tuple[int, int] | None, content: Content, case: Case, prediction: Prediction
) -> tuple[int, int] | None:
    """Return (height, width) of a case's image by the study and the prediction's content.

    `shape` is the study's, None where unknown. None if neither is known and there is no map. InputFileError
    if the two differ, or if there is a map and no shape.
    """
    if content.shape is not None and shape is not None and tuple(content.shape) != tuple(shape):
        content_size = f"{content.shape[0]} x {content.shape[1]}"
        study_size = f"{shape[0]} x {shape[1]}"
        raise InputFileError(
            f"{prediction.source}: the image of case {case.case!r} is {content_size} (height x width) there "
            f"and {study_size} elsewhere in the study",
            column="case",
            value=case.case,
            path=prediction.source,
        )
    agreed = shape or content.shape
    if agreed is None and content.saliency is not None:
        raise InputFileError(
            f"{prediction.source}: nothing says how large the image of case {case.case!r} is",
            hint="the map needs cxr_dims, or the truth this case",
            column="case",
            value=case.case,
            path=prediction.source,
        )
    return agreed


def _truth_or_empty_mask_of_shape(case: Case, task: str, shape: tuple[int, int] | None) -> masks.Rle | None:
    """Return the truth of a task, empty where it has none; None if the size of the image is unknown."""
    if task in case.truths:
        return case.truths[task].read()
    if shape is None:
        return None
    return masks.empty(shape)


def _has_localisation(content: Content) -> bool:
    """Return True if a series has more than a probability: a map, a mask or points."""
    return content.saliency is not None or content.mask is not None or content.points is not None
