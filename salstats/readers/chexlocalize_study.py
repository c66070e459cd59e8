"""Make a study of files in the CheXlocalize format: its cases, their truth, the predictions."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain, product
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, InputFileError, Message, Setting, warn
from salstats.images.masks import Rle, empty
from salstats.images.polygons import polygons_rle
from salstats.readers.case_json import (
    SizeInFile,
    ValuesByCaseAndTask,
    image_size_by_case,
    read_outlines_as_vertices_xy,
    read_rle_masks_json,
    read_xy_points_as_row_col,
    warn_of_points_outside_image,
)
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_maps import (
    CHEXPERT_CLASSES,
    TASKS,
    canonical_task_name,
    case_and_task_of_map,
    empty_mask_of_image_size,
    read_prediction_content,
)
from salstats.readers.prediction_files import check_any_case_in_common
from salstats.readers.score_layouts import patients_of_cases
from salstats.readers.tables import read_fixed_columns_table
from salstats.study import HUMAN, Case, Prediction, Series, Study, Truth, selected_names

#: Finds the patient in the release's case ids, such as patient64541_study1_view1_frontal.
PATIENT_PATTERN = r"^(patient\d+)"
#: Columns of a table of labels that are not tasks.
_NON_TASK_COLUMNS = ("Path", "case", "Study", "Sex", "Age", "Frontal/Lateral", "AP/PA")
#: Kind of a file -> the function that reads it.
_READ_FUNCTIONS = {
    "truth": read_rle_masks_json,
    "annotations": read_outlines_as_vertices_xy,
    "human": read_rle_masks_json,
    "human_annotations": read_outlines_as_vertices_xy,
    "points": read_xy_points_as_row_col,
}
#: Label of a finding that may or may not be present.
_UNCERTAIN = -1
#: Case -> task -> 0, 1, or NaN where it is not known.
LabelOfCaseAndTask = dict[str, dict[str, float]]


class StudyFiles(NamedTuple):
    """Files of a study, read except for its maps."""

    #: Masks of the truth, segmentations before outlines.
    truth: list[ValuesByCaseAndTask]
    #: Masks that people drew by reader, None where the reader is not named; segmentations before outlines.
    masks_of_readers: dict[str | None, list[ValuesByCaseAndTask]]
    #: Points that people marked.
    points: list[ValuesByCaseAndTask]
    labels: LabelOfCaseAndTask
    #: Masks of methods.
    masks: dict[Series, list[ValuesByCaseAndTask]]
    #: Maps of methods by (case, task).
    maps: dict[Series, dict[tuple[str, str], Path]]

    @property
    def human_mask_files(self) -> list[ValuesByCaseAndTask]:
        """Files of masks that people drew."""
        return list(chain.from_iterable(self.masks_of_readers.values()))

    @property
    def non_truth_files(self) -> list[ValuesByCaseAndTask]:
        """Files of masks and points that are not the truth, those of people first."""
        return [*self.human_mask_files, *self.points, *chain.from_iterable(self.masks.values())]


def read_study_files_except_maps(
    file_by_kind: Mapping[str, Path],
    human_files_by_kind: Mapping[str, Mapping[str | None, Path]],
    mask_files: Mapping[Series, PathLike],
    map_files: Mapping[Series, Sequence[Path]],
    tasks: Sequence[str] | None,
) -> StudyFiles:
    """Read the files of a study except for its maps.

    Without `tasks`, a map or mask of a task that no other file has and that is not a class of CheXpert is an
    error.

    Parameters
    ----------
    file_by_kind : mapping of str to path
        Files of the truth, of points and of labels, by kind.
    human_files_by_kind : mapping of str to mapping
        Files of people, by kind and reader.
    mask_files : mapping of Series to path
        Files of masks, by series.
    map_files : mapping of Series to sequence of path
        Maps, by series.
    tasks : sequence of str or None
        Tasks to read; None for all.
    """
    truth = _read_files_of_kinds(file_by_kind, ("truth", "annotations"))
    points = _read_files_of_kinds(file_by_kind, ("points",))
    masks_of_readers: dict[str | None, list[ValuesByCaseAndTask]] = {}
    for kind, file_of_reader in human_files_by_kind.items():
        for reader, file in file_of_reader.items():
            masks_of_readers.setdefault(reader, []).append(_READ_FUNCTIONS[kind](file, canonical_task_name))
    labels: LabelOfCaseAndTask = {}
    if "labels" in file_by_kind:
        labels = read_labels(file_by_kind["labels"])
    masks = {
        series: [read_rle_masks_json(Path(file), canonical_task_name)] for series, file in mask_files.items()
    }
    # every case has a label of every task, so that the first has all tasks
    labelled_tasks = next(iter(labels.values()), {})
    study_tasks = {*CHEXPERT_CLASSES, *(tasks or ()), *labelled_tasks}
    for case_file in (*truth, *points, *chain.from_iterable(masks_of_readers.values())):
        study_tasks |= set(case_file.tasks())
    maps = {series: _map_path_by_case_and_task(paths, study_tasks) for series, paths in map_files.items()}
    if tasks is None:
        for case_file in chain.from_iterable(masks.values()):
            _check_tasks_are_known(case_file.tasks(), case_file.file, study_tasks)
        for path_of_map in maps.values():
            for (_, task), path in path_of_map.items():
                _check_tasks_are_known([task], path, study_tasks)
    return StudyFiles(truth, masks_of_readers, points, labels, masks, maps)


def _read_files_of_kinds(file_by_kind: Mapping[str, Path], kinds: Sequence[str]) -> list[ValuesByCaseAndTask]:
    """Read the files of `kinds`, in that order; a kind without a file is skipped."""
    return [
        _READ_FUNCTIONS[kind](file_by_kind[kind], canonical_task_name)
        for kind in kinds
        if kind in file_by_kind
    ]


def _map_path_by_case_and_task(
    paths: Sequence[Path], study_tasks: Collection[str]
) -> dict[tuple[str, str], Path]:
    """Return the path of the map of each case and task; raise where one has two."""
    path_of_map: dict[tuple[str, str], Path] = {}
    for path in paths:
        case, task = case_and_task_of_map(path, study_tasks)
        first_path = path_of_map.setdefault((case, task), path)
        if first_path != path:
            raise InputFileError(
                f"case {case}, task {task} has two maps, {first_path} and {path}",
                hint=Message(
                    "remove one, or give each method its folder: ",
                    Setting("maps", {"gradcam": "DIR", "ig": "DIR"}),
                ),
                option="maps",
                value=(case, task),
                path=path,
            )
    return path_of_map


def _check_tasks_are_known(tasks: Iterable[str], path: Path, study_tasks: Collection[str]) -> None:
    """Raise where a task is not in `study_tasks`; `path` is the file that has it."""
    for task in tasks:
        if task in study_tasks:
            continue
        guess = f"known are {quoted(sorted(study_tasks))}."
        close = get_close_matches(task, sorted(study_tasks), n=1)
        if close:
            guess = f"did you mean {close[0]!r}?"
        raise InputFileError(
            f"{path}: task {task!r} is not known",
            hint=Message(
                f"{guess} Name it in ",
                Setting("tasks"),
                ", with all others to be read, if it is a task",
            ),
            option="tasks",
            value=task,
            choices=sorted(study_tasks),
            path=path,
        )


def case_of_image_path(path: str) -> str:
    """Return the case of an image's path, such as patient1_study1_view1_frontal."""
    posix_path = PurePosixPath(path.replace("\\", "/"))
    return "_".join([*posix_path.parts[-3:-1], posix_path.stem])


