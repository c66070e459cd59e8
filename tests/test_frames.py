"""The frames of the contract: what makes them valid, writing."""

import gc
import os
import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import full_disk

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError, SalstatsWarning
from salstats.files.frame_files import WRITABLE_SUFFIXES, check_output
from salstats.frames import ColumnCodes, check_scores, distinct_codes

# check_scores


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string"])
def test_text_of_any_kind_makes_a_valid_scores_frame(scores, dtype):
    typed = scores.astype(dict.fromkeys(["case", "task", "method", "metric"], dtype))
    before = typed.copy()
    assert check_scores(typed) is typed
    pd.testing.assert_frame_equal(typed, before)


@pytest.mark.parametrize("column", ["case", "task", "method", "metric"])
@pytest.mark.parametrize("empty", ["", None, np.nan])
def test_a_frame_with_an_empty_name_is_refused(scores, column, empty):
    cells = scores[column].astype(object)
    cells.iloc[2] = empty
    with pytest.raises(
        ColumnError, match=rf"column '{column}' of scores is empty in row 2; every row needs one"
    ):
        check_scores(scores.assign(**{column: cells}))


def test_a_frame_with_a_repeated_observation_is_refused(scores):
    with pytest.raises(
        ColumnError, match=r"rows 0 and 6 of scores are the same observation \(case b, task Edema"
    ):
        check_scores(pd.concat([scores, scores[:1]]))


def test_a_missing_reader_is_one_that_does_not_apply(scores):
    frame = scores.assign(reader=[np.nan] * 3 + ["r1"] * 3)
    assert check_scores(frame) is frame


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_score_is_refused_with_its_case(scores, value):
    scores.iloc[1, 4] = value
    with pytest.raises(
        ColumnError, match=r"'score' of scores is infinite in row 1 \(case a, task Edema, method gradcam"
    ):
        check_scores(scores)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda s: s.drop(columns="metric"), "with scores.assign(metric='...')"),
        (
            lambda s: pd.concat([s.assign(who="ann"), s.assign(who="bob")], ignore_index=True),
            "they differ in 'who': rename it to what it is, reader or",
        ),
        (lambda s: s.rename(columns={"score": "scores"}), "has no column 'score'; did you mean 'scores'"),
        (lambda s: s.astype({"score": "str"}), "column 'score' of scores must be numeric"),
        (lambda s: s[:0], "scores has no rows"),
        (lambda s: s.set_axis(["case", "case", "method", "metric", "score"], axis=1), "column 'case' twice"),
        (lambda s: s.assign(patient=list("pqrstu")), "case 'a' of scores belongs to 2 patients"),
        (lambda s: s.to_dict(), "must be a pandas DataFrame, not dict"),
    ],
)
def test_what_is_no_scores_frame_is_refused(scores, frame, message):
    with pytest.raises(SalstatsError, match=re.escape(message)):
        check_scores(frame(scores))


def test_cases_of_two_data_sets_may_share_a_name(scores):
    both = pd.concat([scores.assign(dataset=d, patient=d + scores["case"]) for d in ("x", "y")])
    assert check_scores(both) is both
    with pytest.raises(ColumnError, match="column 'dataset'"):
        check_scores(both.drop(columns="dataset").assign(reader=both["dataset"]))


# write_frame


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
    expected = result.assign(n=result["n"].astype("str"), gap=result["gap"].astype("str"))
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
    pd.testing.assert_frame_equal(
        back, scores.reset_index(drop=True).astype({"task": "str", "metric": "str"})
    )
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
    expected = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else InputFileError
    with pytest.raises(
        expected, match="cannot write .*No space left" if expected is InputFileError else None
    ):
        ss.write_frame(scores, target, overwrite=True)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"before"] * there


@pytest.mark.parametrize("suffix", WRITABLE_SUFFIXES)
def test_a_full_disk_is_said_once_and_leaves_no_file(tmp_path, scores, suffix, capfd):
    with full_disk(100), pytest.raises(InputFileError, match=r"cannot write .*out.*File too large"):
        ss.write_frame(scores, tmp_path / f"out{suffix}")
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_a_frame_the_format_cannot_hold_leaves_no_file(tmp_path, suffix):
    frame = pd.DataFrame({"x": [1, "a\x01", {"b"}]})
    with pytest.raises(InputFileError, match="cannot write"):
        ss.write_frame(frame, tmp_path / f"out{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_sheet_holds_no_more_rows_than_it_can(tmp_path):
    with pytest.raises(InputFileError, match=r"a sheet holds no 1048576 rows and a header; write \.csv"):
        ss.write_frame(pd.DataFrame({"x": np.zeros(1_048_576)}), tmp_path / "out.xlsx")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", r"its name must end in \.csv, \.parquet, \.xlsx"),
        ("out", r"its name must end in"),
        ("no/out.csv", r"the folder .*no does not exist"),
        ("there.csv", r"the file exists; pass overwrite=True"),
        ("folder.csv", r"it is a folder"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_any_work(tmp_path, scores, name, message):
    (tmp_path / "there.csv").write_text("before")
    (tmp_path / "folder.csv").mkdir()
    for attempt in (check_output, lambda path: ss.write_frame(scores, path)):
        with pytest.raises(InputFileError, match=f"cannot write .*{message}"):
            attempt(tmp_path / name)
    assert (tmp_path / "there.csv").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv", "there.csv"]


def test_a_folder_without_the_right_to_write_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputFileError, match="no right to write in the folder"):
        check_output(tmp_path / "out.csv")


def test_overwriting_replaces_the_file_when_asked(tmp_path, scores):
    ss.write_frame(scores, tmp_path / "out.csv")
    ss.write_frame(scores[:1], tmp_path / "out.csv", overwrite=True)
    assert len(ss.read_scores(tmp_path / "out.csv")) == 1


@pytest.mark.parametrize("frame", [[1, 2], pd.Series([1]), pd.DataFrame([[1, 2]], columns=["a", "a"])])
def test_what_is_no_frame_is_not_written(tmp_path, frame):
    with pytest.raises(SalstatsError, match=r"only a pandas DataFrame|column 'a' is there twice"):
        ss.write_frame(frame, tmp_path / "out.csv")


def test_percentages_in_memory_are_asked_about(scores):
    percent = scores.assign(score=scores["score"] * 100)
    with pytest.warns(SalstatsWarning, match="divide by 100"):
        check_scores(percent)
    # a distance has no such range
    check_scores(percent.assign(metric="hd95"))


def test_codes_that_are_kept_cannot_be_written_in():
    kept = ColumnCodes(pd.DataFrame({"case": ["a", "b"], "reader": pd.Categorical(["r", None])}))
    for codes in (kept, kept.take(np.array([0, 1]))):
        for column in ("case", "reader"):
            with pytest.raises(ValueError, match="read-only"):
                codes.combined([column])[0] = 5


@pytest.mark.parametrize("n_codes", [10, 10**12])
def test_distinct_codes_are_ascending_however_many_there_could_be(n_codes):
    np.testing.assert_array_equal(distinct_codes(np.array([7, 2, 7, 0]), n_codes), [0, 2, 7])
