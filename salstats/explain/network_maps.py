"""What one network gives for a few images: probabilities, and maps; errors say which case and task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from salstats.checks import SalstatsError
from salstats.explain.ensembles import check_task_outputs
from salstats.explain.forward import predict, ran_out_of_memory
from salstats.explain.making import explain
from salstats.explain.map_plans import Making, Plan, case_seed
from salstats.explain.networks import Network

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
        """Return the probability of each case and task."""
        found = self._named(self._predicted, list(self.images), lambda case: f"case {case!r}")
        check_task_outputs(self.network, self.outputs, found.shape[1])
        return {
            (case, task): float(row[output])
            for case, row in zip(self.images, found, strict=True)
            for task, output in self.outputs.items()
        }

    def maps(self, making: Making, seed: int | None, pairs: Sequence[Pair]) -> np.ndarray:
        """Return the map of each case and task, at the method's own grid."""
        explained = partial(self._explained, making, seed)
        return self._named(explained, pairs, lambda pair: f"case {pair[0]!r}, task {pair[1]!r}")

    def _predicted(self, cases: Sequence[str]) -> np.ndarray:
        """Return the probabilities of cases; an error does not know the case."""
        return predict(
            self.model,
            np.stack([self.images[case] for case in cases]),
            probability=self.network.probability,
            batch_size=self.plan.batch_size,
            mixed_precision=self.plan.mixed_precision,
        )

    def _explained(self, making: Making, seed: int | None, pairs: Sequence[Pair]) -> np.ndarray:
        """Return maps; an error does not know the case."""
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
            **self.network.arguments(making.name, making.row, making.options),
        )

    def _named(
        self, work: Callable[[Sequence[Any]], np.ndarray], items: Sequence[Any], name: Callable[[Any], str]
    ) -> np.ndarray:
        """Return what `work` makes of all items; an error names the first that it is about."""
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
                f"out of memory with batch_size={self.plan.batch_size}; a smaller batch_size needs less"
            ) from error
