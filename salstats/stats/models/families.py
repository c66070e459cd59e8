"""The families of models by name; adding one is a kernel with its record, and a line here."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from salstats.checks import check_choice
from salstats.stats.models.beta import BETA
from salstats.stats.models.family import Family, NotEstimableError, Solution
from salstats.stats.models.linear import GAUSSIAN
from salstats.stats.models.logit import BINOMIAL, FRACTIONAL

FAMILIES = {family.name: family for family in (GAUSSIAN, BINOMIAL, FRACTIONAL, BETA)}
#: A column is aliased where what the earlier ones leave of it is smaller than this share: R's `lm`.
RANK_TOLERANCE = 1e-7


def family_of(name: str) -> Family:
    """The family of a name."""
    check_choice(name, tuple(FAMILIES), "family")
    return FAMILIES[name]


def fit_model(
    matrix: np.ndarray, response: np.ndarray, names: Sequence[str], family: Family, *, intercept: bool
) -> Solution:
    """A model of one family; columns that depend on earlier ones are left out (R gives them NA).

    NotEstimableError where there are no more rows than coefficients, and where the family's kernel says so.
    """
    n, k = matrix.shape
    if n == 0:
        raise NotEstimableError("no complete rows")
    kept = estimable_columns(matrix)
    if n <= len(kept) or not len(kept):
        raise NotEstimableError(f"{n} complete row{'s' * (n != 1)} for {k} coefficient{'s' * (k != 1)}")
    try:
        solution = family.solve(matrix[:, kept], response, intercept)
    except NotEstimableError as error:
        raise NotEstimableError(f"{error} ({', '.join(names[i] for i in kept)})") from None
    return replace(solution, kept=kept)


def estimable_columns(matrix: np.ndarray) -> np.ndarray:
    """The positions of the columns that do not depend linearly on earlier ones."""
    kept = list(range(matrix.shape[1]))
    lengths = np.sqrt((matrix**2).sum(axis=0))
    while kept:
        triangle = np.linalg.qr(matrix[:, kept], mode="r")
        left_over = np.zeros(len(kept))
        left_over[: len(triangle)] = np.abs(np.diag(triangle))
        dependent = np.flatnonzero(left_over <= RANK_TOLERANCE * lengths[kept])
        if not len(dependent):
            break
        # only the first is sure: what follows it was measured against a direction that is noise
        del kept[int(dependent[0])]
    return np.asarray(kept, dtype=np.int64)
