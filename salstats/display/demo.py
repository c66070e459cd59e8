"""The main job on the embedded study, from the frame that goes in to the report that comes out."""

import os
from itertools import count
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.display.console import console_table
from salstats.display.report.folder import check_folder

#: Folder of the demo where none is named.
FOLDER = "salstats-demo"


def run_demo(
    out: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> dict[str, pd.DataFrame]:
    """Run the main job on the embedded (simulated) study, print some of it and write its report.

    Parameters
    ----------
    out : path, optional
        Folder to make; by default `salstats-demo` in the current folder, or the first of `salstats-demo-2`,
        `salstats-demo-3` ... that is free.
    overwrite : bool
        Replace the folder of an earlier demo; a folder with other files in it is never replaced.

    Returns
    -------
    dict of str to DataFrame
        The frames of `salstats.report`.

    Raises
    ------
    InputFileError
        The folder exists, or the one it should be made in does not.
    """
    target = check_folder(free_folder() if out is None else Path(out), overwrite=overwrite)
    scores = ss.datasets.load_simulated()
    print("A simulated study, labelled so: 2 saliency methods and a human benchmark.")
    print(f"\nScores in: {len(scores)} rows\n{console_table(scores.head(4))}")
    for call, table in shown(scores):
        print(f"\n{call}\n{console_table(table)}")
    print("\nAll of it, with tables and figures for a paper: ss.report(scores, ...) or salstats report")
    frames = ss.report(scores, target, title="salstats demo: a simulated study", overwrite=overwrite)
    print(f"Written to {target}: open {target / 'index.html'}")
    return frames


def free_folder() -> Path:
    """Return the demo's folder, or the first numbered one that is not there yet."""
    names = (Path(FOLDER if i == 1 else f"{FOLDER}-{i}") for i in count(1))
    return next(name for name in names if not name.exists())


def shown(scores: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return what the demo prints: the call and its frame."""
    iou = scores[scores["metric"] == "iou"]
    saliency = iou[iou["method"] != "human"]
    return [
        (
            "ss.summarize(scores, by=['metric', 'method'])",
            ss.summarize(scores, by=["metric", "method"]),
        ),
        (
            "ss.percent_decrease(scores, reference='human', average='task', adjust='holm')",
            ss.percent_decrease(scores, reference="human", average="task", adjust="holm"),
        ),
        (
            "ss.regress(ss.normalize(saliency, ['area_ratio']), 'iou ~ area_ratio', errors='cr2')",
            ss.regress(ss.normalize(saliency, ["area_ratio"]), "iou ~ area_ratio", errors="cr2"),
        ),
    ]
