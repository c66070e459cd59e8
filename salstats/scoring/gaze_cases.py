"""Score one image: every map of it is compared with where its readers looked.

As in `cases`, no metric is named here: `GazeComparison` makes the inputs that the record of a metric lists.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.images.center_bias import CenterBias
from salstats.images.fixations import Fixations, fixation_density
from salstats.images.map_steps import resize_in_float64
from salstats.images.maps import is_finite
from salstats.metrics.densities import Densities
from salstats.metrics.ranks import RankedMap
from salstats.metrics.records import Metric
from salstats.metrics.registry import METRICS, names_of_metrics_needing_only
from salstats.scoring.cases import ScoreAndReason
from salstats.scoring.rows import row_identifiers
from salstats.study import NO_BOX, Case, Recording, Series, shape_of

#: Metrics whose kernels take only a map, the density or the points of fixations, and the centre bias.
SCORED_METRICS = names_of_metrics_needing_only(
    ("map_on_image", "ranked", "densities", "density", "points", "center_bias")
)
#: Metrics that can be estimated from drawn pixels.
SAMPLED_METRICS = tuple(name for name in SCORED_METRICS if "draws" in METRICS[name].options)
INTEROBSERVER = Series("interobserver")
OTHERS = "others"
ALL = "all"
# Reasons why a score is undefined, as the column `reason` has them.
NO_MAP = "no map"
NOT_FINITE = "map is not finite"
CONSTANT_MAP = "constant map"
NO_BIAS = "no centre bias"
NO_POINT = "no fixation in the image"
ZERO_MAP_AT_FIXATION = "map is 0 at a fixation"
ZERO_BIAS_AT_FIXATION = "centre bias is 0 at a fixation"
UNDEFINED = "undefined"
#: Flat indices of the pixels drawn as positives and as negatives.
Draw = tuple[np.ndarray, np.ndarray]


def other_n_readers_reason(n_readers: int) -> str:
    """Return the reason why an image is not scored that has not exactly so many readers."""
    return f"not {n_readers} readers"


def too_few_readers_reason(min_readers: int) -> str:
    """Return the reason why an image is not scored that has fewer readers."""
    return f"fewer than {min_readers} readers"


def is_shuffled_metric(name: str) -> bool:
    """Return True for a metric that is corrected by the centre bias."""
    return "center_bias" in METRICS[name].needs


@dataclass(frozen=True)
class GazeRule:
    """Series, metrics and options of a call of `score_gaze`."""

    series: tuple[Series, ...]
    metrics: tuple[str, ...]
    center_bias: str
    truth: str = OTHERS
    min_readers: int = 2
    n_readers: int | None = None
    n_samples: int | None = None
    floor: float = 0.0

    def unscored_reason(self, n_readers_of_image: int) -> str | None:
        """Return the reason why an image that so many readers looked at is not scored; None if it is."""
        if self.n_readers is not None and n_readers_of_image != self.n_readers:
            return other_n_readers_reason(self.n_readers)
        if n_readers_of_image < self.min_readers:
            return too_few_readers_reason(self.min_readers)
        return None


def recording_density(recording: Recording, fixations: Fixations, shape: tuple[int, int]) -> np.ndarray:
    """Return the density of a reader's fixations; an error names the file that they are from."""
    try:
        return fixation_density(fixations, shape)
    except SalstatsError as error:
        raise InputFileError(f"{recording.source}: ", error.message, path=recording.source) from error


