"""Put the files of a study in the CheXlocalize format together: what each case is, and who answers."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import product
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from salstats.checks import ColumnError, InputFileError, quoted, warn
from salstats.images.masks import Rle, empty
from salstats.images.polygons import polygons_rle
from salstats.readers.answers import check_common
from salstats.readers.case_json import (
    CaseFile,
    read_outlines,
    read_points,
    read_segmentations,
    warn_of_points,
)
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_maps import (
    CLASSES,
    TASKS,
    nothing_marked,
    read_answer,
    split_name,
    task_name,
)
from salstats.readers.shapes import find_patients
from salstats.readers.tables import read_known
from salstats.study import HUMAN, Case, Prediction, Series, Study, Truth, chosen_names

#: Finds the patient in the release's case ids, such as patient64541_study1_view1_frontal.
PATIENT = r"^(patient\d+)"
#: Columns of a table of labels that are no tasks.
_NO_TASKS = ("Path", "case", "Study", "Sex", "Age", "Frontal/Lateral", "AP/PA")
_READERS = {
    "truth": read_segmentations,
    "annotations": read_outlines,
    "human": read_segmentations,
    "human_annotations": read_outlines,
    "points": read_points,
}
#: Case -> task -> 0, 1, or NaN where it is not known.
Labels = dict[str, dict[str, float]]
#: Size of an image, and the file that says it.
Size = tuple[tuple[int, int], Path]


class Parts(NamedTuple):
    """The files of a study, read but for its maps; segmentations before outlines."""

    truth: list[CaseFile]
    #: What people drew, by reader (None where nobody says who), and the points that they marked.
    drawn: dict[str | None, list[CaseFile]]
    points: list[CaseFile]
    labels: Labels
    masks: dict[Series, list[CaseFile]]
    maps: dict[Series, dict[tuple[str, str], Path]]

    @property
    def others(self) -> list[CaseFile]:
        """The files that are not the truth, those of people first."""
        drawn = [file for own in self.drawn.values() for file in own]
        return [*drawn, *self.points, *(file for own in self.masks.values() for file in own)]


def read_parts(
    files: Mapping[str, Path],
    people: Mapping[str, Mapping[str | None, Path]],
    mask_files: Mapping[Series, PathLike],
    map_files: Mapping[Series, Sequence[Path]],
    wanted: Sequence[str] | None,
) -> Parts:
    """The files of a study, those of people by reader; every task of maps and masks must be known."""
    truth, points = (
        [_READERS[kind](files[kind], task_name) for kind in kinds if kind in files]
        for kinds in (("truth", "annotations"), ("points",))
    )
    drawn: dict[str | None, list[CaseFile]] = {}
    for kind, by_reader in people.items():
        for reader, file in by_reader.items():
            drawn.setdefault(reader, []).append(_READERS[kind](file, task_name))
    labels = read_labels(files["labels"]) if "labels" in files else {}
    known = {*CLASSES, *(wanted or ()), *next(iter(labels.values()), {})}
    known = known.union(
        *(part.tasks() for part in (*truth, *points, *(f for own in drawn.values() for f in own)))
    )
    masks = {series: [read_segmentations(Path(file), task_name)] for series, file in mask_files.items()}
    named = [(task, file.file) for own in masks.values() for file in own for task in file.tasks()]
    maps: dict[Series, dict[tuple[str, str], Path]] = {}
    for series, found in map_files.items():
        maps[series] = {}
        for path in found:
            case, task = split_name(path, known)
            named.append((task, path))
            other = maps[series].setdefault((case, task), path)
            if other != path:
                raise InputFileError(
                    f"case {case}, task {task} has two maps, {other} and {path}; remove one, or give each "
                    "method its folder: maps={'gradcam': DIR, 'ig': DIR} (--maps gradcam=DIR --maps ig=DIR)"
                )
    for task, path in named:
        if task not in known and wanted is None:
            close = get_close_matches(task, sorted(known), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {quoted(sorted(known))}."
            raise InputFileError(
                f"{path}: task {task!r} is not known; {hint} Name it in tasks=, with all others that are to "
                "be read, if it is one"
            )
    return Parts(truth, drawn, points, labels, masks, maps)


def case_of(path: str) -> str:
    """The case that an image's path stands for: patient, study and view."""
    place = PurePosixPath(path.replace("\\", "/"))
    return "_".join([*place.parts[-3:-1], place.stem])


