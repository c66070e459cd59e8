"""Sizes of a study at which simulated power reaches its target."""

import numpy as np
from scipy import special

from salstats.stats.planning.curves import crossing


def test_needed_units_lie_between_those_simulated():
    units, z = np.array([25, 100]), 1.0
    # quantiles -0.1587 and .8413 of a standard normal are -1 and 1: half way is power .5, at root 7.5
    shown = np.round(100_000 * special.ndtr([-z, z])).astype(int)
    assert crossing(units, shown, 100_000, 0.5) == int(np.ceil(7.5**2))
    assert crossing(units, shown, 100_000, 0.9) is None
    assert crossing(units, shown, 100_000, 0.1) == 25
