"""Runs of the scripts `analyses/KEY.py`, and their frames beside those of `ss.reproduce`."""

import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pandas as pd

import salstats as ss
from salstats.studies.engine import made_items_whose_needs_are_met

ANALYSES = Path(__file__).resolve().parents[1] / "analyses"


def run_script(key, *arguments):
    """Run `python analyses/KEY.py ARGUMENTS` in this process; its output folder, the last argument."""
    script = ANALYSES / f"{key}.py"
    with patch.object(sys, "argv", [str(script), *map(str, arguments)]):
        runpy.run_path(str(script), run_name="__main__")
    return Path(arguments[-1])


def reproduce_items(key, *items, **options):
    """The frames of some items as `ss.reproduce` makes them; the others are not made."""

    def make_some(offered, *given):
        return made_items_whose_needs_are_met([item for item in offered if item.key in items], *given)

    with patch("salstats.studies.reproduction.made_items_whose_needs_are_met", make_some):
        return ss.reproduce(key, **options)


def assert_same_rows(written, expected, keys):
    """Assert that a frame read from CSV has the rows and the columns of a frame, in whatever order.

    Columns that one of them has alone, such as printed numbers beside, are not compared.
    """
    columns = [*keys, *(c for c in written.columns if c in expected.columns and c not in keys)]
    assert {"estimate", "n", "conf_low"} <= set(columns) or "mean" in columns
    left, right = (frame[columns].sort_values(keys, ignore_index=True) for frame in (written, expected))
    pd.testing.assert_frame_equal(left, right, check_dtype=False, rtol=1e-12)
