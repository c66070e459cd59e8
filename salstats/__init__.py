"""Statistics for saliency maps: per-case scores in, honest intervals, contrasts and regressions out.

Public names in the order of the pipeline; each is loaded when it is first used. `salstats.explain`, which
makes the maps, needs torch and is not among `__all__`.
"""

from importlib import import_module
from typing import Any

import lazy_loader

_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """A public name, or the torch side where that is asked for."""
    return import_module("salstats.explain") if name == "explain" else _named(name)
