"""Read a study from a map folder: a table of maps, a file each, and masks of the truth and of people."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from salstats.checks import InputFileError, SalstatsError, and_more, quoted, warn
from salstats.files.map_table import TABLE
from salstats.images.masks import Rle, empty
from salstats.readers.case_json import check_name, read_segmentations
from salstats.readers.cells import PathLike
from salstats.readers.map_files import MASK_SUFFIXES, find_case_files, read_map, read_rle
from salstats.readers.map_rows import MapRow, read_map_rows, warn_turned
from salstats.study import HUMAN, Case, Content, Prediction, Series, Study, Truth


def read_map_folder(
    folder: PathLike,
    *,
    truth: PathLike | None = None,
    human: PathLike | None = None,
    tasks: Sequence[str] | None = None,
    without_truth: bool = False,
) -> Study:
    r"""Read a study from a folder of maps, as `MapFolder` or anything else writes it.

    Parameters
    ----------
    folder : path
        It holds `maps.csv`, one row per map: `case`, `task`, `method`, `path` (from the folder; what
        `read_map` reads), and where they are known `prob`, `label`, `height` and `width` of the image,
        `model`, `seed`, `patient`. An empty cell is unknown. Other columns are left alone.
    truth : path, optional
        The masks of the truth: a JSON file, case -> task -> COCO run-length code; or a folder of masks,
        TASK/CASE.png (or what else `read_mask` reads). By default `truth.json` or `truth` in the folder.
    human : path, optional
        The masks that people drew, in the same form; their method is `human`. By default `human.json` or
        `human` in the folder, if there is one.
    tasks : list of str, optional
        Only these tasks, in this order.
    without_truth : bool
        Whether a folder is read that has no truth, for what needs none, such as `map_repeatability`.

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
    rows = read_map_rows(here)
    reference = _masks(here, "truth", truth)
    if reference is None and without_truth:
        reference = _Masks(here, {}, {})
    if reference is None:
        raise InputFileError(
            f"{here} has no truth: neither truth.json nor a folder truth with TASK/CASE.png; give it as "
            "truth="
        )
    people = _masks(here, HUMAN, human)
    _check_cases(rows, reference, people, here)
    found_tasks = _tasks(rows, reference, people)
    if tasks is None:
        _check_tasks(rows, reference, here)
    wanted = found_tasks if tasks is None else _wanted(tasks, found_tasks, here)
    study = _Parts(here, rows, reference, people).study(wanted)
    warn_turned(rows, {case.case: case.shape for case in study}, here)
    return study


def recognise(folder: Path) -> bool:
    """Whether a folder has the table of a map folder."""
    return (folder / TABLE).is_file()


