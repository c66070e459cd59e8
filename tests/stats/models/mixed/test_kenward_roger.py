"""Kenward and Roger's tests."""

import numpy as np
import pytest

from salstats.errors import SalstatsError
from salstats.stats.models.mixed.kenward_roger import kenward_roger
from salstats.stats.models.mixed.linear_mixed_model import fit_mixed


def test_kenward_and_rogers_tests_of_maximum_likelihood_are_refused(slopes):
    with pytest.raises(SalstatsError, match="REML"):
        kenward_roger(fit_mixed(*slopes, reml=False), np.eye(2))
