"""Put the files of a study in the CheXlocalize format together: what each case is, and who answers."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import InputFileError, SalstatsError, quoted, warn
from salstats.images.masks import Rle, empty
from salstats.images.polygons import polygons_rle
from salstats.readers.case_json import (
    CaseFile,
    read_outlines,
    read_points,
    read_segmentations,
    warn_of_points,
)
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_labels import Labels, read_labels
from salstats.readers.chexlocalize_maps import (
    CLASSES,
    TASKS,
    nothing_marked,
    read_answer,
    split_name,
    task_name,
)
from salstats.study import HUMAN, Case, Prediction, Series, Study, Truth

#: Finds the patient in the release's case ids, such as patient64541_study1_view1_frontal.
PATIENT = r"^(patient\d+)"


@dataclass(frozen=True)
class Parts:
    """The files of a study, read but for its maps."""

    truth: CaseFile | None
    annotations: CaseFile | None
    human: CaseFile | None
    human_annotations: CaseFile | None
    points: CaseFile | None
    labels: Labels | None
    masks: dict[Series, CaseFile]
    maps: dict[Series, dict[tuple[str, str], Path]]

    @classmethod
    def read(
        cls,
        files: Mapping[str, Path],
        mask_files: Mapping[Series, PathLike],
        map_files: Mapping[Series, Sequence[Path]],
        wanted: Sequence[str] | None,
    ) -> "Parts":
        """The parts of a study whose files fit together."""
        readers = {
            "truth": read_segmentations,
            "annotations": read_outlines,
            "human": read_segmentations,
            "human_annotations": read_outlines,
            "points": read_points,
        }
        read: dict[str, Any] = {
            kind: reader(files[kind], task_name) if kind in files else None
            for kind, reader in readers.items()
        }
        labels = read_labels(files["labels"], task_name) if "labels" in files else None
        known = {*CLASSES, *(wanted or ()), *(labels.tasks if labels else ())}
        for part in read.values():
            known |= part.tasks() if part else set()
        masks = {series: read_segmentations(Path(f), task_name) for series, f in mask_files.items()}
        for part in masks.values():
            for case, values in part.values.items():
                for task in values:
                    _check_task(task, known, part.where(case, task), wanted)
        maps = {series: _named(found, known, wanted) for series, found in map_files.items()}
        return cls(**read, labels=labels, masks=masks, maps=maps)

    def references(self) -> list[CaseFile]:
        """The files that hold the truth, segmentations first."""
        return [part for part in (self.truth, self.annotations) if part is not None]

    def people(self) -> list[CaseFile]:
        """The files that hold what people marked."""
        return [p for p in (self.human, self.human_annotations, self.points) if p is not None]

    def shapes(self) -> dict[str, tuple[tuple[int, int], Path]]:
        """The size of each image and the file that says it; all files that say it must agree."""
        shapes: dict[str, tuple[tuple[int, int], Path]] = {}
        for part in (*self.references(), *self.people(), *self.masks.values()):
            for case, shape in part.shapes.items():
                known, file = shapes.setdefault(case, (shape, part.file))
                if known != shape:
                    raise InputFileError(
                        f"case {case} is {known[0]} x {known[1]} (height x width) in {file} and "
                        f"{shape[0]} x {shape[1]} in {part.file}; they must be of one image"
                    )
        return shapes

    def study(self, source: str, wanted: Sequence[str] | None, pattern: re.Pattern[str] | None) -> Study:
        """The study."""
        annotated = {case for part in self.references() for case in part.values}
        by_map: dict[str, dict[tuple[Series, str], Path]] = defaultdict(dict)
        for one, maps in self.maps.items():
            for (case, task), file in maps.items():
                by_map[case][one, task] = file
        self._check_names(annotated, by_map)
        marked = {case for part in (*self.people(), *self.masks.values()) for case in part.values}
        cases = sorted(annotated | marked | set(by_map))
        if not cases:
            raise InputFileError(f"{self.references()[0].file}: holds no case")
        tasks = self._tasks(wanted)
        shapes = self.shapes()
        if self.points is not None:
            warn_of_points(self.points, {case: shape for case, (shape, _) in shapes.items()})
        series = tuple(dict.fromkeys([*self.maps, *self.masks]))
        patients = _patients(cases, pattern)
        made = []
        for case in cases:
            size = shapes.get(case)
            own = by_map.get(case, {})
            found = [
                self._prediction(one, task, case, own.get((one, task)), size)
                for one in series
                for task in tasks
            ]
            answers = [answer for answer in found if answer is not None]
            if self.people():
                some_map = next(iter(own.values()), None)
                answers += [self._people_say(task, case, size, some_map) for task in tasks]
            made.append(
                Case(
                    case=case,
                    shape=size[0] if size else None,
                    truths=self._truths(case, tasks),
                    predictions=tuple(answers),
                    annotated=case in annotated,
                    patient=patients.get(case),
                    labels=self._labels_of(case, tasks),
                )
            )
        people = (Series(HUMAN),) if self.people() else ()
        return Study(tuple(made), tasks, (*series, *people), source)

    def _tasks(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """The study's tasks in the release's order, then others by name.

        Of the fourteen classes of a network the release marks ten; maps of others have nothing to be compared
        with.
        """
        marked = {task for part in (*self.references(), *self.people()) for task in part.tasks()}
        there = marked | {task for part in self.masks.values() for task in part.tasks()}
        there |= {task for found in self.maps.values() for _, task in found}
        if wanted is None:
            left_out = sorted(there - marked - set(TASKS))
            if left_out:
                warn(
                    f"no truth has task {quoted(left_out)}, whose maps are left out; tasks= names what is to "
                    "be read"
                )
            return (*(t for t in TASKS if t in there), *sorted(marked - set(TASKS)))
        for task in wanted:
            if task not in there:
                raise SalstatsError(
                    f"no file of the study holds task {task!r} (tasks: {quoted(sorted(there))})"
                )
        return tuple(wanted)

    def _check_names(self, annotated: set[str], by_map: Mapping[str, Any]) -> None:
        """Raise where the cases of a source have no name in common with those of the truth."""
        reference = self.references()[0].file
        sources: list[tuple[str, Iterable[str]]] = [
            (str(part.file), part.values) for part in (*self.people(), *self.masks.values())
        ]
        sources += [
            (str(next(iter(found.values())).parent), [case for case, _ in found])
            for found in self.maps.values()
            if found
        ]
        for name, cases in sources:
            if annotated and cases and annotated.isdisjoint(cases):
                raise InputFileError(
                    f"{name} and {reference} have no case in common ({min(cases)!r} here, "
                    f"{min(annotated)!r} there)"
                )

    def _truths(self, case: str, tasks: Sequence[str]) -> dict[str, Truth]:
        """The truth of each task that the files hold for a case."""
        outlines = self.annotations.values.get(case) if self.annotations else None
        truths = {}
        for task in tasks:
            read = _mask_reader(self.truth, self.annotations, case, task)
            if read is not None:
                truths[task] = Truth(read, None if outlines is None else len(outlines.get(task, ())))
        return truths

    def _prediction(
        self,
        series: Series,
        task: str,
        case: str,
        map_file: Path | None,
        size: tuple[tuple[int, int], Path] | None,
    ) -> Prediction | None:
        """What a method answers, a map, a mask or both; None where there is neither."""
        masks = self.masks.get(series)
        mask = _mask_reader(masks, None, case, task)
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
        source = str(map_file or (masks.file if masks else ""))
        return Prediction(task, series, read, source, has_saliency=map_file is not None)

    def _people_say(
        self, task: str, case: str, size: tuple[tuple[int, int], Path] | None, some_map: Path | None
    ) -> Prediction:
        """What people answer: where their files hold nothing, they marked nothing."""
        shape = size[0] if size else None
        points = None
        if self.points is not None:
            points = self.points.values.get(case, {}).get(task, np.empty((0, 2)))
        mask = _mask_reader(self.human, self.human_annotations, case, task)
        if mask is None and (self.human is not None or self.human_annotations is not None):
            if shape is not None:
                mask = partial(empty, shape)
            elif some_map is not None:
                mask = partial(nothing_marked, some_map, case)
        read = partial(read_answer, task, case=case, mask=mask, points=points, shape=shape)
        return Prediction(task, Series(HUMAN), read, str(self.people()[0].file), has_saliency=False)

    def _labels_of(self, case: str, tasks: Sequence[str]) -> dict[str, float]:
        """The labels of a case by task."""
        row = self.labels.values.get(case, {}) if self.labels else {}
        return {task: row[task] for task in tasks if task in row}


def _mask_reader(
    masks: CaseFile | None, outlines: CaseFile | None, case: str, task: str
) -> Callable[[], Rle] | None:
    """What reads the mask of a case and task: stored, or drawn where the case is not stored."""
    if masks is not None and case in masks.values:
        entry = masks.values[case].get(task)
        return None if entry is None else partial(Rle.from_coco, entry, masks.where(case, task))
    if outlines is not None and task in outlines.values.get(case, {}):
        return partial(polygons_rle, outlines.values[case][task], outlines.shapes[case])
    return None


def _named(
    files: Sequence[Path], known: set[str], wanted: Sequence[str] | None
) -> dict[tuple[str, str], Path]:
    """Maps by case and task, of which there may be one each."""
    named: dict[tuple[str, str], Path] = {}
    for file in files:
        case, task = split_name(file, known)
        _check_task(task, known, str(file), wanted)
        if (case, task) in named:
            raise InputFileError(
                f"case {case}, task {task} has two maps, {named[case, task]} and {file}; remove one, or give "
                "each method its folder: maps={'gradcam': DIR, 'ig': DIR} (--maps gradcam=DIR --maps ig=DIR)"
            )
        named[case, task] = file
    return named


def _check_task(task: str, known: set[str], where: str, wanted: Sequence[str] | None) -> None:
    """Raise when nothing else knows a task; with `tasks=` others are left out."""
    if task in known or wanted is not None:
        return
    close = get_close_matches(task, sorted(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {quoted(sorted(known))}."
    raise InputFileError(
        f"{where}: task {task!r} is not known; {hint} Name it in tasks=, with all others that are to be "
        "read, if it is one"
    )


def _patients(cases: Sequence[str], pattern: re.Pattern[str] | None) -> dict[str, str]:
    """The patient of each case; none where the pattern is the default's and fits nowhere."""
    if pattern is None:
        return {}
    found = {case: pattern.search(case) for case in cases}
    patients = {case: match.group(1) for case, match in found.items() if match and match.group(1)}
    if not patients and pattern.pattern == PATIENT:
        return {}
    for case in cases:
        if case not in patients:
            raise SalstatsError(
                f"patient_from={pattern.pattern!r} finds no patient in case {case!r}; give a pattern that "
                "fits every case, or patient_from=None"
            )
    return patients
