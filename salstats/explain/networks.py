"""Networks to be explained: their modules, their preparation of images, and the tasks of their outputs."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, is_dataclass
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice, quoted
from salstats.errors import Message, SalstatsError, Setting
from salstats.explain.forward_passes import DEFAULT_PROBABILITY, PROBABILITIES
from salstats.explain.methods import ATTENTION, Method
from salstats.explain.request import Reshape
from salstats.images.preparation import Preparation

#: Options of `explain` that hold for a whole run, not for one method or network.
_RUN_OPTIONS = ("resolution", "batch_size", "device", "mixed_precision", "rng", "seeds", "progress")


class Member(NamedTuple):
    """A network, and the output of each task that it answers for."""

    network: "Network"
    outputs: dict[str, int]


@dataclass(frozen=True, eq=False)
class Network:
    """A network with all that is needed to explain it.

    Parameters
    ----------
    name : str
        Name in the `model` column.
    load : torch.nn.Module or callable
        The network, or a callable that takes nothing and returns it. With a callable one network is in
        memory at a time: it is loaded when its turn comes and dropped afterwards.
    seed : str or int, optional
        Seed of its training, for the `seed` column, if several trainings have one name.
    tasks : mapping of str to int, optional
        Index of the output of each task; by default that of the call's `tasks`.
    layer : str or sequence of str, optional
        Layer of CAMs, by its name in `named_modules()`; by default the one that `explain` finds.
    reshape : "vit" or callable, optional
        Makes a grid of the layer's output, see `explain`.
    probability : {"sigmoid", "softmax", "none"}, optional
        Makes probabilities of its outputs: "sigmoid" if findings can occur together, "softmax" if classes
        exclude each other. "none": the outputs are probabilities. By default as for `predict`: recognised
        from the outputs, else "sigmoid", with a warning if there are several.
    preparation : Preparation, optional
        Prepares an image for the network. None: images are arrays that the network takes, (channels,
        height, width).
    options : mapping of str to mapping, optional
        Method -> its options with this network, as `explain` takes them.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain import Network
    >>> def load():
    ...     return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
    >>> network = Network("linear", load, tasks={"Edema": 0, "Effusion": 1})
    >>> network.open()[1].out_features
    2
    """

    name: str
    load: nn.Module | Callable[[], nn.Module]
    _: KW_ONLY
    seed: str | int | None = None
    tasks: Mapping[str, int] | None = None
    layer: str | Sequence[str] | None = None
    reshape: str | Reshape | None = None
    probability: str | None = None
    preparation: Preparation | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise SalstatsError for an argument of the wrong kind."""
        if not isinstance(self.name, str) or not self.name:
            self._raise("name", "a network needs a name, the value of the column model")
        if not callable(self.load):
            self._raise("load", "load must be a torch.nn.Module, or a callable that returns one")
        if not isinstance(self.tasks, Mapping | None):
            self._raise("tasks", "tasks must map each task to the index of its output")
        if not isinstance(self.preparation, Preparation | None):
            self._raise(
                "preparation",
                "preparation must be a Preparation; what else an image needs is done where it is read",
            )
        layers = self.layer if isinstance(self.layer, list | tuple) else [self.layer or ""]
        if not all(isinstance(layer, str) for layer in layers):
            self._raise(
                "layer",
                "layer must be a name of named_modules(), or several; a module is another one each time the "
                "network is loaded",
            )
        if self.probability is not None:
            check_choice(self.probability, PROBABILITIES, "probability")

    def _raise(self, option: str, problem: str) -> NoReturn:
        """Raise SalstatsError for an option of this network."""
        raise SalstatsError(f"network {self.name!r}: {problem}", option=option)

    def __str__(self) -> str:
        """Return the name, with the seed of the training if there is one."""
        return self.name if self.seed is None else f"{self.name}:{self.seed}"

    def open(self) -> nn.Module:
        """Return the network, loaded.

        Raises
        ------
        SalstatsError
            `load` returns no torch.nn.Module, or raises an error, which is the cause of this one.
        """
        if isinstance(self.load, nn.Module):
            return self.load
        try:
            module = self.load()
        except (SalstatsError, MemoryError):
            raise
        # the user's own code may raise any error
        except Exception as error:
            function = _qualified_call_or_load(self.load)
            raise SalstatsError(
                f"network {str(self)!r}: {function} raised {type(error).__name__}: {error}",
                hint="called by itself in Python it shows the line",
                option="load",
            ) from error
        if not isinstance(module, nn.Module):
            raise SalstatsError(
                f"network {str(self)!r}: load() must return a torch.nn.Module, not {type(module).__name__}",
                option="load",
                value=type(module).__name__,
            )
        return module

    def arguments(self, name: str, record: Method, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `explain` for a method: the network's own, and the method's options.

        `name` is the method's name in the run, `options` its options for all networks, which those of this
        network replace. A method that uses probabilities gets the network's `probability`. SalstatsError for
        an option that holds for a whole run, such as `batch_size`.
        """
        method_options = {**options, **self.options.get(name, {})}
        method_options.pop("method", None)
        for option in method_options:
            if option in _RUN_OPTIONS:
                raise SalstatsError(
                    f"options of {name!r}: {option!r} is the same for all methods",
                    hint="give it once",
                    option="options",
                    value=option,
                )
        arguments: dict[str, Any] = {}
        if record.reads_layer and self.layer is not None:
            arguments["layer"] = self.layer if isinstance(self.layer, str) else list(self.layer)
        # no effect on attention methods, but a part of the settings that runs are compared by
        if (record.reads_layer or record.kind == ATTENTION) and self.reshape is not None:
            arguments["reshape"] = self.reshape
        if "probability" in record.options:
            arguments["probability"] = self.probability or DEFAULT_PROBABILITY
        return arguments | method_options

    def digest(self, module: nn.Module) -> str:
        """Return a text that changes with the weights, the modules, the preparation and the probability.

        It changes with the options of torch's own modules, too.
        """
        total = hashlib.sha256(repr((self.probability or DEFAULT_PROBABILITY, self.preparation)).encode())
        for name, submodule in module.named_modules():
            module_type = type(submodule)
            module_options = ""
            # options such as a stride do not show in the weights; modules of other packages may print their
            # address in memory, which differs between runs
            if module_type.__module__.startswith("torch.nn."):
                module_options = submodule.extra_repr()
            total.update(f"{name}={module_type.__qualname__}({module_options})\n".encode())
        if isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
            total.update(str(module.code).encode())
        for name, value in module.state_dict().items():
            total.update(f"{name}:".encode())
            if isinstance(value, torch.Tensor):
                total.update(_bytes_of_type_shape_and_numbers(value))
            else:
                total.update(repr(value).encode())
        return total.hexdigest()[:16]


def _qualified_call_or_load(function: Callable[[], Any]) -> str:
    """Return the module and name of a function, or `load()` for an object without a name."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return "load()"
    return f"{function.__module__}.{name}()"


def members_with_outputs(
    networks: Network | Sequence[Network] | Mapping[str, Sequence[Network]],
    tasks: Iterable[str] | Mapping[str, int] | None,
) -> list[Member]:
    """Return each network once, with the output of each task that it answers for.

    `networks` each answer for all tasks, or as a mapping are a list for each task. Outputs follow the order
    of `tasks`; as a mapping it has the outputs of networks without `tasks` of their own, and None means all
    tasks of the networks, or of their mapping. A network without any of these tasks is left out.
    """
    networks_by_task = networks if isinstance(networks, Mapping) else None
    distinct = _distinct_networks(networks)
    ordered_tasks = _ordered_tasks(networks_by_task, distinct, tasks)
    members = []
    for network in distinct:
        if networks_by_task is None:
            network_tasks = ordered_tasks
        else:
            network_tasks = [
                task for task in ordered_tasks if _contains_network(networks_by_task.get(task, ()), network)
            ]
        # the outputs by task: the network's own, or else those of `tasks`
        outputs: Mapping[str, int] = {}
        if network.tasks is not None:
            outputs = network.tasks
        elif isinstance(tasks, Mapping):
            outputs = tasks
        checked = {}
        for task in network_tasks:
            if task not in outputs:
                raise _unknown_task_error(network, task, outputs)
            checked[task] = checked_output_index(outputs[task], task, network)
        members.append(Member(network, checked))
    for task in ordered_tasks:
        if not any(task in member.outputs for member in members):
            raise SalstatsError(f"no network is listed for task {task!r}", option="networks", value=task)
    return [member for member in members if member.outputs]


def _distinct_networks(
    networks: Network | Sequence[Network] | Mapping[str, Sequence[Network]],
) -> list[Network]:
    """Return each network once, checked to have its own name."""
    listed: list[Any]
    if isinstance(networks, Mapping):
        listed = list(chain.from_iterable(networks.values()))
    elif isinstance(networks, Network | nn.Module):
        # a module by itself is an error below
        listed = [networks]
    else:
        listed = list(networks)
    distinct = list({id(network): network for network in listed}.values())
    wrong_types = [type(network).__name__ for network in distinct if not isinstance(network, Network)]
    if not distinct:
        raise SalstatsError(Setting("networks"), " must be of salstats.explain.Network; there is none")
    if wrong_types:
        raise SalstatsError(
            Setting("networks"),
            f" must be of salstats.explain.Network; there is {wrong_types[0]}",
            value=wrong_types[0],
            hint="Network(name, module) makes one of a torch.nn.Module",
        )
    names = set()
    for network in distinct:
        if str(network) in names:
            raise SalstatsError(
                f"two networks are called {str(network)!r}",
                hint=Message("give trainings of one network their ", Setting("seed")),
                option="networks",
                value=str(network),
            )
        names.add(str(network))
    return distinct


def _ordered_tasks(
    networks_by_task: Mapping[str, Sequence[Network]] | None,
    networks: Sequence[Network],
    tasks: Iterable[str] | Mapping[str, int] | None,
) -> list[str]:
    """Return the tasks in the order of `tasks`, or else of the mapping and the networks."""
    if isinstance(tasks, str):
        ordered = [tasks]
    elif tasks is not None:
        ordered = list(dict.fromkeys(tasks))
    else:
        all_tasks = list(networks_by_task or ())
        for network in networks:
            all_tasks.extend(network.tasks or ())
        ordered = list(dict.fromkeys(all_tasks))
    if not ordered:
        raise SalstatsError(
            Setting("tasks"), " is empty", hint="name the tasks with the index of their output, {'Edema': 3}"
        )
    return ordered


def _contains_network(networks: Sequence[Network], network: Network) -> bool:
    """Return whether a network is among networks."""
    return any(member is network for member in networks)


def _unknown_task_error(network: Network, task: str, outputs: Mapping[str, int]) -> SalstatsError:
    """Return the error for a task whose output a network does not know."""
    if outputs:
        return SalstatsError(
            f"network {str(network)!r} does not know task {task!r} (tasks: {quoted(outputs)})",
            option="tasks",
            value=task,
            choices=outputs,
        )
    return SalstatsError(
        f"network {str(network)!r} does not know task {task!r}: it knows none",
        hint=Message("give ", Setting("tasks"), " as {name: index}"),
        option="tasks",
        value=task,
    )


def checked_output_index(output: Any, task: str, network: Network, n_outputs: int | None = None) -> int:
    """Return the index of a task's output, checked to be one of the network if their number is known."""
    problem = f"network {str(network)!r}: task {task!r} is output {output!r}"
    if isinstance(output, bool) or not isinstance(output, int | np.integer):
        raise SalstatsError(f"{problem}, which is no whole number", option="tasks", value=output)
    if n_outputs is not None and not 0 <= output < n_outputs:
        raise SalstatsError(
            f"{problem}, and it has {n_outputs}, 0 to {n_outputs - 1}", option="tasks", value=output
        )
    return int(output)


def stable_option_text(value: Any) -> str:
    """Return a text of an option that is the same in every run, and differs if the option differs.

    A function or an object of another kind is known by its name or type alone.
    """
    if isinstance(value, np.ndarray):
        return stable_option_text(torch.as_tensor(np.ascontiguousarray(value)))
    if isinstance(value, torch.Tensor):
        digest = hashlib.sha256(_bytes_of_type_shape_and_numbers(value)).hexdigest()[:16]
        return f"{value.dtype} {tuple(value.shape)} {digest}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {stable_option_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(stable_option_text, value)) + "]"
    if isinstance(value, np.generic):
        return repr(value.item())
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return repr(value)
    # a function, or an object whose text would be its address in memory
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _bytes_of_type_shape_and_numbers(tensor: torch.Tensor) -> bytes:
    """Return type, shape and numbers of a tensor as bytes."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    header = f"{flat.dtype}{tuple(tensor.shape)}".encode()
    return header + flat.view(torch.uint8).numpy().tobytes()
