"""Names of features and slices, and what the notes say of estimates."""

import pandas as pd
import pytest

from salstats.stats.engine.result_warnings import MIN_RESAMPLED_UNITS
from salstats.studies.saporta2022.labels_and_notes import (
    LABELS,
    end_of_note_on_cases_also_tuned_on,
    end_of_note_on_choice_of_cutoffs,
    estimate_note,
    few_patients_note_ending,
    full_slice_text_with_cutoff_source,
    labels_with,
    printed_names_of_shown_keys,
    published_inference_or_smallest_p_note,
    standard_error_note,
)
from salstats.studies.saporta2022.study_frames import AS_SCORED, StudyFrames, StudyInference

CLUSTERED = StudyInference(published=False, n_replicates=1000)
PUBLISHED = StudyInference(published=True)


def frames_with(**fields):
    """Frames without rows, of some choices."""
    scores = pd.DataFrame({"case": [], "task": [], "method": [], "metric": [], "score": []})
    return StudyFrames(scores, scores, scores, scores, **fields)


def test_labels_of_an_item_stand_beside_those_of_the_study():
    labels = labels_with(method={"a": "Method A"})
    assert labels.value("method", "a") == "Method A"
    assert labels.value("term", "slope") == LABELS.value("term", "slope") == "Slope"


def test_names_in_print_leave_out_missing_values_and_means():
    values = ["iou", "gradcam", "area_ratio", "mean", "percent_decrease", None, float("nan"), "prob"]
    assert printed_names_of_shown_keys(values) == [
        "IoU",
        "Grad-CAM",
        LABELS.column("area_ratio"),
        "confidence",
    ]


def test_cases_that_were_tuned_on_and_scored_are_counted():
    assert end_of_note_on_cases_also_tuned_on(frames_with()) == ""
    assert end_of_note_on_cases_also_tuned_on(frames_with(n_shared_cases=3)).startswith("; 3 cases ")


@pytest.mark.parametrize(
    ("cutoff_source", "name"),
    [("", "full"), (AS_SCORED, "full"), ("given", "full, given probability cut-offs")],
)
def test_the_full_slice_is_named_with_its_cut_offs(cutoff_source, name):
    assert full_slice_text_with_cutoff_source(frames_with(cutoff_source=cutoff_source)) == name


def test_the_note_on_cut_offs_depends_on_where_they_come_from():
    notes = {}
    for source in ("", AS_SCORED):
        notes[source] = end_of_note_on_choice_of_cutoffs(frames_with(cutoff_source=source), CLUSTERED)
    assert "without cut-offs" in notes[""]
    assert "do not say" in notes[AS_SCORED]
    assert end_of_note_on_choice_of_cutoffs(frames_with(cutoff_source="given"), CLUSTERED) == ""
    tuned = frames_with(cutoff_source="tuned", n_shared_cases=2)
    assert "largest mean IoU;" in end_of_note_on_choice_of_cutoffs(tuned, CLUSTERED)
    assert "three digits" in end_of_note_on_choice_of_cutoffs(tuned, PUBLISHED)
    assert end_of_note_on_choice_of_cutoffs(tuned, CLUSTERED).endswith(
        end_of_note_on_cases_also_tuned_on(tuned)
    )


def test_wilsons_interval_is_named_for_hits_alone():
    assert "Wilson" in estimate_note(CLUSTERED, hits=True)
    assert "Wilson" not in estimate_note(CLUSTERED)
    assert "Wilson" not in estimate_note(PUBLISHED, hits=True)


def test_the_smallest_p_is_that_of_both_tails_of_the_replicates():
    # no replicate beyond 0: (0 + 1) / (9 + 1) in each of two tails
    assert "P is 0.2 at least" in published_inference_or_smallest_p_note(
        StudyInference(published=False, n_replicates=9)
    )
    assert "P is" not in published_inference_or_smallest_p_note(PUBLISHED)


def estimates_of(**columns):
    table = {"task": ["Edema", "Mass"], "n_units": [5, 5], "unit": "patient", "interval": "percentile"}
    return pd.DataFrame(table | columns)


def test_tasks_with_few_patients_are_named_once_in_order():
    assert few_patients_note_ending(estimates_of(n_units=[MIN_RESAMPLED_UNITS, MIN_RESAMPLED_UNITS])) == ""
    assert few_patients_note_ending(
        estimates_of(n_units=[MIN_RESAMPLED_UNITS, MIN_RESAMPLED_UNITS - 1])
    ).endswith("(Mass)")
    twice = pd.concat([estimates_of(task=["Mass", "Edema"]), estimates_of(task=["Average", "Edema"])])
    assert few_patients_note_ending(twice).endswith("(Edema, Mass)")


@pytest.mark.parametrize("columns", [{"unit": "case"}, {"interval": "wilson"}])
def test_few_cases_and_other_intervals_are_not_named(columns):
    assert few_patients_note_ending(estimates_of(**columns)) == ""


def test_standard_errors_are_those_of_the_inference():
    assert "CR2" in standard_error_note(CLUSTERED)
    assert "correlations" not in standard_error_note(CLUSTERED)
    assert "correlations with patients" in standard_error_note(CLUSTERED, correlations=True)
    assert "Fisher" in standard_error_note(PUBLISHED, correlations=True)
    assert "Fisher" not in standard_error_note(PUBLISHED)
