import numpy as np
import pandas as pd
import pytest
from agreement_readings import PAIRS, alone, pair_of
from scipy import stats

from salstats.stats.agreement.bland_altman import (
    bias_and_limits_of_agreement_by_jackknife,
    bias_and_limits_of_agreement_by_student_t,
    bias_and_sd,
)
from salstats.stats.agreement.readings import RaterReadings, equal_row_weights

ROUNDING = 1e-12
# printed from data in single precision, mean squares rounded to eight digits
PRINTED = 1e-7


@pytest.fixture
def cardiac(reference):
    """Ejection fractions of Bland and Altman (2007), table 1: 60 pairs of 12 subjects."""
    table = pd.read_csv(reference / "cardiac.csv")
    cases = pd.factorize(table["case"])[0]
    return RaterReadings(table[["rv", "ic"]].to_numpy(float), cases, cases)


def test_bland_and_altman_2007_where_the_true_value_varies(cardiac):
    bias, spread = bias_and_sd(cardiac, equal_row_weights(cardiac))[0]
    assert bias == pytest.approx(0.6021667, rel=PRINTED)
    assert spread == pytest.approx(0.99062408, rel=PRINTED)


def test_bland_and_altman_2007_where_the_true_value_is_constant(cardiac):
    bias, spread = bias_and_sd(cardiac, equal_row_weights(cardiac), linked=False)[0]
    assert bias == pytest.approx(0.6021667, rel=PRINTED)
    assert spread == pytest.approx(1.0518506, rel=PRINTED)
    # printed with 1.96 for the normal quantile
    lower, upper = bias - 1.96 * spread, bias + 1.96 * spread
    assert [lower, upper] == pytest.approx([-1.4594605, 2.6637939], rel=PRINTED)


def test_readings_in_any_order_may_differ_in_number_and_order(cardiac):
    values = cardiac.values.copy()
    values[3, 0] = values[10:12, 1] = np.nan
    shuffled = values.copy()
    for case in range(12):
        rows = np.flatnonzero(cardiac.cases == case)
        shuffled[rows, 1] = shuffled[rows[::-1], 1]
    found = [
        bias_and_sd(RaterReadings(v, cardiac.cases, cardiac.units), np.ones((1, 60)), linked=False)[0]
        for v in (values, shuffled)
    ]
    np.testing.assert_allclose(*found, rtol=ROUNDING)
    # by hand: means of cases, and what single readings vary by more
    more, means = 0.0, []
    for column in values.T:
        of_case = [column[(cardiac.cases == c) & ~np.isnan(column)] for c in range(12)]
        inner = sum(((v - v.mean()) ** 2).sum() for v in of_case) / sum(len(v) - 1 for v in of_case)
        more += (1 - np.mean([1 / len(v) for v in of_case])) * inner
        means.append(np.array([v.mean() for v in of_case]))
    assert found[0][1] == pytest.approx(np.sqrt(np.var(means[0] - means[1], ddof=1) + more), rel=ROUNDING)
    assert found[0][0] == pytest.approx(np.nanmean(values[:, 0]) - np.nanmean(values[:, 1]), rel=ROUNDING)


@pytest.mark.parametrize("name", PAIRS)
def test_limits_of_single_pairs_are_those_of_bland_and_altman_1999(r_data, r_expected, name):
    expected = r_expected("bland_altman").set_index("set").loc[name]
    found = bias_and_limits_of_agreement_by_student_t(pair_of(r_data("icc_sets"), name), 0.95)
    columns = {
        "estimate": ["bias", "loa_lo", "loa_hi"],
        "conf_low": ["bias_lo", "loa_lo_cl", "loa_hi_cl"],
        "conf_high": ["bias_hi", "loa_lo_cu", "loa_hi_cu"],
    }
    for attribute, names in columns.items():
        np.testing.assert_allclose(getattr(found, attribute), expected[names].to_numpy(float), atol=ROUNDING)
    assert found.std_error[1] == pytest.approx(expected["se_loa"], rel=ROUNDING)


def test_jackknife_of_single_pairs_gives_the_t_interval_of_the_bias(drawn):
    own = alone(drawn("score").values[:, :2])
    apart = own.values[:, 0] - own.values[:, 1]
    found = bias_and_limits_of_agreement_by_jackknife(own, 0.95)
    assert found.std_error[0] == pytest.approx(stats.sem(apart), rel=1e-10)
    squares = (apart - apart.mean()) ** 2
    n = len(squares)
    df = min(n - 1, 2 * squares.sum() ** 2 / ((squares**2).sum() - squares.sum() ** 2 / n))
    expected = stats.t.interval(0.95, df, apart.mean(), stats.sem(apart))
    assert [found.conf_low[0], found.conf_high[0]] == pytest.approx(expected, rel=1e-9)
    assert found.statistic[0] == pytest.approx(apart.mean() / stats.sem(apart), rel=1e-9)
    assert found.df[0] == pytest.approx(df, rel=1e-9)
    assert found.p_value[0] == pytest.approx(
        2 * stats.t.sf(abs(apart.mean() / stats.sem(apart)), df), rel=1e-9
    )


def test_limits_of_agreement_combine_bias_and_log_sd_by_squares(cardiac):
    each = np.array(
        [
            bias_and_sd(own, equal_row_weights(own))[0]
            for left in range(12)
            for keep in [cardiac.cases != left]
            for codes in [np.unique(cardiac.cases[keep], return_inverse=True)[1]]
            for own in [RaterReadings(cardiac.values[keep], codes, codes)]
        ]
    )
    bias, spread = bias_and_sd(cardiac, equal_row_weights(cardiac))[0]
    reach = []
    for moved in (each[:, 0], np.log(each[:, 1])):
        squares = (moved - moved.mean()) ** 2
        df = min(11, max(1, 2 * squares.sum() ** 2 / ((squares**2).sum() - squares.sum() ** 2 / 12)))
        reach.append(stats.t.ppf(0.975, df) * np.sqrt(11 / 12 * squares.sum()))
    z = stats.norm.ppf(0.975)
    found = bias_and_limits_of_agreement_by_jackknife(cardiac, 0.95)
    down, up = z * spread * (1 - np.exp(-reach[1])), z * spread * (np.exp(reach[1]) - 1)
    assert found.conf_low[1] == pytest.approx(bias - z * spread - np.hypot(reach[0], up), rel=1e-9)
    assert found.conf_high[1] == pytest.approx(bias - z * spread + np.hypot(reach[0], down), rel=1e-9)
    assert found.conf_low[2] == pytest.approx(bias + z * spread - np.hypot(reach[0], down), rel=1e-9)
    assert found.conf_high[2] == pytest.approx(bias + z * spread + np.hypot(reach[0], up), rel=1e-9)


def test_equal_differences_have_a_bias_and_no_spread():
    # every pair differs by 0.25 exactly
    first = np.arange(8) / 8
    found = bias_and_limits_of_agreement_by_jackknife(alone(np.column_stack([first + 0.25, first])), 0.95)
    np.testing.assert_allclose(found.estimate, 0.25, rtol=ROUNDING)
    assert np.isnan(found.conf_low[1:]).all()
    assert np.isnan([found.statistic, found.df, found.p_value]).all()
