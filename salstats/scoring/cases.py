"""One case: every task and series of it compared with the truth, map by map.

The walk knows no metric by name. A record says what its kernel needs; `Comparison` makes each of these once
for all metrics of a map, and `Comparison.score` says why there is no score where there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from salstats.errors import InputFileError
from salstats.images import masks
from salstats.images.maps import is_finite
from salstats.metrics import overlap
from salstats.metrics.distance import SurfaceDistances, surface_distances
from salstats.metrics.overlap import Counts
from salstats.metrics.records import OF_MASK, Metric
from salstats.metrics.registry import METRICS, computed_from
from salstats.scoring.distances import WORST, DistanceRule
from salstats.scoring.masking import MaskRule, MaskSetting
from salstats.scoring.rows import names_of
from salstats.study import Case, Content, Prediction, Series

#: Why a score is undefined.
ABSENT, EMPTY, NO_MAP, NOT_FINITE = "finding absent", "empty mask", "no map", "map is not finite"
NEGATIVE, PREDICTED_NEGATIVE, NO_PROB = "true negative", "predicted negative", "no probability"
NO_POINT, NO_MASK, NOTHING_POSITIVE = "no point", "no mask", "nothing positive"
#: Mask or truth covers the image.
NO_BACKGROUND = "no background"
TRUE_POSITIVE, FULL, PREDICTED_POSITIVE = "true-positive", "full", "predicted-positive"
#: What `Comparison` makes for a metric, and the metrics that need no more.
AVAILABLE_NEEDS = (*sorted(OF_MASK), "truth", "runs", "peak", "peaks", "saliency")
SCORED = computed_from(AVAILABLE_NEEDS)
_NAN = float("nan")


@dataclass(frozen=True)
class ScoreRule:
    """What `score` was asked for."""

    tasks: tuple[str, ...]
    series: tuple[Series, ...]
    metrics: tuple[str, ...]
    slice: str
    misses: str
    mask: MaskRule
    distance: DistanceRule

    @cached_property
    def by_pixels(self) -> bool:
        """Whether a metric looks at the pixels of the mask, which overlap does without."""
        return any({"mask", "distances"} & set(METRICS[m].needs) for m in self.metrics)

    @cached_property
    def settings(self) -> dict[tuple[str, Series], MaskSetting]:
        """What makes the masks of each task and series."""
        return {(t, s): self.mask.setting(t, s) for t in self.tasks for s in self.series}

    @cached_property
    def lays(self) -> bool:
        """Whether a metric needs the map on its image."""
        return any(METRICS[m].needs[0] != "saliency" for m in self.metrics)


@dataclass(frozen=True)
class Finding:
    """The truth of one task of a case; its pixels are decoded where they are needed, and then once."""

    case: str
    runs: masks.Rle

    @cached_property
    def pixels(self) -> np.ndarray:
        """The truth as an array."""
        return masks.decode(self.runs)

    @cached_property
    def is_there(self) -> bool:
        """Whether the truth marks anything."""
        return masks.area(self.runs) > 0


class Comparison:
    """What one series shows of a task, beside its truth: what metrics need, each made once."""

    def __init__(
        self, content: Content | None, finding: Finding | None, made: MaskSetting, rule: ScoreRule
    ) -> None:
        self.made, self.rule = made, rule
        #: Why no metric can be computed; None where it can.
        self.why: str | None = None
        self.absent = finding is not None and not finding.is_there
        if content is None or finding is None or _is_bare(content):
            self.why = NO_MAP
            return
        self.content, self.finding = content, finding
        self.saliency, self.runs = content.saliency, finding.runs
        if self.saliency is not None and not is_finite(self.saliency):
            self.why = NOT_FINITE
        elif self.saliency is not None and rule.lays:
            self.laid = made.on_image(self.saliency, self.runs.shape)

    @property
    def truth(self) -> np.ndarray:
        """The truth as an array."""
        return self.finding.pixels

    @property
    def peak(self) -> np.ndarray:
        """The points that a person marked, or the map's first maximum."""
        if self.content.points is not None:
            return self.content.points
        peak = self.laid.peak
        return np.empty((0, 2)) if peak is None else np.array([peak])

    @property
    def peaks(self) -> np.ndarray:
        """The points that a person marked, or every maximum of the map."""
        return self.laid.peaks if self.content.points is None else self.content.points

    @cached_property
    def mask(self) -> np.ndarray:
        """The mask that is stored, or else made of the map, as an array."""
        if self.content.mask is not None:
            return masks.decode(self.content.mask)
        return self.laid.mask(self.made.threshold)

    @cached_property
    def counts(self) -> Counts:
        """The pixels of mask and truth; those of an empty mask below the probability cut-off."""
        if self.rule.by_pixels and self.content.mask is None:
            found = overlap.counts(self.mask, self.truth)
        elif self.content.mask is not None:
            found = overlap.counts(self.content.mask, self.runs)
        else:
            found = Counts(*self.laid.counts(self.runs, self.made.threshold))
        return found if self.made.keeps(self.content.prob) else found.emptied()

    @cached_property
    def distances(self) -> SurfaceDistances:
        """The distances between mask and truth."""
        rule = self.rule.distance
        return surface_distances(
            self.mask, self.truth, spacing=rule.steps(self.finding.case), points=rule.points
        )

    @cached_property
    def no_mask(self) -> str | None:
        """Why there is no mask to compare; None where there is one."""
        if self.why is not None:
            return self.why
        if self.content.mask is None and self.content.saliency is None:
            return NO_MASK
        return NO_PROB if self.made.cutoff is not None and np.isnan(self.content.prob) else None

    @property
    def is_empty(self) -> bool | None:
        """Whether the mask marks nothing; None where there is no mask."""
        return None if self.no_mask is not None else bool(self.counts.tp + self.counts.fp == 0)

    def _lacks(self, metric: Metric) -> str | None:
        """Why a metric cannot be computed; None where it can."""
        if self.why is not None or metric.of_mask:
            return self.no_mask if metric.of_mask else self.why
        if "saliency" in metric.needs:
            return NO_MAP if self.content.saliency is None else None
        return NO_POINT if self.content.points is None and self.content.saliency is None else None

    def score(self, metric: Metric) -> tuple[float, str | None]:
        """A score, or NaN and the reason."""
        rule, of_mask = self.rule, metric.of_mask
        positive, worst = rule.slice == TRUE_POSITIVE, rule.distance.undefined == WORST
        if self.absent and (not of_mask or positive):
            return _NAN, ABSENT
        lacks = self._lacks(metric)
        if lacks is not None:
            return _NAN, lacks
        empty = of_mask and self.counts.tp + self.counts.fp == 0
        if empty and positive and not worst and rule.misses == "undefined":
            return _NAN, EMPTY
        value = _NAN
        # but for counts, both have to mark something
        if "counts" in metric.needs or not (empty or self.absent):
            assert metric.kernel is not None
            options = rule.distance.options.get(metric.name, {})
            value = float(metric.kernel(*[getattr(self, need) for need in metric.needs], **options))
        if not np.isnan(value):
            return value, None
        everything = of_mask and self.counts.fn + self.counts.tn == 0 and self.counts.fp > 0
        if worst and not self.absent and (empty or everything or not of_mask):
            far = metric.is_length
            return rule.distance.diagonal(self.runs.shape, self.finding.case) if far else metric.low, None
        if not of_mask:
            return _NAN, NOTHING_POSITIVE
        if self.absent:
            return _NAN, NEGATIVE if empty else ABSENT
        return _NAN, EMPTY if empty else NO_BACKGROUND


