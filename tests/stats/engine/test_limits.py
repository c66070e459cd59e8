"""Kernels of limits against R's boot.ci, statsmodels and their definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from tests_support import limits, r_quantile, raises, warns_too

import salstats as ss
from salstats.errors import SalstatsError
from salstats.frames import ColumnCodes
from salstats.stats.engine import limits as kernels
from salstats.stats.engine.estimands import Estimand, sum_cells
from salstats.stats.engine.grouping import index_groups
from salstats.stats.engine.resampling_units import resolve_unit
from salstats.stats.engine.variances import estimates_without_each_unit

# the hand-worked examples are small on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")

# the same arithmetic in another order of summation
RTOL = 1e-12


def scores_of(values, *, metric="iou", cases=None, **columns):
    cases = [f"c{i:03d}" for i in range(len(values))] if cases is None else cases
    return pd.DataFrame({"case": cases, "method": "gradcam", "metric": metric, "score": values, **columns})


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_bca_levels_are_those_of_boot_ci_with_its_jackknife(boot60, boot60_draws, r_expected, level):
    # boot.ci reads quantiles off the normal scale, we off NumPy's; the levels read at must agree
    table = r_expected("boot_ci").query("stat == 'mean_iou' and type == 'bca_jack' and conf == @level")
    iou = boot60.query("metric == 'iou' and method == 'gradcam'")["score"].to_numpy()
    replicates = r_expected("boot_t")[["mean_iou"]].to_numpy()
    jackknife = ((iou.sum() - iou) / (len(iou) - 1))[:, None]
    levels = kernels.bca_probabilities(replicates, iou.mean(keepdims=True), jackknife, level)[:, 0]
    got = [r_quantile(replicates[:, 0], p) for p in levels]
    np.testing.assert_allclose(got, table[["lo", "hi"]].to_numpy()[0], rtol=1e-9)


@pytest.mark.parametrize("stat", ["mean_iou", "macro_mean_iou"])
def test_cluster_bca_levels_are_those_of_boot_ci(synth1_iou, synth1_draws, r_expected, stat):
    # as for the plain bootstrap: boot.ci's own quantile rule is applied to our levels
    gradcam = synth1_iou[synth1_iou["method"] == "gradcam"]
    coded = ColumnCodes(gradcam)
    units = resolve_unit(coded, None)
    codes, keys = index_groups(coded, ["task"] if stat == "macro_mean_iou" else ["method"])
    cells = sum_cells(gradcam["score"].to_numpy(), units.codes, units.n, codes, len(keys))
    estimand = Estimand("mean", np.ones((len(keys), 1)))
    replicates = r_expected("cluster_boot_t")[[stat]].to_numpy()
    levels = kernels.bca_probabilities(
        replicates, estimand.value(cells.means()), estimates_without_each_unit(cells, estimand), 0.95
    )
    want = r_expected("cluster_boot_ci").query("stat == @stat and type == 'bca_jack' and conf == 0.95")
    got = [r_quantile(replicates[:, 0], p) for p in levels[:, 0]]
    np.testing.assert_allclose(got, want[["lo", "hi"]].to_numpy()[0], rtol=1e-9)


def test_undefined_replicates_sort_last_under_the_order_rule():
    replicates = np.concatenate([np.arange(1, 999.0), [np.nan, np.nan]])[:, None]
    low, high = kernels.order(replicates, 0.95)
    # numbers 25 and 975 of 1000, counted from 1
    assert (low.item(), high.item()) == (25, 975)


@pytest.mark.parametrize("interval", ["wilson", "exact"])
@pytest.mark.parametrize(("hits", "n"), [(0, 12), (3, 12), (12, 12), (47, 180)])
def test_binary_intervals_equal_statsmodels_when_cases_are_independent(interval, hits, n):
    values = np.r_[np.ones(hits), np.zeros(n - hits)]
    got = ss.summarize(scores_of(values, metric="hit"), interval=interval)
    name = {"wilson": "wilson", "exact": "beta"}[interval]
    np.testing.assert_allclose(limits(got), proportion_confint(hits, n, method=name), atol=1e-12)


@pytest.mark.parametrize("interval", ["wilson", "exact"])
def test_binary_intervals_widen_by_the_design_effect(interval):
    # every case twice in its patient: the information is that of the patients
    rng = np.random.default_rng(3)
    hits = (rng.random(60) < 0.3).astype(float)
    single = scores_of(hits, metric="hit")
    doubled = pd.concat(
        [
            single.assign(patient=single["case"]),
            single.assign(patient=single["case"], case=single["case"] + "b"),
        ]
    )
    alone = ss.summarize(single, interval=interval)
    clustered = ss.summarize(doubled, interval=interval)
    assert clustered["unit"].item() == "patient"
    if interval == "wilson":
        # design effect 2 * 119/118 * 59/60 ... up to the two finite-sample factors
        np.testing.assert_allclose(limits(clustered), limits(alone), atol=2e-3)
    naive = ss.summarize(doubled.drop(columns="patient"), interval=interval, unit="case")
    assert np.diff(limits(clustered)) > 1.3 * np.diff(limits(naive))


def test_effective_size_follows_korn_and_graubard():
    share, n, units, variance = (np.array([v]) for v in (0.25, 200, 40, 0.0020))
    effect = 0.0020 / (0.25 * 0.75 / 199)
    factor = (stats.t.ppf(0.975, 199) / stats.t.ppf(0.975, 39)) ** 2
    got = kernels.effective_size(share, n, variance, units, 0.95)
    np.testing.assert_allclose(got, 200 / effect * factor)


def test_binary_interval_refuses_averages(sixty):
    with raises(SalstatsError, option="interval", value="exact"):
        ss.summarize(sixty.query("metric == 'hit'").assign(task="a"), interval="exact", average="task")


@pytest.mark.parametrize("values", [np.r_[np.ones(2), np.zeros(23)], np.r_[np.full(19, 0.3), 0.9]])
@pytest.mark.filterwarnings("ignore:.*limits hold values:salstats.errors.SalstatsWarning")
def test_bootstrap_t_without_variance_in_many_replicates_has_no_limits(values):
    # replicates of equal scores lie infinitely many standard errors away: .12 and .36 of them here
    with warns_too(option="interval", value="studentized", column="std_error"):
        got = ss.summarize(scores_of(values), interval="studentized")
    low, high = limits(got)
    # the side that such replicates decide is unknown; the other may stand
    assert np.isnan(low) or np.isnan(high)
    assert not np.abs([low, high]).max() > 1


def row(number):
    """An array for one estimate."""
    return np.array([float(number)])


def test_quantiles_are_numpys_of_the_defined_replicates():
    replicates = np.array([[1.0, np.nan, np.nan], [4, 2, np.nan], [2, 6, np.nan], [8, 3, np.nan]])
    got = kernels.quantiles(replicates, [0.25, 0.75])
    # of 1 2 4 8 and of 2 3 6
    np.testing.assert_allclose(got, [[1.75, 2.5, np.nan], [5.0, 4.5, np.nan]])
    whole = kernels.quantiles(replicates[:, :1], [0.25, 0.75])
    np.testing.assert_allclose(whole, [[1.75], [5.0]])
    # probabilities of their own, without which a row has none
    of_rows = kernels.quantiles(replicates[:, :2], np.array([[0.5, np.nan], [1.0, 0.5]]))
    np.testing.assert_allclose(of_rows, [[3.0, np.nan], [8.0, np.nan]])


def test_percentile_basic_and_normal_limits_are_their_definitions():
    replicates = np.arange(101.0)[:, None]
    assert np.ravel(kernels.percentile(replicates, 0.9)).tolist() == pytest.approx([5, 95])
    assert np.ravel(kernels.basic(replicates, row(40), 0.9)).tolist() == pytest.approx([-15, 75])
    normal = kernels.normal(row(2), row(3), row(40), 0.9)
    z = stats.norm.ppf(0.95)
    assert np.ravel(normal).tolist() == pytest.approx([38 - 3 * z, 38 + 3 * z])


def test_bca_limits_are_those_of_scipy():
    values = np.random.default_rng(4).gamma(2, size=30)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=999, confidence_level=0.9, method="BCa", random_state=5
    )
    jackknife = (values.sum() - values) / 29
    replicates = expected.bootstrap_distribution
    low, high = kernels.bca(replicates[:, None], row(values.mean()), jackknife[:, None], 0.9)
    np.testing.assert_allclose([low.item(), high.item()], expected.confidence_interval, rtol=1e-9)


def studentized_by_hand(replicates, variances, estimate, variance, level):
    pivots = (replicates - estimate) / np.sqrt(variances)
    low, high = np.quantile(pivots, [(1 + level) / 2, (1 - level) / 2])
    return [estimate - np.sqrt(variance) * low, estimate - np.sqrt(variance) * high]


def test_bootstrap_t_limits_are_the_estimate_less_pivots_times_its_standard_error():
    rng = np.random.default_rng(6)
    replicates, variances = 2 + 0.3 * rng.normal(size=99), 0.1 + 0.05 * rng.uniform(size=99)
    columns = replicates[:, None], variances[:, None]
    got = kernels.studentized(*columns, row(2.1), row(0.12), row(1e-12), 0.8)
    np.testing.assert_allclose(np.ravel(got), studentized_by_hand(replicates, variances, 2.1, 0.12, 0.8))
    got = kernels.studentized_log(*columns, row(2.1), row(0.12), row(1e-12), 0.8)
    logs = np.log(replicates), variances / replicates**2
    expected = np.exp(studentized_by_hand(*logs, np.log(2.1), 0.12 / 2.1**2, 0.8))
    np.testing.assert_allclose(np.ravel(got), expected)


def test_replicates_without_a_logarithm_lie_below_all_others():
    rng = np.random.default_rng(6)
    replicates, variances = 2 + 0.3 * rng.normal(size=100), np.full(100, 0.1)
    replicates[:5] = [0.0, -1.0, 0.0, -2.0, -0.1]
    got = kernels.studentized_log(
        replicates[:, None], variances[:, None], row(2.1), row(0.12), row(1e-12), 0.8
    )
    logs = np.log(np.where(replicates > 0, replicates, 1e-300))
    pivots = np.sort((logs - np.log(2.1)) / np.sqrt(variances / replicates.clip(0.1) ** 2))
    assert (pivots[:5] < -100).all()
    low_pivot, high_pivot = np.quantile(pivots, [0.1, 0.9])
    expected = np.exp(np.log(2.1) - np.sqrt(0.12) / 2.1 * np.array([high_pivot, low_pivot]))
    np.testing.assert_allclose(np.ravel(got), expected)
    # more than the tail: the upper limit is undefined
    replicates[5:25] = 0.0
    low, high = kernels.studentized_log(
        replicates[:, None], variances[:, None], row(2.1), row(0.12), row(1e-12), 0.8
    )
    assert (np.isfinite(low).item(), np.isfinite(high).item()) == (True, False)
    undefined = kernels.studentized_log(
        replicates[:, None], variances[:, None], row(0), row(0.12), row(1e-12), 0.8
    )
    assert np.isnan(undefined).all()


def test_replicates_that_equal_the_estimate_without_variance_are_at_0():
    replicates = np.array([1.0, 1.0, 1.0, 1.0, 3.0, 0.0])[:, None]
    variances = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])[:, None]
    low, high = kernels.studentized(replicates, variances, row(1), row(4), row(1e-12), 0.6)
    # pivots -1 0 0 0 0 2, of which 0.2 and 0.8 are 0
    assert (low.item(), high.item()) == (1.0, 1.0)


def test_limits_of_a_rate_are_symmetric_on_the_logit_scale_and_of_the_rate_at_its_ends():
    estimate, error = np.array([0.2, 0.0, 0.2, 1.0]), np.array([0.05, 0.01, 0.0, 0.02])
    low, high = kernels.logit_t_limits(estimate, error, np.full(4, 9.0), 0.9)
    t = stats.t.ppf(0.95, 9)
    logit = np.log(0.2 / 0.8) + np.array([-1, 1]) * t * 0.05 / (0.2 * 0.8)
    np.testing.assert_allclose([low[0], high[0]], 1 / (1 + np.exp(-logit)))
    np.testing.assert_allclose(low[1:], [-0.01 * t, 0.2, 1 - 0.02 * t])
    np.testing.assert_allclose(high[1:], [0.01 * t, 0.2, 1 + 0.02 * t])
    assert np.isnan(kernels.logit_t_limits(row(0.2), row(0.05), row(0.5), 0.9)).all()


def test_limits_of_a_bounded_mean_are_wilsons_of_its_number_of_trials():
    mean, variance = np.array([0.3, 0.0, 1.0, 0.3, 0.3]), np.array([0.01, 0.0, 0.0, 0.0, np.nan])
    low, high = kernels.wilson_t(mean, variance, np.full(5, 12.0), np.full(5, 13.0), 0.9)
    # 0.3 * 0.7 / 0.01 = 21 trials; without variance as many as units
    for position, n in ((0, 21), (1, 13), (2, 13), (3, 13)):
        wanted = kernels.wilson(mean[[position]], row(n), 0.9, df=12.0)
        np.testing.assert_allclose([low[position], high[position]], np.ravel(wanted))
    assert np.isnan([low[4], high[4]]).all()
    t_squared = stats.t.ppf(0.95, 12) ** 2
    # of a share of 0 the upper limit is t^2 / (n + t^2)
    np.testing.assert_allclose([low[1], high[1]], [0, t_squared / (13 + t_squared)], atol=1e-15)


def fieller_by_hand(theta, method, reference, covariance, df, level):
    """The t statistic of method - theta * reference in units of its quantile, 1 at a limit."""
    variance = covariance[0, 0] - 2 * theta * covariance[0, 1] + theta**2 * covariance[1, 1]
    return np.abs(method - theta * reference) / np.sqrt(variance) / stats.t.ppf((1 + level) / 2, df)


@pytest.mark.parametrize(
    ("reference_error", "form"), [(0.05, "bounded"), (0.4, "outside"), (0.95, "outside"), (1.5, "line")]
)
def test_fiellers_sets_have_the_ratios_that_a_t_test_does_not_reject(reference_error, form):
    method, method_error = 0.3, 0.04 if form != "line" else 0.4
    covariance = np.array([[method_error**2, 0.3 * method_error * reference_error], [0, reference_error**2]])
    covariance[1, 0] = covariance[0, 1]
    found = kernels.fieller_sets_of_decrease(row(method), row(0.5), covariance[None], row(12), 0.9)
    assert found.form.tolist() == [form]
    if form == "line":
        assert (found.low.item(), found.high.item()) == (-np.inf, np.inf)
        return
    ratios = 1 - np.array([found.low.item(), found.high.item()]) / 100
    np.testing.assert_allclose(fieller_by_hand(ratios, method, 0.5, covariance, 12, 0.9), 1)
    between = fieller_by_hand(ratios.mean(), method, 0.5, covariance, 12, 0.9)
    assert (between < 1) == (form == "bounded")


@pytest.mark.parametrize("unknown", range(5))
def test_a_set_of_an_unknown_mean_or_variance_is_undefined(unknown):
    method, reference, method_variance, reference_variance, shared = np.where(
        np.arange(5) == unknown, np.nan, [0.3, 0.5, 0.01, 0.02, 0.005]
    )
    covariance = np.array([[[method_variance, shared], [shared, reference_variance]]])
    found = kernels.fieller_sets_of_decrease(row(method), row(reference), covariance, row(12), 0.9)
    assert found.form.tolist() == ["undefined"]
    assert np.isnan([found.low, found.high]).all()
