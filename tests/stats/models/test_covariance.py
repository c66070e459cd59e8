"""Covariance kernels against their definitions and against other implementations."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special

from salstats.stats.models import covariance as kernels
from salstats.stats.models.covariance import (
    are_zero_variances,
    bias_reduced_covariance,
    closest_wishart_df,
    cluster_robust_covariance,
    cluster_sums,
    has_no_sandwich_variance,
    heteroscedastic_covariance,
    wald_f_statistic,
)
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import fit_model

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
    return fit_model(matrix, response, NAMES, FAMILIES[family], has_intercept=True)


def test_cr2_of_single_rows_is_hc2(example):
    fit = _fit(example)
    covariance, _ = bias_reduced_covariance(fit.matrix, fit.residual, fit.bread, np.arange(40))
    hc2 = heteroscedastic_covariance(fit.scores, fit.bread, fit.leverage, fit.df_residual, "hc2")
    np.testing.assert_allclose(covariance, hc2, rtol=RTOL)


@pytest.mark.parametrize("rooted", [500, 1], ids=["root of the rows", "of their design"])
def test_cr2_is_unbiased_where_the_spread_is_that_of_the_model(example, rooted, monkeypatch):
    monkeypatch.setattr(kernels, "_MAX_ROOT_ROWS", rooted)
    # no more blocks than clusters
    monkeypatch.setattr(kernels, "_BATCH_NUMBERS", 4)
    matrix, _, clusters = example
    spread = np.random.default_rng(6).uniform(0.01, 0.25, 40)
    rows = matrix * np.sqrt(spread)[:, None]
    bread = np.linalg.inv(rows.T @ rows)
    annihilator = np.eye(40) - rows @ bread @ rows.T
    # residuals (I - H) e of independent e: CR2 is quadratic in e, its expectation the sum over unit vectors
    each = [bias_reduced_covariance(rows, e, bread, clusters, spread)[0] for e in annihilator]
    np.testing.assert_allclose(np.sum(each, axis=0), bread, rtol=1e-9, atol=1e-12 * np.abs(bread).max())
    own = bias_reduced_covariance(rows, annihilator[0], bread, clusters)[0]
    assert np.allclose(each[0], own, rtol=1e-9) == (rooted == 1)


def _written_out(matrix, clusters):
    """(I - H), and (I - H_gg)^(-1/2) X_g with the rows of each cluster, by eigenvalues."""
    annihilator = np.eye(len(matrix)) - matrix @ np.linalg.inv(matrix.T @ matrix) @ matrix.T
    parts = []
    for g in range(clusters.max() + 1):
        rows = np.flatnonzero(clusters == g)
        values, vectors = np.linalg.eigh(annihilator[np.ix_(rows, rows)])
        parts.append((rows, vectors @ np.diag(values**-0.5) @ vectors.T @ matrix[rows]))
    return annihilator, parts


def test_wishart_df_equals_the_variances_of_a_random_matrix_written_out(example):
    # Pustejovsky and Tipton 2018: eta = q (q + 1) / sum over s, t of Var(D_st), errors independent
    matrix, _, clusters = example
    fit = _fit(example)
    annihilator, parts = _written_out(matrix, clusters)
    tested, q = [0, 2], 2
    values, vectors = np.linalg.eigh(fit.bread[np.ix_(tested, tested)])
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    forms = np.zeros((q, q, 40, 40))
    for rows, adjusted in parts:
        p = annihilator[:, rows] @ adjusted @ fit.bread[:, tested] @ root
        forms += np.einsum("is,jt->stij", p, p)
    total = 0.0
    for s in range(q):
        for t in range(q):
            # D_st = e'Fe of normal errors has variance 2 tr(S S), S the symmetric part of F
            symmetric = (forms[s, t] + forms[s, t].T) / 2
            assert np.trace(symmetric) == pytest.approx(float(s == t), abs=1e-12)
            total += 2 * np.trace(symmetric @ symmetric)
    eta = closest_wishart_df(fit.matrix, fit.bread, clusters, np.eye(len(fit.bread))[tested])
    assert eta == pytest.approx(q * (q + 1) / total, rel=RTOL)


def test_cr2_of_several_coefficients_keeps_its_level_where_cr1_does_not():
    rng = np.random.default_rng(20261201)
    n_clusters, q, n_studies = 20, 3, 400
    clusters = np.repeat(np.arange(n_clusters), 4)
    tested = [1, 2, 3]
    block = np.ix_(tested, tested)
    rejected = {"cluster": 0, "cr2": 0}
    for _ in range(n_studies):
        matrix = np.column_stack([np.ones(80), rng.normal(size=(n_clusters, q))[clusters]])
        response = rng.normal(size=n_clusters)[clusters] + rng.normal(size=80)
        fit = fit_model(matrix, response, list("iabc"), FAMILIES["gaussian"], has_intercept=True)
        b, classical = fit.coefficients[tested], fit.dispersion * fit.bread[block]
        cr1 = cluster_robust_covariance(fit.scores, fit.bread, clusters, fit.df_residual)[block]
        f = wald_f_statistic(b, cr1, classical)
        rejected["cluster"] += special.fdtrc(q, n_clusters - 1, f) < 0.05
        cr2 = bias_reduced_covariance(fit.matrix, fit.residual, fit.bread, clusters)[0][block]
        eta = closest_wishart_df(fit.matrix, fit.bread, clusters, np.eye(len(fit.bread))[tested])
        f = wald_f_statistic(b, cr2, classical) * (eta - q + 1) / eta
        rejected["cr2"] += special.fdtrc(q, eta - q + 1, f) < 0.05
    # 400 studies at 5 %: 20, and 35 in one of a thousand runs
    assert rejected["cr2"] <= 35
    assert rejected["cluster"] >= 50


def test_coefficients_that_depend_on_one_cluster_alone_are_found():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(6), 5)
    x, one = rng.normal(size=30), np.ones(30)
    own = (clusters[:, None] == np.arange(6)).astype(float)

    def found(*columns):
        matrix = np.column_stack(columns)
        result = has_no_sandwich_variance(matrix, np.linalg.inv(matrix.T @ matrix), clusters)
        scale = 10.0 ** np.linspace(-6, 6, matrix.shape[1])
        rescaled = np.linalg.inv(matrix.T @ matrix) / np.outer(scale, scale)
        np.testing.assert_array_equal(has_no_sandwich_variance(matrix * scale, rescaled, clusters), result)
        return result.tolist()

    assert found(one, x) == [False, False]
    # one treated cluster: the others give the intercept and the slope
    assert found(one, own[:, 3], x) == [False, True, False]
    # its slope by itself too; x is then the slope of the others
    assert found(one, own[:, 3], x, own[:, 3] * x) == [False, True, False, True]
    # fixed effects of the clusters leave a slope within clusters
    assert found(one, *own[:, 1:].T, x) == [True] * 6 + [False]
    # five covariates of clusters and an intercept are six indicators in disguise
    assert all(found(one, *(own @ rng.normal(size=(6, 5))).T))
    assert not any(found(one, *(own @ rng.normal(size=(6, 4))).T))


def test_cr2_of_the_coefficients_that_a_clusters_indicator_leaves_is_cr2_without_the_cluster():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(6), 5)
    treated = clusters == 5
    x, response = rng.normal(size=(2, 30))
    matrix = np.column_stack([np.ones(30), x, treated, treated * x])
    fit = fit_model(
        matrix, response, ["(Intercept)", "x", "t", "tx"], FAMILIES["gaussian"], has_intercept=True
    )
    assert has_no_sandwich_variance(fit.matrix, fit.bread, clusters).tolist() == [False, False, True, True]
    covariance, df = bias_reduced_covariance(fit.matrix, fit.residual, fit.bread, clusters)
    rest = fit_model(matrix[:25, :2], response[:25], NAMES[:2], FAMILIES["gaussian"], has_intercept=True)
    expected, expected_df = bias_reduced_covariance(rest.matrix, rest.residual, rest.bread, clusters[:25])
    np.testing.assert_allclose(covariance[:2, :2], expected, rtol=1e-9)
    np.testing.assert_allclose(df[:2], expected_df, rtol=1e-9)


def test_a_row_of_leverage_one_counts_for_its_own_coefficient_only():
    rng = np.random.default_rng(2)
    x = rng.normal(size=12)
    matrix = np.column_stack([np.ones(12), x, np.arange(12) == 7])
    response = rng.normal(size=12)
    fit = fit_model(matrix, response, NAMES, FAMILIES["gaussian"], has_intercept=True)
    assert has_no_sandwich_variance(fit.matrix, fit.bread, None).tolist() == [False, False, True]
    rest = np.arange(12) != 7
    without = fit_model(matrix[rest, :2], response[rest], NAMES[:2], FAMILIES["gaussian"], has_intercept=True)
    for kind in ("hc0", "hc2", "hc3"):
        ours = heteroscedastic_covariance(fit.scores, fit.bread, fit.leverage, fit.df_residual, kind)[:2, :2]
        theirs = sm.OLS(response[rest], matrix[rest, :2]).fit(cov_type=kind.upper()).cov_params()
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    np.testing.assert_allclose(fit.coefficients[:2], without.coefficients, rtol=1e-10)


def test_wald_statistic_is_f_and_nan_where_the_covariance_is_singular():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    b = np.array([1.0, -2.0])
    expected = b @ np.linalg.inv(covariance) @ b / 2
    for classical in (np.eye(2), covariance, np.array([[1.0, -0.9], [-0.9, 3.0]])):
        assert wald_f_statistic(b, covariance, classical) == pytest.approx(expected, rel=RTOL)
        assert np.isnan(wald_f_statistic(b, np.ones((2, 2)), classical))
        assert np.isnan(wald_f_statistic(b, np.full((2, 2), np.nan), classical))
        assert np.isnan(wald_f_statistic(b, np.diag([1.0, 0.0]), classical))
        # of full rank, but nothing except rounding
        assert np.isnan(wald_f_statistic(b, 1e-31 * covariance, classical))
    assert np.isnan(wald_f_statistic(b[:0], covariance[:0, :0], np.eye(0)))


@pytest.mark.parametrize(("n", "n_clusters"), [(40, 12), (3000, 900)], ids=["written out", "many clusters"])
def test_a_combination_has_the_degrees_of_freedom_of_its_coefficient_in_another_basis(n, n_clusters):
    rng = np.random.default_rng(4)
    clusters = np.concatenate([np.arange(n_clusters), rng.integers(0, n_clusters, n - n_clusters)])
    matrix = np.column_stack([np.ones(n), 100 * rng.normal(size=n) + clusters, rng.random(n) < 0.3])
    bread, residual = np.linalg.inv(matrix.T @ matrix), np.ones(n)
    combination = np.array([1.0, 20.0, 0.4])
    # b = T g with g[0] = c'b
    basis = np.vstack([combination, [0, 1, 0], [0, 0, 1]])
    turned = matrix @ np.linalg.inv(basis)
    expected = bias_reduced_covariance(turned, residual, basis @ bread @ basis.T, clusters)[1][0]
    contrasts = np.vstack([combination, -3 * combination, np.eye(3)])
    covariance, df = bias_reduced_covariance(matrix, residual, bread, clusters, contrasts=contrasts)
    np.testing.assert_allclose(df[:2], expected, rtol=1e-9)
    own_covariance, own = bias_reduced_covariance(matrix, residual, bread, clusters)
    np.testing.assert_allclose(df[2:], own, rtol=1e-12)
    np.testing.assert_array_equal(covariance, own_covariance)


@pytest.mark.parametrize("exponent", [-0.5, -1.0])
def test_hotellings_degrees_of_freedom_of_one_combination_are_satterthwaites(example, exponent):
    matrix, residual, clusters = example
    bread = np.linalg.inv(matrix.T @ matrix)
    contrasts = np.array([[0.0, 1.0, -0.5]])
    _, df = bias_reduced_covariance(matrix, residual, bread, clusters, contrasts=contrasts, exponent=exponent)
    eta = closest_wishart_df(matrix, bread, clusters, contrasts, exponent=exponent)
    assert eta == pytest.approx(df[0], rel=1e-10)


def test_robust_covariances_have_the_factors_of_their_definitions():
    rng = np.random.default_rng(12)
    matrix = np.column_stack([np.ones(12), rng.normal(size=12)])
    residual = rng.normal(size=12)
    clusters = np.repeat(np.arange(4), 3)
    bread = np.linalg.inv(matrix.T @ matrix)
    scores = matrix * residual[:, None]
    leverage = np.diag(matrix @ bread @ matrix.T)
    for kind, weights in {
        "hc0": np.ones(12),
        "hc1": np.full(12, 12 / 10),
        "hc2": 1 / (1 - leverage),
        "hc3": 1 / (1 - leverage) ** 2,
    }.items():
        expected = bread @ matrix.T @ np.diag(residual**2 * weights) @ matrix @ bread
        found = heteroscedastic_covariance(scores, bread, leverage, 10.0, kind)
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=kind)
    sums = np.array([scores[3 * g : 3 * g + 3].sum(axis=0) for g in range(4)])
    np.testing.assert_allclose(cluster_sums(scores, clusters), sums)
    cr0 = bread @ sums.T @ sums @ bread
    uncorrected = cluster_robust_covariance(scores, bread, clusters, 10.0, corrected=False)
    np.testing.assert_allclose(uncorrected, cr0, rtol=1e-12)
    cr1 = cr0 * (4 / 3) * (11 / 10)
    np.testing.assert_allclose(cluster_robust_covariance(scores, bread, clusters, 10.0), cr1, rtol=1e-12)
    coefficients = np.array([0.3, -0.2])
    expected_f = coefficients @ np.linalg.inv(cr1) @ coefficients / 2
    assert wald_f_statistic(coefficients, cr1, bread) == pytest.approx(expected_f, rel=1e-10)
    # two clusters are the fewest that have errors
    halves = np.array([scores[:6].sum(axis=0), scores[6:].sum(axis=0)])
    two_clusters = cluster_robust_covariance(scores, bread, np.repeat([0, 1], 6), 10.0)
    np.testing.assert_allclose(two_clusters, bread @ halves.T @ halves @ bread * 2 * 11 / 10, rtol=1e-12)
    assert np.isnan(cluster_robust_covariance(scores, bread, np.zeros(12, dtype=int), 10.0)).all()


def test_variances_of_rounding_errors_are_zero():
    bread = np.diag([2.0, 2.0, 2.0, 2.0])
    variances = np.array([1e-20, 3e-20, 1e-3, np.nan])
    is_zero = are_zero_variances(variances, bread, dispersion=1.0, mean_square=0.0)
    np.testing.assert_array_equal(is_zero, [True, False, False, False])
    # The fitted values determine the rounding errors of a good fit.
    is_zero = are_zero_variances(np.full(4, 1e-12), bread, dispersion=1e-12, mean_square=1e20)
    assert is_zero.all()


def test_equal_sampling_weights_change_nothing_whatever_their_size(example):
    matrix, _, clusters = example
    residual = _fit(example).residual
    bread = np.linalg.inv(matrix.T @ matrix)
    contrasts = np.eye(3)[1:]
    plain = bias_reduced_covariance(matrix, residual, bread, clusters)
    df = closest_wishart_df(matrix, bread, clusters, contrasts)
    for weight in (1.0, 3.0):
        sampling = np.full(40, weight)
        weighted = bias_reduced_covariance(matrix, residual, bread / weight, clusters, sampling=sampling)
        np.testing.assert_allclose(weighted.covariance, plain.covariance, rtol=1e-9)
        np.testing.assert_allclose(weighted.df, plain.df, rtol=1e-9)
        weighted_df = closest_wishart_df(matrix, bread / weight, clusters, contrasts, sampling=sampling)
        assert weighted_df == pytest.approx(df, rel=1e-9)


@pytest.mark.parametrize("sampling", [None, 1.0 + np.arange(40) % 3])
def test_sums_over_clusters_give_the_degrees_of_freedom_of_sums_over_pairs(example, sampling, monkeypatch):
    matrix, _, clusters = example
    weights = np.ones(40) if sampling is None else sampling
    bread = np.linalg.inv(matrix.T @ (matrix * weights[:, None]))
    contrasts = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, -2.0]])
    by_pairs = closest_wishart_df(matrix, bread, clusters, contrasts, sampling=sampling)
    monkeypatch.setattr(kernels, "_MAX_DIRECT_CLUSTERS", 0)
    by_sums = closest_wishart_df(matrix, bread, clusters, contrasts, sampling=sampling)
    assert by_sums == pytest.approx(by_pairs, rel=1e-9)


def test_weighted_cr2_is_unbiased_for_independent_errors_of_one_variance(example):
    matrix, _, clusters = example
    sampling = 1.0 + np.arange(40) % 3
    weighted = matrix * sampling[:, None]
    bread = np.linalg.inv(matrix.T @ weighted)
    annihilator = np.eye(40) - matrix @ bread @ weighted.T
    # residuals (I - H) e of independent e: the expectation is the sum over unit vectors
    each = [
        bias_reduced_covariance(matrix, residual, bread, clusters, sampling=sampling).covariance
        for residual in annihilator.T
    ]
    expected = bread @ (weighted.T @ weighted) @ bread
    np.testing.assert_allclose(np.sum(each, axis=0), expected, rtol=1e-9, atol=1e-12)


def test_one_cluster_has_no_covariance_and_no_degrees_of_freedom(example):
    matrix, _, _ = example
    bread = np.linalg.inv(matrix.T @ matrix)
    one = np.zeros(40, dtype=int)
    covariance, df = bias_reduced_covariance(matrix, np.ones(40), bread, one)
    assert np.isnan(covariance).all()
    assert np.isnan(df).all()
    assert np.isnan(closest_wishart_df(matrix, bread, one, np.eye(3)))
    assert np.isnan(cluster_robust_covariance(matrix, bread, one, 37.0)).all()


@pytest.mark.parametrize("n_clusters", [2, 5])
def test_closest_wishart_df_of_one_combination_are_satterthwaites(n_clusters):
    rng = np.random.default_rng(2)
    clusters = np.arange(40) % n_clusters
    matrix = np.column_stack([np.ones(40), rng.normal(size=40)])
    bread = np.linalg.inv(matrix.T @ matrix)
    _, df = bias_reduced_covariance(matrix, rng.normal(size=40), bread, clusters)
    slope = np.array([[0.0, 1.0]])
    assert closest_wishart_df(matrix, bread, clusters, slope) == pytest.approx(df[1], rel=1e-8)
