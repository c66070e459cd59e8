"""Kernels on arrays, each with its record: `from salstats import metrics; metrics.iou(mask, truth)`."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any


@cache
def _module_names() -> list[str]:
    """List the names of this folder's modules."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def __getattr__(name: str) -> Any:
    """Return the function of a metric on arrays, by the metric's name."""
    if name not in _module_names() and not name.startswith("_"):
        from salstats.metrics.registry import METRICS

        if name in METRICS:
            for file in _module_names():
                kernel = getattr(import_module(f"{__name__}.{file}"), name, None)
                if callable(kernel):
                    return kernel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
