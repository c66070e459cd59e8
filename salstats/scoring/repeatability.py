"""Compare maps of one case that differ in the seed or the training only."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import SalstatsError
from salstats.images.map_steps import box_filter, rescale, resize
from salstats.images.maps import is_finite
from salstats.jobs import results_by_batch
from salstats.metrics.registry import METRICS, names_of_metrics_needing_only
from salstats.metrics.repeats import WHY_UNDEFINED, MapAgreement, agreement_among_maps
from salstats.scoring.cases import ScoreAndReason, agreed_shape
from salstats.scoring.masking import OTSU, MaskOption, MaskRule, mask_rule
from salstats.scoring.rows import NAME, NUMBER, TEXT, WHOLE, drop_empty_columns, frame_of, row_identifiers
from salstats.scoring.scores import study_of
from salstats.stats.within_case import warn_if_repetition_is_mean
from salstats.study import Case, Prediction, Series, Study

#: Parts of a series' name that repetitions may differ in.
REPEATED_PARTS = ("seed", "model")
#: The metrics, in the order of the rows.
AGREEMENT_METRICS = names_of_metrics_needing_only(["agreement"])
#: Reason of a case and task with nothing to compare.
TOO_FEW_MAPS = "fewer than two maps"
_COLUMNS = {
    "case": NAME,
    "patient": TEXT,
    "task": NAME,
    "method": NAME,
    "model": TEXT,
    "seed": TEXT,
    "reader": TEXT,
    "metric": NAME,
    "score": NUMBER,
    "reason": TEXT,
    "n_maps": WHOLE,
    "over": NAME,
    "threshold": NAME,
    "smooth": NUMBER,
}
_OPTIONAL = ("patient", "model", "seed", "reader", "smooth")


@dataclass(frozen=True)
class RepeatRule:
    """Tasks, groups of repeated series and options of a call of `map_repeatability`."""

    tasks: tuple[str, ...]
    groups: tuple["RepeatedSeries", ...]
    mask: MaskRule


@dataclass(frozen=True)
class RepeatedSeries:
    """Series that differ in one part of their name."""

    #: The name without that part.
    common: Series
    members: tuple[Series, ...]


def map_repeatability(
    study: Study | str | os.PathLike[str],
    *,
    over: str = "seed",
    threshold: MaskOption = OTSU,
    smooth: MaskOption = None,
    jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Compare the maps of each case, task and method that differ in their seed only.

    Each map is laid on its image and stretched to [0, 1], as `score` does; a constant one is 0 everywhere.
    No truth is needed: a map can be repeatable and wrong.

    Parameters
    ----------
    study : Study or path
        What a reader returned, or the folder to read. Its series with maps differ in `over`.
    over : {"seed", "model"}, default "seed"
        What tells repetitions apart: the seed of a random method or of a training, or the network.
    threshold, smooth, jobs, progress
        As for `score`.

    Returns
    -------
    DataFrame
        A scores frame in the order of cases, tasks, methods and metrics, for `summarize` and the like.
        Methods whose maps were made once are not in it.

        case, patient, task, method, model, seed, reader
            Names; those but `case`, `task` and `method` only where the study has them, and without `over`.
        metric, score
            "map_sd": mean over the image's pixels of the standard deviation between the maps, 0 where they
            are equal. "map_iou": mean overlap of the masks of two of them, over all pairs. "map_ncc": mean
            correlation of two of them over the pixels, over all pairs. NaN where undefined.
        reason
            Why: "fewer than two maps" (missing or not finite), "empty masks" (in all pairs), "constant maps"
            (one in each pair); missing where there is a score.
        n_maps
            Finite maps that were compared.
        over
            As given.
        threshold, smooth
            How the masks were made.

    Raises
    ------
    SalstatsError
        No method of the study has several maps that differ in `over`.
    InputFileError
        A map cannot be read.

    Warns
    -----
    SalstatsWarning
        A value of `over` is "mean" or "ensemble": a mean over the others is not a repetition of them.

    See Also
    --------
    within_case_sd : how much the *scores* of a case change.

    Notes
    -----
    The memory needed is that of all maps of one case, task and method at the image's size: 20 MB for each at
    2500 x 2000 pixels.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> from dataclasses import replace
    >>> from salstats.scoring.repeatability import map_repeatability
    >>> from salstats.study import Series
    >>> truth = np.eye(4, dtype=bool)
    >>> once = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "rise"): np.eye(4)})
    >>> series = [Series("rise", seed=seed) for seed in ("0", "1")]
    >>> case = once.cases[0]
    >>> case = replace(case, predictions=tuple(replace(case.predictions[0], series=s) for s in series))
    >>> twice = replace(once, cases=(case,), series=tuple(series))
    >>> map_repeatability(twice)[["case", "method", "metric", "score", "n_maps"]]
      case method   metric  score  n_maps
    0    a   rise   map_sd    0.0       2
    1    a   rise  map_iou    1.0       2
    2    a   rise  map_ncc    1.0       2
    """
    study = study_of(study, without_truth=True)
    check_choice(over, REPEATED_PARTS, "over")
    rule = RepeatRule(
        tasks=study.tasks,
        groups=_groups_of_series_differing_only_in(study, over),
        mask=mask_rule(study, threshold=threshold, smooth=smooth),
    )
    if not rule.groups:
        names = ", ".join(str(series) for series in study.with_maps()) or "none"
        raise SalstatsError(
            f"{study.source}: no method has several maps that differ in {over!r} only (series: {names})",
            option="over",
            value=over,
            choices=map(str, study.with_maps()),
        )
    repetitions = [getattr(series, over) for group in rule.groups for series in group.members]
    warn_if_repetition_is_mean(repetitions, over)
    work = partial(_repeatability_by_case_task_group_and_metric, rule=rule)
    rows = []
    for some_rows in results_by_batch(
        work, study.cases, jobs=jobs, progress=progress, label="Comparing maps"
    ):
        rows += [{**row, "over": over} for row in some_rows]
    return drop_empty_columns(frame_of(rows, _COLUMNS), _OPTIONAL)


