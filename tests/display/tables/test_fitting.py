"""Tables wider than a page: what stands in rows, columns and groups instead, and that nothing is lost."""

from dataclasses import replace
from itertools import product

import pytest

from salstats.display.tables.fitting import fits_page, rearranged_to_fit_page
from salstats.display.tables.record import Table, TableColumn


def wide(n_tasks=1, n_methods=8, *, may_rearrange=True, **options):
    """A regression: two outcomes and methods in columns, terms in rows, tasks in groups."""
    heads = [(o, f"M{m}") for o, m in product(("IoU", "Hit rate"), range(n_methods))]
    places = list(enumerate(heads))
    terms = ["Size", "Elongation", "n"]
    tasks = [f"T{t}" for t in range(n_tasks)] if n_tasks > 1 else [""]
    return Table(
        stubhead=("Term",),
        stub=[(term,) for _ in tasks for term in terms],
        columns=[TableColumn(m, ("Coefficient (95% CI)", o)) for o, m in heads],
        cells=[
            [f"{task}{term}{o}{m}" if term == "n" else f"0.123 (0.000, {i}.{j:03d})" for j, (o, m) in places]
            for i, (task, term) in enumerate(product(tasks, terms))
        ],
        groups=[task for task in tasks for _ in terms] if n_tasks > 1 else [],
        bold={(0, 0), (1, n_methods)},
        rows_with_rule_above={2},
        foot_rows=set(range(2, 3 * n_tasks, 3)),
        may_rearrange=may_rearrange,
        axis_headings=("Task", "Method"),
        **options,
    )


def said(table):
    """Every cell with all of its labels, in any order."""
    groups = table.groups or [""] * len(table.stub)
    return {
        (text, frozenset(" ".join([group, *stub, c.heading, *c.spanners[1:]]).replace(",", "").split()))
        for group, stub, row in zip(groups, table.stub, table.cells, strict=True)
        for c, text in zip(table.columns, row, strict=True)
        if text
    }


@pytest.mark.parametrize(("n_tasks", "n_methods"), [(1, 8), (5, 8), (1, 30), (12, 20)])
def test_a_table_wider_than_a_page_is_made_to_fit_and_says_the_same(n_tasks, n_methods):
    table = wide(n_tasks, n_methods)
    made = rearranged_to_fit_page(table)
    assert not fits_page(table)
    assert fits_page(made)
    assert said(made) == said(table)
    marked = {(made.groups[i], made.cells[i][j]) for i, j in made.bold}
    assert {text for _, text in marked} == {table.cells[i][j] for i, j in table.bold}


def test_outcomes_become_groups_and_methods_rows_where_there_are_many():
    made = rearranged_to_fit_page(wide(1, 30))
    assert list(dict.fromkeys(made.groups)) == ["IoU", "Hit rate"]
    assert (made.stubhead, made.stub[:2]) == (("Method",), [("M0",), ("M1",)])
    over = ("Coefficient (95% CI)",)
    assert made.columns == [TableColumn("Size", over), TableColumn("Elongation", over), TableColumn("n", ())]


def test_terms_stay_rows_where_methods_fit_beside_each_other():
    made = rearranged_to_fit_page(wide(1, 8))
    assert (made.stubhead, made.stub[:3]) == (("Term",), [("Size",), ("Elongation",), ("n",)])
    assert [c.heading for c in made.columns] == [f"M{m}" for m in range(8)]
    assert made.rows_with_rule_above == {2, 5} == made.foot_rows


@pytest.mark.parametrize(("has_foot", "stubhead"), [(True, "Term"), (False, "Task")])
def test_tasks_become_rows_unless_statistics_stand_at_the_foot_of_each(has_foot, stubhead):
    table = wide(5, 8)
    if not has_foot:
        table = replace(table, foot_rows=set())
    made = rearranged_to_fit_page(table)
    assert made.stubhead == (stubhead,)
    assert said(made) == said(table)


def test_methods_are_rows_where_they_would_need_a_page_on_its_side_beside_each_other():
    made = rearranged_to_fit_page(wide(1, 11))
    assert (made.stubhead, made.stub[:2]) == (("Method",), [("M0",), ("M1",)])