@dataclass(frozen=True)
class _Masks:
    """Masks by case and task, of one JSON file or of a folder.

    Attributes
    ----------
    source : Path
    values : dict
        case -> task -> mask.
    shapes : dict
        case -> (height, width).
    """

    source: Path
    values: Mapping[str, Mapping[str, Rle]]
    shapes: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class _Parts:
    """All that a study is made of."""

    folder: Path
    rows: Sequence[MapRow]
    truth: _Masks
    people: _Masks | None

    def study(self, tasks: Sequence[str]) -> Study:
        """The study."""
        by_case: dict[str, list[MapRow]] = {}
        for row in self.rows:
            by_case.setdefault(row.key.case, []).append(row)
        names = sorted({*by_case, *self.truth.values, *(self.people.values if self.people else ())})
        patients = self._patients(by_case)
        cases = []
        for name in names:
            own = by_case.get(name, [])
            shape = self._shape(name, own)
            answers = [_prediction(row, shape) for row in own if row.key.task in tasks]
            answers += self._people_say(name, tasks, shape)
            marked = self.truth.values.get(name, {})
            cases.append(
                Case(
                    case=name,
                    shape=shape,
                    truths={t: Truth.of(marked[t]) for t in tasks if t in marked},
                    predictions=tuple(answers),
                    annotated=name in self.truth.values,
                    patient=patients.get(name),
                    labels=self._labels(own, tasks),
                )
            )
        series = tuple(dict.fromkeys(row.key.series for row in self.rows if row.key.task in tasks))
        drawn = () if self.people is None else (Series(HUMAN),)
        return Study(tuple(cases), tuple(tasks), (*series, *drawn), str(self.folder))

    def _where(self, row: MapRow) -> str:
        """What a row is called."""
        return f"{self.folder / TABLE}, row {row.number}"

    def _shape(self, case: str, rows: Sequence[MapRow]) -> tuple[int, int]:
        """The size of an image; all that say it must agree."""
        known: list[tuple[tuple[int, int], str]] = [
            (masks.shapes[case], str(masks.source))
            for masks in (self.truth, self.people)
            if masks is not None and case in masks.shapes
        ]
        known += [(row.shape, self._where(row)) for row in rows if row.shape is not None]
        if not known:
            raise InputFileError(
                f"{self._where(rows[0])}: nothing says how large the image of case {case!r} is; give height "
                "and width, or the case a mask in the truth"
            )
        shape, source = known[0]
        for other, place in known:
            if other != shape:
                raise InputFileError(
                    f"{place}: the image of case {case!r} is {_shown(other)} (height x width), in {source} "
                    f"it is {_shown(shape)}"
                )
        return shape

    def _labels(self, rows: Sequence[MapRow], tasks: Sequence[str]) -> dict[str, float]:
        """The labels of a case by task; rows that say one must agree."""
        said: dict[str, MapRow] = {}
        for row in rows:
            if row.label != row.label:
                continue
            first = said.setdefault(row.key.task, row)
            if first.label != row.label:
                raise InputFileError(
                    f"{self._where(row)}, column 'label': {row.label:g} for case {row.key.case!r}, task "
                    f"{row.key.task!r}, and {first.label:g} in row {first.number}"
                )
        return {task: said[task].label for task in tasks if task in said}

    def _patients(self, by_case: Mapping[str, Sequence[MapRow]]) -> dict[str, str]:
        """The patient of each case: of all that have maps, or of none."""
        said: dict[str, MapRow] = {}
        for row in self.rows:
            if row.patient is not None:
                first = said.setdefault(row.key.case, row)
                if first.patient != row.patient:
                    raise InputFileError(
                        f"{self._where(row)}, column 'patient': {row.patient!r} for case {row.key.case!r}, "
                        f"and {first.patient!r} in row {first.number}"
                    )
        for case, rows in by_case.items():
            if said and case not in said:
                raise InputFileError(
                    f"{self._where(rows[0])}, column 'patient': empty for case {case!r}, though other cases "
                    "have one"
                )
        return {case: str(row.patient) for case, row in said.items()}

    def _people_say(self, case: str, tasks: Sequence[str], shape: tuple[int, int]) -> list[Prediction]:
        """What people answer for the tasks of a case they looked at."""
        if self.people is None or case not in self.people.values:
            return []
        marked = self.people.values[case]
        source = str(self.people.source)
        return [
            Prediction(
                task, Series(HUMAN), partial(_drawn, marked.get(task), shape), source, has_saliency=False
            )
            for task in tasks
        ]


def _prediction(row: MapRow, shape: tuple[int, int]) -> Prediction:
    """A map as a prediction that is read when it is scored."""
    # another process may work in another folder
    read = partial(_content, row.file.absolute(), row.prob, row.label, shape)
    return Prediction(row.key.task, row.key.series, read, str(row.file))


def _content(file: Path, prob: float, label: float, shape: tuple[int, int]) -> Content:
    """A map and what its row says of it."""
    return Content(saliency=read_map(file), prob=prob, label=label, shape=shape)


def _drawn(mask: Rle | None, shape: tuple[int, int]) -> Content:
    """A mask that people drew; none where they marked nothing."""
    return Content(mask=empty(shape) if mask is None else mask, shape=shape)


