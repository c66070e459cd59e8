"""Tables 1 to 4 in the study's own layout."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.tables.estimates import table_estimates
from salstats.display.text.labels import Labels
from salstats.studies.lanfredi2021.words import INTERVAL, LABELS, LIMITS


@dataclass(frozen=True)
class Layout:
    """How one of the study's tables is laid out.

    Attributes
    ----------
    title : str
    keys : list of str
        Columns that name its rows.
    options : dict
        Of `table_estimates`.
    """

    title: str
    keys: list[str]
    options: dict[str, Any]


LAYOUTS = {
    "1": Layout(
        "Saliency maps against radiologists' gaze",
        ["method", "mixing", "metric"],
        {"bold": ["method", "mixing"], "exclude": ["interobserver"]},
    ),
    "2": Layout(
        "Normal and abnormal images (Grad-CAM: uniform mixing)",
        ["metric", "subset", "method"],
        {"rows": ["metric", "subset"], "columns": "method", "bold": False},
    ),
    "3": Layout("Baselines, metrics that reward the centre", ["method", "metric"], {"bold": False}),
    "4": Layout("Baselines, shuffled metrics", ["method", "metric"], {"bold": False}),
}


def printed_tables(tables: pd.DataFrame) -> dict[str, GT]:
    """Return Tables 1 to 4 in the study's layout, from the unrounded values."""
    made = {}
    for number, layout in LAYOUTS.items():
        rows = tables[tables["table"] == number]
        frame = rows[[*layout.keys, *LIMITS, "unit", "n_units"]].assign(conf_level=0.95)
        title = f"Table {number}. {layout.title}"
        table = table_estimates(frame, labels=Labels(LABELS), style="brackets", title=title, **layout.options)
        made[f"table{number}"] = table.tab_source_note(INTERVAL)
    return made
