"""The script of the gaze study and `salstats reproduce lanfredi2021` make the same numbers."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from study_scripts import reproduce_items

import salstats as ss

SCRIPT = Path(__file__).resolve().parents[2] / "analyses" / "lanfredi2021.py"
TABLES = ("table1", "table2", "table3", "table4")
KEYS = ["subset", "method", "mixing", "metric"]
VALUES = ["estimate", "conf_low", "conf_high"]
# sums of 2275 numbers in another order
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def reproduced():
    return reproduce_items("lanfredi2021", *TABLES, "design")


@pytest.fixture(params=["embedded", "file"])
def folder(request, tmp_path, monkeypatch):
    """What the script writes of the embedded scores, and of a file of them."""
    out = tmp_path / "out"
    arguments = [str(SCRIPT), "-o", str(out)]
    if request.param == "file":
        file = tmp_path / "scores.parquet"
        ss.datasets.load_lanfredi2021(sheet=None).to_parquet(file)
        arguments.append(str(file))
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    return out


def assert_same_numbers(own: pd.DataFrame, expected: pd.DataFrame) -> None:
    both = expected.merge(own.replace({"mixing": {"none": None}}), on=KEYS, suffixes=("", "_own"))
    assert len(both) == len(own) == len(expected)
    for value in VALUES:
        np.testing.assert_allclose(both[f"{value}_own"], both[value], rtol=0, atol=TOLERANCE)


def test_the_script_makes_the_numbers_of_reproduce(folder, reproduced):
    for name in TABLES:
        assert_same_numbers(pd.read_csv(folder / f"{name}.csv", keep_default_na=False), reproduced[name])
        clustered = pd.read_csv(folder / f"{name}_clustered.csv", keep_default_na=False)
        design = reproduced["design"]
        assert_same_numbers(clustered, design[design["table"] == name[-1]])
    assert {"table1.html", "table1.png"} <= {file.name for file in folder.iterdir()}