def _masks(folder: Path, name: str, given: PathLike | None) -> _Masks | None:
    """The masks that an option names, or that lie in the folder; None where there are none."""
    places = [folder / f"{name}.json", folder / name]
    if given is None:
        there = [place for place in places if place.exists()]
        if len(there) > 1:
            raise InputFileError(f"{there[0]} and {there[1]} are both there; remove one, or say {name}=")
    else:
        there = [Path(given)]
    if not there:
        return None
    source = there[0]
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
    return _Masks(source, values, found.shapes)


def _masks_of_files(folder: Path) -> _Masks:
    """The masks of a folder TASK/CASE.png."""
    values: dict[str, dict[str, Rle]] = {}
    shapes: dict[str, tuple[int, int]] = {}
    entries = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    for entry in entries:
        if not entry.is_dir() and entry.suffix.lower() in MASK_SUFFIXES:
            raise InputFileError(f"{entry}: a mask lies in a folder of its task, {folder.name}/TASK/CASE.png")
    for place in (entry for entry in entries if entry.is_dir()):
        task = check_name(place.name, f"{folder}: the task")
        for case, file in find_case_files(place, MASK_SUFFIXES).items():
            mask = read_rle(file)
            if shapes.setdefault(case, mask.shape) != mask.shape:
                raise InputFileError(
                    f"{file}: its mask is {_shown(mask.shape)}, another of the case {_shown(shapes[case])}"
                )
            values.setdefault(case, {})[task] = mask
    if not values:
        raise InputFileError(f"{folder}: holds no TASK/CASE.png")
    return _Masks(folder, values, shapes)


def _tasks(rows: Iterable[MapRow], *others: _Masks | None) -> list[str]:
    """The tasks of the table in its order, then others by name."""
    first = dict.fromkeys(row.key.task for row in rows)
    masks = [masks for masks in others if masks is not None]
    return [
        *first,
        *sorted({t for m in masks for by_task in m.values.values() for t in by_task} - set(first)),
    ]


def _wanted(tasks: Sequence[str], there: Sequence[str], folder: Path) -> list[str]:
    """The tasks asked for, all of which are there."""
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    if not names or len(set(names)) < len(names):
        raise SalstatsError(f"tasks= must name each task once, not {quoted(names) or 'none'}")
    for task in names:
        if task not in there:
            raise SalstatsError(f"{folder} has no task {task!r} (tasks: {quoted(there)})")
    return names


def _check_tasks(rows: Iterable[MapRow], truth: _Masks, folder: Path) -> None:
    """Raise where no task of the maps is in the truth, warn where some are not: names may be misspelt."""
    known = {task for by_task in truth.values.values() for task in by_task}
    first: dict[str, MapRow] = {}
    for row in rows:
        first.setdefault(row.key.task, row)
    unknown = [task for task in first if task not in known]
    if not unknown or not known:
        return
    row = first[unknown[0]]
    close = get_close_matches(unknown[0], sorted(known), n=1)
    hint = f"is it {close[0]!r}?" if close else f"its tasks are {quoted(sorted(known))}"
    said = f"{folder / TABLE}, row {row.number}: task {unknown[0]!r} is on no image of {truth.source}; {hint}"
    if len(unknown) == len(first):
        raise InputFileError(said)
    warn(said)


def _check_cases(rows: Sequence[MapRow], truth: _Masks, people: _Masks | None, folder: Path) -> None:
    """Raise where maps or people have no case in common with the truth; warn of cases without a map."""
    mapped = dict.fromkeys(row.key.case for row in rows)
    sources = [(str(folder / TABLE), list(mapped))]
    if people is not None:
        sources.append((str(people.source), list(people.values)))
    for name, cases in sources:
        if truth.values and cases and set(cases).isdisjoint(truth.values):
            raise InputFileError(
                f"{name} and {truth.source} have no case in common ({min(cases)!r} here, "
                f"{min(truth.values)!r} there)"
            )
    without = [case for case in truth.values if case not in mapped]
    if without:
        more = and_more(without)
        warn(f"{truth.source}: case {min(without)!r}{more} has no map in {folder / TABLE}")


def _shown(shape: tuple[int, int]) -> str:
    """A size for a message."""
    return f"{shape[0]} x {shape[1]}"
