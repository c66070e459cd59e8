"""Models are fitted in every group, and what may mislead is said."""

import warnings

import numpy as np
import pandas as pd
import pytest
from regression_oracle import LINEAR, assert_columns_equal
from tests_support import raises, warns, warns_too

import salstats as ss
from salstats.errors import ColumnError, ColumnName, ColumnValue, SalstatsWarning, Setting, ValueRangeError

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
# both sides solve by QR in double precision; condition numbers here are below 1e3
LINEAR_RTOL = 1e-10


def test_rows_that_repeat_a_unit_warn_once_with_their_numbers(drawn_table, drawn_scores):
    complete = drawn_table.dropna(subset=["iou", "area_ratio", "elongation", "irrectangularity"])
    with warns(option="errors", column="patient", hint=Setting("errors", "cr2")) as caught:
        ss.regress(drawn_scores, LINEAR["multi"], by="method", errors="classical")
    parts = caught[0].message.message.parts
    models = [part for part in parts if isinstance(part, ColumnValue)]
    assert models == [ColumnValue("method", "gradcam"), ColumnValue("method", "human")]
    n_rows = str(len(complete))
    assert parts[parts.index(n_rows) : parts.index(n_rows) + 3] == (n_rows, " rows of ", "180")
    without_patient = drawn_table.drop(columns="patient")
    with warns_too(option="errors", column="case", message=n_rows):
        ss.regress(without_patient, LINEAR["multi"], errors="hc3")
    ss.regress(without_patient, LINEAR["multi"], by="task", errors="hc3")
    ss.regress(drawn_scores, LINEAR["multi"])


def test_scores_of_several_metrics_in_one_model_warn(drawn_scores):
    with warns_too(column="metric", message="iou") as caught:
        pooled = ss.regress(drawn_scores, "score ~ prob", errors="cluster")
    (told,) = [record.message.message for record in caught if record.message.column == "metric"]
    assert "hit" in told.parts
    assert pooled["caution"].str.contains("metrics taken together").all()
    by_metric = ss.regress(drawn_scores, "score ~ prob", by=("metric", "method"), errors="cluster")
    assert "caution" not in by_metric or not by_metric["caution"].str.contains("metrics").any()


def test_metrics_whose_rows_are_left_out_are_not_pooled(drawn_scores):
    # A covariate that only the rows of one metric have
    prob = drawn_scores["prob"].where(drawn_scores["metric"] == "iou")
    found = ss.regress(drawn_scores.assign(prob=prob), "score ~ prob", errors="cluster")
    assert "caution" not in found or not found["caution"].str.contains("metrics").any()
    expected = ss.regress(drawn_scores.query("metric == 'iou'"), "score ~ prob", errors="cluster")
    np.testing.assert_allclose(found["estimate"], expected["estimate"])


