"""Read a study from a map folder: a table of maps, a file for each, and masks of the truth and of people."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from salstats.checks import and_n_more_after_first, did_you_mean, quoted
from salstats.errors import InputFileError, Message, Setting, warn
from salstats.files.map_folder_writer import SETTINGS_FILE
from salstats.files.map_table import TABLE_FILE
from salstats.images.consensus import CONSENSUS_RULES
from salstats.images.masks import empty
from salstats.readers.case_json import ValuesByCaseAndTask
from salstats.readers.case_masks import read_case_masks, read_masks_of_readers
from salstats.readers.cells import PathLike
from salstats.readers.map_files import warn_of_stretched_maps
from salstats.readers.map_rows import MapRow, read_map_rows, warn_of_turned_maps
from salstats.readers.prediction_files import check_any_case_in_common, prediction
from salstats.readers.score_layouts import compiled_patient_pattern, patients_of_cases
from salstats.study import HUMAN, Case, Series, Study, Truth, selected_names

#: Folder of several readers' masks.
READERS_FOLDER = "readers"


def read_map_folder(
    folder: PathLike,
    *,
    truth: PathLike | None = None,
    human: PathLike | Mapping[str, PathLike] | None = None,
    tasks: Sequence[str] | None = None,
    patient_from: str | None = None,
    without_truth: bool = False,
) -> Study:
    r"""Read a study from a folder of maps, as `MapFolder` or anything else writes it.

    Parameters
    ----------
    folder : path
        It holds `maps.csv`, one row per map: `case`, `task`, `method`, `path` (of a file that `read_map`
        reads, relative to the folder), and where they are known `prob`, `label`, `height` and `width` of the
        image, `model`, `seed`, `patient`. An empty cell is unknown. Other columns are not read. With the
        masks of several readers, table and maps may be missing.
    truth : path, optional
        The masks of the truth: a JSON file, case -> task -> COCO run-length code; or a folder of masks,
        TASK/CASE.png (or another type that `read_mask` reads), or CASE.png if all maps are of one task. By
        default `truth.json` or `truth` in the folder.
        "majority" or "staple": the consensus of the readers, see `Study.with_truth`.
    human : path or dict, optional
        The masks that people drew, in the same form; their method is `human`. By default `human.json` or
        `human` in the folder, or the masks of several readers in its folder `readers`, each R1.json or
        R1/TASK/CASE.png. A dict `{"R1": FILE, "R2": FILE}` names several readers.
    tasks : list of str, optional
        Only these tasks, in this order.
    patient_from : str, optional
        Regular expression with one group that finds the patient in the case id, for a table that names none.
    without_truth : bool
        True: read a folder without a truth as well, for functions that need none, such as
        `map_repeatability`. A folder with several readers never needs one.

    Returns
    -------
    Study
        Cases in the order of their names: those of the truth, of people and of the maps. Tasks in the order
        of the table, then those that only the truth or people have, by name. Series in the order of the
        table, `human` last. A case without any mask in the truth is not annotated; it is left out where the
        truth is a folder of masks and the case has neither people's masks nor label 0 in all its rows. Where
        an annotated case has no mask of a task, the finding is absent. People did not look at a case without
        any mask of theirs; in a case with some, a task without one is a task for which they marked nothing.

    Raises
    ------
    InputFileError
        There is no table, no truth, or two of it; a cell of the table has an invalid value (row and column
        are named); a file is missing, damaged or outside the folder; two rows are of one map; the rows of a
        case disagree on its image's size, its label or patient, or with the truth; neither masks nor rows
        have the size of an image; maps and truth have no case, or no task, in common.
    SalstatsError
        An option has a value that it does not support.

    Warns
    -----
    SalstatsWarning
        Cases of the truth have no map; cases have no mask in a folder of masks; a task of the maps is not in
        the truth; maps do not have the proportions of their image (in a folder without `settings.json`).

    See Also
    --------
    salstats.files.map_folder_writer.MapFolder

    Notes
    -----
    A path in the table that leads out of the folder, directly or through a link, is an error. Maps are opened
    when they are scored; a map covers the whole image, whatever its own resolution. Masks are read here.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from salstats.readers.map_folder import read_map_folder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = pathlib.Path(place)
    ...     np.save(folder / "a.npy", np.eye(2))
    ...     (folder / "truth" / "Edema").mkdir(parents=True)
    ...     np.save(folder / "truth" / "Edema" / "a.npy", np.eye(8, dtype=bool))
    ...     _ = (folder / "maps.csv").write_text("case,task,method,path\na,Edema,gradcam,a.npy\n")
    ...     study = read_map_folder(folder)
    ...     study.cases[0].shape, study.cases[0].predictions[0].read().saliency.shape
    ((8, 8), (2, 2))
    """
    root = Path(folder)
    if isinstance(truth, str) and truth in CONSENSUS_RULES:
        readings = read_map_folder(
            folder, human=human, tasks=tasks, patient_from=patient_from, without_truth=True
        )
        return readings.with_truth(truth)
    pattern = compiled_patient_pattern(patient_from)
    has_table = (root / TABLE_FILE).exists()
    rows = read_map_rows(root) if has_table else []
    tasks_of_maps = list(dict.fromkeys(row.key.task for row in rows))
    task_outside_folders = tasks_of_maps[0] if len(tasks_of_maps) == 1 else None
    masks_of_readers = _human_masks_by_reader(root, human, task_outside_folders)
    # without the masks of several readers a table is needed, and its absence an error
    if not has_table and len(masks_of_readers) < 2:
        rows = read_map_rows(root)
    true_masks = _read_masks_or_none(root, "truth", truth, task_outside_folders)
    if true_masks is None:
        if not without_truth and len(masks_of_readers) < 2:
            raise InputFileError(
                f"{root} has no truth: neither truth.json nor a folder truth with TASK/CASE.png",
                hint=Message("give it as ", Setting("truth")),
                option="truth",
                path=root,
            )
        # a truth without cases, so that all other cases are read
        true_masks = ValuesByCaseAndTask(root, {}, {})
    human_masks = list(masks_of_readers.values())
    _check_cases_in_common_with_truth(rows, true_masks, human_masks, root)
    if tasks is None:
        _check_any_task_in_truth(rows, true_masks, root)
    study_tasks = _tasks_to_read(tasks, rows, [true_masks, *human_masks], root)
    rows_of_case = _rows_by_case_minus_cases_lacking_mask(rows, true_masks, human_masks, root)
    cases = [
        _case_of_rows(case, case_rows, true_masks, masks_of_readers, study_tasks, root)
        for case, case_rows in sorted(rows_of_case.items())
    ]
    _check_all_or_no_patients(cases, rows_of_case, root)
    if pattern is not None:
        cases = _cases_with_patients(cases, pattern, root)
    series = [row.key.series for row in rows if row.key.task in study_tasks]
    series += [Series(HUMAN, reader=reader) for reader in masks_of_readers]
    study = Study(tuple(cases), study_tasks, tuple(dict.fromkeys(series)), str(root))
    shapes = {case.case: case.shape for case in study}
    warn_of_turned_maps(rows, shapes, root)
    # where there are settings, `MapFolder` wrote the maps, which cover their images
    if not (root / SETTINGS_FILE).exists():
        warn_of_stretched_maps([(row.key.case, row.file) for row in rows], shapes, root)
    return study


def recognise(folder: Path) -> bool:
    """Return whether a folder has the table of a map folder, or a folder of readers' masks."""
    return (folder / TABLE_FILE).is_file() or (folder / READERS_FOLDER).is_dir()


