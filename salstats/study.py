"""What a study is: cases, what is there on each (the truth), and what methods and people made of it.

The truth is a mask of each task, or recordings of where people looked.

A record here holds names and small things only: compressed masks, outlines, paths. Maps and pixels are
read when a score needs them, one at a time, so a study of any size is an ordinary object that can be
iterated, cut into pieces and sent to another process.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from salstats.checks import SalstatsError, quoted
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.images.masks import Rle

T = TypeVar("T")
#: The method whose predictions are people's.
HUMAN = "human"
#: Why a recording is left out.
DISCARDED = "discarded by its file"
NO_FIXATION, NO_DURATION = "no fixation", "no fixation lasts"
SHOWN_OUTSIDE = "shown part outside the image"
OUT_OF_SIGHT = "all fixations far from the shown part"
#: Why a chest box is left out.
NO_BOX, BOX_OUTSIDE, BOX_EMPTY = "no chest box", "chest box outside the image", "chest box of no size"


@dataclass(frozen=True)
class Series:
    """Who made a set of predictions: one method, and where they are known its network, seed and reader.

    Attributes
    ----------
    method : str
        Saliency method, or `human`.
    model, seed, reader : str, optional
        What else tells this set from others of the method; None where the study does not say.
    mixing : str, optional
        How maps of several classes were mixed.
    """

    method: str
    model: str | None = None
    seed: str | None = None
    reader: str | None = None
    mixing: str | None = None

    @property
    def name(self) -> str:
        """What the method is called in a frame: another mixing makes another method of it."""
        return self.method if self.mixing is None else f"{self.method}_{self.mixing}"

    def __str__(self) -> str:
        """Its parts with a colon between."""
        parts = (self.method, self.model, self.seed, self.reader, self.mixing)
        return ":".join(part for part in parts if part is not None)


@dataclass(frozen=True)
class Content:
    """What one series holds for one case and task, once it is read. Any of it may be missing.

    Attributes
    ----------
    saliency : ndarray of float, shape (M, N), optional
        The map at its own resolution; larger means more salient.
    mask : Rle, optional
        A mask at the image's resolution.
    points : ndarray of float, shape (n, 2), optional
        Marked points as (row, col), in pixels of the image; n may be 0.
    prob : float
        The model's probability for the task; NaN where the file does not say.
    label : float
        The image-level truth that the file carries, 0 or 1; NaN where it does not say.
    shape : tuple of int, optional
        (height, width) of the image, where the file knows it.
    """

    saliency: np.ndarray | None = None
    mask: Rle | None = None
    points: np.ndarray | None = None
    prob: float = float("nan")
    label: float = float("nan")
    shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class Prediction:
    """One series' answer for one task of one case, read when `read()` is called.

    Attributes
    ----------
    task : str
        Empty where nothing in particular is looked for, as on images that people look at.
    series : Series
    read : callable
        Takes nothing and returns a `Content`; can be pickled (a function of a module, or a partial of one).
    source : str
        The file it comes from, for messages.
    has_saliency : bool
        Whether `read()` will hold a map; people and stored masks have none.
    """

    task: str
    series: Series
    read: Callable[[], Content]
    source: str
    has_saliency: bool = True


@dataclass(frozen=True)
class Truth:
    """The reference of one task of one case, read when `read()` is called.

    Attributes
    ----------
    read : callable
        Takes nothing and returns the mask as an `Rle`; can be pickled.
    n_instances : int, optional
        How many separate outlines the annotator drew; None where only the mask is known.
    """

    read: Callable[[], Rle]
    n_instances: int | None = None

    @classmethod
    def of(cls, mask: Rle, n_instances: int | None = None) -> "Truth":
        """Reference of a mask that is read already."""
        return cls(partial(held, mask), n_instances)


def held(value: T) -> T:
    """What is read already: the `read` of a record is `partial(held, value)`."""
    return value


@dataclass(frozen=True)
class Recording:
    """Where one reader looked on one image.

    Attributes
    ----------
    recording : str
        Its name in the files.
    reader : str, optional
        "0", "1", ...: the how-manieth recording of the image it is in the order of the metadata, discarded
        ones not counted. None for a discarded one.
    read : callable
        Takes nothing and returns the `Fixations`; can be pickled.
    source : str
        The file it comes from, for messages.
    excluded : str, optional
        Why it is left out; None where it is used.
    box : Box, optional
        The chest box that the reader drew; None where it cannot be used.
    box_excluded : str, optional
        Why the box is left out. A recording is used without one, too.
    n_fixations, n_outside, n_zero, n_overlapping : int, optional
        How many fixations, how many of them outside the image, how many that last 0 seconds, how many that
        begin before another has ended. None for a discarded recording, whose files are not opened.
    duration : float
        Seconds of all fixations together; NaN for a discarded recording.
    labels : dict of str to float
        What the reader marked, as the metadata has it: certainty from 0 to 5, or 0 and 1; NaN where empty.
    """

    recording: str
    reader: str | None
    read: Callable[[], Fixations]
    source: str
    excluded: str | None = None
    box: Box | None = None
    box_excluded: str | None = None
    n_fixations: int | None = None
    n_outside: int | None = None
    n_zero: int | None = None
    n_overlapping: int | None = None
    duration: float = float("nan")
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One image: its names, its size, its truth (masks, or recordings of gaze) and its predictions.

    Attributes
    ----------
    case : str
    shape : tuple of int, optional
        (height, width) in pixels; None where only the maps know it.
    truths : dict of str to Truth
        By task. A task that is absent here is not on the image.
    predictions : tuple of Prediction
        In the order of the study's series, then of its tasks.
    annotated : bool
        Whether the truth holds this case at all. Cases without any finding are often left out of it.
    patient : str, optional
        The cluster that the case belongs to.
    labels : dict of str to float
        Image-level truth by task, 0 or 1, from a table of labels.
    recordings : tuple of Recording
        Where people looked, in the order of the metadata, recordings that are left out among them.
    phase, trial : int
        The phase of a study of gaze, and the image's number in it; `trial` is None where all recordings
        were discarded.
    """

    case: str
    shape: tuple[int, int] | None
    truths: Mapping[str, Truth] = field(default_factory=dict)
    predictions: tuple[Prediction, ...] = ()
    annotated: bool = True
    patient: str | None = None
    labels: Mapping[str, float] = field(default_factory=dict)
    recordings: tuple[Recording, ...] = ()
    phase: int = 1
    trial: int | None = None

    @property
    def used(self) -> tuple[Recording, ...]:
        """The recordings that are not left out."""
        return tuple(r for r in self.recordings if r.excluded is None)

    @property
    def box(self) -> Box | None:
        """The chest box: the mean of those of the recordings used; None where there is none."""
        boxes = [r.box for r in self.used if r.box is not None]
        return Box(*(float(v) for v in np.mean(boxes, axis=0))) if boxes else None


