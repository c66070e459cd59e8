import numpy as np
import pytest
from scipy import optimize

from salstats.checks import SalstatsError
from salstats.stats.planning.pilots import Draw, Pilot, effective_units, tilt, tilted


@pytest.fixture
def clustered():
    """Twelve units of one to three pairs, two of them undefined on one side."""
    rng = np.random.default_rng(5)
    units = np.repeat(np.arange(12), rng.integers(1, 4, 12))
    own, other = rng.normal(0.3, 0.1, len(units)), rng.normal(0.32, 0.1, len(units))
    own[3], other[8] = np.nan, np.nan
    return Pilot.of(own, other, units, np.arange(len(units))), own, other, units


def test_chances_are_the_closest_to_equal_ones_with_that_mean():
    # by the definition: least Kullback-Leibler distance from equal chances, under the constraint
    parts = np.array([-0.4, -0.1, 0.0, 0.2, 0.9])

    def distance(p):
        return float((p * np.log(p * len(p))).sum())

    constraints = [
        {"type": "eq", "fun": lambda p: p.sum() - 1},
        {"type": "eq", "fun": lambda p: p @ parts},
    ]
    found = optimize.minimize(
        distance, np.full(5, 0.2), bounds=[(1e-9, 1)] * 5, constraints=constraints, options={"ftol": 1e-14}
    )
    np.testing.assert_allclose(tilt(parts), found.x, atol=1e-6)


def test_chances_of_discordant_pairs_by_hand():
    # 3 pairs where only the method hits, 1 where only the reference does, 6 alike: no difference makes both
    # kinds sqrt(3) to 6 of the others
    parts = np.repeat([1.0, -1.0, 0.0], [3, 1, 6])
    chances = tilt(parts)
    each = np.sqrt(3) / (6 + 2 * np.sqrt(3))
    np.testing.assert_allclose([chances[:3].sum(), chances[3], chances[4:].sum()], [each, each, 1 - 2 * each])


def test_normal_parts_are_shifted_and_keep_their_variance():
    parts = np.random.default_rng(0).normal(0.5, 1.0, 200_000)
    chances = tilt(parts)
    assert chances @ parts == pytest.approx(0, abs=1e-9)
    assert chances @ parts**2 == pytest.approx(1.0, abs=0.02)
    # n exp(-(mean/SD)^2) of them
    assert effective_units(chances) == pytest.approx(200_000 * np.exp(-0.25), rel=0.02)


def test_parts_on_one_side_have_no_chances():
    assert np.isnan(tilt(np.array([0.1, 0.2, 0.0]))).all()
    np.testing.assert_array_equal(tilt(np.zeros(4)), 0.25)


@pytest.mark.parametrize(("term", "effect"), [("difference", -0.05), ("percent_decrease", 12.0)])
def test_units_drawn_with_their_chances_have_the_effect(clustered, term, effect):
    pilot, own, other, units = clustered
    _, chances = tilted(pilot, term, effect)
    known = ~np.isnan(own - other)
    weights = chances[units] * known
    own_mean, other_mean = (np.nansum(weights * side) / weights.sum() for side in (own, other))
    has = own_mean - other_mean if term == "difference" else 100 * (1 - own_mean / other_mean)
    assert has == pytest.approx(effect, abs=1e-8)
    np.testing.assert_allclose(pilot.means(chances), [own_mean, other_mean])


def test_an_effect_beyond_all_units_is_refused(clustered):
    with pytest.raises(SalstatsError, match="lies beyond what the units of the pilot show, whose own is"):
        tilted(clustered[0], "difference", 2.0)


def test_spread_is_that_of_clustered_means(clustered):
    # G/(G-1) times the sum of squares of the units' residuals, over the number of pairs, times root G
    pilot, own, other, units = clustered
    gaps = own - other
    known = ~np.isnan(gaps)
    residuals = np.bincount(units[known], gaps[known] - gaps[known].mean(), minlength=12)
    expected = np.sqrt(12 / 11 * (residuals**2).sum()) / known.sum() * np.sqrt(12)
    equal = np.full(12, 1 / 12)
    assert pilot.spread("difference", pilot.effect("difference"), equal) == pytest.approx(expected)


def test_spread_of_independent_units_is_their_sd():
    own = np.random.default_rng(2).normal(size=30)
    pilot = Pilot.of(own, np.zeros(30), np.arange(30), np.arange(30))
    found = pilot.spread("difference", own.mean(), np.full(30, 1 / 30))
    assert found == pytest.approx(own.std(ddof=1))


def test_a_larger_study_holds_the_smaller(clustered):
    pilot = clustered[0]
    parts, chances = tilted(pilot, "difference", -0.05)
    small, large = (Draw.of(pilot, parts, chances, n, 3).units(range(2, 6)) for n in (5, 9))
    np.testing.assert_array_equal(small, large[:, :5])
    # and the studies are the same whatever block they are drawn in
    np.testing.assert_array_equal(small[1:3], Draw.of(pilot, parts, chances, 5, 3).units(range(3, 5)))


def test_units_are_drawn_with_their_chances(clustered):
    pilot = clustered[0]
    parts, chances = tilted(pilot, "difference", -0.1)
    drawn = Draw.of(pilot, parts, chances, 500, 1).units(range(100))
    shares = np.bincount(drawn.ravel(), minlength=12) / drawn.size
    # four standard errors of the largest share
    np.testing.assert_allclose(shares, chances, atol=4 * np.sqrt(0.25 / drawn.size))


def test_a_unit_brings_all_its_pairs(clustered):
    pilot, own, other, units = clustered
    draw = Draw.of(pilot, np.arange(12.0), np.full(12, 1 / 12), 4, 9)
    own_drawn, other_drawn, of_unit, study = draw.pairs(range(5, 7))
    assert list(np.unique(study)) == [0, 1]
    for number, chosen in enumerate(draw.units(range(5, 7))):
        for place, unit in enumerate(chosen):
            there = (study == number) & (of_unit.codes == place)
            np.testing.assert_array_equal(own_drawn[there], own[units == unit])
            np.testing.assert_array_equal(other_drawn[there], other[units == unit])
