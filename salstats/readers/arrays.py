"""A study made from arrays that are in memory already."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from salstats.checks import SalstatsError, ShapeError
from salstats.images import masks
from salstats.study import HUMAN, Case, Content, Prediction, Series, Study, Truth

Key = tuple[str, str]


def study_from_arrays(
    truths: Mapping[Key, np.ndarray],
    maps: Mapping[tuple[str, str, str], np.ndarray],
    *,
    human: Mapping[Key, np.ndarray] | None = None,
    points: Mapping[Key, np.ndarray] | None = None,
    prob: Mapping[Key, float] | None = None,
    patient: Mapping[str, str] | None = None,
) -> Study:
    """Return a study from masks and maps in memory.

    Parameters
    ----------
    truths : dict of (case, task) to ndarray of bool, shape (M, N)
        Reference masks at the image's size; all tasks of a case have one size.
    maps : dict of (case, task, method) to ndarray of float, shape (m, n)
        Saliency maps at any size; larger means more salient.
    human : dict of (case, task) to ndarray of bool, shape (M, N), optional
        Masks that people drew; they become the method `human`.
    points : dict of (case, task) to ndarray, shape (k, 2), optional
        Points that people marked, as (row, col).
    prob : dict of (case, task) to float, optional
        The model's probabilities, for all methods.
    patient : dict of case to str, optional
        The patient of every case.

    Returns
    -------
    Study
        Cases in the order of their names, tasks and methods in the order met.

    Raises
    ------
    ShapeError
        Masks of one case differ in size, or an array is not two-dimensional.
    SalstatsError
        No truth at all; a map's case has no truth; `patient` lacks a case.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.eye(6, dtype=bool)
    >>> ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 1.0})
    <Study arrays: 1 cases, 1 tasks, methods: cam>
    """
    if not truths:
        raise SalstatsError("truths is empty: a study needs at least one reference mask")
    shapes: dict[str, tuple[int, int]] = {}
    for given in (truths, human or {}):
        for (case, task), mask in given.items():
            shape = np.shape(mask)
            if len(shape) != 2 or shapes.setdefault(case, (shape[0], shape[1])) != shape:
                raise ShapeError(f"case {case!r}, task {task!r}: mask {shape} beside {shapes.get(case)}")
    people = [k for k in (human, points) if k is not None]
    tasks = tuple(dict.fromkeys([k[1] for k in (*truths, *maps)]))
    series = tuple(dict.fromkeys(Series(k[2]) for k in maps)) + ((Series(HUMAN),) if people else ())
    unknown = sorted({k[0] for k in maps} - set(shapes))
    if unknown:
        raise SalstatsError(f"case {unknown[0]!r} has a map but no truth, so its size is not known")
    if patient is not None and set(shapes) - set(patient):
        raise SalstatsError(f"patient has no entry for case {sorted(set(shapes) - set(patient))[0]!r}")
    cases = []
    for case, shape in sorted(shapes.items()):
        answers = [
            Prediction(t, Series(m), partial(_content, (prob or {}).get((case, t)), saliency), "arrays")
            for (c, t, m), saliency in maps.items()
            if c == case
        ]
        for task in tasks if people else ():
            drawn = None if human is None else human.get((case, task), np.zeros(shape, dtype=bool))
            marked = None if points is None else points.get((case, task), np.empty((0, 2)))
            read = partial(_marked, drawn, marked)
            answers.append(Prediction(task, Series(HUMAN), read, "arrays", has_saliency=False))
        cases.append(
            Case(
                case,
                shape,
                {t: Truth(partial(_rle, mask)) for (c, t), mask in truths.items() if c == case},
                tuple(answers),
                annotated=any(c == case for c, _ in truths),
                patient=None if patient is None else patient[case],
            )
        )
    return Study(tuple(cases), tasks, series, "arrays")


def _rle(mask: np.ndarray) -> masks.Rle:
    """Return a mask in runs."""
    return masks.encode(np.asarray(mask).astype(bool))


def _content(prob: float | None, saliency: np.ndarray) -> Content:
    """Return a map with its probability."""
    return Content(saliency=np.asarray(saliency), prob=float("nan") if prob is None else float(prob))


def _marked(mask: np.ndarray | None, points: np.ndarray | None) -> Content:
    """Return what people marked of one task."""
    return Content(
        mask=None if mask is None else _rle(mask),
        points=None if points is None else np.asarray(points, dtype=np.float64).reshape(-1, 2),
    )
