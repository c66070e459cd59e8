"""Read a study from a map folder: a table of maps, a file each, and masks of the truth and of people."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from salstats.checks import InputFileError, SalstatsError, and_more, did_you_mean, quoted, warn
from salstats.files.map_table import TABLE
from salstats.files.paths import check_path
from salstats.images.consensus import RULES
from salstats.images.masks import Rle, empty
from salstats.readers.answers import check_common, prediction
from salstats.readers.case_json import CaseFile, check_name, read_segmentations
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MASK_SUFFIXES, find_case_files, read_rle
from salstats.readers.map_rows import MapRow, read_map_rows, warn_turned
from salstats.readers.shapes import check_pattern, find_patients
from salstats.study import HUMAN, Case, Series, Study, Truth, chosen_names

#: The folder of several readers' masks.
READERS = "readers"


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
        It holds `maps.csv`, one row per map: `case`, `task`, `method`, `path` (from the folder; what
        `read_map` reads), and where they are known `prob`, `label`, `height` and `width` of the image,
        `model`, `seed`, `patient`. An empty cell is unknown. Other columns are left alone. Beside several
        readers' masks there may be no table, and no map.
    truth : path, optional
        The masks of the truth: a JSON file, case -> task -> COCO run-length code; or a folder of masks,
        TASK/CASE.png (or what else `read_mask` reads). By default `truth.json` or `truth` in the folder.
        "majority" or "staple": the consensus of the readers, see `Study.with_truth`.
    human : path or dict, optional
        The masks that people drew, in the same form; their method is `human`. By default `human.json` or
        `human` in the folder, or several readers' in its folder `readers`: each R1.json or
        R1/TASK/CASE.png; a dict `{"R1": FILE, "R2": FILE}` names several.
    tasks : list of str, optional
        Only these tasks, in this order.
    patient_from : str, optional
        Regular expression with one group that finds the patient in the case id, for a table that names none.
    without_truth : bool
        Whether a folder is read that has no truth, for what needs none, such as `map_repeatability`; one with
        several readers always is.

    Returns
    -------
    Study
        Cases in the order of their names: those of the truth, of people and of the maps. Tasks in the order
        of the table, then those that only the truth or people have, by name. Series in the order of the
        table, `human` last. A case without any mask in the truth is not annotated; a task that an annotated
        case lacks is not on the image. Of people, a case without any mask was not looked at; a task that
        such a case lacks is one they marked nothing for.

    Raises
    ------
    InputFileError
        There is no table, no truth, or two of it; a cell of the table is not what it should be (row and
        column are named); a file is missing, damaged or outside the folder; two rows are of one map; the
        rows of a case disagree on its image, label or patient, or with the truth; nothing says how large an
        image is; maps and truth have no case, or no task, in common.
    SalstatsError
        An option cannot be.

    Warns
    -----
    SalstatsWarning
        Cases of the truth have no map; a task of the maps is on no image of the truth.

    See Also
    --------
    salstats.files.map_folder.MapFolder

    Notes
    -----
    Nothing is unpickled, and no path of the table leads out of the folder, also not through a link. Maps are
    opened when they are scored; a map covers the whole image, whatever its own resolution. Masks are read
    here.

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
    here = Path(folder)
    if isinstance(truth, str) and truth in RULES:
        read = partial(read_map_folder, folder, human=human, tasks=tasks, patient_from=patient_from)
        return read(without_truth=True).with_truth(truth)
    pattern = check_pattern(patient_from)
    people = _people(here, human)
    rows = read_map_rows(here) if len(people) < 2 or (here / TABLE).exists() else []
    reference = _masks(here, "truth", truth)
    if reference is None and not without_truth and len(people) < 2:
        raise InputFileError(
            f"{here} has no truth: neither truth.json nor a folder truth with TASK/CASE.png; give it as "
            "truth="
        )
    reference = reference or CaseFile(here, {}, {})
    drawn = [*people.values()]
    _check_cases(rows, reference, drawn, here)
    if tasks is None:
        _check_tasks(rows, reference, here)
    wanted = _wanted(tasks, rows, [reference, *drawn], here)
    by_case: dict[str, list[MapRow]] = {name: [] for name in reference.values}
    for row in rows:
        by_case.setdefault(row.key.case, []).append(row)
    for name in (name for masks in drawn for name in masks.values):
        by_case.setdefault(name, [])
    cases = tuple(_case(name, own, reference, people, wanted, here) for name, own in sorted(by_case.items()))
    without = next((case for case in cases if by_case[case.case] and case.patient is None), None)
    if without is not None and any(case.patient for case in cases):
        raise InputFileError(
            f"{_where(here, by_case[without.case][0])}, column 'patient': empty for case {without.case!r}, "
            "though other cases have one"
        )
    if pattern is not None:
        if any(case.patient for case in cases):
            raise InputFileError(
                f"{here / TABLE} has patients in its column 'patient'; leave patient_from= out"
            )
        patients = find_patients([case.case for case in cases], pattern, here)
        cases = tuple(replace(case, patient=p) for case, p in zip(cases, patients, strict=True))
    scored = {*wanted}
    series = tuple(dict.fromkeys(row.key.series for row in rows if row.key.task in scored))
    study = Study(cases, wanted, (*series, *(Series(HUMAN, reader=r) for r in people)), str(here))
    warn_turned(rows, {case.case: case.shape for case in study}, here)
    return study


def recognise(folder: Path) -> bool:
    """Whether a folder has the table of a map folder, or readers' masks."""
    return (folder / TABLE).is_file() or (folder / READERS).is_dir()


