"""Repeated-measures correlations against R's rmcorr."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from tests_support import warns

from salstats.errors import SalstatsWarning
from salstats.stats.correlation import correlate
from salstats.stats.engine.repeated_measures import (
    deviations_from_unit_means,
    is_in_repeated_unit,
    repeated_measures_coefficient,
)

# R's manifest promises 1e-9; sums over up to 1400 pairs are done in another order than in R
R_AGREES = 1e-9


RELATED = Path(__file__).parents[2] / "reference" / "correlation"


@pytest.fixture(scope="module")
def related() -> pd.DataFrame:
    """The pairs of tests/reference/correlation, with two covariates and units."""
    return pd.read_csv(RELATED / "pairs.csv")


def assert_rows_match(result, expected, columns=("estimate", "statistic", "df", "p_value")):
    for column in [c for c in (*columns, "conf_low", "conf_high") if c in expected]:
        np.testing.assert_allclose(result[column], expected[column], rtol=R_AGREES, err_msg=column)


def test_repeated_measures_are_those_of_rmcorr_where_patients_hide_them(related):
    """Within units both rise together, while all rows together say that they do not."""
    expected = pd.read_csv(RELATED / "rm.csv").set_index("set").sort_index()
    options = {"by": "set", "unit": "unit"}
    result = correlate(related, "x", "y", test="rm", interval="fisher", **options).set_index("set")
    assert_rows_match(result, expected)
    # of the smallest set's three units there is no variance
    several = related[related["set"] != "small"]
    pooled = correlate(several, "x", "y", test="pearson", **options).set_index("set")
    assert result.loc["large", "estimate"] > 0.7
    assert pooled.loc["large", "estimate"] < -0.2
    # the default limits know that units differ, and are no narrower
    clustered = correlate(several, "x", "y", test="rm", **options).set_index("set")
    independent = result.loc[clustered.index]
    np.testing.assert_array_equal(clustered["estimate"], independent["estimate"])
    assert (clustered["conf_low"] < independent["conf_low"]).all()
    assert (clustered["conf_high"] > independent["conf_high"]).all()
    assert set(clustered["interval"]) == {"cr2"}


def test_repeated_measures_of_the_study_are_those_of_rmcorr(synth1, r_expected):
    expected = r_expected("rmcorr").set_index("set")
    sets = {
        "iou_prob_patient": ("prob", "patient"),
        "iou_area_patient": ("area_ratio", "patient"),
        "iou_human_case": ("human_iou", "case"),
    }
    for name, (covariate, unit) in sets.items():
        with warnings.catch_warnings():
            # that patients have several cases is known
            warnings.simplefilter("ignore", SalstatsWarning)
            row = correlate(synth1, covariate, "iou", by=(), test="rm", unit=unit, interval="fisher").loc[0]
        for ours, theirs in {"estimate": "r_rm", "df": "df", "conf_low": "lo", "conf_high": "hi"}.items():
            np.testing.assert_allclose(row[ours], expected.loc[name, theirs], rtol=R_AGREES, err_msg=name)
        assert row["n"] == expected.loc[name, "n_obs"]
        assert row["n_units"] == expected.loc[name, "n_subj"]


def test_units_that_vary_by_rounding_alone_have_no_correlation_within():
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(15), 4)
    level = rng.uniform(0.1, 1, 15)[units]
    x = level.copy()
    x[::4] = np.nextafter(x[::4], 2)
    table = pd.DataFrame({"patient": units, "x": x, "y": rng.normal(size=60)})
    with warns(column="estimate", rows=(0,), value=["x"]):
        found = correlate(table, "x", "y", test="rm", unit="patient")
    assert found["estimate"].isna().all()


def test_units_with_one_row_are_not_repeated():
    assert is_in_repeated_unit(np.array([7, 3, 7, 5])).tolist() == [True, False, True, False]


def test_deviations_are_from_the_mean_of_the_unit():
    deviations = deviations_from_unit_means(np.array([1.0, 5, 2, 4, 3]), np.array(["a", "a", "b", "b", "b"]))
    np.testing.assert_allclose(deviations, [-2, 2, -1, 1, 0])


def test_it_is_the_share_that_a_common_slope_explains_with_its_degrees_of_freedom():
    """The analysis of covariance with a level for each unit, as Bakdash and Marusich define it."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"unit": np.repeat(np.arange(8), 4), "x": rng.normal(size=32)})
    table["y"] = -0.7 * table["x"] + table["unit"] + rng.normal(size=32)
    fit = smf.ols("y ~ C(unit) + x", table).fit()
    explained = fit.tvalues["x"] ** 2 * fit.mse_resid
    r = repeated_measures_coefficient(*(table[name].to_numpy() for name in ("x", "y", "unit")))
    assert r.estimate == pytest.approx(-np.sqrt(explained / (explained + fit.ssr)), rel=1e-10)
    assert r.df == fit.df_resid
    assert r.p_value == pytest.approx(fit.pvalues["x"], rel=1e-9)


@pytest.mark.parametrize("slope", [2.0, -0.3])
def test_parallel_lines_of_units_have_a_correlation_of_1_without_a_test(slope):
    units = np.repeat([0, 1, 2], [4, 3, 5])
    x = np.random.default_rng(1).normal(size=12)
    result = repeated_measures_coefficient(x, slope * x + np.array([5.0, -3.0, 0.1])[units], units)
    assert result.estimate == np.sign(slope)
    assert np.isnan([result.statistic, result.p_value]).all()
