"""Embed how far readers of the REFLACX gaze data agree: the means of each image, of its published workbooks.

Example: python analyses/embed_reflacx.py --data workbooks -o data/reflacx
The workbooks: examples_and_paper_numbers/tables_calculations/ of github.com/ricbl/eyetracking
"""

import argparse
from pathlib import Path

import pandas as pd

COLUMNS = ["case", "phase", "task", "method", "metric", "score"]


def overlap_of_readers(folder: Path, phase: int) -> pd.DataFrame:
    """Return the mean IoU over pairs of readers, of chest boxes and of ellipses around findings."""
    name = f"interrater_phase_{phase}"
    rows = pd.read_excel(folder / f"{name}.xlsx", sheet_name=name)
    rows = rows[rows["title"].isin(["Chest Box IoU", "Ellipse IoU"])]
    rows = rows.assign(task=rows["label"].fillna("Chest box"), phase=phase)
    means = rows.groupby(["task", "phase", "trial"], as_index=False)["value"].mean()
    return means.assign(method="human", metric="iou", run="p")


def gaze_on_findings(folder: Path, name: str, method: str) -> pd.DataFrame:
    """Return the mean NCC over readings of where one looked and the ellipses that one drew."""
    rows = pd.read_excel(folder / f"{name}.xlsx", sheet_name=name)
    means = rows.groupby(["phase", "trial"], as_index=False)["value"].mean()
    # the other workbooks may number the images in another order
    return means.assign(task="Any finding", method=method, metric="ncc", run="e")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the workbooks")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    options = parser.parse_args()
    parts = [
        overlap_of_readers(options.data, 1),
        overlap_of_readers(options.data, 2),
        gaze_on_findings(options.data, "ncc_et", "gaze"),
        gaze_on_findings(options.data, "ncc_baseline", "mean_gaze"),
    ]
    rows = pd.concat(parts, ignore_index=True).astype({"phase": "int64", "trial": "int64"})
    trial = rows["trial"].astype("str").str.zfill(3)
    rows["case"] = rows["run"] + rows["phase"].astype("str") + "_t" + trial
    rows["score"] = rows["value"]
    rows[COLUMNS].to_parquet(options.output / "agreement.parquet", index=False, compression="zstd")


if __name__ == "__main__":
    main()
