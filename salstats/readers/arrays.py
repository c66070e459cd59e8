"""A study made from arrays that are in memory already."""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from salstats.checks import quoted
from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.images import masks
from salstats.study import HUMAN, Case, Content, Prediction, Series, Study, Truth

Key = tuple[str, str]
_KEY3 = ("case", "task", "reader")


def study_from_arrays(
    truths: Mapping[Key, np.ndarray] | str,
    maps: Mapping[tuple[str, str, str], np.ndarray],
    *,
    human: Mapping[Key, np.ndarray] | None = None,
    readers: Mapping[tuple[str, str, str], np.ndarray] | None = None,
    points: Mapping[Key, np.ndarray] | None = None,
    prob: Mapping[Key, float] | None = None,
    patient: Mapping[str, str] | None = None,
) -> Study:
    """A study from masks and maps in memory.

    Parameters
    ----------
    truths : dict of (case, task) to ndarray of bool, shape (M, N)
        Reference masks at the image's size; all tasks of a case have one size. A case and task without an
        entry is a finding that is absent, as an empty mask is. "majority" or "staple": the consensus of the
        `readers`, see `Study.with_truth`. Empty: none, for `reader_overlap`.
    maps : dict of (case, task, method) to ndarray of float, shape (m, n)
        Saliency maps at any size; larger means more salient.
    human : dict of (case, task) to ndarray of bool, shape (M, N), optional
        Masks that people drew; they become the method `human`. Where a case and task has no entry, they
        marked nothing.
    readers : dict of (case, task, reader) to ndarray of bool, shape (M, N), optional
        Masks that each of several readers drew, as series of the method `human`. A case of which a reader
        has no entry was not read by them; a task that such a case lacks is one they marked nothing for.
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
        lacks a case; a method of maps is called "human"; both `human` and `readers` are given.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.eye(6, dtype=bool)
    >>> ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 1.0})
    <Study arrays: 1 cases, 1 tasks, methods: cam>
    """
    if isinstance(truths, str):
        study = study_from_arrays(
            {}, maps, human=human, readers=readers, points=points, prob=prob, patient=patient
        )
        return study.with_truth(truths)
    if not truths and not readers:
        raise SalstatsError("truths is empty: a study needs at least one reference mask, or masks of readers")
    if readers and human:
        raise SalstatsError(
            "human= is for one mask of a case and task, readers= for several; give one of them"
        )
    _check_keys(truths, "truths", _KEY3[:2])
    _check_keys(readers or {}, "readers", _KEY3)
    pairs = [*truths, *(key[:2] for key in readers or {})]
    names, tasks = (tuple(dict.fromkeys(parts)) for parts in zip(*pairs, strict=True))
    _check_keys(maps, "maps", ("case", "task", "method"), names, tasks)
    for name, given in (("human", human), ("points", points), ("prob", prob)):
        _check_keys(given or {}, name, ("case", "task"), names, tasks)
    shapes: dict[str, tuple[int, int]] = {}
    outlined, drawn = _drawn(truths, "truths", shapes), _drawn(human or {}, "human", shapes)
    read_by = _drawn(readers or {}, "readers", shapes)
    for key, saliency in maps.items():
        if np.ndim(saliency) != 2:
            raise ShapeError(f"maps: {key} has shape {np.shape(saliency)}; a map has two dimensions")
        if key[2] == HUMAN:
            raise SalstatsError(f"maps: {key}: {HUMAN!r} is the name of what people marked; name the method")
    for pair, value in (prob or {}).items():
        if not 0 <= value <= 1:
            raise ValueRangeError(f"prob of {pair} must lie between 0 and 1; got {value!r}")
    if patient is not None and set(names) - set(patient):
        raise SalstatsError(f"patient has no entry for case {min(set(names) - set(patient))!r}")
    people = human is not None or points is not None
    by_case: dict[str, list[Prediction]] = {case: [] for case in sorted(names)}
    for (case, task, method), saliency in maps.items():
        read = partial(_content, (prob or {}).get((case, task)), saliency)
        by_case[case].append(Prediction(task, Series(method), read, "arrays"))
    for case, answers in by_case.items():
        for task in tasks if people else ():
            mask = None if human is None else drawn.get((case, task), np.zeros(shapes[case], dtype=bool))
            marked = None if points is None else points.get((case, task), np.empty((0, 2)))
            read = partial(_marked, mask, marked)
            answers.append(Prediction(task, Series(HUMAN), read, "arrays", has_saliency=False))
    people_of = tuple(dict.fromkeys(reader for *_, reader in read_by))
    for case, task, reader in product(by_case, tasks, people_of):
        if any((case, t, reader) in read_by for t in tasks):
            nothing = np.zeros(shapes[case], dtype=bool)
            read = partial(_marked, read_by.get((case, task, reader), nothing), None)
            series = Series(HUMAN, reader=reader)
            by_case[case].append(Prediction(task, series, read, "arrays", has_saliency=False))
    truths_of: dict[str, dict[str, Truth]] = {}
    for (case, task), mask in outlined.items():
        truths_of.setdefault(case, {})[task] = Truth(partial(masks.encode, mask))
    cases = (
        Case(
            case,
            shapes[case],
            truths_of.get(case, {}),
            tuple(answers),
            annotated=bool(truths),
            patient=None if patient is None else patient[case],
        )
        for case, answers in by_case.items()
    )
    found = [Series(method) for _, _, method in maps] + [Series(HUMAN)] * people
    found += [Series(HUMAN, reader=reader) for reader in people_of]
    return Study(tuple(cases), tasks, tuple(dict.fromkeys(found)), "arrays")


def _drawn(
    given: Mapping[Any, np.ndarray], name: str, shapes: dict[str, tuple[int, int]]
) -> dict[Any, np.ndarray]:
    """Masks as arrays of bool; those of a case must have the size that goes to `shapes`."""
    found = {key: masks.check_mask(mask, f"{name}: {key}") for key, mask in given.items()}
    for (case, task, *_), mask in found.items():
        known = shapes.setdefault(case, (mask.shape[0], mask.shape[1]))
        if mask.shape != known:
            raise ShapeError(f"{name}: {case!r}, {task!r} is {mask.shape}, another mask of it {known}")
    return found


def _check_keys(given: Mapping[Any, Any], name: str, parts: tuple[str, ...], *there: Iterable[str]) -> None:
    """Raise SalstatsError where a key is no tuple of names, or names a case or task that the truth lacks."""
    known_names = [(dict.fromkeys(names), part) for names, part in zip(there, parts, strict=False)]
    for key in given:
        if not isinstance(key, tuple) or len(key) != len(parts) or not all(isinstance(k, str) for k in key):
            raise SalstatsError(f"{name}: key {key!r} must be ({', '.join(parts)}), each as text")
        for part, (known, word) in zip(key, known_names, strict=False):
            if part not in known:
                raise SalstatsError(f"{name}: {key} names {word} {part!r}; truths has {quoted(known)}")


def _content(prob: float | None, saliency: np.ndarray) -> Content:
    """A map with its probability."""
    return Content(saliency=np.asarray(saliency), prob=float("nan") if prob is None else float(prob))


def _marked(mask: np.ndarray | None, points: np.ndarray | None) -> Content:
    """What people marked of one task."""
    return Content(
        mask=None if mask is None else masks.encode(mask),
        points=None if points is None else np.asarray(points, dtype=np.float64).reshape(-1, 2),
    )
