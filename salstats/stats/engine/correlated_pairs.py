"""Pairs of two variables with their correlation, its test and its influences, for all coefficients."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salstats.checks import check_choice, quoted
from salstats.errors import ColumnError, Message, Setting, ValueRangeError
from salstats.stats.engine.coefficients import (
    FEWEST_PAIRS,
    RECORDS,
    UNDEFINED_COEFFICIENT,
    Coefficient,
    coefficient,
)
from salstats.stats.engine.influences import (
    influences_of_centred_pairs,
    pair_influences,
    partial_correlation_influences,
    row_influences_by_leaving_out_units,
)
from salstats.stats.engine.partial_correlation import (
    COVARIATES_OF,
    Residuals,
    partial_coefficient,
    residuals_on_covariates,
)
from salstats.stats.engine.repeated_measures import (
    deviations_from_unit_means,
    is_in_repeated_unit,
    repeated_measures_coefficient,
)
from salstats.stats.engine.resampling_units import Units
from salstats.stats.engine.robust_correlation import (
    robust_correlation_with_test,
    share_equal_to_median_if_no_spread,
)

#: Coefficients without an influence function in closed form: influences are found by leaving out units.
ROBUST_TESTS = ("percbend", "bicor")


@dataclass(frozen=True)
class CorrelatedPairs:
    """Two variables with their covariates and units; NaN where a value is missing."""

    #: Name of the coefficient, a key of `coefficients.RECORDS`.
    test: str
    #: Name of the first variable.
    x_name: str
    #: Name of the second variable.
    y_name: str
    covariate_names: tuple[str, ...]
    #: Variables that are adjusted for the covariates, of `COVARIATES_OF`.
    covariates_of: str
    #: (n_rows,): Values of the first variable.
    x: np.ndarray
    #: (n_rows,): Values of the second variable.
    y: np.ndarray
    #: (n_rows, n_covariates): Values of the covariates.
    covariates: np.ndarray
    #: (n_rows,): Unit of each row, as a code.
    units: NDArray[np.integer]

    @property
    def is_complete_row(self) -> NDArray[np.bool_]:
        """True for rows without missing values, shape (n_rows,)."""
        missing = np.isnan(self.x) | np.isnan(self.y) | np.isnan(self.covariates).any(axis=1)
        return np.asarray(~missing)

    def rows_of_repeated_units_if_repeated_measures(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the rows that affect the correlation: all, or for "rm" those of units with several rows."""
        if self.test != "rm":
            return rows
        return np.asarray(rows[is_in_repeated_unit(self.units[rows])])

    def n_simple_pairs_of_equal_degrees_of_freedom(self, rows: NDArray[np.integer]) -> int:
        """Return the number of pairs of a simple correlation with the same degrees of freedom.

        Each covariate takes one degree of freedom, and for "rm" each unit but one.
        """
        if self.test == "rm":
            n_units = len(np.unique(self.units[rows]))
            return len(rows) - n_units + 1
        return len(rows) - len(self.covariate_names)

    def coefficient(self, rows: NDArray[np.integer]) -> Coefficient:
        """Return the correlation of some rows with its t or z test.

        It is undefined if `undefined_reason_and_column` gives a reason.
        """
        undefined_reason, _ = self.undefined_reason_and_column(rows)
        if undefined_reason:
            return UNDEFINED_COEFFICIENT
        x = self.x[rows]
        y = self.y[rows]
        if self.test == "rm":
            return repeated_measures_coefficient(x, y, self.units[rows])
        if self.test in ROBUST_TESTS:
            return robust_correlation_with_test(x, y, self.test)
        if self.covariate_names:
            return partial_coefficient(
                self._residuals(rows), self.n_simple_pairs_of_equal_degrees_of_freedom(rows) - 2
            )
        return coefficient(x, y, self.test)

    def row_influences(self, rows: NDArray[np.integer]) -> np.ndarray:
        """Return the influence of each row on the correlation, shape (n,).

        For robust coefficients each row has an equal share of the influence of its unit.
        """
        x = self.x[rows]
        y = self.y[rows]
        units = self.units[rows]
        if self.test == "rm":
            x_deviations = deviations_from_unit_means(x, units)
            y_deviations = deviations_from_unit_means(y, units)
            return influences_of_centred_pairs(x_deviations, y_deviations)
        if self.test in ROBUST_TESTS:
            return row_influences_by_leaving_out_units(x, y, units, self.test)
        if self.covariate_names:
            return partial_correlation_influences(self._residuals(rows))
        return pair_influences(x, y, self.test)

    def undefined_reason_and_column(self, rows: NDArray[np.integer]) -> tuple[str, str | None]:
        """Return why the correlation of some rows is undefined, and the column at fault, None if none is.

        The reason is "" if the correlation is defined.
        """
        if self.n_simple_pairs_of_equal_degrees_of_freedom(rows) < FEWEST_PAIRS:
            return self._sample_size_in_words(rows), None
        variables = [(self.x_name, self.x[rows]), (self.y_name, self.y[rows])]
        covariates = list(zip(self.covariate_names, self.covariates[rows].T, strict=True))
        for name, values in variables + covariates:
            if np.ptp(values) == 0:
                return f"{name} is constant", name
        for name, values in variables:
            if self.test == "rm" and not deviations_from_unit_means(values, self.units[rows]).any():
                return f"{name} is constant within each unit", name
            if self.test in ROBUST_TESTS:
                equal_share = share_equal_to_median_if_no_spread(values, self.test)
                if equal_share:
                    return f"{equal_share} of the values of {name} are equal", name
        if self.covariate_names:
            return self._residuals(rows).undefined_reason_and_column((self.x_name, self.y_name))
        return "", None

    def _sample_size_in_words(self, rows: NDArray[np.integer]) -> str:
        """Return the numbers of pairs, units and covariates in words."""
        pairs = f"{len(rows)} complete pairs"
        if self.test == "rm":
            n_units = len(np.unique(self.units[rows]))
            return f"{pairs} of {n_units} units with several"
        if self.covariate_names:
            return f"{pairs} and {len(self.covariate_names)} covariates"
        return pairs

    def _residuals(self, rows: NDArray[np.integer]) -> Residuals:
        """Return the residuals of both variables on the covariates."""
        variables = np.column_stack([self.x[rows], self.y[rows], self.covariates[rows]])
        return residuals_on_covariates(
            variables, ranks=RECORDS[self.test].ranks, covariates_of=self.covariates_of
        )


