"""What a study of gaze is: images, who looked at each, where, and the maps that are compared with that.

As in `study`, a record holds names and small things only. Fixations and maps are read when a score needs
them, image by image, so that a study of any size can be cut into pieces and sent to another process.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError
from salstats.frames import text_column, whole_column
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.study import chosen_names

#: Why a recording is left out.
DISCARDED = "discarded by its file"
NO_FIXATION, NO_DURATION = "no fixation", "no fixation lasts"
SHOWN_OUTSIDE = "shown part outside the image"
OUT_OF_SIGHT = "all fixations far from the shown part"
#: Why a chest box is left out.
NO_BOX, BOX_OUTSIDE, BOX_EMPTY = "no chest box", "chest box outside the image", "chest box of no size"


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

    @property
    def name(self) -> str:
        """What the method is called in a frame: another mixing makes another method of it."""
        return self.method if self.mixing is None else f"{self.method}_{self.mixing}"

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
        kept = chosen_names(cases, [c.case for c in self.cases], "case", self.source)
        named = chosen_names(methods, [s.name for s in self.series], "method", self.source)
        return replace(
            self,
            cases=tuple(
                replace(c, maps=tuple(m for m in c.maps if m.series.name in named))
                for c in self.cases
                if c.case in kept
            ),
            series=tuple(s for s in self.series if s.name in named),
        )


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
        n_fixations, n_outside, n_zero, n_overlapping
            Fixations, those outside the image (kept: the tails of their Gaussians count), those that last 0
            seconds (they weigh nothing), and those that begin before another has ended (each weighs as long
            as it lasts). Missing for a discarded recording.
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
            "case": text_column(case.case for case, _ in rows),
            "patient": text_column(case.patient for case, _ in rows),
            "phase": np.array([case.phase for case, _ in rows], dtype=np.int64),
            "trial": whole_column(case.trial for case, _ in rows),
            "recording": text_column(r.recording for r in every),
            "reader": text_column(r.reader for r in every),
            "used": np.array([r.excluded is None for r in every], dtype=bool),
            "reason": text_column(r.excluded for r in every),
            "box": text_column(boxes),
            "n_fixations": whole_column(r.n_fixations for r in every),
            "n_outside": whole_column(r.n_outside for r in every),
            "n_zero": whole_column(r.n_zero for r in every),
            "n_overlapping": whole_column(r.n_overlapping for r in every),
            "duration": np.array([r.duration for r in every], dtype=np.float64),
        }
    )


def check_gaze(study: object) -> GazeStudy:
    """Return `study` if it is a study of gaze."""
    if not isinstance(study, GazeStudy):
        raise SalstatsError(
            f"study must be a GazeStudy, not {type(study).__name__}; read one with read_gaze()"
        )
    return study
