"""The HTML of a table to rows of cells: nothing that it says is lost."""

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, ODD, rich, visible_words
from great_tables import GT, html, loc, md, style

from salstats.checks import SalstatsError
from salstats.display.export.table_grid import Cell, Row, Run, head_rows, layout, lines, plain
from salstats.display.export.table_markup import html_grid, table_grid


def grid_words(grid):
    """Every word of a grid."""
    texts = [grid.title, grid.subtitle, *(c.runs for row in grid.head + grid.body for c in row.cells)]
    return [word for runs in (*texts, *grid.notes) for word in plain(runs).split()]


def styled(runs, **wanted):
    """The text of the runs that have these styles."""
    return "".join(r.text for r in runs if all(getattr(r, name) == value for name, value in wanted.items()))


def body(table):
    """The texts of the cells of a table's body."""
    return [[cell.text for cell in row.cells] for row in table_grid(table).body]


def first(table):
    """The first cell of a table's body."""
    return table_grid(table).body[0].cells[0]


def of_html(text):
    """The only cell of a table that holds this HTML."""
    return first(GT(pd.DataFrame({"a": ["x"]})).fmt(lambda _: text, columns="a"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_visible_word_of_the_html_is_in_the_grid(name):
    table = EXAMPLES[name]()
    words = "".join(grid_words(table_grid(table)))
    if name == "in_capitals":
        words = words.lower()
    for word in visible_words(table):
        assert word in words


def test_a_table_is_read_part_by_part():
    grid = table_grid(rich())
    assert plain(grid.title) == "Title bold & slanted1"
    assert plain(grid.subtitle) == "Sub < title 100%"
    assert [row.kind for row in grid.head] == ["spanner", "spanner", "heading"]
    kinds = ["group", "body", "body", "group", "body", "body", "grand_summary"]
    assert [row.kind for row in grid.body] == kinds
    assert grid.n_columns == 5
    assert grid.body[0].cells == (Cell((Run("Large & big"),), colspan=5, header=True),)
    assert [cell.text for cell in grid.body[1].cells[:4]] == [
        "Edema <x>",
        "4 0.57",
        "0.566 (0.526, 0.606)***",
        "1",
    ]
    assert plain(grid.notes[0]) == "Note with bold\n• first item\n• second item"
    assert plain(grid.notes[2]) == "A free note"
    assert plain(grid.notes[-1]) == "4 P < 0.05; P<0.01 & more"


def test_hidden_columns_stay_hidden():
    assert "seen" not in grid_words(table_grid(rich()))


def test_headings_keep_spans_and_lines():
    grid = table_grid(rich())
    over, finding = grid.head[0].cells[1], grid.head[1].cells[0]
    assert (over.text, over.colspan, over.align) == ("All m2", 3, "center")
    assert (finding.text, finding.rowspan, finding.header) == ("Finding", 2, True)
    assert grid.head[1].cells[2].text == "Nx\ncases2"
    last = [slot.cell.text for slot in head_rows(grid)[-1]]
    assert last == ["Finding", "a", "b", "Nx\ncases2", "m23"]


def test_styles_of_cells_are_kept():
    rows = table_grid(rich()).body
    assert styled(rows[1].cells[1].runs, bold=True) == " 0.57"
    assert styled(rows[2].cells[2].runs, italic=True, underline=True) == "x & y"
    assert rows[2].cells[2].align == "right"
    assert styled(rows[4].cells[0].runs, bold=True) == "Atelectasis"
    assert rows[2].cells[3].fill == "E0FFFF"
    assert rows[4].cells[3].runs[0].color == "AA0000"
    assert rows[2].cells[0].indent == 2


def test_colours_of_the_style_sheet_are_no_colours_of_cells():
    table = GT(pd.DataFrame({"a": [1]})).tab_options(
        table_background_color="#222222", table_font_color="#EEEEEE"
    )
    cell = first(table)
    assert (cell.fill, cell.runs[0].color) == ("", "")


def test_marks_of_footnotes_are_raised_and_told_apart():
    grid = table_grid(rich())
    marks = [run for run in grid.body[1].cells[1].runs if run.mark]
    assert [(run.text, run.superscript) for run in marks] == [("4", True)]
    assert styled(grid.head[0].cells[1].runs, superscript=True) == "2"
    assert not any(run.mark for run in grid.head[0].cells[1].runs)


def test_marks_that_are_not_raised_are_not():
    table = (
        GT(pd.DataFrame({"a": ["x"]}))
        .tab_footnote("n", loc.body("a", [0]))
        .opt_footnote_spec(spec_ref="(.)", spec_ftr="(.)")
    )
    run = next(run for run in first(table).runs if run.mark)
    assert (run.text, run.superscript) == ("(1).", False)


def test_the_style_sheet_counts_as_the_elements_do():
    frame = pd.DataFrame({"g": ["group"], "t": ["stub"], "v": ["value"]})
    table = GT(frame, rowname_col="t", groupname_col="g").tab_options(
        row_group_font_weight="bold",
        stub_font_weight="600",
        column_labels_text_transform="uppercase",
        table_font_style="italic",
    )
    grid = table_grid(table)
    group, row = grid.body
    assert styled(group.cells[0].runs, bold=True) == "group"
    assert styled(row.cells[0].runs, bold=True) == "stub"
    assert styled(row.cells[1].runs, bold=False, italic=True) == "value"
    assert grid.head[0].cells[1].text == "V"


def test_an_element_overrides_the_style_sheet():
    table = (
        GT(pd.DataFrame({"t": ["stub"], "v": [1]}), rowname_col="t")
        .tab_options(stub_font_weight="bold")
        .tab_style(style.text(weight="normal", align="center"), loc.stub([0]))
    )
    cell = first(table)
    assert not cell.runs[0].bold
    assert cell.align == "center"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<strong>x</strong>", {"bold": True}),
        ("<b>x</b>", {"bold": True}),
        ("<em>x</em>", {"italic": True}),
        ("<i>x</i>", {"italic": True}),
        ("<u>x</u>", {"underline": True}),
        ("<s>x</s>", {"strike": True}),
        ("<del>x</del>", {"strike": True}),
        ("<sup>x</sup>", {"superscript": True}),
        ("<sub>x</sub>", {"subscript": True}),
        ('<span style="font-weight: 700">x</span>', {"bold": True}),
        ('<span style="text-decoration: underline dotted red">x</span>', {"underline": True}),
        ('<span style="text-decoration:line-through">x</span>', {"strike": True}),
        ('<span style="vertical-align: super">x</span>', {"superscript": True}),
        ('<span style="color: rgb(255, 0, 0)">x</span>', {"color": "FF0000"}),
        ('<b><i style="font-style:normal">x</i></b>', {"bold": True}),
        ("<b><u>x</u></b>", {"bold": True, "underline": True}),
        ('<u><span style="text-decoration: none">x</span></u>', {"underline": True}),
    ],
)
def test_inline_markup_is_read(markup, expected):
    assert of_html(f"a {markup} b").runs == (Run("a "), Run("x", **expected), Run(" b"))