@dataclass(frozen=True)
class Study:
    """Cases, the tasks looked for on them, and the series that answer.

    Attributes
    ----------
    cases : tuple of Case
        In the order of their names; those of a study of gaze in that of phases and, within, of trials.
    tasks : tuple of str
        Every case is asked for every one of them; none in a study of gaze.
    series : tuple of Series
        Every one of them owes an answer for every case and task; what is missing is said, not dropped.
    source : str
        Where it was read from, for messages.
    """

    cases: tuple[Case, ...]
    tasks: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    source: str = "study"

    def __iter__(self) -> Iterator[Case]:
        """Iterate over the cases."""
        return iter(self.cases)

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.cases)

    def __repr__(self) -> str:
        """What it holds, in one line."""
        methods = ", ".join(str(s) for s in self.series) or "none"
        n_looks = sum(len(c.used) for c in self.cases)
        asked = f"{n_looks} recordings" if n_looks and not self.tasks else f"{len(self.tasks)} tasks"
        return f"<Study {self.source}: {len(self)} cases, {asked}, methods: {methods}>"

    def with_maps(self) -> tuple[Series, ...]:
        """Series that hold maps; people and stored masks have none."""
        found = {p.series for c in self.cases for p in c.predictions if p.has_saliency}
        return tuple(s for s in self.series if s in found)

    def select(
        self,
        *,
        cases: Iterable[str] | None = None,
        tasks: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
    ) -> "Study":
        """Study with some of its cases, tasks and methods only, in its own order.

        A method stands for all its series; method:model is one of them.

        Raises
        ------
        SalstatsError
            A name is not in the study.
        """
        kept_cases = chosen_names(cases, [c.case for c in self.cases], "case", self.source)
        kept_tasks = chosen_names(tasks, list(self.tasks), "task", self.source)
        names = list(dict.fromkeys(n for s in self.series for n in (s.method, s.name, str(s))))
        wanted = chosen_names(methods, names, "method", self.source)
        series = tuple(s for s in self.series if {s.method, s.name, str(s)} & wanted)
        return Study(
            cases=tuple(
                replace(
                    c,
                    truths={t: v for t, v in c.truths.items() if t in kept_tasks},
                    predictions=tuple(
                        p for p in c.predictions if p.task in (*kept_tasks, "") and p.series in series
                    ),
                )
                for c in self.cases
                if c.case in kept_cases
            ),
            tasks=tuple(t for t in self.tasks if t in kept_tasks),
            series=series,
            source=self.source,
        )


