"""One-sided P values against scipy's tests and against counts written out."""

import numpy as np
from scipy import stats

from salstats.stats.engine.joint_adjustment import NullDraws
from salstats.stats.engine.one_sided_tests import (
    one_sided_p_values_of_fieller_decrease,
    one_sided_p_values_of_replicates,
    one_sided_p_values_of_sign_flips,
    one_sided_p_values_of_t_test,
)
from salstats.stats.engine.wild_bootstrap import SignFlips

ROUNDING = 1e-12


def test_t_tails_are_those_of_the_one_sample_t_test():
    values = np.random.default_rng(1).normal(0.3, 1.0, (20, 3))
    bound = np.array([0.0, 0.5, -0.2])
    estimate = values.mean(axis=0)
    std_error = values.std(axis=0, ddof=1) / np.sqrt(20)
    at_or_below, at_or_above = one_sided_p_values_of_t_test(estimate, std_error, np.full(3, 19.0), bound)
    for tail, alternative in ((at_or_below, "greater"), (at_or_above, "less")):
        expected = stats.ttest_1samp(values, bound, alternative=alternative).pvalue
        np.testing.assert_allclose(tail, expected, rtol=ROUNDING)


def test_a_t_tail_without_variance_or_degrees_of_freedom_is_undefined():
    tails = one_sided_p_values_of_t_test(np.ones(2), np.array([0.0, 0.1]), np.array([5.0, 0.5]), np.zeros(2))
    assert np.isnan(tails).all()


def test_percentile_tails_count_defined_replicates_at_or_beyond_the_bound():
    replicates = np.array([[0.1], [0.2], [0.3], [np.nan], [0.4]])
    at_or_below, at_or_above = one_sided_p_values_of_replicates(
        replicates, rounding=np.zeros(1), bound=np.array([0.2])
    )
    assert at_or_below.item() == (1 + 2) / (1 + 4)
    assert at_or_above.item() == (1 + 3) / (1 + 4)


def test_fieller_tails_test_the_difference_of_method_and_a_share_of_the_reference():
    covariance = np.array([[[0.04, 0.01], [0.01, 0.09]]])
    tails = one_sided_p_values_of_fieller_decrease(
        np.array([0.6]), np.array([1.0]), covariance, np.array([30.0]), np.array([20.0])
    )
    # a decrease of 20 % is a ratio of 0.8
    statistic = (0.8 * 1.0 - 0.6) / np.sqrt(0.04 - 2 * 0.8 * 0.01 + 0.8**2 * 0.09)
    np.testing.assert_allclose(tails[0], stats.t.sf(statistic, 30), rtol=ROUNDING)
    np.testing.assert_allclose(tails[1], stats.t.cdf(statistic, 30), rtol=ROUNDING)


def test_replicates_within_rounding_of_the_bound_lie_at_it():
    replicates = np.array([[0.1], [0.2 - 1e-14], [0.2 + 1e-14], [0.4]])
    tails = one_sided_p_values_of_replicates(replicates, rounding=np.array([1e-12]), bound=np.array([0.2]))
    np.testing.assert_allclose(np.ravel(tails), [(1 + 3) / 5, (1 + 3) / 5])


def test_flip_tails_are_half_the_two_sided_p_value_on_the_estimates_side_of_the_bound():
    # of four patterns the sets of two hold 0 and those of three hold 0.2
    low, high = np.array([[-0.3], [-0.2], [0.05], [0.15]]), np.array([[0.6], [0.5], [0.3], [0.18]])
    null_draws = NullDraws(observed=np.ones(1), draws=np.ones((4, 1)))
    flips = SignFlips(np.ones(1), null_draws, low, high, n_always=np.zeros(1), n_patterns=4)
    expected = {0.0: (2 / 8, 1 - 2 / 8), 0.2: (1 - 3 / 8, 3 / 8), 0.16: (1 - 4 / 8, 1 - 4 / 8)}
    for bound, tails in expected.items():
        got = one_sided_p_values_of_sign_flips(flips, np.array([0.16]), np.array([1e-12]), np.array([bound]))
        np.testing.assert_allclose(np.ravel(got), tails)


def test_fieller_tails_of_references_below_0_are_those_of_all_signs_changed():
    covariance = np.array([[[0.04, 0.01], [0.01, 0.09]]])
    df, bound = np.array([30.0]), np.array([20.0])
    tails = one_sided_p_values_of_fieller_decrease(np.array([0.6]), np.array([1.0]), covariance, df, bound)
    mirrored = one_sided_p_values_of_fieller_decrease(
        np.array([-0.6]), np.array([-1.0]), covariance, df, bound
    )
    np.testing.assert_allclose(mirrored, tails, rtol=ROUNDING)
