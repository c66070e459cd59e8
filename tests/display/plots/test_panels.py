"""What the figures share: labels that fit, rows, ticks, legends, captions."""

import numpy as np
import pytest
from display.plots.estimate_figures import LONG

from salstats.checks import SalstatsError
from salstats.display.plots import panels
from salstats.display.plots.theme import COLUMN_MM, PALETTE, REFERENCE
from salstats.display.text.labels import Labels


@pytest.mark.parametrize("text", [LONG, "x" * 120, "Pneumothorax", "", "a  b\nc"])
def test_wrapped_text_keeps_to_its_lines_and_says_when_it_was_cut(text):
    lines = panels.wrapped(text, 24, 3).split("\n")
    assert len(lines) <= 3
    assert max(map(len, lines)) <= 24
    assert (lines[-1].endswith("…")) == (len(text) > 72)
    if len(text) <= 72:
        assert " ".join(lines).split() == text.split()


def test_wide_characters_take_twice_the_room():
    lines = panels.wrapped("肺水肿" * 10, 24, 3).split("\n")
    assert max(map(len, lines)) == 12
    assert panels.text_mm("肺" * 12) > panels.text_mm("a" * 12)


def test_dollar_signs_are_no_mathematics():
    assert panels.wrapped("$a$ to $b$") == r"\$a\$ to \$b\$"
    assert panels.caption(["cost $1", "", "and $2."]) == r"cost \$1 and \$2."


def test_labels_that_are_cut_to_the_same_text_are_numbered():
    texts = panels.short_labels(Labels(), "task", [LONG + "1", LONG + "2", "Edema"])
    assert len(set(texts.values())) == 3
    assert texts[LONG + "2"] == texts[LONG + "1"] + " (2)"
    with pytest.raises(SalstatsError, match="same label"):
        panels.short_labels(Labels({"a": "x", "b": "x"}), "task", ["a", "b"])


def test_references_stand_first_in_black_whatever_the_other_methods_are():
    texts = panels.method_labels(Labels(), ["gradcam", "human", "lime"], ["human"])
    colour, shape = panels.mark_scales(texts, ["human"])[:2]
    assert colour.limits == shape.limits == ["Human benchmark", "Grad-CAM", "LIME"]
    assert colour.palette(3) == [REFERENCE, *PALETTE[:2]]


def test_nine_methods_differ_in_colour_or_mark():
    colour, shape = panels.mark_scales({f"m{i}": f"m{i}" for i in range(20)})[:2]
    assert len(set(zip(colour.palette(20), shape.palette(20), strict=True))) == 20


def test_a_legend_has_as_many_columns_as_a_journal_column_holds():
    assert panels.legend_columns(["a", "b", "c"]) == 3
    assert panels.legend_columns(["x" * 40, "y" * 40]) == 1
    assert panels.legend_width_mm(["Grad-CAM", "Human benchmark", "LIME"]) < COLUMN_MM
    assert panels.legend_mm(["x" * 40, "y" * 40]) > panels.legend_mm(["a", "b"])


def test_rows_are_as_high_as_their_labels_or_marks_and_do_not_overlap():
    rows = panels.row_layout(["a", "b", "c", "Average"], ["a", "b\nb\nb", "c", "Average"], 1, 1)
    assert rows.heights[1] > rows.heights[0] == rows.heights[2]
    upper, lower = rows.centres + rows.heights / 2, rows.centres - rows.heights / 2
    np.testing.assert_allclose(lower[:2], upper[1:3])
    assert lower[2] > rows.rules[0] > upper[3]
    assert upper[0] == 0
    assert -lower[-1] == pytest.approx(rows.height)
    assert panels.row_layout(["a"], ["a"], 4).height > panels.row_layout(["a"], ["a"], 1).height
    assert list(rows.of(["c", "a", "c"])) == [rows.centres[2], rows.centres[0], rows.centres[2]]


def test_marks_of_a_row_lie_within_it_around_its_middle():
    shifts = panels.dodged([0, 1, 2], 3)
    assert shifts[0] > shifts[1] == 0 > shifts[2]
    assert max(abs(shifts)) < panels.row_height_mm(3) / 2


@pytest.mark.parametrize(
    ("limits", "texts"),
    [
        ((-0.03, 0.58), ["0.0", "0.2", "0.4"]),
        ((-2.5, 85.0), ["0", "20", "40", "60", "80"]),
        ((-0.06, 0.06), ["−0.05", "0.00", "0.05"]),
        ((1e-9, 2.1e-9), ["0.000000001", "0.000000002"]),
    ],
)
def test_ticks_are_round_numbers_with_the_same_decimals(limits, texts):
    breaks = panels.axis_breaks(limits, 28.0)
    assert panels.tick_texts(breaks) == texts
    halves = panels.half_breaks(limits, 28.0)
    assert all(limits[0] <= b <= limits[1] for b in halves)
    assert not set(halves) & set(breaks)


def test_more_ticks_stand_where_there_is_more_room():
    narrow, wide = (panels.axis_breaks((0.0, 1.0), room) for room in (12.0, 60.0))
    assert 1 < len(narrow) < len(wide)


def test_ticks_of_logarithms_have_the_decimals_that_each_needs():
    assert panels.log_texts(panels.log_breaks((0.01, 150.0), 40.0)) == ["0.01", "0.1", "1", "10", "100"]
    assert panels.log_texts(panels.log_breaks((0.9, 1.2), 20.0)) == ["0.9", "1", "1.1"]


def test_a_suffix_stands_on_the_last_line_where_there_is_room():
    assert panels.with_suffix("Edema", "(0.97)") == "Edema (0.97)"
    assert panels.with_suffix("Enlarged cardiomediastin", "(0.97)") == "Enlarged cardiomediastin\n(0.97)"
    assert panels.with_suffix("Edema", "") == "Edema"


def test_captions_are_as_high_as_their_lines_which_a_journal_column_holds():
    text = panels.caption(["word " * 60, "end."])
    assert max(map(len, text.split("\n"))) <= panels.CAPTION_CHARS
    assert panels.caption_mm(text) > panels.caption_mm("one line") > panels.caption_mm("") == 0