def _case(
    name: str,
    rows: Sequence[MapRow],
    truth: CaseFile,
    people: Mapping[str | None, CaseFile],
    tasks: Sequence[str],
    folder: Path,
) -> Case:
    """A case, of whose size, label and patient all that say them must agree."""
    places = {row.number: _where(folder, row) for row in rows}
    sizes = [
        (masks.shapes[name], str(masks.file)) for masks in (truth, *people.values()) if name in masks.shapes
    ]
    sizes += [(row.shape, places[row.number]) for row in rows if row.shape is not None]
    shape = _agreed(sizes, f"the (height, width) of the image of case {name!r}")
    if shape is None:
        raise InputFileError(
            f"{places[rows[0].number]}: nothing says how large the image of case {name!r} is; give height "
            "and width, or the case a mask in the truth"
        )
    wanted = {*tasks}
    stated: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        if row.key.task in wanted and row.label == row.label:
            place = f"{places[row.number]}, column 'label'"
            stated.setdefault(row.key.task, []).append((row.label, place))
    labels = {
        task: _agreed(said, f"the label of case {name!r}, task {task!r},") for task, said in stated.items()
    }
    patients = [(row.patient, f"{places[row.number]}, column 'patient'") for row in rows if row.patient]
    marked = truth.values.get(name, {})
    answers = [
        prediction(
            row.key.task, row.key.series, shape, row.file, map_file=row.file, prob=row.prob, label=row.label
        )
        for row in rows
        if row.key.task in wanted
    ]
    for reader, file in people.items():
        if name in file.values:
            drawn, series = file.values[name], Series(HUMAN, reader=reader)
            answers += [
                prediction(task, series, shape, file.file, mask=drawn.get(task, empty(shape)))
                for task in tasks
            ]
    return Case(
        case=name,
        shape=shape,
        truths={t: Truth.of(marked[t]) for t in tasks if t in marked},
        predictions=tuple(answers),
        annotated=name in truth.values,
        patient=_agreed(patients, f"the patient of case {name!r}"),
        labels=labels,
    )


def _where(folder: Path, row: MapRow) -> str:
    """What a row is called."""
    return f"{folder / TABLE}, row {row.number}"


def _agreed(said: Sequence[tuple[Any, str]], what: str) -> Any:
    """What all places say, None where there is none; an error where two differ."""
    for value, place in said:
        if value != said[0][0]:
            raise InputFileError(f"{place}: {what} is {value}, in {said[0][1]} it is {said[0][0]}")
    return said[0][0] if said else None


def _masks(folder: Path, name: str, given: PathLike | None) -> CaseFile | None:
    """The masks that an option names, or that lie in the folder; None where there are none."""
    places = [folder / f"{name}.json", folder / name]
    there = [Path(given)] if given is not None else [place for place in places if place.exists()]
    if len(there) > 1:
        raise InputFileError(f"{there[0]} and {there[1]} are both there; remove one, or say {name}=")
    if not there:
        return None
    source = there[0]
    check_path(source)
    if source.is_dir():
        return _masks_of_files(source)
    if source.suffix.lower() != ".json":
        what = "no such file or folder" if not source.exists() else "neither a .json nor a folder"
        raise InputFileError(f"{source}: {what}; masks are in NAME.json, or in TASK/CASE.png")
    found = read_segmentations(source, str)
    values = {
        case: {task: Rle.from_coco(code, found.where(case, task)) for task, code in by_task.items()}
        for case, by_task in found.values.items()
    }
    return replace(found, values=values)


