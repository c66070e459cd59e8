"""Tables to files: every ending, checked before any work, nothing half written."""

import copy
import pickle

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, one_cell, rich, visible_words
from great_tables import GT, html, loc, md, style

import salstats as ss
from salstats.checks import InputFileError, SalstatsError
from salstats.display.export import table_files
from salstats.display.export.table_files import save_table_as, table_rows

TEXTS = (".html", ".tex", ".docx", ".csv")


@pytest.fixture
def foreign():
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
def test_the_ending_gives_the_format(tmp_path, name, start):
    file = ss.save_table(one_cell(), tmp_path / name)
    assert file == tmp_path / name
    assert file.read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_tables_of_every_shape_are_written_and_the_same_twice(name, suffix, tmp_path):
    files = [ss.save_table(EXAMPLES[name](), tmp_path / f"t{suffix}", overwrite=True) for _ in range(2)]
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first


@pytest.mark.parametrize("name", EXAMPLES)
def test_rows_say_what_the_html_says(name):
    rows = table_rows(EXAMPLES[name]())
    cells = [cell for line in (*rows.head, *(row.cells for row in rows.body)) for cell in line if cell.rows]
    texts = [rows.title, rows.subtitle, *(cell.text for cell in cells), *rows.notes]
    shown = [word for text in texts for word in text.split()]
    assert sorted(shown) == sorted(visible_words(EXAMPLES[name]()))


def test_what_a_user_added_is_in_every_format(tmp_path):
    table = (
        one_cell().tab_header("A title of my own", md("and *more*")).tab_source_note(html("My <b>note</b>"))
    )
    for suffix in (".html", ".tex"):
        text = ss.save_table(table, tmp_path / f"t{suffix}").read_text(encoding="utf-8")
        assert "A title of my own" in text
        assert "My" in text
    rows = table_rows(table)
    assert (rows.title, rows.subtitle, rows.notes[-1]) == ("A title of my own", "and more", "My note")
    assert table_rows(one_cell()).title == ""
    bare = table.rm_header().rm_source_notes()
    assert (table_rows(bare).title, table_rows(bare).notes) == ("", ())


def test_raised_text_in_a_note_is_not_flattened():
    raised = one_cell().tab_source_note(html("10<sup>2</sup> pixels"))
    with pytest.raises(SalstatsError, match="raised or lowered text in the source notes"):
        table_rows(raised)
    assert table_rows(raised.rm_source_notes()).notes == ()


def test_cells_that_a_user_made_bold_or_underlined_are_so_in_every_format(tmp_path):
    strong = style.text(weight="bold", decorate="underline")
    table = (
        rich()
        .tab_style(strong, loc.body("cell2", [0, 3]))
        .tab_style([style.text(weight="bold")], loc.body("cell3"))
    )
    bold = [[cell.bold for cell in row.cells[3:]] for row in table_rows(table).body if not row.is_group]
    assert bold == [[True, True], [False, True], [False, True], [True, True], [False, True]]
    assert r"\textbf{\underline{\smash{1}}}" in ss.save_table(table, tmp_path / "t.tex").read_text()
    assert table_rows(rich()).body[1].cells[3].bold is False
    for where in (loc.stub(), loc.column_labels("cell2")):
        with pytest.raises(SalstatsError, match="styles"):
            table_rows(table.tab_style(strong, where).tab_style(strong, loc.body("cell0")))


def test_the_record_goes_with_copies_and_looks():
    table = rich().tab_options(table_font_size="20px").opt_all_caps()
    for other in (copy.deepcopy(table), pickle.loads(pickle.dumps(table)), table.with_locale("de")):
        assert isinstance(other, GT)
        assert table_rows(other) == table_rows(rich())


@pytest.mark.parametrize("suffix", [".tex", ".docx", ".csv"])
def test_what_the_record_does_not_hold_is_refused(foreign, suffix, tmp_path):
    changed = rich().tab_style(style.fill("yellow"), loc.body())
    with pytest.raises(SalstatsError, match=r"styles.*write \.html"):
        ss.save_table(changed, tmp_path / f"t{suffix}")
    with pytest.raises(SalstatsError, match=r"another great-tables table write \.html or \.png"):
        ss.save_table(foreign, tmp_path / f"t{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_any_table_is_written_as_html(foreign, tmp_path):
    assert "Edema" in ss.save_table(foreign, tmp_path / "t.html").read_text(encoding="utf-8")
    changed = rich().tab_style(style.fill("yellow"), loc.body())
    assert "yellow" in ss.save_table(changed, tmp_path / "u.html").read_text(encoding="utf-8").lower()


def test_several_files_are_written_from_one_rendering(tmp_path, monkeypatch):
    calls = []
    made = table_files.great_html
    monkeypatch.setattr(table_files, "great_html", lambda t: calls.append(1) or made(t))
    targets = [tmp_path / f"t{suffix}" for suffix in TEXTS]
    save_table_as(one_cell(), targets)
    assert len(calls) == 1
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
def test_a_file_that_cannot_be_written_is_named_before_any_work(tmp_path, path, message, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("mine")
    monkeypatch.setattr(table_files, "great_html", lambda _: pytest.fail("rendered"))
    with pytest.raises(InputFileError, match=message):
        ss.save_table(one_cell(), tmp_path / path)
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_file_is_replaced_when_told_to(tmp_path):
    (tmp_path / "t.csv").write_text("old")
    assert "only" in ss.save_table(one_cell(), tmp_path / "t.csv", overwrite=True).read_text("utf-8-sig")


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    (tmp_path / "t.tex").write_text("old")
    monkeypatch.setattr(table_files, "latex_table", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ss.save_table(one_cell(), tmp_path / "t.tex", overwrite=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("t.tex", "old")]


@pytest.mark.parametrize("what", [pd.DataFrame({"a": [1]}), None, "<table></table>"])
def test_only_a_table_can_be_written(what, tmp_path):
    with pytest.raises(SalstatsError, match="great-tables"):
        ss.save_table(what, tmp_path / "t.csv")
