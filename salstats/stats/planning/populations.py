"""Populations that planned studies are drawn from: a pilot whose method is moved to the effect."""

from dataclasses import dataclass, replace

import numpy as np

from salstats.checks import ValueRangeError
from salstats.metrics.registry import known_metric
from salstats.stats.engine.units import Units
from salstats.stats.planning.pilots import Pilot

#: Share of the differences that may lie beyond the metric's range after the move.
_BEYOND = 0.05
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Population:
    """A pilot whose method has the effect asked for; its units are drawn with equal chances."""

    pilot: Pilot
    #: (n_pairs,): Chance that a 0/1 score of the method turns into the other; None of other scores.
    flip: np.ndarray | None = None
    #: Chance that the pairs of one unit turn together, or none of them does, rather than each by itself.
    together: float = 0.0

    @property
    def own(self) -> np.ndarray:
        """Expected score of the method in each pair."""
        own = self.pilot.own
        if self.flip is None:
            return own
        return own + self.flip * (1 - 2 * own)

    @property
    def flip_variance(self) -> np.ndarray:
        """Variance of the method's score in each pair, as 0/1 scores turn by chance."""
        if self.flip is None:
            return np.zeros_like(self.pilot.own)
        return self.flip * (1 - self.flip)

    @property
    def flip_covariance(self) -> np.ndarray:
        """Sum of the covariances of the method's scores in each unit, of pairs that turn together."""
        variance = self.flip_variance
        return self.together * (self.pilot.sums(np.sqrt(variance)) ** 2 - self.pilot.sums(variance))

    def means(self) -> tuple[float, float]:
        """Mean scores of the method and of the reference."""
        complete = self.pilot.complete
        return float(self.own[complete].mean()), float(self.pilot.other[complete].mean())


def population_of(pilot: Pilot, term: str, effect: float, metric: str) -> Population:
    """Move the scores of a pilot's method so that the effect is the one asked for.

    Every score of the method is moved alike, so that the differences from the reference keep their spread,
    and those of one unit what they have in common. 0/1 scores stay 0 or 1: some of the method's hits turn
    into misses, or misses into hits, each with the same chance, and those of one unit together as often as
    keeps the design effect of the pilot's differences.

    Differences are also spread a little more about their mean, by the root of n/(n - 1): units drawn from a
    sample vary less than those that the sample was drawn from.

    Raises
    ------
    ValueRangeError
        The effect would move the method out of the metric's range.
    """
    _, reference_mean = pilot.means()
    slope, intercept = line_of(term, effect)
    target = slope * reference_mean + intercept
    _check_range(pilot, term, effect, metric, target)
    if pilot.is_binary:
        flipped = Population(pilot, _flip_chances(pilot, target))
        return replace(flipped, together=_chance_together(flipped))
    line = slope * pilot.other + intercept
    residual = pilot.own - line
    residual = residual - residual[pilot.complete].mean()
    inflation = np.sqrt(pilot.n_units / (pilot.n_units - 1))
    return Population(replace(pilot, own=line + inflation * residual))


def line_of(term: str, effect: float) -> tuple[float, float]:
    """Slope and intercept of the method's mean as a line in the reference's mean, given the effect."""
    if term == "difference":
        return 1.0, effect
    return 1 - effect / 100, 0.0


def _flip_chances(pilot: Pilot, target: float) -> np.ndarray:
    """Chance of each 0/1 score of the method to turn, so that their mean is the target."""
    rate, _ = pilot.means()
    if target < rate:
        return np.where(pilot.own == 1, (rate - target) / rate, 0.0)
    if target > rate:
        return np.where(pilot.own == 0, (target - rate) / (1 - rate), 0.0)
    return np.zeros_like(pilot.own)