def _groups_of_series_differing_only_in(study: Study, over: str) -> tuple[RepeatedSeries, ...]:
    """Return the groups of two series or more that differ in `over` only."""
    members_by_common: dict[Series, list[Series]] = {}
    for series in study.with_maps():
        if getattr(series, over) is None:
            continue
        common = replace(series, model=None) if over == "model" else replace(series, seed=None)
        members_by_common.setdefault(common, []).append(series)
    groups = []
    for common, members in members_by_common.items():
        if len(members) > 1:
            groups.append(RepeatedSeries(common, tuple(members)))
    return tuple(groups)


def _repeatability_by_case_task_group_and_metric(
    cases: Sequence[Case], rule: RepeatRule
) -> list[dict[str, Any]]:
    """Return a row per case, task, group of repeated maps and metric, in this order, of some cases."""
    rows = []
    for case in cases:
        for task in rule.tasks:
            for group in rule.groups:
                rows += _group_rows(case, task, group, rule.mask)
    return rows


def _group_rows(case: Case, task: str, group: RepeatedSeries, mask: MaskRule) -> list[dict[str, Any]]:
    """Return the rows of one case, task and group of series, in the order of metrics."""
    predictions = case.answers
    group_predictions = []
    for series in group.members:
        if (task, series) in predictions:
            group_predictions.append(predictions[task, series])
    maps, map_masks = _finite_rescaled_maps_and_their_masks(case, task, group_predictions, mask)
    map_agreement = None
    if len(maps) > 1:
        map_agreement = agreement_among_maps(maps, map_masks)
    rows = []
    for name in AGREEMENT_METRICS:
        score, reason = _score(name, map_agreement)
        rows.append(
            {
                **row_identifiers(case, task, group.common),
                **mask.setting(task, group.members[0]).columns,
                "n_maps": len(maps),
                "metric": name,
                "score": score,
                "reason": reason,
            }
        )
    return rows


def _score(metric_name: str, map_agreement: MapAgreement | None) -> ScoreAndReason:
    """Return the score of several maps, or NaN and the reason; `map_agreement` is None for fewer than two."""
    if map_agreement is None:
        return float("nan"), TOO_FEW_MAPS
    kernel = METRICS[metric_name].kernel
    assert kernel is not None
    value = kernel(map_agreement)
    if np.isnan(value):
        return value, WHY_UNDEFINED[metric_name]
    return value, None


def _finite_rescaled_maps_and_their_masks(
    case: Case, task: str, predictions: Sequence[Prediction], rule: MaskRule
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the finite maps of one case and task at the size of the image, and their masks."""
    maps = []
    masks = []
    for prediction in predictions:
        content = prediction.read()
        saliency = content.saliency
        if saliency is None or not is_finite(saliency):
            continue
        shape = case.shape
        if shape is None and content.shape is None:
            # the image is of unknown size: the map is compared at its own
            shape = (saliency.shape[0], saliency.shape[1])
        image_shape = agreed_shape(shape, content, case, prediction)
        assert image_shape is not None
        setting = rule.setting(task, prediction.series)
        on_image = setting.on_image(saliency, image_shape)
        if on_image.is_constant:
            values = np.zeros(image_shape, np.float32)
        else:
            values = rescale(resize(saliency, image_shape))
        if on_image.smooth is not None:
            values = box_filter(values, on_image.smooth)
        maps.append(values)
        masks.append(on_image.mask(setting.threshold))
    return maps, masks
