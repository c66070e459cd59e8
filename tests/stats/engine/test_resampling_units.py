"""What is resampled."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns, with_text_columns

import salstats as ss
from salstats.errors import ColumnError, Setting
from salstats.frames import ColumnCodes
from salstats.stats.engine.resampling_units import has_units, resolve_unit


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
@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_several_columns_name_a_unit_together(call):
    n = 40
    scores = frame(case=np.arange(n), method="cam", score=np.linspace(0, 1, n), size=np.arange(n) % 7)
    scores = scores.assign(label=np.arange(n) % 2, site=np.arange(n) % 2, number=np.arange(n) // 4)
    both = call(scores, unit=["site", "number"])
    other = call(scores.assign(own=scores["site"] * 100 + scores["number"]), unit="own")
    assert (both["unit"] == "site, number").all() if "unit" in both else True
    pd.testing.assert_frame_equal(
        both.drop(columns="unit", errors="ignore"), other.drop(columns="unit", errors="ignore")
    )


def test_units_are_numbered_in_sorted_order():
    units = units_of(frame(case=["b", "a", "c", "a"]), None)
    assert (units.name, units.n) == ("case", 3)
    assert units.codes.tolist() == [1, 0, 2, 0]


def test_patient_is_the_unit_only_where_one_has_several_cases():
    once = frame(case=["a", "b"], patient=["p", "q"])
    assert units_of(once, None).name == "case"
    assert units_of(once.assign(patient="p"), None).name == "patient"


@pytest.mark.parametrize(
    "name",
    [
        "patient_id",
        "PatientID",
        "Patient ID",
        "subject",
        "mrn",
        "pid",
        "id_patient",
        "study_id",
        "ID",
        "PatNo",
    ],
)
def test_patients_under_another_name_are_seen_and_said(name):
    named = frame(case=["a", "b", "c"], **{name: ["p", "p", "q"]})
    with warns(option="unit", column=name, hint=Setting("unit", "case")):
        units = units_of(named, None)
    assert (units.name, units.n, units.codes.tolist()) == (name, 2, [0, 0, 1])


@pytest.mark.parametrize(
    "cases",
    [
        ["patient10001_study1_view1", "patient10001_study2_view1", "patient7_study1_view1"],
        ["sub-01_ses-01", "sub-01_ses-02", "sub-02_ses-01"],
        [
            "valid/patient1/study1/view1.jpg",
            "valid/patient1/study1/view2.jpg",
            "train/patient2/study1/view1.jpg",
        ],
        ["p10/p10000032/s50414267/a.jpg", "p10/p10000032/s53189527/b.jpg", "p10/p10000764/s57375967/c.jpg"],
        ["00000013_005.png", "00000013_026.png", "00000079_000.png"],
    ],
)
def test_patients_that_cases_are_named_after_are_seen_and_said(cases):
    with warns(option="unit", column="case"):
        units = units_of(frame(case=cases), None)
    assert (units.name, units.n, np.bincount(units.codes).max()) == ("patient", 2, 2)


def test_what_names_no_patients_leaves_cases_alone():
    unknown = frame(case=["a", "b", "c"], patient_id=[None, None, "q"])
    dates = frame(case=["20210101_001.png", "20210101_002.png"])
    single = frame(case=["a", "b", "c"], patient_id=["p", "q", "r"])
    across = frame(case=["a", "a", "b"], visit=[1, 2, 1])
    datasets = frame(case=np.arange(60), study=np.arange(60) // 30)
    numbers = frame(case=["patient1", "patient2", "view_1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (unknown, single, across, datasets, numbers, dates):
            assert units_of(table, None).name == "case"
        assert not has_units(unknown.drop(columns=["case", "patient_id"]))
        assert units_of(unknown.drop(columns="case"), None).n == 3


def test_the_same_patient_in_two_data_sets_is_two():
    scores = frame(case=["a", "b", "a", "b"], patient_id=[1, 1, 1, 1], dataset=["x", "x", "y", "y"])
    with warns(option="unit", column="patient_id"):
        assert units_of(scores, None).n == 2


@pytest.mark.parametrize(
    "known",
    [
        {"patient": [None, None, "p", "p", "q"]},
        {"mrn": ["", "", "p", "p", "q"]},
        {"case": ["a", "b", "patient1_view1", "patient1_view2", "patient2_view1"]},
        {"patient": [None] * 5, "patient_id": [np.nan, np.nan, 1, 1, 2]},
        {"patient": ["unknown", "unknown", "p", "p", "q"]},
        {"patient": ["NA", "n/a", "p", "p", "q"]},
        {"mrn": ["none", "None ", "p", "p", "q"]},
        {"patient": ["?", "-", "p", "p", "q"]},
        {"patient": pd.Categorical(["null", "NaN", "p", "p", "q"])},
        {"patient": ["Unknown"] * 5, "patient_id": ["", None, 1, 1, 2]},
    ],
)
def test_cases_of_nobody_known_are_units_of_their_own_and_that_is_said(known):
    scores = frame(**{"case": list("abcde"), **known})
    with warns(option="unit", rows=(0, 1)):
        units = units_of(scores, None)
    assert units.codes[2] == units.codes[3]
    assert (units.n, len(set(units.codes))) == (4, 4)


def test_ids_that_begin_anew_in_each_site_are_told_of_and_told_apart():
    scores = frame(case=list("abcd"), patient=[1, 1, 1, 2], site=["x", "x", "y", "y"])
    with warns(option="unit", value=["site", "patient"], column="site", rows=(0, 1, 2)):
        assert units_of(scores, None).n == 2
    assert units_of(scores, ["site", "patient"]).codes.tolist() == [0, 0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert units_of(scores.assign(patient=[1, 1, 2, 2]), None).n == 2


@pytest.mark.parametrize("name", ["hospital", "Cohort", "source", "country", "batch"])
def test_ids_that_begin_anew_in_any_column_are_told_of(name):
    # 10 patients of one, 6 of the other, two images each
    patients = [*np.repeat(np.arange(1, 11), 2), *np.repeat(np.arange(1, 7), 2)]
    scores = frame(case=np.arange(32), patient=patients, **{name: ["x"] * 20 + ["y"] * 12})
    shared = (*range(12), *range(20, 32))
    with warns(option="unit", value=[name, "patient"], column=name, rows=shared):
        units_of(scores, None)
    assert units_of(scores, [name, "patient"]).n == 16


def test_what_varies_within_a_patient_is_no_site():
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(1, 21), 4)
    scores = frame(
        case=np.arange(80),
        patient=patients,
        view=["frontal", "lateral"] * 40,
        side=np.tile(["left", "left", "right", "right"], 20),
        visit=np.tile([1, 2, 3, 4], 20),
        split=rng.choice(["train", "test"], 80),
        taken=[f"2021-03-{d:02d}" for d in rng.integers(1, 29, 80)],
        size=rng.normal(size=80),
        hospital=np.where(patients < 9, "x", "y"),
    )
    some = scores.drop(index=rng.choice(80, 15, replace=False))
    numbered_on = scores.assign(cohort=np.where(patients < 9, "x", "y"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (scores, some, numbered_on):
            assert units_of(table, None).n == 20


def test_cases_against_repeated_patients_warn():
    with warns(option="unit", value="case", hint="unit='patient' keeps a patient's cases together"):
        units_of(frame(case=["a", "b"], patient=["p", "p"]), "case")


@pytest.mark.parametrize(
    ("columns", "unit", "fields"),
    [
        ({"case": ["a"]}, "patient", {"column": "patient", "choices": ("metric", "case")}),
        ({"case": ["a"]}, 5, {"option": "unit", "value": 5}),
        ({"site": ["a"]}, None, {"option": "unit", "column": None}),
        (
            {"case": ["a", "b"], "patient": ["p", None]},
            "patient",
            {"column": "patient", "rows": (1,), "match": "empty"},
        ),
        (
            {"case": ["a", "b"], "patient": ["p", "Unknown"]},
            "patient",
            {"column": "patient", "rows": (1,), "match": "'Unknown'"},
        ),
    ],
)
def test_rows_without_a_unit_are_an_error_that_names_them(columns, unit, fields):
    with raises(ColumnError, **fields):
        units_of(frame(**columns), unit)


def read_by(*readers):
    """Scores of 30 cases in two methods, "human" by each of some readers."""
    n = 30
    one = frame(case=np.arange(n), size=np.arange(n) % 7, label=np.arange(n) % 2, task="Edema")
    one = one.assign(score=(np.arange(n) * 7 % n) / n, tp=5, fp=np.arange(n), fn=3, tn=9)
    people = [
        one.assign(method="human", reader=r, score=one["score"] * 0.9**i) for i, r in enumerate(readers)
    ]
    return pd.concat([*people, one.assign(method="cam", reader=None)], ignore_index=True)


#: Estimates, and their rows that speak of human readers.
SPEAKING = {
    "summarize": (lambda s: ss.summarize(s), "human"),
    "difference": (lambda s: ss.difference(s, reference="cam"), "human"),
    "percent_decrease": (lambda s: ss.percent_decrease(s, reference="cam"), "human"),
    "pooled_rates": (lambda s: ss.pooled_rates(s), "human"),
    "pooled_difference": (lambda s: ss.pooled_difference(s, reference="cam"), "human"),
    "rank_stability": (lambda s: ss.rank_stability(s, pairs="available"), "cam|human"),
    "correlate": (lambda s: ss.correlate(s, "iou", "size"), "human"),
    "correlate_clustered": (lambda s: ss.correlate_clustered(s, "iou", "size"), "human"),
    "auroc": (lambda s: ss.auroc(s, "iou", "label"), "human"),
    "regress": (lambda s: ss.regress(s, "iou ~ size"), "human"),
    "joint_test": (lambda s: ss.joint_test(s, "iou ~ size"), "human"),
    "fit_line": (lambda s: ss.fit_line(s, "iou ~ size"), "human"),
}


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("name", SPEAKING)
def test_estimates_that_take_readers_for_fixed_speak_of_these_readers(name, tmp_path):
    call, whose = SPEAKING[name]
    found = call(read_by("A", "B"))
    said = found["inference_to"].eq("these readers")
    assert said.equals(found["method"].str.fullmatch(whose))
    found.to_csv(tmp_path / "found.csv", index=False)
    read = with_text_columns(pd.read_csv(tmp_path / "found.csv"))
    assert read["inference_to"].equals(found["inference_to"])
    assert "inference_to" not in call(read_by("A"))


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_an_average_over_readers_speaks_of_these_and_readers_who_are_drawn_of_others():
    scores = read_by("A", "B", "C")
    people = scores[scores["method"] == "human"]
    averaged = ss.summarize(people, by=["method", "reader"], average="reader")
    assert averaged["inference_to"].eq("these readers").all()
    assert "inference_to" not in ss.summarize(people, unit="reader")
    sites = people.assign(site=people["reader"].map({"A": 1, "B": 1, "C": 2}))
    assert "inference_to" not in ss.summarize(sites, unit="site")
    assert "inference_to" not in ss.regress(people, "iou ~ size", errors="cr2", unit="reader")
    assert "inference_to" in ss.regress(people, "iou ~ size", errors="cr2", unit="case")
