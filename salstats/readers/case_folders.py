"""Read a study from folders whose files have equal names: maps, and masks of truth, tools and people."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import check_choice, quoted
from salstats.errors import InputFileError, Message, MessagePart, Setting, warn
from salstats.files.paths import check_is_existing_folder
from salstats.images.consensus import CONSENSUS_RULES
from salstats.images.masks import area, empty
from salstats.readers.case_json import (
    ValuesByCaseAndTask,
    check_name,
    image_size_by_case,
    read_xy_points_as_row_col,
    warn_of_points_outside_image,
)
from salstats.readers.case_masks import read_case_masks, read_masks_of_readers
from salstats.readers.case_tables import read_point_table_as_row_col
from salstats.readers.cells import PathLike
from salstats.readers.image_files import image_shape
from salstats.readers.jet_pictures import COLORMAPS
from salstats.readers.map_files import (
    MAP_SUFFIXES,
    MASK_SUFFIXES,
    find_case_files,
    find_files_by_task_and_case,
    warn_of_turned_and_stretched_maps,
)
from salstats.readers.prediction_files import Sources, check_any_case_in_common, prediction, source_by_series
from salstats.readers.score_layouts import compiled_patient_pattern, patients_of_cases
from salstats.study import (
    HUMAN,
    Case,
    Content,
    Prediction,
    Series,
    Study,
    Truth,
    returned_unchanged,
    selected_names,
)

#: Endings of images.
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
#: Task -> case -> file.
FileByTaskAndCase = Mapping[str, Mapping[str, Path]]


@dataclass(frozen=True)
class _StudyFiles:
    """Files of a study: masks and points that are read, and maps that are read when they are scored."""

    truth: ValuesByCaseAndTask
    #: Masks by reader's name, None for a path without a reader's name.
    masks_of_readers: Mapping[str | None, ValuesByCaseAndTask]
    points: ValuesByCaseAndTask | None
    #: Masks of tools.
    masks: Mapping[Series, ValuesByCaseAndTask]
    maps: Mapping[Series, FileByTaskAndCase]
    #: Path that the maps of a series were found in, for messages.
    map_folders: Mapping[Series, PathLike]

    def mask_and_point_files_without_truth(self) -> list[ValuesByCaseAndTask]:
        """List masks and points without the truth."""
        case_files = [*self.masks.values(), *self.masks_of_readers.values()]
        if self.points is not None:
            case_files.append(self.points)
        return case_files

    def cases_of_maps(self, series: Series) -> set[str]:
        """Return the cases of which a series has a map."""
        return {case for files in self.maps[series].values() for case in files}


def read_folders(
    folder: PathLike | None = None,
    *,
    maps: Sources | None = None,
    masks: Sources | None = None,
    truth: PathLike | None = None,
    human: PathLike | Mapping[str, PathLike] | None = None,
    points: PathLike | None = None,
    images: PathLike | None = None,
    task: str = "finding",
    tasks: Sequence[str] | None = None,
    colormap: str | None = None,
    patient_from: str | None = None,
) -> Study:
    r"""Read a study from folders of maps and of masks, whose files have the name of their case.

    Parameters
    ----------
    folder : path, optional
        A folder with the folders `truth`, `maps` (its files, or a folder for each method) and, where there
        are some, `masks` (a folder for each tool), `human`, `images`, and `points.csv` or `points.json`.
        An option below takes the place of what the folder holds.
    maps : path or dict, optional
        The folder of a method's maps, CASE.npy, .npz, .png or .tif, or TASK/CASE.npy; the method has the
        name of the folder. Several as in `{"gradcam": DIR, "ig:densenet121": DIR}`, whose names are
        method[:model[:seed]].
    masks : path or dict, optional
        The masks of a tool, CASE.png or TASK/CASE.png (or another type that `read_mask` reads), or a JSON
        file, case -> task -> COCO run-length code; several as for `maps`.
    truth : path, optional
        The masks of the truth, in the same form. "majority" or "staple": the consensus of the readers of
        `human`, see `Study.with_truth`. Without it two readers or more are needed, as for `reader_overlap`.
    human : path or dict, optional
        Masks that people drew, in the same form; their method is `human`. A dict `{"R1": DIR, "R2": DIR}`
        names several readers.
    points : path, optional
        Points that people marked: a table with the columns `case`, `x`, `y` and, where there are several
        tasks, `task`; or a JSON file, case -> task -> list of (x, y).
    images : path, optional
        The folder of the images, of which only the sizes are read. Masks must have the size of their image.
    task : str, default "finding"
        Name of the finding that the masks mark, where they lie in no folders of tasks.
    tasks : list of str, optional
        Only these tasks, in this order.
    colormap : {None, "jet"}
        Colour map of maps that are colour pictures, whose levels (0 to 255) are read as the map. Maps of
        numbers and grey pictures are read as they are. Without it a colour picture is an error.
    patient_from : str, optional
        Regular expression with one group that finds the patient in the case id.

    Returns
    -------
    Study
        Cases in the order of their names: the file's name without folder and ending. Tasks by name. Series in
        the order given, `human` last. A case without any mask in the truth is left out, as it is not known
        whether its image shows a finding; an empty mask says that it shows none, and so does a task without
        a mask where the case has masks of other tasks. A mask or map that a method lacks is scored as
        missing. People did not look at a case without any mask or point of theirs; in a case with some, a
        task without one is a task for which they marked nothing.

    Raises
    ------
    InputFileError
        There is no truth; a folder is missing or holds no such file; a case has two files; files lie both in
        a folder and in folders of tasks, or maps in one folder and the truth in folders of several tasks; a
        file is damaged or is not a mask; masks of a case, or its image, differ in size; two folders have no
        case, or no task, in common.
    ColumnError
        A column of the table of points is missing, or a cell is not a number.
    SalstatsError
        An option has a value that it does not support.

    Warns
    -----
    SalstatsWarning
        A mask of the truth has no map or mask of a method or reader, a map has no mask of its task, or a case
        is not in the truth. Cases are left out as no file says how large their image is. A task is not in the
        truth. Points lie outside their image. Maps are turned, or do not have the proportions of their image.

    Notes
    -----
    A map covers the whole image, whatever its own resolution, and is resized to the mask when it is scored.
    Masks of tools and people are compared pixel by pixel and must have the size of the truth.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, salstats as ss
    >>> with tempfile.TemporaryDirectory() as place:
    ...     cams, masks = pathlib.Path(place) / "cams", pathlib.Path(place) / "masks"
    ...     _ = cams.mkdir(), masks.mkdir()
    ...     np.save(cams / "a.npy", np.eye(4))
    ...     np.save(masks / "a.npy", np.eye(8, dtype=bool))
    ...     study = ss.read_study(maps={"gradcam": cams}, truth=masks)
    ...     ss.score(study, metrics="hit")[["case", "task", "method", "metric", "score"]]
      case     task   method metric  score
    0    a  finding  gradcam    hit    1.0
    """
    check_name(task, Setting("task"))
    if colormap is not None:
        check_choice(colormap, COLORMAPS, "colormap")
    pattern = compiled_patient_pattern(patient_from)
    paths: dict[str, Any] = {
        "maps": maps,
        "masks": masks,
        "truth": truth,
        "human": human,
        "points": points,
        "images": images,
    }
    if folder is not None:
        named = {option: path for option, path in paths.items() if path is not None}
        paths = {**paths, **_path_or_folders_by_method_by_option(Path(folder), named), **named}
    consensus = None
    if isinstance(truth, str) and truth in CONSENSUS_RULES:
        consensus = truth
        paths["truth"] = None
    files = _read_masks_and_points_find_maps(paths, task)
    # where readers make the truth, or there is none, their cases are the study's
    has_truth = paths["truth"] is not None
    reference = str(files.truth.file)
    _check_cases_in_common_with_truth(files)
    study_tasks = _tasks_to_read(files, tasks)
    sizes = _image_shape_by_case(files, paths["images"])
    _warn_of_true_masks_or_predictions_unmatched(files, sizes, study_tasks)
    for map_series, files_of_task in files.maps.items():
        maps_of_cases = [item for files_of_case in files_of_task.values() for item in files_of_case.items()]
        warn_of_turned_and_stretched_maps(maps_of_cases, sizes, files.map_folders[map_series])
    if files.points is not None:
        warn_of_points_outside_image(files.points, sizes)
    cases = sorted(sizes)
    if has_truth:
        cases = sorted(set(sizes) & set(files.truth.values))
    patients: dict[str, str] = {}
    if pattern is not None:
        patients = dict(zip(cases, patients_of_cases(cases, pattern, reference), strict=True))
    study_cases = []
    for case in cases:
        true_masks = files.truth.values.get(case, {})
        methods = _predictions_of_methods(files, case, study_tasks, sizes[case], colormap)
        people = _predictions_of_people(files, case, study_tasks, sizes[case])
        study_cases.append(
            Case(
                case=case,
                shape=sizes[case],
                truths={name: Truth.of(true_masks[name]) for name in study_tasks if name in true_masks},
                predictions=(*methods, *people),
                annotated=has_truth,
                patient=patients.get(case),
            )
        )
    people_series = [Series(HUMAN, reader=reader) for reader in _named_and_unnamed_readers(files)]
    series = dict.fromkeys([*files.maps, *files.masks, *people_series])
    study = Study(tuple(study_cases), study_tasks, tuple(series), reference)
    if consensus is not None:
        return study.with_truth(consensus)
    return study


def recognise(folder: Path) -> bool:
    """Return whether a folder holds a folder `truth` and one of `maps` or `masks`."""
    has_predictions = (folder / "maps").is_dir() or (folder / "masks").is_dir()
    return has_predictions and (folder / "truth").is_dir()


def _path_or_folders_by_method_by_option(root: Path, named_options: Collection[str]) -> dict[str, Any]:
    """Return the paths of a study that lie in one folder, by the option of `read_folders` that takes them.

    Maps and masks are passed over where `named_options` has them.
    """
    check_is_existing_folder(root)
    paths: dict[str, Any] = {}
    for option in ("truth", "human", "images"):
        if (root / option).is_dir():
            paths[option] = root / option
    for option, suffixes in (("maps", MAP_SUFFIXES), ("masks", MASK_SUFFIXES)):
        if option in named_options or not (root / option).is_dir():
            continue
        visible = sorted(path for path in (root / option).iterdir() if not path.name.startswith("."))
        folder_by_method = {path.name: path for path in visible if path.is_dir()}
        files = [path for path in visible if path.suffix.lower() in suffixes and not path.is_dir()]
        if folder_by_method and files:
            raise InputFileError(
                f"{root / option}: {files[0].name} lies beside the folder {min(folder_by_method)!r}",
                hint="move the files into a folder with the name of their method, or the folders away",
                value=min(folder_by_method),
                path=root / option,
            )
        paths[option] = folder_by_method or {"saliency": root / option}
    for name in ("points.csv", "points.json"):
        if (root / name).exists():
            paths["points"] = root / name
    return paths


def _read_masks_and_points_find_maps(
    path_by_option: Mapping[str, Any], task_outside_folders: str
) -> _StudyFiles:
    """Read masks and points, and find maps.

    Masks of the truth outside of folders of tasks are of the task `task_outside_folders`; other such files
    are of the truth's task, and an error where it has several.
    """
    truth = None
    only_task: str | None = task_outside_folders
    if path_by_option["truth"] is not None:
        truth = read_case_masks(path_by_option["truth"], task_outside_folders)
        true_tasks = sorted(truth.tasks())
        only_task = true_tasks[0] if len(true_tasks) == 1 else None
    readers: dict[str | None, ValuesByCaseAndTask] = {}
    if path_by_option["human"] is not None:
        readers = read_masks_of_readers(path_by_option["human"], only_task)
    if truth is None:
        if len(readers) < 2:
            raise InputFileError(
                "there are no masks of the truth",
                hint=Message(
                    "give their folder as ",
                    Setting("truth"),
                    ", or those of two readers or more as ",
                    Setting("human"),
                ),
                option="truth",
            )
        # no cases, and the first reader's file, which messages name
        truth = ValuesByCaseAndTask(next(iter(readers.values())).file, {}, {})
    points = None
    if path_by_option["points"] is not None:
        points = _read_points(Path(path_by_option["points"]), only_task)
    mask_paths = _paths_by_series(path_by_option["masks"], "masks")
    map_folders = _paths_by_series(path_by_option["maps"], "maps")
    for option, path_of_series in (("masks", mask_paths), ("maps", map_folders)):
        for path in path_of_series.values():
            _check_some_subfolder_is_a_true_task(Path(path), truth, option)
    return _StudyFiles(
        truth=truth,
        masks_of_readers=readers,
        points=points,
        masks={series: read_case_masks(path, only_task) for series, path in mask_paths.items()},
        maps={
            series: find_files_by_task_and_case(path, MAP_SUFFIXES, only_task)
            for series, path in map_folders.items()
        },
        map_folders=map_folders,
    )


def _check_some_subfolder_is_a_true_task(path: Path, truth: ValuesByCaseAndTask, option: str) -> None:
    """Raise where a folder holds folders alone, none of which has the name of a task of the truth."""
    true_tasks = sorted(truth.tasks())
    if not path.is_dir() or not true_tasks:
        return
    visible = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    subfolders = {entry.name: str(entry) for entry in visible if entry.is_dir()}
    has_files = any(entry.suffix.lower() in MASK_SUFFIXES for entry in visible if not entry.is_dir())
    if has_files or not subfolders or set(subfolders) & set(true_tasks):
        return
    raise InputFileError(
        f"{path}: none of its folders ({quoted(subfolders)}) is a task of {truth.file} "
        f"({quoted(true_tasks)})",
        hint=Message("if these are methods, give ", Setting(option, subfolders)),
        column="task",
        value=list(subfolders),
        choices=true_tasks,
        path=path,
    )


def _paths_by_series(sources: Sources | None, option: str) -> dict[Series, PathLike]:
    """Return the paths of maps or masks by series; a single path gives its method's name."""
    if sources is None or isinstance(sources, Mapping):
        return source_by_series(sources, "", option)
    path = Path(sources).absolute()
    name = path.name
    if path.suffix.lower() == ".json":
        name = path.stem
    return source_by_series({name: sources}, "", option)


