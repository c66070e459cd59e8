"""P values counted from replicates: the smallest possible ones, and their Monte-Carlo errors."""

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import check_numeric
from salstats.errors import Message, Setting, warn

#: Relative difference of levels and P values that is rounding, as between 1 - 0.95 and 0.05.
ROUNDING = 1e-9
#: Smallest P value of a test with B replicates or flips, times B + 1. Other tests do not use replicates.
P_FLOOR_NUMERATORS = {"bootstrap": 2.0, "signflip": 1.0, "wild": 0.5}
#: Smallest P value of a test that counts all patterns of the signs of n units, divided by 0.5 ** n.
_EXACT_P_FLOOR_NUMERATORS = {"signflip": 2.0, "wild": 1.0}
#: P values below are printed as "<0.001".
_SMALLEST_PRINTED = 0.001
#: Floors of adjusted P values from which on a warning is useful.
_HIGH_FLOOR = 0.01
#: Number of Monte-Carlo standard errors of a P value within which another seed may give another decision.
_N_STANDARD_ERRORS = 2.0


def p_floors(estimates: pd.DataFrame) -> np.ndarray:
    """Return the smallest possible P value of each row, NaN if it does not come from replicates."""
    if "p_floor" in estimates.columns:
        return check_numeric(estimates, "p_floor", "estimates")
    if "n_replicates" not in estimates.columns:
        return np.full(len(estimates), np.nan)
    n_replicates = check_numeric(estimates, "n_replicates", "estimates")
    p_floor: np.ndarray = _p_floors_times_replicates_plus_one(estimates) / (n_replicates + 1)
    return p_floor


def _p_floors_times_replicates_plus_one(estimates: pd.DataFrame) -> np.ndarray:
    """Return each row's smallest possible P value times B + 1, for B replicates; NaN for other tests.

    A frame without a column `test` has bootstrap P values.
    """
    if "test" not in estimates.columns:
        return np.full(len(estimates), P_FLOOR_NUMERATORS["bootstrap"])
    numerators = estimates["test"].map(P_FLOOR_NUMERATORS)
    return numerators.to_numpy(dtype=np.float64, na_value=np.nan)


def warn_adjusted_p_values_are_bounds(family: pd.DataFrame) -> None:
    """Warn if adjusted P values are only upper bounds because P values that they depend on are at a floor.

    The index of `family` is the numbers of its rows in the user's frame.
    """
    if "p_adjusted_floor" not in family.columns:
        return
    floors = family["p_adjusted_floor"].to_numpy(dtype=np.float64)
    is_high = floors >= _HIGH_FLOOR
    if not is_high.any():
        return
    row = int(np.nanargmax(floors))
    largest = floors[row]
    # Floors are inversely proportional to the number of replicates + 1.
    n_enough = int(np.ceil(largest / _SMALLEST_PRINTED * (family["n_replicates"].iloc[row] + 1)))
    remedy = Message("about ", f"{n_enough:,}", " replicates")
    if "test" in family.columns:
        remedy = Message(remedy, " or a joint adjustment (", Setting("adjust", "max-t"), ")")
    warn(
        f"{int(is_high.sum())} adjusted p-values are at the floor of their replicates, and so only bounds "
        f"(the largest is P < {largest:.3g}, see p_adjusted_floor)",
        hint=Message(
            remedy,
            f" would take it below {_SMALLEST_PRINTED}, and tests that flip signs (",
            Setting("test", "wild"),
            ") or use Student's t (",
            Setting("test", "cr2"),
            ") have no floor",
        ),
        column="p_adjusted_floor",
        value=float(largest),
        rows=family.index[is_high].tolist(),
    )


