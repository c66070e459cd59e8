"""Put the files of a study in the CheXlocalize format together: what each case is, and who answers."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
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
    """The files of a study by kind, read but for its maps."""

    files: dict[str, CaseFile]
    labels: Labels
    masks: dict[Series, CaseFile]
    maps: dict[Series, dict[tuple[str, str], Path]]

    def of(self, *kinds: str) -> list[CaseFile]:
        """The files of some kinds that there are."""
        return [self.files[kind] for kind in kinds if kind in self.files]

    @property
    def truth(self) -> list[CaseFile]:
        """The files that hold the truth, segmentations first."""
        return self.of("truth", "annotations")

    @property
    def people(self) -> list[CaseFile]:
        """The files that hold what people marked."""
        return self.of("human", "human_annotations", "points")


def read_parts(
    files: Mapping[str, Path],
    mask_files: Mapping[Series, PathLike],
    map_files: Mapping[Series, Sequence[Path]],
    wanted: Sequence[str] | None,
) -> Parts:
    """The files of a study; every task of maps and masks must be known, unless `tasks=` chooses."""
    read = {kind: reader(files[kind], task_name) for kind, reader in _READERS.items() if kind in files}
    labels = read_labels(files["labels"]) if "labels" in files else {}
    known = {*CLASSES, *(wanted or ()), *next(iter(labels.values()), {})}
    known = known.union(*(part.tasks() for part in read.values()))
    masks = {series: read_segmentations(Path(file), task_name) for series, file in mask_files.items()}
    maps: dict[Series, dict[tuple[str, str], Path]] = {}
    for series, found in map_files.items():
        maps[series] = {}
        for file in found:
            case, task = split_name(file, known)
            other = maps[series].setdefault((case, task), file)
            if other != file:
                raise InputFileError(
                    f"case {case}, task {task} has two maps, {other} and {file}; remove one, or give each "
                    "method its folder: maps={'gradcam': DIR, 'ig': DIR} (--maps gradcam=DIR --maps ig=DIR)"
                )
    named = [(task, str(file)) for own in maps.values() for (_, task), file in own.items()]
    named += [(task, str(part.file)) for part in masks.values() for task in part.tasks()]
    for task, where in named:
        if task not in known and wanted is None:
            close = get_close_matches(task, sorted(known), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {quoted(sorted(known))}."
            raise InputFileError(
                f"{where}: task {task!r} is not known; {hint} Name it in tasks=, with all others that are to "
                "be read, if it is one"
            )
    return Parts(read, labels, masks, maps)


def case_of(path: str) -> str:
    """The case that an image's path stands for: patient, study and view.

    Examples
    --------
    >>> from salstats.readers.chexlocalize_study import case_of
    >>> case_of("CheXpert-v1.0/valid/patient64541/study1/view1_frontal.jpg")
    'patient64541_study1_view1_frontal'
    """
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
    others = [*parts.people, *parts.masks.values()]
    marked = {case for part in others for case in part.values}
    named = [(part.file, [*part.values]) for part in others]
    named += [(next(iter(maps.values())).parent, [case for case, _ in maps]) for maps in parts.maps.values()]
    for place, found in named:
        check_common(found, annotated, place, parts.truth[0].file)
    cases = sorted(annotated | marked | {case for maps in parts.maps.values() for case, _ in maps})
    if not cases:
        raise InputFileError(f"{parts.truth[0].file}: holds no case")
    tasks = _tasks(parts, wanted, source)
    sizes = _sizes([*parts.truth, *parts.people, *parts.masks.values()])
    for points in parts.of("points"):
        warn_of_points(points, {case: shape for case, (shape, _) in sizes.items()})
    series = tuple(dict.fromkeys([*parts.maps, *parts.masks]))
    patients: dict[str, str] = {}
    # the default's pattern may fit nowhere
    if pattern is not None and (pattern.pattern != PATIENT or any(map(pattern.search, cases))):
        patients = dict(zip(cases, find_patients(cases, pattern, source), strict=True))
    some_map = {case: file for maps in parts.maps.values() for (case, _), file in maps.items()}
    made = []
    for case in cases:
        size, labels = sizes.get(case), parts.labels.get(case, {})
        answers = [_prediction(parts, one, task, case, size) for one in series for task in tasks]
        if parts.people:
            answers += [_people_say(parts, task, case, size, some_map.get(case)) for task in tasks]
        made.append(
            Case(
                case=case,
                shape=size[0] if size else None,
                truths=_truths(parts, case, tasks),
                predictions=tuple(answer for answer in answers if answer is not None),
                annotated=case in annotated,
                patient=patients.get(case),
                labels={t: labels[t] for t in tasks if t in labels},
            )
        )
    return Study(tuple(made), tasks, (*series, *([Series(HUMAN)] if parts.people else [])), source)


def _tasks(parts: Parts, wanted: Sequence[str] | None, source: str) -> tuple[str, ...]:
    """The study's tasks in the release's order, then others by name.

    Of the fourteen classes of a network the release marks ten; maps of others have nothing to be compared
    with.
    """
    marked = {task for part in (*parts.truth, *parts.people) for task in part.tasks()}
    there = marked | {task for part in parts.masks.values() for task in part.tasks()}
    there |= {task for maps in parts.maps.values() for _, task in maps}
    if wanted is None:
        left_out = sorted(there - marked - set(TASKS))
        if left_out:
            warn(
                f"no truth has task {quoted(left_out)}, whose maps are left out; tasks= names what is to "
                "be read"
            )
        return (*(t for t in TASKS if t in there), *sorted(marked - set(TASKS)))
    return chosen_names(wanted, sorted(there), "task", source)


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
    outlines = parts.files["annotations"].values.get(case) if "annotations" in parts.files else None
    truths = {}
    for task in tasks:
        read = _mask_reader(parts.truth, case, task)
        if read is not None:
            truths[task] = Truth(read, None if outlines is None else len(outlines.get(task, ())))
    return truths


def _prediction(parts: Parts, series: Series, task: str, case: str, size: Size | None) -> Prediction | None:
    """What a method answers, a map, a mask or both; None where there is neither."""
    map_file = parts.maps.get(series, {}).get((case, task))
    masks = [parts.masks[series]] if series in parts.masks else []
    mask = _mask_reader(masks, case, task)
    if map_file is None and mask is None:
        return None
    shape, shape_file = size or (None, "")
    read = partial(
        read_answer,
        task,
        case=case,
        # another process may work in another folder
        map_file=None if map_file is None else map_file.absolute(),
        mask=mask,
        shape=shape,
        shape_source=str(shape_file),
    )
    return Prediction(task, series, read, str(map_file or masks[0].file), has_saliency=map_file is not None)


def _people_say(parts: Parts, task: str, case: str, size: Size | None, some_map: Path | None) -> Prediction:
    """What people answer: where their files hold nothing, they marked nothing."""
    shape = size[0] if size else None
    points = None
    if "points" in parts.files:
        points = parts.files["points"].values.get(case, {}).get(task, np.empty((0, 2)))
    drawn = parts.of("human", "human_annotations")
    mask = _mask_reader(drawn, case, task)
    if mask is None and drawn:
        if shape is not None:
            mask = partial(empty, shape)
        elif some_map is not None:
            mask = partial(nothing_marked, some_map, case)
    read = partial(read_answer, task, case=case, mask=mask, points=points, shape=shape)
    return Prediction(task, Series(HUMAN), read, str(parts.people[0].file), has_saliency=False)


def _mask_reader(files: Sequence[CaseFile], case: str, task: str) -> Callable[[], Rle] | None:
    """What reads the mask of a case and task in the first file that holds the case: stored, or drawn."""
    for file in files:
        if case in file.values:
            entry = file.values[case].get(task)
            if entry is None:
                return None
            if isinstance(entry, Mapping):
                return partial(Rle.from_coco, entry, file.where(case, task))
            return partial(polygons_rle, entry, file.shapes[case])
    return None
