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
from salstats.stats.engine.variances import jackknife

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
        replicates, estimand.value(cells.means()), jackknife(cells, estimand), 0.95
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


def test_binary_interval_refuses_averages(boot60):
    with raises(SalstatsError, option="interval", value="exact", match="average"):
        ss.summarize(boot60.query("metric == 'hit'").assign(task="a"), interval="exact", average="task")


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
