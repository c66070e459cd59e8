"""Correlation coefficients against SciPy, exact P values and definitions."""

from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import warns

from salstats.stats.correlation import correlate
from salstats.stats.engine.coefficients import (
    RECORDS,
    coefficient,
    coefficient_with_t_test,
    fisher_limits,
    fisher_z_std_error,
    pooled_correlation_and_heterogeneity_test,
    spearman_of_replicates,
)

# a factorial through its logarithm
ROUNDING = 1e-12


@pytest.mark.parametrize("test", ["spearman", "kendall"])
def test_a_perfect_rank_correlation_has_the_exact_p_value_and_no_limits(test):
    """Of n! pairings one gives 1 and one gives -1, so p is 2 / n!: a third of three pairs, not zero."""
    parts = [pd.DataFrame({"size": n, "x": range(n), "y": np.exp(range(n))}) for n in (3, 4, 5, 8)]
    up = pd.concat(parts, ignore_index=True)
    for sign, table in ((1, up), (-1, up.assign(y=-up["y"]))):
        with warns(column="std_error", rows=(0, 1, 2, 3)) as said:
            result = correlate(table, "x", "y", by="size", test=test)
        assert len(said) == 1
        assert result["n"].tolist() == [3, 4, 5, 8]
        assert result["estimate"].tolist() == [sign] * 4
        np.testing.assert_allclose(result["p_value"], [2 / factorial(n) for n in (3, 4, 5, 8)], rtol=ROUNDING)
        assert result[["statistic", "df", "conf_low", "conf_high"]].isna().all(axis=None)


@pytest.mark.parametrize("slope", [1.0, -0.3, 1 / 7])
def test_points_on_a_line_have_neither_p_value_nor_limits_of_pearson(slope):
    x = np.array([0.1, 0.2, 0.7, 0.35])
    table = pd.DataFrame({"x": x, "y": slope * x + 0.6})
    with warns(column="std_error", rows=(0,)):
        result = correlate(table, "x", "y", test="pearson")
    assert result["estimate"].tolist() == [np.sign(slope)]
    assert result[["statistic", "df", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)


SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": lambda x, y: stats.kendalltau(x, y, method="asymptotic"),
}


@pytest.mark.parametrize("test", SCIPY)
@pytest.mark.parametrize("n_values", [3, 8, 1000])
def test_coefficients_and_their_p_values_are_scipys(test, n_values):
    """With many ties, with some and with next to none."""
    x, noise = np.random.default_rng(n_values).integers(0, n_values, (2, 40)).astype(float)
    y = x + noise
    expected = SCIPY[test](x, y)
    ours = coefficient(x, y, test)
    assert ours.estimate == pytest.approx(expected.statistic, rel=1e-12)
    assert ours.p_value == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("test", SCIPY)
def test_two_pairs_and_constant_variables_have_no_coefficient(test):
    assert np.isnan(coefficient(np.array([1.0, 2]), np.array([2.0, 1]), test)).all()
    assert np.isnan(coefficient(np.ones(9), np.arange(9.0), test)).all()


def test_values_whose_squares_are_too_small_for_a_number_have_no_correlation_of_values():
    x = 1e-170 * np.arange(9.0)
    assert np.isnan(coefficient(x, np.arange(9.0) ** 2, "pearson")).all()
    assert coefficient(x, np.arange(9.0) ** 2, "spearman").estimate == 1


def test_records_say_which_coefficients_are_of_ranks_and_which_take_covariates():
    assert [name for name, record in RECORDS.items() if record.ranks] == ["spearman", "kendall"]
    assert [name for name, record in RECORDS.items() if record.partial] == ["spearman", "pearson"]


def test_the_t_test_of_a_correlation_is_that_of_a_slope():
    x, y = np.random.default_rng(2).normal(size=(2, 25))
    slope = stats.linregress(x, y)
    ours = coefficient_with_t_test(slope.rvalue, df=23)
    assert ours.statistic == pytest.approx(slope.slope / slope.stderr, rel=1e-10)
    assert ours.p_value == pytest.approx(slope.pvalue, rel=1e-10)


@pytest.mark.parametrize(
    ("test", "interval", "variance"),
    [
        ("pearson", "fisher", 1 / 25),
        ("spearman", "bonett-wright", 1.125 / 25),
        ("spearman", "fieller", 1.06 / 25),
        ("kendall", "fieller", 0.437 / 24),
    ],
)
def test_standard_errors_on_fishers_scale_are_the_published_ones(test, interval, variance):
    """r = 0.5 of 28 pairs; three pairs (four for tau) have none."""
    error = fisher_z_std_error(np.array([0.5, 0.5]), np.array([28, 3]), test, interval)
    np.testing.assert_allclose(error, [np.sqrt(variance), np.nan], rtol=ROUNDING)


def test_fisher_limits_are_scipys():
    x, y = np.random.default_rng(3).normal(size=(2, 30))
    expected = stats.pearsonr(x, y).confidence_interval(0.9)
    r = np.array([stats.pearsonr(x, y).statistic, 1.0])
    low, high = fisher_limits(r, 1 / np.sqrt(np.array([27, 27])), stats.norm.ppf(0.95))
    np.testing.assert_allclose([low[0], high[0]], [expected.low, expected.high], rtol=1e-10)
    assert np.isnan([low[1], high[1]]).all()


def test_strata_are_pooled_by_their_precision():
    """z of 1 and 0 with errors of 0.1 and 0.2: weights 100 and 25, mean 0.8, Q = 100 * 0.04 + 25 * 0.64."""
    pooled = pooled_correlation_and_heterogeneity_test(np.tanh([1.0, 0.0]), np.array([0.1, 0.2]))
    assert pooled.estimate == pytest.approx(np.tanh(0.8), rel=1e-12)
    assert pooled.std_error == pytest.approx(125**-0.5, rel=1e-12)
    assert pooled.q == pytest.approx(4 + 16, rel=1e-12)
    assert pooled.q_df == 1
    assert pooled.q_p_value == pytest.approx(stats.chi2.sf(20, 1), rel=1e-10)


def test_a_single_stratum_has_no_test_of_equality_and_none_has_nothing():
    one = pooled_correlation_and_heterogeneity_test(np.array([0.3]), np.array([0.2]))
    assert one.estimate == pytest.approx(0.3)
    assert np.isnan(one.q_p_value)
    assert np.isnan(pooled_correlation_and_heterogeneity_test(np.empty(0), np.empty(0))).all()


def test_a_weighted_spearman_is_that_of_repeated_rows():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 6, (2, 20)).astype(float)
    weights = rng.integers(0, 4, (30, 20))
    expected = [stats.spearmanr(np.repeat(x, w), np.repeat(y, w)).statistic for w in weights]
    np.testing.assert_allclose(spearman_of_replicates(x, y, weights.astype(float)), expected, rtol=1e-10)
