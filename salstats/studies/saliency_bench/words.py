"""Words of Saliency-Bench in print: its metrics, and what has to be said of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from salstats.display.text.labels import Labels

#: Identifier of the tables.
TABLE_ID = "saliency-bench"
#: The study's metrics as they are called here, in its order; of the pointing game there are two rules.
METRICS = ("iou", "hit", "hit_any", "insertion")
#: Metrics in print; others have the registry's label.
HEADINGS = {
    "iou": "mIoU",
    "hit": "PG",
    "hit_any": "PG (any maximum)",
    "insertion": "iAUC",
    "deletion": "dAUC",
}
_MEANT = {
    "iou": "mIoU, mean intersection over union",
    "hit": "share of maps whose first maximum lies in the truth",
    "hit_any": "share of maps of which any maximum lies in the truth",
    "insertion": "iAUC, area under the insertion curve",
    "deletion": "dAUC, area under the deletion curve, where less is better",
}


def labels_of(frame: pd.DataFrame, given: Mapping[str, Any] | None = None) -> Labels:
    """Return the names of metrics, and of what else `given` says."""
    found = list(dict.fromkeys(frame["metric"])) if "metric" in frame.columns else []
    ordered = [m for m in METRICS if m in found] + [m for m in found if m not in METRICS]
    metrics = {m: HEADINGS.get(m, Labels().value("metric", m)) for m in ordered}
    if "hit_any" in metrics and "hit" not in metrics:
        metrics["hit_any"] = HEADINGS["hit"]
    return Labels({"metric": metrics, **(given or {})})


def meant(metrics: Iterable[str], names: Labels) -> str:
    """Return what the abbreviations of some metrics mean."""
    said = []
    for metric in dict.fromkeys(metrics):
        if metric in ("hit", "hit_any"):
            said.append(f"{names.value('metric', metric)}, pointing game: {_MEANT[metric]}")
        elif metric in _MEANT:
            said.append(_MEANT[metric])
    return f"{'; '.join(said)}." if said else ""


def in_order(frame: pd.DataFrame, columns: Sequence[str], names: Labels) -> pd.DataFrame:
    """Return rows in the order that the values of some columns stand in."""
    places = {}
    for column in columns:
        order = {value: i for i, value in enumerate(names.order(column, frame[column]))}
        places[column] = frame[column].map(order)
    keys = pd.DataFrame(places)
    return frame.iloc[keys.reset_index(drop=True).sort_values(list(columns), kind="stable").index]
