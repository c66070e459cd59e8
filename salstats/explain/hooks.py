"""What layers give in a pass, noted or replaced: modules, and functions called on what a module gives."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

#: Between the name of a module and that of a function that is called on what it gives: "features+relu".
THEN = "+"
#: Is given a layer's name and output; what it returns, if not None, the network goes on with.
Take = Callable[[str, Any], Any]


@contextmanager
def tapped(layers: Mapping[str, nn.Module], take: Take) -> Iterator[None]:
    """Let `take` have what layers give in the passes made meanwhile; what it returns takes its place.

    The functions that are called on what a module gives, one on the other, stand in a layer's name behind
    `THEN`.
    """
    starts = {name.partition(THEN)[0]: module for name, module in layers.items()}

    def wanted(name: str, output: Any) -> Any:
        return take(name, output) if name in layers else None

    with following(starts, wanted, functions=any(THEN in name for name in layers)):
        yield


@contextmanager
def following(modules: Mapping[str, nn.Module], take: Take, *, functions: bool = True) -> Iterator[None]:
    """Let `take` have what all these modules give, and what functions make directly of what came last."""
    follower = _Follower(take)

    def hook(name: str, _module: nn.Module, _given: Any, output: Any) -> Any:
        return follower.note(name, output)

    handles = [module.register_forward_hook(partial(hook, name)) for name, module in modules.items()]
    try:
        with follower if functions else nullcontext():
            yield
    finally:
        for handle in handles:
            handle.remove()


class _Follower(TorchFunctionMode):
    """Knows the last output of a module, and of the functions that were called on it since."""

    def __init__(self, take: Take) -> None:
        super().__init__()
        self._take, self._name = take, ""
        self._last: Any = self

    def note(self, name: str, output: Any) -> Any:
        """Have an output taken, and remember what the network goes on with."""
        taken = self._take(name, output)
        self._name, self._last = name, output if taken is None else taken
        return taken

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        given = (part for one in args for part in (one if isinstance(one, list | tuple) else (one,)))
        if not isinstance(made, torch.Tensor) or not any(part is self._last for part in given):
            return made
        step = getattr(func, "__name__", "function").strip("_")
        taken = self.note(f"{self._name}{THEN}{step}", made)
        return made if taken is None else taken
