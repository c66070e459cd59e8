"""The reference has a page for every public name, and says every column."""

import re
from pathlib import Path

import pytest

import salstats as ss
from salstats import frames

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def listed(page):
    """What autosummary lists on a page."""
    return re.findall(r"^   ([\w.]+)$", (REFERENCE / page).read_text(), re.M)


def test_every_public_name_is_listed_once():
    names = listed("functions.md")
    assert len(names) == len(set(names))
    assert {*ss.__all__} - {"__version__", "datasets"} == {n for n in names if "." not in n}
    functions = {n for n in ss.datasets.__all__ if n.islower()}
    assert functions == {n.removeprefix("datasets.") for n in names if n.startswith("datasets.")}


@pytest.mark.torch
def test_every_name_of_explain_is_listed():
    explain = pytest.importorskip("salstats.explain", reason="needs the explain extra")
    names = listed("functions.md")
    assert {*explain.__all__} == {n.removeprefix("explain.") for n in names if n.startswith("explain.")}


def test_every_column_of_scores_and_estimates_is_explained():
    explained = (REFERENCE / "columns.md").read_text()
    for column in (*frames.KEY_COLUMNS, *frames.SCORES_COLUMNS, *frames.ESTIMATE_COLUMNS):
        assert re.search(rf"^\|.*`{column}`.*\|", explained, re.M), column
