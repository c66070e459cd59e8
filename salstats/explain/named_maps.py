"""Maps with the keys of the images they explain, from arrays or a folder: one per image and method."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from salstats.checks import quoted
from salstats.errors import InputFileError, Message, SalstatsError, Setting, ShapeError, ValueRangeError, warn
from salstats.explain.case_images import ready_image
from salstats.explain.input_checks import check_images
from salstats.explain.map_plans import check_network_made_maps
from salstats.explain.networks import Network, members_with_outputs
from salstats.files.map_table import TABLE_FILE
from salstats.images.map_steps import may_cover_whole_image
from salstats.images.maps import check_saliency
from salstats.readers.map_files import read_map
from salstats.readers.map_rows import MapRow, read_map_rows
from salstats.study import Series

#: The name in the column `method` of maps without one.
DEFAULT_METHOD = "saliency"


class ImageKeys(NamedTuple):
    """The case of each image, and its task if tasks are given."""

    cases: list[str]
    tasks: list[str] | None = None

    def text(self, image_index: int) -> str:
        """Return the name of an image in a message."""
        if self.tasks is None:
            return f"case {self.cases[image_index]}"
        return f"case {self.cases[image_index]}, task {self.tasks[image_index]}"

    def key(self, image_index: int) -> str | tuple[str, str]:
        """Return the case of an image, or if there are tasks its case and task."""
        if self.tasks is None:
            return self.cases[image_index]
        return self.cases[image_index], self.tasks[image_index]

    def columns(self, image_indices: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns case and, if there are tasks, task of rows that belong to these images."""
        columns = {"case": np.array(self.cases, dtype=object)[image_indices]}
        if self.tasks is not None:
            columns["task"] = np.array(self.tasks, dtype=object)[image_indices]
        return columns


class ImageMap(NamedTuple):
    """A saliency map, the index of its image, and its series: method, model and seed."""

    image_index: int
    series: Series
    saliency: np.ndarray


def image_keys(cases: Sequence[Any] | None, tasks: Sequence[Any] | None, n: int) -> ImageKeys:
    """Return the keys of n images, by default counted from 0; SalstatsError if two images have the same."""
    case_names = [str(image) for image in range(n)]
    if cases is not None:
        case_names = _one_nonempty_name_per_image(cases, n, "cases")
    task_names = None
    if tasks is not None:
        task_names = _one_nonempty_name_per_image(tasks, n, "tasks")
    keys = ImageKeys(case_names, task_names)
    image_by_text: dict[str, int] = {}
    for image in range(n):
        first = image_by_text.setdefault(keys.text(image), image)
        if first != image:
            hint: Message | str = ""
            if keys.tasks is None:
                hint = Message(Setting("tasks"), " tells its targets apart")
            raise SalstatsError(
                f"images {first} and {image} are both {keys.text(image)}",
                hint=hint,
                option="cases",
                value=keys.cases[image],
                rows=[first, image],
            )
    return keys


def _one_nonempty_name_per_image(names: Sequence[Any], n_images: int, option: str) -> list[str]:
    """Return one name per image as text.

    ShapeError if there are not `n_images`, ValueRangeError if one is missing.
    """
    if isinstance(names, str) or len(names) != n_images:
        received = repr(names) if isinstance(names, str) else len(names)
        raise ShapeError(Setting(option), f" must name each of the {n_images} images, not {received}")
    # NaN differs from itself
    missing = [i for i, name in enumerate(names) if name is None or name != name or name == ""]
    if missing:
        raise ValueRangeError(Setting(option), f" has no name for image {missing[0]}", rows=missing)
    return [str(name) for name in names]


