import numpy as np
import pytest
from scipy import stats
from stats.planning.test_populations import clustered, clustered_hits
from statsmodels.stats.proportion import proportion_confint

from salstats.stats.planning.pilots import Pilot
from salstats.stats.planning.populations import StudySampler, move_pilot
from salstats.stats.planning.spreads import (
    df_of_sample_variance,
    limits_of_true_to_estimated_error,
    sd_of_unit_contributions_to_estimate,
)


def test_spread_of_independent_units_is_their_sd_whatever_the_effect():
    own = np.random.default_rng(2).normal(size=30)
    pilot = Pilot.from_pairs(own, np.zeros(30), np.arange(30), np.arange(30))
    for effect in (-0.5, 0.0, 2.0):
        population = move_pilot(pilot, "difference", effect, "gap")
        assert sd_of_unit_contributions_to_estimate(population, "difference", effect).sd == pytest.approx(
            own.std(ddof=1)
        )


def test_spread_is_that_of_clustered_means():
    # G/(G-1) times the sum of squares of the units' residuals, over the number of pairs, times root G
    pilot = clustered()
    gaps = pilot.method_scores - pilot.reference_scores
    known = ~np.isnan(gaps)
    units = np.arange(12).repeat(pilot.unit_sizes)
    residuals = np.bincount(units[known], gaps[known] - gaps[known].mean(), minlength=12)
    expected = np.sqrt(12 / 11 * (residuals**2).sum()) / known.sum() * np.sqrt(12)
    population = move_pilot(pilot, "difference", -0.05, "iou")
    assert sd_of_unit_contributions_to_estimate(population, "difference", -0.05).sd == pytest.approx(expected)


@pytest.mark.parametrize(("term", "effect"), [("difference", -0.1), ("percent_decrease", 12.0)])
def test_spread_is_that_of_the_studies_that_are_drawn(term, effect):
    hits = clustered_hits()
    for pilot, metric in ((hits, "hit"), (clustered(60), "iou")):
        population = move_pilot(pilot, term, effect, metric)
        pairs = StudySampler(population, 400, 7).draw_pairs(range(2000))
        own, other = pairs.method_scores, pairs.reference_scores
        known = ~np.isnan(own - other)
        own_sum, other_sum, n = (
            np.bincount(pairs.studies[known], values)
            for values in (own[known], other[known], np.ones(known.sum()))
        )
        estimate = (own_sum - other_sum) / n if term == "difference" else 100 * (1 - own_sum / other_sum)
        # an SD of 2000 is good to 1.6 %
        assert sd_of_unit_contributions_to_estimate(population, term, effect).sd == pytest.approx(
            estimate.std() * 20, rel=0.05
        )


def test_limits_of_an_sd_are_those_of_tables():
    # chi-squared of 19 degrees of freedom: 8.907 and 32.852
    np.testing.assert_allclose(
        limits_of_true_to_estimated_error(19), np.sqrt(19 / np.array([32.852, 8.907])), rtol=1e-4
    )


def test_long_tails_take_degrees_of_freedom():
    rng = np.random.default_rng(3)
    assert df_of_sample_variance(rng.normal(scale=0.1, size=4000)) == pytest.approx(3999, rel=0.15)
    # excess kurtosis of the Laplace distribution is 3: 2n / (2 + 3)
    assert df_of_sample_variance(rng.laplace(scale=0.1, size=400_000)) == pytest.approx(160_000, rel=0.05)
    assert df_of_sample_variance(np.full(9, 0.3)) == 8
    # short tails count as normal
    assert df_of_sample_variance(rng.uniform(size=50)) == pytest.approx(49)


def test_limits_of_the_sd_hold_it():
    rng = np.random.default_rng(4)
    held = []
    for _ in range(1000):
        sample = rng.beta(5, 3, 20) - rng.beta(2, 3, 20)
        low, high = limits_of_true_to_estimated_error(df_of_sample_variance(sample))
        sd = np.sqrt(15 / (64 * 9) + 6 / (25 * 6))
        held.append(low * sample.std(ddof=1) <= sd <= high * sample.std(ddof=1))
    assert np.mean(held) >= 0.93


