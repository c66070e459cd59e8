"""The plan of a run over a study: its networks, methods and seeds, and the texts that identify its maps."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from torch import nn

from salstats.checks import check_choice, check_columns, check_count, check_numeric, quoted
from salstats.errors import InputFileError, SalstatsError, Setting, ValueRangeError
from salstats.explain.ensembles import SCALES
from salstats.explain.map_finishing import RESOLUTIONS
from salstats.explain.methods import Method, checked_method, options_with_defaults
from salstats.explain.networks import Member, Network, members_with_outputs, stable_option_text
from salstats.files.map_folder_writer import SETTINGS_FILE, MapKey
from salstats.files.map_table import (
    checked_label_text,
    checked_patient_text_empty_for_none,
    read_settings_text_by_settings_key,
    series_or_pair_key,
)
from salstats.study import Series

#: A series of maps, and the name of a task.
SeriesAndTask = tuple[Series, str]

#: Arguments of `explain` that may stand among the options of a method.
_EXPLAIN_OPTIONS = ("channels", "sign", "smooth", "join", "preset", "network", "layer", "reshape")
#: The name of an ensemble in the column `model` if it is not given one.
ENSEMBLE_NAME = "ensemble"
#: Finds the digest of the network in the settings of a series; those of an ensemble have none.
_NETWORK_DIGEST = re.compile(r", network (\w+), resolution ")


class PlannedMethod(NamedTuple):
    """A method of the run: its name in the column `method`, its record, and its options."""

    name: str
    record: Method
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class MapPlan:
    """The checked arguments of `make_maps`; see `checked_plan`.

    Attributes
    ----------
    members : list of Member
        Networks with the outputs of the tasks that they answer for.
    methods : tuple of PlannedMethod
    ensemble : str, optional
        Name of the mean of all networks; None if each has its own maps.
    scale, resolution, batch_size, mixed_precision
        As for `make_maps`.
    seeds : tuple of int
        Seeds of random methods if they are run several times; else empty.
    seed : int
        Seed of random methods.
    """

    members: list[Member]
    methods: tuple[PlannedMethod, ...]
    ensemble: str | None
    scale: str
    resolution: str
    batch_size: int
    mixed_precision: bool
    seeds: tuple[int, ...]
    seed: int

    def repeat_seeds(self, method: PlannedMethod) -> tuple[int | None, ...]:
        """Return the seed of each repeat of a method's maps.

        It is None for the plan's single `seed`, which the column `seed` does not show.
        """
        if method.record.random and self.seeds:
            return self.seeds
        return (None,)

    def series(self, network: Network, method: PlannedMethod, seed: int | None) -> Series:
        """Return the series of a map: method, model and seed."""
        model = self.ensemble
        series_seed: str | int | None = seed
        if model is None:
            model = network.name
            if seed is None:
                # the column has the seed of the network's training
                series_seed = network.seed
        return Series(method.name, model, None if series_seed is None else str(series_seed))

    def key(self, case: str, task: str, network: Network, method: PlannedMethod, seed: int | None) -> MapKey:
        """Return the key of a map."""
        series = self.series(network, method, seed)
        return MapKey(case, task, series.method, series.model, series.seed)

    def settings_by_series(self, load: Callable[[Network], nn.Module]) -> dict[Series | SeriesAndTask, str]:
        """Return a text for each series that says how its maps are made; `load` loads a network.

        The outputs of a task are under (series, task), apart from the rest, as another run may add tasks.
        """
        settings: dict[Series | SeriesAndTask, str] = {}
        digests = [network.digest(load(network)) for network, _ in self.members]
        for (network, outputs), digest in zip(self.members, digests, strict=True):
            if self.ensemble is None:
                source = f"network {digest}"
                networks = [network]
            else:
                source = self._ensemble_text(digests)
                # the options of an ensemble are those of all its members
                networks = [member for member, _ in self.members]
            for method in self.methods:
                text = self._method_text(networks, method, source)
                for seed in self.repeat_seeds(method):
                    series = self.series(network, method, seed)
                    settings[series] = text
                    if method.record.random:
                        drawn_from = self.seed if seed is None else seed
                        settings[series] += f", seed {drawn_from}"
                    for task, output in outputs.items():
                        # the members of an ensemble share a series: their outputs are listed together
                        earlier_outputs = settings.get((series, task), "output")
                        settings[series, task] = f"{earlier_outputs} {output}"
        return settings

    def _method_text(self, networks: Sequence[Network], method: PlannedMethod, source: str) -> str:
        """Return the method with its options, the text of its networks and the precision of passes.

        Options are given once if all networks have the same, else those of each network.
        """
        option_texts = []
        for network in networks:
            options = {
                **method.record.options,
                "channels": method.record.channels,
                "sign": method.record.sign,
                **network.arguments(method.name, method.record, method.options),
            }
            option_texts.append(stable_option_text(options))
        if len(set(option_texts)) == 1:
            option_texts = option_texts[:1]
        text = f"{method.record.name} {' '.join(option_texts)}, {source}, resolution {self.resolution}"
        if self.mixed_precision:
            text += ", mixed precision"
        return text

    def _ensemble_text(self, digests: list[str]) -> str:
        """Return a text that identifies the networks of an ensemble and the scale.

        If the networks answer for different tasks, it identifies the tasks, too.
        """
        tasks_by_member = [sorted(outputs) for _, outputs in self.members]
        # a list of networks for each task makes a different ensemble of every task; with one list for all
        # tasks, tasks may be added later
        if all(tasks == tasks_by_member[0] for tasks in tasks_by_member):
            tasks_by_member = []
        text = repr((self.scale, digests, tasks_by_member))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return f"mean of {len(self.members)} networks {digest}, scale {self.scale}"


def checked_plan(
    networks: Any,
    tasks: Any,
    methods: str | Sequence[str],
    options: Mapping[str, Mapping[str, Any]] | None,
    *,
    ensemble: bool | str = False,
    scale: str = "none",
    resolution: str = "network",
    batch_size: int = 1,
    mixed_precision: bool = False,
    seeds: Sequence[int] | None = None,
    rng: int = 0,
) -> MapPlan:
    """Return the plan of a run, its arguments checked before anything is loaded."""
    members = members_with_outputs(networks, tasks)
    planned_methods = _planned_methods_for_all_members(methods, options or {}, members)
    if not isinstance(rng, int | np.integer) or rng < 0:
        raise ValueRangeError(
            Setting("rng"),
            f" must be a whole number from 0 up, so that a second run draws the same, not {rng!r}",
            value=rng,
        )
    seed_array = np.asarray([0] if seeds is None else seeds)
    is_list = seed_array.ndim == 1 and seed_array.size > 0
    if not is_list or seed_array.dtype.kind not in "iu" or seed_array.min() < 0:
        raise ValueRangeError(
            Setting("seeds"), f" must be whole numbers from 0 up, not {seeds!r}", value=seeds
        )
    ensemble_name = ENSEMBLE_NAME if ensemble is True else ensemble or None
    any_random = any(method.record.random for method in planned_methods)
    trained = [network for network, _ in members if network.seed is not None]
    if seeds is not None and trained and ensemble_name is None and any_random:
        raise SalstatsError(
            f"network {str(trained[0])!r} has the seed of its training, and ",
            Setting("seeds"),
            " asks for several draws; the column seed holds one of the two",
            hint="give each training a name of its own",
            value=str(trained[0]),
        )
    return MapPlan(
        members=members,
        methods=planned_methods,
        ensemble=ensemble_name,
        scale=check_choice(scale, SCALES, "scale"),
        resolution=check_choice(resolution, RESOLUTIONS, "resolution"),
        batch_size=check_count(batch_size, "batch_size"),
        mixed_precision=mixed_precision,
        seeds=() if seeds is None else tuple(dict.fromkeys(seed_array.tolist())),
        seed=int(rng),
    )


def _planned_methods_for_all_members(
    methods: str | Sequence[str], options: Mapping[str, Mapping[str, Any]], members: Sequence[Member]
) -> tuple[PlannedMethod, ...]:
    """Return the methods of a run, each once, their options checked with each network."""
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not names:
        raise SalstatsError(Setting("methods"), " is empty", hint="see list_methods()")
    for name in options:
        if name not in names:
            raise SalstatsError(
                Setting("options"),
                f" has an entry for {name!r}, which is not among ",
                Setting("methods"),
                value=name,
                choices=names,
            )
    planned = []
    for name in names:
        method_options = dict(options.get(name, {}))
        # a name of the user's own has the method among its options
        record = checked_method(method_options.pop("method", name))
        method = PlannedMethod(str(name), record, method_options)
        planned.append(method)
        for network, _ in members:
            arguments = network.arguments(method.name, record, method_options)
            options_with_defaults(
                record, {key: value for key, value in arguments.items() if key not in _EXPLAIN_OPTIONS}
            )
    return tuple(planned)


def labels_by_case_and_task(labels: Any, plan: MapPlan) -> dict[tuple[str, str], float]:
    """Return labels by case and task: 1 where a finding is present, else 0, NaN where that is unknown.

    SalstatsError if a case and task has two different labels, or if labels are given for other tasks only.
    """
    label_by_pair: dict[tuple[str, str], float] = {}
    for key, label in _case_task_and_label_pairs(labels):
        if not isinstance(key, tuple) or len(key) != 2:
            raise SalstatsError(Setting("labels"), f": key {key!r} must be (case, task)", value=key)
        case = str(key[0])
        task = str(key[1])
        name = f"labels: case {case!r}, task {task!r}"
        # the text "0", "1" or "", which stands for an unknown label
        label_text = checked_label_text(label, name)
        value = float(label_text) if label_text else np.nan
        # as text, since NaN differs from itself
        if str(label_by_pair.setdefault((case, task), value)) != str(value):
            raise SalstatsError(f"{name} has two that differ", option="labels", value=(case, task))
    labelled_tasks = {task for _, task in label_by_pair}
    plan_tasks: set[str] = set()
    for member in plan.members:
        plan_tasks |= member.outputs.keys()
    if labelled_tasks and labelled_tasks.isdisjoint(plan_tasks):
        raise SalstatsError(
            Setting("labels"),
            f" has none of the tasks {quoted(sorted(plan_tasks))} but {quoted(sorted(labelled_tasks))}",
            value=sorted(labelled_tasks),
            choices=sorted(plan_tasks),
        )
    return label_by_pair


def _case_task_and_label_pairs(labels: Any) -> list[tuple[Any, Any]]:
    """Return labels as pairs of (case, task) and label."""
    if not isinstance(labels, pd.DataFrame):
        return list(dict(labels or {}).items())
    check_columns(labels, ("case", "task", "label"), "labels")
    values = check_numeric(labels, "label", "labels").tolist()
    keys = zip(labels["case"], labels["task"], strict=True)
    return list(zip(keys, values, strict=True))


def checked_patients(patients: Mapping[str, str] | None) -> dict[str, str]:
    """Return the patient of each case that has one."""
    patient_by_case = {}
    for case, patient in dict(patients or {}).items():
        name = checked_patient_text_empty_for_none(patient, f"patients: case {str(case)!r}")
        if name:
            patient_by_case[str(case)] = name
    return patient_by_case


def case_seed(seed: int, member_number: int, case: str) -> int:
    """Return the seed of a case's random numbers: the same in every run, whatever else is made.

    It depends on neither task nor method: passes that serve all tasks can be shared, and networks that are
    not an ensemble are compared on the same draws.
    """
    digest = hashlib.sha256(f"{seed}\0{member_number}\0{case}".encode()).digest()
    # 63 bits, which torch's generators take too
    return int.from_bytes(digest[:8], "big") >> 1


def check_network_made_maps(
    network: Network, module: nn.Module, outputs: Mapping[str, int], keys: Iterable[MapKey], folder: Path
) -> None:
    """Raise InputFileError if the settings of a folder's maps name another network, or another output.

    Maps whose settings do not say are not compared: those of an ensemble, and of other programs.
    """
    settings = read_settings_text_by_settings_key(folder / SETTINGS_FILE)
    digest = network.digest(module) if settings else ""
    for series, task in dict.fromkeys((key.series, key.task) for key in keys):
        source = _NETWORK_DIGEST.search(settings.get(series_or_pair_key(series), ""))
        if source is None:
            continue
        if source[1] != digest:
            raise InputFileError(
                f"{folder}: its maps of {str(series)!r} were made from network {source[1]}, and network "
                f"{str(network)!r} is {digest}: its weights, modules, preparation or probability differ",
                hint="give the network that they were made from, or make them anew",
                value=str(series),
                path=folder,
            )
        output = f"output {outputs[task]}"
        folder_output = settings.get(series_or_pair_key((series, task)), output)
        if folder_output != output:
            raise InputFileError(
                f"{folder}: its maps of {str(series)!r}, task {task!r}, are of {folder_output}, and network "
                f"{str(network)!r} says {output}",
                hint="give the outputs that they were made of, or make them anew",
                value=(str(series), task),
                path=folder,
            )
