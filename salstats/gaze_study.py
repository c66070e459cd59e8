"""What a study of gaze is: images, who looked at each, where, and the maps that are compared with that.

As in `study`, a record holds names and small things only. Fixations and maps are read when a score needs
them, image by image, so that a study of any size can be cut into pieces and sent to another process.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, check_count, quoted
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations

#: Why a recording is left out.
DISCARDED = "discarded by its file"
NO_FIXATION, NO_DURATION = "no fixation", "no fixation lasts"
SHOWN_OUTSIDE = "shown part outside the image"
OUT_OF_SIGHT = "all fixations far from the shown part"
#: Why a chest box is left out.
NO_BOX, BOX_OUTSIDE, BOX_EMPTY = "no chest box", "chest box outside the image", "chest box of no size"

#: The study's labels by where the finding is, as its scripts group them; the last group is any of its
#: labels, support devices among them.
LOCATIONS: Mapping[str, tuple[str, ...]] = {
    "pleural": ("Pneumothorax", "Pleural effusion", "Pleural thickening", "Pleural abnormality"),
    "parenchymal": (
        "Fibrosis",
        "Interstitial lung disease",
        "Atelectasis",
        "Consolidation",
        "Groundglass opacity",
        "Edema",
        "Pulmonary edema",
        "Airway wall thickening",
        "Mass",
        "Nodule",
        "Lung nodule or mass",
    ),
    "cardiomediastinal": (
        "Enlarged cardiac silhouette",
        "Abnormal mediastinal contour",
        "Wide mediastinum",
        "Enlarged hilum",
    ),
}
_ELSEWHERE = (
    "Emphysema",
    "High lung volume / emphysema",
    "Fracture",
    "Acute fracture",
    "Support devices",
    "Hiatal hernia",
    "Other",
)
#: The groups of `majority_labels`.
MAJORITY_GROUPS: Mapping[str, tuple[str, ...]] = {
    **LOCATIONS,
    "abnormal": (*(label for labels in LOCATIONS.values() for label in labels), *_ELSEWHERE),
}


@dataclass(frozen=True)
class MapSeries:
    """Who made a set of maps.

    Attributes
    ----------
    method : str
    model, seed : str, optional
        Network and seed, where they are named.
    mixing : str, optional
        How maps of several classes were mixed.
    """

    method: str
    model: str | None = None
    seed: str | None = None
    mixing: str | None = None

    def __str__(self) -> str:
        """Return its parts with a colon between."""
        return ":".join(p for p in (self.method, self.model, self.seed, self.mixing) if p is not None)


@dataclass(frozen=True)
class GivenMap:
    """One series' map of one image, read when `read(shape)` is called.

    Attributes
    ----------
    series : MapSeries
    read : callable
        Takes (height, width) of the image and returns the map as float64, at that size or at its own; can
        be pickled.
    source : str
        The file it comes from, for messages.
    """

    series: MapSeries
    read: Callable[[tuple[int, int]], np.ndarray]
    source: str


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
    n_fixations, n_outside, n_zero : int, optional
        How many fixations, how many of them outside the image, how many that last 0 seconds. None for a
        discarded recording, whose files are not opened.
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
    duration: float = float("nan")
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GazeCase:
    """One image: its names, its size, who looked at it, and its maps.

    Attributes
    ----------
    case : str
    patient : str
    phase, trial : int
        The phase of the study, and the image's number in it; `trial` is None where all recordings were
        discarded.
    shape : tuple of int
        (height, width) in pixels.
    recordings : tuple of Recording
        In the order of the metadata, those that are left out among them.
    maps : tuple of GivenMap
        In the order of the study's series.
    """

    case: str
    patient: str
    phase: int
    trial: int | None
    shape: tuple[int, int]
    recordings: tuple[Recording, ...]
    maps: tuple[GivenMap, ...] = ()

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
class GazeStudy:
    """Images in the order of phases and, within, of their trials, and the series of maps.

    Attributes
    ----------
    cases : tuple of GazeCase
    series : tuple of MapSeries
        Every one of them owes a map of every image; what is missing is said, not dropped.
    source : str
        Where it was read from, for messages.
    """

    cases: tuple[GazeCase, ...]
    series: tuple[MapSeries, ...] = ()
    source: str = "study of gaze"

    def __iter__(self) -> Iterator[GazeCase]:
        """Iterate over the images."""
        return iter(self.cases)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.cases)

    def __repr__(self) -> str:
        """Return what it holds in one line."""
        methods = ", ".join(str(s) for s in self.series) or "none"
        n_recordings = sum(len(c.used) for c in self.cases)
        return f"<GazeStudy {self.source}: {len(self)} cases, {n_recordings} recordings, maps: {methods}>"

    def select(
        self, *, cases: Iterable[str] | None = None, methods: Iterable[str] | None = None
    ) -> "GazeStudy":
        """Return the study with some of its cases and methods only, in its own order.

        Raises
        ------
        SalstatsError
            A name is not in the study.
        """
        kept = _chosen(cases, [c.case for c in self.cases], "case", self.source)
        named = _chosen(methods, [s.method for s in self.series], "method", self.source)
        return replace(
            self,
            cases=tuple(
                replace(c, maps=tuple(m for m in c.maps if m.series.method in named))
                for c in self.cases
                if c.case in kept
            ),
            series=tuple(s for s in self.series if s.method in named),
        )


def _chosen(wanted: Iterable[str] | None, there: list[str], word: str, source: str) -> set[str]:
    """Return the names wanted, all of which must be there."""
    if wanted is None:
        return set(there)
    names = {wanted} if isinstance(wanted, str) else set(wanted)
    missing = sorted(names - set(there))
    if missing:
        raise SalstatsError(
            f"{source} has no {word} {missing[0]!r} ({word}s: {quoted(dict.fromkeys(there))})"
        )
    return names


def exclusions(study: GazeStudy) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many recordings, and how many chest boxes of recordings used, are left out, by reason."""
    every = [r for c in study for r in c.recordings]
    recordings_left = Counter(r.excluded for r in every if r.excluded is not None)
    boxes_left = Counter(r.box_excluded for r in every if r.excluded is None and r.box_excluded is not None)
    return dict(recordings_left), dict(boxes_left)


