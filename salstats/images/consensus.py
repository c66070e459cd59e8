"""One mask of several readers' masks: by majority, or by STAPLE.

Whatever the rule, pixels on which the readers say the same get the same answer. So masks are cut into runs on
which no reader changes, and rules work on the distinct patterns of decisions with the pixels of each: at most
2^r for r readers, however large the image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from salstats.checks import check_choice
from salstats.errors import SalstatsError, ShapeError
from salstats.images import masks
from salstats.images.masks import Rle
from salstats.images.run_lengths import from_runs, pack

#: STAPLE ends where no sensitivity or specificity moves further, as in SimpleITK, or after so many rounds.
_LEAST, _ROUNDS = 1e-7, 100_000


class Patterns(NamedTuple):
    """What readers decide, and on how many pixels."""

    decisions: np.ndarray  # (n_patterns, n_readers), distinct patterns: which readers mark a pixel
    counts: np.ndarray  # (n_patterns,), pixels of each


class ConsensusEstimate(NamedTuple):
    """What a rule makes of the patterns."""

    # (n_patterns,), that a pixel of the pattern is marked in truth; the mask is where it exceeds a half
    probability: np.ndarray
    # sensitivity, specificity: (n_readers,), of each reader, as the rule estimates them; NaN where it does
    # not, or has no pixel to
    sensitivity: np.ndarray
    specificity: np.ndarray


@dataclass(frozen=True)
class ConsensusRule:
    """A way to make one mask of several."""

    #: What `truth=` takes.
    name: str
    label: str
    #: Whose definition is followed.
    source: str
    #: What must be known to read its masks.
    note: str
    kernel: Callable[[Patterns], ConsensusEstimate]


@dataclass(frozen=True)
class Consensus:
    """Several readers' masks as one."""

    mask: Rle  # where the probability exceeds a half
    # sensitivity, specificity: (n_readers,), as of `ConsensusEstimate`
    sensitivity: np.ndarray
    specificity: np.ndarray
    _lengths: np.ndarray
    _values: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """Probability of each pixel to be marked in truth, shape (M, N)."""
        height, width = self.mask.shape
        return np.ascontiguousarray(np.repeat(self._values, self._lengths).reshape(width, height).T)


def majority(patterns: Patterns) -> ConsensusEstimate:
    """Share of the readers who mark a pixel; marked is what more than half of them mark."""
    unknown = np.full(patterns.decisions.shape[1], np.nan)
    return ConsensusEstimate(patterns.decisions.mean(axis=1), unknown, unknown)


def staple(patterns: Patterns) -> ConsensusEstimate:
    """Truth and readers' performance together, by expectation-maximisation (Warfield et al. 2004).

    Each reader has a sensitivity p and a specificity q, readers err independently, and pixels are independent
    of each other, marked in truth with the probability of the mean decision of all readers over the whole
    image. Rounds begin with the share of readers who mark a pixel, as in SimpleITK.

    The prior is taken over the whole image, so that a wider margin of background makes specificities larger
    and the mask grow. Where nobody marks anything, or all mark everything, there is nothing to estimate:
    the mask is what all say.

    Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE): an algorithm
    for the validation of image segmentation. IEEE Transactions on Medical Imaging 2004.
    doi:10.1109/TMI.2004.828354
    """
    marks, counts = patterns.decisions, patterns.counts.astype(np.float64)
    n_pixels, truth = counts.sum(), marks.mean(axis=1)
    prior = float(counts @ truth / n_pixels)
    unknown = np.full(marks.shape[1], np.nan)
    if not 0 < prior < 1:
        return ConsensusEstimate(
            truth, *((unknown, np.ones_like(unknown)) if prior == 0 else (1 + 0 * unknown, unknown))
        )
    performance = np.full((2, marks.shape[1]), np.inf)
    for _ in range(_ROUNDS):
        there, absent = counts * truth, counts * (1 - truth)
        p, q = there @ marks / there.sum(), absent @ ~marks / absent.sum()
        of_there = prior * np.where(marks, p, 1 - p).prod(axis=1)
        of_absent = (1 - prior) * np.where(marks, 1 - q, q).prod(axis=1)
        truth = of_there / (of_there + of_absent)
        before, performance = performance, np.stack([p, q])
        if np.abs(performance - before).max() <= _LEAST:
            break
    return ConsensusEstimate(truth, *performance)


CONSENSUS_RULES = {
    rule.name: rule
    for rule in (
        ConsensusRule(
            "majority", "majority", "more than half of the readers",
            "of an even number of readers, a pixel that half of them mark is not marked", majority,
        ),
        ConsensusRule(
            "staple", "STAPLE", "Warfield et al. 2004, doi:10.1109/TMI.2004.828354",
            "the prior is the mean decision over the whole image, background included", staple,
        ),
    )
}  # fmt: skip


def consensus(readers: Sequence[np.ndarray | Rle], how: str = "majority") -> Consensus:
    """One mask of several readers' masks of the same image, by a name of `CONSENSUS_RULES`."""
    rule = CONSENSUS_RULES[check_choice(how, tuple(CONSENSUS_RULES), "truth")]
    given = [m if isinstance(m, Rle) else masks.encode(m) for m in readers]
    if not given:
        raise SalstatsError("a consensus needs the mask of one reader at least")
    shape = given[0].shape
    for mask in given:
        if mask.shape != shape:
            raise ShapeError(f"masks {shape} and {mask.shape} must have the same shape")
    n_pixels = shape[0] * shape[1]
    changes = [np.stack(masks.runs(m), axis=1).ravel() for m in given]
    starts = np.unique(np.concatenate([[0], *changes]))
    starts = starts[starts < n_pixels]
    lengths = np.diff(starts, append=n_pixels)
    marks = np.stack([np.searchsorted(c, starts, side="right") % 2 == 1 for c in changes], axis=1)
    decisions, of_run = np.unique(marks, axis=0, return_inverse=True)
    counts = np.bincount(of_run.ravel(), lengths).astype(np.int64)
    verdict = rule.kernel(Patterns(decisions, counts))
    values = verdict.probability[of_run.ravel()]
    marked = values > 0.5
    packed = pack(from_runs(starts[marked], (starts + lengths)[marked], n_pixels), shape)
    return Consensus(Rle(shape, packed), verdict.sensitivity, verdict.specificity, lengths, values)
