"""The look of tables: what is aligned, set apart, wrapped, and independent of the page."""

import pandas as pd
import pytest
from great_tables import GT, loc, md, style
from great_tables import html as markup
from lxml import html
from tests_support import raises

import salstats as ss
from salstats.display.tables.great_table import (
    current_record_of,
    great_table,
    text_of_html,
    text_of_md_or_html,
    version_note,
)
from salstats.display.tables.record import Table, TableColumn
from salstats.errors import SalstatsError


def cells(gt):
    """Every cell of the body, row by row."""
    table = html.fromstring(gt.as_raw_html()).xpath("//table")[0]
    return [tr.xpath("./td") for tr in table.xpath("./tbody/tr")]


def table_of(column, **options):
    """A table of one column of texts."""
    return Table(
        ("Task",),
        [(f"t{i}",) for i in range(len(column))],
        [TableColumn("x")],
        [[c] for c in column],
        **options,
    )


def indents(gt):
    """How far each cell moves right, in digits."""
    styles = [row[0].get("style") or "" for row in cells(gt)]
    return [int(s.split("text-indent: ")[1].split("ch")[0]) if "text-indent" in s else 0 for s in styles]


def test_decimal_points_of_leading_numbers_stand_below_each_other():
    texts = ["0.566 (0.526, 0.606)***", "−12.1 (−20.0, 3.0)", "—", "<0.001", "", "7"]
    gt = great_table(table_of(texts), "t")
    assert indents(gt) == [2, 0, 2, 1, 0, 2]
    # alignment is style and never text, and an interval is not wrapped
    assert [row[0].text_content() for row in cells(gt)] == texts
    assert ["nowrap" in (row[0].get("style") or "") for row in cells(gt)] == [True, True, *[False] * 4]


def test_signs_in_front_and_marks_behind_do_not_move_the_point():
    assert indents(great_table(table_of(["<.001", ".042", ""]), "t")) == [0, 1, 0]
    assert indents(great_table(table_of(["−1†", "10*", "3"]), "t")) == [0, 0, 1]


def test_numbers_at_the_foot_begin_below_each_other():
    gt = great_table(table_of(["10.5", "−0.5", "1,234", "0.9", "−1,906.4"], foot_rows={2, 3, 4}), "t")
    assert indents(gt) == [0, 0, 1, 1, 0]


def test_marks_and_rules_are_styles_of_their_cells_only():
    gt = great_table(
        table_of(["1.0", "2.0", "3.0"], bold={(0, 0)}, underline={(1, 0)}, rows_with_rule_above={2}), "t"
    )
    styles = [row[0].get("style") or "" for row in cells(gt)]
    assert ["font-weight: bold" in s for s in styles] == [True, False, False]
    assert ["text-decoration: underline" in s for s in styles] == [False, True, False]
    assert ["border-top" in s for s in styles] == [False, False, True]
    stubs = html.fromstring(gt.as_raw_html()).xpath("//tbody/tr/th")
    assert ["border-top" in (s.get("style") or "") for s in stubs] == [False, False, True]


def test_neighbours_share_a_spanner_and_others_do_not():
    columns = [TableColumn("a", ("all", "x")), TableColumn("b", ("all", "x")), TableColumn("c", ("all", "y"))]
    gt = great_table(Table(("",), [("r",)], columns, [["1", "2", "3"]]), "t")
    spans = {
        " ".join(th.text_content().split()): th.get("colspan")
        for th in html.fromstring(gt.as_raw_html()).xpath("//th[contains(@class, 'spanner')]")
    }
    assert spans == {"all": "3", "x": "2", "y": "1"}
    # equal headings that are no neighbours stand twice
    apart = [TableColumn("a", ("x",)), TableColumn("b", ("y",)), TableColumn("c", ("x",))]
    gt = great_table(Table(("",), [("r",)], apart, [["1", "2", "3"]]), "t")
    found = html.fromstring(gt.as_raw_html()).xpath("//th[contains(@class, 'spanner_outer')]")
    assert [" ".join(th.text_content().split()) for th in found] == ["x", "y", "x"]


def test_equal_labels_below_each_other_are_merged_but_for_the_last_column():
    stub = [("a", "u"), ("a", "v"), ("b", "v")]
    gt = great_table(Table(("Method", "Mixing"), stub, [TableColumn("x")], [["1"], ["2"], ["3"]]), "t")
    rows = html.fromstring(gt.as_raw_html()).xpath("//tbody/tr")
    assert [[th.text_content() for th in row.xpath("./th")] for row in rows] == [
        ["a", "u"],
        ["v"],
        ["b", "v"],
    ]
    assert rows[0].xpath("./th")[0].get("rowspan") == "2"


def test_long_headings_and_labels_are_kept_whole_and_wrap():
    label = "a finding with a name that is much longer than any column of numbers ought to be wide " * 2
    gt = great_table(Table(("Task",), [(label,)], [TableColumn(label)], [["1"]]), "t")
    page = html.fromstring(gt.as_raw_html())
    heading, stub = page.xpath("//thead//th")[-1], page.xpath("//tbody//th")[0]
    for cell in (heading, stub):
        assert cell.text_content() == label
        assert "max-width" in cell.get("style")


