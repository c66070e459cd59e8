"""Networks to be explained: how each is loaded, what it takes, and what its outputs are."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice, quoted
from salstats.errors import SalstatsError
from salstats.explain.forward_passes import PROBABILITIES, PROBABILITY
from salstats.explain.methods import ATTENTION, Method
from salstats.explain.request import Reshape
from salstats.images.preparation import Preparation

#: Options of `explain` that a run decides.
_OF_THE_RUN = ("resolution", "batch_size", "device", "mixed_precision", "rng", "seeds", "progress")


@dataclass(frozen=True, eq=False)
class Network:
    """A network with all that is needed to explain it.

    Parameters
    ----------
    name : str
        Name in the `model` column.
    load : torch.nn.Module or callable
        The network, or what takes nothing and returns it. With a callable one network is in memory at a
        time: it is loaded when its turn comes and dropped afterwards.
    seed : str or int, optional
        Of its training, for the `seed` column, where several trainings bear one name.
    tasks : mapping of str to int, optional
        Index of the output of each task; where it is missing the call's `tasks` are taken.
    layer : str or sequence of str, optional
        Of CAMs, by its name in `named_modules()`; by default the one that `explain` finds.
    reshape : "vit" or callable, optional
        What makes a grid of what the layer gives, see `explain`.
    probability : {"sigmoid", "softmax", "none"}, optional
        What makes probabilities of its outputs: "sigmoid" where findings can occur together, "softmax" where
        classes exclude each other. "none": the network gives them. By default as for `predict`: found from
        the outputs, else "sigmoid", with a warning where there are several.
    preparation : Preparation, optional
        What is done to an image before. None: images come as the network takes them, (channels, height,
        width).
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
        several = self.layer if isinstance(self.layer, list | tuple) else [self.layer or ""]
        for right, what in (
            (
                isinstance(self.name, str) and self.name,
                "a network needs a name, the value of the column model",
            ),
            (callable(self.load), "load must be a torch.nn.Module, or a callable that returns one"),
            (isinstance(self.tasks, Mapping | None), "tasks must map each task to the index of its output"),
            (
                isinstance(self.preparation, Preparation | None),
                "preparation must be a Preparation; what else an image needs is done where it is read",
            ),
            (
                all(isinstance(layer, str) for layer in several),
                "layer must be a name of named_modules(), or several; a module is another one each time the "
                "network is loaded",
            ),
        ):
            if not right:
                raise SalstatsError(f"network {self.name!r}: {what}")
        if self.probability is not None:
            check_choice(self.probability, PROBABILITIES, "probability")

    def __str__(self) -> str:
        """Its name, with the seed of its training where it has one."""
        return self.name if self.seed is None else f"{self.name}:{self.seed}"

    def open(self) -> nn.Module:
        """Network, loaded.

        Raises
        ------
        SalstatsError
            What `load` returns is no torch.nn.Module.
        """
        module = self.load if isinstance(self.load, nn.Module) else self.load()
        if not isinstance(module, nn.Module):
            raise SalstatsError(
                f"network {str(self)!r}: load() must return a torch.nn.Module, not {type(module).__name__}"
            )
        return module

    def arguments(self, name: str, row: Method, options: Mapping[str, Any]) -> dict[str, Any]:
        """What `explain` is given for a method: what the network says itself, and options.

        Options of this network go before those of all; a method that looks at probabilities gets the
        network's rule.
        """
        given = {**options, **self.options.get(name, {})}
        given.pop("method", None)
        taken = [option for option in given if option in _OF_THE_RUN]
        if taken:
            raise SalstatsError(
                f"options of {name!r}: {taken[0]!r} is the same for all methods; give it once"
            )
        own: dict[str, Any] = {}
        if row.layer and self.layer is not None:
            own["layer"] = self.layer if isinstance(self.layer, str) else list(self.layer)
        if (row.layer or row.kind == ATTENTION) and self.reshape is not None:
            own["reshape"] = self.reshape
        if "probability" in row.options:
            own["probability"] = self.probability or PROBABILITY
        return own | given

    def digest(self, module: nn.Module) -> str:
        """A text that changes with the weights, the modules and their options, and the preparation."""
        total = hashlib.sha256(repr((self.probability or PROBABILITY, self.preparation)).encode())
        for name, part in module.named_modules():
            # weights do not show a stride; modules of others may say where they lie in memory
            known = type(part).__module__.startswith("torch.nn.")
            said_of = part.extra_repr() if known else ""
            total.update(f"{name}={type(part).__qualname__}({said_of})\n".encode())
        if isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
            total.update(str(module.code).encode())
        for name, value in module.state_dict().items():
            total.update(f"{name}:".encode())
            total.update(_bytes(value) if isinstance(value, torch.Tensor) else repr(value).encode())
        return total.hexdigest()[:16]


