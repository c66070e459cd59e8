"""Populations that planned studies are drawn from: a pilot whose method is moved to the effect."""

from dataclasses import dataclass, replace

import numpy as np

from salstats.errors import Call, Message, Setting, ValueRangeError
from salstats.metrics.registry import registered_metric
from salstats.stats.engine.resampling_units import Units
from salstats.stats.planning.pilots import Pilot

#: Hint for pilots that nothing can be planned from.
GIVE_PARAMETERS = Message("give parameters, as in ", Call("power", ("{'sd_difference': 0.2}", "...")))
#: Share of the differences that may lie beyond the metric's range after the move.
_MOST_BEYOND_RANGE = 0.05
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Population:
    """A pilot whose method is moved to a planned effect; its units are drawn with equal chances."""

    pilot: Pilot
    #: (n_pairs,): Chance that a 0/1 score of the method is flipped; None for other scores.
    flip: np.ndarray | None = None
    #: Chance that a unit's pairs are flipped by one shared random number and not by one of each pair.
    together: float = 0.0

    @property
    def method_scores(self) -> np.ndarray:
        """Expected score of the method in each pair."""
        scores = self.pilot.method_scores
        if self.flip is None:
            return scores
        expected_scores: np.ndarray = scores + self.flip * (1 - 2 * scores)
        return expected_scores

    @property
    def flip_variance(self) -> np.ndarray:
        """Variance of the method's score in each pair, which random flips give 0/1 scores."""
        if self.flip is None:
            return np.zeros_like(self.pilot.method_scores)
        variance: np.ndarray = self.flip * (1 - self.flip)
        return variance

    @property
    def flip_covariance(self) -> np.ndarray:
        """Sum over each unit of the covariances of the method's scores in two pairs, shape (n_units,)."""
        variance = self.flip_variance
        covariances = self.pilot.sums(np.sqrt(variance)) ** 2 - self.pilot.sums(variance)
        return np.asarray(self.together * covariances)

    def means(self) -> tuple[float, float]:
        """Mean scores of the method and of the reference."""
        complete = self.pilot.complete
        return float(self.method_scores[complete].mean()), float(self.pilot.reference_scores[complete].mean())


def move_pilot(pilot: Pilot, term: str, effect: float, metric: str) -> Population:
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
    _, reference_mean = pilot.means()
    slope, intercept = line_of(term, effect)
    target_mean = slope * reference_mean + intercept
    _check_range(pilot, term, effect, metric, target_mean)
    if pilot.is_binary:
        population = Population(pilot, _flip_chances(pilot, target_mean))
        return replace(population, together=_chance_together(population))
    fitted = slope * pilot.reference_scores + intercept
    residual = pilot.method_scores - fitted
    residual = residual - residual[pilot.complete].mean()
    inflation = np.sqrt(pilot.n_units / (pilot.n_units - 1))
    return Population(replace(pilot, method_scores=fitted + inflation * residual))


def line_of(term: str, effect: float) -> tuple[float, float]:
    """Slope and intercept of the method's mean as a line in the reference's mean, given the effect."""
    if term == "difference":
        return 1.0, effect
    return 1 - effect / 100, 0.0


def _flip_chances(pilot: Pilot, target_mean: float) -> np.ndarray:
    """Chance (n_pairs,) that each 0/1 score of the method is flipped, so that their mean is the target."""
    method_mean, _ = pilot.means()
    if target_mean < method_mean:
        return np.where(pilot.method_scores == 1, (method_mean - target_mean) / method_mean, 0.0)
    if target_mean > method_mean:
        return np.where(pilot.method_scores == 0, (target_mean - method_mean) / (1 - method_mean), 0.0)
    return np.zeros_like(pilot.method_scores)


def _chance_together(population: Population) -> float:
    """Chance of flipping together that gives the differences the design effect of the pilot's.

    The variance over units is linear in this chance: it solves independent + chance * shared =
    design effect * variance over pairs.
    """
    pilot = population.pilot
    deviation = pilot.method_scores - pilot.reference_scores
    deviation = deviation - deviation[pilot.complete].mean()
    variance_of_units = (pilot.sums(deviation) ** 2).sum()
    design_effect = variance_of_units / max(pilot.sums(deviation**2).sum(), _ROUNDING)
    moved = population.method_scores - pilot.reference_scores
    moved = moved - moved[pilot.complete].mean()
    over_pairs = pilot.sums(moved**2 + population.flip_variance).sum()
    independent = (pilot.sums(moved) ** 2 + pilot.sums(population.flip_variance)).sum()
    shared = replace(population, together=1.0).flip_covariance.sum()
    if shared <= 0:
        return 0.0
    return float(np.clip((design_effect * over_pairs - independent) / shared, 0, 1))