def _case_of_rows(
    name: str,
    rows: Sequence[MapRow],
    truth: ValuesByCaseAndTask,
    masks_of_readers: Mapping[str | None, ValuesByCaseAndTask],
    tasks: Sequence[str],
    folder: Path,
) -> Case:
    """Make a case from its rows in the table of `folder` and its masks.

    Raise where rows and masks disagree on its size, a label or its patient.
    """
    shape = _image_shape(name, rows, [truth, *masks_of_readers.values()], folder)
    true_masks = truth.values.get(name, {})
    predictions = [
        prediction(
            row.key.task, row.key.series, shape, row.file, map_file=row.file, prob=row.prob, label=row.label
        )
        for row in rows
        if row.key.task in tasks
    ]
    for reader, masks in masks_of_readers.items():
        if name not in masks.values:
            continue
        human_masks = masks.values[name]
        series = Series(HUMAN, reader=reader)
        # a task for which a reader marked nothing has an empty mask
        predictions += [
            prediction(task, series, shape, masks.file, mask=human_masks.get(task, empty(shape)))
            for task in tasks
        ]
    patients = [(row.patient, row) for row in rows if row.patient]
    return Case(
        case=name,
        shape=shape,
        truths={task: Truth.of(true_masks[task]) for task in tasks if task in true_masks},
        predictions=tuple(predictions),
        annotated=name in truth.values,
        patient=_agreed_value(patients, folder, f"the patient of case {name!r}", column="patient"),
        labels=_label_by_task(name, rows, tasks, folder),
    )


