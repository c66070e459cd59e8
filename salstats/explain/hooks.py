"""Hooks that read or replace the outputs of layers: of modules, and of functions called on their outputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

#: Separates the name of a module from that of a function that is called on its output: "features+relu".
FUNCTION_MARK = "+"
#: Takes a layer's name and output; the network goes on with what it returns, unless that is None.
OutputHook = Callable[[str, Any], Any]


@contextmanager
def hooked(layers: Mapping[str, nn.Module], hook: OutputHook) -> Iterator[None]:
    """Call `hook` on the outputs of layers in the passes made meanwhile; what it returns replaces an output.

    A layer's name is that of its module, or also has the functions that are called on the module's output,
    one after the other, each behind a `FUNCTION_MARK`.
    """
    modules = {name.partition(FUNCTION_MARK)[0]: module for name, module in layers.items()}
    functions = any(FUNCTION_MARK in name for name in layers)

    def replacement_of_chosen_layer_or_none(name: str, output: Any) -> Any:
        """Return the replacement that `hook` gives for the output of a layer; None for other outputs."""
        if name not in layers:
            return None
        return hook(name, output)

    with modules_hooked(modules, replacement_of_chosen_layer_or_none, functions_on_outputs=functions):
        yield


@contextmanager
def modules_hooked(
    modules: Mapping[str, nn.Module], hook: OutputHook, *, functions_on_outputs: bool = True
) -> Iterator[None]:
    """Call `hook` on the outputs of modules in the passes made meanwhile.

    With `functions_on_outputs` it is also called on the outputs of functions that take the last output
    itself.
    """
    tracker = _HookedOutput(hook)

    def module_hook(name: str, _module: nn.Module, _inputs: Any, output: Any) -> Any:
        """Return the replacement of a module's output, or None; torch calls it after the module."""
        return tracker.replacement_by_hook_or_none(name, output)

    handles = [module.register_forward_hook(partial(module_hook, name)) for name, module in modules.items()]
    try:
        with tracker if functions_on_outputs else nullcontext():
            yield
    finally:
        for handle in handles:
            handle.remove()


class _HookedOutput(TorchFunctionMode):
    """Context that calls a hook on the results of functions that are called on a module's last output.

    The result is the last output from then on, so that a function called on it is tracked, too.
    """

    def __init__(self, hook: OutputHook) -> None:
        super().__init__()
        self._hook = hook
        #: Name of the layer that gave the last output.
        self._name = ""
        # before the first module there is no output: an object that no function is called on
        self._last_output: Any = self

    def replacement_by_hook_or_none(self, name: str, output: Any) -> Any:
        """Call the hook on an output, and keep the output with which the network goes on.

        Returns what the hook returned: the replacement of the output, or None where nothing is replaced.
        """
        replacement = self._hook(name, output)
        self._name = name
        self._last_output = output
        if replacement is not None:
            self._last_output = replacement
        return replacement

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch; a tensor that it makes of the last output goes through the hook."""
        output = func(*args, **(kwargs or {}))
        if not isinstance(output, torch.Tensor) or not self._arguments_include_last_output(args):
            return output
        function_name = getattr(func, "__name__", "function").strip("_")
        self.replacement_by_hook_or_none(f"{self._name}{FUNCTION_MARK}{function_name}", output)
        return self._last_output

    def _arguments_include_last_output(self, args: Iterable[Any]) -> bool:
        """Return whether the last output is among the arguments of a function, or in a list of them."""
        for argument in args:
            values = argument if isinstance(argument, list | tuple) else (argument,)
            if any(value is self._last_output for value in values):
                return True
        return False
