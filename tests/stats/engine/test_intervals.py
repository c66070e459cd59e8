"""Kinds of intervals: what their records say, and limits held against other implementations."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tests_support import raises, warns

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import limits_and_caution_note
from salstats.errors import ValueRangeError
from salstats.stats.engine.intervals import (
    Basis,
    RatioMeans,
    choose_interval,
    interval_by_name,
    interval_names,
)
from salstats.stats.engine.joint_adjustment import NullDraws
from salstats.stats.engine.wild_bootstrap import SignFlips

BOOT = Path(__file__).parents[2] / "reference" / "boot"
#: The same arithmetic in another order.
RTOL = 1e-10
#: boot.ci takes order statistics 10 and 390 of 399 pivots, which are these linear quantiles.
LEVEL_OF_BOOT_CI = 1 - 2 * 9 / 398


@pytest.fixture(scope="module")
def skewed():
    scores = pd.read_csv(BOOT / "scores.csv").assign(method="gradcam", metric="iou")
    draws = np.loadtxt(BOOT / "draws.csv", delimiter=",", dtype=np.int64)
    return scores, draws


@pytest.mark.filterwarnings("ignore:.*rest on 15 units")
@pytest.mark.parametrize("interval", ["bootstrap_t_log", "studentized"])
def test_bootstrap_t_limits_equal_those_of_boot_ci(skewed, interval):
    scores, draws = skewed
    got = ss.summarize(scores, interval=interval, draws=draws, level=LEVEL_OF_BOOT_CI)
    want = pd.read_csv(BOOT / "limits.csv").query("interval == @interval")
    columns = ["conf_low", "conf_high"]
    np.testing.assert_allclose(got[columns].to_numpy(), want[columns].to_numpy(), rtol=RTOL)


def pivot_limits(method, human, draws, level):
    """Limits of 100 * (1 - ratio of means) from first principles: one replicate at a time."""

    def log_ratio(rows):
        a, b = method[rows], human[rows]
        pull = (a - a.mean()) / a.mean() - (b - b.mean()) / b.mean()
        return np.log(a.mean() / b.mean()), np.sqrt((pull**2).sum() / (len(rows) - 1) / len(rows))

    centre, error = log_ratio(np.arange(len(method)))
    pivots = [(value - centre) / own for value, own in map(log_ratio, draws)]
    low, high = np.quantile(pivots, [(1 - level) / 2, (1 + level) / 2])
    return sorted(100 * (1 - np.exp(centre - error * q)) for q in (low, high))


def test_limits_of_a_decrease_are_those_of_the_log_ratio():
    rng = np.random.default_rng(3)
    human = rng.lognormal(-0.5, 0.3, 40)
    method = human * rng.lognormal(-0.4, 0.4, 40)
    draws = rng.integers(0, 40, (300, 40))
    cases = [f"c{i:02}" for i in range(40)]
    scores = pd.concat(
        pd.DataFrame({"case": cases, "method": name, "metric": "assd", "score": values})
        for name, values in (("gradcam", method), ("human", human))
    )
    got = ss.percent_decrease(
        scores.reset_index(drop=True), reference="human", interval="bootstrap_t_log", draws=draws
    )
    want = pivot_limits(method, human, draws, 0.95)
    np.testing.assert_allclose(got[["conf_low", "conf_high"]].to_numpy()[0], want, rtol=RTOL)


@pytest.mark.filterwarnings("ignore:.*rest on 15 units")
def test_log_limits_move_with_the_unit_of_the_score_and_stay_above_0(skewed):
    scores, draws = skewed
    one, many = (
        ss.summarize(scores.assign(score=scores["score"] * by, metric="assd"), interval="bootstrap_t_log",
                     draws=draws)
        for by in (1, 25.4)
    )  # fmt: skip
    assert one["conf_low"].item() > 0
    np.testing.assert_allclose(many["conf_low"], 25.4 * one["conf_low"], rtol=RTOL)


def test_what_is_not_positive_has_no_log_limits():
    scores = pd.DataFrame({"case": [f"c{i:02}" for i in range(30)], "method": "gradcam", "metric": "ncc"})
    scores["score"] = np.linspace(-1, 0.5, 30)
    with warns(option="interval", value="bootstrap_t_log", column="estimate"):
        got = ss.summarize(scores, interval="bootstrap_t_log", n_replicates=50)
    assert got[["conf_low", "conf_high"]].isna().all(axis=None)


def test_it_is_offered_named_and_noted_by_its_record():
    record = interval_by_name("bootstrap_t_log")
    assert "bootstrap_t_log" in interval_names("mean")
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    means = ss.summarize(scores, by="method", interval=record.name, n_replicates=100)
    assert f"{record.label} of patients, 100 replicates" in limits_and_caution_note(read_estimates(means))
    with raises(ValueRangeError, option="interval", value=record.name):
        ss.difference(scores, reference="human", interval=record.name)


def basis(term, estimate, std_error, **numbers):
    """Numbers behind limits of one estimate with 12 degrees of freedom."""
    arrays = {name: np.array([number]) for name, number in ({"df": 12.0} | numbers).items()}
    return Basis(term, 0.9, np.array([estimate]), np.array([std_error]), **arrays)


def limits_of(name, numbers):
    """The two limits by a record, of one row."""
    record = interval_by_name(name, numbers.term)
    return np.array(record.limits(numbers)[:2]).ravel()


#: Quantiles of two-sided limits at 90 %.
T, Z = stats.t.ppf(0.95, 12), stats.norm.ppf(0.95)


def test_limits_of_means_differences_and_coefficients_are_by_students_t():
    for name, term in (
        ("t", "mean"),
        ("cr2", "difference"),
        ("delta", "percent_decrease"),
        ("wald", "regression"),
        ("obuchowski-rockette", "difference"),
    ):
        assert_allclose(limits_of(name, basis(term, 3.0, 0.5)), [3 - T * 0.5, 3 + T * 0.5])


@pytest.mark.parametrize(
    ("name", "term"), [("t", "mean"), ("cr2", "difference"), ("delta", "percent_decrease")]
)
def test_one_sided_tests_of_a_bound_are_students(name, term):
    tests = interval_by_name(name, term).tails(basis(term, 3.0, 0.5), np.array([2.2]))
    assert_allclose(tests.at_or_below, stats.t.sf(0.8 / 0.5, 12))
    assert_allclose(tests.at_or_above, stats.t.cdf(0.8 / 0.5, 12))


def test_pairs_that_all_agree_have_score_limits():
    hits = pd.DataFrame({"case": [f"c{i:02}" for i in range(20)], "metric": "hit", "score": [1.0, 0.0] * 10})
    scores = pd.concat([hits.assign(method=method) for method in ("cam", "human")])
    z_squared = stats.norm.ppf(0.975) ** 2
    row = ss.difference(scores, reference="human", interval="tango").iloc[0]
    # without disagreement the squared score statistic of a difference d of n pairs is n d / (1 - d)
    reach = z_squared / (20 + z_squared)
    assert_allclose([row["conf_low"], row["conf_high"]], [-reach, reach])
    decrease = ss.percent_decrease(scores, reference="human", interval="tang").iloc[0]
    assert decrease["conf_low"] < 0 < decrease["conf_high"]


def test_a_pooled_rate_has_delta_limits_on_the_logit_scale():
    log_odds, error = np.log(0.2 / 0.8), 0.05 / (0.2 * 0.8)
    expected = 1 / (1 + np.exp(-log_odds + np.array([1, -1]) * T * error))
    assert_allclose(limits_of("delta", basis("pooled_rate", 0.2, 0.05)), expected)


def test_shares_have_the_limits_of_scipy():
    # 6 hits of 20 cases with as many units: no design effect
    numbers = basis("mean", 0.3, np.sqrt(0.3 * 0.7 / 19), n=20.0, n_units=20.0)
    found = stats.binomtest(6, 20)
    assert_allclose(limits_of("wilson", numbers), found.proportion_ci(0.9, method="wilson"), rtol=1e-8)
    assert_allclose(limits_of("exact", numbers), found.proportion_ci(0.9, method="exact"), rtol=1e-8)
    # twice the variance: half the cases, as all 20 are units
    doubled = basis("mean", 0.3, np.sqrt(2 * 0.3 * 0.7 / 19), n=20.0, n_units=20.0)
    half = stats.binomtest(3, 10).proportion_ci(0.9, method="wilson")
    assert_allclose(limits_of("wilson", doubled), half, rtol=1e-8)


def test_a_bounded_mean_has_wilsons_limits_of_as_many_trials_as_have_its_variance():
    # 0.3 * 0.7 / 0.1^2 = 21 trials, with Student's quantile
    p, n = 0.3, 21
    half_width = T * np.sqrt(p * (1 - p) / n + T**2 / (4 * n**2))
    expected = (p + T**2 / (2 * n) + np.array([-1, 1]) * half_width) / (1 + T**2 / n)
    assert_allclose(limits_of("wilson_t", basis("mean", p, 0.1, n_units=13.0)), expected)


@pytest.mark.parametrize("name", ["fisher", "bonett-wright", "cr2"])
def test_limits_of_a_correlation_are_symmetric_in_fishers_z(name):
    expected = np.tanh(np.arctanh(0.6) + np.array([-1, 1]) * Z * 0.2)
    assert_allclose(limits_of(name, basis("spearman", 0.6, 0.2)), expected)


def test_areas_have_limits_by_students_t_or_by_the_normal_distribution():
    assert_allclose(
        limits_of("cr2", basis("auroc_difference", 0.1, 0.05)), 0.1 + np.array([-1, 1]) * T * 0.05
    )
    for name in ("delong", "logit"):
        for df, quantile in ((12.0, T), (np.nan, Z)):
            found = limits_of(name, basis("auroc", 0.8, 0.03, df=df))
            expected = 0.8 + np.array([-1, 1]) * quantile * 0.03
            if name == "logit":
                error = 0.03 / (0.8 * 0.2)
                expected = 1 / (1 + np.exp(-np.log(4) + np.array([1, -1]) * quantile * error))
            assert_allclose(found, expected)
    difference = limits_of("delong", basis("auroc_difference", -0.01, 0.03, df=np.nan))
    assert_allclose(difference, -0.01 + np.array([-1, 1]) * Z * 0.03)


SHARES = pd.read_csv(BOOT.parent / "paired_shares" / "shares.csv").query("level == 0.9")


@pytest.mark.parametrize("row", SHARES.iloc[:3].to_dict("records"))
def test_score_limits_of_paired_shares_are_those_of_r_and_their_tests_agree(row):
    n = row["both"] + row["only_method"] + row["only_reference"] + row["neither"]
    method, reference = (row["both"] + row["only_method"]) / n, (row["both"] + row["only_reference"]) / n
    # moments of the 0/1 scores of the pairs
    variances = np.array([method * (1 - method), reference * (1 - reference)]) / (n - 1)
    shared = (row["both"] / n - method * reference) / (n - 1)
    covariance = np.array([[variances[0], shared], [shared, variances[1]]])
    ratio_means = RatioMeans(np.array([method]), np.array([reference]), covariance[None])
    error = np.sqrt(variances.sum() - 2 * shared)
    difference = basis("difference", method - reference, error, n_units=n)
    decrease = Basis(
        "percent_decrease", 0.9, np.array([100 * (1 - method / reference)]), np.ones(1),
        n_units=np.array([n]), ratio_means=ratio_means,
    )  # fmt: skip
    expected = [row["difference_low"], row["difference_high"]]
    assert_allclose(limits_of("tango", difference), expected, atol=1e-9)
    expected_decrease = 100 * (1 - np.array([row["ratio_high"], row["ratio_low"]]))
    assert_allclose(limits_of("tang", decrease), expected_decrease, atol=1e-7)
    for name, numbers in (("tango", difference), ("tang", decrease)):
        record = interval_by_name(name, numbers.term)
        low, high = (np.array([limit]) for limit in limits_of(name, numbers))
        at_or_below_low, at_or_above_low = record.tails(numbers, low)
        at_or_below_high, at_or_above_high = record.tails(numbers, high)
        # a limit at 90 % is where a one-sided test has P = 0.05
        assert_allclose([at_or_below_low, at_or_above_high], 0.05, rtol=1e-6)
        assert_allclose([at_or_above_low, at_or_below_high], 0.95, rtol=1e-6)


def fieller_basis(method_variance, reference_variance, method=0.3, reference=0.5):
    """Two independent means and their percentage decrease."""
    covariance = np.diag([method_variance, reference_variance])[None]
    ratio_means = RatioMeans(np.array([method]), np.array([reference]), covariance)
    return Basis(
        "percent_decrease", 0.9, np.array([100 * (1 - method / reference)]), np.ones(1), df=np.array([12.0]),
        ratio_means=ratio_means,
    )  # fmt: skip


def test_fiellers_limits_are_where_the_t_test_of_the_ratio_has_its_level():
    numbers = fieller_basis(0.04**2, 0.05**2)
    record = interval_by_name("fieller", "percent_decrease")
    found = record.limits(numbers)
    assert found.description.tolist() == ["bounded"]
    assert not found.zero_in_gap.any()
    for limit in (found.low, found.high):
        ratio = 1 - limit / 100
        distance = np.abs(0.3 - ratio * 0.5) / np.sqrt(0.04**2 + ratio**2 * 0.05**2)
        assert_allclose(distance, T)
    assert found.low < 40 < found.high
    # of decreases up to the lower limit, and from it on
    assert_allclose(record.tails(numbers, found.low), [[0.05], [0.95]])


def test_unbounded_fieller_sets_say_what_they_contain():
    record = interval_by_name("fieller", "percent_decrease")
    # the reference does not differ from 0, the method does: all but a range of ratios around 0
    outside = record.limits(fieller_basis(0.04**2, 0.4**2))
    assert (outside.low.item(), outside.high.item()) == (-np.inf, np.inf)
    gap = outside.description.item().removeprefix("all but ").split(" to ")
    for limit in map(float, gap):
        ratio = 1 - limit / 100
        assert abs(0.3 - ratio * 0.5) / np.hypot(0.04, ratio * 0.4) == pytest.approx(T, rel=1e-4)
    # a decrease of 100 %, a ratio of 0, lies in the gap, and one of 0 % does not
    assert float(gap[0]) < 100 < float(gap[1])
    assert not outside.zero_in_gap.any()
    # a method far above a reference that may be 0: no ratio near 1
    assert record.limits(fieller_basis(0.01**2, 0.4**2, method=2.0)).zero_in_gap.all()
    neither = record.limits(fieller_basis(0.4**2, 0.4**2))
    assert neither.description.tolist() == ["everything"]
    assert (neither.low.item(), neither.high.item()) == (-np.inf, np.inf)


def flips_basis(ends, *, ratio=False):
    """Sign flips whose sets of theta end where `ends` says, one set for each pattern."""
    low, high = (np.array(side, dtype=float)[:, None] for side in zip(*ends, strict=True))
    null_draws = NullDraws(observed=np.ones(1), draws=np.ones(low.shape))
    flips = SignFlips(np.ones(1), null_draws, low, high, n_always=np.zeros(1), n_patterns=len(low))
    estimate = 40.0 if ratio else 0.1
    term = "percent_decrease" if ratio else "difference"
    return Basis(
        term, 0.75, np.array([estimate]), np.ones(1), rounding=np.array([1e-12]), sign_flips=flips,
        is_ratio=ratio,
    )  # fmt: skip


def test_wild_limits_are_ends_of_the_sets_of_flips_and_0_within_rounding():
    # at 75 % one of four sets may reach further
    ends = [(-0.3, 0.6), (-0.2, 0.5), (-1e-13, 0.3), (0.05, 0.2)]
    assert_allclose(limits_of("wild", flips_basis(ends)), [-0.2, 0.5])
    near_0 = [(-0.3, 0.6), (1e-13, 0.5), (0.01, 0.3), (0.05, 0.2)]
    assert limits_of("wild", flips_basis(near_0))[0] == 0.0
    below_0 = [(-0.3, 0.6), (-0.2, -1e-13), (-0.1, -1e-13), (-0.1, -0.05)]
    assert limits_of("wild", flips_basis(below_0))[1] == 0.0
    ratios = [(0.4, 0.9), (0.5, 0.8), (0.55, 0.7), (0.58, 0.65)]
    assert_allclose(limits_of("wild", flips_basis(ratios, ratio=True)), [20, 50])


def test_tests_by_flips_of_a_decrease_are_those_of_the_ratio_mirrored():
    ratios = [(0.4, 0.9), (0.5, 0.8), (0.55, 0.7), (0.58, 0.65)]
    record = interval_by_name("wild", "percent_decrease")
    decrease = flips_basis(ratios, ratio=True)
    gap = replace(flips_basis(ratios), estimate=np.array([0.6]))
    for ratio in (0.3, 0.45, 0.6, 0.75, 0.95):
        at_or_below, at_or_above = record.tails(decrease, np.array([100 * (1 - ratio)]))
        ratio_at_or_below, ratio_at_or_above = record.tails(gap, np.array([ratio]))
        assert_allclose(at_or_below, ratio_at_or_above)
        assert_allclose(at_or_above, ratio_at_or_below)
    assert at_or_below < at_or_above


def test_each_term_has_its_default_which_given_draws_replace():
    assert choose_interval(None, "mean").name == "wilson_t"
    assert choose_interval("recommended", "auroc").name == "logit"
    assert choose_interval(None, "mean", percentile_by_default=True).name == "percentile"
    assert interval_names("auroc")[0] == "recommended"
    assert "recommended" not in interval_names("regression")
    with raises(ValueRangeError, option="interval", value="fieller"):
        choose_interval("fieller", "mean")


def test_only_the_default_leaves_0_1_scores_and_outlying_units_to_others():
    assert choose_interval(None, "difference").binary_defaults == ("tango",)
    assert choose_interval(None, "percent_decrease").binary_defaults == ("tang",)
    assert choose_interval(None, "mean").binary_default == "exact"
    assert choose_interval(None, "percent_decrease").binary_default == "tang"
    assert choose_interval(None, "difference").leaves_outlying_to_cr2
    chosen = choose_interval("wild", "difference")
    assert (chosen.binary_defaults, chosen.leaves_outlying_to_cr2) == ((), False)


def test_of_two_records_of_one_name_the_terms_own_is_taken():
    assert interval_by_name("fieller", "percent_decrease").kind == "t"
    assert interval_by_name("fieller", "kendall").kind == "correlation"
    assert interval_by_name("fieller").name == "fieller"
    assert choose_interval("cr2", "pearson").kind == "correlation"
    assert choose_interval("cr2", "mean").kind == "t"
    assert interval_by_name("student") is None
