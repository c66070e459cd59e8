from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from salstats.stats.planning import formulas

REFERENCE = Path(__file__).parents[2] / "reference" / "power"
#: R's noncentral F stops summing at an error of 1e-9 (errmax of pnbeta.c).
ALGORITHM = 1e-9


@pytest.fixture(scope="module")
def by_r():
    """What R gave, by what was asked."""
    table = pd.read_csv(REFERENCE / "planning.csv", keep_default_na=True)
    return lambda what: table[table["what"] == what].to_dict("records")


@pytest.fixture(scope="module")
def van_dyke(r_expected):
    """Components of Van Dyke's five readers and 114 cases, as MRMCaov and RJafroc have them (jackknife)."""
    row = r_expected("mrmc_comp").set_index("set").loc["vandyke_auc_jackknife"]
    return formulas.MrmcComponents(row["Var"], row["Cov1"], row["Cov2"], row["Cov3"], row["sigma2_TR"], 114)


def test_power_of_a_t_test_is_that_of_pwr(by_r):
    for row in by_r("t"):
        found = formulas.t_power(
            row["effect"], formulas.precision_of_units(row["sd"], row["n"]), row["level"]
        )
        np.testing.assert_allclose(found, row["value"], rtol=ALGORITHM)


def test_fewest_pairs_are_those_of_pwr(by_r):
    for row in by_r("n"):

        def power(n, row=row):
            return float(formulas.t_power(row["effect"], formulas.precision_of_units(row["sd"], n), 0.95))

        assert formulas.smallest_size_reaching_power(power, 0.8, 2) == row["n"]


def test_fewest_is_none_where_power_stays_below():
    assert formulas.smallest_size_reaching_power(lambda n: 0.5, 0.8, 2) is None
    assert formulas.smallest_size_reaching_power(lambda n: np.nan, 0.8, 2) is None
    assert formulas.smallest_size_reaching_power(lambda n: 0.9, 0.8, 2) == 2


def test_power_against_a_margin_is_the_integral_over_the_sd(by_r):
    for row in by_r("margin"):
        of = formulas.precision_of_units(row["sd"], row["n"])
        found = formulas.margin_power(row["effect"], of, row["low"], row["high"], row["level"])
        np.testing.assert_allclose(found, row["value"], rtol=1e-8)


def test_widths_are_those_of_the_chi_distribution(by_r):
    for row in by_r("mean width"):
        found = formulas.mean_interval_width(formulas.precision_of_units(row["sd"], row["n"]), row["level"])
        np.testing.assert_allclose(found, row["value"], rtol=ALGORITHM)
    for row in by_r("width"):
        of = formulas.precision_of_units(row["sd"], row["n"])
        found = formulas.width_power(row["width"], of, row["level"])
        np.testing.assert_allclose(found, row["value"], rtol=ALGORITHM)


def test_readers_and_cases_are_as_hillis_has_them(by_r, van_dyke):
    for row in by_r("mrmc"):
        found = formulas.precision_of_readers(van_dyke, row["readers"], row["n"])
        np.testing.assert_allclose(found.df, row["ddf"], rtol=ALGORITHM)
        power = formulas.t_power(row["effect"], found, row["level"])
        np.testing.assert_allclose(power, row["value"], rtol=0, atol=ALGORITHM)


# RJafroc's tests, and its book (Chakraborty, RJafrocRocBook, on sample size): Van Dyke's data, the difference
# that was found in them
OBSERVED = 0.043800322061191665


@pytest.mark.parametrize(
    ("readers", "cases", "power", "digits"),
    [(6, 111, 0.5526116, 7), (6, 112, 0.5555789, 7), (10, 163, 0.8015625, 7), (10, 236, 0.9003501, 7),
     (5, 344, 0.801, 3), (7, 211, 0.801, 3), (15, 137, 0.802, 3), (100, 103, 0.8, 3)],
)  # fmt: skip
def test_published_power_of_readers_and_cases(van_dyke, readers, cases, power, digits):
    found = formulas.precision_of_readers(van_dyke, readers, cases)
    assert round(float(formulas.t_power(OBSERVED, found, 0.95)), digits) == power


