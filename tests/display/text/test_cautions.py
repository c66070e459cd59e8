"""Cautions of single rows as sentences."""

import pandas as pd

from salstats.display.text.cautions import caution_note
from salstats.stats.engine.cautions import DIFFERENT_CASES, FEW_UNITS


def estimates_with(*cautions, **columns):
    """Estimates with a caution each, None for none."""
    return pd.DataFrame({"estimate": 0.3, "caution": list(cautions), **columns})


def test_doubtful_rows_are_counted_unless_they_are_all():
    assert caution_note(estimates_with(None, None)) == ""
    some = caution_note(estimates_with(FEW_UNITS.name, None, None))
    assert some == f"Caution (1 of 3 estimates): {FEW_UNITS.note}"
    assert caution_note(estimates_with(FEW_UNITS.name)) == f"Caution: {FEW_UNITS.note}"
    both = caution_note(estimates_with(FEW_UNITS.name, FEW_UNITS.name))
    assert both == f"Caution (every estimate): {FEW_UNITS.note}"


def test_the_cases_that_methods_share_are_counted():
    note = caution_note(estimates_with(DIFFERENT_CASES.name, None, n_shared=[12, 40]))
    assert note.endswith("All methods share 12 cases.")
    other = caution_note(estimates_with(FEW_UNITS.name, None, n_shared=[12, 40]))
    assert other == f"Caution (1 of 2 estimates): {FEW_UNITS.note}"
    unknown = caution_note(estimates_with(DIFFERENT_CASES.name))
    assert unknown == f"Caution: {DIFFERENT_CASES.note}"
