"""Names, layouts and interval of Tables 1 to 4, shared by published scores and by recordings."""

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
#: The formula of the study's interval.
INTERVAL_FORMULA = "mean ± 1.96 SD over all rows / √(number of images)"
#: The score of each metric where maps agree no more than by chance.
CHANCE_SCORE = {"ncc": 0.0, "sncc": 0.0, "auc": 0.5, "sauc": 0.5}
#: Metrics that are corrected by the centre bias.
SHUFFLED = ("sncc", "sauc")
#: Metrics without that correction, which reward maps of the image's centre.
CENTRE_REWARDING = ("ncc", "auc")
#: The methods that saliency maps are compared with: another reader, and the hull of the lungs.
BASELINES = ("interobserver", "convex")


@dataclass(frozen=True)
class Layout:
    """The layout of one of the study's tables."""

    title: str
    #: Columns that identify its rows.
    keys: list[str]
    #: Options of `table_estimates`.
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
    """Keep the rows of the methods and metrics that Table 1, 3 or 4 shows."""
    is_shuffled_metric = rows["metric"].isin(SHUFFLED)
    is_baseline = rows["method"].isin(BASELINES)
    match number:
        case "1":
            return rows[is_shuffled_metric & (rows["method"] != "convex")]
        case "3":
            return rows[rows["metric"].isin(CENTRE_REWARDING) & is_baseline]
        case "4":
            return rows[is_shuffled_metric & is_baseline]
    raise AssertionError(f"Table {number} is not made of one metric and method at a time")


def means_with_published_interval(
    scores: pd.DataFrame, by: list[str], value_column: str, unit_column: str
) -> pd.DataFrame:
    """Return means with the study's interval, mean ± 1.96 SD(all rows) / sqrt(number of units).

    `value_column` and `unit_column` name the columns of the values and of the units, such as cases. A group
    of one row has no limits. No value may be missing, since its unit would be counted.
    """
    groups = scores.groupby(by, sort=False, dropna=False)
    means = groups[value_column].mean()
    n_units = groups[unit_column].nunique()
    half_width: pd.Series = 1.96 * groups[value_column].std(ddof=1) / np.sqrt(n_units)
    columns = {
        "estimate": means,
        "conf_low": means - half_width,
        "conf_high": means + half_width,
        "unit": unit_column,
        "n_units": n_units,
    }
    return pd.DataFrame(columns).reset_index()


def add_width_ratio_and_excludes_chance_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """Add `width_ratio`, and whether the published and the new interval exclude the score of chance."""
    width = rows["conf_high"] - rows["conf_low"]
    published_width = rows["published_conf_high"] - rows["published_conf_low"]
    chance = rows["metric"].map(CHANCE_SCORE)
    return rows.assign(
        width_ratio=width / published_width.where(published_width > 0),
        published_excludes_chance=_excludes(rows["published_conf_low"], rows["published_conf_high"], chance),
        excludes_chance=_excludes(rows["conf_low"], rows["conf_high"], chance),
    )


def _excludes(low: pd.Series, high: pd.Series, value: pd.Series) -> pd.Series:
    """Tell for each row whether a value lies outside its interval."""
    return (value < low) | (value > high)
