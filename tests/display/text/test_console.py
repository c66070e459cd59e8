"""What a command prints."""

import io

import numpy as np
import pandas as pd
import pytest

from salstats.display.text.console import MAX_ROWS, console_table, print_frame
from salstats.display.text.format import column_texts, number_text, p_text


def lines(frame):
    return console_table(frame).splitlines()


def test_settings_that_never_vary_are_said_once_above():
    frame = pd.DataFrame({"task": ["a", "b"], "estimate": [0.5, 0.25], "unit": "case", "conf_level": 0.95})
    caption, header, *_ = lines(frame)
    assert caption == "conf_level: 0.95, unit: case"
    assert header.split() == ["task", "estimate"]


def test_settings_that_vary_stay_columns():
    frame = pd.DataFrame({"estimate": [0.5, 0.25], "interval": ["delong", "obuchowski"]})
    assert lines(frame)[0].split() == ["estimate", "interval"]


def test_a_setting_that_some_rows_lack_stays_a_column():
    frame = pd.DataFrame({"estimate": [0.5, 0.25], "unit": ["case", None]})
    assert lines(frame)[0].split() == ["estimate", "unit"]


def test_each_column_has_its_own_decimals():
    frame = pd.DataFrame({"estimate": [0.5, 0.25], "statistic": [120.5, 2.0]})
    assert [line.split() for line in lines(frame)[1:]] == [["0.5000", "120.5"], ["0.2500", "2.0"]]


def test_a_terminal_gets_the_columns_that_it_has_room_for(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    frame = estimates()
    print_frame(frame)
    assert capsys.readouterr().out == f"{console_table(frame)}\n"
    monkeypatch.setenv("COLUMNS", "60")
    for options, width in (({}, 60), ({"fit_terminal": True}, 60), ({"fit_terminal": False}, None)):
        terminal = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", terminal)
            print_frame(frame, **options, option_for_all="--all")
        assert terminal.getvalue() == f"{console_table(frame, width, '--all')}\n"


def test_a_table_as_wide_as_the_terminal_is_shown_in_full():
    frame = pd.DataFrame({"case": ["c1", "c2"], "score": [0.5, 0.25], "depth": [1, 2]})
    width = max(map(len, lines(frame)))
    assert console_table(frame, width) == console_table(frame)
    # without an estimate the first column counts before the others
    narrow = console_table(frame, width - 1).splitlines()
    assert narrow[0].split() == ["case", "score"]
    assert narrow[-1] == "also: depth"


def test_names_that_are_broken_are_those_that_are_too_long():
    frame = pd.DataFrame({"case": ["short", "a-name-of-more-than-ten-signs"], "score": [0.5, 0.25]})
    shown = console_table(frame, 30).splitlines()
    assert shown[1].split()[0] == "short"
    # a third of the line
    assert shown[2].split()[0] == "a-na…signs"


def test_missing_is_a_dash_and_never_nan():
    table = console_table(pd.DataFrame({"task": ["a", None], "score": [np.nan, 0.5]}))
    assert "nan" not in table.lower()
    assert "none" not in table.lower()
    assert table.count("—") == 2


def test_columns_are_aligned():
    table = lines(pd.DataFrame({"task": ["a", "long name"], "score": [-0.5, 12.25]}))
    assert len({len(line) for line in table}) == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 1.0], ["0", "1"]),
        ([0.123456, 0.5], ["0.1235", "0.5000"]),
        ([12.3456, -0.001], ["12.35", "-0.00"]),
        ([1e-6, 2e-6], ["0.00000100", "0.00000200"]),
        ([np.inf, -np.inf, 0.5], ["∞", "-∞", "0.5000"]),
    ],
)
def test_a_column_has_the_same_decimals_throughout(values, expected):
    assert column_texts(values) == expected


def test_an_estimate_and_its_limits_have_the_same_decimals():
    frame = pd.DataFrame({"estimate": [0.0502], "conf_low": [-0.00872], "conf_high": [0.1088]})
    assert lines(frame)[1].split() == ["0.0502", "-0.0087", "0.1088"]


