"""What each metric is: its label, range, direction, and whether its zero means "nothing"."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One row of the registry.

    Attributes
    ----------
    name : str
        Name in the `metric` column.
    label : str
        Name for tables and figures.
    low, high : float
        Range of the score; infinite where unbounded.
    larger_is_better : bool
        Direction.
    true_zero : bool
        Whether 0 means "none of it", so that a ratio of two means can be read. A correlation or an
        AUC has no such zero (chance is 0 or 0.5), and its percentage decrease means nothing.
    source : str
        Whose definition is followed where definitions differ; empty for a metric that is not computed here.
    """

    name: str
    label: str
    low: float
    high: float
    larger_is_better: bool
    true_zero: bool
    source: str = ""


_INF = float("inf")
_CHEXLOCALIZE = "CheXlocalize (rajpurkarlab/cheXlocalize, eval.py, commit 2a79492)"
_SALIENCY_BENCH = "Saliency-Bench (XAIdataset/XAIdataset.github.io, commit c8641d9)"
#: Leaves undefined what has nothing to divide by, and only that.
_MEDPY = "medpy (medpy.metric.binary)"

METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("iou", "IoU", 0, 1, True, True, _CHEXLOCALIZE),
        Metric("dice", "Dice", 0, 1, True, True, _MEDPY),
        Metric("precision", "Precision", 0, 1, True, True, _MEDPY),
        Metric("recall", "Recall", 0, 1, True, True, _MEDPY),
        Metric("specificity", "Specificity", 0, 1, True, True, _MEDPY),
        Metric("hit", "Hit rate", 0, 1, True, True, f"{_CHEXLOCALIZE}: the first maximum"),
        Metric("hit_any", "Hit rate (any maximum)", 0, 1, True, True, f"{_SALIENCY_BENCH}: any maximum"),
        Metric("energy", "Energy inside", 0, 1, True, True),
        Metric("hausdorff", "Hausdorff distance", 0, _INF, False, True),
        Metric("hd95", "95th-percentile Hausdorff distance", 0, _INF, False, True),
        Metric("assd", "Average symmetric surface distance", 0, _INF, False, True),
        Metric("pdc", "Penalised Dice", 0, 1, True, True),
        Metric("ncc", "NCC", -1, 1, True, False),
        Metric("sncc", "sNCC", -1, 1, True, False),
        Metric("auc", "AUC", 0, 1, True, False),
        Metric("sauc", "sAUC", 0, 1, True, False),
        Metric("nss", "NSS", -_INF, _INF, True, False),
        Metric("sim", "Similarity", 0, 1, True, True),
        Metric("kl", "KL divergence", 0, _INF, False, True),
        Metric("information_gain", "Information gain", -_INF, _INF, True, False),
        Metric("emd", "Earth mover's distance", 0, _INF, False, True),
        Metric("insertion", "Insertion AUC", 0, 1, True, True),
        Metric("deletion", "Deletion AUC", 0, 1, False, True),
    )
}


def known_metric(name: object) -> Metric | None:
    """Return a registered metric by its name, in whatever case it is written; None for others."""
    text = str(name)
    return METRICS.get(text) or METRICS.get(text.lower())


def direction(name: object) -> int:
    """Return 1 for a metric of which more is better, -1 of which less is, 0 for an unknown one."""
    metric = known_metric(name)
    return 0 if metric is None else 1 if metric.larger_is_better else -1


#: Other names of registered metrics.
_ALIASES = {"auroc": "auc", "roc_auc": "auc", "cc": "ncc"}


def has_true_zero(name: str) -> bool:
    """Return whether a ratio of two means of this metric can be read; True for unknown metrics."""
    metric = METRICS.get(_ALIASES.get(name.lower(), name.lower()))
    return metric is None or metric.true_zero
