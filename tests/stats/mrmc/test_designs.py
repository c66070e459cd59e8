"""Designs of studies of readers, and what is none."""

import numpy as np
import pandas as pd
import pytest
from mrmc_readings import mrmc_frame, quietly
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

#: R prints 15 to 17 digits; sums of a few thousand numbers round in the last few.
ROUNDING = 1e-9


@pytest.fixture
def readings(drawn_readings):
    """Readings of five readers with two methods as a scores frame."""
    return mrmc_frame(drawn_readings)


def split(scores, keep):
    """Rows of a table of cases, methods and readers that `keep` says of their numbers."""
    names = {c: np.unique(scores[c], return_inverse=True)[1] for c in ("case", "method", "reader")}
    return scores[keep(names["case"], names["method"], names["reader"])]


def one_reader(scores):
    return scores[scores["reader"] == "R1"]


def repeated(scores):
    return pd.concat([scores.assign(seed=1), scores.assign(seed=2)])


def repeated_with_empty_cells(scores):
    """Each reading twice, once without a seed; the model is not known of any."""
    twice = pd.concat([scores.assign(seed=pd.NA), scores.assign(seed=2)], ignore_index=True)
    return twice.assign(model=pd.NA)


@pytest.mark.parametrize(
    ("design", "keep"),
    [
        ("factorial", lambda c, m, r: c < 60),
        ("cases nested in readers", lambda c, m, r: c % 5 == r),
        ("cases nested in methods", lambda c, m, r: c % 2 == m),
        ("split plot", lambda c, m, r: c % 2 == r % 2),
        ("readers nested in methods", lambda c, m, r: r % 2 == m),
        ("readers and cases nested in methods", lambda c, m, r: (r % 2 == m) & (c % 2 == m)),
    ],
)
def test_designs_are_known(design, keep, readings):
    found = quietly(split(readings, keep))
    assert found["design"].eq(design).all()
    assert found["std_error"].notna().sum() == 3


def test_the_design_of_one_method_is_factorial(readings):
    found = quietly(readings[readings["method"] == "A"])
    assert found["design"].eq("factorial").all()


def test_cases_nested_in_readers_share_nothing(readings):
    own = ss.mrmc_components(split(readings, lambda c, m, r: c % 5 == r)).set_index("term")
    assert np.abs(own.loc[["cov2", "cov3"], "estimate"]).max() < 1e-18
    assert own.loc["cov1", "estimate"] > 0


def test_patients_are_units(readings):
    """Of as many cases each, their means are what cases are."""
    scores = readings
    patients = scores.assign(patient=scores["case"].str[1:].astype(int) // 2)
    patients = patients[~patients["patient"].isin([0, 30])]
    found = ss.mrmc(patients)
    means = patients.groupby(["patient", "method", "reader", "metric"], as_index=False)["score"].mean()
    expected = ss.mrmc(means.rename(columns={"patient": "case"}))
    assert found["unit"].eq("patient").all()
    assert found["n_units"].eq(29).all()
    columns = ["estimate", "std_error", "df", "p_value", "conf_low"]
    np.testing.assert_allclose(found[columns], expected[columns], rtol=ROUNDING)


@pytest.mark.parametrize(
    ("change", "options", "error", "fields"),
    [
        (one_reader, {}, SalstatsError, {"column": "reader", "match": "have 1, 'R1'"}),
        (
            lambda s: s.drop(columns="reader"), {}, ColumnError,
            {"column": "reader", "rows": (), "match": "no column"},
        ),
        (
            lambda s: s.assign(reader=s["reader"].where(s["method"] == "A")), {}, ColumnError,
            {"column": "reader", "rows": (300,), "match": "method B"},
        ),
        (
            lambda s: s[(s["reader"] != "R2") | (s["case"] == "k01")], {}, SalstatsError,
            {"column": "case", "match": "'R2' has 1 case .* method 'A'"},
        ),
        (
            lambda s: s[s["case"] == "k01"], {}, SalstatsError,
            {"column": "case", "match": "every reader has 1 case"},
        ),
        (
            lambda s: s[(s["reader"] != "R2") | (s["method"] == "A")], {}, SalstatsError,
            {"column": "method", "match": "'R2' has no scores of method 'B'"},
        ),
        (
            lambda s: s[(s["reader"] == "R1") == (s["method"] == "A")], {}, SalstatsError,
            {"column": "reader", "match": "method 'A' .*single reader"},
        ),
        (
            lambda s: s[(s["reader"] != "R3") | (s["method"] == "B")], {}, SalstatsError,
            {"column": "method", "match": "'R3' has no scores of method 'A'"},
        ),
        (repeated, {}, SalstatsError, {"rows": (0, 600), "match": "'seed'"}),
        (repeated_with_empty_cells, {}, SalstatsError, {"rows": (0, 600), "match": "differ in 'seed';"}),
        (
            lambda s: s, {"unit": "reader"}, SalstatsError,
            {"option": "unit", "value": "reader", "rows": (60,), "match": "'k01'"},
        ),
        (lambda s: s, {"by": "reader"}, SalstatsError, {"column": "reader", "match": "reader R1"}),
        (
            lambda s: s, {"reference": "C"}, SalstatsError,
            {"option": "reference", "value": "C", "choices": ("A", "B")},
        ),
        (
            lambda s: s[s["method"] == "A"], {"reference": "A"}, SalstatsError,
            {"option": "reference", "value": "A", "choices": ()},
        ),
        (
            lambda s: s, {"readers": "fixed", "cases": "fixed"}, SalstatsError,
            {"option": "readers", "value": "fixed"},
        ),
        (
            lambda s: s, {"covariance": "delong"}, ValueRangeError,
            {"option": "covariance", "value": "delong", "choices": ("jackknife", "bootstrap")},
        ),
        (
            lambda s: s, {"covariance": "hanley"}, ValueRangeError,
            {"option": "covariance", "value": "hanley", "choices": ("jackknife", "bootstrap")},
        ),
        (lambda s: s, {"figure": "auc"}, SalstatsError, {"option": "figure", "value": "auc"}),
        (lambda s: s, {"label": "truth"}, SalstatsError, {"option": "figure", "value": "mean"}),
        (lambda s: s, {"adjust": "max-t"}, SalstatsError, {"match": "max-t"}),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused_in_one_sentence(change, options, error, fields, readings):
    with raises(error, **fields) as refused:
        ss.mrmc(change(readings), **options)
    assert "\n" not in str(refused.value)


def test_truths_that_differ_are_refused(rated):
    with raises(ColumnError, column="truth", rows=(0,)):
        ss.mrmc(rated.assign(truth=np.arange(600) // 60 % 2), figure="auc", label="truth")
    with raises(ColumnError, column="truth", rows=(0,), value=rated["score"].iloc[0]):
        ss.mrmc(rated.assign(truth=rated["score"]), figure="auc", label="truth")
    with raises(SalstatsError, column="case"):
        ss.mrmc(rated.assign(truth=0), figure="auc", label="truth")
    with raises(SalstatsError, option="covariance", value="unbiased"):
        ss.mrmc(
            rated.assign(patient=rated["case"].str[1:].astype(int) // 2),
            figure="auc",
            label="truth",
            covariance="unbiased",
        )


def test_two_readers_are_enough(readings):
    scores = readings
    two = scores[scores["reader"].isin(["R1", "R2"])]
    found = ss.mrmc(two).set_index("term")
    means = two.groupby("method")["score"].mean()
    assert found.loc["difference", "estimate"] == pytest.approx(means["A"] - means["B"], rel=ROUNDING)
    assert np.isfinite(found.loc["difference", "std_error"])
