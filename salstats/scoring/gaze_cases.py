"""One image: every map of it compared with where its readers looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from salstats.checks import InputFileError, SalstatsError, ValueRangeError
from salstats.gaze_study import NO_BOX, GazeCase, MapSeries, Recording
from salstats.images.center_bias import CenterBias
from salstats.images.fixations import Fixations, fixation_map
from salstats.images.map_steps import resize_in_range
from salstats.images.maps import is_finite
from salstats.metrics import fixation as metric
from salstats.metrics.densities import Densities
from salstats.metrics.ranks import RankedMap, sampled_auc

#: Metrics that compare a map with a density, and those that compare it with points.
DENSITY = ("ncc", "sncc", "auc", "sauc", "sim", "kl")
POINTS = ("nss", "auc_points", "auc_judd", "information_gain")
#: Those that need the centre bias.
SHUFFLED = ("sncc", "sauc", "information_gain")
#: Those that can be drawn.
AREAS = ("auc", "sauc")
INTEROBSERVER = MapSeries("interobserver")
OTHERS, ALL = "others", "all"
#: Why a score is undefined.
NO_MAP, NOT_FINITE, CONSTANT = "no map", "map is not finite", "constant map"
NO_BIAS, NO_POINT = "no centre bias", "no fixation in the image"
RULED_OUT, NOT_EXPECTED = "map is 0 at a fixation", "centre bias is 0 at a fixation"
UNDEFINED = "undefined"


@dataclass(frozen=True)
class GazeRule:
    """What `score_gaze` was asked for."""

    series: tuple[MapSeries, ...]
    metrics: tuple[str, ...]
    truth: str
    min_readers: int
    n_readers: int | None
    center_bias: str
    n_samples: int | None
    floor: float = 0.0

    def too_few(self, n: int) -> str | None:
        """Return why an image that `n` readers looked at is not scored; None where it is."""
        if self.n_readers is not None and n != self.n_readers:
            return f"not {self.n_readers} readers"
        return f"fewer than {self.min_readers} readers" if n < self.min_readers else None


class Row(NamedTuple):
    """One score with all that stands beside it."""

    case: GazeCase
    series: MapSeries
    recording: Recording | None
    metric: str
    score: float
    reason: str | None
    n_readers: int
    n_unseen: int | None


def density_of(recording: Recording, shape: tuple[int, int]) -> np.ndarray:
    """Return where a reader looked as a density on the image."""
    return _density(recording, recording.read(), shape)


def _density(recording: Recording, fixations: Fixations, shape: tuple[int, int]) -> np.ndarray:
    """Return the density of fixations; what stands against it, the file must answer for."""
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

    def __init__(self, case: GazeCase, rule: GazeRule) -> None:
        looks = [recording.read() for recording in case.used]
        self.shape = case.shape
        # filled one by one: with five readers each stack is 200 MB
        self.own = np.empty((len(looks), *case.shape))
        for own, recording, look in zip(self.own, case.used, looks, strict=True):
            own[:] = _density(recording, look, case.shape)
        readers = range(len(looks))
        self.left_out: tuple[Recording | None, ...]
        if rule.truth == ALL:
            self.left_out, groups = (None,), [list(readers)]
        else:
            self.left_out = case.used
            groups = [[other for other in readers if other != reader] for reader in readers]
        self.densities = np.zeros((len(groups), *case.shape))
        for mean, group in zip(self.densities, groups, strict=True):
            for reader in group:
                mean += self.own[reader]
            mean /= len(group)
        self.points = [
            _inside(np.concatenate([looks[reader].points for reader in group]), case.shape)
            for group in groups
        ]

    def __len__(self) -> int:
        """Return how many truths there are."""
        return len(self.densities)


def _inside(points: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the points that lie in a pixel of the image; a pixel is what `floor` gives."""
    pixels = np.floor(points)
    return np.asarray(points[((pixels >= 0) & (pixels < shape)).all(axis=1)])


class Bias(NamedTuple):
    """The centre bias on one image, or why there is none; and its pixels that no map covers."""

    density: np.ndarray | None
    n_unseen: int | None
    reason: str | None = None


def bias_on(case: GazeCase, truths: Truths, bias: CenterBias | None, rule: GazeRule) -> Bias:
    """Return the centre bias on an image, of all images or of the others."""
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


def score_case(
    case: GazeCase, rule: GazeRule, bias: CenterBias | None, rng: np.random.Generator | None
) -> list[Row]:
    """Return the rows of one image, in the order of series, readers left out and metrics."""
    series = [*rule.series, *([INTEROBSERVER] if rule.truth == OTHERS else [])]
    n = len(case.used)
    why = rule.too_few(n)
    if why is not None:
        left_out: Sequence[Recording | None] = case.used if rule.truth == OTHERS else ()
        return [
            Row(case, s, recording, name, np.nan, why, n, None)
            for s in series
            for recording in left_out or (None,)
            for name in rule.metrics
        ]
    truths = Truths(case, rule)
    compare = Comparison(case, truths, rule, bias, rng)
    given = {m.series: m for m in case.maps}
    rows: list[Row] = []
    for s in series:
        if s == INTEROBSERVER:
            found = [compare.scores(truths.own[i], [i])[0] for i in range(len(truths))]
        else:
            saliency = given[s].read(case.shape) if s in given else None
            found = compare.scores(saliency, range(len(truths)))
        for recording, scores in zip(truths.left_out, found, strict=True):
            rows += [
                Row(case, s, recording, name, score, reason, n, compare.n_unseen(name))
                for name, (score, reason) in scores.items()
            ]
    return rows


