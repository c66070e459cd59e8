"""Make pairs.csv: pairs with two covariates and units, some of them with ties, for correlations.R.

python make_pairs.py
"""

import numpy as np
import pandas as pd

RANDOM = np.random.default_rng(12)


def one_set(name: str, n: int, *, ties: bool = False, outliers: bool = False) -> pd.DataFrame:
    """Pairs whose covariates have a part in both; between units the slope is the other way round."""
    unit = RANDOM.integers(0, max(n // 4, 3), n)
    level = RANDOM.normal(size=n)[unit]
    covariates = RANDOM.normal(size=(2, n))
    first = covariates[0] + RANDOM.normal(size=n) + 2 * level
    second = covariates[0] - covariates[1] + 0.8 * first + RANDOM.normal(size=n) - 4 * level
    if ties:
        first, second = np.round(first), np.round(second)
    if outliers:
        first[:2], second[:2] = 30, -40
    return pd.DataFrame(
        {"set": name, "unit": unit, "x": first, "y": second, "age": covariates[0], "size": covariates[1]}
    )


SETS = [
    one_set("small", 14),
    one_set("medium", 41),
    one_set("large", 162),
    one_set("ties", 63, ties=True),
    one_set("outliers", 50, outliers=True),
]
pd.concat(SETS).round(6).to_csv("pairs.csv", index=False)