def _read_points(path: Path, task_if_no_column: str | None) -> ValuesByCaseAndTask:
    """Read the points that people marked, from a JSON file or a table."""
    if path.suffix.lower() == ".json":
        return read_xy_points_as_row_col(path, str)
    return read_point_table_as_row_col(path, task_if_no_column)


def _check_cases_in_common_with_truth(files: _StudyFiles) -> None:
    """Raise where a source has no case in common with the truth."""
    for case_file in files.mask_and_point_files_without_truth():
        check_any_case_in_common(case_file.values, files.truth.values, case_file.file, files.truth.file)
    for series, folder in files.map_folders.items():
        check_any_case_in_common(files.cases_of_maps(series), files.truth.values, folder, files.truth.file)


def _warn_of_true_masks_or_predictions_unmatched(
    files: _StudyFiles, sizes: Mapping[str, tuple[int, int]], tasks: Collection[str]
) -> None:
    """Warn of masks of `tasks` in the truth that a method or reader lacks, and of cases not in the truth.

    Also warn of maps of `tasks` whose case has only masks of other tasks in the truth.
    """
    truth = files.truth
    for case_file in files.mask_and_point_files_without_truth():
        _warn_of_left_out_cases(case_file.values, case_file.file, truth, sizes)
    missing_by_source: dict[str, list[str]] = {}
    for masks in files.masks.values():
        cases_of_task: dict[str, set[str]] = {}
        for case, mask_of_task in masks.values.items():
            for task in mask_of_task:
                cases_of_task.setdefault(task, set()).add(case)
        missing_masks = _names_of_true_masks_without_prediction(cases_of_task, truth, tasks)
        missing_by_source[str(masks.file)] = missing_masks
    for series, files_of_task in files.maps.items():
        folder = files.map_folders[series]
        _warn_of_left_out_cases(files.cases_of_maps(series), folder, truth, sizes)
        missing_by_source[str(folder)] = _names_of_true_masks_without_prediction(files_of_task, truth, tasks)
    _warn_of_true_masks_without_prediction(missing_by_source, truth, tasks)
    _warn_of_findings_taken_for_absent(files, tasks)
    for reader, masks in files.masks_of_readers.items():
        # points have no names of readers, so none of them is by a reader with a name
        points = files.points if reader is None else None
        _warn_of_findings_unmarked_by_reader(masks, points, truth, tasks)


