"""Pilots moved to a planned effect, and the studies that are drawn from them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from salstats.errors import Call, Message, Setting, ValueRangeError
from salstats.metrics.registry import registered_metric
from salstats.stats.engine.resampling_units import Units
from salstats.stats.planning.pilots import Pilot

#: Hint for pilots that nothing can be planned from.
GIVE_PARAMETERS = Message("give parameters, as in ", Call("power", ("{'sd_difference': 0.2}", "...")))
#: Share of the differences that may lie beyond the metric's range after the move.
_MOST_BEYOND_RANGE = 0.05
#: Size of rounding errors.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MovedPilot:
    """A pilot whose method is moved to a planned effect; its units are drawn with equal chances.

    Scores other than 0/1 are moved themselves. 0/1 scores stay as they are in `pilot`, and each study flips
    some of them at random.
    """

    pilot: Pilot
    #: (n_pairs,): Chance that a 0/1 score of the method is flipped; None for other scores.
    flip_chances: np.ndarray | None = None
    #: Chance that the pairs of a unit are flipped by one random number that they share; otherwise each pair
    #: has its own.
    shared_score_flip_chance: float = 0.0

    @property
    def expected_method_score_of_each_pair(self) -> np.ndarray:
        """Expected score of the method in each pair."""
        scores = self.pilot.method_scores
        if self.flip_chances is None:
            return scores
        # A flip changes 0 by 1, and 1 by -1.
        expected_scores: np.ndarray = scores + self.flip_chances * (1 - 2 * scores)
        return expected_scores

    @property
    def score_variance_of_each_pair_by_flips(self) -> np.ndarray:
        """Variance (n_pairs,) of the method's score that random flips cause, 0 without flips."""
        if self.flip_chances is None:
            return np.zeros_like(self.pilot.method_scores)
        variance: np.ndarray = self.flip_chances * (1 - self.flip_chances)
        return variance

    @property
    def flip_covariance_sum_of_each_unit(self) -> np.ndarray:
        """Sum over each unit of the covariances of the method's scores in two pairs, shape (n_units,).

        Two pairs that share the random number have correlation 1: covariance sd_i sd_j. Over all pairs i != j
        of a unit these sum to (sum of sd)² - sum of sd².
        """
        variance = self.score_variance_of_each_pair_by_flips
        squared_sum_of_sd = self.pilot.unit_sums_of_complete_pairs(np.sqrt(variance)) ** 2
        sum_of_variances = self.pilot.unit_sums_of_complete_pairs(variance)
        return np.asarray(self.shared_score_flip_chance * (squared_sum_of_sd - sum_of_variances))

    def method_and_reference_means(self) -> tuple[float, float]:
        """Mean scores of the method and of the reference."""
        complete = self.pilot.is_complete_pair
        method_mean = self.expected_method_score_of_each_pair[complete].mean()
        reference_mean = self.pilot.reference_scores[complete].mean()
        return float(method_mean), float(reference_mean)


def move_pilot(pilot: Pilot, term: str, effect: float, metric: str) -> MovedPilot:
    """Move the scores of a pilot's method to a planned effect.

    Every score of the method is moved alike, so that the differences from the reference keep their spread,
    and those of one unit their correlation. 0/1 scores stay 0 or 1: some of the method's hits turn into
    misses, or misses into hits, each with the same chance, and those of one unit together as often as keeps
    the design effect of the pilot's differences.

    Differences are also spread a little more about their mean, by the root of n/(n - 1): units drawn from a
    sample vary less than those that the sample was drawn from.

    Raises
    ------
    ValueRangeError
        The effect would move the method out of the metric's range.
    """
    _, reference_mean = pilot.method_and_reference_means()
    slope, intercept = slope_and_intercept_of_method_on_reference(term, effect)
    target_mean = slope * reference_mean + intercept
    _check_effect_is_possible(pilot, term, effect, metric, target_mean)
    if pilot.is_binary:
        moved = MovedPilot(pilot, _flip_probabilities_of_pairs(pilot, target_mean))
        return replace(moved, shared_score_flip_chance=_chance_that_unit_flips_scores_together(moved))
    fitted = slope * pilot.reference_scores + intercept
    residual = pilot.method_scores - fitted
    residual = residual - residual[pilot.is_complete_pair].mean()
    inflation = np.sqrt(pilot.n_units / (pilot.n_units - 1))
    return MovedPilot(replace(pilot, method_scores=fitted + inflation * residual))


