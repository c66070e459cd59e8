"""Text that fits: wrapped, cut, numbered where cut alike."""

import pytest
from display.plots.estimate_figures import LONG
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tests_support import raises

from salstats.display.plots.layout.text_fit import (
    caption,
    caption_height_mm,
    chars_in,
    short_labels,
    text_width_mm,
    wrapped,
)
from salstats.display.plots.layout.theme import MM_PER_INCH, TEXT_PT, font
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError


@pytest.mark.parametrize("text", [LONG, "x" * 120, "Pneumothorax", "", "肺水肿" * 10])
def test_wrapped_text_keeps_to_its_lines_and_says_when_it_was_cut(text):
    lines = wrapped(text, 24, 3).split("\n")
    assert len(lines) <= 3
    assert text_width_mm("\n".join(lines)) <= 24 / chars_in(100.0) * 100 + 1e-9
    assert (lines[-1].endswith("…")) == (len(text) > 72)
    if len(text) < 24:
        assert lines == [" ".join(text.split())]


@pytest.mark.parametrize("text", ["Paired with Human benchmark", "−0.190 (−0.224, −0.156)", "Pneumothorax"])
def test_the_room_of_a_text_is_about_what_is_drawn(text):
    drawn = Figure(dpi=1200).text(0, 0.5, text, fontsize=TEXT_PT, family=font())
    extent = drawn.get_window_extent(FigureCanvasAgg(drawn.figure).get_renderer())
    assert text_width_mm(text) == pytest.approx(extent.width / 1200 * MM_PER_INCH, rel=0.12)


def test_dollar_signs_are_no_mathematics():
    assert wrapped("$a$ to $b$") == r"\$a\$ to \$b\$"
    assert caption(["cost $1", "", "and $2."]) == r"cost \$1 and \$2."


def test_labels_that_are_cut_to_the_same_text_are_numbered():
    texts = short_labels(Labels(), "task", [LONG + "1", LONG + "2", "Edema"])
    assert len(set(texts.values())) == 3
    assert texts[LONG + "2"].endswith("… (2)")
    assert text_width_mm(texts[LONG + "2"]) <= text_width_mm("m" * 24)
    with raises(SalstatsError, option="labels", column="task"):
        short_labels(Labels({"a": "x", "b": "x"}), "task", ["a", "b"])


def test_captions_are_as_high_as_their_lines():
    assert (
        caption_height_mm(caption(["word " * 60, "end."]))
        > caption_height_mm("one line")
        > caption_height_mm("")
        == 0
    )


def test_a_word_too_long_for_a_line_is_broken_behind_a_hyphen_or_underscore():
    assert wrapped("textured-0004", 10) == "textured-\n0004"
    assert wrapped("view1_frontal", 10) == "view1_\nfrontal"
    assert wrapped("with Grad-CAM", 10) == "with\nGrad-CAM"
