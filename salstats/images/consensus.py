"""One mask of several readers' masks: by majority, or by STAPLE.

A rule gives pixels with the same decisions of all readers the same result. So masks are cut into runs on
which no reader changes, and rules work on the distinct patterns of decisions and the pixels of each: at most
2^r patterns for r readers, however large the image.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from salstats.checks import check_choice
from salstats.errors import SalstatsError, ShapeError
from salstats.images import masks
from salstats.images.masks import Rle
from salstats.images.run_lengths import lengths_of_runs, pack

#: STAPLE ends if no sensitivity or specificity changes by more, as in SimpleITK, or after so many rounds.
_TOLERANCE = 1e-7
_MAX_ROUNDS = 100_000


class Patterns(NamedTuple):
    """Distinct patterns of readers' decisions, and the pixels of each."""

    #: (n_patterns, n_readers): True for readers who mark a pixel.
    decisions: np.ndarray
    #: (n_patterns,): number of pixels.
    counts: np.ndarray


class ConsensusEstimate(NamedTuple):
    """Estimates that a rule makes of the patterns."""

    #: (n_patterns,): probability that a pixel of the pattern is marked in truth, above 0.5 in the mask.
    probability: np.ndarray
    #: (n_readers,): sensitivity of each reader; NaN if the rule estimates none, or no pixel is marked.
    sensitivity: np.ndarray
    #: (n_readers,): specificity of each reader; NaN if the rule estimates none, or every pixel is marked.
    specificity: np.ndarray


@dataclass(frozen=True)
class ConsensusRule:
    """A way to make one mask of several."""

    #: Value of the option `truth`.
    name: str
    label: str
    #: Definition that is followed.
    source: str
    #: Property that a reader of its masks must know.
    note: str
    kernel: Callable[[Patterns], ConsensusEstimate]


@dataclass(frozen=True)
class Consensus:
    """Several readers' masks as one."""

    #: Pixels whose probability exceeds a half.
    mask: Rle
    #: (n_readers,), as in `ConsensusEstimate`.
    sensitivity: np.ndarray
    specificity: np.ndarray
    #: Lengths of the runs on which no reader changes, and the probability on each.
    _run_lengths: np.ndarray
    _run_probabilities: np.ndarray

    @property
    def probability(self) -> np.ndarray:
        """Probability of each pixel to be marked in truth, shape (M, N)."""
        height, width = self.mask.shape
        columns = np.repeat(self._run_probabilities, self._run_lengths).reshape(width, height)
        return np.ascontiguousarray(columns.T)


def majority(patterns: Patterns) -> ConsensusEstimate:
    """Estimate the probability by the share of the readers who mark a pixel."""
    unknown = np.full(patterns.decisions.shape[1], np.nan)
    return ConsensusEstimate(patterns.decisions.mean(axis=1), unknown, unknown)


def staple(patterns: Patterns) -> ConsensusEstimate:
    """Estimate truth and readers' performance together, by expectation-maximisation (Warfield et al. 2004).

    Each reader has a sensitivity p and a specificity q, readers err independently, and pixels are independent
    of each other, marked in truth with the probability of the mean decision of all readers over the whole
    image. Rounds begin with the share of readers who mark a pixel, as in SimpleITK.

    The prior is taken over the whole image, so that a wider margin of background makes specificities larger
    and the mask grow. Where nobody marks anything, or all mark everything, there is nothing to estimate:
    the mask is empty or full as all the readers' masks are.

    Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE): an algorithm
    for the validation of image segmentation. IEEE Transactions on Medical Imaging 2004.
    doi:10.1109/TMI.2004.828354
    """
    marks = patterns.decisions
    counts = patterns.counts.astype(np.float64)
    truth = marks.mean(axis=1)
    prior = float(counts @ truth / counts.sum())
    n_readers = marks.shape[1]
    undefined = np.full(n_readers, np.nan)
    if prior <= 0:
        return ConsensusEstimate(truth, sensitivity=undefined, specificity=np.ones(n_readers))
    if prior >= 1:
        return ConsensusEstimate(truth, sensitivity=np.ones(n_readers), specificity=undefined)
    performance = np.full((2, n_readers), np.inf)
    for _ in range(_MAX_ROUNDS):
        # maximisation: sensitivity p and specificity q of each reader, given the truth
        n_present = counts * truth
        n_absent = counts * (1 - truth)
        p = n_present @ marks / n_present.sum()
        q = n_absent @ ~marks / n_absent.sum()
        # expectation: the probability of the truth, given p and q
        present_likelihood = prior * np.where(marks, p, 1 - p).prod(axis=1)
        absent_likelihood = (1 - prior) * np.where(marks, 1 - q, q).prod(axis=1)
        truth = present_likelihood / (present_likelihood + absent_likelihood)
        last_performance = performance
        performance = np.stack([p, q])
        if np.abs(performance - last_performance).max() <= _TOLERANCE:
            break
    return ConsensusEstimate(truth, sensitivity=performance[0], specificity=performance[1])


_MAJORITY = ConsensusRule(
    name="majority",
    label="majority",
    source="more than half of the readers",
    note="of an even number of readers, a pixel that half of them mark is not marked",
    kernel=majority,
)
_STAPLE = ConsensusRule(
    name="staple",
    label="STAPLE",
    source="Warfield et al. 2004, doi:10.1109/TMI.2004.828354",
    note="the prior is the mean decision over the whole image, background included",
    kernel=staple,
)
CONSENSUS_RULES = {rule.name: rule for rule in (_MAJORITY, _STAPLE)}


def consensus(readers: Sequence[np.ndarray | Rle], rule: str = "majority") -> Consensus:
    """Make one mask of several readers' masks of the same image, by a name of `CONSENSUS_RULES`."""
    kernel = CONSENSUS_RULES[check_choice(rule, tuple(CONSENSUS_RULES), "truth")].kernel
    if not len(readers):
        raise SalstatsError("a consensus needs the mask of one reader at least", option="readers")
    reader_masks = [mask if isinstance(mask, Rle) else masks.encode(mask) for mask in readers]
    shape = reader_masks[0].shape
    for mask in reader_masks:
        if mask.shape != shape:
            raise ShapeError(
                f"masks {shape} and {mask.shape} must have the same shape", option="readers", value=mask.shape
            )
    n_pixels = shape[0] * shape[1]
    # of each reader the positions at which the mask starts and ends by turns
    changes = [np.stack(masks.run_starts_and_ends(mask), axis=1).ravel() for mask in reader_masks]
    # runs on which no reader changes
    starts = np.unique(np.concatenate([[0], *changes]))
    starts = starts[starts < n_pixels]
    lengths = np.diff(starts, append=n_pixels)
    # a reader marks a run after an odd number of changes
    n_changes = [np.searchsorted(reader_changes, starts, side="right") for reader_changes in changes]
    marks = np.stack(n_changes, axis=1) % 2 == 1
    decisions, pattern_of_run = np.unique(marks, axis=0, return_inverse=True)
    pattern_of_run = pattern_of_run.ravel()
    counts = np.bincount(pattern_of_run, lengths).astype(np.int64)
    estimate = kernel(Patterns(decisions, counts))
    probabilities = estimate.probability[pattern_of_run]
    is_marked = probabilities > 0.5
    mask_lengths = lengths_of_runs(starts[is_marked], (starts + lengths)[is_marked], n_pixels)
    mask = Rle(shape, pack(mask_lengths, shape))
    return Consensus(mask, estimate.sensitivity, estimate.specificity, lengths, probabilities)