def _image_shape(
    case: str, rows: Sequence[MapRow], human_masks: Sequence[ValuesByCaseAndTask], folder: Path
) -> tuple[int, int]:
    """Return the (height, width) of a case in masks or rows; raise where none has it, or two differ."""
    shapes: list[tuple[tuple[int, int], Path | MapRow]] = []
    shapes += [(masks.shapes[case], masks.file) for masks in human_masks if case in masks.shapes]
    shapes += [(row.shape, row) for row in rows if row.shape is not None]
    shape: tuple[int, int] | None = _agreed_value(
        shapes, folder, f"the (height, width) of the image of case {case!r}"
    )
    if shape is None:
        raise InputFileError(
            f"{_row_location(folder, rows[0])}: nothing says how large the image of case {case!r} is; give "
            "height and width, or add a mask of the case to the truth",
            column="height",
            rows=[rows[0].position],
            path=folder / TABLE_FILE,
        )
    return shape


def _label_by_task(case: str, rows: Sequence[MapRow], tasks: Sequence[str], folder: Path) -> dict[str, float]:
    """Return the label of each task that has one in the rows; raise where two rows differ."""
    labels: dict[str, list[tuple[float, MapRow]]] = {}
    for row in rows:
        if row.key.task in tasks and not math.isnan(row.label):
            labels.setdefault(row.key.task, []).append((row.label, row))
    return {
        task: _agreed_value(values, folder, f"the label of case {case!r}, task {task!r},", column="label")
        for task, values in labels.items()
    }


def _check_all_or_no_patients(
    cases: Sequence[Case], rows_of_case: Mapping[str, Sequence[MapRow]], folder: Path
) -> None:
    """Raise where some cases with maps have a patient and others have none."""
    if not any(case.patient for case in cases):
        return
    for case in cases:
        case_rows = rows_of_case[case.case]
        if case_rows and case.patient is None:
            raise InputFileError(
                f"{_row_location(folder, case_rows[0])}, column 'patient': empty for case {case.case!r}, "
                "though other cases have one",
                column="patient",
                rows=[case_rows[0].position],
                path=folder / TABLE_FILE,
            )


def _cases_with_patients(cases: Sequence[Case], pattern: re.Pattern[str], folder: Path) -> list[Case]:
    """Return cases with the patients that a pattern finds in their names; raise where some have one."""
    if any(case.patient for case in cases):
        raise InputFileError(
            f"{folder / TABLE_FILE} has patients in its column 'patient'",
            hint=Message("leave ", Setting("patient_from"), " out"),
            option="patient_from",
            column="patient",
            path=folder / TABLE_FILE,
        )
    patients = patients_of_cases([case.case for case in cases], pattern, folder)
    return [replace(case, patient=patient) for case, patient in zip(cases, patients, strict=True)]


def _row_location(folder: Path, row: MapRow) -> str:
    """Return the path of the table and the number of a row, as text for messages."""
    return f"{folder / TABLE_FILE}, row {row.row_number}"