@pytest.mark.parametrize(
    ("readers", "cases", "target"),
    [(4, 1089, 0.8), (6, 251, 0.8), (10, 163, 0.8), (50, 109, 0.8), (10, 236, 0.9)],
)  # fmt: skip
def test_published_number_of_cases(van_dyke, readers, cases, target):
    def power(n):
        return float(formulas.t_power(OBSERVED, formulas.precision_of_readers(van_dyke, readers, n), 0.95))

    assert formulas.smallest_size_reaching_power(power, target, 2) == cases


def test_published_power_with_fixed_readers_or_cases(van_dyke):
    fixed_cases = formulas.precision_of_readers(van_dyke, 10, 53, random_cases=False)
    assert round(float(formulas.t_power(OBSERVED, fixed_cases, 0.95)), 7) == 0.8049666
    assert fixed_cases.df == 9
    # RJafroc tests fixed readers with cases - 1 degrees of freedom, the model itself with z
    fixed_readers = formulas.precision_of_readers(van_dyke, 10, 133, random_readers=False)
    assert np.isinf(fixed_readers.df)
    by_t = fixed_readers._replace(df=132)
    assert round(float(formulas.t_power(OBSERVED, by_t, 0.95)), 7) == 0.8011167


@pytest.mark.parametrize(
    "name",
    ["synth2_score", "synth2_hit", "real_io_ag_readers", "vandyke_auc_jackknife", "vandyke_auc_delong"],
)
def test_a_study_like_the_pilot_is_as_precise_as_the_pilot(r_expected, name):
    row = r_expected("mrmc_comp").set_index("set").loc[name]
    parts = formulas.MrmcComponents(row["Var"], row["Cov1"], row["Cov2"], row["Cov3"], row["sigma2_TR"], 50)
    found = r_expected("mrmc_diffs").query("set == @name").set_index("analysis")
    for random, analysis in {(True, True): "RRRC", (False, True): "FRRC", (True, False): "RRFC"}.items():
        of = formulas.precision_of_readers(
            parts, row["r"], 50, random_readers=random[0], random_cases=random[1]
        )
        np.testing.assert_allclose(of.std_error, found.loc[analysis, "se"], rtol=1e-8)
        np.testing.assert_allclose(of.df, found.loc[analysis, "df"], rtol=1e-8)


def test_with_degrees_of_freedom_of_readers_mrmcsamplesize_has_the_power_it_asks_for():
    # its documentation's first example: 10 readers, a difference of .1, and components as printed; its design
    # counts the variance within readers in full, and its F has readers - 1 degrees of freedom
    var_tr, var_within, var_e, r1 = 0.0002111701, 0.001963495, 0.007370216, 0.47
    var_cases = var_e - var_within
    mean_square = var_tr + var_within + var_cases * (1 - r1)
    of = formulas.Precision(np.sqrt(2 * mean_square / 10), 9)
    assert formulas.t_power(0.1, of, 0.95) == pytest.approx(0.8, abs=1e-6)


def test_z_tests_have_infinite_degrees_of_freedom():
    # at 0 a test of 5 % rejects 5 %, and at 1.96 + 1.2816 standard errors 90 %
    z = formulas.Precision(1.0, np.inf)
    found = formulas.t_power([0.0, 1.959964 + 1.281552], z, 0.95)
    np.testing.assert_allclose(found, [0.05, 0.9], 1e-6)
    assert formulas.mean_interval_width(z, 0.95) == pytest.approx(2 * 1.959964, abs=1e-6)
    assert formulas.margin_power(0.0, z, -3.0, np.inf, 0.95) == pytest.approx(0.9123145, abs=1e-6)
    assert [round(float(formulas.width_power(w, z, 0.95)), 9) for w in (3.9, 3.95)] == [0, 1]
