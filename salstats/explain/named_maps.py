"""Maps beside the images they explain, given as arrays or by a folder: one per image and method."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from salstats.checks import InputFileError, SalstatsError, ShapeError, ValueRangeError, quoted, warn
from salstats.explain.case_images import ready_image
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


@dataclass(frozen=True)
class Keys:
    """What each image is: a case, and where they are given what is looked for on it.

    Attributes
    ----------
    cases : list of str
    tasks : list of str, optional
    """

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
    if isinstance(given, str) or not isinstance(given, Sized) or len(given) != n:
        listed = isinstance(given, Sized) and not isinstance(given, str)
        shown = len(given) if listed else repr(given)
        raise ShapeError(f"{what} must name each of the {n} images, not {shown}")
    names = ["" if name is None or name != name else str(name) for name in given]
    if "" in names:
        raise ValueRangeError(f"{what} has no name for image {names.index('')}")
    return names


def check_maps(maps: Any, method: str | None, keys: Keys) -> dict[str, list[np.ndarray]]:
    """Maps of each method, one per image, all finite; an error names case and method."""
    if isinstance(maps, Mapping):
        if method is not None:
            raise SalstatsError(
                f"method={method!r} beside maps that name their methods; leave one of them out"
            )
        if not maps:
            raise SalstatsError("maps is empty; give an array, or method -> array")
        named = {str(name): given for name, given in maps.items()}
        if len(named) < len(maps):
            raise SalstatsError(f"two methods of maps have one name as text (methods: {quoted(named)})")
    else:
        named = {METHOD if method is None else str(method): maps}
    checked = {name: _one_per_image(given, name, len(keys.cases)) for name, given in named.items()}
    for name, stack in checked.items():
        for place, saliency in enumerate(stack):
            try:
                check_saliency(saliency)
            except SalstatsError as error:
                raise type(error)(f"{keys.text(place)}, method {name}: {error}") from error
    return checked


def _one_per_image(given: Any, method: str, n: int) -> list[np.ndarray]:
    """Maps of a method as arrays on the CPU."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ShapeError(f"maps of method {method} must be one per image, not {type(given).__name__}")
    try:
        maps = [np.asarray(m.detach().cpu() if hasattr(m, "detach") else m) for m in given]
    except ValueError as error:
        raise ShapeError(f"method {method}: a map must have rows of one length") from error
    if len(maps) != n:
        raise ShapeError(f"method {method!r} has {len(maps)} maps for {n} images; each image needs one")
    return maps


def warn_other_shape(maps: Mapping[str, list[np.ndarray]], shape: Sequence[int], keys: Keys) -> None:
    """Warn where a map cannot be of the whole network's input: it has other proportions."""
    for name, stack in maps.items():
        wrong = [place for place, saliency in enumerate(stack) if not may_cover(saliency.shape, shape)]
        if wrong:
            warn(
                f"method {name}: {len(wrong)} of {len(stack)} maps have other proportions than the network's "
                f"input of {shape[0]} x {shape[1]} (the first: {keys.text(wrong[0])}, "
                f"{stack[wrong[0]].shape[0]} x {stack[wrong[0]].shape[1]}) and are stretched over it; where "
                "images were padded or cropped take the maps that explain() gives of the network's own input"
            )


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
    """Cases of a map folder that have maps of a network, in the order of the table.

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
    return [FolderCase(case, given[case], network, outputs, found) for case, found in by_case.items()]


def _is_of(series: Series, network: Network) -> bool:
    """Whether a network made the maps of a series."""
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
        ready, geometry = ready_image(self.case, self.image, self.network.preparation)
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
