import numpy as np
import pytest
from agreement_readings import PAIRS, alone, pair_of
from scipy import stats

from salstats.stats.agreement.concordance import concordance_correlation, concordance_with_lin_limits
from salstats.stats.agreement.readings import (
    RaterReadings,
    coefficients_with_wilson_limits,
    equal_row_weights,
)

ROUNDING = 1e-12


@pytest.fixture
def pair(r_data):
    sets = r_data("icc_sets")
    return lambda name: pair_of(sets, name)


@pytest.mark.parametrize("name", PAIRS)
def test_limits_are_those_of_lin_with_the_erratum(pair, r_expected, name):
    expected = r_expected("ccc").set_index("set").loc[name]
    found = concordance_with_lin_limits(pair(name), 0.95)
    numbers = [found.estimate[0], found.std_error[0], found.conf_low[0], found.conf_high[0]]
    np.testing.assert_allclose(
        numbers, expected[["ccc", "se", "lo_z", "hi_z"]].to_numpy(float), atol=ROUNDING
    )
    # The test statistic divides z by the standard error that the width of the limits gives.
    z_error = (np.arctanh(expected["hi_z"]) - np.arctanh(expected["lo_z"])) / (2 * stats.norm.ppf(0.975))
    assert found.statistic[0] == pytest.approx(np.arctanh(expected["ccc"]) / z_error, rel=1e-6)


def test_jackknife_of_independent_pairs_lies_near_lins_error(drawn):
    # Lin's is for normal scores
    own = alone(drawn("score").values[:, :2])
    found, lin = (
        coefficients_with_wilson_limits(own, concordance_correlation, 0.95),
        concordance_with_lin_limits(own, 0.95),
    )
    assert found.std_error[0] == pytest.approx(lin.std_error[0], rel=0.35)
    assert found.conf_low[0] < found.estimate[0] < found.conf_high[0]


def test_repeats_of_a_case_are_left_out_together(drawn):
    own = alone(drawn("score").values[:, :2])
    twice = RaterReadings(np.repeat(own.values, 2, axis=0), np.repeat(own.cases, 2), np.repeat(own.units, 2))
    once_found, twice_found = (
        coefficients_with_wilson_limits(r, concordance_correlation, 0.95) for r in (own, twice)
    )
    for name in ("estimate", "std_error", "conf_low", "conf_high", "p_value"):
        np.testing.assert_allclose(getattr(twice_found, name), getattr(once_found, name), rtol=1e-9)


def test_one_for_the_same_readings_and_lower_for_shifted_ones(drawn):
    values = drawn("score").values[:, 0]
    places = np.arange(len(values))
    same = RaterReadings(np.column_stack([values, values]), places, places)
    assert concordance_correlation(same, equal_row_weights(same))[0, 0] == pytest.approx(1, abs=ROUNDING)
    shifted = RaterReadings(np.column_stack([values, values + values.std()]), places, places)
    # 2 s² / (2 s² + s²)
    assert concordance_correlation(shifted, equal_row_weights(shifted))[0, 0] == pytest.approx(
        2 / 3, abs=ROUNDING
    )