def test_pooled_tasks_of_a_mixed_model_may_have_a_random_effect(drawn_scores):
    iou = drawn_scores.query("metric == 'iou'")
    with warns_too(option="by", column="task", match=r"\+ \(1\|task\) "):
        ss.fit(iou, "iou ~ prob + (1|case)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of five tasks the variance may be 0
        warnings.filterwarnings("error", "scores of")
        ss.fit(iou, "iou ~ prob + (1|case) + (1|task)")


def test_a_term_that_depends_on_earlier_ones_is_nan_as_in_r(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"])
    rows = rows.assign(twice=2 * rows["prob"], one=1.0)
    with warns_too(option="formula", column="term") as caught:
        result = ss.regress(rows, "iou ~ one + prob + twice + elongation", errors="hc3").set_index("term")
    (aliased,) = [record.message.message for record in caught if record.message.column == "term"]
    names = [part.name for part in aliased.parts if isinstance(part, ColumnName)]
    assert names == ["one", "twice"]
    expected = ss.regress(rows, "iou ~ prob + elongation", errors="hc3").set_index("term")
    assert result.loc[["one", "twice"], ["estimate", "std_error", "p_value", "df"]].isna().all(axis=None)
    kept = result.loc[["(Intercept)", "prob", "elongation"]]
    columns = {c: c for c in ("estimate", "std_error", "p_value", "df", "conf_high")}
    assert_columns_equal(kept, expected, columns, LINEAR_RTOL)


def test_too_few_rows_give_nan_and_a_warning_that_names_the_group(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"])
    few = pd.concat([rows.query("task == 'Edema'"), rows.query("task == 'Cardiomegaly'").dropna().head(2)])
    few = pd.concat([few, rows.query("task == 'Lung Lesion'").assign(iou=np.nan)])
    with pytest.warns(SalstatsWarning) as caught:
        result = ss.regress(few, "iou ~ prob", by="task")
    message = str(caught[0].message)
    assert "no estimates (NaN) in 2 models" in message
    assert "task Cardiomegaly: 2 complete rows for 2 coefficients" in message
    assert "task Lung Lesion: no complete rows" in message
    by_task = result.set_index("task")
    assert by_task.loc[["Cardiomegaly", "Lung Lesion"], "estimate"].isna().all()
    assert by_task.loc["Cardiomegaly", "term"].tolist() == ["(Intercept)", "prob"]
    assert by_task.loc["Edema", "estimate"].notna().all()
    assert by_task.loc["Lung Lesion", "n"].eq(0).all()


@pytest.mark.parametrize("family", ["binomial", "fractional"])
def test_a_separated_logit_has_no_estimates_and_says_so(family):
    x = np.arange(12.0)
    rows = pd.DataFrame({"hit": (x > 5.5).astype(float), "x": x, "task": "perfect"})
    noisy = rows.assign(task="fine", hit=[0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1])
    quasi = rows.assign(task="quasi", x=[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    constant = rows.assign(task="constant", hit=1.0)
    with warns(option=None, column="estimate") as caught:
        result = ss.regress(pd.concat([rows, noisy, quasi, constant]), "hit ~ x", by="task", family=family)
    models = [part for part in caught[0].message.message.parts if isinstance(part, ColumnValue)]
    assert models == [ColumnValue("task", name) for name in ("constant", "perfect", "quasi")]
    finite = result.set_index("task")["estimate"].notna()
    assert finite["fine"].all()
    assert not finite[["perfect", "quasi", "constant"]].any()


def test_a_variable_of_one_level_is_left_out_with_a_warning(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"]).query("task == 'Edema'")
    with warns(option="formula", column="task"):
        result = ss.regress(rows, "iou ~ prob + task")
    assert result["term"].tolist() == ["(Intercept)", "prob"]


def test_outcomes_outside_the_family_are_refused(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"])
    is_complete = rows["iou"].notna() & rows["prob"].notna()
    is_graded = ~rows["iou"].isin((0, 1))
    first = rows.loc[is_complete & is_graded, "iou"].iloc[0]
    fractional = Setting("family", "fractional")
    with raises(ValueRangeError, option="family", value="binomial", message=f"{first:g}", hint=fractional):
        ss.regress(rows, "iou ~ prob", family="binomial")
    with raises(ValueRangeError, option="family", value="fractional", message="1.2"):
        ss.regress(rows.assign(share=1.2), "share ~ prob", family="fractional")


def test_invalid_scores_frames_are_refused(drawn_scores):
    with raises(ColumnError, rows=(0, 7200)):
        ss.regress(pd.concat([drawn_scores, drawn_scores.head(1)]), "iou ~ prob")


def cases_of_patients():
    """Three methods on three cases of each of 20 patients: `area` is of a case, `age` of a patient."""
    rng = np.random.default_rng(0)
    cases = pd.DataFrame({"case": [f"c{number:02}" for number in range(60)]})
    patients = np.arange(60) // 3
    cases = cases.assign(patient=patients, age=40 + rng.permutation(20)[patients], area=rng.normal(size=60))
    cases["effect"] = rng.normal(size=60) + rng.normal(size=20)[patients]
    frame = cases.merge(pd.DataFrame({"method": ["a", "b", "c"], "metric": "dice"}), how="cross")
    return frame.assign(score=0.5 + 0.02 * frame["effect"] + 0.01 * rng.normal(size=180))


@pytest.mark.parametrize(
    ("formula", "column"),
    [
        ("score ~ method + area + (1|patient)", "area"),
        ("score ~ method + area + (1|patient/case)", None),
        ("score ~ method + age + (1|patient)", None),
        ("score ~ method + (1|patient)", None),
    ],
)
def test_a_covariate_of_cases_without_their_random_effect_is_named(formula, column):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SalstatsWarning)
        ss.fit(cases_of_patients(), formula).tidy()
    assert [record.message.column for record in caught] == ([column] if column else [])


@pytest.mark.parametrize(
    ("formula", "column"),
    [
        ("score ~ method + task + area + (1|patient)", "area"),
        ("score ~ method + task + area + (1|patient/case)", "area"),
        ("score ~ method + task + area + (1|patient) + (1|case:task)", None),
    ],
)
def test_a_covariate_of_findings_without_their_random_effect_is_named(formula, column):
    frame = cases_of_patients()
    first, second = (
        frame.assign(task=task, area=frame["area"] + shift * frame["age"], score=frame["score"] + shift / 100)
        for task, shift in [("a", 1), ("b", 2)]
    )
    noise = 0.05 * np.random.default_rng(1).normal(size=120).repeat(3)
    both = pd.concat([first, second], ignore_index=True)
    both["score"] += noise
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SalstatsWarning)
        ss.fit(both, formula, by=()).tidy()
    named = [record.message for record in caught if record.message.column == "area"]
    assert [str(message.hint) for message in named] == (
        ["add (1|case:task) to the formula"] if column else []
    )


def test_formulas_whose_rows_have_different_units_are_refused():
    rng = np.random.default_rng(0)
    iou = pd.DataFrame({"case": [f"c{number:02}" for number in range(40)], "patient": np.arange(40) // 2})
    iou = iou.assign(metric="iou", method="a", x=rng.normal(size=40), score=rng.uniform(size=40))
    hit = iou[::2].assign(metric="hit", score=rng.uniform(size=20))
    scores = pd.concat([iou, hit], ignore_index=True)
    with raises(ColumnError, option="unit", choices=("patient", "case")):
        ss.regress(scores, ["iou ~ x", "hit ~ x"])
    table = ss.regress(scores, ["iou ~ x", "hit ~ x"], unit="patient")
    assert set(table["unit"]) == {"patient"}


def test_the_weights_of_a_fit_are_called_as_given_and_units_always_unit():
    rows = pd.DataFrame({"patient": np.arange(40) // 2, "case": np.arange(40), "x": np.arange(40) % 7})
    rows["y"] = rows["x"] + np.sin(np.arange(40))
    rows["n_images"] = 1.0 + np.arange(40) % 3
    assert "weights" not in ss.regress(rows, "y ~ x")
    for given, name in {"unit": "unit", "patient": "unit", "n_images": "n_images"}.items():
        assert set(ss.regress(rows, "y ~ x", weights=given)["weights"]) == {name}


def test_columns_that_span_0_to_1_are_normalized():
    x = np.linspace(0, 1, 30)
    rows = pd.DataFrame({"y": np.sin(7 * x), "x": x, "half": x / 2, "twice": 2 * x**2, "binary": x.round()})
    table = ss.regress(rows, "y ~ x + twice + binary", errors="hc3")
    found = table.set_index("term")["normalized"].fillna(False).astype(bool)
    assert found.to_dict() == {"(Intercept)": False, "x": True, "twice": False, "binary": False}
    assert "normalized" not in ss.regress(rows, "y ~ half", errors="hc3")


def test_models_of_methods_on_different_cases_are_marked():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame({"case": np.tile([f"c{i:02d}" for i in range(30)], 3), "metric": "iou"})
    scores = scores.assign(method=np.repeat(["a", "b", "c"], 30), score=rng.uniform(size=90))
    scores["x"] = np.tile(rng.normal(size=30), 3)
    few = scores[(scores["method"] != "c") | (scores["case"] >= "c12")]
    with warns_too(match="c lacks 12 of 30"):
        by_method = ss.regress(few, "iou ~ x").drop_duplicates("method").set_index("method")
    assert by_method["caution"].notna().to_dict() == {"a": False, "b": False, "c": True}
    assert set(by_method["n_shared"]) == {18}
    with warns_too(match="c lacks 12 of 30"):
        pooled = ss.regress(few, "iou ~ x + method")
    assert pooled["caution"].notna().all()
    assert "caution" not in ss.regress(scores, "iou ~ x + method")


def test_names_of_a_table_are_checked():
    rows = pd.DataFrame({"case": ["a", "a ", *"bcdefgh"], "x": np.arange(9.0), "y": np.arange(9.0) ** 2})
    with raises(ColumnError, column="case"):
        ss.regress(rows, "y ~ x", errors="hc3")
    with warns_too(column="iou"):
        ss.regress(rows.assign(case=list("abcdefghi"), iou=2 + rows["y"]), "iou ~ x", errors="hc3")


def test_missing_patients_matter_only_where_errors_are_clustered():
    rows = pd.DataFrame({"patient": [None, None, None, *"aabbccddee"], "x": np.arange(13) % 5.0})
    rows["y"] = np.sin(np.arange(13))
    assert ss.regress(rows, "y ~ x", errors="hc3")["n"].tolist() == [13, 13]
    with warns_too(match="8 units of 13 rows"):
        clustered = ss.regress(rows, "y ~ x", errors="cr2")
    assert (clustered["unit"].tolist(), clustered["n_units"].tolist()) == (["patient"] * 2, [8, 8])
    alone = ss.regress(rows.drop(columns="patient"), "y ~ x", errors="cr2")
    assert alone["unit"].tolist() == ["row", "row"]
    assert alone["n_units"].tolist() == [13, 13]


def test_a_random_effect_of_every_row_is_an_error():
    rows = pd.DataFrame({"case": [f"c{i:02d}" for i in range(20)], "x": np.arange(20) % 3.0})
    rows["y"] = np.sin(np.arange(20))
    with raises(ValueRangeError, match="20 effects in 20 rows"):
        ss.fit(rows, "y ~ x + (1|case)")
