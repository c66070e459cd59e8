"""Images of a study, prepared for networks, and the probabilities and maps of a network for them."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from salstats.errors import Message, SalstatsError, Setting, ShapeError
from salstats.explain.forward_passes import is_out_of_memory_error, predict
from salstats.explain.map_plans import MapPlan, PlannedMethod, case_seed
from salstats.explain.networks import Network, checked_output_index
from salstats.explain.saliency_maps import explain
from salstats.images.geometry import Geometry
from salstats.images.preparation import Preparation
from salstats.readers.image_files import read_picture

#: An image, its file, or a callable that returns either.
Image = np.ndarray | str | os.PathLike[str] | Callable[[], Any]
#: A case and a task.
CaseAndTask = tuple[str, str]


class ReadyImage(NamedTuple):
    """The pixels of an image as a network takes them, channels first, and their position on the image."""

    pixels: np.ndarray
    geometry: Geometry


def case_chunks(
    images: Mapping[str, Image] | Iterable[tuple[str, Image]], size: int
) -> Iterator[dict[str, Image]]:
    """Yield the images of `size` cases at a time, by name; an iterable is read only as far as needed.

    SalstatsError if a case comes twice, or there is no case.
    """
    if not isinstance(images, Iterable):
        raise SalstatsError(
            Setting("images"),
            " must be a mapping of a case's name to its image, or pairs of these, not "
            f"{type(images).__name__}",
        )
    pairs = iter(images.items() if isinstance(images, Mapping) else images)
    names: set[str] = set()
    while chunk := list(islice(pairs, size)):
        for pair in chunk:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise SalstatsError(
                    Setting("images"),
                    f" must give pairs of a case's name and its image, not {type(pair).__name__}",
                    hint="of files: {file.stem: file for file in files}",
                )
            name = str(pair[0])
            if name in names:
                raise SalstatsError(
                    Setting("images"), f" gives case {name!r} twice", hint="give each case its own name",
                    value=name,
                )  # fmt: skip
            names.add(name)
        yield {str(name): image for name, image in chunk}
    if not names:
        raise SalstatsError(
            Setting("images"), " holds no case", hint="give {case: image, or its file} or pairs of these"
        )


def ready_image(case: str, image: Image, preparation: Preparation | None) -> ReadyImage:
    """Return an image as a network takes it: read, if it is a file or a function, and prepared.

    Without a preparation it has to be an array (channels, height, width) already, else ShapeError. Errors
    name the case.
    """
    try:
        source = image() if callable(image) else image
        is_picture = False
        if isinstance(source, str | os.PathLike):
            array = read_picture(source)
            # a file of numbers may hold an array that a network takes, a picture does not
            is_picture = Path(source).suffix.lower() != ".npy"
        else:
            array = np.asarray(source)
        if preparation is not None:
            pixels, geometry = preparation.apply(array)
            return ReadyImage(pixels, geometry)
        if is_picture or array.ndim != 3 or not array.size:
            raise ShapeError(
                "the network has no ",
                Setting("preparation"),
                ", so that an image must be what it takes, (channels, height, width), not of shape "
                f"{array.shape}",
                hint="Network(preparation=Preparation((224, 224))) makes it",
            )
    except SalstatsError as error:
        value = case if error.value is None else error.value
        raise error.prefixed(f"case {case!r}: ", value=value) from None
    except Exception as error:
        error.add_note(f"while the image of case {case!r} was read")
        raise
    shape = (array.shape[1], array.shape[2])
    return ReadyImage(array, Geometry.stretched(shape, shape))


class NetworkImages(NamedTuple):
    """Images of one shape, and a network that is to explain them.

    `model` is the network, loaded and on its device; `outputs` has the index of each task's output;
    `member_number` is the network's number in an ensemble, 0 for a network by itself.
    """

    plan: MapPlan
    network: Network
    model: nn.Module
    outputs: Mapping[str, int]
    member_number: int
    images: Mapping[str, np.ndarray]

    def prob_by_pair(self) -> dict[CaseAndTask, float]:
        """Return the probability of each case and task."""
        cases = list(self.images)
        probs = self._result_with_named_errors(
            self._predicted_probs_of_all_outputs, cases, lambda case: f"case {case!r}"
        )
        for task, output in self.outputs.items():
            checked_output_index(output, task, self.network, probs.shape[1])
        probability_by_pair = {}
        for case, row in zip(cases, probs, strict=True):
            for task, output in self.outputs.items():
                probability_by_pair[case, task] = float(row[output])
        return probability_by_pair

    def maps(self, method: PlannedMethod, seed: int | None, pairs: Sequence[CaseAndTask]) -> np.ndarray:
        """Make the map of each case and task, on the method's own grid."""
        explained = partial(self._maps_of_pairs, method, seed)
        return self._result_with_named_errors(
            explained, pairs, lambda pair: f"case {pair[0]!r}, task {pair[1]!r}"
        )

    def _predicted_probs_of_all_outputs(self, cases: Sequence[str]) -> np.ndarray:
        """Return the probabilities of all outputs of the network, one row for each case."""
        return predict(
            self.model,
            np.stack([self.images[case] for case in cases]),
            probability=self.network.probability,
            batch_size=self.plan.batch_size,
            mixed_precision=self.plan.mixed_precision,
        )

    def _maps_of_pairs(
        self, method: PlannedMethod, seed: int | None, pairs: Sequence[CaseAndTask]
    ) -> np.ndarray:
        """Return the map of each pair on the method's own grid; a random method draws by seed and case."""
        seeds = None
        if method.record.random:
            run_seed = self.plan.seed if seed is None else seed
            seeds = [case_seed(run_seed, self.member_number, case) for case, _ in pairs]
        return explain(
            self.model,
            np.stack([self.images[case] for case, _ in pairs]),
            [self.outputs[task] for _, task in pairs],
            method=method.record.name,
            resolution="network",
            batch_size=self.plan.batch_size,
            mixed_precision=self.plan.mixed_precision,
            seeds=seeds,
            **self.network.arguments(method.name, method.record, method.options),
        )

    def _result_with_named_errors(
        self,
        work: Callable[[Sequence[Any]], np.ndarray],
        items: Sequence[Any],
        item_name: Callable[[Any], str],
    ) -> np.ndarray:
        """Return the result of `work` for all items; an error names the first item that raises it alone."""
        try:
            return work(items)
        except SalstatsError as error:
            fields = {}
            if len(items) == 1:
                prefix = f"{item_name(items[0])}, network {str(self.network)!r}: "
                if error.value is None:
                    # a case, or a case and a task
                    fields = {"value": items[0]}
            else:
                # the first item that raises an error by itself is named
                for item in items:
                    self._result_with_named_errors(work, [item], item_name)
                prefix = f"network {str(self.network)!r}: "
            # of the traceback only the part of the network itself helps
            raise error.prefixed(prefix, **fields) from error.__cause__
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory_error(error):
                raise
            raise SalstatsError(
                f"network {str(self.network)!r}: out of memory with ",
                Setting("batch_size", self.plan.batch_size),
                hint=Message("a smaller ", Setting("batch_size"), " needs less"),
            ) from error
