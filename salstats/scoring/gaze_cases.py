"""One image: every map of it compared with where its readers looked.

As in `cases`, the walk knows no metric by name: `Comparison` makes what a record needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from salstats.checks import InputFileError, SalstatsError, ValueRangeError
from salstats.images.center_bias import CenterBias
from salstats.images.fixations import Fixations, fixation_map
from salstats.images.map_steps import resize_in_range
from salstats.images.maps import is_finite
from salstats.metrics.densities import Densities
from salstats.metrics.ranks import RankedMap
from salstats.metrics.records import Metric
from salstats.metrics.registry import METRICS, computed_from
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
Draws = list[tuple[np.ndarray, np.ndarray]]


def is_shuffled(name: str) -> bool:
    """Whether a metric is corrected by the centre bias."""
    return "center_bias" in METRICS[name].needs


@dataclass(frozen=True)
class GazeRule:
    """What `score_gaze` was asked for."""

    series: tuple[Series, ...]
    metrics: tuple[str, ...]
    truth: str
    min_readers: int
    n_readers: int | None
    center_bias: str
    n_samples: int | None
    floor: float = 0.0

    def too_few(self, n: int) -> str | None:
        """Why an image that `n` readers looked at is not scored; None where it is."""
        if self.n_readers is not None and n != self.n_readers:
            return f"not {self.n_readers} readers"
        return f"fewer than {self.min_readers} readers" if n < self.min_readers else None


def density_of(recording: Recording, shape: tuple[int, int]) -> np.ndarray:
    """Where a reader looked as a density on the image."""
    return _density(recording, recording.read(), shape)


def _density(recording: Recording, fixations: Fixations, shape: tuple[int, int]) -> np.ndarray:
    """Density of fixations; what stands against it, the file must answer for."""
    try:
        return fixation_map(fixations, shape)
    except SalstatsError as error:
        raise InputFileError(f"{recording.source}: {error}") from error


class Truths:
    """What the maps of one image are compared with: a density for each reader left out, or one of all.

    Attributes
    ----------
    left_out : tuple of Recording or None
        For each truth the recording left out; one None where nobody is.
    own : ndarray of float64, shape (readers, M, N)
        Each reader's own density.
    densities : ndarray of float64, shape (truths, M, N)
        Mean of the densities of the readers not left out.
    points : list of ndarray of float64, shape (n, 2)
        Their fixations that lie inside the image.
    """

    def __init__(self, case: Case, rule: GazeRule) -> None:
        looks = [recording.read() for recording in case.used]
        self.shape = shape = shape_of(case)
        # filled one by one: with five readers each stack is 200 MB
        self.own = np.empty((len(looks), *shape))
        for own, recording, look in zip(self.own, case.used, looks, strict=True):
            own[:] = _density(recording, look, shape)
        readers = range(len(looks))
        self.left_out: tuple[Recording | None, ...]
        if rule.truth == ALL:
            self.left_out, groups = (None,), [list(readers)]
        else:
            self.left_out = case.used
            groups = [[other for other in readers if other != reader] for reader in readers]
        self.densities = np.zeros((len(groups), *shape))
        for mean, group in zip(self.densities, groups, strict=True):
            for reader in group:
                mean += self.own[reader]
            mean /= len(group)
        self.points = [
            _inside(np.concatenate([looks[reader].points for reader in group]), shape) for group in groups
        ]

    def __len__(self) -> int:
        """How many truths there are."""
        return len(self.densities)


def _inside(points: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Points that lie in a pixel of the image; a pixel is what `floor` gives."""
    pixels = np.floor(points)
    return np.asarray(points[((pixels >= 0) & (pixels < shape)).all(axis=1)])


class Bias(NamedTuple):
    """The centre bias on one image, or why there is none; and its pixels that no map covers."""

    density: np.ndarray | None
    n_unseen: int | None
    reason: str | None = None


def bias_on(case: Case, truths: Truths, bias: CenterBias | None, rule: GazeRule) -> Bias:
    """Centre bias on an image, of all images or of the others."""
    if case.box is None:
        return Bias(None, None, NO_BOX)
    if bias is None:
        return Bias(None, None, NO_BIAS)
    without = list(truths.own) if rule.center_bias == OTHERS else []
    try:
        density, n_unseen = bias.on_image(case.case, without=without)
    except ValueRangeError:
        # nothing is left on this image once its own maps are taken out
        return Bias(None, None, NO_BIAS)
    return Bias(density, n_unseen)


def gaze_rows(
    case: Case, rule: GazeRule, bias: CenterBias | None, rng: np.random.Generator | None
) -> list[dict[str, Any]]:
    """The rows of one image, in the order of series, readers left out and metrics."""
    n = len(case.used)
    why = rule.too_few(n)
    left_out: Sequence[Recording | None] = (case.used if rule.truth == OTHERS else ()) or (None,)
    compare = None
    if why is None:
        truths = Truths(case, rule)
        left_out, compare = truths.left_out, Comparison(case, truths, rule, bias, rng)
    given = {p.series: p for p in case.predictions}
    rows = []
    for series in (*rule.series, *([INTEROBSERVER] if rule.truth == OTHERS else [])):
        if compare is None:
            found = [dict.fromkeys(rule.metrics, (np.nan, why)) for _ in left_out]
        elif series == INTEROBSERVER:
            found = [compare.scores(truths.own[i], [i])[0] for i in range(len(truths))]
        else:
            saliency = given[series].read().saliency if series in given else None
            found = compare.scores(saliency, range(len(truths)))
        shared = {
            "case": case.case, "patient": case.patient, "phase": case.phase, "method": series.name,
            "model": series.model, "seed": series.seed, "mixing": series.mixing, "n_readers": n,
            "truth": rule.truth,
        }  # fmt: skip
        for recording, scores in zip(left_out, found, strict=True):
            who = {"reader": recording.reader, "recording": recording.recording} if recording else {}
            for name, (score, reason) in scores.items():
                row = {**shared, **who, "metric": name, "score": score, "reason": reason}
                options = METRICS[name].options
                if is_shuffled(name):
                    row["center_bias"] = rule.center_bias
                    row["n_unseen"] = None if compare is None else compare.bias.n_unseen
                if "draws" in options:
                    row["n_samples"] = rule.n_samples
                if "floor" in options:
                    row["floor"] = rule.floor
                rows.append(row)
    return rows


