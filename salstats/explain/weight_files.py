"""Trained weights from the files in which training runs keep them."""

import os
import pickle
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from salstats.checks import and_n_more_after_first, quoted
from salstats.errors import InputFileError, Message, SalstatsError, Setting
from salstats.files.paths import check_is_regular_file_unless_missing

#: Keys under which a file of a training run keeps the weights, if it also keeps other things.
_WEIGHTS_KEYS = ("state_dict", "model_state_dict", "model")
#: The prefix that nn.DataParallel puts before every name.
_PARALLEL_PREFIX = "module."


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
        What stands before every name in the file and not in the network, such as "model." of a wrapper. By
        default "module.", which nn.DataParallel writes, is taken off.

    Returns
    -------
    torch.nn.Module
        On the CPU.

    Raises
    ------
    InputFileError
        The file is missing, damaged, holds more than weights, or weights of another network; the message has
        the names and shapes that do not fit.
    SalstatsError
        `build` is a network or not callable, or does not return a network.

    Examples
    --------
    >>> import pathlib, tempfile, torch
    >>> from functools import partial
    >>> from salstats.explain import Network, load_checkpoint
    >>> build = partial(torch.nn.Linear, 4, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "best.pt"
    ...     torch.save({"epoch": 3, "state_dict": build().state_dict()}, file)
    ...     network = Network("linear", partial(load_checkpoint, build, file))
    ...     network.open()
    Linear(in_features=4, out_features=2, bias=True)
    """
    if isinstance(build, nn.Module) or not callable(build):
        raise SalstatsError(
            f"build must be a class or a function that makes a network, not {type(build).__name__}",
            hint="give the class itself, without (), or lambda: Net(...)",
            option="build",
        )
    file = Path(path)
    weights = _weights_by_name(_loaded_without_running_code(file), file)
    if prefix is None:
        is_parallel = all(name.startswith(_PARALLEL_PREFIX) for name in weights)
        prefix = _PARALLEL_PREFIX if is_parallel else ""
    module = build()
    if not isinstance(module, nn.Module):
        raise SalstatsError(
            f"build() must return a torch.nn.Module, not {type(module).__name__}", option="build"
        )
    named = {name.removeprefix(prefix): value for name, value in weights.items()}
    try:
        module.load_state_dict(named)
    except RuntimeError as error:
        difference = _weights_difference(named, module.state_dict())
        raise InputFileError(
            f"{file}: weights of another network: {difference.text or _message_in_one_line(error)}",
            hint=_prefix_hint(difference),
            choices=weights,
            path=file,
        ) from error
    return module


class _Difference(NamedTuple):
    """The names in which weights of a file differ from those of a network, and a text that says so."""

    missing: list[str]
    additional: list[str]
    text: str


def _weights_difference(
    file_weights: Mapping[str, torch.Tensor], weights: Mapping[str, torch.Tensor]
) -> _Difference:
    """Compare weights of a file with those of a network; the text has the first difference of each kind."""
    missing = [name for name in weights if name not in file_weights]
    additional = [name for name in file_weights if name not in weights]
    shapes = []
    for name, value in weights.items():
        if name in file_weights and file_weights[name].shape != value.shape:
            file_shape = tuple(file_weights[name].shape)
            shapes.append(f"{name} is {file_shape} in the file and {tuple(value.shape)} in the network")
    texts = []
    if missing:
        texts.append(f"the file has no {missing[0]}{and_n_more_after_first(missing)}")
    if additional:
        texts.append(f"the network has no {additional[0]}{and_n_more_after_first(additional)}")
    if shapes:
        texts.append(f"{shapes[0]}{and_n_more_after_first(shapes)}")
    return _Difference(missing, additional, " and ".join(texts))


def _prefix_hint(difference: _Difference) -> Message:
    """Return a hint with the prefix of names in the file that the network lacks; empty if there is none."""
    for additional in difference.additional:
        for missing in difference.missing:
            if additional.endswith(f".{missing}"):
                prefix = additional.removesuffix(missing)
                return Message(Setting("prefix", prefix), " takes off what stands before names in the file")
    return Message()


def _loaded_without_running_code(file: Path) -> Any:
    """Read a file of `torch.save` without running anything in it; InputFileError if that is impossible."""
    try:
        check_is_regular_file_unless_missing(file)
        # torch warns of files that are errors here anyway
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(file, map_location="cpu", weights_only=True)
    except InputFileError:
        raise
    except FileNotFoundError as error:
        raise InputFileError(f"{file}: no such file", path=file) from error
    except pickle.UnpicklingError as error:
        raise InputFileError(
            f"{file}: holds more than weights, or is no file of torch.save, and is not run",
            hint="save model.state_dict()",
            path=file,
        ) from error
    # damaged archives raise RuntimeError, EOFError and others
    except Exception as error:
        raise InputFileError(
            f"{file}: damaged, or no file of torch.save "
            f"({type(error).__name__}: {_message_in_one_line(error)})",
            path=file,
        ) from error


def _message_in_one_line(error: Exception) -> str:
    """Return the message of an error in one line."""
    return " ".join(str(error).split())[:300]


def _weights_by_name(content: Any, file: Path) -> dict[str, torch.Tensor]:
    """Return the mapping of names to weights in the content of a file; InputFileError if it has none.

    A mapping counts as one if any of its values is a tensor; other values stay in it.
    """
    weights = content
    if isinstance(content, Mapping):
        packed = [content.get(key) for key in _WEIGHTS_KEYS]
        weights = next((value for value in packed if isinstance(value, Mapping)), content)
    if not isinstance(weights, Mapping):
        description = type(weights).__name__
    elif not any(isinstance(value, torch.Tensor) for value in weights.values()):
        description = f"a mapping with the keys {quoted(weights)}"
    else:
        return {str(name): value for name, value in weights.items()}
    raise InputFileError(
        f"{file}: holds {description} instead of weights, which are looked for under {quoted(_WEIGHTS_KEYS)}",
        value=list(weights) if isinstance(weights, Mapping) else description,
        choices=_WEIGHTS_KEYS,
        path=file,
    )
