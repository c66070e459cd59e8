"""What a run over a study makes: which maps of which networks, and how they are known again."""

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
from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.explain.ensembles import SCALES
from salstats.explain.map_finishing import RESOLUTIONS
from salstats.explain.methods import Method, check_method, check_options
from salstats.explain.networks import Network, network_outputs, said
from salstats.files.map_folder import SETTINGS, MapKey
from salstats.files.map_table import checked_label, checked_patient, read_settings, settings_key
from salstats.study import Series

#: Arguments of `explain` that stand among the options of a method.
_OF_EXPLAIN = ("channels", "sign", "smooth", "join", "preset", "network", "layer", "reshape")
#: What an ensemble is called in the column `model` where it has no name of its own.
ENSEMBLE = "ensemble"
#: Which network the settings of a series name; an ensemble has no one network.
_OF_NETWORK = re.compile(r", network (\w+), resolution ")


class Making(NamedTuple):
    """A method of the run: its name in the column, what computes it, and its options."""

    name: str
    row: Method
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What `make_maps` was asked for, checked by `checked_plan`.

    Attributes
    ----------
    members : list of (Network, dict of str to int)
        Networks with the outputs of the tasks that they answer for.
    makings : tuple of Making
    ensemble : str, optional
        Name of the mean of all networks; None where each has maps of its own.
    scale, resolution, batch_size, mixed_precision
        As for `make_maps`.
    seeds : tuple of int
        Of random methods, where they are drawn several times; else empty.
    seed : int
        Of random methods.
    """

    members: list[tuple[Network, dict[str, int]]]
    makings: tuple[Making, ...]
    ensemble: str | None
    scale: str
    resolution: str
    batch_size: int
    mixed_precision: bool
    seeds: tuple[int, ...]
    seed: int

    def draws(self, making: Making) -> tuple[int | None, ...]:
        """Seeds of a method's maps; None for the run's own, which is in no column."""
        return self.seeds if making.row.random and self.seeds else (None,)

    def series(self, network: Network, making: Making, seed: int | None) -> Series:
        """Who made a map."""
        if self.ensemble is not None:
            return Series(making.name, self.ensemble, None if seed is None else str(seed))
        own = network.seed if seed is None else seed
        return Series(making.name, network.name, None if own is None else str(own))

    def key(self, case: str, task: str, network: Network, making: Making, seed: int | None) -> MapKey:
        """Name of a map."""
        series = self.series(network, making, seed)
        return MapKey(case, task, series.method, series.model, series.seed)

    def settings(self, opened: Callable[[Network], nn.Module]) -> dict[Series | tuple[Series, str], str]:
        """How the maps of each series are made, in words; `opened` loads a network.

        Beside them stand the outputs of each task, which may be other ones in another run.
        """
        found: dict[Series | tuple[Series, str], str] = {}
        digests = [network.digest(opened(network)) for network, _ in self.members]
        together = self._together(digests)
        for place, (network, outputs) in enumerate(self.members):
            for making in self.makings:
                options = {
                    **making.row.options,
                    "channels": making.row.channels,
                    "sign": making.row.sign,
                    **network.arguments(making.name, making.row, making.options),
                }
                shown = f"network {digests[place]}" if self.ensemble is None else together
                text = f"{making.row.name} {said(options)}, {shown}, resolution {self.resolution}"
                if self.mixed_precision:
                    text += ", mixed precision"
                for seed in self.draws(making):
                    drawn = self.seed if seed is None else seed
                    seeded = f", seed {drawn}" if making.row.random else ""
                    series = self.series(network, making, seed)
                    found[series] = text + seeded
                    for task, output in outputs.items():
                        before = found.get((series, task), "output")
                        found[series, task] = f"{before} {output}"
        return found

    def _together(self, digests: list[str]) -> str:
        """What tells an ensemble from another: its members, and what each answers for."""
        tasks = [sorted(outputs) for _, outputs in self.members]
        # lists of their own make another ensemble of every task; one list for all tasks may get tasks later
        listed = tasks if any(t != tasks[0] for t in tasks) else []
        text = repr((self.scale, digests, listed))
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
) -> Plan:
    """What a run was asked for, checked before anything is loaded."""
    members = network_outputs(networks, tasks)
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    if not names:
        raise SalstatsError("methods is empty; see list_methods()")
    extra = [name for name in options or {} if name not in names]
    if extra:
        raise SalstatsError(f"options has an entry for {extra[0]!r}, which is not among methods")
    makings = []
    for name in names:
        own = dict((options or {}).get(name, {}))
        # what computes it may be said where the method has a name of the caller's own
        making = Making(str(name), check_method(own.pop("method", name)), own)
        makings.append(making)
        for network, _ in members:
            asked = network.arguments(*making)
            check_options(making.row, {k: v for k, v in asked.items() if k not in _OF_EXPLAIN})
    if not isinstance(rng, int | np.integer) or rng < 0:
        raise ValueRangeError(
            f"rng must be a whole number from 0 up, so that a second run draws the same, not {rng!r}"
        )
    given = np.asarray([0] if seeds is None else seeds)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or given.min() < 0:
        raise ValueRangeError(f"seeds must be whole numbers from 0 up, not {seeds!r}")
    together = ENSEMBLE if ensemble is True else ensemble or None
    trained = [network for network, _ in members if network.seed is not None]
    if seeds is not None and trained and together is None and any(making.row.random for making in makings):
        raise SalstatsError(
            f"network {str(trained[0])!r} has the seed of its training, and seeds= asks for several draws; "
            "the column seed holds one of the two: give each training a name of its own"
        )
    return Plan(
        members=members,
        makings=tuple(makings),
        ensemble=together,
        scale=check_choice(scale, SCALES, "scale"),
        resolution=check_choice(resolution, RESOLUTIONS, "resolution"),
        batch_size=check_count(batch_size, "batch_size"),
        mixed_precision=mixed_precision,
        seeds=() if seeds is None else tuple(dict.fromkeys(given.tolist())),
        seed=int(rng),
    )


def checked_labels(labels: Any, plan: Plan) -> dict[tuple[str, str], float]:
    """Whether a finding is there, by case and task; names are text in the folder."""
    if isinstance(labels, pd.DataFrame):
        check_columns(labels, ("case", "task", "label"), "labels")
        values = check_numeric(labels, "label", "labels").tolist()
        pairs = [*zip(zip(labels["case"], labels["task"], strict=True), values, strict=True)]
    else:
        pairs = list(dict(labels or {}).items())
    found: dict[tuple[str, str], float] = {}
    for key, label in pairs:
        if not isinstance(key, tuple) or len(key) != 2:
            raise SalstatsError(f"labels: key {key!r} must be (case, task)")
        case, task = map(str, key)
        value = float(checked_label(label, f"labels: case {case!r}, task {task!r}") or "nan")
        if str(found.setdefault((case, task), value)) != str(value):
            raise SalstatsError(f"labels: case {case!r}, task {task!r} has two that differ")
    labelled = {task for _, task in found}
    tasks = {task for _, outputs in plan.members for task in outputs}
    if labelled and labelled.isdisjoint(tasks):
        raise SalstatsError(
            f"labels has none of the tasks {quoted(sorted(tasks))} but {quoted(sorted(labelled))}"
        )
    return found


def checked_patients(patients: Mapping[str, str] | None) -> dict[str, str]:
    """Patient of each case that has one."""
    named = {
        str(case): checked_patient(patient, f"patients: case {str(case)!r}")
        for case, patient in dict(patients or {}).items()
    }
    return {case: patient for case, patient in named.items() if patient}


def case_seed(seed: int, member: int, case: str) -> int:
    """Seed of a case's random numbers: the same in every run, whatever else is made.

    It knows neither task nor method: passes that serve all tasks can be shared, and networks that are not
    an ensemble are compared on the same draws.
    """
    digest = hashlib.sha256(f"{seed}\0{member}\0{case}".encode()).digest()
    # 63 bits: also torch's generators take them
    return int.from_bytes(digest[:8], "big") >> 1


def check_made_by(
    network: Network, module: nn.Module, outputs: Mapping[str, int], keys: Iterable[MapKey], folder: Path
) -> None:
    """Raise InputFileError where the settings of a folder's maps name another network, or another output.

    Maps whose settings do not say are not compared: those of an ensemble, and of other programs.
    """
    known = read_settings(folder / SETTINGS)
    digest = network.digest(module) if known else ""
    for series, task in dict.fromkeys((key.series, key.task) for key in keys):
        made = _OF_NETWORK.search(known.get(settings_key(series), ""))
        if made is None:
            continue
        if made[1] != digest:
            raise InputFileError(
                f"{folder}: its maps of {str(series)!r} were made from network {made[1]}, and network "
                f"{str(network)!r} is {digest}: its weights, modules, preparation or probability are others; "
                "give the network that they were made from, or make them anew"
            )
        wanted = f"output {outputs[task]}"
        was = known.get(settings_key((series, task)), wanted)
        if was != wanted:
            raise InputFileError(
                f"{folder}: its maps of {str(series)!r}, task {task!r}, are of {was}, and network "
                f"{str(network)!r} says {wanted}; give the outputs that they were made of, or make them anew"
            )
