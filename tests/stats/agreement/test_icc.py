import numpy as np
import pandas as pd
import pytest
from agreement_readings import alone
from scipy import stats

from salstats.stats.agreement import icc
from salstats.stats.agreement.readings import RaterReadings, equal_row_weights

# a few hundred squares, summed in another order; F quantiles of two libraries
ROUNDING, QUANTILES = 1e-12, 1e-9
TYPES = ["ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k"]
SETS = ["shrout_fleiss", "synth2_A", "synth2_B", "synth2_A_rating", "real_ag_seeds", "real_ag_readers",
        "real_io_readers_ncc", "negative"]  # fmt: skip


@pytest.fixture
def readings(r_data):
    sets = r_data("icc_sets")
    return lambda name: alone(
        sets[sets["set"] == name].pivot(index="subject", columns="rater", values="score")
    )


@pytest.mark.parametrize("name", SETS)
def test_single_and_mean_forms_are_those_of_the_analysis_of_variance(readings, r_expected, name):
    expected = r_expected("icc_anova").set_index("set").loc[name]
    own = readings(name)
    single = icc.single_reading_icc1_icc2_icc3(own, equal_row_weights(own))[0]
    np.testing.assert_allclose(single, expected[TYPES[:3]].to_numpy(float), atol=ROUNDING)
    means = icc.spearman_brown(single, own.n_raters)
    # a mean's coefficient below 0 has no bound, so that digits are lost
    np.testing.assert_allclose(means, expected[TYPES[3:]].to_numpy(float), rtol=1e-11)


@pytest.mark.parametrize("name", SETS)
def test_f_limits_are_those_of_psych(readings, r_expected, name):
    table = r_expected("icc")
    table = table[(table["set"] == name) & (table["fun"] == "psych::ICC(lmer=FALSE)")]
    expected = table.set_index("type").loc[TYPES]
    found = icc.iccs_with_mcgraw_wong_limits(readings(name), 0.95)
    pairs = zip(found[2:4] + found[4:7], ["F", "df1", "p", "lo", "hi"], strict=True)
    for values, column in (*pairs, (found.df_denominator, "df2")):
        np.testing.assert_allclose(values, expected[column], rtol=QUANTILES, atol=ROUNDING, err_msg=column)


@pytest.mark.parametrize("name", SETS)
def test_f_limits_are_those_of_irr_but_for_the_mean_under_absolute_agreement(readings, r_expected, name):
    # of ICC(A,k) irr takes k times the coefficient of the mean where the single one's is meant
    table = r_expected("icc")
    expected = table[(table["set"] == name) & (table["fun"] == "irr::icc")].set_index("type").loc[TYPES]
    found = icc.iccs_with_mcgraw_wong_limits(readings(name), 0.95)
    same = np.arange(6) != 4
    np.testing.assert_allclose(found.conf_low[same], expected["lo"][same], rtol=QUANTILES)
    np.testing.assert_allclose(found.conf_high[same], expected["hi"][same], rtol=QUANTILES)


def gaps(folder):
    long = pd.read_csv(folder / "gaps.csv")
    wide = long.pivot(index="case", columns="reader", values="score")
    return alone(wide[wide.notna().sum(axis=1) > 1])


def test_one_way_with_gaps_is_that_of_aov(reference):
    expected = pd.read_csv(reference / "gaps_expected.csv").set_index("term")["estimate"]
    own = gaps(reference)
    assert icc.single_reading_icc1_icc2_icc3(own, equal_row_weights(own))[0, 0] == pytest.approx(
        expected["icc1"], rel=1e-10
    )


def test_components_with_gaps_are_mean_squared_differences_of_pairs(reference):
    own = gaps(reference)
    halves = {"within": [], "rater": [], "rest": []}
    cells = [(i, j, v) for (i, j), v in np.ndenumerate(own.values) if not np.isnan(v)]
    for a, (i, j, v) in enumerate(cells):
        for k, m, w in cells[:a]:
            halves["within" if i == k else "rater" if j == m else "rest"].append((v - w) ** 2 / 2)
    within, rater, rest = (np.mean(values) for values in halves.values())
    expected = [(rest - within) / rest, (rest - within) / rater]
    np.testing.assert_allclose(
        icc.single_reading_icc1_icc2_icc3(own, equal_row_weights(own))[0, 1:], expected, rtol=1e-11
    )


def test_two_way_with_gaps_lies_near_reml(reference):
    # two consistent estimators of the same; they differ by far less than the standard error
    expected = pd.read_csv(reference / "gaps_expected.csv").set_index("term")["estimate"]
    found = icc.iccs_with_jackknife_limits(gaps(reference), 0.95)
    for place, term in ((1, "icc2_reml"), (2, "icc3_reml")):
        assert abs(found.estimate[place] - expected[term]) < found.std_error[place] / 2


