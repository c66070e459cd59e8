"""One image: every map of it compared with where its readers looked.

As in `cases`, the walk knows no metric by name: `GazeComparison` makes what a record needs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.images.center_bias import CenterBias
from salstats.images.fixations import Fixations, fixation_map
from salstats.images.map_steps import resize_in_range
from salstats.images.maps import is_finite
from salstats.metrics.densities import Densities
from salstats.metrics.ranks import RankedMap
from salstats.metrics.records import Metric
from salstats.metrics.registry import METRICS, computed_from
from salstats.scoring.rows import names_of
from salstats.study import NO_BOX, Case, Recording, Series, shape_of

#: The metrics that need no more than a map, where people look, and the centre bias.
SCORED = computed_from(("laid", "ranked", "densities", "density", "points", "center_bias"))
#: Those that can be drawn.
AREAS = tuple(name for name in SCORED if "draws" in METRICS[name].options)
INTEROBSERVER = Series("interobserver")
OTHERS, ALL = "others", "all"
#: Why a score is undefined.
NO_MAP, NOT_FINITE, CONSTANT = "no map", "map is not finite", "constant map"
NO_BIAS, NO_POINT = "no centre bias", "no fixation in the image"
RULED_OUT, NOT_EXPECTED = "map is 0 at a fixation", "centre bias is 0 at a fixation"
UNDEFINED = "undefined"
#: A score, or NaN and the reason.
Score = tuple[float, str | None]


def is_shuffled(name: str) -> bool:
    """Whether a metric is corrected by the centre bias."""
    return "center_bias" in METRICS[name].needs


@dataclass(frozen=True)
class GazeRule:
    """What `score_gaze` was asked for."""

    series: tuple[Series, ...]
    metrics: tuple[str, ...]
    center_bias: str
    truth: str = OTHERS
    min_readers: int = 2
    n_readers: int | None = None
    n_samples: int | None = None
    floor: float = 0.0

    def too_few(self, n: int) -> str | None:
        """Why an image that `n` readers looked at is not scored; None where it is."""
        if self.n_readers is not None and n != self.n_readers:
            return f"not {self.n_readers} readers"
        return f"fewer than {self.min_readers} readers" if n < self.min_readers else None


def density_of(recording: Recording, fixations: Fixations, shape: tuple[int, int]) -> np.ndarray:
    """Density of a reader's fixations; what stands against it, the file must answer for."""
    try:
        return fixation_map(fixations, shape)
    except SalstatsError as error:
        raise InputFileError(f"{recording.source}: {error}") from error


class GazeTruths:
    """What the maps of one image are compared with: a density for each reader left out, or one of all."""

    def __init__(self, case: Case, rule: GazeRule) -> None:
        looks = [recording.read() for recording in case.used]
        self.shape = shape = shape_of(case)
        #: (readers, M, N): Each reader's density; filled one by one, as five readers' are 200 MB.
        self.own = np.empty((len(looks), *shape))
        for own, recording, look in zip(self.own, case.used, looks, strict=True):
            own[:] = density_of(recording, look, shape)
        #: For each truth the recording left out; one None where nobody is.
        self.left_out: tuple[Recording | None, ...] = (None,) if rule.truth == ALL else case.used
        readers = range(len(looks))
        groups = [[r for r in readers if rule.truth == ALL or r != out] for out in range(len(self.left_out))]
        #: (truths, M, N): Mean density of the readers not left out.
        self.densities = np.zeros((len(groups), *shape))
        for mean, group in zip(self.densities, groups, strict=True):
            for reader in group:
                mean += self.own[reader]
            mean /= len(group)
        #: Their fixations that lie inside the image, (n, 2).
        self.points = [_inside(np.concatenate([looks[r].points for r in group]), shape) for group in groups]


