"""Text that fits: wrapped, cut, numbered where cut alike."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import LONG, estimates
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_height_mm,
    characters_without_face,
    chars_in,
    crossed_labels,
    indented,
    label_line_chars,
    names_below,
    short_labels,
    text_width_mm,
    wrapped,
    wrapped_texts,
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


@pytest.mark.parametrize("text", ["Edema", LONG])
def test_labels_that_differ_in_blanks_alone_are_numbered(text):
    texts = [text, f"{text}  ", f" {text}"]
    short_texts = list(wrapped_texts(texts, line_chars=20, max_lines=2).values())
    assert short_texts[0] == wrapped(text, 20, 2)
    assert [short_text[-3:] for short_text in short_texts[1:]] == ["(2)", "(3)"]
    assert wrapped_texts([text, text], line_chars=20, max_lines=2) == {text: short_texts[0]}


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


#: Names of one line and of up to three.
SHORT_NAMES = ("Grad-CAM", "Integrated gradients", "Occlusion", "Human benchmark", "DeepLIFT")
LONG_NAMES = (
    "Gradient-weighted class activation mapping",
    "LIME",
    "Local interpretable model-agnostic explanations",
    "Integrated gradients with a smooth baseline",
)


@pytest.mark.parametrize(
    ("names", "width", "most_lines"), [(SHORT_NAMES, 60, 1), (LONG_NAMES, 60, 2), (LONG_NAMES, 89, 3)]
)
def test_slanted_names_end_at_their_columns_and_keep_apart(names, width, most_lines):
    figure = ss.plot_heatmap(estimates(methods=names, metrics=["iou"]), width=width)
    drawn = figure.draw(show=False)
    drawn.draw_without_rendering()
    [axes] = drawn.axes
    mm = MM_PER_INCH / drawn.dpi
    columns = mm * axes.transData.transform([(tick, 0) for tick in axes.get_xticks()])[:, 0]
    labels = axes.get_xticklabels()
    assert {label.get_rotation() for label in labels} == {45}
    assert max(label.get_text().count("\n") for label in labels) + 1 == most_lines
    # distances in mm across the direction of the slanted lines, of the sides of each label
    upper_sides = []
    lower_sides = []
    for label, column in zip(labels, columns, strict=True):
        extent = label.get_window_extent()
        # the right edge of the extent is the end of the last line, at the lower right corner of the label
        assert mm * extent.x1 == pytest.approx(column, abs=1)
        label.set_rotation(0)
        height = mm * label.get_window_extent().height
        middle_of_end = mm * extent.x1 - height / np.sqrt(8)
        assert column - middle_of_end < np.diff(columns).min() / 2
        lower_right = (mm * extent.x1, mm * extent.y1 - height / np.sqrt(2))
        lower_sides.append((lower_right[0] - lower_right[1]) / np.sqrt(2))
        upper_sides.append(lower_sides[-1] - height)
    assert (np.array(lower_sides[:-1]) < upper_sides[1:]).all()
    plt.close(drawn)


def test_labels_of_several_columns_stand_in_the_order_of_the_first():
    frame = pd.DataFrame({"task": ["b", "a", "b", "b"], "metric": ["iou", "hit", "hit", "iou"]})
    labels = {"task": {"b": "Beta", "a": "Alpha"}, "metric": {"hit": "Hit rate", "iou": ""}}
    crossed = crossed_labels(frame, labels)
    assert list(crossed) == ["Beta", "Alpha, Hit rate", "Beta, Hit rate", "Beta"]
    assert list(crossed.categories) == ["Beta, Hit rate", "Beta", "Alpha, Hit rate"]
    assert list(crossed_labels(frame, {})) == [""] * 4


def test_every_line_of_a_label_is_indented():
    first, second = indented("one\ntwo").split("\n")
    blanks = len(first) - len("one")
    assert (first.strip(), second.strip()) == ("one", "two")
    assert len(second) - len("two") == blanks > 0


def test_characters_that_a_font_lacks_are_listed_once():
    assert characters_without_face(["a\U0010fffdb", "\n"], ("DejaVu Sans",)) == ""
    assert characters_without_face(["肺水肿肺", "CAM"], ("DejaVu Sans",)) == "肺水肿"


def test_wide_figures_have_longer_lines_of_labels_and_captions():
    assert label_line_chars(60) < label_line_chars(89) <= label_line_chars(500) == label_line_chars(1000)
    assert label_line_chars(500, 10) == 10
    assert caption_chars(89) < caption_chars(183)
    assert caption_chars(183, left_mm=40) < caption_chars(183)
    assert caption_chars(10) == caption_chars(12) > 0


def test_names_below_tiles_are_horizontal_where_they_fit_else_slanted_or_vertical():
    wide = names_below(["Grad-CAM", "LIME"], 30.0, may_slant=True)
    assert (wide.text_options["rotation"], wide.left_overhang, wide.texts) == (0, 0.0, ["Grad-CAM", "LIME"])
    two_lines = names_below(["Integrated gradients", "LIME"], 18.0, may_slant=True)
    assert two_lines.text_options["rotation"] == 0
    assert two_lines.height > wide.height
    slanted = names_below(["Integrated gradients", "LIME"], 8.0, may_slant=True)
    vertical = names_below(["Integrated gradients", "LIME"], 8.0, may_slant=False)
    assert (slanted.text_options["rotation"], vertical.text_options["rotation"]) == (45, 90)
    # a slanted name is lower by the root of 2 but for the room above it, and begins further left
    assert vertical.height > 1.2 * slanted.height
    assert slanted.left_overhang > 0 == vertical.left_overhang
    # a long name of a later tile may begin further left than the first
    for name in ("A", "Integrated gradients"):
        later = names_below([name, "Integrated gradients with a mask", "LIME"], 4.0, may_slant=True)
        assert later.left_overhang > slanted.left_overhang