def recordings(study: GazeStudy) -> pd.DataFrame:
    """Return one row per recording of a study of gaze, those that are left out among them.

    Parameters
    ----------
    study : GazeStudy
        What `read_gaze` returned.

    Returns
    -------
    DataFrame
        In the order of the study.

        case, patient, phase, trial, recording, reader
            Names. `reader` counts the recordings of an image in the order of the metadata, discarded ones
            left out: "0" of two images need not be the same person. Missing for a discarded one.
        used
            Whether it is scored.
        reason
            Why not: "discarded by its file", "no fixation", "no fixation lasts", "shown part outside the
            image", "all fixations far from the shown part"; missing where it is used.
        box
            "used", or why its chest box is left out of the centre bias: "no chest box", "chest box outside
            the image", "chest box of no size". Missing for a recording that is left out.
        n_fixations, n_outside, n_zero
            Fixations, those outside the image (kept: the tails of their Gaussians count), and those that
            last 0 seconds (they weigh nothing). Missing for a discarded recording.
        duration
            Seconds of all fixations together.

    Raises
    ------
    SalstatsError
        `study` is not what `read_gaze` returns.

    Examples
    --------
    >>> from salstats.gaze_study import GazeCase, GazeStudy, Recording, recordings
    >>> lost = Recording("P1", None, lambda: None, "P1/fixations.csv", excluded="discarded by its file")
    >>> study = GazeStudy((GazeCase("image", "7", 1, None, (90, 80), (lost,)),))
    >>> recordings(study)[["case", "recording", "used", "reason"]]
        case recording   used                 reason
    0  image        P1  False  discarded by its file
    """
    check_gaze(study)
    rows = [(case, recording) for case in study for recording in case.recordings]
    every = [recording for _, recording in rows]
    boxes = [None if r.excluded is not None else r.box_excluded or "used" for r in every]
    return pd.DataFrame(
        {
            "case": _text(case.case for case, _ in rows),
            "patient": _text(case.patient for case, _ in rows),
            "phase": np.array([case.phase for case, _ in rows], dtype=np.int64),
            "trial": _whole(case.trial for case, _ in rows),
            "recording": _text(r.recording for r in every),
            "reader": _text(r.reader for r in every),
            "used": np.array([r.excluded is None for r in every], dtype=bool),
            "reason": _text(r.excluded for r in every),
            "box": _text(boxes),
            "n_fixations": _whole(r.n_fixations for r in every),
            "n_outside": _whole(r.n_outside for r in every),
            "n_zero": _whole(r.n_zero for r in every),
            "duration": np.array([r.duration for r in every], dtype=np.float64),
        }
    )