def test_p_values_are_never_printed_as_zero():
    assert [p_text(p) for p in (0.0, 9.9e-4, 1e-3, 1.0)] == ["<0.001", "<0.001", "0.001", ">0.999"]
    assert number_text(None) == "—"


def test_p_values_are_on_their_side_of_the_level_of_their_row():
    frame = pd.DataFrame({"p_value": [0.00996, 0.00996], "conf_level": [0.95, 0.99]})
    assert [line.split()[0] for line in lines(frame)[1:]] == ["0.010", "0.00996"]


def test_p_values_at_their_floor_are_printed_as_bounds():
    frame = pd.DataFrame({"p_value": [0.02, 0.03], "p_floor": 0.02, "p_adjusted": 0.06})
    table = lines(frame.assign(p_adjusted_floor=[0.06, np.nan]))
    assert [line.split() for line in table] == [
        ["p_value", "p_adjusted"],
        ["<0.020", "<0.060"],
        ["0.030", "0.060"],
    ]


def test_whole_numbers_that_may_be_missing_are_printed():
    counts = pd.array([15118, None], dtype="Int64")
    assert [row.split() for row in lines(pd.DataFrame({"tp": counts}))] == [["tp"], ["15118"], ["—"]]


def test_the_level_of_a_family_is_said_once_above():
    table = lines(pd.DataFrame({"estimate": [0.5, 0.25], "conf_level": [0.99, 0.98], "family_level": 0.95}))
    assert table[0] == "family_level: 0.95"
    assert table[1].split() == ["estimate"]


def estimates(n=3, **columns):
    """An estimates frame that is too wide for a terminal."""
    frame = pd.DataFrame({"metric": "iou", "task": [f"Finding number {i}" for i in range(n)]})
    numbers = dict.fromkeys(["estimate", "std_error", "df", "p_value", "conf_low", "conf_high"], 0.123456)
    more = dict.fromkeys(
        ["n_missing", "n_units", "n_undefined", "bias", "reference_mean", "method_mean"], 0.5
    )
    return frame.assign(**{**numbers, "conf_level": 0.95, "n": 1234, **more} | columns)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_fit_are_shown_the_limits_before_others_and_the_rest_is_named(width):
    frame = estimates(n_missing=[1, 2, 3], n_undefined=[1, 2, 3])
    text = console_table(frame, width, "--all")
    assert max(map(len, text.splitlines())) <= width
    header = text.splitlines()[1].split()
    assert header[:3] == ["metric", "task", "estimate"]
    assert {"conf_low", "conf_high"} <= set(header)
    below = " ".join(text.split("also: ")[1].split())
    named = below.removesuffix(" (--all shows them)").split(", ")
    assert sorted([*header, *named, "conf_level"]) == sorted(frame.columns)
    narrow = console_table(estimates(task="Consolidation of the lung"), 50).splitlines()[1].split()
    assert len({"conf_low", "conf_high"} & set(narrow)) != 1
    # in the order of the frame
    assert header == [c for c in frame.columns if c in header]


def test_all_columns_and_rows_are_shown_where_no_width_is_given():
    table = lines(estimates(200))
    assert len(table) == 202
    assert table[1].split()[-1] == "method_mean"


def test_of_many_rows_a_terminal_gets_the_first_and_the_last():
    table = console_table(estimates(200), 300).splitlines()
    assert len(table) == 2 + MAX_ROWS + 1
    assert [line.split()[3] for line in (table[2], table[-1])] == ["0", "199"]
    # the last ten stand below the number of those left out
    assert table.index("... 140 more rows") == len(table) - 11
    assert "... 1 more row" in console_table(estimates(MAX_ROWS + 1), 300).splitlines()


def test_a_long_name_leaves_room_for_its_estimate_and_keeps_its_ends():
    names = [f"patient{i}_{'study' * 20}_view{i}" for i in (1, 2)]
    text = console_table(estimates(2, task=names), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "estimate" in text
    assert all(f"patient{i}" in text and f"view{i}" in text for i in (1, 2))
