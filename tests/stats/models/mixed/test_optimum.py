"""The search for variances: from anywhere, to zero where that is best, and away from it where it is not."""

import numpy as np
import pytest

from salstats.stats.models.mixed.deviance import evaluate_deviance
from salstats.stats.models.mixed.linear_mixed_model import RandomTerm, fit_mixed, scaled_model
from salstats.stats.models.mixed.optimum import DevianceSearch
from salstats.stats.models.mixed.terms import relative_covariance_factors

# the deviance of one optimum, found along different ways
ATOL = 1e-8


@pytest.fixture(scope="module")
def three_readers():
    """3 readers, 44 cases, slopes of both: the best covariance of the readers has rank 1."""
    rng = np.random.default_rng(27)
    reader, case, method = (a.ravel() for a in np.meshgrid(range(3), range(44), range(2), indexing="ij"))
    kept = rng.uniform(size=len(reader)) < 0.8
    reader, case, method = reader[kept], case[kept], method[kept]
    matrix = np.column_stack([np.ones(len(reader)), method])
    response = 0.3 * rng.normal(size=3)[reader] * method + 0.3 * rng.normal(size=44)[case]
    effects = ("(Intercept)", "method")
    terms = [RandomTerm("case", effects, case, 44, matrix), RandomTerm("reader", effects, reader, 3, matrix)]
    return matrix[:, :1], response + rng.normal(size=len(reader)), terms


@pytest.mark.parametrize("size", [0.02, 0.1, 0.3, 1.0, 3.0])
def test_start_does_not_matter(three_readers, size):
    scaled = scaled_model(*three_readers)
    search = DevianceSearch(scaled.products, scaled.terms, reml=True)
    n = len(three_readers[1])
    found, first = search.minimum(size * np.array([1, 0, 1, 1, 0, 1.0])), search.minimum()
    np.testing.assert_allclose(n * search(found.theta)[0], n * search(first.theta)[0], rtol=0, atol=ATOL)
    assert found.converged


def test_no_variance_more_or_less_is_better(three_readers):
    # in any direction, also one that has no variance, the deviance must not fall
    found = fit_mixed(*three_readers)
    assert found.is_singular
    for slope, factor in zip(
        found.scaled_model_evaluation_at_optimum.gradients,
        found.scaled.relative_covariance_factors_of_scaled_terms(found.theta),
        strict=True,
    ):
        assert np.linalg.eigvalsh(slope)[0] > -1e-6
        np.testing.assert_allclose(slope @ factor, 0, atol=1e-6)


def test_zero_is_left_where_a_variance_is_better():
    rng = np.random.default_rng(1)
    case = np.repeat(np.arange(20), 4)
    response = rng.normal(size=20)[case] + rng.normal(size=80)
    matrix = np.ones((80, 1))
    for correlated in (True, False):
        effects = np.column_stack([np.ones(80), np.tile([0, 1, 0, 1], 20)])
        term = RandomTerm("case", ("(Intercept)", "method"), case, 20, effects, correlated)
        scaled = scaled_model(matrix, response, [term])
        search = DevianceSearch(scaled.products, scaled.terms, reml=True)
        zeros = np.zeros(term.n_parameters)
        found = search.minimum(zeros)
        np.testing.assert_allclose(search(found.theta)[0], search(search.minimum().theta)[0], rtol=1e-10)
        # the search works per row
        assert 80 * (search(zeros)[0] - search(found.theta)[0]) > 4
        slopes = evaluate_deviance(
            scaled.products, relative_covariance_factors(found.theta, scaled.terms), reml=True
        ).gradients
        assert np.diag(slopes[0]).min() > -1e-6


@pytest.mark.parametrize("start", [-1.0, 1.0])
@pytest.mark.parametrize("ratio", [0.7, 1.0002, 1.001, 1.3, 20.0])
def test_the_standard_deviation_of_a_balanced_design_is_that_of_its_mean_squares(ratio, start):
    rng = np.random.default_rng(3)
    case = np.repeat(np.arange(20), 4)
    values = rng.normal(size=(20, 4))
    mean_square_within = values.var(axis=1, ddof=1).mean()
    means = values.mean(axis=1)
    within = values - means[:, None]
    # ratio of the mean square between cases to that within
    means = (means - means.mean()) * np.sqrt(ratio * mean_square_within / (4 * means.var(ddof=1)))
    response = (within + means[:, None]).ravel()
    matrix = np.ones((80, 1))
    scaled = scaled_model(matrix, response, [RandomTerm("case", ("(Intercept)",), case, 20, matrix)])
    found = DevianceSearch(scaled.products, scaled.terms, reml=True).minimum(np.array([start]))
    np.testing.assert_allclose(found.theta, [np.sqrt(max(ratio - 1, 0) / 4)], rtol=1e-6)
