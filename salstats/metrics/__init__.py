"""Kernels on arrays, each with its record: `from salstats import metrics; metrics.iou(mask, truth)`."""

import pkgutil
from importlib import import_module
from typing import Any

_FILES = sorted(module.name for module in pkgutil.iter_modules(__path__))


def __getattr__(name: str) -> Any:
    """The function of a metric on arrays, by the metric's name."""
    if name not in _FILES and not name.startswith("_"):
        from salstats.metrics.registry import METRICS

        for file in _FILES if name in METRICS else ():
            found = getattr(import_module(f"{__name__}.{file}"), name, None)
            if callable(found):
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