def _people(folder: Path, given: PathLike | Mapping[str, PathLike] | None) -> dict[str | None, CaseFile]:
    """The masks that people drew, by reader; one without a name where nobody says who it was."""
    among = folder / READERS
    if given is None and among.is_dir():
        if any(place.exists() for place in (folder / f"{HUMAN}.json", folder / HUMAN)):
            raise InputFileError(f"{among} and {HUMAN} are both there; remove one, or say human=")
        there = sorted(p for p in among.iterdir() if p.is_dir() or p.suffix.lower() == ".json")
        given = {p.name if p.is_dir() else p.stem: p for p in there if not p.name.startswith(".")}
        if len(given) < len(there) or not given:
            raise InputFileError(f"{among}: holds no READER.json or READER/TASK/CASE.png, or a reader twice")
    if not isinstance(given, Mapping):
        own = _masks(folder, HUMAN, given)
        return {} if own is None else {None: own}
    if not given:
        raise SalstatsError("human= names no reader")
    found = {
        check_name(name, "human=: a reader"): _masks(folder, name, place) for name, place in given.items()
    }
    return {name: masks for name, masks in found.items() if masks is not None}


def _masks_of_files(folder: Path) -> CaseFile:
    """The masks of a folder TASK/CASE.png."""
    values: dict[str, dict[str, Rle]] = {}
    shapes: dict[str, tuple[int, int]] = {}
    for place in sorted(p for p in folder.iterdir() if not p.name.startswith(".")):
        if not place.is_dir():
            if place.suffix.lower() in MASK_SUFFIXES:
                raise InputFileError(
                    f"{place}: a mask lies in a folder of its task, {folder.name}/TASK/CASE.png"
                )
            continue
        task = check_name(place.name, f"{folder}: the task")
        for case, file in find_case_files(place, MASK_SUFFIXES).items():
            mask = read_rle(file)
            _agreed([(shapes.setdefault(case, mask.shape), "another"), (mask.shape, str(file))], "its mask")
            values.setdefault(case, {})[task] = mask
    if not values:
        raise InputFileError(f"{folder}: holds no TASK/CASE.png")
    return CaseFile(folder, values, shapes)


def _wanted(
    tasks: Sequence[str] | None, rows: Sequence[MapRow], masks: Sequence[CaseFile], folder: Path
) -> tuple[str, ...]:
    """The tasks asked for; by default those of the table in its order, then others by name."""
    mapped = dict.fromkeys(row.key.task for row in rows)
    there = (*mapped, *sorted({task for each in masks for task in each.tasks()} - set(mapped)))
    return chosen_names(tasks, there, "task", folder)


def _check_tasks(rows: Sequence[MapRow], truth: CaseFile, folder: Path) -> None:
    """Raise where no task of the maps is in the truth, warn where some are not: names may be misspelt."""
    known = truth.tasks()
    unknown = [row for row in rows if row.key.task not in known]
    if not unknown or not known:
        return
    task = unknown[0].key.task
    hint = did_you_mean(task, known) or f"; its tasks are {quoted(sorted(known))}"
    said = f"{_where(folder, unknown[0])}: task {task!r} is on no image of {truth.file}{hint}"
    if len(unknown) == len(rows):
        raise InputFileError(said)
    warn(said)


def _check_cases(rows: Sequence[MapRow], truth: CaseFile, people: Sequence[CaseFile], folder: Path) -> None:
    """Raise where maps or people have no case in common with the truth; warn of cases without a map."""
    mapped = {row.key.case for row in rows}
    for place, cases in ((folder / TABLE, mapped), *((each.file, each.values) for each in people)):
        check_common(cases, truth.values, place, truth.file)
    without = [case for case in truth.values if case not in mapped] if rows else []
    if without:
        more = and_more(without)
        warn(f"{truth.file}: case {min(without)!r}{more} has no map in {folder / TABLE}")
    # a row that says its image's size is of an image known to be without the findings
    drawn = {case for each in people for case in each.values} - {*truth.values}
    lost = sorted(drawn & {row.key.case for row in rows if row.shape is None})
    if lost and truth.values:
        warn(
            f"{folder / TABLE}: case {lost[0]!r}{and_more(lost)} has maps and no mask in {truth.file}: left "
            "out of scores where the finding is there; height and width in its rows say that it shows none"
        )
