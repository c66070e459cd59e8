import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.stats.planning.pilots import Pilot
from salstats.stats.planning.populations import MovedPilot, StudySampler, move_pilot


def clustered(n_units=12, seed=5):
    """A pilot with units of one to three pairs, two of them undefined on one side."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n_units), rng.integers(1, 4, n_units))
    own, other = rng.normal(0.3, 0.1, len(units)), rng.normal(0.32, 0.1, len(units))
    own[3], other[8] = np.nan, np.nan
    return Pilot.from_pairs(own, other, units, np.arange(len(units)))


def clustered_hits(n_units=80, size=4, seed=2):
    """A pilot of hits in .45 and .8 of the cases, those of one patient alike in a latent share of .7."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n_units), size)
    latent = np.sqrt(0.7) * rng.normal(size=(2, n_units))[:, units]
    latent += np.sqrt(0.3) * rng.normal(size=(2, len(units)))
    own, other = (latent[0] > 0.13).astype(float), (latent[1] > -0.84).astype(float)
    return Pilot.from_pairs(own, other, units, np.arange(len(units)))


@pytest.mark.parametrize(("term", "effect"), [("difference", -0.05), ("percent_decrease", 12.0)])
def test_a_population_has_the_effect(term, effect):
    own, other = move_pilot(clustered(), term, effect, "iou").method_and_reference_means()
    has = own - other if term == "difference" else 100 * (1 - own / other)
    assert has == pytest.approx(effect, abs=1e-12)
    assert other == clustered().method_and_reference_means()[1]


def test_differences_are_moved_alike_and_keep_the_pilots_sd():
    # n - 1 in the SD of the pilot, n in that of the population that is drawn from
    rng = np.random.default_rng(0)
    other = rng.uniform(0.4, 0.9, 64)
    own = other - 0.25 + 0.17 * rng.normal(size=64)
    pilot = Pilot.from_pairs(own, other, np.arange(64), np.arange(64))
    moved = move_pilot(pilot, "difference", -0.05, "iou").expected_method_score_of_each_pair - other
    assert moved.mean() == pytest.approx(-0.05)
    assert moved.std() == pytest.approx((own - other).std(ddof=1), rel=1e-12)
    # and so do those of one unit: all are the pilot's, but for the move and for n/(n - 1)
    pilot = clustered()
    before = pilot.method_scores - pilot.reference_scores
    after = (
        move_pilot(pilot, "difference", 0.1, "iou").expected_method_score_of_each_pair
        - pilot.reference_scores
    )
    expected = 0.1 + np.sqrt(12 / 11) * (before - np.nanmean(before))
    np.testing.assert_allclose(after, expected)


@pytest.mark.parametrize("effect", [-0.4, -0.1, 0.1])
def test_hits_stay_hits_and_have_the_effect(effect):
    pilot = clustered_hits()
    pairs = StudySampler(move_pilot(pilot, "difference", effect, "hit"), 80, 1).draw_pairs(range(500))
    assert set(np.unique(pairs.method_scores)) == {0.0, 1.0}
    difference = pairs.method_scores.mean() - pairs.reference_scores.mean()
    assert difference == pytest.approx(effect, abs=0.01)


def test_hits_that_turn_are_those_of_one_side():
    # 20 pairs, of which the method hits in 6: 4 misses in 14 turn into hits, and no hit into a miss
    own, other = np.repeat([1.0, 0.0], [6, 14]), np.repeat([1.0, 0.0], [10, 10])
    pilot = Pilot.from_pairs(own, other, np.arange(20), np.arange(20))
    population = move_pilot(pilot, "difference", 0.0, "hit")
    np.testing.assert_allclose(population.flip_chances, np.repeat([0.0, 4 / 14], [6, 14]))
    np.testing.assert_allclose(
        population.expected_method_score_of_each_pair, np.repeat([1.0, 4 / 14], [6, 14])
    )


def test_misses_that_turn_are_those_of_one_side():
    # 20 pairs, of which the method hits in 14: 4 of these turn into misses, and no miss into a hit
    own, other = np.repeat([1.0, 0.0], [14, 6]), np.repeat([1.0, 0.0], [10, 10])
    pilot = Pilot.from_pairs(own, other, np.arange(20), np.arange(20))
    for term, effect in (("difference", 0.0), ("percent_decrease", 0.0)):
        population = move_pilot(pilot, term, effect, "hit")
        np.testing.assert_allclose(population.flip_chances, np.repeat([4 / 14, 0.0], [14, 6]))
        np.testing.assert_allclose(
            population.expected_method_score_of_each_pair, np.repeat([10 / 14, 0.0], [14, 6])
        )
        assert population.method_and_reference_means() == pytest.approx((0.5, 0.5))


