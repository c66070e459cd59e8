"""The gallery of the site, which `make docs` builds: its sections."""

import runpy
from pathlib import Path

import pytest

GALLERY = runpy.run_path(str(Path(__file__).resolve().parents[2] / "docs" / "gallery.py"))


def test_every_item_stands_in_a_section():
    assert {GALLERY["section"](item) for item in GALLERY["ITEMS"]} == set(GALLERY["QUESTIONS"])


def test_an_item_without_a_section_is_named():
    item = GALLERY["Item"]("plot_nothing", "ss.plot_nothing(scores)", ())
    with pytest.raises(LookupError, match=r"plot_nothing.*QUESTIONS"):
        GALLERY["section"](item)
