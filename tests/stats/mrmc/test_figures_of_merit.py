"""Figures without each unit, and with units weighted, against their definitions written out."""

import numpy as np
import pytest
from mrmc_readings import area, readings, some_ratings

from salstats.stats.mrmc.figures_of_merit import BY_NAME

#: Both sides are sums of fewer than a thousand numbers near 1.
ROUNDING = 1e-12
UNITS = {"cases": np.arange(14), "patients": np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 6])}


def defined(name, scores, positive):
    """A figure by its definition."""
    columns = scores.T
    return [area(c, positive) if name == "auc" else np.nanmean(c) for c in columns]


@pytest.mark.parametrize("missing", [0, 6])
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("name", BY_NAME)
def test_figures_without_each_unit_are_those_of_the_other_cases(name, units, missing):
    scores, positive = some_ratings(missing=missing)
    codes = UNITS[units]
    values, without = BY_NAME[name].jackknifed_figures(readings(scores, positive, codes))
    np.testing.assert_allclose(values, defined(name, scores, positive), atol=ROUNDING)
    for unit in np.unique(codes):
        left = codes != unit
        np.testing.assert_allclose(without[unit], defined(name, scores[left], positive[left]), atol=ROUNDING)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("name", BY_NAME)
def test_weighted_figures_are_those_of_repeated_cases(name, units):
    scores, positive = some_ratings(missing=4)
    codes = UNITS[units]
    weights = np.random.default_rng(1).integers(0, 3, (5, codes.max() + 1)).astype(float)
    found = BY_NAME[name].weighted_figures(readings(scores, positive, codes), weights)
    for row, weight in zip(found, weights, strict=True):
        cases = np.repeat(np.arange(14), weight[codes].astype(int))
        np.testing.assert_allclose(row, defined(name, scores[cases], positive[cases]), atol=ROUNDING)


def test_comparisons_in_blocks_are_all_comparisons(monkeypatch):
    scores, positive = some_ratings()
    own = readings(scores, positive)
    weights = np.ones((1, 14))
    whole = BY_NAME["auc"].weighted_figures(own, weights)
    monkeypatch.setattr("salstats.stats.mrmc.figures_of_merit._BLOCK", 1)
    np.testing.assert_allclose(BY_NAME["auc"].weighted_figures(own, weights), whole, atol=ROUNDING)
