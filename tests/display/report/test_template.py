"""Sentences with slots."""

import pytest

from salstats.display.report.template import TEMPLATE, Sentence


@pytest.mark.parametrize(
    ("slots", "text"),
    [
        ({"unit": "case", "level": "95"}, "95% by case."),
        ({"unit": "", "level": "95"}, "95% by ."),
        ({"unit": None, "level": "95"}, ""),
        ({"level": "95"}, ""),
    ],
)
def test_a_sentence_stands_only_if_every_slot_has_a_text(slots, text):
    assert Sentence("{level}% by {unit}.").fill(slots) == text


def test_a_condition_is_a_slot_that_is_not_written():
    sentence = Sentence("Lines were fitted.", condition="lines")
    assert sentence.fill({"lines": ""}) == "Lines were fitted."
    assert sentence.fill({"lines": None}) == ""
    assert sentence.fill({}) == ""


def test_no_sentence_of_the_methods_section_stands_twice():
    texts = [sentence.text for paragraph in TEMPLATE for sentence in paragraph]
    assert len(set(texts)) == len(texts)
