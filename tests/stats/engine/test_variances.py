"""Analytic variances against statsmodels and against leaving out units."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from tests_support import limits, warns_too

import salstats as ss
from salstats.stats.engine.estimands import Estimand, sum_cells
from salstats.stats.engine.variances import (
    analytic_variance,
    bessel_factor,
    drawn_variances,
    estimates_without_each_unit,
    method_and_reference_means_with_covariance,
)

# the same arithmetic in another order of summation
RTOL = 1e-12


def scores_of(values, *, metric="iou", cases=None, **columns):
    cases = [f"c{i:03d}" for i in range(len(values))] if cases is None else cases
    return pd.DataFrame({"case": cases, "method": "gradcam", "metric": metric, "score": values, **columns})


def test_a_rare_task_does_not_spoil_the_bootstrap_t_of_others():
    # in some replicates one unit of task b is drawn, which has no variance there; task a always has one
    scores = pd.concat(
        [scores_of(np.linspace(0, 1, 40)).assign(task="a"), scores_of([0.1, 0.5, 0.7]).assign(task="b")]
    )
    with (
        warns_too(column="n_units", rows=(1,)),
        warns_too(column="n_undefined", rows=(1,)),
        warns_too(option="interval", value="studentized", column="std_error", rows=(1,)),
    ):
        got = ss.summarize(scores, interval="studentized").set_index("task")
    assert got.index.tolist() == ["a", "b"]
    assert got.loc["a", "n_undefined"] == 0
    alone = ss.summarize(scores[scores["task"] == "a"], interval="studentized")
    np.testing.assert_allclose(limits(got.loc[["a"]]), limits(alone), rtol=RTOL)


def clustered_scores(n_units=12, seed=3):
    """Scores of a method and the reference, of units with one to four rows each."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n_units), rng.integers(1, 5, n_units))
    reference = rng.uniform(0.4, 0.9, len(units))
    return units, reference + rng.normal(-0.1, 0.1, len(units)), reference


def comparison_of(kind, units, method, reference):
    """Cells of the method and of the reference, and the estimand that compares them."""
    one_group = np.zeros(len(units), dtype=int)
    n_units = int(units.max()) + 1
    method_cells = sum_cells(method, units, n_units, one_group, 1)
    reference_cells = sum_cells(reference, units, n_units, one_group, 1)
    estimand = Estimand(kind, np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]))
    return method_cells.followed_by(reference_cells), estimand


def test_the_variance_of_a_mean_is_that_of_a_clustered_regression():
    units, scores, _ = clustered_scores()
    cells = sum_cells(scores, units, 12, np.zeros(len(units), dtype=int), 1)
    variance, df = analytic_variance(cells, Estimand("mean", np.ones((1, 1))))
    fit = sm.OLS(scores, np.ones(len(scores))).fit(cov_type="cluster", cov_kwds={"groups": units})
    np.testing.assert_allclose(np.sqrt(variance), fit.bse, rtol=1e-10)
    assert df.tolist() == [11]


def test_the_variance_of_a_decrease_is_the_delta_method_written_out():
    units, method, reference = clustered_scores()
    cells, estimand = comparison_of("percent_decrease", units, method, reference)
    variance, _ = analytic_variance(cells, estimand)
    ratio = method.sum() / reference.sum()
    residual = pd.Series(method - ratio * reference).groupby(units).sum()
    expected = 100**2 * 12 / 11 * (residual**2).sum() / reference.sum() ** 2
    np.testing.assert_allclose(variance, expected, rtol=RTOL)


def test_means_and_covariance_of_independent_units_are_numpys():
    rng = np.random.default_rng(4)
    method, reference = rng.random((2, 15))
    cells, estimand = comparison_of("percent_decrease", np.arange(15), method, reference)
    method_mean, reference_mean, covariance = method_and_reference_means_with_covariance(cells, estimand)
    np.testing.assert_allclose([method_mean[0], reference_mean[0]], [method.mean(), reference.mean()])
    np.testing.assert_allclose(covariance[0], np.cov(method, reference) / 15, rtol=RTOL)


