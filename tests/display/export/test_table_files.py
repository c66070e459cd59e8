"""Tables to files: every ending, checked before any work, nothing half written."""

import copy
import pickle

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, one_cell, rich, visible_words
from great_tables import GT, html, loc, md, style
from tests_support import raises

import salstats as ss
from salstats.display.export import table_files
from salstats.display.export.table_files import save_table_as, table_rows
from salstats.display.export.table_html import html_page
from salstats.display.tables.file_formats import RECORD_SUFFIXES, TABLE_SUFFIXES
from salstats.errors import InputFileError, SalstatsError, ValueRangeError

#: Each ending with what its files begin with.
STARTS = {
    ".html": b"<!DOCTYPE html>",
    ".tex": b"% Needs in the preamble:",
    ".docx": b"PK",
    ".csv": b"\xef\xbb\xbf",
    ".md": b"",
    ".json": b"{\n",
}


@pytest.fixture
def foreign():
    return GT(pd.DataFrame({"task": ["Edema"], "iou": [0.5]}), rowname_col="task")


def test_every_ending_is_written_and_tested():
    assert set(table_files.CONTENT_FUNCTIONS) == set(RECORD_SUFFIXES)
    assert {*STARTS, ".png"} == set(TABLE_SUFFIXES)


@pytest.mark.parametrize("suffix", STARTS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_tables_of_every_shape_are_written_in_the_format_of_the_ending_and_the_same_twice(
    name, suffix, tmp_path
):
    target = tmp_path / f"T{suffix}"
    assert ss.save_table(EXAMPLES[name](), target) == target
    first = target.read_bytes()
    assert first.startswith(STARTS[suffix])
    assert ss.save_table(EXAMPLES[name](), target, overwrite=True).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_rows_say_what_the_html_says(name):
    rows = table_rows(EXAMPLES[name]())
    cells = [cell for line in (*rows.head, *(row.cells for row in rows.body)) for cell in line if cell.n_rows]
    texts = [rows.title, rows.subtitle, *(cell.text for cell in cells), *rows.notes]
    assert sorted(" ".join(texts).split()) == sorted(visible_words(EXAMPLES[name]()))


def test_what_a_user_added_or_took_away_is_so_in_every_format(tmp_path):
    table = one_cell().tab_header("A title of my own", md("and *more*"))
    table = table.tab_source_note(html("My <b>note</b> of 10<sup>2</sup> pixels"))
    for suffix in (".html", ".tex"):
        text = ss.save_table(table, tmp_path / f"t{suffix}").read_text(encoding="utf-8")
        assert "A title of my own" in text
        assert "My" in text
    rows = table_rows(table)
    assert (rows.title, rows.subtitle) == ("A title of my own", "and more")
    assert rows.notes[-2:] == ("My note of 10^2 pixels", f"salstats {ss.__version__}.")
    assert html_page(table).index(f"salstats {ss.__version__}") > html_page(table).index("My <b>note")
    bare = table_rows(table.rm_header().rm_source_notes())
    assert (bare.title, bare.notes) == ("", ())


def test_cells_that_a_user_made_bold_or_underlined_are_so_in_every_format(tmp_path):
    strong = style.text(weight="bold", decorate="underline")
    table = (
        rich()
        .tab_style(strong, loc.body("cell2", [0, 3]))
        .tab_style([style.text(weight="bold")], loc.body("cell3"))
    )
    bold = [[cell.bold for cell in row.cells[3:]] for row in table_rows(table).body if not row.is_group_label]
    assert bold == [[True, True], [False, True], [False, True], [True, True], [False, True]]
    assert r"\textbf{\underline{\smash{1}}}" in ss.save_table(table, tmp_path / "t.tex").read_text()
    with raises(SalstatsError, value="tab_style"):
        table_rows(table.tab_style(strong, loc.stub()))


def test_the_record_goes_with_copies_and_looks():
    table = rich().tab_options(table_font_size="20px").opt_all_caps()
    for other in (copy.deepcopy(table), pickle.loads(pickle.dumps(table)), table.with_locale("de")):
        assert table_rows(other) == table_rows(rich())


def test_what_the_record_does_not_hold_is_refused_and_can_be_written_as_html(foreign, tmp_path):
    changed = rich().tab_style(style.fill("yellow"), loc.body())
    with raises(SalstatsError, value="tab_style", choices=(".html", ".png")):
        ss.save_table(changed, tmp_path / "t.docx")
    with raises(SalstatsError, choices=(".html", ".png")):
        ss.save_table(foreign, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []
    assert "Edema" in ss.save_table(foreign, tmp_path / "t.html").read_text(encoding="utf-8")
    assert "yellow" in ss.save_table(changed, tmp_path / "u.html").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("t.pdf", {"choices": TABLE_SUFFIXES}),
        ("nowhere/t.csv", {"option": None, "choices": ()}),
        ("there.csv", {"option": "overwrite"}),
    ],
)
def test_a_file_that_cannot_be_written_is_named_before_any_work(tmp_path, path, fields, monkeypatch):
    (tmp_path / "there.csv").write_text("mine")
    monkeypatch.setattr(table_files, "html_page", lambda _: pytest.fail("rendered"))
    with raises(InputFileError, path=tmp_path / path, **fields):
        ss.save_table(one_cell(), tmp_path / path)
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    (tmp_path / "t.tex").write_text("old")
    monkeypatch.setattr(table_files, "latex_table", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ss.save_table(one_cell(), tmp_path / "t.tex", overwrite=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("t.tex", "old")]


@pytest.mark.parametrize("suffix", [".docx", ".tex", ".csv", ".md", ".json"])
def test_formats_of_the_record_render_no_html(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(table_files, "html_page", lambda _: pytest.fail("rendered"))
    assert ss.save_table(one_cell(), tmp_path / f"t{suffix}").stat().st_size > 0


def test_a_width_is_that_of_a_picture(tmp_path):
    with raises(SalstatsError, option="width", value=89):
        ss.save_table(one_cell(), tmp_path / "t.tex", width=89)
    for option in ("width", "dpi"):
        with raises(ValueRangeError, option=option, value=0):
            ss.save_table(one_cell(), tmp_path / "t.png", **{option: 0})
    assert list(tmp_path.iterdir()) == []


def test_pictures_have_a_file_for_each_page_and_are_made_of_the_page_once(tmp_path, monkeypatch):
    pages = []

    def drawn(page, width, dpi):
        pages.append((page, width, dpi))
        return [b"one", b"two"]

    monkeypatch.setattr(table_files, "find_browser", lambda: "browser")
    monkeypatch.setattr(table_files, "table_pngs_by_sheet", drawn)
    assert ss.save_table(one_cell(), tmp_path / "t.png", width=89, dpi=150) == tmp_path / "t.png"
    assert pages == [(html_page(one_cell()), 89, 150)]
    assert [(tmp_path / name).read_bytes() for name in ("t.png", "t-2.png")] == [b"one", b"two"]
    with raises(InputFileError, path=tmp_path / "t-2.png"):
        (tmp_path / "t.png").unlink()
        ss.save_table(one_cell(), tmp_path / "t.png")


def test_files_of_several_formats_hold_their_own(tmp_path):
    save_table_as(one_cell(), [tmp_path / "means 1.tex", tmp_path / "t.html", tmp_path / "t.csv"])
    # TeX refers to a table by the name of its file
    assert r"\label{tab:means-1}" in (tmp_path / "means 1.tex").read_text(encoding="utf-8")
    assert (tmp_path / "t.html").read_bytes().startswith(STARTS[".html"])
    assert (tmp_path / "t.csv").read_bytes().startswith(STARTS[".csv"])


def test_only_a_table_can_be_written(tmp_path):
    with raises(SalstatsError, option="table"):
        save_table_as(pd.DataFrame({"a": [1]}), [tmp_path / "t.csv"])


def test_a_browser_is_looked_for_where_a_picture_is_written_and_before_any_work(tmp_path, monkeypatch):
    def no_browser():
        raise SalstatsError("no browser", option="SALSTATS_BROWSER")

    monkeypatch.setattr(table_files, "find_browser", no_browser)
    save_table_as(one_cell(), [tmp_path / f"t{suffix}" for suffix in STARTS])
    assert len(list(tmp_path.iterdir())) == len(STARTS)
    monkeypatch.setattr(table_files, "html_page", lambda _: pytest.fail("rendered"))
    with raises(SalstatsError, option="SALSTATS_BROWSER"):
        save_table_as(one_cell(), [tmp_path / "u.html", tmp_path / "u.png"])
    assert not (tmp_path / "u.html").exists()