def test_colours_are_those_of_the_page():
    page = great_table(table_of(["1"]), "t").as_raw_html()
    look = page.split(".gt_table {")[1].split("}")[0]
    assert "background-color: inherit" in look
    assert " color: inherit" in look
    assert "background-color: #FFFFFF" not in page


def test_empty_notes_are_left_out_and_the_version_closes(read):
    seen = read(great_table(table_of(["1"], notes=["First.", "", "Second."]), "t"))
    assert seen.notes[:2] == ["First.", "Second."]
    assert seen.notes[-1].startswith("salstats ")
    assert len(seen.notes) == 3


def stub_styles(gt):
    """The style of the labels of each row, "" without one."""
    rows = html.fromstring(gt.as_raw_html()).xpath("//tbody/tr")
    return [" ".join(th.get("style") or "" for th in row.xpath("./th")) for row in rows]


def heading_styles(gt):
    """The style of each heading of a column by its text."""
    headings = html.fromstring(gt.as_raw_html()).xpath("//thead//th")
    return {th.text_content(): th.get("style") or "" for th in headings}


def test_levels_are_set_in_and_hyphenated_words_stay_on_one_line():
    stub = [("Site",), ("b",), ("Grad-CAM",), ("Grad-CAM of all",)]
    columns = [TableColumn("Score-CAM"), TableColumn("A-B C"), TableColumn("x" * 30), TableColumn("x" * 31)]
    gt = great_table(Table(("Task",), stub, columns, [["1"] * 4] * 4, indented_rows={1}), "t")
    styles = stub_styles(gt)
    assert ["padding-left" in line for line in styles] == [False, True, False, False]
    assert ["nowrap" in line for line in styles] == [False, False, True, False]
    assert not any("vertical-align" in line or "text-align" in line for line in styles)
    headings = heading_styles(gt)
    assert ["nowrap" in headings[column.heading] for column in columns] == [True, False, False, False]
    assert ["max-width" in headings[column.heading] for column in columns] == [False, False, False, True]


def test_several_labels_of_a_row_stand_at_its_top_and_counts_at_the_right():
    gt = great_table(Table(("A", "B"), [("a", "b"), ("a", "c")], [TableColumn("x")], [["1"], ["2"]]), "t")
    assert all("vertical-align: top" in line for line in stub_styles(gt))
    counts = great_table(Table(("Cases",), [("10",), ("1,000",)], [TableColumn("x")], [["1"], ["2"]]), "t")
    assert all("text-align: right" in line for line in stub_styles(counts))
    assert "text-align: right" in heading_styles(counts)["Cases"]
    assert "vertical-align" not in " ".join(stub_styles(counts))


def test_abbreviations_of_all_texts_but_cells_are_spelled_out():
    table = Table(
        ("AUROC",), [("SD",)], [TableColumn("Q1", ("Q3",))], [["AIC"]], groups=["BIC"], notes=["95% CI."],
        mark_note="ICC.", symbol_note="Cov1.",
    )  # fmt: skip
    notes = current_record_of(great_table(table, "t")).notes
    assert notes[0] == "95% CI."
    spelled_out = [entry.partition(",")[0] for entry in notes[1].split("; ")]
    assert spelled_out == ["AUROC", "BIC", "CI", "Cov1", "ICC", "Q1", "Q3", "SD"]
    assert notes[2:] == ["ICC.", "Cov1.", f"salstats {ss.__version__}."]


def test_headings_are_shown_as_they_are():
    columns = [TableColumn("{{a}} < b", ("{{m^2}}",)), TableColumn("{b}", ("",)), TableColumn("c", ("x",))]
    gt = great_table(Table(("",), [("r",)], columns, [["1", "2", "3"]]), "t")
    assert {"{{a}} < b", "{b}", "c"} <= set(heading_styles(gt))
    spanners = html.fromstring(gt.as_raw_html()).xpath("//th//span[contains(@class, 'spanner')]")
    assert [" ".join(spanner.text_content().split()) for spanner in spanners] == ["{{m^2}}", "x"]


STRONG = style.text(weight="bold")


@pytest.mark.parametrize(
    ("rows", "columns", "cells"),
    [
        (None, None, {(0, 0), (1, 0), (2, 0)}),
        ([0, -1, 9], "cell0", {(0, 0), (2, 0)}),
        ("t1", ["cell0"], {(1, 0)}),
        (["t0", 2], -1, {(0, 0), (2, 0)}),
    ],
)
def test_the_record_marks_the_cells_that_great_tables_marks(rows, columns, cells):
    gt = great_table(table_of(["1", "2", "3"]), "t").tab_style(STRONG, loc.body(columns, rows))
    assert current_record_of(gt).bold == cells
    shown = {(row, 0) for row, line in enumerate(body_styles(gt)) if "bold" in line}
    assert shown == cells


