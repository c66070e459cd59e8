"""RaterReadings, and coefficients without each unit."""

import numpy as np
import pytest
from scipy import sparse, stats

from salstats.stats.agreement.readings import (
    LeaveOneOutWeights,
    RaterReadings,
    coefficients_with_normal_limits,
    coefficients_with_wilson_limits,
    equal_row_weights,
    estimate_and_leave_one_out,
    fisher_z,
    inverse_fisher_z,
    jackknife_df,
    jackknife_std_error,
    one_way_anova,
    t_or_normal_quantile,
    two_sided_p_value,
)


def mean_of_first_rater(readings, weights):
    """A kernel whose jackknife has textbook answers: the mean of one column."""
    n = weights @ np.ones(len(readings.values))
    return (weights @ readings.values[:, 0] / n)[:, None]


def test_left_out_units_are_the_same_in_products_and_written_out():
    rng = np.random.default_rng(5)
    units = np.array([0, 0, 1, 2, 2, 2, 3])
    weights = LeaveOneOutWeights(units, np.array([1, 3]))
    written = np.asarray(weights)
    np.testing.assert_array_equal(written, [[1, 1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]])
    for features in (rng.random(7), rng.random((7, 3)), sparse.csr_array(np.eye(7))):
        expected = written @ (features.toarray() if sparse.issparse(features) else features)
        np.testing.assert_allclose(weights @ features, expected, rtol=1e-12, atol=1e-12)


def test_equal_weights_are_one_set_that_counts_each_row_once():
    readings = RaterReadings(np.arange(8.0).reshape(4, 2), np.arange(4), np.array([0, 0, 1, 2]))
    weights = equal_row_weights(readings)
    np.testing.assert_array_equal(weights, [[1, 1, 1, 1]])
    # the first rater reads 0, 2, 4, 6
    np.testing.assert_array_equal(mean_of_first_rater(readings, weights), [[3.0]])


def test_a_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).normal(size=(12, 2))
    readings = RaterReadings(values, np.arange(12), np.arange(12))
    estimate, replicates = estimate_and_leave_one_out(readings, mean_of_first_rater)
    assert estimate == pytest.approx(values[:, 0].mean())
    expected = [np.delete(values[:, 0], i).mean() for i in range(12)]
    np.testing.assert_allclose(replicates[:, 0], expected)
    assert jackknife_std_error(replicates) == pytest.approx(stats.sem(values[:, 0]))
    assert np.isnan(jackknife_std_error(replicates[:1])).all()
    assert 1 <= jackknife_df(replicates)[0] <= 11


def test_one_unit_that_makes_the_variance_leaves_two_degrees_of_freedom():
    # Valliant and Rust (2010): 2 (sum q)² / sum (q - mean q)² of squares q, about 2 if one q is the whole sum
    replicates = np.zeros((200, 1))
    replicates[0] = 9.0
    assert jackknife_df(replicates)[0] == pytest.approx(2, rel=0.02)
    # Of equal squares there are units - 1.
    assert jackknife_df(np.tile([[1.0], [-1.0]], (5, 1)))[0] == 9


def test_one_way_analysis_of_variance_is_that_of_scipy():
    groups = [np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0]), np.array([2.0, 2.5, 3.0, 6.0])]
    m = np.array([len(group) for group in groups], float)
    total = np.array([group.sum() for group in groups])
    squares = np.array([(group**2).sum() for group in groups])
    anova = one_way_anova(lambda values: values.sum(keepdims=True), m, total, squares)
    assert anova.between / anova.within == pytest.approx(stats.f_oneway(*groups).statistic)
    # n0 = (9 - (9 + 4 + 16) / 9) / 2
    assert anova.effective_size == pytest.approx((9 - 29 / 9) / 2)


def test_student_and_normal_quantiles_and_p_values_are_those_of_scipy():
    np.testing.assert_allclose(
        t_or_normal_quantile(0.95, np.array([4.0, np.nan])), [stats.t.ppf(0.975, 4), 1.9599640]
    )
    p_value = two_sided_p_value(np.array([-2.0, 2.0]), np.array([4.0, np.nan]))
    np.testing.assert_allclose(p_value, [2 * stats.t.sf(2, 4), 2 * stats.norm.sf(2)])


def test_fishers_z_of_two_readings_is_the_inverse_hyperbolic_tangent():
    rho = np.array([-0.4, 0.0, 0.3, 0.999])
    np.testing.assert_allclose(fisher_z(rho, 2), np.arctanh(rho))
    np.testing.assert_allclose(inverse_fisher_z(np.arctanh(rho), 2), rho, atol=1e-15)
    # Of k readings z is log(F) / 2, F = (1 + (k - 1) rho) / (1 - rho); at rho = 1/4 and k = 5 F is 8/3.
    assert fisher_z(np.array(0.25), 5) == pytest.approx(np.log(8 / 3) / 2)
    assert inverse_fisher_z(np.array(np.log(8 / 3) / 2), 5) == pytest.approx(0.25)
    assert np.isnan(fisher_z(np.array(1.0), 2))