def _agreed_value(
    values_with_sources: Sequence[tuple[Any, Path | MapRow]],
    folder: Path,
    description: str,
    column: str | None = None,
) -> Any:
    """Return the value of all pairs (value, source), None where there is no pair; raise where two differ.

    A source is a file, or a row of the folder's table with the value in its `column`; `description` names the
    value in the message.
    """
    if not values_with_sources:
        return None
    first_value, first_source = values_with_sources[0]
    for value, source in values_with_sources:
        if value != first_value:
            raise InputFileError(
                f"{_source_location(source, folder, column)}: {description} is {value}, in "
                f"{_source_location(first_source, folder, column)} it is {first_value}",
                value=value,
                column=column,
                rows=[source.position] if isinstance(source, MapRow) else (),
                path=folder / TABLE_FILE if isinstance(source, MapRow) else source,
            )
    return first_value


def _source_location(source: Path | MapRow, folder: Path, column: str | None) -> str:
    """Return a file, or the row and column of the table, as text for messages."""
    if not isinstance(source, MapRow):
        return str(source)
    location = _row_location(folder, source)
    if column is not None:
        location += f", column {column!r}"
    return location


def _rows_by_case_minus_cases_lacking_mask(
    rows: Sequence[MapRow],
    true_masks: ValuesByCaseAndTask,
    human_masks: Sequence[ValuesByCaseAndTask],
    folder: Path,
) -> dict[str, list[MapRow]]:
    """Return the rows of each case to read, of cases in the truth first; a case with masks may have no row.

    Warn of cases that are left out.
    """
    rows_of_case: dict[str, list[MapRow]] = {case: [] for case in true_masks.values}
    for row in rows:
        rows_of_case.setdefault(row.key.case, []).append(row)
    for masks in human_masks:
        for case in masks.values:
            rows_of_case.setdefault(case, [])
    for case in _warn_of_and_list_left_out_cases(rows_of_case, true_masks, human_masks, folder):
        del rows_of_case[case]
    return rows_of_case


def _warn_of_and_list_left_out_cases(
    rows_of_case: Mapping[str, Sequence[MapRow]],
    truth: ValuesByCaseAndTask,
    human_masks: Sequence[ValuesByCaseAndTask],
    folder: Path,
) -> list[str]:
    """Return the cases whose file of a mask may have been forgotten, and warn that they are left out.

    These have no mask in the truth's folder of masks, no masks of people, and a row whose label is not 0. A
    truth in a JSON file need only name cases with findings, so that none is left out.
    """
    if not truth.values or not truth.file.is_dir():
        return []
    cases_with_masks = set(truth.values).union(*(masks.values for masks in human_masks))
    left_out = sorted(
        case
        for case, rows in rows_of_case.items()
        if case not in cases_with_masks and not all(row.label == 0 for row in rows)
    )
    if left_out:
        warn(
            f"{folder}: {len(left_out)} of {len(rows_of_case)} cases have no mask in {truth.file} "
            f"({quoted(left_out)}): left out",
            hint="an empty mask, or label 0 in the table, says that nothing is on the image",
            column="case",
            value=left_out,
            path=str(folder),
        )
    return left_out


def _read_masks_or_none(
    folder: Path, name: str, path: PathLike | None, task_outside_folders: str | None = None
) -> ValuesByCaseAndTask | None:
    """Read the masks of a path, or by default of NAME.json or NAME in the folder; None where there are none.

    `task_outside_folders` is as for `read_case_masks`.
    """
    if path is not None:
        paths = [Path(path)]
    else:
        paths = [file for file in (folder / f"{name}.json", folder / name) if file.exists()]
    if len(paths) > 1:
        raise InputFileError(
            f"{paths[0]} and {paths[1]} are both there",
            hint=Message("remove one, or choose with ", Setting(name)),
            option=name,
            path=paths[0],
        )
    if not paths:
        return None
    return read_case_masks(paths[0], task_outside_folders)


def _human_masks_by_reader(
    folder: Path, human: PathLike | Mapping[str, PathLike] | None, task_outside_folders: str | None
) -> dict[str | None, ValuesByCaseAndTask]:
    """Read the masks that people drew, by reader's name; None for masks without a reader's name.

    `task_outside_folders` is as for `read_case_masks`.
    """
    if human is None and (folder / READERS_FOLDER).is_dir():
        human = _mask_path_by_reader(folder)
    if human is not None:
        return read_masks_of_readers(human, task_outside_folders)
    masks = _read_masks_or_none(folder, HUMAN, None, task_outside_folders)
    if masks is None:
        return {}
    return {None: masks}


