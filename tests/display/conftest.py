"""Figures are drawn with the one face that Matplotlib brings along, whatever the machine has."""

import pytest

from salstats.display.plots.layout import theme


@pytest.fixture(scope="session", autouse=True)
def _one_face():
    faces, theme._FACES = theme._FACES, ("DejaVu Sans",)
    theme.font.cache_clear()
    yield
    theme._FACES = faces
    theme.font.cache_clear()
