"""Random terms, and the parameters theta of their relative covariances.

As in lme4, the covariance of a term's effects is sigma^2 Lambda Lambda', where sigma is the standard
deviation of the residuals. Lambda is the term's relative covariance factor; theta holds the entries of all of
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class RandomTerm:
    """Effects that vary over the levels of a grouping factor, as in `(1 + method | reader)`."""

    name: str  # the grouping factor, such as "reader" or "patient:case"
    effects: tuple[str, ...]  # names of the effects, such as "(Intercept)" and "methodhuman"
    codes: NDArray[np.integer]  # (n,), level of each row, 0 ... n_levels - 1; each level occurs
    n_levels: int
    matrix: np.ndarray  # (n, n_effects), the variable that each effect multiplies
    correlated: bool = True  # False: the effects are independent of each other

    @cached_property
    def theta_positions(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Rows and columns of Lambda that theta fills: the lower triangle by columns, as in lme4."""
        n_effects = len(self.effects)
        if not self.correlated:
            return np.arange(n_effects), np.arange(n_effects)
        # the lower triangle by columns is the upper triangle by rows, transposed
        columns, rows = np.triu_indices(n_effects)
        return rows, columns

    @property
    def n_parameters(self) -> int:
        """Number of the term's variances and covariances."""
        return len(self.theta_positions[0])


def relative_covariance_factors(theta: np.ndarray, terms: Sequence[RandomTerm]) -> list[np.ndarray]:
    """Return the relative covariance factor Lambda of each term, lower triangular."""
    relative_factors = []
    start = 0
    for term in terms:
        end = start + term.n_parameters
        relative_factor = np.zeros((len(term.effects), len(term.effects)))
        relative_factor[term.theta_positions] = theta[start:end]
        relative_factors.append(relative_factor)
        start = end
    return relative_factors


def theta_entries(relative_factors: Sequence[np.ndarray], terms: Sequence[RandomTerm]) -> np.ndarray:
    """Return the entries of each term's (n_effects, n_effects) matrix that stand in theta, in its order.

    Of relative covariance factors this is theta itself, the inverse of `relative_covariance_factors`.
    """
    entries = [
        relative_factor[term.theta_positions]
        for relative_factor, term in zip(relative_factors, terms, strict=True)
    ]
    return np.concatenate(entries)


def is_diagonal_entry(terms: Sequence[RandomTerm]) -> NDArray[np.bool_]:
    """Return True for each entry of theta that is on a diagonal of Lambda, and so at least 0."""
    is_diagonal_by_term = []
    for term in terms:
        rows, columns = term.theta_positions
        is_diagonal_by_term.append(rows == columns)
    return np.concatenate(is_diagonal_by_term)