def test_a_factor_that_turns_is_above_its_levels_and_its_p():
    table = wide(1, 30)
    cells = [["P = 0.012"] * 60, *table.cells[1:]]
    made = rearranged_to_fit_page(
        replace(table, stub=[("Site",), ("b",), ("n",)], cells=cells, indented_rows={1})
    )
    over = ("Coefficient (95% CI)", "Site")
    assert made.columns == [TableColumn("P", over), TableColumn("b", over), TableColumn("n", ())]


def test_what_fits_or_may_not_turn_stays_as_it_is():
    for table in (wide(1, 3), wide(1, 30, may_rearrange=False)):
        assert rearranged_to_fit_page(table) is table


def test_a_factor_without_p_is_a_heading_of_its_levels_alone():
    stub = [("Site",), ("b",), ("n",)]
    turned = rearranged_to_fit_page(without_p(wide(1, 30), stub))
    over = "Coefficient (95% CI)"
    assert turned.columns == [TableColumn("b", (over, "Site")), TableColumn("n", ())]
    kept = rearranged_to_fit_page(without_p(wide(1, 8), stub))
    assert kept.stub == stub * 2
    assert kept.cells[0] == kept.cells[3] == [""] * 8
    assert kept.indented_rows == {1, 4}


def without_p(table, stub):
    """The table with a factor of one level in its first two rows."""
    blank = [""] * len(table.columns)
    return replace(table, stub=stub, cells=[blank, *table.cells[1:]], indented_rows={1}, bold=set())


def test_a_term_that_a_group_lacks_is_a_blank_where_terms_are_columns():
    table = wide(2, 30)
    rows = [0, 2, 3, 4, 5]
    table = replace(
        table,
        stub=[table.stub[row] for row in rows],
        cells=[table.cells[row] for row in rows],
        groups=[table.groups[row] for row in rows],
        foot_rows={1, 4},
        rows_with_rule_above=set(),
        bold=set(),
    )
    made = rearranged_to_fit_page(table)
    assert said(made) == said(table)
    assert made.stub[:2] == [("T0", "M0"), ("T0", "M1")]
    assert [column.heading for column in made.columns] == ["Size", "n", "Elongation"]
    assert [row[2] == "" for row in made.cells[:60]] == [True] * 30 + [False] * 30


def test_one_outcome_is_no_group_and_tasks_stay_groups():
    table = wide(5, 30)
    one = replace(table, columns=table.columns[:30], cells=[row[:30] for row in table.cells], bold=set())
    made = rearranged_to_fit_page(one)
    assert list(dict.fromkeys(made.groups)) == [f"T{task}" for task in range(5)]
    assert (made.stubhead, made.stub[0]) == (("Method",), ("M0",))
    # the outcome is still said
    assert made.columns[0].spanners == ("Coefficient (95% CI)", "IoU")
    without_tasks = replace(
        wide(1, 30), columns=table.columns[:30], cells=[row[:30] for row in wide(1, 30).cells]
    )
    assert rearranged_to_fit_page(replace(without_tasks, bold=set())).groups == []


def test_methods_of_one_outcome_only_leave_no_empty_columns():
    table = wide(1, 8)
    columns = [
        replace(column, heading=f"N{index}") if index >= 8 else column
        for index, column in enumerate(table.columns)
    ]
    made = rearranged_to_fit_page(replace(table, columns=columns))
    assert (made.stubhead, made.stub[0], made.stub[-1]) == (("Method",), ("M0",), ("N15",))
    assert all(all(row) for row in made.cells)


@pytest.mark.parametrize(
    "first_column",
    [
        # a heading less, another side, and the same headings as the next column
        TableColumn("M0", ("Coefficient (95% CI)",)),
        TableColumn("M0", ("Coefficient (95% CI)", "IoU"), "right"),
        TableColumn("M1", ("Coefficient (95% CI)", "IoU")),
    ],
)
def test_columns_that_cannot_be_mixed_stay_as_they_are(first_column):
    table = wide(1, 30)
    mixed = replace(table, columns=[first_column, *table.columns[1:]])
    assert rearranged_to_fit_page(mixed) is mixed
