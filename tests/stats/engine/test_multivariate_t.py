"""Known tails of the largest of correlated t statistics: all pairs of means, or one control."""

import itertools

import numpy as np
import pytest
from scipy import linalg, special, stats

from salstats.stats.engine.multivariate_t import LargestStatistic

#: Probabilities that the largest of k statistics with correlations of .5 exceeds 2.5, with 7.5, 30 and
#: infinitely many degrees of freedom. In R, 1 minus the integral over z of
#: dnorm(z) (pnorm((b - z sqrt(.5)) / sqrt(.5)) - pnorm((-b - z sqrt(.5)) / sqrt(.5)))^k
#: at b = 2.5 s, `integrate`d over the density of s = sqrt(chisq / df).
OF_DUNNETT = {
    2: [0.0679822114145, 0.0335564658204, 0.023499883061],
    3: [0.0916437482831, 0.0471661542213, 0.0335829188819],
    8: [0.170890947013, 0.0994806731222, 0.0745595519005],
}
#: Errors relative to the P value, by the rank. For a rank of 3 and less they are those of the quadrature; for
#: others, three times the largest in four random bases, each with other points of Sobol (3e-5 and 1.7e-4).
RTOL = {2: 1e-9, 3: 1e-8, 4: 1e-4, 8: 5e-4, 9: 5e-4}


def correlation_of_pairs(n_means):
    """Correlations of the differences of all pairs of independent means; the matrix is singular."""
    means = np.eye(n_means)
    pairs = np.array([means[i] - means[j] for i, j in itertools.combinations(range(n_means), 2)])
    return pairs @ pairs.T / 2


@pytest.mark.parametrize("n_means", [3, 4, 5, 10])
def test_all_pairs_of_independent_means_have_the_studentized_range(n_means):
    largest = LargestStatistic(correlation_of_pairs(n_means))
    bound = np.array([0.4, 1.5, 2.6, 3.3, 4.5])
    for df in (4.5, 60.0, np.inf):
        expected = stats.studentized_range.sf(np.sqrt(2) * bound, n_means, df)
        found = largest.tail(bound, np.full(5, df))
        np.testing.assert_allclose(found, expected, rtol=RTOL[n_means - 1])


@pytest.mark.parametrize("k", OF_DUNNETT)
def test_comparisons_with_one_control_have_the_distribution_of_dunnett(k):
    correlation = np.full((k, k), 0.5) + 0.5 * np.eye(k)
    found = LargestStatistic(correlation).tail(np.full(3, 2.5), np.array([7.5, 30, np.inf]))
    np.testing.assert_allclose(found, OF_DUNNETT[k], rtol=RTOL[k])


# with four statistics the points are Sobol's, and as many as this precision needs
@pytest.mark.parametrize("n_statistics", [3, 4])
def test_independent_statistics_have_sidaks_p_values_and_small_ones_those_of_bonferroni(n_statistics):
    bound = np.array([1.0, 2.5, 6, 9, 20])
    found = LargestStatistic(np.eye(n_statistics)).tail(bound, np.full(5, np.inf))
    single = 2 * special.ndtr(-bound)
    np.testing.assert_allclose(found, -np.expm1(n_statistics * np.log1p(-single)), rtol=1e-6)


def test_statistics_that_are_equal_or_opposite_count_once():
    turned = np.array([[1, 0.3, -1, 0.3], [0.3, 1, -0.3, 1], [-1, -0.3, 1, -0.3], [0.3, 1, -0.3, 1]])
    bound, df = np.array([0.5, 2, 4]), np.full(3, 12.0)
    once = LargestStatistic(turned[:2, :2])
    np.testing.assert_allclose(LargestStatistic(turned).tail(bound, df), once.tail(bound, df), rtol=1e-9)
    same = LargestStatistic(np.ones((3, 3)))
    np.testing.assert_allclose(same.tail(bound, df), 2 * stats.t.sf(bound, df), rtol=1e-12)
    assert np.isclose(same.quantile(0.9, 12), stats.t.ppf(0.95, 12), rtol=1e-12)


def test_the_basis_in_which_a_matrix_is_decomposed_does_not_matter(monkeypatch):
    # all eigenvalues of this singular matrix are 0 or equal, so that its eigenvectors are of any rotation
    correlation = correlation_of_pairs(5)
    bound, df = np.array([1.5, 2.6]), np.full(2, 60.0)
    probability = LargestStatistic(correlation).tail(bound, df)
    eigenvalues, eigenvectors = linalg.eigh(correlation)
    rotation = linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    eigenvectors[:, -4:] = eigenvectors[:, -4:] @ rotation
    monkeypatch.setattr(linalg, "eigh", lambda _: (eigenvalues, eigenvectors))
    np.testing.assert_allclose(LargestStatistic(correlation).tail(bound, df), probability, rtol=1e-9)


def test_quantiles_are_the_bounds_whose_tail_is_1_minus_the_level():
    largest = LargestStatistic(correlation_of_pairs(4))
    for level, df in [(0.95, 11.5), (0.5, np.inf), (0.999, 3.0)]:
        bound = np.array([largest.quantile(level, df)])
        np.testing.assert_allclose(largest.tail(bound, np.array([df])), 1 - level, rtol=1e-9)
