"""What a study is: cases, what is there on each (the truth), and what methods and people made of it.

The truth is a mask of each task, or recordings of where people looked.

A record here holds names and small things only: compressed masks, outlines, paths. Maps and pixels are
read when a score needs them, one at a time, so a study of any size is an ordinary object that can be
iterated, cut into pieces and sent to another process.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from salstats.checks import check_choice, quoted
from salstats.errors import SalstatsError, ShapeError, warn
from salstats.images import consensus
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.images.masks import Rle

T = TypeVar("T")
#: The method whose predictions are people's.
HUMAN = "human"
#: Why a chest box is left out: there is none.
NO_BOX = "no chest box"


@dataclass(frozen=True)
class Series:
    """Who made a set of predictions; None where the study does not say."""

    #: Saliency method, or `human`.
    method: str
    model: str | None = None
    seed: str | None = None
    reader: str | None = None
    #: How maps of several classes were mixed.
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
    """What one series holds for one case and task, once it is read. Any of it may be missing."""

    #: The map at its own resolution, (M, N); larger means more salient.
    saliency: np.ndarray | None = None
    #: A mask at the image's resolution.
    mask: Rle | None = None
    #: Marked points as (row, col) in pixels of the image, (n, 2); n may be 0.
    points: np.ndarray | None = None
    #: The model's probability for the task, and the image-level truth, 0 or 1; NaN where it does not say.
    prob: float = float("nan")
    label: float = float("nan")
    #: (height, width) of the image, where the file knows it.
    shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class Prediction:
    """One series' answer for one task of one case, read when `read()` is called."""

    #: Empty where nothing in particular is looked for, as on images that people look at.
    task: str
    series: Series
    #: Can be pickled (a function of a module, or a partial of one).
    read: Callable[[], Content]
    #: The file it comes from, for messages.
    source: str
    #: Whether `read()` will hold a map; people and stored masks have none.
    has_saliency: bool = True


