"""All metrics by name, collected from the files of this folder, in which each follows its kernel."""

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
def _metrics_by_name() -> dict[str, Metric]:
    """Collect the metrics in the order of their first input in `NEEDS`, then of their files."""
    metrics = []
    module_names = sorted(info.name for info in pkgutil.iter_modules(salstats.metrics.__path__))
    for name in module_names:
        module = import_module(f"salstats.metrics.{name}")
        metrics += [value for value in vars(module).values() if isinstance(value, Metric)]
    metrics.sort(key=_first_need_position)
    return {metric.name: metric for metric in metrics}


def _first_need_position(metric: Metric) -> int:
    """Return the place of a metric's first need in `NEEDS`; a metric without needs comes last."""
    order = list(NEEDS)
    return min((order.index(need) for need in metric.needs), default=len(order))


class _Registry(Mapping[str, Metric]):
    """The metrics by name; kernels are imported at the first look-up."""

    def __getitem__(self, name: str) -> Metric:
        """Return the record of a metric by its name; KeyError if there is none."""
        return _metrics_by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_metrics_by_name())

    def __len__(self) -> int:
        return len(_metrics_by_name())


METRICS = _Registry()
#: Names of metrics in papers and other packages, and the name of the same metric here.
_NAMES_HERE = {
    "pointing_game": "hit",
    "pointing": "hit",
    "pointinggame": "hit",
    "pg": "hit",
    "hit_rate": "hit",
    "hr": "hit",
    "energy_pointing_game": "energy",
    "ebpg": "energy",
    "proportion": "energy",
    "attribution_localisation": "energy",
    "relevance_mass_accuracy": "energy",
    "jaccard": "iou",
    "miou": "iou",
    "f1": "dice",
    "f1_score": "dice",
    "dsc": "dice",
    "sensitivity": "recall",
    "tpr": "recall",
    "tnr": "specificity",
    "ppv": "precision",
    "hd": "hausdorff",
    "asd": "assd",
    "surface_dice": "nsd",
    "biou": "boundary_iou",
    "cc": "ncc",
    "pearson": "ncc",
    "similarity": "sim",
    "histogram_intersection": "sim",
    "kld": "kl",
    "kldiv": "kl",
    "ig": "information_gain",
    "shuffled_auc": "sauc",
    "judd_auc": "auc_judd",
    "auroc": "auc",
    "roc_auc": "auc",
    "wasserstein": "emd",
}
#: Names of metrics in papers that are not computed here, and the reason.
_NOT_HERE = {
    "ssim": "ssim compares two pictures, and a map and an annotation are not pictures of one thing",
    "mse": "mse compares grey levels, and those of a map have no common scale with an annotation",
    "mae": "mae compares grey levels, and those of a map have no common scale with an annotation",
    "rmse": "rmse compares grey levels, and those of a map have no common scale with an annotation",
    "accuracy": "accuracy of pixels is near 1 wherever the finding is small",
    "auprc": "it changes with the size of the finding, so cases cannot be compared",
    "average_precision": "it changes with the size of the finding, so cases cannot be compared",
}
#: Data that the metrics with such an input are computed from.
_SOURCE_OF_NEED = {
    "ranked": "recorded gaze",
    "map_on_image": "recorded gaze",
    "prob": "the outputs of a network",
    "agreement": "several maps of one image",
}


def names_of_metrics_needing_only(inputs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the metrics whose kernels need no inputs besides these."""
    names = []
    for metric in METRICS.values():
        if metric.kernel is not None and set(metric.needs) <= set(inputs):
            names.append(metric.name)
    return tuple(names)


def checked_metrics(
    metrics: str | Sequence[str], choices: Sequence[str], problem_of_others: str
) -> tuple[str, ...]:
    """Return the metrics in lower case, each once, if all of them are among the choices.

    `problem_of_others` is what an error says of a metric that is registered, but not among the choices.
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    names = tuple(dict.fromkeys(str(name).lower() for name in metrics))
    for name in names:
        if name not in choices:
            problem = problem_of_others if name in METRICS else "is unknown"
            raise ValueRangeError(
                f"metric {name!r} {problem}",
                hint=f"{_beginning_of_unknown_metric_hint(name, choices)}choose from {quoted(choices)}",
                option="metrics",
                value=name,
                choices=choices,
            )
    if not names:
        raise ValueRangeError(
            Setting("metrics"), " is empty", hint=f"choose from {quoted(choices)}", choices=choices
        )
    return names


def _beginning_of_unknown_metric_hint(name: str, choices: Sequence[str]) -> str:
    """Return the beginning of a hint: the metric that an unknown name may mean; empty if none is known."""
    literature_name = name.replace("-", "_").replace(" ", "_")
    if literature_name in _NOT_HERE:
        return f"{_NOT_HERE[literature_name]}; "
    registered_name = _NAMES_HERE.get(literature_name, literature_name)
    if registered_name in choices:
        return f"here it is called {registered_name!r}; "
    if registered_name in METRICS:
        sources = [
            _SOURCE_OF_NEED[need] for need in METRICS[registered_name].needs if need in _SOURCE_OF_NEED
        ]
        # a name that is close would be another metric
        return f"{registered_name!r} is computed from {sources[0]}; " if sources else ""
    close = get_close_matches(name, choices, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def registered_metric(name: object) -> Metric | None:
    """Return a registered metric by its name, in whatever case; None for others."""
    return METRICS.get(str(name).lower())


def direction(name: object) -> int:
    """Return 1 for a metric of which more is better, -1 if less is better, 0 for an unknown one."""
    metric = registered_metric(name)
    return 0 if metric is None else metric.direction


def may_have_meaningful_ratios(metric_name: str) -> bool:
    """Return True if a ratio of two means of this metric has a meaning, or the metric is unknown.

    The metric may have its name in papers and other packages.
    """
    metric = registered_metric(_NAMES_HERE.get(metric_name.lower(), metric_name))
    return metric is None or metric.true_zero


def threshold_label(name: str) -> str:
    """Return the words before "threshold" or "level" for the name of a threshold, such as "Otsu's"."""
    record = THRESHOLDS.get(name)
    return f"the {name}" if record is None else record.label