def maps_of_each_image_and_method(maps: Any, method: str | None, image_keys: ImageKeys) -> list[ImageMap]:
    """Return the maps of each image and method, image by image; an error names case and method."""
    if isinstance(maps, Mapping):
        if method is not None:
            raise SalstatsError(
                Setting("method", method),
                " beside maps that name their methods",
                hint="leave one of them out",
            )
        if not maps:
            raise SalstatsError(Setting("maps"), " is empty", hint="give an array, or method -> array")
        maps_by_method = maps
    else:
        maps_by_method = {DEFAULT_METHOD if method is None else method: maps}
    n_images = len(image_keys.cases)
    for name, method_maps in maps_by_method.items():
        if len(method_maps) != n_images:
            raise ShapeError(
                f"method {str(name)!r} has {len(method_maps)} maps for {n_images} images; each image "
                "needs one",
                option="maps",
                value=str(name),
            )
    checked = []
    for image in range(n_images):
        for name, method_maps in maps_by_method.items():
            values = method_maps[image]
            if isinstance(values, torch.Tensor):
                values = values.detach().cpu()
            saliency = np.asarray(values)
            try:
                check_saliency(saliency)
            except SalstatsError as error:
                raise error.prefixed(
                    f"{image_keys.text(image)}, method {name}: ",
                    value=(image_keys.key(image), str(name)),
                ) from error
            checked.append(ImageMap(image, Series(str(name)), saliency))
    return checked


def warn_of_stretched_maps(maps: Sequence[ImageMap], shape: Sequence[int], keys: ImageKeys) -> None:
    """Warn if maps have other proportions than the network's input, so that they do not cover all of it."""
    stretched = [
        image_map for image_map in maps if not may_cover_whole_image(image_map.saliency.shape, shape)
    ]
    if stretched:
        first = stretched[0]
        height, width = first.saliency.shape
        warn(
            f"{len(stretched)} of {len(maps)} maps have other proportions than the network's input of "
            f"{shape[0]} x {shape[1]} (the first: {keys.text(first.image_index)}, method {first.series}, "
            f"{height} x {width}) and are stretched over it",
            hint="where images were padded or cropped take the maps that explain() gives of the network's "
            "own input",
            value=[(keys.key(image_map.image_index), str(image_map.series)) for image_map in stretched],
        )


class ImagesAndMaps(NamedTuple):
    """Images as the network takes them, one for each case and task, and their maps."""

    images: torch.Tensor
    keys: ImageKeys
    targets: list[int]
    maps: list[ImageMap]


@dataclass(frozen=True)
class FolderMaps:
    """The maps of a network in a map folder, by case in the order of its table, and the cases' images."""

    network: Network
    outputs: Mapping[str, int]
    images: Mapping[str, Any]
    rows_by_case: Mapping[str, list[MapRow]]

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.rows_by_case)

    def cases(self) -> Iterator[ImagesAndMaps]:
        """Yield the cases, one read at a time."""
        for case, rows in self.rows_by_case.items():
            yield _case_image_per_task_and_maps(case, self.images[case], self.network, self.outputs, rows)