class GazeTruths:
    """Densities that the maps of one image are compared with.

    One for each reader left out, the mean of the others; or with `truth="all"` one, the mean of all.
    """

    def __init__(self, case: Case, rule: GazeRule) -> None:
        fixations = [recording.read() for recording in case.used]
        self.shape = shape_of(case)
        #: (readers, M, N): each reader's density; filled one by one, as those of five readers are 200 MB.
        self.reader_densities = np.empty((len(fixations), *self.shape))
        for reader, recording in enumerate(case.used):
            self.reader_densities[reader] = recording_density(recording, fixations[reader], self.shape)
        #: The recording left out of each truth; None if all readers make one truth.
        self.left_out: tuple[Recording | None, ...] = case.used
        if rule.truth == ALL:
            self.left_out = (None,)
        #: (truths, M, N): mean density of the readers that are not left out.
        self.densities = np.zeros((len(self.left_out), *self.shape))
        #: Fixations of these readers inside the image, (n, 2), for each truth.
        self.points = []
        for truth, recording_left_out in enumerate(self.left_out):
            truth_points = []
            for reader, recording in enumerate(case.used):
                if recording is not recording_left_out:
                    self.densities[truth] += self.reader_densities[reader]
                    truth_points.append(fixations[reader].points)
            self.densities[truth] /= len(truth_points)
            self.points.append(_points_inside_image(np.concatenate(truth_points), self.shape))


