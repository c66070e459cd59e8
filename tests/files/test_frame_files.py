"""Frames written to files: in full precision, whole or not at all."""

import errno
import gc
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import full_disk, raises, with_text_columns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.files.frame_files import WRITABLE_SUFFIXES, check_output


@pytest.fixture
def result():
    """Text, numbers to the last bit, whole numbers, truth values, gaps."""
    values = np.random.default_rng(3).random(40) * 10.0 ** np.arange(-20, 20)
    values[::7] = np.nan
    values[3:6] = [5e-324, np.finfo(float).max, 0.1 + 0.2]
    return pd.DataFrame(
        {
            "case": [f"{i:03d}" for i in range(40)],
            "task": ["=1+1", "NA", "a,b", 'say "x"', "#N/A"] * 8,
            "size": values,
            "n": np.arange(40) + 2**53,
            "whole": np.arange(40.0),
            "gap": [None, "text"] * 20,
        }
    )


@pytest.mark.parametrize("suffix", WRITABLE_SUFFIXES)
def test_what_is_written_reads_back_in_full_precision(tmp_path, result, suffix):
    file = ss.write_frame(result, tmp_path / f"out{suffix}")
    assert file == tmp_path / f"out{suffix}"
    back = ss.read_data(file)
    expected = with_text_columns(result.astype({"n": "str"}))
    pd.testing.assert_frame_equal(back, expected, check_exact=True)


def test_large_whole_numbers_are_text_in_a_workbook_whose_numbers_are_doubles(tmp_path, result):
    from openpyxl import load_workbook

    ss.write_frame(result, tmp_path / "out.xlsx")
    sheet = load_workbook(tmp_path / "out.xlsx")["Sheet1"]
    assert [row[3] for row in sheet.iter_rows(min_row=2, values_only=True)] == [str(n) for n in result["n"]]


@pytest.mark.parametrize("suffix", WRITABLE_SUFFIXES)
def test_an_infinite_limit_is_written_as_one(tmp_path, suffix):
    frame = pd.DataFrame({"term": ["x", "y"], "conf_high": [np.inf, -np.inf]})
    back = ss.read_data(ss.write_frame(frame, tmp_path / f"out{suffix}"))
    assert back["conf_high"].tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("suffix", WRITABLE_SUFFIXES)
def test_the_index_is_left_out_and_the_frame_is_unchanged(tmp_path, scores, suffix):
    before = scores.copy()
    back = ss.read_scores(ss.write_frame(scores, tmp_path / f"out{suffix.upper()}"))
    expected = with_text_columns(scores.reset_index(drop=True))
    pd.testing.assert_frame_equal(back, expected)
    pd.testing.assert_frame_equal(scores, before)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, scores, umask, mode):
    old = os.umask(umask)
    try:
        file = ss.write_frame(scores, tmp_path / "out.csv")
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("suffix", WRITABLE_SUFFIXES)
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failure_midway_leaves_everything_as_it_was(tmp_path, scores, monkeypatch, suffix, failure, there):
    target = tmp_path / f"out{suffix}"
    if there:
        target.write_bytes(b"before")

    def fail(self, *args, **kwargs):
        assert len(list(tmp_path.iterdir())) == 1 + there, "it fails while the temporary file is there"
        raise failure

    monkeypatch.setattr(Path, "replace", fail)
    if isinstance(failure, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            ss.write_frame(scores, target, overwrite=True)
    else:
        # what the system says
        with raises(InputFileError, path=target, match=failure.strerror) as caught:
            ss.write_frame(scores, target, overwrite=True)
        assert caught.value.__cause__ is failure
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"before"] * there


@pytest.mark.parametrize(
    "suffix", [pytest.param(s, marks=() if s == ".csv" else pytest.mark.slow) for s in WRITABLE_SUFFIXES]
)
def test_a_full_disk_is_said_once_and_leaves_no_file(tmp_path, scores, suffix, capfd):
    file = tmp_path / f"out{suffix}"
    with full_disk(100), raises(InputFileError, path=file) as caught:
        ss.write_frame(scores, file)
    assert caught.value.__cause__.errno == errno.EFBIG
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_a_frame_the_format_cannot_hold_leaves_no_file(tmp_path, suffix):
    frame = pd.DataFrame({"x": [1, "a\x01", {"b"}]})
    # the first value that a workbook does not hold
    value = "a\x01" if suffix == ".xlsx" else None
    with raises(InputFileError, path=tmp_path / f"out{suffix}", value=value):
        ss.write_frame(frame, tmp_path / f"out{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_sheet_holds_no_more_rows_than_it_can(tmp_path):
    file = tmp_path / "out.xlsx"
    with raises(InputFileError, path=file, value=1_048_576):
        ss.write_frame(pd.DataFrame({"x": np.zeros(1_048_576)}), file)


@pytest.mark.parametrize(
    ("name", "option", "choices"),
    [
        ("out.txt", None, WRITABLE_SUFFIXES),
        ("out", None, WRITABLE_SUFFIXES),
        ("no/out.csv", None, ()),
        ("there.csv", "overwrite", ()),
        ("folder.csv", None, ()),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_any_work(tmp_path, scores, name, option, choices):
    (tmp_path / "there.csv").write_text("before")
    (tmp_path / "folder.csv").mkdir()
    for attempt in (check_output, lambda path: ss.write_frame(scores, path)):
        missing_folder = tmp_path / "no" if name == "no/out.csv" else None
        file = tmp_path / name
        with raises(InputFileError, path=file, option=option, choices=choices, value=missing_folder):
            attempt(tmp_path / name)
    assert (tmp_path / "there.csv").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv", "there.csv"]


def test_a_folder_without_the_right_to_write_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with raises(InputFileError, path=tmp_path / "out.csv", value=None):
        check_output(tmp_path / "out.csv")


def test_overwriting_replaces_the_file_when_asked(tmp_path, scores):
    ss.write_frame(scores, tmp_path / "out.csv")
    ss.write_frame(scores[:1], tmp_path / "out.csv", overwrite=True)
    assert len(ss.read_scores(tmp_path / "out.csv")) == 1


@pytest.mark.parametrize("values", [[1, 2], pd.Series([1])], ids=["list", "series"])
def test_what_is_no_frame_is_not_written(tmp_path, values):
    with raises(SalstatsError, option="frame", value=type(values).__name__):
        ss.write_frame(values, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_frame_with_a_column_twice_is_not_written(tmp_path):
    with raises(ColumnError, column="a"):
        ss.write_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]), tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []
