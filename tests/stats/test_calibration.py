"""calibration() against statsmodels and calibration_curve() against scikit-learn, with their intervals."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special
from sklearn.calibration import calibration_curve as sklearn_curve
from sklearn.metrics import brier_score_loss
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, ColumnValue, SalstatsWarning, ValueRangeError
from salstats.stats.calibration import calibration, calibration_curve

#: Fits stop at changes of the coefficients by 1e-12, ours and those of statsmodels.
FIT = 1e-9
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def predictions():
    """Predictions that are too extreme and too low, one row of each case."""
    rng = np.random.default_rng(8)
    log_odds = rng.normal(0, 1.5, 204)
    label = (rng.random(204) < special.expit(0.4 + 0.7 * log_odds)).astype(int)
    return pd.DataFrame({"prob": special.expit(log_odds), "label": label})


@pytest.fixture(scope="module")
def patients(predictions):
    """The same with several rows of each patient."""
    return predictions.assign(
        patient=np.random.default_rng(2).integers(0, 60, len(predictions)).astype("str")
    )


def of_term(frame, term):
    return frame.set_index("term").loc[f"{term}"]


def test_intercept_and_slope_are_those_of_statsmodels(predictions):
    found = calibration(predictions, "prob", "label")
    log_odds = special.logit(predictions["prob"])
    ones = np.ones(len(predictions))
    model = sm.GLM(predictions["label"], ones, family=sm.families.Binomial(), offset=log_odds)
    intercept = model.fit(tol=1e-14).params.iloc[0]
    slope = sm.Logit(predictions["label"], np.column_stack([ones, log_odds])).fit(disp=0, tol=1e-14)
    np.testing.assert_allclose(of_term(found, "calibration_intercept")["estimate"], intercept, atol=FIT)
    np.testing.assert_allclose(
        of_term(found, "calibration_slope")["estimate"], slope.params.iloc[1], atol=FIT
    )
    brier = brier_score_loss(predictions["label"], predictions["prob"])
    np.testing.assert_allclose(of_term(found, "brier_score")["estimate"], brier, atol=ROUNDING)


@pytest.mark.parametrize("unit", [None, "patient"])
def test_the_error_of_the_slope_is_that_of_regress_and_its_test_is_of_1(predictions, patients, unit):
    data = predictions if unit is None else patients
    found = of_term(calibration(data, "prob", "label"), "calibration_slope")
    model = ss.regress(data, "label ~ logit(prob)", family="binomial", errors="cr2", by=())
    expected = model[model["term"] != "(Intercept)"].iloc[0]
    columns = ["estimate", "std_error", "df", "conf_low", "conf_high", "n_units"]
    np.testing.assert_allclose(found[columns].astype(float), expected[columns].astype(float), rtol=FIT)
    assert found["unit"] == expected["unit"]
    np.testing.assert_allclose(found["statistic"], (found["estimate"] - 1) / found["std_error"])
    assert (found["p_value"] < 0.05) == (found["conf_high"] < 1 or found["conf_low"] > 1)


def test_the_error_of_the_intercept_is_the_sandwich_of_single_rows(predictions):
    """With one parameter and rows of one leverage each, CR2 is HC2."""
    found = of_term(calibration(predictions, "prob", "label"), "calibration_intercept")
    fitted = special.expit(found["estimate"] + special.logit(predictions["prob"]))
    weight = fitted * (1 - fitted)
    leverage = weight / weight.sum()
    hc2 = ((predictions["label"] - fitted) ** 2 / (1 - leverage)).sum() / weight.sum() ** 2
    np.testing.assert_allclose(found["std_error"], np.sqrt(hc2), rtol=FIT)


def test_rows_of_one_patient_that_are_repeated_add_no_information(predictions):
    twice = pd.concat([predictions, predictions], ignore_index=True)
    twice["patient"] = np.tile(np.arange(len(predictions)), 2).astype("str")
    once = calibration(predictions, "prob", "label")
    by_patient = calibration(twice, "prob", "label")
    # up to the correction for the number of rows in CR2
    np.testing.assert_allclose(by_patient["std_error"], once["std_error"], rtol=0.01)
    assert (by_patient["n_units"] == len(predictions)).all()


def test_the_brier_score_has_the_interval_of_a_mean(patients):
    found = of_term(calibration(patients, "prob", "label"), "brier_score")
    errors = (patients["label"] - patients["prob"]) ** 2
    scores = patients.assign(case=patients.index, method="a", metric="error", score=errors)
    expected = ss.summarize(scores, by=(), unit="patient").iloc[0]
    columns = ["estimate", "std_error", "df", "conf_low", "conf_high"]
    np.testing.assert_allclose(found[columns].astype(float), expected[columns].astype(float))
    assert found["interval"] == expected["interval"]
    assert np.isnan(found["p_value"])


@pytest.mark.parametrize("n_bins", [3, 5, 10])
def test_rates_and_mean_predictions_are_those_of_scikit_learn(predictions, n_bins):
    found = calibration_curve(predictions, "prob", "label", n_bins=n_bins)
    # no value lies on a border, where bins differ
    borders = np.quantile(predictions["prob"], np.arange(1, n_bins) / n_bins)
    assert not np.isin(borders, predictions["prob"]).any()
    rates, means = sklearn_curve(
        predictions["label"], predictions["prob"], n_bins=n_bins, strategy="quantile"
    )
    np.testing.assert_allclose(found["estimate"], rates, atol=ROUNDING)
    np.testing.assert_allclose(found["predicted"], means, atol=ROUNDING)
    assert found["n"].sum() == len(predictions)
    assert (found["bin_low"] <= found["predicted"]).all()
    assert (found["predicted"] <= found["bin_high"]).all()
    assert (found["n_positive"] == (found["estimate"] * found["n"]).round()).all()


def test_limits_of_bins_are_those_of_summarize_with_the_units_of_the_bin(patients):
    found = calibration_curve(patients, "prob", "label", n_bins=4, interval="wilson")
    codes = np.searchsorted(np.quantile(patients["prob"], [0.25, 0.5, 0.75]), patients["prob"], side="right")
    scores = patients.assign(case=patients.index, method="a", metric="m", score=patients["label"], bin=codes)
    expected = ss.summarize(scores, by="bin", unit="patient", interval="wilson")
    columns = ["estimate", "conf_low", "conf_high", "n", "n_units"]
    np.testing.assert_allclose(found[columns], expected[columns])
    assert found["bin"].tolist() == [1, 2, 3, 4]
    assert found["unit"].unique().tolist() == ["patient"]


@pytest.mark.parametrize(("n", "n_bins"), [(15, 2), (70, 3), (204, 10)])
def test_by_default_bins_have_about_20_rows(predictions, n, n_bins):
    assert len(calibration_curve(predictions.head(n), "prob", "label")) == n_bins


def test_equal_predictions_are_in_one_bin(predictions):
    rounded = predictions.assign(prob=(predictions["prob"] > 0.5) * 0.5 + 0.25)
    found = calibration_curve(rounded, "prob", "label", n_bins=10)
    assert found["predicted"].tolist() == [0.25, 0.75]
    assert found["bin"].tolist() == [1, 2]


def test_groups_and_missing_values_are_those_of_auroc():
    scores = ss.datasets.load_simulated()
    scores.loc[scores["case"] == scores["case"].iloc[0], "prob"] = np.nan
    areas = ss.auroc(scores, "prob", "hit")
    found = calibration(scores, "prob", "hit")
    columns = ["method", "task", "n", "n_missing", "n_units", "n_positive", "n_negative"]
    pd.testing.assert_frame_equal(
        found.query("term == 'brier_score'")[columns].reset_index(drop=True), areas[columns]
    )
    curves = calibration_curve(scores, "prob", "hit")
    sizes = curves.groupby(["method", "task"], as_index=False)["n"].sum()
    pd.testing.assert_frame_equal(sizes, areas[["method", "task", "n"]])


def test_values_beyond_0_and_1_are_an_error(predictions):
    logits = predictions.assign(prob=special.logit(predictions["prob"]))
    outside = tuple(np.flatnonzero((logits["prob"] < 0) | (logits["prob"] > 1)))
    for function in (calibration, calibration_curve):
        with raises(ValueRangeError, column="prob", rows=outside):
            function(logits, "prob", "label")


def test_a_certain_prediction_has_no_log_odds(predictions):
    certain = predictions.assign(prob=predictions["prob"].where(predictions.index > 0, 0.0))
    with warns(column="estimate", value=0):
        found = calibration(certain, "prob", "label")
    assert found["estimate"].isna().tolist() == [True, True, False]
    assert len(calibration_curve(certain, "prob", "label")) == 10


def test_groups_without_a_slope_are_named(predictions):
    one_class = predictions.assign(task="one class", label=1)
    separated = predictions.assign(task="separated", label=(predictions["prob"] > 0.5).astype(int))
    constant = predictions.assign(task="constant", prob=0.4)
    data = pd.concat([one_class, separated, constant])
    with pytest.warns(SalstatsWarning) as told:
        found = calibration(data, "prob", "label").set_index(["task", "term"])["estimate"]
    tasks = {}
    for warning in told:
        parts = warning.message.message.parts
        tasks[warning.message.column] = [part.value for part in parts if isinstance(part, ColumnValue)]
    assert tasks == {"n_positive": ["one class"], "estimate": ["constant", "separated"]}
    is_missing = found.unstack().isna()
    assert is_missing["calibration_slope"].all()
    assert is_missing["calibration_intercept"].to_dict() == {
        "constant": False,
        "one class": True,
        "separated": False,
    }
    expected = special.logit(predictions["label"].mean()) - special.logit(0.4)
    np.testing.assert_allclose(found["constant", "calibration_intercept"], expected, atol=FIT)


def test_few_events_are_a_caution(predictions):
    rare = predictions.assign(label=(predictions.index < 6).astype(int))
    assert calibration(rare, "prob", "label")["caution"].eq("few events").all()


@pytest.mark.parametrize("estimate", [calibration, calibration_curve])
def test_a_table_without_a_complete_row_is_an_error(predictions, estimate):
    with raises(ColumnError, column="label"):
        estimate(predictions.assign(label=np.nan), "prob", "label")
