"""RaterReadings, and coefficients without each unit."""

import numpy as np
from scipy import sparse

from salstats.stats.agreement.readings import LeaveOneOutWeights


def test_left_out_units_are_the_same_in_products_and_written_out():
    rng = np.random.default_rng(5)
    units = np.array([0, 0, 1, 2, 2, 2, 3])
    weights = LeaveOneOutWeights(units, np.array([1, 3]))
    written = np.asarray(weights)
    np.testing.assert_array_equal(written, [[1, 1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]])
    for features in (rng.random(7), rng.random((7, 3)), sparse.csr_array(np.eye(7))):
        expected = written @ (features.toarray() if sparse.issparse(features) else features)
        np.testing.assert_allclose(weights @ features, expected, rtol=1e-12, atol=1e-12)
