"""Compare the masks of every two readers of the same images."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import pandas as pd

from salstats.checks import quoted
from salstats.errors import Call, Message, SalstatsError, Setting
from salstats.jobs import results_by_batch
from salstats.metrics.registry import METRICS, checked_metrics
from salstats.scoring import cases
from salstats.scoring.cases import (
    ABSENT,
    EMPTY,
    FULL,
    NO_MASK,
    Finding,
    PredictionTruthComparison,
    ScoreAndReason,
    ScoreRule,
)
from salstats.scoring.distances import Options, Spacing, distance_rule
from salstats.scoring.masking import mask_rule
from salstats.scoring.rows import NAME, NUMBER, TEXT, drop_empty_columns, frame_of, row_identifiers
from salstats.scoring.scores import study_of
from salstats.study import Case, Content, Series, Study

#: Metrics that compare two masks, which the help of the command lists.
SCORED_METRICS = tuple(name for name in cases.SCORED_METRICS if METRICS[name].compares_mask)
_COLUMNS = {
    "case": NAME,
    "patient": TEXT,
    "task": NAME,
    "method": NAME,
    "model": TEXT,
    "seed": TEXT,
    "reader": NAME,
    "other_reader": NAME,
    "metric": NAME,
    "score": NUMBER,
    "reason": TEXT,
    "distance_unit": TEXT,
    "distance_options": TEXT,
    "pdc_options": TEXT,
    "metric_options": TEXT,
}
_OPTIONAL = (
    "patient",
    "model",
    "seed",
    "distance_unit",
    "distance_options",
    "pdc_options",
    "metric_options",
)


@dataclass(frozen=True)
class OverlapRule:
    """Groups of series and options of a call of `reader_overlap`."""

    #: Series that differ in the reader only.
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
    """Compare every two readers' masks of each case and task.

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
        A scores frame, as `summarize` takes it, in the order of cases, tasks, pairs and metrics: one row
        per case, task, pair of readers who both read the case, and metric.

        case, patient, task, method, model, seed
            Names; those but `case`, `task` and `method` only where the study has them.
        reader, other_reader
            The pair, in the order of the study's series.
        metric, score
            NaN where undefined. Dice and IoU are 0 where exactly one of the two masks is empty.
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
    resamples cases, or patients, with all their pairs, and applies to these readers.

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
    names = checked_metrics(metrics, SCORED_METRICS, "does not compare two masks")
    groups = _series_differing_in_reader_only(study)
    if not groups:
        readers = quoted(study.readers()) if study.readers() else "none"
        raise SalstatsError(
            f"{study.source}: overlap is between the masks of two readers or more (readers: {readers})",
            hint=Message(
                "give each reader's masks as ",
                Setting("readers"),
                " of ",
                Call("study_from_arrays"),
                ", or as ",
                Setting("human", {"R1": "FOLDER"}),
                " of a folder",
            ),
            option="readers",
            value=study.readers(),
        )
    score_rule = ScoreRule(
        tasks=study.tasks,
        series=study.series,
        metrics=names,
        slice=FULL,
        misses="undefined",
        mask=mask_rule(study),
        distance=distance_rule(
            names, [case.case for case in study], spacing=spacing, points=points, options=options
        ),
    )
    work = partial(_overlap_rows, rule=OverlapRule(groups, score_rule))
    rows: list[dict[str, Any]] = []
    for some_rows in results_by_batch(
        work, study.cases, jobs=jobs, progress=progress, label="Comparing readers"
    ):
        rows += some_rows
    if not rows:
        raise SalstatsError(
            f"{study.source}: no case was read by two readers", option="study", value=study.source
        )
    return drop_empty_columns(frame_of(rows, _COLUMNS), _OPTIONAL)


def _series_differing_in_reader_only(study: Study) -> tuple[tuple[Series, ...], ...]:
    """Return the groups of two series or more that differ in the reader only."""
    groups: dict[Series, list[Series]] = {}
    for series in study.series:
        if series.reader is not None:
            groups.setdefault(replace(series, reader=None), []).append(series)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _overlap_rows(some_cases: Sequence[Case], rule: OverlapRule) -> list[dict[str, Any]]:
    """Return the rows of some of the cases, in the order of cases, tasks, pairs and metrics."""
    score_rule = rule.score
    metric_columns = {}
    for name in score_rule.metrics:
        metric_columns[name] = {"metric": name, **score_rule.distance.columns(METRICS[name])}
    rows = []
    for case in some_cases:
        series_of_case = {series for _, series in case.answers}
        for task in score_rule.tasks:
            for group in rule.groups:
                readers = [series for series in group if series in series_of_case]
                for first, second, comparison in _comparisons(case, task, readers, score_rule):
                    row = {**row_identifiers(case, task, first), "other_reader": second.reader}
                    for name in score_rule.metrics:
                        score, reason = _score(comparison, name)
                        rows.append({**row, **metric_columns[name], "score": score, "reason": reason})
    return rows


def _comparisons(
    case: Case, task: str, readers: Sequence[Series], rule: ScoreRule
) -> Iterator[tuple[Series, Series, PredictionTruthComparison | None]]:
    """Yield every two readers with the comparison of their masks; None if one of the masks is missing."""
    predictions = case.answers
    contents: dict[Series, Content] = {}
    findings: dict[Series, Finding] = {}
    for series in readers:
        if (task, series) in predictions:
            mask = predictions[task, series].read().mask
            if mask is not None:
                contents[series] = Content(mask=mask)
                findings[series] = Finding(case.case, mask)
    for first, second in combinations(readers, 2):
        comparison = None
        if first in contents and second in contents:
            setting = rule.mask_settings[task, first]
            comparison = PredictionTruthComparison(contents[first], findings[second], setting, rule)
        yield first, second, comparison


def _score(comparison: PredictionTruthComparison | None, metric_name: str) -> ScoreAndReason:
    """Return a score, or NaN and the reason; `comparison` is None if a mask is missing."""
    if comparison is None:
        return float("nan"), NO_MASK
    score, reason = comparison.score(METRICS[metric_name])
    if reason == ABSENT:
        # the second reader's mask takes the place of the truth: it is a mask that is empty
        reason = EMPTY
    return score, reason
