"""Read the files that the study's own scripts write: a row per image, a task per column."""

from pathlib import Path

import pandas as pd

from salstats.checks import quoted
from salstats.errors import InputFileError
from salstats.readers.chexlocalize import DEFAULT_METHOD
from salstats.readers.chexlocalize_maps import TASKS, canonical_task_name
from salstats.readers.scores import read_scores
from salstats.readers.tables import read_table
from salstats.study import HUMAN

#: The column of the images' names.
IMAGE_COLUMN = "img_id"
#: Method and metric of a file of scores, by its name without the ending.
SCORE_FILES = {
    "iou_results_per_cxr": (DEFAULT_METHOD, "iou"),
    "iou_humanbenchmark_results_per_cxr": (HUMAN, "iou"),
    "hitmiss_results_per_cxr": (DEFAULT_METHOD, "hit"),
    "hitmiss_humanbenchmark_results_per_cxr": (HUMAN, "hit"),
}
#: Feature in a file of sizes or shapes, by its name; irrectangularity is 1 - rec_area_ratio.
SHAPE_FILES = {
    "num_instances": "n_instances",
    "area_ratio": "area_ratio",
    "elongation": "elongation",
    "rec_area_ratio": "irrectangularity",
}
#: Column in a file of probabilities or labels, by its name; the scripts read these from maps and truth.
CASE_COLUMN_FILES = {"prob": "prob", "probabilities": "prob", "label": "label", "labels": "label"}


def read_released_scores_or_feature(path: Path) -> pd.DataFrame | None:
    """Read a file of the study's scripts; return None where the file has other columns.

    Its name says which numbers it has (`SCORE_FILES`, `SHAPE_FILES`, `CASE_COLUMN_FILES`). Scores become a
    scores frame, where the saliency method is called "saliency". Other numbers become a frame with the
    columns `case`, `task` and the feature.
    """
    columns = read_table(path).columns
    if IMAGE_COLUMN not in columns:
        return None
    name = path.stem
    if name in SCORE_FILES:
        method, metric = SCORE_FILES[name]
        return _read_wide(path, method, metric)
    feature = SHAPE_FILES.get(name) or CASE_COLUMN_FILES.get(name)
    if feature is not None:
        values = _read_wide(path, DEFAULT_METHOD, feature)[["case", "task", "score"]]
        values = values.rename(columns={"score": feature})
        if name == "rec_area_ratio":
            values[feature] = 1 - values[feature]
        return values
    if {canonical_task_name(column) for column in columns} & set(TASKS):
        names = [*SCORE_FILES, *SHAPE_FILES, *CASE_COLUMN_FILES]
        raise InputFileError(
            f"{path} has a task per column, and its name does not say what the numbers are",
            hint=f"call it one of {quoted(names)}, with {path.suffix}",
            choices=names,
            path=path,
        )
    return None


def has_name_of_shape_file(path: Path) -> bool:
    """Tell whether a file is by its name one of sizes or shapes, which only findings have."""
    return path.stem in SHAPE_FILES


def _read_wide(path: Path, method: str, metric: str) -> pd.DataFrame:
    """Read a file with a task per column into a scores frame: a row per case and task."""
    return read_scores(path, wide="task", method=method, metric=metric, rename={IMAGE_COLUMN: "case"})
