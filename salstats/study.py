"""Records of a study: cases, their truth, and the predictions of methods and people.

The truth is a mask of each task, or recordings of where people looked. Records hold names and small things
only: compressed masks, outlines, paths. Maps and pixels are read when a score needs them, one at a time, so
a study of any size is an ordinary object that can be iterated, cut into batches and sent to another process.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from salstats.checks import check_choice, did_you_mean, quoted
from salstats.errors import Message, SalstatsError, Setting, ShapeError, warn
from salstats.images import consensus
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.images.masks import Rle

T = TypeVar("T")
#: Name of the method whose predictions people made.
HUMAN = "human"
#: Reason why a recording has no chest box.
NO_BOX = "no chest box"


@dataclass(frozen=True)
class Series:
    """Names of the method, model, seed and reader that made predictions; None where one does not apply."""

    #: Saliency method, or `human`.
    method: str
    model: str | None = None
    seed: str | None = None
    reader: str | None = None
    #: How maps of several classes were mixed.
    mixing: str | None = None

    @property
    def name(self) -> str:
        """Method in a frame of scores, with the mixing of classes, which makes another method of it."""
        if self.mixing is None:
            return self.method
        return f"{self.method}_{self.mixing}"

    def __str__(self) -> str:
        """Write the names with colons between them."""
        names = (self.method, self.model, self.seed, self.reader, self.mixing)
        return ":".join(name for name in names if name is not None)


@dataclass(frozen=True)
class Content:
    """Map, mask, points and probability of one series for one case and task; any may be missing."""

    #: The map at its own resolution, (M, N); larger means more salient.
    saliency: np.ndarray | None = None
    #: A mask at the image's resolution.
    mask: Rle | None = None
    #: Marked points as (row, col) in pixels of the image, (n, 2); n may be 0.
    points: np.ndarray | None = None
    #: The model's probability for the task; NaN where it is unknown.
    prob: float = float("nan")
    #: Image-level truth, 0 or 1; NaN where it is unknown.
    label: float = float("nan")
    #: (height, width) of the image, where the file holds it.
    shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class Prediction:
    """Prediction of one series for one task of one case, read when `read()` is called."""

    #: "" in a study of gaze, in which nothing in particular is looked for.
    task: str
    series: Series
    #: A function of a module or a partial of one, which can be pickled.
    read: Callable[[], Content]
    #: File of the prediction, for messages.
    source: str
    #: True where `read()` returns a map; people and stored masks have none.
    has_saliency: bool = True


@dataclass(frozen=True)
class Truth:
    """The reference of one task of one case, read when `read()` is called."""

    #: Can be pickled.
    read: Callable[[], Rle]
    #: Number of separate outlines that the annotator drew; None where only the mask is known.
    n_instances: int | None = None

    @classmethod
    def of(cls, mask: Rle, n_instances: int | None = None) -> "Truth":
        """Make the truth of a mask that is in memory."""
        return cls(partial(returned_unchanged, mask), n_instances)


def returned_unchanged(value: T) -> T:
    """Return the value: the `read` of a record that is in memory is `partial(returned_unchanged, value)`."""
    return value


@dataclass(frozen=True)
class Recording:
    """Fixations of one reader on one image; files of a recording that is left out are not opened."""

    #: Name in the files.
    recording: str
    #: Position among the recordings of the image that are not discarded, in the order of the metadata, from
    #: "0".
    reader: str | None
    #: Can be pickled.
    read: Callable[[], Fixations]
    #: File of the recording, for messages.
    source: str
    #: Reason why it is left out; None where it is used.
    excluded: str | None = None
    #: Chest box that the reader drew; a recording without one is used, too.
    box: Box | None = None
    #: Reason why the chest box is left out.
    box_excluded: str | None = None
    n_fixations: int | None = None
    #: Number of fixations outside the image.
    n_outside: int | None = None
    #: Number of fixations of 0 seconds.
    n_zero: int | None = None
    #: Number of fixations that begin before another has ended.
    n_overlapping: int | None = None
    #: Sum of the durations of all fixations in seconds.
    duration: float = float("nan")
    #: Labels of the reader: certainty from 0 to 5, or 0 and 1; NaN where empty.
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One image: its names, its size, its truth (masks, or recordings of gaze) and its predictions.

    Attributes
    ----------
    case : str
    shape : tuple of int, optional
        (height, width) in pixels; None where only the files of the maps hold it.
    truths : dict of str to Truth
        Truth by task. A task without one is not present on the image.
    predictions : tuple of Prediction
        In the order of the study's series, then of its tasks.
    annotated : bool
        True where the truth contains this case. Cases without any finding are often left out of it.
    patient : str, optional
        The cluster that the case belongs to.
    labels : dict of str to float
        Image-level truth by task, 0 or 1, from a table of labels.
    recordings : tuple of Recording
        Recordings in the order of the metadata, with those that are left out.
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
        """Predictions by task and series."""
        return {(prediction.task, prediction.series): prediction for prediction in self.predictions}

    @property
    def used(self) -> tuple[Recording, ...]:
        """Recordings that are not left out."""
        return tuple(recording for recording in self.recordings if recording.excluded is None)

    @property
    def box(self) -> Box | None:
        """Chest box: the mean of the boxes of the recordings used; None without any."""
        boxes = [recording.box for recording in self.used if recording.box is not None]
        if not boxes:
            return None
        coordinates = np.mean(boxes, axis=0).tolist()
        return Box(*coordinates)


@dataclass(frozen=True)
class Study:
    """Cases, the tasks looked for on them, and the series of predictions.

    Attributes
    ----------
    cases : tuple of Case
        In the order of their names; those of a study of gaze in that of phases and, within, of trials.
    tasks : tuple of str
        Each is looked for on every case; a study of gaze has none.
    series : tuple of Series
        Each should have a prediction for every case and task; missing ones are reported as such.
    source : str
        File or folder that it was read from, for messages.
    truth : str, optional
        Rule that made the truth from readers' masks, a name of `images.consensus.CONSENSUS_RULES`.
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
        """Return the number of cases."""
        return len(self.cases)

    def __repr__(self) -> str:
        """Describe the study in one line."""
        methods = ", ".join(str(series) for series in self.series) or "none"
        n_recordings = sum(len(case.used) for case in self.cases)
        content = f"{len(self.tasks)} tasks"
        if n_recordings and not self.tasks:
            content = f"{n_recordings} recordings"
        return f"<Study {self.source}: {len(self)} cases, {content}, methods: {methods}>"

    def with_maps(self) -> tuple[Series, ...]:
        """Return the series that have maps; people and stored masks have none."""
        series_with_maps = set()
        for case in self.cases:
            series_with_maps |= {p.series for p in case.predictions if p.has_saliency}
        return tuple(series for series in self.series if series in series_with_maps)

    def select(
        self,
        *,
        cases: Iterable[str] | None = None,
        tasks: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
    ) -> "Study":
        """Return the study with some of its cases, tasks and methods, in its own order.

        A method selects all its series; method:model selects one of them.

        Raises
        ------
        SalstatsError
            A name is not in the study.
        """
        case_names = set(selected_names(cases, [case.case for case in self.cases], "case", self.source))
        task_names = selected_names(tasks, self.tasks, "task", self.source)
        series = self._series_of(methods)
        return Study(
            cases=tuple(
                _select_from_case(case, task_names, series) for case in self.cases if case.case in case_names
            ),
            tasks=tuple(task for task in self.tasks if task in task_names),
            series=series,
            source=self.source,
            truth=self.truth,
        )

    def _series_of(self, methods: Iterable[str] | None) -> tuple[Series, ...]:
        """Return the series of methods that are named by method, by method and mixing, or in full."""
        available: list[str] = []
        for series in self.series:
            available += [series.method, series.name, str(series)]
        names = set(selected_names(methods, list(dict.fromkeys(available)), "method", self.source))
        return tuple(s for s in self.series if names & {s.method, s.name, str(s)})

    def readers(self) -> tuple[str, ...]:
        """Return the readers whose masks or points are in the study, in the order of the series."""
        names = [series.reader for series in self.series if series.reader is not None]
        return tuple(dict.fromkeys(names))

    def with_truth(self, how: str, *, readers: Iterable[str] | None = None) -> "Study":
        """Return the study with a consensus of its readers' masks as truth of each case and task.

        Readers who make the truth are no longer scored: against a consensus that they are part of they would
        look better than they are. Name some readers to keep the others as a human benchmark.

        Parameters
        ----------
        how : {"majority", "staple"}
            "majority": pixels that more than half of the readers mark, so that half of an even number is
            not enough. "staple": expectation-maximisation of the truth and of each reader's sensitivity and
            specificity (Warfield et al. 2004, doi:10.1109/TMI.2004.828354). See `images.consensus`.
        readers : iterable of str, optional
            Readers who make the truth; by default all.

        Returns
        -------
        Study
            Masks are read and combined when a case is scored. A case that none of the readers has read is
            not annotated. An earlier truth is replaced.

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
        names = selected_names(readers, self.readers(), "reader", self.source)
        if len(names) < 2:
            raise SalstatsError(
                f"{self.source}: a consensus needs two readers or more, and there are "
                f"{quoted(names) if names else 'none'}",
                hint=Message(
                    "one reader's masks are the truth with ",
                    Setting("truth", "FILE"),
                    ", another's the human benchmark with ",
                    Setting("human", "FILE"),
                ),
                option="readers",
            )
        reader_series = self._at_most_one_series_per_reader(names)
        cases = tuple(_with_truth_from_consensus(case, reader_series, how) for case in self.cases)
        cases_of_one_reader = []
        for case in self.cases:
            series_of_case = {prediction.series for prediction in case.predictions}
            if len(series_of_case & reader_series) == 1:
                cases_of_one_reader.append(case.case)
        if cases_of_one_reader:
            warn(
                f"{self.source}: {len(cases_of_one_reader)} of {len(cases)} cases were read by one of these "
                "readers only, whose mask is the truth there",
                column="case",
                value=cases_of_one_reader,
            )
        remaining_series = tuple(series for series in self.series if series.reader not in names)
        return replace(self, cases=cases, series=remaining_series, truth=how)

    def _at_most_one_series_per_reader(self, readers: Iterable[str]) -> set[Series]:
        """Return the series of readers; raise SalstatsError where one has several."""
        by_reader: dict[str, Series] = {}
        for series in self.series:
            if series.reader is None or series.reader not in readers:
                continue
            first = by_reader.setdefault(series.reader, series)
            if first != series:
                raise SalstatsError(
                    f"reader {series.reader!r} has masks as {str(first)!r} and {str(series)!r}",
                    hint="keep one with select(methods=)",
                    option="readers",
                    value=series.reader,
                )
        return set(by_reader.values())


def _select_from_case(case: Case, tasks: Collection[str], series: Collection[Series]) -> Case:
    """Return a case with some of its tasks and series; predictions of gaze have the task ""."""
    truths = {task: truth for task, truth in case.truths.items() if task in tasks}
    predictions = []
    for prediction in case.predictions:
        is_of_task = prediction.task in tasks or prediction.task == ""
        if is_of_task and prediction.series in series:
            predictions.append(prediction)
    return replace(case, truths=truths, predictions=tuple(predictions))


def _with_truth_from_consensus(case: Case, series: set[Series], how: str) -> Case:
    """Return a case whose truth is the consensus of some series, without the predictions of these."""
    # task -> predictions of the readers who make the truth
    readings: dict[str, list[Prediction]] = {}
    remaining = []
    for prediction in case.predictions:
        if prediction.series in series:
            readings.setdefault(prediction.task, []).append(prediction)
        else:
            remaining.append(prediction)
    truths = {
        task: Truth(partial(_consensus_mask, predictions, how, case.case))
        for task, predictions in readings.items()
    }
    return replace(case, truths=truths, predictions=tuple(remaining), annotated=bool(readings))


def _consensus_mask(predictions: Sequence[Prediction], how: str, case: str) -> Rle:
    """Read several readers' masks of one case and task and return their consensus."""
    masks = []
    for prediction in predictions:
        mask = prediction.read().mask
        if mask is None:
            raise SalstatsError(
                f"case {case!r}, task {prediction.task!r}: {str(prediction.series)!r} has no mask, which the "
                "truth needs"
            )
        masks.append(mask)
    try:
        return consensus.consensus(masks, how).mask
    except ShapeError as error:
        task = predictions[0].task
        raise error.prefixed(f"case {case!r}, task {task!r}: ", value=(case, task)) from None