def slope_and_intercept_of_method_on_reference(term: str, effect: float) -> tuple[float, float]:
    """Slope and intercept of the line that gives the method's mean from the reference's mean.

    For a difference d it is reference + d, for a decrease of p percent (1 - p / 100) reference.
    """
    if term == "difference":
        return 1.0, effect
    return 1 - effect / 100, 0.0


def _flip_probabilities_of_pairs(pilot: Pilot, target_mean: float) -> np.ndarray:
    """Chance (n_pairs,) that each 0/1 score of the method is flipped, so that their mean is the target."""
    method_mean, _ = pilot.method_and_reference_means()
    if target_mean < method_mean:
        return np.where(pilot.method_scores == 1, (method_mean - target_mean) / method_mean, 0.0)
    if target_mean > method_mean:
        return np.where(pilot.method_scores == 0, (target_mean - method_mean) / (1 - method_mean), 0.0)
    return np.zeros_like(pilot.method_scores)


def _chance_that_unit_flips_scores_together(moved: MovedPilot) -> float:
    """Chance of a shared flip that gives the moved differences the design effect of the pilot's, from 0 to 1.

    A design effect is the sum of squared sums of units over the sum of squares of pairs. The moved one is
    linear in the chance c, which solves independent + c shared = design effect * sum of squares of pairs.
    """
    pilot = moved.pilot
    difference = pilot.method_scores - pilot.reference_scores
    difference = difference - difference[pilot.is_complete_pair].mean()
    squared_unit_sums = (pilot.unit_sums_of_complete_pairs(difference) ** 2).sum()
    squares_of_pairs = pilot.unit_sums_of_complete_pairs(difference**2).sum()
    design_effect = squared_unit_sums / max(squares_of_pairs, _ROUNDING)
    # A moved score varies about its expected value, so the expected square of a difference is the square of
    # the expected difference plus the variance of the flip.
    moved_difference = moved.expected_method_score_of_each_pair - pilot.reference_scores
    moved_difference = moved_difference - moved_difference[pilot.is_complete_pair].mean()
    moved_squares_of_pairs = pilot.unit_sums_of_complete_pairs(
        moved_difference**2 + moved.score_variance_of_each_pair_by_flips
    ).sum()
    independent = (
        pilot.unit_sums_of_complete_pairs(moved_difference) ** 2
        + pilot.unit_sums_of_complete_pairs(moved.score_variance_of_each_pair_by_flips)
    ).sum()
    shared = replace(moved, shared_score_flip_chance=1.0).flip_covariance_sum_of_each_unit.sum()
    if shared <= 0:
        return 0.0
    chance = (design_effect * moved_squares_of_pairs - independent) / shared
    return float(np.clip(chance, 0, 1))


def _check_effect_is_possible(
    pilot: Pilot, term: str, effect: float, metric: str, target_mean: float
) -> None:
    """Raise if no method could have the effect, because its scores would leave the metric's range."""
    low = -np.inf
    high = np.inf
    record = registered_metric(metric)
    if pilot.is_binary:
        low = 0.0
        high = 1.0
    elif record is not None:
        low = record.low
        high = record.high
    method_mean, reference_mean = pilot.method_and_reference_means()
    if not low - _ROUNDING <= target_mean <= high + _ROUNDING:
        raise ValueRangeError(
            Setting("effect", effect),
            f" would give the method a mean {metric} of {target_mean:.4g} beside the reference's "
            f"{reference_mean:.4g}, outside {low:g} ... {high:g}",
            hint="give an effect nearer to 0",
        )
    if pilot.is_binary:
        return
    difference = (pilot.method_scores - pilot.reference_scores)[pilot.is_complete_pair]
    moved_difference = difference + target_mean - method_mean
    # Two scores of the metric differ by high - low at most.
    is_beyond = np.abs(moved_difference) > high - low + _ROUNDING
    share_beyond = float(is_beyond.mean())
    if share_beyond > _MOST_BEYOND_RANGE:
        raise ValueRangeError(
            Setting("effect", effect),
            f" is so far from the pilot's own, {pilot.effect(term):.4g}, that {share_beyond:.0%} of its "
            f"differences in {metric} would lie beyond what is possible",
            hint=Message(GIVE_PARAMETERS, ", or scores from ", Call("simulate_scores"), " as the pilot"),
        )


