"""Score a study by the rules of Saliency-Bench's package, for comparison with the numbers it gives."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import InputFileError, SalstatsError
from salstats.images import masks
from salstats.images.maps import is_finite
from salstats.metrics import xaibenchmark
from salstats.scoring.cases import ABSENT, EMPTY, NO_MAP, NOT_FINITE, ScoreAndReason
from salstats.scoring.rows import NAME, NUMBER, TEXT, drop_empty_columns, frame_of, row_identifiers
from salstats.study import Case, Prediction, Study

#: Value of the column `rules`.
RULES = "xaibenchmark"
_COLUMNS = {
    "case": NAME,
    "patient": TEXT,
    "task": NAME,
    "method": NAME,
    "model": TEXT,
    "seed": TEXT,
    "metric": NAME,
    "score": NUMBER,
    "reason": TEXT,
    "rules": NAME,
}


def score_xaibenchmark(
    study: Study, *, metrics: str | Sequence[str] = tuple(xaibenchmark.SCORES)
) -> pd.DataFrame:
    """Score maps as Saliency-Bench's package does, whose definitions differ from those of `score`.

    A map is compared as it is: not scaled, and resized only where its size is not the truth's (bilinear). See
    `metrics.xaibenchmark` for the rules and how they differ.

    Parameters
    ----------
    study : Study
        Such as `read_saliency_bench` returns on its default grid, the annotation's.
    metrics : str or sequence of str
        Of "iou", "precision", "recall", "hit".

    Returns
    -------
    DataFrame
        A scores frame in the order of cases, tasks, series and metrics, a row for each task that is
        annotated on a case: `case, patient, task, method, model, seed, metric, score, reason, rules`
        ("xaibenchmark"; `patient`, `model` and `seed` only where the study has them). `reason` says why a
        score is NaN: "finding absent" (the truth marks nothing: the package leaves the image out), "no map",
        "map is not finite", "empty mask" (precision of a map that is positive nowhere).

    Raises
    ------
    SalstatsError
        No maps, or no case has a truth.
    InputFileError
        A map cannot be read.
    ValueRangeError
        An unknown metric.

    Notes
    -----
    The package's own number is the mean over all scores except those with the reason "finding absent" or "no
    map"; it is NaN if one has the reason "empty mask". `summarize` gives the mean over the defined scores and
    counts the others. The names of the metrics are those of `score`; do not put both in one frame without the
    column `rules`. `score` itself has these scores as `xaibenchmark_iou`, `xaibenchmark_precision`,
    `xaibenchmark_recall` and `xaibenchmark_hit`.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> from salstats.scoring.xaibenchmark import score_xaibenchmark
    >>> truth = np.zeros((4, 4), bool)
    >>> truth[:2] = True
    >>> study = ss.study_from_arrays({("a", "cat"): truth}, {("a", "cat", "cam"): np.full((4, 4), 0.4)})
    >>> score_xaibenchmark(study)[["case", "method", "metric", "score"]]
      case method     metric  score
    0    a    cam        iou    0.5
    1    a    cam  precision    0.5
    2    a    cam     recall    0.0
    3    a    cam        hit    1.0
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    names = [check_choice(name, tuple(xaibenchmark.SCORES), "metrics") for name in dict.fromkeys(metrics)]
    if not study.with_maps():
        raise SalstatsError(f"{study.source} has no maps to score", option="study", value=study.source)
    rows: list[dict[str, Any]] = []
    for case in study:
        rows += _case_rows(case, study, names)
    if not rows:
        raise SalstatsError(f"{study.source} has no case with a truth to compare with")
    return drop_empty_columns(frame_of(rows, _COLUMNS), ("patient", "model", "seed"))


def _case_rows(case: Case, study: Study, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one case, in the order of tasks, series and metrics."""
    predictions = case.answers
    for task in study.tasks:
        if task not in case.truths:
            continue
        truth = masks.decode(case.truths[task].read())
        for series in study.with_maps():
            scores = _scores(predictions.get((task, series)), truth, metrics, case.case)
            row = {**row_identifiers(case, task, series), "rules": RULES}
            for metric, (score, reason) in zip(metrics, scores, strict=True):
                yield {**row, "metric": metric, "score": score, "reason": reason}


def _scores(
    prediction: Prediction | None, truth: np.ndarray, metrics: Sequence[str], case: str
) -> list[ScoreAndReason]:
    """Return the scores of one map; NaN and the reason where one is undefined."""
    if xaibenchmark.has_pixel_sum_of_zero(truth):
        return [(np.nan, ABSENT)] * len(metrics)
    if prediction is None:
        return [(np.nan, NO_MAP)] * len(metrics)
    saliency = prediction.read().saliency
    if saliency is None:
        return [(np.nan, NO_MAP)] * len(metrics)
    if np.ndim(saliency) != 2:
        raise InputFileError(
            f"{prediction.source}, case {case}: a map has two dimensions, not {np.ndim(saliency)}",
            path=prediction.source,
        )
    if not is_finite(saliency):
        return [(np.nan, NOT_FINITE)] * len(metrics)
    resized = xaibenchmark.resized_to_truth(saliency, truth)
    scores: list[ScoreAndReason] = []
    for metric in metrics:
        value = xaibenchmark.SCORES[metric](resized, truth)
        scores.append((value, EMPTY if np.isnan(value) else None))
    return scores
