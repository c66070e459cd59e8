import numpy as np
import pytest

from salstats.stats.planning.pilots import Pilot


def test_pairs_stand_in_the_order_of_their_units_and_means_are_of_complete_ones():
    own = np.array([0.1, np.nan, 0.3, 0.4])
    other = np.array([0.2, 0.9, 0.5, 0.6])
    pilot = Pilot.from_pairs(own, other, np.array([1, 0, 1, 0]), np.array([0, 1, 1, 2]))
    np.testing.assert_array_equal(pilot.reference_scores, [0.9, 0.6, 0.2, 0.5])
    np.testing.assert_array_equal(pilot.unit_sums_of_complete_pairs(np.ones(4)), [1, 2])
    assert (pilot.n_units, pilot.n_cases, pilot.cases_per_unit) == (2, 3, 1.5)
    assert pilot.method_and_reference_means() == pytest.approx((0.8 / 3, 1.3 / 3))
    assert pilot.effect("difference") == pytest.approx(-0.5 / 3)
    assert pilot.effect("percent_decrease") == pytest.approx(100 * 0.5 / 1.3)


@pytest.mark.parametrize(("score", "binary"), [(1.0, True), (np.nan, True), (0.5, False)])
def test_hits_are_told_from_other_scores(score, binary):
    ones = np.ones(3)
    pilot = Pilot.from_pairs(np.array([0.0, 1.0, score]), ones, np.arange(3), np.arange(3))
    assert pilot.is_binary == binary
