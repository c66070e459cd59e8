"""Maps of a folder beside the images that a network takes, a case at a time, laid where it saw them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from salstats.checks import InputFileError, SalstatsError, quoted
from salstats.explain.case_images import ReadyImages
from salstats.explain.map_plans import check_made_by
from salstats.explain.named_maps import Keys
from salstats.explain.networks import Network, network_outputs
from salstats.files.map_table import TABLE
from salstats.readers.map_files import read_map
from salstats.readers.map_rows import MapRow, read_map_rows
from salstats.study import Series


@dataclass(frozen=True)
class CaseMaps:
    """A case's image, once for each task, and the maps of each series.

    Attributes
    ----------
    images : ndarray of float32, shape (n, channels, height, width)
        As the network takes them.
    keys : Keys
        The case and the tasks.
    targets : list of int
        The output of each task.
    maps : dict of Series to list of ndarray
        One for each task; of the network's input.
    """

    images: np.ndarray
    keys: Keys
    targets: list[int]
    maps: dict[Series, list[np.ndarray]]


def maps_of_folder(
    network: Network, module: nn.Module, images: Any, folder: str | os.PathLike[str]
) -> list["FolderCase"]:
    """Return the cases of a map folder that have maps of a network, in the order of the table.

    Parameters
    ----------
    network : Network
        Its maps are those of its name, and seed where it has one; a folder without a column `model` has
        maps of one network.
    module : torch.nn.Module
        The network, loaded.
    images : mapping of str to image
        As for `make_maps`.
    folder : path

    Raises
    ------
    SalstatsError
        The folder has no maps of the network, the network does not know a task, or a case has no image.
    InputFileError
        The folder is none, see `read_map_folder`, or its settings say that its maps were made from another
        network.
    """
    if not isinstance(images, Mapping):
        raise SalstatsError("images must map each case of the folder to its image, as make_maps takes them")
    given = {str(case): image for case, image in images.items()}
    rows = read_map_rows(Path(folder))
    own = [row for row in rows if _is_of(row.key.series, network)]
    if not own:
        there = quoted(sorted({str(row.key.model) for row in rows}))
        raise SalstatsError(
            f"{Path(folder) / TABLE} has no maps of network {str(network)!r} (models: {there})"
        )
    ((_, outputs),) = network_outputs([network], None)
    by_case: dict[str, list[MapRow]] = {}
    for row in own:
        by_case.setdefault(row.key.case, []).append(row)
        if row.key.task not in outputs:
            raise SalstatsError(
                f"network {str(network)!r} does not know task {row.key.task!r} of the folder (tasks: "
                f"{quoted(outputs)})"
            )
        if row.key.case not in given:
            raise SalstatsError(f"images has no image of case {row.key.case!r}, which has maps in {folder}")
    check_made_by(network, module, outputs, (row.key for row in own), Path(folder))
    return [FolderCase(case, given[case], network, outputs, found) for case, found in by_case.items()]


def _is_of(series: Series, network: Network) -> bool:
    """Return whether a network made the maps of a series."""
    own_seed = None if network.seed is None else str(network.seed)
    return series.model in (None, network.name) and own_seed in (None, series.seed)


@dataclass(frozen=True)
class FolderCase:
    """A case of a map folder; read when it is gone through."""

    case: str
    image: Any
    network: Network
    outputs: Mapping[str, int]
    rows: list[MapRow]

    def parts(self) -> Iterator[CaseMaps]:
        """Yield its tasks, those together that have maps of the same series."""
        ready, geometry = ReadyImages([(self.case, self.image)], keep=False).get(
            self.case, self.network.preparation
        )
        of_task: dict[str, dict[Series, np.ndarray]] = {}
        for row in self.rows:
            if row.shape not in (None, geometry.image_shape):
                raise InputFileError(
                    f"case {self.case!r}: the image is {geometry.image_shape}, the table says {row.shape}"
                )
            saliency = read_map(row.file)
            laid = saliency if geometry.fills else geometry.to_input(saliency)
            of_task.setdefault(row.key.task, {})[row.key.series] = laid
        alike: dict[tuple[Series, ...], list[str]] = {}
        for task, maps in of_task.items():
            alike.setdefault(tuple(maps), []).append(task)
        for series, tasks in alike.items():
            yield CaseMaps(
                images=np.repeat(np.asarray(ready, np.float32)[None], len(tasks), axis=0),
                keys=Keys([self.case] * len(tasks), tasks),
                targets=[self.outputs[task] for task in tasks],
                maps={one: [of_task[task][one] for task in tasks] for one in series},
            )
