"""Command that runs the main analyses of the embedded study, from its scores to a report."""

import os
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.cli.spinner import spinner
from salstats.display.report.folder import check_report_folder_is_writable
from salstats.display.text.console import print_frame
from salstats.display.text.labels import Labels
from salstats.study import HUMAN

#: Folder of the demo where none is named.
DEFAULT_FOLDER = "salstats-demo"
#: The part of the digits study that the demo uses.
DEMO_SUBSET = {"dataset": "textured", "model": "residual"}
METRICS = ("iou", "hit")
#: Label of the human benchmark, an annotator who is simulated.
ANNOTATOR = "Simulated annotator"
#: Columns of the scores that are printed.
PRINTED_COLUMNS = ["case", "task", "method", "metric", "score", "prob", "area_ratio", "elongation"]
_METHODS = (
    "gradcam", "gradcam++", "layercam", "eigencam", "integrated_gradients", "deeplift", "occlusion", "rise",
)  # fmt: skip


def run_demo(
    folder: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> dict[str, pd.DataFrame]:
    """Run the main analyses on the embedded digits study, print some results and write a report.

    Digits, networks and maps are real; the annotator that the methods are compared with is simulated. Needs
    no torch: the maps were scored when the study was built. The folder, where none is named, is the first
    free one of `salstats-demo`, `salstats-demo-2` ...; one with other files in it is never replaced.
    """
    target = first_free_demo_folder(overwrite=overwrite) if folder is None else Path(folder)
    target = check_report_folder_is_writable(target, overwrite=overwrite)
    with spinner("Reading"):
        # The column `human_label` names the annotator in texts; here the demo's own labels do.
        study = ss.datasets.load_digits_scores().drop(columns="human_label")
    is_of_demo = (study["dataset"] == DEMO_SUBSET["dataset"]) & (study["model"] == DEMO_SUBSET["model"])
    demo_scores = study[is_of_demo]
    scores = demo_scores[demo_scores["metric"].isin(METRICS)].reset_index(drop=True)
    print(
        "Handwritten digits on cluttered canvases: a real network, its maps by 8 methods, and a second\n"
        "annotator, who is simulated (method 'human')."
    )
    print(f"\nScores in: {len(scores)} rows")
    print_frame(scores.loc[scores["label"] == 1, PRINTED_COLUMNS].head(4))
    with spinner("Computing"):
        results = example_calls_with_results(scores, demo_scores)
    for call, frame in results:
        print(f"\n{call}")
        print_frame(frame)
    print("\nAll of it, with tables and figures for a paper: ss.report(scores, ...) or salstats report")
    examples = ss.datasets.digits_examples()
    frames = ss.report(
        study[study["metric"].isin(METRICS)],
        target,
        only=DEMO_SUBSET,
        inputs=[ss.datasets.data_folder() / "digits" / "scores.parquet"],
        code=f'ss.datasets.load_digits_scores().query("metric in {list(METRICS)}")',
        progress=True,
        title="salstats demo: saliency maps of handwritten digits (the annotator is simulated)",
        labels=display_labels_of_demo_methods(),
        study=examples,
        images=examples / "images",
        overwrite=overwrite,
    )
    print(f"Written to {target}: open {target / 'index.html'}")
    return frames


def display_labels_of_demo_methods() -> dict[str, str | dict[str, str]]:
    """Return labels that order the methods and name the simulated annotator."""
    names = Labels()
    order = {HUMAN: ANNOTATOR} | {m: names.value("method", m) for m in _METHODS}
    # Tables and figures take the label from the column `method`, the legend of outlines by the name alone.
    return {"method": order, HUMAN: ANNOTATOR}


def first_free_demo_folder(*, overwrite: bool = False) -> Path:
    """Return `salstats-demo` or, where it exists and is not replaced, the first free `salstats-demo-N`."""
    if overwrite:
        return Path(DEFAULT_FOLDER)
    folder = Path(DEFAULT_FOLDER)
    number = 1
    while folder.exists():
        number += 1
        folder = Path(f"{DEFAULT_FOLDER}-{number}")
    return folder


def example_calls_with_results(
    report_scores: pd.DataFrame, scores_of_all_metrics: pd.DataFrame
) -> list[tuple[str, pd.DataFrame]]:
    """Return the calls that the demo prints, each with its frame.

    `report_scores` has the metrics of the report.
    """
    saliency = report_scores[(report_scores["metric"] == "iou") & (report_scores["method"] != HUMAN)]
    insertion = scores_of_all_metrics[scores_of_all_metrics["metric"] == "insertion"]
    decrease = ss.percent_decrease(report_scores, reference=HUMAN, average="task", adjust="holm")
    return [
        (
            "ss.summarize(scores, by=['metric', 'method'])",
            ss.summarize(report_scores, by=["metric", "method"]),
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
            ss.summarize(insertion, by=["metric", "method"]),
        ),
    ]