def _points_inside_image(points: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the points (row, col) that lie in a pixel of the image."""
    # fractions are rounded down, as in `metrics.fixation_points`
    pixels = np.floor(points)
    is_inside = ((pixels >= 0) & (pixels < shape)).all(axis=1)
    return np.asarray(points[is_inside])


class ImageBias(NamedTuple):
    """The centre bias on one image and its pixels that no map covers, or the reason why there is none."""

    density: np.ndarray | None = None
    n_unseen: int | None = None
    reason: str | None = None


def center_bias_on_image_or_reason(
    case: Case, truths: GazeTruths, bias: CenterBias | None, rule: GazeRule
) -> ImageBias:
    """Return the centre bias on an image: that of all images, or of the others, as the rule says."""
    if case.box is None:
        return ImageBias(reason=NO_BOX)
    if bias is None:
        return ImageBias(reason=NO_BIAS)
    # the densities of this image, which the bias of the other images leaves out
    left_out_densities: list[np.ndarray] = []
    if rule.center_bias == OTHERS:
        left_out_densities = list(truths.reader_densities)
    try:
        density, n_unseen = bias.on_image(case.case, own_maps=left_out_densities)
    except ValueRangeError:
        # no other image has a map that covers this one
        return ImageBias(reason=NO_BIAS)
    return ImageBias(density, n_unseen)


def resized_if_finite(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """Return a map at the size of its image; None if it is not finite."""
    if not is_finite(saliency):
        return None
    if saliency.shape != shape:
        saliency = resize_in_float64(saliency, shape)
    return np.asarray(saliency, np.float64)


def gaze_rows(
    case: Case, rule: GazeRule, bias: CenterBias | None, rng: np.random.Generator | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one image, in the order of series, readers left out and metrics."""
    unscored_reason = rule.unscored_reason(len(case.used))
    comparison = None
    if unscored_reason is None:
        comparison = GazeComparison(case, rule, bias, rng)
    left_out: Sequence[Recording | None] = (None,)
    all_series = rule.series
    if rule.truth == OTHERS:
        left_out = case.used or (None,)
        all_series = (*rule.series, INTEROBSERVER)
    metric_columns = {name: _metric_columns(name, rule, comparison) for name in rule.metrics}
    for series in all_series:
        if comparison is None:
            scores = [dict.fromkeys(rule.metrics, (np.nan, unscored_reason)) for _ in left_out]
        else:
            scores = _scores_against_each_truth(case, series, comparison)
        series_columns = {
            **row_identifiers(case, "", series),
            "phase": case.phase,
            "method": series.name,
            "n_readers": len(case.used),
            "truth": rule.truth,
        }
        for recording, truth_scores in zip(left_out, scores, strict=True):
            reader_columns = {}
            if recording is not None:
                reader_columns = {"reader": recording.reader, "recording": recording.recording}
            for name, (score, reason) in truth_scores.items():
                yield {
                    **series_columns,
                    **reader_columns,
                    **metric_columns[name],
                    "metric": name,
                    "score": score,
                    "reason": reason,
                }


def _scores_against_each_truth(
    case: Case, series: Series, comparison: "GazeComparison"
) -> list[dict[str, ScoreAndReason]]:
    """Return the scores of a series for each truth; the density of the reader left out is `interobserver`."""
    if series == INTEROBSERVER:
        scores = []
        for reader, density in enumerate(comparison.truths.reader_densities):
            scores += comparison.scores(density, [reader])
        return scores
    # maps of gaze studies have no task
    prediction = case.answers.get(("", series))
    saliency = None
    if prediction is not None:
        saliency = prediction.read().saliency
    return comparison.scores(saliency, range(len(comparison.truths.densities)))


def _metric_columns(name: str, rule: GazeRule, comparison: "GazeComparison | None") -> dict[str, Any]:
    """Return the columns of a metric's scores on one image: the centre bias and the options."""
    columns: dict[str, Any] = {}
    if is_shuffled_metric(name):
        columns["center_bias"] = rule.center_bias
        columns["n_unseen"] = None
        if comparison is not None:
            columns["n_unseen"] = comparison.bias.n_unseen
    if "draws" in METRICS[name].options:
        columns["n_samples"] = rule.n_samples
    if "floor" in METRICS[name].options:
        columns["floor"] = rule.floor
    return columns


class GazeComparison:
    """Truths of one image that maps are compared with; inputs that all maps share are made once."""

    def __init__(
        self, case: Case, rule: GazeRule, bias: CenterBias | None, rng: np.random.Generator | None
    ) -> None:
        self.rule = rule
        self.truths = GazeTruths(case, rule)
        self.bias = ImageBias()
        if any(is_shuffled_metric(name) for name in rule.metrics):
            self.bias = center_bias_on_image_or_reason(case, self.truths, bias, rule)
        self._draws = _positive_and_negative_pixel_draws(self.truths, self.bias.density, rule, rng)
        # a map is compared with all densities at once, a reader's own density with that of the others alone
        shape = self.truths.shape
        self._all_densities = Densities(self.truths.densities, shape)
        self._single_densities = [Densities(density, shape) for density in self.truths.densities]
        self._bias_density = None
        if self.bias.density is not None:
            self._bias_density = Densities(self.bias.density, shape)

    def scores(
        self, saliency: np.ndarray | None, truth_indices: Sequence[int]
    ) -> list[dict[str, ScoreAndReason]]:
        """Return score and reason by metric, a dict for each of the truths with these indices."""
        if saliency is None:
            return self._undefined_scores(NO_MAP, truth_indices)
        resized = resized_if_finite(saliency, self.truths.shape)
        if resized is None:
            return self._undefined_scores(NOT_FINITE, truth_indices)
        ranked = RankedMap(resized)
        if ranked.is_constant:
            return self._undefined_scores(CONSTANT_MAP, truth_indices)
        densities = self._all_densities
        if len(truth_indices) == 1:
            densities = self._single_densities[truth_indices[0]]
        inputs = {
            "map_on_image": ranked.values,
            "ranked": ranked,
            "center_bias": self._bias_density,
            "densities": densities,
        }
        scores: list[dict[str, ScoreAndReason]] = [{} for _ in truth_indices]
        for name in self.rule.metrics:
            metric_scores = self._metric_scores(METRICS[name], inputs, truth_indices)
            for truth_scores, score in zip(scores, metric_scores, strict=True):
                truth_scores[name] = score
        return scores

    def _undefined_scores(self, reason: str, truth_indices: Sequence[int]) -> list[dict[str, ScoreAndReason]]:
        """Return undefined scores by metric, a dict for each of the truths."""
        return [dict.fromkeys(self.rule.metrics, (np.nan, reason)) for _ in truth_indices]

    def _metric_scores(
        self, metric: Metric, inputs: dict[str, Any], truth_indices: Sequence[int]
    ) -> list[ScoreAndReason]:
        """Return the scores of one metric for some truths."""
        if is_shuffled_metric(metric.name) and self._bias_density is None:
            return [(np.nan, self.bias.reason)] * len(truth_indices)
        if "densities" in metric.needs:
            # one call of the kernel scores all truths
            return [
                _score_or_undefined(value) for value in self._kernel_result(metric, inputs, truth_indices)
            ]
        return [self._score(metric, inputs, truth) for truth in truth_indices]

    def _score(self, metric: Metric, inputs: dict[str, Any], truth_index: int) -> ScoreAndReason:
        """Return the score of one metric for one truth."""
        points = self.truths.points[truth_index]
        if "points" in metric.needs and not len(points):
            return np.nan, NO_POINT
        truth_inputs = {**inputs, "points": points, "density": self.truths.densities[truth_index]}
        value = float(self._kernel_result(metric, truth_inputs, [truth_index]))
        # a frame of scores holds no infinite score
        if value == -np.inf:
            return np.nan, ZERO_MAP_AT_FIXATION
        if value == np.inf:
            return np.nan, ZERO_BIAS_AT_FIXATION
        return _score_or_undefined(value)

    def _kernel_result(self, metric: Metric, inputs: dict[str, Any], truth_indices: Sequence[int]) -> Any:
        """Return the kernel's value, or an array with one for each truth if it takes all densities."""
        options: dict[str, Any] = {}
        if "floor" in metric.options:
            options["floor"] = self.rule.floor
        draws_by_truth = self._draws.unshuffled
        if is_shuffled_metric(metric.name):
            draws_by_truth = self._draws.shuffled
        if "draws" in metric.options and draws_by_truth is not None:
            options["draws"] = [draws_by_truth[truth] for truth in truth_indices]
        assert metric.kernel is not None
        arguments = [inputs[need] for need in metric.needs]
        return metric.kernel(*arguments, **options)


def _score_or_undefined(value: float) -> ScoreAndReason:
    """Return a value as a score without a reason, or NaN and the reason."""
    if np.isnan(value):
        return np.nan, UNDEFINED
    return float(value), None


class _PixelDraws(NamedTuple):
    """Pixels drawn for areas under the ROC curve, a draw for each truth; None if nothing is drawn."""

    #: Draws with negatives from all pixels.
    unshuffled: list[Draw] | None = None
    #: Draws with negatives from the centre bias.
    shuffled: list[Draw] | None = None


def _positive_and_negative_pixel_draws(
    truths: GazeTruths, bias: np.ndarray | None, rule: GazeRule, rng: np.random.Generator | None
) -> _PixelDraws:
    """Draw pixels from each truth as positives, and as many negatives; the draws serve all maps of an image.

    Nothing is drawn if areas are exact, or if no metric takes such draws.
    """
    if rule.n_samples is None or rng is None:
        return _PixelDraws()
    drawn_metrics = [name for name in rule.metrics if name in SAMPLED_METRICS]
    # a generator for each kind of negatives, so that draws do not depend on the other metrics
    unshuffled_rng, shuffled_rng = rng.spawn(2)
    unshuffled: list[Draw] | None = None
    shuffled: list[Draw] | None = None
    if any(not is_shuffled_metric(name) for name in drawn_metrics):
        unshuffled = []
        for density in truths.densities:
            positives = drawn_flat_pixel_indices(density, rule.n_samples, unshuffled_rng)
            negatives = unshuffled_rng.integers(density.size, size=rule.n_samples)
            unshuffled.append((positives, negatives))
    if any(is_shuffled_metric(name) for name in drawn_metrics) and bias is not None:
        shuffled = []
        for density in truths.densities:
            positives = drawn_flat_pixel_indices(density, rule.n_samples, shuffled_rng)
            negatives = drawn_flat_pixel_indices(bias, rule.n_samples, shuffled_rng)
            shuffled.append((positives, negatives))
    return _PixelDraws(unshuffled, shuffled)


def drawn_flat_pixel_indices(
    density: np.ndarray, shape_of_draws: int | tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Draw flat indices of pixels from a density with replacement, as an array of some shape."""
    flat = density.ravel()
    return rng.choice(flat.size, shape_of_draws, p=flat / flat.sum())