def selected_names(
    names: Iterable[str] | None,
    available: Sequence[str],
    noun: str,
    source: object,
    *,
    required: bool = False,
) -> tuple[str, ...]:
    """Return distinct names; raise SalstatsError where one is not available.

    None selects all that are available. With `required` an empty selection is an error.
    """
    if names is None:
        return tuple(available)
    selected = tuple(dict.fromkeys([names] if isinstance(names, str) else names))
    if required and not selected:
        raise SalstatsError(
            f"no {noun} of {source} is named", hint="leave the option out for all of them", option=f"{noun}s"
        )
    missing = sorted(set(selected) - set(available))
    if missing:
        distinct = list(dict.fromkeys(available))
        # a list of all would hide the names that may be meant
        choices = did_you_mean(missing[0], distinct, n=3) or f" ({noun}s: {quoted(distinct)})"
        raise SalstatsError(
            f"{source} has no {noun} {missing[0]!r}{choices}",
            option=f"{noun}s",
            value=missing[0],
            choices=distinct,
        )
    return selected


def shape_of(case: Case) -> tuple[int, int]:
    """Return the size of a case's image; raise SalstatsError where it is unknown."""
    if case.shape is None:
        raise SalstatsError(
            f"case {case.case!r}: the size of its image is unknown", option="case", value=case.case
        )
    return case.shape


def check_gaze(study: object) -> Study:
    """Return a study of gaze; raise SalstatsError where its cases have no recordings."""
    if not isinstance(study, Study):
        raise _not_gaze_study_error(type(study).__name__)
    if study.cases and not any(case.recordings for case in study):
        raise _not_gaze_study_error(study.source)
    return study


def _not_gaze_study_error(name: str) -> SalstatsError:
    """Return the error for something that is not a study of gaze."""
    return SalstatsError(
        f"{name} is not a study of gaze, which has recordings",
        hint="read one with read_gaze()",
        option="study",
        value=name,
    )
