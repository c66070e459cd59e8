"""Maps and probabilities of several trainings as one: their means, with one network in memory at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from salstats.checks import (
    as_generator,
    check_choice,
    check_columns,
    check_count,
    check_frame,
    check_numeric,
)
from salstats.errors import Message, SalstatsError, Setting
from salstats.explain.forward_passes import BATCH_SIZE, predict
from salstats.explain.input_checks import check_images
from salstats.explain.map_finishing import constant_maps_counted
from salstats.explain.methods import checked_method
from salstats.explain.networks import Member, Network, checked_output_index, members_with_outputs
from salstats.explain.saliency_maps import explain
from salstats.images.map_steps import resize
from salstats.images.mixing import mixed_map_of_classes

#: Ways to scale the map of each network before the mean is taken.
SCALES = ("none", "max", "range")


@dataclass(frozen=True, eq=False)
class EnsembleMaps:
    """Mean maps and probabilities of an ensemble.

    Attributes
    ----------
    tasks : tuple of str
    maps : ndarray of float32, shape (n_images, n_tasks, height, width)
        Mean of the networks' maps.
    probs : ndarray of float64, shape (n_images, n_tasks)
        Mean of the networks' probabilities.
    n_networks : tuple of int
        Numbers of networks in the means, by task.
    """

    tasks: tuple[str, ...]
    maps: np.ndarray
    probs: np.ndarray
    n_networks: tuple[int, ...]

    def mixed(
        self, *, rule: str = "thresholded", threshold: Any = 0.5, no_finding: int | None = None
    ) -> np.ndarray:
        """Mix the maps of all tasks by their probabilities into one map per image.

        Parameters
        ----------
        rule, threshold
            As for `salstats.images.mixing.mixed_map_of_classes`.
        no_finding : int, optional
            Index in `tasks` of the one whose map is taken if no task reaches its threshold; by default
            the map is 0 then.

        Returns
        -------
        ndarray of float64, shape (n_images, height, width)

        Raises
        ------
        ValueRangeError
            As for `mixed_map_of_classes`.
        """
        mixed_maps = []
        for maps, probs in zip(self.maps, self.probs, strict=True):
            mixed_map = mixed_map_of_classes(
                maps, probs, rule=rule, threshold=threshold, no_finding=no_finding
            )
            mixed_maps.append(mixed_map)
        return np.stack(mixed_maps)


def best_trainings(
    results: pd.DataFrame, *, n_best: int = 10, value: str = "estimate", training: str = "seed"
) -> dict[str, list[Any]]:
    """Return the best trainings of each task by results on other images, for the ensemble of the task.

    Parameters
    ----------
    results : DataFrame
        One row per task and training, such as `salstats.auroc(validation, "prob", "label", by=["task",
        "seed"])` for the probabilities of a validation study.
    n_best : int
        Number of trainings to choose for each task. Saporta et al. (2022) took 10 of 120 checkpoints.
    value : str
        Column of the result; larger values are better.
    training : str
        Column that names the training.

    Returns
    -------
    dict
        Task -> its trainings, the best first; ties are in the order of `results`.

    Raises
    ------
    ColumnError
        A column is missing, or `value` is not numeric.
    SalstatsError
        A task has two rows of one training, or fewer than `n_best` trainings with a value.

    See Also
    --------
    explain_ensemble : takes task -> networks.

    References
    ----------
    Saporta A, et al. Benchmarking saliency methods for chest X-ray interpretation. Nature Machine
    Intelligence 2022. doi:10.1038/s42256-022-00536-x

    Examples
    --------
    >>> import pandas as pd
    >>> from salstats.explain import best_trainings
    >>> results = pd.DataFrame({"task": "Edema", "seed": [1, 2, 3], "estimate": [0.8, 0.9, 0.7]})
    >>> best_trainings(results, n_best=2)
    {'Edema': [2, 1]}
    """
    check_frame(results, "results")
    check_columns(results, ["task", training, value], "results")
    check_count(n_best, "n_best")
    numbers = check_numeric(results, value, "results")
    with_task = results[["task", training]].assign(number=numbers).dropna(subset="task")
    # a training without a value or a name cannot be chosen
    rows = with_task.dropna()
    repeated = rows[rows.duplicated(["task", training])]
    if len(repeated):
        first = repeated.iloc[0]
        raise SalstatsError(
            f"task {first['task']} has training {first[training]} twice",
            hint="keep one row of each training",
            column=training,
        )
    best = {}
    for task in with_task["task"].unique():
        task_rows = rows[rows["task"] == task]
        if len(task_rows) < n_best:
            raise SalstatsError(
                f"task {task} has {len(task_rows)} trainings with a value, fewer than ",
                Setting("n_best", n_best),
                hint=Message("lower ", Setting("n_best"), ", or leave the task out"),
            )
        ordered = task_rows.sort_values("number", ascending=False, kind="stable")
        best[str(task)] = ordered[training].head(n_best).tolist()
    return best


@constant_maps_counted()
def explain_ensemble(
    networks: Iterable[Network] | Mapping[str, Sequence[Network]],
    images: Any,
    tasks: Sequence[str] | Mapping[str, int] | None = None,
    *,
    method: str = "gradcam",
    scale: str = "none",
    resolution: str = "image",
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
    rng: int | np.random.Generator = 0,
    **options: Any,
) -> EnsembleMaps:
    """Mean of the maps and of the probabilities of several networks.

    Networks whose `load` is a callable are loaded one after the other, and each is dropped before the next.

    Parameters
    ----------
    networks : sequence of Network, or mapping of str to sequence of Network
        Checkpoints or trainings. A mapping gives each task its own list, such as its ten best checkpoints; a
        network in several lists is loaded once.
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        Images as all networks take them. The `preparation` of a network is not applied; `make_maps` does so.
    tasks : sequence of str or mapping of str to int, optional
        Tasks, or task -> index of its output for networks without `tasks`; by default all tasks of the
        networks.
    method : str
        Saliency method, as for `explain`.
    scale : {"none", "max", "range"}
        Scaling of each network's map before the mean. "none": raw maps, so that networks with larger values
        have more weight. "max": divided by the largest magnitude. "range": stretched to [0, 1]; a constant
        map becomes 0.
    resolution, batch_size, device, mixed_precision
        As for `explain`.
    rng : int or numpy.random.Generator
        Seed or generator of random methods; each network has draws of its own.
    **options
        Options of the method, as for `explain`; the options of a network take precedence.

    Returns
    -------
    EnsembleMaps
        `.maps`, `.probs`, and `.mixed()` for one map of all tasks. With resolution="network", maps of grids
        of different sizes are resized to the largest.

    Raises
    ------
    SalstatsError
        There is no network or task; a network lacks a task or an output; or an error of `explain`.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import Network, explain_ensemble
    >>> def network(name, weight):
    ...     conv, pool = torch.nn.Conv2d(1, 1, 1, bias=False), torch.nn.AdaptiveAvgPool2d(1)
    ...     conv.weight.data.fill_(weight)
    ...     return Network(name, torch.nn.Sequential(conv, pool, torch.nn.Flatten()), layer="0")
    >>> runs = [network("run1", 1.0), network("run2", 3.0)]
    >>> made = explain_ensemble(runs, [[[[2.0, 6.0]]]], {"Edema": 0}, method="hirescam")
    >>> made.maps[0, 0], made.probs.round(3)
    (array([[2., 6.]], dtype=float32), array([[0.991]]))
    """
    record = checked_method(method)
    check_choice(scale, SCALES, "scale")
    stack = check_images(images)
    members = members_with_outputs(networks if isinstance(networks, Mapping) else list(networks), tasks)
    ordered_tasks = _all_tasks_ordered(networks, tasks, members)
    seeds = as_generator(rng).integers(2**31, size=len(members))
    n_images = len(stack)
    map_sums: dict[str, np.ndarray] = {}
    prob_sums = np.zeros((n_images, len(ordered_tasks)))
    counts = dict.fromkeys(ordered_tasks, 0)
    pass_options: dict[str, Any] = {
        "batch_size": batch_size,
        "device": device,
        "mixed_precision": mixed_precision,
    }
    for member, seed in zip(members, seeds.tolist(), strict=True):
        network = member.network
        outputs = member.outputs
        model = network.open()
        probs = predict(model, stack, probability=network.probability, **pass_options)
        for task, output in outputs.items():
            checked_output_index(output, task, network, probs.shape[1])
        # an image's targets side by side, so that methods may share its passes
        targets = np.tile(list(outputs.values()), n_images)
        maps = explain(
            model,
            stack.repeat_interleave(len(outputs), dim=0),
            targets,
            method=record.name,
            resolution=resolution,
            rng=seed,
            **pass_options,
            **network.arguments(record.name, record, options),
        )
        # the memory is freed before the next network is loaded
        del model
        for number, (task, output) in enumerate(outputs.items()):
            # each image has a map of every task, side by side
            task_maps = maps[number :: len(outputs)]
            scaled_maps = np.stack([scaled_map(saliency, scale) for saliency in task_maps])
            if task in map_sums:
                map_sums[task] = sum_at_larger_size(map_sums[task], scaled_maps)
            else:
                map_sums[task] = scaled_maps
            prob_sums[:, ordered_tasks.index(task)] += probs[:, output]
            counts[task] += 1
    height = max(maps.shape[1] for maps in map_sums.values())
    width = max(maps.shape[2] for maps in map_sums.values())
    means = [maps_of_size(map_sums[task] / counts[task], (height, width)) for task in ordered_tasks]
    return EnsembleMaps(
        tasks=ordered_tasks,
        maps=np.stack(means, axis=1).astype(np.float32),
        probs=prob_sums / [counts[task] for task in ordered_tasks],
        n_networks=tuple(counts[task] for task in ordered_tasks),
    )


def _all_tasks_ordered(
    networks: Iterable[Network] | Mapping[str, Sequence[Network]],
    tasks: Sequence[str] | Mapping[str, int] | None,
    members: Sequence[Member],
) -> tuple[str, ...]:
    """Return all tasks, in the order of `tasks`, or of the mapping of networks, or of the networks."""
    ordered: list[str] = []
    if isinstance(tasks, str):
        ordered = [tasks]
    elif tasks is not None:
        ordered = list(tasks)
    elif isinstance(networks, Mapping):
        ordered = list(networks)
    for member in members:
        ordered.extend(member.outputs)
    return tuple(dict.fromkeys(ordered))


def scaled_map(saliency: np.ndarray, scale: str) -> np.ndarray:
    """Return a map in float64, scaled by a name of `SCALES`.

    "none": as it is. "max": divided by its largest magnitude. "range": stretched to 0 to 1. A map that would
    be divided by 0 is 0 everywhere.
    """
    values = saliency.astype(np.float64)
    if scale == "range":
        values -= values.min()
    largest = np.abs(values).max()
    if scale == "none" or largest == 0:
        return values
    return values / largest


def sum_at_larger_size(total: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """Return the sum of two arrays of maps (..., m, n), both resized to the larger height and width."""
    height = max(total.shape[-2], maps.shape[-2])
    width = max(total.shape[-1], maps.shape[-1])
    return maps_of_size(total, (height, width)) + maps_of_size(maps, (height, width))


def maps_of_size(maps: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize maps (..., m, n) to another size; maps that have it are returned as they are."""
    if maps.shape[-2:] == shape:
        return maps
    flat = maps.reshape(-1, *maps.shape[-2:])
    resized = np.stack([resize(values, shape) for values in flat])
    return resized.reshape(*maps.shape[:-2], *shape).astype(np.float64)
