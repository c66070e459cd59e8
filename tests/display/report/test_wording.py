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
    label_in_sentence,
)
from salstats.display.text.labels import Labels
from salstats.errors import ColumnName, ColumnValue, Message, Setting
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
    [([0.3, 0.9], 3), ([51.9, 2.0], 2), ([512.0], 1), ([0.0004], 6), ([0.0], 3), ([float("nan")], 3)],
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