def test_the_record_marks_what_styles_mark():
    line = style.text(decorate="underline")
    gt = great_table(table_of(["1", "2"], bold={(0, 0)}), "t")
    both = current_record_of(gt.tab_style([STRONG, line], [loc.body(rows=[1])]))
    assert (both.bold, both.underline) == ({(0, 0), (1, 0)}, {(1, 0)})
    underlined = current_record_of(gt.tab_style(line, loc.body(rows=0)))
    assert (underlined.bold, underlined.underline) == ({(0, 0)}, {(0, 0)})
    # the first column holds the labels of rows
    assert current_record_of(gt.tab_style(line, loc.body(columns=[0, 1], rows=0))).underline == {(0, 0)}
    assert current_record_of(gt.tab_style(line, loc.body(columns=0))).underline == set()


def test_the_record_follows_titles_and_notes(read):
    table = table_of(["1"], notes=["First."], title="Old", groups=["A"], symbol_note="* P < 0.05.")
    gt = great_table(table, "t")
    titled = gt.tab_header(md("**New** title"), markup("a<br>b"))
    assert (current_record_of(titled).title, current_record_of(titled).subtitle) == ("New title", "a b")
    assert current_record_of(gt).title == "Old"
    assert current_record_of(gt).groups == read(gt).groups == ["A"]
    untitled = current_record_of(titled.rm_header())
    assert (untitled.title, untitled.subtitle) == (None, None)
    noted = gt.tab_source_note(markup("r<sup>2</sup>"))
    assert current_record_of(noted).notes == ["First.", "* P < 0.05.", "r^2", version_note()]
    assert current_record_of(gt).notes == ["First.", "* P < 0.05.", version_note()]
    assert read(noted).notes[0] == "First."
    assert len(read(noted).notes) == 4
    none = noted.rm_source_notes()
    assert current_record_of(none).notes == []
    assert read(none).notes == []
    assert repr(gt).splitlines()[0] == "Old"
    assert "First." in str(gt)


def test_texts_lose_their_markup_and_stay_apart():
    assert text_of_md_or_html(None) == ""
    assert text_of_md_or_html("a < b") == "a < b"
    html_text = "<p>x<sub>1</sub> &lt; 2</p><ul><li>a</li><li><b>b</b></li></ul>"
    assert text_of_html(html_text) == "x_1 < 2 a b"


def body_styles(gt):
    """The style of the one cell of each row."""
    return [row[0].get("style") or "" for row in cells(gt)]


@pytest.mark.parametrize(
    "change",
    [
        lambda gt: gt.fmt_integer("cell0"),
        lambda gt: gt.cols_hide("cell0"),
        lambda gt: gt.tab_spanner("Over", columns="cell0"),
        lambda gt: gt.rm_stubhead(),
        lambda gt: gt.tab_style(STRONG, loc.body(rows=lambda frame: frame["cell0"] == "1")),
        lambda gt: gt.tab_style(STRONG, loc.stub()),
        lambda gt: gt.tab_style(style.fill("red"), loc.body()),
        lambda gt: gt.tab_style(style.text(weight="bold", color="red"), loc.body()),
        lambda gt: gt.tab_style([STRONG, style.fill("red")], loc.body()),
        lambda gt: gt.tab_style(STRONG, [loc.body(), loc.stub()]),
        lambda gt: gt.tab_style(STRONG, loc.body(columns=lambda name: True)),
    ],
)
def test_a_change_that_the_record_does_not_hold_is_an_error_that_names_the_method(change):
    gt = great_table(table_of(["1", "2"]), "t")
    changed = change(gt)
    assert repr(changed).startswith("<GT: .tex, .docx, .csv, .md, .json cannot show")
    with raises(SalstatsError, choices=(".html", ".png")) as error:
        current_record_of(changed)
    assert hasattr(gt, error.value.value)
    # the table itself is not changed
    assert current_record_of(gt).bold == set()


def test_all_changes_that_the_record_does_not_hold_are_named_once():
    gt = great_table(table_of(["1", "2"]), "t")
    changed = gt.rm_stubhead().cols_hide("cell0").rm_stubhead()
    with raises(SalstatsError, value="rm_stubhead, cols_hide"):
        current_record_of(changed)


def test_every_method_of_great_tables_is_kept_or_noted():
    """A method of a later great-tables that belongs to no group has to be looked at."""
    kept = ("as_", "opt_", "with_", "gtsave", "pipe", "render", "save", "show", "write_", "from_data")
    changing = ("cols_", "data_", "fmt", "grand_", "rm_", "row_", "sub_", "summary_", "tab_", "text_")
    public = [name for name in dir(GT) if not name.startswith("_")]
    assert [name for name in public if not name.startswith((*kept, *changing))] == []


def test_a_table_of_somebody_else_has_no_record():
    with raises(SalstatsError, choices=(".html", ".png")):
        current_record_of(GT(pd.DataFrame({"a": [1]})))