def read_labels(path: Path) -> LabelOfCaseAndTask:
    """Read image-level labels from a table with a column `Path` or `case` and one column for each task.

    Labels are 0, 1, or NaN for empty cells and for -1 (uncertain), whose number a warning gives.
    """
    table = read_fixed_columns_table(path, ColumnError)
    if "Path" in table.columns:
        name = "Path"
    elif "case" in table.columns:
        name = "case"
    else:
        raise ColumnError(
            f"{path} has no column 'Path' (of images) or 'case'; labels need one", column="case", path=path
        )
    cells = table.cells.rename(columns={name: "case"})
    if name == "Path":
        cells = cells.assign(case=cells["case"].astype(TEXT).map(case_of_image_path))
    labels: LabelOfCaseAndTask = {
        case: {} for case in table.with_cells(cells).checked_distinct_case_of_each_row()
    }
    n_uncertain = 0
    for column in table.columns:
        if column in _NON_TASK_COLUMNS:
            continue
        if canonical_task_name(column) != column and canonical_task_name(column) in table.columns:
            raise ColumnError(
                f"{path}: column {column!r} is another name of {canonical_task_name(column)!r}; drop one",
                column=column,
                path=path,
            )
        values = table.numbers(
            column,
            _is_neither_label_nor_uncertain,
            "is not a label; labels are 0, 1, -1 (uncertain) or empty",
        )
        is_uncertain = values == _UNCERTAIN
        n_uncertain += int(is_uncertain.sum())
        values[is_uncertain] = np.nan
        for label_of_task, value in zip(labels.values(), values.tolist(), strict=True):
            label_of_task[canonical_task_name(column)] = value
    if n_uncertain:
        warn(
            f"{path}: {n_uncertain} labels are uncertain (-1) and count as not known",
            value=n_uncertain,
            path=path,
        )
    return labels


