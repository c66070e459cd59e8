"""Words that sentences share."""

import pytest
from report_frames import SETTINGS, contrast_row, frame

from salstats.display.report.wording import (
    alpha_text,
    decimals,
    estimate_texts,
    lowered,
    method_words,
    metric_words,
    unit_words,
    verdict_words,
)
from salstats.display.text.labels import Labels
from salstats.metrics.registry import METRICS


@pytest.mark.parametrize(
    ("label", "inside"),
    [
        ("Hit rate", "hit rate"),
        ("IoU", "IoU"),
        ("Dice", "Dice"),
        ("Hausdorff distance", "Hausdorff distance"),
        ("sNCC", "sNCC"),
        ("KL divergence", "KL divergence"),
        ("Earth mover's distance", "earth mover's distance"),
        ("Éclat", "Éclat"),
        ("", ""),
    ],
)
def test_only_plain_words_lose_their_capital_inside_a_sentence(label, inside):
    assert lowered(label) == inside


def test_a_users_label_keeps_its_capital():
    assert metric_words("hit", Labels({"hit": "Pointing game"})) == "Pointing game"
    assert metric_words("hit", Labels()) == "hit rate"
    assert method_words("human", Labels({"human": "Radiologists"})) == "Radiologists"
    assert method_words("human", Labels()) == "the human benchmark"


@pytest.mark.parametrize("metric", METRICS)
def test_verdicts_follow_the_direction_of_every_registered_metric(metric):
    higher = "better" if METRICS[metric].larger_is_better else "worse"
    assert verdict_words(metric, "higher") == higher
    assert verdict_words(metric, "lower") == {"better": "worse", "worse": "better"}[higher]


def test_verdicts_on_unknown_metrics_stay_lower_and_higher():
    assert [verdict_words("mine", v) for v in ("lower", "higher")] == ["lower", "higher"]


def test_units_are_patients_cases_or_clusters():
    assert unit_words("study") == ("study", "studies")
    assert unit_words("site") == ("site cluster", "site clusters")


@pytest.mark.parametrize(
    ("level", "style", "text"), [(0.95, "nature", "0.05"), (0.95, "ama", ".05"), (0.999, "nature", "0.001")]
)
def test_alpha_is_written_as_the_journal_does(level, style, text):
    assert alpha_text(level, style) == text


@pytest.mark.parametrize(
    ("values", "digits"),
    [([0.3, 0.9], 3), ([51.9, 2.0], 2), ([512.0], 1), ([0.0004], 6), ([0.0], 3), ([float("nan")], 3)],
)
def test_decimals_follow_the_size_of_the_numbers(values, digits):
    assert decimals(values) == digits


def test_each_p_value_says_what_it_is():
    row = contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", p=0.02)
    assert estimate_texts(frame(row), SETTINGS, 1) == ["20.0% [95% CI 10.0, 30.0, Holm-adjusted P = 0.020]"]
    bare = frame(row).drop(columns=["p_adjusted"])
    assert estimate_texts(bare, SETTINGS, 1) == ["20.0% [95% CI 10.0, 30.0, unadjusted P = 0.020]"]
    assert estimate_texts(bare.drop(columns=["p_value"]), SETTINGS, 1) == ["20.0% [95% CI 10.0, 30.0]"]