def test_pingouin_gives_the_same_without_gaps_and_leaves_whole_cases_out_with_them(reference, readings):
    expected = pd.read_csv(reference / "pingouin_icc.csv").groupby("data")
    own = readings("shrout_fleiss")
    for name, values in (("complete", own.values), ("omit", own.values[1:])):
        table, found = expected.get_group(name), icc.iccs_with_mcgraw_wong_limits(alone(values), 0.95)
        np.testing.assert_allclose(found.estimate, table["ICC"], rtol=1e-11)
        np.testing.assert_allclose(found.conf_low, table["low"], rtol=QUANTILES)
        np.testing.assert_allclose(found.conf_high, table["high"], rtol=QUANTILES)
        np.testing.assert_allclose(found.p_value, table["pval"], rtol=QUANTILES)
    gap = own.values.copy()
    gap[0, 3] = np.nan
    kept = alone(gap)
    assert (
        abs(
            icc.single_reading_icc1_icc2_icc3(kept, equal_row_weights(kept))[0, 1]
            - expected.get_group("omit")["ICC"].iloc[1]
        )
        > 0.01
    )


def test_jackknife_is_that_of_left_out_units(drawn):
    own = drawn("score")
    own = RaterReadings(own.values, own.cases, own.cases // 3)
    n = own.n_units
    left = [alone(own.values[own.units != unit]) for unit in range(n)]
    each = np.array([icc.single_reading_icc1_icc2_icc3(part, equal_row_weights(part))[0] for part in left])
    expected = np.sqrt((n - 1) / n * ((each - each.mean(axis=0)) ** 2).sum(axis=0))
    found = icc.iccs_with_jackknife_limits(own, 0.95)
    np.testing.assert_allclose(found.std_error[:3], expected, rtol=1e-10)
    # of consistency readers are fixed: limits are z -+ t * error, by hand
    z, moved = (np.log((1 + 4 * rho) / (1 - rho)) / 2 for rho in (found.estimate[2], each[:, 2]))
    squares = (moved - moved.mean()) ** 2
    kurtosis = 2 * squares.sum() ** 2 / ((squares**2).sum() - squares.sum() ** 2 / n)
    df = min(n - 1, kurtosis)
    assert found.df[2] == pytest.approx(df, rel=1e-9)
    ends = z + np.array([-1, 1]) * stats.t.ppf(0.975, df) * np.sqrt((n - 1) / n * squares.sum())
    expected = (np.exp(2 * ends) - 1) / (np.exp(2 * ends) + 4)
    np.testing.assert_allclose([found.conf_low[2], found.conf_high[2]], expected, rtol=1e-9)
    assert found.statistic[2] == pytest.approx(z / np.sqrt((n - 1) / n * squares.sum()), rel=1e-9)


def test_absolute_agreement_adds_the_limits_of_the_readers_variance(readings, r_expected):
    # by hand, from mean squares and the chi-squared limits of a variance with 4 degrees of freedom
    table = r_expected("icc_anova").set_index("set").loc["synth2_A"]
    n, k = int(table["n"]), int(table["k"])
    cases, error = (table["MSR"] - table["MSE"]) / k, table["MSE"]
    readers = (table["MSC"] - table["MSE"]) / n

    def z(variance):
        rho = cases / (cases + variance + error)
        return np.log((1 + (k - 1) * rho) / (1 - rho)) / 2

    found = icc.iccs_with_jackknife_limits(readings("synth2_A"), 0.95)
    reach = stats.t.ppf(0.975, found.df[1]) * z(readers) / found.statistic[1]
    most, least = (readers * (k - 1) / stats.chi2.ppf(share, k - 1) for share in (0.025, 0.975))
    low = z(readers) - np.hypot(reach, z(readers) - z(most))
    high = z(readers) + np.hypot(reach, z(least) - z(readers))
    expected = [(np.exp(2 * end) - 1) / (np.exp(2 * end) + k - 1) for end in (low, high)]
    np.testing.assert_allclose([found.conf_low[1], found.conf_high[1]], expected, rtol=1e-9)


def test_means_have_the_limits_of_single_readings_by_spearman_and_brown(drawn):
    found = icc.iccs_with_jackknife_limits(drawn("score"), 0.9)
    for values in (found.estimate, found.conf_low, found.conf_high):
        np.testing.assert_allclose(values[3:], 5 * values[:3] / (1 + 4 * values[:3]), rtol=1e-9)