def _is_neither_label_nor_uncertain(values: np.ndarray) -> np.ndarray:
    """Return True for each number other than 0, 1, -1 (uncertain) and NaN."""
    return ~np.isin(values, (0, 1, _UNCERTAIN)) & ~np.isnan(values)


def study_of_files(
    files: StudyFiles, source: str, tasks: Sequence[str] | None, patient_pattern: re.Pattern[str] | None
) -> Study:
    """Make a study from its files, with the patients that a pattern finds in the names of cases."""
    annotated = {case for case_file in files.truth for case in case_file.values}
    reference = files.truth[0].file if files.truth else Path(source)
    for case_file in files.non_truth_files:
        check_any_case_in_common(case_file.values, annotated, case_file.file, reference)
    # one map of each case: it has the size of the image where masks and outlines do not
    map_of_case: dict[str, Path] = {}
    for path_of_map in files.maps.values():
        folder = next(iter(path_of_map.values())).parent
        check_any_case_in_common({case for case, _ in path_of_map}, annotated, folder, reference)
        map_of_case |= {case: path for (case, _), path in path_of_map.items()}
    cases = sorted(annotated.union(map_of_case, *(case_file.values for case_file in files.non_truth_files)))
    if not cases:
        raise InputFileError(f"{reference}: holds no case", column="case", path=reference)
    study_tasks = _tasks_to_read(files, tasks, source)
    sizes = image_size_by_case([*files.truth, *files.non_truth_files])
    for case_file in files.points:
        warn_of_points_outside_image(case_file, {case: size.shape for case, size in sizes.items()})
    patients: dict[str, str] = {}
    # the default pattern may fit no case: then there are no patients
    fits_some = patient_pattern is not None and any(map(patient_pattern.search, cases))
    if patient_pattern is not None and (patient_pattern.pattern != PATIENT_PATTERN or fits_some):
        patients = dict(zip(cases, patients_of_cases(cases, patient_pattern, source), strict=True))
    study_cases = []
    for case in cases:
        size = sizes.get(case)
        labels = files.labels.get(case, {})
        method_predictions = _method_predictions(files, case, study_tasks, size)
        human_predictions = _human_predictions(files, case, study_tasks, size, map_of_case.get(case))
        study_cases.append(
            Case(
                case=case,
                shape=size.shape if size else None,
                truths=_truth_by_task_with_mask(files, case, study_tasks),
                predictions=(*method_predictions, *human_predictions),
                annotated=case in annotated,
                patient=patients.get(case),
                labels={task: labels[task] for task in study_tasks if task in labels},
            )
        )
    people = [Series(HUMAN, reader=reader) for reader in _named_and_unnamed_readers(files)]
    series = dict.fromkeys([*files.maps, *files.masks, *people])
    return Study(tuple(study_cases), study_tasks, tuple(series), source)


def _named_and_unnamed_readers(files: StudyFiles) -> list[str | None]:
    """List the names of readers, None for masks or points without a reader's name."""
    readers = list(files.masks_of_readers)
    if files.points and None not in readers:
        readers.append(None)
    return readers