def _inside(points: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Points that lie in a pixel of the image; a pixel is what `floor` gives."""
    pixels = np.floor(points)
    return np.asarray(points[((pixels >= 0) & (pixels < shape)).all(axis=1)])


class ImageBias(NamedTuple):
    """The centre bias on one image, or why there is none; and its pixels that no map covers."""

    density: np.ndarray | None = None
    n_unseen: int | None = None
    reason: str | None = None


def bias_on(case: Case, truths: GazeTruths, bias: CenterBias | None, rule: GazeRule) -> ImageBias:
    """Centre bias on an image, of all images or of the others."""
    if case.box is None or bias is None:
        return ImageBias(reason=NO_BOX if case.box is None else NO_BIAS)
    without = list(truths.own) if rule.center_bias == OTHERS else []
    try:
        return ImageBias(*bias.on_image(case.case, without=without))
    except ValueRangeError:
        # nothing is left on this image once its own maps are taken out
        return ImageBias(reason=NO_BIAS)


def on_image(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """A map at the size of its image; None where it is not finite."""
    if not is_finite(saliency):
        return None
    return np.asarray(saliency if saliency.shape == shape else resize_in_range(saliency, shape), np.float64)


def gaze_rows(
    case: Case, rule: GazeRule, bias: CenterBias | None, rng: np.random.Generator | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one image, in the order of series, readers left out and metrics."""
    why = rule.too_few(len(case.used))
    compare = GazeComparison(case, rule, bias, rng) if why is None else None
    left_out: Sequence[Recording | None] = (case.used if rule.truth == OTHERS else ()) or (None,)
    beside = {name: _beside(name, rule, compare) for name in rule.metrics}
    answers = case.answers
    for series in (*rule.series, *([INTEROBSERVER] if rule.truth == OTHERS else [])):
        if compare is None:
            found = [dict.fromkeys(rule.metrics, (np.nan, why)) for _ in left_out]
        elif series == INTEROBSERVER:
            found = [compare.scores(own, [i])[0] for i, own in enumerate(compare.truths.own)]
        else:
            held = answers.get(("", series))
            found = compare.scores(None if held is None else held.read().saliency, range(len(left_out)))
        shared = {
            **names_of(case, "", series), "phase": case.phase, "method": series.name,
            "n_readers": len(case.used), "truth": rule.truth,
        }  # fmt: skip
        for recording, scores in zip(left_out, found, strict=True):
            who = {"reader": recording.reader, "recording": recording.recording} if recording else {}
            for name, (score, reason) in scores.items():
                yield {**shared, **who, **beside[name], "metric": name, "score": score, "reason": reason}


def _beside(name: str, rule: GazeRule, compare: "GazeComparison | None") -> dict[str, Any]:
    """What stands beside the scores of a metric on one image: what it is corrected by, and its options."""
    found: dict[str, Any] = {}
    if is_shuffled(name):
        n_unseen = None if compare is None else compare.bias.n_unseen
        found = {"center_bias": rule.center_bias, "n_unseen": n_unseen}
    if "draws" in METRICS[name].options:
        found["n_samples"] = rule.n_samples
    if "floor" in METRICS[name].options:
        found["floor"] = rule.floor
    return found


class GazeComparison:
    """The comparison of maps with the truths of one image; what all maps share is made once."""

    def __init__(
        self, case: Case, rule: GazeRule, bias: CenterBias | None, rng: np.random.Generator | None
    ) -> None:
        self.rule, self.truths = rule, GazeTruths(case, rule)
        truths = self.truths
        shuffled = any(is_shuffled(name) for name in rule.metrics)
        self.bias = bias_on(case, truths, bias, rule) if shuffled else ImageBias()
        self._draws = _draws(truths, self.bias.density, rule, rng)
        # all of them at once, and each alone for the reader left out
        self._all = Densities(truths.densities, truths.shape)
        self._each = [Densities(density, truths.shape) for density in truths.densities]
        self._bias = None if self.bias.density is None else Densities(self.bias.density, truths.shape)

    def scores(self, saliency: np.ndarray | None, which: Sequence[int]) -> list[dict[str, Score]]:
        """For some of the truths, score and reason of each metric."""
        laid = None if saliency is None else on_image(saliency, self.truths.shape)
        ranked = None if laid is None else RankedMap(laid)
        if ranked is None or ranked.is_constant:
            why = NO_MAP if saliency is None else NOT_FINITE if ranked is None else CONSTANT
            return [dict.fromkeys(self.rule.metrics, (np.nan, why)) for _ in which]
        made = {
            "laid": ranked.values, "ranked": ranked, "center_bias": self._bias,
            "densities": self._each[which[0]] if len(which) == 1 else self._all,
        }  # fmt: skip
        by_metric = {name: self._scores(METRICS[name], made, which) for name in self.rule.metrics}
        return [{name: found[i] for name, found in by_metric.items()} for i in range(len(which))]

    def _scores(self, metric: Metric, made: dict[str, Any], which: Sequence[int]) -> list[Score]:
        """A metric of a map and some of the truths."""
        if is_shuffled(metric.name) and self._bias is None:
            return [(np.nan, self.bias.reason)] * len(which)
        if "densities" in metric.needs:
            values = [float(value) for value in self._value(metric, made, which)]
            return [(value, UNDEFINED if np.isnan(value) else None) for value in values]
        return [self._of_one(metric, made, i) for i in which]

    def _value(self, metric: Metric, made: dict[str, Any], which: Sequence[int]) -> Any:
        """What the kernel gives for some of the truths."""
        options: dict[str, Any] = {"floor": self.rule.floor} if "floor" in metric.options else {}
        draws = self._draws.get(is_shuffled(metric.name))
        if "draws" in metric.options and draws is not None:
            options["draws"] = [draws[i] for i in which]
        assert metric.kernel is not None
        return metric.kernel(*[made[need] for need in metric.needs], **options)

    def _of_one(self, metric: Metric, made: dict[str, Any], truth: int) -> Score:
        """A metric of a map and one of the truths."""
        of_one = {"points": self.truths.points[truth], "density": self.truths.densities[truth]}
        if "points" in metric.needs and not len(of_one["points"]):
            return np.nan, NO_POINT
        value = float(self._value(metric, {**made, **of_one}, [truth]))
        # a score is finite or missing
        if np.isinf(value):
            return np.nan, RULED_OUT if value < 0 else NOT_EXPECTED
        return value, UNDEFINED if np.isnan(value) else None


def _draws(
    truths: GazeTruths, bias: np.ndarray | None, rule: GazeRule, rng: np.random.Generator | None
) -> dict[bool, list[tuple[np.ndarray, np.ndarray]]]:
    """The pixels drawn from each truth and from all pixels or (True) the centre bias, for every map alike."""
    if rule.n_samples is None or rng is None:
        return {}
    n, drawn = rule.n_samples, {}
    wanted = {is_shuffled(name) for name in rule.metrics if name in AREAS}
    # a generator of its own for each, so that draws do not depend on which metrics are asked for
    for shuffled, own in zip((False, True), rng.spawn(2), strict=True):
        source = bias if shuffled else None
        if shuffled in wanted and not (shuffled and bias is None):
            drawn[shuffled] = [
                (
                    drawn_pixels(density, n, own),
                    own.integers(density.size, size=n) if source is None else drawn_pixels(source, n, own),
                )
                for density in truths.densities
            ]
    return drawn


def drawn_pixels(density: np.ndarray, shape: int | tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Flat indices of pixels drawn from a density with replacement, as an array of some shape."""
    flat = density.ravel()
    return rng.choice(flat.size, shape, p=flat / flat.sum())
