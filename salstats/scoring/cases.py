"""One case: every task and series of it compared with the truth, map by map."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from salstats.checks import InputFileError
from salstats.images import masks
from salstats.images.maps import SaliencyOnImage, is_finite
from salstats.metrics import overlap
from salstats.metrics.energy import energy
from salstats.metrics.overlap import Counts, rate
from salstats.metrics.pointing import hit, hit_any, points_hit
from salstats.scoring.distances import DISTANCE, DISTANCES, WORST, DistanceRule
from salstats.scoring.masking import MaskRule, value_of
from salstats.study import Case, Content, Prediction, Series

OVERLAP = ("iou", "dice", "precision", "recall", "specificity")
POINTING = ("hit", "hit_any")
#: What is taken of a map itself, or of points, without making a mask.
UNMASKED = (*POINTING, "energy")
#: Why a score is undefined.
ABSENT, EMPTY, NO_MAP, NOT_FINITE = "finding absent", "empty mask", "no map", "map is not finite"
NEGATIVE, PREDICTED_NEGATIVE, NO_PROB = "true negative", "predicted negative", "no probability"
NO_POINT, NO_MASK, NOTHING_POSITIVE = "no point", "no mask", "nothing positive"
TRUE_POSITIVE, FULL, PREDICTED_POSITIVE = "true-positive", "full", "predicted-positive"


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


class Made(NamedTuple):
    """How a mask was made of a map: threshold, probability cut-off and box filter, None where none was."""

    threshold: str | None
    cutoff: float | None
    smooth: float | None


NOT_MADE = Made(None, None, None)


class Row(NamedTuple):
    """One score with all that stands beside it."""

    case: str
    patient: str | None
    task: str
    series: Series
    metric: str
    score: float
    reason: str | None
    prob: float
    label: float
    counts: Counts | None
    made: Made
    unit: str | None
    empty: bool | None


class Seen(NamedTuple):
    """What a series showed of one task of a case, or why it shows none: `hits` holds the energy, too."""

    counts: Counts | None
    distances: dict[str, float]
    hits: dict[str, float]
    no_counts: str | None = None
    no_hit: str | None = None
    no_energy: str | None = None

    @property
    def is_empty(self) -> bool | None:
        """Whether the mask marks nothing; None where there is no mask."""
        return None if self.counts is None else bool(self.counts.tp + self.counts.fp == 0)


@dataclass(frozen=True)
class Finding:
    """The truth of one task of a case; its pixels are decoded where they are needed, and then once."""

    case: str
    task: str
    truth: masks.Rle

    @cached_property
    def pixels(self) -> np.ndarray:
        """The truth as an array."""
        return masks.decode(self.truth)

    @cached_property
    def is_there(self) -> bool:
        """Whether the truth marks anything."""
        return masks.area(self.truth) > 0


def score_cases(cases: Sequence[Case], rule: ScoreRule) -> list[Row]:
    """Return the rows of some cases, in the order of cases, tasks, series and metrics."""
    return [row for case in cases for row in _score_case(case, rule)]


def _score_case(case: Case, rule: ScoreRule) -> list[Row]:
    """Return the rows of one case."""
    answers = {(p.task, p.series): p for p in case.predictions}
    rows: list[Row] = []
    shape = case.shape
    for task in rule.tasks:
        contents: dict[Series, Content] = {}
        for series in rule.series:
            prediction = answers.get((task, series))
            if prediction is not None:
                contents[series] = content = prediction.read()
                shape = _agreed(shape, content, case, prediction)
        truth = _truth(case, task, shape)
        finding = None if truth is None else Finding(case.case, task, truth)
        label = _label(case, task, contents)
        # people give no probability: on a slice made by one they are asked where the first method is
        sure = next((s for s, c in contents.items() if not np.isnan(c.prob)), None)
        for series in rule.series:
            held = contents.get(series)
            prob = float("nan") if held is None else held.prob
            seen = _compare(held, finding, series, rule)
            teller = sure if np.isnan(prob) and sure is not None else series
            said = contents[teller].prob if teller in contents else prob
            out = _outside(rule, task, teller, said, label)
            from_map = held is not None and held.saliency is not None and held.mask is None
            for metric in rule.metrics:
                score, reason = _score(metric, seen, finding, out, rule)
                of_mask = metric not in UNMASKED
                rows.append(
                    Row(case.case, case.patient, task, series, metric, score, reason, prob, label,
                        seen.counts if metric in OVERLAP else None,
                        _made(rule, task, series, from_map) if of_mask else NOT_MADE,
                        rule.distance.unit if metric in DISTANCES else None,
                        seen.is_empty if of_mask and rule.distance.shows_empty else None)
                )  # fmt: skip
    return rows


def _made(rule: ScoreRule, task: str, series: Series, from_map: bool) -> Made:
    """Return how the mask came about; a stored mask and people's have only a cut-off, if any."""
    cutoff = rule.mask.cutoff_of(task, series)
    if not from_map:
        return Made(None, cutoff, None)
    threshold = value_of(rule.mask.threshold, task, series)
    text = threshold if isinstance(threshold, str) else repr(float(threshold))
    return Made(text, cutoff, value_of(rule.mask.smooth, task, series) or None)


def _agreed(
    shape: tuple[int, int] | None, content: Content, case: Case, prediction: Prediction
) -> tuple[int, int] | None:
    """Return the size of the image, on which everything that states one must agree."""
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
    """Return the truth of a task, empty where it has none; None where not even the size is known."""
    if task in case.truths:
        return case.truths[task].read()
    return masks.empty(shape) if shape is not None else None


def _label(case: Case, task: str, contents: dict[Series, Content]) -> float:
    """Return the image-level truth: from the table of labels, else from the first file that says it."""
    said = [case.labels[task]] if task in case.labels else [c.label for c in contents.values()]
    return next((float(v) for v in said if not np.isnan(v)), float("nan"))


