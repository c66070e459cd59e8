"""Maps beside the images they explain, given as arrays or by a folder: one per image and method."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from salstats.checks import quoted
from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError, warn
from salstats.explain.case_images import ready_image
from salstats.explain.inputs import check_images
from salstats.explain.map_plans import check_made_by
from salstats.explain.networks import Network, network_outputs
from salstats.files.map_table import TABLE
from salstats.images.map_steps import may_cover
from salstats.images.maps import check_saliency
from salstats.readers.map_files import read_map
from salstats.readers.map_rows import MapRow, read_map_rows
from salstats.study import Series

#: What a map is called where nobody says which method made it.
METHOD = "saliency"


class Keys(NamedTuple):
    """What each image is: a case, and where they are given what is looked for on it."""

    cases: list[str]
    tasks: list[str] | None = None

    def text(self, place: int) -> str:
        """What an image is called in a message."""
        of_task = f", task {self.tasks[place]}" if self.tasks is not None else ""
        return f"case {self.cases[place]}{of_task}"

    def columns(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Key columns of rows that belong to some images."""
        given = {"case": self.cases} | ({} if self.tasks is None else {"task": self.tasks})
        return {name: np.array(values, dtype=object)[places] for name, values in given.items()}


class Map(NamedTuple):
    """A map: the place of its image, who made it, and its numbers."""

    place: int
    series: Series
    saliency: np.ndarray


def check_keys(cases: Sequence[Any] | None, tasks: Sequence[Any] | None, n: int) -> Keys:
    """What each of n images is, by default counted from 0; no two may be one case, or case and task."""
    keys = Keys(
        [str(i) for i in range(n)] if cases is None else _names(cases, n, "cases"),
        None if tasks is None else _names(tasks, n, "tasks"),
    )
    known: dict[str, int] = {}
    for place in range(n):
        other = known.setdefault(keys.text(place), place)
        if other != place:
            hint = "; tasks= tells its targets apart" if keys.tasks is None else ""
            raise SalstatsError(f"images {other} and {place} are both {keys.text(place)}{hint}")
    return keys


def _names(given: Sequence[Any], n: int, what: str) -> list[str]:
    """One name per image as text."""
    if isinstance(given, str) or len(given) != n:
        shown = repr(given) if isinstance(given, str) else len(given)
        raise ShapeError(f"{what} must name each of the {n} images, not {shown}")
    names = ["" if name is None or name != name else str(name) for name in given]
    if "" in names:
        raise ValueRangeError(f"{what} has no name for image {names.index('')}")
    return names


def check_maps(maps: Any, method: str | None, keys: Keys) -> list[Map]:
    """Maps, one per image and method, image by image; an error names case and method."""
    if isinstance(maps, Mapping) and method is not None:
        raise SalstatsError(f"method={method!r} beside maps that name their methods; leave one of them out")
    if isinstance(maps, Mapping) and not maps:
        raise SalstatsError("maps is empty; give an array, or method -> array")
    named = maps if isinstance(maps, Mapping) else {METHOD if method is None else method: maps}
    n = len(keys.cases)
    for name, given in named.items():
        if len(given) != n:
            raise ShapeError(
                f"method {str(name)!r} has {len(given)} maps for {n} images; each image needs one"
            )
    found = []
    for place in range(n):
        for name, given in named.items():
            one = given[place]
            saliency = np.asarray(one.detach().cpu() if isinstance(one, torch.Tensor) else one)
            try:
                check_saliency(saliency)
            except SalstatsError as error:
                raise type(error)(f"{keys.text(place)}, method {name}: {error}") from error
            found.append(Map(place, Series(str(name)), saliency))
    return found


def warn_other_shape(maps: Sequence[Map], shape: Sequence[int], keys: Keys) -> None:
    """Warn where maps cannot be of the whole network's input: they have other proportions."""
    wrong = [one for one in maps if not may_cover(one.saliency.shape, shape)]
    if wrong:
        first = wrong[0]
        warn(
            f"{len(wrong)} of {len(maps)} maps have other proportions than the network's input of {shape[0]} "
            f"x {shape[1]} (the first: {keys.text(first.place)}, method {first.series}, "
            f"{first.saliency.shape[0]} x {first.saliency.shape[1]}) and are stretched over it; where images "
            "were padded or cropped take the maps that explain() gives of the network's own input"
        )


class CaseMaps(NamedTuple):
    """A case's image as the network takes it, once for each task, and its maps."""

    images: torch.Tensor
    keys: Keys
    targets: list[int]
    maps: list[Map]


def maps_of_folder(
    network: Network, module: nn.Module, images: Any, folder: str | os.PathLike[str]
) -> tuple[int, Iterator[CaseMaps]]:
    """How many cases of a map folder have maps of a network, and these in the order of the table.

    A network's maps are those of its name, and seed where it has one; a folder without a column `model` has
    maps of one network. `images` are as for `make_maps`. Settings that say another network made the maps are
    an error.
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
    return len(by_case), (
        _case_maps(case, given[case], network, outputs, found) for case, found in by_case.items()
    )


def _is_of(series: Series, network: Network) -> bool:
    """Whether a network made the maps of a series."""
    own_seed = None if network.seed is None else str(network.seed)
    return series.model in (None, network.name) and own_seed in (None, series.seed)


def _case_maps(
    case: str, image: Any, network: Network, outputs: Mapping[str, int], rows: list[MapRow]
) -> CaseMaps:
    """A case of a map folder, read; its maps laid where the network saw them."""
    ready, geometry = ready_image(case, image, network.preparation)
    tasks = list(dict.fromkeys(row.key.task for row in rows))
    maps = []
    for row in rows:
        if row.shape not in (None, geometry.image_shape):
            raise InputFileError(
                f"case {case!r}: the image is {geometry.image_shape}, the table says {row.shape}"
            )
        saliency = read_map(row.file)
        laid = saliency if geometry.fills else geometry.to_input(saliency)
        maps.append(Map(tasks.index(row.key.task), row.key.series, laid))
    return CaseMaps(
        images=check_images(np.repeat(np.asarray(ready, np.float32)[None], len(tasks), axis=0)),
        keys=Keys([case] * len(tasks), tasks),
        targets=[outputs[task] for task in tasks],
        maps=sorted(maps, key=lambda one: one.place),
    )
