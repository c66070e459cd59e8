"""Thresholds, probability cut-offs and box filters chosen on a validation study."""

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import SalstatsError, ValueRangeError
from salstats.images import masks
from salstats.images.maps import LARGEST_BOX, is_finite
from salstats.jobs import in_batches
from salstats.metrics.overlap import Counts
from salstats.metrics.registry import METRICS
from salstats.scoring.masking import OTSU, MaskOption, MaskRule, mask_rule
from salstats.scoring.rows import without_empty
from salstats.scoring.scores import study_of
from salstats.study import Case, Prediction, Series, Study

#: What is tried, unless the caller says: exact tenths, not sums of 0.1.
GRIDS: dict[str, tuple[float, ...]] = {
    "threshold": tuple(i / 10 for i in range(2, 9)),
    "cutoff": tuple(i / 10 for i in range(9)),
    "smooth": (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
}
#: Metrics that can be maximised.
TUNED = ("iou", "dice")
#: The task for which the CheXlocalize scripts do not try a cut-off of 0.
NEVER_UNCUT = "Lung Lesion"


def tune(
    study: Study | str | os.PathLike[str],
    *,
    what: str = "threshold",
    grid: Sequence[float] | None = None,
    metric: str = "iou",
    threshold: MaskOption = OTSU,
    smooth: MaskOption = None,
    as_published: bool = False,
    jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Mean score at every value of a grid, and which value is the best, per task and method.

    Parameters
    ----------
    study : Study or path
        A validation study: other cases than those that will be scored with what is chosen.
    what : {"threshold", "cutoff", "smooth"}
        What to choose: the threshold of a map scaled to [0, 1]; the probability below which a mask is
        empty; the side of the box filter in pixels (0: none).
    grid : sequence of float, optional
        Values to try; by default 0.2, 0.3 ... 0.8; 0, 0.1 ... 0.8; 0, 10 ... 100.
    metric : {"iou", "dice"}
        Whose mean is maximised.
    as_published : bool
        Choose cut-offs as the CheXlocalize scripts do (see Notes); thresholds are chosen alike.
    threshold, smooth, jobs, progress
        As for `score`; the first two where they are not what is chosen.

    Returns
    -------
    DataFrame
        One row per task, series and value of the grid, in this order.

        task, method, model, seed
            The last two only where the study has them.
        threshold, cutoff or smooth
            The value.
        metric, estimate
            Mean over the cases with a defined score.
        n, n_missing
            Scores that are defined and that are not.
        chosen
            True in one row per task and series: the largest mean, the smallest value among equals. Nowhere
            where no mean is defined.

    Raises
    ------
    SalstatsError
        No maps in the study.
    ValueRangeError
        A grid that is empty, unsorted or out of range.

    See Also
    --------
    score : takes the frame's file as `threshold`, `cutoff` or `smooth`.
    plot_thresholds : draws it.

    Notes
    -----
    Thresholds and box filters are chosen on the true-positive slice: cases whose truth has the finding,
    empty masks left out. Cut-offs are chosen on the full slice: a mask where there is no finding has IoU 0,
    neither mask nor finding is left out. A cut-off keeps `prob >= cutoff`, as `score` does.

    The CheXlocalize scripts (tune_probability_threshold.py, rajpurkarlab/cheXlocalize at 2a79492) choose a
    cut-off with `prob > cutoff`, on means rounded to three digits, and apply it with `>=`; they do not try 0
    for Lung Lesion. So does `as_published`, whose `estimate` is rounded as theirs is.

    All thresholds come from one pass over a map, as do all cut-offs.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.zeros((8, 8), bool)
    >>> truth[2:5, 2:5] = True
    >>> study = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 0.5 + 0.25})
    >>> ss.tune(study, grid=(0.2, 0.5))[["task", "threshold", "estimate", "n", "chosen"]]
        task  threshold  estimate  n  chosen
    0  Edema        0.2       1.0  1    True
    1  Edema        0.5       1.0  1   False
    """
    study = study_of(study)
    what = check_choice(what, tuple(GRIDS), "what")
    values = _grid(GRIDS[what] if grid is None else grid, what)
    check_choice(metric, TUNED, "metric")
    series = study.with_maps()
    if not series:
        raise SalstatsError(f"{study.source} has no maps: there is nothing to tune")
    rule = mask_rule(study, threshold=threshold, smooth=smooth if what != "smooth" else None)
    published = as_published and what == "cutoff"
    sweep = Sweep(what, values, metric, study.tasks, series, rule, published)
    cases = [c for c in study if c.annotated or what == "cutoff"]
    pieces = in_batches(sweep.scores, cases, jobs=jobs, progress=progress, label=f"Tuning the {what}")
    if not pieces:
        raise SalstatsError(f"{study.source} has no case that its truth holds: there is nothing to tune on")
    asked = {t: len(study) if what == "cutoff" else sum(t in c.truths for c in cases) for t in study.tasks}
    frame = pd.DataFrame(sweep.rows(np.concatenate(pieces), asked))
    return without_empty(frame, ("model", "seed"))


def _grid(grid: Sequence[float], what: str) -> tuple[float, ...]:
    """Values to try, in ascending order."""
    values = tuple(float(v) for v in grid)
    high = LARGEST_BOX if what == "smooth" else 1
    if not values or any(b <= a for a, b in pairwise(values)):
        raise ValueRangeError(f"grid must hold one value or more in ascending order; got {list(grid)}")
    if not all(0 <= v <= high for v in values) or (what == "smooth" and any(v % 1 for v in values)):
        kind = f"whole pixels from 0 to {LARGEST_BOX}" if what == "smooth" else "from 0 to 1"
        raise ValueRangeError(f"grid of {what} holds values {kind}; got {list(grid)}")
    return values


@dataclass(frozen=True)
class Sweep:
    """What `tune` was asked for."""

    what: str
    values: tuple[float, ...]
    metric: str
    tasks: tuple[str, ...]
    series: tuple[Series, ...]
    mask: MaskRule
    #: Whether cut-offs are chosen as the CheXlocalize scripts do.
    as_published: bool

    def scores(self, cases: tuple[Case, ...]) -> np.ndarray:
        """Scores (cases, tasks, series, values) of a piece of the cases; NaN where undefined."""
        scores = np.full((len(cases), len(self.tasks), len(self.series), len(self.values)), np.nan)
        for row, case in enumerate(cases):
            answers = case.answers
            for column, task in enumerate(self.tasks):
                truth = case.truths[task].read() if task in case.truths else None
                # where the finding is absent only a cut-off has anything to gain
                if self.what != "cutoff" and (truth is None or not masks.area(truth)):
                    continue
                for place, series in enumerate(self.series):
                    counts = self._counts(case, answers.get((task, series)), truth)
                    if counts is not None:
                        scores[row, column, place] = self._rates(counts)
        return scores

    def _counts(
        self, case: Case, prediction: Prediction | None, truth: masks.Rle | None
    ) -> np.ndarray | None:
        """Counts (values, 4) of one map; None where it cannot be used."""
        if prediction is None:
            return None
        content = prediction.read()
        shape = case.shape or content.shape
        if content.saliency is None or shape is None or not is_finite(content.saliency):
            return None
        reference = masks.empty(shape) if truth is None else truth
        made = self.mask.setting(prediction.task, prediction.series)
        if self.what == "smooth":
            settings = [replace(made, smooth=int(v) or None, colormap=None) for v in self.values]
            tried = (s.on_image(content.saliency, reference.shape) for s in settings)
            return np.array([on_image.counts(reference, made.threshold) for on_image in tried])
        on_image = made.on_image(content.saliency, shape)
        if self.what == "threshold":
            return np.asarray(on_image.counts_at(reference, self.values))
        if np.isnan(content.prob):
            return None
        kept = Counts(*on_image.counts(reference, made.threshold))
        keeps = operator.gt if self.as_published else operator.ge
        return np.array([kept if keeps(content.prob, v) else kept.emptied() for v in self.values])

    def _rates(self, counts: np.ndarray) -> np.ndarray:
        """Scores from counts (values, 4); on the true-positive slice an empty mask has none."""
        tp, fp, fn, tn = counts.T
        kernel = METRICS[self.metric].kernel
        assert kernel is not None
        scores = np.asarray(kernel(Counts(tp, fp, fn, tn)), dtype=np.float64)
        return scores if self.what == "cutoff" else np.where(tp + fp == 0, np.nan, scores)

    def rows(self, scores: np.ndarray, asked: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Yield means by task, series and value, the best one marked, beside how many were asked for."""
        n = np.isfinite(scores).sum(axis=0)
        with np.errstate(invalid="ignore"):
            means = np.nansum(scores, axis=0) / np.where(n, n, np.nan)
        if self.as_published:
            means = means.round(3)
        for i, task in enumerate(self.tasks):
            tried = np.array([v > 0 or not (self.as_published and task == NEVER_UNCUT) for v in self.values])
            for j, series in enumerate(self.series):
                of_tried = np.where(tried, means[i, j], np.nan)
                best = int(np.nanargmax(of_tried)) if np.isfinite(of_tried).any() else -1
                for k in np.flatnonzero(tried):
                    value = self.values[k]
                    yield {
                        "task": task, "method": series.method, "model": series.model, "seed": series.seed,
                        self.what: int(value) if self.what == "smooth" else value, "metric": self.metric,
                        "estimate": means[i, j, k], "n": int(n[i, j, k]),
                        "n_missing": int(asked[task] - n[i, j, k]), "chosen": bool(k == best),
                    }  # fmt: skip
