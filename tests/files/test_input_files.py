"""The door of files: no pipe is waited for, and what asks for more than the limit is never made."""

import json
import os
import shutil
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from openpyxl import Workbook
from pyarrow import parquet
from study_files import write_study
from tests_support import quick, raises

import salstats as ss
from salstats import memory_limit
from salstats.cli.app import run
from salstats.errors import ColumnError, InputFileError
from salstats.files import input_files
from salstats.files.input_files import is_one_unnamed_value, opened, read_json
from salstats.readers.map_files import read_map


def set_limit(monkeypatch, n_bytes):
    monkeypatch.setenv(memory_limit.LIMIT_VARIABLE, repr(n_bytes / 2**30))


def test_a_file_larger_than_the_limit_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(json.dumps({"a": 1}))
    assert read_json(tmp_path / "a.json") == {"a": 1}
    set_limit(monkeypatch, 7)
    with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE, path=tmp_path / "a.json"):
        read_json(tmp_path / "a.json")


def test_a_file_that_is_empty_or_not_there_is_no_input(tmp_path):
    (tmp_path / "a.json").touch()
    for name in ("a.json", "b.json"):
        with raises(InputFileError, path=tmp_path / name):
            read_json(tmp_path / name)


def test_only_what_is_read_in_parts_may_be_of_any_size(tmp_path, monkeypatch):
    (tmp_path / "a.bin").write_bytes(b"12345678")
    set_limit(monkeypatch, 8)
    with opened(tmp_path / "a.bin") as stream:
        assert stream.read() == b"12345678"
    set_limit(monkeypatch, 7)
    with opened(tmp_path / "a.bin", any_size=True) as stream:
        assert stream.read(2) == b"12"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"a": 1,\n"b": }', {"rows": (1,)}),
        ('{"a": 1, "a": 2}', {"value": "a", "rows": ()}),
        ("[" * 100_000, {}),
    ],
)
def test_what_is_no_json_is_named_with_its_line(tmp_path, text, fields):
    (tmp_path / "a.json").write_text(text)
    with raises(InputFileError, path=tmp_path / "a.json", **fields):
        read_json(tmp_path / "a.json")


def test_json_that_is_no_text_names_its_file(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"a": "\xff\xfe\xfa"}')
    with raises(InputFileError, path=tmp_path / "a.json"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("option", ["truth", "annotations", "human", "human-annotations", "points", "labels"])
def test_a_pipe_is_refused_whatever_option_names_it(tmp_path, capsys, option):
    write_study(tmp_path / "study")
    pipe = tmp_path / ("pipe.csv" if option == "labels" else "pipe.json")
    os.mkfifo(pipe)
    said = ["score", str(tmp_path / "study"), f"--{option}", str(pipe), "-o", str(tmp_path / "out.csv")]
    assert run(said) == 2
    assert pipe.name in capsys.readouterr().err


# images


def test_a_truth_that_says_it_is_huge_is_refused_before_it_is_made(tmp_path):
    truth = {"a": {"Edema": {"size": [46340, 46340], "counts": [46340 * 46340]}}}
    file = tmp_path / "gt_segmentations.json"
    file.write_text(json.dumps(truth))
    # the setting that allows it
    with raises(
        InputFileError, path=file, column="size", value=("a", "Edema"), match=memory_limit.LIMIT_VARIABLE
    ):
        ss.read_chexlocalize(tmp_path)


# tables


def test_rows_that_a_parquet_file_only_states_are_not_made(tmp_path, monkeypatch):
    table = pa.table({"case": pa.array(["a"] * 20_000).dictionary_encode(), "score": np.zeros(20_000)})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 3000
    assert len(ss.read_data(tmp_path / "a.parquet")) == 20_000
    set_limit(monkeypatch, 30_000 * memory_limit.BYTES_PER_CELL)
    with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE) as caught:
        ss.read_data(tmp_path / "a.parquet")
    assert caught.value.value >= 20_000 * 2 * memory_limit.BYTES_PER_CELL


@pytest.mark.parametrize("kept", [True, False])
def test_a_long_text_that_a_parquet_file_holds_once_is_not_written_out(tmp_path, monkeypatch, kept):
    table = pa.table({"note": pa.array(["x" * 10_000] * 1000).dictionary_encode()})
    parquet.write_table(table, tmp_path / "a.parquet", store_schema=kept)
    set_limit(monkeypatch, 1_000_000)
    with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE) as caught:
        ss.read_data(tmp_path / "a.parquet")
    assert caught.value.value >= 1000 * 10_000


def test_a_list_in_a_parquet_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"box": [np.zeros(10_000)]}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_: pytest.fail("read"))
    with raises(ColumnError, column="box", path=tmp_path / "a.parquet"):
        ss.read_data(tmp_path / "a.parquet")