def _warn_of_findings_taken_for_absent(files: _StudyFiles, tasks: Collection[str]) -> None:
    """Warn of maps of a task that the truth lacks for a case of which it has other masks.

    The mask may have been forgotten, or the finding may be absent.
    """
    true_masks = files.truth.values
    absent = set()
    for files_of_task in files.maps.values():
        for task in files.truth.tasks().intersection(tasks, files_of_task):
            for case in files_of_task[task]:
                if case in true_masks and task not in true_masks[case]:
                    absent.add(f"{task}/{case}")
    if absent:
        warn(
            f"{files.truth.file}: maps have no mask of their task ({quoted(sorted(absent))}), and as these "
            "cases have masks of other tasks, the finding is taken for absent",
            hint="add the mask if one was forgotten; an empty mask says that the finding is absent",
            column="task",
            value=sorted(absent),
            path=files.truth.file,
        )


def _warn_of_findings_unmarked_by_reader(
    reader_masks: ValuesByCaseAndTask,
    reader_points: ValuesByCaseAndTask | None,
    truth: ValuesByCaseAndTask,
    tasks: Collection[str],
) -> None:
    """Warn of findings that a reader did not mark, and of cases with findings that the reader has no mask of.

    Findings that the reader marked by a point are left out.
    """
    missed = []
    unseen = []
    for case, true_mask_of_task in sorted(truth.values.items()):
        tasks_with_point: set[str] = set()
        if reader_points is not None:
            tasks_with_point = set(reader_points.values.get(case, ()))
        for task, true_mask in true_mask_of_task.items():
            is_marked = task in tasks_with_point or task in reader_masks.values.get(case, ())
            if task not in tasks or is_marked or not area(true_mask):
                continue
            if case in reader_masks.values:
                missed.append(f"{task}/{case}")
            elif not tasks_with_point:
                unseen.append(case)
    if missed:
        warn(
            f"{reader_masks.file}: {len(missed)} masks of {truth.file} have no counterpart "
            f"({quoted(missed)}), and as these cases have masks of other tasks, nothing counts as drawn",
            hint="add the mask if one was forgotten; an empty mask says that nothing was drawn",
            column="task",
            value=missed,
            path=reader_masks.file,
        )
    if unseen:
        unseen = list(dict.fromkeys(unseen))
        warn(
            f"{reader_masks.file}: {len(unseen)} of {len(truth.values)} cases in {truth.file} "
            f"have no mask ({quoted(unseen)}), so that their scores are undefined",
            hint="an empty mask says that nothing was drawn",
            column="case",
            value=unseen,
            path=reader_masks.file,
        )


