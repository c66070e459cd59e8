"""The pairs that a correlation is of: its estimate, test and influences, whichever coefficient it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from salstats.checks import ColumnError, ValueRangeError, check_choice, quoted
from salstats.stats.engine import influences as influence
from salstats.stats.engine.coefficients import FEWEST_PAIRS, RECORDS, UNDEFINED, Coefficient, coefficient
from salstats.stats.engine.partial_correlation import COVARIATES_OF, Residuals, partial_coefficient, residuals
from salstats.stats.engine.repeated_measures import deviations_within, repeated_units, within_coefficient
from salstats.stats.engine.robust_correlation import lumped_share, robust_coefficient
from salstats.stats.engine.units import Units

#: Coefficients of which there is no influence function in closed form, so that each unit is left out in turn.
ROBUST = ("percbend", "bicor")


@dataclass(frozen=True)
class CorrelatedPairs:
    """Two variables, what is taken out of them, and whose rows they are; NaN where a value is missing."""

    test: str
    #: Names of both variables and of the covariates.
    x: str
    y: str
    covariate_names: tuple[str, ...]
    covariates_of: str
    #: (n_rows,)
    first: np.ndarray
    second: np.ndarray
    #: (n_rows, n_covariates)
    covariates: np.ndarray
    #: (n_rows,): Unit of each row, as codes.
    units: np.ndarray

    @property
    def complete(self) -> np.ndarray:
        """Rows that lack no value, shape (n_rows,)."""
        missing = np.isnan(self.first) | np.isnan(self.second) | np.isnan(self.covariates).any(axis=1)
        return np.asarray(~missing)

    def informative(self, rows: np.ndarray) -> np.ndarray:
        """Rows that have a say: within units, those of a unit with several."""
        if self.test != "rm":
            return rows
        return rows[repeated_units(self.units[rows])]

    def effective_n(self, rows: np.ndarray) -> int:
        """Number of independent pairs that a plain correlation with as many degrees of freedom would have.

        Every covariate takes one degree of freedom, and within units every unit but one does.
        """
        n = len(rows)
        if self.test == "rm":
            return n - len(np.unique(self.units[rows])) + 1
        return n - len(self.covariate_names)

    def coefficient(self, rows: np.ndarray) -> Coefficient:
        """Correlation of some rows with its t or z test; undefined where `undefined_reason` says why."""
        if self.undefined_reason(rows):
            return UNDEFINED
        first, second = self.first[rows], self.second[rows]
        if self.test == "rm":
            return within_coefficient(first, second, self.units[rows])
        if self.test in ROBUST:
            return robust_coefficient(first, second, self.test)
        if self.covariate_names:
            return partial_coefficient(self._residuals(rows), self.effective_n(rows) - 2)
        return coefficient(first, second, self.test)

    def influences(self, rows: np.ndarray) -> np.ndarray:
        """Influence of each row on the correlation, shape (n,); of robust ones the share in its unit's."""
        first, second, units = self.first[rows], self.second[rows], self.units[rows]
        if self.test == "rm":
            return influence.of_centred(deviations_within(first, units), deviations_within(second, units))
        if self.test in ROBUST:
            return influence.by_leaving_out(first, second, units, self.test)
        if self.covariate_names:
            return influence.of_partial(self._residuals(rows))
        return influence.influences(first, second, self.test)

    def undefined_reason(self, rows: np.ndarray) -> str:
        """Say why there is no correlation of some rows; empty where there is one."""
        if self.effective_n(rows) < FEWEST_PAIRS:
            return self._too_few(rows)
        columns = [(self.x, self.first[rows]), (self.y, self.second[rows])]
        columns += list(zip(self.covariate_names, self.covariates[rows].T, strict=True))
        for name, values in columns:
            if np.ptp(values) == 0:
                return f"{name} is constant"
        for name, values in columns[:2]:
            if self.test == "rm" and not deviations_within(values, self.units[rows]).any():
                return f"{name} is constant within each unit"
            if self.test in ROBUST and (share := lumped_share(values, self.test)):
                return f"{share} of the values of {name} are equal"
        if self.covariate_names:
            return self._residuals(rows).undefined_reason((self.x, self.y))
        return ""

    def _too_few(self, rows: np.ndarray) -> str:
        """Say how many pairs there are."""
        pairs = f"{len(rows)} complete pairs"
        if self.test == "rm":
            return f"{pairs} of {len(np.unique(self.units[rows]))} units with several"
        if self.covariate_names:
            return f"{pairs} and {len(self.covariate_names)} covariates"
        return pairs

    def _residuals(self, rows: np.ndarray) -> Residuals:
        """What the covariates leave of both variables."""
        variables = np.column_stack([self.first[rows], self.second[rows], self.covariates[rows]])
        return residuals(variables, ranks=RECORDS[self.test].ranks, covariates_of=self.covariates_of)


def check_covariates(
    test: str, x: str, y: str, covariates: str | Sequence[str] | None, covariates_of: str
) -> tuple[str, ...]:
    """Names of the covariates, checked to go together with the test and both variables."""
    check_choice(covariates_of, COVARIATES_OF, "covariates_of")
    if covariates is None:
        if covariates_of != "both":
            raise ValueRangeError(
                f"covariates_of={covariates_of!r} needs covariates=, the columns to take out"
            )
        return ()
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    for name in names:
        if name in (x, y):
            raise ColumnError(f"covariates= names {name!r}, which is itself correlated; leave it out")
    if len(set(names)) < len(names):
        raise ColumnError(f"covariates= names a column twice: {quoted(names)}")
    if names and not RECORDS[test].partial:
        able = quoted([record.name for record in RECORDS.values() if record.partial])
        raise ValueRangeError(f"covariates= is for test={able}, not for {test!r}")
    return names


def check_repeats(test: str, units: Units | None, complete: np.ndarray) -> None:
    """Raise where within-unit correlations are asked for and no unit has two pairs."""
    if test != "rm":
        return
    if units is None:
        raise ColumnError(
            "test='rm' correlates within units, and nothing says whose rows these are; name unit="
        )
    if not repeated_units(units.codes[complete]).any():
        raise ValueRangeError(
            f"test='rm' correlates within units, and no {units.name} has two complete pairs; name what "
            "repeats with unit=, or take test='spearman'"
        )
