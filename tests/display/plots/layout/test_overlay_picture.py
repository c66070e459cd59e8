"""The size of a pixel of a picture in its box."""

import pytest

from salstats.display.plots.layout.overlay_picture import mm_per_pixel


@pytest.mark.parametrize(("shape", "size"), [((100, 200), 0.2), ((200, 100), 0.15), ((75, 100), 0.4)])
def test_a_picture_is_as_large_as_its_box_of_40_by_30_mm_allows(shape, size):
    assert mm_per_pixel(shape, (40.0, 30.0)) == pytest.approx(size)
