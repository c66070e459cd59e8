"""P-values counted from replicates: how small they can be, and how sure they are."""

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import check_numeric, warn

# 1 - 0.95 is not 0.05 in binary: values this close count as equal
ROUNDING = 1e-9
#: Smallest p-value that B replicates allow, times B + 1; other tests do not rest on replicates.
SIDES = {"bootstrap": 2.0, "signflip": 1.0, "wild": 0.5}
#: Smallest p-value of tests that count every pattern of the units' signs, over one half to their number.
_PATTERNS = {"signflip": 2.0, "wild": 1.0}
#: Below it a p-value is printed as "<0.001", whatever it is.
_PRINTED = 0.001
#: A bound as large as this says little of a p-value.
_COARSE = 0.01
#: Monte-Carlo standard errors within which a p-value is not decided.
_MONTE_CARLO = 2.0


def p_floors(estimates: pd.DataFrame) -> np.ndarray:
    """Smallest p-value that each row's replicates allow, NaN where it rests on none."""
    if "p_floor" in estimates.columns:
        return check_numeric(estimates, "p_floor", "estimates")
    if "n_replicates" not in estimates.columns:
        return np.full(len(estimates), np.nan)
    return _sides(estimates) / (check_numeric(estimates, "n_replicates", "estimates") + 1)


def _sides(estimates: pd.DataFrame) -> np.ndarray:
    """Smallest p-value of each row times B + 1, NaN where it does not rest on replicates."""
    if "test" not in estimates.columns:
        return np.full(len(estimates), SIDES["bootstrap"])
    sides: np.ndarray = estimates["test"].map(SIDES).to_numpy(dtype=np.float64, na_value=np.nan)
    return sides


def warn_of_floors(family: pd.DataFrame) -> None:
    """Warn where an adjusted p-value is no more than a bound, since it hangs on some at their floor."""
    if "p_adjusted_floor" not in family.columns:
        return
    bound = family["p_adjusted_floor"].to_numpy(dtype=np.float64)
    bounds = bound >= _COARSE
    if bounds.any():
        row = int(np.nanargmax(bound))
        # the floor falls as replicates rise
        enough = int(np.ceil(bound[row] / _PRINTED * (family["n_replicates"].iloc[row] + 1)))
        # what has a choice of tests has the flips
        also = " or a joint adjustment (adjust='max-t')" if "test" in family.columns else ""
        warn(
            f"{int(bounds.sum())} adjusted p-values are at the floor of their replicates, and so only bounds "
            f"(the largest is P < {bound[row]:.3g}, see p_adjusted_floor); about {enough:,} replicates{also} "
            f"would take it below {_PRINTED}, and tests that flip signs (test='wild') or use Student's t "
            "(test='cr2') have no floor"
        )


def warn_if_undecided(family: pd.DataFrame, alpha: np.ndarray) -> None:
    """Warn where another seed could put an adjusted p-value on the other side of alpha."""
    replicates, floors = check_numeric(family, "n_replicates", "estimates"), p_floors(family)
    # p-values of one side count replicates on both
    sides = np.maximum(_sides(family), 1)
    p = family["p_value"].to_numpy(dtype=np.float64)
    adjusted = family["p_adjusted"].to_numpy(dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        # p is `sides` times a share of the replicates
        share = np.minimum(p / sides, 1)
        error = _MONTE_CARLO * sides * np.sqrt(share * (1 - share) / replicates)
        low, high = (adjusted / p * np.maximum(p + sign * error, 0) for sign in (-1, 1))
        # at the smallest p-value possible no replicate lies beyond, and the + 1 is on the safe side
        smallest = p <= floors * (1 + ROUNDING)
        undecided = np.where(adjusted < alpha, (high >= alpha) & ~smallest, low < alpha)
    # without a floor it is exact
    undecided &= ~np.isnan(floors)
    if undecided.any():
        warn(
            f"{int(undecided.sum())} adjusted p-values lie within Monte-Carlo error of "
            f"{alpha[undecided][0]:.3g} with {replicates[undecided][0]:,.0f} replicates: another seed may "
            f"decide otherwise; {10 * replicates[undecided][0]:,.0f} would settle most"
        )


def warn_if_replicates_are_few(family: pd.DataFrame, alpha: np.ndarray, procedure: str) -> bool:
    """Warn, and return True, when no single test of a family can get below alpha with these replicates."""
    replicates = check_numeric(family, "n_replicates", "estimates")
    smallest = p_floors(family)
    exact = np.zeros(len(family), dtype=bool)
    if {"p_floor", "test", "n_units"} <= set(family.columns):
        # small P values count every pattern of signs, and are no smaller for more replicates
        patterns = family["test"].map(_PATTERNS).to_numpy(dtype=np.float64, na_value=np.nan)
        exact = ~np.isnan(patterns)
        n_units = check_numeric(family, "n_units", "estimates")
        smallest = np.where(exact, patterns * 0.5**n_units, smallest)
    size = family["n_tests"].to_numpy()
    factor = size.astype(np.float64)
    if procedure == "BY":
        factor = factor * (special.digamma(size + 1.0) + np.euler_gamma)
    excess = factor * smallest / alpha
    few = np.flatnonzero(excess >= 1 - ROUNDING)
    if not len(few):
        return False
    row = int(few[np.argmax(excess[few])])
    enough = int(np.floor(excess[row] * (replicates[row] + 1) - 1 + ROUNDING)) + 1
    made, more = f"{replicates[row]:,.0f} replicates", f"{enough:,} replicates or more would do"
    if exact[row]:
        made = f"{0.5 ** (1 - n_units[row]):,.0f} patterns of the units' signs"
        more = "a joint adjustment (adjust='max-t'), fewer tests or more units would do"
    # what may help a test of this size; nothing with bonferroni
    others = {"bonferroni": "", "holm": " as the smallest of them"}
    named = f"{procedure[0].upper()}{procedure[1:]}"
    warn(
        f"with {made} the smallest p-value possible is {smallest[row]:.3g}, which "
        f"in a family of {size[row]} tests does not get below {alpha[row]:.3g} after {named}"
        f"{others.get(procedure, ' unless others are small too')}; {more}"
    )
    return True


def fewest_replicates(level: float, *, flips: bool = False) -> int:
    """Replicates that limits at a level need at least, so that one lies beyond each: 2 / (1 - level).

    Flips lie on both sides at once, and half as many do.
    """
    return int(np.ceil((1 if flips else 2) / (1 - level) * (1 - ROUNDING)))
