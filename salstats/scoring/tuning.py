"""Choose thresholds, probability cut-offs and box filters on a validation study."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import SalstatsError, Setting, ValueRangeError
from salstats.images import masks
from salstats.images.maps import LARGEST_FILTER_SIDE, is_finite
from salstats.jobs import results_by_batch
from salstats.metrics.overlap import Counts
from salstats.metrics.registry import METRICS
from salstats.scoring.masking import OTSU, MaskOption, MaskRule, MaskSetting, mask_rule
from salstats.scoring.rows import drop_empty_columns
from salstats.scoring.scores import study_of
from salstats.study import Case, Prediction, Series, Study

#: Values that are tried by default: exact tenths, not sums of 0.1.
GRIDS: dict[str, tuple[float, ...]] = {
    "threshold": (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    "cutoff": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    "smooth": (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
}
#: Metrics that can be maximised.
TUNED_METRICS = ("iou", "dice")
#: Task for which the CheXlocalize scripts do not try a cut-off of 0.
TASK_WITHOUT_ZERO_CUTOFF = "Lung Lesion"


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
        The study has no maps, or no case that its truth holds.
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
    option = check_choice(what, tuple(GRIDS), "what")
    if grid is None:
        grid = GRIDS[option]
    values = _checked_grid(grid, option)
    check_choice(metric, TUNED_METRICS, "metric")
    series = study.with_maps()
    if not series:
        raise SalstatsError(
            f"{study.source} has no maps: there is nothing to tune", option="study", value=study.source
        )
    sweep = Sweep(
        option=option,
        values=values,
        metric=metric,
        tasks=study.tasks,
        series=series,
        mask=mask_rule(study, threshold=threshold, smooth=None if option == "smooth" else smooth),
        as_published=as_published and option == "cutoff",
    )
    # cut-offs are tried on all cases, the other options on those that the truth holds
    cases = [case for case in study if case.annotated or option == "cutoff"]
    pieces = results_by_batch(
        sweep.scores_by_case_task_series_value,
        cases,
        jobs=jobs,
        progress=progress,
        label=f"Tuning the {option}",
    )
    if not pieces:
        raise SalstatsError(f"{study.source} has no case that its truth holds: there is nothing to tune on")
    n_cases = {}
    for task in study.tasks:
        n_cases[task] = len(study)
        if option != "cutoff":
            n_cases[task] = sum(task in case.truths for case in cases)
    frame = pd.DataFrame(sweep.mean_rows(np.concatenate(pieces), n_cases))
    return drop_empty_columns(frame, ("model", "seed"))


def _checked_grid(grid: Sequence[float], option: str) -> tuple[float, ...]:
    """Return the values to try as floats; ValueRangeError unless they ascend within the option's range."""
    values = tuple(float(value) for value in grid)
    if not values or any(later <= earlier for earlier, later in pairwise(values)):
        raise ValueRangeError(
            Setting("grid"), f" must hold one value or more in ascending order; got {list(grid)}", value=grid
        )
    if option == "smooth":
        allowed = f"whole pixels from 0 to {LARGEST_FILTER_SIDE}"
        is_allowed = all(0 <= value <= LARGEST_FILTER_SIDE and value % 1 == 0 for value in values)
    else:
        allowed = "from 0 to 1"
        is_allowed = all(0 <= value <= 1 for value in values)
    if not is_allowed:
        raise ValueRangeError(
            Setting("grid"), f" of {option} holds values {allowed}; got {list(grid)}", value=grid
        )
    return values