def _mask_path_by_reader(folder: Path) -> dict[str, Path]:
    """Return the file or folder of masks of each reader in the folder `readers`."""
    readers = folder / READERS_FOLDER
    if (folder / f"{HUMAN}.json").exists() or (folder / HUMAN).exists():
        raise InputFileError(
            f"{readers} and {HUMAN} are both there",
            hint=Message("remove one, or choose with ", Setting("human")),
            option="human",
            path=readers,
        )
    paths = sorted(path for path in readers.iterdir() if path.is_dir() or path.suffix.lower() == ".json")
    visible = [path for path in paths if not path.name.startswith(".")]
    path_of_reader: dict[str, Path] = {}
    for path in visible:
        reader = path.name if path.is_dir() else path.stem
        path_of_reader[reader] = path
    if len(path_of_reader) < len(visible) or not path_of_reader:
        raise InputFileError(
            f"{readers}: holds no READER.json or READER/TASK/CASE.png, or a reader twice", path=readers
        )
    return path_of_reader


def _tasks_to_read(
    tasks: Sequence[str] | None,
    rows: Sequence[MapRow],
    human_masks: Sequence[ValuesByCaseAndTask],
    folder: Path,
) -> tuple[str, ...]:
    """Return the tasks to read; by default those of the table in its order, then others by name."""
    tasks_of_maps = list(dict.fromkeys(row.key.task for row in rows))
    tasks_of_masks = {task for masks in human_masks for task in masks.tasks()}
    available = (*tasks_of_maps, *sorted(tasks_of_masks.difference(tasks_of_maps)))
    return selected_names(tasks, available, "task", folder)


def _check_any_task_in_truth(rows: Sequence[MapRow], truth: ValuesByCaseAndTask, folder: Path) -> None:
    """Raise where no task of the maps is in the truth; warn where some are not, which may be misspelt."""
    true_tasks = truth.tasks()
    unknown = [row for row in rows if row.key.task not in true_tasks]
    if not unknown or not true_tasks:
        return
    task = unknown[0].key.task
    hint = did_you_mean(task, true_tasks) or f"; its tasks are {quoted(sorted(true_tasks))}"
    message = f"{_row_location(folder, unknown[0])}: task {task!r} is on no image of {truth.file}{hint}"
    facts: dict[str, Any] = {
        "column": "task",
        "value": task,
        "choices": sorted(true_tasks),
        "rows": [unknown[0].position],
        "path": folder / TABLE_FILE,
    }
    if len(unknown) == len(rows):
        raise InputFileError(message, **facts)
    warn(message, **facts)


def _check_cases_in_common_with_truth(
    rows: Sequence[MapRow],
    truth: ValuesByCaseAndTask,
    human_masks: Sequence[ValuesByCaseAndTask],
    folder: Path,
) -> None:
    """Raise where maps or people have no case in common with the truth; warn of cases without a map."""
    table = folder / TABLE_FILE
    cases_with_map = {row.key.case for row in rows}
    check_any_case_in_common(cases_with_map, truth.values, table, truth.file)
    for masks in human_masks:
        check_any_case_in_common(masks.values, truth.values, masks.file, truth.file)
    if rows:
        without_map = [case for case in truth.values if case not in cases_with_map]
        if without_map:
            warn(
                f"{truth.file}: case {min(without_map)!r}{and_n_more_after_first(without_map)} "
                f"has no map in {table}",
                column="case",
                value=min(without_map),
                path=truth.file,
            )
    # a case with its image's size in its rows needs no mask: its image shows none of the findings
    cases_without_size = {row.key.case for row in rows if row.shape is None}
    cases_of_people = {case for masks in human_masks for case in masks.values}
    without_truth = sorted((cases_of_people - set(truth.values)) & cases_without_size)
    if without_truth and truth.values:
        warn(
            f"{table}: case {without_truth[0]!r}{and_n_more_after_first(without_truth)} has maps and no "
            f"mask in {truth.file}: left out of scores where the finding is there; height and width in its "
            "rows say that it shows none",
            column="case",
            value=without_truth[0],
            path=table,
        )
