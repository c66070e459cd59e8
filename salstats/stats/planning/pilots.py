"""Pilot studies as arrays: pairs of scores by unit, units drawn so that they have the effect asked for."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from salstats.checks import SalstatsError
from salstats.stats.units import Units

#: Largest exponent of a tilt.
_STEEPEST = 600.0


@dataclass(frozen=True)
class Pilot:
    """Pairs of one method with the reference, in the order of their units."""

    # own, other: (n_pairs,), scores of the method and of the reference; NaN where undefined
    own: np.ndarray
    other: np.ndarray
    # starts, sizes: (n_units,), first pair of each unit, and how many it has
    starts: np.ndarray
    sizes: np.ndarray
    n_cases: int  # cases; several readers of a case make several pairs

    @classmethod
    def of(cls, own: np.ndarray, other: np.ndarray, units: np.ndarray, cases: np.ndarray) -> "Pilot":
        """Pairs in any order, with the codes of their units and cases."""
        order = np.argsort(units, kind="stable")
        sizes = np.unique(units, return_counts=True)[1]
        n_cases = len(np.unique(cases))
        return cls(own[order], other[order], np.cumsum(sizes) - sizes, sizes, n_cases)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.sizes)

    @property
    def cases_per_unit(self) -> float:
        """Cases of a unit, on average."""
        return self.n_cases / self.n_units

    def parts(self, term: str, effect: float) -> np.ndarray:
        """Each unit's sum of what is 0 on average where the effect is the true one.

        Of a difference it is own - other - effect, of a percentage decrease own - (1 - effect/100) other.
        """
        kept, added = (1.0, effect) if term == "difference" else (1 - effect / 100, 0.0)
        gaps = self.own - kept * self.other - added
        return np.asarray(np.add.reduceat(np.where(np.isnan(gaps), 0.0, gaps), self.starts))

    def means(self, chances: np.ndarray | None = None) -> tuple[float, float]:
        """Mean scores of the method and of the reference, of units drawn with these chances."""
        weights = np.ones(len(self.own)) if chances is None else chances.repeat(self.sizes)
        known = ~np.isnan(self.own - self.other)
        own, other = (
            float(np.average(side[known], weights=weights[known])) for side in (self.own, self.other)
        )
        return own, other

    def effect(self, term: str) -> float:
        """The effect of the pilot itself."""
        own, other = self.means()
        return own - other if term == "difference" else 100 * (other - own) / other

    def spread(self, term: str, effect: float, chances: np.ndarray) -> float:
        """SD of a unit's part of the estimate, whose standard error is this over the root of the units.

        Of a percentage decrease it is that of the linear approximation (delta method).
        """
        known = ~np.isnan(self.own - self.other)
        counts = np.add.reduceat(known.astype(np.float64), self.starts)
        parts, scale = self.parts(term, effect), chances @ counts
        if term == "percent_decrease":
            scale = chances @ np.add.reduceat(np.where(known, self.other, 0.0), self.starts) / 100
        # as a sample has it: the chances of n equal units are 1/n each
        inflated = 1 / (1 - (chances**2).sum())
        return float(np.sqrt(inflated * (chances @ parts**2)) / abs(scale))


def tilt(parts: np.ndarray) -> np.ndarray:
    """Chances of the units, as equal as can be, under which the parts are 0 on average.

    They are proportional to exp(lambda part): of all chances that do so the closest to equal ones
    (Kullback-Leibler). Normal parts are shifted so, and keep their variance; scores stay what they are, so
    that none leaves its range, and pairs and clusters stay together.

    NaN where all parts lie on one side of 0.

    Efron B. Nonparametric standard errors and confidence intervals. Can J Stat 1981. doi:10.2307/3314608
    """
    if not parts.any():
        return np.full(len(parts), 1 / len(parts))
    if not (parts.min() < 0 < parts.max()):
        return np.full(len(parts), np.nan)
    scaled = parts / np.abs(parts).max()

    def mean(by: float) -> float:
        return float(special.softmax(by * scaled) @ scaled)

    if mean(-_STEEPEST) > 0 or mean(_STEEPEST) < 0:
        return np.full(len(parts), np.nan)
    found = optimize.brentq(mean, -_STEEPEST, _STEEPEST, xtol=1e-13, rtol=1e-13)
    return np.asarray(special.softmax(found * scaled))


def effective_units(chances: np.ndarray) -> float:
    """How many units drawn with equal chances these are worth (Kish)."""
    return float(1 / (chances**2).sum())


@dataclass(frozen=True)
class Draw:
    """Studies of one number of units, drawn from a pilot with chances of its units.

    Study i is of the units that the numbers of its own stream fall to: a larger study holds the smaller, and
    studies of another effect fall to units that are much the same, so that curves are smooth.
    """

    pilot: Pilot
    chances: np.ndarray
    #: Units from the lowest part to the highest.
    order: np.ndarray
    n_units: int
    seed: int

    @classmethod
    def of(cls, pilot: Pilot, parts: np.ndarray, chances: np.ndarray, n_units: int, seed: int) -> "Draw":
        """Units in the order of their parts."""
        return cls(pilot, chances, np.argsort(parts, kind="stable"), n_units, seed)

    def units(self, studies: range) -> np.ndarray:
        """Units of some studies, shape (n_studies, n_units)."""
        streams = [np.random.default_rng((self.seed, study)).random(self.n_units) for study in studies]
        ends = np.cumsum(self.chances[self.order])
        places = np.searchsorted(ends, np.stack(streams) * ends[-1], side="right")
        return np.asarray(self.order[np.minimum(places, len(ends) - 1)])

    def pairs(self, studies: range) -> tuple[np.ndarray, np.ndarray, Units, np.ndarray]:
        """Both scores of the pairs of some studies, their units and their studies, from 0."""
        pilot, drawn = self.pilot, self.units(studies).ravel()
        sizes = pilot.sizes[drawn]
        place = np.arange(len(drawn)).repeat(sizes)
        rows = pilot.starts[drawn[place]] + np.arange(len(place)) - (np.cumsum(sizes) - sizes)[place]
        study, unit = np.divmod(place, self.n_units)
        return pilot.own[rows], pilot.other[rows], Units("unit", unit, self.n_units), study


def tilted(pilot: Pilot, term: str, effect: float) -> tuple[np.ndarray, np.ndarray]:
    """Parts and chances of a pilot's units, for an effect."""
    parts = pilot.parts(term, effect)
    chances = tilt(parts)
    if np.isnan(chances).any():
        raise SalstatsError(
            f"effect={effect:g} lies beyond what the units of the pilot show, whose own is "
            f"{pilot.effect(term):.4g}; give parameters, or scores from simulate_scores() as the pilot"
        )
    return parts, chances