def _check_range(pilot: Pilot, term: str, effect: float, metric: str, target_mean: float) -> None:
    """Raise if no method could have the effect, because its scores would leave the metric's range."""
    low, high = -np.inf, np.inf
    record = registered_metric(metric)
    if pilot.is_binary:
        low, high = 0.0, 1.0
    elif record is not None:
        low, high = record.low, record.high
    method_mean, reference_mean = pilot.means()
    if not low - _ROUNDING <= target_mean <= high + _ROUNDING:
        raise ValueRangeError(
            Setting("effect", effect),
            f" would give the method a mean {metric} of {target_mean:.4g} beside the reference's "
            f"{reference_mean:.4g}, outside {low:g} ... {high:g}",
            hint="give an effect nearer to 0",
        )
    if pilot.is_binary:
        return
    moved = (pilot.method_scores - pilot.reference_scores)[pilot.complete] + target_mean - method_mean
    share_beyond = float((np.abs(moved) > high - low + _ROUNDING).mean())
    if share_beyond > _MOST_BEYOND_RANGE:
        raise ValueRangeError(
            Setting("effect", effect),
            f" is so far from the pilot's own, {pilot.effect(term):.4g}, that {share_beyond:.0%} of its "
            f"differences in {metric} would lie beyond what is possible",
            hint=Message(GIVE_PARAMETERS, ", or scores from ", Call("simulate_scores"), " as the pilot"),
        )


@dataclass(frozen=True)
class Draw:
    """Studies of one number of units, drawn from a population.

    Study i has a random stream of its own, whose numbers choose the units: a larger study contains the
    smaller one, and studies of other effects have the same units, so that curves are smooth.
    """

    population: Population
    n_units: int
    seed: int

    @property
    def n_rows(self) -> float:
        """Mean number of scores of a study."""
        return float(2 * self.n_units * self.population.pilot.sizes.mean())

    def units(self, studies: range) -> np.ndarray:
        """Units drawn for some studies, shape (n_studies, n_units)."""
        streams = [np.random.default_rng((self.seed, study)).random(self.n_units) for study in studies]
        return (np.stack(streams) * self.population.pilot.n_units).astype(np.int64)

    def pairs(self, studies: range) -> tuple[np.ndarray, np.ndarray, Units, np.ndarray]:
        """Pairs of some studies: scores of the method, of the reference, units, and studies from 0.

        A unit that is drawn several times counts as several units.
        """
        pilot = self.population.pilot
        drawn_units = self.units(studies).ravel()
        sizes = pilot.sizes[drawn_units]
        draw_of_pair = np.arange(len(drawn_units)).repeat(sizes)
        first_pairs = np.cumsum(sizes) - sizes
        position_in_unit = np.arange(len(draw_of_pair)) - first_pairs[draw_of_pair]
        rows = pilot.starts[drawn_units[draw_of_pair]] + position_in_unit
        study, unit = np.divmod(draw_of_pair, self.n_units)
        method_scores = pilot.method_scores[rows]
        flip = self.population.flip
        if flip is not None:
            is_flipped = self._flip_numbers(studies)[draw_of_pair, position_in_unit] < flip[rows]
            method_scores = np.where(is_flipped, 1 - method_scores, method_scores)
        return method_scores, pilot.reference_scores[rows], Units("unit", unit, self.n_units), study

    def _flip_numbers(self, studies: range) -> np.ndarray:
        """Uniform numbers by drawn unit and pair of the unit, equal where its pairs are flipped together.

        They come from other random streams than the units. A stream's first column is the shared number, the
        second one decides whether it is used.
        """
        shape = (self.n_units, self.population.pilot.sizes.max() + 2)
        streams = [np.random.default_rng((self.seed, study, 1)).random(shape) for study in studies]
        numbers = np.concatenate(streams)
        shared = numbers[:, :1]
        choice = numbers[:, 1:2]
        return np.where(choice < self.population.together, shared, numbers[:, 2:])
