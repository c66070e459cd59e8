"""Tables wider than a page: what stands in rows, columns and groups instead, and that nothing is lost."""

from dataclasses import replace
from itertools import product

import pytest

from salstats.display.tables.fitting import fits_page, rearranged_to_fit
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
    made = rearranged_to_fit(table)
    assert not fits_page(table)
    assert fits_page(made)
    assert said(made) == said(table)
    marked = {(made.groups[i], made.cells[i][j]) for i, j in made.bold}
    assert {text for _, text in marked} == {table.cells[i][j] for i, j in table.bold}


def test_outcomes_become_groups_and_methods_rows_where_there_are_many():
    made = rearranged_to_fit(wide(1, 30))
    assert list(dict.fromkeys(made.groups)) == ["IoU", "Hit rate"]
    assert (made.stubhead, made.stub[:2]) == (("Method",), [("M0",), ("M1",)])
    over = ("Coefficient (95% CI)",)
    assert made.columns == [TableColumn("Size", over), TableColumn("Elongation", over), TableColumn("n", ())]


def test_terms_stay_rows_where_methods_fit_beside_each_other():
    made = rearranged_to_fit(wide(1, 8))
    assert (made.stubhead, made.stub[:3]) == (("Term",), [("Size",), ("Elongation",), ("n",)])
    assert [c.heading for c in made.columns] == [f"M{m}" for m in range(8)]
    assert made.rows_with_rule_above == {2, 5} == made.foot_rows


def test_methods_are_rows_where_they_would_need_a_page_on_its_side_beside_each_other():
    made = rearranged_to_fit(wide(1, 11))
    assert (made.stubhead, made.stub[:2]) == (("Method",), [("M0",), ("M1",)])


def test_a_factor_that_turns_is_above_its_levels_and_its_p():
    table = wide(1, 30)
    cells = [["P = 0.012"] * 60, *table.cells[1:]]
    made = rearranged_to_fit(replace(table, stub=[("Site",), ("b",), ("n",)], cells=cells, indented_rows={1}))
    over = ("Coefficient (95% CI)", "Site")
    assert made.columns == [TableColumn("P", over), TableColumn("b", over), TableColumn("n", ())]


def test_what_fits_or_may_not_turn_stays_as_it_is():
    for table in (wide(1, 3), wide(1, 30, may_rearrange=False)):
        assert rearranged_to_fit(table) is table
