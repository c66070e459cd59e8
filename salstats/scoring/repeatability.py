"""Maps that were made several times, by other seeds or other trainings: how alike they are, case by case."""

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
from salstats.jobs import in_batches
from salstats.metrics.registry import METRICS, computed_from
from salstats.metrics.repeats import WHY_UNDEFINED, MapAgreement, agreement
from salstats.scoring.cases import agreed_shape
from salstats.scoring.masking import OTSU, MaskOption, MaskRule, mask_rule
from salstats.scoring.rows import NAME, NUMBER, TEXT, WHOLE, frame_of, names_of, without_empty
from salstats.scoring.scores import study_of
from salstats.stats.within_case import warn_of_means
from salstats.study import Case, Prediction, Series, Study

#: What may tell repetitions apart.
OVER = ("seed", "model")
#: The metrics, in the order of the rows.
BETWEEN_MAPS = computed_from(["agreement"])
#: Why there is nothing to compare.
TOO_FEW = "fewer than two maps"
_COLUMNS = {
    "case": NAME, "patient": TEXT, "task": NAME, "method": NAME, "model": TEXT, "seed": TEXT, "reader": TEXT,
    "metric": NAME, "score": NUMBER, "reason": TEXT, "n_maps": WHOLE, "over": NAME, "threshold": NAME,
    "smooth": NUMBER,
}  # fmt: skip
_OPTIONAL = ("patient", "model", "seed", "reader", "smooth")


@dataclass(frozen=True)
class RepeatRule:
    """What `map_repeatability` was asked for: tasks, repeated series by what they share, the mask."""

    tasks: tuple[str, ...]
    groups: tuple[tuple[Series, tuple[Series, ...]], ...]
    mask: MaskRule


def map_repeatability(
    study: Study | str | os.PathLike[str],
    *,
    over: str = "seed",
    threshold: MaskOption = OTSU,
    smooth: MaskOption = None,
    jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """How alike the maps of each case, task and method are that differ in their seed only.

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
        A value of `over` is "mean" or "ensemble": a mean over the others is no repetition of them.

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
    check_choice(over, OVER, "over")
    rule = RepeatRule(study.tasks, _groups(study, over), mask_rule(study, threshold=threshold, smooth=smooth))
    if not rule.groups:
        names = ", ".join(str(s) for s in study.with_maps()) or "none"
        raise SalstatsError(
            f"{study.source}: no method has several maps that differ in {over!r} only (series: {names})"
        )
    warn_of_means([getattr(s, over) for _, members in rule.groups for s in members], over)
    work = partial(_rows, rule=rule)
    pieces = in_batches(work, study.cases, jobs=jobs, progress=progress, label="Comparing maps")
    rows = ({**row, "over": over} for piece in pieces for row in piece)
    return without_empty(frame_of(rows, _COLUMNS), _OPTIONAL)


def _groups(study: Study, over: str) -> tuple[tuple[Series, tuple[Series, ...]], ...]:
    """Series that differ in `over` only, by what they have in common."""
    found: dict[Series, list[Series]] = {}
    for series in study.with_maps():
        if getattr(series, over) is not None:
            common = replace(series, model=None) if over == "model" else replace(series, seed=None)
            found.setdefault(common, []).append(series)
    return tuple((common, tuple(members)) for common, members in found.items() if len(members) > 1)


def _rows(cases: Sequence[Case], rule: RepeatRule) -> list[dict[str, Any]]:
    """Rows of some cases, in the order of cases, tasks, methods and metrics."""
    rows = []
    for case in cases:
        answers = case.answers
        for task in rule.tasks:
            for common, members in rule.groups:
                found = [answers[task, s] for s in members if (task, s) in answers]
                alike, n_maps = _compare(case, task, found, rule.mask)
                shared = {
                    **names_of(case, task, common), **rule.mask.setting(task, members[0]).columns,
                    "n_maps": n_maps,
                }  # fmt: skip
                for name in BETWEEN_MAPS:
                    score, reason = (float("nan"), TOO_FEW) if alike is None else _scored(name, alike)
                    rows.append({**shared, "metric": name, "score": score, "reason": reason})
    return rows


def _scored(name: str, alike: MapAgreement) -> tuple[float, str | None]:
    """A metric of maps that are compared, or NaN and the reason."""
    kernel = METRICS[name].kernel
    assert kernel is not None
    score = kernel(alike)
    return score, WHY_UNDEFINED[name] if np.isnan(score) else None


def _compare(
    case: Case, task: str, predictions: Sequence[Prediction], rule: MaskRule
) -> tuple[MapAgreement | None, int]:
    """How alike the maps of one case and task are, and how many there are to compare."""
    maps, masks = [], []
    for prediction in predictions:
        content = prediction.read()
        if content.saliency is None or not is_finite(content.saliency):
            continue
        made = rule.setting(task, prediction.series)
        # where nothing says how large the image is, the map is compared at its own size
        own = (*content.saliency.shape,) if case.shape is None and content.shape is None else case.shape
        shape = agreed_shape(own, content, case, prediction)
        assert shape is not None
        laid = made.on_image(content.saliency, shape)
        drawn = rescale(resize(content.saliency, laid.shape))
        if laid.is_constant:
            drawn = np.zeros_like(drawn)
        maps.append(drawn if laid.smooth is None else box_filter(drawn, laid.smooth))
        masks.append(laid.mask(made.threshold))
    return (agreement(maps, masks) if len(maps) > 1 else None), len(maps)