def case_rows(case: Case, rule: ScoreRule, beside: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one case, in the order of tasks, series and metrics."""
    answers, shape = case.answers, case.shape
    metrics = [METRICS[name] for name in rule.metrics]
    shows_empty = rule.by_pixels or rule.distance.undefined == WORST
    rows = []
    for task in rule.tasks:
        contents: dict[Series, Content] = {}
        for series in rule.series:
            prediction = answers.get((task, series))
            if prediction is not None:
                contents[series] = content = prediction.read()
                shape = agreed_shape(shape, content, case, prediction)
        truth = _truth(case, task, shape)
        finding = None if truth is None else Finding(case.case, truth)
        label = _label(case, task, contents)
        # people give no probability: on a slice made by one they are asked where the first method is
        sure = next((s for s, c in contents.items() if not np.isnan(c.prob)), None)
        for series in rule.series:
            held = contents.get(series)
            prob = _NAN if held is None else held.prob
            made = rule.settings[task, series]
            look = Comparison(held, finding, made, rule)
            outside = None
            if rule.slice == PREDICTED_POSITIVE:
                teller = sure if np.isnan(prob) and sure is not None else series
                said = contents[teller].prob if teller in contents else prob
                outside = _outside(rule.mask.setting(task, teller, of_people=True).cutoff, said, label)
            shared = {**names_of(case, task, series), "prob": prob, "label": label}
            from_map = held is not None and held.saliency is not None and held.mask is None
            # of a stored mask there is only a cut-off, if any
            of_mask: dict[str, Any] = {**made.columns} if from_map else {"cutoff": made.cutoff}
            if shows_empty and any(m.of_mask for m in metrics):
                of_mask["empty_mask"] = look.is_empty
            for metric in metrics:
                score, reason = (_NAN, outside) if outside is not None else look.score(metric)
                row = {**shared, **beside[metric.name], "score": score, "reason": reason}
                if metric.of_mask:
                    row |= of_mask
                    if "counts" in metric.needs and look.no_mask is None:
                        row |= look.counts._asdict()
                rows.append(row)
    return rows


def agreed_shape(
    shape: tuple[int, int] | None, content: Content, case: Case, prediction: Prediction
) -> tuple[int, int] | None:
    """The size of the image, on which everything that states one must agree; known where there is a map."""
    if content.shape is not None and shape is not None and tuple(content.shape) != tuple(shape):
        here, elsewhere = (f"{height} x {width}" for height, width in (content.shape, shape))
        raise InputFileError(
            f"{prediction.source}: the image of case {case.case!r} is {here} (height x width) there "
            f"and {elsewhere} elsewhere in the study"
        )
    found = shape or content.shape
    if found is None and content.saliency is not None:
        raise InputFileError(
            f"{prediction.source}: nothing says how large the image of case {case.case!r} is; "
            "the map needs cxr_dims, or the truth this case"
        )
    return found


def _truth(case: Case, task: str, shape: tuple[int, int] | None) -> masks.Rle | None:
    """The truth of a task, empty where it has none; None where not even the size is known."""
    if task in case.truths:
        return case.truths[task].read()
    return masks.empty(shape) if shape is not None else None


def _label(case: Case, task: str, contents: dict[Series, Content]) -> float:
    """The image-level truth: from the table of labels, else from the first file that says it."""
    said = [case.labels[task]] if task in case.labels else [c.label for c in contents.values()]
    return next((float(v) for v in said if not np.isnan(v)), _NAN)


def _is_bare(content: Content) -> bool:
    """Whether a series answered with no more than a probability."""
    return content.saliency is None and content.mask is None and content.points is None


def _outside(cutoff: float | None, prob: float, label: float) -> str | None:
    """Why an observation lies outside the predicted-positive slice; None where it is inside."""
    value, least = (prob, cutoff) if cutoff is not None else (label, 1.0)
    if np.isnan(value):
        return NO_PROB
    return None if value >= least else PREDICTED_NEGATIVE
