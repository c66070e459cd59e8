"""Covariance kernels against their definitions and against other implementations."""

import numpy as np
import pytest
import statsmodels.api as sm

from salstats.stats.covariance import (
    bias_reduced,
    cluster_robust,
    cluster_sums,
    heteroscedastic,
    wald_statistic,
)
from salstats.stats.fitting import estimable_columns, fit_model, separates

# the same few hundred products summed in another order
RTOL = 1e-11
NAMES = ["(Intercept)", "x", "z"]


@pytest.fixture(scope="module")
def example():
    """40 rows in 9 clusters of unequal size, one of a single row."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 6, 6, 7])
    matrix = np.column_stack([np.ones(40), rng.normal(size=40), clusters % 2 + rng.normal(size=40)])
    response = matrix @ [0.2, 0.5, -0.3] + rng.normal(size=9)[clusters] + rng.normal(size=40)
    order = rng.permutation(40)
    return matrix[order], response[order], clusters[order]


def _fit(example, family="gaussian"):
    matrix, response, _ = example
    return fit_model(matrix, response, NAMES, family, intercept=True)


@pytest.mark.parametrize("kind", ["hc0", "hc1", "hc2", "hc3"])
def test_heteroscedastic_errors_of_a_linear_model_equal_statsmodels(example, kind):
    matrix, response, _ = example
    fit = _fit(example)
    theirs = sm.OLS(response, matrix).fit(cov_type=kind.upper()).cov_params()
    ours = heteroscedastic(fit.matrix, fit.residual, fit.bread, fit.leverage, kind)
    np.testing.assert_allclose(ours, theirs, rtol=RTOL)


def test_cluster_robust_errors_equal_statsmodels_and_the_sum_over_clusters(example):
    matrix, response, clusters = example
    fit = _fit(example)
    ours = cluster_robust(fit.matrix, fit.residual, fit.bread, clusters)
    theirs = sm.OLS(response, matrix).fit(cov_type="cluster", cov_kwds={"groups": clusters}).cov_params()
    np.testing.assert_allclose(ours, theirs, rtol=RTOL)
    meat = sum(
        np.outer(s, s) for s in ((matrix * fit.residual[:, None])[clusters == g].sum(0) for g in range(9))
    )
    by_hand = 9 / 8 * 39 / 37 * fit.bread @ meat @ fit.bread
    np.testing.assert_allclose(ours, by_hand, rtol=RTOL)


def test_clusters_of_one_row_give_hc1(example):
    fit = _fit(example)
    ours = cluster_robust(fit.matrix, fit.residual, fit.bread, np.arange(40))
    hc1 = heteroscedastic(fit.matrix, fit.residual, fit.bread, fit.leverage, "hc1")
    np.testing.assert_allclose(ours, hc1, rtol=RTOL)


def test_cr2_equals_its_definition_with_matrices_written_out(example):
    matrix, _, clusters = example
    fit = _fit(example)
    hat = matrix @ fit.bread @ matrix.T
    annihilator = np.eye(40) - hat
    meat = np.zeros((3, 3))
    columns = {j: [] for j in range(3)}
    for g in range(9):
        rows = np.flatnonzero(clusters == g)
        values, vectors = np.linalg.eigh(annihilator[np.ix_(rows, rows)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        score = matrix[rows].T @ root @ fit.residual[rows]
        meat += np.outer(score, score)
        for j in range(3):
            columns[j].append(annihilator[:, rows] @ root @ matrix[rows] @ fit.bread[:, j])
    forms = [np.column_stack(columns[j]).T @ np.column_stack(columns[j]) for j in range(3)]
    by_hand = [np.trace(b) ** 2 / np.trace(b @ b) for b in forms]
    covariance, df = bias_reduced(fit.matrix, fit.residual, fit.bread, clusters)
    np.testing.assert_allclose(covariance, fit.bread @ meat @ fit.bread, rtol=RTOL)
    np.testing.assert_allclose(df, by_hand, rtol=RTOL)


def test_cr2_of_single_rows_is_hc2(example):
    fit = _fit(example)
    covariance, _ = bias_reduced(fit.matrix, fit.residual, fit.bread, np.arange(40))
    hc2 = heteroscedastic(fit.matrix, fit.residual, fit.bread, fit.leverage, "hc2")
    np.testing.assert_allclose(covariance, hc2, rtol=RTOL)


def test_cr2_stands_a_cluster_that_determines_a_coefficient_by_itself():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(6), 5)
    matrix = np.column_stack([np.ones(30), clusters == 3, rng.normal(size=30)]).astype(float)
    response = rng.normal(size=30)
    fit = fit_model(matrix, response, NAMES, "gaussian", intercept=True)
    covariance, df = bias_reduced(fit.matrix, fit.residual, fit.bread, clusters)
    assert np.isfinite(covariance).all()
    assert np.isfinite(df).all()
    assert (df > 0).all()


def test_a_row_of_leverage_one_makes_hc2_and_hc3_undefined():
    matrix = np.column_stack([np.ones(5), [0, 0, 0, 0, 1.0]])
    fit = fit_model(matrix, np.array([1, 2, 4, 3, 9.0]), NAMES[:2], "gaussian", intercept=True)
    for kind in ("hc2", "hc3"):
        assert np.isnan(heteroscedastic(fit.matrix, fit.residual, fit.bread, fit.leverage, kind)).all()


def test_a_single_cluster_has_no_covariance(example):
    fit = _fit(example)
    one = np.zeros(40, dtype=int)
    assert np.isnan(cluster_robust(fit.matrix, fit.residual, fit.bread, one)).all()
    assert np.isnan(bias_reduced(fit.matrix, fit.residual, fit.bread, one)[0]).all()


def test_cluster_sums_adds_the_rows_of_each_cluster():
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(cluster_sums(rows, np.array([1, 0, 1, 1])), [[2, 3], [10, 13]])


def test_wald_statistic_is_f_and_nan_where_the_covariance_is_singular():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    b = np.array([1.0, -2.0])
    assert wald_statistic(b, covariance) == pytest.approx(b @ np.linalg.inv(covariance) @ b / 2, rel=RTOL)
    assert np.isnan(wald_statistic(b, np.ones((2, 2))))
    assert np.isnan(wald_statistic(b, np.full((2, 2), np.nan)))
    assert np.isnan(wald_statistic(b, np.diag([1.0, 0.0])))
    assert np.isnan(wald_statistic(b[:0], covariance[:0, :0]))


def test_wald_statistic_does_not_depend_on_the_scale_of_a_variable():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    scale = np.array([1e-9, 1e9])
    scaled = wald_statistic(scale * [1.0, -2.0], covariance * np.outer(scale, scale))
    assert scaled == pytest.approx(wald_statistic(np.array([1.0, -2.0]), covariance), rel=RTOL)


def test_estimable_columns_keeps_the_first_of_those_that_depend_on_each_other():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 20))
    one = np.ones(20)
    matrix = np.column_stack([one, 5 * one, a, a + 2, b, a - b, 1e-8 * c, c + 3 * a - 1])
    assert estimable_columns(matrix).tolist() == [0, 2, 4, 6]
    assert estimable_columns(matrix[:3]).tolist() == [0, 2, 4]
    assert estimable_columns(np.zeros((5, 2))).tolist() == []


def test_separation_is_found_exactly():
    x = np.array([1.0, 2, 3, 4, 5, 6])
    matrix = np.column_stack([np.ones(6), x])
    assert separates(matrix, (x > 3).astype(float))
    assert separates(matrix, np.ones(6))
    assert separates(matrix, np.array([0, 0, 0, 1, 1, 1.0]))
    assert not separates(matrix, np.array([0, 1, 0, 1, 0, 1.0]))
    assert not separates(matrix, np.array([0.2, 0.3, 0.1, 0.9, 0.5, 0.4]))
    assert not separates(matrix, np.array([0, 0, 0.5, 1, 0.5, 0.9]))
    overlap_at_a_point = np.array([0, 0, 0, 1, 1, 1.0])
    assert separates(np.column_stack([np.ones(6), [1, 2, 3, 3, 4, 5.0]]), overlap_at_a_point)


def test_logit_fit_reaches_the_maximum_whatever_the_scale_of_its_columns(example):
    matrix, response, _ = example
    hit = (response > 0).astype(float)
    fit = fit_model(matrix, hit, NAMES, "binomial", intercept=True)
    np.testing.assert_allclose(matrix.T @ (hit - fit.fitted), 0, atol=1e-10)
    scale = np.array([1, 1e-6, 1e6])
    scaled = fit_model(matrix * scale, hit, NAMES, "binomial", intercept=True)
    np.testing.assert_allclose(scaled.coefficients * scale, fit.coefficients, rtol=1e-9)
