"""What a command prints."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import InputFileError
from salstats.display.console import console_table
from salstats.display.demo import TABLES, run_demo
from salstats.display.format import column_text, number_text, p_text


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
    assert column_text(values) == expected


def test_p_values_are_never_printed_as_zero():
    assert [p_text(p) for p in (0.0, 9.9e-4, 1e-3, 1.0)] == ["<0.001", "<0.001", "0.001", "1.000"]
    assert number_text(None) == "—"


def test_demo_prints_the_main_job_and_writes_its_tables(tmp_path, capsys):
    frames = run_demo(tmp_path / "demo")
    printed = capsys.readouterr().out
    assert "simulated" in printed.splitlines()[0].lower()
    assert set(frames) == set(TABLES)
    for name, frame in frames.items():
        assert f"\n{name}: ss." in printed
        written = pd.read_csv(tmp_path / "demo" / f"{name}.csv")
        pd.testing.assert_frame_equal(
            written, frame.astype(written.dtypes.to_dict()), check_exact=True, check_dtype=False
        )
    decrease = ss.percent_decrease(
        ss.datasets.load_simulated(), reference="human", average="task", adjust="bonferroni"
    )
    pd.testing.assert_frame_equal(frames["decrease"], decrease)


def test_demo_replaces_only_its_own_folder(tmp_path, capsys):
    run_demo(tmp_path / "demo")
    with pytest.raises(InputFileError, match="pass --overwrite"):
        run_demo(tmp_path / "demo")
    run_demo(tmp_path / "demo", overwrite=True)
    (tmp_path / "demo" / "thesis.csv").write_text("mine")
    with pytest.raises(InputFileError, match="other files"):
        run_demo(tmp_path / "demo", overwrite=True)
    assert (tmp_path / "demo" / "thesis.csv").read_text() == "mine"
    with pytest.raises(InputFileError, match="does not exist"):
        run_demo(tmp_path / "no" / "demo")
