"""F tests with Satterthwaite's degrees of freedom."""

import numpy as np

from salstats.stats.models.mixed.linear_mixed_model import fit_mixed
from salstats.stats.models.mixed.satterthwaite import satterthwaite_f


def test_combinations_that_repeat_others_add_nothing(slopes):
    matrix, response, terms = slopes
    found = fit_mixed(np.column_stack([matrix, np.sin(response)]), response, terms)
    once, twice = np.eye(3)[1:], np.array([[0, 1.0, 0], [0, 0, 1.0], [0, 1.0, -1.0]])
    # but to the choice of the uncorrelated ones, by which the degrees of freedom are
    np.testing.assert_allclose(
        satterthwaite_f(found, twice)[:2], satterthwaite_f(found, once)[:2], rtol=1e-10
    )
    assert np.isnan(satterthwaite_f(found, np.zeros((1, 3))).statistic)
