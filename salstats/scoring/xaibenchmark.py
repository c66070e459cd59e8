"""A study scored by the rules of Saliency-Bench's package, for comparison with numbers made by it."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import InputFileError, SalstatsError
from salstats.images import masks
from salstats.metrics import xaibenchmark
from salstats.scoring.cases import ABSENT, EMPTY, NO_MAP
from salstats.scoring.rows import NAME, NUMBER, TEXT, frame_of, names_of, without_empty
from salstats.study import Case, Prediction, Study

#: What the column `rules` holds.
RULES = "xaibenchmark"
_COLUMNS = {
    "case": NAME, "patient": TEXT, "task": NAME, "method": NAME, "model": TEXT, "seed": TEXT, "metric": NAME,
    "score": NUMBER, "reason": TEXT, "rules": NAME,
}  # fmt: skip


def score_xaibenchmark(
    study: Study, *, metrics: str | Sequence[str] = tuple(xaibenchmark.SCORES)
) -> pd.DataFrame:
    """Scores as Saliency-Bench's package defines them, which is not as `score` does.

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
        "empty mask" (precision of a map that is positive nowhere).

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
    The package's own number is the mean over all scores but those of "finding absent" and "no map", NaN where
    one is of an "empty mask". `summarize` gives the mean over the defined ones and counts the others. The
    names of the metrics are those of `score`; do not put both in one frame without the column `rules`. Beside
    its own metrics `score` has these as `xaibenchmark_iou`, `xaibenchmark_precision`, `xaibenchmark_recall`
    and `xaibenchmark_hit`.

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
    listed = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    names = [check_choice(m, tuple(xaibenchmark.SCORES), "metric") for m in listed]
    if not study.with_maps():
        raise SalstatsError(f"{study.source} has no maps to score")
    rows = [row for case in study for row in _rows(case, study, names)]
    if not rows:
        raise SalstatsError(f"{study.source} has no case with a truth to compare with")
    return without_empty(frame_of(rows, _COLUMNS), ("patient", "model", "seed"))


def _rows(case: Case, study: Study, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one case."""
    answers = case.answers
    for task in (t for t in study.tasks if t in case.truths):
        truth = masks.decode(case.truths[task].read())
        for series in study.with_maps():
            found = _scores(answers.get((task, series)), truth, metrics, case.case)
            shared = {**names_of(case, task, series), "rules": RULES}
            for metric, (score, reason) in zip(metrics, found, strict=True):
                yield {**shared, "metric": metric, "score": score, "reason": reason}


def _scores(
    prediction: Prediction | None, truth: np.ndarray, metrics: Sequence[str], case: str
) -> list[tuple[float, str | None]]:
    """Scores of one map, and why one is undefined."""
    if xaibenchmark.is_left_out(truth):
        return [(np.nan, ABSENT)] * len(metrics)
    saliency = None if prediction is None else prediction.read().saliency
    if prediction is None or saliency is None:
        return [(np.nan, NO_MAP)] * len(metrics)
    if np.ndim(saliency) != 2:
        raise InputFileError(
            f"{prediction.source}, case {case}: a map has two dimensions, not {np.ndim(saliency)}"
        )
    shown = xaibenchmark.at_size_of_truth(saliency, truth)
    scores = [xaibenchmark.SCORES[m](shown, truth) for m in metrics]
    return [(s, EMPTY if np.isnan(s) else None) for s in scores]
