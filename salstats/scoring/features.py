"""Size and shape of every finding of a study's truth."""

import os
from functools import partial
from typing import Any

import pandas as pd

from salstats.errors import SalstatsError
from salstats.images import masks
from salstats.images.shapes import shape_features
from salstats.jobs import results_by_batch
from salstats.scoring.scores import study_of
from salstats.study import Case, Study, shape_of

FEATURE_COLUMNS = (
    "case",
    "task",
    "n_instances",
    "area_ratio",
    "elongation",
    "irrectangularity",
    "area_px",
    "perimeter_px",
    "height",
    "width",
)
_FEATURES_OF_ABSENT_FINDING = {
    "n_instances": 0,
    "area_ratio": 0.0,
    "elongation": float("nan"),
    "irrectangularity": float("nan"),
    "area_px": 0,
    "perimeter_px": float("nan"),
}


def features(
    study: Study | str | os.PathLike[str], *, jobs: int | None = None, progress: bool = False
) -> pd.DataFrame:
    """Size and shape of every finding of a study's truth.

    Parameters
    ----------
    study, jobs, progress
        As for `score`.

    Returns
    -------
    DataFrame
        One row per case that the truth holds and task, in their order.

        case, task
            Names.
        n_instances
            Outlines that the annotator drew, where they are known, else connected components (8
            neighbours); 0 where the finding is absent.
        area_ratio
            Share of the image's pixels.
        elongation
            Longer by shorter side of the smallest rectangle around the dominant instance; NaN where there
            is none or it has no width.
        irrectangularity
            1 - area of the dominant instance / area of that rectangle.
        area_px, perimeter_px
            Of the whole mask.
        height, width
            Of the image, in pixels.

    Raises
    ------
    SalstatsError
        The truth holds no case.

    See Also
    --------
    join_features : adds them to scores.

    Notes
    -----
    Definitions in `salstats.images.shapes.shape_features`.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.zeros((40, 40), bool)
    >>> truth[5:15, 5:25] = True
    >>> ss.features(ss.study_from_arrays({("a", "Edema"): truth}, {})).iloc[:, 2:6].round(3).iloc[0].to_list()
    [1.0, 0.125, 2.111, 0.0]
    """
    study = study_of(study)
    cases = [case for case in study if case.annotated]
    if not cases:
        raise SalstatsError(
            f"{study.source}: the truth holds no case, so there are no findings to describe",
            option="study",
            value=study.source,
        )
    work = partial(_feature_rows, tasks=study.tasks)
    rows: list[dict[str, Any]] = []
    for case_rows in results_by_batch(work, cases, jobs=jobs, progress=progress, label="Measuring findings"):
        rows += case_rows
    return pd.DataFrame(rows, columns=list(FEATURE_COLUMNS))


def _feature_rows(cases: tuple[Case, ...], tasks: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of some of the cases, in the order of cases and tasks."""
    rows = []
    for case in cases:
        for task in tasks:
            rows.append(_feature_row(case, task))
    return rows


def _feature_row(case: Case, task: str) -> dict[str, Any]:
    """Return the row of one case and task."""
    truth = case.truths.get(task)
    mask = masks.empty(shape_of(case)) if truth is None else truth.read()
    measured = _FEATURES_OF_ABSENT_FINDING
    if truth is not None and masks.area(mask):
        # the file of outlines may have none for a mask that marks something; then its components count
        measured = shape_features(masks.decode(mask), n_instances=truth.n_instances or None)
    height, width = mask.shape
    return {**measured, "case": case.case, "task": task, "height": height, "width": width}
