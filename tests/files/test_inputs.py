"""The door of files: no pipe is waited for, and what asks for more than the limit is never made."""

import json
import os
import shutil
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from openpyxl import Workbook
from pyarrow import parquet
from study_files import write_study

import salstats as ss
from salstats import checks
from salstats.checks import InputFileError, SalstatsError
from salstats.cli.app import run
from salstats.files import inputs
from salstats.files.inputs import read_json


def set_limit(monkeypatch, n_bytes):
    monkeypatch.setenv(checks.LIMIT, repr(n_bytes / 2**30))


@pytest.mark.parametrize("text", ["0", "-1", "nan", "many", ""])
def test_a_limit_that_is_none_is_an_error(monkeypatch, text):
    monkeypatch.setenv(checks.LIMIT, text)
    with pytest.raises(SalstatsError, match=checks.LIMIT):
        checks.limit()


def test_a_file_larger_than_the_limit_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(json.dumps({"a": 1}))
    assert read_json(tmp_path / "a.json") == {"a": 1}
    set_limit(monkeypatch, 7)
    with pytest.raises(InputFileError, match=rf"a\.json: its content would take .* {checks.LIMIT} raises it"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("option", ["truth", "annotations", "human", "human-annotations", "points", "labels"])
def test_a_pipe_is_refused_whatever_option_names_it(tmp_path, capsys, option):
    write_study(tmp_path / "study")
    pipe = tmp_path / ("pipe.csv" if option == "labels" else "pipe.json")
    os.mkfifo(pipe)
    said = ["score", str(tmp_path / "study"), f"--{option}", str(pipe), "-o", str(tmp_path / "out.csv")]
    assert run(said) == 2
    assert f"{pipe.name}: no plain file" in capsys.readouterr().err


# images


def test_a_truth_that_says_it_is_huge_is_refused_before_it_is_made(tmp_path):
    truth = {"a": {"Edema": {"size": [46340, 46340], "counts": [46340 * 46340]}}}
    (tmp_path / "gt_segmentations.json").write_text(json.dumps(truth))
    with pytest.raises(InputFileError, match=rf"case a, task Edema: .*46340 x 46340 would.*{checks.LIMIT}"):
        ss.read_chexlocalize(tmp_path)


# tables


def test_rows_that_a_parquet_file_only_states_are_not_made(tmp_path, monkeypatch):
    table = pa.table({"case": pa.array(["a"] * 20_000).dictionary_encode(), "score": np.zeros(20_000)})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 3000
    assert len(ss.read_data(tmp_path / "a.parquet")) == 20_000
    set_limit(monkeypatch, 30_000 * checks.CELL)
    with pytest.raises(InputFileError, match="its 20000 rows of 2 columns would take"):
        ss.read_data(tmp_path / "a.parquet")


@pytest.mark.parametrize("kept", [True, False])
def test_a_long_text_that_a_parquet_file_holds_once_is_not_written_out(tmp_path, monkeypatch, kept):
    table = pa.table({"note": pa.array(["x" * 10_000] * 1000).dictionary_encode()})
    parquet.write_table(table, tmp_path / "a.parquet", store_schema=kept)
    set_limit(monkeypatch, 1_000_000)
    with pytest.raises(InputFileError, match=r"column 'note'.*would take"):
        ss.read_data(tmp_path / "a.parquet")


def test_a_list_in_a_parquet_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"box": [np.zeros(10_000)]}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "read", lambda *_: pytest.fail("read"))
    with pytest.raises(SalstatsError, match=r"column 'box'.*list"):
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
    with pytest.raises(InputFileError, match="unpacked XML would take"):
        ss.read_data(tmp_path / "bad.xlsx")


def test_cells_far_to_the_right_of_a_sheet_are_counted(tmp_path, monkeypatch):
    book = Workbook()
    book.active.append(["case", "size"])
    for row in range(2, 40):
        book.active.append(["a", row])
        book.active.cell(row, 16_384).number_format = "0.00"
    book.save(tmp_path / "wide.xlsx")
    set_limit(monkeypatch, 30 * 16_384 * checks.SHEET_CELL)
    with pytest.raises(InputFileError, match="cells down to row 31 would take"):
        ss.read_data(tmp_path / "wide.xlsx")


def test_data_folder_is_found_inside_an_installed_package(tmp_path, monkeypatch):
    (tmp_path / "salstats" / "_data" / "published").mkdir(parents=True)
    monkeypatch.setattr(inputs, "__file__", str(tmp_path / "salstats" / "files" / "inputs.py"))
    assert inputs.data_folder() == tmp_path / "salstats" / "_data"
    shutil.rmtree(tmp_path / "salstats" / "_data")
    with pytest.raises(InputFileError, match="the embedded data are not there"):
        inputs.data_folder()