@dataclass(frozen=True)
class Sweep:
    """An option of `score`, the values of it that are tried, and the scores at each."""

    #: "threshold", "cutoff" or "smooth".
    option: str
    values: tuple[float, ...]
    metric: str
    tasks: tuple[str, ...]
    series: tuple[Series, ...]
    mask: MaskRule
    #: True if cut-offs are chosen as the CheXlocalize scripts do.
    as_published: bool

    def scores_by_case_task_series_value(self, cases: tuple[Case, ...]) -> np.ndarray:
        """Return the scores (cases, tasks, series, values) of some of the cases; NaN where undefined."""
        shape = (len(cases), len(self.tasks), len(self.series), len(self.values))
        scores = np.full(shape, np.nan)
        for case_index, case in enumerate(cases):
            for task_index, task in enumerate(self.tasks):
                truth = None
                if task in case.truths:
                    truth = case.truths[task].read()
                is_present = truth is not None and masks.area(truth) > 0
                # thresholds and filters are chosen where the finding is present
                if self.option != "cutoff" and not is_present:
                    continue
                for series_index, series in enumerate(self.series):
                    prediction = case.answers.get((task, series))
                    counts = self._tp_fp_fn_tn_by_value(case, prediction, truth)
                    if counts is not None:
                        scores[case_index, task_index, series_index] = self._scores_of_counts(counts)
        return scores

    def _tp_fp_fn_tn_by_value(
        self, case: Case, prediction: Prediction | None, truth_or_none_if_empty: masks.Rle | None
    ) -> np.ndarray | None:
        """Return the counts (values, 4) of one map; None if it cannot be used."""
        if prediction is None:
            return None
        content = prediction.read()
        shape = case.shape or content.shape
        if content.saliency is None or shape is None or not is_finite(content.saliency):
            return None
        truth = truth_or_none_if_empty
        if truth is None:
            truth = masks.empty(shape)
        setting = self.mask.setting(prediction.task, prediction.series)
        if self.option == "smooth":
            return self._tp_fp_fn_tn_by_filter(content.saliency, truth, setting)
        on_image = setting.on_image(content.saliency, shape)
        if self.option == "threshold":
            return np.asarray(on_image.tp_fp_fn_tn_by_threshold(truth, self.values))
        if np.isnan(content.prob):
            return None
        counts = Counts(*on_image.tp_fp_fn_tn(truth, setting.threshold))
        return self._tp_fp_fn_tn_by_cutoff(counts, content.prob)

    def _tp_fp_fn_tn_by_filter(
        self, saliency: np.ndarray, truth: masks.Rle, setting: MaskSetting
    ) -> np.ndarray:
        """Return the counts (values, 4) of one map with box filters of each size."""
        counts = []
        for size in self.values:
            filtered = replace(setting, smooth=int(size) or None, colormap=None)
            on_image = filtered.on_image(saliency, truth.shape)
            counts.append(on_image.tp_fp_fn_tn(truth, setting.threshold))
        return np.array(counts)

    def _tp_fp_fn_tn_by_cutoff(self, counts: Counts, prob_of_mask: float) -> np.ndarray:
        """Return the counts (values, 4) of one mask, which is empty at cut-offs above its probability."""
        rows = []
        for cutoff in self.values:
            is_kept = prob_of_mask >= cutoff
            if self.as_published:
                is_kept = prob_of_mask > cutoff
            rows.append(counts if is_kept else counts.with_empty_mask())
        return np.array(rows)

    def _scores_of_counts(self, counts: np.ndarray) -> np.ndarray:
        """Return scores from counts (values, 4); on the true-positive slice an empty mask has none."""
        tp, fp, fn, tn = counts.T
        kernel = METRICS[self.metric].kernel
        assert kernel is not None
        scores = np.asarray(kernel(Counts(tp, fp, fn, tn)), dtype=np.float64)
        if self.option == "cutoff":
            return scores
        return np.where(tp + fp == 0, np.nan, scores)

    def mean_rows(self, scores: np.ndarray, n_cases: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Yield the mean by task, series and value, the largest marked as chosen.

        `scores` are those of all cases (cases, tasks, series, values); `n_cases` are the numbers of cases of
        each task.
        """
        n_defined = np.isfinite(scores).sum(axis=0)
        # 0 / 0, NaN, where no score is defined
        with np.errstate(invalid="ignore"):
            means = np.nansum(scores, axis=0) / n_defined
        if self.as_published:
            means = means.round(3)
        for task_index, task in enumerate(self.tasks):
            is_tried = np.ones(len(self.values), dtype=bool)
            # the CheXlocalize scripts do not try 0 for one task
            if self.as_published and task == TASK_WITHOUT_ZERO_CUTOFF:
                is_tried = np.array(self.values) > 0
            for series_index, series in enumerate(self.series):
                series_means = means[task_index, series_index]
                series_n = n_defined[task_index, series_index]
                tried_means = np.where(is_tried, series_means, np.nan)
                chosen_index = None
                if np.isfinite(tried_means).any():
                    chosen_index = int(np.nanargmax(tried_means))
                for index in np.flatnonzero(is_tried):
                    value = self.values[index]
                    if self.option == "smooth":
                        value = int(value)
                    yield {
                        "task": task,
                        "method": series.method,
                        "model": series.model,
                        "seed": series.seed,
                        self.option: value,
                        "metric": self.metric,
                        "estimate": series_means[index],
                        "n": int(series_n[index]),
                        "n_missing": int(n_cases[task] - series_n[index]),
                        "chosen": bool(index == chosen_index),
                    }