def checked_covariates(
    test: str, x: str, y: str, covariates: str | Sequence[str] | None, covariates_of: str
) -> tuple[str, ...]:
    """Return the names of the covariates; raise if they do not suit the coefficient or the variables."""
    check_choice(covariates_of, COVARIATES_OF, "covariates_of")
    if covariates is None:
        if covariates_of != "both":
            raise ValueRangeError(
                Setting("covariates_of", covariates_of),
                " needs ",
                Setting("covariates"),
                ", the columns to adjust for",
            )
        return ()
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    for name in names:
        if name in (x, y):
            raise ColumnError(
                Setting("covariates"),
                f" names {name!r}, which is itself correlated",
                hint="leave it out",
                column=name,
            )
    for name in names:
        if names.count(name) > 1:
            raise ColumnError(Setting("covariates"), f" names a column twice: {quoted(names)}", column=name)
    if names and not RECORDS[test].partial:
        choices = [record.name for record in RECORDS.values() if record.partial]
        raise ValueRangeError(
            Setting("test", test),
            " takes no ",
            Setting("covariates"),
            hint=f"take one of {quoted(choices)}",
            choices=choices,
        )
    return names


def check_rm_has_repeats(test: str, units: Units | None, complete: NDArray[np.bool_]) -> None:
    """Raise for the test "rm" if there are no units, or if no unit has two `complete` pairs."""
    if test != "rm":
        return
    if units is None:
        raise ColumnError(
            Setting("test", "rm"),
            " correlates within units, and the rows have no units",
            hint=Message("name ", Setting("unit")),
        )
    if not is_in_repeated_unit(units.codes[complete]).any():
        raise ValueRangeError(
            Setting("test", "rm"),
            f" correlates within units, and no {units.name} has two complete pairs",
            hint=Message(
                "name the repeated unit with ", Setting("unit"), ", or take ", Setting("test", "spearman")
            ),
            column=units.name,
        )
