"""Sizes of a study at which simulated power reaches its target."""

from functools import partial

import numpy as np
import pytest
from scipy import special
from statsmodels.stats.power import TTestPower
from tests_support import raises

from salstats.errors import Setting, ValueRangeError
from salstats.stats.planning import curves
from salstats.stats.planning.curves import (
    Curve,
    SimulationOptions,
    StudySize,
    rows_by_simulation,
    rows_with_n_needed_by_formula,
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
    # The size that just reaches the target is enough, and no more than it is needed.
    assert units_at_target_power(units, np.array([50, 80]), 100, 0.8) == 100
    # none and all of 10 studies are as far from one half as each other
    assert units_at_target_power(units, np.array([0, 10]), 10, 0.5) == int(np.ceil(7.5**2))


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


def curve_of_differences(**options):
    """Differences of 0.1 with a standard deviation of 0.2, of units of two cases."""
    precision = partial(precision_of_units, 0.2)
    defaults = {"keys": {}, "plan": Plan("difference", 0.95), "tested_effect": 0.1, "cases_per_unit": 2.0}
    return Curve(precision=precision, tested_precision=precision, **(defaults | options))


def units_of_a_t_test(effect, power):
    """The fewest units with a power, by statsmodels."""
    return int(np.ceil(TTestPower().solve_power(effect, power=power, alpha=0.05)))


def test_power_by_formula_is_that_of_a_t_test_of_as_many_units():
    curve = curve_of_differences()
    # the effect in standard deviations, which are twice as large with an error ratio of 2
    assert curve.power(30) == pytest.approx(TTestPower().power(0.1 / 0.2, 30, 0.05), rel=1e-6)
    assert curve.power(30, error_ratio=2) == pytest.approx(TTestPower().power(0.1 / 0.4, 30, 0.05), rel=1e-6)


def test_sizes_by_formula_are_those_of_t_tests_at_the_limits_of_the_spread():
    curve = curve_of_differences(error_limit_ratios=(0.8, 1.5))
    assert curve.units_needed(0.9) == units_of_a_t_test(0.1 / 0.2, 0.9)
    assert curve_of_differences(tested_effect=0.0).units_needed(0.9) is None
    (row,) = rows_with_n_needed_by_formula(curve, [StudySize(60, 30)], 0.9)
    assert row["power"] == pytest.approx(TTestPower().power(0.1 / 0.2, 30, 0.05), rel=1e-6)
    sizes = [2 * units_of_a_t_test(0.1 / (ratio * 0.2), 0.9) for ratio in (1, 0.8, 1.5)]
    assert [row["n_needed"], row["n_low"], row["n_high"]] == sizes


@pytest.mark.parametrize("first", [0, 400])
def test_limits_of_a_simulated_size_are_those_of_the_formula_in_proportion(monkeypatch, first):
    shared = {"width": 0.3, "n_pairs": 20.0, "interval": "t", "test": "none"}
    counts = {36: StudyCounts(first, **shared), 81: StudyCounts(400, **shared)}
    monkeypatch.setattr(curves, "simulate_studies", lambda *args, **kwargs: counts)
    curve = curve_of_differences(error_limit_ratios=(0.8, 1.5), sampler=lambda n_units: None)
    simulation = SimulationOptions(n_studies=400, jobs=None, progress=False)
    row = rows_by_simulation(curve, [StudySize(72, 36), StudySize(162, 81)], 0.5, simulation)[0]
    n_units, by_formula = 36, units_of_a_t_test(0.1 / 0.2, 0.5)
    ratio = 1.0
    if first == 0:
        # half way between the roots 6 and 9; the smallest size says only that no more are needed
        n_units = int(np.ceil(7.5**2))
        ratio = n_units / by_formula
    limits = [2 * np.ceil(ratio * units_of_a_t_test(0.1 / (error * 0.2), 0.5)) for error in (0.8, 1.5)]
    assert [row["n_needed"], row["n_low"], row["n_high"]] == [2 * n_units, *limits]


def test_sizes_are_of_two_units_or_more_and_by_default_around_the_size_needed():
    curve = curve_of_differences()
    assert curve.given_sizes_or_several_around_needed([4, 10], 0.9) == [StudySize(4, 2), StudySize(10, 5)]
    with raises(ValueRangeError, option="n_cases", value=2, hint=Setting("n_cases", 4)):
        curve.given_sizes_or_several_around_needed([2, 10], 0.9)
    with raises(ValueRangeError, option="target", value=0.9):
        curve_of_differences(tested_effect=0.0).given_sizes_or_several_around_needed(None, 0.9)
    sizes = curve.given_sizes_or_several_around_needed(None, 0.9)
    needed = units_of_a_t_test(0.1 / 0.2, 0.9)
    assert needed in [size.n_units for size in sizes]
    assert sizes[0].n_units < needed < sizes[-1].n_units
    # Sizes reach to less than half and to less than twice the size needed, without wide steps between them.
    numbers = np.array([size.n_units for size in sizes])
    assert len(numbers) == 8
    assert 0.3 * needed < numbers[0] < 0.5 * needed
    assert 1.5 * needed < numbers[-1] < 2 * needed
    assert (numbers[1:] / numbers[:-1]).max() < 1.6
    assert [size.n_cases for size in sizes] == [2 * size.n_units for size in sizes]