def _chance_together(flipped: Population) -> float:
    """Chance of turning together that gives the differences the design effect of the pilot's."""
    pilot = flipped.pilot
    gap = pilot.own - pilot.other
    gap = gap - gap[pilot.complete].mean()
    design_effect = (pilot.sums(gap) ** 2).sum() / max(pilot.sums(gap**2).sum(), _ROUNDING)
    moved = flipped.own - pilot.other
    moved = moved - moved[pilot.complete].mean()
    single = pilot.sums(moved**2 + flipped.flip_variance).sum()
    apart = (pilot.sums(moved) ** 2 + pilot.sums(flipped.flip_variance)).sum()
    together = replace(flipped, together=1.0).flip_covariance.sum()
    if together <= 0:
        return 0.0
    return float(np.clip((design_effect * single - apart) / together, 0, 1))


def _check_range(pilot: Pilot, term: str, effect: float, metric: str, target: float) -> None:
    """Raise where no method could have the effect."""
    known = known_metric(metric)
    low, high = (-np.inf, np.inf) if known is None else (known.low, known.high)
    if pilot.is_binary:
        low, high = 0.0, 1.0
    own_mean, reference_mean = pilot.means()
    if not low - _ROUNDING <= target <= high + _ROUNDING:
        raise ValueRangeError(
            f"effect={effect:g} would give the method a mean {metric} of {target:.4g} beside the reference's "
            f"{reference_mean:.4g}, outside {low:g} ... {high:g}; give an effect nearer to 0"
        )
    if pilot.is_binary:
        return
    moved = (pilot.own - pilot.other)[pilot.complete] + target - own_mean
    beyond = float((np.abs(moved) > high - low + _ROUNDING).mean())
    if beyond > _BEYOND:
        raise ValueRangeError(
            f"effect={effect:g} is so far from the pilot's own, {pilot.effect(term):.4g}, that {beyond:.0%} "
            f"of its differences in {metric} would lie beyond what is possible; give parameters, as in "
            "power({'sd_difference': 0.2}, ...), or scores from simulate_scores() as the pilot"
        )


@dataclass(frozen=True)
class Draw:
    """Studies of one number of units, drawn from a population.

    Study i is of the units that the numbers of its own stream fall to: a larger study holds the smaller, and
    studies of other effects are of the same units, so that curves are smooth.
    """

    population: Population
    n_units: int
    seed: int

    @property
    def n_rows(self) -> float:
        """Scores of a study, on average."""
        return float(2 * self.n_units * self.population.pilot.sizes.mean())

    def units(self, studies: range) -> np.ndarray:
        """Units of some studies, shape (n_studies, n_units)."""
        streams = [np.random.default_rng((self.seed, study)).random(self.n_units) for study in studies]
        return (np.stack(streams) * self.population.pilot.n_units).astype(np.int64)

    def pairs(self, studies: range) -> tuple[np.ndarray, np.ndarray, Units, np.ndarray]:
        """Both scores of the pairs of some studies, their units and their studies, from 0."""
        pilot = self.population.pilot
        drawn = self.units(studies).ravel()
        sizes = pilot.sizes[drawn]
        place = np.arange(len(drawn)).repeat(sizes)
        within = np.arange(len(place)) - (np.cumsum(sizes) - sizes)[place]
        rows = pilot.starts[drawn[place]] + within
        study, unit = np.divmod(place, self.n_units)
        own = pilot.own[rows]
        flip = self.population.flip
        if flip is not None:
            turned = self._flip_numbers(studies)[place, within] < flip[rows]
            own = np.where(turned, 1 - own, own)
        return own, pilot.other[rows], Units("unit", unit, self.n_units), study

    def _flip_numbers(self, studies: range) -> np.ndarray:
        """Uniform numbers by drawn unit and pair within it, alike where the pairs of a unit turn together.

        They are of streams apart from those of the units.
        """
        shape = (self.n_units, self.population.pilot.sizes.max() + 2)
        streams = [np.random.default_rng((self.seed, study, 1)).random(shape) for study in studies]
        numbers = np.concatenate(streams)
        shared = numbers[:, :1]
        choice = numbers[:, 1:2]
        return np.where(choice < self.population.together, shared, numbers[:, 2:])
