"""Columns that results of fitted models have in common."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")


def test_columns_stand_in_the_order_of_the_contract(drawn_scores):
    formulas = ["iou ~ prob", "hit ~ prob"]
    clustered = ss.regress(
        drawn_scores, formulas, by=("method", "task"), errors="cluster", adjust="holm", overall=True
    )
    assert list(clustered.columns) == [
        *("method", "task", "formula", "term", "estimate", "std_error", "statistic", "df", "p_value"),
        *("p_adjusted", "conf_low", "conf_high", "conf_level", "interval", "unit", "n", "n_missing"),
        *("n_units", "n_shared", "family", "errors", "exponentiated", "n_tests", "procedure"),
    ]
    assert clustered["formula"].unique().tolist() == formulas
    tasks = clustered.query("formula == 'iou ~ prob' and method == 'human' and term == 'prob'")[
        "task"
    ].tolist()
    assert tasks == [*sorted(tasks[:-1]), "Overall"]
    assert (clustered["n"] + clustered["n_missing"]).groupby(clustered["task"]).nunique().eq(1).all()
    edema = drawn_scores.drop(columns="patient").query("task == 'Edema'")
    plain = ss.regress(edema, "iou ~ prob", errors="hc2")
    assert {"unit", "n_units", "p_adjusted"}.isdisjoint(plain.columns)
    assert isinstance(clustered.index, pd.RangeIndex)


def test_a_covariate_from_0_to_1_is_marked_and_a_yes_or_no_is_not():
    rows = pd.DataFrame({"x": [5.0, 7, 6, 9, 4], "yes": [0, 1, 0, 1, 1], "y": [0.1, 0.5, 0.2, 0.6, np.nan]})
    table = ss.regress(ss.normalize(rows, "x"), "y ~ x + yes").set_index("term")
    assert table["normalized"].to_dict() == {"(Intercept)": False, "x": True, "yes": False}


def test_counts_are_those_of_each_model():
    rows = pd.DataFrame({"x": [5.0, 7, 6, 9, 4, 1], "y": [0.1, 0.5, 0.2, 0.6, np.nan, 0.3]})
    rows["site"] = list("ababab")
    statistics = ss.fit(rows, ["y ~ x", "y ~ 1"], by=(), errors="hc0").glance()
    assert statistics["n_missing"].tolist() == [1, 1]
    terms = ss.fit(rows, ["y ~ x", "y ~ 1"], by=(), errors="hc0").tidy()
    assert terms["n_missing"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(("n_patients", "caution"), [(3, "few units"), (5, None)])
def test_coefficients_and_means_of_few_patients_have_a_caution(n_patients, caution):
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(n_patients).astype(str), 8)
    rows = pd.DataFrame({"patient": patients, "view": ["frontal", "lateral"] * (len(patients) // 2)})
    rows["y"] = rng.normal(size=len(rows))
    fit = ss.fit(rows, "y ~ view", unit="patient")
    for frame in (fit.tidy(), fit.means("view")):
        assert ("caution" in frame.columns) == (caution is not None)
        assert caution is None or frame["caution"].eq(caution).all()


@pytest.mark.parametrize(
    ("random_effects", "are_fixed"),
    [
        ("(1 | patient)", True),
        ("(1 | patient) + (1 | patient:reader)", True),
        ("(1 | patient) + (1 | reader)", False),
    ],
)
def test_readers_are_fixed_unless_they_have_a_random_effect_of_their_own(random_effects, are_fixed):
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        [
            {"patient": f"p{i}", "reader": f"r{j}", "view": view, "y": patient + reader + rng.normal(0, 0.1)}
            for i, patient in enumerate(rng.normal(size=12))
            for j, reader in enumerate(rng.normal(size=5))
            for view in ("frontal", "lateral")
        ]
    )
    coefficients = ss.fit(rows, f"y ~ view + {random_effects}").tidy()
    if are_fixed:
        assert coefficients["inference_to"].eq("these readers").all()
    else:
        assert "inference_to" not in coefficients or coefficients["inference_to"].isna().all()


@pytest.mark.parametrize("name", ["formula", "reference"])
def test_a_grouping_column_with_the_name_of_a_column_of_the_result_is_refused(name):
    rows = pd.DataFrame(
        {name: list("aaabbb"), "x": [1.0, 2, 4, 1, 3, 4], "y": [0.1, 0.5, 0.2, 0.6, 0.4, 0.3]}
    )
    with raises(ColumnError, option="by"):
        ss.regress(rows, "y ~ x", by=name)


def test_categories_of_a_grouping_column_are_kept_in_their_order():
    tasks = pd.Categorical(list("aaabbb"), ["b", "a"], ordered=True)
    rows = pd.DataFrame({"task": tasks, "x": [1.0, 2, 4, 1, 3, 4], "y": [0.1, 0.5, 0.2, 0.6, 0.4, 0.3]})
    found = ss.regress(rows, "y ~ x", by="task", errors="classical", overall=True)
    assert found["task"].drop_duplicates().tolist() == ["b", "a", "Overall"]
    assert found["task"].cat.categories.tolist() == ["b", "a", "Overall"]
    assert found["task"].cat.ordered


def test_coefficients_are_named_after_the_part_of_the_model():
    random = np.random.default_rng(0)
    y = np.where(random.uniform(size=60) < 0.2, 0.0, random.uniform(0.1, 0.9, size=60))
    rows = pd.DataFrame({"x": random.uniform(size=60), "y": y})
    inflated = ss.fit(rows, "y ~ x", family="zero-one-inflated-beta", errors="classical").models[0]
    assert inflated.coefficient_names == ["mean: (Intercept)", "mean: x", "zero: (Intercept)", "zero: x"]
    assert ss.fit(rows, "y ~ x", errors="classical").models[0].coefficient_names == ["(Intercept)", "x"]