def read_labels(path: Path) -> Labels:
    """Image-level labels of a table with a column `Path` or `case` and one column for each task.

    An empty cell is not known, and so is -1 (uncertain), of which a warning tells the number.
    """
    table = read_known(path, ColumnError)
    name = next((n for n in ("Path", "case") if n in table.columns), None)
    if name is None:
        raise ColumnError(f"{path} has no column 'Path' (of images) or 'case'; labels need one")
    cells = table.cells.rename(columns={name: "case"})
    if name == "Path":
        cells = cells.assign(case=cells["case"].astype("str").map(case_of))
    labels: Labels = {case: {} for case in table.with_cells(cells).cases()}
    n_uncertain = 0
    for column in table.columns:
        if column in _NO_TASKS:
            continue
        if task_name(column) != column and task_name(column) in table.columns:
            raise ColumnError(f"{path}: column {column!r} is another name of {task_name(column)!r}; drop one")
        values = table.numbers(
            column,
            lambda v: ~np.isin(v, (0, 1, -1)) & ~np.isnan(v),
            "is no label; labels are 0, 1, -1 (uncertain) or empty",
        )
        n_uncertain += int((values == -1).sum())
        for own, value in zip(labels.values(), np.where(values == -1, np.nan, values).tolist(), strict=True):
            own[task_name(column)] = value
    if n_uncertain:
        warn(f"{path}: {n_uncertain} labels are uncertain (-1) and count as not known")
    return labels


def study_of(
    parts: Parts, source: str, wanted: Sequence[str] | None, pattern: re.Pattern[str] | None
) -> Study:
    """The study that the files make together."""
    annotated = {case for part in parts.truth for case in part.values}
    reference = parts.truth[0].file if parts.truth else Path(source)
    mapped = {case: file for maps in parts.maps.values() for (case, _), file in maps.items()}
    for part in parts.others:
        check_common(part.values, annotated, part.file, reference)
    for maps in parts.maps.values():
        check_common({c for c, _ in maps}, annotated, next(iter(maps.values())).parent, reference)
    cases = sorted(annotated.union(mapped, *(part.values for part in parts.others)))
    if not cases:
        raise InputFileError(f"{reference}: holds no case")
    tasks = _tasks(parts, wanted, source)
    sizes = _sizes([*parts.truth, *parts.others])
    for part in parts.points:
        warn_of_points(part, {case: shape for case, (shape, _) in sizes.items()})
    patients: dict[str, str] = {}
    # the default's pattern may fit nowhere
    if pattern is not None and (pattern.pattern != PATIENT or any(map(pattern.search, cases))):
        patients = dict(zip(cases, find_patients(cases, pattern, source), strict=True))
    made = []
    for case in cases:
        size, labels = sizes.get(case), parts.labels.get(case, {})
        made.append(
            Case(
                case=case,
                shape=size[0] if size else None,
                truths=_truths(parts, case, tasks),
                predictions=(
                    *_answers(parts, case, tasks, size),
                    *_people_say(parts, case, tasks, size, mapped.get(case)),
                ),
                annotated=case in annotated,
                patient=patients.get(case),
                labels={t: labels[t] for t in tasks if t in labels},
            )
        )
    people = [Series(HUMAN, reader=reader) for reader in _readers(parts)]
    return Study(tuple(made), tasks, tuple(dict.fromkeys([*parts.maps, *parts.masks, *people])), source)


def _readers(parts: Parts) -> list[str | None]:
    """The readers, None for people of whom nobody says who they are."""
    return [*parts.drawn, *([None] if parts.points and None not in parts.drawn else [])]