def stored_maps_of_network(
    network: Network,
    module: nn.Module,
    images: Any,
    map_folder: str | os.PathLike[str],
    cases: Sequence[Any] | None = None,
    task_of_each_case: Sequence[Any] | None = None,
) -> FolderMaps:
    """Return the maps of a network in a map folder, which are read case by case later.

    A network's maps are those with its name, and with its seed if it has one; in a folder without a column
    `model` all maps are of one network. Only maps of the given `cases` are kept, and with
    `task_of_each_case` only those of these pairs of case and task. `images` map cases to images as for
    `make_maps`.

    SalstatsError if the network has no such maps or does not know a task, or a case has no image;
    InputFileError if settings say that another network made the maps.
    """
    path = Path(map_folder)
    if not isinstance(images, Mapping):
        raise SalstatsError(
            Setting("images"), " must map each case of the folder to its image, as make_maps takes them"
        )
    images_by_case = {str(case): image for case, image in images.items()}
    rows = read_map_rows(path)
    network_rows = [row for row in rows if _is_made_by(row.key.series, network)]
    if not network_rows:
        models = sorted({str(row.key.model) for row in rows})
        raise SalstatsError(
            f"{path / TABLE_FILE} has no maps of network {str(network)!r} (models: {quoted(models)})",
            path=path / TABLE_FILE,
            choices=models,
        )
    network_rows = _rows_of_cases_or_case_task_pairs(network_rows, cases, task_of_each_case, path)
    (member,) = members_with_outputs([network], None)
    outputs = member.outputs
    rows_by_case: dict[str, list[MapRow]] = {}
    for row in network_rows:
        case = row.key.case
        rows_by_case.setdefault(case, []).append(row)
        if row.key.task not in outputs:
            raise SalstatsError(
                f"network {str(network)!r} does not know task {row.key.task!r} of the folder (tasks: "
                f"{quoted(outputs)})",
                path=path,
                choices=outputs,
            )
        if case not in images_by_case:
            raise SalstatsError(
                Setting("images"),
                f" has no image of case {case!r}, which has maps in {map_folder}",
                value=case,
                path=path,
            )
    check_network_made_maps(network, module, outputs, (row.key for row in network_rows), path)
    return FolderMaps(network, outputs, images_by_case, rows_by_case)


def _rows_of_cases_or_case_task_pairs(
    rows: list[MapRow], cases: Sequence[Any] | None, tasks: Sequence[Any] | None, folder: Path
) -> list[MapRow]:
    """Return the rows of the given cases, or of the given pairs of case and task; all rows without cases."""
    if cases is None:
        if tasks is not None:
            raise SalstatsError(
                Setting("tasks"),
                " of a folder need the case of each",
                hint=Message("give ", Setting("cases")),
                option="tasks",
            )
        return rows
    if tasks is None:
        chosen_cases = {str(case) for case in cases}
        chosen = [row for row in rows if row.key.case in chosen_cases]
    else:
        task_names = _one_nonempty_name_per_image(tasks, len(cases), "tasks")
        chosen_pairs = {(str(case), task) for case, task in zip(cases, task_names, strict=True)}
        chosen = [row for row in rows if (row.key.case, row.key.task) in chosen_pairs]
    if not chosen:
        raise SalstatsError(f"{folder} has no map of these cases and tasks", option="cases", path=folder)
    return chosen


def _is_made_by(series: Series, network: Network) -> bool:
    """Return True if the names of a series are those of a network, which then made its maps."""
    if series.model not in (None, network.name):
        return False
    # a network without a seed has the maps of all trainings
    return network.seed is None or str(network.seed) == series.seed


def _case_image_per_task_and_maps(
    case: str, image: Any, network: Network, outputs: Mapping[str, int], rows: list[MapRow]
) -> ImagesAndMaps:
    """Read a case of a map folder, and lay its maps on the network's input; maps are in the order of tasks.

    InputFileError if the image has another shape than the table says.
    """
    ready = ready_image(case, image, network.preparation)
    tasks = list(dict.fromkeys(row.key.task for row in rows))
    maps = []
    for row in rows:
        if row.shape not in (None, ready.geometry.image_shape):
            raise InputFileError(
                f"case {case!r}: the image is {ready.geometry.image_shape}, the table says {row.shape}",
                column="height",
                value=row.shape,
                rows=[row.position],
            )
        saliency = read_map(row.file)
        if not ready.geometry.shows_exactly_whole_image:
            saliency = ready.geometry.to_network_input(saliency)
        maps.append(ImageMap(tasks.index(row.key.task), row.key.series, saliency))
    pixels = np.asarray(ready.pixels, np.float32)
    return ImagesAndMaps(
        images=check_images(np.repeat(pixels[None], len(tasks), axis=0)),
        keys=ImageKeys([case] * len(tasks), tasks),
        targets=[outputs[task] for task in tasks],
        maps=sorted(maps, key=lambda image_map: image_map.image_index),
    )
