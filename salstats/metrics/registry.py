"""What each metric is: its label, range, direction, and whether its zero means "nothing"."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from salstats.checks import ValueRangeError, quoted


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
        Whose definition is followed where definitions differ, with the DOI of the paper where there is one;
        empty for a metric that is not computed here.
    needs : str
        What it is computed from: "mask" or "map" (and the mask of the truth), "map and density" or
        "map and points" (of fixations), "map and model" (needs the extra `explain`), "several maps" (of one
        case); empty for a metric that is not computed here.
    note : str
        What must be said wherever its values are shown; mostly empty.
    """

    name: str
    label: str
    low: float
    high: float
    larger_is_better: bool
    true_zero: bool
    source: str = ""
    needs: str = ""
    note: str = ""


_INF = float("inf")
_CHEXLOCALIZE = "CheXlocalize (rajpurkarlab/cheXlocalize, eval.py, commit 2a79492)"
_SALIENCY_BENCH = "Saliency-Bench (XAIdataset/XAIdataset.github.io, commit c8641d9)"
#: Leaves undefined what has nothing to divide by, and only that.
_MEDPY = "medpy (medpy.metric.binary)"
_BOUNDARY = "boundary pixels (4 neighbours), as medpy and MONAI"
_RELOADED = "Maier-Hein et al. 2024, doi:10.1038/s41592-023-02151-z"
_LANFREDI = "Bigolin Lanfredi et al. 2021, doi:10.48550/arXiv.2112.11716"
_BYLINSKII = "pysaliency; Bylinskii et al. 2019, doi:10.1109/TPAMI.2018.2815601"
_DENSITY, _POINTS = "map and density", "map and points"
_RISE = "Petsiuk et al. 2018 (RISE), doi:10.48550/arXiv.1806.07421"
_BETWEEN = "salstats: all pairs of maps of one case that differ in the seed"

METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        Metric("iou", "IoU", 0, 1, True, True, _CHEXLOCALIZE, "mask"),
        Metric("dice", "Dice", 0, 1, True, True, _MEDPY, "mask"),
        Metric("precision", "Precision", 0, 1, True, True, _MEDPY, "mask"),
        Metric("recall", "Recall", 0, 1, True, True, _MEDPY, "mask"),
        Metric("specificity", "Specificity", 0, 1, True, True, _MEDPY, "mask"),
        Metric("hit", "Hit rate", 0, 1, True, True, f"{_CHEXLOCALIZE}: the first maximum", "map"),
        Metric(
            "hit_any", "Hit rate (any maximum)", 0, 1, True, True, f"{_SALIENCY_BENCH}: any maximum", "map"
        ),
        Metric(
            "energy", "Energy inside", 0, 1, True, True,
            "Wang et al. 2020 (Score-CAM), doi:10.1109/CVPRW50498.2020.00020: of the map's positive part, "
            "cut before the resize", "map",
        ),
        Metric(
            "hausdorff", "Hausdorff distance", 0, _INF, False, True,
            f"{_BOUNDARY}; Huttenlocher et al. 1993, doi:10.1109/34.232073", "mask",
        ),
        Metric(
            "hd95", "95th-percentile Hausdorff distance", 0, _INF, False, True,
            f"the larger of two directed percentiles over {_BOUNDARY.replace(', as medpy and', ', as')}; "
            f"{_RELOADED}", "mask",
        ),
        Metric(
            "assd", "Average symmetric surface distance", 0, _INF, False, True,
            f"both directions pooled over {_BOUNDARY}; {_RELOADED}", "mask",
        ),
        Metric(
            "pdc", "Penalised Dice (rebuilt)", 0, 1, True, True,
            "a reconstruction of Blake et al. 2025 (MRxaI, CEUR-WS Vol-4059, paper 9)", "mask",
            "Penalised Dice is a reconstruction from the text of Blake et al. 2025 (MRxaI, CEUR-WS Vol-4059, "
            "paper 9); the printed equation is not at hand.",
        ),
        Metric("ncc", "NCC", -1, 1, True, False, _LANFREDI, _DENSITY),
        Metric("sncc", "sNCC", -2, 2, True, False, _LANFREDI, _DENSITY),
        Metric("auc", "AUC", 0, 1, True, False, f"{_LANFREDI}: its expectation, exactly", _DENSITY),
        Metric("sauc", "sAUC", 0, 1, True, False, f"{_LANFREDI}: its expectation, exactly", _DENSITY),
        Metric("auc_points", "AUC of points", 0, 1, True, False, _BYLINSKII, _POINTS),
        Metric("sauc_points", "sAUC of points", 0, 1, True, False, _BYLINSKII, _POINTS),
        Metric("auc_judd", "AUC-Judd", 0, 1, True, False, _BYLINSKII, _POINTS),
        Metric(
            "nss", "NSS", -_INF, _INF, True, False,
            "pysaliency; Peters et al. 2005, doi:10.1016/j.visres.2005.03.019", _POINTS,
        ),
        Metric("sim", "Similarity", 0, 1, True, True, _BYLINSKII, _DENSITY),
        Metric(
            "kl", "KL divergence", 0, _INF, False, True, _BYLINSKII, _DENSITY,
            "KL divergence in nats; 2^-52 is added where a map is 0, and there decides the score.",
        ),
        Metric(
            "information_gain", "Information gain", -_INF, _INF, True, False,
            "pysaliency; Kümmerer et al. 2015, doi:10.1073/pnas.1510393112", _POINTS,
            "Information gain in bits per fixation over the baseline.",
        ),
        Metric("emd", "Earth mover's distance", 0, _INF, False, True),
        Metric("insertion", "Insertion AUC", 0, 1, True, True, _RISE, "map and model"),
        Metric("deletion", "Deletion AUC", 0, 1, False, True, _RISE, "map and model"),
        Metric("map_sd", "SD between maps", 0, 1, False, True, _BETWEEN, "several maps"),
        Metric("map_iou", "IoU between maps", 0, 1, True, True, _BETWEEN, "several maps"),
        Metric("map_ncc", "NCC between maps", -1, 1, True, False, _BETWEEN, "several maps"),
    )
}  # fmt: skip


def chosen_metrics(given: str | Sequence[str], known: Sequence[str], otherwise: str) -> tuple[str, ...]:
    """Return the metrics asked for, each once; `otherwise` is what one does that is registered, not known.

    Raises
    ------
    ValueRangeError
        A metric is not among those known here, or none is named.
    """
    names = tuple(dict.fromkeys(str(m).lower() for m in ([given] if isinstance(given, str) else given)))
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            kind = otherwise if name in METRICS else "is unknown"
            raise ValueRangeError(f"metric {name!r} {kind}; {hint}choose from {quoted(known)}")
    if not names:
        raise ValueRangeError(f"metrics is empty; choose from {quoted(known)}")
    return names


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
