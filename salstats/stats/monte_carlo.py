"""P-values counted from replicates: how small they can be, and how sure they are."""

import warnings

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import SalstatsWarning, check_numeric

# 1 - 0.95 is not 0.05 in binary: values this close count as equal
ROUNDING = 1e-9
#: Smallest p-value that B replicates allow, times B + 1; other tests do not rest on replicates.
_SMALLEST = {"bootstrap": 2.0, "signflip": 1.0}
#: Monte-Carlo standard errors within which a p-value is not decided.
_MONTE_CARLO = 2.0


def warn_if_undecided(family: pd.DataFrame, alpha: np.ndarray) -> None:
    """Warn where another seed could put an adjusted p-value on the other side of alpha."""
    replicates = check_numeric(family, "n_replicates", "estimates")
    tests = family["test"] if "test" in family.columns else pd.Series("bootstrap", index=family.index)
    sides = tests.map(_SMALLEST).to_numpy(dtype=np.float64, na_value=np.nan)
    p = family["p_value"].to_numpy(dtype=np.float64)
    adjusted = family["p_adjusted"].to_numpy(dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        # p is `sides` times a share of the replicates
        share = np.minimum(p / sides, 1)
        error = _MONTE_CARLO * sides * np.sqrt(share * (1 - share) / replicates)
        low, high = (adjusted / p * np.maximum(p + sign * error, 0) for sign in (-1, 1))
        # at the smallest p-value possible no replicate lies beyond, and the + 1 is on the safe side
        smallest = p <= sides / (replicates + 1) * (1 + ROUNDING)
        undecided = np.where(adjusted < alpha, (high >= alpha) & ~smallest, low < alpha)
    if undecided.any():
        warnings.warn(
            f"{int(undecided.sum())} adjusted p-values lie within Monte-Carlo error of "
            f"{alpha[undecided][0]:.3g} with {replicates[undecided][0]:.0f} replicates: another seed may "
            "decide otherwise; "
            f"{10 * replicates[undecided][0]:.0f} would settle most",
            SalstatsWarning,
            stacklevel=3,
        )


def warn_if_replicates_are_few(family: pd.DataFrame, alpha: np.ndarray, procedure: str) -> bool:
    """Warn, and return True, when no single test of a family can get below alpha with these replicates."""
    replicates = check_numeric(family, "n_replicates", "estimates")
    tests = family["test"] if "test" in family.columns else pd.Series("bootstrap", index=family.index)
    smallest = tests.map(_SMALLEST).to_numpy(dtype=np.float64, na_value=np.nan) / (replicates + 1)
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
    # what may help a test of this size; nothing with bonferroni
    others = {"bonferroni": "", "holm": " as the smallest of them"}
    warnings.warn(
        f"with {replicates[row]:.0f} replicates the smallest p-value possible is {smallest[row]:.3g}, which "
        f"in a family of {size[row]} tests does not get below {alpha[row]:.3g} after {procedure}"
        f"{others.get(procedure, ' unless others are small too')}; {enough} replicates or more would do",
        SalstatsWarning,
        stacklevel=3,
    )
    return True
