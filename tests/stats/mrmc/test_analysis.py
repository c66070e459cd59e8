"""Figures of the readers of each group, with warnings of different cases."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnValue, SalstatsError


def test_missing_readings_are_said(rated):
    scores = rated.copy()
    scores.loc[scores.index[3], "score"] = np.nan
    with warns(column="reader", value=[1], message=ColumnValue("metric", "rating")):
        found = ss.mrmc(scores)
    assert found["design"].eq("unbalanced factorial").all()
    assert list(found["n_missing"]) == [1, 0, 1, 1]
    # a case that nobody has a score of is left out
    case = scores["case"] == scores["case"].iloc[0]
    whole = ss.mrmc(scores.assign(score=scores["score"].mask(case | (scores["case"] == "k04"))))
    pd.testing.assert_frame_equal(
        whole.drop(columns="n_missing"),
        ss.mrmc(scores[~case & (scores["case"] != "k04")]).drop(columns="n_missing"),
    )


@pytest.mark.parametrize("call", [ss.mrmc, ss.mrmc_components, ss.mrmc_readers])
def test_missing_readings_of_several_metrics_are_said_once(rated, call):
    scores = rated.drop(rated.index[[3, 40]])
    with warns(column="reader", value=[3, 2]) as caught:
        call(pd.concat([scores, scores.iloc[1:].assign(metric="other")]))
    metrics = [part for part in caught[0].message.message.parts if isinstance(part, ColumnValue)]
    assert metrics == [ColumnValue("metric", "other"), ColumnValue("metric", "rating")]


def test_an_area_needs_the_truth_of_each_case_and_a_mean_does_not(rated):
    with raises(SalstatsError, option="figure", value="auc"):
        ss.mrmc(rated, figure="auc")
    assert ss.mrmc(rated, figure="mean")["figure"].eq("mean").all()


def test_a_mean_has_no_truth(rated):
    with raises(SalstatsError, option="figure", value="mean"):
        ss.mrmc(rated, label="truth")
    assert ss.mrmc(rated, figure="auc", label="truth")["figure"].eq("auc").all()


def test_the_unbiased_covariance_takes_independent_cases_only(rated):
    options = {"figure": "auc", "label": "truth"}
    patients = rated.assign(patient=rated["case"])
    apart = ss.mrmc(patients, covariance="unbiased", unit="patient", **options)
    numbers = ["estimate", "std_error", "df", "p_value"]
    expected = ss.mrmc(rated, covariance="unbiased", **options)
    pd.testing.assert_frame_equal(apart[numbers], expected[numbers])
    together = rated.assign(patient=pd.factorize(rated["case"])[0] // 2)
    with raises(SalstatsError, option="covariance", value="unbiased"):
        ss.mrmc(together, covariance="unbiased", unit="patient", **options)
    assert ss.mrmc(together, covariance="delong", unit="patient", **options)["unit"].eq("patient").all()


def test_the_error_of_a_mean_is_that_of_the_readers_of_its_method(rated):
    # MS(R) / r + max(cov2, 0), from the cells of one method
    found = ss.mrmc(rated).set_index(["term", "method"]).loc["mean"]
    for method, rows in rated.groupby("method"):
        wide = rows.pivot(index="case", columns="reader", values="score").to_numpy()
        n_cases, n_readers = wide.shape
        covariance = np.cov(wide.T) / n_cases
        cov2 = covariance[~np.eye(n_readers, dtype=bool)].mean()
        variance = wide.mean(axis=0).var(ddof=1) / n_readers + max(cov2, 0)
        assert found.loc[method, "estimate"] == pytest.approx(wide.mean())
        assert found.loc[method, "std_error"] == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(("column", "name"), [("method", "C"), ("reader", "f")])
def test_methods_and_readers_without_any_score_are_named_as_left_out(rated, column, name):
    first = rated[rated[column] == rated[column].iloc[0]]
    undefined = first.assign(**{column: name}, score=np.nan)
    with warns(column="score", value=[name]):
        found = ss.mrmc(pd.concat([rated, undefined], ignore_index=True))
    pd.testing.assert_frame_equal(found, ss.mrmc(rated))
