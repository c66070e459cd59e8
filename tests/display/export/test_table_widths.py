"""Widths of columns, and how they share a page."""

import pandas as pd
import pytest
from display.table_examples import LONG, estimates, long_names
from great_tables import GT

from salstats.display.export.table_grid import Cell, Grid, Row, Run
from salstats.display.export.table_markup import table_grid
from salstats.display.export.table_widths import (
    Column,
    Setting,
    breaks_in,
    cell_width,
    columns_of,
    first_fit,
    fitted,
    text_width,
    unbroken,
    word_parts,
    wrapped,
)

#: Halving stops within this of the room there is.
CLOSE = 1e-3


def column(natural, text=None, numbers=None, anywhere=None, align="left"):
    """A column that gives as much as is said."""
    text = natural if text is None else text
    numbers = text if numbers is None else numbers
    return Column(natural, text, numbers, numbers if anywhere is None else anywhere, align)


def of_frame(frame):
    """The columns of a table of this frame."""
    return columns_of(table_grid(GT(frame)))


def test_widths_are_those_of_helvetica():
    # Adobe's metrics of Helvetica: 0 to 9 are 0.556 em, a space 0.278, an m 0.833, an i 0.222
    assert text_width("0123456789") == pytest.approx(5.56)
    assert text_width("mi ") == pytest.approx(0.833 + 0.222 + 0.278, abs=0.05)
    assert text_width("漢字") == 2.0
    assert text_width("e\u0301") == text_width("e")


def test_bold_is_wider_and_raised_text_is_narrower():
    plain, bold, raised = (
        Cell((Run("0.566", **style),)) for style in ({}, {"bold": True}, {"superscript": True})
    )
    assert cell_width(raised) < cell_width(plain) < cell_width(bold)


def test_the_widest_line_counts():
    assert cell_width(Cell((Run("a\nlonger line\nb"),))) == pytest.approx(text_width("longer line"))


def test_indentation_counts():
    assert cell_width(Cell((Run("a"),), indent=2)) > cell_width(Cell((Run("a"),)))


@pytest.mark.parametrize("limits", ["(0.526, 0.606)", "(−0.497 to −0.354)", "(28.8, 40.4%)", "(—, 0.5)"])
def test_an_interval_is_never_broken_inside(limits):
    assert " " not in unbroken(f"0.5 {limits}").removeprefix("0.5 ")
    (run,) = wrapped((Run(f"0.5 {limits}***", bold=True),), "numbers")
    assert run.text.split("\n") == ["0.5", unbroken(f"{limits}***")]
    assert run.bold


@pytest.mark.parametrize("text", ["Lung (upper, left)", "a (b) c", "none (of 3 or more)"])
def test_words_in_brackets_are_no_interval(text):
    assert unbroken(text) == text
    assert wrapped((Run(text),), "numbers") == (Run(text),)


def test_text_may_break_in_a_column_of_text_and_numbers_may_not():
    words, numbers = of_frame(
        pd.DataFrame({"t": ["some words that are a label"], "v": ["0.566 (0.526, 0.606)"]})
    )
    assert words.text < words.natural
    assert numbers.text == numbers.natural
    assert numbers.anywhere < numbers.numbers < numbers.text


def test_headings_may_break_over_numbers():
    (numbers,) = of_frame(pd.DataFrame({"Percentage decrease from the benchmark": [1.5, 2.5]}))
    assert numbers.text < numbers.natural / 2


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("short_name", ["short_name"]),
        ("a" * 25, ["a" * 25]),
        ("a" * 40, ["a" * 10] * 4),
        ("configuration/of-the_model", ["configuration/", "of-", "the_", "model"]),
    ],
)
def test_only_long_words_have_parts(word, parts):
    assert word_parts(word) == parts
    assert "".join(word_parts(word)) == word


def test_columns_that_fit_have_their_natural_width():
    assert fitted([column(5), column(7)], Setting(120, 10, 0)) == [5, 7]


def test_wide_columns_give_first_and_never_more_than_they_can():
    columns = [column(40, 5), column(10, 5), column(8)]
    widths = fitted(columns, Setting(300, 10, 0))
    assert sum(widths) == pytest.approx(30, abs=CLOSE)
    assert widths[1:] == [10, 8]
    assert fitted([column(40, 25), column(10)], Setting(300, 10, 0)) is None


def test_space_between_columns_counts():
    assert fitted([column(5), column(5)], Setting(100, 10, 0)) == [5, 5]
    assert fitted([column(5), column(5)], Setting(100, 10, 1)) is None


def test_the_first_setting_that_fits_is_taken():
    columns = [column(20, 20, 10)]
    small, large = Setting(100, 10, 0), Setting(200, 10, 0, turned=True)
    assert first_fit(columns, [small, large])[0] is large
    broken = Setting(100, 10, 0, "numbers")
    assert first_fit(columns, [small, broken, large])[0] is broken


def test_numbers_stay_whole_in_a_column_that_only_its_heading_makes_wide():
    setting = Setting(100, 10, 0, "numbers")
    assert breaks_in(column(12, 6, 3), 6, setting) == "text"
    assert breaks_in(column(12, 6, 3), 5, setting) == "numbers"


def test_what_fits_nowhere_is_squeezed_into_the_last_setting():
    setting, widths = first_fit([column(30), column(60)], [Setting(300, 10, 0)])
    assert sum(widths) == pytest.approx(setting.room(2))
    assert widths[1] == pytest.approx(2 * widths[0])


def test_a_long_spanner_does_not_make_its_columns_as_wide_as_itself():
    narrow = columns_of(table_grid(long_names()))[-1]
    assert narrow.natural < text_width(LONG) / 3


def test_a_short_spanner_has_room():
    frame = pd.DataFrame({"a": [1], "b": [2]})
    columns = columns_of(table_grid(GT(frame).tab_spanner("Method 1", ["a", "b"])))
    assert sum(c.natural for c in columns) >= text_width("Method 1")


def test_labels_of_groups_do_not_widen_columns():
    frame = pd.DataFrame({"g": [LONG], "t": ["a"], "v": [1]})
    grouped = columns_of(table_grid(GT(frame, rowname_col="t", groupname_col="g")))
    assert grouped == columns_of(table_grid(GT(frame[["t", "v"]], rowname_col="t")))


def test_a_table_without_columns_has_no_widths():
    grid = Grid((), (Row(()),))
    assert columns_of(grid) == []
    assert first_fit([], [Setting(100, 10, 0)])[1] == []


def test_every_column_of_a_paper_table_has_a_width():
    assert len(columns_of(table_grid(estimates(3, 2)))) == 5