def _tasks_to_read(files: StudyFiles, tasks: Sequence[str] | None, source: str) -> tuple[str, ...]:
    """Return the tasks to read.

    By default the release's in its order, then others of the truth and of people by name. Warn of other
    tasks of maps and masks, which are left out.
    """
    annotated: set[str] = set()
    for case_file in (*files.truth, *files.human_mask_files, *files.points):
        annotated.update(case_file.tasks())
    available = set(annotated)
    for case_file in files.non_truth_files:
        available.update(case_file.tasks())
    for path_of_map in files.maps.values():
        available.update(task for _, task in path_of_map)
    if tasks is not None:
        return selected_names(tasks, sorted(available), "task", source, required=True)
    excluded = sorted(available - annotated - set(TASKS))
    if excluded:
        warn(
            f"no truth has task {quoted(excluded)}, whose maps are left out",
            hint=Message("name the tasks to be read with ", Setting("tasks")),
            option="tasks",
            value=excluded,
        )
    release_tasks = [task for task in TASKS if task in available]
    return (*release_tasks, *sorted(annotated - set(TASKS)))


def _truth_by_task_with_mask(files: StudyFiles, case: str, tasks: Sequence[str]) -> dict[str, Truth]:
    """Return the truth of each task for which the files hold a mask of the case."""
    outlines = None
    for case_file in files.truth:
        if case_file.holds_outlines and case in case_file.values:
            outlines = case_file.values[case]
            break
    truths = {}
    for task in tasks:
        read_mask = _mask_function_of_first_file_with_case(files.truth, case, task)
        if read_mask is not None:
            n_instances = None if outlines is None else len(outlines.get(task, ()))
            truths[task] = Truth(read_mask, n_instances)
    return truths


def _method_predictions(
    files: StudyFiles, case: str, tasks: Sequence[str], size: SizeInFile | None
) -> Iterator[Prediction]:
    """Yield a case's predictions by methods: a map, a mask or both for each method and task with any."""
    for series in dict.fromkeys([*files.maps, *files.masks]):
        mask_files = files.masks.get(series, [])
        for task in tasks:
            map_file = files.maps.get(series, {}).get((case, task))
            read_mask = _mask_function_of_first_file_with_case(mask_files, case, task)
            if map_file is None and read_mask is None:
                continue
            read = partial(
                read_prediction_content,
                task,
                case=case,
                # the map may be read by a process whose working directory differs
                map_file=None if map_file is None else map_file.absolute(),
                read_mask=read_mask,
                shape=size.shape if size else None,
                shape_source=str(size.file) if size else "",
            )
            source = str(map_file or mask_files[0].file)
            yield Prediction(task, series, read, source, has_saliency=map_file is not None)


def _human_predictions(
    files: StudyFiles,
    case: str,
    tasks: Sequence[str],
    size: SizeInFile | None,
    map_file_with_size: Path | None,
) -> Iterator[Prediction]:
    """Yield a case's predictions by people, with an empty mask for tasks that their files lack.

    `map_file_with_size` is a map's file, which has the size of the image where `size` is None. A named
    reader whose files lack the case did not read it, and has no prediction.
    """
    for reader, task in product(_named_and_unnamed_readers(files), tasks):
        mask_files = files.masks_of_readers.get(reader, [])
        if reader is not None and not any(case in file.values for file in mask_files):
            continue
        read_mask = _mask_function_of_first_file_with_case(mask_files, case, task)
        if read_mask is None and mask_files and size is not None:
            read_mask = partial(empty, size.shape)
        elif read_mask is None and mask_files and map_file_with_size is not None:
            read_mask = partial(empty_mask_of_image_size, map_file_with_size, case)
        point_files = files.points if reader is None else []
        points = None
        # a study has one file of points at most
        if point_files:
            no_points = np.empty((0, 2))
            points = point_files[0].values.get(case, {}).get(task, no_points)
        read = partial(
            read_prediction_content,
            task,
            case=case,
            read_mask=read_mask,
            points=points,
            shape=size.shape if size else None,
        )
        source = str([*mask_files, *point_files][0].file)
        yield Prediction(task, Series(HUMAN, reader=reader), read, source, has_saliency=False)


def _mask_function_of_first_file_with_case(
    files: Sequence[ValuesByCaseAndTask], case: str, task: str
) -> Callable[[], Rle] | None:
    """Return a function that decodes or draws the mask of a case and task; None where there is no mask.

    The mask is that of the first file with the case, as a run-length code or as outlines.
    """
    for file in files:
        if case not in file.values:
            continue
        entry = file.values[case].get(task)
        if entry is None:
            return None
        if file.holds_outlines:
            return partial(polygons_rle, entry, file.shapes[case])
        return partial(file.mask, case, task)
    return None
