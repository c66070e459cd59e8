"""Trained weights from the files in which training runs keep them."""

import os
import pickle
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from salstats.checks import and_more, quoted
from salstats.errors import InputFileError, SalstatsError
from salstats.files.paths import check_plain

#: Under which a file of a training run keeps the weights, where they are not all it holds.
_WEIGHTS = ("state_dict", "model_state_dict", "model")
#: What nn.DataParallel puts before every name.
_PARALLEL = "module."


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
    >>> from salstats.explain import Network, load_checkpoint
    >>> build = partial(torch.nn.Linear, 4, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "best.pt"
    ...     torch.save({"epoch": 3, "state_dict": build().state_dict()}, file)
    ...     network = Network("linear", partial(load_checkpoint, build, file))
    ...     network.open()
    Linear(in_features=4, out_features=2, bias=True)
    """
    file = Path(path)
    weights = _weights(_read(file), file)
    start = prefix
    if start is None:
        start = _PARALLEL if all(name.startswith(_PARALLEL) for name in weights) else ""
    module = build()
    if not isinstance(module, nn.Module):
        raise SalstatsError(f"build() must return a torch.nn.Module, not {type(module).__name__}")
    named = {name.removeprefix(start): value for name, value in weights.items()}
    try:
        module.load_state_dict(named)
    except RuntimeError as error:
        reason = _difference(named, module.state_dict()) or _said(error)
        raise InputFileError(f"{file}: weights of another network: {reason}") from error
    return module


def _difference(held: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> str:
    """How weights of a file differ from those of a network: the first of each kind."""
    lacking, more = [n for n in wanted if n not in held], [n for n in held if n not in wanted]
    shapes = [
        f"{name} is {tuple(held[name].shape)} in the file and {tuple(value.shape)} in the network"
        for name, value in wanted.items()
        if name in held and held[name].shape != value.shape
    ]
    kinds = (("the file has no ", lacking), ("the network has no ", more), ("", shapes))
    said = " and ".join(f"{what}{names[0]}{and_more(names)}" for what, names in kinds if names)
    before = next((n.removesuffix(own) for n in more for own in lacking if n.endswith(f".{own}")), "")
    return said + (f"; prefix={before!r} takes off what stands before names in the file" if before else "")


def _read(file: Path) -> Any:
    """What a file of `torch.save` holds; nothing in it is run."""
    try:
        check_plain(file)
        # torch warns of what is refused here anyway
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(file, map_location="cpu", weights_only=True)
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
        raise InputFileError(
            f"{file}: damaged, or no file of torch.save ({type(error).__name__}: {_said(error)})"
        ) from error


def _said(error: Exception) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split())[:300]


def _weights(held: Any, file: Path) -> dict[str, torch.Tensor]:
    """Mapping of names to weights in what a file holds."""
    packed = (held.get(key) for key in _WEIGHTS) if isinstance(held, Mapping) else ()
    found = next((one for one in packed if isinstance(one, Mapping)), held)
    if not isinstance(found, Mapping) or not any(isinstance(v, torch.Tensor) for v in found.values()):
        there = f"a mapping of {quoted(found)}" if isinstance(found, Mapping) else type(found).__name__
        raise InputFileError(
            f"{file}: holds no weights but {there}; they are looked for under {quoted(_WEIGHTS)}"
        )
    return {str(name): value for name, value in found.items()}