def test_the_jackknife_leaves_out_one_unit_after_the_other():
    units, method, reference = clustered_scores()
    cells, estimand = comparison_of("percent_decrease", units, method, reference)
    expected = [
        100 * (1 - method[units != unit].mean() / reference[units != unit].mean()) for unit in range(12)
    ]
    np.testing.assert_allclose(estimates_without_each_unit(cells, estimand)[:, 0], expected, rtol=RTOL)


def test_the_variance_of_a_replicate_is_that_of_the_units_drawn():
    units, method, reference = clustered_scores()
    cells, estimand = comparison_of("difference", units, method, reference)
    drawn = np.random.default_rng(5).integers(0, 12, 12)
    weights = np.bincount(drawn, minlength=12)[None].astype(float)
    totals = weights @ cells.counts
    variances = drawn_variances(cells, estimand, weights, weights @ cells.sums / totals, totals)
    rows = [np.flatnonzero(units == unit) for unit in drawn]
    gap = (method - reference)[np.concatenate(rows)]
    clusters = np.repeat(np.arange(12), [len(r) for r in rows])
    residual = pd.Series(gap - gap.mean()).groupby(clusters).sum()
    # a unit drawn twice counts as two
    expected = 12 / 11 * (residual**2).sum() / len(gap) ** 2
    np.testing.assert_allclose(variances, expected, rtol=RTOL)


def test_one_unit_has_no_factor():
    np.testing.assert_array_equal(bessel_factor(np.array([0, 1, 2, 5])), [np.nan, np.nan, 2, 1.25])


def test_averages_of_tasks_have_welchs_degrees_of_freedom():
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.5, 0.1, 9), rng.normal(0.4, 0.3, 14)
    names = [f"a{i}" for i in range(9)], [f"b{i}" for i in range(14)]
    scores = pd.concat(
        [
            scores_of(a, metric="own", cases=names[0], task="a"),
            scores_of(b, metric="own", cases=names[1], task="b"),
        ]
    )
    found = ss.summarize(scores, average="task", interval="t").set_index("task").loc["Average"]
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert found["df"] == pytest.approx(welch.df, rel=1e-10)
    variance = (a.var(ddof=1) / 9 + b.var(ddof=1) / 14) / 4
    assert found["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-10)
    # of the same units it is that of their averages
    shared = pd.concat([scores_of(a, metric="own", task="a"), scores_of(b[:9], metric="own", task="b")])
    found = ss.summarize(shared, average="task", interval="t").set_index("task").loc["Average"]
    assert found["df"] == pytest.approx(8)
    assert found["std_error"] == pytest.approx((a + b[:9]).std(ddof=1) / 2 / 3, rel=1e-10)


def test_averages_of_tasks_that_share_units_have_degrees_of_freedom_between():
    rng = np.random.default_rng(8)
    a, b = rng.normal(0.5, 0.1, 6), rng.normal(0.4, 0.3, 8)
    names = [f"c{i}" for i in range(6)], [f"c{i}" for i in range(4, 12)]
    scores = pd.concat(
        [
            scores_of(a, metric="own", cases=names[0], task="a"),
            scores_of(b, metric="own", cases=names[1], task="b"),
        ]
    )
    found = ss.summarize(scores, average="task", interval="t").set_index("task").loc["Average"]
    # tr(M_a M_b) of the centring matrices of 6 and of 8 units, of which 2 are shared
    centred = np.zeros((12, 12)), np.zeros((12, 12))
    centred[0][:6, :6] = np.eye(6) - 1 / 6
    centred[1][4:, 4:] = np.eye(8) - 1 / 8
    scaled = np.array([((a - a.mean()) ** 2).sum() / 6**2 / 5, ((b - b.mean()) ** 2).sum() / 8**2 / 7])
    trace = np.array([[np.trace(first @ second) for second in centred] for first in centred])
    assert found["df"] == pytest.approx((scaled * [5, 7]).sum() ** 2 / (scaled @ trace @ scaled), rel=0.05)
