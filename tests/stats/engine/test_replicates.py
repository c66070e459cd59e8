"""Bootstrap replicates, their moments and their P values."""

import numpy as np
import pytest

from salstats.stats.engine.estimands import Estimand, sum_cells
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.replicates import bootstrap_p_values, mean_sd_and_n_defined, replicate


def test_moments_leave_out_undefined_replicates():
    replicates = np.array([[1.0, np.nan, np.nan], [3, 2, np.nan], [8, np.nan, np.nan]])
    mean, deviation, n = mean_sd_and_n_defined(replicates)
    np.testing.assert_array_equal(mean, [4, 2, np.nan])
    np.testing.assert_allclose(deviation, [np.std([1, 3, 8], ddof=1), np.nan, np.nan])
    assert n.tolist() == [3, 1, 0]


def test_bootstrap_p_values_count_the_side_of_0_with_fewer_replicates():
    nan = np.nan
    replicates = np.array([[-1.0, 1, nan, 0, nan], [2, 2, 3, 0, nan], [3, 3, 4, 0, nan], [4, 4, 5, 0, 6]])
    p_value, smallest = bootstrap_p_values(replicates)
    # 2 (1 + 1) / 5, 2 / 5, 2 / 4 of three defined ones, 1 where all are 0, and 2 / 2 of a single defined one
    np.testing.assert_allclose(p_value, [0.8, 0.4, 0.5, 1, 1])
    np.testing.assert_allclose(smallest, [0.4, 0.4, 0.5, 0.4, 1])
    # replicates within rounding of 0 count on both sides
    assert bootstrap_p_values(np.array([[1e-15], [2.0], [3.0]]), rounding=1e-12)[0] == pytest.approx(1)
    assert np.isnan(bootstrap_p_values(np.full((5, 1), np.nan))[0]).all()


@pytest.fixture(scope="module")
def cells():
    """The cell of one mean of 25 units with one to three scores."""
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(25), rng.integers(1, 4, 25))
    return sum_cells(rng.beta(2, 3, len(units)), units, 25, np.zeros(len(units), dtype=int), 1)


def test_replicates_are_those_of_a_loop_over_the_draws(cells):
    mean = Estimand("mean", np.ones((1, 1)))
    draws = np.random.default_rng(2).integers(0, 25, (60, 25))
    options = checked_options("mean", "studentized", 0.95, 10_000, 0, draws)
    replicates = replicate(cells, mean, options, variances=True, differences=True)
    sums, counts = cells.sums[:, 0], cells.counts[:, 0]
    expected = [sums[draw].sum() / counts[draw].sum() for draw in draws]
    np.testing.assert_allclose(replicates.estimates[:, 0], expected, rtol=1e-12)
    np.testing.assert_array_equal(replicates.differences, replicates.estimates)
    residual = sums[draws[0]] - expected[0] * counts[draws[0]]
    variance = 25 / 24 * (residual**2).sum() / counts[draws[0]].sum() ** 2
    assert replicates.variances[0, 0] == pytest.approx(variance, rel=1e-12)
    assert replicate(cells, mean, options).variances is None