def test_what_is_set_back_to_normal_is():
    assert of_html('<b>a<span style="font-weight: normal">b</span></b>').runs == (
        Run("a", bold=True),
        Run("b"),
    )


def test_what_no_file_can_hold_is_replaced():
    table = GT(pd.DataFrame({"a": [1]})).tab_source_note("a\x00b\ud800c\x1bd")
    assert plain(table_grid(table).notes[0]) == "a\ufffdb\ufffdc\ufffdd"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("a<br>b", "a\nb"),
        ("a <br/> b", "a\nb"),
        ("<p>a</p><p>b</p>", "a\nb"),
        ("<ol start='3'><li>a</li><li>b</li></ol>", "3. a\n4. b"),
        ("  a \n\t b  ", "a b"),
        ("a&nbsp;b", "a\u00a0b"),
        ("&nbsp;", ""),
        ("a<!-- not shown -->b", "ab"),
        ('a<span style="display:none">x</span>b<i hidden>y</i>', "ab"),
        ("<script>x</script>a<style>y</style>", "a"),
        ('<img src="a/b.png">', "b.png"),
        ('<img src="a/b.png" alt="">', ""),
        ('<img src="data:image/png;base64,AAAA" title="map">', "map"),
        ('<svg><title>France</title><path d="M0"/></svg>', "France"),
        ("<svg><text>1</text><text>2</text></svg>", "1 2"),
        ('<a href="https://a.b">text</a>', "text"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("&lt;b&gt; &amp; &#946; &eacute;", "<b> & β é"),
        ("P <0.001 & a<1", "P <0.001 & a<1"),
        ("a&#1;b", "a\ufffdb"),
    ],
)
def test_text_is_what_a_browser_shows(markup, expected):
    assert of_html(markup).text == expected


