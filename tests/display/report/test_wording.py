"""Words that sentences share."""

from dataclasses import replace

import pytest
from report_frames import SETTINGS, contrast_row, frame

from salstats.display.report.wording import Wording, decimals, lowered, verdict_word
from salstats.display.text.labels import Labels
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
    assert lowered(label) == inside


def test_a_users_label_keeps_its_capital():
    named = Wording(SETTINGS, Labels({"hit": "Pointing game", "human": "Radiologists"}))
    assert (named.metric("hit"), WORDS.metric("hit")) == ("Pointing game", "hit rate")
    assert (named.method("human"), WORDS.method("human")) == ("Radiologists", "the human benchmark")


@pytest.mark.parametrize("metric", METRICS)
def test_verdicts_follow_the_direction_of_every_registered_metric(metric):
    higher = "better" if METRICS[metric].larger_is_better else "worse"
    assert verdict_word(metric, "higher") == higher
    assert verdict_word(metric, "lower") == {"better": "worse", "worse": "better"}[higher]


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
    assert decimals(values) == digits


def test_each_p_value_says_what_it_is():
    row = frame(contrast_row("gradcam", 20.0, 10.0, 30.0, "lower", p=0.02))
    assert WORDS.estimates(row, 1) == ["20.0% [95% CI 10.0, 30.0, Holm-adjusted P = 0.020]"]
    bare = row.drop(columns="p_adjusted")
    assert WORDS.estimates(bare, 1) == ["20.0% [95% CI 10.0, 30.0, unadjusted P = 0.020]"]
    assert WORDS.estimates(bare.drop(columns="p_value"), 1) == ["20.0% [95% CI 10.0, 30.0]"]
