"""Occlusion against captum and its definition; RISE against the expectation of its masks."""

import re

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
from explain.runner_requests import Counting, ask, noise, seeded  # noqa: E402

from salstats.explain.perturbations import draw_grids_and_shifts, make_masks  # noqa: E402

nn = torch.nn

#: Single precision: outputs are compared as differences of two passes.
SINGLE = 1e-5
#: Standard deviations of a Monte Carlo mean; the largest of some hundreds of pixels is within five.
SIGMAS = 5.0


def cnn():
    return seeded(Counting)


def images(n=3, shape=(2, 11, 13)):
    return noise(n, *shape, seed=1)


@pytest.mark.parametrize(
    ("window", "stride"), [(1, 1), (4, 3), (5, 5), ((3, 6), (2, 5)), ((11, 13), (1, 1)), (11, 4)]
)
def test_occlusion_is_captums(window, stride):
    model, x, targets = cnn(), images(), [0, 1, 2]
    rows, columns = (window, window) if isinstance(window, int) else window
    down, right = (stride, stride) if isinstance(stride, int) else stride
    expected = captum.Occlusion(model).attribute(
        x,
        (2, rows, columns),
        strides=(2, down, right),
        target=torch.tensor(targets),
        perturbations_per_eval=7,
    )
    found = ask("occlusion", model, x, targets, window=window, stride=stride)
    assert found.shape == (3, 1, 11, 13)
    assert torch.allclose(found.expand(-1, 2, -1, -1), expected.double(), atol=SINGLE)


class OnePixel(nn.Module):
    """Its outputs are pixels of the image."""

    def __init__(self, *places):
        super().__init__()
        self.places = places

    def forward(self, x):
        return torch.stack([x[:, 0, row, column] for row, column in self.places], dim=1)


def enlarged_weights(side, cells):
    """What each cell gives to each pixel of an enlarged row, by NumPy's own interpolation."""
    n_pixels = (cells + 1) * -(-side // cells)
    centres = (np.arange(n_pixels) + 0.5) * cells / n_pixels - 0.5
    return np.stack([np.interp(centres, np.arange(cells), row) for row in np.eye(cells)], axis=1)


def mean_product(side, cells, place):
    """Mean over shifts of the sum over cells of a place's weight times each other pixel's."""
    weights = enlarged_weights(side, cells)
    shifts = range(-(-side // cells))
    return np.mean([weights[s : s + side] @ weights[s + place] for s in shifts], axis=0)


def test_of_one_pixel_the_map_is_the_covariance_of_masks_and_peaks_there():
    place, cells, keep, n_masks = (9, 8), 4, 0.4, 8000
    x = torch.full((1, 1, 16, 18), 2.0)
    options = {"n_masks": n_masks, "cells": cells, "keep": keep, "probability": "none", "batch_size": 200}
    found = ask("rise", OnePixel(place), x, 0, **options)[0, 0].numpy()
    # E[M(q) M(p)] / keep: cells are independent, so it is keep + (1 - keep) times the shared weight
    shared = np.outer(mean_product(16, cells, place[0]), mean_product(18, cells, place[1]))
    expected = 2.0 * (keep + (1 - keep) * shared)
    # a product of two masks lies between 0 and 1, so its deviation is at most 1/2
    assert np.abs(found - expected).max() < SIGMAS * 2.0 * 0.5 / (keep * np.sqrt(n_masks))
    assert np.unravel_index(found.argmax(), found.shape) == place


@pytest.mark.parametrize(("shape", "cells"), [((16, 16), 4), ((13, 17), 5), ((7, 30), 7)])
def test_masks_are_enlarged_grids_shifted(shape, cells):
    grids, shifts = draw_grids_and_shifts(np.random.default_rng(1), 20, cells, 0.5, shape)
    found = make_masks(grids, shifts, shape)
    sides = [-(-side // cells) for side in shape]
    for mask, cells_kept, (down, right) in zip(found, grids, shifts, strict=True):
        enlarged = nn.functional.interpolate(
            torch.as_tensor(cells_kept[None, None], dtype=torch.float32),
            size=[(cells + 1) * side for side in sides],
            mode="bilinear",
        )[0, 0]
        expected = enlarged[down : down + shape[0], right : right + shape[1]]
        assert torch.allclose(mask, expected, atol=SINGLE)
    assert (shifts.min(axis=0) == 0).all()
    assert (shifts.max(axis=0) <= np.array(sides) - 1).all()


@pytest.mark.parametrize("probability", ["softmax", "sigmoid", "none"])
def test_masks_are_weighted_by_the_probability_behind_them(probability):
    model = seeded(lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(300, 4)))
    x = noise(1, 2, 12, 12)
    grids, shifts = draw_grids_and_shifts(np.random.default_rng(0), 30, 3, 0.6, (12, 12))
    masks = make_masks(grids, shifts, (12, 12))
    with torch.no_grad():
        outputs = model(masks[:, None] * x)
    weights = {"softmax": outputs.softmax(dim=1), "sigmoid": outputs.sigmoid(), "none": outputs}[probability]
    expected = (weights[:, 2, None, None] * masks).sum(dim=0) / (0.6 * 30)
    found = ask("rise", model, x, 2, n_masks=30, cells=3, keep=0.6, probability=probability)
    assert torch.allclose(found[0, 0], expected.double(), atol=SINGLE)


def test_hidden_pixels_show_the_baseline():
    # the only pixel is the baseline where it is hidden, so it is 3 whatever the mask
    x = torch.full((1, 1, 8, 8), 3.0)
    found = ask("rise", OnePixel((2, 2)), x, 0, n_masks=50, cells=4, probability="none", baseline=3.0)
    grids, shifts = draw_grids_and_shifts(np.random.default_rng(0), 50, 4, 0.5, (8, 8))
    expected = 3 * make_masks(grids, shifts, (8, 8)).sum(dim=0) / 25
    assert torch.allclose(found[0, 0], expected.double(), atol=SINGLE)


@pytest.mark.parametrize(
    ("method", "options", "option"),
    [
        ("occlusion", {"window": 12, "stride": 4}, "window"),
        ("occlusion", {"window": 3, "stride": 4}, "stride"),
        ("occlusion", {"window": 0}, "window"),
        ("occlusion", {"window": (3, 3, 3)}, "window"),
        ("occlusion", {"window": 4, "stride": 2.5}, "stride"),
        ("rise", {"n_masks": 0}, "n_masks"),
        ("rise", {"cells": 1}, "cells"),
        ("rise", {"cells": 12}, "cells"),
        ("rise", {"keep": 1.0}, "keep"),
        ("rise", {"probability": "logit"}, "probability"),
        ("rise", {"baseline": "gray"}, "baseline"),
    ],
)
def test_bad_options_are_named(method, options, option):
    with raises(ValueRangeError, option=option):
        ask(method, cnn(), images(1), 0, **options)


@pytest.mark.parametrize(("shape", "usual"), [((2, 23, 30), 2), ((2, 24, 30), 3), ((2, 50, 7), 1)])
def test_the_window_that_is_named_instead_of_one_too_large_is_an_eighth_of_the_image(shape, usual):
    with raises(ValueRangeError, option="window", value=(60, 60)) as caught:
        ask("occlusion", cnn(), images(1, shape), 0, window=60, stride=1)
    assert re.findall(r"[\d.]+", str(caught.value.hint)) == [str(usual)]
