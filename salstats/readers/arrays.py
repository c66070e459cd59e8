"""Studies made from arrays in memory."""

from collections.abc import Collection, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from salstats.checks import check_shape_of_points, quoted
from salstats.errors import SalstatsError, Setting, ShapeError, ValueRangeError
from salstats.images import masks
from salstats.study import HUMAN, Case, Content, Prediction, Series, Study, Truth

CaseTask = tuple[str, str]
CaseTaskName = tuple[str, str, str]
_CASE_TASK = ("case", "task")
_CASE_TASK_METHOD = ("case", "task", "method")
_CASE_TASK_READER = ("case", "task", "reader")


# each mapping of arrays is checked and becomes predictions or truths in its own way
def study_from_arrays(  # noqa: C901, PLR0912
    truths: Mapping[CaseTask, np.ndarray] | str,
    maps: Mapping[CaseTaskName, np.ndarray],
    *,
    human: Mapping[CaseTask, np.ndarray] | None = None,
    readers: Mapping[CaseTaskName, np.ndarray] | None = None,
    points: Mapping[CaseTask, np.ndarray] | None = None,
    prob: Mapping[CaseTask, float] | None = None,
    patient: Mapping[str, str] | None = None,
) -> Study:
    """Make a study from masks and maps in memory.

    Parameters
    ----------
    truths : dict of (case, task) to ndarray of bool, shape (M, N)
        Reference masks at the image's size; all tasks of a case have one size. A case and task without an
        entry is a finding that is absent, as with an empty mask. "majority" or "staple": the consensus of
        the `readers`, see `Study.with_truth`. Empty: no truth, as `reader_overlap` needs none.
    maps : dict of (case, task, method) to ndarray of float, shape (m, n)
        Saliency maps at any size; larger means more salient.
    human : dict of (case, task) to ndarray of bool, shape (M, N), optional
        Masks that people drew; they become the method `human`. Where a case and task has no entry, they
        marked nothing.
    readers : dict of (case, task, reader) to ndarray of bool, shape (M, N), optional
        Masks that each of several readers drew, as series of the method `human`. A reader without any entry
        of a case did not read it; in a case that they read, a task without an entry has an empty mask.
    points : dict of (case, task) to ndarray, shape (k, 2), optional
        Points that people marked, as (row, col).
    prob : dict of (case, task) to float, optional
        The model's probabilities, between 0 and 1, for all methods.
    patient : dict of case to str, optional
        The patient of every case.

    Returns
    -------
    Study
        Cases in the order of their names, tasks and methods in the order of the arguments.

    Raises
    ------
    ShapeError
        Masks of one case differ in size, or an array is not two-dimensional.
    ValueRangeError
        A mask holds numbers other than 0 and 1; a probability is out of range.
    SalstatsError
        Neither `truths` nor `readers` has an entry; a key is not a tuple of names, or has a case or task that
        neither of them has; `patient` lacks a case; a method of maps is called "human"; both `human` and
        `readers` are given.

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
        raise SalstatsError(
            "truths is empty: a study needs at least one reference mask, or masks of readers", option="truths"
        )
    if readers and human:
        raise SalstatsError(
            Setting("human"),
            " is for one mask of a case and task, ",
            Setting("readers"),
            " for several",
            hint="give one of them",
        )
    readers = readers or {}
    prob = prob or {}
    _check_keys(truths, "truths", _CASE_TASK)
    _check_keys(readers, "readers", _CASE_TASK_READER)
    cases_and_tasks = [*truths, *((case, task) for case, task, _ in readers)]
    case_names = tuple(dict.fromkeys(case for case, _ in cases_and_tasks))
    tasks = tuple(dict.fromkeys(task for _, task in cases_and_tasks))
    _check_keys(maps, "maps", _CASE_TASK_METHOD, case_names, tasks)
    _check_keys(human or {}, "human", _CASE_TASK, case_names, tasks)
    _check_keys(points or {}, "points", _CASE_TASK, case_names, tasks)
    _check_keys(prob, "prob", _CASE_TASK, case_names, tasks)
    truth_masks = _bool_masks(truths, "truths")
    human_masks = _bool_masks(human or {}, "human")
    reader_masks = _bool_masks(readers, "readers")
    shapes = _shape_by_case({"truths": truth_masks, "human": human_masks, "readers": reader_masks})
    _check_maps_are_2d_and_not_human(maps)
    _check_prob(prob)
    for case in sorted(case_names):
        if patient is not None and case not in patient:
            raise SalstatsError(f"patient has no entry for case {case!r}", option="patient", value=case)
    predictions: dict[str, list[Prediction]] = {case: [] for case in sorted(case_names)}
    for (case, task, method), saliency in maps.items():
        read = partial(_map_content, prob.get((case, task)), saliency)
        predictions[case].append(Prediction(task, Series(method), read, "arrays"))
    checked_points = _row_col_points_of_checked_shape(points or {})
    has_people = human is not None or points is not None
    if has_people:
        for case, task in product(predictions, tasks):
            mask = None
            if human is not None:
                mask = human_masks.get((case, task), np.zeros(shapes[case], dtype=bool))
            case_points = None
            if points is not None:
                case_points = checked_points.get((case, task), np.empty((0, 2)))
            read = partial(_human_content, mask, case_points)
            predictions[case].append(Prediction(task, Series(HUMAN), read, "arrays", has_saliency=False))
    reader_names = tuple(dict.fromkeys(reader for _, _, reader in reader_masks))
    cases_read = {(case, reader) for case, _, reader in reader_masks}
    for case, task, reader in product(predictions, tasks, reader_names):
        # a reader without any mask of a case has not read it
        if (case, reader) not in cases_read:
            continue
        mask = reader_masks.get((case, task, reader), np.zeros(shapes[case], dtype=bool))
        read = partial(_human_content, mask, None)
        series = Series(HUMAN, reader=reader)
        predictions[case].append(Prediction(task, series, read, "arrays", has_saliency=False))
    truths_of_case: dict[str, dict[str, Truth]] = {}
    for (case, task), mask in truth_masks.items():
        truths_of_case.setdefault(case, {})[task] = Truth(partial(masks.encode, mask))
    cases = [
        Case(
            case,
            shapes[case],
            truths_of_case.get(case, {}),
            tuple(case_predictions),
            annotated=bool(truths),
            patient=None if patient is None else patient[case],
        )
        for case, case_predictions in predictions.items()
    ]
    all_series = [Series(method) for _, _, method in maps]
    if has_people:
        all_series.append(Series(HUMAN))
    all_series += [Series(HUMAN, reader=reader) for reader in reader_names]
    return Study(tuple(cases), tasks, tuple(dict.fromkeys(all_series)), "arrays")


def _bool_masks(arrays: Mapping[Any, np.ndarray], option: str) -> dict[Any, np.ndarray]:
    """Return masks as arrays of bool; raise where one is not a mask."""
    checked = {}
    for key, mask in arrays.items():
        try:
            checked[key] = masks.check_mask(mask, f"{option}: {key}", option)
        except SalstatsError as error:
            raise error.prefixed(value=key) from None
    return checked


def _shape_by_case(masks_by_option: Mapping[str, Mapping[Any, np.ndarray]]) -> dict[str, tuple[int, int]]:
    """Return the (height, width) of each case; raise where two masks of a case differ in size."""
    shapes: dict[str, tuple[int, int]] = {}
    for option, masks_of_option in masks_by_option.items():
        for (case, task, *_), mask in masks_of_option.items():
            shape = shapes.setdefault(case, (mask.shape[0], mask.shape[1]))
            if mask.shape != shape:
                raise ShapeError(
                    f"{option}: {case!r}, {task!r} is {mask.shape}, another mask of the case {shape}",
                    option=option,
                    value=(case, task),
                )
    return shapes


def _check_maps_are_2d_and_not_human(maps: Mapping[CaseTaskName, np.ndarray]) -> None:
    """Raise where a map is not two-dimensional, or its method has the name of people, `human`."""
    for key, saliency in maps.items():
        if np.ndim(saliency) != 2:
            raise ShapeError(
                f"maps: {key} has shape {np.shape(saliency)}; a map has two dimensions",
                option="maps",
                value=key,
            )
        if key[2] == HUMAN:
            raise SalstatsError(
                f"maps: {key}: {HUMAN!r} is the method of people",
                hint="name the method",
                option="maps",
                value=key,
            )


def _row_col_points_of_checked_shape(points: Mapping[CaseTask, np.ndarray]) -> dict[CaseTask, np.ndarray]:
    """Return points as float arrays of shape (k, 2); raise where they have another shape."""
    checked = {}
    for pair, rows_and_columns in points.items():
        array = np.asarray(rows_and_columns, dtype=np.float64)
        checked[pair] = check_shape_of_points(array, "points", f"points: {pair}")
    return checked


def _check_prob(prob: Mapping[CaseTask, float]) -> None:
    """Raise where a probability is not between 0 and 1."""
    for pair, value in prob.items():
        if not 0 <= value <= 1:
            raise ValueRangeError(
                f"prob of {pair} must lie between 0 and 1; got {value!r}", option="prob", value=value
            )


def _check_keys(
    values_by_key: Mapping[Any, Any],
    option: str,
    parts: tuple[str, ...],
    cases: Collection[str] | None = None,
    tasks: Collection[str] = (),
) -> None:
    """Raise where a key is not a tuple of text like `parts`, or names a case or task that is not known.

    Without `cases`, any case and task will do.
    """
    for key in values_by_key:
        if not isinstance(key, tuple) or len(key) != len(parts) or not all(isinstance(k, str) for k in key):
            raise SalstatsError(
                f"{option}: key {key!r} must be ({', '.join(parts)}), each as text", option=option, value=key
            )
        if cases is None:
            continue
        for part, name, choices in (("case", key[0], cases), ("task", key[1], tasks)):
            if name not in choices:
                raise SalstatsError(
                    f"{option}: {key} names {part} {name!r}; truths has {quoted(choices)}",
                    option=option,
                    value=key,
                    choices=choices,
                )


def _map_content(prob: float | None, saliency: np.ndarray) -> Content:
    """Return a map with the model's probability, NaN where it is not known."""
    return Content(saliency=np.asarray(saliency), prob=float("nan") if prob is None else float(prob))


def _human_content(mask: np.ndarray | None, points: np.ndarray | None) -> Content:
    """Return the mask and the points that people marked for one task."""
    return Content(
        mask=None if mask is None else masks.encode(mask),
        points=points,
    )
