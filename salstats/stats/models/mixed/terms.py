"""Random terms, and the parameters theta of their relative covariances."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class RandomTerm:
    """Effects that vary over the levels of a factor, `(1 + method | reader)`."""

    name: str  # the factor, such as "reader" or "patient:case"
    effects: tuple[str, ...]  # what varies, such as "(Intercept)" and "method[human]"
    codes: np.ndarray  # (n,), level of each row, 0 ... n_levels - 1, each of which occurs.
    n_levels: int
    matrix: np.ndarray  # (n, n_effects)
    correlated: bool = True  # False: the effects are independent of each other

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of Lambda that theta fills: the lower triangle by columns, as in lme4."""
        n_effects = len(self.effects)
        if not self.correlated:
            return np.arange(n_effects), np.arange(n_effects)
        columns, rows = np.triu_indices(n_effects)
        return rows, columns

    @property
    def n_parameters(self) -> int:
        """Number of its variances and covariances."""
        return len(self.places[0])


def lambdas(theta: np.ndarray, terms: Sequence[RandomTerm]) -> list[np.ndarray]:
    """Each term's lower triangular Lambda; Lambda Lambda' times sigma^2 is its covariance."""
    filled, at = [], 0
    for term in terms:
        factor = np.zeros((len(term.effects), len(term.effects)))
        factor[term.places] = theta[at : at + term.n_parameters]
        filled.append(factor)
        at += term.n_parameters
    return filled


def thetas(factors: Sequence[np.ndarray], terms: Sequence[RandomTerm]) -> np.ndarray:
    """The inverse of `lambdas`."""
    return np.concatenate([factor[term.places] for factor, term in zip(factors, terms, strict=True)])


def on_diagonal(terms: Sequence[RandomTerm]) -> np.ndarray:
    """Which parameters stand on a diagonal of Lambda, so are at least 0."""
    return np.concatenate([np.equal(*term.places) for term in terms])