@pytest.mark.parametrize("text", [ODD, "a_b*c", "漢字", "é", "🙂", "a\\b", "−0.4", "&amp;", "</td>"])
def test_values_with_markup_are_text(text):
    assert body(GT(pd.DataFrame({"a": [text]}))) == [[" ".join(text.split())]]


def test_tables_of_every_shape_are_read():
    assert table_grid(EXAMPLES["without_columns"]()).n_columns == 0
    assert plain(table_grid(EXAMPLES["without_columns"]()).notes[0]) == "No columns"
    empty = table_grid(EXAMPLES["without_rows"]())
    assert (empty.n_columns, empty.body) == (2, ())
    assert table_grid(EXAMPLES["without_headings"]()).head == ()
    assert body(EXAMPLES["one_cell"]()) == [["1.5"]]
    assert table_grid(EXAMPLES["in_capitals"]()).head[0].cells[0].text == "ALPHA BETA"


def test_cells_that_span_rows_are_laid_out():
    grid = table_grid(EXAMPLES["stub_of_levels"]())
    laid = [
        [(s.cell.text, s.column, s.first, s.last) for s in row] for row in layout(grid.body, grid.n_columns)
    ]
    assert laid[0][0] == ("iou", 0, True, False)
    assert laid[1] == [("iou", 0, False, True), ("b", 1, True, True), ("0.2", 2, True, True)]
    assert laid[2][0] == ("hit", 0, True, True)


def test_rows_that_leave_columns_open_are_filled():
    rows = [Row((Cell((Run("a"),), rowspan=9), Cell((Run("b"),)))), Row(())]
    laid = layout(rows, 3)
    assert [[slot.column for slot in row] for row in laid] == [[0, 1, 2], [0, 1, 2]]
    assert laid[1][0].last
    assert laid[1][1].cell.text == ""


def test_lines_keep_their_styles():
    assert lines((Run("a\nb", bold=True), Run("c"))) == [
        (Run("a", bold=True),),
        (Run("b", bold=True), Run("c")),
    ]


def test_summaries_of_groups_and_of_all_are_told_apart():
    grid = table_grid(EXAMPLES["grouped_by_column"]())
    assert [row.kind for row in grid.body] == ["body", "body", "summary", "body", "summary"]
    assert table_grid(rich()).body[-1].kind == "grand_summary"


def test_what_a_user_adds_is_read():
    table = GT(pd.DataFrame({"a": [1]}))
    added = table.tab_header(md("A *new* title"), html("<u>sub</u>")).tab_source_note("and a note")
    grid = table_grid(added)
    assert styled(grid.title, italic=True) == "new"
    assert styled(grid.subtitle, underline=True) == "sub"
    assert plain(grid.notes[0]) == "and a note"
    assert table_grid(table).title == ()


def test_an_interactive_table_is_read_as_the_table_it_is():
    table = GT(pd.DataFrame({"a": ["x"]}))
    assert table_grid(table.opt_interactive()) == table_grid(table)


def test_a_long_table_is_read_whole():
    frame = pd.DataFrame({f"c{i}": [f"{j}.{i}" for j in range(300)] for i in range(4)})
    assert body(GT(frame)) == frame.to_numpy().tolist()


def test_only_a_table_is_taken():
    with pytest.raises(SalstatsError, match="not DataFrame; a frame is written with write_frame"):
        table_grid(pd.DataFrame({"a": [1]}))


def test_rows_of_tables_inside_cells_are_not_rows():
    grid = html_grid(
        "<table><tbody><tr><td><table><tbody><tr><td>a</td></tr></tbody></table></td></tr></tbody></table>"
    )
    assert [[cell.text for cell in row.cells] for row in grid.body] == [["a"]]
