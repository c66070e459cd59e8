"""Sentences below a table, made from its frame."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.estimates import read_estimates
from salstats.display.tables import notes
from salstats.display.tables.marks import BestEstimates, DifferingEstimates
from salstats.display.text.labels import Labels
from salstats.stats.mrmc.designs import PAIRED_DESIGNS


def test_abbreviations_are_whole_words_only():
    assert notes.abbreviation_note(["SDX, IoUs"]) == ""
    assert notes.abbreviation_note(["Insertion AUC"]) == "Insertion AUC, area under the insertion curve."
    assert (
        notes.abbreviation_note(["IoU (95% CI)"]) == "CI, confidence interval; IoU, intersection over union."
    )


def test_a_constant_column_without_values_is_not_said():
    frame = pd.DataFrame({"reader": [None, None], "dataset": ["d", "d"]})
    assert (
        notes.constant_note(read_estimates(frame, required_columns=()), ["reader", "dataset"], Labels())
        == "Dataset: d."
    )
    assert notes.constant_note(read_estimates(frame, required_columns=()), ["reader"], Labels()) == ""


def estimates(frame):
    return read_estimates(pd.DataFrame(frame), required_columns=())


@pytest.mark.parametrize(
    ("residual_df", "text"),
    [
        (15.26, "F(1, 15.3) = 4.46"),
        (99.9, "F(1, 99.9) = 4.46"),
        (100.0, "F(1, 100) = 4.46"),
        (np.nan, "χ²(1) = 4.46"),
    ],
)
def test_a_test_that_all_methods_are_equal_has_its_distribution(residual_df, text):
    frame = estimates({
        "metric": "iou", "method": ["a", "a"], "term": ["mean", "equal"], "estimate": [0.1, np.nan],
        "statistic": [np.nan, 4.4561], "df": [np.nan, 1.0], "p_value": [np.nan, 0.052],
        "df_residual": [np.nan, residual_df],
    })  # fmt: skip
    note = notes.equal_methods_test_note(frame, Labels(), "nature")
    assert note.startswith(f"All equal: {text}, P = ")
    assert "(" not in note.removeprefix(f"All equal: {text}")


def test_tests_of_several_metrics_name_them_and_other_frames_have_none():
    rows = {
        "method": ["a", "a"],
        "metric": ["iou", "hit"],
        "term": "equal",
        "statistic": [4.0, 2.0],
        "df": 1.0,
    }
    note = notes.equal_methods_test_note(
        estimates({**rows, "p_value": [0.05, 0.2], "df_residual": 20.0, "estimate": np.nan}),
        Labels(),
        "nature",
    )
    assert note.count("F(1, 20.0)") == 2
    assert "(IoU)" in note
    assert (
        notes.equal_methods_test_note(estimates({"method": ["a"], "term": "mean"}), Labels(), "nature") == ""
    )


def averages(reference_mean, method_mean, estimate, **columns):
    """A decrease of one task and that of the average."""
    return estimates({
        "task": ["Edema", "Average"], "term": "percent_decrease", "reference_mean": [0.5, reference_mean],
        "method_mean": [0.4, method_mean], "estimate": [20.0, estimate], **columns,
    })  # fmt: skip


def test_average_rows_say_what_is_averaged():
    means = estimates({"task": ["Edema", "Overall", "Average"], "term": "mean", "estimate": [0.1, 0.2, 0.3]})
    assert notes.summary_rows_note(means) == "Overall: all tasks pooled. Average: unweighted mean over tasks."
    assert notes.summary_rows_note(estimates({"task": ["Edema"], "term": "mean", "estimate": 0.1})) == ""
    # 100 (0.8 - 0.6) / 0.8 = 25
    of_means = notes.summary_rows_note(averages(0.8, 0.6, 25.0))
    assert of_means == "Average: decrease of the unweighted means over tasks."
    of_decreases = notes.summary_rows_note(averages(0.8, 0.6, 30.0))
    assert of_decreases == "Average: unweighted mean of the decreases over tasks."
    # 0.8 and 0.6 may be 0.7996 and 0.6004, of which the decrease is 24.9
    assert notes.summary_rows_note(averages(0.8, 0.6, 24.9)) == "Average: unweighted average over tasks."
    weighted = notes.summary_rows_note(averages(0.8, 0.6, 25.0, weights="task: Edema 0.5"))
    assert "weighted means" in weighted
    assert "Edema 0.5" in weighted


def best(rows=(0,), **fields):
    return BestEstimates(
        **{"rows": set(rows), "strata": [], "larger": [], "smaller": [], "unknown": []} | fields
    )


def test_bold_estimates_are_explained():
    def note(found, exclude=()):
        return notes.best_note(found, ["method"], exclude, Labels())

    assert note(best()) == "Bold: best estimate."
    assert note(best(strata=["task", "metric"])) == "Bold: best estimate per task and metric."
    assert note(best(smaller=["hd95"], strata=["task"])) == "Bold: best estimate (the smallest) per task."
    both = note(best(larger=["iou"], smaller=["hd95"]))
    assert both == "Bold: best estimate (the smallest for 95th-percentile Hausdorff distance)."
    assert note(best(), ["human"]).endswith("not competing.")
    by_task = notes.best_note(best(), ["task"], ["human", "Edema"], Labels(), ["human", "gradcam"])
    assert by_task == "Bold: best estimate, Human benchmark and Edema not competing."
    of_set = notes.best_note(best(strata=["task"]), ["method"], [], Labels({"task": "CheXpert set"}))
    assert of_set == "Bold: best estimate per CheXpert set."
    of_scale = notes.best_note(best(strata=["task"]), ["method"], [], Labels({"task": "Finding by Smith"}))
    assert of_scale == "Bold: best estimate per finding by Smith."
    of_name = notes.best_note(best(strata=["task"]), ["method"], [], Labels({"task": "MRscan"}))
    assert of_name == "Bold: best estimate per MRscan."
    unknown = note(best(rows=(), unknown=["mine"]))
    assert "mine" in unknown
    assert "Bold" not in unknown
    assert note(best(unknown=["mine"])).startswith("Bold: best estimate. ")
    assert note(best(rows=())) == ""


def differences(**columns):
    """Differences of two methods from the human with limits at 95 %."""
    frame = {
        "method": ["a", "b"], "reference": "human", "term": "difference", "estimate": [0.1, 0.2],
        "conf_low": 0.0, "conf_high": 0.3, "conf_level": 0.95, "interval": "t",
    }  # fmt: skip
    return estimates(frame | columns)


def differing(rows=(), other_rows=(), n_untested=0):
    return DifferingEstimates(set(rows), set(other_rows), marks=[], n_untested=n_untested)


def test_underlined_estimates_are_the_rarer_ones():
    def note(*arguments):
        return notes.underlining_meaning_note(differences(), differing(*arguments), Labels())

    assert note((0,), (1, 2)).startswith("Underlined: differs from ")
    assert note((0,), (1,)).startswith("Underlined: differs from ")
    assert note((0, 1), (2,)).startswith("Underlined: not shown to differ from ")
    assert note((0, 1), ()).startswith("All differ from ")
    assert note((), (0, 1)).startswith("No difference from ")
    assert note((0,), (1,), 3).endswith("; 3 estimates were not compared.")
    assert note((), (1,), 3).endswith("; 3 estimates were not compared.")
    assert note((0,), (1,), 1).endswith("; 1 estimate was not compared.")
    assert "not compared" not in note((0,), (1,))
    assert "on the same cases" in note((0,), (1,))
    unpaired = notes.underlining_meaning_note(
        differences(design="cases nested in methods"), differing((0,), (1,)), Labels()
    )
    assert "on the same cases" not in unpaired


def test_the_criterion_of_significance_is_the_interval_and_the_adjusted_p_value():
    assert notes.significance_criterion(differences()) == "95% CI of the paired difference excludes 0"
    for design in PAIRED_DESIGNS:
        assert notes.has_paired_design(differences(design=design))
    assert notes.has_paired_design(differences(design=list(PAIRED_DESIGNS)))
    unpaired = differences(design="cases nested in methods")
    assert notes.significance_criterion(unpaired) == "95% CI of the difference excludes 0"
    decrease = differences(term="percent_decrease")
    assert notes.significance_criterion(decrease) == "95% CI of the decrease excludes 0"
    adjusted = differences(p_value=0.01, p_adjusted=0.02, procedure="holm")
    criterion = notes.significance_criterion(adjusted, "Holm, 2 tests")
    assert "95% CI of the paired difference excludes 0 and adjusted P (Holm, 2 tests)" in criterion
    assert criterion.endswith("at the 5% level")
    bare = estimates({"method": ["a"], "reference": "human", "term": "difference", "estimate": 0.1})
    assert notes.significance_criterion(bare) == "as its verdict says"


def test_dashes_are_explained_where_there_are_more_than_references():
    cells = [["–", "0.1"], ["0.2", "–"]]
    cells = [[text.replace("–", notes.MISSING) for text in row] for row in cells]
    assert notes.dash_note(cells) == f"{notes.MISSING}, not available."
    assert notes.dash_note(cells, 2) == f"{notes.MISSING}, reference level."
    assert notes.dash_note(cells, 1, "the reference") == f"{notes.MISSING}, the reference or not available."
    assert notes.dash_note([["0.1"]]) == ""


def test_how_scores_were_computed_is_said_of_their_metrics():
    frame = estimates({
        "metric": ["hausdorff", "hd95", "sncc", "nss", "auc", "iou"],
        "estimate": 0.1,
        "distance_options": ["largest of both", "largest of both", None, None, None, None],
        "center_bias": [None, None, "others", None, None, None],
        "floor": [np.nan, np.nan, np.nan, 0.0, 0.25, np.nan],
        "undefined": [None, None, None, None, None, "several"],
    })  # fmt: skip
    note = notes.scoring_note(frame, Labels())
    assert "sNCC: corrected by the centre bias of the other images." in note
    assert "NSS: undefined where a map is 0 at a fixation." in note
    assert ": 0.25 of a map's maximum added to every pixel." in note
    assert "IoU: scored in several ways (undefined)." in note
    assert note.count("largest of both") == 1
    assert notes.scoring_note(estimates({"metric": ["iou"], "estimate": 0.1}), Labels()) == ""


@pytest.mark.parametrize(
    ("threshold", "words"),
    [("otsu", "Otsu's threshold"), (0.4, "the 0.4 threshold"), ("several", "several thresholds")],
)
def test_the_threshold_that_makes_masks_of_maps_is_said(threshold, words):
    frame = estimates({"metric": ["iou", "hit"], "estimate": 0.1, "threshold": [threshold, None]})
    assert notes.scoring_note(frame, Labels()) == f"IoU: masks are made of maps with {words}."


def test_metrics_of_a_frame_and_of_its_formulas_have_their_notes():
    in_column = notes.metric_notes(pd.DataFrame({"metric": ["pdc"], "estimate": [0.1]}))
    in_formula = notes.metric_notes(pd.DataFrame({"formula": ["pdc ~ size"], "estimate": [0.1]}))
    assert in_column == in_formula != ""
    assert notes.metric_notes(pd.DataFrame({"metric": ["own"], "estimate": [0.1]})) == ""


def test_notes_on_estimates_are_of_their_subject_and_of_their_statistics():
    frame = estimates({
        "metric": "pdc", "task": ["Edema", "Overall"], "term": "mean", "estimate": 0.1, "conf_low": 0.0,
        "conf_high": 0.2, "conf_level": 0.9, "interval": "t", "n": 9, "n_missing": 2, "n_undefined": 3,
        "weights": "area", "floor": 0.25,
    })  # fmt: skip
    nouns = notes.CountedNounAndMissingAdjective("pair", "incomplete")
    subject, statistics = notes.estimates_notes(frame, Labels(), ["metric"], nouns, "Further.")
    metric_note = notes.metric_notes(frame.frame)
    scoring_note = notes.scoring_note(frame, Labels())
    assert metric_note
    assert scoring_note
    label = Labels().value("metric", "pdc")
    assert subject == f"Metric: {label}. Further. Overall: all tasks pooled. {scoring_note} {metric_note}"
    assert statistics.startswith("90% CI: Student's t. 9 pairs ")
    assert "; 2 incomplete. Up to 3 replicates " in statistics
    assert statistics.endswith(" Scores are weighted by area.")