@pytest.mark.parametrize("k", [2, 4])
def test_wilsons_limits_of_a_share_are_those_of_its_zeros_and_ones(k):
    # The share of rows in which the first rater has 1 is a coefficient of k readings with share
    # (1 + (k - 1) rho) / k. Its jackknife is worth n - 1 0/1 scores.
    def coefficient(share):
        return (k * share - 1) / (k - 1)

    hits = np.repeat([1.0, 0.0], [14, 6])
    readings = RaterReadings(np.column_stack([hits] * k), np.arange(20), np.arange(20))
    coefficients = coefficients_with_wilson_limits(
        readings, lambda r, w: coefficient(mean_of_first_rater(r, w)), level=0.95
    )
    size, t = 19, stats.t.ppf(0.975, 19)
    center = (0.7 + t**2 / (2 * size)) / (1 + t**2 / size)
    half_width = t * np.sqrt(0.7 * 0.3 / size + t**2 / (4 * size**2)) / (1 + t**2 / size)
    assert coefficients.estimate[0] == pytest.approx(coefficient(0.7))
    assert coefficients.conf_low[0] == pytest.approx(coefficient(center - half_width))
    assert coefficients.conf_high[0] == pytest.approx(coefficient(center + half_width))
    # Score test of share 1/k
    statistic = (0.7 - 1 / k) / np.sqrt(1 / k * (1 - 1 / k) / size)
    assert coefficients.statistic[0] == pytest.approx(statistic)
    assert coefficients.p_value[0] == pytest.approx(2 * stats.t.sf(statistic, 19))


def test_perfect_agreement_of_units_has_the_limits_of_as_many_hits():
    # Twelve units with two rows each, all in agreement: as 12 of 12 hits, whose lower limit is n / (n + t²)
    def kernel(readings, weights):
        agrees = (readings.values == readings.values[:, :1]).all(axis=1)
        share = weights @ agrees.astype(float) / (weights @ np.ones(len(agrees)))
        return ((3 * share - 1) / 2)[:, None]

    values = np.tile(np.tile([[0.0], [1.0]], (12, 1)), (1, 3))
    readings = RaterReadings(values, np.arange(24), np.arange(24) // 2)
    coefficients = coefficients_with_wilson_limits(readings, kernel, level=0.95)
    share_low = 12 / (12 + stats.t.ppf(0.975, 11) ** 2)
    assert coefficients.conf_low[0] == pytest.approx((3 * share_low - 1) / 2)
    assert (coefficients.estimate[0], coefficients.conf_high[0]) == (1, pytest.approx(1))
    assert coefficients.df[0] == 11


def test_normal_limits_and_test():
    coefficients = coefficients_with_normal_limits(np.array([0.5]), np.array([0.2]), 0.95)
    assert coefficients.conf_low[0] == pytest.approx(0.5 - 1.9599640 * 0.2)
    assert coefficients.conf_high[0] == pytest.approx(0.5 + 1.9599640 * 0.2)
    assert coefficients.p_value[0] == pytest.approx(2 * stats.norm.sf(2.5))


def test_readings_are_counted():
    values = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, np.nan], [1.0, 1.0, 2.0], [2.0, 2.0, np.nan]])
    readings = RaterReadings(values, cases=np.array([0, 0, 1, 2]), units=np.array([0, 0, 1, 1]))
    assert (readings.n_units, readings.n_cases, readings.n_raters) == (2, 3, 3)
    assert readings.readings_per_row == 8 / 4
    assert not readings.is_complete
    assert RaterReadings(values[2:3], np.array([0]), np.array([0])).is_complete
    no_rows = np.empty(0, dtype=int)
    empty = RaterReadings(np.empty((0, 3)), no_rows, no_rows)
    assert (empty.n_units, empty.n_cases, empty.readings_per_row) == (0, 0, 0.0)


def test_a_coefficient_that_is_infinite_without_a_unit_has_no_replicate():
    def infinite_without_last(readings, weights):
        n = weights @ np.ones(len(readings.values))
        last = weights @ (np.arange(len(readings.values)) == len(readings.values) - 1).astype(float)
        with np.errstate(divide="ignore"):
            return (n / last)[:, None]

    readings = RaterReadings(np.ones((4, 2)), np.arange(4), np.arange(4))
    estimate, replicates = estimate_and_leave_one_out(readings, infinite_without_last)
    assert estimate == [4.0]
    np.testing.assert_array_equal(replicates[:, 0], [3.0, 3.0, 3.0, np.nan])
    assert np.isnan(jackknife_std_error(replicates)).all()