def _names_of_true_masks_without_prediction(
    predicted_cases_of_task: Mapping[str, Collection[str]], truth: ValuesByCaseAndTask, tasks: Collection[str]
) -> list[str]:
    """List the masks of `tasks` in the truth for which a method has no map or mask, TASK/CASE or CASE."""
    has_tasks = len(truth.tasks()) > 1
    missing = []
    for case, mask_of_task in sorted(truth.values.items()):
        for task in mask_of_task:
            if task in tasks and case not in predicted_cases_of_task.get(task, ()):
                missing.append(f"{task}/{case}" if has_tasks else case)
    return missing


def _warn_of_true_masks_without_prediction(
    true_masks_by_source_lacking_them: Mapping[str, list[str]],
    truth: ValuesByCaseAndTask,
    tasks: Collection[str],
) -> None:
    """Warn of masks of the truth for which methods have no file, once for all that lack the same masks."""
    n_masks = sum(task in tasks for mask_of_task in truth.values.values() for task in mask_of_task)
    sources_by_missing: dict[tuple[str, ...], list[str]] = {}
    for source, missing in true_masks_by_source_lacking_them.items():
        if missing:
            sources_by_missing.setdefault(tuple(missing), []).append(source)
    for missing_masks, sources in sources_by_missing.items():
        names = ", ".join(sources)
        warn(
            f"{names}: {len(missing_masks)} of {n_masks} masks in {truth.file} have no counterpart "
            f"({quoted(missing_masks)}), so that their scores are undefined",
            column="case",
            value=list(missing_masks),
            path=sources[0],
        )


