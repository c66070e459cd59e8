"""Robust correlations against R's WRS2 and their definition."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.stats.correlation import correlate
from salstats.stats.engine.robust_correlation import (
    robust_correlation_coefficient,
    robust_correlation_with_test,
    share_equal_to_median_if_no_spread,
)

# R's manifest promises 1e-9; sums over up to 1400 pairs are done in another order than in R
R_AGREES = 1e-9


RELATED = Path(__file__).parents[2] / "reference" / "correlation"


TESTS_OF_PAIRS = ("pearson", "percbend", "bicor")


@pytest.fixture(scope="module")
def related() -> pd.DataFrame:
    """The pairs of tests/reference/correlation, with two covariates and units."""
    return pd.read_csv(RELATED / "pairs.csv")


def assert_rows_match(result, expected, columns=("estimate", "statistic", "df", "p_value")):
    for column in [c for c in (*columns, "conf_low", "conf_high") if c in expected]:
        np.testing.assert_allclose(result[column], expected[column], rtol=R_AGREES, err_msg=column)


def test_percentage_bend_is_that_of_wrs2(related):
    expected = pd.read_csv(RELATED / "percbend.csv").set_index("set").sort_index()
    result = correlate(related, "x", "y", by="set", test="percbend", interval="fisher").set_index("set")
    assert_rows_match(result, expected)
    reach = stats.norm.ppf(0.975) / np.sqrt(expected["n"] - 3)
    np.testing.assert_allclose(result["conf_low"], np.tanh(np.arctanh(expected["estimate"]) - reach))


def biweight_by_definition(x, y):
    """Langfelder and Horvath 2012, equations 1 to 4, one value after the other."""
    weighted = []
    for values in (x, y):
        middle = sorted(values)[len(values) // 2]
        spread = sorted(abs(v - middle) for v in values)[len(values) // 2]
        parts = []
        for v in values:
            u = (v - middle) / (9 * spread)
            parts.append((v - middle) * (1 - u**2) ** 2 if abs(u) < 1 else 0.0)
        length = sum(part**2 for part in parts) ** 0.5
        weighted.append([part / length for part in parts])
    return sum(a * b for a, b in zip(*weighted, strict=True))


@pytest.mark.parametrize("name", ["medium", "ties"])
def test_biweight_midcorrelation_is_its_definition(related, name):
    rows = related[related["set"] == name]
    assert len(rows) % 2
    row = correlate(rows, "x", "y", test="bicor", interval="fisher").loc[0]
    r, n = biweight_by_definition(rows["x"], rows["y"]), len(rows)
    np.testing.assert_allclose(row["estimate"], r, rtol=R_AGREES)
    np.testing.assert_allclose(row["statistic"], r * np.sqrt((n - 2) / (1 - r**2)), rtol=R_AGREES)
    np.testing.assert_allclose(row["conf_high"], np.tanh(np.arctanh(r) + 1.959963984540054 / np.sqrt(n - 3)))


def test_robust_correlations_hardly_mind_two_outliers(related):
    rows = related[related["set"] == "outliers"]
    with_them = {test: correlate(rows, "x", "y", test=test)["estimate"][0] for test in TESTS_OF_PAIRS}
    without = {test: correlate(rows[2:], "x", "y", test=test)["estimate"][0] for test in TESTS_OF_PAIRS}
    moved = {test: abs(with_them[test] - without[test]) for test in TESTS_OF_PAIRS}
    assert moved["pearson"] > 0.5
    assert moved["percbend"] < moved["pearson"] / 4
    assert moved["bicor"] < moved["pearson"] / 4


def test_pingouin_is_imported_when_it_is_asked_for():
    code = "import sys, salstats as ss\nss.correlate, ss.difference\nprint('pingouin' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("test", "n_equal", "share"),
    [("bicor", 5, ""), ("bicor", 6, "half"), ("percbend", 7, ""), ("percbend", 8, "four fifths")],
)
def test_values_that_are_mostly_equal_have_no_spread(test, n_equal, share):
    values = 3.0 + np.r_[np.zeros(n_equal), np.arange(1, 11 - n_equal)]
    assert share_equal_to_median_if_no_spread(values, test) == share
    assert np.isnan(robust_correlation_coefficient(values, np.arange(10.0), test)) == bool(share)


def test_the_t_test_has_n_less_2_degrees_of_freedom(related):
    rows = related[related["set"] == "medium"]
    x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
    result = robust_correlation_with_test(x, y, "percbend")
    r = robust_correlation_coefficient(x, y, "percbend")
    assert result.df == len(x) - 2
    assert result.statistic == pytest.approx(r * np.sqrt((len(x) - 2) / (1 - r**2)))


def test_equal_variables_have_a_correlation_of_1_without_a_test():
    x = np.random.default_rng(0).normal(size=20)
    for test, sign in (("bicor", 1), ("bicor", -1), ("percbend", 1), ("percbend", -1)):
        result = robust_correlation_with_test(x, sign * x, test)
        assert result.estimate == sign
        assert np.isnan(result.p_value)
