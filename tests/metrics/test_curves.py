"""Area under insertion and deletion curves."""

import numpy as np
import pytest

from salstats.metrics.curves import area_under_curve
from salstats.metrics.registry import METRICS


def test_the_area_is_that_of_trapezoids_over_the_shares():
    assert area_under_curve([0, 1, 1], [0, 0.5, 1]) == 0.75
    # steps of unequal width count by their width
    assert area_under_curve([0, 1, 1], [0, 0.2, 1]) == pytest.approx(0.9, rel=1e-15)


def test_an_unknown_probability_leaves_no_area():
    assert np.isnan(area_under_curve([0, np.nan, 1], [0, 0.5, 1]))


def test_a_good_map_has_a_large_insertion_and_a_small_deletion():
    assert METRICS["insertion"].direction == 1
    assert METRICS["deletion"].direction == -1
    for name in ("insertion", "deletion"):
        metric = METRICS[name]
        assert metric.kernel is area_under_curve
        # a probability that is 0, or 1, all along
        bounds = [area_under_curve([prob, prob], [0, 1]) for prob in (0, 1)]
        assert [metric.low, metric.high] == bounds
        assert metric.true_zero
