"""Images of a study as networks are shown them, and what a network makes of them."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from torch import nn

from salstats.checks import SalstatsError, ShapeError
from salstats.explain.ensembles import check_task_outputs
from salstats.explain.forward import predict, ran_out_of_memory
from salstats.explain.making import explain
from salstats.explain.map_plans import Making, Plan, case_seed
from salstats.explain.networks import Network
from salstats.images.geometry import Geometry
from salstats.images.preparation import Preparation
from salstats.readers.pictures import read_picture

#: An image, its file, or what returns it.
Image = np.ndarray | str | os.PathLike[str] | Callable[[], np.ndarray]


def chunks(
    images: Mapping[str, Image] | Iterable[tuple[str, Image]], size: int
) -> Iterator[list[tuple[str, Image]]]:
    """Names and images of some cases at a time; an image may come when it is asked for."""
    if not isinstance(images, Iterable):
        raise SalstatsError(
            f"images must be a mapping of a case's name to its image, or pairs of these, not "
            f"{type(images).__name__}"
        )
    pairs = iter(images.items() if isinstance(images, Mapping) else images)
    seen: set[str] = set()
    while chunk := [_checked(pair, seen) for pair in islice(pairs, size)]:
        yield chunk
    if not seen:
        raise SalstatsError("images holds no case; give {case: image, or its file} or pairs of these")


def _checked(pair: Any, seen: set[str]) -> tuple[str, Image]:
    """A case's name and image."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise SalstatsError(
            f"images must give pairs of a case's name and its image, not {type(pair).__name__}"
        )
    name = str(pair[0])
    if name in seen:
        raise SalstatsError(f"images gives case {name!r} twice; cases need names of their own")
    seen.add(name)
    return name, pair[1]


class ReadyImages:
    """Images of some cases as networks take them, kept where several networks want them."""

    def __init__(self, cases: list[tuple[str, Image]], *, keep: bool) -> None:
        self._cases, self._keep = dict(cases), keep
        self._ready: dict[tuple[str, Preparation | None], tuple[np.ndarray, Geometry]] = {}

    def get(self, case: str, preparation: Preparation | None) -> tuple[np.ndarray, Geometry]:
        """An image as a network takes it, channels first, and where its pixels lie there."""
        key = (case, preparation)
        found = self._ready.get(key)
        if found is None:
            try:
                found = _ready(_read(self._cases[case]), preparation)
            except SalstatsError as error:
                raise type(error)(f"case {case!r}: {error}") from error
            except Exception as error:
                error.add_note(f"while the image of case {case!r} was read")
                raise
            if self._keep:
                self._ready[key] = found
        return found


def _read(image: Image) -> np.ndarray:
    """Numbers of an image."""
    if isinstance(image, str | os.PathLike):
        return read_picture(image)
    given = image() if callable(image) else image
    return read_picture(given) if isinstance(given, str | os.PathLike) else np.asarray(given)


def _ready(image: np.ndarray, preparation: Preparation | None) -> tuple[np.ndarray, Geometry]:
    """An image as a network takes it, and its geometry."""
    if preparation is not None:
        return preparation.apply(image)
    if image.ndim != 3 or not image.size:
        raise ShapeError(
            f"without a preparation an image must be what the network takes, (channels, height, width), not "
            f"of shape {image.shape}; Network(preparation=Preparation(...)) makes it of an image"
        )
    shape = (image.shape[1], image.shape[2])
    return image, Geometry.stretched(shape, shape)


#: A case and a task.
Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Shown:
    """Images of one shape that are shown to a network.

    Attributes
    ----------
    plan : Plan
    network : Network
    model : torch.nn.Module
        The network, loaded and on its device.
    outputs : mapping of str to int
        The output of each task.
    member : int
        The network's place in an ensemble, 0 for one by itself.
    images : mapping of str to ndarray of float, shape (channels, height, width)
        By case.
    """

    plan: Plan
    network: Network
    model: nn.Module
    outputs: Mapping[str, int]
    member: int
    images: Mapping[str, np.ndarray]

    def probs(self) -> dict[Pair, float]:
        """Probability of each case and task."""
        found = self._named(self._predicted, list(self.images), lambda case: f"case {case!r}")
        check_task_outputs(self.network, self.outputs, found.shape[1])
        return {
            (case, task): float(row[output])
            for case, row in zip(self.images, found, strict=True)
            for task, output in self.outputs.items()
        }

    def maps(self, making: Making, seed: int | None, pairs: Sequence[Pair]) -> np.ndarray:
        """Map of each case and task, at the method's own grid."""
        explained = partial(self._explained, making, seed)
        return self._named(explained, pairs, lambda pair: f"case {pair[0]!r}, task {pair[1]!r}")

    def _predicted(self, cases: Sequence[str]) -> np.ndarray:
        """Probabilities of cases; an error does not know the case."""
        return predict(
            self.model,
            np.stack([self.images[case] for case in cases]),
            probability=self.network.probability,
            batch_size=self.plan.how.batch_size,
            mixed_precision=self.plan.how.mixed_precision,
        )

    def _explained(self, making: Making, seed: int | None, pairs: Sequence[Pair]) -> np.ndarray:
        """Maps; an error does not know the case."""
        drawn = self.plan.how.seed if seed is None else seed
        seeds = [case_seed(drawn, self.member, case) for case, _ in pairs] if making.row.random else None
        return explain(
            self.model,
            np.stack([self.images[case] for case, _ in pairs]),
            [self.outputs[task] for _, task in pairs],
            method=making.row.name,
            resolution="network",
            batch_size=self.plan.how.batch_size,
            mixed_precision=self.plan.how.mixed_precision,
            seeds=seeds,
            **self.network.arguments(making.name, making.row, making.options),
        )

    def _named(
        self, work: Callable[[Sequence[Any]], np.ndarray], items: Sequence[Any], name: Callable[[Any], str]
    ) -> np.ndarray:
        """What `work` makes of all items; an error names the first that it is about."""
        try:
            with self._memory_named():
                return work(items)
        except SalstatsError as error:
            for item in items if len(items) > 1 else ():
                # alone, what was wrong with one of many is wrong with this one
                self._named(work, [item], name)
            where = f"{name(items[0])}, " if len(items) == 1 else ""
            raise type(error)(f"{where}network {str(self.network)!r}: {error}") from error

    @contextmanager
    def _memory_named(self) -> Iterator[None]:
        """Say what would do where a device has too little memory."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not ran_out_of_memory(error):
                raise
            raise SalstatsError(
                f"out of memory with batch_size={self.plan.how.batch_size}; a smaller batch_size needs less"
            ) from error
