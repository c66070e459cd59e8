"""The main job on the embedded study, from the frame that goes in to the tables that come out."""

import os
import shutil
import tempfile
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.checks import InputFileError
from salstats.display.console import console_table
from salstats.frames import write_frame

#: The tables of the demo, each a file.
TABLES = ("describe", "means", "decrease", "difference", "regression", "correlation", "auroc")


def run_demo(
    out: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> dict[str, pd.DataFrame]:
    """Run the main job on the embedded (simulated) study, print its tables and write them.

    Parameters
    ----------
    out : path, optional
        Folder to make, with one CSV per table. Nothing is written by default.
    overwrite : bool
        Replace the folder if it exists; a folder with other files in it is never replaced.

    Returns
    -------
    dict of str to DataFrame
        `describe`, `means`, `decrease`, `difference`, `regression`, `correlation`, `auroc`.

    Raises
    ------
    InputFileError
        The folder exists, or the one it should be made in does not.
    """
    target = None if out is None else _check_folder(Path(out), overwrite)
    scores = ss.datasets.load_simulated()
    tables = demo_tables(scores)
    print("A simulated study, labelled so: 2 saliency methods and a human benchmark.")
    print(f"\nScores in: {len(scores)} rows\n{console_table(scores.head(4))}")
    for name, (call, table) in tables.items():
        print(f"\n{name}: {call}\n{console_table(table)}")
    frames = {name: table for name, (_, table) in tables.items()}
    if target is not None:
        _write_folder(frames, target)
        print(f"\nWritten to {target}: {', '.join(f'{name}.csv' for name in frames)}")
    return frames


def demo_tables(scores: pd.DataFrame) -> dict[str, tuple[str, pd.DataFrame]]:
    """Return each table of the main job with the call that makes it."""
    by = ["metric", "method"]
    iou = scores[scores["metric"] == "iou"]
    saliency = iou[iou["method"] != "human"]
    # one view of each patient, as a correlation takes rows for independent
    first_views = saliency[saliency["case"] == saliency.groupby("patient")["case"].transform("min")]
    normalized = ss.normalize(saliency, ["area_ratio"])
    return {
        "describe": ("ss.describe(scores, by=['metric', 'method'])", ss.describe(scores, by=by)),
        "means": (
            "ss.summarize(scores, by=['metric', 'method', 'task'], average='task')",
            ss.summarize(scores, by=[*by, "task"], average="task"),
        ),
        "decrease": (
            "ss.percent_decrease(scores, reference='human', average='task', adjust='bonferroni')",
            ss.percent_decrease(scores, reference="human", average="task", adjust="bonferroni"),
        ),
        "difference": (
            "ss.difference(scores, reference='human', by='metric', interval='t', test='t')",
            ss.difference(scores, reference="human", by="metric", interval="t", test="t"),
        ),
        "regression": (
            "ss.regress(ss.normalize(saliency, ['area_ratio']), 'iou ~ area_ratio', by='method', "
            "errors='cluster', adjust='bonferroni')",
            ss.regress(normalized, "iou ~ area_ratio", by="method", errors="cluster", adjust="bonferroni"),
        ),
        "correlation": (
            "ss.correlate(first_views, 'iou', 'prob', by=['method', 'task'])",
            ss.correlate(first_views, "iou", "prob", by=["method", "task"]),
        ),
        "auroc": (
            "ss.auroc(scores, 'prob', 'label', by='task')",
            ss.auroc(scores, "prob", "label", by="task"),
        ),
    }


def _check_folder(folder: Path, overwrite: bool) -> Path:
    """Return a folder that may be made, or replaced with what this made before."""
    if not folder.parent.is_dir():
        raise InputFileError(f"cannot write {folder}: the folder {folder.parent} does not exist")
    if folder.exists() and not folder.is_dir():
        raise InputFileError(f"cannot write {folder}: a file of that name exists")
    if folder.is_dir() and any(folder.iterdir()):
        foreign = [f.name for f in folder.iterdir() if f.name not in {f"{name}.csv" for name in TABLES}]
        if foreign:
            raise InputFileError(
                f"cannot write {folder}: it holds other files ({foreign[0]}); choose another"
            )
        if not overwrite:
            raise InputFileError(f"cannot write {folder}: it exists; pass --overwrite to replace it")
    return folder


def _write_folder(frames: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write the frames to a folder that is complete or not there."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        for name, frame in frames.items():
            write_frame(frame, made / f"{name}.csv")
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
