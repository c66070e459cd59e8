"""Energy of a map in the truth, from its own samples against at the image's size, within one run."""

import cv2
import numpy as np
import pytest
from timing import seconds

from salstats.images.masks import decode, encode
from salstats.metrics.energy_inside import energy

pytestmark = pytest.mark.usefixtures("one_thread")

#: A radiograph, and a finding that is a third of it across.
SHAPE = (2320, 2828)
#: Side of a map -> how many times faster than resizing it: a class activation map, a gradient's map.
TIMES_FASTER = {7: 5, 14: 5, 224: 3}
#: Turns that a disturbed machine may take; the fastest runs of both sides count.
TURNS = 30
#: The plain steps resize in single precision.
SINGLE = 1e-6


def plain(saliency, truth):
    """The plain steps: resize the map, decode the truth, sum pixels."""
    values = cv2.resize(np.maximum(saliency, 0), SHAPE[::-1], interpolation=cv2.INTER_LINEAR)
    return values[decode(truth)].sum() / values.sum()


@pytest.mark.parametrize(("side", "enough"), TIMES_FASTER.items())
def test_it_is_faster_than_making_the_map_at_the_images_size(side, enough):
    rows, cols = np.ogrid[: SHAPE[0], : SHAPE[1]]
    truth = encode(((rows - 1200) / 500) ** 2 + ((cols - 1300) / 600) ** 2 < 1)
    saliency = np.random.default_rng(0).normal(size=(side, side))
    # the weights of OpenCV are float32
    assert energy(saliency, truth) == pytest.approx(plain(saliency, truth), abs=SINGLE)
    fast = slow = np.inf
    for turn in range(TURNS):
        fast = min(fast, seconds(lambda: energy(saliency, truth)))
        slow = min(slow, seconds(lambda: plain(saliency, truth)))
        if turn >= 2 and slow > enough * fast:
            break
    assert slow > enough * fast, f"{slow / fast:.1f} times faster"