def on_image(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """Return a map at the size of its image; None where it is not finite."""
    if not is_finite(saliency):
        return None
    return np.asarray(saliency if saliency.shape == shape else resize_in_range(saliency, shape), np.float64)


class Comparison:
    """The comparison of maps with the truths of one image; what all maps share is made once."""

    def __init__(
        self,
        case: GazeCase,
        truths: Truths,
        rule: GazeRule,
        bias: CenterBias | None,
        rng: np.random.Generator | None,
    ) -> None:
        self.shape, self.truths, self.rule = case.shape, truths, rule
        needs_bias = any(name in SHUFFLED for name in rule.metrics)
        self.bias = bias_on(case, truths, bias, rule) if needs_bias else Bias(None, None)
        self.draws = _draws(truths, self.bias.density, rule, rng)
        # all of them at once, and each alone for the reader left out
        self._all = Densities(truths.densities, self.shape)
        self._each = [Densities(density, self.shape) for density in truths.densities]
        self._bias = None if self.bias.density is None else Densities(self.bias.density, self.shape)

    def n_unseen(self, name: str) -> int | None:
        """Return how many pixels the centre bias has not seen, beside the metrics that need it."""
        return self.bias.n_unseen if name in SHUFFLED else None

    def scores(
        self, saliency: np.ndarray | None, which: Sequence[int]
    ) -> list[dict[str, tuple[float, str | None]]]:
        """Return, for some of the truths, score and reason of each metric; NaN where there is a reason."""
        laid = None if saliency is None else on_image(saliency, self.shape)
        ranked = None if laid is None else RankedMap(laid)
        if ranked is None or ranked.is_constant:
            why = NO_MAP if saliency is None else NOT_FINITE if ranked is None else CONSTANT
            return [{name: (np.nan, why) for name in self.rule.metrics} for _ in which]
        saliency = ranked.values
        found: list[dict[str, tuple[float, str | None]]] = [{} for _ in which]
        for name in self.rule.metrics:
            if name in SHUFFLED and self.bias.density is None:
                pairs = [(np.nan, self.bias.reason)] * len(which)
            elif name in POINTS:
                pairs = [self._of_points(name, ranked, i) for i in which]
            else:
                pairs = [(value, None) for value in self._of_densities(name, saliency, ranked, which)]
            for scores, (value, reason) in zip(found, pairs, strict=True):
                score = float(value)
                scores[name] = (score, reason or (UNDEFINED if np.isnan(score) else None))
        return found

    def _of_densities(
        self, name: str, saliency: np.ndarray, ranked: RankedMap, which: Sequence[int]
    ) -> np.ndarray:
        """Return a metric of a map against some of the densities."""
        densities = self._each[which[0]] if len(which) == 1 else self._all
        if name in AREAS and self.draws is not None:
            return np.array([sampled_auc(saliency, *self.draws[name][i]) for i in which])
        if name == "auc":
            return ranked.auc(densities)
        if name == "sauc":
            return ranked.sauc(densities, self.bias.density)
        if name in ("ncc", "sncc"):
            values = ranked.ncc(densities)
            return values - ranked.ncc(self._bias) if name == "sncc" else values
        function = metric.sim if name == "sim" else metric.kl
        return np.array([function(saliency, density) for density in densities.values])

    def _of_points(self, name: str, ranked: RankedMap, truth: int) -> tuple[float, str | None]:
        """Return a metric of a map against the points of a truth, or NaN and the reason."""
        points, saliency = self.truths.points[truth], ranked.values
        if not len(points):
            return np.nan, NO_POINT
        if name == "auc_points":
            rows, cols = np.floor(points).astype(np.intp).T
            return ranked.auc_at(rows * self.shape[1] + cols), None
        if name == "nss":
            return metric.nss(saliency, points), None
        if name == "auc_judd":
            return metric.auc_judd(saliency, points), None
        low, high = min(float(saliency.min()), 0.0), float(saliency.max())
        gain = metric.information_gain(
            saliency, points, self.bias.density, minimum=self.rule.floor * (high - low)
        )
        # a score is finite or missing
        if np.isinf(gain):
            return np.nan, RULED_OUT if gain < 0 else NOT_EXPECTED
        return gain, None


def _draws(
    truths: Truths, bias: np.ndarray | None, rule: GazeRule, rng: np.random.Generator | None
) -> dict[str, list[tuple[np.ndarray, np.ndarray]]] | None:
    """Return the pixels drawn for each truth, as flat indices: the same for every map of the image.

    Positives are drawn from the truth, negatives from all pixels (auc) or from the centre bias (sauc).
    """
    if rule.n_samples is None or rng is None:
        return None
    drawn: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    # a generator of its own for each, so that draws do not depend on which metrics are asked for
    for name, own in zip(AREAS, rng.spawn(len(AREAS)), strict=True):
        negatives = None if name == "auc" else bias
        if name not in rule.metrics or (name == "sauc" and bias is None):
            continue
        drawn[name] = [
            (
                drawn_pixels(density, rule.n_samples, own),
                own.integers(density.size, size=rule.n_samples)
                if negatives is None
                else drawn_pixels(negatives, rule.n_samples, own),
            )
            for density in truths.densities
        ]
    return drawn


def drawn_pixels(density: np.ndarray, shape: int | tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Return flat indices of pixels drawn from a density with replacement, as an array of some shape."""
    flat = density.ravel()
    return rng.choice(flat.size, shape, p=flat / flat.sum())