@dataclass(frozen=True)
class Truth:
    """The reference of one task of one case, read when `read()` is called."""

    #: Can be pickled.
    read: Callable[[], Rle]
    #: How many separate outlines the annotator drew; None where only the mask is known.
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
    """Where one reader looked on one image; the files of a discarded one are not opened."""

    #: Its name in the files.
    recording: str
    #: "0", "1", ...: the how-manieth of the image in the order of the metadata, discarded ones not counted.
    reader: str | None
    #: Can be pickled.
    read: Callable[[], Fixations]
    #: The file it comes from, for messages.
    source: str
    #: Why it is left out; None where it is used.
    excluded: str | None = None
    #: The chest box that the reader drew, or why it is left out; a recording is used without one, too.
    box: Box | None = None
    box_excluded: str | None = None
    n_fixations: int | None = None
    #: How many fixations lie outside the image, last 0 seconds, begin before another has ended.
    n_outside: int | None = None
    n_zero: int | None = None
    n_overlapping: int | None = None
    #: Seconds of all fixations together.
    duration: float = float("nan")
    #: What the reader marked: certainty from 0 to 5, or 0 and 1; NaN where empty.
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
    def answers(self) -> dict[tuple[str, Series], Prediction]:
        """The predictions by task and series."""
        return {(p.task, p.series): p for p in self.predictions}

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
    truth : str, optional
        What made its truth of readers' masks, a name of `images.consensus.CONSENSUS_RULES`.
    """

    cases: tuple[Case, ...]
    tasks: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    source: str = "study"
    truth: str | None = None

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
        kept_cases = {*chosen_names(cases, [c.case for c in self.cases], "case", self.source)}
        kept_tasks = chosen_names(tasks, self.tasks, "task", self.source)
        names = list(dict.fromkeys(n for s in self.series for n in (s.method, s.name, str(s))))
        wanted = chosen_names(methods, names, "method", self.source)
        series = tuple(s for s in self.series if {s.method, s.name, str(s)} & {*wanted})
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
            truth=self.truth,
        )

    def readers(self) -> tuple[str, ...]:
        """Readers whose masks or points are in the study, in the order of the series."""
        return tuple(dict.fromkeys(s.reader for s in self.series if s.reader is not None))

    def with_truth(self, how: str, *, readers: Iterable[str] | None = None) -> "Study":
        """Study whose truth is a consensus of its readers' masks, case by case and task by task.

        Readers who make the truth answer no more: scored against a consensus of which they are part they
        would look better than they are. Name some to keep the others, as a human benchmark.

        Parameters
        ----------
        how : {"majority", "staple"}
            "majority": pixels that more than half of the readers mark, so that half of an even number is
            not enough. "staple": expectation-maximisation of the truth and of each reader's sensitivity and
            specificity (Warfield et al. 2004, doi:10.1109/TMI.2004.828354). See `images.consensus`.
        readers : iterable of str, optional
            Who makes the truth; by default all.

        Returns
        -------
        Study
            Masks are read, and made one, when a case is scored. A case that none of the readers has read is
            not annotated. An old truth is replaced.

        Raises
        ------
        SalstatsError
            An unknown rule or reader; fewer than two readers; a reader has several masks of one case and
            task, as by several methods.

        Warns
        -----
        SalstatsWarning
            Cases were read by one of the readers only, whose mask is the truth there.

        Examples
        --------
        >>> import numpy as np, salstats as ss
        >>> drawn = {("a", "Edema", f"R{i}"): np.arange(4)[None] < i for i in (1, 2, 3)}
        >>> study = ss.study_from_arrays({}, {("a", "Edema", "cam"): np.eye(4)[:1]}, readers=drawn)
        >>> scores = ss.score(study.with_truth("majority"), metrics="iou", threshold=0.5)
        >>> scores[["method", "score", "truth_rule"]]
          method  score truth_rule
        0    cam    0.5   majority
        """
        check_choice(how, tuple(consensus.CONSENSUS_RULES), "truth")
        names = chosen_names(readers, self.readers(), "reader", self.source)
        if len(names) < 2:
            raise SalstatsError(
                f"{self.source}: a consensus is of two readers or more, and there are "
                f"{quoted(names) if names else 'none'}; one reader's masks are the truth with truth=FILE, "
                "another's the human benchmark with human=FILE"
            )
        series: dict[str | None, Series] = {s.reader: s for s in self.series if s.reader in names}
        several = next((s for s in self.series if s.reader in names and s != series[s.reader]), None)
        if several is not None:
            raise SalstatsError(
                f"reader {several.reader!r} has masks as {str(several)!r} and "
                f"{str(series[several.reader])!r}; keep one with select(methods=)"
            )
        cases = tuple(_with_consensus(c, {*series.values()}, how) for c in self.cases)
        n_alone = sum(len({p.series for p in c.predictions} & {*series.values()}) == 1 for c in self.cases)
        if n_alone:
            warn(
                f"{self.source}: {n_alone} of {len(cases)} cases were read by one of these readers only, "
                "whose mask is the truth there"
            )
        kept = tuple(s for s in self.series if s.reader not in names)
        return replace(self, cases=cases, series=kept, truth=how)


def _with_consensus(case: Case, series: set[Series], how: str) -> Case:
    """A case whose truth is what some of its series make together, without these."""
    by_task: dict[str, list[Prediction]] = {}
    for prediction in case.predictions:
        if prediction.series in series:
            by_task.setdefault(prediction.task, []).append(prediction)
    return replace(
        case,
        truths={task: Truth(partial(_agreed_mask, own, how, case.case)) for task, own in by_task.items()},
        predictions=tuple(p for p in case.predictions if p.series not in series),
        annotated=bool(by_task),
    )


def _agreed_mask(answers: Sequence[Prediction], how: str, case: str) -> Rle:
    """The mask that several readers' masks of one case and task make."""
    found = {p.series: p.read().mask for p in answers}
    for series, mask in found.items():
        if mask is None:
            raise SalstatsError(
                f"case {case!r}, task {answers[0].task!r}: {str(series)!r} marked no mask, of which "
                "the truth is made"
            )
    try:
        return consensus.consensus([m for m in found.values() if m is not None], how).mask
    except ShapeError as error:
        raise ShapeError(f"case {case!r}, task {answers[0].task!r}: {error}") from None


def chosen_names(
    wanted: Iterable[str] | None, there: Sequence[str], word: str, source: object, *, some: bool = False
) -> tuple[str, ...]:
    """Names wanted, each once, all of which must be there; None wants all, `some` at least one."""
    if wanted is None:
        return tuple(there)
    names = tuple(dict.fromkeys([wanted] if isinstance(wanted, str) else wanted))
    if some and not names:
        raise SalstatsError(f"no {word} of {source} is named; leave the option out for all of them")
    missing = sorted({*names} - {*there})
    if missing:
        raise SalstatsError(
            f"{source} has no {word} {missing[0]!r} ({word}s: {quoted(dict.fromkeys(there))})"
        )
    return names


def shape_of(case: Case) -> tuple[int, int]:
    """Size of a case's image, where it has to be known."""
    if case.shape is None:
        raise SalstatsError(f"case {case.case!r}: nothing says how large its image is")
    return case.shape


def check_gaze(study: object) -> Study:
    """`study` if it is a study of gaze: one whose cases hold recordings."""
    if not isinstance(study, Study) or (study.cases and not any(c.recordings for c in study)):
        given = study.source if isinstance(study, Study) else type(study).__name__
        raise SalstatsError(f"{given} is no study of gaze, which has recordings; read one with read_gaze()")
    return study
