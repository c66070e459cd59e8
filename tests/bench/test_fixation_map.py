"""A fixation map at the size of a radiograph against each Gaussian on the full grid, within one run."""

import tracemalloc

import numpy as np
import pytest
from timing import seconds

from salstats.images.fixations import Fixations, fixation_density

SHAPE = (2000, 2500)
N_FIXATIONS = 60
#: The plain way takes the same time for each fixation, so a few of them are enough.
N_PLAIN = 6
# the figure to reach
TIMES_FASTER = 30
#: The map itself, and what numpy adds while it multiplies.
MOST_IMAGES = 2.5


@pytest.fixture(scope="module")
def recording():
    """A minute of reading: saccades all over the image, sd of one degree, parts of it magnified."""
    rng = np.random.default_rng(0)
    shown = np.tile([0.0, 0, *SHAPE], (N_FIXATIONS, 1))
    shown[::3] = [300, 400, 1700, 2200]
    return Fixations(
        rng.uniform(0, SHAPE, (N_FIXATIONS, 2)),
        rng.exponential(0.3, N_FIXATIONS),
        rng.uniform(70, 120, (N_FIXATIONS, 2)),
        shown,
    )


def first(fixations, n):
    """The first n fixations of a recording."""
    return Fixations(fixations.points[:n], fixations.duration[:n], fixations.sd[:n], fixations.shown[:n])


def plain(fixations):
    """Each Gaussian evaluated on the full grid of pixels."""
    row, col = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(float)
    total = np.zeros(SHAPE)
    for (y, x), duration, (sd_y, sd_x), shown in zip(
        fixations.points, fixations.duration, fixations.sd, fixations.shown, strict=True
    ):
        top, left, bottom, right = shown.astype(int)
        gaussian = np.exp(-(((row - y) / sd_y) ** 2 + ((col - x) / sd_x) ** 2) / 2) / (sd_y * sd_x)
        total[top:bottom, left:right] += duration * gaussian[top:bottom, left:right]
    return total / total.sum()


def test_a_map_is_thirty_times_faster_than_gaussians_on_the_full_grid(recording):
    few = first(recording, N_PLAIN)
    np.testing.assert_allclose(fixation_density(few, SHAPE), plain(few), rtol=1e-9, atol=1e-30)
    fast = slow = np.inf
    for turn in range(10):
        fast = min(fast, *(seconds(lambda: fixation_density(recording, SHAPE)) for _ in range(3)))
        slow = min(slow, seconds(lambda: plain(few)) * N_FIXATIONS / N_PLAIN)
        if turn >= 2 and slow > TIMES_FASTER * fast:
            break
    assert slow > TIMES_FASTER * fast


def test_no_array_is_much_larger_than_the_image(recording):
    tracemalloc.start()
    fixation_density(recording, SHAPE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_IMAGES * 8 * SHAPE[0] * SHAPE[1]
