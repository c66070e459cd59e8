"""Sizes of a study at which simulated power reaches its target."""

from functools import partial

import numpy as np
import pytest
from scipy import special
from statsmodels.stats.power import TTestPower

from salstats.stats.planning import curves
from salstats.stats.planning.curves import (
    Curve,
    SimulationOptions,
    StudySize,
    rows_by_simulation,
    units_at_target_power,
)
from salstats.stats.planning.formulas import precision_of_units
from salstats.stats.planning.studies import Plan, StudyCounts


def test_needed_units_lie_between_those_simulated():
    units, z = np.array([25, 100]), 1.0
    # quantiles -0.1587 and .8413 of a standard normal are -1 and 1: half way is power .5, at root 7.5
    shown = np.round(100_000 * special.ndtr([-z, z])).astype(int)
    assert units_at_target_power(units, shown, 100_000, 0.5) == int(np.ceil(7.5**2))
    assert units_at_target_power(units, shown, 100_000, 0.9) is None
    assert units_at_target_power(units, shown, 100_000, 0.1) == 25


def test_the_error_of_simulated_power_is_that_of_a_share(monkeypatch):
    counts = {
        10: StudyCounts(n_reaching_goal=40, width=0.3, n_pairs=20.0, interval="t", test="none"),
        40: StudyCounts(n_reaching_goal=360, width=0.15, n_pairs=80.0, interval="t", test="none"),
    }
    monkeypatch.setattr(curves, "simulate_studies", lambda *args, **kwargs: counts)
    precision = partial(precision_of_units, 0.2)
    curve = Curve(
        keys={},
        plan=Plan("difference", 0.95),
        tested_effect=0.1,
        precision=precision,
        tested_precision=precision,
        cases_per_unit=2.0,
        sampler=lambda n_units: None,
    )
    sizes = [StudySize(20, 10), StudySize(80, 40)]
    rows = rows_by_simulation(curve, sizes, 0.8, SimulationOptions(n_studies=400, jobs=None, progress=False))
    assert [row["power"] for row in rows] == [0.1, 0.9]
    # sqrt(p (1 - p) / n), the same for a share and its complement
    assert [row["mc_error"] for row in rows] == pytest.approx([0.015, 0.015])
    assert [row["n_cases"] for row in rows] == [20, 80]
    assert [row["n_pairs"] for row in rows] == [20.0, 80.0]


def test_power_by_formula_is_that_of_a_t_test_of_as_many_units():
    precision = partial(precision_of_units, 0.2)
    curve = Curve(
        keys={},
        plan=Plan("difference", 0.95),
        tested_effect=0.1,
        precision=precision,
        tested_precision=precision,
    )
    # the effect in standard deviations, which are twice as large with an error ratio of 2
    assert curve.power(30) == pytest.approx(TTestPower().power(0.1 / 0.2, 30, 0.05), rel=1e-6)
    assert curve.power(30, error_ratio=2) == pytest.approx(TTestPower().power(0.1 / 0.4, 30, 0.05), rel=1e-6)