def majority_labels(
    study: GazeStudy, *, groups: Mapping[str, Sequence[str]] | None = None, at_least: int = 3
) -> pd.DataFrame:
    """Return what the majority of the readers of each image found, by where the finding is.

    A reader finds something in a group where any of its labels is marked with any certainty: neither 0 nor
    empty. Readers whose gaze was discarded have a voice, as in the study: their labels stand.

    Parameters
    ----------
    study : GazeStudy
        What `read_gaze` returned.
    groups : dict of str to sequence of str, optional
        Columns of labels by group. By default the study's: `pleural`, `parenchymal`, `cardiomediastinal`,
        and `abnormal`, any of its labels, support devices among them. A label that a phase does not ask for
        is passed over.
    at_least : int, default 3
        How many readers must agree: three of five in the study.

    Returns
    -------
    DataFrame
        One row per case, in the order of the study.

        case, patient, phase
            Names.
        n_readings
            Readers whose labels are there.
        pleural, parenchymal, ... : Int64
            1 where at least `at_least` readers found something, 0 where as many found nothing; missing
            where neither holds (fewer readers than that, or a tie) and where the phase asks for no label of
            the group.

    Raises
    ------
    SalstatsError
        A group has no label, or one that the study does not know; a group is named like another column.
    ValueRangeError
        `at_least` is not a number of readers.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and
    saliency maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716. Groups and majority: ricbl/etsaliencymaps,
    `compare_heatmaps.py`, commit a8447f3.

    Examples
    --------
    >>> from salstats.gaze_study import GazeCase, GazeStudy, Recording, majority_labels
    >>> marks = [5.0, 3.0, 0.0, 1.0, float("nan")]
    >>> looks = tuple(Recording(f"P{i}", str(i), str, "", labels={"Edema": m}) for i, m in enumerate(marks))
    >>> study = GazeStudy((GazeCase("image", "7", 1, 0, (90, 80), looks),))
    >>> majority_labels(study, groups={"fluid": ["Edema"]})
        case patient  phase  n_readings  fluid
    0  image       7      1           5      1
    """
    check_gaze(study)
    check_count(at_least, "at_least")
    known = {label for case in study for r in case.recordings for label in r.labels}
    wanted = MAJORITY_GROUPS if groups is None else _checked_groups(groups, known, study.source)
    frame = pd.DataFrame(
        {
            "case": _text(case.case for case in study),
            "patient": _text(case.patient for case in study),
            "phase": np.array([case.phase for case in study], dtype=np.int64),
            "n_readings": np.array([len(_readings(case)) for case in study], dtype=np.int64),
        }
    )
    for group, labels in wanted.items():
        frame[group] = _whole(_majority(case, labels, at_least) for case in study)
    return frame


def _readings(case: GazeCase) -> list[Mapping[str, float]]:
    """Return the labels of every reader who gave some."""
    return [r.labels for r in case.recordings if r.labels]


def _majority(case: GazeCase, labels: Sequence[str], at_least: int) -> int | None:
    """Return whether a majority found something in a group: 1, 0, or None where there is none."""
    votes = [
        any(read[label] != 0 and not np.isnan(read[label]) for label in labels if label in read)
        for read in _readings(case)
        if any(label in read for label in labels)
    ]
    n_found = sum(votes)
    if n_found >= at_least:
        return 1
    return 0 if len(votes) - n_found >= at_least else None


def _checked_groups(
    groups: Mapping[str, Sequence[str]], known: set[str], source: str
) -> dict[str, tuple[str, ...]]:
    """Return groups given by the user: each of labels that the study has."""
    checked: dict[str, tuple[str, ...]] = {}
    for group, labels in groups.items():
        names = (labels,) if isinstance(labels, str) else tuple(labels)
        if not names:
            raise SalstatsError(f"groups={group!r} names no label (labels: {quoted(sorted(known))})")
        if group in ("case", "patient", "phase", "n_readings"):
            raise SalstatsError(f"groups={group!r} is the name of another column; call it something else")
        for name in names:
            if name not in known:
                close = get_close_matches(str(name), sorted(known), n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise SalstatsError(
                    f"{source} has no label {name!r} (groups={group!r}){hint} "
                    f"(labels: {quoted(sorted(known))})"
                )
        checked[group] = names
    return checked


def check_gaze(study: object) -> GazeStudy:
    """Return `study` if it is a study of gaze."""
    if not isinstance(study, GazeStudy):
        raise SalstatsError(
            f"study must be a GazeStudy, not {type(study).__name__}; read one with read_gaze()"
        )
    return study


def _text(values: Iterable[str | None]) -> Any:
    """Return names as a column of text."""
    return pd.array(list(values), dtype="str")


def _whole(values: Iterable[int | None]) -> Any:
    """Return whole numbers as a column that may have missing ones."""
    return pd.array(list(values), dtype="Int64")