def _warn_of_left_out_cases(
    cases: Collection[str], source: PathLike, truth: ValuesByCaseAndTask, sizes: Mapping[str, tuple[int, int]]
) -> None:
    """Warn of cases of a source that the truth lacks; without a truth file, of cases without a size."""
    hint: MessagePart = "an empty mask says that nothing is on the image"
    if truth.values:
        left_out = sorted({*cases} - {*truth.values})
        reason = f"have no mask in {truth.file}"
    else:
        left_out = sorted({*cases} - {*sizes})
        reason = "have nothing that says how large their images are"
        hint = Message("give the folder of the images as ", Setting("images"))
    if left_out:
        warn(
            f"{source}: {len(left_out)} of {len(cases)} cases {reason} ({quoted(left_out)}): left out",
            hint=hint,
            column="case",
            value=left_out,
            path=str(source),
        )


def _tasks_to_read(files: _StudyFiles, tasks: Sequence[str] | None) -> tuple[str, ...]:
    """Return the tasks to read; by default those of the truth and then the others, each by name.

    Without `tasks`, warn of a file's tasks that are not in the truth; a file without any of its is an error.
    """
    true_tasks = files.truth.tasks()
    tasks_of_source = {
        str(case_file.file): case_file.tasks() for case_file in files.mask_and_point_files_without_truth()
    }
    for series, files_of_task in files.maps.items():
        tasks_of_source[str(files.map_folders[series])] = set(files_of_task)
    available = set(true_tasks)
    for source, source_tasks in tasks_of_source.items():
        available |= source_tasks
        unknown = sorted(source_tasks - true_tasks)
        if not unknown or not true_tasks or tasks is not None:
            continue
        facts: dict[str, Any] = {
            "column": "task",
            "value": unknown,
            "choices": sorted(true_tasks),
            "path": source,
        }
        message = (
            f"{source}: task {quoted(unknown)} is not in {files.truth.file} ({quoted(sorted(true_tasks))})"
        )
        if not source_tasks & true_tasks:
            raise InputFileError(message, **facts)
        warn(message, **facts)
    return selected_names(
        tasks, [*sorted(true_tasks), *sorted(available - true_tasks)], "task", files.truth.file, required=True
    )