def on_image(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """A map at the size of its image; None where it is not finite."""
    if not is_finite(saliency):
        return None
    return np.asarray(saliency if saliency.shape == shape else resize_in_range(saliency, shape), np.float64)


class Comparison:
    """The comparison of maps with the truths of one image; what all maps share is made once.

    Attributes
    ----------
    bias : Bias
        The centre bias on the image, or why there is none; neither where no metric needs it.
    """

    def __init__(
        self,
        case: Case,
        truths: Truths,
        rule: GazeRule,
        bias: CenterBias | None,
        rng: np.random.Generator | None,
    ) -> None:
        self.truths, self.rule, self.shape = truths, rule, truths.shape
        shuffled = any(is_shuffled(name) for name in rule.metrics)
        self.bias = bias_on(case, truths, bias, rule) if shuffled else Bias(None, None)
        self._draws = _draws(truths, self.bias.density, rule, rng)
        # all of them at once, and each alone for the reader left out
        self._all = Densities(truths.densities, self.shape)
        self._each = [Densities(density, self.shape) for density in truths.densities]
        self._bias = None if self.bias.density is None else Densities(self.bias.density, self.shape)

    def scores(
        self, saliency: np.ndarray | None, which: Sequence[int]
    ) -> list[dict[str, tuple[float, str | None]]]:
        """For some of the truths, score and reason of each metric; NaN where there is a reason."""
        laid = None if saliency is None else on_image(saliency, self.shape)
        ranked = None if laid is None else RankedMap(laid)
        if ranked is None or ranked.is_constant:
            why = NO_MAP if saliency is None else NOT_FINITE if ranked is None else CONSTANT
            return [dict.fromkeys(self.rule.metrics, (np.nan, why)) for _ in which]
        made = {
            "laid": ranked.values, "ranked": ranked, "center_bias": self._bias,
            "densities": self._each[which[0]] if len(which) == 1 else self._all,
        }  # fmt: skip
        found: list[dict[str, tuple[float, str | None]]] = [{} for _ in which]
        for name in self.rule.metrics:
            metric = METRICS[name]
            if is_shuffled(name) and self._bias is None:
                pairs = [(np.nan, self.bias.reason)] * len(which)
            elif "densities" in metric.needs:
                pairs = [(value, None) for value in self._value(metric, made, which)]
            else:
                pairs = [self._of_one(metric, made, i) for i in which]
            for scores, (value, reason) in zip(found, pairs, strict=True):
                score = float(value)
                scores[name] = (score, reason or (UNDEFINED if np.isnan(score) else None))
        return found

    def _value(self, metric: Metric, made: dict[str, Any], which: Sequence[int]) -> Any:
        """What the kernel gives for some of the truths."""
        options: dict[str, Any] = {}
        if "floor" in metric.options:
            options["floor"] = self.rule.floor
        draws = self._draws.get(is_shuffled(metric.name))
        if "draws" in metric.options and draws is not None:
            options["draws"] = [draws[i] for i in which]
        assert metric.kernel is not None
        return metric.kernel(*[made[need] for need in metric.needs], **options)

    def _of_one(self, metric: Metric, made: dict[str, Any], truth: int) -> tuple[float, str | None]:
        """A metric of a map and one of the truths, or NaN and the reason."""
        points = self.truths.points[truth]
        if "points" in metric.needs and not len(points):
            return np.nan, NO_POINT
        of_one = {"points": points, "density": self.truths.densities[truth]}
        value = self._value(metric, {**made, **of_one}, [truth])
        # a score is finite or missing
        if np.isinf(value):
            return np.nan, RULED_OUT if value < 0 else NOT_EXPECTED
        return value, None


def _draws(
    truths: Truths, bias: np.ndarray | None, rule: GazeRule, rng: np.random.Generator | None
) -> dict[bool, Draws]:
    """The pixels drawn for each truth, as flat indices: the same for every map of the image.

    Positives are drawn from the truth, negatives from all pixels or, for shuffled metrics (True), from the
    centre bias.
    """
    if rule.n_samples is None or rng is None:
        return {}
    n = rule.n_samples
    wanted = {is_shuffled(name) for name in rule.metrics if name in AREAS}
    drawn: dict[bool, Draws] = {}
    # a generator of its own for each, so that draws do not depend on which metrics are asked for
    for shuffled, own in zip((False, True), rng.spawn(2), strict=True):
        if shuffled in wanted and not (shuffled and bias is None):
            drawn[shuffled] = [
                (
                    drawn_pixels(density, n, own),
                    own.integers(density.size, size=n)
                    if bias is None or not shuffled
                    else drawn_pixels(bias, n, own),
                )
                for density in truths.densities
            ]
    return drawn


def drawn_pixels(density: np.ndarray, shape: int | tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Flat indices of pixels drawn from a density with replacement, as an array of some shape."""
    flat = density.ravel()
    return rng.choice(flat.size, shape, p=flat / flat.sum())
