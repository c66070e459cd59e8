"""Sentences on methods against a reference: worded by direction, true in every corner."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_frames import SETTINGS, contrast_row, five_tasks, frame, said

from salstats.display.report.comparisons import headline_sentences
from salstats.display.text.labels import Labels


def test_lower_scores_are_worse_where_larger_is_better():
    assert (
        "On IoU, Grad-CAM scored worse than the human benchmark in all 5 tasks (Holm-adjusted P < 0.05); "
        "averaged over tasks, Grad-CAM scored worse, with a percentage decrease of 37.4% [95% CI 34.4, 40.2, "
        "Holm-adjusted P = 0.024]."
    ) in said("decrease", five_tasks())


def test_rule_of_the_verdicts_names_level_procedure_and_family():
    assert said("decrease", five_tasks()).startswith(
        "A difference is taken as shown where the 95% confidence interval excludes 0 and Holm-adjusted P is "
        "below 0.05 (one family of 6 tests)."
    )


def test_higher_distances_are_worse_and_their_negative_decrease_is_explained():
    table = five_tasks().assign(
        metric="hausdorff", verdict="higher", estimate=-12.0, conf_low=-20, conf_high=-4
    )
    text = said("decrease", table)
    assert "On Hausdorff distance, Grad-CAM scored worse than the human benchmark in all 5 tasks" in text
    assert "a percentage decrease of −12.0% [95% CI −20.0, −4.0" in text
    assert "A negative percentage decrease is a mean above that of the human benchmark." in text
    assert (
        "Smaller is better on Hausdorff distance, where a negative percentage decrease is a worse score."
        in text
    )


def test_a_metric_that_is_not_registered_is_neither_better_nor_worse():
    text = said("decrease", five_tasks().assign(metric="overlap_x"))
    assert "On overlap_x, Grad-CAM scored lower than the human benchmark in all 5 tasks" in text
    assert "Whether larger is better is not known of overlap_x" in text
    assert not re.search(r"\b(better|worse)\b", text.replace("larger is better", ""))


def test_mixed_verdicts_name_the_tasks_of_the_fewer_and_those_where_nothing_was_shown():
    change = {
        "B": {"verdict": "higher", "estimate": -9.0, "conf_low": -15.0, "conf_high": -3.0},
        "C": {"verdict": "inconclusive", "p_adjusted": 0.4},
        "D": {"verdict": "inconclusive", "p_adjusted": 0.6},
    }
    text = said("decrease", five_tasks(**change))
    assert (
        "Grad-CAM scored worse than the human benchmark in 2 of 5 tasks and better in B (Holm-adjusted "
        "P < 0.05); no difference was shown in C and D; averaged over tasks"
    ) in text
    assert "this is not evidence that there is none" in text


def test_many_open_tasks_are_counted_not_listed():
    names = [f"task {i}" for i in range(60)]
    rows = [
        contrast_row("gradcam", 5.0, 1.0, 9.0, "lower" if i < 3 else "inconclusive", task=t)
        for i, t in enumerate(names)
    ]
    text = said("decrease", frame(*rows))
    assert "in 3 of 60 tasks (Holm-adjusted P < 0.05); no difference was shown in 57 tasks" in text


def test_where_nothing_is_shown_the_sentence_says_only_that():
    table = five_tasks().assign(verdict="inconclusive", p_adjusted=0.5)
    text = said("decrease", table)
    assert (
        "no difference between Grad-CAM and the human benchmark was shown in any of the 5 tasks; averaged "
        "over tasks, no difference was shown, with a percentage decrease of 37.4%"
    ) in text
    assert not re.search(r"\b(better|worse)\b", text)


def test_an_interval_without_0_is_not_enough_after_correction():
    row = contrast_row("gradcam", 51.0, 19.7, 64.4, "inconclusive", p=0.131)
    assert (
        "no difference between Grad-CAM and the human benchmark was shown, with a percentage decrease of "
        "51.0% [95% CI 19.7, 64.4, Holm-adjusted P = 0.131]"
    ) in said("decrease", frame(row))


def test_one_task_or_none_is_one_sentence_with_the_estimate():
    expected = "On IoU, Grad-CAM scored worse than the human benchmark, with a percentage decrease of 20.0%"
    assert expected in said("decrease", frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower")))
    assert expected in said(
        "decrease", frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", task="Edema"))
    )


def test_a_method_compared_in_one_of_several_tasks_says_in_which():
    rows = [contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", task=t) for t in "AB"]
    rows.append(contrast_row("lime", 20.0, 10.0, 30.0, "lower", task="B"))
    assert "LIME scored worse than the human benchmark in B, with" in said("decrease", frame(*rows))


def test_without_an_average_the_range_over_tasks_is_given():
    rows = [contrast_row("gradcam", e, e - 5, e + 5, "lower", task=t) for t, e in (("A", 20.0), ("B", 48.0))]
    text = said("decrease", frame(*rows))
    assert "in both tasks (Holm-adjusted P < 0.05); the percentage decreases lay between 20.0%" in text
    assert re.search(r"in A and 48\.0% \[.*?\] in B\.", text)


def test_tasks_without_pairs_are_told_apart_from_a_reference_of_0():
    nothing = {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan, "verdict": "inconclusive"}
    text = said(
        "decrease",
        five_tasks(A=nothing | {"n_pairs": 0}, B=nothing | {"reference_mean": 0.0, "p_adjusted": np.nan}),
    )
    assert "in 3 of 5 tasks (Holm-adjusted P < 0.05); no comparison was possible in A" in text
    assert "the percentage decrease was undefined in B; averaged over the tasks with pairs" in text


def test_single_comparisons_that_cannot_be_made_say_why():
    nothing = {"p_adjusted": np.nan, "reference_mean": np.nan}
    none = contrast_row("gradcam", np.nan, np.nan, np.nan, "inconclusive", **nothing | {"n_pairs": 0})
    zero = contrast_row(
        "gradcam", np.nan, np.nan, np.nan, "inconclusive", **nothing | {"reference_mean": 0.0}
    )
    text = "Grad-CAM could not be compared with the human benchmark"
    assert f"{text} (no case had both scores)" in said("decrease", frame(none))
    assert f"{text} (the mean of the human benchmark was 0)" in said("decrease", frame(zero))


def test_p_values_that_nobody_adjusted_are_called_so():
    table = five_tasks().drop(columns=["p_adjusted", "n_tests", "procedure"])
    text = said("decrease", table, replace(SETTINGS, adjust="none"))
    assert "nothing is adjusted for multiple tests" in text
    assert "in all 5 tasks (95% interval excluding 0, not adjusted)" in text
    assert "unadjusted P = 0.024" in text
    assert "Holm" not in text


def test_the_frames_own_procedure_is_named_not_the_settings():
    assert "Benjamini-Hochberg-adjusted P" in said("decrease", five_tasks().assign(procedure="BH"))


@pytest.mark.parametrize(
    ("style", "inside"),
    [
        ("radiology", "37.4% (95% CI: 34.4, 40.2; Holm-adjusted P = .02)"),
        ("ama", "34.4 to 40.2; Holm-adjusted P = .02"),
    ],
)
def test_numbers_follow_the_journal_style(style, inside):
    text = said("decrease", five_tasks(), replace(SETTINGS, style=style))
    assert inside in text
    assert "(Holm-adjusted P < .05)" in text


def test_level_of_the_frame_sets_the_level_of_the_test():
    text = said("decrease", five_tasks().assign(conf_level=0.9), replace(SETTINGS, level=0.9))
    assert "90% confidence interval" in text
    assert "below 0.1 " in text


def test_few_units_are_said_with_their_number():
    text = said("decrease", five_tasks(A={"n_units": 12}, B={"n_units": 18}))
    assert (
        "The intervals of 2 estimates rest on only 12 to 18 patients; such intervals are likely too narrow "
        "and P values likely too small, also of averages that include them."
    ) in text


def test_undefined_replicates_are_said_above_one_percent_only():
    assert "undefined in more than 1%" not in said("decrease", five_tasks(A={"n_undefined": 10}))
    assert (
        "1 estimate was undefined in more than 1% of the replicates (up to 11 of 1,000), which its interval "
        "leaves out; no verdict is given on it."
    ) in said("decrease", five_tasks(A={"n_undefined": 11, "verdict": "inconclusive"}))


def test_an_interval_of_width_0_is_no_certainty():
    table = frame(contrast_row("gradcam", 0.0, 0.0, 0.0, "inconclusive", p=1.0))
    assert "The interval of 1 estimate has width 0" in said("decrease", table)


def test_an_estimate_without_limits_says_so():
    table = frame(contrast_row("gradcam", 20.0, np.nan, np.nan, "inconclusive", p=np.nan, n_units=1))
    text = said("decrease", table)
    assert "with a percentage decrease of 20.0%." in text
    assert "No interval could be given for 1 estimate, as it rests on a single patient." in text


def test_a_negative_reference_mean_warns_against_the_percentage():
    assert "only the difference should be read" in said("decrease", five_tasks(A={"reference_mean": -0.2}))


def test_more_methods_than_can_be_told_one_by_one_share_a_sentence():
    rows = [contrast_row(f"m{i}", 10.0 + i, 5.0, 20.0, "lower", task="Average") for i in range(7)]
    rows += [r | {"task": t} for r in rows for t in "AB"]
    rows.append(contrast_row("m7", 1.0, -2.0, 4.0, "inconclusive", task="Average", p=0.6))
    rows += [rows[-1] | {"task": t} for t in "AB"]
    text = said("decrease", frame(*rows))
    assert "On IoU, averaged over tasks, 7 of 8 methods scored worse than the human benchmark, with" in text
    assert re.search(r"between 10\.0% \[.*?\] for m0 and 16\.0% \[.*?\] for m6;", text)
    assert (
        "no difference from the human benchmark was shown for m7, with a percentage decrease of 1.0%" in text
    )


def test_a_positive_difference_of_a_distance_is_worse():
    table = five_tasks().assign(term="difference", metric="hd95", verdict="higher", estimate=15.25)
    text = said("difference", table)
    assert (
        "On 95th-percentile Hausdorff distance, Grad-CAM scored worse than the human benchmark in all 5 tasks"
        in text
    )
    assert "where a positive difference in mean score is a worse score" in text
    assert "15.25 [" in text


def test_labels_that_a_user_gave_stand_as_they_were_given():
    labels = Labels(
        {"human": "Radiologist", "gradcam": "our CAM", "iou": "mIoU", "task": {"A": "Atelectasis"}}
    )
    text = said("decrease", five_tasks(A={"verdict": "inconclusive"}), labels=labels)
    assert "On mIoU, our CAM scored worse than Radiologist in 4 of 5 tasks" in text
    assert "no difference was shown in Atelectasis" in text


def test_a_headline_over_fewer_tasks_says_so():
    nothing = {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan, "n_pairs": 0}
    (text,) = headline_sentences(five_tasks(A=nothing), SETTINGS, Labels())
    assert text.startswith("On IoU, averaged over the tasks with pairs, Grad-CAM scored worse")
    (text,) = headline_sentences(five_tasks(), SETTINGS, Labels())
    assert text.startswith(
        "On IoU, averaged over tasks, Grad-CAM scored worse than the human benchmark, with a"
    )
