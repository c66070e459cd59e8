"""Words of lanfredi2021 in print: its methods and mixings, its rows, and what its intervals are."""

import pandas as pd

#: What a printed row is known by, and its numbers.
ROW = ["table", "subset", "method", "mixing", "metric"]
LIMITS = ["estimate", "conf_low", "conf_high"]
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
INTERVAL = f"95% CI: {FORMULA}, as the study computes it."
#: Of an interval: no agreement beyond chance.
CHANCE = {"ncc": 0.0, "sncc": 0.0, "auc": 0.5, "sauc": 0.5}


def row_name(row: pd.Series) -> str:
    """Return the name of a printed row for a sentence."""
    parts = [row[c] for c in ROW[1:] if isinstance(row[c], str) and row[c] != "all"]
    return ", ".join([f"table {row['table']}", *parts])