def test_a_workbook_that_unpacks_to_more_than_the_limit_is_not_unpacked(tmp_path, monkeypatch):
    pd.DataFrame({"case": ["a"] * 3, "size": 1.0}).to_excel(tmp_path / "good.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good:
        parts = {name: good.read(name) for name in good.namelist()}
    with zipfile.ZipFile(tmp_path / "bad.xlsx", "w", zipfile.ZIP_DEFLATED) as bad:
        for name, content in parts.items():
            bad.writestr(name, content + b" " * 1_000_000 if name.endswith("sheet1.xml") else content)
    assert (tmp_path / "bad.xlsx").stat().st_size < 20_000
    assert len(ss.read_data(tmp_path / "bad.xlsx")) == 3
    set_limit(monkeypatch, 2_000_000)
    assert len(ss.read_data(tmp_path / "good.xlsx")) == 3
    with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE, path=tmp_path / "bad.xlsx"):
        ss.read_data(tmp_path / "bad.xlsx")


def test_cells_far_to_the_right_of_a_sheet_are_counted(tmp_path, monkeypatch):
    book = Workbook()
    book.active.append(["case", "size"])
    for row in range(2, 40):
        book.active.append(["a", row])
        book.active.cell(row, 16_384).number_format = "0.00"
    book.save(tmp_path / "wide.xlsx")
    set_limit(monkeypatch, 30 * 16_384 * memory_limit.BYTES_PER_SHEET_CELL)
    # the row down to which the cells are counted
    wide = tmp_path / "wide.xlsx"
    with raises(InputFileError, option=memory_limit.LIMIT_VARIABLE, path=wide, match=r"\b31\b"):
        ss.read_data(tmp_path / "wide.xlsx")


def test_data_folder_is_found_inside_an_installed_package(tmp_path, monkeypatch):
    (tmp_path / "salstats" / "_data" / "published").mkdir(parents=True)
    monkeypatch.setattr(input_files, "__file__", str(tmp_path / "salstats" / "files" / "input_files.py"))
    assert input_files.data_folder() == tmp_path / "salstats" / "_data"
    shutil.rmtree(tmp_path / "salstats" / "_data")
    with raises(InputFileError, path=tmp_path / "salstats" / "_data"):
        input_files.data_folder()


def test_a_key_that_stands_twice_among_many_is_found_at_once(tmp_path):
    keys = [*(f'"k{i}": 0' for i in range(60_000)), '"k59999": 0']
    (tmp_path / "a.json").write_text(f"{{{','.join(keys)}}}")
    with quick(5), raises(InputFileError, path=tmp_path / "a.json", value="k59999"):
        read_json(tmp_path / "a.json")


def test_a_whole_number_that_no_float_holds_is_infinite(tmp_path):
    digits = "9" * 400
    largest = int(sys.float_info.max)
    numbers = [10**290, largest, -largest, 10 ** len(str(largest)), -2 * largest]
    (tmp_path / "a.json").write_text(f"[{digits}, -{digits}, {'9' * 5000}, {', '.join(map(str, numbers))}]")
    read = read_json(tmp_path / "a.json")
    assert read == [np.inf, -np.inf, np.inf, 10**290, largest, -largest, np.inf, -np.inf]
    assert [type(number) for number in read[3:6]] == [int] * 3


class TestNames:
    """Names that the system does not take, or that are no text."""

    @pytest.mark.parametrize(
        ("stem", "shown"), [("x" * 300, "x{300}"), ("a\0b", r"a\\x00b"), (f"{'x' * 300}/a", "x{300}/a")]
    )
    @pytest.mark.parametrize(
        "read",
        [
            lambda place, stem: ss.read_scores(place / f"{stem}.csv"),
            lambda place, stem: ss.read_scores(place / f"{stem}.parquet"),
            lambda place, stem: ss.read_study(place / stem),
            lambda place, stem: ss.read_gaze(place / stem),
            lambda place, stem: read_json(place / f"{stem}.json"),
            lambda place, stem: read_map(place / f"{stem}.png"),
            lambda place, stem: ss.read_study(place, format="chexlocalize", truth=place / f"{stem}.json"),
        ],
    )
    def test_a_name_that_the_system_does_not_take_is_an_error_that_shows_it(
        self, tmp_path, read, stem, shown
    ):
        with pytest.raises(InputFileError, match=shown):
            read(tmp_path, stem)

    def test_a_file_whose_name_is_no_text_is_read(self, tmp_path):
        file = tmp_path / os.fsdecode(b"nu\xff.csv")
        scores = ss.datasets.load_simulated().head(4)
        try:
            ss.write_frame(scores, file)
        except InputFileError:
            pytest.skip("the file system takes no such name")
        assert len(ss.read_scores(file)) == 4
        file.write_text("case,method,metric,score\na,g,iou,high\n")
        with raises(ColumnError, column="score", rows=(0,), path=file):
            ss.read_scores(file)


def test_a_text_with_an_equals_sign_is_one_value_only_if_it_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_one_unnamed_value(["gradcam=a.json"])
    assert not is_one_unnamed_value(["a.json", "b.json"])
    assert is_one_unnamed_value(["a.json"])
    (tmp_path / "gradcam=a.json").write_text("{}")
    assert is_one_unnamed_value(["gradcam=a.json"])


def test_a_file_that_the_system_does_not_open_is_named_with_its_cause(tmp_path):
    # longer than a name of a file can be
    file = tmp_path / f"{'a' * 300}.json"
    with raises(InputFileError, path=file) as caught:
        read_json(file)
    assert isinstance(caught.value.__cause__, OSError)
    assert not isinstance(caught.value.__cause__, FileNotFoundError)