def _compare(content: Content | None, finding: Finding | None, series: Series, rule: ScoreRule) -> Seen:
    """Return what a series showed of a task against its truth.

    A stored mask stands before one made of the map, points before the map's peak.
    """
    if content is None or finding is None or _is_bare(content):
        return Seen(None, {}, {}, NO_MAP, NO_MAP, NO_MAP)
    on_image = None
    if content.saliency is not None:
        if not is_finite(content.saliency):
            return Seen(None, {}, {}, NOT_FINITE, NOT_FINITE, NOT_FINITE)
        on_image = rule.mask.on_image(content, finding.task, series, finding.truth.shape)
    counts, no_counts = None, NO_MASK
    distances: dict[str, float] = {}
    if set(rule.metrics) - set(UNMASKED) and (content.mask is not None or on_image is not None):
        counts, distances = _compare_masks(content, on_image, finding, series, rule)
        no_counts = NO_PROB
    hits: dict[str, float] = {}
    no_hit = NO_POINT if content.points is None and on_image is None else None
    if set(rule.metrics) & set(UNMASKED) and finding.is_there:
        if content.points is not None:
            hits = dict.fromkeys(POINTING, points_hit(content.points, finding.truth))
        elif on_image is not None:
            if "hit" in rule.metrics:
                hits["hit"] = hit(on_image, finding.truth)
            if "hit_any" in rule.metrics:
                hits["hit_any"] = hit_any(on_image, finding.truth)
        if "energy" in rule.metrics and content.saliency is not None:
            hits["energy"] = energy(content.saliency, finding.truth)
    no_energy = NO_MAP if content.saliency is None else None
    return Seen(counts, distances, hits, None if counts is not None else no_counts, no_hit, no_energy)


def _compare_masks(
    content: Content, on_image: SaliencyOnImage | None, finding: Finding, series: Series, rule: ScoreRule
) -> tuple[Counts | None, dict[str, float]]:
    """Return the pixels of a mask and the truth, None where the cut-off cannot be told, and distances."""
    by_pixels = bool(set(rule.metrics) & set(DISTANCE))
    threshold = value_of(rule.mask.threshold, finding.task, series)
    mask: masks.Rle | np.ndarray | None = content.mask
    if mask is None and on_image is not None and by_pixels:
        mask = on_image.mask(threshold)
    if isinstance(mask, np.ndarray):
        counts = overlap.counts(mask, finding.pixels)
    elif mask is not None:
        counts = overlap.counts(mask, finding.truth)
    else:
        assert on_image is not None
        counts = Counts(*on_image.counts(finding.truth, threshold))
    kept = _cut(counts, content.prob, finding.task, series, rule)
    if not by_pixels or mask is None or kept is None or not (kept.tp + kept.fp and finding.is_there):
        return kept, {}
    drawn = masks.decode(mask) if isinstance(mask, masks.Rle) else mask
    return kept, rule.distance.scores(drawn, finding.pixels, rule.metrics, finding.case)


def _is_bare(content: Content) -> bool:
    """Return whether a series answered with no more than a probability."""
    return content.saliency is None and content.mask is None and content.points is None


def _cut(counts: Counts, prob: float, task: str, series: Series, rule: ScoreRule) -> Counts | None:
    """Return the counts of an empty mask below the probability cut-off; None where it cannot be told."""
    if rule.mask.is_kept(prob, task, series):
        return counts
    return None if np.isnan(prob) else counts.emptied()


def _outside(rule: ScoreRule, task: str, series: Series, prob: float, label: float) -> str | None:
    """Return why an observation lies outside the predicted-positive slice; None where it is inside."""
    if rule.slice != PREDICTED_POSITIVE:
        return None
    cutoff = value_of(rule.mask.cutoff, task, series)
    value, least = (prob, cutoff) if cutoff is not None else (label, 1.0)
    if np.isnan(value):
        return NO_PROB
    return None if value >= least else PREDICTED_NEGATIVE


def _score(
    metric: str, seen: Seen, finding: Finding | None, outside: str | None, rule: ScoreRule
) -> tuple[float, str | None]:
    """Return a score, or NaN and the reason."""
    nan = float("nan")
    if outside is not None:
        return nan, outside
    no_truth = finding is not None and not finding.is_there
    if no_truth and (metric in UNMASKED or rule.slice == TRUE_POSITIVE):
        return nan, ABSENT
    if metric in UNMASKED:
        return _unmasked(metric, seen, rule)
    if seen.counts is None or finding is None:
        return nan, seen.no_counts
    missed = seen.is_empty and not no_truth
    worst = None
    if missed and rule.distance.undefined == WORST:
        worst = rule.distance.worst(metric, finding.truth.shape, finding.case)
    elif missed and rule.slice == TRUE_POSITIVE and rule.misses == "undefined":
        return nan, EMPTY
    value = seen.distances.get(metric, nan) if metric in DISTANCE else float(rate(metric, seen.counts))
    if np.isnan(value) and worst is not None:
        value = worst
    if not np.isnan(value):
        return value, None
    return nan, NEGATIVE if no_truth and seen.is_empty else EMPTY if seen.is_empty else ABSENT


def _unmasked(metric: str, seen: Seen, rule: ScoreRule) -> tuple[float, str | None]:
    """Return a hit or an energy on a finding that is there, or NaN and the reason."""
    missing = seen.no_energy if metric == "energy" else seen.no_hit
    if missing is not None:
        return float("nan"), missing
    value = seen.hits[metric]
    if np.isnan(value) and rule.distance.undefined == WORST:
        return 0.0, None
    return value, NOTHING_POSITIVE if np.isnan(value) else None
