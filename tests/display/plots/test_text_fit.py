"""Text that fits: wrapped, cut, numbered where cut alike, and kept apart."""

import numpy as np
import pytest
from display.plots.estimate_figures import LONG

from salstats.checks import SalstatsError
from salstats.display.plots.text_fit import (
    CAPTION_CHARS,
    apart,
    caption,
    caption_mm,
    short_labels,
    text_mm,
    with_suffix,
    wrapped,
)
from salstats.display.text.labels import Labels


def test_places_that_are_far_apart_stay():
    assert apart(np.array([3.0, 1.0]), np.full(2, 1.0), 0.0, 4.0).tolist() == [3.0, 1.0]


def test_close_places_move_evenly_to_both_sides():
    assert apart(np.array([2.0, 2.2]), np.full(2, 1.0), 0.0, 4.0) == pytest.approx([1.6, 2.6])


def test_higher_labels_take_more_room():
    places = apart(np.array([5.0, 5.0, 5.0]), np.array([1.0, 3.0, 1.0]), 0.0, 10.0)
    assert np.diff(places) == pytest.approx([2.0, 2.0])


def test_labels_end_within_the_panel():
    sizes = np.array([2.0, 1.0, 1.0])
    places = apart(np.array([0.0, 0.0, 9.9]), sizes, 0.0, 10.0)
    assert (places - sizes / 2 >= -1e-12).all()
    assert (places + sizes / 2 <= 10 + 1e-12).all()


def test_labels_that_do_not_fit_share_the_room():
    places = apart(np.zeros(5), np.full(5, 1.0), 0.0, 2.0)
    assert places == pytest.approx([0.2, 0.6, 1.0, 1.4, 1.8])


def test_one_label_stays_inside():
    assert apart(np.array([9.0]), np.array([1.0]), 0.0, 5.0) == pytest.approx([4.5])


@pytest.mark.parametrize("text", [LONG, "x" * 120, "Pneumothorax", "", "a  b\nc"])
def test_wrapped_text_keeps_to_its_lines_and_says_when_it_was_cut(text):
    lines = wrapped(text, 24, 3).split("\n")
    assert len(lines) <= 3
    assert max(map(len, lines)) <= 24
    assert (lines[-1].endswith("…")) == (len(text) > 72)
    if len(text) <= 72:
        assert " ".join(lines).split() == text.split()


def test_wide_characters_take_twice_the_room():
    lines = wrapped("肺水肿" * 10, 24, 3).split("\n")
    assert max(map(len, lines)) == 12
    assert text_mm("肺" * 12) > text_mm("a" * 12)


def test_dollar_signs_are_no_mathematics():
    assert wrapped("$a$ to $b$") == r"\$a\$ to \$b\$"
    assert caption(["cost $1", "", "and $2."]) == r"cost \$1 and \$2."


def test_labels_that_are_cut_to_the_same_text_are_numbered():
    texts = short_labels(Labels(), "task", [LONG + "1", LONG + "2", "Edema"])
    assert len(set(texts.values())) == 3
    assert texts[LONG + "2"] == texts[LONG + "1"] + " (2)"
    with pytest.raises(SalstatsError, match="same label"):
        short_labels(Labels({"a": "x", "b": "x"}), "task", ["a", "b"])


def test_a_suffix_stands_on_the_last_line_where_there_is_room():
    assert with_suffix("Edema", "(0.97)") == "Edema (0.97)"
    assert with_suffix("Enlarged cardiomediastin", "(0.97)") == "Enlarged cardiomediastin\n(0.97)"
    assert with_suffix("Edema", "") == "Edema"


def test_captions_are_as_high_as_their_lines_which_a_journal_column_holds():
    text = caption(["word " * 60, "end."])
    assert max(map(len, text.split("\n"))) <= CAPTION_CHARS
    assert caption_mm(text) > caption_mm("one line") > caption_mm("") == 0