def _tasks(parts: Parts, wanted: Sequence[str] | None, source: str) -> tuple[str, ...]:
    """The study's tasks in the release's order, then others by name."""
    drawn = [file for own in parts.drawn.values() for file in own]
    marked = {task for part in (*parts.truth, *drawn, *parts.points) for task in part.tasks()}
    there = marked.union(*(part.tasks() for part in parts.others))
    there |= {task for maps in parts.maps.values() for _, task in maps}
    if wanted is not None:
        return chosen_names(wanted, sorted(there), "task", source, some=True)
    left_out = sorted(there - marked - set(TASKS))
    if left_out:
        warn(
            f"no truth has task {quoted(left_out)}, whose maps are left out; tasks= names what is to be read"
        )
    return (*(t for t in TASKS if t in there), *sorted(marked - set(TASKS)))


def _sizes(files: Iterable[CaseFile]) -> dict[str, Size]:
    """The size of each image and the file that says it; all files that say it must agree."""
    sizes: dict[str, Size] = {}
    for part in files:
        for case, shape in part.shapes.items():
            known, file = sizes.setdefault(case, (shape, part.file))
            if known != shape:
                raise InputFileError(
                    f"case {case} is {known[0]} x {known[1]} (height x width) in {file} and "
                    f"{shape[0]} x {shape[1]} in {part.file}; they must be of one image"
                )
    return sizes


def _truths(parts: Parts, case: str, tasks: Sequence[str]) -> dict[str, Truth]:
    """The truth of each task that the files hold for a case."""
    outlines = next((f.values[case] for f in parts.truth if f.outlines and case in f.values), None)
    masks = {task: _mask_reader(parts.truth, case, task) for task in tasks}
    return {
        task: Truth(read, None if outlines is None else len(outlines.get(task, ())))
        for task, read in masks.items()
        if read is not None
    }


def _answers(parts: Parts, case: str, tasks: Sequence[str], size: Size | None) -> Iterator[Prediction]:
    """What methods answer: a map, a mask or both."""
    for series in dict.fromkeys([*parts.maps, *parts.masks]):
        files = parts.masks.get(series, [])
        for task in tasks:
            map_file = parts.maps.get(series, {}).get((case, task))
            mask = _mask_reader(files, case, task)
            if map_file is None and mask is None:
                continue
            read = partial(
                read_answer,
                task,
                case=case,
                # another process may work in another folder
                map_file=None if map_file is None else map_file.absolute(),
                mask=mask,
                shape=size[0] if size else None,
                shape_source=str(size[1]) if size else "",
            )
            source = str(map_file or files[0].file)
            yield Prediction(task, series, read, source, has_saliency=map_file is not None)


def _people_say(
    parts: Parts, case: str, tasks: Sequence[str], size: Size | None, some_map: Path | None
) -> Iterator[Prediction]:
    """What people answer: nothing where files hold nothing, unless one of several did not read it."""
    for reader, task in product(_readers(parts), tasks):
        drawn = parts.drawn.get(reader, [])
        if reader is not None and not any(case in file.values for file in drawn):
            continue
        mask = _mask_reader(drawn, case, task)
        if mask is None and drawn and size is not None:
            mask = partial(empty, size[0])
        elif mask is None and drawn and some_map is not None:
            mask = partial(nothing_marked, some_map, case)
        marks = parts.points if reader is None else []
        points = [part.values.get(case, {}).get(task, np.empty((0, 2))) for part in marks]
        read = partial(
            read_answer,
            task,
            case=case,
            mask=mask,
            points=points[0] if points else None,
            shape=size[0] if size else None,
        )
        source = str([*drawn, *marks][0].file)
        yield Prediction(task, Series(HUMAN, reader=reader), read, source, has_saliency=False)


def _mask_reader(files: Sequence[CaseFile], case: str, task: str) -> Callable[[], Rle] | None:
    """What reads the mask of a case and task in the first file that holds the case: stored, or drawn."""
    for file in files:
        if case in file.values:
            entry = file.values[case].get(task)
            if entry is None:
                return None
            if file.outlines:
                return partial(polygons_rle, entry, file.shapes[case])
            return partial(Rle.from_coco, entry, file.where(case, task))
    return None
