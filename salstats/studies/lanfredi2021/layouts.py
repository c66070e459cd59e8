"""The names, the layouts and the interval of Tables 1 to 4, of published scores and of recordings alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

#: Names as the study prints them, in its order.
LABELS = {
    "method": {
        "interobserver": "Interobserver (baseline)",
        "convex": "Segmentation (baseline)",
        "gradcam_woag": "Grad-CAM (without attention gates)",
        "gradcam_wag": "Grad-CAM (with attention gates)",
        "am1": "AM1",
        "am2": "AM2",
    },
    "mixing": {"thresholded": "Thresholded", "weighted": "Weighted", "uniform": "Uniform"},
    "subset": {"normal": "Normal", "abnormal": "Abnormal"},
}
#: The study's interval.
FORMULA = "mean ± 1.96 SD over all rows / √(number of images)"
#: Of an interval: no agreement beyond chance.
CHANCE = {"ncc": 0.0, "sncc": 0.0, "auc": 0.5, "sauc": 0.5}
#: Metrics that are corrected by the centre bias, and those that are not.
SHUFFLED, PLAIN = ("sncc", "sauc"), ("ncc", "auc")
#: What maps are compared with: another reader, the hull of the lungs.
BASELINES = ("interobserver", "convex")


@dataclass(frozen=True)
class Layout:
    """How one of the study's tables is laid out."""

    title: str
    #: Columns that name its rows.
    keys: list[str]
    #: Of `table_estimates`.
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


def rows_of_table(number: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows whose method and metric Table 1, 3 or 4 shows."""
    shuffled = rows["metric"].isin(SHUFFLED)
    plain = rows["metric"].isin(PLAIN)
    baseline = rows["method"].isin(BASELINES)
    shown = {
        "1": shuffled & (rows["method"] != "convex"),
        "3": plain & baseline,
        "4": shuffled & baseline,
    }
    return rows[shown[number]]


def published_interval(scores: pd.DataFrame, by: list[str], value: str, unit: str) -> pd.DataFrame:
    """Mean +- 1.96 SD(all rows) / sqrt(number of units), the study's interval; without limits of one row.

    A unit whose value is missing would be counted, so none may be.
    """
    groups = scores.groupby(by, sort=False, dropna=False)
    means, n = groups[value].mean(), groups[unit].nunique()
    half = 1.96 * groups[value].std(ddof=1) / np.sqrt(n)
    columns = {
        "estimate": means,
        "conf_low": means - half,
        "conf_high": means + half,
        "unit": unit,
        "n_units": n,
    }
    return pd.DataFrame(columns).reset_index()


def beside_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the ratio of both intervals' widths, and whether each leaves chance out."""
    width = rows["published_conf_high"] - rows["published_conf_low"]
    chance = rows["metric"].map(CHANCE)
    return rows.assign(
        width_ratio=(rows["conf_high"] - rows["conf_low"]) / width.where(width > 0),
        published_excludes_chance=_excludes(rows["published_conf_low"], rows["published_conf_high"], chance),
        excludes_chance=_excludes(rows["conf_low"], rows["conf_high"], chance),
    )


def _excludes(low: pd.Series, high: pd.Series, value: pd.Series) -> pd.Series:
    """Whether an interval leaves a value out."""
    return (value < low) | (value > high)
