"""Words that sentences share."""

from dataclasses import replace

import numpy as np
import pytest
from report_frames import SETTINGS, contrast_row, frame

from salstats.display.estimates import read_estimates
from salstats.display.report.wording import (
    LabelSpelling,
    Wording,
    better_or_worse_verdict,
    decimals_by_magnitude,
    decimals_separating_limits_from_estimate,
    family_and_n_tests_text,
    label_in_sentence,
    named_values_or_extremes_text,
    names_or_count_text,
)
from salstats.display.text.labels import Labels
from salstats.errors import Advice, ColumnName, ColumnValue, Message, Setting
from salstats.metrics.registry import METRICS

WORDS = Wording(SETTINGS, Labels())


@pytest.mark.parametrize(
    ("label", "inside"),
    [
        ("Hit rate", "hit rate"),
        ("IoU", "IoU"),
        ("Hausdorff distance", "Hausdorff distance"),
        ("KL divergence", "KL divergence"),
        ("Earth mover's distance", "earth mover's distance"),
        ("Éclat", "Éclat"),
        ("", ""),
    ],
)
def test_only_plain_words_lose_their_capital_inside_a_sentence(label, inside):
    assert label_in_sentence(label) == inside


def test_a_users_label_keeps_its_capital():
    named = Wording(SETTINGS, Labels({"hit": "Pointing game", "human": "Radiologists"}))
    assert (named.metric("hit"), WORDS.metric("hit")) == ("Pointing game", "hit rate")
    assert (named.method("human"), WORDS.method("human")) == ("Radiologists", "the human benchmark")


@pytest.mark.parametrize("metric", METRICS)
def test_verdicts_follow_the_direction_of_every_registered_metric(metric):
    higher = "better" if METRICS[metric].larger_is_better else "worse"
    assert better_or_worse_verdict("of_a_user", "higher") == "higher"
    assert better_or_worse_verdict(metric, "higher") == higher
    assert better_or_worse_verdict(metric, "lower") == {"better": "worse", "worse": "better"}[higher]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "study", "level": 0.95, "style": "nature"}, ("study", "studies", "0.05")),
        ({"unit": "site", "level": 0.95, "style": "ama"}, ("site cluster", "site clusters", ".05")),
        ({"unit": "case", "level": 0.999, "style": "nature"}, ("case", "cases", "0.001")),
    ],
)
def test_units_have_words_and_the_level_is_written_as_the_journal_does(options, words):
    made = Wording(replace(SETTINGS, **options), Labels())
    assert (made.unit, made.units, made.alpha) == words


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([0.3, 0.9], 3),
        ([51.9, -2.0], 2),
        ([10.0], 2),
        ([-512.0], 1),
        ([100.0], 1),
        ([0.01], 3),
        ([0.009], 5),
        ([0.0004], 6),
        ([0.0], 3),
        ([float("nan")], 3),
    ],
)
def test_decimals_follow_the_size_of_the_numbers(values, digits):
    assert decimals_by_magnitude(values) == digits


def test_each_p_value_says_what_it_is():
    row = frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", p=0.02))
    unadjusted = row.drop(columns="p_adjusted")
    untested = unadjusted.drop(columns="p_value")
    expected = {
        "20.0% [95% CI 10.0, 30.0, Holm-adjusted P = 0.020]": row,
        "20.0% [95% CI 10.0, 30.0, unadjusted P = 0.020]": unadjusted,
        "20.0% [95% CI 10.0, 30.0]": untested,
    }
    for text, table in expected.items():
        assert WORDS.estimate_texts(read_estimates(table), 1) == [text]