def _image_shape_by_case(files: _StudyFiles, images: PathLike | None) -> dict[str, tuple[int, int]]:
    """Return the (height, width) of each case; raise where two of its masks, or its image, differ in size.

    A case of which there are only maps is left out. Warn of images of cases without map or mask.
    """
    cases = set(files.truth.values)
    for case_file in files.mask_and_point_files_without_truth():
        cases |= set(case_file.values)
    for series in files.maps:
        cases |= files.cases_of_maps(series)
    case_files = [files.truth, *files.mask_and_point_files_without_truth()]
    if images is not None:
        image_of_case = find_case_files(images, IMAGE_SUFFIXES)
        check_any_case_in_common(image_of_case, cases, images, files.truth.file)
        shapes = {case: image_shape(file) for case, file in image_of_case.items() if case in cases}
        case_files.append(ValuesByCaseAndTask(Path(images), {}, shapes))
        without_files = [case for case in image_of_case if case not in cases]
        if without_files:
            warn(
                f"{images}: {len(without_files)} of {len(image_of_case)} images have neither map nor mask "
                f"({quoted(without_files)}) and are left out",
                column="case",
                value=without_files,
                path=str(images),
            )
    return {case: size.shape for case, size in image_size_by_case(case_files).items() if case in cases}


def _named_and_unnamed_readers(files: _StudyFiles) -> list[str | None]:
    """List the names of readers, None for masks or points without a reader's name."""
    readers = list(files.masks_of_readers)
    if files.points is not None and None not in readers:
        readers.append(None)
    return readers


def _predictions_of_methods(
    files: _StudyFiles, case: str, tasks: Sequence[str], shape: tuple[int, int], colormap: str | None
) -> list[Prediction]:
    """Return a case's maps and masks by methods, for each method and task that has one or both."""
    predictions = []
    for series in dict.fromkeys([*files.maps, *files.masks]):
        for task in tasks:
            map_file = files.maps.get(series, {}).get(task, {}).get(case)
            mask = None
            source: object = map_file
            if series in files.masks:
                mask = files.masks[series].values.get(case, {}).get(task)
                source = files.masks[series].file
            if map_file is None and mask is None:
                continue
            predictions.append(
                prediction(task, series, shape, source, map_file=map_file, mask=mask, colormap=colormap)
            )
    return predictions


def _predictions_of_people(
    files: _StudyFiles, case: str, tasks: Sequence[str], shape_of_empty: tuple[int, int]
) -> list[Prediction]:
    """Return a case's masks and points by people, empty for tasks for which they marked nothing.

    Readers without any mask or point of the case are left out.
    """
    predictions = []
    for reader in _named_and_unnamed_readers(files):
        masks = None
        points = None
        if reader in files.masks_of_readers:
            masks = files.masks_of_readers[reader].values.get(case)
        if reader is None and files.points is not None:
            points = files.points.values.get(case)
        if masks is None and points is None:
            continue
        for task in tasks:
            content = Content(
                mask=None if masks is None else masks.get(task, empty(shape_of_empty)),
                points=None if points is None else points.get(task, np.empty((0, 2))),
                shape=shape_of_empty,
            )
            series = Series(HUMAN, reader=reader)
            source = f"people, case {case}"
            read = partial(returned_unchanged, content)
            predictions.append(Prediction(task, series, read, source, has_saliency=False))
    return predictions
