"""What saporta2022 says in print: labels, names of features and slices, and the notes of its results."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from salstats.display.text.labels import Labels
from salstats.stats.engine.result_warnings import FEW_UNITS
from salstats.studies.saporta2022.study_frames import AS_SCORED, FEATURES, Inference, StudyFrames

_NAMES = {
    "term": {"slope": "Slope", "spearman": "Spearman correlation"},
    "prob": "Model confidence",
    "threshold": "Threshold",
    "otsu": "Otsu's threshold",
    "tuned": "Tuned threshold",
}


def labels_with(**more: Any) -> Labels:
    """The labels of this study, with those of one item."""
    return Labels({**_NAMES, **more})


LABELS = labels_with()


def words(names: Iterable[object]) -> list[str]:
    """Names of metrics, methods, features and tasks in print; what is missing or a mean has none."""
    texts = [
        str(name) for name in names if isinstance(name, str) and name not in ("mean", "percent_decrease")
    ]
    print_as = {"iou": "IoU", "hit": "hit", "slope": "slope", "spearman": "Spearman", "prob": "confidence"}
    labels = Labels()
    return [print_as.get(t) or (feature(t) if t in FEATURES else labels.value("method", t)) for t in texts]


def feature(name: str) -> str:
    """A feature's name in print."""
    return Labels().column(name)


def shared_note(frames: StudyFrames) -> str:
    """What to know where cases were tuned on and scored; empty where none were."""
    cases = f"{frames.n_shared} cases stand in both studies"
    return f"; {cases}, so that what is tuned is too good here" if frames.n_shared else ""


def full_name(frames: StudyFrames) -> str:
    """Name the full slice of a study."""
    if frames.cut_off in ("", AS_SCORED):
        return "full"
    return f"full, {frames.cut_off} probability cut-offs"


def cutoff_note(frames: StudyFrames, inference: Inference) -> str:
    """Say how cut-offs were chosen, as the end of a note."""
    if frames.cut_off == "":
        return "; without cut-offs: low confidence empties no mask"
    if frames.cut_off == AS_SCORED:
        return "; masks are those that were scored: whether cut-offs emptied some, the scores do not say"
    if frames.cut_off == "given":
        return ""
    how = (
        "as the scripts do: the largest mean IoU to three digits of masks with a probability above it, 0 not "
        "tried for Lung Lesion"
        if inference.published
        else "by the largest mean IoU"
    )
    return f"; cut-offs chosen {how}; masks below them are empty{shared_note(frames)}"


def estimate_note(inference: Inference, *, hits: bool = False) -> str:
    """What the estimate and its interval are."""
    if inference.published:
        return (
            "as published: mean of the replicates, order statistics, cases for independent; decreases are of "
            "each one's own cases"
        )
    wilson = ", of a task's hit rate Wilson's with the effective number of patients" if hits else ""
    return f"mean of the scores; percentile interval{wilson}; patients as clusters"


def decrease_note(inference: Inference) -> str:
    """What a decrease is of, and how small its P can be."""
    if inference.published:
        return "as published: means of the replicates over each one's own cases, rounded as the script does"
    least = 2 / (inference.n_replicates + 1)
    return f"with {inference.n_replicates:,} replicates P is {least:.2g} at least"


def few_patients(found: pd.DataFrame) -> str:
    """Which tasks have too few patients for percentile intervals, as the end of a note."""
    few = found[
        (found["n_units"] < FEW_UNITS) & (found["unit"] != "case") & (found["interval"] == "percentile")
    ]
    tasks = ", ".join(sorted(set(few["task"]) - {"Average"}))
    return (
        f"; with fewer than {FEW_UNITS} patients percentile intervals are too short ({tasks})"
        if tasks
        else ""
    )


def error_note(inference: Inference, *, ranks: bool = False) -> str:
    """How standard errors are made."""
    if inference.published:
        return "as published: rows for independent" + (
            ", correlations with 1.96 / sqrt(n - 3) on Fisher's z" if ranks else ""
        )
    return "standard errors CR2 by patient, degrees of freedom after Satterthwaite" + (
        ", correlations with patients as clusters" if ranks else ""
    )