@dataclass(frozen=True)
class Picture:
    """One case, task and method as it is printed: small arrays that a figure draws, and how they were made.

    Attributes
    ----------
    case, task : str
    method : str, optional
        Whose answer it shows, None for the truth alone.
    series : tuple of Series
        Those of the method; several only where they are people's.
    shape : tuple of int
        (height, width) of the image, whose pixels outlines and points are in.
    grey : ndarray of float, shape (rows, cols), optional
        The image from 0 to 1; None where there is none.
    saliency : ndarray of float, shape (rows, cols), optional
        The map scaled to 0 ... 1; None where there is none to be shown.
    printed : tuple of int
        (rows, cols) of both.
    lines : dict of str to list of ndarray, shape (n, 2)
        Outlines (row, col) of `truth`, `human` and `mask`, those that there are.
    points : dict of str to ndarray, shape (n, 2)
        `peak` of the map and the `marked` points of people, as (row, col).
    note : str
        Why the method has nothing to show; empty where it has.
    threshold, smooth, cutoff
        What made the mask of the map; None where it was not made so.
    """

    case: str
    task: str
    method: str | None
    series: tuple[Series, ...]
    shape: tuple[int, int]
    printed: tuple[int, int]
    grey: np.ndarray | None
    saliency: np.ndarray | None
    lines: Mapping[str, list[np.ndarray]]
    points: Mapping[str, np.ndarray]
    note: str = ""
    threshold: float | str | None = None
    smooth: int | None = None
    cutoff: float | None = None


def chosen_names(wanted: Iterable[str] | None, there: list[str], word: str, source: str) -> set[Any]:
    """Names wanted, all of which must be there."""
    if wanted is None:
        return set(there)
    names = {wanted} if isinstance(wanted, str) else set(wanted)
    missing = sorted(names - set(there))
    if missing:
        raise SalstatsError(
            f"{source} has no {word} {missing[0]!r} ({word}s: {quoted(dict.fromkeys(there))})"
        )
    return names


def shape_of(case: Case) -> tuple[int, int]:
    """Size of a case's image, where it has to be known.

    Raises
    ------
    SalstatsError
        Nothing says it.
    """
    if case.shape is None:
        raise SalstatsError(f"case {case.case!r}: nothing says how large its image is")
    return case.shape


def exclusions(study: Study) -> tuple[dict[str, int], dict[str, int]]:
    """How many recordings, and how many chest boxes of recordings used, are left out, by reason."""
    every = [r for c in study for r in c.recordings]
    recordings_left = Counter(r.excluded for r in every if r.excluded is not None)
    boxes_left = Counter(r.box_excluded for r in every if r.excluded is None and r.box_excluded is not None)
    return dict(recordings_left), dict(boxes_left)


def check_gaze(study: object) -> Study:
    """`study` if it is a study of gaze: one whose cases hold recordings."""
    if not isinstance(study, Study) or (study.cases and not any(c.recordings for c in study)):
        given = study.source if isinstance(study, Study) else type(study).__name__
        raise SalstatsError(f"{given} is no study of gaze, which has recordings; read one with read_gaze()")
    return study
