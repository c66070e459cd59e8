"""What a study is: cases, what is there on each (the truth), and what methods and people made of it.

A record here holds names and small things only: compressed masks, outlines, paths. Maps and pixels are
read when a score needs them, one at a time, so a study of any size is an ordinary object that can be
iterated, cut into pieces and sent to another process.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from salstats.checks import SalstatsError, quoted
from salstats.images.masks import Rle

#: The method whose predictions are people's.
HUMAN = "human"


@dataclass(frozen=True)
class Series:
    """Who made a set of predictions: one method, and where they are known its network, seed and reader.

    Attributes
    ----------
    method : str
        Saliency method, or `human`.
    model, seed, reader : str, optional
        What else tells this set from others of the method; None where the study does not say.
    """

    method: str
    model: str | None = None
    seed: str | None = None
    reader: str | None = None

    def __str__(self) -> str:
        """Return its parts with a colon between."""
        return ":".join(p for p in (self.method, self.model, self.seed, self.reader) if p is not None)


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
        """Return the reference of a mask that is read already."""
        return cls(partial(_same, mask), n_instances)


def _same(mask: Rle) -> Rle:
    """Return a truth that is read already."""
    return mask


@dataclass(frozen=True)
class Case:
    """One image: its names, its size, its truth and its predictions.

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
    """

    case: str
    shape: tuple[int, int] | None
    truths: Mapping[str, Truth]
    predictions: tuple[Prediction, ...]
    annotated: bool = True
    patient: str | None = None
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """Cases in the order of their names, the tasks looked for, and the series that answer.

    Attributes
    ----------
    cases : tuple of Case
    tasks : tuple of str
        Every case is asked for every one of them.
    series : tuple of Series
        Every one of them owes an answer for every case and task; what is missing is said, not dropped.
    source : str
        Where it was read from, for messages.
    """

    cases: tuple[Case, ...]
    tasks: tuple[str, ...]
    series: tuple[Series, ...]
    source: str = "study"

    def __iter__(self) -> Iterator[Case]:
        """Iterate over the cases."""
        return iter(self.cases)

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.cases)

    def __repr__(self) -> str:
        """Return what it holds in one line."""
        methods = ", ".join(str(s) for s in self.series) or "none"
        return f"<Study {self.source}: {len(self)} cases, {len(self.tasks)} tasks, methods: {methods}>"

    def with_maps(self) -> tuple[Series, ...]:
        """Return the series that hold maps; people and stored masks have none."""
        found = {p.series for c in self.cases for p in c.predictions if p.has_saliency}
        return tuple(s for s in self.series if s in found)

    def select(
        self,
        *,
        cases: Iterable[str] | None = None,
        tasks: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
    ) -> "Study":
        """Return the study with some of its cases, tasks and methods only, in its own order.

        A method stands for all its series; method:model is one of them.

        Raises
        ------
        SalstatsError
            A name is not in the study.
        """
        kept_cases = chosen_names(cases, [c.case for c in self.cases], "case", self.source)
        kept_tasks = chosen_names(tasks, list(self.tasks), "task", self.source)
        names = list(dict.fromkeys(n for s in self.series for n in (s.method, str(s))))
        wanted = chosen_names(methods, names, "method", self.source)
        series = tuple(s for s in self.series if {s.method, str(s)} & wanted)
        return Study(
            cases=tuple(
                replace(
                    c,
                    truths={t: v for t, v in c.truths.items() if t in kept_tasks},
                    predictions=tuple(
                        p for p in c.predictions if p.task in kept_tasks and p.series in series
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
