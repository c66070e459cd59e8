"""A study made from arrays that are in memory already."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from salstats.checks import SalstatsError, ShapeError, ValueRangeError, quoted
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
    """A study from masks and maps in memory.

    Parameters
    ----------
    truths : dict of (case, task) to ndarray of bool, shape (M, N)
        Reference masks at the image's size; all tasks of a case have one size. A case and task without an
        entry is a finding that is absent, as an empty mask is.
    maps : dict of (case, task, method) to ndarray of float, shape (m, n)
        Saliency maps at any size; larger means more salient.
    human : dict of (case, task) to ndarray of bool, shape (M, N), optional
        Masks that people drew; they become the method `human`. Where a case and task has no entry, they
        marked nothing.
    points : dict of (case, task) to ndarray, shape (k, 2), optional
        Points that people marked, as (row, col).
    prob : dict of (case, task) to float, optional
        The model's probabilities, between 0 and 1, for all methods.
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
    ValueRangeError
        A mask holds something else than 0 and 1; a probability is out of range.
    SalstatsError
        No truth at all; a key is no tuple of names, or names a case or task that `truths` lacks; `patient`
        lacks a case; a method of maps is called "human".

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.eye(6, dtype=bool)
    >>> ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 1.0})
    <Study arrays: 1 cases, 1 tasks, methods: cam>
    """
    if not truths:
        raise SalstatsError("truths is empty: a study needs at least one reference mask")
    _check_keys(truths, "truths", ("case", "task"))
    cases_there, tasks = (tuple(dict.fromkeys(names)) for names in zip(*truths, strict=True))
    _check_keys(maps, "maps", ("case", "task", "method"), cases_there, tasks)
    for name, given in (("human", human), ("points", points), ("prob", prob)):
        _check_keys(given or {}, name, ("case", "task"), cases_there, tasks)
    outlined, drawn = _drawn(truths, "truths"), _drawn(human or {}, "human")
    shapes = _shapes({"truths": outlined, "human": drawn})
    for name_of_map, saliency in maps.items():
        _check_map(name_of_map, saliency)
    for key, value in (prob or {}).items():
        if not 0 <= value <= 1:
            raise ValueRangeError(f"prob of {key} must lie between 0 and 1; got {value!r}")
    if patient is not None and set(shapes) - set(patient):
        raise SalstatsError(f"patient has no entry for case {sorted(set(shapes) - set(patient))[0]!r}")
    people = human is not None or points is not None
    series = tuple(dict.fromkeys(Series(k[2]) for k in maps)) + ((Series(HUMAN),) if people else ())
    cases = []
    for case, shape in sorted(shapes.items()):
        answers = [
            Prediction(t, Series(m), partial(_content, (prob or {}).get((case, t)), saliency), "arrays")
            for (c, t, m), saliency in maps.items()
            if c == case
        ]
        for task in tasks if people else ():
            own = None if human is None else drawn.get((case, task), np.zeros(shape, dtype=bool))
            marked = None if points is None else points.get((case, task), np.empty((0, 2)))
            read = partial(_marked, own, marked)
            answers.append(Prediction(task, Series(HUMAN), read, "arrays", has_saliency=False))
        cases.append(
            Case(
                case,
                shape,
                {t: Truth(partial(masks.encode, mask)) for (c, t), mask in outlined.items() if c == case},
                tuple(answers),
                patient=None if patient is None else patient[case],
            )
        )
    return Study(tuple(cases), tasks, series, "arrays")


def _drawn(given: Mapping[Key, np.ndarray], name: str) -> dict[Key, np.ndarray]:
    """Masks as arrays of bool, checked."""
    return {key: masks.check_mask(mask, f"{name}: {key}") for key, mask in given.items()}


def _shapes(given: Mapping[str, Mapping[Key, np.ndarray]]) -> dict[str, tuple[int, int]]:
    """The size of every case's image, on which its masks must agree."""
    shapes: dict[str, tuple[int, int]] = {}
    for name, drawn in given.items():
        for (case, task), mask in drawn.items():
            known = shapes.setdefault(case, (mask.shape[0], mask.shape[1]))
            if mask.shape != known:
                raise ShapeError(f"{name}: {case!r}, {task!r} is {mask.shape}, another mask of it {known}")
    return shapes


def _check_keys(given: Mapping[Any, Any], name: str, parts: tuple[str, ...], *there: Iterable[str]) -> None:
    """Raise SalstatsError where a key is no tuple of names, or names a case or task that the truth lacks."""
    for key in given:
        if not isinstance(key, tuple) or len(key) != len(parts) or not all(isinstance(k, str) for k in key):
            raise SalstatsError(f"{name}: key {key!r} must be ({', '.join(parts)}), each as text")
        for part, known, word in zip(key, there, parts, strict=False):
            if part not in known:
                raise SalstatsError(f"{name}: {key} names {word} {part!r}; truths has {quoted(known)}")


def _check_map(key: tuple[str, str, str], saliency: np.ndarray) -> None:
    """Raise where a map is no map, or bears the name of people."""
    if np.ndim(saliency) != 2:
        raise ShapeError(f"maps: {key} has shape {np.shape(saliency)}; a map has two dimensions")
    if key[2] == HUMAN:
        raise SalstatsError(f"maps: {key}: {HUMAN!r} is the name of what people marked; name the method")


def _content(prob: float | None, saliency: np.ndarray) -> Content:
    """A map with its probability."""
    return Content(saliency=np.asarray(saliency), prob=float("nan") if prob is None else float(prob))


def _marked(mask: np.ndarray | None, points: np.ndarray | None) -> Content:
    """What people marked of one task."""
    return Content(
        mask=None if mask is None else masks.encode(mask),
        points=None if points is None else np.asarray(points, dtype=np.float64).reshape(-1, 2),
    )
