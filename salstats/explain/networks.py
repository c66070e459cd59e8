"""Networks to be explained: how each is loaded, what it takes, and what its outputs are."""

import hashlib
import os
import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import InputFileError, SalstatsError, check_choice, check_plain, quoted
from salstats.explain.forward import PROBABILITIES, PROBABILITY
from salstats.explain.methods import ATTENTION, Method
from salstats.explain.request import Reshape
from salstats.images.preparation import Preparation

#: Under which a file of a training run keeps the weights, where they are not all it holds.
_WEIGHTS = ("state_dict", "model_state_dict", "model")
#: What nn.DataParallel puts before every name.
_PARALLEL = "module."
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
    probability : {"sigmoid", "softmax", "none"}
        What makes probabilities of its outputs: "sigmoid" where findings can occur together. "none": the
        network gives them.
    preparation : Preparation, optional
        What is done to an image before. None: images come as the network takes them, (channels, height,
        width).
    options : mapping of str to mapping, optional
        Method -> its options with this network, as `explain` takes them.

    Examples
    --------
    >>> import torch
    >>> from salstats.explain.networks import Network
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
    probability: str = PROBABILITY
    preparation: Preparation | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SalstatsError(f"a network needs a name, the value of the column model, not {self.name!r}")
        check_choice(self.probability, PROBABILITIES, "probability")
        if self.tasks is not None and not isinstance(self.tasks, Mapping):
            raise SalstatsError(
                f"network {self.name!r}: tasks must map each task to the index of its output, not be "
                f"{type(self.tasks).__name__}"
            )
        if not callable(self.load):
            raise SalstatsError(
                f"network {self.name!r}: load must be a torch.nn.Module, or a callable that returns one, not "
                f"{type(self.load).__name__}"
            )
        if self.preparation is not None and not isinstance(self.preparation, Preparation):
            raise SalstatsError(
                f"network {self.name!r}: preparation must be a Preparation, not "
                f"{type(self.preparation).__name__}; what else an image needs is done where it is read"
            )
        several = list(self.layer) if isinstance(self.layer, list | tuple) else [self.layer]
        if self.layer is not None and not all(isinstance(layer, str) for layer in several):
            raise SalstatsError(
                f"network {self.name!r}: layer must be a name of named_modules(), or several; a module is "
                "another one each time the network is loaded"
            )

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
            own["probability"] = self.probability
        return own | given

    def digest(self, module: nn.Module) -> str:
        """A text that changes with the weights, the modules and their options, and the preparation."""
        total = hashlib.sha256(repr((self.probability, self.preparation)).encode())
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


def load_checkpoint(
    build: Callable[[], nn.Module],
    path: str | os.PathLike[str],
    *,
    prefix: str | None = None,
) -> nn.Module:
    """A new network with the weights of a file.

    Parameters
    ----------
    build : callable
        Takes nothing and returns the network, with any weights.
    path : path
        What `torch.save` wrote: the weights, or a mapping that keeps them as `state_dict`,
        `model_state_dict` or `model`. Nothing in it is run.
    prefix : str, optional
        What stands before every name in the file and not in the network, such as "model." of a wrapper.
        "module.", which nn.DataParallel writes, is taken off without it.

    Returns
    -------
    torch.nn.Module
        On the CPU.

    Raises
    ------
    InputFileError
        The file is missing, damaged, holds more than weights, or weights of another network; names and
        shapes that do not fit are said.

    Examples
    --------
    >>> import pathlib, tempfile, torch
    >>> from functools import partial
    >>> from salstats.explain.networks import Network, load_checkpoint
    >>> build = partial(torch.nn.Linear, 4, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "best.pt"
    ...     torch.save({"epoch": 3, "state_dict": build().state_dict()}, file)
    ...     network = Network("linear", partial(load_checkpoint, build, file))
    ...     network.open()
    Linear(in_features=4, out_features=2, bias=True)
    """
    file = Path(path)
    try:
        check_plain(file)
        # torch warns of what is refused here anyway
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            held = torch.load(file, map_location="cpu", weights_only=True)
    except InputFileError:
        raise
    except FileNotFoundError as error:
        raise InputFileError(f"{file}: no such file") from error
    except pickle.UnpicklingError as error:
        raise InputFileError(
            f"{file}: holds more than weights, or is no file of torch.save, and is not run; save "
            "model.state_dict()"
        ) from error
    # damaged archives raise RuntimeError, EOFError and others
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise InputFileError(f"{file}: the checkpoint cannot be read ({said})") from error
    weights = _weights(held, file)
    start = prefix
    if start is None:
        start = _PARALLEL if weights and all(name.startswith(_PARALLEL) for name in weights) else ""
    lacking = [name for name in weights if not name.startswith(start)]
    if lacking:
        raise InputFileError(f"{file}: {lacking[0]!r} does not begin with prefix={start!r}")
    weights = {name[len(start) :]: value for name, value in weights.items()}
    module = build()
    if not isinstance(module, nn.Module):
        raise SalstatsError(f"build() must return a torch.nn.Module, not {type(module).__name__}")
    _check_fit(module.state_dict(), weights, file)
    module.load_state_dict(weights)
    return module


