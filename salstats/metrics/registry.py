"""Every metric by its name, collected from the files of this folder, where each stands beside its kernel."""

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module

import salstats.metrics
from salstats.checks import quoted
from salstats.errors import Setting, ValueRangeError
from salstats.images.thresholds import THRESHOLDS
from salstats.metrics.records import NEEDS, Metric


@cache
def _collected() -> dict[str, Metric]:
    """The metrics in the order of what they need, then of the files and of their places there."""
    names = sorted(module.name for module in pkgutil.iter_modules(salstats.metrics.__path__))
    files = [import_module(f"salstats.metrics.{name}") for name in names]
    found = [value for file in files for value in vars(file).values() if isinstance(value, Metric)]
    places = list(NEEDS)
    found.sort(key=lambda metric: min((places.index(need) for need in metric.needs), default=len(places)))
    return {metric.name: metric for metric in found}


class _Registry(Mapping[str, Metric]):
    """The metrics by name; kernels are imported when somebody first asks."""

    def __getitem__(self, name: str) -> Metric:
        return _collected()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_collected())

    def __len__(self) -> int:
        return len(_collected())


METRICS = _Registry()


def computed_from(needs: Sequence[str]) -> tuple[str, ...]:
    """The metrics that need nothing but this."""
    return tuple(m.name for m in METRICS.values() if m.kernel is not None and set(m.needs) <= set(needs))


def chosen_metrics(metrics: str | Sequence[str], choices: Sequence[str], otherwise: str) -> tuple[str, ...]:
    """Return the metrics in lower case, each once, if all of them are among the choices.

    `otherwise` is what an error says of a metric that is registered, but not among the choices.
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    names = tuple(dict.fromkeys(str(name).lower() for name in metrics))
    for name in names:
        if name not in choices:
            close = get_close_matches(name, choices, n=1)
            suggestion = f"did you mean {close[0]!r}? " if close else ""
            problem = otherwise if name in METRICS else "is unknown"
            raise ValueRangeError(
                f"metric {name!r} {problem}",
                hint=f"{suggestion}choose from {quoted(choices)}",
                option="metrics",
                value=name,
                choices=choices,
            )
    if not names:
        raise ValueRangeError(
            Setting("metrics"), " is empty", hint=f"choose from {quoted(choices)}", choices=choices
        )
    return names


def registered_metric(name: object) -> Metric | None:
    """A registered metric by its name, in whatever case it is written; None for others."""
    return METRICS.get(str(name).lower())


def direction(name: object) -> int:
    """1 for a metric of which more is better, -1 for one of which less is, 0 for an unknown one."""
    metric = registered_metric(name)
    return 0 if metric is None else metric.direction


#: Other names of registered metrics.
_ALIASES = {"auroc": "auc", "roc_auc": "auc", "cc": "ncc"}


def has_true_zero(name: str) -> bool:
    """Whether a ratio of two means of this metric can be read; True for unknown metrics."""
    metric = registered_metric(_ALIASES.get(name.lower(), name))
    return metric is None or metric.true_zero


def threshold_label(name: str) -> str:
    """Word before "threshold" or "level" for the name of a threshold, such as "Otsu's"."""
    record = THRESHOLDS.get(name)
    return f"the {name}" if record is None else record.label
