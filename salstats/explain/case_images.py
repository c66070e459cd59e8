"""Images of a study as networks are shown them, and what a network makes of them."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from salstats.errors import SalstatsError, ShapeError
from salstats.explain.forward_passes import predict, ran_out_of_memory
from salstats.explain.map_plans import Making, Plan, case_seed
from salstats.explain.networks import Network, check_output
from salstats.explain.saliency_maps import explain
from salstats.images.geometry import Geometry
from salstats.images.preparation import Preparation
from salstats.readers.image_files import read_picture

#: An image, its file, or what returns either.
Image = np.ndarray | str | os.PathLike[str] | Callable[[], Any]
#: A case and a task.
Pair = tuple[str, str]


def chunks(
    images: Mapping[str, Image] | Iterable[tuple[str, Image]], size: int
) -> Iterator[dict[str, Image]]:
    """Images of some cases at a time, by name; an image may come when it is asked for."""
    if not isinstance(images, Iterable):
        raise SalstatsError(
            f"images must be a mapping of a case's name to its image, or pairs of these, not "
            f"{type(images).__name__}"
        )
    pairs = iter(images.items() if isinstance(images, Mapping) else images)
    seen: set[str] = set()
    while chunk := list(islice(pairs, size)):
        for pair in chunk:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise SalstatsError(
                    f"images must give pairs of a case's name and its image, not {type(pair).__name__}; "
                    "of files: {file.stem: file for file in files}"
                )
            if str(pair[0]) in seen:
                raise SalstatsError(
                    f"images gives case {str(pair[0])!r} twice; cases need names of their own"
                )
            seen.add(str(pair[0]))
        yield {str(name): image for name, image in chunk}
    if not seen:
        raise SalstatsError("images holds no case; give {case: image, or its file} or pairs of these")


def ready_image(case: str, image: Image, preparation: Preparation | None) -> tuple[np.ndarray, Geometry]:
    """An image as a network takes it, channels first, and where its pixels lie there."""
    try:
        given = image() if callable(image) else image
        read = read_picture(given) if isinstance(given, str | os.PathLike) else np.asarray(given)
        if preparation is not None:
            return preparation.apply(read)
        is_picture = isinstance(given, str | os.PathLike) and Path(given).suffix.lower() != ".npy"
        if is_picture or read.ndim != 3 or not read.size:
            raise ShapeError(
                "the network has no preparation=, so that an image must be what it takes, (channels, height, "
                f"width), not of shape {read.shape}; Network(preparation=Preparation((224, 224))) makes it"
            )
    except SalstatsError as error:
        raise type(error)(f"case {case!r}: {error}") from None
    except Exception as error:
        error.add_note(f"while the image of case {case!r} was read")
        raise
    shape = (read.shape[1], read.shape[2])
    return read, Geometry.stretched(shape, shape)


class Shown(NamedTuple):
    """Images of one shape that are shown to a network of a run.

    `model` is the network, loaded and on its device; `outputs` the output of each task; `member` the place in
    an ensemble, 0 for a network by itself.
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
        for task, output in self.outputs.items():
            check_output(output, task, self.network, found.shape[1])
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
        return predict(
            self.model,
            np.stack([self.images[case] for case in cases]),
            probability=self.network.probability,
            batch_size=self.plan.batch_size,
            mixed_precision=self.plan.mixed_precision,
        )

    def _explained(self, making: Making, seed: int | None, pairs: Sequence[Pair]) -> np.ndarray:
        drawn = self.plan.seed if seed is None else seed
        seeds = [case_seed(drawn, self.member, case) for case, _ in pairs] if making.row.random else None
        return explain(
            self.model,
            np.stack([self.images[case] for case, _ in pairs]),
            [self.outputs[task] for _, task in pairs],
            method=making.row.name,
            resolution="network",
            batch_size=self.plan.batch_size,
            mixed_precision=self.plan.mixed_precision,
            seeds=seeds,
            **self.network.arguments(*making),
        )

    def _named(
        self, work: Callable[[Sequence[Any]], np.ndarray], items: Sequence[Any], name: Callable[[Any], str]
    ) -> np.ndarray:
        """What `work` makes of all items; an error names the first that it is about."""
        try:
            return work(items)
        except SalstatsError as error:
            for item in items if len(items) > 1 else ():
                # alone, what was wrong with one of many is wrong with this one
                self._named(work, [item], name)
            where = f"{name(items[0])}, " if len(items) == 1 else ""
            # of the traceback only what the network itself raised helps
            raise type(error)(f"{where}network {str(self.network)!r}: {error}") from error.__cause__
        except (RuntimeError, MemoryError) as error:
            if not ran_out_of_memory(error):
                raise
            raise SalstatsError(
                f"network {str(self.network)!r}: out of memory with batch_size={self.plan.batch_size}; a "
                "smaller batch_size needs less"
            ) from error
