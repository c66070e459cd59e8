"""Tables to files: every ending, checked before any work, nothing half written."""

import re

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, rich
from great_tables import GT

import salstats as ss
from salstats.checks import InputFileError, SalstatsError
from salstats.display.export import table_files
from salstats.display.export.table_files import save_table_as
from salstats.display.export.table_markup import table_grid, table_html


@pytest.fixture
def small():
    return GT(pd.DataFrame({"task": ["Edema"], "iou": [0.5]}), rowname_col="task")


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("t.html", b"<!DOCTYPE html>"),
        ("t.tex", b"% Needs in the preamble:"),
        ("t.docx", b"PK"),
        ("t.csv", b"\xef\xbb\xbf"),
        ("T.CSV", b"\xef\xbb\xbf"),
    ],
)
def test_the_ending_gives_the_format(small, tmp_path, name, start):
    file = ss.save_table(small, tmp_path / name)
    assert file == tmp_path / name
    assert file.read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("suffix", [".html", ".tex", ".docx", ".csv"])
def test_the_same_table_gives_the_same_file(suffix, tmp_path):
    files = [ss.save_table(rich(), tmp_path / f"t{suffix}", overwrite=True).read_bytes() for _ in range(2)]
    assert files[0] == files[1]


@pytest.mark.parametrize("suffix", [".html", ".tex", ".docx", ".csv"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_tables_of_every_shape_are_written(name, suffix, tmp_path):
    file = ss.save_table(EXAMPLES[name](), tmp_path / f"t{suffix}")
    assert file.stat().st_size > 0 or (name, suffix) == ("without_columns", ".csv")


def test_what_a_user_added_is_in_every_format(small, tmp_path):
    table = small.tab_header("A title of my own").tab_source_note("A note of my own")
    for suffix in (".html", ".tex"):
        text = ss.save_table(table, tmp_path / f"t{suffix}").read_text(encoding="utf-8")
        assert "A title of my own" in text
        assert "A note of my own" in text


def test_the_table_itself_is_not_changed(small, tmp_path):
    before = re.sub(r"[a-z]{10}", "", small.as_raw_html())
    ss.save_table(small, tmp_path / "t.docx")
    assert re.sub(r"[a-z]{10}", "", small.as_raw_html()) == before


def test_several_files_are_written_from_one_rendering(small, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(table_files, "table_html", lambda t: calls.append(1) or table_html(t))
    targets = [tmp_path / f"t{suffix}" for suffix in (".csv", ".html", ".tex", ".docx")]
    grid = save_table_as(small, targets)
    assert len(calls) == 1
    assert grid == table_grid(small)
    assert all(target.stat().st_size for target in targets)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("t.pdf", r"must end in \.html, \.tex, \.docx, \.csv, \.png"),
        ("t", "must end in"),
        ("nowhere/t.csv", "does not exist"),
        ("folder.csv", "it is a folder"),
        ("there.csv", "overwrite=True"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_before_any_work(small, tmp_path, path, message, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("mine")
    monkeypatch.setattr(table_files, "table_html", lambda _: pytest.fail("rendered"))
    with pytest.raises(InputFileError, match=message):
        ss.save_table(small, tmp_path / path)
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_file_is_replaced_when_told_to(small, tmp_path):
    (tmp_path / "t.csv").write_text("old")
    assert "Edema" in ss.save_table(small, tmp_path / "t.csv", overwrite=True).read_text("utf-8-sig")


def test_a_failure_leaves_the_old_file_and_no_other(small, tmp_path, monkeypatch):
    (tmp_path / "t.tex").write_text("old")
    monkeypatch.setattr(table_files, "grid_latex", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ss.save_table(small, tmp_path / "t.tex", overwrite=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("t.tex", "old")]


@pytest.mark.parametrize("what", [pd.DataFrame({"a": [1]}), None, "<table></table>"])
def test_only_a_table_can_be_written(what, tmp_path):
    with pytest.raises(SalstatsError, match=r"only a great-tables table \(GT\)"):
        ss.save_table(what, tmp_path / "t.csv")
