"""Characteristics of patients against values worked by hand, NumPy, and a published count."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.coded_text import TEXT
from salstats.errors import ColumnError
from salstats.stats.patient_characteristics import CATEGORICAL, CONTINUOUS, DICHOTOMOUS, describe_patients

# the same sums in another order
ROUNDING = 1e-12


@pytest.fixture
def patients():
    """Six patients of two sites, worked by hand in the tests."""
    return pd.DataFrame(
        {
            "patient": list("abcdef"),
            "site": ["B", "A", "A", "B", "A", "B"],
            "age": [50.5, 60.5, 70.5, 80.5, np.nan, 40.5],
            "stage": pd.Categorical(["II", "I", "II", "I", "I", None], ["II", "I", "III"]),
            "smoker": ["Yes", "no", "no", None, "Yes", "no"],
        }
    )


def only(frame, **values):
    """The one row with these values."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_numbers_of_dtype_object_are_described_as_numbers(patients):
    of_dtype_object = patients.astype({"age": object})
    expected = describe_patients(patients, "age", by="site")
    pd.testing.assert_frame_equal(describe_patients(of_dtype_object, "age", by="site"), expected)


def test_numbers_have_the_statistics_of_numpy(patients):
    result = describe_patients(patients, "age", by="site")
    for site, values in {
        "A": [60.5, 70.5],
        "B": [50.5, 80.5, 40.5],
        "Overall": patients["age"].dropna(),
    }.items():
        row = only(result, site=site)
        expected = {
            "mean": np.mean(values),
            "sd": np.std(values, ddof=1),
            "median": np.median(values),
            "q1": np.quantile(values, 0.25),
            "q3": np.quantile(values, 0.75),
            "min": np.min(values),
            "max": np.max(values),
        }
        for column, value in expected.items():
            np.testing.assert_allclose(row[column], value, rtol=ROUNDING, err_msg=f"{site} {column}")
    assert result["site"].tolist() == ["A", "B", "Overall"]
    assert result["n_units"].tolist() == [3, 3, 6]
    assert result["n"].tolist() == [2, 3, 5]
    assert result["n_missing"].tolist() == [1, 0, 1]
    assert result[["n_level", "percent", "level"]].isna().all(axis=None)


def test_levels_are_counted_in_the_order_of_their_categories_with_those_nobody_has(patients):
    result = describe_patients(patients, "stage", by="site")
    in_a = result[result["site"] == "A"]
    assert in_a["level"].tolist() == ["II", "I", "III"]
    assert in_a["n_level"].tolist() == [1, 2, 0]
    np.testing.assert_allclose(in_a["percent"], [100 / 3, 200 / 3, 0])
    # of three patients at B one has no stage: percentages are of the other two
    in_b = result[result["site"] == "B"]
    assert in_b["n_level"].tolist() == [1, 1, 0]
    assert in_b["percent"].tolist() == [50, 50, 0]
    assert in_b["n_missing"].tolist() == [1, 1, 1]
    # text without categories is sorted
    as_text = patients.astype({"stage": TEXT})
    assert describe_patients(as_text, "stage")["level"].tolist() == ["I", "II"]


def test_yes_is_counted_in_each_of_its_spellings(patients):
    spelled = patients.assign(smoker=["Yes", "yes", "no", None, "YES", "No"])
    row = only(describe_patients(spelled, "smoker"))
    assert (row["kind"], row["n"], row["n_level"], row["percent"]) == (DICHOTOMOUS, 5, 3, 60)


def test_a_dichotomous_covariate_has_one_row(patients):
    row = only(describe_patients(patients, "smoker"))
    assert (row["kind"], row["level"]) == (DICHOTOMOUS, "Yes")
    assert (row["n"], row["n_missing"], row["n_level"], row["percent"]) == (5, 1, 2, 40)
    both = describe_patients(patients, "smoker", categorical="smoker")
    assert both["level"].tolist() == ["Yes", "no"]
    assert both["n_level"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        ([True, False, None, True], DICHOTOMOUS, ["True"]),
        ([1, 0, 0, 1], DICHOTOMOUS, ["1"]),
        ([0.0, 0.0, np.nan, 0.0], DICHOTOMOUS, ["1"]),
        (["no", "no", "NO", None], DICHOTOMOUS, ["yes"]),
        (["F", "M", "F", ""], CATEGORICAL, ["F", "M"]),
        ([1.0, 3.0, 2.0, np.nan], CATEGORICAL, ["1", "2", "3"]),
        ([10, 9, 10, 2], CATEGORICAL, ["2", "9", "10"]),
        ([0.5, 0.5, 1.0, 2.0], CONTINUOUS, []),
        ([np.nan] * 4, CONTINUOUS, []),
        ([None] * 4, CONTINUOUS, []),
    ],
)  # fmt: skip
def test_kinds_are_told_by_the_values(values, kind, levels):
    result = describe_patients(pd.DataFrame({"patient": list("abcd"), "x": values}), "x")
    assert set(result["kind"]) == {kind}
    assert result["level"].dropna().tolist() == levels
    assert (result["n"] == sum(value not in ("", None) and value == value for value in values)).all()


