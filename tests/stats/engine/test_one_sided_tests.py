"""One-sided P values against scipy's tests and against counts written out."""

import numpy as np
from scipy import stats

from salstats.stats.engine.one_sided_tests import fieller_tails, percentile_tails, t_tails

ROUNDING = 1e-12


def test_t_tails_are_those_of_the_one_sample_t_test():
    values = np.random.default_rng(1).normal(0.3, 1.0, (20, 3))
    bound = np.array([0.0, 0.5, -0.2])
    estimate = values.mean(axis=0)
    std_error = values.std(axis=0, ddof=1) / np.sqrt(20)
    at_or_below, at_or_above = t_tails(estimate, std_error, np.full(3, 19.0), bound)
    for tail, alternative in ((at_or_below, "greater"), (at_or_above, "less")):
        expected = stats.ttest_1samp(values, bound, alternative=alternative).pvalue
        np.testing.assert_allclose(tail, expected, rtol=ROUNDING)


def test_a_t_tail_without_variance_or_degrees_of_freedom_is_undefined():
    tails = t_tails(np.ones(2), np.array([0.0, 0.1]), np.array([5.0, 0.5]), np.zeros(2))
    assert np.isnan(tails).all()


def test_percentile_tails_count_defined_replicates_at_or_beyond_the_bound():
    replicates = np.array([[0.1], [0.2], [0.3], [np.nan], [0.4]])
    at_or_below, at_or_above = percentile_tails(replicates, rounding=np.zeros(1), bound=np.array([0.2]))
    assert at_or_below.item() == (1 + 2) / (1 + 4)
    assert at_or_above.item() == (1 + 3) / (1 + 4)


def test_fieller_tails_test_the_difference_of_method_and_a_share_of_the_reference():
    covariance = np.array([[[0.04, 0.01], [0.01, 0.09]]])
    tails = fieller_tails(np.array([0.6]), np.array([1.0]), covariance, np.array([30.0]), np.array([20.0]))
    # a decrease of 20 % is a ratio of 0.8
    statistic = (0.8 * 1.0 - 0.6) / np.sqrt(0.04 - 2 * 0.8 * 0.01 + 0.8**2 * 0.09)
    np.testing.assert_allclose(tails[0], stats.t.sf(statistic, 30), rtol=ROUNDING)
    np.testing.assert_allclose(tails[1], stats.t.cdf(statistic, 30), rtol=ROUNDING)