def _weights(held: Any, file: Path) -> dict[str, torch.Tensor]:
    """Mapping of names to weights in what a file holds."""
    found = held
    for key in _WEIGHTS:
        if isinstance(held, Mapping) and isinstance(held.get(key), Mapping):
            found = held[key]
            break
    if not isinstance(found, Mapping) or not any(isinstance(v, torch.Tensor) for v in found.values()):
        there = f"a mapping of {quoted(found)}" if isinstance(found, Mapping) else type(found).__name__
        raise InputFileError(
            f"{file}: holds no weights but {there}; they are looked for under {quoted(_WEIGHTS)}"
        )
    odd = [name for name in found if not isinstance(name, str)]
    if odd:
        raise InputFileError(f"{file}: {odd[0]!r} is no name of a weight")
    return dict(found)


def _is_plain(value: Any, wanted: torch.Tensor) -> bool:
    """Whether a weight is a tensor that a network can take over as it is."""
    if not isinstance(value, torch.Tensor) or value.is_meta:
        return False
    return value.layout == wanted.layout and value.is_complex() <= wanted.is_complex()


def _check_fit(wanted: Mapping[str, Any], given: Mapping[str, Any], file: Path) -> None:
    """Raise InputFileError where the weights of a file are not those of the network."""
    missing, more = ([n for n in one if n not in other] for one, other in ((wanted, given), (given, wanted)))
    if missing or more:
        parts = [f"lacks {quoted(missing)}"] if missing else []
        parts += [f"has {quoted(more)} too"] if more else []
        hint = "; prefix= takes off what stands before its names" if missing and more else ""
        raise InputFileError(f"{file}: weights of another network: it {' and '.join(parts)}{hint}")
    for name, value in given.items():
        if isinstance(wanted[name], torch.Tensor) and not _is_plain(value, wanted[name]):
            kind = f"a tensor, {value.dtype}, {value.layout}" if isinstance(value, torch.Tensor) else "none"
            raise InputFileError(
                f"{file}: {name!r} is {kind}; a weight is a tensor of the network's kind, with its numbers"
            )
        shapes = [tuple(getattr(held, "shape", ())) for held in (value, wanted[name])]
        if shapes[0] != shapes[1]:
            raise InputFileError(
                f"{file}: weights of another network: {name!r} has shape {shapes[0]}, the network's "
                f"{shapes[1]}"
            )


def network_outputs(
    networks: Sequence[Network] | Mapping[str, Sequence[Network]],
    tasks: Iterable[str] | Mapping[str, int] | None,
) -> list[tuple[Network, dict[str, int]]]:
    """Each network once, with the output of each task that it answers for.

    `networks` are all for all tasks, or for each task its own list. `tasks` stand in their order; as a
    mapping also with the outputs of networks that do not say them; None: all tasks of the networks, or of the
    mapping.
    """
    lists = networks if isinstance(networks, Mapping) else None
    listed = [n for group in lists.values() for n in group] if lists is not None else list(_flat(networks))
    distinct = list({id(network): network for network in listed}.values())
    wrong = [type(n).__name__ for n in distinct if not isinstance(n, Network)]
    if not distinct or wrong:
        raise SalstatsError(
            f"networks must be of salstats.explain.Network, not {wrong[0] if wrong else 'empty'}"
        )
    names = [str(network) for network in distinct]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SalstatsError(
            f"two networks are called {twice[0]!r}; give trainings of one network their seed="
        )
    known = [*(lists or ()), *(task for network in distinct for task in network.tasks or ())]
    wanted = list(dict.fromkeys(known if tasks is None else [tasks] if isinstance(tasks, str) else tasks))
    if not wanted:
        raise SalstatsError("tasks is empty: name the tasks with the index of their output, {'Edema': 3}")
    defaults = tasks if isinstance(tasks, Mapping) else {}
    found = []
    for network in distinct:
        own = wanted if lists is None else [t for t in wanted if any(n is network for n in lists.get(t, ()))]
        outputs = defaults if network.tasks is None else network.tasks
        unknown = [t for t in own if t not in outputs]
        if unknown:
            there = quoted(outputs) if outputs else "none; give tasks={name: index}"
            raise SalstatsError(
                f"network {str(network)!r} does not know task {unknown[0]!r} (tasks: {there})"
            )
        found.append((network, {t: _output(outputs[t], t, network) for t in own}))
    unserved = [t for t in wanted if not any(t in outputs for _, outputs in found)]
    if unserved:
        raise SalstatsError(f"no network is listed for task {unserved[0]!r}")
    return [(network, outputs) for network, outputs in found if outputs]


def _output(value: Any, task: str, network: Network) -> int:
    """Index of a task's output."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SalstatsError(
            f"network {str(network)!r}: task {task!r} is output {value!r}, which is no whole number"
        )
    return int(value)


def _flat(networks: Any) -> Iterable[Any]:
    """Networks, also where one came alone."""
    return [networks] if isinstance(networks, Network) else networks


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
