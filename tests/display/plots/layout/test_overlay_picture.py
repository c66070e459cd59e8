"""A picture without its map, the range of maps, and the size of a pixel of a picture in its box."""

import numpy as np
import pytest

from salstats.display.plots.layout.overlay_picture import (
    Picture,
    mm_per_pixel,
    picture_without_map_and_outlines,
    saliency_range,
)


@pytest.mark.parametrize(("shape", "size"), [((100, 200), 0.2), ((200, 100), 0.15), ((75, 100), 0.4)])
def test_a_picture_is_as_large_as_its_box_of_40_by_30_mm_allows(shape, size):
    assert mm_per_pixel(shape, (40.0, 30.0)) == pytest.approx(size)


def picture(saliency):
    return Picture(
        case="a", task="Edema", method="lime", series=("lime",), shape=(2, 2), printed_shape=(2, 2),
        grey=np.zeros((2, 2)), saliency=saliency, outlines={"truth": []}, points={"peak": np.zeros((1, 2))},
        n_readers=2, note="no mask", threshold=0.5,
    )  # fmt: skip


def test_the_image_alone_has_no_map_outlines_and_points():
    bare = picture(np.ones((2, 2)))
    image = picture_without_map_and_outlines(bare)
    assert (image.method, image.series, image.saliency, image.threshold) == (None, (), None, None)
    assert (image.outlines, image.points, image.note) == ({}, {}, "")
    assert (image.case, image.task, image.shape) == ("a", "Edema", (2, 2))
    assert image.grey is bare.grey


def test_maps_range_from_the_smallest_to_the_largest_value_of_all():
    maps = [np.array([[0.5, -1.0]]), None, np.array([[3.0, 0.0]])]
    assert saliency_range(map(picture, maps)) == (-1.0, 3.0)
    assert saliency_range([picture(None)]) is None
