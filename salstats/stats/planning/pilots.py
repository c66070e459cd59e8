"""Pilot studies as arrays: pairs of scores in the order of their units."""

from dataclasses import dataclass

import numpy as np


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

    @property
    def complete(self) -> np.ndarray:
        """Pairs with both scores, (n_pairs,) of bool."""
        return ~np.isnan(self.own - self.other)

    @property
    def is_binary(self) -> bool:
        """Whether all scores of complete pairs are 0 or 1."""
        both = np.concatenate([self.own[self.complete], self.other[self.complete]])
        return bool(np.isin(both, (0, 1)).all())

    def means(self) -> tuple[float, float]:
        """Mean scores of the method and of the reference, of complete pairs."""
        return float(self.own[self.complete].mean()), float(self.other[self.complete].mean())

    def effect(self, term: str) -> float:
        """The effect of the pilot itself."""
        own, other = self.means()
        if term == "difference":
            return own - other
        return 100 * (other - own) / other

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum of each unit's values, of complete pairs, (n_units,)."""
        return np.asarray(np.add.reduceat(np.where(self.complete, values, 0.0), self.starts))