def test_hits_of_one_unit_keep_their_design_effect():
    pilot = clustered_hits()
    gap = pilot.method_scores - pilot.reference_scores
    gap = gap - gap.mean()
    expected = (pilot.unit_sums_of_complete_pairs(gap) ** 2).sum() / (gap**2).sum()
    population = move_pilot(pilot, "difference", -0.1, "hit")
    pairs = StudySampler(population, 80, 1).draw_pairs(range(1000))
    drawn = pairs.method_scores - pairs.reference_scores
    drawn = (drawn - drawn.mean()).reshape(-1, 4)
    found = (drawn.sum(axis=1) ** 2).sum() / (drawn**2).sum()
    assert 0 < population.shared_score_flip_chance < 1
    assert expected > 1.5
    assert found == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("term", "effect", "metric"),
    [("difference", 0.75, "iou"), ("percent_decrease", 110.0, "iou"), ("difference", -0.5, "dice")],
)
def test_an_effect_that_no_method_can_have_is_refused(term, effect, metric):
    with raises(ValueRangeError, option="effect", hint="give an effect nearer to 0"):
        move_pilot(clustered(), term, effect, metric)
    # of a metric that is not known no range is
    assert move_pilot(clustered(), term, effect, "my own").flip_chances is None


def test_differences_that_leave_what_is_possible_are_refused():
    # differences of -1 and .5, half and half: moved by .54 half of them are 1.04
    other = np.repeat([1.0, 0.4], 10)
    own = np.repeat([0.0, 0.9], 10)
    pilot = Pilot.from_pairs(own, other, np.arange(20), np.arange(20))
    with raises(ValueRangeError, option="effect", value=0.29):
        move_pilot(pilot, "difference", 0.29, "iou")


def test_a_larger_study_holds_the_smaller():
    for population in (
        move_pilot(clustered(), "difference", -0.05, "iou"),
        move_pilot(clustered_hits(), "difference", -0.1, "hit"),
    ):
        small, large = StudySampler(population, 5, 3), StudySampler(population, 9, 3)
        np.testing.assert_array_equal(small.draw_units(range(2, 6)), large.draw_units(range(2, 6))[:, :5])
        small_pairs, large_pairs = small.draw_pairs(range(2, 3)), large.draw_pairs(range(2, 3))
        in_small = large_pairs.units.codes < 5
        np.testing.assert_array_equal(small_pairs.method_scores, large_pairs.method_scores[in_small])
        # and the studies are the same whatever block they are drawn in
        np.testing.assert_array_equal(small.draw_units(range(2, 6))[1:3], small.draw_units(range(3, 5)))
        assert len(small_pairs.units.codes) == len(small_pairs.method_scores)


def test_units_are_drawn_with_equal_chances():
    drawn = StudySampler(MovedPilot(clustered()), 500, 1).draw_units(range(100))
    shares = np.bincount(drawn.ravel(), minlength=12) / drawn.size
    # four standard errors of a share
    np.testing.assert_allclose(shares, 1 / 12, atol=4 * np.sqrt(1 / 12 / drawn.size))


def test_a_unit_brings_all_its_pairs():
    pilot = clustered()
    sampler = StudySampler(MovedPilot(pilot), 4, 9)
    pairs = sampler.draw_pairs(range(5, 7))
    assert list(np.unique(pairs.studies)) == [0, 1]
    for number, chosen in enumerate(sampler.draw_units(range(5, 7))):
        for place, unit in enumerate(chosen):
            there = (pairs.studies == number) & (pairs.units.codes == place)
            rows = slice(pilot.first_pairs[unit], pilot.first_pairs[unit] + pilot.unit_sizes[unit])
            np.testing.assert_array_equal(pairs.method_scores[there], pilot.method_scores[rows])
            np.testing.assert_array_equal(pairs.reference_scores[there], pilot.reference_scores[rows])


def test_a_study_has_two_scores_for_each_pair_of_its_units_on_average():
    # units of 1, 2 and 3 pairs: 2 on average
    units = np.repeat([0, 1, 2], [1, 2, 3])
    own, other = np.linspace(0.2, 0.4, 6), np.linspace(0.3, 0.6, 6) ** 2
    pilot = Pilot.from_pairs(own, other, units, np.arange(6))
    moved = move_pilot(pilot, "difference", -0.05, "iou")
    assert StudySampler(moved, 7, 1).mean_n_scores == 2 * 7 * 2