def test_a_p_value_at_the_level_is_not_below_it():
    # 1 - 0.95 is 0.050000000000000044
    rows = [contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", p=p) for p in (0.0499, 0.05, np.nan)]
    estimates = read_estimates(frame(*rows))
    assert WORDS.is_significant(estimates).tolist() == [True, False, False]
    assert WORDS.is_not_significant(estimates).tolist() == [False, True, False]


def test_messages_have_the_labels_of_the_report():
    labels = Labels({"gradcam": "Our CAM", "area_ratio": "Finding size"})
    spelling = LabelSpelling(Wording(SETTINGS, labels))
    message = Message(
        ColumnValue("metric", "iou"), ", ", ColumnValue("method", "gradcam"), ", ",
        ColumnValue("reference", "human"), ": ",
        ColumnName("area_ratio"), ", ", ColumnName("elongation"), "; pass ", Setting("unit", "case"),
    )  # fmt: skip
    assert message.spelled(spelling) == (
        "metric IoU, method Our CAM, reference Human benchmark: Finding size, elongation; pass unit='case'"
    )
    assert Message(Advice(python="x.dropna()", words="drop them")).spelled(spelling) == "drop them"


def test_more_than_four_names_are_a_number():
    assert names_or_count_text(list("abcd"), "methods", "or") == "a, b, c or d"
    assert names_or_count_text(list("abcde"), "methods") == "5 methods"
    assert WORDS.metrics(["iou", "hit"]) == "IoU and hit rate"
    assert WORDS.metrics(["iou"] * 5) == "5 metrics"


def test_of_more_than_six_values_the_smallest_and_the_largest_are_named():
    values = [0.3, 0.1, 0.9, 0.4, 0.5, 0.6, 0.7]
    texts = [str(value) for value in values]
    six = named_values_or_extremes_text(texts[:6], list("abcdef"), values[:6], "tasks")
    assert six == "0.3 for a, 0.1 for b, 0.9 for c, 0.4 for d, 0.5 for e and 0.6 for f"
    seven = named_values_or_extremes_text(texts, list("abcdefg"), values, "tasks", "in")
    assert seven == "between 0.1 in b and 0.9 in c among 7 tasks"
    assert named_values_or_extremes_text(texts, list("abcdefg"), values) == "between 0.1 for b and 0.9 for c"
    assert named_values_or_extremes_text(["0.3"], [""], [0.3]) == "0.3"


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [
        (0.2, 0.4, 1),
        (0.2, 0.302, 3),
        (0.29999, 0.4, 5),
        (0.3 - 1e-7, 0.4, 5),
        (0.3 - 1e-12, 0.4, 1),
        (None, None, 1),
    ],
)
def test_limits_have_the_decimals_that_tell_them_from_their_estimate(low, high, digits):
    estimates = read_estimates(frame(contrast_row("gradcam", 0.3, low, high, "lower")))
    assert decimals_separating_limits_from_estimate(estimates, 1) == digits


def test_tests_over_tasks_are_a_family_of_their_own():
    rows = [contrast_row("gradcam", 1.0, 0.5, 2.0, "lower", task=task, n_tests=6) for task in "ab"]
    average = contrast_row("gradcam", 1.0, 0.5, 2.0, "lower", task="Average", n_tests=1)
    assert family_and_n_tests_text(read_estimates(frame(*rows))) == "one family of 6 tests"
    assert family_and_n_tests_text(read_estimates(frame(average))) == "one family of 1 test"
    assert family_and_n_tests_text(read_estimates(frame(*rows, average))) == (
        "one family of 6 tests in single tasks and one of 1 test over tasks"
    )


def test_a_p_value_below_the_level_has_its_article():
    adjusted = frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower"))
    assert WORDS.significance_condition_phrase(read_estimates(adjusted)) == "a Holm-adjusted P below 0.05"
    unadjusted = adjusted.drop(columns="p_adjusted")
    assert WORDS.significance_condition_phrase(read_estimates(unadjusted)) == "an unadjusted P below 0.05"
    text = WORDS.estimate_texts(read_estimates(adjusted), p_values=False)
    assert text == ["20.00% [95% CI 10.00, 30.00]"]
    assert WORDS.level_text_without_percent_sign == "95"


def test_rows_are_in_the_order_of_labels():
    named = Wording(SETTINGS, Labels({"method": ["rise", "gradcam"], "metric": ["hit", "iou"]}))
    rows = [
        contrast_row(method, 1.0, 0.5, 2.0, "lower", metric=metric)
        for method, metric in (("gradcam", "iou"), ("rise", "iou"), ("gradcam", "hit"))
    ]
    estimates = read_estimates(frame(*rows))
    assert named.sorted_by_method(estimates).frame["method"].tolist() == ["rise", "gradcam", "gradcam"]
    by_metric = named.rows_by_metric(estimates)
    assert [(metric, len(part)) for metric, part in by_metric] == [("hit", 1), ("iou", 2)]
    assert named.task_labels(["Edema", 1]) == ["Edema", "1"]
    of_tasks = Wording(SETTINGS, Labels({"task": {"Edema": "Oedema"}, "method": {"Edema": "a method"}}))
    assert of_tasks.task_labels(["Edema"]) == ["Oedema"]