def warn_if_within_monte_carlo_error(family: pd.DataFrame, alpha: np.ndarray) -> None:
    """Warn if another seed could put an adjusted P value on the other side of alpha.

    A P value is `sides` times a share of the replicates, 2 for a two-sided one, with a binomial standard
    error. The index of `family` is the numbers of its rows in the user's frame.
    """
    replicates = check_numeric(family, "n_replicates", "estimates")
    floors = p_floors(family)
    # Sign flips are counted on both sides at once, so that their P value is the share itself.
    sides = np.maximum(_p_floors_times_replicates_plus_one(family), 1)
    p = family["p_value"].to_numpy(dtype=np.float64)
    adjusted = family["p_adjusted"].to_numpy(dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.minimum(p / sides, 1)
        margin = _N_STANDARD_ERRORS * sides * np.sqrt(share * (1 - share) / replicates)
        # an adjustment multiplies nearby P values by about the same factor
        factor = adjusted / p
        low = factor * np.maximum(p - margin, 0)
        high = factor * np.maximum(p + margin, 0)
        # At the floor no replicate is as far as the data: the P value is an upper bound, by the 1 that is
        # added to the count.
        is_at_floor = p <= floors * (1 + ROUNDING)
        is_undecided = np.where(adjusted < alpha, (high >= alpha) & ~is_at_floor, low < alpha)
    # P values without a floor are exact.
    is_undecided &= ~np.isnan(floors)
    if is_undecided.any():
        first = int(np.flatnonzero(is_undecided)[0])
        warn(
            f"{int(is_undecided.sum())} adjusted p-values lie within Monte-Carlo error of "
            f"{alpha[first]:.3g} with {replicates[first]:,.0f} replicates: another seed may decide otherwise",
            hint=Message(f"{10 * replicates[first]:,.0f}", " replicates would settle most"),
            option="n_replicates",
            rows=family.index[is_undecided].tolist(),
        )


def warn_if_replicates_are_few(family: pd.DataFrame, alpha: np.ndarray, procedure: str) -> bool:
    """Warn, and return True, if some test of a family cannot by itself get below alpha after adjustment.

    The index of `family` is the numbers of its rows in the user's frame.
    """
    replicates = check_numeric(family, "n_replicates", "estimates")
    smallest = p_floors(family)
    is_exact = np.zeros(len(family), dtype=bool)
    if {"p_floor", "test", "n_units"} <= set(family.columns):
        # Small P values of sign flips are counted over all patterns, whatever the number of replicates.
        numerators = family["test"].map(_EXACT_P_FLOOR_NUMERATORS).to_numpy(dtype=np.float64, na_value=np.nan)
        is_exact = ~np.isnan(numerators)
        n_units = check_numeric(family, "n_units", "estimates")
        smallest = np.where(is_exact, numerators * 0.5**n_units, smallest)
    n_tests = family["n_tests"].to_numpy()
    factor = n_tests.astype(np.float64)
    if procedure == "BY":
        harmonic_number = special.digamma(n_tests + 1.0) + np.euler_gamma
        factor = factor * harmonic_number
    elif procedure == "sidak":
        # Sidak's level of a single test is 1 - (1 - alpha) ** (1 / n_tests)
        factor = alpha / -np.expm1(np.log1p(-alpha) / n_tests)
    excess = factor * smallest / alpha
    rows = np.flatnonzero(excess >= 1 - ROUNDING)
    if not len(rows):
        return False
    row = int(rows[np.argmax(excess[rows])])
    if is_exact[row]:
        # a pattern and its opposite are the same
        n_patterns = 2.0 ** (n_units[row] - 1)
        draws_text = f"{n_patterns:,.0f} patterns of the units' signs"
        remedy = Message(
            "a joint adjustment (", Setting("adjust", "max-t"), "), fewer tests or more units would do"
        )
    else:
        # the smallest P value is inversely proportional to the number of replicates + 1
        n_enough = int(np.floor(excess[row] * (replicates[row] + 1) - 1 + ROUNDING)) + 1
        draws_text = f"{replicates[row]:,.0f} replicates"
        remedy = Message(f"{n_enough:,}", " replicates or more would do")
    # Step-wise procedures adjust a small P value less if other P values are small.
    if procedure in ("bonferroni", "sidak"):
        condition = ""
    elif procedure == "holm":
        condition = " as the smallest of them"
    else:
        condition = " unless others are small too"
    procedure_name = f"{procedure[0].upper()}{procedure[1:]}"
    warn(
        f"with {draws_text} the smallest p-value possible is {smallest[row]:.3g}, which "
        f"in a family of {n_tests[row]} tests does not get below {alpha[row]:.3g} after {procedure_name}"
        f"{condition}",
        hint=remedy,
        column="n_replicates",
        value=float(smallest[row]),
        rows=family.index[rows].tolist(),
    )
    return True


def fewest_replicates(level: float, *, flips: bool = False) -> int:
    """Return the fewest replicates for limits at a level, 2 / (1 - level): one is beyond each limit.

    A sign flip counts at both limits, so that half as many flips are enough.
    """
    n_limits = 1 if flips else 2
    return int(np.ceil(n_limits / (1 - level) * (1 - ROUNDING)))