def network_outputs(
    networks: Network | Sequence[Network] | Mapping[str, Sequence[Network]],
    tasks: Iterable[str] | Mapping[str, int] | None,
) -> list[tuple[Network, dict[str, int]]]:
    """Each network once, with the output of each task that it answers for.

    `networks` are all for all tasks, or for each task its own list. `tasks` stand in their order; as a
    mapping also with the outputs of networks that do not say them; None: all tasks of the networks, or of the
    mapping.
    """
    lists = networks if isinstance(networks, Mapping) else None
    # a module by itself is said to be none below
    listed: list[Any] = [networks] if isinstance(networks, Network | nn.Module) else list(networks)
    if lists is not None:
        listed = [network for group in lists.values() for network in group]
    distinct = list({id(network): network for network in listed}.values())
    if not distinct or not all(isinstance(n, Network) for n in distinct):
        there = next((type(n).__name__ for n in distinct if not isinstance(n, Network)), "none")
        hint = "; Network(name, module) makes one of a torch.nn.Module" if distinct else ""
        raise SalstatsError(f"networks must be of salstats.explain.Network; there is {there}{hint}")
    names = [str(network) for network in distinct]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SalstatsError(f"two networks are called {twice!r}; give trainings of one network their seed=")
    known = [*(lists or ()), *(task for network in distinct for task in network.tasks or ())]
    wanted = list(dict.fromkeys(known if tasks is None else [tasks] if isinstance(tasks, str) else tasks))
    if not wanted:
        raise SalstatsError("tasks is empty: name the tasks with the index of their output, {'Edema': 3}")
    found = []
    for network in distinct:
        own = wanted if lists is None else [t for t in wanted if any(n is network for n in lists.get(t, ()))]
        outputs = network.tasks
        if outputs is None:
            outputs = tasks if isinstance(tasks, Mapping) else {}
        unknown = [t for t in own if t not in outputs]
        if unknown:
            there = quoted(outputs) if outputs else "none; give tasks={name: index}"
            raise SalstatsError(
                f"network {str(network)!r} does not know task {unknown[0]!r} (tasks: {there})"
            )
        found.append((network, {t: check_output(outputs[t], t, network) for t in own}))
    unserved = [t for t in wanted if not any(t in outputs for _, outputs in found)]
    if unserved:
        raise SalstatsError(f"no network is listed for task {unserved[0]!r}")
    return [(network, outputs) for network, outputs in found if outputs]


def check_output(value: Any, task: str, network: Network, n_outputs: int | None = None) -> int:
    """Index of a task's output, one that the network has where their number is known."""
    where = f"network {str(network)!r}: task {task!r} is output {value!r}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SalstatsError(f"{where}, which is no whole number")
    if n_outputs is not None and not 0 <= value < n_outputs:
        raise SalstatsError(f"{where}, and it has {n_outputs}, 0 to {n_outputs - 1}")
    return int(value)


def said(value: Any) -> str:
    """A text of an option that is the same in every run, and another for another option."""
    if isinstance(value, np.ndarray):
        return said(torch.as_tensor(np.ascontiguousarray(value)))
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {hashlib.sha256(_bytes(value)).hexdigest()[:16]}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {said(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(said, value)) + "]"
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if is_dataclass(value) and not isinstance(value, type):
        return repr(value)
    # a function, or an object that says no more of itself than where it lies in memory
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _bytes(tensor: torch.Tensor) -> bytes:
    """Type, shape and numbers of a tensor as bytes."""
    plain = tensor.detach().cpu().contiguous().reshape(-1)
    return f"{plain.dtype}{tuple(tensor.shape)}".encode() + plain.view(torch.uint8).numpy().tobytes()
