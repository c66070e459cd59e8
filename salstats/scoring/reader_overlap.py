"""Several readers' masks of the same images: how far each two of them overlap."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import pandas as pd

from salstats.checks import quoted
from salstats.errors import SalstatsError
from salstats.jobs import in_batches
from salstats.metrics.registry import METRICS, chosen_metrics
from salstats.scoring import cases
from salstats.scoring.cases import ABSENT, EMPTY, FULL, NO_MASK, Comparison, Finding, ScoreRule
from salstats.scoring.distances import Options, Spacing, distance_rule
from salstats.scoring.masking import mask_rule
from salstats.scoring.rows import NAME, NUMBER, TEXT, frame_of, names_of, without_empty
from salstats.scoring.scores import study_of
from salstats.study import Case, Content, Series, Study

#: Metrics that compare two masks, which the help of the command lists.
SCORED = tuple(name for name in cases.SCORED if METRICS[name].of_mask)
_COLUMNS = {
    "case": NAME, "patient": TEXT, "task": NAME, "method": NAME, "model": TEXT, "seed": TEXT, "reader": NAME,
    "other_reader": NAME, "metric": NAME, "score": NUMBER, "reason": TEXT, "distance_unit": TEXT,
    "distance_options": TEXT, "pdc_options": TEXT, "metric_options": TEXT,
}  # fmt: skip
_OPTIONAL = (
    "patient", "model", "seed", "distance_unit", "distance_options", "pdc_options", "metric_options",
)  # fmt: skip


@dataclass(frozen=True)
class OverlapRule:
    """What `reader_overlap` was asked for: series of readers by what else they share, and the metrics."""

    groups: tuple[tuple[Series, ...], ...]
    score: ScoreRule


def reader_overlap(
    study: Study | str | os.PathLike[str],
    *,
    metrics: str | Sequence[str] = ("dice",),
    spacing: Spacing = None,
    points: str = "boundary",
    options: Options | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Overlap of every two readers' masks of each case and task.

    No truth is needed, and none is looked at. Masks are compared as they are stored, one case in memory at a
    time.

    Parameters
    ----------
    study : Study or path
        What a reader returned, or the folder to read. Its series name a `reader`.
    metrics : str or sequence of str, default "dice"
        Names of `metrics.registry.METRICS` that compare two masks. Of those that are not symmetric, such as
        "precision", the mask is `reader`'s and the truth `other_reader`'s.
    spacing, points, options, jobs, progress
        As for `score`.

    Returns
    -------
    DataFrame
        A scores frame for `summarize` and the like, in the order of cases, tasks, pairs and metrics: one row
        per case, task, pair of readers who both read the case, and metric.

        case, patient, task, method, model, seed
            Names; those but `case`, `task` and `method` only where the study has them.
        reader, other_reader
            The pair, in the order of the study's series.
        metric, score
            NaN where undefined. One empty mask against another that is not is Dice and IoU 0.
        reason
            Why a score is undefined: "true negative" (neither marks anything), "empty mask" (one does not,
            for distances), "no background" (one marks all), "no mask" (a reader of the case has none for
            the task); missing where there is a score.
        distance_unit, distance_options, pdc_options, metric_options
            As for `score`.

    Raises
    ------
    SalstatsError
        Fewer than two readers, or none who read a case together; an unknown metric or option.
    InputFileError
        A mask cannot be read.

    See Also
    --------
    Study.with_truth : one mask of several readers' masks.

    Notes
    -----
    A mean over rows weighs a case by its pairs, three of three readers and six of four. Its interval
    resamples cases, or patients, with all their pairs, and speaks of these readers.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> drawn = {("a", "Edema", f"R{i}"): np.arange(4)[None] < i for i in (1, 2, 3)}
    >>> study = ss.study_from_arrays({}, {}, readers=drawn)
    >>> ss.reader_overlap(study)[["case", "reader", "other_reader", "metric", "score"]].round(3)
      case reader other_reader metric  score
    0    a     R1           R2   dice  0.667
    1    a     R1           R3   dice  0.500
    2    a     R2           R3   dice  0.800
    """
    study = study_of(study, without_truth=True)
    names = chosen_metrics(metrics, SCORED, "does not compare two masks")
    by_rest: dict[Series, list[Series]] = {}
    for series in study.series:
        if series.reader is not None:
            by_rest.setdefault(replace(series, reader=None), []).append(series)
    groups = tuple(tuple(own) for own in by_rest.values() if len(own) > 1)
    if not groups:
        known = quoted(study.readers()) if study.readers() else "none"
        raise SalstatsError(
            f"{study.source}: overlap is between the masks of two readers or more (readers: {known}); give "
            "each reader's masks as readers= of study_from_arrays(), or as human={'R1': ...} of a folder"
        )
    rule = OverlapRule(
        groups,
        ScoreRule(
            tasks=study.tasks,
            series=study.series,
            metrics=names,
            slice=FULL,
            misses="undefined",
            mask=mask_rule(study),
            distance=distance_rule(
                names, [c.case for c in study], spacing=spacing, points=points, options=options
            ),
        ),
    )
    work = partial(_rows, rule=rule)
    pieces = in_batches(work, study.cases, jobs=jobs, progress=progress, label="Comparing readers")
    rows = [row for piece in pieces for row in piece]
    if not rows:
        raise SalstatsError(f"{study.source}: no case was read by two readers")
    return without_empty(frame_of(rows, _COLUMNS), _OPTIONAL)


def _rows(some: Sequence[Case], rule: OverlapRule) -> list[dict[str, Any]]:
    """Rows of some cases, in the order of cases, tasks, pairs and metrics."""
    score = rule.score
    beside = {name: {"metric": name, **score.distance.beside(METRICS[name])} for name in score.metrics}
    rows = []
    for case in some:
        answers = case.answers
        there = {series for _, series in answers}
        for task in score.tasks:
            for group in rule.groups:
                asked = [series for series in group if series in there]
                held = {s: answers[task, s].read().mask for s in asked if (task, s) in answers}
                drawn = {s: Content(mask=mask) for s, mask in held.items() if mask is not None}
                findings = {s: Finding(case.case, c.mask) for s, c in drawn.items() if c.mask is not None}
                for one, other in combinations(asked, 2):
                    shared = {**names_of(case, task, one), "other_reader": other.reader}
                    made = score.settings[task, one]
                    look = None
                    if one in drawn and other in drawn:
                        look = Comparison(drawn[one], findings[other], made, score)
                    rows += [{**shared, **beside[name], **_scored(look, name)} for name in score.metrics]
    return rows


def _scored(look: Comparison | None, name: str) -> Mapping[str, Any]:
    """A score and its reason, where neither mask is the truth."""
    if look is None:
        return {"score": float("nan"), "reason": NO_MASK}
    value, reason = look.score(METRICS[name])
    return {"score": value, "reason": EMPTY if reason == ABSENT else reason}
