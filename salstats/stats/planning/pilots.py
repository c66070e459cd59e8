"""Pilot studies as arrays: pairs of scores in the order of their units."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pilot:
    """Pairs of scores of one method and the reference, in the order of their units."""

    #: (n_pairs,): Scores of the method, NaN where undefined.
    method_scores: np.ndarray
    #: (n_pairs,): Scores of the reference, NaN where undefined.
    reference_scores: np.ndarray
    #: (n_units,): Position of the first pair of each unit.
    first_pairs: NDArray[np.integer]
    #: (n_units,): Number of pairs of each unit.
    unit_sizes: np.ndarray
    #: Number of cases; several readers of a case make several pairs.
    n_cases: int

    @classmethod
    def from_pairs(
        cls,
        method_scores: np.ndarray,
        reference_scores: np.ndarray,
        units: NDArray[np.integer],
        cases: NDArray[np.integer],
    ) -> "Pilot":
        """Return the pilot of pairs in any order.

        All arguments have shape (n_pairs,): scores, and codes of units and of cases.
        """
        order = np.argsort(units, kind="stable")
        unit_sizes = np.unique(units, return_counts=True)[1]
        first_pairs = np.cumsum(unit_sizes) - unit_sizes
        return cls(
            method_scores=method_scores[order],
            reference_scores=reference_scores[order],
            first_pairs=first_pairs,
            unit_sizes=unit_sizes,
            n_cases=len(np.unique(cases)),
        )

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_sizes)

    @property
    def cases_per_unit(self) -> float:
        """Mean number of cases of a unit."""
        return self.n_cases / self.n_units

    @property
    def is_complete_pair(self) -> NDArray[np.bool_]:
        """Mask (n_pairs,) of the pairs with both scores."""
        is_complete: NDArray[np.bool_] = ~np.isnan(self.method_scores - self.reference_scores)
        return is_complete

    @property
    def is_binary(self) -> bool:
        """True if all scores of complete pairs are 0 or 1."""
        scores = np.concatenate(
            [self.method_scores[self.is_complete_pair], self.reference_scores[self.is_complete_pair]]
        )
        return bool(np.isin(scores, (0, 1)).all())

    def method_and_reference_means(self) -> tuple[float, float]:
        """Mean scores of the method and of the reference, of complete pairs."""
        method_mean = self.method_scores[self.is_complete_pair].mean()
        reference_mean = self.reference_scores[self.is_complete_pair].mean()
        return float(method_mean), float(reference_mean)

    def effect(self, term: str) -> float:
        """Effect in the pilot: the difference of the means, or the percentage decrease."""
        method_mean, reference_mean = self.method_and_reference_means()
        if term == "difference":
            return method_mean - reference_mean
        return 100 * (reference_mean - method_mean) / reference_mean

    def unit_sums_of_complete_pairs(self, values: np.ndarray) -> np.ndarray:
        """Sum of each unit's values (n_pairs,) over its complete pairs, shape (n_units,)."""
        return np.asarray(np.add.reduceat(np.where(self.is_complete_pair, values, 0.0), self.first_pairs))
