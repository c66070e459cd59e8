import pandas as pd
from display.plots.test_power import plan
from tests_support import raises

import salstats as ss
from salstats.display.tables.great_table import current_record_of
from salstats.errors import ColumnError


def test_rows_are_numbers_of_cases_in_groups_by_effect():
    frame = plan(effects=(-0.1, -0.05), needed=(45, None), unit="patient", n_units=10, conf_level=0.95)
    table = current_record_of(ss.table_power(frame, title="Plan"))
    assert [column.heading for column in table.columns] == [
        "Patients",
        "Power, % (95% CI)",
        "Width of the 95% CI",
    ]
    assert table.groups == ["Effect −0.1"] * 4 + ["Effect −0.05"] * 4
    assert [row[0] for row in table.stub] == ["20", "40", "60", "80"] * 2
    assert table.cells[1] == ["10", "75.0 (73.0, 77.0)", "0.025"]
    assert "45 cases (22 patients) with effect −0.1" in table.notes[0]


def test_formulas_have_no_interval():
    frame = (
        plan(unit="case")
        .drop(columns=["conf_low", "conf_high", "n_studies"])
        .assign(approach="formula", test="t")
    )
    table = current_record_of(ss.table_power(frame))
    assert [column.heading for column in table.columns] == ["Power, %", "Width of the 95% CI"]
    assert table.cells[0] == ["40.0", "0.050"]
    assert not table.groups


def test_a_plan_of_widths_says_how_often_which_width_is_reached():
    table = current_record_of(ss.table_power(plan(unit="case", goal="width", widest=0.1, conf_level=0.95)))
    assert table.columns[0].heading == "Studies with a 95% CI no wider than 0.1, % (95% CI)"


def test_what_is_no_plan_is_refused():
    with raises(ColumnError, column="term"):
        ss.table_power(pd.DataFrame({"power": [0.8]}))


def test_rows_with_tests_of_their_own_name_them_and_a_caution_stands_below():
    tests = ["cr2", "wild", "wild", "wild"]
    frame = plan(unit="case", conf_level=0.95, caution="small pilot").assign(test=tests)
    table = current_record_of(ss.table_power(frame))
    assert table.columns[-1].heading == "Test"
    assert [row[-1] for row in table.cells] == [
        "paired t test, CR2 standard errors",
        *["wild cluster bootstrap test, mid-P"] * 3,
    ]
    assert "no better than from 20 normal differences" in table.notes[0]
    alike = current_record_of(ss.table_power(plan(unit="case", conf_level=0.95)))
    assert "Test" not in [column.heading for column in alike.columns]