def test_whole_numbers_are_levels_below_ten_distinct_values():
    def kinds(n, **options):
        frame = pd.DataFrame({"patient": range(n), "x": range(n)})
        return set(describe_patients(frame, "x", **options)["kind"])

    assert kinds(9) == {CATEGORICAL}
    assert kinds(10) == {CONTINUOUS}
    assert kinds(9, continuous="x") == {CONTINUOUS}
    assert kinds(10, categorical=["x"]) == {CATEGORICAL}


def test_a_patient_counts_once_in_however_many_rows(patients):
    covariates = ["age", "stage", "smoker"]
    once = describe_patients(patients, covariates, by="site")
    repeated = pd.concat([patients, patients.iloc[[0, 0, 3, 4]]]).sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(describe_patients(repeated, covariates, by="site"), once)
    # a value that some rows of a patient lack is known from the others
    blank = patients.assign(age=np.nan, smoker=None)
    both = pd.concat([blank, patients, blank])
    pd.testing.assert_frame_equal(describe_patients(both, covariates, by="site"), once)


def test_a_value_that_differs_within_a_patient_names_column_patient_and_remedy(patients):
    other = pd.concat([patients, patients.assign(age=patients["age"] + (patients["patient"] == "d"))])
    with raises(ColumnError, column="age", rows=(3, 9), match=r"over_views\(\)"):
        describe_patients(other.reset_index(drop=True), ["stage", "age"])
    moved = pd.concat([patients, patients.assign(site="A")], ignore_index=True)
    with raises(ColumnError, column="site", rows=(0, 6)):
        describe_patients(moved, "age", by="site")
    # with the site in the unit a patient counts once at each
    both = describe_patients(moved, "age", by="site", unit=["patient", "site"])
    assert both["n_units"].tolist() == [6, 3, 9]


def test_a_remedy_names_no_unit_in_which_values_differ():
    findings = pd.DataFrame({"case": list("aabb"), "task": list("xyxy"), "size": [1.0, 2.0, 3.0, 3.0]})
    with raises(ColumnError, column="size") as case_error:
        describe_patients(findings, "size", continuous="size")
    assert "such as case and task together" in str(case_error.value)
    pairs = describe_patients(findings, "size", continuous="size", unit=["case", "task"])
    assert "N, pairs of case and task." in ss.table_patients(pairs).as_raw_html()


def test_units_are_cases_where_there_are_no_patients():
    scores = ss.datasets.load_simulated().drop(columns="patient")
    scores = scores.assign(site=scores["case"].str[-1])
    result = describe_patients(scores, "site")
    assert set(result["unit"]) == {"case"}
    cases = scores.drop_duplicates("case")
    assert result["n_level"].tolist() == cases["site"].value_counts().sort_index().tolist()


def test_cases_of_patients_with_several_are_counted_without_a_warning_of_dependence():
    rows = pd.DataFrame({"case": list("abc"), "patient": ["p", "p", "q"], "age": [1.5, 2.5, 3.5]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert describe_patients(rows, ["age"], unit="case")["n_units"].tolist() == [3]


def test_numbers_of_patients_are_those_that_were_published(shared):
    # Van Dyke et al. 1993: 114 patients, 45 with a dissection; ten readings of each are in the file
    readings = pd.read_csv(shared / "data" / "vandyke" / "VanDyke.csv").rename(columns={"case": "patient"})
    row = only(describe_patients(readings, "truth"))
    assert (row["n_units"], row["n"], row["n_level"]) == (114, 114, 45)
    with raises(ColumnError, column="rating"):
        describe_patients(readings, "rating")


def test_bad_requests_are_named(patients):
    for covariates, options, fields in (
        ("size", {}, {"column": "size"}),
        ([], {}, {"option": "covariates"}),
        (["age", "age"], {}, {"option": "covariates"}),
        ("age", {"by": "arm"}, {"column": "arm"}),
        (["age", "site"], {"by": "site"}, {"column": "site", "option": "covariates"}),
        ("age", {"by": "smoker"}, {"column": "smoker", "rows": (3,)}),
        ("age", {"continuous": "stage"}, {"option": "continuous", "value": "stage", "choices": ("age",)}),
        ("stage", {"continuous": "stage"}, {"column": "stage"}),
        ("day", {}, {"column": "day"}),
        ("infinite", {}, {"column": "infinite"}),
        ("age", {"by": "overall"}, {"column": "overall"}),
        ("age", {"by": "kind"}, {"column": "kind"}),
    ):
        frame = patients.assign(day=pd.Timestamp("2026-01-01"), infinite=np.inf, overall="Overall", kind="a")
        with raises(ColumnError, **fields):
            describe_patients(frame, covariates, **options)


def test_the_table_is_not_changed(patients):
    before = patients.copy()
    describe_patients(patients, ["age", "stage", "smoker"], by="site")
    pd.testing.assert_frame_equal(patients, before)
