"""Read the files that the study's own scripts write: a row per image, a task per column."""

from pathlib import Path

import pandas as pd

from salstats.checks import quoted
from salstats.errors import InputFileError
from salstats.readers.chexlocalize import METHOD
from salstats.readers.chexlocalize_maps import TASKS, task_name
from salstats.readers.scores import read_scores
from salstats.readers.tables import read_table
from salstats.study import HUMAN

#: The column of the images' names.
IMAGE = "img_id"
#: Name of a file of scores, without its ending -> method and metric.
SCORES = {
    "iou_results_per_cxr": (METHOD, "iou"),
    "iou_humanbenchmark_results_per_cxr": (HUMAN, "iou"),
    "hitmiss_results_per_cxr": (METHOD, "hit"),
    "hitmiss_humanbenchmark_results_per_cxr": (HUMAN, "hit"),
}
#: Name of a file of sizes and shapes -> feature; irrectangularity is 1 - rec_area_ratio.
SHAPES = {
    "num_instances": "n_instances",
    "area_ratio": "area_ratio",
    "elongation": "elongation",
    "rec_area_ratio": "irrectangularity",
}
#: Name of a file of probabilities or labels -> column. The scripts read these from maps and truth.
OF_CASES = {"prob": "prob", "probabilities": "prob", "label": "label", "labels": "label"}


def read_release(path: Path) -> pd.DataFrame | None:
    """Read a file of the study's scripts; return None where the file is in other columns.

    The name says what it holds (`SCORES`, `SHAPES`, `OF_CASES`). Scores become a scores frame, in which the
    saliency method is called "saliency"; anything else a frame `case, task` and the feature.
    """
    columns = read_table(path).columns
    if IMAGE not in columns:
        return None
    name = path.stem
    if name in SCORES:
        method, metric = SCORES[name]
        return _long(path, method, metric)
    feature = SHAPES.get(name) or OF_CASES.get(name)
    if feature is not None:
        values = _long(path, METHOD, feature)[["case", "task", "score"]].rename(columns={"score": feature})
        if name == "rec_area_ratio":
            values[feature] = 1 - values[feature]
        return values
    if {task_name(column) for column in columns} & set(TASKS):
        known = quoted([*SCORES, *SHAPES, *OF_CASES])
        raise InputFileError(
            f"{path} has a task per column, and its name does not say what the numbers are; call it one of "
            f"{known}, with {path.suffix}"
        )
    return None


def is_of_shapes(path: Path) -> bool:
    """Whether a file has the name of one of sizes or shapes, which only findings have."""
    return path.stem in SHAPES


def _long(path: Path, method: str, metric: str) -> pd.DataFrame:
    """Read a file with a task per column as a row per case and task."""
    return read_scores(path, wide="task", method=method, metric=metric, rename={IMAGE: "case"})
