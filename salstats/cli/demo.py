"""The main job on the embedded study, from the frame that goes in to the report that comes out."""

import os
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd

import salstats as ss
from salstats.cli.waiting import waiting
from salstats.display.report.folder import check_folder
from salstats.display.text.console import print_frame
from salstats.display.text.labels import Labels
from salstats.study import HUMAN

#: Folder of the demo where none is named.
FOLDER = "salstats-demo"
#: The part of the digits study that the demo is on.
ONLY = {"dataset": "textured", "model": "residual"}
METRICS = ("iou", "hit")
#: What stands for the human benchmark, so called wherever it is shown.
ANNOTATOR = "Simulated annotator"
#: Columns of the scores that are printed.
SHOWN = ["case", "task", "method", "metric", "score", "prob", "area_ratio", "elongation"]
_METHODS = (
    "gradcam", "gradcam++", "layercam", "eigencam", "integrated_gradients", "deeplift", "occlusion", "rise",
)  # fmt: skip


def run_demo(
    out: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> dict[str, pd.DataFrame]:
    """Run the main job on the embedded digits study, print some of it and write its report.

    Digits, networks and maps are real; the annotator that the methods are compared with is simulated. Needs
    no torch: the maps were scored when the study was built. The folder, where none is named, is the first
    free one of `salstats-demo`, `salstats-demo-2` ...; one with other files in it is never replaced.
    """
    target = check_folder(free_folder(overwrite=overwrite) if out is None else Path(out), overwrite=overwrite)
    # the demo says by itself who is simulated, in words and labels
    with waiting("Reading"):
        every = ss.datasets.load_digits_scores().drop(columns="human_label")
    own = every[(every["dataset"] == ONLY["dataset"]) & (every["model"] == ONLY["model"])]
    scores = own[own["metric"].isin(METRICS)].reset_index(drop=True)
    print(
        "Handwritten digits on cluttered canvases: a real network, its maps by 8 methods, and a second\n"
        "annotator, who is simulated (method 'human')."
    )
    print(f"\nScores in: {len(scores)} rows")
    print_frame(scores.loc[scores["label"] == 1, SHOWN].head(4))
    with waiting("Computing"):
        printed = shown(scores, own)
    for call, table in printed:
        print(f"\n{call}")
        print_frame(table)
    print("\nAll of it, with tables and figures for a paper: ss.report(scores, ...) or salstats report")
    examples = ss.datasets.digits_examples()
    frames = ss.report(
        every[every["metric"].isin(METRICS)],
        target,
        only=ONLY,
        inputs=[ss.datasets.data_folder() / "digits" / "scores.parquet"],
        code=f'ss.datasets.load_digits_scores().query("metric in {list(METRICS)}")',
        progress=True,
        title="salstats demo: saliency maps of handwritten digits (the annotator is simulated)",
        labels=demo_labels(),
        study=examples,
        images=examples / "images",
        overwrite=overwrite,
    )
    print(f"Written to {target}: open {target / 'index.html'}")
    return frames


def demo_labels() -> dict[str, Any]:
    """The order of the methods, and the annotator under its own name."""
    names = Labels()
    order = {HUMAN: ANNOTATOR} | {m: names.value("method", m) for m in _METHODS}
    # by column for tables and figures, by itself for the legend of outlines
    return {"method": order, HUMAN: ANNOTATOR}


def free_folder(*, overwrite: bool = False) -> Path:
    """The demo's folder, or, if it is not to be replaced, the first numbered one that is not there."""
    if overwrite:
        return Path(FOLDER)
    names = (Path(FOLDER if i == 1 else f"{FOLDER}-{i}") for i in count(1))
    return next(name for name in names if not name.exists())


def shown(scores: pd.DataFrame, every: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """What the demo prints: the call and its frame."""
    saliency = scores[(scores["metric"] == "iou") & (scores["method"] != HUMAN)]
    decrease = ss.percent_decrease(scores, reference=HUMAN, average="task", adjust="holm")
    return [
        (
            "ss.summarize(scores, by=['metric', 'method'])",
            ss.summarize(scores, by=["metric", "method"]),
        ),
        (
            "ss.percent_decrease(scores, reference='human', average='task', adjust='holm')"
            ".query(\"task == 'Average'\")",
            decrease[decrease["task"] == "Average"].reset_index(drop=True),
        ),
        (
            "ss.regress(ss.normalize(saliency, ['area_ratio']), 'iou ~ area_ratio', by='method')",
            ss.regress(ss.normalize(saliency, ["area_ratio"]), "iou ~ area_ratio", by="method"),
        ),
        (
            "ss.summarize(insertion, by=['metric', 'method'])",
            ss.summarize(every[every["metric"] == "insertion"], by=["metric", "method"]),
        ),
    ]
