"""Labels of saporta2022, names of features and slices, and the notes of its results."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from salstats.display.text.labels import Labels
from salstats.stats.engine.grouping import AVERAGE
from salstats.stats.engine.result_warnings import MIN_RESAMPLED_UNITS
from salstats.studies.saporta2022.study_frames import AS_SCORED, FEATURES, StudyFrames, StudyInference

_NAMES = {
    "term": {"slope": "Slope", "spearman": "Spearman correlation"},
    "prob": "Model confidence",
    "threshold": "Threshold",
    "otsu": "Otsu's threshold",
    "tuned": "Tuned threshold",
}


def labels_with(**labels: Any) -> Labels:
    """Return the labels of this study with those of one item."""
    return Labels({**_NAMES, **labels})


LABELS = labels_with()
#: Short names of metrics and terms.
_SHORT_NAMES = {
    "iou": "IoU",
    "hit": "hit",
    "slope": "slope",
    "spearman": "Spearman",
    "prob": "confidence",
}


def printed_names_of_shown_keys(key_values: Iterable[object]) -> list[str]:
    """Write values of key columns, such as metrics and tasks, as in print.

    Missing values and the terms of means and decreases are left out.
    """
    labels = Labels()
    names = []
    for value in key_values:
        if not isinstance(value, str) or value in ("mean", "percent_decrease"):
            continue
        if value in _SHORT_NAMES:
            names.append(_SHORT_NAMES[value])
        elif value in FEATURES:
            names.append(feature_name(value))
        else:
            names.append(labels.value("method", value))
    return names


def feature_name(feature: str) -> str:
    """Return a feature's name in print."""
    return Labels().column(feature)


def end_of_note_on_cases_also_tuned_on(frames: StudyFrames) -> str:
    """Return the end of a note on scored cases that were also tuned on; empty where none were."""
    if not frames.n_shared_cases:
        return ""
    return f"; {frames.n_shared_cases} cases stand in both studies, so that what is tuned is too good here"


def full_slice_text_with_cutoff_source(frames: StudyFrames) -> str:
    """Name the full slice, with the source of the cut-offs where masks were emptied."""
    if frames.cutoff_source in ("", AS_SCORED):
        return "full"
    return f"full, {frames.cutoff_source} probability cut-offs"


def end_of_note_on_choice_of_cutoffs(frames: StudyFrames, inference: StudyInference) -> str:
    """Return the end of a note on how cut-offs were chosen; empty where the user gave them."""
    if frames.cutoff_source == "":
        return "; without cut-offs: low confidence empties no mask"
    if frames.cutoff_source == AS_SCORED:
        return "; masks are those that were scored: whether cut-offs emptied some, the scores do not say"
    if frames.cutoff_source == "given":
        return ""
    rule = "by the largest mean IoU"
    if inference.published:
        rule = (
            "as the scripts do: the largest mean IoU to three digits of masks with a probability above it, 0 "
            "not tried for Lung Lesion"
        )
    return f"; cut-offs chosen {rule}; masks below them are empty{end_of_note_on_cases_also_tuned_on(frames)}"


def estimate_note(inference: StudyInference, *, hits: bool = False) -> str:
    """Explain the estimate and its interval."""
    if inference.published:
        return (
            "as published: mean of the replicates, order statistics, cases for independent; decreases are of "
            "each one's own cases"
        )
    wilson = ""
    if hits:
        wilson = ", of a task's hit rate Wilson's with the effective number of patients"
    return f"mean of the scores; percentile interval{wilson}; patients as clusters"


def published_inference_or_smallest_p_note(inference: StudyInference) -> str:
    """Explain how a decrease is inferred as published, else say how small its P can be."""
    if inference.published:
        return "as published: means of the replicates over each one's own cases, rounded as the script does"
    smallest_p = 2 / (inference.n_replicates + 1)
    return f"with {inference.n_replicates:,} replicates P is {smallest_p:.2g} at least"


def few_patients_note_ending(estimates: pd.DataFrame) -> str:
    """Return the end of a note, which names the tasks with too few patients for percentile intervals."""
    has_few = (estimates["n_units"] < MIN_RESAMPLED_UNITS) & (estimates["unit"] != "case")
    has_few &= estimates["interval"] == "percentile"
    tasks = sorted(set(estimates.loc[has_few, "task"]) - {AVERAGE})
    if not tasks:
        return ""
    names = ", ".join(tasks)
    return f"; with fewer than {MIN_RESAMPLED_UNITS} patients percentile intervals are too short ({names})"


def standard_error_note(inference: StudyInference, *, correlations: bool = False) -> str:
    """Explain the standard errors and, with `correlations`, the limits of correlations."""
    if inference.published:
        note = "as published: rows for independent"
        if correlations:
            note += ", correlations with 1.96 / sqrt(n - 3) on Fisher's z"
        return note
    note = "standard errors CR2 by patient, degrees of freedom after Satterthwaite"
    if correlations:
        note += ", correlations with patients as clusters"
    return note
