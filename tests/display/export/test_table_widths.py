"""Widths of columns, and how they share a page."""

import pytest
from display.table_examples import LONG, estimates, long_names

from salstats.display.export.table_files import table_rows
from salstats.display.export.table_widths import (
    Column,
    Setting,
    columns_of,
    first_fit,
    number_lines,
    text_width,
)
from salstats.display.tables.layout import Column as Heading
from salstats.display.tables.layout import Table, build

#: Halving stops within this of the room there is.
CLOSE = 1e-3
#: Widths of Helvetica in ems are met within this.
NEAR = 0.1


def column(natural, text=None, numbers=None, limits=None):
    """A column that gives as much as is said."""
    text = natural if text is None else text
    numbers = text if numbers is None else numbers
    return Column(natural, text, numbers, numbers if limits is None else limits)


def of_columns(headings, *rows):
    """The columns of cells of a table."""
    table = Table(("",), [("t",)] * len(rows), [Heading(h) for h in headings], [list(row) for row in rows])
    return columns_of(table_rows(build(table, "t")))[1:]


def test_widths_are_about_those_of_helvetica():
    # Adobe's metrics of Helvetica: 0 to 9 are 0.556 em, a space 0.278, an m 0.833, an i 0.222
    assert text_width("0123456789") == pytest.approx(5.56)
    assert text_width("mi ") == pytest.approx(0.833 + 0.222 + 0.278, abs=NEAR)
    assert text_width("漢字") == 2.0
    assert text_width("e\u0301") == text_width("e")


def test_numbers_break_before_their_interval_and_text_at_spaces():
    number, text = of_columns(["v", "w"], ["0.566 (0.526, 0.606)", "some words that are a label"])
    assert number.text == number.natural
    assert number.limits < number.numbers < number.text
    assert text.text < text.natural


def test_headings_may_break_over_numbers():
    (numbers,) = of_columns(["Percentage decrease from the benchmark"], ["1.5"], ["2.5"])
    assert numbers.text < numbers.natural / 2


@pytest.mark.parametrize("limits", ["(0.526, 0.606)***", "(−0.497 to −0.354)", "[—, 0.5]", "(28.8%)"])
def test_an_interval_goes_below_its_estimate_in_one_piece_unless_there_is_no_room(limits):
    own = column(10, 10, 6, 4)
    whole = limits.replace(" ", "\u00a0")
    assert number_lines(f"0.5 {limits}", own, 10) == (f"0.5 {whole}",)
    assert number_lines(f"0.5 {limits}", own, 7) == ("0.5", whole)
    assert number_lines(f"0.5 {limits}", own, 4) == ("0.5", *limits.split(" "))


@pytest.mark.parametrize("text", ["Lung (upper, left)", "a (b) c", "2 of 3 methods (both)"])
def test_words_in_brackets_are_no_interval(text):
    assert number_lines(text, column(10, 5), 5) == ()


def test_columns_that_fit_have_their_natural_width():
    assert first_fit([column(5), column(7)], [Setting(120, 10, 0)])[1] == [5, 7]


def test_wide_columns_give_first_and_never_more_than_they_can():
    _, widths = first_fit([column(40, 5), column(10, 5), column(8)], [Setting(300, 10, 0)])
    assert sum(widths) == pytest.approx(30, abs=CLOSE)
    assert widths[1:] == [10, 8]


def test_the_first_setting_that_fits_is_taken():
    columns = [column(20, 20, 10)]
    small, large = Setting(100, 10, 0), Setting(200, 10, 0, turned=True)
    assert first_fit(columns, [small, large])[0] is large
    broken = Setting(100, 10, 0, "numbers")
    assert first_fit(columns, [small, broken, large])[0] is broken
    assert first_fit([column(5), column(5)], [Setting(100, 10, 1), large])[0] is large


def test_what_fits_nowhere_is_squeezed_into_the_last_setting():
    setting, widths = first_fit([column(30), column(60)], [Setting(300, 10, 0)])
    assert sum(widths) == pytest.approx(setting.room(2))
    assert widths[1] == pytest.approx(2 * widths[0])


def test_a_spanner_has_room_where_it_is_short_and_labels_of_groups_take_none():
    assert columns_of(table_rows(long_names()))[-1].natural < text_width(LONG) / 3
    columns = columns_of(table_rows(estimates(3, 2)))
    assert len(columns) == 5
    assert sum(c.natural for c in columns[1:3]) >= text_width("Method 0")
