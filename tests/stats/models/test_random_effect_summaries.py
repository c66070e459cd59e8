"""Variances, shares and values of random effects, and predictions with them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnValue, SalstatsError, ValueRangeError

CROSSED = "score ~ modality + (1|case) + (1|reader)"
SLOPES = "score ~ modality + (1|case) + (1 + modality|reader)"


@pytest.fixture(scope="module")
def synth2(r_data):
    return r_data("synth2").rename(columns={"case_id": "case"})


@pytest.fixture(scope="module")
def readings(drawn_readings):
    """Readings of 60 cases by five readers with two modalities, for what R need not confirm."""
    return drawn_readings.rename(columns={"case_id": "case"})


def test_variances_are_those_of_lme4_and_shares_follow_from_them(synth2, r_expected):
    components = ss.fit(synth2, CROSSED).variance_components()
    expected = r_expected("lmer_varcomp").query("model == 'D2_case_reader' and REML").set_index("group")
    expected = expected.loc[["case_id", "reader", "Residual"]]
    assert components["group"].tolist() == ["case", "reader", "Residual"]
    np.testing.assert_allclose(components["estimate"], expected["variance"], rtol=1e-6)
    np.testing.assert_allclose(components["std_dev"], expected["sd"], rtol=1e-6)
    share = expected["variance"] / expected["variance"].sum()
    np.testing.assert_allclose(components["share"], share, rtol=1e-6)
    assert components["n_groups"].tolist()[:2] == [60, 5]
    glance = ss.fit(synth2, CROSSED).glance()
    assert glance[["n_case", "n_reader"]].to_numpy().tolist() == [[60, 5]]
    assert components["share"].between(components["share_low"], components["share_high"]).all()


def test_tests_compare_the_likelihoods_of_fits_with_and_without(readings):
    crossed = ss.fit(readings, CROSSED)
    components = crossed.variance_components()
    full = crossed.glance()["log_lik"][0]
    for group, other in {"case": "reader", "reader": "case"}.items():
        without = ss.fit(readings, f"score ~ modality + (1|{other})").glance()["log_lik"][0]
        row = components.set_index("group").loc[group]
        assert row["statistic"] == pytest.approx(2 * (full - without), rel=1e-9)
        assert row["df"] == 1
        # half the weight lies on 0
        assert row["p_value"] == pytest.approx(stats.chi2.sf(row["statistic"], 1) / 2, rel=1e-6)
    assert np.isnan(components["p_value"].iloc[-1])


def test_limits_of_a_variance_are_where_the_likelihood_has_fallen(readings):
    """One case of the one-way model, whose restricted likelihood is written out."""
    balanced = readings[readings["reader"] == "R1"]
    found = ss.fit(balanced, "score ~ 1 + (1|case)").variance_components()
    values = balanced.pivot(index="case", columns="modality", values="score").to_numpy()
    g, m = values.shape
    between = m * values.mean(axis=1).var() * g
    within = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum()

    def deviance(of_case, residual):
        total = residual + m * of_case
        return g * (m - 1) * np.log(residual) + (g - 1) * np.log(total) + within / residual + between / total

    from scipy.optimize import minimize_scalar

    least = deviance(*found["estimate"].iloc[:2])
    for limit in found.loc[0, ["conf_low", "conf_high"]]:
        profile = minimize_scalar(
            lambda s, v=limit: deviance(v, np.exp(s)),
            bounds=(-12, 2),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert profile.fun - least == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-4)


def test_slopes_have_variances_and_a_correlation_and_one_share(synth2):
    found = ss.fit(synth2, SLOPES).variance_components(level=0.9)
    of_reader = found[found["group"] == "reader"]
    assert of_reader["term"].tolist() == ["(Intercept)", "modalityB", "(Intercept), modalityB"]
    assert of_reader["parameter"].tolist() == ["variance", "variance", "correlation"]
    assert of_reader["df"].tolist()[:2] == [2, 2]
    assert of_reader["share"].notna().tolist() == [True, False, False]
    assert found["share"].sum() == pytest.approx(1)
    # lme4 1.1-31, its optimum polished by Newton's steps as in the oracles
    expected = [2.20304542664e-03, 3.65403311831e-04, -0.0567575807751]
    np.testing.assert_allclose(of_reader["estimate"], expected, rtol=5e-6)
    assert (found["conf_level"] == 0.9).all()


def test_random_effects_of_a_balanced_one_way_model_are_shrunken_means(readings):
    one = readings[readings["reader"] == "R1"]
    fit = ss.fit(one, "score ~ 1 + (1|case)")
    variance, residual = fit.variance_components()["estimate"]
    means = one.groupby("case")["score"].mean()
    weight = variance / (variance + residual / 2)
    found = fit.random_effects().set_index("level")
    np.testing.assert_allclose(found["estimate"], (means - means.mean()) * weight, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found["std_error"], np.sqrt(variance * (1 - weight)), rtol=1e-6)
    assert set(found["group"]) == {"case"}


def test_predictions_have_the_effects_of_groups_that_are_named(readings):
    fit = ss.fit(readings, SLOPES)
    mean = fit.predict({"modality": ["A", "B"]})
    pd.testing.assert_series_equal(
        fit.predict({"modality": ["A", "B"], "reader": "nobody"}, random=True)["estimate"], mean["estimate"]
    )
    blups = fit.random_effects().query("group == 'reader'").pivot(index="level", columns="term")["estimate"]
    named = fit.predict({"modality": ["A", "B"], "reader": ["R1", "R5"]}, random=True)
    for row in named.itertuples():
        own = (
            blups.loc[row.reader, "(Intercept)"] + (row.modality == "B") * blups.loc[row.reader, "modalityB"]
        )
        at = mean.loc[mean["modality"] == row.modality, "estimate"].item()
        assert row.estimate == pytest.approx(at + own, rel=1e-12)
    assert named[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
    rows = fit.augment()
    again = fit.predict(rows[["modality", "reader", "case"]], random=True)
    np.testing.assert_allclose(again["estimate"], rows["fitted"], rtol=1e-10)


def test_a_missing_name_is_that_of_no_group_whatever_groups_are_called(readings):
    names = dict(zip(sorted(readings["reader"].unique()), ["None", "nan", "<NA>"], strict=False))
    fit = ss.fit(readings.assign(reader=readings["reader"].replace(names)), CROSSED)
    mean = fit.predict({"modality": "A"})["estimate"].item()
    readers = ["None", "nan", "<NA>", None, np.nan, pd.NA]
    found = fit.predict({"modality": "A", "reader": readers}, random=True)["estimate"]
    assert (found[:3] != mean).all()
    assert found[3:].tolist() == [mean] * 3


def test_nested_groups_and_numbers_are_found_again():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"patient": np.repeat(np.arange(1, 9), 6), "case": np.tile(np.repeat([1, 2, 3], 2), 8)}
    )
    table["x"] = rng.random(len(table))
    table["y"] = table["x"] + rng.random(8)[table["patient"] - 1] + 0.1 * rng.random(len(table))
    fit = ss.fit(table, "y ~ x + (1|patient/case)")
    assert fit.random_effects().query("group == 'patient:case'")["level"].tolist()[:4] == [
        "1:1",
        "1:2",
        "1:3",
        "2:1",
    ]
    rows = fit.augment()
    again = fit.predict(rows[["x", "patient", "case"]], random=True)
    of_none = fit.predict({"x": 0.5, "patient": None, "case": None}, random=True)
    assert of_none["estimate"].item() == fit.predict({"x": 0.5})["estimate"].item()
    np.testing.assert_allclose(again["estimate"], rows["fitted"], rtol=1e-10)


def test_fits_without_random_effects_say_so(readings):
    fit = ss.fit(readings, "score ~ modality", unit="case")
    for ask in (fit.variance_components, fit.random_effects):
        with raises(SalstatsError, option="formula"):
            ask()
    with raises(ValueRangeError, option="random", value=True):
        fit.predict({"modality": "A"}, random=True)
    with raises(ValueRangeError, option="at", column="reader"):
        ss.fit(readings, CROSSED).predict({"reader": "R1"})


def test_a_group_without_estimates_has_no_components(readings):
    few = readings[(readings["reader"] == "R1") & readings["case"].isin(readings["case"].unique()[:1])]
    both = pd.concat([readings.assign(site="a"), few.assign(site="b")])
    with warns(option=None, column="estimate", message=ColumnValue("site", "b")):
        fit = ss.fit(both, CROSSED, by="site")
    assert set(fit.variance_components()["site"]) == {"a"}
    assert set(fit.random_effects()["site"]) == {"a"}


def test_a_summary_has_the_estimates_of_the_components(readings):
    fit = ss.fit(readings, SLOPES)
    columns = ["group", "term", "parameter", "estimate", "std_dev", "n_groups"]
    expected = fit.variance_components()[columns]
    found = fit.summary().random_effects[columns]
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9, check_dtype=False)


def test_without_estimates_there_are_no_rows_and_without_random_effects_no_columns(readings):
    exact = readings.assign(score=readings["modality"].eq("A") / 2)
    with warns(column="estimate"):
        fit = ss.fit(exact, CROSSED)
    assert len(fit.random_effects()) == 0
    assert list(fit.random_effects().columns) == list(ss.fit(readings, CROSSED).random_effects().columns)
    assert fit.glance()["n_reader"].isna().all()
    assert "singular" not in ss.fit(readings, "score ~ modality", unit="case").glance()
