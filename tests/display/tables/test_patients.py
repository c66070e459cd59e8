"""The table of patients: rows, groups, statistics and missing values."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError

LABELS = {
    "site": {"A": "Site A", "B": "Site B"},
    "age": "Age (years)",
    "sex": {"F": "Female", "M": "Male"},
    "smoker": "Current smoker",
}
COVARIATES = ["age", "sex", "smoker"]


@pytest.fixture(scope="module")
def patients():
    """Twelve patients of two sites; one has no age, one at site B is not known to smoke."""
    ages = [41.0, 47, 53, 58, 60, 62, 66, 67, 71, 74, 80, np.nan]
    return pd.DataFrame(
        {
            "patient": [f"p{number}" for number in range(12)],
            "site": ["A", "B", "B"] * 4,
            "age": ages,
            "sex": ["M", "F"] * 6,
            "smoker": ["yes", "no", None, *["no"] * 9],
        }
    )


@pytest.fixture(scope="module")
def described(patients):
    return ss.describe_patients(patients, COVARIATES, by="site")


def test_body_is_as_it_was_looked_at(described, same_as_snapshot):
    same_as_snapshot(ss.table_patients(described, labels=LABELS, title="Patients"), "patients")


def test_groups_are_columns_with_their_number_and_levels_rows(described, read):
    seen = read(ss.table_patients(described, labels=LABELS))
    # what has no heading above it reaches over both rows
    assert seen.head == [["Characteristic", "Site", "Overall, N = 12"], ["Site A, N = 4", "Site B, N = 8"]]
    assert list(seen.rows) == [
        "Age (years), median (Q1, Q3)", "Missing", "Sex, n (%)", "Female", "Male", "Current smoker, n (%)",
    ]  # fmt: skip
    # the four ages at site A are 41, 58, 66 and 74
    assert seen.rows["Age (years), median (Q1, Q3)"][0] == "62 (54, 68)"
    assert seen.rows["Female"] == ["2 (50.0)", "4 (50.0)", "6 (50.0)"]
    assert seen.rows["Current smoker, n (%)"] == ["1 (25.0)", "0 (0.0)", "1 (9.1)"]
    assert seen.body[1] == ["Missing", "0", "1", "1"]
    assert seen.body[-1] == ["Missing", "0", "1", "1"]
    assert "N, patients." in seen.note
    assert "Missing values are left out" in seen.note


def test_without_groups_and_missing_values_there_is_one_column_and_no_such_row(patients, read):
    seen = read(ss.table_patients(ss.describe_patients(patients.dropna(), COVARIATES)))
    assert seen.head == [["Characteristic", "Overall, N = 10"]]
    assert "Missing" not in seen.rows
    assert "left out" not in seen.note


def test_several_statistics_stand_below_each_other(described, read):
    table = ss.table_patients(described, statistics=["mean", "median", "range"], style="ama", digits=1)
    seen = read(table)
    assert [row[0] for row in seen.body[:5]] == ["Age", "Mean (SD)", "Median (Q1, Q3)", "Range", "Missing"]
    ages = np.array([41.0, 58, 66, 74])
    assert seen.rows["Mean (SD)"][0] == f"{ages.mean():.1f} ({ages.std(ddof=1):.1f})"
    assert seen.rows["Median (Q1, Q3)"][0] == "62.0 (53.8 to 68.0)"
    assert seen.rows["Range"][0] == "41.0 to 74.0"
    assert seen.body[0][1:] == ["", "", ""]
    assert table.record.indented_rows >= {1, 2, 3, 4}


def test_labels_order_groups_and_levels(described, read):
    labels = {"site": ["Overall", "B", "A"], "sex": ["M", "F"]}
    seen = read(ss.table_patients(described, labels=labels))
    assert seen.head == [["Characteristic", "Overall, N = 12", "Site"], ["B, N = 8", "A, N = 4"]]
    assert [row[0] for row in seen.body[3:5]] == ["M", "F"]


def test_categories_stay_in_their_order(patients, read):
    sizes = pd.Categorical(["large", "small", "medium"] * 4, ["small", "medium", "large", "huge"])
    seen = read(ss.table_patients(ss.describe_patients(patients.assign(size=sizes), "size")))
    assert list(seen.rows) == ["Size, n (%)", "small", "medium", "large", "huge"]
    assert seen.rows["huge"] == ["0 (0.0)"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (2 * np.arange(12) + 50, "61 (56, 66)"),
        (np.arange(12) + 50.25, "55.8 (53.0, 58.5)"),
        (np.linspace(0.01, 0.02, 12), "0.0150 (0.0125, 0.0175)"),
        (np.arange(12) * 1000 + 0.5, "5,500 (2,750, 8,250)"),
        ([7.5] * 12, "7.50 (7.50, 7.50)"),
    ],
)
def test_decimals_show_two_digits_of_the_width_between_quartiles(patients, read, values, text):
    described = ss.describe_patients(patients.assign(x=values), "x", continuous="x")
    assert read(ss.table_patients(described)).rows["X, median (Q1, Q3)"] == [text]


def test_a_covariate_of_which_nothing_is_known_has_dashes(patients, read):
    described = ss.describe_patients(
        patients.assign(size=np.nan, grade=patients["sex"].where(patients["site"] == "A")),
        ["size", "grade"],
        by="site",
    )
    seen = read(ss.table_patients(described, statistics=["mean", "range"]))
    assert seen.rows["Mean (SD)"] == seen.rows["Range"] == ["—", "—", "—"]
    assert seen.rows["M"] == ["2 (50.0)", "—", "2 (50.0)"]
    assert "—, not available." in seen.note


def test_a_frame_that_was_written_and_read_gives_the_same_table(patients, tmp_path, read):
    frame = patients.assign(grade=[1.0, 2, 3] * 4, label=[1, 0, None] * 4)
    described = ss.describe_patients(frame, ["age", "grade", "label"], by="site")
    for path in (tmp_path / "patients.csv", tmp_path / "patients.parquet"):
        ss.write_frame(described, path)
        assert read(ss.table_patients(ss.read_data(path))).body == read(ss.table_patients(described)).body


def test_every_ending_holds_the_table(described, tmp_path):
    table = ss.table_patients(described, labels=LABELS)
    for ending in ("md", "csv", "html", "tex", "json"):
        text = ss.save_table(table, tmp_path / f"table.{ending}").read_text(encoding="utf-8-sig")
        assert "Current smoker" in text
        assert "9.1" in text
    assert "  Female" in str(table)


def test_bad_input_is_one_clear_sentence(described, means):
    with raises(ColumnError, column="covariate"):
        ss.table_patients(means)
    with raises(ValueRangeError, option="statistics", value="mode"):
        ss.table_patients(described, statistics="mode")
    with raises(ValueRangeError, option="style", value="jama"):
        ss.table_patients(described, style="jama")
