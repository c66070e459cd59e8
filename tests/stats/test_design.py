"""What is resampled."""

import warnings

import pandas as pd
import pytest

import salstats as ss
from salstats.checks import ColumnError, SalstatsWarning
from salstats.frames import ColumnCodes
from salstats.stats.design import resolve_unit
from salstats.stats.wide import find_units


def units_of(table, unit):
    return resolve_unit(ColumnCodes(table), unit)


def frame(**columns):
    return pd.DataFrame({"metric": "iou", **columns})


@pytest.mark.parametrize(
    "call",
    [
        ss.summarize,
        ss.bootstrap,
        lambda scores, unit: ss.regress(scores, "iou ~ size", errors="cluster", unit=unit),
        lambda scores, unit: ss.correlate(scores, "iou", "size", unit=unit),
        lambda scores, unit: ss.auroc(scores, "size", "label", unit=unit),
    ],
)
def test_units_of_two_columns_are_refused_in_one_sentence(call):
    scores = frame(case=["a", "b"], method="cam", score=[0.1, 0.2], size=[1, 2], label=[0, 1])
    scores = scores.assign(patient=["p", "q"], reader="r")
    with pytest.raises(ColumnError, match=r"unit=\['patient', 'reader'\] must be the name of one column"):
        call(scores, unit=["patient", "reader"])


def test_units_are_numbered_in_sorted_order():
    units = units_of(frame(case=["b", "a", "c", "a"]), None)
    assert (units.name, units.n) == ("case", 3)
    assert units.codes.tolist() == [1, 0, 2, 0]


def test_patient_is_the_unit_only_where_one_has_several_cases():
    once = frame(case=["a", "b"], patient=["p", "q"])
    assert units_of(once, None).name == "case"
    assert units_of(once.assign(patient="p"), None).name == "patient"


def test_patients_under_another_name_are_asked_for():
    named = frame(case=["a", "b", "c"], **{"Patient ID": ["p", "p", "q"]})
    with pytest.warns(SalstatsWarning, match="'Patient ID' repeats.*rename it to 'patient'"):
        assert units_of(named, None).name == "case"
    unknown = frame(case=["a", "b", "c"], patient_id=[None, None, "q"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert units_of(unknown, None).name == "case"
        assert find_units(ColumnCodes(unknown.drop(columns="case")), None) is None


def test_cases_against_repeated_patients_warn():
    with pytest.warns(SalstatsWarning, match="1 patients have several"):
        units_of(frame(case=["a", "b"], patient=["p", "p"]), "case")


@pytest.mark.parametrize(
    ("columns", "unit", "message"),
    [
        ({"case": ["a"]}, "patient", "no column 'patient'"),
        ({"site": ["a"]}, None, "name the unit"),
        ({"case": ["a", "b"], "patient": ["p", None]}, "patient", "empty in row 1"),
    ],
)
def test_bad_units_say_what_is_wrong(columns, unit, message):
    with pytest.raises(ColumnError, match=message):
        units_of(frame(**columns), unit)