def test_hits_that_all_differ_equally_have_no_spread():
    same = np.repeat([1.0, 0.0], [30, 10])
    pilot = Pilot.from_pairs(same, same, np.arange(40), np.arange(40))
    assert (
        sd_of_unit_contributions_to_estimate(
            move_pilot(pilot, "difference", 0.0, "hit"), "difference", 0.0
        ).sd
        == 0
    )


def test_limits_of_hits_are_wilsons_of_the_discordant_pairs():
    # 8 of 40 pairs discordant: Wilson's limits .1050 and .3478 of their share
    own = np.repeat([1.0, 0.0, 1.0], [4, 4, 32])
    other = np.repeat([0.0, 1.0, 1.0], [4, 4, 32])
    pilot = Pilot.from_pairs(own, other, np.arange(40), np.arange(40))
    spread = sd_of_unit_contributions_to_estimate(
        move_pilot(pilot, "difference", 0.0, "hit"), "difference", 0.0
    )
    assert spread.sd == pytest.approx(np.sqrt(0.2))
    np.testing.assert_allclose(spread.limit_ratios, np.sqrt(np.array([0.1050, 0.3478]) / 0.2), rtol=1e-3)
    # few discordant pairs tell little: 2 n share / (1 - share)
    assert spread.df == pytest.approx(20)


def spread_of_hits(method_only, reference_only, both):
    """Spread of the pilot's own difference of hits, from the numbers of pairs in which one or both hit."""
    method_scores = np.repeat([1.0, 0.0, 1.0], [method_only, reference_only, both])
    reference_scores = np.repeat([0.0, 1.0, 1.0], [method_only, reference_only, both])
    n = len(method_scores)
    pilot = Pilot.from_pairs(method_scores, reference_scores, np.arange(n), np.arange(n))
    effect = (method_only - reference_only) / n
    return sd_of_unit_contributions_to_estimate(
        move_pilot(pilot, "difference", effect, "hit"), "difference", effect
    )


def test_limits_of_a_difference_of_hits_take_its_square_from_the_share_of_discordant_pairs():
    # 12 and 4 of 40 pairs: share 0.4, difference 0.2
    low, high = proportion_confint(16, 40, alpha=0.05, method="wilson")
    expected = np.sqrt((np.array([low, high]) - 0.04) / (0.4 - 0.04))
    np.testing.assert_allclose(spread_of_hits(12, 4, 24).limit_ratios, expected)
    # With all discordant pairs on one side their share cannot be smaller than the difference, here 0.25.
    _, high = proportion_confint(10, 40, alpha=0.05, method="wilson")
    expected = [1.0, np.sqrt((high - 0.0625) / (0.25 - 0.0625))]
    np.testing.assert_allclose(spread_of_hits(10, 0, 30).limit_ratios, expected)


def test_hits_that_are_all_discordant_have_the_degrees_of_freedom_of_their_number():
    assert spread_of_hits(20, 20, 0).df == 39
    # 2 n share / (1 - share)
    assert spread_of_hits(8, 2, 30).df == pytest.approx(2 * 40 * 0.25 / 0.75)


def test_limits_of_hits_of_several_cases_per_unit_are_those_of_the_sums_of_units():
    pilot = clustered_hits()
    population = move_pilot(pilot, "difference", -0.1, "hit")
    spread = sd_of_unit_contributions_to_estimate(population, "difference", -0.1)
    residual = population.expected_method_score_of_each_pair - pilot.reference_scores + 0.1
    sums = residual.reshape(-1, 4).sum(axis=1)
    df = 2 / (2 / 79 + max(stats.kurtosis(sums), 0) / 80)
    assert spread.df == pytest.approx(df)
    expected = np.sqrt(df / stats.chi2.ppf([0.975, 0.025], df))
    np.testing.assert_allclose(spread.limit_ratios, expected)
