"""Scores with weights, and what R's survey, sandwich and clubSandwich make of them."""

from pathlib import Path

import pandas as pd

_FOLDER = Path(__file__).parent / "reference" / "weights"
#: Columns of weights: of cases, and the same in a patient.
WEIGHTS = ("sampling", "of_patient")
_EXPECTED = pd.read_csv(_FOLDER / "weights.csv")


def weighted_scores() -> pd.DataFrame:
    """The scores, with both weights."""
    return pd.read_csv(_FOLDER / "scores.csv")


def by_r(what: str, weights: str) -> pd.DataFrame:
    """What R gave, by what was asked."""
    return _EXPECTED[(_EXPECTED["what"] == what) & (_EXPECTED["weights"] == weights)]
