"""What is resampled, and which rows meet."""

import warnings

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import ColumnError, SalstatsError, SalstatsWarning
from salstats.frames import ColumnCodes
from salstats.stats.design import resolve_unit
from salstats.stats.pairing import pair_with_reference
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


def scores(rows, columns=("case", "method", "score")):
    return pd.DataFrame(rows, columns=list(columns)).assign(metric="iou")


def test_pairs_meet_by_key_whatever_the_order():
    paired = pair_with_reference(
        scores([("b", "human", 0.2), ("a", "cam", 0.7), ("a", "human", 0.9), ("b", "cam", 0.1)]), "human"
    )
    assert paired[["case", "score", "reference_score"]].to_numpy().tolist() == [
        ["a", 0.7, 0.9],
        ["b", 0.1, 0.2],
    ]


def test_an_absent_partner_is_an_explicit_row():
    paired = pair_with_reference(
        scores([("a", "human", 0.9), ("b", "human", 0.8), ("a", "cam", 0.5), ("c", "cam", 0.4)]), "human"
    ).set_index("case")
    assert np.isnan(paired.loc["c", "reference_score"])
    assert np.isnan(paired.loc["b", "score"])
    assert (paired["method"] == "cam").all()
    assert len(paired) == 3


def test_one_human_score_serves_every_seed_of_a_method():
    rows = [("a", "human", 0.9, None), ("a", "cam", 0.5, "1"), ("a", "cam", 0.6, "2")]
    paired = pair_with_reference(scores(rows, ("case", "method", "score", "seed")), "human")
    assert paired["reference_score"].tolist() == [0.9, 0.9]


def test_seed_meets_seed_where_both_have_them():
    rows = [
        ("a", m, s, seed)
        for m, s, seed in (("human", 0.9, "1"), ("human", 0.8, "2"), ("cam", 0.5, "2"), ("cam", 0.4, "1"))
    ]
    paired = pair_with_reference(scores(rows, ("case", "method", "score", "seed")), "human")
    assert dict(zip(paired["seed"], paired["reference_score"], strict=True)) == {"1": 0.9, "2": 0.8}


def test_tasks_never_meet_each_other():
    rows = [
        ("a", "human", 0.9, "x"),
        ("a", "human", 0.1, "y"),
        ("a", "cam", 0.5, "y"),
        ("a", "cam", 0.4, "x"),
    ]
    paired = pair_with_reference(scores(rows, ("case", "method", "score", "task")), "human").set_index("task")
    assert (paired.loc["x", "reference_score"], paired.loc["y", "reference_score"]) == (0.9, 0.1)


def test_a_reference_with_several_rows_for_a_key_is_refused():
    rows = [("a", "human", 0.9, "1"), ("a", "human", 0.8, "2"), ("a", "cam", 0.5, None)]
    with pytest.raises(ColumnError, match=r"method 'human' has several rows for one key \(case a"):
        pair_with_reference(scores(rows, ("case", "method", "score", "reader")), "human")


def test_an_unknown_reference_lists_the_methods():
    with pytest.raises(SalstatsError, match=r"'human' is not a method.*'cam'"):
        pair_with_reference(scores([("a", "cam", 0.5)]), "human")
