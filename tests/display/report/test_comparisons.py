"""Sentences on methods against a reference: worded by direction, true in every corner."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_frames import SETTINGS, contrast_row, five_tasks, frame, said

from salstats.display.estimates import read_estimates
from salstats.display.report.comparisons import margin_sentences, methods_against_reference_sentence
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels

UNDEFINED = {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan, "verdict": "inconclusive"}
OPEN = {"verdict": "inconclusive", "p_adjusted": 0.5}


def test_lower_scores_are_worse_where_larger_is_better():
    table = five_tasks()
    text = said("decrease", table.assign(n_tests=table["task"].map({"Average": 1}).fillna(5)))
    assert text.startswith(
        "A difference is taken as shown where the 95% confidence interval excludes 0 and Holm-adjusted P is "
        "below 0.05 (one family of 5 tests in single tasks and one of 1 test over tasks)."
    )
    assert (
        "On IoU, compared with the human benchmark, averaged over tasks, Grad-CAM scored worse, with a "
        "percentage decrease of 37.4% [95% CI 34.4, 40.2, Holm-adjusted P = "
    ) in text


def test_higher_distances_are_worse_and_what_their_sign_means_is_said():
    turned = {"estimate": -12.0, "conf_low": -14.5, "conf_high": -9.5}
    table = five_tasks().assign(metric="hausdorff", verdict="higher", **turned)
    text = said("decrease", table)
    assert (
        "On Hausdorff distance, compared with the human benchmark, averaged over tasks, Grad-CAM scored worse"
        in text
    )
    assert "a percentage increase of 12.0% [95% CI 9.5, 14.5, Holm" in text
    assert "A percentage decrease below 0 is an increase: a mean above that of the human benchmark." in text
    assert "where a percentage increase is a worse score." in text
    text = said("difference", table.assign(term="difference", estimate=15.25))
    assert "where a positive difference in mean score is a worse score" in text
    assert "15.25 [" in text


def test_a_gain_is_no_negative_loss_and_limits_differ_from_the_estimate_in_print():
    gain = contrast_row("gradcam", -0.8, -0.84, -0.77, "higher")
    text = said("decrease", frame(gain))
    assert "Grad-CAM scored better, with a percentage increase of 0.80% [95% CI 0.77, 0.84," in text
    loss = contrast_row("rise", 1.25, -2.5, 5.0, "inconclusive", p=0.4)
    open_gain = contrast_row("gradcam", -0.8, -4.0, 2.5, "inconclusive", p=0.4)
    text = said("decrease", frame(loss, open_gain))
    # the interval is turned with its estimate
    assert "with a percentage increase of 0.8% [95% CI −2.5, 4.0, Holm-adjusted P = 0.400] for Grad" in text
    assert "and a percentage decrease of 1.2% [95% CI −2.5, 5.0, Holm-adjusted P = 0.400] for RISE" in text
    below_zero = contrast_row("gradcam", -0.8, -4.0, 2.5, "inconclusive", reference_mean=-0.2)
    text = said("decrease", frame(below_zero))
    assert "a percentage decrease of −0.8% [" in text
    assert "is an increase" not in text


def test_of_many_methods_the_largest_gain_and_the_largest_loss_have_their_own_noun():
    rows = [
        contrast_row(f"m{i}", estimate, estimate - 60, estimate + 60, "inconclusive", p=0.4)
        for i, estimate in enumerate([-22.7, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0])
    ]
    text = said("decrease", frame(*rows))
    assert "with changes between a percentage increase of 22.7% [" in text
    assert "and a percentage decrease of 40.0% [" in text
    assert "−22.7" not in text


def test_a_metric_that_is_not_registered_is_neither_better_nor_worse():
    text = said("decrease", five_tasks().assign(metric="overlap_x"))
    assert (
        "On overlap_x, compared with the human benchmark, averaged over tasks, Grad-CAM scored lower" in text
    )
    assert "Whether larger is better is not known of overlap_x" in text
    assert not re.search(r"\b(better|worse)\b", text.replace("larger is better", ""))


def test_where_nothing_is_shown_the_sentence_says_only_that():
    text = said("decrease", five_tasks().assign(**OPEN))
    assert "averaged over tasks, Grad-CAM did not show a difference" in text
    assert "this is not evidence that there is none" in text
    assert not re.search(r"\b(better|worse)\b", text)
    # not even where the interval leaves 0 out but the adjusted P value is large
    row = contrast_row("gradcam", 51.0, 19.7, 64.4, "inconclusive", p=0.131)
    expected = "Grad-CAM did not show a difference, with a percentage decrease of 51.0% [95% CI 19.7,"
    assert expected in said("decrease", frame(row))


@pytest.mark.parametrize("task", [None, "Edema"])
def test_one_task_or_none_is_one_sentence_with_the_estimate(task):
    text = said("decrease", frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", task=task)))
    assert "with the human benchmark, Grad-CAM scored worse, with a percentage decrease of 20" in text


def test_why_there_is_no_estimate_is_said():
    assert "Grad-CAM could not be compared." in said(
        "decrease", frame(contrast_row("gradcam", np.nan, np.nan, np.nan, "inconclusive", n_pairs=0))
    )
    zero = contrast_row("gradcam", np.nan, np.nan, np.nan, "inconclusive", reference_mean=0.0)
    text = said("decrease", frame(zero))
    assert "Grad-CAM had no defined percentage decrease." in text
    assert "Where the mean of the human benchmark is 0 there is no percentage decrease." in text
    assert "only the difference should be read" in said("decrease", five_tasks(A={"reference_mean": -0.2}))


def test_unadjusted_p_values_are_named_so():
    table = five_tasks().drop(columns=["p_adjusted", "n_tests", "procedure"])
    text = said("decrease", table, replace(SETTINGS, adjust="none"))
    assert "interval excludes 0; nothing is adjusted for multiple tests." in text
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
    assert "Holm-adjusted P is below .05 (" in text


def test_what_stands_on_little_is_said():
    text = said("decrease", five_tasks(A={"n_units": 12}, B={"n_units": 18}))
    assert (
        "Intervals of 2 estimates rest on only 12 to 18 patients; they are likely too narrow and P values "
        "likely too small, also of averages that include them."
    ) in text
    assert "were undefined" not in said("decrease", five_tasks(A={"n_undefined": 10}))
    assert "undefined (up to 11 of 1,000); no verdict" in said("decrease", five_tasks(A={"n_undefined": 11}))
    flat = frame(contrast_row("gradcam", 0.0, 0.0, 0.0, "inconclusive", p=1.0))
    assert "Intervals of 1 estimate have width 0" in said("decrease", flat)
    bare = frame(contrast_row("gradcam", 20.0, np.nan, np.nan, "inconclusive", p=np.nan, n_units=1))
    assert "No interval could be given for 1 estimate on a single patient." in said("decrease", bare)


def test_more_methods_than_can_be_told_one_by_one_share_a_sentence():
    rows = [contrast_row(f"m{i}", 10.0 + i, 5.0, 20.0, "lower", task="Average") for i in range(7)]
    rows.append(contrast_row("m7", 1.0, -2.0, 4.0, "inconclusive", task="Average", p=0.6))
    rows += [row | {"task": task} for row in rows for task in "AB"]
    text = said("decrease", frame(*rows))
    assert "tasks, 7 of 8 methods scored worse, with percentage decreases between 10.0% [" in text
    assert re.search(r"for m0 and 16\.0% \[.*?\] for m6; m7 did not show a difference", text)


@pytest.mark.parametrize(("n_methods", "all_named"), [(6, True), (7, False)])
def test_six_methods_are_named_and_seven_are_counted(n_methods, all_named):
    names = [f"m{i}" for i in range(n_methods)]
    rows = [contrast_row(name, 10.0 + i, 5.0, 20.0, "lower", task="Average") for i, name in enumerate(names)]
    text = said("decrease", frame(*rows, *(row | {"task": task} for row in rows for task in "AB")))
    first_sentence = text.split("scored worse")[0]
    assert all(name in first_sentence for name in names) is all_named
    assert (f"all {n_methods} methods" in first_sentence) is not all_named


def test_labels_that_a_user_gave_stand_as_they_were_given():
    labels = {"human": "Radiologist", "gradcam": "our CAM", "iou": "mIoU", "task": {"A": "Atelectasis"}}
    text = said("decrease", five_tasks(A=OPEN), labels=labels)
    assert "On mIoU, compared with Radiologist, averaged over tasks, our CAM scored worse" in text
    table = with_margin(A="not inferior")
    assert "in Atelectasis" in of_margin(table, task={"A": "Atelectasis"})


def test_a_headline_over_fewer_tasks_says_so():
    words = Wording(SETTINGS, Labels())
    text = methods_against_reference_sentence(read_estimates(five_tasks(A=UNDEFINED | {"n_pairs": 0})), words)
    assert "averaged over the tasks with pairs, Grad-CAM scored worse" in text
    assert (
        "human benchmark, averaged over tasks, Grad-CAM scored worse, with a"
        in methods_against_reference_sentence(read_estimates(five_tasks()), words)
    )


def with_margin(low=-0.1, high=np.inf, **verdicts):
    """Differences in five tasks that were tested against a margin."""
    changes = {task: {"verdict": verdict} for task, verdict in verdicts.items()}
    return five_tasks(**changes).assign(
        term="difference", margin_low=low, margin_high=high, p_margin=0.5, estimate=-0.3
    )


def of_margin(table, **labels):
    return " ".join(margin_sentences(read_estimates(table), Wording(SETTINGS, Labels(labels))))


def test_what_lies_inside_its_margin_is_told_with_the_margin():
    table = with_margin(A="lower, not inferior", B="not inferior", Average="lower, not inferior")
    assert of_margin(table) == (
        "On IoU, Grad-CAM was not inferior to the human benchmark in A and B and averaged over tasks "
        "(a difference above −0.1)."
    )
    assert "to the human benchmark averaged over tasks (a" in of_margin(with_margin(Average="not inferior"))
    both = with_margin(-0.1, 0.1, **dict.fromkeys("ABCDE", "equivalent"))
    assert of_margin(both) == (
        "On IoU, Grad-CAM was equivalent to the human benchmark in all 5 tasks (a difference within −0.1 to "
        "0.1)."
    )


def test_where_nothing_was_shown_with_a_margin_it_is_said_so():
    assert of_margin(with_margin()) == (
        "On IoU, no method was shown to have a difference above −0.1 from the human benchmark."
    )
    assert not list(margin_sentences(read_estimates(five_tasks()), Wording(SETTINGS, Labels())))


def test_sentences_on_differences_are_those_without_the_margin():
    told = said("difference", with_margin(A="lower, equivalent", B="equivalent", C="inconclusive"))
    without = five_tasks(B={"verdict": "inconclusive"}, C={"verdict": "inconclusive"})
    assert told == said("difference", without.assign(term="difference", estimate=-0.3))


def test_many_methods_inside_a_margin_are_counted():
    rows = [
        contrast_row(f"m{i}", -0.01, -0.02, 0.01, "equivalent" if i < 8 else "inconclusive") for i in range(9)
    ]
    table = frame(*rows).assign(term="difference", margin_low=-0.1, margin_high=0.1, p_margin=0.01)
    assert of_margin(table) == (
        "On IoU, 8 of 9 methods were equivalent to the human benchmark (a difference within −0.1 to 0.1)."
    )
    assert "benchmark (a" in of_margin(table.assign(task="A"))
    by_task = pd.concat([table.assign(task=task) for task in "AB"], ignore_index=True)
    assert "8 of 9 methods were equivalent to the human benchmark in some task (a" in of_margin(by_task)