@dataclass(frozen=True)
class DrawnPairs:
    """Pairs of scores of several studies that are drawn from a moved pilot."""

    #: (n_pairs,): Scores of the method.
    method_scores: np.ndarray
    #: (n_pairs,): Scores of the reference.
    reference_scores: np.ndarray
    #: Unit of each pair within its study; a unit that is drawn several times counts as several units.
    units: Units
    #: (n_pairs,): Study of each pair, from 0.
    studies: NDArray[np.integer]


@dataclass(frozen=True)
class StudySampler:
    """Sampler of studies of one size, which draws their units from a moved pilot.

    Study i has a random stream of its own, whose numbers choose the units: a larger study contains the
    smaller one, and studies of other effects have the same units, so that curves are smooth.
    """

    moved: MovedPilot
    #: Number of units of each study.
    n_units: int
    seed: int

    @property
    def mean_n_scores(self) -> float:
        """Mean number of scores of a study, two for each pair."""
        return float(2 * self.n_units * self.moved.pilot.unit_sizes.mean())

    def draw_units(self, studies: range) -> NDArray[np.integer]:
        """Positions of the pilot's units that are drawn for some studies, shape (n_studies, n_units)."""
        numbers = [np.random.default_rng((self.seed, study)).random(self.n_units) for study in studies]
        return (np.stack(numbers) * self.moved.pilot.n_units).astype(np.int64)

    def draw_pairs(self, studies: range) -> DrawnPairs:
        """Return the pairs of some studies, all pairs of each drawn unit."""
        pilot = self.moved.pilot
        drawn_units = self.draw_units(studies).ravel()
        sizes = pilot.unit_sizes[drawn_units]
        # Drawn unit of each pair, as its position in `drawn_units`, and the pair's position in its unit
        draw_of_pair = np.arange(len(drawn_units)).repeat(sizes)
        first_pairs = np.cumsum(sizes) - sizes
        position_in_unit = np.arange(len(draw_of_pair)) - first_pairs[draw_of_pair]
        rows = pilot.first_pairs[drawn_units[draw_of_pair]] + position_in_unit
        study_of_pair, unit_of_pair = np.divmod(draw_of_pair, self.n_units)
        method_scores = pilot.method_scores[rows]
        flip_chances = self.moved.flip_chances
        if flip_chances is not None:
            uniform_numbers = self._uniforms_deciding_score_flips_by_unit_and_pair(studies)
            is_flipped = uniform_numbers[draw_of_pair, position_in_unit] < flip_chances[rows]
            method_scores = np.where(is_flipped, 1 - method_scores, method_scores)
        return DrawnPairs(
            method_scores=method_scores,
            reference_scores=pilot.reference_scores[rows],
            units=Units("unit", unit_of_pair, self.n_units),
            studies=study_of_pair,
        )

    def _uniforms_deciding_score_flips_by_unit_and_pair(self, studies: range) -> np.ndarray:
        """Uniform random numbers that decide which pairs are flipped, shape (n_drawn_units, largest unit).

        The pairs of a unit have equal numbers where they are flipped together.
        """
        # Columns: the number that the unit's pairs may share, the number that decides whether they share it,
        # and a number for each pair.
        shape = (self.n_units, self.moved.pilot.unit_sizes.max() + 2)
        # The 1 in the seed makes these streams different from those that draw the units.
        streams = [np.random.default_rng((self.seed, study, 1)).random(shape) for study in studies]
        numbers = np.concatenate(streams)
        shared_number = numbers[:, :1]
        is_shared = numbers[:, 1:2] < self.moved.shared_score_flip_chance
        return np.where(is_shared, shared_number, numbers[:, 2:])
