import numpy as np
import pytest
from agreement_readings import alone

from salstats.stats.agreement.krippendorff import SCALES, krippendorff_alpha
from salstats.stats.agreement.readings import equal_row_weights

ROUNDING = 1e-12


def test_alpha_is_that_of_its_definition_and_of_irr_with_gaps(r_data, r_expected):
    # of irr 0.84.1 only results with gaps are right: without, it has a wrong weight
    sets, expected = r_data("kripp_sets"), r_expected("krippendorff")
    for row in expected.itertuples():
        values = sets[sets["set"] == row.set].pivot(index="unit", columns="rater", values="value")
        own = alone(values)
        found = krippendorff_alpha(own, equal_row_weights(own), row.metric)[0, 0]
        assert found == pytest.approx(row.hand_alpha, abs=ROUNDING), (row.set, row.metric)
        if row.any_na:
            assert found == pytest.approx(row.irr_alpha, abs=ROUNDING), (row.set, row.metric)
    assert set(expected["metric"]) == set(SCALES)


def test_krippendorffs_example_as_printed(r_data):
    sets = r_data("kripp_sets")
    own = alone(sets[sets["set"] == "kripp_example"].pivot(index="unit", columns="rater", values="value"))
    printed = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    for scale, value in printed.items():
        assert round(krippendorff_alpha(own, equal_row_weights(own), scale)[0, 0], 3) == value


def test_left_out_rows_are_as_if_they_were_not_there(drawn):
    values = drawn("rating").values.copy()
    values[::7, 1] = np.nan
    own, rest = alone(values), alone(values[5:])
    weights = np.ones((1, len(values)))
    weights[0, :5] = 0
    for scale in SCALES:
        expected = krippendorff_alpha(rest, equal_row_weights(rest), scale)
        np.testing.assert_allclose(krippendorff_alpha(own, weights, scale), expected, rtol=1e-11)


def test_undefined_where_all_readings_are_equal():
    own = alone(np.full((4, 3), 0.7))
    for scale in SCALES:
        assert np.isnan(krippendorff_alpha(own, equal_row_weights(own), scale)[0, 0]), scale
